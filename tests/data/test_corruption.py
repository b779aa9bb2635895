"""The known triples that the filter removes, and the negatives that stay, against sets and dicts."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from grids import light
from oracle import random_graph

from kgeval import Dataset, negatives
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.queries import given_and_asked, query_parts
from kgeval.data.sides import SIDES
from kgeval.errors import DataError, ProtocolError

FATHERS = [("A", "father", "B"), ("B", "father", "C")]


def naive(triples, side):
    """The distinct known answers of each (relation, given entity)."""
    table = {}
    for s, p, o in triples:
        given, answer = (o, s) if side == "subject" else (s, o)
        table.setdefault((p, given), set()).add(answer)
    return table


def looked_up(index, keys):
    """The answers that the index gives for (relation, given) keys, one list per key."""
    relation, given = np.array(keys, dtype=np.int64).reshape(-1, 2).T
    offsets, answers = index.lookup(relation, given)
    assert offsets.dtype == answers.dtype == np.int64
    assert (len(offsets), offsets[0], offsets[-1]) == (len(keys) + 1, 0, len(answers))
    return [answers[low:high].tolist() for low, high in itertools.pairwise(offsets)]


def check_index(triples, pool_e, pool_r, rng):
    """Compare lookup, contains and count_others with the dict, for known and for random keys and triples."""
    array = np.array(triples, dtype=np.int64).reshape(-1, 3)
    for side in SIDES:
        index, table = KnownIndex.of(*query_parts(array, side)), naive(triples, side)
        keys = [*table, *((rng.choice(pool_r), rng.choice(pool_e)) for _ in range(40))]
        rng.shuffle(keys)
        assert looked_up(index, keys) == [sorted(table.get(key, ())) for key in keys]
        asked = [(rng.choice(pool_e), rng.choice(pool_r), rng.choice(pool_e)) for _ in range(60)]
        asked = rng.sample([*triples, *asked], k=len(triples) + 60)
        pairs = [((p, o), s) if side == "subject" else ((p, s), o) for s, p, o in asked]
        relation, given = np.array([key for key, _ in pairs]).T
        found = index.contains(relation, given, np.array([answer for _, answer in pairs]))
        assert found.tolist() == [answer in table.get(key, ()) for key, answer in pairs]
        others = index.count_others(*query_parts(np.array(asked), side))
        assert others.dtype == np.int64
        assert others.tolist() == [len(table.get(key, set()) - {answer}) for key, answer in pairs]


@pytest.mark.parametrize("seed", light(range(60), 3))
def test_index_equals_a_dict_of_sets(seed):
    """Small random graphs with duplicates; a few ids beyond the graph's own are asked for too."""
    rng = random.Random(seed)
    n, m, splits = random_graph(rng)
    check_index(splits["train"] + splits["test"], range(-1, n + 3), range(-1, m + 2), rng)


@pytest.mark.parametrize("seed", light(range(15), 3))
def test_index_of_many_answers(seed):
    """Keys with up to 200 answers, so that the search within a key takes several steps."""
    rng = random.Random(seed)
    triples = [(rng.randrange(3), rng.randrange(2), rng.randrange(400)) for _ in range(1000)]
    check_index(triples, range(400), range(2), rng)


@pytest.mark.parametrize("seed", light(range(15), 3))
def test_index_of_huge_ids(seed):
    """Ids up to 2**62, some one apart: n_relations * n_entities is far beyond int64 (trap C24)."""
    rng = random.Random(seed)
    base = [
        0,
        1,
        2**31,
        2**32,
        2**32 + 1,
        2**53,
        2**53 + 1,
        2**62 - 1,
        2**62,
        *rng.choices(range(2**62), k=8),
    ]
    triples = [(rng.choice(base), rng.choice(base), rng.choice(base)) for _ in range(300)]
    near = [x + step for x in base for step in (-1, 0, 1)]
    check_index(triples, near, near, rng)


