"""Ranks and metrics as files and flat numbers: every label and digit comes back; comparison tables by hand."""

import csv
import io
import json
import math
import re
import stat
import sys

import numpy as np
import pandas as pd
import pytest
from grids import size
from made_results import replaced

import kgeval
from kgeval import DataError, Dataset, MetricError, MissingExtra, Protocol, ProtocolError
from kgeval.report.exports import (
    TIDY_COLUMNS,
    flat,
    format_csv,
    format_json,
    name_results,
    tidy,
    write_frame,
    write_ranks,
)

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

NAN, INF = float("nan"), float("inf")
FLAT_LABELS = [
    "NA",
    "007",
    'a"b',
    '"q"',
    "=1+1",
    "nan",
    "1e5",
    " x ",
    "a,b",
    "東京",
    "'=y",
    "-1",
    "u\u2028",
    "\u202eback",
]
LABELS = [*FLAT_LABELS, "new\nline", "re\rturn", "t\tab", "\r\n."]
FLOATS = [0.1 + 0.2, 1 / 3, 5e-324, 123456789.123456789, -0.0, -0.5, 1e300]


def evaluated(labels, scores=None, protocol=None):
    """A ring over the labels, one test triple per label."""
    facts = pd.DataFrame({"s": labels, "p": "=r", "o": labels[1:] + labels[:1]})
    values = np.random.default_rng(3).normal(size=(len(labels), len(labels))) if scores is None else scores
    return kgeval.evaluate(lambda s, p, o: values[s, o], Dataset.from_frames(test=facts), protocol, progress=False)


@pytest.fixture(scope="module")
def result():
    return evaluated(LABELS)


def oracle_rows(result):
    """What the file must hold, from the counts, row by row."""
    entities, table = result.entities.labels, result.table
    for row in table.to_dict("records"):
        rank = row["better_filtered"] + 1 + row["tied_filtered"] / 2
        yield entities[row["s"]], "=r", entities[row["o"]], row["side"], float(row["score"]), rank


def test_the_table_of_ranks_with_labels(result):
    frame = result.ranks(labels=True, columns=True)
    found = list(frame[["s", "p", "o", "side", "score", "rank_filtered"]].itertuples(index=False, name=None))
    assert found == list(oracle_rows(result))
    assert len(frame) == 2 * len(LABELS)


def test_the_table_of_ranks_joins_further_columns(result):
    """By position; only on request; a name that is taken is refused."""
    n = len(result.table)
    mine = result.__replace__(columns=pd.DataFrame({"degree_given": range(n), "note": ["=x"] * n}))
    frame = mine.ranks(labels=True, columns=True)
    assert list(frame.columns) == [*result.ranks(labels=True).columns, "degree_given", "note"]
    assert frame["degree_given"].tolist() == list(range(n))
    assert (
        list(mine.ranks(labels=True).columns) == list(result.ranks(labels=True).columns) == list(result.table.columns)
    )
    taken = result.__replace__(columns=pd.DataFrame({"s": range(n), "x": range(n), "rank_raw": range(n)}))
    with pytest.raises(DataError) as caught:
        taken.ranks(columns=True)
    assert str(caught.value) == (
        "result.columns has s, rank_raw, which the table of ranks also has; rename it, or set columns=False"
    )


def test_old_names_of_the_table_of_ranks_answer(result):
    for old, new in (("labelled", "ranks(labels=True)"), ("about", "facts")):
        with pytest.raises(AttributeError) as caught:
            getattr(result, old)
        assert str(caught.value) == f"EvaluationResult has no attribute {old!r} since kgeval 0.2; write {new}"
    with pytest.raises(AttributeError, match=r"since kgeval 0.2; write result.ranks\(labels=True, columns=True\)$"):
        kgeval.report.exports.ranks_frame  # noqa: B018


