"""`Qualifiers`: pairs of a relation and an entity for each fact, compared as multisets."""

import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.data.qualifiers import Qualifiers


def test_codes_equal_multisets():
    """Random facts, permuted, repeated and empty: an oracle compares each pair of facts by `Counter`."""
    rng = random.Random(3)
    for _ in range(size(60, 2000)):
        facts = [[(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(rng.randint(0, 4))] for _ in range(7)]
        facts += [rng.sample(fact, len(fact)) for fact in facts[:3]]
        made = Qualifiers.of(facts)
        codes = made.codes().tolist()
        assert [made[i] for i in range(len(made))] == [sorted(fact) for fact in facts]
        assert made.counts.tolist() == [len(fact) for fact in facts]
        for i, fact in enumerate(facts):
            assert (codes[i] == 0) == (not fact)
            assert [code == codes[i] for code in codes] == [Counter(fact) == Counter(other) for other in facts]
        rows = [rng.randrange(len(facts)) for _ in range(rng.randint(0, 5))]
        assert made.take(rows) == Qualifiers.of([facts[i] for i in rows])
        assert Qualifiers.joined([made, Qualifiers.none(2)]) == Qualifiers.of([*facts, [], []])


def test_splits_share_codes():
    """The same qualifiers in two splits; a split without qualifiers has the code 0."""
    rows = {"train": [[0, 0, 1]] * 3, "valid": [[0, 0, 0]], "test": [[1, 0, 0]] * 2}
    columns = {
        "train": {"qualifiers": [[(0, 1), (1, 0)], [(1, 0)], []]},
        "test": {"qualifiers": [[(1, 0), (0, 1)], []]},
    }
    dataset = kg.Dataset.from_arrays(**rows, n_entities=2, n_relations=2, columns=columns)
    codes = dataset.column_codes("qualifiers")
    assert {split: of.tolist() for split, of in codes.items()} == {"train": [2, 1, 0], "valid": [0], "test": [2, 0]}
    assert dataset.qualifiers_of("valid") == Qualifiers.none(1)


def test_frames_hold_pairs_of_labels():
    """A list for each row; a missing list is empty; text stays a column of text."""
    facts = pd.DataFrame([["a", "r", "b"], ["b", "r", "a"]], columns=["s", "p", "o"])
    dataset = kg.Dataset.from_frames(test=facts.assign(qualifiers=[[("q", "z"), ("q", "a")], None]))
    assert (dataset.entities.labels, dataset.relations.labels) == (("a", "b", "z"), ("q", "r"))
    assert [dataset.qualifiers["test"][i] for i in range(2)] == [[(0, 0), (0, 2)], []]
    assert dataset.notes == ()
    text = kg.Dataset.from_frames(test=facts.assign(qualifiers=["q", "z"]))
    assert (text.has_qualifiers, text.columns["test"]["qualifiers"].tolist()) == (False, ["q", "z"])
    message = r"^test frame, row 1, column 'qualifiers': expected a list of pairs of labels \(relation, entity\); got"
    with pytest.raises(kg.DataError, match=message):
        kg.Dataset.from_frames(test=facts.assign(qualifiers=[[("q", "z")], [("q",)]]))


def test_arrays_that_do_not_fit():
    """Each message says what was expected."""
    for arguments, message in (
        (([0], [0, 1], [0, 1]), "^qualifiers: expected one entity for each relation; got 1 and 2$"),
        (([0], [0], [0, 2]), "^qualifiers: expected offsets that rise from 0 to 1, the number of pairs$"),
        (([0], [-1], [0, 1]), "^the entities of qualifiers, row 0: id -1 is not in"),
    ):
        with pytest.raises(kg.DataError, match=message):
            Qualifiers(*arguments)
    with pytest.raises(ValueError, match="read-only"):
        Qualifiers.of([[(0, 1)]]).relations[0] = 5
    assert Qualifiers.of([]).codes().dtype == np.int64
