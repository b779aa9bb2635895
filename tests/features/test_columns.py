"""The columns by which ranks are broken down: hand-made graphs, loops over random ones, counts of real datasets."""

import collections
import dataclasses
import json
import math
import random
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval import features
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, KgevalWarning, MetricError, ProtocolError
from kgeval.features.columns import degree_buckets, features_of
from kgeval.features.entity_types import read_types
from kgeval.features.popularity import popularity_weights
from kgeval.features.relations import cardinalities, patterns
from kgeval.stats.moments import Moments

WORDNET_SYMMETRIC = {"_derivationally_related_form", "_similar_to", "_verb_group"}
TEST_CLASSES = {  # test triples by class, as the README of the data counts them
    "fb15k-237": {"1-1": 192, "1-N": 1293, "N-1": 4185, "N-N": 14796},
    "wn18rr": {"1-1": 42, "1-N": 475, "N-1": 1487, "N-N": 1130},
    "wn18": {"1-1": 42, "1-N": 1847, "N-1": 1981, "N-N": 1130},
}


def table_of(*rows, sides=("subject", "object")):
    """A table of ranks that asks each side of each (s, p, o), all subjects first."""
    asked = [(*row, side) for side in sides for row in rows]
    return pd.DataFrame(asked, columns=["s", "p", "o", "side"]).astype({"side": "category"})


def table_of_test(dataset):
    return table_of(*np.asarray(dataset["test"]).tolist())


def triples_of(dataset):
    return np.concatenate([np.asarray(split) for split in dataset.splits.values()])


@pytest.fixture(scope="module")
def data(shared):
    """Real datasets by name, each read once."""
    held = {}

    def read(name):
        if name not in held:
            held[name] = kg.read_dataset(shared / "data" / name)
        return held[name]

    return read


# --- cardinality ------------------------------------------------------------------------------------------------------


def test_each_class_of_cardinality():
    """The first place tells of subjects, the second of objects.

    Relation 0 pairs entities one to one, 1 gives one subject three objects (parent of), 2 three subjects one object
    (born in), 3 all of two subjects all of two objects; 4 has no triple.
    """
    one = [(0, 0, 5), (1, 0, 6)]
    parent = [(0, 1, 5), (0, 1, 6), (0, 1, 7)]
    born = [(5, 2, 0), (6, 2, 0), (7, 2, 0)]
    many = [(s, 3, o) for s in (0, 1) for o in (5, 6)]
    found = cardinalities([*many, *born, *parent, *one], 5)
    assert found.tolist() == ["1-1", "1-N", "N-1", "N-N", "unknown"]


def test_a_mean_at_the_threshold_is_many():
    """Two subjects have three objects in all: 1.5 objects per (s, p), 1 subject per (p, o)."""
    triples = [(0, 0, 2), (0, 0, 3), (1, 0, 4)]
    assert cardinalities(triples, 1).tolist() == ["1-N"]
    assert cardinalities(triples, 1, threshold=1.5000001).tolist() == ["1-1"]
    assert cardinalities(triples * 3, 1, threshold=1.5000001).tolist() == ["1-1"]  # a repeated triple counts once


def test_the_threshold_is_the_decimal_that_is_written():
    """Eleven objects of ten subjects are 1.1 each, which the float 1.1 exceeds by 9e-17."""
    triples = [(s, 0, 20 + s) for s in range(10)] + [(0, 0, 40)]
    assert cardinalities(triples, 1, threshold=1.1).tolist() == ["1-N"]
    assert cardinalities(triples, 1, threshold=1.1000000000000003).tolist() == ["1-1"]


@pytest.mark.parametrize("name", TEST_CLASSES)
def test_cardinalities_of_real_test_triples(data, name):
    """Means over all splits."""
    dataset = data(name)
    classes = cardinalities(triples_of(dataset), len(dataset.relations))
    assert collections.Counter(classes[dataset["test"].p].tolist()) == TEST_CLASSES[name]


def test_the_splits_of_the_means_matter(data):
    """FB15k-237 with means over train alone: 20,143 of 20,466 test triples stay in their class."""
    dataset = data("fb15k-237")
    n, p = len(dataset.relations), dataset["test"].p
    every, train = cardinalities(triples_of(dataset), n), cardinalities(np.asarray(dataset["train"]), n)
    assert int((every[p] == train[p]).sum()) == 20_143
    frames = [
        features_of(table_of_test(dataset), kg.Protocol(), dataset, names=["cardinality"], means_from=splits)[0]
        for splits in (None, ["train"], "train")
    ]
    same = (frames[0]["cardinality"].astype(str) == frames[1]["cardinality"].astype(str)).to_numpy()
    assert int(same.sum()) == 2 * 20_143
    assert frames[1].equals(frames[2])


