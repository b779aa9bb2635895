"""The Bayesian signed-rank test of two models over several datasets.

`AcrossDatasets.bayes` in `kgeval.benchmarks` calls `bayesian_signed_rank`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

import numpy as np
import numpy.typing as npt

from kgeval.checks import Reals, check_number, check_positive_int, check_seed
from kgeval.errors import DataError, MetricError
from kgeval.stats.across_datasets import complete_rows
from kgeval.stats.clusters import SUM_ROUNDING

# Samples of weights are handled in blocks; a block has at most this many entries (8 bytes each).
WEIGHTS_AT_ONCE = 2**20


@dataclass(frozen=True)
class SignedRank:
    """The result of the Bayesian signed-rank test of two models.

    Parameters
    ----------
    first_larger, equal, second_larger : float
        For each of three outcomes on another dataset of this kind, the posterior probability that this outcome is the
        most likely one: the value of the first model is larger by more than `rope`; the values are practically equal;
        the value of the second model is larger by more than `rope`. The three probabilities add up to 1.
    rope, prior : float
        As in `bayesian_signed_rank`.
    n_samples, seed : int
        Number of samples of weights, and their seed; the standard error of a probability is at most ``0.5 /
        sqrt(n_samples)``.
    n_datasets, n_left_out : int
        As in `Friedman`.
    reason : str
        Why there are no probabilities (NaN); else empty.
    """

    first_larger: float
    equal: float
    second_larger: float
    rope: float
    prior: float
    n_samples: int
    seed: int
    n_datasets: int
    n_left_out: int
    reason: str = ""


def bayesian_signed_rank(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    rope: float,
    *,
    prior: float = 0.5,
    n_samples: int = 50_000,
    seed: int = 0,
) -> SignedRank:
    """Return the result of the Bayesian signed-rank test: is one of two models better, or are both practically equal?

    The differences between the two models (one per dataset) and one pseudo-observation of 0 get random weights from a
    Dirichlet distribution; the pseudo-observation has the parameter `prior`, each dataset 1. For each sample of
    weights, two differences are drawn with these weights, and three shares are computed: how often the mean of the two
    is above `rope`, between ``-rope`` and `rope`, or below ``-rope`` (a mean of exactly `rope` counts half). The
    probability of a case is the share of samples in which this case has the largest share.

    With few datasets, the probabilities are too close to 0 and 1, because a Dirichlet process contains only the
    observed values: if `rope` is 0 and all differences have the same sign, the probability is 1, even with a single
    dataset. With fewer than five datasets, the probabilities mean nothing.

    The result does not depend on the order of the datasets. If `first` and `second` are exchanged, so are the
    probabilities.

    Parameters
    ----------
    first, second : array_like of floats, shape (datasets,)
        The values of the two models, in the same order of datasets. A dataset with a missing value (NaN) is left out.
    rope : float
        Region of practical equivalence: the largest difference that does not matter, in the unit of the metric; at
        least 0. All datasets share this value.
    prior : float
        The weight of the pseudo-observation, in datasets; above 0. A larger weight makes practically equal models more
        likely.
    n_samples : int
        Number of samples of weights.
    seed : int
        Seed of the samples.

    Returns
    -------
    SignedRank

    Raises
    ------
    DataError
        If `first` and `second` do not have the same shape ``(datasets,)``, or if a value is infinite.
    MetricError
        If `rope`, `prior`, `n_samples` or `seed` is out of range.

    References
    ----------
    Benavoli, Mangili, Corani, Zaffalon and Ruggeri (2014), A Bayesian Wilcoxon signed-rank test based on the Dirichlet
    process, ICML; Benavoli, Corani, Demšar and Zaffalon (2017), Time for a Change: a Tutorial for Comparing Multiple
    Classifiers Through Bayesian Analysis, Journal of Machine Learning Research 18.

    Examples
    --------
    >>> found = bayesian_signed_rank([0.36, 0.48, 0.35, 0.61, 0.29], [0.33, 0.44, 0.35, 0.55, 0.27], rope=0.01)
    >>> round(found.first_larger, 2), round(found.equal, 2), round(found.second_larger, 2)
    (0.97, 0.03, 0.0)
    """
    check_number("rope", rope, -np.nextafter(0.0, 1.0), inf, "a number of at least 0, in the unit of the metric")
    check_number("prior", prior, 0.0, inf, "a number above 0")
    check_positive_int("n_samples", n_samples, MetricError)
    check_seed(seed, MetricError)
    pair = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    if pair[0].ndim != 1 or pair[0].shape != pair[1].shape:
        raise DataError(
            f"first and second must have the same shape (datasets,); got {pair[0].shape} and {pair[1].shape}"
        )
    kept, is_kept = complete_rows(np.stack(pair, axis=1))
    n, n_left_out = len(kept), int((~is_kept).sum())
    shares = (nan, nan, nan)
    if n:
        shares = _signed_rank_shares(_differences(kept), rope, prior, n_samples, seed)
    reason = "" if n else "no dataset has values of both models"
    return SignedRank(*shares, float(rope), float(prior), n_samples, seed, n, n_left_out, reason)


def _differences(kept: Reals) -> Reals:
    """Return first minus second of each dataset; 0 if the two values differ by rounding errors only."""
    gaps = kept[:, 0] - kept[:, 1]
    gaps[np.abs(gaps) <= SUM_ROUNDING * np.abs(kept).sum(axis=1)] = 0.0
    return np.asarray(gaps)


def _signed_rank_shares(
    gaps: Reals, rope: float, prior: float, n_samples: int, seed: int
) -> tuple[float, float, float]:
    """Return the probabilities of `SignedRank`, from the difference of each dataset."""
    # The order of the datasets and of the two models must not change which weights a difference gets.
    forward, backward = np.sort(gaps), np.sort(-gaps)
    is_exchanged = forward.tolist() < backward.tolist()
    gaps = np.concatenate([[0.0], backward if is_exchanged else forward])
    # (1 + datasets, 1 + datasets): twice the mean of two differences, and its share above and below the rope.
    sums = gaps[:, None] + gaps[None]
    margin = 4.0 * SUM_ROUNDING * (np.abs(gaps)[:, None] + np.abs(gaps)[None] + 2.0 * rope)
    above, below = (_share_above(sign * sums - 2.0 * rope, margin) for sign in (1.0, -1.0))
    parameters = np.ones(len(gaps))
    parameters[0] = prior
    rng = np.random.default_rng(seed)
    block = max(1, WEIGHTS_AT_ONCE // len(gaps))
    wins = np.zeros(3)
    for start in range(0, n_samples, block):
        weights = rng.dirichlet(parameters, min(block, n_samples - start))  # (samples, 1 + datasets)
        upper, lower = ((weights @ side * weights).sum(axis=1) for side in (above, below))
        cases = np.stack([upper, 1.0 - upper - lower, lower], axis=1)
        is_largest = cases == cases.max(axis=1, keepdims=True)
        wins += (is_largest / is_largest.sum(axis=1, keepdims=True)).sum(axis=0)
    first, equal, second = (wins / n_samples).tolist()
    return (second, equal, first) if is_exchanged else (first, equal, second)


def _share_above(excess: Reals, margin: Reals) -> Reals:
    """Return for each element 1 if `excess` is above 0, 1/2 if it is 0 up to rounding errors (`margin`), else 0."""
    return np.asarray((excess > margin) + 0.5 * (np.abs(excess) <= margin))
