"""Datasets from frames and arrays, what is counted about them, and the fingerprint that tells them apart."""

import itertools
import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from grids import light, size, thinned
from oracle import random_graph

from kgeval import Dataset, read_dataset
from kgeval.data.frames import frame_ids
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, ProtocolError

FACTS = {
    "train": [("a", "r", "b"), ("b", "r", "c"), ("b", "q", "c"), ("a", "r", "b")],
    "valid": [("c", "r", "a")],
    "test": [("a", "r", "c"), ("c", "q", "d")],
}
NAMES = "s, p, o; subject, predicate, object; subject, relation, object; head, relation, tail; h, r, t"


REMEDY = "Rename the columns (Dataset.from_frames also takes columns='hrt' or 'htr' for three columns with other names)"


def frames(facts):
    """The facts as keyword arguments of from_frames."""
    return {split: pd.DataFrame(rows) for split, rows in facts.items()}


def dataset_of(facts, entities=(), relations=(), seed=None):
    """The facts through from_arrays, with extra labels; with a seed, ids and rows in random order."""
    e = sorted({x for rows in facts.values() for s, _, o in rows for x in (s, o)} | set(entities))
    r = sorted({p for rows in facts.values() for _, p, _ in rows} | set(relations))
    rows = {split: list(triples) for split, triples in facts.items()}
    if seed is not None:
        for words in (e, r, *rows.values()):
            random.Random(seed).shuffle(words)
    arrays = {t: [(e.index(s), r.index(p), e.index(o)) for s, p, o in triples] for t, triples in rows.items()}
    return Dataset.from_arrays(**arrays, entity_labels=e, relation_labels=r)


def rows_of(dataset, split):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()]


def refusal(make, *args, **kwargs):
    """What the DataError says."""
    with pytest.raises(DataError) as caught:
        make(*args, **kwargs)
    return str(caught.value)


def test_ids_are_the_sorted_labels_of_all_splits():
    """Sorted by code point: capitals before small letters, U+1F600 after U+FFFF (unlike UTF-16)."""
    labels = ["b", "B", "\U0001f600", "\uffff", "10", "9", "!", "\u00e9", "a"]
    facts = {"train": [("b", "z", "B")], "valid": [("\U0001f600", "Z", "\uffff"), ("10", "z", "9")]}
    facts["test"] = [("\u00e9", "y", "a"), ("a", "z", "!")]
    dataset = Dataset.from_frames(**frames(facts))
    assert dataset.entities.labels == ("!", "10", "9", "B", "a", "b", "\u00e9", "\uffff", "\U0001f600")
    assert set(dataset.entities.labels) == set(labels)
    assert dataset.relations.labels == ("Z", "y", "z")
    assert {split: rows_of(dataset, split) for split in facts} == facts


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_random_frames_keep_every_row(seed):
    """Rows, order and duplicates stay, whichever splits there are; ids are places in the sorted labels."""
    _, _, splits = random_graph(random.Random(seed), allow_empty=True)
    facts = {t: [(f"e{s}", f"r{p}", f"e{o}") for s, p, o in rows] for t, rows in splits.items()}
    given = {t: pd.DataFrame(rows, columns=["s", "p", "o"]) for t, rows in facts.items()}
    for part in itertools.chain.from_iterable(itertools.combinations(facts, k) for k in (1, 2, 3)):
        dataset = Dataset.from_frames(**{split: given[split] for split in part})
        assert {split: rows_of(dataset, split) for split in dataset.splits} == {t: facts[t] for t in part}
        rows = [row for t in part for row in facts[t]]
        assert dataset.entities.labels == tuple(sorted({e for s, _, o in rows for e in (s, o)}))
        assert dataset.relations.labels == tuple(sorted({p for _, p, _ in rows}))


@pytest.mark.parametrize("names", [part.split(", ") for part in [*NAMES.upper().split("; "), "s, P, o"]])
@pytest.mark.parametrize("order", thinned(itertools.permutations(range(3)), 4))
@pytest.mark.parametrize("extra", [False, True])
def test_columns_are_found_by_name(names, order, extra):
    """In any order, in any case of letters, beside other columns (which may hold anything)."""
    columns = {name: [label] for name, label in zip(names, ("Jack", "likes", "Rome"), strict=True)}
    frame = pd.DataFrame({names[i]: columns[names[i]] for i in order})
    if extra:
        frame.insert(1, "weight", [0.5])
        frame["note"] = [None]
    assert rows_of(Dataset.from_frames(test=frame), "test") == [("Jack", "likes", "Rome")]


