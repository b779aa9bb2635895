"""The public function `from_ranks`, which computes metrics from ranks that another tool computed, and its result."""

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

MAX_RANK = 2.0**52  # from this number on, float64 cannot represent halves


class RankSummary:
    """Values of metrics of plain ranks; `from_ranks` returns this object.

    ``summary["mrr"]`` is the value of the MRR; ``summary.value("amri").reason`` tells why a value is NaN.

    Parameters
    ----------
    values : mapping of str to MetricValue
        The values by the keys of the metrics.
    n : int
        Number of ranks.
    """

    def __init__(self, values: Mapping[str, MetricValue], n: int) -> None:
        self.n = n
        self._values = dict(values)

    def value(self, metric: str | Metric) -> MetricValue:
        """Return the value of `metric`, or NaN with the reason.

        Raises
        ------
        MetricError
            If the metric was not computed; `metrics` lists the computed metrics.
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
        """For each metric whose value is NaN: its key and the reason."""
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
    """Compute metrics from ranks alone, without scores, such as ranks that another tool wrote.

    Parameters
    ----------
    ranks : array_like of numbers, shape (n,)
        The rank of each positive; 1 is the best rank. Ranks are whole numbers, or half numbers such as 1.5 where a
        positive ties with rivals and its rank is the mean of its best and its worst possible rank (realistic ties).
    metrics : sequence of str or Metric, or one string with commas
        Metrics of ranks, such as ``"mrr,hits@10,amri"``.
    n_candidates : int or array_like of int, shape (n,), optional
        Number of candidates of each positive, including the positive. If it is not given, the metrics that need it
        (``amri``, ``adjusted(...)``, ``z(...)``) are NaN.

    Returns
    -------
    RankSummary
        The values by the keys of the metrics.

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
    (1.5, 0.75, 0.5, 'amri needs the number of candidates; set n_candidates=')
    >>> from_ranks([2, 1], "amri", n_candidates=5)["amri"]
    0.75
    """
    values = _checked_ranks(ranks)
    rivals = None if n_candidates is None else _checked_rivals(n_candidates, values)
    better = np.floor(values).astype(np.int64) - 1
    tied = (2 * values).astype(np.int64) % 2  # 1 if the rank is a half number, as if one rival had the same score
    by_key = {}
    for metric in parse_all(metrics):
        if not isinstance(metric, RankMetric):
            raise MetricError(f"{metric} measures whole queries; ranks alone do not tell which answers a query has")
        if metric.needs_candidates and rivals is None and len(values):
            value = MetricValue.undefined(f"{metric} needs the number of candidates; set n_candidates=")
        else:
            value = metric.compute(better, tied, better + tied if rivals is None else rivals, "realistic")
        by_key[str(metric)] = value
    return RankSummary(by_key, len(values))


def _checked_ranks(ranks: Any) -> Reals:
    """Return the ranks as float64; raise a DataError unless all are multiples of one half and at least 1."""
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
            f"ranks, row {row}: expected a rank below 2**52, so that half ranks are exact; got {values[row]}"
        )
    return doubles


def _checked_rivals(n_candidates: Any, ranks: Reals) -> Ids:
    """Return the number of rivals of each positive, int64 (n,): its number of candidates minus 1."""
    counts = np.asarray(n_candidates)
    if counts.dtype.kind not in "iu" or counts.ndim > 1 or (counts.ndim == 1 and len(counts) != len(ranks)):
        raise DataError(
            f"n_candidates must be one integer, or an array of {len(ranks)} integers, one for each rank; got "
            f"{counts.dtype} of shape {counts.shape}"
        )
    rivals = np.broadcast_to(counts, ranks.shape).astype(np.int64) - 1
    wrong = ranks > rivals + 1
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"ranks, row {row}: rank {ranks[row]:g} among {rivals[row] + 1} candidates; "
            f"the largest possible rank is {rivals[row] + 1}"
        )
    return rivals
