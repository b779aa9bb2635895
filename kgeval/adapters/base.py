"""Code that the adapters of all libraries use: evaluation mode, the mapping of ids by label, and the scorers.

An adapter is an object with ``for_dataset(dataset)``, which returns a scorer for the ids of a dataset. Each of the
other modules in this package defines the adapter of one library; `kgeval.adapters.from_model` chooses one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from kgeval.base.checks import Ids, counted, cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.library_objects import library_labels
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import Array, is_tensor

OF_DATASET = "dataset"  # ids="dataset": row i of the model belongs to label i of the dataset
LIBRARY_NAMES = {
    "ampligraph": "AmpliGraph",
    "libkge": "LibKGE",
    "pyg": "PyTorch Geometric",
    "pykeen": "PyKEEN",
    "torchkge": "TorchKGE",
}
HOW_TO_SAY = (
    "Give the labels with kg.adapters.from_model(model, ids=...), or from_function(..., ids=...): an object of the "
    "library that holds the labels (such as a TriplesFactory or KnowledgeGraph of the training), two dicts ({label: "
    "id} of entities, of relations), two sequences of labels in id order, two id files, or ids='dataset' if row i of "
    "the model belongs to dataset.entities.labels[i] and dataset.relations.labels[i]"
)


# One lock for each module that scores now, by the module's id(). Without the lock, a thread that is done would set the
# module back to training mode while another thread still scores with the module.
_LOCKS: WeakValueDictionary[int, Any] = WeakValueDictionary()
_LOCK_OF_LOCKS = threading.Lock()


@contextmanager
def evaluation_mode(module: Any) -> Iterator[None]:
    """Set a module of torch to evaluation mode without gradients, and restore each of its parts afterwards.

    Within the ``with`` block, dropout is off and batch normalisation uses its stored statistics. After the block, also
    after an exception, each part of the module gets back the mode that it had before. Other threads that score with the
    same module wait.

    Parameters
    ----------
    module : torch.nn.Module, or object with ``eval`` and ``training``, or None
        For None, and for objects without these attributes, nothing is changed.
    """
    torch = sys.modules.get("torch")  # loaded if `module` is a module of torch
    with _lock_of(module):
        parts = list(module.modules()) if hasattr(module, "modules") else [module]
        modes = [(part, part.training) for part in parts if hasattr(part, "training")]
        try:
            if hasattr(module, "eval"):
                module.eval()
            with nullcontext() if torch is None else torch.no_grad():
                yield
        finally:
            for part, mode in modes:
                part.training = mode


def _lock_of(module: Any) -> Any:
    """Return the lock under which threads score with a module; an empty context if it has no attribute ``training``."""
    if not hasattr(module, "training"):
        return nullcontext()
    with _LOCK_OF_LOCKS:
        return _LOCKS.setdefault(id(module), threading.RLock())


def check_has_values(name: str, module: Any) -> None:
    """Raise a ScoreError if the parameters of a module of torch are on the device "meta", which holds no numbers.

    Parameters
    ----------
    name : str
        The name of the model, for messages.
    module : torch.nn.Module or object
    """
    tensors = module.parameters() if callable(getattr(module, "parameters", None)) else ()
    if any(getattr(tensor, "is_meta", False) for tensor in tensors):
        raise ScoreError(
            f"{name} has parameters on the device 'meta', which holds no numbers; load the weights first "
            "(model.to_empty(device='cpu'), then model.load_state_dict(...))"
        )


@dataclass(frozen=True)
class IdMap:
    """For each entity and relation of a dataset, its id in a library; see `map_ids`.

    Parameters
    ----------
    entities : int64 array, shape (entities of the dataset,)
        The library's id of each entity; -1 if the library lacks the entity.
    relations : int64 array, shape (relations of the dataset,)
        The library's id of each relation; -1 if the library lacks the relation. Inverse relations are not counted.
    entity_labels, relation_labels : sequence of str
        The labels in the order of the library's ids.
    notes : tuple of str
        Where the ids come from, and how many labels of the library the dataset lacks.
    """

    entities: Ids
    relations: Ids
    entity_labels: Sequence[str]
    relation_labels: Sequence[str]
    notes: tuple[str, ...] = ()

    @cached_property
    def missing_entities(self) -> Ids:
        """The dataset's ids of the entities that the library lacks, ascending."""
        return np.flatnonzero(self.entities < 0)

    @cached_property
    def missing_relations(self) -> Ids:
        """The dataset's ids of the relations that the library lacks, ascending."""
        return np.flatnonzero(self.relations < 0)

    def entity_ids(self, ids: Ids) -> Ids:
        """Return the library's ids of entities of the dataset; raise a ScoreError if the library lacks one of them."""
        return _known(self.entities[ids], ids, "entity")

    def relation_ids(self, ids: Ids) -> Ids:
        """Return the library's ids of relations of the dataset; raise a ScoreError if the library lacks one of them."""
        return _known(self.relations[ids], ids, "relation")


