"""Build a result from counts: the positives of a protocol, the table of ranks, and the cautions of the result.

`Evaluator.evaluate` and `evaluate_scores` build their result with `Positives` and `assemble`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval._version import __version__
from kgeval.checks import Ids
from kgeval.data import SETTINGS, Dataset, Protocol
from kgeval.errors import DataError, KgevalWarning
from kgeval.ranking import RankCounts
from kgeval.results import EvaluationResult, Source

TIE_RATE_SAID_ALOUD = 0.01  # a higher tie rate gives a caution
# A z-score of the mean rank below the first value gives a caution; with at least MANY_RANKS ranks, also one below the
# second value.
BELOW_CHANCE, ABOVE_CHANCE = -4.0, 2.0
MANY_RANKS = 100


@dataclass(frozen=True)
class Positives:
    """The positives: the triples that a protocol ranks.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
    splits : int64 array, shape (n,)
        The index of each triple's split in ``protocol.splits``.
    is_seen : bool array, shape (n,)
        Whether train contains both entities and the relation.
    """

    triples: Ids
    splits: Ids
    is_seen: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, dataset: Dataset, protocol: Protocol) -> Positives:
        """Return the triples of the protocol's splits, in the order of the splits; a DataError if there are none."""
        parts = [dataset[split].array for split in protocol.splits]
        triples = np.concatenate(parts)
        if not len(triples):
            raise DataError(f"split {'+'.join(protocol.splits)} of {dataset.name!r} has 0 triples; nothing to rank")
        splits = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return cls(triples, splits, np.concatenate([dataset.is_seen(split) for split in protocol.splits]))

    def frame(
        self, side: str, protocol: Protocol, score: npt.NDArray[Any], counts: dict[str, RankCounts]
    ) -> pd.DataFrame:
        """Return the table of ranks of one side, one row per positive.

        Parameters
        ----------
        side : str
        protocol : Protocol
        score : array, shape (n,)
            The score of each positive.
        counts : dict of str to RankCounts
            ``"raw"`` and ``"filtered"``: the counts of each positive, shape (n,).
        """
        side_index = list(protocol.sides).index(side)
        columns: dict[str, Any] = dict(zip("spo", self.triples.T))
        columns["side"] = pd.Categorical.from_codes(np.full(len(self.triples), side_index), pd.Index(protocol.sides))
        columns["split"] = pd.Categorical.from_codes(self.splits, pd.Index(protocol.splits))
        columns["score"] = score
        for setting in SETTINGS:
            part = counts[setting]
            columns |= {f"better_{setting}": part.better, f"tied_{setting}": part.tied}
            columns[f"rivals_{setting}"] = part.rivals
        return pd.DataFrame(columns)


def assemble(
    dataset: Dataset,
    protocol: Protocol,
    positives: Positives,
    frames: Sequence[pd.DataFrame],
    dropped: dict[str, int],
    about: dict[str, Any],
    source: Source,
    notes: Sequence[str] = (),
) -> EvaluationResult:
    """Build the result from one table of ranks per side; add each caution as a note, and warn with it.

    Parameters
    ----------
    dataset : Dataset
    protocol : Protocol
        With final values in all fields (`Protocol.resolved`).
    positives : Positives
    frames : sequence of DataFrame
        The tables of ranks from `Positives.frame`; rows of dropped positives are left out.
    dropped : dict of str to int
        For each reason, the number of ranks that were left out; reasons with 0 ranks are not stored.
    about : dict
        ``scorer`` and ``n_queries``; this function adds dataset, version and counts.
    source : Source
        Re-scores a query to explain a rank.
    notes : sequence of str
        Further notes for the result.

    Returns
    -------
    EvaluationResult
    """
    result = EvaluationResult(
        table=pd.concat(frames, ignore_index=True),
        entities=dataset.entities,
        relations=dataset.relations,
        protocol=protocol,
        about={
            **about,
            "dataset": dataset.name,
            "dataset_fingerprint": dataset.fingerprint,
            "observations": dataset.observations(),
            "version": __version__,
            "n_triples": len(positives.triples),
            "n_unseen": int((~positives.is_seen).sum()),
            "n_read": len(positives.triples) * len(protocol.sides),
        },
        dropped={reason: n for reason, n in dropped.items() if n},
        notes=notes,
        source=source,
    )
    cautions = _cautions(result)
    for caution in cautions:
        warnings.warn(caution, KgevalWarning, stacklevel=_frames_inside() + 1)
    return result.__replace__(notes=[*notes, *cautions])


def _cautions(result: EvaluationResult) -> list[str]:
    """Return one caution for each reason why the metrics may be misleading."""
    cautions = []
    if result.tie_rate > TIE_RATE_SAID_ALOUD:
        cautions.append(
            f"{result.tie_rate:.1%} of the positives tie with a rival; the numbers depend on the tie policy "
            "(compare optimistic.mrr, pessimistic.mrr and expected.mrr)"
        )
    for side in result.protocol.sides:
        z = result[f"{side}.z(mr)"]
        if z < BELOW_CHANCE:
            cautions.append(
                f"the {side} side ranks far worse than chance (AMRI {_amri(result, side)}); are distances given "
                "as scores? Higher must be better: negate them"
            )
        elif z < ABOVE_CHANCE and len(result.table) >= MANY_RANKS:
            cautions.append(
                f"the {side} side ranks no better than chance (AMRI {_amri(result, side)}); are the rows of the "
                "model in the order of dataset.entities.labels and dataset.relations.labels?"
            )
    n_infinite = int(np.isinf(result.table["score"].to_numpy(dtype=np.float64)).sum())
    if n_infinite:
        cautions.append(f"{n_infinite} positives score infinity; infinities are ranked as numbers and tie")
    return cautions


def _amri(result: EvaluationResult, side: str) -> str:
    return f"{round(result[f'{side}.amri'], 3) + 0.0:.3f}"  # no -0.000


def _frames_inside() -> int:
    """Return the number of stack frames of kgeval between this function and the user's code."""
    frame, n = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "kgeval":
        frame, n = frame.f_back, n + 1
    return n - 1
