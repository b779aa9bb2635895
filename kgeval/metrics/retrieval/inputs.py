"""Ranked lists from what users have: scores, labels in ranked order, or judgements and a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, Reals, check_number, check_one_of
from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.metrics.retrieval.lists import Lists, lists_of_items

MISSING_LABELS = ("irrelevant", "drop")


def from_scores(
    relevance: Any,
    scores: Any,
    query: Any = None,
    *,
    relevance_level: float | None = None,
    missing: str | float | None = None,
) -> Lists:
    """Make ranked lists from the relevance and the score of every item.

    Parameters
    ----------
    relevance : array_like
        0 for irrelevant, positive for relevant, higher is better; NaN where no label is known. One list
        (shape (items,)), or one per query: shape (queries, items), or a sequence of sequences.
    scores : array_like
        Of the same shape; higher comes first. Compared exactly, in their own dtype.
    query : array_like, optional
        With flat `relevance` and `scores`: the query of each item, in any order.
    relevance_level : float, optional
        The lowest grade that counts as relevant for metrics that know no grades; by default any above 0.
    missing : str or float, optional
        What a NaN label means: ``"irrelevant"``, ``"drop"`` (the item leaves the list), or the grade to
        take instead. By default a NaN is an error.

    Returns
    -------
    Lists
        ``notes`` count what was taken for irrelevant, dropped or imputed.

    Raises
    ------
    DataError
        If shapes differ, or a grade is negative or NaN; names the query and the item.
    ScoreError
        If a score is NaN.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import Precision, Recall, RR
    >>> RR().compute(from_scores([0, 1, 1], [0.3, 0.2, 0.1])).value
    0.5
    """
    grades, values, code, names = _flat(relevance, scores, query)
    return _made(grades, values, code, names, relevance_level, missing)


def from_ranking(
    relevance: Any, query: Any = None, *, relevance_level: float | None = None, missing: str | float | None = None
) -> Lists:
    """Make ranked lists from the relevance of items that already stand in ranked order, the best first.

    Parameters
    ----------
    relevance, query, relevance_level, missing
        As in `from_scores`.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import Precision, Recall, RR
    >>> Precision(3).compute(from_ranking([1, 0, 1, 0])).value
    0.6666666666666666
    """
    grades, _, code, names = _flat(relevance, None, query)
    return _made(grades, -np.arange(len(grades)), code, names, relevance_level, missing)


def from_run(
    qrels: Mapping[Any, Any] | pd.DataFrame,
    run: Mapping[Any, Any] | pd.DataFrame,
    *,
    relevance_level: float | None = None,
    missing: str | float = "irrelevant",
    queries: str = "judged",
) -> Lists:
    """Make ranked lists from judgements and the items that a system returned.

    Parameters
    ----------
    qrels : mapping or DataFrame
        ``{query: {item: grade}}``, ``{query: set of relevant items}``, or columns query, item, grade.
        Negative grades count as 0.
    run : mapping or DataFrame
        ``{query: {item: score}}``, ``{query: items in ranked order}``, or columns query, item, score.
        Relevant items that a list lacks count as not found.
    relevance_level : float, optional
        As in `from_scores`.
    missing : str or float
        What an item without judgement means: ``"irrelevant"``, ``"drop"``, or the grade to take instead.
    queries : str
        ``"judged"``: every query of `qrels`, one that the run lacks having an empty list; ``"returned"``:
        only those that the run has too (trec_eval without ``-c``). Queries without judgement are left
        out, and counted in ``notes``.

    Returns
    -------
    Lists
        Queries in sorted order. The stable order of tied items is by falling label, as in trec_eval.

    Raises
    ------
    DataError
        If an item stands twice in a list or a judgement.
    ScoreError
        If a score is NaN.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import Precision, Recall, RR
    >>> lists = from_run({"q": {"A", "C", "E", "Q"}}, {"q": ["A", "B", "C", "D", "E"]})
    >>> Precision(3).compute(lists).value, Recall(3).compute(lists).value
    (0.6666666666666666, 0.5)
    """
    check_one_of("queries", queries, ("judged", "returned"), MetricError)
    judged, returned = _frame("qrels", qrels, "grade"), _frame("run", run, "score")
    _check_labels(judged, returned)
    judged_names, returned_names = set(judged["query"]), set(returned["query"])
    names = sorted(judged_names if queries == "judged" else judged_names & returned_names, key=_sorting)
    notes = []
    unjudged = len(returned_names - judged_names)
    if unjudged:
        notes.append(f"{unjudged} queries of the run have no judgement and are left out")
    absent = len(judged_names - returned_names)
    if absent:
        counted = "count as empty lists" if queries == "judged" else "are left out"
        notes.append(f"{absent} judged queries have no item in the run and {counted}")
    index = pd.Index(names, dtype=object, name="query")
    grade, score, code, unlisted = _matched(judged, returned, index)
    return _made(grade, score, code, index, relevance_level, missing, unlisted, notes)


def _flat(relevance: Any, scores: Any, query: Any) -> tuple[Reals, npt.NDArray[Any], Ids, pd.Index[Any]]:
    """Return grades, scores and query codes of all items in one row each, and the queries' names."""
    labels, lengths = _label_rows("relevance", relevance)
    values, lengths_of_scores = (labels, lengths) if scores is None else _label_rows("scores", scores)
    n, n_scores = sum(map(len, labels)), sum(map(len, values))
    if (lengths is None) != (lengths_of_scores is None) or len(labels) != len(values) or n != n_scores:
        raise DataError(f"relevance has {n} items and scores {n_scores}; they must have the same shape")
    for row, (some, others) in enumerate(zip(labels, values)):
        if len(some) != len(others):
            raise DataError(f"query {row}: relevance has {len(some)} items, scores {len(others)}")
    grades = np.concatenate([np.zeros(0), *labels])
    if query is None:
        code = np.repeat(np.arange(len(labels)), [len(row) for row in labels]).astype(np.int64)
        names: pd.Index[Any] = pd.RangeIndex(len(labels), name="query")
    else:
        code, names = _queries(query, len(grades), lengths is not None)
    if scores is not None:
        _check_scores(np.concatenate([np.zeros(0), *values]), code, names)
    # Scores meet within a query only: codes of each row keep integers exact beside a row of floats.
    ranked = [np.unique(row, return_inverse=True)[1].reshape(-1) for row in values]
    return grades, np.concatenate([np.zeros(0, dtype=np.int64), *ranked]), code, names


