"""ClassificationResult: classified test triples with scores and thresholds; computes metrics on demand.

`kgeval.classify` and `kgeval.load_result` return a `ClassificationResult`; `kgeval.report` and the command line
read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_one_of, counted, names_unknown_arguments, with_old_names
from kgeval.base.wording import percent
from kgeval.classification.example_clusters import ExampleClusters, metric_interval
from kgeval.classification.files import pack_classification, unpack_classification
from kgeval.classification.point_keys import parse_points, split_average
from kgeval.data.column_names import meant_column
from kgeval.data.dataset import Dataset
from kgeval.data.frames import with_labels
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import MetricError
from kgeval.features.columns import FEATURES, NEED_SIDE, features_at_hand, features_of
from kgeval.metrics import MetricValue
from kgeval.metrics.base import Metric
from kgeval.metrics.metric_frames import REASON, Cell, group_index, metric_frame
from kgeval.metrics.pointwise.base import PointMetric
from kgeval.results.columns import by_position, dataset_of, group_names, same_columns
from kgeval.results.display import Result
from kgeval.results.files import READERS, write_result
from kgeval.results.rank_table import CONFIDENCE, KEY_HINTS, NO_BOOTSTRAP
from kgeval.stats.intervals import check_confidence
from kgeval.stats.moments import Interval, Moments

CLASSIFIED_METRICS = ("accuracy", "f1", "precision", "recall", "auc", "ap")
PANEL_METRICS = ("accuracy", "f1", "auc")  # the metrics that notebooks show first
PROBABILITY_METRICS = ("log_loss", "brier", "ece")  # added to the default metrics if there are probabilities
_METHODS = {"platt": "Platt's method", "isotonic": "isotonic regression"}
PREDICTIONS = {"decisions": "predicted", "scores": "score", "probabilities": "probability", "values": "probability"}
NO_PROBABILITIES = (
    "scores are not probabilities; fit probabilities on validation: classify(..., calibrate='platt') or 'isotonic' "
    "(--calibrate)"
)


@with_old_names(
    {
        "accuracy": 'result["accuracy"]',
        "plot": "kgeval.report.plots.roc(lists), where lists = "
        'kgeval.metrics.retrieval.from_scores(result.table["label"], result.table["score"])',
    },
    about="facts",
)
class ClassificationResult(Result):
    """Test triples classified as true or false by thresholds that were chosen on validation.

    `kgeval.classify` and `kgeval.load_result` return this class. A result does not change: methods that add something
    return a new result.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per test triple, positives first: ``s, p, o`` (ids), ``label`` (bool), ``score`` and ``threshold``
        (float64), ``predicted`` (bool: score >= threshold), and ``probability`` if probabilities were calibrated. If it
        is known from which positive each negative was made, also ``positive`` (int64): the row of this positive in the
        test split; for a positive, the row of the positive itself. A repeated positive has the row of its first
        occurrence.
    thresholds : pandas.DataFrame
        One row per relation (label) that occurs in validation or test: ``threshold``, ``n_valid_positive``,
        ``n_valid_negative``, ``source`` (``"relation"``; or ``"global"`` if validation has no positives or no
        negatives of the relation), ``n_test``.
    global_threshold : float
        The threshold that was chosen on all validation examples together.
    entities, relations : Vocabulary
    facts : dict
        Facts that JSON can store: name and fingerprint of the dataset; source, seed and SHA-256 of the negatives; name
        of the scorer; place of thresholds (``"threshold_at"``; ``"score"`` if an older file lacks this key);
        calibration; version of kgeval; numbers of examples.
    dropped : dict of str to int
        ``"split: reason"`` -> the number of examples of the split that were left out for this reason.
    notes : sequence of str
        Cautions about the numbers.
    columns : pandas.DataFrame, optional
        Additional columns by which `by` can group the triples; one row per row of `table`.
    dataset : Dataset, optional
        The dataset, if it is in memory; not saved.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(valid=[[0, 0, 3]], test=[[0, 0, 2], [0, 0, 3]], n_entities=4, n_relations=1)
    >>> negatives = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}
    >>> result = kg.classify(lambda s, p, o: o, dataset, negatives)
    >>> result["accuracy"], result["auc"], result["macro.recall"]
    (0.75, 1.0, 0.5)
    >>> result.thresholds.to_dict("records")[0]["threshold"]
    3.0
    """

    def __init__(
        self,
        table: pd.DataFrame,
        thresholds: pd.DataFrame,
        global_threshold: float,
        entities: Vocabulary,
        relations: Vocabulary,
        facts: dict[str, Any],
        dropped: dict[str, int] | None = None,
        notes: Sequence[str] = (),
        columns: pd.DataFrame | None = None,
        dataset: Dataset | None = None,
    ) -> None:
        self.table, self.thresholds, self.global_threshold = by_position(table), thresholds, global_threshold
        self.entities, self.relations = entities, relations
        self.facts, self.dropped, self.notes = facts, dict(dropped or {}), tuple(notes)
        self.columns = pd.DataFrame(index=pd.RangeIndex(len(table))) if columns is None else by_position(columns)
        self._dataset = dataset

    _about, _further, _first = ": classification", "Thresholds, negatives and notes", PANEL_METRICS

    def _taken(self) -> set[str]:
        return {"relation", "n", "share", REASON, *self.table.columns}

    def _parts(self) -> dict[str, Any]:
        names = ("table", "thresholds", "global_threshold", "entities", "relations", "facts", "dropped", "notes")
        return {name: getattr(self, name) for name in (*names, "columns")} | {"dataset": self._dataset}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassificationResult):
            return NotImplemented
        frames = ("table", "thresholds")
        plain = [name for name in self._parts() if name not in (*frames, "columns", "dataset")]
        return (
            all(getattr(self, name).equals(getattr(other, name)) for name in frames)
            and all(getattr(self, name) == getattr(other, name) for name in plain)
            and same_columns(self.columns, other.columns)
        )

    __hash__ = None  # type: ignore[assignment]

    @names_unknown_arguments(**KEY_HINTS)
    def value(self, key: str | Metric) -> MetricValue:
        """Return the value of the metric `key`; NaN with a reason if the metric is undefined.

        Parameters
        ----------
        key : str or Metric
            ``[average.]metric``. ``micro`` (default): the metric over all test triples. ``macro``: the mean over the
            test relations for which the metric is defined; the attribute ``excluded`` of the value is the number of
            test relations for which the metric is undefined.

        Raises
        ------
        MetricError
            If the key is not valid, or the metric has its own threshold.
        """
        average, metric = split_average(key)
        return self._value(average, metric, self.parts_of(average))

    def _value(self, average: str, metric: PointMetric, parts: Sequence[Ids]) -> MetricValue:
        """Return the value of a metric over rows (``parts[0]``), or the mean of the metric over the relations."""
        return self.value_of(metric, parts[0]) if average == "micro" else self._macro(metric)

    def value_of(self, metric: PointMetric, rows: Ids) -> MetricValue:
        """Return the value of a metric over some rows of the table.

        Parameters
        ----------
        metric : PointMetric
        rows : int64 array
        """
        if PREDICTIONS[metric.needs] not in self.table:
            return MetricValue.undefined(NO_PROBABILITIES)
        labels, predictions = (self.table[name].to_numpy()[rows] for name in ("label", PREDICTIONS[metric.needs]))
        return metric.compute(labels, predictions, self.table["p"].to_numpy()[rows] if metric.takes_groups else None)

    def _macro(self, metric: PointMetric) -> MetricValue:
        """Return the mean of the metric over the test relations for which it is defined."""
        if PREDICTIONS[metric.needs] not in self.table:
            return MetricValue.undefined(NO_PROBABILITIES)
        parts = [rows for _, rows in self._relations]
        values = [self.value_of(metric, rows) for rows in parts]
        defined = [value.value for value in values if not value.reason]
        # The number of relations for which the metric is undefined, and the share of test triples with such a relation.
        n_out = len(values) - len(defined)
        weight_out = sum(len(rows) for rows, value in zip(parts, values) if value.reason) / len(self.table)
        if not defined:
            reasons = list(dict.fromkeys(value.reason for value in values))
            return MetricValue.undefined(f"no relation has a value: {'; '.join(reasons)}", n_out, weight_out)
        return MetricValue(float(np.mean(defined)), "", n_out, weight_out)

    @names_unknown_arguments(**NO_BOOTSTRAP)
    def interval(self, key: str | Metric, *, confidence: float = CONFIDENCE, cluster: Any = None) -> Interval:
        """Return the value of the metric `key` with a confidence interval.

        The interval shows how much the value would vary with new positives and new negatives, if the numbers of
        positives and of negatives stay the same. Thresholds and, for metrics of probabilities, the calibration are
        treated as fixed: the interval leaves out the variation of their choice on validation data. See
        `kgeval.classification.example_clusters.metric_interval` for the formulas. In simulations, 93-97% of the 95%
        intervals contain the true value if there are at least 100 positives and 100 negatives, and some errors in both
        classes, such as 5 false positives. With fewer examples or errors, this share can fall to 90%.

        Parameters
        ----------
        key : str or Metric
            As in `value`. Calibration errors (``ece``, ``field_ece``) have no interval.
        confidence : float
            Nominal coverage, between 0 and 1.
        cluster : str or array_like, shape (rows,), optional
            Which examples may depend on each other. ``"positive"``: a positive and the negatives made from it (default
            if the table has the column ``positive``). ``"example"``: only rows with the same triple (default if the
            table has no column ``positive``; independence of all other rows is then an assumption). ``"entity"``: all
            examples with the same subject, and all examples with the same object (two-way clusters); the interval then
            shows the variation with other entities. An array: rows with the same label.

        Returns
        -------
        Interval
            The limits are NaN if there is no interval; ``reason`` says why.

        Raises
        ------
        MetricError
            If the key or the cluster is unknown, or `confidence` is not valid.

        Examples
        --------
        >>> import kgeval as kg
        >>> true = [[s, 0, o] for s in range(10) for o in (1, 12, 13, 14, 15)]
        >>> false = [[s, 0, o] for s in range(10) for o in (0, 2, 3, 4, 19)]
        >>> dataset = kg.Dataset.from_arrays(valid=true, test=true, n_entities=20, n_relations=1)
        >>> result = kg.classify(lambda s, p, o: o, dataset, {"valid": false, "test": false})
        >>> print(result.interval("accuracy"))  # 80 of 100 are right; the threshold is 12
        0.8000 [0.7084, 0.8682]
        """
        check_confidence(confidence)
        average, metric = split_average(key)
        clusters = ExampleClusters.of(self.table, cluster)
        return self.interval_of(average, metric, self.parts_of(average), confidence, clusters)

    def parts_of(self, average: str) -> list[Ids]:
        """Return arrays of row indices: for ``"micro"`` one array of all rows, for ``"macro"`` one per test relation.

        Parameters
        ----------
        average : str
        """
        return [np.arange(len(self.table))] if average == "micro" else [rows for _, rows in self._relations]

    def interval_of(
        self, average: str, metric: PointMetric, parts: Sequence[Ids], confidence: float, clusters: ExampleClusters
    ) -> Interval:
        """Return the interval of a metric over rows (``parts[0]``), or of the mean of the metric over the relations.

        Parameters
        ----------
        average : str
            ``"micro"`` or ``"macro"``.
        metric : PointMetric
        parts : sequence of int64 arrays
            The result of `parts_of` for `average`; with ``"micro"``, it may also be any single group of rows.
        confidence : float
            As in `interval`.
        clusters : ExampleClusters
            The clusters of all rows of the table.
        """
        value = self._value(average, metric, parts)
        reason = value.reason or metric.no_interval
        if not reason:
            parts = [rows for rows in parts if average == "micro" or not self.value_of(metric, rows).reason]
            try:
                moments = [self.moments(metric, rows) for rows in parts]
            except MetricError as error:
                reason = str(error)
        if reason:
            return Interval(value.value, np.nan, np.nan, confidence, "robust", 0, reason=reason)
        interval = metric_interval(metric, moments, clusters.among(parts), confidence)
        return replace(interval, value=value.value)  # interval.value has larger rounding errors

    def moments(self, metric: PointMetric, rows: Ids) -> Moments:
        """Return a metric over some rows of the table as `Moments`; see `PointMetric.moments`.

        Parameters
        ----------
        metric : PointMetric
            A metric whose predictions are in the table, such as probabilities for log loss.
        rows : int64 array

        Raises
        ------
        MetricError
            If the metric is undefined for the rows, or if the variation of the metric cannot be
            estimated from the rows.
        """
        labels = self.table["label"].to_numpy()[rows]
        predictions = metric.read(labels, self.table[PREDICTIONS[metric.needs]].to_numpy()[rows])[1]
        return metric.moments(labels, predictions, self.table["p"].to_numpy()[rows] if metric.takes_groups else None)

    @cached_property
    def _relations(self) -> list[tuple[tuple[str, ...], Ids]]:
        """One pair ``((label,), row indices)`` for each test relation; the relation with the most rows comes first."""
        return self._groups(["relation"])

    def _column(self, name: str) -> Any:
        if name == "relation":
            return self._relation_of_rows()
        name = meant_column(name, map(str, self.columns))
        if name in self.columns:
            return self.columns[name].array
        if name in FEATURES:
            return self.with_features(features=[name]).columns[name].array
        plain = [feature for feature in FEATURES if feature not in NEED_SIDE]
        return check_one_of("by", name, dict.fromkeys(["relation", *self.columns.columns, *plain]), MetricError)

    @property
    def default_metrics(self) -> tuple[str, ...]:
        """The metrics that tables show by default; if `table` has probabilities, also metrics of probabilities."""
        return CLASSIFIED_METRICS + (PROBABILITY_METRICS if "probability" in self.table else ())

    @names_unknown_arguments(metric="metrics=")
    def summary(
        self, metrics: Sequence[str | Metric] | str | None = None, confidence: float | None = None, cluster: Any = None
    ) -> pd.DataFrame:
        """Return a table of metrics: over all test triples (micro), and averaged over relations (macro).

        Parameters
        ----------
        metrics : sequence of str or Metric, or one string with commas, optional
            By default `default_metrics`.
        confidence : float, optional
            Nominal coverage of the intervals, such as 0.95; None: no intervals.
        cluster : str or array_like, shape (rows,), optional
            As in `interval`.

        Returns
        -------
        pandas.DataFrame
            Rows ``micro`` and ``macro``; columns ``n`` (number of test triples), each metric under its key; if
            `confidence` is given, the limits of its interval (``"f1 low"``, ``"f1 high"``) and ``n_effective``, the
            effective number of clusters (the smallest number among the metrics); and ``reason``: why a value is NaN or
            has no interval. The interval of ``macro`` treats the examples as samples, and the relations as fixed.
        """
        index = pd.Index(["micro", "macro"], name="average", dtype=object)
        return self._frame(index, [(name, self.parts_of(name)) for name in index], metrics, confidence, cluster)

    @names_unknown_arguments(metric="metrics=")
    def by(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str | None = None,
        confidence: float | None = CONFIDENCE,
        cluster: Any = None,
    ) -> pd.DataFrame:
        """Return metrics for each group of test triples.

        Parameters
        ----------
        *columns : str
            One or more of ``"relation"``; a feature of the dataset that does not depend on the side (``"cardinality"``,
            ``"pattern"``, ``"relation_frequency"``, ``"seen"``); or a column added by `with_columns`.
        metrics : sequence of str or Metric, or one string with commas, optional
            By default `default_metrics`.
        confidence : float, optional
            Nominal coverage of the intervals; None: no intervals.
        cluster : str or array_like, shape (rows,), optional
            As in `interval`.

        Returns
        -------
        pandas.DataFrame
            One row per group; a relation is shown as its label. Larger groups come first, but buckets of numbers are in
            ascending order. Columns: ``n`` (number of triples), ``share`` (``n`` divided by the number of test
            triples), and the metrics as in `summary`.
        """
        names = group_names(columns)
        groups = dict(self._groups(names))
        parts = [("micro", [rows]) for rows in groups.values()]
        frame = self._frame(group_index(groups, names), parts, metrics, confidence, cluster)
        frame.insert(1, "share", frame["n"] / max(1, len(self.table)))
        return frame

    def _frame(
        self,
        index: pd.Index[Any],
        averages: Sequence[tuple[str, Sequence[Ids]]],
        metrics: Sequence[str | Metric] | str | None,
        confidence: float | None,
        cluster: Any,
    ) -> pd.DataFrame:
        """Return a table of metrics with one row per element of `averages`, which is (average, groups of rows)."""
        parsed = parse_points(self.default_metrics if metrics is None else metrics)
        if confidence is not None:
            check_confidence(confidence)
            clusters = ExampleClusters.of(self.table, cluster)

        def cell(metric: PointMetric, average: str, parts: Sequence[Ids]) -> Cell:
            if confidence is None:
                return Cell.of(self._value(average, metric, parts))
            return Cell.of(self.interval_of(average, metric, parts, confidence, clusters))

        rows = [{str(metric): cell(metric, *part) for metric in parsed} for part in averages]
        counts = [sum(map(len, parts)) for _, parts in averages]
        return metric_frame(index, rows, map(str, parsed), counts, with_intervals=confidence is not None)

    @names_unknown_arguments(names="features=")
    def with_features(
        self, dataset: Dataset | None = None, *, features: Sequence[str] | None = None
    ) -> ClassificationResult:
        """Return a new result with columns computed from the dataset: cardinality, pattern, ...

        Parameters
        ----------
        dataset : Dataset, optional
            The dataset that was classified. Needed only for a result that was loaded from a file; a result of
            `kgeval.classify` has the dataset in memory.
        features : sequence of str, optional
            Their names; see `kgeval.features.columns.features_of`.

        Raises
        ------
        DataError
            If there is no dataset, or the result was computed from another dataset.
        """
        dataset = dataset_of(self.facts, dataset, self._dataset, features or FEATURES)
        names = features_at_hand(dataset, has_sides=False) if features is None else features
        frame, feature_notes = features_of(self.table, None, dataset, names=names)
        return self._with_frame(frame, feature_notes, self.notes)

    def labelled(self) -> pd.DataFrame:
        """Return the table with labels instead of ids."""
        return with_labels(self.table, self.entities, self.relations)

    @names_unknown_arguments()
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the result to one file, by convention with the ending ``.kgeval``; `kgeval.load_result` reads it.

        Parameters
        ----------
        path : path
        overwrite : bool
            Whether to replace an existing file.

        Raises
        ------
        DataError
            If the file exists and `overwrite` is False, or if the file cannot be written.
        """
        arrays, header = pack_classification(self._parts())
        write_result(path, "classification", arrays, header, overwrite)

    def cautions(self, metrics: Sequence[str | Metric] | str) -> list[str]:
        """Return one caution for each average that leaves out relations for which the metric is undefined.

        Parameters
        ----------
        metrics : sequence of str or Metric, or one string with commas
        """
        texts = []
        for metric in parse_points(metrics):
            for average in ("micro", "macro"):
                value = self.value(f"{average}.{metric}")
                if value.excluded and not value.reason:
                    texts.append(
                        f"{average} {metric.heading} leaves out {value.excluded:,} of {len(self._relations):,} "
                        f"relations, for which it is undefined ({percent(value.excluded_weight)} of the test triples)"
                    )
        return list(dict.fromkeys(texts))

    def header(self) -> list[str]:
        """Return the lines above a table of metrics.

        The lines describe dataset, thresholds, negatives, calibration (if any) and dropped triples; cautions follow.
        """
        facts = self.facts
        seed = "" if facts["sample_seed"] is None else f", seed {facts['sample_seed']}"
        # Older files have no key "threshold_at"; their thresholds are scores.
        is_midpoint = facts.get("threshold_at", "score") == "midpoint"
        place = ", at midpoints between scores" if is_midpoint else ""
        n_chosen = int((self.thresholds["source"] == "relation").sum())
        lines = [
            f"{facts['dataset']}: {counted(len(self.entities), 'entity')}, "
            f"{counted(len(self.relations), 'relation')}; test {counted(facts['n_test_positive'], 'positive')} and "
            f"{counted(facts['n_test_negative'], 'negative')}, {sum(self.dropped.values()):,} dropped",
            f"{counted(n_chosen, 'relation with its', 'relations with their')} own threshold, "
            f"{len(self.thresholds) - n_chosen:,} with the global threshold; chosen on valid "
            f"({counted(facts['n_valid_positive'], 'positive')}, {counted(facts['n_valid_negative'], 'negative')})"
            f"{place}",
            f"negatives: {facts['negatives']}{seed}, sha256 {facts['negatives_sha256'][:8]}; "
            f"dataset {facts['dataset_fingerprint'][:8]}, kgeval {facts['version']}",
        ]
        if facts.get("calibrate") is not None:
            share = "as in valid" if facts.get("prior") is None else f"{facts['prior']:g}"
            method = _METHODS.get(facts["calibrate"], facts["calibrate"])
            lines.append(f"probabilities: {method}, fitted on valid; share of true triples: {share}")
        lines += [f"dropped: {counted(n, 'triple')}, {reason}" for reason, n in self.dropped.items()]
        lines += [f"dataset: {observation}" for observation in facts["observations"]]
        return lines + [f"note: {note}" for note in self.notes]

    def _lines(self) -> list[str]:
        """Return the header lines and the cautions of the default metrics."""
        return [*self.header(), *(f"note: {caution}" for caution in self.cautions(self.default_metrics))]


# Checks and returns what `ClassificationResult.save` wrote.
READERS["classification"] = lambda *content: ClassificationResult(**unpack_classification(*content))
