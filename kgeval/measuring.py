"""Numbers of a ranks table: values, moments, clusters and intervals, of all its rows or of some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.keys import Key
from kgeval.metrics import MetricValue, QueryLevel, RankMetric
from kgeval.metrics.lists import Lists
from kgeval.metrics.ranking import ranks_under
from kgeval.protocol import Protocol
from kgeval.queries import given_and_asked_where
from kgeval.query_lists import no_lists, query_lists
from kgeval.stats.intervals import METHODS, bootstrap_interval, robust_interval
from kgeval.stats.moments import Interval, Moments, influences
from kgeval.stats.quantiles import quantile_bootstrap, quantile_interval
from kgeval.triples import group_rows

CLUSTERS = ("triple", "query")
INTERVALS = ("robust", *METHODS)
Group = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Ranks:
    """A ranks table and the protocol that its counts obey.

    Parameters
    ----------
    table : pandas.DataFrame
        See `kgeval.EvaluationResult`.
    protocol : Protocol
    """

    table: pd.DataFrame
    protocol: Protocol

    def rows_of(self, side: str) -> Ids:
        """Return the places of the rows of one side, or of both.

        Raises
        ------
        MetricError
            If the side was not asked.
        """
        if side == "both":
            return np.arange(len(self.table))
        if side not in self.protocol.sides:
            raise MetricError(f"the {side} side was not asked; this result has {', '.join(self.protocol.sides)}")
        return np.flatnonzero((self.table["side"] == side).to_numpy())

    def counts(self, setting: str, rows: Ids) -> tuple[Ids, Ids, Ids]:
        """Return better, tied and rivals of some rows."""
        better, tied, rivals = (self.table[f"{name}_{setting}"].to_numpy() for name in ("better", "tied", "rivals"))
        return better[rows], tied[rows], rivals[rows]

    def lists(self, setting: str, rows: Ids) -> Lists:
        """Return the ranked list of each query of some rows; see `query_lists`."""
        return query_lists(self.table.iloc[rows], self.protocol, setting)[0]

    def value(self, key: Key, rows: Ids, at_chance: bool = False, lists: Lists | None = None) -> MetricValue:
        """Return the number of `key` for some rows, or of random ranking; `lists` are theirs, if made before."""
        metric = key.metric
        if isinstance(metric, QueryLevel):
            lacking = no_lists(self.protocol, key.setting)
            if lacking:
                return MetricValue.undefined(lacking)
            lists = self.lists(key.setting, rows) if lists is None else lists
            return metric.chance_of(lists) if at_chance else metric.compute_lists(lists, key.ties)
        better, tied, rivals = self.counts(key.setting, rows)
        return metric.chance(rivals) if at_chance else metric.compute(better, tied, rivals, key.ties)

    def moments(self, key: Key, rows: Ids, lists: Lists | None = None) -> Moments:
        """Return the number of `key` as a function of means: one observation per row, or per query.

        Raises
        ------
        MetricError
            If the number is undefined, or no function of means.
        """
        metric = key.metric
        if isinstance(metric, QueryLevel):
            lacking = no_lists(self.protocol, key.setting)
            if lacking:
                raise MetricError(lacking)
            return metric.moments_of(self.lists(key.setting, rows) if lists is None else lists, key.ties)
        return metric.moments(*self.counts(key.setting, rows), key.ties)

    def clusters(self, by: str, rows: Ids) -> Ids:
        """Return the cluster of each of some rows, 0, 1, ...: those of a triple, or of a query, are not independent.

        Parameters
        ----------
        by : str
            ``"triple"``: rows of the same (s, p, o); ``"query"``: of the same side, relation and given entity.
        rows : int64 array
        """
        check_one_of("cluster", by, CLUSTERS, MetricError)
        triples = self.table[["s", "p", "o"]].to_numpy()[rows]
        columns = list(triples.T)
        if by == "query":
            is_subject = (self.table["side"] == "subject").to_numpy()[rows]
            columns = [is_subject.astype(np.int64), triples[:, 1], given_and_asked_where(triples, is_subject)[0]]
        order, starts = group_rows(*columns)
        clusters = np.empty(len(rows), dtype=np.int64)
        clusters[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return clusters

    def interval(
        self,
        key: Key,
        rows: Ids,
        level: float,
        clusters: Ids | None = None,
        method: str = "robust",
        lists: Lists | None = None,
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> Interval:
        """Return the number of `key` with its interval.

        Parameters
        ----------
        key : Key
        rows : int64 array
        level : float
        clusters : int64 array, shape (rows,), optional
            By default those of the triples. Queries are their own clusters in query-level metrics.
        method : str
            One of `INTERVALS`.
        lists : Lists, optional
            Those of the rows, if they were made before.
        n_resamples, seed : int
            Of the bootstrap.
        """
        clusters = self.clusters("triple", rows) if clusters is None else clusters
        if isinstance(key.metric, RankMetric) and not key.metric.has_moments:
            return self._quantile_interval(key, rows, level, clusters, method, n_resamples, seed)
        try:
            moments = self.moments(key, rows, lists)
        except MetricError as error:  # why there is no number is why there is no interval
            return Interval(np.nan, np.nan, np.nan, level, method, 0, reason=str(error))
        if isinstance(key.metric, QueryLevel):
            clusters = np.arange(len(moments))
        if method == "robust":
            return robust_interval(moments, clusters, level, _bounds(key))
        return bootstrap_interval(moments, clusters, level, method, n_resamples, seed, _bounds(key))

    def _quantile_interval(
        self, key: Key, rows: Ids, level: float, clusters: Ids, method: str, n_resamples: int, seed: int
    ) -> Interval:
        """Return the interval of the median rank, the one metric that is no function of means."""
        found = self.value(key, rows)
        if found.reason:
            return Interval(found.value, np.nan, np.nan, level, method, 0, reason=found.reason)
        if method == "bca":
            raise MetricError(f"{key.metric} has robust and percentile intervals; got method {method!r}")
        better, tied, _ = self.counts(key.setting, rows)
        ranks = ranks_under(key.ties, better, tied)
        if method == "robust":
            return quantile_interval(ranks, clusters, 0.5, level)
        return quantile_bootstrap(ranks, clusters, 0.5, level, n_resamples, seed)

    def frame(
        self,
        groups: Mapping[Group, tuple[str, Ids]],
        names: Sequence[str],
        metrics: Iterable[RankMetric | QueryLevel],
        ties: str | None,
        level: float | None,
    ) -> pd.DataFrame:
        """Return a table of metrics, one row per group.

        Parameters
        ----------
        groups : mapping of tuple of str to (str, int64 array)
            Names, setting, and rows of each group.
        names : sequence of str
            Of the levels of the index.
        metrics : iterable of metrics
        ties : str, optional
            By default each metric's own.
        level : float, optional
            Of intervals, in the columns ``"<metric> low"`` and ``"<metric> high"``; None: no intervals.

        Returns
        -------
        pandas.DataFrame
            ``attrs["reasons"]`` says why a number or an interval is NaN.
        """
        metrics = list(metrics)
        has_lists = any(isinstance(metric, QueryLevel) for metric in metrics)
        clusters = self.clusters("triple", np.arange(len(self.table))) if level is not None else None
        records, reasons = [], {}
        for label, (setting, rows) in groups.items():
            record: dict[str, float] = {"n": len(rows)}
            lists = self.lists(setting, rows) if has_lists and not no_lists(self.protocol, setting) else None
            for metric in metrics:
                key, heading = Key(metric, setting=setting, ties=ties or ""), metric.heading
                if clusters is None:
                    found = self.value(key, rows, lists=lists)
                    record[heading] = found.value
                else:
                    mine = self.interval(key, rows, level or 0.0, clusters[rows], lists=lists)
                    record |= {heading: mine.value, f"{heading} low": mine.low, f"{heading} high": mine.high}
                    found = MetricValue(mine.value, mine.reason)
                if found.reason:
                    reasons[(*label, heading)] = found.reason
            records.append(record)
        columns = [
            f"{metric.heading}{end}"
            for metric in metrics
            for end in (("",) if level is None else ("", " low", " high"))
        ]
        frame = pd.DataFrame(records, index=_index(groups, names), columns=["n", *dict.fromkeys(columns)])
        frame.attrs["reasons"] = reasons
        return frame

    def macro(self, key: Key, groups: Iterable[Ids], level: float) -> Interval:
        """Return the mean over groups of rows of each group's number; its interval takes the groups as given.

        Each group's number is its mean influence added to itself, so the mean over groups is a mean over observations.
        """
        every = list(groups)
        if not every:
            return Interval(np.nan, np.nan, np.nan, level, "robust", 0, reason="no groups")
        parts = [self.moments(key, rows) for rows in every]
        value = float(np.mean([moments.number for moments in parts]))
        n, k = sum(map(len, parts)), len(parts)
        values = np.concatenate([value + influences(moments) * (n / (k * len(moments))) for moments in parts])
        is_list = isinstance(key.metric, QueryLevel)
        clusters = np.arange(n) if is_list else self.clusters("triple", np.concatenate(every))
        return robust_interval(Moments(values[:, None]), clusters, level, _bounds(key))


def _bounds(key: Key) -> tuple[float, float]:
    return key.metric.metric.bounds if isinstance(key.metric, QueryLevel) else key.metric.bounds


def _index(groups: Collection[Group], names: Sequence[str]) -> pd.Index[Any]:
    columns = zip(*groups) if len(groups) else [()] * len(names)
    levels = [pd.Index(list(parts), name=name, dtype=object) for name, parts in zip(names, columns)]
    return pd.MultiIndex.from_arrays(levels) if len(levels) > 1 else levels[0]


def group_labels(columns: Mapping[str, Any], n_rows: int) -> list[tuple[Group, Ids]]:
    """Return the groups of rows with the same values in every column, most rows first, then in the columns' order.

    Where a column is an ordered Categorical, such as buckets of degrees, the groups come in the columns' order alone.

    Parameters
    ----------
    columns : mapping of str to pandas.Categorical or array, each of length n_rows
        A missing value is a group of its own, ``"missing"``.
    n_rows : int

    Examples
    --------
    >>> group_labels({"side": pd.Categorical(["object", "subject", "object"])}, 3)
    [(('object',), array([0, 2])), (('subject',), array([1]))]
    """
    labels: list[npt.NDArray[Any]] = []
    codes: list[Ids] = []
    for values in columns.values():
        texts, own = text_codes(values)
        labels.append(np.array([*texts, "missing"], dtype=object))
        codes.append(np.where(own < 0, texts.index("missing") if "missing" in texts else len(texts), own))
    order, starts = group_rows(*codes) if n_rows else (np.arange(0), np.zeros(1, dtype=np.int64))
    groups = [np.sort(order[start:stop]) for start, stop in zip(starts, starts[1:])]
    if not any(isinstance(values, pd.Categorical) and values.ordered for values in columns.values()):
        groups.sort(key=len, reverse=True)
    return [(tuple(of[code[rows[0]]] for of, code in zip(labels, codes)), rows) for rows in groups]


def text_codes(values: Any) -> tuple[list[str], Ids]:
    """Return the distinct texts of a column, in the order of its categories, and each row's place among them.

    Values that read alike are one; missing ones are -1.

    Examples
    --------
    >>> text_codes(pd.Categorical([1, "1", None], categories=[1, "1"]))
    (['1'], array([ 0,  0, -1]))
    """
    if isinstance(values, pd.Categorical):
        codes, categories = values.codes.astype(np.int64), list(values.categories)
    else:
        plain = values.to_numpy(dtype=object) if hasattr(values, "to_numpy") else np.asarray(values, dtype=object)
        codes, found = pd.factorize(plain, sort=False)
        categories = list(found)
        order = sorted(range(len(categories)), key=lambda i: _sort_key(categories[i]))
        place = np.empty(len(order) + 1, dtype=np.int64)
        place[order], place[-1] = np.arange(len(order)), -1
        codes, categories = place[codes], [categories[i] for i in order]
    texts = [str(category) for category in categories]
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    places = np.array([*(distinct[text] for text in texts), -1], dtype=np.int64)
    return list(distinct), places[codes]


def _sort_key(value: Any) -> tuple[bool, Any]:
    """Sort numbers as numbers, before everything else as text."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    return not is_number, value if is_number else str(value)
