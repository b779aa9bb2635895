"""Predictions without a model: ranked answers of queries (`Predictions`), and ranks of other tools (`GivenRanks`).

`kgeval.read_predictions` makes these objects from files, users make them from arrays, and
`kgeval.evaluate_predictions` computes a result from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals, check_one_of, cut_label, suggest
from kgeval.data.dataset import Dataset
from kgeval.data.lists import Ragged
from kgeval.data.pandas_index import in_same_order
from kgeval.data.sides import SIDES, check_side
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError

# Whether known answers were removed from the lists: not at all, after the ranking, or before a re-ranker saw the lists.
FILTERED = ("no", "after", "before")
UNMAPPED = -1  # the id of a name that no entity of the dataset has
MISSING = ("drop", "bound")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Ranked answers of queries, best answer first; a list usually contains only a few of the entities.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        For each list, the triple (s, p, o) for which it was made, as ids of the dataset. If the file names only the
        query and no positive, the column of the missing entity is `UNMAPPED`; the list is then used for all positives
        of its query.
    sides : array of str, shape (n,)
        The side of each query: ``"subject"`` or ``"object"``.
    answers : Ragged
        For each list, the ids of the answers; `UNMAPPED` for a name that no entity has.
    scores : float64 array, shape (answers,), optional
        One score per answer, higher is better: answers with equal scores tie. Without scores, the order of a list is
        the ranking, and no answers tie.
    filtered : str, optional
        Whether the known answers, except the positive, were removed from the lists. ``"no"``: they were not removed.
        ``"after"``: they were removed from the final ranking. ``"before"``: they were removed from the lists that a
        re-ranker then ordered. None: the file does not say.
    unmapped_may_be_known : bool
        Whether an `UNMAPPED` answer may be an entity of the dataset under a name that could not be matched. Such
        an answer may be a known answer, which the filter should have removed.
    notes : tuple of str
        What was assumed, how names were matched to entities, and how many names were not matched.
    source : str
        The file and its format, for messages.
    columns : mapping of str to sequence, shape (n,)
        For each list, its values in further columns of the dataset, such as ``{"time": [183, 184]}``; None for a
        missing value. A list then belongs to the positives of its query with the same values.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> Predictions.from_arrays(dataset["test"].array, "object", [[3, 1]], [[0.9, 0.4]]).scores
    array([0.9, 0.4])
    """

    triples: Ids
    sides: npt.NDArray[np.str_]
    answers: Ragged
    scores: Reals | None = None
    filtered: str | None = None
    unmapped_may_be_known: bool = False
    notes: tuple[str, ...] = ()
    source: str = "predictions"
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_rows(self, self.source, self.triples, self.sides, self.filtered)
        if not isinstance(self.answers, Ragged):
            raise DataError(f"{self.source}: Predictions.from_arrays and .from_labels take lists of answers")
        if len(self.answers) != len(self.triples):
            raise DataError(f"{self.source}: {len(self.triples)} triples, but {len(self.answers)} lists of answers")
        if self.scores is not None and self.scores.shape != self.answers.values.shape:
            raise DataError(
                f"{self.source}: expected one score for each of {len(self.answers.values)} answers; got shape "
                f"{self.scores.shape}"
            )

    @classmethod
    def from_arrays(
        cls,
        triples: npt.ArrayLike,
        sides: str | Sequence[str] | npt.NDArray[np.str_],
        answers: npt.ArrayLike | Sequence[npt.ArrayLike],
        scores: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        columns: Mapping[str, Sequence[Any]] | None = None,
        **facts: Any,
    ) -> Predictions:
        """Make predictions from arrays of ids, such as the top 10 answers of each query.

        Parameters
        ----------
        triples : int array, shape (n, 3)
            For each list, the triple (s, p, o) for which it was made, as ids of the dataset; -1 in the place of the
            missing entity if the list is for all positives of its query.
        sides : str, or array of str, shape (n,)
            The side of all queries, or of each query.
        answers : int array, shape (n, k), or n int arrays
            The ids of the answers of each list, best answer first; -1 for an answer that is no entity.
        scores : float array, shape (n, k), or n float arrays, optional
            One score per answer, higher is better.
        columns : mapping of str to sequence, shape (n,), optional
            See `Predictions`.
        **facts
            `filtered`, `unmapped_may_be_known`, `notes` and `source` of `Predictions`.

        Raises
        ------
        DataError
            If an array has a wrong shape, or does not hold integers.

        Examples
        --------
        >>> len(Predictions.from_arrays([[0, 0, 1], [2, 0, -1]], "object", [[3, 1], [1]]))
        2
        """
        arrays = {"triples": triples, "sides": sides, "answers": answers, "scores": scores}
        (triples, sides, answers, scores), columns = _in_order(arrays, columns)
        ids = _as_ids("triples", triples)
        parts = [
            _as_ids(f"answers[{i}]", _as_list(part, f"answers[{i}]", "a list of ids, best answer first"))
            for i, part in enumerate(_as_list(answers, "answers", "a list of answers for each triple"))
        ]
        for i, part in enumerate(parts):
            if part.ndim != 1:
                raise DataError(f"answers[{i}]: expected a list of ids in one dimension; got shape {part.shape}")
        worth = None
        if scores is not None:
            worth = [
                _as_reals(f"scores[{i}]", _as_list(part, f"scores[{i}]", "a list of numbers, one per answer"))
                for i, part in enumerate(_as_list(scores, "scores", "a list of scores for each triple"))
            ]
            if [part.shape for part in worth] != [part.shape for part in parts]:
                raise DataError("scores: expected one score for each answer, in lists of the same lengths")
        lists = Ragged.of(parts)
        flat = None if worth is None else np.concatenate([*worth, np.zeros(0)])
        return cls(ids, _as_sides(sides, len(ids)), lists, flat, columns=columns, **facts)

    @classmethod
    def from_labels(
        cls,
        answers: Mapping[tuple[str | None, str, str | None], Sequence[str] | Mapping[str, float]],
        dataset: Dataset,
        **facts: Any,
    ) -> Predictions:
        """Make predictions from labels: a dict from queries to answers.

        Parameters
        ----------
        answers : mapping
            The keys are queries, ``(s, p, None)`` or ``(None, p, o)``. The values are lists of entity labels, best
            answer first, or, for all queries, dicts from label to score (higher is better).
        dataset : Dataset
            An answer that is not the label of an entity of this dataset becomes `UNMAPPED`; a note counts these
            answers.
        **facts
            `filtered` and `source` of `Predictions`.

        Raises
        ------
        DataError
            If a query does not have None in one place, if a label of a query is unknown, if only some queries have
            scores, or if the answers of a query are neither a list of labels nor a dict from label to score: a single
            text, pairs, and values without an order such as a set are errors that name the query.

        Examples
        --------
        >>> dataset = Dataset.from_frames(test=[("Jack", "born_in", "Italy")])
        >>> predictions = Predictions.from_labels({("Jack", "born_in", None): ["Rome", "Italy"]}, dataset)
        >>> predictions.answers.values, predictions.notes
        (array([-1,  0]), ('1 of 2 answers are not labels of entities; they count as wrong answers',))
        """
        _check_arguments(answers, dataset)
        answers = {query: _checked_answers(query, given) for query, given in answers.items()}
        entities, relations = dataset.entities, dataset.relations
        wanted = dict.fromkeys(
            label
            for query, given in answers.items()
            for label in (*(query if isinstance(query, tuple) else ()), *given)
        )
        places = dict(zip(wanted, entities.find(list(wanted)).tolist()))
        triples, sides, lists = [], [], []
        for query, given in answers.items():
            is_query = isinstance(query, tuple) and len(query) == 3 and query[1] is not None
            if not is_query or (query[0] is None) == (query[2] is None):
                raise DataError(f"expected queries (s, p, None) or (None, p, o); got {query!r}")
            ids = [UNMAPPED if label is None else places.get(label, UNMAPPED) for label in (query[0], query[2])]
            asked = 0 if query[0] is None else 1
            if ids[1 - asked] == UNMAPPED or query[1] not in relations:
                known, label = (relations, query[1]) if query[1] not in relations else (entities, query[2 - 2 * asked])
                hint = suggest(str(label), known.labels)
                raise DataError(f"query {query!r}: {cut_label(str(label))!r} is not in {dataset.name!r}{hint}")
            triples.append((ids[0], int(relations.ids([query[1]])[0]), ids[1]))
            sides.append(SIDES[asked])
            lists.append(np.array([places.get(label, UNMAPPED) for label in given], dtype=np.int64))
        scored = [given for given in answers.values() if isinstance(given, Mapping)]
        if scored and len(scored) < len(answers):
            raise DataError(f"{len(scored)} of {len(answers)} queries have scores; give scores for all queries or none")
        values = Ragged.of(lists).values
        n_unmapped = int((values == UNMAPPED).sum())
        notes = (
            (f"{n_unmapped:,} of {len(values):,} answers are not labels of entities; they count as wrong answers",)
            if n_unmapped
            else ()
        )
        scores = [[float(score) for score in given.values()] for given in scored] if scored else None
        return cls.from_arrays(
            np.array(triples, dtype=np.int64).reshape(-1, 3),
            np.array(sides, dtype=str),
            lists,
            scores,
            notes=notes,
            **facts,
        )

    def __len__(self) -> int:
        return len(self.triples)