@pytest.mark.parametrize("columns", [list("xyz"), [2, 0, 1], ["s", "p", "x"], list("xxx"), list("aba")])
def test_s6_unknown_names_are_read_by_position_only_if_the_caller_says_so(columns):
    """Whatever the names, also equal ones and known ones; columns without names are s, p, o."""
    facts = [["Jack", "likes", "Rome"], ["Rome", "in", "Italy"]]
    frame = pd.DataFrame(facts, columns=columns)
    assert refusal(Dataset.from_frames, test=frame) == (
        f"test: expected columns named {NAMES}; got {[str(name) for name in columns]}. {REMEDY}"
    )
    for dataset in (
        Dataset.from_frames(test=frame, columns="hrt"),
        Dataset.from_frames(test=frame.iloc[:, [0, 2, 1]], columns="htr"),
        Dataset.from_frames(test=frame.iloc[:, [1, 0, 2]], columns="pso"),
        Dataset.from_frames(test=pd.DataFrame(facts)),
    ):
        assert rows_of(dataset, "test") == [("Jack", "likes", "Rome"), ("Rome", "in", "Italy")]


def test_s4_columns_must_be_an_order_and_agree_with_the_names():
    """Six orders of h, r, t or of s, p, o; three columns; no contradiction."""
    frame = pd.DataFrame([["Jack", "Rome", "likes"]], columns=["head", "tail", "relation"])
    for columns in ("htx", "hr", "sprt"):
        assert refusal(Dataset.from_frames, test=frame, columns=columns) == (
            f"columns must be 'hrt', 'htr' or another order of the letters h, r, t or s, p, o; got {columns!r}"
        )
    for columns in ("h,r", ["h", "t"], "h,r,t,time,time", "head,relation,tail,time", ["h", "r", 3], "source,-,target"):
        assert refusal(Dataset.from_frames, test=frame, columns=columns) == (
            "columns must be an order of letters ('hrt', 'htr'), one distinct name for each column, where three are "
            "the letters h, r, t ('h,r,t,time'), or the names of the columns of subject, relation and object "
            f"('source,rel,target'); got {columns!r}"
        )
    assert refusal(Dataset.from_frames, test=frame, columns="hrt") == (
        "test: columns='hrt' contradicts the column names ['head', 'tail', 'relation']; rename them or remove columns="
    )
    assert rows_of(Dataset.from_frames(test=frame, columns="htr"), "test") == [("Jack", "likes", "Rome")]
    wide = frame.assign(weight=1)
    assert refusal(Dataset.from_frames, test=wide, columns="htr") == (
        "test: columns='htr' is for frames of exactly three columns; got ['head', 'tail', 'relation', 'weight']"
    )


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (["a", "b"], "['a', 'b']"),
        (["s", "p", "x", "y"], "['s', 'p', 'x', 'y']"),
        ([0, 1, 2, 3], "['0', '1', '2', '3']"),
        (["o", "s", "x"], "['o', 's', 'x']"),
        (["Head", "Tail", "type"], "['Head', 'Tail', 'type']"),
    ],
)
def test_other_columns_are_refused(columns, shown):
    """Neither known names nor three columns, or a known name out of its place: the names that would do."""
    said = refusal(Dataset.from_frames, valid=pd.DataFrame([["a"] * len(columns)], columns=columns))
    assert said == f"valid: expected columns named {NAMES}; got {shown}. {REMEDY}"


def test_a_column_name_that_stands_twice_is_refused():
    """With two columns s it cannot be told which is meant."""
    frame = pd.DataFrame([["a", "r", "b", "c"]], columns=["s", "p", "o", "s"])
    assert refusal(Dataset.from_frames, test=frame) == "test: duplicate column 's'; keep only one"


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint64", "Int64", object])
def test_integers_become_decimals(dtype):
    """1 becomes '1', as a file that holds it would give, and has the id 1; a string '007' beside it stays."""
    frame = pd.DataFrame({"p": ["007", "1e5", "NA"], "o": ["1", "nan", "x"]})
    frame["s"] = pd.Series([1, 0, 1], dtype=dtype)
    dataset = Dataset.from_frames(test=frame)
    assert rows_of(dataset, "test") == [("1", "007", "1"), ("0", "1e5", "nan"), ("1", "NA", "x")]


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint64", "Int64", object])
def test_integers_that_may_be_labels_or_ids_are_refused(dtype):
    """Sorted as text, '10' comes before '7': a scorer that takes 7 for a row would read another one."""
    frame = pd.DataFrame({"s": pd.Series([7, 10, 7], dtype=dtype), "p": ["r"] * 3, "o": ["7", "x", "y"]})
    assert refusal(Dataset.from_frames, test=frame) == (
        "test frame, row 0, column 0: is the integer 7 a label or an id? The label '7' has the id 1. If the integers "
        "are labels, convert them: frame.astype(str); if they are ids, use Dataset.from_arrays with n_entities= and "
        "n_relations="
    )
    dataset = Dataset.from_frames(test=frame.astype(str), name="mine")
    assert dataset.entities.labels == ("10", "7", "x", "y")
    said = refusal(frame_ids, "scores", frame, dataset.entities, dataset.relations, "mine")
    assert said == (
        "scores, row 0, column 0: is the integer 7 a label or an id? The label '7' has the id 1. If the integers are "
        "labels, convert them: frame.astype(str); if they are ids, replace them with labels "
        "(dataset.entities.labels[id])"
    )


