"""Ranks from a table of scored triples: against loops and sets, and every table that must be refused."""

import random

import numpy as np
import pandas as pd
import pytest
from grids import light, size
from oracle import metric

import kgeval
from kgeval import DataError, Dataset, Protocol, ProtocolError, ScoreError, evaluate_scores, read_scores

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SIDES = ("subject", "object")
COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]
METRICS = ("mr", "mrr", "hits@1", "hits@2", "hits@5", "gmr", "median_rank", "hmr")
POLICIES = ("optimistic", "pessimistic", "realistic", "expected")
NUMBERS = [(name, policy) for name in METRICS for policy in POLICIES]
NO_NEGATIVES = "the positive has no listed negative on this side"
NOTHING = "no positive has a negative in the table; add triples that differ from a positive in one entity"


def frame(rows, columns="spo"):
    return pd.DataFrame([row[: len(columns)] for row in rows], columns=list(columns))


def scored(rows):
    return pd.DataFrame(rows, columns=["s", "p", "o", "score"])


def by_hand(score_of, splits, protocol, default):
    """Rows (s, p, o, side, split, score, counts) side by side, and how many have no negative.

    A side on which no positive has an unknown negative is not ranked.
    """
    known = {triple for split in protocol.filter for triple in splits[split]}
    rows, n_without = [], 0
    for side in protocol.sides:
        of_side, has_negatives = [], False
        for split in protocol.splits:
            for s, p, o in splits[split]:
                fixed = (p, o) if side == "subject" else (s, p)
                rivals = {t for t in score_of if (t[1:] if side == "subject" else t[:2]) == fixed} - {(s, p, o)}
                counts = []
                for setting in (rivals, rivals - known):
                    scores, own = [score_of[t] for t in setting], score_of[s, p, o]
                    counts += [sum(x > own for x in scores), sum(x == own for x in scores), len(scores)]
                has_negatives |= bool(rivals - known)
                if rivals:
                    of_side.append((s, p, o, side, split, score_of[s, p, o], *counts))
        of_side = of_side if has_negatives else []
        n_without += sum(len(splits[split]) for split in protocol.splits) - len(of_side)
        rows += of_side
    if default:  # a side without any negative is not asked
        asked = {row[3] for row in rows}
        n_without -= sum(len(splits[split]) for side in SIDES if side not in asked for split in protocol.splits)
    return rows, n_without


def random_case(rng):
    """A dataset, a table of scores for it, and a protocol or None."""
    entities, relations = [f"e{i}" for i in range(rng.randint(2, 7))], ["p", "q"][: rng.randint(1, 2)]
    if rng.random() < 0.15:
        entities, relations = [f"e{i}" for i in range(16)], ["p"]  # queries of more than eight positives
    everything = [(s, p, o) for s in entities for p in relations for o in entities]
    names = [split for split in ("train", "valid") if rng.random() < 0.7] + ["test"]
    most = 60 if len(entities) == 16 else 6
    splits = {split: rng.choices(everything, k=rng.randint(1, most)) for split in names}
    protocol = None
    if rng.random() < 0.7:
        sides, asked = rng.choice([*SIDES, SIDES]), rng.sample(names, rng.randint(1, len(names)))
        known = rng.choice([None, (), names, rng.sample(names, rng.randint(0, len(names)))])
        protocol = Protocol(sides=sides, splits=asked, filter=known)
    positives = {t for split in (protocol or Protocol()).splits for t in splits[split]}
    listed = positives | set(rng.sample(everything, rng.randint(0, len(everything))))
    if rng.random() < 0.3:  # negatives of one side only
        listed = positives | {t for t in listed if any(t[:2] == other[:2] for other in positives)}
    values = rng.choice(
        [[0.0], [0.0, 1.0], [-1.0, -0.0, 0.0, 2.5, np.inf, -np.inf], [i / 7 for i in range(99)], [1, 2]]
    )
    table = [(*t, rng.choice(values)) for t in listed]
    rng.shuffle(table)
    return splits, table, protocol


