"""Drawn negatives: never known, distinct within a query, uniform, repeatable, and counted where there are too few."""

import math
import random
import re
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from grids import light
from oracle import random_graph

import kgeval as kg
from kgeval.errors import ProtocolError

SIDES = ("subject", "object")


def make(splits, n, m):
    """A dataset of these lists of triples."""
    return kg.Dataset.from_arrays(
        **{split: np.array(rows, dtype=np.int64).reshape(-1, 3) for split, rows in splits.items()},
        n_entities=n,
        n_relations=m,
    )


pytestmark = pytest.mark.filterwarnings("ignore:.*got fewer than:kgeval.errors.KgevalWarning")


def draw(dataset, *args, **kwargs):
    """The drawn triples as tuples of ids, in order; distinct within a query, unless said otherwise."""
    frame = kg.sample_negatives(dataset, *args, ids=True, **{"distinct": "query", **kwargs})
    return list(frame[["s", "p", "o"]].itertuples(index=False, name=None))


def queries_of(triples, side):
    """The (relation, given entity) of each triple when `side` is asked."""
    return [(p, o) if side == "subject" else (p, s) for s, p, o in triples]


def allowed(known, query, side, n):
    """The entities that make no known triple, by trying each."""
    p, given = query
    return [e for e in range(n) if ((e, p, given) if side == "subject" else (given, p, e)) not in known]


@pytest.mark.parametrize("seed", light(range(60), 3))
def test_one_side_against_sets(seed):
    """Each query gives min(asked, allowed) distinct negatives, none known, and each positive at most n.

    Small graphs, so that many queries run out of candidates; some filters leave the split out, which is known still.
    """
    rng = random.Random(seed)
    n, m, splits = random_graph(rng)
    splits = {split: rows for split, rows in splits.items() if rows}
    dataset = make(splits, n, m)
    for split in splits:
        side, asked = rng.choice(SIDES), rng.choice([1, 2, 3, n])
        filter = rng.choice([None, tuple(splits), ("test",), ()])
        known_splits = {split, *(splits if filter is None else filter)}
        known = {row for name in known_splits for row in splits[name]}
        drawn = draw(dataset, split, asked, side, seed, filter)
        wanted, found = Counter(queries_of(splits[split], side)), Counter(queries_of(drawn, side))
        assert set(found) <= set(wanted)
        for query, times in wanted.items():
            assert found[query] == min(asked * times, len(allowed(known, query, side, n)))
        assert len(set(drawn)) == len(drawn)
        assert not set(drawn) & known


@pytest.mark.parametrize("seed", light(range(20), 3))
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_both_sides_share_the_negatives(seed, n):
    """200 entities, so that no query runs out: n per positive, in their order, and n // 2 of each side at least."""
    rng = random.Random(seed)
    positives = list({(rng.randrange(100), rng.randrange(2), rng.randrange(100, 200)) for _ in range(30)})
    drawn = draw(make({"valid": positives}, 200, 2), "valid", n, sample_seed=seed)
    assert len(drawn) == n * len(positives)
    for i, (s, p, o) in enumerate(positives):
        mine = drawn[n * i : n * (i + 1)]
        sides = Counter("subject" if row[1:] == (p, o) else "object" if row[:2] == (s, p) else "none" for row in mine)
        assert sides["subject"] + sides["object"] == n
        assert min(sides["subject"], sides["object"]) >= n // 2
    assert not set(drawn) & set(positives)


def test_the_odd_one_falls_on_either_side():
    """Of 2,000 positives with n = 1 the replaced subjects are binomial: 1,000, deviation 22.4; within 5 of them."""
    positives = [(i, 0, i + 2000) for i in range(2000)]
    drawn = draw(make({"test": positives}, 4000, 1), "test", sample_seed=3)
    n_subjects = sum(row[2] == o for row, (_, _, o) in zip(drawn, positives))
    assert abs(n_subjects - 1000) < 112


