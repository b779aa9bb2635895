"""Comparison of several models over several datasets: mean ranks, Friedman's test, tests of all pairs.

`kgeval.benchmarks.across_datasets` calls these functions. The observations are the datasets: each dataset has one value
per model, such as its MRR, and the models are ranked within each dataset. So the number of triples of a dataset does
not matter, and a few datasets give little evidence.

All functions leave out a dataset in which a model has no value (NaN), and say how many they left out. Two values of a
dataset are equal if they differ by rounding errors only, that is, by a share of 1.4e-14 or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import factorial, inf, isfinite, nan, prod, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Ids, Reals, counted
from kgeval.errors import DataError
from kgeval.stats.clusters import SUM_ROUNDING
from kgeval.stats.intervals import check_confidence

# Limits of the exact Friedman test: the numbers of models, of different sums of ranks, and of these sums combined with
# the orders of the last dataset. Within these limits, the test takes about a second at most.
MAX_EXACT_MODELS = 8
MAX_RANK_SUMS = 2_000_000
MAX_LAST_SUMS = 10_000_000
# With fewer datasets than this, the tests hardly ever find a difference, or are not reliable.
FEW_DATASETS = 5
# Sums of ranks are handled in blocks; a block has at most this many entries (8 bytes each).
SUMS_AT_ONCE = 2**20


@dataclass(frozen=True)
class MeanRanks:
    """The ranks of models within each dataset, and their means over datasets.

    Parameters
    ----------
    means : float64 array, shape (models,)
        The mean rank of each model; 1 is the best possible. NaN if no dataset has values of all models.
    ranks : float64 array, shape (kept datasets, models)
        Rank 1 is the best model of a dataset. Models with equal values get the mean of their ranks, such as 1.5.
    is_kept : bool array, shape (datasets,)
        Whether all models have a value in the dataset; the others are left out.
    """

    means: Reals
    ranks: Reals
    is_kept: Bools

    @property
    def n_left_out(self) -> int:
        """The number of datasets in which a model has no value."""
        return int((~self.is_kept).sum())


@dataclass(frozen=True)
class Friedman:
    """The result of Friedman's test of the hypothesis that all models are equally good.

    Parameters
    ----------
    chi2, p_chi2 : float
        Friedman's statistic, corrected for ties, and its p-value by the chi-square distribution with ``models - 1``
        degrees of freedom.
    f, p_f : float
        The statistic of Iman and Davenport, ``(datasets - 1) * chi2 / (datasets * (models - 1) - chi2)``, and its
        p-value by the F distribution with ``models - 1`` and ``(models - 1) * (datasets - 1)`` degrees of freedom. If
        all datasets rank the models alike, `f` is infinite and `p_f` is 0.
    p_exact : float
        The exact p-value, or NaN if it takes too long (see `friedman`).
    p_value : float
        The p-value to report: `p_exact`; if that is NaN, `p_f`, but at least `smallest_p`.
    smallest_p : float
        The smallest possible exact p-value for these numbers of models and datasets, and these ties. If it is above
        the significance level, the test cannot find a difference.
    n_models, n_datasets, n_left_out : int
        `n_datasets` is the number of datasets with values of all models; `n_left_out` is the number of the others.
    reason : str
        Why there is no test (all numbers but the counts are then NaN); else empty.
    """

    chi2: float
    p_chi2: float
    f: float
    p_f: float
    p_exact: float
    p_value: float
    smallest_p: float
    n_models: int
    n_datasets: int
    n_left_out: int
    reason: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether `p_value` is the exact p-value."""
        return isfinite(self.p_exact)


@dataclass(frozen=True)
class Nemenyi:
    """The result of Nemenyi's test of all pairs of models.

    Parameters
    ----------
    critical_difference : float
        Two models differ significantly if their mean ranks differ by at least this number.
    p_values : float64 array, shape (models, models)
        The p-value of each pair, already corrected for the number of pairs; symmetric, 1 on the diagonal.
    confidence : float
        1 minus the significance level of `critical_difference`.
    n_datasets, n_left_out : int
        As in `Friedman`.
    reason : str
        Why there is no test (`critical_difference` and `p_values` are then NaN); else empty.
    """

    critical_difference: float
    p_values: Reals
    confidence: float
    n_datasets: int
    n_left_out: int
    reason: str = ""


