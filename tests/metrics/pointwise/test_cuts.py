"""Thresholds chosen on labelled scores, against a loop over every candidate."""

import random
from fractions import Fraction

import numpy as np
import pytest
from grids import light

from kgeval.errors import ProtocolError, ScoreError
from kgeval.metrics.pointwise.cuts import (
    choose_thresholds,
    decide_by_threshold,
    exact_doubles,
    midpoints_below,
    thresholds_by_group,
)

INF = float("inf")
POOLS = ([0.0, 1.0, 2.0], [-INF, -1.0, -0.0, 0.0, 0.5, INF], [0.1 * i for i in range(40)])
AFTER_ONE = float(np.nextafter(1.0, 2.0))
LARGEST, SMALLEST = float(np.finfo(np.float64).max), 5e-324
# Midpoints that overflow, or that round to one of the two scores.
HARD_POOLS = (
    *POOLS,
    [-LARGEST, -LARGEST / 2, 0.0, LARGEST / 2, float(np.nextafter(LARGEST, 0)), LARGEST],
    [-INF, -LARGEST, LARGEST, INF],
    [-2 * SMALLEST, -SMALLEST, 0.0, SMALLEST, 2 * SMALLEST, 3 * SMALLEST],
    [1.0, AFTER_ONE, float(np.nextafter(AFTER_ONE, 2.0)), float(np.nextafter(1.0, 0.0))],
    [float(np.float32(1)), float(np.nextafter(np.float32(1), np.float32(2))), float(np.float32(0.1))],
)


def best_cut(examples):
    """Of all scores and +inf, the one under which most of the (label, score) are right; of equal ones the highest."""
    best, most = None, -1
    for cut in sorted({score for _, score in examples} | {INF}, reverse=True):
        right = 0
        for label, score in examples:
            right += (score >= cut) == label
        if right > most:
            best, most = cut, right
    return best


def halfway(cut, examples):
    """The middle, in fractions, of a threshold and the next lower of the (label, score); else the threshold."""
    lower = [score for _, score in examples if score < cut]
    if not lower or INF in (abs(cut), abs(max(lower))):
        return cut
    middle = float((Fraction(cut) + Fraction(max(lower))) / 2)
    return cut if middle == max(lower) else middle


def random_examples(rng, n_groups=4, pools=POOLS):
    """Labels, scores with ties, groups; from one example on."""
    n, pool = rng.randint(1, 12), rng.choice(pools)
    share = rng.choice([0.0, 0.3, 0.5, 0.9, 1.0])
    labels = [rng.random() < share for _ in range(n)]
    return labels, [rng.choice(pool) for _ in range(n)], [rng.randrange(n_groups) for _ in range(n)]


def chosen_for(labels, scores, groups, **settings):
    found = choose_thresholds(np.array(labels), np.array(scores), np.array(groups), **settings)
    return dict(zip(found[0].tolist(), found[1].tolist()))


@pytest.mark.parametrize("seed", light(range(40), 2))
def test_thresholds_equal_the_loop(seed):
    """Ties, infinities, signed zeros, single examples, one class; each group by itself and all together."""
    rng = random.Random(seed)
    for _ in range(100):
        labels, scores, groups = random_examples(rng)
        examples = list(zip(labels, scores))
        expected = {
            group: best_cut([one for one, its in zip(examples, groups) if its == group]) for group in set(groups)
        }
        assert chosen_for(labels, scores, groups) == expected
        assert choose_thresholds(np.array(labels), np.array(scores))[1].tolist() == [best_cut(examples)]


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_groups_of_one_class_take_the_threshold_of_all(seed):
    """A group has its own threshold only if it has a positive and a negative."""
    rng = random.Random(seed)
    for _ in range(50):
        labels, scores, groups = random_examples(rng)
        found = thresholds_by_group(np.array(labels), np.array(scores), np.array(groups), 6)
        overall = best_cut(list(zip(labels, scores)))
        assert found.overall == overall
        for group in range(6):
            mine = [(label, score) for label, score, its in zip(labels, scores, groups) if its == group]
            has_both = {label for label, _ in mine} == {True, False}
            assert found.is_own[group] == has_both
            assert found.threshold[group] == (best_cut(mine) if has_both else overall)


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_order_and_scale_do_not_matter(seed):
    """Shuffled examples give the same thresholds, and rising functions of the scores the function of them."""
    rng = random.Random(seed)
    labels, scores, groups = random_examples(rng)
    expected = chosen_for(labels, scores, groups)
    order = rng.sample(range(len(labels)), k=len(labels))
    assert chosen_for(*([column[i] for i in order] for column in (labels, scores, groups))) == expected
    scaled = {group: cut * 4 + 1 for group, cut in expected.items()}
    assert chosen_for(labels, [score * 4 + 1 for score in scores], groups) == scaled


