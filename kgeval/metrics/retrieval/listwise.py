"""Metrics of ranked lists that use no grades: an item is relevant or irrelevant.

With ties ``"expected"``, each metric is the exact expectation over all orders of tied items, from the formulas of
`kgeval.metrics.retrieval.positions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.checks import Reals, check_number
from kgeval.metrics.base import UNBOUNDED
from kgeval.metrics.retrieval.base import EMPTY, LISTS, ListMetric
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.retrieval.positions import (
    chance_of_hit,
    expected_hits,
    expected_precision_sums,
    expected_reciprocal,
)

SHORT = ("pad", "cut")
_SALTON = "Salton and McGill (1983), Introduction to Modern Information Retrieval"
_TREC = "Buckley and Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation"


@LISTS.register
@dataclass(frozen=True)
class Precision(ListMetric):
    """Share of relevant items among the first k items; without k, among all items of the list.

    Parameters
    ----------
    k : int, optional
    short : str
        What to do with a list shorter than k. ``"pad"``: the number of relevant items is divided by k, as in trec_eval.
        ``"cut"``: this number is divided by the length of the list.
    empty : str
        What to do with a query whose precision is 0 / 0. This happens if its list has no items, and `k` is None or
        `short` is ``"cut"``. The options are those of `Recall`.

    References
    ----------
    Salton and McGill (1983), Introduction to Modern Information Retrieval; for ties McSherry and
    Najork (2008), Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> Precision(4).compute(from_ranking([1, 0, 1, 0, 1])).value
    0.5
    """

    k: int | None = None
    short: str = "pad"
    empty: str = "skip"
    name: ClassVar[str] = "precision"
    synonyms: ClassVar[tuple[str, ...]] = ("p",)
    title: ClassVar[str] = "P"
    reference: ClassVar[str] = _SALTON
    undefined_when: ClassVar[str] = "the list is empty"

    def __post_init__(self) -> None:
        self._check(short=SHORT, empty=EMPTY)

    @property
    def needs_candidates(self) -> bool:  # type: ignore[override]
        """Whether a denominator is the length of a list."""
        return self.k is None or self.short == "cut"

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (number of relevant items among the first k) and the denominators.

        A denominator is k or the length of the list; see the parameter `short`.
        """
        divisor = lists.length if self.k is None else np.full(len(lists), float(self.k))
        if self.short == "cut":
            divisor = np.minimum(divisor, lists.length)
        return expected_hits(lists, self._reach), divisor.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class Recall(ListMetric):
    """Share of a query's relevant items that are among the first k items; without k, anywhere in the list.

    Parameters
    ----------
    k : int, optional
    empty : str
        What to do with a query without relevant items. ``"skip"``: the mean leaves the query out, and ``excluded``
        of the result counts it; ``"zero"``: the value of the query is 0; ``"nan"``: the whole metric is undefined.

    References
    ----------
    Salton and McGill (1983), Introduction to Modern Information Retrieval.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> Recall(4).compute(from_ranking([1, 0, 1, 0, 1, 1])).value
    0.5
    """

    k: int | None = None
    empty: str = "skip"
    name: ClassVar[str] = "recall"
    synonyms: ClassVar[tuple[str, ...]] = ("r",)
    title: ClassVar[str] = "R"
    reference: ClassVar[str] = _SALTON
    undefined_when: ClassVar[str] = "no item is relevant"

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (relevant items among the first k) and the denominators (all relevant items)."""
        return expected_hits(lists, self._reach), lists.n_relevant.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class FBeta(ListMetric):
    """F-beta: the weighted harmonic mean of precision@k and recall@k; with beta 1, the key of the metric is ``f1@k``.

    The value is (1 + beta^2) * h / (k + beta^2 * R), where h is the number of hits (relevant items among the first k),
    and R is the number of all relevant items. The expectation over ties is exact, since the order of tied items changes
    only h, and the value is proportional to h.

    Parameters
    ----------
    k : int, optional
        By default the length of the list.
    beta : float
        The weight of recall in the mean is beta^2 times the weight of precision.
    short : str
        As in `Precision`.
    empty : str
        What to do with a query whose value is 0 / 0. The options are those of `Recall`.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> FBeta(4).compute(from_ranking([1, 0, 1, 0, 1, 1])).value, str(FBeta(4)), str(FBeta(4, beta=2.0))
    (0.5, 'f1@4', 'fbeta(beta=2)@4')
    """

    k: int | None = None
    beta: float = 1.0
    short: str = "pad"
    empty: str = "skip"
    name: ClassVar[str] = "fbeta"
    synonyms: ClassVar[tuple[str, ...]] = ("f1",)
    title: ClassVar[str] = "fbeta"
    reference: ClassVar[str] = "van Rijsbergen (1979), Information Retrieval"
    undefined_when: ClassVar[str] = "the list is empty and no item is relevant"

    def __post_init__(self) -> None:
        self._check(short=SHORT, empty=EMPTY)
        check_number("beta of fbeta", self.beta, 0.0, UNBOUNDED, "a positive number")

    @property
    def needs_candidates(self) -> bool:  # type: ignore[override]
        """Whether a denominator is the length of a list."""
        return self.k is None or self.short == "cut"

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators, (1 + beta^2) * h, and the denominators, k + beta^2 * R; `FBeta` defines h and R."""
        hits, divisor = Precision(self.k, self.short).ratio(lists)
        weight = self.beta**2
        return (1 + weight) * hits, divisor + weight * lists.n_relevant

    def __str__(self) -> str:
        text = super().__str__()
        return text.replace("fbeta", "f1", 1) if self.beta == 1 else text

    @property
    def heading(self) -> str:
        """The metric's name in printed tables and charts."""
        return str(self)


