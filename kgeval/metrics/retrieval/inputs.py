"""Ranked lists from plain data: `from_scores`, `from_ranking` (labels in ranked order), `from_run` (TREC judgements).

Users call these functions, and `kgeval.trec` calls `from_run`. Each checks its input and returns `RankedLists`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, Reals, check_number, check_one_of
from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.metrics.retrieval.lists import RankedLists, lists_of_items

MISSING_LABELS = ("irrelevant", "drop")


def from_scores(
    relevance: Any,
    scores: Any,
    query: Any = None,
    *,
    relevance_level: float | None = None,
    missing: str | float | None = None,
) -> RankedLists:
    """Make ranked lists from the relevance and the score of every item.

    Parameters
    ----------
    relevance : array_like
        The grade of each item: 0 for irrelevant, positive for relevant, higher is better; NaN if the grade is not
        known. Shape (items,) for a single list, or if `query` is given. For one list per query, shape (queries, items)
        or a sequence of sequences.
    scores : array_like
        The score of each item, in the same shape as `relevance`; higher scores rank first. Scores are compared
        exactly, without conversion to another dtype.
    query : array_like, optional
        The query of each item, in any order; allowed only if `relevance` and `scores` have the shape (items,).
    relevance_level : float, optional
        The lowest grade that counts as relevant in metrics without grades; by default every grade above 0 counts.
    missing : str or float, optional
        What to do with an item whose grade is NaN: ``"irrelevant"`` (grade 0), ``"drop"`` (remove the item from the
        list), or the grade to use instead. By default a NaN is an error.

    Returns
    -------
    RankedLists
        The field ``notes`` contains the number of grades that are NaN, and the treatment of these items.

    Raises
    ------
    DataError
        If the shapes differ, or if a grade is negative, infinite, or (if `missing` is None) NaN. The message about a
        wrong grade names the query and the item.
    ScoreError
        If a score is NaN.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import Precision, Recall, RR
    >>> RR().compute(from_scores([0, 1, 1], [0.3, 0.2, 0.1])).value
    0.5
    """
    grades, values, code, names = _flattened(relevance, scores, query)
    return _checked_lists(grades, values, code, names, relevance_level, missing)


def from_ranking(
    relevance: Any, query: Any = None, *, relevance_level: float | None = None, missing: str | float | None = None
) -> RankedLists:
    """Make ranked lists from the relevance of items that are already in ranked order, with the best item first.

    Parameters
    ----------
    relevance, query, relevance_level, missing
        As in `from_scores`.

    Returns
    -------
    RankedLists
        No items are tied.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import Precision, Recall, RR
    >>> Precision(3).compute(from_ranking([1, 0, 1, 0])).value
    0.6666666666666666
    """
    grades, _, code, names = _flattened(relevance, None, query)
    return _checked_lists(grades, -np.arange(len(grades)), code, names, relevance_level, missing)


def from_run(
    qrels: Mapping[Any, Any] | pd.DataFrame,
    run: Mapping[Any, Any] | pd.DataFrame,
    *,
    relevance_level: float | None = None,
    missing: str | float = "irrelevant",
    queries: str = "judged",
) -> RankedLists:
    """Make ranked lists from judgements and the items that a system returned.

    Parameters
    ----------
    qrels : mapping or DataFrame
        ``{query: {item: grade}}``, ``{query: set of relevant items}``, or columns query, item, grade.
        Negative grades count as 0.
    run : mapping or DataFrame
        ``{query: {item: score}}``, ``{query: items in ranked order}``, or columns query, item, score.
        Relevant items that are missing from a list count as not retrieved.
    relevance_level : float, optional
        As in `from_scores`.
    missing : str or float
        What to do with an item of the run that has no judgement: ``"irrelevant"`` (grade 0), ``"drop"`` (remove the
        item from the list), or the grade to use instead.
    queries : str
        ``"judged"``: every query of `qrels`; a query that is missing from the run has an empty list.
        ``"returned"``: only the queries that are also in the run (trec_eval without ``-c``). Queries of the run that
        have no judgement are always left out; the field ``notes`` of the result contains their number.

    Returns
    -------
    RankedLists
        The queries are sorted by name. With ties ``"stable"``, tied items are in descending order of their labels, as
        in trec_eval.

    Raises
    ------
    DataError
        If an item occurs twice in a query of `qrels` or `run`, or if a grade is not a finite number.
    ScoreError
        If a score is NaN or not a number.

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
    return _checked_lists(grade, score, code, index, relevance_level, missing, unlisted, notes)