def _known(found: Ids, ids: Ids, kind: str) -> Ids:
    """Return `found`; raise a ScoreError if it contains -1, which marks an id without a counterpart."""
    if (found < 0).any():
        lacking = int(np.asarray(ids)[found < 0][0])
        raise ScoreError(f"the model does not know the {kind} with id {lacking} of the dataset")
    return found


def map_ids(
    dataset: Dataset,
    library: str = "pykeen",
    ids: Any = None,
    own_labels: tuple[Sequence[str], Sequence[str]] | None = None,
    *,
    n_entities: int | None,
    n_relations: int | None,
    name: str,
) -> IdMap:
    """Find the id that a model of a library gives to each entity and each relation of a dataset.

    Ids are mapped by label. The labels of the model's ids come from the first of these sources that exists: `ids`; the
    model itself; the `dictionaries` of the dataset, if it was made from an object of the same library; the ids of the
    dataset, if it has no labels.

    Parameters
    ----------
    dataset : Dataset
    library : str
        The library's `Dataset.id_format`: ``"pykeen"``, ``"torchkge"``, ``"pyg"``, ``"libkge"`` or ``"ampligraph"``.
    ids : object, optional
        The value that the user gave: an object with labels (`kgeval.data.library_objects.library_labels`), two dicts
        from label to id, two sequences of labels in id order, two id files or their folder (`kgeval.load_model`), or
        ``"dataset"``.
    own_labels : two sequences of str, optional
        The labels of entities and of relations in id order, if the model knows them.
    n_entities, n_relations : int or None
        The numbers of entities and relations in the model, without inverse relations; None if the model does not tell
        them.
    name : str
        The name of the model in messages, such as ``"PyKEEN's TransE"``.

    Returns
    -------
    IdMap

    Raises
    ------
    ScoreError
        If it is not known which label each id of the model has, if the number of labels differs from the number of ids,
        or if the dataset has none of the labels.
    DataError
        If the ids in `ids` are not 0 .. n - 1, or if an id does not have exactly one label.

    Examples
    --------
    >>> from kgeval.data.dataset import Dataset
    >>> dataset = Dataset.from_frames(train=[("Jack", "likes", "Rome"), ("Jack", "likes", "Oslo")])
    >>> labels = {"Rome": 0, "Jack": 1, "Bonn": 2}, {"likes": 0}
    >>> found = map_ids(dataset, "pykeen", labels, n_entities=3, n_relations=1, name="TransE")
    >>> dataset.entities.labels, found.entities, found.missing_entities
    (('Jack', 'Oslo', 'Rome'), array([ 1, -1,  0]), array([1]))
    >>> found.notes[1]
    "the dataset lacks 1 entity that the model knows (such as 'Bonn'); it is no candidate"
    """
    entity_labels, relation_labels, note = _labels(dataset, library, ids, own_labels, name)
    for kind, n, labels in (("entities", n_entities, entity_labels), ("relations", n_relations, relation_labels)):
        if n is not None and len(labels) != n:
            doubled = kind == "relations" and 2 * n == len(labels)
            hint = "; are inverse relations among these labels? They must not be" if doubled else ""
            raise ScoreError(
                f"{name} has {n:,} {kind}, but there are {len(labels):,} labels of {kind} ({note}){hint}. Was it "
                f"trained with other ids? {HOW_TO_SAY}"
            )
    found = {}
    lacking = []
    for kind, vocabulary, labels in (
        ("entity", dataset.entities, entity_labels),
        ("relation", dataset.relations, relation_labels),
    ):
        found[kind] = Vocabulary(labels).find(vocabulary.labels)
        if len(labels) and len(vocabulary) and (found[kind] < 0).all():
            raise ScoreError(
                f"{name}: dataset {dataset.name!r} has none of the {counted(len(labels), kind)} of the model (such as "
                f"{cut_label(labels[0])!r}; the dataset has {cut_label(vocabulary.labels[0])!r}). Was the model "
                f"trained on another dataset? If not: {HOW_TO_SAY}"
            )
        unknown = np.flatnonzero(vocabulary.find(labels) < 0)
        if len(unknown):
            such_as = cut_label(labels[unknown[0]])
            lacking.append(f"{counted(len(unknown), kind)} that the model knows (such as {such_as!r})")
    notes = [note]
    if lacking:
        are = "it is no candidate" if len(lacking) == 1 and lacking[0].startswith("1 ") else "they are no candidates"
        notes.append(f"the dataset lacks {' and '.join(lacking)}; {are}")
    return IdMap(found["entity"], found["relation"], entity_labels, relation_labels, tuple(notes))


