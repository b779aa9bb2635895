"""Two scorers that need no training and whose published results can be reproduced exactly."""

import numpy as np

IntArray = np.ndarray
FloatArray = np.ndarray


class Frequency:
    """Scores an entity by its share among the objects (subjects) of the relation in train."""

    def __init__(self, train: IntArray, n_entities: int, n_relations: int) -> None:
        """Count the train triples of shape (n, 3); a relation absent from train scores 0 everywhere."""
        s, p, o = np.asarray(train, dtype=np.int64).reshape(-1, 3).T
        size = n_relations * n_entities
        totals = np.maximum(np.bincount(p, minlength=n_relations), 1)[:, None]
        self._objects = np.bincount(p * n_entities + o, minlength=size).reshape(n_relations, n_entities) / totals
        self._subjects = np.bincount(p * n_entities + s, minlength=size).reshape(n_relations, n_entities) / totals

    def score_objects(self, s: IntArray, p: IntArray) -> FloatArray:
        """Scores of every entity as object, shape (len(p), n_entities); the subject plays no part."""
        return self._objects[p]

    def score_subjects(self, p: IntArray, o: IntArray) -> FloatArray:
        """Scores of every entity as subject, shape (len(p), n_entities); the object plays no part."""
        return self._subjects[p]


class InverseRule:
    """Scores 1 what follows from train and valid by reversing triples between inverse relations, else 0.

    Relations r1 and r2 are inverse if at least `threshold` of the distinct train pairs of r1 occur reversed
    in r2, or of r2 in r1; a relation may be its own inverse (Dettmers et al. 2018). The facts are closed
    under these rules.
    """

    def __init__(
        self, train: IntArray, valid: IntArray, n_entities: int, n_relations: int, threshold: float = 0.8
    ) -> None:
        """Find the rules in train and close train and valid, each of shape (n, 3), under them."""
        self.n_entities = n_entities
        train = np.unique(np.asarray(train, dtype=np.int64).reshape(-1, 3), axis=0)
        self.inverse = _inverse_relations(train, n_entities, n_relations, threshold)
        facts = np.unique(np.vstack([train, np.asarray(valid, dtype=np.int64).reshape(-1, 3)]), axis=0)
        self.facts = _closure(facts, self.inverse)
        s, p, o = self.facts.T
        self._objects = _lists(p * n_entities + s, o)
        self._subjects = _lists(p * n_entities + o, s)

    def score_objects(self, s: IntArray, p: IntArray) -> FloatArray:
        """Scores of every entity as object, shape (len(s), n_entities)."""
        return self._mark(self._objects, np.asarray(p) * self.n_entities + np.asarray(s))

    def score_subjects(self, p: IntArray, o: IntArray) -> FloatArray:
        """Scores of every entity as subject, shape (len(o), n_entities)."""
        return self._mark(self._subjects, np.asarray(p) * self.n_entities + np.asarray(o))

    def _mark(self, lists: tuple[IntArray, IntArray], asked: IntArray) -> FloatArray:
        """Put 1 at the entities listed under each asked key."""
        keys, entities = lists
        scores = np.zeros((len(asked), self.n_entities))
        starts, stops = np.searchsorted(keys, asked, "left"), np.searchsorted(keys, asked, "right")
        for row, start, stop in zip(scores, starts, stops, strict=True):
            row[entities[start:stop]] = 1.0
        return scores


def _inverse_relations(train: IntArray, n_entities: int, n_relations: int, threshold: float) -> np.ndarray:
    """Boolean (n_relations, n_relations), symmetric: which relations reverse each other."""
    s, p, o = train.T
    order, reverse = np.argsort(s * n_entities + o, kind="stable"), o * n_entities + s
    pairs = (s * n_entities + o)[order]
    starts, stops = np.searchsorted(pairs, reverse, "left"), np.searchsorted(pairs, reverse, "right")
    shared = np.zeros((n_relations, n_relations), dtype=np.int64)
    for relation, start, stop in zip(p, starts, stops, strict=True):
        shared[relation, p[order[start:stop]]] += 1  # distinct triples: each relation at most once per pair
    share = shared / np.maximum(np.bincount(p, minlength=n_relations), 1)[:, None]
    rule = share >= threshold
    return rule | rule.T


def _closure(facts: IntArray, inverse: np.ndarray) -> IntArray:
    """The facts and all that follows from them by any number of reversals, as distinct rows."""
    while True:
        reversed_ = [facts]
        for r1, r2 in np.argwhere(inverse):
            s, _, o = facts[facts[:, 1] == r1].T
            reversed_.append(np.column_stack([o, np.full(len(s), r2), s]))
        grown = np.unique(np.vstack(reversed_), axis=0)
        if len(grown) == len(facts):
            return grown
        facts = grown


def _lists(keys: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Keys in ascending order with their values."""
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]
