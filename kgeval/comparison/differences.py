"""Differences between results on the same ranks: their tables, tests, and what each relation contributes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Reals
from kgeval.data import given_and_asked_where, group_rows
from kgeval.errors import MetricError
from kgeval.metrics import AgainstChance, Cell, QueryLevel, mean_over_range, metric_frame
from kgeval.results import EvaluationResult, Key
from kgeval.stats import Difference, Interval, Moments, compare_paired, holm, influences, robust_interval

COLUMNS = (
    "first", "second", "metric", "value_first", "value_second", "difference", "low", "high", "p", "p_holm",
    "detectable", "wins", "ties", "losses", "n", "n_clusters", "better", "reason",
)  # fmt: skip
RELATION_COLUMNS = ("n", "share", "value_first", "value_second", "difference", "low", "high", "contribution", "reason")
NUMBERS = ("value_first", "value_second", "difference", "low", "high", "p", "p_holm", "detectable")
NO_RANKS = "no rank was compared"
ALL_AGREE = "no interval: clusters that all differ alike do not tell how far others may"
# Sums of the same terms in another order differ by less than this share.
SUM_ROUNDING = 1e-12


@dataclass(frozen=True)
class Terms:
    """How differences are measured: what `compare` was asked, see there."""

    confidence: float
    cluster: str
    n_resamples: int
    seed: int


@dataclass(frozen=True, eq=False)
class Sample:
    """The observations that all results share: the ranks of some sides, or the queries of these ranks.

    Parameters
    ----------
    rows : tuple of int64 arrays, shape (ranks,)
        For each result the places of the ranks in its table.
    orders : tuple of int64 arrays, shape (observations,), or None
        For each result the places of its queries in the order that all share; None where ranks are observed.
    clusters : int64 array, shape (observations,)
        0, 1, ...
    relations : int64 array, shape (observations,)
        Ids of the first result.
    """

    rows: tuple[Ids, ...]
    orders: tuple[Ids, ...] | None
    clusters: Ids
    relations: Ids

    @property
    def n_clusters(self) -> int:
        """How many independent groups there are."""
        return int(self.clusters.max(initial=-1)) + 1

    @classmethod
    def of(cls, results: Sequence[EvaluationResult], rows: Sequence[Ids], key: Key, cluster: str) -> Sample:
        """Return the observations of `key` among the shared rows."""
        if key.side != "both":
            is_asked = (results[0].table["side"] == key.side).to_numpy()[rows[0]]
            rows = [own[is_asked] for own in rows]
        relations = results[0].table["p"].to_numpy()[rows[0]]
        if not isinstance(key.metric, QueryLevel):
            return cls(tuple(rows), None, results[0].rank_table.clusters(cluster, rows[0]), relations)
        queries = results[0].rank_table.clusters("query", rows[0])
        orders = []
        for result, own in zip(results, rows):
            order, starts = group_rows(*_query_columns(result, own))
            orders.append(np.argsort(queries[order[starts[:-1]]]))
        _, first = np.unique(queries, return_index=True)
        return cls(tuple(rows), tuple(orders), np.arange(len(first)), relations[first])

    def moments(self, result: EvaluationResult, i: int, key: Key) -> Moments:
        """Return the number of `key` in result `i`, its observations in the order that all results share."""
        if not len(self.clusters):
            raise MetricError(NO_RANKS)
        moments = result.rank_table.moments(key, self.rows[i])
        return moments if self.orders is None else Moments(moments.values[self.orders[i]], moments.finish)

    def part(self, result: EvaluationResult, i: int, key: Key, whole: Moments, rows: Ids) -> Moments:
        """Return the number of some observations alone; `whole` is that of all.

        Ranks are asked anew, since a number such as a z-score depends on how many they are.
        """
        if self.orders is None:
            return result.rank_table.moments(key, self.rows[i][rows])
        return Moments(whole.values[rows], whole.finish)

    def interval(self, result: EvaluationResult, i: int, key: Key, confidence: float) -> Interval:
        """Return the number of `key` in result `i` with its interval."""
        if not len(self.clusters):
            return Interval(np.nan, np.nan, np.nan, confidence, "robust", 0, reason=NO_RANKS)
        return result.rank_table.interval(key, self.rows[i], confidence=confidence, clusters=self.clusters)

    def count_wins(self, results: Sequence[EvaluationResult], i: int, j: int, key: Key) -> tuple[int, int, int]:
        """Return in how many ranks, or queries, result `i` does better than `j` by `key`, equally well, and worse."""
        signs = np.sign(self.merit(results[i], i, key) - self.merit(results[j], j, key))
        return int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum())

    def merit(self, result: EvaluationResult, i: int, key: Key) -> Reals:
        """Return how well result `i` does in each rank, or query, by `key`: what the metric says of it, higher better.

        Metrics against chance are those that they wrap; in means over queries it is the numerator.
        """
        metric = key.metric
        if isinstance(metric, QueryLevel):
            try:
                values = self.moments(result, i, key).values[:, 0]
            except MetricError:  # undefined, as the table says
                values = np.zeros(len(self.clusters))
            return np.asarray(values)  # of list metrics, higher is better
        metric = metric.metric if isinstance(metric, AgainstChance) else metric
        counts = result.rank_table.counts(key.setting, self.rows[i])
        if key.ties not in metric.tie_policies:
            return np.zeros(len(counts))
        if key.ties == "expected":
            values = mean_over_range(metric.value, counts.better + 1, counts.better + counts.tied + 1)
        else:
            values = metric.value(result.rank_table.ranks(key.setting, key.ties, self.rows[i]))
        return np.asarray(values * (1 if metric.higher_is_better else -1))


def _query_columns(result: EvaluationResult, rows: Ids) -> tuple[Ids, Ids, Ids]:
    """Return side, relation and given entity of rows, by which a result sorts its queries."""
    side = result.table["side"].cat.codes.to_numpy()[rows].astype(np.int64)
    triples = result.table[["s", "p", "o"]].to_numpy()[rows]
    is_subject = (result.table["side"] == "subject").to_numpy()[rows]
    return side, triples[:, 1], given_and_asked_where(triples, is_subject)[0]


def _kind(key: Key) -> tuple[str, bool]:
    """Return what keys with the same observations share."""
    return key.side, isinstance(key.metric, QueryLevel)


def samples_of(
    results: Sequence[EvaluationResult], rows: Sequence[Ids], keys: Mapping[str, Key], cluster: str
) -> dict[str, Sample]:
    """Return the observations of each key; keys with the same ones share them."""
    made: dict[tuple[str, bool], Sample] = {}
    for key in keys.values():
        if _kind(key) not in made:
            made[_kind(key)] = Sample.of(results, rows, key, cluster)
    return {label: made[_kind(key)] for label, key in keys.items()}


def value_table(
    results: Sequence[EvaluationResult],
    names: Sequence[str],
    keys: Mapping[str, Key],
    samples: Mapping[str, Sample],
    confidence: float,
) -> pd.DataFrame:
    """Return every value with its interval, one row per model; see `kgeval.metrics.metric_frame`."""
    rows = [
        {label: Cell.of(samples[label].interval(result, i, key, confidence)) for label, key in keys.items()}
        for i, result in enumerate(results)
    ]
    return metric_frame(pd.Index(list(names), dtype=object, name="model"), rows, keys, with_intervals=True)


def difference_table(
    results: Sequence[EvaluationResult],
    keys: Mapping[str, Key],
    samples: Mapping[str, Sample],
    values: pd.DataFrame,
    terms: Terms,
) -> pd.DataFrame:
    """Return the differences of all pairs in all metrics, see `Comparison`."""
    pairs = list(itertools.combinations(range(len(results)), 2))
    moments, reasons = _moments(results, keys, samples)
    tested: dict[tuple[tuple[int, int], str], Difference] = {}
    for kind in dict.fromkeys(_kind(keys[label]) for label in moments):
        labels = [label for label in moments if _kind(keys[label]) == kind]
        for i, j in pairs:
            firsts, seconds = ([moments[label][place] for label in labels] for place in (i, j))
            clusters = samples[labels[0]].clusters
            found = compare_paired(
                firsts, seconds, clusters, confidence=terms.confidence, n_resamples=terms.n_resamples, seed=terms.seed
            )
            tested |= {((i, j), label): one for label, one in zip(labels, found)}
    records = []
    for pair in pairs:
        for label, key in keys.items():
            record = _record(label, key, [values[label].iloc[i] for i in pair], [values.index[i] for i in pair])
            wins, ties, losses = samples[label].count_wins(results, *pair, key)
            record |= {"wins": wins, "ties": ties, "losses": losses, "n": len(samples[label].clusters)}
            record |= {"n_clusters": samples[label].n_clusters, "reason": reasons.get(label, "")}
            records.append(record | (_tested(tested[pair, label]) if label in moments else {}))
    frame = pd.DataFrame(records, columns=list(COLUMNS)).astype(dict.fromkeys(NUMBERS, np.float64))
    frame["p_holm"] = holm(frame["p"].to_numpy())
    return frame


def _moments(
    results: Sequence[EvaluationResult], keys: Mapping[str, Key], samples: Mapping[str, Sample]
) -> tuple[dict[str, list[Moments]], dict[str, str]]:
    """Return every number in each result as a function of means, and why some are none."""
    moments, reasons = {}, {}
    for label, key in keys.items():
        try:
            moments[label] = [samples[label].moments(result, i, key) for i, result in enumerate(results)]
        except MetricError as error:  # noqa: PERF203
            reasons[label] = str(error)
    return moments, reasons


def _record(label: str, key: Key, values: Sequence[float], names: Sequence[str]) -> dict[str, Any]:
    """Return two values, their difference and which is better; equal up to rounding, none is."""
    one, other = values
    difference = one - other
    favours = difference if key.higher_is_better else -difference
    is_apart = abs(difference) > SUM_ROUNDING * max(abs(one), abs(other))
    return {
        "first": names[0],
        "second": names[1],
        "metric": label,
        "value_first": one,
        "value_second": other,
        "difference": difference,
        "better": names[0 if favours > 0 else 1] if is_apart else "",
    }


def _tested(found: Difference) -> dict[str, Any]:
    """Return what the interval and the test say."""
    return {
        "low": found.low,
        "high": found.high,
        "p": found.p_value,
        "detectable": found.detectable,
        "reason": found.reason,
    }


def relation_table(
    results: Sequence[EvaluationResult], sample: Sample, key: Key, pair: tuple[int, int], confidence: float
) -> pd.DataFrame:
    """Return the differences within relations and what each contributes, see `Comparison.by_relation`."""
    one, other = (sample.moments(results[i], i, key) for i in pair)
    parts, is_exact = _contributions(one, other)
    order, starts = group_rows(sample.relations)
    records = {}
    for rows in np.split(order, starts[1:-1]):
        record: dict[str, Any] = {"n": len(rows), "share": len(rows) / len(parts), "reason": ""}
        try:
            mine = [sample.part(results[i], i, key, whole, rows) for i, whole in zip(pair, (one, other))]
        except MetricError as error:  # a relation may lack what the whole has, such as room above chance
            mine, record["reason"] = [], str(error)
        if mine:
            within = robust_interval(_difference_of_moments(*mine), sample.clusters[rows], confidence)
            record |= {"value_first": float(mine[0].number), "value_second": float(mine[1].number)}
            record |= {"difference": within.value, "low": within.low, "high": within.high, "reason": within.reason}
            if not within.reason and not within.error > 0.0:
                record |= {"low": np.nan, "high": np.nan, "reason": ALL_AGREE}
        record["contribution"] = float(parts[rows].sum()) / len(parts)
        records[results[0].relations.labels[sample.relations[rows[0]]]] = record
    index = pd.Index(list(records), dtype=object, name="relation")
    frame = pd.DataFrame(list(records.values()), index=index, columns=list(RELATION_COLUMNS))
    frame = frame.sort_index().sort_values("contribution", key=np.abs, ascending=False, kind="stable")
    frame.attrs["difference"] = float(one.number - other.number)
    frame.attrs["contribution"] = "exact" if is_exact else "linearised"
    return frame


def _difference_of_moments(one: Moments, other: Moments) -> Moments:
    """Return the difference of two numbers of the same observations as one number."""
    k = one.values.shape[1]
    values = np.concatenate([one.values, other.values], axis=1)
    return Moments(values, lambda means: one.finish(means[..., :k]) - other.finish(means[..., k:]))


def _contributions(one: Moments, other: Moments) -> tuple[Reals, bool]:
    """Return what each observation adds to the difference, whose mean is the difference; and whether that is exact.

    The number is taken as linear between the means of both, with the slope half-way: its influences on observations
    that lie around the middle as the two differ are the slope times the differences, less their mean. So an
    observation in which both agree adds nothing but the (third-order) error of the slope.
    """
    total = float(one.number - other.number)
    apart = one.values - other.values
    start, way = other.values.mean(axis=0), apart.mean(axis=0)
    along = [float(one.finish(start + share * way)) - share * total for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    scale = max(abs(float(one.number)), abs(float(other.number)))
    parts = influences(Moments(start + way / 2 + (apart - way), one.finish)) + total
    return parts, bool(np.ptp(along) <= 1e-9 * scale)
