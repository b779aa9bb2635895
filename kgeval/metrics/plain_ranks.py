"""`from_ranks`, a public function that computes metrics from the ranks of another tool, and its result class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals
from kgeval.errors import DataError, MetricError
from kgeval.metrics.base import Metric, MetricValue
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import parse, parse_all
from kgeval.metrics.ranks import RankMetric

MAX_RANK = 2.0**52  # from this number on, float64 cannot represent halves


class RankSummary:
    """The metrics that `from_ranks` computes from given ranks.

    ``summary["mrr"]`` is the value of the MRR; if the AMRI is NaN, ``summary.value("amri").reason`` is the reason.

    Parameters
    ----------
    values : mapping of str to MetricValue
        The value of each metric, by the metric's key.
    n : int
        Number of ranks.
    """

    def __init__(self, values: Mapping[str, MetricValue], n: int) -> None:
        self.n = n
        self._values = dict(values)

    def value(self, metric: str | Metric) -> MetricValue:
        """Return the value of `metric`, with the reason if the value is NaN.

        Raises
        ------
        MetricError
            If the metric was not computed. The attribute `metrics` lists the computed metrics.
        """
        key = str(parse(metric))
        if key not in self._values:
            raise MetricError(f"{key} was not computed; the computed metrics are {', '.join(self._values)}")
        return self._values[key]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The keys of the computed metrics."""
        return tuple(self._values)

    @property
    def reasons(self) -> dict[str, str]:
        """The reasons of all metrics whose value is NaN, by the metric's key."""
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
    metrics: Sequence[str | Metric] | str = PLAIN_METRICS,
    n_candidates: int | npt.ArrayLike | None = None,
) -> RankSummary:
    """Compute metrics from given ranks, for example from the ranks that another tool wrote; no scores are needed.

    Parameters
    ----------
    ranks : array_like of numbers, shape (n,)
        The rank of each positive (each evaluated triple) among its candidates; 1 is the best rank. A rank is a whole
        number, or a half number such as 1.5. Half numbers occur under realistic ties: if other candidates have the same
        score as the positive, the rank is the mean of the best and the worst possible rank of the positive.
    metrics : sequence of str or Metric, or one string with commas
        Metrics of ranks, such as ``"mrr,hits@10,amri"``.
    n_candidates : int or array_like of int, shape (n,), optional
        Number of candidates of each positive, including the positive itself. A single integer applies to all
        positives. If None, the metrics that need this number (``amri``, ``adjusted(...)``, ``z(...)``) are NaN.

    Returns
    -------
    RankSummary
        The values of the metrics; for example, ``summary["mrr"]`` is the MRR.

    Raises
    ------
    DataError
        If an array has a wrong type or shape, or if a rank is below 1, is not a multiple of one half, or is larger than
        the number of candidates (the message names the row of this rank).
    MetricError
        If a metric is unknown, or if it is not a metric of ranks.

    Examples
    --------
    >>> summary = from_ranks([2, 1], "mrr,hits@1,mr,amri")
    >>> summary["mrr"], summary["hits@1"], summary["mr"], summary.value("amri").reason
    (0.75, 0.5, 1.5, 'amri needs the number of candidates; set n_candidates=')
    >>> from_ranks([2, 1], "amri", n_candidates=5)["amri"]
    0.75
    """
    values = _checked_ranks(ranks)
    rivals = None if n_candidates is None else _checked_rivals(n_candidates, values)
    better = np.floor(values).astype(np.int64) - 1
    # (n,): 1 where the rank is a half number, else 0. Under realistic ties, one tied rival adds one half to the rank.
    tied = (2 * values).astype(np.int64) % 2
    by_key = {}
    for metric in parse_all(metrics):
        if not isinstance(metric, RankMetric):
            raise MetricError(
                f"{metric} needs all answers of each query; plain ranks do not show which query each rank belongs to"
            )
        if metric.needs_candidates and rivals is None and len(values):
            value = MetricValue.undefined(f"{metric} needs the number of candidates; set n_candidates=")
        else:
            value = metric.compute(better, tied, better + tied if rivals is None else rivals, "realistic")
        by_key[str(metric)] = value
    return RankSummary(by_key, len(values))


def _checked_ranks(ranks: Any) -> Reals:
    """Return the ranks as float64; raise a DataError unless each rank is one of 1, 1.5, 2, ... and below `MAX_RANK`."""
    values = np.asarray(ranks)
    if values.ndim != 1 or (values.dtype.kind not in "iuf" and values.size):
        raise DataError(f"ranks must be a one-dimensional array of numbers; got {values.dtype} of shape {values.shape}")
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
    """Return, for each rank, the number of rivals: the number of candidates minus 1; int64 (n,)."""
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
