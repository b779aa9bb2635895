"""Equivalence and non-inferiority of the models of a benchmark; `Benchmark.equivalence` calls this module."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kgeval.checks import check_one_of
from kgeval.comparison import Alignment, check_margin, largest_difference
from kgeval.errors import MetricError
from kgeval.results import EvaluationResult, Key
from kgeval.stats import Support, first_mean, holm, non_inferiority, tost

KINDS = {"equivalence": "equivalent", "non-inferiority": "non_inferior"}  # the column with the answer of each kind
NO_ERROR = "the difference has no standard error"


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
    key, records = benchmark.keys[benchmark.metric], []
    compared = _compared(benchmark)
    for dataset, one in compared.items():
        _check_margin(dataset, one, key, margin)
    largest = {dataset: _largest_difference(one, key) for dataset, one in compared.items()}
    for row in benchmark.differences.to_dict("records"):
        record = {name: row[name] for name in ("dataset", "metric", "first", "second", "difference")}
        record |= {"margin": margin, "low": np.nan, "high": np.nan, "p": np.nan}
        if np.isnan(row["error"]):
            records.append(record | {"reason": row["reason"] or NO_ERROR})
            continue
        support = Support(int(row["n_differing"]), float(row["n_effective"]), largest[row["dataset"]])
        numbers = (row["difference"], row["error"], row["freedom"], margin)
        if kind == "equivalence":
            test = tost(*numbers, alpha=benchmark.alpha, support=support)
        else:
            better = key.higher_is_better
            test = non_inferiority(*numbers, higher_is_better=better, alpha=benchmark.alpha, support=support)
        records.append(record | {"low": test.low, "high": test.high, "p": test.p_value, "reason": test.reason})
    columns = ["dataset", "metric", "first", "second", "difference", "margin", "low", "high", "p", "reason"]
    frame = pd.DataFrame(records, columns=columns)
    corrected = holm(frame["p"].to_numpy(dtype=np.float64))
    frame.insert(len(columns) - 1, "p_equivalence", corrected)
    frame.insert(len(columns), KINDS[kind], corrected <= benchmark.alpha)
    return frame


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
    return largest_difference(compared, key) if any(_is_mean(result, key) for result in compared.results) else np.inf


def _is_mean(result: EvaluationResult, key: Key) -> bool:
    try:
        return result.rank_table.moments(key).finish is first_mean
    except MetricError:  # undefined in this run
        return False