def test_one_relation_of_fb15k_237_sits_at_the_threshold(data):
    """By sets: exactly one of its 474 means is 1.5, and that place is N."""
    dataset = data("fb15k-237")
    facts = {tuple(row) for row in triples_of(dataset).tolist()}
    n = collections.Counter(p for _, p, _ in facts)
    groups = (
        collections.Counter(p for p, _ in {(p, fact[place]) for fact in facts for p in fact[1:2]}) for place in (2, 0)
    )
    at_limit = [
        (p, place) for place, counts in enumerate(groups) for p in n if Fraction(n[p], counts[p]) == Fraction(3, 2)
    ]
    assert len(at_limit) == 1
    p, place = at_limit[0]
    assert cardinalities(triples_of(dataset), len(dataset.relations))[p].split("-")[place] == "N"


# --- patterns ---------------------------------------------------------------------------------------------------------


def pattern_by_sets(facts, p, least):
    """The pattern of one relation by its definition; `facts` is a set of triples."""
    if not any(fact[1] == p for fact in facts):
        return "unknown"
    pairs = collections.defaultdict(set)
    for s, q, o in facts:
        if s != o:
            pairs[q].add((s, o))
    own = pairs.pop(p, set())
    enough = least * len(own)
    if not own:
        return "other"
    if sum((o, s) in own for s, o in own) >= enough:
        return "symmetric"
    for name, asked in (("inverse", {(o, s) for s, o in own}), ("duplicate", own)):
        if any(len(asked & other) >= enough for other in pairs.values()):
            return name
    every = {**pairs, p: own}
    for first in every.values():
        for second in every.values():
            steps = collections.defaultdict(set)
            for s, x in first:
                steps[x].add(s)
            reached = {(s, o) for x, o in second for s in steps[x]}
            if len(own & reached) >= enough:
                return "composition"
    return "other"


def planted_graph(rng):
    """A graph of random relations and of ones that follow from them, with noise, loops and repeated triples."""
    n_entities = rng.randint(3, 9)
    entity = range(n_entities)
    relations = [{(rng.choice(entity), rng.choice(entity)) for _ in range(rng.randint(1, 8))} for _ in range(3)]
    a, b = relations[:2]
    relations.append({(o, s) for s, o in a})
    relations.append(b | {(o, s) for s, o in b})
    relations.append({(s, o) for s, x in a for y, o in b if x == y})
    relations.append(set(rng.sample(sorted(a), len(a))) | {(0, 1)})
    facts = [(s, p, o) for p, pairs in enumerate(relations) for s, o in pairs if rng.random() < 0.9]
    facts += rng.choices(facts, k=3) if facts else []
    rng.shuffle(facts)
    return facts, len(relations) + 1


def test_relations_equal_loops_over_random_graphs():
    """400 graphs: cardinality from means of lists, patterns from sets; every class occurs often."""
    rng = random.Random(5)
    met = collections.Counter()
    for _ in range(size(33, 400)):
        facts, n = planted_graph(rng)
        least = rng.choice([Fraction(4, 5), Fraction(1, 2), Fraction(1), Fraction(2, 3)])
        limit = rng.choice([Fraction(3, 2), Fraction(5, 4), Fraction(2)])
        expected = [pattern_by_sets(set(facts), p, Fraction(str(float(least)))) for p in range(n)]
        found, note = patterns(facts, n, least=float(least), most_paths=None)
        assert found.tolist() == expected
        assert note == ""
        classes = []
        for p in range(n):
            own = [fact for fact in set(facts) if fact[1] == p]
            means = [Fraction(len(own), len({fact[place] for fact in own}) or 1) for place in (2, 0)]
            classes.append("-".join("1" if mean < limit else "N" for mean in means) if own else "unknown")
        assert cardinalities(facts, n, threshold=float(limit)).tolist() == classes
        met.update(expected)
        met.update(classes)
    assert set(met) == {*features.relations.PATTERNS, *features.relations.CARDINALITIES}
    assert min(met.values()) >= size(8, 40)


def test_symmetric_at_exactly_four_fifths():
    """Two couples and one single pair: 4 of 5 pairs are reversed. Loops count on neither side."""
    couples = [(0, 0, 1), (1, 0, 0), (2, 0, 3), (3, 0, 2)]
    assert patterns([*couples, (4, 0, 5)], 1)[0].tolist() == ["symmetric"]
    assert patterns([*couples, (4, 0, 5)], 1, least=0.8000001)[0].tolist() == ["other"]
    assert patterns([*couples, (4, 0, 5), (4, 0, 6)], 1)[0].tolist() == ["other"]
    loops = [(e, 0, e) for e in range(4, 9)]
    assert patterns([*couples, *loops], 1, least=1)[0].tolist() == ["symmetric"]
    assert patterns([(4, 0, 5), *loops], 1)[0].tolist() == ["other"]
    assert patterns(loops, 2)[0].tolist() == ["other", "unknown"]


