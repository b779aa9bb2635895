"""Traps of real evaluators (C16-18, C22, C24-26, C28, C32): filters, keys, unseen entities and means."""

import math

import numpy as np
import pandas as pd
import pytest
from grids import light
from oracle import rank_counts
from trap_cases import COUNTS, KINDS, SCORERS, Matrix, counts, one_query, random_graph, run

import kgeval as kg
from kgeval.data.known import KnownIndex
from kgeval.data.queries import query_parts
from kgeval.data.row_keys import group_rows
from kgeval.results.evaluation_result import header_lines

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


@pytest.mark.parametrize("kind", light(KINDS, 2))
@pytest.mark.parametrize(
    ("filter", "better"),
    [
        ((), 3),
        (("train",), 2),
        (("valid",), 2),
        (("test",), 2),
        (("train", "valid"), 1),
        (("train", "test"), 1),
        (("train", "valid", "test"), 0),
        (None, 0),
    ],
)
def test_c16_the_filter_holds_the_declared_splits(kind, filter, better):
    """Above the positive 1 stand 2 of train, 3 of valid and 4 of test: each declared split takes one away."""
    table = np.zeros((5, 1, 5))
    table[0, 0] = [0.0, 1.0, 2.0, 3.0, 4.0]
    splits = {"train": [[0, 0, 2]], "valid": [[0, 0, 3]], "test": [[0, 0, 1], [0, 0, 4]]}
    dataset = kg.Dataset.from_arrays(**splits, n_entities=5, n_relations=1)
    result = run(KINDS[kind](table), dataset, sides="object", filter=filter)
    assert counts(result)[0] == (3, 0, 4)
    assert counts(result, "filtered")[0] == (better, 0, better + 1)
    wanted = ("train", "valid", "test") if filter is None else filter
    assert result.protocol.filter == wanted
    assert f"filtered by {'+'.join(wanted) or 'nothing'}," in header_lines(result)[1]


def test_c16_filters_of_different_splits_are_different_protocols():
    """Numbers with and without test in the filter must not pass for each other."""
    some, every = (kg.Protocol(filter=splits) for splits in (("train", "valid"), ("train", "valid", "test")))
    assert some != every
    assert some.fingerprint != every.fingerprint


def fathers():
    """A father B, B father C; and B likes A; entity D is in nothing that is ranked."""
    facts = [["A", "father", "B"], ["B", "father", "C"], ["B", "likes", "A"], ["D", "likes", "D"]]
    return kg.Dataset.from_frames(test=pd.DataFrame(facts))


@pytest.mark.parametrize(
    ("triple", "side", "wanted"),
    [
        (("B", "father", "C"), "object", ["A", "B", "D"]),
        (("B", "father", "C"), "subject", ["A", "C", "D"]),
        (("A", "father", "B"), "object", ["A", "C", "D"]),
        (("A", "father", "B"), "subject", ["B", "C", "D"]),
        (("B", "likes", "A"), "object", ["B", "C", "D"]),
    ],
)
def test_c17_the_filter_keeps_sides_and_relations_apart(triple, side, wanted):
    """No other fact answers these queries, so all but the answer are negatives.

    A key (B, father) without side would take A from (B, father, ?); one without relation would too.
    """
    assert kg.negatives(fathers(), triple, side) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_c17_ranks_keep_sides_and_relations_apart(kind):
    """Each of the four facts has 3 rivals on each side, filtered as raw."""
    result = run(KINDS[kind](np.zeros((4, 2, 4))), fathers())
    assert result.table["rivals_filtered"].tolist() == [3] * 8
    assert result.table["tied_filtered"].tolist() == [3] * 8


