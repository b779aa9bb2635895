"""Match the rows of predicted lists and given ranks to positives, and find out how the rows were filtered.

`kgeval.evaluation.predicted_lists` and `kgeval.evaluation.given_ranks` call this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.base.checks import Bools, Ids, check_one_of, counted, cut_label
from kgeval.data.candidates import All
from kgeval.data.dataset import Dataset
from kgeval.data.keys import codes_of, facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.predictions import FILTERED, MISSING, UNMAPPED, GivenRanks, Predictions
from kgeval.data.protocol import Protocol
from kgeval.data.queries import Queries, given_and_asked, query_parts
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import SIDES
from kgeval.errors import DataError, ProtocolError
from kgeval.evaluation.build_result import Positives, RankedSide, check_given_scores

NO_ROW = {"list": "the file has no list for it", "rank": "the file has no rank for it"}  # why a rank is left out
LEAK = (
    "a re-ranker was given lists from which known answers had been removed, including those of {splits}: the lists "
    "told the re-ranker which answers are wrong, so these numbers are too good, and no other numbers are comparable "
    "with them"
)
WORDS = (
    "Set filtered= (--filtered): 'no' (the known answers are still there), 'after' (they were removed from the final "
    "ranking), or 'before' (they were removed from lists that a re-ranker then ordered, which leaks test answers)"
)


@dataclass(frozen=True)
class Matched:
    """The rows of a file that belong to the positives of one side.

    Parameters
    ----------
    side : str
    row_of : int64 array, shape (n,)
        For each positive, the index of its row in the file; -1 if the file has no row for this positive.
    is_shared : bool array, shape (n,)
        Whether the row of the positive is for all positives of its query.
    n_repeated : int
        The number of surplus rows: rows that repeat another row more often than the split repeats the triple.
    """

    side: str
    row_of: Ids
    is_shared: Bools
    n_repeated: int


def resolved_protocol(given: Predictions | GivenRanks, dataset: Dataset, protocol: Protocol | None) -> Protocol:
    """Return the protocol with a value in place of each None; by default, its sides are all sides of the file.

    Parameters
    ----------
    given : Predictions or GivenRanks
    dataset : Dataset
    protocol : Protocol or None

    Raises
    ------
    DataError
        If the file has no row.
    ProtocolError
        If the protocol names a side that the file does not answer, or if it has a setting that is not possible with
        predictions.
    """
    protocol = protocol or Protocol()
    check_given_scores(protocol, "predictions")
    missing = [name for name in protocol.filter_by or () if name not in given.columns]
    if missing:
        kind, first = kind_of(given), missing[0]
        in_file = f", or '\"{first}\": ...' beside the query of each line of kgeval's own format" * (kind == "list")
        raise ProtocolError(
            f"{given.source}: filter_by={protocol.filter_by} needs the {first} of each {kind}: without it, the same "
            f"query at another {first} would be mixed up. Give it: {type(given).__name__}.from_arrays(..., "
            f"columns={{{first!r}: [...]}}), with one value for each {kind}{in_file}. kgeval.evaluate, "
            "kgeval.evaluate_candidates and tables of scores are filtered by this key, too"
        )
    if protocol.candidates != All():
        raise ProtocolError(
            f"predictions rank all entities; the protocol has {protocol.candidates.describe()}. Remove candidates= "
            "from the protocol"
        )
    if not len(given):
        raise DataError(f"{given.source}: has no predictions")
    sides = tuple(side for side in SIDES if (given.sides == side).any())
    lacking = [side for side in protocol.sides if side not in sides] if protocol.names_sides else []
    if lacking:
        raise ProtocolError(
            f"{given.source}: answers no query of the {lacking[0]} side, which the protocol names; it answers the "
            f"{sides[0]} side. Name only sides that the file answers (sides={sides[0]!r}, --sides {sides[0]})"
        )
    return replace(protocol, sides=protocol.sides if protocol.names_sides else sides).resolved(dataset)


def said_filter(given: Predictions | GivenRanks, filtered: str | None, protocol: Protocol) -> str | None:
    """Return the value of `filtered` from the file or the user; None if neither gives it.

    Parameters
    ----------
    given : Predictions or GivenRanks
    filtered : str or None
        The argument of `kgeval.evaluate_predictions`.
    protocol : Protocol
        From `resolved_protocol`.

    Raises
    ------
    DataError
        If file and user contradict each other.
    ProtocolError
        If the rows were filtered, but the protocol has no filter.
    """
    if filtered is not None:
        check_one_of("filtered", filtered, FILTERED)
        if given.filtered is not None and given.filtered != filtered:
            raise DataError(f"{given.source}: says filtered={given.filtered!r}, but the argument is {filtered!r}")
    said = filtered or given.filtered
    if said in ("after", "before") and not protocol.filter:
        raise ProtocolError(
            f"{given.source}: known answers were removed (filtered={said!r}), but the protocol has no filter; "
            "filter must name the splits whose known answers were removed (default: all)"
        )
    return said


def check_rows(given: Predictions | GivenRanks, dataset: Dataset) -> None:
    """Raise a DataError unless the triples of a file hold ids of the dataset.

    Parameters
    ----------
    given : Predictions or GivenRanks
        The missing entity of a query of `Predictions` may be `UNMAPPED`.
    dataset : Dataset
    """
    n_entities, n_relations = len(dataset.entities), len(dataset.relations)
    least = np.zeros_like(given.triples)
    if isinstance(given, Predictions):
        least[np.arange(len(given)), np.where(given.sides == "subject", 0, 2)] = UNMAPPED
    is_wrong = (given.triples < least) | (given.triples >= np.array([n_entities, n_relations, n_entities]))
    if is_wrong.any():
        row, column = np.argwhere(is_wrong)[0]
        raise DataError(
            f"{given.source}, row {row}: the {('subject', 'relation', 'object')[column]} has id "
            f"{given.triples[row, column]}; {dataset.name!r} has {n_entities} entities and {n_relations} relations"
        )


def match_rows(
    given: Predictions | GivenRanks,
    dataset: Dataset,
    protocol: Protocol,
    positives: Positives,
    side: str,
    are_same: Callable[[Ids, Ids], Bools],
) -> Matched:
    """Find the row of the file that belongs to each positive, for the queries of one side.

    Parameters
    ----------
    given : Predictions or GivenRanks
    dataset : Dataset
    protocol : Protocol
    positives : Positives
    side : str
    are_same : function
        Takes two int64 arrays of row numbers, and returns for each pair of rows whether their contents are equal.

    Returns
    -------
    Matched

    Raises
    ------
    DataError
        If a row belongs to no positive, or if rows of a positive contradict each other.
    """
    codes = [codes_of(dataset, name, [*values], given.source) for name, values in given.columns.items()]
    names = _Names(given, dataset, protocol, side, np.column_stack([given.triples, *codes]))
    rows = np.flatnonzero(given.sides == side)
    is_query = given_and_asked(given.triples[rows], side)[1] == UNMAPPED
    row_of = np.full((2, len(positives.triples)), -1, dtype=np.int64)
    n_repeated, unused = 0, []
    for i, part in enumerate((rows[~is_query], rows[is_query])):
        if len(part):
            row_of[i], n, without = _assigned(names, positives.facts, part, are_same, is_query=bool(i))
            n_repeated += n
            unused.append(without)
    if any(len(part) for part in unused):
        raise names.error_of_unused(np.sort(np.concatenate(unused)), len(rows))
    has_both = (row_of >= 0).all(axis=0)
    if has_both.any():
        own, shared = row_of[:, np.argmax(has_both)]
        raise DataError(
            f"{given.source}, rows {own} and {shared}: {names.triple(own)} has a list of its own, and its query has a "
            "list for all its positives; keep one kind of list"
        )
    return Matched(side, row_of.max(axis=0), row_of[1] >= 0, n_repeated)


def missing_rows(
    given: Predictions | GivenRanks,
    dataset: Dataset,
    positives: Positives,
    parts: Sequence[Matched],
    missing: str | None,
) -> int:
    """Return how many ranks are missing because the file has no row for the positive on a ranked side.

    Parameters
    ----------
    given : Predictions or GivenRanks
    dataset : Dataset
    positives : Positives
    parts : sequence of Matched
        One for each ranked side.
    missing : str or None
        The argument of `kgeval.evaluate_predictions`.

    Raises
    ------
    DataError
        If ranks are missing, and the argument `missing` is None.
    """
    if missing is not None:
        check_one_of("missing", missing, MISSING)
    without = [(part.side, np.flatnonzero(part.row_of < 0)) for part in parts]
    n = sum(len(rows) for _, rows in without)
    if n and missing is None:
        side, rows = next((side, rows) for side, rows in without if len(rows))
        total = len(parts) * len(positives.triples)
        raise DataError(
            f"{given.source}: has no {kind_of(given)} for {n:,} of {total:,} positives, first "
            f"{_labels(dataset, positives.triples[rows[0]])} ({side} side). missing='drop' (--missing drop) leaves "
            "them out and counts them; missing='bound' (--missing bound) ranks them anywhere between 1 and the last"
        )
    return n


def result_facts(
    given: Predictions | GivenRanks, positives: Positives, sides: Sequence[RankedSide], parts: Sequence[Matched]
) -> dict[str, Any]:
    """Return entries of `EvaluationResult.facts`: the name of a file, its columns, and the number of its queries.

    Parameters
    ----------
    given : Predictions or GivenRanks
    positives : Positives
    sides : sequence of RankedSide
    parts : sequence of Matched
        One for each of `sides`, in the same order.
    """
    n = sum(len(Queries.of(positives.facts[ranked.rows], part.side)) for ranked, part in zip(sides, parts))
    scored = [*positives.columns.scored]
    return {"scorer": given.source, "n_queries": n, **({"scorer_columns": scored} if scored else {})}


def splits_with_others(
    dataset: Dataset, protocol: Protocol, positives: Positives, parts: Sequence[Matched]
) -> tuple[str, ...]:
    """Return the filter splits with known answers that a filter could have removed from the rows of a file.

    A filter can remove the known answers of a query, except the answer of the positive. If a list is for all positives
    of its query, a filter keeps the answers of all these positives. Queries may differ in columns that the filter does
    not compare.

    Parameters
    ----------
    dataset : Dataset
    protocol : Protocol
    positives : Positives
    parts : sequence of Matched
        One for each ranked side.
    """
    splits, columns = [], positives.columns
    for split in protocol.filter or ():
        for part in parts:
            others, kept = (
                known_index(dataset, (split,), part.side, names).count_others(*query_parts(facts, part.side))
                for names, facts in ((columns.key, positives.keyed), (columns.names, positives.facts))
            )
            others -= kept * (part.is_shared & (split in protocol.splits))
            if ((others > 0) & (part.row_of >= 0)).any():
                splits.append(split)
                break
    return tuple(splits)


def known_index(dataset: Dataset, splits: Sequence[str], side: str, names: Sequence[str]) -> KnownIndex:
    """Return the index of the triples of some splits, with further columns, for the queries of one side."""
    return KnownIndex.of(*query_parts(facts_of(dataset, splits, names), side))


def repeat_cautions(given: Predictions | GivenRanks, parts: Sequence[Matched]) -> list[str]:
    """Return a caution about repeated rows, if there are any."""
    n = sum(part.n_repeated for part in parts)
    if not n:
        return []
    repeat = "row repeats" if n == 1 else "rows repeat"
    return [
        f"{n:,} {repeat} another row of the same triple and side, and {'is' if n == 1 else 'are'} left out; "
        "distributed runs pad the last batch with such rows, and a tool that averages over all rows counts them twice"
    ]


def kind_of(given: Predictions | GivenRanks) -> str:
    """Return the word for the content of a row: ``"list"`` or ``"rank"``."""
    return "list" if isinstance(given, Predictions) else "rank"


@dataclass(frozen=True)
class _Names:
    """The rows of a file, and the names of files, splits and entities for messages about the rows of one side.

    `facts` holds the triples of all rows and the codes of their further columns, int64 (rows, 3 or more).
    """

    given: Predictions | GivenRanks
    dataset: Dataset
    protocol: Protocol
    side: str
    facts: Ids

    @property
    def split(self) -> str:
        return "+".join(self.protocol.splits)

    def triple(self, row: int) -> str:
        """Return the labels of the triple of a row, and its values in further columns."""
        values = (f" ({name} {cut_label(repr([*part][row]))})" for name, part in self.given.columns.items())
        return _labels(self.dataset, self.given.triples[row]) + "".join(values)

    def error_of_unused(self, unused: Ids, n: int) -> DataError:
        """Return the error about rows without a positive.

        The message names the splits that contain the triple of the first row without a positive.
        """
        fact = self.facts[unused[0]]
        if UNMAPPED in fact[:3]:
            found = f"no triple of {self.split} has this query"
        else:
            holding = [
                split
                for split in self.dataset.splits
                if (facts_of(self.dataset, (split,), [*self.given.columns]) == fact).all(axis=1).any()
            ]
            found = f"it is in {'+'.join(holding)}" if holding else "no split has it"
        kind = kind_of(self.given)
        answer = f"{kind} is of a query" if len(unused) == 1 else f"{kind}s are of queries"
        return DataError(
            f"{self.given.source}: {len(unused):,} of {n:,} {answer} that {self.split} does not ask on the {self.side} "
            f"side, first row {unused[0]}, {self.triple(int(unused[0]))}: {found}. Do they belong to another split "
            "(splits=, --splits) or another dataset?"
        )


def _assigned(
    names: _Names, positives: Ids, rows: Ids, are_same: Callable[[Ids, Ids], Bools], is_query: bool
) -> tuple[Ids, int, Ids]:
    """Return the row of each positive (-1: none), the number of repeated rows, and the rows without a positive.

    With `is_query`, a row belongs to a positive if both have the same query; otherwise if both are the same fact.
    """
    n, facts = len(positives), np.concatenate([positives, names.facts[rows]])
    given, asked = query_parts(facts, names.side)
    # A group has the same query, or the same fact. In `facts`, and in each group, positives come before rows.
    order, starts = group_rows(*given) if is_query else group_rows(*given, asked)
    n_groups = len(starts) - 1
    group = np.empty(len(facts), dtype=np.int64)
    group[order] = np.repeat(np.arange(n_groups), np.diff(starts))
    n_positives, n_rows = np.bincount(group[:n], minlength=n_groups), np.bincount(group[n:], minlength=n_groups)
    # first (groups,): the index in `rows` of the first row of each group; without meaning if a group has no row
    first = order[np.minimum(starts[:-1] + n_positives, len(order) - 1)] - n
    differs = ~are_same(rows, rows[first[group[n:]]])
    is_mixed = (np.bincount(group[n:][differs], minlength=n_groups) > 0) & (n_positives > 0)
    # A split that repeats a triple k times may have k different rows for it: they are taken in their order.
    in_order = is_mixed & (n_positives == n_rows) & (not is_query)
    wrong = np.flatnonzero(is_mixed & ~in_order)
    if len(wrong):
        group_rows_ = rows[group[n:] == wrong[0]]
        second = rows[differs & (group[n:] == wrong[0])][0]
        raise DataError(
            f"{names.given.source}, rows {group_rows_[0]} and {second}: {names.triple(second)} has "
            f"{len(group_rows_)} {kind_of(names.given)}s on the {names.side} side that differ, and "
            f"{names.split} has {'its query' if is_query else 'it'} {counted(n_positives[wrong[0]], 'time')}; keep the "
            "right one"
        )
    row_of = np.where(n_rows[group[:n]] > 0, rows[np.maximum(first[group[:n]], 0)], -1)
    for i in np.flatnonzero(in_order):
        members = order[starts[i] : starts[i + 1]]
        row_of[members[: n_positives[i]]] = rows[members[n_positives[i] :] - n]
    n_repeated = int(np.maximum(n_rows - n_positives, 0)[n_positives > 0].sum())
    return row_of, n_repeated, rows[n_positives[group[n:]] == 0]


def _labels(dataset: Dataset, triple: Ids) -> str:
    """Return the labels of a triple for a message; an unmapped entity is shown as ``?``."""
    vocabularies = dataset.entities, dataset.relations, dataset.entities
    labels = [repr(cut_label(part.labels[i])) if i != UNMAPPED else "?" for part, i in zip(vocabularies, triple)]
    return f"({', '.join(labels)})"
