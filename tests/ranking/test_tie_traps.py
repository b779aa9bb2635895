"""Traps that real evaluators fell into (C1-7, C9, C11-15 of the list): ranking and ties."""

import itertools

import numpy as np
import pytest
from grids import light, size
from oracle import rank_counts
from trap_cases import (
    COUNTS,
    KINDS,
    ROWS,
    SCORERS,
    Geometry,
    Listed,
    Matrix,
    counts,
    one_query,
    random_graph,
    run,
)

import kgeval as kg
from kgeval.results.evaluation_result import metric_cautions

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


EVERY_NUMBER = {**ROWS, "listed": Listed}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", range(5))
@pytest.mark.light(7)
def test_c01_constant_scorer_is_chance_wherever_the_positive_stands(kind, place):
    """Five tie: rank 1, 3 or 5 by policy; E[1/rank] = (1 + 1/2 + 1/3 + 1/4 + 1/5) / 5 = 137/300."""
    result = one_query([0.5] * 5, place, kind=kind)
    ranks = {ties: result[f"{ties}.mr"] for ties in ("optimistic", "realistic", "pessimistic", "expected")}
    assert ranks == {"optimistic": 1.0, "realistic": 3.0, "pessimistic": 5.0, "expected": 3.0}
    assert result["expected.mrr"] == pytest.approx(137 / 300, abs=1e-15)
    assert result.chance("mrr").value == pytest.approx(137 / 300, abs=1e-15)
    assert (result["mrr"], result["hits@1"], result["expected.hits@1"]) == (1 / 3, 0.0, pytest.approx(0.2))
    assert (result["amri"], result.tie_rate) == (0.0, 1.0)


def test_c01_a_constant_scorer_is_said_aloud():
    """A tie rate of 100% is a warning and a note of the result."""
    with pytest.warns(kg.KgevalWarning, match=r"^100\.0% of the positives tie with a rival"):
        result = one_query([0.5] * 5, 0)
    assert [note[:34] for note in result.notes] == ["100.0% of the positives tie with a"]


@pytest.mark.parametrize("kind", KINDS)
def test_c02_a_tie_counts_the_same_wherever_the_positive_stands(kind):
    """One score above, three equal, one below: better 1, tied 2 in each of the 20 orders, at each place."""
    orders = sorted(set(itertools.permutations([2.0, 1.0, 1.0, 1.0, 0.0])))
    assert len(orders) == 20
    table = np.array(orders).reshape(5, 4, 5)  # an order for each subject and relation
    test = np.argwhere(table == 1.0)
    result = run(KINDS[kind](table), kg.Dataset.from_arrays(test=test, n_entities=5, n_relations=4), sides="object")
    assert counts(result) == [(1, 2, 4)] * 60
    alone = orders[:: size(7, 1)]  # and each in an evaluation of its own (a few of them in the light suite)
    for order in alone:
        places = [place for place in range(5) if order[place] == 1.0]
        assert counts(one_query(order, places, kind=kind)) == [(1, 2, 4)] * 3


@pytest.mark.parametrize("n", [9, 10, 20])
def test_c02_many_positives_of_one_query_tie_alike(n):
    """All n answers of one query are tested and tie, with one rival above: better 1, tied n - 1 for each."""
    assert counts(one_query([1.0] * n + [2.0, 0.0], range(n))) == [(1, n - 1, n + 1)] * n