@pytest.mark.parametrize(
    ("labels", "scores", "cut"),
    [
        ([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.1], 0.9),  # at 0.9 and at 0.6 three are right: the higher one
        ([1, 1, 0, 0], [0.9, 0.6, 0.5, 0.1], 0.6),  # all right
        ([1, 0], [5.0, 5.0], INF),  # a constant: one of two is right either way, so nothing is called positive
        ([1, 1, 0], [5.0, 5.0, 5.0], 5.0),  # two of three are right only if all are called positive
        ([0, 1], [2.0, 1.0], INF),  # the wrong way round: 1 of 2 at best
        ([1, 0], [INF, INF], INF),  # a score of +inf is positive under any threshold
        ([0, 1, 1], [INF, 1.0, 0.0], 0.0),  # at +inf none is right, at 1 one, at 0 two
        ([1, 0], [-INF, -INF], INF),
        ([1], [-2.0], -2.0),
        ([0], [-2.0], INF),
    ],
)
def test_worked_examples(labels, scores, cut):
    """Each is counted in its comment."""
    assert choose_thresholds(np.array(labels, dtype=bool), np.array(scores))[1].tolist() == [cut]


@pytest.mark.parametrize("seed", light(range(40), 2))
def test_midpoints_equal_the_loop(seed):
    """Ties, infinities, the largest and the smallest numbers, neighbouring numbers, one class; each group and all."""
    rng = random.Random(seed)
    for _ in range(100):
        labels, scores, groups = random_examples(rng, pools=HARD_POOLS)
        found = chosen_for(labels, scores, groups, threshold_at="midpoint")
        by_group = thresholds_by_group(np.array(labels), np.array(scores), np.array(groups), 6, "midpoint")
        examples = list(zip(labels, scores))
        overall = halfway(best_cut(examples), examples)
        assert by_group.overall == overall
        for group in range(6):
            mine = [one for one, its in zip(examples, groups) if its == group]
            if mine:
                cut = best_cut(mine)
                assert found[group] == halfway(cut, mine)
                # The same decisions, since no score lies between the two thresholds.
                assert [score >= found[group] for _, score in mine] == [score >= cut for _, score in mine]
            has_both = {label for label, _ in mine} == {True, False}
            assert by_group.threshold[group] == (found[group] if has_both else overall)


