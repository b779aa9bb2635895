"""CoDEx-S with its hard negatives: kgeval against a script that shares nothing with it but the files.

The script reads the files line by line and computes with dicts, loops and fractions. Its scores are its own: shares of
train counts for the frequency baseline, sums of integers for the embedding model, so that both sides are exact.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import kgeval as kg

PUBLISHED_SIZES = {"valid": (1827, 1827), "test": (1828, 1828)}


def read(folder, name):
    """The lines of a file as tuples of labels."""
    return [tuple(line.split("\t")) for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()]


def script(folder, score):
    """Thresholds from valid, then (tp, fp, fn, tn) on test, overall (under None) and per relation."""
    examples = {}
    for part in ("valid", "test"):
        examples[part] = [(t[1], score(*t), True) for t in read(folder, part)]
        examples[part] += [(t[1], score(*t), False) for t in read(folder, f"{part}_negatives")]
    groups = {None: [(x, y) for _, x, y in examples["valid"]]}
    for p, x, y in examples["valid"]:
        groups.setdefault(p, []).append((x, y))
    cuts = {}
    for p, group in groups.items():
        if len({y for _, y in group}) == 2:
            ways = [(sum((x >= cut) == y for x, y in group), cut) for cut in {x for x, _ in group} | {float("inf")}]
            cuts[p] = max(ways)[1]  # most right, then the highest cut
    counts = {}
    for p, x, y in examples["test"]:
        called = x >= cuts.get(p, cuts[None])
        for key in (None, p):
            place = (0 if y else 1) if called else (2 if y else 3)
            counts.setdefault(key, [0, 0, 0, 0])[place] += 1
    return cuts, counts


def accuracy(tp, fp, fn, tn):
    return Fraction(tp + tn, tp + fp + fn + tn)


def f1(tp, fp, fn, _):
    return Fraction(2 * tp, 2 * tp + fp + fn) if tp + fp + fn else None


@pytest.fixture(scope="module")
def folder(shared):
    return Path(shared) / "data" / "codex-s"


@pytest.fixture(scope="module")
def dataset(folder):
    return kg.read_dataset(folder)


def frequency(folder, dataset):
    """The baseline, and the share of (?, p, o) among train's triples of p, counted by dicts."""
    totals, counts = {}, {}
    for _, p, o in read(folder, "train"):
        totals[p] = totals.get(p, 0) + 1
        counts[p, o] = counts.get((p, o), 0) + 1
    scorer = kg.baselines.Frequency(dataset)
    return scorer, lambda s, p, o: counts.get((p, o), 0) / totals[p] if p in totals else 0.0


def bilinear(folder, dataset):
    """A DistMult of integers that took one step on train, and its sums of products over plain lists.

    Entities are how often each relation has them as object, at most 3, and eight seeded signs; relations the rounded
    sum over their train triples of what subject and object share. So it knows something, and ties.
    """
    train, n, m = dataset["train"].array, len(dataset.entities), len(dataset.relations)
    counts = np.zeros((n, m), dtype=np.int64)
    np.add.at(counts, (train[:, 2], train[:, 1]), 1)
    signs = np.random.default_rng(0).choice([-1, 1], size=(n, 8))
    entities = np.hstack([np.minimum(counts, 3), signs])
    relations = np.zeros((m, entities.shape[1]), dtype=np.int64)
    np.add.at(relations, train[:, 1], entities[train[:, 0]] * entities[train[:, 2]])
    relations = np.rint(100 * relations / np.maximum(np.bincount(train[:, 1], minlength=m), 1)[:, None])
    e = dict(zip(dataset.entities.labels, entities.tolist()))
    r = dict(zip(dataset.relations.labels, relations.astype(int).tolist()))
    model = kg.models.DistMult(entities.astype(np.float64), relations)
    return model, lambda s, p, o: sum(a * b * c for a, b, c in zip(e[s], r[p], e[o]))


@pytest.mark.parametrize("make", [frequency, bilinear])
def test_the_script_agrees(folder, dataset, make):
    """Every threshold, and accuracy and F1 overall and of each relation; nothing is lost."""
    scorer, score = make(folder, dataset)
    cuts, counts = script(folder, score)
    result = kg.classify(scorer, dataset, folder)
    sizes = {part: (result.facts[f"n_{part}_positive"], result.facts[f"n_{part}_negative"]) for part in PUBLISHED_SIZES}
    assert sizes == PUBLISHED_SIZES
    assert result.global_threshold == cuts[None]
    asked = {t[1] for part in ("valid", "test") for name in (part, f"{part}_negatives") for t in read(folder, name)}
    assert set(result.thresholds.index) == asked
    for p, row in result.thresholds.to_dict("index").items():
        assert row["threshold"] == cuts.get(p, cuts[None])
        assert (row["source"] == "relation") == (p in cuts)
    broken_down = result.by("relation", metrics="accuracy,f1")
    assert set(broken_down.index) == set(counts) - {None}
    for p, found in counts.items():
        got = result.summary("accuracy,f1").loc["micro"] if p is None else broken_down.loc[p]
        assert got["n"] == sum(found)
        assert got["accuracy"] == pytest.approx(float(accuracy(*found)), rel=1e-15)
        expected = f1(*found)
        assert np.isnan(got["f1"]) if expected is None else got["f1"] == pytest.approx(float(expected), rel=1e-15)
    # As many negatives as positives in all, so chance is one half.
    assert result["accuracy"] > 0.7


def test_relations_that_valid_does_not_settle(folder, dataset):
    """Of 36 relations of test, one has no validation example and five only one class; their 23 triples are counted."""
    scorer, _ = frequency(folder, dataset)
    result = kg.classify(scorer, dataset, folder)
    classes, tested = {}, []
    for name, label in (("valid", True), ("valid_negatives", False)):
        for _, p, _ in read(folder, name):
            classes.setdefault(p, set()).add(label)
    tested = [p for name in ("test", "test_negatives") for _, p, _ in read(folder, name)]
    absent = [p for p in tested if p not in classes]
    one_sided = [p for p in tested if len(classes.get(p, ())) == 1]
    cut = f"the global threshold {result.global_threshold:g} is used for"
    n = len(set(tested))
    assert result.notes == (
        f"{cut} {len(set(absent))} of {n} relations of test ({len(absent)} triples): valid has no example of them",
        f"{cut} {len(set(one_sided))} of {n} relations of test ({len(one_sided)} triples): valid has only true or "
        "only false examples of them",
    )
    assert (n, len(set(absent)), len(set(one_sided)), len(absent) + len(one_sided)) == (36, 1, 5, 23)


def test_hard_negatives_are_harder(folder, dataset):
    """The frequency baseline tells uniform corruptions from facts by AUC far better than the hard negatives."""
    scorer, _ = frequency(folder, dataset)
    hard, easy = (kg.classify(scorer, dataset, negatives) for negatives in (folder, "uniform"))
    assert hard["auc"] < 0.6 < 0.7 < easy["auc"]
    assert (hard.facts["negatives"], easy.facts["negatives"]) == ("files in codex-s", "uniform")