def test_inverse_needs_one_other_relation_and_counts_the_pairs_of_the_first():
    """Relation 0 is reversed in 1, which has more; half of 2 in 3 and half in 4 is not enough."""
    whole = [(0, 0, 5), (1, 0, 6), (5, 1, 0), (6, 1, 1), (7, 1, 3)]
    halves = [(10, 2, 15), (11, 2, 16), (15, 3, 10), (17, 3, 12), (16, 4, 11), (18, 4, 13)]
    found, _ = patterns([*whole, *halves], 5)
    assert found.tolist() == ["inverse", "other", "other", "other", "other"]
    assert patterns([*whole, *halves], 5, least=0.5)[0].tolist() == ["inverse"] * 5


def test_the_first_pattern_that_fits_is_taken():
    """Symmetric before inverse before duplicate before composition."""
    couple = [(0, 1), (1, 0)]
    assert patterns([(s, p, o) for p in (0, 1) for s, o in couple], 2)[0].tolist() == ["symmetric", "symmetric"]
    both = [(0, 0, 1), (0, 1, 1), (1, 2, 0)]  # 0 and 1 have the same pair, 2 has it reversed
    assert patterns(both, 3)[0].tolist() == ["inverse", "inverse", "inverse"]
    assert patterns([(0, 0, 1), (0, 1, 1)], 2)[0].tolist() == ["duplicate", "duplicate"]
    joined = [(0, 0, 1), (0, 1, 1), (0, 2, 2), (2, 3, 1)]
    assert patterns(joined, 4)[0].tolist() == ["duplicate", "duplicate", "other", "other"]


def test_compositions():
    """A grandparent is a parent's parent; before is transitive; two paths for half the pairs each do not do."""
    parent = [(0, 0, 1), (1, 0, 2), (3, 0, 4), (4, 0, 5)]
    assert patterns([*parent, (0, 1, 2), (3, 1, 5)], 2)[0].tolist() == ["other", "composition"]
    before = [(a, 0, b) for a in range(12) for b in range(a + 1, 12)]  # 11 of 66 pairs have none between
    assert patterns(before, 1)[0].tolist() == ["composition"]
    assert patterns(before, 1, least=0.84)[0].tolist() == ["other"]
    split = [(0, 0, 1), (1, 1, 2), (3, 2, 4), (4, 1, 5), (0, 3, 2), (3, 3, 5)]
    assert patterns(split, 4)[0].tolist()[3] == "other"
    assert patterns(split, 4, least=0.5)[0].tolist()[3] == "composition"


def test_a_pair_counts_once_however_many_paths_join_it():
    """Three paths of the same two relations join one of two pairs: a share of 1/2."""
    triples = [(0, 0, x) for x in (1, 2, 3)] + [(x, 1, 9) for x in (1, 2, 3)] + [(0, 2, 9), (5, 2, 6)]
    assert patterns(triples, 3)[0].tolist() == ["other"] * 3
    assert patterns(triples, 3, least=0.5)[0].tolist()[2] == "composition"


def test_paths_are_bounded_and_that_is_said():
    """The cheapest first: for relation 1 one triple starts at 0 beside the pair itself; relation 0 begins 4 paths.

    Each pair is begun at its subject or, where fewer triples end there, at its object: (0, 1) 1, (1, 2) 1, (3, 4) 1,
    (4, 5) 1 for relation 0; (0, 2) 2 and (3, 5) 2 for relation 1.
    """
    triples = [(0, 0, 1), (1, 0, 2), (3, 0, 4), (4, 0, 5), (0, 1, 2), (3, 1, 5)]
    found, note = patterns(triples, 2, most_paths=8)
    assert (found.tolist(), note) == (["other", "composition"], "")
    found, note = patterns(triples, 2, most_paths=7)
    assert found.tolist() == ["other", "other"]
    assert note == (
        "pattern: 1 of 2 relations without another pattern were not searched for compositions; "
        "a full search would cost 8 steps, more than the limit of 7"
    )
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=6, n_relations=2)
    frame, notes = features_of(table_of(*triples), kg.Protocol(), dataset, names=["pattern"])
    assert frame["pattern"].tolist() == (["other"] * 4 + ["composition"] * 2) * 2
    assert notes == []


def test_patterns_of_fb15k_237_are_bounded(data):
    """Too many paths: the note stands with the columns."""
    dataset = data("fb15k-237")
    frame, notes = features_of(table_of_test(dataset), kg.Protocol(), dataset, names=["pattern"])
    assert len(frame) == 40_932
    (note,) = notes
    assert re.fullmatch(
        r"pattern: \d+ of 197 relations without another pattern were not searched for compositions; "
        r"a full search would cost [\d,]+ steps, more than the limit of 500,000",
        note,
    )


