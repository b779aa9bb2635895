"""evaluate() and the class Evaluator: rank the positives of a dataset with a scorer.

Users and the command line call `evaluate` and `Evaluator`. An `Evaluator` makes the plan (positives, queries,
candidates, filter) once; `kgeval.ranking.rank` counts the rivals; `kgeval.evaluation.assembly` builds the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_positive_int
from kgeval.data import (
    Candidates,
    Dataset,
    KnownIndex,
    Protocol,
    Queries,
    check_side,
    known_triples,
    query_parts,
    triple_ids,
    triple_labels,
)
from kgeval.errors import DataError, ProtocolError
from kgeval.evaluation.assembly import Positives, RankedSide, assemble
from kgeval.evaluation.sources import ScorerSource
from kgeval.ranking import RankCounts, Task, TaskCounts, available_threads, rank
from kgeval.results import EvaluationResult, explain_triple
from kgeval.scorers import MAX_PAIRS, Limits, RowScorer, as_row_scorer, check_missing, missing_ids, probe
from kgeval.scorers.models import EmbeddingModel


def evaluate(
    scorer: Any,
    dataset: Dataset,
    protocol: Protocol | None = None,
    *,
    batch_size: int | None = None,
    block_size: int | None = None,
    max_pairs: int = MAX_PAIRS,
    threads: int | None = None,
    device: str | None = None,
    progress: bool = True,
) -> EvaluationResult:
    """Rank every triple of a split against its corruptions.

    Parameters
    ----------
    scorer : function, object or model
        A function ``score(s, p, o)``, which gets three int64 id arrays of equal length and returns one score per
        triple; an object whose methods ``score_objects(s, p)`` and ``score_subjects(p, o)`` return numpy or torch
        arrays of shape (n, entities); or a model of `kgeval.models` (any object with ``geometry``, ``query_vectors``
        and ``candidate_vectors``). Higher scores are always better.
    dataset : Dataset
    protocol : Protocol, optional
        By default ``Protocol()``.
    batch_size : int, optional
        Number of queries that are scored together.
    block_size : int, optional
        Number of candidates that are scored together.
    max_pairs : int
        The largest number of triples in one call of a function.
    threads : int, optional
        Number of threads for embedding models; by default one per processor.
    device : str, optional
        The device that computes the counts for embedding models: ``"numpy"``; ``"cpu"``, which uses torch and first
        estimates dot products with 8-bit integers; ``"cuda"`` or ``"cuda:1"``. By default numpy for numpy arrays, and
        the device of the tensors for torch tensors. The counts are the same on every device.
    progress : bool
        Whether to show a progress bar, if the output is a terminal.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    ScoreError
        If the scorer returns a wrong shape or dtype, a NaN, or different scores for the same triple.
    ProtocolError
        If the dataset or the scorer does not support the protocol, or the machine does not have the device.
    MissingExtra
        If the device needs torch and torch is not installed.
    DataError
        If no triple is left to rank.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS (filtered ranks).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: -np.abs(s + 1.1 - o), dataset, Protocol(sides="object"))
    >>> result["mrr"], result["raw.mr"]
    (1.0, 1.5)
    """
    return Evaluator(dataset, protocol).evaluate(
        scorer,
        batch_size=batch_size,
        block_size=block_size,
        max_pairs=max_pairs,
        threads=threads,
        device=device,
        progress=progress,
    )


@dataclass(frozen=True)
class _Plan:
    """A protocol applied to a dataset: the positives to rank, the candidates, and the tasks of the ranker.

    Parameters
    ----------
    protocol : Protocol
        From `Protocol.resolved`, with a value in place of each None.
    positives : Positives
        All n positives, including those that are not ranked.
    kept : int64 array, shape (kept,)
        The indices in ``positives.triples`` of the triples that are ranked.
    entities : int64 array
        The ids of the entities that may be candidates.
    tasks : list of Task
    all_rivals : dict of (str, str) to int64 array, shape (n,)
        Only with unseen='worst', else empty. (side, setting) -> the number of rivals of each positive if all entities
        compete, also those that do not occur in train. A positive with an entity or relation that does not occur in
        train gets the last rank.
    """

    protocol: Protocol
    positives: Positives
    kept: Ids
    entities: Ids
    tasks: list[Task]
    all_rivals: dict[tuple[str, str], Ids]

    @property
    def table_rows(self) -> Ids:
        """Element i is the index in ``positives.triples`` of row i of one side's table of ranks, on either side."""
        return np.arange(len(self.positives.triples)) if self.protocol.unseen == "worst" else self.kept


