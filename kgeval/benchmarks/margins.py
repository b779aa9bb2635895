"""Equivalence and non-inferiority of the models of a benchmark; `Benchmark.equivalence` calls this module."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kgeval.checks import check_one_of
from kgeval.comparison import Alignment, MarginPair, Pair, check_margin, largest_difference, margin_rows, row_of
from kgeval.errors import MetricError
from kgeval.results import EvaluationResult, Key
from kgeval.stats import Difference, first_mean

KINDS = ("equivalence", "non-inferiority")


class _Compared(NamedTuple):
    """The results of one dataset and their ranks, as `check_margin` reads them."""

    results: tuple[EvaluationResult, ...]
    alignment: Alignment


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
    compared = _compared(benchmark)
    for dataset, one in compared.items():
        _check_margin(dataset, one, key, margin)
    largest = {dataset: _largest_difference(one, key) for dataset, one in compared.items()}
    pairs = []
    for row in benchmark.differences.to_dict("records"):
        if baseline is not None and row["first"] == baseline:
            row = row_of(benchmark.differences, benchmark.metric, row["second"], baseline, row["dataset"])
        found = None
        if not math.isnan(row["error"]):
            sizes = row["n_clusters"], row["n_differing"], row["n_effective"]
            found = Difference(row["difference"], row["error"], row["freedom"], row["p"], *sizes)
        pair = Pair(
            row["dataset"],
            row["metric"],
            row["first"],
            row["second"],
            (row["value_first"], row["value_second"]),
            found,
            key.higher_is_better,
            key.bounds,
            (row["n_first"], row["n_second"]),
            row["reason"] if found is None else "",
            {"n": row["n"]},
        )
        pairs.append(MarginPair(pair, largest[row["dataset"]]))
    return margin_rows(pairs, [margin] * len(pairs), kind, benchmark.alpha)


def _compared(benchmark: Any) -> dict[str, _Compared]:
    """Return the results and the ranks of each dataset."""
    return {
        dataset: _Compared(tuple(result for run, result in benchmark.results.items() if run.dataset == dataset), found)
        for dataset, found in benchmark.alignments.items()
    }


def _check_margin(dataset: str, compared: _Compared, key: Key, margin: float) -> None:
    """Raise a MetricError if a margin is not above 0, or not below the largest possible difference on a dataset."""
    try:
        check_margin(compared, key, margin)
    except MetricError as error:
        raise MetricError(f"{dataset}: {error}") from None


def _largest_difference(compared: _Compared, key: Key) -> float:
    """Return the largest possible difference of a metric in one observation; infinite unless the metric is a mean."""
    return largest_difference(compared, key) if all(_is_mean(result, key) for result in compared.results) else np.inf


def _is_mean(result: EvaluationResult, key: Key) -> bool:
    try:
        return result.rank_table.moments(key).finish is first_mean
    except MetricError:  # undefined in this run
        return False