@pytest.mark.parametrize(
    ("ties", "two_way", "three_way"),
    [
        ("optimistic.", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ("pessimistic.", [2.0, 0.5, 0.0], [3.0, 1 / 3, 0.0]),
        ("realistic.", [1.5, 2 / 3, 0.0], [2.0, 0.5, 1.0]),
        ("expected.", [1.5, 0.75, 0.5], [2.0, 11 / 18, 2 / 3]),
        ("", [1.5, 2 / 3, 0.0], [2.0, 0.5, 1.0]),
    ],
)
def test_c03_one_tie_policy_holds_for_every_metric_and_is_named(ties, two_way, three_way):
    """A tie at the top is rank 1 or 2 (or 3): a policy takes one, their mean, or the mean of the metric."""
    two, three = one_query([2.0, 2.0, 1.0, 0.0], 0), one_query([2.0, 2.0, 2.0, 0.0], 0)
    assert [two[f"{ties}{metric}"] for metric in ("mr", "mrr", "hits@1")] == pytest.approx(two_way)
    assert [three[f"{ties}{metric}"] for metric in ("mr", "mrr", "hits@2")] == pytest.approx(three_way)


class Drifting:
    """The same score for all, moved by `step` at each call, as another code path would give it."""

    def __init__(self, step):
        self.step, self.calls = step, 0

    def score_objects(self, s, p):
        self.calls += 1
        return np.full((len(s), 6), 1.0 + self.calls * self.step)


def drift_dataset():
    """Six entities, six queries of one positive each."""
    return kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 6] for i in range(6)], n_entities=6, n_relations=1)


@pytest.mark.parametrize("n_queries", [1, 4, None])
def test_c04_the_positive_is_scored_with_its_rivals(n_queries):
    """Each call adds one unit in the last place; within a row all five rivals still tie; a note says so."""
    result = run(Drifting(2.0**-52), drift_dataset(), sides="object", n_queries=n_queries)
    assert counts(result) == [(0, 5, 5)] * 6
    assert "scores in a first call and in a second, equal call differ by up to" in result.notes[0]


def test_c04_a_triple_that_scores_differently_twice_is_refused():
    """A drift of 10% is no rounding: an error, with the triple and both scores."""
    with pytest.raises(
        kg.ScoreError, match=r"\('0', '0', \?\) with candidate '0' got the score 1\.1 in a first call and 1\.2 in a s"
    ):
        run(Drifting(0.1), drift_dataset(), sides="object")


@pytest.mark.parametrize("geometry", ["dot", "l1", "l2", "modulus"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.light(4)
def test_c04_equal_embeddings_tie_exactly(geometry, dtype):
    """All 40 entities have one vector: all 39 rivals tie with the positive, however screened or blocked."""
    rng = np.random.default_rng(4)
    model = Geometry(np.zeros((40, 1, 40)))
    model.geometry = geometry
    queries = rng.normal(size=(40, 38))
    entities = np.repeat(rng.normal(size=(1, 38)), 40, axis=0).astype(dtype)
    model.query_vectors = lambda side, given, relation: queries[given]
    model.candidate_vectors = lambda side: entities
    test = [[i, 0, (7 * i + 3) % 40] for i in range(40)]
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1], [3, 0, 9]], test=test, n_entities=40, n_relations=1)
    result = run(model, dataset, sides="object", n_candidates=16, n_queries=7)
    assert counts(result) == [(0, 39, 39)] * 40
    assert counts(result, "filtered") == [(0, 39 - (i in (0, 3)), 39 - (i in (0, 3))) for i in range(40)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("value", [0.375, 1e-6, 1000.0])
@pytest.mark.light(9)
def test_c05_neighbouring_floats_do_not_tie(kind, dtype, value):
    """Next float up: better; next float down: neither; the same float: tied."""
    x = dtype(value)
    scores = [x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(-np.inf)), x, dtype(-1)]
    assert counts(one_query(np.array(scores, dtype=dtype), [0, 3], kind=kind)) == [(1, 1, 4)] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_c05_small_scores_are_not_all_equal(kind):
    """1e-6 and 9e-6 differ, though a tolerance of 1e-5 would tie them."""
    assert counts(one_query([1e-6, 9e-6, 5e-6, 0.0], [0, 1, 2], kind=kind)) == [
        (2, 0, 3),
        (0, 0, 3),
        (1, 0, 3),
    ]


