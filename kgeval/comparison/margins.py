"""Equivalence and non-inferiority of compared models: tests against a margin, with Holm's correction.

`Comparison.equivalence` calls `equivalence_table`, `kgeval compare --margin` calls `equivalence_lines`, and `gating.py`
calls `margin_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_number, check_one_of, counted
from kgeval.comparison.rows import (
    MORE_COLUMNS,
    ROW_COLUMNS,
    UNDECIDED,
    Pair,
    frame_of,
    leaders_first,
    pairs_of,
    row_before,
)
from kgeval.errors import MetricError, ProtocolError
from kgeval.markup_panels import between, enough_decimals, p_equals, signed, written
from kgeval.metrics import AgainstChance, RankMetric, display_of
from kgeval.results import Key
from kgeval.stats import (
    MarginTest,
    Support,
    compare_paired,
    effective_differing,
    first_mean,
    holm,
    holm_levels,
    non_inferiority,
    tost,
)

KINDS = ("equivalence", "non-inferiority")
EQUAL, NOT_INFERIOR, INFERIOR = "equal within the margin", "not inferior", "inferior beyond the margin"
MARGIN_COLUMNS = (*ROW_COLUMNS, *MORE_COLUMNS, "margin", "p_beyond", "p_beyond_corrected", "not_excluded")


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
    key = comparison.keys[label]
    check_margin(comparison, key, margin)
    indices = pairs_of(comparison.names, reference, comparison.models)
    pairs = [compared_pair(comparison, label, pair) for pair in indices]
    return margin_rows(pairs, [margin] * len(pairs), kind, comparison.alpha)


def compared_pair(comparison: Any, label: str, pair: tuple[int, int]) -> MarginPair:
    """Return two models of a comparison in a metric, for `margin_rows`.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    pair : tuple of int
        The indices of the models.
    """
    key, sample = comparison.keys[label], comparison.sample(comparison.keys[label])
    first, second = (comparison.names[i] for i in pair)
    one, other = (float(comparison.values[label].iloc[i]) for i in pair)
    base = Pair(str(comparison.results[0].facts["dataset"]), label, first, second, (one, other))
    base = replace(base, higher_is_better=key.higher_is_better, bounds=key.bounds, more={"n": len(sample)})
    try:
        moments = [sample.moments(comparison.results[i], i, key) for i in pair]
    except MetricError as error:
        return MarginPair(replace(base, reason=str(error)), float("inf"))
    (found,) = compare_paired([moments[0]], [moments[1]], sample.clusters, test="t")
    largest = largest_difference(comparison, key) if all(part.finish is first_mean for part in moments) else np.inf
    n_weighty = effective_differing(moments[0], moments[1], sample.clusters.first)
    return MarginPair(replace(base, difference=found), largest, n_weighty)


@dataclass(frozen=True)
class MarginPair:
    """Two models whose difference is tested against a margin.

    Parameters
    ----------
    pair : Pair
        Its difference has a standard error.
    largest : float
        The largest possible difference in one observation, if the metric is a mean; else infinity.
    n_weighty : float
        See `Support`.
    """

    pair: Pair
    largest: float
    n_weighty: float = np.inf

    def test(self, margin: float, kind: str, alpha: float) -> MarginTest | None:
        """Return the test at a level; None if there is none.

        Parameters
        ----------
        margin : float
        kind : str
            One of `KINDS`.
        alpha : float
        """
        found = self.pair.difference
        if found is None or math.isnan(found.error) or not (found.error == 0.0 or not found.reason):
            return None
        support = Support(found.n_differing, found.n_effective, self.largest, self.n_weighty)
        numbers = (found.value, found.error, found.freedom, margin)
        if kind == "equivalence":
            return tost(*numbers, alpha=alpha, support=support)
        higher = bool(self.pair.higher_is_better)
        return non_inferiority(*numbers, higher_is_better=higher, alpha=alpha, support=support)


def margin_rows(compared: Sequence[MarginPair], margins: Sequence[float], kind: str, alpha: float) -> pd.DataFrame:
    """Return the rows of `decided_rows` for tests against margins, corrected by Holm's method for all of them.

    Parameters
    ----------
    compared : sequence of MarginPair
    margins : sequence of float
        The margin of each pair.
    kind : str
        ``"equivalence"``: the leader of each pair stands first, and ``decision`` is ``"equal within the margin"``, or
        ``"first"`` or ``"second"`` for the model that is better by more than the margin. ``"non-inferiority"``: the
        order stays, and the decision is ``"not inferior"`` or ``"inferior beyond the margin"``.
    alpha : float
        The probability of one or more false decisions of either kind.
    """
    if kind == "equivalence":
        turned = leaders_first([one.pair for one in compared])
        compared = [replace(one, pair=pair) for one, pair in zip(compared, turned)]
    tests = [one.test(margin, kind, alpha) for one, margin in zip(compared, margins)]
    p_values, beyond = (
        np.array([math.nan if test is None else getattr(test, name) for test in tests], dtype=np.float64)
        for name in ("p_value", "p_beyond")
    )
    corrected, levels, beyond_corrected = holm(p_values), holm_levels(p_values, alpha), holm(beyond)
    records = []
    for i, (one, margin) in enumerate(zip(compared, margins)):
        record = {**row_before(one.pair), "margin": margin, "p_beyond": beyond[i]}
        record |= {"p": p_values[i], "p_corrected": corrected[i], "p_beyond_corrected": beyond_corrected[i]}
        test = None if math.isnan(levels[i]) else one.test(margin, kind, float(levels[i]))
        if test is not None:
            low, high = one.pair.clipped((test.low, test.high))
            higher, is_equivalence = bool(one.pair.higher_is_better), kind == "equivalence"
            worst = max(abs(low), abs(high)) if is_equivalence else max(0.0, -low if higher else high)
            record |= {"low": low, "high": high, "level": levels[i], "not_excluded": worst if low == low else math.nan}
            record["reason"] = test.reason or _equal_reason(one.pair)
            if corrected[i] <= alpha:
                record["decision"] = EQUAL if is_equivalence else NOT_INFERIOR
            elif beyond_corrected[i] <= alpha:
                better = "first" if (test.difference > 0.0) == higher else "second"
                record |= {"decision": better if is_equivalence else INFERIOR, "better": record[better]}
        records.append(record)
    return frame_of(records, MARGIN_COLUMNS)


def _equal_reason(pair: Pair) -> str:
    """Return a remark about two models that have equal values everywhere; else empty."""
    found = pair.difference
    if found is None or found.n_differing:
        return ""
    return f"the models have equal values in all {counted(found.n_clusters, 'cluster')}"


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
    alpha, n = comparison.alpha, int(frame["p_corrected"].notna().sum())
    corrected = f", corrected by Holm's method for {counted(n, 'test')}" if n > 1 else ""
    one = "two one-sided t tests (TOST)" if kind == "equivalence" else "a one-sided t test"
    about = (
        f"tested: {one} at the level {alpha:g}{corrected}; an interval contains the differences that its test does not "
        "exclude"
    )
    return [*(_sentence(row, alpha, kind) for row in frame.to_dict("records")), about]


def _sentence(row: Mapping[Any, Any], alpha: float, kind: str) -> str:
    """Return one row of the table of equivalence as a sentence."""
    display = display_of(row["metric"])
    places = enough_decimals([row["margin"], row["not_excluded"]], display.decimals)
    margin, first, second = written(row["margin"], places), row["first"], row["second"]
    is_beyond = row["decision"] in ("first", "second", INFERIOR)
    texts = {
        EQUAL: f"{first} and {second} are equal in {display.heading}, within the margin {margin}",
        NOT_INFERIOR: f"{first} is not inferior to {second} in {display.heading}, by the margin {margin}",
        INFERIOR: f"{first} is inferior to {second} in {display.heading}, by more than the margin {margin}",
        **dict.fromkeys(
            ("first", "second"), f"{first} and {second} differ in {display.heading} by more than the margin {margin}"
        ),
    }
    what = f"{first} and {second} are equal" if kind == "equivalence" else f"{first} is not inferior to {second}"
    text = texts.get(row["decision"], f"undecided whether {what} in {display.heading}, by the margin {margin}")
    limits = between(row["low"], row["high"], places, has_signs=True)
    parts = [f": difference {signed(row['difference'], places)}{f' {limits}' if limits else ''}"]
    shown = p_equals(row["p_beyond_corrected" if is_beyond else "p_corrected"], alpha)
    parts += [f", {shown}"] if shown else []
    if row["decision"] == UNDECIDED and not math.isnan(row["not_excluded"]):
        what = "a difference" if kind == "equivalence" else "a loss"
        parts.append(f"; {what} of {written(row['not_excluded'], places)} is not excluded")
    return "".join([text, *parts, f" ({row['reason']})" if row["reason"] else ""])
