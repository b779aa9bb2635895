"""Whether results may be compared: every difference between them, what may be overridden, and the rows that pair up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.checks import Ids, check_one_of
from kgeval.comparison.names import listed
from kgeval.data import SETTINGS, SIDES, SPLITS, All, Candidates, Protocol, Recorded, Vocabulary, group_rows
from kgeval.errors import ProtocolError
from kgeval.results import EvaluationResult, Key

OVERRIDES = {
    "queries": "compares the rows that all have",
    "dataset": "accepts other triples over the same labels",
    "unseen": "accepts different policies for unseen entities",
    "filter_splits": "accepts that different known answers are left out",
    "splits": "accepts rows from different splits",
}
CHANGE_RIVALS = ("filter_splits", "unseen", "dataset")
TIE_RATES_APART = 0.01


@dataclass(frozen=True)
class Mismatch:
    """One way in which results differ.

    Parameters
    ----------
    field : str
        Of the protocol, or ``"dataset"``, ``"entities"``, ``"relations"``, ``"queries"``, ``"rivals"``.
    said : str
        The value in each result.
    overrides : tuple of str
        Those of `OVERRIDES` of which one is enough to accept it; empty where none is.
    """

    field: str
    said: str
    overrides: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.field}: {self.said}"


@dataclass(frozen=True)
class Alignment:
    """The rows that results share, and on what terms.

    Parameters
    ----------
    rows : tuple of int64 arrays, shape (shared,)
        For each result the places of its rows in its table; the same place in each array is the same ranked triple.
        In the order of the labels, so that neither ids nor the order of a table matter.
    overridden : tuple of Mismatch
        Differences that were accepted.
    unneeded : tuple of str
        Overrides that had nothing to accept.
    """

    rows: tuple[Ids, ...]
    overridden: tuple[Mismatch, ...]
    unneeded: tuple[str, ...]


def align(
    results: Sequence[EvaluationResult], names: Sequence[str], keys: Sequence[Key], override: Sequence[str]
) -> Alignment:
    """Return the rows that all results have, or refuse.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        What messages call each result.
    keys : sequence of Key
        The numbers that will be compared; only the rows of their sides are paired.
    override : sequence of str
        See `OVERRIDES`.

    Raises
    ------
    ProtocolError
        If the results differ in what changes a number and it is not overridden; lists every difference.
    """
    for name in override:
        check_one_of("override", name, OVERRIDES)
    sides = [side for side in _sides_of_all(results) if any(key.side in (side, "both") for key in keys)]
    differences, shared = _differences(results, names, sides, _side_mismatches(results, names, keys))
    if any(not set(override) & set(mismatch.overrides) for mismatch in differences):
        raise ProtocolError(_refusal(names, differences, override))
    mismatched = {field for mismatch in differences for field in mismatch.overrides}
    return Alignment(
        rows=tuple(np.ascontiguousarray(column) for column in shared.T),
        overridden=tuple(differences),
        unneeded=tuple(o for o in dict.fromkeys(override) if o not in mismatched),
    )


def mismatches(results: Sequence[EvaluationResult], names: Sequence[str]) -> list[Mismatch]:
    """Return everything that keeps the numbers of results from standing side by side, whatever the metric.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        What to call each result.

    Returns
    -------
    list of Mismatch
        Of protocol, sides, dataset, rows and their rivals; empty for results that may be compared without an override,
        and for a single one.
    """
    asked = _said([_shown_value(tuple(result.protocol.sides)) for result in results], names)
    if len(results) < 2:
        return []
    return _differences(results, names, _sides_of_all(results), [Mismatch("sides", asked)] if asked else [])[0]


def _sides_of_all(results: Sequence[EvaluationResult]) -> list[str]:
    return [side for side in SIDES if all(side in result.protocol.sides for result in results)]


def _differences(
    results: Sequence[EvaluationResult], names: Sequence[str], sides: Sequence[str], of_sides: Sequence[Mismatch]
) -> tuple[list[Mismatch], Ids]:
    """Return every mismatch, `of_sides` among them, and where the rows of `sides` that all share stand."""
    places = pair_rows(results, sides)
    shared = places[(places >= 0).all(axis=1)]
    differences = [
        *_protocol_mismatches(results, names),
        *of_sides,
        *_dataset_mismatches(results, names),
        *(_row_mismatches(results, names, places) if sides else []),
    ]
    mismatched = {field for mismatch in differences for field in mismatch.overrides}
    causes = tuple(override for override in CHANGE_RIVALS if override in mismatched)
    return [*differences, *_rival_mismatches(results, names, shared, causes)], shared


def _refusal(names: Sequence[str], differences: Sequence[Mismatch], override: Sequence[str]) -> str:
    """Return the text that lists every difference, and says which may be overridden."""
    lines, needed = [f"{listed(names)} cannot be compared as they are; they differ in"], []
    for mismatch in differences:
        if set(override) & set(mismatch.overrides):
            said = " (overridden)"
        elif mismatch.overrides:
            ways = " or ".join(f"override {name!r} {OVERRIDES[name]}" for name in mismatch.overrides)
            said = f" ({ways})"
            needed.append(mismatch.overrides[0])
        else:
            said = " (cannot be overridden)"
        lines.append(f"  {mismatch}{said}")
    if all(mismatch.overrides for mismatch in differences):
        wanted = tuple(dict.fromkeys([*override, *needed]))
        lines.append(f"evaluate again under one protocol, or give override={wanted!r}: every output then says so")
    else:
        lines.append("evaluate again under one protocol, on the same dataset")
    return "\n".join(lines)


def pair_rows(results: Sequence[EvaluationResult], sides: Sequence[str]) -> Ids:
    """Return where each ranked triple stands in the tables of the results.

    Triples are the same if their labels, side and split are. One that a split holds twice is paired in the order of
    occurrence.

    Parameters
    ----------
    results : sequence of EvaluationResult
    sides : sequence of str
        Rows of other sides are left out.

    Returns
    -------
    int64 array, shape (distinct rows, results)
        Sorted by labels; -1 where a result lacks the row.
    """
    entities = _joint_ids([result.entities for result in results], [result.table[["s", "o"]] for result in results])
    relations = _joint_ids([result.relations for result in results], [result.table[["p"]] for result in results])
    parts = []
    for i, result in enumerate(results):
        side, split = (_codes(result.table[name], words) for name, words in (("side", SIDES), ("split", SPLITS)))
        rows = np.flatnonzero(np.isin(side, [SIDES.index(name) for name in sides]))
        s, p, o = (result.table[name].to_numpy()[rows] for name in "spo")
        columns = [side[rows], split[rows], relations[i][p], entities[i][s], entities[i][o]]
        parts.append(np.column_stack([*columns, np.full(len(rows), i), rows]))
    *columns, which, position = np.concatenate(parts).T
    order, starts = group_rows(*columns, which)
    occurrence = np.empty(len(order), dtype=np.int64)
    occurrence[order] = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
    order, starts = group_rows(*columns, occurrence)
    places = np.full((len(starts) - 1, len(results)), -1, dtype=np.int64)
    places[np.repeat(np.arange(len(places)), np.diff(starts)), which[order]] = position[order]
    return places


def _joint_ids(vocabularies: Sequence[Vocabulary], used: Sequence[Any]) -> list[Ids]:
    """Return for each vocabulary its ids' places among the sorted labels that the tables use, -1 for the others."""
    ids = [np.unique(frame.to_numpy()) for frame in used]
    labels = [[vocabulary.labels[i] for i in own.tolist()] for vocabulary, own in zip(vocabularies, ids)]
    joint = Vocabulary(sorted(set().union(*labels)))
    found = []
    for vocabulary, own, texts in zip(vocabularies, ids, labels):
        places = np.full(len(vocabulary), -1, dtype=np.int64)
        places[own] = joint.find(texts)
        found.append(places)
    return found


