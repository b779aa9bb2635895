"""Checks of labels and predictions for all pointwise metrics, curves and calibration.

Each example has one label and one prediction. Each `read_` function returns a checked array, or raises an error that
names the first wrong value and its index.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Bools, Ids
from kgeval.errors import DataError, KgevalError, ScoreError

Numbers = npt.NDArray[Any]

DEFAULT_THRESHOLD = 0.5
_UNLABELLED = "Remove the examples without a label, and report how many you removed"
_CALIBRATE = (
    "Calibrate raw ranking scores first, on validation examples, with kgeval.metrics.calibration.calibrate "
    "(Platt or isotonic)"
)


def read_binary_labels(labels: npt.ArrayLike) -> Bools:
    """Return labels as bools, True for positive examples.

    Parameters
    ----------
    labels : bool array, or numbers 0 and 1, shape (n,)

    Returns
    -------
    bool array, shape (n,)

    Raises
    ------
    DataError
        If the labels do not have the shape (n,), or if a label is not a bool, 0 or 1. The message names the first wrong
        label and its index.

    Examples
    --------
    >>> read_binary_labels([1, 0, 1])
    array([ True, False,  True])
    """
    array = _one_column("labels", labels, DataError)
    if array.dtype.kind == "b":
        return array
    _check_real("labels must be 0/1 or bool", array, DataError)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        first = array[np.argmax(wrong)]
        hint = "Use bools: True for each positive example"
        if np.isin(array, (-1, 1)).all():
            hint = "If the labels are -1 and 1, use labels > 0"
        elif np.isnan(first):
            hint = _UNLABELLED
        raise DataError(f"labels must be 0/1 or bool; got {_place(array, wrong)}. {hint}")
    return np.asarray(array, dtype=np.bool_)


def read_predicted_scores(predictions: npt.ArrayLike, name: str = "predictions") -> Numbers:
    """Check that predictions are real numbers, and return them as an array.

    Parameters
    ----------
    predictions : int or float array, shape (n,)
        Infinities are allowed.
    name : str
        Name of the predictions in error messages.

    Returns
    -------
    int or float64 array, shape (n,)
        Integers keep their dtype, floats become float64.

    Raises
    ------
    ScoreError
        If the shape is not (n,), if the dtype is bool, complex, object, string or a float wider than float64, or if a
        number is NaN.
    """
    array = _one_column(name, predictions, ScoreError)
    _check_real(f"{name} must be real numbers", array, ScoreError)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        is_nan = np.isnan(array)
        if is_nan.any():
            raise ScoreError(f"{name} must be real numbers; got {_place(array, is_nan)}. Check why the model gives NaN")
    return array


def read_finite(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """Return finite numbers as float64.

    Parameters
    ----------
    values : int or float array, shape (n,)
    name : str
        Name of the values in error messages.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    ScoreError
        As in `read_predicted_scores`; also if a number is infinite.
    """
    array = read_predicted_scores(values, name).astype(np.float64)
    wrong = ~np.isfinite(array)
    if wrong.any():
        raise ScoreError(f"{name} must be finite; got {_place(array, wrong)}")
    return array


def read_probabilities(caller: str, predictions: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return probabilities as float64.

    Parameters
    ----------
    caller : str
        Name of the metric or function that needs probabilities, for the error message.
    predictions : float array, shape (n,)

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    ScoreError
        As in `read_predicted_scores`; also if a number is outside [0, 1]. The message then names the first such number,
        and tells how to calibrate scores.
    """
    array = read_predicted_scores(predictions).astype(np.float64)
    wrong = (array < 0) | (array > 1)
    if wrong.any():
        raise ScoreError(f"{caller} needs probabilities in [0, 1]; got {_place(array, wrong)}. {_CALIBRATE}")
    return array


def read_decisions(caller: str, predictions: npt.ArrayLike, threshold: float) -> Bools:
    """Return decisions: bools are not changed; a number becomes True if it is at least `threshold`.

    Parameters
    ----------
    caller : str
        Name of the metric or function that needs decisions, for the error message.
    predictions : bool, int or float array, shape (n,)
    threshold : float
        Numbers are converted to float64 before they are compared with the threshold.

    Returns
    -------
    bool array, shape (n,)

    Raises
    ------
    ScoreError
        As in `read_predicted_scores`; also if the threshold is 0.5 and a number is outside [0, 1]. The threshold 0.5 is
        the default, and is meant for probabilities.
    """
    array = np.asarray(predictions)
    if array.dtype.kind == "b":
        return _one_column("predictions", predictions, ScoreError)
    array = read_predicted_scores(predictions)
    wrong = (array < 0) | (array > 1)
    if threshold == DEFAULT_THRESHOLD and wrong.any():
        raise ScoreError(
            f"{caller} uses the threshold {threshold} by default, so predictions must be in [0, 1]; "
            f"got {_place(array, wrong)}. If the predictions are raw ranking scores, choose a threshold on "
            f"validation examples, and pass it as {caller}(threshold=...). If they are decisions, pass bools"
        )
    return np.asarray(array >= threshold)


