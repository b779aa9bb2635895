"""Files of several tools and the numbers that a loop over their lines gives, from the file to the metric."""

import json

import numpy as np
import pytest
from grids import size
from prediction_files import plain_records, random_dataset, random_lists, write_json

import kgeval as kg
from kgeval.report.exports import write_ranks

LABELS = ["NA", "null", "1", "Łódź", "New York", "x-y", "Rome", "Mary Ann"]
RELATIONS = ["likes", "in", "NA"]


def bounds(lists, dataset, *, has_ties):
    """Best and worst filtered rank of the positive of each list, by loops over labels."""
    names, relations = dataset.entities.labels, dataset.relations.labels
    splits = [dataset[split].array.tolist() for split in dataset.splits]
    known = {(names[s], relations[p], names[o]) for rows in splits for s, p, o in rows}
    best, worst = [], []
    for s, p, o, side, answers, scores in lists:
        positive = s if side == "subject" else o
        n_candidates = 0
        for name in names:
            triple = (name, p, o) if side == "subject" else (s, p, name)
            n_candidates += name == positive or triple not in known
        better = tied = 0
        at = answers.index(positive) if positive in answers else None
        for i, answer in enumerate(answers):
            triple = (answer, p, o) if side == "subject" else (s, p, answer)
            if answer == positive or triple in known:
                continue
            if at is None or (scores[i] > scores[at] if has_ties else i < at):
                better += 1
            elif has_ties and scores[i] == scores[at]:
                tied += 1
        best.append(better + 1)
        worst.append(better + tied + 1 if at is not None else n_candidates)
    return np.array(best), np.array(worst)


def assert_same(result, best, worst):
    for setting, ranks in (("optimistic", best), ("pessimistic", worst)):
        assert result[f"{setting}.mrr"] == pytest.approx((1 / ranks).mean(), abs=1e-12)
        assert result[f"{setting}.mr"] == pytest.approx(ranks.mean(), abs=1e-12)
        assert result[f"{setting}.hits@2"] == pytest.approx((ranks <= 2).mean(), abs=1e-12)


def test_lists_with_and_without_scores(tmp_path):
    """kgeval's own format, KGT5 and DIFT."""
    path = tmp_path / "p.json"
    for seed in range(size(3, 150)):
        dataset = random_dataset(seed, labels=LABELS, relations=RELATIONS)
        for has_ties in (False, True):
            lists = random_lists(dataset, seed, with_scores=has_ties)
            if has_ties and not any(row[4] for row in lists):
                continue
            best, worst = bounds(lists, dataset, has_ties=has_ties)
            found = kg.read_predictions(write_json(path, plain_records(lists), lines=True), dataset)
            assert_same(kg.evaluate_predictions(found, dataset, filtered="no"), best, worst)
            if has_ties:
                samples = [
                    {"input": f"predict head: {o} | {p} |" if side == "subject" else f"predict tail: {s} | {p} |",
                     "target": s if side == "subject" else o, "predictions": answers, "scores": scores}
                    for s, p, o, side, answers, scores in lists
                ]  # fmt: skip
                found = kg.read_predictions(write_json(path, samples), dataset, format="kgt5")
                assert_same(kg.evaluate_predictions(found, dataset), best, worst)


def test_generated_texts(tmp_path):
    """KG-LLM: the positive is first if its name is the text, and anywhere below it otherwise."""
    path = tmp_path / "generated.txt"
    for seed in range(size(2, 80)):
        dataset = random_dataset(seed, labels=LABELS, relations=RELATIONS)
        random = np.random.default_rng(seed)
        golds = [dataset.entities.labels[o] for o in dataset["test"].array[:, 2].tolist()]
        texts = [gold if random.random() < 0.5 else "nobody " + gold.upper() for gold in golds]
        lines = [json.dumps({"labels": gold, "predict": text}) for gold, text in zip(golds, texts)]
        path.write_text("\n".join(lines) + "\n")
        found = kg.read_predictions(path, dataset, matching="exact", side="object")
        result = kg.evaluate_predictions(found, dataset)
        assert result["hits@1"] == pytest.approx(np.mean([text == gold for text, gold in zip(texts, golds)]))


def test_ranks(tmp_path):
    """Ranks that kgeval wrote give the numbers that it wrote them with."""
    for seed in range(size(2, 80)):
        dataset = random_dataset(seed)
        scores = np.random.default_rng(seed).integers(0, 4, len(dataset.entities)).astype(float)
        result = kg.evaluate(lambda s, p, o, scores=scores: scores[s] + 2 * scores[o], dataset, progress=False)
        write_ranks(result, tmp_path / "ranks.tsv", overwrite=True)
        again = kg.evaluate_predictions(kg.read_predictions(tmp_path / "ranks.tsv", dataset), dataset)
        for key in ("mrr", "mr", "hits@3", "subject.mrr", "object.hits@1"):
            assert again[key] == pytest.approx(result[key], abs=1e-12), (seed, key)
