"""The split dictionaries of OGB: triples and the negatives of each triple, as integer ids.

`kgeval.candidates.Listed.from_ogb` calls `ogb_lists`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores, counted, cut_label
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.errors import DataError

TRIPLE_KEYS = ("head", "relation", "tail")
NEGATIVE_KEYS = {"head_neg": "subjects", "tail_neg": "objects"}


def ogb_lists(content: Mapping[str, Any], dataset: Dataset, splits: Sequence[str], source: str) -> dict[str, Ids]:
    """Return the negatives of a split dictionary as ids of a dataset.

    The ids in the dictionary are either the ids of `dataset`, or the ids of the tool from whose data `dataset` was made
    (`Dataset.dictionaries`). Both meanings are tried. With the right meaning, every triple of the dictionary equals the
    triple in the same row of the ranked splits.

    Parameters
    ----------
    content : mapping
        See `kgeval.candidates.Listed.from_ogb`.
    dataset : Dataset
    splits : sequence of str
        The ranked splits.
    source : str
        The name of `content` in messages.

    Returns
    -------
    dict of str to int64 array, shape (n, m)
        The keys are ``"subjects"`` (of ``head_neg``), ``"objects"`` (of ``tail_neg``), or both.

    Raises
    ------
    DataError
        See `kgeval.candidates.Listed.from_ogb`.
    """
    lacking = [key for key in TRIPLE_KEYS if key not in content]
    if lacking or not NEGATIVE_KEYS.keys() & set(content):
        raise DataError(
            f"{source}: expected head, relation and tail, shape (n,), and head_neg, tail_neg or both, shape (n, m); "
            f"found {', '.join(map(str, content)) or 'nothing'}. The triples are needed to check that ids and rows "
            "match the dataset. For ids of the dataset, without triples: {'subjects': ids, 'objects': ids}"
        )
    sides = [key for key in NEGATIVE_KEYS if key in content]
    arrays = {key: _integers(source, key, content[key], 1 + (key in NEGATIVE_KEYS)) for key in (*TRIPLE_KEYS, *sides)}
    positives = np.concatenate([dataset[split].array for split in splits])
    for key, array in arrays.items():
        if len(array) != len(positives):
            raise DataError(
                f"{source}: {key} has {counted(len(array), 'row')}, but split {'+'.join(splits)} of {dataset.name!r} "
                f"has {counted(len(positives), 'triple')}; give one row for each triple, in their order"
            )
    fitting: list[dict[str, Ids]] = []
    refusals = []
    for ids in _translations(content, arrays, dataset, source):
        if isinstance(ids, str):
            refusals.append(ids)
            continue
        triples = np.column_stack([ids[key] for key in TRIPLE_KEYS])
        differs = (triples != positives).any(axis=1)
        if differs.any():
            row = int(np.argmax(differs))
            shown = tuple(int(arrays[key][row]) for key in TRIPLE_KEYS)
            refusals.append(
                f"row {row} is {shown}, which is {triple_labels(dataset, *triples[row])}, but row {row} of "
                f"{'+'.join(splits)} of {dataset.name!r} is {triple_labels(dataset, *positives[row])} "
                f"({int(differs.sum()):,} of {len(differs):,} rows differ)"
            )
        elif not any(all(np.array_equal(ids[key], other[key]) for key in sides) for other in fitting):
            fitting.append(ids)
    if not fitting:
        raise DataError(
            f"{source}: {refusals[0]}. Rows must follow the ranked split, and ids must be those of the dataset, or of "
            "the OGB data from which the dataset was made"
        )
    if len(fitting) > 1:
        raise DataError(
            f"{source}: the triples fit both the ids of {dataset.name!r} and the ids of the tool from which it was "
            "read, but the negatives then differ; give ids of the dataset: {'subjects': ids, 'objects': ids}"
        )
    return {NEGATIVE_KEYS[key]: fitting[0][key] for key in sides}


def _integers(source: str, key: str, value: Any, n_dimensions: int) -> Ids:
    """Return an array or tensor of integer ids as int64."""
    array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    if array.dtype.kind not in "iu" or array.ndim != n_dimensions or isinstance(value, np.ma.MaskedArray):
        shape = "(n,)" if n_dimensions == 1 else "(n, m)"
        raise DataError(
            f"{source}: {key} must be an array of integer ids, shape {shape}; got {type(value).__name__}, dtype "
            f"{array.dtype}, shape {array.shape}"
        )
    return array.astype(np.int64)


def _translations(
    content: Mapping[str, Any], arrays: Mapping[str, Ids], dataset: Dataset, source: str
) -> list[dict[str, Ids] | str]:
    """Return all arrays as ids of the dataset, once for each possible meaning of their ids.

    For an impossible meaning, the list contains a text with the reason instead of arrays.
    """
    known = {"entities": dataset.entities, "relations": dataset.relations}
    # One table per meaning: tables[i][kind][id in the arrays] is the id in the dataset.
    tables: list[dict[str, Ids]] = []
    if dataset.dictionaries.keys() >= known.keys():
        tables.append({kind: known[kind].find(dataset.dictionaries[kind]) for kind in known})
    has_types = "head_type" in content or "tail_type" in content
    if has_types:
        if not tables:
            raise DataError(
                f"{source}: its ids start at 0 in each entity type (head_type, tail_type), but {dataset.name!r} was "
                "not made from OGB data; read the dataset with kgeval.read_dataset(the folder of OGB)"
            )
        arrays = _without_types(content, arrays, dataset, source)
    elif not tables or dataset.id_format != "ogb":
        tables.append({kind: np.arange(len(vocabulary)) for kind, vocabulary in known.items()})
    found: list[dict[str, Ids] | str] = []
    for table in tables:
        ids: dict[str, Ids] = {}
        for key, array in arrays.items():
            kind = "relations" if key == "relation" else "entities"
            is_wrong = (array < 0) | (array >= len(table[kind]))
            if is_wrong.any():
                row = int(np.argwhere(is_wrong)[0][0])
                found.append(
                    f"row {row} of {key} contains the id {array[is_wrong][0]}, but {dataset.name!r} has "
                    f"{len(table[kind]):,} {kind}, 0 .. {len(table[kind]) - 1}"
                )
                break
            ids[key] = table[kind][array]
        else:
            found.append(ids)
    return found


def _without_types(
    content: Mapping[str, Any], arrays: Mapping[str, Ids], dataset: Dataset, source: str
) -> dict[str, Ids]:
    """Convert ids that start at 0 in each entity type to positions in ``Dataset.dictionaries["entities"]``."""
    labels = dataset.dictionaries["entities"]
    starts: dict[str, tuple[int, int]] = {}  # for each type: its first entity, and the number of its entities
    for position, label in enumerate(labels):
        kind = label.partition(":")[0]
        start, n = starts.get(kind, (position, 0))
        starts[kind] = start, n + 1
        if position != start + n:
            raise DataError(
                f"{source}: its ids start at 0 in each entity type (head_type, tail_type), but in the dictionary of "
                f"{dataset.name!r} the entities of the type {cut_label(kind)!r} do not follow one another"
            )
    untyped = dict(arrays)
    for part in ("head", "tail"):
        kinds = _types(source, f"{part}_type", content, len(arrays["head"]), starts)
        first, size = np.array([starts[kind] for kind in kinds], dtype=np.int64).reshape(-1, 2).T
        for key in (part, f"{part}_neg"):
            if key not in arrays:
                continue
            of_cell = (slice(None), *[None] * (arrays[key].ndim - 1))  # one value for each row
            is_wrong = (arrays[key] < 0) | (arrays[key] >= size[of_cell])
            if is_wrong.any():
                row = int(np.argwhere(is_wrong)[0][0])
                raise DataError(
                    f"{source}: row {row} of {key} contains the id {arrays[key][is_wrong][0]}, but {dataset.name!r} "
                    f"has {size[row]:,} entities of the type {kinds[row]!r}"
                )
            untyped[key] = arrays[key] + first[of_cell]
    return untyped


def _types(source: str, key: str, content: Mapping[str, Any], n: int, known: Mapping[str, Any]) -> Sequence[str]:
    """Return the type of the entity in each row."""
    kinds: Scores = np.asarray(content.get(key, ()), dtype=object)
    if kinds.shape != (n,):
        raise DataError(f"{source}: {key} must name the type of the entity in each of {n:,} rows; got {kinds.shape}")
    for row, kind in enumerate(kinds):
        if kind not in known:
            raise DataError(
                f"{source}: {key}[{row}] is {cut_label(repr(kind))}; the types of entities are {', '.join(known)}"
            )
    return [str(kind) for kind in kinds]
