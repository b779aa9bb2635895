"""Several runs of a system, such as one model trained with several seeds: intervals and differences.

A number from a few runs on a set of test triples varies for two reasons: other seeds, and other test triples.
`mean_over_runs` and `compare_runs` estimate both parts of the variance. `kgeval.benchmark` calls these functions.

The model behind the formulas: the statistic of run r is ``mean + A[r] + mean over c of (B[c] + AB[r, c])``, where A is
the effect of the seed, B the effect of a cluster of observations (shared by all runs), and AB their interaction: a
cluster may be easy for one run and hard for another. All effects are independent with mean 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import isfinite, isnan, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Reals, check_one_of
from kgeval.base.wording import estimate
from kgeval.errors import DataError, MetricError
from kgeval.stats.clusters import STATISTIC_ROUNDING, Clusters, Grouping, left_out_deviations, without_rounding
from kgeval.stats.intervals import (
    ALIKE,
    ANYWHERE,
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
from kgeval.stats.paired import EQUAL_VALUES, SAME_DIFFERENCE, Difference, compare_pairs, t_p_value
from kgeval.stats.tails import student_quantile

SPREADS = ("pooled", "separate")
ONE_RUN = "one run: how much the value varies with the seed is unknown"
# Where every system has this many runs, a clear difference of their spreads is looked for.
MIN_TO_SEPARATE = 5
# The level at which spreads differ clearly. It is large, since separate spreads cost little and a missed difference
# much: with 0.2, 10% of the families err in which one of four models on five datasets has a fourfold spread.
SEPARATING_LEVEL = 0.5
MIN_FREEDOM = 4.0  # with fewer degrees of freedom, the variance of the seeds is too uncertain for `EXPONENT`
EXPONENT = 1.5


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
        return self._changes if grouping is self.clusters.first else self._changes_of(grouping)

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
    """The mean of a statistic over runs, with an interval.

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
        NaN with one run.
    deviation : float
        The standard deviation of the values of the runs (with the divisor runs - 1); NaN with one run.
    n_runs : int
    n_clusters : int
    n_effective : float
        The effective number of clusters (see `Interval`).
    confidence : float
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
    n_runs: int
    n_clusters: int
    n_effective: float
    confidence: float
    reason: str = ""

    def __str__(self) -> str:
        text = estimate((self.value, self.low, self.high), reason=self.reason)
        return text if isnan(self.low) or not self.reason else f"{text} ({self.reason})"


def whole_variance(
    of_clusters: npt.ArrayLike,
    of_runs: npt.ArrayLike,
    of_both: npt.ArrayLike,
    freedom_of_runs: npt.ArrayLike,
    freedom_of_clusters: npt.ArrayLike,
    exponent: float | None = None,
) -> tuple[Reals, Reals, Reals]:
    """Return the variance of a mean over runs, or of a difference of such means, from its parts; arrays of one shape.

    Let V be the variance over the values of the runs, AB the part of V that is due to clusters, and T the variance over
    clusters with the given runs, which includes AB too. The whole variance is ``T + V - AB``, but at least T: V may be
    below AB by chance.

    The degrees of freedom: let w be the share of V in the whole variance, or 0 if V is below AB. Then 1 / freedom is
    ``w ** e`` divided by the degrees of freedom of V, plus ``(1 - w) ** e`` divided by those of T. Satterthwaite's
    formula has e = 2, and takes w for known. But V, and so w, may be far too small by chance; in simulations with that
    formula, two equal models with two runs each are told apart in up to 9%, in place of 5%. So e is 1.5; it is 1 if V
    has fewer than four degrees of freedom, and if V has fewer than two, the whole variance has as few. `compare_runs`
    sets e to 1 too where one of the two systems has a single run, since V then says nothing about this run.

    Parameters
    ----------
    of_clusters, of_runs, of_both : array_like of floats
        T, V and AB.
    freedom_of_runs, freedom_of_clusters : array_like of floats
        The degrees of freedom of V and of T.
    exponent : float, optional
        The e to use in any case.

    Returns
    -------
    of_seeds, of_triples, freedom : float64 arrays
        The two parts of the whole variance, and its degrees of freedom.

    References
    ----------
    Satterthwaite (1946), An Approximate Distribution of Estimates of Variance Components, Biometrics Bulletin 2.

    Examples
    --------
    >>> of_seeds, of_triples, freedom = whole_variance(1.0, 3.0, 0.0, 6.0, 100.0)
    >>> float(of_seeds), float(of_triples), round(float(freedom), 2)
    (3.0, 1.0, 9.13)
    """
    whole, shown, both = (np.asarray(x, dtype=np.float64) for x in (of_clusters, of_runs, of_both))
    of_seeds = np.maximum(shown - both, 0.0)
    of_triples = np.where(of_seeds > 0.0, np.maximum(whole, both), whole)
    few, many = (np.asarray(x, dtype=np.float64) for x in (freedom_of_runs, freedom_of_clusters))
    e = np.where(few < MIN_FREEDOM, 1.0, EXPONENT) if exponent is None else exponent
    with np.errstate(all="ignore"):
        share = np.where(of_seeds > 0.0, np.minimum(shown / (of_seeds + of_triples), 1.0), 0.0)
        freedom = 1.0 / (share**e / few + (1.0 - share) ** e / many)
    freedom = np.where(share > 0.0, freedom, many)
    if exponent is None:
        freedom = np.where(few < 2.0, np.minimum(few, freedom), freedom)
    return np.asarray(of_seeds), np.asarray(of_triples), np.asarray(freedom)


