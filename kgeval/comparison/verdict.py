"""The verdict on one metric of a result, or of compared results: a sentence that is written from the numbers.

`Comparison.verdict`, the report page and the command line call `verdict_of`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from kgeval.base.checks import listed
from kgeval.base.wording import (
    between,
    decimals_for,
    enough_decimals,
    listed_names,
    percent,
    printable,
    quoted,
    written,
)
from kgeval.comparison.alignment import mismatches
from kgeval.comparison.rows import best_first, difference_words, leaders_among, row_decimals, row_of, trained_words
from kgeval.data.sides import SIDES
from kgeval.display.table import heading_of
from kgeval.errors import DataError, MetricError
from kgeval.metrics import RankMetric
from kgeval.metrics.base import Metric
from kgeval.metrics.grammar import display_of
from kgeval.results.display import MAX_TIES, best_and_worst, group_name
from kgeval.results.evaluation_result import EvaluationResult, have_same_ranks
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE
from kgeval.stats.clusters import STATISTIC_ROUNDING

if TYPE_CHECKING:  # these modules import this one
    from kgeval.comparison.comparison import Comparison

REVERSALS = ("pattern", "cardinality", "relation")  # columns in which the other model may lead in some groups
_is_close = partial(math.isclose, rel_tol=STATISTIC_ROUNDING)  # whether two values differ by rounding errors alone
TIE_POLICIES = ("optimistic", "realistic", "pessimistic")
MAX_LABEL, MAX_REASON, MAX_NAMED = 60, 400, 3


@dataclass(frozen=True)
class Clauses:
    """One sentence; its `parts` are its clauses."""

    parts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The clauses in one sentence."""
        return "; ".join(self.parts)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Verdict(Clauses):
    """The verdict on one metric, in one sentence.

    Parameters
    ----------
    parts : tuple of str
        The clauses of the sentence, each one line of printable text: the first says what was found, the others what
        else is to be known. Their numbers have the decimals of `kgeval.metrics.grammar.display_of`, or more if a
        significant difference would read as 0.
    outcome : str
        ``"one"``: there is only one model. ``"better"``: one model is significantly better than every other model.
        ``"undecided"``: no model is better than all others, or there is no verdict; the sentence says why.
    leaders : tuple of str
        The model with the best value, then every model that is not significantly worse (``p_corrected``
        above 1 - confidence), best value first. Empty if there is no verdict.
    metric : str
        The text of the metric's key.
    """

    outcome: str
    leaders: tuple[str, ...]
    metric: str


def verdict_of(
    results: Mapping[str, EvaluationResult], comparison: Comparison | None = None, metric: str | Metric | None = None
) -> Verdict:
    """Return the verdict on one or several models, written from the numbers.

    Two models are compared by the test of the comparison: one *beats* the other only if ``p_corrected`` is
    at most 1 - confidence. There is no verdict if the metric is undefined for a model, if the comparison accepted
    differences between the results (overrides), or if several results were not compared.

    Further parts of the sentence:

    - "of 5 relations, it leads on 3 and trails on 2": how often the value of the better model is better, and worse,
      significant or not. "trails significantly on": the groups whose column ``reversed`` in `Comparison.by` is True,
      by pattern, else by cardinality, else by relation. Pattern and cardinality are used if a result has these
      columns, as saved results do.
    - "with optimistic ties B leads": another tie policy gives the best value to another model.
    - "not clearly better than chance": the interval of the best value contains the chance level or worse values.
    - one model: its interval, its chance level, its range over tie policies if more than 1% of the ranks tie, its value
      on each side if the two intervals have no common value, and the best and the worst of the relations, patterns and
      cardinalities that have at least 10 ranks and at least 1% of the ranks.

    Parameters
    ----------
    results : mapping of str to EvaluationResult
        Name -> result. With a comparison: the compared results under the same names; they may have more columns.
    comparison : Comparison, optional
        The comparison of all `results`.
    metric : str or Metric, optional
        By default the first metric of the comparison; without a comparison ``"mrr"``.

    Returns
    -------
    Verdict

    Raises
    ------
    MetricError
        If the metric is unknown, or was not compared.
    DataError
        If `results` is empty, or `comparison` compares other results.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 9] for i in range(9)], n_entities=9, n_relations=1)
    >>> good = kg.evaluate(lambda s, p, o: -((o - s - 1) % 9), dataset)
    >>> bad = kg.evaluate(lambda s, p, o: -((o - s - 3) % 9), dataset)
    >>> comparison = kg.compare({"A": good, "B": bad}, metrics="mr")
    >>> verdict_of({"A": good, "B": bad}, comparison).sentence.partition("; ")[0]
    'A beats B: MR (lower is better) 1.00 against 8.00, -7.00 (no interval), p = 0.0039'
    >>> verdict_of({"A": good}).sentence
    'A: MRR 1.0000 [0.6286, 1.0000], chance 0.3143'
    """
    if not results:
        raise DataError("a verdict needs at least one result; got none")
    if comparison is None:
        key = Key.parse("mrr" if metric is None else metric)
        if len(results) == 1:
            return _of_one(*next(iter(results.items())), key)
        differences = [str(mismatch) for mismatch in mismatches(list(results.values()), list(results))]
        return _no_verdict(key, _first_of(differences) or "the results were not compared")
    label = next(iter(comparison.keys)) if metric is None else str(Key.parse(metric))
    if label not in comparison.keys:
        raise MetricError(f"{label} was not compared; the compared metrics are {', '.join(comparison.keys)}")
    compared = tuple(results[name] for name in comparison.names if name in results)
    are_same = len(results) == len(compared) == len(comparison.names)
    if not are_same or not all(map(have_same_ranks, compared, comparison.results)):
        raise DataError(f"results must be the compared results, under the names {listed(comparison.names)}")
    return _of_several(replace(comparison, results=compared), label)


