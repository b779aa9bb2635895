"""Read labels and triples from objects of other libraries, such as PyKEEN's `TriplesFactory`.

`Dataset.of` makes a dataset from such an object, and `kgeval.adapters` read the labels of a model's rows from it.
Objects are recognised by their attributes, so no other library is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, Sequence, Set
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, counted, cut_label, suggest
from kgeval.data.frames import as_frame, check_integers, frame_columns, frame_labels, further_columns, further_notes
from kgeval.data.labels import Labels, NumberLabels
from kgeval.data.ogb_splits import as_array, checked_triples, is_ogb_split, is_tensor, ogb_triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError

TAKEN = (
    "a PyKEEN Dataset or TriplesFactory, a TorchKGE KnowledgeGraph, a LibKGE Dataset, an OGB dataset or the dicts of "
    "its get_edge_split(), a table of labels (a frame, an array of str or a list of tuples), or a dict of such "
    "objects: {'train': ..., 'valid': ..., 'test': ...}"
)
TEXT_FILES = (".txt", ".tsv", ".csv")
FROM_ARRAYS = (
    "integers are ids without labels; use kgeval.Dataset.from_arrays(train=..., valid=..., test=...) with "
    "entity_labels= and relation_labels=, or with n_entities= and n_relations="
)
NO_TRAIN = "no train split: the filter does not remove training triples, and no entity counts as unseen"


class LibraryLabels(NamedTuple):
    """The labels that an object of another library has for its ids; see `library_labels`.

    Parameters
    ----------
    entities, relations : sequence of str
        Distinct labels in the order of the ids.
    library : str
        ``"pykeen"``, ``"torchkge"``, ``"libkge"`` or ``"kgeval"``; empty for dicts and sequences.
    """

    entities: Sequence[str]
    relations: Sequence[str]
    library: str


def library_labels(x: Any) -> LibraryLabels | None:
    """Return the labels of entities and relations of an object of another library, in the order of its ids.

    Parameters
    ----------
    x : object
        A PyKEEN `TriplesFactory`, `Dataset` or `PipelineResult` (the labels are those of its training factory), a
        TorchKGE `KnowledgeGraph`, a LibKGE `Dataset`, a `kgeval.Dataset` (its own ids), a pair of dicts from label to
        id, or a pair of sequences of labels in the order of the ids. The first member of a pair is for the entities,
        the second for the relations.

    Returns
    -------
    LibraryLabels or None
        None if `x` has no labels, like PyKEEN's `CoreTriplesFactory`.

    Raises
    ------
    DataError
        If the ids are not 0 .. n - 1, or if an id does not have exactly one label.

    Examples
    --------
    >>> library_labels(({"Rome": 1, "Jack": 0}, {"likes": 0}))
    LibraryLabels(entities=('Jack', 'Rome'), relations=('likes',), library='')
    """
    if isinstance(x, (list, tuple)) and len(x) == 2:
        return _labels_of_pair(x)
    if isinstance(x, (pd.DataFrame, np.ndarray, str, bytes, Mapping, list, tuple)):
        return None
    entities, relations = getattr(x, "entities", None), getattr(x, "relations", None)
    if isinstance(entities, Vocabulary) and isinstance(relations, Vocabulary):
        return LibraryLabels(entities.labels, relations.labels, "kgeval")
    for holder in (x, getattr(x, "training", None)):  # PyKEEN's Dataset and PipelineResult hold a training factory
        dicts = getattr(holder, "entity_to_id", None), getattr(holder, "relation_to_id", None)
        if isinstance(dicts[0], Mapping) and isinstance(dicts[1], Mapping):
            return LibraryLabels(
                _in_id_order("entity_to_id", dicts[0]), _in_id_order("relation_to_id", dicts[1]), "pykeen"
            )
    dicts = getattr(x, "ent2ix", None), getattr(x, "rel2ix", None)
    if isinstance(dicts[0], Mapping) and isinstance(dicts[1], Mapping):
        return LibraryLabels(_in_id_order("ent2ix", dicts[0]), _in_id_order("rel2ix", dicts[1]), "torchkge")
    methods = getattr(x, "entity_ids", None), getattr(x, "relation_ids", None)
    if callable(methods[0]) and callable(methods[1]):
        return LibraryLabels(
            _checked_labels("entity_ids()", methods[0]()), _checked_labels("relation_ids()", methods[1]()), "libkge"
        )
    return None


def _labels_of_pair(pair: Sequence[Any]) -> LibraryLabels | None:
    """Return the labels of two dicts or of two sequences of labels; None if the pair is neither."""
    names = "labels of entities", "labels of relations"
    if all(isinstance(part, Mapping) for part in pair):
        labels = [_in_id_order(name, part, only_strings=True) for name, part in zip(names, pair)]
    elif all(isinstance(part, Vocabulary) or _is_label_sequence(part) for part in pair):
        labels = [_checked_labels(name, getattr(part, "labels", part)) for name, part in zip(names, pair)]
    else:
        return None
    return LibraryLabels(labels[0], labels[1], "")


def _is_label_sequence(part: Any) -> bool:
    """Return whether a value is a sequence that starts with a string; raise a DataError if its order is unclear."""
    if isinstance(part, (str, bytes, Mapping)) or not hasattr(part, "__len__") or not hasattr(part, "__iter__"):
        return False
    if not len(part) or not isinstance(next(iter(part)), str):
        return False
    if isinstance(part, Set) and not isinstance(part, KeysView):
        raise DataError(
            f"labels in a {_type_name(part)} (such as {cut_label(next(iter(part)))!r}) have no order; give a list in "
            "the order of the ids, or a dict {label: id}"
        )
    if isinstance(part, pd.Series) and not np.array_equal(part.index, np.arange(len(part))):
        raise DataError(
            f"the index of a Series of labels must be 0 .. {len(part) - 1}, the ids in their order; it starts with "
            f"{part.index[0]!r}. Sort it by id, or give the labels in the order of the ids with .to_list()"
        )
    return True


def _in_id_order(name: str, ids: Mapping[Any, Any], only_strings: bool = False) -> Labels:
    """Return the labels of a dict from label to id, in the order of the ids."""
    n = len(ids)
    label_of: dict[int, str] = {}
    for key, value in ids.items():
        if not _is_integer(value):
            turned = "; the dict must go from label to id: {label: i for i, label in ids.items()}"
            raise DataError(
                f"{name}: the id of {cut_label(repr(key))} must be an integer; got {cut_label(repr(value))} "
                f"({type(value).__name__}){turned if _is_integer(key) else ''}"
            )
        if int(value) in label_of:
            raise DataError(
                f"{name}: id {value} belongs to both {cut_label(label_of[int(value)])!r} and {cut_label(str(key))!r}; "
                "each label needs its own id"
            )
        label_of[int(value)] = _label(name, int(value), key, only_strings)
    lacking = next((i for i in range(n) if i not in label_of), None)
    if lacking is not None:
        wrong = next(i for i in sorted(label_of) if not 0 <= i < n)
        raise DataError(
            f"{name}: the {n:,} ids must be 0 .. {n - 1}; id {lacking} has no label, and "
            f"{cut_label(label_of[wrong])!r} has the id {wrong}"
        )
    return _checked_labels(name, [label_of[i] for i in range(n)])


def _checked_labels(name: str, labels: Any) -> Labels:
    """Return labels in the order of their ids as distinct strings."""
    if not isinstance(labels, Labels):
        labels = [_label(name, i, label, only_strings=True) for i, label in enumerate(labels)]
    try:
        return Vocabulary(labels).labels
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _label(name: str, i: int, label: Any, only_strings: bool) -> str:
    """Return the label of an id as a string; an integer becomes its decimal string unless `only_strings`."""
    if isinstance(label, str):
        return str(label)
    if _is_integer(label) and not only_strings:
        return str(int(label))
    raise DataError(
        f"{name}: the label of id {i} must be a string; got {cut_label(repr(label))} ({type(label).__name__})"
    )


def _is_integer(value: Any) -> bool:
    """Return whether a value is an integer, but not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


