"""Further columns of facts, such as times and qualifiers, as codes: the filter key and the arguments of scorers.

Queries, known triples and positives are arrays of facts: the columns s, p, o, and then one column of codes for each
further column that the filter compares or that the scorer takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, cut_label, grouped, listed
from kgeval.data.column_names import meant_column
from kgeval.data.facts import Facts
from kgeval.data.fingerprints import FurtherPart
from kgeval.data.further_values import column_values
from kgeval.data.qualifiers import QUALIFIERS, Qualifiers
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, ProtocolError


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
    parameter : str
        The parameter of the scorer that takes the column; empty if it has the name of the column.
    """

    name: str
    codes: Mapping[str, Ids]
    values: Any
    parameter: str = ""


@dataclass(frozen=True)
class FactColumns:
    """Which further columns an array of facts has: first those that the scorer takes, then others of the filter key.

    Parameters
    ----------
    scored : tuple of str
        The columns that the scorer takes.
    key : tuple of str
        The columns of the filter key.
    by_side : tuple of (str, tuple of str)
        For each side, those of `scored` that the scorer takes there; on a side that is not named, all of them.

    Examples
    --------
    >>> columns = FactColumns(("weight", "time"), ("time", "qualifiers"), (("object", ("time",)),))
    >>> columns.names, columns.key_places, columns.n_scored
    (('weight', 'time', 'qualifiers'), (0, 1, 2, 4, 5), 5)
    >>> columns.on_side("object").names, columns.facts_on("object", np.array([[0, 0, 1, 7, 8, 9]]))
    (('time', 'qualifiers'), array([[0, 0, 1, 8, 9]]))
    """

    scored: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    by_side: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def on_side(self, side: str) -> FactColumns:
        """Return the columns of the facts of a side, `facts_on`."""
        return FactColumns(dict(self.by_side).get(side, self.scored), self.key)

    def facts_on(self, side: str, facts: Ids) -> Ids:
        """Return facts, shape (n, 3 or more), without the columns that neither scorer nor filter needs on a side."""
        names = self.on_side(side).names
        return facts if names == self.names else facts[:, [0, 1, 2, *(3 + self.names.index(name) for name in names)]]

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


NO_COLUMNS = FactColumns()


def natural_key(dataset: Facts) -> tuple[str, ...]:
    """Return the columns without which two facts may be the same triple: a column of time, and qualifiers."""
    time = dataset.time_column
    return (*([time] if time else []), *([QUALIFIERS] if dataset.has_qualifiers else []))


def column_notes(dataset: Facts, columns: FactColumns) -> list[str]:
    """Return notes about the columns that a scorer was given, and about times and qualifiers that it was not given."""
    notes = []
    sides_of = grouped((names, side) for side, names in columns.by_side)
    for names, sides in sides_of.items():
        where = f" on the {listed(sides)} side" if len(sides_of) > 1 else ""
        missing = " and ".join(name for name in natural_key(dataset) if name not in names)
        notes += [f"the scorer was given {', '.join(names)}{where}"] if names else []
        if missing:
            notes.append(
                f"the scorer was not given {missing}{where}: it has no parameter of this name, and triples that differ "
                f"only in {missing} get the same scores"
            )
    return notes


def further_column(dataset: Facts, name: str) -> FurtherColumn:
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
        columns: list[Any] = [dataset.column(split, name) for split in dataset.splits]
        is_array = isinstance(columns[0], np.ndarray)
        values = np.concatenate(columns) if is_array else Qualifiers.joined(columns)
        codes_of_split = dataset.column_codes(name)
        codes = np.concatenate([codes_of_split[split] for split in dataset.splits])
        # first: for each distinct code, a row that has it; dense: for each row, the index of its code in `first`
        _, first, dense = np.unique(codes, return_index=True, return_inverse=True)
        ends = np.cumsum([len(triples) for triples in dataset.splits.values()])[:-1]
        parts = np.split(dense.reshape(-1).astype(np.int64), ends)
        cache[name] = FurtherColumn(name, dict(zip(dataset.splits, parts)), values.take(first))
    return cache[name]


def codes_of(dataset: Facts, name: str, values: Sequence[Any], what: str, advice: str = "") -> Ids:
    """Return the codes of given values of a further column, as in `FurtherColumn`.

    Parameters
    ----------
    dataset : Dataset
    name : str
        A further column of `dataset`.
    values : sequence, shape (n,)
        Numbers, dates and texts are compared as in the dataset: ``"10"`` is 10. None and blank text are missing values.
        Qualifiers are lists of pairs (relation, entity), of labels or ids.
    what : str
        Where the values come from, for messages.
    advice : str
        The end of the message about a value that no fact has.

    Returns
    -------
    int64 array, shape (n,)

    Raises
    ------
    DataError
        If no fact of the dataset has one of the values; the message names the first such row.
    """
    column = further_column(dataset, name)
    # codes of the values of the column, in the order of its codes, and of the given values
    if isinstance(column.values, Qualifiers):
        asked = Qualifiers.of([_pairs(dataset, value, what) for value in values])
        known, found = np.split(Qualifiers.joined([column.values, asked]).codes(), [len(column.values)])
    else:
        distinct = dataset.column_values(name)
        has_missing = any((codes < 0).any() for codes in distinct.codes.values())
        texts = [*([None] if has_missing else []), *distinct.texts()]
        parts = {"known": pd.Series(texts, dtype=object), "asked": pd.Series([*values], dtype=object)}
        known, found = column_values(parts).codes.values()
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known[order], found), len(known) - 1)
    is_unknown = known[order][places] != found
    if is_unknown.any():
        row = int(np.argmax(is_unknown))
        shown = cut_label(repr(values[row]))
        raise DataError(
            f"{what}{f', row {row}' * (len(values) > 1)}: no fact of the dataset has the {name} {shown}{advice}"
        )
    return np.asarray(order[places], dtype=np.int64)


