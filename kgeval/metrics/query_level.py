"""Query-level metrics: all answers of a query relevant together, from the counts that ranking stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, MetricValue
from kgeval.metrics.retrieval import AVERAGES, LISTS, ListMetric, Lists
from kgeval.stats import Moments

PREFIX = "query"


@dataclass(frozen=True)
class QueryLevel(Metric):
    """A list metric asked of the queries of a result; written ``query.map`` or ``query.micro.map``.

    Every query (s, p, ?) or (?, p, o) is one list: all candidates, its answers in the evaluated split
    relevant. In the filtered setting its other known answers are no candidates.

    Parameters
    ----------
    metric : ListMetric
    average : str
        ``"macro"``: every query counts the same; ``"micro"``: the sum of all numerators by the sum of all
        denominators, for recall and average precision the same as counting every answer the same.

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

    def __post_init__(self) -> None:
        if not isinstance(self.metric, ListMetric):
            raise MetricError(f"QueryLevel(...) wraps a list metric such as MAP(); got {self.metric!r}")
        check_one_of("average", self.average, AVERAGES, MetricError)

    @classmethod
    def parse(cls, text: str) -> QueryLevel:
        """Return the metric that ``query.[macro.|micro.]metric`` names."""
        rest = text.strip().lower().removeprefix(PREFIX + ".")
        head, _, tail = rest.partition(".")
        average = head if head in AVERAGES else "macro"
        return cls(LISTS.parse(tail if head in AVERAGES else rest), average)

    def compute_lists(self, lists: Lists, ties: str) -> MetricValue:
        """Return the metric of the queries' lists."""
        return self.metric.compute(lists, ties, self.average)

    def moments_of(self, lists: Lists, ties: str) -> Moments:
        """Return what each query adds to the metric of all, see `ListMetric.moments`; a row per list, in their order.

        Raises
        ------
        MetricError
            Where `compute_lists` gives a reason instead of a value, with that reason.
        """
        return self.metric.moments(lists, ties, self.average)

    def chance_of(self, lists: Lists) -> MetricValue:
        """Return what a scorer that knows nothing is expected to reach on these lists."""
        return self.metric.chance(lists, self.average)

    def __str__(self) -> str:
        return f"{PREFIX}.{'' if self.average == 'macro' else 'micro.'}{self.metric}"

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return str(self)


def lists_of_counts(query: Ids, n_queries: int, better: Ids, tied: Ids, rivals: Ids, is_removed: bool) -> Lists:
    """Return the list of each query from the counts of its distinct answers.

    The counts alone tell the answers' own order: of two answers the higher has fewer candidates above it,
    or as many, and then nothing irrelevant stands between them.

    Parameters
    ----------
    query : int64 array, shape (answers,)
        In ``0 .. n_queries - 1``.
    better, tied, rivals : int64 arrays, shape (answers,)
    is_removed : bool
        Whether the counts of each answer leave out the query's other answers (filtered), or hold them (raw).
    """
    order = np.lexsort((tied, better, query))
    query, better, tied, rivals = query[order], better[order], tied[order], rivals[order]
    is_new = np.append(True, (query[1:] != query[:-1]) | (better[1:] != better[:-1]) | (tied[1:] != tied[:-1]))
    starts = np.flatnonzero(is_new[: len(query)])
    n_here = np.diff(np.append(starts, len(query)))
    earlier = starts - np.searchsorted(query, query[starts])
    n_answers = np.bincount(query, minlength=n_queries)
    first = np.searchsorted(query, np.arange(n_queries))
    if is_removed:
        before, size = better[starts] + earlier, tied[starts] + n_here
        length = rivals[first] + n_answers
    else:
        # Answers that never win are each counted below all others, also below one another.
        size = np.maximum(tied[starts] + 1, n_here)
        before = better[starts] - (size - tied[starts] - 1)
        length = rivals[first] + 1
    ones = np.ones(len(query))
    return Lists(
        length=length.astype(np.int64),
        query=query,
        before=np.repeat(before, n_here),
        size=np.repeat(size, n_here),
        grade=ones,
        ideal_query=query,
        ideal_grade=ones,
    )
