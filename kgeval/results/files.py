"""Files of results: one archive of arrays with a JSON header, without pickle.

The method `save` of both result classes calls `write_result` and the functions ``pack_...``. `READERS` has one
function for each kind of result: `kgeval.load_result` calls this function, and it calls the functions ``unpack_...``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import check_ids, cut_label, names_unknown_arguments
from kgeval.base.files import Arrays, read_archive, unpack_labels, write_archive
from kgeval.data.candidates import NOT_KNOWN, OF_TOOL, PER_POSITIVE
from kgeval.data.known import SETTINGS
from kgeval.data.labels import Labels, TextLabels
from kgeval.data.protocol import Protocol
from kgeval.data.sides import RELATION
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, KgevalError
from kgeval.results.bounded import BOUNDED_COLUMNS, COUNTS, unknown_counts
from kgeval.results.columns import text_codes

TABLE_COLUMNS = (
    "s", "p", "o", "side", "split", "score",
    "better_raw", "tied_raw", "rivals_raw", "better_filtered", "tied_filtered", "rivals_filtered",
)  # fmt: skip
RIVAL_COLUMNS = ("row", "place", "entity", "score")
# Versions of the file format: kgeval 0.1.0 wrote version 1. Since version 3, ranks may be bounded or unknown. Since
# version 4, labels are saved not as a JSON list, but as one text with the length of each label, or as a number of ids.
# Since version 5, the columns ``undecided_...`` are called ``bounded_...``, and the entry ``about`` is ``facts``.
VERSION = 5
# Kind of result -> function that makes the result from the arrays, the header and the version of the format.
READERS: dict[str, Callable[[Arrays, dict[str, Any], int], Any]] = {}
_HEADER_KEYS = ("protocol", "facts", "dropped", "notes", "categories_side", "categories_split")
_FACT_KEYS = ("dataset", "dataset_fingerprint", "observations", "n_triples", "n_queries", "n_unseen", "version")
# For entries of `facts` that texts and comparisons use: the type, and the type of the parts.
_KINDS: dict[str, tuple[type, type | tuple[type, ...]]] = {
    **dict.fromkeys(("scorer", "dataset", "dataset_fingerprint", "version"), (str, str)),
    **dict.fromkeys(("observations", "leak_notes"), (list, str)),
    "versions": (dict, str),
    "split_sizes": (dict, int),
    "row_order": (dict, (int, str, dict)),
    "without_copied": (dict, (int, float)),
    "unknown": (dict, str),
}
_ENTITIES, _RELATIONS, _COLUMN, _RIVAL = "entity_labels", "relation_labels", "column_{}", "rival_{}"
_LENGTHS = "{}_lengths"
# What files before version 5 call otherwise: old name -> new name of an array or of an entry of the header.
_NEW_NAMES = {f"undecided_{setting}": f"bounded_{setting}" for setting in SETTINGS} | {"about": "facts"}


def write_result(path: str | Path, kind: str, arrays: Arrays, header: dict[str, Any], overwrite: bool) -> None:
    """Write a result to one file; if writing fails, no incomplete file remains.

    Parameters
    ----------
    path : path
    kind : str
        Kind of result: a key of `READERS`.
    arrays : dict of str to array
    header : dict
        Values that JSON can store.
    overwrite : bool
        Whether to replace an existing file.
    """
    write_archive(path, arrays, {**header, "format": f"kgeval {kind} {VERSION}"}, overwrite=overwrite)


@names_unknown_arguments()
def load_result(path: str | Path) -> Any:
    """Read a result from a file that the method ``save`` of a result wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    EvaluationResult or ClassificationResult
        The kind of result that the file contains.

    Raises
    ------
    DataError
        If the file does not exist, if it is damaged or not a result of kgeval, or if a later version of kgeval wrote
        it.
    """
    arrays, header = read_archive(path)
    kinds = "|".join(READERS)
    match = re.fullmatch(rf"kgeval ({kinds}) ([0-9]+)", str(header.get("format")))
    if not match:
        raise DataError(
            f"{path}: expected a result of kgeval ({', '.join(sorted(READERS))}); found {header.get('format')!r}"
        )
    kind, version = match[1], int(match[2])
    if not 1 <= version <= VERSION:
        raise DataError(
            f"{path}: the file has version {version} of the format, but this kgeval reads versions up to {VERSION}"
            f"{'; upgrade kgeval' if version else ', from 1 on'}"
        )
    if version < 5:
        arrays = {_NEW_NAMES.get(name, name): values for name, values in arrays.items()}
        header = {_NEW_NAMES.get(name, name): value for name, value in header.items()}
    try:
        return READERS[kind](arrays, header, version)
    except (KgevalError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        cause = error if isinstance(error, KgevalError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path}: is damaged: {cause}") from error


def pack_ranks(parts: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the header to save for an EvaluationResult.

    Parameters
    ----------
    parts : dict
        The parameters of EvaluationResult without ``source``: name -> value.

    Returns
    -------
    arrays : dict of str to array
    header : dict
        Values that JSON can store.
    """
    table, columns, rivals = parts["table"], parts["columns"], parts["rivals"]
    header: dict[str, Any] = {
        "protocol": parts["protocol"].to_dict(),
        "notes": list(parts["notes"]),
        **{name: parts[name] for name in ("facts", "dropped")},
        **({"audit": parts["audit"]} if parts["audit"] else {}),
    }
    arrays: Arrays = {}
    for column in TABLE_COLUMNS:
        values = table[column]
        if column in ("side", "split"):
            header[f"categories_{column}"] = [str(category) for category in values.cat.categories]
            values = values.cat.codes
        arrays[column] = values.to_numpy()
    arrays |= {name: table[name].to_numpy() for name in BOUNDED_COLUMNS if name in table.columns}
    column_arrays, column_header = pack_columns(columns)
    arrays |= pack_vocabularies(parts["entities"], parts["relations"]) | column_arrays
    if rivals is not None:
        arrays |= {_RIVAL.format(name): rivals[name].to_numpy() for name in RIVAL_COLUMNS}
    return arrays, header | column_header


