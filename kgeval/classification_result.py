"""ClassificationResult: test triples with scores, thresholds and decisions, and every metric of them on demand."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_one_of
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, MetricValue, split_list
from kgeval.metrics.decisions import DecisionMetric
from kgeval.metrics.examples import DEFAULT_THRESHOLD
from kgeval.metrics.list_metric import AVERAGES
from kgeval.metrics.pointwise import POINTS, PointMetric
from kgeval.triples import Vocabulary, group_rows

DEFAULT_METRICS = ("accuracy", "f1", "precision", "recall", "auc", "ap")
BREAKDOWNS = ("relation",)
COLUMNS = {"decisions": "predicted", "scores": "score", "probabilities": "probability", "values": "probability"}
NO_PROBABILITIES = (
    "scores are no probabilities; fit some on validation: classify(..., calibrate='platt') or 'isotonic' (--calibrate)"
)


@dataclass(frozen=True, eq=False)
class ClassificationResult:
    """True and false test triples told apart by thresholds that were chosen on validation.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per test triple, positives first: ``s, p, o`` (ids), ``label`` (bool), ``score`` and ``threshold``
        (float64), ``predicted`` (bool: score >= threshold), and ``probability`` if it was calibrated.
    thresholds : pandas.DataFrame
        One row per relation (label) of validation or test: ``threshold``, ``n_valid_positive``, ``n_valid_negative``,
        ``source`` (``"relation"``, or ``"global"`` where validation lacks examples of both classes), ``n_test``.
    global_threshold : float
        Chosen on all validation examples together.
    entities, relations : Vocabulary
    about : dict
        JSON-able: dataset and its fingerprint, the negatives' source, seed and SHA-256, scorer, calibration, kgeval's
        version, and how many examples there are.
    dropped : dict of str to int
        Examples that were not scored, by split and reason.
    notes : tuple of str
        Cautions that belong to the numbers.

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

    table: pd.DataFrame
    thresholds: pd.DataFrame
    global_threshold: float
    entities: Vocabulary
    relations: Vocabulary
    about: dict[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: str | Metric) -> float:
        return self.value(key).value

    def value(self, key: str | Metric) -> MetricValue:
        """Return the number of `key`, or NaN with the reason.

        Parameters
        ----------
        key : str or Metric
            ``[average.]metric``. ``micro`` (default): of all test triples together. ``macro``: the mean over the
            relations of test that have a value; the others are counted in ``excluded``.

        Raises
        ------
        MetricError
            If the key cannot be read, or the metric brings a threshold of its own.
        """
        average = "micro"
        if isinstance(key, str) and key.strip().lower().startswith(tuple(f"{name}." for name in AVERAGES)):
            average, _, key = key.strip().lower().partition(".")
        metric = _parse(key)
        return self._compute(metric, self.table) if average == "micro" else self._macro(metric)

    def _compute(self, metric: PointMetric, rows: pd.DataFrame) -> MetricValue:
        """Return the metric of some rows of the table."""
        if self._lacks(metric):
            return MetricValue.undefined(NO_PROBABILITIES)
        groups = rows["p"].to_numpy() if metric.takes_groups else None
        return metric.compute(rows["label"].to_numpy(), rows[COLUMNS[metric.needs]].to_numpy(), groups)

    def _lacks(self, metric: PointMetric) -> bool:
        return COLUMNS[metric.needs] not in self.table

    def _macro(self, metric: PointMetric) -> MetricValue:
        if self._lacks(metric):
            return MetricValue.undefined(NO_PROBABILITIES)
        parts = self._parts.values()
        found = [self._compute(metric, rows) for rows in parts]
        defined = [one.value for one in found if not one.reason]
        n_out = len(found) - len(defined)
        weight_out = sum(len(rows) for rows, one in zip(parts, found) if one.reason) / len(self.table)
        if not defined:
            reasons = list(dict.fromkeys(one.reason for one in found))
            return MetricValue.undefined(f"no relation has a value: {'; '.join(reasons)}", n_out, weight_out)
        return MetricValue(float(np.mean(defined)), "", n_out, weight_out)

    @cached_property
    def _parts(self) -> dict[str, pd.DataFrame]:
        """The rows of each relation of test under its label, most rows first."""
        p = self.table["p"].to_numpy()
        order, starts = group_rows(p)
        parts = sorted(np.split(order, starts[1:-1]), key=lambda rows: -len(rows))
        return {self.relations.labels[p[rows[0]]]: self.table.iloc[rows] for rows in parts}

    def summary(self, metrics: Sequence[str | Metric] | str = DEFAULT_METRICS) -> pd.DataFrame:
        """Return a table of metrics: rows micro and macro, columns n (test triples) and metrics.

        Undefined values are NaN; ``frame.attrs["reasons"]`` says why.
        """
        parsed, n = parse_points(metrics), len(self.table)
        rows = {
            "micro": (n, [self._compute(metric, self.table) for metric in parsed]),
            "macro": (n, [self._macro(metric) for metric in parsed]),
        }
        return _frame("average", rows, parsed)

    def by(self, column: str, metrics: Sequence[str | Metric] | str = DEFAULT_METRICS) -> pd.DataFrame:
        """Return metrics per group of test triples.

        Parameters
        ----------
        column : str
            ``"relation"``.
        metrics : sequence of str or Metric, or one string with commas

        Returns
        -------
        pandas.DataFrame
            Indexed by relation label, columns n and metrics, most triples first.
        """
        check_one_of("by", column, BREAKDOWNS, MetricError)
        parsed = parse_points(metrics)
        rows = {
            label: (len(part), [self._compute(metric, part) for metric in parsed])
            for label, part in self._parts.items()
        }
        return _frame(column, rows, parsed)

    def labelled(self) -> pd.DataFrame:
        """Return the table with labels in place of ids."""
        frame = self.table.copy()
        for column, vocabulary in (("s", self.entities), ("p", self.relations), ("o", self.entities)):
            frame[column] = np.array(vocabulary.labels, dtype=object)[frame[column].to_numpy()]
        return frame

    def cautions(self, metrics: Sequence[str | Metric] | str) -> list[str]:
        """Return what must be known about the values of `metrics`: relations that a mean leaves out."""
        said = []
        for metric in parse_points(metrics):
            for average, found in (("micro", self._compute(metric, self.table)), ("macro", self._macro(metric))):
                if found.excluded and not found.reason:
                    said.append(
                        f"{average} {metric.heading} leaves out {found.excluded:,} of {len(self._parts):,} relations "
                        f"without a value ({found.excluded_weight:.1%} of the test triples)"
                    )
        return list(dict.fromkeys(said))

    def head(self) -> list[str]:
        """Return the lines that say what the numbers are of."""
        about = self.about
        seed = "" if about["seed"] is None else f", seed {about['seed']}"
        n_own = int((self.thresholds["source"] == "relation").sum())
        lines = [
            f"{about['dataset']}: {len(self.entities):,} entities, {len(self.relations):,} relations; "
            f"test {about['n_test_positive']:,} positives and {about['n_test_negative']:,} negatives, "
            f"{sum(self.dropped.values()):,} dropped",
            f"{n_own:,} thresholds of relations and {len(self.thresholds) - n_own:,} global ones, from valid "
            f"({about['n_valid_positive']:,} and {about['n_valid_negative']:,})",
            f"negatives: {about['negatives']}{seed}, sha256 {about['negatives_sha256'][:8]}; "
            f"dataset {about['dataset_fingerprint'][:8]}, kgeval {about['version']}",
        ]
        lines += [f"dropped: {n:,} triples, {reason}" for reason, n in self.dropped.items()]
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


