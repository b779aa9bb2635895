"""Planning from a comparison: how many ranks are needed for a difference, and how likely the order of models repeats.

`Comparison.plan` and `Comparison.replication` call `plan_of` and `replication_of`; ``str`` of a result is a sentence.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_number, counted, listed
from kgeval.comparison.margins import largest_difference
from kgeval.errors import MetricError
from kgeval.markup_panels import enough_decimals, signed, written
from kgeval.metrics import QueryLevel, display_of
from kgeval.results import Key
from kgeval.stats import Plan, compare_paired, order_repeats, plan_clusters, scaled_up

UNITS = {"triple": "triple", "query": "query", "entity": "entity", "array": "cluster"}
PLURALS = {"query": "queries", "entity": "entities"}


@dataclass(frozen=True)
class SamplePlan:
    """How many test triples and ranks a comparison needs to find a difference; `Comparison.plan` returns it.

    Parameters
    ----------
    metric, first, second : str
        The key of the metric and the names of the two models.
    plan : Plan
        How many clusters are needed; its fields ``difference``, ``power``, ``alpha`` (the significance level divided by
        the number of tests of the comparison), ``n_clusters``, ``n_needed``, ``power_now`` and ``reason``.
    n_tests : int
        Number of tests of the comparison, for which Holm's method corrects.
    cluster : str
        The kind of clusters, such as ``"triple"``.
    observation : str
        ``"rank"``, or ``"query"`` for query-level metrics.
    n_observations, n_triples : int
        The present numbers of ranks (or queries) and of test triples.
    """

    metric: str
    first: str
    second: str
    plan: Plan
    n_tests: int
    cluster: str
    observation: str
    n_observations: int
    n_triples: int

    @property
    def is_enough(self) -> bool:
        """Whether the present sample finds the difference with the wished-for power."""
        return self.plan.is_enough

    @property
    def n_observations_needed(self) -> float:
        """The number of ranks (or queries) that are needed; NaN if there is no plan."""
        return self._needed(self.n_observations)

    @property
    def n_triples_needed(self) -> float:
        """The number of test triples that are needed; NaN if there is no plan."""
        return self._needed(self.n_triples)

    def _needed(self, n: int) -> float:
        return math.nan if math.isnan(self.plan.n_needed) else float(scaled_up(n, self.plan.times))

    def __str__(self) -> str:
        plan, display = self.plan, display_of(self.metric)
        size = written(plan.difference, enough_decimals([plan.difference], display.decimals))
        what = f"a true difference of {size} in {display.heading} between {self.first} and {self.second}"
        if plan.reason:
            return f"no plan for {what}: {plan.reason}"
        level = f"at the level {plan.alpha:.4g}"
        if self.n_tests > 1:
            level += f" ({plan.alpha * self.n_tests:g} divided by the {self.n_tests} tests here)"
        now = f"{counted(self.n_triples, 'test triple')} and {self._counted(self.n_observations)}"
        text = f"{what} is found with probability {_shown(plan.power_now)} by the present {now}, {level}"
        if self.is_enough:
            return f"{text}: enough for a probability of {plan.power:g}"
        needed = (
            f"{counted(int(self.n_triples_needed), 'test triple')} ({self._counted(int(self.n_observations_needed))})"
        )
        if self.cluster != "triple":
            unit = UNITS[self.cluster]
            clusters = counted(int(plan.n_needed), unit, PLURALS.get(unit, ""))
            needed = f"{clusters} instead of {plan.n_clusters:,}, or {needed}"
        return f"{text}: too few for a probability of {plan.power:g}, which needs {needed} like these"

    def _counted(self, n: int) -> str:
        return counted(n, self.observation, PLURALS.get(self.observation, ""))


@dataclass(frozen=True, eq=False)
class Replication:
    """How likely the order of models repeats on a new test set; `Comparison.replication` returns it.

    Parameters
    ----------
    metric : str
        The key of the metric.
    order : tuple of str
        The names of the models, best value first.
    of_order : float
        The probability that a new test set of the same size puts all models in the same order.
    of_first : float
        The probability that the first model of `order` has the best value again.
    table : pandas.DataFrame
        One row per pair, the better model first: ``first, second, difference, error, probability`` (that the sign of
        the difference repeats; NaN if the models are equal in every cluster) and ``reason``.
    reason : str
        Why `of_order` is NaN; else empty.
    """

    metric: str
    order: tuple[str, ...]
    of_order: float
    of_first: float
    table: pd.DataFrame
    reason: str = ""

    def __str__(self) -> str:
        heading = display_of(self.metric).heading
        if math.isnan(self.of_order):
            return f"no probability that the order in {heading} repeats: {self.reason}"
        text = (
            f"on a new test set of the same size, {' > '.join(self.order)} in {heading} repeats with probability "
            f"{_shown(self.of_order)}"
        )
        if len(self.order) > 2:
            text += f", and {self.order[0]} is the best again with probability {_shown(self.of_first)}"
        return f"{text} (if the observed differences are the best guess of the true ones)"


def _shown(probability: float) -> str:
    """Return a probability with two decimals; never 0.00 or 1.00."""
    if probability > 0.995:
        return "above 0.99"
    return "below 0.01" if probability < 0.005 else f"{probability:.2f}"


def plan_of(comparison: Any, label: str, pair: tuple[int, int], difference: float, power: float) -> SamplePlan:
    """Return the plan for two models; see `Comparison.plan`.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    pair : tuple of int
        The indices of the two models.
    difference, power : float
    """
    key = comparison.keys[label]
    heading = display_of(label).heading
    size = abs(check_number("difference", difference, -np.inf, np.inf, f"a difference in {heading} other than 0"))
    largest = largest_difference(comparison, key)
    if not 0.0 < size < largest:
        raise MetricError(
            f"difference must be above 0 and below {largest:g}, the largest possible difference in {heading}; got "
            f"{difference:g} (it is in the unit of the metric, not in percent)"
        )
    sample = comparison.sample(key)
    n_tests = max(1, int(comparison.table["p"].notna().sum()))
    alpha = (1.0 - comparison.terms.confidence) / n_tests
    try:
        moments = [sample.moments(comparison.results[i], i, key) for i in pair]
    except MetricError as error:
        plan = Plan(size, power, alpha, sample.clusters.count, np.nan, np.nan, str(error))
    else:
        plan = plan_clusters(moments[0], moments[1], sample.clusters, size, power=power, alpha=alpha)
        if not sample.clusters.is_crossed and 1.0 / (comparison.terms.n_resamples + 1.0) > alpha:
            reason = f"{counted(comparison.terms.n_resamples, 'random swap')} are too few for a p-value of {alpha:.2g}"
            plan = Plan(size, power, alpha, plan.n_clusters, np.nan, np.nan, f"{reason}; use more (n_resamples)")
    rows = sample.rows[0]
    n_triples = comparison.results[0].rank_table.row_clusters("triple").among([rows]).count if len(rows) else 0
    return SamplePlan(
        label,
        comparison.names[pair[0]],
        comparison.names[pair[1]],
        plan,
        n_tests,
        comparison.terms.cluster_name,
        "query" if isinstance(key.metric, QueryLevel) else "rank",
        len(sample),
        n_triples,
    )


def replication_of(comparison: Any, label: str, n_draws: int, seed: int) -> Replication:
    """Return the probabilities of `Comparison.replication`.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    n_draws, seed : int
    """
    key: Key = comparison.keys[label]
    sample, n = comparison.sample(key), len(comparison.names)
    reason, moments = "", []
    for i, result in enumerate(comparison.results):
        try:
            moments.append(sample.moments(result, i, key))
        except MetricError as error:  # noqa: PERF203
            reason = f"{comparison.names[i]}: {error}"
            break
    sign = 1.0 if key.higher_is_better else -1.0
    values = comparison.values[label].to_numpy(dtype=np.float64)
    errors = np.zeros((n, n))
    reasons = np.full((n, n), reason, dtype=object)
    freedom = math.inf
    for i, j in [] if reason else itertools.combinations(range(n), 2):
        # One random swap pattern: only the standard error is needed, not the p-value.
        pair = compare_paired([moments[i]], [moments[j]], sample.clusters, n_resamples=1)[0]
        freedom = min(freedom, pair.freedom)
        has_error = pair.error == 0.0 or not math.isnan(pair.low)
        errors[i, j] = errors[j, i] = pair.error if has_error else math.nan
        reasons[i, j] = reasons[j, i] = pair.reason if math.isnan(pair.low) else ""
        if not has_error:
            reason = f"{listed([comparison.names[i], comparison.names[j]])}: {pair.reason}"
    if len(moments) < n:
        errors[:] = math.nan
    repeats = order_repeats(sign * values, errors, max(1.0, min(freedom, 1e9)), n_draws=n_draws, seed=seed)
    order = np.argsort(-sign * values, kind="stable").tolist()
    records = [
        {
            "first": comparison.names[i],
            "second": comparison.names[j],
            "difference": values[i] - values[j],
            "error": errors[i, j],
            "probability": repeats.pairs[i, j],
            "reason": reasons[i, j],
        }
        for i, j in itertools.combinations(order, 2)
    ]
    names = tuple(comparison.names[i] for i in order)
    return Replication(label, names, repeats.order, repeats.first, pd.DataFrame(records), reason)


def replication_lines(replication: Replication) -> list[str]:
    """Return a replication as lines: the sentence, and with three or more models one line per neighbouring pair.

    Parameters
    ----------
    replication : Replication
    """
    display, lines = display_of(replication.metric), [str(replication)]
    neighbours = set(zip(replication.order, replication.order[1:])) if len(replication.order) > 2 else set()
    for row in replication.table.to_dict("records"):
        if (row["first"], row["second"]) in neighbours and not math.isnan(row["probability"]):
            places = enough_decimals([row["difference"]], display.decimals)
            lines.append(
                f"{row['first']} - {row['second']}: {signed(row['difference'], places)}, the sign repeats with "
                f"probability {_shown(row['probability'])}"
            )
    return lines