class LibraryTriples(NamedTuple):
    """The triples of an object of another library, in one vocabulary; see `library_triples`.

    Parameters
    ----------
    entities, relations : Vocabulary
        The labels of the first split with ids, in the order of its ids; then the labels that occur only in other
        splits.
    triples : dict of str to int64 array, shape (n, 3)
        The triples of each split, columns s, p, o.
    columns : dict of str to pandas.DataFrame
        The further columns of the splits that are tables.
    labels : LibraryLabels
        The labels of the library's ids.
    name : str
    notes : list of str
        What was assumed.
    """

    entities: Vocabulary
    relations: Vocabulary
    triples: dict[str, Ids]
    columns: dict[str, pd.DataFrame]
    labels: LibraryLabels
    name: str
    notes: list[str]


class _LabelledIds(NamedTuple):
    """The ids of the triples of one split, shape (n, 3), and the labels of the ids."""

    mapped_triples: Any
    labels: LibraryLabels


class _Piece(NamedTuple):
    """The triples of one split as ids of `labels`; if the library has no labels, `labels` are the ids as text."""

    triples: Ids
    labels: LibraryLabels
    has_labels: bool = True


def pieces_of(x: Any, splits: Sequence[str], split: str | None = None) -> dict[str, Any]:
    """Return a dict from each split to the object that holds its triples.

    Parameters
    ----------
    x : object
        See `kgeval.Dataset.of`.
    splits : sequence of three str
        The names of the splits: train, valid and test.
    split : str, optional
        The split of the triples, if `x` holds one table of triples.

    Raises
    ------
    DataError
        If the type of `x` is not known, or if it is unclear which splits `x` holds.
    """
    if isinstance(x, (str, PathLike)):
        raise DataError(
            f"Dataset.of takes objects, and {cut_label(str(x))!r} is a path; kgeval.read_dataset reads files"
        )
    _check_not_inductive(x)
    pieces = _splits_of(x, splits)
    if pieces is None:
        if not _is_piece(x):
            raise DataError(f"Dataset.of does not know objects of the type {_type_name(x)}; it takes {TAKEN}")
        _check_no_ids(f"the {_type_name(x)}", x)
        if split is None:
            raise DataError(
                f"the {_type_name(x)} holds the triples of one split, but it is unclear which: set split= to 'train', "
                "'valid' or 'test', or give all splits: Dataset.of({'train': ..., 'valid': ..., 'test': ...})"
            )
        pieces = {split: x}
    elif split is not None:
        raise DataError(f"split={split!r} is for one table of triples; the {_type_name(x)} already has several splits")
    for name, piece in pieces.items():
        if name not in splits:
            raise DataError(
                f"unknown split {name!r}{suggest(str(name), splits)}; splits are {', '.join(splits)}: "
                "Dataset.of({'train': ..., 'valid': ..., 'test': ...})"
            )
        _check_piece(name, piece)
    given = {name: as_array(pieces[name]) for name in splits if pieces.get(name) is not None}
    if not given:
        raise DataError("a dataset needs at least one split (train, valid or test); got none")
    return given