def test_numbers_as_labels_are_said():
    """'10' has the id 2, since '1' < '10' < '2': said for labels 0 .. n - 1, not for codes or padded numbers."""
    ring = pd.DataFrame([[str(i), "r", str((i + 1) % 11)] for i in range(11)])
    assert Dataset.from_frames(train=ring).observations() == [
        "the entity labels are numbers and sorted as text, so labels and ids differ: label '10' has the id 2. For "
        "ids that are the numbers themselves, use Dataset.from_arrays"
    ]
    for label in (lambda text: text.zfill(2), lambda text: text + "0" * 5, lambda text: "e" + text):
        renamed = ring.assign(**{"0": ring[0].map(label), "2": ring[2].map(label)})[["0", 1, "2"]]
        assert Dataset.from_frames(train=renamed, columns="hrt").observations() == []
    assert Dataset.from_arrays(train=[[0, 0, 10]], n_entities=11, n_relations=1).observations() == []


@pytest.mark.parametrize("label", ["", " ", "\u00a0\u2003", "\n"])
@pytest.mark.parametrize("column", range(3))
def test_g24_blank_labels_are_refused(label, column):
    """An empty label, or one of white space, is a missing value."""
    row = ["a", "r", "b"]
    row[column] = label
    assert refusal(Dataset.from_frames, valid=pd.DataFrame([["a", "r", "b"], row])) == (
        f"valid frame, row 1, column {column}: the label {label!r} is empty or only white space; remove the row, or "
        "write a label in its place"
    )


def test_g4_masked_arrays_are_refused():
    """A mask would be ignored: 99 under the mask would become a triple."""
    masked = np.ma.masked_equal([[0, 0, 1], [1, 0, 99]], 99)
    said = refusal(Dataset.from_arrays, test=masked, n_entities=100, n_relations=1)
    assert said == "test must not be a masked array; remove the masked rows first"
    rows = [np.ma.array([1, 0, 2], mask=[0, 0, 1])]
    assert refusal(Dataset.from_arrays, test=rows, n_entities=3, n_relations=1) == said


def test_columns_that_select_rows_are_refused():
    """False triples and those of another split would count as true ones of this split; other columns are named."""
    frame = pd.DataFrame({"s": ["a", "b"], "p": ["r", "r"], "o": ["b", "c"]})
    false = "marks triples as false, but all rows of the frame would be read as true; keep only the true rows, or drop"
    for values in ([1, 0], [1.0, -1.0], [True, False], ["False", "true"]):
        marked = frame.assign(Label=values)
        said = f"test: the column 'Label' {false} the column if it means something else"
        assert refusal(Dataset.from_frames, test=marked) == said, values
        ids = pd.DataFrame({"s": [0, 1], "p": [0, 0], "o": [1, 2], "Label": values})
        assert refusal(Dataset.from_arrays, test=ids, n_entities=3, n_relations=1) == said, values
    for name, values, shown in (
        ("split", ["train", "test"], "'test', 'train'"),
        ("part", ["valid", "valid"], "'valid'"),
        ("split", [0, 1], "'0', '1'"),
    ):
        assert refusal(Dataset.from_frames, test=frame.assign(**{name: values})) == (
            f"test: the column {name!r} names splits ({shown}), but all rows of the frame would be read as test; give "
            "one frame per split, or drop the column if it means something else"
        )
    kept = frame.assign(weight=[0, 1], label=[1, 1], split="test", note=[None, "test"])
    assert Dataset.from_frames(test=kept).observations() == [
        "the columns weight, label, split, note are kept for breakdowns; the filter compares them only if filter_by "
        "names them",
        "the column weight holds only 0 and 1: if it marks true and false triples, false triples are read as true too",
    ]
    assert Dataset.from_frames(test=frame).observations() == []


