"""Predictions without a model: the counts and bounds of lists against all completions of the lists, by loops."""

import itertools
import math
import random
import warnings

import numpy as np
import pandas as pd
import pytest
from grids import light, size
from key_cases import N, as_dataset, loop, random_facts, ranked, score_of
from oracle import random_graph

import kgeval as kg
from kgeval import DataError, Dataset, GivenRanks, Predictions, Protocol, ProtocolError
from kgeval.data.predictions import UNMAPPED

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SIDES = ("subject", "object")
SETTINGS = ("raw", "filtered")
COUNTS = ("better", "tied", "rivals")
NO_LIST, NO_RANK = "the file has no list for it", "the file has no rank for it"


def rows_of(result):
    """The rows of the table: (s, p, o, side, better, tied, rivals, bounded of both settings)."""
    table, n = result.table, len(result.table)
    columns = [table[name].tolist() for name in ("s", "p", "o", "side")]
    for setting in SETTINGS:
        columns += [table[f"{name}_{setting}"].tolist() for name in COUNTS]
        name = f"bounded_{setting}"
        columns.append(table[name].tolist() if name in table else [False] * n)
    return list(zip(*columns, strict=True))


def ask(triple, side):
    """The query of a triple and its answer."""
    s, p, o = triple
    return ((p, o), s) if side == "subject" else ((s, p), o)


def put(query, side, entity):
    """The triple of a query with an answer."""
    return (entity, *query) if side == "subject" else (*query, entity)


# --- The oracle: every completion of a list -----------------------------------------------------------------------


def worlds(answers, scores, answer, rivals, hidden, n_entities):
    """All (better, tied) of a positive among `rivals` that a list allows.

    answers: ids, best first, each once but UNMAPPED; scores: one each, or None; hidden: the known answers, other than
    the positive, that unmapped names may mean, or None if these names are no entities.
    """
    found = set()
    fakes = [i for i, e in enumerate(answers) if e == UNMAPPED]
    free = [e for e in range(n_entities) if e not in answers and e != answer]
    meanings = [()] if hidden is None else itertools.permutations(free, len(fakes))
    for meaning in meanings:
        if hidden is not None and not set(meaning) <= rivals | hidden:
            continue
        named = list(answers)
        for i, e in zip(fakes, meaning):
            named[i] = e
        counts = [e == UNMAPPED or e in rivals for e in named]  # a name that is no entity is a wrong answer
        n_listed = sum(counts[i] for i in range(len(named)) if named[i] != answer)
        if n_listed > len(rivals):
            continue
        if answer in named:
            own = named.index(answer)
            if scores is None:
                found.add((sum(counts[:own]), 0))
            else:
                better = sum(c and x > scores[own] for c, x in zip(counts, scores))
                found.add(
                    (better, sum(c and x == scores[own] for i, (c, x) in enumerate(zip(counts, scores)) if i != own))
                )
        else:
            found |= {(n_listed + below, 0) for below in range(len(rivals) - n_listed + 1)}
    return found


def without_repeats(answers, scores):
    """Sort by score (stable), keep the first place of each entity."""
    order = list(range(len(answers)))
    if scores is not None:
        order.sort(key=lambda i: -scores[i])
    kept, seen = [], set()
    for i in order:
        if answers[i] == UNMAPPED or answers[i] not in seen:
            kept.append(i)
            seen.add(answers[i])
    return [answers[i] for i in kept], None if scores is None else [scores[i] for i in kept]


class Impossible(Exception):
    pass


def by_hand(case):
    """The rows that `evaluate_predictions` must give, and the number of positives without a list."""
    n_entities, splits, sides = case["n_entities"], case["splits"], case["sides"]
    known = {t for rows in splits.values() for t in rows}
    positives = splits["test"]
    lists, shared = {}, {}
    for triple, side, answers, scores in case["rows"]:
        query, answer = ask(triple, side)
        kept = without_repeats(answers, scores)
        if answer == UNMAPPED:
            shared[query, side] = kept
        else:
            lists.setdefault((triple, side), kept)

    def others(triple, side):
        query, answer = ask(triple, side)
        return {e for e in range(n_entities) if e != answer and put(query, side, e) in known}

    matters = holds = False
    for side in sides:
        for triple in positives:
            query, _ = ask(triple, side)
            own = lists.get((triple, side)) or shared.get((query, side))
            if own is None:
                continue
            removed = others(triple, side)
            if (query, side) in shared:  # the answers of all its positives stay in a list
                in_train = {e for e in removed if any(put(query, side, e) in splits[s] for s in ("train", "valid"))}
                matters |= bool(in_train)
                holds |= bool({e for e in removed if put(query, side, e) not in positives} & set(own[0]))
            else:
                matters |= bool(removed)
                holds |= bool(removed & set(own[0]))
    word = case["filtered"] if matters else "no"
    doubtful = case["may_be_known"] and (word == "no" or holds)
    rows, n_missing = [], 0
    for side in sides:
        for triple in positives:
            query, answer = ask(triple, side)
            own = lists.get((triple, side)) or shared.get((query, side))
            n_missing += own is None
            if own is None and case["missing"] == "drop":
                continue
            answers, scores = own or ([], None)
            row = [*triple, side]
            everyone = set(range(n_entities)) - {answer}
            for setting in SETTINGS:
                if setting == "raw" and word != "no":
                    row += [-1, -1, -1, False]
                    continue
                removed = others(triple, side) if setting == "filtered" else set()
                found = worlds(answers, scores, answer, everyone - removed, removed if doubtful else None, n_entities)
                if not found:
                    raise Impossible
                first = min(better for better, _ in found)
                last = max(better + tied for better, tied in found)
                if len(found) == 1:
                    ((better, tied),) = found
                    row += [better, tied, len(everyone - removed), False]
                else:
                    row += [first, last - first, len(everyone - removed), True]
            rows.append(tuple(row))
    return rows, n_missing, word


def random_case(rng):
    """A tiny graph and lists with every irregularity: ties, repeats, unmapped names, gaps, padding, shared lists."""
    n, m, splits = random_graph(rng)
    n = rng.randint(5, 7) if n < 6 else n
    if n > 7:  # keeps the number of completions small
        splits = {s: [(a % 7, p, b % 7) for a, p, b in rows] for s, rows in splits.items()}
        n = 7
    sides = rng.choice([("object",), ("subject",), SIDES])
    with_scores, longest = rng.random() < 0.5, rng.randint(0, n + 1)
    case = {
        "n_entities": n, "n_relations": m, "splits": splits, "sides": sides,
        "filtered": rng.choice(["no", "no", "after", "before"]), "missing": rng.choice(["drop", "bound"]),
        "may_be_known": rng.random() < 0.4, "with_scores": with_scores, "rows": [],
    }  # fmt: skip
    per_query = {side: rng.random() < 0.3 for side in sides}
    seen = set()
    for side in sides:
        for triple in dict.fromkeys(splits["test"]):
            query, answer = ask(triple, side)
            if rng.random() < 0.1 or (per_query[side] and (query, side) in seen):
                continue
            seen.add((query, side))
            answers = [rng.randrange(n) for _ in range(rng.randint(0, longest))]
            if rng.random() < 0.3:
                answers = rng.sample(range(n), n)
            if rng.random() < 0.6:
                answers.insert(rng.randint(0, len(answers)), answer)
            if rng.random() < 0.3:
                for _ in range(rng.randint(1, 2)):
                    answers.insert(rng.randint(0, len(answers)), UNMAPPED)
            scores = [float(rng.randint(0, 3)) for _ in answers] if with_scores else None
            if scores and rng.random() < 0.7:
                scores.sort(reverse=True)
            row = put(query, side, UNMAPPED) if per_query[side] else triple
            case["rows"] += [(row, side, answers, scores)] * (1 + (rng.random() < 0.1))
    rng.shuffle(case["rows"])
    return case