def mean_ranks(values: npt.ArrayLike, higher_is_better: bool) -> MeanRanks:
    """Rank the models within each dataset, and return the mean rank of each model.

    Parameters
    ----------
    values : array_like of floats, shape (datasets, models)
        One value per dataset and model. NaN stands for a missing value; its dataset is left out.
    higher_is_better : bool
        Whether the largest value of a dataset gets rank 1 (as for MRR), or the smallest (as for the mean rank, MR).

    Returns
    -------
    MeanRanks

    Raises
    ------
    DataError
        If `values` does not have two dimensions and at least one model, or if a value is infinite.

    References
    ----------
    Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7.

    Examples
    --------
    >>> found = mean_ranks([[0.3, 0.2, 0.2], [0.5, 0.6, 0.1], [0.4, np.nan, 0.3]], higher_is_better=True)
    >>> found.ranks.tolist(), found.means.tolist(), found.n_left_out
    ([[1.0, 2.5, 2.5], [2.0, 1.0, 3.0]], [1.5, 1.75, 2.75], 1)
    """
    kept, is_kept = complete_rows(values)
    ranks = np.array([_ranks_of(-row if higher_is_better else row) for row in kept]).reshape(kept.shape)
    means = ranks.mean(axis=0) if len(ranks) else np.full(kept.shape[1], nan)
    return MeanRanks(means, ranks, is_kept)


def friedman(values: npt.ArrayLike) -> Friedman:
    """Test with Friedman's test whether any of several models is better than the others over datasets.

    The null hypothesis is that within each dataset, every order of the models is equally likely. The direction of the
    metric does not matter.

    The chi-square and the F distribution hold for many datasets only: of three equally good models on three datasets,
    the F distribution gives a p-value below 0.05 in a fifth of all cases. So the exact p-value is computed if this
    takes at most about a second. It is the share of all ``models! ** datasets`` combinations of orders whose statistic
    is at least the observed one (with ties, only different orders of the tied ranks are combined). Combinations with
    the same sums of ranks are handled together. Without ties, this is enough for about 120 datasets with 3 models, 27
    with 4, 10 with 5, 5 with 6, 3 with 7, and 2 with 8.

    With fewer than five datasets, the test finds only very large differences. `Friedman.smallest_p`, without ties
    ``models! ** (1 - datasets)``, is the p-value of datasets that all give the same order; with two datasets and three
    models it is 1/6, so that the test means nothing.

    Parameters
    ----------
    values : array_like of floats, shape (datasets, models)
        As in `mean_ranks`.

    Returns
    -------
    Friedman

    Raises
    ------
    DataError
        As `mean_ranks`.

    References
    ----------
    Friedman (1937), The Use of Ranks to Avoid the Assumption of Normality Implicit in the Analysis of Variance, Journal
    of the American Statistical Association 32; Iman and Davenport (1980), Approximations of the Critical Region of the
    Friedman Statistic, Communications in Statistics A 9; Conover (1999), Practical Nonparametric Statistics, 5.8.

    Examples
    --------
    >>> found = friedman([[0.5, 0.4, 0.3], [0.3, 0.2, 0.1], [0.9, 0.8, 0.6]])
    >>> # all datasets agree, as 3! of 3! ** 3 combinations do
    >>> found.chi2, round(found.p_chi2, 4), round(found.p_exact, 4)
    (6.0, 0.0498, 0.0278)
    """
    ranked = mean_ranks(values, higher_is_better=True)
    from scipy import stats

    n, k = ranked.ranks.shape
    counts = {"n_models": k, "n_datasets": n, "n_left_out": ranked.n_left_out}
    reason = _reason(ranked)
    if reason:
        return Friedman(nan, nan, nan, nan, nan, nan, nan, **counts, reason=reason)
    # Friedman's statistic, corrected for ties.
    variation = ((ranked.ranks - (k + 1) / 2.0) ** 2).sum()
    chi2 = float((k - 1) * ((ranked.ranks.sum(axis=0) - n * (k + 1) / 2.0) ** 2).sum() / variation)
    agree = bool((ranked.ranks == ranked.ranks[0]).all())
    f = inf if agree else (n - 1) * chi2 / (n * (k - 1) - chi2)
    p_f = 0.0 if agree else float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    doubled = np.rint(2.0 * ranked.ranks).astype(np.int64)
    p_exact, smallest = _exact_p_value(doubled), _smallest_p_value(doubled)
    p_value = p_exact if isfinite(p_exact) else max(p_f, smallest)
    return Friedman(chi2, float(stats.chi2.sf(chi2, k - 1)), f, p_f, p_exact, p_value, smallest, **counts)


