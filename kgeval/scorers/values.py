"""Checks of the values that a scorer returns: real numbers of one dtype, without NaN.

The adapters, the ranker and the tables of scores call these functions on every array or tensor of scores.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kgeval.checks import Ids, Scores
from kgeval.data import Dataset, Queries
from kgeval.errors import ScoreError
from kgeval.kernels import Array, fetched, first_nan, is_on_device, kind_of, largest_score


def as_rows(values: Any, name: str) -> Array:
    """Return scores as a numpy array; tensors on other devices than the CPU are returned as detached tensors.

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
    if not is_on_device(values):
        return as_scores(values, name)
    if kind_of(values) not in "fiu":
        raise _no_real_numbers(name, values)
    return values.detach()


def as_scores(values: Any, name: str) -> Scores:
    """Return scores as a numeric numpy array; a torch tensor is copied from its device.

    Parameters
    ----------
    values : array_like or torch tensor
        The scores that a scorer returned.
    name : str
        The scorer's name, for messages.

    Returns
    -------
    numpy array, same shape
        The dtype stays: float or integer.

    Raises
    ------
    ScoreError
        If `values` is None, rows differ in length, or the dtype cannot be ranked exactly (bool, complex, object,
        string, masked, dates).
    """
    if values is None:
        raise ScoreError(f"{name} returned None; is a return statement missing?")
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a tensor, or an object that behaves like one
        values = fetched(values)
    if isinstance(values, np.ma.MaskedArray):
        raise ScoreError(f"{name} returned a masked array; fill the array first (a masked candidate still has a rank)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ScoreError(f"{name} gave rows of different lengths: {error}") from error
    if array.dtype.kind not in "fiu":
        raise _no_real_numbers(name, array)
    return array


def _no_real_numbers(name: str, values: Any) -> ScoreError:
    return ScoreError(f"{name} must give real numbers (float or integer); got dtype {_dtype_name(values)}")


def _dtype_name(values: Any) -> str:
    return str(values.dtype).removeprefix("torch.")


def check_same_dtype(name: str, one: Array, other: Array) -> None:
    """Raise a ScoreError if two calls of a scorer returned different dtypes.

    Parameters
    ----------
    name : str
        The scorer's name.
    one, other : arrays or tensors
        The scores of the earlier call, and the scores of the later call.
    """
    if one.dtype != other.dtype:
        raise ScoreError(f"{name} gave {_dtype_name(one)} scores, then {_dtype_name(other)}; keep to one dtype")


def check_no_nan(scores: Array, queries: Queries, candidates: Ids, dataset: Dataset, name: str) -> float:
    """Return the largest score; raise a ScoreError if a score is NaN.

    Parameters
    ----------
    scores : array or tensor, shape (queries, candidates)
    queries : Queries
    candidates : int64 array, shape (candidates,)
        The entity of each column.
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
        If a score is NaN; the message names the first query and candidate.
    """
    if 0 in scores.shape:
        return -math.inf
    largest = largest_score(scores)
    first = first_nan(scores) if math.isnan(largest) else None
    if first is None:
        return largest
    row, column, n = first
    query = describe_query(dataset, queries.side, queries.given[row], queries.relation[row])
    raise ScoreError(
        f"{name} gave NaN for {query} at candidate {dataset.entities.labels[candidates[column]]!r} and "
        f"{n - 1} more of the {math.prod(scores.shape)} scores of {len(scores)} queries; a NaN cannot be ranked. "
        "Check the parameters of these entities, or run kgeval.check_scorer"
    )


def describe_query(dataset: Dataset, side: str, given: int, relation: int) -> str:
    """Return a query as text with labels, for messages.

    Parameters
    ----------
    dataset : Dataset
    side : str
        The missing side, ``"subject"`` or ``"object"``.
    given, relation : int
        Ids of the given entity and of the relation.

    Returns
    -------
    str
        ``"('Jack', 'born_in', ?)"``, for example.
    """
    entity, predicate = dataset.entities.labels[given], dataset.relations.labels[relation]
    return f"(?, {predicate!r}, {entity!r})" if side == "subject" else f"({entity!r}, {predicate!r}, ?)"
