"""`read_candidates`: blocks of a positive and its negatives, as GraIL and BERTRL write them."""

import numpy as np
import pytest

import kgeval as kg
from kgeval.cli import main

TEST = [("a", "r", "b"), ("c", "r", "d"), ("a", "r", "b")]
TAILS = ["a r b", "a r c", "a r d", "c r d", "c r a", "c r b", "a r b", "a r e", "a r e"]
HEADS = ["a r b", "c r b", "d r b", "c r d", "e r d", "b r d", "a r b", "e r b", "d r b"]


def write(path, lines):
    path.write_text("".join("\t".join(line.split()) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    """A dataset in a folder, and files of blocks beside it; their names say the wrong side, as those of GraIL do."""
    write(tmp_path / "train.txt", ["a r e", "b r c"])
    write(tmp_path / "test.txt", [" ".join(t) for t in TEST])
    write(tmp_path / "ranking_head.txt", TAILS)
    write(tmp_path / "ranking_tail.txt", HEADS)
    return tmp_path


def listed(candidates, dataset):
    """The labels of each list, by side."""
    labels = np.array(dataset.entities.labels)
    return {
        side: [labels[part].tolist() for part in np.split(lists.values, lists.offsets[1:-1])]
        for side, lists in candidates.lists.items()
    }


def test_sides_come_from_the_lines_not_from_the_names(folder):
    dataset = kg.read_dataset(folder)
    found = kg.read_candidates([folder / "ranking_head.txt", folder / "ranking_tail.txt"], dataset)
    assert listed(found, dataset) == {
        "subject": [["c", "d"], ["e", "b"], ["e", "d"]],
        "object": [["c", "d"], ["a", "b"], ["e", "e"]],
    }


def test_blocks_in_another_order_belong_to_their_triple(folder):
    """The two blocks of the repeated triple keep their order."""
    dataset = kg.read_dataset(folder)
    moved = write(folder / "moved.txt", TAILS[3:6] + TAILS[:3] + TAILS[6:])
    assert kg.read_candidates(moved, dataset) == kg.read_candidates(folder / "ranking_head.txt", dataset)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            TAILS[:-1],
            "8 lines cannot be divided into equal blocks (a positive, then its negatives) for the 3 triples of test",
        ),
        (
            [*TAILS[:4], "a r d", *TAILS[5:]],
            "line 5: expected a negative of ('c', 'r', 'd') (line 4) with another object, as in the lines before; "
            "found ('a', 'r', 'd')",
        ),
        (
            [*TAILS[:3], "c r e", *TAILS[4:]],
            "line 4: expected a triple of test as the first line of a block of 3 lines; found ('c', 'r', 'e')",
        ),
        ([*TAILS[:2], "a r z", *TAILS[3:]], "line 3: the entity 'z' is not in 'data'"),
    ],
)
@pytest.mark.light(2)
def test_faults_name_file_and_line(tmp_path, lines, message):
    dataset = kg.read_dataset(write_dataset(tmp_path))
    path = write(tmp_path / "blocks.txt", lines)
    with pytest.raises(kg.DataError) as caught:
        kg.read_candidates(path, dataset)
    separator = ", " if message.startswith("line") else ": "
    assert str(caught.value) == f"{path}{separator}{message}"


def write_dataset(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "train.txt", ["a r e", "b r c"])
    write(folder / "test.txt", [" ".join(t) for t in TEST])
    return folder


def test_two_files_of_one_side(folder):
    dataset = kg.read_dataset(folder)
    message = "this file and an earlier one both have negatives for the object; give one per side"
    with pytest.raises(kg.DataError, match=message):
        kg.read_candidates([folder / "ranking_head.txt"] * 2, dataset)