def test_frames_of_ids_are_read_by_their_names():
    """from_arrays takes the columns of a frame by name, not by position."""
    frame = pd.DataFrame([[0, 1, 0], [2, 0, 1]], columns=["head", "tail", "relation"])
    dataset = Dataset.from_arrays(test=frame, n_entities=3, n_relations=3)
    assert dataset["test"].array.tolist() == [[0, 0, 1], [2, 1, 0]]
    said = refusal(Dataset.from_arrays, test=frame.set_axis(list("xyz"), axis=1), n_entities=3, n_relations=3)
    assert said.startswith("test: expected columns named s, p, o; ")


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_strings_of_any_storage_are_labels(dtype):
    """Whether pandas stores str, objects or categories; categories not in use leave no trace."""
    frame = pd.DataFrame([["b", "r", "NA"], ["z", "z", "z"], ["a", "r", "b"]], dtype=dtype)
    dataset = Dataset.from_frames(test=frame.iloc[[0, 2]])
    assert rows_of(dataset, "test") == [("b", "r", "NA"), ("a", "r", "b")]
    assert (dataset.entities.labels, dataset.relations.labels) == (("NA", "a", "b"), ("r",))


ADVICE = "Read the table with dtype=str, keep_default_na=False"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan (float)"),
        (1.0, "1.0 (float)"),
        (2.5, "2.5 (float)"),
        (True, "True (bool)"),
        (np.False_, f"{np.False_!r} ({np.bool_.__name__})"),
        (b"x", "b'x' (bytes)"),
        (("x",), "('x',) (tuple)"),
    ],
)
@pytest.mark.parametrize("column", range(3))
def test_other_values_name_frame_row_and_column(value, shown, column):
    """The first row with a missing value, a float, a bool, also below an equal integer (1 == 1.0 == True)."""
    columns = [pd.Series([1, 0, "x", "x", "x"], dtype=object) for _ in range(3)]
    columns[column][3] = columns[column][4] = value
    said = refusal(Dataset.from_frames, test=pd.DataFrame(dict(enumerate(columns))))
    assert said == f"test frame, row 3, column {column}: expected a string label; got {shown}. {ADVICE}"


@pytest.mark.parametrize("value", [None, pd.NA, np.nan])
@pytest.mark.parametrize("dtype", ["string", "object", "category"])
def test_missing_labels_are_refused(value, dtype):
    """However pandas stores it, a missing value is no label."""
    frame = pd.DataFrame([["a", "r", "b"], ["a", "r", "c"]], dtype=object)
    frame.iloc[1, 2] = value
    said = refusal(Dataset.from_frames, valid=frame.astype(dtype))
    assert said.startswith("valid frame, row 1, column 2: expected a string label; got ")


def test_a_dataset_needs_a_known_split():
    """No split at all, and a split of another name."""
    for make in (Dataset.from_frames, lambda: Dataset.from_arrays(n_entities=1, n_relations=1)):
        assert refusal(make) == "a dataset needs at least one split (train, valid or test)"
    words, triples = Vocabulary(["a"]), TripleSet([[0, 0, 0]], 1, 1)
    said = refusal(Dataset, words, words, {"tests": triples})
    assert said == "unknown split 'tests'; did you mean 'test'?; splits are train, valid, test"
    assert refusal(Dataset, words, words, {}) == "a dataset needs at least one split (train, valid or test)"


def test_a_missing_split_is_named():
    """The message says which splits there are and what may be meant."""
    dataset = Dataset.from_frames(train=pd.DataFrame([["a", "b", "c"]]), name="mine")
    assert ("train" in dataset, "test" in dataset) == (True, False)
    for split, hint in (("test", ""), ("tran", "; did you mean 'train'?"), ("zz", "")):
        with pytest.raises(ProtocolError) as caught:
            dataset[split]
        assert str(caught.value) == f"dataset 'mine' has no split {split!r}; it has train{hint}"


def test_arrays_keep_ids_labels_and_unused_entities():
    """Every declared id counts, also one without triples; default labels are the ids."""
    dataset = Dataset.from_arrays(test=[[3, 1, 0]], valid=np.zeros((0, 3)), n_entities=12, n_relations=2)
    assert dataset.entities.labels == tuple(str(i) for i in range(12))
    assert dataset.relations.labels == ("0", "1")
    assert np.asarray(dataset["test"]).tolist() == [[3, 1, 0]]
    assert (len(dataset["valid"]), list(dataset.splits)) == (0, ["valid", "test"])
    named = Dataset.from_arrays(test=[[1, 0, 0]], entity_labels=["b", "a"], relation_labels=["r"])
    assert rows_of(named, "test") == [("a", "r", "b")]


