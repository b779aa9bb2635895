"""Baselines: scorers that need no training, only the triples of the train split.

Users call them as ``kgeval.baselines``; ``kgeval evaluate --beside`` evaluates them beside a model. A model that does
not beat the simple rules of this module has learned little of its graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals, check_one_of, check_seed, names_unknown_arguments, shows_only
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.lists import joined_ranges
from kgeval.data.queries import given_and_asked, query_parts
from kgeval.data.row_keys import rank_in
from kgeval.data.sides import SIDES
from kgeval.errors import DataError, ProtocolError

__all__ = ["Degree", "Frequency", "InverseRule", "Random", "Recency"]
__dir__ = shows_only(__all__)

INVERSE_SHARE = 0.8  # relations with this share of reversed pairs are inverse; see `InverseRule`


@names_unknown_arguments()
class Frequency:
    """Score an entity by its share among the subjects, or the objects, of the relation in train.

    The given entity plays no part. The share is the number of train triples of the relation with this entity, divided
    by the number of train triples of the relation; a relation that does not occur in train scores all entities 0.

    Parameters
    ----------
    dataset : Dataset
        Only its train split is used.

    Raises
    ------
    DataError
        If the dataset has no train triples.

    References
    ----------
    Safavi and Koutra (2020), CoDEx: A Comprehensive Knowledge Graph Completion Benchmark, EMNLP.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [2, 0, 1], [0, 0, 2]], n_entities=3, n_relations=1)
    >>> Frequency(dataset).score_objects(np.array([2]), np.array([0])).round(2)
    array([[0.  , 0.67, 0.33]])
    """

    def __init__(self, dataset: Dataset) -> None:
        self.made_from = dataset.fingerprint
        train = _train_of(dataset)
        n_of_relation = np.bincount(train[:, 1], minlength=len(dataset.relations))
        self._scores = {}
        for side in SIDES:
            _, asked = given_and_asked(train, side)
            index = KnownIndex.of((train[:, 1],), asked)
            keys, _ = index.layout.encode(train[:, 1], asked)
            _, counts = np.unique(keys, return_counts=True)  # (keys of the index,): how often each occurs in train
            starts, stops = index.spans(np.arange(len(dataset.relations)))
            shares = counts / np.repeat(n_of_relation, stops - starts)
            self._scores[side] = _EntityScores(index, shares, len(dataset.entities))

    def score_objects(self, s: Ids, p: Ids, candidates: Ids | None = None) -> Reals:
        """Return the scores of the candidates as objects, shape (queries, candidates)."""
        return self._rows("object", p, candidates)

    def score_subjects(self, p: Ids, o: Ids, candidates: Ids | None = None) -> Reals:
        """Return the scores of the candidates as subjects, shape (queries, candidates)."""
        return self._rows("subject", p, candidates)

    def _rows(self, side: str, p: Ids, candidates: Ids | None) -> Reals:
        relations, row_of = np.unique(p, return_inverse=True)  # queries of a relation have equal scores
        return self._scores[side].rows((relations,), candidates)[row_of.reshape(-1)]


@names_unknown_arguments()
class InverseRule:
    """Score 1 for each triple that follows from known triples by inverse relations, 0 for all other triples.

    Relations r1 and r2 are inverse if at least 80% of the distinct train pairs of r1 occur reversed in r2, or if at
    least 80% of those of r2 occur reversed in r1. A relation can be its own inverse. A triple scores 1 if it is known,
    or follows from known triples by any number of reversals.

    Parameters
    ----------
    dataset : Dataset
        The inverse relations are found in its train split.
    splits : sequence of str, optional
        The splits whose triples are known. By default, train and, as in the publication, valid. A split whose triples
        are ranked must not be among them.

    Attributes
    ----------
    inverse : int64 array, shape (pairs, 2)
        The pairs (r1, r2) of inverse relations, in both directions, sorted.

    Raises
    ------
    DataError
        If the dataset has no train triples.

    References
    ----------
    Dettmers et al. (2018), Convolutional 2D Knowledge Graph Embeddings, AAAI.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [1, 1, 0], [2, 0, 3]], n_entities=4, n_relations=2)
    >>> InverseRule(dataset).score_objects(np.array([3]), np.array([1]))
    array([[0., 0., 1., 0.]])
    """

    def __init__(self, dataset: Dataset, splits: Sequence[str] | None = None) -> None:
        self.made_from = dataset.fingerprint
        train = np.unique(_train_of(dataset), axis=0)
        if splits is None:
            splits = [split for split in ("train", "valid") if split in dataset]
        self.inverse = _inverse_relations(train, len(dataset.relations))
        facts = _closure(facts_of(dataset, splits), self.inverse)
        self._scores = {}
        for side in SIDES:
            index = KnownIndex.of(*query_parts(facts, side))
            self._scores[side] = _EntityScores(index, np.ones(len(index.keys)), len(dataset.entities))

    def score_objects(self, s: Ids, p: Ids, candidates: Ids | None = None) -> Reals:
        """Return the scores of the candidates as objects, shape (queries, candidates)."""
        return self._scores["object"].rows((p, s), candidates)

    def score_subjects(self, p: Ids, o: Ids, candidates: Ids | None = None) -> Reals:
        """Return the scores of the candidates as subjects, shape (queries, candidates)."""
        return self._scores["subject"].rows((p, o), candidates)


@names_unknown_arguments()
class Degree:
    """Score an entity by its degree: the number of train triples with this entity as subject or object.

    Neither the relation nor the given entity plays a part.

    Parameters
    ----------
    dataset : Dataset
        Only its train split is used.

    Raises
    ------
    DataError
        If the dataset has no train triples.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [0, 0, 0]], n_entities=3, n_relations=1)
    >>> Degree(dataset).score_objects(np.array([2]), np.array([0]))
    array([[2., 1., 0.]])
    """

    def __init__(self, dataset: Dataset) -> None:
        self.made_from = dataset.fingerprint
        s, _, o = _train_of(dataset).T
        n = len(dataset.entities)
        n_loops = np.bincount(s[s == o], minlength=n)  # a triple with the same subject and object counts once
        self._degrees = (np.bincount(s, minlength=n) + np.bincount(o, minlength=n) - n_loops).astype(np.float64)

    def score_objects(self, s: Ids, p: Ids, candidates: Ids | None = None) -> Reals:
        """Return the scores of the candidates as objects, shape (queries, candidates)."""
        return np.tile(self._degrees if candidates is None else self._degrees[candidates], (len(p), 1))

    def score_subjects(self, p: Ids, o: Ids, candidates: Ids | None = None) -> Reals:
        """Return the scores of the candidates as subjects, shape (queries, candidates)."""
        return self.score_objects(o, p, candidates)


@names_unknown_arguments()
class Random:
    """Score each triple by a random number from 0 to 1: the same number in every call, on every machine.

    Parameters
    ----------
    dataset : Dataset
        Not used; a parameter, so that all baselines are made alike.
    seed : int
        Another seed gives other numbers.

    Raises
    ------
    ProtocolError
        If `seed` is not an integer of at least 0.

    References
    ----------
    Steele et al. (2014), Fast Splittable Pseudorandom Number Generators, OOPSLA (the mixing function).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1)
    >>> Random(dataset)(np.array([0, 1]), np.array([0, 0]), np.array([1, 0])).round(3)
    array([0.258, 0.694])
    """

    def __init__(self, dataset: Dataset, seed: int = 0) -> None:
        self.made_from = dataset.fingerprint
        self.seed = check_seed(seed)

    def __call__(self, s: Ids, p: Ids, o: Ids) -> Reals:
        """Return the scores of n triples, shape (n,)."""
        mixed = np.full(len(s), self.seed, dtype=np.uint64)
        for ids in (s, p, o):
            mixed = _mixed(mixed + ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
        return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)


@names_unknown_arguments()
class Recency:
    """Score an answer by the latest time before the time of the query at which it was known; temporal datasets only.

    An answer of the query (s, p, ?, t) is known at each time of a triple (s, p, answer) of any split, so that times
    before t in valid and test count too, as in forecasting. Times from t on never count. The score is the number of
    the time step, counted from 0; an answer that was not known before t scores -1.

    Parameters
    ----------
    dataset : Dataset
        Its `time_column` must have numbers, or dates such as 2014-01-31, for the triples of all splits.

    Raises
    ------
    DataError
        If there is no such column, if a time is missing, or if the times are neither numbers nor dates.

    Examples
    --------
    >>> import pandas as pd
    >>> facts = pd.DataFrame({"s": "a", "p": "visits", "o": ["b", "c", "b"], "time": [1, 3, 7]})
    >>> dataset = Dataset.from_frames(train=facts)
    >>> Recency(dataset).score_objects(np.array([0, 0]), np.array([0, 0]), time=np.array([3, 4]))
    array([[-1.,  0., -1.],
           [-1.,  0.,  1.]])
    """

    def __init__(self, dataset: Dataset) -> None:
        self.made_from = dataset.fingerprint
        name = dataset.time_column
        if name is None:
            raise DataError(
                f"Recency needs the time of each triple, but dataset {dataset.name!r} has no column of times, which is "
                "named time, timestamp, date, year or t; choose another baseline, or give the column such a name"
            )
        column = dataset.column_values(name)
        if column.kind == "text":
            held = column.mixed or ", ".join(repr(value) for value in column.values[:2]) or "no value"
            raise DataError(
                f"Recency needs times that are numbers or dates such as 2014-01-31; column {name!r} of "
                f"{dataset.name!r} holds {held}"
            )
        for split, codes in column.codes.items():
            if (codes < 0).any():
                raise DataError(
                    f"Recency needs the time of each triple; triple {int(np.argmin(codes)) + 1} of {split} of "
                    f"{dataset.name!r} has none"
                )
        triples, steps = facts_of(dataset, tuple(dataset.splits)), np.concatenate([*column.codes.values()])
        self.n_entities, self._times = len(dataset.entities), column.values  # the code of a time is its step
        self._history = {}
        for side in SIDES:
            given, asked = query_parts(triples, side)
            self._history[side] = KnownIndex.of(given, steps * self.n_entities + asked)

    def score_objects(self, s: Ids, p: Ids, time: npt.ArrayLike) -> Reals:
        """Return the scores of all entities as objects, shape (queries, entities); `time` has one time per query."""
        return self._rows("object", p, s, time)

    def score_subjects(self, p: Ids, o: Ids, time: npt.ArrayLike) -> Reals:
        """Return the scores of all entities as subjects, shape (queries, entities); `time` has one time per query."""
        return self._rows("subject", p, o, time)

    def _rows(self, side: str, relation: Ids, given: Ids, time: npt.ArrayLike) -> Reals:
        scores = np.full((len(given), self.n_entities), -1.0)
        # The answers of the index are step * n_entities + entity, so those of a query are sorted by their time step.
        offsets, answers = self._history[side].lookup(relation, given)
        row = np.repeat(np.arange(len(given)), np.diff(offsets))
        step, entity = np.divmod(answers, self.n_entities)
        times = np.asarray(time)
        times = times.astype(self._times.dtype) if times.dtype.kind in "OU" else times
        is_before = step < np.searchsorted(self._times, times)[row]
        # Of equal cells, numpy keeps the value that is assigned last: that of the latest step.
        scores[row[is_before], entity[is_before]] = step[is_before]
        return scores


BASELINES = {
    "frequency": Frequency,
    "inverse": InverseRule,
    "degree": Degree,
    "random": Random,
    "recency": Recency,
}


def make_baselines(names: Iterable[str], dataset: Dataset, ranked: Sequence[str]) -> dict[str, Any]:
    """Return the baselines with these names; they know no triple of the ranked splits, but see `Recency`.

    Parameters
    ----------
    names : iterable of str
        Keys of `BASELINES`.
    dataset : Dataset
    ranked : sequence of str
        The splits that are ranked.

    Returns
    -------
    dict of str to scorer

    Raises
    ------
    ProtocolError
        If a name is unknown, or if the train split is ranked.
    DataError
        If the dataset does not have what a baseline needs.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1]], n_entities=2, n_relations=1)
    >>> list(make_baselines(["degree"], dataset, ["test"]))
    ['degree']
    """
    chosen = [check_one_of("baseline", name, BASELINES) for name in dict.fromkeys(names)]
    if chosen and "train" in ranked:
        raise ProtocolError("baselines are made from train, so they cannot be set beside a model that ranks train")
    splits = [split for split in ("train", "valid") if split in dataset and split not in ranked]
    return {name: InverseRule(dataset, splits) if name == "inverse" else BASELINES[name](dataset) for name in chosen}


@dataclass(frozen=True)
class _EntityScores:
    """Scores of the answers of each query in an index; all other entities score 0.

    Parameters
    ----------
    index : KnownIndex
    values : float64 array, shape (known,)
        The score of each answer, in the order of ``index.keys``.
    n_entities : int
    """

    index: KnownIndex
    values: Reals
    n_entities: int

    def rows(self, given: Sequence[Ids], candidates: Ids | None) -> Reals:
        """Return the scores of the candidates (None: of all entities), shape (queries, candidates)."""
        starts, stops = self.index.spans(*given)
        positions = joined_ranges(starts, stops - starts)  # of the answers of all queries
        row, entities = np.repeat(np.arange(len(starts)), stops - starts), self.index.answers[positions]
        if candidates is None or np.array_equal(candidates, np.arange(self.n_entities)):
            scores = np.zeros((len(starts), self.n_entities))
            scores[row, entities] = self.values[positions]
            return scores
        distinct, column_of = np.unique(candidates, return_inverse=True)
        column, is_candidate = rank_in(distinct, entities)
        scores = np.zeros((len(starts), len(distinct)))
        scores[row[is_candidate], column[is_candidate]] = self.values[positions[is_candidate]]
        return scores if len(distinct) == len(candidates) and (distinct == candidates).all() else scores[:, column_of]


def _train_of(dataset: Dataset) -> Ids:
    """Return the train triples; raise a DataError if there are none."""
    if "train" not in dataset or not len(dataset["train"]):
        raise DataError(f"a baseline is made from train triples, but dataset {dataset.name!r} has none")
    return dataset["train"].array


def _inverse_relations(train: Ids, n_relations: int) -> Ids:
    """Return the pairs of inverse relations, shape (pairs, 2); see `InverseRule`. The rows of `train` are distinct."""
    s, p, o = train.T
    # For each train triple (s, p, o), the relations of the train triples (o, relation, s).
    offsets, relation = KnownIndex.of((s, o), p).lookup(o, s)
    pairs = np.column_stack([np.repeat(p, np.diff(offsets)), relation])
    pairs, n_reversed = np.unique(pairs, axis=0, return_counts=True)
    n_triples = np.bincount(p, minlength=n_relations)
    rules = pairs[n_reversed >= INVERSE_SHARE * n_triples[pairs[:, 0]]]
    return np.unique(np.concatenate([rules, rules[:, ::-1]]), axis=0)


def _closure(facts: Ids, inverse: Ids) -> Ids:
    """Return the facts, and all triples that follow from them by any number of reversals, as distinct rows."""
    facts = np.unique(facts, axis=0)
    while True:
        s, p, o = facts.T
        starts, stops = np.searchsorted(inverse[:, 0], p), np.searchsorted(inverse[:, 0], p, side="right")
        relation = inverse[joined_ranges(starts, stops - starts), 1]
        fact = np.repeat(np.arange(len(facts)), stops - starts)  # the fact that each rule reverses
        grown = np.unique(np.concatenate([facts, np.column_stack([o[fact], relation, s[fact]])]), axis=0)
        if len(grown) == len(facts):
            return grown
        facts = grown


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the 64-bit mix of each value: every bit of the value changes half of the bits of its mix."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
