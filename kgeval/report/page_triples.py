"""The section of the report page with single triples: where two models disagree most, and the hardest of each model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids
from kgeval.base.wording import MISSING, count_text, shown_label
from kgeval.data.frames import with_labels
from kgeval.data.sides import RELATION, side_of
from kgeval.display.html import Markup, joined, tag
from kgeval.display.html_tables import label
from kgeval.display.table import Cell, Column, Table
from kgeval.errors import MetricError
from kgeval.report.document import Fold, PagePart, Section, Text
from kgeval.report.page_report import Report
from kgeval.results.bounded import UNKNOWN_COUNT
from kgeval.results.evaluation_result import EvaluationResult, kept_rivals
from kgeval.results.explanations import N_EXAMPLES, extreme_rows

N_DISAGREEMENTS = 10
HEADING = "triple (asked entity in bold)"
RIVALS = "The best rivals score above the answer, unless they are marked as tied or below. Known answers are left out."
NOT_KEPT = (
    "This result does not contain the rivals. With the dataset and the model, kgeval show --explain lists the "
    "candidates above a triple."
)
NO_RIVALS = "No answer has a rival: all other candidates are known answers."

Triple = Mapping[Any, Any]  # labels s, p, o; side, rank_first, rank_second


def triples(report: Report) -> Section:
    """Return the triples on which the two best models disagree most; folded, the hardest of the detailed models.

    Parameters
    ----------
    report : Report
    """
    parts: list[PagePart] = []
    rows = disagreements(report).head(N_DISAGREEMENTS).to_dict("records")
    if rows:
        names = [report.short(i) for i in (0, 1)]
        columns = [
            Column(HEADING, [_cell(report, row) for row in rows], is_label=True),
            Column.of_labels("side", [str(row["side"]) for row in rows]),
        ]
        for name, place in zip(names, ("first", "second")):
            columns.append(Column(f"rank, {name}", [_rank_cell(row[f"rank_{place}"]) for row in rows]))
        caption = f"Triples whose ranks differ most between {names[0]} and {names[1]}, by |1/rank - 1/rank|"
        parts.append(Table(columns, caption=caption, name="disagreements", kind="narrow"))
    found = [part for model in report.detailed for part in hardest(report, model)]
    title = f"Hardest triples{f' of the {len(report.detailed)} best models' if report.is_many else ''}"
    parts.append(Fold(title, found, is_open=len(report.names) == 1))
    return Section("triples", "Triples", parts)


def disagreements(report: Report) -> pd.DataFrame:
    """Return the triples whose ranks differ between the two best models, largest difference first.

    Parameters
    ----------
    report : Report
    """
    comparison = report.comparison
    if comparison is None:
        return pd.DataFrame(columns=["p"])
    n_rows = max(1, len(comparison.alignment.rows[0]))
    try:
        return comparison.disagreements(report.names[0], report.names[1], limit=n_rows)
    except MetricError:  # a model has no filtered ranks; the page says so among the cautions
        return pd.DataFrame(columns=["p"])


def worst_ranks(result: EvaluationResult) -> pd.DataFrame:
    """Return all triples with known filtered ranks, with their labels, worst rank first.

    Parameters
    ----------
    result : EvaluationResult
    """
    ranks = result.rank_table.ranks("filtered")
    order = np.argsort(-np.nan_to_num(ranks), kind="stable")
    return labelled(result, order[~np.isnan(ranks[order])])


def labelled(result: EvaluationResult, rows: Ids) -> pd.DataFrame:
    """Return rows of a result with labels in place of ids, and their filtered ranks as ``rank_first``.

    Parameters
    ----------
    result : EvaluationResult
    rows : array of int64
    """
    frame = with_labels(result.table.iloc[rows].reset_index(drop=True), result.entities, result.relations)
    return frame.assign(rank_first=result.rank_table.ranks("filtered")[rows], rank_second=np.nan)


def hardest(report: Report, model: int) -> list[PagePart]:
    """Return the triples with the worst filtered ranks of a model, and the best rivals of each.

    Parameters
    ----------
    report : Report
    model : int
    """
    result = report.parts[model]
    kept, _ = kept_rivals(result)
    has_rivals = bool((result.table["rivals_filtered"] != 0).any())
    parts: list[PagePart] = [Text(RIVALS if len(kept) else NOT_KEPT if has_rivals else NO_RIVALS)]
    n_left = int(np.isnan(result.rank_table.ranks("filtered")).sum())
    parts += [Text(f"{count_text(n_left)} ranks are bounded or unknown, and are not in this table.")] if n_left else []
    found = extreme_rows(result.rank_table)[:N_EXAMPLES]
    rows = labelled(result, found).to_dict("records")
    rivals = [kept[(kept["row"] == place).to_numpy()] for place in found.tolist()]
    columns = [
        Column(HEADING, [_cell(report, row) for row in rows], is_label=True),
        Column.of_labels("side", [str(row["side"]) for row in rows]),
        Column("rank", [_rank_cell(row["rank_first"], row) for row in rows]),
        Column("score", [Cell(f"{row['score']:.5g}", numbers=(float(row["score"]),)) for row in rows]),
    ]
    if len(kept):
        cells = [_rivals(report, result, *pair) for pair in zip(rows, rivals)]
        columns.append(Column("best rivals", cells, is_label=True))
    caption = f"The worst filtered ranks of {report.short(model)}"
    return [*parts, Table(columns, caption=caption, name=f"hardest-{model}")]


def _rank_cell(rank: float, row: Triple | None = None) -> Cell:
    """Return a rank; with the number of candidates, and of ties under the pointer, if a row of a result is given."""
    if row is None or row["rivals_filtered"] == UNKNOWN_COUNT:
        return Cell(rank_text(rank), numbers=(rank,))
    tied = f"{row['tied_filtered']} rivals tie" if row["tied_filtered"] else ""
    return Cell(f"{rank_text(rank)} of {count_text(row['rivals_filtered'] + 1)}", numbers=(rank,), reason=tied)


def rank_text(rank: float) -> str:
    """Return a rank as text; a dash if it is NaN.

    Examples
    --------
    >>> rank_text(1200.0), rank_text(2.5), rank_text(math.nan)
    ('1,200', '2.5', '-')
    """
    return MISSING if math.isnan(rank) else f"{rank:,.0f}" if rank.is_integer() else f"{rank:,.1f}"


def _cell(report: Report, row: Triple) -> Cell:
    return Cell(" ".join(_words(report, row)), markup=partial(query, report, row))


def _words(report: Report, row: Triple) -> list[str]:
    return [report.entity(str(row["s"])), shown_label(str(row["p"])), report.entity(str(row["o"]))]


def query(report: Report, row: Triple, has_relation: bool = True) -> Markup:
    """Return a triple; the answer (the hidden part of the query) is bold.

    Parameters
    ----------
    report : Report
    row : mapping
    has_relation : bool
        Whether to show the relation.
    """
    s, p, o = map(label, _words(report, row))
    parts = [s, tag("span", p, class_="relation") if has_relation else Markup(" "), o]
    asked = side_of(str(row["side"])).asked
    parts[asked] = tag("b", parts[asked])
    return tag("span", *parts, class_="query") if has_relation else joined(*parts)


def _rivals(report: Report, result: EvaluationResult, row: Triple, rivals: pd.DataFrame) -> Cell:
    """Return the best rivals of a triple with their scores."""
    is_relation = row["side"] == RELATION
    pool = result.relations.labels if is_relation else result.entities.labels
    shown = []
    for place, score in zip(rivals["entity"].tolist(), rivals["score"].tolist()):
        name = shown_label(pool[place]) if is_relation else report.entity(pool[place])
        stands = "" if score > row["score"] else " (tied)" if score == row["score"] else " (below)"
        shown.append((name, f" {score:.5g}{stands}"))
    text = "; ".join(name + more for name, more in shown)
    return Cell(text or MISSING, markup=partial(_list, shown) if shown else None)


def _list(items: Sequence[tuple[str, str]]) -> Markup:
    return tag("ol", *(tag("li", label(name), more) for name, more in items))