WHO = "subjects and objects"
DTYPE = "must hold integer ids; got dtype"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            np.array([[True, False, True]]),
            f"{WHO} {DTYPE} bool. If these values are ids, convert them: array.astype(np.int64)",
        ),
        ([[0.0, 1.0, 2.0]], f"{WHO} {DTYPE} float64. If these values are ids, convert them: array.astype(np.int64)"),
        ([[0, 0, 2.0**53]], f"{WHO} {DTYPE} float64. If these values are ids, convert them: array.astype(np.int64)"),
        ([["0", "1", "2"]], f"{WHO} {DTYPE} <U1. If these values are ids, convert them: array.astype(np.int64)"),
        ([[0, 0, 2**80]], f"{WHO} {DTYPE} object. If these values are ids, convert them: array.astype(np.int64)"),
        (np.array([[0, 0, 2**63 + 5]], np.uint64), f"{WHO}, row 0: id 9223372036854775813 is not in 0..4"),
        (np.array([[0, 2**63, 0]], np.uint64), "relations, row 0: id 9223372036854775808 is not in 0..1"),
        ([[0, 0, 0], [0, 0, -1]], f"{WHO}, row 1: id -1 is not in 0..4"),
        ([[0, 0, 0], [5, 0, 0]], f"{WHO}, row 1: id 5 is not in 0..4"),
        (
            [[0, 0, 0], [0, 0, 0], [0, 2, 0]],
            "relations, row 2: id 2 is not in 0..1. The expected order is s, p, o; if the columns are head, tail, "
            "relation: array[:, [0, 2, 1]]",
        ),
        ([[0, 0]], "must have shape (n, 3); got (1, 2)"),
        ([0, 0, 0], "must have shape (n, 3); got (3,)"),
    ],
)
def test_arrays_are_refused_with_split_and_row(rows, said):
    """Only integers within their ranges and of shape (n, 3); nothing is cast, wrapped or guessed."""
    for split in ("train", "valid", "test"):
        found = refusal(Dataset.from_arrays, **{split: rows}, n_entities=5, n_relations=2)
        assert found == f"{split}{' ' if said.startswith('must') else ', '}{said}"


def test_ragged_rows_are_refused():
    """Rows of unequal length are no array of triples."""
    said = refusal(Dataset.from_arrays, test=[[0, 0, 0], [0, 0]], n_entities=5, n_relations=2)
    assert said == "test must have shape (n, 3); its rows differ in length"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_relations": 1}, "set n_entities= (or entity_labels=): entities that occur in no triple "),
        ({"n_entities": 1}, "set n_relations= (or relation_labels=): relations that occur in no triple "),
        ({"n_entities": 0, "n_relations": 1}, "n_entities must be an integer of at least 1; got 0"),
        ({"n_entities": 1, "n_relations": True}, "n_relations must be an integer of at least 1; got True"),
        ({"n_entities": 3.0, "n_relations": 1}, "n_entities must be an integer of at least 1; got 3.0"),
        ({"n_entities": 2, "entity_labels": ["a"]}, "n_entities is 2, but entity_labels has 1 labels"),
        ({"entity_labels": list("aba")}, "label 'a' occurs at ids 0 and 2; labels must differ"),
        ({"entity_labels": ["a", 5]}, "label 1 must be a string; got 5 (int)"),
    ],
)
def test_sizes_must_be_said_and_agree(options, said):
    """Without a declared number the candidates would be a guess."""
    said += "belong to the dataset too" if said.endswith("triple ") else ""
    assert refusal(Dataset.from_arrays, test=[[0, 0, 0]], **options) == said


