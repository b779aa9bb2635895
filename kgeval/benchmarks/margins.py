"""Equivalence and non-inferiority of the models of a benchmark; `Benchmark.equivalence` calls this module."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd

from kgeval.checks import check_one_of
from kgeval.comparison.margins import KINDS, check_margin, largest_difference, margin_rows
from kgeval.comparison.rows import Pair, row_of
from kgeval.errors import MetricError
from kgeval.stats.moments import first_mean
from kgeval.stats.paired import Difference


def benchmark_equivalence(benchmark: Any, margin: float, kind: str = "equivalence") -> pd.DataFrame:
    """Return `Benchmark.equivalence`.

    Parameters
    ----------
    benchmark : Benchmark
    margin : float
    kind : str
        One of `KINDS`.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    MetricError
        If the kind is unknown, or the margin is not above 0, or not below the largest possible difference.
    """
    check_one_of("kind", kind, KINDS, MetricError)
    key, baseline = benchmark.keys[benchmark.metric], benchmark.terms.baseline
    if kind == "non-inferiority" and baseline is None:
        raise MetricError(
            "non-inferiority needs a reference: the model to which the others must not be inferior; call "
            "benchmark(..., baseline=NAME)"
        )
    largest = {dataset: _largest(benchmark, dataset, margin) for dataset in benchmark.alignments}
    pairs = []
    for row in benchmark.differences.to_dict("records"):
        if baseline is not None and row["first"] == baseline:
            row = row_of(benchmark.differences, benchmark.metric, row["second"], baseline, row["dataset"])
        names, values, n_runs = ((row[f"{of}first"], row[f"{of}second"]) for of in ("", "value_", "n_"))
        found, reason = None, row["reason"]
        if not math.isnan(row["error"]):
            sizes = row["n_clusters"], row["n_differing"], row["n_effective"]
            found, reason = Difference(row["difference"], row["error"], row["freedom"], row["p"], *sizes), ""
        scale, more = (key.higher_is_better, key.bounds), {"n": row["n"]}
        made = Pair(row["dataset"], row["metric"], names, values, found, *scale, n_runs, reason, more)
        pairs.append(replace(made, largest=largest[row["dataset"]]))
    return margin_rows(pairs, [margin] * len(pairs), kind, benchmark.alpha)


def _largest(benchmark: Any, dataset: str, margin: float) -> float:
    """Check the margin; return the largest possible difference in one observation of a dataset (`Pair.largest`)."""
    key = benchmark.keys[benchmark.metric]
    results = [result for run, result in benchmark.results.items() if run.dataset == dataset]
    largest = largest_difference(key, results, benchmark.alignments[dataset].rows)
    try:
        check_margin(key, margin, largest)
    except MetricError as error:
        raise MetricError(f"{dataset}: {error}") from None
    try:
        is_mean = all(result.rank_table.moments(key).finish is first_mean for result in results)
    except MetricError:  # undefined in a run
        is_mean = False
    return largest if is_mean else math.inf
