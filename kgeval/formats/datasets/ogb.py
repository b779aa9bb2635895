"""Folders of OGB's knowledge graphs (ogbl-biokg, ogbl-wikikg2), in the form that the package ogb downloads.

Layout. ``split/NAME/train.pt``, ``valid.pt`` and ``test.pt`` are torch files, each a dict: ``head``, ``relation`` and
``tail`` hold ids; ``valid`` and ``test`` also hold ``head_neg`` and ``tail_neg``, the 500 negatives of each triple. In
ogbl-biokg, ``head_type`` and ``tail_type`` name the type of each entity, and ids count from 0 within each type.
``mapping/*.csv.gz`` give the labels of the ids; ``raw/num-node-dict.csv.gz`` (or ``num-node-list.csv.gz``) gives the
numbers of entities. Labels of typed entities are ``type:label``, as in PyKEEN.

Traps. If a tool ignores the types, id 5 of the drugs and id 5 of the proteins become one entity. The package ogb sorts
the types by name, whatever their order in ``raw``. `Dataset.dictionaries` lists the entities type by type, with the
types sorted by name. Every entity of a mapping is an entity of the dataset, even if no triple has it. OGB's published
numbers come from ranks among the negatives of each triple, not among all entities. Some files hold numpy arrays instead
of tensors. The arrays are then inside the pickle, and the size of a pickle is limited here; the error message says how
to convert such a file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, cut_label
from kgeval.data.candidates import Listed
from kgeval.data.dataset import Dataset
from kgeval.data.triples import SPLITS
from kgeval.errors import DataError
from kgeval.formats.checkpoints.torch_files import read_torch
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import check_folder, names_in
from kgeval.formats.id_triples import dataset_of_ids
from kgeval.formats.registry import Format
from kgeval.formats.unpacking import open_packed

SPLIT_NAMES = {split: f"{split}.pt" for split in SPLITS}
ENTITY_MAPPING, RELATION_MAPPINGS = "nodeidx2entityid.csv", ("relidx2relname.csv", "reltype2relid.csv")
TYPED_ENDING = "_entidx2name.csv"
NEGATIVES = {"head_neg": "head_type", "tail_neg": "tail_type"}  # the key of the negatives: the key of their types
UNTYPED = ""  # stands for the type of entities in a dataset without types
HOW_TO_CONVERT = (
    "If the file is OGB's own, write it again as tensors: from ogb.utils.torch_util import "
    "replace_numpy_with_torchtensor as as_tensors; torch.save(as_tensors(torch.load(file, weights_only=False)), file)"
)


def _split_folders(path: Path) -> list[Path]:
    """Return the folders below ``split`` that hold torch files of splits."""
    return [path / "split" / name for name in sorted(names_in(path / "split")) if _has_splits(path / "split" / name)]


def _has_splits(folder: Path) -> bool:
    """Return whether a folder holds torch files of splits."""
    return not names_in(folder).isdisjoint([*SPLIT_NAMES.values(), "split_dict.pt"])


def sniff(path: Path) -> bool:
    """Return whether a folder has the layout of OGB."""
    return (
        "split" in names_in(path) and bool(_split_folders(path)) and not names_in(path).isdisjoint(("mapping", "raw"))
    )


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    options.check_used("ogb", ())
    check_folder(folder, ("split",))
    splits = _split_folders(folder)
    if len(splits) != 1:
        found = ", ".join(part.name for part in splits) or "none"
        raise DataError(f"{folder}: expected one folder with train.pt, valid.pt and test.pt in split; found {found}")
    types = _entity_labels(folder)
    relations = _relation_labels(folder)
    parts = _dicts(splits[0])
    triples = {split: _triples(file, content, types, len(relations)) for split, (file, content) in parts.items()}
    entities = [f"{kind}:{label}" if kind else label for kind, labels in types.items() for label in labels]
    notes = [
        f"{file.relative_to(folder).as_posix()} lists {_shape(content)} negatives for each triple; OGB ranks "
        "among them only, but here every entity is a candidate. To rank among the negatives, use "
        "kgeval.Protocol(candidates=kgeval.formats.datasets.ogb.listed_negatives(folder, dataset))"
        for split, (file, content) in parts.items()
        if split == "test" and NEGATIVES.keys() & content.keys()
    ]
    if any(types):
        notes.append(f"entities have the labels type:label, for the types {', '.join(types)}")
    return dataset_of_ids(triples, entities, relations, folder.resolve().name, notes)


def listed_negatives(folder: str | Path, dataset: Dataset, split: str = "test") -> Listed:
    """Return the negatives that an OGB folder lists for each triple of a split.

    Parameters
    ----------
    folder : str or path
        The folder from which `dataset` was read.
    dataset : Dataset
    split : str
        ``"valid"`` or ``"test"``.

    Returns
    -------
    kgeval.candidates.Listed
        For the field `candidates` of a `kgeval.Protocol` that ranks `split`. Entities that a list contains twice count
        twice, as in OGB.

    Raises
    ------
    DataError
        If the files hold no negatives for the split, or if the files do not belong to `dataset`.
    """
    path = Path(folder)
    parts = _dicts(next(iter(_split_folders(path)), path / "split"))
    if split not in parts:
        raise DataError(f"{path}: has no torch file of the split {split!r}")
    file, content = parts[split]
    types = _entity_labels(path)
    labels = [f"{kind}:{label}" if kind else label for kind, kinds in types.items() for label in kinds]
    ids = dataset.entities.find(labels)  # (entities of OGB,): the id of each entity in `dataset`
    triples = _triples(file, content, types, len(_relation_labels(path)))
    positives = dataset[split].array
    if len(triples) != len(positives) or not np.array_equal(ids[triples[:, [0, 2]]], positives[:, [0, 2]]):
        raise DataError(f"{file}: holds other triples than the split {split} of dataset {dataset.name!r}")
    lists = [
        ids[_global_ids(file, content, key, type_key, types)] if key in content else None
        for key, type_key in NEGATIVES.items()
    ]
    if all(ids is None for ids in lists):
        raise DataError(f"{file}: lists no negatives (head_neg, tail_neg); it holds {', '.join(content)}")
    return Listed(subjects=lists[0], objects=lists[1])


def _dicts(folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Return, for each split, the path of its torch file and the dict of its arrays."""
    names = names_in(folder)
    if "split_dict.pt" in names:
        file = folder / "split_dict.pt"
        tree = _checked(file, _torch(file), SPLITS)
        return {split: (file, _checked(file, tree[split], ("head", "relation", "tail"))) for split in SPLITS}
    return {
        split: (folder / name, _checked(folder / name, _torch(folder / name), ("head", "relation", "tail")))
        for split, name in SPLIT_NAMES.items()
        if name in names
    }


