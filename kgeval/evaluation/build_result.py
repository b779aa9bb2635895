"""Build a result from counts: the positives of a protocol, the table of ranks, and the cautions of the result.

`Evaluator.evaluate` and `evaluate_scores` build their result with `Positives` and `assemble`.
"""

from __future__ import annotations

import copy
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval._version import __version__
from kgeval.audit import leak_notes
from kgeval.base.checks import Bools, Ids, counted, listed, warn_user
from kgeval.data.candidates import LEFT_OUT, Candidates, Listed
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import NO_COLUMNS, FactColumns, facts_of, natural_key
from kgeval.data.known import SETTINGS
from kgeval.data.protocol import Protocol
from kgeval.data.sides import RELATION, side_of
from kgeval.errors import DataError, ProtocolError
from kgeval.evaluation.row_order import MIN_JUDGED, NO_ROWS
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.listed import ListTask
from kgeval.results.evaluation_result import EvaluationResult, with_dataset_columns
from kgeval.results.explanations import Source

TIE_RATE_SAID_ALOUD = 0.01  # a higher tie rate gives a caution
# A caution is given if the z-score of the mean rank is below BELOW_CHANCE, or if it is below ABOVE_CHANCE and there are
# at least MANY_RANKS ranks.
BELOW_CHANCE, ABOVE_CHANCE = -4.0, 2.0
MANY_RANKS = 100
KEYED_QUERIES = (
    "queries of one triple with different times or qualifiers are different queries, for which query-level metrics are "
    "not computed; use metrics of single ranks, such as mrr, or filter_by=() (--filter-by none) with a scorer that "
    "takes none of these columns"
)
NO_NEGATIVES = "the positive has no listed negative on this side"  # why a rank is left out


@dataclass(frozen=True)
class Positives:
    """The positives of a protocol, that is, the triples that are ranked.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
    splits : int64 array, shape (n,)
        The index of each triple's split in ``protocol.splits``.
    is_seen : bool array, shape (n,)
        Whether both entities and the relation of each triple occur in train; all True if there is no train split.
    facts : int64 array, shape (n, 3 or more)
        The triples, and the codes of `columns`.
    columns : FactColumns
        The columns of the filter key, and those that the scorer takes.
    dataset : Dataset
    split_names : tuple of str
        ``protocol.splits``.
    """

    triples: Ids
    splits: Ids
    is_seen: npt.NDArray[np.bool_]
    facts: Ids
    columns: FactColumns
    dataset: Dataset
    split_names: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset, protocol: Protocol, taken: FactColumns = NO_COLUMNS) -> Positives:
        """Return the triples of the protocol's splits, split after split; raise a DataError if all splits are empty.

        `taken` has the further columns that the scorer takes.
        """
        parts = [dataset[split].array for split in protocol.splits]
        triples = np.concatenate(parts)
        if not len(triples):
            raise DataError(f"split {'+'.join(protocol.splits)} of {dataset.name!r} has 0 triples; nothing to rank")
        splits = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        is_seen = np.concatenate([dataset.is_seen(split) for split in protocol.splits])
        columns = replace(taken, key=tuple(protocol.filter_by or ()))
        facts = facts_of(dataset, protocol.splits, columns.names)
        return cls(triples, splits, is_seen, facts, columns, dataset, tuple(protocol.splits))

    @cached_property
    def keyed(self) -> Ids:
        """The triples, and the codes of the filter key; int64, shape (n, 3 or more)."""
        return self.facts[:, list(self.columns.key_places)]

    @cached_property
    def leak_notes(self) -> list[str]:
        """The lines of `notes_on_leaks` about these positives."""
        return leak_notes.notes_on_leaks(self.dataset, self.split_names)

    @cached_property
    def is_copied(self) -> Bools | None:
        """Whether each triple may be copied from train; None if `leak_notes` does not say that many may."""
        if not any(leak_notes.MAY_BE_COPIED in note for note in self.leak_notes) or "train" in self.split_names:
            return None
        return leak_notes.may_be_copied(self.dataset, self.triples)

    @cached_property
    def dataset_facts(self) -> dict[str, Any]:
        """The entries of `EvaluationResult.facts` that depend on the dataset and the filter key alone."""
        dataset, in_key = self.dataset, self.dataset.not_in_fingerprint(self.columns.key)
        return {
            "dataset": dataset.name,
            "dataset_fingerprint": dataset.fingerprint_with(in_key),
            **({"fingerprint_columns": in_key} if in_key else {}),
            "observations": dataset.observations(),
            "version": __version__,
            "versions": {"numpy": np.__version__, "python": platform.python_version()},
            "split_sizes": {split: len(dataset[split]) for split in dataset.splits},
            "n_unseen_entities": int((~dataset.is_seen_entity).sum()),
        }

    def table(self, protocol: Protocol, ranked: Sequence[RankedSide]) -> pd.DataFrame:
        """Return the table of ranks, one row per ranked positive and side: all rows of the first side come first.

        Parameters
        ----------
        protocol : Protocol
        ranked : sequence of RankedSide
            One for each side of the protocol, in the same order.
        """
        rows = np.concatenate([part.rows for part in ranked])
        side_of = np.repeat(np.arange(len(ranked)), [len(part.rows) for part in ranked])
        columns: dict[str, Any] = dict(zip("spo", self.triples[rows].T))
        columns["side"] = pd.Categorical.from_codes(side_of, dtype=_categories(tuple(protocol.sides)))
        columns["split"] = pd.Categorical.from_codes(self.splits[rows], dtype=_categories(self.split_names))
        columns["score"] = np.concatenate([part.scores for part in ranked])
        for setting in SETTINGS:
            for name in ("better", "tied", "rivals"):
                columns[f"{name}_{setting}"] = np.concatenate([getattr(part.counts[setting], name) for part in ranked])
        for setting in SETTINGS:
            bounded = [part.bounded_in(setting) for part in ranked]
            if any(is_bounded.any() for is_bounded in bounded):
                columns[f"bounded_{setting}"] = np.concatenate(bounded)
        return pd.DataFrame(columns)


