"""RankTable: the stored counts of ranked triples, and the metrics and intervals computed from them.

`EvaluationResult` computes its metrics with this class; `kgeval.comparison` and `kgeval.report` use it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Reals, check_one_of
from kgeval.data import Protocol, given_and_asked_where, group_rows
from kgeval.errors import MetricError
from kgeval.metrics import (
    AgainstChance,
    Cell,
    Group,
    Metric,
    MetricValue,
    QueryLevel,
    RankMetric,
    group_index,
    metric_frame,
    ranks_under,
)
from kgeval.metrics.retrieval import Lists
from kgeval.ranking import RankCounts
from kgeval.results.keys import Key
from kgeval.results.lists import no_lists, query_lists
from kgeval.stats import (
    BOOTSTRAPS,
    Interval,
    Moments,
    bootstrap_interval,
    influences,
    quantile_bootstrap,
    quantile_interval,
    robust_interval,
)

CLUSTERS = ("triple", "query")
INTERVALS = ("robust", *BOOTSTRAPS)
NO_CHANCE = (
    "with unseen='worst' the ranks of unseen triples are not random, and unseen entities never win, so no chance level "
    "is defined; use unseen='drop' or 'rank'"
)


@dataclass(frozen=True, eq=False)
class RankTable:
    """The table of ranks and its protocol; computes all metrics of an `EvaluationResult`.

    A query is a given entity, a relation and a side. The positive is the triple being ranked, and its rivals are the
    other candidates of the query. The table has one row per (triple, side) and stores the number of rivals. In the
    methods, ``key`` is a metric with setting, side and tie policy; ``rows`` are indices of rows, by default all rows of
    the side.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``s, p, o`` (ids), ``side``, ``split``, ``score`` of the positive, and counts of rivals: with a higher score
        (``better``), with the same score (``tied``), and all rivals (``rivals``). There are two columns for each
        count, for example ``better_raw`` and ``better_filtered``.
    protocol : Protocol
        The protocol under which the rivals were counted.
    """

    frame: pd.DataFrame
    protocol: Protocol

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def sides(self) -> tuple[str, ...]:
        """``"both"`` and the two sides if both sides were ranked; otherwise only the ranked side."""
        sides = tuple(self.protocol.sides)
        return ("both", *sides) if len(sides) > 1 else sides

    @property
    def tie_rate(self) -> float:
        """Share of rows whose positive has the same score as at least one rival, in the filtered setting."""
        return float((self.frame["tied_filtered"] > 0).mean()) if len(self) else float("nan")

    @property
    def sampled_share(self) -> float:
        """The share of the triples that were drawn at random to be ranked; 0 if no random sample was drawn."""
        return 0.0 if self.protocol.sample is None else self.protocol.sample.share

    def rows_of(self, side: str) -> Ids:
        """Return the indices of the rows of a side.

        Parameters
        ----------
        side : str
            ``"subject"``, ``"object"``, or ``"both"`` for all rows.

        Returns
        -------
        int64 array

        Raises
        ------
        MetricError
            If the side was not ranked.
        """
        if side == "both":
            return np.arange(len(self))
        if side not in self.protocol.sides:
            raise MetricError(f"the {side} side was not ranked; this result has {', '.join(self.protocol.sides)}")
        return np.flatnonzero((self.frame["side"] == side).to_numpy())

    def counts(self, setting: str, rows: Ids | None = None) -> RankCounts:
        """Return the counts of `rows`, by default of all rows.

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
            1 is the best rank.
        """
        counts = self.counts(setting, rows)
        return ranks_under(ties, counts.better, counts.tied)

    def lists(self, setting: str, rows: Ids) -> Lists:
        """Return one ranked list per query of `rows`, for the raw or filtered setting; see `query_lists`."""
        return query_lists(self.frame.iloc[rows], self.protocol, setting)[0]

    def value(
        self,
        key: str | Metric | Key,
        rows: Ids | None = None,
        *,
        at_chance: bool = False,
        lists: Lists | None = None,
    ) -> MetricValue:
        """Return the value of the metric `key`; NaN with a reason if it is undefined.

        Parameters
        ----------
        key : str, Metric or Key
        rows : int64 array, optional
        at_chance : bool
            If True, return the expected value of the metric for a random ranking.
        lists : Lists, optional
            The ranked lists of `rows`, if the caller has computed them already; only query-level metrics use them.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        metric = key.metric
        reason = no_lists(self.protocol, key.setting) if isinstance(metric, QueryLevel) else ""
        if not reason and self.protocol.unseen == "worst" and (at_chance or isinstance(metric, AgainstChance)):
            reason = NO_CHANCE
        if reason:
            return MetricValue.undefined(reason)
        if isinstance(metric, QueryLevel):
            lists = self.lists(key.setting, rows) if lists is None else lists
            return metric.chance_of(lists) if at_chance else metric.compute_lists(lists, key.ties)
        counts = self.counts(key.setting, rows)
        if at_chance:
            return metric.chance(counts.rivals)
        return metric.compute(counts.better, counts.tied, counts.rivals, key.ties)

    def moments(self, key: str | Metric | Key, rows: Ids | None = None, lists: Lists | None = None) -> Moments:
        """Return the terms whose means give the metric `key`, for intervals, tests and other statistics.

        Parameters
        ----------
        key, rows, lists
            As in `value`.

        Returns
        -------
        Moments
            One observation per row; for query-level metrics one per query, sorted by side, relation and given entity.

        Raises
        ------
        MetricError
            If the metric is undefined, or if it is not a function of means (such as the median).
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        metric = key.metric
        if self.protocol.unseen == "worst" and isinstance(metric, AgainstChance):
            raise MetricError(NO_CHANCE)
        if isinstance(metric, QueryLevel):
            reason = no_lists(self.protocol, key.setting)
            if reason:
                raise MetricError(reason)
            return metric.moments_of(self.lists(key.setting, rows) if lists is None else lists, key.ties)
        counts = self.counts(key.setting, rows)
        return metric.moments(counts.better, counts.tied, counts.rivals, key.ties)

    def clusters(self, by: str = "triple", rows: Ids | None = None) -> Ids:
        """Return the cluster of each row; rows of the same cluster may depend on each other.

        Parameters
        ----------
        by : str
            ``"triple"``: rows with the same (s, p, o) share a cluster; ``"query"``: rows with the same side, relation
            and given entity.
        rows : int64 array, optional
            By default all rows.

        Returns
        -------
        int64 array, shape (rows,)
            For each row, the number of its cluster. Clusters are numbered 0, 1, ... in the order of (s, p, o), or of
            (side, relation, given entity).
        """
        check_one_of("cluster", by, CLUSTERS, MetricError)
        rows = np.arange(len(self)) if rows is None else rows
        triples = self.frame[["s", "p", "o"]].to_numpy()[rows]
        columns = list(triples.T)
        if by == "query":
            is_subject = (self.frame["side"] == "subject").to_numpy()[rows]
            columns = [is_subject.astype(np.int64), triples[:, 1], given_and_asked_where(triples, is_subject)[0]]
        # order sorts the rows by `columns`. The rows order[starts[g]:starts[g + 1]] form cluster g.
        order, starts = group_rows(*columns)
        clusters = np.empty(len(rows), dtype=np.int64)
        clusters[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return clusters

    def interval(
        self,
        key: str | Metric | Key,
        rows: Ids | None = None,
        *,
        confidence: float,
        clusters: Ids | None = None,
        method: str = "robust",
        lists: Lists | None = None,
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> Interval:
        """Return the value of the metric `key` with its confidence interval.

        Parameters
        ----------
        key, rows, lists
            As in `value`.
        confidence : float
            Nominal coverage, between 0 and 1.
        clusters : int64 array, shape (rows,), optional
            The cluster of each row; by default the rows of a triple form one cluster. Query-level metrics ignore this:
            each query is one cluster.
        method : str
            One of `INTERVALS`.
        n_resamples, seed : int
            Number of resamples and seed of the bootstrap.

        Returns
        -------
        Interval
            If no interval can be computed, its limits are NaN and its field ``reason`` tells why.
        """
        interval = self._interval(key, rows, confidence, clusters, method, lists, n_resamples, seed)
        return interval.of_sample(self.sampled_share)

    def _interval(
        self,
        key: str | Metric | Key,
        rows: Ids | None,
        confidence: float,
        clusters: Ids | None,
        method: str,
        lists: Lists | None,
        n_resamples: int,
        seed: int,
    ) -> Interval:
        """Return the interval without a correction for sampling; `interval` describes the parameters.

        `interval` makes this interval narrower if the ranked triples are a random sample of the test triples.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        clusters = self.clusters("triple", rows) if clusters is None else clusters
        if isinstance(key.metric, RankMetric) and not key.metric.has_moments:
            return self._median_interval(key, rows, confidence, clusters, method, n_resamples, seed)
        try:
            moments = self.moments(key, rows, lists)
        except MetricError as error:  # the metric has no value; for the same reason it has no interval
            return Interval(np.nan, np.nan, np.nan, confidence, method, 0, reason=str(error))
        if isinstance(key.metric, QueryLevel):
            clusters = np.arange(len(moments))
        if method == "robust":
            return robust_interval(moments, clusters, confidence, key.bounds)
        return bootstrap_interval(moments, clusters, confidence, method, n_resamples, seed, key.bounds)

    def _median_interval(
        self, key: Key, rows: Ids, confidence: float, clusters: Ids, method: str, n_resamples: int, seed: int
    ) -> Interval:
        """Return the interval of the median rank, which is the only metric that is not a function of means."""
        median = self.value(key, rows)
        if median.reason:
            return Interval(median.value, np.nan, np.nan, confidence, method, 0, reason=median.reason)
        if method == "bca":
            raise MetricError(f"{key.metric} has robust and percentile intervals; got method {method!r}")
        ranks = self.ranks(key.setting, key.ties, rows)
        if method == "robust":
            return quantile_interval(ranks, clusters, 0.5, confidence)
        return quantile_bootstrap(ranks, clusters, 0.5, confidence, n_resamples, seed)

    def metric_frame(
        self,
        groups: Mapping[Group, tuple[str, Ids]],
        names: Sequence[str],
        metrics: Iterable[RankMetric | QueryLevel],
        ties: str | None = None,
        confidence: float | None = None,
    ) -> pd.DataFrame:
        """Return a table of metrics, one row per group of rows.

        Parameters
        ----------
        groups : mapping of tuple of str to (str, int64 array)
            The labels of a group -> the setting of its metrics, and the indices of its rows.
        names : sequence of str
            The names of the levels of the table's index: what each label of a group means, such as ``"relation"``.
        metrics : iterable of RankMetric or QueryLevel
        ties : str, optional
            Tie policy; by default the default policy of each metric.
        confidence : float, optional
            Nominal coverage of the intervals, which are clustered by triple; None: no intervals.

        Returns
        -------
        pandas.DataFrame
            See `kgeval.metrics.metric_frame`.
        """
        metrics = list(metrics)
        has_lists = any(isinstance(metric, QueryLevel) for metric in metrics)
        clusters = None if confidence is None else self.clusters("triple")
        records: list[dict[str, Cell]] = []
        for setting, rows in groups.values():
            lists = self.lists(setting, rows) if has_lists and not no_lists(self.protocol, setting) else None
            record = {}
            for metric in metrics:
                key = Key(metric, setting=setting, ties=ties or "")
                if clusters is None or confidence is None:
                    record[str(metric)] = Cell.of(self.value(key, rows, lists=lists))
                else:
                    interval = self.interval(key, rows, confidence=confidence, clusters=clusters[rows], lists=lists)
                    record[str(metric)] = Cell.of(interval)
            records.append(record)
        return metric_frame(
            group_index(groups, names),
            records,
            map(str, metrics),
            [len(rows) for _, rows in groups.values()],
            with_intervals=confidence is not None,
        )

    def macro(self, key: Key, groups: Iterable[Ids], confidence: float) -> Interval:
        """Return the macro average: the unweighted mean of the metric `key` over groups of rows.

        The interval treats the rows as a sample, and the groups as fixed.

        Parameters
        ----------
        key : Key
        groups : iterable of int64 arrays
            The indices of the rows of each group.
        confidence : float

        Returns
        -------
        Interval

        Raises
        ------
        MetricError
            If the metric is undefined in a group, or if it is not a function of means (such as the median).
        """
        rows_of_groups = list(groups)
        if not rows_of_groups:
            return Interval(np.nan, np.nan, np.nan, confidence, "robust", 0, reason="no groups")
        parts = [self.moments(key, rows) for rows in rows_of_groups]
        value = float(np.mean([moments.number for moments in parts]))
        n, n_groups = sum(map(len, parts)), len(parts)
        # values (n,): for each of the n observations of all groups, the macro average plus the influence of the
        # observation on the macro average. This is its influence on the metric of its group, multiplied by
        # n / (n_groups * size of the group). The influences sum to 0, so the mean of values is the macro average.
        values = np.concatenate([value + influences(moments) * (n / (n_groups * len(moments))) for moments in parts])
        is_list = isinstance(key.metric, QueryLevel)
        clusters = np.arange(n) if is_list else self.clusters("triple", np.concatenate(rows_of_groups))
        interval = robust_interval(Moments(values[:, None]), clusters, confidence, key.bounds)
        return interval.of_sample(self.sampled_share)