@pytest.mark.thorough
def test_draws_are_uniform():
    """One draw with each of 4,000 seeds, 12 allowed entities: 333.3 expected of each.

    Chi-square with 11 degrees of freedom exceeds 31.26 with probability 0.001. Known answers lie below, between and
    above the allowed ones, so that the allowed ones have different numbers of known ones to be stepped over.
    """
    known_answers = [0, 3, 4, 9, 15, 18, 19, 7]
    dataset = make({"train": [(19, 0, e) for e in known_answers], "test": [(19, 0, 3)]}, 20, 1)
    counts = Counter()
    for seed in range(4000):
        [(_, _, entity)] = draw(dataset, "test", 1, "object", seed)
        counts[entity] += 1
    assert sorted(counts) == [1, 2, 5, 6, 8, 10, 11, 12, 13, 14, 16, 17]
    assert sum((counts[e] - 4000 / 12) ** 2 / (4000 / 12) for e in counts) < 31.26


@pytest.mark.thorough
def test_sets_of_several_are_uniform():
    """Two of five allowed entities, drawn for one query's two positives: each of the 10 pairs is equally likely.

    Of 3,000 draws 300 are expected per pair; chi-square with 9 degrees of freedom exceeds 27.88 with probability
    0.001. Which of the two positives gets which entity is even too: 1,500 with deviation 27.4, within 5 of them.
    """
    dataset = make({"valid": [(0, 0, 1), (0, 0, 4)]}, 7, 1)
    pairs, first_is_lower = Counter(), 0
    for seed in range(3000):
        (_, _, one), (_, _, other) = draw(dataset, "valid", 1, "object", seed)
        pairs[frozenset((one, other))] += 1
        first_is_lower += one < other
    assert set(pairs) == {frozenset(pair) for pair in combinations([0, 2, 3, 5, 6], 2)}
    assert sum((count - 300) ** 2 / 300 for count in pairs.values()) < 27.88
    assert abs(first_is_lower - 1500) < 137


def test_the_seed_alone_decides():
    """The same seed gives the same negatives, whatever numpy's global state, which stays; another seed others."""
    rng = random.Random(0)
    positives = [(rng.randrange(50), 0, rng.randrange(50)) for _ in range(40)]
    dataset = make({"test": positives}, 50, 1)
    first = draw(dataset, "test", 2, sample_seed=5)
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()
    assert draw(dataset, "test", 2, sample_seed=5) == first
    assert draw(dataset, "test", 2, sample_seed=np.int64(5)) == first
    assert np.random.get_state()[1].tolist() == before
    assert draw(dataset, "test", 2, sample_seed=6) != first
    assert [tuple(row) for row in dataset["test"].array.tolist()] == positives


def test_candidates_run_out():
    """(0, 0, ?) knows 1, 2 and 3 of five entities, so its three positives share 0 and 4; (?, 0, 1) has four."""
    dataset = make({"train": [(0, 0, 3)], "test": [(0, 0, 1), (0, 0, 2), (0, 0, 1)]}, 5, 1)
    drawn = draw(dataset, "test", 1, "object")
    assert sorted(drawn) == [(0, 0, 0), (0, 0, 4)]
    assert len(draw(dataset, "test", 9, "object")) == 2
    # Subjects of object 1: all but 0, asked 2 * 9 times; of object 2: all but 0, asked 9 times.
    assert len(draw(dataset, "test", 9, "subject")) == 8


def test_nothing_is_left():
    """Every object of (0, 0, ?) is known: no negatives; an empty split gives none either."""
    dataset = make({"valid": [], "test": [(0, 0, e) for e in range(3)]}, 3, 1)
    assert draw(dataset, "test", 2, "object") == []
    assert draw(dataset, "valid") == []


def test_a_positive_is_never_its_own_negative():
    """Also where the filter does not name its split: only entity 2 is left beside 0 and 1, for any seed."""
    dataset = make({"train": [(0, 0, 0)], "test": [(0, 0, 1)]}, 3, 1)
    for seed in range(20):
        assert draw(dataset, "test", 1, "o", seed, ("train",)) == [(0, 0, 2)]
        assert draw(dataset, "test", 1, "o", seed, "train") == [(0, 0, 2)]


def test_the_filter_is_a_choice():
    """Without train in the filter, its answers may be drawn."""
    dataset = make({"train": [(0, 0, 0)], "test": [(0, 0, 1)]}, 2, 1)
    assert draw(dataset, "test", 1, "object", filter=()) == [(0, 0, 0)]
    assert draw(dataset, "test", 1, "object") == []