def library_triples(
    x: Any, pieces: Mapping[str, Any], n_entities: Any = None, n_relations: Any = None
) -> LibraryTriples | None:
    """Return the triples of all splits in one vocabulary; None if all splits are tables of labels.

    The first split that is an object of a library gives the ids. The triples of other splits are mapped by label.

    Parameters
    ----------
    x : object
        See `kgeval.Dataset.of`.
    pieces : mapping of str to object
        The result of `pieces_of`.
    n_entities, n_relations : int or mapping, optional
        See `kgeval.Dataset.of`.

    Raises
    ------
    DataError
        In the cases that `kgeval.Dataset.of` lists.
    """
    if any(is_ogb_split(piece) for piece in pieces.values()):
        triples, labels, notes = ogb_triples(pieces, getattr(x, "graph", None), n_entities, n_relations)
        vocabularies = [Vocabulary(part) for part in labels]
        ogb = LibraryLabels(vocabularies[0].labels, vocabularies[1].labels, "ogb")
        notes += _unused(triples, ogb, "OGB")
        return LibraryTriples(vocabularies[0], vocabularies[1], triples, {}, ogb, _name(x), notes)
    for name, value in (("n_entities", n_entities), ("n_relations", n_relations)):
        if value is not None:
            raise DataError(f"{name}= is for OGB's dicts of ids; for arrays of ids use Dataset.from_arrays")
    known = _library_pieces(pieces)
    if not known:
        return None
    graphs = f"the KnowledgeGraphs were taken as {', '.join(pieces)}, the order of TorchKGE's split_kg"
    notes = [graphs] if isinstance(x, (list, tuple)) else []
    known, shared = _with_shared_labels(pieces, known, is_one_dataset=not isinstance(x, (Mapping, list, tuple)))
    first = next(iter(known))
    base = known[first].labels
    notes += shared
    if not known[first].has_labels:
        notes.append("the factories have no labels (entity_to_id); the labels of the dataset are the ids as text")
    notes += [
        f"the ids of {split} differ from those of {first}; the triples of {split} were mapped by label"
        for split, piece in known.items()
        if piece.labels[:2] != base[:2]
    ]
    tables = {split: as_frame(split, piece) for split, piece in pieces.items() if split not in known}
    columns = {split: frame_labels(split, table) for split, table in tables.items()}
    new = {
        split: (sorted({*s.categories, *o.categories}), sorted(p.categories)) for split, (s, p, o) in columns.items()
    }
    of_split = {split: (piece.labels.entities, piece.labels.relations) for split, piece in known.items()}
    entities, relations, new_labels = _joined(first, base, {**of_split, **new})
    triples = {
        split: _piece_ids(known[split], entities, relations)
        if split in known
        else _table_ids(split, tables[split], columns[split], entities, relations)
        for split in pieces
    }
    parts = {split: further_columns(split, table)[0] for split, table in tables.items()}
    further = {split: frame for split, frame in parts.items() if len(frame.columns)}
    notes += [*new_labels, *further_notes(further), *_left_out(pieces, known), *_unused(triples, base, first)]
    return LibraryTriples(entities, relations, triples, further, base, _name(x), notes)


