"""The oracle against values derived by hand."""

import itertools
import math
import random
from fractions import Fraction

import oracle
import pytest


def test_worked_example():
    """One rival of four beats the first triple, none the second: ranks 2 and 1, RR 1/2 and 1."""
    names = ["Italy", "Ireland", "Germany", "Thomas", "Anna"]
    scores = {
        ("Jack", "born_in"): dict(zip(names, [0.753, 0.789, 0.695, 0.456, 0.234], strict=True)),
        ("Jack", "friend_with"): dict(zip(names, [0.1, 0.2, 0.3, 0.901, 0.4], strict=True)),
    }
    triples = [("Jack", "born_in", "Italy"), ("Jack", "friend_with", "Thomas")]
    table = oracle.rank_counts(lambda s, p, o: scores[s, p][o], triples, set(triples), names, "object")
    rows = [(row["better_filtered"], row["tied_filtered"], row["rivals_filtered"]) for row in table]
    assert rows == [(1, 0, 4), (0, 0, 4)]
    assert [row["score"] for row in table] == [0.753, 0.901]
    for policy in ("optimistic", "pessimistic", "realistic", "expected"):
        found = [oracle.metric(name, rows, policy) for name in ("hits@1", "hits@3", "mrr", "mr")]
        assert found == [Fraction(1, 2), 1, Fraction(3, 4), Fraction(3, 2)]


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        # (0, 0, ?) scores 5 9 5 9 7, own 5. Raw: 9 9 7 above, 5 equal. Without known 2 and 3: 9 7 above.
        ("object", {"better_raw": 3, "tied_raw": 1, "rivals_raw": 4}),
        ("object", {"better_filtered": 2, "tied_filtered": 0, "rivals_filtered": 2}),
        # (?, 0, 0) scores 5 4 5 6 5, own 5. Raw: 6 above, two equal. Without known 3: none above.
        ("subject", {"better_raw": 1, "tied_raw": 2, "rivals_raw": 4}),
        ("subject", {"better_filtered": 0, "tied_filtered": 2, "rivals_filtered": 3}),
    ],
)
def test_filter_keeps_sides_apart(side, expected):
    """The derivation is beside each case; known triples of the other side or relation remove nothing."""
    objects, subjects = [5, 9, 5, 9, 7], [5, 4, 5, 6, 5]
    known = {(0, 0, 0), (0, 0, 2), (0, 0, 3), (3, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 0)}
    table = oracle.rank_counts(
        lambda s, _, o: objects[o] if s == 0 else subjects[s], [(0, 0, 0)], known, range(5), side
    )
    assert table[0].items() >= expected.items()


def test_infinite_scores_are_numbers_and_nan_is_not():
    """Scores inf, -inf, -inf, own -inf: one above, one equal. A NaN anywhere has no place in an order."""
    found = oracle.rank_counts(
        lambda _s, _p, o: [-math.inf, math.inf, -math.inf][o], [(0, 0, 0)], set(), range(3), "object"
    )
    assert (found[0]["better_raw"], found[0]["tied_raw"]) == (1, 1)
    for place in range(3):
        with pytest.raises(ValueError, match="NaN"):
            oracle.rank_counts(
                lambda _s, _p, o, at=place: math.nan if o == at else 1, [(0, 0, 0)], set(), range(3), "object"
            )


def test_two_way_tie_at_the_top():
    """The rank is 1 or 2: E[1/R] = (1 + 1/2) / 2, E[hits@1] = 1/2; the realistic rank 3/2 is no hit at 1."""
    rows = [(0, 1, 4)]
    assert oracle.ranks(0, 1, "expected") == [(1, Fraction(1, 2)), (2, Fraction(1, 2))]
    assert [oracle.metric(name, rows, "expected") for name in ("mr", "mrr", "hits@1")] == [1.5, 0.75, 0.5]
    assert [oracle.metric(name, rows, "realistic") for name in ("mr", "mrr", "hits@1")] == [
        1.5,
        Fraction(2, 3),
        0,
    ]
    assert [oracle.metric("mr", rows, policy) for policy in ("optimistic", "pessimistic")] == [1, 2]
    assert oracle.metric("gmr", rows, "expected") == pytest.approx((1 + 2) / 2)


def test_constant_scorer_is_at_chance():
    """Four rivals, all tied: R is uniform on 1..5, so MRR = H(5) / 5 = 137/300, which is the chance level."""
    rows = [(0, 4, 4)] * 3
    assert oracle.metric("mrr", rows, "expected") == Fraction(137, 300)
    for name in ("mr", "mrr", "hits@1", "hits@3"):
        assert oracle.metric(name, rows, "expected") == oracle.chance(name, rows)[0]
        assert oracle.adjusted(name, rows, "expected") == oracle.z(name, rows, "expected") == 0


@pytest.mark.parametrize(("better", "tied"), [(0, 0), (0, 3), (2, 0), (2, 4), (7, 1)])
def test_tie_formulas(better, tied):
    """R uniform on g+1..g+e+1: E[1/R] = (H(g+e+1) - H(g)) / (e+1), P(R <= k) = clip((k-g) / (e+1), 0, 1)."""
    rows = [(better, tied, 20)]
    harmonic = [sum(Fraction(1, i) for i in range(1, m + 1)) for m in range(20)]
    assert (
        oracle.metric("mr", rows, "expected")
        == oracle.metric("mr", rows, "realistic")
        == better + 1 + Fraction(tied, 2)
    )
    assert oracle.metric("mrr", rows, "expected") == (harmonic[better + tied + 1] - harmonic[better]) / (tied + 1)
    for k in range(1, 12):
        assert oracle.metric(f"hits@{k}", rows, "expected") == min(max(Fraction(k - better, tied + 1), 0), 1)