@dataclass(frozen=True)
class Sentence:
    """What the tests say of the models in one metric on one dataset, in words.

    Parameters
    ----------
    metric : str
        The text of the metric's key. A sentence has more decimals than the metric if a decided difference would read
        as 0.
    higher_is_better : bool
    values : mapping
        The value of each model; finite.
    rows : pandas.DataFrame
        Rows of `decided_rows`: all differences in this metric on this dataset.
    alpha : float
    """

    metric: str
    higher_is_better: bool
    values: Mapping[str, float]
    rows: pd.DataFrame
    alpha: float

    @cached_property
    def ranked(self) -> list[str]:
        """The models, best value first."""
        return best_first(self.values, self.higher_is_better)

    @cached_property
    def leaders(self) -> tuple[str, ...]:
        """The best model, and those that are not significantly worse."""
        return leaders_among(self.rows, self.values, self.higher_is_better)

    @cached_property
    def decimals(self) -> int:
        """The decimals of the values."""
        return display_of(self.metric.removeprefix("macro.")).decimals

    @cached_property
    def digits(self) -> int:
        """The decimals of the differences of the best model."""
        of_best = (self.rows[["first", "second"]] == self.ranked[0]).any(axis=1)
        return row_decimals(self.rows[of_best], self.decimals)

    @property
    def beaten(self) -> list[str]:
        """The other models."""
        return [name for name in self.ranked if name not in self.leaders]

    @property
    def title(self) -> str:
        """The heading, with the direction if lower values are better."""
        return display_of(self.metric).title

    def row(self, second: str) -> dict[str, Any]:
        """Return the row of the best model against another one."""
        return row_of(self.rows, self.metric, self.ranked[0], second)

    def value(self, name: str) -> str:
        """Return the value of a model."""
        row = self.row([*self.beaten, self.ranked[1]][0])
        usual = decimals_for(self.values.values(), self.decimals)
        return written(self.values[name], enough_decimals([row["difference"]] if row["better"] else [], usual))

    def named(self, name: str) -> str:
        """Return the value and the name of a model."""
        return f"{self.value(name)} ({model_name(name)})"

    def difference(self, second: str) -> str:
        """Return the difference to a model with its interval and its corrected p-value."""
        return difference_words(self.row(second), self.digits, self.alpha)

    def against(self, is_named: bool = True) -> str:
        """Return the numbers of the only leader and of the best of the others."""
        best, second = self.ranked[0], self.beaten[0]
        others = ", the best of the others" if len(self.beaten) > 1 else ""
        whose = f" of {model_name(second)}{others}" if is_named else ""
        values = f"{self.value(best)} against {self.value(second)}{whose}"
        return f"{self.title} {values}, {self.difference(second)}"

    def tied(self, limit: int | None = None) -> str:
        """Return the numbers of several leaders; after `limit` of them, the others are counted."""
        best, *others = self.leaders
        values = listed([self.named(name) for name in others], limit)
        return f"{self.title} {self.named(best)} is not significantly better than {values}"

    def clauses(self) -> list[str]:
        """Return who beats whom, or that nothing is decided, and whom the leaders beat nevertheless."""
        best, second, beaten = model_name(self.ranked[0]), self.ranked[1], self.beaten
        if len(self.leaders) == 1:
            whom = f"the other {len(beaten)} models" if len(beaten) > 1 else model_name(second)
            return [f"{best} beats {whom}: {self.against(len(beaten) > 1)}"]
        if len(self.ranked) == 2:
            values = f"{self.named(self.ranked[0])} against {self.named(second)}"
            return [f"Undecided: {self.title} {values}, difference {self.difference(second)}{self.detectable(second)}"]
        other = self.leaders[1]  # not always the next value, which may be decided
        pair = f", difference {self.difference(other)}"
        pair = pair if len(self.leaders) == 2 else f" ({best} - {model_name(other)}: {self.difference(other)})"
        tied = f"Undecided: {self.tied()}{pair}"
        if not beaten:
            return [tied]
        which = f"the other {len(beaten)} models, the best of them {model_name(beaten[0])}"
        which = which if len(beaten) > 1 else model_name(beaten[0])
        values = f"{self.value(self.ranked[0])} against {self.value(beaten[0])}, {self.difference(beaten[0])}"
        return [tied, f"{best} beats {which}: {values}"]

    def detectable(self, second: str) -> str:
        """Return the smallest difference that could be detected; the reason if there is none."""
        row = self.row(second)
        if math.isnan(row["detectable"]):
            return f" ({shown_name(row['reason'], MAX_REASON)})" if row["reason"] else ""
        size = written(row["detectable"], enough_decimals([row["detectable"]], self.digits))
        return f"; a difference of {size} would be found about four times in five"