def spreads_differ(variances: Reals, n_runs: Sequence[int]) -> Bools:
    """Return whether the spreads of systems over their runs differ clearly, by F tests of each against all others.

    Parameters
    ----------
    variances : float64 array, shape (..., systems)
        The variance over the runs of each system (divisor runs - 1).
    n_runs : sequence of int
        The number of runs of each system; with fewer than 5 runs of a system, the answer is always False.

    Returns
    -------
    bool array, shape (...)

    Examples
    --------
    >>> spreads_differ(np.array([[1.0, 1.1, 0.9], [16.0, 1.0, 1.0]]), [5, 5, 5]).tolist()
    [False, True]
    """
    from scipy.special import fdtr, fdtrc

    freedoms = np.asarray(n_runs, dtype=np.float64) - 1.0
    differ = np.zeros(variances.shape[:-1], dtype=bool)
    if len(freedoms) < 2 or freedoms.min() < MIN_TO_SEPARATE - 1:
        return differ
    sums = variances * freedoms
    for i, freedom in enumerate(freedoms.tolist()):
        rest = freedoms.sum() - freedom
        with np.errstate(all="ignore"):
            ratio = variances[..., i] / ((sums.sum(axis=-1) - sums[..., i]) / rest)
        p_value = 2.0 * np.minimum(fdtr(freedom, rest, ratio), fdtrc(freedom, rest, ratio))
        differ |= p_value <= SEPARATING_LEVEL / len(freedoms)
    return differ


def mean_over_runs(runs: Runs, *, confidence: float = 0.95, bounds: tuple[float, float] = ANYWHERE) -> RunsInterval:
    """Return the mean of a statistic over the runs of a system, with an interval by Student's t.

    Parameters
    ----------
    runs : Runs
    confidence : float
        Nominal coverage.
    bounds : two floats
        The smallest and the largest possible value of the statistic; with (0, 1), the limits are Wilson's. See
        `robust_interval`.

    Returns
    -------
    RunsInterval
        With one run, the interval is that of `robust_interval`.

    Raises
    ------
    MetricError
        If an argument is out of range.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4 (two crossed random effects); Bouthillier et
    al. (2021), Accounting for Variance in Machine Learning Benchmarks, MLSys.

    Examples
    --------
    Three runs with the values 0.5, 0.6 and 0.7. No observation is easier than another, so only the seeds vary:

    >>> runs = Runs(tuple(Moments(np.full((50, 1), value)) for value in (0.5, 0.6, 0.7)), Clusters.of(range(50), 50))
    >>> interval = mean_over_runs(runs)
    >>> print(interval, round(interval.freedom, 3))
    0.6000 [0.3516, 0.8484] 2.0
    """
    check_confidence(confidence)
    value, clusters, n = runs.mean, runs.clusters, len(runs)
    error = low = high = freedom = of_seeds = of_triples = nan
    reason = _lacking(value, [runs])
    if not reason:
        of_clusters, freedom = clusters.variance(partial(_mean_changes, [runs])), float(runs.freedom)
        of_triples = of_clusters
        if n > 1:
            parts = whole_variance(of_clusters, runs.of_runs, runs.of_both, n - 1.0, freedom, exponent=1.0)
            of_seeds, of_triples, freedom = (float(part) for part in parts)
        whole = of_triples + (of_seeds if n > 1 else 0.0)
        error = sqrt(whole) if isfinite(whole) else nan
        reason = UNDEFINED_WITHOUT if isnan(error) else ""
    if not reason and error == 0.0 and bounds != (0.0, 1.0):
        reason = ALIKE
    elif not reason:
        t = student_quantile((1.0 + confidence) / 2.0, freedom)
        if bounds == (0.0, 1.0):
            low, high = wilson_limits(value, error**2, runs.n_effective, t)
        else:
            low, high = max(value - t * error, bounds[0]), min(value + t * error, bounds[1])
        reason = ONE_RUN if n == 1 else ""
    return RunsInterval(
        value=value if isfinite(value) else nan,
        low=low,
        high=high,
        error=error,
        freedom=nan if isnan(error) else freedom,
        of_seeds=of_seeds,
        of_triples=of_triples,
        deviation=float(runs.values.std(ddof=1)) if n > 1 else nan,
        n_runs=n,
        n_clusters=clusters.count,
        n_effective=nan if isnan(error) else runs.n_effective,
        confidence=confidence,
        reason=reason,
    )


