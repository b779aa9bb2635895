"""Results with given ranks, for tests of comparisons: no model, no scores, no ties."""

import numpy as np
import pandas as pd

import kgeval as kg

N_ENTITIES = 200


def ranked(ranks, name="model", relations=0, sides=("object",), dataset_name="ranked"):
    """A result with these ranks among 199 rivals of the test triples (i, relations[i], i + 1).

    `ranks`, shape (triples,) or (sides, triples): one row for each of the `sides`. The entities i and i + 1 of triple i
    count modulo the number of entities; of more triples, the second 200 have i and i + 2, and so on.
    """
    of_sides = np.atleast_2d(np.asarray(ranks, dtype=np.int64))
    n = of_sides.shape[1]
    place = np.arange(n)
    objects = (place + 1 + place // N_ENTITIES) % N_ENTITIES
    triples = np.column_stack([place % N_ENTITIES, np.broadcast_to(relations, n), objects])
    dataset = kg.Dataset.from_arrays(
        test=triples, n_entities=N_ENTITIES, n_relations=int(triples[:, 1].max()) + 1, name=dataset_name
    )
    protocol = kg.Protocol(sides=sides).resolved(dataset)
    table = pd.DataFrame(np.tile(triples, (len(sides), 1)), columns=["s", "p", "o"])
    codes = np.repeat([list(protocol.sides).index(side) for side in sides], n)
    table["side"] = pd.Categorical.from_codes(codes, list(protocol.sides))
    table["split"] = pd.Categorical.from_codes(np.zeros(len(table), np.int64), ["test"])
    table["score"] = 0.0
    for setting in ("raw", "filtered"):
        table[f"better_{setting}"] = of_sides.ravel() - 1
        table[f"tied_{setting}"] = 0
        table[f"rivals_{setting}"] = N_ENTITIES - 1
    about = {
        "scorer": name,
        "n_queries": len(table),
        "dataset": dataset.name,
        "dataset_fingerprint": dataset.fingerprint,
        "observations": dataset.observations(),
        "version": kg.__version__,
        "n_triples": n,
        "n_unseen": 0,
    }
    return kg.EvaluationResult(table, dataset.entities, dataset.relations, protocol, about)


def compared(*ranks, metrics="mr,mrr", relations=0, sides=("object",), **options):
    """A comparison of models with these ranks, named A, B, C, ..."""
    names = [chr(ord("A") + i) for i in range(len(ranks))]
    results = [ranked(part, name, relations, sides) for part, name in zip(ranks, names)]
    return kg.compare(results, names=names, metrics=metrics, **{"n_resamples": 99, **options})
