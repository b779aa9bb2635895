"""What changes the meaning of the numbers of a report page, gravest first and merged over models; and further notes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kgeval.audit import leak_notes
from kgeval.base.checks import listed
from kgeval.base.wording import listed_names, percent, with_capital, written
from kgeval.comparison.texts import OTHER_ENTITIES, is_description, merged_notes
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.report.page_report import Report
from kgeval.results.display import MAX_TIES, tie_ends
from kgeval.results.evaluation_result import EvaluationResult, interval_notes, metric_cautions, unknown_lines
from kgeval.results.rank_table import CONFIDENCE

MIN_DROPPED = 0.01  # a larger share of dropped ranks gives a caution
MAX_NAMED = 4  # models
SUSPICIONS = ("than chance (AMRI", "row order: ")  # in notes that doubt that the scores are those of the model


def cautions_of(report: Report) -> tuple[list[str], list[str]]:
    """Return the cautions, gravest first, and the notes that change no number.

    The order: results that are not comparable; triples that leak; doubted scores of the two best models; ties that
    could change the order; baselines not beaten; intervals of the two best models that are much wider for other
    entities; bounded, unknown and dropped ranks. If for other entities the interval of the two best models contains 0,
    this is the second at most.

    Parameters
    ----------
    report : Report
    """
    named = list(zip(report.names, report.results))
    tied, tie_notes = tie_cautions(report)
    lines: list[str] = []
    if report.differing:
        accepted = "; the comparison accepts this and uses the ranks that all results have" if report.comparison else ""
        lines.append(
            f"These results were evaluated differently, so their numbers are not comparable{accepted}: "
            f"{'; '.join(report.differing)}."
        )
    leaking = max((result.facts.get("leak_notes", []) for result in report.results), key=len)
    if report.dataset is not None:  # a result of an earlier version has no such fact
        leaking = leak_notes.notes_on_leaks(report.dataset, report.results[0].protocol.splits)
    models = [(name if len(named) > 1 else "", one["mrr"], one.facts) for name, one in named]
    said = [*leaking, leak_notes.without_copied(models, leak_notes.COPIED)]
    lines += [" ".join(f"{with_capital(line)}." for line in said if line)] if leaking else []
    said = [(name, note) for name, result in named for note in notes_of(result)]
    doubts = [pair for pair in said if pair[0] in report.names[:2] and any(word in pair[1] for word in SUSPICIONS)]
    lines += merged(doubts)
    lines += tied
    for name, result in named:
        beside = result.facts.get("baselines", {}).values()
        lines += [f"{name}: {baseline['note']}." for baseline in beside if not baseline["beaten"]]
    wide = merged((name, note) for name, result in named[:2] for note in interval_notes(result, CONFIDENCE)[1:])
    said += [(name, note) for name, result in named[2:] for note in interval_notes(result, CONFIDENCE)[1:]]
    compared, lead = _compared(report), listed_names(report.names[:2])
    of_lead = [note for note in compared if note.startswith(lead + OTHER_ENTITIES)]
    if not of_lead and report.rows and math.isfinite(report.rows[0]["low_95"]):
        wide = [f"{note[:-1]}. The interval of the lead over the second model is not much wider." for note in wide]
    lines[1:1] = [note for note in of_lead[:1] if note.endswith("contains 0.")]
    lines += of_lead[:1] or wide
    counts = [(name, int(one.rank_table.is_bounded("filtered").sum()), len(one.table)) for name, one in named]
    bounded = [f"{n:,} of {of:,} ranks of {name}" for name, n, of in counts if n]
    lines += [f"{which} are bounded: only their bounds are known." for which in bounded]
    lines += merged((name, line) for name, result in named for line in unknown_lines(result))
    dropped = [(name, sum(one.dropped.values()), one) for name, one in named]
    shown = [(f"{n:,} ranks of {name}", one) for name, n, one in dropped if n > MIN_DROPPED * len(one.table)]
    lines += [f"{which} were dropped: {', '.join(one.dropped)}." for which, one in shown]
    rest = merged(pair for pair in said if pair not in doubts)
    of_results = (line for result in report.results for line in result.facts.get("leak_notes", []))
    known = {*lines, *(f"{line}." for line in (*leaking, *of_results))}
    rest = [line for line in rest if not any(line.endswith(one) for one in known)]
    notes = dict.fromkeys([*tie_notes, *rest, *wide, *compared])
    return list(dict.fromkeys(lines)), [note for note in notes if note not in lines]


def notes_of(result: EvaluationResult) -> list[str]:
    """Return the notes of a result and of its metrics, without what describes the model, and what a caution has.

    Parameters
    ----------
    result : EvaluationResult
    """
    notes = [*result.notes, *metric_cautions(result, DEFAULT_METRICS)]
    return [note for note in dict.fromkeys(notes) if not is_description(note) and leak_notes.COPIED not in note]


def _compared(report: Report) -> list[str]:
    """Return the notes of the comparison that no result has."""
    notes = () if report.comparison is None else report.comparison.notes
    known = tuple(note for result in report.results for note in result.notes)
    pairs = tuple(dict.fromkeys(listed_names([row["first"], row["second"]]) for row in report.rows))
    said = [note.rstrip(".") for note in notes if not note.endswith(known) and leak_notes.COPIED not in note]
    of_pairs = [note.partition(": ") for pair in pairs for note in said if note.startswith(f"{pair}: ")]
    others = [f"{note}." for note in said if not note.startswith(pairs)]
    return [*others, *merged((pair, text) for pair, _, text in of_pairs)]


def merged(lines: Iterable[tuple[str, str]]) -> list[str]:
    """Return one sentence for each text that differs in more than numbers, with the names of its models."""
    return [f"{note}." for _, note in merged_notes(lines)]


def tie_cautions(report: Report) -> tuple[list[str], list[str]]:
    """Return cautions about ties, and notes about ties that change nothing.

    A model with many tied ranks has a caution if the range of its values, from pessimistic to optimistic ties, overlaps
    the range of another model, which it names, or if there is only one model. Of several models, that with the widest
    range has the caution; the others have notes.

    Parameters
    ----------
    report : Report
    """
    results, metric, decimals = report.results, report.metric, display_of(report.metric).decimals
    known = [tie_ends(result.rank_table, metric) or (result[metric],) * 2 for result in results]
    ends, lines, notes = list(map(sorted, known)), list[str](), list[str]()
    for i in sorted(report.models, key=lambda i: ends[i][0] - ends[i][1]):  # the widest range first
        result, (low, high) = results[i], ends[i]
        least, greatest = written(low, decimals), written(high, decimals)
        if result.tie_rate <= MAX_TIES or not math.isfinite(low + high) or least == greatest:
            continue
        met = [report.names[j] for j, other in enumerate(ends) if j != i and low <= other[1] and other[0] <= high]
        (lines if met or len(ends) == 1 else notes).append(
            f"{percent(result.tie_rate)} of the ranks of {report.names[i]} tie with a rival: its {report.heading} is "
            f"{least} to {greatest}, depending on how ties are broken"
            f"{f'; this range overlaps that of {listed(met, MAX_NAMED)}' if met else ''}."
        )
    return lines[:1], [*lines[1:], *notes]
