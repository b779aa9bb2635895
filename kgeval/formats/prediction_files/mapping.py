"""Convert the texts of `Rows` to ids: `predictions` and `given_ranks`, the last step of all readers of predictions.

The ids of texts are found in one of three ways, tried in this order:

1. by ``ids=``, if the file holds integer ids;
2. by label, or by the names of ``entity_names=``;
3. by order, if there is no ``entity_names=`` and most texts are not labels: row i of a side belongs to triple i of the
   split.
   A DataError is raised if the numbers of rows and triples differ, or if the relations or the entities of the rows and
   of these triples do not map one to one. Names that occur in no triple stay unmapped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Bools, Ids, Reals, counted, cut_label, suggest
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.lists import Ragged
from kgeval.data.predictions import UNMAPPED, GivenRanks, Predictions
from kgeval.data.queries import given_and_asked_where
from kgeval.data.sides import SIDES, check_side
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import labels_of_ids
from kgeval.formats.prediction_files.names import AMBIGUOUS, UNKNOWN, Names, NameTable
from kgeval.formats.prediction_files.rows import UNSAID, Rows

MIN_SHARE = 0.5  # if at least this share of the texts in queries is known, an unknown text is an error
OF_DATASET = "dataset"  # the value of ids= if the ids are those of the dataset
ALWAYS_USED = ("split", "ids", "side")  # options that all formats use
NEEDS_DATASET = (
    "{file}: contains ranked answers, but no rank for every query, so a dataset is needed: the rank of a positive "
    "depends on the known answers that the filter removes, and on the number of candidates. Name the dataset: "
    "read_predictions(path, dataset); kgeval evaluate DATASET --predictions FILE"
)
NAMES_HINT = "if these are names and no labels, give entity_names= (--entity-names FILE)"


@dataclass(frozen=True)
class PredictionOptions:
    """The options of `kgeval.read_predictions`; the docstring of that function explains each option.

    Examples
    --------
    >>> PredictionOptions(matching="exact").check_used("anyburl", ("entity_names",))
    Traceback (most recent call last):
    kgeval.errors.DataError: the format anyburl has no use for matching='exact'; it takes split, ids, side, entity_names
    """

    split: str = "test"
    entity_names: Names | None = None
    relation_names: Names | None = None
    matching: str | None = None
    side: str | None = None
    ids: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None

    def check_used(self, name: str, used: Collection[str] = ("entity_names", "relation_names")) -> None:
        """Raise a DataError if an option is given that a format does not use; all formats use `ALWAYS_USED`."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and field.name not in (*ALWAYS_USED, *used):
                raise DataError(
                    f"the format {name} has no use for {field.name}={value!r}; it takes "
                    f"{', '.join(dict.fromkeys((*ALWAYS_USED, *used)))}"
                )

    def without_ids(self) -> PredictionOptions:
        """Return the options without `ids`, for rows in which labels have already replaced the ids."""
        return replace(self, ids=None)

    def side_of_file(self, what: str) -> str:
        """Return the option `side`; raise a DataError if the caller does not give a side."""
        if self.side is None:
            raise DataError(
                f"{what}: the file does not say which side its queries ask for; give side='object' or side='subject' "
                "(--sides object)"
            )
        return check_side(self.side)


@dataclass(frozen=True)
class _Mapped:
    """The result of `_map`: the texts of `Rows`, mapped to ids.

    Parameters
    ----------
    triples : int64 array, shape (rows, 3)
    entities : int64 array, shape (texts,)
        The id of the entity that each text names; `UNKNOWN` if the text names no entity, `AMBIGUOUS` if it names
        several entities.
    how : str
        The way in which the ids were found: ``"ids"``, ``"labels"``, ``"names"`` or ``"order"``.
    notes : list of str
    table : NameTable
        The labels and the given names of the entities.
    """

    triples: Ids
    entities: Ids
    how: str
    notes: list[str]
    table: NameTable