@LISTS.register
@dataclass(frozen=True)
class Success(ListMetric):
    """Share of queries with at least one relevant item among the first k.

    Parameters
    ----------
    k : int

    References
    ----------
    Buckley and Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> Success(2).compute(from_ranking([[0, 1, 0], [0, 0, 1]])).value
    0.5
    """

    k: int = 10
    name: ClassVar[str] = "success"
    title: ClassVar[str] = "success"
    reference: ClassVar[str] = _TREC
    undefined_when: ClassVar[str] = "there is no query"

    def __post_init__(self) -> None:
        self._check()

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the chance that a relevant item is among the first k) and the denominators (all 1)."""
        return chance_of_hit(lists, self.k), np.ones(len(lists))


@LISTS.register
@dataclass(frozen=True)
class RR(ListMetric):
    """Reciprocal rank: 1 / position of the first relevant item; 0 if no relevant item is among the first k.

    In information retrieval, the mean over the queries is called MRR. `kgeval.metrics.MRR` is a different metric: a
    mean over triples, where each triple is the only answer of its query.

    Parameters
    ----------
    k : int, optional

    References
    ----------
    Voorhees (1999), The TREC-8 Question Answering Track Report.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> RR().compute(from_ranking([[0, 1, 1], [1, 0, 0], [0, 0, 0]])).value
    0.5
    """

    k: int | None = None
    name: ClassVar[str] = "rr"
    synonyms: ClassVar[tuple[str, ...]] = ("mrr", "recip_rank")
    title: ClassVar[str] = "RR"
    reference: ClassVar[str] = "Voorhees (1999), The TREC-8 Question Answering Track Report"
    undefined_when: ClassVar[str] = "there is no query"

    def __post_init__(self) -> None:
        self._check()

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the expected 1 / position of the first relevant item) and the denominators (all 1)."""
        groups = lists.groups
        # (groups,): whether the group is the first tie group with a relevant item; at most one group per list.
        first = (groups.relevant > 0) & (groups.relevant_before == 0)
        # (groups in `first`,): 1, because the expectation is for the first relevant item of each group.
        which = np.ones(int(first.sum()), dtype=np.int64)
        reciprocals = expected_reciprocal(
            groups.before[first], groups.size[first], groups.relevant[first], which, self._reach
        )
        return lists.per_list(groups.query[first], reciprocals), np.ones(len(lists))