def test_csv_of_ranks_comes_back(result, tmp_path):
    """Python's reader of RFC 4180 gives every label back, and float() every score to the last bit."""
    write_ranks(result, tmp_path / "ranks.csv")
    content = (tmp_path / "ranks.csv").read_bytes().decode("utf-8")
    header, *rows = csv.reader(io.StringIO(content, newline=""))
    place = {name: header.index(name) for name in ("s", "p", "o", "side", "score", "rank_filtered")}
    found = [[row[i] for i in place.values()] for row in rows]
    assert [(*row[:4], float(row[4]), float(row[5])) for row in found] == list(oracle_rows(result))
    dtype = dict.fromkeys("spo", str)
    read = pd.read_csv(tmp_path / "ranks.csv", dtype=dtype, keep_default_na=False)
    assert list(zip(read["s"], read["o"])) == [(row[0], row[2]) for row in oracle_rows(result)]


def test_csv_byte_by_byte():
    """RFC 4180, 2.1-2.7: CRLF behind every line; fields with commas, quotes, line ends in quotes, quotes doubled."""
    columns = {"label": ["NA", 'a"b', "x\ny", "1,5", "\r", "", None], "x": [*FLOATS[:6], NAN], "n": range(7)}
    assert format_csv(pd.DataFrame(columns)).encode() == (
        b"label,x,n\r\n"
        b"NA,0.30000000000000004,0\r\n"
        b'"a""b",0.3333333333333333,1\r\n'
        b'"x\ny",5e-324,2\r\n'
        b'"1,5",123456789.12345679,3\r\n'
        b'"\r",-0.0,4\r\n'
        b'"",-0.5,5\r\n'
        b",,6\r\n"
    )
    index = pd.Index(["=i"], name="a,b")
    assert format_csv(pd.DataFrame({"x": [INF], "y": [True]}, index=index)) == '"a,b",x,y\r\n=i,inf,True\r\n'


@pytest.mark.parametrize(
    "start",
    [
        *["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"],
        pytest.param("\0", marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="csv of 3.10 reads no NUL")),
    ],
)
def test_spreadsheets_see_no_formula(start):
    """CWE-1236: an apostrophe before labels and headings, never before numbers; off by default."""
    frame = pd.DataFrame({start + "h": [start + "1", "a" + start, " " + start], "x": [-0.5, -1.0, -INF]})
    header, *rows = csv.reader(io.StringIO(format_csv(frame, spreadsheet=True), newline=""))
    assert header == [f"'{start}h", "x"]
    assert rows == [[f"'{start}1", "-0.5"], ["a" + start, "-1.0"], [" " + start, "-inf"]]
    exact = list(csv.reader(io.StringIO(format_csv(frame), newline="")))
    assert exact[0] == [start + "h", "x"]
    assert exact[1] == [start + "1", "-0.5"]
    mixed = pd.DataFrame({"x": np.array([-3, start + "1", -2.5], dtype=object)}, index=pd.Index([start] * 3, name="i"))
    rows = list(csv.reader(io.StringIO(format_csv(mixed, spreadsheet=True), newline="")))[1:]
    assert rows == [["'" + start, "-3"], ["'" + start, f"'{start}1"], ["'" + start, "-2.5"]]


def test_spreadsheet_is_asked_of_csv_alone(result, tmp_path):
    for name in ("ranks.tsv", "ranks.parquet"):
        with pytest.raises(DataError) as caught:
            write_ranks(result, tmp_path / name, spreadsheet=True)
        said = f"spreadsheet=True is for .csv only; {name[5:]} keeps labels unchanged"
        assert str(caught.value) == f"{tmp_path / name}: {said}"
    write_ranks(result, tmp_path / "ranks.csv", spreadsheet=True)
    rows = list(csv.reader(io.StringIO((tmp_path / "ranks.csv").read_bytes().decode(), newline="")))
    relation = rows[0].index("p")
    assert {row[relation] for row in rows[1:]} == {"'=r"}
    assert {"'=1+1", "NA", "'-1", "'\r\n."} <= {row[rows[0].index("s")] for row in rows[1:]}


