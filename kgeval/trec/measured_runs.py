"""Ranked lists and tables of measures of TREC runs, computed as trec_eval does; ``kgeval trec`` prints the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import check_one_of, check_positive_int, counted
from kgeval.base.wording import printable
from kgeval.errors import DataError, MetricError
from kgeval.metrics.metric_frames import REASON, Cell, join_reasons
from kgeval.metrics.retrieval import from_run
from kgeval.metrics.retrieval.base import ListMetric
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.retrieval.tabulation import query_reasons
from kgeval.trec.measures import TrecMeasure

TREC_TIES = ("trec", "expected", "optimistic", "pessimistic")
ALL = "all"
OF_ALL_ONLY = ("num_q", "gm_map")
_STAYS = "which of these documents are kept depends on their names, as in trec_eval"
_BY_NAME = "the order of these documents depends on their names, as in trec_eval, unless --ties expected"


@dataclass(frozen=True)
class TrecOptions:
    """The options of trec_eval that determine the ranked lists of a run.

    Parameters
    ----------
    ties : str
        ``"trec"``: scores are rounded to single precision, as in version 9 of trec_eval, and tied documents
        are sorted by name, descending. The other values of `TREC_TIES`: scores are not rounded, and ties are handled as
        in `kgeval.metrics.retrieval`.
    relevance_level : int
        Documents with at least this grade are relevant, in measures that do not use the grades themselves (``-l``).
    depth : int, optional
        Only the first `depth` documents of each query are kept (``-M``).
    judged_only : bool
        Whether documents that are not judged are removed, after the cut at `depth` (``-J``).
    complete : bool
        Whether a judged query that is not in the run gets an empty list (``-c``). If False, such a query is left out.

    Raises
    ------
    MetricError
        If `ties` is not one of `TREC_TIES`, or if `relevance_level` or `depth` is not a positive integer.
    """

    ties: str = "trec"
    relevance_level: int = 1
    depth: int | None = None
    judged_only: bool = False
    complete: bool = False

    def __post_init__(self) -> None:
        check_one_of("ties", self.ties, TREC_TIES, MetricError)
        check_positive_int("relevance_level (-l)", self.relevance_level, MetricError)
        if self.depth is not None:
            check_positive_int("depth (-M)", self.depth, MetricError)


def trec_lists(qrels: pd.DataFrame, run: pd.DataFrame, options: TrecOptions = TrecOptions()) -> RankedLists:
    """Make the ranked list of each query of a run, as trec_eval makes it.

    Parameters
    ----------
    qrels : DataFrame
        Columns query, item, grade, as returned by `kgeval.trec.run_files.read_qrels`. A document without a
        grade, or with a negative grade, is not judged and counts as irrelevant.
    run : DataFrame
        Columns query, item, score, as returned by `kgeval.trec.run_files.read_run`.
    options : TrecOptions

    Returns
    -------
    RankedLists
        The lists of the judged queries. ``notes`` tell how many queries and documents were left out, and in how many
        queries the order of tied documents depends on their names.

    Raises
    ------
    DataError
        If no query of the run is judged.
    MetricError
        If ``options.ties`` is not ``"trec"``, and in some query the last document that `depth` keeps has the same score
        as the first document that `depth` removes.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import RR
    >>> qrels = pd.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "grade": [1, 0]})
    >>> run = pd.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.5, 0.5]})
    >>> [RR().compute(trec_lists(qrels, run), ties).value for ties in ("stable", "expected")]
    [0.5, 0.75]
    """
    judged, returned = set(qrels["query"]), set(run["query"])
    if not judged & returned:
        raise DataError(
            f"no query of the run is judged: the run has queries such as {min(returned, default='none')!r}, the "
            f"judgements such as {min(judged, default='none')!r}; do the files belong together?"
        )
    absent = ("is left out; with -c it counts as 0", "are left out; with -c they count as 0")
    if options.complete:
        absent = ("counts as 0", "count as 0")
    notes = [
        (
            len(judged - returned),
            f"judged query has no document in the run and {absent[0]}",
            f"judged queries have no document in the run and {absent[1]}",
        ),
        (
            len(returned - judged),
            "query of the run is not judged and is left out",
            "queries of the run are not judged and are left out",
        ),
    ]
    if not options.complete:
        qrels = qrels[qrels["query"].isin(returned)]
    run, more_notes = _kept_documents(qrels, run[run["query"].isin(judged)], options)
    lists = from_run(qrels, run, relevance_level=options.relevance_level, queries="judged")
    n_without_relevant = int((lists.n_relevant == 0).sum())
    notes += [
        *more_notes,
        (
            n_without_relevant,
            "query has no relevant document; it counts as 0 in the measures of trec_eval",
            "queries have no relevant document; they count as 0 in the measures of trec_eval",
        ),
    ]
    if options.ties == "trec":
        tied = f"tied documents of different grades; {_BY_NAME}"
        notes.append((_n_tied(lists), f"query has {tied}", f"queries have {tied}"))
    return replace(lists, notes=tuple(counted(*note) for note in notes if note[0]))


def _kept_documents(
    qrels: pd.DataFrame, run: pd.DataFrame, options: TrecOptions
) -> tuple[pd.DataFrame, list[tuple[int, str, str]]]:
    """Return the part of the run that is kept, and a list of notes.

    The notes tell how many documents are left out, and in how many queries documents tie at the cut at `depth`. Each
    note is a tuple (number of documents or queries, text if the number is 1, text for other numbers).
    """
    notes = []
    if options.ties == "trec":
        with np.errstate(over="ignore"):
            run = run.assign(score=run["score"].to_numpy().astype(np.float32))
    n_before = len(run)
    if options.depth is not None:
        run, tied = _first_documents(run, options.depth)
        if len(tied) and options.ties != "trec":
            raise MetricError(
                f"the cut at document {options.depth} (-M) falls between tied documents in "
                f"{counted(len(tied), 'query')}, first {tied[0]!r}; use ties='trec' (--ties trec), "
                "which orders them by name"
            )
        after, sides = f"after position {options.depth} of", f"tied documents on both sides of position {options.depth}"
        notes = [
            (
                n_before - len(run),
                f"document {after} its query is left out",
                f"documents {after} their query are left out",
            ),
            (len(tied), f"query has {sides}; {_STAYS}", f"queries have {sides}; {_STAYS}"),
        ]
        n_before = len(run)
    if options.judged_only:
        run = run.merge(qrels.loc[qrels["grade"] >= 0, ["query", "item"]], on=["query", "item"])
        n_unjudged = n_before - len(run)
        notes.append(
            (n_unjudged, "document is not judged and is left out", "documents are not judged and are left out")
        )
    return run, notes


def _first_documents(run: pd.DataFrame, depth: int) -> tuple[pd.DataFrame, list[str]]:
    """Return the first `depth` documents of each query, and the queries with a tie at this cut.

    A query has such a tie if the documents at the positions `depth` and `depth` + 1 have the same score.
    """
    ordered = run.sort_values(["query", "score", "item"], ascending=[True, False, False])
    position = ordered.groupby("query", sort=False).cumcount() + 1
    tied = ordered[position == depth].merge(ordered[position == depth + 1], on=["query", "score"])
    return ordered[position <= depth], list(tied["query"])


def _n_tied(lists: RankedLists) -> int:
    """Return the number of lists in which tied items differ in grade, so that their order matters."""
    items = pd.DataFrame({"query": lists.query, "before": lists.before, "size": lists.size, "grade": lists.grade})
    # `items` has one row per item. Items of a query with the same `before` form a tie group of `size` items.
    # n_alike: for each item, how many items of its tie group have its grade (the item itself included).
    n_alike = items.groupby(["query", "before", "grade"])["size"].transform("size")
    return int(items["query"][n_alike < items["size"]].nunique())


@dataclass(frozen=True, eq=False)
class TrecTable:
    """Measures of a run, for each query and for all queries together.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per query (the index has the names of the queries), then the row ``"all"``. One column per measure,
        int64 for counts and float64 for the others, then the column ``reason``, which tells why values are NaN.
    notes : tuple of str
        One note for each measure whose mean leaves out queries.
    tag : str or None
        The tag of the run, if the measure ``runid`` was requested.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    tag: str | None = None


