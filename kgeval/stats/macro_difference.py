"""The paired difference of a macro average: the unweighted mean of a statistic over fixed groups of observations.

`Comparison.averages` calls `compare_macro`; the interval of one macro average is `macro_interval` of `intervals.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Reals
from kgeval.errors import DataError
from kgeval.stats.clusters import Clusters, Grouping, left_out_deviations, without_rounding
from kgeval.stats.intervals import Spread
from kgeval.stats.moments import Moments
from kgeval.stats.paired import EQUAL_VALUES, SAME_DIFFERENCE, Difference, gap_sums, t_p_value

# A macro difference needs this many degrees of freedom. With fewer, one or two groups of few clusters have nearly the
# whole variance, which they cannot show: 95% intervals hold the true difference in 0.64 to 1.00 of simulated samples.
# With 15 or more, they hold it in 0.91 to 0.99.
MIN_FREEDOM = 15


def compare_macro(
    first: Sequence[Moments],
    second: Sequence[Moments],
    clusters: npt.ArrayLike | Clusters,
) -> Difference:
    """Compare two systems by a macro average, on the same observations in the same groups.

    The groups are fixed, and the observations of each group are a sample. The variance is a jackknife over the clusters
    within each group, of the difference between the two systems. The p-value comes from Student's t test; like the
    t tests of `compare_paired`, it is at least ``2 ** (1 - n_differing)``.

    Parameters
    ----------
    first, second : sequences of Moments
        The statistic of each group, for each system; the same groups in the same order.
    clusters : array_like, shape (observations,), or Clusters
        The clusters of all observations: those of ``first[0]``, then those of ``first[1]``, and so on.

    Returns
    -------
    Difference
        There is no test, and `reason` says so, if a group has one cluster only, so that its variance is unknown, or if
        groups of few clusters leave fewer than 15 degrees of freedom.

    Raises
    ------
    DataError
        If the two systems differ in the number of groups, or in the number of observations of a group.

    References
    ----------
    Rust and Rao (1996) and Satterthwaite (1946), as in `Spread.of_mean`.

    Examples
    --------
    Two groups, of two and of three observations; the macro average of the differences is (1 + 2) / 2:

    >>> first = [Moments(np.array([[2.0], [2.0]])), Moments(np.array([[4.0], [3.0], [2.0]]))]
    >>> second = [Moments(np.array([[1.0], [1.0]])), Moments(np.array([[1.0], [1.0], [1.0]]))]
    >>> difference = compare_macro(first, second, [0, 1, 2, 3, 4])
    >>> difference.value, round(difference.error, 4)
    (1.5, 0.2887)
    >>> print(difference.reason[-84:])
    freedom 2, and a macro difference needs at least 15; leave them out, or merge groups
    """
    if [len(part) for part in first] != [len(part) for part in second]:
        raise DataError(
            "first and second must have the same groups with the same observations; got groups of "
            f"{[len(part) for part in first]} and {[len(part) for part in second]} observations"
        )
    groups = Clusters.of(clusters, sum(map(len, first)))
    spreads = [Spread.of_mean(parts, groups) for parts in (first, second)]
    value = spreads[0].value - spreads[1].value
    reason = next((spread.reason for spread in spreads if spread.reason), "")
    variance, n_differing = nan, _count_differing(first, second, groups.first)
    if not any(isnan(spread.variance) for spread in spreads):
        variance = groups.variance(lambda grouping: _deviations(first, second, grouping))
    spread = Spread(value, variance, min(one.n_effective for one in spreads), groups.count, reason).checked()
    error, p_value, reason = sqrt(variance) if variance >= 0.0 else nan, nan, spread.reason
    if variance == 0.0:
        reason = SAME_DIFFERENCE if n_differing else EQUAL_VALUES
        p_value = nan if n_differing else 1.0
    elif not reason and spread.freedom < MIN_FREEDOM:
        reason = (
            f"groups of few clusters (such as two triples) make the error uncertain: freedom {spread.freedom}, and a "
            f"macro difference needs at least {MIN_FREEDOM}; leave them out, or merge groups"
        )
    elif not reason:
        p_value = t_p_value(value / error, spread.freedom, n_differing)
    n_effective = nan if isnan(error) else spread.n_effective
    freedom = nan if isnan(error) else float(spread.freedom)
    return Difference(value, error, freedom, p_value, groups.count, n_differing, n_effective, reason)


def _deviations(first: Sequence[Moments], second: Sequence[Moments], grouping: Grouping) -> Reals:
    """Return, for each cluster, how much the difference of the macro averages changes if the cluster is left out.

    A cluster is left out of each group in which it has observations; the changes of the groups are added.
    """
    total, end = np.zeros(grouping.count), 0
    for in_first, in_second in zip(first, second):
        local, kept = grouping.take(np.arange(end, end := end + len(in_first)))
        changes = [left_out_deviations(part, local) for part in (in_first, in_second)]
        total[kept] += without_rounding(changes[0], changes[1]) / len(first)
    return total


def _count_differing(first: Sequence[Moments], second: Sequence[Moments], grouping: Grouping) -> int:
    """Return the number of clusters in which the two systems differ in at least one group."""
    differs, end = np.zeros(grouping.count, dtype=bool), 0
    for in_first, in_second in zip(first, second):
        local, kept = grouping.take(np.arange(end, end := end + len(in_first)))
        differs[kept] |= gap_sums(in_first, in_second, local).any(axis=1)
    return int(differs.sum())
