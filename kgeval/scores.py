"""What a scorer may answer: arrays and tensors of real numbers, none of them NaN, and the errors for all else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, is_tensor, kind_of
from kgeval.dataset import Dataset
from kgeval.errors import ScoreError
from kgeval.kernels import torch_kernels
from kgeval.queries import Queries

Scores = npt.NDArray[Any]
Rows = Any  # an array of scores, or a tensor that stays on its device


def stays_on_device(values: Any) -> bool:
    """Tell whether `values` is a tensor in another memory than numpy's; of such, few numbers are ever fetched."""
    return is_tensor(values) and values.device.type != "cpu"


def as_rows(values: Any, name: str) -> Rows:
    """Return what a scorer gave as a numeric numpy array, which shares memory with a tensor on the CPU.

    A tensor on another device stays there, out of its graph.

    Raises
    ------
    ScoreError
        As `as_scores`.
    """
    if not stays_on_device(values):
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
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
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


def empty_like(part: Rows, shape: tuple[int, ...]) -> Rows:
    """Return room for blocks like `part`; a copy of each lasts, though a scorer may use its buffer again."""
    return part.new_empty(shape) if is_tensor(part) else np.empty(shape, dtype=part.dtype)


def check_same_dtype(name: str, one: Rows, other: Rows) -> None:
    """Raise a ScoreError that names both dtypes if two calls of a scorer gave different ones."""
    if one.dtype != other.dtype:
        raise ScoreError(f"{name} gave {_dtype_name(one)} scores, then {_dtype_name(other)}; keep to one dtype")


def check_no_nan(scores: Rows, queries: Queries, candidates: Ids, dataset: Dataset, name: str) -> float:
    """Return the largest score; if one is NaN, raise a ScoreError that names its query and candidate."""
    if 0 in scores.shape:
        return -math.inf
    if is_tensor(scores):
        largest = torch_kernels.largest(scores)
    else:  # numpy is slow with halves, and float32 holds them all
        largest = float(np.max(scores.astype(np.float32) if scores.dtype == np.float16 else scores))
    first_nan = torch_kernels.first_nan if is_tensor(scores) else _first_nan
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


def _first_nan(scores: Scores) -> tuple[int, int, int]:
    """Return row and column of the first NaN, and how many there are."""
    rows, columns = np.nonzero(np.isnan(scores))
    return int(rows[0]), int(columns[0]), len(rows)


def describe_query(dataset: Dataset, side: str, given: int, relation: int) -> str:
    """Return a query as text with labels, for messages."""
    entity, predicate = dataset.entities.labels[given], dataset.relations.labels[relation]
    return f"(?, {predicate!r}, {entity!r})" if side == "subject" else f"({entity!r}, {predicate!r}, ?)"
