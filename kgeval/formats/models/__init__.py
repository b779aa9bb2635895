"""Embedding models as files: one module for each format."""

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
    """Load an embedding model, its rows matched to the ids of `dataset`.

    Parameters
    ----------
    path : str or path
        An ``.npz`` file, or a folder that holds one. Its arrays are named like the parameters of the
        model in `kgeval.models` (``entities``, ``relations``, ``layout``, ``norm``, ...), with
        ``model`` (such as ``"complex"``) and, to match rows by label, ``entity_labels`` and
        ``relation_labels``. A folder as PyKEEN writes it (``config.json`` beside the tensors) is
        understood as it is. Without labels, rows are the dataset's ids in order (for files: sorted
        labels), or the ids that train names if there are just so many.
    dataset : Dataset
    **settings
        What the file does not say: ``model``, ``norm``, ``layout``, ``inverse_relations``. One that
        overrules the file is noted in the result.

    Returns
    -------
    EmbeddingModel
        With ``missing_entities`` and ``missing_relations`` set where the file has no row.

    Raises
    ------
    DataError
        If the file holds pickles, lacks an array, or its rows cannot be matched to the dataset.
    """
    file = Path(path)
    how = format_of(file, import_modules(__name__, __path__), npz.FORMAT)
    model: EmbeddingModel = how.read(file, dataset, **settings)
    return model
