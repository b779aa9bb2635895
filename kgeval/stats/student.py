"""Quantiles of Student's t distribution, to about ten digits, without scipy.

The confidence intervals and tests of `kgeval.stats` call `student_quantile`.
"""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, exp, lgamma, log, log1p, pi, sin, sqrt, tan
from statistics import NormalDist

import numpy as np

# With more degrees of freedom than this, the finite sum is slow; a series expansion replaces the sum, and is exact to
# 1e-12.
MAX_SUMMED = 1000


@lru_cache(maxsize=4096)
def student_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution.

    Parameters
    ----------
    share : float
        The probability of a value below the quantile; above 0 and below 1.
    freedom : float
        Degrees of freedom, at least 1; need not be an integer.

    Returns
    -------
    float

    References
    ----------
    Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.7.3 and 26.7.4 (the distribution as
    a finite sum, here inverted by bisection), 26.7.1 (any degrees of freedom) and 26.7.5 (the series expansion for many
    degrees of freedom).

    Examples
    --------
    >>> [round(student_quantile(0.975, freedom), 3) for freedom in (1, 2, 2.5, 10, 120)]
    [12.706, 4.303, 3.575, 2.228, 1.98]
    """
    if share < 0.5:
        return -student_quantile(1.0 - share, freedom)
    if freedom > MAX_SUMMED:
        return _expanded_quantile(NormalDist().inv_cdf(share), freedom)
    central = 2.0 * share - 1.0
    if freedom == 1:
        return tan(pi * central / 2.0)
    # Bisection over the angle, until no float64 lies between `low` and `high`.
    low, high = 0.0, pi / 2.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if _central_share(middle, freedom) < central else (low, middle)
    return sqrt(freedom) * tan(low)


def student_p_value(t: float, freedom: float) -> float:
    """Return the probability of a value at least as far from 0 as `t`, under Student's t distribution (two-sided).

    Parameters
    ----------
    t : float
    freedom : float
        Degrees of freedom, at least 1; need not be an integer.

    Returns
    -------
    float
        At least 2.2e-16. The absolute error is at most about 1e-15; with more than 1,000 degrees of freedom, the
        relative error is at most 1e-3 for t up to 5.

    References
    ----------
    Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.7.1, 26.7.3, 26.7.4 and 26.7.8 (many degrees
    of freedom).

    Examples
    --------
    >>> round(student_p_value(2.228139, 10), 6)
    0.05
    """
    t = abs(t)
    if freedom > MAX_SUMMED:
        z = t * (1.0 - 1.0 / (4.0 * freedom)) / sqrt(1.0 + t * t / (2.0 * freedom))
        return max(2.0 * NormalDist().cdf(-z), float(np.finfo(np.float64).eps))
    central = 2.0 / pi * atan(t) if freedom == 1 else _central_share(atan(t / sqrt(freedom)), freedom)
    return min(1.0, max(1.0 - central, float(np.finfo(np.float64).eps)))


def _central_share(angle: float, freedom: float) -> float:
    """Return the probability that a variable with Student's t distribution lies between -t and t.

    ``angle`` is ``atan(t / sqrt(freedom))``; `freedom` is above 1.
    """
    squared = cos(angle) ** 2
    if freedom != int(freedom):
        return 1.0 - _beta_share(squared, freedom / 2.0, 0.5)
    if freedom % 2:
        steps = np.arange(2.0, freedom - 2, 2.0)
        series = 1.0 + float(np.cumprod(squared * steps / (steps + 1.0)).sum())
        return 2.0 / pi * (angle + sin(angle) * cos(angle) * series)
    steps = np.arange(1.0, freedom - 2, 2.0)
    return sin(angle) * (1.0 + float(np.cumprod(squared * steps / (steps + 1.0)).sum()))


def _beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction.

    References
    ----------
    Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.5.2 and 26.5.8.
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # the continued fraction of I_{1-x}(b, a) converges faster here
        return 1.0 - _beta_share(1.0 - x, b, a)
    factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    # 1 / (1 + d1 / (1 + d2 / ...)), computed from the last term to the first.
    fraction = 1.0
    for m in range(12 + int(4.0 * sqrt(max(a, b))), -1, -1):  # enough pairs of terms for 1e-10
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))  # d with the index 2 * m + 1
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))  # d with the index 2 * m
        fraction = 1.0 + odd / fraction
        if m:
            fraction = 1.0 + even / fraction
    return factor / fraction


def _expanded_quantile(z: float, freedom: float) -> float:
    """Return the quantile of Student's t, computed from the normal quantile `z` by a series in ``1 / freedom``.

    The series ends with the term in ``1 / freedom ** 4``.
    """
    terms = (
        z,
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
        (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))
