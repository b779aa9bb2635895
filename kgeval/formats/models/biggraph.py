"""The format of PyTorch-BigGraph: a checkpoint folder of HDF5 files.

``checkpoint_version.txt`` contains the number N of the current version. ``embeddings_TYPE_PART.vN.h5`` contains the
vectors of one partition of one entity type (dataset ``embeddings``). ``model.vN.h5`` contains the parameters of the
relations (datasets ``model/relations/I/operator/SIDE/PARAMETER``). ``config.json`` contains the configuration; each
HDF5 file repeats it in the attribute ``config/json``. The labels are not in the checkpoint but in the folder
`entity_path` of the configuration: ``entity_names_TYPE_PART.json``, and ``dynamic_rel_names.json`` for dynamic
relations. Traps:

- In each partition, row numbers start at 0. The import shuffles the entities, so only the files of names give
  the right labels.
- Without dynamic relations, an operator f belongs to the right-hand side: the score of (s, p, o) compares s with f(o).
  With the operator ``complex_diagonal`` the model is ComplEx with the conjugates of the relations; with
  ``translation`` the model is TransE with negated relations.
- With dynamic relations, the left-hand operator is applied to s when o is missing, and the right-hand operator to o
  when s is missing. The right-hand operators are read as inverse relations, whose rows follow after the rows
  of all relations.
- ``global_emb`` adds a vector to all vectors of an entity type; ``max_norm`` shortens longer vectors before scoring.
- ``bias`` and the comparator ``cos`` have no counterpart in `kgeval.models`; they are refused.
- With several entity types, PyTorch-BigGraph ranks only the entities of the types that a relation connects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, check_source, parse_json, read_text, text_array
from kgeval.base.limits import MAX_STORED_RATIO, check_unfolded, factor
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.state_dicts import settings_as_arrays
from kgeval.formats.registry import Format

Table = npt.NDArray[Any]
MODEL_FILE = re.compile(r"model\.v(\d+)\.h5")
EMBEDDINGS_FILE = re.compile(r"embeddings_.+_\d+\.v\d+\.h5")
PARAMETER = re.compile(r"relations/(\d+)/operator/(lhs|rhs)/(\w+)")
GLOBAL = re.compile(r"entities/(.+)/global_embedding")
MAX_PARTITIONS = 100_000  # of one entity type
MAX_NORM = 1e30
MAX_NORM_EPS = 1e-7  # torch divides max_norm by the norm plus this number
# For each operator: the parameters of one relation, and the parameters of all dynamic relations (a row per relation).
OPERATORS = {
    "none": ((), ()),
    "diagonal": (("diagonal",), ("diagonals",)),
    "translation": (("translation",), ("translations",)),
    "linear": (("linear_transformation",), ("linear_transformations",)),
    "complex_diagonal": (("real", "imag"), ("real", "imag")),
}
OPERATORS_OF = {"dot": tuple(OPERATORS), "l2": ("none", "translation"), "squared_l2": ("none", "translation")}
NAMES_HINT = (
    "Copy entity_names_*.json (and dynamic_rel_names.json) from the entity_path of the training into the folder of the "
    "checkpoint; or name files with the labels in the order of the rows: ids=(entities file, relations file) "
    "(--ids FILE,FILE)"
)
TYPES_NOTE = (
    "the model has the entity types {}; PyTorch-BigGraph ranks only entities of the types that a relation connects, "
    "kgeval ranks the candidates of its protocol"
)
SQUARED_NOTE = (
    "the scores of the comparator squared_l2 are squared distances; kgeval's scores are distances, with equal ranks"
)


def sniff(path: Path) -> bool:
    """Return whether a folder, or the folder that contains a model file, is a checkpoint of PyTorch-BigGraph."""
    try:
        folder = _folder(path)
        names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    except OSError:
        return False
    return any(map(MODEL_FILE.fullmatch, names)) and any(map(EMBEDDINGS_FILE.fullmatch, names))


def _folder(path: Path) -> Path:
    """Return the folder of a checkpoint; `path` is this folder or the model file in it."""
    return path.parent if MODEL_FILE.fullmatch(path.name) and path.is_file() else path


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the folder; see `kgeval.load_model`."""
    folder = _folder(path)
    model_file = _model_file(folder)
    version = model_file.name.removeprefix("model.").removesuffix(".h5")
    stored, attribute = _datasets(model_file, "model")
    config = _config(folder, attribute)
    types, is_dynamic = list(config["entities"]), bool(config.get("dynamic_relations"))
    parameters = {name: array for name, array in stored.items() if not GLOBAL.fullmatch(name)}
    shifts = {match[1]: array for name, array in stored.items() if (match := GLOBAL.fullmatch(name))}
    _check_supported(folder, config, types, parameters)
    tables = {(kind, part): _embeddings(folder, config, kind, part, version) for kind, part in _partitions(config)}
    entities = np.concatenate([_moved(folder, config, table, shifts.get(kind)) for (kind, _), table in tables.items()])
    notes: tuple[str, ...] = ()
    arrays: Arrays = {}
    names_folder = _names_folder(folder, config, types[0])
    if "entity_labels" not in said:
        arrays["entity_labels"] = _entity_labels(
            folder, names_folder, {key: len(table) for key, table in tables.items()}
        )
    if "relation_labels" not in said:
        arrays["relation_labels"] = _relation_labels(folder, names_folder, config, is_dynamic)
    if names_folder is not None and names_folder != folder and arrays:
        notes += (f"the labels of the rows were read from {names_folder}",)
    if len(types) > 1:
        notes += (TYPES_NOTE.format(", ".join(types)),)
    if config["comparator"] == "squared_l2":
        notes += (SQUARED_NOTE,)
    model, more, settings = _model(folder, config, entities, parameters)
    said_model = str(said.get("model", model)).lower()
    if said_model != model:
        raise DataError(f"{folder}: its operator and comparator are those of {model}; got model={said['model']!r}")
    arrays |= more | settings_as_arrays(**settings)
    return ModelFile(model_file, arrays, {"model": model}, notes=notes, source="config.json")