def pack_vocabularies(entities: Vocabulary, relations: Vocabulary) -> Arrays:
    """Return the labels of entities and relations as arrays to save.

    Parameters
    ----------
    entities, relations : Vocabulary

    Returns
    -------
    dict of str to array
    """
    return {
        name: array
        for kind, vocabulary in ((_ENTITIES, entities), (_RELATIONS, relations))
        for name, array in _pack_labels(kind, vocabulary.labels).items()
    }


def _pack_labels(kind: str, labels: Labels) -> Arrays:
    """Return the labels of one vocabulary as arrays to save.

    If the labels are the ids as text, only their number is saved; otherwise the joined labels, and the length of each
    label in bytes.
    """
    if not isinstance(labels, TextLabels):
        return {kind: np.array(len(labels))}
    lengths = labels.lengths
    smallest = np.min_scalar_type(int(lengths.max(initial=0)))
    return {kind: np.frombuffer(labels.text, dtype=np.uint8), _LENGTHS.format(kind): lengths.astype(smallest)}


def unpack_vocabularies(arrays: Arrays) -> tuple[Vocabulary, Vocabulary]:
    """Return the entities and the relations that `pack_vocabularies` packed.

    Parameters
    ----------
    arrays : dict of str to array

    Returns
    -------
    entities, relations : Vocabulary
    """
    entities, relations = (_unpack_labels(kind, arrays) for kind in (_ENTITIES, _RELATIONS))
    return entities, relations


def _unpack_labels(kind: str, arrays: Arrays) -> Vocabulary:
    """Return the vocabulary that `_pack_labels` packed; files before version 4 have the labels as a JSON list."""
    packed, lengths = arrays[kind], arrays.get(_LENGTHS.format(kind))
    if not packed.ndim:
        return Vocabulary.of_ids(packed.item())
    if lengths is None:
        return Vocabulary(unpack_labels(packed))
    if packed.dtype != np.uint8 or lengths.dtype.kind not in "iu" or packed.ndim != 1 or lengths.ndim != 1:
        raise DataError(f"{kind}: expected the bytes of the labels and the number of bytes of each label")
    return Vocabulary(TextLabels.of_lengths(packed.tobytes(), lengths))


