"""`evaluate_candidates` ranks each positive among its own list of negatives, by scores that the user provides."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores, names_unknown_arguments
from kgeval.base.files import read_arrays
from kgeval.data.candidates import NOT_KNOWN, All, Listed, Recorded
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.lists import Ragged
from kgeval.data.protocol import PROTOCOL_HINTS, Protocol
from kgeval.data.queries import given_and_asked, query_parts
from kgeval.data.sides import SIDES
from kgeval.errors import DataError, ProtocolError, ScoreError
from kgeval.evaluation.build_result import (
    Positives,
    RankedSide,
    assemble,
    check_empty,
    check_given_scores,
    list_notes,
    short_lists,
)
from kgeval.ranking.listed import ListTask, count_lists
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.scorers.values import as_scores

NO_IDS = (
    "the ids of the negatives were not given (negatives=), so known triples among them cannot be removed: the filtered "
    "setting equals the raw setting"
)
EVALUATOR_KEYS = ("y_pred_pos", "y_pred_neg")  # the input of the evaluators of OGB and TGB
METRIC_KEY = "eval_metric"  # names the metrics that TGB's evaluator computes


@names_unknown_arguments(**PROTOCOL_HINTS)
def evaluate_candidates(
    dataset: Dataset,
    *,
    objects: Any = None,
    subjects: Any = None,
    negatives: Listed | Mapping[str, Any] | str | Path | None = None,
    protocol: Protocol | None = None,
) -> EvaluationResult:
    """Rank every positive among its own negatives, by scores that are already computed.

    Parameters
    ----------
    dataset : Dataset
        Its splits define the positives and the known triples.
    objects : tuple (positive scores, negative scores), mapping, list of mappings, or path, optional
        The scores of the positives: one array or tensor of shape (n,). The scores of the negatives with another object:
        one array or tensor of shape (n, m), or n arrays of any length. Row i of both belongs to row i of the ranked
        split, duplicate rows included. Higher is better.

        Also the input of the evaluators of OGB and TGB: a dict with the keys ``"y_pred_pos"`` and ``"y_pred_neg"``; a
        list of such dicts, one for each call of the evaluator, in the order of the rows (a call with one positive may
        have negatives of shape (m,)); or the path of an ``.npz`` file with these two arrays.
    subjects : like `objects`, optional
        The same for the negatives with another subject.
    negatives : Listed, mapping or path, optional
        The ids of the negatives, one for each score of a negative, in the same order: `kgeval.candidates.Listed`;
        ``{"objects": ids, "subjects": ids}``; a split dictionary of OGB with ``head``, ``relation``, ``tail`` and
        ``head_neg``, ``tail_neg`` or both (`kgeval.candidates.Listed.from_ogb`); or the path of a file that
        `kgeval.read_candidates` reads. The filtered setting needs the ids; without ids, the filtered ranks equal the
        raw ranks, and a note of the result says so.
    protocol : Protocol, optional
        Names the split that is ranked (by default test) and the splits whose triples are known (by default all).

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If no side is given, if a positive has no negative (see ``empty=`` of `Listed`), if a file cannot be read, or if
        the triples of a split dictionary are not those of the ranked split.
    ProtocolError
        If the numbers of rows or the lengths of the lists do not match, or if the protocol contradicts the scores.
    ScoreError
        If a score is NaN or not a number, or if positives and negatives have dtypes that cannot be compared exactly.

    Notes
    -----
    OGB's and TGB's evaluators place a positive in the middle of the negatives with the same score. This is the tie
    policy ``realistic``, the default of kgeval. OGB and TGB remove no negatives, so their MRR and hits@k equal those of
    the raw setting: ``raw.mrr``, or ``mrr`` if no ids are given. With ids, a negative that is the answer of its own
    positive is left out in both settings. The mean over both sides is the mean of the concatenated lists of OGB's
    evaluator. OGB and TGB average float32 numbers; kgeval averages float64 numbers.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=5, n_relations=1)
    >>> result = evaluate_candidates(
    ...     dataset, objects=([0.9, 0.4], [[0.1, 0.2], [0.5, 0.3]]), negatives={"objects": [[3, 4], [3, 4]]}
    ... )
    >>> result["object.mrr"], result["hits@1"]
    (0.75, 0.5)
    """
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"expected a kgeval.Dataset first; got {type(dataset).__name__}. Scores are given by name: "
            "evaluate_candidates(dataset, objects=..., subjects=...)"
        )
    given = {side: pair for side, pair in (("subject", subjects), ("object", objects)) if pair is not None}
    if not given:
        raise DataError("evaluate_candidates needs scores: objects=(positives, negatives), subjects=..., or both")
    scored = {side: _scores_of(side, pair) for side, pair in given.items()}
    protocol = protocol or Protocol()
    listed = _listed(negatives, scored, dataset, protocol.splits)
    resolved = _resolved(protocol, dataset, scored, listed)
    positives = Positives.of(dataset, resolved)
    known = facts_of(dataset, resolved.filter or (), resolved.filter_by or ())
    rows = np.arange(len(positives.triples))
    tasks, ranked = [], []
    for side, (positive_scores, negative_scores) in scored.items():
        _check_rows(side, len(positive_scores), len(rows), resolved)
        if listed is None:
            counts = count_lists(positive_scores, negative_scores, np.zeros(len(negative_scores.values), dtype=bool))
        else:
            index = KnownIndex.of(*query_parts(known, side))
            entities = np.arange(len(dataset.entities))
            task = ListTask.of(dataset, listed, side, positives.facts, rows, entities, index, positives.columns)
            if listed.duplicates == "drop":
                _check_repeated(dataset, side, positives.triples, listed.lists[side], negative_scores)
            kept = Ragged(task.rivals.offsets, negative_scores.values[task.kept])
            counts = count_lists(positive_scores, kept, task.is_known)
            tasks.append(_Scored(task, positive_scores, kept.values))
        by_setting = {"raw": counts.raw, "filtered": counts.filtered}
        is_ranked = check_empty(listed, dataset, side, positives.triples, counts.raw.rivals)
        ranked.append(RankedSide.of(np.flatnonzero(is_ranked), counts.scores, by_setting))
    return assemble(
        resolved,
        positives,
        ranked,
        {},
        {"scorer": "scores", "n_queries": len(rows) * len(ranked)},
        ListSource(dataset, tuple(tasks), np.concatenate([part.rows for part in ranked])),
        [*_padding_notes(scored), *([NO_IDS] if listed is None else list_notes([part.task for part in tasks]))],
        cautions=short_lists({side: lists.lengths for side, (_, lists) in scored.items()}),
    )


def _padding_notes(scored: Mapping[str, tuple[Scores, Ragged]]) -> list[str]:
    """Return a note for each side on which negatives score -infinity, as padding of shorter lists does."""
    notes = []
    for side, (_, negatives) in scored.items():
        n = int((negatives.values == -np.inf).sum())
        if n:
            notes.append(
                f"{side} side: {n:,} of {len(negatives.values):,} negatives score -infinity and count as candidates; "
                "if they are padding of shorter lists, leave them out: AMRI and chance levels depend on "
                "the number of candidates"
            )
    return notes


@dataclass(frozen=True, eq=False)
class _Scored:
    """The task of one side, the scores of its positives, and the scores of its rivals, in the order of the task."""

    task: ListTask
    positives: Scores
    negatives: Scores


@dataclass(frozen=True, eq=False)
class ListSource:
    """Looks up the scores of a positive and its negatives; implements `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    sides : tuple
        For each side, its lists of negatives and their scores; empty if the ids of the negatives are unknown.
    positive_rows : int64 array, shape (rows,)
        For each row of the table of ranks, the index of its positive.
    """

    dataset: Dataset
    sides: tuple[_Scored, ...]
    positive_rows: Ids

    @property
    def is_exact(self) -> bool:
        """Whether a repeated look-up returns exactly the same scores: always True, because the scores are stored."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the candidates of a positive (answer and negatives) as sorted ids, and the score of each candidate."""
        found = [scored for scored in self.sides if scored.task.side == side]
        if not found or row is None:
            raise DataError("the ids of the negatives are unknown, so kgeval cannot name them; pass negatives=")
        scored, i = found[0], self.positive_rows[row]
        _, answers = given_and_asked(triple[None], side)
        rivals = scored.task.rivals
        scores = Ragged(rivals.offsets, scored.negatives)
        candidates = np.append(rivals.part(i, i + 1).values, answers)
        order = np.argsort(candidates, kind="stable")
        return candidates[order], np.append(scores.part(i, i + 1).values, scored.positives[i])[order]


def _scores_of(side: str, given: Any) -> tuple[Scores, Ragged]:
    """Check the scores of a side; return the scores of positives, (n,), and of negatives (`Ragged`), in one dtype."""
    name = f"{side}s"
    if isinstance(given, (str, Path)):
        name = f"{name} ({given})"
        given = read_arrays(given)
    if isinstance(given, (list, tuple)) and given and all(isinstance(part, Mapping) for part in given):
        return _checked_scores(name, f"{name}, y_pred_pos", f"{name}, y_pred_neg", *_joined_calls(name, given))
    if isinstance(given, Mapping):
        positives, negatives = _evaluator_input(name, given)
        return _checked_scores(name, f"{name}['y_pred_pos']", f"{name}['y_pred_neg']", positives, negatives)
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ScoreError(
            f"{name} must be a pair (scores of the positives, scores of the negatives), or a dict with y_pred_pos and "
            f"y_pred_neg; got {type(given).__name__}"
        )
    return _checked_scores(name, f"{name}[0]", f"{name}[1]", *given)


def _evaluator_input(name: str, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the two arrays of an evaluator's input; the negatives of a single positive, (m,), get shape (1, m)."""
    if not set(EVALUATOR_KEYS) <= set(given) <= {*EVALUATOR_KEYS, METRIC_KEY}:
        raise ScoreError(
            f"{name} must have the keys y_pred_pos, shape (n,), and y_pred_neg, shape (n, m); got "
            f"{', '.join(map(str, given)) or 'none'}"
        )
    positives, negatives = (given[key] for key in EVALUATOR_KEYS)
    if isinstance(negatives, (list, tuple)) and all(np.ndim(part) == 0 for part in negatives):
        negatives = as_scores(negatives, f"{name}['y_pred_neg']")
    is_ragged = isinstance(negatives, np.ndarray) and negatives.dtype == object  # an array of arrays
    if getattr(negatives, "ndim", 0) != 1 or is_ragged:
        return positives, negatives
    if np.ndim(positives) and len(positives) != 1:
        raise ScoreError(
            f"{name}['y_pred_neg'] has shape {tuple(negatives.shape)} for {len(positives):,} positives: negatives that "
            "all positives share, as in ogbl-ppa and ogbl-collab. kgeval ranks each positive among its own list: give "
            "shape (n, m)"
        )
    return positives, negatives[None]


def _joined_calls(name: str, calls: Sequence[Mapping[str, Any]]) -> tuple[Scores, list[Scores]]:
    """Join the scores of several calls of an evaluator.

    Return the scores of the positives and the lists of negatives.
    """
    positives: list[Scores] = []
    negatives: list[Scores] = []
    for i, call in enumerate(calls):
        own, others = _evaluator_input(f"{name}[{i}]", call)
        own = np.atleast_1d(as_scores(own, f"{name}[{i}]['y_pred_pos']"))
        if own.ndim != 1 or len(own) != len(others):
            raise ScoreError(
                f"{name}[{i}]: y_pred_pos has shape {own.shape} and y_pred_neg has {len(others):,} rows; expected (n,) "
                "and n rows"
            )
        others = others if isinstance(others, (list, tuple)) else as_scores(others, f"{name}[{i}]['y_pred_neg']")
        positives.append(own)
        negatives += list(others)
    return np.concatenate(_in_one_dtype(f"{name}, y_pred_pos", positives)), negatives


def _checked_scores(
    name: str, positives_name: str, negatives_name: str, positives: Any, negatives: Any
) -> tuple[Scores, Ragged]:
    """Check the scores of one side, and return them as `_scores_of` does; the names are for messages."""
    for array_name, values in ((positives_name, positives), (negatives_name, negatives)):
        if hasattr(values, "iloc"):
            raise ScoreError(
                f"{array_name} is a {type(values).__name__}, whose index would be ignored; pass .to_numpy()"
            )
    positives = as_scores(positives, positives_name)
    if positives.ndim != 1:
        raise ScoreError(f"{positives_name} must have shape (n,), one score per positive; got shape {positives.shape}")
    if hasattr(negatives, "detach") or (isinstance(negatives, np.ndarray) and negatives.ndim == 2):
        negatives = as_scores(negatives, negatives_name)
        if negatives.ndim != 2:
            raise ScoreError(f"{negatives_name} must have shape (n, m); got shape {negatives.shape}")
        positives, negatives = _in_one_dtype(name, [positives, negatives])
        lists = Ragged.of_rows(negatives)
    else:
        if not hasattr(negatives, "__len__"):
            raise ScoreError(
                f"{negatives_name} must have shape (n, m), or be n arrays of scores; got {type(negatives).__name__}"
            )
        parts = [as_scores(part, f"{negatives_name}[{i}]") for i, part in enumerate(negatives)]
        if any(part.ndim != 1 for part in parts):
            raise ScoreError(f"{negatives_name} must have shape (n, m), or be n arrays of scores")
        positives, *parts = _in_one_dtype(name, [positives, *parts])
        lists = Ragged.of(parts)
    if np.isnan(positives).any():
        raise ScoreError(f"{positives_name}: the score of positive {int(np.argmax(np.isnan(positives)))} is NaN")
    if np.isnan(lists.values).any():
        position = int(np.argmax(np.isnan(lists.values)))
        i = int(lists.list_of[position])
        raise ScoreError(f"{negatives_name}: negative {position - int(lists.offsets[i])} of positive {i} has score NaN")
    if len(lists) != len(positives):
        raise ScoreError(f"{name}: {len(positives):,} positives, but {len(lists):,} lists of negatives")
    return positives, lists


def _in_one_dtype(name: str, parts: list[Scores]) -> list[Scores]:
    """Convert scores to one dtype that holds every score exactly; raise a ScoreError if there is no such dtype.

    The first array holds the scores of the positives. Scores of two float dtypes are refused: equal scores may differ
    after rounding to the narrower dtype, so ties could be lost.
    """
    dtypes = {part.dtype.newbyteorder("=") for part in parts if part.size}
    floats = {dtype for dtype in dtypes if dtype.kind == "f"}
    if len(floats) > 1:
        raise ScoreError(
            f"{name} has scores of different dtypes, {' and '.join(sorted(map(str, floats)))}, so ties could be lost; "
            "give positives and negatives in one dtype"
        )
    common = floats.pop() if floats else np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    # The float dtype, and the float64 of the comparison below, hold all integers below `least_rounded` exactly.
    least_rounded = 2.0 ** (1 + min(np.finfo(common).nmant, 52)) if common.kind == "f" else np.inf
    converted = []
    for part in parts:
        if part.dtype.kind in "iu" and (np.abs(part.astype(np.float64)) >= least_rounded).any():
            raise ScoreError(
                f"{name} has integer scores that {common} cannot hold exactly; give positives and negatives in one "
                "dtype"
            )
        converted.append(part.astype(common))
    return converted


def _listed(
    negatives: Any, scored: Mapping[str, tuple[Scores, Ragged]], dataset: Dataset, splits: Sequence[str]
) -> Listed | None:
    """Check and return the ids of the negatives, one for each score; None if the user gave no ids."""
    if negatives is None:
        return None
    if isinstance(negatives, (str, Path)):
        from kgeval.formats.candidate_files import (
            read_candidates,  # only here: most evaluations read no file of negatives
        )

        if len(splits) != 1:
            raise ProtocolError(
                f"a file of negatives is for one split, but the protocol ranks {', '.join(splits)}; pass Listed"
            )
        negatives = read_candidates(negatives, dataset, split=splits[0])
    elif isinstance(negatives, Mapping) and {"head", "relation", "tail", "head_neg", "tail_neg"} & set(negatives):
        # A split dictionary has the negatives of both sides; those of sides without scores are not needed.
        without = {"subject": "head_neg", "object": "tail_neg"}.items()
        needed = set(negatives) - {key for side, key in without if side not in scored}
        negatives = Listed.from_ogb({key: negatives[key] for key in negatives if key in needed}, dataset, splits=splits)
    elif isinstance(negatives, Mapping):
        unknown = set(negatives) - {"objects", "subjects"}
        if unknown:
            raise ProtocolError(
                f"negatives has the key {min(unknown)!r}; expected 'objects', 'subjects', or the keys of a split "
                "dictionary of OGB: 'head', 'relation', 'tail', 'head_neg', 'tail_neg'"
            )
        negatives = Listed(**negatives)
    if not isinstance(negatives, Listed):
        raise ProtocolError(
            "negatives must be kgeval.candidates.Listed, a dict with the keys 'objects', 'subjects', or a split "
            f"dictionary of OGB; got {type(negatives).__name__}"
        )
    if set(negatives.lists) != set(scored):
        raise ProtocolError(
            f"negatives has ids for the sides {', '.join(negatives.sides)}, but scores were given for "
            f"{', '.join(side for side in SIDES if side in scored)}"
        )
    for side, (_, scores) in scored.items():
        lengths = negatives.lists[side].lengths
        if len(lengths) != len(scores):
            raise ProtocolError(f"negatives has {len(lengths):,} lists of {side}s; expected {len(scores):,}")
        wrong = np.flatnonzero(lengths != scores.lengths)
        if len(wrong):
            i = wrong[0]
            raise ProtocolError(
                f"positive {i}, {side} side, has {lengths[i]} ids of negatives and {scores.lengths[i]} scores; give "
                "one id for each score"
            )
    return negatives


def _resolved(protocol: Protocol, dataset: Dataset, scored: Mapping[str, Any], listed: Listed | None) -> Protocol:
    """Return the protocol with the lists as candidates, and without a filter if the ids are unknown."""
    check_given_scores(protocol, "given scores")
    candidates = _lengths_alone(scored) if listed is None else listed
    if protocol.candidates not in (All(), candidates):
        raise ProtocolError("the negatives determine the candidates; remove candidates= from the protocol")
    if listed is None and protocol.filter:
        raise ProtocolError("filter needs the ids of the negatives; pass negatives=")
    filters = () if listed is None else protocol.filter
    sides = tuple(side for side in SIDES if side in scored)
    if protocol.names_sides and protocol.sides != sides:
        raise ProtocolError(
            f"the protocol ranks the sides {', '.join(protocol.sides)}, but scores were given for {', '.join(sides)}"
        )
    return replace(protocol, sides=sides, candidates=candidates, filter=filters).resolved(dataset)


def _lengths_alone(scored: Mapping[str, tuple[Scores, Ragged]]) -> Recorded:
    """Return the candidates for lists without ids: not known, with a digest of the lengths of the lists."""
    digest = hashlib.sha256(b"kgeval lengths of lists 1")
    for side, (_, lists) in scored.items():
        digest.update(f"\n{side}\n".encode() + lists.lengths.astype("<i8").tobytes())
    return Recorded(NOT_KNOWN, digest.hexdigest(), "negatives that are not known (scores without ids)")


def _check_rows(side: str, found: int, expected: int, protocol: Protocol) -> None:
    if found != expected:
        both = (
            "; OGB's evaluator takes the rows of both sides in one array, but kgeval takes one array per side: "
            "subjects= and objects="
        )
        raise ProtocolError(
            f"{side}s has {found:,} positives, but split {'+'.join(protocol.splits)} has {expected:,} triples; give "
            "one row per triple, in the order of the triples, including duplicate triples"
            f"{both if found == 2 * expected else ''}"
        )


def _check_repeated(dataset: Dataset, side: str, triples: Ids, ids: Ragged, scores: Ragged) -> None:
    """Raise a ScoreError if a list contains an entity twice with different scores."""
    keys = ids.list_of * len(dataset.entities) + ids.values
    order = np.lexsort((scores.values, keys))
    is_wrong = (np.diff(keys[order]) == 0) & (scores.values[order][1:] != scores.values[order][:-1])
    if is_wrong.any():
        position = order[int(np.argmax(is_wrong))]
        s, p, o = triples[ids.list_of[position]]
        raise ScoreError(
            f"the list of {triple_labels(dataset, s, p, o)}, {side} side, contains entity "
            f"{dataset.entities.labels[ids.values[position]]!r} with two different scores; duplicates='drop' cannot "
            "choose between them"
        )
