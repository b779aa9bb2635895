"""Queries: the distinct questions of a split, each with the positives that it serves."""

import random

import numpy as np
import pytest
from grids import light
from oracle import random_graph

from kgeval.data.queries import Queries, given_and_asked
from kgeval.data.sides import SIDES, check_side, check_sides
from kgeval.errors import ProtocolError


def as_table(queries):
    """Each query's (relation, given) with its (row, answer) pairs, in order."""
    spans = zip(queries.offsets[:-1].tolist(), queries.offsets[1:].tolist(), strict=True)
    rows, answers = queries.rows.tolist(), queries.answers.tolist()
    served = [list(zip(rows[low:high], answers[low:high], strict=True)) for low, high in spans]
    return list(zip(zip(queries.relation.tolist(), queries.given.tolist(), strict=True), served, strict=True))


def naive(triples, side):
    """The same with a dict, sorted by relation, then by given entity; positives in their rows' order."""
    table = {}
    for row, (s, p, o) in enumerate(triples):
        given, answer = (o, s) if side == "subject" else (s, o)
        table.setdefault((p, given), []).append((row, answer))
    return sorted(table.items())


@pytest.mark.parametrize("name", ["subject", "s", "head", "h", "Subject", "HEAD"])
def test_names_of_the_subject_side(name):
    """The field's other words for it, in any case of letters."""
    assert check_side(name) == "subject"


@pytest.mark.parametrize("name", ["object", "o", "tail", "t", "Object", "T"])
def test_names_of_the_object_side(name):
    """The field's other words for it, in any case of letters."""
    assert check_side(name) == "object"


@pytest.mark.parametrize("side", ["both", "", "p", "subjects", None, 0, ["subject"]])
def test_other_sides_are_refused(side):
    """The message lists the names that would do and shows what came."""
    with pytest.raises(ProtocolError) as caught:
        check_side(side)
    assert str(caught.value) == f"side must be 'subject' or 'object' (or head/tail, s/o, h/t); got {side!r}"


@pytest.mark.parametrize(
    ("sides", "found"),
    [
        ("both", SIDES),
        ("Both", SIDES),
        ("tail", ("object",)),
        (("s",), ("subject",)),
        (["tail", "head", "object"], SIDES),
        (iter(("o", "s")), SIDES),
    ],
)
def test_sides_come_in_one_order_and_once(sides, found):
    """One name, 'both' or several names in any order: subject before object, none twice."""
    assert check_sides(sides) == found


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ((), "sides is empty; name at least one of 'subject', 'object'"),
        (3, "sides must be a sequence of names; got 3"),
        (None, "sides must be a sequence of names; got None"),
        ("botj", "side must be 'subject' or 'object' (or head/tail, s/o, h/t); got 'botj'"),
        (("subject", "both"), "side must be 'subject' or 'object' (or head/tail, s/o, h/t); got 'both'"),
    ],
)
def test_other_lists_of_sides_are_refused(sides, said):
    """No side, no list, or an unknown name in it."""
    with pytest.raises(ProtocolError) as caught:
        check_sides(sides)
    assert str(caught.value) == said


def test_what_is_given_and_what_is_asked():
    """For (1, 2, 3) the subject side gives 3 and asks for 1, the object side the other way round."""
    triple = np.array([[1, 2, 3]])
    assert [x.tolist() for x in given_and_asked(triple, "subject")] == [[3], [1]]
    assert [x.tolist() for x in given_and_asked(triple, "object")] == [[1], [3]]


def test_shared_queries_by_hand():
    """(7 r0 1), (2 r1 1), (7 r0 3), (7 r0 1): (7, r0, ?) serves rows 0, 2 and 3; (?, r0, 1) rows 0 and 3."""
    triples = np.array([[7, 0, 1], [2, 1, 1], [7, 0, 3], [7, 0, 1]])
    assert as_table(Queries.of(triples, "object")) == [((0, 7), [(0, 1), (2, 3), (3, 1)]), ((1, 2), [(1, 1)])]
    assert as_table(Queries.of(triples, "subject")) == [
        ((0, 1), [(0, 7), (3, 7)]),
        ((0, 3), [(2, 7)]),
        ((1, 1), [(1, 2)]),
    ]


