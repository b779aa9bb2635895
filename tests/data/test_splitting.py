"""Dividing one split into train, valid and test: exact sizes, nothing unseen, the same on every machine."""

import hashlib
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grids import light, size

from kgeval import Dataset
from kgeval.data.splitting import split_sizes
from kgeval.errors import DataError

SPLITS = ("train", "valid", "test")
SHARES = {"train": 0.8, "valid": 0.1, "test": 0.1}


def labels_of(dataset, split):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()]


def random_rows(rng, n, n_entities=30, n_relations=4):
    """Random triples, some of them twice."""
    rows = [
        (f"e{rng.randrange(n_entities)}", f"r{rng.randrange(n_relations)}", f"e{rng.randrange(n_entities)}")
        for _ in range(n)
    ]
    return rows + rng.choices(rows, k=n // 10)


def refusal(make, *args, **kwargs):
    """The message of the DataError."""
    with pytest.raises(DataError) as caught:
        make(*args, **kwargs)
    return str(caught.value)


def unseen_parts(parts):
    """The entities and relations of valid and test that train lacks."""
    train = parts["train"]
    entities, relations = {x for s, _, o in train for x in (s, o)}, {p for _, p, _ in train}
    others = [row for split in parts if split != "train" for row in parts[split]]
    return {x for s, _, o in others for x in (s, o)} - entities, {p for _, p, _ in others} - relations


@pytest.mark.parametrize("seed", light(range(60), 5))
def test_sizes_are_exact_and_nothing_is_unseen(seed):
    """Checked with sets: all rows are there, copies are together, every entity and relation is in train."""
    rng = random.Random(seed)
    rows = random_rows(rng, rng.randint(120, 300))
    dataset = Dataset.from_frames(train=rows)
    parts_of = dataset.split(SHARES, split_seed=seed)
    parts = {split: labels_of(parts_of, split) for split in SPLITS}
    assert Counter(row for part in parts.values() for row in part) == Counter(rows)
    distinct = {split: set(part) for split, part in parts.items()}
    n = len(set(rows))
    assert sum(map(len, distinct.values())) == n  # no triple in two splits
    assert unseen_parts(parts) == (set(), set())
    for split, share in SHARES.items():
        assert abs(len(distinct[split]) - n * share) < 1
    assert parts_of.unseen["test"]["triples"] == parts_of.unseen["valid"]["triples"] == 0
    assert parts_of.notes == (
        f"split at random into train 0.8, valid 0.1, test 0.1 of {n:,} distinct triples, seed {seed}"
        ". A model that was not trained on this train split may have been trained on triples of this test split",
    )
    assert (parts_of.entities.labels, parts_of.name) == (dataset.entities.labels, dataset.name)


@pytest.mark.parametrize("seed", light(range(40), 4))
def test_the_order_of_rows_and_ids_changes_nothing(seed):
    """Rows shuffled, ids in another order: the same splits, row for row; another seed gives another split."""
    rng = random.Random(seed)
    rows = random_rows(rng, 150)
    wanted = Dataset.from_frames(train=rows).split(SHARES, split_seed=7)
    entities, relations = ({row[i] for row in rows for i in places} for places in ((0, 2), (1,)))
    shuffled = [list(entities), list(relations), list(rows)]
    for part in shuffled:
        part.sort()
        rng.shuffle(part)
    e, r, rows = shuffled
    arrays = [(e.index(s), r.index(p), e.index(o)) for s, p, o in rows]
    other = Dataset.from_arrays(test=arrays, entity_labels=e, relation_labels=r).split(SHARES, split_seed=7)
    assert other.fingerprint == wanted.fingerprint
    for split in SPLITS:
        assert labels_of(other, split) == labels_of(wanted, split)
    assert Dataset.from_frames(train=rows).split(SHARES, split_seed=8).fingerprint != wanted.fingerprint


def test_the_split_is_that_of_the_definition():
    """A loop over the sorted triples in the order of PCG64's numbers, with plain sets and counts."""
    rows = sorted({(f"e{i % 12:02}", f"r{i % 3}", f"e{i * i % 11:02}") for i in range(90)})[:60]
    numbers = np.random.PCG64(3).random_raw(len(rows)).tolist()
    count = Counter(part for s, p, o in rows for part in {("e", s), ("e", o), ("r", p)})
    left = {"valid": 6, "test": 6}
    parts = {split: set() for split in SPLITS}
    for _, (s, p, o) in sorted(zip(numbers, rows)):
        keys = {("e", s), ("e", o), ("r", p)}
        split = max(left, key=left.get)
        if left[split] and all(count[key] > 1 for key in keys):
            count.subtract(keys)
            left[split] -= 1
        else:
            split = "train"
        parts[split].add((s, p, o))
    found = Dataset.from_frames(train=rows).split(SHARES, split_seed=3)
    assert {split: set(labels_of(found, split)) for split in SPLITS} == parts


def test_the_random_numbers_are_those_of_every_numpy():
    """The outputs of PCG64 with seed 0 that numpy 1.24 and numpy 2.4 give."""
    numbers = np.random.PCG64(0).random_raw(1000)
    assert numbers[:2].tolist() == [11749869230777074271, 4976686463289251617]
    digest = hashlib.sha256(np.argsort(numbers, kind="stable").astype("<i8").tobytes()).hexdigest()
    assert digest == "06746a10e1b2f0a2899dfba7ac1c788256b98fd48fda133ad30543ce7990f929"


@pytest.mark.parametrize("seed", light(range(60), 5))
def test_no_inverse_of_a_triple_of_valid_or_test_is_in_train(seed):
    """On request; without it, some are. Loops (a, r, a) are inverses of each other."""
    rng = random.Random(seed)
    rows = random_rows(rng, 60, n_entities=14)
    rows += [(o, f"r{rng.randrange(4)}", s) for s, _, o in rows] + [("e0", f"r{i}", "e0") for i in range(3)]
    dataset = Dataset.from_frames(train=rows)
    free = dataset.split(SHARES, split_seed=seed, inverse_free=True)
    parts = {split: labels_of(free, split) for split in SPLITS}
    pairs = {(s, o) for s, _, o in parts["train"]}
    for split in ("valid", "test"):
        assert not [row for row in parts[split] if (row[2], row[0]) in pairs]
    assert unseen_parts(parts) == (set(), set())
    n = len(set(rows))
    sizes = split_sizes(n, SHARES, SPLITS)
    n_short = sum(sizes[split] - len(set(parts[split])) for split in ("valid", "test"))
    notes = [
        f"split at random into train 0.8, valid 0.1, test 0.1 of {n:,} distinct triples, seed {seed}; no inverse of "
    ]
    notes[0] += "a triple of valid or test is in train. "
    notes[0] += "A model that was not trained on this train split may have been trained on triples of this test split"
    if n_short:
        noun = "triple" if n_short == 1 else "triples"
        notes.append(
            f"valid and test have {n_short} {noun} fewer than these shares, since triples and their inverses stay in "
            "one split"
        )
    assert list(free.notes) == notes
    assert 0 <= n_short < 12
    with_inverses = dataset.split(SHARES, split_seed=seed)
    in_train = {(s, o) for s, _, o in labels_of(with_inverses, "train")}
    assert any((o, s) in in_train for s, _, o in labels_of(with_inverses, "test"))


def test_pairs_fill_the_sizes_where_single_triples_are_there():
    """40 triples in pairs of inverses, and 40 without: the sizes are exact."""
    rows = [(f"a{i}", "r", f"a{(i + 1) % 20}") for i in range(20)]
    rows += [(o, "q", s) for s, _, o in rows] + [(f"b{i}", "r", f"b{(i + k) % 20}") for i in range(20) for k in (1, 3)]
    parts = Dataset.from_frames(train=rows).split({"train": 0.75, "valid": 0.125, "test": 0.125}, inverse_free=True)
    assert {split: len(triples) for split, triples in parts.splits.items()} == {"train": 60, "valid": 10, "test": 10}
    assert len(parts.notes) == 1


def test_what_cannot_leave_train_is_counted():
    """A star: every triple has an entity of its own. A ring leaves each second triple at most."""
    star = Dataset.from_frames(train=[("hub", "r", f"e{i}") for i in range(20)])
    assert refusal(star.split, SHARES) == (
        "split: only 0 of 4 triples can be in valid and test so that all 21 entities and 1 relation of the 20 distinct "
        "triples occur in train; choose a larger fraction for train"
    )
    ring = Dataset.from_frames(train=[(f"e{i}", "r", f"e{(i + 1) % 40}") for i in range(40)])
    for seed in range(size(5, 50)):
        parts = ring.split({"train": 0.7, "test": 0.3}, split_seed=seed)
        assert (len(parts["test"]), parts.unseen["test"]["triples"]) == (12, 0)
        assert "of 32 triples can be in valid and test" in refusal(
            ring.split, {"train": 0.2, "valid": 0.4, "test": 0.4}
        )
    once = Dataset.from_frames(train=[("a", f"r{i}", "b") for i in range(10)])
    assert "10 relations of the 10 distinct triples occur in train" in refusal(once.split, {"train": 0.5, "test": 0.5})


@pytest.mark.parametrize("n", [3, 10, 11, 19, 101, 12345])
@pytest.mark.parametrize("shares", [(0.8, 0.1, 0.1), (0.5, 0.25, 0.25), (1 / 3, 1 / 3, 1 / 3), (0.34, 0.33, 0.33)])
def test_sizes_by_the_largest_remainder(n, shares):
    """Exact shares (0.1 is a tenth), a sum of n, and no size a whole triple away from its share."""
    fractions = dict(zip(SPLITS, shares))
    if n * min(shares) < 0.5 and n == 3:
        assert "3 distinct triples are too few for these fractions: valid would be empty" in refusal(
            split_sizes, n, fractions, SPLITS
        )
        return
    sizes = split_sizes(n, fractions, SPLITS)
    assert (sum(sizes.values()), list(sizes)) == (n, list(SPLITS))
    quotas = {split: n * Fraction(str(share)) for split, share in fractions.items()}
    assert all(abs(sizes[split] - quotas[split]) < 1 for split in SPLITS)
    rounded_up = {split for split in SPLITS if sizes[split] > quotas[split]}
    down = {split for split in SPLITS if split not in rounded_up}
    remainders = {split: quotas[split] % 1 for split in SPLITS}
    assert all(remainders[a] >= remainders[b] - Fraction(1, 10**6) for a in rounded_up for b in down)


@pytest.mark.parametrize(
    ("fractions", "said"),
    [
        ({"train": 0.8, "test": 0.1}, "fractions must sum to 1; got 0.8 + 0.1 = 0.9"),
        (
            {"train": 0.8, "tset": 0.2},
            "fractions: unknown split 'tset'; did you mean 'test'?; splits are train, valid, ",
        ),
        ({"valid": 0.5, "test": 0.5}, "fractions must name train and at least one other split; got {'valid': 0.5, 'te"),
        ({"train": 1.0}, "fractions must name train and at least one other split"),
        ({"train": 1.0, "test": 0.0}, "fractions: the share of train must be between 0 and 1; got 1.0"),
        ({"train": 80, "test": 20}, "fractions: the share of train must be between 0 and 1; got 80"),
        ({"train": float("nan"), "test": 0.2}, "fractions: the share of train must be between 0 and 1; got nan"),
        ({"train": "0.8", "test": 0.2}, "fractions: the share of train must be between 0 and 1; got '0.8'"),
        ((0.8, 0.1, 0.1), "fractions must map splits to shares, as in {'train': .8, 'test': .2}; got (0.8, 0.1, 0.1)"),
    ],
)
def test_fractions_that_are_not_valid(fractions, said):
    """Unknown names, sums other than 1, percentages."""
    assert refusal(Dataset.from_frames(train=[("a", "r", "b")]).split, fractions).startswith(said)


def test_what_can_be_split():
    """One split only; a seed of at least 0; numpy's floats are fractions."""
    rows = [(f"e{i}", "r", f"e{j}") for i in range(5) for j in range(5)]
    dataset = Dataset.from_frames(train=rows, test=rows[:2])
    assert refusal(dataset.split, SHARES) == (
        "dataset 'dataset' already has the splits train, test; split() divides one split"
    )
    one = Dataset.from_frames(test=rows)
    for seed in (-1, 0.5, None, True):
        assert (
            refusal(one.split, SHARES, split_seed=seed) == f"split_seed must be an integer of at least 0; got {seed!r}"
        )
    assert len(one.split({"train": np.float64(0.8), "test": np.float32(0.2)})["test"]) == 5


def test_columns_and_dictionaries_stay_with_their_triples():
    """Times of copies stay apart; the order of ids of the tool is kept."""
    rows = [(f"e{i}", "r", f"e{(i + k) % 9}") for i in range(9) for k in (1, 2)] * 2
    times = [f"{s}{o}{i // 18}" for i, (s, _, o) in enumerate(rows)]
    frame = pd.DataFrame(rows, columns=list("spo")).assign(time=times)
    parts = Dataset.from_frames(train=frame).split(SHARES, split_seed=1)
    for split in SPLITS:
        found = [
            (f"{s}{o}", time[:-1]) for (s, _, o), time in zip(labels_of(parts, split), parts.columns[split]["time"])
        ]
        assert all(a == b for a, b in found)
    assert sorted(time for split in SPLITS for time in parts.columns[split]["time"]) == sorted(times)
    base = Dataset.from_frames(train=rows)
    named = Dataset(base.entities, base.relations, base.splits, dictionaries={"entities": base.entities.labels[::-1]})
    assert named.split(SHARES).dictionaries == {"entities": base.entities.labels[::-1]}


@pytest.mark.thorough
def test_large_graphs_are_split_in_seconds():
    """A million triples: exact sizes."""
    rng = np.random.default_rng(0)
    triples = np.column_stack(
        [rng.integers(0, 50_000, 10**6), rng.integers(0, 50, 10**6), rng.integers(0, 50_000, 10**6)]
    )
    dataset = Dataset.from_arrays(train=triples, n_entities=50_000, n_relations=50)
    parts = dataset.split(SHARES, split_seed=0)
    n = 10**6 - dataset.duplicates["train"]
    assert len(parts["test"]) - parts.duplicates["test"] == split_sizes(n, SHARES, SPLITS)["test"]
    assert parts.unseen["test"]["triples"] == 0