@pytest.mark.parametrize(
    ("labels", "scores", "cut"),
    [
        ([1, 0], [3.0, 1.0], 2.0),
        ([1, 0, 1, 0], [0.875, 0.625, 0.5, 0.0], 0.75),  # 0.875 and 0.5 are equally good: below the higher one
        ([1, 1, 0, 0], [5.0, 3.0, 2.0, 2.0], 2.5),  # tied negatives count as one score
        ([1, 1, 0], [5.0, 5.0, 5.0], 5.0),  # the lowest score: nothing below it
        ([1, 1], [5.0, 3.0], 3.0),  # positives alone: again the lowest score
        ([0, 0], [5.0, 3.0], INF),  # negatives alone: nothing is called positive
        ([0, 1], [2.0, 1.0], INF),  # the wrong way round
        ([1, 0], [INF, 1.0], INF),  # halfway to infinity is infinity
        ([1, 0], [INF, -INF], INF),
        ([1, 0], [1.0, -INF], 1.0),  # an infinite gap has no middle
        ([1, 1, 0], [7.0, -1.0, -3.0], -2.0),
        ([1, 0], [1.5e308, 1.25e308], 1.375e308),  # the sum overflows
        ([1, 0], [1.5e308, -1.5e308], 0.0),
        ([1, 0], [SMALLEST, 0.0], SMALLEST),  # neighbours: the middle rounds to the lower one
        ([1, 0], [0.0, -SMALLEST], 0.0),
        ([1, 0], [AFTER_ONE, 1.0], AFTER_ONE),
    ],
)
def test_worked_midpoints(labels, scores, cut):
    """By hand; none is at or below the next lower score."""
    found = choose_thresholds(np.array(labels, dtype=bool), np.array(scores), threshold_at="midpoint")
    assert found[1].tolist() == [cut]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_midpoints_of_narrow_floats_lie_between_them(dtype):
    """Neighbouring float32 numbers have a float64 number in their middle, which decides both as before."""
    low = dtype(0.7)
    high = np.nextafter(low, dtype(1))
    scores = exact_doubles(np.array([high, low]), "score")
    [cut] = choose_thresholds(np.array([True, False]), scores, threshold_at="midpoint")[1]
    assert cut == (float(low) + float(high)) / 2
    assert float(low) < cut < float(high)
    assert decide_by_threshold(scores, cut).tolist() == [True, False]


def test_midpoints_give_no_warning():
    """Overflow, and infinities of both signs, are handled and not reported."""
    with np.errstate(all="raise"):
        scores, lower = np.array([LARGEST, INF, -INF, 0.0]), np.array([LARGEST, -INF, -INF, -0.0])
        assert midpoints_below(scores, lower).tolist() == [LARGEST, INF, -INF, 0.0]


def test_an_unknown_place_is_refused():
    with pytest.raises(ProtocolError, match="threshold_at must be one of 'score', 'midpoint'; got 'middle'"):
        choose_thresholds(np.array([True]), np.array([1.0]), threshold_at="middle")


def test_decisions():
    """At the threshold is positive; +inf calls nothing positive but +inf; -inf everything."""
    scores = np.array([-INF, -1.0, 0.0, 1.0, INF])
    assert decide_by_threshold(scores, 0.0).tolist() == [False, False, True, True, True]
    assert decide_by_threshold(scores, INF).tolist() == [False] * 4 + [True]
    assert decide_by_threshold(scores, -INF).tolist() == [True] * 5
    assert decide_by_threshold(scores, scores[::-1]).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize(
    "scores",
    [
        np.array([2**53, -(2**53), 7]),
        np.array([2**53], dtype=np.uint64),
        np.array([0.1, -INF, 1e-45], dtype=np.float32),
        np.array([0.1, INF], dtype=np.float16),
        np.zeros(0),
    ],
)
def test_doubles_hold_what_came(scores):
    """Nothing is rounded on the way to float64."""
    doubles = exact_doubles(scores, "score")
    assert doubles.dtype == np.float64
    assert [float(score) for score in scores] == doubles.tolist()
    assert (doubles.astype(scores.dtype) == scores).all()


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (np.array([0, 2**53 + 1]), "9007199254740993 (int64)"),
        (
            np.array([1, -(2**53) - 1, -(2**62)]),
            "-9007199254740993 (int64), and 1 more, beyond",
        ),
        (np.array([2**64 - 1], dtype=np.uint64), "18446744073709551615 (uint64)"),
    ],
)
def test_integers_beyond_doubles_are_refused(scores, said):
    """2**53 + 1 would become 2**53 and tie with it."""
    with pytest.raises(ScoreError, match="the dtype of thresholds") as error:
        exact_doubles(scores, "score")
    assert f"score gave the score {said}" in str(error.value)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here")
def test_wider_floats_are_refused():
    """1 + 2**-60 would become 1; what float64 holds passes."""
    wide = np.array([1.0, 0.5], dtype=np.longdouble)
    assert exact_doubles(wide, "score").tolist() == [1.0, 0.5]
    wide[1] = np.longdouble(1) + np.longdouble(2) ** -60
    with pytest.raises(ScoreError, match=r"\(\w+\), beyond the precision of float64"):
        exact_doubles(wide, "score")