@cache
def _categories(names: tuple[str, ...]) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(pd.Index(names))


@dataclass(frozen=True)
class RankedSide:
    """The ranked positives of one side.

    Parameters
    ----------
    rows : int64 array, shape (ranked,)
        The indices of the positives that were ranked, ascending.
    scores : array, shape (ranked,)
        The score of each ranked positive.
    counts : dict of str to RankCounts
        The keys are ``"raw"`` and ``"filtered"``; each value holds the counts of the ranked positives, shape (ranked,).
        Unknown counts are `kgeval.results.bounded.UNKNOWN_COUNT`; see `assemble`.
    bounded : dict of str to bool array, shape (ranked,), optional
        The keys are ``"raw"`` and ``"filtered"``. An element is True if only bounds of the rank are known (see the
        table of `EvaluationResult`). A setting that is not a key has no bounded ranks.
    """

    rows: Ids
    scores: npt.NDArray[Any]
    counts: dict[str, RankCounts]
    bounded: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def bounded_in(self, setting: str) -> npt.NDArray[np.bool_]:
        """Return, for each ranked positive, whether only bounds of its rank in a setting are known; bool (ranked,)."""
        none = np.zeros(len(self.rows), dtype=np.bool_)
        return np.asarray(self.bounded.get(setting, none), dtype=np.bool_)

    def where(self, is_chosen: Bools) -> RankedSide:
        """Return the ranked positives for which the bool array `is_chosen`, shape (ranked,), is True."""
        counts = {setting: part.take(np.flatnonzero(is_chosen)) for setting, part in self.counts.items()}
        bounded = {setting: part[is_chosen] for setting, part in self.bounded.items()}
        return RankedSide(self.rows[is_chosen], self.scores[is_chosen], counts, bounded)

    @classmethod
    def of(cls, rows: Ids, scores: npt.NDArray[Any], counts: dict[str, RankCounts]) -> RankedSide:
        """Make a `RankedSide` from the positives `rows`; `scores` and `counts` have one element for every positive."""
        return cls(rows, scores[rows], {setting: part.take(rows) for setting, part in counts.items()})

    @classmethod
    def with_rivals(cls, scores: npt.NDArray[Any], counts: dict[str, RankCounts]) -> RankedSide:
        """Make a `RankedSide` from the positives with at least one rival in the raw setting.

        If all rivals of a positive are known, its filtered rank is 1 of 1.
        """
        return cls.of(np.flatnonzero(counts["raw"].rivals > 0), scores, counts)


