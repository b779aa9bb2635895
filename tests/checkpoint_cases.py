"""What the tests of checkpoint formats share: a dataset, id files, and the comparison of scores with a tool's own."""

import numpy as np
from model_cases import SIDES, side_scores

from kgeval import Dataset
from kgeval.formats.models import model_formats

# In the order of a tool's rows; kgeval sorts labels, so row i is not id i.
ENTITIES = ["delta", "alpha", "Zeta", "beta", "eta", "gamma", "\u00e9psilon", "NA"]
RELATIONS = ["r2", "r10", "R"]
N_E, N_R = len(ENTITIES), len(RELATIONS)


def labelled_dataset(dictionaries=True):
    """A dataset of all labels, whose own ids are in another order than the rows of the tool."""
    rng = np.random.default_rng(7)
    order_e, order_r = sorted(ENTITIES), sorted(RELATIONS)
    ids = Dataset.from_arrays(
        train=np.column_stack([np.arange(40) % N_E, np.arange(40) % N_R, rng.integers(0, N_E, 40)]),
        test=np.column_stack([rng.integers(0, N_E, 10), rng.integers(0, N_R, 10), rng.integers(0, N_E, 10)]),
        entity_labels=order_e,
        relation_labels=order_r,
        name="eight",
    )
    given = {"entities": ENTITIES, "relations": RELATIONS} if dictionaries else None
    return Dataset(ids.entities, ids.relations, ids.splits, name="eight", dictionaries=given)


def write_ids(folder, entities="entity2id.txt", relations="relation2id.txt"):
    """Write OpenKE's id files: a line that counts, then label TAB id."""
    for name, labels in ((entities, ENTITIES), (relations, RELATIONS)):
        lines = [str(len(labels)), *(f"{label}\t{i}" for i, label in enumerate(labels))]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def random_triples(n=60, seed=0):
    """Subjects, relations and objects as rows of the tool."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, N_E, n), rng.integers(0, N_R, n), rng.integers(0, N_E, n)


def assert_scores(model, dataset, score, rtol=1e-5):
    """Compare scores of both sides; ``score(side, s, p, o)`` takes rows of the tool and returns the tool's scores."""
    s, p, o = random_triples()
    ids = [dataset.entities.find([ENTITIES[i] for i in s]), dataset.relations.find([RELATIONS[i] for i in p])]
    ids.append(dataset.entities.find([ENTITIES[i] for i in o]))
    for side in SIDES:
        expected = np.asarray(score(side, s, p, o), dtype=np.float64)
        assert np.ptp(expected) > 0, "scores that do not differ prove nothing"
        np.testing.assert_allclose(side_scores(model, side, *ids), expected, rtol=rtol, atol=1e-6, err_msg=side)


def recognised(path):
    """The names of the formats that recognise a path."""
    return [name for name, one in model_formats().items() if one.sniff(path)]


def tables(seed=0, **shapes):
    """Random float32 arrays of some shapes."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