def table_with_nan(candidate):
    """Nine queries (i, 0, ?) with answer i + 1, and one NaN in the third, which the probe does not see."""
    table = np.arange(81, dtype=np.float64).reshape(9, 1, 9)
    table[2, 0, candidate] = np.nan
    test = [[i, 0, (i + 1) % 9] for i in range(9)]
    return table, kg.Dataset.from_arrays(test=test, n_entities=9, n_relations=1)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("candidate", [3, 5], ids=["positive", "rival"])
def test_c06_nan_is_an_error_that_names_query_and_candidate(kind, candidate):
    """A NaN loses every comparison, so it would put a positive first and take a rival away."""
    table, dataset = table_with_nan(candidate)
    where = rf"gave NaN for \('2', '0', \?\) with candidate '{candidate}' \(NaN scores: 1 of the 81 scores of 9 qu"
    with pytest.raises(kg.ScoreError, match=where):
        run(KINDS[kind](table), dataset, sides="object")


def test_c06_nan_in_a_table_of_scores_is_an_error():
    """The triple is named, and its row: 9 candidates of each of the first two queries, then 0 to 5."""
    table, dataset = table_with_nan(5)
    with pytest.raises(
        kg.ScoreError, match=r"^scores, row 23: \('2', '0', '5'\) has score NaN; a NaN cannot be ranked"
    ):
        run(Listed(table), dataset, sides="object")


def test_c06_nan_in_a_query_vector_is_an_error():
    """The query is named, although the probe did not see it."""
    table, dataset = table_with_nan(5)
    with pytest.raises(kg.ScoreError, match=r"the vector of query \('2', '0', \?\) is not finite"):
        run(Geometry(table), dataset, sides="object")


@pytest.mark.parametrize("entity", [2, 396], ids=["positive", "rival"])
def test_c06_nan_in_an_embedding_is_an_error(entity):
    """The entity is named; of 400 it is not among the 256 probed ones, and 2 is the answer of (1, 0, ?)."""
    vectors = np.ones((400, 4))
    vectors[entity, 1] = np.nan
    test = [[i, 0, i + 1] for i in range(9)]
    dataset = kg.Dataset.from_arrays(test=test, n_entities=400, n_relations=1)
    with pytest.raises(kg.ScoreError, match=rf"the vector of entity '{entity}' is not"):
        run(kg.models.DistMult(vectors, np.ones((1, 4))), dataset, sides="object")


@pytest.mark.parametrize("kind", EVERY_NUMBER)
def test_c07_minus_infinity_is_a_score_and_no_mask(kind):
    """Positive 1 scores -inf like rival 4; 2 and 3 are known, 0 is above.

    Raw: 0, 2, 3 better, 4 tied, of 4. Filtered, without 2 and 3: 0 better, 4 tied, of 2; masks would tie.
    """
    inf = np.inf
    result = one_query([1.0, -inf, 5.0, 6.0, -inf], 1, known=(2, 3), kind=kind)
    assert (counts(result), counts(result, "filtered")) == ([(3, 1, 4)], [(1, 1, 2)])
    assert result.notes[-1] == "1 positive has an infinite score; infinities are ranked as numbers and tie"


@pytest.mark.parametrize("kind", EVERY_NUMBER)
def test_c07_plus_infinity_counts_among_the_candidates(kind):
    """Positive 1 scores +inf like 2 (known) and 4: none better; 2 and 4 tied of 4, filtered only 4 of 3."""
    inf = np.inf
    result = one_query([1.0, inf, inf, -inf, inf], 1, known=(2,), kind=kind)
    assert (counts(result), counts(result, "filtered")) == ([(0, 2, 4)], [(0, 1, 3)])


