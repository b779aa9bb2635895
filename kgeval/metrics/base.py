"""`Metric`, the base class of all metrics; `MetricValue`, the result of a metric; `Family`, a registry of metrics.

Most modules of `kgeval.metrics` import these classes.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Reals, suggest
from kgeval.errors import MetricError

TIE_POLICIES = ("optimistic", "pessimistic", "realistic", "expected")
TIE_WORDS = dict(zip(TIE_POLICIES, ("best rank", "worst rank", "mean rank", "mean over all orders")))
UNBOUNDED = float("inf")


def tie_words(ties: str) -> str:
    """Return which rank tied candidates get under a tie policy, and its name.

    Parameters
    ----------
    ties : str

    Examples
    --------
    >>> tie_words("realistic")
    'mean rank (realistic)'
    """
    return f"{TIE_WORDS[ties]} ({ties})"


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric, or NaN with the reason why the metric has no value.

    Parameters
    ----------
    value : float
    reason : str
        Empty unless `value` is NaN.
    excluded : int
        Number of queries or groups that are left out of the mean because they have no value.
    excluded_weight : float
        Total weight of the queries or groups that are left out, divided by the total weight of all queries or groups;
        from 0 to 1.
    """

    value: float
    reason: str = ""
    excluded: int = 0
    excluded_weight: float = 0.0

    @classmethod
    def undefined(cls, reason: str, excluded: int = 0, excluded_weight: float = 0.0) -> MetricValue:
        """Return a `MetricValue` that is NaN, with the reason why the metric has no value."""
        return cls(float("nan"), reason, excluded, excluded_weight)


class Metric:
    """Base class of all metrics; the parameters of a metric are dataclass fields.

    There are three families: metrics of ranks (`kgeval.metrics.ranks`), of ranked lists with several
    answers (`kgeval.metrics.retrieval`), and of single predictions (`kgeval.metrics.pointwise`).
    ``str(metric)`` is ``name(parameter=value,...)@k``. Parameters that have their default value are left out; ``@k`` is
    left out only if the metric has no cut-off.

    Attributes
    ----------
    name : str
        The metric's name in keys.
    synonyms : tuple of str
        Other names that `parse` accepts for this metric.
    title : str
        The metric's name in printed tables and charts; `heading` adds its parameters.
    unit : str
        Unit of the values: ``"ranks"``, or empty for pure numbers.
    decimals : int
        Number of decimals in printed tables.
    higher_is_better : bool
    bounds : tuple of float
        The smallest and the largest possible value.
    reference : str
        The source of the formula.
    undefined_when : str
        The condition under which the metric has no value, for example ``"there is no triple"``.
    tie_policies : tuple of str
        The tie policies that the metric supports.
    default_ties : str
        The tie policy that is used by default.
    has_moments : bool
        Whether the metric can be computed from means over the positives or queries. If so, the method `moments` returns
        the terms of these means; confidence intervals and tests are computed from the terms.
    needs_candidates : bool
        Whether the numbers of candidates are needed in addition to the ranks.
    """

    name: ClassVar[str]
    synonyms: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    unit: ClassVar[str] = ""
    decimals: ClassVar[int] = 4
    higher_is_better: ClassVar[bool]
    bounds: ClassVar[tuple[float, float]]
    reference: ClassVar[str]
    undefined_when: ClassVar[str]
    tie_policies: ClassVar[tuple[str, ...]] = TIE_POLICIES
    default_ties: ClassVar[str] = "realistic"
    has_moments: ClassVar[bool] = False
    needs_candidates: ClassVar[bool] = False

    def __str__(self) -> str:
        options, cut_off = [], ""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name == "k":
                cut_off = "" if value is None else f"@{value}"
            elif value != field.default:
                options.append(f"{field.name}={_shown(value)}")
        return self.name + (f"({','.join(options)})" if options else "") + cut_off

    @property
    def heading(self) -> str:
        """The metric's name and parameters, as printed tables and charts show them."""
        return self.title + str(self).removeprefix(self.name)


def quotient(above: Reals, below: Reals, is_defined: npt.NDArray[np.bool_], nothing: float = np.nan) -> Reals:
    """Divide two arrays element by element; where `is_defined` is False, the result is `nothing`.

    Parameters
    ----------
    above, below : float64 arrays of equal shape
        Numerators and denominators.
    is_defined : bool array, same shape as `above`
        True where the quotient is defined.
    nothing : float
        The result where `is_defined` is False.

    Returns
    -------
    float64 array, same shape as `above`
    """
    result = np.full(np.shape(below), nothing)
    np.divide(above, below, out=result, where=is_defined)
    return result


M = TypeVar("M", bound=Metric)
T = TypeVar("T")


