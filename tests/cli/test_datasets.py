"""`kgeval inspect --datasets`: the list of registered datasets, the details of one, and wrong names."""

import csv
import io
import json

import pytest

from kgeval.cli import main
from kgeval.formats.registered.entries import find_registered, registered_names


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cache that is empty, so that no dataset is downloaded."""
    monkeypatch.setenv("KGEVAL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def printed(capsys, *arguments):
    """The output of the command."""
    assert main(["inspect", "--datasets", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_list(capsys, home):
    """One line per dataset: name, checksum, how it is counted, licence, folder, counts."""
    lines = printed(capsys).splitlines()
    assert lines[0].split() == [
        "name", "verified", "counted", "licence", "folder", "entities", "relations", "train", "valid", "test",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[1:-2]] == registered_names()
    (line,) = [line for line in lines if line.startswith("WN18RR ")]
    licence = "MIT (licence of the repository)"
    assert " ".join(line.split()) == f"WN18RR SHA-256 rows {licence} not downloaded 40,943 11 86,835 3,034 3,134"
    (line,) = [line for line in lines if line.startswith("DB100K ")]
    assert (
        " ".join(line.split()) == "DB100K unverified pykeen not stated not downloaded 99,604 470 597,482 49,997 50,000"
    )
    assert lines[-1] == f"files are kept in {home} (KGEVAL_HOME); kgeval inspect --datasets NAME tells more"


def test_the_list_for_programs(capsys, home):
    """JSON and CSV have the same rows, numbers as numbers, and null for what no source states."""
    content = json.loads(printed(capsys, "--to", "json"))
    assert content["home"] == str(home)
    assert [record["name"] for record in content["datasets"]] == registered_names()
    of_name = {record["name"]: record for record in content["datasets"]}
    assert of_name["UMLS"] == {
        "name": "UMLS",
        "entities": 135,
        "relations": 46,
        "train": 5216,
        "valid": 652,
        "test": 661,
        "counted": "rows",
        "licence": "MIT (licence of the repository)",
        "verified": "SHA-256",
        "folder": "not downloaded",
        "about": "Unified Medical Language System",
    }
    assert (of_name["Hetionet"]["train"], of_name["Hetionet"]["test"]) == (2250197, None)
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "--to", "csv"))))
    assert [row["name"] for row in rows] == registered_names()
    assert [row["test"] for row in rows] == [
        "" if record["test"] is None else str(record["test"]) for record in content["datasets"]
    ]


def test_a_downloaded_dataset_shows_its_folder(capsys, home):
    """In the list and in the details, with the SHA-256 of the files."""
    folder = home / "datasets" / "nations"
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text("a\tr\tb\n")
    (line,) = [line for line in printed(capsys).splitlines() if line.startswith("Nations ")]
    assert str(folder) in line
    out = printed(capsys, "nations")
    assert f"\nfolder: {folder} (downloaded)\n" in out
    assert out.count("  SHA-256 of the file in the folder: ") == 3


def test_the_details_of_a_dataset(capsys, home):
    """URLs, checksums, what the counts count, where to put the archive, and who states these facts."""
    url = "https://ndownloader.figshare.com/files/66192203"
    checksums = {
        "train": "d507616dd7b9f6ddbacf83766efaa1dd",
        "valid": "0fd5e85f41e0ba3ef6c10093cbe2a435",
        "test": "7186374c5ca7075d268ccf316927041d",
        "valid_negatives": "381300fbd297df9db2fd05bb6cfc1f2d",
        "test_negatives": "2dc6755e9cc54145e782480c5bb2ef44",
    }
    assert printed(capsys, "CODEX_M") == (
        "CoDEx-M: from Wikidata and Wikipedia, medium\n"
        "counts: entities 17,050, relations 51, train 185,584, valid 10,310, test 10,311 (as PyKEEN counts: labels of "
        "train, each triple once, valid and test without triples of unseen labels)\n"
        "licence: MIT (licence of the repository)\n"
        "verified: MD5\n"
        "further names: codex-medium\n"
        f"folder: {home}/datasets/codex-m (not downloaded)\n"
        "read with: format='tab', header=False, columns='hrt'\n"
        "source of url: AmpliGraph 2.2.0, ampligraph/datasets/datasets.py\n"
        "source of hash: MD5: AmpliGraph 2.2.0, ampligraph/datasets/datasets.py\n"
        "source of counts: PyKEEN 1.11.1, pykeen/datasets/codex.py\n"
        "source of licence: LICENSE of github.com/tsafavi/codex\n"
        "\n"
        + "".join(
            f"file: {name}.txt (member codex/{name}.txt in codex.zip)\n"
            f"  url: {url}\n"
            f"  stated checksum: md5:{checksum}\n"
            "\n"
            for name, checksum in checksums.items()
        )
        + f"without a network, put these files into the folder {home}/datasets/codex-m: codex.zip from {url}. kgeval "
        "then reads CoDEx-M from this folder\n"
    )


def test_the_details_for_programs(capsys):
    """JSON has everything; CSV has the files."""
    content = json.loads(printed(capsys, "fb15k-237", "--to", "json"))
    entry = find_registered("fb15k-237")
    assert (content["name"], content["counts"]) == ("FB15k-237", dict(entry.counts))
    assert [file["hash"] for file in content["files"]] == [file.hash for file in entry.files]
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "fb15k-237", "--to", "csv"))))
    assert [(row["file"], row["url"]) for row in rows] == [(file.path, file.url) for file in entry.files]


def test_a_wrong_name_is_an_error(capsys):
    """With the nearest name."""
    assert main(["inspect", "--datasets", "fb15k-273"]) == 2
    assert capsys.readouterr().err == (
        "kgeval: no registered dataset is named 'fb15k-273'; did you mean 'FB15k-237'? (kgeval inspect --datasets "
        "lists all names)\n"
    )