def _labels(
    dataset: Dataset, library: str, ids: Any, own_labels: tuple[Sequence[str], Sequence[str]] | None, name: str
) -> tuple[Sequence[str], Sequence[str], str]:
    """Return the labels of the library's entities and relations in id order, and a note about where they come from."""
    vocabularies = dataset.entities.labels, dataset.relations.labels
    if isinstance(ids, str) and ids == OF_DATASET:
        return *vocabularies, "row i of the model was read as label i of the dataset (ids='dataset')"
    if ids is not None:
        entities, relations = _said_labels(ids)
        return entities, relations, "ids= gives the labels of the model's ids"
    if own_labels is not None:
        entities, relations = (tuple(map(str, labels)) for labels in own_labels)
        return entities, relations, "the labels in the model name its ids"
    title = LIBRARY_NAMES.get(library, library)
    given = dataset.dictionaries
    if dataset.id_format == library and "entities" in given and "relations" in given:
        note = f"the model's ids were read as the ids of the {title} object from which the dataset was made"
        return given["entities"], given["relations"], note
    if dataset.entities.are_labels_ids and dataset.relations.are_labels_ids:
        return *vocabularies, "the model's ids were read as the ids of the dataset, which has no labels"
    raise ScoreError(f"nothing says to which entities and relations the ids of {name} belong. {HOW_TO_SAY}")


def _said_labels(ids: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Return the labels that a user gives with ``ids=``."""
    is_path = isinstance(ids, (str, os.PathLike))
    if is_path or (isinstance(ids, (list, tuple)) and ids and all(isinstance(i, (str, os.PathLike)) for i in ids)):
        from kgeval.formats.checkpoints.id_files import labels_of_ids

        entities, relations = labels_of_ids(ids)
        return tuple(entities), tuple(relations)
    labels = library_labels(ids)
    if labels is None:
        raise ScoreError(f"ids= holds no labels: got {cut_label(repr(ids))} ({type(ids).__name__}). {HOW_TO_SAY}")
    return labels.entities, labels.relations


@dataclass(frozen=True)
class LiveModel:
    """A live model of a library, before its ids are mapped to a dataset; subclasses define ``for_dataset(dataset)``.

    Parameters
    ----------
    model : object
        The model.
    ids : object, optional
        See `kgeval.adapters.from_model`.
    """

    model: Any
    ids: Any = None


class BoundScorer:
    """A scorer that takes the ids of a dataset and computes scores with a model of another library.

    Parameters
    ----------
    name : str
        The scorer's name in results and messages: the class of the model, or the function.
    ids : IdMap
    module : torch.nn.Module, optional
        The model. While it scores, it is in evaluation mode and computes no gradients; see `evaluation_mode`.
    notes : sequence of str
        Further notes, added to the notes of `ids`.

    Attributes
    ----------
    missing_entities, missing_relations : int64 arrays
        The dataset's ids that the model lacks.
    notes : tuple of str
    """

    def __init__(self, name: str, ids: IdMap, module: Any = None, notes: Sequence[str] = ()) -> None:
        check_has_values(name, module)
        self.__name__ = name
        self.ids = ids
        self.module = module
        self.missing_entities = ids.missing_entities
        self.missing_relations = ids.missing_relations
        self.notes = (*ids.notes, *notes)

    def identity_parts(self) -> dict[str, Any]:
        """Return the data, besides the module's parameters, on which the scores depend.

        See `kgeval.scorers.identity.ScorerIdentity`.
        """
        return {"ids of entities": self.ids.entities, "ids of relations": self.ids.relations}


class LibraryScorer(BoundScorer):
    """A scorer that scores each query with many candidates in one call.

    Parameters
    ----------
    name, ids, module, notes
        See `BoundScorer`.
    score_rows : function
        ``score_rows(side, given, relation, candidates)`` gets int64 arrays of the library's ids and returns the scores
        of each query with each candidate, shape (queries, candidates), as an array or a tensor. Higher is better.
    """

    def __init__(
        self,
        name: str,
        ids: IdMap,
        score_rows: Callable[[str, Ids, Ids, Ids], Array],
        module: Any = None,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(name, ids, module, notes)
        self.score_rows = score_rows

    def score_objects(self, s: Ids, p: Ids, candidates: Ids | None = None) -> Array:
        """Return the scores of the queries (s, p, ?) with each candidate; the columns of missing entities are NaN."""
        return self._scores("object", s, p, candidates)

    def score_subjects(self, p: Ids, o: Ids, candidates: Ids | None = None) -> Array:
        """Return the scores of the queries (?, p, o) with each candidate; the columns of missing entities are NaN."""
        return self._scores("subject", o, p, candidates)

    def _scores(self, side: str, given: Ids, relation: Ids, candidates: Ids | None) -> Array:
        columns = self.ids.entities if candidates is None else self.ids.entities[candidates]
        is_known = columns >= 0
        given, relation = self.ids.entity_ids(given), self.ids.relation_ids(relation)
        with evaluation_mode(self.module):
            scores = self.score_rows(side, given, relation, columns[is_known])
        if is_known.all():
            return scores
        shape = (len(given), len(columns))
        if is_tensor(scores):
            placed = scores.new_full(shape, np.nan)
        else:
            scores = np.asarray(scores)
            placed = np.full(shape, np.nan, dtype=np.result_type(scores, np.float16))
        placed[:, np.flatnonzero(is_known)] = scores
        return placed
