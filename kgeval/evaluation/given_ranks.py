"""Convert ranks that another tool computed to counts of rivals.

`kgeval.evaluate_predictions` calls `evaluate_ranks`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from kgeval.base.checks import Bools, Ids, counted
from kgeval.data.candidates import NOT_KNOWN, OF_TOOL, Recorded
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import FactColumns
from kgeval.data.predictions import GivenRanks
from kgeval.data.protocol import Protocol
from kgeval.data.queries import query_parts
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, ProtocolError
from kgeval.evaluation.build_result import Positives, RankedSide, assemble
from kgeval.evaluation.predicted_rows import (
    LEAK,
    NO_ROW,
    WORDS,
    Matched,
    known_index,
    match_rows,
    missing_rows,
    repeat_cautions,
    resolved_protocol,
    result_facts,
    said_filter,
    splits_with_others,
)
from kgeval.ranking.counts import RankCounts
from kgeval.results.bounded import UNKNOWN_COUNT
from kgeval.results.evaluation_result import EvaluationResult

TIES = "the file has one rank per positive, with the tie policy of the tool that computed the ranks"
RIVALS = "the file does not say among how many candidates it ranks"
ONE_SETTING = {"raw": "the file has filtered ranks only", "filtered": "the file has raw ranks only"}
NO_DATASET = (
    "read without a dataset: filter and candidates are those of the tool that computed the ranks, and nobody checked "
    "them; numbers are comparable only with ranks among the same candidates"
)
ALL_ASSUMED = (
    "the file does not say among how many candidates it ranks (column n_candidates), so kgeval assumes that all "
    "entities are candidates; if they are not, as with sampled negatives, the ranks are not comparable with results of "
    "kgeval.evaluate"
)


def evaluate_ranks(
    given: GivenRanks, dataset: Dataset, protocol: Protocol, said: str | None, missing: str | None
) -> EvaluationResult:
    """Make a result from ranks that another tool computed; see `kgeval.evaluate_predictions`.

    Parameters
    ----------
    given : GivenRanks
    dataset : Dataset
    protocol : Protocol
        With a value in place of each None; the file has ranks for each side of the protocol.
    said : str or None
        The value of `filtered` from the file or the user; None if neither gives a value.
    missing : str or None
        The argument of `kgeval.evaluate_predictions`.
    """
    n_entities = None if given.n_candidates is not None else len(dataset.entities)
    _check_ranks(given, n_entities, f"{dataset.name!r} has {n_entities or 0:,} entities")
    positives = Positives.of(dataset, protocol, FactColumns(tuple(given.columns)))

    def are_same(rows: Ids, others: Ids) -> Bools:
        same: Bools = given.ranks[rows] == given.ranks[others]
        if given.n_candidates is not None:
            same &= given.n_candidates[rows] == given.n_candidates[others]
        return same

    parts = [match_rows(given, dataset, protocol, positives, side, are_same) for side in protocol.sides]
    n_missing = missing_rows(given, dataset, positives, parts, missing)
    with_others = splits_with_others(dataset, protocol, positives, parts)
    if said is None and with_others:
        raise DataError(
            f"{given.source}: are these raw or filtered ranks? The file does not say it, and the queries have other "
            f"known answers in {'+'.join(with_others)}. {WORDS}"
        )
    # The settings of the ranks in the file; without other known answers, raw and filtered ranks are equal.
    settings = ("raw", "filtered") if not with_others else ("raw",) if said == "no" else ("filtered",)
    rivals = [_rivals_of_all(dataset, protocol, positives, part, settings[-1]) for part in parts]
    notes = list(given.notes)
    if given.n_candidates is None:
        for part, n in zip(parts, rivals):
            _check_filtered_ranks(given, dataset, protocol, part, n)
        notes.append(ALL_ASSUMED)
    else:
        are_all = [
            np.array_equal(given.n_candidates[part.row_of[part.row_of >= 0]], n[part.row_of >= 0] + 1)
            for part, n in zip(parts, rivals)
        ]
        if not all(are_all):
            protocol = _with_counts(given, protocol, settings[-1], notes, np.concatenate(rivals).max() + 1)
    if missing == "bound" and n_missing and (given.n_candidates is None or isinstance(protocol.candidates, Recorded)):
        raise DataError(
            f"{given.source}: missing='bound' needs the number of candidates of {counted(n_missing, 'positive')} "
            "without a rank; the number is known only if the file says that its ranks are among all entities "
            "(n_candidates). Use missing='drop'"
        )
    sides = [_ranked_side(given, part, n, settings, missing == "bound") for part, n in zip(parts, rivals)]
    unknown = {"ties": TIES} | {setting: text for setting, text in ONE_SETTING.items() if setting not in settings}
    if given.n_candidates is None:
        unknown["rivals"] = RIVALS
    cautions = repeat_cautions(given, parts)
    if said == "before" and with_others:
        cautions.append(LEAK.format(splits="+".join(protocol.splits)))
    return assemble(
        protocol,
        positives,
        sides,
        {NO_ROW["rank"]: n_missing if missing == "drop" else 0},
        result_facts(given, positives, sides, parts),
        RankSource(dataset),
        notes,
        cautions=cautions,
        unknown=unknown,
    )


def evaluate_ranks_alone(
    given: GivenRanks, protocol: Protocol | None, filtered: str | None, missing: str | None
) -> EvaluationResult:
    """Make a result from ranks that were read without a dataset; see `kgeval.evaluate_predictions`.

    The triples of the file are the split test of a dataset that has nothing else. Each row counts, as in the averages
    of the tool: a triple that the file repeats on a side is repeated in the split.

    Parameters
    ----------
    given : GivenRanks
    protocol : Protocol or None
        Only its `sides` may be set.
    filtered, missing : str or None
        The arguments of `kgeval.evaluate_predictions`.

    Raises
    ------
    DataError
        If it is not known whether the ranks are filtered, or if ranks are missing or impossible.
    ProtocolError
        If `protocol` has a setting that means nothing without a dataset.
    """
    if given.labels is None:
        raise DataError(
            f"{given.source}: the triples hold ids of a dataset; give this dataset: evaluate_predictions(predictions, "
            "dataset)"
        )
    if protocol is not None and protocol != Protocol(sides=protocol.sides):
        raise ProtocolError(
            f"{given.source}: was read without a dataset, so the tool chose filter, splits and candidates; a protocol "
            "can only name the sides. For other settings give the dataset"
        )
    frame = pd.DataFrame(given.triples, columns=list("spo")).assign(side=given.sides)
    frame["copy"] = frame.groupby(["side", *"spo"], sort=False).cumcount()
    n_repeated = int((frame["copy"] > 0).sum())
    triple_of = frame.groupby([*"spo", "copy"], sort=False).ngroup().to_numpy()  # in the order of the file
    triples = frame[list("spo")].to_numpy()[np.unique(triple_of, return_index=True)[1]]
    dataset = _own_dataset(given, triples)
    resolved = resolved_protocol(given, dataset, protocol)
    said = said_filter(given, filtered, resolved)
    if said is None:
        raise DataError(f"{given.source}: are these raw or filtered ranks? The file does not say it. {WORDS}")
    _check_ranks(given)
    parts = []
    for side in resolved.sides:
        rows = np.flatnonzero(given.sides == side)
        row_of = np.full(len(triples), -1, dtype=np.int64)
        row_of[triple_of[rows]] = rows
        parts.append(Matched(side, row_of, np.zeros(len(triples), dtype=np.bool_), 0))
    positives = Positives.of(dataset, resolved)
    n_missing = missing_rows(given, dataset, positives, parts, missing)
    if missing == "bound" and n_missing:
        raise DataError(f"{given.source}: missing='bound' needs the dataset; use missing='drop', or give the dataset")
    setting = "raw" if said == "no" else "filtered"
    unknown = {"ties": TIES, **{other: text for other, text in ONE_SETTING.items() if other != setting}}
    notes = [*given.notes, NO_DATASET]
    candidates = Recorded(OF_TOOL, text="unknown candidates")
    if given.n_candidates is None:
        unknown["rivals"] = f"{RIVALS}, and it was read without its dataset"
    else:
        candidates = Recorded(OF_TOOL, _counts_digest(given), "unknown candidates (the file has their numbers)")
    sides = [_ranked_side(given, part, np.zeros(len(triples), dtype=np.int64), (setting,), False) for part in parts]
    cautions = [LEAK.format(splits="+".join(resolved.splits))] if said == "before" else []
    if n_repeated:
        repeat = "row repeats" if n_repeated == 1 else "rows repeat"
        cautions.append(
            f"{n_repeated:,} {repeat} triple and side of another row, and each row counts: without the dataset nobody "
            "knows whether the test split holds the triple several times, other entities have the same names, or a "
            "distributed run padded its last batch"
        )
    return assemble(
        replace(resolved, candidates=candidates, filter=() if setting == "raw" else None),
        positives,
        sides,
        {NO_ROW["rank"]: n_missing},
        result_facts(given, positives, sides, parts),
        None,
        notes,
        cautions=cautions,
        unknown=unknown,
    )


def _own_dataset(given: GivenRanks, triples: Ids) -> Dataset:
    """Return the dataset whose split test has these triples, with the labels of the file."""
    entities, relations = given.labels or (Vocabulary([]), Vocabulary([]))
    note = (
        f"made from the {counted(len(triples), 'triple')} of the file of ranks: it has only their entities and "
        "relations; the other splits, and so known and unseen triples, are not known"
    )
    first, _, others = given.source.partition(", ")  # a folder holds one file for each side
    name = (Path(first).parent.name if others else "") or Path(first).name
    test = TripleSet(triples, len(entities), len(relations), "test")
    return Dataset(entities, relations, {"test": test}, name=f"triples of {name}", notes=[note])


@dataclass(frozen=True)
class RankSource:
    """The `kgeval.results.explanations.Source` of ranks that another tool computed.

    It contains the dataset, but no candidates and no scores.
    """

    dataset: Dataset
    is_stored = True

    @property
    def is_exact(self) -> bool:
        """Whether a repeated look-up returns exactly the same scores: True, because there are no scores."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> NoReturn:
        """Raise a DataError, because the ranks were computed elsewhere."""
        raise DataError(
            f"the rank of {triple_labels(self.dataset, *triple)} on the {side} side was computed by another tool, and "
            "the file of ranks does not name the rivals"
        )