def id_map(path: Path, dataset: Dataset, options: PredictionOptions, tool: str) -> tuple[Ids, str]:
    """Map each entity id of a file to the entity's id in the dataset.

    Parameters
    ----------
    path : Path
        The file, for messages.
    dataset : Dataset
    options : PredictionOptions
        If the option `ids` is not given, the dataset must have been read from files of the same tool, or the label
        of each entity in the dataset must be the entity's id.
    tool : str
        The `Dataset.id_format` of the tool.

    Returns
    -------
    int64 array, shape (ids,)
        Element i is the id in the dataset of the entity that has id i in the file; -1 if the dataset does not contain
        this entity.
    str
        A note that tells which ids the file holds, such as ``"ids are those of the dataset's openke files"``.

    Raises
    ------
    DataError
        If `options` and `dataset` do not tell which entities the ids mean.
    """
    if options.ids is not None:
        return _id_maps(dataset, options)[0], _said(options)
    if dataset.id_format == tool and "entities" in dataset.dictionaries:
        return dataset.entities.find(dataset.dictionaries["entities"]), f"ids are those of the dataset's {tool} files"
    if dataset.entities.are_labels_ids:
        return np.arange(len(dataset.entities)), "ids are those of the dataset, whose labels are its ids"
    raise DataError(
        f"{path}: holds integer ids, and the dataset has labels; say which entity an id means: ids=(entities file, "
        "relations file), or ids='dataset' if the ids are those of the dataset (--ids)"
    )


def id_labels(path: Path, dataset: Dataset, options: PredictionOptions) -> Callable[..., str]:
    """Return a function ``label_of(text, kind)`` that converts a text of the file to a label.

    The argument `kind` is ``"entity"`` (the default) or ``"relation"``.

    Parameters
    ----------
    path : Path
        The file, for messages.
    dataset : Dataset
    options : PredictionOptions
        If the option `ids` is not given, the texts are labels, and the function returns each text unchanged. If `ids`
        is given, the texts are ids, and the function returns the label of each id.
    """
    if options.ids is None:
        return lambda text, kind="entity": str(text)
    maps = dict(zip(("entity", "relation"), _id_maps(dataset, options)))
    vocabularies = {"entity": dataset.entities, "relation": dataset.relations}

    def label_of(text: str, kind: str = "entity") -> str:
        number = int(text) if text.isascii() and text.isdecimal() else -1
        if not 0 <= number < len(maps[kind]) or maps[kind][number] < 0:
            raise DataError(f"{path}: the {kind} {cut_label(text)!r} is no id of an {kind} of the dataset")
        label: str = vocabularies[kind].labels[maps[kind][number]]
        return label

    return label_of


def _id_maps(dataset: Dataset, options: PredictionOptions) -> list[Ids]:
    """Return two arrays, for entities and for relations, that map ids in the file to ids in the dataset (or to -1)."""
    vocabularies = (dataset.entities, dataset.relations)
    if options.ids is None or options.ids == OF_DATASET:
        return [np.arange(len(vocabulary)) for vocabulary in vocabularies]
    return [vocabulary.find(labels) for vocabulary, labels in zip(vocabularies, labels_of_ids(options.ids))]


def _said(options: PredictionOptions) -> str:
    """Return the note that tells how the option `ids` explains the ids in the file."""
    what = "those of the dataset" if options.ids == OF_DATASET else "mapped by the labels that the id files give them"
    return f"ids= given: the ids in the file are {what}"