def dataset_of(case, **kwargs):
    splits = {name: np.array(rows, dtype=np.int64).reshape(-1, 3) for name, rows in case["splits"].items()}
    return Dataset.from_arrays(**splits, n_entities=case["n_entities"], n_relations=case["n_relations"], **kwargs)


def predictions_of(case, **facts):
    rows = case["rows"]
    return Predictions.from_arrays(
        [triple for triple, *_ in rows],
        [side for _, side, *_ in rows],
        [np.array(answers, dtype=np.int64) for _, _, answers, _ in rows],
        [scores for *_, scores in rows] if case["with_scores"] else None,
        filtered=case["filtered"],
        unmapped_may_be_known=case["may_be_known"],
        **facts,
    )


def test_random_lists_equal_all_their_completions():
    """Counts, bounds, dropped rows and both settings of random files, both sides."""
    rng, seen, n = random.Random(16), {}, size(40, 1500)
    for i in range(n):
        case = random_case(rng)
        if {side for _, side, *_ in case["rows"]} != set(case["sides"]):
            continue
        dataset, predictions = dataset_of(case), predictions_of(case)
        try:
            expected, n_missing, word = by_hand(case)
        except Impossible:
            with pytest.raises(DataError, match="remove all answers that are not entities"):
                kg.evaluate_predictions(predictions, dataset, missing=case["missing"])
            seen["impossible"] = seen.get("impossible", 0) + 1
            continue
        result = kg.evaluate_predictions(predictions, dataset, missing=case["missing"])
        assert rows_of(result) == expected, (i, case)
        dropped = n_missing if case["missing"] == "drop" else 0
        assert result.dropped == ({NO_LIST: dropped} if dropped else {})
        assert result.facts.get("unknown", {}).keys() - {"queries"} == (set() if word == "no" else {"raw"})
        better, tied = (np.array([row[j] for row in expected], dtype=float) for j in (8, 9))
        assert result["optimistic.mrr"] == pytest.approx((1 / (better + 1)).mean(), rel=1e-12)
        assert result["pessimistic.mrr"] == pytest.approx((1 / (better + tied + 1)).mean(), rel=1e-12)
        if word != "no":
            assert math.isnan(result["raw.mrr"])
            assert "filtered beforehand" in result.value("raw.mrr").reason
        for name, is_so in {
            "bounded": any(row[11] for row in expected),
            "names may be known": any(row[11] and not row[7] for row in expected) and word == "no",
            "ties": any(row[9] and not row[11] for row in expected),
            "unknown raw": word != "no",
            "missing": n_missing > 0,
            "shared": any(UNMAPPED in (t[0], t[2]) for t, *_ in case["rows"]),
            "repeated rows": "pad the last batch" in str(result.notes),
            "repeated answers": "the first place counts" in str(result.notes),
        }.items():
            seen[name] = seen.get(name, 0) + is_so
    assert len(seen) == 9
    assert min(seen.values()) >= 3, seen


def test_complete_lists_equal_the_evaluation_of_their_scores():
    """Lists of all entities with their scores give the table of `kgeval.evaluate`; the results can be compared."""
    rng = random.Random(3)
    for _ in range(size(3, 60)):
        n, m, splits = random_graph(rng)
        case = {"n_entities": n, "n_relations": m, "splits": splits}
        dataset = dataset_of(case)
        scores = np.random.default_rng(rng.randrange(10**6)).integers(0, 4, (n, m, n)).astype(float)
        sides = rng.choice([("object",), SIDES])
        protocol = Protocol(sides=sides)
        expected = kg.evaluate(lambda s, p, o, scores=scores: scores[s, p, o], dataset, protocol, progress=False)
        is_query = rng.random() < 0.5
        triples, of, answers, worth = [], [], [], []
        for side in sides:
            queries = {}
            for triple in splits["test"]:
                query, answer = ask(triple, side)
                queries.setdefault(put(query, side, UNMAPPED) if is_query else triple, query)
            for triple, query in queries.items():
                order = rng.sample(range(n), n)
                triples.append(triple)
                of.append(side)
                answers.append(order)
                worth.append([scores[put(query, side, e)] for e in order])
        predictions = Predictions.from_arrays(triples, of, answers, worth, filtered="no", source="lists")
        result = kg.evaluate_predictions(predictions, dataset)
        assert result.table.drop(columns="score").equals(expected.table.drop(columns="score"))
        assert result.table["score"].tolist() == expected.table["score"].tolist()
        assert result.protocol == expected.protocol
        assert result.facts["n_queries"] == expected.facts["n_queries"]
        for key in ("mrr", "expected.hits@2", "raw.mr", "amri", "raw.query.map", "optimistic.hits@1"):
            assert result[key] == pytest.approx(expected[key], rel=1e-12, nan_ok=True)
        if len(splits["test"]) > 1:
            kg.compare({"lists": result, "model": expected}, metrics=["mrr"])


# --- What the file does not say is asked for ---------------------------------------------------------------------


FACTS = {
    "train": [("a", "r", "b"), ("d", "r", "e")],
    "valid": [("a", "r", "c")],
    "test": [("a", "r", "d"), ("d", "r", "a")],
}


@pytest.fixture
def dataset():
    return Dataset.from_frames(**FACTS, name="five")


def lists(dataset, rows, scores=None, side="object", **facts):
    """Predictions of the objects (or subjects) of triples, by labels; ``?`` is an unmapped entity."""

    def entity(label):
        return UNMAPPED if label == "?" else int(dataset.entities.ids([label])[0])

    triples = [(entity(s), 0, entity(o)) for s, o, _ in rows]
    return Predictions.from_arrays(
        triples, side, [[entity(e) for e in answers] for *_, answers in rows], scores, **facts
    )


def counts_of(result, setting="filtered"):
    return result.table[[f"{name}_{setting}" for name in COUNTS]].to_numpy().tolist()


