"""RankTable: the stored counts of a ranking, and every number that is made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Reals, check_one_of
from kgeval.data import Protocol, given_and_asked_where, group_rows
from kgeval.errors import MetricError
from kgeval.metrics import (
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


@dataclass(frozen=True, eq=False)
class RankTable:
    """One row per (triple, side) with the positive's counts, and the protocol under which they were counted.

    All numbers of a result come from here: a key says which metric, of which setting, side and tie policy; ``rows``
    are places in the table, by default all rows of the key's side.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``s, p, o`` (ids), ``side``, ``split``, ``score`` of the positive, and ``better``, ``tied``, ``rivals``, each
        ``_raw`` and ``_filtered``.
    protocol : Protocol
    """

    frame: pd.DataFrame
    protocol: Protocol

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def sides(self) -> tuple[str, ...]:
        """``both`` and each side, or the only side asked."""
        sides = tuple(self.protocol.sides)
        return ("both", *sides) if len(sides) > 1 else sides

    @property
    def tie_rate(self) -> float:
        """Share of filtered ranks whose positive ties with at least one rival."""
        return float((self.frame["tied_filtered"] > 0).mean()) if len(self) else float("nan")

    def rows_of(self, side: str) -> Ids:
        """Return the places of the rows of one side, or of both.

        Raises
        ------
        MetricError
            If the side was not asked.
        """
        if side == "both":
            return np.arange(len(self))
        if side not in self.protocol.sides:
            raise MetricError(f"the {side} side was not asked; this result has {', '.join(self.protocol.sides)}")
        return np.flatnonzero((self.frame["side"] == side).to_numpy())

    def counts(self, setting: str, rows: Ids | None = None) -> RankCounts:
        """Return the counts of some rows, by default of all, in the raw or the filtered setting."""
        columns = (self.frame[f"{name}_{setting}"].to_numpy() for name in ("better", "tied", "rivals"))
        return RankCounts(*(column if rows is None else column[rows] for column in columns))

    def ranks(self, setting: str = "filtered", ties: str = "realistic", rows: Ids | None = None) -> Reals:
        """Return the 1-based ranks of some rows, float64, under a tie policy that gives each row one."""
        counts = self.counts(setting, rows)
        return ranks_under(ties, counts.better, counts.tied)

    def lists(self, setting: str, rows: Ids) -> Lists:
        """Return the ranked list of each query of some rows; see `query_lists`."""
        return query_lists(self.frame.iloc[rows], self.protocol, setting)[0]

    def value(
        self,
        key: str | Metric | Key,
        rows: Ids | None = None,
        *,
        at_chance: bool = False,
        lists: Lists | None = None,
    ) -> MetricValue:
        """Return the number of a key, or NaN with the reason.

        Parameters
        ----------
        key : str, Metric or Key
        rows : int64 array, optional
        at_chance : bool
            Whether to return what random ranking is expected to reach instead.
        lists : Lists, optional
            Those of the rows, if they were made before.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        metric = key.metric
        if isinstance(metric, QueryLevel):
            lacking = no_lists(self.protocol, key.setting)
            if lacking:
                return MetricValue.undefined(lacking)
            lists = self.lists(key.setting, rows) if lists is None else lists
            return metric.chance_of(lists) if at_chance else metric.compute_lists(lists, key.ties)
        counts = self.counts(key.setting, rows)
        if at_chance:
            return metric.chance(counts.rivals)
        return metric.compute(counts.better, counts.tied, counts.rivals, key.ties)

    def moments(self, key: str | Metric | Key, rows: Ids | None = None, lists: Lists | None = None) -> Moments:
        """Return the number of a key as a function of means, for statistics of one's own.

        Parameters
        ----------
        key, rows, lists
            As for `value`.

        Returns
        -------
        Moments
            One observation per row; for query-level metrics one per query, sorted by side, relation and given entity.

        Raises
        ------
        MetricError
            If the number is undefined, or is no function of means.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        metric = key.metric
        if isinstance(metric, QueryLevel):
            lacking = no_lists(self.protocol, key.setting)
            if lacking:
                raise MetricError(lacking)
            return metric.moments_of(self.lists(key.setting, rows) if lists is None else lists, key.ties)
        counts = self.counts(key.setting, rows)
        return metric.moments(counts.better, counts.tied, counts.rivals, key.ties)

    def clusters(self, by: str = "triple", rows: Ids | None = None) -> Ids:
        """Return the cluster of each of some rows, 0, 1, ...; rows of one cluster are not independent.

        Parameters
        ----------
        by : str
            ``"triple"``: rows of the same (s, p, o); ``"query"``: of the same side, relation and given entity.
        rows : int64 array, optional
        """
        check_one_of("cluster", by, CLUSTERS, MetricError)
        rows = np.arange(len(self)) if rows is None else rows
        triples = self.frame[["s", "p", "o"]].to_numpy()[rows]
        columns = list(triples.T)
        if by == "query":
            is_subject = (self.frame["side"] == "subject").to_numpy()[rows]
            columns = [is_subject.astype(np.int64), triples[:, 1], given_and_asked_where(triples, is_subject)[0]]
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
        """Return the number of a key with its interval.

        Parameters
        ----------
        key, rows, lists
            As for `value`.
        confidence : float
            Nominal coverage, between 0 and 1.
        clusters : int64 array, shape (rows,), optional
            By default those of the triples. Queries are their own clusters in query-level metrics.
        method : str
            One of `INTERVALS`.
        n_resamples, seed : int
            Of the bootstrap.
        """
        key = Key.parse(key)
        rows = self.rows_of(key.side) if rows is None else rows
        clusters = self.clusters("triple", rows) if clusters is None else clusters
        if isinstance(key.metric, RankMetric) and not key.metric.has_moments:
            return self._median_interval(key, rows, confidence, clusters, method, n_resamples, seed)
        try:
            moments = self.moments(key, rows, lists)
        except MetricError as error:  # why there is no number is why there is no interval
            return Interval(np.nan, np.nan, np.nan, confidence, method, 0, reason=str(error))
        if isinstance(key.metric, QueryLevel):
            clusters = np.arange(len(moments))
        if method == "robust":
            return robust_interval(moments, clusters, confidence, key.bounds)
        return bootstrap_interval(moments, clusters, confidence, method, n_resamples, seed, key.bounds)

    def _median_interval(
        self, key: Key, rows: Ids, confidence: float, clusters: Ids, method: str, n_resamples: int, seed: int
    ) -> Interval:
        """Return the interval of the median rank, the one metric that is no function of means."""
        found = self.value(key, rows)
        if found.reason:
            return Interval(found.value, np.nan, np.nan, confidence, method, 0, reason=found.reason)
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
            Names, setting, and rows of each group.
        names : sequence of str
            Of the levels of the index.
        metrics : iterable of metrics
        ties : str, optional
            By default each metric's own.
        confidence : float, optional
            Of intervals, clustered by triple; None: no intervals.

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
                    found = self.interval(key, rows, confidence=confidence, clusters=clusters[rows], lists=lists)
                    record[str(metric)] = Cell.of(found)
            records.append(record)
        return metric_frame(
            group_index(groups, names),
            records,
            map(str, metrics),
            [len(rows) for _, rows in groups.values()],
            with_intervals=confidence is not None,
        )

    def macro(self, key: Key, groups: Iterable[Ids], confidence: float) -> Interval:
        """Return the mean over groups of rows of each group's number; its interval takes the groups as given.

        Each group's number is its mean influence added to itself, so the mean over groups is a mean over observations.
        """
        every = list(groups)
        if not every:
            return Interval(np.nan, np.nan, np.nan, confidence, "robust", 0, reason="no groups")
        parts = [self.moments(key, rows) for rows in every]
        value = float(np.mean([moments.number for moments in parts]))
        n, k = sum(map(len, parts)), len(parts)
        values = np.concatenate([value + influences(moments) * (n / (k * len(moments))) for moments in parts])
        is_list = isinstance(key.metric, QueryLevel)
        clusters = np.arange(n) if is_list else self.clusters("triple", np.concatenate(every))
        return robust_interval(Moments(values[:, None]), clusters, confidence, key.bounds)
