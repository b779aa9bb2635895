"""The file of a result: its columns, what must hold of them, and the further columns that may stand beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.archive import pack_labels, read_archive, unpack_labels, write_archive
from kgeval.checks import check_ids
from kgeval.corruption import SETTINGS
from kgeval.errors import DataError, KgevalError
from kgeval.measuring import text_codes
from kgeval.protocol import Protocol
from kgeval.triples import TripleSet, Vocabulary

TABLE_COLUMNS = (
    "s", "p", "o", "side", "split", "score",
    "better_raw", "tied_raw", "rivals_raw", "better_filtered", "tied_filtered", "rivals_filtered",
)  # fmt: skip
RIVAL_COLUMNS = ("row", "place", "entity", "score")
FORMAT = "kgeval result 1"
_WANTED = ("protocol", "about", "dropped", "n_read", "notes", "categories_side", "categories_split")
_ENTITIES, _RELATIONS, _COLUMN, _RIVAL = "entity_labels", "relation_labels", "column_{}", "rival_{}"


def write_result_file(path: str | Path, fields: dict[str, Any], overwrite: bool) -> None:
    """Write the fields of a result to one file, complete or not at all; it holds no pickle.

    Parameters
    ----------
    path : path
    fields : dict
        ``table``, ``entities``, ``relations``, ``protocol``, ``about``, ``dropped``, ``n_read``, ``notes``; ``columns``
        and ``rivals``, data frames or None.
    overwrite : bool
    """
    table, columns, rivals = fields["table"], fields["columns"], fields["rivals"]
    header = {
        "format": FORMAT,
        "protocol": fields["protocol"].to_dict(),
        "notes": list(fields["notes"]),
        **{name: fields[name] for name in ("about", "dropped", "n_read")},
    }
    arrays: dict[str, npt.NDArray[Any]] = {}
    for column in TABLE_COLUMNS:
        values = table[column]
        if column in ("side", "split"):
            header[f"categories_{column}"] = [str(category) for category in values.cat.categories]
            values = values.cat.codes
        arrays[column] = values.to_numpy()
    arrays[_ENTITIES] = pack_labels(fields["entities"].labels)
    arrays[_RELATIONS] = pack_labels(fields["relations"].labels)
    if columns is not None:
        header["columns"] = [_pack_column(columns[name], i, arrays) for i, name in enumerate(columns)]
    if rivals is not None:
        arrays |= {_RIVAL.format(name): rivals[name].to_numpy() for name in RIVAL_COLUMNS}
    write_archive(path, arrays, header, overwrite=overwrite)


def _pack_column(column: pd.Series, i: int, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Put a further column among `arrays`; return its name, and the categories of one that holds no numbers."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        arrays[_COLUMN.format(i)] = column.to_numpy()
        return {"name": str(column.name)}
    texts, arrays[_COLUMN.format(i)] = text_codes(column.array)
    is_ordered = isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
    return {"name": str(column.name), "categories": texts, "ordered": is_ordered}


def read_result_file(path: str | Path) -> dict[str, Any]:
    """Return the fields that `write_result_file` wrote.

    Raises
    ------
    DataError
        If the file is missing, damaged, or not a result of kgeval.
    """
    arrays, header = read_archive(path)
    if header.get("format") != FORMAT:
        raise DataError(f"{path}: expected format {FORMAT!r}; found {header.get('format')!r}")
    missing = [name for name in (*TABLE_COLUMNS, _ENTITIES, _RELATIONS) if name not in arrays]
    if missing:
        raise DataError(f"{path}: lacks {', '.join(missing)}; is the file damaged?")
    try:
        return _fields(arrays, header)
    except (KgevalError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        what = error if isinstance(error, KgevalError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path}: is damaged: {what}") from error


def _fields(arrays: dict[str, npt.NDArray[Any]], header: dict[str, Any]) -> dict[str, Any]:
    lacking = [name for name in _WANTED if name not in header]
    if lacking:
        raise DataError(f"lacks {', '.join(lacking)}")
    entities, relations = (Vocabulary(unpack_labels(arrays[name])) for name in (_ENTITIES, _RELATIONS))
    _check_table(arrays, header, len(entities), len(relations))
    columns: dict[str, Any] = {name: arrays[name] for name in TABLE_COLUMNS}
    for name in ("side", "split"):
        columns[name] = pd.Categorical.from_codes(arrays[name], header[f"categories_{name}"])
    return {
        "table": pd.DataFrame(columns),
        "entities": entities,
        "relations": relations,
        "protocol": Protocol.from_dict(header["protocol"]),
        "notes": tuple(header["notes"]),
        **{name: header[name] for name in ("about", "dropped", "n_read")},
        "columns": _unpack_columns(arrays, header, len(arrays["s"])),
        "rivals": _unpack_rivals(arrays, len(arrays["s"]), len(entities)),
    }


def _unpack_columns(arrays: dict[str, npt.NDArray[Any]], header: dict[str, Any], n_rows: int) -> pd.DataFrame | None:
    if "columns" not in header:
        return None
    columns: dict[str, Any] = {}
    for i, said in enumerate(header["columns"]):
        values: Any = arrays[_COLUMN.format(i)]
        if values.shape != (n_rows,):
            raise DataError(f"column {said['name']!r} has shape {values.shape}; the table has {n_rows} rows")
        if "categories" in said:
            values = pd.Categorical.from_codes(values, said["categories"], ordered=said["ordered"])
        columns[said["name"]] = values
    return pd.DataFrame(columns, index=pd.RangeIndex(n_rows))


def _unpack_rivals(arrays: dict[str, npt.NDArray[Any]], n_rows: int, n_entities: int) -> pd.DataFrame | None:
    if _RIVAL.format("row") not in arrays:
        return None
    rivals = {name: arrays[_RIVAL.format(name)] for name in RIVAL_COLUMNS}
    if len({values.shape for values in rivals.values()}) > 1:
        raise DataError(f"columns of the rivals differ in length: {[values.shape for values in rivals.values()]}")
    check_ids("row of a rival", rivals["row"], n_rows, (None,))
    check_ids("entity of a rival", rivals["entity"], n_entities, (None,))
    return pd.DataFrame(rivals)


def _check_table(
    arrays: dict[str, npt.NDArray[Any]], header: dict[str, Any], n_entities: int, n_relations: int
) -> None:
    """Raise a DataError unless the columns of a saved table are possible."""
    lengths = {name: arrays[name].shape for name in TABLE_COLUMNS}
    if len(set(lengths.values())) > 1 or arrays["s"].ndim != 1:
        raise DataError(f"columns differ in length: {lengths}")
    TripleSet(np.column_stack([arrays[name] for name in "spo"]), n_entities, n_relations, "columns s, p, o")
    for name in ("side", "split"):
        check_ids(name, arrays[name], len(header[f"categories_{name}"]), (None,))
    for setting in SETTINGS:
        better, tied, rivals = (
            check_ids(f"{name}_{setting}", arrays[f"{name}_{setting}"], n_entities, (None,))
            for name in ("better", "tied", "rivals")
        )
        if (better + tied > rivals).any():
            raise DataError(f"better_{setting} + tied_{setting} exceed rivals_{setting}")
    if any((arrays[f"{name}_filtered"] > arrays[f"{name}_raw"]).any() for name in ("better", "tied", "rivals")):
        raise DataError("filtered counts exceed raw ones")
