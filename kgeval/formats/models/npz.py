"""The format of embedding models in ``.npz`` files; `load_model` reads them with this module.

The reader sorts the rows of the tables by the ids of a dataset.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, check_one_of
from kgeval.data import Dataset
from kgeval.errors import DataError
from kgeval.files import Arrays, read_arrays, read_text
from kgeval.formats.registry import Format
from kgeval.scorers.models import INVERSE_ROWS, MODELS, BatchNorm, EmbeddingModel

ENTITY_TABLES = ("entities", "subjects", "objects")
RELATION_TABLES = ("relations", "relations_inverse")
ALIASES = {"entity": "entities", "relation": "relations", "core_tensor": "core"}
LABEL_ARRAYS = {"entities": "entity_labels", "relations": "relation_labels"}


def _sniff(path: Path) -> bool:
    """Return whether `path` is an ``.npz`` file, or a folder that contains one."""
    return path.suffix == ".npz" or (path.is_dir() and any(path.glob("*.npz")))


def _read(path: Path, dataset: Dataset, **settings: Any) -> EmbeddingModel:
    """Read the file; see `kgeval.load_model`."""
    file = _npz_file(path)
    arrays = {ALIASES.get(name, name): array for name, array in read_arrays(file).items()}
    options = {
        **_pykeen_settings(file),
        **{name: value for name, value in settings.items() if value is not None},
    }
    text = {name: str(array) for name, array in arrays.items() if array.ndim == 0}  # the settings in the file
    notes = tuple(
        f"the model file says {option}={text[option]!r}; the setting {option}={value!r} replaced this"
        for option, value in settings.items()
        if option in text and value is not None and str(value).lower() != text[option].lower()
    )
    name = str(options.pop("model", text.pop("model", "")) or "").lower()
    if not name:
        raise DataError(f"{file}: does not name its model; set model= (--model-type) to one of {', '.join(MODELS)}")
    kind = MODELS[check_one_of("model", name, MODELS, DataError)]
    parameters: dict[str, Any] = {**arrays, **_batch_norms(arrays, kind), **options}
    accepted = inspect.signature(kind).parameters
    unknown = [option for option in options if option not in accepted]
    if unknown:
        raise DataError(f"{kind.__name__} has no setting {unknown[0]!r}; it has {', '.join(accepted)}")
    missing = [p.name for p in accepted.values() if p.default is p.empty and p.name not in parameters]
    if missing:
        raise DataError(
            f"{file}: {kind.__name__} needs {', '.join(missing)}; the file contains {', '.join(arrays) or 'nothing'}"
        )
    values = {name: _scalar(parameters[name]) for name in accepted if name in parameters}
    model = _align_rows(file, kind, values, arrays, dataset)
    model.notes += notes
    return model


def _npz_file(path: Path) -> Path:
    """Return the only ``.npz`` file of a folder; any other path is returned unchanged."""
    if not path.is_dir():
        return path
    files = sorted(path.glob("*.npz"))
    if len(files) != 1:
        raise DataError(f"{path}: expected one .npz file in the folder, found {len(files)}; name the file")
    return files[0]


def _pykeen_settings(file: Path) -> dict[str, Any]:
    """Return the settings in the ``config.json`` that PyKEEN wrote beside the model; empty if there is no such file."""
    config = file.parent / "config.json"
    if not config.is_file():
        return {}
    text = read_text(config)
    try:
        content = json.loads(text)
    except ValueError as error:
        raise DataError(
            f"{config}: not JSON ({error}). This file may describe how to read the model: repair or move it"
        ) from None
    try:
        pipeline = content["pipeline"]
        name = pipeline["model"].lower()
        is_inverse = pipeline.get("dataset_kwargs", {}).get("create_inverse_triples", False)
        norm = pipeline.get("model_kwargs", {}).get("scoring_fct_norm", 1 if name == "transe" else 2)
    except (KeyError, AttributeError, TypeError):  # not a configuration of PyKEEN
        return {}
    settings: dict[str, Any] = {"model": name, "inverse_relations": "alternating" if is_inverse else None}
    if name in ("complex", "rotate"):
        settings["layout"] = "interleaved"
    if name in ("transe", "rotate"):
        settings["norm"] = norm
    return settings


def _batch_norms(arrays: Arrays, kind: type[EmbeddingModel]) -> dict[str, BatchNorm]:
    """Return the batch normalisations of a TuckER model of PyKEEN, from its tensors ``bn_0.*`` and ``bn_1.*``."""
    norms = {}
    for prefix, setting in (("bn_0", "subject_norm"), ("bn_1", "product_norm")):
        names = [f"{prefix}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        missing = [name for name in names if name not in arrays]
        if 0 < len(missing) < len(names):
            raise DataError(f"the model file has tensors {prefix}.*, but lacks {', '.join(missing)}")
        if setting in inspect.signature(kind).parameters and not missing:
            weight, bias, mean, var = (arrays[name] for name in names)
            norms[setting] = BatchNorm(weight, bias, mean, var)
    return norms


def _scalar(value: Any) -> Any:
    """Return an array without dimensions as a Python value, and any other value unchanged."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _align_rows(
    file: Path, kind: type[EmbeddingModel], values: dict[str, Any], arrays: Arrays, dataset: Dataset
) -> EmbeddingModel:
    """Make the model, with the rows of its tables in id order; an id without a row in the file gets a row of NaN."""
    for name in (*ENTITY_TABLES, *RELATION_TABLES):
        if name in values and np.ndim(values[name]) < 2:
            raise DataError(f"{file}: {name} must be a table, one row per id; got shape {np.shape(values[name])}")
        if name in values and values[name].dtype.kind not in "iufc":
            raise DataError(f"{file}: {name} must be a real numeric array; got dtype {values[name].dtype}")
    entity_table = next(name for name in ENTITY_TABLES if name in values)
    n_rows = len(values["relations"])
    inverse = values.get("inverse_relations")
    if inverse is not None:
        check_one_of("inverse_relations", inverse, INVERSE_ROWS, DataError)
    entity_ids = _row_ids(file, "entities", len(values[entity_table]), arrays, dataset)
    relation_ids = _row_ids(file, "relations", n_rows // 2 if inverse else n_rows, arrays, dataset)
    for name in set(ENTITY_TABLES) & set(values):
        values[name] = _placed(values[name], entity_ids, len(dataset.entities))
    # relation_rows[i], (rows of the file,): the row of the model's relation tables to which row i of the file goes; -1
    # if the relation is not in the dataset. n: the number of rows of these tables, one for each relation, or two with
    # inverse relations.
    n = len(dataset.relations)
    if inverse == "after":
        relation_rows, n = (
            np.concatenate([relation_ids, np.where(relation_ids < 0, -1, relation_ids + n)]),
            2 * n,
        )
    elif inverse == "alternating":
        both = np.column_stack([2 * relation_ids, 2 * relation_ids + 1])
        relation_rows, n = np.where(np.repeat(relation_ids < 0, 2), -1, both.ravel()), 2 * n
    else:
        relation_rows = relation_ids
    for name in set(RELATION_TABLES) & set(values):
        values[name] = _placed(values[name], relation_rows, n)
    model = kind(**values)
    if LABEL_ARRAYS["entities"] not in arrays:
        kept = "all entities" if len(entity_ids) == len(dataset.entities) else "the entities that occur in train"
        model.notes += (f"the model file has no entity_labels: its rows were read as {kept}, in id order",)
    model.missing_entities = np.setdiff1d(np.arange(len(dataset.entities)), entity_ids)
    model.missing_relations = np.setdiff1d(np.arange(len(dataset.relations)), relation_ids)
    return model


def _row_ids(file: Path, kind: str, n_rows: int, arrays: Arrays, dataset: Dataset) -> Ids:
    """Return the id of each row, int64 (rows,); -1 if the row's label is not in the dataset.

    `kind` is ``"entities"`` or ``"relations"``. If the file has no labels, the rows are all ids in order, or
    only the ids that occur in train.
    """
    vocabulary, is_seen = (
        (dataset.entities, dataset.is_seen_entity)
        if kind == "entities"
        else (dataset.relations, dataset.is_seen_relation)
    )
    labels = arrays.get(LABEL_ARRAYS[kind])
    if labels is not None:
        if labels.shape != (n_rows,) or labels.dtype.kind != "U" or len(set(labels.tolist())) != n_rows:
            raise DataError(f"{file}: {LABEL_ARRAYS[kind]} must be {n_rows} distinct strings, one per row of {kind}")
        ids = vocabulary.find(labels.tolist())
        if (ids < 0).all():
            raise DataError(
                f"{file}: none of its {n_rows} {kind} (such as {str(labels[0])!r}) is in dataset {dataset.name!r}"
            )
        return ids
    if n_rows not in (len(vocabulary), int(is_seen.sum())):
        is_doubled = kind == "relations" and n_rows == 2 * len(vocabulary)
        remedy = (
            "If half of the rows are inverse relations, set inverse_relations='after' or 'alternating'"
            if is_doubled
            else f"Add {LABEL_ARRAYS[kind]} to the file to match rows by label"
        )
        raise DataError(
            f"{file}: has rows for {n_rows} {kind}; dataset {dataset.name!r} has {len(vocabulary)} "
            f"({int(is_seen.sum())} in train). {remedy}"
        )
    return np.arange(len(vocabulary)) if n_rows == len(vocabulary) else np.flatnonzero(is_seen)


def _placed(table: npt.NDArray[Any], ids: Ids, n: int) -> npt.NDArray[Any]:
    """Return a table with `n` rows: row i of `table` becomes row ``ids[i]``, and all other rows are NaN.

    If ``ids[i]`` is -1, row i of `table` is left out.
    """
    if len(ids) != len(table):
        raise DataError(f"the tables of the model have {len(ids)} and {len(table)} rows; the numbers must be equal")
    if len(ids) == n and np.array_equal(ids, np.arange(n)):
        return table
    if table.dtype.kind not in "fc":
        table = table.astype(np.float64)
    placed = np.full((n, *table.shape[1:]), np.nan, dtype=table.dtype)
    placed[ids[ids >= 0]] = table[ids >= 0]
    return placed


FORMAT = Format("npz", _sniff, _read)
