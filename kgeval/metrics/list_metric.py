"""What every metric of ranked lists is: a ratio per query, with its averages, tie policies and chance level."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kgeval.checks import check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import Family, Metric, MetricValue, Reals
from kgeval.metrics.lists import INFINITY, LIST_TIES, Lists

AVERAGES = ("macro", "micro")
EMPTY = ("skip", "zero", "nan")
NO_EXPECTATION = ("optimistic", "pessimistic", "stable")


class ListMetric(Metric):
    """Base of the metrics of a ranked list with any number of relevant items.

    A subclass gives `ratio`: a numerator and a denominator per query. The value of a query is their
    quotient; ``macro`` is the mean over the queries, ``micro`` the quotient of the sums.
    """

    default_ties: ClassVar[str] = "expected"
    tie_policies: ClassVar[tuple[str, ...]] = LIST_TIES
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return numerator and denominator per query, each float64 (queries,)."""
        raise TypeError(f"{type(self).__name__} does not say its ratio")

    def compute(self, lists: Lists, ties: str = "expected", average: str = "macro") -> MetricValue:
        """Return the metric of all lists together.

        Parameters
        ----------
        lists : Lists
            See `kgeval.metrics.retrieval`.
        ties : str
            ``"expected"``: the exact expectation over random orders of tied items; ``"optimistic"``:
            the higher grade first; ``"pessimistic"``: last; ``"stable"``: the order in which items came.
        average : str
            ``"macro"``: the mean over queries; ``"micro"``: sum of numerators by sum of denominators.
        """
        check_one_of("average", average, AVERAGES, MetricError)
        check_lists(lists)
        lacking = self.lacking(lists, ties)
        if lacking:
            return MetricValue.undefined(lacking)
        above, below = self.ratio(self.ordered(lists, ties))
        is_defined = below > 0
        n_empty = int((~is_defined).sum())
        excluded = (n_empty, n_empty / len(lists))
        empty = getattr(self, "empty", "skip")
        if n_empty and (empty == "nan" or (n_empty == len(lists) and empty != "zero")):
            said = f"{n_empty} of {len(lists)} queries: {self.undefined_when}"
            return MetricValue.undefined(said, *excluded)
        above, below, n = above[is_defined], below[is_defined], len(lists) - n_empty
        if empty == "zero":  # counts in a mean, and adds nothing to either sum
            excluded, n = (0, 0.0), len(lists)
        if average == "micro":
            return MetricValue(float(above.sum() / below.sum()) if len(below) else 0.0, "", *excluded)
        return MetricValue(float((above / below).sum() / n), "", *excluded)

    def per_query(self, lists: Lists, ties: str = "expected") -> Reals:
        """Return the metric of each list, float64 (queries,); NaN (0 under ``empty=zero``) where it has none."""
        if self.lacking(lists, ties):
            return np.full(len(lists), np.nan)
        above, below = self.ratio(self.ordered(lists, ties))
        nothing = 0.0 if getattr(self, "empty", "skip") == "zero" else np.nan
        result = np.full(len(lists), nothing)
        np.divide(above, below, out=result, where=below > 0)
        return result

    def ordered(self, lists: Lists, ties: str) -> Lists:
        """Return the lists with ties broken, from the metric's best or worst order."""
        return lists.under(ties)

    def chance(self, lists: Lists, average: str = "macro") -> MetricValue:
        """Return the expected metric of a scorer that knows nothing: every order of each list equally likely."""
        if "expected" not in self.tie_policies and len(lists):
            return MetricValue.undefined(f"{self} has no closed form of its chance level")
        return self.compute(lists.shuffled(), "expected", average)

    def _check(self, **choices: tuple[str, ...]) -> None:
        """Check the cut-off, if the metric has one, and each parameter that is one of a few words."""
        k = getattr(self, "k", None)
        if k is not None:
            check_positive_int(f"k of {self.name}@k", k, MetricError)
        for name, allowed in choices.items():
            check_one_of(f"{name} of {self.name}", getattr(self, name), allowed, MetricError)

    @property
    def _reach(self) -> int:
        """The cut-off, or a number beyond any list where there is none."""
        k: int | None = getattr(self, "k", None)
        return INFINITY if k is None else min(k, INFINITY)

    def lacking(self, lists: Lists, ties: str) -> str:
        """Return why there is no value, or an empty string."""
        if ties == "realistic":
            return f"{self} has no realistic ties: several answers have no one mean rank; ask for expected"
        check_one_of("ties", ties, LIST_TIES, MetricError)
        if not len(lists):
            return "no queries"
        if ties not in self.tie_policies and lists.has_mixed_ties:
            return f"{self} has no exact expectation over random tie breaking; ask for optimistic or pessimistic"
        return ""


def check_lists(lists: Any) -> None:
    """Raise a MetricError unless these are lists."""
    if not isinstance(lists, Lists):
        raise MetricError(
            "expected ranked lists, made by kgeval.metrics.retrieval.from_scores, from_ranking or from_run; "
            f"got {type(lists).__name__}"
        )


LISTS: Family[ListMetric] = Family("list metric", ListMetric)
