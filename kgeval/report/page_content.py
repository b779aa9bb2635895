"""The content of the report page as one JSON value: every number of the page is computed here or in `page_compared`.

`kgeval.report.page.write_page` calls `page_data`; `kgeval.report.page_sections` makes HTML of the value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.audit import audit, notes_on_leaks
from kgeval.base.checks import Ids
from kgeval.base.wording import printable, shown_label
from kgeval.comparison.alignment import mismatches
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.verdict import is_like_chance
from kgeval.data.dataset import Dataset
from kgeval.data.sides import RELATION
from kgeval.errors import DataError
from kgeval.features.columns import OVER_SPLITS
from kgeval.metrics.base import Metric
from kgeval.metrics.default_metrics import PAGE_METRICS
from kgeval.metrics.grammar import display_of, parse_all
from kgeval.metrics.metric_frames import REASON
from kgeval.report.page_compared import (
    MAX_GROUPS,
    EntityNames,
    compared,
    hard_by_relation,
    ranked_sides,
    relation_patterns,
    shown_entity,
    tie_cautions,
    verdict_data,
)
from kgeval.results.bounded import UNKNOWN_COUNT
from kgeval.results.columns import says_splits
from kgeval.results.display import tie_ends
from kgeval.results.evaluation_result import (
    EvaluationResult,
    audit_of,
    entity_part,
    group_column,
    header_lines,
    interval_notes,
    kept_rivals,
    metric_cautions,
    rank_groups,
    unknown_lines,
    with_all_features,
)
from kgeval.results.explanations import N_EXAMPLES, extreme_rows
from kgeval.results.rank_table import CONFIDENCE
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments

SUMMARY_METRICS = (*PAGE_METRICS, "amri")
MAX_RELATIONS, MAX_CUTS = 2_000, 55
NOT_RANKED = "this relation has no ranks"
MIN_DROPPED = 0.01  # a larger share of dropped ranks gives a caution
BIN_STARTS = (1, 2, 3, 5)  # bins of ranks start at these numbers times 1, 10, 100, ...: at 1, 2, 3, 5, 10, 20, 30, 50


def page_data(
    results: Sequence[EvaluationResult],
    names: Sequence[str],
    dataset: Dataset | None = None,
    comparison: Comparison | None = None,
    entity_names: EntityNames | None = None,
) -> dict[str, Any]:
    """Return all content of the report page as one dict that can be written as JSON.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        One name per result, all different.
    dataset : Dataset, optional
        The dataset that was ranked. If it is given, the page also shows, for each split, the numbers of triples and of
        doubtful rows; and it shows the breakdowns that a result lacks.
    comparison : Comparison, optional
    entity_names : mapping of str to str, optional
        Label of an entity -> its name, which the page shows with the label.

    Returns
    -------
    dict
        Contains lists, dicts, strings, booleans, finite numbers and None. Strings are escaped by
        `kgeval.base.wording.printable`. A number with an interval is a list of four items: the value, the low
        end and the high end of the interval, and a reason. The first three may be None; the reason is a text that says
        why, and may be empty. In the summary, a number that depends on bounded ranks has two more items: its bounds.

    Raises
    ------
    DataError
        If a result ranks another dataset than `dataset`.
    """
    if dataset is not None:
        _check_dataset(dataset, results, names)
    results = [with_all_features(result, dataset) for result in results]
    notes = [interval_notes(result, CONFIDENCE) for result in results]
    differences = [str(mismatch) for mismatch in mismatches(results, names)]
    verdict = verdict_data(results, names, comparison)
    pairs = None if comparison is None else compared(comparison, results, names, entity_names)
    facts = _stored_audit(results) if dataset is None else _audit(dataset)
    about_ties, tie_notes = tie_cautions(results, names, verdict["metric"])
    parts = [entity_part(result) for result in results]
    data = {
        "models": list(names),
        "confidence": CONFIDENCE,
        "verdict": verdict,
        "cautions": _cautions(results, names, about_ties, differences, comparison, dataset),
        "tie_notes": tie_notes,
        "head": _head(results, notes),
        "purposes": list(dict.fromkeys(purpose for purpose, *_ in notes)),
        "differences": differences,
        "tie_rates": [result.tie_rate for result in results],
        "metrics": _metrics(SUMMARY_METRICS),
        "displays": _displays(comparison),
        "summary": _summary(results, names),
        "comparison": None if pairs is None else _shown_pairs(pairs),
        "distribution": distribution(parts),
        "hits": hits_at_cuts(parts),
        "relations": _relations(parts, pairs, entity_names),
        "breakdowns": _breakdowns(parts),
        "triples": [_triples(result, entity_names) for result in parts],
        "audit": facts,
    }
    return dict(plain_values(data))


def plain_values(value: Any) -> Any:
    """Return `value` ready for JSON: numpy numbers become Python numbers, NaN and infinity None, strings printable."""
    if isinstance(value, dict):
        return {printable(str(key)): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_values(item) for item in value]
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    return float(value) if math.isfinite(value) else None


def _head(results: Sequence[EvaluationResult], notes: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the header lines and the scorer names of the results.

    ``"common"`` holds the header lines that all results have. ``"own"`` holds, for each result, a list of its other
    header lines. ``"scorers"`` holds the name of each result's scorer.
    """
    lines = [
        [
            *header_lines(result),
            *(f"note: {caution}" for caution in metric_cautions(result, SUMMARY_METRICS)),
            *(f"note: {caution}" for caution in cautions),
        ]
        for result, (_, *cautions) in zip(results, notes)
    ]
    common = [line for line in dict.fromkeys(lines[0]) if all(line in other_lines for other_lines in lines)]
    lines_of_each = [[line for line in dict.fromkeys(header) if line not in common] for header in lines]
    return {"common": common, "own": lines_of_each, "scorers": [str(r.facts.get("scorer", "")) for r in results]}