def _queries(query: Any, n: int, is_nested: bool) -> tuple[Ids, pd.Index[Any]]:
    """Return the code of each item's query, and the queries' names in sorted order."""
    if is_nested:
        raise DataError("query= goes with flat relevance and scores, one entry per item; these are nested already")
    given = np.asarray(query)
    if given.ndim != 1:
        raise DataError(f"query must be an array of one label per item; got {query!r}")
    if len(given) != n:
        raise DataError(f"relevance has {n} items and query {len(given)}; they must have the same length")
    codes, names = pd.factorize(given, sort=True)
    if (codes < 0).any():
        raise DataError(f"query of item {int(np.flatnonzero(codes < 0)[0])} is missing")
    return codes.astype(np.int64), pd.Index(names, name="query")


def _label_rows(name: str, values: Any) -> tuple[list[npt.NDArray[Any]], list[int] | None]:
    """Return one row of numbers per query, and their lengths, None where a single row was given."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
        raise DataError(f"{name} must be an array or a sequence of arrays; got {type(values).__name__}")
    values = values if isinstance(values, (list, tuple, np.ndarray)) else np.asarray(values)
    is_nested = np.ndim(values) > 1 if isinstance(values, np.ndarray) else any(np.iterable(row) for row in values)
    is_nested = is_nested and not any(isinstance(row, str) for row in values)
    rows = []
    for i, row in enumerate(values if is_nested else [values]):
        if isinstance(row, np.ma.MaskedArray):
            raise DataError(f"{name} must not be a masked array; leave the masked items out, or give NaN labels")
        try:
            found = np.asarray(row)
        except ValueError as error:
            raise DataError(f"{name}, query {i}: expected one row of real numbers; got rows in it") from error
        if found.ndim != 1 or (found.dtype.kind not in "fiub" and found.size):
            got = f"{found.dtype} of shape {found.shape}"
            raise DataError(f"{name}, query {i}: expected one row of real numbers; got {got}")
        rows.append(found if found.size else np.zeros(0))
    return rows, [len(row) for row in rows] if is_nested else None


def _shown_label(label: Any) -> str:
    """Return a label as its plain Python value would be shown."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _check_scores(values: npt.NDArray[Any], code: Ids, names: pd.Index[Any]) -> None:
    if np.isnan(values).any():
        at = int(np.flatnonzero(np.isnan(values))[0])
        item = int((code[:at] == code[at]).sum())
        raise ScoreError(f"scores: item {item} of query {_shown_label(names[code[at]])} is NaN; a NaN cannot be ranked")