@pytest.mark.parametrize("block", light(range(20), 1))
def test_random_tables_equal_a_computation_by_sets(block):
    """20 random tables: the ranks row by row, what is dropped, and metrics drawn from all, under all tie policies."""
    rng, seen = random.Random(block), set()
    for _ in range(size(6, 20)):
        splits, table, protocol = random_case(rng)
        labels = [frame(splits[split]) if split in splits else None for split in ("train", "valid", "test")]
        dataset = Dataset.from_frames(train=labels[0], valid=labels[1], test=labels[2])
        mentioned = {t[i] for rows in splits.values() for t in rows for i in (0, 2)}
        relations = {t[1] for rows in splits.values() for t in rows}
        table = [row for row in table if {row[0], row[2]} <= mentioned and row[1] in relations]
        asked = (protocol or Protocol()).resolved(dataset)
        expected, n_without = by_hand({row[:3]: row[3] for row in table}, splits, asked, protocol is None)
        if not expected:
            with pytest.raises(DataError, match=NOTHING):
                evaluate_scores(scored(table), dataset, protocol, lists="query")
            seen.add("nothing")
            continue
        given = protocol or Protocol(sides={row[3] for row in expected})
        result = evaluate_scores(scored(table), dataset, given, lists="query")
        found = result.ranks(labels=True)[["s", "p", "o", "side", "split", "score", *COUNTS]]
        assert list(found.itertuples(index=False, name=None)) == expected
        assert result.dropped == ({NO_NEGATIVES: n_without} if n_without else {})
        assert result.facts["n_read"] == len(expected) + n_without
        for setting, at in (("raw", 6), ("filtered", 9)):
            for side in ("both", *result.protocol.sides):
                counts = [row[at : at + 3] for row in expected if side in ("both", row[3])]
                for name, policy in rng.sample(NUMBERS, 4):
                    hand = metric(name, counts, policy)
                    hand = float("nan") if hand is None else float(hand)
                    value = result[f"{setting}.{side}.{policy}.{name}"]
                    assert value == pytest.approx(hand, rel=1e-12, nan_ok=True)
        features = {
            "tie": any(row[7] for row in expected),
            "filter": any(row[8] > row[11] for row in expected),
            "dropped": n_without > 0,
            "default": protocol is None,
            "one side": len(result.protocol.sides) == 1,
            "two splits": len(asked.splits) > 1,
        }
        seen |= {name for name, is_so in features.items() if is_so}
    assert seen >= {"tie", "filter", "dropped", "default", "one side", "two splits"}


FACTS = {"train": [("a", "r", "b")], "test": [("a", "r", "c"), ("d", "r", "c")]}
TABLE = [("a", "r", "c", 0.5), ("a", "r", "b", 0.9), ("a", "r", "d", 0.5), ("b", "r", "c", 0.7), ("d", "r", "c", 0.1)]


@pytest.fixture
def dataset():
    return Dataset.from_frames(train=frame(FACTS["train"]), test=frame(FACTS["test"]), name="four")


def test_small_table_by_hand(dataset):
    """(a r c) .5 as object: b .9 above it but known, d .5 ties: filtered 1 of 1 tied; as subject: b .7 above, d known.

    (d r c) .1 has no other object listed; as subject: a .5 (known) and b .7 are above it.
    """
    result = evaluate_scores(scored(TABLE), dataset, Protocol(sides="both"), lists="query")
    rows = result.table[["side", "score", *COUNTS]].itertuples(index=False, name=None)
    assert list(rows) == [
        ("subject", 0.5, 1, 0, 2, 1, 0, 1),
        ("subject", 0.1, 2, 0, 2, 1, 0, 1),
        ("object", 0.5, 1, 1, 2, 0, 1, 1),
    ]
    assert (result.dropped, result.facts["n_read"]) == ({NO_NEGATIVES: 1}, 4)
    assert [result[f"object.{ties}.mrr"] for ties in POLICIES] == [1.0, 0.5, 1 / 1.5, 0.75]
    candidates = result.protocol.candidates
    assert (candidates.kind, len(candidates.digest)) == ("listed", 64)
    assert result.protocol == Protocol(SIDES, ("train", "test"), "rank", ("test",), candidates, filter_by=())
    assert (result.facts["n_triples"], result.facts["scorer"], result.facts["n_unseen"]) == (2, "scores", 2)


