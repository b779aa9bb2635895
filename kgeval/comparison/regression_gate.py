"""A regression gate: did a new result lose more than a margin against a baseline? ``kgeval gate`` calls `gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import counted, names_unknown_arguments, with_old_names
from kgeval.base.wording import enough_decimals, p_equals, written
from kgeval.comparison.comparison import Comparison, compare
from kgeval.comparison.margins import (
    INFERIOR,
    MARGIN_COLUMNS,
    NOT_INFERIOR,
    check_margin,
    compared_pair,
    largest_of,
    margin_rows,
)
from kgeval.comparison.rows import difference_text, trained_words
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric
from kgeval.metrics.grammar import display_of
from kgeval.results.bounded import COUNTS
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

SAME_RANKS = "all ranks are the same as those of the baseline"


@with_old_names(about="header")
@dataclass(frozen=True, eq=False)
class Gate:
    """The result of a regression gate, with one row per metric; `gate` returns it.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per metric, with the columns of `Comparison.equivalence` for non-inferiority: the run is the ``first``,
        the baseline the ``second``, and ``not_excluded`` is the largest loss that the interval does not exclude. The
        last column is ``passes``. ``reason`` may also say that all ranks are the same.
    comparison : Comparison
        The comparison of the run and the baseline.
    strict : bool
        Whether a metric passes only if it is shown not to be inferior.
    """

    table: pd.DataFrame
    comparison: Comparison
    strict: bool

    @property
    def passes(self) -> bool:
        """Whether all metrics pass."""
        return bool(self.table["passes"].all())

    @property
    def header(self) -> list[str]:
        """Lines about the compared results: names, protocol, ties, overrides and notes."""
        of_tests = ("tested: ", "p_corrected ", "differences are ")
        return [line for line in self.comparison.header() if not line.startswith(of_tests)]

    @property
    def lines(self) -> list[str]:
        """All lines of the output: the lines of `header`, one line per metric, notes, and the result of the gate."""
        alpha, n, n_failed = self.comparison.alpha, len(self.table), int((~self.table["passes"].astype(bool)).sum())
        corrected = f", corrected by Holm's method for {n} metrics" if n > 1 else ""
        outcome = "passes" if self.passes else f"FAILS: {n_failed} of {counted(n, 'metric')}"
        notes = [line for line in self.header if line.startswith("note: ")]
        return [
            *(line for line in self.header if line not in notes),
            *(_line(row, self) for row in self.table.to_dict("records")),
            f"tested: one-sided t tests at the level {alpha:g}{corrected}; the intervals contain the differences that "
            f"the tests do not exclude; {''.join(trained_words(self.table, answer='answer'))}",
            *notes,
            f"gate{' (strict)' if self.strict else ''}: {outcome}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines)


@names_unknown_arguments(is_strict="strict=")
def gate(
    result: EvaluationResult,
    baseline: EvaluationResult,
    margins: Mapping[str | Metric, float],
    *,
    strict: bool = False,
    confidence: float = 0.95,
    cluster: Any = "triple",
    override: Sequence[str] | str = (),
    names: Sequence[str] = ("run", "baseline"),
) -> Gate:
    """Test whether a result lost more than a margin against a baseline, on the same ranked triples.

    The gate fails if the loss is significantly larger than the margin in a metric. It passes in two cases: the run is
    shown not to be inferior (the loss is significantly smaller than the margin), or the test is undecided; then
    the output contains the largest loss that is not excluded. With `strict`, only the first case passes.
    A metric also passes if all its ranks are equal to the ranks of the baseline.

    Parameters
    ----------
    result, baseline : EvaluationResult
        With the same protocol, dataset and queries.
    margins : mapping of str or Metric to float
        For each metric, the largest accepted loss, in the unit of the metric; 0 accepts no loss. For metrics of
        which lower values are better, such as MR, a rise is a loss.
    strict : bool
    confidence : float
        The tests have the significance level ``1 - confidence``, corrected by Holm's method for the number of metrics.
    cluster, override
        As in `kgeval.compare`.
    names : sequence of str
        The names of the run and of the baseline.

    Returns
    -------
    Gate

    Raises
    ------
    ProtocolError
        If the results may not be compared.
    MetricError
        If a margin is out of range, or if a metric cannot be tested: it is undefined, or there are too few clusters.

    References
    ----------
    Schuirmann (1987), as in `kgeval.stats.equivalence.tost` (each metric has one of the two one-sided tests).

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> triples = [[i, 0, (i + 1) % 40] for i in range(40)]
    >>> dataset = Dataset.from_arrays(test=triples, n_entities=40, n_relations=1)
    >>> run, baseline = (evaluate(lambda s, p, o, k=k: -((o - s - 1) % k), dataset) for k in (3, 8))
    >>> print(gate(run, baseline, {"mrr": 0.01}).lines[-1])
    gate: FAILS: 1 of 1 metric
    """
    if not isinstance(margins, Mapping) or not margins:
        raise MetricError(
            f"margins must map each metric to its largest accepted loss, such as {{'mrr': 0.002}}; got {margins!r}"
        )
    keys = {str(Key.parse(metric)): margin for metric, margin in margins.items()}
    if len(keys) < len(margins):
        raise MetricError(f"a metric is named twice: {', '.join(map(str, margins))}")
    settings: dict[str, Any] = {"override": override, "confidence": confidence, "cluster": cluster}
    comparison = compare([result, baseline], names=names, metrics=list(keys), **settings)
    for label, margin in keys.items():
        check_margin(comparison.keys[label], margin, largest_of(comparison, label), allow_zero=True)
    pairs = [compared_pair(comparison, label, (0, 1)) for label in keys]
    frame = margin_rows(pairs, [float(margin) for margin in keys.values()], "non-inferiority", comparison.alpha)
    for row in frame[frame["p"].isna()].to_dict("records"):
        raise MetricError(f"{display_of(row['metric']).heading} cannot be tested: {row['reason']}")
    frame.loc[[_has_same_ranks(comparison, comparison.keys[label]) for label in keys], "reason"] = SAME_RANKS
    # The test is about new triples. A run whose ranks all equal the ranks of the baseline passes without a test.
    frame.loc[frame["reason"] == SAME_RANKS, "decision"] = NOT_INFERIOR
    is_passed = frame["decision"] == NOT_INFERIOR if strict else frame["decision"] != INFERIOR
    return Gate(frame.assign(passes=is_passed)[[*MARGIN_COLUMNS, "passes"]], comparison, strict)


def _has_same_ranks(comparison: Comparison, key: Key) -> bool:
    """Return whether all ranks of a metric are the same in both results (equal counts of better, tied, all rivals)."""
    columns = [f"{name}_{key.setting}" for name in COUNTS]
    of_results = zip(comparison.results, comparison.sample(key).rows)
    one, other = (result.rank_table.frame[columns].to_numpy()[rows] for result, rows in of_results)
    return np.array_equal(one, other)


def _line(row: Mapping[Any, Any], of_gate: Gate) -> str:
    """Return the line of a metric: values, difference with interval, margin, verdict."""
    comparison = of_gate.comparison
    display, alpha = display_of(row["metric"]), comparison.alpha
    places = enough_decimals([row["margin"], row["difference"]], display.decimals)
    shown = zip(comparison.names, (row["value_first"], row["value_second"]))
    values = ", ".join(f"{name} {written(value, places)}" for name, value in shown)
    margin, loss = written(row["margin"], places), ""
    text = f"{display.title}: {values}, difference {difference_text(row, places)}, margin {margin}: "
    if row["reason"] == SAME_RANKS:
        return f"{text}passes: {SAME_RANKS}"
    if not np.isnan(row["not_excluded"]):
        loss = f": a loss of {written(row['not_excluded'], places)} is not excluded"
    if row["decision"] == INFERIOR:
        p_value = p_equals(row["p_beyond_corrected"], alpha)
        verdict = f"FAILS: the loss is significantly larger than the margin, {p_value}"
    elif row["decision"] == NOT_INFERIOR:
        verdict = f"passes, and is shown not to be inferior by the margin, {p_equals(row['p_corrected'], alpha)}"
    elif of_gate.strict:
        verdict = f"FAILS (strict): the loss is not shown to be below the margin{loss}"
    else:
        verdict = f"passes: no significant loss beyond the margin; this does not show that nothing was lost{loss}"
    reason = f" ({row['reason']})" if row["reason"] else ""
    return f"{text}{verdict}{reason}"
