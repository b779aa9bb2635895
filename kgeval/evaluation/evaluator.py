"""`evaluate` and the class `Evaluator` rank the positives of a dataset with a scorer.

Users and the command line call `evaluate` and `Evaluator`. An `Evaluator` makes the plan (positives, queries,
candidates, filter) once; `kgeval.ranking.jobs.rank` counts the rivals; `kgeval.evaluation.build_result` builds the
result.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import (
    Ids,
    check_one_of,
    check_positive_int,
    counted,
    cut_label,
    listed,
    names_unknown_arguments,
)
from kgeval.data.candidates import LAST, All, Listed
from kgeval.data.column_names import given_values
from kgeval.data.dataset import Dataset, check_dataset
from kgeval.data.keys import FactColumns, codes_of, column_notes, distinct_texts, further_column
from kgeval.data.protocol import PROTOCOL_HINTS, Protocol
from kgeval.data.sides import ALL_SIDES, check_side
from kgeval.data.vocabulary import triple_ids
from kgeval.errors import DataError, ProtocolError, Stopped
from kgeval.evaluation.bounded_cache import remember
from kgeval.evaluation.build_result import RankedSide, assemble, list_notes, short_lists
from kgeval.evaluation.plan import RankingPlan, ids_of_candidates, make_plan
from kgeval.evaluation.precision import PrecisionSteps, precision_keys
from kgeval.evaluation.rescoring import ScorerSource
from kgeval.evaluation.row_order import (
    MIN_JUDGED,
    NO_ROWS,
    ROW_ORDER,
    KeptTasks,
    TestedRanks,
    check_row_order,
    unchecked,
)
from kgeval.evaluation.run_settings import RunSettings, joined_sides
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.jobs import Executor, Job, rank
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.explanations import explain_triple
from kgeval.scorers import baselines
from kgeval.scorers.check import checked_scorer, probe
from kgeval.scorers.faults import SEARCH_SECONDS, find_fault
from kgeval.scorers.libraries import scorer_notes
from kgeval.scorers.row_scorers import Limits, RowScorer, columns_taken, missing_ids

MAX_PLANS = 8  # plans that an Evaluator keeps, for example of several samples


# What to write instead of arguments of version 0.1 that say how a run is computed.
RUN_HINTS = {
    "threads": "executor=kgeval.executors.Threads(4)",
    **dict.fromkeys(("block_size", "max_pairs"), "batch_size= (pairs of a query and a candidate scored at once)"),
    "checkpoint": "run_folder=",
    "resume": "run_folder= alone (it goes on where the same run stopped)",
}


@names_unknown_arguments(**PROTOCOL_HINTS, **RUN_HINTS)
def evaluate(
    scorer: Any,
    dataset: Dataset,
    protocol: Protocol | None = None,
    *,
    device: str | None = None,
    batch_size: int | None = None,
    executor: Executor | None = None,
    run_folder: str | Path | None = None,
    max_seconds: float | None = None,
    check_rows: bool = True,
    progress: bool = True,
) -> EvaluationResult:
    """Rank every triple of a split against its corruptions: the triples with another subject or another object.

    Parameters
    ----------
    scorer : function, object or model
        A function ``score(s, p, o)``, which gets three int64 id arrays of equal length and returns one score per
        triple; an object whose methods ``score_objects(s, p)`` and ``score_subjects(p, o)`` return numpy or torch
        arrays of shape (n, entities), and perhaps ``score_relations(s, o)`` of shape (n, relations); a model of
        `kgeval.models` (any object with ``geometry``, ``query_vectors`` and ``candidate_vectors``); or a live model of
        PyKEEN, TorchKGE, PyTorch Geometric, LibKGE or AmpliGraph (see `kgeval.adapters`). Higher scores are always
        better.
    dataset : Dataset
    protocol : Protocol, optional
        By default ``Protocol()``. It holds all settings that change a number, such as the sample.
    device : str, optional
        The device that computes the counts for embedding models: ``"numpy"``; ``"cpu"``, which uses torch and first
        estimates dot products with 8-bit integers; ``"cuda"`` or ``"cuda:1"``. By default numpy for numpy arrays, and
        the device of the tensors for torch tensors. The counts are the same on every device.
    batch_size : int, optional
        The largest number of pairs of a query and a candidate that are scored at once: for a function, the number of
        triples in a call. By default a number that suits the scorer, its speed and the free memory. The counts are the
        same with every number.
    executor : Executor, optional
        Where to rank: ``kg.executors.Threads(n)`` (the default, with one thread per processor),
        ``kg.executors.Processes(n)`` or ``kg.executors.Ray(...)``. The counts are the same with every executor.
    run_folder : str or path, optional
        A folder that keeps the counts of finished queries. If the same run was stopped, it goes on where it stopped;
        the folder of another run is an error. A resumed run gives the same ranks as an uninterrupted run, even with
        another executor and another `batch_size`. Only the row order check may rank another number of train triples,
        if there is little time for the check: ``result.facts["row_order"]``.
    max_seconds : float, optional
        Stop after about this time, with a partial result. The triples are ranked in a random order, whose seed is the
        `sample_seed` of the protocol. If the first m triples are ranked in time, the result is the same as with
        ``Protocol(sample=m)``; m can be the number of all triples.
    check_rows : bool
        Whether to rank some train triples too, and to caution if a trained model would rank them higher: its rows may
        be in another order than the ids. The numbers are the same without this check.
    progress : bool
        Whether to show a progress bar, if standard error is a terminal, and to print the expected duration of a long
        run.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    Stopped
        Raised in place of KeyboardInterrupt if Ctrl-C stops the ranking; the message says which results are kept.
    ScoreError
        If the scorer returns a wrong shape or dtype, a NaN, or different scores for the same triple.
    ProtocolError
        If the dataset or the scorer does not support the protocol, or the machine does not have the device.
    MissingExtra
        If the device needs torch and torch is not installed.
    DataError
        If no triple is left to rank, or if the run folder cannot be written, is in use, or belongs to another run.

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
        device=device,
        batch_size=batch_size,
        executor=executor,
        run_folder=run_folder,
        max_seconds=max_seconds,
        check_rows=check_rows,
        progress=progress,
    )


