"""evaluate(): dataset, scorer and protocol in, result out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval._version import __version__
from kgeval.checks import Ids, check_positive_int
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset
from kgeval.errors import DataError, KgevalWarning, ProtocolError
from kgeval.probe import check_missing, probe
from kgeval.protocol import Protocol
from kgeval.queries import Queries
from kgeval.ranking import Ranked, Task, available_threads, rank
from kgeval.ranks import RankCounts
from kgeval.results import EvaluationResult
from kgeval.scoring import Limits, as_row_scorer, missing_ids

TIE_RATE_SAID_ALOUD = 0.01


def evaluate(
    scorer: Any,
    dataset: Dataset,
    protocol: Protocol | None = None,
    *,
    batch_size: int | None = None,
    block_size: int | None = None,
    max_pairs: int = 1 << 20,
    threads: int | None = None,
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
        By default ``Protocol()``; where the model has no vector for some entities that train lacks,
        ``Protocol(unseen="drop")``, which is said aloud.
    batch_size : int, optional
        Queries at a time.
    block_size : int, optional
        Candidates at a time.
    max_pairs : int
        The longest arrays that a function is given.
    threads : int, optional
        Workers for embedding models; by default one per processor.
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
        If the protocol does not fit the dataset or the scorer.
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
        progress=progress,
    )


@dataclass(frozen=True)
class _Plan:
    """What a protocol asks of a dataset, made once: which rows are ranked, and the tasks of each side."""

    protocol: Protocol
    triples: Ids
    splits: npt.NDArray[np.int64]
    is_seen: npt.NDArray[np.bool_]
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
        self.protocol = None if protocol is None else protocol.resolved(dataset)
        if protocol is not None and protocol.candidates != "all":
            raise ProtocolError("candidates='listed' needs a table of scores; use kgeval.evaluate_scores")
        self._plans: dict[Protocol, _Plan] = {}

    def evaluate(
        self,
        scorer: Any,
        *,
        batch_size: int | None = None,
        block_size: int | None = None,
        max_pairs: int = 1 << 20,
        threads: int | None = None,
        progress: bool = True,
    ) -> EvaluationResult:
        """Rank with `scorer`; see `kgeval.evaluate`."""
        for name, value in (("batch_size", batch_size), ("block_size", block_size), ("threads", threads)):
            if value is not None:
                check_positive_int(name, value)
        limits = Limits(batch_size, block_size, check_positive_int("max_pairs", max_pairs))
        rows = as_row_scorer(scorer, len(self.dataset.entities), limits)
        check_missing(scorer, self.dataset)
        plan = self._plan(self._protocol_for(scorer))
        some_task = next(iter(plan.tasks.values()))
        notes = probe(rows, self.dataset, plan.triples[plan.kept], some_task.candidates, plan.protocol.sides).notes
        ranked = {
            side: rank(rows, task, limits, threads or available_threads(), progress)
            for side, task in plan.tasks.items()
        }
        return self._result(plan, ranked, rows.name, notes)

    def _protocol_for(self, scorer: Any) -> Protocol:
        """Return the protocol, its policy for unseen entities chosen by what `scorer` can score."""
        lacks = [what for what in ("entities", "relations") if len(missing_ids(scorer, what))]
        if self.protocol is None:
            return Protocol(unseen="drop" if lacks else "rank").resolved(self.dataset)
        if lacks and self.protocol.unseen == "rank":
            vocabulary = self.dataset.entities if lacks[0] == "entities" else self.dataset.relations
            missing = missing_ids(scorer, lacks[0])
            raise ProtocolError(
                f"unseen='rank' needs a vector for every candidate, but the model has none for {len(missing)} "
                f"{lacks[0]} that train lacks, first {vocabulary.labels[missing[0]]!r}; "
                "choose unseen='drop' or unseen='worst'"
            )
        return self.protocol

    def _plan(self, protocol: Protocol) -> _Plan:
        if protocol not in self._plans:
            self._plans[protocol] = _make_plan(self.dataset, protocol)
        return self._plans[protocol]

    def _result(self, plan: _Plan, ranked: dict[str, Ranked], name: str, notes: tuple[str, ...]) -> EvaluationResult:
        protocol, n_sides = plan.protocol, len(plan.protocol.sides)
        is_worst = protocol.unseen == "worst"
        frames = [self._side_frame(plan, side, part) for side, part in ranked.items()]
        n_dropped = 0 if is_worst else (len(plan.triples) - len(plan.kept)) * n_sides
        result = EvaluationResult(
            table=pd.concat(frames, ignore_index=True),
            entities=self.dataset.entities,
            relations=self.dataset.relations,
            protocol=protocol,
            about=about(
                self.dataset,
                name,
                plan.triples,
                sum(len(t.queries) for t in plan.tasks.values()),
                plan.is_seen,
            ),
            dropped={"an entity or relation that train lacks (unseen='drop')": n_dropped} if n_dropped else {},
            n_read=len(plan.triples) * n_sides,
            notes=notes,
        )
        return with_cautions(result)

    def _side_frame(self, plan: _Plan, side: str, ranked: Ranked) -> pd.DataFrame:
        """Put the counts back into the triples' order; with unseen='worst', those not ranked come last."""
        rows = plan.kept[plan.tasks[side].queries.rows]
        n = len(plan.triples)
        counts = {}
        for setting, part in (("raw", ranked.raw), ("filtered", ranked.raw - ranked.known)):
            better, tied, rivals = (np.zeros(n, dtype=np.int64) for _ in range(3))
            better[rows], tied[rows], rivals[rows] = part.better, part.tied, part.rivals
            if plan.protocol.unseen == "worst":
                rivals = plan.all_rivals[side, setting]
                better = np.where(plan.is_seen, better, rivals)
            counts[setting] = RankCounts(better, tied, rivals)
        score = np.zeros(n, dtype=ranked.scores.dtype)
        score[rows] = ranked.scores
        if plan.protocol.unseen == "worst":
            score = np.where(plan.is_seen, score, np.nan)
        frame = ranks_frame(plan.triples, plan.splits, side, plan.protocol, score, counts)
        return frame if plan.protocol.unseen == "worst" else frame.iloc[plan.kept]


