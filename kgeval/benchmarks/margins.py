"""Equivalence and non-inferiority of the models of a benchmark; `Benchmark.equivalence` calls this module."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from kgeval.base.checks import check_one_of
from kgeval.benchmarks.cells import DatasetRuns
from kgeval.comparison.margins import KINDS, check_margin, largest_difference, margin_rows, with_support
from kgeval.comparison.rows import Pair, row_of
from kgeval.errors import MetricError
from kgeval.stats.paired import Difference

if TYPE_CHECKING:  # these modules import this one
    from kgeval.benchmarks.model_benchmark import Benchmark


def benchmark_equivalence(benchmark: Benchmark, margin: float, kind: str = "equivalence") -> pd.DataFrame:
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
    systems: dict[tuple[str, str], Any] = {}
    largest: dict[str, float] = {}
    for dataset, alignment in benchmark.alignments.items():
        part = DatasetRuns.of(dataset, benchmark.results, alignment, {benchmark.metric: key}, benchmark.terms.cluster)
        largest[dataset] = largest_difference(key, part.results, alignment.rows)
        try:
            check_margin(key, margin, largest[dataset])
        except MetricError as error:
            raise MetricError(f"{dataset}: {error}") from None
        systems |= {(model, dataset): part.system(model, benchmark.metric)[0] for model in benchmark.models}
    pairs = []
    for row in benchmark.differences.to_dict("records"):
        if baseline is not None and row["first"] == baseline:
            row = row_of(benchmark.differences, benchmark.metric, row["second"], baseline, row["dataset"])
        names, values, n_runs = ((row[f"{of}first"], row[f"{of}second"]) for of in ("", "value_", "n_"))
        dataset, scale, more = row["dataset"], (key.higher_is_better, key.bounds), {"n": row["n"]}
        pair = Pair(dataset, row["metric"], names, values, None, *scale, n_runs, row["reason"], more)
        if not math.isnan(row["error"]):
            sizes = row["n_clusters"], row["n_differing"], row["n_effective"]
            found = Difference(row["difference"], row["error"], row["freedom"], row["p"], *sizes)
            of_pair = [systems[name, dataset] for name in names]
            pair = with_support(replace(pair, difference=found, reason=""), of_pair, largest[dataset])
        pairs.append(pair)
    return margin_rows(pairs, [margin] * len(pairs), kind, benchmark.alpha)
