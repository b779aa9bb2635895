"""Wrappers that compare a rank metric with its chance level: the adjusted index and the z-score.

A wrapper accepts every metric of `kgeval.metrics.ranks` that has a chance level. `kgeval.metrics.grammar` parses the
texts of wrapped metrics, such as ``adjusted(mr)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.checks import Ids, Reals
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, MetricValue, quotient
from kgeval.metrics.ranks import MR, RankMetric
from kgeval.stats.moments import Moments

# Rounding errors: a difference of at most MIN_ROOM between the best value and the chance level counts as 0. A variance
# of at most MIN_VARIANCE counts as 0, too.
MIN_ROOM = 1e-15
MIN_VARIANCE = 1e-30


SHORTHANDS = {"amri": "adjusted(mr)"}  # maps a short text to the full text of the same metric


class AgainstChance(RankMetric):
    """Base class of `Adjusted` and `ZScore`; a wrapper has the tie policies and the warnings of the wrapped metric."""

    metric: RankMetric
    higher_is_better = True
    needs_candidates = True

    def __post_init__(self) -> None:
        if not isinstance(self.metric, RankMetric) or isinstance(self.metric, AgainstChance):
            raise MetricError(f"{self.name}(...) wraps a plain metric such as MRR(); got {self.metric!r}")

    @property
    def tie_policies(self) -> tuple[str, ...]:  # type: ignore[override]
        """The tie policies of the wrapped metric."""
        return self.metric.tie_policies

    def is_weightable(self, ties: str) -> bool:
        """Return True if the chance level of the wrapped metric can be computed with a weight for each positive."""
        return self.metric.is_weightable("expected")

    @property
    def has_moments(self) -> bool:  # type: ignore[override]
        """Whether the wrapped metric is a function of means."""
        return self.metric.has_moments

    def lacking(self, rivals: Ids, ties: str) -> str:
        """Return the reason why the metric has no value, or an empty string if it has a value."""
        reason, level = self.metric.lacking(rivals, ties), self.metric.chance(rivals)
        return reason or level.reason or self.lacking_room(level.value, rivals)

    def lacking_room(self, level: float, rivals: Ids) -> str:
        """Return the reason why the value is 0 / 0, or an empty string if the value is defined.

        Parameters
        ----------
        level : float
            The chance level of the wrapped metric.
        rivals : int64 array, shape (positives,)
            The number of rivals of each positive.
        """
        raise TypeError(f"{type(self).__name__} does not define lacking_room(level, rivals)")

    def chance(self, rivals: Ids) -> MetricValue:
        """Return the chance level of the wrapper, which is 0; NaN if the wrapped metric has no chance level."""
        level = self.metric.chance(rivals)
        return level if level.reason else MetricValue(0.0)

    def caution(self, rivals: Ids) -> str:
        """Return the warning of the wrapped metric, or an empty string."""
        return self.metric.caution(rivals)

    def __str__(self) -> str:
        text = f"{self.name}({self.metric})"
        return next((short for short, long in SHORTHANDS.items() if long == text), text)


@dataclass(frozen=True)
class Adjusted(AgainstChance):
    """A metric adjusted for chance: 1 is the best value, 0 is as good as random ranking, negative values are worse.

    The value is (M - E[M]) / (best - E[M]): M is the value of the wrapped metric, ``best`` is the best possible
    value of M, and E[M] is the expectation of M if each positive has a random rank among its candidates.
    ``adjusted(mr)`` is the AMRI (adjusted mean rank index), 1 - (MR - 1) / (E[MR] - 1).

    Parameters
    ----------
    metric : RankMetric
        The wrapped metric, such as ``MR()``.

    References
    ----------
    Berrendorf et al. (2020), On the Ambiguity of Rank-Based Evaluation of Entity Alignment or Link
    Prediction Methods, arXiv:2002.06914; Hoyt et al. (2022), arXiv:2203.07544.

    Examples
    --------
    >>> from kgeval.metrics import MR
    >>> Adjusted(MR()).compute(np.array([0, 2]), np.array([0, 0]), np.array([4, 4])).value
    0.5
    """

    metric: RankMetric
    name: ClassVar[str] = "adjusted"
    title: ClassVar[str] = "adjusted"
    reference: ClassVar[str] = "Berrendorf et al. (2020), arXiv:2002.06914"

    def lacking_room(self, level: float, rivals: Ids) -> str:
        """Return a reason if the chance level equals the best value of the wrapped metric, else an empty string."""
        differs = abs(self.metric.best - level) > MIN_ROOM
        return "" if differs else f"random ranking already gives the best value of {self.metric}: 0 / 0"

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        best = self.metric.best

        def adjusted(value: Reals, level: Reals) -> Reals:
            best_over_chance = best - level
            return quotient(value - level, best_over_chance, np.abs(best_over_chance) > MIN_ROOM)

        level = self.metric.expectation(np.ones_like(rivals), rivals + 1)
        return _together([self.metric.moments(better, tied, rivals, ties), level], adjusted)

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """The smallest and the largest possible value.

        ``adjusted(mr)`` is 1 - (MR - 1) / (E[MR] - 1), and its smallest value is -1. Reason: if positive i has C_i
        candidates, MR is at most the mean of C_i, and E[MR] is the mean of (C_i + 1) / 2; so MR - 1 is at most
        2 * (E[MR] - 1). For other wrapped metrics, the lower bound is -infinity.
        """
        return (-1.0 if isinstance(self.metric, MR) else -UNBOUNDED, 1.0)

    @property
    def best(self) -> float:
        """The value if every positive has rank 1."""
        return 1.0

    @property
    def heading(self) -> str:
        """The metric's name in printed tables and charts."""
        return "AMRI" if str(self) == "amri" else str(self)