def _model_file(folder: Path) -> Path:
    """Return the model file of the current version of a checkpoint."""
    files = [file for file in sorted(folder.iterdir()) if MODEL_FILE.fullmatch(file.name)] if folder.is_dir() else []
    version_file = folder / "checkpoint_version.txt"
    if version_file.is_file():
        version = read_text(version_file).strip()
        wanted = folder / f"model.v{version}.h5"
        if wanted not in files:
            raise DataError(f"{folder}: checkpoint_version.txt says version {version!r}, but there is no {wanted.name}")
        return wanted
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise DataError(
            f"{folder}: expected checkpoint_version.txt, or model.vN.h5 of one version; found {names}. Give the folder "
            "of a checkpoint of PyTorch-BigGraph"
        )
    return files[0]


def _datasets(file: Path, group: str) -> tuple[Arrays, str | None]:
    """Return the datasets of a group of an HDF5 file (or the dataset of this name), and the attribute config/json."""
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(f'{file}: reading HDF5 needs h5py; pip install "kgeval[biggraph]"') from error
    check_source(file)
    arrays: Arrays = {}

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            if item.dtype.kind != "f" or item.nbytes > MAX_STORED_RATIO * factor() * file.stat().st_size:
                raise DataError(
                    f"{file}: {group}/{name} must be numbers that are in this file; got dtype {item.dtype}, shape "
                    f"{item.shape}"
                )
            check_unfolded(file, item.nbytes + sum(array.nbytes for array in arrays.values()))
            arrays[name] = item[...]

    try:
        with h5py.File(file, "r") as content:
            attribute = content.attrs.get("config/json")
            if isinstance(content.get(group), h5py.Dataset):
                add("", content[group])
            elif group in content:
                content[group].visititems(add)
    except (OSError, RuntimeError, KeyError, ValueError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file}: no HDF5 file, or a damaged one ({error})") from None
    return arrays, attribute if isinstance(attribute, str) else None


