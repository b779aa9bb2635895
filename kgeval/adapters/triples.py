"""Code for the adapters of torch libraries whose models score single triples: tensors, batches, the exact model."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.adapters.base import IdMap, LibraryScorer
from kgeval.adapters.geometry import certified
from kgeval.base.checks import Ids
from kgeval.base.files import Arrays
from kgeval.data.dataset import Dataset
from kgeval.formats.checkpoints.model_file import ModelFile, build_model
from kgeval.formats.checkpoints.state_dicts import settings_as_arrays
from kgeval.kernels.arrays import Array, library, load_torch
from kgeval.scorers.models import EmbeddingModel

LIVE = Path("the live model")  # in the place of a file, for messages
FOR_TENSORS = (  # the start and the end of the error if torch is missing
    "functions of torch tensors",
    ". For a function of numpy arrays, set arrays='numpy'",
)
MAX_NUMBERS = 1 << 24  # of the vectors of all triples that a library scores at a time


@dataclass(frozen=True)
class TripleRows:
    """Scores queries with candidates, for `LibraryScorer`, with a function that scores single triples.

    Parameters
    ----------
    score_triples : function
        ``score_triples(s, p, o)`` gets int64 arrays and returns one score per triple, shape (n,).
    triple_size : int
        The number of values that the function computes for one triple; it limits the number of triples in one call.
    """

    score_triples: Callable[[Ids, Ids, Ids], Array]
    triple_size: int

    def __call__(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Array:
        """Return the scores of each query with each candidate, shape (queries, candidates)."""
        size = max(1, MAX_NUMBERS // self.triple_size)
        n = len(given) * len(candidates)
        parts = []
        for start in range(0, max(n, 1), size):
            # Triple number i * n_candidates + j is query i with candidate j.
            row, column = np.divmod(np.arange(start, min(start + size, n)), max(1, len(candidates)))
            ends = given[row], candidates[column]
            s, o = ends if side == "object" else ends[::-1]
            parts.append(self.score_triples(s, relation[row], o))
        scores = parts[0] if len(parts) == 1 else library(parts[0]).concatenate(parts)
        return scores.reshape(len(given), len(candidates))


def as_tensor(ids: Ids, device: Any = None) -> Any:
    """Return ids as an int64 tensor of torch.

    Parameters
    ----------
    ids : int64 array
    device : str or torch.device, optional
        By default the CPU.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    MissingExtra
        If torch is not installed.
    """
    torch = load_torch(*FOR_TENSORS)
    return torch.tensor(ids, dtype=torch.int64, device=device)


def device_of(module: Any) -> Any:
    """Return the device of the first parameter or buffer of a module of torch; None if there is no such tensor.

    Parameters
    ----------
    module : torch.nn.Module or None
    """
    for tensors in (getattr(module, "parameters", None), getattr(module, "buffers", None)):
        first = next(iter(tensors()), None) if callable(tensors) else None
        if first is not None:
            return first.device
    return None


def ids_for(model: Any, *ids: Ids) -> tuple[Any, ...]:
    """Return arrays of ids in the form that a model takes.

    If the model is a torch module, these are tensors on the device of the module; else they are copies of the arrays.

    Parameters
    ----------
    model : object
    *ids : int64 arrays
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return tuple(part.copy() for part in ids)
    device = device_of(model)
    return tuple(as_tensor(part, device) for part in ids)


def row_size(model: Any, left_out: str = "") -> int:
    """Return the length of the longest row of the parameters of a module of torch.

    The module computes about this number of values for a triple.

    Parameters
    ----------
    model : torch.nn.Module
    left_out : str
        The name of a parameter that is not considered.
    """
    parameters = [parameter for name, parameter in model.named_parameters() if name != left_out]
    return max([1, *(int(values.numel()) // len(values) for values in parameters if values.ndim > 1 and len(values))])


def array_of(tensor: Any) -> Any:
    """Return a copy of a tensor as an array; a tensor of 16-bit numbers becomes float32.

    Parameters
    ----------
    tensor : torch.Tensor
    """
    values = tensor.detach().cpu()
    return (values.float() if values.element_size() < 4 else values).numpy().copy()


def exact_model(
    model: str, tables: Arrays, settings: dict[str, str | float], dataset: Dataset, ids: IdMap
) -> EmbeddingModel:
    """Make a model of `kgeval.models` from tables whose rows are in the order of a library's ids.

    Parameters
    ----------
    model : str
        The name of the model in `kgeval.models`, in lower case.
    tables : dict of str to array
    settings : dict of str to str or float
        All settings that change the scores.
    dataset : Dataset
    ids : IdMap

    Returns
    -------
    EmbeddingModel
        The model that `kgeval.load_model` would make from a file with these tables and with the labels of `ids`.
    """
    labels = {
        "entity_labels": np.array(ids.entity_labels, dtype=np.str_),
        "relation_labels": np.array(ids.relation_labels, dtype=np.str_),
    }
    return build_model(
        ModelFile(LIVE, {**tables, **labels, **settings_as_arrays(**settings)}, {"model": model}), dataset, {}
    )


def certified_as(
    dataset: Dataset,
    scorer: LibraryScorer,
    convert: Callable[[Array], Array],
    build: Callable[[], EmbeddingModel],
    methods: Sequence[str],
    library: str,
) -> EmbeddingModel | LibraryScorer:
    """Return the model that `build` makes, if its scores agree with the converted scores of `scorer`; else `scorer`.

    This is `certified` for a model whose formula differs from the library's formula in a known way.

    Parameters
    ----------
    dataset : Dataset
    scorer : LibraryScorer
    convert : function
        Converts the library's scores to scores of `kgeval.models`, for example squared distances to distances.
    build, methods, library
        See `kgeval.adapters.geometry.certified`.

    Returns
    -------
    EmbeddingModel or LibraryScorer
        `scorer`, with the library's scores, if the converted scores do not agree.
    """
    reference = copy.copy(scorer)
    score_rows = scorer.score_rows
    reference.score_rows = lambda *query: convert(score_rows(*query))
    result = certified(dataset, reference, build, methods, library)
    if result is not reference:
        return result
    scorer.notes = reference.notes
    return scorer