@pytest.mark.parametrize("kind", EVERY_NUMBER)
@pytest.mark.parametrize(("dtype", "score"), [(np.float16, 2**12), (np.float32, 2**25), (np.float64, 2**54)])
@pytest.mark.light(5)
def test_c08_filtered_answers_do_not_tie_with_a_huge_score(kind, dtype, score):
    """The positive scores x, and x - 1 == x: known answers put to x - 1 would tie. Known 2 and 3 score 2 x and 4 x.

    Raw, of 4 rivals, 2 are better; filtered, none of 2.
    """
    scores = np.array([0.0, score, 2 * score, 4 * score, score / 2], dtype=dtype)
    assert scores[1] - dtype(1) == scores[1]
    result = one_query(scores, 1, known=(2, 3), kind=kind)
    assert (counts(result), counts(result, "filtered")) == ([(2, 0, 4)], [(0, 0, 2)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", light(range(5), 1))
def test_c09_renaming_entities_never_changes_counts(kind, seed):
    """Entity e becomes new[e] in triples and scores: every count of every triple stays."""
    splits, table, rng = random_graph(seed)
    new = rng.permutation(12)
    old = np.argsort(new)
    renamed = {name: np.column_stack([new[t[:, 0]], t[:, 1], new[t[:, 2]]]) for name, t in splits.items()}
    before = run(KINDS[kind](table), kg.Dataset.from_arrays(**splits, n_entities=12, n_relations=2))
    moved = table[old][:, :, old]
    after = run(KINDS[kind](moved), kg.Dataset.from_arrays(**renamed, n_entities=12, n_relations=2))
    assert before.tie_rate > 0.5
    assert after.table[COUNTS].to_numpy().tolist() == before.table[COUNTS].to_numpy().tolist()


@pytest.mark.parametrize("kind", EVERY_NUMBER)
@pytest.mark.parametrize("n", [5, 10], ids=["few", "many"])
@pytest.mark.parametrize(
    ("dtype", "lowest"),
    [("int64", 2**53), ("uint64", 2**64 - 10), ("uint8", 0), ("int8", -128), ("int64", -(2**63))],
)
@pytest.mark.light(14)
def test_c11_integer_scores_are_compared_as_they_are(kind, n, dtype, lowest):
    """Scores lowest, lowest + 1, ... are distinct; a float would round, a difference or a sign wrap them."""
    scores = np.array([lowest + i for i in range(n)], dtype=dtype)
    result = one_query(scores, range(n), kind=kind, filter=())
    assert counts(result) == [(n - 1 - i, 0, n - 1) for i in range(n)]
    assert [int(score) for score in result.table["score"]] == [lowest + i for i in range(n)]


@pytest.mark.parametrize("kind", KINDS)
def test_c12_ranks_start_at_1_and_the_mrr_is_a_mean_of_reciprocals(kind):
    """Ranks 1, 2, 4, 5 of 5: MR 3, MRR (1 + 1/2 + 1/4 + 1/5) / 4 = 0.4875 and not 1/MR; hits@1 1/4."""
    result = one_query([9.0, 8.0, 7.0, 6.0, 5.0], [0, 1, 3, 4], kind=kind)
    assert [result[f"raw.{metric}"] for metric in ("mr", "mrr", "hits@1", "hits@4")] == [
        3.0,
        0.4875,
        0.25,
        0.75,
    ]
    assert (result["raw.median_rank"], result["raw.hmr"]) == (3.0, pytest.approx(1 / 0.4875))


def test_c12_a_perfect_scorer_reaches_1_and_no_more():
    """Every rank is 1, on both sides and two splits: each metric is 1, over all four ranks."""
    splits = {"valid": [[0, 0, 1]], "test": [[2, 0, 3]]}
    table = np.zeros((4, 1, 4))
    table[0, 0, 1] = table[2, 0, 3] = 1.0
    dataset = kg.Dataset.from_arrays(**splits, n_entities=4, n_relations=1)
    result = run(Matrix(table), dataset, splits=("valid", "test"))
    assert len(result.table) == 4
    for metric in ("mr", "gmr", "hmr", "median_rank", "mrr", "hits@1", "amri"):
        assert (metric, result[metric]) == (metric, 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("filter", "in_train", "rivals"),
    [
        (("train",), False, 3),
        (("train",), True, 3),
        (("test",), True, 4),
        (("train", "test"), True, 3),
        ((), True, 4),
    ],
)
@pytest.mark.light(13)
def test_c13_the_answer_is_not_its_own_rival(kind, filter, in_train, rivals):
    """The positive beats all and ties with none, whether or not the filter holds it (in train, test or both).

    Of its 4 rivals, object 2 is an answer in train.
    """
    known = (1, 2) if in_train else (2,)
    result = one_query([0.0, 9.0, 8.0, 1.0, 1.0], 1, known=known, kind=kind, filter=filter)
    assert (counts(result), counts(result, "filtered")) == ([(0, 0, 4)], [(0, 0, rivals)])
    assert (result["pessimistic.hits@1"], result["pessimistic.mr"]) == (1.0, 1.0)


BATCHINGS = [{"n_queries": size, "threads": 2} for size in (1, 2, 7, 1000)]
BATCHINGS += [{"n_queries": 5, "n_candidates": size} for size in (1, 3, 11, 1000)]
BATCHINGS += [{"n_pairs": size} for size in (1, 7, 12, 100)] + [{"n_queries": 3, "threads": 3}]


@pytest.fixture(scope="module")
def counted_by_loops():
    """A random graph, its table of scores, and the counts of each side by the loop-only oracle."""
    splits, table, _ = random_graph(14)
    known = {tuple(map(int, row)) for split in splits.values() for row in split}
    wanted = {}
    for side in ("subject", "object"):
        rows = rank_counts(lambda s, p, o: table[s, p, o], splits["test"].tolist(), known, range(12), side)
        wanted[side] = [{name: row[name] for name in COUNTS} for row in rows]
    return kg.Dataset.from_arrays(**splits, n_entities=12, n_relations=2), table, wanted


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("options", BATCHINGS, ids=str)
@pytest.mark.light(13)
def test_c14_batches_and_blocks_never_change_counts(counted_by_loops, kind, options):
    """Counts equal those of the loop-only oracle for batches of 1, 2, a prime and more than there are."""
    dataset, table, wanted = counted_by_loops
    result = run(KINDS[kind](table), dataset, **options)
    for side, records in wanted.items():
        rows = result.table[result.table["side"] == side]
        assert rows[COUNTS].to_dict("records") == records


def test_c15_hits_at_k_is_trivial_only_where_all_candidates_fit():
    """The positive is last of 4: with 3 rivals hits@3 is a miss, hits@4 and beyond true by definition."""
    result = one_query([3.0, 2.0, 1.0, 0.0], 3)
    assert [result[f"hits@{k}"] for k in (1, 3, 4, 10)] == [0.0, 0.0, 1.0, 1.0]
    undefined = result.value("adjusted(hits@4)")
    assert np.isnan(undefined.value)
    assert undefined.reason == "random ranking already gives the best value of hits@4: 0 / 0"


def test_c15_a_trivial_hits_at_k_is_flagged():
    """Candidates are rivals + 1: of 3, 4, 5 and 6 candidates, two have at most 4."""
    said = "hits@4 is 1 by definition for 50.0% of the ranks (4 candidates or fewer)"
    assert kg.metrics.Hits(4).caution(np.array([2, 3, 4, 5])) == said
    assert kg.metrics.Hits(4).caution(np.array([4, 5])) == ""
    result = one_query([3.0, 2.0, 1.0, 0.0, 0.0], [0, 4], known=(2,))
    assert metric_cautions(result, ["mr", "hits@2", "hits@3"]) == [
        "hits@3 is 1 by definition for 100.0% of the ranks (3 candidates or fewer)"
    ]