def predictions(
    rows: Rows,
    dataset: Dataset | None,
    options: PredictionOptions,
    *,
    filtered: str | None = None,
    notes: Sequence[str] = (),
    is_generated: bool = False,
    is_named: bool = False,
    hint: str = "",
) -> Predictions:
    """Return `Predictions`: the lists of `rows` with ids instead of texts.

    Parameters
    ----------
    rows : Rows
    dataset : Dataset
    options : PredictionOptions
    filtered : str, optional
        See `kgeval.data.predictions.Predictions`.
    notes : sequence of str
        Notes about the file format, from its reader.
    is_generated : bool
        Whether the answers are generated text, which possibly names no entity. Without `is_generated`, an answer with
        an unknown label is an error.
    is_named : bool
        Whether a matching rule already decided which entity each text names. A text without an entity then stays
        unmapped.
    hint : str
        Advice at the end of the error message about an unknown answer.

    Raises
    ------
    DataError
        If a label is unknown and `is_generated` is False; see `kgeval.read_predictions`.
    """
    if dataset is None:
        raise DataError(NEEDS_DATASET.format(file=_source(rows)))
    mapped = _map(rows, dataset, options)
    notes = [*notes, *mapped.notes]
    lists = rows.answers
    ids, n_own, n_ambiguous = _answer_ids(rows, lists, mapped)
    unknown = np.flatnonzero(ids == UNKNOWN)
    if len(unknown) and mapped.how == "labels" and not is_generated:
        row, text = int(lists.list_of[unknown[0]]), list(rows.entities)[lists.values[unknown[0]]]
        raise DataError(
            f"{rows.where(row)}: unknown entity {cut_label(text)!r} among the answers"
            f"{suggest(text, dataset.entities.labels)}; {NAMES_HINT}{hint}"
        )
    if len(unknown):
        n_texts = len(np.unique(lists.values[unknown]))
        why = {
            "order": "no triple of the file has such a name",
            "names": "they are neither labels nor in entity_names=",
        }.get(mapped.how, "no such label in the dataset")
        count = counted(
            len(unknown), f"answer ({counted(n_texts, 'text')}) stays", f"answers ({counted(n_texts, 'text')}) stay"
        )
        notes.append(f"{count} unmapped: {why}")
    if n_own:
        notes.append(
            f"in {counted(n_own, 'list')}, the name of the positive is also the name of other entities; this name was "
            "read as the positive, so the rank of the positive may be too good"
        )
    if n_ambiguous:
        notes.append(
            f"{counted(n_ambiguous, 'answer stays', 'answers stay')} unmapped, because several entities have such a "
            "name"
        )
    # An unknown text may still name a known answer in two cases: if the rows were matched by order, because then only
    # names that occur in triples have an id; and with entity_names=, because the tool may use other names.
    is_doubtful = mapped.how == "order" or (mapped.how == "names" and not is_named)
    return Predictions(
        triples=mapped.triples,
        sides=_sides(rows),
        answers=Ragged(lists.offsets, np.where(ids >= 0, ids, UNMAPPED)),
        scores=rows.scores,
        filtered=filtered,
        unmapped_may_be_known=bool(n_ambiguous) or (bool(len(unknown)) and is_doubtful),
        notes=tuple(notes),
        source=_source(rows),
    )