@pytest.mark.parametrize("name", ["wn18rr", "wn18", "umls", "nations"])
def test_patterns_of_real_relations_equal_sets(data, name):
    """Symmetric, inverse and duplicate by sets; WN18 holds each relation's inverse, WN18RR none."""
    dataset = data(name)
    pairs = collections.defaultdict(set)
    for s, p, o in triples_of(dataset).tolist():
        if s != o:
            pairs[p].add((s, o))
    found, note = patterns(triples_of(dataset), len(dataset.relations))
    assert note == ""
    for p, pattern in enumerate(found):
        turned = {(o, s) for s, o in pairs[p]}
        others = [other for q, other in pairs.items() if q != p]
        fits = {
            "symmetric": 5 * len(turned & pairs[p]) >= 4 * len(turned),
            "inverse": any(5 * len(turned & other) >= 4 * len(turned) for other in others),
            "duplicate": any(5 * len(pairs[p] & other) >= 4 * len(turned) for other in others),
        }
        first = next((name for name, is_so in fits.items() if is_so), None)
        assert pattern == first or (first is None and pattern in ("composition", "other")), dataset.relations.labels[p]
    labelled = dict(zip(dataset.relations.labels, found))
    if name.startswith("wn"):
        assert {label for label, pattern in labelled.items() if pattern == "symmetric"} == WORDNET_SYMMETRIC
    if name == "wn18":
        inverse = {label for label, pattern in labelled.items() if pattern == "inverse"}
        assert inverse == set(labelled) - WORDNET_SYMMETRIC - {"_also_see"}
        is_leaky = np.isin(found[dataset["test"].p].astype(str), ["symmetric", "inverse"])
        assert 0.94 < is_leaky.mean() < 1
    if name == "wn18rr":
        assert set(labelled.values()) == {"symmetric", "other"}


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: cardinalities([[0, 1]], 2), DataError, "triples must have shape (n, 3); got (1, 2)"),
        (lambda: cardinalities([[0, 2, 1]], 2), DataError, "triples, relations, row 0: id 2 is not in 0..1"),
        (lambda: cardinalities([], 2, threshold=0), MetricError, "threshold must be a number above 0; got 0"),
        (lambda: patterns([[0, -1, 1]], 2), DataError, "triples, relations, row 0: id -1 is not in 0..1"),
        (lambda: patterns([], 2, least=0), MetricError, "least must be a number above 0 and at most 1; got 0"),
        (lambda: patterns([], 2, least=1.01), MetricError, "least must be a number above 0 and at most 1; got 1.01"),
        (lambda: degree_buckets([1, -2]), DataError, "degrees must be at least 0; got -2 in row 1"),
        (
            lambda: degree_buckets([0.5]),
            DataError,
            "degrees must be integers of shape (n,); got float64 of shape (1,)",
        ),
    ],
)
def test_what_is_refused(call, error, said):
    with pytest.raises(error, match=re.escape(said)):
        call()


def test_no_triples_at_all():
    assert cardinalities([], 2).tolist() == ["unknown", "unknown"]
    assert patterns([], 2)[0].tolist() == ["unknown", "unknown"]


# --- buckets ----------------------------------------------------------------------------------------------------------


def test_buckets_double():
    """Each count stands in the bucket of its binary length; the categories have no gap."""
    counts = [*range(70), 127, 128, 2**40 - 1, 2**40, 2**62]
    buckets = degree_buckets(counts)
    for count, bucket in zip(counts, buckets):
        low = 2 ** (count.bit_length() - 1) if count else 0
        assert bucket == (str(low) if low < 2 else f"{low}-{2 * low - 1}")
    assert buckets.ordered
    assert buckets.categories[:6].tolist() == ["0", "1", "2-3", "4-7", "8-15", "16-31"]
    assert len(buckets.categories) == 64
    assert degree_buckets([9]).categories.tolist() == ["0", "1", "2-3", "4-7", "8-15"]
    assert degree_buckets([]).categories.tolist() == ["0"]
    assert degree_buckets(np.array([3], dtype=np.uint8)).tolist() == ["2-3"]


# --- the columns ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small():
    """Six entities; 5 and relation 1 are not in train. One train triple stands twice, one is a loop."""
    return kg.Dataset.from_arrays(
        train=[[0, 0, 1], [0, 0, 1], [0, 0, 2], [3, 0, 1], [3, 0, 3]],
        valid=[[0, 0, 3]],
        test=[[0, 0, 4], [4, 0, 1], [0, 1, 1], [5, 1, 1]],
        n_entities=6,
        n_relations=2,
        name="small",
    )