def test_tsv_of_ranks_comes_back(tmp_path):
    """Nothing is quoted: splitting at tabs gives the labels. A label that would break a line is refused."""
    made = evaluated(FLAT_LABELS)
    write_ranks(made, tmp_path / "ranks.tsv")
    lines = (tmp_path / "ranks.tsv").read_bytes().decode("utf-8").split("\n")
    assert lines[-1] == ""
    header, *rows = (line.split("\t") for line in lines[:-1])
    found = [[row[header.index(name)] for name in ("s", "p", "o", "side", "score")] for row in rows]
    assert [(*row[:4], float(row[4])) for row in found] == [row[:5] for row in oracle_rows(made)]
    for bad in ("a\tb", "a\nb", "a\rb"):
        with pytest.raises(DataError) as caught:
            write_frame(pd.DataFrame({"s": ["fine", bad]}), tmp_path / "bad.tsv")
        assert str(caught.value) == (
            f"{tmp_path / 'bad.tsv'}, line 3: s is {bad!r}, and .tsv cannot hold tabs and line ends; "
            "write .csv or .parquet"
        )
    assert not (tmp_path / "bad.tsv").exists()


def test_parquet_of_ranks_comes_back(result, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet is written with pyarrow")
    write_ranks(result, tmp_path / "ranks.parquet")
    read = pd.read_parquet(tmp_path / "ranks.parquet")
    assert list(read[["s", "p", "o", "side", "score", "rank_filtered"]].itertuples(index=False, name=None)) == list(
        oracle_rows(result)
    )
    assert list(read.columns) == list(result.ranks(labels=True, columns=True).columns)
    assert read["better_raw"].tolist() == result.table["better_raw"].tolist()
    with pytest.raises(DataError, match="a column cannot be stored: "):
        write_frame(pd.DataFrame({"x": [{"a": 1}, "b"]}), tmp_path / "mixed.parquet")


def test_parquet_needs_pyarrow(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "ranks.parquet"
    with pytest.raises(MissingExtra) as caught:
        write_ranks(result, path)
    assert str(caught.value) == f'{path}: writing .parquet needs pyarrow; pip install "kgeval[parquet]"'
    assert list(tmp_path.iterdir()) == []


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    """An existing file stays unless overwrite is said, and stays whole when the new one fails half-way."""
    frame, path = pd.DataFrame({"x": [1]}), tmp_path / "x.csv"
    write_frame(frame, path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600
    with pytest.raises(DataError) as caught:
        write_frame(frame, path)
    assert str(caught.value) == f"{path} exists; choose another name, or use overwrite=True (--overwrite)"
    write_frame(pd.DataFrame({"x": [2]}), path, overwrite=True)
    assert path.read_bytes() == b"x\r\n2\r\n"

    def fail(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kgeval.base.files.os.fsync", fail)
    with pytest.raises(DataError) as caught:
        write_frame(frame, path, overwrite=True)
    assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]
    assert path.read_bytes() == b"x\r\n2\r\n"


@pytest.mark.parametrize(("name", "ending"), [("x.txt", ".txt"), ("x", "no ending"), ("x.csv.gz", ".gz")])
def test_unknown_endings(tmp_path, name, ending):
    with pytest.raises(DataError) as caught:
        write_frame(pd.DataFrame({"x": [1]}), tmp_path / name)
    assert str(caught.value) == (
        f"{tmp_path / name}: expected a name that ends in .csv, .tsv, .parquet; got {ending!r}"
    )


def test_half_characters_and_equal_names_are_refused(tmp_path):
    with pytest.raises(DataError, match="contains a lone surrogate"):
        write_frame(pd.DataFrame({"s": ["a\ud800"]}, dtype=object), tmp_path / "x.csv")
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    for write in (format_csv, format_json):
        with pytest.raises(DataError, match="two columns have the name 'x'; rename one of them"):
            write(twice)
    with pytest.raises(DataError, match="two columns have the name 'x'"):
        format_csv(pd.DataFrame({"x": [1]}, index=pd.Index([2], name="x")))


def strict(text):
    return json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))


def test_json_is_strict():
    """NaN, both infinities and None are null, each row then says why; numbers and labels come back exactly."""
    values = {
        "label": pd.Series(["a", "b\ud800\u2028", "c", None], dtype=object),
        "x": [0.1 + 0.2, INF, NAN, -0.0],
        "y": [1.0, -INF, 5e-324, 2.0],
        "n": [1, 2, 3, 2**60],
        "is_new": [True, False, True, False],
    }
    text = format_json(pd.DataFrame(values))
    assert text.isascii()
    records = strict(text)
    assert records == [
        {"label": "a", "x": 0.1 + 0.2, "y": 1.0, "n": 1, "is_new": True},
        {
            "label": "b\ud800\u2028", "x": None, "y": None, "n": 2, "is_new": False,
            "reason": "x is infinite; y is minus infinite",
        },
        {"label": "c", "x": None, "y": 5e-324, "n": 3, "is_new": True, "reason": "x is undefined"},
        {"label": None, "x": -0.0, "y": 2.0, "n": 2**60, "is_new": False, "reason": "label is undefined"},
    ]  # fmt: skip
    assert math.copysign(1, records[3]["x"]) == -1
    assert isinstance(records[0]["is_new"], bool)
    given = strict(format_json(pd.DataFrame({"x": [NAN, 1.0], "y": [INF, 1.0], "reason": ["no triples", ""]})))
    assert given == [{"x": None, "y": None, "reason": "no triples; y is infinite"}, {"x": 1.0, "y": 1.0}]
    assert strict(format_json(pd.DataFrame({"x": pd.Categorical(["a"])}, index=pd.Index([7], name="i")))) == [
        {"i": 7, "x": "a"}
    ]


def test_tidy(result):
    """Each number and interval is the result's own, in the order of models, settings, sides, metrics."""
    other = evaluated(LABELS, -np.arange(len(LABELS) ** 2, dtype=float).reshape(len(LABELS), -1))
    frame = tidy({"one": result, "two": other}, "mrr,query.map,z(mr)")
    assert tuple(frame.columns) == TIDY_COLUMNS
    keys = [
        (name, setting, side, ties, metric)
        for name in ("one", "two")
        for setting in ("filtered", "raw")
        for side in ("both", "subject", "object")
        for ties, metric in (("realistic", "mrr"), ("expected", "query.map"), ("realistic", "z(mr)"))
    ]
    assert list(frame[["model", "setting", "side", "ties", "metric"]].itertuples(index=False, name=None)) == keys
    for row in frame.to_dict("records"):
        measured = {"one": result, "two": other}[row["model"]]
        key = f"{row['setting']}.{row['side']}.{row['ties']}.{row['metric']}"
        assert row["value"] == measured[key]
        interval = measured.interval(key, confidence=0.95)
        assert [row["low"], row["high"]] == pytest.approx([interval.low, interval.high], nan_ok=True, rel=1e-15)
        assert row["low"] < row["value"] < row["high"]
        assert row["n"] == len(LABELS) * (2 if row["side"] == "both" else 1)
    narrow = tidy(result, "mrr", names=["x"], confidence=0.5).loc[0]
    assert narrow["high"] - narrow["low"] < frame.loc[0, "high"] - frame.loc[0, "low"]


def test_tidy_without_intervals_and_with_undefined_numbers(result):
    frame = tidy(result, ["mrr", "hmr"], names=["x"], ties="expected", confidence=None)
    assert frame["ties"].unique().tolist() == ["expected"]
    assert frame["low"].isna().all()
    assert frame["high"].isna().all()
    first, second = strict(format_json(frame))[:2]
    assert first == {
        "model": "x", "setting": "filtered", "side": "both", "ties": "expected", "metric": "mrr",
        "value": result["expected.mrr"], "low": None, "high": None, "n": 2 * len(LABELS),
        "reason": "no interval was requested",
    }  # fmt: skip
    reason = "hmr has no exact expectation over random tie breaking"
    assert (second["value"], second["reason"]) == (None, reason)


def test_names_of_results(result):
    other = replaced(result, facts={**result.facts, "scorer": "B"})
    mine = replaced(result, facts={**result.facts, "scorer": "A"})
    assert list(name_results(mine)) == ["A"]
    assert list(name_results([mine, other, mine, mine])) == ["A (1)", "B", "A (3)", "A (4)"]
    assert list(name_results({"x": mine, "y": other})) == ["x", "y"]
    assert name_results([mine, other], ["y", "x"]) == {"y": mine, "x": other}
    for wrong in (["x"], ["x", "x"], ["xy"], ["x", "y", "z"]):
        with pytest.raises(ProtocolError) as caught:
            name_results([mine, other], wrong)
        assert str(caught.value) == f"names must be 2 different words, one for each result; got {wrong!r}"
    with pytest.raises(ProtocolError, match=r"expected at least one result; got none"):
        name_results([])
    said = "result 0 must be an EvaluationResult, from kgeval.evaluate or kgeval.load_result; got DataFrame"
    with pytest.raises(ProtocolError, match=said):
        name_results([pd.DataFrame()])


def test_flat_by_hand():
    """One triple, its rivals above: object rank 2 of 3, subject rank 3 of 3; no other key, and none for a NaN."""
    dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    made = kgeval.evaluate(
        lambda s, p, o: np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 0.0], [0.0, 4.0, 0.0]])[s, o], dataset, progress=False
    )
    numbers = flat(made, "mr,hits@2,z(hits@3)", prefix="run-1")
    wanted = {}
    for setting in ("filtered", "raw"):
        for side, n, rank, hits in (("both", 2, 2.5, 0.5), ("subject", 1, 3.0, 0.0), ("object", 1, 2.0, 1.0)):
            start = f"run-1/{setting}/{side}"
            wanted |= {f"{start}/n": n, f"{start}/realistic/mr": rank, f"{start}/realistic/hits_at_2": hits}
    assert math.isnan(made["z(hits@3)"])
    assert numbers == wanted
    assert next(iter(numbers)) == "run-1/filtered/both/n"
    assert {type(value) for value in numbers.values()} == {float}


