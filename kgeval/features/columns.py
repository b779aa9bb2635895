"""One function for each feature (a column computed from a dataset), and `features_of`, which calls these functions.

Results of `evaluate` and of `classify` call `features_of`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, check_one_of
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.protocol import Protocol
from kgeval.data.queries import query_parts
from kgeval.data.sides import ALL_SIDES
from kgeval.errors import DataError, ProtocolError
from kgeval.features.relations import (
    CARDINALITIES,
    HALF_LINKS,
    LEAKS,
    PATTERNS,
    cardinalities,
    half_links,
    leaks,
    patterns,
)
from kgeval.features.rows import TripleRows

SEEN = ("seen", "unseen entity", "unseen relation")
TRAIN, TYPES, SIDE, ENTITY_SIDE = "train", "types", "side", "entity side"  # the possible values of `Feature.needs`


def degree_buckets(degrees: npt.ArrayLike) -> pd.Categorical:
    """Return the bucket of each count: 0, 1, 2-3, 4-7, 8-15, and so on.

    Each bucket except 0 starts at a power of two and ends before the next power of two.

    Parameters
    ----------
    degrees : array_like of int, shape (n,)
        Counts, at least 0.

    Returns
    -------
    ordered pandas.Categorical, shape (n,)
        The categories are all buckets from 0 to the bucket of the largest count, including empty buckets.

    Raises
    ------
    DataError
        If a degree is negative or not an integer.

    Examples
    --------
    >>> [str(bucket) for bucket in degree_buckets([0, 1, 2, 3, 4, 9])]
    ['0', '1', '2-3', '2-3', '4-7', '8-15']
    """
    counts = np.asarray(degrees)
    if counts.size == 0:
        counts = np.zeros(0, dtype=np.int64)
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise DataError(f"degrees must be integers of shape (n,); got {counts.dtype} of shape {counts.shape}")
    if (counts < 0).any():
        row = int(np.argmax(counts < 0))
        raise DataError(f"degrees must be at least 0; got {counts[row]} in row {row}")
    # codes, (n,): the index of each count's bucket, the number of powers of two (1, 2, 4, ...) up to the count.
    codes = np.searchsorted(2 ** np.arange(63, dtype=np.int64), counts, side="right")
    labels = ["0", "1", *(f"{2**k}-{2 ** (k + 1) - 1}" for k in range(1, int(codes.max(initial=0))))]
    return _categorical(codes, labels[: int(codes.max(initial=0)) + 1], ordered=True)


def _categorical(codes: npt.NDArray[np.integer[Any]], labels: Sequence[str], ordered: bool = False) -> pd.Categorical:
    """Return a column whose categories are `labels`; each code is the index of a value in `labels`."""
    return pd.Categorical.from_codes(codes, pd.Index(list(labels), dtype=object), ordered=ordered)


@dataclass(frozen=True)
class Feature:
    """A column that is computed from a dataset for a table of triples.

    Parameters
    ----------
    name : str
        The name of the column.
    make : function
        Takes a `FeatureSource` and returns a pandas.Categorical with one value per row.
    needs : tuple of str
        The inputs that the feature needs, any of ``"train"`` (the dataset has a train split), ``"types"`` (types of the
        entities are given), ``"side"`` (the table has the column side) and ``"entity side"`` (the column side, with
        ranks of an entity side; the column has no value for ranks of the relation side).
    over_splits : bool
        Whether the column depends on the argument `means_from` of `features_of`.
    """

    name: str
    make: Callable[[FeatureSource], pd.Categorical]
    needs: tuple[str, ...] = ()
    over_splits: bool = False


FEATURES: dict[str, Feature] = {}


def _feature(name: str, *needs: str, over_splits: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that registers a function as the feature `name`; `Feature` explains `needs`."""

    def register(make: Callable[[FeatureSource], pd.Categorical]) -> Callable[[FeatureSource], pd.Categorical]:
        FEATURES[name] = Feature(name, make, needs, over_splits)
        return make

    return register


