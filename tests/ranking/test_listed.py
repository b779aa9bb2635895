"""Every positive among its own list of negatives: `Listed` with any scorer, and `evaluate_candidates` with scores."""

import random
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from grids import size
from kgeval.candidates import Listed

import kgeval as kg
from kgeval.data.protocol import RandomSample

COUNTS = [f"{name}_{setting}" for setting in ("raw", "filtered") for name in ("better", "tied", "rivals")]
SIDES = ("subject", "object")


def by_hand(
    splits, lists, score, *, duplicates="keep", unseen="rank", filters=("train", "valid", "test"), empty="drop"
):
    """The rows of the table of ranks, by loops: (s, p, o, side, counts); and how many ranks are dropped."""
    known = {tuple(t) for name in filters for t in splits[name]}
    seen = {e for s, _, o in splits["train"] for e in (s, o)}
    seen_relations = {p for _, p, _ in splits["train"]}
    rows, n_empty = [], 0
    for side in SIDES:
        for i, (s, p, o) in enumerate(splits["test"] if side in lists else []):
            is_seen = {s, o} <= seen and p in seen_relations
            if unseen == "drop" and not is_seen:
                continue
            rivals = [e for e in lists[side][i] if e != (s if side == "subject" else o)]
            if unseen == "drop":
                rivals = [e for e in rivals if e in seen]
            if duplicates == "drop":
                rivals = sorted(set(rivals))
            counts = []
            for setting in ("raw", "filtered"):
                pairs = [(e, (e, p, o) if side == "subject" else (s, p, e)) for e in rivals]
                pairs = [(e, t) for e, t in pairs if setting == "raw" or t not in known]
                scores = [score(*t) for e, t in pairs if unseen != "worst" or e in seen]
                own = score(s, p, o)
                better, tied = sum(x > own for x in scores), sum(x == own for x in scores)
                if unseen == "worst" and not is_seen:
                    better, tied = len(pairs), 0
                counts += [better, tied, len(pairs)]
            if counts[2] == 0 and empty == "drop":
                n_empty += 1
            else:
                rows.append((s, p, o, side, *counts))
    return rows, n_empty


def draw(seed):
    """A graph with repeated test triples; lists with repeats, answers, known triples, and some empty."""
    rng = random.Random(seed)
    n, m = rng.randint(3, 8), rng.randint(1, 2)
    splits = {
        name: [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(2, 8))]
        for name in ("train", "valid", "test")
    }
    splits["test"].append(rng.choice(splits["test"]))
    lists = {
        side: [[rng.randrange(n) for _ in range(rng.choice([0, 1, 3, 6]))] for _ in splits["test"]]
        for side in rng.choice([("object",), ("subject",), SIDES])
    }
    table = np.array([[[rng.randrange(4) for _ in range(n)] for _ in range(m)] for _ in range(n)], dtype=float)
    return rng, n, m, splits, lists, table


def rows_of(result):
    return list(result.table[["s", "p", "o", "side", *COUNTS]].itertuples(index=False, name=None))