@LISTS.register
@dataclass(frozen=True)
class MAP(ListMetric):
    """Mean average precision: the precision at the position of each relevant item, averaged over these items.

    A relevant item that is not among the first k items, or is missing from the list, has precision 0. The sum of the
    precisions is divided by the number R of all relevant items, as in trec_eval; some tools divide by min(R, k), which
    gives higher values.

    Parameters
    ----------
    k : int, optional
    empty : str
        As in `Recall`.

    References
    ----------
    Buckley and Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation; for
    ties McSherry and Najork (2008), ECIR.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> round(MAP().compute(from_ranking([1, 0, 0, 1, 1, 1])).value, 12)
    0.691666666667
    """

    k: int | None = None
    empty: str = "skip"
    name: ClassVar[str] = "map"
    synonyms: ClassVar[tuple[str, ...]] = ("ap", "average_precision")
    title: ClassVar[str] = "MAP"
    reference: ClassVar[str] = _TREC
    undefined_when: ClassVar[str] = "no item is relevant"

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (sum of the precisions) and the denominators (number of all relevant items)."""
        sums = expected_precision_sums(lists.groups, self._reach)
        return lists.per_list(lists.groups.query, sums), lists.n_relevant.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class RPrecision(ListMetric):
    """Precision among the first R items, where R is the number of the query's relevant items.

    Parameters
    ----------
    empty : str
        As in `Recall`.

    References
    ----------
    Buckley and Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> RPrecision().compute(from_ranking([1, 0, 1, 0, 1, 1])).value
    0.5
    """

    empty: str = "skip"
    name: ClassVar[str] = "rprec"
    synonyms: ClassVar[tuple[str, ...]] = ("r_precision",)
    title: ClassVar[str] = "Rprec"
    reference: ClassVar[str] = _TREC
    undefined_when: ClassVar[str] = "no item is relevant"

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (number of relevant items among the first R) and the denominators (R)."""
        return expected_hits(lists, lists.n_relevant), lists.n_relevant.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class ListAuc(ListMetric):
    """Area under the ROC curve: the share of (relevant, irrelevant) item pairs in which the relevant item ranks higher.

    Both items of a pair belong to the same query. Pairs with equal scores count one half (with ties ``"expected"``). A
    relevant item that is missing from the list counts as ranked below all items of the list. In micro averages, all
    pairs have equal weight; in macro averages, all queries have equal weight.

    Parameters
    ----------
    empty : str
        As in `Recall`, for queries without relevant items or without irrelevant items.

    References
    ----------
    Hanley and McNeil (1982), The Meaning and Use of the Area under a ROC Curve, Radiology 143.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> ListAuc().compute(from_ranking([1, 0, 1, 0])).value
    0.75
    """

    empty: str = "skip"
    name: ClassVar[str] = "auc"
    title: ClassVar[str] = "AUC"
    reference: ClassVar[str] = "Hanley and McNeil (1982), The Meaning and Use of the Area under a ROC Curve"
    needs_candidates: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "no item is relevant, or no item is irrelevant"

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (number of pairs in which the relevant item ranks higher) and the denominators.

        A denominator is the number of all (relevant, irrelevant) pairs of the query.
        """
        groups = lists.groups
        # (queries,) each: the number of relevant items in each list, and the number of irrelevant items in each list.
        listed = lists.per_list(groups.query, groups.relevant)
        irrelevant = lists.length - listed
        # (groups,): number of irrelevant items that rank above a relevant item of the group; irrelevant items of the
        # same group count one half.
        irrelevant_above = groups.before - groups.relevant_before + (groups.size - groups.relevant) / 2.0
        won = lists.per_list(groups.query, groups.relevant * (irrelevant[groups.query] - irrelevant_above))
        return won, lists.n_relevant * irrelevant
