"""The inequalities that the numbers of one row must satisfy, and messages for the inequalities that fail.

`kgeval.plausibility.table` calls `judge` once for each way to read a row (shares or percentages).
`kgeval.plausibility.bounds` computes the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kgeval.base.checks import listed
from kgeval.plausibility.bounds import HALF, ONE, WHOLE, Bands, Corner, Line
from kgeval.plausibility.reading import Value, cut_off, kind_of_metric

FLOAT_SLACK = 1e-9
_RANKS = ("MR", "GMR", "HMR")


@dataclass(frozen=True)
class Finding:
    """One inequality that reported numbers violate.

    Parameters
    ----------
    metrics : tuple of str
        The metrics in the inequality.
    message : str
        The inequality as one sentence, with its numbers.
    """

    metrics: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Setting:
    """The known facts about the ranks behind a row.

    Parameters
    ----------
    n_candidates : int or None
        The largest number of candidates of any query, which is also the largest possible rank.
    n_ranks : int or None
        The number of ranks over which each mean is computed, all with equal weight.
    ties : str or None
        The tie policy. With ``"realistic"``, ranks can be half ranks; with ``"expected"``, the value of each query is a
        mean over several ranks.
    """

    n_candidates: int | None = None
    n_ranks: int | None = None
    ties: str | None = None

    @property
    def step(self) -> Fraction:
        """The distance between neighbouring ranks: 1, or 1/2 for half ranks."""
        return HALF if self.ties == "realistic" else WHOLE

    @property
    def proviso(self) -> str:
        """The condition in messages about inequalities that hold for integer ranks only; empty if `ties` is set."""
        return " if ranks are integers (no ties)" if self.ties is None else ""


def judge(reported: dict[str, Value], setting: Setting) -> list[Finding]:
    """Return the inequalities that the numbers of one row violate; empty if no inequality fails.

    Parameters
    ----------
    reported : dict of str to Value
        Name of the metric (``Value.name``) -> value.
    setting : Setting

    Returns
    -------
    list of Finding
    """
    findings, values = _outside(reported, setting)
    if setting.n_ranks is not None and setting.ties != "expected":
        more_findings, values = _not_multiples(values, setting.n_ranks, setting)
        findings += more_findings
    hits = {cut_off(name): value for name, value in values.items() if kind_of_metric(name) == "hits"}
    decreasing = _decreasing(hits)
    if decreasing:
        return findings + decreasing
    bands = Bands.of({k: (v.low, v.high) for k, v in hits.items()}, setting.n_candidates, setting.step)
    given = [str(hits[k]) for k in sorted(hits)]
    mrr, more_findings = _mrr_or_hmr(values)
    findings += more_findings
    mr, more_findings = _mr_or_amri(values, setting)
    findings += more_findings
    mean_findings = _mrr_against_hits(mrr, bands, given, setting) + _mr_against_hits(mr, bands, given, setting)
    if mr is not None and mrr is not None and not mean_findings:
        mean_findings = _both(mr, mrr, bands, given, setting)
    return findings + mean_findings + _geometric(values.get("GMR"), mr, mrr, bands, given, setting)


def _limits(name: str, setting: Setting) -> tuple[tuple[Fraction, str], tuple[Fraction | None, str]]:
    """Return the least and the largest value that a metric can have, each as a pair (limit, text about the limit).

    The largest value is None if it is unknown.
    """
    if name in _RANKS:
        n = setting.n_candidates
        return (ONE, ", the best rank"), (None if n is None else Fraction(n), ", the number of candidates")
    if name == "AMRI":
        return (-ONE, ", the AMRI if every rank is last"), (ONE, ", the AMRI if every rank is 1")
    if kind_of_metric(name) == "hits" and setting.n_candidates is not None and cut_off(name) >= setting.n_candidates:
        return (ONE, f", as no rank is beyond {setting.n_candidates}"), (ONE, "")
    return (Fraction(0), ""), (ONE, "")


def _outside(reported: dict[str, Value], setting: Setting) -> tuple[list[Finding], dict[str, Value]]:
    """Compare each value with the limits of its metric; return a tuple (findings, values).

    `findings` has one finding for each value whose whole range is outside the limits. `values` contains the other
    values; their ranges are cut to the limits.
    """
    findings, values = [], {}
    for name, value in reported.items():
        (least, why_least), (most, why_most) = _limits(name, setting)
        if value.high < least:
            findings.append(Finding((name,), f"{_at_most(value)} is below {_text(least)}{why_least}"))
        elif most is not None and value.low > most:
            findings.append(Finding((name,), f"{_at_least(value)} exceeds {_text(most)}{why_most}"))
        else:
            high = value.high if most is None else min(most, value.high)
            values[name] = replace(value, low=max(least, value.low), high=high)
    return findings, values


def _not_multiples(values: dict[str, Value], n: int, setting: Setting) -> tuple[list[Finding], dict[str, Value]]:
    """Check that hits@k and MR can be means of `n` ranks (the GRIM test); return a tuple (findings, values).

    Over n ranks, hits@k is a multiple of 1/n; MR is a multiple of 1/n, or of 1/(2 * n) for half ranks. `findings` has
    one finding for each hits@k or MR whose range contains no such multiple. `values` contains all other values; the
    ends of the ranges of hits@k and MR are moved inward to the nearest multiples.
    """
    findings, kept = [], dict(values)
    for name, value in values.items():
        is_hits = kind_of_metric(name) == "hits"
        if not is_hits and name != "MR":
            continue
        mean_step = (WHOLE if is_hits else setting.step) / n
        low, high = math.ceil(value.low / mean_step) * mean_step, math.floor(value.high / mean_step) * mean_step
        if low <= high:
            kept[name] = replace(value, low=low, high=high)
            continue
        del kept[name]
        below, above = high / mean_step, low / mean_step
        neighbours = f"{_text(below)}/{n} = {_text(high)} and {_text(above)}/{n} = {_text(low)}"
        if mean_step * n != 1:
            neighbours = f"{_text(below / 2)}/{n} = {_text(high)} and {_text(above / 2)}/{n} = {_text(low)}"
        proviso = "" if is_hits else setting.proviso
        message = (
            f"{value} cannot be a mean of {n} {'hits' if is_hits else 'ranks'}{proviso}: it lies between {neighbours}"
        )
        findings.append(Finding((name,), message))
    return findings, kept


def _decreasing(hits: dict[int, Value]) -> list[Finding]:
    """Return a finding for each hits@k that is lower than hits@j for some j < k."""
    findings: list[Finding] = []
    largest: Value | None = None
    for k in sorted(hits):
        value = hits[k]
        if largest is not None and largest.low > value.high:
            message = (
                f"{_at_least(largest)} exceeds {_at_most(value)}: "
                f"a rank of at most {cut_off(largest.name)} is also at most {k}"
            )
            findings.append(Finding((largest.name, value.name), message))
        if largest is None or value.low > largest.low:
            largest = value
    return findings


def _mrr_or_hmr(values: dict[str, Value]) -> tuple[Value | None, list[Finding]]:
    """Combine the reported MRR and HMR (HMR = 1 / MRR by definition); return a tuple (MRR, findings).

    The first part is the range of MRR that both numbers allow; None if neither number is reported. `findings` is empty
    unless MRR and HMR contradict each other; then it contains one finding, and the first part is the reported MRR.
    """
    mrr, hmr = values.get("MRR"), values.get("HMR")
    if hmr is None:
        return mrr, []
    inverse = Value("1/HMR", f"1/{hmr.text}", 1 / hmr.high, 1 / hmr.low)
    if mrr is None:
        return inverse, []
    low, high = max(mrr.low, inverse.low), min(mrr.high, inverse.high)
    if low > high:
        between = f"{_text(inverse.low)} .. {_text(inverse.high)}"
        return mrr, [Finding(("MRR", "HMR"), f"{mrr} is not 1 / HMR; for {hmr}, 1 / HMR is {between}")]
    return replace(mrr, low=low, high=high), []


def _mr_or_amri(values: dict[str, Value], setting: Setting) -> tuple[Value | None, list[Finding]]:
    """Combine the reported MR and AMRI; return a tuple (MR, findings).

    The first part is the range of MR that both numbers allow; None if neither number limits MR. `findings` is empty
    unless MR and AMRI contradict each other; then it contains one finding, and the first part is the reported MR.

    AMRI = 1 - (MR - 1) / (E[MR] - 1), where E[MR] is the MR of random scores. E[MR] - 1 is half the mean number of
    rivals, so E[MR] - 1 is at most (C - 1) / 2, where C is the number of candidates.
    """
    mr, amri, n = values.get("MR"), values.get("AMRI"), setting.n_candidates
    if amri is None or n is None:
        return mr, []
    most = 1 + (1 - amri.low) * Fraction(n - 1, 2)
    if mr is None:
        return Value("AMRI", amri.text, ONE, most), []
    if mr.low > most:
        message = (
            f"{_at_least(mr)} exceeds {_text(most)}, the largest value that {_at_least(amri)} and {n} candidates "
            f"allow: 1 + (1 - AMRI) * ({n} - 1)/2"
        )
        return mr, [Finding(("MR", "AMRI"), message)]
    return replace(mr, high=min(mr.high, most)), []


def _mrr_against_hits(mrr: Value | None, bands: Bands, given: list[str], setting: Setting) -> list[Finding]:
    """Return a finding if MRR is below the smallest or above the largest MRR that the hits@k allow."""
    if mrr is None:
        return []
    least, most = bands.least_mrr(), bands.most_mrr()
    if mrr.low > most.mrr:
        start = f"{_at_least(mrr)} exceeds {_text(most.mrr)}, the largest value that {_allowed(given, None)} allow"
        proviso = setting.proviso if bands.cuts else ""
        return [Finding(_value_names(mrr, bands), f"{start}{proviso}: {_formula(bands, most, '/')}")]
    if mrr.high < least.mrr:
        start = (
            f"{_at_most(mrr)} is below {_text(least.mrr)}, the smallest value that {_allowed(given, bands.top)} allow"
        )
        return [Finding(_value_names(mrr, bands), f"{start}: {_formula(bands, least, '/')}")]
    return []


def _mr_against_hits(mr: Value | None, bands: Bands, given: list[str], setting: Setting) -> list[Finding]:
    """Return a finding if MR is below the smallest or above the largest MR that the hits@k allow."""
    if mr is None:
        return []
    least, most = bands.least_mr(), bands.most_mr()
    if mr.high < least.mr:
        start = f"{_highest_mr(mr)} is below {_text(least.mr)}, the smallest value that {_allowed(given, None)} allow"
        return [Finding(_value_names(mr, bands), f"{start}{setting.proviso}: {_formula(bands, least, '*')}")]
    if most is not None and mr.low > most.mr:
        start = f"{_at_least(mr)} exceeds {_text(most.mr)}, the largest value that {_allowed(given, bands.top)} allow"
        return [Finding(_value_names(mr, bands), f"{start}: {_formula(bands, most, '*')}")]
    return []


def _both(mr: Value, mrr: Value, bands: Bands, given: list[str], setting: Setting) -> list[Finding]:
    """Return a finding if MR is below the smallest or above the largest MR that MRR and hits@k together allow."""
    line = bands.least_mr_given(mrr.high, mr.high)
    if mr.high < line.mr:
        allowed = _allowed([_at_most(mrr), *given], None)
        start = f"{_highest_mr(mr)} is below {_text(line.mr)}, the smallest value that {allowed} allow{setting.proviso}"
        return [Finding(_value_names(mr, bands, mrr), f"{start}: {_line_text(line, bands, 'least', '>=')}")]
    upper = bands.most_mr_given(mrr.low)
    if upper is not None and mr.low > upper.mr:
        allowed = _allowed([_at_least(mrr), *given], bands.top)
        start = f"{_at_least(mr)} exceeds {_text(upper.mr)}, the largest value that {allowed} allow{setting.proviso}"
        return [Finding(_value_names(mr, bands, mrr), f"{start}: {_line_text(upper, bands, 'most', '<=')}")]
    return []


def _geometric(
    gmr: Value | None, mr: Value | None, mrr: Value | None, bands: Bands, given: list[str], setting: Setting
) -> list[Finding]:
    """Return a finding if GMR is above MR, below 1 / MRR, or outside the range that the hits@k allow.

    Bounds from hits@k have the relative tolerance `FLOAT_SLACK`, because logarithms are rounded floats.
    """
    if gmr is None:
        return []
    if mr is not None and gmr.low > mr.high:
        return [
            Finding(
                ("GMR", mr.name),
                f"{_at_least(gmr)} exceeds {_highest_mr(mr)}: a geometric mean never exceeds the arithmetic mean",
            )
        ]
    if mrr is not None and gmr.high * mrr.high < 1:
        message = (
            f"{_at_most(gmr)} is below 1/MRR = {_text(1 / mrr.high)}: a geometric mean is at least the harmonic mean"
        )
        return [Finding(("GMR", mrr.name), message)]
    least, most = _geometric_mean(bands.least_mr()), _geometric_mean(bands.most_mr())
    if least is not None and gmr.high < least * (1 - FLOAT_SLACK):
        start = f"{_at_most(gmr)} is below {_text(least)}, the smallest value that {_allowed(given, None)} allow"
        return [Finding(_value_names(gmr, bands), f"{start}{setting.proviso}")]
    if most is not None and gmr.low > most * (1 + FLOAT_SLACK):
        start = f"{_at_least(gmr)} exceeds {_text(most)}, the largest value that {_allowed(given, bands.top)} allow"
        return [Finding(_value_names(gmr, bands), start)]
    return []


def _geometric_mean(corner: Corner | None) -> float | None:
    if corner is None:
        return None
    pairs = zip(corner.masses, corner.ranks)
    return math.exp(sum(float(mass) * math.log(rank) for mass, rank in pairs if rank is not None))


def _value_names(value: Value, bands: Bands, *values: Value) -> tuple[str, ...]:
    return tuple(name.removeprefix("1/") for name in (value.name, *(item.name for item in values))) + tuple(
        f"hits@{k}" for k in bands.cuts
    )


def _at_least(value: Value) -> str:
    return f"{value} (at least {_text(value.low)})"


def _at_most(value: Value) -> str:
    return f"{value} (at most {_text(value.high)})"


def _highest_mr(mr: Value) -> str:
    return f"MR (at most {_text(mr.high)} according to AMRI {mr.text})" if mr.name == "AMRI" else _at_most(mr)


def _allowed(given: Iterable[str], top: int | None) -> str:
    """Return one text that lists the facts behind a bound, such as "hits@1 0.2, hits@10 0.5 and ranks up to 99"."""
    parts = [*given, *([] if top is None else [f"ranks up to {top}"])] or ["ranks from 1"]
    return listed(parts)


def _formula(bands: Bands, corner: Corner, sign: str) -> str:
    """Return the formula of a bound in symbols and in numbers, for example ``H1 + (1 - H1)/2 = 0.2 + 0.8/2``.

    The formula has one term per band (the ranks between two cut-offs k); H1 is hits@1.
    """
    shares = [f"H{k}" for k in bands.cuts]
    symbols = [f"({b} - {a})" for a, b in zip(["0", *shares], [*shares, "1"])]
    symbols[0] = symbols[0].removeprefix("(").removesuffix(" - 0)") if shares else "1"
    terms, numbers = [], []
    for symbol, mass, rank in zip(symbols, corner.masses, corner.ranks):
        if rank is not None:
            end = "" if rank == 1 else f"{sign}{_text(rank)}"
            terms.append(symbol + end)
            numbers.append(_text(mass) + end)
    return f"{' + '.join(terms)} = {' + '.join(numbers)}"


def _line_text(line: Line, bands: Bands, extreme: str, relation: str) -> str:
    """Return a text with the two inequalities that prove a bound.

    The first inequality holds for each single rank r. The mean of the first inequality over all ranks is the second
    inequality, which relates MR to MRR.
    """
    slope = _text(line.slope)
    rank_ranges = [f"up to rank {k}" for k in bands.cuts] + ["beyond" if bands.cuts else "for every rank"]
    costs = [_text(rank + line.slope / rank) for rank in line.corner.ranks if rank is not None]
    steps = ", ".join(f"{cost} {rank_range}" for cost, rank_range in zip(costs, rank_ranges))
    return f"for a rank r, r + {slope}/r is at {extreme} {steps}, so MR + {slope} * MRR {relation} {_text(line.total)}"


def _text(number: Any) -> str:
    return f"{float(number):.6g}"
