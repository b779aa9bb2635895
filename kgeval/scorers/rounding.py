"""How much rounding may change a score: one rule for all checks that score the same triples twice.

The check of a scorer, the comparison with worker processes, resumed runs and explanations make a `Rounding` from some
scores, and compare two scores of a triple with `Rounding.slack`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.checks import Reals, Scores

# The largest and the smallest tolerated errors, relative to the size of the scores. Halves are float16.
TOLERANCE, TOLERANCE_OF_HALVES = 1e-4, 2e-2
MIN_TOLERANCE, MIN_TOLERANCE_OF_HALVES = 5e-7, 1e-2
SHARE_OF_RANGE = 0.1  # errors above MIN_TOLERANCE may be at most this share of the range of the scores
GAP = 100.0  # scores that are larger than the others by more than this factor may be masks
MIN_LEVELS = 10  # so many different sizes above a gap are those of scores, not of masks
MIN_MEASURED = 5  # the range of fewer scores is not known
LEVEL = 1.01  # sizes that differ by a smaller factor are one level


@dataclass(frozen=True)
class Rounding:
    """The size and the range of the scores that could be near a positive's, from which the size of errors follows.

    Rounding errors grow with the numbers that are added up, so they are measured against the size of other scores.
    Masks, such as -1e9 for impossible candidates, must not count: they say nothing about the other scores.

    Parameters
    ----------
    size : float
        The largest absolute score, without masks.
    width : float
        The highest score less the lowest one, without masks; infinite if there are fewer than `MIN_MEASURED` scores.

    Examples
    --------
    >>> Rounding.of(np.array([-3.0, -1.0, -2.0, -50.0]), -2.0)  # no gap: the largest absolute score
    Rounding(size=50.0, width=inf)
    >>> Rounding.of(np.array([-3.0, -1.0, -2.0, -1e9]), -2.0)  # -1e9 is a mask
    Rounding(size=3.0, width=inf)
    """

    size: float
    width: float

    @classmethod
    def of(cls, scores: Scores, best_positive: float | None = None) -> Rounding:
        """Measure scores.

        The size starts at the largest absolute score among the scores that are at least `best_positive`. It grows to
        the next larger absolute score while this is at most `GAP` times as large. What lies beyond such a gap are
        masks, unless it has at least `MIN_LEVELS` levels up to the next gap: then it is scores, and the smaller scores
        are sums that are nearly 0.

        Parameters
        ----------
        scores : float or int array
            Scores of several triples; NaN and infinite scores are left out.
        best_positive : float, optional
            The highest score of a positive. By default, or if it is not finite, the highest score.

        Returns
        -------
        Rounding
            Its size is 0 if no score is finite.
        """
        finite = scores[np.isfinite(scores)].astype(np.float64)
        if not finite.size:
            return cls(0.0, np.inf)
        lowest = finite.max()
        if best_positive is not None and np.isfinite(best_positive):
            lowest = min(lowest, best_positive)
        start = np.abs(finite[finite >= lowest]).max()
        sizes = np.unique(np.abs(finite))
        sizes = np.concatenate([[start], sizes[sizes > start]])  # ascending
        firsts = np.flatnonzero(sizes[1:] > GAP * sizes[:-1]) + 1  # the first sizes after a gap
        ends = [*firsts, len(sizes)]
        size = sizes[ends[0] - 1]
        for first, end in zip(firsts, ends[1:]):
            if 1 + np.count_nonzero(sizes[first + 1 : end] > LEVEL * sizes[first : end - 1]) >= MIN_LEVELS:
                size = sizes[end - 1]
        return cls(float(size), _width(finite[np.abs(finite) <= size]))

    def slack(self, a: Scores, b: Scores) -> Any:
        """Return by how much rounding may make two scores of a triple differ, for each pair of scores.

        `TOLERANCE` times the largest of `size` and the two absolute scores, but not more than a tenth of the range of
        the scores (so that noise is found in scores of 1e6 +- 1), and at least `MIN_TOLERANCE` times the largest.

        Parameters
        ----------
        a, b : arrays of equal shapes, or numbers
            Two scores of each triple, in the dtype of the scorer; infinite scores are left out.

        Returns
        -------
        float64 array or float
        """
        half = np.asarray(a).dtype == np.float16
        most = TOLERANCE_OF_HALVES if half else TOLERANCE
        least = self.least_slack(a, b)
        sizes = least / (MIN_TOLERANCE_OF_HALVES if half else MIN_TOLERANCE)
        return np.maximum(least, np.minimum(most * sizes, SHARE_OF_RANGE * self.width))

    def least_slack(self, a: Scores, b: Scores) -> Any:
        """Return by how much two scores of a triple may differ if they were computed in the same calls; see `slack`."""
        a, b = np.asarray(a), np.asarray(b)
        least = MIN_TOLERANCE_OF_HALVES if a.dtype == np.float16 else MIN_TOLERANCE
        sizes = [np.where(np.isfinite(scores), np.abs(scores.astype(np.float64)), 0.0) for scores in (a, b)]
        return least * np.maximum(self.size, np.maximum(*sizes))


def _width(scores: Reals) -> float:
    """Return the range of scores, without a mask below them; infinite if there are fewer than `MIN_MEASURED` scores.

    A mask is one level below a gap of more than `GAP` times the range of the scores above it, such as -1e4 below scores
    of 1e6 +- 1.
    """
    scores = np.sort(scores)
    below = scores[scores <= scores[0] + (LEVEL - 1) * abs(scores[0])]
    above = scores[len(below) :]
    if len(above) and above[0] - below[-1] > GAP * (above[-1] - above[0]) > 0:
        scores = above
    return float(scores[-1] - scores[0]) if len(scores) >= MIN_MEASURED else np.inf


def score_differences(a: Scores, b: Scores) -> Reals:
    """Return the absolute differences of two arrays of scores.

    Two NaN, or two equal infinities, have the difference 0; a NaN or an infinity and any other value have an infinite
    difference.

    Parameters
    ----------
    a, b : arrays of equal shapes

    Returns
    -------
    float64 array

    Examples
    --------
    >>> score_differences(np.array([1.0, np.nan, np.inf]), np.array([1.5, np.nan, 2.0]))
    array([0.5, 0. , inf])
    """
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        differences = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    differences[np.isnan(differences)] = np.inf
    return differences
