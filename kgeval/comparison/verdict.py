"""The verdict on one metric of a result, or of compared results: a sentence that is written from the numbers.

`Comparison.verdict`, the report page and the command line call `verdict_of`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.checks import listed
from kgeval.comparison.alignment import mismatches
from kgeval.comparison.differences import ROUNDING
from kgeval.comparison.rows import best_first, leaders_among, p_part, row_of
from kgeval.errors import DataError, MetricError
from kgeval.markup import printable
from kgeval.markup_panels import enough_decimals
from kgeval.metrics import Metric, RankMetric, display_of
from kgeval.results import CONFIDENCE, MAX_TIES, EvaluationResult, Key, have_same_ranks, rank_groups

PLACES = ("relation", "pattern", "cardinality")  # the columns whose groups a verdict on one model compares
REVERSALS = ("pattern", "cardinality", "relation")  # columns in which the other model may lead in some groups
MIN_GROUP, MIN_SHARE = 10, 0.01  # a group is named if it has at least 10 ranks and at least 1% of the ranks
TIE_POLICIES = ("optimistic", "realistic", "pessimistic")
MAX_LABEL, MAX_REASON, MAX_NAMED = 60, 400, 3
TRAINED = "this is about these trained models; other seeds may give another order"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one metric, in one sentence.

    Parameters
    ----------
    sentence : str
        One line of printable text. Its numbers have the decimals of `kgeval.metrics.display_of`, or more if a
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

    sentence: str
    outcome: str
    leaders: tuple[str, ...]
    metric: str


def verdict_of(
    results: Mapping[str, EvaluationResult], comparison: Any = None, metric: str | Metric | None = None
) -> Verdict:
    """Return the verdict on one or several models, written from the numbers.

    Two models are compared by the test of the comparison: one *beats* the other only if ``p_corrected`` is
    at most 1 - confidence. There is no verdict if the metric is undefined for a model, if the comparison accepted
    differences between the results (overrides), or if several results were not compared.

    Further parts of the sentence:

    - "leads on 3 of 5 relations": the number of relations in which the value of the better model is better,
      significant or not. "loses on": the groups whose column ``reversed`` in `Comparison.by` is True, by pattern,
      else by cardinality, else by relation. Pattern and cardinality are used if a result has these columns, as saved
      results do.
    - "with optimistic ties B leads": another tie policy gives the best value to another model.
    - "not clearly better than chance": the interval of the best value contains the chance level or worse values.
    - one model: its interval, its chance level, its range over tie policies if more than 1% of the ranks tie, and the
      best and the worst of the relations, patterns and cardinalities that have at least 10 ranks and at least 1% of
      the ranks.

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
    compared = [results.get(name) for name in comparison.names]
    if len(results) != len(compared) or not all(
        result is not None and have_same_ranks(result, other) for result, other in zip(compared, comparison.results)
    ):
        raise DataError(f"results must be the compared results, under the names {listed(comparison.names)}")
    return _of_several(replace(comparison, results=tuple(compared)), label)


@dataclass(frozen=True)
class _Numbers:
    """The format of the values of one metric in a sentence."""

    decimals: int

    @classmethod
    def of(cls, label: str, *differences: float) -> _Numbers:
        """Return the format of a metric; with more decimals if one of the `differences` would read as 0."""
        return cls(enough_decimals(differences, display_of(label).decimals))

    def plain(self, value: float) -> str:
        text = f"{value:.{self.decimals}f}"
        return text.removeprefix("-") if not float(text) else text  # no -0.00

    def signed(self, value: float) -> str:
        text = self.plain(value)
        return text if not float(text) or text.startswith("-") else f"+{text}"

    def interval(self, low: float, high: float) -> str:
        if math.isnan(low) or math.isnan(high):
            return "(no interval)"
        return f"[{self.plain(low)}, {self.plain(high)}]"