@pytest.mark.parametrize("seed", light(range(200), 6))
def test_index_of_any_small_graph(seed):
    """From one triple to many, with repeats, at offsets where keys take 6 bits up to far more than 63."""
    rng = random.Random(seed)
    n, m, size = rng.randint(1, 9), rng.randint(1, 4), rng.choice([1, 2, 5, 40])
    far_e, far_r = rng.choice([0, 2**21 - 9, 2**31, 2**40, 2**62]), rng.choice([0, 2**20, 2**40])
    pool_e, pool_r = range(far_e, far_e + n), range(far_r, far_r + m)
    triples = [(rng.choice(pool_e), rng.choice(pool_r), rng.choice(pool_e)) for _ in range(size)]
    near_e, near_r = [*pool_e, 0, far_e - 1, far_e + n, far_e // 2, -1], [*pool_r, 0, far_r - 1, far_r + m, -1]
    check_index(triples + triples[: size // 2], near_e, near_r, rng)


@pytest.mark.parametrize(
    ("n_entities", "n_relations", "ranked"),
    [
        (14_541, 237, [(False, False)] * 3),
        (2**26, 2**11, [(False, False)] * 3),
        (2**26 + 1, 2**11, [(False, False), (False, False), (True, False)]),
        (91_230_610, 1_387, [(False, False), (False, False), (True, False)]),
        (2**40, 2**20, [(False, False), (False, False), (True, False)]),
        (2**61, 2**20, [(False, False), (True, True), (True, True)]),
    ],
    ids=["FB15k-237", "63 bits", "65 bits", "WikiKG90Mv2", "60 and 40 bits", "81 and 61 bits"],
)
def test_ids_stand_in_keys_while_they_fit(n_entities, n_relations, ranked):
    """Trap C24: ids stand side by side in up to 63 bits; in more, ranks stand for what came before, then for ids."""
    rng = random.Random(n_entities)
    pool_e = [0, 1, n_entities - 2, n_entities - 1, *rng.choices(range(n_entities), k=5)]
    pool_r = [0, n_relations - 1, *rng.choices(range(n_relations), k=3)]
    triples = [(rng.choice(pool_e), rng.choice(pool_r), rng.choice(pool_e)) for _ in range(1000)]
    triples += [(n_entities - 1, n_relations - 1, n_entities - 1)] * 2
    index = KnownIndex.of(*query_parts(np.array(triples), "object"))
    assert [(part.before is not None, part.ids is not None) for part in index.layout.parts] == ranked
    assert (index.keys >= 0).all()
    assert (np.diff(index.keys) > 0).all()
    check_index(triples, [*pool_e, n_entities], [*pool_r, n_relations], rng)


def test_the_greatest_key():
    """With 63 bits in use the last key is 2**63 - 1, and its query is found without going beyond."""
    top_e, top_r = 2**26 - 1, 2**11 - 1
    index = KnownIndex.of(*query_parts(np.array([[top_e, top_r, top_e], [top_e, top_r, 0]]), "object"))
    assert index.keys.tolist() == [2**63 - 2**26, 2**63 - 1]
    assert [part.tolist() for part in index.spans(np.array([top_r, top_r]), np.array([top_e, 0]))] == [[0, 0], [2, 0]]


@pytest.mark.parametrize("seed", light(range(40), 3))
@pytest.mark.parametrize("n_bits", [12, 14, 16])
def test_ranks_wherever_they_begin(seed, n_bits, monkeypatch):
    """With room for few bits, small ids too take the way of ranks, at any of the three columns."""
    monkeypatch.setattr("kgeval.data.row_keys.KEY_BITS", n_bits)
    rng = random.Random(seed)
    pool_e, pool_r = rng.choices(range(2 ** rng.randint(1, 14)), k=5), rng.choices(range(2 ** rng.randint(1, 14)), k=4)
    triples = [(rng.choice(pool_e), rng.choice(pool_r), rng.choice(pool_e)) for _ in range(40)]
    check_index(triples, [*pool_e, 0, 1, -1, 2**14], [*pool_r, 0, 1, -1, 2**14], rng)


def test_rows_that_even_ranks_cannot_tell_apart(monkeypatch):
    """More rows than 2**31, played with 5 bits: 5 pairs and 5 answers need 3 bits each; refused, not mixed up."""
    monkeypatch.setattr("kgeval.data.row_keys.KEY_BITS", 5)
    triples = np.array([[i, i, i] for i in range(5)])
    with pytest.raises(DataError) as caught:
        KnownIndex.of(*query_parts(triples, "object"))
    assert str(caught.value) == "5 rows are too many for keys of 5 bits"


def test_triples_are_left_as_they_came():
    """Indexing and asking write into no array of the caller."""
    triples = np.array([[2, 1, 0], [0, 0, 2], [2, 1, 0]])
    triples.setflags(write=False)
    for side in SIDES:
        index = KnownIndex.of(*query_parts(triples, side))
        assert index.contains(triples[:, 1], *given_and_asked(triples, side)).tolist() == [True] * 3
        assert index.count_others(*query_parts(triples, side)).tolist() == [0, 0, 0]
        assert (len(index.keys), index.answers.dtype) == (2, np.int64)


def test_keys_that_a_product_would_mix_up():
    """r * n + e of (r=0, e=n) and (r=1, e=0), or equal modulo 2**64, are one number but two keys."""
    n = 2**32
    triples = np.array([[n, 0, 7], [0, 1, 8], [5, 2**32, 9], [5, 0, 10]])
    index = KnownIndex.of(*query_parts(triples, "object"))
    assert looked_up(index, [(0, n), (1, 0), (2**32, 5), (0, 5)]) == [[7], [8], [9], [10]]
    assert looked_up(index, [(0, 0), (1, n), (2**33, 5)]) == [[], [], []]


def test_index_of_nothing():
    """Without known triples every query has no answers and nothing is known; no queries give nothing."""
    none = np.zeros((0, 3), dtype=np.int64)
    for side in SIDES:
        index = KnownIndex.of(*query_parts(none, side))
        assert looked_up(index, [(0, 0), (3, 1)]) == [[], []]
        assert index.contains(np.array([0]), np.array([0]), np.array([0])).tolist() == [False]
        assert index.count_others(*query_parts(np.array([[0, 0, 0]]), side)).tolist() == [0]
        assert looked_up(KnownIndex.of(*query_parts(np.array([[1, 0, 2]]), side)), []) == []
        assert (
            KnownIndex.of(*query_parts(np.array([[1, 0, 2]]), side)).count_others(*query_parts(none, side)).tolist()
            == []
        )


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_duplicates_are_harmless(seed):
    """A known triple given three times, in any order, counts once (trap C19: subtracted twice)."""
    rng = random.Random(seed)
    triples = random_graph(rng)[2]["train"]
    repeated = rng.sample(triples * 3, k=3 * len(triples))
    for side in SIDES:
        once, thrice = (KnownIndex.of(*query_parts(np.array(rows), side)) for rows in (sorted(set(triples)), repeated))
        assert once.keys.tolist() == thrice.keys.tolist()
        assert once.answers.tolist() == thrice.answers.tolist()
        assert len(once.keys) == len(set(triples))


def test_keys_belong_to_one_side():
    """Trap C17: with (A father B), (B father C), a key (father, B) without its side would answer A and C."""
    array = np.array([[0, 0, 1], [1, 0, 2]])
    assert looked_up(KnownIndex.of(*query_parts(array, "object")), [(0, 0), (0, 1), (0, 2)]) == [[1], [2], []]
    assert looked_up(KnownIndex.of(*query_parts(array, "subject")), [(0, 0), (0, 1), (0, 2)]) == [[], [0], [1]]
    dataset = Dataset.from_frames(test=pd.DataFrame(FATHERS))
    assert negatives(dataset, ("B", "father", "C"), "object") == ["A", "B"]
    assert negatives(dataset, ("A", "father", "B"), "object") == ["A", "C"]
    assert negatives(dataset, ("A", "father", "B"), "subject") == ["B", "C"]
    assert negatives(dataset, ("B", "father", "C"), "subject") == ["A", "C"]


def test_known_triples_are_the_named_splits():
    """The rows of the named splits one after the other, repeated ones included; no names, no triples."""
    dataset = Dataset.from_arrays(
        train=[[0, 0, 1], [0, 0, 1]], valid=[[1, 0, 1]], test=[[2, 0, 0]], n_entities=3, n_relations=1
    )
    assert facts_of(dataset, ("test", "train")).tolist() == [[2, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert facts_of(dataset, ("valid",)).tolist() == [[1, 0, 1]]
    assert facts_of(dataset, ()).shape == (0, 3)
    assert facts_of(dataset, ()).dtype == np.int64
    with pytest.raises(ProtocolError, match="has no split 'dev'; it has train, valid, test"):
        facts_of(dataset, ("train", "dev"))


def test_negatives_by_hand():
    """Jack likes China (train) and Italy (test), Ann likes Italy (valid); of Ann China Italy Jack Peru."""
    facts = {
        "train": [("Jack", "likes", "China"), ("Jack", "hates", "Peru")],
        "valid": [("Ann", "likes", "Italy")],
        "test": [("Jack", "likes", "Italy")],
    }
    dataset = Dataset.from_frames(**{split: pd.DataFrame(rows) for split, rows in facts.items()})
    triple = ("Jack", "likes", "Italy")
    for side in ("object", "tail", "o"):
        assert negatives(dataset, triple, side, "raw") == ["Ann", "China", "Jack", "Peru"]
        assert negatives(dataset, triple, side) == ["Ann", "Jack", "Peru"]
        assert negatives(dataset, triple, side, filter=("valid", "test")) == [
            "Ann",
            "China",
            "Jack",
            "Peru",
        ]
    for side in ("subject", "head", "s"):
        assert negatives(dataset, triple, side, "raw") == ["Ann", "China", "Italy", "Peru"]
        assert negatives(dataset, triple, side) == ["China", "Italy", "Peru"]
        assert negatives(dataset, triple, side, filter=["train"]) == ["Ann", "China", "Italy", "Peru"]
    assert negatives(dataset, ("Peru", "hates", "Ann"), "object") == ["China", "Italy", "Jack", "Peru"]


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_negatives_equal_the_definition(seed):
    """Random graphs, any triples: replace one side by every entity, drop the triple and what is known."""
    rng = random.Random(seed)
    n, m, splits = random_graph(rng, allow_empty=True)
    entities, relations = [f"e{i}" for i in range(n)], [f"r{i}" for i in range(m)]
    rng.shuffle(entities)
    dataset = Dataset.from_arrays(**splits, entity_labels=entities, relation_labels=relations)
    for _ in range(12):
        s, p, o = rng.choice([rng.choice(splits["test"]), tuple(map(rng.randrange, (n, m, n)))])
        names = rng.choice([None, *(rng.sample(sorted(splits), k=k) for k in range(4))])
        known = {row for split in (splits if names is None else names) for row in splits[split]}
        triple = (entities[s], relations[p], entities[o])
        for side, asked in (("subject", s), ("object", o)):
            new = [(e, p, o) if side == "subject" else (s, p, e) for e in range(n)]
            raw = [entities[e] for e in range(n) if e != asked]
            assert negatives(dataset, triple, side, "raw", names) == raw
            left = [entities[e] for e in range(n) if e != asked and new[e] not in known]
            assert negatives(dataset, triple, side, "filtered", names) == left


@pytest.mark.parametrize(
    ("triple", "said"),
    [
        (("Jak", "father", "B"), "unknown entity 'Jak'; did you mean 'Jack'?"),
        (("Jack", "father", "Jake"), "unknown entity 'Jake'; did you mean 'Jack'?"),
        (("Jack", "fahter", "B"), "unknown relation 'fahter'; did you mean 'father'?"),
        (("Jack", "zzz", "B"), "unknown relation 'zzz'"),
        (("father", "father", "B"), "unknown entity 'father'"),
        (("Jack", "father"), "triple must be (subject, relation, object) labels; got ('Jack', 'father')"),
    ],
)
def test_negatives_name_what_is_unknown(triple, said):
    """The label and the nearest known one of its own kind: a relation is no entity."""
    dataset = Dataset.from_frames(test=pd.DataFrame([*FATHERS, ("Jack", "father", "B")]))
    for side in SIDES:
        with pytest.raises(DataError) as caught:
            negatives(dataset, triple, side)
        assert str(caught.value) == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"side": "both"}, "side must be 'subject' or 'object' (or head/tail, s/o, h/t), or 'relation'; got 'both'"),
        (
            {"side": "object", "setting": "filterd"},
            "setting must be one of 'raw', 'filtered'; got 'filterd'; did you mean 'filtered'?",
        ),
        (
            {"side": "object", "filter": ("test", "trian")},
            "dataset 'toy' has no split 'trian'; it has test",
        ),
    ],
)
def test_negatives_refuse_unknown_settings(options, said):
    """A side, a setting or a split that does not exist."""
    dataset = Dataset.from_frames(test=pd.DataFrame(FATHERS), name="toy")
    with pytest.raises(ProtocolError) as caught:
        negatives(dataset, FATHERS[0], **options)
    assert str(caught.value) == said