class FeatureSource:
    """The input of the functions that compute features: the rows, and the arguments of `features_of`.

    Attributes
    ----------
    rows : TripleRows
    known_splits : tuple of str
        The splits whose triples are the known triples.
    means_from : tuple of str
        The splits from which cardinality and pattern are computed.
    types : pandas.Categorical or None
        The type of each entity in id order.
    notes : list of str
        Cautions about the features, for users; the functions that compute features append to this list.
    """

    def __init__(
        self,
        rows: TripleRows,
        known_splits: Sequence[str] | None,
        means_from: Sequence[str] | None,
        types: pd.Categorical | None,
    ) -> None:
        self.rows = rows
        self.known_splits = _splits(rows.dataset, known_splits)
        self.means_from = _splits(rows.dataset, means_from)
        self.types = types
        self.notes: list[str] = []

    def types_of(self, ids: Ids) -> pd.Categorical:
        """Return the types of the entities with these ids."""
        types = typing.cast(pd.Categorical, self.types)
        return pd.Categorical.from_codes(types.codes[ids], dtype=types.dtype)

    def by_relation(self, names: npt.NDArray[np.object_], categories: Sequence[str]) -> pd.Categorical:
        """Return a column that contains, in each row, the value that `names` gives for the row's relation.

        Parameters
        ----------
        names : object array of str, shape (relations,)
            Element i is the value of the relation with id i.
        categories : sequence of str
            All possible values.

        Returns
        -------
        pandas.Categorical, shape (rows,)
        """
        # codes, (relations,): the position of each relation's value in `categories`
        codes = pd.Categorical(names, categories=list(categories)).codes
        return _categorical(codes[self.rows.relation], categories)