def test_side_without_negatives_is_dropped_only_if_it_was_asked_for(dataset):
    """By default only the object side is ranked; asked for both sides, the other is kept, empty and counted."""
    table = scored([row for row in TABLE if row[0] == "a"] + [("d", "q", "c", 1.0)])
    few = Dataset.from_frames(train=frame([("a", "r", "b"), ("d", "q", "c")]), test=frame(FACTS["test"][:1]))
    assert evaluate_scores(table, few).protocol.sides == ("object",)
    result = evaluate_scores(table, few, Protocol(sides="both"))
    assert (result.protocol.sides, result.dropped, result.facts["n_read"]) == (SIDES, {NO_NEGATIVES: 1}, 2)
    assert result["both.mr"] == result["object.mr"] == 1.5
    assert result.value("subject.mr").reason == "no triples"
    with pytest.raises(DataError, match=NOTHING):
        evaluate_scores(table, few, Protocol(sides="subject"))


@pytest.mark.parametrize("place", range(6))
def test_constant_scores_are_chance_wherever_the_positive_stands(place):
    """Six equal scores: rank 3.5 realistic, 1/6 expected hits@1, whichever row is the positive's (traps 1 and 2)."""
    rows = [("a", "r", label, 0.25) for label in "bcdef"]
    rows.insert(place, ("a", "r", "a", 0.25))
    result = evaluate_scores(
        scored(rows),
        Dataset.from_frames(test=frame(rows[place : place + 1]), train=frame([("b", "r", x) for x in "cdef"])),
    )
    assert (result["mr"], result["amri"], result["expected.hits@1"]) == (3.5, 0.0, pytest.approx(1 / 6))


def test_order_and_names_of_columns_do_not_matter(dataset):
    """Shuffled rows and columns under other names, and categories, give the same table."""
    protocol = Protocol(sides="both")
    expected = evaluate_scores(scored(TABLE), dataset, protocol, lists="query").table
    shuffled = scored(TABLE[::-1])[["score", "o", "s", "p"]]
    renamed = shuffled.rename(columns={"s": "Head", "p": "relation", "o": "TAIL", "score": "Score"}).assign(note="x")
    for table in (shuffled, renamed, shuffled.astype({"s": "category", "o": "string"})):
        assert evaluate_scores(table, dataset, protocol, lists="query").table.equals(expected)


# Two positives of one query with lists of their own: ranks 2 of 3 and 1 of 3. Pooled, each competes with four others.
OWN_LISTS = [
    *[("a", "r", "c", 0.5, 0), ("a", "r", "e", 0.9, 0), ("a", "r", "f", 0.1, 0)],
    *[("a", "r", "d", 0.7, 1), ("a", "r", "g", 0.6, 1), ("a", "r", "b", 0.2, 1)],
]


def of_two():
    """The dataset of the lists above; h, i occur in train alone, so no list holds every entity."""
    train = [("h", "r", "i"), ("e", "q", "f"), ("g", "q", "b")]
    return Dataset.from_frames(train=frame(train), test=frame([("a", "r", "c"), ("a", "r", "d")]), name="two")


def test_a_side_without_negatives_for_each_positive_is_not_invented():
    """S1: objects alone are listed; (a, r, c) and (d, r, c) share (?, r, c), but no negative subject was meant."""
    dataset = Dataset.from_frames(
        train=frame([("e", "r", "f")]), test=frame([("a", "r", "c"), ("d", "r", "c"), ("a", "q", "b")]), name="three"
    )
    rows = [
        ("a", "r", "c", 0.5),
        ("a", "r", "e", 0.9),
        ("d", "r", "c", 0.8),
        ("d", "r", "f", 0.1),
        ("d", "r", "e", 0.3),
    ]
    rows += [("a", "q", "b", 0.5), ("a", "q", "e", 0.4), ("e", "r", "c", 0.1)]
    result = evaluate_scores(scored(rows), dataset)
    assert result.protocol.sides == ("object",)
    assert result["mrr"] == (1 / 2 + 1 + 1) / 3
    assert result.notes[0] == (
        "the subject side is not ranked: the table lists negatives for 2 of 3 positives there (name the side in sides= "
        "to rank it)"
    )


