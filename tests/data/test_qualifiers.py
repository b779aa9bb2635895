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
    """A list for each row, in a named column or by position; a missing list is empty, and so are all of them."""
    facts = pd.DataFrame([["a", "r", "b"], ["b", "r", "a"]], columns=["s", "p", "o"])
    dataset = kg.Dataset.from_frames(test=facts.assign(qualifiers=[[("q", "z"), ("q", "a")], None]))
    assert (dataset.entities.labels, dataset.relations.labels) == (("a", "b", "z"), ("q", "r"))
    assert [dataset.qualifiers["test"][i] for i in range(2)] == [[(0, 0), (0, 2)], []]
    assert dataset.notes == ()
    rows = [("a", "r", "b", [("q", "z")]), ("b", "r", "a", None)]
    placed = kg.Dataset.from_frames(test=rows, columns="h,r,t,qualifiers")
    assert ([placed.qualifiers["test"][i] for i in range(2)], placed.notes) == ([[(0, 2)], []], ())
    empty = kg.Dataset.from_frames(test=facts.assign(qualifiers=None))
    assert (empty.has_qualifiers, empty.columns, empty.notes) == (False, {}, ())
    for wrong in ([[("q", "z")], [("q",)]], [[], "q z"], [None, "q z"]):
        with pytest.raises(kg.DataError) as caught:
            kg.Dataset.from_frames(test=facts.assign(qualifiers=wrong))
        assert str(caught.value) == (
            "test frame, row 1, column 'qualifiers': expected a list of pairs of labels (relation, entity), such as "
            f"[('since', '1999')]; got {wrong[1]!r}. If the column means something else, give it another name"
        )
    with pytest.raises(kg.DataError, match="^test frame: duplicate column 'qualifiers'; keep only one$"):
        kg.Dataset.from_frames(
            test=pd.concat([facts, pd.DataFrame([[None] * 2] * 2, columns=["qualifiers"] * 2)], axis=1)
        )


def test_a_column_of_text_is_no_qualifiers(tmp_path):
    """Compared as they are written, the same qualifiers in another order would be others, without a word."""
    advice = (
        "; kgeval reads qualifiers from lines s,p,o,qp1,qv1,... (StarE), from a column of lists of pairs of labels "
        "(relation, entity) in a frame (Dataset.from_frames), and from pairs of ids (Dataset.from_arrays, columns=). "
        "If the column means something else, give it another name, or leave it out: columns='h,r,t,-' "
        "(--columns h,r,t,-)"
    )
    rows = [("a", "r", "b", "q z;p y"), ("a", "r", "c", "p y;q z")]
    frame = pd.DataFrame(rows, columns=["s", "p", "o", "qualifiers"])
    for split in ("train", "test"):
        frame.to_csv(tmp_path / f"{split}.csv", index=False)
    with pytest.raises(kg.DataError) as caught:
        kg.read_dataset(tmp_path, header=True)
    assert str(caught.value) == "train: the column 'qualifiers' holds 'q z;p y'" + advice
    assert kg.read_dataset(tmp_path, columns="h,r,t,-", header=True).column_names == ()
    plain = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1)
    with pytest.raises(kg.DataError) as caught:
        kg.Dataset(
            plain.entities, plain.relations, plain.splits, columns={"test": pd.DataFrame({"qualifiers": [[()]]})}
        )
    assert str(caught.value) == "test: the column 'qualifiers' holds [()]" + advice


def test_a_fact_may_have_none():
    """None in place of a list, as in a frame; a text is an error."""
    facts = {"test": [[0, 0, 1], [0, 0, 1]], "n_entities": 2, "n_relations": 1}
    dataset = kg.Dataset.from_arrays(**facts, columns={"test": {"qualifiers": [None, [(0, 1)]]}})
    assert dataset.qualifiers["test"] == Qualifiers.of([[], [(0, 1)]])
    for wrong in (["0 1", None], [[(0, 1)], 3]):
        with pytest.raises(kg.DataError, match=r"qualifiers.*: expected .*pairs \(relation, entity\)"):
            kg.Dataset.from_arrays(**facts, columns={"test": {"qualifiers": wrong}})


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