def _splits(dataset: Dataset, names: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the names of splits as a tuple; None means all splits of the dataset."""
    return tuple(dataset.splits) if names is None else (names,) if isinstance(names, str) else tuple(names)


@_feature("cardinality", over_splits=True)
def _cardinality(source: FeatureSource) -> pd.Categorical:
    dataset = source.rows.dataset
    triples = facts_of(dataset, source.means_from)
    return source.by_relation(cardinalities(triples, len(dataset.relations)), CARDINALITIES)


@_feature("pattern", over_splits=True)
def _pattern(source: FeatureSource) -> pd.Categorical:
    dataset = source.rows.dataset
    names, note = patterns(facts_of(dataset, source.means_from), len(dataset.relations))
    source.notes += [note] if note else []
    return source.by_relation(names, PATTERNS)


@_feature("degree_given", TRAIN, ENTITY_SIDE)
def _degree_given(source: FeatureSource) -> pd.Categorical:
    return degree_buckets(source.rows.degrees[source.rows.given])


@_feature("degree_asked", TRAIN, ENTITY_SIDE)
def _degree_asked(source: FeatureSource) -> pd.Categorical:
    return degree_buckets(source.rows.degrees[source.rows.asked])


@_feature("relation_frequency", TRAIN)
def _relation_frequency(source: FeatureSource) -> pd.Categorical:
    return degree_buckets(source.rows.frequencies[source.rows.relation])


@_feature("seen", TRAIN)
def _seen(source: FeatureSource) -> pd.Categorical:
    rows, dataset = source.rows, source.rows.dataset
    is_known = dataset.is_seen_entity[rows.triples[:, [0, 2]]].all(axis=1)
    codes = np.where(is_known, np.where(dataset.is_seen_relation[rows.relation], 0, 2), 1)
    return _categorical(codes, SEEN)


@_feature("leak", TRAIN)
def _leak(source: FeatureSource) -> pd.Categorical:
    rows, dataset = source.rows, source.rows.dataset
    found = leaks(rows.triples, dataset["train"].array, len(dataset.relations))
    names = ("symmetric", "inverse", "near-duplicate")  # the first that fits
    codes = np.select([found[name] for name in names], [LEAKS.index(name) for name in names], LEAKS.index("none"))
    return _categorical(codes, LEAKS)


@_feature("half_link", TRAIN)
def _half_link(source: FeatureSource) -> pd.Categorical:
    has_subject, has_object = half_links(source.rows.triples, source.rows.dataset["train"].array)
    return _categorical(np.where(has_subject, 1 - has_object, 3 - has_object), HALF_LINKS)


@_feature("known_answers", SIDE)
def _known_answers(source: FeatureSource) -> pd.Categorical:
    rows = source.rows
    known = facts_of(rows.dataset, source.known_splits)
    counts = np.zeros(len(rows), dtype=np.int64)
    is_object = ~rows.is_subject & ~rows.is_relation
    for side, is_side in zip(ALL_SIDES, (rows.is_subject, is_object, rows.is_relation)):
        side_rows = np.flatnonzero(is_side)
        if len(side_rows):
            index = KnownIndex.of(*query_parts(known, side))
            counts[side_rows] = index.count_others(*query_parts(rows.triples[side_rows], side))
    return degree_buckets(counts)


@_feature("type_given", TYPES, ENTITY_SIDE)
def _type_given(source: FeatureSource) -> pd.Categorical:
    return source.types_of(source.rows.given)


@_feature("type_asked", TYPES, ENTITY_SIDE)
def _type_asked(source: FeatureSource) -> pd.Categorical:
    return source.types_of(source.rows.asked)


NEED_SIDE = tuple(name for name, feature in FEATURES.items() if {SIDE, ENTITY_SIDE} & {*feature.needs})
NEED_TYPES = tuple(name for name, feature in FEATURES.items() if TYPES in feature.needs)
OVER_SPLITS = tuple(name for name, feature in FEATURES.items() if feature.over_splits)


def features_of(
    table: pd.DataFrame,
    protocol: Protocol | None,
    dataset: Dataset,
    *,
    names: Sequence[str] | None = None,
    means_from: Sequence[str] | None = None,
    types: pd.Categorical | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the features of each row of a table of triples, for breakdowns of metrics.

    - ``cardinality``, ``pattern``: the class of the relation; see `cardinalities` and `patterns`.
    - ``degree_given``: the number of distinct triples of train that contain the given entity as subject or object.
    - ``degree_asked``: the number of distinct triples of train that contain the true answer as subject or object.
    - ``relation_frequency``: the number of distinct triples of train that contain the relation.
    - ``seen``: ``"unseen entity"`` if the given entity or the answer does not occur in train; otherwise
      ``"unseen relation"`` if the relation does not occur in train; otherwise ``"seen"``.
    - ``leak``: how train gives the triple away: ``"symmetric"`` if train contains (o, p, s); otherwise ``"inverse"`` if
      it contains (o, q, s) for another relation q; otherwise ``"near-duplicate"`` if it contains (s, q, o) for a
      near-duplicate q of p; otherwise ``"none"``. See `leaks`.
    - ``half_link``: ``"both"`` if train contains (s, p, ?) and (?, p, o); ``"subject and relation"`` or ``"relation and
      object"`` if it contains only the one or only the other; otherwise ``"none"``.
    - ``known_answers``: the number of known answers of the query, without the true answer of the row. The
      number is the same for raw and for filtered ranks.
    - ``type_given``, ``type_asked``: the types of the given entity and of the true answer.

    Counts are grouped into the buckets of `degree_buckets`. On the relation side, (s, ?, o), no entity is missing: the
    features ``..._given`` and ``..._asked`` have no value there.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns s, p, o (ids) and side, as in `EvaluationResult.table`. The column side is optional, but some
        features need it. Not modified.
    protocol : Protocol, optional
        The known answers come from the splits that the protocol's `filter` names; without a protocol, from
        all splits.
    dataset : Dataset
        The dataset that was ranked.
    names : sequence of str, optional
        The features to compute, keys of `FEATURES`. By default all features of `features_at_hand`.
    means_from : sequence of str, optional
        The splits from which cardinality and pattern are computed; by default all splits.
    types : pandas.Categorical, shape (entities,), optional
        The type of each entity in id order; `read_types` returns such a column.

    Returns
    -------
    frame : pandas.DataFrame
        One categorical column per feature, one row per row of `table`; the index is a RangeIndex.
    notes : list of str
        Cautions about the features.

    Raises
    ------
    DataError
        If `table` lacks a column, if it has ids that are not in the dataset, or if `types` does not contain one type
        for each entity of the dataset.
    ProtocolError
        If a name is unknown, or if an input that a feature needs is missing (see `Feature.needs`).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [0, 0, 2]], test=[[0, 0, 3]], n_entities=4, n_relations=1)
    >>> table = pd.DataFrame({"s": [0, 0], "p": [0, 0], "o": [3, 3], "side": ["subject", "object"]})
    >>> from kgeval import Protocol
    >>> features_of(table, Protocol(), dataset, names=["degree_given", "seen", "known_answers"])[0]
      degree_given           seen known_answers
    0            0  unseen entity             0
    1          2-3  unseen entity           2-3
    """
    rows = TripleRows(table, dataset)
    known_splits = None if protocol is None else protocol.filter
    source = FeatureSource(rows, known_splits, means_from, _check_types(types, dataset))
    missing_needs = _missing_needs(dataset, types, rows.has_sides)
    if len(rows) and rows.is_relation.all():
        text = "the missing entity of a query, and the table has only ranks of the relation side, (s, ?, o)"
        missing_needs |= {name: text for name, feature in FEATURES.items() if ENTITY_SIDE in feature.needs}
    names = [name for name in FEATURES if name not in missing_needs] if names is None else names
    for name in names:
        if check_one_of("a feature", name, FEATURES) in missing_needs:
            raise ProtocolError(f"feature {name!r} needs {missing_needs[name]}")
    at = np.flatnonzero(~rows.is_relation)
    of_entities = source
    if len(at) < len(rows):
        of_entities = FeatureSource(TripleRows(table.iloc[at], dataset), known_splits, means_from, types)
    columns = {}
    for name in names:
        needs_entity = ENTITY_SIDE in FEATURES[name].needs
        columns[name] = FEATURES[name].make(of_entities if needs_entity else source)
        if needs_entity and len(at) < len(rows):
            codes = np.full(len(rows), -1, dtype=np.int64)
            codes[at] = columns[name].codes
            columns[name] = pd.Categorical.from_codes(codes, dtype=columns[name].dtype)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows))), source.notes


