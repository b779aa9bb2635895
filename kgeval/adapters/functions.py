"""`from_function` makes a scorer from a function or a torch module that scores triples or queries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgeval.adapters.base import BoundScorer, IdMap, LibraryScorer, evaluation_mode, map_ids
from kgeval.adapters.triples import FOR_TENSORS, device_of
from kgeval.base.checks import Ids, check_one_of, names_unknown_arguments
from kgeval.data.dataset import Dataset
from kgeval.data.qualifiers import QUALIFIERS
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import is_tensor, kind_of, load_torch
from kgeval.scorers.libraries import adapter_of
from kgeval.scorers.taken_columns import columns_by_parameter, parameters_of
from kgeval.scorers.values import as_scores

ARRAYS = ("torch", "numpy")
ROLES = {"h": "s", "r": "p", "t": "o"}  # the letters of many libraries, and those of kgeval
METHODS = {"object": "score_objects", "subject": "score_subjects"}
IDS_OF_DATASET = "the function gets the ids of the dataset (from_function was called without ids=)"


@names_unknown_arguments()
def from_function(
    score: Any,
    *,
    module: Any = None,
    ids: Any = None,
    order: str = "spo",
    distances: bool = False,
    device: Any = None,
    arrays: str = "torch",
) -> FunctionAdapter:
    """Make an adapter from a function of torch tensors or from a torch module; `kgeval.evaluate` accepts the adapter.

    The function gets the ids as tensors on the device of the module. While it scores, the module is in evaluation mode
    and computes no gradients; afterwards, each of its parts gets back its earlier mode.

    Parameters
    ----------
    score : function, module or object
        A function or `torch.nn.Module` that is called as ``score(s, p, o)`` with the ids of n triples (int64 tensors of
        shape (n,)), and returns their scores, shape (n,), as a tensor of any real dtype, float16 and bfloat16 included;
        after the ids it may name further columns of the dataset, ``score(s, p, o, time)``: numbers come as tensors.
        Or a module or object with the methods ``score_objects(s, p)`` and ``score_subjects(p, o)``, which return the
        scores of n queries with all entities in the order of their ids, shape (n, entities). If these methods
        have a parameter ``candidates``, they return the scores with the entities in `candidates` alone.
    module : torch.nn.Module, optional
        The module that is put into evaluation mode. Needed if `score` is a function that calls a module. By default
        `score` itself if it is a module, or the module of which `score` is a method.
    ids : object, optional
        The labels of the ids that `score` expects. One of: two dicts (``{label: id}`` of entities, of relations), two
        sequences of labels in id order, two id files or their folder, an object of a library that holds the labels
        (such as PyKEEN's `TriplesFactory`), or the word ``"dataset"``. Ids are then mapped by label, and entities of
        the dataset that have no id in `ids` count as unknown to the model (`Protocol`, ``unseen=``). By default `score`
        gets the ids of the dataset, and the result has a note that says so.
    order : str
        The order of the arguments of a function of triples: ``"spo"``, ``"sop"``, ... or, with the letters of many
        libraries, ``"hrt"``, ``"htr"``, ...
    distances : bool
        Whether lower values are better; the values are then negated.
    device : str or torch.device, optional
        The device of the tensors of ids. By default the device of the first parameter of the module, or the CPU if
        there is no module.
    arrays : str
        ``"torch"``, or ``"numpy"`` for a function (of Keras or JAX, for example) that takes numpy arrays.

    Returns
    -------
    FunctionAdapter

    Raises
    ------
    ScoreError
        If `score` cannot be called, or if it is a model of a library that has its own adapter.
    MissingExtra
        If `score` gets tensors (``arrays="torch"``) and torch is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_frames(train=[("Jack", "likes", "Rome")], test=[("Rome", "likes", "Jack")])
    >>> table = np.array([0.0, 2.0])  # the distance between Rome, whose id is 0 in the model, and Jack is 2
    >>> adapter = from_function(
    ...     lambda s, p, o: abs(table[s] - table[o]),
    ...     ids=({"Rome": 0, "Jack": 1}, {"likes": 0}),
    ...     distances=True,
    ...     arrays="numpy",
    ... )
    >>> evaluate(adapter, dataset)["mr"]
    2.0
    """
    if check_one_of("arrays", arrays, ARRAYS, ScoreError) == "torch":
        load_torch(*FOR_TENSORS)
    if isinstance(score, type):
        raise ScoreError(f"expected a function or a module; got the class {score.__name__}. Make an instance of it")
    if adapter_of(score) is not None:
        raise ScoreError(
            f"{type(score).__name__} is a model that kgeval knows: give the model itself to kg.evaluate, or "
            "kg.adapters.from_model(model, ids=...)"
        )
    if not callable(score) and not any(hasattr(score, name) for name in METHODS.values()):
        raise ScoreError(
            "expected a function score(s, p, o), a torch module, or an object with score_objects and score_subjects; "
            f"got {type(score).__name__}"
        )
    if module is None:
        module = next((owner for owner in (score, getattr(score, "__self__", None)) if _is_module(owner)), None)
    return FunctionAdapter(score, module, ids, _places(order), distances, device, arrays)


def _is_module(value: Any) -> bool:
    """Return whether a value has the attributes of a torch module; torch itself is not imported."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("eval", "training", "modules"))


def _columns_of(name: str, call: Any, n_ids: int, dataset: Dataset) -> list[str]:
    """Return the columns of a dataset that a function or method takes after the ids; see `as_row_scorer`.

    Raise a ScoreError for columns that the adapter does not pass on: all columns of methods, and qualifiers, whose ids
    are those of the dataset.
    """
    known = columns_by_parameter(dataset)
    columns = [parameter for parameter in list(parameters_of(call))[n_ids:] if parameter in known]
    for column in columns:
        if n_ids < 3 or column == QUALIFIERS:
            raise ScoreError(
                f"{name} takes {column!r}, which kg.adapters.from_function does not pass on: give kg.evaluate "
                f"{'an object with score_objects and score_subjects' if n_ids < 3 else 'a function'} of arrays that "
                "makes the tensors itself"
            )
    return columns


def _places(order: Any) -> tuple[int, int, int]:
    """Return the positions in (s, p, o) of the first, the second and the third argument of a function."""
    letters = [ROLES.get(letter, letter) for letter in order] if isinstance(order, str) else []
    if sorted(letters) != ["o", "p", "s"]:
        raise ScoreError(
            "order= must contain s, p and o (or h, r and t) once each, such as 'spo' or 'htr' for a function of heads, "
            f"tails and relations; got {order!r}"
        )
    first, second, third = ("spo".index(letter) for letter in letters)
    return first, second, third


@dataclass
class FunctionAdapter:
    """The adapter of a function or module; `from_function` makes it and describes its attributes.

    Parameters
    ----------
    score, module, ids : object
    places : tuple of int
        The positions in (s, p, o) of the first, the second and the third argument: (0, 2, 1) for ``score(s, o, p)``.
    distances : bool
    device : object
    arrays : str
    """

    score: Any
    module: Any
    ids: Any
    places: tuple[int, int, int]
    distances: bool
    device: Any
    arrays: str

    def for_dataset(self, dataset: Dataset) -> Any:
        """Return the scorer for a dataset.

        Parameters
        ----------
        dataset : Dataset

        Returns
        -------
        TripleScorer or LibraryScorer

        Raises
        ------
        ScoreError, DataError
            If the ids do not fit the dataset; see `kgeval.adapters.base.map_ids`.
        """
        name = getattr(self.score, "__name__", type(self.score).__name__)
        methods = [getattr(self.score, method) for method in METHODS.values() if hasattr(self.score, method)]
        columns = [_columns_of(name, method, 2, dataset) for method in methods]
        if not methods:
            columns = [_columns_of(name, self.score, 3, dataset)]
        ids = _same_ids(dataset)
        if self.ids is not None:
            ids = map_ids(dataset, "", self.ids, n_entities=None, n_relations=None, name=name)
        notes = ("the values of the function are distances: they were negated",) if self.distances else ()
        if any(hasattr(self.score, method) for method in METHODS.values()):
            return LibraryScorer(name, ids, partial(self._rows, len(ids.entity_labels)), self.module, notes)
        return TripleScorer(name, ids, self._triples, self.module, notes, columns[0])

    def _triples(self, s: Ids, p: Ids, o: Ids, **columns: Any) -> Any:
        """Return the scores of triples; the ids are the function's ids, not the ids of the dataset."""
        triple = tuple(self._input(ids) for ids in (s, p, o))
        further = {name: self._input(values) for name, values in columns.items()}
        return self._signed(self.score(*(triple[place] for place in self.places), **further))

    def _rows(self, n_entities: int, side: str, given: Ids, relation: Ids, candidates: Ids) -> Any:
        """Return the scores of queries with candidates; the ids are the function's ids, not the ids of the dataset."""
        method = getattr(self.score, METHODS[side], None)
        if method is None:
            raise ScoreError(
                f"{type(self.score).__name__} has no {METHODS[side]}, which the {side} side needs; add it, or evaluate "
                f"one side: Protocol(sides=({next(name for name in METHODS if name != side)!r},))"
            )
        queries = (relation, given) if side == "subject" else (given, relation)
        tensors = tuple(self._input(ids) for ids in queries)
        if "candidates" in inspect.signature(method).parameters:
            return self._signed(method(*tensors, candidates=self._input(candidates)))
        scores = self._signed(method(*tensors))
        shape = len(given), n_entities
        if tuple(getattr(scores, "shape", ())) != shape:
            raise ScoreError(
                f"{METHODS[side]} must return the scores of {len(given)} queries with all entities in the order of "
                f"their ids, shape {shape}; got {tuple(getattr(scores, 'shape', ()))}. Leave out columns of padding"
            )
        return scores[:, self._input(candidates)]

    def _input(self, values: Any) -> Any:
        """Return ids or numbers as tensors or arrays, as the function expects them; dates and texts as arrays."""
        if self.arrays == "numpy" or values.dtype.kind not in "iuf":
            return values.copy()
        device = self.device if self.device is not None else device_of(self.module)
        return load_torch(*FOR_TENSORS).tensor(values, device=device)

    def _signed(self, values: Any) -> Any:
        """Return the values of the function as scores: higher is better."""
        if not self.distances:
            return values
        if not is_tensor(values) or kind_of(values) != "f":
            values = as_scores(values, "the function")  # raises an error for values that are no numbers
            values = values.astype(np.int64) if values.dtype.kind in "iu" else values
        return -values


class TripleScorer(BoundScorer):
    """A scorer of single triples that takes the ids of a dataset.

    Parameters
    ----------
    name, ids, module, notes
        See `BoundScorer`.
    score_triples : function
        ``score_triples(s, p, o)`` gets int64 arrays of the library's ids, and returns scores, shape (n,).
    columns : sequence of str
        Further columns of the dataset that `score_triples` takes by name.
    """

    def __init__(
        self,
        name: str,
        ids: IdMap,
        score_triples: Callable[..., Any],
        module: Any = None,
        notes: Sequence[str] = (),
        columns: Sequence[str] = (),
    ) -> None:
        super().__init__(name, ids, module, notes)
        self.score_triples = score_triples
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        # `as_row_scorer` reads here which columns the scorer takes
        self.__signature__ = inspect.Signature([inspect.Parameter(one, kind) for one in (*"spo", *columns)])

    def __call__(self, s: Ids, p: Ids, o: Ids, **columns: Any) -> Any:
        """Return the scores of n triples, shape (n,); `s`, `p` and `o` are ids of the dataset."""
        triples = self.ids.entity_ids(s), self.ids.relation_ids(p), self.ids.entity_ids(o)
        with evaluation_mode(self.module):
            return self.score_triples(*triples, **columns)


def _same_ids(dataset: Dataset) -> IdMap:
    """Return the `IdMap` of a function that takes the ids of the dataset itself."""
    entities, relations = dataset.entities.labels, dataset.relations.labels
    return IdMap(np.arange(len(entities)), np.arange(len(relations)), entities, relations, (IDS_OF_DATASET,))