def given_ranks(
    rows: Rows,
    dataset: Dataset | None,
    options: PredictionOptions,
    ranks: Reals,
    n_candidates: Ids | None = None,
    *,
    filtered: str | None = None,
    notes: Sequence[str] = (),
) -> GivenRanks:
    """Return `GivenRanks` from rows that hold a triple and a rank, but no list of answers.

    Parameters
    ----------
    rows : Rows
        A text that is None is a null name: nobody knows which entity it is.
    dataset : Dataset or None
        None: the triples of the file are numbered as they are; see `_own_triples`.
    options : PredictionOptions
    ranks : float64 array, shape (rows,)
    n_candidates : int64 array, shape (rows,), optional
    filtered, notes
        See `predictions`.

    Raises
    ------
    DataError
        If a rank is not 1, 1.5, 2, ..., if it is greater than the number of candidates, or if a text cannot be mapped.
    """
    wrong = np.flatnonzero(~(ranks >= 1) | ~np.isfinite(ranks) | (2 * ranks != np.floor(2 * ranks)))
    if len(wrong):
        row = int(wrong[0])
        hint = "; if ranks count from 0, add 1" if ranks[row] == 0 else ""
        raise DataError(f"{rows.where(row)}: expected a rank: 1, 1.5, 2, ...; got {ranks[row]:g}{hint}")
    if n_candidates is not None and (ranks > n_candidates).any():
        row = int(np.flatnonzero(ranks > n_candidates)[0])
        raise DataError(
            f"{rows.where(row)}: rank {ranks[row]:g} of only {counted(int(n_candidates[row]), 'candidate')}"
        )
    if dataset is None:
        triples, labels, own_notes = _own_triples(rows)
        all_notes = (*notes, *own_notes)
        return GivenRanks(triples, _sides(rows), ranks, n_candidates, filtered, all_notes, _source(rows), labels)
    mapped = _map(rows, dataset, options)
    unnamed = np.flatnonzero((mapped.triples == UNMAPPED).any(axis=1))
    if len(unnamed):
        raise DataError(
            f"{rows.where(int(unnamed[0]))}: a name is null, so nobody knows which entity of {dataset.name!r} it is "
            f"({counted(len(unnamed), 'row')} in all); the file holds ranks, so read it without the dataset "
            "(kgeval.read_predictions(path), kgeval evaluate --predictions FILE)"
        )
    all_notes = (*notes, *mapped.notes)
    return GivenRanks(mapped.triples, _sides(rows), ranks, n_candidates, filtered, all_notes, _source(rows))


def _own_triples(rows: Rows) -> tuple[Ids, tuple[Vocabulary, Vocabulary], list[str]]:
    """Number the triples of a file that was read without a dataset; the ids are those of its own sorted texts.

    Two null names may be two different entities. So each triple with a null name gets an entity of its own, which no
    other triple has; only the row of the same triple on the other side has it too. If several triples with null names
    have the same texts, the first on one side is the first on the other.

    Parameters
    ----------
    rows : Rows

    Returns
    -------
    triples : int64 array, shape (rows, 3)
    labels : tuple of two Vocabulary
        The entities and the relations.
    notes : list of str
    """
    parts, texts, notes = rows.parts, list(rows.entities), []
    unnamed = np.flatnonzero((parts[:, [0, 2]] == UNSAID).any(axis=1))
    if len(unnamed):
        frame = pd.DataFrame(parts[unnamed], columns=list("spo")).assign(is_subject=rows.is_subject[unnamed])
        frame["copy"] = frame.groupby(["is_subject", *"spo"], sort=False).cumcount()
        triple_of = frame.groupby([*"spo", "copy"], sort=False).ngroup().to_numpy()
        name = "null name"
        while any(text.startswith(f"({name} ") for text in texts):
            name = f"other {name}"
        for column, word in ((0, "as subject"), (2, "as object")):
            is_null = parts[unnamed, column] == UNSAID
            numbers, places = np.unique(triple_of[is_null], return_inverse=True)
            parts[unnamed[is_null], column] = len(texts) + places.reshape(-1)
            texts += [f"({name} {number} {word})" for number in (numbers + 1).tolist()]
        notes = [
            f"{counted(len(unnamed), 'row')} of {counted(int(triple_of.max()) + 1, 'triple')} with a null name: each "
            "of these triples got an entity of its own, since two null names may be two different entities"
        ]
    labels = []
    for columns, known in (([0, 2], texts), ([1], list(rows.relations))):
        used = np.unique(parts[:, columns])  # a file may hold answers, too, which are in no triple
        used = used[np.argsort(np.array([known[code] for code in used.tolist()], dtype=object))]
        ids = np.zeros(len(known), dtype=np.int64)
        ids[used] = np.arange(len(used))
        parts[:, columns] = ids[parts[:, columns]]
        labels.append(Vocabulary([known[code] for code in used.tolist()]))
    return parts, (labels[0], labels[1]), notes


def _sides(rows: Rows) -> Any:
    """Return the side of each row, an array of str."""
    return np.where(rows.is_subject, *SIDES)


