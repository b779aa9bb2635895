"""Why a rank is what it is: the candidates above a positive, asked of the scorer again."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Scores
from kgeval.data import Dataset, KnownIndex, Protocol, given_and_asked, known_triples, query_parts, triple_labels
from kgeval.errors import DataError, ScoreError
from kgeval.kernels import Order
from kgeval.results.files import RIVAL_COLUMNS
from kgeval.results.rank_table import RankTable
from kgeval.scorers import TOLERANCE, TOLERANCE_OF_HALVES

N_EXAMPLES, N_RIVALS = 10, 5


class Source(typing.Protocol):
    """What a result was made from, while it is at hand: the dataset, and who scores its candidates again."""

    @property
    def dataset(self) -> Dataset:
        """The dataset that was evaluated."""

    @property
    def is_exact(self) -> bool:
        """Whether a score is the same, to the last bit, whatever else is scored in the same call."""

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the candidates of the query of `triple`, int64 (3,): sorted ids, and their scores as ranked.

        `row` is where the triple stands in the result's table, None for one that was not ranked.
        """


@dataclass(frozen=True)
class _Asked:
    """A query's candidates, their scores, and how they stand around the column `answer` of a triple."""

    side: str
    triple: Ids
    candidates: Ids
    scores: Scores
    answer: int
    order: Order

    @classmethod
    def of(cls, source: Source, side: str, triple: Ids, row: int | None) -> _Asked:
        """Ask the scorer; the triple's entity must be among the candidates."""
        _, asked = given_and_asked(triple[None], side)
        candidates, scores = source.candidate_scores(side, triple, row)
        answer = int(np.searchsorted(candidates, asked[0]))
        if answer == len(candidates) or candidates[answer] != asked[0]:
            label = source.dataset.entities.labels[asked[0]]
            raise DataError(f"{label!r} is no candidate: train lacks it, or no score is listed for it")
        return cls(side, triple, candidates, scores, answer, Order.around(scores, answer))


def explain_triple(
    source: Source, protocol: Protocol, side: str, triple: Ids, row: int | None = None, limit: int | None = None
) -> pd.DataFrame:
    """Return the candidates that stand above or beside a triple; see `kgeval.EvaluationResult.explain`.

    Parameters
    ----------
    source : Source
    protocol : Protocol
        Its filter says what is known.
    side : str
    triple : int64 array, shape (3,)
    row : int, optional
        Where it stands in the result's table, if it was ranked.
    limit : int, optional
    """
    _check_limit(limit)
    return _explained_frame(_Asked.of(source, side, triple, row), source.dataset, protocol, limit)


def explain_row(ranks: RankTable, source: Source, row: int, limit: int | None) -> pd.DataFrame:
    """Return the same of a row of the ranks table, once its counts are found again."""
    _check_limit(limit)
    return _explained_frame(_asked_again(ranks, source, row), source.dataset, ranks.protocol, limit)


def _check_limit(limit: int | None) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0):
        raise DataError(f"limit must be an integer of at least 0, or None; got {limit!r}")


def _explained_frame(asked: _Asked, dataset: Dataset, protocol: Protocol, limit: int | None) -> pd.DataFrame:
    order = asked.order
    columns = np.concatenate([order.above, order.tied, [asked.answer]])
    stands = np.repeat(["above", "tied", "answer"], [len(order.above), len(order.tied), 1])
    known = np.array(_known_in(dataset, protocol.filter_splits or (), asked, asked.candidates[columns]))
    counts = (known == "") & (stands != "answer")
    n_above = len(order.above)
    shown = np.concatenate(
        [np.arange(n_above)[:limit], n_above + np.arange(len(order.tied))[:limit], [len(columns) - 1]]
    )
    shown = shown.astype(np.int64)
    entities = asked.candidates[columns[shown]]
    frame = pd.DataFrame(
        {
            "candidate": pd.Series([dataset.entities.labels[i] for i in entities], dtype=object),
            "id": entities,
            "score": asked.scores[columns[shown]],
            "stands": stands[shown],
            "known_in": known[shown],
            "counts": counts[shown],
        }
    )
    frame.attrs |= {
        "n_above": n_above,
        "n_tied": len(order.tied),
        "n_above_counting": int((counts & (stands == "above")).sum()),
        "n_tied_counting": int((counts & (stands == "tied")).sum()),
        "n_candidates": len(asked.candidates),
    }
    return frame