def features_at_hand(dataset: Dataset, types: pd.Categorical | None = None, has_sides: bool = True) -> list[str]:
    """Return the names of the features that `features_of` can compute from this input.

    Parameters
    ----------
    dataset : Dataset
    types : pandas.Categorical, shape (entities,), optional
        The types of the entities, if they are given.
    has_sides : bool
        Whether the table has the column side, as tables of ranks do, with ranks of an entity side.

    Returns
    -------
    list of str
        Keys of `FEATURES`.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1)
    >>> features_at_hand(dataset)
    ['cardinality', 'pattern', 'known_answers']
    """
    missing_needs = _missing_needs(dataset, types, has_sides)
    return [name for name in FEATURES if name not in missing_needs]


def _missing_needs(dataset: Dataset, types: pd.Categorical | None, has_sides: bool) -> dict[str, str]:
    """Return a dict of the features that cannot be computed: for each name, the missing input as text for a message."""
    missing = {
        TRAIN: "" if "train" in dataset else f"a train split; dataset {dataset.name!r} has none",
        TYPES: "types=; see read_types (result.with_features(types=read_types(file, result.entities)[0]))"
        if types is None
        else "",
        SIDE: "" if has_sides else "the column side, which tells which side of each row is the answer",
    }
    missing[ENTITY_SIDE] = missing[SIDE]
    # If a feature lacks several inputs, only the last missing input is reported. The last one is the column side:
    # without this column, types or a train split would not help.
    return {name: missing[need] for name, feature in FEATURES.items() for need in feature.needs if missing[need]}


def _check_types(types: pd.Categorical | None, dataset: Dataset) -> pd.Categorical | None:
    """Return `types`; raise a DataError unless `types` contains one type for each entity of the dataset."""
    if types is None:
        return None
    if not isinstance(types, pd.Categorical):
        raise DataError(f"types must be a pandas.Categorical in id order; got {type(types).__name__}. See read_types")
    if len(types) != len(dataset.entities):
        raise DataError(f"types must contain one type per entity, {len(dataset.entities):,}; got {len(types):,}")
    if (types.codes < 0).any():
        label = dataset.entities.labels[int(np.argmax(types.codes < 0))]
        raise DataError(f"types must contain one type per entity; entity {label!r} has none. Use the type 'none'")
    return types