def test_the_other_side_of_a_full_table_is_not_invented():
    """S1: every object is listed for (s, r, ?); (?, r, o) then lists the subjects of test alone, and is not ranked."""
    rng = np.random.default_rng(4)
    entities = [f"e{i}" for i in range(12)]
    facts = [(entities[i], "r", entities[(i + 3) % 12]) for i in range(12)]
    dataset = Dataset.from_frames(train=frame(facts[4:]), test=frame(facts[:4]), name="ring")
    rows = [(s, "r", o, float(rng.random())) for s, _, _ in facts[:4] for o in entities]
    table = scored(rows)
    result = evaluate_scores(table, dataset)
    assert result.protocol.sides == ("object",)
    assert result["mrr"] == evaluate_scores(table, dataset, Protocol(sides="object"))["mrr"]
    assert result.notes[0] == (
        "the subject side is not ranked: the table lists every entity only on the object side (name the subject side "
        "in sides= to rank it)"
    )
    both = evaluate_scores(table, dataset, Protocol(sides="both"), lists="query")
    assert both["mrr"] > result["mrr"]


def test_lists_of_queries_still_ask_for_the_sides():
    """S1: lists='query' says what the rows of a query mean, not which sides were meant."""
    dataset = Dataset.from_frames(train=frame([("e", "r", "f")]), test=frame([("a", "r", "c"), ("d", "r", "b")]))
    rows = [("a", "r", "c", 0.5), ("d", "r", "c", 0.6), ("d", "r", "b", 0.7), ("a", "r", "b", 0.4)]
    with pytest.raises(DataError, match="Name the sides to rank"):
        evaluate_scores(scored(rows), dataset, lists="query")


def test_a_list_without_negatives_on_a_named_side_is_left_out():
    """H5: as the message says; the other list has ranks 2 of 3, and a full table has lists as `Listed` has them."""
    own = pd.DataFrame(OWN_LISTS, columns=["s", "p", "o", "score", "positive"])
    short = own[:4]  # of the second list the positive alone
    with pytest.raises(DataError, match=r"1 of 2 positives on the object side; name the sides to rank"):
        evaluate_scores(short, of_two())
    result = evaluate_scores(short, of_two(), Protocol(sides="object"))
    assert (result["mr"], len(result.table), result.dropped) == (2.0, 1, {NO_NEGATIVES: 1})
    whole = evaluate_scores(own, of_two())
    assert whole.protocol.candidates.empty == "error"


def test_lists_of_positives_are_not_pooled_without_a_word():
    """S2: pooled, the ranks are 4 and 2 (MRR .375); each in its own list, they are 2 and 1 (MRR .75)."""
    dataset, pooled = of_two(), scored([row[:4] for row in OWN_LISTS])
    with pytest.raises(DataError) as caught:
        evaluate_scores(pooled, dataset)
    assert str(caught.value) == (
        "scores, row 1: is ('a', 'r', 'e') a negative of one of ('a', 'r', 'c') and ('a', 'r', 'd'), or of both? "
        "They have the same query (object side), and the table lists only some of the entities for it. If the "
        "positives of a query share all its rows, use lists='query' (--lists query); if each positive has its own "
        "list, add a column 'positive' that says, for each row of the table, to which positive it belongs (row number "
        "in the ranked split)"
    )
    assert evaluate_scores(pooled, dataset, lists="query")["mrr"] == (1 / 3 + 1 / 2) / 2
    own = pd.DataFrame(OWN_LISTS, columns=["s", "p", "o", "score", "positive"])
    result = evaluate_scores(own.sample(frac=1, random_state=1), dataset)
    assert (result["mrr"], result.protocol.sides) == (0.75, ("object",))
    assert result.table["rivals_filtered"].tolist() == [2, 2]


def test_a_negative_of_two_lists_may_stand_in_both():
    """S2: (a, r, e) is in the lists of both positives, with one score; without the column it is refused."""
    rows = [*OWN_LISTS, ("a", "r", "e", 0.9, 1)]
    own = pd.DataFrame(rows, columns=["s", "p", "o", "score", "positive"])
    assert evaluate_scores(own, of_two())["mrr"] == 0.5
    with pytest.raises(DataError, match="occurs twice. If it is a negative of two positives, add a column 'positive'"):
        evaluate_scores(own.drop(columns="positive"), of_two())