def test_command_line(folder, monkeypatch, capsys):
    """b and d are answers; (s, r, o) scores the place of o in the alphabet: ranks 3, 1 and 3 (e twice)."""
    monkeypatch.chdir(folder)
    (folder / "scorer.py").write_text("def score(s, p, o):\n    return o\n")
    dataset = kg.read_dataset(".")
    order = {label: i for i, label in enumerate(dataset.entities.labels)}
    wanted = []
    for block in (TAILS[:3], TAILS[3:6], TAILS[6:]):
        own, *others = (order[line.split()[2]] for line in block)
        wanted.append(1 + sum(x > own for x in others))
    call = ["evaluate", ".", "--scorer", "scorer.py:score", "--candidates", "ranking_head.txt", "--filter", "none"]
    assert main([*call, "--metrics", "mr", "--to", "csv"]) == 0
    captured = capsys.readouterr()
    row = next(line for line in captured.out.splitlines() if line.startswith("object,"))
    assert float(row.split(",")[2]) == pytest.approx(sum(wanted) / 3)
    assert "1 of 6 listed negatives repeat another negative of the same list" in captured.err


def test_header(folder, capsys):
    """`header=True` skips the first line; on the command line known names say it, with or without one in train."""
    dataset = kg.read_dataset(folder)
    plain = kg.read_candidates(folder / "ranking_head.txt", dataset)
    (folder / "scorer.py").write_text("def score(s, p, o):\n    return o\n")
    call = ["evaluate", str(folder), "--scorer", f"{folder}/scorer.py:score", "--to", "csv", "--candidates"]
    assert main([*call, str(folder / "ranking_head.txt")]) == 0
    wanted = capsys.readouterr().out
    named = write(folder / "ranking_named.txt", ["head relation tail", *TAILS])
    assert kg.read_candidates(named, dataset, header=True) == plain
    with pytest.raises(kg.DataError, match=r"looks like a header \(head, relation, tail\); use header=True"):
        kg.read_candidates(named, dataset)
    assert main([*call, str(named)]) == 0
    assert capsys.readouterr().out == wanted
    write(named, ["head relation tail", *TAILS[:4], "a r d", *TAILS[5:]])
    with pytest.raises(kg.DataError) as caught:
        kg.read_candidates(named, dataset, header=True)
    assert str(caught.value) == (
        f"{named}, line 6: expected a negative of ('c', 'r', 'd') (line 5) with another object, as in the lines "
        "before; found ('a', 'r', 'd')"
    )


SCORES = {
    "by id": lambda s, p, o: (7 * s + 13 * o + p) % 101,
    "many ties": lambda s, p, o: (s * o + p) % 3,
    "real": lambda s, p, o: np.sin(s + 2.0 * o + p),
}


@pytest.mark.parametrize("name", SCORES)
def test_bertrl(shared, name):
    """BERTRL's NELL-995 file of both sides: each list equals a loop over its block of 50 lines, ties included."""
    folder = shared / "data" / "formats" / "bertrl-nell_ind"
    dataset = kg.read_dataset(folder)
    files = [folder / f"ranking_{part}.txt" for part in ("head", "tail")]
    result = kg.evaluate(SCORES[name], dataset, kg.Protocol(candidates=kg.read_candidates(files, dataset)))
    entity = {label: i for i, label in enumerate(dataset.entities.labels)}
    relation = {label: i for i, label in enumerate(dataset.relations.labels)}
    known = {t for split in dataset.splits for t in map(tuple, dataset[split].array.tolist())}
    for side, path in (("object", files[0]), ("subject", files[1])):
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        triples = [(entity[s], relation[p], entity[o]) for s, p, o in lines]
        rows = {}
        for start in range(0, len(triples), 50):
            positive, *negatives = triples[start : start + 50]
            negatives = [t for t in negatives if t != positive]
            own = SCORES[name](*positive)
            counts = []
            for kept in (negatives, [t for t in negatives if t not in known]):
                scores = [SCORES[name](*t) for t in kept]
                counts += [sum(x > own for x in scores), sum(x == own for x in scores), len(kept)]
            rows.setdefault(positive, []).append(counts)
        table = result.table[result.table["side"] == side]
        assert len(table) == len(triples) // 50 == 476
        found = {}
        for row in table.itertuples():
            counts = [getattr(row, f"{x}_{y}") for y in ("raw", "filtered") for x in ("better", "tied", "rivals")]
            found.setdefault((row.s, row.p, row.o), []).append(counts)
        assert found == rows