def _of_one(name: str, result: EvaluationResult, key: Key) -> Verdict:
    """Return the verdict on one model: value, interval, chance, ties, best and worst groups."""
    label, ranks = str(key), result.rank_table
    value = ranks.value(key)
    if not math.isfinite(value.value):
        reason = f"{_shown(name)} has no {_heading(label)}: {value.reason or 'the value is not finite'}"
        return replace(_no_verdict(key, reason), outcome="one")
    numbers = _Numbers.of(label)
    interval = result.interval(label, confidence=CONFIDENCE)
    text = f"{_shown(name)}: {_heading_and_direction(key)} {numbers.plain(value.value)}"
    if math.isfinite(interval.low):
        text += f" {numbers.interval(interval.low, interval.high)}"
    chance = ranks.value(key, at_chance=True).value
    if math.isfinite(chance):
        text += f", chance {numbers.plain(chance)}"
    parts = [text]
    if is_like_chance((value.value, interval.low, interval.high), chance, key.higher_is_better):
        parts.append("it is not clearly better than chance")
    if result.tie_rate > MAX_TIES and key.setting == "filtered":
        ends = [f"{numbers.plain(number)} with {ties} ties" for ties, number in _by_ties(result, key).items()]
        parts += [f"{result.tie_rate:.1%} of the ranks tie: {' and '.join(ends)}"] if ends else []
    return Verdict("; ".join([*parts, *_places(result, key, numbers)]), "one", (name,), label)


def _by_ties(result: EvaluationResult, key: Key) -> dict[str, float]:
    """Return the value of a metric under the other tie policies, as a dict without undefined values.

    Only optimistic and pessimistic ties are tried for query-level metrics, which have no realistic ties.
    """
    allowed = key.metric.tie_policies if isinstance(key.metric, RankMetric) else ("optimistic", "pessimistic")
    policies = [ties for ties in TIE_POLICIES if ties in allowed and ties != key.ties]
    values = {ties: result.rank_table.value(replace(key, ties=ties)).value for ties in policies}
    return {ties: value for ties, value in values.items() if math.isfinite(value)}


def _places(result: EvaluationResult, key: Key, numbers: _Numbers) -> list[str]:
    """Return a text that names the best and the worst group with enough ranks; nothing if there are fewer than two."""
    rows_of_key = result.rank_table.rows_of(key.side)
    minimum = max(MIN_GROUP, math.ceil(MIN_SHARE * len(rows_of_key)))
    is_of_key = np.zeros(len(result.table), dtype=bool)
    is_of_key[rows_of_key] = True
    found: list[tuple[float, str]] = []
    columns = [column for column in PLACES if column == "relation" or column in result.columns.columns]
    for column in columns:
        groups = [(label, rows[is_of_key[rows]]) for (label,), rows in rank_groups(result, [column])]
        large = [(label, rows) for label, rows in groups if len(rows) >= minimum]
        for label, rows in large if len(groups) > 1 else []:
            value = result.rank_table.value(key, rows).value
            found += [(value, _place(column, label))] if math.isfinite(value) else []
    if len({value for value, _ in found}) < 2:
        return []
    ends = [max(found, key=lambda place: place[0]), min(found, key=lambda place: place[0])]
    best, worst = ends if key.higher_is_better else ends[::-1]
    kinds = {"relation": "relations", "pattern": "patterns", "cardinality": "cardinalities"}
    return [
        f"best on {best[1]} ({numbers.plain(best[0])}), worst on {worst[1]} ({numbers.plain(worst[0])}), of the "
        f"{listed([kinds[column] for column in columns])} with at least {minimum:,} ranks"
    ]


def _place(column: str, label: str) -> str:
    """Return the name of a group of ranks in the sentence, such as "symmetric relations"."""
    if column == "relation":
        return f"relation {_shown(label)}"
    if label in ("unknown", "other", "missing"):
        return f"relations of {column} {label}"
    return f"{_shown(label)} relations"


def leaders_of(comparison: Any, label: str) -> tuple[str, ...]:
    """Return `Verdict.leaders` for a metric of a comparison, without the sentence.

    Parameters
    ----------
    comparison : Comparison
    label : str
        The text of the key of a compared metric.
    """
    if _why_none(comparison, label):
        return ()
    values = _rival_values(comparison, label)
    rows = comparison.differences[comparison.differences["metric"] == label]
    return leaders_among(rows, values, comparison.keys[label].higher_is_better)


def _rival_values(comparison: Any, label: str) -> dict[str, float]:
    """Return the values of the model with the best value and of its rivals: all others but runs of the same model."""
    values = dict(zip(comparison.names, comparison.values[label].tolist()))
    best = best_first(values, comparison.keys[label].higher_is_better)[0]
    rivals = comparison.rivals(best)
    return {name: value for name, value in values.items() if name == best or name in rivals}