def read_values(
    caller: str, labels: npt.ArrayLike, predictions: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Check that labels and predictions are finite real numbers, and return both as float64.

    Parameters
    ----------
    caller : str
        Name of the metric that needs the values, for the error message.
    labels, predictions : arrays of finite real numbers, shape (n,)

    Returns
    -------
    labels, predictions : float64 arrays, shape (n,)

    Raises
    ------
    DataError
        If a label is not a finite number.
    ScoreError
        If a prediction is not a finite number; if all labels are 0 or 1, also if a prediction is outside [0, 1].
    """
    array = _one_column("labels", labels, DataError)
    if array.dtype.kind != "b":
        _check_real("labels must be real numbers", array, DataError)
    actual, predicted = array.astype(np.float64), read_finite(predictions, "predictions")
    unknown = ~np.isfinite(actual)
    if unknown.any():
        raise DataError(f"labels must be finite; got {_place(actual, unknown)}. {_UNLABELLED}")
    wrong = (predicted < 0) | (predicted > 1)
    if wrong.any() and ((actual == 0) | (actual == 1)).all():
        raise ScoreError(
            f"if all labels are 0 or 1, {caller} needs predictions in [0, 1]; got {_place(predicted, wrong)}. "
            f"{_CALIBRATE}"
        )
    return actual, predicted


def check_same_length(labels: npt.NDArray[Any], predictions: npt.NDArray[Any], name: str = "predictions") -> None:
    """Check that there is one prediction per label.

    Parameters
    ----------
    labels, predictions : arrays, shape (n,)
    name : str
        Name of the predictions in the error message, in the plural.

    Raises
    ------
    DataError
        If there are more or fewer predictions than labels. The message names both numbers.
    """
    if len(labels) != len(predictions):
        raise DataError(f"expected as many {name} as labels; got {len(labels)} labels and {len(predictions)} {name}")


def read_groups(name: str, groups: Sequence[Hashable] | npt.ArrayLike | None, n: int) -> tuple[Ids, pd.Index]:
    """Return the index of each example's group, and the distinct groups in order of first appearance.

    Parameters
    ----------
    name : str
        Name of the groups in error messages.
    groups : sequence of hashable values, length n
        The group of each example, such as its user, its relation, or an (s, p) pair.
    n : int
        Number of examples.

    Returns
    -------
    codes : int64 array, shape (n,)
        The index of each example's group in `distinct`.
    distinct : pandas.Index
        The distinct groups.

    Raises
    ------
    DataError
        If `groups` is not a sequence of n values, or if one of the values is missing (None, NaN) or not hashable.

    Examples
    --------
    >>> read_groups("field", ["b", "a", "b"], 3)[0]
    array([0, 1, 0])
    """
    if isinstance(groups, (str, bytes)) or not np.iterable(groups):
        raise DataError(f"{name} must contain one value for each example, such as its relation or user; got {groups!r}")
    if getattr(groups, "ndim", 1) != 1:
        raise DataError(f"{name} must have shape (n,); got {getattr(groups, 'shape', ())}")
    index = pd.Index(groups, tupleize_cols=False)  # type: ignore[arg-type, call-overload, unused-ignore]
    if len(index) != n:
        raise DataError(f"expected one value of {name} per label; got {n} labels and {len(index)} values")
    try:
        codes, distinct = pd.factorize(index)
    except TypeError as error:
        raise DataError(f"the values in {name} must be hashable, such as labels, ids or tuples; {error}") from error
    if (codes < 0).any():
        missing = _place(np.full(n, "a missing value"), codes < 0)
        raise DataError(f"{name} must have a value for every example; got {missing}")
    return np.asarray(codes, dtype=np.int64), distinct


def _one_column(name: str, values: npt.ArrayLike, error: type[KgevalError]) -> npt.NDArray[Any]:
    """Return values as a one-dimensional array; raise `error` for another shape or a masked array."""
    if isinstance(values, np.ma.MaskedArray):
        raise error(f"{name} must not be a masked array; remove the masked examples, and report how many you removed")
    array = np.asarray(values)
    if array.ndim != 1:
        raise error(f"{name} must have shape (n,); got {array.shape}")
    return array


def _check_real(must: str, array: npt.NDArray[Any], error: type[KgevalError]) -> None:
    """Raise `error` unless the dtype is an integer, or a float of at most 64 bits (wider floats would be rounded).

    `must` is the start of the message, such as 'labels must be 0/1 or bool'.
    """
    if not (array.dtype.kind in "iu" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8)):
        raise error(f"{must}; got dtype {array.dtype}. If they are numbers, use array.astype(float)")


def _place(array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> str:
    """Return the first wrong value, its index, and the number of further wrong values, for an error message."""
    first, more = int(np.argmax(wrong)), int(wrong.sum()) - 1
    return f"{array[first]} at index {first}" + (f" and {more} more" if more else "")
