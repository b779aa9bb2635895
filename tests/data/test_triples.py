"""Choices, ids, labels and triples: what is accepted, what it becomes, and what each refusal says."""

import itertools

import numpy as np
import pytest
from grids import light

from kgeval.base.checks import check_ids, check_one_of, check_positive_int, suggest
from kgeval.data.row_keys import group_rows, is_in
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, MetricError, ProtocolError
from kgeval.scorers.models.arithmetic import check_float_parameters

CAST = "If these values are ids, convert them: array.astype(np.int64)"
ODD = ["NA", "nan", "null", "", " ", "007", "1e5", "True", "x ", "x", "X", "\u00a0x", "\u00e9", "e\u0301"]
ODD += ['"', '"x"', "'", "\u200b", "\ud800", "\uffff", "\U0001f600", "a\0b", "a\0c", "a", "tab\there", "=1+1"]


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("objects", ["subject", "object"], "; did you mean 'object'?"),
        ("Itly", ("Ireland", "Italy"), "; did you mean 'Italy'?"),
        ("zzz", ["subject", "object"], ""),
        ("zzz", [], ""),
    ],
)
def test_suggest_names_the_nearest_or_nothing(word, known, said):
    """The hint is the nearest known word; a far one gets no hint."""
    assert suggest(word, known) == said


def test_check_one_of_returns_the_choice():
    """Any allowed value comes back, from any iterable, also one that can be read only once."""
    assert [check_one_of("setting", word, iter(["raw", "filtered"])) for word in ("raw", "filtered")] == [
        "raw",
        "filtered",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "filter",
            "setting must be one of 'raw', 'both', 'filtered'; got 'filter'; did you mean 'filtered'?",
        ),
        ("zzz", "setting must be one of 'raw', 'both', 'filtered'; got 'zzz'"),
        ("Raw", "setting must be one of 'raw', 'both', 'filtered'; got 'Raw'; did you mean 'raw'?"),
        (None, "setting must be one of 'raw', 'both', 'filtered'; got None"),
        (["raw"], "setting must be one of 'raw', 'both', 'filtered'; got ['raw']"),
    ],
)
def test_check_one_of_names_every_choice(value, said):
    """The message lists all that is allowed, what came, and the nearest; the error class can be chosen."""
    with pytest.raises(ProtocolError) as caught:
        check_one_of("setting", value, ["raw", "both", "filtered"])
    assert str(caught.value) == said
    with pytest.raises(MetricError, match="setting must be one of"):
        check_one_of("setting", value, ["raw", "both", "filtered"], MetricError)


@pytest.mark.parametrize("value", [1, 7, 2**70, np.int8(3), np.uint64(2**63 + 1)])
def test_positive_ints_pass_unchanged(value):
    """Python and numpy integers of at least 1 become the same plain int."""
    found = check_positive_int("k", value)
    assert (type(found), found) == (int, int(value))


