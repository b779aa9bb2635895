"""The columns that a dataset adds to a table of ranks."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import check_one_of
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset
from kgeval.errors import DataError, ProtocolError
from kgeval.features.relations import CARDINALITIES, PATTERNS, cardinalities, patterns
from kgeval.features.rows import Rows
from kgeval.queries import SIDES

SEEN = ("seen", "unseen entity", "unseen relation")
NEED_TRAIN = ("degree_given", "degree_asked", "relation_frequency", "seen")
NEED_TYPES = ("type_given", "type_asked")
OVER_SPLITS = ("cardinality", "pattern")  # depend on the splits that they are taken over


class KnowsFilter(typing.Protocol):
    """What says which splits are known: `kgeval.Protocol`, which stands in a layer above."""

    @property
    def filter_splits(self) -> Sequence[str] | None:
        """The splits whose triples the filtered setting leaves out; None: all that the dataset has."""


def degree_buckets(degrees: npt.ArrayLike) -> pd.Categorical:
    """Sort counts into the buckets 0, 1, 2-3, 4-7, 8-15, ..., each twice as wide as the one before.

    Parameters
    ----------
    degrees : array_like of int, shape (n,)
        At least 0.

    Returns
    -------
    ordered pandas.Categorical, shape (n,)
        The categories go from 0 to the greatest that occurs, also where one between is empty.

    Raises
    ------
    DataError
        If a degree is negative or no integer.

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
    codes = np.searchsorted(2 ** np.arange(63, dtype=np.int64), counts, side="right")
    labels = ["0", "1", *(f"{2**k}-{2 ** (k + 1) - 1}" for k in range(1, int(codes.max(initial=0))))]
    return _categorical(codes, labels[: int(codes.max(initial=0)) + 1], ordered=True)


def _categorical(codes: npt.NDArray[np.integer[Any]], labels: Sequence[str], ordered: bool = False) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, pd.Index(list(labels), dtype=object), ordered=ordered)


class _Source:
    """What the columns are made from: the rows, and the choices of `features_of`."""

    def __init__(
        self,
        rows: Rows,
        filter_splits: Sequence[str] | None,
        splits_for_means: Sequence[str] | None,
        types: pd.Categorical | None,
    ) -> None:
        self.rows = rows
        self.known_splits = _splits(rows.dataset, filter_splits)
        self.splits_for_means = _splits(rows.dataset, splits_for_means)
        self.types = types
        self.notes: list[str] = []

    def of_types(self, ids: npt.NDArray[np.int64]) -> pd.Categorical:
        types = typing.cast(pd.Categorical, self.types)
        return pd.Categorical.from_codes(types.codes[ids], dtype=types.dtype)


def _splits(dataset: Dataset, named: Sequence[str] | str | None) -> tuple[str, ...]:
    return tuple(dataset.splits) if named is None else (named,) if isinstance(named, str) else tuple(named)


def _by_relation(names: npt.NDArray[np.object_], categories: Sequence[str], rows: Rows) -> pd.Categorical:
    return _categorical(pd.Categorical(names, categories=list(categories)).codes[rows.relation], categories)


def _cardinality(source: _Source) -> pd.Categorical:
    rows = source.rows
    triples = known_triples(rows.dataset, source.splits_for_means)
    return _by_relation(cardinalities(triples, len(rows.dataset.relations)), CARDINALITIES, rows)


def _pattern(source: _Source) -> pd.Categorical:
    rows = source.rows
    names, note = patterns(known_triples(rows.dataset, source.splits_for_means), len(rows.dataset.relations))
    source.notes += [note] if note else []
    return _by_relation(names, PATTERNS, rows)


def _seen(source: _Source) -> pd.Categorical:
    rows, dataset = source.rows, source.rows.dataset
    is_known = dataset.is_seen_entity[rows.given] & dataset.is_seen_entity[rows.asked]
    codes = np.where(is_known, np.where(dataset.is_seen_relation[rows.relation], 0, 2), 1)
    return _categorical(codes, SEEN)


def _known_answers(source: _Source) -> pd.Categorical:
    rows = source.rows
    known = known_triples(rows.dataset, source.known_splits)
    counts = np.zeros(len(rows), dtype=np.int64)
    for side in SIDES:
        here = np.flatnonzero(rows.is_subject == (side == "subject"))
        if len(here):
            counts[here] = KnownIndex.of(known, side).count_others(rows.triples[here], side)
    return degree_buckets(counts)