def trec_table(
    lists: RankedLists, measures: Sequence[TrecMeasure | ListMetric], ties: str = "trec", tag: str = ""
) -> TrecTable:
    """Tabulate measures, one row per query; the last row is for all queries together.

    Parameters
    ----------
    lists : RankedLists
        The result of `trec_lists`; its options must have the same `ties` as this call.
    measures : sequence of TrecMeasure or ListMetric
        See `kgeval.trec.measures.parse_measures`.
    ties : str
        One of `TREC_TIES`.
    tag : str
        The tag of the run, for the measure ``runid``.

    Returns
    -------
    TrecTable

    Examples
    --------
    >>> from kgeval.trec.measures import parse_measures
    >>> lists = from_run({"q": {"A"}, "r": {"B"}}, {"q": ["B", "A"], "r": ["B"]})
    >>> trec_table(lists, parse_measures(["num_ret", "recip_rank"])).frame.to_dict("records")[-1]
    {'num_ret': 3, 'recip_rank': 0.75, 'reason': ''}
    """
    policy = "stable" if check_one_of("ties", ties, TREC_TIES, MetricError) == "trec" else ties
    columns, totals, reasons = {}, {}, {}
    notes = []
    for measure in measures:
        name, total = str(measure), measure.compute(lists, policy)
        column = np.append(measure.per_query(lists, policy), total.value)
        is_count = isinstance(measure, TrecMeasure) and measure.total == "sum"
        columns[name] = column.astype(np.int64) if is_count else column
        totals[name] = Cell.of(total)
        reasons[name] = measure.lacking(lists, policy) or measure.undefined_when
        if total.excluded and not total.reason:
            notes.append(
                f"{name} is the mean over {len(lists) - total.excluded} of {len(lists)} queries; with empty=zero, the "
                "other queries count as 0"
            )
    has_tag = columns.pop("runid", None) is not None
    reasons.pop("runid", None)
    names = [*(range(len(lists)) if lists.names is None else lists.names), ALL]
    frame = pd.DataFrame(columns, index=pd.Index(names, dtype=object, name="query"))
    frame[REASON] = [*query_reasons(frame.iloc[:-1], reasons), join_reasons(totals)]
    return TrecTable(frame, tuple(notes), tag if has_tag else None)


