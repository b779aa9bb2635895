"""Expectations over random orders of tied items, against exact fractions, in tie groups of up to 10^12 items."""

import math
from fractions import Fraction

import numpy as np
import pytest
from grids import light

from kgeval.metrics import Hits
from kgeval.metrics.query_level import lists_of_counts
from kgeval.metrics.retrieval.inputs import from_scores
from kgeval.metrics.retrieval.positions import (
    chance_of_hit,
    discount_sums,
    expected_hits,
    expected_precision_sums,
    expected_reciprocal,
)

GROUP_SIZES = (1, 2, 3, 7, 100, 1000, 10**6, 10**9, 10**12)
CUT_OFFS = (1, 2, 3, 10, 1000)


def tie_groups(before, size, relevant):
    """One list per element: `before` irrelevant items, then one tie group of `size` items with `relevant` relevant."""
    query = np.repeat(np.arange(len(size)), relevant)
    # The counts of each answer without the other answers of its query.
    better, tied = np.array(before)[query], (np.array(size) - relevant)[query]
    return lists_of_counts(query, len(size), better, tied, better + tied, is_removed=True)


def exact_chance(size, relevant, k):
    """1 - (n - r) / n * (n - r - 1) / (n - 1) * ...: the first k items of n are not all irrelevant."""
    if relevant > size - k:
        return Fraction(1)
    fewer, more = sorted((k, relevant))
    missed, total = 1, 1
    for i in range(fewer):
        missed, total = missed * (size - more - i), total * (size - i)
    return 1 - Fraction(missed, total)


def relative_error(found, wanted):
    """|found - wanted| / wanted in fractions; 0 if both are 0."""
    return float(abs(Fraction(float(found)) - wanted) / wanted) if wanted else float(found != 0)


def test_chance_of_hit_equals_fractions():
    """Every size of group, number of relevant items and cut-off (before, in and after the group), in one call each."""
    for before in (0, 5):
        shapes = [(n, r) for n in GROUP_SIZES for r in {1, 2, 3, n // 2, n - 1, n} if 1 <= r <= min(n, 1000)]
        sizes, relevant = map(list, zip(*shapes))
        lists = tie_groups([before] * len(shapes), sizes, relevant)
        # Also k where the chance becomes 1, and one less.
        cut_offs = {
            *CUT_OFFS,
            *(k + before for k in CUT_OFFS),
            *(n - r + before + i for n, r in shapes for i in (0, 1)),
        }
        for k in sorted(cut_offs - {0}):
            for (n, r), found in zip(shapes, chance_of_hit(lists, k).tolist()):
                wanted = exact_chance(n, r, min(max(k - before, 0), n))
                assert relative_error(found, wanted) < 1e-15, (n, r, before, k)


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_chance_of_hit_is_precise_in_large_tie_groups(n):
    """The relative error was 2e-4 (2e-7 in extended precision) when it came from differences of ln n!."""
    for r, k in ((2, 1), (2, 3), (3, 10), (50, 7), (7, 5000), (300, 300)):
        [found] = chance_of_hit(tie_groups([0], [n], [r]), k)
        assert relative_error(found, exact_chance(n, r, k)) < 1e-15, (r, k)


@pytest.mark.parametrize("n", [2, 49, 14_541, 10**6])
def test_chance_of_hit_of_one_answer_is_hits_at_k(n):
    """Bit for bit, with the cut-off before, in and after the group."""
    for before in (0, 1, 10, 997):
        lists = tie_groups([before], [n], [1])
        for k in (1, 2, 3, 10, 998, 1000, before + n - 1, before + n, before + n + 1):
            hits = Hits(k).compute(np.array([before]), np.array([n - 1]), np.array([before + n - 1]), "expected").value
            assert chance_of_hit(lists, k).tolist() == [hits]
            assert expected_hits(lists, k).tolist() == [hits]


def test_chance_of_hit_edge_cases():
    """No relevant item; none among the first k; all tied items relevant; k at the last item that can be missed."""
    assert chance_of_hit(from_scores([0, 0, 0], [9, 9, 9]), 2).tolist() == [0.0]
    assert chance_of_hit(tie_groups([4, 3], [2, 2], [2, 2]), 4).tolist() == [0.0, 1.0]
    assert chance_of_hit(tie_groups([0], [5], [3]), 2).tolist() == [pytest.approx(1 - 1 / 10, rel=1e-15)]
    assert chance_of_hit(tie_groups([0], [5], [3]), 3).tolist() == [1.0]
    # Only the first tie group with a relevant item counts: 1/2 at k = 1, and at k = 2 a certain hit.
    two_groups = from_scores([1, 0, 1, 0], [9, 9, 5, 5])
    assert [chance_of_hit(two_groups, k).tolist() for k in (1, 2, 3)] == [[0.5], [1.0], [1.0]]


def test_chance_of_hit_of_many_queries_is_that_of_each():
    """Groups with no factor, one and several stand side by side in any order."""
    rng = np.random.default_rng(0)
    size = rng.integers(1, 40, 200)
    relevant, before = rng.integers(1, size + 1), rng.integers(0, 12, 200)
    together = chance_of_hit(tie_groups(before, size, relevant), 10).tolist()
    for n, r, t, found in zip(size.tolist(), relevant.tolist(), before.tolist(), together):
        assert relative_error(found, exact_chance(n, r, min(max(10 - t, 0), n))) < 1e-15


def test_sums_over_a_short_range_of_late_positions():
    """Two tied items after 10^6 others: precisions and discounts at 10^6 + 1 and 10^6 + 2."""
    t = 10**6
    found = expected_precision_sums(tie_groups([t], [2], [1]).groups, t + 2)[0]
    assert relative_error(found, (Fraction(1, t + 1) + Fraction(1, t + 2)) / 2) < 1e-15
    found = discount_sums(np.array([t]), np.array([2]), t + 2, 2.0)[0]
    assert found == pytest.approx(1 / np.log2(t + 2) + 1 / np.log2(t + 3), rel=1e-15)


@pytest.mark.parametrize(
    ("size", "relevant"), light([(66_000, 2), (66_000, 5), (70_001, 9), (70_001, 20)], 1, unpack=True)
)
def test_expected_reciprocal_in_large_groups(size, relevant):
    """The i-th of r relevant items among n in random order, against the exact probabilities of all its places."""
    for which in sorted({1, 2, relevant}):
        ways = math.comb(which - 1, which - 1) * math.comb(size - which, relevant - which)
        place, weights = which, []
        while place <= size - relevant + which:
            weights.append(ways)
            if place < size:
                ways = ways * place * (size - place - relevant + which) // ((place - which + 1) * (size - place))
            place += 1
        total = math.comb(size, relevant)
        assert sum(weights) == total
        chances = [weight / total for weight in weights]
        for before, k in ((0, 10**9), (0, 500), (40, 66_020), (10**7, 10**9)):
            wanted = math.fsum(chance / place for place, chance in enumerate(chances, before + which) if place <= k)
            found = expected_reciprocal(*(np.array([x]) for x in (before, size, relevant, which)), k)
            assert found == pytest.approx([wanted], rel=1e-13, abs=1e-300)


def test_expected_reciprocal_of_one_item_among_millions():
    """A single relevant item: the mean of 1 / position, here (ln n + gamma + 1 / (2 n)) / n."""
    n = 5_000_000
    found = expected_reciprocal(*(np.array([x]) for x in (0, n, 1, 1)), n)
    assert found == pytest.approx([(math.log(n) + np.euler_gamma + 1 / (2 * n)) / n], rel=1e-14)
