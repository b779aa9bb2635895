"""The content of the files that `ClassificationResult.save` writes and `kgeval.load_result` reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import check_ids
from kgeval.base.files import Arrays
from kgeval.classification.example_clusters import POSITIVE
from kgeval.data.triples import TripleSet
from kgeval.errors import DataError
from kgeval.metrics.pointwise.cuts import decide_by_threshold
from kgeval.results.files import check_facts, pack_columns, pack_vocabularies, unpack_columns, unpack_vocabularies

_TABLE = {"s": "iu", "p": "iu", "o": "iu", "label": "b", "score": "f", "threshold": "f", "predicted": "b"}
_OPTIONAL = {"probability": "f", POSITIVE: "iu"}
_FACT_KEYS = (
    "dataset", "dataset_fingerprint", "observations", "negatives", "negatives_sha256", "sample_seed", "version",
    "n_valid_positive", "n_valid_negative", "n_test_positive", "n_test_negative",
)  # fmt: skip
FIRST_VERSION = 2  # the first version of the file format that supports classifications
_THRESHOLDS = {"threshold": "f", "n_valid_positive": "iu", "n_valid_negative": "iu", "n_test": "iu", "is_own": "b"}


def pack_classification(parts: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the header to save for a ClassificationResult.

    Parameters
    ----------
    parts : dict
        The parameters of ClassificationResult without ``dataset``: name -> value.

    Returns
    -------
    arrays : dict of str to array
    header : dict
        Values that JSON can store.
    """
    table, thresholds = parts["table"], parts["thresholds"].assign(is_own=parts["thresholds"]["source"] == "relation")
    arrays: Arrays = {str(name): table[name].to_numpy() for name in table}
    arrays |= {f"thresholds_{name}": thresholds[name].to_numpy() for name in _THRESHOLDS}
    arrays["thresholds_relation"] = parts["relations"].ids(thresholds.index.to_numpy())
    arrays["global_threshold"] = np.array(parts["global_threshold"])
    column_arrays, column_header = pack_columns(parts["columns"])
    arrays |= pack_vocabularies(parts["entities"], parts["relations"]) | column_arrays
    return arrays, {"facts": parts["facts"], "dropped": parts["dropped"], "notes": list(parts["notes"])} | column_header


def unpack_classification(arrays: Arrays, header: dict[str, Any], version: int) -> dict[str, Any]:
    """Check the arrays and the header from a file, and return the parameters of ClassificationResult.

    Parameters
    ----------
    arrays : dict of str to array
    header : dict
    version : int
        The version of the file format.

    Returns
    -------
    dict
        Name of the parameter -> value; the parameter ``dataset`` is left out.

    Raises
    ------
    DataError
        If this version of the file format does not support classifications, or if the file is damaged.
    """
    if version < FIRST_VERSION:
        raise DataError(f"version {version} of the file format does not support classifications")
    facts = header["facts"]
    if isinstance(facts, dict) and "seed" in facts and "sample_seed" not in facts:  # a file of kgeval 0.1
        facts = {"sample_seed" if name == "seed" else name: value for name, value in facts.items()}
    check_facts(facts, _FACT_KEYS)
    entities, relations = unpack_vocabularies(arrays)
    of_thresholds = {f"thresholds_{name}": kind for name, kind in _THRESHOLDS.items()}
    kinds = {**_TABLE, **of_thresholds, "global_threshold": "f"}
    kinds |= {name: kind for name, kind in _OPTIONAL.items() if name in arrays}
    for name, allowed in kinds.items():
        if arrays[name].dtype.kind not in allowed:
            raise DataError(f"array {name!r} has the wrong dtype {arrays[name].dtype}")
        if allowed == "f" and np.isnan(arrays[name]).any():
            raise DataError(f"array {name!r} contains NaN")
    names_of_table = [name for name in (*_TABLE, *_OPTIONAL) if name in kinds]
    for names in (names_of_table, list(of_thresholds)):
        shapes = {name: arrays[name].shape for name in names}
        if len(set(shapes.values())) > 1 or arrays[names[0]].ndim != 1:
            raise DataError(f"columns differ in length: {shapes}")
    if not np.array_equal(arrays["predicted"], decide_by_threshold(arrays["score"], arrays["threshold"])):
        raise DataError("column 'predicted' does not equal score >= threshold")
    table = pd.DataFrame({name: arrays[name] for name in names_of_table})
    TripleSet(table[["s", "p", "o"]].to_numpy(), len(entities), len(relations), "columns s, p, o")
    relation_ids = check_ids("relation of a threshold", arrays["thresholds_relation"], len(relations), (None,))
    labels = np.array(relations.labels, dtype=object)[relation_ids]
    columns = {name: arrays[f"thresholds_{name}"] for name in _THRESHOLDS}
    thresholds = pd.DataFrame(columns, index=pd.Index(labels, name="relation", dtype=object))
    source = np.where(thresholds.pop("is_own"), "relation", "global").astype(object)
    thresholds.insert(len(thresholds.columns) - 1, "source", source)
    return {
        "table": table,
        "thresholds": thresholds,
        "global_threshold": float(arrays["global_threshold"]),
        "entities": entities,
        "relations": relations,
        "facts": facts,
        "dropped": header["dropped"],
        "notes": header["notes"],
        "columns": unpack_columns(arrays, header, len(table)),
    }
