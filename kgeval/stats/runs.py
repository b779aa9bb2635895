"""Several runs of a system, such as one model trained with several seeds: intervals, differences and joint tests.

A number from a few runs on a set of test triples varies for two reasons: other seeds, and other test triples.
`mean_over_runs` and `compare_runs` estimate both parts of the variance; `joint_p_values` corrects the tests of many
pairs of systems. `kgeval.benchmark` calls these functions.

The model behind the formulas: the statistic of run r is ``mean + A[r] + mean over c of (B[c] + AB[r, c])``, where A is
the effect of the seed, B the effect of a cluster of observations (shared by all runs), and AB their interaction: a
cluster may be easy for one run and hard for another. All effects are independent with mean 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import erfc, isfinite, isnan, lgamma, log, nan, sqrt

import numpy as np

from kgeval.checks import Ids, Reals, check_one_of, check_positive_int, counted
from kgeval.errors import DataError, MetricError
from kgeval.stats.clusters import STATISTIC_ROUNDING, Clusters, Grouping, left_out_deviations
from kgeval.stats.corrections import holm, step_down_max
from kgeval.stats.intervals import (
    ALIKE,
    ANYWHERE,
    CROSSED,
    NO_OBSERVATIONS,
    ONE_CLUSTER,
    UNDEFINED,
    UNDEFINED_WITHOUT,
    check_confidence,
    freedom_of,
    too_few,
    wilson_limits,
)
from kgeval.stats.moments import Moments, influences
from kgeval.stats.paired import SAME_DIFFERENCE, compare_paired, random_patterns
from kgeval.stats.tails import student_p_value, student_quantile

INTERVALS = ("t", "bootstrap")
MIN_BOOTSTRAPPED = 10  # a bootstrap of fewer runs draws too few different sets of runs
ONE_RUN = "one run: how much the value varies with the seed is unknown"
BORROWED = "one run: its spread over the seeds is taken from the other model"
N_NODES = 1000  # points at which the distribution of the runs' variance is evaluated; the p-value is exact to 1e-4
DRAWS_AT_ONCE = 2**20  # entries of an array of drawn clusters that a bootstrap holds in memory at a time


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one system, over the same observations in the same order.

    Parameters
    ----------
    moments : tuple of Moments
        The statistic of each run; at least one.
    clusters : Clusters
        Which observations may depend on each other.

    Examples
    --------
    >>> rows = [np.array([[1.0], [0.5], [0.2]]), np.array([[1.0], [0.25], [0.2]])]
    >>> Runs(tuple(map(Moments, rows)), Clusters.of([0, 1, 2], 3)).values.round(6).tolist()
    [0.566667, 0.483333]
    """

    moments: tuple[Moments, ...]
    clusters: Clusters

    def __post_init__(self) -> None:
        lengths = sorted({len(moments) for moments in self.moments})
        if len(lengths) != 1:
            raise DataError(f"the runs of a system need the same observations; got {lengths} observations")

    def __len__(self) -> int:
        return len(self.moments)

    @cached_property
    def values(self) -> Reals:
        """The statistic of each run, float64, shape (runs,); NaN without observations."""
        if not len(self.moments[0]):
            return np.full(len(self), nan)
        with np.errstate(all="ignore"):
            return np.array([float(moments.number) for moments in self.moments])

    @property
    def mean(self) -> float:
        """The mean of the statistic over the runs."""
        return float(self.values.mean())

    @cached_property
    def n_effective(self) -> float:
        """The effective number of clusters, the smallest of all runs."""
        return min(self.clusters.effective_number(moments.weights) for moments in self.moments)

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the variance over test triples: `n_effective` minus 1, rounded down, at least 1."""
        return freedom_of(self.n_effective)

    def changes(self, grouping: Grouping) -> Reals:
        """Return how much the statistic of each run changes if a cluster is left out, shape (runs, clusters)."""
        if grouping is self.clusters.first:
            return self._changes
        return self._changes_of(grouping)

    @cached_property
    def _changes(self) -> Reals:
        """The result of `changes` for the first grouping, kept because it is needed several times."""
        return self._changes_of(self.clusters.first)

    def _changes_of(self, grouping: Grouping) -> Reals:
        return np.stack([left_out_deviations(moments, grouping) for moments in self.moments])

    @cached_property
    def of_runs(self) -> float:
        """The variance of the mean over runs: the variance of the values of the runs, divided by the number of runs.

        This variance includes the variance due to seeds and the variance due to AB (see the module). NaN with one run.
        """
        return float(self.values.var(ddof=1)) / len(self) if len(self) > 1 else nan

    @cached_property
    def of_both(self) -> float:
        """The part of the variance of the mean that is due to AB (see the module); NaN with one run."""
        if len(self) < 2:
            return nan
        parts = [self.clusters.variance(partial(self._apart, r)) for r in range(len(self))]
        return float(sum(parts)) / (len(self) * (len(self) - 1.0))

    @cached_property
    def parts(self) -> Reals:
        """The part of each cluster (of the first grouping) in the mean of the statistic over the runs; (clusters,).

        The parts sum to the mean. For a plain mean they are the sums over each cluster, divided by the number of
        observations; other statistics are made linear (`influences`).
        """
        grouping, n = self.clusters.first, len(self.moments[0])
        sums = np.mean([grouping.sums(influences(moments)[:, None])[:, 0] for moments in self.moments], axis=0)
        return np.asarray((sums + self.mean * grouping.sizes) / n)

    def _apart(self, run: int, grouping: Grouping) -> Reals:
        """Return the `changes` of a run minus their mean over the runs, shape (clusters,); rounding errors become 0."""
        changes = self.changes(grouping)
        apart = changes[run] - changes.mean(axis=0)
        apart[np.abs(apart) <= STATISTIC_ROUNDING * np.abs(changes).max(axis=0)] = 0.0
        return np.asarray(apart)


@dataclass(frozen=True)
class RunsInterval:
    """The mean of a statistic over runs, or the difference of two such means, with an interval.

    Parameters
    ----------
    value : float
    low, high : float
        The limits of the interval; NaN if there is none (see `reason`). With several runs, the interval shows how much
        `value` would vary with other seeds and other test triples; with one run, with other test triples only.
    error : float
        The standard error.
    freedom : float
        The degrees of freedom of Student's t.
    of_seeds, of_triples : float
        The two parts of ``error ** 2``: the variance due to seeds, and the variance due to test triples. `of_seeds` is
        NaN if a system has only one run. If the other system has several runs, ``error ** 2`` still includes a variance
        due to seeds (see `compare_runs`).
    deviation : float
        The standard deviation of the values of the runs (with the divisor runs - 1); NaN with one run, and for a
        difference.
    p_value : float
        Two-sided p-value of the hypothesis that the difference is 0; NaN for a single system.
    n_runs : tuple of int
        The number of runs of each system.
    n_clusters : int
    n_effective : float
        The effective number of clusters (see `Interval`).
    confidence : float
    method : str
        ``"t"`` or ``"bootstrap"``.
    reason : str
        Why there is no interval, or why `of_seeds` is NaN; else empty.
    """

    value: float
    low: float
    high: float
    error: float
    freedom: float
    of_seeds: float
    of_triples: float
    deviation: float
    p_value: float
    n_runs: tuple[int, ...]
    n_clusters: int
    n_effective: float
    confidence: float
    method: str
    reason: str = ""

    def __str__(self) -> str:
        if isnan(self.low):
            return f"{self.value:.4f} (no interval: {self.reason})"
        tested = "" if isnan(self.p_value) else f", p = {self.p_value:.4g}"
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]{tested}" + (
            f" ({self.reason})" if self.reason else ""
        )


@dataclass(frozen=True)
class _Variance:
    """The variance of a mean over runs or of a difference: its two parts, and the degrees of freedom of the whole.

    Let V be the observed variance of the values of the runs (`Runs.of_runs`), AB the part of V that is due to clusters
    (`Runs.of_both`), and T the variance of the mean over clusters with the given runs, which includes AB too. The whole
    variance is ``T + V - AB``, but at least T: V may be below AB by chance.

    The degrees of freedom: let w be the share of V in the whole variance, or 0 if V is below AB. Then 1 / freedom is w
    divided by the degrees of freedom of V, plus 1 - w divided by the degrees of freedom of T. Satterthwaite's formula
    has the squares of w and 1 - w instead. With that formula and three runs, the coverage of 95% intervals of a mean
    can be as low as 92%, because V, and so w, may be far too small by chance.
    """

    of_seeds: Reals
    of_triples: Reals
    freedom: Reals

    @classmethod
    def of(cls, of_clusters: Reals, systems: Sequence[tuple[Reals, Reals, int]], freedom: float) -> _Variance:
        """Return the variance; all arrays have the same shape (0-dimensional for a single variance).

        Parameters
        ----------
        of_clusters : float64 array
            T.
        systems : sequence of tuples
            V, AB and the number of runs of each system that has at least two.
        freedom : float
            The degrees of freedom of T.
        """
        whole = np.asarray(of_clusters, dtype=np.float64)
        if not systems:
            return cls(np.zeros_like(whole), whole, np.full_like(whole, freedom))
        shown = np.asarray(sum(of_runs for of_runs, _, _ in systems))
        both = np.asarray(sum(of_both for _, of_both, _ in systems))
        squares = np.asarray(sum(np.square(of_runs) / (n - 1.0) for of_runs, _, n in systems))
        of_seeds = np.maximum(shown - both, 0.0)
        of_triples = np.where(of_seeds > 0.0, np.maximum(whole, both), whole)
        with np.errstate(all="ignore"):
            freedom_of_runs = np.square(shown) / squares
            share = np.where(of_seeds > 0.0, shown / (of_seeds + of_triples), 0.0)
            freedom_of_all = 1.0 / (share / freedom_of_runs + (1.0 - share) / freedom)
        return cls(of_seeds, of_triples, np.where(share > 0.0, freedom_of_all, freedom))

    @property
    def whole(self) -> Reals:
        """The variance, the sum of both parts."""
        return self.of_seeds + self.of_triples


def mean_over_runs(
    runs: Runs,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = ANYWHERE,
    method: str = "t",
    n_resamples: int = 1999,
    seed: int = 0,
) -> RunsInterval:
    """Return the mean of a statistic over the runs of a system, with an interval.

    Parameters
    ----------
    runs : Runs
    confidence : float
        Nominal coverage.
    bounds : two floats
        The smallest and the largest possible value of the statistic; with (0, 1), Student's t gives Wilson's limits.
        See `robust_interval`.
    method : str
        ``"t"``, or ``"bootstrap"``: a hierarchical bootstrap, which draws runs and then clusters, with replacement, and
        compares the mean of each draw in units of its own standard error (bootstrap-t). The bootstrap needs at least 10
        runs and clusters that do not overlap.
    n_resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    RunsInterval
        With one run, the interval is that of `robust_interval`.

    Raises
    ------
    MetricError
        If an argument is out of range, or if a bootstrap is not possible.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4 (two crossed random effects); Satterthwaite
    (1946), An Approximate Distribution of Estimates of Variance Components, Biometrics Bulletin 2; Bouthillier et al.
    (2021), Accounting for Variance in Machine Learning Benchmarks, MLSys; Owen and Eckles (2012), Bootstrapping Data
    Arrays of Arbitrary Order, Annals of Applied Statistics 6.

    Examples
    --------
    Three runs with the values 0.5, 0.6 and 0.7. No observation is easier than another, so only the seeds vary:

    >>> runs = Runs(tuple(Moments(np.full((50, 1), value)) for value in (0.5, 0.6, 0.7)), Clusters.of(range(50), 50))
    >>> interval = mean_over_runs(runs)
    >>> print(interval, round(interval.freedom, 3))
    0.6000 [0.3516, 0.8484] 2.0
    """
    terms = _Terms(confidence, bounds, method, n_resamples, seed)
    return _interval([runs], terms)


def compare_runs(
    first: Runs,
    second: Runs,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = ANYWHERE,
    method: str = "t",
    n_resamples: int = 1999,
    seed: int = 0,
) -> RunsInterval:
    """Return the difference between the means of two systems over their runs, with an interval and a test.

    The observations of both systems are the same, so that their clusters are paired. The runs are not: run 1 of the
    first system has nothing in common with run 1 of the second.

    Parameters
    ----------
    first, second : Runs
        Over the same observations, in the same order, with the same clusters.
    confidence, method
        As in `mean_over_runs`.
    bounds : two floats
        The smallest and the largest possible difference.
    n_resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    RunsInterval
        If both systems have one run, interval and p-value are those of `compare_paired` (9,999 swaps, seed 0). If only
        one of the systems has one run, this run is assumed to vary with the seed as much as a run of the other system;
        `reason` says so.

        With several runs, the p-value takes into account that the variance over the runs is uncertain: for each true
        variance that could have given the observed variance, a p-value is computed, and the result is the mean of these
        p-values, weighted by the probabilities of the true variances (a generalized p-value). This matters with three
        or five runs, whose variance may be far too small by chance: a p-value from Student's t alone is then below
        0.001 up to eight times too often, and a correction for many tests needs such small p-values. So p may be
        slightly above 0.05 although the 95% interval excludes 0. The p-value is at least the smallest possible one of a
        randomization test, since a t test rejects too often if few clusters differ.

    Raises
    ------
    DataError
        If the systems have different observations.
    MetricError
        As `mean_over_runs`.

    References
    ----------
    Weerahandi (1995), Exact Statistical Methods for Data Analysis (generalized p-values); see `mean_over_runs` for the
    other methods.

    Examples
    --------
    >>> rows = np.linspace(0.1, 1.0, 50)[:, None]
    >>> first = Runs(tuple(Moments(rows + shift) for shift in (0.1, 0.2)), Clusters.of(range(50), 50))
    >>> second = Runs(tuple(Moments(rows - shift) for shift in (0.1, 0.2)), first.clusters)
    >>> print(compare_runs(first, second))
    0.3000 [-0.0042, 0.6042], p = 0.05132
    """
    terms = _Terms(confidence, bounds, method, n_resamples, seed)
    if len(first.moments[0]) != len(second.moments[0]):
        raise DataError(
            f"first has {len(first.moments[0])} observations and second {len(second.moments[0])}; a paired comparison "
            "needs the same observations, in the same order"
        )
    return _interval([first, second], terms)


@dataclass(frozen=True)
class _Terms:
    """The settings of `mean_over_runs` and `compare_runs`, checked."""

    confidence: float
    bounds: tuple[float, float]
    method: str
    n_resamples: int
    seed: int

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_one_of("method", self.method, INTERVALS, MetricError)
        check_positive_int("n_resamples", self.n_resamples, MetricError)


def _interval(systems: Sequence[Runs], terms: _Terms) -> RunsInterval:
    """Return the mean of one system, or the difference between two, with its interval."""
    runs, is_pair = systems[0], len(systems) == 2
    value = systems[0].mean - systems[1].mean if is_pair else runs.mean
    clusters = runs.clusters
    n_runs = tuple(map(len, systems))
    n_effective = min(system.n_effective for system in systems)
    error = low = high = p_value = freedom = of_clusters = of_seeds = of_triples = nan
    reason = _lacking(value, systems)
    if not reason:
        of_clusters = _variance_over_clusters(systems)
        found = _variance_of(systems, of_clusters)
        of_triples, freedom = float(found.of_triples), float(found.freedom)
        of_seeds = float(found.of_seeds) if min(n_runs) > 1 else nan
        error = sqrt(float(found.whole)) if isfinite(float(found.whole)) else nan
        if isnan(error):
            reason = UNDEFINED_WITHOUT
    if not reason and error == 0.0 and (is_pair or terms.bounds != (0.0, 1.0)):
        p_value = 1.0 if is_pair and value == 0.0 else nan
        reason = SAME_DIFFERENCE if is_pair and value else ALIKE
    elif not reason:
        if terms.method == "bootstrap":
            low, high = _bootstrap_limits(systems, value, error, terms)
        else:
            low, high = _t_limits(value, error, freedom, n_effective, terms)
        if is_pair and max(n_runs) > 1:
            p_value = max(_p_value(value, systems, of_clusters), _smallest_p_value(systems))
        if min(n_runs) == 1:
            reason = BORROWED if max(n_runs) > 1 else ONE_RUN
    if is_pair and max(n_runs) == 1 and isfinite(value):
        p_value = compare_paired([systems[0].moments[0]], [systems[1].moments[0]], clusters)[0].p_value
    deviation = float(runs.values.std(ddof=1)) if n_runs[0] > 1 and not is_pair else nan
    return RunsInterval(
        value=value if isfinite(value) else nan,
        low=low,
        high=high,
        error=error,
        freedom=nan if isnan(error) else freedom,
        of_seeds=of_seeds,
        of_triples=of_triples,
        deviation=deviation,
        p_value=p_value,
        n_runs=n_runs,
        n_clusters=clusters.count,
        n_effective=nan if isnan(error) else n_effective,
        confidence=terms.confidence,
        method=terms.method,
        reason=reason,
    )


def _lacking(value: float, systems: Sequence[Runs]) -> str:
    """Return the reason why there is no interval; empty if there is an interval."""
    clusters = systems[0].clusters
    if not len(systems[0].moments[0]):
        return NO_OBSERVATIONS
    if not isfinite(value):
        return UNDEFINED
    if clusters.count == 1:
        return ONE_CLUSTER
    return too_few(min(system.n_effective for system in systems)) or clusters.lacking


def _freedom(systems: Sequence[Runs]) -> float:
    """Return the degrees of freedom of the variance over test triples; for two systems, the smaller number."""
    return float(min(runs.freedom for runs in systems))


def _variance_over_clusters(systems: Sequence[Runs]) -> float:
    """Return T of `_Variance`, of the mean of one system or of the difference between two."""
    return systems[0].clusters.variance(partial(_mean_changes, systems))


def _variance_of(systems: Sequence[Runs], of_clusters: float) -> _Variance:
    """Return the variance of the mean of one system, or of the difference between two, given T of `_Variance`."""
    several = [
        (np.asarray(times * runs.of_runs), np.asarray(times * runs.of_both), len(runs))
        for runs, times in _with_several_runs(systems)
    ]
    return _Variance.of(np.asarray(of_clusters), several, _freedom(systems))


def _with_several_runs(systems: Sequence[Runs]) -> list[tuple[Runs, float]]:
    """Return the systems with several runs, each with the factor of its variance.

    If the other system has only one run, this run is assumed to vary as much as each of the n runs. The variance of one
    run is n times the variance of the mean of n runs; so the factor is 1 + n.
    """
    several = [runs for runs in systems if len(runs) > 1]
    borrows = 0 < len(several) < len(systems)
    return [(runs, 1.0 + len(runs) if borrows else 1.0) for runs in several]


def _mean_changes(systems: Sequence[Runs], grouping: Grouping) -> Reals:
    """Return how much the value (a mean, or a difference) changes if a cluster is left out; shape (clusters,)."""
    means = [runs.changes(grouping).mean(axis=0) for runs in systems]
    if len(means) == 1:
        return np.asarray(means[0])
    change = means[0] - means[1]
    change[np.abs(change) <= STATISTIC_ROUNDING * (np.abs(means[0]) + np.abs(means[1]))] = 0.0
    return np.asarray(change)


def _p_value(value: float, systems: Sequence[Runs], of_clusters: float) -> float:
    """Return the two-sided p-value of a difference, given T of `_Variance`; see `compare_runs`.

    At least one of the two systems has several runs.
    """
    freedom, several = _freedom(systems), _with_several_runs(systems)
    shown = sum(times * runs.of_runs for runs, times in several)
    both = sum(times * runs.of_both for runs, times in several)
    squares = sum((times * runs.of_runs) ** 2 / (len(runs) - 1.0) for runs, times in several)
    if not squares:
        return student_p_value(value / sqrt(of_clusters), freedom)
    half = shown**2 / squares / 2.0  # half of Satterthwaite's degrees of freedom of the variance of the runs
    # (nodes,): values of a chi-square variable with 2 * half degrees of freedom, in equal steps of their logarithms,
    # and their probabilities. A small value stands for a variance of the runs that is far below the true one.
    logs = np.linspace(-40.0 / half, np.log(2.0 * half + 40.0 + 20.0 * sqrt(half)), N_NODES)
    chances = np.exp(half * logs - np.exp(logs) / 2.0 - half * log(2.0) - lgamma(half)) * (logs[1] - logs[0])
    of_seeds = np.maximum(shown * 2.0 * half / np.exp(logs) - both, 0.0)
    with np.errstate(all="ignore"):
        # Only the variance due to clusters is estimated here; the smaller its share, the more degrees of freedom.
        freedoms = freedom / np.square(np.maximum(of_clusters / (of_clusters + of_seeds), 1e-6))
        values_of_z = np.abs(_z(value / np.sqrt(of_clusters + of_seeds), freedoms))
    tails = np.array([erfc(z / sqrt(2.0)) for z in values_of_z.tolist()])
    return float(min(1.0, (tails * chances).sum() / chances.sum()))


def _smallest_p_value(systems: Sequence[Runs]) -> float:
    """Return the smallest possible p-value of a test that swaps the clusters in which two systems differ."""
    first, second = (runs.parts for runs in systems)
    n_differing = int((np.abs(first - second) > STATISTIC_ROUNDING * (np.abs(first) + np.abs(second))).sum())
    return float(2.0 ** min(0, 1 - n_differing))


def _t_limits(value: float, error: float, freedom: float, n_effective: float, terms: _Terms) -> tuple[float, float]:
    """Return the limits of the interval by Student's t; Wilson's limits for values from 0 to 1."""
    t = student_quantile((1.0 + terms.confidence) / 2.0, freedom)
    if terms.bounds == (0.0, 1.0):
        return wilson_limits(value, error**2, n_effective, t)
    low, high = terms.bounds
    return max(value - t * error, low), min(value + t * error, high)


# ---- the hierarchical bootstrap ----


def _bootstrap_limits(systems: Sequence[Runs], value: float, error: float, terms: _Terms) -> tuple[float, float]:
    """Return the limits of the interval by a hierarchical bootstrap-t; see `mean_over_runs`."""
    fewest = min(map(len, systems))
    if fewest < MIN_BOOTSTRAPPED:
        raise MetricError(
            f"a hierarchical bootstrap needs at least {MIN_BOOTSTRAPPED} runs of each system; got "
            f"{counted(fewest, 'run')}; use method='t'"
        )
    if systems[0].clusters.is_crossed:
        raise MetricError(CROSSED.replace("'robust'", "'t'"))
    rng = np.random.default_rng(terms.seed)
    grouping, n_clusters = systems[0].clusters.first, systems[0].clusters.count
    # For each system (runs, clusters): the influence of each cluster on the statistic of each run; each row sums to 0.
    parts = [
        np.stack([grouping.sums(influences(moments)[:, None])[:, 0] for moments in runs.moments]) / len(runs.moments[0])
        for runs in systems
    ]
    factor = n_clusters / (n_clusters - 1.0)
    ratios = []
    for n_draws in _blocks(terms.n_resamples, n_clusters):
        # (draws, clusters): how often each cluster is drawn; the same clusters for both systems.
        weights = rng.multinomial(n_clusters, np.full(n_clusters, 1.0 / n_clusters), size=n_draws).astype(np.float64)
        shift, signed, several = np.zeros(n_draws), np.zeros((n_draws, n_clusters)), []
        for sign, runs, of_run in zip((1.0, -1.0), systems, parts):
            n = len(runs)
            drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=n_draws) / n  # (draws, runs): share of each run
            values = runs.values + weights @ of_run.T  # (draws, runs): the statistic of each run on the drawn clusters
            means = (drawn * values).sum(axis=1)
            shift += sign * (means - runs.mean)
            of_mean = drawn @ of_run  # (draws, clusters): the influence of each cluster on the mean of the drawn runs
            signed += sign * of_mean
            of_runs = (drawn * np.square(values - means[:, None])).sum(axis=1) / (n - 1.0)
            squares = (drawn * (weights @ np.square(of_run).T)).sum(axis=1)
            apart = np.maximum(squares - (weights * np.square(of_mean)).sum(axis=1), 0.0)
            several.append((of_runs, factor * apart / (n - 1.0), n))
        centre = (weights * signed).sum(axis=1, keepdims=True) / n_clusters
        of_clusters = factor * (weights * np.square(signed - centre)).sum(axis=1)
        with np.errstate(all="ignore"):
            ratios.append(shift / np.sqrt(_Variance.of(of_clusters, several, n_clusters - 1.0).whole))
    sorted_ratios = np.sort(np.nan_to_num(np.concatenate(ratios), nan=np.inf))
    tail = (1.0 - terms.confidence) / 2.0
    low, high = np.quantile(sorted_ratios, [tail, 1.0 - tail], method="inverted_cdf").tolist()
    return max(value - high * error, terms.bounds[0]), min(value - low * error, terms.bounds[1])


def _blocks(n_draws: int, n_clusters: int) -> Iterator[int]:
    """Yield the numbers of draws of blocks that fit in memory; they add up to `n_draws`."""
    size = max(1, DRAWS_AT_ONCE // n_clusters)
    for start in range(0, n_draws, size):
        yield min(size, n_draws - start)


# ---- the joint test of many pairs ----


def joint_p_values(
    families: Sequence[Sequence[Runs]],
    pairs: Sequence[tuple[int, int, int]],
    *,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Reals:
    """Return p-values of the differences between pairs of systems, corrected together by the step-down maxT method.

    Each resample is one benchmark under the null hypothesis. In each dataset, a random swap pattern exchanges clusters
    between the two systems of every pair; all pairs share the pattern, so their differences depend on each other as the
    observed differences do. If a system has several runs, its mean also gets a random effect of the seeds, and the
    variance between its runs is drawn from its chi-square distribution. The seed effect and the drawn variance follow
    from the variance of a single run, which is the same for all systems of the dataset under the null hypothesis. This
    variance of a single run is uncertain if there are few runs. So each resample draws its own value of the variance,
    from the values that could have given the mean of the observed variances. Each difference is divided by its standard
    error in the same resample. The ratios have different degrees of freedom; they are turned into values of z, so that
    the maximum is not always that of the pair with the fewest runs. See also `bounded_joint`.

    Parameters
    ----------
    families : sequence of sequences of Runs
        For each dataset, its systems, all over the same observations with the same clusters.
    pairs : sequence of (int, int, int)
        The index of the dataset, of the first and of the second system.
    n_resamples : int
    seed : int

    Returns
    -------
    float64 array, shape (pairs,)
        NaN if the difference or its variance is undefined, or if the clusters of the dataset overlap.

    Raises
    ------
    MetricError
        If `n_resamples` is not a positive integer.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing; Wallace (1959), Bounds on Normal Approximations to
    Student's and the Chi-Square Distributions, Annals of Mathematical Statistics 30 (values of z).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, clusters = rng.random((60, 1)), Clusters.of(range(60), 60)
    >>> good, copy, bad = (
    ...     Runs((Moments(rows + shift + rng.normal(0, 0.1, (60, 1))),), clusters) for shift in (0.1, 0.1, 0.0)
    ... )
    >>> joint_p_values([[good, copy, bad]], [(0, 0, 1), (0, 0, 2), (0, 1, 2)], n_resamples=999).round(3).tolist()
    [0.385, 0.001, 0.001]
    """
    check_positive_int("n_resamples", n_resamples, MetricError)
    observed = np.full(len(pairs), nan)
    resampled = np.zeros((n_resamples, len(pairs)))
    for index, systems in enumerate(families):
        chosen = [place for place, (dataset, _, _) in enumerate(pairs) if dataset == index]
        tested = [place for place in chosen if not systems[0].clusters.is_crossed]
        if not tested:
            continue
        values, of_resamples = _z_values(systems, [pairs[place][1:] for place in tested], n_resamples, [seed, index])
        observed[tested], resampled[:, tested] = values, of_resamples
    return step_down_max(observed, resampled)


def bounded_joint(joint: Reals, p_values: Reals, n_runs: Ids) -> Reals:
    """Return the p-values of the joint test, each at least the p-value of the pair alone.

    If a system of the pair has two runs, the result is also at least Holm's corrected p-value. The joint test estimates
    how much all systems vary with the seed. With few runs it rejects too often: in simulated benchmarks of six equal
    systems with two runs each, it rejected at least one of the 15 null hypotheses in up to 11%, in place of 5%.

    Parameters
    ----------
    joint : float64 array, shape (pairs,)
        The result of `joint_p_values`.
    p_values : float64 array, shape (pairs,)
        The p-value of each pair alone.
    n_runs : int64 array, shape (pairs, 2)
        The numbers of runs of both systems of each pair.

    Returns
    -------
    float64 array, shape (pairs,)

    Examples
    --------
    >>> joint, alone = np.array([0.01, 0.04, 0.06]), np.array([0.03, 0.02, 0.05])
    >>> bounded_joint(joint, alone, np.array([[3, 3], [3, 3], [2, 3]])).tolist()
    [0.03, 0.04, 0.06]
    >>> bounded_joint(joint, alone, np.full((3, 2), 2)).round(12).tolist()
    [0.06, 0.06, 0.06]
    """
    return np.maximum(joint, np.where((n_runs == 2).any(axis=1), holm(p_values), p_values))


def _z_values(
    systems: Sequence[Runs], pairs: Sequence[tuple[int, int]], n_resamples: int, seed: Sequence[int]
) -> tuple[Reals, Reals]:
    """Return the absolute z of the difference of each pair of one dataset: as observed, and in each resample.

    The arrays have the shapes (pairs,) and (resamples, pairs); NaN where a difference or its variance is undefined.
    """
    grouping = systems[0].clusters.first
    shares = grouping.sizes / grouping.sizes.sum()  # (clusters,)
    # (clusters, systems): the part of each cluster in the mean of each system, and the same weighted by `shares`.
    parts = np.stack([runs.parts for runs in systems], axis=1)
    first, second = np.array(pairs, dtype=np.int64).T
    gaps = parts[:, first] - parts[:, second]
    squares, of_shares = np.square(gaps).sum(axis=0), float(np.square(shares).sum())
    swapped, weighted = np.zeros((n_resamples, len(systems))), np.zeros((n_resamples, len(systems)))
    start = 0
    for swaps in random_patterns(grouping.count, n_resamples, int(np.random.SeedSequence(seed).generate_state(1)[0])):
        signs = 1.0 - 2.0 * swaps  # (patterns, clusters): -1 if the pattern exchanges the systems in the cluster
        rows = slice(start, start + len(signs))
        swapped[rows], weighted[rows] = signs @ parts, signs @ (parts * shares[:, None])
        start += len(signs)
    # Under the null hypothesis the systems are alike: the variances of a single run are averaged over the systems.
    several = [runs for runs in systems if len(runs) > 1 and isfinite(runs.of_runs) and isfinite(runs.of_both)]
    shown, both = (
        (
            np.mean([len(runs) * runs.of_runs for runs in several]),
            np.mean([len(runs) * runs.of_both for runs in several]),
        )
        if several
        else (0.0, 0.0)
    )
    rng = np.random.default_rng(seed)
    # (resamples,): true variances of a single run that could have given the observed variance `shown`.
    freedom = max(1, sum(len(runs) - 1 for runs in several))
    true = max(shown, both) * freedom / rng.chisquare(freedom, n_resamples)
    moved, drawn = np.zeros((n_resamples, len(systems))), {}
    for k, runs in enumerate(systems):
        moved[:, k] = rng.standard_normal(n_resamples) * np.sqrt(np.maximum(true - both, 0.0) / len(runs))
        if len(runs) > 1:
            drawn[k] = np.maximum(true, both) / len(runs) * rng.chisquare(len(runs) - 1, n_resamples) / (len(runs) - 1)
    observed, resampled = np.full(len(pairs), nan), np.full((n_resamples, len(pairs)), nan)
    for place, (i, j) in enumerate(pairs):
        pair = [systems[i], systems[j]]
        value = pair[0].mean - pair[1].mean
        if _lacking(value, pair):
            continue
        of_clusters = _variance_over_clusters(pair)
        found = _variance_of(pair, of_clusters)
        plain = float(np.square(gaps[:, place] - value * shares).sum())
        if not (isfinite(float(found.whole)) and float(found.whole) > 0.0 and plain > 0.0):
            continue
        observed[place] = abs(float(_z(value / np.sqrt(found.whole), found.freedom)))
        of_swaps = swapped[:, i] - swapped[:, j]
        of_weighted = weighted[:, i] - weighted[:, j]
        # The sum of the squares of (sign * gap - difference * share), in the scale of the jackknife variance.
        spread = squares[place] - 2.0 * of_swaps * of_weighted + np.square(of_swaps) * of_shares
        of_runs = [
            (times * drawn[i if runs is pair[0] else j], np.full(n_resamples, times * runs.of_both), len(runs))
            for runs, times in _with_several_runs(pair)
        ]
        shift = moved[:, i] - moved[:, j] if of_runs else 0.0  # with one run per system, there is no effect of seeds
        within = _Variance.of(np.maximum(spread, 0.0) * of_clusters / plain, of_runs, _freedom(pair))
        with np.errstate(all="ignore"):
            resampled[:, place] = np.abs(_z((of_swaps + shift) / np.sqrt(within.whole), within.freedom))
    return observed, resampled


def _z(t: Reals, freedom: Reals) -> Reals:
    """Return the value of z that is about as extreme as a value of Student's t; Wallace (1959), equation 4.1."""
    scale = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
    return np.asarray(np.sign(t) * scale * np.sqrt(freedom * np.log1p(np.square(t) / freedom)))