@names_unknown_arguments(**PROTOCOL_HINTS)
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
        check_dataset(dataset)
        if protocol is not None and not isinstance(protocol, Protocol):
            raise ProtocolError(f"expected a kgeval.Protocol; got {protocol!r}")
        self.protocol = protocol or Protocol()
        precision_keys(self.protocol)  # raises an error for an unknown metric
        self.protocol.resolved(dataset)  # raises an error for a wrong split before anything is scored
        self._plans: dict[tuple[Protocol, FactColumns], RankingPlan] = {}
        self._row_order_tasks: KeptTasks = {}
        self._well_ordered: list[weakref.ref[Any]] = []  # scorers whose row order was checked, without a caution
        self._has_cautioned = False
        self._draw(self.protocol)  # raises an error for a sample that does not fit the splits

    @names_unknown_arguments(**PROTOCOL_HINTS, **RUN_HINTS)
    def evaluate(
        self,
        scorer: Any,
        *,
        device: str | None = None,
        batch_size: int | None = None,
        executor: Executor | None = None,
        run_folder: str | Path | None = None,
        max_seconds: float | None = None,
        check_rows: bool = True,
        progress: bool = True,
    ) -> EvaluationResult:
        """Rank the positives with `scorer`; parameters, result and errors are those of `kgeval.evaluate`."""
        limits = Limits(None if batch_size is None else check_positive_int("batch_size", batch_size), device)
        run = RunSettings.of(executor, run_folder, max_seconds, progress)
        sample, seed = self.protocol.sample, self.protocol.sample_seed
        wanted, said = precision_keys(self.protocol), list[str]()
        if seed and sample is None and max_seconds is None and not wanted:
            raise ProtocolError(
                f"sample_seed={seed} changes nothing here: it is the seed of Protocol(sample=N) (N random triples) and "
                "of max_seconds=S, and of Protocol(precision=H); give it with one of them"
            )
        given, (scorer, rows) = scorer, checked_scorer(scorer, self.dataset, limits)
        run.check_device(rows, device)
        taken = columns_taken(rows, self.protocol.sides)
        plan = self._plan(self._protocol_for(scorer), taken)
        places = run.places(plan.protocol, len(plan.positives.triples), seed, bool(wanted))
        scored = plan.positives.facts[plan.kept, : taken.n_scored]
        kept = {side: taken.facts_on(side, scored) for side in plan.protocol.sides}
        with run.in_time(rows):
            report = probe(rows, self.dataset, kept, plan.candidates)
        with run.opened(self.dataset, plan.protocol, scorer, rows, kept, plan.candidates, seed) as store:
            finished: Mapping[str, TaskCounts] = store.finished if store else {}
            seconds, order = store.seconds if store else 0.0, None if max_seconds is None else places
            steps = None
            if wanted and places is not None:
                steps = PrecisionSteps(wanted, plan.positives, plan.protocol, places, seed)
            name = "ranking"
            try:
                while True:
                    part = plan.tasks if steps is None else steps.tasks(plan.tasks)
                    job = run.job(given, rows, self.dataset, part, limits, store, order, finished, name)
                    counts = rank(job, run.executor)
                    seconds += job.meter.seconds
                    n_reached = run.reached(job, counts, order, plan.kept)
                    finished = joined_sides(job, counts, finished, plan.protocol.sides)
                    if steps is None or not steps.grow(self._ranked_sides(plan, finished), n_reached):
                        break
                    name = f"ranking, {steps.text}"
                if steps is not None:
                    n_reached, said = steps.n_drawn, [steps.note]
                if n_reached is not None:
                    plan = self._plan(replace(plan.protocol, sample=n_reached, sample_seed=seed), taken)
                row_order = unchecked("switched off by check_rows=False")
                if check_rows:
                    row_order = self._row_order(job, run, plan, part, seconds, finished)
                has_time = run.seconds_left is None or run.seconds_left > SEARCH_SECONDS
                is_low = row_order[1].startswith(ROW_ORDER)
                if is_low and has_time and not self._has_cautioned:  # not in each epoch of a training
                    fault, _ = find_fault(rows, scorer, self.dataset, plan.protocol.sides)
                    said += [fault] if fault else []
            except KeyboardInterrupt as error:
                raise Stopped(job.describe_stop()) from error
        by_side = dict(finished)
        notes = [*report.notes, *said, *self._notes(scorer, plan, by_side)]
        if isinstance(sample, int) and sample > len(plan.positives.triples):
            n = counted(len(plan.positives.triples), "triple")
            notes.append(f"sample: the splits to rank have {n}, fewer than the {sample:,} that were to be drawn")
        return self._result(plan, by_side, rows, notes, row_order)

    def _row_order(
        self,
        job: Job,
        run: RunSettings,
        plan: RankingPlan,
        tasks: Sequence[Any],
        seconds: float,
        counts: Mapping[str, TaskCounts],
    ) -> tuple[dict[str, Any], str]:
        """Return the statistic and the caution of `check_row_order` after a job that ranked `tasks` in `seconds`."""
        is_baseline = type(job.scorer).__module__ == baselines.__name__
        if is_baseline and job.scorer.made_from == self.dataset.fingerprint:
            return unchecked(NO_ROWS)
        if self._is_well_ordered(job.scorer):
            return unchecked("this Evaluator has checked the scorer before")
        row_order = check_row_order(
            job.rows,
            self.dataset,
            ids_of_candidates(self.dataset, plan.protocol, "object"),
            tasks,
            seconds,
            run.limits_here(job.limits),
            run.threads,
            kept=self._row_order_tasks,
            n_processes=run.executor.n_processes,
            seconds_left=run.seconds_left,
            progress=run.progress,
            prepared=job.prepared,
            tested=self._tested_ranks(plan, counts),
            key=plan.positives.columns.key,
        )
        self._keep_check(job.scorer, row_order)
        return row_order

    @staticmethod
    def _tested_ranks(plan: RankingPlan, counts: Mapping[str, TaskCounts]) -> dict[str, TestedRanks]:
        """Return the ranks to compare with those of train triples; none if train is ranked, or not all entities."""
        if "train" in plan.protocol.splits or plan.protocol.candidates != All():
            return {}
        splits, triples = "+".join(plan.protocol.splits), plan.positives.triples
        return {side: TestedRanks.of(splits, triples, part) for side, part in counts.items()}

    def _is_well_ordered(self, scorer: Any) -> bool:
        """Return whether an earlier check of this scorer, or of the object of this method, gave no caution."""
        owner = getattr(scorer, "__self__", scorer)
        return any(checked() is owner for checked in self._well_ordered)

    def _keep_check(self, scorer: Any, row_order: tuple[dict[str, Any], str]) -> None:
        """Keep a scorer whose train triples rank high; others are checked again, since they may be in training."""
        statistic, caution = row_order
        if statistic["triples"] >= MIN_JUDGED and not caution:
            with contextlib.suppress(TypeError):  # not all objects have weak references
                self._well_ordered.append(weakref.ref(getattr(scorer, "__self__", scorer)))
            self._well_ordered = [checked for checked in self._well_ordered if checked() is not None]

    @names_unknown_arguments(k="limit=", n="limit=", sides="side=")
    def explain(
        self,
        scorer: Any,
        s: str | int,
        p: str | int,
        o: str | int,
        side: str = "object",
        limit: int | None = None,
        given: Mapping[str, Any] | None = None,
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
            ``"object"``: candidates replace the object; ``"subject"``: the subject; ``"relation"``: the relation.
        limit : int, optional
            Return at most this many candidates above the triple, and at most this many tied candidates.
        given : mapping of str to value, optional
            Further columns of the triple, such as ``{"time": 183}``: those of the filter key, and those that the scorer
            takes. Needed unless the triple is ranked, always with the same values.

        Returns
        -------
        pandas.DataFrame
        """
        scorer, rows = checked_scorer(scorer, self.dataset)
        taken = columns_taken(rows, self.protocol.sides)
        plan = self._plan(replace(self._protocol_for(scorer), sample=None, sample_seed=0, precision=None), taken)
        triple = triple_ids(self.dataset.entities, self.dataset.relations, (s, p, o))
        side = _asked_side(plan.protocol, side)
        columns = plan.positives.columns
        source = self._source(plan, rows, plan.ranked_rows[side])
        source = replace(source, facts=columns.facts_on(side, source.facts), columns=columns.on_side(side))
        facts = source.facts[source.positive_rows]
        in_table = np.flatnonzero((facts[:, :3] == triple).all(axis=1))
        values = given_values(given, self.dataset.column_names)
        for name in values:
            check_one_of("given", name, self.dataset.column_names, DataError)
        for place, name in enumerate(source.columns.names, start=3):
            codes = np.unique(facts[in_table, place])
            has = distinct_texts(further_column(self.dataset, name).values.take(codes))
            if name in values:
                ranked = f"; ({s!r}, {p!r}, {o!r}) is ranked with {listed(has, 5)}" if has else ""
                code = int(codes_of(self.dataset, name, [values[name]], "given", ranked)[0])
                in_table = in_table[facts[in_table, place] == code]
            elif len(codes) == 1:
                code = int(codes[0])
            else:
                what = f"is ranked with {len(codes)} values of {name}" if has else f"is not ranked; which {name}"
                raise DataError(
                    f"({s!r}, {p!r}, {o!r}) {what}: say it with given={{{name!r}: ...}} (--given {name}=...)"
                    + f"; it has {listed(has, 5)}" * bool(has)
                )
            triple = np.append(triple, code)
        row = int(in_table[0]) if len(in_table) else None
        return explain_triple(source, plan.protocol, side, triple, row, limit)

    def _notes(self, scorer: Any, plan: RankingPlan, by_side: dict[str, TaskCounts]) -> list[str]:
        """Return notes about the scorer: how its file was read, missing vectors, infinite scores."""
        notes = scorer_notes(scorer)
        if self.protocol.unseen is None and plan.protocol.unseen == "drop":
            lacks = {kind: len(missing_ids(scorer, kind)) for kind in ("entities", "relations")}
            lacking = " and ".join(
                counted(n, singular, kind) for (kind, n), singular in zip(lacks.items(), ("entity", "relation")) if n
            )
            verb = "does" if sum(lacks.values()) == 1 else "do"
            notes.append(
                f"the model has no vector for {lacking} that {verb} not occur in train, so only the entities of train "
                "are candidates (unseen='drop')"
            )
        notes += column_notes(self.dataset, plan.positives.columns)
        if any(part.is_infinite for part in by_side.values()):
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
            lacking = counted(len(missing), "entity" if lacks[0] == "entities" else "relation")
            raise ProtocolError(
                f"unseen={self.protocol.unseen!r} needs a vector for every candidate, but the model has none for "
                f"{lacking} that {'does' if len(missing) == 1 else 'do'} not occur in train, first "
                f"{cut_label(vocabulary.labels[missing[0]])!r}; "
                "choose unseen='drop' or unseen='worst'"
            )
        return self.protocol.resolved(self.dataset, "drop" if lacks else "rank")

    def _draw(self, protocol: Protocol) -> tuple[Ids, Protocol]:
        """Return the rows of the triples to rank, and the protocol with the sample that was drawn."""
        return protocol.drawn(sum(len(self.dataset[split]) for split in protocol.splits))

    def _plan(self, protocol: Protocol, taken: FactColumns) -> RankingPlan:
        """Return the plan of a resolved protocol, for a scorer that takes the columns `taken`.

        The sample of the protocol is drawn here.
        """
        chosen, protocol = self._draw(protocol)
        key = protocol, taken
        return remember(self._plans, key, lambda: make_plan(self.dataset, protocol, chosen, taken), MAX_PLANS)

    def _result(
        self,
        plan: RankingPlan,
        by_side: dict[str, TaskCounts],
        rows: RowScorer,
        notes: list[str],
        row_order: tuple[dict[str, Any], str],
    ) -> EvaluationResult:
        statistic, caution = row_order
        warned = [caution] if caution and not self._has_cautioned else []  # as a warning once, as a note each time
        self._has_cautioned |= bool(caution)
        if caution and not warned:
            notes = [*notes, caution]
        n_unseen = 0 if plan.protocol.unseen == "worst" else len(plan.chosen) - len(plan.kept)
        ranked = self._ranked_sides(plan, by_side)
        listed, lengths = plan.protocol.candidates, {}
        if isinstance(listed, Listed):
            lengths = {side: listed.lists[side].lengths[plan.chosen] for side in plan.protocol.sides}
        return assemble(
            plan.protocol,
            plan.positives,
            ranked,
            {"an entity or relation that train lacks (unseen='drop')": n_unseen * len(plan.protocol.sides)},
            {
                "scorer": rows.name,
                "n_queries": sum(task.n_queries for task in plan.tasks),
                "row_order": statistic,
                **_column_facts(plan.positives.columns),
            },
            self._source(plan, rows, np.concatenate([part.rows for part in ranked])),
            [*notes, *list_notes(plan.noted_lists, plan.protocol.unseen), *plan.pool_notes],
            plan.chosen,
            [*warned, *short_lists(lengths)],
        )

    def _source(self, plan: RankingPlan, rows: RowScorer, positive_rows: Ids) -> ScorerSource:
        facts, columns = plan.positives.facts, plan.positives.columns
        among = plan.protocol.candidates
        return ScorerSource(self.dataset, rows, among, plan.candidates, positive_rows, facts, columns)

    def _ranked_sides(self, plan: RankingPlan, by_side: Mapping[str, TaskCounts]) -> list[RankedSide]:
        """Return the ranks of each side of the protocol."""
        return [self._ranked_side(plan, side, by_side[side]) for side in plan.protocol.sides]

    def _ranked_side(self, plan: RankingPlan, side: str, joined: TaskCounts) -> RankedSide:
        """Return the ranks of one side, in the order of the positives.

        `joined` contains the positives in another order. With unseen='worst', positives with an entity or relation that
        does not occur in train were not ranked: all rivals of such a positive count as ranked above it.
        """
        rows = joined.rows
        # The arrays below have shape (n,), one element per positive.
        n, is_worst = len(plan.positives.triples), plan.protocol.unseen == "worst"
        is_last = plan.outside[side] if plan.protocol.candidates.kind == LAST else None
        by_setting = {}
        for setting, part in (("raw", joined.raw), ("filtered", joined.filtered)):
            better, tied, rivals = (np.zeros(n, dtype=np.int64) for _ in range(3))
            better[rows], tied[rows], rivals[rows] = part.better, part.tied, part.rivals
            if is_worst:
                rivals = plan.all_rivals[side, setting]
                better = np.where(plan.positives.is_seen, better, rivals)
            if is_last is not None:
                rivals = np.where(is_last, plan.all_rivals[side, setting], rivals)
                better = np.where(is_last, rivals, better)
            by_setting[setting] = RankCounts(better, tied, rivals)
        score = np.zeros(n, dtype=joined.scores.dtype)
        score[rows] = joined.scores
        if is_worst:
            score = np.where(plan.positives.is_seen, score, np.nan)
        if is_last is not None and is_last.any():
            score = np.where(is_last, np.nan, score)
        return RankedSide.of(plan.ranked_rows[side], score, by_setting)


def _column_facts(columns: FactColumns) -> dict[str, Any]:
    """Return which columns the scorer was given, for `EvaluationResult.facts`: by side, if the sides differ."""
    by_side = {side: [*names] for side, names in columns.by_side}
    facts: dict[str, Any] = {"scorer_columns": [*columns.scored]} if columns.scored else {}
    return {**facts, "scorer_columns_by_side": by_side} if len({*map(tuple, by_side.values())}) > 1 else facts


def _asked_side(protocol: Protocol, side: str) -> str:
    """Return the name of a side, for an explanation; raise a ProtocolError if the protocol does not rank it."""
    name = check_side(side, ALL_SIDES)
    if name not in protocol.sides:
        raise ProtocolError(f"the {name} side is not ranked; the protocol has sides={tuple(protocol.sides)}")
    return name
