"""Functions that read embedding models: `load_model`, and one module for each file format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.data import Dataset
from kgeval.discovery import import_modules
from kgeval.formats.models import npz
from kgeval.formats.registry import format_of
from kgeval.scorers.models import EmbeddingModel

__all__ = ["load_model"]


def load_model(path: str | Path, dataset: Dataset, **settings: Any) -> EmbeddingModel:
    """Load an embedding model and put the rows of its tables in the order of the ids of a dataset.

    Parameters
    ----------
    path : str or path
        An ``.npz`` file, or a folder that contains exactly one ``.npz`` file. The arrays have the names of the
        parameters of the model in `kgeval.models` (``entities``, ``relations``, ``layout``, ``norm``,
        ...). The array ``model`` names the model, for example ``"complex"``. The arrays
        ``entity_labels`` and ``relation_labels`` hold the label of each row. Without these two arrays, the rows must be
        in id order (for datasets from files, this is the order of the sorted labels): one row for each id of the
        dataset, or one for each id that occurs in train. A folder that PyKEEN wrote (``config.json`` beside the
        tensors) needs no change.
    dataset : Dataset
    **settings
        Settings that the file does not contain: ``model``, ``inverse_relations``, and everything that changes the
        scores and has a default in `kgeval.models` (``norm``, ``layout``, ``normalise``, ``phase_unit``;
        ``batch_norm_eps`` for the tensors ``bn_0.*`` and ``bn_1.*`` of TuckER). These defaults are never used for a
        file: if neither the file nor the call gives such a setting, an error is raised. A setting that is passed here
        replaces the value in the file; if the two values differ, the ``notes`` of the model mention this.

        ``entity_labels`` and ``relation_labels`` are the labels of the rows; the word ``"ids"`` instead of labels means
        that the rows are in id order. If the file contains only one of the two, pass the other. ``ignore`` names arrays
        of the file that do not change the scores, comma-separated or as a list.

    Returns
    -------
    EmbeddingModel
        ``missing_entities`` and ``missing_relations`` are the ids without a row in the file.

    Raises
    ------
    DataError
        If the file contains pickles, if an array is missing or not known, if neither the file nor the call
        gives a setting that changes the scores, if the file and its ``config.json`` give different values for a setting
        and the call gives none, if relation labels that the dataset lacks may name inverse relations, or if the rows
        cannot be matched to the dataset.
    """
    file = Path(path)
    file_format = format_of(file, import_modules(__name__, __path__), npz.FORMAT)
    model: EmbeddingModel = file_format.read(file, dataset, **settings)
    return model
