"""compare_classifications() and ClassificationComparison: paired comparison of classified examples.

Users and the command ``kgeval compare`` call `compare_classifications`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_positive_int, check_seed, counted, names_unknown_arguments, with_old_names
from kgeval.base.terminal import Screen
from kgeval.classification.classification_result import CLASSIFIED_METRICS, ClassificationResult
from kgeval.classification.example_clusters import ExampleClusters, interval_lines
from kgeval.classification.point_keys import split_average
from kgeval.comparison.alignment import values_by_name
from kgeval.comparison.names import several_results
from kgeval.comparison.rows import Compared, Pair, alpha_of, decided_rows, interval_words, pairs_of, trained_words
from kgeval.comparison.verdict import Sentence
from kgeval.display import html
from kgeval.display.differences import screen_differences, shown_differences
from kgeval.display.html_tables import html_table
from kgeval.display.media import frame_panel, frame_text
from kgeval.display.table import heading_of
from kgeval.errors import MetricError, ProtocolError
from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.metric_frames import Cell, metric_frame
from kgeval.metrics.pointwise.base import PointMetric
from kgeval.results.rank_table import CONFIDENCE
from kgeval.stats.intervals import check_confidence
from kgeval.stats.macro_difference import compare_macro
from kgeval.stats.moments import Moments
from kgeval.stats.paired import Difference, compare_paired

NO_DIRECTION = "values above and below {best:g} are both worse, so a difference does not show which model is better"
NOT_CORRECTED = "p is not corrected, and the test does not count in p_corrected"
EXAMPLE = ["s", "p", "o", "label"]
# Facts that must be equal: heading in messages -> tuple of three: key in `facts`; value for older files without this
# key; the kinds of predictions (`PointMetric.needs`) whose metrics depend on the fact, or None for all kinds.
_FACTS: dict[str, tuple[str, Any, tuple[str, ...] | None]] = {
    "dataset": ("dataset_fingerprint", None, None),
    "negatives": ("negatives_sha256", None, None),
    "threshold_at": ("threshold_at", "score", ("decisions",)),
    "calibrate": ("calibrate", None, ("probabilities", "values")),
    "prior": ("prior", None, ("probabilities", "values")),
}


@with_old_names(table="differences, where p_holm is p_corrected")
@dataclass(frozen=True, eq=False)
class ClassificationComparison(Compared):
    """Differences between classifications of the same examples; `kgeval.compare_classifications` returns it.

    Parameters
    ----------
    differences : pandas.DataFrame
        One row per pair of results and metric, with the columns of `kgeval.compare`: the model with the better value in
        the first metric stands first. ``n`` is the number of examples. Metrics without a direction (PCOPC: values above
        and below 1 are both worse) are no tests, and have no ``p_corrected``; macro averages have no ``detectable``.
    values : pandas.DataFrame
        One row per model. Columns: each metric under its key, the limits of its interval ``"<metric> low"`` and
        ``"<metric> high"``, and ``reason``.
    names : tuple of str
    keys : dict of str to (str, PointMetric)
        The compared metrics: key -> average (``"micro"`` or ``"macro"``) and metric.
    results : tuple of ClassificationResult
    clusters : ExampleClusters
        The clusters of the rows of the first result.
    confidence : float
    n_resamples, seed : int
        Number and seed of the random swaps.
    """

    differences: pd.DataFrame
    values: pd.DataFrame
    names: tuple[str, ...]
    keys: dict[str, tuple[str, PointMetric]]
    results: tuple[ClassificationResult, ...]
    clusters: ExampleClusters
    confidence: float
    n_resamples: int
    seed: int

    @property
    def alpha(self) -> float:
        """1 - confidence: a difference is decided if its ``p_corrected`` is at most `alpha`."""
        return alpha_of(self.confidence)

    @cached_property
    def verdict(self) -> str:
        """The result of the comparison for the first metric, as one sentence."""
        label, (_, metric) = next(iter(self.keys.items()))
        values, heading = dict(zip(self.names, self.values[label].tolist())), heading_of(label)
        rows = self.differences[self.differences["metric"] == label]
        undefined = [name for name, value in values.items() if not math.isfinite(value)]
        if undefined:
            return f"No verdict on {heading}: {undefined[0]} has no {heading}"
        if not _has_direction(metric):
            return f"No verdict on {heading}: {NO_DIRECTION.format(best=metric.best)}"
        sentence = Sentence(label, bool(metric.higher_is_better), values, rows, self.alpha)
        return "; ".join([*sentence.clauses(), *trained_words(rows)])

    def header(self) -> list[str]:
        """Return lines of text about the compared examples, and about the computation of intervals and p-values."""
        first = self.results[0]
        shown, conditional = interval_lines(self.clusters, self.confidence)
        n_positive = int(first.table["label"].sum())
        undirected = [heading_of(label) for label, (_, metric) in self.keys.items() if not _has_direction(metric)]
        corrected = "all of them"
        if undirected:
            corrected = f"all but {' and '.join(undirected)}, which cannot show which model is better"
        return [
            f"{first.facts['dataset']}: {counted(n_positive, 'positive')} and "
            f"{counted(len(first.table) - n_positive, 'negative')} of test, the same in all models; negatives "
            f"{first.facts['negatives_sha256'][:8]}, dataset {first.facts['dataset_fingerprint'][:8]}",
            shown,
            f"tested: {counted(len(self.differences), 'difference')}, by {self.n_resamples:,} swaps of whole clusters "
            f"(seed {self.seed}) or, for metrics without a swap test, by Student's t; p (Holm) is corrected for "
            f"{corrected}; {interval_words(self.differences, self.alpha)}",
            f"note: {conditional}",
        ]

    def __repr__(self) -> str:
        screen = replace(Screen.of(sys.stdout), has_styles=False)
        parts = [frame_text([self.verdict], self.values), screen_differences(self.differences, self.alpha, screen)]
        return "\n\n".join([*parts, screen.lines(self.header())])

    def _repr_html_(self) -> str:
        differences = shown_differences(self.differences.to_dict("records"), self.alpha)
        return html.panel(
            self.verdict,
            frame_panel(self.values),
            html.folded(counted(len(self.differences), "test"), html_table(differences), is_open=True),
            html.folded("Examples, test and notes", html.lines(self.header())),
        )


@names_unknown_arguments(seed="resample_seed=")
def compare_classifications(
    results: Sequence[ClassificationResult] | Mapping[str, ClassificationResult],
    names: Sequence[str] | None = None,
    *,
    metrics: Sequence[str | Metric] | str | None = None,
    baseline: str | None = None,
    confidence: float = CONFIDENCE,
    cluster: Any = None,
    n_resamples: int = 9999,
    resample_seed: int = 0,
) -> ClassificationComparison:
    """Compare classifications of the same examples by paired tests and intervals of the differences.

    Metrics that are functions of means over examples (accuracy, F1, log loss, ...) are tested by a randomization test:
    a swap exchanges the predictions of both models for whole clusters of examples. Metrics that depend on the order of
    all examples (AUC, AP, GAUC) and macro averages are tested by Student's t, with the standard error of the
    difference; for the AUC this is the test of DeLong et al. Thresholds are treated as fixed.

    Parameters
    ----------
    results : sequence of ClassificationResult, or mapping of name to ClassificationResult
        At least two. Their examples must be the same triples with the same labels; ids and order of rows may differ.
    names : sequence of str, optional
        One per result; by default the keys of `results`, else the names of the scorers, numbered if they are equal.
    metrics : sequence of str or Metric, or one string with commas, optional
        ``[average.]metric``, as in `ClassificationResult.value`; by default the default metrics that all
        results share.
    baseline : str, optional
        The name of a result. Each other result is compared only with this one. By default, all pairs are compared.
    confidence : float
        Nominal coverage. A difference is undecided unless its p-value, corrected by Holm's method, is at most
        ``1 - confidence``. Metrics without a direction (PCOPC) are always undecided, and do not count as tests.
    cluster : str or array_like, shape (rows of the first result,), optional
        As in `ClassificationResult.interval`. Clusters that overlap (``"entity"``) are tested by Student's t.
    n_resamples : int
        Number of random swaps of the test.
    resample_seed : int
        Seed of the random swaps.

    Returns
    -------
    ClassificationComparison

    Raises
    ------
    ProtocolError
        If there are fewer than two results, if a result is not a ClassificationResult, or if the results differ
        in examples or settings; the message lists every difference.
    MetricError
        If a metric, the cluster or a number is not valid.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated Receiver Operating
    Characteristic Curves: A Nonparametric Approach, Biometrics 44. Phipson & Smyth (2010), Permutation P-values Should
    Never Be Zero. Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.

    Examples
    --------
    >>> import kgeval as kg
    >>> true = [[s, 0, o] for s in range(10) for o in (1, 12, 13, 14, 15)]
    >>> false = [[s, 0, o] for s in range(10) for o in (0, 2, 3, 4, 19)]
    >>> dataset = kg.Dataset.from_arrays(valid=true, test=true, n_entities=20, n_relations=1)
    >>> negatives = {"valid": false, "test": false}
    >>> scorers = {"object": lambda s, p, o: o, "low": lambda s, p, o: 1.0 * ((o < 10) | (o == 19))}
    >>> results = {name: kg.classify(scorer, dataset, negatives) for name, scorer in scorers.items()}
    >>> compare_classifications(results, metrics="accuracy").verdict.partition(";")[0]
    'object beats low: accuracy 0.8000 against 0.5000, +0.3000 [+0.1707, +0.4293], p < 0.0001'
    """
    named = several_results("compare_classifications", results, names, ClassificationResult)
    names, results = tuple(named), tuple(named.values())
    keys = _read_keys(results, metrics)
    check_confidence(confidence)
    check_positive_int("n_resamples", n_resamples, MetricError)
    check_seed(resample_seed, MetricError, "resample_seed")
    rows = _pair_examples(results, names, [metric for _, metric in keys.values()])
    clusters = _clusters(results, rows, cluster)
    # The rows of all results in the order of the first one, without added columns.
    aligned = [
        result.__replace__(table=result.table.iloc[order].reset_index(drop=True), columns=None)
        for result, order in zip(results, rows)
    ]
    settings = {"n_resamples": n_resamples, "seed": resample_seed, "largest_level": alpha_of(confidence)}
    compared = []
    for i, j in pairs_of(names, baseline):
        compared += _compare_pair((aligned[i], aligned[j]), (names[i], names[j]), keys, clusters, settings)
    table = decided_rows(compared, alpha_of(confidence))
    intervals = [
        {
            label: Cell.of(one.interval_of(*key, one.parts_of(key[0]), confidence, clusters))
            for label, key in keys.items()
        }
        for one in aligned
    ]
    values = metric_frame(pd.Index(list(names), name="model", dtype=object), intervals, keys, with_intervals=True)
    return ClassificationComparison(
        table, values, names, keys, results, clusters, confidence, n_resamples, resample_seed
    )


def _pair_examples(
    results: Sequence[ClassificationResult], names: Sequence[str], metrics: Sequence[PointMetric]
) -> list[Ids]:
    """Return, for each result, the row numbers that sort its table into the order of the first result.

    Parameters
    ----------
    results : sequence of ClassificationResult
        At least one.
    names : sequence of str
        The name of each result, for the message.
    metrics : sequence of PointMetric
        The metrics to compare. Some facts must be equal only for some metrics: for example, the place of the thresholds
        only for metrics of decisions.

    Returns
    -------
    list of int64 array, shape (examples,)

    Raises
    ------
    ProtocolError
        If the results differ in dataset, negatives, settings or examples; the message lists every difference.
    """
    needs = {metric.needs for metric in metrics}
    differences = []
    for heading, (key, absent, kinds) in _FACTS.items():
        if kinds is None or needs & set(kinds):
            values = [str(result.facts.get(key, absent)) for result in results]
            n_shown = 8 if heading in ("dataset", "negatives") else None  # characters of a fingerprint
            said = values_by_name([value[:n_shown] for value in values], names)
            differences += [f"{heading}: {said}"] if said else []
    keys = [_keys(result) for result in results]
    rows = [keys[0].get_indexer(other) for other in keys]
    for name, found in zip(names[1:], rows[1:]):
        missing, further = len(keys[0]) - int((found >= 0).sum()), int((found < 0).sum())
        if missing or further:
            differences.append(
                f"examples: {counted(missing, 'triple')} only in {names[0]}, {further:,} only in {name} (an example "
                "is a triple and its label; triples without a vector are dropped)"
            )
    if differences:
        lines = f"{', '.join(names)} cannot be compared; they differ in", *(f"  {said}" for said in differences)
        raise ProtocolError("\n".join([*lines, "classify with the same dataset, negatives and settings"]))
    return [np.argsort(found, kind="stable") for found in rows]


def _keys(result: ClassificationResult) -> pd.MultiIndex:
    """Return the example of each row: labels of the triple, truth, and how many earlier rows have the same example."""
    examples = result.labelled()[EXAMPLE].astype(dict.fromkeys("spo", object))
    examples["repeat"] = result.table.groupby(EXAMPLE, sort=False).cumcount().to_numpy()
    return pd.MultiIndex.from_frame(examples)


def _read_keys(
    results: Sequence[ClassificationResult], metrics: Sequence[str | Metric] | str | None
) -> dict[str, tuple[str, PointMetric]]:
    """Return the metrics to compare: key -> (average, metric); by default the default metrics shared by all results."""
    if metrics is None:
        of_all = [set(result.default_metrics) for result in results]
        metrics = [name for name in results[0].default_metrics if all(name in shown for shown in of_all)]
    parsed = [split_average(key) for key in split_list(metrics)]
    if not parsed:
        raise MetricError(f"metrics is empty; name at least one, such as {CLASSIFIED_METRICS[0]!r}")
    return {f"{average}.{metric}".removeprefix("micro."): (average, metric) for average, metric in parsed}


def _clusters(results: Sequence[ClassificationResult], rows: Sequence[Ids], cluster: Any) -> ExampleClusters:
    """Return the clusters of the examples, in the order of the first result.

    The clusters are computed from the first result whose table has the column ``positive``. If no table has this
    column, or if `cluster` is an array, the clusters are computed from the first of all results.
    """
    with_positives = [k for k, result in enumerate(results) if "positive" in result.table]
    holder = with_positives[0] if with_positives and (cluster is None or isinstance(cluster, str)) else 0
    found = ExampleClusters.of(results[holder].table, cluster)
    return replace(found, labels=tuple(labels[rows[holder]] for labels in found.labels))


def _compare_pair(
    pair: tuple[ClassificationResult, ClassificationResult],
    names: tuple[str, str],
    keys: Mapping[str, tuple[str, PointMetric]],
    clusters: ExampleClusters,
    settings: Mapping[str, Any],
) -> list[Pair]:
    """Return the pair in each metric, in the order of `keys`."""
    all_rows = np.arange(len(pair[0].table))
    among = clusters.among([all_rows])
    # For each test, the metrics that it compares: key -> the moments of both models.
    of_test: dict[str, dict[str, tuple[Moments, Moments]]] = {"swaps": {}, "t": {}}
    values = {label: [result.value(label) for result in pair] for label in keys}
    reasons = {label: values[label][0].reason or values[label][1].reason for label in keys}
    found: dict[str, Difference] = {}
    for label, (average, metric) in keys.items():
        if reasons[label]:
            continue
        try:
            if average == "macro":
                found[label] = _macro_difference(pair, metric, clusters)
            else:
                moments = pair[0].moments(metric, all_rows), pair[1].moments(metric, all_rows)
                of_test["swaps" if metric.is_of_means and not among.is_crossed else "t"][label] = moments
        except MetricError as error:
            reasons[label] = str(error)
    for test, compared in of_test.items():
        if compared:
            firsts, seconds = zip(*compared.values())
            found |= dict(zip(compared, compare_paired(firsts, seconds, among, test=test, **settings)))
    dataset, pairs = str(pair[0].facts["dataset"]), []
    for label, (_, metric) in keys.items():
        one, other = (value.value for value in values[label])
        difference, reason = found.get(label), reasons[label]
        if not reason and not _has_direction(metric):
            reason = f"{NO_DIRECTION.format(best=metric.best)}; {NOT_CORRECTED}"
        if metric.no_interval and difference is not None:
            difference, reason = replace(difference, error=math.nan, reason=metric.no_interval), metric.no_interval
        scale = metric.higher_is_better if _has_direction(metric) else None, metric.bounds
        more = {"n": len(all_rows), **({} if difference is not None else {"n_clusters": among.count})}
        pairs.append(Pair(dataset, label, names, (one, other), difference, *scale, reason=reason, more=more))
    return pairs


def _macro_difference(
    pair: tuple[ClassificationResult, ClassificationResult], metric: PointMetric, clusters: ExampleClusters
) -> Difference:
    """Return the difference between two macro averages; the relations are treated as fixed.

    Raises a MetricError if the metric is defined for different relations in the two models, because the two averages
    are then over different relations.
    """
    parts = pair[0].parts_of("macro")
    defined = [[not result.value_of(metric, rows).reason for rows in parts] for result in pair]
    if defined[0] != defined[1]:
        raise MetricError("the metric is defined for different relations in the two models")
    if metric.no_interval:
        raise MetricError(metric.no_interval)
    parts = [rows for rows, is_defined in zip(parts, defined[0]) if is_defined]
    firsts, seconds = ([result.moments(metric, rows) for rows in parts] for result in pair)
    return compare_macro(firsts, seconds, clusters.among(parts))


def _has_direction(metric: PointMetric) -> bool:
    """Return whether the best value is the smallest or largest possible value, so that one direction is better."""
    return metric.best in metric.bounds
