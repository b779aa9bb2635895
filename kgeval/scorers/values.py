"""Checks of the values that a scorer returns: real numbers of one dtype, without NaN.

The adapters, the ranker and the tables of scores call these functions on every array or tensor of scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores, cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.sides import side_of
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import Array, fetched, is_on_device, is_tensor, kind_of, library
from kgeval.kernels.rows import first_nan, largest_score


def as_rows(values: Any, name: str) -> Array:
    """Return scores as a numpy array; a tensor on a device other than the CPU stays a tensor, and is detached.

    Parameters
    ----------
    values : array_like or torch tensor
        The scores that a scorer returned. A tensor on the CPU shares its memory with the returned array.
    name : str
        The scorer's name, for messages.

    Returns
    -------
    array or tensor, same shape

    Raises
    ------
    ScoreError
        See `as_scores`.
    """
    return _plain_tensor(values, name) if is_on_device(values) else as_scores(values, name)


def as_scores(values: Any, name: str) -> Scores:
    """Return scores as a numeric numpy array; a torch tensor is copied from its device.

    Parameters
    ----------
    values : array_like, torch tensor or list of torch tensors
        The scores that a scorer returned. A list of tensors of equal shape and dtype is stacked.
    name : str
        The scorer's name, for messages.

    Returns
    -------
    numpy array, same shape
        Float or integer; the dtype of `values` is kept.

    Raises
    ------
    ScoreError
        If `values` is None or a masked array, if its rows differ in length, or if its dtype is neither float nor
        integer. For a tensor, also if its dtype is an 8-bit float, or if it is sparse, nested or on the device "meta".
    """
    if values is None:
        raise ScoreError(f"{name} returned None; is a return statement missing?")
    if isinstance(values, (list, tuple)) and any(is_tensor(value) for value in values):
        values = _stacked(values, name)
    if is_tensor(values):
        values = fetched(_plain_tensor(values, name))
    elif hasattr(values, "detach") and hasattr(values, "cpu"):  # an object that behaves like a tensor
        values = fetched(values)
    if isinstance(values, np.ma.MaskedArray):
        raise ScoreError(f"{name} returned a masked array; fill the array first (a masked candidate still has a rank)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ScoreError(f"{name} gave rows of different lengths: {error}") from error
    except (TypeError, RuntimeError) as error:  # for example a list of lists of tensors
        raise ScoreError(
            f"{name} returned a {type(values).__name__} that numpy cannot read ({error}); return one array or tensor"
        ) from error
    if array.dtype.kind not in "fiu":
        raise _no_real_numbers(name, array)
    return array


def _plain_tensor(tensor: Array, name: str) -> Array:
    """Detach a tensor of scores from torch's autograd graph; raise a ScoreError if the tensor cannot be read.

    A negation that torch has postponed (`torch.Tensor.is_neg`) is carried out.
    """
    layout = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
    if layout != "strided":
        raise ScoreError(f"{name} returned a tensor with layout {layout}; return a dense tensor: scores.to_dense()")
    if tensor.device.type == "meta":
        raise ScoreError(
            f"{name} returned a tensor on the device 'meta', which holds no numbers; load the model's parameters first"
        )
    if kind_of(tensor) not in "fiu":
        raise _no_real_numbers(name, tensor)
    if kind_of(tensor) == "f" and tensor.element_size() == 1:
        raise ScoreError(
            f"{name} gave {_dtype_name(tensor)} scores, which kgeval cannot compare; convert them: scores.float()"
        )
    return tensor.detach().resolve_neg()


def _stacked(tensors: Sequence[Any], name: str) -> Array:
    """Stack tensors into one tensor; raise a ScoreError unless all have the same shape, dtype and device."""
    kinds = {
        f"{_dtype_name(value)} tensor of shape {tuple(value.shape)} on {value.device}"
        if is_tensor(value)
        else type(value).__name__
        for value in tensors
    }
    if len(kinds) > 1:
        raise ScoreError(
            f"{name} returned a list of different values ({', '.join(sorted(kinds)[:3])}); return one array or tensor"
        )
    return library(tensors[0]).stack([_plain_tensor(value, name) for value in tensors])


def _no_real_numbers(name: str, values: Any) -> ScoreError:
    return ScoreError(f"{name} must give real numbers (float or integer); got dtype {_dtype_name(values)}")


def _dtype_name(values: Any) -> str:
    return str(values.dtype).removeprefix("torch.")


def check_same_dtype(name: str, earlier: Array, later: Array) -> None:
    """Raise a ScoreError if two calls of a scorer returned different dtypes.

    Parameters
    ----------
    name : str
        The scorer's name.
    earlier, later : arrays or tensors
        The scores of the two calls.
    """
    if earlier.dtype != later.dtype:
        raise ScoreError(
            f"{name} gave {_dtype_name(earlier)} scores, then {_dtype_name(later)} scores; keep to one dtype"
        )


def check_no_nan(scores: Array, queries: Queries, candidates: Ids, dataset: Dataset, name: str) -> float:
    """Return the largest score; raise a ScoreError if a score is NaN.

    Parameters
    ----------
    scores : array or tensor, shape (queries, candidates)
    queries : Queries
    candidates : int64 array, shape (candidates,)
        The candidate of each column.
    dataset : Dataset
        Gives the labels for the message.
    name : str
        The scorer's name.

    Returns
    -------
    float
        The largest score; minus infinity if there is no score.

    Raises
    ------
    ScoreError
        If a score is NaN; the message names the query and the candidate of the first NaN.
    """
    if 0 in scores.shape:
        return -math.inf
    largest = largest_score(scores)
    first = first_nan(scores) if math.isnan(largest) else None
    if first is None:
        return largest
    row, column, n = first
    query = describe_query(dataset, queries.side, queries.parts, row)
    labels = side_of(queries.side).vocabulary(dataset).labels
    raise ScoreError(
        f"{name} gave NaN for {query} with candidate {cut_label(labels[candidates[column]])!r} "
        f"(NaN scores: {n} of the {math.prod(scores.shape)} scores of {len(scores)} queries); NaN cannot be ranked. "
        "Check the parameters of these entities and this relation, or run kgeval.check_scorer"
    )


def describe_query(dataset: Dataset, side: str, parts: Sequence[Ids], row: int) -> str:
    """Return a query as text with labels, for messages.

    Parameters
    ----------
    dataset : Dataset
    side : str
        The missing side.
    parts : sequence of int64 arrays, shape (queries,)
        The given columns of queries; see `Queries`.
    row : int
        Which query.

    Returns
    -------
    str
        ``"('Jack', 'born_in', ?)"``, for example.
    """
    ids = side_of(side).in_place(tuple(part[row] for part in parts), None)
    vocabularies = (dataset.entities, dataset.relations, dataset.entities)
    shown = ("?" if i is None else repr(cut_label(known.labels[i])) for i, known in zip(ids, vocabularies))
    return f"({', '.join(shown)})"
