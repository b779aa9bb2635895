"""`EvaluationResult`: the ranks of one scorer, with facts about protocol and dataset; computes metrics on demand.

`kgeval.evaluate`, `kgeval.evaluate_scores` and `kgeval.load_result` return an `EvaluationResult`; `kgeval.compare` and
`kgeval.report` read it. Other packages of kgeval call the functions below the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.audit.data_audit import brief_audit
from kgeval.base.checks import (
    Ids,
    check_one_of,
    counted,
    listed,
    names_unknown_arguments,
    with_old_names,
)
from kgeval.base.wording import between, percent, quoted, written
from kgeval.data.column_names import given_values, meant_column
from kgeval.data.dataset import Dataset
from kgeval.data.frames import with_labels
from kgeval.data.further_values import column_values
from kgeval.data.keys import distinct_texts
from kgeval.data.known import SETTINGS
from kgeval.data.protocol import Protocol
from kgeval.data.qualifiers import QUALIFIERS
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import ALL_SIDES, RELATION, check_side, entity_sides
from kgeval.data.vocabulary import Vocabulary, triple_ids
from kgeval.display.table import Column, Table
from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.features.columns import FEATURES, OVER_SPLITS, features_at_hand, features_of
from kgeval.metrics import MetricValue, RankMetric
from kgeval.metrics.base import TIE_POLICIES, TIE_WORDS, Metric, split_list, tie_words
from kgeval.metrics.default_metrics import BRIEF_METRICS, DEFAULT_METRICS
from kgeval.metrics.grammar import display_of, parse_all
from kgeval.metrics.metric_frames import N_EFFECTIVE, REASON, Cell, Group, metric_frame
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.retrieval.base import ListMetric
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.retrieval.stepwise import Steps
from kgeval.metrics.retrieval.tabulation import tabulate
from kgeval.results.bounded import (
    BOUNDED_COLUMNS,
    EXTREMES,
    UNKNOWN,
    check_bounded,
    shown_bounds,
    unknown_counts,
    where_equal,
)
from kgeval.results.clustering import PURPOSES
from kgeval.results.columns import (
    TAKEN_OVER,
    by_position,
    checked_weights,
    dataset_columns,
    dataset_of,
    group_names,
    same_columns,
    says_splits,
)
from kgeval.results.display import Result, best_and_worst, tie_ends
from kgeval.results.explanations import (
    Source,
    explain_kept,
    explain_row,
    extreme_rows,
    nearest_rivals,
    no_rivals,
    steps_of_row,
)
from kgeval.results.files import READERS, pack_ranks, unpack_ranks, write_result
from kgeval.results.keys import SIDE_WORDS, Key
from kgeval.results.lists import no_lists, query_columns, query_lists, triples_of
from kgeval.results.rank_table import CONFIDENCE, KEY_HINTS, NO_BOOTSTRAP, RankTable
from kgeval.results.run_names import MODEL, run_facts, shown_run
from kgeval.results.times import is_time, split_period, time_bins
from kgeval.stats.intervals import check_confidence, robust_interval
from kgeval.stats.moments import FEW_CLUSTERS, Interval

# A caution is given if clusters by entity make an interval more than this many times as wide.
MAX_ENTITY_RATIO = 2.0
BREAKDOWNS = ("relation", "side", "split")
RANK_COLUMNS = tuple(f"rank_{setting}" for setting in SETTINGS)  # of `EvaluationResult.table`: realistic ranks
# Names that users' columns must not have.
RESERVED = (*RANK_COLUMNS, "n", "share", N_EFFECTIVE, REASON, *BOUNDED_COLUMNS)


@with_old_names(
    {
        "metrics": "result.summary()",
        "mrr": 'result["mrr"]',
        "plot": "kgeval.report.plots.hits_curve(result)",
        "worst": 'result.ranks(labels=True).nlargest(10, "rank_filtered")',
    },
    about="facts",
    labelled="ranks(labels=True)",
)
class EvaluationResult(Result):
    """The ranks of one scorer on one dataset, with its protocol and notes; computes metrics on demand.

    A query is a given entity, a relation and a side; on the relation side, two entities. The positive is the triple
    being ranked; its rivals are the other candidates of the query. `kgeval.evaluate`, `kgeval.evaluate_scores` and
    `kgeval.load_result` return this class. A result does not change: methods that add something return a new result.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per (triple, side): ``s, p, o`` (ids), ``side``, ``split``, ``score`` of the positive, and counts of
        rivals: with a higher score (``better``), with the same score (``tied``), and all rivals (``rivals``). There
        are two columns for each count, for example ``better_raw`` and ``better_filtered``.

        Two more bool columns are optional: ``bounded_raw`` and ``bounded_filtered``. They are True if only bounds
        of the rank are known, for example because a list of predictions ends before the positive. In such a row,
        ``better`` counts the rivals that certainly rank above the positive, and ``tied`` the rivals that may rank above
        or below it: the rank lies between ``better + 1`` (optimistic) and ``better + tied + 1`` (pessimistic).
    entities, relations : Vocabulary
    protocol : Protocol
    facts : dict
        Facts that JSON can store: name, fingerprint and observations of the dataset, name of the scorer, version of
        kgeval, and counts. The count ``n_read`` is the number of (triple, side) rows that were read: the ranked rows
        plus the dropped rows.

        The optional entry ``unknown`` is a dict. Its keys say which facts about the ranks are not known, its values say
        why; numbers that need such a fact are NaN with this reason. Its possible keys: ``"raw"``, ``"filtered"``: all
        ranks of this setting are unknown, and its columns ``better``, ``tied`` and ``rivals`` hold -1 (`UNKNOWN_COUNT`)
        in all rows; ``"rivals"``: the number of rivals is unknown, and the columns ``rivals_raw`` and
        ``rivals_filtered`` hold -1 in all rows; ``"ties"``: it is unknown which rivals tie, and ``better + 1 + tied /
        2`` is the realistic rank; ``"queries"``: the positives of a query were ranked by different lists, so no query
        has a single list.

        The entries ``model`` (str) and ``seed`` (int), if there are any, are the name of the model and the seed with
        which it was trained; see `kgeval.benchmarks.named`.
    dropped : dict of str to int
        For each reason, the number of (triple, side) rows that were read but not ranked.
    notes : sequence of str
        Cautions about the numbers.
    columns : pandas.DataFrame, optional
        Additional columns to break down by, one row per row of `table`; see `with_columns`.
    rivals : pandas.DataFrame, optional
        The best rivals for the rows with the worst and the best ranks, if a saved file contains them; see
        `kgeval.results.kept_rivals`.
    audit : dict, optional
        The gravest findings about the dataset, if a saved file contains them; see `audit_of`.
    source : Source, optional
        The dataset and the scorer, if they are in memory; a saved file does not contain them.

    Attributes
    ----------
    rank_table : RankTable
        The table with its protocol; its methods return ranks, counts, clusters and moments (the terms of a metric) of
        chosen rows, for further statistics.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset)
    >>> result["mr"], result["object.mrr"], result["raw.subject.hits@3"]
    (3.0, 0.5, 0.0)
    >>> float(result.by("relation", metrics="mr").loc["0", "mr"])
    3.0
    """

    def __init__(
        self,
        table: pd.DataFrame,
        entities: Vocabulary,
        relations: Vocabulary,
        protocol: Protocol,
        facts: dict[str, Any],
        dropped: dict[str, int] | None = None,
        notes: Sequence[str] = (),
        columns: pd.DataFrame | None = None,
        rivals: pd.DataFrame | None = None,
        audit: dict[str, Any] | None = None,
        source: Source | None = None,
    ) -> None:
        counts = by_position(table)
        if not {*RANK_COLUMNS}.isdisjoint(counts.columns):  # the counts say the ranks again
            counts = counts.drop(columns=[*RANK_COLUMNS], errors="ignore")
        self.rank_table = RankTable(counts, protocol, facts.get("unknown", {}))
        self.entities, self.relations = entities, relations
        self.dropped: dict[str, int] = dict(dropped or {})
        self.facts = {"n_read": len(table) + sum(self.dropped.values()), **facts}
        self.notes = tuple(notes)
        self.columns = pd.DataFrame(index=pd.RangeIndex(len(table))) if columns is None else by_position(columns)
        self._rivals, self._audit, self._source = rivals, audit, source
        self._check_counts()

    _first = BRIEF_METRICS

    @property
    def _about(self) -> str:  # type: ignore[override]
        found, display = self.interval(BRIEF_METRICS[0]), display_of(BRIEF_METRICS[0])
        if np.isnan(found.value):
            return ""
        ends = between(found.low, found.high, display.decimals)
        return f": {display.heading} {written(found.value, display.decimals)} {ends}".rstrip()

    def _check_counts(self) -> None:
        """Raise a DataError if the numbers of rows, or the counts of rivals, contradict each other."""
        n_read, n = self.facts["n_read"], len(self.rank_table)
        counts = [*self.dropped.values(), n_read]
        if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
            raise DataError(f"counts of rows must be integers of at least 0; got {counts}")
        if n + sum(self.dropped.values()) != n_read:
            raise DataError(
                f"{n_read} rows were read, but {n} were ranked and {sum(self.dropped.values())} dropped; "
                "ranked and dropped rows must add up to the rows read"
            )
        if len(self.columns) != n:
            raise DataError(f"columns has {len(self.columns)} rows; the table has {n}")
        if self._rivals is not None and (self._rivals["row"] >= n).any():
            raise DataError(f"rivals: row {self._rivals['row'].max()} does not exist; the table has {n} rows")
        check_bounded(self.rank_table.frame, self.rank_table.unknown)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle or a deep copy contains: everything but the scorer, which `explain` then lacks."""
        return {name: value for name, value in vars(self).items() if name != "table"} | {"_source": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what a pickle contains; a DataError if its table has columns of an older kgeval."""
        vars(self).update(state)
        check_bounded(self.rank_table.frame, self.rank_table.unknown)

    def __copy__(self) -> EvaluationResult:
        return self.__replace__()

    def _parts(self) -> dict[str, Any]:
        names = ("protocol", "entities", "relations", "facts", "dropped", "notes", "columns")
        parts = {name: getattr(self, name) for name in names}
        kept = {"rivals": self._rivals, "audit": self._audit, "source": self._source}
        return {"table": self.rank_table.frame, **parts, **kept}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EvaluationResult):
            return NotImplemented
        names = ("facts", "dropped", "notes", "entities", "relations")
        same = all(getattr(self, name) == getattr(other, name) for name in names) and have_same_ranks(self, other)
        # Columns with features are not compared: the dataset determines them, and its fingerprint is compared.
        columns, other_columns = (result.columns.drop(columns=[*FEATURES], errors="ignore") for result in (self, other))
        return same and same_columns(columns, other_columns)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def table(self) -> pd.DataFrame:  # type: ignore[override]
        """The ranks, one row per (triple, side): the table of the class's parameters and two more columns.

        ``rank_raw`` and ``rank_filtered`` hold the realistic ranks; NaN if a rank is unknown or bounded. `ranks`
        returns the same table with labels.
        """
        frame = self.rank_table.frame.copy(deep=False)
        for setting, name in zip(SETTINGS, RANK_COLUMNS):
            frame[name] = self.rank_table.ranks(setting)
        return frame

    @property
    def protocol(self) -> Protocol:
        """The evaluation protocol: ranked splits and sides, candidates, and filter."""
        return self.rank_table.protocol

    @property
    def tie_rate(self) -> float:
        """Share of rows whose positive has the same score as at least one rival; see `RankTable.tie_rate`."""
        return self.rank_table.tie_rate

    def __getitem__(self, key: str | Metric) -> float:
        return self.rank_table.value(key).value

    @names_unknown_arguments(**KEY_HINTS)
    def value(self, key: str | Metric) -> MetricValue:
        """Return the value of the metric `key`; NaN with a reason if it is undefined.

        Some ranks may be bounded (see the table of `EvaluationResult`). With optimistic ties, they have their best
        possible value; with pessimistic ties, their worst. With other ties, the metric has a value only if it does not
        depend on the bounded ranks; `bounds` returns its smallest and its greatest possible value.

        Parameters
        ----------
        key : str or Metric
            ``[setting.][side.][ties.]metric``. Defaults: filtered setting, both sides, realistic ties (expected ties
            for ``query.`` metrics).

        Raises
        ------
        MetricError
            If the key is not valid, or its side was not ranked.
        """
        return self.rank_table.value(key)

    @names_unknown_arguments(**KEY_HINTS)
    def bounds(self, key: str | Metric) -> tuple[float, float]:
        """Return the smallest and the greatest value of the metric `key` that the bounded ranks allow.

        Parameters
        ----------
        key : str or Metric
            As in `value`. The tie policy applies only to decided ranks: in ``bounds("mrr")``, decided ranks have
            realistic ties.

        Returns
        -------
        low, high : float
            The values with all bounded ranks at their worst, or all at their best; no narrower bounds exist. If the
            metric does not depend on bounded ranks, both equal the value of the metric. If the metric has no bounds,
            both are NaN, and the reason of `value` says why.

        Raises
        ------
        MetricError
            If the key is not valid, or its side was not ranked.

        Examples
        --------
        The first of two answers has rank 1. The second is not among the first two; 2 other candidates remain.

        >>> import kgeval as kg
        >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
        >>> counts = {f"{name}_{setting}": n for setting in ("raw", "filtered")
        ...           for name, n in [("better", [0, 2]), ("tied", [0, 1]), ("bounded", [False, True])]}
        >>> bounded = result.__replace__(table=result.table.assign(**counts))
        >>> bounded["mr"], bounded.bounds("mr"), bounded.bounds("hits@2")
        (nan, (2.0, 2.5), (0.5, 0.5))
        >>> bounded.value("mr").reason
        'the value lies between 2.00 and 2.50, since 1 of 2 ranks is bounded'
        """
        return self.rank_table.bounds(key)

    @names_unknown_arguments(**KEY_HINTS)
    def chance(self, key: str | Metric) -> MetricValue:
        """Return the expected value of the metric `key` for a random ranking.

        Parameters
        ----------
        key : str or Metric
            As in `value`.
        """
        return self.rank_table.value(key, at_chance=True)

    @names_unknown_arguments(**NO_BOOTSTRAP)
    def interval(self, key: str | Metric, *, confidence: float = CONFIDENCE, cluster: Any = "triple") -> Interval:
        """Return the value of the metric `key` with a confidence interval.

        The interval shows how much the value would vary with other triples of this graph, other queries or other
        entities; `cluster` chooses one of these. The standard error is cluster-robust; the limits come from Student's
        t, for metrics between 0 and 1 they are Wilson's.

        Parameters
        ----------
        key : str or Metric
            As in `value`.
        confidence : float
            Nominal coverage, between 0 and 1.
        cluster : str or array_like, shape (rows,)
            Which ranks may depend on each other. ``"triple"``: both ranks of a triple; the interval shows the variation
            with other triples of this graph. ``"query"``: the ranks of all answers of a query; variation with other
            queries. ``"entity"``: all ranks with the same subject, and all with the same object (two-way clusters);
            variation with other entities, such as those of a similar graph. An array with one label per row of `table`:
            ranks with the same label. For query-level metrics, two queries depend on each other if a rank of the
            first query depends on a rank of the second; with ``"query"`` all queries are independent.

        Raises
        ------
        MetricError
            If the key or the cluster is unknown, or `confidence` is not valid.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> print(evaluate(lambda s, p, o: o, dataset).interval("object.mr"))
        2.5000 [1.0000, 8.8531] (2 effective clusters)
        """
        check_confidence(confidence)
        return self.rank_table.interval(key, confidence=confidence, clusters=self.rank_table.row_clusters(cluster))

    @names_unknown_arguments(**KEY_HINTS)
    def weighted(
        self, key: str | Metric, weights: Any, *, confidence: float = CONFIDENCE, cluster: Any = "triple"
    ) -> Interval:
        """Return the weighted value of the metric `key` with an interval.

        Each rank has a weight. For example, ranks of popular entities can have smaller weights.

        Parameters
        ----------
        key : str or Metric
            A metric of ranks. Some metrics have no weighted form: ``query.`` metrics, the median, ``z(...)``,
            ``expected.gmr`` and ``adjusted(gmr)``.
        weights : float array, shape (rows,)
            One weight per row of `table`, in the same order; at least 0, and above 0 in at least one row of the
            metric's side. For example from `kgeval.features.popularity_weights`.
        confidence : float
            Nominal coverage, between 0 and 1.
        cluster : str or array_like, shape (rows,)
            As in `interval`.

        Raises
        ------
        MetricError
            If the number of weights is wrong, if a weight is negative or not finite, if all weights of the side are 0,
            if the largest weight is above 1e100 or below 1e-100 (sums would overflow or lose digits),
            if the weights are a Series with another index than `table`, if the metric has no weighted form, or if the
            metric is undefined. If the metric depends on bounded ranks, the message contains its bounds.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
        >>> result = evaluate(lambda s, p, o: -abs(o - 1.1), dataset)
        >>> result["object.mr"], result.weighted("object.mr", [0, 0, 1, 3]).value
        (1.0, 1.0)
        """
        check_confidence(confidence)
        parsed = Key.parse(key)
        rows = self.rank_table.rows_of(parsed.side)
        moments = self.rank_table.moments(parsed, rows, weights=checked_weights(weights, self.table)[rows])
        clusters = self.rank_table.row_clusters(cluster)
        sampled_share = self.rank_table.sampled_share_of(parsed, clusters)
        return robust_interval(moments, clusters.among([rows]), confidence, parsed.bounds, sampled_share)

    @names_unknown_arguments(metric="metrics=", side="metrics='object.mrr'", sides="metrics='object.mrr'")
    def summary(
        self,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        ties: str | None = None,
        confidence: float | None = None,
        cluster: Any = "triple",
    ) -> pd.DataFrame:
        """Return a table of metrics, one row per setting and side.

        Parameters
        ----------
        metrics : sequence of str or Metric, or one string with commas
        ties : str, optional
            Tie policy; by default realistic ties, and expected ties for ``query.`` metrics.
        confidence : float, optional
            Nominal coverage of the intervals, such as 0.95; None: no intervals.
        cluster : str or array_like, shape (rows,)
            As in `interval`.

        Returns
        -------
        pandas.DataFrame
            One row per setting and side. Columns: ``n`` (number of ranks); each metric under its key (``"mrr"``); if
            `confidence` is given, the limits of its interval (``"mrr low"``, ``"mrr high"``) and ``n_effective``, the
            effective number of clusters (the smallest number among the metrics); and ``reason``: why a value is NaN or
            has no interval.
        """
        _check_choices(ties, confidence)
        groups: dict[Group, tuple[str, Ids]] = {
            (setting, side): (setting, self.rank_table.rows_of(side))
            for setting in reversed(SETTINGS)
            for side in self.rank_table.sides
        }
        names = ["setting", "side"]
        return self.rank_table.metric_frame(groups, names, parse_all(metrics), ties, confidence, cluster)

    @names_unknown_arguments(
        metric="metrics=", by="by('relation')", side="metrics='object.mrr'", sides="metrics='object.mrr'"
    )
    def by(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        ties: str | None = None,
        confidence: float | None = CONFIDENCE,
        cluster: Any = "triple",
    ) -> pd.DataFrame:
        """Return metrics for each group of ranks.

        Parameters
        ----------
        *columns : str
            One or more of ``"relation"``, ``"side"``, ``"split"``; a feature of the dataset (``"cardinality"``,
            ``"pattern"``, ...; see `kgeval.features.columns`); a further column of the dataset's files, such as
            ``"weight"``; or a column added by `with_columns`. ``"time"`` (or another name of a column of times) gives
            up to 10 bins with about equal numbers of ranks, ``"time:20"`` up to 20, and ``"time:year"``,
            ``"time:month"`` and ``"time:day"`` the calendar's. For datasets with times, ``"seen_before"``: whether the
            triple was true at an earlier time, in any split. For datasets with qualifiers, ``"qualifiers"``: how many
            (0, 1, 2, 3+).
        metrics : sequence of str or Metric, or one string with commas
        setting : str
            ``"filtered"`` or ``"raw"``.
        ties : str, optional
            As in `summary`.
        confidence : float, optional
            Nominal coverage of the intervals; None: no intervals.
        cluster : str or array_like, shape (rows,)
            As in `interval`.

        Returns
        -------
        pandas.DataFrame
            One row per group, indexed by its labels. Larger groups come first; buckets come in ascending order.
            Columns: ``n`` (number of ranks), ``share`` (``n`` divided by the number of all ranks), and the metrics as
            in `summary`. If an entity side was ranked, ranks of the relation side are left out, unless ``"side"`` is
            one of the columns.
        """
        _check_choices(ties, confidence, setting)
        parsed, names = parse_all(metrics), group_names(columns)
        groups = {label: (setting, rows) for label, rows in self._groups(names)}
        frame = self.rank_table.metric_frame(groups, names, parsed, ties, confidence, cluster)
        frame.insert(1, "share", frame["n"] / max(1, sum(len(rows) for _, rows in groups.values())))
        return frame

    @names_unknown_arguments(metric="metrics=")
    def averages(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        ties: str | None = None,
        confidence: float | None = CONFIDENCE,
        cluster: Any = "triple",
    ) -> pd.DataFrame:
        """Return micro and macro averages of metrics.

        Parameters
        ----------
        *columns : str
            The columns to group by, as in `by`; for example ``"relation"``.
        metrics : sequence of str or Metric, or one string with commas
        setting : str
        ties : str, optional
        confidence : float, optional
            As in `by`.
        cluster : str or array_like, shape (rows,)
            As in `interval`.

        Returns
        -------
        pandas.DataFrame
            Row ``micro``: the metric over all ranks. Row ``macro``: the unweighted mean of the metric over the groups.
            Columns: ``n`` (``micro``: number of ranks; ``macro``: number of groups), and the metrics as in `summary`.
            The interval of ``macro`` treats the triples as a sample, and the groups as fixed. It needs at least two
            clusters (by default triples) in each group; otherwise ``reason`` says how many groups have only one.
        """
        _check_choices(ties, confidence, setting)
        ranked = self.rank_table.rows_of("both")
        parsed, groups = parse_all(metrics), [rows for _, rows in self._groups(group_names(columns), ranked)]
        micro, macro, clusters = {}, {}, self.rank_table.row_clusters(cluster)
        level = confidence or CONFIDENCE
        for metric in parsed:
            key = Key(metric, setting=setting, ties=ties or "")
            micro[str(metric)] = Cell.of(self.rank_table.interval(key, confidence=level, clusters=clusters))
            macro[str(metric)] = Cell.of(self.rank_table.macro(key, groups, level, clusters))
        index = pd.Index(["micro", "macro"], name="average", dtype=object)
        counts = [len(ranked), len(groups)]
        return metric_frame(index, [micro, macro], map(str, parsed), counts, with_intervals=confidence is not None)

    @names_unknown_arguments(undecided="lists(bounded=)")
    def lists(self, side: str = "both", setting: str = "filtered", bounded: str | None = None) -> RankedLists:
        """Return one ranked list per query, for the metrics and curves of `kgeval.metrics.retrieval`.

        The relevant items of a list are the ranked answers of its query. In the raw setting, the other items are all
        other candidates of the query; in the filtered setting, known answers are not among these other items.

        Parameters
        ----------
        side : str
            ``"both"``, ``"subject"``, ``"object"`` or ``"relation"``.
        setting : str
            ``"filtered"`` or ``"raw"``.
        bounded : str, optional
            The places of answers with a bounded rank: ``"optimistic"``: before all items that may rank above or
            below them; ``"pessimistic"``: after these items. Not needed if no rank is bounded.

        Returns
        -------
        RankedLists
            The names of the lists are (side, label of the relation, label of the given entity); on the relation side,
            (side, label of the subject, label of the object).

        Raises
        ------
        MetricError
            If the side was not ranked; if the setting is filtered, and the filter of the protocol contains some splits,
            but not all ranked splits; if ranks are bounded, and `bounded` is None; or if the lists are unknown.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        check_one_of("side", side, SIDE_WORDS, MetricError)
        rows_of_side = self.rank_table.rows_of(SIDE_WORDS[side])
        unknown = (self.rank_table.unknown.get(name, "") for name in (setting, "ties", "rivals", "queries"))
        reason = no_lists(self.protocol, setting) or next(filter(None, unknown), "")
        if reason:
            raise MetricError(reason)
        n_bounded = int(self.rank_table.is_bounded(setting, rows_of_side).sum())
        if bounded is not None:
            check_one_of("bounded", bounded, EXTREMES, MetricError)
        elif n_bounded:
            raise MetricError(
                f"{n_bounded:,} of {len(rows_of_side):,} ranks are bounded, so their places in the lists are not "
                "known; choose lists(bounded='optimistic') or lists(bounded='pessimistic')"
            )
        _, rows = query_lists(self.table.iloc[rows_of_side], self.protocol, setting)
        lists, *extremes = self.rank_table.bounded_lists(setting, rows_of_side)
        lists = extremes[bounded == "optimistic"] if extremes else lists
        _, first, second = query_columns(rows)
        is_relation = (rows["side"] == RELATION).all() and len(rows) > 0  # they are in no list with entity sides
        vocabulary = self.entities if is_relation else self.relations
        labels = vocabulary.labels.objects(first), self.entities.labels.objects(second)
        columns = [rows["side"].astype(str).to_numpy(dtype=object), *labels]
        names = ["side", *(("subject", "object") if is_relation else ("relation", "given"))]
        return replace(lists, names=pd.MultiIndex.from_arrays(columns, names=names))

    @names_unknown_arguments(metric="metrics=")
    def per_query(
        self,
        metrics: Sequence[str | ListMetric] | str,
        side: str = "both",
        setting: str = "filtered",
        ties: str = "expected",
    ) -> pd.DataFrame:
        """Return query-level metrics, one row per query.

        Parameters
        ----------
        metrics : sequence of str or ListMetric, or one string with commas
            Names with or without the prefix ``query.``, such as ``"map,ndcg@10"``.
        side, setting : str
            As in `lists`.
        ties : str
            ``"expected"``, ``"optimistic"`` or ``"pessimistic"``.

        Returns
        -------
        pandas.DataFrame
            Indexed by the names of `lists`, such as side, relation and given entity (labels). Columns: ``n`` (number of
            ranked answers of the query), the metrics, and ``reason``. With ties ``"expected"``, a value that depends on
            bounded ranks is NaN.
        """
        specs = split_list(metrics)
        plain = [metric.removeprefix("query.") if isinstance(metric, str) else metric for metric in specs]
        rows = self.rank_table.rows_of(SIDE_WORDS[check_one_of("side", side, SIDE_WORDS, MetricError)])
        has_bounded = ties not in EXTREMES and bool(self.rank_table.is_bounded(setting, rows).any())
        lists = self.lists(side, setting, bounded="pessimistic" if ties == "pessimistic" else "optimistic")
        frame = tabulate(lists, plain, ties, average=None)
        if has_bounded:
            frame = where_equal(frame, tabulate(self.lists(side, setting, "pessimistic"), plain, ties, average=None))
        frame.insert(0, "n", lists.n_relevant)
        return frame

    @names_unknown_arguments(names="features=", splits_for_means="means_from=")
    def with_features(
        self,
        dataset: Dataset | None = None,
        *,
        features: Sequence[str] | None = None,
        types: pd.Categorical | None = None,
        means_from: Sequence[str] | None = None,
    ) -> EvaluationResult:
        """Return a new result with columns computed from the dataset: cardinality, pattern, degrees, ...

        Parameters
        ----------
        dataset : Dataset, optional
            The dataset that was evaluated. Needed only for a result that was loaded from a file; a result of
            `kgeval.evaluate` has the dataset in memory.
        features, types, means_from
            See `kgeval.features.columns.features_of` (`features` are its `names`); `types` come from
            `kgeval.features.read_types`.

        Raises
        ------
        DataError
            If no dataset was passed and none is in memory, or if the result was computed from another dataset.
        """
        dataset = dataset_of(self.facts, dataset, self._source.dataset if self._source else None, features or FEATURES)
        frame, feature_notes = features_of(
            self.table, self.protocol, dataset, names=features, means_from=means_from, types=types
        )
        over_splits = [name for name in OVER_SPLITS if name in frame]
        if over_splits and means_from is not None:
            splits = [means_from] if isinstance(means_from, str) else means_from
            feature_notes.append(f"{' and '.join(over_splits)}{TAKEN_OVER}{'+'.join(splits)}")
        # If cardinality or pattern is computed again, the old note with the splits of these columns is removed.
        notes = [note for note in self.notes if not (over_splits and TAKEN_OVER in note)]
        return self._with_frame(frame, feature_notes, notes)

    @names_unknown_arguments(k="limit=", n="limit=", sides="side=")
    def explain(
        self,
        s: str | int,
        p: str | int,
        o: str | int,
        side: str = "object",
        limit: int | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Return the candidates that score above a positive or equal to it; the scorer scores the query again.

        A result that was loaded from a file has no scorer. It explains the rows whose best rivals the file contains
        (the worst and the best ranks), by these rivals.

        Parameters
        ----------
        s, p, o : str or int
            A ranked triple, by labels or by ids.
        side : str
            The side of the query: ``"object"`` if objects were ranked, ``"subject"`` or ``"relation"``.
        limit : int, optional
            Return at most this many candidates above the positive, and at most this many tied candidates.
        given : mapping of str to value, optional
            Values of the triple in columns of the dataset, such as ``{"time": 183}``; needed if the triple was ranked
            with several times or qualifiers.

        Returns
        -------
        pandas.DataFrame
            Best candidate first, the positive last. Columns ``candidate`` (label), ``id``, ``score``, ``stands``
            (``"above"``, ``"tied"``, or ``"answer"`` for the positive), ``known_in`` (the filter splits that contain
            the triple with this candidate), and ``counts`` (whether the candidate counts in the filtered rank). The
            attribute ``attrs`` of the table has numbers that do not depend on `limit`: ``n_candidates``; ``n_above``
            and ``n_tied``, the numbers of candidates above the positive and tied with it; ``n_above_counting`` and
            ``n_tied_counting``, how many of these candidates count in the filtered rank. For a loaded result also
            ``n_not_kept``, how many candidates above or tied are not in the file and so not in the table.

        Raises
        ------
        DataError
            If the triple was not ranked, if the result was loaded from a file that has no rivals for this triple, if it
            was made without a model, or if `limit` is not an integer of at least 0.
        ScoreError
            If re-scoring gives other counts than the stored counts.
        """
        if self._source is None and self._rivals is None:
            raise DataError(
                "this result has no scorer: it was loaded from a file without rivals, pickled or copied, or made "
                "without a model. Evaluate again, or run kgeval show --explain with --dataset and --model"
            )
        row = self._row(s, p, o, check_side(side, ALL_SIDES), given)
        if self._source is not None:
            return explain_row(self.rank_table, self._source, row, limit)
        return explain_kept(self.rank_table, kept_rivals(self)[0], self.entities, self.relations, row, limit)

    @names_unknown_arguments(sides="side=")
    def steps(
        self,
        s: str | int,
        p: str | int,
        o: str | int,
        side: str = "object",
        metric: str | Metric = "mrr",
        given: Mapping[str, Any] | None = None,
    ) -> Steps:
        """Explain a metric of a ranked triple or of its query, place by place; nothing is scored again.

        Parameters
        ----------
        s, p, o : str or int
            A ranked triple, by labels or by ids.
        side : str
            The side of the query: ``"object"`` if objects were ranked, ``"subject"`` or ``"relation"``.
        metric : str or Metric
            A key as in `value`: ``"mr"``, ``"mrr"`` and ``"hits@k"`` explain the rank of the triple; ``query.`` metrics
            explain the list of its query, with all answers of the query.
        given : mapping of str to value, optional
            See `explain`.

        Returns
        -------
        Steps
            ``print`` shows it. Its table has one row per place; see `kgeval.metrics.retrieval.steps`. If the column
            ``item`` is empty, the place belongs to a rival. For a metric of ranks, each row is a place that the triple
            can have. The columns are then ``chance`` (the probability of this place), ``value`` (of the metric at this
            place), ``term`` (chance times value) and ``sum`` (of the terms up to this row).

        Raises
        ------
        DataError
            If the triple was not ranked.
        MetricError
            If the key is not valid, or if the metric has no value here or cannot be explained by places.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
        >>> print(evaluate(lambda s, p, o: -abs(o - 2.1), dataset).steps(0, 0, 1, metric="query.map"))
        query.map of (0, 0, ?), expected ties
        place  item  grade  relevant  precision    term     sum
            1  2         1         1          1       1       1
            2            0         0                  0       1
            3  1         1         1     0.6667  0.6667  1.6667
        map = sum / relevant items = 1.6667 / 2 = 0.8333
        """
        row = self._row(s, p, o, check_side(side, ALL_SIDES), given)
        return steps_of_row(self.rank_table, self.entities, self.relations, row, Key.parse(metric))

    @names_unknown_arguments()
    def ranks(self, *, labels: bool = False, columns: bool = False) -> pd.DataFrame:
        """Return `table`, if wanted with labels instead of ids, and with the further columns of the result.

        Parameters
        ----------
        labels : bool
            Whether ``s``, ``p`` and ``o`` hold labels.
        columns : bool
            Whether to add the columns in ``result.columns`` (features, columns of the user).

        Returns
        -------
        pandas.DataFrame
            One row per (triple, side). Bounded ranks, unknown ranks and unknown counts are NaN.

        Raises
        ------
        DataError
            If a column in ``result.columns`` has the same name as a column of the table.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> triples = pd.DataFrame([["a", "r", "b"], ["b", "r", "c"]])
        >>> result = evaluate(lambda s, p, o: o, Dataset.from_frames(test=triples), progress=False)
        >>> result.ranks(labels=True)[["s", "p", "o", "side", "rank_filtered"]].head(1).values.tolist()
        [['a', 'r', 'b', 'subject', 2.0]]
        """
        frame = with_labels(self.table, self.entities, self.relations) if labels else self.table.copy()
        for name in unknown_counts(self.rank_table.unknown):
            frame[name] = np.nan
        if not columns or not len(self.columns.columns):
            return frame
        duplicates = [str(name) for name in self.columns.columns if name in frame.columns]
        if duplicates:
            raise DataError(
                f"result.columns has {', '.join(duplicates)}, which the table of ranks also has; rename it, or set "
                "columns=False"
            )
        return pd.concat([frame, self.columns], axis=1)

    @names_unknown_arguments()
    def save(
        self,
        path: str | Path,
        *,
        details: bool = True,
        overwrite: bool = False,
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        """Write the result to one file, by convention with the ending ``.kgeval``; `kgeval.load_result` reads it.

        If writing fails, no incomplete file remains. The file does not use pickle.

        Parameters
        ----------
        path : path
        details : bool
            Whether the file also contains the features of the dataset, the gravest findings of its audit (if it has at
            most a million triples), and the best rivals for the worst and the best ranks. This has an effect only if
            dataset and scorer are in memory. About 20 queries are scored again to get the rivals. If the scores have
            changed since the evaluation, no rivals are saved, and a note in the file says so.
        overwrite : bool
            Whether to replace an existing file.
        name : str, optional
            The name of the model, such as ``"ComplEx"``, for `kgeval.benchmark`; by default the file has the name and
            the seed of this result, if there are any (`kgeval.benchmarks.named`).
        seed : int, optional
            The seed with which the model was trained; requires `name`.

        Raises
        ------
        DataError
            If the file exists, if `name` is blank, or if `seed` is not an integer of at least 0 or has no `name`.
        """
        facts = run_facts(self.facts, name, seed)
        result, rivals, audit, notes = self, self._rivals, self._audit, list(self.notes)
        if details and self._source:
            new = [name for name in self._features_at_hand(self._source.dataset) if name not in self.columns]
            result = self.with_features(features=new)
            rivals, reason = kept_rivals(self)
            notes += [reason] if reason else []
            audit = audit_of(self)
        parts = {**result._parts(), "rivals": rivals, "audit": audit, "notes": notes, "facts": facts}
        write_result(path, "result", *pack_ranks(parts), overwrite=overwrite)

    def _taken(self) -> set[str]:
        return {*BREAKDOWNS, *RESERVED, *self.rank_table.frame.columns}

    def _features_at_hand(self, dataset: Dataset) -> list[str]:
        """Return the features that can be computed; on the relation side alone, those that need no missing entity."""
        return features_at_hand(dataset, has_sides=tuple(self.protocol.sides) != (RELATION,))

    def _groups(self, names: Sequence[str], rows: Ids | None = None) -> list[tuple[Group, Ids]]:
        """As in `Result`; by default those of both entity sides, or all rows if the side is one of the columns."""
        is_part = rows is None and "side" not in names
        return super()._groups(names, self.rank_table.rows_of("both") if is_part else rows)

    def _column(self, name: str) -> Any:
        """Return the values of the column `name`, one per row, for grouping the rows; times as bins."""
        if name == "relation":
            return self._relation_of_rows()
        if name in BREAKDOWNS:
            return self.table[name].array
        column, period = split_period(name)
        for of, bins in ((name, ""), (column, period)):
            of = meant_column(of, map(str, self.columns))
            if of in self.columns:
                values = self.columns[of].array
                return time_bins(of, values, bins) if is_time(of) else values
        if name in FEATURES:
            return self.with_features(features=[name]).columns[name].array
        known = dict.fromkeys([*BREAKDOWNS, *self.columns.columns, *FEATURES])
        return check_one_of("by", name, known, MetricError)

    def _row(self, s: str | int, p: str | int, o: str | int, side: str, given: Mapping[str, Any] | None = None) -> int:
        """Return the index of the first row of the table in which the triple is ranked on `side`.

        `given` holds values of the row in columns of the dataset.
        """
        ids = triple_ids(self.entities, self.relations, (s, p, o))
        is_match = (triples_of(self.table) == ids).all(axis=1) & (self.table["side"] == side).to_numpy()
        for name, value in given_values(given, map(str, self.columns)).items():
            if name not in self.columns:
                known = ", ".join(map(str, self.columns)) or "none"
                raise DataError(f"given: the result has no column {name!r}; its columns: {known}")
            if name == QUALIFIERS and isinstance(value, (list, tuple)):
                raise DataError(
                    "given: a result holds how many qualifiers a triple has, not which; kgeval.Evaluator.explain takes "
                    "the pairs"
                )
            codes = column_values({"rows": self.columns[name], "given": pd.Series([value], dtype=object)}).codes
            is_equal = codes["rows"] == codes["given"]
            if is_match.any() and not (is_match & is_equal).any():
                raise DataError(
                    f"given: the triple was not ranked with {name} {value!r}; it has "
                    f"{listed(distinct_texts(self.columns[name][is_match]), 5)}"
                )
            is_match &= is_equal
        for name in key_columns(self):
            different = distinct_texts(self.columns[name][is_match])
            if len(different) > 1:
                raise DataError(
                    f"the triple was ranked with {len(different)} values of {name}: say which with "
                    f"given={{{name!r}: ...}} (--given {name}=...); it has {listed(different, 5)}"
                )
        n_facts = int(is_match.sum())
        facts, rows = (getattr(self._source, name, None) for name in ("facts", "positive_rows"))
        if facts is not None and rows is not None:
            n_facts = len(np.unique(facts[rows[is_match]], axis=0))
        is_number = pd.api.types.is_numeric_dtype(self.columns.get(QUALIFIERS, pd.Series([0])))  # how many, not which
        if n_facts > 1 and QUALIFIERS in _keyed(self) and (is_number or facts is not None):
            raise DataError(
                f"the triple was ranked {counted(int(is_match.sum()), 'time')}, and the result does not hold its "
                "qualifiers: kgeval.Evaluator.explain takes them, given={'qualifiers': [(relation, entity), ...]}"
            )
        if not is_match.any():
            splits = "+".join(self.protocol.splits)
            labels = [self.entities.labels[ids[0]], self.relations.labels[ids[1]], self.entities.labels[ids[2]]]
            raise DataError(
                f"({', '.join(map(repr, labels))}), ids {tuple(map(int, ids))}, was not ranked on the {side} side; "
                f"is the triple in {splits}?"
            )
        return int(np.argmax(is_match))

    def _lines(self) -> list[str]:
        """Return the header lines, with cautions about the default metrics."""
        return [*header_lines(self), *(f"note: {caution}" for caution in metric_cautions(self, DEFAULT_METRICS))]

    def _origin(self) -> str:
        return origin_words(self)

    def _bars(self) -> Table:
        """Return the values that a panel shows first, beside those of each side, whose intervals are at the pointer."""
        bars, sides = super()._bars(), entity_sides(self.rank_table.sides)
        shown = []
        for side in sides if len(sides) > 1 else ():
            found = [self.interval(f"{side}.{metric}") for metric in self._first]
            rows, intervals = (
                [(one.value,) for one in found],
                [f"{one.confidence:.0%} interval: {one}" for one in found],
            )
            shown.append(Column.of_values(f"{side} side", rows, self._first[0], intervals))
        return replace(bars, columns=[*bars.columns[:-1], *shown, bars.columns[-1]])

    def _answer(self) -> str:
        display = display_of(BRIEF_METRICS[0])
        found = best_and_worst(self, self.rank_table, Key.parse(BRIEF_METRICS[0]), display.decimals)
        return f"{display.heading}: {found}." if found else ""

    def _cautions(self) -> list[str]:
        return [*self.facts.get("leak_notes", [])[:1], *interval_notes(self)[1:]]

    def _beside(self) -> dict[str, Any]:
        chance = [self.chance(metric).value for metric in self._first]
        return {"chance": chance, "ends": [tie_ends(self.rank_table, metric) for metric in self._first]}


def header_lines(result: EvaluationResult, ties: str = "realistic") -> list[str]:
    """Return the lines to show above a table of metrics: dataset, protocol, dropped rows, notes.

    Parameters
    ----------
    result : EvaluationResult
    ties : str
        The tie policy of the values in the table; the lines name it.

    Raises
    ------
    MetricError
        If the tie policy is unknown.
    """
    check_one_of("ties", ties, TIE_POLICIES, MetricError)
    facts, protocol, dropped = result.facts, result.protocol, sum(result.dropped.values())
    part = "" if protocol.sample is None else f"{protocol.sample.n:,} of "
    n_triples = facts["n_triples"] if protocol.sample is None else protocol.sample.of
    tie_rate = "unknown" if np.isnan(result.tie_rate) else percent(result.tie_rate)
    n_unseen = f"{counted(facts['n_unseen'], 'triple')} with unseen entities or relations"
    unseen = "unseen not known" if protocol.is_of_tool else n_unseen
    lines = [
        f"{facts['dataset']}: {counted(len(result.entities), 'entity')}, "
        f"{counted(len(result.relations), 'relation')}; {'+'.join(protocol.splits)} "
        f"{part}{counted(n_triples, 'triple')}, {counted(facts['n_queries'], 'query')}; "
        f"{unseen}, {dropped:,} dropped",
        f"{protocol.describe()}, {ties} ties, the {TIE_WORDS[ties]} (tie rate {tie_rate}); "
        f"protocol {protocol.fingerprint}, dataset {facts['dataset_fingerprint'][:8]}, "
        f"kgeval {facts['version']}",
        *([f"run: {shown_run(facts)}"] if MODEL in facts else []),
    ]
    lines += [f"dropped: {counted(n, 'rank')}, {reason}" for reason, n in result.dropped.items()]
    lines += unknown_lines(result)
    lines += [f"dataset: {observation}" for observation in facts["observations"]]
    return lines + [f"note: {note}" for note in result.notes]


def origin_words(result: EvaluationResult, ties: str = "realistic", has_protocol: bool = True) -> str:
    """Return model, dataset and number of ranks of a result in words, with the protocol or without.

    Parameters
    ----------
    result : EvaluationResult
    ties : str
        As in `header_lines`.
    has_protocol : bool
    """
    sizes, protocols = {result.facts["dataset"]: len(result.rank_table)}, [result] if has_protocol else []
    return f"{shown_run(result.facts)} on {ranks_words(sizes, protocols, f'ties: {tie_words(ties)}')}"


def ranks_words(sizes: Mapping[str, int], results: Sequence[EvaluationResult], ties: str) -> str:
    """Return the numbers of ranks, the protocol and the tie policy in words, for the notes of a table.

    Parameters
    ----------
    sizes : mapping of str to int
        Dataset -> number of ranks.
    results : sequence of EvaluationResult
        Where their protocols differ, the text has none.
    ties : str
        Such as ``"ties: mean rank (realistic)"``.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    >>> ranks_words({"umls": 1322, "WN18RR": 6268}, [evaluate(lambda s, p, o: o, dataset)], "ties: mean rank")
    'umls: 1,322 and WN18RR: 6,268 ranks of test; filtered by test, all entities, both sides; ties: mean rank'
    """
    numbers = listed([f"{quoted(dataset)}: {n:,}" for dataset, n in sizes.items()])
    protocols = {f"{'+'.join(one.protocol.splits)}; {one.protocol.describe()}; {ties}" for one in results}
    return f"{numbers} ranks of {protocols.pop()}" if len(protocols) == 1 else f"{numbers} ranks"


def unknown_lines(result: EvaluationResult) -> list[str]:
    """Return the header lines that say which facts about the ranks are unknown, and why.

    Parameters
    ----------
    result : EvaluationResult
    """
    return [f"unknown: {UNKNOWN[name]}: {reason}" for name, reason in result.rank_table.unknown.items()]


def metric_cautions(
    result: EvaluationResult, metrics: Sequence[str | Metric] | str, ties: str | None = None
) -> list[str]:
    """Return cautions about metrics of a result, for example about hits@10 if some queries have 10 candidates or fewer.

    For each metric that depends on bounded ranks, one line gives its smallest and its greatest possible value.

    Parameters
    ----------
    result : EvaluationResult
    metrics : sequence of str or Metric, or one string with commas
    ties : str, optional
        The tie policy of the shown values; by default the default policy of each metric.

    Returns
    -------
    list of str
        Without duplicates; empty if no caution applies.
    """
    rivals = result.rank_table.counts("filtered").rivals
    parsed = parse_all(metrics)
    cautions = [*_bounded_cautions(result, parsed, ties)]
    if not {"filtered", "rivals"} & set(result.rank_table.unknown):
        cautions += [metric.caution(rivals) for metric in parsed if isinstance(metric, RankMetric)]
    if any(isinstance(metric, QueryLevel) for metric in parsed):
        n_queries = len(group_rows(*query_columns(result.table))[1]) - 1
        cautions.append(
            f"query. metrics count each of the {n_queries:,} queries once, with all its ranked answers as relevant "
            "items; expected ties unless another tie policy is given"
        )
        if result.rank_table.sampled_share:
            cautions.append(
                "query. metrics of a sample of triples do not estimate those of the split: queries have fewer answers"
            )
    return list(dict.fromkeys(caution for caution in cautions if caution))


def _bounded_cautions(result: EvaluationResult, metrics: Sequence[Metric], ties: str | None) -> Iterator[str]:
    """Yield the cautions about bounded ranks: the number of these ranks, and the bounds of the metrics."""
    ranks = result.rank_table
    # A side or setting may have bounded ranks while the filtered ranks of both sides have none.
    counts = {setting: int(ranks.is_bounded(setting).sum()) for setting in reversed(SETTINGS)}
    if not any(counts.values()):
        return
    parts = [f"{n:,} of {len(ranks):,} {setting} ranks" for setting, n in counts.items() if n]
    text = f"{' and '.join(parts)} are bounded: only bounds of them are known"
    if ties in EXTREMES:
        yield f"{text}; {ties} ties put them at their {'best' if ties == 'optimistic' else 'worst'}"
        return
    yield text
    for metric in metrics:
        key = Key.parse(metric) if ties is None else Key(Key.parse(metric).metric, ties=ties)
        low, high = ranks.bounds(key)
        if low < high:
            yield f"{key} lies between {shown_bounds(key, low, high)}"


def interval_notes(result: EvaluationResult, confidence: float = CONFIDENCE, cluster: Any = "triple") -> list[str]:
    """Return a line that says which variation the intervals show, and a caution if they are much wider by entity.

    Parameters
    ----------
    result : EvaluationResult
    confidence : float
    cluster : str or array_like, shape (rows,)
        As in `EvaluationResult.interval`.

    Returns
    -------
    list of str
        The first line says which variation the intervals show, such as the variation with other triples of this graph.
        With clusters by triple or query, there is a second line if clusters by entity make the interval of MRR more
        than twice as wide.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    >>> interval_notes(evaluate(lambda s, p, o: o, dataset))  # doctest: +ELLIPSIS
    ['95% intervals show how much ... other triples of this graph (...); 2 effective clusters in all']
    """
    by, share = result.rank_table.row_clusters(cluster).by, result.rank_table.sampled_share
    purpose = PURPOSES[by]
    if by == "triple" and share:
        purpose = (
            f"another random sample of the ranked splits; the intervals describe all triples ({percent(share)} drawn)"
        )
    narrow = result.interval("mrr", confidence=confidence, cluster=cluster)
    few = f"; {narrow.n_effective:.0f} effective clusters in all" if narrow.n_effective < FEW_CLUSTERS else ""
    lines = [f"{100 * confidence:g}% intervals show how much a number would vary with {purpose}{few}"]
    if by in ("triple", "query"):
        wide = result.interval("mrr", confidence=confidence, cluster="entity")
        ratio = (wide.high - wide.low) / (narrow.high - narrow.low) if narrow.high > narrow.low else np.nan
        if ratio > MAX_ENTITY_RATIO:
            lines.append(
                f"for other entities, the interval of MRR is {between(wide.low, wide.high)}, {ratio:.1f} times as "
                "wide as for other triples of these entities: ranks that share an entity depend on each other"
            )
    return lines


def have_same_ranks(one: EvaluationResult, other: EvaluationResult) -> bool:
    """Return whether two results have the same ranks, protocol and dataset; notes and added columns may differ.

    Parameters
    ----------
    one, other : EvaluationResult
    """
    if one is other:
        return True
    same = one.protocol == other.protocol and one.facts["dataset_fingerprint"] == other.facts["dataset_fingerprint"]
    return same and one.rank_table.frame.equals(other.rank_table.frame)


def rank_groups(result: EvaluationResult, names: Sequence[str], rows: Ids | None = None) -> list[tuple[Group, Ids]]:
    """Return the groups of rows that `EvaluationResult.by` forms.

    Parameters
    ----------
    result : EvaluationResult
    names : sequence of str
        The columns to group by.
    rows : int64 array, optional
        The indices of the rows to group; by default as in `by`.

    Returns
    -------
    list of (tuple of str, int64 array)
        For each group: its labels, one per column, and the indices of its rows in the table.
    """
    return result._groups(names, rows)


def entity_part(result: EvaluationResult) -> EvaluationResult:
    """Return the result without the ranks of the relation side; the result itself if it has no ranks beside them.

    Parameters
    ----------
    result : EvaluationResult
    """
    sides = entity_sides(result.protocol.sides)
    if sides == tuple(result.protocol.sides):
        return result
    rows = result.rank_table.rows_of("both")  # the first rows of the table, so that the kept rivals keep their rows
    dropped = sum(result.dropped.values())
    return result.__replace__(
        table=result.rank_table.frame.iloc[rows],
        columns=result.columns.iloc[rows],
        protocol=replace(result.protocol, sides=sides),
        facts=result.facts | {"n_read": len(rows) + dropped},
    )


def group_column(result: EvaluationResult, name: str) -> Any:
    """Return the values of a column by which `EvaluationResult.by` groups ranks, one per row of the table.

    Parameters
    ----------
    result : EvaluationResult
    name : str

    Returns
    -------
    pandas or numpy array, shape (rows,)
        An ordered Categorical if the groups have an order, such as bins of times.
    """
    return result._column(name)


def with_dataset_columns(result: EvaluationResult, dataset: Dataset, rows: Ids) -> EvaluationResult:
    """Return the result with the further columns of its dataset, such as time or weight, to break down by.

    Parameters
    ----------
    result : EvaluationResult
    dataset : Dataset
    rows : int64 array, shape (rows of the table,)
        The triple of each rank, as an index into the triples of all ranked splits, split after split.
    """
    taken = {*FEATURES, *result.table.columns, *result._taken()}
    columns, notes = dataset_columns(dataset, result.protocol.splits, rows, taken)
    return result._with_frame(columns, notes, result.notes)


def _keyed(result: EvaluationResult) -> list[str]:
    """Return the columns that tell queries of one triple apart: those that the scorer was given, and the filter key."""
    return [*dict.fromkeys([*result.facts.get("scorer_columns", ()), *(result.protocol.filter_by or ())])]


def key_columns(result: EvaluationResult) -> list[str]:
    """Return the columns of a result that tell its queries of one triple apart, such as the time.

    Parameters
    ----------
    result : EvaluationResult
    """
    return [name for name in _keyed(result) if name in result.columns]


def explained_row(result: EvaluationResult, row: int) -> pd.DataFrame:
    """Return the table of `EvaluationResult.explain` for a row of the table; the result has its scores in memory.

    Parameters
    ----------
    result : EvaluationResult
    row : int
    """
    if result._source is None:
        raise DataError("the result has no scores in memory")
    return explain_row(result.rank_table, result._source, row, None)


def with_all_features(result: EvaluationResult, dataset: Dataset | None = None) -> EvaluationResult:
    """Return the result with every feature that can be computed; the result itself if there is no dataset.

    Existing columns do not change. If a note says that cardinality or pattern (`OVER_SPLITS`) was computed from chosen
    splits, neither cardinality nor pattern is added, because the new column would be computed from all splits.

    Parameters
    ----------
    result : EvaluationResult
    dataset : Dataset, optional
        By default the dataset that the result has in memory.

    Returns
    -------
    EvaluationResult
    """
    dataset = dataset or (result._source.dataset if result._source else None)
    if dataset is None:
        return result
    left_out = {*result.columns.columns, *(OVER_SPLITS if says_splits(result.notes) else ())}
    names = [name for name in result._features_at_hand(dataset) if name not in left_out]
    return result.with_features(dataset, features=names)


def audit_of(result: EvaluationResult) -> dict[str, Any] | None:
    """Return the brief audit of the dataset; see `kgeval.audit.data_audit.brief_audit`.

    Parameters
    ----------
    result : EvaluationResult

    Returns
    -------
    dict or None
        From the file, or of the dataset in memory; None if there is neither, or if the dataset is large.
    """
    if result._audit is not None or result._source is None:
        return result._audit
    return brief_audit(result._source.dataset)


def kept_rivals(result: EvaluationResult) -> tuple[pd.DataFrame, str]:
    """Return the best rivals for the rows with the worst and the best ranks; known answers are left out.

    Parameters
    ----------
    result : EvaluationResult

    Returns
    -------
    rivals : pandas.DataFrame
        Columns: ``row`` (index in the table), ``place`` (1 is the best rival), ``entity`` (id), ``score``. Empty if
        there are no saved rivals and no scorer in memory, or if re-scoring gives other counts than the stored counts.
    reason : str
        Why re-scoring gave no rivals; empty if it succeeded or was not tried.
    """
    if result._rivals is not None:
        return result._rivals, ""
    if result._source is None:
        return no_rivals(), ""
    try:
        return nearest_rivals(result.rank_table, result._source, extreme_rows(result.rank_table)), ""
    except (ScoreError, DataError) as error:
        return no_rivals(), f"no rivals of the worst and best ranks are kept: {error}"


def _check_choices(ties: str | None, confidence: float | None, setting: str = "filtered") -> None:
    """Raise a MetricError if `ties` or `confidence` has a value that is not allowed; None is always allowed."""
    check_one_of("setting", setting, SETTINGS, MetricError)
    if ties is not None:
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
    if confidence is not None:
        check_confidence(confidence)


# Checks and returns what `EvaluationResult.save` wrote.
READERS["result"] = lambda *content: EvaluationResult(**unpack_ranks(*content))
