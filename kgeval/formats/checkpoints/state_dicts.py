"""Functions that all readers of state dicts use: find the tensors of the model, its name, and the labels of its rows.

A state dict contains only named tensors. The code that wrote the file knows the model and the settings, but the file
contains neither. The readers of PyTorch Geometric, TorchKGE and OpenKE call these functions; if the names of the
tensors do not show the model or a setting, the user must give it.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import tensor_names
from kgeval.formats.checkpoints.id_files import find_id_files
from kgeval.formats.checkpoints.plain_files import label_arrays
from kgeval.scorers.models import MODELS

CHECKPOINT_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".safetensors")
TRAINING_STATE = ("optim", "scheduler", "lr_scheduler", "scaler")  # first words of names: not tensors of the model
UNIT_TOLERANCE = 1e-3


def has_tensor(path: Path, anchors: Collection[str]) -> bool:
    """Return whether a file contains one of the tensors `anchors`, under its name or with a prefix such as ``model.``.

    Parameters
    ----------
    path : Path
    anchors : collection of str
        Names of tensors.
    """
    return bool(_prefixes(tensor_names(path), anchors))


def checkpoint_file(path: Path, anchors: Collection[str]) -> Path | None:
    """Return the file of a checkpoint: `path`, or the only file of the folder `path` with one of the tensors `anchors`.

    Parameters
    ----------
    path : Path
        A file or a folder.
    anchors : collection of str
        Names of tensors.

    Returns
    -------
    Path or None
        None if there is no such file.

    Raises
    ------
    DataError
        If several files of the folder have such tensors.
    """
    if not path.is_dir():
        return path if has_tensor(path, anchors) else None
    files = _files_with(path, anchors)
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:5])
        raise DataError(f"{path}: {len(files)} files of the folder are checkpoints ({names}); give one of the files")
    return files[0] if files else None


def is_checkpoint(path: Path, anchors: Collection[str]) -> bool:
    """Return whether a file, or a file of a folder, contains one of the tensors `anchors`; never raises an error.

    Parameters
    ----------
    path : Path
    anchors : collection of str
        Names of tensors.
    """
    try:
        return bool(_files_with(path, anchors)) if path.is_dir() else has_tensor(path, anchors)
    except OSError:
        return False


def _files_with(folder: Path, anchors: Collection[str]) -> list[Path]:
    """Return the files of a folder that contain one of the tensors `anchors`."""
    return [
        file for file in sorted(folder.iterdir()) if file.suffix in CHECKPOINT_SUFFIXES and has_tensor(file, anchors)
    ]


def _prefixes(names: Collection[str], anchors: Collection[str]) -> set[str]:
    """Return the prefixes of the names `anchors` in the names of the tensors, for example ``"model_state_dict."``."""
    return {
        name.removesuffix(anchor)
        for name in names
        for anchor in anchors
        if (name == anchor or name.endswith(f".{anchor}")) and not name.startswith(TRAINING_STATE)
    }


def model_tensors(file: Path, tensors: Arrays, anchors: Collection[str]) -> Arrays:
    """Return the tensors of the model, under their names in the state dict of the model alone.

    A training checkpoint is often a dict of state dicts: ``{"model_state_dict": ..., "optimizer_state_dict": ...}``.
    The state of the optimizer beside the model is left out; any other tensor beside the model keeps its full name;
    `build_model` then reports it as unused.

    Parameters
    ----------
    file : Path
        For messages.
    tensors : dict of str to array
    anchors : collection of str
        Names of tensors; the model has at least one of them.

    Returns
    -------
    dict of str to array

    Raises
    ------
    DataError
        If the file contains several models, or none.
    """
    prefixes = sorted(_prefixes(tensors, anchors))
    if len(prefixes) != 1:
        found = ", ".join(cut_label(prefix) or "no prefix" for prefix in prefixes[:5]) or "none"
        raise DataError(
            f"{file}: expected the tensors of one model, such as {next(iter(anchors))}; found {len(prefixes)} models "
            f"(prefixes: {found}). Save the state dict of one model"
        )
    prefix = prefixes[0]
    inner = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    beside = {name: tensor for name, tensor in tensors.items() if not name.startswith((prefix, *TRAINING_STATE))}
    return inner | beside


def chosen_model(file: Path, candidates: Mapping[str, str], said: Mapping[str, Any]) -> str:
    """Return the model to which a state dict belongs: the only candidate, or the candidate that the user names.

    Parameters
    ----------
    file : Path
        For messages.
    candidates : mapping of str to str
        The models whose tensors have these names. Key: the name in `kgeval.models`, in lower case; value: the name that
        the tool gives to the model.
    said : mapping of str to object
        The settings of the caller.

    Returns
    -------
    str

    Raises
    ------
    DataError
        If the caller names a model that is not a candidate, or names no model although there are several candidates.
    """
    name = str(said.get("model", "")).lower()
    tools = " or ".join(f"{tool} (model={key!r})" for key, tool in candidates.items())
    if name and name not in candidates:
        raise DataError(f"{file}: its tensors have the names and shapes of {tools}; got model={said['model']!r}")
    if not name and len(candidates) > 1:
        raise DataError(
            f"{file}: its tensors may be those of {tools}, which score differently; set model= (--model-type); transe "
            "needs norm= (--norm) too"
        )
    return name or next(iter(candidates))


def renamed(file: Path, tensors: Arrays, names: Mapping[str, str]) -> Arrays:
    """Return the tensors under the names of the parameters of `kgeval.models`.

    Parameters
    ----------
    file : Path
        For messages.
    tensors : dict of str to array
    names : mapping of str to str
        The new name of some tensors; a tensor with another name keeps it, and `build_model` then refuses the tensor.

    Returns
    -------
    dict of str to array

    Raises
    ------
    DataError
        If a tensor of `names` is missing, or if another tensor has one of the new names.
    """
    missing = [name for name in names if name not in tensors]
    if missing:
        raise DataError(f"{file}: lacks the tensor {missing[0]}; it contains {', '.join(map(cut_label, tensors))}")
    others = {name: tensor for name, tensor in tensors.items() if name not in names}
    known = {*names.values(), *(name for kind in MODELS.values() for name in inspect.signature(kind).parameters)}
    clash = next((name for name in others if name in known), None)
    if clash is not None:
        raise DataError(f"{file}: contains a tensor {clash!r}, which no model of this tool has")
    return {new: tensors[old] for old, new in names.items()} | others


def side_by_side(file: Path, tensors: Arrays, *names: str) -> npt.NDArray[Any]:
    """Return several tables as one table with the columns of all of them; remove the tables from `tensors`.

    Parameters
    ----------
    file : Path
        For messages.
    tensors : dict of str to array
    *names : str
        The tables, such as the real and the imaginary parts of entities.

    Returns
    -------
    array of shape (n, columns of all tables)

    Raises
    ------
    DataError
        If a table is missing, or if the tables have different shapes.
    """
    missing = [name for name in names if name not in tensors]
    if missing:
        raise DataError(f"{file}: lacks the tensor {missing[0]}; it contains {', '.join(map(cut_label, tensors))}")
    tables = [tensors.pop(name) for name in names]
    if any(table.ndim != 2 or table.shape != tables[0].shape for table in tables):
        shapes = ", ".join(f"{name} {table.shape}" for name, table in zip(names, tables))
        raise DataError(f"{file}: expected tables of one shape, two dimensions each; got {shapes}")
    return np.concatenate(tables, axis=1)


def complex_with_scalars(
    file: Path, tensors: Arrays, real: str, imaginary: str, scalars: str | None
) -> npt.NDArray[Any]:
    """Return the tables of real and imaginary parts as one table for ComplEx, real parts first.

    The tables are removed from `tensors`.

    The model Analogy also has scalars, which it multiplies as DistMult does: a scalar is a complex number without an
    imaginary part.

    Parameters
    ----------
    file : Path
        For messages.
    tensors : dict of str to array
    real, imaginary : str
        The tables of the real and the imaginary parts.
    scalars : str or None
        The table of the scalars of Analogy.

    Returns
    -------
    array of shape (n, 2 * d)

    Raises
    ------
    DataError
        If a table is missing, or if the tables do not fit together.
    """
    table = side_by_side(file, tensors, real, imaginary)
    if scalars is None:
        return table
    if scalars not in tensors or tensors[scalars].ndim != 2 or len(tensors[scalars]) != len(table):
        came = f"shape {tensors[scalars].shape}" if scalars in tensors else "no such tensor"
        raise DataError(f"{file}: {scalars} must have {len(table)} rows, as {real} has; got {came}")
    first, (second, third) = tensors.pop(scalars), np.split(table, 2, axis=1)
    return np.concatenate([first, second, np.zeros_like(first), third], axis=1)


def as_matrices(file: Path, name: str, table: npt.NDArray[Any], d: int) -> npt.NDArray[Any]:
    """Return a table of flattened matrices as matrices.

    Parameters
    ----------
    file, name : Path, str
        For messages.
    table : array of shape (n, d * d)
        Each row is a matrix, row by row.
    d : int

    Returns
    -------
    array of shape (n, d, d)

    Raises
    ------
    DataError
        If the table has another shape.
    """
    if table.ndim != 2 or table.shape[1] != d * d or not d:
        raise DataError(f"{file}: {name} must have {d} * {d} columns, as entities have {d}; got shape {table.shape}")
    return table.reshape(-1, d, d)


def said_norm(said: Mapping[str, Any], attribute: Any = None) -> int | None:
    """Return the norm from the caller, else from the attribute of a pickled module; None if the norm is not 1 or 2.

    Parameters
    ----------
    said : mapping of str to object
        The settings of the caller.
    attribute : object
        The norm in the file; None if the file has none.
    """
    norm = said.get("norm", attribute)
    return int(norm) if isinstance(norm, (int, float)) and norm in (1, 2) else None


def settings_as_arrays(**settings: str | float) -> Arrays:
    """Return settings of the file or its tool as arrays without dimensions, the form of `ModelFile.arrays`.

    If the user gives another value for such a setting, `build_model` adds a note.

    Parameters
    ----------
    **settings : str or float

    Returns
    -------
    dict of str to array
    """
    return {name: np.array(value) for name, value in settings.items()}


def not_unit_row(table: npt.NDArray[Any], p: float = 2) -> int | None:
    """Return the first row whose norm is neither 1 nor 0, within `UNIT_TOLERANCE`; None if there is no such row.

    Parameters
    ----------
    table : array of shape (n, d)
    p : float
        The norm: 1 or 2.
    """
    norms = np.linalg.norm(table.astype(np.float64), ord=p, axis=1)
    wrong = np.flatnonzero((np.abs(norms - 1) > UNIT_TOLERANCE) & (norms > 0))
    return int(wrong[0]) if len(wrong) else None


def add_labels(folder: Path, arrays: Arrays) -> str:
    """Add the labels of the rows from the id files in the folder of a checkpoint, if there are any.

    Parameters
    ----------
    folder : Path
    arrays : dict of str to array
        Modified: the keys ``entity_labels`` and ``relation_labels`` are added.

    Returns
    -------
    str
        The `label_source` of `kgeval.formats.checkpoints.model_file.ModelFile`; empty if there are no id files.
    """
    labels, label_source = label_arrays(*(find_id_files(folder) or ()))
    arrays |= labels
    return label_source


def refuse(file: Path, tool: str, tensors: Collection[str], refused: Mapping[str, str]) -> None:
    """Raise a DataError if a tensor belongs to a model that `kgeval.models` does not have.

    Parameters
    ----------
    file : Path
    tool : str
        The name of the library.
    tensors : collection of str
        The names of the tensors in the file.
    refused : mapping of str to str
        Key: the name of a tensor; value: the model that has this tensor.

    Raises
    ------
    DataError
        If there is such a tensor; the message names the model and gives advice.
    """
    found: Sequence[tuple[str, str]] = [(name, model) for name, model in refused.items() if name in tensors]
    if found:
        name, model = found[0]
        raise not_a_model(file, f"{tool}'s {model} (tensor {name})")


def not_a_model(file: Path, what: str) -> DataError:
    """Return a DataError about a model that `kgeval.models` does not have, with advice for the user.

    Parameters
    ----------
    file : Path
    what : str
        The model: ``"OpenKE's TransR"``.

    Returns
    -------
    DataError
    """
    return DataError(
        f"{file}: is {what}, which is not among kgeval.models ({', '.join(MODELS)}). Evaluate it with a function that "
        "scores triples, or with a file of its scores (kgeval help models)"
    )
