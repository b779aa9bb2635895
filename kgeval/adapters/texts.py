"""`from_texts` makes a scorer from a function that scores texts, such as a language model."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.adapters.entity_texts import MISSING, EntityTexts, Texts, both_texts, joined
from kgeval.adapters.text_cache import TextCache
from kgeval.base.checks import (
    Ids,
    Scores,
    check_one_of,
    check_positive_int,
    counted,
    cut_label,
    names_unknown_arguments,
)
from kgeval.base.files import pack_labels
from kgeval.data.dataset import Dataset
from kgeval.errors import ScoreError
from kgeval.scorers.rounding import Rounding, score_differences
from kgeval.scorers.values import as_scores

BATCH_SIZE = 1024
KEYS_AT_A_TIME = 8192  # texts whose keys are made and looked up at a time
MAX_PROBED = 3  # triples that are scored a second time as a check
FIELDS = ("{subject}", "{relation}", "{object}")
_FIELD = re.compile(f"({'|'.join(map(re.escape, FIELDS))})")  # split() keeps the fields


@names_unknown_arguments()
def from_texts(
    score: Callable[..., Any],
    *,
    texts: Texts | None = None,
    relation_texts: Texts | None = None,
    template: str | None = None,
    batch_size: int = BATCH_SIZE,
    missing: str = "error",
    cache: str | os.PathLike[str] | None = None,
    model_name: str | None = None,
) -> TextAdapter:
    """Make an adapter from a function that scores texts; `kgeval.evaluate` accepts the adapter as a scorer.

    Parameters
    ----------
    score : function
        ``score(subjects, relations, objects)`` gets three lists of n strings, and returns n scores (list, array or
        tensor). Higher is better. A score must depend on its own three texts only. With `template`, ``score(texts)``
        gets one list.
    texts : dict of str to str, or path, optional
        The text of each entity by its label; or a UTF-8 file with ``label<TAB>text`` on each line, such as
        ``entity2text.txt``. By default the labels are the texts. Entities with the same text get the same scores; a
        note of the result counts them.
    relation_texts : dict of str to str, or path, optional
        The same for relations.
    template : str, optional
        A template that makes one text from each triple, for example ``"{subject} [SEP] {relation} [SEP] {object}"``.
    batch_size : int
        The largest number of triples in one call of `score`. A triple that occurs several times is scored once.
    missing : str
        What happens if the text of an entity or relation is missing or empty. ``"error"``: an error is raised.
        ``"label"``: the label is used as its text; a note of the result counts these cases.
    cache : path, optional
        A file that keeps the scores, or a folder for this file. Each batch is stored at once, so an interrupted
        evaluation continues where it stopped, and a later evaluation does not call `score` for stored triples. Several
        processes may use the file at the same time.
    model_name : str, optional
        A name of the model; `cache` requires it, because only this name distinguishes the stored scores of two models.
        Choose a new name whenever something changes the scores: the weights, a prompt within `score`, or the length at
        which texts are cut. The first call of `score` also scores a few stored triples again, and raises an error if
        their scores changed.

    Returns
    -------
    TextAdapter
        Its method ``for_dataset(dataset)`` returns a scorer for the ids of a dataset; `kgeval.evaluate` calls it.

    Raises
    ------
    ScoreError
        If `score` cannot be called, if `cache` is given without `model_name`, or if `template` lacks a field.

    Notes
    -----
    A ranking among all entities scores every entity for each query. `kgeval.candidates.Listed`, or
    ``kgeval.Protocol(sample=...)``, reduce the work.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_frames(train=[("Q1", "P1", "Q2")], test=[("Q2", "P1", "Q3")])
    >>> texts = {"Q1": "Jack", "Q2": "the city of Rome", "Q3": "Rome"}
    >>> def common_words(subjects, relations, objects):
    ...     return [len(set(s.split()) & set(o.split())) for s, o in zip(subjects, objects)]
    >>> result = evaluate(from_texts(common_words, texts=texts, relation_texts={"P1": "is"}), dataset)
    >>> round(result["mrr"], 3), result.facts["scorer"]
    (0.583, 'common_words')
    """
    if not callable(score) or isinstance(score, type):
        raise ScoreError(f"expected a function score(subjects, relations, objects); got {cut_label(repr(score))}")
    check_one_of("missing", missing, MISSING, ScoreError)
    if cache is not None and not (isinstance(model_name, str) and model_name):
        raise ScoreError(
            "cache= requires model_name=, such as model_name='bert-base, epoch 3': without a name, the stored scores "
            f"of another model would be used for this model; got {model_name!r}"
        )
    if template is not None and (not isinstance(template, str) or any(field not in template for field in FIELDS)):
        raise ScoreError(f"template= must contain {', '.join(FIELDS)}; got {template!r}")
    check_positive_int("batch_size", batch_size, ScoreError)
    return TextAdapter(score, texts, relation_texts, template, batch_size, missing, cache, model_name)


@dataclass(frozen=True, eq=False)
class TextAdapter:
    """The adapter of a function of texts; `from_texts` makes it and describes its attributes.

    Parameters
    ----------
    score : function
    texts, relation_texts : dict, path or None
    template : str or None
    batch_size : int
    missing : str
    cache : path or None
    model_name : str or None
    """

    score: Callable[..., Any]
    texts: Texts | None
    relation_texts: Texts | None
    template: str | None
    batch_size: int
    missing: str
    cache: str | os.PathLike[str] | None
    model_name: str | None

    def for_dataset(self, dataset: Dataset) -> TextScorer:
        """Return the scorer for a dataset.

        Parameters
        ----------
        dataset : Dataset

        Returns
        -------
        TextScorer

        Raises
        ------
        DataError
            If an entity or relation of the dataset has no text, or if the cache cannot be used.
        """
        cache = None if self.cache is None else TextCache(Path(self.cache), str(self.model_name))
        entities, relations = both_texts(dataset, self.texts, self.relation_texts, self.missing)
        return TextScorer(self, entities, relations, cache)


class TextScorer:
    """A scorer of triples by their texts, for the ids of a dataset; `TextAdapter.for_dataset` makes it.

    Parameters
    ----------
    adapter : TextAdapter
    entities, relations : EntityTexts
    cache : TextCache or None
    """

    def __init__(
        self, adapter: TextAdapter, entities: EntityTexts, relations: EntityTexts, cache: TextCache | None
    ) -> None:
        name: Any = adapter.model_name or getattr(adapter.score, "__name__", type(adapter.score).__name__)
        self.__name__ = str(name)
        self.adapter, self.entities, self.relations, self.cache = adapter, entities, relations, cache
        self._text_notes = (*entities.notes, *relations.notes)
        self._has_read_earlier = False  # whether scores of earlier runs were read
        self._run = uuid.uuid4().hex  # is stored with each score, to recognise scores of earlier runs
        self._has_scored = False
        self._stored_before: tuple[Ids, Scores] | None = None  # a few scores of earlier runs, until they are checked
        self._is_checked = False

    @property
    def max_pairs(self) -> int | None:
        """The largest number of triples in a call; None if there is no limit.

        With a cache, the speed of a call does not predict the speed of the next call, since stored scores need almost
        no time. The calls then have a fixed size.
        """
        return None if self.cache is None else max(BATCH_SIZE, self.adapter.batch_size)

    def identity_parts(self) -> dict[str, Any]:
        """Return the data, besides the function, on which scores depend: the texts of all entities and relations."""
        return {
            "template": self.adapter.template,
            "model name": self.adapter.model_name,
            "texts of entities": pack_labels(self.entities.distinct),
            "text of each entity": self.entities.of,
            "texts of relations": pack_labels(self.relations.distinct),
            "text of each relation": self.relations.of,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the texts, and a note if scores of earlier runs were read from the cache."""
        if not self._has_read_earlier or self.cache is None:
            return self._text_notes
        read = (
            f"scores that an earlier run stored were read from {self.cache.path.name}; only the name "
            f"{self.adapter.model_name!r} identifies the model"
        )
        return (*self._text_notes, read)

    def __call__(self, s: Ids, p: Ids, o: Ids) -> Scores:
        """Return the scores of n triples of ids, shape (n,); each distinct triple of texts is scored once."""
        n_entities, n_relations = len(self.entities.distinct), len(self.relations.distinct)
        # codes (n,): one integer per triple of texts
        codes = (self.entities.of[s] * n_relations + self.relations.of[p]) * n_entities + self.entities.of[o]
        distinct, place_of = np.unique(codes, return_inverse=True)
        scores = self._computed(distinct) if self.cache is None else self._cached(self.cache, distinct)
        return np.asarray(scores[place_of.reshape(-1)])

    def _computed(self, codes: Ids) -> Scores:
        """Score distinct triples of texts in batches."""
        size = self.adapter.batch_size
        parts = [self._scored(codes[start : start + size]) for start in range(0, len(codes), size)]
        return joined(self.__name__, parts)

    def _cached(self, cache: TextCache, codes: Ids) -> Scores:
        """Return the scores of distinct triples of texts: read them from the cache, or compute and store them."""
        todo, parts, places = [], [], []
        for start in range(0, len(codes), KEYS_AT_A_TIME):
            part = codes[start : start + KEYS_AT_A_TIME]
            found = cache.find([cache.key(texts) for texts in zip(*self._inputs(part))], self._run)
            if len(found.places):
                parts.append(found.scores)
                places.append(start + found.places)
            self._has_read_earlier |= not found.is_own.all()
            if self._stored_before is None and not found.is_own.all():
                earlier = np.flatnonzero(~found.is_own)[:MAX_PROBED]
                self._stored_before = part[found.places[earlier]], found.scores[earlier]
            todo.append(start + np.setdiff1d(np.arange(len(part)), found.places))
        lacking = np.concatenate(todo) if todo else np.zeros(0, dtype=np.int64)
        for start in range(0, len(lacking), self.adapter.batch_size):
            place = lacking[start : start + self.adapter.batch_size]
            scores = self._scored(codes[place])
            self._check(codes[place], scores)
            self._check_stored()  # before the scores of another model are stored
            keys = [cache.key(texts) for texts in zip(*self._inputs(codes[place]))]
            parts.append(cache.store(keys, scores, self._run))
            places.append(place)
        self._check_stored()
        result = joined(self.__name__, parts)
        order = np.concatenate([np.zeros(0, dtype=np.int64), *places])
        in_order = np.empty_like(result)
        in_order[order] = result
        return in_order

    def _check(self, codes: Ids, scores: Scores) -> None:
        """Score a few triples of the first batch again, before they are stored: the scores must be the same."""
        if self._is_checked:
            return
        self._is_checked = True
        probed = np.unique(np.linspace(0, len(codes) - 1, MAX_PROBED).astype(np.int64))
        self._compare(
            codes[probed],
            scores[probed],
            "in a batch and {} in another",
            "a score must depend on its own texts only: is dropout still on, or are scores normalised over the batch?",
        )

    def _check_stored(self) -> None:
        """Score a few triples again, to check the scores that an earlier run stored for them.

        This is done only once, and only if the function has to be called for other triples.
        """
        if self._stored_before is None or not self._has_scored or not len(self._stored_before[0]):
            return
        codes, scores = self._stored_before
        self._stored_before = codes[:0], scores[:0]
        self._compare(
            codes,
            scores,
            f"from {self.cache.path if self.cache else ''} and {{}} now",
            f"is this still the model {self.adapter.model_name!r}? If not, choose another name (model_name=)",
        )

    def _compare(self, codes: Ids, scores: Scores, ways: str, hint: str) -> None:
        """Score triples again; raise a ScoreError if a score differs from `scores` by more than rounding errors."""
        again = self._scored(codes)
        difference = score_differences(scores, again)
        is_other = difference > Rounding.of(scores).slack(scores, again)
        i = int(np.argmax(np.where(is_other, difference, -1.0)))
        if is_other[i] or scores.dtype != again.dtype:
            first, second = (
                (f"{scores[i]:.9g}", f"{again[i]:.9g}")
                if scores.dtype == again.dtype
                else (f"{scores[i]:.9g} ({scores.dtype})", f"{again[i]:.9g} ({again.dtype})")
            )
            raise ScoreError(
                f"{self.__name__}: {self._shown(codes[i : i + 1])} got the score {first} {ways.format(second)}; {hint}"
            )

    def _inputs(self, codes: Ids) -> tuple[list[str], ...]:
        """Return the lists of texts with which the function is called."""
        n_entities, n_relations = len(self.entities.distinct), len(self.relations.distinct)
        queries, objects = np.divmod(codes, n_entities)
        subjects, relations = np.divmod(queries, n_relations)
        lists = (
            [self.entities.distinct[i] for i in subjects.tolist()],
            [self.relations.distinct[i] for i in relations.tolist()],
            [self.entities.distinct[i] for i in objects.tolist()],
        )
        if self.adapter.template is None:
            return lists
        return ([_filled(self.adapter.template, texts) for texts in zip(*lists)],)

    def _scored(self, codes: Ids) -> Scores:
        """Call the function once, and check the returned scores."""
        inputs = self._inputs(codes)
        self._has_scored = True
        try:
            raw = self.adapter.score(*inputs)
        except (Exception, SystemExit) as error:
            raise ScoreError(
                f"{self.__name__} raised {type(error).__name__} when given {counted(len(codes), 'triple')} of texts, "
                f"first {self._shown(codes)}: {error}"
            ) from error
        try:
            scores = as_scores(raw, self.__name__)
        except ScoreError as error:
            end = "" if str(error).endswith("?") else "."
            raise ScoreError(f"{error}{end} It was given {self._shown(codes)} first") from error
        if scores.shape != (len(codes),):
            squeeze = "; return scores.squeeze(1)" if scores.shape == (len(codes), 1) else ""
            raise ScoreError(
                f"{self.__name__} was given {counted(len(codes), 'triple')} of texts, first {self._shown(codes)}, and "
                f"must return shape ({len(codes)},); got {scores.shape}{squeeze}"
            )
        is_nan = np.isnan(scores)
        if is_nan.any():
            i = int(np.argmax(is_nan))
            raise ScoreError(
                f"{self.__name__} gave NaN for {self._shown(codes[i : i + 1])} (NaN scores: {int(is_nan.sum())} of "
                f"{len(scores)}); NaN cannot be ranked"
            )
        if isinstance(raw, (list, tuple)) and scores.dtype.kind in "iu" and np.abs(scores.astype(float)).max() < 2**53:
            return scores.astype(np.float64)  # a list may have whole numbers in one batch, fractions in the next
        return scores

    def _shown(self, codes: Ids) -> str:
        """Return the texts of the first triple, for messages."""
        texts = [repr(cut_label(part[0])) for part in self._inputs(codes[:1])]
        return f"({', '.join(texts)})" if len(texts) > 1 else texts[0]


def _filled(template: str, texts: Sequence[str]) -> str:
    """Replace the fields of a template by texts; braces within these texts have no effect."""
    text_of = dict(zip(FIELDS, texts))
    return "".join(text_of.get(piece, piece) for piece in _FIELD.split(template))
