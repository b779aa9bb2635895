"""Random ranked lists, small and full of ties, told twice: as kgeval's lists and as plain grades and scores."""

import functools
import itertools
import math
import random
from typing import NamedTuple

import numpy as np
import oracle_lists as oracle

from kgeval.metrics.retrieval.inputs import from_run, from_scores
from kgeval.metrics.retrieval.lists import RankedLists


class Query(NamedTuple):
    """Scores and grades of the items as they came, and the grades of relevant items that the list lacks."""

    scores: tuple
    grades: tuple
    unlisted: tuple

    @property
    def groups(self):
        """The grades of each tie group, by falling score."""
        pairs = list(zip(self.scores, self.grades, strict=True))
        return [[g for s, g in pairs if s == score] for score in sorted(set(self.scores), reverse=True)]


class Table(NamedTuple):
    """Ranked lists, and the queries that they were made of."""

    lists: RankedLists
    queries: tuple
    level: float | None

    @property
    def mixes(self):
        """Whether some relevant and irrelevant items tie."""
        groups = (group for query in self.queries for group in query.groups)
        return any(len({grade > 0 and grade >= (self.level or 0) for grade in group}) > 1 for group in groups)


GRADES = {"binary": [1], "graded": [1, 2, 3], "fractional": [0.5, 1, 1.75]}
SCORES = {"floats": [-math.inf, -1.5, -0.0, 0.0, 0.25, 7.0, math.inf], "integers": [2**62 + i for i in range(5)]}


def random_query(rng, grades, scores, most=6):
    """One query; ties, empty lists, single items, lists of relevant or irrelevant items only are common."""
    n = rng.choice([0, 1, *range(2, most + 1)])
    palette = rng.sample(scores, rng.randint(1, len(scores)))
    drawn = rng.choice([[0], grades, [0, *grades], [0, 0, *grades]])
    unlisted = rng.choices(grades, k=rng.choice([0, 0, 1, 2]))
    return Query(tuple(rng.choices(palette, k=n)), tuple(rng.choices(drawn, k=n)), tuple(unlisted))


def made_as_run(queries, level):
    """The lists by `from_run`: labels fall in the order in which items came, dicts are in another order."""
    rng, qrels, run = random.Random(7), {}, {}
    for i, query in enumerate(queries):
        items = [f"d{99 - place}" for place in range(len(query.grades))]
        judged = list(zip(items, query.grades, strict=True)) + [(f"u{j}", g) for j, g in enumerate(query.unlisted)]
        qrels[f"q{i:04}"] = dict(rng.sample([("zero", 0), *judged], len(judged) + 1))
        scored = list(zip(items, query.scores, strict=True))
        run[f"q{i:04}"] = dict(rng.sample(scored, len(scored)))
    return Table(from_run(qrels, run, relevance_level=level), tuple(queries), level)


def made_of_scores(queries, level):
    """The lists by `from_scores`, which knows no relevant items beyond the lists."""
    queries = [query._replace(unlisted=()) for query in queries]
    code = np.repeat(np.arange(len(queries)), [len(query.grades) for query in queries])
    grades, scores = ([x for query in queries for x in query[field]] for field in (1, 0))
    if len(set(code.tolist())) == len(queries):  # no list is empty: let them interleave, told apart by query=
        order = np.zeros_like(code)
        order[np.argsort(np.random.default_rng(8).permutation(code), kind="stable")] = np.arange(len(code))
        columns = (np.array(column)[order] for column in (grades, scores, code))
        return Table(from_scores(*columns, relevance_level=level), tuple(queries), level)
    nested = ([list(query[field]) for query in queries] for field in (1, 0))
    return Table(from_scores(*nested, relevance_level=level), tuple(queries), level)


def random_tables(seed, n, most_queries, fewest=1):
    """`n` tables of all kinds of grades, scores, levels and ways to make them."""
    rng = random.Random(seed)
    kinds = itertools.cycle(itertools.product(GRADES, SCORES, (None, 1, 1.75)))
    tables = []
    for kind, scores, level in itertools.islice(kinds, n):
        size = rng.randint(fewest, most_queries)
        queries = [random_query(rng, GRADES[kind], SCORES[scores]) for _ in range(size)]
        is_run = scores == "floats" and rng.random() < 0.7
        tables.append((made_as_run if is_run else made_of_scores)(queries, level))
    return tables


@functools.cache
def orders(query, ties, gain):
    """All orders of a query's items under a tie policy."""
    return oracle.orders(query.groups, ties, gain)


@functools.cache
def by_oracle(metric, table, ties):
    """Numerator and denominator of each query."""
    level, gain = table.level or 0, getattr(metric, "gain", "linear")
    return [oracle.mean_ratio(str(metric), orders(query, ties, gain), query.unlisted, level) for query in table.queries]


def close(found, wanted):
    """Equal within 1e-12, absolute below 1 and relative above."""
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


def same(found, wanted, tolerance=1e-12):
    """Vectors equal within the tolerance, NaN where the other is NaN."""
    return np.allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