def _of_several(comparison: Any, label: str) -> Verdict:
    """Return the verdict on the models of a comparison."""
    key = comparison.keys[label]
    reason = _why_none(comparison, label)
    if reason:
        return _no_verdict(key, reason)
    values = _rival_values(comparison, label)
    ranked = best_first(values, key.higher_is_better)
    best, leaders = ranked[0], leaders_of(comparison, label)
    rows = {name: row_of(comparison.differences, label, best, name) for name in ranked[1:]}
    beaten = [name for name in ranked if name not in leaders]
    shown = rows[beaten[0] if beaten else ranked[1]]
    numbers = _Numbers.of(label, shown["difference"] if shown["better"] == best else 0.0)
    texts = _Texts(comparison, key, label, numbers, values)
    if len(leaders) == 1:
        parts = [texts.better(best, shown, n_others=len(beaten)), *texts.relations(best, shown["second"])]
    elif len(ranked) == 2:
        parts = [texts.undecided(shown)]
    else:
        parts = [texts.shared(leaders, beaten, rows)]
    parts += [*texts.ties(best), *texts.chance(best)]
    if len(leaders) == 1:
        parts.append(TRAINED)
    return Verdict("; ".join(parts), "better" if len(leaders) == 1 else "undecided", leaders, label)


@dataclass(frozen=True)
class _Texts:
    """The parts of a sentence about a comparison: a metric, the format of its values, and the value of each model."""

    comparison: Any
    key: Key
    label: str
    numbers: _Numbers
    values: Mapping[str, float]

    def better(self, best: str, row: Mapping[str, Any], n_others: int) -> str:
        """Return the part that says that one model beats all others; `row` compares it with the best of the others."""
        values = f"{_heading_and_direction(self.key)} {self.value(best)} against {self.value(row['second'])}"
        if n_others == 1:
            return f"{_shown(best)} beats {_shown(row['second'])}: {values}, {self.difference(row)}"
        others = f"the other {n_others} models"
        return (
            f"{_shown(best)} beats {others}: {values} of {_shown(row['second'])}, the best of the others, "
            f"{self.difference(row)}"
        )

    def undecided(self, row: Mapping[str, Any]) -> str:
        """Return the part about two models that do not differ significantly."""
        first, second = row["first"], row["second"]
        return (
            f"Undecided: {_heading_and_direction(self.key)} {self.value(first)} ({_shown(first)}) against "
            f"{self.value(second)} ({_shown(second)}), difference {self.difference(row)}{self.detectable(row)}"
        )

    def shared(self, leaders: Sequence[str], beaten: Sequence[str], rows: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the part that names several leaders, and the best of the models that the leader beats."""
        best, *others = leaders
        text = (
            f"Undecided: {_heading_and_direction(self.key)} {self.value(best)} ({_shown(best)}) is not significantly "
            f"better than {listed([f'{self.value(name)} ({_shown(name)})' for name in others])}"
        )
        if not beaten:
            return text
        row = rows[beaten[0]]
        which = f"{_shown(best)} beats {_shown(beaten[0])}"
        if len(beaten) > 1:
            which = f"{_shown(best)} beats the other {len(beaten)} models, the best of them {_shown(beaten[0])}"
        return f"{text}; {which}: {self.value(best)} against {self.value(beaten[0])}, {self.difference(row)}"

    def value(self, name: str) -> str:
        return self.numbers.plain(self.values[name])

    def difference(self, row: Mapping[str, Any]) -> str:
        """Return a difference with its interval and its corrected p-value."""
        text = f"{self.numbers.signed(row['difference'])} {self.numbers.interval(row['low'], row['high'])}"
        return f"{text}, {p_part(row, self.comparison.alpha)}"

    def detectable(self, row: Mapping[str, Any]) -> str:
        """Return the part about the minimum detectable difference; the reason if there is none."""
        if math.isnan(row["detectable"]):
            return f" ({_shown(row['reason'], MAX_REASON)})" if row["reason"] else ""
        numbers = _Numbers.of(self.label, row["detectable"])
        return f"; a difference of {numbers.plain(row['detectable'])} would be found about four times in five"

    def relations(self, best: str, other: str) -> list[str]:
        """Return the part that says on how many relations the better model leads, and where it loses."""
        groups = {}
        for column in REVERSALS:
            if column == "relation" or any(column in result.columns for result in self.comparison.results):
                try:
                    groups[column] = self.comparison.by(column, self.label, best, other)
                except MetricError:  # the metric has no contributions, or the results have different values
                    continue
        if "relation" not in groups:
            return []
        frame = groups["relation"].dropna(subset=["difference"])
        if len(frame) < 2:
            return []
        gaps = frame["difference"] * (1.0 if self.key.higher_is_better else -1.0)
        sizes = frame[["value_first", "value_second"]].abs().max(axis=1)
        n_led = int((gaps > ROUNDING * sizes).sum())
        against = "" if len(self.values) == 2 else f" against {_shown(other)}"
        n_trailed = int((gaps < -ROUNDING * sizes).sum())
        trailed = f" and trails on {n_trailed:,}" if n_led + n_trailed < len(frame) and n_trailed else ""
        text = f"it leads on {n_led:,}{trailed} of {len(frame):,} relations{against}"
        for column in REVERSALS:
            lost = groups[column].query("reversed").index.tolist() if column in groups else []
            if lost:
                return [f"{text} and loses on {_lost(column, lost)}"]
        return [text]

    def ties(self, best: str) -> list[str]:
        """Return one part for each other tie policy under which another model is better than `best`, or as good."""
        results = zip(self.comparison.names, self.comparison.results)
        by_ties = {name: _by_ties(result, self.key) for name, result in results}
        parts = []
        for ties in by_ties[best]:
            values = {name: of_model[ties] for name, of_model in by_ties.items() if ties in of_model}
            leader = (max if self.key.higher_is_better else min)(values, key=lambda name: values[name])
            if not _is_close(values[leader], values[best]):
                numbers = _Numbers.of(self.label, abs(values[leader] - values[best]))
                parts.append(
                    f"with {ties} ties {_shown(leader)} leads: {numbers.plain(values[leader])} against "
                    f"{numbers.plain(values[best])}"
                )
                continue
            equal = [name for name in values if name != best and _is_close(values[name], values[best])]
            reached = [name for name in equal if not _is_close(self.values[name], self.values[best])]
            if reached:
                verb = "equals" if len(reached) == 1 else "equal"
                parts.append(f"with {ties} ties {listed([_shown(name) for name in reached])} {verb} {_shown(best)}")
        return parts

    def chance(self, best: str) -> list[str]:
        """Return the part that says that even the best model is not clearly better than chance."""
        i = self.comparison.names.index(best)
        chance = self.comparison.results[i].rank_table.value(self.key, at_chance=True).value
        row = self.comparison.values.iloc[i]
        ends = [float(row[self.label]), *(float(row.get(f"{self.label} {end}", np.nan)) for end in ("low", "high"))]
        if not is_like_chance((ends[0], ends[1], ends[2]), chance, self.key.higher_is_better):
            return []
        return [f"{_shown(best)} is not clearly better than chance ({self.numbers.plain(chance)})"]


def _is_close(one: float, other: float) -> bool:
    """Return whether two values differ by no more than rounding errors."""
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))


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


def _why_none(comparison: Any, label: str) -> str:
    """Return the reason why there is no verdict on a metric of a comparison; empty if there is a verdict."""
    if comparison.alignment.differing:
        texts = [str(mismatch) for mismatch in comparison.alignment.differing]
        return f"the results differ, and the comparison accepted it: {_first_of(texts)}"
    key, heading = comparison.keys[label], _heading(label)
    texts = []
    for name, result, value in zip(comparison.names, comparison.results, comparison.values[label]):
        if not math.isfinite(value):
            texts.append(f"{_shown(name)} has no {heading}: {result.rank_table.value(key).reason or 'not finite'}")
    return _first_of(texts)


def _no_verdict(key: Key, reason: str) -> Verdict:
    return Verdict(f"No verdict on {_heading(str(key))}: {_shown(reason, MAX_REASON)}", "undecided", (), str(key))


def _first_of(texts: Sequence[str]) -> str:
    """Return the first text and the number of further texts, such as "no MRR; and 2 more"."""
    return "; ".join([*texts[:1], *([f"and {len(texts) - 1} more"] if len(texts) > 1 else [])])


def _lost(column: str, labels: Sequence[str]) -> str:
    """Return the names of the groups on which the better model loses, for the sentence.

    Of more than three relations, the first three are named, and the others are counted.
    """
    if column != "relation":
        places = [_place(column, label) for label in labels]
        return listed([place.removesuffix(" relations") for place in places]) + (
            " relations" if places[-1].endswith(" relations") else ""
        )
    return f"relation{'s' if len(labels) > 1 else ''} {listed([_shown(label) for label in labels], MAX_NAMED)}"


def _shown(text: str, limit: int = MAX_LABEL) -> str:
    """Return a name, label or reason as printable text; the middle of a text longer than `limit` is replaced by "…"."""
    half = limit // 2
    return printable(text if len(text) <= limit else f"{text[:half]}…{text[-half:]}") or "(empty label)"


def _heading(label: str) -> str:
    return display_of(label).heading


def _heading_and_direction(key: Key) -> str:
    return _heading(str(key)) + ("" if key.higher_is_better else " (lower is better)")
