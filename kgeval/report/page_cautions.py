"""What changes the meaning of the numbers of a report page, gravest first and merged over models; and further notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kgeval.audit import leak_notes
from kgeval.base.wording import listed_names, percent, with_capital, written
from kgeval.comparison.texts import OTHER_ENTITIES, is_description, merged_notes
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.report.page_report import Report
from kgeval.results.display import MAX_TIES, tie_ends
from kgeval.results.evaluation_result import EvaluationResult, interval_notes, metric_cautions, unknown_lines
from kgeval.results.rank_table import CONFIDENCE

MIN_DROPPED = 0.01  # a larger share of dropped ranks gives a caution
SUSPICIONS = ("than chance (AMRI", "row order: ")  # in notes that doubt that the scores are those of the model


def cautions_of(report: Report) -> tuple[list[str], list[str]]:
    """Return the cautions, gravest first, and the notes that change no number.

    The order: results that are not comparable; triples that leak; doubted scores of the two best models; ties that
    change the order; baselines that are not beaten; intervals of the two best models that are much wider for other
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
    for name, result in named:
        n = int(result.rank_table.is_bounded("filtered").sum())
        if n:
            lines.append(f"{n:,} of {len(result.table):,} ranks of {name} are bounded: only their bounds are known.")
    lines += merged((name, line) for name, result in named for line in unknown_lines(result))
    for name, result in named:
        n = sum(result.dropped.values())
        if n > MIN_DROPPED * len(result.table):
            lines.append(f"{n:,} ranks of {name} were dropped: {', '.join(result.dropped)}.")
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

    The first caution names two models whose order depends on the tie policy. For each further model with many tied
    ranks, there is a caution if the range of its values, from pessimistic to optimistic ties, overlaps the range of
    another model, or if there is only one model; otherwise there is a note.

    Parameters
    ----------
    report : Report
    """
    results, names, metric = report.results, report.names, report.metric
    values = [result[metric] for result in results]
    ends = [tie_ends(result.rank_table, metric) or (value, value) for result, value in zip(results, values)]
    heading, decimals = report.heading, display_of(metric).decimals
    lines: list[str] = []
    notes: list[str] = []
    named: set[int] = set()
    for i in report.models:
        for j in report.models:
            # With realistic ties, model i is ahead of model j; with optimistic or pessimistic ties, model j is ahead.
            if not report.sign * (values[i] - values[j]) > 0:
                continue
            for place, policy in ((1, "optimistic"), (0, "pessimistic")):
                if report.sign * (ends[j][place] - ends[i][place]) > 0:
                    lines.append(
                        f"The order depends on ties: with {policy} ties, {names[j]} ({heading} "
                        f"{written(ends[j][place], decimals)}) is ahead of {names[i]} "
                        f"({written(ends[i][place], decimals)}), since {_tied(results, names, (j, i))}."
                    )
                    named |= {i, j}
                    break
    lines = [f"{lines[0]} There are {len(lines) - 1} more such pairs of models."] if len(lines) > 1 else lines
    for i, result in enumerate(results):
        if i not in named and result.tie_rate > MAX_TIES and all(map(math.isfinite, ends[i])):
            low, high = sorted(ends[i])
            others = [sorted(ends[j]) for j in report.models if j != i]
            is_grave = not others or not all(high < least or low > greatest for least, greatest in others)
            least, greatest = (written(end, decimals) for end in (low, high))
            if least != greatest:
                (lines if is_grave else notes).append(
                    f"{percent(result.tie_rate)} of the ranks of {names[i]} tie with a rival: its {heading} is "
                    f"{least} to {greatest}, depending on how ties are broken."
                )
    return lines, notes


def _tied(results: Sequence[EvaluationResult], names: Sequence[str], models: Sequence[int]) -> str:
    tying = [i for i in models if results[i].tie_rate > MAX_TIES]
    return " and ".join(f"{percent(results[i].tie_rate)} of the ranks of {names[i]} tie" for i in tying)