@pytest.mark.parametrize("kind", KINDS)
def test_c18_a_positive_that_the_filter_lacks_is_filtered_all_the_same(kind):
    """Object 1 is not in train, 2 and 3 are and stand above: filtered, only 4 is better, of 0 and 4."""
    options = {"known": (2, 3), "kind": kind, "filter": ("train",)}
    assert counts(one_query([0.0, 1.0, 2.0, 3.0, 4.0], 1, **options), "filtered") == [(1, 0, 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_c18_a_query_that_the_filter_lacks_is_ranked_raw(kind):
    """Train answers (1, 0, ?), (0, 2, ?) and (1, 2, ?): ids of the queries asked, but none of these."""
    table = np.tile([0.0, 1.0, 2.0], (3, 3, 1))
    splits = {"train": [[1, 0, 2], [0, 2, 2], [1, 2, 2]], "test": [[0, 0, 1], [2, 0, 1], [1, 1, 1]]}
    dataset = kg.Dataset.from_arrays(**splits, n_entities=3, n_relations=3)
    result = run(KINDS[kind](table), dataset, sides="object", filter=("train",))
    assert counts(result, "filtered") == [(1, 0, 2)] * 3


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("seed", light(range(5), 1))
@pytest.mark.parametrize("options", [{}, {"n_candidates": 2}], ids=str)
def test_c22_a_part_of_the_entities_is_scored_by_id_not_by_place(kind, seed, options):
    """Train lacks entities 0, 4 and 9, so with unseen="drop" place and id differ; as the oracle counts."""
    seen = [1, 2, 3, 5, 6, 7, 8, 10, 11]
    splits, table, rng = random_graph(seed)
    table += rng.permutation(12) / 16
    splits["train"] = np.array(seen)[rng.integers(0, 9, size=(40, 3))]
    splits["train"][:, 1] %= 2
    splits["train"][:9, 0] = seen
    dataset = kg.Dataset.from_arrays(**splits, n_entities=12, n_relations=2)
    result = run(KINDS[kind](table), dataset, unseen="drop", **options)
    test = [row for row in splits["test"].tolist() if row[0] in seen and row[2] in seen]
    assert 0 < len(test) < 15
    known = {tuple(row) for split in splits.values() for row in split.tolist()}
    for side in ("subject", "object"):
        wanted = rank_counts(lambda s, p, o: table[s, p, o], test, known, seen, side)
        rows = result.table[result.table["side"] == side]
        names = ["score", *COUNTS]
        assert rows[names].to_dict("records") == [{name: row[name] for name in names} for row in wanted]


@pytest.mark.parametrize(
    ("one", "other", "n_entities", "n_relations"),
    [
        ((1, 0, 0), (0, 1, 0), 2**16, 2**16 + 1),
        ((0, 2**16, 5), (0, 0, 5), 2**16, 2**16 + 1),
        ((0, 0, 5), (0, 1, 1), 8, 2),
        ((1, 0, 0), (0, 1, 2), 4, 2),
    ],
    ids=["h R E + r E + t, 32 bits", "r E + t, 32 bits", "r R^2 + h E + t", "h E + r R + t"],
)
def test_c24_distinct_triples_never_share_a_key(one, other, n_entities, n_relations):
    """Each pair has equal keys by a formula once in use (for 32 bits modulo 2**32); nothing repeats here."""
    sizes = {"n_entities": n_entities, "n_relations": n_relations}
    assert kg.Dataset.from_arrays(test=[one, other], **sizes).duplicates == {"test": 0}
    apart = kg.Dataset.from_arrays(train=[one], test=[other], **sizes)
    assert apart.overlaps == {("train", "test"): 0}


def test_c24_filter_keys_do_not_wrap_at_32_bits():
    """(5, 0, ?) and (5, 2**16, ?) with 2**16 entities: r E + h is 5 and 2**32 + 5, one key in 32 bits.

    Train answers the first with 1, 2, 3 and the second with 4.
    """
    n, far = 2**16, 2**16
    train = [[5, 0, 1], [5, 0, 2], [5, 0, 3], [5, far, 4]]
    dataset = kg.Dataset.from_arrays(train=train, test=[[5, 0, 7], [5, far, 8]], n_entities=n, n_relations=far + 1)
    result = run(lambda s, p, o: o, dataset, sides="object")
    assert counts(result) == [(n - 8, 0, n - 1), (n - 9, 0, n - 1)]
    assert counts(result, "filtered") == [(n - 8, 0, n - 4), (n - 9, 0, n - 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [((0, 7), (2**24, 7)), ((0, 2**53), (0, 2**53 + 1)), ((1, 0), (0, 2**40)), ((2**62, 0), (2**62, 2**62))],
    ids=["64 bits", "53 bits", "one digit", "the largest"],
)
def test_c24_filter_keys_do_not_wrap_at_64_bits(one, other):
    """(relation, given) pairs whose key relation * 2**40 + given is equal modulo 2**64, or as a float."""
    triples = np.array([[one[1], one[0], 11], [other[1], other[0], 22], [other[1], other[0], 33]])
    index = KnownIndex.of(*query_parts(triples, "object"))
    relation, given = np.array([one, other, one]).T
    offsets, answers = index.lookup(relation, given)
    assert (offsets.tolist(), answers.tolist()) == ([0, 1, 3, 4], [11, 22, 33, 11])
    assert index.contains(relation, given, np.array([22, 22, 11])).tolist() == [False, True, True]
    order, starts = group_rows(relation[:2], given[:2])
    assert (sorted(order.tolist()), starts.tolist()) == ([0, 1], [0, 1, 2])


def unseen_dataset():
    """Train knows entities 0, 1, 2 and relation 0; one test triple names entity 3, one relation 1."""
    splits = {"train": [[0, 0, 1], [1, 0, 2]], "test": [[0, 0, 2], [3, 0, 1], [0, 1, 2]]}
    return kg.Dataset.from_arrays(**splits, n_entities=5, n_relations=2)


DROPPED = {"an entity or relation that train lacks (unseen='drop')": 4}


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize(
    ("unseen", "subjects", "objects", "dropped"),
    [
        ("rank", [(0, 4, 4)] * 3, [(0, 4, 4)] * 3, {}),
        ("drop", [(0, 2, 2)], [(0, 2, 2)], DROPPED),
        ("worst", [(0, 2, 4), (4, 0, 4), (4, 0, 4)], [(0, 2, 4), (4, 0, 4), (4, 0, 4)], {}),
    ],
)
@pytest.mark.light(6)
def test_c25_unseen_triples_are_counted_under_every_policy(kind, unseen, subjects, objects, dropped):
    """A constant scorer, raw: among all 5 entities, among the 3 of train, or last among all.

    6 (triple, side) rows are read: ranked and dropped ones add up to them.
    """
    dataset = unseen_dataset()
    assert dataset.unseen == {"test": {"triples": 2, "entities": 1, "relations": 1}}
    result = run(KINDS[kind](np.zeros((5, 2, 5))), dataset, unseen=unseen)
    assert counts(result) == subjects + objects
    assert (result.dropped, result.facts["n_read"], result.facts["n_unseen"]) == (dropped, 6, 2)
    assert header_lines(result)[0].endswith(
        f"; 2 triples with unseen entities or relations, {sum(dropped.values())} dropped"
    )
    assert "2 triples of test contain 1 entity and 1 relation that do not occur in train" in "\n".join(
        header_lines(result)
    )


def test_c25_unseen_triples_may_be_refused():
    """With unseen="error" the first is named; where all are unseen, dropping leaves nothing to rank."""
    with pytest.raises(
        kg.DataError, match=r"^2 triples to rank contain .* not occur in train, first \('3', '0', '1'\);"
    ):
        run(lambda s, p, o: s, unseen_dataset(), unseen="error")
    splits = {"train": [[0, 0, 1]], "test": [[0, 0, 2]]}
    dataset = kg.Dataset.from_arrays(**splits, n_entities=3, n_relations=1)
    with pytest.raises(kg.DataError, match="^no triple is left to rank: all 1 contain an entity or relation"):
        run(lambda s, p, o: s, dataset, unseen="drop")


@pytest.mark.parametrize(
    ("name", "n_test", "triples", "entities"), [("wn18rr", 3134, 210, 209), ("fb15k-237", 20466, 28, 29)]
)
def test_c25_unseen_counts_of_public_benchmarks(shared, name, n_test, triples, entities):
    """ConvE#20 and pykeen#910 count 210 and 28 test triples (20,438 of FB15k-237 stay); dropped, not lost."""
    dataset = kg.read_dataset(shared / "data" / name)
    assert dataset.unseen["test"] == {"triples": triples, "entities": entities, "relations": 0}
    vectors = np.random.default_rng(25).normal(size=(len(dataset.entities), 2))
    model = kg.models.DistMult(vectors, np.ones((len(dataset.relations), 2)))
    result = run(model, dataset, sides="object", unseen="drop")
    assert (len(result.table), sum(result.dropped.values()), result.facts["n_read"]) == (
        n_test - triples,
        triples,
        n_test,
    )
    train = np.asarray(dataset["train"])
    n_seen = len(np.unique(train[:, [0, 2]]))
    assert result.table["rivals_raw"].unique().tolist() == [n_seen - 1]


def test_c26_duplicates_and_overlaps_are_counted_and_filter_once():
    """Repeated rows are said, ranked, and filtered once: of (0, 0, ?) with answers 1, 2, 3 only 0 is left."""
    splits = {"train": [[0, 0, 1], [0, 0, 2], [0, 0, 1]], "test": [[0, 0, 1], [0, 0, 3], [0, 0, 3]]}
    dataset = kg.Dataset.from_arrays(**splits, n_entities=4, n_relations=1)
    assert (dataset.duplicates, dataset.overlaps) == ({"train": 1, "test": 1}, {("train", "test"): 1})
    said = ["1 duplicate row in train", "1 duplicate row in test", "1 row of test also in train"]
    assert dataset.observations()[:3] == said
    table = np.zeros((4, 1, 4))
    table[0, 0] = [5.0, 4.0, 3.0, 2.0]
    for scorer in (kind(table) for kind in KINDS.values()):
        result = run(scorer, dataset, sides="object")
        assert counts(result) == [(1, 0, 3), (3, 0, 3), (3, 0, 3)]
        assert counts(result, "filtered") == [(1, 0, 1)] * 3
        assert [line.removeprefix("dataset: ") for line in header_lines(result)[2:5]] == said


@pytest.mark.parametrize("n_queries", [1, 2, 3, None])
def test_c28_the_mean_is_over_ranks_not_over_batches(n_queries):
    """Ranks 1, 1, 1, 1, 6 in five queries: MR 2; batches of two would give (1 + 1 + 6) / 3."""
    table = np.zeros((6, 1, 6))
    table[range(4), 0, range(4)] = 1.0
    table[4, 0, :] = [1, 1, 1, 1, 0, 1]
    dataset = kg.Dataset.from_arrays(test=[[i, 0, i] for i in range(5)], n_entities=6, n_relations=1)
    result = run(Matrix(table), dataset, sides="object", n_queries=n_queries)
    assert (result["mr"], result["mrr"]) == (2.0, pytest.approx((4 + 1 / 6) / 5, abs=1e-15))


@pytest.mark.parametrize(("rank", "n"), [(151, 200_000), (2**24 + 1, 1), (2**31, 3)])
def test_c28_sums_are_exact(rank, n):
    """The mean of equal ranks is the rank; 200,000 times 151 in float32 gives 30,288,892, not 30,200,000."""
    counts = [np.full(n, count, dtype=np.int64) for count in (rank - 1, 0, 2**32)]
    assert kg.metrics.MR().compute(*counts).value == rank
    assert kg.metrics.MRR().compute(*counts).value == pytest.approx(1 / rank, rel=1e-14)


def test_c28_expectations_are_summed_in_full_precision():
    """A constant scorer over n = 14,541 candidates: E[1/rank] = H(n) / n, added exactly by math.fsum."""
    n = 14_541
    counts = [np.array([count]) for count in (0, n - 1, n - 1)]
    found = kg.metrics.MRR().compute(*counts, ties="expected").value
    assert found == pytest.approx(math.fsum(1 / rank for rank in range(1, n + 1)) / n, rel=1e-14)
    assert found == pytest.approx(6.99e-4, rel=1e-3)


def sides_result():
    """Three relations, four test triples: subject ranks 1, 1, 1, 1; object ranks 1, 2, 2, 4 of 4."""
    table = np.zeros((4, 3, 4))
    test = [[0, 0, 0], [1, 1, 1], [2, 1, 2], [3, 2, 3]]
    table[0, 0], table[1, 1], table[2, 1], table[3, 2] = (
        [9, 1, 1, 1],
        [9, 8, 1, 1],
        [9, 1, 8, 1],
        [6, 6, 6, 5],
    )
    for s, p, o in test:
        table[np.arange(4) != s, p, o] = -1.0
    return run(Matrix(table), kg.Dataset.from_arrays(test=test, n_entities=4, n_relations=3))


def test_c32_both_is_the_mean_over_all_ranks():
    """Subject MRR 1, object (1 + 1/2 + 1/2 + 1/4) / 4 = 9/16: both 25/32, their mean as counts agree.

    The geometric mean does not average: 16 ** (1/8) over eight ranks, against (1 + 2) / 2 for the sides.
    """
    result = sides_result()
    assert [result[f"raw.{side}mrr"] for side in ("subject.", "object.", "")] == [1.0, 9 / 16, 25 / 32]
    gmr = [result[f"raw.{side}gmr"] for side in ("subject.", "object.", "both.")]
    assert gmr == pytest.approx([1.0, 2.0, 2**0.5], abs=1e-15)
    assert result.summary(["mrr"]).loc[("raw", "both")].tolist() == [8, 25 / 32, ""]


def test_c32_macro_by_relation_is_a_third_number():
    """Per relation (1 + 1)/2, (1 + 1 + 1/2 + 1/2)/4, (1 + 1/4)/2: their plain mean is 19/24, not 25/32."""
    by = sides_result().by("relation", metrics=["mrr"], setting="raw")
    assert by["mrr"].to_dict() == {"1": 0.75, "0": 1.0, "2": 0.625}
    assert by["n"].to_dict() == {"1": 4, "0": 2, "2": 2}
    assert by["mrr"].mean() == pytest.approx(19 / 24, abs=1e-15)
    assert np.average(by["mrr"], weights=by["n"]) == 25 / 32


def test_c32_both_weighs_ranks_where_sides_have_unequal_counts():
    """Listed: object ranks 2 and 4; subject rank 1 of (a, r, b), and no negative of (c, r, d): dropped.

    Both sides: (1 + 1/2 + 1/4) / 3 = 7/12, not the mean of 1 and 3/8.
    """
    scores = {"arb": 0.5, "ara": 0.9, "are": 0.1, "drb": 0.1, "crd": 0.5, "cra": 0.9, "crc": 0.8, "cre": 0.7}
    rows = [[*triple, score] for triple, score in scores.items()]
    dataset = kg.Dataset.from_frames(train=pd.DataFrame([list("ere")]), test=pd.DataFrame([list("arb"), list("crd")]))
    table = pd.DataFrame(rows, columns=["s", "p", "o", "score"])
    result = kg.evaluate_scores(table, dataset, kg.Protocol(sides="both"))
    assert [result[f"{side}mrr"] for side in ("subject.", "object.", "")] == [
        1.0,
        3 / 8,
        pytest.approx(7 / 12),
    ]
    assert (len(result.table), result.facts["n_read"], list(result.dropped.values())) == (3, 4, [1])


def test_c32_amri_of_both_sides_is_over_all_rivals():
    """AMRI = 1 - 2 sum(rank - 1) / sum(rivals): 1 - 2 * 5 / 24 raw.

    Filtered, of (0, 0, ?) object 1 of train leaves: subject 1 - 0, object 1 - 2 / 1, both 1 - 2 / 3, not 0.
    """
    assert sides_result()["raw.amri"] == pytest.approx(1 - 10 / 24, abs=1e-15)
    table = np.zeros((3, 1, 3))
    table[0, 0] = [2.0, 3.0, 1.0]
    table[1:, 0, 2] = 0.5
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2]], n_entities=3, n_relations=1)
    result = run(Matrix(table), dataset)
    assert [result[f"{side}.amri"] for side in ("subject", "object")] == [1.0, -1.0]
    assert result["amri"] == pytest.approx(1 / 3, abs=1e-15)