def test_whether_lists_were_filtered_is_asked(dataset):
    """(a r d) has the known answers b (train) and c (valid); lists without them may have been filtered."""
    given = lists(dataset, [("a", "d", ["e", "d"]), ("d", "a", ["a"])])
    with pytest.raises(DataError) as error:
        kg.evaluate_predictions(given, dataset)
    assert str(error.value) == (
        "predictions: were known answers, except the positive, removed from the lists? The file does not say it; the "
        "queries have such answers in train+valid, but the lists hold none. Set filtered= (--filtered): "
        "'no' (the known answers are still there), 'after' (they were removed from the final ranking), or 'before' "
        "(they were removed from lists that a re-ranker then ordered, which leaks test answers)"
    )
    unfiltered, after = (kg.evaluate_predictions(given, dataset, filtered=word) for word in ("no", "after"))
    assert counts_of(unfiltered) == counts_of(after) == [[1, 0, 2], [0, 0, 3]]
    assert unfiltered["raw.mrr"] == pytest.approx(0.75)
    assert counts_of(after, "raw") == [[-1, -1, -1]] * 2
    assert after.value("raw.mrr").reason.startswith("the lists were filtered beforehand, so raw ranks are unknown")


def test_lists_prove_only_what_they_hold(dataset):
    """A known answer of train says nothing of those of valid: a filter by valid alone is possible for the lists."""
    part = lists(dataset, [("a", "d", ["b", "d"]), ("d", "a", ["e", "a"])])
    with pytest.raises(DataError, match=r"and the lists hold those of train, but none of valid\. Set filtered= "):
        kg.evaluate_predictions(part, dataset)
    whole = lists(dataset, [("a", "d", ["c", "b", "d"]), ("d", "a", ["e", "a"])])
    result = kg.evaluate_predictions(whole, dataset)
    assert result.notes[0] == (
        "the lists were not filtered beforehand: the lists of 2 of 2 positives hold known answers of train+valid"
    )
    assert counts_of(result, "raw") == [[2, 0, 4], [1, 0, 4]]
    assert counts_of(result) == [[0, 0, 2], [0, 0, 3]]