def nearest_rivals(ranks: RankTable, source: Source, rows: Ids, n: int = N_RIVALS) -> pd.DataFrame:
    """Return the best rivals of some rows, known answers left out, whether they stand above the positive or not.

    Returns
    -------
    pandas.DataFrame
        Columns ``row`` (place in the table), ``place`` (1 is the best rival), ``entity`` (id), ``score``.
    """
    triples = known_triples(source.dataset, ranks.protocol.filter_splits or ())
    indices = {side: KnownIndex.of(*query_parts(triples, side)) for side in ranks.protocol.sides}
    parts = []
    for row in rows:
        asked = _asked_again(ranks, source, int(row))
        columns = np.concatenate([asked.order.above, asked.order.tied, asked.order.below])
        given, _ = query_parts(asked.triple[None], asked.side)
        _, known = indices[asked.side].lookup(*given)
        best = columns[~np.isin(asked.candidates[columns], known)][:n]
        found = row, np.arange(1, len(best) + 1), asked.candidates[best], asked.scores[best]
        parts.append(pd.DataFrame(dict(zip(RIVAL_COLUMNS, found))))
    return pd.concat(parts, ignore_index=True) if parts else no_rivals()


def no_rivals() -> pd.DataFrame:
    """Return the table of rivals of no row."""
    return pd.DataFrame({name: np.zeros(0, dtype=np.int64) for name in RIVAL_COLUMNS})


def extreme_rows(ranks: RankTable, n: int = N_EXAMPLES) -> Ids:
    """Return the places of the rows with the n worst and the n best filtered ranks, worst first.

    Of equal ranks the one among more candidates is the better; rows that were not scored are left out.
    """
    counts = ranks.counts("filtered")
    order = np.lexsort((-counts.rivals, ranks.ranks("filtered")))
    order = order[~np.isnan(ranks.frame["score"].to_numpy().astype(np.float64)[order])]
    return np.concatenate([order[::-1][:n], order[: min(n, max(0, len(order) - n))]])


def _asked_again(ranks: RankTable, source: Source, row: int) -> _Asked:
    """Ask for a row of the ranks table; what is answered must be what was ranked."""
    said = ranks.frame.iloc[row]
    side, triple = said["side"], np.array([said["s"], said["p"], said["o"]], dtype=np.int64)
    labels = triple_labels(source.dataset, *triple)
    if said["score"] != said["score"]:
        raise DataError(f"{labels} was not scored on the {side} side: it has an entity or relation that train lacks")
    asked = _Asked.of(source, side, triple, row)
    counted, found = (int(said["better_raw"]), int(said["tied_raw"])), (len(asked.order.above), len(asked.order.tied))
    is_same = counted == found
    if not is_same and not source.is_exact:  # its products are rounded otherwise in a batch
        share = TOLERANCE_OF_HALVES if asked.scores.dtype.itemsize == 2 else TOLERANCE
        is_same = Order.could_have_stood(asked.scores, asked.answer, float(said["score"]), counted, share)
    if not is_same:
        raise ScoreError(
            f"{labels}, {side} side, had {counted[0]} candidates above it and {counted[1]} tied; asked again, the "
            f"scorer puts {found[0]} above and {found[1]} beside it. Has the model changed since? "
            "Evaluate it again"
        )
    return asked


def _known_in(dataset: Dataset, splits: Sequence[str], asked: _Asked, entities: Ids) -> list[str]:
    """Return for each entity the splits in which it is an answer, joined by ``+``."""
    found: list[list[str]] = [[] for _ in entities]
    (mine,), _ = given_and_asked(asked.triple[None], asked.side)
    for split in splits:
        triples = dataset[split].array
        given, answers = given_and_asked(triples, asked.side)
        answers = answers[(given == mine) & (triples[:, 1] == asked.triple[1])]
        for i in np.flatnonzero(np.isin(entities, answers)):
            found[i].append(split)
    return ["+".join(names) for names in found]
