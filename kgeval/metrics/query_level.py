"""Query-level metrics: each query of a result is one ranked list, and all answers of the query are relevant items.

`kgeval.metrics.grammar` parses the keys of these metrics; `kgeval.results` makes the lists from the ranks of a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, MetricValue
from kgeval.metrics.retrieval.base import AVERAGES, LISTS, ListMetric
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.stats.moments import Moments

PREFIX = "query"


@dataclass(frozen=True)
class QueryLevel(Metric):
    """A list metric, such as MAP, where each query is one ranked list and all answers of the query are relevant.

    Every query (s, p, ?) or (?, p, o) is one list. The list has all candidates of the query; the query's answers in
    the evaluated split are the relevant items. In the filtered setting, known answers that are not in the evaluated
    split are left out of the list. The key of the metric is ``query.map``, or ``query.micro.map`` for micro averages.

    Parameters
    ----------
    metric : ListMetric
        The list metric, such as ``MAP()``.
    average : str
        ``"macro"``: the mean over the queries, each with the same weight; ``"micro"``: the sum of all numerators
        divided by the sum of all denominators. For recall and average precision, micro gives every answer the same
        weight.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
    >>> evaluate(lambda s, p, o: -np.abs(o - 2.1), dataset)["object.query.map"]
    0.8333333333333333
    """

    metric: ListMetric
    average: str = "macro"
    default_ties: ClassVar[str] = "expected"
    has_moments: ClassVar[bool] = True

    @property
    def needs_candidates(self) -> bool:  # type: ignore[override]
        """Whether the wrapped metric needs the lengths of the lists."""
        return self.metric.needs_candidates

    def __post_init__(self) -> None:
        if not isinstance(self.metric, ListMetric):
            raise MetricError(f"QueryLevel(...) wraps a list metric such as MAP(); got {self.metric!r}")
        check_one_of("average", self.average, AVERAGES, MetricError)

    @classmethod
    def parse(cls, text: str) -> QueryLevel:
        """Parse the text of a query-level metric, such as ``query.micro.map``; see `kgeval.metrics.parse`."""
        rest = text.strip().lower().removeprefix(PREFIX + ".")
        head, _, tail = rest.partition(".")
        average = head if head in AVERAGES else "macro"
        return cls(LISTS.parse(tail if head in AVERAGES else rest), average)

    def compute_lists(self, lists: RankedLists, ties: str) -> MetricValue:
        """Return the value of the metric over all lists, one list per query."""
        return self.metric.compute(lists, ties, self.average)

    def moments_of(self, lists: RankedLists, ties: str) -> Moments:
        """Return the contribution of each list to the metric, one row per list; see `ListMetric.moments`.

        Raises
        ------
        MetricError
            If the metric has no value. The message is the same as `reason` in the result of `compute_lists`.
        """
        return self.metric.moments(lists, ties, self.average)

    def chance_of(self, lists: RankedLists) -> MetricValue:
        """Return the chance level: the expected metric if all orders of the items of a list are equally likely."""
        return self.metric.chance(lists, self.average)

    def __str__(self) -> str:
        return f"{PREFIX}.{'' if self.average == 'macro' else 'micro.'}{self.metric}"

    @property
    def heading(self) -> str:
        """The name in printed tables and charts, which is the same text as the key."""
        return str(self)


def lists_of_counts(query: Ids, n_queries: int, better: Ids, tied: Ids, rivals: Ids, is_removed: bool) -> RankedLists:
    """Build the ranked list of each query from the three counts (`better`, `tied`, `rivals`) of each answer.

    The rivals of an answer are the other candidates of its query; if `is_removed` is True, the query's other answers
    are not rivals. The counts determine the order, so no scores are needed: an answer with a smaller `better` ranks
    higher. If `better` is equal for two answers, no irrelevant candidate ranks between the two answers. Answers with
    equal counts form one tie group.

    Parameters
    ----------
    query : int64 array, shape (answers,)
        The index of each answer's query, from 0 to ``n_queries - 1``, in any order. Every query has at least one
        answer, and no answer occurs twice in a query.
    n_queries : int
    better, tied, rivals : int64 arrays, shape (answers,)
        For each answer: `better` is the number of rivals with a higher score, `tied` the number of rivals with an equal
        score, and `rivals` the number of all rivals.
    is_removed : bool
        True for filtered counts: the rivals of an answer do not include the query's other answers. False for raw
        counts: the rivals include these answers.

    Returns
    -------
    RankedLists
        One list per query; its relevant items, of grade 1, are the query's answers.

    Examples
    --------
    One query with two answers; 1 irrelevant candidate ranks above the first answer, 3 rank above the second.

    >>> query, better, tied, rivals = np.array([[0, 0], [1, 3], [0, 0], [5, 5]])
    >>> lists = lists_of_counts(query, 1, better, tied, rivals, is_removed=True)
    >>> lists.before, lists.size, lists.length  # 4 = 3 irrelevant candidates + the first answer
    (array([1, 4]), array([1, 1]), array([7]))
    """
    # Sort the answers by query, then from the best rank to the worst.
    order = np.lexsort((tied, better, query))
    query, better, tied, rivals = query[order], better[order], tied[order], rivals[order]
    # (answers,): whether an answer starts a new tie group, because its query or a count differs from the row above.
    is_new = np.append(True, (query[1:] != query[:-1]) | (better[1:] != better[:-1]) | (tied[1:] != tied[:-1]))
    # (groups,): the row of the first answer of each tie group. If there are no answers, the slice removes the
    # initial True of `is_new`.
    starts = np.flatnonzero(is_new[: len(query)])
    # (groups,): how many answers each tie group has.
    n_here = np.diff(np.append(starts, len(query)))
    # (groups,): how many answers of the same query are in tie groups that rank higher.
    n_higher_answers = starts - np.searchsorted(query, query[starts])
    # (queries,): how many answers each query has, and the row of its first answer.
    n_answers = np.bincount(query, minlength=n_queries)
    first = np.searchsorted(query, np.arange(n_queries))
    if is_removed:
        # Filtered counts leave out the query's other answers, so add them: those in higher groups to `before`, those in
        # the group itself to `size`.
        before, size = better[starts] + n_higher_answers, tied[starts] + n_here
        length = rivals[first] + n_answers
    else:
        # Raw counts include the query's other answers. With unseen="worst", each answer that does not occur in train
        # ranks below all other candidates. So all such answers of a query have the same `better` and tied == 0. They
        # are stored as one tie group, whose size is the number of these answers.
        size = np.maximum(tied[starts] + 1, n_here)
        before = better[starts] - (size - tied[starts] - 1)
        length = rivals[first] + 1
    # (answers,): every answer has grade 1.
    ones = np.ones(len(query))
    return RankedLists(
        length=length.astype(np.int64),
        query=query,
        before=np.repeat(before, n_here),
        size=np.repeat(size, n_here),
        grade=ones,
        ideal_query=query,
        ideal_grade=ones,
    )