def test_a_row_that_could_serve_both_sides_is_refused():
    """(d, r, c) has another subject than (a, r, c), and another object than (d, r, b)."""
    dataset = Dataset.from_frames(train=frame([("e", "r", "f")]), test=frame([("a", "r", "c"), ("d", "r", "b")]))
    rows = [("a", "r", "c", 0.5), ("d", "r", "c", 0.6), ("d", "r", "b", 0.7)]
    rows += [("a", "r", "e", 0.1), ("e", "r", "b", 0.9)]
    with pytest.raises(
        DataError, match=r"\('d', 'r', 'c'\) could be a negative of a positive with another subject, and"
    ):
        evaluate_scores(scored(rows), dataset)
    assert evaluate_scores(scored(rows), dataset, Protocol(sides="both"))["mrr"] == (1 / 2 + 1 / 2 + 1 + 1) / 4
    assert evaluate_scores(scored(rows), dataset, Protocol(sides="o"))["mrr"] == 1.0


def test_some_positives_without_negatives_on_every_side():
    """Neither side lists negatives for both positives: the sides must be named."""
    dataset = Dataset.from_frames(train=frame([("e", "r", "f")]), test=frame([("a", "r", "c"), ("d", "q", "b")]))
    rows = scored([("a", "r", "c", 0.5), ("a", "r", "e", 0.6), ("d", "q", "b", 0.7), ("e", "q", "b", 0.9)])
    with pytest.raises(DataError) as caught:
        evaluate_scores(rows, dataset)
    assert str(caught.value) == (
        "the table lists negatives for 1 of 2 positives on the subject side, 1 of 2 positives on the object side; name "
        "the sides to rank (sides='object', --sides object): positives without negatives on a named side "
        "are left out there, and counted"
    )
    result = evaluate_scores(rows, dataset, Protocol(sides="both"))
    assert (result["mrr"], result.dropped) == (0.5, {NO_NEGATIVES: 2})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"positive": [2, 0, 0, 1, 1, 1]},
            "scores, row 0: column 'positive' contains 2; expected a row number, 0 to 1",
        ),
        (
            {"positive": [0.0] * 6},
            "scores: the column 'positive' must contain row numbers of positives (integers); got float64",
        ),
        (
            {"positive": [1, 0, 0, 1, 1, 1]},
            "scores: the list of positive 0, ('a', 'r', 'c'), must contain one row with the positive itself; got 0",
        ),
        (
            {"s": ["a", "e", "a", "a", "a", "a"]},
            "scores, row 1: ('e', 'r', 'e') must differ from its positive ('a', 'r', 'c') in the subject alone or the "
            "object alone",
        ),
    ],
)
def test_faulty_columns_of_positives(change, message):
    own = pd.DataFrame(OWN_LISTS, columns=["s", "p", "o", "score", "positive"]).assign(**change)
    with pytest.raises(DataError) as caught:
        evaluate_scores(own, of_two())
    assert str(caught.value) == message


def test_lists_is_query_or_nothing():
    with pytest.raises(ProtocolError, match="lists must be"):
        evaluate_scores(scored(TABLE), of_two(), lists="own")
    own = pd.DataFrame(OWN_LISTS, columns=["s", "p", "o", "score", "positive"])
    with pytest.raises(ProtocolError, match="lists='query' contradicts the column 'positive'"):
        evaluate_scores(own, of_two(), lists="query")


def test_integer_scores_are_compared_exactly(dataset):
    """2**53 and 2**53 + 1 are one float64, but two scores."""
    table = scored([("a", "r", "c", 2**53), ("a", "r", "b", 2**53 + 1), ("d", "r", "c", 5)])
    result = evaluate_scores(table, dataset, Protocol(sides="object", filter=()))
    assert (result["mr"], result.tie_rate, result.table["score"].tolist()) == (2.0, 0.0, [2**53])


