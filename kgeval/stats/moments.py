"""`Moments`, a statistic that is a function of means, and `Interval`, a value with its confidence interval.

Metrics return `Moments`. `intervals.py` and `paired.py` compute intervals and tests from `Moments`, so that these
modules need no code for particular metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from kgeval.base.checks import Ids, Reals
from kgeval.base.wording import between, estimate, written

# If an interval has fewer effective clusters than this, their number is shown beside it.
FEW_CLUSTERS = 100


def first_mean(means: Reals) -> Reals:
    """Return the first of the k means; this is the function `finish` of a statistic that is a plain mean.

    Parameters
    ----------
    means : float64 array, shape (..., k)

    Returns
    -------
    float64 array, shape (...)
    """
    return np.asarray(means[..., 0])


@dataclass(frozen=True)
class Moments:
    """A statistic that is a function of k means: ``finish(values.mean(axis=0))``.

    Parameters
    ----------
    values : float64 array, shape (observations, k)
        Each row holds the k values of one observation; the means are taken over the rows.
    finish : function
        Computes the statistic from the means: takes a float64 array of shape (..., k), and returns a float64 array of
        shape (...).
    weights : float64 array, shape (observations,), optional
        The weight of each observation in the statistic, such as the denominator of a ratio. The weights are used only
        for the effective number of clusters. They do not change the statistic: `values` and `finish` already take them
        into account. By default, all observations have the same weight.

    Examples
    --------
    The geometric mean is a function of the mean logarithm:

    >>> ranks = np.array([[2.0], [8.0]])
    >>> float(Moments(np.log(ranks), lambda means: np.exp(means[..., 0])).number.round(12))
    4.0
    """

    values: Reals
    finish: Callable[[Reals], Reals] = first_mean
    weights: Reals | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def number(self) -> Reals:
        """The value of the statistic for all observations, a 0-dimensional float64 array."""
        return np.asarray(self.finish(self.values.mean(axis=0)))

    def weighted(self, weights: Reals) -> Moments:
        """Return the same statistic with weighted means: ``finish(sum(w * v) / sum(w))`` for values v and weights w.

        Parameters
        ----------
        weights : float64 array, shape (observations,)
            At least 0; at least one weight is positive.

        Examples
        --------
        >>> float(Moments(np.array([[1.0], [4.0]])).weighted(np.array([2.0, 1.0])).number)
        2.0
        """
        finish = self.finish

        def of_weighted(means: Reals) -> Reals:
            # means (..., k + 1): the k means of w * v, then the mean of w. The weighted means are the first k means
            # divided by the last one.
            return finish(means[..., :-1] / means[..., -1:])

        # values (observations, k + 1): w * v for each of the k columns, then w.
        return Moments(np.column_stack([self.values * weights[:, None], weights]), of_weighted, weights)

    def take(self, rows: Ids) -> Moments:
        """Return the same statistic over some of the observations, or over all in another order.

        Parameters
        ----------
        rows : int64 array
            Indices of the observations.
        """
        return Moments(self.values[rows], self.finish, None if self.weights is None else self.weights[rows])


def influences(moments: Moments) -> Reals:
    """Return the influence of each observation on the statistic, to first order; the influences sum to zero.

    The influence of an observation is the dot product of two vectors: its deviations from the means, and the gradient
    of `finish` at the means. The gradient is computed by central differences. The variance of the influences gives the
    standard error of the statistic. If two systems have the same observations, the variance of the differences between
    their influences gives the standard error of the difference between the systems.

    Parameters
    ----------
    moments : Moments
        At least one observation.

    Returns
    -------
    float64 array, shape (observations,)
        In the unit of the statistic; NaN if `finish` is not defined around the means.

    References
    ----------
    Hampel (1974), The Influence Curve and Its Role in Robust Estimation, JASA 69.

    Examples
    --------
    >>> influences(Moments(np.array([[1.0], [2.0], [6.0]]))).round(9)
    array([-2., -1.,  3.])
    """
    means = moments.values.mean(axis=0)  # (k,)
    deviations = moments.values - means  # (observations, k)
    if moments.finish is first_mean:
        return np.asarray(deviations[:, 0])
    # (k,): True for columns that are not constant. Constant columns have no influence; they are left out, since 0 times
    # an undefined gradient would be NaN.
    varies = (moments.values != moments.values[0]).any(axis=0)
    return np.asarray(deviations[:, varies] @ gradient(moments.finish, means, deviations)[varies])


def gradient(finish: Callable[[Reals], Reals], means: Reals, deviations: Reals) -> Reals:
    """Return the gradient of `finish` at `means` by central differences, shape (k,).

    Parameters
    ----------
    finish : function
        See `Moments`.
    means : float64 array, shape (k,)
    deviations : float64 array, shape (observations, k)
        The deviations of the observations from the means; they give the scale of the steps.

    The step of each mean is eps ** (1 / 3) times the standard deviation of its column, where eps is the machine epsilon
    of float64. With this step, the error of the difference formula and the rounding error of the subtraction are about
    equal.
    """
    small = float(np.cbrt(np.finfo(np.float64).eps))
    # (k,): the step of each mean; at least eps ** (2 / 3) times the mean, for columns that hardly vary.
    steps = small * np.maximum(deviations.std(axis=0), small * np.abs(means))
    # (k, k): a diagonal matrix, so that row i of `above` and row i of `below` change only mean i.
    steps = np.diag(np.where(steps > 0, steps, small))
    above, below = means + steps, means - steps
    with np.errstate(all="ignore"):
        # The diagonal of above - below holds the distances between the rounded points, about twice each step.
        return np.asarray((finish(above) - finish(below)) / np.diagonal(above - below))


@dataclass(frozen=True)
class Interval:
    """The value of a statistic with its confidence interval.

    Parameters
    ----------
    value : float
        The value of the statistic; NaN if it is undefined.
    low, high : float
        The limits of the interval; NaN if there is no interval (see `reason`).
    confidence : float
        The nominal coverage, for example 0.95.
    method : str
        How the interval was computed: ``"robust"``, ``"wilson"`` or ``"woodruff"``.
    n_clusters : int
        Number of clusters; a cluster is a group of observations that may depend on each other.
    error : float
        The standard error.
    reason : str
        Why there is no interval, or why it has no width; else empty.
    n_effective : float
        The effective number of clusters: the number of clusters of equal size that would give as many degrees of
        freedom. NaN if there is no interval.
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str
    n_clusters: int
    error: float = float("nan")
    reason: str = ""
    n_effective: float = float("nan")

    def of_sample(self, share: float) -> Interval:
        """Return a narrower interval, for observations that are a random sample of a finite population.

        The sample is drawn without replacement, and the result is an interval for the statistic of the whole
        population. The standard error, and the distances of the limits from the value, are multiplied by
        ``sqrt(1 - share)`` (finite-population correction).

        Parameters
        ----------
        share : float
            The size of the sample divided by the size of the population; 0 changes nothing.

        References
        ----------
        Cochran (1977), Sampling Techniques, section 2.6.

        Examples
        --------
        >>> print(Interval(0.5, 0.4, 0.6, 0.95, "robust", 100).of_sample(0.75))
        0.5000 [0.4500, 0.5500]
        """
        if share == 0.0:
            return self
        factor = (1.0 - share) ** 0.5
        low, high = (self.value - factor * (self.value - limit) for limit in (self.low, self.high))
        return replace(self, low=low, high=high, error=factor * self.error)

    def __str__(self) -> str:
        text = estimate((self.value, self.low, self.high), reason=self.reason)
        return text if isnan(self.low) or not self.remark else f"{text} ({self.remark})"

    def _repr_html_(self) -> str:
        from kgeval.display import html, html_tables

        title = f"{written(self.value)} {between(self.low, self.high)}"
        numbers = self.value, self.low, self.high
        bars = html_tables.bar_table(["statistic"], [numbers], [4], self.confidence, notes=[self.remark])
        facts = [
            ("method", self.method),
            ("confidence", f"{100 * self.confidence:g}%"),
            ("standard error", written(self.error, 6)),
            ("clusters", f"{self.n_clusters:,}"),
            ("effective clusters", written(self.n_effective, 1)),
        ]
        how = html.folded("How the interval was computed", html_tables.html_table(html_tables.fact_table(facts)))
        return html.panel(title, html_tables.html_table(bars), how)

    @property
    def remark(self) -> str:
        """The text to show beside the interval: `reason`, and the effective number of clusters if it is below 100."""
        few = f"{self.n_effective:.0f} effective clusters" if self.n_effective < FEW_CLUSTERS else ""
        return "; ".join(filter(None, [self.reason, few]))
