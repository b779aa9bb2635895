"""Tables from other libraries: Arrow, the interchange interfaces, arrays of str, lists of tuples."""

import sys

import numpy as np
import pandas as pd
import pytest

from kgeval import Dataset, MissingExtra
from kgeval.data.frames import as_frame
from kgeval.errors import DataError

FACTS = [("Jack", "likes", "Rome"), ("Rome", "in", "Italy"), ("7", "NA", '"')]
NO_TABLE = "expected a table: a pandas or Arrow table, an array of str or a list of tuples; got "


def rows_of(dataset, split="test"):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()]


def refusal(**options):
    """The message of the DataError of from_frames."""
    with pytest.raises(DataError) as caught:
        Dataset.from_frames(**options)
    return str(caught.value)


class Foreign:
    """A table of another library that offers one method only."""

    def __init__(self, name, result):
        setattr(self, name, lambda *args, **options: result)


@pytest.mark.parametrize("dtype", [object, "U5", "U"])
def test_arrays_of_str(dtype):
    """Shape (n, 3), columns s, p, o, or as `columns` says; further columns with their names."""
    array = np.array(FACTS, dtype=dtype)
    assert rows_of(Dataset.from_frames(test=array)) == FACTS
    assert rows_of(Dataset.from_frames(test=array[:, [0, 2, 1]], columns="htr")) == FACTS
    wide = np.column_stack([array, ["2010", "2011", "2012"]]).astype(dtype)
    dataset = Dataset.from_frames(test=wide, columns="h,r,t,time")
    assert (rows_of(dataset), dataset.columns["test"]["time"].tolist()) == (FACTS, ["2010", "2011", "2012"])
    assert refusal(test=wide).startswith("test: expected columns named s, p, o; ")


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array(FACTS, dtype="S"), "test: expected an array of str; got dtype |S"),
        (
            np.zeros((2, 3), dtype=int),
            "test: expected an array of str; got dtype int64; for ids use Dataset.from_arrays",
        ),
        (np.zeros((2, 3)), "test: expected an array of str; got dtype float64"),
        (np.array(["a", "r", "b"]), "test: expected an array of shape (n, 3); got shape (3,)"),
        (np.array([["a", "r"]]), "test: expected an array of shape (n, 3); got shape (1, 2)"),
        (np.array([["a", "r", None]]), "test frame, row 0, column 2: expected a string label; got None (NoneType)"),
        (np.array([["a", "r", 1.5]], dtype=object), "test frame, row 0, column 2: expected a string label; got 1.5 "),
        (np.array([["a", "r", b"b"]], dtype=object), "test frame, row 0, column 2: expected a string label; got b'b' "),
        (np.array([["a", "", "b"]]), "test frame, row 0, column 1: the label '' is empty or only white space"),
        (np.ma.masked_all((1, 3), dtype="U1"), "test must not be a masked array; remove the masked rows first"),
    ],
)
def test_arrays_that_hold_no_labels(array, said):
    """Bytes, numbers, missing values, blank labels, other shapes, masks."""
    assert refusal(test=array).startswith(said)


def test_lists_of_tuples():
    """Tuples or lists of three labels; named tuples are read by their names."""
    from collections import namedtuple

    assert rows_of(Dataset.from_frames(test=FACTS)) == FACTS
    assert rows_of(Dataset.from_frames(test=[list(fact) for fact in FACTS])) == FACTS
    assert rows_of(Dataset.from_frames(test=tuple(FACTS))) == FACTS
    triple = namedtuple("triple", ["tail", "head", "relation"])
    assert rows_of(Dataset.from_frames(test=[triple(o, s, p) for s, p, o in FACTS])) == FACTS
    for rows, said in (
        ([("a", "r", "b"), ("a", "r")], "test, row 1: expected a tuple of three labels; got ('a', 'r')"),
        (["arb"], "test, row 0: expected a tuple of three labels; got 'arb'"),
        ([("a", "r", "b"), {"s": 1}], "test, row 1: expected a tuple of three labels; got {'s': 1}"),
        ([("a", "r", "b"), ("a", "r", None)], "test frame, row 1, column 2: expected a string label; got None"),
        ([("a", "r", 0.5)], "test frame, row 0, column 2: expected a string label; got 0.5 (float)"),
        ([], "test: expected at least one triple; got an empty list"),
    ):
        assert refusal(test=rows).startswith(said)


def test_what_is_no_table():
    """Names of files, mappings, series, objects."""
    for thing in ("train.txt", {"s": ["a"]}, pd.Series(["a"]), object(), 3, Foreign("to_pandas", pd.Series(["a"]))):
        assert refusal(test=thing) == f"test: {NO_TABLE}{type(thing).__name__}"


def test_a_table_that_cannot_be_converted():
    """The reason of its library is passed on."""

    class Table:
        def to_pandas(self):
            raise RuntimeError("needs another library")

    assert refusal(test=Table()) == "test: the Table cannot be converted to a frame: needs another library"