def _codes(column: Any, words: Sequence[str]) -> Ids:
    """Return the place of each of a categorical's values among `words`."""
    places = np.array([words.index(word) for word in column.cat.categories], dtype=np.int64)
    return np.asarray(places[column.cat.codes.to_numpy()])


def _protocol_mismatches(results: Sequence[EvaluationResult], names: Sequence[str]) -> list[Mismatch]:
    found = []
    for field in dataclasses.fields(Protocol):
        if field.name == "sides":
            continue
        values = [getattr(result.protocol, field.name) for result in results]
        if field.name == "candidates":
            values = _known_candidates(values)
        said = _said([_shown_value(value) for value in values], names)
        if said:
            found.append(Mismatch(field.name, said, (field.name,) if field.name in OVERRIDES else ()))
    return found


def _known_candidates(values: Sequence[Candidates]) -> list[Candidates]:
    """Return the candidates, those without a digest as the first ones of their kind: their content is not known."""
    with_content = {value.kind: value for value in reversed(values) if value.digest}
    return [value if value.digest else with_content.get(value.kind, value) for value in values]


def _side_mismatches(results: Sequence[EvaluationResult], names: Sequence[str], keys: Sequence[Key]) -> list[Mismatch]:
    """Return one mismatch if a result was not asked a side that a key needs, or both mean different sides."""
    asked = [tuple(result.protocol.sides) for result in results]
    for key in keys:
        says = f"{key.metric} asks both sides" if key.side == "both" else f"{key.side}.{key.metric} asks that side"
        if len(set(asked)) > 1 if key.side == "both" else any(key.side not in sides for sides in asked):
            values = (
                _said([_shown_value(sides) for sides in asked], names) or f"{_shown_value(asked[0])} in {listed(names)}"
            )
            return [Mismatch("sides", f"{values}; {says}")]
    return []


