"""The last section of the report page: protocol, dataset with its audit, all tests, the command, citation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgeval.audit import audit
from kgeval.base.wording import count_text, percent, shown_label
from kgeval.comparison.texts import is_description
from kgeval.display.differences import shown_differences
from kgeval.display.table import Cell, Column, Table
from kgeval.report.document import Fold, Lines, PagePart, Section, Text, again
from kgeval.report.page_report import Report
from kgeval.results.evaluation_result import audit_of, header_lines

NO_AUDIT = "These results contain no audit of their dataset: kgeval report ... --dataset FOLDER adds it."
DETECTABLE = "the true difference that the test would find about four times in five."


def background(report: Report, command: str, version: str) -> Section:
    """Return the last section, whose parts are folded.

    Parameters
    ----------
    report : Report
    command : str
        The command that makes the page again.
    version : str
        The version of kgeval, for the citation.
    """
    tests = all_tests(report)
    parts = [
        Fold("Protocol", [Lines(protocol_lines(report))], "protocol"),
        Fold("Dataset", dataset_parts(report), "dataset"),
        *([Fold("All tests", tests, "comparison")] if tests else []),
        again(command, version),
    ]
    return Section("background", "Background", parts)


def protocol_lines(report: Report) -> list[str]:
    """Return the lines about protocol and dataset: those that all results have, then the others of each result.

    The share of ties, which the tables of metrics have, is left out.

    Parameters
    ----------
    report : Report
    """
    headers = []
    for name, result in zip(report.names, report.results):
        found = (re.sub(r" \(tie rate [\w.%]+\)", "", line) for line in header_lines(result))
        lines = [line for line in found if line != f"run: {name}" and not line.startswith("note: ")]
        scorer = str(result.facts.get("scorer", ""))
        lines += [f"scorer: {scorer}"] if scorer and scorer != name else []
        headers.append([*lines, *(f"model: {note}" for note in result.notes if is_description(note))])
    common = [line for line in headers[0] if all(line in lines for lines in headers)]
    own = [[line for line in lines if line not in common] for lines in headers]
    return [*common, *(f"{name}: {'; '.join(lines)}" for name, lines in zip(report.names, own) if lines)]


def dataset_parts(report: Report) -> list[PagePart]:
    """Return the counts of the splits, and the findings of the audit; or how to get them.

    Parameters
    ----------
    report : Report
    """
    if report.dataset is not None:
        made = audit(report.dataset)
        found, most = made.to_dict(made.brief), "at most eight findings of a kind"
        observations = list(report.dataset.observations())
    else:  # the results have the same dataset, whose audit is shown once
        audits = ((of_one, one.facts) for one in report.results if (of_one := audit_of(one)) is not None)
        found, facts = next(audits, ({}, {}))
        if not found:
            return [Text(NO_AUDIT, "")]
        most, observations = "the first finding of a kind and split", list(facts["observations"])
    about = f"{found['dataset']}: {found['size']}; fingerprint {found['fingerprint']}"
    caption = f"Audit of the dataset, gravest first, {most} (all: kgeval audit)"
    return [Text(about, ""), Lines(observations), findings_table(found["findings"], caption)]


def findings_table(findings: Sequence[Mapping[str, Any]], caption: str) -> Table:
    """Return the findings of an audit, gravest first.

    Parameters
    ----------
    findings : sequence of mappings
        From `kgeval.audit`.
    caption : str
    """
    columns = [
        Column.of_labels("finding", [one["kind"] for one in findings]),
        Column.of_labels("relation or split", [shown_label(one["relation"] or one["split"]) for one in findings]),
        Column("share", [Cell(percent(one["share"]), numbers=(one["share"],)) for one in findings]),
        Column.of_counts("count", [one["count"] for one in findings]),
        Column.of_labels("example", [shown_label(one["example"]) if one["example"] else "" for one in findings]),
        Column.of_labels("what it does to the numbers", [one["effect"] for one in findings]),
    ]
    return Table(columns, caption=caption, name="audit", kind="tall")


def all_tests(report: Report) -> list[PagePart]:
    """Return every test of the comparison, if there is one; numbers that are the same in all rows stand in the caption.

    Parameters
    ----------
    report : Report
    """
    comparison = report.comparison
    if comparison is None:
        return []
    rows = report.rows
    shown = shown_differences(rows, comparison.alpha)
    pairs = Counter(f"{row['first']} - {row['second']}" for row in rows)
    columns = [column for column in shown.columns[len(pairs) > 1 :] if not column.is_drawn]  # metrics share no axis
    sizes = {(row["n"], row["n_clusters"]) for row in rows}
    caption = f"Paired comparison of the models. Detectable: {DETECTABLE}"
    caption += " {} ranks in {} clusters.".format(*map(count_text, *sizes)) if len(sizes) == 1 else ""
    groups = list(pairs.items()) if len(pairs) > 1 else []
    table = replace(shown, columns=columns, caption=caption, name="tests", groups=groups, kind="tall")
    return [Lines([line for line in comparison.header() if not line.startswith("note: ")]), table]
