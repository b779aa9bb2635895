"""The runs of each dataset of a benchmark on the same ranks: means, differences and tests; `benchmark` calls it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.benchmarks.runs import Run
from kgeval.checks import check_one_of
from kgeval.comparison import OVERRIDES, SUM_ROUNDING, Alignment, Sample, align, better_models, samples_of
from kgeval.errors import MetricError, ProtocolError
from kgeval.results import EvaluationResult, Key
from kgeval.stats import (
    Runs,
    bounded_joint,
    compare_runs,
    false_discovery_rate,
    holm,
    joint_p_values,
    mean_over_runs,
)

CORRECTIONS = {"holm": "p_holm", "maxt": "p_maxt", "fdr": "p_fdr"}  # the column of each correction
COLUMNS = (
    "model", "dataset", "metric", "n_seeds", "mean", "sd", "low", "high", "error", "freedom", "of_seeds", "of_triples",
    "share_of_seeds", "n", "n_clusters", "n_effective", "reason",
)  # fmt: skip
DIFFERENCE_COLUMNS = (
    "dataset", "metric", "first", "second", "value_first", "value_second", "difference", "low", "high", "error",
    "freedom", "n_first", "n_second", "n_differing", "n_effective", "test", "p", "p_holm", "p_maxt", "p_fdr", "spread",
    "within_spread", "better", "reason",
)  # fmt: skip
NUMBERS = (
    "mean", "sd", "low", "high", "error", "freedom", "of_seeds", "of_triples", "share_of_seeds", "n_effective",
)  # fmt: skip
DIFFERENCE_NUMBERS = (
    "value_first", "value_second", "difference", "low", "high", "error", "freedom", "n_effective", "p", "p_holm",
    "p_maxt", "p_fdr", "spread",
)  # fmt: skip
NO_RUN = "no run"


@dataclass(frozen=True)
class BenchmarkTerms:
    """The settings of a benchmark; see the parameters of `benchmark`."""

    metric: str
    baseline: str | None
    confidence: float
    correction: str
    cluster: str
    intervals: str
    n_resamples: int
    seed: int

    @property
    def alpha(self) -> float:
        """The significance level, 1 - confidence."""
        return round(1.0 - self.confidence, 12)  # 0.05, not 0.050000000000000044


@dataclass(frozen=True, eq=False)
class Part:
    """The runs of one dataset, with their ranks in the same order.

    Parameters
    ----------
    dataset : str
    runs : tuple of Run
    results : tuple of EvaluationResult
        The result of each run.
    alignment : Alignment
    samples : dict of str to Sample
        The observations of each metric.
    keys : dict of str to Key
    """

    dataset: str
    runs: tuple[Run, ...]
    results: tuple[EvaluationResult, ...]
    alignment: Alignment
    samples: dict[str, Sample]
    keys: dict[str, Key]

    def places(self, model: str) -> list[int]:
        """Return the indices of the runs of a model.

        Parameters
        ----------
        model : str
        """
        return [place for place, run in enumerate(self.runs) if run.model == model]

    def value(self, place: int, label: str) -> float:
        """Return the value of a metric in one run.

        Parameters
        ----------
        place : int
            The place of the run in `runs`.
        label : str
            The text of the metric's key.
        """
        return self._plain(place, label)[0]

    def _plain(self, place: int, label: str) -> tuple[float, str]:
        """Return the value of a metric in one run, and the reason if the value is NaN."""
        key, sample = self.keys[label], self.samples[label]
        found = self.results[place].rank_table.value(key, sample.rows[place])
        return found.value, found.reason

    def system(self, model: str, label: str) -> tuple[Runs | None, str]:
        """Return the runs of a model and an empty text; or None, and the reason why there are no runs.

        Parameters
        ----------
        model : str
        label : str
            The text of the metric's key.
        """
        if not self.places(model):
            return None, NO_RUN
        sample, moments = self.samples[label], []
        for place in self.places(model):
            try:
                moments.append(sample.moments(self.results[place], place, self.keys[label]))
            except MetricError as error:  # noqa: PERF203
                return None, f"{self.runs[place].name}: {error}" if len(self.places(model)) > 1 else str(error)
        return Runs(tuple(moments), sample.clusters), ""

    def mean_row(self, model: str, label: str, terms: BenchmarkTerms) -> dict[str, Any]:
        """Return the row of `Benchmark.table` for a model and a metric.

        Parameters
        ----------
        model : str
        label : str
            The text of the metric's key.
        terms : BenchmarkTerms
        """
        sample, key = self.samples[label], self.keys[label]
        row: dict[str, Any] = {"model": model, "dataset": self.dataset, "metric": label}
        row |= {"n_seeds": len(self.places(model)), "n": len(sample), "n_clusters": sample.clusters.count}
        system, reason = self.system(model, label)
        if system is None:
            values = [self._plain(place, label)[0] for place in self.places(model)]
            row["mean"] = float(np.mean(values)) if values else math.nan
            row["sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
            return row | {"reason": reason}
        interval = mean_over_runs(
            system,
            confidence=terms.confidence,
            bounds=key.bounds,
            method=terms.intervals,
            n_resamples=terms.n_resamples,
            seed=terms.seed,
        )
        return row | {
            "mean": interval.value,
            "sd": interval.deviation,
            "low": interval.low,
            "high": interval.high,
            "error": interval.error,
            "freedom": interval.freedom,
            "of_seeds": interval.of_seeds,
            "of_triples": interval.of_triples,
            "share_of_seeds": interval.of_seeds / interval.error**2 if interval.error > 0.0 else math.nan,
            "n_effective": interval.n_effective,
            "reason": interval.reason,
        }


def aligned_parts(
    runs: Mapping[Run, EvaluationResult],
    datasets: Sequence[str],
    keys: dict[str, Key],
    override: Sequence[str],
    terms: BenchmarkTerms,
) -> list[Part]:
    """Return the runs of each dataset, with their ranks in the same order.

    Parameters
    ----------
    runs : mapping of Run to EvaluationResult
    datasets : sequence of str
    keys : dict of str to Key
    override : sequence of str
        As in `kgeval.compare`.
    terms : BenchmarkTerms

    Returns
    -------
    list of Part

    Raises
    ------
    ProtocolError
        If the results of a dataset may not be compared; one error lists the differences within all datasets.
    """
    for name in override:
        check_one_of("override", name, OVERRIDES)
    parts, refusals = [], []
    for dataset in datasets:
        of_dataset = tuple(run for run in runs if run.dataset == dataset)
        results = tuple(runs[run] for run in of_dataset)
        try:
            alignment = align(results, [run.name for run in of_dataset], list(keys.values()), override)
        except ProtocolError as error:
            fingerprints = {result.facts["dataset_fingerprint"] for result in results}
            hint = f"\nif {dataset} is the name of two datasets, give them different names in the mapping"
            refusals.append(f"{dataset}: {error}{hint if len(fingerprints) > 1 else ''}")
            continue
        samples = samples_of(results, alignment.rows, keys, results[0].rank_table.row_clusters(terms.cluster))
        parts.append(Part(dataset, of_dataset, results, alignment, samples, keys))
    if refusals:
        raise ProtocolError("\n".join(refusals))
    return parts


def difference_table(
    parts: Sequence[Part], models: Sequence[str], table: pd.DataFrame, terms: BenchmarkTerms
) -> pd.DataFrame:
    """Return `Benchmark.differences`.

    Parameters
    ----------
    parts : sequence of Part
    models : sequence of str
    table : pandas.DataFrame
        `Benchmark.table`.
    terms : BenchmarkTerms

    Raises
    ------
    MetricError
        If maxT is chosen and clusters overlap.
    """
    label = terms.metric
    if terms.baseline is None:
        pairs = list(itertools.combinations(models, 2))
    else:
        pairs = [(model, terms.baseline) for model in models if model != terms.baseline]
    cells = {(row["model"], row["dataset"]): row for row in table[table["metric"] == label].to_dict("records")}
    records: list[dict[str, Any]] = []
    families: list[list[Runs]] = []
    tested: list[tuple[int, int, int]] = []  # for `joint_p_values`: dataset, first and second system
    places: list[int] = []  # the row of each test
    for part in parts:
        key = part.keys[label]
        systems, reasons = {}, {}
        for model in models:
            system, reasons[model] = part.system(model, label)
            if system is not None:
                systems[model] = system
        order = list(systems)
        for first, second in pairs:
            one, other = cells[first, part.dataset], cells[second, part.dataset]
            spreads = [cell["sd"] for cell in (one, other) if math.isfinite(cell["sd"])]
            record: dict[str, Any] = {"dataset": part.dataset, "metric": label, "first": first, "second": second}
            record |= {"value_first": one["mean"], "value_second": other["mean"]}
            record |= {"difference": one["mean"] - other["mean"], "test": ""}
            record |= {"n_first": one["n_seeds"], "n_second": other["n_seeds"], "n_differing": 0, "reason": ""}
            record["spread"] = max(spreads, default=math.nan)
            record["within_spread"] = bool(abs(record["difference"]) < record["spread"])
            if first in systems and second in systems:
                record |= _compared(systems[first], systems[second], key, terms)
                places.append(len(records))
                tested.append((len(families), order.index(first), order.index(second)))
            else:
                record["reason"] = "; ".join(
                    f"{model}: {reasons[model]}" for model in (first, second) if reasons[model]
                )
            records.append(record)
        families.append([systems[model] for model in order])
    frame = pd.DataFrame(records, columns=list(DIFFERENCE_COLUMNS))
    frame = frame.astype(dict.fromkeys(DIFFERENCE_NUMBERS, np.float64))
    p_values = frame["p"].to_numpy()
    joint = np.full(len(frame), np.nan)
    if tested:
        joint[places] = joint_p_values(families, tested, n_resamples=terms.n_resamples, seed=terms.seed)
    if terms.correction == "maxt" and (np.isnan(joint) & ~np.isnan(p_values)).any():
        raise MetricError(
            "correction='maxt' swaps clusters one by one, but the clusters overlap "
            f"(cluster={terms.cluster!r}, metric {label}); use correction='holm'"
        )
    frame = frame.assign(p_holm=holm(p_values), p_fdr=false_discovery_rate(p_values))
    frame["p_maxt"] = bounded_joint(joint, p_values, frame[["n_first", "n_second"]].to_numpy())
    chosen = frame.assign(p_holm=frame[CORRECTIONS[terms.correction]])
    return frame.assign(better=better_models(chosen, parts[0].keys, terms.alpha))


def _compared(first: Runs, second: Runs, key: Key, terms: BenchmarkTerms) -> dict[str, Any]:
    """Return the columns of `Benchmark.differences` that come from the interval and the test."""
    low, high = key.bounds
    interval = compare_runs(
        first,
        second,
        confidence=terms.confidence,
        bounds=(low - high, high - low),
        method=terms.intervals,
        n_resamples=terms.n_resamples,
        seed=terms.seed,
    )
    is_swapped = max(interval.n_runs) == 1 and not first.clusters.is_crossed
    return {
        "difference": interval.value,
        "low": interval.low,
        "high": interval.high,
        "error": interval.error,
        "freedom": interval.freedom,
        "n_differing": _n_differing(first, second),
        "n_effective": interval.n_effective,
        "p": interval.p_value,
        "test": "swaps" if is_swapped else "t",
        "reason": interval.reason,
    }


def _n_differing(first: Runs, second: Runs) -> int:
    """Return the number of clusters in which the means of two systems over their runs differ."""
    grouping = first.clusters.first
    means = [np.mean([moments.values for moments in runs.moments], axis=0) for runs in (first, second)]
    sums, sizes = grouping.sums(means[0] - means[1]), grouping.sums(np.abs(means[0]) + np.abs(means[1]))
    return int((np.abs(sums) > SUM_ROUNDING * sizes).any(axis=1).sum())
