"""`Qualifiers`: the qualifiers of hyper-relational facts, such as (start time: 1999) beside a triple.

`Dataset` holds the qualifiers of each split; the filter, scorers and features compare facts by them.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, check_ids, cut_label
from kgeval.data.lists import joined_ranges
from kgeval.data.row_keys import group_rows
from kgeval.errors import DataError

QUALIFIERS = "qualifiers"  # the name of the column of qualifiers


class Qualifiers:
    """The qualifiers of facts: for each fact, any number of pairs of a relation and an entity.

    The pairs of a fact have no order; the constructor sorts them. A pair may occur several times in a fact.

    Parameters
    ----------
    relations, entities : array_like of int, shape (pairs,)
        Ids of the dataset's vocabularies, fact after fact.
    offsets : array_like of int, shape (facts + 1,)
        The pairs of fact i are at the positions ``offsets[i]:offsets[i + 1]``.

    Attributes
    ----------
    relations, entities : int64 array, shape (pairs,)
        Sorted by relation, then by entity, within each fact. Read-only.
    offsets : int64 array, shape (facts + 1,)
        Read-only.

    Raises
    ------
    DataError
        If an id is negative or not an integer, if the arrays differ in length, or if the offsets do not divide them.

    Examples
    --------
    >>> qualifiers = Qualifiers.of([[(1, 7), (0, 9)], [], [(0, 9), (1, 7)]])
    >>> qualifiers.relations, qualifiers.entities, qualifiers.offsets
    (array([0, 1, 0, 1]), array([9, 7, 9, 7]), array([0, 2, 2, 4]))
    >>> qualifiers.codes()
    array([1, 0, 1])
    """

    relations: Ids
    entities: Ids
    offsets: Ids

    def __init__(self, relations: npt.ArrayLike, entities: npt.ArrayLike, offsets: npt.ArrayLike) -> None:
        most = np.iinfo(np.int64).max
        r = check_ids("the relations of qualifiers", np.asarray(relations), most, (None,))
        e = check_ids("the entities of qualifiers", np.asarray(entities), most, (None,))
        ends = check_ids("the offsets of qualifiers", np.asarray(offsets), most, (None,))
        if len(r) != len(e):
            raise DataError(f"qualifiers: expected one entity for each relation; got {len(r)} and {len(e)}")
        if not len(ends) or ends[0] or ends[-1] != len(r) or (np.diff(ends) < 0).any():
            raise DataError(f"qualifiers: expected offsets that rise from 0 to {len(r)}, the number of pairs")
        order = np.lexsort([e, r, np.repeat(np.arange(len(ends) - 1), np.diff(ends))])
        self._set(r[order], e[order], ends.copy())

    def _set(self, relations: Ids, entities: Ids, offsets: Ids) -> None:
        for name, array in (("relations", relations), ("entities", entities), ("offsets", offsets)):
            array.flags.writeable = False
            setattr(self, name, array)

    @classmethod
    def of(cls, facts: Iterable[Sequence[tuple[int, int]] | None]) -> Qualifiers:
        """Make the qualifiers of facts from lists of pairs (relation, entity), one list or None for each fact.

        Parameters
        ----------
        facts : iterable of sequences of pairs of int
            None: a fact without qualifiers.
        """
        rows = [[] if pairs is None else list(pairs) for pairs in facts]
        flat = [pair for pairs in rows for pair in pairs]
        if any(len(pair) != 2 for pair in flat):
            raise DataError("qualifiers: expected pairs (relation, entity)")
        relations, entities = np.array(flat if flat else np.zeros((0, 2), dtype=np.int64)).T
        return cls(relations, entities, np.cumsum([0, *map(len, rows)]))

    @classmethod
    def none(cls, n: int) -> Qualifiers:
        """Return the qualifiers of `n` facts that have none.

        Parameters
        ----------
        n : int
        """
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, np.zeros(n + 1, dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Qualifiers]) -> Qualifiers:
        """Return the facts of several parts, one part after the other.

        Parameters
        ----------
        parts : sequence of Qualifiers
        """
        counts = np.concatenate([np.zeros(1, dtype=np.int64), *(part.counts for part in parts)])
        relations, entities = (
            np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(part, name) for part in parts)])
            for name in ("relations", "entities")
        )
        return cls._of_sorted(relations, entities, np.cumsum(counts))

    @classmethod
    def _of_sorted(cls, relations: Ids, entities: Ids, offsets: Ids) -> Qualifiers:
        """Return qualifiers whose pairs are sorted already."""
        made = cls.__new__(cls)
        made._set(relations, entities, offsets)
        return made

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> Ids:
        """The number of qualifiers of each fact, int64 (facts,)."""
        return np.diff(self.offsets)

    def __getitem__(self, fact: int) -> list[tuple[int, int]]:
        """Return the sorted pairs (relation, entity) of one fact."""
        fact = range(len(self))[fact]
        part = slice(self.offsets[fact], self.offsets[fact + 1])
        return list(zip(self.relations[part].tolist(), self.entities[part].tolist()))

    def take(self, rows: npt.ArrayLike) -> Qualifiers:
        """Return the qualifiers of the facts at these indices, in this order.

        Parameters
        ----------
        rows : array_like of int, shape (n,)
        """
        chosen = np.asarray(rows, dtype=np.int64)
        counts = self.counts[chosen]
        pairs = joined_ranges(self.offsets[chosen], counts)
        return self._of_sorted(self.relations[pairs], self.entities[pairs], np.append(0, np.cumsum(counts)))

    def codes(self) -> Ids:
        """Return one code for each fact: two facts have the same code if, and only if, their qualifiers are equal.

        Equal means the same pairs, each the same number of times. To compare the facts of several parts, call this
        method on their `joined` qualifiers.

        Returns
        -------
        int64 array, shape (facts,)
            0 for facts without qualifiers. Otherwise from 1, without gaps, sorted by the number of pairs, then by the
            pairs.
        """
        codes = np.zeros(len(self), dtype=np.int64)
        counts, next_code = self.counts, 1
        for n in np.unique(counts[counts > 0]).tolist():
            facts = np.flatnonzero(counts == n)
            pairs = self.offsets[facts][:, None] + np.arange(n)
            # Columns: the relation and the entity of the first pair, then those of the second pair, and so on.
            columns = [part[pairs[:, i]] for i in range(n) for part in (self.relations, self.entities)]
            order, starts = group_rows(*columns)
            codes[facts[order]] = next_code + np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            next_code += len(starts) - 1
        return codes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Qualifiers):
            return NotImplemented
        names = ("relations", "entities", "offsets")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Qualifiers({len(self):,} facts, {len(self.relations):,} pairs)"


@dataclass(frozen=True)
class LabelQualifiers:
    """Qualifiers with labels in place of ids; `Dataset.from_labels` converts them.

    Parameters
    ----------
    relations, entities : pandas.Categorical of str, shape (pairs,)
    offsets : int64 array, shape (facts + 1,)
        See `Qualifiers`.
    """

    relations: pd.Categorical
    entities: pd.Categorical
    offsets: Ids

    @classmethod
    def of(cls, facts: Sequence[Sequence[Sequence[str]]]) -> LabelQualifiers:
        """Make the qualifiers from lists of pairs of labels (relation, entity), one list for each fact.

        Parameters
        ----------
        facts : sequence of sequences of pairs of str
        """
        flat = [pair for pairs in facts for pair in pairs]
        relations, entities = (pd.Categorical(np.array([pair[i] for pair in flat], dtype=object)) for i in (0, 1))
        return cls(relations, entities, np.cumsum([0, *map(len, facts)]))


def refuse_column(what: str, value: Any) -> typing.NoReturn:
    """Raise the DataError for a column named ``qualifiers`` that holds no `Qualifiers`, such as a column of text.

    Its values would be compared as they are written, so the same qualifiers in another order would be others.

    Parameters
    ----------
    what : str
        The split or file of the column.
    value : object
        A value of the column.
    """
    raise DataError(
        f"{what}: the column {QUALIFIERS!r} holds {cut_label(repr(value))}; kgeval reads qualifiers from lines "
        "s,p,o,qp1,qv1,... (StarE), from a column of lists of pairs of labels (relation, entity) in a frame "
        "(Dataset.from_frames), and from pairs of ids (Dataset.from_arrays, columns=). If the column means something "
        "else, give it another name, or leave it out: columns='h,r,t,-' (--columns h,r,t,-)"
    )


def check_qualifiers(split: str, value: Any, n_facts: int, n_entities: int, n_relations: int) -> Qualifiers:
    """Return the qualifiers of a split, checked against its dataset.

    Parameters
    ----------
    split : str
    value : Qualifiers, or a sequence of lists of pairs (relation, entity)
    n_facts, n_entities, n_relations : int

    Raises
    ------
    DataError
        If there is not one list for each fact, or if an id is not an id of the dataset.
    """
    qualifiers = value
    if not isinstance(qualifiers, Qualifiers):
        try:
            qualifiers = Qualifiers.of(value)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"qualifiers of {split}: expected Qualifiers, or a list of pairs (relation, entity) of ids, or None, "
                f"for each fact; got {type(value).__name__}: {error}"
            ) from None
    if len(qualifiers) != n_facts:
        raise DataError(f"qualifiers of {split}: expected {n_facts} lists, one per triple; got {len(qualifiers)}")
    for name, n in (("relations", n_relations), ("entities", n_entities)):
        check_ids(f"qualifiers of {split}, {name}", getattr(qualifiers, name), n, (None,))
    return qualifiers