@dataclass(frozen=True)
class ZScore(AgainstChance):
    """Standardised metric: (value - chance level) / (standard deviation under random ranking).

    The value is (M - E[M]) / sqrt(Var[M]): M is the value of the wrapped metric, and E[M] and Var[M] are the
    expectation and variance of M under random ranking. If lower values of M are better, the sign is changed, so that a
    larger z is always better.

    Parameters
    ----------
    metric : RankMetric
        The wrapped metric, such as ``MR()``.

    References
    ----------
    Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544.

    Examples
    --------
    >>> from kgeval.metrics import MR
    >>> round(ZScore(MR()).compute(np.array([0]), np.array([0]), np.array([4])).value, 12)
    1.414213562373
    """

    metric: RankMetric
    name: ClassVar[str] = "z"
    title: ClassVar[str] = "z"
    bounds: ClassVar[tuple[float, float]] = (-UNBOUNDED, UNBOUNDED)
    reference: ClassVar[str] = "Hoyt et al. (2022), arXiv:2203.07544"

    def lacking_room(self, level: float, rivals: Ids) -> str:
        """Return a reason if the variance of the wrapped metric under random ranking is 0, else an empty string."""
        variance = self.metric.variance(np.ones_like(rivals), rivals + 1)
        return "" if variance > MIN_VARIANCE else f"{self.metric} has the same value for all random rankings: 0 / 0"

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        sign = 1.0 if self.metric.higher_is_better else -1.0

        def standardised(value: Reals, level: Reals, variance: Reals) -> Reals:
            return quotient(sign * (value - level), np.sqrt(variance), variance > MIN_VARIANCE)

        lowest, highest = np.ones_like(rivals), rivals + 1  # a random rank is uniform on 1..number of candidates
        level, variance = self.metric.expectation(lowest, highest), self.metric.spread(lowest, highest)
        return _together([self.metric.moments(better, tied, rivals, ties), level, variance], standardised)

    def is_weightable(self, ties: str) -> bool:
        """Return False, because the variance of a weighted mean is not a weighted mean of variances."""
        return False

    @property
    def best(self) -> float:
        """Infinity, because no upper bound holds for all numbers of positives and candidates."""
        return UNBOUNDED

    @property
    def heading(self) -> str:
        """The name in printed tables and charts, which is the same text as the key."""
        return str(self)


def _together(parts: list[Moments], combine: Callable[..., Reals]) -> Moments:
    """Return the moments of a value that is computed from several other values, such as a metric and its chance level.

    Parameters
    ----------
    parts : list of Moments
        The moments of the values from which the new value is computed, all for the same positives.
        ``parts[i].values`` has one row per positive and k_i columns.
    combine : function
        Computes the new value from the values of the parts: takes one array per part, all of one shape, and returns an
        array of that shape.

    Returns
    -------
    Moments
        `values` has the columns of all parts side by side: one row per positive, and k_1 + k_2 + ... columns.
        `finish` computes the value of each part from the means of its columns, and passes these values to `combine`.
    """
    finishes = [part.finish for part in parts]
    # (len(parts) - 1,): the first column of each part in the joined array; the first part starts at 0 and is left out.
    column_starts = np.cumsum([part.values.shape[1] for part in parts])[:-1]

    def finish(means: Reals) -> Reals:
        columns = np.split(means, column_starts, axis=-1)
        return combine(*(finish_part(part) for finish_part, part in zip(finishes, columns, strict=True)))

    # The transpose makes each column contiguous in memory, as in its part. So numpy sums each column pairwise, and the
    # mean has exactly the same bits as the mean of this column in the part.
    return Moments(np.concatenate([part.values.T for part in parts]).T, finish)
