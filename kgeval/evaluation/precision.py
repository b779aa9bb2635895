"""`PrecisionSteps` decides how many random triples `Evaluator.evaluate` ranks for a given precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, counted, listed
from kgeval.data.protocol import Protocol
from kgeval.errors import ProtocolError
from kgeval.evaluation.build_result import Positives, RankedSide
from kgeval.metrics.grammar import display_of
from kgeval.metrics.query_level import QueryLevel
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE, RankTable

PILOT = 300  # the first triples, from which the spread of the metric is estimated
MIN_GROWTH = 0.02  # if the interval is still too wide after the second step: the smallest growth of the sample


def precision_keys(protocol: Protocol) -> list[tuple[Key, float]]:
    """Return the metrics of a protocol's precision, and the wanted half-widths of their 95% intervals.

    Raises
    ------
    MetricError
        If a metric is unknown.
    ProtocolError
        If a metric is query-level: random triples contain only some answers of a query. If its side is not ranked.
    """
    keys = [(Key.parse(metric), half_width) for metric, half_width in protocol.precision or ()]
    for key, _ in keys:
        if isinstance(key.metric, QueryLevel):
            raise ProtocolError(f"precision needs a metric of single ranks, such as mrr or hits@10; got {key}")
        if key.side not in ("both", *protocol.sides):
            raise ProtocolError(
                f"precision is that of {key}, but the {key.side} side is not ranked; the sides are "
                f"{', '.join(protocol.sides)}"
            )
    return keys


@dataclass
class PrecisionSteps:
    """The steps of a run with a precision: a pilot, then as many triples as its spread asks for.

    The wanted half-width h and the standard deviation s of the metric give ``n0 = (1.96 s / h)**2``, and with the
    finite-population correction ``n = n0 / (1 + n0 / N)`` of N triples. If the interval is still wider than wanted,
    since the pilot had a smaller spread, there is a further step. The half-width is that of the interval that the
    result reports, which describes all N triples.

    Parameters
    ----------
    wanted : sequence of (Key, float)
        From `precision_keys`.
    positives : Positives
    protocol : Protocol
        Of all triples, without a sample.
    places : int64 array, shape (positives,)
        The position of each positive in the random order; the sample of n triples consists of those below n.
    seed : int
        The seed of the order.

    Attributes
    ----------
    n : int
        The number of triples that are needed so far.
    n_drawn : int, optional
        After `grow`: the number of triples whose ranks are known; None if these are all triples.
    text, note : str
        After `grow`: the values with their half-widths, and the note of the result.

    References
    ----------
    Cochran (1977), Sampling Techniques, chapter 4 (sample size with the finite-population correction).
    """

    wanted: Sequence[tuple[Key, float]]
    positives: Positives
    protocol: Protocol
    places: Ids
    seed: int

    def __post_init__(self) -> None:
        self.n = min(PILOT, len(self.places))

    def tasks(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the queries of the tasks with a positive among the first `n` triples; all their positives are ranked.

        No later step then asks one of these queries again.
        """
        return [
            task.take(np.flatnonzero(np.minimum.reduceat(self.places[task.rows], task.offsets[:-1]) < self.n))
            for task in tasks
            if task.n_queries
        ]

    def grow(self, ranked: Sequence[RankedSide], n_reached: int | None) -> bool:
        """Raise `n` if an interval of the first `n` triples is too wide; return whether it was raised.

        Parameters
        ----------
        ranked : sequence of RankedSide
            One for each side; the ranks of at least the first `n` triples are known, or of the first `n_reached`.
        n_reached : int, optional
            The number of triples that were ranked until the end of ``max_seconds``; there is no further step then.

        Raises
        ------
        ProtocolError
            If the pilot gives no interval.
        """
        of, n = len(self.places), self.n if n_reached is None else n_reached
        if n == of:
            self.n_drawn, self.note = None, f"precision: all {counted(of, 'triple')} were ranked"
            return False
        found, wanted = self.intervals(ranked, n), [half_width for _, half_width in self.wanted]
        is_reached = all(half_width <= most for most, (_, half_width) in zip(wanted, found))
        self.n_drawn, self.text = n, self._describe(found)
        self.note = (
            f"precision{'' if is_reached else ' not reached in the time'}: {self.text} at 95%, asked for "
            f"{', '.join(f'+-{most:g}' for most in wanted)}; {n:,} of {of:,} triples were ranked, drawn at random"
        )
        if is_reached or n_reached is not None:
            return False
        unknown = [str(key) for (key, _), (_, half_width) in zip(self.wanted, found) if math.isnan(half_width)]
        if unknown:
            raise ProtocolError(
                f"precision: {listed(unknown)} cannot be estimated from the first {counted(n, 'triple')}; rank a "
                "sample= or all triples"
            )
        ratio = max(half_width / most for most, (_, half_width) in zip(wanted, found))
        n0 = ratio**2 * n / (1 - n / of)  # so many triples of an endless split would give the wanted half-width
        least = n + 1 if n == PILOT else math.ceil((1 + MIN_GROWTH) * n)
        self.n = min(of, max(math.ceil(n0 / (1 + n0 / of)), least))
        return True

    def intervals(self, ranked: Sequence[RankedSide], n: int) -> list[tuple[float, float]]:
        """Return the value of each metric over the first `n` triples, and the half-width of its interval."""
        _, protocol = replace(self.protocol, sample=n, sample_seed=self.seed).drawn(len(self.places))
        table = RankTable(
            self.positives.table(protocol, [part.where(self.places[part.rows] < n) for part in ranked]), protocol
        )
        clusters, found = table.row_clusters("triple"), []
        for key, _ in self.wanted:
            interval = table.interval(key, table.rows_of(key.side), confidence=CONFIDENCE, clusters=clusters)
            found.append((interval.value, (interval.high - interval.low) / 2))
        return found

    def _describe(self, found: Sequence[tuple[float, float]]) -> str:
        """Return the values with their half-widths, such as ``"MRR 0.4144 +-0.0198"``."""
        parts = []
        for (key, _), (value, half_width) in zip(self.wanted, found):
            shown = display_of(str(key))
            parts.append(f"{shown.heading} {value:.{shown.decimals}f} +-{half_width:.{shown.decimals}f}")
        return ", ".join(parts)