def _metrics(specs: Sequence[str]) -> list[dict[str, Any]]:
    return [_described(metric) for metric in parse_all(specs)]


def _displays(comparison: Comparison | None) -> dict[str, dict[str, Any]]:
    """Return, for each metric, the number of decimals, and whether its axis is logarithmic.

    The dict holds each metric under its key (such as ``"mrr"``) and under its heading (such as ``"MRR"``).
    """
    keys = [
        *map(str, parse_all([*SUMMARY_METRICS, *PAGE_METRICS])),
        *([] if comparison is None else comparison.keys),
    ]
    displays = {key: display_of(key) for key in keys}
    displays |= {display.heading: display for display in displays.values()}
    return {
        name: {"decimals": display.decimals, "is_log": display.unit == "ranks"} for name, display in displays.items()
    }


def _described(metric: Metric) -> dict[str, Any]:
    about = (type(metric).__doc__ or "").strip().partition("\n")[0].replace("`", "")
    return {
        "heading": metric.heading,
        "key": str(metric),
        "about": about,
        "higher_is_better": bool(metric.higher_is_better),
    }


def _cell(result: EvaluationResult, key: str) -> list[Any]:
    interval = result.interval(key, confidence=CONFIDENCE)
    if not math.isfinite(interval.value):
        bounds = result.bounds(key)
        reason = result.value(key).reason or interval.reason or "not finite"
        return [None, None, None, reason, *(bounds if bounds[0] < bounds[1] else ())]
    return [interval.value, interval.low, interval.high, interval.reason]


