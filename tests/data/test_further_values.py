"""Values of a column in all splits: numbers, dates or text; the codes by which facts are compared."""

import datetime
import random

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.data.further_values import column_values


def values_of(*parts):
    """The kind and the values of columns of splits a, b, ..."""
    found = column_values({name: pd.Series(part, dtype=object) for name, part in zip("abc", parts)})
    return found.kind, found.texts()


def test_what_is_a_number_a_date_or_text():
    """One rule for all splits; a date is written year, month, day."""
    assert values_of(["10", "9"], [-44, " 7 "]) == ("number", ["-44", "7", "9", "10"])
    assert values_of([0.5, 2.0, None], ["1e1"]) == ("number", ["0.5", "2", "10"])
    assert values_of(["2014-05-01", "2013-12-31"]) == ("date", ["2013-12-31", "2014-05-01"])
    assert values_of(["-0044-03-15", "0099-1-2"]) == ("date", ["-0044-03-15", "0099-01-02"])
    assert values_of([datetime.date(2014, 5, 1)], ["2014-4-30"]) == ("date", ["2014-04-30", "2014-05-01"])
    assert values_of(["2014-05", "2013-12"]) == ("date", ["2013-12", "2014-05"])
    assert values_of(["2014-05-01 10:00", "2014-05-01T09:59:59"])[1] == ["2014-05-01T09:59:59", "2014-05-01T10:00:00"]
    assert values_of(["2014-05-01T10:00Z", "2014-05-01T11:30+02:00"])[1] == [
        "2014-05-01T09:30:00", "2014-05-01T10:00:00",
    ]  # fmt: skip
    assert values_of([pd.Timestamp("2014-05-01"), "2014-05-02"]) == ("date", ["2014-05-01", "2014-05-02"])
    assert values_of(["2014-13-01"]) == ("text", ["2014-13-01"])
    assert values_of(["2003-##-##", "1999"]) == ("text", ["1999", "2003-##-##"])
    assert values_of(["2014-05", "2014-05-01"]) == ("text", ["2014-05", "2014-05-01"])
    assert values_of([True, 1.5]) == ("text", ["1.5", "True"])


def test_mixed_times_are_text_with_a_note():
    """Dates beside years cannot be compared, and the note shows one of each; missing times are counted."""
    columns = {"train": {"time": ["2014", "2014-05-01", "x"]}, "test": {"time": [None]}}
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [1, 0, 0], [1, 0, 1]], test=[[0, 0, 0]], n_entities=2, n_relations=1, columns=columns
    )
    assert dataset.column("train", "time").tolist() == ["2014", "2014-05-01", "x"]
    assert dataset.column("test", "time").tolist() == [None]
    assert dataset.observations() == [
        "the column time holds numbers ('2014'), days ('2014-05-01') and other text ('x'); its times are compared as "
        "text, so no time is earlier or later",
        "1 triple of test has no time",
    ]


def test_missing_values():
    """NaN, NaT or None; integers that a float cannot hold are refused beside them."""
    rows = {"train": [[0, 0, 1], [0, 0, 1]], "n_entities": 2, "n_relations": 1}
    numbers = kg.Dataset.from_arrays(**rows, columns={"train": {"time": pd.Series([3, None], dtype=object)}})
    assert (numbers.column("train", "time")[0], np.isnan(numbers.column("train", "time")[1])) == (3, True)
    dates = kg.Dataset.from_arrays(**rows, columns={"train": {"date": ["2014-05-01", ""]}})
    assert (dates.time_column, dates.column("train", "date").dtype) == ("date", np.dtype("datetime64[D]"))
    assert np.isnat(dates.column("train", "date")).tolist() == [False, True]
    large = kg.Dataset.from_arrays(**rows, columns={"train": {"t": pd.Series([2**53 + 1, None], dtype=object)}})
    assert large.column_codes("t")["train"].tolist() == [0, -1]
    message = "^train has missing values beside integers above 2\\^53, which a float cannot hold; fill the missing"
    with pytest.raises(kg.DataError, match=message):
        large.column("train", "t")


def test_the_time_column():
    """By name, whatever its case; time before year, and no time in other columns."""
    for names, wanted in ((["Year", "time"], "time"), (["TIMESTAMP"], "TIMESTAMP"), (["weight"], None), ([], None)):
        columns = {"test": {name: [1] for name in names}}
        dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1, columns=columns)
        assert (dataset.time_column, dataset.has_qualifiers) == (wanted, False)
    with pytest.raises(kg.DataError, match=r"^dataset 'dataset' has no column 'time'; its further columns: none$"):
        dataset.column("test", "time")