def _joined(
    first: str, base: LibraryLabels, labels: Mapping[str, tuple[Sequence[str], Sequence[str]]]
) -> tuple[Vocabulary, Vocabulary, list[str]]:
    """Return the vocabularies (the labels of `base`, then new labels of the splits), and notes about the new labels."""
    if all(parts == base[:2] for parts in labels.values()):
        return Vocabulary(base.entities), Vocabulary(base.relations), []
    joined = dict.fromkeys(base.entities), dict.fromkeys(base.relations)
    notes = []
    for split, parts in labels.items():
        found = []
        for listed, part, word in zip(joined, parts, ("entity", "relation")):
            new = [label for label in part if label not in listed]
            listed.update(dict.fromkeys(new))
            found += [f"{counted(len(new), word)} (such as {cut_label(new[0])!r})"] if new else []
        if found:
            notes.append(
                f"{split} has {' and '.join(found)} without an id in {first}; their ids come after those of {first}"
            )
    return Vocabulary(list(joined[0])), Vocabulary(list(joined[1])), notes


def _piece_ids(piece: _Piece, entities: Vocabulary, relations: Vocabulary) -> Ids:
    """Return the triples of an object of a library in the ids of the dataset, int64 (n, 3)."""
    entity_ids, relation_ids = entities.find(piece.labels.entities), relations.find(piece.labels.relations)
    s, p, o = piece.triples.T
    return np.column_stack([entity_ids[s], relation_ids[p], entity_ids[o]])


def _table_ids(
    split: str, table: pd.DataFrame, columns: Sequence[pd.Categorical], entities: Vocabulary, relations: Vocabulary
) -> Ids:
    """Return the triples of a table of labels, int64 (n, 3)."""
    vocabularies = (entities, relations, entities)
    check_integers(f"{split} frame", table, frame_columns(split, table), vocabularies, FROM_ARRAYS)
    ids = [
        vocabulary.find(column.categories.to_numpy(dtype=object))[column.codes]
        for vocabulary, column in zip(vocabularies, columns)
    ]
    return np.column_stack(ids)


