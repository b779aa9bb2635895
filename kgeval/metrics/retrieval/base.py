"""The base class of list metrics: averages of one ratio per query, with tie policies and chance levels.

`kgeval.metrics.query_level` and `kgeval.trec` call the metrics through this class.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Reals, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import Family, Metric, MetricValue, quotient
from kgeval.metrics.retrieval.lists import INFINITY, LIST_TIES, RankedLists
from kgeval.stats.moments import Moments

AVERAGES = ("macro", "micro")
EMPTY = ("skip", "zero", "nan")
NO_EXPECTATION = ("optimistic", "pessimistic", "stable")


class ListMetric(Metric):
    """Base of the metrics of ranked lists with any number of relevant items.

    A subclass defines `ratio`, which returns a numerator and a denominator for each query. The value of the query is
    numerator / denominator. The ``macro`` average is the mean of these values; the ``micro`` average is the sum of all
    numerators divided by the sum of all denominators.
    """

    default_ties: ClassVar[str] = "expected"
    tie_policies: ClassVar[tuple[str, ...]] = LIST_TIES
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    has_moments: ClassVar[bool] = True

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators and the denominators of all queries, as two float64 arrays (queries,)."""
        raise TypeError(f"{type(self).__name__} does not define ratio(lists)")

    def compute(self, lists: RankedLists, ties: str = "expected", average: str = "macro") -> MetricValue:
        """Return the metric averaged over all lists.

        Parameters
        ----------
        lists : RankedLists
            Made by `from_scores`, `from_ranking` or `from_run`.
        ties : str
            Order of tied items. ``"expected"``: the exact expectation over all orders; ``"optimistic"``: higher
            grades first; ``"pessimistic"``: higher grades last; ``"stable"``: the order of the input.
        average : str
            ``"macro"``: the mean over the queries; ``"micro"``: the sum of the numerators divided by the sum of the
            denominators.
        """
        reason, above, below = self._reason_and_ratio(lists, ties, average)
        n_empty = 0 if self._empty == "zero" else _n_empty(below)
        excluded = (n_empty, n_empty / len(lists) if n_empty else 0.0)
        if reason:
            return MetricValue.undefined(reason, *excluded)
        return MetricValue(float(self._moments(above, below, average).number), "", *excluded)

    def moments(self, lists: RankedLists, ties: str = "expected", average: str = "macro") -> Moments:
        """Return the contribution of each list to the metric, for confidence intervals and tests.

        Parameters
        ----------
        lists : RankedLists
        ties, average : str
            As for `compute`.

        Returns
        -------
        Moments
            `number` is the value that `compute` returns; `values` is float64, shape (queries, 2), one row per list.
            With ``"macro"``, the columns are the metric of the list and 1; both are 0 for a skipped list. With
            ``"micro"``, the columns are the numerator and the denominator of the list.

        Raises
        ------
        MetricError
            If the metric has no value; the message is the reason that `compute` gives.
        """
        reason, above, below = self._reason_and_ratio(lists, ties, average)
        if reason:
            raise MetricError(reason)
        return self._moments(above, below, average)

    def _reason_and_ratio(self, lists: RankedLists, ties: str, average: str) -> tuple[str, Reals, Reals]:
        """Return three values: the reason why the metric has no value, the numerators, and the denominators.

        The reason is an empty string if the metric has a value. Numerators and denominators are the two arrays that
        `ratio` returns for the lists with ties broken. If `lacking` returns a reason, both arrays are empty.
        """
        check_one_of("average", average, AVERAGES, MetricError)
        check_lists(lists)
        reason, empty = self.lacking(lists, ties), np.zeros(0)
        if reason:
            return reason, empty, empty
        above, below = self.ratio(self.ordered(lists, ties))
        n_empty = _n_empty(below)
        if n_empty and (self._empty == "nan" or (n_empty == len(lists) and self._empty != "zero")):
            reason = f"{n_empty} of {len(lists)} queries: {self.undefined_when}"
        return reason, above, below

    def _moments(self, above: Reals, below: Reals, average: str) -> Moments:
        """Return the moments of the average over the queries.

        `above` has the numerators and `below` the denominators of all queries, each float64 (queries,).
        """
        is_defined = below > 0
        if average == "micro":
            nothing = 0.0 if self._empty == "zero" else np.nan
            return _ratio_of_means(np.where(is_defined, above, 0.0), np.where(is_defined, below, 0.0), nothing)
        value = quotient(above, below, is_defined, 0.0)
        return _ratio_of_means(value, np.ones(len(below)) if self._empty == "zero" else is_defined, np.nan)

    def per_query(self, lists: RankedLists, ties: str = "expected") -> Reals:
        """Return the metric of each list, float64 (queries,).

        For a list without a value, the result is NaN, or 0 if the metric has ``empty="zero"``.
        """
        if self.lacking(lists, ties):
            return np.full(len(lists), np.nan)
        above, below = self.ratio(self.ordered(lists, ties))
        return quotient(above, below, below > 0, 0.0 if self._empty == "zero" else np.nan)

    def ordered(self, lists: RankedLists, ties: str) -> RankedLists:
        """Return the lists with ties broken; a metric overrides this method if a higher grade is not always better."""
        return lists.under(ties)

    def chance(self, lists: RankedLists, average: str = "macro") -> MetricValue:
        """Return the chance level: the expected value of the metric if all orders of each list are equally likely."""
        if "expected" not in self.tie_policies and len(lists):
            return MetricValue.undefined(f"{self} has no closed form of its chance level")
        return self.compute(lists.shuffled(), "expected", average)

    def _check(self, **choices: tuple[str, ...]) -> None:
        """Check the cut-off k, if the metric has one, and the parameters that accept only certain words.

        Parameters
        ----------
        **choices : tuple of str
            For each of these parameters, the allowed words, as in ``empty=("skip", "zero", "nan")``.
        """
        k = getattr(self, "k", None)
        if k is not None:
            check_positive_int(f"k of {self.name}@k", k, MetricError)
        for name, allowed in choices.items():
            check_one_of(f"{name} of {self.name}", getattr(self, name), allowed, MetricError)

    @property
    def _empty(self) -> str:
        """The treatment of queries without a value in averages: ``"skip"``, ``"zero"`` or ``"nan"``.

        The result is the metric's parameter `empty`, or ``"skip"`` if the metric has no such parameter.
        """
        return getattr(self, "empty", "skip")

    @property
    def _reach(self) -> int:
        """The cut-off k, but at most `INFINITY`; `INFINITY` if the metric has no cut-off."""
        k: int | None = getattr(self, "k", None)
        return INFINITY if k is None else min(k, INFINITY)

    def lacking(self, lists: RankedLists, ties: str) -> str:
        """Return the reason why the metric has no value under this tie policy, or an empty string."""
        if ties == "realistic":
            return f"{self} does not support ties='realistic': several answers have no single rank; use ties='expected'"
        check_one_of("ties", ties, LIST_TIES, MetricError)
        if not len(lists):
            return "no queries"
        if ties not in self.tie_policies and lists.has_mixed_ties:
            return f"{self} has no exact expectation over random tie breaking; use ties='optimistic' or 'pessimistic'"
        return ""