@pytest.mark.parametrize("value", [0, -1, True, np.True_, 1.0, np.float64(2), float("nan"), "3", None])
def test_other_counts_are_refused(value):
    """Zero, negative numbers, bools, floats and strings are no count."""
    for error in (ProtocolError, DataError):
        with pytest.raises(error) as caught:
            check_positive_int("n_entities", value, error)
        assert str(caught.value) == f"n_entities must be an integer of at least 1; got {value!r}"


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">i4", "u4", "i8", "u8"])
def test_check_ids_keeps_values_of_any_integer_type(dtype):
    """Every integer type becomes int64 with equal values; n beyond the type's range is no trouble."""
    found = check_ids("ids", np.array([[0, 127], [5, 1]], dtype=dtype), 300, (None, 2))
    assert found.dtype == np.int64
    assert found.tolist() == [[0, 127], [5, 1]]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0, 1, -1], "row 2: id -1 is not in 0..4"),
        ([0, 5, 9], "row 1: id 5 is not in 0..4"),
        (np.array([3, 2**63 + 2], dtype=np.uint64), "row 1: id 9223372036854775810 is not in 0..4"),
        (np.array([2**64 - 1], dtype=np.uint64), "row 0: id 18446744073709551615 is not in 0..4"),
        (np.array([-128], dtype=np.int8), "row 0: id -128 is not in 0..4"),
    ],
)
def test_check_ids_names_the_first_wrong_row(values, said):
    """A negative id would index from the end, a huge unsigned one would wrap: both are refused."""
    with pytest.raises(DataError) as caught:
        check_ids("valid, relations", values, 5, (None,))
    assert str(caught.value) == f"valid, relations, {said}"


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0.0, 1.0], "float64"),
        (np.array([2.0**53 + 2]), "float64"),
        ([True, False], "bool"),
        (["0", "1"], "<U1"),
        ([0, None], "object"),
        ([2**70], "object"),
        ([1 + 0j], "complex128"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "datetime64[D]"),
    ],
)
def test_check_ids_refuses_other_types_before_any_cast(values, dtype):
    """Floats, even whole ones, bools, strings and objects are refused by their dtype."""
    with pytest.raises(DataError) as caught:
        check_ids("ids", values, 5, (None,))
    assert str(caught.value) == f"ids must hold integer ids; got dtype {dtype}. {CAST}"


@pytest.mark.parametrize(
    ("values", "shape", "said"),
    [
        ([0, 1], (None, 2), "(n, 2); got (2,)"),
        ([[0, 1, 2]], (None, 2), "(n, 2); got (1, 3)"),
        ([[0]], (None,), "(n); got (1, 1)"),
        (3, (None,), "(n); got ()"),
        ([[0, 1]], (2, 2), "(2, 2); got (1, 2)"),
    ],
)
def test_check_ids_refuses_wrong_shapes(values, shape, said):
    """The message holds the shape expected and the shape that came."""
    with pytest.raises(DataError) as caught:
        check_ids("ids", values, 5, shape)
    assert str(caught.value) == f"ids must have shape {said}"


def test_check_float_parameters_loses_nothing():
    """float16 becomes float32 and integers float64, both exact; float32 and float64 stay."""
    half = np.array([[0.1, 65504, 6e-8]], dtype=np.float16)
    found = check_float_parameters("entities", half, 2)
    assert found.dtype == np.float32
    assert [float(x) for x in found[0]] == [float(x) for x in half[0]]
    assert check_float_parameters("entities", [[2**53, -3]], 2).tolist() == [[2.0**53, -3.0]]
    assert check_float_parameters("entities", [[2, 3]], 2).dtype == np.float64
    for dtype in (np.float32, np.float64):
        assert check_float_parameters("entities", np.ones((1, 2), dtype), 2).dtype == dtype


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1 + 2j]], "entities must be a real numeric array; got dtype complex128"),
        ([[True]], "entities must be a real numeric array; got dtype bool"),
        ([["1"]], "entities must be a real numeric array; got dtype <U1"),
        ([[None]], "entities must be a real numeric array; got dtype object"),
        ([1.0], "entities must have 2 dimension(s); got shape (1,)"),
        (np.zeros((2, 3, 4)), "entities must have 2 dimension(s); got shape (2, 3, 4)"),
        *(
            (
                np.ones((1, 2), dtype),
                f"entities has dtype {shown}. If these are the bits of bfloat16 numbers, which numpy does not have, "
                "pass kgeval.models.bfloat16(entities) (for a file: dtype='bfloat16', --dtype bfloat16); if they are "
                "integers, pass entities.astype(numpy.float32)",
            )
            for dtype, shown in (("u2", "uint16"), ("i2", "int16"), (">u2", "uint16"), (">i2", "int16"), ("V2", "|V2"))
        ),
    ],
)
def test_check_float_parameters_refuses(values, said):
    """Complex, bool, text and objects are no parameters, nor is a wrong number of dimensions."""
    with pytest.raises(DataError) as caught:
        check_float_parameters("entities", values, 2)
    assert str(caught.value) == said