def _config(folder: Path, attribute: str | None) -> dict[str, Any]:
    """Return the configuration from ``config.json``; without this file, from the attribute of the model file."""
    file = folder / "config.json"
    text = read_text(file) if file.is_file() else attribute
    if text is None:
        raise DataError(f"{folder}: lacks config.json, which contains the operators and the comparator of the model")
    config = parse_json(text, file)
    is_right = isinstance(config, dict) and isinstance(config.get("entities"), dict) and config["entities"]
    relations = config.get("relations") if is_right else None
    is_right = is_right and all(map(_has_partitions, config["entities"].values()))
    if not isinstance(relations, list) or not relations or not is_right or not _are_dicts(relations):
        raise DataError(f"{file}: expected the configuration of PyTorch-BigGraph, with 'entities' and 'relations'")
    max_norm = config.get("max_norm")
    if max_norm is not None and not (type(max_norm) in (int, float) and 0 < max_norm < MAX_NORM):
        raise DataError(f"{file}: max_norm must be a number above 0, or null; got {cut_label(repr(max_norm))}")
    return {"comparator": "cos", **config}  # the default of PyTorch-BigGraph


def _are_dicts(values: list[Any]) -> bool:
    """Return whether all values are dicts."""
    return all(isinstance(value, dict) for value in values)


def _has_partitions(about: Any) -> bool:
    """Return whether the description of an entity type has a valid number of partitions."""
    number = about.get("num_partitions", 1) if isinstance(about, dict) else None
    return type(number) is int and 1 <= number <= MAX_PARTITIONS


def _check_supported(folder: Path, config: dict[str, Any], types: list[str], parameters: Arrays) -> None:
    """Raise a DataError if the model has a part that no model of `kgeval.models` has."""
    comparator, operators = str(config["comparator"]), [_operator(relation) for relation in config["relations"]]
    featurized = [kind for kind in types if config["entities"][kind].get("featurized")]
    reason = ""
    if comparator not in OPERATORS_OF:
        reason = f"the comparator {comparator!r} (supported: {', '.join(OPERATORS_OF)})"
    elif not set(operators) <= set(OPERATORS_OF[comparator]):
        found = next(name for name in operators if name not in OPERATORS_OF[comparator])
        reason = f"the operator {found!r} with the comparator {comparator!r}"
    elif len(set(operators) - {"none"}) > 1:
        reason = f"relations with different operators ({', '.join(sorted(set(operators)))})"
    elif config.get("dynamic_relations") and len(operators) != 1:
        reason = f"dynamic relations and {len(operators)} entries in 'relations'"
    elif config.get("dynamic_relations") and operators == ["none"]:
        reason = "the operator 'none' for dynamic relations"
    elif config.get("bias"):
        reason = "a bias in the first dimension (bias: true)"
    elif featurized:
        reason = f"featurized entities (type {featurized[0]!r})"
    if reason:
        raise DataError(
            f"{folder}: kgeval.models supports no PyTorch-BigGraph model with {reason}. Evaluate it with a function "
            "that scores triples, or with a file of its scores (kgeval help models)"
        )
    unknown = [name for name in parameters if not PARAMETER.fullmatch(name)]
    if unknown:
        raise DataError(f"{folder}: the model file contains {cut_label(unknown[0])!a}, which is not a known parameter")


def _operator(relation: Mapping[str, Any]) -> str:
    """Return the operator that the configuration gives to a relation."""
    return str(relation.get("operator", "none"))


def _partitions(config: dict[str, Any]) -> list[tuple[str, int]]:
    """Return entity type and number of each partition, in the order of the rows."""
    return [
        (kind, part) for kind, about in config["entities"].items() for part in range(about.get("num_partitions", 1))
    ]


def _embeddings(folder: Path, config: dict[str, Any], kind: str, part: int, version: str) -> Table:
    """Return the vectors of one partition."""
    file = folder / f"embeddings_{kind}_{part}.{version}.h5"
    arrays, _ = _datasets(file, "embeddings")
    table: Table | None = arrays.get("")
    if table is None or table.ndim != 2 or table.shape[1] != config.get("dimension", table.shape[1]):
        shape = None if table is None else table.shape
        raise DataError(f"{file}: expected a table 'embeddings' with {config.get('dimension')} columns; got {shape}")
    return table


