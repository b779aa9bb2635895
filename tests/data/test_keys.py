"""Values of further columns as codes, and negatives that are drawn by the filter key: against loops."""

import numpy as np
import pandas as pd
import pytest
from grids import light
from key_cases import N, as_dataset, random_facts

import kgeval as kg
from kgeval.data.keys import codes_of, facts_of, fingerprint_part

KEYS = [(), ("time",), ("qualifiers",), ("time", "qualifiers")]
DAYS = np.array(["2014-05-01", "2014-05-30", "2013-01-01"], dtype="datetime64[D]")


def with_column(values, name="time"):
    """A dataset whose only split has these values."""
    triples = [[0, 0, 1]] * len(values)
    return kg.Dataset.from_arrays(test=triples, n_entities=3, n_relations=2, columns={"test": {name: values}})


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        ([10, 9, 10], ["9", 10, "10", "9.0", 9.0]),
        ([10, None, 9], ["10", None, "", "9", 9]),
        ([0.5, 2.0, 3.0], ["0.5", "2", 2, "3.0"]),
        (DAYS, ["2014-05-01", "2013-1-1", DAYS[1], "2014-05-01 00:00"]),
        (["2014-05", "2014-06"], ["2014-06", "2014-05"]),
        (["2014-05-01 10:00", "2014-05-01 11:30"], ["2014-05-01T11:30", "2014-05-01 10:00"]),
        (["9", "spring", None], [9, "spring", None]),
    ],
)
def test_given_values_have_the_codes_of_equal_values(values, asked):
    """As numbers, dates or text, like the dataset; a missing value is one, too."""
    dataset = with_column(np.array(values, dtype=None if values is DAYS else object))
    codes, own = codes_of(dataset, "time", asked, "given"), facts_of(dataset, ("test",), ("time",))[:, 3]
    column = dataset.column("test", "time")
    for code, value in zip(codes, asked, strict=True):
        (found,) = np.unique(own[[is_equal(one, value) for one in column]])
        assert code == found


def is_equal(one, value):
    """Whether a value of a dataset is meant by a given one."""
    if one is None or one != one:
        return value in (None, "")
    if isinstance(one, np.datetime64):
        pairs = {"2013-1-1": "2013-01-01"}
        return value not in (None, "") and np.datetime64(pairs.get(value, value)) == one
    return str(value).removesuffix(".0") == str(one).removesuffix(".0")


def test_given_qualifiers_have_no_order():
    """Pairs of ids or of labels."""
    dataset = with_column([[(1, 2), (0, 1)], [], [(1, 2), (1, 2)]], "qualifiers")
    asked = [[(0, 1), (1, 2)], [("1", "2"), ("0", "1")], None, [], [(1, 2), (1, 2)]]
    own = facts_of(dataset, ("test",), ("qualifiers",))[:, 3]
    assert codes_of(dataset, "qualifiers", asked, "given").tolist() == own[[0, 0, 1, 1, 2]].tolist()
    with pytest.raises(kg.DataError, match=r"^table, row 1: no fact of the dataset has the qualifiers \[\(1, 2\)\]$"):
        codes_of(dataset, "qualifiers", [[], [(1, 2)]], "table")
    with pytest.raises(kg.DataError, match=r"^table: expected qualifiers as a list of pairs \(relation, entity\); got"):
        codes_of(dataset, "qualifiers", ["1 2"], "table")


def test_a_value_that_no_fact_has_is_named_with_its_row():
    """A misspelt time is not another time, and not a missing one."""
    for values, wrong in (([10, 9, None], "8"), ([10, 9], None), (DAYS, "2014-05-02"), (["a", "b"], "c")):
        dataset = with_column(np.array(values, dtype=None if values is DAYS else object))
        with pytest.raises(kg.DataError) as caught:
            codes_of(dataset, "time", [values[0], wrong], "scores")
        assert str(caught.value) == f"scores, row 1: no fact of the dataset has the time {wrong!r}"


