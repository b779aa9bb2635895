"""Wrappers that compare a rank metric with its chance level: the adjusted index and the z-score.

A wrapper accepts every metric of `kgeval.metrics.ranks` that has a chance level. `kgeval.metrics.grammar` parses the
texts of wrapped metrics, such as ``adjusted(mr)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.checks import Ids, Reals
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, MetricValue, quotient
from kgeval.metrics.ranks import RankMetric
from kgeval.stats import Moments

# Differences up to MIN_ROOM and variances up to MIN_VARIANCE are rounding errors and count as 0.
MIN_ROOM = 1e-15
MIN_VARIANCE = 1e-30


SHORTHANDS = {"amri": "adjusted(mr)"}  # shorter texts of wrapped metrics


class AgainstChance(RankMetric):
    """Base of both wrappers; tie policies, warnings and chance level are those of the wrapped metric."""

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
        """Tell whether the metric has a weighted form; this depends on whether its chance level has a weighted form."""
        return self.metric.is_weightable("expected")

    @property
    def has_moments(self) -> bool:  # type: ignore[override]
        """Whether the wrapped metric is a function of means."""
        return self.metric.has_moments

    def lacking(self, rivals: Ids, ties: str) -> str:
        """Return the reason why the metric has no value, or an empty string."""
        reason, level = self.metric.lacking(rivals, ties), self.metric.chance(rivals)
        return reason or level.reason or self.lacking_room(level.value, rivals)

    def lacking_room(self, level: float, rivals: Ids) -> str:
        """Return the reason why the value would be 0 / 0, or an empty string.

        Parameters
        ----------
        level : float
            The chance level of the wrapped metric.
        rivals : int64 array, shape (positives,)
        """
        raise TypeError(f"{type(self).__name__} does not define lacking_room(level, rivals)")

    def chance(self, rivals: Ids) -> MetricValue:
        """Return 0, the value if the wrapped metric equals its chance level; NaN if it has no chance level."""
        level = self.metric.chance(rivals)
        return level if level.reason else MetricValue(0.0)

    def caution(self, rivals: Ids) -> str:
        """Return the warning sentence of the wrapped metric."""
        return self.metric.caution(rivals)

    def __str__(self) -> str:
        text = f"{self.name}({self.metric})"
        return next((short for short, long in SHORTHANDS.items() if long == text), text)


@dataclass(frozen=True)
class Adjusted(AgainstChance):
    """The metric adjusted for chance: 1 is best, 0 is random ranking, negative is worse than random ranking.

    The value is (M - E[M]) / (best - E[M]). E[M] is the expectation of the metric M when the rank of each positive
    is random among the candidates of this positive. ``adjusted(mr)`` is the AMRI, 1 - (MR - 1) / (E[MR] - 1).

    Parameters
    ----------
    metric : RankMetric

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
    bounds: ClassVar[tuple[float, float]] = (-UNBOUNDED, 1.0)
    reference: ClassVar[str] = "Berrendorf et al. (2020), arXiv:2002.06914"

    def lacking_room(self, level: float, rivals: Ids) -> str:
        """Return a reason if the chance level equals the best value, else an empty string."""
        differs = abs(self.metric.best - level) > MIN_ROOM
        return "" if differs else f"chance already reaches the best value of {self.metric}: 0 / 0"

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        best = self.metric.best

        def adjusted(value: Reals, level: Reals) -> Reals:
            best_over_chance = best - level
            return quotient(value - level, best_over_chance, np.abs(best_over_chance) > MIN_ROOM)

        level = self.metric.expectation(np.ones_like(rivals), rivals + 1)
        return _together([self.metric.moments(better, tied, rivals, ties), level], adjusted)

    @property
    def best(self) -> float:
        """The value if every positive has rank 1."""
        return 1.0

    @property
    def heading(self) -> str:
        """The metric's name in tables for people."""
        return "AMRI" if str(self) == "amri" else str(self)


@dataclass(frozen=True)
class ZScore(AgainstChance):
    """Standardised metric: (value - chance level) / (standard deviation under random ranking).

    The value is (M - E[M]) / sqrt(Var[M]), with the expectation and the variance under random ranks. If lower values
    of the wrapped metric are better, the sign is changed, so that a larger z is always better.

    Parameters
    ----------
    metric : RankMetric

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
        """Return a reason if the variance of the metric under random ranks is 0, else an empty string."""
        variance = self.metric.variance(np.ones_like(rivals), rivals + 1)
        return "" if variance > MIN_VARIANCE else f"{self.metric} does not vary under random ranks: 0 / 0"

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        sign = 1.0 if self.metric.higher_is_better else -1.0

        def standardised(value: Reals, level: Reals, variance: Reals) -> Reals:
            return quotient(sign * (value - level), np.sqrt(variance), variance > MIN_VARIANCE)

        lowest, highest = np.ones_like(rivals), rivals + 1  # a random rank is uniform on 1..number of candidates
        level, variance = self.metric.expectation(lowest, highest), self.metric.spread(lowest, highest)
        return _together([self.metric.moments(better, tied, rivals, ties), level, variance], standardised)

    def is_weightable(self, ties: str) -> bool:
        """Return False: the variance of a weighted mean is not a weighted mean of variances."""
        return False

    @property
    def best(self) -> float:
        """Infinity: the largest value depends on the number of candidates and has no bound."""
        return UNBOUNDED

    @property
    def heading(self) -> str:
        """The metric's name in tables for people."""
        return str(self)


def _together(parts: list[Moments], combine: Callable[..., Reals]) -> Moments:
    """Return the moments of a value that is computed from several other values of the same positives.

    Parameters
    ----------
    parts : list of Moments
        The moments of each value; `values` of part i has shape (positives, k_i).
    combine : function
        Computes the result: takes one array per part and returns an array of the same shape.

    Returns
    -------
    Moments
        `values` has shape (positives, sum of k_i): the columns of all parts side by side.
    """
    finishes = [part.finish for part in parts]
    # (parts - 1,): the index of the first column of each part, without the first part.
    column_starts = np.cumsum([part.values.shape[1] for part in parts])[:-1]

    def finish(means: Reals) -> Reals:
        columns = np.split(means, column_starts, axis=-1)
        return combine(*(finish_part(part) for finish_part, part in zip(finishes, columns, strict=True)))

    # The transpose stores each column contiguously, as each part does. numpy then sums each column pairwise, and every
    # mean equals the mean of the part alone, bit by bit.
    return Moments(np.concatenate([part.values.T for part in parts]).T, finish)