def _of_one(name: str, result: EvaluationResult, key: Key) -> Verdict:
    """Return the verdict on one model: value, interval, chance, ties, best and worst groups."""
    label, ranks = str(key), result.rank_table
    value = ranks.value(key)
    if not math.isfinite(value.value):
        reason = f"{shown_name(name)} has no {heading_of(label)}: {value.reason or 'the value is not finite'}"
        return replace(_no_verdict(key, reason), outcome="one")
    decimals = decimals_for([value.value], display_of(label).decimals)
    interval = result.interval(label, confidence=CONFIDENCE)
    limits = between(interval.low, interval.high, decimals)
    text = f"{shown_name(name)}: {display_of(label).title} {written(value.value, decimals)} {limits}".rstrip()
    chance = ranks.value(key, at_chance=True).value
    if math.isfinite(chance):
        text += f", chance {written(chance, enough_decimals([chance], decimals))}"
    parts = [text]
    if is_like_chance((value.value, interval.low, interval.high), chance, key.higher_is_better):
        parts.append("it is not clearly better than chance")
    if result.tie_rate > MAX_TIES and key.setting == "filtered":
        ends = [f"{written(number, decimals)} with {ties} ties" for ties, number in _by_ties(result, key).items()]
        parts += [f"{percent(result.tie_rate)} of the ranks tie: {' and '.join(ends)}"] if ends else []
    if key.side == "both" and set(SIDES) <= set(ranks.sides):
        of_sides = {side: result.interval(str(replace(key, side=side)), confidence=CONFIDENCE) for side in SIDES}
        if max(one.low for one in of_sides.values()) > min(one.high for one in of_sides.values()):
            values = [f"{written(one.value, decimals)} on the {side} side" for side, one in of_sides.items()]
            parts.append(f"{display_of(label).heading} {' and '.join(values)}")
    places = best_and_worst(result, ranks, key, decimals)
    return Verdict((*parts, *([places] if places else [])), "one", (name,), label)


