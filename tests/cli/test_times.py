"""Times and qualifiers on the command line: the numbers of loops for real datasets, and a folder made here."""

import json

import pytest

import kgeval as kg
from kgeval.cli import main


def metrics(capsys, *arguments):
    """The metrics of each row, such as both or raw both, that the command prints as JSON."""
    assert main(["evaluate", *map(str, arguments), "--to", "json", "--no-progress"]) == 0, capsys.readouterr().err
    rows = json.loads(capsys.readouterr().out)["metrics"]
    return {row["rows"]: row for row in rows}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_recency_on_yago_by_time_static_and_raw(shared, capsys):
    """The numbers of a loop of its own beside the data: MRR .8885, .9273 and .5910, from Python and from a command."""
    folder = shared / "data" / "formats" / "renet-yago"
    dataset = kg.read_dataset(folder)
    for key, wanted in (("time", 0.8885), ("none", 0.9273)):
        protocol = kg.Protocol(filter_by=() if key == "none" else key)
        result = kg.evaluate(kg.baselines.Recency(dataset), dataset, protocol, progress=False)
        found = metrics(capsys, folder, "--scorer", "recency", "--filter-by", key)
        for setting, values in (("filtered", (wanted, 0.9273)), ("raw", (0.5910, 0.8631))):
            row = found["both" if setting == "filtered" else "raw both"]
            assert row["n"] == len(result.table) == 40052
            for name, value in zip(("mrr", "hits@10"), values, strict=True):
                assert row[name] == result[f"{setting}.{name}"]
                assert round(result[f"{setting}.{name}"], 4) == value


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_frequency_on_wd50k_by_triples_and_by_qualifiers(shared, capsys):
    """MRR .1450 and .1164; the filter differs for 8,635 of 10,594 queries."""
    folder = shared / "data" / "formats" / "stare-wd50k_100"
    dataset, rivals = kg.read_dataset(folder), []
    for key, wanted in (("none", 0.1450), ("qualifiers", 0.1164)):
        protocol = kg.Protocol(filter_by=() if key == "none" else key)
        result = kg.evaluate(kg.baselines.Frequency(dataset), dataset, protocol, progress=False)
        rivals.append(result.table["rivals_filtered"].to_numpy())
        assert round(result["mrr"], 4) == wanted
        found = metrics(capsys, folder, "--scorer", "kgeval.baselines:Frequency", "--filter-by", key)
        assert found["both"]["mrr"] == result["mrr"]
    assert (int((rivals[0] != rivals[1]).sum()), len(rivals[0])) == (8635, 10594)


def test_a_table_of_scores_with_times(tmp_path, capsys, monkeypatch):
    """A file with a column time is matched and filtered by it, and the listing names the best rival at the time."""
    monkeypatch.chdir(tmp_path)
    facts = {
        "train": [("a", "r", "b", 9), ("c", "r", "d", 10)],
        "test": [("a", "r", "b", 10), ("a", "r", "c", 10), ("a", "r", "d", 9)],
    }
    scores = {("a", o, t): i % 4 + t / 20 for i, (o, t) in enumerate((o, t) for t in (9, 10) for o in "abcd")}
    (tmp_path / "graph").mkdir()
    for split, rows in facts.items():
        lines = ["\t".join(map(str, row)) for row in rows]
        (tmp_path / "graph" / f"{split}.txt").write_text("\n".join(["head\trelation\ttail\ttime", *lines, ""]))
    lines = [f"{s}\tr\t{o}\t{t}\t{score}" for (s, o, t), score in scores.items()]
    (tmp_path / "scores.tsv").write_text("\n".join(["head\trelation\ttail\ttime\tscore", *lines, ""]))
    options = ["graph", "--scores", "scores.tsv", "--sides", "object", "--header"]
    ranks = {}
    for key in ("time", "none"):
        found = []
        for s, p, o, t in facts["test"]:
            every = [row for part in facts.values() for row in part]
            known = {row[2] for row in every if row[:2] == (s, p) and (key == "none" or row[3] == t)}
            found.append(1 + sum(scores[s, e, t] > scores[s, o, t] for e in "abcd" if e not in known))
        ranks[key] = found
        assert metrics(capsys, *options, "--filter-by", key)["object"]["mr"] == sum(found) / 3
    assert ranks == {"time": [2, 2, 1], "none": [1, 1, 1]}
    assert main(["evaluate", *options, "--filter-by", "time"]) == 0
    listing = capsys.readouterr().out.split("rank  of")[1].split("\n\n")[0].split("\n")
    assert [line.split() for line in listing] == [
        ["score", "triple", "time"],
        ["2", "3", "1.500", "a", "r", "b", "10", "beaten", "by", "d", "3.500"],
        ["2", "3", "2.500", "a", "r", "c", "10", "beaten", "by", "d", "3.500"],
        ["1", "3", "3.450", "a", "r", "d", "9"],
    ]
    (tmp_path / "plain.tsv").write_text("s\tp\to\tscore\na\tr\tb\t0.5\n")
    assert main(["evaluate", "graph", "--scores", "plain.tsv", "--filter-by", "time", "--header"]) == 2
    assert "filter_by=('time',) needs the column 'time' in the table" in " ".join(capsys.readouterr().err.split())


