"""RankTable: the stored counts of ranked triples, and the metrics and intervals computed from them.

`EvaluationResult` computes its metrics with this class; `kgeval.comparison` and `kgeval.report` use it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import GONE, Ids, Reals, check_largest_weight, with_old_names
from kgeval.data.candidates import LAST
from kgeval.data.protocol import Protocol
from kgeval.data.sides import entity_sides
from kgeval.errors import MetricError
from kgeval.metrics import MetricValue, RankMetric
from kgeval.metrics.base import Metric
from kgeval.metrics.metric_frames import Cell, Group, group_index, metric_frame
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import ranks_under
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.wrappers import AgainstChance
from kgeval.ranking.counts import RankCounts
from kgeval.results.bounded import EXTREMES, at_extremes, between_reason, bounded_rows, unknown_reason
from kgeval.results.clustering import RowClusters
from kgeval.results.keys import Key
from kgeval.results.lists import bounded_lists, no_lists
from kgeval.stats.intervals import macro_interval, robust_interval
from kgeval.stats.moments import Interval, Moments
from kgeval.stats.quantiles import quantile_interval

# Arguments of `interval` that were removed with the bootstraps, and why.
_NO_BOOTSTRAP = (
    f"{GONE}there is no bootstrap; the cluster-robust interval holds the true value as often in simulations, and needs "
    "no seed"
)
KEY_HINTS = dict.fromkeys(
    ("side", "sides", "setting", "tie", "ties"), "the key 'raw.object.optimistic.mrr'"
)  # of one number
NO_BOOTSTRAP = dict.fromkeys(("method", "n_resamples", "seed"), _NO_BOOTSTRAP)
CONFIDENCE = 0.95
NO_CHANCE = (
    "with unseen='worst' the ranks of unseen triples are not random, and unseen entities never win, so no chance level "
    "is defined; use unseen='drop' or 'rank'"
)

NO_CHANCE_LAST = (
    "with outside='last' the ranks of positives outside their pools are not random, so no chance level is defined; use "
    "outside='add'"
)


@with_old_names(is_undecided="is_bounded(...)")
@dataclass(frozen=True, eq=False)
class RankTable:
    """The table of ranks and its protocol; computes all metrics of an `EvaluationResult`.

    A query is a given entity, a relation and a side; on the relation side, two entities. The positive is the triple
    being ranked, and its rivals are the other candidates of the query. The table has one row per (triple, side) and
    stores the number of rivals. In the methods, ``key`` is a metric with setting, side and tie policy; ``rows`` are
    indices of rows, by default all rows of the key's side.

    A rank is bounded if only bounds of it are known; `EvaluationResult` describes the columns that mark such ranks.
    Optimistic ties give bounded ranks their best possible value, pessimistic ties their worst. Under other tie
    policies, a metric has a value only if these best and these worst ranks give the same value.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``s, p, o`` (ids), ``side``, ``split``, ``score`` of the positive, and counts of rivals: with a higher score
        (``better``), with the same score (``tied``), and all rivals (``rivals``). There are two columns for each
        count, for example ``better_raw`` and ``better_filtered``.
    protocol : Protocol
        The protocol under which the rivals were counted.
    unknown : mapping of str to str
        Which facts about the ranks are not known, and why: the entry ``unknown`` of `EvaluationResult.facts`.
    """

    frame: pd.DataFrame
    protocol: Protocol
    unknown: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def sides(self) -> tuple[str, ...]:
        """The ranked sides; before them ``"both"`` if both entity sides were ranked."""
        sides = tuple(self.protocol.sides)
        return ("both", *sides) if len(entity_sides(sides)) > 1 else sides

    @property
    def tie_rate(self) -> float:
        """The `tie_rate_of` the rows that metrics without a side are about."""
        return self.tie_rate_of("both")

    def tie_rate_of(self, side: str) -> float:
        """Return the share of rows whose positive has the same score as at least one rival, in the filtered setting.

        Bounded rows are left out; NaN if the ties are unknown, or if there are no other rows.

        Parameters
        ----------
        side : str
            As in `rows_of`.
        """
        if "filtered" in self.unknown or "ties" in self.unknown:
            return float("nan")
        rows = self.rows_of(side)
        tied = self.frame["tied_filtered"].to_numpy()[rows[~self.is_bounded("filtered", rows)]]
        return float((tied > 0).mean()) if len(tied) else float("nan")

    @property
    def sampled_share(self) -> float:
        """The share of the triples that were drawn at random to be ranked; 0 if no random sample was drawn."""
        return 0.0 if self.protocol.sample is None else self.protocol.sample.share

    def sampled_share_of(self, key: Key, clusters: RowClusters) -> float:
        """Return `sampled_share` if the interval of the metric `key` estimates a value of the whole split, else 0.

        The share makes an interval narrower (`Interval.of_sample`). Only intervals with clusters by triple are about
        the split; with other clusters, they are about other queries or entities. Query-level metrics of a sample do not
        estimate those of the split, because queries have fewer answers in the sample.
        """
        return self.sampled_share if clusters.by == "triple" and not isinstance(key.metric, QueryLevel) else 0.0

    def rows_of(self, side: str) -> Ids:
        """Return the indices of the rows of a side.

        Parameters
        ----------
        side : str
            ``"subject"``, ``"object"``, ``"relation"``; or ``"both"`` for all rows of the entity sides, or of the
            relation side if only it was ranked.

        Returns
        -------
        int64 array

        Raises
        ------
        MetricError
            If the side was not ranked.
        """
        if side not in ("both", *self.protocol.sides):
            raise MetricError(f"the {side} side was not ranked; this result has {', '.join(self.protocol.sides)}")
        sides = entity_sides(self.protocol.sides) if side == "both" else (side,)
        if sides == tuple(self.protocol.sides):
            return np.arange(len(self))
        return np.flatnonzero(self.frame["side"].isin(sides).to_numpy())

    def counts(self, setting: str, rows: Ids | None = None) -> RankCounts:
        """Return the counts of `rows`, by default of all rows, whatever their side.

        Parameters
        ----------
        setting : str
            ``"raw"`` or ``"filtered"``.
        rows : int64 array, optional

        Returns
        -------
        RankCounts
            int64 arrays ``better``, ``tied``, ``rivals``, each of shape (rows,).
        """
        counts = RankCounts(*(self.frame[f"{name}_{setting}"].to_numpy() for name in ("better", "tied", "rivals")))
        return counts if rows is None else counts.take(rows)

    def is_bounded(self, setting: str, rows: Ids | None = None) -> npt.NDArray[np.bool_]:
        """Return for each of `rows`, by default all rows, whether only bounds of its rank are known.

        Parameters
        ----------
        setting : str
            ``"raw"`` or ``"filtered"``.
        rows : int64 array, optional

        Returns
        -------
        bool array, shape (rows,)
        """
        return bounded_rows(self.frame, setting, rows)

    def ranks(self, setting: str = "filtered", ties: str = "realistic", rows: Ids | None = None) -> Reals:
        """Return the ranks of `rows`, by default of all rows.

        Parameters
        ----------
        setting : str
            ``"raw"`` or ``"filtered"``.
        ties : str
            ``"realistic"``, ``"optimistic"`` or ``"pessimistic"``: a policy that gives each row one rank.
        rows : int64 array, optional

        Returns
        -------
        float64 array, shape (rows,)
            1 is the best rank; NaN for an unknown rank, and under realistic ties for a bounded rank.
        """
        counts = self.counts(setting, rows)
        ranks = ranks_under(ties, counts.better, counts.tied)
        if setting in self.unknown or ("ties" in self.unknown and ties != "realistic"):
            return np.full(len(ranks), np.nan)
        is_bounded = self.is_bounded(setting, rows)
        return np.where(is_bounded, np.nan, ranks) if ties not in EXTREMES and is_bounded.any() else ranks

    def lacking(self, key: Key, at_chance: bool = False) -> str:
        """Return the reason why the metric `key` is undefined for all rows of this table, or else an empty string.

        Parameters
        ----------
        key : Key
        at_chance : bool
            As in `value`.
        """
        reason = no_lists(self.protocol, key.setting) if isinstance(key.metric, QueryLevel) else ""
        needs_chance = not reason and (at_chance or isinstance(key.metric, AgainstChance))
        if needs_chance and self.protocol.unseen == "worst":
            reason = NO_CHANCE
        elif needs_chance and self.protocol.candidates.kind == LAST:
            is_unscored = np.isnan(self.frame["score"].to_numpy().astype(np.float64)).any()
            reason = NO_CHANCE_LAST if is_unscored else ""
        return reason or unknown_reason(self.unknown, key, at_chance)

    def bounded_lists(self, setting: str, rows: Ids) -> tuple[RankedLists, ...]:
        """Return one ranked list per query of `rows`, for the raw or filtered setting.

        Returns
        -------
        tuple of RankedLists
            The lists, in which bounded ranks are ties. If there are bounded ranks, also the lists with all of them
            at their worst, and the lists with all of them at their best.
        """
        return bounded_lists(self.frame.iloc[rows], self.protocol, setting)

    def cases(
        self, key: Key, rows: Ids, lists: tuple[RankedLists, ...] | None = None, *, at_bounds: bool = False
    ) -> tuple[RankCounts, ...] | tuple[RankedLists, ...]:
        """Return the counts, or the lists of a query-level metric, from which the metric `key` is computed.

        Parameters
        ----------
        key : Key
        rows : int64 array
        lists : tuple of RankedLists, optional
            As in `value`.
        at_bounds : bool
            If True, bounded ranks stay bounded even with optimistic or pessimistic ties.

        Returns
        -------
        tuple of RankCounts or tuple of RankedLists
            One element if no rank is bounded, or if the tie policy decides the bounded ranks. Otherwise two
            elements: first with all bounded ranks at their worst, then with all of them at their best.
        """
        is_decided = key.ties in EXTREMES and not at_bounds
        if isinstance(key.metric, QueryLevel):
            lists = self.bounded_lists(key.setting, rows) if lists is None else lists
            return lists[:1] if is_decided else lists[1:] or lists
        counts = self.counts(key.setting, rows)
        is_bounded = self.is_bounded(key.setting, rows)
        return (counts,) if is_decided or not is_bounded.any() else at_extremes(counts, is_bounded)

    def _between(self, key: Key, rows: Ids, values: Sequence[float]) -> str:
        """Return the reason why the metric `key` has no value: it depends on bounded ranks.

        The text contains the bounds of the metric.
        """
        n_bounded = int(self.is_bounded(key.setting, rows).sum())
        return between_reason(key, min(values), max(values), n_bounded, len(rows))

    def value(
        self,
        key: str | Metric | Key,
        rows: Ids | None = None,
        *,
        at_chance: bool = False,
        lists: tuple[RankedLists, ...] | None = None,
    ) -> MetricValue:
        """Return the value of the metric `key`; NaN with a reason if it is undefined.

        Parameters
        ----------
        key : str, Metric or Key
        rows : int64 array, optional
        at_chance : bool
            If True, return the expected value of the metric for a random ranking.
        lists : tuple of RankedLists, optional
            The `bounded_lists` of `rows`, if the caller has computed them already; only query-level metrics use them.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        metric = key.metric
        reason = self.lacking(key, at_chance)
        if reason:
            return MetricValue.undefined(reason)
        if at_chance and isinstance(metric, RankMetric):
            return metric.chance(self.counts(key.setting, rows).rivals)
        if at_chance and isinstance(metric, QueryLevel):
            return metric.chance_of((self.bounded_lists(key.setting, rows) if lists is None else lists)[0])
        found: tuple[Any, ...] = self.cases(key, rows, lists)
        if isinstance(metric, QueryLevel):
            values = [metric.compute_lists(case, key.ties) for case in found]
        else:
            values = [metric.compute(case.better, case.tied, case.rivals, key.ties) for case in found]
        if any(value.reason for value in values) or values[0].value == values[-1].value:
            return values[0]
        return MetricValue.undefined(self._between(key, rows, [value.value for value in values]))

    def bounds(self, key: str | Metric | Key, rows: Ids | None = None) -> tuple[float, float]:
        """Return the smallest and the greatest value that the metric `key` can have; see `EvaluationResult.bounds`.

        Parameters
        ----------
        key, rows
            As in `value`.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        if self.lacking(key):
            return np.nan, np.nan
        values = [_value_of(key, case).value for case in self.cases(key, rows, at_bounds=True)]
        return min(values), max(values)

    def moments(
        self,
        key: str | Metric | Key,
        rows: Ids | None = None,
        lists: tuple[RankedLists, ...] | None = None,
        weights: Reals | None = None,
    ) -> Moments:
        """Return the terms whose means give the metric `key`, for intervals, tests and other statistics.

        Parameters
        ----------
        key, rows, lists
            As in `value`.
        weights : float64 array, shape (rows,), optional
            A weight for each rank, for a metric of ranks; see `Moments.weighted`.

        Returns
        -------
        Moments
            One observation per row; for query-level metrics one per query, sorted by side and given columns.

        Raises
        ------
        MetricError
            If the metric is undefined, or if it is not a function of means (such as the median); with weights, also if
            it has no weighted form, if all weights are 0, or if the largest is out of range.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        if weights is not None:
            _check_weights(key, weights)
        reason = self.lacking(key)
        if reason:
            raise MetricError(reason)
        moments = [_moments_of(key, case) for case in self.cases(key, rows, lists)]
        if weights is not None:
            moments = [part.weighted(weights) for part in moments]
        if len(moments) > 1 and not np.array_equal(moments[0].values, moments[1].values):
            raise MetricError(self._between(key, rows, [float(part.number) for part in moments]))
        return moments[0]

    def row_clusters(self, cluster: Any = "triple") -> RowClusters:
        """Return the cluster labels of all rows.

        Parameters
        ----------
        cluster : str or array_like, shape (rows,)
            ``"triple"``: rows with the same (s, p, o) share a cluster; ``"query"``: rows with the same side, relation
            and given entity; ``"entity"``: two-way clusters, rows with the same subject, and rows with the same object;
            or an array with one label per row.

        Raises
        ------
        MetricError
            If `cluster` is an unknown word, or an array with a wrong shape or with missing labels.
        """
        return RowClusters.of(self.frame, cluster)

    def interval(
        self,
        key: str | Metric | Key,
        rows: Ids | None = None,
        *,
        confidence: float,
        clusters: RowClusters | None = None,
        lists: tuple[RankedLists, ...] | None = None,
    ) -> Interval:
        """Return the value of the metric `key` with its confidence interval.

        Parameters
        ----------
        key, rows, lists
            As in `value`.
        confidence : float
            Nominal coverage, between 0 and 1.
        clusters : RowClusters, optional
            Which rows depend on each other; by default the rows of a triple.

        Returns
        -------
        Interval
            If no interval can be computed, its limits are NaN and its field ``reason`` tells why.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        clusters = self.row_clusters() if clusters is None else clusters
        sampled_share = self.sampled_share_of(key, clusters)
        if isinstance(key.metric, RankMetric) and not key.metric.has_moments:
            return self._median_interval(key, rows, confidence, clusters).of_sample(sampled_share)
        try:
            moments = self.moments(key, rows, lists)
        except MetricError as error:  # the metric has no value; for the same reason it has no interval
            return Interval(np.nan, np.nan, np.nan, confidence, "robust", 0, reason=str(error))
        among = clusters.among([rows], isinstance(key.metric, QueryLevel))
        return robust_interval(moments, among, confidence, key.bounds, sampled_share)

    def _median_interval(self, key: Key, rows: Ids, confidence: float, clusters: RowClusters) -> Interval:
        """Return the interval of the median rank, which is the only metric that is not a function of means."""
        median = self.value(key, rows)
        if median.reason:
            return Interval(median.value, np.nan, np.nan, confidence, "robust", 0, reason=median.reason)
        among = clusters.among([rows])
        intervals = []
        for case in self.cases(key, rows):
            ranks = ranks_under(key.ties, case.better, case.tied)  # type: ignore[union-attr]
            intervals.append(quantile_interval(ranks, among, 0.5, confidence))
        ends = [(interval.low, interval.high) for interval in intervals]
        if not np.array_equal(ends[0], ends[-1], equal_nan=True):
            reason = "the limits depend on bounded ranks"
            return Interval(median.value, np.nan, np.nan, confidence, "robust", 0, reason=reason)
        return intervals[0]

    def metric_frame(
        self,
        groups: Mapping[Group, tuple[str, Ids]],
        names: Sequence[str],
        metrics: Iterable[RankMetric | QueryLevel],
        ties: str | None = None,
        confidence: float | None = None,
        cluster: Any = "triple",
    ) -> pd.DataFrame:
        """Return a table of metrics, one row per group of rows.

        Parameters
        ----------
        groups : mapping of tuple of str to (str, int64 array)
            Key: the labels of a group. Value: the setting of its metrics ("raw" or "filtered"), and the indices of its
            rows.
        names : sequence of str
            The names of the index levels of the returned table, one for each label of a group, such as ``"relation"``.
        metrics : iterable of RankMetric or QueryLevel
        ties : str, optional
            Tie policy; by default the default policy of each metric.
        confidence : float, optional
            Nominal coverage of the intervals; None: no intervals.
        cluster : str or array_like, shape (rows,)
            As in `row_clusters`.

        Returns
        -------
        pandas.DataFrame
            See `kgeval.metrics.metric_frames.metric_frame`.
        """
        metrics = list(metrics)
        has_lists = any(isinstance(metric, QueryLevel) for metric in metrics)
        clusters = self.row_clusters(cluster)
        records: list[dict[str, Cell]] = []
        for setting, rows in groups.values():
            is_listed = (
                has_lists and not no_lists(self.protocol, setting) and not {setting, "queries"} & {*self.unknown}
            )
            lists = self.bounded_lists(setting, rows) if is_listed else None
            record = {}
            for metric in metrics:
                key = Key(metric, setting=setting, ties=ties or "")
                if confidence is None:
                    record[str(metric)] = Cell.of(self.value(key, rows, lists=lists))
                else:
                    interval = self.interval(key, rows, confidence=confidence, clusters=clusters, lists=lists)
                    record[str(metric)] = Cell.of(interval)
            records.append(record)
        return metric_frame(
            group_index(groups, names),
            records,
            map(str, metrics),
            [len(rows) for _, rows in groups.values()],
            with_intervals=confidence is not None,
        )

    def macro(self, key: Key, groups: Sequence[Ids], confidence: float, clusters: RowClusters) -> Interval:
        """Return the macro average: the unweighted mean of the metric `key` over groups of rows.

        The interval treats the rows as a sample, and the groups as fixed.

        Parameters
        ----------
        key : Key
        groups : sequence of int64 arrays
            The indices of the rows of each group.
        confidence : float
        clusters : RowClusters

        Returns
        -------
        Interval
            If a group has only one cluster, there is no interval, and ``reason`` says so. Neither is there a value if
            the metric is undefined in a group, or if it is not a function of means (such as the median).
        """
        try:
            parts = [self.moments(key, rows) for rows in groups]
        except MetricError as error:
            reason = self._macro_between(key, groups) or str(error)
            return Interval(np.nan, np.nan, np.nan, confidence, "robust", 0, reason=reason)
        among = clusters.among(groups, isinstance(key.metric, QueryLevel))
        sampled_share = self.sampled_share_of(key, clusters)
        return macro_interval(parts, among, confidence, key.bounds, sampled_share)

    def _macro_between(self, key: Key, groups: Sequence[Ids]) -> str:
        """Return a reason with the bounds of a macro average; empty if no bounded rank changes the average."""
        bounds = [self.bounds(key, rows) for rows in groups]
        low, high = (float(np.mean(ends)) for ends in zip(*bounds))
        n_bounded = sum(int(self.is_bounded(key.setting, rows).sum()) for rows in groups)
        if not low < high:  # also if a bound is NaN
            return ""
        return between_reason(key, low, high, n_bounded, sum(map(len, groups)))


def _check_weights(key: Key, weights: Reals) -> None:
    """Raise a MetricError if a metric cannot be weighted, or not with these weights of ranks."""
    metric = key.metric
    if not isinstance(metric, RankMetric):
        raise MetricError(f"query-level metrics cannot be weighted; got {metric}")
    if not weights.any():
        raise MetricError(f"the weights of all {len(weights)} ranks of {str(key)!r} are 0")
    check_largest_weight(float(weights.max()))
    if metric.has_moments and not metric.is_weightable(key.ties):
        raise MetricError(f"{metric} under {key.ties} ties has no weighted form: it depends on the number of ranks")


def _value_of(key: Key, case: RankCounts | RankedLists) -> MetricValue:
    """Return the value of a metric of ranks from counts, or of a query-level metric from lists."""
    if isinstance(key.metric, QueryLevel):
        return key.metric.compute_lists(case, key.ties)  # type: ignore[arg-type]
    return key.metric.compute(case.better, case.tied, case.rivals, key.ties)  # type: ignore[union-attr]


def _moments_of(key: Key, case: RankCounts | RankedLists) -> Moments:
    if isinstance(key.metric, QueryLevel):
        return key.metric.moments_of(case, key.ties)  # type: ignore[arg-type]
    return key.metric.moments(case.better, case.tied, case.rivals, key.ties)  # type: ignore[union-attr]