class Evaluator:
    """Evaluate many scorers on one dataset, for example in a training loop; queries and filter are built once.

    Parameters
    ----------
    dataset : Dataset
    protocol : Protocol, optional
        See `evaluate`.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> evaluator = Evaluator(dataset)
    >>> [evaluator.evaluate(lambda s, p, o: sign * s)["subject.mr"] for sign in (1, -1)]
    [4.0, 1.0]
    """

    def __init__(self, dataset: Dataset, protocol: Protocol | None = None) -> None:
        self.dataset = dataset
        if not isinstance(dataset, Dataset):
            raise DataError(f"expected a Dataset; got {dataset!r}. kgeval.read_dataset reads a folder")
        if protocol is not None and not isinstance(protocol, Protocol):
            raise ProtocolError(f"expected a kgeval.Protocol; got {protocol!r}")
        self.protocol = protocol or Protocol()
        self.protocol.resolved(dataset)  # raises an error for a wrong split before anything is scored
        self._plans: dict[Protocol, _Plan] = {}

    def evaluate(
        self,
        scorer: Any,
        *,
        batch_size: int | None = None,
        block_size: int | None = None,
        max_pairs: int = MAX_PAIRS,
        threads: int | None = None,
        device: str | None = None,
        progress: bool = True,
    ) -> EvaluationResult:
        """Rank the positives with `scorer`; parameters, result and errors are those of `kgeval.evaluate`."""
        for name, value in (("batch_size", batch_size), ("block_size", block_size), ("threads", threads)):
            if value is not None:
                check_positive_int(name, value)
        limits = Limits(batch_size, block_size, check_positive_int("max_pairs", max_pairs), device)
        rows = as_row_scorer(scorer, len(self.dataset.entities), limits)
        check_missing(scorer, self.dataset)
        plan = self._plan(self._protocol_for(scorer))
        report = probe(rows, self.dataset, plan.positives.triples[plan.kept], plan.entities, plan.protocol.sides)
        counts = rank(rows, plan.tasks, limits, threads or available_threads(), progress)
        return self._result(plan, counts, rows, [*report.notes, *self._notes(scorer, plan, counts)])

    def explain(
        self, scorer: Any, s: str | int, p: str | int, o: str | int, side: str = "object", limit: int | None = None
    ) -> pd.DataFrame:
        """Return the candidates that rank above a triple or tie with it, known answers included.

        See `EvaluationResult.explain` for the columns of the table.

        Parameters
        ----------
        scorer : function, object or model
            See `kgeval.evaluate`.
        s, p, o : str or int
            Labels or ids. The triple need not be in the dataset.
        side : str
            ``"object"``: candidates replace the object; ``"subject"``: candidates replace the subject.
        limit : int, optional
            Return at most this many candidates above the triple, and at most this many tied candidates.

        Returns
        -------
        pandas.DataFrame
        """
        rows = as_row_scorer(scorer, len(self.dataset.entities))
        check_missing(scorer, self.dataset)
        plan = self._plan(self._protocol_for(scorer))
        triple = triple_ids(self.dataset.entities, self.dataset.relations, (s, p, o))
        in_table = np.flatnonzero((plan.positives.triples[plan.table_rows] == triple).all(axis=1))
        row = int(in_table[0]) if len(in_table) else None
        return explain_triple(self._source(plan, rows), plan.protocol, check_side(side), triple, row, limit)

    def _notes(self, scorer: Any, plan: _Plan, counts: list[TaskCounts]) -> list[str]:
        """Return notes about the scorer: how its file was read, missing vectors, infinite scores."""
        notes = list(scorer.notes) if isinstance(scorer, EmbeddingModel) else []
        if self.protocol.unseen is None and plan.protocol.unseen == "drop":
            lacks = {kind: len(missing_ids(scorer, kind)) for kind in ("entities", "relations")}
            counted = " and ".join(f"{n:,} {kind}" for kind, n in lacks.items() if n)
            notes.append(
                f"the model has no vector for {counted} that do not occur in train, so only the entities of train are "
                "candidates (unseen='drop')"
            )
        if any(part.is_infinite for part in counts):
            notes.append("some scores are +infinity; infinities are ranked as numbers, and tie with each other")
        return notes

    def _protocol_for(self, scorer: Any) -> Protocol:
        """Return the protocol with a value in place of each None.

        If `unseen` is None, it becomes ``"drop"`` if `scorer` has no vector for some entities or relations, else
        ``"rank"``.
        """
        lacks = [kind for kind in ("entities", "relations") if len(missing_ids(scorer, kind))]
        if lacks and self.protocol.unseen in ("rank", "error"):
            vocabulary = self.dataset.entities if lacks[0] == "entities" else self.dataset.relations
            missing = missing_ids(scorer, lacks[0])
            raise ProtocolError(
                f"unseen={self.protocol.unseen!r} needs a vector for every candidate, but the model has none for "
                f"{len(missing)} {lacks[0]} that do not occur in train, first {vocabulary.labels[missing[0]]!r}; "
                "choose unseen='drop' or unseen='worst'"
            )
        return self.protocol.resolved(self.dataset, "drop" if lacks else "rank")

    def _plan(self, protocol: Protocol) -> _Plan:
        if protocol not in self._plans:
            self._plans[protocol] = _make_plan(self.dataset, protocol)
        return self._plans[protocol]

    def _result(self, plan: _Plan, counts: list[TaskCounts], rows: RowScorer, notes: list[str]) -> EvaluationResult:
        n_dropped = 0 if plan.protocol.unseen == "worst" else len(plan.positives.triples) - len(plan.kept)
        return assemble(
            self.dataset,
            plan.protocol,
            plan.positives,
            [self._ranked_side(plan, side, counts) for side in plan.protocol.sides],
            {"an entity or relation that train lacks (unseen='drop')": n_dropped * len(plan.protocol.sides)},
            {"scorer": rows.name, "n_queries": sum(len(task.queries) for task in plan.tasks)},
            self._source(plan, rows),
            notes,
        )

    def _source(self, plan: _Plan, rows: RowScorer) -> ScorerSource:
        return ScorerSource(self.dataset, rows, plan.protocol.candidates, plan.entities, plan.table_rows)

    def _ranked_side(self, plan: _Plan, side: str, counts: list[TaskCounts]) -> RankedSide:
        """Return the ranks of one side, in the order of the positives.

        The tasks contain the positives in another order. With unseen='worst', positives with an entity or relation that
        does not occur in train were not ranked: every rival of such a positive counts as better.
        """
        side_tasks = [(task, part) for task, part in zip(plan.tasks, counts) if task.queries.side == side]
        # Element i of `joined` holds the counts of positive rows[i]. The arrays below have shape (n,), one element per
        # positive.
        rows = np.concatenate([task.queries.rows for task, _ in side_tasks])
        joined = TaskCounts.joined([part for _, part in side_tasks])
        n, is_worst = len(plan.positives.triples), plan.protocol.unseen == "worst"
        by_setting = {}
        for setting, part in (("raw", joined.raw), ("filtered", joined.filtered)):
            better, tied, rivals = (np.zeros(n, dtype=np.int64) for _ in range(3))
            better[rows], tied[rows], rivals[rows] = part.better, part.tied, part.rivals
            if is_worst:
                rivals = plan.all_rivals[side, setting]
                better = np.where(plan.positives.is_seen, better, rivals)
            by_setting[setting] = RankCounts(better, tied, rivals)
        score = np.zeros(n, dtype=joined.scores.dtype)
        score[rows] = joined.scores
        if is_worst:
            score = np.where(plan.positives.is_seen, score, np.nan)
        kept = np.arange(n) if is_worst else plan.kept
        return RankedSide.of(kept, score, by_setting)


