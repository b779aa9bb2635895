"""The panel of a comparison: the HTML that notebooks show for a comparison; `Comparison` calls `comparison_panel`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kgeval import markup_panels as panels
from kgeval.checks import counted
from kgeval.comparison.rows import shown_decision
from kgeval.markup import Markup, joined
from kgeval.metrics.grammar import display_of
from kgeval.metrics.metric_frames import REASON
from kgeval.results.display import html_table

MAX_PAIRS = 10  # differences that the panel shows without a click
MAX_NAME = 40  # characters of the name of a model


def comparison_panel(comparison: Any, tests: pd.DataFrame) -> Markup:
    """Return the panel of a comparison: verdict, differences with interval bars, and details.

    Two models are compared by up to three metrics, more models by the metric of the verdict.

    Parameters
    ----------
    comparison : Comparison
    tests : pandas.DataFrame
        The table of all tests, as it is shown.
    """
    verdict, names, confidence = comparison.verdict, comparison.names, comparison.terms.confidence
    is_plain = verdict.outcome != "undecided" or verdict.sentence.startswith("Undecided")
    differences = _differences(comparison, verdict.metric)
    n_pairs = len(comparison.differences) // len(comparison.keys)
    return panels.panel(
        verdict.sentence if is_plain else f"Undecided: {verdict.sentence}",
        panels.line(
            f"{counted(len(comparison.alignment.rows[0]), 'rank')} of {comparison.results[0].facts['dataset']}, paired"
        ),
        _values(comparison, verdict.metric, confidence) if len(names) > 2 else None,
        differences if n_pairs <= MAX_PAIRS else panels.folded(counted(n_pairs, "difference"), differences),
        panels.folded("All metrics", html_table(comparison.values[[*comparison.keys, REASON]])),
        panels.folded(counted(len(tests), "test"), html_table(tests, index=False)),
        panels.folded("Protocol, test and notes", panels.lines(comparison.header())),
    )


def shown_metrics(comparison: Any, metric: str) -> list[str]:
    """Return up to three compared metrics that can share one scale.

    These are `metric`, and the first and the last of the other compared metrics that have the same bounds as `metric`.

    Parameters
    ----------
    comparison : Comparison
    metric : str
        The text of the key of a compared metric.
    """
    bounds = comparison.keys[metric].metric.bounds
    others = [label for label, key in comparison.keys.items() if label != metric and key.metric.bounds == bounds]
    return list(dict.fromkeys([metric, *others[:1], *others[-1:]]))


def _values(comparison: Any, metric: str, confidence: float) -> Markup:
    """Return a table with the value of each model."""
    bars = []
    for name, row in zip(comparison.names, comparison.values.to_dict("records")):
        low, high = (float(row.get(f"{metric} {end}", math.nan)) for end in ("low", "high"))
        bars.append(panels.Bar(_short(name), float(row[metric]), low, high, display_of(metric).decimals))
    return joined(panels.line(display_of(metric).heading), panels.bar_table(bars, confidence))


def _differences(comparison: Any, metric: str) -> Markup:
    """Return a table of differences: of several metrics if there are two models, else of all pairs in one metric."""
    has_two = len(comparison.names) == 2
    metrics = shown_metrics(comparison, metric) if has_two else [metric]
    rows = [row for label in metrics for row in comparison.differences.to_dict("records") if row["metric"] == label]
    limit = edge_of([abs(row[name]) for row in rows for name in ("difference", "low", "high")])
    first, second = (_short(rows[0][place]) for place in ("first", "second")) if has_two else ("first", "second")
    cells = []
    for row in rows:
        label, pair = row["metric"], f"{_short(row['first'])} - {_short(row['second'])}"
        values = [panels.written(row[of], display_of(label).decimals) for of in ("value_first", "value_second")]
        lead = display_of(label).heading if has_two else pair
        cells.append((lead, *values, *pair_cells(row, limit, comparison.alpha)))
    leads = ("metric", f"{first} - {second}") if has_two else ("models", "difference")
    headings = [leads[0], first, second, leads[1], *pair_headings(limit)]
    return panels.table(headings, cells, numeric=(1, 2, 3, 4, 6))


def pair_headings(limit: float) -> list[str]:
    """Return the headings of `pair_cells`, without that of the difference.

    Parameters
    ----------
    limit : float
    """
    return ["interval", f"-{limit:g} to +{limit:g}", "p (Holm)", "better", "reason"]


def pair_cells(row: Mapping[Any, Any], limit: float, alpha: float) -> tuple[Any, ...]:
    """Return cells for a row of differences: difference, interval, bar, p-value, better model, reason.

    Parameters
    ----------
    row : mapping
    limit : float
        The largest difference of the axis of the bar, from `edge_of`.
    alpha : float
    """
    numbers = (row["difference"], row["low"], row["high"])
    places = panels.enough_decimals(numbers if row["better"] else numbers[:1], display_of(row["metric"]).decimals)
    return (
        panels.signed(row["difference"], places),
        panels.between(row["low"], row["high"], places, has_signs=True),
        panels.difference_bar(*numbers, limit),
        panels.p_text(row["p_corrected"], alpha),
        _short(shown_decision(row)),
        row["reason"],
    )


def _short(name: str) -> str:
    """Return the name of a model for a table; the middle of a long name is left out."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME // 2]} … {name[-MAX_NAME // 2 :]}"


def edge_of(sizes: Sequence[float]) -> float:
    """Return the largest finite size, rounded up to two significant digits; 1 if no size is above 0.

    Parameters
    ----------
    sizes : sequence of float

    Examples
    --------
    >>> edge_of([0.0312, float("nan")]), edge_of([0.0])
    (0.032, 1.0)
    """
    largest = max((size for size in sizes if math.isfinite(size)), default=0.0)
    if largest == 0.0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(largest)) - 1)
    return float(f"{math.ceil(largest / unit - 1e-9) * unit:.2g}")