def check_empty(candidates: Candidates | None, dataset: Dataset, side: str, triples: Ids, n_rivals: Ids) -> Bools:
    """Return which positives are ranked: those with a rival, or all if ``Listed(empty="first")`` says so.

    Parameters
    ----------
    candidates : Candidates
        Lists of negatives; other candidates rank all positives. None: lists of negatives whose ids are not known.
    dataset : Dataset
    side : str
    triples : int64 array, shape (positives, 3)
    n_rivals : int64 array, shape (positives,)
        The number of rivals in the raw setting.

    Raises
    ------
    DataError
        If a list has no rival, and ``empty="error"`` or the ids are not known.
    """
    is_empty = n_rivals == 0
    empty = candidates.empty if isinstance(candidates, Listed) else "error" if candidates is None else "first"
    if empty == "error" and is_empty.any():
        labels = triple_labels(dataset, *triples[int(np.argmax(is_empty))])
        raise DataError(
            f"{side} side: {counted(int(is_empty.sum()), 'positive')} of {len(triples):,} without a rival, first "
            f"{labels}: the list is empty, or lists only the answer or {side_of(side).kind} that are no candidates. "
            f"Choose {'' if candidates else 'negatives='}Listed(..., empty='drop'), which leaves such positives out, "
            "or empty='first', rank 1 of 1"
        )
    return np.ones_like(is_empty) if empty == "first" else ~is_empty


def check_given_scores(protocol: Protocol, what: str) -> None:
    """Raise a ProtocolError if a protocol has settings that are impossible with given scores.

    Parameters
    ----------
    protocol : Protocol
    what : str
        The name of the user's input, for the message, such as "a table of scores".
    """
    if protocol.unseen not in (None, "rank"):
        raise ProtocolError(
            f"with {what}, unseen must be 'rank'; got {protocol.unseen!r}. Remove unseen= from the protocol"
        )
    if RELATION in protocol.sides:
        raise ProtocolError(
            f"with {what}, only the entity sides can be ranked; kgeval.evaluate ranks the relation side, with a scorer"
        )
    if protocol.sample is not None or protocol.sample_seed or protocol.precision is not None:
        raise ProtocolError(
            "only kgeval.evaluate draws the sample of a protocol; with given scores, all triples are ranked. Remove "
            "sample=, sample_seed= and precision= from the protocol"
        )


