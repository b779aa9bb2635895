"""`kgeval inspect`: what a file or folder holds, and what it is taken for, with nothing in it run."""

import builtins
import json
import struct
import zipfile

import numpy as np
import pytest
from torch_zip import Fake, Global, write_torch

import kgeval as kg
from kgeval.cli import main
from kgeval.formats.datasets import dataset_formats
from kgeval.formats.models import model_formats
from kgeval.formats.predictions import prediction_formats


def rows(inspection):
    """The table of tensors as a list of tuples."""
    return list(inspection.tensors.itertuples(index=False, name=None))


def test_a_torch_file_is_listed_without_an_import(tmp_path, monkeypatch):
    """Tensors, settings and the names of classes; importing anything that is not there yet would fail."""
    content = {
        "epoch": 7,
        "config": Fake("secret_tool.Config", state={"lr": 0.5, "_cache": 1}),
        "state": {"a.weight": np.zeros((3, 2), dtype=np.float32), "b": np.zeros(5)},
        "run": Fake("os.system", arguments=("touch pwned",), is_called=True),
    }
    file = tmp_path / "model.pt"
    write_torch(file, content)
    kg.inspect(file)  # loads the modules of the readers
    real = builtins.__import__

    def no_import(name, *arguments, **options):
        assert name.split(".")[0] not in ("os", "posix", "secret_tool", "torch"), name
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_import)
    monkeypatch.chdir(tmp_path)
    inspection = kg.inspect(file)
    monkeypatch.undo()
    assert rows(inspection) == [
        ("model.pt", "state.a.weight", "3 x 2", "float32"),
        ("model.pt", "state.b", "5", "float64"),
    ]
    assert inspection.configuration["model.pt: epoch"] == 7
    assert inspection.configuration["model.pt: config"] == "an object of secret_tool.Config"
    assert inspection.configuration["model.pt: config.lr"] == 0.5
    assert inspection.configuration["model.pt: run"] == "an object of os.system"
    assert not any("_cache" in name for name in inspection.configuration)
    assert [child.name for child in tmp_path.iterdir()] == ["model.pt"]


def test_a_folder_lists_each_file_and_the_faults_of_damaged_ones(tmp_path):
    """A damaged file does not hide the others."""
    np.save(tmp_path / "rows.npy", np.zeros((4, 3), dtype=np.float32))
    np.savez(tmp_path / "model.npz", model="transe", norm=1, entities=np.zeros((4, 3)), relations=np.zeros((2, 3)))
    (tmp_path / "config.json").write_text('{"dim": 3, "nested": {"lr": 0.1, "sizes": [1, 2]}}')
    (tmp_path / "broken.json").write_text("{")
    inspection = kg.inspect(tmp_path)
    assert rows(inspection) == [
        ("model.npz", "entities", "4 x 3", "float64"),
        ("model.npz", "relations", "2 x 3", "float64"),
        ("rows.npy", "", "4 x 3", "float32"),
    ]
    assert inspection.configuration == {
        "config.json: dim": 3,
        "config.json: nested.lr": 0.1,
        "config.json: nested.sizes": [1, 2],
        "model.npz: model": "transe",
        "model.npz: norm": 1,
    }
    assert len(inspection.faults) == 1
    assert f"{tmp_path / 'broken.json'}: not JSON" in inspection.faults[0]
    assert inspection.takes_for == (
        "a model, read as an .npz file of arrays (npz): transe, 4 entities, 2 relations, norm 1, normalise is not "
        "given (--normalise)",
    )


def test_the_header_of_a_safetensors_file_is_read_without_the_library(tmp_path):
    """Eight bytes with the length of the header, then JSON; a header that does not fit is a fault."""
    header = json.dumps(
        {"__metadata__": {"model": "distmult"}, "e": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}
    ).encode()
    file = tmp_path / "a.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(12))
    inspection = kg.inspect(file)
    assert rows(inspection) == [("a.safetensors", "e", "2 x 3", "BF16")]
    assert inspection.configuration == {"a.safetensors: model": "distmult"}
    file.write_bytes(struct.pack("<Q", 1 << 60) + header)
    assert "its header would have 1,152,921,504,606,846,976 bytes" in kg.inspect(file).faults[0]


