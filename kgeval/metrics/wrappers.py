"""Metrics seen against their chance level; each wraps any metric that has one."""

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

# Rounding leaves no less than this of a difference, and of a variance, that are 0.
MIN_ROOM = 1e-15
MIN_VARIANCE = 1e-30


SHORTHANDS = {"amri": "adjusted(mr)"}  # what is written in place of a wrapper


class AgainstChance(RankMetric):
    """What both wrappers share: the wrapped metric's ties, cautions and its value at random ranking."""

    metric: RankMetric
    higher_is_better = True
    needs_candidates = True

    def __post_init__(self) -> None:
        if not isinstance(self.metric, RankMetric) or isinstance(self.metric, AgainstChance):
            raise MetricError(f"{self.name}(...) wraps a plain metric such as MRR(); got {self.metric!r}")

    @property
    def tie_policies(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the wrapped metric."""
        return self.metric.tie_policies

    def is_weightable(self, ties: str) -> bool:
        """Tell whether the metric has a weighted form: its chance level must have one."""
        return self.metric.is_weightable("expected")

    @property
    def has_moments(self) -> bool:  # type: ignore[override]
        """Whether the wrapped metric is a function of means."""
        return self.metric.has_moments

    def lacking(self, rivals: Ids, ties: str) -> str:
        """Return why there is no value, or an empty string: no room above or around the chance level."""
        reason, level = self.metric.lacking(rivals, ties), self.metric.chance(rivals)
        return reason or level.reason or self.lacking_room(level.value, rivals)

    def lacking_room(self, level: float, rivals: Ids) -> str:
        """Return why the value would be 0 / 0 at this chance level, or an empty string."""
        raise TypeError(f"{type(self).__name__} does not say how it compares with chance")

    def chance(self, rivals: Ids) -> MetricValue:
        """Return 0: at random ranking the metric equals its chance level."""
        level = self.metric.chance(rivals)
        return level if level.reason else MetricValue(0.0)

    def caution(self, rivals: Ids) -> str:
        """Return the wrapped metric's caution."""
        return self.metric.caution(rivals)

    def __str__(self) -> str:
        text = f"{self.name}({self.metric})"
        return next((short for short, long in SHORTHANDS.items() if long == text), text)


@dataclass(frozen=True)
class Adjusted(AgainstChance):
    """Adjusted index: (M - E[M]) / (best - E[M]); 1 is best, 0 is chance, less is worse than chance.

    E[M] is the expectation over random ranks with the candidates that each positive really has.
    ``adjusted(mr)`` is the AMRI, 1 - (MR - 1) / (E[MR] - 1).

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
        """Tell where chance already reaches the best value."""
        has_room = abs(self.metric.best - level) > MIN_ROOM
        return "" if has_room else f"chance already reaches the best value of {self.metric}: 0 / 0"

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        best = self.metric.best

        def adjusted(value: Reals, level: Reals) -> Reals:
            room = best - level
            return quotient(value - level, room, np.abs(room) > MIN_ROOM)

        level = self.metric.expectation(np.ones_like(rivals), rivals + 1)
        return _together([self.metric.moments(better, tied, rivals, ties), level], adjusted)

    @property
    def best(self) -> float:
        """The value when every positive is first."""
        return 1.0

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return "AMRI" if str(self) == "amri" else str(self)


@dataclass(frozen=True)
class ZScore(AgainstChance):
    """Standardised metric: (M - E[M]) / sqrt(Var[M]) under random ranks, the sign such that larger is better.

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
        """Tell where the metric cannot vary."""
        variance = self.metric.variance(np.ones_like(rivals), rivals + 1)
        return "" if variance > MIN_VARIANCE else f"{self.metric} does not vary under random ranks: 0 / 0"

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        sign = 1.0 if self.metric.higher_is_better else -1.0

        def standardised(value: Reals, level: Reals, variance: Reals) -> Reals:
            return quotient(sign * (value - level), np.sqrt(variance), variance > MIN_VARIANCE)

        at_random = np.ones_like(rivals), rivals + 1
        level, variance = self.metric.expectation(*at_random), self.metric.spread(*at_random)
        return _together([self.metric.moments(better, tied, rivals, ties), level, variance], standardised)

    def is_weightable(self, ties: str) -> bool:
        """Return False: the variance of a weighted mean is no weighted mean of variances."""
        return False

    @property
    def best(self) -> float:
        """Depends on the number of candidates; unbounded."""
        return UNBOUNDED

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return str(self)


def _together(parts: list[Moments], combine: Callable[..., Reals]) -> Moments:
    """Return ``combine(*numbers)`` of numbers of the same observations as one number."""
    finishes = [part.finish for part in parts]
    ends = np.cumsum([part.values.shape[1] for part in parts])[:-1]

    def finish(means: Reals) -> Reals:
        columns = np.split(means, ends, axis=-1)
        return combine(*(part(own) for part, own in zip(finishes, columns, strict=True)))

    # Columns lie together, as each part's do, so that a mean is summed pairwise and to the same bits.
    return Moments(np.concatenate([part.values.T for part in parts]).T, finish)