def _moved(folder: Path, config: dict[str, Any], table: Table, shift: Table | None) -> Table:
    """Return the vectors that the model scores: shortened to `max_norm`, plus the global vector of the entity type."""
    max_norm = config.get("max_norm")
    if max_norm is not None:
        norms = np.linalg.norm(table.astype(np.float64), axis=1, keepdims=True)
        table = table * np.where(norms > max_norm, max_norm / (norms + MAX_NORM_EPS), 1.0)
    has_global = bool(config.get("global_emb", True)) and not config.get("dynamic_relations")
    if has_global != (shift is not None):
        raise DataError(
            f"{folder}: the configuration says global_emb={has_global}, but the model file has "
            f"{'no' if shift is None else 'a'} global embedding"
        )
    if shift is None:
        return table
    if shift.shape != table.shape[1:]:
        raise DataError(f"{folder}: a global embedding must have shape {table.shape[1:]}; got {shift.shape}")
    return table.astype(np.float64) + shift


def _names_folder(folder: Path, config: dict[str, Any], kind: str) -> Path | None:
    """Return the folder with the files of names: the folder of the checkpoint, its parent folder, or `entity_path`."""
    entity_path = str(config.get("entity_path", "")).removeprefix("file://")
    places = [
        folder,
        folder.parent,
        *([Path(entity_path), folder.parent / Path(entity_path).name] if entity_path else []),
    ]
    try:
        return next((place for place in places if (place / f"entity_names_{kind}_0.json").is_file()), None)
    except (OSError, ValueError):
        return None


def _entity_labels(folder: Path, names: Path | None, rows: Mapping[tuple[str, int], int]) -> Table:
    """Return the labels of the entities of all partitions, in the order of the rows."""
    if names is None:
        raise DataError(f"{folder}: nothing says to which entities the rows belong. {NAMES_HINT}")
    labels: list[str] = []
    for (kind, part), n in rows.items():
        file = names / f"entity_names_{kind}_{part}.json"
        listed = _read_names(file)
        if len(listed) != n:
            raise DataError(f"{file}: has {len(listed)} names, but the table of this partition has {n} rows")
        labels += listed
    if len(set(labels)) != len(labels):
        twice = next(label for label, n in Counter(labels).items() if n > 1)
        raise DataError(
            f"{names}: the entity {cut_label(twice)!a} occurs twice in the files of names, perhaps in two entity "
            "types; name the rows by labels that differ (entity_labels=)"
        )
    return text_array(labels)


def _relation_labels(folder: Path, names: Path | None, config: dict[str, Any], is_dynamic: bool) -> Table:
    """Return the labels of the relations, from ``dynamic_rel_names.json`` or from the configuration."""
    if is_dynamic:
        file = None if names is None else names / "dynamic_rel_names.json"
        if file is None or not file.is_file():
            raise DataError(f"{folder}: nothing says to which relations the rows belong. {NAMES_HINT}")
        return text_array(_read_names(file))
    return text_array([str(relation.get("name", "")) for relation in config["relations"]])


def _read_names(file: Path) -> list[str]:
    """Read a JSON list of names."""
    names = parse_json(read_text(file), file)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{file}: expected a JSON list of names")
    return names