def test_columns_by_hand(small):
    """Degrees in train: 0 has two distinct triples, 1 two, 2 one, 3 two (its loop once), 4 and 5 none."""
    table = table_of(*small["test"].array.tolist())
    types = pd.Categorical(["a", "b", "b", "c", "a", "none"])
    frame, _ = features_of(table, kg.Protocol(), small, types=types)
    assert frame.columns.tolist() == list(features.columns.FEATURES)
    assert frame.index.equals(pd.RangeIndex(8))
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes)
    columns = {name: " ".join(f"{value}".replace(" ", "_") for value in frame[name]) for name in frame}
    assert columns == {
        "cardinality": "N-N N-N N-1 N-1 N-N N-N N-1 N-1",
        "pattern": "other other other other other other other other",
        "degree_given": "0 2-3 2-3 2-3 2-3 0 2-3 0",
        "degree_asked": "2-3 0 2-3 0 0 2-3 2-3 2-3",
        "relation_frequency": "4-7 4-7 0 0 4-7 4-7 0 0",
        "seen": " ".join(["unseen_entity", "unseen_entity", "unseen_relation", "unseen_entity"] * 2),
        "leak": "none none none none none none none none",
        "half_link": " ".join(["subject_and_relation", "relation_and_object", "none", "none"] * 2),
        "known_answers": "0 2-3 1 1 2-3 0 0 0",
        "type_given": "a b b b a a a none",
        "type_asked": "a a a none a b b b",
    }


def test_columns_ignore_index_and_order_of_the_table(small):
    """Rows are taken as they stand, whatever their index says."""
    table = table_of(*small["test"].array.tolist())
    frame, _ = features_of(table, kg.Protocol(), small)
    order = [5, 0, 7, 3]
    part, _ = features_of(table.iloc[order], kg.Protocol(), small)
    assert part.index.equals(pd.RangeIndex(4))
    for name in frame:
        assert part[name].tolist() == [frame[name].tolist()[i] for i in order]
    assert "type_given" not in frame
    assert features_of(table.iloc[:0], kg.Protocol(), small)[0].shape == (0, 9)


def test_known_answers_follow_the_filter(small):
    """(0, 0, ?) has answers 1, 2 in train, 3 in valid and 4 in test, the one asked."""
    table = table_of([0, 0, 4], sides=["object"])
    for splits, bucket in {None: "2-3", ("train",): "2-3", ("valid",): "1", ("test",): "0", (): "0"}.items():
        frame, _ = features_of(table, kg.Protocol(filter=splits), small, names=["known_answers"])
        assert frame["known_answers"].tolist() == [bucket]


def test_only_what_is_asked_is_computed(small, monkeypatch):
    def refuse(source):
        raise AssertionError("not asked for")

    for name, feature in features.columns.FEATURES.items():
        if name not in ("seen", "degree_asked"):
            monkeypatch.setitem(features.columns.FEATURES, name, dataclasses.replace(feature, make=refuse))
    frame, _ = features_of(table_of([0, 0, 4]), kg.Protocol(), small, names=["seen", "degree_asked"])
    assert frame.columns.tolist() == ["seen", "degree_asked"]


def test_columns_equal_loops_over_random_graphs():
    """Degrees, frequencies, seen and known answers by plain counting, in 60 graphs."""
    rng = random.Random(11)
    met = set()
    for _ in range(size(6, 60)):
        n, m = rng.randint(2, 7), rng.randint(1, 3)

        def draw(most, n=n, m=m):
            return [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(1, most))]

        train, valid, test = draw(9), draw(4), draw(6)
        dataset = kg.Dataset.from_arrays(train=train, valid=valid, test=test, n_entities=n, n_relations=m)
        filters = rng.choice([("train",), ("train", "valid"), ("train", "valid", "test")])
        facts = {fact for split in filters for fact in {"train": train, "valid": valid, "test": test}[split]}
        frame, _ = features_of(table_of(*test), kg.Protocol(filter=filters), dataset)
        known = set(train)
        entities, relations = {e for s, _, o in known for e in (s, o)}, {p for _, p, _ in known}
        for row, (s, p, o, side) in enumerate(table_of(*test).itertuples(index=False)):
            given, asked = (o, s) if side == "subject" else (s, o)
            answers = {
                fact[0 if side == "subject" else 2]
                for fact in facts
                if fact[1] == p and given == fact[2 if side == "subject" else 0]
            }
            counts = {
                "degree_given": sum(given in (fact[0], fact[2]) for fact in known),
                "degree_asked": sum(asked in (fact[0], fact[2]) for fact in known),
                "relation_frequency": sum(fact[1] == p for fact in known),
                "known_answers": len(answers - {asked}),
            }
            for name, count in counts.items():
                assert frame[name].iloc[row] == degree_buckets([count])[0], name
            unseen = "unseen entity" if not {s, o} <= entities else "unseen relation" if p not in relations else "seen"
            assert frame["seen"].iloc[row] == unseen
            met.add(unseen)
    assert met == {"seen", "unseen entity", "unseen relation"}