def compare_runs(
    systems: Sequence[Runs], pairs: Sequence[tuple[int, int]], *, spread: str = "pooled", largest_level: float = 0.05
) -> list[Difference]:
    """Return the differences between the means of systems over their runs, with Student's t test.

    The observations of all systems are the same, so that their clusters are paired. The runs are not: run 1 of one
    system has nothing in common with run 1 of another.

    The variance over the seeds is pooled over all systems: it is the same for all under the null hypothesis that they
    are alike. So a system with one run can be tested, and a few runs of each system give more degrees of freedom (runs
    minus systems). Where every system has five or more runs and their spreads differ clearly (`spreads_differ`), each
    pair has the variances of its own two systems. If no system has several runs, the difference is about these runs
    alone, and the test is that of `compare_paired` (9,999 swaps, seed 0).

    Parameters
    ----------
    systems : sequence of Runs
        Over the same observations, in the same order, with the same clusters.
    pairs : sequence of (int, int)
        The indices of the first and of the second system.
    spread : str
        ``"pooled"``, or ``"separate"``: each pair has the variances of its own two systems in any case; a system with
        one run then has no test.
    largest_level : float
        As in `compare_paired`.

    Returns
    -------
    list of Difference
        One for each pair.

    Raises
    ------
    DataError
        If the systems have different observations.
    MetricError
        If `spread` is unknown.

    References
    ----------
    Satterthwaite (1946), as in `whole_variance`; Searle, Casella and McCulloch (1992), as in `mean_over_runs`.

    Examples
    --------
    >>> rows = np.linspace(0.1, 1.0, 50)[:, None]
    >>> first = Runs(tuple(Moments(rows + shift) for shift in (0.1, 0.2)), Clusters.of(range(50), 50))
    >>> second = Runs(tuple(Moments(rows - shift) for shift in (0.1, 0.2)), first.clusters)
    >>> print(compare_runs([first, second], [(0, 1)])[0])
    +0.3000 [-0.0042, +0.6042], p = 0.0513
    """
    check_one_of("spread", spread, SPREADS, MetricError)
    lengths = sorted({len(runs.moments[0]) for runs in systems})
    if len(lengths) > 1:
        raise DataError(f"systems must have the same observations, in the same order; got {lengths} observations")
    several = [runs for runs in systems if len(runs) > 1 and isfinite(runs.of_runs) and isfinite(runs.of_both)]
    if all(len(runs) == 1 for runs in systems):
        singles = [([systems[i].moments[0]], [systems[j].moments[0]]) for i, j in pairs]
        found = compare_pairs(singles, systems[0].clusters, largest_level=largest_level) if systems else []
        return [difference for (difference,) in found]
    n_runs = [len(runs) for runs in several]
    variances = np.array([len(runs) * runs.of_runs for runs in several])  # of a single run, for each system
    is_separate = spread == "separate" or (len(several) == len(systems) and bool(spreads_differ(variances, n_runs)))
    freedom = float(sum(n_runs) - len(n_runs)) or nan
    of_runs, of_both = (
        sum((len(runs) - 1.0) * len(runs) * part for runs, part in zip(several, parts)) / freedom
        for parts in ([runs.of_runs for runs in several], [runs.of_both for runs in several])
    )
    pooled = None if is_separate else (of_runs, of_both, freedom)
    return [_difference(systems[i], systems[j], pooled) for i, j in pairs]


