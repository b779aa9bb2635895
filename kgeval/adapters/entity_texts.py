"""Read the texts of entities and relations, for `kgeval.adapters.texts` and `kgeval.adapters.encoders`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores, counted, cut_label
from kgeval.base.files import read_text
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, ScoreError

Texts = Mapping[str, str] | str | os.PathLike[str]
MISSING = ("error", "label")


@dataclass(frozen=True)
class EntityTexts:
    """The texts of the entities, or of the relations, of a dataset.

    Parameters
    ----------
    distinct : tuple of str
        The distinct texts.
    of : int64 array, shape (entities,)
        For each entity, the index of its text in `distinct`.
    notes : tuple of str
        Notes that count the entities with the same text as another entity, and the entities whose label serves as text.
    """

    distinct: tuple[str, ...]
    of: Ids
    notes: tuple[str, ...]

    @classmethod
    def read(cls, vocabulary: Vocabulary, kind: str, given: Texts | None, missing: str) -> EntityTexts:
        """Find the text of each label in a vocabulary.

        Parameters
        ----------
        vocabulary : Vocabulary
        kind : str
            ``"entity"`` or ``"relation"``.
        given : dict, path or None
        missing : str
            As in `kgeval.adapters.from_texts`: ``"error"`` or ``"label"``.
        """
        argument = "texts" if kind == "entity" else "relation_texts"
        notes = []
        if given is None:
            texts = list(vocabulary.labels)
        else:
            known, source = _given_texts(given, argument)
            lacking = [label for label in vocabulary.labels if not known.get(label, "").strip()]
            if lacking and (missing == "error" or len(lacking) == len(vocabulary)):
                shown = ", ".join(repr(cut_label(label)) for label in lacking[:3])
                some = next(iter(known), None)
                raise DataError(
                    f"{source}: no text for {counted(len(lacking), kind)} of {len(vocabulary):,} ({shown}"
                    f"{', ...' if len(lacking) > 3 else ''}); it has texts for {counted(len(known), 'label')}"
                    f"{'' if some is None else f', such as {cut_label(some)!r}'}. Texts belong to the labels of the "
                    "dataset; missing='label' takes the label of each entity or relation without a text"
                )
            if lacking:
                has, have = f"{kind} has no text", f"{'entities' if kind == 'entity' else 'relations'} have no text"
                notes.append(f"{counted(len(lacking), has, have)}: the function gets the label (missing='label')")
            without = set(lacking)
            texts = [label if label in without else known[label] for label in vocabulary.labels]
        index = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        of = np.array([index[text] for text in texts], dtype=np.int64)
        shared = np.flatnonzero(np.bincount(of, minlength=len(index))[of] > 1)
        if len(shared):
            first, second = np.flatnonzero(of == of[shared[0]])[:2]
            labels = vocabulary.labels
            has = f"{kind} has the same text as another {kind}"
            have = f"{'entities' if kind == 'entity' else 'relations'} have the same text as another {kind}"
            notes.append(
                f"{counted(len(shared), has, have)}, and so the same scores (such as {cut_label(labels[first])!r} and "
                f"{cut_label(labels[second])!r}: {cut_label(texts[first])!r})"
            )
        return cls(tuple(index), of, tuple(notes))


def both_texts(
    dataset: Dataset, texts: Texts | None, relation_texts: Texts | None, missing: str
) -> tuple[EntityTexts, EntityTexts]:
    """Return the texts of the entities and of the relations of a dataset.

    Parameters
    ----------
    dataset : Dataset
    texts, relation_texts, missing
        See `kgeval.adapters.from_texts`.

    Raises
    ------
    DataError
        If an entity or relation has no text, or if a file cannot be read.

    Examples
    --------
    >>> from kgeval.data.dataset import Dataset
    >>> dataset = Dataset.from_frames(train=[("Q1", "P1", "Q2")])
    >>> both_texts(dataset, {"Q1": "Jack", "Q2": "Rome"}, {"P1": "likes"}, "error")[0].distinct
    ('Jack', 'Rome')
    """
    return (
        EntityTexts.read(dataset.entities, "entity", texts, missing),
        EntityTexts.read(dataset.relations, "relation", relation_texts, missing),
    )


def _given_texts(given: Any, argument: str) -> tuple[Mapping[str, str], str]:
    """Return a dict from label to text, and the name of its source for messages."""
    if isinstance(given, (str, os.PathLike)):
        return _text_file(Path(given)), str(given)
    if not isinstance(given, Mapping):
        raise DataError(
            f"{argument} must be a dict {{label: text}} or the path of a file; got {type(given).__name__}. From texts "
            "in the order of the ids: dict(zip(dataset.entities.labels, texts))"
        )
    for label, text in given.items():
        if not isinstance(label, str) or not isinstance(text, str):
            raise DataError(
                f"{argument}: expected labels and texts as str; got {cut_label(repr(label))}: {cut_label(repr(text))}"
            )
    return given, argument


def _text_file(path: Path) -> dict[str, str]:
    """Return the texts of a file with ``label<TAB>text`` on each line."""
    texts: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line:
            continue
        label, *rest = line.split("\t")
        if len(rest) != 1:
            raise DataError(
                f"{path}, line {number}: expected label<TAB>text; found {counted(len(rest), 'tab')}. Read other files "
                "into a dict {label: text}"
            )
        if texts.get(label, rest[0]) != rest[0]:
            raise DataError(f"{path}, line {number}: a second text for the label {cut_label(label)!r}")
        texts[label] = rest[0]
    return texts


def joined(name: str, parts: Sequence[Scores]) -> Scores:
    """Join the results of several calls of a function.

    Parameters
    ----------
    name : str
        The name of the function, for messages.
    parts : sequence of arrays, shape (n,) or (n, d)

    Raises
    ------
    ScoreError
        If the results differ in dtype or in d.
    """
    if len({(part.dtype, part.shape[1:]) for part in parts}) > 1:
        kinds = sorted({f"{part.dtype}, shape (n{''.join(f', {n}' for n in part.shape[1:])})" for part in parts})
        raise ScoreError(f"{name} gave different kinds of results ({' and '.join(kinds)}); keep to one dtype and shape")
    return np.concatenate(parts) if parts else np.empty(0)
