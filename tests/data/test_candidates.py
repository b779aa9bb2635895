"""Candidates as a value: pools of queries, of relations and of single positives, against the loops of oracle.py."""

import random

import numpy as np
import oracle
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.data.candidates import All, Candidates, Listed, Recorded, candidates_from_json
from kgeval.data.known import KnownIndex

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]


class ByRelation(Candidates):
    """A pool for each relation and side: what a type-aware protocol would say."""

    kind = "by_relation"

    def __init__(self, pools):
        self.of, self.digest = pools, str(pools)

    def pools(self, queries, entities):
        for relation in np.unique(queries.relation):
            pool = np.array(sorted(self.of[queries.side, int(relation)]))
            yield queries.take(np.flatnonzero(queries.relation == relation)), pool


class Each(Candidates):
    """A list for each positive, its answer included."""

    kind, digest = "each", "0123456789abcdef"

    def __init__(self, lists):
        self.of = lists

    def pools(self, queries, entities):
        queries = queries.one_each()
        for i in range(len(queries)):
            mine = self.of[queries.side][queries.rows[i]] & set(entities.tolist())
            yield queries.take(np.array([i])), np.array(sorted(mine))


def draw(seed):
    """A tiny graph, its dataset, a table of few distinct scores, and ways to score with it."""
    rng = random.Random(seed)
    n, m, splits = oracle.random_graph(rng)
    dataset = kg.Dataset.from_arrays(**{k: v or np.zeros((0, 3), int) for k, v in splits.items()}, n_entities=n,
                                     n_relations=m)  # fmt: skip
    table = np.array([[[rng.randrange(4) for _ in range(n)] for _ in range(m)] for _ in range(n)]) / 2
    vectors = np.array([[rng.randrange(-2, 3) for _ in range(3)] for _ in range(n)], dtype=float)
    weights = np.array([[rng.randrange(-2, 3) for _ in range(3)] for _ in range(m)], dtype=float)
    return rng, n, m, splits, dataset, table, kg.models.DistMult(vectors, weights)


def expected(score, splits, pool_of):
    """The rows of the rank table when positive i of a side competes with ``pool_of(side, i, triple)``."""
    known = {tuple(t) for rows in splits.values() for t in rows}
    rows = []
    for side in ("subject", "object"):
        for i, triple in enumerate(splits["test"]):
            (row,) = oracle.rank_counts(score, [triple], known, pool_of(side, i, triple), side)
            rows.append([row[name] for name in COUNTS])
    return rows


@pytest.mark.parametrize("kind", ["function", "vectors"])
def test_pools_of_relations_and_of_positives_are_ranked_as_the_oracle_does(kind):
    """On 60 graphs: every positive among the pool of its relation and side, and among a list of its own."""
    for seed in range(size(2, 60)):
        rng, n, m, splits, dataset, table, model = draw(seed)
        scorer = model if kind == "vectors" else lambda s, p, o, table=table: table[s, p, o]
        scores = table
        if kind == "vectors":
            s, p, o = np.indices((n, m, n)).reshape(3, -1)
            scores = model.score(s, p, o).reshape(n, m, n)

        def score(s, p, o, scores=scores):
            return float(scores[s, p, o])

        answers = {}
        for s, p, o in splits["test"]:
            answers.setdefault(("subject", p), set()).add(s)
            answers.setdefault(("object", p), set()).add(o)
        pools = {
            (side, p): answers.get((side, p), set()) | {e for e in range(n) if rng.random() < 0.5} | {0}
            for side in ("subject", "object")
            for p in range(m)
        }
        lists = {
            side: [{t[place]} | {e for e in range(n) if rng.random() < 0.4} for t in splits["test"]]
            for side, place in (("subject", 0), ("object", 2))
        }
        for candidates, pool_of in (
            (ByRelation(pools), lambda side, i, t, pools=pools: pools[side, t[1]]),
            (Each(lists), lambda side, i, t, lists=lists: lists[side][i]),
            (All(), lambda side, i, t, n=n: range(n)),
        ):
            result = kg.evaluate(scorer, dataset, kg.Protocol(candidates=candidates), progress=False)
            assert result.table[COUNTS].to_numpy().tolist() == expected(score, splits, pool_of), (seed, candidates.kind)


