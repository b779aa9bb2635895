"""Equivalence and non-inferiority of the models of a benchmark; `Benchmark.equivalence` calls `equivalence_table`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kgeval.checks import check_one_of
from kgeval.comparison import Alignment, check_margin
from kgeval.errors import MetricError
from kgeval.results import EvaluationResult
from kgeval.stats import Support, first_mean, holm, non_inferiority, tost

KINDS = {"equivalence": "equivalent", "non-inferiority": "non_inferior"}  # the column with the answer of each kind
NO_ERROR = "the difference has no standard error"


class _Compared(NamedTuple):
    """The results of one dataset and their ranks, as `check_margin` reads them."""

    results: tuple[EvaluationResult, ...]
    alignment: Alignment


def equivalence_table(benchmark: Any, margin: float, kind: str = "equivalence") -> pd.DataFrame:
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
    _check_margin(benchmark, margin)
    key, records = benchmark.keys[benchmark.metric], []
    largest = _largest_difference(benchmark)
    for row in benchmark.differences.to_dict("records"):
        record = {name: row[name] for name in ("dataset", "metric", "first", "second", "difference")}
        record |= {"margin": margin, "low": np.nan, "high": np.nan, "p": np.nan}
        if np.isnan(row["error"]):
            records.append(record | {"reason": row["reason"] or NO_ERROR})
            continue
        support = Support(int(row["n_differing"]), float(row["n_effective"]), largest)
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


def _check_margin(benchmark: Any, margin: float) -> None:
    """Raise a MetricError if a margin is not above 0, or not below the largest possible difference on a dataset."""
    for dataset, alignment in benchmark.alignments.items():
        results = tuple(result for run, result in benchmark.results.items() if run.dataset == dataset)
        try:
            check_margin(_Compared(results, alignment), benchmark.keys[benchmark.metric], margin)
        except MetricError as error:
            raise MetricError(f"{dataset}: {error}") from None


def _largest_difference(benchmark: Any) -> float:
    """Return the largest possible difference of the primary metric in one observation; infinite if it is no mean."""
    key = benchmark.keys[benchmark.metric]
    for result in benchmark.results.values():
        try:
            is_mean = result.rank_table.moments(key).finish is first_mean
        except MetricError:  # undefined in this run
            continue
        return float(key.bounds[1] - key.bounds[0]) if is_mean else np.inf
    return np.inf
