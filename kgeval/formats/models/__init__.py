"""Readers of embedding models: `load_model`, and one module for each file format."""

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
    """Load an embedding model and put its rows in the order of the ids of a dataset.

    Parameters
    ----------
    path : str or path
        An ``.npz`` file, or a folder that contains exactly one. The arrays have the names of the
        parameters of the model in `kgeval.models` (``entities``, ``relations``, ``layout``, ``norm``,
        ...). The array ``model`` names the model, for example ``"complex"``. The arrays
        ``entity_labels`` and ``relation_labels`` name the rows; without them, the rows are the ids of
        the dataset in order (for datasets from files: sorted labels), or the ids that occur in train,
        if the number of rows equals theirs. A folder that PyKEEN wrote (``config.json`` beside the
        tensors) needs no change.
    dataset : Dataset
    **settings
        Settings that the file does not contain: ``model``, ``norm``, ``layout``,
        ``inverse_relations``. A setting that differs from the file wins, and a note in the result says so.

    Returns
    -------
    EmbeddingModel
        ``missing_entities`` and ``missing_relations`` are the ids without a row in the file.

    Raises
    ------
    DataError
        If the file contains pickles, lacks an array, or its rows cannot be matched to the dataset.
    """
    file = Path(path)
    file_format = format_of(file, import_modules(__name__, __path__), npz.FORMAT)
    model: EmbeddingModel = file_format.read(file, dataset, **settings)
    return model
