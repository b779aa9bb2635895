"""kgeval card, also with --check: what they print and write, exit codes, and what they refuse."""

import json

import numpy as np
import pytest

import kgeval as kg
from kgeval.benchmarks import Card, named, read_card
from kgeval.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two saved runs on a small graph: one has a name and a seed, the other has not."""
    folder = tmp_path_factory.mktemp("cards")
    rng = np.random.default_rng(5)
    triples = np.unique(rng.integers(0, [9, 2, 9], (30, 3)), axis=0)
    dataset = kg.Dataset.from_arrays(train=triples[8:], test=triples[:8], n_entities=9, n_relations=2, name="nine")
    protocol = kg.Protocol(sides="object")
    run = kg.evaluate(lambda s, p, o: -np.abs((o - s - 1) % 9).astype(float), dataset, protocol, progress=False)
    named(run, "Near", seed=3).save(folder / "near.kgeval")
    far = kg.evaluate(lambda s, p, o: -np.abs((o - s - 4) % 9) - 0.5 * p, dataset, protocol, progress=False)
    far.save(folder / "far.kgeval")
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("near.kgeval", "far.kgeval"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())


def run(capsys, *arguments):
    """Run a command; return its exit code and what it printed to both streams."""
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_a_card_is_printed_or_written(capsys, tmp_path):
    """The same text; a second time only with --overwrite; the run is never overwritten."""
    status, text, notes = run(capsys, "card", "near.kgeval")
    assert (status, notes) == (0, "")
    assert json.loads(text) == Card.of(kg.load_result("near.kgeval")).content
    status, said, _ = run(capsys, "card", "near.kgeval", "-o", "near.json")
    assert status == 0
    assert said.startswith("wrote near.json, ")
    assert (tmp_path / "near.json").read_text() == text
    assert run(capsys, "card", "near.kgeval", "-o", "near.json")[0] == 2
    assert run(capsys, "card", "near.kgeval", "-o", "near.json", "--overwrite", "--date", "2026-11-23")[0] == 0
    assert read_card("near.json").content["date"] == "2026-11-23"
    status, _, error = run(capsys, "card", "near.kgeval", "-o", "near.kgeval", "--overwrite")
    assert status == 2
    assert "near.kgeval is one of the results to read" in error


def test_a_run_without_a_name_is_noted(capsys):
    """With the way to name it."""
    _, text, notes = run(capsys, "card", "far.kgeval")
    assert json.loads(text)["model"]["name_from"] == "scorer"
    assert "far.kgeval does not contain the name of its model" in notes
    assert "kgeval evaluate --name MODEL --seed N" in notes


def test_several_runs_give_a_folder_of_cards(capsys, tmp_path):
    """Named like the results; the folder is made."""
    assert run(capsys, "card", "near.kgeval", "far.kgeval", "-o", "cards/all")[0] == 0
    assert sorted(path.name for path in (tmp_path / "cards" / "all").iterdir()) == ["far.json", "near.json"]
    assert read_card("cards/all/near.json").model == "Near"
    assert run(capsys, "card", "--check", "cards/all/far.json", "far.kgeval")[0] == 0
    assert run(capsys, "card", "near.kgeval", "-o", "cards")[1].startswith("wrote cards/near.json, ")


@pytest.mark.thorough
def test_cards_that_cannot_be_written_are_refused(capsys, tmp_path):
    """Several cards need a folder, each of them a name of its own; a card that is there stays."""
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "near.json").write_text("mine")
    wrong = [
        (["near.kgeval", "far.kgeval"], "2 results give 2 cards; give -o FOLDER"),
        (["near.kgeval", "far.kgeval", "-o", "far.kgeval"], "far.kgeval is a file; 2 results need a folder"),
        (["near.kgeval", "./near.kgeval", "-o", "two"], "two of the results would be written to two/near.json"),
        (["near.kgeval", "far.kgeval", "-o", "cards"], "exists; choose another name"),
    ]
    for arguments, message in wrong:
        status, _, error = run(capsys, "card", *arguments)
        assert status == 2
        assert message in error


def test_paragraph(capsys, tmp_path):
    """Of a run or of its card, which say the same; printed or written."""
    run(capsys, "card", "near.kgeval", "-o", "near.json")
    card = read_card("near.json")
    for path in ("near.kgeval", "near.json"):
        assert run(capsys, "card", path, "--paragraph")[1] == card.paragraph() + "\n"
        assert run(capsys, "card", path, "--paragraph", "--to", "latex")[1] == card.paragraph("latex") + "\n"
    run(capsys, "card", "near.json", "--paragraph", "-o", "text.md")
    assert (tmp_path / "text.md").read_text() == card.paragraph() + "\n"
    for arguments, message in (
        (["--to", "latex"], "--to is the form of the paragraph; give it with --paragraph"),
        (
            ["--date", "today"],
            "the date of a card must have the form YYYY-MM-DD and be a day of the calendar; got 'today'",
        ),
    ):
        status, _, error = run(capsys, "card", "near.kgeval", *arguments)
        assert status == 2
        assert message in error


def test_options_that_are_gone_say_why(capsys):
    with pytest.raises(SystemExit):
        main(["card", "near.kgeval", "--model-index"])
    assert "there is no --model-index any more: the JSON of a card has all its numbers" in capsys.readouterr().err


def test_verify_agrees_or_names_what_differs(capsys, tmp_path):
    """Exit code 0 with a line of what agrees; 1 with both values of each field; 2 for what is no card."""
    run(capsys, "card", "near.kgeval", "-o", "near.json")
    status, text, _ = run(capsys, "card", "--check", "near.json", "near.kgeval")
    assert status == 0
    assert text.split("\n")[:2] == ["near.json agrees with near.kgeval", ""]
    parts = (
        "counts, dataset, facts, format, hashes, intervals, metrics, model, notes, protocol, ties, unknown, versions"
    )
    assert " ".join(text.split()).endswith(f"equal: {parts}")
    raw = (tmp_path / "near.json").read_text()
    value = read_card("near.json").metrics["mrr"][0]
    digits = f'"value": {value}'
    tampered = digits[:-1] + ("1" if digits[-1] != "1" else "2")
    assert raw.count(digits) == 1
    (tmp_path / "near.json").write_text(raw.replace(digits, tampered))
    status, text, _ = run(capsys, "card", "--check", "near.json", "near.kgeval")
    assert status == 1
    assert text.startswith("near.json does not agree with near.kgeval: 1 field differs\n")
    assert f"\nmetrics/mrr/value: the card says {tampered.split()[1]}; the run says {value}\nequal: counts" in text
    status, text, _ = run(capsys, "card", "--check", "near.json", "far.kgeval")
    assert status == 1
    assert '\nmodel/name: the card says "Near"; the run says' in text
    (tmp_path / "near.json").write_text(raw[:100])
    status, text, error = run(capsys, "card", "--check", "near.json", "near.kgeval")
    assert (status, text) == (2, "")
    assert "near.json: not JSON" in error
    assert run(capsys, "card", "--check", "near.kgeval", "near.kgeval")[0] == 2


def test_labels_cannot_change_the_terminal(capsys):
    """Control characters of a name are escaped in what is printed."""
    named(kg.load_result("near.kgeval"), "a\x1b[31mb").save("red.kgeval")
    run(capsys, "card", "red.kgeval", "-o", "red.json")
    _, text, _ = run(capsys, "card", "--check", "red.json", "red.kgeval")
    assert "\x1b" not in text
    _, text, _ = run(capsys, "card", "red.kgeval", "--paragraph")
    assert "\x1b" not in text


def test_a_card_that_contradicts_itself_is_said_by_card_and_verify(capsys, tmp_path):
    content = json.loads(str(Card.of(kg.load_result("near.kgeval"))))
    content["metrics"]["mrr"] = {"value": 0.99, "low": 0.98, "high": 1.0}
    content["metrics"]["hits@1"] = {"value": 0.37, "low": 0.3, "high": 0.4}
    (tmp_path / "made.json").write_text(json.dumps(content))
    said = "MRR 0.9900000000 (at least 0.989999) exceeds "
    status, _, aside = run(capsys, "card", "made.json", "--paragraph")
    assert (status, aside.startswith("kgeval: caution: made.json: the card contradicts itself: ")) == (0, True)
    assert said in aside
    status, text, _ = run(capsys, "card", "--check", "made.json", "near.kgeval")
    assert status == 1
    assert f"the card contradicts itself: {said}" in " ".join(text.split())
    content["date"] = "2026-02-30"
    (tmp_path / "made.json").write_text(json.dumps(content))
    status, _, error = run(capsys, "card", "--check", "made.json", "near.kgeval")
    assert (status, error) == (
        2,
        'kgeval: made.json, date: expected a date, written YYYY-MM-DD, or null; got "2026-02-30"\n',
    )