@pytest.mark.parametrize("seed", light(range(150), 6))
def test_counts_equal_a_naive_computation(seed):
    """Duplicates, overlaps and unseen labels with Counter and set, on random splits, some empty or absent."""
    rng = random.Random(seed)
    n, m, splits = random_graph(rng, allow_empty=True)
    splits = {t: rows for t, rows in splits.items() if rng.random() < 0.85} or {"test": [(0, 0, 0)]}
    dataset = Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    repeats = {split: [count - 1 for count in Counter(rows).values()] for split, rows in splits.items()}
    assert dataset.duplicates == {split: sum(counts) for split, counts in repeats.items()}
    assert dataset.overlaps == {
        (a, b): sum(row in set(splits[a]) for row in splits[b])
        for a, b in (("train", "valid"), ("train", "test"), ("valid", "test"))
        if a in splits and b in splits
    }
    # without train, all entities and relations count as seen
    train = splits.get("train", [(e, p, e) for e in range(n) for p in range(m)])
    entities, relations = {e for s, _, o in train for e in (s, o)}, {p for _, p, _ in train}
    assert set(np.flatnonzero(dataset.is_seen_entity).tolist()) == entities
    assert set(np.flatnonzero(dataset.is_seen_relation).tolist()) == relations
    assert set(dataset.unseen) == set(splits) - {"train"}
    for split, found in dataset.unseen.items():
        seen = [{s, o} <= entities and p in relations for s, p, o in splits[split]]
        assert dataset.is_seen(split).tolist() == seen
        assert found == {
            "triples": seen.count(False),
            "entities": len({e for s, _, o in splits[split] for e in (s, o)} - entities),
            "relations": len({p for _, p, _ in splits[split]} - relations),
        }


def test_one_triple_is_no_plural():
    """1 triple contains 1 entity, 2 triples contain 2; 0 relations is a plural."""
    one = Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2], [0, 0, 1]], n_entities=3, n_relations=1)
    assert one.observations() == [
        "1 row of test also in train",
        "1 triple of test contains 1 entity and 0 relations that do not occur in train",
    ]
    assert str(one).startswith("Dataset dataset: 3 entities, 1 relation; train 1, test 2\n")


def test_observations_are_sentences():
    """(a r b) is twice in train, once in valid, twice in test; x, y and the relation new only in test."""
    facts = {"train": [("a", "r", "b")] * 2, "valid": [("a", "r", "b"), ("b", "r", "a")]}
    facts["test"] = [("a", "r", "b"), ("a", "r", "b"), ("x", "r", "y"), ("a", "new", "x")]
    dataset = Dataset.from_frames(**frames(facts), name="toy")
    said = [
        "1 duplicate row in train",
        "1 duplicate row in test",
        "1 row of valid also in train",
        "2 rows of test also in train",
        "2 rows of test also in valid",
        "2 triples of test contain 2 entities and 1 relation that do not occur in train",
    ]
    assert dataset.observations() == said
    head = "Dataset toy: 4 entities, 2 relations; train 2, valid 2, test 4"
    assert repr(dataset) == "\n  ".join([head, *said])
    assert Dataset.from_frames(**frames({"train": facts["train"][:1]})).observations() == []


def test_labels_that_look_alike_are_observed():
    """e + U+0301 is U+00E9 in NFC; 'x', 'x ', NBSP + 'x' differ in spaces: each keeps its own id.

    Zero-width space, zero-width joiner, byte order mark and soft hyphen are invisible; relations have them too.
    """
    labels = ["e\u0301", "x", "x ", "\u00a0x", "\u00e9"]
    dataset = Dataset.from_frames(train=pd.DataFrame([[label, "r", "X"] for label in labels]))
    assert dataset.entities.labels == ("X", *labels)
    pairs = [("x", "x "), ("x", "\u00a0x"), ("e\u0301", "\u00e9")]
    assert dataset.near_duplicates == {"entity": pairs, "relation": []}
    only = "labels differ from another label only in Unicode form, in invisible characters or in spaces around them"
    assert dataset.observations() == [f"3 entity {only}, for example 'x' and 'x '"]
    relations = ["r", "r\u200b", "\u200dr", "\ufeffr", "r\u00ad", "R"]
    dataset = Dataset.from_frames(train=pd.DataFrame([["a", label, "b"] for label in relations]))
    assert dataset.observations() == [f"4 relation {only}, for example 'r' and 'r\\xad'"]


def test_columns_in_another_order_are_suspected():
    """Subject, object, relation: the second column has 3 labels, all entities too, the third has 1."""
    facts = [("a", "b", "likes"), ("b", "c", "likes"), ("c", "a", "likes")]
    assert refusal(Dataset.from_frames, **frames({"train": facts})) == (
        "train: the columns look like head, tail, relation: the first and the second column share 100% of their "
        "labels, the first and the third 0%; if so, pass columns='htr'; if the second column holds the relations, pass "
        "columns='hrt'"
    )
    assert Dataset.from_frames(**frames({"train": facts}), columns="hrt").observations() == []
    assert Dataset.from_frames(**frames({"train": facts}), columns="htr").relations.labels == ("likes",)
    right = [(s, p, o) for s, o, p in facts]
    assert Dataset.from_frames(**frames({"train": right})).observations() == []
    about = [("a", "likes", "b"), ("likes", "likes", "c")]  # a relation may be an entity too
    assert Dataset.from_frames(**frames({"train": about})).observations() == []
    numbered = Dataset.from_arrays(train=[[0, p, 1] for p in range(5)], n_entities=4, n_relations=5)
    assert numbered.observations() == []  # the numbers that are given say the order


