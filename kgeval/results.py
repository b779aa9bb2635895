"""EvaluationResult: the stored counts, what they were made from, and every number on demand."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_one_of, check_seed
from kgeval.corruption import SETTINGS
from kgeval.errors import DataError, MetricError
from kgeval.keys import SIDE_WORDS, Key
from kgeval.measuring import INTERVALS, Group
from kgeval.metrics import TIE_POLICIES, Metric, MetricValue, QueryLevel, RankMetric, parse_all
from kgeval.metrics.base import split_list
from kgeval.metrics.list_metric import ListMetric
from kgeval.metrics.lists import Lists
from kgeval.metrics.retrieval import tabulate
from kgeval.queries import given_and_asked_where
from kgeval.query_lists import no_lists, query_lists
from kgeval.record import Record
from kgeval.result_files import read_result_file
from kgeval.stats import Interval, Moments, check_level, robust_interval

DEFAULT_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class EvaluationResult(Record):
    """Ranks as counts, with everything needed to know what they mean; every number on demand.

    It holds what `kgeval.record.Record` says: ``table``, ``protocol``, ``about``, ``notes``, ...

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset)
    >>> result["mr"], result["object.mrr"], result["raw.subject.hits@3"]
    (3.0, 0.5, 0.0)
    >>> float(result.by("relation", metrics="mr").loc["0", "MR"])
    3.0
    """

    def __getitem__(self, key: str | Metric) -> float:
        return self.value(key).value

    def value(self, key: str | Metric) -> MetricValue:
        """Return the number of `key`, or NaN with the reason.

        Parameters
        ----------
        key : str or Metric
            ``[setting.][side.][ties.]metric``; by default filtered, both sides, and realistic ties
            (expected ties for ``query.`` metrics).

        Raises
        ------
        MetricError
            If the key cannot be read, or names a side that was not asked.
        """
        parsed = Key.parse(key)
        return self.ranks.value(parsed, self.ranks.rows_of(parsed.side))

    def chance(self, key: str | Metric) -> MetricValue:
        """Return what a scorer that knows nothing is expected to reach under `key`."""
        parsed = Key.parse(key)
        return self.ranks.value(parsed, self.ranks.rows_of(parsed.side), at_chance=True)

    def interval(
        self,
        key: str | Metric,
        *,
        level: float = LEVEL,
        method: str = "robust",
        cluster: str = "triple",
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> Interval:
        """Return the number of `key` with an interval for the queries being a sample.

        Parameters
        ----------
        key : str or Metric
        level : float
            Nominal coverage, between 0 and 1.
        method : str
            ``"robust"``: the cluster-robust standard error, with Student's t (Wilson's interval for shares);
            ``"percentile"``, ``"bca"``: the bootstrap of whole clusters.
        cluster : str
            What is not independent: ``"triple"``, both sides of a triple; ``"query"``, all triples of a query.
            Query-level metrics count each query once and by itself.
        n_resamples, seed : int
            Of the bootstrap.

        Raises
        ------
        MetricError
            If the key or a choice is unknown.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> print(evaluate(lambda s, p, o: o, dataset).interval("object.mr"))
        2.5000 [1.0000, 8.8531]
        """
        check_level(level)
        check_one_of("method", method, INTERVALS, MetricError)
        check_seed(seed, MetricError)
        parsed = Key.parse(key)
        rows = self.ranks.rows_of(parsed.side)
        clusters = self.ranks.clusters(cluster, rows)
        return self.ranks.interval(parsed, rows, level, clusters, method, n_resamples=n_resamples, seed=seed)

    def weighted(self, key: str | Metric, weights: Any, *, level: float = LEVEL) -> Interval:
        """Return the number of `key` with ranks that count differently, such as less for popular entities.

        Parameters
        ----------
        key : str or Metric
            Of ranks; ``query.`` metrics, the median, ``z(...)`` and expected GMR have no weighted form.
        weights : float array, shape (rows,)
            For each row of `table`, not negative, not all 0; for example of `kgeval.features.popularity_weights`.
        level : float

        Raises
        ------
        MetricError
            If there are not as many weights as rows, one is negative or not finite, or the metric has no such form.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
        >>> result = evaluate(lambda s, p, o: -abs(o - 1.1), dataset)
        >>> result["object.mr"], result.weighted("object.mr", [0, 0, 1, 3]).value
        (1.0, 1.0)
        """
        check_level(level)
        parsed = Key.parse(key)
        if not isinstance(parsed.metric, RankMetric):
            raise MetricError(f"{parsed.metric} is of queries; weights are for ranks")
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (len(self.table),) or not np.isfinite(given).all() or (given < 0).any():
            raise MetricError(
                f"weights must be finite and at least 0, one for each of the {len(self.table)} rows of the table; "
                f"got shape {given.shape}, from {given.min(initial=np.inf):g} to {given.max(initial=-np.inf):g}"
            )
        rows = self.ranks.rows_of(parsed.side)
        if not given[rows].any():
            raise MetricError(f"the weights of all {len(rows)} ranks of {key!r} are 0")
        if parsed.metric.has_moments and not parsed.metric.is_weightable(parsed.ties):
            raise MetricError(
                f"{parsed.metric} under {parsed.ties} ties depends on how many ranks there are, not on means"
            )
        moments = self.ranks.moments(parsed, rows).weighted(given[rows])
        return robust_interval(moments, self.ranks.clusters("triple", rows), level, parsed.metric.bounds)

    def moments(self, key: str | Metric, rows: Ids | None = None) -> Moments:
        """Return the number of `key` as a function of means, for statistics of one's own.

        Parameters
        ----------
        key : str or Metric
        rows : int64 array, optional
            Places in the table; by default all rows of the key's side.

        Returns
        -------
        Moments
            One observation per row, or per query, sorted by side, relation and given entity, for query-level metrics.
        """
        parsed = Key.parse(key)
        return self.ranks.moments(parsed, self.ranks.rows_of(parsed.side) if rows is None else rows)

    def clusters(self, by: str = "triple", rows: Ids | None = None) -> Ids:
        """Return which rows depend on each other, as numbers 0, 1, ...; see `interval`."""
        return self.ranks.clusters(by, np.arange(len(self.table)) if rows is None else rows)

    def lists(self, side: str = "both", setting: str = "filtered") -> Lists:
        """Return one ranked list per query, for the metrics and curves of `kgeval.metrics.retrieval`.

        All candidates of the query stand in its list, its ranked answers relevant; in the filtered setting
        its other known answers are no candidates.

        Returns
        -------
        Lists
            ``names`` are (side, relation label, label of the given entity).

        Raises
        ------
        MetricError
            If the filter of the protocol does not know the ranked splits.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        check_one_of("side", side, SIDE_WORDS, MetricError)
        lacking = no_lists(self.protocol, setting)
        if lacking:
            raise MetricError(lacking)
        lists, rows = query_lists(self.table.iloc[self.ranks.rows_of(SIDE_WORDS[side])], self.protocol, setting)
        is_subject = (rows["side"] == "subject").to_numpy()
        given, _ = given_and_asked_where(rows[["s", "p", "o"]].to_numpy(), is_subject)
        columns = [
            rows["side"].astype(str).to_numpy(dtype=object),
            np.array(self.relations.labels, dtype=object)[rows["p"].to_numpy()],
            np.array(self.entities.labels, dtype=object)[given],
        ]
        return replace(lists, names=pd.MultiIndex.from_arrays(columns, names=["side", "relation", "given"]))

    def per_query(
        self,
        metrics: Sequence[str | ListMetric] | str,
        side: str = "both",
        setting: str = "filtered",
        ties: str = "expected",
    ) -> pd.DataFrame:
        """Return query-level metrics of each query.

        Parameters
        ----------
        metrics : sequence of str or ListMetric, or one string with commas
            As in ``query.`` keys, with or without the prefix: ``"map,ndcg@10"``.
        side, setting, ties : str

        Returns
        -------
        pandas.DataFrame
            Indexed by side, relation and given entity (labels); columns ``n`` (answers) and the metrics.
        """
        lists = self.lists(side, setting)
        asked = split_list(metrics) if isinstance(metrics, str) else metrics
        plain = [metric.removeprefix("query.") if isinstance(metric, str) else metric for metric in asked]
        frame = tabulate(lists, plain, ties, average=None)
        frame.insert(0, "n", lists.n_relevant)
        return frame

    def summary(
        self,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        ties: str | None = None,
        level: float | None = None,
    ) -> pd.DataFrame:
        """Return a table of metrics: rows are settings by sides, columns n and metrics.

        Undefined values are NaN; ``frame.attrs["reasons"]`` says why. Without `ties`, each metric has its
        default: realistic ties, or expected ones for ``query.`` metrics. With `level`, such as 0.95, each metric has
        its interval in the columns ``"<metric> low"`` and ``"<metric> high"``.
        """
        _check_choices(ties, level)
        groups: dict[Group, tuple[str, Ids]] = {
            (setting, side): (setting, self.ranks.rows_of(side))
            for setting in reversed(SETTINGS)
            for side in self.sides
        }
        return self.ranks.frame(groups, ["setting", "side"], parse_all(metrics), ties, level)

    def by(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        ties: str | None = None,
        level: float | None = LEVEL,
    ) -> pd.DataFrame:
        """Return metrics per group of ranks.

        Parameters
        ----------
        *columns : str
            One or more of ``"relation"``, ``"side"``, ``"split"``; a feature of the dataset (``"cardinality"``,
            ``"pattern"``, ... see `kgeval.features.FEATURES`); or a column of `with_columns`.
        metrics : sequence of str or Metric
        setting : str
        ties : str, optional
            As in `summary`.
        level : float, optional
            Of the intervals, clustered by triple; None leaves them out.

        Returns
        -------
        pandas.DataFrame
            Indexed by the groups (relations by label), most ranks first, buckets in their order. Columns ``n``,
            ``share`` of all ranks, and for each metric its value and ``"<metric> low"``, ``"<metric> high"``.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        _check_choices(ties, level)
        parsed = parse_all(metrics)
        groups = {label: (setting, rows) for label, rows in self.groups(columns)}
        frame = self.ranks.frame(groups, self.group_names(columns), parsed, ties, level)
        frame.insert(1, "share", frame["n"] / max(1, len(self.table)))
        return frame

    def averages(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        level: float = LEVEL,
    ) -> pd.DataFrame:
        """Return each metric over all ranks alike (``micro``), and as the mean over groups of each group's (``macro``).

        Parameters
        ----------
        *columns : str
            As in `by`; for example ``"relation"``.
        metrics : sequence of str or Metric
        setting : str
        level : float

        Returns
        -------
        pandas.DataFrame
            Rows ``micro`` and ``macro``; columns ``n`` (ranks; groups), and for each metric its value and interval.
            The interval of ``macro`` takes the groups as given: other relations are not what it is about.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        _check_choices(None, level)
        parsed = parse_all(metrics)
        every = np.arange(len(self.table))
        frame = self.ranks.frame({("micro",): (setting, every)}, ["average"], parsed, None, level)
        groups = [rows for _, rows in self.groups(columns)]
        record: dict[str, float] = {"n": len(groups)}
        for metric in parsed:
            try:
                found = self.ranks.macro(Key(metric, setting=setting), groups, level)
            except MetricError as error:
                found = Interval(np.nan, np.nan, np.nan, level, "robust", 0, reason=str(error))
            heading = metric.heading
            record |= {heading: found.value, f"{heading} low": found.low, f"{heading} high": found.high}
            if found.reason:
                frame.attrs["reasons"]["macro", heading] = found.reason
        reasons = frame.attrs["reasons"]
        frame = pd.concat([frame, pd.DataFrame([record], index=pd.Index(["macro"], name="average"))])
        frame.attrs["reasons"] = reasons
        return frame

    def cautions(self, metrics: Sequence[str | Metric] | str) -> list[str]:
        """Return what must be known about the values of `metrics` on these ranks, if anything."""
        rivals = self.table["rivals_filtered"].to_numpy()
        parsed = parse_all(metrics)
        said = [metric.caution(rivals) for metric in parsed if isinstance(metric, RankMetric)]
        if any(isinstance(metric, QueryLevel) for metric in parsed):
            n_queries = len(query_lists(self.table, self.protocol, "raw")[0])
            said.append(
                f"query. metrics count each of the {n_queries:,} queries once, all its ranked answers "
                "relevant together; expected ties unless others are asked"
            )
        return list(dict.fromkeys(caution for caution in said if caution))

    def head(self, ties: str = "realistic") -> list[str]:
        """Return the lines that say what the numbers are of."""
        about, dropped = self.about, sum(self.dropped.values())
        lines = [
            f"{about['dataset']}: {len(self.entities):,} entities, {len(self.relations):,} relations; "
            f"{'+'.join(self.protocol.splits)} {about['n_triples']:,} triples, {about['n_queries']:,} queries; "
            f"{about['n_unseen']:,} unseen, {dropped:,} dropped",
            f"{self.protocol.describe()}, {ties} ties (tie rate {self.tie_rate:.1%}); "
            f"protocol {self.protocol.fingerprint}, dataset {about['dataset_fingerprint'][:8]}, "
            f"kgeval {about['version']}",
        ]
        lines += [f"dropped: {n:,} ranks, {reason}" for reason, n in self.dropped.items()]
        lines += [f"dataset: {said}" for said in about["observations"]]
        return lines + [f"note: {note}" for note in self.notes]

    def _lines(self) -> list[str]:
        return [*self.head(), *(f"note: {caution}" for caution in self.cautions(DEFAULT_METRICS))]

    def __repr__(self) -> str:
        table = self.summary().to_string(float_format=lambda value: f"{value:.4f}")
        return "\n".join([*self._lines(), "", table])

    def _repr_html_(self) -> str:
        lines = "<br>".join(html.escape(line) for line in self._lines())
        return (
            f"<div><p>{lines}</p>{self.summary().to_html(float_format=lambda value: f'{value:.4f}', escape=True)}</div>"
        )


def _check_choices(ties: str | None, level: float | None) -> None:
    if ties is not None:
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
    if level is not None:
        check_level(level)


def load_result(path: str | Path) -> EvaluationResult:
    """Read a result that `EvaluationResult.save` wrote.

    Raises
    ------
    DataError
        If the file is missing, damaged, or not a result of kgeval.
    """
    fields = read_result_file(path)
    joined, rivals = fields.pop("columns"), fields.pop("rivals")
    try:
        return EvaluationResult(**fields, joined=joined, stored_rivals=rivals)
    except DataError as error:
        raise DataError(f"{path}: is damaged: {error}") from error
