"""Tables of differences between results on the same ranks, and the contribution of each group of ranks.

`compare` in `comparison.py` calls `samples_of`, `value_table` and `difference_table`; `Comparison.by` calls
`group_table`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, Reals, grouped
from kgeval.base.wording import between, listed_names, signed
from kgeval.comparison.alignment import sides_of_key
from kgeval.comparison.groups import Groups, groups_by
from kgeval.comparison.names import models_of
from kgeval.comparison.rows import Pair, Settings, decided_rows, pairs_of
from kgeval.data.row_keys import group_rows
from kgeval.errors import MetricError
from kgeval.metrics import RankMetric
from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.grammar import display_of
from kgeval.metrics.metric_frames import Cell, metric_frame
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.wrappers import AgainstChance
from kgeval.ranking.counts import RankCounts
from kgeval.results.bounded import EXTREMES, unknown_reason
from kgeval.results.clustering import RowClusters
from kgeval.results.evaluation_result import MAX_ENTITY_RATIO, EvaluationResult
from kgeval.results.keys import Key
from kgeval.results.lists import query_columns
from kgeval.stats.clusters import Clusters
from kgeval.stats.macro_difference import compare_macro
from kgeval.stats.moments import Interval, Moments, influences
from kgeval.stats.paired import Difference, compare_pairs, gap_sums, paired_interval, paired_intervals

COUNTS = ("wins", "ties", "losses")  # the further columns of `Comparison.differences`
GROUP_COLUMNS = (
    "n", "share", "value_first", "value_second", "difference", "low", "high", "low_corrected", "high_corrected",
    "contribution", "decided", "reversed", "n_effective", "reason",
)  # fmt: skip
NO_RANKS = "no rank was compared"


@dataclass(frozen=True)
class ComparisonSettings(Settings):
    """The settings of a comparison; see the parameters of `compare`."""

    n_resamples: int
    seed: int

    @property
    def cluster_name(self) -> str:
        """The parameter `cluster` of `compare` as a word; ``"array"`` if it is an array."""
        return self.cluster if isinstance(self.cluster, str) else "array"


@dataclass(frozen=True, eq=False)
class PairedObservations:
    """The observations of a metric that all results share: ranks of one or both sides, or the queries of these ranks.

    The number `i` in the methods is the position of a result in `results`.

    Parameters
    ----------
    results : sequence of EvaluationResult
    key : Key
    rows : tuple of int64 arrays, shape (ranks,)
        One array per result: the indices of the shared ranks in its table.
    orders : tuple of int64 arrays, shape (observations,), or None
        None for metrics of ranks. For query-level metrics, the observations are the queries that all results share,
        in the order of the first result. Each result sorts these queries by its own ids; therefore there is one array
        per result. Element q of the array is the position of observation q in the order of that result.
    clusters : Clusters
        Which observations depend on each other.
    row_clusters : RowClusters
        The clusters of the rows of the first result.
    observations : int64 array, shape (ranks,)
        The index of the observation to which each rank belongs.
    """

    results: Sequence[EvaluationResult]
    key: Key
    rows: tuple[Ids, ...]
    orders: tuple[Ids, ...] | None
    clusters: Clusters
    row_clusters: RowClusters
    observations: Ids

    def __len__(self) -> int:
        return len(self.rows[0] if self.orders is None else self.orders[0])

    @classmethod
    def of(
        cls, results: Sequence[EvaluationResult], rows: Sequence[Ids], key: Key, row_clusters: RowClusters
    ) -> PairedObservations:
        """Return the sample for the metric `key`: its observations, taken from the rows that all results share.

        Parameters
        ----------
        results : sequence of EvaluationResult
        rows : sequence of int64 arrays, shape (shared,)
            As in `Alignment`.
        key : Key
        row_clusters : RowClusters
            The clusters of the rows of the first result.
        """
        sides = sides_of_key(key, results[0])
        if sides != tuple(results[0].protocol.sides):
            is_of_side = results[0].table["side"].isin(sides).to_numpy()[rows[0]]
            rows = [result_rows[is_of_side] for result_rows in rows]
        clusters = row_clusters.among([rows[0]], isinstance(key.metric, QueryLevel))
        if not isinstance(key.metric, QueryLevel):
            return cls(results, key, tuple(rows), None, clusters, row_clusters, np.arange(len(rows[0])))
        # queries (ranks,): the number (0, 1, ...) of the query of each rank; all results use the same numbers.
        queries = np.unique(row_clusters.queries[rows[0]], return_inverse=True)[1].reshape(len(rows[0]))
        orders = []
        for result, result_rows in zip(results, rows):
            # order[starts[:-1]] (queries,): one rank per query, in the order in which this result sorts its queries.
            # queries[order[starts[:-1]]]: the numbers of these queries, a permutation of 0, 1, ...; `argsort` inverts
            # the permutation.
            order, starts = group_rows(*query_columns(result.table.iloc[result_rows]))
            orders.append(np.argsort(queries[order[starts[:-1]]]))
        return cls(results, key, tuple(rows), tuple(orders), clusters, row_clusters, queries)

    def groups_by(self, column: str, names: Sequence[str], pair: tuple[int, int]) -> Groups:
        """Return the group of each observation.

        Parameters
        ----------
        column : str
        names : sequence of str
        pair : tuple of int
            As in `kgeval.comparison.groups.groups_by`.
        """
        of_ranks = groups_by(self.results, names, column, self.rows, pair)
        return of_ranks._replace(codes=self.groups_of(of_ranks.codes))

    def groups_of(self, rank_groups: Ids) -> Ids:
        """Return the group of each observation, given the group of each rank.

        Parameters
        ----------
        rank_groups : int64 array, shape (ranks,)

        Returns
        -------
        int64 array, shape (observations,)

        Raises
        ------
        MetricError
            If the ranks of one query are in different groups.
        """
        groups = np.zeros(len(self), dtype=np.int64)
        groups[self.observations] = rank_groups
        n_split = len(np.unique(self.observations[groups[self.observations] != rank_groups]))
        if n_split:
            raise MetricError(
                f"the answers of {n_split:,} of {len(self):,} queries are in different groups, and query-level metrics "
                "compare whole queries; choose a metric of ranks, or a column with one value per query"
            )
        return groups

    def moments(self, i: int, weights: Reals | None = None) -> Moments:
        """Return the moments of the metric over the observations, in the order of the observations.

        Parameters
        ----------
        i : int
        weights : float64 array, shape (rows of the first result,), optional
            The weight of each rank of a metric of ranks.

        Raises
        ------
        MetricError
            If no rank was compared, or if the metric is undefined or not a function of means.
        """
        if not len(self):
            raise MetricError(NO_RANKS)
        of_rows = None if weights is None else weights[self.rows[0]]
        moments = self.results[i].rank_table.moments(self.key, self.rows[i], weights=of_rows)
        return moments if self.orders is None else moments.take(self.orders[i])

    def part(self, i: int, whole: Moments, rows: Ids) -> Moments:
        """Return the moments of the metric over some of the observations.

        Parameters
        ----------
        i : int
        whole : Moments
            The moments over all observations, from `PairedObservations.moments`.
        rows : int64 array
            Indices of the chosen observations. For metrics of ranks, the moments are computed again from these ranks,
            since a metric such as a z-score depends on the number of ranks.
        """
        if self.orders is None:
            return self.results[i].rank_table.moments(self.key, self.rows[i][rows])
        return whole.take(rows)

    def mean_difference(
        self, pair: tuple[int, int], terms: ComparisonSettings, weights: Reals | None = None
    ) -> tuple[Difference, tuple[float, float]]:
        """Return the difference of two results over all observations, and both values.

        Parameters
        ----------
        pair : tuple of int
        terms : ComparisonSettings
        weights : float64 array, optional
            As in `moments`.
        """
        one, other = (self.moments(i, weights) for i in pair)
        resampling = terms.n_resamples, terms.seed
        ((found,),) = compare_pairs([([one], [other])], self.clusters, *resampling, largest_level=terms.alpha)
        return found, (float(one.number), float(other.number))

    def macro_difference(self, pair: tuple[int, int], codes: Ids) -> tuple[Difference, tuple[float, float], int]:
        """Return the difference of the macro averages of two results, both values, and the number of groups.

        Parameters
        ----------
        pair : tuple of int
        codes : int64 array, shape (ranks,)
            The groups of the ranks.
        """
        order, starts = group_rows(self.groups_of(codes))
        groups, wholes = np.split(order, starts[1:-1]), [self.moments(i) for i in pair]
        firsts, seconds = ([self.part(i, whole, rows) for rows in groups] for i, whole in zip(pair, wholes))
        one, other = (float(np.mean([float(part.number) for part in parts])) for parts in (firsts, seconds))
        return compare_macro(firsts, seconds, self.clusters.take(order)), (one, other), len(groups)

    def pair(self, values: pd.Series, found: Difference | None = None, reason: str = "", **more: Any) -> Pair:
        """Return two models and their difference in the metric, for a table of differences.

        Parameters
        ----------
        values : pandas.Series
            The values of the two models, under their names.
        found : Difference, optional
            None if there is none, for the `reason`.
        reason : str
        **more
            Further columns of the row.
        """
        dataset, (first, second), (one, other) = str(self.results[0].facts["dataset"]), values.index, values.tolist()
        pair = (first, second), (one, other), found, self.key.higher_is_better, self.key.bounds
        return Pair(dataset, str(self.key), *pair, reason=reason, more={"n": len(self), **more})

    def interval(self, i: int, confidence: float) -> Interval:
        """Return the value of the metric with its interval."""
        if not len(self):
            return Interval(np.nan, np.nan, np.nan, confidence, "robust", 0, reason=NO_RANKS)
        table, clusters = self.results[i].rank_table, self.row_clusters
        clusters = clusters.of_other(self.results[i].table, self.rows[0], self.rows[i]) if i else clusters
        return table.interval(self.key, self.rows[i], confidence=confidence, clusters=clusters)

    def count_wins(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int, int]]:
        """Return three counts for each pair (i, j): observations in which i is better, both are equal, or j is better.

        Each observation (rank or query) is compared by its values of the metric. An observation is in none of the
        counts if bounded ranks decide which result is better in it.
        """
        merits = {i: self.merits(i) for i in dict.fromkeys(i for pair in pairs for i in pair)}
        counts = {}
        for i, j in pairs:
            (low_i, high_i), (low_j, high_j) = merits[i], merits[j]
            is_tie = (low_i == high_j) & (low_j == high_i)
            counts[i, j] = int((low_i > high_j).sum()), int(is_tie.sum()), int((high_i < low_j).sum())
        return counts

    def merits(self, i: int) -> tuple[Reals, Reals]:
        """Return bounds of the metric's value in each observation (rank or query); the sign makes higher values better.

        If lower values of the metric are better, the values are negated. For an adjusted metric or a z-score, the
        values are those of the plain metric, before adjustment. For a micro average over queries, a value is the
        numerator of the query. Returns two float64 arrays, shape (observations,), which are equal except where ranks
        are bounded or unknown; zeros if the metric is undefined.
        """
        metric = self.key.metric.metric if isinstance(self.key.metric, AgainstChance) else self.key.metric
        plain, table, zeros = replace(self.key, metric=metric), self.results[i].rank_table, np.zeros(len(self))
        if unknown_reason(table.unknown, plain):
            return zeros - np.inf, zeros + np.inf
        if table.lacking(plain) or (isinstance(metric, RankMetric) and plain.ties not in metric.tie_policies):
            return zeros, zeros  # undefined; the column `reason` of the table contains the reason
        values = [self._case_merits(case, i, plain) for case in table.cases(plain, self.rows[i])]
        return np.minimum(values[0], values[-1]), np.maximum(values[0], values[-1])

    def _case_merits(self, case: RankCounts | RankedLists, i: int, key: Key) -> Reals:
        """Return the value of a metric in each observation for one element of `RankTable.cases`; higher is better."""
        metric = key.metric
        if isinstance(metric, QueryLevel):  # for every query-level metric, higher is better
            try:
                values = metric.moments_of(case, key.ties).values[:, 0]  # type: ignore[arg-type]
            except MetricError:
                return np.zeros(len(self))
            return np.asarray(values if self.orders is None else values[self.orders[i]])
        counts: RankCounts = case  # type: ignore[assignment]
        values = metric.values(counts.better, counts.tied, counts.rivals, key.ties)
        return np.asarray(values * (1 if metric.higher_is_better else -1))

    def bounds(self, i: int) -> tuple[float, float]:
        """Return the smallest and the largest possible value of the metric, given that some ranks are bounded.

        Optimistic and pessimistic keys have the same bounds: the
        smallest and the largest value under these two tie policies.
        """
        if not len(self):
            return np.nan, np.nan
        keys = [replace(self.key, ties=ties) for ties in EXTREMES] if self.key.ties in EXTREMES else [self.key]
        ends = [end for key in keys for end in self.results[i].rank_table.bounds(key, self.rows[i])]
        return min(ends), max(ends)

    def has_bounded(self, i: int) -> bool:
        """Return whether a rank is bounded in the setting of the key."""
        return bool(self.results[i].rank_table.is_bounded(self.key.setting, self.rows[i]).any())


def _observation_kind(key: Key) -> tuple[str, bool]:
    """Return the side of a key, and whether the metric of the key is query-level.

    Two keys with equal return values use the same observations.
    """
    return key.side, isinstance(key.metric, QueryLevel)


def read_keys(metrics: Sequence[str | Metric] | str, say: str) -> dict[str, Key]:
    """Return a dict of the parsed metrics: text of the key -> key; equal keys occur once.

    Parameters
    ----------
    metrics : sequence of str or Metric, or one string with commas
    say : str
        What to name, in the error if there are none.

    Raises
    ------
    MetricError
        If a metric is unknown, or if there are none.
    """
    keys = {str(key): key for key in map(Key.parse, split_list(metrics))}
    if not keys:
        raise MetricError(f"metrics is empty; name {say}")
    return keys


def samples_of(
    results: Sequence[EvaluationResult], rows: Sequence[Ids], keys: Mapping[str, Key], row_clusters: RowClusters
) -> dict[str, PairedObservations]:
    """Return the observations of each key; those of keys with the same observations are found once.

    Parameters
    ----------
    results : sequence of EvaluationResult
    rows : sequence of int64 arrays, shape (shared,)
        As in `Alignment`.
    keys : mapping of str to Key
    row_clusters : RowClusters
        The clusters of the rows of the first result.

    Returns
    -------
    dict of str to PairedObservations
        Text of the key -> its observations, for every key in `keys`.
    """
    samples: dict[tuple[str, bool], PairedObservations] = {}
    for key in keys.values():
        if _observation_kind(key) not in samples:
            samples[_observation_kind(key)] = PairedObservations.of(results, rows, key, row_clusters)
    return {label: replace(samples[_observation_kind(key)], key=key) for label, key in keys.items()}


def value_table(samples: Mapping[str, PairedObservations], names: Sequence[str], confidence: float) -> pd.DataFrame:
    """Return the values of all metrics with their intervals, one row per model.

    Parameters
    ----------
    samples : mapping of str to PairedObservations
        From `samples_of`.
    names : sequence of str
        The names of the models, which become the index of the table.
    confidence : float

    Returns
    -------
    pandas.DataFrame
        See `kgeval.metrics.metric_frames.metric_frame`.
    """
    rows = [
        {label: Cell.of(sample.interval(i, confidence)) for label, sample in samples.items()} for i in range(len(names))
    ]
    return metric_frame(pd.Index(list(names), dtype=object, name="model"), rows, samples, with_intervals=True)


def difference_table(
    samples: Mapping[str, PairedObservations], values: pd.DataFrame, terms: ComparisonSettings
) -> pd.DataFrame:
    """Return one row for each pair of results and each metric: difference, interval, test and decision.

    Parameters
    ----------
    samples : mapping of str to PairedObservations
        From `samples_of`.
    values : pandas.DataFrame
        From `value_table`.
    terms : ComparisonSettings

    Returns
    -------
    pandas.DataFrame
        See `Comparison.differences`.
    """
    results = next(iter(samples.values())).results
    indices = pairs_of(list(values.index), terms.baseline, models_of(results))
    moments: dict[tuple[int, str], Moments] = {}
    reasons: dict[tuple[int, str], str] = {}
    for i, (label, sample) in itertools.product(range(len(results)), samples.items()):
        try:
            moments[i, label] = sample.moments(i)
        except MetricError as error:  # noqa: PERF203
            reasons[i, label] = str(error)
    of_kind = grouped((_observation_kind(sample.key), label) for label, sample in samples.items())
    tested: dict[tuple[tuple[int, int], str], Difference] = {}
    for labels in of_kind.values():
        known = {pair: [label for label in labels if all((i, label) in moments for i in pair)] for pair in indices}
        firsts, seconds = ([[moments[pair[k], label] for label in known[pair]] for pair in indices] for k in (0, 1))
        settings = samples[labels[0]].clusters, terms.n_resamples, terms.seed
        found = compare_pairs(list(zip(firsts, seconds)), *settings, largest_level=terms.alpha)
        for pair, differences in zip(indices, found):
            tested |= {(pair, label): difference for label, difference in zip(known[pair], differences)}
    pairs = []
    wins = {label: sample.count_wins(indices) for label, sample in samples.items()}
    for pair in indices:
        for label, sample in samples.items():
            test = tested.get((pair, label))
            more = dict(zip(COUNTS, wins[label][pair])) | ({} if test else {"n_clusters": sample.clusters.count})
            reason = _joined({values.index[k]: reasons.get((k, label), "") for k in pair})
            pairs.append(sample.pair(values[label].iloc[[*pair]], test, reason, **more))
    return decided_rows(pairs, terms.alpha, COUNTS)


def entity_notes(samples: Mapping[str, PairedObservations], names: Sequence[str], table: pd.DataFrame) -> Iterator[str]:
    """Yield a caution for each pair whose interval is much wider with clusters by entity, or decides no longer.

    Only one metric is checked. The pairs of the best model come first.

    Parameters
    ----------
    samples : mapping of str to PairedObservations
        From `samples_of`.
    names : sequence of str
    table : pandas.DataFrame
        From `difference_table`. The first metric that has an interval is used.
    """
    known = table[table["low_95"].notna()]
    for label in known["metric"].unique()[:1]:
        sample = samples[label]
        by_entity = sample.results[0].rank_table.row_clusters("entity")
        clusters = by_entity.among([sample.rows[0]], isinstance(sample.key.metric, QueryLevel))
        values, is_falling = ["value_first", "value_second"], not sample.key.higher_is_better
        rows = known[known["metric"] == label].sort_values(values, ascending=is_falling, kind="stable")
        for row in rows.to_dict("records"):
            first, second = (sample.moments(list(names).index(row[place])) for place in ("first", "second"))
            wide = paired_interval(first, second, clusters)
            yield from entity_note(row, wide.low, wide.high)


def entity_note(row: Mapping[Any, Any], low: float, high: float) -> Iterator[str]:
    """Yield the note of a pair whose 95% interval is much wider with clusters by entity, or decides no longer.

    Parameters
    ----------
    row : mapping
        From `kgeval.comparison.rows.decided_rows`.
    low, high : float
        The interval with clusters by entity.
    """
    ratio, is_sure = (high - low) / (row["high_95"] - row["low_95"]), low > 0.0 or high < 0.0
    if ratio > MAX_ENTITY_RATIO or (row["better"] and low <= 0.0 <= high):
        pair, heading = listed_names([row["first"], row["second"]]), display_of(row["metric"]).heading
        usual = between(row["low_95"], row["high_95"], has_signs=True)
        yield (
            f"{pair}: for other entities, the 95% interval of the difference in {heading} is "
            f"{between(low, high, has_signs=True)}, {ratio:.1f} times as wide as {usual} for other triples of these "
            "entities (ranks that share an entity depend on each other; neither is corrected), and "
            f"{'excludes' if is_sure else 'contains'} 0"
        )


def bounded_notes(samples: Mapping[str, PairedObservations], names: Sequence[str]) -> Iterator[str]:
    """Yield one note for each pair of results and each metric whose difference depends on bounded ranks.

    Parameters
    ----------
    samples : mapping of str to PairedObservations
        From `samples_of`.
    names : sequence of str

    Yields
    ------
    str
        The smallest and the largest difference, and the name of the better model if it is better in all cases.
    """
    for i, j in itertools.combinations(range(len(names)), 2):
        for label, sample in samples.items():
            if not (sample.has_bounded(i) or sample.has_bounded(j)):
                continue
            (low_i, high_i), (low_j, high_j) = sample.bounds(i), sample.bounds(j)
            low, high = low_i - high_j, high_i - low_j
            if not low < high:  # also if a bound is NaN
                continue
            first, second, key, heading = names[i], names[j], sample.key, display_of(label).heading
            cause, of_low, of_high = f"the difference in {heading} depends on bounded ranks", "", ""
            if key.ties in EXTREMES:
                best, worst = EXTREMES if key.higher_is_better else EXTREMES[::-1]
                plain = display_of(str(replace(key, ties=""))).heading
                cause = f"ranks are bounded, so the difference in {heading} is no bound of the difference in {plain}"
                of_low = f" ({worst} {first} - {best} {second})"
                of_high = f" ({best} {first} - {worst} {second})"
            ends = f"{signed(low)}{of_low} and {signed(high)}{of_high}"
            texts = [f"{listed_names([first, second])}: {cause}", f"it lies between {ends}"]
            if low > 0 or high < 0:
                better = first if (low > 0) == key.higher_is_better else second
                texts.append(f"{better} is better, whatever these ranks are")
            yield "; ".join(texts)


def _joined(reasons: Mapping[str, str]) -> str:
    """Return the reasons of both models as one text; with the names of the models if the reasons differ."""
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)


def group_table(
    sample: PairedObservations,
    pair: tuple[int, int],
    terms: Settings,
    groups: Groups,
    total: float = 0.0,
) -> pd.DataFrame:
    """Return the difference between two results within each group, and the contribution of each group.

    Parameters
    ----------
    sample : PairedObservations
    pair : tuple of int
        The indices of the two results.
    terms : Settings
    groups : Groups
        From `PairedObservations.groups_by`.
    total : float
        The difference over all observations if it is significant, else 0.

    Returns
    -------
    pandas.DataFrame
        See `Comparison.by`.

    Raises
    ------
    MetricError
        If the metric over all observations is undefined, or not a function of means.
    """
    whole = [sample.moments(i) for i in pair]
    low, high = sample.key.bounds
    bounds = low - high, high - low
    parts, is_exact = _contributions(*whole)

    def within(rows: Ids, alpha: float) -> dict[str, Any]:
        first, second = (sample.part(i, moments, rows) for i, moments in zip(pair, whole))
        clusters = sample.clusters.take(rows)
        usual, corrected = paired_intervals(first, second, clusters, (terms.confidence, 1.0 - alpha), bounds)
        low, high, is_decided = corrected.low, corrected.high, False
        if low > 0.0 or high < 0.0:
            # The t test of a few differing triples rejects too often; no test of them could reject at this level.
            n_differing = int(gap_sums(first, second, clusters.first).any(axis=1).sum())
            is_decided = 2.0 ** (1 - n_differing) <= alpha
            low, high = (low, high) if is_decided else (min(low, 0.0), max(high, 0.0))
        values = {"value_first": float(first.number), "value_second": float(second.number), "difference": usual.value}
        ends = {"low": usual.low, "high": usual.high, "low_corrected": low, "high_corrected": high}
        return {**values, **ends, "decided": is_decided, "n_effective": usual.n_effective, "reason": usual.reason}

    frame = grouped_frame(groups, parts, terms.alpha, within, total)
    frame.attrs["difference"] = float(whole[0].number - whole[1].number)
    frame.attrs["contribution"] = "exact" if is_exact else "linearised"
    return frame


def grouped_frame(
    groups: Groups, contributions: Reals, alpha: float, within: Callable[[Ids, float], dict[str, Any]], total: float
) -> pd.DataFrame:
    """Return a table of groups, with what `within` returns for the observations of each, and the corrected level.

    Parameters
    ----------
    groups : Groups
    contributions : float64 array, shape (observations,)
        Their mean is the difference over all observations.
    alpha : float
        The level of all groups together; of many, some have an interval beyond 0 by chance (Bonferroni's correction).
    within : function
        May raise a MetricError, which becomes the reason why values are NaN.
    total : float
        As in `group_table`.
    """
    codes, labels = groups.codes, groups.labels
    order, starts = group_rows(codes)
    rows_by_group, records = np.split(order, starts[1:-1]), {}
    for rows in rows_by_group:
        record: dict[str, Any] = {"n": len(rows), "share": len(rows) / len(codes), "decided": False, "reason": ""}
        record["contribution"] = float(contributions[rows].sum()) / len(codes)
        try:
            record |= within(rows, alpha / len(rows_by_group))
        except MetricError as error:  # undefined in the group, such as an adjusted metric with one candidate
            record["reason"] = str(error)
        record["reversed"] = record["decided"] and record["difference"] * total < 0.0
        records[labels[codes[rows[0]]]] = record
    frame = pd.DataFrame(list(records.values()), index=pd.Index(list(records), dtype=object), columns=[*GROUP_COLUMNS])
    frame.attrs["groups"], frame.index.name = len(frame), groups.column
    if groups.is_ordered:
        return frame
    return frame.sort_index().sort_values("contribution", key=np.abs, ascending=False, kind="stable")


def _contributions(first: Moments, second: Moments) -> tuple[Reals, bool]:
    """Return the contribution of each observation to ``first - second``, and whether the contributions are exact.

    The mean of the contributions is the difference of both metrics. The contribution of observation i is
    ``difference + gradient @ (d[i] - d.mean(axis=0))``, where

    - ``difference`` is the value of the first metric minus the value of the second,
    - ``gradient`` is the gradient of `finish` half-way between the means of both metrics (a metric is
      ``finish(means)``; the gradient gives a linear approximation of `finish`),
    - ``d`` is ``first.values - second.values``.

    If ``d[i]`` is 0, the contribution is only the error of the approximation (of third order). The contributions are
    exact if `finish` is linear between the means, for example for a plain mean.

    Parameters
    ----------
    first, second : Moments
        Metrics over the same observations, with the same `finish`.

    Returns
    -------
    contributions : float64 array, shape (observations,)
    is_exact : bool
    """
    total = float(first.number - second.number)
    value_gaps = first.values - second.values  # (observations, k)
    start, step = second.values.mean(axis=0), value_gaps.mean(axis=0)  # (k,): the means go from start to start + step
    # bends (5,): `finish` at five points between the means of second and first, minus a straight line. The values are
    # equal if `finish` is linear between the means.
    bends = [float(first.finish(start + share * step)) - share * total for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    scale = max(abs(float(first.number)), abs(float(second.number)))
    # Moments whose means are half-way and whose deviations from these means are value_gaps - step. `influences`
    # multiplies the deviations by the gradient.
    parts = influences(Moments(start + step / 2 + (value_gaps - step), first.finish)) + total
    return parts, bool(np.ptp(bends) <= 1e-9 * scale)