def _unused(triples: Mapping[str, Ids], labels: LibraryLabels, owner: str) -> list[str]:
    """Return a note if there is no train split, and a note if some entities occur in no triple."""
    notes = [] if "train" in triples else [NO_TRAIN]
    is_unused = np.ones(len(labels.entities), dtype=bool)
    for rows in triples.values():
        ids = rows[:, [0, 2]]
        is_unused[ids[ids < len(is_unused)]] = False
    n_unused = int(is_unused.sum())
    if n_unused:
        has = f"entity of {owner} occurs in no triple, but is a candidate"
        notes.append(counted(n_unused, has, f"entities of {owner} occur in no triple, but are candidates"))
    return notes


def _name(x: Any) -> str:
    """Return the name of a dataset of PyKEEN or OGB; else ``"dataset"``."""
    metadata = getattr(x, "metadata", None)
    if (
        isinstance(metadata, Mapping)
        and isinstance(metadata.get("name"), str)
        and _is_factory(getattr(x, "training", 0))
    ):
        return str(metadata["name"])
    if callable(getattr(x, "get_edge_split", None)) and isinstance(getattr(x, "name", None), str):
        return str(x.name)
    if _is_factory(getattr(x, "training", None)) and _type_name(x) != "EagerDataset":
        return _type_name(x).lower()
    return "dataset"


def _type_name(x: Any) -> str:
    """Return the name of the class of an object, for messages."""
    return type(x).__name__


def _check_not_inductive(x: Any) -> None:
    """Raise a DataError if an object is an inductive dataset of PyKEEN."""
    if hasattr(x, "inductive_inference") and hasattr(x, "transductive_training"):
        raise DataError(
            f"the {_type_name(x)} has two graphs with different entities, but a Dataset has only one graph. To rank "
            "its test among the entities of the inference graph: Dataset.of({'train': x.inductive_inference, 'valid': "
            "x.inductive_validation, 'test': x.inductive_testing})"
        )


def _splits_of(x: Any, splits: Sequence[str]) -> dict[str, Any] | None:
    """Return the object of each split if `x` holds several splits; None if it does not."""
    if isinstance(x, Mapping):
        return None if is_ogb_split(x) else dict(x)
    if isinstance(x, (list, tuple)) and len(x) and all(_is_graph(part) for part in x):
        names = {2: (splits[0], splits[2]), 3: splits}.get(len(x))
        if names is None:
            raise DataError(
                f"expected 2 KnowledgeGraphs (train, test) or 3 (train, valid, test); got {len(x)}. Name the splits: "
                "Dataset.of({'train': ..., 'valid': ..., 'test': ...})"
            )
        return dict(zip(names, x))
    if isinstance(x, (list, tuple)) and any(_is_factory(part) or _is_graph(part) for part in x):
        raise DataError(
            "a list of factories does not name the splits, and PyKEEN's order is training, testing, validation. "
            "Name the splits: Dataset.of({'train': ..., 'valid': ..., 'test': ...})"
        )
    if _is_table(x):
        return None
    if _is_factory(getattr(x, "training", None)):
        if not _is_factory(getattr(x, "testing", None)):
            raise DataError(
                f"the {_type_name(x)} holds the training triples only; name the triples to test: "
                "Dataset.of({'train': result.training, 'test': ...}), such as the testing factory of the PyKEEN dataset"
            )
        return {"train": x.training, "valid": getattr(x, "validation", None), "test": x.testing}
    if callable(getattr(x, "get_edge_split", None)):
        pieces = x.get_edge_split()
        if not isinstance(pieces, Mapping) or not all(is_ogb_split(piece) for piece in pieces.values()):
            raise DataError(
                f"the splits of {getattr(x, 'name', _type_name(x))!r} have no head, relation and tail; of OGB's link "
                "datasets only ogbl-biokg and ogbl-wikikg2 are knowledge graphs"
            )
        return dict(pieces)
    if callable(getattr(x, "entity_ids", None)) and callable(getattr(x, "split", None)):
        labels = library_labels(x)
        return {} if labels is None else {split: _LabelledIds(x.split(split), labels) for split in splits}
    return None


