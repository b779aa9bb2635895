"""Corrections of several p-values for the number of tests: Holm, the false discovery rate, and step-down maxT.

`kgeval.compare` and `kgeval.benchmark` call these functions.
"""

from __future__ import annotations

from math import nan

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals
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


def false_discovery_rate(p_values: npt.ArrayLike) -> Reals:
    """Return p-values corrected by the method of Benjamini and Hochberg.

    If exactly the null hypotheses with a corrected p-value of at most alpha are rejected, the expected share of false
    ones among the rejected hypotheses is at most alpha. This is a weaker guarantee than that of Holm's method: with
    many tests, some rejections may be false. The tests must be independent or positively dependent.

    Parameters
    ----------
    p_values : array_like of floats, shape (tests,)
        NaN as in `holm`.

    Returns
    -------
    float64 array, shape (tests,)
        The i-th smallest of m p-values is multiplied by ``m / i``. Each corrected value is at most the next corrected
        value, and at most 1.

    Raises
    ------
    DataError
        As `holm`.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the False Discovery Rate, Journal of the Royal Statistical Society B 57;
    Benjamini and Yekutieli (2001), The control of the false discovery rate in multiple testing under dependency, Annals
    of Statistics 29 (positively dependent tests).

    Examples
    --------
    >>> false_discovery_rate([0.01, 0.04, np.nan, 0.03]).round(12).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    array, order = _sorted(p_values)
    stepped = array[order] * len(order) / np.arange(1, len(order) + 1)
    smallest = np.minimum.accumulate(stepped[::-1])[::-1]  # minimum of each value and all later values
    return _placed(np.minimum(smallest, 1.0), order, len(array))


def step_down_max(observed: Reals, resampled: Reals) -> Reals:
    """Return p-values corrected by the step-down maxT method of Westfall and Young.

    The largest statistic is compared with the maximum of all statistics in each resample, the second largest with the
    maximum of all others, and so on. The statistics of a resample depend on each other as the observed statistics
    do; so the correction is smaller than Holm's if the tests are similar.

    Parameters
    ----------
    observed : float64 array, shape (tests,)
        A larger statistic is stronger evidence; the statistics should have about the same distribution under the null
        hypothesis, such as absolute values of z. NaN stands for a test that was not possible.
    resampled : float64 array, shape (resamples, tests)
        The statistics of each resample, drawn under the null hypothesis. NaN counts as larger than any number.

    Returns
    -------
    float64 array, shape (tests,)
        ``(1 + b) / (1 + resamples)``, where b is the number of resamples whose maximum is at least the observed
        statistic; at least the corrected value of every larger statistic.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing (algorithm 2.8, here for statistics); Phipson and Smyth
    (2010), Permutation P-values Should Never Be Zero.

    Examples
    --------
    >>> resampled = np.array([[1.0, 2.0], [3.0, 0.5], [0.1, 0.2]])
    >>> step_down_max(np.array([2.5, 1.5]), resampled).tolist()
    [0.5, 0.5]

    The maxima of the resamples are 2, 3 and 0.2, so one of them reaches 2.5. The second test alone has 2, 0.5 and 0.2,
    so one reaches 1.5.
    """
    tests = np.flatnonzero(~np.isnan(observed))
    order = tests[np.argsort(-observed[tests], kind="stable")]  # from the largest statistic to the smallest
    values = np.where(np.isnan(resampled), np.inf, resampled)
    corrected = np.full(len(observed), nan)
    largest = np.full(len(resampled), -np.inf)  # (resamples,): maximum over this test and tests with less evidence
    n_reached = np.zeros(len(order))
    for place in range(len(order) - 1, -1, -1):
        np.maximum(largest, values[:, order[place]], out=largest)
        n_reached[place] = np.count_nonzero(largest >= observed[order[place]])
    corrected[order] = np.maximum.accumulate((1.0 + n_reached) / (1.0 + len(resampled)))
    return corrected


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