def test_means_of_whole_rank_lists():
    """Ranks 1, 2, 4: median 2, geometric mean 8 ** (1/3) = 2, harmonic mean 3 / (1 + 1/2 + 1/4) = 12/7."""
    rows = [(0, 0, 9), (1, 0, 9), (3, 0, 9)]
    assert oracle.metric("median_rank", rows, "realistic") == 2
    assert oracle.metric("gmr", rows, "realistic") == pytest.approx(2)
    assert oracle.metric("hmr", rows, "realistic") == Fraction(12, 7) == 1 / oracle.metric("mrr", rows, "realistic")
    assert oracle.metric("hmr", rows, "expected") is None
    assert oracle.metric("median_rank", rows, "expected") is None
    assert oracle.metric("median_rank", rows[:2], "pessimistic") == 1.5
    assert oracle.metric("gmr", rows, "expected") == pytest.approx(2)


def test_chance_closed_forms():
    """C = 5: E[R] = 3, Var R = 2; E[1/R] = H(5)/5, Var = H2(5)/5 - E^2; P(R <= 2) = 2/5; n rows: Var / n."""
    rows = [(0, 0, 4)]
    second = sum(Fraction(1, j * j) for j in range(1, 6)) / 5
    assert oracle.chance("mr", rows) == (3, 2)
    assert oracle.chance("mrr", rows) == (Fraction(137, 300), second - Fraction(137, 300) ** 2)
    assert oracle.chance("hits@2", rows) == (Fraction(2, 5), Fraction(6, 25))
    assert oracle.chance("mr", rows * 8) == (3, Fraction(1, 4))
    assert oracle.chance("gmr", rows) == pytest.approx((3, 2))


def test_chance_is_the_mean_over_all_outcomes():
    """The pairs of ranks in 1..2 x 1..4 are equally likely: mean of the metric and its square over all 8."""
    rows = [(0, 0, 1), (0, 0, 3)]
    for name in ("mr", "mrr", "hits@1", "hits@3", "gmr"):
        pairs = itertools.product(range(2), range(4))
        outcomes = [float(oracle.metric(name, [(a, 0, 1), (b, 0, 3)], "realistic")) for a, b in pairs]
        mean = sum(outcomes) / 8
        variance = sum(x * x for x in outcomes) / 8 - mean**2
        assert [float(x) for x in oracle.chance(name, rows)] == pytest.approx([mean, variance])


def test_expected_gmr_is_the_mean_over_all_tie_breaks():
    """Ranks 1..2 and 3..5 by independent tie breaking: the mean of sqrt(R1 R2) over the 6 pairs."""
    mean = sum(math.sqrt(a * b) for a in (1, 2) for b in (3, 4, 5)) / 6
    assert oracle.metric("gmr", [(0, 1, 9), (2, 2, 9)], "expected") == pytest.approx(mean)


def test_adjusted_and_z():
    """MR 3/2, 4 rivals each: AMRI = 1 - 2 * (1 + 0) / (4 + 4) = 3/4; Var = (2 + 2) / 4, so z = 3 - 3/2."""
    rows = [(1, 0, 4), (0, 0, 4)]
    assert oracle.adjusted("mr", rows, "realistic") == Fraction(3, 4)
    assert oracle.z("mr", rows, "realistic") == pytest.approx(1.5)
    for name in ("mr", "mrr", "hits@3", "gmr"):
        assert oracle.adjusted(name, [(0, 0, 4)] * 2, "realistic") == pytest.approx(1)
        assert oracle.z(name, [(0, 0, 4)] * 2, "realistic") > 0 > oracle.z(name, [(4, 0, 4)] * 2, "realistic")


@pytest.mark.parametrize("name", ["mr", "mrr", "hits@5", "gmr"])
def test_undefined_is_none(name):
    """No rows have no mean; without rivals the only rank is 1: 0/0; hits@K with K >= C is always 1."""
    assert oracle.metric(name, [], "realistic") is None
    assert oracle.adjusted(name, [], "realistic") is oracle.z(name, [], "realistic") is None
    assert oracle.adjusted(name, [(0, 0, 0)] * 3, "realistic") is oracle.z(name, [(0, 0, 0)] * 3, "realistic") is None
    assert oracle.adjusted("hits@5", [(2, 0, 4)], "realistic") is oracle.z("hits@5", [(2, 0, 4)], "realistic") is None


def test_random_graphs_hold_what_they_promise():
    """Ids in range, no test empty, train and valid empty only on demand, and every planted fault turns up."""
    rng, seen = random.Random(1), set()
    for _ in range(400):
        n, m, splits = oracle.random_graph(rng)
        assert all(splits.values())
        assert all(s in range(n) and p in range(m) and o in range(n) for rows in splits.values() for s, p, o in rows)
        train, test = splits["train"], splits["test"]
        in_train = {e for s, _, o in train for e in (s, o)}
        seen |= {"one entity"} if n == 1 else set()
        seen |= {f"duplicate in {split}" for split, rows in splits.items() if len(rows) > len(set(rows))}
        seen |= {"overlap with train"} if set(train) & set(test) else set()
        seen |= {"overlap with valid"} if set(splits["valid"]) & set(test) else set()
        seen |= {"self-loop"} if any(s == o for s, _, o in test) else set()
        seen |= {"unseen entity"} if any({s, o} - in_train for s, _, o in test) else set()
        seen |= {"unseen relation"} if {p for _, p, _ in test} - {p for _, p, _ in train} else set()
    assert len(seen) == 9
    bare = [oracle.random_graph(rng, allow_empty=True)[2] for _ in range(100)]
    assert {bool(g["train"]) for g in bare} == {bool(g["valid"]) for g in bare} == {True, False}
    assert all(g["test"] for g in bare)