def _dataset_mismatches(results: Sequence[EvaluationResult], names: Sequence[str]) -> list[Mismatch]:
    found = []
    if len({result.about["dataset_fingerprint"] for result in results}) > 1:
        shown = [f"{result.about['dataset']} {result.about['dataset_fingerprint'][:8]}" for result in results]
        found.append(Mismatch("dataset", _said(shown, names) or f"fingerprints of {shown[0]}", ("dataset",)))
    first = results[0]
    for field in ("entities", "relations"):
        for name, result in zip(names[1:], results[1:]):
            one, other = getattr(first, field), getattr(result, field)
            said = _labels_apart(one, other, names[0], name)
            if said:
                found.append(Mismatch(field, f"{len(one):,} in {names[0]}, {len(other):,} in {name}; {said}"))
    return found


def _labels_apart(one: Vocabulary, other: Vocabulary, name: str, other_name: str) -> str:
    """Return how many labels stand in one of two vocabularies only, with the first; empty if none does."""
    if one == other:
        return ""
    said = []
    for mine, theirs, who in ((one, other, name), (other, one, other_name)):
        lacking = np.flatnonzero(theirs.find(mine.labels) < 0)
        if len(lacking):
            said.append(f"{len(lacking):,} only in {who}, first {mine.labels[lacking[0]]!r}")
    return ", ".join(said)


def _row_mismatches(results: Sequence[EvaluationResult], names: Sequence[str], places: Ids) -> list[Mismatch]:
    """Return what rows are only in some results, against the first; overridable where some rows are in all."""
    is_there = places >= 0
    n_shared = int(is_there.all(axis=1).sum())
    overrides = ("queries",) if n_shared else ()
    found = []
    for i in range(1, len(results)):
        said = []
        for mine, theirs in ((0, i), (i, 0)):
            only = places[is_there[:, mine] & ~is_there[:, theirs], mine]
            if len(only):
                first = describe_row(results[mine], int(only.min()))
                said.append(f"{len(only):,} rows only in {names[mine]}, first {first}")
        if said:
            sizes = " and ".join(f"{int(is_there[:, j].sum()):,} in {names[j]}" for j in (0, i))
            rows = f"{n_shared:,} rows in all results" if n_shared else "no row in all results"
            found.append(Mismatch("queries", f"{sizes}; {'; '.join(said)}; {rows}", overrides))
    if not len(places):
        found.append(Mismatch("queries", f"no row of the sides asked in {listed(names)}"))
    return found


