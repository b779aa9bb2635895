"""Metrics of ranked lists that know relevant and irrelevant items only; exact under ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.checks import Reals, check_number
from kgeval.metrics.base import UNBOUNDED
from kgeval.metrics.retrieval.base import EMPTY, LISTS, ListMetric
from kgeval.metrics.retrieval.lists import Lists
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
    """Share of relevant items among the first k, or in the whole list where k is left out.

    Parameters
    ----------
    k : int, optional
    short : str
        A list shorter than k is padded with irrelevant items (``"pad"``: the hits are divided by k, as in
        trec_eval), or measured as it is (``"cut"``: divided by its length).
    empty : str
        As in `Recall`, for a list without any item, of which no share can be told.

    References
    ----------
    Salton and McGill (1983), Introduction to Modern Information Retrieval; under ties McSherry and
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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the hits and k."""
        divisor = lists.length if self.k is None else np.full(len(lists), float(self.k))
        if self.short == "cut":
            divisor = np.minimum(divisor, lists.length)
        return expected_hits(lists, self._reach), divisor.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class Recall(ListMetric):
    """Share of a query's relevant items that stand among the first k, or anywhere in the list.

    Parameters
    ----------
    k : int, optional
    empty : str
        A query without relevant items is left out and counted (``"skip"``), counts 0 (``"zero"``), or
        leaves the whole metric undefined (``"nan"``).

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the hits and the relevant items."""
        return expected_hits(lists, self._reach), lists.n_relevant.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class FBeta(ListMetric):
    """F-beta of precision@k and recall@k: (1 + b^2) hits / (k + b^2 R); with b = 1 written ``f1@k``.

    Parameters
    ----------
    k : int, optional
        The length of the list if left out.
    beta : float
        Recall counts beta times as much as precision.
    short, empty : str
        As in `Precision`.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval. Precision and recall share their numerator, so the
    expectation under ties is exact.

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return (1 + b^2) hits and k + b^2 R."""
        hits, divisor = Precision(self.k, self.short).ratio(lists)
        weight = self.beta**2
        return (1 + weight) * hits, divisor + weight * lists.n_relevant

    def __str__(self) -> str:
        text = super().__str__()
        return text.replace("fbeta", "f1", 1) if self.beta == 1 else text

    @property
    def heading(self) -> str:
        """How tables name the metric."""
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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the chance of a hit and 1."""
        return chance_of_hit(lists, self.k), np.ones(len(lists))


@LISTS.register
@dataclass(frozen=True)
class RR(ListMetric):
    """Reciprocal rank of the first relevant item, 0 where there is none (or none among the first k).

    Its mean over the queries is the MRR of search; the MRR of `kgeval.metrics.MRR` is a mean over triples,
    each of which has one answer.

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the expected reciprocal and 1."""
        groups = lists.groups
        first = (groups.relevant > 0) & (groups.relevant_before == 0)
        place = np.ones(int(first.sum()), dtype=np.int64)
        found = expected_reciprocal(
            groups.before[first], groups.size[first], groups.relevant[first], place, self._reach
        )
        return lists.per_list(groups.query[first], found), np.ones(len(lists))


@LISTS.register
@dataclass(frozen=True)
class MAP(ListMetric):
    """Mean average precision: per query, the mean over its relevant items of the precision at their place.

    A relevant item beyond k, or one that the list lacks, adds 0; the divisor is the number R of all
    relevant items, as in trec_eval (some tools divide by min(R, k)).

    Parameters
    ----------
    k : int, optional
    empty : str
        As in `Recall`.

    References
    ----------
    Buckley and Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation; under
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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the sum of the precisions at relevant items, and how many relevant items there are."""
        sums = expected_precision_sums(lists.groups, self._reach)
        return lists.per_list(lists.groups.query, sums), lists.n_relevant.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class RPrecision(ListMetric):
    """Precision among the first R items, R being the query's number of relevant items.

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the hits among the first R, and R."""
        return expected_hits(lists, lists.n_relevant), lists.n_relevant.astype(np.float64)


@LISTS.register
@dataclass(frozen=True)
class ListAuc(ListMetric):
    """Area under the ROC curve of each list: the chance that a relevant item stands before an irrelevant one.

    Equal scores count one half (under ``expected``). A relevant item that the list lacks counts as last.
    Micro averages over pairs of items, macro over queries.

    Parameters
    ----------
    empty : str
        As in `Recall`, for queries without relevant or without irrelevant items.

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
    undefined_when: ClassVar[str] = "no item is relevant, or none is irrelevant"

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the pairs won and all pairs."""
        groups = lists.groups
        listed = lists.per_list(groups.query, groups.relevant)
        irrelevant = lists.length - listed
        beaten_by = groups.before - groups.relevant_before + (groups.size - groups.relevant) / 2.0
        won = lists.per_list(groups.query, groups.relevant * (irrelevant[groups.query] - beaten_by))
        return won, lists.n_relevant * irrelevant