def test_columns_that_do_not_fit():
    """The split, the number of values, the shape."""
    rows = {"test": [[0, 0, 0]], "n_entities": 1, "n_relations": 1}
    for columns, message in (
        ({"valid": {"time": [1]}}, "^columns: 'valid' is not a split with triples$"),
        ({"test": {"time": [1, 2]}}, r"^columns of test: 'time' must hold 1 values, one per triple; got shape \(2,\)$"),
        ({"test": {"qualifiers": [[], []]}}, "^qualifiers of test: expected 1 lists, one per triple; got 2$"),
        ({"test": {"qualifiers": [[(1, 0)]]}}, r"^qualifiers of test, relations, row 0: id 1 is not in 0\.\.0$"),
        ({"test": {"qualifiers": [[0]]}}, "^qualifiers of test: expected Qualifiers, or a list of pairs"),
    ):
        with pytest.raises(kg.DataError, match=message):
            kg.Dataset.from_arrays(**rows, columns=columns)


def test_codes_compare_like_the_values():
    """Random columns of numbers in several spellings: an oracle compares each pair of values by itself."""
    rng = random.Random(7)
    for _ in range(size(60, 2000)):
        numbers = [[rng.choice([None, rng.randint(-12, 12)]) for _ in range(rng.randint(0, 6))] for _ in "ab"]
        spelt = [[x if x is None else rng.choice([x, str(x), f"{x}.0", float(x)]) for x in part] for part in numbers]
        codes = column_values({"a": pd.Series(spelt[0], dtype=object), "b": pd.Series(spelt[1], dtype=object)}).codes
        rows = [(x, code) for split, part in zip("ab", numbers) for x, code in zip(part, codes[split].tolist())]
        for x, code in rows:
            assert (x is None) == (code == -1)
            for y, other in rows:
                assert x is None or y is None or ((x < y) == (code < other) and (x == y) == (code == other))


def test_the_fingerprint_knows_times_and_qualifiers():
    """Not the order of rows or of qualifiers, not the spelling of times, not other columns; but each value."""
    rows = [[0, 0, 1], [1, 0, 0], [0, 0, 1]]
    times, pairs, weights = [3, 10, None], [[(0, 1), (1, 0)], [], [(1, 1)]], [1, 2, 3]

    def fingerprint(order, times=times, pairs=pairs, **more):
        of = {"time": [times[i] for i in order], "qualifiers": [pairs[i] for i in order], **more}
        train = [rows[i] for i in order]
        return kg.Dataset.from_arrays(train=train, n_entities=2, n_relations=2, columns={"train": of}).fingerprint

    same = fingerprint([0, 1, 2])
    assert same == fingerprint([2, 0, 1], weight=weights)
    assert same == fingerprint([0, 1, 2], times=["3", "10.0", ""], pairs=[[(1, 0), (0, 1)], [], [(1, 1)]])
    others = [
        fingerprint([0, 1, 2], times=[3, 11, None]),
        fingerprint([0, 1, 2], times=[None, 10, 3]),
        fingerprint([0, 1, 2], pairs=[[(1, 1)], [], [(0, 1), (1, 0)]]),
        fingerprint([0, 1, 2], pairs=[[(0, 1), (1, 0)], [], [(1, 1), (1, 1)]]),
        kg.Dataset.from_arrays(train=rows, n_entities=2, n_relations=2).fingerprint,
    ]
    assert others[1] == others[2]  # the same two facts, in the other order
    assert len({same, *others}) == 5


def test_a_split_keeps_times_and_qualifiers():
    """`Dataset.split`: each triple keeps its own."""
    rows = [[i, 0, (i + step) % 10] for i in range(10) for step in (1, 2)]
    of = {"time": list(range(20)), "qualifiers": [[(0, i % 10)] * (i % 3) for i in range(20)]}
    whole = kg.Dataset.from_arrays(train=rows, n_entities=10, n_relations=1, columns={"train": of})
    parts = whole.split({"train": 0.8, "test": 0.2}, split_seed=1)
    n_seen = 0
    for split, part in parts.splits.items():
        times, pairs = parts.column(split, "time"), parts.qualifiers[split]
        for i, row in enumerate(part.array.tolist()):
            assert rows[times[i]] == row
            assert pairs[i] == of["qualifiers"][times[i]]
            n_seen += 1
    assert n_seen == 20