def _check_ranks(given: GivenRanks, n_entities: int | None = None, of_dataset: str = "") -> None:
    """Raise a DataError for ranks and numbers of candidates that are impossible; the message names the first row.

    `n_entities` and `of_dataset` (a text with this number) apply if the file has no numbers of candidates; without
    them, ranks of such a file have no upper limit.
    """
    ranks, n_candidates = given.ranks, given.n_candidates
    with np.errstate(invalid="ignore"):
        is_wrong = ~((ranks >= 1) & np.isfinite(ranks) & (2 * ranks == np.floor(2 * ranks)))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise DataError(
            f"{given.source}, row {row}: rank {ranks[row]:g} on the {given.sides[row]} side; ranks must be at least 1, "
            "and multiples of 0.5. If ranks count from 0, add 1"
        )
    if n_candidates is None and n_entities is None:
        return
    most = np.full(len(ranks), n_entities) if n_candidates is None else n_candidates
    is_wrong = np.ceil(ranks) > most
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        among = of_dataset if n_candidates is None else f"n_candidates is {most[row]}"
        raise DataError(
            f"{given.source}, row {row}: rank {ranks[row]:g} on the {given.sides[row]} side is beyond the number of "
            f"candidates: {among}"
        )


def _check_filtered_ranks(given: GivenRanks, dataset: Dataset, protocol: Protocol, part: Matched, rivals: Ids) -> None:
    """Raise a DataError for a rank that is greater than the number of candidates that a filter leaves."""
    is_wrong = (part.row_of >= 0) & (np.ceil(given.ranks[part.row_of]) > rivals + 1)
    if is_wrong.any():
        i = int(np.argmax(is_wrong))
        row = part.row_of[i]
        raise DataError(
            f"{given.source}, row {row}: rank {given.ranks[row]:g} on the {part.side} side, but the filter "
            f"({'+'.join(protocol.filter or ())}) leaves {counted(int(rivals[i]) + 1, 'candidate')}. If the "
            "ranks are raw, say it: filtered='no' (--filtered no); if other splits were filtered, name them: "
            "filter= (--filter)"
        )