def nemenyi(values: npt.ArrayLike, confidence: float = 0.95) -> Nemenyi:
    """Test all pairs of models with Nemenyi's test, which compares their mean ranks.

    The test controls the probability of one or more false rejections among all pairs, also if some models differ. It
    does not correct for ties, so it finds fewer differences if there are ties. The studentized range distribution holds
    for many datasets; with fewer than five, only models at the two ends of the ranking can differ significantly. Adding
    a poor model to the table changes the ranks, and so the p-values of the other pairs.

    Parameters
    ----------
    values : array_like of floats, shape (datasets, models)
        As in `mean_ranks`.
    confidence : float
        1 minus the significance level of the critical difference.

    Returns
    -------
    Nemenyi
        The critical difference is ``q * sqrt(models * (models + 1) / (6 * datasets))``, where q is the quantile of the
        studentized range of `models` values with infinitely many degrees of freedom, divided by the square root of 2.

    Raises
    ------
    DataError
        As `mean_ranks`.
    MetricError
        If `confidence` is out of range.

    References
    ----------
    Nemenyi (1963), Distribution-free Multiple Comparisons; Demšar (2006), Statistical Comparisons of Classifiers over
    Multiple Data Sets, Journal of Machine Learning Research 7 (3.2.2).

    Examples
    --------
    >>> found = nemenyi([[0.5, 0.4, 0.3], [0.3, 0.2, 0.1], [0.9, 0.8, 0.6]])
    >>> round(found.critical_difference, 3), found.p_values[0].round(4).tolist()
    (1.914, [1.0, 0.4385, 0.038])
    """
    check_confidence(confidence)
    ranked = mean_ranks(values, higher_is_better=True)
    from scipy import stats

    n, k = ranked.ranks.shape
    reason = _reason(ranked)
    if reason:
        return Nemenyi(nan, np.full((k, k), nan), confidence, n, ranked.n_left_out, reason)
    unit = sqrt(k * (k + 1) / (6.0 * n))
    critical = float(stats.studentized_range.ppf(confidence, k, inf)) / sqrt(2.0) * unit
    first, second = np.triu_indices(k, 1)
    gaps = np.abs(ranked.means[first] - ranked.means[second])
    p_values = np.ones((k, k))
    p_values[first, second] = np.clip(stats.studentized_range.sf(gaps / unit * sqrt(2.0), k, inf), 0.0, 1.0)
    p_values[second, first] = p_values[first, second]
    return Nemenyi(critical, p_values, confidence, n, ranked.n_left_out)


