"""Classifications whose labels, scores and clusters a test chooses: every example has a subject of its own."""

import numpy as np

import kgeval as kg


def classified(labels, scores, relations=None, positive=None, name="made", **settings):
    """Classify examples with given scores; every threshold is 0 (valid: positives score 0, negatives -1).

    Entity i is the subject of example i (positives first in the table); the last entities are the objects and the
    subjects of valid. `positive`: for each example, the number of its cluster, which becomes the column `positive`.
    """
    labels, scores = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=float)
    n = len(labels)
    relations = np.zeros(n, dtype=int) if relations is None else np.asarray(relations)
    n_relations = int(relations.max()) + 1
    of_subject = np.append(scores, [0.0, -1.0, 0.0])
    triples = np.column_stack([np.arange(n), relations, np.full(n, n + 2)])
    valid = {score: [[n - score, p, n + 2] for p in range(n_relations)] for score in (0, -1)}
    dataset = kg.Dataset.from_arrays(
        valid=valid[0], test=triples[labels], n_entities=n + 3, n_relations=n_relations, name=name
    )

    def scorer(s, p, o):
        return of_subject[s]

    result = kg.classify(scorer, dataset, {"valid": valid[-1], "test": triples[~labels]}, **settings)
    if positive is not None:
        result = result.__replace__(table=result.table.assign(positive=np.asarray(positive)[result.table["s"]]))
    return result


def with_probabilities(result, probabilities):
    """The result with probabilities, given in the order of the examples."""
    return result.__replace__(table=result.table.assign(probability=np.asarray(probabilities)[result.table["s"]]))


def random_examples(rng, m=12, per_positive=1, n_relations=1):
    """Labels, scores with ties, relations and clusters of `m` positives and their negatives."""
    labels = np.tile([True] + [False] * per_positive, m)
    scores = np.round(rng.normal(size=len(labels)) + labels, 1)
    clusters = np.repeat(np.arange(m), 1 + per_positive)
    return labels, scores, clusters % n_relations, clusters