def _model(
    folder: Path, config: dict[str, Any], entities: Table, parameters: Arrays
) -> tuple[str, Arrays, dict[str, str | float]]:
    """Return the model of `kgeval.models` with the same scores, its tables, and its settings."""
    names = {_operator(relation) for relation in config["relations"]} - {"none"}
    is_dot = config["comparator"] == "dot"
    operator = names.pop() if names else ("diagonal" if is_dot else "translation")
    settings: dict[str, str | float] = {}
    if config.get("dynamic_relations"):
        sides = [_dynamic_table(folder, operator, side, parameters, entities.shape[1]) for side in ("lhs", "rhs")]
        table, of_object = np.concatenate(sides), False
        settings["inverse_relations"] = "after"
    else:
        table, of_object = _static_table(folder, config, operator, parameters, entities.shape[1]), True
    if parameters:
        raise DataError(
            f"{folder}: the model file contains {cut_label(next(iter(parameters)))!a}, a parameter of no known relation"
        )
    # `table` has one row per relation; the operator is applied to the object if `of_object`, else to the subject.
    if operator == "diagonal":
        return "distmult", {"entities": entities, "relations": table}, settings
    if operator == "complex_diagonal":
        real, imaginary = np.split(table, 2, axis=1)
        conjugate = np.concatenate([real, -imaginary if of_object else imaginary], axis=1)
        return "complex", {"entities": entities, "relations": conjugate}, settings | {"layout": "halves"}
    if operator == "linear":  # s' (W o) = s' W o, and (W s)' o = s' W' o
        matrices = table if of_object else table.transpose(0, 2, 1)
        return "rescal", {"entities": entities, "relations": matrices}, settings
    if not is_dot:  # |s - (o + t)| or |(s + t) - o|
        moved = {"entities": entities, "relations": -table if of_object else table}
        return "transe", moved, settings | {"norm": 2, "normalise": "none"}
    # s (o + t) = s o + s t 1, or (s + t) o = s o + 1 t o: a CP model with twice as many dimensions.
    ones = np.ones_like(entities)
    both = np.concatenate([entities, entities], axis=1)
    one = np.concatenate([entities, ones], axis=1)
    relations = np.concatenate([np.ones_like(table), table], axis=1)
    subjects, objects = (both, one) if of_object else (one, both)
    return "cp", {"subjects": subjects, "objects": objects, "relations": relations}, settings


def _static_table(folder: Path, config: dict[str, Any], operator: str, parameters: Arrays, d: int) -> Table:
    """Return the parameters of all relations, one row each; a relation without an operator gets neutral parameters."""
    rows = []
    for i, relation in enumerate(config["relations"]):
        if _operator(relation) == "none":
            rows.append(_neutral(operator, d))
        else:
            names = [f"relations/{i}/operator/rhs/{name}" for name in OPERATORS[operator][0]]
            rows.append(_checked(folder, operator, names, parameters, (), d))
    return np.stack(rows)


def _dynamic_table(folder: Path, operator: str, side: str, parameters: Arrays, d: int) -> Table:
    """Return the parameters of all dynamic relations for one side, one row per relation."""
    names = [f"relations/0/operator/{side}/{name}" for name in OPERATORS[operator][1]]
    return _checked(folder, operator, names, parameters, (None,), d)


def _neutral(operator: str, d: int) -> Table:
    """Return neutral parameters of an operator: with these parameters, the operator changes no vector."""
    if operator == "linear":
        return np.eye(d)
    if operator == "complex_diagonal":
        return np.concatenate([np.ones(d // 2), np.zeros(d // 2)])
    return np.ones(d) if operator == "diagonal" else np.zeros(d)


def _checked(
    folder: Path, operator: str, names: list[str], parameters: Arrays, rows: tuple[None, ...], d: int
) -> Table:
    """Return the parameters `names` side by side, after a check of their shapes; remove them from `parameters`."""
    parts = []
    for name in names:
        array = parameters.pop(name, None)
        width = d // len(names)
        expected = (width, width) if operator == "linear" else (width,)
        if array is None or array.shape[len(rows) :] != expected or array.ndim != len(rows) + len(expected):
            shape = "nothing" if array is None else f"shape {array.shape}"
            raise DataError(f"{folder}: the operator {operator!r} needs {name} of shape {expected}; got {shape}")
        parts.append(array)
    if len({len(part) for part in parts}) > 1:
        raise DataError(f"{folder}: the parameters {' and '.join(names)} have different numbers of rows")
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


FORMAT = Format("biggraph", sniff, read, "a checkpoint of PyTorch-BigGraph")