def test_a_part_of_a_fingerprint_depends_on_values_not_on_codes():
    """Texts in their order, and labels in place of the ids in qualifiers."""
    plain = with_column([9, 10])
    part = fingerprint_part(plain, "time", {"all": facts_of(plain, ("test",), ("time",))[:, 3]})
    assert (part.texts, part.codes["all"].tolist()) == (["10", "9"], [1, 0])
    missing = with_column([None, 9])
    part = fingerprint_part(missing, "time", {"all": facts_of(missing, ("test",), ("time",))[:, 3]})
    assert (part.texts, part.codes["all"].tolist()) == (["", "9"], [0, 1])
    qualified = with_column([[(1, 2)], []], "qualifiers")
    part = fingerprint_part(qualified, "qualifiers", {"all": facts_of(qualified, ("test",), ("qualifiers",))[:, 3]})
    assert [part.texts[code] for code in part.codes["all"]] == ['[["1", "2"]]', "[]"]


@pytest.mark.parametrize("seed", light(range(200), 4))
def test_drawn_negatives_are_unknown_by_the_key(seed):
    """All of them, if as many are drawn as there are; their times are those of their positives."""
    facts = random_facts(seed)
    dataset, rows = as_dataset(facts), [row for part in facts.values() for row in part]
    part = {"time": 3, "qualifiers": 4}
    for key in KEYS:
        known = {(*row[:3], *(row[part[name]] for name in key)) for row in rows}
        with pytest.warns(kg.KgevalWarning, match="got fewer than"):
            frame = kg.sample_negatives(dataset, "test", 2 * N, filter_by=key, ids=True)
        found = {}
        for negative in frame.itertuples():
            found.setdefault((negative.positive, negative.side), []).append((negative.s, negative.p, negative.o))
            if "time" in key:
                own = facts["test"][negative.positive][part["time"]]
                assert negative.time == own or (pd.isna(negative.time) and own is None)
        for number, row in enumerate(facts["test"]):
            s, p, o = row[:3]
            more = tuple(row[part[name]] for name in key)
            for side, all_of in (("subject", [(e, p, o) for e in range(N)]), ("object", [(s, p, e) for e in range(N)])):
                wanted = [one for one in all_of if (*one, *more) not in known]
                assert sorted(found.get((number, side), [])) == wanted


def test_negatives_at_a_time_by_any_name_of_the_column():
    """``time`` is the only column of time; another argument than a dict is an error that says so."""
    dataset = with_column([1, 2], "Date")
    for name in ("Date", "time"):
        assert kg.negatives(dataset, (0, 0, 1), "object", given={name: 1}) == ["0", "2"]
    with pytest.raises(kg.DataError) as caught:
        kg.negatives(dataset, (0, 0, 1), "object", given=[1])
    assert str(caught.value) == ("given must be a dict from columns to values, such as given={'time': 183}; got [1]")


def test_drawn_negatives_need_a_key():
    """A dataset with times asks for it, as a ranking does; distinct in a query at a time."""
    dataset = as_dataset(random_facts(1))
    with pytest.raises(kg.ProtocolError, match="which known answers does the filter remove"):
        kg.sample_negatives(dataset, "test")
    times = {"train": {"time": [1]}, "test": {"time": [1, 2, 1]}}
    facts = {"train": [[0, 0, 2]], "test": [[0, 0, 1], [0, 0, 1], [0, 0, 0]]}
    dataset = kg.Dataset.from_arrays(**facts, n_entities=3, n_relations=1, columns=times)
    settings = {"sides": "object", "distinct": "query", "ids": True}
    with pytest.warns(kg.KgevalWarning):
        frame = kg.sample_negatives(dataset, "test", 3, filter_by="time", **settings)
    assert sorted(zip(frame["positive"], frame["o"], frame["time"])) == [(1, 0, 2), (1, 2, 2)]
    with pytest.warns(kg.KgevalWarning):
        assert not len(kg.sample_negatives(dataset, "test", 3, filter_by=(), **settings))