def test_flat_keys_suit_trackers(result):
    asked = ["hits@10", "amri", "z(hits@3)", "query.ndcg(gain=exponential)@10", "query.micro.recall@5", "median_rank"]
    for prefix in ("a/b", "", "a/")[: size(1, 3)]:
        numbers = flat(result, asked, prefix=prefix, ties="optimistic")
        assert all(re.fullmatch(r"[A-Za-z0-9_./-]+", key) for key in numbers)
        start = prefix.rstrip("/") + ("/" if prefix else "")
        for word, key in {
            "hits_at_10": "hits@10",
            "amri": "amri",
            "z_hits_at_3": "z(hits@3)",
            "query.ndcg_gain_exponential_at_10": "query.ndcg(gain=exponential)@10",
            "query.micro.recall_at_5": "query.micro.recall@5",
            "median_rank": "median_rank",
        }.items():
            assert numbers[f"{start}raw/object/optimistic/{word}"] == result[f"raw.object.optimistic.{key}"]
    for wrong in ("a b", "hits@1", "é"):
        with pytest.raises(MetricError) as caught:
            flat(result, prefix=wrong)
        assert str(caught.value) == f"prefix must contain only letters, digits and _ . / -; got {wrong!r}"


def test_one_side(tmp_path):
    """A result of one side has no row for both."""
    made = evaluated(["a", "b", "c"], protocol=Protocol(sides="object"))
    assert tidy(made, "mr", confidence=None)["side"].tolist() == ["object", "object"]
    assert list(flat(made, "mr")) == [
        f"{setting}/object/{last}" for setting in ("filtered", "raw") for last in ("n", "realistic/mr")
    ]


def test_every_text_with_a_comma_is_quoted():
    """Intervals of pandas.cut hold commas and are no strings."""
    frame = pd.DataFrame({"bin": pd.cut(pd.Series([1, 5]), [0, 2, 9]), "x": [1, 2]})
    assert format_csv(frame) == 'bin,x\r\n"(0, 2]",1\r\n"(2, 9]",2\r\n'