def check_lists(lists: Any) -> None:
    """Raise a MetricError unless `lists` is an instance of `RankedLists`.

    Parameters
    ----------
    lists : Any
        The argument to check.

    Raises
    ------
    MetricError
        If `lists` is not an instance of `RankedLists`. The message names its type, and functions that make lists.
    """
    if not isinstance(lists, RankedLists):
        raise MetricError(
            "expected ranked lists, made by kgeval.metrics.retrieval.from_scores, from_ranking or from_run; "
            f"got {type(lists).__name__}"
        )


def _n_empty(below: Reals) -> int:
    """Return the number of queries without a value: those whose denominator is not above 0."""
    return int(np.count_nonzero(~(below > 0)))


def _ratio_of_means(above: npt.ArrayLike, below: npt.ArrayLike, nothing: float) -> Moments:
    """Return the moments of mean(above) / mean(below); if mean(below) is 0, the value is `nothing`."""

    def finish(means: Reals) -> Reals:
        return quotient(means[..., 0], means[..., 1], means[..., 1] > 0, nothing)

    # The transpose stores each column contiguously, so that numpy sums each column pairwise, which reduces rounding
    # errors.
    values = np.array([above, below], dtype=np.float64)
    return Moments(values.T, finish, weights=values[1])


LISTS: Family[ListMetric] = Family("list metric", ListMetric)