@dataclass(frozen=True, eq=False)
class GivenRanks:
    """Ranks of positives that another tool computed.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        The positives, as ids of the dataset.
    sides : array of str, shape (n,)
        The side on which each positive was ranked: ``"subject"`` or ``"object"``.
    ranks : float64 array, shape (n,)
        1 is the best rank; multiples of 0.5.
    n_candidates : int64 array, shape (n,), optional
        The number of candidates among which each positive was ranked, including the positive itself. None: the file
        does not contain this number.
    filtered : str, optional
        As in `Predictions`: ``"no"`` for raw ranks, ``"after"`` or ``"before"`` for filtered ranks. None: the file does
        not say.
    notes : tuple of str
    source : str
        The file and its format, for messages.
    labels : tuple of two Vocabulary, optional
        The entities and the relations of the file, if it was read without a dataset. `triples` then holds ids of these
        vocabularies. None: `triples` holds ids of a dataset.
    columns : mapping of str to sequence, shape (n,)
        As in `Predictions`.

    Examples
    --------
    >>> GivenRanks.from_arrays([[0, 0, 1], [0, 0, 2]], "object", [1, 2.5], filtered="after").ranks
    array([1. , 2.5])
    """

    triples: Ids
    sides: npt.NDArray[np.str_]
    ranks: Reals
    n_candidates: Ids | None = None
    filtered: str | None = None
    notes: tuple[str, ...] = ()
    source: str = "ranks"
    labels: tuple[Vocabulary, Vocabulary] | None = None
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_rows(self, self.source, self.triples, self.sides, self.filtered)

    @classmethod
    def from_arrays(
        cls,
        triples: npt.ArrayLike,
        sides: str | Sequence[str] | npt.NDArray[np.str_],
        ranks: npt.ArrayLike,
        n_candidates: int | npt.ArrayLike | None = None,
        columns: Mapping[str, Sequence[Any]] | None = None,
        **facts: Any,
    ) -> GivenRanks:
        """Make a `GivenRanks` from arrays; `sides` and `n_candidates` can also be one value for all ranks.

        Parameters
        ----------
        triples : int array, shape (n, 3)
        sides : str, or array of str, shape (n,)
        ranks : float array, shape (n,)
        n_candidates : int, or int array, shape (n,), optional
        columns : mapping of str to sequence, shape (n,), optional
            See `Predictions`.
        **facts
            `filtered`, `notes` and `source` of `GivenRanks`.

        Raises
        ------
        DataError
            If an array has a wrong shape or dtype.
        """
        arrays = {"triples": triples, "sides": sides, "ranks": ranks, "n_candidates": n_candidates}
        (triples, sides, ranks, n_candidates), columns = _in_order(arrays, columns)
        ids = _as_ids("triples", triples)
        counts = None
        if n_candidates is not None:
            counts = _as_ids("n_candidates", n_candidates)
            if counts.shape not in ((), (len(ids),)):
                raise DataError(
                    f"n_candidates: expected one number, or one per triple ({len(ids)}); got {counts.shape}"
                )
            counts = np.array(np.broadcast_to(counts, (len(ids),)))
        values = _as_reals("ranks", _as_list(ranks, "ranks", "one rank per triple"))
        if values.shape != (len(ids),):
            raise DataError(f"ranks must have shape ({len(ids)},), one per triple; got {values.shape}")
        return cls(ids, _as_sides(sides, len(ids)), values, counts, columns=columns, **facts)

    def __len__(self) -> int:
        return len(self.triples)


