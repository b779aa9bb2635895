"""Metrics seen against their chance level; each wraps any metric that has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.checks import Ids
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, MetricValue
from kgeval.metrics.ranking import RankMetric


class AgainstChance(RankMetric):
    """What both wrappers share: the wrapped metric's ties, cautions and its value at random ranking."""

    metric: RankMetric
    higher_is_better = True

    def __post_init__(self) -> None:
        if not isinstance(self.metric, RankMetric) or isinstance(self.metric, AgainstChance):
            raise MetricError(f"{self.name}(...) wraps a plain metric such as MRR(); got {self.metric!r}")

    @property
    def tie_policies(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the wrapped metric."""
        return self.metric.tie_policies

    def compute(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> MetricValue:
        """See `Metric.compute`; NaN where the metric has no room above or around its chance level."""
        found, level = self.metric.compute(better, tied, rivals, ties), self.metric.chance(rivals)
        if found.reason or level.reason:
            return MetricValue.undefined(found.reason or level.reason)
        return self.against(found.value, level.value, rivals)

    def against(self, value: float, level: float, rivals: Ids) -> MetricValue:
        """Return `value` seen against the chance level `level`."""
        raise TypeError(f"{type(self).__name__} does not say how it compares with chance")

    def chance(self, rivals: Ids) -> MetricValue:
        """Return 0: at random ranking the metric equals its chance level."""
        level = self.metric.chance(rivals)
        return level if level.reason else MetricValue(0.0)

    def caution(self, rivals: Ids) -> str:
        """Return the wrapped metric's caution."""
        return self.metric.caution(rivals)

    def __str__(self) -> str:
        return f"{self.name}({self.metric})"


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

    def against(self, value: float, level: float, rivals: Ids) -> MetricValue:
        """Return (value - level) / (best - level); NaN where chance already reaches the best value."""
        room = self.metric.best - level
        if not rivals.any() or np.isclose(room, 0.0, rtol=0.0, atol=1e-15):
            return MetricValue.undefined(f"chance already reaches the best value of {self.metric}: 0 / 0")
        return MetricValue((value - level) / room)

    @property
    def best(self) -> float:
        """The value when every positive is first."""
        return 1.0

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return "AMRI" if str(self.metric) == "mr" else str(self)


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

    def against(self, value: float, level: float, rivals: Ids) -> MetricValue:
        """Return (value - level) in standard deviations; NaN where the metric cannot vary."""
        variance = self.metric.variance(np.ones_like(rivals), rivals + 1)
        if not rivals.any() or variance <= 1e-30:
            return MetricValue.undefined(f"{self.metric} does not vary under random ranks: 0 / 0")
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return MetricValue(sign * (value - level) / float(np.sqrt(variance)))

    @property
    def best(self) -> float:
        """Depends on the number of candidates; unbounded."""
        return UNBOUNDED

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return str(self)
