"""All metrics by each column of the results, for the report page: the largest groups, in the order of the column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kgeval.base.checks import Ids, listed
from kgeval.base.wording import count_text, percent, printable, shown_label
from kgeval.display.table import Column, Table
from kgeval.features.columns import OVER_SPLITS
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import display_of, parse_all
from kgeval.report.document import Fold, PagePart
from kgeval.report.page_report import MAX_GROUPS, Report, Row, column_words, group_numbers
from kgeval.results.columns import says_splits
from kgeval.results.evaluation_result import rank_groups
from kgeval.results.rank_table import CONFIDENCE

MAX_WORDS = 3  # columns that a title names before it counts the others


@dataclass(frozen=True)
class Breakdown:
    """The groups of a column, in the order in which all models show them.

    Parameters
    ----------
    groups : list of str
    rows : list of dict
        For each model the rows of each of its groups; empty if the result does not have the column.
    n_left : int
        The number of smaller groups.
    share_left : float
        The largest share of ranks of a model in them.
    """

    groups: list[str]
    rows: Sequence[Mapping[str, Ids]]
    n_left: int
    share_left: float


def group_values(report: Report, n_open: int = 0) -> list[PagePart]:
    """Return all metrics by each column of the results, folded but for the first columns.

    Parameters
    ----------
    report : Report
    n_open : int
        The number of columns that are not folded.
    """
    columns = list(dict.fromkeys(str(name) for result in report.parts for name in result.columns.columns))
    tables = [value_table(report, column, breakdown(report, column)) for column in columns]
    names = [column_words(column) for column in columns][n_open:]
    folds = [Fold(f"By {name}", [table]) for name, table in zip(names, tables[n_open:])]
    return [*tables[:n_open], *([Fold(f"All metrics by {listed(names, MAX_WORDS)}", folds)] if folds else [])]


def breakdown(report: Report, column: str) -> Breakdown:
    """Return the `MAX_GROUPS` groups of a column with the most ranks in all results together, in the order of `by`.

    Parameters
    ----------
    report : Report
    column : str
    """
    groups_of = [dict(rank_groups(one, [column])) if column in one.columns else {} for one in report.parts]
    counts = (Counter({group: len(rows) for group, rows in groups.items()}) for groups in groups_of)
    total = sum(counts, Counter[Any]())
    largest = dict(total.most_common(MAX_GROUPS))  # groups with equal counts stay in the order of `rank_groups`
    order = [group for group in total if group in largest]
    if all(pd.api.types.is_numeric_dtype(one.columns[column]) for one in report.parts if column in one.columns):
        order.sort(key=lambda group: float(group[0]))
    rows = [{group[0]: groups[group] for group in order if group in groups} for groups in groups_of]
    sizes = [[sum(map(len, part.values())) for part in parts] for parts in zip(rows, groups_of)]
    left = max((1.0 - shown / of_all for shown, of_all in sizes if of_all), default=0.0)
    return Breakdown([group for (group,) in order], rows, len(total) - len(order), left)


def value_table(report: Report, column: str, found: Breakdown) -> Table:
    """Return the metrics of all models in each group of a column.

    Parameters
    ----------
    report : Report
    column : str
    found : Breakdown
    """
    metrics = parse_all(PLAIN_METRICS)
    frames = [
        result.rank_table.metric_frame(
            {(group,): ("filtered", ids) for group, ids in groups.items()}, [column], metrics, confidence=CONFIDENCE
        )
        for _, result, groups in zip(report.detailed, report.parts, found.rows)
    ]
    places = [(group, i) for group in found.groups for i in report.detailed if group in found.rows[i]]
    models = [i for _, i in places]
    sizes = [len(found.rows[i][group]) for group, i in places]
    columns = [Column.of_labels(column_words(column), [shown_label(group) for group, _ in places])]
    columns += [Column.of_labels("model", [report.names[i] for i in models])] if len(report.names) > 1 else []
    shares = [n / len(report.parts[i].table) for n, i in zip(sizes, models)]
    columns += [Column.of_counts("ranks", sizes), Column.of_shares("share", shares)]
    for metric in map(str, metrics):
        numbers: dict[tuple[str, int], tuple[Row, str]] = {}
        for i, frame, groups in zip(report.detailed, frames, found.rows):
            of_model = group_numbers(frame, metric, report.parts[i], column) if groups else ([], [])
            numbers |= {(group, i): pair for group, pair in zip(groups, zip(*of_model))}
        rows, reasons = zip(*(numbers[place] for place in places)) if places else ((), ())
        columns.append(Column.of_values(display_of(metric).heading, rows, metric, reasons))
    best = f" of the {len(report.detailed)} best models" if report.is_many else ""
    caption = f"Metrics{best} by {column_words(column)} (filtered ranks of both sides, realistic ties)"
    if column in OVER_SPLITS and not all(says_splits(result.notes) for result in report.parts):
        caption += ", which is computed from all splits unless a note names others"
    if found.n_left:
        caption += f"; without {count_text(found.n_left)} groups with {percent(found.share_left)} of the ranks"
    return Table(columns, caption=caption, name=f"metrics-by-{printable(column)}", kind="tall")