def _in_order(arrays: Mapping[str, Any], columns: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the values of arrays and of further columns in one order of rows; see `in_same_order`."""
    columns = {} if columns is None else columns
    if not isinstance(columns, Mapping):
        raise DataError(f"columns: expected a dict such as {{'time': [183, 184]}}; got {_shown(columns)}")
    values = [*in_same_order({**arrays, **{f"columns[{name!r}]": part for name, part in columns.items()}}).values()]
    return values[: len(arrays)], dict(zip(columns, values[len(arrays) :]))


def _check_arguments(answers: Any, dataset: Any) -> None:
    """Raise a DataError unless the arguments of `Predictions.from_labels` are a dict and a dataset."""
    if not isinstance(answers, Mapping):
        expected = "a dict from queries (s, p, None) or (None, p, o) to lists of labels"
        raise DataError(f"answers: expected {expected}; got {_shown(answers)}")
    if not isinstance(dataset, Dataset):
        raise DataError(f"dataset: expected a kgeval.Dataset; got {_shown(dataset)}")


def _shown(value: Any) -> str:
    """Return the type and the start of a value, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, Iterator):
        return f"{type(value).__name__}, which can be read only once (list(...) makes a list of it)"
    return f"{type(value).__name__} {cut_label(repr(value))}"


