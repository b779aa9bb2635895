"""Breakdowns by time, by the number of qualifiers and by whether a triple was true before."""

import random

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.results.times import time_bins


def score(s, p, o):
    """Scores without ties."""
    return np.sin(1.0 + 7.0 * s + 3.0 * p + 5.0 * o)


def made(columns, train, test, n=4):
    """The result of a small graph with columns."""
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=n, n_relations=1, columns=columns)
    return kg.evaluate(score, dataset, kg.Protocol(filter_by=()), progress=False)


def test_bins_have_about_equal_counts():
    """Random times with repeats: each bin is a range of times, no time is in two bins, and no bin is far too large."""
    rng = random.Random(5)
    for _ in range(size(60, 2000)):
        times = [rng.randint(-30, 30) for _ in range(rng.randint(1, 80))]
        n_bins = rng.randint(1, 6)
        bins = time_bins("time", np.array(times), str(n_bins)).tolist()
        bin_of = {}
        for time, label in zip(times, bins):
            assert bin_of.setdefault(time, label) == label
        groups = {}
        for time in sorted(times):
            groups.setdefault(bin_of[time], []).append(time)
        assert len(groups) <= n_bins
        ends = [(min(of), max(of)) for of in groups.values()]
        assert ends == sorted(ends)
        assert all(last < first for (_, last), (first, _) in zip(ends, ends[1:]))
        assert [*groups] == [str(a) if a == b else f"{a} to {b}" for a, b in ends]
        if len(set(times)) > n_bins:
            most = max(times.count(time) for time in times)
            assert max(map(len, groups.values())) < len(times) / n_bins + most
        else:
            assert len(groups) == len(set(times))


def test_times_are_ordered_as_numbers_and_missing_is_a_group():
    """10 after 9, also in a saved result; each of few times is a bin."""
    result = made(
        {"test": {"time": pd.Series([10, 9, None], dtype=object)}}, [[0, 0, 1]], [[0, 0, 2], [1, 0, 2], [2, 0, 3]]
    )
    assert result.by("time", metrics="mr")["n"].to_dict() == {"9": 2, "10": 2, "missing": 2}
    assert result.by("time", metrics="mr").index.tolist() == ["9", "10", "missing"]


def test_calendar(tmp_path):
    """Years, months and days of dates; loaded results and comparisons have the same bins."""
    dates = ["-0044-03-15", "2014-05-30", "2014-05-02"]
    result = made({"test": {"date": dates}}, [[0, 0, 1]], [[0, 0, 2], [1, 0, 2], [2, 0, 3]])
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    for one in (result, loaded):
        assert one.by("date:month", metrics="mr").index.tolist() == ["-0044-03", "2014-05"]
        assert one.by("date:year", metrics="mr")["n"].tolist() == [2, 4]
        assert one.by("date:2", metrics="mr").index.tolist() == ["-0044-03-15 to 2014-05-02", "2014-05-30"]
        assert one.by("date", metrics="mr").index.tolist() == ["-0044-03-15", "2014-05-02", "2014-05-30"]
    compared = kg.compare([result, result], names=["a", "b"]).by("date:2", metric="mrr")
    assert set(compared.index.get_level_values(-1)) == {"-0044-03-15 to 2014-05-02", "2014-05-30"}
    before = kg.compare([result, loaded], names=["a", "b"]).by("seen_before", metric="mrr")
    assert set(before.index.get_level_values(-1)) == {"no"}


def test_periods_that_do_not_fit():
    """Numbers have no months, text has no order, and 0 bins hold nothing."""
    for values, name, message in (
        (
            [1, 2],
            "time:month",
            "^time:month needs dates; the column holds numbers, such as 1. Use 'time', or 'time:20'",
        ),
        (["a", "b"], "time:3", "^time:3: the times are text, so they have no order; break down by 'time'$"),
        ([1, 2], "time:0", "^time:0: expected at least 1 bin$"),
        (["2014-05", "2014-06"], "time:day", "^time:day needs days; the column holds months. Use 'time:month'$"),
    ):
        result = made({"test": {"time": values}}, [[0, 0, 1]], [[0, 0, 2], [1, 0, 2]])
        with pytest.raises(kg.MetricError, match=message):
            result.by(name)


def test_seen_before_equals_a_loop():
    """Random quadruples with repeats and missing times: was the triple true at an earlier time, in any split?"""
    rng = random.Random(11)
    for _ in range(size(12, 400)):
        rows = {
            split: [[rng.randrange(3), 0, rng.randrange(3)] for _ in range(rng.randint(1, 8))]
            for split in ("train", "valid", "test")
        }
        times = {split: [rng.choice([None, -10, 9, 10, 100]) for _ in of] for split, of in rows.items()}
        columns = {split: {"time": pd.Series(of, dtype=object)} for split, of in times.items()}
        dataset = kg.Dataset.from_arrays(**rows, n_entities=3, n_relations=1, columns=columns)
        if all(time is None for of in times.values() for time in of):
            continue
        result = kg.evaluate(score, dataset, kg.Protocol(splits=["test", "valid"], filter_by=()), progress=False)
        everything = [(row, t) for split, of in rows.items() for row, t in zip(of, times[split]) if t is not None]
        table = result.table.assign(time=result.columns["time"], seen=result.columns["seen_before"])
        for row in table.itertuples():
            if pd.isna(row.time):
                assert pd.isna(row.seen)
            else:
                earlier = [t for triple, t in everything if triple == [row.s, row.p, row.o] and t < row.time]
                assert row.seen == ("yes" if earlier else "no")


def test_text_times_have_no_before():
    """No column rather than a wrong one."""
    result = made({"test": {"time": ["x", "2014"]}}, [[0, 0, 1]], [[0, 0, 2], [1, 0, 2]])
    assert list(result.columns) == ["time"]
    assert result.by("time", metrics="mr")["n"].to_dict() == {"2014": 2, "x": 2}


def test_by_the_number_of_qualifiers(tmp_path):
    """0, 1, 2 and 3+, in this order; in files too."""
    pairs = [[(0, 1)] * n for n in (5, 0, 1, 3)]
    columns = {"test": {"qualifiers": pairs}}
    result = made(columns, [[0, 0, 1]], [[0, 0, 2], [1, 0, 2], [2, 0, 3], [3, 0, 3]])
    result.save(tmp_path / "run.kgeval")
    for one in (result, kg.load_result(tmp_path / "run.kgeval")):
        assert one.by("qualifiers", metrics="mr")["n"].to_dict() == {"0": 2, "1": 2, "3+": 4}
