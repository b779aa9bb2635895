"""kgeval board: what it writes, prints and refuses."""

import numpy as np
import pytest

import kgeval as kg
from kgeval.benchmarks import write_card
from kgeval.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved result, the card of another run, and a file that is no card."""
    path = tmp_path_factory.mktemp("board")
    dataset = kg.Dataset.from_arrays(
        test=[[i, 0, (i + 1) % 6] for i in range(6)], n_entities=6, n_relations=1, name="x"
    )
    for name, step in (("near", 1), ("far", 3)):
        run = kg.evaluate(lambda s, p, o, step=step: -np.abs((o - s - step) % 6), dataset, progress=False)
        if name == "near":
            run.save(path / "near.kgeval")
        else:
            write_card(run, path / "far.json")
    (path / "bad.json").write_text("[]")
    return path


def test_it_writes_the_page_and_says_what_it_read(capsys, folder):
    assert main(["board", str(folder), "-o", str(folder / "board.html")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("2 runs of 2 models on 1 dataset, in 1 table; 1 file could not be read")
    assert "not read: bad.json: " in text
    assert f"wrote {folder / 'board.html'}, 0." in text
    page = (folder / "board.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert 'title="far.json"' in page


def test_it_does_not_replace_a_file_unasked(capsys, folder):
    target = folder / "mine.html"
    target.write_text("mine")
    assert main(["board", str(folder), "-o", str(target)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["board", str(folder / "far.json"), "-o", str(target), "--overwrite", "--title", "Mine"]) == 0
    assert "<title>Mine</title>" in target.read_text(encoding="utf-8")


def test_an_empty_folder_is_an_error(capsys, tmp_path):
    assert main(["board", str(tmp_path), "-o", str(tmp_path / "board.html")]) == 2
    assert "a board needs cards (.json, written by kgeval card) or results (.kgeval)" in capsys.readouterr().err
    assert not (tmp_path / "board.html").exists()