def _parse(key: str | Metric) -> PointMetric:
    metric = POINTS.parse(key)
    if isinstance(metric, DecisionMetric) and metric.threshold != DEFAULT_THRESHOLD:
        raise MetricError(
            f"{metric} brings a threshold of its own, but triples are classified by those chosen on validation; "
            f"ask for {metric.name!r}"
        )
    return metric


def parse_points(metrics: Sequence[str | Metric] | str) -> list[PointMetric]:
    """Return the metrics of a sequence, or of one string with commas, that can be asked of decisions already made."""
    return [_parse(metric) for metric in (split_list(metrics) if isinstance(metrics, str) else metrics)]


def _frame(name: str, rows: dict[str, tuple[int, list[MetricValue]]], metrics: list[PointMetric]) -> pd.DataFrame:
    """Return one row per label, columns n and metrics, with the reasons of NaN in ``attrs``."""
    headings = [metric.heading for metric in metrics]
    records = [{"n": n, **dict(zip(headings, (one.value for one in found)))} for n, found in rows.values()]
    index = pd.Index(list(rows), name=name, dtype=object)
    frame = pd.DataFrame(records, index=index, columns=["n", *dict.fromkeys(headings)])
    frame.attrs["reasons"] = {
        (label, heading): one.reason
        for label, (_, found) in rows.items()
        for heading, one in zip(headings, found)
        if one.reason
    }
    return frame
