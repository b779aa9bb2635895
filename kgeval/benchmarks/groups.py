"""The difference between two models of a benchmark within each group of ranks, over all their runs: `Benchmark.by`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids
from kgeval.benchmarks.cells import BenchmarkSettings, DatasetRuns
from kgeval.comparison.differences import group_table, grouped_frame
from kgeval.errors import MetricError
from kgeval.stats.moments import influences
from kgeval.stats.runs import Runs, compare_runs


def group_differences(
    part: DatasetRuns, models: Sequence[str], column: str, terms: BenchmarkSettings, total: float = 0.0
) -> pd.DataFrame:
    """Return the table of `Benchmark.by` for one dataset.

    Parameters
    ----------
    part : DatasetRuns
    models : sequence of str
        The two models that differ, then the others, whose spreads over the seeds are pooled with theirs.
    column : str
    terms : BenchmarkSettings
    total : float
        The difference over all observations if it is significant, else 0.

    Raises
    ------
    MetricError
        If a model has no run, or its metric is undefined or not a function of means.
    """
    sample, systems = part.samples[terms.metric], dict[str, Runs]()
    for model in models:
        system, reason = part.system(model, terms.metric)
        if system is not None:
            systems[model] = system
        elif model in models[:2]:
            raise MetricError(f"{model} on {part.dataset}: {reason}")
    first, second = (part.places(model)[0] for model in models[:2])
    groups = sample.groups_by(column, [run.name for run in part.runs], (first, second))
    if max(map(len, systems.values())) == 1:
        return group_table(sample, (first, second), terms, groups, total)
    pair, largest = [systems[model] for model in models[:2]], sample.key.bounds[1] - sample.key.bounds[0]
    parts = [np.mean([influences(one) for one in runs.moments], axis=0) + runs.mean for runs in pair]

    def within(rows: Ids, level: float) -> dict[str, Any]:
        clusters, found = sample.clusters.take(rows), list[Runs]()
        for model, runs in systems.items():
            moments = (sample.part(i, whole, rows) for i, whole in zip(part.places(model), runs.moments))
            found.append(Runs(tuple(moments), clusters))
        gap = compare_runs(found, [(0, 1)], spread=terms.spread, largest_level=level)[0]
        (low, high), limits = (np.clip(gap.interval(of), -largest, largest) for of in (terms.alpha, level))
        values = {"value_first": found[0].mean, "value_second": found[1].mean, "difference": gap.value}
        ends = {"low": low, "high": high, "low_corrected": limits[0], "high_corrected": limits[1]}
        more = {"decided": gap.p_value <= level, "n_effective": gap.n_effective}
        return {**values, **ends, **more, "reason": gap.reason or gap.few(level)}

    frame = grouped_frame(groups, parts[0] - parts[1], terms.alpha, within, total)
    is_exact = np.allclose(frame["contribution"], frame["share"] * frame["difference"], equal_nan=True)
    frame.attrs |= {"difference": pair[0].mean - pair[1].mean, "contribution": "exact" if is_exact else "linearised"}
    return frame