def test_other_positives_in_a_list_of_a_query_prove_nothing(dataset):
    """(d r ?) is answered by a and b in test: a list of the query holds both, filtered or not."""
    dataset = Dataset.from_frames(train=[("d", "r", "e"), ("c", "r", "a")], test=[("d", "r", "a"), ("d", "r", "b")])
    with pytest.raises(DataError, match=r"such answers in train, but the lists hold none\."):
        kg.evaluate_predictions(lists(dataset, [("d", "?", ["a", "b"])]), dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = kg.evaluate_predictions(lists(dataset, [("d", "?", ["a", "b"])]), dataset, filtered="after")
    assert counts_of(result) == [[0, 0, 2], [0, 0, 2]]


def test_nothing_is_asked_where_a_filter_has_nothing_to_remove():
    dataset = Dataset.from_frames(train=[("a", "r", "b")], test=[("b", "r", "c")])
    result = kg.evaluate_predictions(lists(dataset, [("b", "c", ["a", "c"])]), dataset)
    assert result["mrr"] == result["raw.mrr"] == 0.5
    assert result.notes == ()


def test_a_leak_stays_in_the_result(dataset):
    given = lists(dataset, [("a", "d", ["e", "d"]), ("d", "a", ["a"])], filtered="before")
    with pytest.warns(kg.KgevalWarning, match="a re-ranker was given lists from which known answers had been removed"):
        result = kg.evaluate_predictions(given, dataset)
    assert "including those of test: the lists told the re-ranker which answers are wrong" in result.notes[-1]
    assert math.isnan(result["raw.hits@1"])


def test_known_answers_in_filtered_lists_are_removed_and_said(dataset):
    given = lists(dataset, [("a", "d", ["b", "d"]), ("d", "a", ["a"])])
    with pytest.warns(kg.KgevalWarning, match="the list of 1 positive holds known answers, which"):
        result = kg.evaluate_predictions(given, dataset, filtered="after")
    assert counts_of(result)[0] == [0, 0, 2]


def test_file_and_user_must_agree_about_the_filter(dataset):
    given = lists(dataset, [("a", "d", ["d"]), ("d", "a", ["a"])], filtered="after", source="x.json")
    with pytest.raises(DataError, match=r"x\.json: says filtered='after', but the argument is 'no'"):
        kg.evaluate_predictions(given, dataset, filtered="no")
    with pytest.raises(ProtocolError, match=r"x\.json: known answers were removed .* but the protocol has no filter"):
        kg.evaluate_predictions(given, dataset, Protocol(filter=()))
    with pytest.raises(ProtocolError, match="filtered must be one of 'no', 'after', 'before'; got 'yes'"):
        kg.evaluate_predictions(given, dataset, filtered="yes")


# --- Rows and positives -------------------------------------------------------------------------------------------


def test_lists_of_another_split_are_refused(dataset):
    given = lists(dataset, [("a", "d", ["d"]), ("a", "c", ["c"]), ("d", "a", ["a"])], filtered="no")
    with pytest.raises(DataError) as error:
        kg.evaluate_predictions(given, dataset)
    assert str(error.value) == (
        "predictions: 1 of 3 list is of a query that test does not ask on the object side, first row 1, ('a', 'r', "
        "'c'): it is in valid. Do they belong to another split (splits=, --splits) or another dataset?"
    )
    given = lists(dataset, [("a", "?", ["d"]), ("c", "?", ["c"]), ("b", "?", ["a"])], filtered="no")
    with pytest.raises(
        DataError, match=r"2 of 3 lists are of queries .* first row 1, \('c', 'r', \?\): no triple of test"
    ):
        kg.evaluate_predictions(given, dataset)
    assert (
        kg.evaluate_predictions(
            lists(dataset, [("a", "c", ["b", "c"])], filtered="no"), dataset, Protocol(splits="valid")
        )["raw.mr"]
        == 2
    )


def test_missing_lists_are_asked_for_then_dropped_or_bounded(dataset):
    given = lists(dataset, [("a", "d", ["d"])], filtered="no")
    with pytest.raises(DataError) as error:
        kg.evaluate_predictions(given, dataset)
    assert str(error.value) == (
        "predictions: has no list for 1 of 2 positives, first ('d', 'r', 'a') (object side). missing='drop' (--missing "
        "drop) leaves them out and counts them; missing='bound' (--missing bound) ranks them anywhere between 1 and "
        "the last"
    )
    dropped = kg.evaluate_predictions(given, dataset, missing="drop")
    assert dropped.dropped == {NO_LIST: 1}
    assert (dropped["mrr"], len(dropped.table)) == (1.0, 1)
    bound = kg.evaluate_predictions(given, dataset, missing="bound")
    assert (bound["optimistic.mr"], bound["pessimistic.mr"]) == (1.0, 2.5)  # the last filtered rank of (d r a) is 4
    assert math.isnan(bound["mr"])
    assert bound.dropped == {}
    assert bound.notes[0] == "1 of 2 positives has no list: it ranks anywhere between 1 and the last"


def test_padding_of_distributed_runs_is_not_counted_twice(dataset):
    rows = [("a", "d", ["e", "d"]), ("d", "a", ["a"]), ("a", "d", ["e", "d"])]
    with pytest.warns(kg.KgevalWarning, match="1 row repeats another row of the same triple and side, and is left out"):
        result = kg.evaluate_predictions(lists(dataset, rows, filtered="no"), dataset)
    assert result["mrr"] == 0.75
    rows[2] = ("a", "d", ["d", "e"])
    with pytest.raises(
        DataError, match=r"rows 0 and 2: \('a', 'r', 'd'\) has 2 lists on the object side that differ, and"
    ):
        kg.evaluate_predictions(lists(dataset, rows, filtered="no"), dataset)


def test_a_triple_that_the_split_repeats_may_have_its_lists_repeated():
    dataset = Dataset.from_frames(train=[("a", "r", "b")], test=[("b", "r", "c"), ("b", "r", "c")])
    for rows, ranks in (
        ([("b", "c", ["a", "c"])], [2, 2]),
        ([("b", "c", ["a", "c"])] * 2, [2, 2]),
        ([("b", "c", ["a", "c"]), ("b", "c", ["c"])], [2, 1]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = kg.evaluate_predictions(lists(dataset, rows), dataset)
        assert (result.table["better_filtered"] + 1).tolist() == ranks


def test_lists_of_a_query_that_differ_are_not_dealt_out_by_luck():
    dataset = Dataset.from_frames(train=[("d", "r", "e")], test=[("d", "r", "a"), ("d", "r", "b")])
    given = lists(dataset, [("d", "?", ["a", "b"]), ("d", "?", ["b", "a"])], filtered="no")
    with pytest.raises(DataError, match="2 lists on the object side that differ, and test has its query 2 times"):
        kg.evaluate_predictions(given, dataset)


def test_a_list_of_a_triple_and_one_of_its_query_are_too_many(dataset):
    given = lists(dataset, [("a", "d", ["d"]), ("a", "?", ["d"]), ("d", "a", ["a"])], filtered="no")
    with pytest.raises(
        DataError, match=r"rows 0 and 1: \('a', 'r', 'd'\) has a list of its own, and its query has a list"
    ):
        kg.evaluate_predictions(given, dataset)


def test_only_sides_that_the_file_answers_are_ranked(dataset):
    given = lists(dataset, [("a", "d", ["d"]), ("d", "a", ["a"])], filtered="no")
    assert kg.evaluate_predictions(given, dataset).protocol.sides == ("object",)
    with pytest.raises(ProtocolError, match="answers no query of the subject side, which the protocol names"):
        kg.evaluate_predictions(given, dataset, Protocol(sides="both"))
    both = Predictions.from_arrays(
        np.concatenate([given.triples] * 2), ["object"] * 2 + ["subject"] * 2, [[3], [0], [0], [3]], filtered="no"
    )
    assert kg.evaluate_predictions(both, dataset).protocol.sides == SIDES
    assert len(kg.evaluate_predictions(both, dataset, Protocol(sides="head")).table) == 2


def test_settings_that_predictions_cannot_have(dataset):
    given = lists(dataset, [("a", "d", ["d"]), ("d", "a", ["a"])], filtered="no")
    for protocol, text in (
        (Protocol(unseen="drop"), "with predictions, unseen must be 'rank'; got 'drop'"),
        (
            Protocol(candidates=kg.candidates.Listed(objects=[[0], [1]])),
            "predictions rank all entities; the protocol has",
        ),
    ):
        with pytest.raises(ProtocolError, match=text):
            kg.evaluate_predictions(given, dataset, protocol)
    with pytest.raises(DataError, match="predictions must be kgeval.Predictions or kgeval.GivenRanks"):
        kg.evaluate_predictions([], dataset)
    with pytest.raises(DataError, match="predictions: has no predictions"):
        kg.evaluate_predictions(Predictions.from_arrays(np.zeros((0, 3), int), "object", []), dataset)
    with pytest.raises(DataError, match="row 0: the relation has id 7; 'five' has 5 entities and 1 relations"):
        kg.evaluate_predictions(Predictions.from_arrays([[0, 7, 1]], "object", [[0]]), dataset)
    with pytest.raises(DataError, match="row 0: the subject has id -1"):
        kg.evaluate_predictions(Predictions.from_arrays([[-1, 0, 1]], "object", [[0]]), dataset)
    with pytest.raises(DataError, match="row 0: answer with id 5; 'five' has 5 entities"):
        kg.evaluate_predictions(Predictions.from_arrays([[0, 0, 1]], "object", [[5]]), dataset)


def test_lists_in_different_orders_are_no_ranking_of_a_query():
    """(0 r ?) has the answers 1 and 2, and each comes first in its own list: no ranking has both there."""
    dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=8, n_relations=1)
    for word, answers, is_one in (
        ("no", [[1, 3], [2, 4]], False),
        ("no", [[1, 3], [1, 3, 2]], True),
        ("no", [[1, 3], [2, 3]], False),
        ("after", [[1, 3, 4], [3, 2]], True),
        ("after", [[1, 3, 4], [4, 2]], False),
    ):
        given = Predictions.from_arrays(dataset["test"].array, "object", answers, filtered=word)
        result = kg.evaluate_predictions(given, dataset)
        assert ("queries" not in result.facts.get("unknown", {})) == is_one, answers
        for key in ("raw.query.precision@1", "optimistic.query.map"):
            if not is_one:
                assert math.isnan(result[key])
                assert "need one ranking per query" in result.value(key).reason or word == "after"
        assert result["optimistic.mr"] <= 2


# --- Scores ------------------------------------------------------------------------------------------------------


def test_scores_order_the_lists_and_tie(dataset):
    rows = [("a", "d", ["e", "d", "b"]), ("d", "a", ["a", "e"])]
    given = lists(dataset, rows, [[0.1, 0.5, 0.5], [0.2, 0.1]], filtered="no")
    result = kg.evaluate_predictions(given, dataset)
    assert counts_of(result, "raw") == [[0, 1, 4], [0, 0, 4]]
    assert counts_of(result) == [[0, 0, 2], [0, 0, 3]]  # b is known
    assert result.table["score"].tolist() == [0.5, 0.2]


def test_nan_scores_are_refused(dataset):
    given = lists(dataset, [("a", "d", ["e", "d"]), ("d", "a", ["a"])], [[0.1, 0.2], [math.nan]], filtered="no")
    with pytest.raises(DataError, match="predictions, row 1: an answer has score NaN"):
        kg.evaluate_predictions(given, dataset)


def test_distances_as_scores_are_noticed():
    """Twenty scores that grow down the lists, and none that falls: a list of distances, best answer first."""
    dataset = Dataset.from_arrays(test=[[0, 0, i] for i in range(1, 11)], n_entities=12, n_relations=1)
    answers = [[i, 0, 11] for i in range(1, 11)]
    given = Predictions.from_arrays(dataset["test"].array, "object", answers, [[0.1, 0.5, 0.7]] * 10, filtered="no")
    with pytest.raises(DataError, match=r"the scores increase along the lists \(20 times, and never decrease\)"):
        kg.evaluate_predictions(given, dataset)
    given = Predictions.from_arrays(dataset["test"].array, "object", answers, [[-0.1, -0.5, -0.7]] * 10, filtered="no")
    assert kg.evaluate_predictions(given, dataset)["hits@1"] == 1.0


def test_infinite_scores_and_ties_at_the_end_are_said(dataset):
    given = lists(
        dataset, [("a", "d", ["e", "d"]), ("d", "a", ["a", "e"])], [[0.5, 0.5], [1.0, -math.inf]], filtered="no"
    )
    with pytest.warns(kg.KgevalWarning) as said:
        kg.evaluate_predictions(given, dataset)
    texts = " ".join(str(warning.message) for warning in said)
    assert "1 answer has an infinite score, ranked as numbers that tie" in texts
    assert "1 positive ties with the last answers of a list that does not hold all entities" in texts


# --- What works on with a result ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [None, [[0.5, 0.4, 0.3], [0.2]]], ids=["ordered", "scored"])
def test_results_of_lists_save_and_explain(dataset, scores, tmp_path):
    given = lists(dataset, [("a", "d", ["e", "b", "d"]), ("d", "a", ["b"])], scores, filtered="no", source="x (toy)")
    result = kg.evaluate_predictions(given, dataset)
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    assert rows_of(loaded) == rows_of(result)
    assert loaded["optimistic.mrr"] == result["optimistic.mrr"]
    assert result.facts["scorer"] == "x (toy)"
    shown = result.explain("a", "r", "d")
    assert shown[["candidate", "stands", "known_in", "counts"]].to_numpy().tolist() == [
        ["e", "above", "", True], ["b", "above", "train", False], ["d", "answer", "test", False],
    ]  # fmt: skip
    assert shown["score"].tolist() == ([-1, -2, -3] if scores is None else [0.5, 0.4, 0.3])
    with pytest.raises(
        DataError, match=r"the list of \('d', 'r', 'a'\) on the object side, 1 answer, lacks the positive"
    ):
        result.explain("d", "r", "a")
    assert result.by("relation", metrics="mrr", ties="optimistic").loc["r", "mrr"] == result["optimistic.mrr"]


@pytest.mark.thorough
def test_results_of_lists_have_a_page(dataset, tmp_path):
    given = lists(dataset, [("a", "d", ["e", "b", "d"]), ("d", "a", ["b"])], filtered="no")
    kg.report.write_page(kg.evaluate_predictions(given, dataset), tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 0


def test_names_that_are_no_entities_cannot_be_explained(dataset):
    given = lists(dataset, [("a", "d", ["?", "d"]), ("d", "a", ["a"])], filtered="no")
    result = kg.evaluate_predictions(given, dataset)
    assert counts_of(result, "raw") == [[1, 0, 4], [0, 0, 4]]
    with pytest.raises(DataError, match="holds 1 name that no entity has"):
        result.explain("a", "r", "d")


def test_names_that_may_be_known_answers_leave_a_filtered_rank_open(dataset):
    """``?`` above d may be b or c, known answers of (a r ?): the filtered rank is 1 or 2, the raw rank is 2."""
    given = lists(dataset, [("a", "d", ["?", "d"]), ("d", "a", ["a"])], filtered="no", unmapped_may_be_known=True)
    result = kg.evaluate_predictions(given, dataset)
    assert (result["raw.object.mr"], result["optimistic.mr"], result["pessimistic.mr"]) == (1.5, 1.0, 1.5)
    assert math.isnan(result["mr"])
    assert result.notes[0] == (
        "1 of 2 filtered ranks depends on unmatched names above the positive, which may be known answers"
    )


def test_names_that_must_be_known_answers_leave_nothing_open():
    """Three names stand for the entities 0, 2 and 3, of which 2 is known: two rivals are above 1, and 4 ties."""
    dataset = Dataset.from_arrays(train=[[0, 0, 2]], test=[[0, 0, 1]], n_entities=5, n_relations=1)
    answers, scores = [[UNMAPPED] * 3 + [1, 4]], [[0.9, 0.8, 0.7, 0.5, 0.5]]
    given = Predictions.from_arrays([[0, 0, 1]], "object", answers, scores, filtered="no", unmapped_may_be_known=True)
    result = kg.evaluate_predictions(given, dataset)
    assert (result["mr"], result["raw.mr"]) == (3.5, 4.5)


def test_predictions_of_labels(dataset):
    given = Predictions.from_labels(
        {("a", "r", None): {"Rome": 0.9, "b": 0.8, "c": 0.5, "d": 0.5}, ("d", "r", None): {"e": 1.0}}, dataset
    )
    assert given.notes == ("1 of 5 answers are not labels of entities; they count as wrong answers",)
    result = kg.evaluate_predictions(given, dataset)
    assert counts_of(result, "raw") == [[2, 1, 4], [1, 3, 4]]
    assert counts_of(result) == [[1, 0, 2], [0, 3, 3]]
    for query, text in (
        (("a", "r", "b"), r"expected queries \(s, p, None\) or \(None, p, o\)"),
        ((None, "r", None), r"expected queries \(s, p, None\) or \(None, p, o\)"),
        (("x", "r", None), "'x' is not in 'five'"),
        ((None, "s", "a"), "'s' is not in 'five'"),
    ):
        with pytest.raises(DataError, match=text):
            Predictions.from_labels({query: ["a"]}, dataset)
    with pytest.raises(DataError, match="1 of 2 queries have scores; give scores for all queries or none"):
        Predictions.from_labels({("a", "r", None): {"b": 1.0}, ("d", "r", None): ["b"]}, dataset)


def test_simkgc_gives_its_published_hits(shared):
    """Forward predictions of SimKGC on WN18RR: both bounds of hits@1 and hits@3 are its metrics, to 4 decimals."""
    dataset = kg.read_dataset(shared / "data" / "wn18rr")
    folder = shared / "data" / "formats" / "simkgc-wn18rr"
    result = kg.evaluate_predictions(kg.read_predictions(folder / "forward_predictions.json", dataset), dataset)
    for ties in ("optimistic", "realistic", "pessimistic"):
        assert round(result[f"{ties}.hits@1"], 4) == 0.6308
        assert round(result[f"{ties}.hits@3"], 4) == 0.7664
    assert round(result["pessimistic.mrr"], 4) == 0.6917
    assert round(result["optimistic.mrr"], 4) == 0.7501
    assert math.isnan(result["mrr"])
    assert math.isnan(result["raw.hits@1"])


# --- Ranks that another tool computed ------------------------------------------------------------------------------


def test_given_ranks_equal_the_ranks_of_an_evaluation():
    """The realistic ranks of an evaluation, given as numbers, give its table of filtered (or raw) ranks back."""
    rng = random.Random(5)
    for i in range(size(4, 80)):
        n, m, splits = random_graph(rng)
        dataset = dataset_of({"n_entities": n, "n_relations": m, "splits": splits})
        scores = np.random.default_rng(i).integers(0, 30, (n, m, n)).astype(float)
        expected = kg.evaluate(lambda s, p, o, scores=scores: scores[s, p, o], dataset, progress=False)
        table, setting = expected.table, rng.choice(SETTINGS)
        other = {"raw": "filtered", "filtered": "raw"}[setting]
        has_counts, order = rng.random() < 0.5, np.array(rng.sample(range(len(table)), len(table)))
        given = GivenRanks.from_arrays(
            table[["s", "p", "o"]].to_numpy()[order],
            table["side"].to_numpy()[order],
            expected.rank_table.ranks(setting)[order],
            table[f"rivals_{setting}"].to_numpy()[order] + 1 if has_counts else None,
            filtered="no" if setting == "raw" else "after",
        )
        duplicates = table.duplicated(["s", "p", "o", "side"]).any()
        result = kg.evaluate_predictions(given, dataset)
        assert duplicates or len(result.table) == len(table)
        matters = (table["rivals_raw"] != table["rivals_filtered"]).any()
        for name in ("mrr", "mr", "hits@1", "hits@3", "gmr", "object.median_rank"):
            value, key = expected[f"{setting}.{name}"], f"{setting}.{name}"
            assert result[key] == pytest.approx(value, rel=1e-12)
            if matters:
                assert math.isnan(result[f"{other}.{name}"])
                assert f"the file has {setting} ranks only" in result.value(f"{other}.{name}").reason
            else:
                assert result[f"{other}.{name}"] == pytest.approx(value, rel=1e-12)
        assert math.isnan(result["optimistic.mrr"])
        assert "tie policy of the tool that computed" in result.value(f"{setting}.optimistic.mrr").reason
        amri = result[f"{setting}.amri"]
        assert amri == pytest.approx(expected[f"{setting}.amri"], nan_ok=True) if has_counts else math.isnan(amri)
        if has_counts:
            assert result.protocol == expected.protocol
        assert result.table["score"].isna().all()


@pytest.fixture
def ranks(dataset):
    def made(values, n_candidates=None, rows=((0, 0, 3), (3, 0, 0)), **facts):
        return GivenRanks.from_arrays(rows, "object", values, n_candidates, **{"filtered": "after", **facts})

    return made


def test_ranks_that_are_impossible(dataset, ranks):
    for values, n, text in (
        ([1, 0], None, "ranks, row 1: rank 0 on the object side; ranks must be at least 1, and multiples of 0.5"),
        ([1.25, 1], None, "row 0: rank 1.25"),
        ([1, math.nan], None, "row 1: rank nan"),
        ([1, math.inf], None, "row 1: rank inf"),
        ([1, 6], None, "row 1: rank 6 on the object side is beyond the number of candidates: 'five' has 5 entities"),
        ([1, 3], [3, 2], "row 1: rank 3 on the object side is beyond the number of candidates: n_candidates is 2"),
        ([1, 1.5], [3, 1], "row 1: rank 1.5"),
    ):
        with pytest.raises(DataError, match=text):
            kg.evaluate_predictions(ranks(values, n), dataset)


def test_whether_ranks_are_filtered_is_asked(dataset, ranks):
    with pytest.raises(DataError, match=r"are these raw or filtered ranks\? .* other known answers in train\+valid\."):
        kg.evaluate_predictions(ranks([1, 2], filtered=None), dataset)
    assert kg.evaluate_predictions(ranks([1, 2], filtered=None), dataset, filtered="no")["raw.mr"] == 1.5
    with pytest.warns(kg.KgevalWarning, match="a re-ranker was given lists"):
        kg.evaluate_predictions(ranks([1, 2], filtered="before"), dataset)


def test_half_ranks_are_realistic_ties(dataset, ranks):
    result = kg.evaluate_predictions(ranks([1.5, 2]), dataset)
    assert result.table[["better_filtered", "tied_filtered", "rivals_filtered"]].to_numpy().tolist() == [
        [0, 1, -1], [1, 0, -1],
    ]  # fmt: skip
    assert result["mr"] == 1.75
    assert "does not say among how many candidates" in result.value("amri").reason
    assert "so kgeval assumes that all entities are candidates" in result.notes[0]


def test_ranks_among_other_candidates_do_not_pass_as_ranks_among_all(dataset, ranks):
    """Among 3 and 4 filtered candidates are all entities; any other number makes another protocol."""
    everyone, few = (kg.evaluate_predictions(ranks([1, 2], n), dataset) for n in ([3, 4], [2, 2]))
    assert everyone.protocol.candidates == kg.candidates.All()
    assert few.protocol.candidates != kg.candidates.All()
    assert "the file ranks among 2 candidates, not among all entities" in few.notes[0]
    with pytest.raises(ProtocolError, match="candidates"):
        kg.compare({"A": everyone, "B": few}, metrics=["mrr"])


def test_missing_and_repeated_ranks(dataset, ranks):
    one = ((0, 0, 3),)
    with pytest.raises(DataError, match="ranks: has no rank for 1 of 2 positives, first"):
        kg.evaluate_predictions(ranks([1], rows=one), dataset)
    assert kg.evaluate_predictions(ranks([1], rows=one), dataset, missing="drop").dropped == {NO_RANK: 1}
    with pytest.raises(DataError, match="missing='bound' needs the number of candidates of 1 positive without a rank"):
        kg.evaluate_predictions(ranks([1], rows=one), dataset, missing="bound")
    bound = kg.evaluate_predictions(ranks([1], 3, rows=one), dataset, missing="bound")
    assert counts_of(bound) == [[0, 0, 2], [0, 3, 3]]
    assert bound.table["bounded_filtered"].tolist() == [False, True]
    rows = ((0, 0, 3), (3, 0, 0), (0, 0, 3))
    with pytest.warns(kg.KgevalWarning, match="1 row repeats another row"):
        assert kg.evaluate_predictions(ranks([1, 2, 1], rows=rows), dataset)["mr"] == 1.5
    with pytest.raises(DataError, match=r"rows 0 and 2: \('a', 'r', 'd'\) has 2 ranks on the object side that differ"):
        kg.evaluate_predictions(ranks([1, 2, 2], rows=rows), dataset)
    with pytest.raises(DataError, match="row 0: the object has id -1"):
        kg.evaluate_predictions(ranks([1], rows=((0, 0, -1),)), dataset)


def test_given_ranks_have_no_rivals_to_explain(dataset, ranks, tmp_path):
    result = kg.evaluate_predictions(ranks([1, 2]), dataset)
    with pytest.raises(DataError, match="was computed by another tool, and the file of ranks does not name the rivals"):
        result.explain("a", "r", "d")
    result.save(tmp_path / "ranks.kgeval")
    assert kg.load_result(tmp_path / "ranks.kgeval")["mrr"] == result["mrr"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: Predictions.from_arrays([[0.5, 0, 1]], "object", [[0]]),
            "triples must hold integer ids; got dtype float",
        ),
        (
            lambda: Predictions.from_arrays([[0, 0, 1]], "object", [[0]], [[0.1, 0.2]]),
            "expected one score for each answer",
        ),
        (lambda: Predictions.from_arrays([[0, 0, 1]], "object", [[0], [1]]), "1 triples, but 2 lists of answers"),
        (
            lambda: GivenRanks.from_arrays([[0, 0, 1]], "object", [1, 2]),
            r"ranks must have shape \(1,\), one per triple",
        ),
    ],
)
def test_arrays_of_the_wrong_shape(make, text):
    with pytest.raises(DataError, match=text):
        make()


def test_few_scores_that_grow_are_said(dataset):
    """Fewer than twenty may grow by accident, or be distances: then the ranks are those of the reversed lists."""
    given = lists(dataset, [("a", "d", ["e", "d"]), ("d", "a", ["a"])], [[1.0, 2.0], [0.5]], filtered="no")
    with pytest.warns(kg.KgevalWarning, match="the scores increase along the lists and never decrease"):
        assert kg.evaluate_predictions(given, dataset)["mrr"] == 1


def test_unfiltered_lists_without_known_answers_are_said(dataset):
    given = [("a", "d", ["e", "d"]), ("d", "a", ["a"])]
    said = (
        "filtered='no', but no list holds a known answer of train+valid except the positive: if known answers were "
        "removed, the raw numbers are too good"
    )
    assert said in kg.evaluate_predictions(lists(dataset, given), dataset, filtered="no").notes
    given[0] = ("a", "d", ["b", "d"])
    assert said not in kg.evaluate_predictions(lists(dataset, given), dataset, filtered="no").notes


def test_raw_ranks_that_are_called_filtered_are_noticed(dataset):
    """(a r d) has 3 candidates after the filter, of 5 entities: rank 4 is no filtered rank."""
    triples = dataset["test"].array
    given = GivenRanks.from_arrays(triples, "object", [4, 2], source="ranks.tsv")
    with pytest.raises(DataError) as error:
        kg.evaluate_predictions(given, dataset, filtered="after")
    assert str(error.value) == (
        "ranks.tsv, row 0: rank 4 on the object side, but the filter (train+valid+test) leaves 3 candidates. If the "
        "ranks are raw, say it: filtered='no' (--filtered no); if other splits were filtered, name them: "
        "filter= (--filter)"
    )
    assert kg.evaluate_predictions(given, dataset, filtered="no")["raw.mr"] == 3
    assert kg.evaluate_predictions(given, dataset, Protocol(filter=("train",)), filtered="after")["mr"] == 3


def test_plain_values_are_sent_to_from_arrays(dataset):
    """The constructors take arrays; a word for the side, or a list of lists, is what the class methods take."""
    triples = dataset["test"].array
    with pytest.raises(
        DataError, match=r"GivenRanks\(...\) takes numpy arrays; GivenRanks.from_arrays also takes lists"
    ):
        GivenRanks(triples, "object", np.ones(len(triples)))
    with pytest.raises(DataError, match="Predictions.from_arrays and .from_labels take lists of answers"):
        Predictions(triples, np.array(["object"] * len(triples)), [[1]] * len(triples))


# --- Lists with times and qualifiers ------------------------------------------------------------------------------


KEYS = [(), ("time",), ("qualifiers",), ("time", "qualifiers")]


def lists_of_facts(facts, order_of, is_query=False):
    """One list for each fact of test, or for each query: (triple, side, answers, time, qualifiers)."""
    made = {}
    for *triple, time, qualifiers in facts["test"]:
        for side in SIDES:
            query, _ = ask(triple, side)
            row = put(query, side, UNMAPPED) if is_query else tuple(triple)
            answers = order_of(lambda e, q=query, on=side, t=time: score_of(*put(q, on, e), t))
            made.setdefault((row, side, time, qualifiers), answers)
    return [(*row[:2], answers, *row[2:]) for row, answers in made.items()]


def keyed_predictions(lists, scores=None, **facts):
    """The time is sometimes a text: it is compared as a number."""
    columns = {
        "time": [str(row[3]) if row[3] == 9 else row[3] for row in lists],
        "qualifiers": [row[4] for row in lists],
    }
    triples, sides, answers = ([row[i] for row in lists] for i in range(3))
    return Predictions.from_arrays(triples, sides, answers, scores, columns=columns, **facts)


@pytest.mark.parametrize("seed", light(range(100), 4))
def test_complete_lists_with_times_equal_a_loop(seed):
    """Lists of all entities with their scores, by query or by positive, for every key: the loop's counts."""
    facts, rng = random_facts(seed), random.Random(seed)
    dataset = as_dataset(facts)
    made = lists_of_facts(facts, lambda score: [(e, score(e)) for e in range(N)], is_query=seed % 2 == 0)
    rng.shuffle(made)
    rows = [(*row[:2], [e for e, _ in row[2]], *row[3:]) for row in made]
    predictions = keyed_predictions(rows, scores=[[score for _, score in row[2]] for row in made], filtered="no")
    for key in KEYS:
        result = kg.evaluate_predictions(predictions, dataset, Protocol(filter_by=key))
        wanted = loop(facts, key, True)
        assert ranked(result) == wanted, key
        assert math.isnan(result["query.map"])
        assert "different times or qualifiers" in result.value("query.map").reason
        queries = {(ask(row[:3], side)[0], side, *row[3:]) for row in facts["test"] for side in SIDES}
        assert result.facts["n_queries"] == len(queries)
        for (i, side), counts in wanted.items():
            s, p, o, time, _ = facts["test"][i]
            n_facts = len({row for row in facts["test"] if row[:4] == (s, p, o, time)})  # the result holds no pairs
            if time is not None and n_facts == 1:  # `given` asks for no missing value
                attrs = result.explain(str(s), str(p), str(o), side, given={"time": time}).attrs
                found = [attrs[f"n_{name}"] for name in ("above", "tied", "above_counting", "tied_counting")]
                assert found == [counts[j] for j in (0, 1, 3, 4)]


@pytest.mark.parametrize("seed", light(range(100), 8))
def test_partial_lists_with_times_equal_a_loop(seed):
    """Answers in any order, some left out; a filter by the key may have removed the known ones before."""
    facts, rng = random_facts(seed), random.Random(seed)
    key, dataset = KEYS[seed % 4], as_dataset(facts)
    places = [{"time": 3, "qualifiers": 4}[name] for name in key]
    known = {(*row[:3], *(row[i] for i in places)) for rows in facts.values() for row in rows}
    is_query = seed % 8 > 3  # such a list keeps the answers of all positives of its query
    made = lists_of_facts(facts, lambda _: rng.sample(range(N), rng.randint(1, N)), is_query)

    def is_known(row, side, entity):
        return (*put(ask(row[:3], side)[0], side, entity), *(row[i] for i in places)) in known

    def stays(row, side, entity):
        query, answer = ask(row[:3], side)
        kept = {(*put(query, side, entity), *row[3:])} & set(facts["test"]) if is_query else entity == answer
        return bool(kept) or not is_known(row, side, entity)

    without = [(t, side, [e for e in part if stays((*t, *at), side, e)], *at) for t, side, part, *at in made]
    expected = []
    for side in SIDES:
        for row in facts["test"]:
            query, answer = ask(row[:3], side)
            named = put(query, side, UNMAPPED if is_query else answer)
            (own,) = (part for t, of, part, *at in made if (t, of, *at) == (named, side, *row[3:]))
            for removed in (set(), {e for e in range(N) if e != answer and is_known(row, side, e)}):
                counting = [e for e in own if e not in removed]
                n_rivals = N - 1 - len(removed)
                better = counting.index(answer) if answer in counting else len(counting)
                expected.append((better, 0 if answer in counting else n_rivals - better, n_rivals))
    protocol = Protocol(filter_by=key)
    result = kg.evaluate_predictions(keyed_predictions(made), dataset, protocol, filtered="no")
    assert [tuple(counts) for counts in counts_of(result, "raw")] == expected[::2]
    assert [tuple(counts) for counts in counts_of(result)] == expected[1::2]
    after = kg.evaluate_predictions(keyed_predictions(without, filtered="after"), dataset, protocol)
    assert [tuple(counts) for counts in counts_of(after)] == expected[1::2]
    assert not any("known answers were removed, but" in note for note in after.notes)
    assert not all(stays((*t, *at), side, e) for t, side, _, *at in made for e in range(N))
    with pytest.raises(DataError, match="were known answers, except the positive, removed from the lists"):
        kg.evaluate_predictions(keyed_predictions(without), dataset, protocol)


@pytest.mark.parametrize("seed", light(range(100), 4))
def test_given_ranks_with_times_equal_a_loop(seed):
    """Filtered ranks belong to the facts of their time; the rivals that remain are those of the key."""
    facts = random_facts(seed)
    for key in KEYS:
        wanted = loop(facts, key, True)
        rows = {(*facts["test"][i], side): counts for (i, side), counts in wanted.items()}
        order = random.Random(seed).sample([*rows], len(rows))
        given = GivenRanks.from_arrays(
            [row[:3] for row in order], [row[5] for row in order],
            [1 + rows[row][3] + rows[row][4] / 2 for row in order], [1 + rows[row][5] for row in order],
            columns={"time": [row[3] for row in order], "qualifiers": [row[4] for row in order]}, filtered="after",
        )  # fmt: skip
        result = kg.evaluate_predictions(given, as_dataset(facts), Protocol(filter_by=key))
        assert result.table["rivals_filtered"].tolist() == [
            wanted[i, side][5] for side in SIDES for i in range(len(facts["test"]))
        ]
        exact = [1 + counts[3] + counts[4] / 2 for counts in wanted.values()]
        assert result["mr"] == pytest.approx(np.mean(exact), rel=1e-12)
        assert result["amri"] == pytest.approx(
            1 - (np.mean(exact) - 1) / np.mean([counts[5] / 2 for counts in wanted.values()]), rel=1e-12
        )


DATED = Dataset.from_arrays(
    train=[[0, 0, 1]], test=[[0, 0, 2], [0, 0, 3]], n_entities=4, n_relations=1,
    columns={"train": {"time": [1]}, "test": {"time": [1, 2]}},
)  # fmt: skip


def test_lists_are_used_at_their_time_only():
    """(0 0 ?) at time 1 and at time 2 are two queries; a list of another time is refused, and so is an unknown time."""

    def at(*times, **more):
        given = Predictions.from_arrays(
            [[0, 0, -1]] * 2, "object", [[1, 0, 2], [2, 1, 3]], columns={"time": times}, filtered="no"
        )
        return kg.evaluate_predictions(given, DATED, Protocol(filter_by="time"), **more)

    assert counts_of(at(1, 2)) == [[1, 0, 2], [2, 0, 3]]
    assert counts_of(at("2", 1)) == [[0, 0, 2], [3, 0, 3]]
    with pytest.raises(DataError, match=r"rows 0 and 1: \(.*\) \(time 2\) has 2 lists on the object side that differ"):
        at(2, 2)
    with pytest.raises(DataError, match=r"^predictions, row 1: no fact of the dataset has the time 7$"):
        at(1, 7)
    assert at(1, 2).explain("0", "0", "3", "object", given={"time": 2})["known_in"].tolist() == ["", "", "test"]
    own = Predictions.from_arrays([[0, 0, 2]], "object", [[2]], columns={"time": [2]}, filtered="no")
    with pytest.raises(DataError, match=r"first row 0, \('0', '0', '2'\) \(time 2\): no split has it\. Do they"):
        kg.evaluate_predictions(own, DATED, Protocol(filter_by=()))


def test_times_are_aligned_by_their_index():
    """A Series in another order belongs to the rows that its index names, as ranks do."""
    frame = pd.DataFrame({"rank": [1.0, 2.0], "time": [1, 2]}, index=["x", "y"])
    triples = pd.DataFrame(DATED["test"].array, index=["x", "y"])
    given = GivenRanks.from_arrays(
        triples, "object", frame["rank"], columns={"time": frame["time"][::-1]}, filtered="after"
    )
    result = kg.evaluate_predictions(given, DATED, Protocol(filter_by="time"))
    assert result.table["better_filtered"].tolist() == [0, 1]


def test_a_filter_of_any_time_could_have_removed_answers_of_other_times():
    """The list of a query at a time keeps the answers of its positives, not those of other times."""
    dataset = Dataset.from_arrays(
        test=[[0, 0, 1], [0, 0, 2], [0, 0, 3]], n_entities=5, n_relations=1, columns={"test": {"time": [1, 1, 2]}}
    )
    rows = {"columns": {"time": [1, 2]}}
    without, holding = (
        Predictions.from_arrays([[0, 0, -1]] * 2, "object", part, **rows)
        for part in ([[4, 2, 1], [0, 3]], [[3, 1, 2], [2, 1, 3]])
    )
    assert counts_of(kg.evaluate_predictions(without, dataset, Protocol(filter_by="time"))) == [
        [1, 0, 3], [1, 0, 3], [1, 0, 4],
    ]  # fmt: skip
    with pytest.raises(DataError, match="such answers in test, but the lists hold none"):
        kg.evaluate_predictions(without, dataset, Protocol(filter_by=()))
    result = kg.evaluate_predictions(holding, dataset, Protocol(filter_by=()))
    assert "the lists of 3 of 3 positives hold known answers of test" in result.notes[0]
    assert counts_of(result) == [[0, 0, 2]] * 3
    assert counts_of(result, "raw") == [[1, 0, 4], [2, 0, 4], [2, 0, 4]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time": [1]}, r"^predictions: columns\['time'\]: expected one value for each of 2 triples; got 1$"),
        ({"time": "12"}, r"columns\['time'\]: expected one value for each of 2 triples; got str '12'"),
        ([1, 2], r"^columns: expected a dict such as \{'time': \[183, 184\]\}; got list"),
        ({"weight": [1, 2]}, "has no column 'weight'; its further columns: time"),
    ],
)
def test_wrong_columns_are_refused(columns, message):
    with pytest.raises(DataError, match=message):
        kg.evaluate_predictions(
            Predictions.from_arrays(DATED["test"].array, "object", [[2], [3]], columns=columns),
            DATED,
            Protocol(filter_by=()),
        )
