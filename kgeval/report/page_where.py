"""The section of the report page on where models differ: by relation, pattern, cardinality, degree, time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from kgeval.base.checks import listed
from kgeval.base.wording import shown_label
from kgeval.display.differences import drawn_differences, moved
from kgeval.display.table import Cell, Column, Table
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.report import charts
from kgeval.report.document import Fold, PagePart, Section
from kgeval.report.page_groups import MAX_WORDS, group_values
from kgeval.report.page_report import Pair, Report, column_words, decided_text, rows_of
from kgeval.report.page_values import drawn
from kgeval.results.display import MIN_GROUP, MIN_SHARE, min_group

N_GAINS = 6  # relations with the largest gains, and with the largest losses
COMMON_COLUMNS = ("pattern", "cardinality")  # shown open; other columns: folded


def where(report: Report) -> Section:
    """Return the relations and groups on which models differ; of one model, where it is best and worst."""
    if report.pairs and len(report.pairs[0].relations):
        first, *others = (_of_pair(report, pair) for pair in report.pairs)
        names = [report.short(pair.second) for pair in report.pairs[1:]]
        folds = [Fold(f"{report.short(0)} - {name}", parts) for name, parts in zip(names, others)]
        return Section("where", "Where they differ", [*first, *folds, *group_values(report)])
    is_alone = len(report.names) == 1
    parts: list[PagePart] = [best_and_worst(report)] if is_alone else []
    title = "Where it is best and worst" if is_alone else "Groups"
    return Section("where", title, [*parts, *group_values(report, n_open=1)])


def _of_pair(report: Report, pair: Pair) -> list[PagePart]:
    """Return the relations and groups on which two models differ."""
    columns = [name for name, frame in pair.groups.items() if len(frame) > 1]
    common = [name for name in COMMON_COLUMNS if name in columns]
    rest = [name for name in columns if name not in COMMON_COLUMNS]
    parts: list[PagePart] = [gains(report, pair)] if len(pair.relations) > 1 else []
    parts += [gap_table(report, pair, common, "groups")] if common else []
    words = listed([column_words(name) for name in rest], MAX_WORDS)
    if rest and pair.second == 1:
        parts.append(Fold(f"By {words}", [gap_table(report, pair, rest, "more-groups", has_bars=False)]))
    return parts


def gains(report: Report, pair: Pair) -> Table:
    """Return the relations with the largest gains and with the largest losses, on one scale; then the rest."""
    known = pair.relations[pair.relations["contribution"].notna()]
    parts = dict(zip((pair.first, pair.second), moved(pair.relations, report.metric, N_GAINS)))
    shown = pd.concat([part.assign(model=model) for model, part in parts.items()])
    kinds = zip((f"gains of {report.short(0)}", f"losses of {report.short(0)}"), map(len, parts.values()))
    groups = [kind for kind in kinds if kind[1]]
    others = known.drop(index=shown.index)
    ends = {**({f"the other {len(others)}": others} if len(others) else {}), f"all {len(known)}": known}
    sums = pd.DataFrame({name: part[["contribution", "n"]].sum() for name, part in ends.items()}).T
    names = f"{report.short(pair.first)} - {report.short(pair.second)}"
    caption = (
        f"Relations that move the difference in {report.heading} most, {names}. Size: the contribution (share of ranks "
        f"x difference; adds up), faint: undecided. {decided_text(len(pair.relations), 'relations')}"
    )
    groups.append(("together", len(ends)))
    columns = charts.moved_columns(shown, report.metric, sums)
    return Table(columns, caption=caption, name=f"gains-{pair.second}", groups=groups, kind="gains")


def gap_table(report: Report, pair: Pair, columns: Sequence[str], name: str, has_bars: bool = True) -> Table:
    """Return the differences of two models in the groups of columns, on one axis.

    Parameters
    ----------
    report : Report
    pair : Pair
    columns : sequence of str
    name : str
        The start of the name of the table.
    has_bars : bool
        Whether to draw the differences.
    """
    frame = pd.concat([pair.groups[column] for column in columns])
    rows, decided = rows_of(frame), frame["decided"].astype(bool).tolist()
    names = f"{report.short(pair.first)} - {report.short(pair.second)}"
    shown = [
        Column("group", charts.labels_of(frame.index), is_label=True),
        *([drawn_differences(rows, decided)] if has_bars else []),
        Column.of_differences("difference", rows, report.metric, decided),
        *(
            Column.of_values(report.short(model), [(value,) for value in frame[f"value_{place}"]], report.metric)
            for model, place in ((pair.first, "first"), (pair.second, "second"))
        ),
        Column.of_counts("ranks", frame["n"]),
    ]
    groups = [(f"by {column_words(column)}", len(pair.groups[column])) for column in columns]
    words = listed([column_words(column) for column in columns], MAX_WORDS)
    caption = (
        f"Difference in {report.heading} by {words}, {names}. Intervals are corrected for the groups of their kind "
        "(Bonferroni), for this pair of models alone. Bold, filled mark: decided, the interval excludes 0."
    )
    return Table(shown, caption=caption, name=f"{name}-{pair.second}", groups=groups, kind="narrow")


def best_and_worst(report: Report) -> Table:
    """Return the relations on which a model is best and worst: those with as many ranks as the verdict asks for."""
    key, frame = PLAIN_METRICS[0], report.by_relation[0]
    display, least = display_of(key), min_group(len(report.parts[0].table))
    found = frame[np.isfinite(frame[key])].sort_values(key, ascending=display.lower_is_better, kind="stable")
    large = found[found["n"] >= least]
    share = f" ({MIN_SHARE:.0%} of all)" if least > MIN_GROUP else ""
    limited = f", of the {len(large)} with at least {least:,} ranks{share}" if 1 < len(large) < len(found) else ""
    kept = large if limited else found
    is_cut = len(kept) > 2 * N_GAINS
    kept = pd.concat([kept[:N_GAINS], kept[-N_GAINS:]]) if is_cut else kept
    groups, heading = [("best", N_GAINS), ("worst", N_GAINS)] if is_cut else [], display.heading
    what = f"The {N_GAINS} best and the {N_GAINS} worst relations by {heading}" if is_cut else f"{heading} by relation"
    values = rows_of(kept, (key, f"{key} low", f"{key} high"))
    column = Column.of_values(heading, values, key)
    pictures = drawn(column, report, key, values, [None] * len(kept), [math.nan] * len(kept), [0] * len(kept))
    columns = [
        Column.of_labels("relation", map(shown_label, kept.index)),
        Column("interval", [Cell(drawing=cell.drawing) for cell in pictures.cells], head=pictures.head),
        column,
        Column.of_counts("ranks", kept["n"]),
    ]
    return Table(columns, caption=f"{what}, best first{limited}", name="best-and-worst", groups=groups, kind="narrow")
