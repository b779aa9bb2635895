"""The works of bench_speed.py: for each, one whole evaluation by kgeval, and the bound it is held against.

"Whole" is everything that `kgeval.evaluate` does: the index of queries and known triples, both sides, raw and
filtered, and the result. Parameters are loaded and the dataset is read before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import bounds
import numpy as np
from measure import backend_options

import kgeval as kg

SHARES = {"rotate-fb15k-237": 0.05, "function-distmult": 0.1}  # of the test triples, where all would take minutes
ROTATE_DIMENSION = 256
FUNCTION_DIMENSION = 32


@dataclass
class Comparison:
    """One evaluation, and the function that prepares its bound; that one is called after memory was measured."""

    evaluate: Callable[[], object]
    make_bound: Callable[[], bounds.Bound] | None
    about: str


@dataclass
class Setting:
    """Where the data lie, which backend evaluates, and which share of the test triples is ranked."""

    folder: Path
    backend: str
    share: float

    def dataset(self, name):
        """Read a dataset and keep a share of its test triples, at random; the others stay known, as valid ones."""
        dataset = kg.read_dataset(self.folder / name)
        if self.share >= 1:
            return dataset
        test = np.asarray(dataset["test"])
        is_kept = np.random.default_rng(0).random(len(test)) < self.share
        return kg.Dataset.from_arrays(
            train=np.asarray(dataset["train"]),
            valid=np.concatenate([np.asarray(dataset["valid"]), test[~is_kept]]),
            test=test[is_kept],
            entity_labels=dataset.entities.labels,
            relation_labels=dataset.relations.labels,
            name=dataset.name,
        )

    def evaluation(self, scorer, dataset, protocol=None, is_random=False):
        """Return a function that evaluates once, with nothing kept from one call to the next.

        The row order of random scorers is not checked: the check would find it wrong, and search for the fault.
        """
        options = backend_options(self.backend) | {"check_rows": not is_random}

        def evaluate():
            fresh = kg.Dataset(dataset.entities, dataset.relations, dataset.splits, name=dataset.name)
            return kg.evaluate(scorer, fresh, protocol, progress=False, **options)

        return evaluate


def repeated(setting, model, dataset):
    """Return a function that evaluates once more with an `Evaluator`, as in a training loop."""
    evaluator = kg.Evaluator(dataset)
    return lambda: evaluator.evaluate(model, progress=False, **backend_options(setting.backend))


def about(dataset, share):
    of = "" if share >= 1 else f" ({100 * share:g}% of them, at random; the bound has the same)"
    return f"{len(dataset.entities):,} entities, {len(dataset['test']):,} test triples{of}"


def complex_model(setting, dataset_name):
    with np.load(setting.folder / "models" / f"{dataset_name}-complex.npz") as arrays:
        return kg.models.ComplEx(arrays["entities"], arrays["relations"], inverse_relations="after")


def complex_product(setting, dataset_name):
    """ComplEx trained on the dataset, inverse relations after the others."""
    model, dataset = complex_model(setting, dataset_name), setting.dataset(dataset_name)
    triples = np.asarray(dataset["test"])
    return Comparison(
        setting.evaluation(model, dataset),
        lambda: bounds.product(bounds.query_vectors(model, triples), model.entities),
        about(dataset, setting.share),
    )


def complex_again(setting):
    """The first work in a training loop, held against the product of its distinct queries."""
    model, dataset = complex_model(setting, "fb15k-237"), setting.dataset("fb15k-237")
    triples = np.asarray(dataset["test"])
    return Comparison(
        repeated(setting, model, dataset),
        lambda: bounds.product(np.unique(bounds.query_vectors(model, triples), axis=0), model.entities),
        about(dataset, setting.share),
    )


def distmult_again(setting, dataset_name):
    """DistMult of 64 random dimensions in a training loop; a time, no ratio."""
    dataset, rng = kg.read_dataset(setting.folder / dataset_name), np.random.default_rng(0)
    tables = (rng.standard_normal((len(v), 64), dtype=np.float32) for v in (dataset.entities, dataset.relations))
    return Comparison(repeated(setting, kg.models.DistMult(*tables), dataset), None, about(dataset, 1.0))


def transe(setting):
    """A published TransE whose rows are the entities of train in the order of their labels; L1."""
    dataset = setting.dataset("fb15k-237")
    with np.load(setting.folder / "models" / "fb15k-237-pykeen" / "transe" / "trained_model.npz") as arrays:
        rows, relations = arrays["entity"], arrays["relation"]
    is_seen = dataset.is_seen_entity
    entities = np.full((len(dataset.entities), rows.shape[1]), np.nan, dtype=rows.dtype)
    entities[is_seen] = rows
    model = kg.models.TransE(entities=entities, relations=relations, inverse_relations="alternating", norm=1)
    model.missing_entities = np.flatnonzero(~is_seen)
    triples = np.asarray(dataset["test"])[dataset.is_seen("test")]
    return Comparison(
        setting.evaluation(model, dataset, kg.Protocol(unseen="drop")),
        lambda: bounds.cdist(bounds.query_vectors(model, triples), rows),
        about(dataset, setting.share),
    )


def rotate(setting):
    """RotatE with random numbers from a fixed seed: 256 complex numbers, random phases."""
    dataset = setting.dataset("fb15k-237")
    rng = np.random.default_rng(0)
    entities = rng.standard_normal((len(dataset.entities), 2 * ROTATE_DIMENSION), dtype=np.float32)
    phases = rng.uniform(-np.pi, np.pi, (len(dataset.relations), ROTATE_DIMENSION)).astype(np.float32)
    model = kg.models.RotatE(entities, phases, norm=1)
    triples = np.asarray(dataset["test"])
    return Comparison(
        setting.evaluation(model, dataset, is_random=True),
        lambda: bounds.modulus(bounds.query_vectors(model, triples), entities),
        about(dataset, setting.share),
    )


def function(setting, make_score):
    """A function score(s, p, o), held against itself called with the very arrays that kgeval gives it."""
    dataset = setting.dataset("fb15k-237")
    score = make_score(len(dataset.entities), len(dataset.relations))

    def make_bound():
        recorder = bounds.Recorder(score)
        setting.evaluation(recorder, dataset, is_random=True)()
        return bounds.replay(recorder)

    return Comparison(setting.evaluation(score, dataset, is_random=True), make_bound, about(dataset, setting.share))


def distmult_function(n_entities, n_relations):
    rng = np.random.default_rng(0)
    entities = rng.standard_normal((n_entities, FUNCTION_DIMENSION), dtype=np.float32)
    relations = rng.standard_normal((n_relations, FUNCTION_DIMENSION), dtype=np.float32)

    def score(s, p, o):
        return (entities[s] * relations[p] * entities[o]).sum(axis=1)

    return score


def lookup_function(n_entities, n_relations):
    rng = np.random.default_rng(0)
    subjects, objects = rng.standard_normal((2, n_entities), dtype=np.float32)

    def score(s, p, o):
        return subjects[s] + objects[o]

    return score


class ProductScorer:
    """ComplEx in float32 numpy, as a user might write it; relations of the subject side after the others."""

    def __init__(self, entities, relations):
        self.entities, self.relations = entities, relations

    def score_objects(self, s, p):
        a, b = np.split(self.entities[s], 2, axis=1)
        c, d = np.split(self.relations[p], 2, axis=1)
        return np.hstack([a * c - b * d, a * d + b * c]) @ self.entities.T

    def score_subjects(self, p, o):
        return self.score_objects(o, p + len(self.relations) // 2)


def matrix(setting):
    """A custom scorer of whole rows, held against itself asked every query once per test triple."""
    with np.load(setting.folder / "models" / "fb15k-237-complex.npz") as arrays:
        scorer = ProductScorer(arrays["entities"], arrays["relations"])
    dataset = setting.dataset("fb15k-237")
    triples = np.asarray(dataset["test"])
    return Comparison(
        setting.evaluation(scorer, dataset), lambda: bounds.batches(scorer, triples), about(dataset, setting.share)
    )


COMPARISONS = {
    "complex-fb15k-237": lambda setting: complex_product(setting, "fb15k-237"),
    "again-fb15k-237": complex_again,
    "complex-wn18rr": lambda setting: complex_product(setting, "wn18rr"),
    "transe-fb15k-237": transe,
    "rotate-fb15k-237": rotate,
    "matrix-fb15k-237": matrix,
    "function-distmult": lambda setting: function(setting, distmult_function),
    "function-lookup": lambda setting: function(setting, lookup_function),
    "again-umls": lambda setting: distmult_again(setting, "umls"),
    "again-nations": lambda setting: distmult_again(setting, "nations"),
}
