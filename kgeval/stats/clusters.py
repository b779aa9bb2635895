"""Clusters of observations that depend on each other, and sampling variances by a jackknife over clusters.

`intervals.py` and `paired.py` compute intervals and tests from the variance and from the effective number of clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals
from kgeval.errors import DataError
from kgeval.stats.moments import Moments

# Largest relative rounding errors of a sum within a cluster, and of a statistic. Smaller deviations count as 0.
SUM_ROUNDING = 2.0**-46
STATISTIC_ROUNDING = 2.0**-40
# Limits for pairs of observations that share a cluster: the largest number of such pairs (the computation needs about
# 50 bytes of memory for each), and their largest share of all pairs.
MAX_PAIRS = 2.0**24
MAX_SHARE_OF_PAIRS = 0.5


@dataclass(frozen=True)
class Grouping:
    """One grouping of observations into clusters; the clusters have the indices 0, 1, 2 and so on.

    A member is a pair: an observation, and a cluster that contains it.

    Parameters
    ----------
    numbers : int64 array, shape (members,)
        For each member, the index of its cluster, from 0 to ``count - 1``.
    count : int
        How many clusters there are.
    observations : int64 array, shape (members,), optional
        For each member, the index of its observation, in ascending order. With this array, an observation can be in
        several clusters: for example, a query is in the clusters of all its triples. By default, each observation is in
        one cluster, so there is one member per observation.
    """

    numbers: Ids
    count: int
    observations: Ids | None = None

    @classmethod
    def of(cls, labels: npt.ArrayLike, n: int, observations: Ids | None = None) -> Grouping:
        """Return the grouping, given one cluster label per member.

        Parameters
        ----------
        labels : array_like, shape (members,)
            Any values that can be sorted; members with equal labels share a cluster.
        n : int
            Number of observations.
        observations : int64 array, shape (members,), optional
            For each member, the index of its observation. If a pair (observation, label) occurs several times, it
            counts once. By default, there is one member per observation.

        Raises
        ------
        DataError
            If `labels` has another shape, or if a label is NaN.

        Examples
        --------
        >>> Grouping.of([7, 7, 3], 3)
        Grouping(numbers=array([1, 1, 0]), count=2, observations=None)
        >>> Grouping.of([7, 3, 7, 7], 2, np.array([0, 0, 1, 1]))
        Grouping(numbers=array([0, 1, 1]), count=2, observations=array([0, 0, 1]))
        """
        array = np.asarray(labels)
        expected = (n,) if observations is None else observations.shape
        if array.shape != expected:
            raise DataError(
                f"clusters must have one label per observation, shape ({expected[0]},); got shape {array.shape}"
            )
        if array.dtype.kind == "f" and np.isnan(array).any():
            row = int(np.flatnonzero(np.isnan(array))[0])
            raise DataError(f"clusters, row {row}: NaN is not a label; every observation needs a cluster")
        distinct, numbers = np.unique(array, return_inverse=True)
        numbers, count = numbers.reshape(expected).astype(np.int64, copy=False), len(distinct)
        if observations is None:
            return cls(numbers, count)
        # One integer for each pair of observation and cluster; sorted, so that members come in the order of the
        # observations.
        members = np.unique(observations * count + numbers) if count else np.zeros(0, dtype=np.int64)
        observations, numbers = np.divmod(members, max(count, 1))
        is_plain = len(observations) == n and bool((observations == np.arange(n)).all())
        return cls(numbers, count, None if is_plain else observations)

    @property
    def sizes(self) -> Reals:
        """Number of members of each cluster, float64, shape (clusters,)."""
        return np.bincount(self.numbers, minlength=self.count).astype(np.float64)

    def sums(self, values: Reals) -> Reals:
        """Sum the rows of `values` within each cluster.

        `values` has the shape (observations, k), the result (float64) has the shape (clusters, k).

        Examples
        --------
        >>> Grouping.of([7, 7, 3], 3).sums(np.array([[1.0], [2.0], [5.0]]))
        array([[5.],
               [3.]])
        """
        values = values if self.observations is None else values[self.observations]
        columns = [np.bincount(self.numbers, weights=column, minlength=self.count) for column in values.T]
        return np.stack(columns, axis=1) if columns else np.zeros((self.count, 0))

    def effective_number(self, weights: Reals | None = None) -> float:
        """Return the effective number of clusters, ``sizes.sum()**2 / (sizes**2).sum()``.

        This is the number of clusters if all clusters have the same size; otherwise it is smaller. If one cluster
        contains nearly all observations, the effective number is slightly above 1. With weights, the size of a cluster
        is the sum of ``weight**(4/3)`` over its observations. (In the simulations of tests/bench/bench_coverage.py, the
        coverage of intervals is too low with the power 1 in place of 4/3, and too high with the power 2, which is right
        for normal values.)

        Parameters
        ----------
        weights : float64 array, shape (observations,), optional
            The weight of each observation in the statistic.

        References
        ----------
        Kish (1965), Survey Sampling, section 8.2; Carter, Schnepel and Steigerwald (2017), Asymptotic Behavior of a
        t-Test Robust to Cluster Heterogeneity, Review of Economics and Statistics 99 (effective number of clusters).

        Examples
        --------
        >>> Grouping.of([1, 1, 2, 2], 4).effective_number(), Grouping.of([1, 1, 1, 2], 4).effective_number()
        (2.0, 1.6)
        """
        sizes = self.sizes if weights is None else self.sums(weights[:, None] ** (4.0 / 3.0))[:, 0]
        squares = float(np.square(sizes).sum())
        return float(sizes.sum()) ** 2 / squares if squares > 0.0 else 0.0

    def take(self, rows: Ids) -> tuple[Grouping, Ids]:
        """Return the grouping of the chosen observations, and the old index of each cluster that remains.

        Parameters
        ----------
        rows : int64 array, shape (chosen,)
            The indices of the chosen observations, which become the observations 0, 1, 2 and so on.

        Examples
        --------
        >>> Grouping.of([7, 7, 3, 9], 4).take(np.array([3, 0]))
        (Grouping(numbers=array([1, 0]), count=2, observations=None), array([1, 2]))
        """
        if self.observations is None:
            kept, numbers = np.unique(self.numbers[rows], return_inverse=True)
            return Grouping(numbers.reshape(len(rows)), len(kept)), kept
        n = int(max(self.observations.max(initial=-1), rows.max(initial=-1))) + 1
        new_index = np.full(n, -1)
        new_index[rows] = np.arange(len(rows))
        chosen = np.flatnonzero(new_index[self.observations] >= 0)
        kept, numbers = np.unique(self.numbers[chosen], return_inverse=True)
        return Grouping.of(numbers.reshape(len(chosen)), len(rows), new_index[self.observations[chosen]]), kept


@dataclass(frozen=True)
class Clusters:
    """Clusters of observations: observations that share a cluster of one of the groupings may depend on each other.

    Two groupings (two-way clusters) overlap: with clusters by subject and by object, two ranks depend on each other if
    they share the subject or the object. Observations that share no cluster are independent.

    Parameters
    ----------
    first : Grouping
    second, both : Grouping, optional
        `second`: the second grouping, if there are two. `both`: their intersection; members share a cluster of `both`
        if they share a cluster of `first` and also a cluster of `second`.
    """

    first: Grouping
    second: Grouping | None = None
    both: Grouping | None = None

    @classmethod
    def of(cls, labels: npt.ArrayLike | Clusters, n: int) -> Clusters:
        """Return the clusters of `n` observations from one label per observation; `Clusters` are returned unchanged.

        Raises
        ------
        DataError
            If the shape of `labels` is not (n,), or if a label is NaN.
        """
        if isinstance(labels, Clusters):
            return labels
        return cls(Grouping.of(labels, n))

    @classmethod
    def crossed(cls, first: Ids, second: Ids, n: int, observations: Ids | None = None) -> Clusters:
        """Return the clusters of two groupings; leave out a grouping that is nested in the other grouping.

        Parameters
        ----------
        first, second : int64 arrays, shape (members,)
            The label of each member in the first and in the second grouping.
        n : int
            Number of observations.
        observations : int64 array, shape (members,), optional
            As in `Grouping.of`.

        Examples
        --------
        >>> Clusters.crossed(np.array([1, 1, 2]), np.array([5, 6, 6]), 3).both.count
        3
        >>> Clusters.crossed(np.array([1, 1, 2]), np.array([5, 6, 7]), 3).is_crossed  # 5 and 6 lie within 1, 7 within 2
        False
        """
        numbers = [np.unique(labels, return_inverse=True)[1].reshape(len(labels)) for labels in (first, second)]
        pairs = numbers[0] * (int(numbers[1].max(initial=0)) + 1) + numbers[1]
        one, other, both = (Grouping.of(labels, n, observations) for labels in (*numbers, pairs))
        if both.count == other.count:
            return cls(one)
        if both.count == one.count:
            return cls(other)
        return cls(one, other, both)

    @property
    def is_crossed(self) -> bool:
        """Whether there are two groupings that overlap."""
        return self.second is not None

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The grouping, or the two groupings that overlap."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def count(self) -> int:
        """Number of clusters; with two groupings, the smaller of the two numbers."""
        return min(grouping.count for grouping in self.groupings)

    def effective_number(self, weights: Reals | None = None) -> float:
        """Return the effective number of clusters (see `Grouping`); with two groupings, the smaller of the two."""
        return min(grouping.effective_number(weights) for grouping in self.groupings)

    def take(self, rows: Ids) -> Clusters:
        """Return the clusters of some of the observations; `rows` is as in `Grouping.take`."""
        parts = (self.first, self.second, self.both)
        return Clusters(*(None if part is None else part.take(rows)[0] for part in parts))  # type: ignore[arg-type]

    def variance(self, deviations: Callable[[Grouping], Reals]) -> float:
        """Return the sampling variance of a statistic.

        With one grouping, the variance is the sum of the squared deviations of its clusters. With two groupings, their
        sums are added, and the sum of their intersection is subtracted, because both sums contain it. The result is
        never below the sum of a grouping in which each observation is in one cluster.

        If observations are in several clusters of both groupings (queries by entity), two observations may share many
        clusters. Then the variance is a sum over all pairs of observations that share at least one cluster, including
        each observation with itself: the products of their two deviations. Because all deviations sum to 0, the sum
        over these pairs is too small if many pairs share a cluster; so the sum is divided by the share of the pairs
        that share no cluster. With G clusters of equal size, and each observation in one cluster, this division is the
        usual factor G / (G - 1).

        Parameters
        ----------
        deviations : function
            Takes a grouping and returns one deviation of the statistic per cluster, such as `left_out_deviations`.

        Returns
        -------
        float
            NaN if the variance cannot be estimated; `lacking` contains the reason.

        References
        ----------
        Cameron, Gelbach and Miller (2011), Robust Inference With Multiway Clustering, Journal of Business & Economic
        Statistics 29.
        """
        if self.needs_pairs:
            return self._variance_of_pairs(deviations)
        sums = [float(np.square(deviations(grouping)).sum()) for grouping in self.groupings]
        if self.both is None:
            return sums[0]
        total = sum(sums) - float(np.square(deviations(self.both)).sum())
        return max(total, *(part for part, grouping in zip(sums, self.groupings) if grouping.observations is None))

    def _variance_of_pairs(self, deviations: Callable[[Grouping], Reals]) -> float:
        """Return the variance from the pairs of observations that share a cluster; see `variance`."""
        if self.lacking or self.pairs is None:
            return float("nan")
        first, second, n = self.pairs
        share = (n + 2.0 * len(first)) / float(n) ** 2
        single = deviations(Grouping(np.arange(n), n))
        squares = float(np.square(single).sum())
        # `squares` already contains the usual factor n / (n - 1) for n clusters of one observation, which `share`
        # corrects again; the difference hardly matters.
        return max(squares, squares + 2.0 * float((single[first] * single[second]).sum())) / (1.0 - share)

    @property
    def needs_pairs(self) -> bool:
        """Whether there are two groupings, and each can have an observation in several clusters; see `variance`."""
        return self.is_crossed and all(grouping.observations is not None for grouping in self.groupings)

    @property
    def lacking(self) -> str:
        """The reason why statistics of these observations have no variance; else empty."""
        if not self.needs_pairs:
            return ""
        if self.pairs is None:
            return "too many pairs of observations share a cluster (such as queries that share an entity)"
        first, _, n = self.pairs
        if n + 2.0 * len(first) > MAX_SHARE_OF_PAIRS * float(n) ** 2:
            return "more than half of all pairs of observations share a cluster (such as queries that share an entity)"
        return ""

    @cached_property
    def pairs(self) -> tuple[Ids, Ids, int] | None:
        """The pairs of different observations that share a cluster, and the number of observations.

        The pairs are two int64 arrays of shape (pairs,), which contain each pair once. The property is None if there
        are more than `MAX_PAIRS` pairs; in this count, a pair counts once for each cluster that it shares.
        """
        n_members = sum(float((grouping.sizes * (grouping.sizes - 1.0)).sum()) / 2.0 for grouping in self.groupings)
        n = 1 + max(
            int(grouping.observations.max()) for grouping in self.groupings if grouping.observations is not None
        )
        if n_members > MAX_PAIRS:
            return None
        keys = np.unique(np.concatenate([_pair_keys(grouping, n) for grouping in self.groupings]))
        first, second = np.divmod(keys, n)
        return first, second, n


def _pair_keys(grouping: Grouping, n: int) -> Ids:
    """Return ``i * n + j`` for all pairs i < j of observations that share a cluster, once per cluster that they share.

    Examples
    --------
    >>> _pair_keys(Grouping.of([7, 7, 7, 3], 4), 10)
    array([ 1,  2, 12])
    """
    observations = np.arange(n) if grouping.observations is None else grouping.observations
    members = observations[np.argsort(grouping.numbers, kind="stable")]  # ascending within each cluster
    sizes = grouping.sizes.astype(np.int64)
    ends = np.repeat(np.cumsum(sizes), sizes)  # (members,): where the cluster of each member ends
    # (members,): how many later members its cluster has; each member makes a pair with each of these.
    n_later = ends - 1 - np.arange(len(members))
    starts = np.repeat(np.cumsum(n_later) - n_later, n_later)
    # (pairs,): for each pair, the position in `members` of its later member.
    later = np.repeat(np.arange(len(members)), n_later) + 1 + np.arange(int(n_later.sum())) - starts
    return np.asarray(np.repeat(members, n_later) * n + members[later])


def without_rounding(first: Reals, second: Reals, share: float = STATISTIC_ROUNDING) -> Reals:
    """Return ``first - second``; differences that rounding errors can explain become 0.

    Parameters
    ----------
    first, second : float64 arrays
    share : float
        The share of both sizes up to which a difference is a rounding error.

    Examples
    --------
    >>> without_rounding(np.array([0.3, 1.0]), np.array([0.1 + 0.2, 0.5])).tolist()
    [0.0, 0.5]
    """
    gaps = first - second
    return np.where(np.abs(gaps) <= share * (np.abs(first) + np.abs(second)), 0.0, gaps)


def left_out_deviations(moments: Moments, grouping: Grouping) -> Reals:
    """Return, for each cluster, how much the statistic changes if the cluster is left out (jackknife).

    The deviations are multiplied by ``sqrt((G - 1) / G)`` for G clusters, so that the sum of their squares is the
    jackknife variance. For a plain mean over clusters of equal size, this is the usual cluster-robust variance with the
    factor G / (G - 1). Larger clusters get more weight, because they pull the mean towards their own values.

    Parameters
    ----------
    moments : Moments
    grouping : Grouping
        At least two clusters.

    Returns
    -------
    float64 array, shape (clusters,)
        NaN or infinite if the statistic is undefined without the cluster.

    References
    ----------
    MacKinnon, Nielsen and Webb (2023), Fast and reliable jackknife and bootstrap methods for cluster-robust inference,
    Journal of Applied Econometrics 38 (there CV3).

    Examples
    --------
    The mean of 1, 3 and 8 is 4. Without the first cluster (1 and 3) it is 8; without the second cluster (8) it is 2:

    >>> deviations = left_out_deviations(Moments(np.array([[1.0], [3.0], [8.0]])), Grouping.of([0, 0, 1], 3))
    >>> (deviations / np.sqrt(1 / 2)).round(9)
    array([ 4., -2.])
    """
    values, n = moments.values, len(moments)
    means = values.mean(axis=0)
    # (clusters, k): the sums of the deviations from the means. Rounding errors are set to 0, so that the variance is 0
    # if all clusters have the same means.
    sums, sizes = grouping.sums(values - means), grouping.sizes[:, None]
    sums[np.abs(sums) <= SUM_ROUNDING * (grouping.sums(np.abs(values)) + sizes * np.abs(means))] = 0.0
    with np.errstate(all="ignore"):
        # The deviations of all observations sum to 0, so the deviations outside a cluster sum to minus the sum of the
        # cluster.
        left_out, value = moments.finish(means - sums / (n - sizes)), moments.finish(means)
        changes = np.asarray(left_out - value)
        changes[np.abs(changes) <= STATISTIC_ROUNDING * (np.abs(left_out) + np.abs(value))] = 0.0
    changes[(sums == 0.0).all(axis=1) & (sizes[:, 0] < n)] = 0.0
    return np.asarray(changes * np.sqrt((grouping.count - 1.0) / grouping.count))
