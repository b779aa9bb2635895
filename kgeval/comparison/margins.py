"""Equivalence and non-inferiority of compared models: tests against a margin, with Holm's correction.

`Comparison.equivalence` calls `equivalence_table`, `kgeval compare --margin` calls `equivalence_lines`, and
`regression_gate.gate` calls `margin_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_number, check_one_of, counted
from kgeval.base.wording import enough_decimals, p_equals, quoted, written
from kgeval.comparison.rows import (
    MORE_COLUMNS,
    ROW_COLUMNS,
    UNDECIDED,
    Pair,
    difference_text,
    frame_of,
    leaders_first,
    pairs_of,
    row_before,
    trained_words,
)
from kgeval.errors import MetricError, ProtocolError
from kgeval.metrics import RankMetric
from kgeval.metrics.grammar import display_of
from kgeval.metrics.wrappers import AgainstChance
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key
from kgeval.stats.corrections import holm, holm_levels
from kgeval.stats.equivalence import MarginTest, Support, non_inferiority, tost
from kgeval.stats.moments import first_mean
from kgeval.stats.paired import compare_paired
from kgeval.stats.runs import Runs, effective_differing

if TYPE_CHECKING:  # these modules import this one
    from kgeval.comparison.comparison import Comparison

KINDS = ("equivalence", "non-inferiority")
EQUAL, NOT_INFERIOR, INFERIOR = "equal within the margin", "not inferior", "inferior beyond the margin"
MARGIN_COLUMNS = (*ROW_COLUMNS, *MORE_COLUMNS, "margin", "p_beyond", "p_beyond_corrected", "not_excluded")


def equivalence_table(
    comparison: Comparison, label: str, margin: float, kind: str, baseline: str | None
) -> pd.DataFrame:
    """Return the table of `Comparison.equivalence`.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    margin : float
    kind : str
        One of `KINDS`.
    baseline : str, optional
        The name of a model.
    """
    check_one_of("kind", kind, KINDS, MetricError)
    if baseline is not None:
        check_one_of("baseline (--non-inferior-to)", baseline, comparison.names)
    elif kind == "non-inferiority":
        raise ProtocolError(
            "non-inferiority needs a baseline: the model to which the others must not be inferior, such as "
            f"baseline={comparison.names[0]!r} (--non-inferior-to {comparison.names[0]})"
        )
    check_margin(comparison.keys[label], margin, largest_of(comparison, label))
    indices = pairs_of(comparison.names, baseline, comparison.models)
    pairs = [compared_pair(comparison, label, pair) for pair in indices]
    return margin_rows(pairs, [margin] * len(pairs), kind, comparison.alpha)


def largest_of(comparison: Comparison, label: str) -> float:
    """Return `largest_difference` of a metric of a comparison.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the metric's key.
    """
    return largest_difference(comparison.keys[label], comparison.results, comparison.alignment.rows)


def compared_pair(comparison: Comparison, label: str, pair: tuple[int, int]) -> Pair:
    """Return two models of a comparison in a metric, for `margin_rows`.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    pair : tuple of int
        The indices of the models.
    """
    sample = comparison.sample(comparison.keys[label])
    base = sample.pair(comparison.values[label].iloc[[*pair]])
    try:
        moments = [sample.moments(i) for i in pair]
    except MetricError as error:
        return replace(base, reason=str(error))
    (found,) = compare_paired([moments[0]], [moments[1]], sample.clusters, test="t")
    systems = [Runs((part,), sample.clusters) for part in moments]
    return with_support(replace(base, difference=found), systems, largest_of(comparison, label))


def with_support(pair: Pair, systems: Iterable[Runs | None], largest: float) -> Pair:
    """Return a pair with what a test against a margin needs beside its difference (`Support`).

    Parameters
    ----------
    pair : Pair
    systems : two Runs
        The runs of both models; none of them is None.
    largest : float
        From `largest_difference`; it counts for plain means only.
    """
    first, second = filter(None, systems)
    is_mean = all(moments.finish is first_mean for moments in (*first.moments, *second.moments))
    return replace(pair, largest=largest if is_mean else math.inf, n_weighty=effective_differing(first, second))


def _test(pair: Pair, margin: float, kind: str, alpha: float) -> MarginTest | None:
    """Return the test of a pair against a margin, at a level; None if there is none."""
    found = pair.difference
    if found is None or math.isnan(found.error) or not (found.error == 0.0 or not found.reason):
        return None
    support = Support(found.n_differing, found.n_effective, pair.largest, pair.n_weighty)
    numbers = (found.value, found.error, found.freedom, margin)
    if kind == "equivalence":
        return tost(*numbers, alpha=alpha, support=support)
    higher = bool(pair.higher_is_better)
    return non_inferiority(*numbers, higher_is_better=higher, alpha=alpha, support=support)


def margin_rows(pairs: Sequence[Pair], margins: Sequence[float], kind: str, alpha: float) -> pd.DataFrame:
    """Return the rows of `decided_rows` for tests against margins, corrected by Holm's method for all of them.

    Parameters
    ----------
    pairs : sequence of Pair
    margins : sequence of float
        The margin of each pair.
    kind : str
        ``"equivalence"``: the leader of each pair stands first, and ``decision`` is ``"equal within the margin"``, or
        ``"first"`` or ``"second"`` for the model that is better by more than the margin. ``"non-inferiority"``: the
        order stays, and the decision is ``"not inferior"`` or ``"inferior beyond the margin"``.
    alpha : float
        The probability of one or more false decisions of either kind.
    """
    is_equivalence = kind == "equivalence"
    pairs = leaders_first(pairs) if is_equivalence else pairs
    tests = [_test(pair, margin, kind, alpha) for pair, margin in zip(pairs, margins)]
    p_values, beyond = (
        np.array([math.nan if test is None else getattr(test, name) for test in tests], dtype=np.float64)
        for name in ("p_value", "p_beyond")
    )
    corrected, levels, beyond_corrected = holm(p_values), holm_levels(p_values, alpha), holm(beyond)
    beyond_levels = holm_levels(beyond, alpha) / (2.0 if is_equivalence else 1.0)  # tost has two sides
    records = []
    for i, (pair, margin) in enumerate(zip(pairs, margins)):
        record = {**row_before(pair), "margin": margin, "p_beyond": beyond[i]}
        record |= {"p": p_values[i], "p_corrected": corrected[i], "p_beyond_corrected": beyond_corrected[i]}
        level = beyond_levels[i] if corrected[i] > alpha and beyond_corrected[i] <= alpha else levels[i]
        test = None if math.isnan(level) else _test(pair, margin, kind, float(level))
        if test is not None and corrected[i] > alpha and max(test.low, -test.high) > margin:
            level = min(level, beyond_levels[i])  # the interval is at the level of the test that could decide
            test = _test(pair, margin, kind, float(level))
        if test is not None:
            low, high = pair.clipped((test.low, test.high))
            higher = bool(pair.higher_is_better)
            worst = max(abs(low), abs(high)) if is_equivalence else max(0.0, -low if higher else high)
            record |= {"low": low, "high": high, "level": level, "not_excluded": worst if low == low else math.nan}
            equal = f"the models have equal values in all {counted(record['n_clusters'], 'cluster')}"
            record["reason"] = test.reason or ("" if record["n_differing"] else equal)
            if corrected[i] <= alpha:
                record["decision"] = EQUAL if is_equivalence else NOT_INFERIOR
            elif beyond_corrected[i] <= alpha:
                better = "first" if (test.difference > 0.0) == higher else "second"
                record |= {"decision": better if is_equivalence else INFERIOR, "better": record[better]}
        records.append(record)
    return frame_of(records, MARGIN_COLUMNS)


def check_margin(key: Key, margin: float, largest: float, allow_zero: bool = False) -> None:
    """Raise a MetricError if a margin is not above 0, or not below the largest possible difference.

    Parameters
    ----------
    key : Key
    margin : float
    largest : float
        From `largest_difference`.
    allow_zero : bool
        Whether a margin of 0 is allowed.
    """
    heading = display_of(str(key)).heading
    what = "0 or more" if allow_zero else "above 0"
    says = f"{what}, in the unit of {heading}: the smallest difference that matters, such as 0.002 for MRR"
    margin = check_number("margin", margin, -1e-300 if allow_zero else 0.0, np.inf, says)
    if margin >= largest:
        raise MetricError(
            f"margin must be below {largest:g}, the largest possible difference in {heading}; got {margin:g} (the "
            "margin is in the unit of the metric, not in percent)"
        )


def largest_difference(key: Key, results: Sequence[EvaluationResult], rows: Sequence[Ids]) -> float:
    """Return the largest possible difference between two values of a metric, over the compared ranks.

    If the metric has two finite bounds, the result is the difference of the bounds. For the mean rank and other metrics
    from 1 upwards, the result is the largest number of rivals. Otherwise, or if a number of rivals is unknown, the
    result is infinity.

    Parameters
    ----------
    key : Key
    results : sequence of EvaluationResult
    rows : sequence of int64 arrays
        The compared rows of each result.
    """
    low, high = key.bounds
    if np.isfinite(high - low):
        return high - low
    if low != 1.0 or not isinstance(key.metric, RankMetric) or isinstance(key.metric, AgainstChance):
        return float("inf")
    rivals = np.concatenate([one.rank_table.counts(key.setting, of_one).rivals for one, of_one in zip(results, rows)])
    return float(rivals.max()) if len(rivals) and rivals.min() >= 0 else math.inf


def equivalence_lines(frame: pd.DataFrame, comparison: Comparison, kind: str) -> list[str]:
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
    about = "; ".join([about, *trained_words(frame, comparison.models, answer="answer")])
    return [*(_sentence(row, alpha, kind) for row in frame.to_dict("records")), about]


def _sentence(row: Mapping[Any, Any], alpha: float, kind: str) -> str:
    """Return one row of the table of equivalence as a sentence."""
    display = display_of(row["metric"])
    places = enough_decimals([row["margin"], row["not_excluded"]], display.decimals)
    margin, first, second = written(row["margin"], places), quoted(row["first"]), quoted(row["second"])
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
    parts = [f": difference {difference_text(row, places)}"]
    shown = p_equals(row["p_beyond_corrected" if is_beyond else "p_corrected"], alpha)
    parts += [f", {shown}"] if shown else []
    if row["decision"] == UNDECIDED and not math.isnan(row["not_excluded"]):
        what = "a difference" if kind == "equivalence" else "a loss"
        parts.append(f"; {what} of {written(row['not_excluded'], places)} is not excluded")
    return "".join([text, *parts, f" ({row['reason']})" if row["reason"] else ""])
