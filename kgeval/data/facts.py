"""The facts of a dataset: triples in named splits, and their further columns, such as times and qualifiers.

`kgeval.data.keys` reads these; `kgeval.data.dataset.Dataset` adds how a dataset is made, checked and described.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, suggest
from kgeval.data.column_names import TIME_NAMES
from kgeval.data.further_values import ColumnValues, column_values
from kgeval.data.qualifiers import QUALIFIERS, Qualifiers
from kgeval.data.triples import ONE_FILE, SPLITS, TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, ProtocolError


class Facts:
    """The part of a `Dataset` that holds its facts; `Dataset` documents the attributes."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    splits: dict[str, TripleSet]
    notes: tuple[str, ...]
    columns: dict[str, pd.DataFrame]
    qualifiers: dict[str, Qualifiers]
    _column_values: dict[str, ColumnValues]

    def __getitem__(self, split: str) -> TripleSet:
        if split not in self.splits:
            names = ", ".join(self.splits)
            hint = "" if split in SPLITS else suggest(split, self.splits)
            if ONE_FILE in self.notes:
                hint = "; dataset.split({'train': .8, 'valid': .1, 'test': .1}) makes valid and test"
            raise ProtocolError(f"dataset {self.name!r} has no split {split!r}; it has {names}{hint}")
        return self.splits[split]

    def __contains__(self, split: object) -> bool:
        return split in self.splits

    @property
    def has_qualifiers(self) -> bool:
        """Whether at least one triple has qualifiers."""
        return any(len(of.relations) for of in self.qualifiers.values())

    @property
    def time_column(self) -> str | None:
        """The name of the column that holds the time of each triple; None if there is no such column.

        The column is named time, timestamp, date, year or t, in upper or lower case. If several columns have such
        names, the first of these names decides.
        """
        names = [name for name in self.column_names if name.lower() in TIME_NAMES]
        return min(names, key=lambda name: TIME_NAMES.index(name.lower()), default=None)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the further columns of all splits; ``"qualifiers"`` comes last, if triples have qualifiers."""
        names = dict.fromkeys(str(name) for frame in self.columns.values() for name in frame)
        return (*names, *([QUALIFIERS] if self.qualifiers else []))

    def column_values(self, name: str) -> ColumnValues:
        """Return the values of a column of numbers, dates or text in all splits, and one code for each distinct value.

        Parameters
        ----------
        name : str
            The name of a further column, but not ``"qualifiers"``.

        Raises
        ------
        DataError
            If there is no such column.
        """
        if name not in self._column_values:
            parts: dict[str, Any] = {split: len(triples) for split, triples in self.splits.items()}
            parts |= {split: frame[name] for split, frame in self.columns.items() if name in frame}
            if all(isinstance(part, int) for part in parts.values()):
                known = ", ".join(self.column_names) or "none"
                raise DataError(f"dataset {self.name!r} has no column {name!r}; its further columns: {known}")
            self._column_values[name] = column_values(parts)
        return self._column_values[name]

    def column(self, split: str, name: str) -> npt.NDArray[Any] | Qualifiers:
        """Return a further column of a split, with one value for each triple.

        Parameters
        ----------
        split : str
        name : str

        Returns
        -------
        array, shape (n,), or Qualifiers
            Numbers (int64 or float64) if all values of the column in all splits are numbers, datetime64 if all are
            dates, else text (object). Missing values are NaN, NaT or None; triples of a split without qualifiers have
            none. `Qualifiers` for the name ``"qualifiers"``.

        Raises
        ------
        DataError
            If there is no such column.
        """
        if name == QUALIFIERS and self.qualifiers:
            return self.qualifiers_of(split)
        self[split]  # raises an error if there is no such split
        return self.column_values(name).of(split)

    def qualifiers_of(self, split: str) -> Qualifiers:
        """Return the qualifiers of a split; a split without qualifiers gets an empty list for each triple.

        Parameters
        ----------
        split : str
        """
        return self.qualifiers[split] if split in self.qualifiers else Qualifiers.none(len(self[split]))

    def column_codes(self, name: str) -> dict[str, Ids]:
        """Return one code for each triple of each split: two triples have equal values if their codes are equal.

        Codes are comparable across splits. The codes of numbers and dates are in ascending order of the values.

        Parameters
        ----------
        name : str

        Returns
        -------
        dict of str to int64 array, shape (n,)
            For each split. A missing value has the code -1; a triple without qualifiers has the code 0.

        Raises
        ------
        DataError
            If there is no such column.
        """
        if name == QUALIFIERS and self.qualifiers:
            joined = Qualifiers.joined([self.qualifiers_of(split) for split in self.splits])
            ends = np.cumsum([len(triples) for triples in self.splits.values()])[:-1]
            return dict(zip(self.splits, np.split(joined.codes(), ends)))
        return self.column_values(name).codes