def _source(rows: Rows) -> str:
    return ", ".join(str(path) for path in rows.paths)


def _answer_ids(rows: Rows, lists: Ragged, mapped: _Mapped) -> tuple[Ids, int, int]:
    """Return the id of each answer (or `UNKNOWN`, `AMBIGUOUS`), and two counts.

    Several entities may have the same name. If one of these entities is the positive of the list, the name is read as
    the positive. The first count is the number of lists in which this happened; the second count is the number of
    answers that stay ambiguous.
    """
    ids = mapped.entities[lists.values]
    unclear = np.flatnonzero(ids == AMBIGUOUS)
    if not len(unclear):
        return ids, 0, 0
    texts = list(rows.entities)
    list_of = lists.list_of
    positives = given_and_asked_where(mapped.triples, rows.is_subject)[1]
    lists_of_own = set()
    for place in unclear.tolist():
        positive = int(positives[list_of[place]])
        if positive >= 0 and positive in mapped.table.owners(texts[lists.values[place]]):
            ids[place] = positive
            lists_of_own.add(int(list_of[place]))
    return ids, len(lists_of_own), int((ids == AMBIGUOUS).sum())


def _map(rows: Rows, dataset: Dataset, options: PredictionOptions) -> _Mapped:
    """Return the ids of all texts, by the rules in the docstring of the module."""
    if not len(rows):
        raise DataError(f"{_source(rows)}: no predictions in the file")
    texts, relation_texts = list(rows.entities), list(rows.relations)
    parts = rows.parts
    if options.ids is not None:
        return _map_ids(rows, dataset, options, parts, texts, relation_texts)
    table = NameTable(dataset.entities, options.entity_names, "entity")
    relation_table = NameTable(dataset.relations, options.relation_names, "relation")
    notes = [*table.notes, *relation_table.notes]
    entities, relations = table.find(texts), relation_table.find(relation_texts)
    how = "names" if table.has_names else "labels"
    of_queries = np.unique(parts[:, [0, 2]])
    of_queries = of_queries[of_queries >= 0]  # codes of the entities that the triples name
    is_known = entities[of_queries] >= 0
    if is_known.all() and (relations >= 0).all():
        return _Mapped(_triples(parts, entities, relations), entities, how, notes, table)
    is_unknown = entities[of_queries] == UNKNOWN
    _check_few_unknown(rows, parts[:, [0, 2]], of_queries[is_unknown], is_unknown, texts, table)
    _check_few_unknown(
        rows, parts[:, [1]], np.flatnonzero(relations == UNKNOWN), relations == UNKNOWN, relation_texts, relation_table
    )
    if is_unknown.any():  # a name can also be the label of another entity, so labels are ignored
        entities, how = np.full(len(texts), UNKNOWN), "order"
    triples = _by_order(rows, dataset, options.split, parts, (entities, relations), (table, relation_table))
    _check_relations(rows, parts, triples, relation_texts, dataset)
    said = ["every relation agrees"]
    if how == "order":
        _check_one_to_one(rows, parts, triples, texts, dataset)
        for part in (0, 2):
            is_said = parts[:, part] >= 0
            entities[parts[is_said, part]] = triples[is_said, part]
        said.append(f"names map one to one ({len(of_queries):,} names)")
    sides = [side for side in SIDES if (rows.is_subject == (side == SIDES[0])).any()]
    n = len(dataset[options.split])
    why = (
        "the file names entities by names, not by labels"
        if how == "order"
        else "some relations are no labels, or several entities have the same name"
    )
    notes.append(
        f"{why}: the {n:,} {' and '.join(sides)} queries of the file were matched with the {n:,} triples of "
        f"{options.split} by order; {' and '.join(said)}"
    )
    return _Mapped(triples, entities, how, notes, table)


