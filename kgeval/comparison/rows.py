"""The rows of differences: the one place that corrects, decides and words for all comparisons.

`kgeval.compare`, `kgeval.benchmark`, `kgeval.compare_classifications`, `Comparison.averages`, the tests against a
margin and `kgeval.comparison.regression_gate.gate` build their rows with `decided_rows` or with its columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgeval.base.checks import check_one_of, names_unknown_arguments
from kgeval.base.wording import difference_decimals, estimate, p_equals
from kgeval.errors import MetricError, ProtocolError
from kgeval.stats.corrections import holm, holm_levels
from kgeval.stats.paired import Difference

if TYPE_CHECKING:  # these modules import this one
    from kgeval.comparison.comparison import Comparison

ROW_COLUMNS = (
    "dataset", "metric", "first", "second", "n_first", "n_second", "difference", "error", "freedom", "low", "high",
    "level", "low_95", "high_95", "p", "p_corrected", "decision", "better", "detectable", "reason",
)  # fmt: skip
MORE_COLUMNS = ("value_first", "value_second", "n", "n_clusters", "n_differing", "n_effective", "test")
TEXTS = ("dataset", "metric", "first", "second", "decision", "better", "reason", "test", "average")
COUNTS = ("n_first", "n_second", "n", "n_clusters", "n_differing", "wins", "ties", "losses")
UNDECIDED, NO_RUN = "undecided", "no common run"  # further decisions, beside "first" and "second"
TRAINED = "this is about these trained models; other seeds may give another"


def alpha_of(confidence: float) -> float:
    """Return the probability of one or more false decisions that a confidence allows.

    Parameters
    ----------
    confidence : float

    Examples
    --------
    >>> alpha_of(0.95)
    0.05
    """
    return round(1.0 - confidence, 12)  # 0.05, not 0.050000000000000044


def pairs_of(
    names: Sequence[str], baseline: str | None = None, models: Sequence[str | None] = ()
) -> list[tuple[int, int]]:
    """Return the pairs to compare, as indices: all pairs, or each with the baseline; never two runs of one model.

    Parameters
    ----------
    names : sequence of str
    baseline : str, optional
    models : sequence of str or None
        The model of each name, None if unknown. Runs of one model are its seeds, and are no rivals; if all names are
        runs of one model (which `compare` takes only under names of their own), all pairs are compared.

    Raises
    ------
    MetricError
        If no model has the name of the baseline.

    Examples
    --------
    >>> pairs_of("ABC"), pairs_of("ABC", "B")
    ([(0, 1), (0, 2), (1, 2)], [(0, 1), (2, 1)])
    >>> pairs_of(["A seed 1", "A seed 2", "B"], models=["A", "A", "B"])
    [(0, 2), (1, 2)]
    """
    if baseline is None:
        pairs = list(itertools.combinations(range(len(names)), 2))
    else:
        second = list(names).index(check_one_of("baseline", baseline, names, MetricError))
        pairs = [(first, second) for first in range(len(names)) if first != second]
    return [(i, j) for i, j in pairs if not models or models[i] is None or models[i] != models[j]] or pairs


@dataclass(frozen=True)
class Settings:
    """The settings of every comparison of models; see the parameters of `compare` and of `benchmark`."""

    confidence: float
    cluster: Any
    baseline: str | None

    @property
    def alpha(self) -> float:
        """The probability of one or more false decisions that is allowed: 1 - confidence."""
        return alpha_of(self.confidence)


class Compared:
    """Base of comparisons of models: differences, and the level at which tests decide them."""

    differences: pd.DataFrame
    terms: Settings

    @property
    def alpha(self) -> float:
        """1 - confidence: a difference is decided if its ``p_corrected`` is at most `alpha`."""
        return self.terms.alpha

    @names_unknown_arguments(alpha="compare(..., confidence=1 - alpha): decisions belong to the confidence")
    def significant(self) -> pd.DataFrame:
        """Return the rows of `differences` that are decided."""
        return self.differences[(self.differences["better"] != "").to_numpy()].reset_index(drop=True)


@dataclass(frozen=True)
class Pair:
    """Two models in one metric on one dataset: their difference, before it is corrected and decided.

    Parameters
    ----------
    dataset, metric : str
    names : two str
        The first and the second model.
    values : two floats
        The values of both models; NaN if undefined.
    difference : Difference, optional
        None if there is no test; `reason` says why.
    higher_is_better : bool, optional
        None for a metric without a direction: it shows no model to be better, and is not tested.
    bounds : two floats
        The smallest and the largest possible value of the metric.
    n_runs : two ints
        The numbers of runs; 0 if a model has none, so that there is no common run.
    reason : str
    more : dict
        Further columns of the row.
    largest : float
        The largest possible difference in one observation, for tests against a margin; infinity if it is not known.
    n_weighty : float
        The effective number of differing clusters, for tests against a margin (`Support`).
    """

    dataset: str
    metric: str
    names: tuple[str, str]
    values: tuple[float, float]
    difference: Difference | None = None
    higher_is_better: bool | None = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    n_runs: tuple[int, int] = (1, 1)
    reason: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    largest: float = math.inf
    n_weighty: float = math.inf

    def turned(self) -> Pair:
        """Return the second model against the first."""
        more = dict(self.more)
        if "wins" in more:
            more |= {"wins": more["losses"], "losses": more["wins"]}
        found = None if self.difference is None else replace(self.difference, value=0.0 - self.difference.value)
        turned = {name: getattr(self, name)[::-1] for name in ("names", "values", "n_runs")}
        return replace(self, difference=found, more=more, **turned)

    @property
    def p_value(self) -> float:
        """The p-value that counts in the correction; NaN without one."""
        return math.nan if self.difference is None or self.higher_is_better is None else self.difference.p_value

    def clipped(self, limits: tuple[float, float]) -> tuple[float, float]:
        """Return limits of the difference, clipped to the possible differences."""
        largest = self.bounds[1] - self.bounds[0]
        low, high = np.clip(limits, -largest, largest).tolist() if math.isfinite(largest) else limits
        return low, high


def decided_rows(
    pairs: Sequence[Pair], alpha: float, more: Sequence[str] = (), *, has_order: bool = False
) -> pd.DataFrame:
    """Return one row per pair, corrected by Holm's method for all of them and decided.

    Parameters
    ----------
    pairs : sequence of Pair
    alpha : float
        The probability of one or more false decisions that is allowed.
    more : sequence of str
        Further columns, from `Pair.more`.
    has_order : bool
        Whether the models of each pair stay in their order; else the leader stands first.

    Returns
    -------
    pandas.DataFrame
        On each dataset, the models stand in the order of their values in the first metric, so that the leader is the
        first of its rows, in all metrics. ``difference`` is first - second, with its standard ``error`` and
        ``freedom``; ``p``, and ``p_corrected`` by Holm's method; ``level``, the significance level at which Holm's
        method tests the row (`kgeval.stats.corrections.holm_levels`); ``low, high``, the interval with the coverage ``1
        - level``, which excludes 0 exactly if the row is decided; ``low_95, high_95``, the 95% interval, not corrected;
        ``decision``: ``"first"``, ``"second"``, ``"undecided"`` or ``"no common run"``; ``better``, the name of the
        better model if decided, else empty; ``detectable``, if undecided, the true difference that this test would find
        with a probability of about 0.8 if its error stayed; ``reason``, why there is no interval or no test, or why no
        decision can be had; then `MORE_COLUMNS` and `more`.
    """
    pairs = list(pairs) if has_order else leaders_first(pairs)
    p_values = np.array([pair.p_value for pair in pairs], dtype=np.float64)
    corrected, levels = holm(p_values), holm_levels(p_values, alpha)
    records = [_record(pair, float(p), float(level), alpha) for pair, p, level in zip(pairs, corrected, levels)]
    return frame_of(records, [*ROW_COLUMNS, *MORE_COLUMNS, *more])


def frame_of(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of rows: numbers as float64, counts as int64, all else as it is (a name may hold any character).

    Parameters
    ----------
    records : sequence of mappings
    columns : sequence of str
    """
    values = {name: np.array([record.get(name, np.nan) for record in records], dtype=object) for name in columns}
    kinds = {name: np.int64 if name in COUNTS else np.float64 for name in columns if name not in TEXTS}
    return pd.DataFrame(values, columns=list(columns), dtype=object).astype(kinds)


