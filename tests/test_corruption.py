"""The known triples that the filter removes, and the negatives that stay, against sets and dicts."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from oracle import random_graph

from kgeval import Dataset, negatives
from kgeval.corruption import KnownIndex, known_triples
from kgeval.errors import DataError, ProtocolError
from kgeval.queries import SIDES

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
        index, table = KnownIndex.of(array, side), naive(triples, side)
        keys = [*table, *((rng.choice(pool_r), rng.choice(pool_e)) for _ in range(40))]
        rng.shuffle(keys)
        assert looked_up(index, keys) == [sorted(table.get(key, ())) for key in keys]
        asked = [(rng.choice(pool_e), rng.choice(pool_r), rng.choice(pool_e)) for _ in range(60)]
        asked = rng.sample([*triples, *asked], k=len(triples) + 60)
        pairs = [((p, o), s) if side == "subject" else ((p, s), o) for s, p, o in asked]
        relation, given = np.array([key for key, _ in pairs]).T
        found = index.contains(relation, given, np.array([answer for _, answer in pairs]))
        assert found.tolist() == [answer in table.get(key, ()) for key, answer in pairs]
        others = index.count_others(np.array(asked), side)
        assert others.dtype == np.int64
        assert others.tolist() == [len(table.get(key, set()) - {answer}) for key, answer in pairs]


@pytest.mark.parametrize("seed", range(60))
def test_index_equals_a_dict_of_sets(seed):
    """Small random graphs with duplicates; a few ids beyond the graph's own are asked for too."""
    rng = random.Random(seed)
    n, m, splits = random_graph(rng)
    check_index(splits["train"] + splits["test"], range(-1, n + 3), range(-1, m + 2), rng)


@pytest.mark.parametrize("seed", range(15))
def test_index_of_many_answers(seed):
    """Keys with up to 200 answers, so that the search within a key takes several steps."""
    rng = random.Random(seed)
    triples = [(rng.randrange(3), rng.randrange(2), rng.randrange(400)) for _ in range(1000)]
    check_index(triples, range(400), range(2), rng)


@pytest.mark.parametrize("seed", range(15))
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


def test_keys_that_a_product_would_mix_up():
    """r * n + e of (r=0, e=n) and (r=1, e=0), or equal modulo 2**64, are one number but two keys."""
    n = 2**32
    triples = np.array([[n, 0, 7], [0, 1, 8], [5, 2**32, 9], [5, 0, 10]])
    index = KnownIndex.of(triples, "object")
    assert looked_up(index, [(0, n), (1, 0), (2**32, 5), (0, 5)]) == [[7], [8], [9], [10]]
    assert looked_up(index, [(0, 0), (1, n), (2**33, 5)]) == [[], [], []]


def test_index_of_nothing():
    """Without known triples every query has no answers and nothing is known; no queries give nothing."""
    none = np.zeros((0, 3), dtype=np.int64)
    for side in SIDES:
        index = KnownIndex.of(none, side)
        assert looked_up(index, [(0, 0), (3, 1)]) == [[], []]
        assert index.contains(np.array([0]), np.array([0]), np.array([0])).tolist() == [False]
        assert index.count_others(np.array([[0, 0, 0]]), side).tolist() == [0]
        assert looked_up(KnownIndex.of(np.array([[1, 0, 2]]), side), []) == []
        assert KnownIndex.of(np.array([[1, 0, 2]]), side).count_others(none, side).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_duplicates_are_harmless(seed):
    """A known triple given three times, in any order, counts once (trap C19: subtracted twice)."""
    rng = random.Random(seed)
    triples = random_graph(rng)[2]["train"]
    repeated = rng.sample(triples * 3, k=3 * len(triples))
    for side in SIDES:
        once, thrice = (KnownIndex.of(np.array(rows), side) for rows in (sorted(set(triples)), repeated))
        for field in ("relations", "givens", "codes", "offsets", "answers"):
            assert getattr(once, field).tolist() == getattr(thrice, field).tolist()


def test_keys_belong_to_one_side():
    """Trap C17: with (A father B), (B father C), a key (father, B) without its side would answer A and C."""
    array = np.array([[0, 0, 1], [1, 0, 2]])
    assert looked_up(KnownIndex.of(array, "object"), [(0, 0), (0, 1), (0, 2)]) == [[1], [2], []]
    assert looked_up(KnownIndex.of(array, "subject"), [(0, 0), (0, 1), (0, 2)]) == [[], [0], [1]]
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
    assert known_triples(dataset, ("test", "train")).tolist() == [[2, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert known_triples(dataset, ("valid",)).tolist() == [[1, 0, 1]]
    assert known_triples(dataset, ()).shape == (0, 3)
    assert known_triples(dataset, ()).dtype == np.int64
    with pytest.raises(ProtocolError, match="has no split 'dev'; it has train, valid, test"):
        known_triples(dataset, ("train", "dev"))


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
        assert negatives(dataset, triple, side, filter_splits=("valid", "test")) == [
            "Ann",
            "China",
            "Jack",
            "Peru",
        ]
    for side in ("subject", "head", "s"):
        assert negatives(dataset, triple, side, "raw") == ["Ann", "China", "Italy", "Peru"]
        assert negatives(dataset, triple, side) == ["China", "Italy", "Peru"]
        assert negatives(dataset, triple, side, filter_splits=["train"]) == ["Ann", "China", "Italy", "Peru"]
    assert negatives(dataset, ("Peru", "hates", "Ann"), "object") == ["China", "Italy", "Jack", "Peru"]


@pytest.mark.parametrize("seed", range(40))
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
        (("Jak", "father", "B"), "unknown label 'Jak'; did you mean 'Jack'?"),
        (("Jack", "father", "Jake"), "unknown label 'Jake'; did you mean 'Jack'?"),
        (("Jack", "fahter", "B"), "unknown label 'fahter'; did you mean 'father'?"),
        (("Jack", "zzz", "B"), "unknown label 'zzz'"),
        (("father", "father", "B"), "unknown label 'father'"),
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
        ({"side": "both"}, "side must be 'subject' or 'object' (or head/tail, s/o, h/t); got 'both'"),
        (
            {"side": "object", "setting": "filterd"},
            "setting must be one of 'raw', 'filtered'; got 'filterd'; did you mean 'filtered'?",
        ),
        (
            {"side": "object", "filter_splits": ("test", "trian")},
            "dataset 'toy' has no split 'trian'; it has test; did you mean 'train'?",
        ),
    ],
)
def test_negatives_refuse_unknown_settings(options, said):
    """A side, a setting or a split that does not exist."""
    dataset = Dataset.from_frames(test=pd.DataFrame(FATHERS), name="toy")
    with pytest.raises(ProtocolError) as caught:
        negatives(dataset, FATHERS[0], **options)
    assert str(caught.value) == said