def test_a_dataset_is_named_with_its_counts(root, capsys):
    """The command prints what the function returns."""
    assert main(["inspect", str(root / "data" / "countries")]) == 0
    text = capsys.readouterr().out
    assert (
        "a dataset, read as a folder of tables of triples, or one table (tab): 901 entities, 13 relations; train 3,239"
        in text
    )
    assert "a model, read as an .npz file of arrays (npz): complex, 901 entities, 13 relations" in text


def test_a_dataset_that_cannot_be_read_is_described_by_the_reason(tmp_path, capsys):
    """`inspect` lists the files nevertheless."""
    (tmp_path / "test.txt").write_text("s\tp\to\na\tr\tb\n")
    assert main(["inspect", str(tmp_path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(tab): reading fails: " in text
    assert "test.txt, line 1: looks like a header (s, p, o); use header=True (--header)" in text


def test_control_characters_are_escaped_in_a_terminal(tmp_path, capsys):
    """The name of a tensor may hold an escape sequence."""
    file = tmp_path / "a.pt"
    write_torch(file, {"\x1b[31mred": np.zeros(2), "kind": Global("evil\x1b", "Name")})
    assert main(["inspect", str(file)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_an_unknown_file_is_said_to_be_unknown(tmp_path):
    """No format is invented, and a missing path is an error."""
    (tmp_path / "notes.md").write_text("hello")
    assert "no format recognises it" in str(kg.inspect(tmp_path / "notes.md"))
    with pytest.raises(kg.DataError, match="no such file"):
        kg.inspect(tmp_path / "nothing.pt")


def test_a_result_of_kgeval(tmp_path):
    """A saved result is neither model nor dataset; the command that reads it is named."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    kg.evaluate(lambda s, p, o: o * 1.0, dataset).save(tmp_path / "a.kgeval")
    [said] = kg.inspect(tmp_path / "a.kgeval").takes_for
    assert said == f"a result of kgeval; kgeval show {tmp_path / 'a.kgeval'} prints it"


def test_damaged_headers_are_faults(tmp_path):
    """Headers on which numpy and json raise errors of other types than ValueError."""
    header = b"{'descr': (((((("
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    (tmp_path / "b.json").write_bytes(b"[" * 100_000)
    deep = b"[" * 100_000
    (tmp_path / "c.safetensors").write_bytes(struct.pack("<Q", len(deep)) + deep)
    faults = kg.inspect(tmp_path).faults
    reasons = ("damaged, or not an .npy file", "b.json: not JSON", "its header is no list of tensors")
    assert len(faults) == len(reasons)
    assert all(reason in fault for fault, reason in zip(faults, reasons)), faults


def test_one_table_an_archive_and_a_name_are_told(tmp_path, monkeypatch):
    """What `evaluate` reads, `inspect` names: a single file, an archive, a registered dataset."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    assert (
        kg.inspect("facts.tsv").takes_for[0].startswith("a dataset: 3 entities, 1 relation; train 2; one file, so all")
    )
    with zipfile.ZipFile("data.zip", "w") as archive:
        archive.writestr("train.txt", "a\tr\tb\n")
        archive.writestr("test.txt", "b\tr\ta\n")
    assert kg.inspect("data.zip").takes_for == ("a dataset: 2 entities, 1 relation; train 1, test 1",)
    with pytest.raises(
        kg.DataError,
        match="is the name of a registered dataset, not of a file here; kgeval inspect --datasets fb15k-237 describes",
    ):
        kg.inspect("fb15k-237")


def test_tensors_in_lists_and_folders_in_folders_are_listed(tmp_path):
    """LibKGE keeps its state dict in a pair; PyKEEN keeps its ids in a folder of its own."""
    (tmp_path / "training_triples").mkdir()
    write_torch(tmp_path / "model.pt", {"model": [{"rows.weight": np.zeros((3, 2))}, {}]})
    inspection = kg.inspect(tmp_path)
    assert rows(inspection) == [("model.pt", "model.0.rows.weight", "3 x 2", "float64")]
    assert inspection.files[-1] == "training_triples/"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "ranks.tsv",
            "s\tp\to\tside\trank\na\tr\tb\ttail\t2\n",
            "predictions, read as a table of ranks (s, p, o, rank) (ranks): 1 rank; kgeval evaluate --predictions "
            "{path} (needs no dataset)",
        ),
        (
            "lists.jsonl",
            '{"query": ["a", "r", null], "predictions": ["b"], "gold": "b"}\n',
            "predictions, read as kgeval's own JSON lines (query, predictions, gold) (plain): ranked answers; kgeval "
            "evaluate DATASET --predictions {path}",
        ),
        (
            "negatives.txt",
            "a\tr\tb\na\tr\tc\na\tr\td\na\tr\td\na\tr\tb\na\tr\tc\ne\tr\tb\ne\tr\ta\ne\tr\td\n",
            "lists of negatives, 3 blocks of 3 lines (a positive, then 2 negatives with another object); kgeval "
            "evaluate DATASET --candidates {path} ranks among them",
        ),
        (
            "scores.tsv",
            "s\tp\to\tscore\na\tr\tb\t1\n",
            "a table of scored triples; kgeval evaluate DATASET --scores {path}",
        ),
        ("scores.tsv", "a\tr\tb\t0.5\n", "a table of scored triples; kgeval evaluate DATASET --scores {path}"),
    ],
)
def test_files_that_are_no_dataset_and_no_model(tmp_path, name, text, said):
    """H23: what ``--predictions``, ``--candidates`` and ``--scores`` read is not called unread."""
    path = tmp_path / name
    path.write_text(text)
    assert kg.inspect(path).takes_for[0] == said.format(path=path)


def test_negatives_of_ogb_are_recognised(tmp_path):
    path = tmp_path / "split.npz"
    ids = np.zeros(2, dtype=np.int64)
    np.savez(path, head=ids, relation=ids, tail=ids, tail_neg=np.ones((2, 3), dtype=np.int64))
    said = "lists of negatives (a split dictionary of OGB); kgeval evaluate DATASET --candidates {} ranks among them"
    assert said.format(path) in kg.inspect(path).takes_for


@pytest.mark.thorough
def test_real_files_are_taken_for_what_the_commands_read(shared):
    """Each file and folder of the real formats: a reader that takes it is named, and what is named can be read."""
    root, met = shared / "data" / "formats", []
    paths = [path for path in sorted(root.rglob("*")) if path.name not in ("README.md", "SOURCE.txt")]
    for path in paths:
        said = " / ".join(kg.inspect(path).takes_for)
        for word, read in (
            ("ranks; kgeval evaluate --predictions", kg.read_predictions),
            ("a dataset", kg.read_dataset),
        ):
            try:
                read(path)
                is_read = True
            except kg.DataError:
                is_read = False
            starts = word in said and f"{word}: reading fails" not in said and "reading fails" not in said
            assert starts == is_read, (path, word, said)
            met += [word] * is_read
        assert ("lists of negatives" in said) == path.name.startswith("ranking_"), path
    assert met.count("ranks; kgeval evaluate --predictions") == 3
    assert met.count("a dataset") > 20


def test_inspect_lists_the_formats(capsys):
    """Every format of datasets, models and predictions; a question at a time."""
    assert main(["inspect", "--formats", "--to", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["formats"]
    for of, formats in (
        ("dataset", dataset_formats()),
        ("model", model_formats()),
        ("predictions", prediction_formats()),
    ):
        assert {row["name"]: row["about"] for row in rows if row["of"] == of} == {
            name: form.about for name, form in formats.items()
        }
    assert main(["inspect", "--formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[row["of"], row["name"]] for row in rows]
    assert main(["inspect", "--formats", "--datasets"]) == 2
    assert capsys.readouterr().err == ("kgeval: PATH, --datasets and --formats are three questions; ask one of them\n")
    assert main(["inspect"]) == 2
    assert capsys.readouterr().err.startswith("kgeval: PATH is missing: a checkpoint, a dataset file or a folder;")
