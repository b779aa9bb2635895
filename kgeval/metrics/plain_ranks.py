"""Metrics of plain ranks, such as another tool computed: `from_ranks`, a public function, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals
from kgeval.errors import DataError, MetricError
from kgeval.metrics.base import Metric, MetricValue
from kgeval.metrics.grammar import parse, parse_all
from kgeval.metrics.ranks import RankMetric

MAX_RANK = 2.0**52  # float64 cannot represent halves from here on


class RankSummary:
    """Metrics of plain ranks, made by `from_ranks`.

    ``summary["mrr"]`` is a number; ``summary.value("amri").reason`` tells why a number is NaN.

    Parameters
    ----------
    values : mapping of str to MetricValue
        By the metrics' keys.
    n : int
        Number of ranks.
    """

    def __init__(self, values: Mapping[str, MetricValue], n: int) -> None:
        self.n = n
        self._values = dict(values)

    def value(self, metric: str | Metric) -> MetricValue:
        """Return the number of a metric, or NaN with the reason.

        Raises
        ------
        MetricError
            If the metric is not one of `metrics`.
        """
        key = str(parse(metric))
        if key not in self._values:
            raise MetricError(f"{key} was not computed; computed are {', '.join(self._values)}")
        return self._values[key]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The keys of the computed metrics."""
        return tuple(self._values)

    @property
    def reasons(self) -> dict[str, str]:
        """The reasons of the numbers that are NaN, by the metrics' keys."""
        return {key: value.reason for key, value in self._values.items() if value.reason}

    def __getitem__(self, metric: str | Metric) -> float:
        return self.value(metric).value

    def __repr__(self) -> str:
        width = max(map(len, self._values), default=0)
        lines = [
            f"{key.ljust(width)}  {value.value:.4f}{f'  ({value.reason})' if value.reason else ''}"
            for key, value in self._values.items()
        ]
        return "\n".join([f"{self.n:,} ranks", *lines])


def from_ranks(
    ranks: npt.ArrayLike,
    metrics: Sequence[str | Metric] | str = ("mr", "mrr", "hits@1", "hits@3", "hits@10"),
    n_candidates: int | npt.ArrayLike | None = None,
) -> RankSummary:
    """Return metrics of ranks without scores, such as the ranks that another tool wrote.

    Parameters
    ----------
    ranks : array_like of numbers, shape (n,)
        1 is the best. Whole numbers; or halves where a positive ties with rivals and its rank is the mean of the
        best and the worst possible rank (realistic ties). The ranks are used unchanged.
    metrics : sequence of str or Metric, or one string with commas
        Metrics of ranks, such as ``"mrr,hits@10,amri"``.
    n_candidates : int or array_like of int, shape (n,), optional
        Number of candidates of each positive, the positive included. Without it, the metrics that need it
        (``amri``, ``adjusted(...)``, ``z(...)``) are NaN, with that reason.

    Returns
    -------
    RankSummary
        Numbers by the metrics' keys.

    Raises
    ------
    DataError
        If a rank is not a multiple of one half, is below 1, or exceeds its number of candidates; names the row.
    MetricError
        If a metric is unknown, or is not a metric of ranks.

    Examples
    --------
    >>> summary = from_ranks([2, 1], "mr,mrr,hits@1,amri")
    >>> summary["mr"], summary["mrr"], summary["hits@1"], summary.value("amri").reason
    (1.5, 0.75, 0.5, 'amri needs the number of candidates; say n_candidates=')
    >>> from_ranks([2, 1], "amri", n_candidates=5)["amri"]
    0.75
    """
    values = _checked_ranks(ranks)
    rivals = None if n_candidates is None else _checked_rivals(n_candidates, values)
    better = np.floor(values).astype(np.int64) - 1
    tied = (2 * values).astype(np.int64) % 2  # 1 where the rank is a half: as if one rival tied with the positive
    by_key = {}
    for metric in parse_all(metrics):
        if not isinstance(metric, RankMetric):
            raise MetricError(f"{metric} measures whole queries; ranks alone do not tell which answers a query has")
        if metric.needs_candidates and rivals is None and len(values):
            value = MetricValue.undefined(f"{metric} needs the number of candidates; say n_candidates=")
        else:
            value = metric.compute(better, tied, better + tied if rivals is None else rivals, "realistic")
        by_key[str(metric)] = value
    return RankSummary(by_key, len(values))


def _checked_ranks(ranks: Any) -> Reals:
    """Return ranks as float64, each a multiple of one half and at least 1."""
    values = np.asarray(ranks)
    if values.ndim != 1 or (values.dtype.kind not in "iuf" and values.size):
        raise DataError(f"ranks must be numbers of shape (n,); got {values.dtype} of shape {values.shape}")
    doubles = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        wrong = ~((doubles >= 1) & (np.rint(2 * doubles) == 2 * doubles) & np.isfinite(doubles))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"ranks, row {row}: expected 1, 1.5, 2, ... (the best is 1); got {values[row]}")
    if (doubles >= MAX_RANK).any():
        row = int(np.argmax(doubles >= MAX_RANK))
        raise DataError(
            f"ranks, row {row}: {values[row]} is no rank; expected less than 2**52, so that halves are exact"
        )
    return doubles


def _checked_rivals(n_candidates: Any, ranks: Reals) -> Ids:
    """Return the number of rivals of each positive, int64 (n,): one less than its number of candidates."""
    counts = np.asarray(n_candidates)
    if counts.dtype.kind not in "iu" or counts.ndim > 1 or (counts.ndim == 1 and len(counts) != len(ranks)):
        raise DataError(
            f"n_candidates must be an integer, or {len(ranks)} of them, one for each rank; got {counts.dtype} of shape "
            f"{counts.shape}"
        )
    rivals = np.broadcast_to(counts, ranks.shape).astype(np.int64) - 1
    wrong = ranks > rivals + 1
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"ranks, row {row}: rank {ranks[row]:g} among {rivals[row] + 1} candidates; the last is {rivals[row] + 1}"
        )
    return rivals