def describe_row(result: EvaluationResult, row: int) -> str:
    """Return the labels, the side and the split of a row of a result's table, for messages."""
    s, p, o, side, split = (result.table[name].iloc[row] for name in ("s", "p", "o", "side", "split"))
    labels = (result.entities.labels[s], result.relations.labels[p], result.entities.labels[o])
    return f"{labels} ({side} side, {split})"


def _rival_mismatches(
    results: Sequence[EvaluationResult], names: Sequence[str], shared: Ids, causes: tuple[str, ...]
) -> list[Mismatch]:
    """Return what shared rows were ranked among another number of rivals; acceptable with one of `causes`."""
    found = []
    for setting in SETTINGS:
        rivals = [result.table[f"rivals_{setting}"].to_numpy()[rows] for result, rows in zip(results, shared.T)]
        is_apart = np.zeros(len(shared), dtype=bool)
        for other in rivals[1:]:
            is_apart |= other != rivals[0]
        if is_apart.any():
            apart = np.flatnonzero(is_apart)
            first = apart[shared[apart, 0].argmin()]
            values = _said([f"{own[first]:,}" for own in rivals], names)
            row = describe_row(results[0], int(shared[first, 0]))
            said = (
                f"{len(apart):,} of {len(shared):,} shared rows differ in their {setting} rivals, first {row}: {values}"
            )
            found.append(Mismatch("rivals", said, causes))
    return found


def cautions(results: Sequence[EvaluationResult], names: Sequence[str]) -> list[str]:
    """Return what should be known of results that may be compared: ties, versions, names, and their own notes."""
    found = []
    rates = [result.tie_rate for result in results]
    if max(rates) - min(rates) > TIE_RATES_APART:
        said = _said([f"{rate:.1%}" for rate in rates], names)
        found.append(f"tie rates differ, {said}; compare under pessimistic. and optimistic. ties too")
    if any(result.protocol.candidates == Recorded("listed") for result in results):
        found.append(
            "files of version 0.1.0 do not say which negatives were listed; only their number per row was checked"
        )
    same: tuple[tuple[str, Callable[[EvaluationResult], str]], ...] = (
        ("made with different versions of kgeval", lambda result: str(result.about["version"])),
        ("the dataset has different names", lambda result: str(result.about["dataset"])),
    )
    for what, of in same:
        said = _said([of(result) for result in results], names)
        if said:
            found.append(f"{what}: {said}")
    scorers = [str(result.about["scorer"]) for result in results]
    for scorer in dict.fromkeys(scorers):
        mine = [name for name, own in zip(names, scorers) if own == scorer]
        if len(mine) > 1:
            found.append(f"the scorer has the same name in {listed(mine)}: {scorer}")
    return found + [f"{name}: {note}" for name, result in zip(names, results) for note in result.notes]


def _shown_value(value: Any) -> str:
    if value is None:
        return "not said"
    if isinstance(value, Candidates):
        return value.describe() if value == All() else f"{value.kind} candidates {value.digest[:8]}".strip()
    return "+".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _said(values: Sequence[str], names: Sequence[str]) -> str:
    """Return which results have which value; empty if all have the same."""
    distinct = dict.fromkeys(values)
    if len(distinct) < 2:
        return ""
    return ", ".join(f"{value} in {listed([n for n, own in zip(names, values) if own == value])}" for value in distinct)