def _rivals_of_all(dataset: Dataset, protocol: Protocol, positives: Positives, part: Matched, setting: str) -> Ids:
    """Return the number of rivals of each positive if all entities are candidates, int64 (n,)."""
    rivals = np.full(len(positives.triples), len(dataset.entities) - 1)
    if setting == "filtered":
        index = known_index(dataset, protocol.filter or (), part.side, positives.columns.key)
        rivals -= index.count_others(*query_parts(positives.keyed, part.side))
    return rivals


def _with_counts(given: GivenRanks, protocol: Protocol, setting: str, notes: list[str], most: int) -> Protocol:
    """Return the protocol with candidates that record the numbers of candidates in the file; add a note about them."""
    counts = given.n_candidates
    if counts is None:
        return protocol
    least, greatest = int(counts.min()), int(counts.max())
    span = f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"
    notes.append(
        f"the file ranks among {span} candidates, not among all entities ({most:,} at most, in the {setting} setting): "
        "its ranks are comparable only with ranks among the same candidates"
    )
    return replace(protocol, candidates=Recorded(NOT_KNOWN, _counts_digest(given), "unknown candidates"))


def _counts_digest(given: GivenRanks) -> str:
    """Return a hash of the numbers of candidates, which does not depend on the order of the rows."""
    digest = hashlib.sha256(b"kgeval numbers of candidates 1")
    if given.n_candidates is not None:
        order = np.lexsort((given.n_candidates, *given.triples.T[::-1], given.sides))
        digest.update(given.n_candidates[order].astype("<i8").tobytes())
    return digest.hexdigest()