class Family(Generic[M]):
    """A registry of the metrics of one kind; `parse` returns the metric that a text such as ``hits@10`` names.

    Parameters
    ----------
    what : str
        The words for a metric of this family in error messages, such as ``"list metric"``.
    base : type
        The base class of all metrics of this family.
    """

    def __init__(self, what: str, base: type[M]) -> None:
        self.what = what
        self.base = base
        self._classes: dict[str, type[M]] = {}

    def register(self, metric: type[M]) -> type[M]:
        """Register a metric class under its name and synonyms, and return the class; used as a decorator."""
        for name in (metric.name, *metric.synonyms):
            self._classes[name] = metric
        return metric

    def registered(self) -> dict[str, type[M]]:
        """Return the metric classes of this family by name; synonyms are left out."""
        return {metric.name: metric for metric in self._classes.values()}

    def spellings(self) -> list[str]:
        """Return one valid text for each metric, such as 'mrr' or 'hits@10'; error messages list these texts."""
        return [name + ("@10" if _needs_cut_off(metric) else "") for name, metric in self.registered().items()]

    def has_name(self, text: str) -> bool:
        """Return whether a text such as 'hits@10' starts with the name or a synonym of a metric of this family."""
        return re.split(r"[@(]", text.strip().lower())[0] in self._classes

    def parse(self, text: str | Metric, known: Sequence[str] = ()) -> M:
        """Return the metric that `text` names.

        Parameters
        ----------
        text : str or Metric
            For example ``"hits@10"``; a `Metric` object of this family is returned unchanged.
        known : sequence of str
            Other texts that the caller accepts; the error message for an unknown name also lists these texts.

        Returns
        -------
        Metric
            A metric of this family.

        Raises
        ------
        MetricError
            If `text` is neither a string nor a metric of this family, if the name is unknown (the message suggests the
            most similar known name), or if a parameter is unknown, missing or wrong.
        """
        if isinstance(text, Metric):
            if not isinstance(text, self.base):
                raise MetricError(f"expected a {self.what}; got {text!r}")
            return text
        if not isinstance(text, str):
            raise MetricError(f"a {self.what} is named by a string such as {self.spellings()[0]!r}; got {text!r}")
        spec = text.strip().lower()
        parts = re.fullmatch(r"([^(@]*)(?:\((.*)\))?(?:(@)(.*))?", spec, re.S)
        name, options, at, cut_off = parts.groups() if parts else (spec, None, None, None)
        if name not in self._classes:
            spellings = sorted({*self.spellings(), *known})
            hint = suggest(spec, [*spellings, *self._classes])  # suggests synonyms, too
            raise MetricError(f"unknown {self.what} {text!r}{hint}; known: {', '.join(spellings)}")
        metric_class = self._classes[name]
        fields = {field.name: field for field in dataclasses.fields(metric_class)}  # type: ignore[arg-type]
        if "k" not in fields and at:
            raise MetricError(f"{name} takes no cut-off; got {text!r}")
        if "k" in fields and re.fullmatch(r"[0-9]{19,}", cut_off or ""):
            raise MetricError(f"the cut-off of {name} must be below 10^18; got {text!r}")
        if "k" in fields and (at or _needs_cut_off(metric_class)) and not re.fullmatch(r"[0-9]{1,18}", cut_off or ""):
            raise MetricError(f"{name} needs a cut-off, a positive integer, such as '{name}@10'; got {text!r}")
        arguments: dict[str, Any] = {"k": int(cut_off)} if cut_off else {}
        named = {key: field for key, field in fields.items() if key != "k"}
        return metric_class(**arguments, **_read_options(metric_class, options, text, named))


def _shown(value: Any) -> str:
    """Format the value of a parameter for the text of a metric: 2.0 becomes '2', Euler's number becomes 'e'."""
    return "e" if value == math.e else repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def _needs_cut_off(metric: type[Metric]) -> bool:
    """Return True if the text of the metric must contain a cut-off, as in 'hits@10'."""
    fields = getattr(metric, "__dataclass_fields__", {})
    return "k" in fields and fields["k"].default is not None


def _read_options(
    metric: type[Metric], options: str | None, text: str, fields: dict[str, dataclasses.Field[Any]]
) -> dict[str, Any]:
    """Parse the parameters of a metric, such as ``gain=exponential,empty=zero``, into a dictionary.

    `options` is the text between the parentheses, or None if there are no parentheses; `text` is the whole text of the
    metric, for error messages; `fields` are the allowed parameters by name. Each value is converted to the type of the
    parameter's default.
    """
    if options is None:
        return {}
    arguments: dict[str, Any] = {}
    for option in options.split(","):
        key, equals, value = (part.strip() for part in option.partition("="))
        if not equals or key not in fields:
            takes = ", ".join(f"{key}=" for key in fields) or "no parameters"
            raise MetricError(f"{metric.name} takes {takes}; got {option.strip()!r} in {text!r}")
        if key in arguments:
            raise MetricError(f"duplicate parameter {key} in {text!r}")
        default_type: Any = type(fields[key].default)
        try:
            arguments[key] = math.e if default_type is float and value == "e" else default_type(value)
        except ValueError:
            kind = {int: "an integer", float: "a number"}.get(default_type, "a word")
            raise MetricError(f"{key} of {metric.name} must be {kind}; got {value!r} in {text!r}") from None
    return arguments


def split_list(text: str | Iterable[T]) -> list[str | T]:
    """Split a text at its commas, but not at commas in parentheses; return any other sequence as a list.

    Parameters
    ----------
    text : str, or sequence of any items
        For example ``"mrr,hits@10"``, or a list of metrics.

    Returns
    -------
    list
        For a string: its parts without surrounding spaces; empty parts are left out. For another sequence: its items.

    Examples
    --------
    >>> split_list("mrr, ndcg(gain=exponential,empty=zero)@10")
    ['mrr', 'ndcg(gain=exponential,empty=zero)@10']
    """
    if not isinstance(text, str):
        return list(text)
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