def _as_list(values: Any, where: str, expected: str) -> Any:
    """Return `values` if they are a sequence of one dimension or more with an order; raise a DataError otherwise.

    Texts, dicts, sets, iterators, single numbers and arrays without a dimension are errors. Arrays of any library and
    frames become numpy arrays.
    """
    is_text = isinstance(values, (str, bytes, bytearray, memoryview))
    if not is_text and hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim:
            return array
    elif not is_text and isinstance(values, Sequence):
        return values
    raise DataError(f"{where}: expected {expected}; got {_shown(values)}")


def _checked_answers(query: Any, given: Any) -> Any:
    """Return the answers of a query, a list of labels or a dict from label to score; raise a DataError otherwise."""
    where = f"query {cut_label(repr(query))}"
    expected = "a list of labels, best answer first, or a dict from label to score"
    if not isinstance(given, Mapping):
        given = list(_as_list(given, where, expected))
    for label in given:
        if not isinstance(label, str):
            is_pair = isinstance(label, (tuple, list)) and len(label) == 2
            hint = "; for scores, write a dict such as {'Rome': 0.9}" if is_pair else ""
            raise DataError(f"{where}: expected {expected}; got the answer {_shown(label)}{hint}")
    if isinstance(given, Mapping):
        for label, score in given.items():
            is_number = hasattr(score, "__float__") and not isinstance(score, (bool, np.bool_)) and np.ndim(score) == 0
            if not is_number:
                raise DataError(f"{where}: expected a number as the score of {cut_label(label)!r}; got {_shown(score)}")
    return given


def _as_ids(name: str, values: Any) -> Ids:
    """Return integers as an int64 array; raise a DataError for other values."""
    array = _as_array(name, values)
    if array.size and array.dtype.kind not in "iu":
        raise DataError(f"{name} must hold integer ids; got dtype {array.dtype}")
    return array.astype(np.int64)


def _as_reals(name: str, values: Any) -> Reals:
    """Return numbers as a float64 array, shape (n,); raise a DataError for other values."""
    array = _as_array(name, values)
    is_decimal = array.dtype.kind == "O" and all(hasattr(value, "__float__") for value in array.flat)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf" and not is_decimal):
        raise DataError(f"{name}: expected numbers in one dimension; got dtype {array.dtype}, shape {array.shape}")
    return array.astype(np.float64)


def _as_array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return `values` as an array; raise a DataError if nested lists have different lengths."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name}: expected an array; got {_shown(values)}: {error}") from error


def _as_sides(sides: Any, n: int) -> npt.NDArray[np.str_]:
    """Return one side for each of `n` rows; `sides` is one side for all rows, or one side per row."""
    if isinstance(sides, str):
        return np.full(n, check_side(sides))
    listed = _as_list(sides, "sides", "'subject', 'object', or a list with one side per triple")
    return np.array([check_side(side) for side in listed], dtype=str)


def _check_rows(owner: Any, source: str, triples: Any, sides: Any, filtered: str | None) -> None:
    """Raise a DataError unless there is one side for each triple, and `sides` and `filtered` have valid values."""
    if not isinstance(triples, np.ndarray) or not isinstance(sides, np.ndarray):
        kind = type(owner).__name__
        raise DataError(f"{source}: {kind}(...) takes numpy arrays; {kind}.from_arrays also takes lists and one side")
    if triples.ndim != 2 or triples.shape[1] != 3 or sides.shape != (len(triples),):
        raise DataError(
            f"{source}: expected triples of shape (n, 3) and sides of shape (n,); got {triples.shape}, {sides.shape}"
        )
    for name, values in owner.columns.items():
        where, expected = f"{source}: columns[{name!r}]", f"one value for each of {len(triples)} triples"
        if len(_as_list(values, where, expected)) != len(triples):
            raise DataError(f"{where}: expected {expected}; got {len(values)}")
    unknown = sorted(set(np.unique(sides).tolist()) - set(SIDES))
    if unknown:
        raise DataError(f"{source}: unknown side {unknown[0]!r}; sides are {', '.join(SIDES)}")
    if filtered is not None:
        check_one_of("filtered", filtered, FILTERED, DataError)
