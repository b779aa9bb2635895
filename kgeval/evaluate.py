"""evaluate(): dataset, scorer and protocol in, result out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.assembly import Positives, assemble
from kgeval.checks import Ids, check_positive_int
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset, triple_labels
from kgeval.errors import DataError, ProtocolError
from kgeval.explaining import explain_triple
from kgeval.models import EmbeddingModel
from kgeval.probe import check_missing, probe
from kgeval.protocol import Protocol
from kgeval.queries import Queries, check_side
from kgeval.ranking import Ranked, Task, available_threads, rank
from kgeval.ranks import RankCounts
from kgeval.results import EvaluationResult
from kgeval.scoring import MAX_PAIRS, Limits, as_row_scorer, missing_ids
from kgeval.sources import ScorerSource
from kgeval.triples import triple_ids


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
        A function ``score(s, p, o)`` of three int64 id arrays of equal length that returns one score
        per triple; an object with ``score_objects(s, p)`` and ``score_subjects(p, o)`` that return
        shape (n, entities), numpy or torch; or a model of `kgeval.models` (anything with
        ``geometry``, ``query_vectors`` and ``candidate_vectors``). Higher scores are better, always.
    dataset : Dataset
    protocol : Protocol, optional
        By default ``Protocol()``.
    batch_size : int, optional
        Queries at a time.
    block_size : int, optional
        Candidates at a time.
    max_pairs : int
        The longest arrays that a function is given.
    threads : int, optional
        Workers for embedding models; by default one per processor.
    device : str, optional
        Where embedding models are ranked: ``"numpy"``; ``"cpu"``, which screens dot products with torch's products of
        bytes; ``"cuda"`` or ``"cuda:1"``. By default numpy for arrays, and for tensors their own device. Counts are the
        same everywhere.
    progress : bool
        Whether a terminal shows a bar.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    ScoreError
        If the scorer gives a wrong shape or dtype, a NaN, or different scores for the same triple.
    ProtocolError
        If the protocol does not fit the dataset or the scorer, or a device is not there.
    MissingExtra
        If a device needs torch, which is not installed.
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
    """What a protocol asks of a dataset, made once: which rows are ranked, and the tasks of each side."""

    protocol: Protocol
    positives: Positives
    kept: Ids
    tasks: dict[str, Task]
    all_rivals: dict[tuple[str, str], Ids]


class Evaluator:
    """Builds queries and filter once, for many evaluations on the same dataset, as in a training loop.

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
        self.protocol.resolved(dataset)  # a wrong split is said before any scoring
        if self.protocol.candidates != "all":
            raise ProtocolError("candidates='listed' needs a table of scores; use kgeval.evaluate_scores")
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
        """Rank with `scorer`; see `kgeval.evaluate`."""
        for name, value in (("batch_size", batch_size), ("block_size", block_size), ("threads", threads)):
            if value is not None:
                check_positive_int(name, value)
        limits = Limits(batch_size, block_size, check_positive_int("max_pairs", max_pairs), device)
        rows = as_row_scorer(scorer, len(self.dataset.entities), limits)
        check_missing(scorer, self.dataset)
        plan = self._plan(self._protocol_for(scorer))
        candidates = next(iter(plan.tasks.values())).candidates
        report = probe(rows, self.dataset, plan.positives.triples[plan.kept], candidates, plan.protocol.sides)
        ranked = rank(rows, plan.tasks, limits, threads or available_threads(), progress)
        result = self._result(plan, ranked, rows.name, [*report.notes, *self._notes(scorer, plan, ranked)])
        return replace(result, source=ScorerSource(self.dataset, rows, candidates))

    def explain(
        self, scorer: Any, s: str | int, p: str | int, o: str | int, side: str = "object", most: int | None = None
    ) -> pd.DataFrame:
        """Return the candidates that `scorer` puts above a triple, known or not; see `EvaluationResult.explain`.

        The triple need not be in the dataset.
        """
        rows = as_row_scorer(scorer, len(self.dataset.entities))
        check_missing(scorer, self.dataset)
        plan = self._plan(self._protocol_for(scorer))
        source = ScorerSource(self.dataset, rows, next(iter(plan.tasks.values())).candidates)
        triple = triple_ids(self.dataset.entities, self.dataset.relations, (s, p, o))
        return explain_triple(source, plan.protocol, check_side(side), triple, most)

    def _notes(self, scorer: Any, plan: _Plan, ranked: dict[str, Ranked]) -> list[str]:
        """Return what must be said of the scorer: what it lacks, how its file was read, infinities."""
        notes = list(scorer.notes) if isinstance(scorer, EmbeddingModel) else []
        if self.protocol.unseen is None and plan.protocol.unseen == "drop":
            lacks = {what: len(missing_ids(scorer, what)) for what in ("entities", "relations")}
            counted = " and ".join(f"{n:,} {what}" for what, n in lacks.items() if n)
            notes.append(
                f"the model has no vector for {counted} that train lacks: candidates are the entities of train "
                "(unseen='drop')"
            )
        if any(part.is_infinite for part in ranked.values()):
            notes.append("some scores are +infinity; infinities are ranked as numbers, and tie with each other")
        return notes

    def _protocol_for(self, scorer: Any) -> Protocol:
        """Return the protocol, its policy for unseen entities chosen by what `scorer` can score."""
        lacks = [what for what in ("entities", "relations") if len(missing_ids(scorer, what))]
        if lacks and self.protocol.unseen in ("rank", "error"):
            vocabulary = self.dataset.entities if lacks[0] == "entities" else self.dataset.relations
            missing = missing_ids(scorer, lacks[0])
            raise ProtocolError(
                f"unseen={self.protocol.unseen!r} needs a vector for every candidate, but the model has none for "
                f"{len(missing)} {lacks[0]} that train lacks, first {vocabulary.labels[missing[0]]!r}; "
                "choose unseen='drop' or unseen='worst'"
            )
        return self.protocol.resolved(self.dataset, "drop" if lacks else "rank")

    def _plan(self, protocol: Protocol) -> _Plan:
        if protocol not in self._plans:
            self._plans[protocol] = _make_plan(self.dataset, protocol)
        return self._plans[protocol]

    def _result(self, plan: _Plan, ranked: dict[str, Ranked], name: str, notes: list[str]) -> EvaluationResult:
        n_dropped = 0 if plan.protocol.unseen == "worst" else len(plan.positives.triples) - len(plan.kept)
        return assemble(
            self.dataset,
            plan.protocol,
            plan.positives,
            [self._side_frame(plan, side, part) for side, part in ranked.items()],
            {"an entity or relation that train lacks (unseen='drop')": n_dropped * len(plan.protocol.sides)},
            {"scorer": name, "n_queries": sum(len(task.queries) for task in plan.tasks.values())},
            notes,
        )

    def _side_frame(self, plan: _Plan, side: str, ranked: Ranked) -> pd.DataFrame:
        """Put the counts back into the triples' order; with unseen='worst', those not ranked come last."""
        rows = plan.kept[plan.tasks[side].queries.rows]
        n = len(plan.positives.triples)
        counts = {}
        for setting, part in (("raw", ranked.raw), ("filtered", ranked.raw - ranked.known)):
            better, tied, rivals = (np.zeros(n, dtype=np.int64) for _ in range(3))
            better[rows], tied[rows], rivals[rows] = part.better, part.tied, part.rivals
            if plan.protocol.unseen == "worst":
                rivals = plan.all_rivals[side, setting]
                better = np.where(plan.positives.is_seen, better, rivals)
            counts[setting] = RankCounts(better, tied, rivals)
        score = np.zeros(n, dtype=ranked.scores.dtype)
        score[rows] = ranked.scores
        if plan.protocol.unseen == "worst":
            score = np.where(plan.positives.is_seen, score, np.nan)
        frame = plan.positives.frame(side, plan.protocol, score, counts)
        return frame if plan.protocol.unseen == "worst" else frame.iloc[plan.kept]