class Rows:
    """One row of scores for each query."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p, :]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


def scorer_of(kind, table, seed):
    """A scorer of a kind, and the function that a loop asks."""
    if kind == "model":
        e, r = np.random.default_rng(seed).integers(-2, 3, (2, table.shape[0], 3)).astype(float)
        return kg.models.DistMult(e, r[: table.shape[1]]), lambda s, p, o: float((e[s] * r[p] * e[o]).sum())
    return Rows(table) if kind == "rows" else lambda s, p, o: table[s, p, o], lambda s, p, o: table[s, p, o]


def test_lists_are_ranked_as_a_loop_does():
    """Functions, rows and embeddings; duplicates kept and dropped; every way to treat unseen triples."""
    met = {"empty": 0, "rows": 0, "known": 0, "answers": 0, "alone": 0}
    for seed in range(size(8, 700)):
        rng, n, m, splits, lists, table = draw(seed)
        dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
        scorer, score = scorer_of(rng.choice(["function", "rows", "model"]), table, seed)
        duplicates, unseen = rng.choice(["keep", "drop"]), rng.choice(["rank", "drop", "worst"])
        empty = rng.choice(["drop", "first"])
        filters = rng.choice([("train", "valid", "test"), ("train",), ()])
        candidates = Listed(**{f"{side}s": ids for side, ids in lists.items()}, duplicates=duplicates, empty=empty)
        protocol = kg.Protocol(candidates=candidates, unseen=unseen, filter=filters)
        settings = {"duplicates": duplicates, "unseen": unseen, "filters": filters, "empty": empty}
        wanted, n_empty = by_hand(splits, lists, score, **settings)
        if not wanted or (unseen == "worst" and not dataset.is_seen("test").any()):
            continue
        result = kg.evaluate(scorer, dataset, protocol, progress=False)
        assert rows_of(result) == wanted, seed
        assert result.dropped.get("the positive has no listed negative on this side", 0) == n_empty
        assert result.protocol.sides == tuple(side for side in SIDES if side in lists)
        met["empty"] += n_empty
        met["rows"] += len(wanted)
        n_alone = sum(row[-1] == 0 for row in wanted)
        said = [note for note in result.notes if "are 1 of 1" in note]
        assert [note.split()[0] for note in said] == ([str(n_alone)] if n_alone else [])
        met["alone"] += bool(said)
        met["known"] += any("form known triples" in note for note in result.notes)
        met["answers"] += any("answer of their own positive" in note for note in result.notes)
    assert min(met.values()) >= size(3, 100), met


def test_scores_of_lists_are_ranked_as_a_loop_does():
    """`evaluate_candidates` gives what `evaluate` gives with `Listed`; without ids nothing is filtered."""
    compared = 0
    for seed in range(size(4, 400)):
        _, n, m, splits, lists, table = draw(seed)
        dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
        candidates, test = Listed(**{f"{side}s": ids for side, ids in lists.items()}, empty="drop"), splits["test"]
        given = {}
        for side, rows in lists.items():
            triples = [
                [(e, p, o) if side == "subject" else (s, p, e) for e in ids] for (s, p, o), ids in zip(test, rows)
            ]
            given[f"{side}s"] = ([table[t] for t in test], [[table[t] for t in row] for row in triples])
        wanted, n_empty = by_hand(splits, lists, lambda s, p, o, table=table: table[s, p, o])
        if not wanted:
            continue
        result = kg.evaluate_candidates(dataset, **given, negatives=candidates)
        assert rows_of(result) == wanted
        assert sum(result.dropped.values()) == n_empty
        same = kg.evaluate(lambda s, p, o, table=table: table[s, p, o], dataset, kg.Protocol(candidates=candidates))
        assert (result.protocol, result.notes) == (same.protocol, same.notes)
        assert result.table.equals(same.table)
        compared += 1
        if not all(ids for rows in lists.values() for ids in rows):
            with pytest.raises(kg.DataError, match="without a rival, first .* Choose negatives=Listed"):
                kg.evaluate_candidates(dataset, **given)
            continue
        bare = kg.evaluate_candidates(dataset, **given)
        assert bare.protocol.filter == ()
        assert any("the filtered setting equals the raw setting" in note for note in bare.notes)
        assert (bare.table[COUNTS[:3]].to_numpy() == bare.table[COUNTS[3:]].to_numpy()).all()
    assert compared > size(2, 200)


def test_an_empty_list_of_scores_is_refused():
    """H5: without ids too; the mean of the others, 1/2 and 1/3, would be .4167 for .6111 or .2778."""
    message = (
        "object side: 1 positive of 3 without a rival, first ('0', '0', '2'): the list is empty, or lists only the "
        "answer or entities that are no candidates. Choose negatives=Listed(..., empty='drop'), which leaves such "
        "positives out, or empty='first', rank 1 of 1"
    )
    with pytest.raises(kg.DataError, match=re.escape(message)):
        kg.evaluate_candidates(graph(), objects=(POSITIVES, [NEGATIVES[0], [], NEGATIVES[2]]))


# Three positives among 4 rivals each: ranks 2, 1 and 3 (of the third two rivals tie with it and one is above).
POSITIVES = [0.7, 0.9, 0.5]
NEGATIVES = [[0.8, 0.1, 0.2, 0.3], [0.1, 0.1, 0.2, 0.3], [0.5, 0.5, 0.9, 0.1]]


def graph():
    return kg.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2], [0, 0, 3]], n_entities=20, n_relations=1)


def test_no_list_is_pooled_with_that_of_another_positive():
    """The three positives share a query. Own lists: ranks 2, 1, 3; pooled, the third would be behind five others."""
    result = kg.evaluate_candidates(graph(), objects=(POSITIVES, NEGATIVES))
    assert result.rank_table.ranks("filtered").tolist() == [2, 1, 3]
    assert result["mrr"] == pytest.approx((1 / 2 + 1 + 1 / 3) / 3, rel=1e-15)
    assert result["optimistic.mr"] == pytest.approx((2 + 1 + 2) / 3)
    assert result.protocol.sides == ("object",)


def test_chance_is_that_of_each_list():
    """Lists of 1 and 4 rivals: E[MR] = (1.5 + 3) / 2, E[1/rank] = ((1 + 1/2) / 2 + (1 + ... + 1/5) / 5) / 2."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=20, n_relations=1)
    result = kg.evaluate_candidates(dataset, objects=([1, 1], [[2], [0, 0, 0, 0]]))
    assert result.chance("mr").value == pytest.approx(2.25)
    assert result.chance("mrr").value == pytest.approx((0.75 + 137 / 300) / 2)
    assert result["amri"] == pytest.approx(1 - (1.5 - 1) / (2.25 - 1))


