"""Functions that read embedding models: `load_model`, and one module for each file format.

The function `read` of a format takes a path and the settings that the caller gives (a mapping). It returns
`kgeval.formats.checkpoints.model_file.ModelFile`: tables and settings, named as in `kgeval.models`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgeval.base.checks import names_unknown_arguments
from kgeval.base.discovery import import_modules
from kgeval.base.files import check_source
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import tensor_names
from kgeval.formats.checkpoints.id_files import labels_of_ids
from kgeval.formats.checkpoints.model_file import build_model
from kgeval.formats.checkpoints.torch_files import read_torch
from kgeval.formats.models import npz
from kgeval.formats.registry import Format, format_of, formats_of
from kgeval.scorers.models import EmbeddingModel

OF_DATASET = "dataset"  # ids="dataset": the rows are in the order of the ids of the dataset
TORCH_SUFFIXES = (".pt", ".pth", ".pkl", ".ckpt", ".bin", ".pickle")
__all__ = ["load_model", "model_formats"]


@names_unknown_arguments()
def load_model(
    path: str | Path,
    dataset: Dataset,
    *,
    format: str | None = None,
    ids: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    **settings: Any,
) -> EmbeddingModel:
    """Load an embedding model and put the rows of its tables in the order of the ids of a dataset.

    Nothing in the file is ever run: pickles are interpreted, and no class that they name is imported.

    Parameters
    ----------
    path : str or path
        A checkpoint file, or the folder that a training tool wrote. The guide ("models") lists the tools. In an
        ``.npz`` file, the arrays have the names of the parameters of the model in `kgeval.models` (``entities``,
        ``relations``, ``layout``, ``norm``, ...), the array ``model`` names the model, for example ``"complex"``, and
        the arrays ``entity_labels`` and ``relation_labels`` hold the label of each row.
    dataset : Dataset
    format : str, optional
        The name of the file format, such as ``"openke"``; by default the format is recognised by the names and the
        first bytes of the files.
    ids : path, sequence of two paths, or str, optional
        The two files that list the ids and labels of the training, first entities, then relations, such as
        ``entities.dict`` and ``relations.dict``; or a folder that contains both; or the word ``"dataset"`` if the rows
        are in the order of the ids of `dataset`. Needed if neither the checkpoint nor the folder of the dataset
        contains such files. ``.npz`` files, and files of a tool with a documented order (PyKEEN), do not need `ids`:
        without labels, their rows are read in id order, one row for each id of the dataset or for each id that occurs
        in train, and a note says so.
    **settings
        Settings that the file does not contain: ``model``, ``inverse_relations``, and the settings that change the
        scores and have a default in `kgeval.models` (``norm``, ``layout``, ``normalise``, ``phase_unit``;
        ``batch_norm_eps`` for the tensors ``bn_0.*`` and ``bn_1.*`` of TuckER). These defaults are never used for a
        file: if neither the file nor the call gives such a setting, an error is raised. A setting that is passed here
        replaces the value in the file; if the two values differ, the ``notes`` of the model mention this.

        ``entity_labels`` and ``relation_labels`` are the labels of the rows; the word ``"ids"`` instead of labels means
        that the rows are in id order. If the file contains the labels of entities only, or of relations only, pass the
        other labels. ``ignore`` names arrays of the file that do not change the scores, comma-separated or as a list.

    Returns
    -------
    EmbeddingModel
        ``missing_entities`` and ``missing_relations`` are the ids without a row in the file. ``notes`` name the format
        of the file and the assumptions of the reader.

    Raises
    ------
    DataError
        If the file has no known format or is damaged, if an array is missing or not known, or if the rows cannot be
        matched to the dataset. Also if a setting that changes the scores is in neither the file nor the call; if the
        file and a configuration beside it contradict each other and the caller does not pass the setting; and if
        relation labels that the dataset lacks may name inverse relations.
    """
    file = Path(path)
    said = {name: value for name, value in settings.items() if value is not None}
    if ids is not None:
        names = ("entity_labels", "relation_labels")
        rows_in_order = isinstance(ids, str) and ids == OF_DATASET
        for name, labels in zip(names, ("ids", "ids") if rows_in_order else labels_of_ids(ids)):
            if name in said:
                raise DataError(f"ids= and {name}= both name the rows; give only one of them")
            said[name] = labels
    file_format = model_format_of(file, format)
    if format is None and file.suffix != ".npy" and not file_format.sniff(file):  # the reader of npz explains .npy
        raise _unknown(file)
    parts = file_format.read(file, said)
    model = build_model(parts, dataset, said)
    if file_format is not npz.FORMAT:
        model.notes += (f"the model was read as {file_format.about}",)
        if file.is_dir() and npz.FORMAT.sniff(file):
            model.notes += ("the .npz files in the folder were not read; to read one, give the path of the file",)
    return model


def model_formats() -> dict[str, Format]:
    """Return the formats of models, by name."""
    return formats_of(import_modules(__name__, __path__))


def model_format_of(path: Path, forced: str | None = None) -> Format:
    """Return the format of a model file or folder; see `kgeval.formats.registry.format_of`.

    Parameters
    ----------
    path : Path
    forced : str, optional
        The name of the format, if the caller gives it.
    """
    option = "format=NAME (on the command line: --model-format NAME)"
    return format_of(path, model_formats(), npz.FORMAT, forced, option)


def _unknown(path: Path) -> DataError:
    """Return the error about a path that no format recognises."""
    if not path.is_dir():
        check_source(path)
    names = list(tensor_names(path)) if path.is_file() else sorted(child.name for child in path.iterdir())
    if not names and path.suffix in TORCH_SUFFIXES:
        read_torch(path)  # raises an error that says what is wrong with a torch file
    what = "tensors" if path.is_file() else "files"
    holds = f"; its {what} are {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}" if names else ""
    return DataError(
        f"{path}: no format of models recognises it{holds}. Formats are {', '.join(model_formats())}; choose one with "
        f"format=NAME (--model-format NAME), see what is in the file with kgeval inspect {path}, or save its tables as "
        "an .npz file (kgeval help models)"
    )