def _check_few_unknown(
    rows: Rows, parts: Ids, unknown: Ids, is_unknown: Bools, texts: Sequence[str], table: NameTable
) -> None:
    """Raise a DataError about the first unknown text.

    Nothing is raised if most texts are unknown and no names are given.
    """
    if not len(unknown) or (not table.has_names and is_unknown.mean() > 1 - MIN_SHARE):
        return
    row = int(np.flatnonzero(np.isin(parts, unknown).any(axis=1))[0])
    code = next(int(code) for code in parts[row] if code in unknown)
    option = (
        "entity_names= (--entity-names FILE)" if table.kind == "entity" else "relation_names= (--relation-names FILE)"
    )
    hint = f"add it to {option}" if table.has_names else f"if these are names and no labels, give {option}"
    raise DataError(
        f"{rows.where(row)}: unknown {table.kind} {cut_label(texts[code])!r}"
        f"{suggest(texts[code], table.vocabulary.labels)}; {hint}"
    )


def _triples(parts: Ids, entities: Ids, relations: Ids) -> Ids:
    """Return the triples of the rows as ids, int64, shape (rows, 3).

    Subjects and objects that the file does not name get `UNMAPPED`.
    """
    columns = (np.append(entities, UNMAPPED), relations, np.append(entities, UNMAPPED))
    # The code `UNSAID` is -1, so it selects the last element, `UNMAPPED`.
    return np.stack([ids[codes] for ids, codes in zip(columns, parts.T)], axis=1)


def _by_order(
    rows: Rows,
    dataset: Dataset,
    split: str,
    parts: Ids,
    known: tuple[Ids, Ids],
    tables: tuple[NameTable, NameTable],
) -> Ids:
    """Return the triple of each row: triple i of the split for row i of a side.

    Raise a DataError if the numbers of rows and triples differ, or if a text of a row contradicts the triple.
    """
    array = dataset[split].array
    triples = np.empty_like(parts)
    texts = (list(rows.entities), list(rows.relations), list(rows.entities))
    for side in SIDES:
        at = np.flatnonzero(rows.is_subject == (side == SIDES[0]))
        if not len(at):
            continue
        if len(at) != len(array):
            row, i = np.argwhere((np.stack([np.append(known[i % 2], 0)[parts[:, i]] for i in range(3)], axis=1)) < 0)[0]
            raise DataError(
                f"{rows.where(int(row))}: {cut_label(texts[i][parts[row, i]])!r} is no label of {dataset.name!r}, and "
                f"the {len(at):,} {side} queries of the file cannot be matched with the {len(array):,} triples of "
                f"{split} by order, since the numbers differ; give entity_names= (--entity-names FILE), ids= if these "
                "are ids (--ids), or another split="
            )
        triples[at] = array
    for i, (ids, table) in enumerate(((known[0], tables[0]), (known[1], tables[1]), (known[0], tables[0]))):
        codes = parts[:, i]
        of_rows = np.append(ids, UNKNOWN)[codes]
        differs = (of_rows >= 0) & (of_rows != triples[:, i])
        for row in np.flatnonzero((of_rows == AMBIGUOUS) & (codes >= 0)):
            differs[row] = triples[row, i] not in table.owners(texts[i][codes[row]])
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            raise DataError(
                f"{rows.where(row)}: {cut_label(texts[i][codes[row]])!r} contradicts the triple of {split} at the same "
                f"place, {triple_labels(dataset, *triples[row])}; rows without labels must be in the order of {split}: "
                "give entity_names= and relation_names= that are unique, or another split="
            )
    return triples


def _check_relations(rows: Rows, parts: Ids, triples: Ids, texts: Sequence[str], dataset: Dataset) -> None:
    """Raise a DataError unless the relations of the file and the relations of the split map one to one."""
    _check_pairs(rows, np.arange(len(parts)), parts[:, 1], triples[:, 1], texts, dataset.relations, "relation")


