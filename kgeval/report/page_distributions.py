"""The section of the report page on the distribution of ranks: shares in bins, and hits at every cut-off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kgeval.base.checks import Ids
from kgeval.report.document import Beside, Figure, Section
from kgeval.report.figure_svg import svg
from kgeval.report.figures import MANY_CURVES, MARKED, MAX_BESIDE, hits_curve, rank_distribution
from kgeval.report.page_report import Report, has_bounded
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.rank_table import CONFIDENCE
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments

MAX_CUTS = 45
BIN_ENDS = (1, 3)  # bins of ranks end at these numbers times 1, 10, 100, ...


def distributions(report: Report) -> Section:
    """Return the distribution of ranks beside hits@k at every cut-off.

    Parameters
    ----------
    report : Report
    """
    found, hits = distribution(report.parts), hits_at_cuts(report.parts)
    shares = "Share of ranks in each bin (filtered, both sides); 3.5 counts in the bin of 4."
    if len(report.names) > MAX_BESIDE:
        shares += f" Line: {CONFIDENCE:.0%} interval of hits@1.{' Tied: with a rival.' * any(map(any, found['tied']))}"
    elif any(map(any, found["tied"])):
        shares += " Faint: ranks that tie with a rival."
    n_left = sum(found["totals"]) - sum(map(sum, found["counts"]))
    shares += f" {n_left:,} bounded or unknown ranks are in no bin." if n_left else ""
    is_table = len(report.names) >= MANY_CURVES
    more = "Shaded within each column." if is_table else f"Bands: {CONFIDENCE:.0%} intervals."
    text = f"hits@k: share of ranks up to k. {more}"
    bounds = "there is no value" if is_table else "the band shows the bounds"
    text += f" Where ranks are bounded, {bounds}." if any(hits["bounds"]) else ""
    figures = [
        Figure(partial(svg, rank_distribution(report.names, found, "Share of ranks in each bin")), shares),
        Figure(partial(svg, hits_curve(report.names, hits, "hits@k")), text),
    ]
    return Section("distributions", "Distributions", [Beside(figures)])


def max_candidates(results: Sequence[EvaluationResult]) -> int:
    """Return the largest number of candidates; for a result without this number, its largest known rank counts.

    Parameters
    ----------
    results : sequence of EvaluationResult
    """
    ranks = [result.rank_table.ranks("filtered") for result in results]
    candidates = [result.table["rivals_filtered"].to_numpy() + 1 for result in results]
    return math.ceil(float(np.nanmax(np.concatenate([*ranks, *candidates, [1]]))))


def distribution(results: Sequence[EvaluationResult]) -> dict[str, Any]:
    """Return bins of filtered ranks (1, 2-3, 4-10, 11-30, ...) and, for each model, the number of ranks in each bin.

    For each model, ``"tied"`` holds how many ranks of each bin tie with a rival, ``"totals"`` the number of all ranks,
    ``"low"`` and ``"high"`` the interval of the share of each bin in them, None where ranks are bounded or unknown.
    Such ranks are in no bin. A rank between two bins counts in the higher one,
    so that the share of the first bins is hits@k.

    Parameters
    ----------
    results : sequence of EvaluationResult
    """
    max_rank = max_candidates(results)
    ends = [end * 10**power for power in range(len(str(max_rank))) for end in BIN_ENDS]
    ends = [*(end for end in ends if end < max_rank), max_rank]
    starts = [1, *(end + 1 for end in ends[:-1])]
    found: dict[str, list[Any]] = {name: [] for name in ("counts", "tied", "totals", "low", "high")}
    for result in results:
        ranks = result.rank_table.ranks("filtered")
        is_known = ~np.isnan(ranks)
        bins = np.searchsorted(starts, np.ceil(ranks[is_known]), side="right") - 1
        is_tied = result.table["tied_filtered"].to_numpy()[is_known] > 0
        found["counts"].append(np.bincount(bins, minlength=len(starts)).tolist())
        found["tied"].append(np.bincount(bins[is_tied], minlength=len(starts)).tolist())
        found["totals"].append(len(ranks))
        limits = _share_limits(result, bins, len(starts)) if is_known.all() else [(None, None)] * len(starts)
        found["low"].append([low for low, _ in limits])
        found["high"].append([high for _, high in limits])
    labels = [f"{a:,}" if a == b else f"{a:,}–{b:,}" for a, b in zip(starts, ends)]
    return {"bins": labels, **found}


def _share_limits(result: EvaluationResult, bins: Ids, n: int) -> list[tuple[Any, Any]]:
    """Return the ends of the interval of the share of each bin, with clusters by triple as for hits@k."""
    ranks = result.rank_table
    clusters = ranks.row_clusters("triple").among([np.arange(len(ranks))])
    terms = (Moments((bins == place).astype(np.float64)[:, None]) for place in range(n))
    found = [robust_interval(term, clusters, CONFIDENCE, (0.0, 1.0), ranks.sampled_share) for term in terms]
    return [(one.low, one.high) if math.isfinite(one.low) else (None, None) for one in found]


def hits_at_cuts(results: Sequence[EvaluationResult], limit: int | None = None) -> dict[str, Any]:
    """Return values of k, evenly spaced on a log scale and 1, 3, 10, 30, ..., and for each model the hits@k (filtered).

    ``"low"`` and ``"high"`` hold the intervals. A value that depends on bounded ranks is NaN. ``"bounds"`` holds, for
    each model, the least and the greatest values for each k; None if the model has no bounded ranks. ``"chance"`` holds
    the chance level of the first model; None if it is unknown.

    Parameters
    ----------
    results : sequence of EvaluationResult
    limit : int, optional
        The largest k; by default all candidates.
    """
    limit = max_candidates(results) if limit is None else limit
    even = np.geomspace(1, limit, MAX_CUTS).round().astype(np.int64)
    cuts = np.union1d(even, [k for k in MARKED if k <= limit]).tolist()
    keys = [f"hits@{k}" for k in cuts]
    bounds = [
        [list(ends) for ends in zip(*(result.bounds(key) for key in keys))] if has_bounded(result) else None
        for result in results
    ]
    intervals = [[result.interval(key, confidence=CONFIDENCE) for key in keys] for result in results]
    ends = {"values": "value", "low": "low", "high": "high"}
    found = {name: [[getattr(one, end) for one in of_model] for of_model in intervals] for name, end in ends.items()}
    has_chance = bool(results) and not results[0].chance("mr").reason
    chance = [results[0].chance(key).value for key in keys] if has_chance else None
    return {"k": cuts, **found, "bounds": bounds, "chance": chance}
