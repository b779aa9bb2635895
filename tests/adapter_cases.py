"""What the tests of adapters share: labelled graphs, libraries with other ids, and the counts of a loop over labels."""

import random

import numpy as np
import oracle

import kgeval as kg

COUNTS = [f"{count}_{setting}" for count in ("better", "tied", "rivals") for setting in ("raw", "filtered")]


def labelled_graph(seed):
    """A random dataset of labels, and a library's labels of entities and relations in the order of its own ids.

    The library knows a label that the dataset lacks. If train lacks an entity or a relation, it knows those of train.
    """
    rng = random.Random(seed)
    n, m, splits = oracle.random_graph(rng)
    labels = {split: [(f"e{s}", f"r{p}", f"e{o}") for s, p, o in rows] for split, rows in splits.items()}
    dataset = kg.Dataset.from_frames(**labels, name="labelled")
    rows = {
        "entities": [sorted({row[i] for row in labels["train"] for i in (0, 2)}), list(dataset.entities.labels)],
        "relations": [sorted({row[1] for row in labels["train"]}), list(dataset.relations.labels)],
    }
    lacks = any(len(train) < len(every) for train, every in rows.values()) and rng.random() < 0.7
    known = [train if lacks else every for train, every in rows.values()]
    known[0].append("only in the library")
    for part in known:
        rng.shuffle(part)
    return dataset, known[0], known[1]


def random_scores(seed, entities, relations):
    """Small integers, with many ties, one for each triple of a library's ids."""
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 4, (len(entities), len(relations), len(entities))).astype(np.float32)


def expected_counts(dataset, entities, relations, score, sides=("subject", "object")):
    """The counts that a loop over labels finds: sorted rows of (s, p, o, side, counts).

    `score` takes three ids of the library, whose labels are `entities` and `relations`, and the side.
    """
    triples = {
        split: [
            (dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o])
            for s, p, o in dataset[split].array
        ]
        for split in dataset.splits
    }
    id_of = {label: i for i, label in enumerate(entities)}, {label: i for i, label in enumerate(relations)}
    pool = set(dataset.entities.labels)
    if not (pool <= set(entities) and set(dataset.relations.labels) <= set(relations)):  # unseen='drop'
        pool = {row[i] for row in triples["train"] for i in (0, 2)}
    seen = {row[1] for row in triples["train"]} if pool < set(dataset.entities.labels) else set(relations)
    known = {row for rows in triples.values() for row in rows}
    test = [(s, p, o) for s, p, o in triples["test"] if {s, o} <= pool and p in seen and p in id_of[1]]
    rows = []
    for side in sides:

        def score_of(s, p, o, side=side):
            return float(score(id_of[0][s], id_of[1][p], id_of[0][o], side))

        table = oracle.rank_counts(score_of, test, known, pool, side)
        rows += [(*triple, side, *(row[name] for name in COUNTS)) for triple, row in zip(test, table)]
    return sorted(rows)


def found_counts(result, dataset):
    """The counts of a result's table, as `expected_counts` gives them."""
    table = result.table
    labels = [
        np.array(vocabulary.labels)[table[column]].tolist()
        for vocabulary, column in ((dataset.entities, "s"), (dataset.relations, "p"), (dataset.entities, "o"))
    ]
    return sorted(zip(*labels, table["side"], *(table[name].tolist() for name in COUNTS)))


def check_counts(adapter, dataset, entities, relations, score, protocol=None):
    """Compare the counts of `kg.evaluate` with those of the loop; return False if there is nothing to rank."""
    sides = protocol.sides if protocol is not None else ("subject", "object")
    expected = expected_counts(dataset, entities, relations, score, sides)
    if not expected:
        return False
    assert found_counts(kg.evaluate(adapter, dataset, protocol), dataset) == expected
    return True