@pytest.mark.parametrize("columns", ["rht", "rth"])
def test_the_relation_in_the_first_column_is_suspected(tmp_path, columns):
    """A ring of six entities: by position, heads are relations, and tails share their labels with them."""
    facts = pd.DataFrame({"h": list("abcdef"), "r": list("rqrqrq"), "t": list("bcdefa")})
    rows = facts[list(columns)].set_axis(range(3), axis=1)
    said = (
        "the columns look like relation, head, tail: the second and the third column share 100% of their labels, the "
        "first and the third 0%; if so, pass columns='rht' (or columns='rth' for relation, tail, head); if the second "
        "column holds the relations, pass columns='hrt'"
    )
    assert refusal(Dataset.from_frames, train=rows) == f"train: {said}"
    rows.to_csv(tmp_path / "train.txt", sep="\t", header=False, index=False)
    assert refusal(read_dataset, tmp_path) == f"{tmp_path}: {said} (on the command line: --columns)"
    wanted = Dataset.from_frames(train=facts).fingerprint
    assert Dataset.from_frames(train=rows, columns=columns).fingerprint == wanted
    assert read_dataset(tmp_path, columns=columns).fingerprint == wanted


def test_s4_ids_in_another_order_are_suspected():
    """Ten entities and four relations as numbers: by position, head and tail share their numbers."""
    rng = random.Random(0)
    rows = [(str(rng.randrange(10)), str(rng.randrange(4)), str(rng.randrange(10))) for _ in range(60)]
    frame = pd.DataFrame(rows)
    assert Dataset.from_frames(train=frame).relations.labels == ("0", "1", "2", "3")
    other = frame[[0, 2, 1]].set_axis(range(3), axis=1)
    said = refusal(Dataset.from_frames, train=other)
    assert said.startswith("train: the columns look like head, tail, relation: the first and the second column share ")
    assert Dataset.from_frames(train=other, columns="htr").fingerprint == Dataset.from_frames(train=frame).fingerprint


def test_s4_random_graphs_are_not_suspected():
    """Random graphs of many shapes, as numbers and as labels, are read without `columns`."""
    rng = random.Random(1)
    for _ in range(size(7, 1000)):
        n, m, rows = rng.randint(2, 60), rng.randint(1, 30), rng.randint(1, 200)
        facts = [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rows)]
        for e, r in (("", ""), ("e", "r")):
            frame = pd.DataFrame([(f"{e}{s}", f"{r}{p}", f"{e}{o}") for s, p, o in facts])
            assert Dataset.from_frames(train=frame).suspicious_order == ""


@pytest.mark.parametrize("name", ["umls", "kinship", "nations", "countries-s1"])
def test_real_columns_in_another_order_are_suspected(shared, name):
    """Real datasets are read as they are; with their last two columns exchanged, as labels or as ids, they are not."""
    dataset = read_dataset(shared / "data" / name)
    for rows in (rows_of(dataset, "train"), dataset["train"].array.astype(str)):
        Dataset.from_frames(train=pd.DataFrame(rows))
        other = pd.DataFrame(rows)[[0, 2, 1]].set_axis(range(3), axis=1)
        said = refusal(Dataset.from_frames, train=other)
        assert said.startswith("train: the columns look like head, tail, relation: the first and the second column ")
        for order in ([1, 0, 2], [1, 2, 0]):
            other = pd.DataFrame(rows)[order].set_axis(range(3), axis=1)
            said = refusal(Dataset.from_frames, train=other)
            assert said.startswith("train: the columns look like relation, head, tail: the second and the third column")


def test_fingerprint_knows_neither_order_nor_ids_nor_name():
    """Shuffled rows, permuted ids, another name and another way in give the same 64 hexadecimal digits."""
    wanted = Dataset.from_frames(**frames(FACTS)).fingerprint
    assert len(wanted) == 64
    assert set(wanted) <= set("0123456789abcdef")
    reverse = {split: rows[::-1] for split, rows in reversed(FACTS.items())}
    assert Dataset.from_frames(**frames(reverse), name="other").fingerprint == wanted
    assert {dataset_of(FACTS, seed=seed).fingerprint for seed in (None, *range(30))} == {wanted}