def test_each_row_names_its_positive_and_side():
    """Labels by default, ids on demand; each side's only allowed entity, written out.

    Of entities a, b, c: (a, r, ?) knows b and c, so only a is left; (?, r, b) knows a, so b and c are; (?, r, c) knows
    a, so b and c are. n = 4 asks two of each side for each positive; the objects share one allowed entity.
    """
    dataset = kg.Dataset.from_frames(test=pd.DataFrame({"s": ["a", "a"], "p": ["r", "r"], "o": ["b", "c"]}))
    frame = kg.sample_negatives(dataset, "test", 4, distinct="query")
    assert list(frame.columns) == ["s", "p", "o", "side", "positive"]
    rows = Counter(frame.itertuples(index=False, name=None))
    [(owner,)] = [row[4:] for row in rows if row[3] == "object"]
    assert rows == Counter(
        {
            ("b", "r", "b", "subject", 0): 1,
            ("c", "r", "b", "subject", 0): 1,
            ("b", "r", "c", "subject", 1): 1,
            ("c", "r", "c", "subject", 1): 1,
            ("a", "r", "a", "object", owner): 1,
        }
    )
    assert frame["positive"].is_monotonic_increasing
    names = {label: i for i, label in enumerate(dataset.entities.labels)}
    ids = kg.sample_negatives(dataset, "test", 4, ids=True, distinct="query")
    assert ids["s"].tolist() == [names[s] for s in frame["s"]]
    assert ids["o"].tolist() == [names[o] for o in frame["o"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1; got 0"),
        ({"n": 1.0}, "n must be an integer of at least 1; got 1.0"),
        ({"sample_seed": -1}, "sample_seed must be an integer of at least 0; got -1"),
        ({"sample_seed": True}, "sample_seed must be an integer of at least 0; got True"),
        ({"sample_seed": None}, "sample_seed must be an integer of at least 0; got None"),
        ({"sides": "left"}, "side must be 'subject' or 'object'"),
        ({"split": "valid"}, "has no split 'valid'; it has test"),
        ({"distinct": "triple"}, "distinct must be one of 'positive', 'query'; got 'triple'"),
        ({"replace": 1}, "replace must be True or False; got 1"),
        ({"replace": True, "distinct": "query"}, "replace=True repeats negatives, so distinct='query' cannot hold"),
        ({"filter": ["train"]}, "has no split 'train'; it has test"),
    ],
)
def test_refusals(arguments, message):
    """What is wrong, what came, what is there."""
    dataset = make({"test": [(0, 0, 1)]}, 3, 1)
    with pytest.raises(ProtocolError, match=re.escape(message)):
        kg.sample_negatives(**{"dataset": dataset, "split": "test", **arguments})


# --- Each positive by itself: lists to rank among -------------------------------------------------------------------


@pytest.mark.parametrize("seed", light(range(60), 3))
def test_each_positive_draws_by_itself(seed):
    """H4: min(asked, allowed) distinct negatives of every positive, whatever the other positives of its query are."""
    rng = random.Random(seed)
    n, m, splits = random_graph(rng)
    splits = {split: rows for split, rows in splits.items() if rows}
    dataset = make(splits, n, m)
    known = {row for rows in splits.values() for row in rows}
    for split in splits:
        side, asked = rng.choice(SIDES), rng.choice([1, 2, 3, n])
        pool = sorted(rng.sample(range(n), rng.randint(1, n)))
        replace = rng.random() < 0.3
        weights = [rng.choice([0.0, 1.0, 2.5]) for _ in range(n)] if rng.random() < 0.5 else None
        if weights is not None and not sum(weights[e] for e in pool):
            weights = None
        frame = kg.sample_negatives(
            dataset, split, asked, side, seed, pool=pool, weights=weights, replace=replace, ids=True
        )
        for i, (triple, query) in enumerate(zip(splits[split], queries_of(splits[split], side))):
            rows = frame[frame["positive"] == i]
            drawn = rows["s" if side == "subject" else "o"].tolist()
            fixed = ["p", "o"] if side == "subject" else ["s", "p"]
            assert (rows[fixed] == [triple["spo".index(name)] for name in fixed]).all(axis=None)
            may = [e for e in allowed(known, query, side, n) if e in pool and (weights is None or weights[e] > 0)]
            assert set(drawn) <= set(may)
            if replace:
                assert len(drawn) == (asked if may else 0)
            else:
                assert len(drawn) == len(set(drawn)) == min(asked, len(may))