def complete_rows(values: npt.ArrayLike) -> tuple[Reals, Bools]:
    """Return the values of the datasets in which all models have a value, and a mask of these datasets.

    Parameters
    ----------
    values : array_like of floats, shape (datasets, models)
        As in `mean_ranks`.

    Returns
    -------
    kept : float64 array, shape (kept datasets, models)
    is_kept : bool array, shape (datasets,)

    Raises
    ------
    DataError
        As `mean_ranks`.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or not array.shape[1]:
        raise DataError(f"values must have shape (datasets, models), with at least one model; got {array.shape}")
    if np.isinf(array).any():
        dataset, model = (int(i) for i in np.argwhere(np.isinf(array))[0])
        raise DataError(
            f"values, dataset {dataset}, model {model}: expected a finite number, or NaN for a missing value; "
            f"got {array[dataset, model]}"
        )
    is_kept = np.asarray(~np.isnan(array).any(axis=1))
    return array[is_kept], is_kept


def alike_groups(p_values: Reals, alpha: float) -> list[tuple[int, int]]:
    """Return the groups of models without significant difference, as in a critical-difference diagram.

    Parameters
    ----------
    p_values : float64 array, shape (models, models)
        P-values of all pairs, symmetric. The models are in the order of their mean ranks.
    alpha : float
        The significance level: two models differ significantly if their p-value is at most `alpha`.

    Returns
    -------
    list of (first, last)
        Indices of the first and the last model of each group. A group has at least two models, no two models of a group
        differ significantly, and no group is part of a larger group.

    Examples
    --------
    >>> alike_groups(np.array([[1.0, 0.3, 0.01], [0.3, 1.0, 0.2], [0.01, 0.2, 1.0]]), alpha=0.05)
    [(0, 1), (1, 2)]
    """
    k = len(p_values)
    groups: list[tuple[int, int]] = []
    for first in range(k):
        last = first
        while last + 1 < k and bool((p_values[first : last + 1, last + 1] > alpha).all()):
            last += 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _ranks_of(row: Reals) -> Reals:
    """Return the ranks of values, the smallest first; equal values get the mean of their ranks."""
    order = np.argsort(row, kind="stable")
    low, high = row[order[:-1]], row[order[1:]]
    is_new = high - low > SUM_ROUNDING * (np.abs(low) + np.abs(high))
    # (models,): for each sorted value, the index of the group of equal values to which it belongs.
    group = np.concatenate([[0], np.cumsum(is_new)])
    sizes = np.bincount(group)
    middle = np.cumsum(sizes) - (sizes - 1) / 2.0  # the mean rank of each group
    ranks = np.empty(len(row))
    ranks[order] = middle[group]
    return ranks


def _reason(ranked: MeanRanks) -> str:
    """Return the reason why the ranks cannot be tested; empty if a test is possible."""
    n, k = ranked.ranks.shape
    if k < 2:
        return "a test needs at least two models"
    if n < 2:
        return f"a test needs at least two datasets with values of all models; got {counted(n, 'dataset')}"
    return "" if np.ptp(ranked.ranks, axis=1).any() else "all models are equal in every dataset"


def _exact_p_value(doubled: Ids) -> float:
    """Return the exact p-value of Friedman's test; NaN if that takes too long.

    The statistic grows with the sum of the squared sums of ranks, so this sum is compared. `doubled`, shape (datasets,
    models), contains the ranks times 2, which are integers. Under the null hypothesis, it does not matter which model
    has which sum of ranks; so the sums are sorted, and equal lists of sums are handled together. With two datasets of
    two models, the doubled sums are (4, 8) with probability 1/2 and (6, 6) with probability 1/2.
    """
    k = doubled.shape[1]
    base = int(doubled.sum()) + 1
    if k > MAX_EXACT_MODELS or base ** (k - 1) >= 2**63:
        return nan
    places = base ** np.arange(k - 1)
    rows = np.sort(doubled, axis=1)
    # (sums, k) and (sums,): the different sorted sums of ranks of the datasets so far, and their probabilities.
    sums: Ids = rows[:1]
    shares: Reals = np.ones(1)
    n_sums = 0
    for row in rows[1:-1]:
        ways = _orders_of(tuple(row.tolist()))
        n_sums += len(sums) * len(ways)
        if n_sums > MAX_RANK_SUMS:
            return nan
        added = np.sort((sums[:, None] + ways[None]).reshape(-1, k), axis=1)
        # One integer per row of `added`, without the last sum of the row, which follows from the others.
        _, first, which = np.unique(added[:, :-1] @ places, return_index=True, return_inverse=True)
        of_added = np.repeat(shares / len(ways), len(ways))
        shares = np.bincount(which.ravel(), weights=of_added).astype(np.float64)
        sums = added[first]
    ways = _orders_of(tuple(rows[-1].tolist()))
    if len(sums) * len(ways) > MAX_LAST_SUMS:
        return nan
    # The squared sums with the last dataset are |sums|^2 + 2 sums * way + |way|^2; in float64, integers stay exact.
    observed = float((doubled.sum(axis=0) ** 2).sum() - (rows[-1] ** 2).sum())
    extreme = 0.0
    for start in range(0, len(sums), block := max(1, SUMS_AT_ONCE // len(ways))):
        part = sums[start : start + block].astype(np.float64)
        squared = (part**2).sum(axis=1, keepdims=True) + 2.0 * part @ ways.T.astype(np.float64)
        extreme += float(shares[start : start + block] @ (squared >= observed).mean(axis=1))
    return min(1.0, extreme)


@lru_cache(maxsize=16)
def _orders_of(row: tuple[int, ...]) -> Ids:
    """Return the different orders of sorted ranks, int64 (orders, models); exchanged equal ranks are no new order."""
    return np.unique(np.array(list(permutations(row)), dtype=np.int64), axis=0)


def _smallest_p_value(doubled: Ids) -> float:
    """Return the exact p-value of Friedman's test if all datasets gave the same order, with the observed ties.

    `doubled` is explained in `_exact_p_value`. Dataset d has ``models! / t[d]`` different orders, where t[d] is the
    product of the factorials of the numbers of models with equal ranks. Of their combinations, ``models! / c`` agree,
    where c is the same product for models whose ranks are equal in every dataset after sorting.
    """
    n, k = doubled.shape
    is_new = np.diff(np.sort(doubled, axis=1), axis=1) > 0  # (datasets, k - 1)
    within = prod(_orders_within_ties(row) for row in is_new)
    return float(within / (_orders_within_ties(np.asarray(is_new.any(axis=0))) * factorial(k) ** (n - 1)))


def _orders_within_ties(is_new: Bools) -> int:
    """Return the product of the factorials of the sizes of groups; ``is_new[i]``: a group starts at place i + 1."""
    sizes = np.bincount(np.concatenate([[0], np.cumsum(is_new)]))
    return prod(factorial(size) for size in sizes.tolist())
