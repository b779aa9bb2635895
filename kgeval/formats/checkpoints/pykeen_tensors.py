"""Read the tables and the labels of PyKEEN's models; the formats ``npz`` and ``pykeen`` call these functions.

PyKEEN names its tensors in two ways. Since version 1.9, and for some models before it, a model is an ``ERModel``:
``entity_representations.0._embeddings.weight``, ``relation_representations.0._embeddings.weight``, with the numbers 1,
2, ... for further tables of the same entities. Older models have ``entity_embeddings._embeddings.weight`` and
``relation_embeddings._embeddings.weight``. Traps:

- SimplE of an ``ERModel`` is the mean of two DistMult scores, each with a separate table of entities. Older versions
  of PyKEEN have the formula of the paper, which is different.
- The score of QuatE has a minus sign. Before PyKEEN 1.10, QuatE rotates by quaternions whose norms are not 1; such
  models are refused.
- The parts of complex numbers and of quaternions are neighbours (interleaved). Only in ComplEx with the older names,
  all real parts come first.
- The batch normalisations of TuckER are ``bn_0`` and ``bn_1``, and since 1.9 ``interaction.head_batch_norm`` and
  ``interaction.head_relation_batch_norm``. Without these, the scores of TuckER are plausible but wrong.
- The files of labels quote a label that contains a tab or a quotation mark. A label ``NA`` is a label.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, text_array
from kgeval.errors import DataError
from kgeval.formats.checkpoints.model_file import SORTED
from kgeval.formats.checkpoints.plain_files import LABEL_ARRAYS
from kgeval.formats.checkpoints.state_dicts import as_matrices, renamed
from kgeval.formats.checkpoints.torch_files import read_torch
from kgeval.formats.unpacking import open_packed

ENTITIES = "entity_representations.{}._embeddings.weight"
RELATIONS = "relation_representations.{}._embeddings.weight"
OLD_ENTITIES, OLD_RELATIONS = "entity_embeddings._embeddings.weight", "relation_embeddings._embeddings.weight"
OLD_OBJECTS, OLD_INVERSES = (
    "tail_entity_embeddings._embeddings.weight",
    "inverse_relation_embeddings._embeddings.weight",
)
PYKEEN_ANCHORS = (ENTITIES.format(0), OLD_ENTITIES)
CORES = ("interaction.core_tensor", "core_tensor")
PYKEEN_BATCH_NORMS = {
    "interaction.head_batch_norm.": "bn_0.",
    "interaction.head_relation_batch_norm.": "bn_1.",
}
QUATERNION_TABLE = "interaction.table"
WITHOUT_EFFECT = ("loss.", "regularizer.", "weight_regularizers.")  # tensors that only the training uses
FUNCTION = "Evaluate a function that calls PyKEEN to score triples (kgeval help models)"  # advice for a refused model
TRAINING = "training_triples"
LABEL_FILES = ("entity_to_id", "relation_to_id")
TABLES = ("entities", "subjects", "objects", "relations", "relations_inverse")
PYKEEN_MODELS = ("transe", "distmult", "complex", "rotate", "rescal", "tucker", "hole", "cp", "simple", "quate")


def pykeen_tables(file: Path, model: str, tensors: Arrays) -> Arrays:
    """Return the tensors of a model of PyKEEN under the names of the parameters of `kgeval.models`.

    Parameters
    ----------
    file : Path
        For messages.
    model : str
        One of `PYKEEN_MODELS`.
    tensors : dict of str to array
        The state dict of the model.

    Returns
    -------
    dict of str to array
        For SimplE and QuatE, the setting ``form`` is added. Tensors of the loss and of regularizers are left out; any
        other tensor that is not a part of the model keeps its name.

    Raises
    ------
    DataError
        If a table is missing, or is no table.
    """
    kept = {name: tensor for name, tensor in tensors.items() if not _has_no_effect(name, tensor)}
    names = _names(model, kept)
    missing = [name for name in names if name not in kept]
    if missing:
        raise DataError(
            f"{file}: lacks the tensor {missing[0]} of PyKEEN's {model}; it contains "
            f"{', '.join(map(cut_label, tensors)) or 'none'}. Is model={model!r} right (--model-type)?"
        )
    arrays = renamed(file, kept, names)
    for name, table in names.items():
        if table in TABLES and arrays[table].ndim != 2:
            raise DataError(f"{file}: {name} must be a table, one row per id; got shape {arrays[table].shape}")
    if model == "rescal":
        name = next(name for name, table in names.items() if table == "relations")
        arrays["relations"] = as_matrices(file, name, arrays["relations"], arrays["entities"].shape[1])
    if model == "quate" and QUATERNION_TABLE not in tensors:
        raise DataError(
            f"{file}: lacks the tensor {QUATERNION_TABLE}, which QuatE of PyKEEN 1.10 and later has; earlier versions "
            f"do not divide the quaternions of relations by their norms, as kgeval.models.QuatE does. {FUNCTION}"
        )
    if model == "quate" or (model == "simple" and OLD_OBJECTS not in names):
        arrays["form"] = np.array("pykeen")
    if model in ("complex", "rotate", "quate"):
        is_halves = model == "complex" and OLD_ENTITIES in names
        arrays["layout"] = np.array("halves" if is_halves else "interleaved")
    return arrays


def _names(model: str, tensors: Collection[str]) -> dict[str, str]:
    """Return a dict from the names of the tensors of a model to the names in `kgeval.models`."""
    is_old = OLD_ENTITIES in tensors
    entities = (OLD_ENTITIES, OLD_OBJECTS) if is_old else (ENTITIES.format(0), ENTITIES.format(1))
    relations = (OLD_RELATIONS, OLD_INVERSES) if is_old else (RELATIONS.format(0), RELATIONS.format(1))
    if model in ("cp", "simple"):
        names = {entities[0]: "subjects", entities[1]: "objects", relations[0]: "relations"}
        return names | ({relations[1]: "relations_inverse"} if model == "simple" else {})
    names = {entities[0]: "entities", relations[0]: "relations"}
    if model == "tucker":
        names[next((name for name in CORES if name in tensors), CORES[0])] = "core"
        for prefix, new in PYKEEN_BATCH_NORMS.items():
            names |= {name: new + name.removeprefix(prefix) for name in tensors if name.startswith(prefix)}
    return names


def _has_no_effect(name: str, tensor: Any) -> bool:
    """Return whether scores do not depend on a tensor: part of the loss or a regularizer, a counter or a constant."""
    if name == QUATERNION_TABLE:
        return np.array_equal(tensor, quaternion_table())
    is_counter = name.endswith(".num_batches_tracked") and tensor.ndim == 0
    return name.startswith(WITHOUT_EFFECT) or ".regularizer." in name or is_counter


def quaternion_table() -> Any:
    """Return PyKEEN's multiplication table of the quaternion units 1, i, j, k.

    Element ``[i, j, k]`` is part k of the product of the units i and j.

    Returns
    -------
    float64 array, shape (4, 4, 4)
    """
    table = np.zeros((4, 4, 4))
    table[0, range(4), range(4)] = table[range(4), 0, range(4)] = 1
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        table[i, i, 0], table[i, j, k], table[j, i, k] = -1, 1, -1
    return table


def pykeen_labels(folder: Path) -> tuple[Arrays, str, str]:
    """Read the labels of the rows from the training triples in a folder of PyKEEN.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    arrays : dict of str to array
        ``entity_labels`` and ``relation_labels``; empty if the folder has no labels.
    row_order : str
        For `ModelFile.row_order`: ``"sorted by label"``, PyKEEN's default, if the folder has no training triples; else
        empty.
    label_source : str
        For `ModelFile.label_source`: the files from which the labels were read; empty if the folder has no labels.

    Raises
    ------
    DataError
        If a file of labels is damaged, or its ids are not 0, 1, 2, ...
    """
    training = folder / TRAINING
    if training.is_file():  # PyKEEN before 1.8
        content = read_torch(training)
        mappings = [content.get(name) if isinstance(content, dict) else None for name in LABEL_FILES]
        if not all(isinstance(mapping, dict) for mapping in mappings):
            return {}, "", ""
        return labels_of_mappings(training, *mappings), "", TRAINING
    if not training.is_dir():
        return {}, SORTED, ""
    files = [training / f"{name}.tsv.gz" for name in LABEL_FILES]
    if not any(file.is_file() for file in files):
        return {}, "", ""
    lacking = next((file for file in files if not file.is_file()), None)
    if lacking is not None:
        raise DataError(f"{lacking}: no such file, though {TRAINING} contains the other file of labels")
    arrays = {name: text_array(_read_labels(file)) for name, file in zip(LABEL_ARRAYS, files)}
    return arrays, "", f"{TRAINING}/{{{','.join(LABEL_FILES)}}}.tsv.gz"


def labels_of_mappings(file: Path, entities: Any, relations: Any) -> Arrays:
    """Return the labels of the rows from two dicts ``{label: id}`` of a checkpoint.

    Parameters
    ----------
    file : Path
        For messages.
    entities, relations : dict of str to int

    Returns
    -------
    dict of str to array
        ``entity_labels`` and ``relation_labels``.

    Raises
    ------
    DataError
        If the ids are not 0, 1, 2, ...
    """
    arrays = {}
    for name, mapping in zip(LABEL_ARRAYS, (entities, relations)):
        is_right = isinstance(mapping, dict) and all(
            isinstance(label, str) and type(i) is int for label, i in mapping.items()
        )
        if not is_right or sorted(mapping.values()) != list(range(len(mapping))):
            raise DataError(f"{file}: the {name} must be a dict of labels and their ids 0, 1, 2, ...")
        arrays[name] = text_array(sorted(mapping, key=mapping.__getitem__))
    return arrays


def _read_labels(file: Path) -> list[str]:
    """Read a table with the columns id and label, as pandas writes it: with tabs, and quotation marks if needed."""
    try:
        text = open_packed(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: is not UTF-8 at byte {error.start} of its unpacked content") from None
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True))
    except csv.Error as error:
        raise DataError(f"{file}: {error}") from None
    if not rows or sorted(rows[0]) != ["id", "label"]:
        raise DataError(f"{file}, line 1: expected the columns id and label; found {cut_label(repr(rows[:1]))}")
    i, j = rows[0].index("id"), rows[0].index("label")
    labels: dict[int, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != 2 or not (row[i].isascii() and row[i].isdecimal()) or len(row[i]) > 18:
            raise DataError(f"{file}, line {number}: expected an id and a label; found {cut_label(repr(row))}")
        if int(row[i]) in labels:
            raise DataError(f"{file}, line {number}: the id {row[i]} occurs twice")
        labels[int(row[i])] = row[j]
    if sorted(labels) != list(range(len(labels))):
        raise DataError(f"{file}: expected the ids 0, 1, 2, ... to {len(labels) - 1}; found {max(labels)}")
    return [labels[k] for k in range(len(labels))]


def said_model(said: Mapping[str, Any], name: str, tensors: Collection[str]) -> str:
    """Return the model of a state dict: from the caller, else from `name`, else from the names of its tensors; else "".

    Parameters
    ----------
    said : mapping of str to object
        The settings of the caller.
    name : str
        The model that a configuration names; may be empty.
    tensors : collection of str
        The names of the tensors.
    """
    said_name = str(said.get("model", name)).lower()
    if said_name:
        return said_name
    if any(core in tensors for core in CORES) and ENTITIES.format(1) not in tensors:
        return "tucker"
    return "quate" if QUATERNION_TABLE in tensors else ""