FEATURES: dict[str, Callable[[_Source], pd.Categorical]] = {
    "cardinality": _cardinality,
    "pattern": _pattern,
    "degree_given": lambda source: degree_buckets(source.rows.degrees[source.rows.given]),
    "degree_asked": lambda source: degree_buckets(source.rows.degrees[source.rows.asked]),
    "relation_frequency": lambda source: degree_buckets(source.rows.frequencies[source.rows.relation]),
    "seen": _seen,
    "known_answers": _known_answers,
    "type_given": lambda source: source.of_types(source.rows.given),
    "type_asked": lambda source: source.of_types(source.rows.asked),
}


def features_of(
    table: pd.DataFrame,
    protocol: KnowsFilter,
    dataset: Dataset,
    *,
    names: Sequence[str] | None = None,
    splits_for_means: Sequence[str] | None = None,
    types: pd.Categorical | None = None,
) -> pd.DataFrame:
    """Return what the dataset says about each row of a ranks table, to break metrics down by.

    ``cardinality``, ``pattern``: of the relation, see `cardinalities` and `patterns`. ``degree_given``,
    ``degree_asked``: in how many distinct triples of train the given entity and the true answer stand, as subject or
    object. ``relation_frequency``: in how many the relation stands. ``seen``: ``"unseen entity"`` where train lacks the
    given entity or the answer, else ``"unseen relation"`` where it lacks the relation, else ``"seen"``.
    ``known_answers``: how many other answers of the query the filter knows, whether the setting removes them or not.
    ``type_given``, ``type_asked``: types of the entities. Counts stand in the buckets of `degree_buckets`.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns s, p, o (ids) and side, as `EvaluationResult.table` has them. Not modified.
    protocol : Protocol
        Its `filter_splits` say which answers are known.
    dataset : Dataset
        The one that was ranked.
    names : sequence of str, optional
        Of `FEATURES`; only these are computed. By default all that can be: those of `NEED_TRAIN` only with a train
        split, those of `NEED_TYPES` only with `types`.
    splits_for_means : sequence of str, optional
        Where cardinality and pattern come from; by default all splits.
    types : pandas.Categorical, shape (entities,), optional
        The type of each entity in id order, as `read_types` returns it.

    Returns
    -------
    pandas.DataFrame
        Categorical columns, RangeIndex, one row per row of `table`. ``attrs["notes"]`` lists cautions.

    Raises
    ------
    DataError
        If the table does not fit the dataset, or `types` the entities.
    ProtocolError
        If a name is unknown, or what a column needs is lacking.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [0, 0, 2]], test=[[0, 0, 3]], n_entities=4, n_relations=1)
    >>> table = pd.DataFrame({"s": [0, 0], "p": [0, 0], "o": [3, 3], "side": ["subject", "object"]})
    >>> from kgeval import Protocol
    >>> features_of(table, Protocol(), dataset, names=["degree_given", "seen", "known_answers"])
      degree_given           seen known_answers
    0            0  unseen entity             0
    1          2-3  unseen entity           2-3
    """
    source = _Source(Rows(table, dataset), protocol.filter_splits, splits_for_means, _check_types(types, dataset))
    lacking = _lacking(dataset, types)
    names = features_at_hand(dataset, types) if names is None else names
    for name in names:
        if check_one_of("a feature", name, FEATURES) in lacking:
            raise ProtocolError(f"feature {name!r} needs {lacking[name]}")
    frame = pd.DataFrame({name: FEATURES[name](source) for name in names}, index=pd.RangeIndex(len(source.rows)))
    frame.attrs["notes"] = source.notes
    return frame


def features_at_hand(dataset: Dataset, types: pd.Categorical | None = None) -> list[str]:
    """Return the names of the features that can be computed from a dataset, and `types` if there are any.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1)
    >>> features_at_hand(dataset)
    ['cardinality', 'pattern', 'known_answers']
    """
    lacking = _lacking(dataset, types)
    return [name for name in FEATURES if name not in lacking]


def _lacking(dataset: Dataset, types: pd.Categorical | None) -> dict[str, str]:
    """Return what each feature that cannot be had would need."""
    train = {} if "train" in dataset else dict.fromkeys(NEED_TRAIN, f"a train split; dataset {dataset.name!r} has none")
    return train | (dict.fromkeys(NEED_TYPES, "types=; see read_types") if types is None else {})


def _check_types(types: pd.Categorical | None, dataset: Dataset) -> pd.Categorical | None:
    if types is None:
        return None
    if not isinstance(types, pd.Categorical):
        raise DataError(f"types must be a pandas.Categorical in id order; got {type(types).__name__}. See read_types")
    if len(types) != len(dataset.entities):
        raise DataError(f"types must name one type per entity, {len(dataset.entities):,}; got {len(types):,}")
    if (types.codes < 0).any():
        label = dataset.entities.labels[int(np.argmax(types.codes < 0))]
        raise DataError(f"types must name one type per entity; entity {label!r} has a missing one. Call it 'none'")
    return types