def test_a_list_may_be_longer_than_the_entities(tmp_path):
    """12 negatives of 3 entities among 6: counts beyond the number of entities are saved, loaded and explained."""
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 3]], test=[[0, 0, 1], [1, 0, 2]], n_entities=6, n_relations=1)
    protocol = kg.Protocol(candidates=Listed(objects=[[3, 4, 5] * 4] * 2))
    result = kg.evaluate(lambda s, p, o: o * 1.0, dataset, protocol)
    assert result.table["better_raw"].tolist() == [12, 12]
    result.save(tmp_path / "run.kgeval")
    assert kg.load_result(tmp_path / "run.kgeval") == result


def test_a_list_as_long_as_all_entities_is_not_all_entities():
    """[4, 4, 4, 5, 5] and the answer are six ids among six entities; the explained scores are theirs."""
    dataset = kg.Dataset.from_arrays(test=[[2, 0, 1]], n_entities=6, n_relations=1)
    table = np.arange(6.0)
    protocol = kg.Protocol(candidates=Listed(objects=[[4, 4, 4, 5, 5]]))

    class Scores:
        def score_objects(self, s, p):
            return np.tile(table, (len(s), 1))

        def score_subjects(self, p, o):
            return np.tile(table, (len(p), 1))

    for scorer in (Scores(), kg.models.DistMult(table[:, None], [[1.0]])):  # (2, 0, o) scores 2 o
        result = kg.evaluate(scorer, dataset, protocol)
        assert result.explain(2, 0, 1, "object")["id"].tolist() == [5, 5, 4, 4, 4, 1]


def test_scores_without_ids_are_saved(tmp_path):
    """Nothing can be explained without ids; a note in the file says so."""
    result = kg.evaluate_candidates(graph(), objects=(POSITIVES, NEGATIVES))
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    assert loaded.table.equals(result.table)
    assert loaded.notes[-1] == (
        "no rivals of the worst and best ranks are kept: the ids of the negatives are unknown, so kgeval cannot name "
        "them; pass negatives="
    )


