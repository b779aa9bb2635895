"""`Vocabulary`: the labels of entities or relations and their ids; a `Dataset` holds two vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, cut_label, suggest
from kgeval.data.labels import Labels, NumberLabels, TextLabels, as_label_sequence
from kgeval.errors import DataError


class Vocabulary:
    """The labels of entities or relations; the id of a label is its position.

    Parameters
    ----------
    labels : iterable of str
        Distinct labels in id order. Labels are compared exactly: no case folding, no Unicode normalisation.

    Raises
    ------
    DataError
        If a label is not a string, or occurs more than once.

    Examples
    --------
    >>> places = Vocabulary(["Italy", "Jack"])
    >>> places.ids(["Jack"])
    array([1])
    >>> places.labels[1]
    'Jack'
    """

    def __init__(self, labels: Iterable[str]) -> None:
        if isinstance(labels, (str, bytes, Mapping, Set)):
            raise DataError(
                f"labels must be a sequence of strings in the order of the ids; got {type(labels).__name__}. From a "
                "dict {label: id}: sorted(ids, key=ids.get)"
            )
        given: Sequence[str] = labels if isinstance(labels, (Labels, list, tuple)) else tuple(labels)
        if not isinstance(given, Labels) and set(map(type, given)) != {str}:  # a subclass of str is a string too
            for position, label in enumerate(given):
                if not isinstance(label, str):
                    raise DataError(f"label {position} must be a string; got {label!r} ({type(label).__name__})")
        self.labels: Labels = as_label_sequence(given)
        if isinstance(self.labels, TextLabels) and self.labels.repeated:
            first, second = self.labels.repeated
            raise DataError(
                f"label {cut_label(self.labels[second])!r} occurs at ids {first} and {second}; labels must differ"
            )

    @classmethod
    def of_ids(cls, n: int) -> Vocabulary:
        """Return a vocabulary whose labels are the ids themselves as text: "0", "1", ..., up to n - 1.

        The labels are computed when they are needed, so even a large vocabulary uses almost no memory.

        Parameters
        ----------
        n : int

        Raises
        ------
        DataError
            If `n` is not an integer from 0 to 2**63 - 1.

        Examples
        --------
        >>> Vocabulary.of_ids(5_000_000)
        Vocabulary(5000000 labels: '0', '1', '2', ...)
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 0 <= n < 2**63:
            raise DataError(f"the number of ids must be an integer from 0 to 2**63 - 1; got {n!r}")
        return cls(NumberLabels(int(n)))

    @property
    def are_labels_ids(self) -> bool:
        """Whether the label of each id is the id itself, as text."""
        return isinstance(self.labels, NumberLabels)

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((len(self), *self.labels[:2], *self.labels[-1:]))

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:3])
        return f"Vocabulary({len(self)} labels: {shown}{', ...' if len(self) > 3 else ''})"

    def ids(self, labels: Sequence[str] | npt.NDArray[Any], what: str = "label") -> Ids:
        """Return the ids of `labels`; each label must be known.

        Parameters
        ----------
        labels : sequence of str
        what : str
            The word for a label in messages; for example ``"entity"``.

        Returns
        -------
        int64 array, shape (labels,)

        Raises
        ------
        DataError
            If a label is unknown; the message names this label and the most similar known label.
        """
        ids = self.find(labels)
        if (ids < 0).any():
            label = list(labels)[int(np.flatnonzero(ids < 0)[0])]
            raise DataError(f"unknown {what} {cut_label(repr(label))}{suggest(str(label), self.labels)}")
        return ids

    def find(self, labels: Sequence[str] | npt.NDArray[Any]) -> Ids:
        """Return the id of each label, int64, shape (labels,); -1 for unknown labels."""
        if isinstance(labels, str):
            raise DataError(f"expected a sequence of labels; got the single string {cut_label(labels)!r}")
        return self.labels.find(labels)


def triple_ids(entities: Vocabulary, relations: Vocabulary, triple: Sequence[str | int]) -> Ids:
    """Return the ids of a triple whose parts are labels or ids.

    Parameters
    ----------
    entities, relations : Vocabulary
    triple : sequence of three str or int
        Subject, relation, object; a string is a label, an integer an id.

    Returns
    -------
    int64 array, shape (3,)

    Raises
    ------
    DataError
        If a label is unknown or an id is out of range.

    Examples
    --------
    >>> triple_ids(Vocabulary(["a", "b"]), Vocabulary(["likes"]), ("b", 0, 0))
    array([1, 0, 0])
    """
    ids = []
    for vocabulary, kind, name in zip((entities, relations, entities), ("entity", "relation", "entity"), triple):
        if isinstance(name, str):
            ids.append(int(vocabulary.ids([name], kind)[0]))
        elif isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(vocabulary):
            ids.append(int(name))
        else:
            raise DataError(f"expected the {kind} as a label or an id in 0 .. {len(vocabulary) - 1}; got {name!r}")
    return np.array(ids, dtype=np.int64)