def test_an_answer_that_does_not_compete_is_an_error():
    """It names the first positive and its side."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
    candidates = Each({"object": [{1, 3}, {0, 3}], "subject": [{0}, {0}]})
    message = r"the answer of \('0', '0', '2'\), object side, is not a candidate of its query. The answer"
    with pytest.raises(kg.ProtocolError, match=message):
        kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="o", candidates=candidates), progress=False)


class Broken(All):
    """All entities, after something went wrong with the pools."""

    kind = "broken"

    def __init__(self, change):
        self.change, self.digest = change, "of a change"

    def pools(self, queries, entities):
        yield from self.change(queries, entities)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda q, e: [(q.part(0, 1), e)],
            r"pools\(\) must return each of the 3 positives of the object side exactly once",
        ),
        (lambda q, e: [(q, e), (q.part(0, 1), e)], "it returns 4 rows, 3 of them distinct"),
        (lambda q, e: [], "it returns 0 rows, 0 of them distinct"),
        (
            lambda q, e: [(q, e[::-1])],
            r"must hold sorted distinct ids in 0..4; got \[4 3 2 1 0\] for queries of the ob",
        ),
        (lambda q, e: [(q, np.append(e, 4))], r"must hold sorted distinct ids in 0..4; got \[0 1 2 3 4 4\]"),
        (lambda q, e: [(q, np.append(e, 5))], r"must hold sorted distinct ids in 0..4; got \[0 1 2 3 4 5\]"),
        (lambda q, e: [(q, e - 1)], r"must hold sorted distinct ids in 0..4; got \[-1  0  1  2  3\]"),
    ],
)
def test_pools_that_forget_or_repeat_are_refused(change, message):
    """A positive that no pool serves would rank first; one in two pools would count twice."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2], [2, 0, 3]], n_entities=5, n_relations=1)
    with pytest.raises(kg.ProtocolError, match=message):
        kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="o", candidates=Broken(change)), progress=False)


def test_worst_counts_the_rivals_of_the_pools():
    """Entity 4 and the triple that names it are unseen; pools hold {0, 1, 2, 4}, of which 2 is a known object of 0.

    (0, 0, 1) is ranked by the id of the object among 0 and 1: 4 is worse than any, 2 is known. (0, 0, 4) is last.
    """
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 2], [1, 0, 3]], test=[[0, 0, 1], [0, 0, 4]], n_entities=5, n_relations=1
    )
    pool = np.array([0, 1, 2, 4])
    candidates = Broken(lambda queries, entities: [(queries, np.intersect1d(pool, entities))])
    protocol = kg.Protocol(sides="o", unseen="worst", candidates=candidates)
    table = kg.evaluate(lambda s, p, o: -o, dataset, protocol, progress=False).table
    assert table[COUNTS].to_numpy().tolist() == [[1, 0, 3, 1, 0, 1], [3, 0, 3, 1, 0, 1]]
    assert kg.Protocol(unseen="worst", candidates=candidates).describe().startswith("filtered by every split, all ent")


