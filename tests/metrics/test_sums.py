"""Sums over ranges of integers, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from kgeval.metrics import MR, Hits
from kgeval.metrics.ranks import RANKS, mean_over_range
from kgeval.metrics.sums import sums_over_ranges

RANGES = ((0, 1), (0, 1000), (999, 1000), (200_000, 200_002), (199_000, 200_000), (5, 5), (0, 0))


def test_harmonic_sums_equal_fractions():
    """1 / rank, whose prefix sums are 10^6 times as large as the terms; an empty range gives 0."""
    start, stop = (np.array(column) for column in zip(*RANGES))
    found = sums_over_ranges(lambda rank: 1.0 / rank, start, stop).tolist()
    for (first, last), total in zip(RANGES, found):
        terms = [Fraction(1, rank) for rank in range(first + 1, last + 1)]
        wanted = float(_sum(terms)) if terms else 0.0
        assert abs(total - wanted) <= 1e-15 * wanted


def test_sums_of_integers_are_exact():
    """Squares up to 1000: n (n + 1) (2n + 1) / 6."""
    n = np.arange(1000)
    wanted = n * (n + 1) * (2 * n + 1) // 6
    assert sums_over_ranges(lambda i: i * i, np.zeros_like(n), n).tolist() == wanted.tolist()


def test_no_range():
    none = np.zeros(0, dtype=np.int64)
    assert sums_over_ranges(lambda rank: 1.0 / rank, none, none).tolist() == []


def test_mean_over_two_late_ranks():
    """Two tied candidates after 10^6 others: the mean of 1 / (10^6 + 1) and 1 / (10^6 + 2)."""
    low = 10**6 + 1
    [mean] = mean_over_range(lambda rank: 1.0 / rank, np.array([low]), np.array([low + 1]))
    wanted = (Fraction(1, low) + Fraction(1, low + 1)) / 2
    assert abs(Fraction(float(mean)) - wanted) < wanted * Fraction(1, 10**15)


def _sum(terms):
    """The sum of fractions, by halves: the denominators stay short for longer."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _sum(terms[:half]) + _sum(terms[half:])


SMOOTH = {
    "1 / x": lambda x: 1.0 / x,
    "1 / x^2": lambda x: 1.0 / x**2,
    "x^2": lambda x: x * x,
    "1 / log2(x + 1)": lambda x: np.log(2.0) / np.log(x + 1.0),
    "x^0.002 - 1": lambda x: np.expm1(np.log(x) * 0.002),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.light(2)
def test_late_ranges_equal_exact_sums(name):
    """Ranges around the ends of the table and of the powers of two, against sums of all terms without rounding."""
    n, value = 300_000, SMOOTH[name]
    rng = np.random.default_rng(0)
    ends = np.concatenate([[0, n, 0, 255, 65_536, 65_537, n - 1, n, 131_000, 131_072], rng.integers(0, n, 10)])
    start, stop = np.sort(ends.reshape(-1, 2)).T
    terms = value(np.arange(1, n + 1, dtype=np.float64))
    wanted = np.array([math.fsum(terms[first:last]) for first, last in zip(start, stop)])
    for is_smooth in (True, False):
        found = sums_over_ranges(value, start, stop, is_smooth)
        assert np.abs(found - wanted).max(initial=0.0, where=wanted == 0.0) == 0.0
        assert (np.abs(found - wanted) <= 1e-15 * wanted).all()


def test_harmonic_numbers_of_millions():
    """ln n + gamma + 1 / (2 n) - 1 / (12 n^2), as far as 10^15, where no loop gets."""
    n = np.array([5_000_000, 10**9, 10**15])
    found = sums_over_ranges(lambda rank: 1.0 / rank, np.zeros_like(n), n, is_smooth=True)
    wanted = np.log(n) + np.euler_gamma + 1 / (2 * n) - 1 / (12.0 * n * n)
    assert found == pytest.approx(wanted, rel=1e-15)


def test_steps_are_added():
    """A function that is not smooth: whole numbers, exact, in ranges that begin anywhere."""
    start, stop = np.array([0, 3, 70_000, 199_999, 5]), np.array([200_000, 70_001, 70_001, 200_000, 5])
    found = sums_over_ranges(lambda x: np.asarray(x % 1000 < 3, dtype=np.float64), start, stop)
    assert found.tolist() == [float(sum(x % 1000 < 3 for x in range(a + 1, b + 1))) for a, b in zip(start, stop)]


def test_no_table_of_all_ranks():
    """A function of 10^12 ranks sees a few thousand numbers."""
    seen = []

    def value(x):
        seen.append(np.size(x))
        return 1.0 / x

    sums_over_ranges(value, np.zeros(20, dtype=np.int64), 10**12 + np.arange(20), is_smooth=True)
    assert sum(seen) < 5000


def test_means_of_metrics_among_millions():
    """Chance among 5,000,000 candidates: closed forms by hand."""
    low, high = np.array([1, 1, 7]), np.array([5_000_000, 4_999_999, 7])
    assert Hits(10).mean_value(low, high).tolist() == [10 / 5_000_000, 10 / 4_999_999, 1.0]
    assert Hits(3).mean_value(low, high, 2).tolist() == [3 / 5_000_000, 3 / 4_999_999, 0.0]
    assert MR().mean_value(low, high).tolist() == [2_500_000.5, 2_500_000.0, 7.0]
    n = [5_000_000, 4_999_999]
    squares = [float(Fraction((m + 1) * (2 * m + 1), 6)) for m in n] + [49.0]
    assert MR().mean_value(low, high, 2) == pytest.approx(squares, rel=1e-15)
    variance = [float(Fraction(m * m - 1, 12)) for m in n] + [0.0]
    assert MR().spread(low, high).values[:, 0] == pytest.approx(variance, rel=1e-14)


@pytest.mark.parametrize("name", RANKS.spellings())
def test_mean_values_equal_a_loop(name):
    """Small ranges: the mean of value(rank) and of its square, rank by rank."""
    metric = RANKS.parse(name)
    low, high = np.array([1, 2, 9, 4]), np.array([1, 30, 12, 11])
    for power in (1, 2):
        wanted = [np.mean([float(metric.value(r)) ** power for r in range(a, b + 1)]) for a, b in zip(low, high)]
        assert metric.mean_value(low, high, power) == pytest.approx(wanted, rel=1e-14)