def test_the_full_table_is_the_full_evaluation():
    """With every triple listed, the ranks are those of kgeval.evaluate with the same scores."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 9, size=(6, 2, 6)) / 4
    ids = {split: np.stack([rng.integers(0, n, 12) for n in (6, 2, 6)], axis=1) for split in ("train", "valid", "test")}
    dataset = Dataset.from_arrays(**ids, n_entities=6, n_relations=2)
    table = scored([(str(s), str(p), str(o), scores[s, p, o]) for s, p, o in np.ndindex(scores.shape)])
    whole = kgeval.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)
    assert whole.table["tied_filtered"].sum() > 0
    assert evaluate_scores(table, dataset).table[COUNTS].equals(whole.table[COUNTS])


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        ([*TABLE, ("z", "r", "c", 1.0)], DataError, "scores, row 5, column 0: 'z' does not occur in dataset 'four'"),
        ([*TABLE, ("a", "q", "c", 1.0)], DataError, "scores, row 5, column 1: 'q' does not occur in dataset 'four'"),
        ([("a", "r", "x", 1.0), *TABLE], DataError, "scores, row 0, column 2: 'x' does not occur in dataset 'four'"),
        (
            [*TABLE, TABLE[1]],
            DataError,
            "scores, rows 1 and 5: ('a', 'r', 'b') occurs twice. If it is a negative of two",
        ),
        (
            [*TABLE, (*TABLE[3][:3], 3.0)],
            DataError,
            "scores, rows 3 and 5: ('b', 'r', 'c') occurs twice. If it is a negative of two",
        ),
        (
            [*TABLE[:2], ("a", "r", "d", np.nan)],
            ScoreError,
            "scores, row 2: ('a', 'r', 'd') has score NaN; a NaN cannot",
        ),
        ([*TABLE[:2], ("a", "r", "d", None)], ScoreError, "scores, row 2: ('a', 'r', 'd') has score NaN; a NaN cannot"),
        (TABLE[1:], DataError, "scores: the positive ('a', 'r', 'c') has no score in the table; add its row"),
        (TABLE[:4], DataError, "scores: the positive ('d', 'r', 'c') has no score in the table; add its row"),
        ([(*row[:3], str(row[3])) for row in TABLE], ScoreError, "the column 'score' must give real numbers (float or"),
        (
            [(*row[:3], row[3] > 0.5) for row in TABLE],
            ScoreError,
            "the column 'score' must give real numbers (float or",
        ),
        ([(*row[:3], row[3] * 1j) for row in TABLE], ScoreError, "the column 'score' must give real numbers (float or"),
        (
            [*TABLE, ("a", "r", 1.5, 1.0)],
            DataError,
            "scores, row 5, column 2: expected a string label; got 1.5 (float)",
        ),
        ([*TABLE, ("a", None, "c", 1.0)], DataError, "scores, row 5, column 1: expected a string label; got "),
    ],
)
@pytest.mark.light(8)
def test_faulty_tables(dataset, rows, error, said):
    """The row is named, by its place from 0, and the triple by its labels."""
    with pytest.raises(error) as caught:
        evaluate_scores(scored(rows), dataset)
    assert str(caught.value).startswith(said)


def test_integers_may_be_labels_or_ids():
    """The label '2' and the integer 2 are not taken for one another."""
    dataset = Dataset.from_frames(train=frame([("3", "r", "4")]), test=frame([("1", "r", "2")]))
    table = scored([(1, "r", 2, 0.5), (1, "r", "2", 0.9), (1, "r", 3, 0.7), (1, "r", 4, 0.1)])
    with pytest.raises(DataError, match=r"^scores, row 0, column 0: is the integer 1 a label or an id\?"):
        evaluate_scores(table, dataset)


def test_faulty_frames(dataset):
    table = scored(TABLE)
    for wrong, said in (
        (table.drop(columns="score"), "scores: expected one column 'score'; got ['s', 'p', 'o']"),
        (table.rename(columns={"score": "value"}), "scores: expected one column 'score'; got ['s', 'p', 'o', 'value']"),
        (table.drop(columns="p"), "scores: expected columns named s, p, o; "),
        (
            pd.concat([table, table["score"]], axis=1),
            "scores: expected one column 'score'; got ['s', 'p', 'o', 'score',",
        ),
        (pd.concat([table, table["s"]], axis=1), "scores: duplicate column 's'; keep only one"),
        (TABLE, "scores: "),
    ):
        with pytest.raises(DataError) as caught:
            evaluate_scores(wrong, dataset)
        assert str(caught.value).startswith(said)


def test_faulty_protocols(dataset):
    for policy in ("drop", "worst", "error"):
        with pytest.raises(ProtocolError) as caught:
            evaluate_scores(scored(TABLE), dataset, Protocol(unseen=policy))
        assert (
            str(caught.value)
            == f"with a table of scores, unseen must be 'rank'; got {policy!r}. Remove unseen= from the protocol"
        )
    message = "dataset 'four' has no split 'valid', which the protocol names; its splits are train, test"
    with pytest.raises(ProtocolError, match=message):
        evaluate_scores(scored(TABLE), dataset, Protocol(splits="valid"))
    with pytest.raises(DataError, match=f"^{NOTHING}$"):
        evaluate_scores(scored([TABLE[0]]), Dataset.from_frames(test=frame(FACTS["test"][:1])))


def test_read_scores(tmp_path):
    """Labels stay as written, every decimal notation of a float is read, and the order of lines is kept."""
    texts = ["1e3", "-.5", "inf", "-inf", "Infinity", "+7", "5.", "-0.0", "1.5E-3", "0012", "1e-400", "0.1"]
    file = tmp_path / "scores.tsv"
    file.write_text("".join(f"NA\t007\t{i}\t{text}\n" for i, text in enumerate(texts)))
    found = read_scores(file)
    assert list(found.columns) == ["s", "p", "o", "score"]
    assert found["score"].tolist() == [1000.0, -0.5, np.inf, -np.inf, np.inf, 7.0, 5.0, 0.0, 0.0015, 12.0, 0.0, 0.1]
    assert np.signbit(found["score"][7])
    assert found["o"].tolist() == [str(i) for i in range(12)]
    assert (set(found["s"]), set(found["p"]), found["score"].dtype) == ({"NA"}, {"007"}, np.float64)


@pytest.mark.parametrize(
    "text", ["nan", "NaN", "1_0", "0x10", "x", "1,5", " 1", "1 ", ".", "e3", "1e", "--1", "½", "１２"]
)
@pytest.mark.light(7)
def test_read_scores_refuses_what_is_no_plain_number(tmp_path, text):
    """Also what Python's float() takes: underscores, white space, NaN, digits of other scripts."""
    file = tmp_path / "scores.tsv"
    for ends, header in (("\n", False), ("\r\n", False), ("\n", True)):
        lines = ["s\tp\to\tscore"] * header + ["a\tb\tc\t1", f"a\tb\td\t{text}", "a\tb\te\tnan"]
        file.write_bytes(ends.join(lines).encode())
        with pytest.raises(DataError) as caught:
            read_scores(file, header=header)
        assert str(caught.value) == f"{file}, line {2 + header}: expected a number as score, found {text!r}"


