"""`evaluate_scores` ranks each positive among the rows of a table of scores that have the same query.

Users and the command ``kgeval evaluate --scores`` call `evaluate_scores`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Bools, Ids, Scores, check_one_of, names_unknown_arguments
from kgeval.data.candidates import All, Listed, Recorded
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.frames import frame_ids
from kgeval.data.keys import FactColumns, codes_of, facts_of, fingerprint_part, natural_key
from kgeval.data.known import KnownIndex
from kgeval.data.protocol import PROTOCOL_HINTS, Protocol
from kgeval.data.queries import Queries, given_and_asked, query_parts, shares_query
from kgeval.data.row_keys import RowKeys, group_rows, rank_in
from kgeval.data.sides import SIDES
from kgeval.errors import DataError, ProtocolError, ScoreError
from kgeval.evaluation.build_result import Positives, RankedSide, assemble, check_given_scores
from kgeval.evaluation.candidate_scores import evaluate_candidates
from kgeval.kernels.counts import Places, count_known
from kgeval.ranking.counts import RankCounts
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.scorers.values import as_scores

LISTS_OF = ("query",)


@names_unknown_arguments(**PROTOCOL_HINTS)
def evaluate_scores(
    scores: pd.DataFrame, dataset: Dataset, protocol: Protocol | None = None, *, lists: str | None = None
) -> EvaluationResult:
    """Rank every triple of a split among the triples of a table of scores that differ from it in one entity.

    Parameters
    ----------
    scores : pandas.DataFrame
        Columns ``s, p, o`` (labels; `Dataset.from_frames` lists other possible column names) and ``score`` (higher is
        better). The table contains each positive once, and the negatives. `kgeval.read_scores` reads such a table from
        a file. Further columns of the filter key, and those of times and qualifiers, say to which query a row belongs:
        ``time``. With a further column ``positive``, each row belongs to the list of one positive: the column holds the
        row number of that positive in the ranked splits (0, 1, ...). Every list also contains the positive itself.
    dataset : Dataset
        Its splits define the positives and the known triples.
    protocol : Protocol, optional
        Without `sides`, a side is ranked if every positive has negatives on this side in the table. With `sides`, a
        positive without negatives on a side has no rank there, and the result contains the number of such ranks. Known
        triples are not negatives.
    lists : str, optional
        ``"query"``: all positives of a query have the same rivals, namely all rows of the query. By default, this is
        assumed only of queries whose rows list every entity that does not form a known triple. A query with fewer rows
        and several positives raises a DataError: set `lists`, or add a column ``positive``.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If the table has faulty or repeated rows, if a positive is not in the table, if no positive has a negative, or
        if it is unclear to which positive or side a row belongs as a negative; the message says how to choose.
    ProtocolError
        If the protocol sets `unseen` to anything but ``"rank"``, if `lists` is unknown, or if the table lacks a column
        of the filter key.
    ScoreError
        If a score is NaN, or not a number.

    Examples
    --------
    >>> test = pd.DataFrame([["Jack", "born_in", "Italy"]], columns=["s", "p", "o"])
    >>> train = pd.DataFrame([["Jack", "friend_with", "China"], ["Jo", "born_in", "Germany"]], columns=["s", "p", "o"])
    >>> table = pd.DataFrame(
    ...     [["Jack", "born_in", "Italy", 0.7], ["Jack", "born_in", "China", 0.8], ["Jack", "born_in", "Germany", 0.1]],
    ...     columns=["s", "p", "o", "score"],
    ... )
    >>> evaluate_scores(table, Dataset.from_frames(train=train, test=test))["object.mrr"]
    0.5
    """
    given_protocol = protocol or Protocol()
    check_given_scores(given_protocol, "a table of scores")
    if lists is not None:
        check_one_of("lists", lists, LISTS_OF)
    key = given_protocol.resolved(dataset).filter_by
    listed, values, positive_of, columns = _listed_triples(scores, dataset, tuple(key or ()))
    positives = Positives.of(dataset, given_protocol.resolved(dataset), columns)
    if positive_of is not None:
        if lists == "query":
            raise ProtocolError(
                "lists='query' contradicts the column 'positive', which gives each positive its own list"
            )
        return _by_positive(dataset, given_protocol, positives, listed[:, :3], values, positive_of)
    _check_distinct(dataset, listed)
    used = listed[_is_used(listed, positives.facts)]
    resolved = _with_lists(given_protocol, dataset, used, columns).resolved(dataset)
    known = facts_of(dataset, resolved.filter or (), columns.key)
    table = _Table.of(dataset, listed, values, known, positives)
    parts = {side: _TableSide.of(table, side, known) for side in resolved.sides}
    own_scores, no_rows = values[table.rows], np.empty(0, dtype=np.int64)
    counts = {side: part.counts() for side, part in parts.items()}
    # Known answers alone are no list of negatives: a table of objects must not rank subjects.
    n_with = {side: int((part["filtered"].rivals > 0).sum()) for side, part in counts.items()}
    ranked = {
        side: RankedSide.with_rivals(own_scores, part) if n_with[side] else RankedSide.of(no_rows, own_scores, part)
        for side, part in counts.items()
    }
    notes: list[str] = []
    sides = _chosen_sides(given_protocol, n_with, len(positives.triples), notes)
    if not given_protocol.names_sides:
        sides = _full_sides([parts[side] for side in sides], notes)
    _check_lists([parts[side] for side in sides], given_protocol.names_sides, lists == "query")
    return assemble(
        replace(resolved, sides=sides),
        positives,
        [ranked[side] for side in sides],
        {},
        {
            "scorer": "scores",
            "n_queries": sum(len(Queries.of(positives.facts, side)) for side in sides),
            **({"scorer_columns": list(columns.scored)} if columns.scored else {}),
        },
        TableSource(dataset, listed, values, positives, np.concatenate([ranked[side].rows for side in sides])),
        notes,
    )


def _chosen_sides(protocol: Protocol, n_with: Mapping[str, int], n: int, notes: list[str]) -> tuple[str, ...]:
    """Return the sides to rank: those of the protocol, or by default the sides on which all positives have negatives.

    Add a note for each side that is not ranked even though some positives have negatives on this side. Raise a
    DataError if there is no side to rank, or if no positive has a negative on the sides to rank. `n_with` holds, for
    each side, the number of positives with a negative on this side; `n` is the number of all positives.
    """
    sides = protocol.sides if protocol.names_sides else tuple(side for side, count in n_with.items() if count == n)
    shown = {side: f"{count:,} of {n:,} positives" for side, count in n_with.items()}
    if not sides and any(n_with.values()):
        found = ", ".join(f"{count} on the {side} side" for side, count in shown.items())
        raise DataError(
            f"the table lists negatives for {found}; name the sides to rank (sides='object', --sides object): "
            "positives without negatives on a named side are left out there, and counted"
        )
    if not any(n_with[side] for side in sides):
        raise DataError(
            "no positive has a negative in the table; add triples that differ from a positive in one entity"
        )
    notes += [
        f"the {side} side is not ranked: the table lists negatives for {shown[side]} there (name the side in sides= to "
        "rank it)"
        for side, count in n_with.items()
        if side not in sides and count
    ]
    return tuple(sides)


def _full_sides(parts: Sequence[_TableSide], notes: list[str]) -> tuple[str, ...]:
    """Return the sides to rank: all, or only one if the table lists every entity on this side, but not on the other.

    If only one side is returned, a note says that the other side is not ranked: rows that are negatives on the first
    side may be negatives on the other side too, but only by chance.
    """
    full = [part.side for part in parts if part.lists_every_entity]
    if len(parts) != 2 or len(full) != 1:
        return tuple(part.side for part in parts)
    (other,) = (part.side for part in parts if part.side not in full)
    notes.append(
        f"the {other} side is not ranked: the table lists every entity only on the {full[0]} side (name the {other} "
        "side in sides= to rank it)"
    )
    return tuple(full)


@dataclass(frozen=True, eq=False)
class TableSource:
    """Looks up the scores of a query in a table of scores; implements `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    listed : int64 array, shape (rows, 3 or more)
        The triples of the table, as ids, with the codes of its further columns.
    scores : array, shape (rows,)
    positives : Positives
        Its facts have the columns of `listed`.
    positive_rows : int64 array, shape (rows of the result,)
        For each row of the table of ranks, the index of its positive.
    """

    dataset: Dataset
    listed: Ids
    scores: Scores
    positives: Positives
    positive_rows: Ids

    @property
    def is_exact(self) -> bool:
        """Whether a repeated look-up returns exactly the same scores: always True, because the scores are stored."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the candidates that the table lists for the query of `triple`, as sorted ids, and their scores."""
        parts, answer_of = query_parts(self.listed, side)
        fact = triple if row is None else self.positives.facts[self.positive_rows[row]]
        given, _ = query_parts(fact[None], side)
        rows = np.flatnonzero(np.logical_and.reduce([part == one for part, one in zip(parts, given)]))
        rows = rows[np.argsort(answer_of[rows])]
        return answer_of[rows], self.scores[rows]

    def key_of(self, triple: Ids, row: int | None) -> Ids:
        """Return a triple and its codes of the filter key; parameters as in `candidate_scores`."""
        fact = triple if row is None else self.positives.facts[self.positive_rows[row]]
        return fact[list(self.positives.columns.key_places)]


def _with_lists(protocol: Protocol, dataset: Dataset, listed: Ids, columns: FactColumns) -> Protocol:
    """Return the protocol with the candidates of the table: kind "listed", and a digest (hash) of its triples."""
    further = [
        fingerprint_part(dataset, name, {"listed": listed[:, place]})
        for place, name in enumerate(columns.scored, start=3)
    ]
    vocabularies = dataset.entities, dataset.relations
    digest = fingerprint_triples("kgeval listed 1", *vocabularies, {"listed": listed}, further=further)
    candidates = Recorded("listed", digest)
    if protocol.candidates not in (All(), candidates):
        raise ProtocolError(
            f"a table of scores determines the candidates: {candidates.describe()}; the protocol has "
            f"{protocol.candidates.describe()}. Remove candidates= from the protocol"
        )
    return replace(protocol, candidates=candidates)


def _is_used(listed: Ids, positives: Ids) -> Bools:
    """Return whether each triple of the table shares a query, (s, p, ?) or (?, p, o), with a positive; bool (rows,)."""
    return np.logical_or(*(shares_query(listed, positives, side) for side in SIDES))


def _listed_triples(
    frame: pd.DataFrame, dataset: Dataset, key: tuple[str, ...]
) -> tuple[Ids, Scores, Ids | None, FactColumns]:
    """Check the table; return its triples as ids, its scores, its column 'positive', and its further columns.

    The triples have shape (rows, 3 or more), with the codes of the further columns; the scores have shape (rows,). With
    a column 'positive', each row of the table belongs to the list of one positive; the column, shape (rows,), contains
    the row number of this positive in the ranked splits. Without this column, the third value is None.
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"scores: expected a pandas.DataFrame (kgeval.read_scores reads a file); got {type(frame).__name__}"
        )
    lowered = [str(column).lower() for column in frame.columns]
    if lowered.count("score") != 1:
        raise DataError(f"scores: expected one column 'score'; got {[str(column) for column in frame.columns]}")
    values = as_scores(frame.iloc[:, lowered.index("score")].to_numpy(), "the column 'score'")
    rows = frame.iloc[:, [i for i, name in enumerate(lowered) if name not in ("score", "positive")]]
    triples = frame_ids("scores", rows, dataset.entities, dataset.relations, dataset.name)
    s, p, o = triples.T
    if np.isnan(values.astype(np.float64)).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        triple = triple_labels(dataset, s[row], p[row], o[row])
        raise ScoreError(f"scores, row {row}: {triple} has score NaN; a NaN cannot be ranked")
    if "positive" not in lowered:
        columns = _further_columns(frame, dataset, key)
        codes = [codes_of(dataset, name, frame[name].tolist(), "scores") for name in columns.scored]
        return np.column_stack([triples, *codes]), values, None, columns
    positive_of = frame.iloc[:, lowered.index("positive")].to_numpy()
    if positive_of.dtype.kind not in "iu":
        raise DataError(
            f"scores: the column 'positive' must contain row numbers of positives (integers); got {positive_of.dtype}"
        )
    return triples, values, positive_of.astype(np.int64), FactColumns((), key)


def _further_columns(frame: pd.DataFrame, dataset: Dataset, key: tuple[str, ...]) -> FactColumns:
    """Return the columns by which rows are matched with positives; a ProtocolError if one of the key is not there."""
    in_table = tuple(name for name in dict.fromkeys((*natural_key(dataset), *key)) if name in frame)
    missing = [name for name in key if name not in in_table]
    if missing:
        raise ProtocolError(
            f"with a table of scores, filter_by={key} needs the column {missing[0]!r} in the table: its rows hold "
            f"triples without {' and '.join(missing)}, so the same query at another time would be mixed up. Add the "
            "column, or a column 'positive' with the row number of the positive of each row; kgeval.evaluate and "
            f"kgeval.evaluate_candidates filter by {' and '.join(key)}, too"
        )
    return FactColumns(in_table, key)


def _check_distinct(dataset: Dataset, triples: Ids) -> None:
    """Raise a DataError if a triple occurs twice in the table."""
    # order (rows,) sorts the rows by triple; the rows order[starts[i]:starts[i + 1]] contain the same triple.
    order, starts = group_rows(*triples.T)
    repeated = starts[:-1][np.diff(starts) > 1]
    if len(repeated):
        first, second = order[repeated[0]], order[repeated[0] + 1]
        raise DataError(
            f"scores, rows {first} and {second}: {triple_labels(dataset, *triples[first, :3])} occurs twice. If it is "
            "a negative of two positives, add a column 'positive' that says, for each row of the table, to which "
            "positive it belongs (row number in the ranked split); if it is repeated by mistake, remove one row"
        )


def _by_positive(
    dataset: Dataset, protocol: Protocol, positives: Positives, listed: Ids, values: Scores, positive_of: Ids
) -> EvaluationResult:
    """Rank each positive among the rows whose column 'positive' contains the row number of this positive."""
    n = len(positives.triples)
    wrong = np.flatnonzero((positive_of < 0) | (positive_of >= n))
    if len(wrong):
        row = wrong[0]
        raise DataError(
            f"scores, row {row}: column 'positive' contains {positive_of[row]}; expected a row number, 0 to {n - 1}"
        )
    differs = listed != positives.triples[positive_of]  # (rows, 3)
    is_own = ~differs.any(axis=1)
    n_own = np.bincount(positive_of[is_own], minlength=n)
    if (n_own != 1).any():
        i = int(np.argmax(n_own != 1))
        raise DataError(
            f"scores: the list of positive {i}, {triple_labels(dataset, *positives.triples[i])}, must contain one row "
            f"with the positive itself; got {n_own[i]}"
        )
    side_of = {"subject": differs[:, 0] & ~differs[:, 2], "object": differs[:, 2] & ~differs[:, 0]}
    is_wrong = differs[:, 1] | (differs[:, 0] & differs[:, 2])
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise DataError(
            f"scores, row {row}: {triple_labels(dataset, *listed[row])} must differ from its positive "
            f"{triple_labels(dataset, *positives.triples[positive_of[row]])} in the subject alone or the object alone"
        )
    own_scores = np.empty(n, dtype=values.dtype)
    own_scores[positive_of[is_own]] = values[is_own]
    counts = {side: np.bincount(positive_of[is_part], minlength=n) for side, is_part in side_of.items()}
    notes: list[str] = []
    n_with = {side: int((counts[side] > 0).sum()) for side in protocol.sides}
    sides = _chosen_sides(protocol, n_with, n, notes)
    given: dict[str, Any] = {}
    ids: dict[str, Any] = {}
    for side in sides:
        rows = np.flatnonzero(side_of[side])
        rows = rows[np.argsort(positive_of[rows], kind="stable")]
        cuts = np.cumsum(counts[side])[:-1]
        ids[f"{side}s"] = np.split(given_and_asked(listed, side)[1][rows], cuts)
        given[f"{side}s"] = own_scores, np.split(values[rows], cuts)
    # a positive without negatives on a side that the protocol names is left out, and counted
    lacks = any((counts[side] == 0).any() for side in sides)
    negatives = Listed(**ids, empty="drop" if lacks else "error")
    result = evaluate_candidates(dataset, **given, negatives=negatives, protocol=protocol)
    return result.__replace__(notes=[*notes, *result.notes])


def _rows_of_positives(dataset: Dataset, triples: Ids, listed: Ids) -> Ids:
    """Return, for each triple, the row of the table that contains it; int64, shape (n,)."""
    layout, keys = RowKeys.of(*listed.T)  # keys (rows,): one integer per triple of the table
    order = np.argsort(keys)
    triple_keys, is_possible = layout.encode(*triples.T)
    positions, is_listed = rank_in(keys[order], triple_keys)  # (n,): the position of each key in the sorted keys
    is_listed &= is_possible
    if not is_listed.all():
        s, p, o = triples[~is_listed][0, :3]
        at = " at its time or with its qualifiers" if triples.shape[1] > 3 else ""
        raise DataError(
            f"scores: the positive {triple_labels(dataset, s, p, o)} has no score{at} in the table; add its row"
        )
    return order[positions]


@dataclass(frozen=True, eq=False)
class _Table:
    """A table of scores, and which of its rows contain the positives.

    Parameters
    ----------
    dataset : Dataset
    listed : int64 array, shape (rows, 3 or more)
        The triples of the table, with the codes of its further columns.
    columns : FactColumns
        The further columns of the table.
    values : array, shape (rows,)
        The scores.
    rows : int64 array, shape (n,)
        The row of the table that contains each positive.
    is_known : bool array, shape (rows,)
        Whether the triple of each row is known.
    """

    dataset: Dataset
    listed: Ids
    columns: FactColumns
    values: Scores
    rows: Ids
    is_known: Bools

    @classmethod
    def of(cls, dataset: Dataset, listed: Ids, values: Scores, known: Ids, positives: Positives) -> _Table:
        """Find the positives and the known triples, int64 (known triples, 3 or more), among the rows."""
        given, objects = query_parts(listed[:, list(positives.columns.key_places)], "object")
        is_known = KnownIndex.of(*query_parts(known, "object")).contains(*given, objects)
        rows = _rows_of_positives(dataset, positives.facts, listed)
        return cls(dataset, listed, positives.columns, values, rows, is_known)

    def labels(self, row: int) -> tuple[str, str, str]:
        """Return the labels of the triple of a row, for messages."""
        return triple_labels(self.dataset, *self.listed[row, :3])


@dataclass(frozen=True, eq=False)
class _TableSide:
    """The queries of one side of a table.

    Parameters
    ----------
    table : _Table
    side : str
    order : int64 array, shape (rows,)
        The rows of the table, sorted by query.
    query : int64 array, shape (rows,)
        The number (0, 1, ...) of the query of each row.
    is_open : bool array, shape (queries,)
        A query is open if some entity neither forms a known triple with the query nor is in a row of the query.
    """

    table: _Table
    side: str
    order: Ids
    query: Ids
    is_open: Bools

    @classmethod
    def of(cls, table: _Table, side: str, known: Ids) -> _TableSide:
        """Number the queries of a side; `known` holds the known triples, int64 (known triples, 3 or more)."""
        queries = Queries.of(table.listed, side)
        query = np.empty(len(table.listed), dtype=np.int64)
        query[queries.rows] = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
        n_listed = np.bincount(query[~table.is_known], minlength=len(queries))
        index = KnownIndex.of(*query_parts(known, side))
        n_known = np.diff(index.lookup(*table.columns.key_parts(queries.parts))[0])
        return cls(table, side, queries.rows, query, n_listed + n_known < len(table.dataset.entities))

    @property
    def lists_every_entity(self) -> bool:
        """Whether the table lists, for each query of a positive, every entity that does not form a known triple."""
        return not self.is_open[self.query[self.table.rows]].any()

    def counts(self) -> dict[str, RankCounts]:
        """Return the raw and the filtered counts of the positives; rivals are the rows with the same query."""
        table, query, order = self.table, self.query, self.order
        _, answer = given_and_asked(table.listed, self.side)
        # by_query (n,) sorts the positives by query. positives (n,): the rows of the positives in this order.
        by_query = np.argsort(query[table.rows], kind="stable")
        positives = table.rows[by_query]
        counts = {}
        for setting, among, is_self in (
            ("raw", order, np.ones(len(positives), dtype=np.int64)),
            ("known", order[table.is_known[order]], table.is_known[positives].astype(np.int64)),
        ):
            # better, equal (n,): for each positive, the number of rows in `among` that have the same query and a higher
            # score, and the number of those with an equal score. `is_self` is 1 if `among` contains the positive
            # itself; it is subtracted below.
            places = Places(query[positives], answer[positives], query[among], answer[among])
            better, equal = count_known(places, table.values[among], table.values[positives])
            # n_listed (n,): for each positive, the number of rows in `among` with the same query.
            n_listed = np.bincount(query[among], minlength=len(self.is_open))[query[positives]]
            counts[setting] = RankCounts.zeros(len(positives))
            counts[setting].better[by_query] = better
            counts[setting].tied[by_query] = equal - is_self
            counts[setting].rivals[by_query] = n_listed - is_self
        return {"raw": counts["raw"], "filtered": counts["raw"] - counts["known"]}


def _check_lists(parts: Sequence[_TableSide], are_sides_named: bool, are_queries_meant: bool) -> None:
    """Raise a DataError if it is unclear to which side, or to which positive of a query, a negative belongs."""
    table = parts[0].table
    positives = np.unique(table.rows)  # duplicate rows of a split are one triple
    is_negative = ~table.is_known
    is_negative[positives] = False
    # Lists with one array (rows,) per side. n_positives, int64: the number of positives of each row's query. unclear,
    # bool: whether each row is a negative of an open query that has a positive.
    n_positives = [np.bincount(part.query[positives], minlength=len(part.is_open))[part.query] for part in parts]
    unclear = [is_negative & (n > 0) & part.is_open[part.query] for n, part in zip(n_positives, parts)]
    if len(parts) == 2 and not are_sides_named and (unclear[0] & unclear[1]).any():
        row = int(np.argmax(unclear[0] & unclear[1]))
        raise DataError(
            f"scores, row {row}: {table.labels(row)} could be a negative of a "
            "positive with another subject, and of one with another object. Name the sides to rank "
            "(sides='object', --sides object; 'both' if such rows are meant for both sides)"
        )
    for part, n, is_unclear in zip(parts, n_positives, unclear):
        if not are_queries_meant and (is_unclear & (n > 1)).any():
            row = int(np.argmax(is_unclear & (n > 1)))
            served = positives[part.query[positives] == part.query[row]][:2]
            names = " and ".join(str(table.labels(i)) for i in served)
            raise DataError(
                f"scores, row {row}: is {table.labels(row)} a negative of one of "
                f"{names}, or of both? They have the same query ({part.side} side), and the table lists only some of "
                "the entities for it. If the positives of a query share all its rows, use lists='query' (--lists "
                "query); if each positive has its own list, add a column 'positive' that says, for each row of the "
                "table, to which positive it belongs (row number in the ranked split)"
            )
