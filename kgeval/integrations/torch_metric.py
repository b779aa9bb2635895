"""`TorchMetric`: kgeval's metrics of ranks as a torchmetrics metric, for training loops on several processes.

The methods are in `TorchMetricMethods`, which needs no torchmetrics; `make_class` combines them with
`torchmetrics.Metric`. The state is a table of integers: the counts and the id of each row. Tables of all processes are
joined before a metric is computed, and rows with the same id count once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, check_one_of, counted
from kgeval.errors import DataError, KgevalWarning, MetricError, MissingExtra, ProtocolError, ScoreError
from kgeval.integrations.loggers import log_name
from kgeval.metrics import RankMetric
from kgeval.metrics.base import TIE_POLICIES, Metric
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import parse_all

COLUMNS = ("better", "tied", "rivals", "has_id", "id")
ASK_FOR_IDS = (
    "ids= is needed on several processes: samplers pad the data with repeated rows, which only ids can tell apart. "
    "Pass an int64 tensor with one id for each row, unique in the whole evaluation: the number of the row in the "
    "dataset (with two sides: 2 * row for the subject, 2 * row + 1 for the object)"
)


class TorchMetricMethods:
    """Metrics of ranks for torchmetrics, exact on any number of processes; public as `kg.integrations.TorchMetric`.

    ``update`` counts the rivals of each positive; ``compute`` returns the same values as `kgeval.evaluate` for the same
    counts. Rows with the same id count once, so that the rows which distributed samplers repeat do not change a value.

    Parameters
    ----------
    metrics : sequence of str or Metric, or one string with commas
        Metrics of ranks, such as ``"mrr"``, ``"hits@10"``, ``"amri"``. Query-level metrics need whole queries; use
        `kgeval.evaluate` for them.
    ties : str
        ``"realistic"``, ``"optimistic"``, ``"pessimistic"`` or ``"expected"``; see ``kgeval help protocol``.
    log_names : bool
        Whether the keys of `compute` have no "@" and no parentheses (``"hits_at_10"``), for loggers such as MLflow.
    **options
        Options of `torchmetrics.Metric`, such as ``process_group`` or ``compute_on_cpu``.

    Attributes
    ----------
    n_rows : int
        The number of rows of the last `compute`, without repeated rows.
    n_repeated : int
        The number of rows that the last `compute` left out because an earlier row had the same id.

    Raises
    ------
    MissingExtra
        If torchmetrics is not installed.
    MetricError
        If a metric or the tie policy is unknown, if a metric is not a metric of ranks, or if it is not defined under
        the tie policy.
    """

    # Attributes for torchmetrics. False: its `forward` may update once and merge the states.
    full_state_update = False
    is_differentiable = False
    # Set by the constructor of torchmetrics.
    rows: list[Any]
    device: Any
    process_group: Any
    distributed_available_fn: Any

    def __init__(
        self,
        metrics: Sequence[str | Metric] | str = PLAIN_METRICS,
        ties: str = "realistic",
        *,
        log_names: bool = False,
        **options: Any,
    ) -> None:
        library_class: Any = super()
        library_class.__init__(**{"dist_sync_fn": _gather, **options})
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
        self.metrics = [_rank_metric(metric, ties) for metric in parse_all(metrics)]
        self.ties = ties
        self.names = [log_name(metric) if log_names else str(metric) for metric in self.metrics]
        self.n_rows = self.n_repeated = 0
        library_class.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(
        self, scores: Any = None, positive: Any = None, *, known: Any = None, counts: Any = None, ids: Any = None
    ) -> None:
        """Add the ranks of some positives, computed from scores or from counts of rivals.

        Parameters
        ----------
        scores : tensor, shape (n, candidates), optional
            The score of each candidate of each query; higher is better. Scores are compared without conversion, also in
            half precision. The positive is one of the candidates.
        positive : int tensor, shape (n,), optional
            The column of the positive in each row of `scores`.
        known : bool tensor, shape (n, candidates), optional
            True for the candidates to leave out: other known answers (the filter), or padding of the candidates. The
            positive itself is never left out, even if its cell is True.
        counts : three int tensors of shape (n,), optional
            Instead of `scores`: for each positive, the number of rivals with a higher score (``better``), with the same
            score (``tied``), and of all rivals.
        ids : int tensor, shape (n,), optional
            One id for each row, unique in the whole evaluation. Needed on several processes.

        Raises
        ------
        ScoreError
            If a score is NaN, or the shapes do not fit together.
        ProtocolError
            If neither or both of `scores` and `counts` are given, or ids are missing on several processes.
        DataError
            If counts or ids are not integers of at least 0.
        """
        import torch

        if (scores is None) == (counts is None):
            raise ProtocolError("update() takes scores and positive=, or counts=(better, tied, rivals)")
        if counts is None:
            parts = _count(scores, positive, known)
        elif positive is not None or known is not None:
            raise ProtocolError("counts= are final: positive= and known= belong to scores")
        else:
            parts = _checked_counts(counts)
        n = len(parts[0])
        if ids is None:
            if self._n_processes() > 1:
                raise ProtocolError(ASK_FOR_IDS)
            ids, has_id = torch.zeros(n, dtype=torch.int64), 0
        else:
            ids, has_id = _integers("ids", ids, n), 1
        parts = [*parts, torch.full((n,), has_id), ids]
        self.rows.append(torch.stack([part.to(self.device, torch.int64) for part in parts], dim=1))

    def compute(self) -> dict[str, Any]:
        """Return the value of each metric over the rows of all processes.

        Returns
        -------
        dict of str to float64 tensor without dimensions
            The tensors are on the device of the metric (float32 on ``"mps"``, which has no float64). If a metric is
            undefined, its value is NaN, and there is a KgevalWarning.

        Raises
        ------
        DataError
            If two rows have the same id and different counts, or only some rows have an id.
        """
        import torch

        parts = self.rows if isinstance(self.rows, (list, tuple)) else [self.rows]
        if any(part.dtype != torch.int64 for part in parts if part.numel()):
            raise DataError("the counts of this metric were converted to another dtype; leave out set_dtype()")
        tables = [part.cpu().numpy().reshape(-1, len(COLUMNS)) for part in parts]
        table = np.concatenate([np.zeros((0, len(COLUMNS)), dtype=np.int64), *tables]).astype(np.int64)
        distinct = _without_repeated(table)
        self.n_rows, self.n_repeated = len(distinct), len(table) - len(distinct)
        # A distributed sampler pads with fewer rows than there are processes.
        if self.n_repeated >= max(self._n_processes(), 1):
            warnings.warn(
                f"{counted(self.n_repeated, 'row')} of {len(table):,} had the id of an earlier row and were left out. "
                "If these are different rows, make ids unique in the whole evaluation, not in a batch; if the metric "
                "was updated in an earlier epoch, call reset()",
                KgevalWarning,
                stacklevel=2,
            )
        better, tied, rivals = distinct[:, 0], distinct[:, 1], distinct[:, 2]
        values, dtype = {}, torch.float32 if torch.device(self.device).type == "mps" else torch.float64
        for name, metric in zip(self.names, self.metrics):
            value = metric.compute(better, tied, rivals, self.ties)
            if value.reason:
                warnings.warn(f"{name} is NaN: {value.reason}", KgevalWarning, stacklevel=2)
            values[name] = torch.tensor(value.value, dtype=dtype, device=self.device)
        return values

    def _n_processes(self) -> int:
        """Return the number of processes whose rows `compute` joins."""
        if not self.distributed_available_fn():
            return 1
        from torch import distributed

        if not (distributed.is_available() and distributed.is_initialized()):
            return 2  # the user's own function says that there are several processes
        return int(distributed.get_world_size(self.process_group))


def make_class() -> type:
    """Return the class `TorchMetric`; raise a MissingExtra if torchmetrics is not installed."""
    try:
        from torchmetrics import Metric as LibraryMetric
    except ModuleNotFoundError as error:
        raise MissingExtra('TorchMetric needs torchmetrics; pip install "kgeval[torchmetrics]"') from error
    content = {"__doc__": TorchMetricMethods.__doc__, "__module__": "kgeval.integrations"}
    metaclass: Any = type(LibraryMetric)
    made: type = metaclass("TorchMetric", (TorchMetricMethods, LibraryMetric), content)
    return made


def _rank_metric(metric: Metric, ties: str) -> RankMetric:
    """Return `metric` as a `RankMetric`.

    Raise a MetricError if the metric cannot be computed from counts with this tie policy.
    """
    if not isinstance(metric, RankMetric):
        raise MetricError(f"TorchMetric computes metrics of ranks, such as 'mrr'; got {metric}. Use kg.evaluate for it")
    reason = metric.lacking(np.full(1, 9, dtype=np.int64), ties)
    if reason:
        raise MetricError(reason)
    return metric


def _count(scores: Any, positive: Any, known: Any) -> list[Any]:
    """Return the numbers of better, tied and all rivals of each positive, as int64 tensors of shape (n,)."""
    import torch

    if not torch.is_tensor(scores) or scores.ndim != 2 or scores.dtype == torch.bool or scores.is_complex():
        shape = tuple(getattr(scores, "shape", ()))
        kind = getattr(scores, "dtype", type(scores).__name__)
        raise ScoreError(f"scores must be a tensor of numbers, shape (n, candidates); got {kind}, shape {shape}")
    n, width = scores.shape
    scores = scores.detach()
    if positive is None:
        raise ProtocolError("scores need positive=: the column of the positive in each row, shape (n,)")
    column = _integers("positive", positive, n).to(scores.device)
    if n and int(column.max()) >= width:
        raise ScoreError(f"positive: a column is {int(column.max())}, but scores have {width} columns")
    if bool(scores.isnan().any()):
        row, candidate = (int(i) for i in scores.isnan().nonzero()[0])
        raise ScoreError(
            f"scores: row {row}, candidate {candidate} is NaN. If NaN marks known answers, pass their cells as known="
        )
    counts = torch.ones(scores.shape, dtype=torch.bool, device=scores.device)
    if known is not None:
        if not torch.is_tensor(known) or known.dtype != torch.bool or known.shape != scores.shape:
            raise ScoreError(
                f"known must be a bool tensor of the shape of scores, {tuple(scores.shape)}; got "
                f"{getattr(known, 'dtype', type(known).__name__)}, shape {tuple(getattr(known, 'shape', ()))}"
            )
        counts = ~known.to(scores.device)
    counts = counts.scatter(1, column[:, None], False)  # the positive is no rival of itself
    own = scores.gather(1, column[:, None])
    return [((scores > own) & counts).sum(1), ((scores == own) & counts).sum(1), counts.sum(1)]


def _checked_counts(counts: Any) -> list[Any]:
    """Return better, tied and rivals as int64 tensors of equal length."""
    if not isinstance(counts, (tuple, list)) or len(counts) != 3:
        raise DataError("counts= must be three tensors: better, tied, rivals")
    n = len(counts[2])
    better, tied, rivals = (_integers(f"counts, {name}", part, n) for name, part in zip(COLUMNS, counts))
    wrong = (better + tied > rivals.to(better.device)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"counts, row {row}: {int(better[row])} better and {int(tied[row])} tied rivals, but {int(rivals[row])} "
            "rivals in all; the positive is not counted"
        )
    return [better, tied, rivals]


def _integers(name: str, values: Any, n: int) -> Any:
    """Return values as an int64 tensor of shape (n,); raise a DataError if they are no integers of at least 0."""
    import torch

    tensor = torch.as_tensor(values)
    if tensor.shape != (n,) or tensor.dtype == torch.bool or tensor.is_floating_point() or tensor.is_complex():
        raise DataError(f"{name} must be integers, shape ({n},); got {tensor.dtype}, shape {tuple(tensor.shape)}")
    tensor = tensor.to(torch.int64)  # before min(), which torch lacks for unsigned; too large values become < 0
    if n and int(tensor.min()) < 0:
        raise DataError(f"{name} must be at least 0; got {int(tensor.min())}")
    return tensor


def _without_repeated(table: Ids) -> Ids:
    """Return the rows with distinct ids; raise a DataError if rows with the same id differ."""
    has_id = table[:, COLUMNS.index("has_id")]
    if not has_id.any():
        return table
    if not has_id.all():
        raise DataError(
            f"{int((has_id == 0).sum())} of {len(table)} rows have no id; pass ids= in every update, or in none"
        )
    table = table[np.argsort(table[:, -1], kind="stable")]
    is_repeated = np.append(False, table[1:, -1] == table[:-1, -1])
    differs = is_repeated & np.append(False, (table[1:] != table[:-1]).any(axis=1))
    if differs.any():
        i = int(np.flatnonzero(differs)[0])
        both = [dict(zip(COLUMNS[:3], row[:3].tolist())) for row in table[i - 1 : i + 1]]
        raise DataError(
            f"id {table[i, -1]} has two rows with different counts: {both[0]} and {both[1]}. Ids must be unique in the "
            "whole evaluation: with two sides, 2 * row for the subject and 2 * row + 1 for the object. The scores of a "
            "repeated row must not depend on its batch"
        )
    distinct: Ids = table[~is_repeated]
    return distinct


def _gather(tensor: Any, group: Any = None) -> list[Any]:
    """Gather a tensor from all processes; a process without rows gives an int64 table without rows."""
    import torch
    from torchmetrics.utilities.distributed import gather_all_tensors

    if not tensor.numel():
        tensor = torch.zeros((0, len(COLUMNS)), dtype=torch.int64, device=tensor.device)
    gathered: list[Any] = gather_all_tensors(tensor, group)
    return gathered
