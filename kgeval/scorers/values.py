"""What a scorer may answer: arrays and tensors of real numbers, none of them NaN, and the errors for all else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kgeval.checks import Ids, Scores
from kgeval.data import Dataset, Queries
from kgeval.errors import ScoreError
from kgeval.kernels import Array, fetched, first_nan, is_on_device, kind_of, largest_score


def as_rows(values: Any, name: str) -> Array:
    """Return what a scorer gave as a numeric numpy array, which shares memory with a tensor on the CPU.

    A tensor on another device stays there, out of its graph.

    Raises
    ------
    ScoreError
        As `as_scores`.
    """
    if not is_on_device(values):
        return as_scores(values, name)
    if kind_of(values) not in "fiu":
        raise _no_real_numbers(name, values)
    return values.detach()


def as_scores(values: Any, name: str) -> Scores:
    """Return what a scorer gave as a numeric numpy array; torch tensors are fetched from their device.

    Raises
    ------
    ScoreError
        If the dtype cannot be ranked exactly (bool, complex, object, string, masked, dates).
    """
    if values is None:
        raise ScoreError(f"{name} returned None; does it lack a return?")
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a tensor, or what behaves like one
        values = fetched(values)
    if isinstance(values, np.ma.MaskedArray):
        raise ScoreError(f"{name} gave a masked array; fill it first (a masked candidate still has a rank)")
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
    """Raise a ScoreError that names both dtypes if two calls of a scorer gave different ones."""
    if one.dtype != other.dtype:
        raise ScoreError(f"{name} gave {_dtype_name(one)} scores, then {_dtype_name(other)}; keep to one dtype")


def check_no_nan(scores: Array, queries: Queries, candidates: Ids, dataset: Dataset, name: str) -> float:
    """Return the largest score; if one is NaN, raise a ScoreError that names its query and candidate."""
    if 0 in scores.shape:
        return -math.inf
    largest = largest_score(scores)
    found = first_nan(scores) if math.isnan(largest) else None
    if found is None:
        return largest
    row, column, n = found
    query = describe_query(dataset, queries.side, queries.given[row], queries.relation[row])
    raise ScoreError(
        f"{name} gave NaN for {query} at candidate {dataset.entities.labels[candidates[column]]!r} and "
        f"{n - 1} more of the {math.prod(scores.shape)} scores of {len(scores)} queries; a NaN cannot be ranked. "
        "Check the parameters of these entities, or run kgeval.check_scorer"
    )


def describe_query(dataset: Dataset, side: str, given: int, relation: int) -> str:
    """Return a query as text with labels, for messages."""
    entity, predicate = dataset.entities.labels[given], dataset.relations.labels[relation]
    return f"(?, {predicate!r}, {entity!r})" if side == "subject" else f"({entity!r}, {predicate!r}, ?)"
