"""The bundled data is what its READMEs say; read here by plain str methods, without kgeval, unless said otherwise."""

import hashlib
import re
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import kgeval

SPLITS = ("train", "valid", "test")


def triples(file):
    lines = file.read_bytes().decode("utf-8").split("\n")
    assert lines[-1] == ""
    rows = [tuple(line.split("\t")) for line in lines[:-1]]
    assert {len(row) for row in rows} == {3}
    return rows


@pytest.fixture(scope="module")
def countries(root):
    return root / "data" / "countries"


@pytest.fixture(scope="module")
def splits(countries):
    return {split: triples(countries / f"{split}.txt") for split in SPLITS}


@pytest.mark.parametrize("name", ["countries", "worked-example"])
def test_hashes_of_the_readme(root, name):
    """Every data file has its SHA-256 in the README, and that is its hash."""
    folder = root / "data" / name
    listed = dict(re.findall(r"^ *([0-9a-f]{64})  (\S+)$", (folder / "README.md").read_text(encoding="utf-8"), re.M))
    files = {file for file in folder.iterdir() if file.suffix in (".txt", ".tsv", ".npz")}
    assert {file: hash_ for hash_, file in listed.items()} == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


@pytest.mark.parametrize("name", ["countries", "worked-example"])
def test_licence_and_origin_are_said(root, name):
    text = (root / "data" / name / "README.md").read_text(encoding="utf-8")
    assert "CC0 1.0" in text
    assert re.search("written (for this project|by hand)", text)


def test_countries_counts(countries, splits):
    """The table of the README, relation by relation, is counted again."""
    every = [row for rows in splits.values() for row in rows]
    objects = {p: len({o for _, q, o in every if q == p}) for p in {row[1] for row in every}}
    counted = {p: [Counter(q for _, q, _ in splits[split])[p] for split in SPLITS] for p in objects}
    counted = {p: [*counts, sum(counts), objects[p]] for p, counts in counted.items()}
    text = (countries / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d| ]+) \|$", text, re.M)
    assert {p: [int(cell) for cell in cells.split("|")] for p, cells in rows} == counted
    entities = {e for s, _, o in every for e in (s, o)}
    n_countries = len({s for s, p, _ in every if p == "drives_on"})
    said = f"{n_countries} countries, {len(entities)} entities, {len(counted)} relations, {len(every):,} triples."
    assert said in text
    assert (n_countries, len(entities), len(every)) == (197, 901, 3911)  # in the brief: 190, -, 2,000 or more
    totals = re.search(r"^\| \*\*all\*\* \| \*\*([\d,]+)\*\* \| \*\*(\d+)\*\* \| \*\*(\d+)\*\*", text, re.M).groups()
    assert [int(total.replace(",", "")) for total in totals] == [len(splits[split]) for split in SPLITS]


def test_countries_as_kgeval_sees_it(countries, splits):
    """No duplicate, no overlap, nothing that train lacks; the same triples as read by hand."""
    dataset = kgeval.read_dataset(countries)
    assert dataset.observations() == []
    assert set(dataset.duplicates.values()) | set(dataset.overlaps.values()) == {0}
    assert {n for counts in dataset.unseen.values() for n in counts.values()} == {0}
    e, r = dataset.entities.labels, dataset.relations.labels
    for split in SPLITS:
        assert [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()] == splits[split]
    with np.load(countries / "complex.npz") as model:
        assert (tuple(model["entity_labels"]), tuple(model["relation_labels"])) == (e, r)


def test_countries_splits_are_disjoint_sorted_and_seen(splits):
    every = [row for rows in splits.values() for row in rows]
    assert len(set(every)) == len(every)
    assert all(rows == sorted(rows) for rows in splits.values())
    assert all(s != o for s, _, o in every)
    seen = {e for s, _, o in splits["train"] for e in (s, o)}
    assert {e for s, _, o in every for e in (s, o)} == seen
    assert {p for _, p, _ in every} == {p for _, p, _ in splits["train"]}
    assert all(label == label.strip() and label.isprintable() for row in every for label in row)


def test_countries_has_no_leak_through_pairs(splits):
    """No two entities of one split are related in another, in any direction, so no inverse of test is in train."""
    pairs = {split: {frozenset((s, o)) for s, _, o in rows} for split, rows in splits.items()}
    assert not pairs["train"] & pairs["valid"]
    assert not pairs["train"] & pairs["test"]
    assert not pairs["valid"] & pairs["test"]
    train = {(s, o) for s, _, o in splits["train"]}
    assert not [row for row in splits["test"] if (row[2], row[0]) in train]


def test_countries_borders_are_symmetric(splits):
    """Over all splits together, and each border in one split with its reverse."""
    for rows in (*splits.values(), [row for split in splits.values() for row in split]):
        borders = {(s, o) for s, p, o in rows if p == "borders"}
        assert borders == {(o, s) for s, o in borders}
        assert borders


def test_countries_splitting_rule(countries, splits):
    """The hash rule of the README, applied anew: 54 triples stand elsewhere than drawn, all of them in train."""

    def drawn(s, o):
        percent = int(hashlib.sha256("\t".join(sorted((s, o))).encode()).hexdigest(), 16) % 100
        return "train" if percent < 80 else "valid" if percent < 90 else "test"

    moved = [split for split, rows in splits.items() for s, _, o in rows if drawn(s, o) != split]
    assert moved == ["train"] * 54
    text = (countries / "README.md").read_text(encoding="utf-8")
    every = {row for rows in splits.values() for row in rows}
    both = sum((s, "largest_city", o) in every for s, p, o in every if p == "capital")
    assert "This moved 54 triples." in text
    assert f"the same two entities ({both} times)" in " ".join(text.split())


def test_countries_is_rebuilt_byte_for_byte(countries, tmp_path):
    """build.py makes the three splits from facts.tsv alone, the same whatever the seed of hashing."""
    for seed in ("1", "2"):
        copy = tmp_path / seed
        copy.mkdir()
        for name in ("build.py", "facts.tsv"):
            shutil.copy(countries / name, copy)
        command = [sys.executable, "-B", str(copy / "build.py")]
        done = subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        assert done.stdout == "train: 3239 triples\nvalid: 343 triples\ntest: 329 triples\n"
        for split in SPLITS:
            assert (copy / f"{split}.txt").read_bytes() == (countries / f"{split}.txt").read_bytes()


def test_worked_example(root):
    """Each test triple has 5 scored objects, itself among them; by score they rank 2nd and 1st, all else unscored."""
    folder = root / "data" / "worked-example"
    scored = [line.split("\t") for line in (folder / "scores.tsv").read_text(encoding="utf-8").splitlines()]
    score_of = {tuple(row[:3]): float(row[3]) for row in scored}
    test, train = triples(folder / "test.txt"), triples(folder / "train.txt")
    assert (len(scored), len(score_of), len(test), len(train)) == (10, 10, 2, 4)
    ranks = []
    for s, p, o in test:
        rivals = [score for triple, score in score_of.items() if triple[:2] == (s, p) and triple[2] != o]
        assert len(rivals) == 4
        ranks.append(1 + sum(score > score_of[s, p, o] for score in rivals))
    assert ranks == [2, 1]
    assert len(set(score_of.values())) == 10
    assert not set(score_of) & set(train)
    text = (folder / "README.md").read_text(encoding="utf-8")
    entities = sorted({e for s, _, o in train + test for e in (s, o)})
    assert f"Six entities ({', '.join(entities)}), three relations" in " ".join(text.split())
    assert len({p for _, p, _ in train + test}) == 3