def _check_piece(split: str, piece: Any) -> None:
    """Raise a DataError unless an object holds the triples of one split."""
    if piece is None or _is_piece(piece):
        _check_no_ids(split, piece)
        return
    _check_not_inductive(piece)
    if isinstance(piece, (str, PathLike)):
        raise DataError(f"{split}: Dataset.of takes objects, and {cut_label(str(piece))!r} is a path; read it first")
    if isinstance(getattr(piece, "splits", None), Mapping) or _is_factory(getattr(piece, "training", None)):
        raise DataError(f"{split}: the {_type_name(piece)} has several splits; give the triples of one split")
    raise DataError(f"{split}: expected the triples of one split, not a {_type_name(piece)}; Dataset.of takes {TAKEN}")


def _is_piece(x: Any) -> bool:
    """Return whether an object holds the triples of one split."""
    return isinstance(x, _LabelledIds) or _is_factory(x) or _is_graph(x) or is_ogb_split(x) or _is_table(x)


def _is_factory(x: Any) -> bool:
    """Return whether an object is a triples factory of PyKEEN, with or without labels."""
    return hasattr(x, "mapped_triples") and hasattr(x, "num_entities")


def _is_graph(x: Any) -> bool:
    """Return whether an object is a KnowledgeGraph of TorchKGE."""
    return all(hasattr(x, name) for name in ("head_idx", "tail_idx", "relations", "ent2ix", "rel2ix"))


def _is_table(x: Any) -> bool:
    """Return whether an object is a table of triples; an array of ids counts as a table."""
    if isinstance(x, (pd.DataFrame, np.ndarray, list)):
        return True
    if hasattr(x, "edge_index"):  # a graph of PyTorch Geometric, which has methods of tensors
        return False
    if is_tensor(x):
        return True
    if isinstance(x, tuple):
        return not isinstance(x, _LabelledIds)
    return any(hasattr(x, name) for name in ("to_pandas", "__arrow_c_stream__", "__dataframe__", "__array__"))


def _check_no_ids(split: str, table: Any) -> None:
    """Raise a DataError if a table is an array or a list of integers."""
    if table is None or not _is_table(table) or isinstance(table, pd.DataFrame):
        return
    if isinstance(table, (list, tuple)):
        is_ids = len(table) > 0 and isinstance(table[0], (list, tuple)) and all(map(_is_integer, table[0]))
    else:
        is_ids = hasattr(table, "__array__") and np.asarray(as_array(table)).dtype.kind in "iu"
    if is_ids:
        raise DataError(f"{split}: {FROM_ARRAYS}")


def _library_pieces(pieces: Mapping[str, Any]) -> dict[str, _Piece]:
    """Return the triples of each split that is an object of a library, and not a table of labels."""
    known: dict[str, _Piece] = {}
    for split, piece in pieces.items():
        if not _is_table(piece):
            like = next((earlier for earlier in known if _has_same_dicts(pieces[earlier], piece)), None)
            labels = _labels_of_piece(piece) if like is None else known[like].labels
            known[split] = _library_piece(split, piece, labels)
    return known


def _has_same_dicts(a: Any, b: Any) -> bool:
    """Return whether two factories, or two KnowledgeGraphs, have the same dicts from label to id."""
    return any(
        isinstance(getattr(a, names[0], None), Mapping)
        and all(getattr(a, name) == getattr(b, name, None) for name in names)
        for names in (("entity_to_id", "relation_to_id"), ("ent2ix", "rel2ix"))
    )


def _labels_of_piece(piece: Any) -> LibraryLabels | None:
    """Return the labels of the ids of an object; None if it has no labels."""
    return piece.labels if isinstance(piece, _LabelledIds) else library_labels(piece)


def _library_piece(split: str, piece: Any, labels: LibraryLabels | None) -> _Piece:
    """Return the triples of an object of a library; if it has no labels, the labels are the ids as text."""
    has_labels = labels is not None
    if labels is None:
        n_relations = getattr(piece, "real_num_relations", None) or piece.num_relations
        labels = _number_labels(int(piece.num_entities), int(n_relations), "pykeen")
    if _is_graph(piece):
        columns = [as_array(column) for column in (piece.head_idx, piece.relations, piece.tail_idx)]
    else:
        rows = np.asarray(as_array(piece.mapped_triples))
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise DataError(f"{split}: expected triples of shape (n, 3); got {rows.shape}")
        columns = list(rows.T)
    _check_no_inverse(split, piece, labels)
    return _Piece(checked_triples(split, columns, len(labels.entities), len(labels.relations)), labels, has_labels)