def effective_differing(first: Runs, second: Runs) -> float:
    """Return the effective number of clusters in which two systems differ: ``sum(c^2)^2 / sum(c^4)``.

    c is how much the difference changes if a cluster is left out. If k of many clusters have gaps of one size and the
    others none, the number is about k; clusters with far smaller gaps than a few others hardly count.

    Parameters
    ----------
    first, second : Runs
        Over the same observations.

    Returns
    -------
    float
        Infinite if the difference is the same in every cluster.

    Examples
    --------
    >>> gaps, clusters = np.array([[1.0], [-1.0], [0.01], [0.01], [0.0], [0.0]]), Clusters.of(range(6), 6)
    >>> first, second = (Runs((Moments(values),), clusters) for values in (gaps, 0.0 * gaps))
    >>> round(effective_differing(first, second), 3)
    2.0
    """
    with np.errstate(all="ignore"):
        squares = np.square(_mean_changes([first, second], first.clusters.first))
        total = float(np.square(squares).sum())
        return float(squares.sum()) ** 2 / total if total else float("inf")


def _difference(first: Runs, second: Runs, pooled: tuple[float, float, float] | None) -> Difference:
    """Return the difference of two systems; `pooled`: V and AB of a single run of any system, and their freedom."""
    value, pair, clusters = first.mean - second.mean, [first, second], first.clusters
    n_effective, n_differing = (
        min(runs.n_effective for runs in pair),
        int(np.count_nonzero(without_rounding(first.parts, second.parts))),
    )
    reason = _lacking(value, pair)
    if not reason and pooled is None:
        reason = next((ONE_RUN for runs in pair if len(runs) == 1), "")
    if reason:
        value = value if isfinite(value) else nan
        return Difference(value, nan, nan, nan, clusters.count, n_differing, n_effective, reason)
    if pooled is None:
        of_runs, of_both = first.of_runs + second.of_runs, first.of_both + second.of_both
        squares = sum(runs.of_runs**2 / (len(runs) - 1.0) for runs in pair)
        freedom_of_runs = of_runs**2 / squares if squares else float(len(first) + len(second) - 2)
    else:
        times = 1.0 / len(first) + 1.0 / len(second)
        of_runs, of_both, freedom_of_runs = times * pooled[0], times * pooled[1], pooled[2]
    of_clusters = clusters.variance(partial(_mean_changes, pair))
    freedom_of_clusters = float(min(runs.freedom for runs in pair))
    # Single runs, one of which may have failed, err in 6.8% of the families (1,1,3,3 runs) with the larger exponent.
    exponent = 1.0 if min(map(len, pair)) == 1 and freedom_of_runs >= MIN_FREEDOM else None
    parts = whole_variance(of_clusters, of_runs, of_both, freedom_of_runs, freedom_of_clusters, exponent)
    of_seeds, of_triples, freedom = (float(part) for part in parts)
    whole, p_value = of_seeds + of_triples, nan
    if not isfinite(whole):
        return Difference(value, nan, nan, nan, clusters.count, n_differing, n_effective, UNDEFINED_WITHOUT)
    if not n_differing:  # the pooled variance of the seeds may be above 0
        reason, p_value = EQUAL_VALUES, 1.0
    elif whole == 0.0:
        reason = SAME_DIFFERENCE
    else:
        p_value = t_p_value(value / sqrt(whole), freedom, n_differing)
    return Difference(value, sqrt(whole), freedom, p_value, clusters.count, n_differing, n_effective, reason)


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


def _mean_changes(systems: Sequence[Runs], grouping: Grouping) -> Reals:
    """Return how much the value (a mean, or a difference) changes if a cluster is left out; shape (clusters,)."""
    means = [np.asarray(runs.changes(grouping).mean(axis=0)) for runs in systems]
    return without_rounding(means[0], means[1]) if len(means) == 2 else means[0]