def test_unseen_of_fb15k_237(data):
    """28 of 20,466 test triples name an entity that train lacks, on two sides each."""
    dataset = data("fb15k-237")
    frame, _ = features_of(table_of_test(dataset), kg.Protocol(), dataset, names=["seen"])
    assert frame["seen"].value_counts().to_dict() == {"seen": 40_876, "unseen entity": 56, "unseen relation": 0}


def test_without_train_its_columns_are_left_out():
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, name="alone")
    frame, _ = features_of(table_of([0, 0, 1]), kg.Protocol(), dataset)
    assert frame.columns.tolist() == ["cardinality", "pattern", "known_answers"]
    said = "feature 'seen' needs a train split; dataset 'alone' has none"
    with pytest.raises(ProtocolError, match=re.escape(said)):
        features_of(table_of([0, 0, 1]), kg.Protocol(), dataset, names=["seen"])


@pytest.mark.parametrize(
    ("change", "options", "error", "said"),
    [
        ({}, {"names": ["degrees_given"]}, ProtocolError, "got 'degrees_given'; did you mean 'degree_given'?"),
        (
            {},
            {"names": ["type_given"]},
            ProtocolError,
            "feature 'type_given' needs types=; see read_types (result.with_features(types=read_types(file, "
            "result.entities)[0]))",
        ),
        ({}, {"means_from": ["dev"]}, ProtocolError, "dataset 'small' has no split 'dev'"),
        (
            {},
            {"types": ["a"] * 6},
            DataError,
            "types must be a pandas.Categorical in id order; got list. See read_types",
        ),
        ({}, {"types": pd.Categorical(["a"] * 5)}, DataError, "types must contain one type per entity, 6; got 5"),
        ({}, {"types": pd.Categorical(["a"] * 5 + [None])}, DataError, "entity '5' has none. Use the type 'none'"),
        ({"s": 6}, {}, DataError, "table, column s, row 0: id 6 is not in 0..5"),
        ({"p": 2}, {}, DataError, "table, column p, row 0: id 2 is not in 0..1"),
        ({"side": "head"}, {}, DataError, "table, column side, row 0: expected subject, object, relation; got 'head'"),
        (None, {}, DataError, "a table of triples needs the columns s, p, o; missing: o. Pass the .table of"),
    ],
)
def test_what_the_columns_refuse(small, change, options, error, said):
    table = table_of([0, 0, 4]).astype({"side": object})
    table = table[["s", "p"]] if change is None else table.assign(**change)
    with pytest.raises(error, match=re.escape(said)):
        features_of(table, kg.Protocol(), small, **options)


# --- types ------------------------------------------------------------------------------------------------------------

PLACES = Vocabulary(["Bonn", "Italy", "Jack", "Rome", "Thomas"])


def test_types_from_lines(tmp_path):
    """city: Bonn, Rome; capital: Rome; person: Jack; author: Jack. Rome is a city, Jack of two types the first."""
    file = tmp_path / "types.tsv"
    lines = ["Rome\tcapital", "Rome\tcity", "Bonn\tcity", "Jack\tperson", "Jack\tauthor", "Mars\tplanet", "Mars\tcity"]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*lines, *lines[:1] * 3]).encode())
    types, unknown = read_types(file, PLACES)
    assert list(types) == ["city", "none", "author", "city", "none"]
    assert types.categories.tolist() == ["author", "city", "none"]
    assert unknown == ("Mars",)


def test_types_of_unknown_entities_do_not_count(tmp_path):
    """Two capitals outside the dataset would else outnumber the one city."""
    file = tmp_path / "types.txt"
    file.write_text("Rome\tz\nRome\ta\nBonn\tz\nOslo\ta\nParis\ta\n")
    types, unknown = read_types(file, PLACES)
    assert list(types) == ["z", "none", "none", "z", "none"]
    assert unknown == ("Oslo", "Paris")


def test_types_from_json(tmp_path):
    """A type, a list of types, an empty list, and a label written with an escape."""
    file = tmp_path / "types.JSON"
    file.write_text(
        '{"Rome": ["capital", "city"],\n "Bonn": "city", "Jack": [], "Ital\\u0079": "land", "Oslo": "city"}'
    )
    types, unknown = read_types(str(file), PLACES)
    assert list(types) == ["city", "land", "none", "city", "none"]
    assert unknown == ("Oslo",)


