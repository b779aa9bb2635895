"""Scorers with several ways to score a triple: the way that is used must not leave out a change that another contains.

kgeval uses the vectors of a scorer if it has any, else ``score_objects`` and ``score_subjects``, else it calls the
scorer. A subclass may inherit vectors and change only ``score``; its change would then be ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.base.checks import Ids
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.sides import side_of
from kgeval.errors import ScoreError
from kgeval.scorers.models import EmbeddingModel
from kgeval.scorers.rounding import Rounding, score_differences
from kgeval.scorers.row_scorers import (
    FunctionRows,
    Limits,
    MatrixRows,
    RowScorer,
    missing_ids,
    on_side,
    pair_side,
    score_triples,
)
from kgeval.scorers.taken_columns import parameters_of

# The methods that kgeval uses, by the kind of the scorer; and the methods that it then leaves out.
USED = {
    "geometry": ("query_vectors", "candidate_vectors", "_object_queries", "_subject_queries"),
    "matrix": ("score_objects", "score_subjects"),
    "function": ("__call__", "forward"),
}
LEFT_OUT = {
    "geometry": ("score", "score_objects", "score_subjects", "__call__", "forward"),
    "matrix": ("__call__", "score", "forward"),
    "function": ("score",),
}
MADE_UP = 10_000  # more than any class has base classes
N_TRIPLES, N_QUERIES = 256, 8  # so many random triples are compared, of so few queries if each scores all entities


def check_precedence(scorer: Any, rows: RowScorer, dataset: Dataset) -> None:
    """Raise a ScoreError if a scorer has a way to score that is left out, and that would give other scores.

    A way that a subclass (or the object itself) redefines beside inherited vectors is refused. Another way must give
    the same scores for some random triples, but for rounding, unless it fails: then it is not meant for ids. A
    ``forward`` that takes one argument is called with an array of triples if it is redefined beside inherited vectors.

    Parameters
    ----------
    scorer : function, object or model
    rows : RowScorer
        Its adapter.
    dataset : Dataset

    Raises
    ------
    ScoreError
        The message says what to pass instead.

    Examples
    --------
    >>> from kgeval.scorers import models
    >>> from kgeval.scorers.row_scorers import as_row_scorer
    >>> class Biased(models.DistMult):
    ...     def score(self, s, p, o):
    ...         return super().score(s, p, o) + o
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    >>> biased = Biased(np.ones((3, 2)), np.ones((1, 2)))
    >>> try:
    ...     check_precedence(biased, as_row_scorer(biased, 3), dataset)
    ... except ScoreError as error:
    ...     print(str(error).partition(", and")[0])
    Biased.score is defined in Biased, but query_vectors and candidate_vectors are inherited
    """
    depths = {name: _depth(scorer, name) for name in (*USED[rows.kind], *LEFT_OUT[rows.kind])}
    used = min(depths[name] for name in USED[rows.kind])
    for name in LEFT_OUT[rows.kind]:
        is_redefined = depths[name] < used and rows.kind == "geometry"
        function = _function(scorer, name, is_redefined)
        if function is None:
            continue
        if is_redefined and (name != "forward" or _takes(scorer.forward, 3)):
            place = "the object itself" if depths[name] < 0 else type(scorer).__mro__[int(depths[name])].__name__
            raise ScoreError(
                f"{rows.name}.{name} is defined in {place}, but query_vectors and candidate_vectors are inherited, "
                f"and kgeval ranks by them: it would leave out what {name} changes. {_ways_out(rows, name)}"
            )
        if depths[name] < np.inf and (rows.kind == "geometry" or name == "__call__" or depths[name] < used):
            _check_equal(scorer, rows, dataset, name, function)


def _depth(scorer: Any, name: str) -> float:
    """Return the place in the method resolution order of the class that defines an attribute.

    -1 if the object itself defines it; infinity if nothing does, or only a base class of kgeval or of torch; a large
    number if the object makes it up, as a wrapper does that passes on the methods of another object.
    """
    if name in getattr(scorer, "__dict__", {}):
        return -1
    for i, cls in enumerate(type(scorer).__mro__):
        if name in vars(cls):
            is_base = cls is EmbeddingModel or f"{cls.__module__}.".startswith(("torch.", "builtins."))
            return np.inf if is_base and name not in USED["geometry"] else i
    return MADE_UP if hasattr(scorer, name) else np.inf


def _function(scorer: Any, name: str, of_batches: bool) -> Callable[..., Any] | None:
    """Return the function (s, p, o) that a method is; None if it is none.

    ``forward`` of a network often takes a batch for training; with `of_batches` it gets an array of triples.
    """
    method: Callable[..., Any] | None = getattr(scorer, name, None)
    if not callable(method):
        return None
    if name != "forward":
        return method
    if _takes(method, 3):
        # torch calls forward by __call__, with the hooks of the module
        is_called: bool = callable(scorer) and _depth(scorer, "__call__") == np.inf
        return scorer if is_called else method
    return (lambda s, p, o: method(np.column_stack([s, p, o]))) if of_batches and _takes(method, 1) else None


def _takes(method: Any, n: int) -> bool:
    """Return whether a method can be called with n arguments."""
    try:
        inspect.signature(method).bind(*[None] * n)
    except (TypeError, ValueError):
        return False
    return True


def _used(rows: RowScorer) -> str:
    """Return the names of the methods that are used, for messages."""
    return " and ".join(name for name in USED[rows.kind][:2] if name != "forward")


def _ways_out(rows: RowScorer, name: str) -> str:
    """Return what to pass instead of a scorer whose method `name` would be left out."""
    used = _used(rows)
    way = f"an object that has {name} and no {used}" if name.startswith("score_") else f"the function, scorer.{name}"
    return (
        f"Pass {way}; or redefine {used} so that they contain the change (a bias is one more dimension); or pass a "
        "scorer without this method if the inherited scores are meant"
    )


def _check_equal(scorer: Any, rows: RowScorer, dataset: Dataset, name: str, function: Callable[..., Any]) -> None:
    """Raise a ScoreError if a method gives other scores than the way that is used."""
    is_rows = rows.kind == "matrix" or name.startswith("score_")
    side = {"score_objects": "object", "score_subjects": "subject"}.get(name, pair_side(rows))
    rows = on_side(rows, side)
    triples = _random_triples(scorer, rows, dataset, N_QUERIES if is_rows else N_TRIPLES, side)
    taken = parameters_of(function)
    places = [place for place, column in enumerate(rows.columns) if column.parameter in taken]
    columns = tuple(rows.columns[place] for place in places)
    other: RowScorer = (
        MatrixRows(scorer, len(dataset.entities), Limits(), rows.name, columns)
        if name.startswith("score_")
        else FunctionRows(function, Limits(), f"{rows.name}.{name}", columns)
    )
    try:
        scores = score_triples(other, triples[:, [0, 1, 2, *(3 + place for place in places)]], side)
    except Exception:  # the method is not one of kgeval's, and may do anything with ids
        return
    expected = score_triples(rows, triples, side)
    differs = score_differences(expected, scores) > Rounding.of(expected).slack(expected, scores.astype(np.float64))
    if differs.any():
        i = int(np.argmax(differs))
        raise ScoreError(
            f"{rows.name}.{name} gives {triple_labels(dataset, *triples[i, :3])} the score {scores[i]:.9g}, but "
            f"{_used(rows)} give {expected[i]:.9g}, and kgeval ranks by these. "
            f"{_ways_out(rows, name)}"
        )


def _random_triples(scorer: Any, rows: RowScorer, dataset: Dataset, n_queries: int, side: str) -> Ids:
    """Return random triples of ids that have vectors; triples of the dataset would show its answers.

    They have at most `n_queries` queries of a side, of as many relations as possible.
    """
    rng = np.random.default_rng(0)
    columns = []
    for kind, vocabulary in (("entities", dataset.entities), ("relations", dataset.relations)):
        n = len(vocabulary)
        ids = np.setdiff1d(np.unique(rng.integers(0, n, 2 * N_TRIPLES)), missing_ids(scorer, kind))
        columns.append(ids if len(ids) else np.setdiff1d(np.arange(n), missing_ids(scorer, kind)))
    entities, relations = columns
    if not (len(entities) and len(relations)):
        return np.empty((0, 3 + len(rows.columns)), dtype=np.int64)
    # np.resize repeats the queries until there are N_TRIPLES
    relation = np.resize(np.resize(rng.permutation(relations), n_queries), N_TRIPLES)
    given = np.resize(rng.choice(entities, n_queries), N_TRIPLES)
    asked = rng.choice(entities, N_TRIPLES)
    codes = [rng.integers(0, len(column.values), N_TRIPLES) for column in rows.columns]
    return side_of(side).facts((relation, given, *codes), asked)
