"""The part of the report page's content that compares models: the verdict, differences, where they differ, cautions.

`kgeval.report.page_content.page_data` calls `compared`, `verdict_data`, `tie_cautions` and `hard_by_relation`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.wording import shown_label
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.verdict import leaders_of, verdict_of
from kgeval.data.sides import ALL_SIDES
from kgeval.errors import MetricError
from kgeval.metrics.grammar import display_of
from kgeval.results.display import MAX_TIES, tie_ends
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

MAX_PAIRS = 4  # with more models than this, the page details one pair and shows a matrix for the others
MAX_GROUPS, MAX_DISAGREEMENTS, N_OPENED, MAX_OPENED = 40, 10, 3, 400

EntityNames = Mapping[str, str]


def shown_entity(label: str, names: EntityNames | None) -> str:
    """Return an entity as the page shows it: its name and its label, or its label alone.

    Examples
    --------
    >>> shown_entity("/m/02mjmr", {"/m/02mjmr": "Barack Obama"}), shown_entity("Q1", {})
    ('Barack Obama (/m/02mjmr)', 'Q1')
    """
    name = (names or {}).get(label)
    return shown_label(label) if not name or name == label else f"{shown_label(name)} ({shown_label(label)})"


def best_first(values: pd.Series[Any], higher_is_better: bool | None) -> list[Any]:
    """Return the models of a table of values, the best first, those without a value last.

    Examples
    --------
    >>> best_first(pd.Series({"a": 0.1, "b": np.nan, "c": 0.3}), True)
    ['c', 'a', 'b']
    """
    ranks = values.rank(ascending=not higher_is_better, na_option="bottom")
    return ranks.sort_values(kind="stable").index.tolist()


def primary_metric(comparison: Comparison | None) -> str:
    """Return the key of the first compared metric; ``"mrr"`` if there is no comparison."""
    return "mrr" if comparison is None else next(iter(comparison.keys))


def verdict_data(
    results: Sequence[EvaluationResult], names: Sequence[str], comparison: Comparison | None
) -> dict[str, Any]:
    """Return the verdict, and for each compared metric the leader and the models that do not differ significantly.

    Returns
    -------
    dict
        ``sentence, outcome, metric, heading, higher_is_better``; and ``leaders``, a dict from the key of a metric to
        names, empty without a comparison.
    """
    named = dict(zip(names, results))
    metric = primary_metric(comparison)
    verdict = verdict_of(named, comparison)
    return {
        "sentence": verdict.sentence,
        "outcome": verdict.outcome,
        "metric": metric,
        "heading": display_of(metric).heading,
        "higher_is_better": Key.parse(metric).higher_is_better,
        "leaders": {} if comparison is None else {key: list(leaders_of(comparison, key)) for key in comparison.keys},
    }


def compared(
    comparison: Comparison,
    results: Sequence[EvaluationResult],
    names: Sequence[str],
    entity_names: EntityNames | None,
) -> dict[str, Any]:
    """Return the table of a comparison, and details of its most important pairs of models.

    Parameters
    ----------
    comparison : Comparison
    results : sequence of EvaluationResult
        The compared results, in the order of the page. Their added columns are those by which the page breaks down the
        metrics.
    names : sequence of str
    entity_names : mapping of str to str, optional

    Returns
    -------
    dict
        ``order``: the indices of the models, best value of the first metric first. ``values``: the first metric of each
        model, with its interval. ``pairs``: one dict per pair, with ``first`` and ``second`` (indices of models, the
        better value first), the ``relations`` with their contributions to the difference in the first metric, largest
        first, the differences in the ``groups`` of each column, and the triples with the largest ``disagreements``.
    """
    featured = dict(zip(names, results))
    comparison = replace(comparison, results=tuple(featured[name] for name in comparison.names))
    metric = primary_metric(comparison)
    key = comparison.keys[metric]
    values = [float(comparison.values[metric].loc[name]) for name in names]
    ends = (metric, f"{metric} low", f"{metric} high")
    sign = 1 if key.higher_is_better else -1
    order = sorted(range(len(names)), key=lambda i: (math.isnan(values[i]), -sign * values[i]))
    seconds = order[1:] if len(names) <= MAX_PAIRS else order[1:2]
    return {
        "head": comparison.header(),
        "confidence": comparison.terms.confidence,
        "alpha": comparison.alpha,
        "rows": _rows(comparison.differences),
        "values": [[float(comparison.values[name].loc[model]) for name in ends] for model in names],
        "order": order,
        "pairs": [
            {
                "first": order[0],
                "second": second,
                "relations": _relations(comparison, metric, names[order[0]], names[second]),
                "groups": _groups(comparison, metric, names[order[0]], names[second]),
                "disagreements": _disagreements(comparison, names[order[0]], names[second], entity_names)
                if second == order[1]
                else None,
            }
            for second in seconds
        ],
    }


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one dict per row of a table; each dict maps column names to values."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _relations(comparison: Comparison, metric: str, first: str, second: str) -> list[dict[str, Any]]:
    """Return the contribution of each relation to the difference of two models; empty if the metric has none."""
    try:
        frame = comparison.by("relation", metric, first, second)
    except MetricError:  # the metric has no contributions; the table of the comparison gives the reason
        return []
    frame = frame.iloc[np.argsort(-frame["contribution"].abs().to_numpy(), kind="stable")]
    return [{"relation": str(label), **row} for label, row in zip(frame.index, _rows(frame))]


def _groups(comparison: Comparison, metric: str, first: str, second: str) -> dict[str, list[dict[str, Any]]]:
    """Return the differences of two models by each column that both results have: column -> one dict per group."""
    groups: dict[str, list[dict[str, Any]]] = {}
    columns = [set(map(str, result.columns.columns)) for result in comparison.results]
    for column in map(str, comparison.results[0].columns.columns):
        if not all(column in has for has in columns) or comparison.results[0].columns[column].nunique() > MAX_GROUPS:
            continue
        try:
            frame = comparison.by(column, metric, first, second)
        except MetricError:
            continue
        groups[column] = [{"group": shown_label(str(label)), **row} for label, row in zip(frame.index, _rows(frame))]
    return groups


def _disagreements(comparison: Comparison, first: str, second: str, entity_names: EntityNames | None) -> dict[str, Any]:
    """Return the triples whose ranks differ most between two models, in all and for each relation."""
    try:
        frame = comparison.disagreements(first, second, limit=max(1, len(comparison.alignment.rows[0])))
    except MetricError:  # a model has no filtered ranks; the page says so among the cautions
        return {"all": [], "by_relation": {}}
    frame = frame[(frame["rank_first"] != frame["rank_second"]).to_numpy()]
    return {
        "all": [_with_ranks(row, entity_names) for row in frame.head(MAX_DISAGREEMENTS).to_dict("records")],
        "by_relation": _first_of_relations(frame, entity_names),
    }


def hard_by_relation(result: EvaluationResult, entity_names: EntityNames | None) -> dict[str, list[dict[str, Any]]]:
    """Return the triples with the worst known filtered ranks of each relation, for the most frequent relations."""
    ranks, relations = result.rank_table.ranks("filtered"), result.table["p"].to_numpy()
    order = np.argsort(-np.nan_to_num(ranks), kind="stable")
    order = order[~np.isnan(ranks[order])]
    largest = pd.Series(relations[order]).value_counts().index[:MAX_OPENED]
    places = pd.Series(relations[order]).groupby(relations[order]).cumcount().to_numpy()
    kept = order[(places < N_OPENED) & np.isin(relations[order], largest)]
    rows: dict[str, list[dict[str, Any]]] = {}
    for row, values in zip(kept.tolist(), result.table.iloc[kept].to_dict("records")):
        labels = {name: result.entities.labels[int(values[name])] for name in ("s", "o")}
        labels["p"] = result.relations.labels[int(values["p"])]
        found = {**labels, "side": values["side"], "rank_first": ranks[row], "rank_second": np.nan}
        rows.setdefault(labels["p"], []).append(_with_ranks(found, entity_names))
    return rows


def _first_of_relations(frame: pd.DataFrame, entity_names: EntityNames | None) -> dict[str, list[dict[str, Any]]]:
    """Return the first `N_OPENED` rows of each of the `MAX_OPENED` relations with the most rows."""
    largest = set(frame["p"].value_counts().index[:MAX_OPENED])
    kept = frame[frame["p"].isin(largest).to_numpy()].groupby("p", sort=False, observed=True).head(N_OPENED)
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in kept.to_dict("records"):
        rows.setdefault(str(row["p"]), []).append(_with_ranks(row, entity_names))
    return rows


def _with_ranks(row: Mapping[Any, Any], entity_names: EntityNames | None) -> dict[str, Any]:
    return {
        "s": shown_entity(str(row["s"]), entity_names),
        "p": shown_label(str(row["p"])),
        "o": shown_entity(str(row["o"]), entity_names),
        "side": str(row["side"]),
        "ranks": [float(row["rank_first"]), float(row["rank_second"])],
    }


def tie_cautions(results: Sequence[EvaluationResult], names: Sequence[str], metric: str) -> tuple[list[str], list[str]]:
    """Return cautions about ties, and notes about ties that change nothing.

    The first caution names two models whose order depends on the tie policy. For each further model with many tied
    ranks, there is a caution if the range of its values, from pessimistic to optimistic ties, overlaps the range of
    another model, or if there is only one model; otherwise there is a note.
    """
    values = [result[metric] for result in results]
    ends = [tie_ends(result.rank_table, metric) or (value, value) for result, value in zip(results, values)]
    heading, decimals = display_of(metric).heading, display_of(metric).decimals
    sign = 1 if Key.parse(metric).higher_is_better else -1
    lines: list[str] = []
    notes: list[str] = []
    named: set[int] = set()
    for i in range(len(results)):
        for j in range(len(results)):
            # With realistic ties, model i is ahead of model j; with optimistic or pessimistic ties, model j is ahead.
            if not sign * (values[i] - values[j]) > 0:
                continue
            for place, policy in ((1, "optimistic"), (0, "pessimistic")):
                if sign * (ends[j][place] - ends[i][place]) > 0:
                    lines.append(
                        f"The order depends on ties: with {policy} ties, {names[j]} ({heading} "
                        f"{ends[j][place]:.{decimals}f}) is ahead of {names[i]} ({ends[i][place]:.{decimals}f}), since "
                        f"{_tied(results, names, (j, i))}."
                    )
                    named |= {i, j}
                    break
    lines = lines[:1] + ([f"There are {len(lines) - 1} more such pairs of models."] if len(lines) > 1 else [])
    for i, result in enumerate(results):
        if i not in named and result.tie_rate > MAX_TIES and all(map(math.isfinite, ends[i])):
            low, high = sorted(ends[i])
            others = [sorted(ends[j]) for j in range(len(results)) if j != i]
            is_grave = not others or not all(high < least or low > greatest for least, greatest in others)
            (lines if is_grave else notes).append(
                f"{result.tie_rate:.1%} of the ranks of {names[i]} tie with a rival: its {heading} is "
                f"{low:.{decimals}f} to {high:.{decimals}f}, depending on how ties are broken."
            )
    return lines, notes


def _tied(results: Sequence[EvaluationResult], names: Sequence[str], models: Sequence[int]) -> str:
    return " and ".join(
        f"{results[i].tie_rate:.1%} of the ranks of {names[i]} tie" for i in models if results[i].tie_rate > MAX_TIES
    )


def relation_patterns(result: EvaluationResult) -> dict[str, str]:
    """Return the pattern of each relation by its label, if the result has the column ``pattern``."""
    if "pattern" not in result.columns.columns:
        return {}
    pairs = zip(result.table["p"].tolist(), result.columns["pattern"].tolist())
    patterns: dict[str, str] = {}
    for p, pattern in dict.fromkeys(pairs):
        label = result.relations.labels[p]
        patterns[label] = "several" if label in patterns else str(pattern)
    return patterns


def ranked_sides(results: Sequence[EvaluationResult]) -> list[str]:
    """Return ``"both"`` and the sides that any result has, in a fixed order."""
    return [side for side in ("both", *ALL_SIDES) if any(side in result.rank_table.sides for result in results)]