@pytest.mark.parametrize("seed", light(range(60), 3))
@pytest.mark.parametrize("side", SIDES)
def test_queries_equal_a_dict(seed, side):
    """Random graphs with duplicates: every positive in exactly one query, the queries sorted and distinct."""
    _, _, splits = random_graph(random.Random(seed))
    triples = splits["train"]
    queries = Queries.of(np.array(triples), side)
    assert as_table(queries) == naive(triples, side)
    assert (queries.side, len(queries)) == (side, len(naive(triples, side)))
    assert sorted(queries.rows.tolist()) == list(range(len(triples)))


@pytest.mark.parametrize("side", SIDES)
def test_queries_of_huge_ids(side):
    """Entities and relations up to 2**62: a combined key would overflow and mix queries up."""
    rng = np.random.default_rng(5)
    pool = rng.integers(0, 2**62, size=9)
    triples = rng.choice(pool, size=(300, 3))
    assert as_table(Queries.of(triples, side)) == naive(triples.tolist(), side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n_bits", [50, 53, 54, 55, 60, 63, 64, 100])
def test_queries_at_the_edge_of_63_bits(side, n_bits):
    """Ids of n_bits together, 9 bits for the rows' places: positives keep their order with and without room for it."""
    rng = np.random.default_rng(n_bits)
    top_p, top_e = 2 ** (n_bits // 2), 2 ** (n_bits - n_bits // 2)
    given, relation = (
        np.append(rng.integers(0, top, 6), [0, top - 1])[rng.integers(0, 8, 400)] for top in (top_e, top_p)
    )
    triples = np.column_stack([given, relation, given[::-1]])
    triples[7] = (top_e - 1, top_p - 1, top_e - 1)
    assert as_table(Queries.of(triples, side)) == naive(triples.tolist(), side)


@pytest.mark.parametrize("seed", light(range(40), 3))
@pytest.mark.parametrize("n_bits", [10, 12, 14])
def test_queries_by_ranks(seed, n_bits, monkeypatch):
    """With room for few bits small ids too take the way of ranks and of a stable argsort."""
    monkeypatch.setattr("kgeval.data.row_keys.KEY_BITS", n_bits)
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2 ** rng.integers(1, 13), size=6)
    triples = rng.choice(pool, size=(30, 3))
    for side in SIDES:
        assert as_table(Queries.of(triples, side)) == naive(triples.tolist(), side)


@pytest.mark.parametrize("seed", light(range(15), 3))
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10**6])
def test_batches_hold_every_query_once_in_order(seed, size):
    """The batches together are the queries; each but the last holds `size`, with its own offsets."""
    triples = random_graph(random.Random(seed))[2]["train"]
    for side in SIDES:
        queries = Queries.of(np.array(triples), side)
        n = len(queries)
        batches = [queries.part(start, min(start + size, n)) for start in range(0, n, size)]
        assert [entry for batch in batches for entry in as_table(batch)] == naive(triples, side)
        assert [len(batch) for batch in batches] == [size] * (n // size) + [n % size] * (n % size > 0)
        assert all(batch.offsets[0] == 0 and batch.offsets[-1] == len(batch.answers) for batch in batches)
        assert {batch.side for batch in batches} == {side}


def test_no_positives_no_queries():
    """An empty split has no queries, and its only part is empty."""
    for side in SIDES:
        queries = Queries.of(np.zeros((0, 3), dtype=np.int64), side)
        assert (len(queries), queries.offsets.tolist(), len(queries.part(0, 0))) == (0, [0], 0)


def test_shared_queries_of_real_data(shared):
    """FB15k-237: 40,932 (triple, side) pairs ask 22,850 distinct queries (counted with sets beside)."""
    lines = (shared / "data" / "fb15k-237" / "test.txt").read_text(encoding="utf-8").splitlines()
    facts = [line.split("\t") for line in lines]
    number = {label: i for i, label in enumerate(sorted({label for fact in facts for label in fact}))}
    triples = np.array([[number[label] for label in fact] for fact in facts])
    sizes = [len(Queries.of(triples, side)) for side in SIDES]
    assert sizes == [len({(p, o) for _, p, o in facts}), len({(s, p) for s, p, _ in facts})]
    assert (2 * len(facts), sum(sizes)) == (40932, 22850)