def _by_ties(result: EvaluationResult, key: Key) -> dict[str, float]:
    """Return the value of a metric under the other tie policies, as a dict without undefined values.

    Only optimistic and pessimistic ties are tried for query-level metrics, which have no realistic ties.
    """
    allowed = key.metric.tie_policies if isinstance(key.metric, RankMetric) else ("optimistic", "pessimistic")
    policies = [ties for ties in TIE_POLICIES if ties in allowed and ties != key.ties]
    values = {ties: result.rank_table.value(replace(key, ties=ties)).value for ties in policies}
    return {ties: value for ties, value in values.items() if math.isfinite(value)}


def leaders_of(comparison: Comparison, label: str) -> tuple[str, ...]:
    """Return `Verdict.leaders` for a metric of a comparison, without the sentence.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    """
    return () if _why_none(comparison, label) else _sentence(comparison, label).leaders


def _sentence(comparison: Comparison, label: str) -> Sentence:
    """Return the sentence about the model with the best value and its rivals: all others but runs of the same model."""
    higher = bool(comparison.keys[label].higher_is_better)
    values = dict(zip(comparison.names, comparison.values[label].tolist()))
    best = best_first(values, higher)[0]
    rivals = {name: values[name] for name in values if name in (best, *comparison.rivals(best))}
    rows = comparison.differences[comparison.differences["metric"] == label]
    return Sentence(label, higher, rivals, rows, comparison.alpha)


def _of_several(comparison: Comparison, label: str) -> Verdict:
    """Return the verdict on the models of a comparison."""
    reason = _why_none(comparison, label)
    if reason:
        return _no_verdict(comparison.keys[label], reason)
    sentence = _sentence(comparison, label)
    is_decided = len(sentence.leaders) == 1
    parts = sentence.clauses()
    if is_decided:
        parts += _relations(comparison, sentence)
    parts += [*_ties(comparison, sentence), *_chance(comparison, sentence)]
    parts += trained_words(sentence.rows, comparison.models)
    return Verdict(tuple(parts), "better" if is_decided else "undecided", sentence.leaders, label)


def _relations(comparison: Comparison, sentence: Sentence) -> Iterator[str]:
    """Yield the parts that say on how many relations the better model leads, and where it surely trails."""
    best, other = sentence.ranked[:2]
    groups = {}
    for column in REVERSALS:
        if column == "relation" or any(column in result.columns for result in comparison.results):
            try:
                groups[column] = comparison.by(column, sentence.metric, best, other)
            except MetricError:  # the metric has no contributions, or the results have different values
                continue
    frame = groups.get("relation", pd.DataFrame(columns=["difference"])).dropna(subset=["difference"])
    if len(frame) < 2:
        return
    gaps = frame["difference"] * (1.0 if sentence.higher_is_better else -1.0)
    sizes = frame[["value_first", "value_second"]].abs().max(axis=1)
    n_led, n_trailed = int((gaps > STATISTIC_ROUNDING * sizes).sum()), int((gaps < -STATISTIC_ROUNDING * sizes).sum())
    against = "" if len(sentence.values) == 2 else f" against {model_name(other)}"
    n_sure = [int((frame["decided"] & of).sum()) for of in (gaps > 0.0, gaps < 0.0)]
    sure = [f" ({f'{n:,}' if n else 'none'} significantly)" for n in n_sure]
    counts = {"leads on": n_led, "trails on": n_trailed, "is equal on": len(frame) - n_led - n_trailed}
    shown = listed([f"{verb} {n:,}{more}" for (verb, n), more in zip(counts.items(), [*sure, ""]) if n])
    yield f"of {len(frame):,} relations{against}, it {shown}"
    lost = {column: frame.index[frame["reversed"]].tolist() for column, frame in groups.items()}
    trails = [f"it trails significantly on {_lost(column, labels)}" for column, labels in lost.items() if labels]
    yield from trails[:1]


def _ties(comparison: Comparison, sentence: Sentence) -> Iterator[str]:
    """Yield a part for each other tie policy under which another model is better than the best one, or as good."""
    results, best = zip(comparison.names, comparison.results), sentence.ranked[0]
    by_ties = {name: _by_ties(result, comparison.keys[sentence.metric]) for name, result in results}
    for ties in by_ties[best]:
        values = {name: of_model[ties] for name, of_model in by_ties.items() if ties in of_model}
        leader = best_first(values, sentence.higher_is_better)[0]
        if not _is_close(values[leader], values[best]):
            places = enough_decimals([values[leader] - values[best]], sentence.decimals)
            numbers = f"{written(values[leader], places)} against {written(values[best], places)}"
            yield f"with {ties} ties {model_name(leader)} leads: {numbers}"
            continue
        equal = [name for name in sentence.ranked[1:] if name in values and _is_close(values[name], values[best])]
        reached = [shown_name(name) for name in equal if not _is_close(sentence.values[name], sentence.values[best])]
        if reached:
            verb = "equals" if len(reached) == 1 else "equal"
            yield f"with {ties} ties {listed_names(reached)} {verb} {model_name(best)}"