def _make_plan(dataset: Dataset, protocol: Protocol) -> _Plan:
    """Choose the positives and the candidates, index the known triples, and make the tasks of each side."""
    positives = Positives.of(dataset, protocol)
    triples, is_seen = positives.triples, positives.is_seen
    if protocol.unseen == "error" and not is_seen.all():
        s, p, o = triples[np.flatnonzero(~is_seen)[0]]
        labels = triple_labels(dataset, s, p, o)
        raise DataError(
            f"{int((~is_seen).sum())} triples to rank contain an entity or relation that does not occur in train, "
            f"first {labels}; "
            "choose unseen='rank', 'drop' or 'worst'"
        )
    all_kept = protocol.unseen in ("rank", "error")
    kept = np.arange(len(triples)) if all_kept else np.flatnonzero(is_seen)
    if not len(kept):
        raise DataError(
            f"no triple is left to rank: all {len(triples)} contain an entity or relation that does not occur in train"
        )
    entities = np.arange(len(dataset.entities)) if all_kept else np.flatnonzero(dataset.is_seen_entity)
    known = known_triples(dataset, protocol.filter_splits or ())
    tasks: list[Task] = []
    all_rivals: dict[tuple[str, str], Ids] = {}
    for side in protocol.sides:
        index = KnownIndex.of(*query_parts(known, side))
        queries = Queries.of(triples[kept], side, rows=kept)
        tasks += _make_tasks(dataset, protocol.candidates, queries, entities, index)
        if protocol.unseen == "worst":  # entities that do not occur in train are rivals too
            all_entities = np.arange(len(dataset.entities))
            for task in _make_tasks(dataset, protocol.candidates, Queries.of(triples, side), all_entities, index):
                for setting, n_rivals in task.count_rivals().items():
                    all_rivals.setdefault((side, setting), np.zeros(len(triples), dtype=np.int64))
                    all_rivals[side, setting][task.queries.rows] = n_rivals
    return _Plan(protocol, positives, kept, entities, tasks, all_rivals)


def _make_tasks(
    dataset: Dataset, candidates: Candidates, queries: Queries, entities: Ids, index: KnownIndex
) -> list[Task]:
    """Return one task per pool: queries that share their candidates.

    Raise a ProtocolError unless each positive is in exactly one pool.
    """
    tasks = [Task.of(dataset, part, pool, index) for part, pool in candidates.pools(queries, entities)]
    rows = [task.queries.rows for task in tasks]
    if not np.array_equal(
        np.sort(np.concatenate([*rows, rows[0][:0] if rows else queries.rows[:0]])), np.sort(queries.rows)
    ):
        raise ProtocolError(
            f"{candidates!r}: pools() must return each of the {len(queries.rows)} positives of the {queries.side} side "
            f"exactly once; it returns {sum(map(len, rows))} rows, {len(set().union(*map(set, rows)))} of them distinct"
        )
    return tasks