def test_a_short_draw_is_said():
    """Two of the three positives: (0, 0, ?) knows 1, 2, 3 of five entities, so it has 2 negatives and not 3."""
    dataset = make({"test": [(0, 0, 1), (0, 0, 2), (4, 0, 3)], "train": [(0, 0, 3)]}, 5, 1)
    message = (
        "2 of 3 positives got fewer than 3 negatives (at least 2), first ('0', '0', '1'): they have no more unknown "
        "triples. Among fewer rivals ranks are better, so hits@k and MRR come out higher"
    )
    with pytest.warns(kg.KgevalWarning, match=re.escape(message)):
        frame = kg.sample_negatives(dataset, "test", 3, "object", ids=True)
    assert np.bincount(frame["positive"]).tolist() == [2, 2, 3]


@pytest.mark.thorough
def test_weighted_draws_follow_the_weights():
    """Weights 1, 2, 3 of the allowed entities, with replacement: 6,000 draws, chi-square with 2 degrees below 13.8."""
    dataset = make({"test": [(0, 0, 1)]}, 5, 1)
    weights = pd.Series({"4": 3.0, "3": 2.0, "2": 1.0, "1": 9.0, "0": 0.0})
    drawn = draw(dataset, "test", 6000, "object", distinct="positive", replace=True, weights=weights)
    counts = Counter(o for _, _, o in drawn)
    assert set(counts) == {2, 3, 4}
    expected = {2: 1000, 3: 2000, 4: 3000}
    assert sum((counts[e] - n) ** 2 / n for e, n in expected.items()) < 13.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pool": ["0", "x"]}, "pool contains 'x', which is no entity of 'dataset'"),
        ({"pool": [0, 7]}, "pool contains 7, which is no entity"),
        ({"pool": []}, "pool must be labels or ids of entities, at least one; got []"),
        ({"pool": [True, False, True]}, "pool must be labels or ids of entities"),
        (
            {"weights": [1.0, 2.0]},
            "weights must be 3 finite numbers of at least 0, one per entity of 'dataset', not all",
        ),
        ({"weights": [1.0, -2.0, 1.0]}, "weights must be 3 finite numbers"),
        ({"weights": [0.0, 0.0, 0.0]}, "weights must be 3 finite numbers"),
        ({"weights": {"0": 1.0}}, "weights must be 3 numbers, one per entity; got {'0': 1.0}"),
        ({"weights": pd.Series([1.0, 2.0, 3.0], index=["0", "1", "9"])}, "weights: the index must hold each of the 3"),
        ({"weights": pd.Series([1.0, 2.0, 3.0], index=[0, 1, 7])}, "weights has an index that does not say to which"),
    ],
)
def test_pools_and_weights_that_do_not_fit(arguments, message):
    dataset = make({"test": [(0, 0, 1)]}, 3, 1)
    with pytest.raises(kg.DataError, match=re.escape(message)):
        kg.sample_negatives(dataset, "test", **arguments)


def test_an_index_of_weights_is_used():
    """H25: by label or by id, in any order."""
    dataset = make({"test": [(0, 0, 1)]}, 5, 1)
    weights = np.array([1.0, 1.0, 0.0, 5.0, 2.0])
    plain = draw(dataset, "test", 2, weights=weights, distinct="positive")
    series = pd.Series(weights).sample(frac=1, random_state=1)
    assert draw(dataset, "test", 2, weights=series, distinct="positive") == plain
    series.index = series.index.astype(str)
    assert draw(dataset, "test", 2, weights=series, distinct="positive") == plain