def leaders_first(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs; on each dataset, the model with the better value in the first metric is the first of its pairs.

    Parameters
    ----------
    pairs : sequence of Pair
        Pairs of models with equal or undefined values stay as they are.
    """
    first_metrics: dict[str, str] = {}
    values: dict[tuple[str, str], float] = {}
    for pair in pairs:
        if first_metrics.setdefault(pair.dataset, pair.metric) == pair.metric and pair.higher_is_better is not None:
            sign = 1.0 if pair.higher_is_better else -1.0
            for name, value in zip(pair.names, pair.values):
                values[pair.dataset, name] = -math.inf if math.isnan(value) else sign * value
    found = [[values.get((pair.dataset, name), -math.inf) for name in pair.names] for pair in pairs]
    return [pair.turned() if first < second else pair for pair, (first, second) in zip(pairs, found)]


def row_before(pair: Pair) -> dict[str, Any]:
    """Return the columns of a row that need no correction, undecided.

    Parameters
    ----------
    pair : Pair
    """
    found = pair.difference
    row: dict[str, Any] = {"dataset": pair.dataset, "metric": pair.metric, "test": "", "better": ""}
    for names, values in (("", pair.names), ("n_", pair.n_runs), ("value_", pair.values)):
        row |= {f"{names}first": values[0], f"{names}second": values[1]}
    row |= {"difference": pair.values[0] - pair.values[1], "n_clusters": 0, "n_differing": 0}
    row |= {"decision": UNDECIDED if min(pair.n_runs) else NO_RUN, "reason": pair.reason}
    if found is not None:
        row |= {name: getattr(found, name) for name in ("error", "freedom", "n_clusters", "n_differing", "n_effective")}
        row |= {"difference": found.value, "p": found.p_value, "test": found.test}
        row["reason"] = found.reason or pair.reason
        row["low_95"], row["high_95"] = pair.clipped(found.interval(0.05))
    return row | dict(pair.more)


def _record(pair: Pair, p_corrected: float, level: float, alpha: float) -> dict[str, Any]:
    """Return the row of a pair, given its corrected p-value and its level."""
    row, found, is_decided = row_before(pair), pair.difference, p_corrected <= alpha
    if found is None or math.isnan(level):
        return row
    reason = found.few(level) if found.n_differing else ""
    row |= {"p_corrected": p_corrected, "level": level, "reason": reason or row["reason"]}
    row["low"], row["high"] = pair.clipped(found.interval(level, is_decided))
    if is_decided:
        row["decision"] = "first" if (found.value > 0.0) == pair.higher_is_better else "second"
        row["better"] = row[row["decision"]]
    else:
        detectable = found.detectable(level)
        row["detectable"] = detectable if detectable <= pair.bounds[1] - pair.bounds[0] else math.nan
    return row


def row_of(
    differences: pd.DataFrame, metric: str, first: str, second: str, dataset: str | None = None
) -> dict[Any, Any]:
    """Return the row of two models in a metric, as ``first - second``.

    Parameters
    ----------
    differences : pandas.DataFrame
        From `decided_rows`.
    metric : str
        The text of a key.
    first, second : str
        Names of two models. If the table contains ``second - first``, signs and roles are exchanged.
    dataset : str, optional
        Needed if the table has several datasets.

    Raises
    ------
    ProtocolError
        If there is no such row.
    """
    is_it = differences["first"].isin([first, second]) & differences["second"].isin([first, second])
    rows = differences[is_it & (differences["metric"] == metric)]
    rows = rows if dataset is None else rows[rows["dataset"] == dataset]
    if not len(rows):
        raise ProtocolError(f"there is no difference of {first} and {second} in {metric}")
    row = {str(name): value for name, value in rows.iloc[:1].to_dict("records")[0].items()}
    if row["first"] == first:
        return row
    swapped = {"first": first, "second": second, "difference": 0.0 - row["difference"]}
    for one, other in (("low", "high"), ("low_95", "high_95")):
        swapped |= {one: -row[other], other: -row[one]}
    for one, other in (("n_first", "n_second"), ("value_first", "value_second"), ("wins", "losses")):
        swapped |= {one: row[other], other: row[one]} if one in row else {}
    turned = {"first": "second", "second": "first"}
    return row | swapped | {"decision": turned.get(row["decision"], row["decision"])}


def trained_words(differences: pd.DataFrame, models: Sequence[str | None] = (), *, answer: str = "order") -> list[str]:
    """Return the words on what a sentence about single runs is about; none if a model has several runs.

    Parameters
    ----------
    differences : pandas.DataFrame
        The rows that the sentence is about, with the numbers of runs.
    models : sequence of str or None
        The model of each compared result, as in `pairs_of`.
    answer : str
        What other seeds may change.

    Examples
    --------
    >>> single, several = (pd.DataFrame({"n_first": [1], "n_second": [n]}) for n in (1, 3))
    >>> trained_words(single, ["A", "B"])
    ['this is about these trained models; other seeds may give another order']
    >>> trained_words(several), trained_words(single, ["A", "A", "B"])
    ([], [])
    """
    rivals = set(models)
    has_seeds = len(rivals) > 1 and any(model is not None and models.count(model) > 1 for model in rivals)
    has_several = bool((differences[["n_first", "n_second"]] > 1).to_numpy().any())
    return [] if has_seeds or has_several else [f"{TRAINED} {answer}"]


def leaders_among(differences: pd.DataFrame, values: Mapping[str, float], higher_is_better: bool) -> tuple[str, ...]:
    """Return the model with the best value, then every model that is not decidedly worse, best value first.

    Parameters
    ----------
    differences : pandas.DataFrame
        The rows of one metric and dataset, with all pairs of the models.
    values : mapping of str to float
        The value of each model; models with equal values stay in this order.
    higher_is_better : bool
    """
    best, *others = best_first(values, higher_is_better)
    won = differences[differences["better"] == best]
    beaten = {*won["first"], *won["second"]} - {best}
    return (best, *(name for name in others if name not in beaten))


def best_first(values: Mapping[str, float], higher_is_better: bool) -> list[str]:
    """Return the names of models, best value first, those without a value last; equal values stay in their order.

    Parameters
    ----------
    values : mapping of str to float
    higher_is_better : bool
    """
    sign = -1.0 if higher_is_better else 1.0
    return sorted(values, key=lambda name: (math.isnan(values[name]), sign * values[name]))


def model_order(comparison: Comparison, metric: str = "") -> list[str]:
    """Return the names of the compared models, best value in a metric first.

    Parameters
    ----------
    comparison : Comparison
    metric : str
        By default the first.
    """
    label = metric or next(iter(comparison.keys))
    higher_is_better = bool(comparison.keys[label].higher_is_better)
    return best_first(dict(zip(comparison.names, comparison.values[label].tolist())), higher_is_better)


def chosen_pair(
    first: str | None, second: str | None, order: Sequence[str], rivals: Callable[[str], Collection[str]]
) -> tuple[str, str]:
    """Return the names of two models: those given, else the best ones that were tested against each other.

    Parameters
    ----------
    first, second : str, optional
    order : sequence of str
        The names of all models, best first.
    rivals : function
        Takes a name and returns the names of the models that it was tested against.

    Raises
    ------
    ProtocolError
        If no model has the name, or both names are the same.
    """
    names = sorted(order)
    for what, name in (("first", first), ("second", second)):
        if name is not None:
            check_one_of(what, name, names)

    def best_beside(name: str) -> str:
        others = [other for other in order if other != name]
        return [*(other for other in others if other in rivals(name)), *others, name][0]

    one = first if first is not None else order[0] if second is None else best_beside(second)
    other = best_beside(one) if second is None else second
    if one == other:
        raise ProtocolError(f"first and second must be two different models; got {one!r} twice")
    return one, other


def difference_words(row: Mapping[Any, Any], decimals: int, alpha: float) -> str:
    """Return the difference of a row in a sentence, with its interval and its corrected p-value.

    Parameters
    ----------
    row : mapping
    decimals : int
    alpha : float
    """
    return f"{difference_text(row, decimals)}, {p_equals(row['p_corrected'], alpha) or 'not tested'}"


def row_decimals(differences: pd.DataFrame, usual: int) -> int:
    """Return the decimals of the differences in one metric; see `difference_decimals`.

    Parameters
    ----------
    differences : pandas.DataFrame
    usual : int
    """
    rows = differences[["difference", "low", "high"]].to_numpy().tolist()
    return difference_decimals(rows, differences["better"] != "", usual)


def difference_text(row: Mapping[Any, Any], decimals: int) -> str:
    """Return the difference of a row with its interval.

    Parameters
    ----------
    row : mapping
    decimals : int
    """
    return estimate([row[name] for name in ("difference", "low", "high")], decimals, has_signs=True)


def interval_words(differences: pd.DataFrame, alpha: float) -> str:
    """Return the sentence that says what the intervals of differences mean and claim.

    Parameters
    ----------
    differences : pandas.DataFrame
    alpha : float
    """
    if int(differences["p_corrected"].notna().sum()) < 2:
        return f"an interval excludes 0 exactly where the test decides, at the level {alpha:g}"
    return "each interval is at the level of its test, and excludes 0 exactly where this decides"