def _flattened(relevance: Any, scores: Any, query: Any) -> tuple[Reals, npt.NDArray[Any], Ids, pd.Index[Any]]:
    """Return the items of all queries in flat arrays, and the queries' names.

    Returns
    -------
    grades : float64 array, shape (items,)
    score_codes : int64 array, shape (items,)
        Integers in place of the scores: within a query, a higher score has a higher code. If `scores` is None, the
        codes have no meaning.
    query : int64 array, shape (items,)
        The query of each item, as an index into `names`.
    names : pandas.Index, shape (queries,)
        The names of the queries.
    """
    labels, lengths = _label_rows("relevance", relevance)
    values, lengths_of_scores = (labels, lengths) if scores is None else _label_rows("scores", scores)
    n, n_scores = sum(map(len, labels)), sum(map(len, values))
    if (lengths is None) != (lengths_of_scores is None) or len(labels) != len(values) or n != n_scores:
        got = f"{_shown_shape(n, lengths)} and {_shown_shape(n_scores, lengths_of_scores)}"
        raise DataError(f"relevance and scores must have the same shape; got {got}")
    for row, (row_labels, row_values) in enumerate(zip(labels, values)):
        if len(row_labels) != len(row_values):
            raise DataError(f"query {row}: relevance has {len(row_labels)} items, but scores has {len(row_values)}")
    grades = np.concatenate([np.zeros(0), *labels])
    if query is None:
        code = np.repeat(np.arange(len(labels)), [len(row) for row in labels]).astype(np.int64)
        names: pd.Index[Any] = pd.RangeIndex(len(labels), name="query")
    else:
        code, names = _queries(query, len(grades), lengths is not None)
    if scores is not None:
        _check_scores(np.concatenate([np.zeros(0), *values]), code, names)
    # Replace each score by its index among the sorted distinct scores of its row; this keeps the order of the scores of
    # each query. The scores themselves cannot be concatenated: if one row has integers and another row has floats,
    # numpy would convert the integers to floats.
    ranked = [np.unique(row, return_inverse=True)[1].reshape(-1) for row in values]
    return grades, np.concatenate([np.zeros(0, dtype=np.int64), *ranked]), code, names


def _queries(query: Any, n: int, is_nested: bool) -> tuple[Ids, pd.Index[Any]]:
    """Check the argument `query` of `from_scores`, which gives the query of each of `n` items.

    Returns
    -------
    codes : int64 array, shape (n,)
        The query of each item, as an index into `names`.
    names : pandas.Index
        The distinct queries, sorted.
    """
    if is_nested:
        raise DataError("query= needs relevance and scores of shape (items,); the given arrays have one row per query")
    given = np.asarray(query)
    if given.ndim != 1:
        raise DataError(f"query must be a one-dimensional array with one label for each item; got {query!r}")
    if len(given) != n:
        raise DataError(f"relevance has {n} items and query has {len(given)}; they must have the same length")
    codes, names = pd.factorize(given, sort=True)
    if (codes < 0).any():
        raise DataError(f"query of item {int(np.flatnonzero(codes < 0)[0])} is missing")
    return codes.astype(np.int64), pd.Index(names, name="query")


def _label_rows(name: str, values: Any) -> tuple[list[npt.NDArray[Any]], list[int] | None]:
    """Return a list with one array of numbers per query, and a list with the lengths of these arrays.

    If `values` is a flat array, the first list has a single array, and the second return value is None.
    """
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
        raise DataError(f"{name} must be an array or a sequence of arrays; got {type(values).__name__}")
    values = values if isinstance(values, (list, tuple, np.ndarray)) else np.asarray(values)
    is_nested = np.ndim(values) > 1 if isinstance(values, np.ndarray) else any(np.iterable(row) for row in values)
    is_nested = is_nested and not any(isinstance(row, str) for row in values)
    rows = []
    for i, row in enumerate(values if is_nested else [values]):
        if isinstance(row, np.ma.MaskedArray):
            raise DataError(f"{name} must not be a masked array; remove the masked items, or use NaN labels")
        try:
            numbers = np.asarray(row)
        except ValueError as error:
            raise DataError(f"{name}, query {i}: expected one row of real numbers; got nested rows") from error
        if numbers.ndim != 1 or (numbers.dtype.kind not in "fiub" and numbers.size):
            got = f"{numbers.dtype} of shape {numbers.shape}"
            raise DataError(f"{name}, query {i}: expected one row of real numbers; got {got}")
        rows.append(numbers if numbers.size else np.zeros(0))
    return rows, [len(row) for row in rows] if is_nested else None


