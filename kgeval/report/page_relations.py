"""The section of the report page with the table of relations, which opens, sorts and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from kgeval.base.checks import grouped
from kgeval.base.wording import count_text, shown_label, written
from kgeval.display.html import Markup, joined, tag
from kgeval.display.html_tables import label
from kgeval.display.table import Cell, Column, Table
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.report.document import Section, Text
from kgeval.report.page_report import Report, decided_text, group_numbers, rows_of
from kgeval.report.page_triples import Triple, disagreements, query, rank_text, worst_ranks
from kgeval.results.rank_table import CONFIDENCE

N_SHOWN = 2  # models of which the table shows values, if there are many
N_OPENED, MAX_OPENED = 3, 100  # triples of a relation, and relations with triples


def relations(report: Report) -> Section:
    """Return the table of relations, and the fields that filter it."""
    key = report.metric if report.metric in PLAIN_METRICS else PLAIN_METRICS[0]
    labels, frames = report.relations, report.by_relation
    sizes = [frame["n"].astype(int).tolist() for frame in frames]
    is_same = all(of_model == sizes[0] for of_model in sizes)
    patterns = patterns_of(report)
    columns = [Column.of_labels("relation", map(shown_label, labels))]
    shown = report.models[: N_SHOWN if report.is_many else None]
    heads = ["ranks"] if is_same else [f"ranks, {report.short(i)}" for i in shown]
    for i in shown:
        rows, reasons = group_numbers(frames[i], key, report.parts[i], "relation")
        columns.append(replace(Column.of_values(report.names[i], rows, key, reasons), model=i))
    first: Sequence[Cell] = []  # the differences of the two best models
    for pair in report.pairs:
        if len(pair.relations):
            found = pair.relations.reindex(pd.Index(labels, dtype=object))
            decided = (found["decided"] == True).tolist()  # noqa: E712  (NaN where a relation was not compared)
            prefix = "" if key == report.metric else f"{report.heading}: "
            names = f"{prefix}{report.short(pair.first)} - {report.short(pair.second)}"
            columns.append(Column.of_differences(names, rows_of(found), report.metric, decided))
            first = first or columns[-1].cells
    columns += [Column.of_counts(head, of_model) for head, of_model in zip(heads, sizes)]
    columns += [Column.of_labels("pattern", patterns)] if len(set(patterns)) > 1 else []
    by_relation = triples_by_relation(report)
    opened = {i: partial(_opened, report, key, i, by_relation.get(name, [])) for i, name in enumerate(labels)}
    facts: dict[int, dict[str, Any]] = {
        i: {"data_n": max(n), "data_pattern": pattern or None} for i, (pattern, *n) in enumerate(zip(patterns, *sizes))
    }
    for i, cell in enumerate(first):
        if cell.is_best and cell.numbers[0]:
            facts[i]["data_sure"] = "first" if cell.numbers[0] > 0 else "second"
    caption = f"{display_of(key).heading} of each relation, {CONFIDENCE:.0%} intervals (filtered ranks, both sides)."
    hint = f"on which {report.short(0)} and {report.short(1)} disagree most" if report.pairs else "with the worst ranks"
    caption += f" {decided_text(len(report.pairs[0].relations), 'relations')}" if first else ""
    table = Table(columns, caption=caption, name="relations", opened=opened, facts=facts, kind="sortable tall narrow")
    left = len(report.all_relations) - len(labels)
    text = f'{count_text(left)} relations with fewer ranks are left out; result.by("relation") returns all.'
    hints = Text(f"Click a relation for its other metrics and the triples {hint}.", "hint")
    filters = _filters(report, patterns, bool(first))
    return Section("relations", "Relations", [hints, filters, *([Text(text)] if left else []), table])


def patterns_of(report: Report) -> list[str]:
    """Return the pattern of each relation that is shown, as the first result says that knows it; else empty."""
    patterns: dict[str, str] = {}
    for result in report.parts:
        if "pattern" in result.columns.columns:
            found = grouped(set(zip(result.table["p"].tolist(), result.columns["pattern"].tolist())))
            for p, (pattern, *others) in found.items():
                patterns.setdefault(result.relations.labels[p], "several" if others else str(pattern))
    return [patterns.get(name, "") for name in report.relations]


def _filters(report: Report, patterns: Sequence[str], is_compared: bool) -> Markup:
    """Return the fields that filter the table of relations; hidden until the script runs."""
    search = tag("input", type="search", id="search", autocomplete="off", spellcheck="false")
    least = tag("input", type="number", id="least", min=0, value=0, inputmode="numeric", autocomplete="off")
    words = "Search a relation or pattern " if len(set(patterns)) > 1 else "Search "
    fields = [tag("label", words, search), tag("label", "At least ", least, " ranks")]
    if is_compared:
        names = {place: f"{report.short(i)} higher" for i, place in enumerate(("first", "second"))}
        options = [tag("option", text, value=of) for of, text in {"": "all", **names, "none": "undecided"}.items()]
        fields.append(tag("label", "Difference ", tag("select", *options, id="sure", autocomplete="off")))
    n = f"{count_text(len(report.relations))} relations"
    status = tag("p", n, role="status", id="relations-shown", class_="muted")
    return tag("div", *fields, status, class_="controls", hidden=True)


def _opened(report: Report, key: str, place: int, triples: Sequence[Triple]) -> Markup:
    """Return what opens below a relation: all metrics of the detailed models, one of the others, and its triples."""
    lines, others = [], report.models[len(report.detailed) :]
    for i in report.detailed:
        values = [f"{display_of(metric).heading} {_value(report, i, place, metric)}" for metric in PLAIN_METRICS]
        lines.append(tag("p", label(report.short(i)), ": ", ", ".join(values)))
    if others:
        items = [tag("li", label(report.short(i)), f" {_value(report, i, place, key)}") for i in others]
        lines += [tag("p", f"{display_of(key).heading} of the others:"), tag("ol", *items)]
    if triples:
        items = [tag("li", query(report, row, has_relation=False), ": ", _ranks(row)) for row in triples]
        lines.append(tag("ul", *items))
    return joined(*lines)


def _ranks(row: Triple) -> str:
    return ", ".join(rank_text(row[place]) for place in ("rank_first", "rank_second") if row[place] == row[place])


def _value(report: Report, model: int, place: int, metric: str) -> str:
    value = float(report.by_relation[model][metric].to_numpy()[place])
    return written(value, 1 if value >= 100 else display_of(metric).decimals)


def triples_by_relation(report: Report) -> dict[str, list[Triple]]:
    """Return the triples of each relation on which the two best models disagree most; of one model, its worst ranks."""
    frame = disagreements(report) if report.pairs else worst_ranks(report.parts[0])
    largest = frame["p"].value_counts().index[:MAX_OPENED]
    kept = frame[frame["p"].isin(largest)].groupby("p", sort=False, observed=True).head(N_OPENED)
    return grouped((str(row["p"]), row) for row in kept.to_dict("records"))