@pytest.mark.parametrize("distinct", ["positive", "query"])
def test_lists_of_a_crowded_query_are_full(distinct):
    """H4: 40 positives of one query and 60 unknown entities: lists of 30 each, or what is left for each."""
    dataset = make({"test": [(0, 0, o) for o in range(40)]}, 100, 1)
    frame = kg.sample_negatives(dataset, "test", 30, "object", distinct=distinct, ids=True)
    lengths = np.bincount(frame["positive"], minlength=40)
    if distinct == "positive":
        assert lengths.tolist() == [30] * 40
        listed = kg.candidates.Listed.from_negatives(frame, 40)
        result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(candidates=listed), progress=False)
        assert result.table["rivals_filtered"].tolist() == [30] * 40
    else:
        assert lengths.sum() == 60
        listed = kg.candidates.Listed.from_negatives(frame, 40)
        with pytest.raises(kg.DataError, match="without a rival"):
            kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(candidates=listed), progress=False)


def test_short_lists_are_a_caution_of_the_result():
    """One list of three is short by one: its count, and what it does to the numbers."""
    dataset = make({"test": [(0, 0, 1), (1, 0, 2), (2, 0, 3)]}, 9, 1)
    listed = kg.candidates.Listed(objects=[[5, 6], [7], [8, 4]])
    said = (
        "object side: 1 of 3 lists are shorter than the others, 1 negatives at least and not 2: ranks among fewer "
        "rivals are better, so hits@k and MRR come out higher"
    )
    with pytest.warns(kg.KgevalWarning, match=re.escape(said)):
        result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(candidates=listed), progress=False)
    assert said in result.notes


def hits_of_samples(counts, n, k=10):
    """For each row, the probability of a rank of at most k among n of its rivals; scores without ties."""
    better, tied, rivals = counts
    assert not tied.any()
    hypergeom = pytest.importorskip("scipy.stats", reason="needs scipy (extra stats)").hypergeom
    return hypergeom.cdf(k - 1, rivals, better, np.minimum(n, rivals))


def check_samples(dataset, scorer, n, sides, n_seeds, k=10):
    """The mean over seeds of hits@k of sampled lists, within 3 standard errors of its value from the full counts."""
    whole = kg.evaluate(scorer, dataset, kg.Protocol(sides=sides), progress=False)
    counts = [whole.table[f"{name}_filtered"].to_numpy() for name in ("better", "tied", "rivals")]
    chances = hits_of_samples(counts, n, k)
    values = []
    for seed in range(n_seeds):
        per_positive = n * len(whole.protocol.sides)
        frame = kg.sample_negatives(dataset, "test", per_positive, sides, seed, ids=True)
        listed = kg.candidates.Listed.from_negatives(frame, len(dataset["test"]))
        result = kg.evaluate(scorer, dataset, kg.Protocol(candidates=listed), progress=False, check_rows=False)
        assert len(result.table) == len(whole.table)
        assert result.dropped == {}
        assert (result.table["rivals_filtered"].to_numpy() <= n).all()
        values.append(result[f"hits@{k}"])
    error = math.sqrt((chances * (1 - chances)).sum()) / len(chances) / math.sqrt(n_seeds)
    assert abs(np.mean(values) - chances.mean()) < 3 * error, (np.mean(values), chances.mean(), error)


@pytest.mark.thorough
@pytest.mark.parametrize("sides", ["object", "both"])
def test_sampled_hits_are_those_of_the_full_counts(shared, sides):
    """GraIL's NELL v1, 49 negatives for each positive without replacement, 20 seeds; scores without ties."""
    dataset = kg.read_dataset(shared / "data" / "formats" / "grail-nell_v1" / "nell_v1_ind")
    rng = np.random.default_rng(0)
    n, m = len(dataset.entities), len(dataset.relations)
    train = np.concatenate([dataset[split].array for split in dataset.splits])
    degrees = np.bincount(train[:, [0, 2]].ravel(), minlength=n)
    table = rng.normal(size=(n, m, n)) + np.log1p(degrees)[:, None, None] + np.log1p(degrees)
    check_samples(dataset, lambda s, p, o: table[s, p, o], 49, sides, 20)


@pytest.mark.thorough
def test_sampled_hits_of_fb15k_237(shared):
    """ComplEx on FB15k-237, 500 negatives for each side of each positive, one seed."""
    dataset = kg.read_dataset(shared / "data" / "fb15k-237")
    file = shared / "data" / "models" / "fb15k-237-complex.npz"
    model = kg.load_model(file, dataset, model="complex", layout="halves", inverse_relations="after")
    check_samples(dataset, model, 500, "both", 1)
