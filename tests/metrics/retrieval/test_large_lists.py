"""Metrics of ranked lists with large tie groups and long lists, by closed forms and exact sums."""

import functools
import math
import random
from fractions import Fraction

import oracle_lists as oracle
import pytest
from grids import light
from list_metric_cases import one

from kgeval.metrics.retrieval.inputs import from_ranking, from_scores


def tied(n, grades, before=(), after=()):
    """One list: items of `before` in order, then n items tied, the grades of some being `grades`, then `after`."""
    group = [*grades, *[0] * (n - len(grades))]
    scores = [*range(len(before), 0, -1), *[0] * n, *range(-1, -1 - len(after), -1)]
    return from_scores([*before, *group, *after], scores)


def harmonic(n, first=1):
    """1 / first + ... + 1 / n, or H(n) - H(first - 1)."""
    return math.fsum(1 / i for i in range(first, n + 1))


def near(wanted):
    """Equal to 1e-12 of itself, also where it is small."""
    return pytest.approx(wanted, rel=1e-12, abs=1e-16)


@pytest.mark.parametrize(("n", "r"), [(2000, 3), (2000, 1), (2000, 1999), (2000, 2000), (300, 150), (50_000, 7)])
@pytest.mark.light(3)
def test_large_tie_group_in_closed_form(n, r):
    """n items tied, r relevant, nothing before them.

    RR: the first hit stands at o with probability C(n - o, r - 1) / C(n, r), and the sum of these by o is
    r / (n - r + 1) (H(n) - H(r - 1)). AP: place j holds a hit with probability r / n, before which
    (j - 1) (r - 1) / (n - 1) others are expected: ((r - 1) / (n - 1) (n - H(n)) + H(n)) / n, which is H(n) / n
    for r = 1. hits@k is r k / n; no hit among k has probability C(n - k, r) / C(n, r). AUC is 1/2.
    """
    lists, k = tied(n, [1] * r), n // 3
    assert one("rr", lists) == near(r / (n - r + 1) * harmonic(n, r))
    others = (r - 1) / (n - 1) * (n - harmonic(n))
    assert one("map", lists) == near((others + harmonic(n)) / n)
    if r == 1:
        assert one("map", lists) == one("rr", lists) == near(harmonic(n) / n)
    assert one(f"precision@{k}", lists) == near(r / n)
    assert one(f"recall@{k}", lists) == near(k / n)
    assert one("rprec", lists) == near(r / n)
    for cut_off in (1, k, max(n - r, 1), n - r + 1, n, 2 * n):
        missed = Fraction(math.comb(max(n - cut_off, 0), r), math.comb(n, r))
        assert one(f"success@{cut_off}", lists) == near(float(1 - missed))
    discounts = math.fsum(1 / math.log2(1 + j) for j in range(1, n + 1))
    assert one("dcg", lists) == near(r / n * discounts)
    ideal = math.fsum(1 / math.log2(1 + j) for j in range(1, r + 1))
    assert one("ndcg", lists) == near(r / n * discounts / ideal)
    assert math.isnan(one("auc", lists)) if r == n else one("auc", lists) == 0.5


@pytest.mark.parametrize("first", [1, 3, 700])
@pytest.mark.parametrize("k", [None, 20, 650, 701, 900])
@pytest.mark.light(3)
def test_large_tie_group_after_other_items(first, k):
    """t = `first` irrelevant items, then 2,000 tied ones with 3 relevant, then a relevant last one; cut at k.

    Sums over the place o of the group's first hit in fractions; AP with R0 = 0 and R = 4: the sum of
    3 / 2000 (1 + 2 (j - t - 1) / 1999) / j over the places j up to k, and 4 / (t + 2001) for the last one.
    """
    n, r, t = 2000, 3, first
    lists, at, end = tied(n, [1] * r, [0] * t, [1]), "" if k is None else f"@{k}", k or t + n + 1
    chances = {t + o: Fraction(math.comb(n - o, r - 1), math.comb(n, r)) for o in range(1, n - r + 2)}
    reciprocal = sum(float(chance) / place for place, chance in chances.items() if place <= end)
    assert one(f"rr{at}", lists) == near(reciprocal)
    places = range(t + 1, min(end, t + n) + 1)
    precisions = math.fsum(Fraction(r, n) * (1 + Fraction(2 * (j - t - 1), n - 1)) / j for j in places)
    last = 4 / (t + n + 1) if k is None else 0
    assert one(f"map{at}", lists) == near((precisions + last) / 4)
    gained = 3 / 2000 * math.fsum(1 / math.log2(1 + j) for j in places) + (1 / math.log2(t + n + 2) if k is None else 0)
    assert one(f"dcg{at}", lists) == near(gained)
    if k:
        assert one(f"precision@{k}", lists) == near(3 * max(k - t, 0) / n / k)
        missed = Fraction(math.comb(n - max(k - t, 0), r), math.comb(n, r))
        assert one(f"success@{k}", lists) == near(float(1 - missed))