def _check_one_to_one(rows: Rows, parts: Ids, triples: Ids, texts: Sequence[str], dataset: Dataset) -> None:
    """Raise a DataError unless the names of the file and the entities of the split map one to one."""
    # For each row its subject, then its object, so that the first disagreement is the first in the file.
    at = np.repeat(np.arange(len(parts)), 2)
    codes, ids = parts[:, [0, 2]].reshape(-1), triples[:, [0, 2]].reshape(-1)
    is_said = codes != UNSAID
    _check_pairs(rows, at[is_said], codes[is_said], ids[is_said], texts, dataset.entities, "entity")


def _check_pairs(
    rows: Rows, at: Ids, codes: Ids, ids: Ids, texts: Sequence[str], vocabulary: Vocabulary, kind: str
) -> None:
    """Raise a DataError if a text (by its code) is paired with two ids, or an id with two texts.

    `at` holds the row of each pair.
    """
    _, first_of_code, code_of = np.unique(codes, return_index=True, return_inverse=True)
    _, first_of_id, id_of = np.unique(ids, return_index=True, return_inverse=True)
    # For each pair, the first pair with the same code, and the first pair with the same id.
    by_code, by_id = first_of_code[code_of.reshape(-1)], first_of_id[id_of.reshape(-1)]
    differs = (ids[by_code] != ids) | (codes[by_id] != codes)
    if not differs.any():
        return
    i = int(np.flatnonzero(differs)[0])
    j = int(by_code[i] if ids[by_code[i]] != ids[i] else by_id[i])
    lines = rows.lines
    hint = "entity_names= (--entity-names FILE)" if kind == "entity" else "relation_names= (--relation-names FILE)"
    raise DataError(
        f"{rows.where(int(at[i]))}: the names are no labels, so rows were compared with the triples of the split in "
        f"order, and they disagree: here {cut_label(texts[codes[i]])!r} stands for the {kind} "
        f"{cut_label(vocabulary.labels[ids[i]])!r}, but on line {lines[at[j]]} {cut_label(texts[codes[j]])!r} stands "
        f"for {cut_label(vocabulary.labels[ids[j]])!r}; give {hint}"
    )


def _map_ids(
    rows: Rows,
    dataset: Dataset,
    options: PredictionOptions,
    parts: Ids,
    texts: Sequence[str],
    relation_texts: Sequence[str],
) -> _Mapped:
    """Return the ids of texts that are integers: ids of the dataset, or ids in the files of ``ids=``."""
    if options.entity_names is not None or options.relation_names is not None:
        raise DataError("ids= and entity_names= both say what the texts of the file mean; give only one of them")
    id_maps = _id_maps(dataset, options)
    mapped = []
    for kind, id_map, words in zip(("entity", "relation"), id_maps, (texts, relation_texts)):
        numbers = np.array([int(word) if word.isascii() and word.isdecimal() else -1 for word in words], dtype=np.int64)
        ok = (numbers >= 0) & (numbers < len(id_map))
        ids = np.where(ok, id_map[np.where(ok, numbers, 0)], UNKNOWN)
        if (ids < 0).any():
            code = int(np.flatnonzero(ids < 0)[0])
            row = _row_of(rows, parts, code, kind)
            problem = "has a label that the dataset lacks" if ok[code] else f"is no id in 0..{len(id_map) - 1}"
            raise DataError(f"{rows.where(row)}: the {kind} {cut_label(words[code])!r} {problem}")
        mapped.append(ids)
    table = NameTable(dataset.entities, None, "entity")
    return _Mapped(_triples(parts, *mapped), mapped[0], "ids", [_said(options)], table)


def _row_of(rows: Rows, parts: Ids, code: int, kind: str) -> int:
    """Return the first row in which a code occurs, in its triple or among its answers."""
    columns = parts[:, [1]] if kind == "relation" else parts[:, [0, 2]]
    at = np.flatnonzero((columns == code).any(axis=1))
    if len(at):
        return int(at[0])
    lists = rows.answers
    return int(lists.list_of[np.flatnonzero(lists.values == code)[0]])
