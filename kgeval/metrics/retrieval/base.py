"""What every metric of ranked lists is: a ratio per query, with its averages, tie policies and chance level."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.checks import Reals, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import Family, Metric, MetricValue, quotient
from kgeval.metrics.retrieval.lists import INFINITY, LIST_TIES, Lists
from kgeval.stats import Moments

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
    has_moments: ClassVar[bool] = True

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
        reason, above, below = self._asked(lists, ties, average)
        n_empty = 0 if self._empty == "zero" else _n_empty(below)
        excluded = (n_empty, n_empty / len(lists) if n_empty else 0.0)
        if reason:
            return MetricValue.undefined(reason, *excluded)
        return MetricValue(float(self._moments(above, below, average).number), "", *excluded)

    def moments(self, lists: Lists, ties: str = "expected", average: str = "macro") -> Moments:
        """Return what each list adds to the metric of all; its number is the value of `compute`.

        Parameters
        ----------
        lists : Lists
        ties, average : str
            As for `compute`.

        Returns
        -------
        Moments
            Values float64 (queries, 2), in the order of the lists: the metric of the list and 1, both 0 for a
            list that does not count (``macro``); or numerator and denominator (``micro``).

        Raises
        ------
        MetricError
            Where `compute` gives a reason instead of a value, with that reason.
        """
        reason, above, below = self._asked(lists, ties, average)
        if reason:
            raise MetricError(reason)
        return self._moments(above, below, average)

    def _asked(self, lists: Lists, ties: str, average: str) -> tuple[str, Reals, Reals]:
        """Return why there is no value, or an empty string; and numerators and denominators where they exist."""
        check_one_of("average", average, AVERAGES, MetricError)
        check_lists(lists)
        reason, none = self.lacking(lists, ties), np.zeros(0)
        if reason:
            return reason, none, none
        above, below = self.ratio(self.ordered(lists, ties))
        n_empty = _n_empty(below)
        if n_empty and (self._empty == "nan" or (n_empty == len(lists) and self._empty != "zero")):
            reason = f"{n_empty} of {len(lists)} queries: {self.undefined_when}"
        return reason, above, below

    def _moments(self, above: Reals, below: Reals, average: str) -> Moments:
        """Return the moments of these numerators and denominators."""
        is_defined = below > 0
        if average == "micro":
            nothing = 0.0 if self._empty == "zero" else np.nan
            return _ratio_of_means(np.where(is_defined, above, 0.0), np.where(is_defined, below, 0.0), nothing)
        value = quotient(above, below, is_defined, 0.0)
        return _ratio_of_means(value, np.ones(len(below)) if self._empty == "zero" else is_defined, np.nan)

    def per_query(self, lists: Lists, ties: str = "expected") -> Reals:
        """Return the metric of each list, float64 (queries,); NaN (0 under ``empty=zero``) where it has none."""
        if self.lacking(lists, ties):
            return np.full(len(lists), np.nan)
        above, below = self.ratio(self.ordered(lists, ties))
        return quotient(above, below, below > 0, 0.0 if self._empty == "zero" else np.nan)

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
    def _empty(self) -> str:
        """What becomes of a query without a value; it is skipped where the metric does not ask."""
        return getattr(self, "empty", "skip")

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


def _n_empty(below: Reals) -> int:
    """Return how many queries have no value of their own."""
    return int(np.count_nonzero(~(below > 0)))


def _ratio_of_means(above: npt.ArrayLike, below: npt.ArrayLike, nothing: float) -> Moments:
    """Return the mean of `above` by the mean of `below`; `nothing` where that is 0."""

    def finish(means: Reals) -> Reals:
        return quotient(means[..., 0], means[..., 1], means[..., 1] > 0, nothing)

    # Columns lie together, so that each mean is summed pairwise.
    return Moments(np.array([above, below], dtype=np.float64).T, finish)


LISTS: Family[ListMetric] = Family("list metric", ListMetric)