def _ranked_side(
    given: GivenRanks, part: Matched, rivals: Ids, settings: tuple[str, ...], keeps_missing: bool
) -> RankedSide:
    """Return the counts of one side: a rank of 2.5 has 1 rival above it and 1 tied rival."""
    has_row = part.row_of >= 0
    ranks = given.ranks[part.row_of]  # without meaning where `has_row` is False
    better = np.where(has_row, np.floor(ranks).astype(np.int64) - 1, 0)
    if given.n_candidates is None:
        n_rivals = np.full(len(better), UNKNOWN_COUNT)
    else:
        n_rivals = np.where(has_row, given.n_candidates[part.row_of] - 1, rivals)
    tied = np.where(has_row, (2 * ranks).astype(np.int64) % 2, n_rivals)
    unknown = np.full(len(better), UNKNOWN_COUNT)
    rows = np.arange(len(better)) if keeps_missing else np.flatnonzero(has_row)
    counts, bounded = {}, {}
    for setting in ("raw", "filtered"):
        is_given = setting in settings
        part_counts = RankCounts(better, tied, n_rivals) if is_given else RankCounts(unknown, unknown, unknown)
        counts[setting] = part_counts.take(rows)
        bounded[setting] = (~has_row & (n_rivals > 0) & is_given)[rows]
    return RankedSide(rows, np.full(len(rows), np.nan), counts, bounded)