def test_query_level_metrics_have_a_reason():
    result = kg.evaluate(lambda s, p, o: o, graph(), kg.Protocol(candidates=Listed(objects=[[4], [5], [6]])))
    for key in ("query.map", "raw.query.ndcg"):
        assert result.value(key).reason == (
            "query-level metrics need one list of candidates per query, but here each positive has its own list"
        )


def test_explain_and_save(tmp_path):
    """The list is shown with its repeats; a loaded result remembers that lists were per positive."""
    lists = [[4, 5, 5], [6], [7, 0]]
    result = kg.evaluate(lambda s, p, o: o % 6, graph(), kg.Protocol(candidates=Listed(objects=lists)))
    frame = result.explain(0, 0, 1, "object")
    assert frame[["id", "stands"]].to_numpy().tolist() == [[5, "above"], [5, "above"], [4, "above"], [1, "answer"]]
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    assert loaded == result
    assert "own list" in loaded.value("query.map").reason
    given = ([1, 2, 3], [[5, 6, 6], [0], [1, 2]])
    scored = kg.evaluate_candidates(graph(), objects=given, negatives={"objects": lists})
    assert scored.explain(0, 0, 1, "object")["id"].tolist() == [5, 5, 4, 1]
    scored.save(tmp_path / "scored.kgeval")
    assert kg.load_result(tmp_path / "scored.kgeval") == scored


def test_what_the_lists_hold_is_said():
    """Of the object lists 1 repeat, 1 answer and 1 known triple; the repeat counts as two rivals unless dropped."""
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 4]], test=[[0, 0, 1], [0, 0, 2]], n_entities=6, n_relations=1)
    lists = [[1, 5, 5], [4, 5, 3]]
    result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(candidates=Listed(objects=lists)))
    assert [note.partition("object side: 1 of 6 listed negatives ")[2] for note in result.notes[:3]] == [
        "are the answer of their own positive, and are left out",
        "repeat another negative of the same list, and are rivals too (duplicates='drop' drops them)",
        "form known triples: they are rivals in the raw setting, not in the filtered one",
    ]
    found = result.table[["better_raw", "better_filtered", "rivals_raw", "rivals_filtered"]]
    assert found.to_numpy().tolist() == [[2, 2, 2, 2], [3, 2, 3, 2]]
    once = Listed(objects=lists, duplicates="drop")
    assert kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(candidates=once)).table["better_raw"].tolist() == [1, 3]


def test_lists_without_any_rival_are_refused():
    """H5: an empty list is asked about; so is one that holds the answer alone."""
    for lists, n, place in (([[], [], []], 3, "1"), ([[1], [4], [3]], 2, "1"), ([[4], [], [5]], 1, "2")):
        message = (
            f"object side: {n} positive{'s' * (n > 1)} of 3 without a rival, first ('0', '0', '{place}'): the list is "
            "empty, or lists only the answer or entities that are no candidates. Choose Listed(..., empty='drop'), "
            "which leaves such positives out, or empty='first', rank 1 of 1"
        )
        with pytest.raises(kg.DataError, match=f"^{re.escape(message)}$"):
            kg.evaluate(lambda s, p, o: o, graph(), kg.Protocol(candidates=Listed(objects=lists)))
        first = kg.Protocol(candidates=Listed(objects=lists, empty="first"))
        result = kg.evaluate(lambda s, p, o: o, graph(), first)
        assert len(result.table) == 3
        assert f"{n} of 3 filtered ranks are 1 of 1: all other candidates, if any, are known answers" in result.notes
    dropped = kg.Protocol(candidates=Listed(objects=[[4], [], [5]], empty="drop"))
    result = kg.evaluate(lambda s, p, o: o, graph(), dropped)
    assert result.table["o"].tolist() == [1, 3]
    assert result.dropped == {"the positive has no listed negative on this side": 1}
    words = ("error", "drop", "first")
    assert len({kg.Protocol(candidates=Listed(objects=[[4]], empty=word)).fingerprint for word in words}) == 3


