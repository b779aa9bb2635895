"""`steps` shows how much each place (position) of one ranked list adds to the value of a metric.

Users call `steps`; `kgeval.results` calls it for a query of a result, and `kgeval.report.plots` draws `Steps`.
The tables are computed place by place, with code that is separate from the metrics, so that tests can compare both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Reals
from kgeval.base.wording import printable
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.base import LISTS, ListMetric, check_lists
from kgeval.metrics.retrieval.graded import DCG, ERR, NDCG, gains
from kgeval.metrics.retrieval.lists import INFINITY, RankedLists
from kgeval.metrics.retrieval.listwise import MAP, RR, FBeta, ListAuc, Precision, Recall, RPrecision, Success

MAX_ITEM = 30
MAX_SHOWN = 30


@dataclass(frozen=True, eq=False)
class Steps:
    """The contribution of each place of a ranked list to a metric; ``print(steps)`` shows the table and the formula.

    Parameters
    ----------
    metric, query, ties : str
        The metric, the name of the query, and the tie policy.
    value : float
        The value of the metric for this query; NaN if it is undefined.
    table : pandas.DataFrame
        One row per place of the list; see `steps` for the columns.
    formula : str
        The computation of the value from the table, such as ``"ndcg@3 = sum / ideal sum = 2 / 2.6309 = 0.7602"``.
    """

    metric: str
    query: str
    ties: str
    value: float
    table: pd.DataFrame
    formula: str

    def __str__(self) -> str:
        heading = f"{self.metric} of {self.query}, {self.ties} ties"
        return "\n".join([heading, *_table_lines(self.table), self.formula])

    def __repr__(self) -> str:
        return str(self)


def steps(
    lists: RankedLists,
    metric: str | ListMetric,
    query: Any = None,
    *,
    ties: str = "expected",
    items: Sequence[Any] | None = None,
) -> Steps:
    """Explain a metric of one query: how much each place of the ranked list adds to the value.

    Parameters
    ----------
    lists : RankedLists
        Made by `from_scores`, `from_ranking`, `from_run` or ``EvaluationResult.lists``.
    metric : str or ListMetric
        DCG, nDCG, MAP, RR, ERR, AUC, success, precision, recall, F-beta or R-precision, such as ``"ndcg@10"``.
    query : object
        The name of the query, or its position in `lists` if the queries have no names. By default the first query.
    ties : str
        As in `ListMetric.compute`. With ``"expected"``, all orders of tied items are equally likely, and the table has
        expected values.
    items : sequence, optional
        The labels of all items of the list in ranked order; tied items in the order of the input.

    Returns
    -------
    Steps
        The field `table` has one row per place, up to the cut-off k or up to the last relevant item. The columns
        are ``place``; ``item`` if `items` is given; ``grade``; and, depending on the metric:

        - DCG, nDCG: ``gain``, ``discount``, ``term`` (gain times discount), ``sum`` (of the terms so far); for the
          ideal list ``ideal gain`` and ``ideal sum``
        - MAP: ``relevant`` (1 or 0; a probability if items are tied), ``precision`` (at a relevant item), ``term``,
          ``sum``
        - RR, success: ``first`` (1 if the first relevant item is at this place, else 0; a probability if items are
          tied), ``reciprocal`` (1 / place; only for RR), ``term``, ``sum``. The last row is the last possible place of
          the first relevant item.
        - ERR: ``reads`` (probability that a reader gets to this place), ``stop`` (probability to stop there), ``term``,
          ``sum``
        - precision, recall, F-beta, R-precision: ``relevant``, ``hits``, ``precision`` and ``recall`` so far
        - AUC: ``relevant``, ``below`` (irrelevant items below a relevant item), ``term``, ``sum``

    Raises
    ------
    MetricError
        If the query does not exist, if the metric cannot be explained by places, or if `items` does not have one label
        for each item of the list.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> print(steps(from_ranking([0, 1, 0, 1]), "map", items="abcd"))
    map of query 0, expected ties
    place  item  grade  relevant  precision    term     sum
        1  a         0         0                  0       0
        2  b         1         1     0.5000  0.5000  0.5000
        3  c         0         0                  0  0.5000
        4  d         1         1     0.5000  0.5000       1
    map = sum / relevant items = 1 / 2 = 0.5000
    """
    check_lists(lists)
    parsed = LISTS.parse(metric)
    position = _position(lists, query)
    single = _single(lists, position)
    reason = parsed.lacking(single, ties)
    if reason:
        raise MetricError(reason)
    value = float(parsed.per_query(single, ties)[0])
    if items is not None and len(items) != single.length[0]:
        raise MetricError(
            f"items must have one label for each of the {single.length[0]} items of the list, in ranked order; "
            f"got {len(items)}"
        )
    account = _account(parsed, _Places.of(single, parsed, ties, items))
    ending = f" = {_shown(value)}" if account.is_quotient or math.isnan(value) else ""
    if math.isnan(value):
        ending = f": undefined, because {parsed.undefined_when}"
    name = f"query {lists.name_of(position)}"
    return Steps(str(parsed), name, ties, value, pd.DataFrame(account.columns), f"{parsed} = {account.formula}{ending}")


@dataclass(frozen=True)
class _Account:
    """The explanation of a metric: the columns of the table, and the formula without its last part (" = value")."""

    columns: dict[str, Any]
    formula: str
    is_quotient: bool = True


@dataclass(frozen=True)
class _Part:
    """A group of items, as pairs (grade, label), that take the places before + 1, before + 2, ... in random order."""

    before: int
    members: list[tuple[float, str]]


@dataclass(frozen=True)
class _Places:
    """The list of one query, place by place; all arrays have the shape (places,).

    Parameters
    ----------
    lists : RankedLists
        The single list.
    reach : int
        The cut-off, or `INFINITY`.
    place, size, offset : int64 arrays
        `place` is the place in the list, from 1. The place belongs to a part (`_Part`): `size` is the number of places
        of the part, and `offset` is the 1-based position of this place in the part.
    grade, relevant : float64 arrays
        `grade` is the mean grade of the items that may be at this place; `relevant` is the share of relevant items
        among the items that may be at this place.
    n_relevant : int64 array
        The number of relevant items of the part.
    earlier : int64 array
        The number of relevant items before the part.
    members : list of list of (float, str)
        For each place, the items that may be there.
    has_items : bool
        Whether the items have labels.
    """

    lists: RankedLists
    reach: int
    place: Any
    size: Any
    offset: Any
    grade: Reals
    relevant: Reals
    n_relevant: Any
    earlier: Any
    members: list[list[tuple[float, str]]]
    has_items: bool

    @classmethod
    def of(cls, lists: RankedLists, metric: ListMetric, ties: str, items: Sequence[Any] | None) -> _Places:
        """Return the places of the only list in `lists`, up to the last place that the metric uses."""
        parts = _parts(lists, ties, getattr(metric, "gain", "linear"), items)
        length, level = int(lists.length[0]), lists.relevance_level
        k = int(lists.n_relevant[0]) if isinstance(metric, RPrecision) else getattr(metric, "k", None)
        last = max((part.before + len(part.members) for part in parts), default=0)
        n = min(length, last if k is None else k)
        size, offset = np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64)
        grade, relevant = np.zeros(n), np.zeros(n)
        n_relevant, earlier = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        members = [[(0.0, _label(items, i))] for i in range(n)]
        n_before, previous = 0, 0
        for part in sorted(parts, key=lambda part: part.before):
            here = slice(part.before, min(part.before + len(part.members), n))
            r = sum(g > 0 and g >= level for g, _ in part.members)
            size[here] = len(part.members)
            offset[here] = np.arange(len(offset[here])) + 1
            grade[here] = math.fsum(g for g, _ in part.members) / len(part.members)
            relevant[here] = r / len(part.members)
            n_relevant[here] = r
            earlier[previous : here.start] = n_before
            earlier[here] = n_before
            for i in range(here.start, here.stop):
                members[i] = part.members
            n_before, previous = n_before + r, part.before + len(part.members)
        earlier[previous:] = n_before
        reach = INFINITY if k is None else k
        place = np.arange(1, n + 1)
        has_items = items is not None
        return cls(lists, reach, place, size, offset, grade, relevant, n_relevant, earlier, members, has_items)

    @property
    def start(self) -> dict[str, Any]:
        """The first columns of each table: ``place``, ``item`` and ``grade``."""
        items = {"item": [_who(members) for members in self.members]} if self.has_items else {}
        return {"place": self.place, **items, "grade": self.grade}

    def first(self) -> tuple[dict[str, Any], Reals]:
        """Return the first columns of a table, and the probability that the first relevant item is at each place.

        Places after the last possible place of the first relevant item are left out.
        """
        # (places,): the probability that the item at this place is relevant, given that no earlier item is relevant:
        # all relevant items of the part are then at this place or at later places of the part.
        here = np.where(self.earlier == 0, self.n_relevant / (self.size - self.offset + 1), 0.0).clip(max=1.0)
        none_before = np.cumprod(np.append(1.0, 1.0 - here))[:-1]
        n = int(np.count_nonzero(none_before))
        return {name: values[:n] for name, values in self.start.items()}, (none_before * here)[:n]


@singledispatch
def _account(metric: ListMetric, places: _Places) -> _Account:
    """Return the columns and the formula of a metric; each kind of metric registers its own function."""
    explained = ", ".join(kind.name for kind in _account.registry if kind is not ListMetric and kind is not object)
    raise MetricError(f"{metric} cannot be explained place by place; these metrics can: {explained}")


@_account.register
def _(metric: NDCG, places: _Places) -> _Account:
    columns, above, below = _discounted(metric, 2.0, places)
    return _Account(columns, f"sum / ideal sum = {_shown(above)} / {_shown(below)}")


@_account.register
def _(metric: DCG, places: _Places) -> _Account:
    columns, above, _ = _discounted(metric, metric.base, places)
    return _Account(columns, f"sum = {_shown(above)}", is_quotient=False)


@_account.register
def _(metric: MAP, places: _Places) -> _Account:
    others = (places.offset - 1) * (places.n_relevant - 1) / np.maximum(places.size - 1, 1)
    # (places,): the precision at this place if its item is relevant: the relevant items before the part, this item,
    # and the expected number of other relevant items before it in the part.
    precision = np.where(places.relevant > 0, (places.earlier + 1 + others) / places.place, np.nan)
    term = np.where(places.relevant > 0, places.relevant * precision, 0.0)
    columns = {"relevant": places.relevant, "precision": precision, "term": term, "sum": np.cumsum(term)}
    return _Account(places.start | columns, f"sum / relevant items = {_shown(term.sum())} / {_n_relevant(places)}")


@_account.register
def _(metric: RR, places: _Places) -> _Account:
    start, first = places.first()
    reciprocal = 1.0 / start["place"]
    term = first * reciprocal
    columns = {"first": first, "reciprocal": reciprocal, "term": term, "sum": np.cumsum(term)}
    return _Account(start | columns, f"sum of first x 1 / place = {_shown(term.sum())}", is_quotient=False)


@_account.register
def _(metric: Success, places: _Places) -> _Account:
    start, first = places.first()
    columns = {"first": first, "term": first, "sum": np.cumsum(first)}
    return _Account(start | columns, f"sum of first = {_shown(first.sum())}", is_quotient=False)


@_account.register
def _(metric: ERR, places: _Places) -> _Account:
    stop, reads, left = np.zeros(len(places.place)), np.zeros(len(places.place)), 1.0
    for start in np.flatnonzero(places.offset == 1):
        # goes_on: for each item of the part, the chance that the reader does not stop at this item. The items are in
        # random order.
        goes_on = [1.0 - (2.0**grade - 1.0) / 2.0**metric.g_max for grade, _ in places.members[start]]
        n = min(len(goes_on), len(stop) - int(start))
        # (n + 1,): the chance that the reader goes on after the first 0, 1, ..., n items of the part.
        survives = left * _mean_products(goes_on, n)
        reads[start : start + n] = survives[:-1]
        kept = np.divide(survives[1:], survives[:-1], out=np.ones(n), where=survives[:-1] > 0)
        stop[start : start + n] = 1.0 - kept
        left = float(survives[-1])
    term = reads * stop / places.place
    columns = {"reads": reads, "stop": stop, "term": term, "sum": np.cumsum(term)}
    return _Account(places.start | columns, f"sum of reads x stop / place = {_shown(term.sum())}", is_quotient=False)


@_account.register
def _(metric: Precision, places: _Places) -> _Account:
    columns, hits = _hits(places)
    return _Account(columns, f"hits / places = {_shown(hits)} / {_n_places(metric, places)}")


@_account.register
def _(metric: Recall, places: _Places) -> _Account:
    columns, hits = _hits(places)
    return _Account(columns, f"hits / relevant items = {_shown(hits)} / {_n_relevant(places)}")


@_account.register
def _(metric: RPrecision, places: _Places) -> _Account:
    columns, hits = _hits(places)
    return _Account(columns, f"hits / places = {_shown(hits)} / {_n_relevant(places)}")


@_account.register
def _(metric: FBeta, places: _Places) -> _Account:
    columns, hits = _hits(places)
    weight = metric.beta**2
    times = "" if weight == 1 else f"{_shown(weight)} x "
    words = f"{_shown(1 + weight)} x hits / (places + {times}relevant items)"
    below = f"({_n_places(metric, places)} + {times}{_n_relevant(places)})"
    return _Account(columns, f"{words} = {_shown(1 + weight)} x {_shown(hits)} / {below}")


@_account.register
def _(metric: ListAuc, places: _Places) -> _Account:
    lists = places.lists
    irrelevant = int(lists.length[0]) - int(np.count_nonzero(lists.is_relevant))
    # (places,): the number of irrelevant items above a relevant item at this place: the irrelevant items before the
    # part, plus the expected number of irrelevant items of the part before this place.
    share = (places.size - places.n_relevant) / np.maximum(places.size - 1, 1)
    above = places.place - places.offset - places.earlier + (places.offset - 1) * share
    below = np.where(places.relevant > 0, irrelevant - above, np.nan)
    term = np.where(places.relevant > 0, places.relevant * below, 0.0)
    columns = {"relevant": places.relevant, "below": below, "term": term, "sum": np.cumsum(term)}
    pairs = f"({_n_relevant(places)} x {irrelevant})"
    return _Account(places.start | columns, f"sum / (relevant x irrelevant items) = {_shown(term.sum())} / {pairs}")


def _discounted(metric: DCG | NDCG, base: float, places: _Places) -> tuple[dict[str, Any], float, float]:
    """Return the columns of DCG and nDCG, the DCG, and the ideal DCG."""
    lists, n = places.lists, len(places.place)
    ideal = -np.sort(-gains(lists.ideal_grade, metric.gain))[: min(places.reach, len(lists.ideal_grade))]
    rows = max(n, len(ideal))
    gain = [math.fsum(_gain(grade, metric.gain) for grade, _ in part) / len(part) for part in places.members]
    gain_column = np.append(gain, np.full(rows - n, np.nan))
    discount = math.log(base) / np.log(np.arange(1, rows + 1) + 1.0)
    ideal_gain = np.append(ideal, np.zeros(rows - len(ideal)))
    # In rows after the end of the list, the term is 0.
    term = np.nan_to_num(gain_column) * discount
    columns: dict[str, Any] = {
        name: [*values, *[np.nan if name == "grade" else ""] * (rows - n)] for name, values in places.start.items()
    }
    columns["place"] = np.arange(1, rows + 1)
    columns |= {"gain": gain_column, "discount": discount, "term": term, "sum": np.cumsum(term)}
    columns |= {"ideal gain": ideal_gain, "ideal sum": np.cumsum(ideal_gain * discount)}
    return columns, math.fsum(term), math.fsum(ideal_gain * discount)


def _hits(places: _Places) -> tuple[dict[str, Any], float]:
    """Return the columns for precision, recall and metrics computed from them, and the expected number of hits."""
    hits = np.cumsum(places.relevant)
    total = int(places.lists.n_relevant[0])
    recall = hits / total if total else np.full(len(hits), np.nan)
    columns = {"relevant": places.relevant, "hits": hits, "precision": hits / places.place, "recall": recall}
    return places.start | columns, math.fsum(places.relevant)


def _mean_products(factors: list[float], most: int) -> Reals:
    """For m = 0, 1, ..., `most`: return the product of the first m factors, averaged over all orders of the factors."""
    # means[m]: the mean product of m factors, over all sets of m of the factors that are already included. Each pass of
    # the loop includes one more factor.
    means = np.ones(1)
    for n, factor in enumerate(factors):
        m = np.arange(min(n + 1, most) + 1)
        kept, added = np.append(means, 0.0)[: len(m)], np.append(0.0, means)[: len(m)]
        means = ((n + 1 - m) * kept + m * factor * added) / (n + 1)
    return means


def _gain(grade: float, gain: str) -> float:
    return float(gains(np.array([grade]), gain)[0]) if grade > 0 else 0.0


def _n_relevant(places: _Places) -> int:
    return int(places.lists.n_relevant[0])


def _n_places(metric: Precision | FBeta, places: _Places) -> int:
    """Return the number of places by which hits are divided: k, or the length of the list."""
    length = int(places.lists.length[0])
    if metric.k is None:
        return length
    return min(metric.k, length) if metric.short == "cut" else metric.k


def _parts(lists: RankedLists, ties: str, gain: str, items: Sequence[Any] | None) -> list[_Part]:
    """Return the parts of a single list that have an item of positive grade, with ties broken."""
    parts = []
    for start, stop in zip(lists.bounds[:-1].tolist(), lists.bounds[1:].tolist()):
        before, size = int(lists.before[start]), int(lists.size[start])
        members = [(0.0, _label(items, before + i)) for i in range(size)]
        for j, i in enumerate(range(start, stop)):
            place = j if lists.place is None else int(lists.place[i])
            members[place] = float(lists.grade[i]), members[place][1]
        if ties == "expected":
            parts.append(_Part(before, members))
            continue
        sign = {"optimistic": -1.0, "pessimistic": 1.0, "stable": 0.0}[ties]
        worth = [sign * _gain(grade, gain) for grade, _ in members]
        order = sorted(range(size), key=worth.__getitem__)
        # Items of equal worth may stay in random order; with ties "stable" each item has its own place.
        first = 0
        for i in range(1, size + 1):
            if i == size or ties == "stable" or worth[order[i]] != worth[order[first]]:
                part = _Part(before + first, [members[j] for j in order[first:i]])
                parts += [part] if any(grade > 0 for grade, _ in part.members) else []
                first = i
    return parts


def _position(lists: RankedLists, query: Any) -> int:
    """Return the position of the query with this name; 0 (the first query) if `query` is None."""
    if query is None and len(lists):
        return 0
    names = pd.RangeIndex(len(lists)) if lists.names is None else lists.names
    positions = np.flatnonzero([name == query for name in names.tolist()])
    if not len(positions):
        examples = ", ".join(lists.name_of(i) for i in range(min(3, len(lists))))
        raise MetricError(f"no query {query!r} in {len(lists)} lists; the first queries are: {examples or 'none'}")
    return int(positions[0])


def _single(lists: RankedLists, position: int) -> RankedLists:
    """Return the list of one query."""
    kept, judged = lists.query == position, lists.ideal_query == position
    return replace(
        lists,
        length=lists.length[position : position + 1],
        **{name: getattr(lists, name)[kept] for name in ("before", "size", "grade")},
        query=np.zeros(int(kept.sum()), dtype=np.int64),
        ideal_query=np.zeros(int(judged.sum()), dtype=np.int64),
        ideal_grade=lists.ideal_grade[judged],
        place=None if lists.place is None else lists.place[kept],
        names=None,
        notes=(),
    )


def _label(items: Sequence[Any] | None, i: int) -> str:
    """Return the label of item i, shortened; an empty string if the items have no labels."""
    if items is None or items[i] is None:
        return ""
    text = printable(str(items[i])[: 2 * MAX_ITEM])
    return text if len(text) <= MAX_ITEM else text[: MAX_ITEM - 1] + "…"


def _who(members: list[tuple[float, str]]) -> str:
    """Return the label of the item at a place.

    If several items may be at this place, the result is "a or b", or "a or 3 others".
    """
    labels = [label for _, label in members]
    named = [label for label in labels if label]
    if len(labels) == 1 or not named:
        return labels[0]
    return " or ".join(named) if len(named) == len(labels) == 2 else f"{named[0]} or {len(labels) - 1} others"


def _shown(number: float) -> str:
    """Return a number with four decimals; an integer without decimals."""
    if math.isnan(number):
        return ""
    return f"{number:.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:.4f}"


def _table_lines(table: pd.DataFrame) -> list[str]:
    """Return the lines of a table as text; of a long table, only rows that change the value, and the last row."""
    lines = [[str(name) for name in table.columns]]
    shown = np.arange(len(table))
    if len(table) > MAX_SHOWN:
        added = [name for name in ("gain", "ideal gain", "relevant", "first", "chance") if name in table.columns]
        changes = (table[added].fillna(0.0) != 0).any(axis=1).to_numpy() if added else np.ones(len(table), dtype=bool)
        if "stop" in table.columns:
            changes = (table["stop"] > 0).to_numpy()
        shown = np.unique(np.append(np.flatnonzero(changes)[:MAX_SHOWN], len(table) - 1))
    cells = {name: [_cell(value) for value in table[name].iloc[shown]] for name in table.columns}
    previous = -1
    for i, row in enumerate(shown.tolist()):
        if row > previous + 1:
            lines.append(["…"] + [""] * (table.shape[1] - 1))
        lines.append([cells[name][i] for name in table.columns])
        previous = row
    widths = [max(len(line[j]) for line in lines) for j in range(table.shape[1])]
    is_text = [name == "item" for name in table.columns]
    return [
        "  ".join(
            cell.ljust(width) if left else cell.rjust(width) for cell, width, left in zip(line, widths, is_text)
        ).rstrip()
        for line in lines
    ]


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else _shown(float(value))