def distinct_texts(values: Any) -> list[str]:
    """Return the distinct values of a further column as texts, in their order; a missing value is ``"none"``.

    Parameters
    ----------
    values : pandas.Series, array or Qualifiers

    Examples
    --------
    >>> distinct_texts(np.array([10.0, 9.0, np.nan, 10.0]))
    ['none', '9', '10']
    """
    if isinstance(values, Qualifiers):
        return [*dict.fromkeys(str(values[row]) for row in range(len(values)))]
    found = column_values({"rows": pd.Series(values)})
    return [*(["none"] if (found.codes["rows"] < 0).any() else []), *found.texts()]


def _pairs(dataset: Facts, value: Any, what: str) -> list[tuple[int, int]]:
    """Return the qualifiers of a fact as pairs of ids; `value` has labels or ids, or is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return []
    if not isinstance(value, (list, tuple)) or any(
        not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in value
    ):
        raise DataError(f"{what}: expected qualifiers as a list of pairs (relation, entity); got {value!r}")

    def as_id(vocabulary: Vocabulary, one: Any) -> int:
        return int(vocabulary.ids([one])[0] if isinstance(one, str) else one)

    return [(as_id(dataset.relations, relation), as_id(dataset.entities, entity)) for relation, entity in value]


def fingerprint_part(dataset: Facts, name: str, codes: Mapping[str, Ids]) -> FurtherPart:
    """Return codes of a further column as a part of a fingerprint, which depends on the values, not on the codes.

    Parameters
    ----------
    dataset : Dataset
    name : str
    codes : mapping of str to int64 array
        For each array of triples, codes as in `FurtherColumn`.
    """
    values = further_column(dataset, name).values
    if isinstance(values, Qualifiers):
        labels = (dataset.relations.labels, dataset.entities.labels)
        texts = [
            json.dumps(sorted([labels[0][relation], labels[1][entity]] for relation, entity in values[row]))
            for row in range(len(values))
        ]
    else:
        distinct = dataset.column_values(name)
        texts = ["" for _ in range(len(values) - len(distinct.values))] + distinct.texts()
    in_order = sorted(texts)
    place = {text: i for i, text in enumerate(in_order)}
    place_of = np.array([place[text] for text in texts], dtype=np.int64)
    return FurtherPart(name, in_order, {part: place_of[of] for part, of in codes.items()})


def facts_of(dataset: Facts, splits: Sequence[str], names: Sequence[str] = ()) -> Ids:
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


def as_key(filter_by: Sequence[str] | str) -> tuple[str, ...]:
    """Return the names of a filter key in their order; one string can name several, separated by commas.

    Parameters
    ----------
    filter_by : str or sequence of str

    Raises
    ------
    ProtocolError
        If it does not hold names.

    Examples
    --------
    >>> as_key("qualifiers,time"), as_key(())
    (('time', 'qualifiers'), ())
    """
    given: Any = filter_by.split(",") if isinstance(filter_by, str) else filter_by
    names = [name.strip() if isinstance(name, str) else "" for name in given] if isinstance(given, Iterable) else [""]
    if not all(names):
        raise ProtocolError(f"filter_by must name columns of the dataset; got {filter_by!r}")
    return tuple(sorted(set(names), key=lambda name: (name == QUALIFIERS, name)))


def check_key(dataset: Facts, filter_by: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the columns of the filter key; None becomes () if the dataset has neither times nor qualifiers.

    ``"time"`` becomes the name of the column of time, so that a key has one spelling.

    Parameters
    ----------
    dataset : Dataset
    filter_by : str, sequence of str or None
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
        chosen = f"({', '.join(repr(name) for name in natural)}{',' * (len(natural) == 1)})"
        words, joined = listed([*natural], len(natural)), ",".join(natural)
        raise ProtocolError(
            f"dataset {dataset.name!r} has {what}: which known answers does the filter remove? "
            f"Protocol(filter_by={chosen}) (--filter-by {joined}) removes those of the same {words}; "
            f"Protocol(filter_by=()) (--filter-by none) removes those of any {words}, as for plain triples. "
            "The numbers differ much, and papers use both"
        )
    key = as_key([meant_column(name, names) for name in as_key(filter_by)])
    for name in key:
        if name not in names:
            raise ProtocolError(
                f"filter_by: dataset {dataset.name!r} has no column {name!r}; its further columns: "
                f"{', '.join(names) or 'none'}"
            )
    return key