def _shown_shape(n: int, lengths: list[int] | None) -> str:
    """Describe, for an error message, the shape of an input with `n` items: a flat array, or rows.

    `lengths` has the length of each row, or is None for a flat array.
    """
    if lengths is None:
        return f"a flat array of {n} items"
    return f"{len(lengths)} row{'s' if len(lengths) != 1 else ''} with {n} items"


def _shown_label(label: Any) -> str:
    """Return a label as error messages show it: a numpy number as a Python number, a string in quotes."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _check_scores(values: npt.NDArray[Any], code: Ids, names: pd.Index[Any]) -> None:
    """Raise a ScoreError if a score is NaN; the message names the query and the item."""
    if np.isnan(values).any():
        at = int(np.flatnonzero(np.isnan(values))[0])
        item = int((code[:at] == code[at]).sum())
        raise ScoreError(f"scores: item {item} of query {_shown_label(names[code[at]])} is NaN; a NaN cannot be ranked")


def _checked_lists(
    grades: Reals,
    values: npt.NDArray[Any],
    code: Ids,
    names: pd.Index[Any],
    relevance_level: float | None,
    missing: str | float | None,
    unlisted: tuple[Ids, Reals] | None = None,
    notes: Sequence[str] = (),
) -> RankedLists:
    """Check the grades, replace or drop missing grades, and return the ranked lists.

    Parameters
    ----------
    grades : float64 array, shape (items,)
        NaN where the grade is missing.
    values : array of numbers, shape (items,)
        The scores, or other numbers whose order within each query is the order of the scores.
    code : int64 array, shape (items,)
        The query of each item, an index into `names`.
    names : pandas.Index, shape (queries,)
    relevance_level, missing
        As in `from_scores`.
    unlisted : tuple of int64 and float64 arrays, shape (n,) each, optional
        The relevant items that are missing from the list of their query. The first array has the query of each such
        item, as an index into `names`; the second array has the grade of the item.
    notes : sequence of str
        The notes of the caller. If grades are missing, a note about them is added.
    """
    if relevance_level is not None:
        check_number("relevance_level", relevance_level, 0.0, np.inf, "a positive number")
    all_notes = list(notes)
    is_missing = np.isnan(grades)
    n_missing = int(is_missing.sum())
    wrong = np.flatnonzero((grades < 0) | np.isinf(grades) | (is_missing & (missing is None)))
    if len(wrong):
        at = wrong[0]
        item = int((code[:at] == code[at]).sum())
        hint = "; set missing='irrelevant', 'drop' or a grade" if is_missing[at] else ""
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
        treatment = {"drop": "are dropped", "irrelevant": "count as irrelevant"}
        all_notes.append(f"{n_missing} items without label {treatment.get(str(missing), f'count as grade {missing}')}")
    return lists_of_items(
        code,
        len(names),
        grades,
        values,
        unlisted,
        relevance_level=relevance_level or 0.0,
        names=names,
        notes=tuple(all_notes),
    )


def _frame(argument: str, given: Mapping[Any, Any] | pd.DataFrame, value: str) -> pd.DataFrame:
    """Return judgements or a run as a checked table with the columns query, item and `value`.

    Parameters
    ----------
    argument : str
        ``"qrels"`` or ``"run"``, for error messages.
    given : mapping or DataFrame
        As in `from_run`.
    value : str
        ``"grade"`` or ``"score"``.
    """
    if isinstance(given, pd.DataFrame):
        wanted = ["query", "item", value]
        if not set(wanted) <= set(given.columns):
            raise DataError(f"{argument}: expected columns {', '.join(wanted)}; got {[str(c) for c in given.columns]}")
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
                    f"{argument}: query {_shown_label(query)} has a set, which has no order; use a list, or scores"
                )
            else:
                rows += [(query, item, -place) for place, item in enumerate(items)]
        frame = pd.DataFrame(rows, columns=["query", "item", value])
    else:
        raise DataError(f"{argument}: expected a mapping by query or a DataFrame; got {type(given).__name__}")
    numbers = pd.to_numeric(frame[value], errors="coerce")
    is_wrong = (numbers.isna() | (np.isinf(numbers) & (value == "grade"))).to_numpy(dtype=bool)
    if is_wrong.any():
        row = frame.iloc[int(np.flatnonzero(is_wrong)[0])]
        error = DataError if value == "grade" else ScoreError
        label, query, got = (_shown_label(row[name]) for name in ("item", "query", value))
        expected = "a finite number" if value == "grade" else "a number"
        raise error(f"{argument}: {value} of item {label} of query {query} is {got}; expected {expected}")
    frame = frame.assign(**{value: numbers})
    repeated = frame.duplicated(["query", "item"])
    if repeated.any():
        row = frame[repeated].iloc[0]
        raise DataError(
            f"{argument}: duplicate item {_shown_label(row['item'])} in query {_shown_label(row['query'])}; keep one"
        )
    return frame


def _check_labels(judged: pd.DataFrame, returned: pd.DataFrame) -> None:
    """Raise a DataError if all labels are strings in one table, and no label is a string in the other table.

    No label of one table can then be equal to a label of the other table.
    """
    for name in ("query", "item"):
        kinds = [{isinstance(label, str) for label in frame[name].unique()} for frame in (judged, returned)]
        if kinds[0] and kinds[1] and kinds[0].isdisjoint(kinds[1]):
            of_qrels, of_run = (_shown_label(frame[name].iloc[0]) for frame in (judged, returned))
            raise DataError(
                f"the {name} labels of qrels and run differ in type, such as {of_qrels} and {of_run}, "
                "so no label occurs in both"
            )


def _matched(
    judged: pd.DataFrame, returned: pd.DataFrame, queries: pd.Index[Any]
) -> tuple[Reals, npt.NDArray[Any], Ids, tuple[Ids, Reals]]:
    """Return the items of a run with their judged grades, and the relevant items that are missing from the run.

    Parameters
    ----------
    judged, returned : pandas.DataFrame
        `judged` has the columns query, item and grade; `returned` has the columns query, item and score.
    queries : pandas.Index
        The queries to keep; rows of other queries are left out.

    Returns
    -------
    grade : float64 array, shape (n,)
        The grade of each item of `returned`: NaN if the item has no judgement, 0 if its judged grade is
        negative. The items are sorted by label, in descending order.
    score : array of numbers, shape (n,)
        The score of each item, in the order of `grade`.
    query : int64 array, shape (n,)
        The query of each item, as an index into `queries`, in the order of `grade`.
    unlisted : tuple of int64 and float64 arrays, shape (m,) each
        The relevant items that are missing from the run: their queries (as indices into `queries`), and their grades.
    """
    # items: the distinct item labels of both tables. label_rank[i]: the position of the label items[i] if all labels
    # are sorted as strings, in descending order.
    items = pd.Index(pd.concat([judged["item"], returned["item"]]).unique(), dtype=object)
    label_rank = np.empty(len(items), dtype=np.int64)
    label_rank[sorted(range(len(items)), key=lambda i: str(items[i]), reverse=True)] = np.arange(len(items))
    # Three arrays per table, one entry per row: query (index in `queries`), item (its `label_rank`), grade or score.
    judged_code, judged_item, judged_grade = _coded(judged, queries, items, label_rank, "grade")
    code, item, score = _coded(returned, queries, items, label_rank, "score")
    # One integer per (query, item) pair, so that pairs of the two tables can be compared.
    key, judged_key = code * len(items) + item, judged_code * len(items) + judged_item
    # (returned,) each: is_judged is True if the returned pair is also a judged pair. In this case, `place` is the index
    # of the pair in the sorted judged pairs.
    order = np.argsort(judged_key)
    place = np.minimum(np.searchsorted(judged_key[order], key), len(order) - 1)
    is_judged = judged_key[order][place] == key if len(order) else np.zeros(len(key), dtype=bool)
    grade = np.full(len(key), np.nan)
    grade[is_judged] = np.maximum(judged_grade[order][place[is_judged]], 0.0)
    # (judged,): whether the item is relevant and missing from the run.
    unlisted = ~np.isin(judged_key, key) & (judged_grade > 0)
    # Sort the rows by descending item label; with ties "stable", tied items keep this order.
    rows = np.argsort(item, kind="stable")
    return grade[rows], score[rows], code[rows], (judged_code[unlisted], judged_grade[unlisted].astype(np.float64))


def _coded(
    frame: pd.DataFrame, queries: pd.Index[Any], items: pd.Index[Any], label_rank: Ids, value: str
) -> tuple[Ids, Ids, npt.NDArray[Any]]:
    """Return three arrays with one entry for each row of `frame` whose query is in `queries`.

    The first array has the index of the row's query in `queries`. The second array has ``label_rank[i]``, where i is
    the index of the row's item in `items`. The third array has the row's entry in the column `value`.
    """
    code = queries.get_indexer(pd.Index(frame["query"], dtype=object)).astype(np.int64)
    item = label_rank[items.get_indexer(pd.Index(frame["item"], dtype=object))]
    kept = code >= 0
    return code[kept], item[kept], frame[value].to_numpy()[kept]


def _sorting(name: Any) -> tuple[str, Any]:
    """Return a sort key that sorts labels by type first, since labels of different types cannot be compared."""
    return type(name).__name__, name