@pytest.mark.thorough
def test_a_million_tied_items():
    """H(n) = ln n + gamma + 1/(2n) - 1/(12n^2): RR = AP = H(n) / n of one relevant item; no hit in 1000: 0.999."""
    n = 10**6
    lists, wanted = tied(n, [1]), (math.log(n) + 0.5772156649015329 + 0.5 / n - 1 / (12 * n * n)) / n
    assert one("rr", lists) == near(wanted)
    assert one("map", lists) == near(wanted)
    assert one("err", lists) == near(wanted / 2)
    assert one("success@1000", lists) == 0.001


@pytest.mark.parametrize(("n", "r", "t"), [(60, 1, 0), (60, 30, 3), (200, 150, 1), (2000, 4, 0), (1200, 1199, 7)])
def test_err_of_tied_items_of_one_grade(n, r, t):
    """The m-th of r hits stands at o with probability C(o-1, m-1) C(n-o, r-m) / C(n, r), and stops 2^-m of readers."""
    total = 0.0
    for m in range(1, min(r, 60) + 1):
        for o in range(m, n - r + m + 1):
            total += (
                float(Fraction(math.comb(o - 1, m - 1) * math.comb(n - o, r - m), math.comb(n, r))) / (t + o) / 2**m
            )
    assert one("err", tied(n, [1] * r, [0] * t)) == near(total)


@pytest.mark.parametrize(
    ("n", "r", "g_max", "t"), light([(1100, 1000, 10, 20), (1500, 700, 7, 0), (1500, 700, 2, 3)], 1, unpack=True)
)
def test_err_of_a_thousand_tied_items(n, r, g_max, t):
    """C(n, r) is beyond floats. Of a hits and b others left, the next is a hit with probability a / (a + b).

    The mean 1 / place at which a reader stops who comes to these, by table: row a from row a - 1.
    """
    stops, row = 1 / 2**g_max, []
    for a in range(r + 1):
        below, row = row, [0.0]
        for b in range(n - r + 1):
            if a:
                goes_on = stops / (t + n - a - b + 1) + (1 - stops) * below[b]
                row.append((a * goes_on + b * row[b]) / (a + b))
            else:
                row.append(0.0)
        row = row[1:]
    assert one(f"err(g_max={g_max})", tied(n, [1] * r, [0] * t)) == near(row[n - r])


def graded_err(counts, g_max, place=1):
    """The mean ERR over all orders of items, `counts[g]` of grade g: by the grade of the first, then the rest."""

    @functools.cache
    def rest(counts, place):
        total, left = 0.0, sum(counts)
        for grade, count in enumerate(counts):
            if count:
                fewer = (*counts[:grade], count - 1, *counts[grade + 1 :])
                stops = (2**grade - 1) / 2**g_max
                total += count / left * (stops / place + (1 - stops) * rest(fewer, place + 1))
        return total

    return rest(tuple(counts), place)


@pytest.mark.parametrize("counts", [(20, 5, 4, 3), (0, 6, 5, 4), (60, 1, 0, 1), (0, 0, 0, 12), (30, 0, 9, 2)])
@pytest.mark.parametrize("t", [0, 5])
@pytest.mark.light(3)
def test_err_of_a_large_tie_group_of_many_grades(counts, t):
    """Dozens of tied items of grades 0 to 3 by recursion on how many of each grade are left."""
    grades = [grade for grade, count in enumerate(counts) for _ in range(count)]
    lists = tied(len(grades), grades, [0] * t)
    assert one("err(g_max=3)", lists) == near(graded_err(counts, 3, t + 1))
    assert one("err(g_max=4)", lists) == near(graded_err(counts, 4, t + 1))


@pytest.mark.parametrize("n_relevant", light([25, 10, 100], 1))
def test_interpolation_finds_the_recalls_of_a_long_list(n_relevant):
    """Recall 0.28 of 25 relevant items is 7 of them, though 0.28 * 25 > 7 in floats: all points by fractions."""
    rng = random.Random(n_relevant)
    grades = rng.sample([1] * n_relevant + [0] * n_relevant, 2 * n_relevant)
    lists = from_ranking(grades)
    recalls = [f"iprec(recall={i / 100:g})" for i in (0, 7, 14, 28, 50, 56, 68, 100)]
    for text in ("iap", "iap(points=101)", "iap(points=all)", *recalls):
        above, below = oracle.ratio(text, grades)
        assert one(text, lists) == pytest.approx(float(above / below), rel=1e-12), text