def test_tables_of_other_libraries():
    """By the methods that they offer; no library is imported for it."""
    frame = pd.DataFrame(FACTS, columns=["head", "relation", "tail"])
    assert rows_of(Dataset.from_frames(test=Foreign("to_pandas", frame))) == FACTS
    assert rows_of(Dataset.from_frames(test=Foreign("to_pandas", frame[::-1].T.T))) == FACTS[::-1]


def arrow():
    """The library pyarrow, or skip."""
    return pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary", "string_view"])
def test_arrow_tables(kind):
    """Strings of every storage; also a table that has only the Arrow interface."""
    pa = arrow()
    types = {"dictionary": lambda: pa.dictionary(pa.int8(), pa.string())}
    if kind not in types and not hasattr(pa, kind):
        pytest.skip("this pyarrow has no such type")
    storage = types.get(kind, getattr(pa, kind, None))()
    columns = [pa.array(column).cast(storage) for column in zip(*FACTS)]
    table = pa.table(columns, names=["s", "p", "o"])
    for given in (table, table.to_batches()[0], Foreign("__arrow_c_stream__", table.__arrow_c_stream__())):
        assert rows_of(Dataset.from_frames(test=given)) == FACTS
    named = table.rename_columns(["source", "rel", "target"]).append_column("time", [[3, None, 1]])
    dataset = Dataset.from_frames(test=named, columns=["source", "rel", "target"])
    assert rows_of(dataset) == FACTS
    assert [None if pd.isna(value) else value for value in dataset.columns["test"]["time"]] == [3, None, 1]
    assert "or columns='source,rel,target')" in refusal(test=named)


@pytest.mark.parametrize(
    ("values", "row", "shown"),
    [
        (["a", None], 1, ""),
        ([3, None], 1, "None (NoneType)"),
        ([0.5, 1.0], 0, "0.5 (float)"),
        ([b"a", b"b"], 0, "b'a' (bytes)"),
    ],
)
def test_arrow_values_that_are_no_labels(values, row, shown):
    """The row of the missing value, not the first row, although pandas makes floats of such integers."""
    pa = arrow()
    table = pa.table({"s": ["a", "b"], "p": ["r", "r"], "o": values})
    said = refusal(test=table)
    assert said.startswith(f"test frame, row {row}, column 2: expected a string label; got {shown}")


def test_an_arrow_interface_without_arrow(monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra) as caught:
        as_frame("test", Foreign("__arrow_c_stream__", None))
    assert str(caught.value) == 'test: reading Arrow tables needs pyarrow; pip install "kgeval[parquet]"'


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol is deprecated")
def test_the_interchange_interface():
    """Tables with __dataframe__ only."""
    arrow()  # pandas reads strings of this interface by pyarrow

    class Table:
        def __init__(self, frame):
            self.frame = frame

        def __dataframe__(self, *args, **options):
            return self.frame.__dataframe__(*args, **options)

    frame = pd.DataFrame(FACTS, columns=["s", "p", "o"])
    if not hasattr(frame, "__dataframe__"):
        pytest.skip("this pandas has no such interface")
    assert rows_of(Dataset.from_frames(test=Table(frame))) == FACTS


def test_further_columns_of_frames():
    """Kept with their rows, whatever the index; lists cannot be grouped and are named."""
    frame = pd.DataFrame(FACTS, columns=["s", "p", "o"], index=[5, 5, 1]).assign(time=[3, 1, 2], vector=[[1], [2], [3]])
    dataset = Dataset.from_frames(test=frame, train=frame[["s", "p", "o"]])
    assert dataset.columns["test"].equals(pd.DataFrame({"time": [3, 1, 2]}))
    assert list(dataset.columns) == ["test"]
    assert dataset.notes == (
        "the column time is kept as a time",
        "columns ignored: vector",
    )
    frame["time"] = 0  # a change of the frame does not change the dataset
    assert dataset.columns["test"]["time"].tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    "storage", ["string[pyarrow]", "string[python]", "arrow", "arrow dictionary", "str", "category"]
)
def test_strings_of_pandas_2_and_3(storage):
    """Whatever stores them; a missing value has its row, and the labels 'nan' and 'None' are labels."""
    pa = arrow()
    kinds = {"arrow": pa.string(), "arrow dictionary": pa.dictionary(pa.int32(), pa.string())}
    dtype = pd.ArrowDtype(kinds[storage]) if storage in kinds else storage
    facts = [("nan", "None", "<NA>"), *FACTS]
    frame = pd.DataFrame(facts, columns=["s", "p", "o"]).astype(dtype)
    assert rows_of(Dataset.from_frames(test=frame)) == facts
    if storage == "str":  # pandas 2 makes the word 'None' of a missing value before kgeval sees it
        return
    holes = pd.DataFrame([*facts, ("a", "r", None)], columns=["s", "p", "o"], dtype=object).astype(dtype)
    assert refusal(test=holes).startswith("test frame, row 4, column 2: expected a string label; got ")