@pytest.mark.parametrize("unseen", ["rank", "drop", "worst"])
@pytest.mark.light(2)
def test_lists_of_positives_are_explained_and_saved(tmp_path, unseen):
    """Each row asks for its own list again, whichever rows were dropped before it."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 2], [1, 0, 3], [4, 0, 1]],
        test=[[5, 0, 1], [0, 0, 1], [0, 0, 4], [1, 0, 0]],
        n_entities=6,
        n_relations=1,
    )
    lists = {"object": [{1, 2}, {1, 3, 5}, {4, 2}, {0, 2, 3}], "subject": [{5, 0}, {0, 2}, {0, 3, 5}, {1, 4}]}
    protocol = kg.Protocol(unseen=unseen, candidates=Each(lists))
    result = kg.evaluate(lambda s, p, o: o - s, dataset, protocol, progress=False)
    result.save(tmp_path / "run.kgeval")
    place = {triple: i for i, triple in enumerate(map(tuple, dataset["test"].array.tolist()))}
    allowed = set(range(6)) if unseen == "rank" else {0, 1, 2, 3, 4}
    for side in ("subject", "object"):
        for s, p, o in list(place)[0 if unseen == "rank" else 1 :]:
            found = set(result.explain(s, p, o, side)["id"])
            score = {e: o - e if side == "subject" else e - s for e in lists[side][place[s, p, o]] & allowed}
            assert found == {e for e in score if score[e] >= o - s}
    again = kg.load_result(tmp_path / "run.kgeval")
    assert again.protocol == result.protocol
    assert kg.compare([result, again], names=["one", "same"]).differences["difference"].tolist() == [0.0] * 5


def test_equal_by_kind_and_digest():
    """The content is compared by its digest, and hashes alike."""
    one, same, other = Recorded("listed", "ab"), Recorded("listed", "ab"), Recorded("listed", "cd")
    assert (one == same, hash(one) == hash(same), one == other, one == All()) == (True, True, False, False)
    assert kg.Protocol(candidates=one) == kg.Protocol(candidates=same) != kg.Protocol(candidates=other)
    assert kg.Protocol(candidates=one).fingerprint != kg.Protocol(candidates=other).fingerprint


def test_protocols_with_all_entities_keep_their_fingerprints():
    """Those that version 0.1.0 printed, when candidates were the word "all"."""
    assert kg.Protocol().fingerprint == "0ae85dd1"
    assert kg.Protocol(sides="o", filter=("train",), unseen="drop", splits=("valid", "test")).fingerprint == (
        "778e3108"
    )
    assert kg.Protocol(filter=("train", "valid", "test"), unseen="rank").fingerprint == "8fc05966"


@pytest.mark.parametrize("candidates", [All(), Recorded("listed", "ab"), Recorded("listed")])
def test_files_give_back_the_same_value(candidates):
    """Through what JSON holds; the word "listed" of version 0.1.0 has no digest, and its fingerprints stay."""
    assert candidates_from_json(candidates.to_json()) == candidates
    assert candidates_from_json("listed") == Recorded("listed", "")
    listed = kg.Protocol(sides="o", filter=("test",), unseen="rank", candidates=Recorded("listed"))
    assert listed.to_dict()["candidates"] == "listed"


@pytest.mark.parametrize(
    "said", [None, 3, "listedd", {"kind": "x"}, {"kind": 1, "digest": "y"}, {"kind": "x", "digest": "y", "more": 1}]
)
def test_other_descriptions_are_refused(said):
    """With what was expected, and what came."""
    with pytest.raises(kg.ProtocolError, match="expected 'all', or a dict with the texts 'kind' and 'digest'; got"):
        candidates_from_json(said)


def test_relations_can_be_asked_of_the_index():
    """Keyed by (s, o), the index answers which relations hold between two entities; a loop decides."""
    for seed in range(100):
        rng = random.Random(seed)
        n, m, splits = oracle.random_graph(rng)
        facts = splits["train"] + splits["test"]
        s, p, o = np.array(facts).T
        index = KnownIndex.of((s, o), p)
        pairs = [(a, b) for a in range(n) for b in range(n)]
        offsets, answers = index.lookup(*np.array(pairs).T)
        for i, (a, b) in enumerate(pairs):
            wanted = sorted({r for x, r, y in facts if (x, y) == (a, b)})
            assert answers[offsets[i] : offsets[i + 1]].tolist() == wanted
        asked = [(rng.randrange(n), rng.randrange(n), rng.randrange(m)) for _ in range(20)]
        found = index.contains(*np.array(asked).T)
        assert found.tolist() == [(a, r, b) in set(facts) for a, b, r in asked]
        others = index.count_others((s, o), p)
        assert others.tolist() == [len({r for x, r, y in facts if (x, y) == (a, b)} - {r0}) for a, r0, b in facts]


def test_a_time_stamp_is_one_more_given_part():
    """Facts (s, p, o, t): objects of (s, p) at a time, known at no other time."""
    facts = np.array([[0, 0, 1, 7], [0, 0, 2, 7], [0, 0, 3, 8]])
    s, p, o, t = facts.T
    index = KnownIndex.of((p, s, t), o)
    offsets, answers = index.lookup(np.array([0, 0, 0]), np.array([0, 0, 0]), np.array([7, 8, 9]))
    assert (offsets.tolist(), answers.tolist()) == ([0, 2, 3, 3], [1, 2, 3])


class Pool(Candidates):
    """One list for all queries."""

    kind = "pool"

    def __init__(self, ids):
        self.ids, self.digest = ids, str(ids)

    def pools(self, queries, entities):
        yield queries, np.intersect1d(self.ids, entities)


def test_all_entities_one_list_and_a_list_each_give_equal_tables():
    """H4, H5: the same entities, in three ways, on random graphs: every count of every row is equal."""
    met = 0
    for seed in range(size(20, 2000)):
        rng, n, m, splits, dataset, table, _ = draw(seed)
        lists = {f"{side}s": [range(n)] * len(splits["test"]) for side in ("subject", "object")}
        unseen = rng.choice(["rank", "drop", "worst"])
        if unseen != "rank" and not dataset.is_seen("test").any():
            continue
        results = [
            kg.evaluate(
                lambda s, p, o, table=table: table[s, p, o],
                dataset,
                kg.Protocol(candidates=candidates, unseen=unseen),
                progress=False,
            )
            for candidates in (All(), Pool(list(range(n))), Listed(**lists, empty="first"))
        ]
        for other in results[1:]:
            assert other.table.equals(results[0].table), (seed, unseen)
            assert (other["mrr"], other["mr"]) == (results[0]["mrr"], results[0]["mr"])
        met += (results[0].table["rivals_filtered"] == 0).any()
    assert met >= size(1, 100)


def test_series_of_lists_are_aligned_or_refused():
    """H25: a shuffled index puts the lists in their rows; another index is refused."""
    lists = [[3, 4], [0], [1, 2, 5]]
    plain = Listed(objects=lists)
    shuffled = pd.Series(lists).sample(frac=1, random_state=3)
    assert shuffled.index.tolist() != [0, 1, 2]
    assert Listed(objects=shuffled) == plain
    frame = pd.DataFrame([[1, 2], [3, 4], [5, 6]])
    assert Listed(objects=frame.iloc[[2, 0, 1]]) == Listed(objects=frame.to_numpy())
    for index in ([3, 8, 12], ["a", "b", "c"], [0, 0, 1]):
        with pytest.raises(kg.DataError, match="objects has an index that does not say to which row"):
            Listed(objects=pd.Series(lists, index=index))


def test_rows_of_predictions_with_an_index_are_aligned_or_refused():
    """H25: ranks follow the triples of their frame; beside arrays, an index must number the rows."""
    frame = pd.DataFrame({"s": [0, 2, 4], "p": [0, 0, 1], "o": [1, 3, 5]}, index=[7, 8, 9])
    ranks = pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    plain = kg.GivenRanks.from_arrays(frame.to_numpy(), "object", [1, 2, 3])
    for given in (ranks, ranks.iloc[[2, 0, 1]]):
        assert kg.GivenRanks.from_arrays(frame, "object", given).ranks.tolist() == plain.ranks.tolist()
    turned = ranks.reset_index(drop=True).iloc[[2, 0, 1]]
    assert kg.GivenRanks.from_arrays(frame.to_numpy(), "object", turned).ranks.tolist() == [1, 2, 3]
    with pytest.raises(kg.DataError, match="ranks has an index that does not say to which row its values belong"):
        kg.GivenRanks.from_arrays(frame.to_numpy(), "object", ranks)
    with pytest.raises(kg.DataError, match="ranks has another index than triples"):
        kg.GivenRanks.from_arrays(frame, "object", turned)
    answers = pd.Series([[1], [2], [3]], index=[9, 8, 7])
    assert kg.Predictions.from_arrays(frame, "object", answers).answers.values.tolist() == [3, 2, 1]