def test_types_of_codex(shared, data):
    """Every entity of CoDEx-S has types, some twice; each gets the most frequent. The file names 75,917 others.

    1,398 entities are humans (Q5), more than have any other type, so all of them are of that type.
    """
    dataset = data("codex-s")
    file = shared / "data" / "codex-s" / "entity2types.json"
    types, unknown = read_types(file, dataset.entities)
    assert len(unknown) == 75_917
    held = json.loads(file.read_text())
    counts = collections.Counter(name for label in dataset.entities.labels for name in set(held[label]))
    for label, chosen in zip(dataset.entities.labels, types):
        assert chosen in held[label]
        assert counts[chosen] == max(counts[name] for name in held[label])
    assert (types == "Q5").sum() == counts["Q5"] == 1398
    frame, _ = features_of(table_of_test(dataset), kg.Protocol(), dataset, names=["type_asked"], types=types)
    test = dataset["test"].array
    assert frame["type_asked"].tolist() == [types[i] for i in [*test[:, 0], *test[:, 2]]]


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        (
            "t.tsv",
            b"Rome\tcity\nBonn city\n",
            "t.tsv, line 2: expected 2 tab-separated columns (entity, type), found 1: 'Bonn",
        ),
        (
            "t.tsv",
            b"Rome\tcity\n\nBonn\tcity\n",
            "t.tsv, line 2: expected 2 tab-separated columns (entity, type), found 0: ''",
        ),
        (
            "t.tsv",
            b"Rome\tcity\tbig\n",
            "t.tsv, line 1: expected 2 tab-separated columns (entity, type), found 3: 'Rome",
        ),
        ("t.tsv", b"Rome\tcity\nBonn\t\n", "t.tsv, line 2: column 2 is empty: 'Bonn"),
        (
            "t.tsv",
            b"",
            "t.tsv: no label in the file is an entity of the dataset; the file has no labels. "
            "Expected labels such as ('Bonn',)",
        ),
        (
            "t.tsv",
            b"Q1\ta\nQ2\tb\n",
            "t.tsv: no label in the file is an entity of the dataset; the first of its 2 labels is 'Q1'. "
            "Expected labels such as",
        ),
        (
            "t.tsv",
            b"Rome\tcity\n\xff\n",
            "t.tsv, line 2: invalid UTF-8 at byte 10 of the file (0xff); save the file as UTF-8",
        ),
        (
            "t.tsv",
            b"\xff\xfeR\0",
            "t.tsv: is encoded in UTF-16 (byte order mark); expected UTF-8. Convert the file first",
        ),
        ("t.json", b'{"Rome": "city",\n Bonn}', "t.json, line 2, column 2: not JSON: "),
        ("t.json", b'["Rome"]', "t.json, line 1: expected an object {entity: type or [types]}; got list"),
        (
            "t.json",
            b'{"Bonn": "Rome",\n "Rome": ["city", 3]}',
            "t.json, line 2: entity 'Rome': expected a type or a list of types, each a string that is not empty; got 3",
        ),
        ("t.json", b'{"Rome":\n ""}', "t.json, line 1: entity 'Rome': expected a type or a list of types"),
        ("t.json", b'{"Rome": null}', "not empty; got None"),
        ("t.json", b'{"Rome": "a",\n"Rome": "b"}', "t.json, line 2: duplicate key 'Rome'; give its types in one list"),
        ("none.tsv", None, "none.tsv: no such file"),
    ],
)
def test_faults_of_types(tmp_path, name, raw, said):
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError) as error:
        read_types(tmp_path / name, PLACES)
    assert said in str(error.value)


# --- popularity -------------------------------------------------------------------------------------------------------


def test_weights_by_hand(small):
    """Asked in turn: 0 (2 triples of train), 1 (2), 2 (1); relation 0 has four. 1/2, 1/2 and 1 have the mean 2/3."""
    table = pd.DataFrame([(0, 0, 4, "subject"), (4, 0, 1, "object"), (0, 0, 2, "object")], columns=[*"spo", "side"])
    assert popularity_weights(table, small, 1, 0).tolist() == pytest.approx([0.75, 0.75, 1.5], rel=1e-15)
    assert popularity_weights(table, small, 2).tolist() == pytest.approx([0.5, 0.5, 2.0], rel=1e-15)
    assert popularity_weights(table, small, -1).tolist() == pytest.approx([1.2, 1.2, 0.6], rel=1e-15)
    assert popularity_weights(table, small, 0, 3).tolist() == [1.0, 1.0, 1.0]
    assert popularity_weights(table, small, 0, 0).dtype == np.float64
    assert popularity_weights(table.iloc[:0], small).shape == (0,)


def test_popularity_is_of_the_side_that_is_asked(small):
    """Triples alone do not say which answer a weight is for."""
    with pytest.raises(DataError, match="side"):
        popularity_weights(pd.DataFrame([(0, 0, 4)], columns=list("spo")), small)


