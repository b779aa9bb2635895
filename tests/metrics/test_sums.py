"""Sums over ranges of integers, against exact fractions."""

from fractions import Fraction

import numpy as np

from kgeval.metrics import mean_over_range
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