@pytest.mark.parametrize(
    ("texts", "dtype", "rank"),
    [
        (["9007199254740993", "9007199254740992", "-7"], np.int64, 2.0),
        (["-9223372036854775807", "-9223372036854775808", "+3"], np.int64, 3.0),
        (["18446744073709551615", "18446744073709551614", "0"], np.uint64, 2.0),
        (["9007199254740992", "1e300", "100000000000000000000"], np.float64, 1.0),  # each is a float64
    ],
)
def test_large_integers_are_not_rounded(tmp_path, texts, dtype, rank):
    """2**53 + 1 and 2**53 would tie as float64; a table of integers keeps them apart, as a frame does."""
    file = tmp_path / "scores.tsv"
    file.write_text("".join(f"a\tr\t{o}\t{text}\n" for o, text in zip("bcd", texts, strict=True)))
    found = read_scores(file)["score"]
    assert (found.tolist(), found.dtype) == ([float(t) if dtype is np.float64 else int(t) for t in texts], dtype)
    dataset = Dataset.from_arrays(test=[[0, 0, 2]], entity_labels=["a", "b", "c", "d"], relation_labels=["r"])
    result = evaluate_scores(read_scores(file), dataset, Protocol(sides="object"))
    assert (result["mr"], result["optimistic.mr"]) == (rank, rank)