def test_single_ranks_at_a_time(tmp_path, capsys, monkeypatch):
    """The worst ranks say their time; --given chooses which rank of a triple is explained, saved or scored anew."""
    monkeypatch.chdir(tmp_path)
    facts = {"train": [("c", "r", "d", 1)], "test": [("a", "r", "b", 2), ("a", "r", "b", 3), ("a", "r", "c", 3)]}
    (tmp_path / "graph").mkdir()
    for split, rows in facts.items():
        lines = ["\t".join(map(str, row)) for row in rows]
        (tmp_path / "graph" / f"{split}.txt").write_text("\n".join([*lines, ""]))
    (tmp_path / "scorers.py").write_text("def score(s, p, o, time):\n    return (o - 1) ** 2 * (5 - 2 * time)\n")
    options = ["graph", "--columns", "h,r,t,time", "--scorer", "scorers.py:score", "--filter-by", "time"]
    assert main(["evaluate", *options, "--sides", "object", "--out", "run.kgeval", "--no-progress"]) == 0
    capsys.readouterr()
    assert main(["show", "run.kgeval", "--worst", "9", "--to", "json"]) == 0
    # scores at 2: a 1, b 0, c 1, d 4; at 3: the negative of these, where a and b know each other's place
    worst = [(row["o"], row["time"], row["rank_filtered"]) for row in json.loads(capsys.readouterr().out)["worst"]]
    assert worst == [("b", 2, 4.0), ("c", 3, 1.5), ("b", 3, 1.0)]
    scored = ["--dataset", *options]
    for call in (["run.kgeval"], scored):
        for time, n_above in (("2", 3), ("3.0", 0)):
            assert main(["show", *call, "--explain", "a", "r", "b", "--given", f"time={time}", "--to", "json"]) == 0
            assert json.loads(capsys.readouterr().out)["object"]["n_above"] == n_above
        assert main(["show", *call, "--explain", "a", "r", "b"]) == 2
        assert "given={'time': ...} (--given time=...)" in " ".join(capsys.readouterr().err.split())
    for more, text in (
        (["--explain", "a", "r", "b", "--given", "time"], "--given needs COLUMN=VALUE, such as time=183; got 'time'"),
        (["--given", "time=2"], "--given needs --explain SUBJECT RELATION OBJECT"),
    ):
        assert main(["show", "run.kgeval", *more]) == 2
        assert text in " ".join(capsys.readouterr().err.split())
    assert main(["show", *scored, "--explain", "a", "r", "b", "--given", "tme=2"]) == 2
    assert "given must be one of 'time'" in " ".join(capsys.readouterr().err.split())
    for option, names in (("--filter-by", "none,time"), ("--filter", "train,none")):
        others = [] if option == "--filter-by" else ["--filter-by", "time"]
        call = ["evaluate", *options[:5], *others, option, names]
        assert main(call) == 2
        assert " ".join(capsys.readouterr().err.split()) == (
            f"kgeval: {option} {names}: none stands alone; give {option} none, or the names without it"
        )
