"""The options that say how a dataset is read, on the command line: the numbers of the plain folder come out."""

import csv
import json
import zipfile

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.cli import main

FACTS = [(f"e{i % 9}", f"r{i % 2}", f"e{(2 * i + 1) % 9}") for i in range(60)]
PARTS = {"train": FACTS[:12], "valid": FACTS[12:15], "test": FACTS[15:18]}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """A folder of tab-separated text, and a scorer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").mkdir()
    for split, facts in PARTS.items():
        (tmp_path / "plain" / f"{split}.txt").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    (tmp_path / "scorers.py").write_text(
        "import numpy as np\n\ndef waves(s, p, o):\n    return np.sin(s + 3 * p + 7 * o)\n"
    )


def evaluated(capsys, *arguments):
    """The metrics that the command prints as JSON."""
    call = ["evaluate", *arguments, "--scorer", "scorers.py:waves", "--to", "json", "--no-progress"]
    assert main(call) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    """The line of the error."""
    assert main(["evaluate", *arguments, "--scorer", "scorers.py:waves", "--no-progress"]) == 2
    return capsys.readouterr().err.removeprefix("kgeval: ").rstrip("\n")


def table(folder, suffix, sep, head=(), order=(0, 1, 2), more=()):
    """Write the splits with csv.writer."""
    folder.mkdir()
    for split, facts in PARTS.items():
        with open(folder / f"{split}{suffix}", "w", newline="") as stream:
            writer = csv.writer(stream, delimiter=sep)
            writer.writerows([head] if head else [])
            writer.writerows([[*(fact[i] for i in order), *more] for fact in facts])


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ({"suffix": ".csv", "sep": ","}, []),
        ({"suffix": ".csv", "sep": ";"}, ["--sep", ";"]),
        ({"suffix": ".txt", "sep": " "}, ["--sep", "whitespace"]),
        ({"suffix": ".txt", "sep": ",", "order": (0, 2, 1)}, ["--sep", "comma", "--columns", "htr"]),
        ({"suffix": ".csv", "sep": ",", "head": ("head", "relation", "tail")}, ["--header"]),
        (
            {"suffix": ".csv", "sep": ",", "head": ("from", "to", "rel"), "order": (0, 2, 1)},
            ["--columns", "from,rel,to"],
        ),
        ({"suffix": ".txt", "sep": "\t", "more": (7,)}, ["--columns", "h,r,t,time", "--filter-by", "none"]),
        ({"suffix": ".tsv", "sep": "\t"}, ["--dataset-format", "tab"]),
    ],
    ids=str,
)
@pytest.mark.light(1)
def test_tables_in_other_forms(tmp_path, capsys, form, options):
    """One command for each; the metrics of the tab-separated folder."""
    wanted = evaluated(capsys, "plain")
    table(tmp_path / "other", **form)
    found = evaluated(capsys, "other", *options)
    assert found["metrics"] == wanted["metrics"]


def test_archives(capsys):
    """A zip file."""
    wanted = evaluated(capsys, "plain")
    with zipfile.ZipFile("graph.zip", "w") as archive:
        for split in PARTS:
            archive.write(f"plain/{split}.txt")
    assert evaluated(capsys, "graph.zip")["metrics"] == wanted["metrics"]


@pytest.mark.thorough
def test_other_names(tmp_path, capsys):
    """Files of other names by --split-files."""
    wanted = evaluated(capsys, "plain")
    table(tmp_path / "other", ".csv", ",")
    for split in PARTS:
        (tmp_path / "other" / f"{split}.csv").rename(tmp_path / "other" / f"my_{split}.csv")
    splits = ",".join(f"{split}=my_{split}.csv" for split in PARTS)
    assert evaluated(capsys, "other", "--split-files", splits)["metrics"] == wanted["metrics"]


def test_breaking_down_by_a_further_column(tmp_path, capsys):
    """Without more ado; a name that is taken gets a prefix; an unknown name is an error."""
    table(tmp_path / "timed", ".txt", "\t", more=(2010, 0.5))
    options = ["timed", "--columns", "h,r,t,time,score"]
    assert "has a column of time, 'time': which known answers does the filter remove?" in refused(capsys, *options)
    assert evaluated(capsys, *options, "--filter-by", "time")["protocol"]["filter_by"] == ["time"]
    options += ["--filter-by", "none"]
    (row,) = evaluated(capsys, *options, "--by", "time")["by"]
    assert (row["time"], row["n"]) == ("2010", 6)
    (row,) = evaluated(capsys, *options, "--by", "dataset.score")["by"]
    assert row["dataset.score"] == "0.5"
    assert refused(capsys, *options, "--by", "tme").startswith("--by must be one of ")


def test_one_file_and_its_split(tmp_path, capsys):
    """The shares by place or by name; the result is that of Dataset.split; without them the option is named."""
    (tmp_path / "all.csv").write_text("".join(",".join(fact) + "\n" for fact in FACTS))
    assert refused(capsys, "all.csv") == (
        "all.csv: one file, so there is no split test; --split-fractions .8,.1,.1 divides it into train, valid and "
        "test, and --splits train ranks all its triples. If other files hold the other splits, give their folder"
    )
    cases = (
        (["--split-fractions", ".6,.2,.2"], {"train": 0.6, "valid": 0.2, "test": 0.2}, {}),
        (
            ["--split-fractions", "train=.7,test=.3", "--split-seed", "4"],
            {"train": 0.7, "test": 0.3},
            {"split_seed": 4},
        ),
        (
            ["--split-fractions", ".7,.1,.2", "--split-inverse-free"],
            {"train": 0.7, "valid": 0.1, "test": 0.2},
            {"inverse_free": True},
        ),
    )
    for options, fractions, settings in cases[: size(2, 3)]:
        dataset = kg.read_dataset("all.csv").split(fractions, **settings)
        result = kg.evaluate(lambda s, p, o: np.sin(s + 3 * p + 7 * o), dataset, progress=False)
        found = evaluated(capsys, "all.csv", *options)
        assert dataset.notes[-1] in str(found)
        (row,) = [row for row in found["metrics"] if row["rows"] == "both"]
        assert row["mrr"] == result["mrr"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--split-seed", "1"], "--split-seed needs --split-fractions, such as --split-fractions .8,.1,.1"),
        (["--split-inverse-free"], "--split-inverse-free needs --split-fractions"),
        (["--split-fractions", ".8,.2"], "--split-fractions expects the shares of train, valid and test, as in .8,.1,"),
        (["--split-fractions", "a,b,c"], "--split-fractions expects the shares of train, valid and test"),
        (["--split-fractions", "train=.8,train=.2"], "--split-fractions expects the shares of train, valid and test"),
        (["--split-fractions", ".8,.1,.2"], "dataset 'plain' already has the splits train, valid, test; "),
        (["--sep", "ab"], "sep must be one ASCII character"),
        (["--columns", "from,to,rel"], "columns='from,to,rel': the relation cannot be in a column named 'to'"),
        (["--dataset-format", "tba"], "unknown format 'tba'; did you mean 'tab'?"),
    ],
)
@pytest.mark.light(3)
def test_options_that_are_not_valid(capsys, options, said):
    """One line that names the option."""
    assert refused(capsys, "plain", *options).startswith(said)


def test_negatives_of_csv_folders(tmp_path, capsys):
    """kgeval classify reads the negatives with the same separator."""
    table(tmp_path / "other", ".csv", ";")
    for split in ("valid", "test"):
        (tmp_path / "other" / f"{split}_negatives.csv").write_text("e1;r0;e1\ne2;r1;e2\n")
    call = ["classify", "other", "--sep", ";", "--scorer", "scorers.py:waves", "--to", "json"]
    assert main(call) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)