@pytest.mark.parametrize("suffix", ["txt", "tsv"])
@pytest.mark.parametrize(("end", "mark"), [("\n", ""), ("\r\n", ""), ("\r", "\ufeff"), ("\n", "\ufeff")])
@pytest.mark.light(3)
def test_fingerprint_knows_no_file_format(tmp_path, suffix, end, mark):
    """Line ends, byte order mark, suffix and a header line leave the fingerprint as it is."""
    for header in (False, True):
        for split, rows in FACTS.items():
            lines = ["s\tp\to"] * header + ["\t".join(row) for row in rows]
            (tmp_path / f"{split}.{suffix}").write_bytes((mark + end.join(lines)).encode())
        found = read_dataset(tmp_path, header=header).fingerprint
        assert found == Dataset.from_frames(**frames(FACTS)).fingerprint, f"header={header}"


def test_fingerprint_tells_every_change():
    """A label, a triple, its direction, its split, a duplicate, a split more, an unused label: all differ."""
    t, v, s = FACTS["train"], FACTS["valid"], FACTS["test"]
    changed = [
        dataset_of(FACTS),
        dataset_of(FACTS, entities=["e"]),
        dataset_of(FACTS, entities=["f"]),
        dataset_of(FACTS, entities=["e", "f"]),
        dataset_of(FACTS, entities=["ef"]),
        dataset_of(FACTS, relations=["e"]),
        dataset_of({**FACTS, "test": [*s, s[0]]}),  # a duplicate
        dataset_of({**FACTS, "train": t[:3]}),  # a duplicate less
        dataset_of({**FACTS, "train": [*t[:3], t[1]]}),  # a duplicate of another triple
        dataset_of({**FACTS, "test": s[:1]}, entities=["d"]),  # a triple less
        dataset_of({**FACTS, "test": [("c", "r", "a"), s[1]]}),  # turned round
        dataset_of({**FACTS, "test": [("a", "q", "c"), s[1]]}),  # another relation
        dataset_of({**FACTS, "test": [s[0], ("c", "q", "D")]}),  # another label, other order
        dataset_of({**FACTS, "test": [s[0], ("c", "q", "dd")]}),  # another label, same order
        dataset_of({**FACTS, "train": [*t, v[0]], "valid": []}),  # moved to another split
        dataset_of({**FACTS, "valid": []}),
        dataset_of({"train": t, "test": s}),
        dataset_of({"train": t, "valid": s, "test": v}),
        dataset_of({"valid": t, "test": s}),
    ]
    prints = [dataset.fingerprint for dataset in changed]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_fingerprints_are_equal_exactly_when_the_datasets_are(seed):
    """Random datasets of few labels: equal fingerprints exactly where labels and counts of rows are equal."""
    rng, seen = random.Random(seed), {}
    for _ in range(60):
        facts = {
            split: [(rng.choice("ab"), rng.choice("rq"), "a") for _ in range(rng.randint(0, 3))]
            for split in rng.sample(["train", "valid", "test"], k=rng.randint(1, 2))
        }
        dataset = dataset_of(facts, relations="rq", entities=rng.choice(["", "ab", "c"]), seed=rng.random())
        key = tuple(sorted((split, tuple(sorted(rows))) for split, rows in facts.items()))
        seen.setdefault((key, tuple(sorted(dataset.entities.labels))), set()).add(dataset.fingerprint)
    assert all(len(prints) == 1 for prints in seen.values())
    assert len(set.union(*seen.values())) == len(seen) > 10


@pytest.mark.parametrize("labels", [{"b": 1, "a": 0, "c": 2}, {"a", "b", "c"}, "abc"], ids=["dict", "set", "text"])
def test_labels_without_an_order_are_refused(labels):
    """The values of a dict are ids that would be ignored; a set has no order; a text would become letters."""
    with pytest.raises(DataError, match="labels must be a sequence of strings in the order of the ids; got "):
        Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=labels, n_relations=1)


def test_columns_that_are_no_dict_are_an_error():
    """A list raised an AttributeError."""
    for given, shown in (
        (["time"], "['time']"),
        ({"test": [1]}, "[1] for test"),
        ({"test": None}, "None for test"),
    ):
        with pytest.raises(DataError) as caught:
            Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, columns=given)
        assert str(caught.value) == (
            "columns must be a dict from splits to dicts of values, such as columns={'test': {'time': [2014, 2015]}}; "
            f"got {shown}"
        )
