"""Moments: a number written as a function of means, so that every interval and test treats all numbers alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgeval.checks import Reals


def first_mean(means: Reals) -> Reals:
    """Return the first of the means itself: how a plain mean is finished."""
    return np.asarray(means[..., 0])


@dataclass(frozen=True)
class Moments:
    """A number that is ``finish(values.mean(axis=0))``.

    Parameters
    ----------
    values : float64 array, shape (observations, k)
        What each observation adds to each of k means.
    finish : function
        Takes float64 arrays of shape (..., k), means in the last axis, and returns shape (...).

    Examples
    --------
    >>> ranks = np.array([[2.0], [8.0]])
    >>> float(Moments(np.log(ranks), lambda means: np.exp(means[..., 0])).number.round(12))
    4.0
    """

    values: Reals
    finish: Callable[[Reals], Reals] = first_mean

    def __len__(self) -> int:
        return len(self.values)

    @property
    def number(self) -> Reals:
        """What the observations together give, a 0-dimensional float64 array."""
        return np.asarray(self.finish(self.values.mean(axis=0)))

    def weighted(self, weights: Reals) -> Moments:
        """Return the number with weighted means, ``finish(sum(w v) / sum(w))``.

        Parameters
        ----------
        weights : float64 array, shape (observations,)
            Not negative, some positive.

        Examples
        --------
        >>> float(Moments(np.array([[1.0], [4.0]])).weighted(np.array([2.0, 1.0])).number)
        2.0
        """
        finish = self.finish

        def of_weighted(means: Reals) -> Reals:
            return finish(means[..., :-1] / means[..., -1:])

        return Moments(np.column_stack([self.values * weights[:, None], weights]), of_weighted)


def influences(moments: Moments) -> Reals:
    """Return how much each observation moves the number, to first order; the sum is zero.

    The deviation of each observation from the means, times the gradient of `finish` at the means, taken by
    central differences. Divided by the number of observations they say where a number comes from; the
    difference of those of two systems says where their difference comes from.

    Parameters
    ----------
    moments : Moments
        At least one observation.

    Returns
    -------
    float64 array, shape (observations,)
        In units of the number; NaN where `finish` is not defined around the means.

    References
    ----------
    Hampel (1974), The Influence Curve and Its Role in Robust Estimation, JASA 69.

    Examples
    --------
    >>> influences(Moments(np.array([[1.0], [2.0], [6.0]]))).round(9)
    array([-2., -1.,  3.])
    """
    means = moments.values.mean(axis=0)
    deviations = moments.values - means
    if moments.finish is first_mean:
        return np.asarray(deviations[:, 0])
    varies = (moments.values != moments.values[0]).any(axis=0)
    return np.asarray(deviations[:, varies] @ _gradient(moments.finish, means, deviations)[varies])


def _gradient(finish: Callable[[Reals], Reals], means: Reals, deviations: Reals) -> Reals:
    """Return the gradient of `finish` at `means`, with steps that suit how far each mean can move.

    Steps of eps ** (1 / 3) of the spread balance the error of the formula and that of the subtraction.
    """
    small = float(np.cbrt(np.finfo(np.float64).eps))
    steps = small * np.maximum(deviations.std(axis=0), small * np.abs(means))
    steps = np.diag(np.where(steps > 0, steps, small))
    above, below = means + steps, means - steps
    with np.errstate(all="ignore"):
        return np.asarray((finish(above) - finish(below)) / np.diagonal(above - below))


@dataclass(frozen=True)
class Interval:
    """A number and how far it could be off.

    Parameters
    ----------
    value, low, high : float
        NaN where `reason` says why.
    confidence : float
        The nominal coverage, for example 0.95.
    method : str
        What it was made by: ``"robust"``, ``"wilson"``, ``"percentile"``, ``"bca"`` or ``"woodruff"``.
    n_clusters : int
        Independent groups of observations.
    error : float
        The standard error.
    reason : str
        Empty unless there is no interval.
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str
    n_clusters: int
    error: float = float("nan")
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.value:.4f} (no interval: {self.reason})"
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"
