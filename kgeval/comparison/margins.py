"""Equivalence and non-inferiority of compared models: tests against a margin, with Holm's correction.

`Comparison.equivalence` calls `equivalence_table`, `kgeval compare --margin` calls `equivalence_lines`, and `gating.py`
calls `margin_test_of`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_number, check_one_of, counted
from kgeval.comparison.differences import UNDECIDED, Sample
from kgeval.errors import MetricError, ProtocolError
from kgeval.markup_panels import between, enough_decimals, p_text, signed, written
from kgeval.metrics import AgainstChance, RankMetric, display_of
from kgeval.results import Key
from kgeval.stats import MarginTest, Moments, Support, compare_paired, first_mean, holm, non_inferiority, tost

KINDS = ("equivalence", "non-inferiority")
EQUIVALENT, DIFFERENT = "equivalent", "different beyond the margin"
NOT_INFERIOR, INFERIOR = "not inferior", "inferior beyond the margin"
MARGIN_COLUMNS = (
    "first", "second", "metric", "margin", "value_first", "value_second", "difference", "error", "low", "high", "p",
    "p_holm", "p_beyond", "p_beyond_holm", "decision", "not_excluded", "n_clusters", "n_differing", "n_effective",
    "reason",
)  # fmt: skip
_TEXTS = ("first", "second", "metric", "decision", "reason")


def equivalence_table(comparison: Any, label: str, margin: float, kind: str, reference: str | None) -> pd.DataFrame:
    """Return the table of `Comparison.equivalence`.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    margin : float
    kind : str
        One of `KINDS`.
    reference : str, optional
        The name of a model.
    """
    check_one_of("kind", kind, KINDS, MetricError)
    if reference is not None:
        check_one_of("reference", reference, comparison.names)
    elif kind == "non-inferiority":
        raise ProtocolError(
            "non-inferiority needs a reference: the model to which the others must not be inferior, such as "
            f"reference={comparison.names[0]!r} (--non-inferior-to {comparison.names[0]})"
        )
    key, indices = comparison.keys[label], range(len(comparison.names))
    if reference is None:
        pairs = list(itertools.combinations(indices, 2))
    else:
        second = comparison.names.index(reference)
        pairs = [(first, second) for first in indices if first != second]
    check_margin(comparison, key, margin)
    records = [_record(comparison, key, label, margin, kind, pair) for pair in pairs]
    frame = pd.DataFrame(records, columns=list(MARGIN_COLUMNS))
    return decided(frame, kind, comparison.alpha)


def decided(frame: pd.DataFrame, kind: str, alpha: float) -> pd.DataFrame:
    """Return a table of tests with corrected p-values and decisions.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns ``p`` and ``p_beyond`` of all tests of one family.
    kind : str
        One of `KINDS`.
    alpha : float

    Returns
    -------
    pandas.DataFrame
        With the columns ``p_holm``, ``p_beyond_holm`` and ``decision``.
    """
    shown, beyond = (EQUIVALENT, DIFFERENT) if kind == "equivalence" else (NOT_INFERIOR, INFERIOR)
    frame = frame.assign(p_holm=holm(frame["p"].to_numpy()), p_beyond_holm=holm(frame["p_beyond"].to_numpy()))
    decisions = np.select([frame["p_holm"] <= alpha, frame["p_beyond_holm"] <= alpha], [shown, beyond], UNDECIDED)
    frame["decision"] = decisions.astype(object)
    return frame.astype(
        {name: np.float64 for name in frame.columns if name not in (*_TEXTS, "n_clusters", "n_differing")}
    )


def check_margin(comparison: Any, key: Key, margin: float, allow_zero: bool = False) -> None:
    """Raise a MetricError if a margin is not above 0, or not below the largest possible difference.

    Parameters
    ----------
    comparison : Comparison
    key : Key
    margin : float
    allow_zero : bool
        Whether a margin of 0 is allowed.
    """
    heading = display_of(str(key)).heading
    what = "0 or more" if allow_zero else "above 0"
    says = f"{what}, in the unit of {heading}: the smallest difference that matters, such as 0.002 for MRR"
    margin = check_number("margin", margin, -1e-300 if allow_zero else 0.0, np.inf, says)
    largest = largest_difference(comparison, key)
    if margin >= largest:
        raise MetricError(
            f"margin must be below {largest:g}, the largest possible difference in {heading}; got {margin:g} (the "
            "margin is in the unit of the metric, not in percent)"
        )


def largest_difference(comparison: Any, key: Key) -> float:
    """Return the largest possible difference between two values of a metric, over the compared ranks.

    If the metric has two finite bounds, the result is the difference of the bounds. For the mean rank and other metrics
    from 1 upwards, the result is the largest number of rivals. Otherwise, or if a number of rivals is unknown, the
    result is infinity.

    Parameters
    ----------
    comparison : Comparison
    key : Key
    """
    low, high = key.bounds
    if np.isfinite(high - low):
        return high - low
    if low != 1.0 or not isinstance(key.metric, RankMetric) or isinstance(key.metric, AgainstChance):
        return float("inf")
    largest = 0.0
    for result, rows in zip(comparison.results, comparison.alignment.rows):
        rivals = result.rank_table.counts(key.setting, rows).rivals
        if not len(rivals) or rivals.min() < 0:
            return float("inf")
        largest = max(largest, float(rivals.max()))
    return largest


def margin_test_of(
    comparison: Any, key: Key, sample: Sample, pair: tuple[int, int], margin: float, kind: str
) -> tuple[MarginTest, dict[str, Any]]:
    """Return the test of two models against a margin, and columns about its clusters.

    Parameters
    ----------
    comparison : Comparison
    key : Key
    sample : Sample
        The observations of the metric.
    pair : tuple of int
        The indices of two models.
    margin : float
    kind : str
        One of `KINDS`.

    Returns
    -------
    test : MarginTest
    columns : dict
        ``n_clusters``, ``n_differing``, ``n_effective`` and ``reason``.

    Raises
    ------
    MetricError
        If the metric is undefined, or not a function of means.
    """
    moments: list[Moments] = [sample.moments(comparison.results[i], i, key) for i in pair]
    # One random swap pattern: the p-value of the swaps is not used, only the standard error.
    difference = compare_paired([moments[0]], [moments[1]], sample.clusters, n_resamples=1)[0]
    is_mean = all(part.finish is first_mean for part in moments)
    support = Support(
        difference.n_differing, difference.n_effective, largest_difference(comparison, key) if is_mean else np.inf
    )
    has_test = np.isfinite(difference.error) and (difference.error == 0.0 or not np.isnan(difference.low))
    error = difference.error if has_test else np.nan
    numbers = (difference.value, error, difference.freedom, margin)
    alpha = comparison.alpha
    if kind == "equivalence":
        test = tost(*numbers, alpha=alpha, support=support)
    else:
        higher = key.higher_is_better
        test = non_inferiority(*numbers, higher_is_better=higher, alpha=alpha, support=support)
    reason = test.reason if has_test else difference.reason
    if has_test and difference.n_differing == 0 and not reason:
        reason = f"the models have equal values in all {counted(difference.n_clusters, 'cluster')}"
    return test, {
        "n_clusters": difference.n_clusters,
        "n_differing": difference.n_differing,
        "n_effective": difference.n_effective,
        "reason": reason,
    }


def columns_of(test: MarginTest, key: Key, kind: str) -> dict[str, Any]:
    """Return the columns of a test; the limits are clipped to the possible differences.

    Parameters
    ----------
    test : MarginTest
    key : Key
    kind : str
        One of `KINDS`.
    """
    lowest, highest = key.bounds
    low, high = np.clip([test.low, test.high], lowest - highest, highest - lowest).tolist()
    worst = max(abs(low), abs(high)) if kind == "equivalence" else max(0.0, -low if key.higher_is_better else high)
    return {
        "difference": test.difference,
        "error": test.error,
        "low": low,
        "high": high,
        "p": test.p_value,
        "p_beyond": test.p_beyond,
        "not_excluded": np.nan if np.isnan(low) else worst,
    }


def _record(comparison: Any, key: Key, label: str, margin: float, kind: str, pair: tuple[int, int]) -> dict[str, Any]:
    """Return one row of the table of `equivalence_table`, without corrected p-values."""
    values = [float(comparison.values[label].iloc[i]) for i in pair]
    record: dict[str, Any] = {
        "first": comparison.names[pair[0]],
        "second": comparison.names[pair[1]],
        "metric": label,
        "margin": margin,
        "value_first": values[0],
        "value_second": values[1],
        "difference": values[0] - values[1],
        "n_clusters": 0,
        "n_differing": 0,
    }
    try:
        test, columns = margin_test_of(comparison, key, comparison.sample(key), pair, margin, kind)
    except MetricError as error:
        return record | {"reason": str(error)}
    return record | columns_of(test, key, kind) | columns


def equivalence_lines(frame: pd.DataFrame, comparison: Any, kind: str) -> list[str]:
    """Return the table of `Comparison.equivalence` as sentences, one for each pair, and one about the test.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `equivalence_table`.
    comparison : Comparison
    kind : str
        One of `KINDS`.
    """
    level = f"{100 * (1 - 2 * comparison.alpha):g}%"
    corrected = f", corrected by Holm's method for {counted(len(frame), 'test')}" if len(frame) > 1 else ""
    one = "two one-sided t tests (TOST)" if kind == "equivalence" else "a one-sided t test"
    about = (
        f"tested: {one} at the level {comparison.alpha:g}{corrected}; the {level} interval contains the differences "
        "that the test does not exclude"
    )
    return [*(_sentence(row, comparison.alpha, level, kind) for row in frame.to_dict("records")), about]


def _sentence(row: Mapping[Any, Any], alpha: float, level: str, kind: str) -> str:
    """Return one row of the table of equivalence as a sentence."""
    display = display_of(row["metric"])
    places = enough_decimals([row["margin"], row["not_excluded"]], display.decimals)
    margin, first, second = written(row["margin"], places), row["first"], row["second"]
    texts = {
        EQUIVALENT: f"{first} and {second} are equivalent in {display.heading}, within {margin}",
        DIFFERENT: f"{first} and {second} differ in {display.heading} by more than the margin {margin}",
        NOT_INFERIOR: f"{first} is not inferior to {second} in {display.heading}, by the margin {margin}",
        INFERIOR: f"{first} is inferior to {second} in {display.heading}, by more than the margin {margin}",
    }
    what = "are equivalent" if kind == "equivalence" else f"is not inferior to {second}"
    who = f"{first} and {second}" if kind == "equivalence" else first
    text = texts.get(row["decision"], f"undecided whether {who} {what} in {display.heading}, by the margin {margin}")
    p_value = row["p_beyond_holm"] if row["decision"] in (DIFFERENT, INFERIOR) else row["p_holm"]
    text += f": difference {signed(row['difference'], places)}"
    limits = between(row["low"], row["high"], places, has_signs=True)
    text += f" {limits} ({level} interval)" if limits else ""
    shown = p_text(p_value, alpha)
    text += "" if shown == "-" else f", p {shown}" if shown.startswith("<") else f", p = {shown}"
    if row["decision"] == UNDECIDED and not np.isnan(row["not_excluded"]):
        what = "a difference" if kind == "equivalence" else "a loss"
        text += f"; {what} of {written(row['not_excluded'], places)} is not excluded"
    return text + (f" ({row['reason']})" if row["reason"] else "")
