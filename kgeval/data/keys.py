"""Further columns of facts, such as times and qualifiers, as codes: the filter key and the arguments of scorers.

Queries, known triples and positives are arrays of facts: the columns s, p, o, and then one column of codes for each
further column that the filter compares or that the scorer takes.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, listed
from kgeval.data.qualifiers import QUALIFIERS
from kgeval.data.triples import TripleSet
from kgeval.errors import DataError, ProtocolError


class HasColumns(typing.Protocol):
    """What this module reads of a `Dataset`, whose module imports this one."""

    name: str
    splits: dict[str, TripleSet]
    columns: dict[str, pd.DataFrame]

    @property
    def time_column(self) -> str | None:
        """The name of the column of time."""

    @property
    def has_qualifiers(self) -> bool:
        """Whether at least one triple has qualifiers."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the further columns."""

    def column(self, split: str, name: str) -> Any:
        """Return the values of a column of a split."""

    def column_codes(self, name: str) -> dict[str, Ids]:
        """Return the codes of a column, for each split."""

    def __getitem__(self, split: str) -> TripleSet:
        """Return the triples of a split."""


@dataclass(frozen=True)
class FurtherColumn:
    """A further column of a dataset as codes: equal values have equal codes in all splits, and a missing value too.

    Parameters
    ----------
    name : str
    codes : mapping of str to int64 array, shape (n,)
        For each split, the code of each triple's value.
    values : array or Qualifiers
        The value of each code.
    """

    name: str
    codes: Mapping[str, Ids]
    values: Any

    def code_of(self, value: Any) -> int:
        """Return the code of a value that a fact of the dataset has; raise a DataError if none has it."""
        wanted = sorted(value) if isinstance(value, (list, tuple)) else value
        for code in range(len(self.values)):
            here = self.values[code]
            is_missing = wanted in (None, "") and not isinstance(here, list) and bool(pd.isna(here))
            if is_missing or here == wanted or str(here) == str(wanted):
                return code
        raise DataError(f"given: no fact of the dataset has the {self.name} {value!r}")


@dataclass(frozen=True)
class FactColumns:
    """Which further columns an array of facts has: first those that the scorer takes, then others of the filter key.

    Parameters
    ----------
    scored : tuple of str
        The columns that the scorer takes.
    key : tuple of str
        The columns of the filter key.

    Examples
    --------
    >>> columns = FactColumns(("weight", "time"), ("time", "qualifiers"))
    >>> columns.names, columns.key_places, columns.n_scored
    (('weight', 'time', 'qualifiers'), (0, 1, 2, 4, 5), 5)
    """

    scored: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All further columns, in the order of the array."""
        return tuple(dict.fromkeys((*self.scored, *self.key)))

    @property
    def key_places(self) -> tuple[int, ...]:
        """The columns of an array of facts that the filter compares: s, p, o and those of the key."""
        return (0, 1, 2, *(3 + self.names.index(name) for name in self.key))

    @property
    def n_scored(self) -> int:
        """The number of columns at the start of an array of facts that the scorer takes, s, p, o included."""
        return 3 + len(self.scored)

    def key_parts(self, parts: Sequence[Any]) -> list[Any]:
        """Return those of the given columns of queries (see `Side.split`) that the filter compares, in its order."""
        return [*parts[:2], *(parts[2 + self.names.index(name)] for name in self.key)]


def natural_key(dataset: HasColumns) -> tuple[str, ...]:
    """Return the columns without which two facts may be the same triple: a column of time, and qualifiers."""
    time = dataset.time_column
    has_qualifiers = dataset.has_qualifiers or any(QUALIFIERS in frame for frame in dataset.columns.values())
    return (*([time] if time else []), *([QUALIFIERS] if has_qualifiers else []))


def further_column(dataset: HasColumns, name: str) -> FurtherColumn:
    """Return a further column of a dataset as codes.

    Parameters
    ----------
    dataset : Dataset
    name : str

    Raises
    ------
    DataError
        If the dataset has no such column.
    """
    cache: dict[str, FurtherColumn] = dataset.__dict__.setdefault("_further_columns", {})
    if name not in cache:
        if name not in dataset.column_names:
            known = ", ".join(dataset.column_names) or "none"
            raise DataError(f"dataset {dataset.name!r} has no column {name!r}; its further columns: {known}")
        values, codes = _values_and_codes(dataset, name)
        # first: for each distinct code, a row that has it; dense: for each row, the index of its code in `first`
        _, first, dense = np.unique(codes, return_index=True, return_inverse=True)
        ends = np.cumsum([len(triples) for triples in dataset.splits.values()])[:-1]
        parts = np.split(dense.reshape(-1).astype(np.int64), ends)
        cache[name] = FurtherColumn(name, dict(zip(dataset.splits, parts)), values.take(first))
    return cache[name]


def _values_and_codes(dataset: HasColumns, name: str) -> tuple[Any, Ids]:
    """Return the values of a column in all splits, one split after the other, and a code for each of them."""
    parts: list[Any] = [dataset.column(split, name) for split in dataset.splits]
    joined = np.concatenate(parts) if isinstance(parts[0], np.ndarray) else type(parts[0]).joined(parts)
    codes = dataset.column_codes(name)
    return joined, np.concatenate([codes[split] for split in dataset.splits])


def facts_of(dataset: HasColumns, splits: Sequence[str], names: Sequence[str] = ()) -> Ids:
    """Return the triples of several splits as one array, with the codes of further columns.

    Parameters
    ----------
    dataset : Dataset
    splits : sequence of str
        Splits of `dataset`; an empty sequence gives no triples.
    names : sequence of str
        Further columns.

    Returns
    -------
    int64 array, shape (n, 3 + number of names)
        Columns s, p, o and the codes of the further columns, in the order of `splits`. Repeated triples stay.
    """
    parts = [dataset[split].array for split in splits]
    triples = np.concatenate(parts) if parts else np.zeros((0, 3), dtype=np.int64)
    if not names or not parts:
        return np.column_stack([triples, *[triples[:, 0]] * len(names)]) if names else triples
    columns = [further_column(dataset, name).codes for name in names]
    return np.column_stack([triples, *(np.concatenate([codes[split] for split in splits]) for codes in columns)])


def check_key(dataset: HasColumns, filter_by: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the columns of the filter key; None becomes () if the dataset has neither times nor qualifiers.

    Parameters
    ----------
    dataset : Dataset
    filter_by : tuple of str or None
        See `Protocol`.

    Raises
    ------
    ProtocolError
        If the dataset has times or qualifiers and the key was not chosen, or if the key names no column.
    """
    natural, names = natural_key(dataset), dataset.column_names
    if filter_by is None:
        if not natural:
            return ()
        what = " and ".join("qualifiers" if name == QUALIFIERS else f"a column of time, {name!r}" for name in natural)
        key = f"({', '.join(repr(name) for name in natural)}{',' * (len(natural) == 1)})"
        words, joined = listed([*natural], len(natural)), ",".join(natural)
        raise ProtocolError(
            f"dataset {dataset.name!r} has {what}: which known answers does the filter remove? "
            f"Protocol(filter_by={key}) (--filter-by {joined}) removes those of the same {words}; "
            f"Protocol(filter_by=()) (--filter-by none) removes those of any {words}, as for plain triples. "
            "The numbers differ much, and papers use both"
        )
    for name in filter_by:
        if name not in names:
            raise ProtocolError(
                f"filter_by: dataset {dataset.name!r} has no column {name!r}; its further columns: "
                f"{', '.join(names) or 'none'}"
            )
    return filter_by
