"""Random lists of answers, and loop-only writers of the files of other tools; the tests of their readers use them."""

import json

import numpy as np
import pandas as pd

import kgeval as kg

LABELS = ["NA", "null", "nan", "1", "Ĺódź", "x|y", "50%", "/m/01", "None", "true", "e:0", "(a)"]
RELATIONS = ["likes", "NA", "/film/film", "inv_r"]


def random_dataset(seed, n=12, labels=LABELS, relations=RELATIONS):
    """A small dataset with odd labels; every entity occurs in train."""
    random = np.random.default_rng(seed)

    def triples(count):
        return [
            (str(random.choice(labels)), str(random.choice(relations)), str(random.choice(labels)))
            for _ in range(count)
        ]

    train = [(label, relations[i % len(relations)], labels[i - 1]) for i, label in enumerate(labels)] + triples(20)
    test = list(dict.fromkeys(triples(n)))
    frames = {"train": train, "test": test}
    return kg.Dataset.from_frames(**{split: pd.DataFrame(rows, columns=list("spo")) for split, rows in frames.items()})


def random_lists(dataset, seed, sides=("subject", "object"), with_scores=False, longest=5):
    """One list for each triple of test and each side: (s, p, o, side, answers, scores or None); some are empty."""
    random = np.random.default_rng(1000 + seed)
    lists = []
    for s, p, o in dataset["test"].array.tolist():
        for side in sides:
            n = int(random.integers(0, longest + 1))
            answers = [dataset.entities.labels[i] for i in random.permutation(len(dataset.entities))[:n]]
            scores = sorted((float(score) for score in random.integers(0, 4, n) / 4), reverse=True)
            labels = (dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o])
            lists.append((*labels, side, answers, scores if with_scores else None))
    return lists


def rows_of(predictions, dataset):
    """Predictions as `random_lists` gives them; None for an entity that is unmapped."""
    name = [*dataset.entities.labels, None]
    rows = []
    for i, (s, p, o) in enumerate(predictions.triples.tolist()):
        first, last = predictions.answers.offsets[i : i + 2]
        answers = [name[answer] for answer in predictions.answers.values[first:last].tolist()]
        scores = None if predictions.scores is None else predictions.scores[first:last].tolist()
        rows.append((name[s], dataset.relations.labels[p], name[o], str(predictions.sides[i]), answers, scores))
    return rows


def write_anyburl(path, lists):
    """Three lines a triple; lists of both sides follow each other."""
    with open(path, "w", encoding="utf-8") as file:
        for i in range(0, len(lists), 2):
            file.write("\t".join(lists[i][:3]) + "\n")
            for *_, side, answers, _ in lists[i : i + 2]:
                words = [f"{answer}\t{0.9 - 0.1 * (j // 2):.2f}\t" for j, answer in enumerate(answers)]
                file.write(("Heads: " if side == "subject" else "Tails: ") + "".join(words) + "\n")
    return path


def write_json(path, records, lines=False, indent=None):
    """One JSON list, or one object on each line."""
    texts = [json.dumps(record, ensure_ascii=False, indent=None if lines else indent) for record in records]
    path.write_text("\n".join(texts) + "\n" if lines else "[" + ",\n".join(texts) + "]", encoding="utf-8")
    return path


def plain_records(lists, form=0, with_gold=True):
    """kgeval's own format, with the query as a list or as an object."""
    records = []
    for s, p, o, side, answers, scores in lists:
        parts = [None if side == "subject" else s, p, None if side == "object" else o]
        query = parts if form == 0 else dict(zip(("head", "relation", "tail") if form == 1 else "spo", parts))
        if scores is not None:
            answers = [{"entity": answer, "score": score} for answer, score in zip(answers, scores)]
        record = {"query": query, "predictions": answers}
        records.append(record | ({"gold": s if side == "subject" else o} if with_gold else {}))
    return records


def name_of(label):
    """The name of an entity in files that hold no labels."""
    return f"the {label} (named)"


def simkgc_records(lists, name=name_of):
    """SimKGC's objects; its lists are never empty."""
    records = []
    for s, p, o, side, answers, _ in lists:
        head, relation, tail = (o, f"inverse {p} rel", s) if side == "subject" else (s, f"{p} rel", o)
        names = [name(answer) for answer in answers]
        info = {answer: round(0.9 - 0.001 * (j // 2), 3) for j, answer in enumerate(names)}
        records.append(
            {
                "head": name(head),
                "relation": relation,
                "tail": name(tail),
                "pred_tail": names[0],
                "pred_score": 0.9,
                "topk_score_info": json.dumps(info),
                "correct": answers[0] == tail,
            }
        )
    return records