def _check_no_inverse(split: str, piece: Any, labels: LibraryLabels) -> None:
    """Raise a DataError if the triples of a factory of PyKEEN may contain the inverse relations."""
    n_real = getattr(piece, "real_num_relations", None)
    if getattr(piece, "create_inverse_triples", False) and n_real != len(labels.relations):
        raise DataError(
            f"{split}: the factory was built with create_inverse_triples=True, and its {len(labels.relations):,} "
            f"relations are not the {n_real} real ones (real_num_relations), so it may hold each triple twice. Give a "
            "factory of the same triples without inverse triples"
        )


def _number_labels(n_entities: int, n_relations: int, library: str) -> LibraryLabels:
    """Return the ids as labels."""
    return LibraryLabels(NumberLabels(n_entities), NumberLabels(n_relations), library)


def _with_shared_labels(
    pieces: Mapping[str, Any], known: dict[str, _Piece], is_one_dataset: bool
) -> tuple[dict[str, _Piece], list[str]]:
    """Give PyKEEN factories without labels the labels of their dataset; return all splits, and notes.

    A note names the factories that got labels. Raise a DataError if it is not known which labels belong to the ids of a
    factory without labels.
    """
    bare = [split for split, piece in known.items() if not piece.has_labels]
    named = [split for split in pieces if split not in bare]
    sizes = {(len(piece.labels.entities), len(piece.labels.relations)) for piece in known.values()}
    if not bare or (len(sizes) == 1 and not named):
        return known, []
    if len(sizes) == 1 and is_one_dataset:
        labels = known[named[0]].labels
        note = f"the factory of {' and '.join(bare)} has no labels; its ids are those of {named[0]}, as in PyKEEN"
        shared = {split: _Piece(known[split].triples, labels) for split in bare}
        return known | shared, [note]
    differ = f"{named[0]} has labels" if named else "the numbers of entities or relations differ"
    raise DataError(
        f"{bare[0]}: the factory has no labels (entity_to_id), and {differ}, so it is unknown which ids mean the same "
        "entity. Give factories with labels, or call Dataset.from_arrays with ids of one vocabulary"
    )


def _left_out(pieces: Mapping[str, Any], known: Mapping[str, _Piece]) -> Iterator[str]:
    """Yield a note for each PyKEEN factory that may hold fewer triples than the file from which PyKEEN read it."""
    files = {split: _source_file(piece) for split, piece in pieces.items()}
    unchecked = []
    for split, file in files.items():
        if file is None or list(files.values()).count(file) > 1:  # the factories are parts of one file
            continue
        n_lines, n_triples = _count_lines(file), len(known[split].triples)
        if n_lines is None:
            unchecked.append(split)
        elif n_lines != n_triples:
            yield (
                f"{split}: the factory has {counted(n_triples, 'triple')}, and {file.name}, from which it was read, "
                f"has {counted(n_lines, 'line')}; PyKEEN leaves out duplicates, and triples whose entities or "
                "relations do not occur in training"
            )
    evaluated = [split for split in unchecked if split != "train"]
    if evaluated:
        yield (
            f"when PyKEEN reads files, it leaves out duplicates and triples whose entities or relations do not occur "
            f"in training, so {' and '.join(evaluated)} may be smaller than in the files; kgeval.read_dataset keeps "
            "all triples"
        )


def _source_file(piece: Any) -> Path | None:
    """Return the file from which PyKEEN read a factory; None if the factory does not name the file."""
    metadata = getattr(piece, "metadata", None)
    file = metadata.get("path") if _is_factory(piece) and isinstance(metadata, Mapping) else None
    return Path(file) if isinstance(file, (str, PathLike)) else None


def _count_lines(file: Path) -> int | None:
    """Return the number of lines of a text file that are not blank; None if there is no such text file."""
    if file.suffix not in TEXT_FILES:
        return None
    try:
        with file.open("rb") as lines:
            return sum(1 for line in lines if line.strip())
    except OSError:
        return None