def format_trec(table: TrecTable, per_query: bool = True) -> str:
    """Return a table as text in the format of trec_eval; each line has a measure's name, a query and a value.

    Parameters
    ----------
    table : TrecTable
    per_query : bool
        Whether to return lines for each query too, before the lines for all queries together. As in trec_eval, there
        are no lines ``num_q`` and ``gm_map`` for a single query.

    Examples
    --------
    >>> from kgeval.trec.measures import parse_measures
    >>> lists = from_run({"q": {"A"}, "r": {"B"}}, {"q": ["B", "A"], "r": ["B"]})
    >>> print(format_trec(trec_table(lists, parse_measures(["num_q", "P.1"])), per_query=False).expandtabs(4))
    num_q                   all 2
    P_1                     all 0.5000
    """
    frame = (table.frame if per_query else table.frame.tail(1)).drop(columns=REASON)
    texts = {
        str(name): [f"{value}" if column.dtype.kind == "i" else f"{value:6.4f}" for value in column.tolist()]
        for name, column in frame.items()
    }
    lines: list[tuple[str, Any, str]] = []
    for row, query in enumerate(frame.index):
        is_last = row == len(frame) - 1
        if is_last and table.tag is not None:
            lines.append(("runid", query, printable(table.tag)))
        lines += [(name, query, texts[name][row]) for name in texts if is_last or name not in OF_ALL_ONLY]
    return "\n".join(f"{name:<22}\t{printable(str(query))}\t{text}" for name, query, text in lines)