def pack_columns(columns: pd.DataFrame) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of the additional columns, and the header entry that describes these columns.

    Parameters
    ----------
    columns : pandas.DataFrame

    Returns
    -------
    arrays : dict of str to array
    header : dict
        One entry, ``"columns"``; empty if there are no columns.
    """
    packed = [_pack_column(columns[name]) for name in columns]
    arrays = {_COLUMN.format(i): values for i, (values, _) in enumerate(packed)}
    return arrays, {"columns": [description for _, description in packed]} if packed else {}


def _pack_column(column: pd.Series) -> tuple[Any, dict[str, Any]]:
    """Return the array of a column, and a dict that describes the column.

    The dict holds the name of the column; if the column is not numeric, also its categories and whether they are
    ordered.
    """
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy(), {"name": str(column.name)}
    texts, codes = text_codes(column.array)
    is_ordered = isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
    return codes, {"name": str(column.name), "categories": texts, "ordered": is_ordered}


def unpack_ranks(arrays: Arrays, header: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the parts that `pack_ranks` packed; files of kgeval 0.1.0 can be read too.

    Parameters
    ----------
    arrays : dict of str to array
    header : dict
    version : int
        Version of the file format. ``n_read`` is in the header in version 1, and in ``header["facts"]`` later.

    Returns
    -------
    dict
        The parameters of EvaluationResult without ``source``: name -> value.

    Raises
    ------
    DataError
        If an entry is missing or has an impossible value.
    """
    missing = [name for name in (*TABLE_COLUMNS, _ENTITIES, _RELATIONS) if name not in arrays]
    missing += [name for name in _HEADER_KEYS if name not in header]
    missing += ["n_read"] if "n_read" not in (header if version == 1 else header.get("facts", {})) else []
    if missing:
        raise DataError(f"lacks the keys {', '.join(missing)}")
    check_facts(header["facts"], _FACT_KEYS)
    entities, relations = unpack_vocabularies(arrays)
    _check_table(arrays, header, len(entities), len(relations))
    if "audit" in header and not _is_audit(header["audit"]):
        raise DataError(f"has an impossible 'audit': {cut_label(repr(header['audit']))}")
    columns: dict[str, Any] = {name: arrays[name] for name in (*TABLE_COLUMNS, *BOUNDED_COLUMNS) if name in arrays}
    for name in ("side", "split"):
        columns[name] = pd.Categorical.from_codes(arrays[name], header[f"categories_{name}"])
    return {
        "table": pd.DataFrame(columns),
        "entities": entities,
        "relations": relations,
        "protocol": Protocol.from_dict(header["protocol"]),
        "notes": header["notes"],
        "facts": header["facts"] | ({"n_read": header["n_read"]} if version == 1 else {}),
        "dropped": header["dropped"],
        "audit": header.get("audit"),  # files of earlier versions have none
        "columns": unpack_columns(arrays, header, len(arrays["s"])),
        # the relation side has rivals only if no other side was ranked
        "rivals": _unpack_rivals(
            arrays, len(arrays["s"]), len(relations if header["categories_side"] == [RELATION] else entities)
        ),
    }


def check_facts(facts: Any, wanted: Sequence[str]) -> None:
    """Raise a DataError if the entry ``"facts"`` of a saved result lacks a key, or has a value of a wrong type.

    Parameters
    ----------
    facts : dict
        The header entry ``"facts"``.
    wanted : sequence of str
        The keys that `facts` must contain.
    """
    missing = [name for name in wanted if not isinstance(facts, dict) or name not in facts]
    if missing:
        raise DataError(f"'facts' lacks the keys {', '.join(missing)}")
    for name, value in facts.items():
        is_right = True
        if name.startswith("n_"):
            is_right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        elif name in _KINDS:
            kind, inner = _KINDS[name]
            parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            is_right = isinstance(value, kind) and all(isinstance(part, inner) for part in parts)
        if not is_right:
            raise DataError(f"'facts' has an impossible {name!r}: {cut_label(repr(value))}")


def _is_audit(value: Any) -> bool:
    """Return whether the entry ``"audit"`` of a header is what `kgeval.audit.data_audit.brief_audit` returns."""
    texts = dict.fromkeys(("kind", "relation", "split", "example", "effect"), str)
    kinds: dict[str, Any] = {**texts, "share": (int, float), "count": int}
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in ("dataset", "fingerprint", "size"))
        and isinstance(value.get("findings"), list)
        and all(
            isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in kinds.items())
            for found in value["findings"]
        )
    )


