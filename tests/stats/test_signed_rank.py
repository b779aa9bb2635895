"""The Bayesian signed-rank test: probabilities of one and two datasets by hand, and what must not change them."""

import math

import numpy as np
import pytest
from grids import size

from kgeval.errors import DataError, MetricError
from kgeval.stats import bayesian_signed_rank

NAN = float("nan")
N = 50_000
ERROR = 5 * 0.5 / math.sqrt(N)  # five standard errors of a share of 50,000 samples
ROOT = math.sqrt(0.5)


def shares(found):
    return found.first_larger, found.equal, found.second_larger


def test_one_dataset_by_hand():
    """The pseudo-observation has the weight w of a Beta(s, 1) distribution, with P(w < x) = x ** s; the dataset 1 - w.

    A difference above twice the rope: its mean with 0 is above the rope, so "equal" has the share w ** 2, and "larger"
    wins if w < sqrt(1/2). Between once and twice the rope: "larger" has (1 - w) ** 2. At twice the rope the mean with 0
    lies on the border and counts half: "larger" has (1 - w) ** 2 + w * (1 - w) = 1 - w, and wins if w < 1/2. Below the
    rope it never wins.
    """
    for s in (0.5, 1.0, 2.0)[:: size(2, 1)]:
        for first, probability in ((0.39, ROOT**s), (0.365, (1 - ROOT) ** s), (0.37, 0.5**s), (0.355, 0.0)):
            found = bayesian_signed_rank([first], [0.35], rope=0.01, prior=s)
            assert shares(found) == pytest.approx((probability, 1 - probability, 0.0), abs=ERROR)
            assert (found.n_datasets, found.n_samples, found.prior, found.rope) == (1, N, s, 0.01)


def test_two_datasets_by_hand():
    """Two large differences of the same sign: w of Beta(s, 2), with P(w < x) = x ** s * (1 + s - s * x)."""
    for s in (0.5, 1.0, 3.0):
        found = bayesian_signed_rank([0.2, 0.3], [0.5, 0.6], rope=0.05, prior=s)
        probability = ROOT**s * (1 + s - s * ROOT)
        assert shares(found) == pytest.approx((0.0, 1 - probability, probability), abs=ERROR)


def test_two_opposite_differences_by_a_triangle():
    """Differences +1 and -1, rope 0.4, prior 1: the weights (w, a, b) are uniform on a triangle.

    "Larger" has a * a + 2 * w * a, "smaller" b * b + 2 * w * b, "equal" the rest, w * w + 2 * a * b; a fine grid of the
    triangle counts where each of them is the largest.
    """
    n = 600
    i, j = np.meshgrid(np.arange(n) + 1 / 3, np.arange(n) + 1 / 3)
    inside = i + j < n
    a, b = i[inside] / n, j[inside] / n
    w = 1 - a - b
    cases = np.stack([a * a + 2 * w * a, w * w + 2 * a * b, b * b + 2 * w * b])
    wanted = np.bincount(cases.argmax(axis=0), minlength=3) / len(w)
    found = bayesian_signed_rank([1.0, 0.0], [0.0, 1.0], rope=0.4, prior=1.0)
    assert shares(found) == pytest.approx(tuple(wanted), abs=ERROR + 0.003)
    assert wanted[0] == pytest.approx(wanted[2], abs=0.003)
    assert 0.2 < wanted[1] < 0.5


def test_without_a_rope_one_sign_is_sure_and_no_difference_is_even():
    """What the docstring warns of: one dataset is enough for a probability of 1. Equal values: half each."""
    assert shares(bayesian_signed_rank([0.4], [0.3], rope=0.0)) == (1.0, 0.0, 0.0)
    assert shares(bayesian_signed_rank([0.4, 0.2], [0.4, 0.2], rope=0.0)) == (0.5, 0.0, 0.5)
    assert shares(bayesian_signed_rank([0.4, 0.2], [0.4, 0.2], rope=1e-9)) == (0.0, 1.0, 0.0)
    assert shares(bayesian_signed_rank([0.1 + 0.2], [0.3], rope=0.0)) == (0.5, 0.0, 0.5)


def test_what_does_not_change_it():
    """The order of the datasets; exchanged models exchange the probabilities; missing values are left out."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        first, second = rng.normal(0.3, 0.1, (2, 9))
        found = bayesian_signed_rank(first, second, 0.02, n_samples=2000)
        order = rng.permutation(9)
        assert shares(bayesian_signed_rank(first[order], second[order], 0.02, n_samples=2000)) == shares(found)
        assert shares(bayesian_signed_rank(second, first, 0.02, n_samples=2000)) == shares(found)[::-1]
        more = bayesian_signed_rank([*first, NAN, 0.1], [*second, 0.2, NAN], 0.02, n_samples=2000)
        assert shares(more) == shares(found)
        assert (more.n_datasets, more.n_left_out) == (9, 2)
        assert sum(shares(found)) == pytest.approx(1.0)
    none = bayesian_signed_rank([NAN], [0.2], 0.0)
    assert all(map(math.isnan, shares(none)))
    assert (none.n_left_out, none.reason) == (1, "no dataset has values of both models")


def test_blocks_do_not_change_it(monkeypatch):
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 6))
    whole = bayesian_signed_rank(first, second, 0.1, n_samples=501)
    monkeypatch.setattr("kgeval.stats.signed_rank.WEIGHTS_AT_ONCE", 50)
    assert bayesian_signed_rank(first, second, 0.1, n_samples=501) == whole
    assert bayesian_signed_rank(first, second, 0.1, n_samples=501, seed=1) != whole


def test_wrong_arguments():
    with pytest.raises(TypeError, match="rope"):
        bayesian_signed_rank([0.1], [0.2])
    for arguments, text in (
        ({"rope": -0.01}, "rope must be a number of at least 0, in the unit of the metric; got -0.01"),
        ({"rope": NAN}, "rope must be a number of at least 0, in the unit of the metric; got nan"),
        ({"rope": 0.1, "prior": 0.0}, "prior must be a number above 0; got 0.0"),
        ({"rope": 0.1, "n_samples": 0}, "n_samples must be an integer of at least 1; got 0"),
        ({"rope": 0.1, "seed": -1}, "seed must be an integer of at least 0; got -1"),
    ):
        with pytest.raises(MetricError) as caught:
            bayesian_signed_rank([0.1], [0.2], **arguments)
        assert str(caught.value) == text
    with pytest.raises(DataError, match=r"must have the same shape \(datasets,\); got \(2,\) and \(1,\)"):
        bayesian_signed_rank([0.1, 0.2], [0.2], 0.1)
