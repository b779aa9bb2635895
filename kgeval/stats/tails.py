"""Quantiles and tails of distributions, from scipy, which is imported when the first of them is needed."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

TINY = float(np.finfo(np.float64).tiny)  # a p-value is never 0
RADEMACHER = 6.36  # twice the constant 3.18 of Bentkus and Dzindzalieta


@lru_cache(maxsize=4096)
def student_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution.

    Parameters
    ----------
    share : float
        The probability of a value below the quantile; above 0 and below 1.
    freedom : float
        Degrees of freedom, above 0; need not be an integer.

    Returns
    -------
    float

    Examples
    --------
    >>> [round(student_quantile(0.975, freedom), 3) for freedom in (1, 2, 2.5, 10, 120)]
    [12.706, 4.303, 3.575, 2.228, 1.98]
    """
    from scipy.special import stdtrit

    if share > 0.5:  # the tail keeps its digits
        return -student_quantile(1.0 - share, freedom)
    return float(stdtrit(freedom, share))


def student_p_value(t: float, freedom: float) -> float:
    """Return the probability of a value at least as far from 0 as `t`, under Student's t distribution (two-sided).

    Parameters
    ----------
    t : float
    freedom : float
        Degrees of freedom, above 0; need not be an integer.

    Returns
    -------
    float
        Above 0.

    Examples
    --------
    >>> round(student_p_value(2.228139, 10), 6)
    0.05
    """
    from scipy.special import stdtr

    return min(1.0, max(2.0 * float(stdtr(freedom, -abs(t))), TINY))


def swaps_tail(total: float, squares: float) -> float:
    """Return a bound of the probability that random signs give a sum at least as far from 0 as `total`.

    For numbers g with random signs, ``P(|sum| >= x sqrt(sum g^2)) <= 6.36 Phi(-x)``, whatever the numbers are.

    Parameters
    ----------
    total : float
        The sum of the numbers with their own signs.
    squares : float
        The sum of the squares of the numbers, above 0.

    Returns
    -------
    float
        Above 0, at most 1.

    References
    ----------
    Bentkus and Dzindzalieta (2015), A tight Gaussian bound for weighted sums of Rademacher random variables, Bernoulli
    21.

    Examples
    --------
    >>> swaps_tail(60.0, 100.0) < 1e-8, swaps_tail(1.0, 100.0)
    (True, 1.0)
    """
    from scipy.special import ndtr

    return min(1.0, max(RADEMACHER * float(ndtr(-abs(total) / sqrt(squares))), TINY))


def swaps_reach(level: float) -> float:
    """Return the x at which `swaps_tail` is `level`, in units of the root of the sum of squares.

    Parameters
    ----------
    level : float
        Above 0, below 1.

    Examples
    --------
    >>> round(swaps_reach(1e-6), 3), round(swaps_tail(swaps_reach(1e-6), 1.0), 12)
    (5.115, 1e-06)
    """
    from scipy.special import ndtri

    return -float(ndtri(level / RADEMACHER))
