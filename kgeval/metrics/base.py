"""What a metric is: a frozen value whose formula is `value(rank)`, and the registry of all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, check_one_of, suggest
from kgeval.errors import MetricError

Reals = npt.NDArray[np.float64]

TIE_POLICIES = ("optimistic", "pessimistic", "realistic", "expected")
UNBOUNDED = float("inf")


@dataclass(frozen=True)
class MetricValue:
    """A number, or NaN with the reason why there is none.

    Parameters
    ----------
    value : float
    reason : str
        Empty unless `value` is NaN.
    """

    value: float
    reason: str = ""

    @classmethod
    def undefined(cls, reason: str) -> MetricValue:
        """Return NaN with its reason."""
        return cls(float("nan"), reason)


class Metric:
    """Base of all rank metrics: parameters are dataclass fields, traits are class attributes.

    A subclass gives `value`; its mean over the positives is the metric. What random tie breaking and
    random ranking lead to is derived from `value`, since both are ranks uniform on a range: from
    better + 1 to better + tied + 1, and from 1 to the number of candidates.
    """

    name: ClassVar[str]
    synonyms: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    higher_is_better: ClassVar[bool]
    bounds: ClassVar[tuple[float, float]]
    reference: ClassVar[str]
    tie_policies: ClassVar[tuple[str, ...]] = TIE_POLICIES
    has_chance_level: ClassVar[bool] = True

    def value(self, rank: Any) -> Reals:
        """Return the metric of each 1-based rank, elementwise; ranks may be halves."""
        raise TypeError(f"{type(self).__name__} does not say its value of a rank")

    def aggregate(self, ranks: Reals) -> float:
        """Return the metric of all ranks together; the mean of `value` unless a metric says otherwise."""
        return float(np.mean(self.value(ranks)))

    def compute(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> MetricValue:
        """Return the metric of positives with these counts.

        Parameters
        ----------
        better, tied, rivals : int64 arrays, shape (positives,)
        ties : str
            ``"optimistic"``: the positive first among equals; ``"pessimistic"``: last;
            ``"realistic"``: the mean of both ranks; ``"expected"``: the expectation of the metric
            over random tie breaking.
        """
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
        if not len(better):
            return MetricValue.undefined("no triples")
        if ties not in self.tie_policies:
            return MetricValue.undefined(f"{self} has no exact expectation over random tie breaking")
        if ties == "expected":
            return MetricValue(self.expectation(better + 1, better + tied + 1))
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return MetricValue(self.aggregate(better + 1 + share * tied))

    def expectation(self, low: Ids, high: Ids) -> float:
        """Return the expected metric when each rank is uniform on ``low..high``, independently."""
        return float(np.mean(mean_over_range(self.value, low, high)))

    def variance(self, low: Ids, high: Ids) -> float:
        """Return the variance of the metric when each rank is uniform on ``low..high``, independently."""
        first = mean_over_range(self.value, low, high)
        second = mean_over_range(lambda rank: self.value(rank) ** 2, low, high)
        return float(np.maximum(second - first**2, 0.0).sum() / len(low) ** 2)

    def chance(self, rivals: Ids) -> MetricValue:
        """Return the expected metric of a scorer that knows nothing: every rank equally likely."""
        if not len(rivals):
            return MetricValue.undefined("no triples")
        if not self.has_chance_level:
            return MetricValue.undefined(f"{self} has no closed form of its chance level")
        return MetricValue(self.expectation(np.ones_like(rivals), rivals + 1))

    @property
    def best(self) -> float:
        """The metric when every positive is first."""
        return self.aggregate(np.ones(1))

    def caution(self, rivals: Ids) -> str:
        """Return a sentence where the value says less than it seems, else an empty string."""
        return ""

    def __str__(self) -> str:
        return self.name

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return self.title


def mean_over_range(value: Callable[[Any], Reals], low: Ids, high: Ids) -> Reals:
    """Return, per row, the mean of ``value`` over the integers ``low..high``."""
    result = value(low.astype(np.float64))
    is_range = high > low
    if is_range.any():
        table = np.zeros(int(high.max()) + 1, dtype=np.longdouble)
        np.cumsum(value(np.arange(1, len(table), dtype=np.float64)), dtype=np.longdouble, out=table[1:])
        lo, hi = low[is_range], high[is_range]
        result[is_range] = (table[hi] - table[lo - 1]) / (hi - lo + 1)
    return result


_PLAIN: dict[str, type[Metric]] = {}
_WRAPPERS: dict[str, type[Any]] = {}
_SHORTHANDS: dict[str, str] = {}


def register(metric: type[Metric]) -> type[Metric]:
    """Make a metric known under its name and synonyms."""
    for name in (metric.name, *metric.synonyms):
        _PLAIN[name] = metric
    return metric


def register_wrapper(wrapper: type[Any]) -> type[Any]:
    """Make a wrapper known; it is written ``name(metric)``, or by one of its shorthands."""
    _WRAPPERS[wrapper.name] = wrapper
    _SHORTHANDS.update(wrapper.shorthands)
    return wrapper


def registered() -> dict[str, type[Metric]]:
    """Return every plain metric by its own name."""
    return {metric.name: metric for metric in _PLAIN.values()}


def parse(text: str | Metric) -> Metric:
    """Return the metric that `text` names.

    Parameters
    ----------
    text : str or Metric
        ``"mrr"``, ``"hits@10"``, ``"adjusted(mr)"`` (or ``"amri"``), ``"z(hits@3)"``.

    Raises
    ------
    MetricError
        If the name is unknown, with the nearest known one, or a parameter is missing or wrong.

    Examples
    --------
    >>> parse("hits@10")
    Hits(k=10)
    >>> str(parse("amri"))
    'adjusted(mr)'
    """
    if isinstance(text, Metric):
        return text
    if not isinstance(text, str):
        raise MetricError(f"a metric is named by a string such as 'mrr' or 'hits@10'; got {text!r}")
    spec = _SHORTHANDS.get(text.strip().lower(), text.strip().lower())
    wrapped = re.fullmatch(r"(\w+)\((.*)\)", spec)
    if wrapped:
        name, inner = wrapped.groups()
        if name not in _WRAPPERS:
            raise MetricError(f"unknown wrapper {name!r} in {text!r}; known: {', '.join(sorted(_WRAPPERS))}")
        made: Metric = _WRAPPERS[name](parse(inner))
        return made
    name, at, parameter = spec.partition("@")
    if name not in _PLAIN:
        hint = suggest(spec, _spellings())
        raise MetricError(f"unknown metric {text!r}{hint}; known: {', '.join(_spellings())}")
    needs_k = "k" in getattr(_PLAIN[name], "__dataclass_fields__", {})
    if needs_k and not re.fullmatch(r"[0-9]{1,18}", parameter):
        raise MetricError(f"{name} needs a cut-off, a positive integer, such as '{name}@10'; got {text!r}")
    if not needs_k and at:
        raise MetricError(f"{name} takes no cut-off; got {text!r}")
    return _PLAIN[name](int(parameter)) if needs_k else _PLAIN[name]()  # type: ignore[call-arg]


def parse_all(metrics: Sequence[str | Metric] | str) -> list[Metric]:
    """Return the metrics named by a sequence, or by one string with commas."""
    return [parse(metric) for metric in (metrics.split(",") if isinstance(metrics, str) else metrics)]


def _spellings() -> list[str]:
    plain = [
        name + ("@10" if "k" in getattr(m, "__dataclass_fields__", {}) else "") for name, m in registered().items()
    ]
    return sorted([*plain, *_SHORTHANDS, *(f"{name}(...)" for name in _WRAPPERS)])
