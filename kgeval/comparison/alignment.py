"""Alignment: check whether results may be compared, and pair the rows of their rank tables by labels.

`kgeval.compare` calls `align`. If protocols, datasets, rows or rivals of the results differ, and no override accepts
the difference, `align` raises an error. The report page calls `mismatches`, which lists the differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_one_of, grouped
from kgeval.base.wording import listed_names, percent
from kgeval.data.candidates import NOT_KNOWN, OF_TOOL, All, Candidates, Recorded
from kgeval.data.known import SETTINGS
from kgeval.data.protocol import Protocol, RandomSample
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import ALL_SIDES, entity_sides
from kgeval.data.triples import SPLITS
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import ProtocolError
from kgeval.results.bounded import UNKNOWN_COUNT
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key
from kgeval.results.run_names import MODEL

OVERRIDES = {
    "queries": "compares only the rows that all results have",
    "sample": "compares only the triples of the smallest sample, which all results have",
    "dataset": "accepts other triples over the same labels",
    "unseen": "accepts different policies for unseen entities",
    "filter": "accepts that the filters remove different known answers",
    "splits": "accepts rows from different splits",
    "negatives": "says that the ranks are among the same negatives",
}
CHANGE_RIVALS = ("filter", "unseen", "dataset")  # overrides that also accept different numbers of rivals
TIE_RATES_APART = 0.01  # a larger difference between two tie rates gives a caution
MAX_NAMED = 4  # results that a caution names before it counts the others


@dataclass(frozen=True)
class Mismatch:
    """One difference between results, which forbids a comparison unless an override accepts the difference.

    Parameters
    ----------
    field : str
        A field of the protocol, or ``"dataset"``, ``"entities"``, ``"relations"``, ``"queries"``, ``"rivals"``.
    said : str
        The value in each result, as text, for example ``"drop in A, rank in B"``.
    overrides : tuple of str
        Keys of `OVERRIDES`; any one of these keys accepts the difference. Empty if no override accepts it.
    """

    field: str
    said: str
    overrides: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.field}: {self.said}"


@dataclass(frozen=True)
class Alignment:
    """The ranked triples that all results contain, and the differences that were overridden.

    Parameters
    ----------
    rows : tuple of int64 arrays, shape (shared,)
        One array per result: row indices of the result's table. Element i of every array belongs to the same ranked
        triple. The triples are sorted by side, split and labels; ids and the order of the tables do not matter.
    overridden : tuple of Mismatch
        The differences that an override accepted.
    unneeded : tuple of str
        Keys of `OVERRIDES` that were passed, although the results have no difference that these keys accept.
    sample : RandomSample, optional
        The random sample of the triples of the ranked splits that the shared triples form. None if the shared triples
        are all triples, or an unknown part of them.
    """

    rows: tuple[Ids, ...]
    overridden: tuple[Mismatch, ...]
    unneeded: tuple[str, ...]
    sample: RandomSample | None = None

    @property
    def differing(self) -> tuple[Mismatch, ...]:
        """The overridden differences that leave no verdict: all but negatives that are not known.

        Who overrides ``"negatives"`` says that they are the same.
        """
        return tuple(mismatch for mismatch in self.overridden if mismatch.field != "negatives")


def align(
    results: Sequence[EvaluationResult], names: Sequence[str], keys: Sequence[Key], override: Sequence[str]
) -> Alignment:
    """Return the rows that all results have; raise an error if the results may not be compared.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        The name of each result, for error messages.
    keys : sequence of Key
        The metrics to compare. Only ranks of the sides that these metrics need are paired.
    override : sequence of str
        Differences to accept: keys of `OVERRIDES`.

    Returns
    -------
    Alignment

    Raises
    ------
    ProtocolError
        If the results differ in something that changes the value of a metric, and no override accepts the difference.
        The message lists every difference.
    """
    for name in override:
        check_one_of("override", name, OVERRIDES)
    wanted = {side for key in keys for side in sides_of_key(key, results[0])}
    sides = [side for side in _sides_of_all(results) if side in wanted]
    differences, shared = _differences(results, names, sides, _side_mismatches(results, names, keys))
    if any(not set(override) & set(mismatch.overrides) for mismatch in differences):
        raise ProtocolError(_refusal(names, differences, override))
    mismatched = {field for mismatch in differences for field in mismatch.overrides}
    return Alignment(
        rows=tuple(np.ascontiguousarray(column) for column in shared.T),
        overridden=tuple(differences),
        unneeded=tuple(name for name in dict.fromkeys(override) if name not in mismatched),
        sample=_smallest_sample(results),
    )


def mismatches(results: Sequence[EvaluationResult], names: Sequence[str]) -> list[Mismatch]:
    """Return every difference between results that makes their metrics not comparable.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        The name of each result, as the mismatches show it.

    Returns
    -------
    list of Mismatch
        Differences in protocol, sides, dataset, rows and numbers of rivals. Empty for results that may be compared
        without an override, and for a single result.
    """
    sides = values_by_name([_shown_value(tuple(result.protocol.sides)) for result in results], names)
    if len(results) < 2:
        return []
    return _differences(results, names, _sides_of_all(results), [Mismatch("sides", sides)] if sides else [])[0]


def sides_of_key(key: Key, result: EvaluationResult) -> tuple[str, ...]:
    """Return the sides whose ranks a metric is about: one, or without a side the entity sides of the result."""
    return entity_sides(result.protocol.sides) if key.side == "both" else (key.side,)


def _sides_of_all(results: Sequence[EvaluationResult]) -> list[str]:
    """Return the sides that were ranked in every result."""
    return [side for side in ALL_SIDES if all(side in result.protocol.sides for result in results)]


def _smallest_sample(results: Sequence[EvaluationResult]) -> RandomSample | None:
    """Return the sample that is a part of the ranked triples of every result; None if there is none.

    All triples contain every sample. Of two samples that were drawn with the same seed from equally many triples, the
    smaller one is a part of the larger one (`RandomSample.order`).
    """
    samples = {result.protocol.sample for result in results} - {None}
    drawn_from = {(sample.of, sample.seed) for sample in samples if sample is not None}
    if len(samples) > 1 and (len(drawn_from) > 1 or None in {seed for _, seed in drawn_from}):
        return None
    return min(samples, key=lambda sample: sample.n, default=None)


def _differences(
    results: Sequence[EvaluationResult], names: Sequence[str], sides: Sequence[str], side_mismatches: Sequence[Mismatch]
) -> tuple[list[Mismatch], Ids]:
    """Return a list of all mismatches, and the ranked triples that all results have.

    The list includes `side_mismatches`. The ranked triples are an int64 array, shape (shared, results): one row per
    triple that every result ranked on one of the `sides`. Column j holds the row of the triple in the table of
    result j.
    """
    paired_rows = pair_rows(results, sides)
    has_row = paired_rows >= 0
    shared = paired_rows[has_row.all(axis=1)]
    # Different samples have different rows. If every result contains all rows of the smallest sample, the other rows
    # are not a second mismatch.
    smallest = _smallest_sample(results)
    with_smallest = [smallest is not None and result.protocol.sample == smallest for result in results]
    is_nested = any(with_smallest) and len(shared) > 0 and bool(has_row[has_row[:, with_smallest].any(axis=1)].all())
    differences = [
        *_protocol_mismatches(results, names, ("sample",) if is_nested else ()),
        *_negatives_mismatches(results, names),
        *side_mismatches,
        *_dataset_mismatches(results, names),
        *(_row_mismatches(results, names, paired_rows) if sides and not is_nested else []),
    ]
    mismatched = {field for mismatch in differences for field in mismatch.overrides}
    causes = tuple(override for override in CHANGE_RIVALS if override in mismatched)
    return [*differences, *_rival_mismatches(results, names, shared, causes)], shared


def _refusal(names: Sequence[str], differences: Sequence[Mismatch], override: Sequence[str]) -> str:
    """Return the error message: one line for each difference, with the overrides that accept it, if there are any."""
    lines, needed = [f"{listed_names(names)} cannot be compared as they are; they differ in"], list[str]()
    for mismatch in differences:
        remedy = " or ".join(f"override {name!r} {OVERRIDES[name]}" for name in mismatch.overrides)
        if set(override) & set(mismatch.overrides):
            remedy = "overridden"
        else:
            needed += mismatch.overrides[:1]
        lines.append(f"  {mismatch} ({remedy or 'cannot be overridden'})")
    if all(mismatch.overrides for mismatch in differences):
        all_overrides = tuple(dict.fromkeys([*override, *needed]))
        lines.append(
            f"evaluate again under one protocol, or use override={all_overrides!r} (--override "
            f"{','.join(all_overrides)}); all outputs then name the overrides"
        )
    else:
        lines.append("evaluate again under one protocol, on the same dataset")
    return "\n".join(lines)


def pair_rows(results: Sequence[EvaluationResult], sides: Sequence[str]) -> Ids:
    """Return the index of each ranked triple in the table of each result.

    Two rows are the same ranked triple if their labels, side and split are equal. If a split contains a triple
    twice, the first occurrence is paired with the first, and the second with the second.

    Parameters
    ----------
    results : sequence of EvaluationResult
    sides : sequence of str
        Only rows of these sides are paired.

    Returns
    -------
    int64 array, shape (distinct ranked triples, results)
        One row per ranked triple, sorted by side, split and labels. Column j holds the index of the triple in the table
        of result j, or -1 if that table does not contain the triple. For example, if the first table contains the
        triples a, b, c and the second c, a, d, the array is ``[[0, 1], [1, -1], [2, 0], [-1, 2]]``.
    """
    # One array per result: old id -> joint id; equal labels have the same joint id in all results.
    entities, relations = _joint_ids(results, "entities", "so"), _joint_ids(results, "relations", "p")
    # One array per result, int64, shape (rows, 7). Columns: side, split, joint ids of p, s and o, index of the result,
    # index of the row in the table of the result.
    parts = []
    for i, result in enumerate(results):
        words = (("side", ALL_SIDES), ("split", SPLITS))
        side, split = (pd.Categorical(result.table[name], of).codes.astype(np.int64) for name, of in words)
        rows = np.flatnonzero(np.isin(side, [ALL_SIDES.index(name) for name in sides]))
        s, p, o = (result.table[name].to_numpy()[rows] for name in "spo")
        columns = [side[rows], split[rows], relations[i][p], entities[i][s], entities[i][o]]
        parts.append(np.column_stack([*columns, np.full(len(rows), i), rows]))
    # The rows of all results below each other, as seven arrays of shape (all rows,): five in `columns`, then two more.
    *columns, result_number, position = np.concatenate(parts).T
    # First grouping: equal rows within one result. occurrence (all rows,): 0 for the first row of a group, 1 for the
    # second, ...; it is the position in the sorted order minus the position at which the group starts.
    order, starts = group_rows(*columns, result_number)
    occurrence = np.empty(len(order), dtype=np.int64)
    occurrence[order] = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
    # Second grouping: equal rows of all results. The occurrence is a key, so a group has at most one row per result.
    order, starts = group_rows(*columns, occurrence)
    paired_rows = np.full((len(starts) - 1, len(results)), -1, dtype=np.int64)
    # Row g of `paired_rows` is group g. For each row of the group, the column of its result gets the index of the row.
    paired_rows[np.repeat(np.arange(len(paired_rows)), np.diff(starts)), result_number[order]] = position[order]
    return paired_rows


def _joint_ids(results: Sequence[EvaluationResult], vocabulary: str, columns: str) -> list[Ids]:
    """Return, for each result, an array that maps its ids to joint ids: equal labels have equal joint ids.

    A joint id is the index of a label in the sorted list of all labels that occur in the tables. Ids that do not occur
    in the table of their result are mapped to -1.

    Parameters
    ----------
    results : sequence of EvaluationResult
    vocabulary : str
        ``"entities"`` or ``"relations"``.
    columns : str
        The columns of a table that contain ids of this vocabulary, such as ``"so"``.

    Returns
    -------
    list of int64 arrays, each of shape (labels of the vocabulary,)
    """
    vocabularies: list[Vocabulary] = [getattr(result, vocabulary) for result in results]
    ids_in_use = [np.unique(np.concatenate([result.table[name] for name in columns])) for result in results]
    labels = [[one.labels[i] for i in ids.tolist()] for one, ids in zip(vocabularies, ids_in_use)]
    joint = Vocabulary(sorted(set().union(*labels)))
    joint_ids = [np.full(len(one), -1, dtype=np.int64) for one in vocabularies]
    for id_map, ids, texts in zip(joint_ids, ids_in_use, labels):
        id_map[ids] = joint.find(texts)
    return joint_ids


def _protocol_mismatches(
    results: Sequence[EvaluationResult], names: Sequence[str], of_samples: tuple[str, ...]
) -> Iterator[Mismatch]:
    """Yield one mismatch per protocol field in which the results differ, except ``sides`` (`_side_mismatches`).

    `of_samples` are the overrides that accept different samples.
    """
    for field in dataclasses.fields(Protocol):
        if field.name in ("sides", "sample_seed"):  # the sample holds its seed
            continue
        values = [getattr(result.protocol, field.name) for result in results]
        if field.name == "candidates":
            values = _known_candidates(values)
        if field.name == "filter_by":
            values = [value or () for value in values]
        if field.name == "sample":
            values = ["all triples" if value is None else value for value in values]
        text = values_by_name([_shown_value(value) for value in values], names)
        if text:
            overrides = of_samples if field.name == "sample" else (field.name,) if field.name in OVERRIDES else ()
            yield Mismatch(field.name, text, overrides)


def _negatives_mismatches(results: Sequence[EvaluationResult], names: Sequence[str]) -> Iterator[Mismatch]:
    """Yield a mismatch if the candidates of some results are not known, so that nobody can compare them."""
    values = [result.protocol.candidates for result in results]
    unknown = [name for name, value in zip(names, values) if not value.is_known]
    if unknown and len(results) > 1:
        shown = "; ".join(dict.fromkeys(value.describe() for value in values if not value.is_known))
        text = f"not known in {listed_names(unknown)} ({shown}); nobody can tell whether all ranks are among the same"
        yield Mismatch("negatives", text, ("negatives",))


def _known_candidates(values: Sequence[Candidates]) -> list[Candidates]:
    """Return the candidates of each protocol, changed so that what is not known does not count as a difference.

    A value of an unknown kind is replaced by a value of another result; lists without a usable digest by lists of the
    same kind, if there are any. `_negatives_mismatches` names what is not known.
    """
    of_kind = {value.kind: value for value in reversed(values) if value.is_known}
    some = next((value for value in values if value.kind not in (NOT_KNOWN, OF_TOOL)), Recorded(NOT_KNOWN))
    named = [some if value.kind in (NOT_KNOWN, OF_TOOL) else value for value in values]
    return [value if value.is_known else of_kind.get(value.kind, Recorded(value.kind)) for value in named]


def _side_mismatches(results: Sequence[EvaluationResult], names: Sequence[str], keys: Sequence[Key]) -> list[Mismatch]:
    """Check that every result has ranked the sides that the metrics in `keys` need.

    A metric of one side needs this side in every result. A metric over both sides uses all ranked entity sides of a
    result, so all results must have ranked the same entity sides. Return a list with one mismatch, for the first metric
    in `keys` whose condition is not met; return an empty list if all conditions are met.
    """
    for key in keys:
        is_both = key.side == "both"
        ranked_sides = [tuple(result.protocol.sides) for result in results]
        if is_both:
            ranked_sides = [entity_sides(sides) for sides in ranked_sides]
        if len(set(ranked_sides)) > 1 if is_both else any(key.side not in sides for sides in ranked_sides):
            need = f"{key.metric} needs both sides" if is_both else f"{key.side}.{key.metric} needs the {key.side} side"
            shown = [_shown_value(sides) for sides in ranked_sides]
            values = values_by_name(shown, names) or f"{shown[0]} in {listed_names(names)}"
            common = _sides_of_all(results)
            hint = f"; every result has the {common[0]} side: compare {common[0]}.{key.metric}" if common else ""
            return [Mismatch("sides", f"{values}; {need}{hint}")]
    return []


def _dataset_mismatches(results: Sequence[EvaluationResult], names: Sequence[str]) -> Iterator[Mismatch]:
    """Yield the mismatches of the datasets: fingerprints and labels.

    There is one mismatch if the fingerprints differ. Each result is then compared with the first result: there is one
    mismatch if the entity labels differ, and one if the relation labels differ.
    """
    if len({result.facts["dataset_fingerprint"] for result in results}) > 1:
        shown = [f"{result.facts['dataset']} {result.facts['dataset_fingerprint'][:8]}" for result in results]
        said = values_by_name(shown, names) or f"fingerprints that start as {shown[0]}"
        yield Mismatch("dataset", said, ("dataset",))
    for field in ("entities", "relations"):
        for name, result in zip(names[1:], results[1:]):
            first_labels, labels = getattr(results[0], field), getattr(result, field)
            unshared = _unshared_labels(first_labels, labels, names[0], name)
            if unshared:
                sizes = f"{len(first_labels):,} in {names[0]}, {len(labels):,} in {name}"
                yield Mismatch(field, f"{sizes}; {unshared}")


def _unshared_labels(first: Vocabulary, second: Vocabulary, first_name: str, second_name: str) -> str:
    """Return a text about the labels that only one of two vocabularies has; empty if there are none.

    The text has one part for each vocabulary with such labels: their number, and the first of them. For example,
    ``"2 only in A, first 'Jack', 1 only in B, first 'Jill'"``.
    """
    if first == second:
        return ""
    texts = []
    for vocabulary, other_vocabulary, name in ((first, second, first_name), (second, first, second_name)):
        unshared = np.flatnonzero(other_vocabulary.find(vocabulary.labels) < 0)
        if len(unshared):
            texts.append(f"{len(unshared):,} only in {name}, first {vocabulary.labels[unshared[0]]!r}")
    return ", ".join(texts)


def _row_mismatches(results: Sequence[EvaluationResult], names: Sequence[str], paired_rows: Ids) -> Iterator[Mismatch]:
    """Compare the rows of each result with the rows of the first result, and yield one mismatch per difference.

    The override ``"queries"`` accepts these mismatches if at least one row is in all results.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
    paired_rows : int64 array, shape (distinct rows, results)
        See `pair_rows`.
    """
    has_row = paired_rows >= 0
    n_shared = int(has_row.all(axis=1).sum())
    overrides = ("queries",) if n_shared else ()
    for i in range(1, len(results)):
        texts = []
        for with_row, without_row in ((0, i), (i, 0)):
            # Row indices in the table of result `with_row`: its rows that result `without_row` does not have.
            unshared = paired_rows[has_row[:, with_row] & ~has_row[:, without_row], with_row]
            if len(unshared):
                first = describe_row(results[with_row], int(unshared.min()))
                texts.append(f"{len(unshared):,} rows only in {names[with_row]}, first {first}")
        if texts:
            sizes = " and ".join(f"{int(has_row[:, j].sum()):,} in {names[j]}" for j in (0, i))
            rows = f"{n_shared:,} rows in all results" if n_shared else "no row in all results"
            yield Mismatch("queries", f"{sizes}; {'; '.join(texts)}; {rows}", overrides)
    if not len(paired_rows):
        yield Mismatch("queries", f"no row of the compared sides in {listed_names(names)}")


def describe_row(result: EvaluationResult, row: int) -> str:
    """Return the labels, the side and the split of one row as text, for error messages.

    Parameters
    ----------
    result : EvaluationResult
    row : int
        Index of the row in the result's table.

    Returns
    -------
    str
        For example ``"('Jack', 'likes', 'Jill') (subject side, test)"``.
    """
    s, p, o, side, split = (result.table[name].iloc[row] for name in ("s", "p", "o", "side", "split"))
    labels = (result.entities.labels[s], result.relations.labels[p], result.entities.labels[o])
    return f"{labels} ({side} side, {split})"


def _rival_mismatches(
    results: Sequence[EvaluationResult], names: Sequence[str], shared: Ids, causes: tuple[str, ...]
) -> Iterator[Mismatch]:
    """Yield one mismatch for each setting (raw, filtered) in which the numbers of rivals of a shared row differ.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
    shared : int64 array, shape (shared, results)
        Row i is a ranked triple that all results contain; column j holds its index in the table of result j.
    causes : tuple of str
        Overrides that accept the mismatch. Each of them belongs to another difference between the results, such as
        different filters, which can be the reason why the numbers of rivals differ.
    """
    for setting in SETTINGS if len(shared) else ():
        # (results, shared): the number of rivals of each shared row.
        rivals = np.stack([one.table[f"rivals_{setting}"].to_numpy()[rows] for one, rows in zip(results, shared.T)])
        known = rivals[rivals[:, 0] != UNKNOWN_COUNT]
        differing_rows = np.flatnonzero((known != known[:1]).any(axis=0))
        if len(differing_rows):
            # The differing row that comes first in the table of the first result.
            first = differing_rows[shared[differing_rows, 0].argmin()]
            shown = [f"{n:,}" if n != UNKNOWN_COUNT else "unknown" for n in rivals[:, first]]
            text = f"{len(differing_rows):,} of {len(shared):,} shared rows have different numbers of {setting} rivals"
            row = describe_row(results[0], int(shared[first, 0]))
            yield Mismatch("rivals", f"{text}, first {row}: {values_by_name(shown, names)}", causes)


def cautions(results: Sequence[EvaluationResult], names: Sequence[str]) -> Iterator[str]:
    """Yield cautions about results that may be compared: those of `differing_facts`, and equal scorer names.

    The notes of the results are added at the end.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
    """
    yield from differing_facts(results, names)
    models = [result.facts.get(MODEL) for result in results]
    for model in dict.fromkeys(model for model in models if model is not None and models.count(model) > 1):
        runs = [name for name, of_model in zip(names, models) if of_model == model]
        alone = "; here each counts as a model of its own"
        beside = ": its seeds are not compared with each other" if len(runs) < len(results) else alone
        yield (
            f"{listed_names(runs)} are runs of one model, {model}{beside}, and the p-values say nothing about other "
            "seeds; kgeval benchmark compares models over their seeds"
        )
    by_scorer = grouped((str(result.facts["scorer"]), name) for name, result in zip(names, results))
    for scorer, same in by_scorer.items():
        if len(same) > 1:
            yield f"the scorer has the same name in {listed_names(same, MAX_NAMED)}: {scorer}"
    yield from (f"{name}: {note}" for name, result in zip(names, results) for note in result.notes)


def differing_facts(results: Sequence[EvaluationResult], names: Sequence[str]) -> Iterator[str]:
    """Yield cautions about results that may be compared: different tie rates, versions or dataset names, ...

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
    """
    rates = [result.tie_rate for result in results]
    known_rates = [rate for rate in rates if not np.isnan(rate)] or [0.0]
    if max(known_rates) - min(known_rates) > TIE_RATES_APART:
        values = values_by_name(["unknown" if np.isnan(rate) else percent(rate) for rate in rates], names, MAX_NAMED)
        yield f"tie rates differ: {values}; also compare pessimistic.mrr and optimistic.mrr"
    for setting in SETTINGS:
        without = [name for name, r in zip(names, results) if {"rivals", setting} & set(r.rank_table.unknown)]
        if without:
            yield (
                f"the numbers of {setting} rivals are unknown in {listed_names(without)}, so it was not checked "
                "whether all results have equal numbers"
            )
    facts = {"version": "made with different versions of kgeval", "dataset": "the dataset has different names"}
    for fact, caution in facts.items():
        values = values_by_name([str(result.facts[fact]) for result in results], names)
        if values:
            yield f"{caution}: {values}"


def _shown_value(value: Any) -> str:
    """Return the value of a protocol field as text."""
    if value is None:
        return "not set"
    if isinstance(value, Candidates):
        return value.describe() if value == All() else f"{value.kind} candidates {value.shown_digest}".strip()
    return "+".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def values_by_name(values: Sequence[str], names: Sequence[str], limit: int | None = None) -> str:
    """Return a text: each distinct value with the names of the results that have it; empty if all values are equal.

    Parameters
    ----------
    values, names : sequence of str
        The value and the name of each result.
    limit : int, optional
        The largest number of names of a value.

    Examples
    --------
    >>> values_by_name(["drop", "rank", "drop"], ["A", "B", "C"])
    'drop in A and C, rank in B'
    """
    by_value = grouped(zip(values, names))
    return (
        ", ".join(f"{value} in {listed_names(group, limit)}" for value, group in by_value.items())
        if len(by_value) > 1
        else ""
    )