def _make_plan(dataset: Dataset, protocol: Protocol) -> _Plan:
    parts = [dataset[split].array for split in protocol.splits]
    triples = np.concatenate(parts)
    splits = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    is_seen = np.concatenate([dataset.is_seen(split) for split in protocol.splits])
    if not len(triples):
        raise DataError(f"split {'+'.join(protocol.splits)} of {dataset.name!r} has 0 triples; nothing to rank")
    if protocol.unseen == "error" and not is_seen.all():
        s, p, o = triples[np.flatnonzero(~is_seen)[0]]
        labels = (dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o])
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
    return _Plan(protocol, triples, splits, is_seen, kept, tasks, all_rivals)


def ranks_frame(
    triples: Ids,
    splits: Ids,
    side: str,
    protocol: Protocol,
    score: npt.NDArray[Any],
    counts: dict[str, RankCounts],
) -> pd.DataFrame:
    """Return the ranks table of one side, columns in their documented order."""
    n = len(triples)
    columns: dict[str, Any] = {
        "s": triples[:, 0],
        "p": triples[:, 1],
        "o": triples[:, 2],
        "side": pd.Categorical.from_codes(np.full(n, list(protocol.sides).index(side)), pd.Index(protocol.sides)),
        "split": pd.Categorical.from_codes(splits, pd.Index(protocol.splits)),
        "score": score,
    }
    for setting, part in counts.items():
        columns |= {
            f"better_{setting}": part.better,
            f"tied_{setting}": part.tied,
            f"rivals_{setting}": part.rivals,
        }
    return pd.DataFrame(columns)


def about(
    dataset: Dataset, scorer_name: str, triples: Ids, n_queries: int, is_seen: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Return what a result carries beside its counts; JSON-able."""
    return {
        "dataset": dataset.name,
        "dataset_fingerprint": dataset.fingerprint,
        "observations": dataset.observations(),
        "scorer": scorer_name,
        "version": __version__,
        "n_triples": len(triples),
        "n_queries": n_queries,
        "n_unseen": int((~is_seen).sum()),
    }


def with_cautions(result: EvaluationResult) -> EvaluationResult:
    """Return the result with a note, and a warning, for each reason to distrust its numbers."""
    cautions = []
    if result.tie_rate > TIE_RATE_SAID_ALOUD:
        cautions.append(
            f"{result.tie_rate:.1%} of the positives tie with a rival; the numbers depend on the tie policy "
            "(compare optimistic.mrr, pessimistic.mrr and expected.mrr)"
        )
    if result["amri"] < 0:
        cautions.append(
            f"the ranks are worse than chance (AMRI {result['amri']:.3f}); scores must be higher for better triples: "
            "negate distances"
        )
    n_infinite = int(np.isinf(result.table["score"].to_numpy(dtype=np.float64)).sum())
    if n_infinite:
        cautions.append(f"{n_infinite} positives score infinity; infinities are ranked as numbers and tie")
    for caution in cautions:
        warnings.warn(caution, KgevalWarning, stacklevel=4)
    return result.with_notes(*cautions)