def test_what_train_lacks_counts_once_and_is_said(small):
    """Entity 4 and relation 1 are not in train: count 1. Weights 1, (1/2)(1) and (1/2)(1/2) of the mean 7/12."""
    rows = [(0, 1, 4, "object"), (4, 1, 1, "object"), (0, 0, 1, "object")]
    table = pd.DataFrame(rows, columns=[*"spo", "side"])
    with pytest.warns(KgevalWarning) as caught:
        weights = popularity_weights(table, small, 1, 0.5)
    assert weights.tolist() == pytest.approx([12 / 7, 6 / 7, 3 / 7], rel=1e-15)
    assert [str(warning.message) for warning in caught] == [
        "1 of 3 ranks have an answer that is not in train; the count of this answer is taken as 1",
        "2 of 3 ranks have a relation that is not in train; the count of this relation is taken as 1",
    ]
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.filterwarnings("error")
def test_beta_of_zero_is_the_plain_mean(small):
    """Nothing is weighted, so nothing is to be said."""
    table = table_of(*small["test"].array.tolist())
    weights = popularity_weights(table, small, 0, 0)
    assert weights.tolist() == [1.0] * 8
    reciprocal = 1 / np.arange(1.0, 9.0)
    assert float(Moments(reciprocal[:, None]).weighted(weights).number) == pytest.approx(reciprocal.mean(), rel=1e-15)


@pytest.mark.parametrize("betas", [(1.0, 0.0), (0.5, 1.0), (-1.0, 2.0), (0.0, -0.25)])
def test_weighted_metric_equals_a_loop(betas):
    """A popularity-weighted mean reciprocal rank, from counts in plain Python."""
    rng = random.Random(3)
    train = [(rng.randrange(9), rng.randrange(3), rng.randrange(9)) for _ in range(60)]
    test = [(rng.randrange(9), rng.randrange(3), rng.randrange(9)) for _ in range(20)]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=9, n_relations=3)
    table = table_of(*test)
    ranks = [rng.randint(1, 9) for _ in range(len(table))]
    weights = []
    for s, p, o, side in table.itertuples(index=False):
        asked = s if side == "subject" else o
        count = sum(asked in (fact[0], fact[2]) for fact in set(train))
        weights.append(count ** -betas[0] * sum(fact[1] == p for fact in set(train)) ** -betas[1])
    expected = math.fsum(w / r for w, r in zip(weights, ranks)) / math.fsum(weights)
    found = popularity_weights(table, dataset, *betas)
    assert found.mean() == pytest.approx(1, rel=1e-14)
    assert float(Moments(1 / np.array(ranks, dtype=float)[:, None]).weighted(found).number) == pytest.approx(expected)


def test_extreme_betas_stay_finite(data):
    """With a beta of 999 only the rarest answers count, equally."""
    dataset = data("umls")
    table = table_of_test(dataset)
    degrees = collections.Counter(e for s, _, o in {tuple(t) for t in dataset["train"].array.tolist()} for e in {s, o})
    asked = np.where(table["side"] == "subject", table["s"], table["o"])
    counts = np.array([degrees[e] for e in asked.tolist()])
    weights = popularity_weights(table, dataset, 999)
    is_rarest = counts == counts.min()
    assert weights[is_rarest] == pytest.approx(len(table) / is_rarest.sum())
    assert weights[~is_rarest].max() < 1e-3


def test_faults_of_weights(small):
    table = table_of([0, 0, 1])
    with pytest.raises(
        MetricError, match=re.escape("beta_entity must be a number above -1000 and below 1000; got nan")
    ):
        popularity_weights(table, small, float("nan"))
    with pytest.raises(
        MetricError, match=re.escape("beta_relation must be a number above -1000 and below 1000; got '1'")
    ):
        popularity_weights(table, small, 1, "1")
    alone = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, name="alone")
    with pytest.raises(ProtocolError, match="dataset 'alone' has no split 'train'; it has test"):
        popularity_weights(table, alone)


def test_patterns_come_from_the_chosen_splits():
    """Two triples of train reverse each other; four of test do not: symmetric over train, other over all."""
    test = [[2, 0, 3], [4, 0, 5], [6, 0, 7], [8, 0, 9]]
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1], [1, 0, 0]], test=test, n_entities=10, n_relations=1)
    table = pd.DataFrame({"s": [2], "p": [0], "o": [3], "side": ["object"]})
    for splits, pattern in ((["train"], "symmetric"), (None, "other")):
        frame, _ = features_of(table, kg.Protocol(), dataset, names=["pattern"], means_from=splits)
        assert frame["pattern"].tolist() == [pattern]
