"""Holm's correction of several p-values for the number of tests, and the level at which each test decides."""

from __future__ import annotations

from math import nan

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals
from kgeval.errors import DataError


def holm(p_values: npt.ArrayLike) -> Reals:
    """Return p-values corrected for multiple testing, by Holm's step-down method.

    The smallest of m p-values is multiplied by m, the next by m - 1 and so on. Each corrected value is at least the
    previous corrected value, and at most 1. If exactly the null hypotheses with a corrected p-value of at most alpha
    are rejected, the probability of one or more false rejections is at most alpha, even if the tests depend on each
    other.

    Parameters
    ----------
    p_values : array_like of floats, shape (tests,)
        NaN stands for a test that was not possible. The corrected p-value is then NaN, and the test does not count in
        m, the number of tests.

    Returns
    -------
    float64 array, shape (tests,)
        The corrected p-values, in the order of `p_values`.

    Raises
    ------
    DataError
        If `p_values` does not have one dimension, or if a p-value is not between 0 and 1.

    References
    ----------
    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, 0.04, np.nan, 0.03]).round(12).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    array, order = _sorted(p_values)
    # (m,): the sorted p-values times m, m - 1, ..., 1. The running maximum of these products, at most 1, is the result.
    stepped = array[order] * np.arange(len(order), 0, -1)
    return _placed(np.minimum(np.maximum.accumulate(stepped), 1.0), order, len(array))


def holm_levels(p_values: npt.ArrayLike, alpha: float) -> Reals:
    """Return the significance level at which Holm's method tests each p-value.

    The k-th smallest of m p-values is tested at ``alpha / (m - k + 1)``. The first one that is not rejected ends the
    procedure: all later ones share its level. So a test is rejected exactly if its p-value is at most its level, and an
    interval with the coverage ``1 - level`` excludes 0 exactly then. Equal p-values share the smallest of their levels,
    so that the order of the tests changes nothing.

    Parameters
    ----------
    p_values : array_like of floats, shape (tests,)
        As in `holm`.
    alpha : float
        The probability of one or more false rejections that is allowed.

    Returns
    -------
    float64 array, shape (tests,)
        In the order of `p_values`; NaN for a test that was not possible.

    Examples
    --------
    >>> holm_levels([0.01, 0.04, np.nan, 0.03], 0.06).round(12).tolist()
    [0.02, 0.06, nan, 0.03]
    >>> holm_levels([0.01, 0.04, np.nan, 0.04], 0.06).round(12).tolist()
    [0.02, 0.03, nan, 0.03]
    """
    array, order = _sorted(p_values)
    corrected = holm(array)[order]
    n = len(order)
    first_equal = np.searchsorted(array[order], array[order])
    levels = (alpha / np.arange(n, 0, -1))[first_equal]
    n_rejected = int((corrected <= alpha).sum())  # corrected p-values ascend
    levels[n_rejected:] = alpha / (n - n_rejected) if n_rejected < n else nan
    return _placed(levels, order, len(array))


def _sorted(p_values: npt.ArrayLike) -> tuple[Reals, Ids]:
    """Return p-values as a checked array, and the indices of those that are not NaN, smallest p-value first."""
    array = np.asarray(p_values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(f"p_values must have shape (tests,); got {array.shape}")
    wrong = (array < 0.0) | (array > 1.0)
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        raise DataError(f"p_values, index {index}: expected a number between 0 and 1; got {array[index]}")
    tests = np.flatnonzero(~np.isnan(array))
    return array, tests[np.argsort(array[tests], kind="stable")]


def _placed(values: Reals, order: Ids, n: int) -> Reals:
    """Return an array of length `n` with ``values[i]`` at position ``order[i]``, and NaN elsewhere."""
    array = np.full(n, nan)
    array[order] = values
    return array