def _summary(results: Sequence[EvaluationResult], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return one table of metrics for each setting (filtered, raw) and side.

    Each table has one row per model, then the chance level: one row if the chance level is the same for all models,
    else one row per model. In the row of a model, ``"above"`` says for each metric whether the model is better than
    chance, and ``"ends"`` holds the values with pessimistic and with optimistic ties, if many ranks tie.
    """
    groups = []
    directions = [bool(metric.higher_is_better) for metric in parse_all(SUMMARY_METRICS)]
    for setting in ("filtered", "raw"):
        for side in ranked_sides(results):
            rows, chance = [], []
            for i, result in enumerate(results):
                if side not in result.rank_table.sides:
                    continue
                keys = [f"{setting}.{side}.{metric}" for metric in SUMMARY_METRICS]
                n = len(result.rank_table.rows_of(side))
                cells = [_cell(result, key) for key in keys]
                levels = [result.chance(key) for key in keys]
                is_above = [not _is_like_chance(*each) for each in zip(cells, levels, directions)]
                ends = [tie_ends(result.rank_table, key) for key in keys]
                rows.append({"model": i, "name": names[i], "setting": setting, "side": side, "n": n, "cells": cells})
                rows[-1] |= {"above": is_above, "ends": ends}
                chance.append({"name": f"chance, {names[i]}", "n": n, "cells": [_chance_cell(v) for v in levels]})
            if all(row["cells"] == chance[0]["cells"] for row in chance):
                chance = [chance[0] | {"name": "chance"}]
            groups.append({"setting": setting, "side": side, "rows": rows, "chance": chance})
    return groups


def _is_like_chance(cell: Sequence[Any], level: Any, higher_is_better: bool) -> bool:
    """Return whether the interval of a value contains the chance level or worse values."""
    value, low, high = (math.nan if number is None else number for number in cell[:3])
    return is_like_chance((value, low, high), level.value, higher_is_better)


def _chance_cell(level: Any) -> list[Any]:
    is_number = math.isfinite(level.value)
    return [level.value if is_number else None, None, None, "" if is_number else level.reason or "not finite"]


def _cautions(
    results: Sequence[EvaluationResult],
    names: Sequence[str],
    about_ties: Sequence[str],
    differences: Sequence[str],
    comparison: Comparison | None,
    dataset: Dataset | None,
) -> list[str]:
    """Return the cautions that change what the numbers mean, most serious first; the page starts with two of them."""
    lines = []
    if differences:
        accepted = "; the comparison accepts this and uses the ranks that all results have" if comparison else ""
        lines.append(
            f"These results were evaluated differently, so their numbers are not comparable{accepted}: "
            f"{'; '.join(differences)}."
        )
    for result, name in zip(results, names):
        n = int(result.rank_table.is_bounded("filtered").sum())
        if n:
            lines.append(f"{n:,} of {len(result.table):,} ranks of {name} are bounded: only their bounds are known.")
        lines += [f"Unknown for {name}: {line.removeprefix('unknown: ')}." for line in unknown_lines(result)]
    lines += about_ties
    for result, name in zip(results, names):
        beside = result.facts.get("baselines", {}).values()
        lines += [f"{name}: {baseline['note']}." for baseline in beside if not baseline["beaten"]]
    leaking = results[0].facts.get("leak_notes", [])
    if dataset is not None:  # a result of an earlier version has no such fact
        leaking = notes_on_leaks(dataset, results[0].protocol.splits)
    lines += [f"{line}." for line in leaking]
    for result, name in zip(results, names):
        n = sum(result.dropped.values())
        if n > MIN_DROPPED * len(result.table):
            lines.append(f"{n:,} ranks of {name} were dropped: {', '.join(result.dropped)}.")
    return lines


def _max_candidates(results: Sequence[EvaluationResult]) -> int:
    """Return the largest number of candidates; for a result without this number, its largest known rank counts."""
    sizes = [1]
    for result in results:
        ranks = result.rank_table.ranks("filtered")
        sizes += [math.ceil(rank) for rank in ranks[~np.isnan(ranks)].max(initial=1.0, keepdims=True)]
        sizes.append(int(result.table["rivals_filtered"].max()) + 1 if len(result.table) else 1)
    return max(sizes)


def distribution(results: Sequence[EvaluationResult]) -> dict[str, Any]:
    """Return bins of ranks (1, 2, 3-4, 5-9, ...) and, for each model and side, the number of ranks in each bin.

    The ranks are filtered. For each model, ``"tied"`` holds how many ranks of each bin tie with a rival, ``"totals"``
    the number of all ranks, ``"low"`` and ``"high"`` the interval of the share of each bin in them, None where ranks
    are bounded or unknown. These ranks are in no bin; ``"left_out"`` holds their number for each model and side.
    """
    max_rank = _max_candidates(results)
    starts = [start * 10**power for power in range(len(str(max_rank))) for start in BIN_STARTS]
    starts = sorted({start for start in starts if start <= max_rank})
    ends = [*(start - 1 for start in starts[1:]), max_rank]
    found: dict[str, list[Any]] = {name: [] for name in ("counts", "tied", "left_out", "totals", "low", "high")}
    for result in results:
        ranks = result.rank_table.ranks("filtered")
        is_known = ~np.isnan(ranks)
        bins = np.searchsorted(starts, ranks[is_known], side="right") - 1
        is_tied = result.table["tied_filtered"].to_numpy()[is_known] > 0
        found["tied"].append(np.bincount(bins[is_tied], minlength=len(starts)).tolist())
        sides = result.table["side"].to_numpy().astype(str)
        of_side = {
            side: np.bincount(bins[sides[is_known] == side], minlength=len(starts)).tolist()
            for side in result.protocol.sides
        }
        found["counts"].append(of_side)
        found["left_out"].append({side: int((~is_known[sides == side]).sum()) for side in result.protocol.sides})
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
    """Return values of k that are evenly spaced on a log scale and, for each model, the filtered hits@k for each k.

    ``"low"`` and ``"high"`` hold the intervals. A value that depends on bounded ranks is NaN. ``"bounds"`` holds, for
    each model, the least and the greatest values for each k; None if the model has no bounded ranks. ``"chance"`` holds
    the chance level of the first model; None if it is unknown. The largest k is `limit`, or all candidates.
    """
    limit = _max_candidates(results) if limit is None else limit
    cuts = np.unique(np.geomspace(1, limit, MAX_CUTS).round().astype(np.int64)).tolist()
    keys = [f"hits@{k}" for k in cuts]
    bounds = [
        [list(ends) for ends in zip(*(result.bounds(key) for key in keys))] if _has_bounded(result) else None
        for result in results
    ]
    intervals = [[result.interval(key, confidence=CONFIDENCE) for key in keys] for result in results]
    has_chance = bool(results) and not results[0].chance("mr").reason
    return {
        "k": cuts,
        "values": [[interval.value for interval in of_model] for of_model in intervals],
        "low": [[interval.low for interval in of_model] for of_model in intervals],
        "high": [[interval.high for interval in of_model] for of_model in intervals],
        "bounds": bounds,
        "chance": [results[0].chance(key).value for key in keys] if has_chance else None,
    }


def _has_bounded(result: EvaluationResult) -> bool:
    return bool(result.rank_table.is_bounded("filtered").any())


def _frame_cells(
    frame: pd.DataFrame, metrics: Sequence[str], result: EvaluationResult, rows_of: Mapping[Any, Ids]
) -> list[list[list[Any]]]:
    """Return four lists for each metric: values, low ends and high ends of the intervals, and reasons.

    Each list has one item per row of `frame`. A reason says why a value or an end is undefined; the reason is empty if
    the value and both ends are defined. If ranks are bounded, there are two more lists: the least and the greatest
    values of the metric, None where they are equal. `rows_of` maps the labels of the frame to rows of the result.
    """
    cells = []
    has_bounded = _has_bounded(result)
    for key in metrics:
        ends = frame[[key, f"{key} low", f"{key} high"]]
        reasons = frame[REASON].fillna(NOT_RANKED).where(ends.isna().any(axis=1), "")
        cells.append([*(ends[name].tolist() for name in ends), reasons.tolist()])
        if has_bounded:
            bounds = [
                result.rank_table.bounds(key, rows_of[label]) if label in rows_of else (np.nan, np.nan)
                for label in frame.index
            ]
            cells[-1] += [[pair[i] if pair[0] < pair[1] else None for pair in bounds] for i in (0, 1)]
    return cells


def _relations(
    results: Sequence[EvaluationResult], pairs: Mapping[str, Any] | None, entity_names: EntityNames | None
) -> dict[str, Any]:
    """Return the metrics of the `MAX_RELATIONS` relations with the most ranks, for each model.

    ``values[i][j]`` holds the lists that `_frame_cells` returns for model i and metric j. ``n_all`` is the number of
    all relations. ``differences`` holds one dict for each pair in `pairs`: the models ``first`` and ``second``, and for
    each relation ``[difference, low, high]`` in the first compared metric, or None, and ``decided``, whether the
    interval, corrected for the number of relations, excludes 0. ``triples`` holds for each relation the triples on
    which the first pair disagrees most; without a comparison, the triples that the first model ranks worst.
    """
    metrics = _metrics(PAGE_METRICS)
    frames = [result.by("relation", metrics=PAGE_METRICS, confidence=CONFIDENCE) for result in results]
    total: Counter[str] = Counter()
    for frame in frames:
        total.update(dict(zip(frame.index, frame["n"])))
    order = sorted(total, key=lambda label: (-total[label], label))
    labels = order[:MAX_RELATIONS]
    frames = [frame.reindex(pd.Index(labels, dtype=object)) for frame in frames]
    patterns: dict[str, str] = {}
    for result in reversed(results):
        patterns |= relation_patterns(result)
    shown_pairs = pairs["pairs"] if pairs else []
    by_relation = (
        shown_pairs[0]["disagreements"]["by_relation"] if shown_pairs else hard_by_relation(results[0], entity_names)
    )
    return {
        "patterns": [patterns.get(label, "") for label in labels],
        "differences": [
            {"first": pair["first"], "second": pair["second"]} | _differences(pair["relations"], labels)
            for pair in shown_pairs
        ],
        "triples": [by_relation.get(label, []) for label in labels],
        "labels": [shown_label(label) for label in labels],
        "n_all": len(order),
        "metrics": metrics,
        "n": [frame["n"].fillna(0).astype(np.int64).tolist() for frame in frames],
        "values": [
            _frame_cells(frame, [metric["key"] for metric in metrics], result, _rows_of(result, "relation"))
            for frame, result in zip(frames, results)
        ],
    }


def _shown_pairs(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `compared` with labels as they are shown, and without the triples of each relation."""
    shown = [
        pair
        | {
            "relations": [row | {"relation": shown_label(row["relation"])} for row in pair["relations"]],
            "disagreements": (pair["disagreements"] or {}).get("all"),
        }
        for pair in pairs["pairs"]
    ]
    return {**pairs, "pairs": shown}


def _differences(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, list[Any]]:
    """Return ``values``, ``[difference, low, high]`` or None for each relation; and ``decided``, one bool for each."""
    found = {row["relation"]: row for row in rows}
    ends = ("difference", "low", "high")
    return {
        "values": [[found[label][end] for end in ends] if label in found else None for label in labels],
        "decided": [label in found and bool(found[label]["decided"]) for label in labels],
    }


def _rows_of(result: EvaluationResult, column: str) -> dict[str, Ids]:
    """Return the rows of each group of a column; an empty dict if no rank is bounded."""
    return {label: rows for (label,), rows in rank_groups(result, [column])} if _has_bounded(result) else {}


def _breakdowns(results: Sequence[EvaluationResult]) -> dict[str, Any]:
    """Return a breakdown of the metrics by each column in ``result.columns`` (features, columns of the user).

    The order of the groups of a column is the same for all models.
    """
    columns = dict.fromkeys(str(name) for result in results for name in result.columns.columns)
    return {
        "metrics": _metrics(PAGE_METRICS),
        "columns": [_breakdown(results, column) for column in columns],
        "notes": [_over_splits(result) for result in results],
    }


def _breakdown(results: Sequence[EvaluationResult], column: str) -> dict[str, Any]:
    """Return the metrics by one column, for the `MAX_GROUPS` groups with the most ranks in all results together.

    ``"models"`` holds None for a result that does not have the column.
    """
    groups_of = [dict(rank_groups(result, [column])) if column in result.columns else None for result in results]
    total: Counter[Any] = Counter()
    for groups in groups_of:
        total.update({group: len(rows) for group, rows in (groups or {}).items()})
    largest = dict(total.most_common(MAX_GROUPS))  # groups with equal counts stay in the order of `rank_groups`
    order = _groups_in_order(list(largest), [*_columns_of(results, column)])
    parsed = parse_all(PAGE_METRICS)
    models: list[dict[str, Any] | None] = [None] * len(results)
    for i, groups in enumerate(groups_of):
        if groups is None:
            continue
        result = results[i]
        kept = [group for group in order if group in groups]
        frame = result.rank_table.metric_frame(
            {group: ("filtered", groups[group]) for group in kept}, [column], parsed, confidence=CONFIDENCE
        )
        shares = [n / len(result.table) for n in frame["n"]]
        models[i] = {
            "groups": [shown_label(group) for (group,) in kept],
            "places": [order.index(group) for group in kept],
            "n_all": len(groups),
            "share_left": sum(map(len, groups.values())) / max(1, len(result.table)) - sum(shares),
            "n": frame["n"].tolist(),
            "share": shares,
            "values": _frame_cells(frame, [str(metric) for metric in parsed], result, _rows_of(result, column)),
        }
    return {"name": column, "groups": [shown_label(group) for (group,) in order], "models": models}


def _columns_of(results: Sequence[EvaluationResult], column: str) -> Iterator[pd.Series[Any]]:
    """Yield the values by which each result that has the column groups its ranks; times are bins."""
    return (pd.Series(group_column(result, column)) for result in results if column in result.columns)


def _groups_in_order(groups: Sequence[tuple[str]], columns: Sequence[pd.Series[Any]]) -> list[tuple[str]]:
    """Return the groups of a column in the order in which the page shows them.

    Groups of numeric columns are sorted by number. Groups of categorical columns have the order of the categories. All
    other groups keep the order of `groups`.

    Parameters
    ----------
    groups : sequence of tuples of one str
    columns : sequence of pandas.Series
        The column by which the results are grouped, once for each result that has it.
    """
    if all(pd.api.types.is_numeric_dtype(column) for column in columns):
        values = sorted(set().union(*(column.dropna().tolist() for column in columns)))
    elif all(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
        # Longest list first: a longer list of degree buckets starts with all buckets of a shorter one.
        lists = sorted((list(column.cat.categories) for column in columns), key=len, reverse=True)
        values = [value for categories in lists for value in categories]
    else:
        return list(groups)
    position = {text: i for i, text in enumerate(dict.fromkeys(map(str, values)))}
    return sorted(groups, key=lambda group: position.get(group[0], len(position)))


def _triples(result: EvaluationResult, entity_names: EntityNames | None) -> dict[str, Any]:
    """Return the triples with the worst and with the best filtered ranks, and the best rivals of each.

    ``"rivals"`` is ``"kept"`` if the result contains rivals, ``"not kept"`` if it does not, and ``"none"`` if no triple
    has a rival. ``"left_out"`` is the number of bounded or unknown ranks, which are not among these triples.
    """
    rows, (kept, _) = extreme_rows(result.rank_table), kept_rivals(result)
    shown = [_triple(result, row, kept[(kept["row"] == row).to_numpy()], entity_names) for row in rows.tolist()]
    rivals = "kept" if len(kept) else "not kept" if (result.table["rivals_filtered"] != 0).any() else "none"
    left_out = int(np.isnan(result.rank_table.ranks("filtered")).sum())
    return {"hardest": shown[:N_EXAMPLES], "easiest": shown[N_EXAMPLES:], "rivals": rivals, "left_out": left_out}


def _triple(
    result: EvaluationResult, row: int, rivals: pd.DataFrame, entity_names: EntityNames | None
) -> dict[str, Any]:
    values: dict[str, Any] = {str(name): value for name, value in result.table.iloc[row].items()}
    entities = result.entities.labels
    candidates = result.relations.labels if values["side"] == RELATION else entities
    return {
        "s": shown_entity(entities[int(values["s"])], entity_names),
        "p": shown_label(result.relations.labels[int(values["p"])]),
        "o": shown_entity(entities[int(values["o"])], entity_names),
        "side": str(values["side"]),
        "rank": result.rank_table.ranks("filtered", rows=np.array([row]))[0],
        "of": None if values["rivals_filtered"] == UNKNOWN_COUNT else int(values["rivals_filtered"]) + 1,
        "tied": int(values["tied_filtered"]),
        "score": _score(values["score"]),
        "rivals": [
            {
                "label": shown_entity(candidates[entity], entity_names if candidates is entities else None),
                "score": _score(score),
                "stands": _position_of_rival(score, values["score"]),
            }
            for entity, score in zip(rivals["entity"].tolist(), rivals["score"].tolist())
        ],
    }


def _position_of_rival(rival: float, score: float) -> str:
    return "above" if rival > score else "tied" if rival == score else "below"


def _score(score: float) -> float | str:
    """Return a finite score as a number and any other score as text, since JSON has no infinity."""
    return float(score) if math.isfinite(score) else str(float(score))


def _check_dataset(dataset: Dataset, results: Sequence[EvaluationResult], names: Sequence[str]) -> None:
    if not isinstance(dataset, Dataset):
        raise DataError(f"dataset must be a Dataset, such as kgeval.read_dataset(folder) returns; got {dataset!r}")
    for result, name in zip(results, names):
        in_key = result.facts.get("fingerprint_columns", ())
        if result.facts["dataset_fingerprint"] != dataset.fingerprint_with(in_key):
            raise DataError(
                f"dataset= is {dataset.name!r} ({dataset.fingerprint[:8]}), but result {name!r} ranks "
                f"{result.facts['dataset']!r} ({result.facts['dataset_fingerprint'][:8]}); pass the ranked dataset, "
                "or no dataset"
            )


def _over_splits(result: EvaluationResult) -> str:
    """Return a note which says that the columns cardinality and pattern are computed from all splits.

    The note names only the columns that the result has. It is empty if the result has neither of the two, or if the
    notes of the result already name the splits.
    """
    names = " and ".join(name for name in OVER_SPLITS if name in result.columns and not says_splits(result.notes))
    return names and f"{names} {'are' if ' ' in names else 'is'} computed from all splits"


def _stored_audit(results: Sequence[EvaluationResult]) -> dict[str, Any] | None:
    """Return what the results say about their dataset, as `_audit` does, but with few findings and without splits."""
    for result in results:  # they have the same dataset, whose audit is shown once
        if (found := audit_of(result)) is not None:
            return {**found, "splits": [], "observations": list(result.facts["observations"]), "is_brief": True}
    return None


def _audit(dataset: Dataset) -> dict[str, Any]:
    """Return facts about a dataset and each of its splits.

    For the dataset: name, fingerprint, size (numbers of entities, relations and triples), observations. For each split:
    the numbers of triples, entities and relations, of duplicate rows, of rows that also occur in another split, and of
    rows with a label that is not in train. ``"findings"`` holds the findings of `kgeval.audit`, at most eight of each
    kind.
    """
    splits = []
    for split, triples in dataset.splits.items():
        used = np.unique(np.concatenate([triples.s, triples.o]))
        unseen = dataset.unseen.get(split)
        counts = {"triples": len(triples), "entities": len(used), "relations": len(np.unique(triples.p))}
        doubts = {
            "duplicates": dataset.duplicates[split],
            "overlaps": [[a, n] for (a, b), n in dataset.overlaps.items() if b == split],
            "unseen": None if unseen is None or "train" not in dataset else unseen,
        }
        splits.append({"split": split, **counts, **doubts})
    made = audit(dataset)
    return {
        **made.to_dict(made.brief),
        "splits": splits,
        "observations": dataset.observations(),
        "is_brief": False,
    }