def test_a_positive_whose_rivals_are_all_known_ranks_first_of_one():
    """H5: 1, 2 and 3 answer one query: in the list [2, 3] the raw rank is 3 of 3, the filtered one 1 of 1."""
    lists = [[2, 3], [4], [1, 2]]
    result = kg.evaluate(lambda s, p, o: o, graph(), kg.Protocol(candidates=Listed(objects=lists)))
    assert result.table[["better_raw", "rivals_raw", "better_filtered", "rivals_filtered"]].to_numpy().tolist() == [
        [2, 2, 0, 0],
        [1, 1, 1, 1],
        [0, 2, 0, 0],
    ]
    assert result["mrr"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert result.dropped == {}
    assert "2 of 3 filtered ranks are 1 of 1: all other candidates, if any, are known answers" in result.notes
    dataset = kg.Dataset.from_arrays(test=[[0, 0, o] for o in range(3)], n_entities=3, n_relations=1)
    whole = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"))
    assert whole.table["rivals_filtered"].tolist() == [0, 0, 0]
    assert "3 of 3 filtered ranks are 1 of 1: all other candidates, if any, are known answers" in whole.notes


def test_a_frame_with_other_words_for_sides_is_refused():
    frame = pd.DataFrame({"s": [4], "p": [0], "o": [1], "side": ["head"], "positive": [0]})
    with pytest.raises(kg.ProtocolError, match="the column 'side' contains head; expected subject and object"):
        Listed.from_negatives(frame, 3)


def test_a_part_of_the_triples_with_lists():
    """Row 2 alone: its own list, not that of row 0."""
    protocol = kg.Protocol(candidates=Listed(objects=[[4, 5], [6], [0, 4, 5, 6]]))
    result = kg.evaluate(lambda s, p, o: o, graph(), replace(protocol, sample=[2]))
    assert result.table[["o", "better_raw", "rivals_raw"]].to_numpy().tolist() == [[3, 3, 4]]
    assert result.explain(0, 0, 3, "object")["id"].tolist() == [6, 5, 4, 3]


def test_notes_count_the_lists_of_triples_that_are_ranked_last():
    """Under unseen='worst' the list of (5, 0, 2), which train lacks, is counted too: two answers and a repeat."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [2, 0, 3]], test=[[0, 0, 2], [5, 0, 2]], n_entities=6, n_relations=1
    )
    protocol = kg.Protocol(candidates=Listed(objects=[[1, 3], [2, 3, 3, 2, 1]]), unseen="worst")
    notes = kg.evaluate(lambda s, p, o: o, dataset, protocol).notes
    assert notes[0] == "object side: 2 of 7 listed negatives are the answer of their own positive, and are left out"
    assert notes[1].startswith("object side: 1 of 7 listed negatives repeat another negative of the same list")


def test_many_rivals_are_counted_block_by_block(monkeypatch):
    """Blocks of at most 3 rivals give what one block gives; a list of 5 is a block of its own."""
    lists = [[4, 5, 6, 7, 8], [6], [0, 4]]
    protocol = kg.Protocol(candidates=Listed(objects=lists))
    wanted = kg.evaluate(lambda s, p, o: o % 7, graph(), protocol)
    monkeypatch.setattr("kgeval.ranking.ranker.MAX_RIVALS", 3)
    assert kg.evaluate(lambda s, p, o: o % 7, graph(), protocol) == wanted


def test_the_description_is_saved(tmp_path):
    protocol = kg.Protocol(candidates=Listed(objects=[[4, 5], [6, 7], [0, 4]]))
    result = kg.evaluate(lambda s, p, o: o, graph(), protocol)
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    assert loaded.protocol.describe() == "filtered by test, a list of 2 negatives for each object, object side"
    assert loaded.protocol.fingerprint == result.protocol.fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positive": [-1, 0]}, "the column 'positive' must contain row numbers of positives (integers, at least 0)"),
        (
            {"positive": [0.0, 1.0]},
            "the column 'positive' must contain row numbers of positives (integers, at least 0)",
        ),
        ({"positive": [0, 5]}, "the column 'positive' contains 5; expected 0 to 2"),
        ({"side": None}, "the frame of negatives has no column 'side'; pass the frame that sample_negatives returned"),
    ],
)
def test_frames_that_hold_no_lists(change, message):
    frame = pd.DataFrame({"s": [0, 0], "o": [4, 5], "side": ["object"] * 2, "positive": [0, 1]}).assign(**change)
    frame = frame.drop(columns=[name for name, value in change.items() if value is None])
    with pytest.raises(kg.ProtocolError) as caught:
        Listed.from_negatives(frame, 3)
    assert str(caught.value) == message


def test_lists_from_sampled_negatives():
    """The negatives of `sample_negatives` per positive and side, seeded; the protocol depends on the seed alone."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2], [3, 0, 1]], n_entities=30, n_relations=1)
    negatives = [kg.sample_negatives(dataset, "test", n=8, sample_seed=seed, ids=True) for seed in (0, 0, 1)]
    protocols = [kg.Protocol(candidates=Listed.from_negatives(frame, 3)) for frame in negatives]
    assert protocols[0] == protocols[1] != protocols[2]
    result = kg.evaluate(lambda s, p, o: -s - o, dataset, protocols[0])
    assert result.table["rivals_filtered"].tolist() == [4] * 6
    for i, (s, _, o) in enumerate(dataset["test"].array):
        for side, column, own, row in (("subject", "s", s, i), ("object", "o", o, 3 + i)):
            rows = negatives[0][(negatives[0]["positive"] == i) & (negatives[0]["side"] == side)]
            assert result.table["better_raw"][row] == (rows[column] < own).sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Listed(), "Listed needs lists of negatives: objects=..., subjects=..., relations=... or several"),
        (
            lambda: Listed(objects=[[0.5]]),
            "objects[0] must be a list of entity ids (integers); got dtype float64, ndim 1. For labels, "
            "dataset.entities.find(labels) returns the ids",
        ),
        (
            lambda: Listed(subjects=[[1], [-1, 2]]),
            "subjects[1] contains -1, which is no id; make the list shorter instead of padding it",
        ),
        (
            lambda: Listed(objects=np.array([[5, 2**64 - 1]], dtype=np.uint64)),
            "objects contains 18446744073709551615, which is no id; make the list shorter instead of padding it",
        ),
        (
            lambda: Listed(objects=[np.ma.masked_array([1, 2], mask=[0, 1]), [3]]),
            "objects[0] is a masked array; give a list of lists, each without the masked entries",
        ),
        (lambda: Listed(objects="abc"), "objects must be an array of ids (n, m), or n arrays of ids; got str"),
        (
            lambda: Listed(objects=np.ma.masked_array([[1, 2]], mask=[[0, 1]])),
            "objects is a masked array; give a list of lists, each without the masked entries",
        ),
        (lambda: Listed(objects=[[1]], duplicates="count"), "duplicates must be one of 'keep', 'drop'; got 'count'"),
        (
            lambda: kg.Protocol(sides="both", candidates=Listed(objects=[[1]])),
            "the candidates have no lists for the subject side; leave sides= out to rank the object side",
        ),
        (
            lambda: kg.evaluate(lambda s, p, o: o, graph(), kg.Protocol(candidates=Listed([[1]]))),
            "Listed has 1 lists of objects, but the ranked splits have 3 triples; give one list per triple, in their "
            "order, duplicate triples included",
        ),
        (
            lambda: kg.evaluate(lambda s, p, o: o, graph(), kg.Protocol(candidates=Listed([[1], [2], [3, 20]]))),
            "objects[2] contains id 20; dataset 'dataset' has entities 0 to 19",
        ),
    ],
)
def test_wrong_lists_are_refused(make, message):
    with pytest.raises(kg.ProtocolError) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "evaluate_candidates needs scores: objects=(positives, negatives), subjects=..., or both"),
        (
            {"objects": ([1, 2], [[1], [2]])},
            "objects has 2 positives, but split test has 3 triples; give one row per triple, in the order of the "
            "triples, including duplicate triples",
        ),
        ({"objects": ([1, 2, 3], [[1], [2]])}, "objects: 3 positives, but 2 lists of negatives"),
        ({"objects": ([1.0, 2, 3], [[1], [2, np.nan], [3]])}, "objects[1]: negative 1 of positive 1 has score NaN"),
        ({"objects": ([1.0, np.nan, 3], [[1]] * 3)}, "objects[0]: the score of positive 1 is NaN"),
        (
            {"objects": [1, 2, 3]},
            "objects must be a pair (scores of the positives, scores of the negatives), or a dict with y_pred_pos and "
            "y_pred_neg; got list",
        ),
        (
            {"objects": ([2**53 + 1, 1, 1], [[0.5]] * 3)},
            "objects has integer scores that float64 cannot hold exactly; give positives and negatives in one dtype",
        ),
        (
            {"objects": (np.array([2**53, 0, 0]), [np.array([2**53 + 1]), np.array([0.5]), np.array([0.5])])},
            "objects has integer scores that float64 cannot hold exactly; give positives and negatives in one dtype",
        ),
        (
            {"objects": (np.full(3, 0.1, np.float32), np.full((3, 2), 0.1))},
            "objects has scores of different dtypes, float32 and float64, so ties could be lost; give positives and "
            "negatives in one dtype",
        ),
        (
            {"objects": ([1, 2, 3], [[1]] * 3), "protocol": kg.Protocol(sides="subject")},
            "the protocol ranks the sides subject, but scores were given for object",
        ),
        (
            {"objects": (pd.Series([1, 2, 3], index=[2, 1, 0]), [[1]] * 3)},
            "objects[0] is a Series, whose index would be ignored; pass .to_numpy()",
        ),
        (
            {"objects": ([1, 2, 3], [[], [], []])},
            "object side: 3 positives of 3 without a rival, first ('0', '0', '1'): the list is empty, or lists only "
            "the answer or entities that are no candidates. Choose negatives=Listed(..., empty='drop'), which leaves "
            "such positives out, or empty='first', rank 1 of 1",
        ),
        (
            {"objects": ([1, 2, 3], [[1], [2], [3]]), "negatives": {"objects": [[4], [5, 6], [7]]}},
            "positive 1, object side, has 2 ids of negatives and 1 scores; give one id for each score",
        ),
        (
            {"objects": ([1, 2, 3], [[1], [2], [3]]), "negatives": {"subjects": [[4], [5], [7]]}},
            "negatives has ids for the sides subject, but scores were given for object",
        ),
        (
            {"objects": ([1, 2, 3], [[1]] * 3), "protocol": kg.Protocol(sample=RandomSample(1, 3, "ab", 0))},
            "only kgeval.evaluate draws the sample of a protocol; with given scores, all triples are ranked. Remove "
            "sample=, sample_seed= and precision= from the protocol",
        ),
        (
            {"objects": ([1, 2, 3], [[1]] * 3), "protocol": kg.Protocol(filter="test")},
            "filter needs the ids of the negatives; pass negatives=",
        ),
        (
            {
                "objects": ([1, 2, 3], [[1, 2], [1], [1]]),
                "negatives": Listed(objects=[[4, 4], [5], [6]], duplicates="drop"),
            },
            "the list of ('0', '0', '1'), object side, contains entity '4' with two different scores; "
            "duplicates='drop' cannot choose between them",
        ),
    ],
)
def test_wrong_scores_are_refused(given, message):
    with pytest.raises(kg.KgevalError) as caught:
        kg.evaluate_candidates(graph(), **given)
    assert str(caught.value) == message
