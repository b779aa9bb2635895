"""Thresholds chosen on labelled scores, against a loop over every candidate."""

import random

import numpy as np
import pytest
from grids import light

from kgeval.errors import ScoreError
from kgeval.metrics.pointwise.cuts import choose_thresholds, decide_by_threshold, exact_doubles, thresholds_by_group

INF = float("inf")
POOLS = ([0.0, 1.0, 2.0], [-INF, -1.0, -0.0, 0.0, 0.5, INF], [0.1 * i for i in range(40)])


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


def random_examples(rng, n_groups=4):
    """Labels, scores with ties, groups; from one example on."""
    n, pool = rng.randint(1, 12), rng.choice(POOLS)
    share = rng.choice([0.0, 0.3, 0.5, 0.9, 1.0])
    labels = [rng.random() < share for _ in range(n)]
    return labels, [rng.choice(pool) for _ in range(n)], [rng.randrange(n_groups) for _ in range(n)]


def chosen_for(labels, scores, groups):
    found = choose_thresholds(np.array(labels), np.array(scores), np.array(groups))
    return dict(zip(found[0].tolist(), found[1].tolist()))


@pytest.mark.parametrize("seed", light(range(40), 4))
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