def assemble(
    protocol: Protocol,
    positives: Positives,
    ranked: Sequence[RankedSide],
    dropped: dict[str, int],
    facts: dict[str, Any],
    source: Source | None,
    notes: Sequence[str] = (),
    chosen: Ids | None = None,
    cautions: Sequence[str] = (),
    unknown: Mapping[str, str] | None = None,
) -> EvaluationResult:
    """Build the result from the ranks of each side; each caution becomes a note of the result and a warning.

    Parameters
    ----------
    protocol : Protocol
        From `Protocol.resolved`, with a value in place of each None.
    positives : Positives
    ranked : sequence of RankedSide
        One for each side of the protocol, in the same order; without the dropped positives.
    dropped : dict of str to int
        For each reason except `NO_NEGATIVES`, the number of ranks that were left out. All other ranks that are missing
        in `ranked` were left out for the reason `NO_NEGATIVES`.
    facts : dict
        Entries of the result's `facts`: ``scorer``, ``n_queries`` and, if the row order was checked, ``row_order``.
        This function adds the entries about the dataset, the versions and the counts.
    source : Source or None
        The object that returns the scores of a query when the user asks for the explanation of a rank. None: there
        is neither a dataset nor a scorer.
    notes : sequence of str
        Further notes for the result.
    chosen : int64 array, optional
        The indices of the positives of the protocol's sample; by default all positives.
    cautions : sequence of str
        Further cautions; this function adds the cautions that follow from the ranks.
    unknown : mapping of str to str, optional
        Which facts about the ranks are not known, and why: the entry ``unknown`` of `EvaluationResult.facts`. Counts
        that are named there must be `kgeval.results.bounded.UNKNOWN_COUNT`.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If no positive was ranked.
    """
    n_ranked = sum(len(part.rows) for part in ranked)
    if not n_ranked:
        raise DataError("no positive has a negative: every list is empty")
    is_seen = positives.is_seen if chosen is None else positives.is_seen[chosen]
    n_read = len(is_seen) * len(protocol.sides)
    unknown = {**({"queries": KEYED_QUERIES} if positives.columns.names else {}), **(unknown or {})}
    dataset, leaking = positives.dataset, positives.leak_notes
    reasons = {**dropped, NO_NEGATIVES: n_read - n_ranked - sum(dropped.values())}
    result = EvaluationResult(
        table=positives.table(protocol, ranked),
        entities=dataset.entities,
        relations=dataset.relations,
        protocol=protocol,
        facts={
            **facts,
            **copy.deepcopy(positives.dataset_facts),
            "n_triples": len(is_seen),
            "n_unseen": int((~is_seen).sum()),
            "n_read": n_read,
            **({"unknown": unknown} if unknown else {}),
            **({"leak_notes": [*leaking]} if leaking else {}),
        },
        dropped={reason: n for reason, n in reasons.items() if n},
        notes=[*notes, *_key_notes(dataset, protocol), *_alone_notes(ranked), *leaking],
        source=source,
    )
    places = np.concatenate([part.rows for part in ranked])
    result = with_dataset_columns(result, dataset, places)
    if positives.is_copied is not None:
        _add_without_copied(result, positives.is_copied[places])
    cautions = [*_cautions(result), *cautions]
    for caution in cautions:
        warn_user(caution)
    result.notes += tuple(cautions)
    return result


def _add_without_copied(result: EvaluationResult, is_copied: Bools) -> None:
    """Add the MRR over the ranks of triples that may not be copied from train, as a fact and as a note."""
    rows = result.rank_table.rows_of("both")
    rows = rows[~is_copied[rows]]
    value = result.rank_table.value("mrr", rows).value if len(rows) else np.nan
    if np.isfinite(value) or not len(rows):
        result.facts[leak_notes.WITHOUT_COPIED] = {"n": len(rows), **({"mrr": value} if len(rows) else {})}
        result.notes += (leak_notes.without_copied([("", result["mrr"], result.facts)], leak_notes.COPIED),)


def _key_notes(dataset: Dataset, protocol: Protocol) -> list[str]:
    """Return a note if known answers are removed whatever their time or qualifiers."""
    left_out = [name for name in natural_key(dataset) if name not in (protocol.filter_by or ())]
    if not left_out or not protocol.filter:
        return []
    return [
        f"the filter removes known answers of any {listed(left_out, 2)} (filter_by={tuple(protocol.filter_by or ())}); "
        f"filter_by={natural_key(dataset)} removes those of the same {listed([*natural_key(dataset)], 2)}"
    ]


def _alone_notes(ranked: Sequence[RankedSide]) -> list[str]:
    """Return a note if some positives have no rival in the filtered setting, where they therefore rank first."""
    n_alone = sum(int((part.counts["filtered"].rivals == 0).sum()) for part in ranked)
    if not n_alone:
        return []
    n = sum(len(part.rows) for part in ranked)
    return [f"{n_alone:,} of {counted(n, 'filtered rank')} are 1 of 1: all other candidates, if any, are known answers"]