def _chance(comparison: Comparison, sentence: Sentence) -> Iterator[str]:
    """Yield the part that says that even the best model is not clearly better than chance."""
    best, label = sentence.ranked[0], sentence.metric
    ranks = comparison.results[comparison.names.index(best)].rank_table
    chance = ranks.value(comparison.keys[label], at_chance=True).value
    row: dict[Any, Any] = comparison.values.loc[best].to_dict()
    value, low, high = (float(row[name]) for name in (label, f"{label} low", f"{label} high"))
    if is_like_chance((value, low, high), chance, sentence.higher_is_better):
        yield f"{model_name(best)} is not clearly better than chance ({written(chance, sentence.decimals)})"


def is_like_chance(interval: tuple[float, float, float], chance: float, higher_is_better: bool) -> bool:
    """Return whether an interval contains the chance level or worse values.

    Parameters
    ----------
    interval : tuple of float
        Value, low end and high end; if there are no ends (NaN), the value decides.
    chance : float
        NaN if there is no chance level; the answer is then False.
    higher_is_better : bool

    Examples
    --------
    >>> is_like_chance((0.3, 0.1, 0.5), 0.2, True), is_like_chance((0.3, 0.25, 0.35), 0.2, True)
    (True, False)
    """
    value, low, high = interval
    if not math.isfinite(chance):
        return False
    end = low if higher_is_better else high
    end = value if math.isnan(end) else end
    return end <= chance if higher_is_better else end >= chance


def _why_none(comparison: Comparison, label: str) -> str:
    """Return the reason why there is no verdict on a metric of a comparison; empty if there is a verdict."""
    if comparison.alignment.differing:
        texts = [str(mismatch) for mismatch in comparison.alignment.differing]
        return f"the results differ, and the comparison accepted it: {_first_of(texts)}"
    key, heading = comparison.keys[label], heading_of(label)
    values = zip(comparison.names, comparison.results, comparison.values[label])
    undefined = {
        name: result.rank_table.value(key).reason for name, result, value in values if not math.isfinite(value)
    }
    texts = [f"{model_name(name)} has no {heading}: {why or 'not finite'}" for name, why in undefined.items()]
    return _first_of(texts)


def _no_verdict(key: Key, reason: str) -> Verdict:
    said = f"No verdict on {heading_of(str(key))}: {shown_name(reason, MAX_REASON)}"
    return Verdict((said,), "undecided", (), str(key))


def _first_of(texts: Sequence[str]) -> str:
    """Return the first text and the number of further texts, such as "no MRR; and 2 more"."""
    return "; ".join([*texts[:1], *([f"and {len(texts) - 1} more"] if len(texts) > 1 else [])])


def _lost(column: str, labels: Sequence[str]) -> str:
    """Return the names of the groups on which the better model surely trails, for the sentence.

    Of more than three relations, the first three are named, and the others are counted.
    """
    if column != "relation":
        places = [group_name(column, label) for label in labels]
        return listed([place.removesuffix(" relations") for place in places]) + (
            " relations" if places[-1].endswith(" relations") else ""
        )
    return f"relation{'s' if len(labels) > 1 else ''} {listed([shown_name(label) for label in labels], MAX_NAMED)}"


def model_name(name: str, limit: int = MAX_LABEL) -> str:
    """Return the name of a model for a sentence, with quotation marks where commas would run into those around it."""
    return quoted(shown_name(name, limit))


def shown_name(text: str, limit: int = MAX_LABEL) -> str:
    """Return a name, label or reason as printable text; the middle of a text longer than `limit` is replaced by "…"."""
    half = limit // 2
    return printable(text if len(text) <= limit else f"{text[:half]}…{text[-half:]}") or "(empty label)"