def _make_plan(dataset: Dataset, protocol: Protocol) -> _Plan:
    positives = Positives.of(dataset, protocol)
    triples, is_seen = positives.triples, positives.is_seen
    if protocol.unseen == "error" and not is_seen.all():
        s, p, o = triples[np.flatnonzero(~is_seen)[0]]
        labels = triple_labels(dataset, s, p, o)
        raise DataError(
            f"{int((~is_seen).sum())} triples to rank name an entity or relation that train lacks, first {labels}; "
            "choose unseen='rank', 'drop' or 'worst'"
        )
    all_kept = protocol.unseen in ("rank", "error")
    kept = np.arange(len(triples)) if all_kept else np.flatnonzero(is_seen)
    if not len(kept):
        raise DataError(f"all {len(triples)} triples to rank name an entity or relation that train lacks; none is left")
    candidates = np.arange(len(dataset.entities)) if all_kept else np.flatnonzero(dataset.is_seen_entity)
    known = known_triples(dataset, protocol.filter_splits or ())
    tasks: dict[str, Task] = {}
    all_rivals: dict[tuple[str, str], Ids] = {}
    for side in protocol.sides:
        index = KnownIndex.of(known, side)
        tasks[side] = Task.of(dataset, Queries.of(triples[kept], side), candidates, index)
        if protocol.unseen == "worst":
            all_rivals[side, "raw"] = np.full(len(triples), len(dataset.entities) - 1)
            all_rivals[side, "filtered"] = all_rivals[side, "raw"] - index.count_others(triples, side)
    return _Plan(protocol, positives, kept, tasks, all_rivals)
