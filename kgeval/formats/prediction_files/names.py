"""`NameTable` finds the entities or relations that a text may name, by their labels and the names of the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from kgeval.base.checks import Ids, counted, cut_label
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.formats.prediction_files.records import text_lines

Names = str | os.PathLike[str] | Mapping[str, str | Sequence[str]]
UNKNOWN = -1  # in place of an id: no entity or relation has this name
AMBIGUOUS = -2  # in place of an id: several entities or relations have this name


class NameTable:
    """A table that maps texts to ids of entities, or to ids of relations.

    Parameters
    ----------
    vocabulary : Vocabulary
    names : mapping of str to str or sequence of str, or path, optional
        See `kgeval.read_predictions`. Without names, only labels are found.
    kind : str
        ``"entity"`` or ``"relation"``, for messages.

    Raises
    ------
    DataError
        If `names` is a damaged file, or if `vocabulary` contains none of the labels in `names`.

    Examples
    --------
    >>> table = NameTable(Vocabulary(["Q1", "Q2", "Q3"]), {"Q1": "Paris", "Q2": ["Paris", "Paris, Texas"]}, "entity")
    >>> table.find(["Q3", "Paris, Texas", "Paris", "Rome"])
    array([ 2,  1, -2, -1])
    >>> table.owners("Paris")
    [0, 1]
    """

    def __init__(self, vocabulary: Vocabulary, names: Names | None, kind: str) -> None:
        self.vocabulary = vocabulary
        self.kind = kind
        self.has_names = names is not None
        self.notes: list[str] = []
        self.of_id: dict[int, list[str]] = {}  # the given names of each id
        self._owners: dict[str, list[int]] = {}  # the ids of each label and each name; empty without `names`
        if names is None:
            return
        given = _read(Path(names)) if isinstance(names, (str, os.PathLike)) else _checked(names, kind)
        ids = vocabulary.find(list(given)) if given else np.zeros(0, dtype=np.int64)
        if not (ids >= 0).any():
            first = next(iter(given), "")
            raise DataError(
                f"names of {kind}: none of {counted(len(given), 'label')} is in the dataset (the first is "
                f"{cut_label(first)!r}); expected {{label: name}}, or lines of label TAB name"
            )
        self.of_id = {int(i): texts for i, texts in zip(ids, given.values()) if i >= 0}
        for label_id, label in enumerate(vocabulary.labels):
            self._add(label, label_id)
        for label_id, texts in self.of_id.items():
            for text in texts:
                self._add(text, label_id)
        n_shared = sum(len(owners) > 1 for owners in self._owners.values())
        unnamed = len(vocabulary) - len(self.of_id)
        plural = {"entity": "entities", "relation": "relations"}[kind]
        self.notes = [
            f"names are given for {counted(len(self.of_id), kind)}"
            + (f" of {len(vocabulary):,} (the others have only their labels)" if unnamed else "")
            + (
                f"; {counted(n_shared, 'name')} {'is' if n_shared == 1 else 'are'} shared by several {plural}"
                if n_shared
                else ""
            )
        ]

    def _add(self, text: str, label_id: int) -> None:
        owners = self._owners.setdefault(text, [label_id])
        if label_id not in owners:
            owners.append(label_id)

    def find(self, texts: Sequence[str]) -> Ids:
        """Return the id of each text, int64, shape (texts,).

        A text without an id gets `UNKNOWN`, a text with several possible ids gets `AMBIGUOUS`.
        """
        if not self.has_names:
            return self.vocabulary.find(texts) if len(texts) else np.zeros(0, dtype=np.int64)
        found = [self._owners.get(text, ()) for text in texts]
        values = [owners[0] if len(owners) == 1 else AMBIGUOUS if owners else UNKNOWN for owners in found]
        return np.array(values, dtype=np.int64)

    def owners(self, text: str) -> list[int]:
        """Return the ids of all entities, or of all relations, that have the label or name `text`."""
        if self.has_names:
            return self._owners.get(text, [])
        found = int(self.vocabulary.find([text])[0])
        return [found] if found >= 0 else []

    def texts_of(self, label_id: int, folded: Callable[[str], str]) -> list[str]:
        """Return the label and the names of an id, each converted by `folded`, for example to lower case."""
        return [folded(text) for text in (self.vocabulary.labels[label_id], *self.of_id.get(label_id, ()))]


def _read(path: Path) -> dict[str, list[str]]:
    """Return the names in a file with ``label TAB name [TAB alias ...]`` on each line."""
    names: dict[str, list[str]] = {}
    for number, line in text_lines(path):
        label, *texts = line.split("\t")
        texts = [text for text in texts if text.strip()]
        if not texts:
            raise DataError(f"{path}, line {number}: expected a label and a name with a tab between; got {line[:80]!r}")
        names.setdefault(label, []).extend(texts)
    return names


def _checked(names: Mapping[str, str | Sequence[str]], kind: str) -> dict[str, list[str]]:
    """Return the names of a mapping as lists; raise a DataError for anything but strings."""
    if not isinstance(names, Mapping):
        raise DataError(f"names of {kind} must be a mapping {{label: name}} or a file; got {type(names).__name__}")
    lists: dict[str, list[str]] = {}
    for label, texts in names.items():
        one: Iterable[str] = [texts] if isinstance(texts, str) else texts
        lists[label] = list(one) if isinstance(one, Iterable) else [one]
        if not isinstance(label, str) or not all(isinstance(text, str) and text for text in lists[label]):
            raise DataError(f"names of {kind}: expected strings; got {label!r}: {texts!r}")
    return lists