def test_integers_that_would_be_rounded(tmp_path):
    """Beside decimals, or beyond 64 bits, they are an error that names file and line."""
    file = tmp_path / "scores.tsv"
    for text, other, shown in (
        ("9007199254740993", "0.5", "9007199254740993"),
        ("18446744073709551615", "-1", "18446744073709551615"),
        ("3" * 20, "1", "3" * 20),
    ):
        file.write_text(f"a\tr\tb\t{other}\na\tr\tc\t{text}\n")
        with pytest.raises(DataError) as caught:
            read_scores(file)
        assert str(caught.value) == (
            f"{file}, line 2: score {shown!r} is an integer that float64 would round, so that different scores could "
            "tie; kgeval reads it exactly only if all scores of the file are integers of 64 bits. Write all scores as "
            "such integers, or all as decimals"
        )


def test_read_scores_names_faulty_lines(tmp_path):
    file = tmp_path / "scores.tsv"
    for text, said in (
        ("a\tb\tc\t1\na\tb\td\n", "line 2: expected 4 tab-separated columns (s, p, o, score), found 3: 'a\\tb\\td'"),
        ("a\tb\tc\t1\t2\n", "line 1: expected 4 tab-separated columns (s, p, o, score), found 5: "),
        ("a\tb\tc\t1\na\tb\tc\t\n", "line 2: column 4 is empty: 'a\\tb\\tc\\t'"),
        ("s\tp\to\t1\na\tb\tc\t1\n", "line 1: looks like a header (s, p, o); use header=True (--header)"),
        ("", "line 1: 0 triples; the file is empty"),
    ):
        file.write_text(text)
        with pytest.raises(DataError) as caught:
            read_scores(file)
        assert str(caught.value).startswith(f"{file}, {said}")
    file.write_text("s\tp\to\tscore\na\tb\tc\t1\n")
    for header in (None, True):
        found = read_scores(file, header=header).to_dict("list")
        assert found == {"s": ["a"], "p": ["b"], "o": ["c"], "score": [1.0]}


@pytest.mark.parametrize("header", [None, True])
def test_the_fourth_name_of_a_header_must_be_score(tmp_path, header):
    """A distance, a rank or a label is no score of which more is better; a number as name is a triple's score."""
    file = tmp_path / "scores.tsv"
    for name in ("distance", "rank", "label"):
        file.write_text(f"s\tp\to\t{name}\na\tb\tc\t1\n")
        with pytest.raises(DataError) as caught:
            read_scores(file, header=header)
        assert str(caught.value) == (
            f"{file}, line 1: expected a header whose fourth name is score; got {name!r}; rename it if higher values "
            "are better, else negate its numbers first"
        )
    file.write_text("o\tp\ts\tScore\na\tb\tc\tx\n")
    with pytest.raises(DataError) as caught:
        read_scores(file, header=header)
    assert str(caught.value) == f"{file}, line 2: expected a number as score, found 'x'"
    file.write_text("from\trel\tto\t1\na\tb\tc\t2\n")
    if header:
        with pytest.raises(DataError) as caught:
            read_scores(file, header=True, columns="hrt")
        said = "expected a header whose fourth name is score; got '1'; use header=False if the line is a triple"
        assert str(caught.value) == f"{file}, line 1: {said}"
    else:
        assert read_scores(file)["s"].tolist() == ["from", "a"]


def test_an_id_beyond_those_listed_is_not_taken_for_another():
    """Entity 2 needs a bit more than the listed 0 and 1: its key alone would be that of (a, r1, a)."""
    dataset = Dataset.from_arrays(test=[[0, 0, 2]], entity_labels=["a", "b", "c"], relation_labels=["r0", "r1"])
    table = pd.DataFrame([("a", "r1", "a", 1.0), ("a", "r0", "b", 2.0)], columns=["s", "p", "o", "score"])
    with pytest.raises(DataError, match=r"the positive \('a', 'r0', 'c'\) has no score in the table; add its row"):
        evaluate_scores(table, dataset)