def unpack_columns(arrays: Arrays, header: dict[str, Any], n_rows: int) -> pd.DataFrame | None:
    """Return the columns that `pack_columns` packed; None if there are none.

    Parameters
    ----------
    arrays : dict of str to array
    header : dict
    n_rows : int
        Expected number of rows of each column.

    Returns
    -------
    pandas.DataFrame or None

    Raises
    ------
    DataError
        If a column does not have `n_rows` rows.
    """
    if "columns" not in header:
        return None
    columns: dict[str, Any] = {}
    for i, description in enumerate(header["columns"]):
        values: Any = arrays[_COLUMN.format(i)]
        if values.shape != (n_rows,):
            raise DataError(f"column {description['name']!r} has shape {values.shape}; the table has {n_rows} rows")
        if "categories" in description:
            categories = pd.Index(description["categories"], dtype=object)
            values = pd.Categorical.from_codes(values, categories, ordered=description["ordered"])
        columns[description["name"]] = values
    return pd.DataFrame(columns, index=pd.RangeIndex(n_rows))


def _unpack_rivals(arrays: Arrays, n_rows: int, n_ids: int) -> pd.DataFrame | None:
    """Check and return the table of rivals; None if the file has no rivals."""
    if _RIVAL.format("row") not in arrays:
        return None
    rivals = {name: arrays[_RIVAL.format(name)] for name in RIVAL_COLUMNS}
    if len({values.shape for values in rivals.values()}) > 1:
        raise DataError(f"columns of the rivals differ in length: {[values.shape for values in rivals.values()]}")
    check_ids("row of a rival", rivals["row"], n_rows, (None,))
    check_ids("entity of a rival", rivals["entity"], n_ids, (None,))
    return pd.DataFrame(rivals)


def _kind(protocol: dict[str, Any]) -> str:
    """Return the kind of the candidates of a saved protocol."""
    candidates = protocol.get("candidates", "")
    return str(candidates.get("kind", "") if isinstance(candidates, dict) else candidates)


def _check_table(arrays: Arrays, header: dict[str, Any], n_entities: int, n_relations: int) -> None:
    """Raise a DataError if lengths, ids or counts in the columns of a saved table are not consistent."""
    lengths = {name: arrays[name].shape for name in (*TABLE_COLUMNS, *BOUNDED_COLUMNS) if name in arrays}
    if len(set(lengths.values())) > 1 or arrays["s"].ndim != 1:
        raise DataError(f"columns differ in length: {lengths}")
    TripleSet(np.column_stack([arrays[name] for name in "spo"]), n_entities, n_relations, "columns s, p, o")
    for name in ("side", "split"):
        check_ids(name, arrays[name], len(header[f"categories_{name}"]), (None,))
    # If each positive has its own list of candidates, a list may contain an entity more than once. Its length may
    # then exceed the number of entities. Ranks that were read without a dataset are among entities that are not here.
    kind = _kind(header["protocol"]) if isinstance(header["protocol"], dict) else ""
    n_candidates = max(n_entities, n_relations) if RELATION in header["categories_side"] else n_entities
    most = np.iinfo(np.int64).max if kind in (PER_POSITIVE, NOT_KNOWN, OF_TOOL) else n_candidates
    are_unknown = unknown_counts(header["facts"].get("unknown", {}))
    for setting in SETTINGS:
        known = {
            name: check_ids(f"{name}_{setting}", arrays[f"{name}_{setting}"], most, (None,))
            for name in COUNTS
            if f"{name}_{setting}" not in are_unknown
        }
        if "rivals" in known and (known["better"] + known["tied"] > known["rivals"]).any():
            raise DataError(f"better_{setting} + tied_{setting} exceeds rivals_{setting}")
    for name in COUNTS:
        if {f"{name}_raw", f"{name}_filtered"} & set(are_unknown):
            continue
        # In a bounded row, `tied` counts the rivals that may rank above or below the positive. There may be more
        # such rivals in the filtered setting.
        is_compared = ~arrays.get("bounded_filtered", np.zeros(len(arrays["s"]), bool)) | (name != "tied")
        if (arrays[f"{name}_filtered"] > arrays[f"{name}_raw"])[is_compared].any():
            raise DataError("filtered counts exceed raw counts")