def test_vocabulary_keeps_labels_exactly():
    """A label's place is its id; no folding, trimming, Unicode normalisation or reading as a number."""
    words = Vocabulary(iter(ODD))
    assert words.labels == tuple(ODD)
    assert len(words) == len(ODD) == len(set(ODD))
    assert words.ids(ODD[::-1]).tolist() == list(range(len(ODD)))[::-1]
    assert all(word in words for word in ODD)
    for absent in ("Nan", "7", "100000.0", "x  ", " x", "na", "a\0", "\u00c9"):
        assert absent not in words
        assert words.find([absent]).tolist() == [-1]


@pytest.mark.parametrize("seed", light(range(10), 3))
def test_vocabulary_find_equals_a_dict(seed):
    """Known labels get their place, unknown ones -1, repeated ones every time."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation([f"e{i}" for i in range(50)]).tolist()
    words, table = Vocabulary(labels), {label: i for i, label in enumerate(labels)}
    asked = [f"e{i}" for i in rng.integers(0, 70, size=200)]
    found = words.find(np.array(asked, dtype=object))
    assert found.dtype == np.int64
    assert found.tolist() == [table.get(label, -1) for label in asked]


def test_vocabulary_takes_no_value_for_a_label():
    """The label 'nan' is not the float NaN, 'None' is not None, '1' is neither 1 nor True."""
    words = Vocabulary(["nan", "None", "1", "1.0", "True"])
    assert words.find([float("nan"), None, 1, 1.0, True, "nan"]).tolist() == [-1, -1, -1, -1, -1, 0]
    assert not any(value in words for value in (float("nan"), None, 1, 1.0, True))


def test_vocabulary_equality_is_of_labels_in_order():
    """Equal labels in equal order are equal and hash alike; another order or a plain tuple is not equal."""
    assert Vocabulary(["a", "b"]) == Vocabulary(("a", "b"))
    assert hash(Vocabulary(["a", "b"])) == hash(Vocabulary(("a", "b")))
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert Vocabulary(["a", "b"]) != ("a", "b")


def test_vocabulary_repr_shows_three():
    """The first three labels and the number of all."""
    assert repr(Vocabulary(list("abcd"))) == "Vocabulary(4 labels: 'a', 'b', 'c', ...)"
    assert repr(Vocabulary(list("abc"))) == "Vocabulary(3 labels: 'a', 'b', 'c')"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", 7], "label 1 must be a string; got 7 (int)"),
        (["a", None], "label 1 must be a string; got None (NoneType)"),
        ([float("nan")], "label 0 must be a string; got nan (float)"),
        ([b"a"], "label 0 must be a string; got b'a' (bytes)"),
        (["a", "b", "c", "b", "a"], "label 'b' occurs at ids 1 and 3; labels must differ"),
        (["", "x", ""], "label '' occurs at ids 0 and 2; labels must differ"),
    ],
)
def test_vocabulary_refuses(labels, said):
    """What is no string, and the first label that comes twice with both its places."""
    with pytest.raises(DataError) as caught:
        Vocabulary(labels)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["Jack", "Italia", "zzz"], "unknown label 'Italia'; did you mean 'Italy'?"),
        (["qqq"], "unknown label 'qqq'"),
        ([None], "unknown label None"),
        ("Jack", "expected a sequence of labels; got the single string 'Jack'"),
    ],
)
def test_unknown_labels_are_named(asked, said):
    """The first unknown label and the nearest known one; one string is no list of labels."""
    with pytest.raises(DataError) as caught:
        Vocabulary(["Italy", "Jack"]).ids(asked)
    assert str(caught.value) == said


def test_triples_are_a_read_only_copy():
    """Columns s, p, o of a copy: later changes of the input do not reach it, and it cannot be written."""
    rows = np.array([[0, 1, 2], [2, 0, 0]])
    triples = TripleSet(rows, 3, 2)
    rows[:] = 0
    assert np.asarray(triples).tolist() == [[0, 1, 2], [2, 0, 0]]
    assert (triples.s.tolist(), triples.p.tolist(), triples.o.tolist()) == ([0, 2], [1, 0], [2, 0])
    assert (len(triples), repr(triples)) == (2, "TripleSet(2 triples)")
    for view in (triples.array, triples.s, triples.p, triples.o, np.asarray(triples)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
    copy = np.array(triples)
    copy[:] = 1
    assert triples.array.tolist() == [[0, 1, 2], [2, 0, 0]]
    assert np.asarray(triples, dtype=float).tolist() == [[0.0, 1.0, 2.0], [2.0, 0.0, 0.0]]


def test_triples_may_be_none():
    """No rows are a set of length 0 with three columns."""
    for empty in ([], np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int8)):
        assert np.asarray(TripleSet(empty, 1, 1)).shape == (0, 3)
        assert np.asarray(TripleSet(empty, 1, 1)).dtype == np.int64


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0, 0, 0], [0, 0, 3]], "test, subjects and objects, row 1: id 3 is not in 0..2"),
        ([[0, 0, 0], [3, 0, 0]], "test, subjects and objects, row 1: id 3 is not in 0..2"),
        ([[0, 0, 0], [0, 0, 0], [0, 2, 0]], "test, relations, row 2: id 2 is not in 0..1"),
        ([[0, -1, 0]], "test, relations, row 0: id -1 is not in 0..1"),
        ([[-3, 0, 0]], "test, subjects and objects, row 0: id -3 is not in 0..2"),
        ([0, 1, 2], "test must have shape (n, 3); got (3,)"),
        ([[0, 1, 2, 1]], "test must have shape (n, 3); got (1, 4)"),
        ([[0, 1]], "test must have shape (n, 3); got (1, 2)"),
        ([[[0, 1, 2]]], "test must have shape (n, 3); got (1, 1, 3)"),
    ],
)
def test_triples_refuse(rows, said):
    """An id outside its own range, entity or relation, and any shape but (n, 3)."""
    with pytest.raises(DataError) as caught:
        TripleSet(rows, 3, 2, name="test")
    assert str(caught.value) == said


@pytest.mark.parametrize("seed", range(20))
def test_is_in_finds_what_a_loop_finds(seed):
    """Few, many and no keys, among values near them and far from them, of all 63 bits."""
    rng = np.random.default_rng(seed)
    keys, wanted = (rng.integers(0, 1 << int(rng.choice([4, 20, 63])), size=size) for size in (seed % 7 * 50, 400))
    wanted[: len(keys) : 3] = keys[: len(wanted) : 3]
    assert is_in(keys, wanted).tolist() == [value in set(keys.tolist()) for value in wanted.tolist()]


@pytest.mark.parametrize("seed", light(range(30), 3))
def test_group_rows_is_a_stable_sort_with_its_groups(seed):
    """Against sorted() and groupby(), for one to three columns, ids up to 2**62 and many equal rows."""
    rng = np.random.default_rng(seed)
    n, top = int(rng.integers(0, 60)), int(rng.choice([1, 3, 2**31, 2**62]))
    pool = rng.integers(-top, top, size=4, endpoint=True)
    columns = [rng.choice(pool, size=n).astype(np.int64) for _ in range(int(rng.integers(1, 4)))]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    order, starts = group_rows(*columns)
    assert order.tolist() == sorted(range(n), key=rows.__getitem__)
    sizes = [len(list(group)) for _, group in itertools.groupby(sorted(rows))]
    assert starts.tolist() == [0, *itertools.accumulate(sizes)]
    assert order.dtype == starts.dtype == np.int64