def _torch(file: Path) -> Any:
    """Return the content of a torch file."""
    try:
        return read_torch(file)
    except DataError as error:
        raise DataError(f"{error}. {HOW_TO_CONVERT}") from error


def _checked(file: Path, tree: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Return `tree`; raise a DataError if it is not a dict with the given keys."""
    if not isinstance(tree, dict) or any(key not in tree for key in keys):
        found = ", ".join(map(str, list(tree)[:8])) if isinstance(tree, dict) else type(tree).__name__
        raise DataError(f"{file}: expected a dict with {', '.join(keys)}; found {found}")
    return tree


def _triples(file: Path, content: Mapping[str, Any], types: Mapping[str, Sequence[str]], n_relations: int) -> Ids:
    """Return the triples of a split, int64 (n, 3): the ids of the entities of all types together, and of relations."""
    heads, tails = (_global_ids(file, content, part, f"{part}_type", types) for part in ("head", "tail"))
    relations = _integers(file, content, "relation", n_relations, "relations")
    if not heads.shape == tails.shape == relations.shape or heads.ndim != 1:
        raise DataError(
            f"{file}: head, relation and tail must have shape (n,); got {heads.shape}, {relations.shape}, {tails.shape}"
        )
    return np.column_stack([heads, relations, tails])


def _global_ids(
    file: Path, content: Mapping[str, Any], key: str, type_key: str, types: Mapping[str, Sequence[str]]
) -> Ids:
    """Return the ids in the array `key` as ids over all types; in the file, the ids of each type count from 0.

    The array `type_key` holds the type of each row.
    """
    if UNTYPED in types:
        if type_key in content:
            raise DataError(f"{file}: has {type_key}, but {ENTITY_MAPPING} in mapping gives the entities no types")
        return _integers(file, content, key, len(types[UNTYPED]), "entities")
    if type_key not in content:
        raise DataError(f"{file}: lacks {type_key}, but the entities in mapping have types: {', '.join(types)}")
    if not isinstance(content[type_key], (list, tuple, np.ndarray)):
        raise DataError(f"{file}: expected a list of types as {type_key}; found {type(content[type_key]).__name__}")
    kinds = list(types)
    of_row = pd.Index(kinds, dtype=object).get_indexer(
        pd.Index(content[type_key], dtype=object)
    )  # the type of each row
    if (of_row < 0).any():
        row = int(np.argmin(of_row))
        raise DataError(
            f"{file}: {type_key}[{row}] is {cut_label(repr(content[type_key][row]))}; types are {', '.join(types)}"
        )
    sizes = np.array([len(labels) for labels in types.values()])
    local = _integers(file, content, key, int(sizes.max()), "entities of one type")
    if len(local) != len(of_row):
        raise DataError(f"{file}: {key} has {len(local):,} rows, {type_key} has {len(of_row):,}")
    of_cell = of_row.reshape(-1, *[1] * (local.ndim - 1))  # as a column if each row lists several entities
    wrong = local >= sizes[of_cell]
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise DataError(
            f"{file}: row {row} of {key} contains an id above {sizes[of_row[row]] - 1}, the last id of the type "
            f"{kinds[of_row[row]]!r}"
        )
    starts = np.cumsum(sizes) - sizes  # the id of the first entity of each type
    return np.asarray(local + starts[of_cell], dtype=np.int64)


def _integers(file: Path, content: Mapping[str, Any], key: str, n: int, what: str) -> Ids:
    """Return the array `key` as int64; raise a DataError unless it holds integers from 0 to n - 1."""
    array = content[key]
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.ndim not in (1, 2):
        found = f"{array.dtype}, shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise DataError(f"{file}: expected an array of integers as {key}; found {found}")
    if array.size and (array.min() < 0 or array.max() >= n):
        row = int(np.argwhere((array < 0) | (array >= n))[0][0])
        raise DataError(
            f"{file}: row {row} of {key} contains an id that is not in 0 .. {n - 1}; there are {n:,} {what}"
        )
    return array.astype(np.int64)


def _shape(content: Mapping[str, Any]) -> str:
    """Return the number of negatives of each triple, in words."""
    array = next(content[key] for key in NEGATIVES if key in content)
    return f"{array.shape[1]:,}" if isinstance(array, np.ndarray) and array.ndim == 2 else "some"


def _entity_labels(folder: Path) -> dict[str, list[str]]:
    """Return the labels of the entities of each type, in the order of the entities' ids.

    If the entities have no types, the only key is `UNTYPED`.
    """
    counts = _counts(folder)
    names = names_in(folder / "mapping")
    untyped = _first(names, ENTITY_MAPPING)
    typed = {name.split(TYPED_ENDING)[0]: name for name in sorted(names) if TYPED_ENDING in name}
    if untyped is not None:
        labels = {UNTYPED: _mapping(folder / "mapping" / untyped)}
    elif typed:
        labels = {kind: _mapping(folder / "mapping" / name) for kind, name in typed.items()}
    else:
        labels = {}
    for kind, n in counts.items():
        if kind not in labels:  # no mapping: the ids are the labels
            labels[kind] = [str(i) for i in range(n)]
        if len(labels[kind]) != n:
            raise DataError(
                f"{folder}: mapping lists {len(labels[kind]):,} entities{f' of the type {kind}' if kind else ''}, raw "
                f"counts {n:,}"
            )
    if not labels:
        raise DataError(
            f"{folder}: expected the labels or the number of the entities: mapping/*.csv.gz, raw/num-node-*"
        )
    if UNTYPED in labels and len(labels) > 1:
        raise DataError(f"{folder}: mapping and raw do not agree whether the entities have types")
    return {kind: labels[kind] for kind in sorted(labels)}


def _counts(folder: Path) -> dict[str, int]:
    """Return the number of entities of each type, from a file in ``raw``; empty if there is no such file."""
    names = names_in(folder / "raw")
    typed, untyped = _first(names, "num-node-dict.csv"), _first(names, "num-node-list.csv")
    if typed is None and untyped is None:
        return {}
    file = folder / "raw" / str(typed or untyped)
    rows = [line.split(",") for line in open_packed(file).decode("utf-8", "replace").split()]
    kinds, numbers = (rows[0] if rows else [], rows[1:]) if typed is not None else ([UNTYPED], rows)
    if len(numbers) != 1 or len(numbers[0]) != len(kinds) or not all(n.isdecimal() for n in numbers[0]):
        raise DataError(f"{file}: expected one number of entities for each type")
    return {kind: int(n) for kind, n in zip(kinds, numbers[0])}


def _relation_labels(folder: Path) -> list[str]:
    """Return the labels of the relations in the order of their ids."""
    names = names_in(folder / "mapping")
    found = [name for name in (_first(names, mapping) for mapping in RELATION_MAPPINGS) if name is not None]
    if not found:
        raise DataError(f"{folder}: expected the labels of the relations: mapping/{RELATION_MAPPINGS[0]}.gz")
    return _mapping(folder / "mapping" / found[0])


def _first(names: frozenset[str], name: str) -> str | None:
    """Return the entry of `names` that is the file `name`, packed or not; None if there is no such file."""
    return next((found for found in (f"{name}.gz", name) if found in names), None)


def _mapping(file: Path) -> list[str]:
    """Return the labels of a mapping (columns id, label, below a header) in the order of their ids."""
    try:
        frame = pd.read_csv(io.BytesIO(open_packed(file)), dtype=str, na_filter=False, skipinitialspace=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: is no CSV file with a header: {error}") from error
    if frame.shape[1] < 2:
        raise DataError(f"{file}, line 1: expected the columns id and label; found {', '.join(map(str, frame))}")
    numbers, labels = frame.iloc[:, 0].str.strip(), frame.iloc[:, 1]
    is_id = numbers.str.fullmatch(r"[0-9]{1,18}")
    if not is_id.all():
        raise DataError(f"{file}, line {int(np.argmin(is_id)) + 2}: expected an id; found {numbers[~is_id].iloc[0]!r}")
    ids = numbers.to_numpy(dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    wrong = np.flatnonzero(ids[order] != np.arange(len(ids)))
    if len(wrong):
        row = order[wrong[0]]
        raise DataError(f"{file}, line {row + 2}: expected each id from 0 to {len(ids) - 1} once; found {ids[row]}")
    if (labels == "").any():
        raise DataError(f"{file}, line {int(np.argmax(labels == '')) + 2}: the label is empty")
    in_order = labels.to_numpy(dtype=object)[order].tolist()
    repeated = labels[labels.duplicated()]
    if len(repeated):
        raise DataError(f"{file}, line {repeated.index[0] + 2}: the label {cut_label(repeated.iloc[0])!r} occurs twice")
    return [str(label) for label in in_order]


FORMAT = Format("ogb", sniff, read, "OGB (ids in torch files)")