def _made(
    grades: Reals,
    values: npt.NDArray[Any],
    code: Ids,
    names: pd.Index[Any],
    relevance_level: float | None,
    missing: str | float | None,
    unlisted: tuple[Ids, Reals] | None = None,
    notes: Sequence[str] = (),
) -> Lists:
    """Return the lists after grades were checked and missing ones given a meaning."""
    if relevance_level is not None:
        check_number("relevance_level", relevance_level, 0.0, np.inf, "a positive number")
    said = list(notes)
    is_missing = np.isnan(grades)
    n_missing = int(is_missing.sum())
    wrong = np.flatnonzero((grades < 0) | np.isinf(grades) | (is_missing & (missing is None)))
    if len(wrong):
        at = wrong[0]
        item = int((code[:at] == code[at]).sum())
        hint = "; say missing='irrelevant', 'drop' or a grade" if is_missing[at] else ""
        raise DataError(
            f"relevance: item {item} of query {_shown_label(names[code[at]])} is {grades[at]:g}; "
            f"expected a finite number of at least 0{hint}"
        )
    if missing is not None and not isinstance(missing, str) and (missing != 0 or missing is False):
        check_number("missing", missing, 0.0, np.inf, "'irrelevant', 'drop' or a grade of at least 0")
    if isinstance(missing, str):
        check_one_of("missing", missing, MISSING_LABELS, MetricError)
    if missing == "drop":
        grades, values, code = grades[~is_missing], values[~is_missing], code[~is_missing]
    elif n_missing:
        grades = np.where(is_missing, 0.0 if isinstance(missing, str) or missing is None else float(missing), grades)
    if n_missing:
        done = {"drop": "are dropped", "irrelevant": "count as irrelevant"}
        said.append(f"{n_missing} items without label {done.get(str(missing), f'count as grade {missing}')}")
    return lists_of_items(
        code,
        len(names),
        grades,
        values,
        unlisted,
        relevance_level=relevance_level or 0.0,
        names=names,
        notes=tuple(said),
    )