def list_notes(tasks: Sequence[ListTask], unseen: str | None = None) -> list[str]:
    """Return notes on lists of negatives: repeated entities, answers among the negatives, known triples.

    Parameters
    ----------
    tasks : sequence of ListTask
        One per side; an empty sequence if the positives have no lists of their own.
    unseen : str, optional
        The protocol's `unseen`.
    """
    notes = []
    for task in tasks:
        repeated = LEFT_OUT if task.has_dropped_duplicates else "are rivals too (duplicates='drop' drops them)"
        absent = "rank below the positive" if unseen == "worst" else LEFT_OUT
        texts = {
            "answers": f"are the answer of their own positive, and {LEFT_OUT}",
            "duplicates": f"repeat another negative of the same list, and {repeated}",
            "known": "form known triples: they are rivals in the raw setting, not in the filtered one",
            "absent": f"are {side_of(task.side).kind} that do not occur in train, and {absent}",
        }
        notes += [
            f"{task.side} side: {task.counts[name]:,} of {task.counts['listed']:,} listed negatives {text}"
            for name, text in texts.items()
            if task.counts[name]
        ]
    return notes


def short_lists(lengths: Mapping[str, Ids]) -> list[str]:
    """Return a caution for each side on which some lists are shorter than the others, which are equally long.

    Lists of very different lengths, such as the entities of a type, are meant to be so.

    Parameters
    ----------
    lengths : mapping of str to int64 array, shape (positives,)
        For each side, the number of negatives in each list.
    """
    cautions = []
    for side, n in lengths.items():
        most = n.max(initial=0)
        short = n[n < most]
        if 0 < 2 * len(short) <= len(n):
            cautions.append(
                f"{side} side: {len(short):,} of {len(n):,} lists are shorter than the others, {short.min()} negatives "
                f"at least and not {most}: ranks among fewer rivals are better, so hits@k and MRR come out higher"
            )
    return cautions


def _cautions(result: EvaluationResult) -> list[str]:
    """Return one caution for each reason why the metrics may be misleading."""
    cautions = []
    # The row order check ranks train triples. Their ranks say more about the order of the rows than the ranks of this
    # result, so the caution about ranks near chance is given only if the row order check ranked too few triples.
    row_order = result.facts.get("row_order", {})
    is_order_checked = row_order.get("triples", 0) >= MIN_JUDGED
    is_apart = result.rank_table.rows_of("both").size < len(result.rank_table)
    for side, prefix in (("both", ""), *([(RELATION, f"{RELATION}.")] if is_apart else [])):
        tie_rate = result.rank_table.tie_rate_of(side)
        if tie_rate > TIE_RATE_SAID_ALOUD:
            of_side = f" on the {side} side" if prefix else ""
            cautions.append(
                f"{tie_rate:.1%} of the positives tie with a rival{of_side}; the numbers depend on the tie policy: "
                f'compare result["{prefix}optimistic.mrr"] and result["{prefix}pessimistic.mrr"] (--ties optimistic, '
                "--ties pessimistic)"
            )
    for side in result.protocol.sides if row_order.get("reason") != NO_ROWS else ():
        z = result[f"{side}.z(mr)"]
        if z < BELOW_CHANCE:
            cautions.append(
                f"the {side} side ranks far worse than chance (AMRI {_amri(result, side)}); are distances given "
                "as scores? Higher must be better: negate them"
            )
        elif z < ABOVE_CHANCE and len(result.rank_table) >= MANY_RANKS and not is_order_checked:
            cautions.append(
                f"the {side} side ranks no better than chance (AMRI {_amri(result, side)}); are the rows of the "
                "model in the order of dataset.entities.labels and dataset.relations.labels?"
            )
    n_infinite = int(np.isinf(result.rank_table.frame["score"].to_numpy(dtype=np.float64)).sum())
    if n_infinite:
        have = counted(n_infinite, "positive has", "positives have")
        cautions.append(f"{have} an infinite score; infinities are ranked as numbers and tie")
    return cautions


def _amri(result: EvaluationResult, side: str) -> str:
    return f"{round(result[f'{side}.amri'], 3) + 0.0:.3f}"  # no -0.000
