"""Why a rank is what it is: the candidates above a positive, asked of the scorer again."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset, triple_labels
from kgeval.errors import DataError, ScoreError
from kgeval.kernels.ordering import Order
from kgeval.measuring import Ranks
from kgeval.probe import TOLERANCE, TOLERANCE_OF_HALVES
from kgeval.protocol import Protocol
from kgeval.queries import given_and_asked

EXAMPLES, RIVALS = 10, 5


class Source(typing.Protocol):
    """What a result was made from, while it is at hand: the dataset, and who scores its candidates again."""

    @property
    def dataset(self) -> Dataset:
        """The dataset that was evaluated."""

    @property
    def is_exact(self) -> bool:
        """Whether scores are the same, to the last bit, in whatever company they are asked."""

    def candidate_scores(self, side: str, given: int, relation: int) -> tuple[Ids, npt.NDArray[Any]]:
        """Return the candidates of one query, sorted ids, and their scores, as they were ranked."""


def explain_triple(source: Source, protocol: Protocol, side: str, triple: Ids, most: int | None = None) -> pd.DataFrame:
    """Return the candidates that stand above or beside a triple; see `kgeval.EvaluationResult.explain`.

    Parameters
    ----------
    source : Source
    protocol : Protocol
        Its filter says what is known.
    side : str
    triple : int64 array, shape (3,)
    most : int, optional
    """
    if most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 0):
        raise DataError(f"most must be an integer of at least 0, or None; got {most!r}")
    candidates, scores, order = _asked(source, side, triple)
    answer = np.searchsorted(candidates, given_and_asked(triple[None], side)[1])
    columns = np.concatenate([order.above, order.tied, answer])
    stands = np.repeat(["above", "tied", "answer"], [len(order.above), len(order.tied), 1])
    known = np.array(_known_in(source.dataset, protocol.filter_splits or (), triple, side, candidates[columns]))
    counts = (known == "") & (stands != "answer")
    n_above = len(order.above)
    shown = np.concatenate([np.arange(n_above)[:most], n_above + np.arange(len(order.tied))[:most], [len(columns) - 1]])
    shown = shown.astype(np.int64)
    entities = candidates[columns[shown]]
    frame = pd.DataFrame(
        {
            "candidate": pd.Series([source.dataset.entities.labels[i] for i in entities], dtype=object),
            "id": entities,
            "score": scores[columns[shown]],
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
        "n_candidates": len(candidates),
    }
    return frame


def explain_row(ranks: Ranks, source: Source, row: int, most: int | None) -> pd.DataFrame:
    """Return `explain_triple` of a row of the ranks table, once its counts are found again."""
    side, triple = _asked_again(ranks, source, row)[:2]
    return explain_triple(source, ranks.protocol, side, triple, most)


def nearest_rivals(ranks: Ranks, source: Source, rows: Ids, n: int = RIVALS) -> pd.DataFrame:
    """Return the best rivals of some rows, known answers left out, whether they stand above the positive or not.

    Returns
    -------
    pandas.DataFrame
        Columns ``row`` (place in the table), ``place`` (1 is the best rival), ``entity`` (id), ``score``.
    """
    triples = known_triples(source.dataset, ranks.protocol.filter_splits or ())
    indices = {side: KnownIndex.of(triples, side) for side in ranks.protocol.sides}
    parts = []
    for row in rows:
        side, triple, candidates, scores, order = _asked_again(ranks, source, int(row))
        columns = np.concatenate([order.above, order.tied, order.below])
        _, known = indices[side].lookup(triple[1:2], given_and_asked(triple[None], side)[0])
        best = columns[~np.isin(candidates[columns], known)][:n]
        parts.append(
            pd.DataFrame(
                {"row": row, "place": np.arange(1, len(best) + 1), "entity": candidates[best], "score": scores[best]}
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else no_rivals()


def no_rivals() -> pd.DataFrame:
    """Return the table of rivals of no row."""
    return pd.DataFrame({name: np.zeros(0, dtype=np.int64) for name in ("row", "place", "entity", "score")})


def extreme_rows(ranks: Ranks, n: int = EXAMPLES) -> Ids:
    """Return the places of the rows with the n worst and the n best filtered ranks, worst first.

    Of equal ranks the one among more candidates is the better; rows that were not scored are left out.
    """
    better, tied, rivals = ranks.counts("filtered", np.arange(len(ranks.table)))
    order = np.lexsort((-rivals, 2 * better + tied))
    order = order[~np.isnan(ranks.table["score"].to_numpy().astype(np.float64)[order])]
    return np.concatenate([order[::-1][:n], order[: min(n, max(0, len(order) - n))]])


def _asked_again(ranks: Ranks, source: Source, row: int) -> tuple[str, Ids, Ids, npt.NDArray[Any], Order]:
    """Return side, triple, candidates, scores and order of a row, which must be as they were ranked."""
    said = ranks.table.iloc[row]
    side, triple = said["side"], np.array([said["s"], said["p"], said["o"]], dtype=np.int64)
    labels = triple_labels(source.dataset, *triple)
    if said["score"] != said["score"]:
        raise DataError(f"{labels} was not scored on the {side} side: it has an entity or relation that train lacks")
    candidates, scores, order = _asked(source, side, triple)
    counted = int(said["better_raw"]), int(said["tied_raw"])
    is_same = counted == (len(order.above), len(order.tied))
    if not is_same and not source.is_exact:  # its products are rounded otherwise in a batch
        answer = int(np.searchsorted(candidates, given_and_asked(triple[None], side)[1][0]))
        share = TOLERANCE_OF_HALVES if scores.dtype.itemsize == 2 else TOLERANCE
        is_same = order.could_have_stood(scores, answer, float(said["score"]), counted, share)
    if not is_same:
        raise ScoreError(
            f"{labels}, {side} side, had {counted[0]} candidates above it and {counted[1]} tied; asked again, the "
            f"scorer puts {len(order.above)} above and {len(order.tied)} beside it. Has the model changed since? "
            "Evaluate it again"
        )
    return side, triple, candidates, scores, order


def _asked(source: Source, side: str, triple: Ids) -> tuple[Ids, npt.NDArray[Any], Order]:
    """Return candidates, scores and their order around a triple, which must be among them."""
    given, asked = given_and_asked(triple[None], side)
    candidates, scores = source.candidate_scores(side, int(given[0]), int(triple[1]))
    place = int(np.searchsorted(candidates, asked[0]))
    if place == len(candidates) or candidates[place] != asked[0]:
        label = source.dataset.entities.labels[asked[0]]
        raise DataError(f"{label!r} is no candidate: train lacks it, or no score is listed for it")
    return candidates, scores, Order.around(scores, place)


def _known_in(dataset: Dataset, splits: Sequence[str], triple: Ids, side: str, entities: Ids) -> list[str]:
    """Return for each entity the splits in which it is an answer, joined by ``+``."""
    found: list[list[str]] = [[] for _ in entities]
    n = len(entities)
    given, _ = given_and_asked(triple[None], side)
    for split in splits:
        index = KnownIndex.of(dataset[split].array, side)
        for i in np.flatnonzero(index.contains(np.repeat(triple[1], n), np.repeat(given, n), entities)):
            found[i].append(split)
    return ["+".join(names) for names in found]