def _frame(what: str, given: Mapping[Any, Any] | pd.DataFrame, value: str) -> pd.DataFrame:
    """Return judgements or a run as a frame with columns query, item and `value`."""
    if isinstance(given, pd.DataFrame):
        wanted = ["query", "item", value]
        if not set(wanted) <= set(given.columns):
            raise DataError(f"{what}: expected columns {', '.join(wanted)}; got {[str(c) for c in given.columns]}")
        frame = given[wanted]
    elif isinstance(given, Mapping):
        rows = []
        for query, items in given.items():
            if isinstance(items, Mapping):
                rows += [(query, item, number) for item, number in items.items()]
            elif value == "grade":
                rows += [(query, item, 1) for item in items]
            elif isinstance(items, (set, frozenset)):
                raise DataError(
                    f"{what}: query {_shown_label(query)} has a set, which has no order; give a list, or scores"
                )
            else:
                rows += [(query, item, -place) for place, item in enumerate(items)]
        frame = pd.DataFrame(rows, columns=["query", "item", value])
    else:
        raise DataError(f"{what}: expected a mapping by query or a DataFrame; got {type(given).__name__}")
    numbers = pd.to_numeric(frame[value], errors="coerce")
    is_wrong = (numbers.isna() | (np.isinf(numbers) & (value == "grade"))).to_numpy(dtype=bool)
    if is_wrong.any():
        row = frame.iloc[int(np.flatnonzero(is_wrong)[0])]
        error = DataError if value == "grade" else ScoreError
        label, query, got = (_shown_label(row[name]) for name in ("item", "query", value))
        raise error(f"{what}: {value} of item {label} of query {query} is {got}, no number")
    frame = frame.assign(**{value: numbers})
    repeated = frame.duplicated(["query", "item"])
    if repeated.any():
        row = frame[repeated].iloc[0]
        raise DataError(
            f"{what}: item {_shown_label(row['item'])} stands twice in query {_shown_label(row['query'])}; keep one"
        )
    return frame


def _check_labels(judged: pd.DataFrame, returned: pd.DataFrame) -> None:
    """Raise a DataError where the labels of judgements and run are of types that never meet."""
    for name in ("query", "item"):
        kinds = [{isinstance(label, str) for label in frame[name].unique()} for frame in (judged, returned)]
        if kinds[0] and kinds[1] and kinds[0].isdisjoint(kinds[1]):
            of_qrels, of_run = (_shown_label(frame[name].iloc[0]) for frame in (judged, returned))
            raise DataError(
                f"the {name} labels of qrels and run differ in type, such as {of_qrels} and {of_run}, and never meet"
            )


def _matched(
    judged: pd.DataFrame, returned: pd.DataFrame, queries: pd.Index[Any]
) -> tuple[Reals, npt.NDArray[Any], Ids, tuple[Ids, Reals]]:
    """Return grade, score and query of each returned item by falling label, and the relevant items not returned."""
    items = pd.Index(pd.concat([judged["item"], returned["item"]]).unique(), dtype=object)
    falling = np.empty(len(items), dtype=np.int64)
    falling[sorted(range(len(items)), key=lambda place: str(items[place]), reverse=True)] = np.arange(len(items))
    judged_code, judged_item, judged_grade = _coded(judged, queries, items, falling, "grade")
    code, item, score = _coded(returned, queries, items, falling, "score")
    key, judged_key = code * len(items) + item, judged_code * len(items) + judged_item
    order = np.argsort(judged_key)
    place = np.minimum(np.searchsorted(judged_key[order], key), len(order) - 1)
    is_judged = judged_key[order][place] == key if len(order) else np.zeros(len(key), dtype=bool)
    grade = np.full(len(key), np.nan)
    grade[is_judged] = np.maximum(judged_grade[order][place[is_judged]], 0.0)
    unlisted = ~np.isin(judged_key, key) & (judged_grade > 0)
    rows = np.argsort(item, kind="stable")
    return grade[rows], score[rows], code[rows], (judged_code[unlisted], judged_grade[unlisted].astype(np.float64))


def _coded(
    frame: pd.DataFrame, queries: pd.Index[Any], items: pd.Index[Any], falling: Ids, value: str
) -> tuple[Ids, Ids, npt.NDArray[Any]]:
    """Return codes of the rows whose query is in `queries`: its place there, the item's falling place, the value."""
    code = queries.get_indexer(pd.Index(frame["query"], dtype=object)).astype(np.int64)
    item = falling[items.get_indexer(pd.Index(frame["item"], dtype=object))]
    kept = code >= 0
    return code[kept], item[kept], frame[value].to_numpy()[kept]


def _sorting(name: Any) -> tuple[str, Any]:
    """Sort labels of one type among themselves."""
    return type(name).__name__, name
