"""`write_board`: a board as one HTML page that loads nothing; `kgeval.report.board` computes what it shows.

Users and ``kgeval board`` call it.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from kgeval.base.checks import counted, listed, names_unknown_arguments
from kgeval.base.files import check_page_target, replacing
from kgeval.base.wording import decimals_for, enough_decimals, percent, printable, written
from kgeval.benchmarks.card import Card
from kgeval.comparison.verdict import shown_name
from kgeval.display.html import Markup, interval_bar, tag
from kgeval.display.html_tables import html_table, label, short
from kgeval.display.table import Cell, Column, Table, heading_of, titled, value_cell
from kgeval.metrics.grammar import display_of
from kgeval.report import charts
from kgeval.report import document as page
from kgeval.report.board import UNKNOWN_NEGATIVES, Board, BoardRow, BoardRun, BoardTable, read_board
from kgeval.results.display import MAX_TIES
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

FIELDS = ("model", "counts", "ties", "hashes")  # of a card, in the JSON of the page
N_HEX = 12  # characters of a fingerprint that are shown
N_LEADERS = 3  # leaders that the headline names
MAX_NAME, MAX_PLACE = 24, 28  # characters of a name in headline and navigation, and of a file
# Words of notes, gravest first: numbers that cannot be, that do not compare, that are not averaged, names that mislead.
GRAVE = (
    "contradicts", "not known", "other values", "different contents", "different triples", "may differ",
    "not averaged", "the name says",
)  # fmt: skip
LEGEND = (
    "One run: value and its interval over test triples. Several seeds: mean ± standard deviation, each run a short "
    "line; a click opens the runs. Ties: share of ranks with an equal score, the largest of the seeds; where it "
    "matters, the value from the worst to the best order of ties stands below."
)


@names_unknown_arguments()
def write_board(
    runs: Board | str | Path | Sequence[str | Path | Card | EvaluationResult],
    path: str | Path,
    *,
    overwrite: bool = False,
    title: str | None = None,
) -> None:
    """Write many cards or results as one HTML page, with a table for each dataset, protocol and number of ranks.

    Runs are in one table only if dataset, fingerprint of the dataset, fingerprint of the protocol and number of ranks
    (of each side and split, and of those left out for each reason) are the same. The tables are sorted by MRR. Runs of
    one model with different seeds have one row with the mean and the standard deviation over the seeds; a click on the
    row shows the runs. Files that cannot be read are listed with the reason. The same files give the same bytes.

    Parameters
    ----------
    runs : Board, path, or sequence of paths, cards and results
        As in `read_board`: a folder stands for all cards (``.json``) and results (``.kgeval``) in it and below it.
    path : str or Path
        The file to write; its name ends in ``.html`` or ``.htm``. Rows link to cards in its folder and below it; other
        cards are part of the page.
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
        The title of the page. By default, or if empty: ``"kgeval board"`` and the names of the datasets.

    Raises
    ------
    DataError
        If no card or result can be read, or if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evaluate(lambda s, p, o: o - s, dataset, progress=False).save(Path(folder) / "run.kgeval")
    ...     write_board(folder, Path(folder) / "board.html")
    ...     (Path(folder) / "board.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    check_page_target(path, overwrite)
    board = runs if isinstance(runs, Board) else read_board(runs)
    datasets = dict.fromkeys(one.dataset for one in board.tables)
    if not title or not title.strip():
        title = f"kgeval board: {', '.join(datasets)}"
    sections = _sections(board, title, Path(os.path.realpath(path)).parent)
    records = [
        {name: run.card.content[name] for name in FIELDS}
        | {"table": f"board-{i}", "file": run.place, "copies": run.copies}
        | {"metrics": {metric: run.card.content["metrics"].get(metric) for metric in one.metrics}}
        for i, one in enumerate(board.tables, 1)
        for run in one.runs
    ]
    text = page.page_html(title, sections, {"runs": records, "notes": board.notes})
    with replacing(path, overwrite) as stream:
        stream.write(text.encode("utf-8"))


def _sections(board: Board, title: str, folder: Path) -> list[page.Section]:
    """Return the sections; cards in `folder` or below it are linked, the others are embedded."""
    links = {id(run): _relative(run, folder) for run in board.runs}
    embedded = [run for run in board.runs if not links[id(run)]]
    links |= {id(run): f"#card-{i}" for i, run in enumerate(embedded, 1)}
    names, leaders = _names(board.tables), [_leader(one) for one in board.tables]
    said = [f"{best} on {name} ({value})" for name, (best, value, _) in zip(names, leaders)]
    headline = f"Best are {listed(said, N_LEADERS)}"
    overview: list[page.PagePart] = [_overview(board.tables, names, leaders)]
    if len(leaders) == 1:
        headline, overview = f"{leaders[0][0]} leads on {names[0]}: {', '.join(leaders[0][1:])}", []
    details = [f"{board.sentence()}. The order is no test: below each table stands the command that tests it."]
    parts = [*overview, *page.graded(board.notes, GRAVE), page.Text(LEGEND)]
    made = [page.first_section(title, headline, "", details, parts, "Board")]
    made += [_table_section(one, i, name, links) for i, (one, name) in enumerate(zip(board.tables, names), 1)]
    if board.unread:
        caption = f"{counted(len(board.unread), 'file')} of {board.n_files:,} could not be read"
        columns = [Column.of_labels(head, texts) for head, texts in zip(("file", "why"), zip(*board.unread))]
        made.append(page.Section("unread", "Not read", [Table(columns, caption=caption, name="unread")]))
    if embedded:
        about = page.Text("The cards of runs whose card is not a file in the folder of this page.")
        names = [f"{run.name} ({short(run.place, MAX_PLACE)})" for run in embedded]
        codes = [page.Code(str(run.card), f"card-{i}-text") for i, run in enumerate(embedded, 1)]
        cards = [page.Fold(name, [code], f"card-{i}") for i, (name, code) in enumerate(zip(names, codes), 1)]
        made.append(page.Section("cards", "Cards", [about, *cards]))
    return made


def _relative(run: BoardRun, folder: Path) -> str:
    """Return the link from a folder to the card of a run; empty if the card is not a file in this folder or below."""
    if run.path is None or run.path.suffix.lower() != ".json":
        return ""
    try:
        inside = Path(os.path.realpath(run.path)).relative_to(folder)
    except ValueError:
        return ""
    return "./" + quote(os.fsencode(inside.as_posix()))


def _names(tables: Sequence[BoardTable]) -> list[str]:
    """Return the names of the tables: their datasets, with numbers where a dataset has several tables."""
    datasets = [one.dataset for one in tables]
    places = [datasets[: i + 1].count(name) for i, name in enumerate(datasets)]
    shown = [shown_name(name, MAX_NAME) for name in datasets]
    return [f"{text} ({i})" if datasets.count(name) > 1 else text for text, name, i in zip(shown, datasets, places)]


def _leader(one: BoardTable) -> tuple[str, str, str]:
    """Return the best model of a table, its value, and by how much it is ahead of the next, as texts."""
    if not one.ranked:
        return "no ranked run", "", ""
    (best, value), decimals, ahead = one.ranked[0], display_of(one.metrics[0]).decimals, "alone"
    for second, other in one.ranked[1:2]:
        gap = written(abs(value - other), enough_decimals([value - other], decimals))
        ahead = f"{gap} ahead of {shown_name(second.model, MAX_NAME)}"
    return shown_name(best.model, MAX_NAME), f"{heading_of(one.metrics[0])} {written(value, decimals)}", ahead


def _overview(tables: Sequence[BoardTable], names: Sequence[str], leaders: Sequence[tuple[str, str, str]]) -> Table:
    """Return the list of the tables: what sets each apart, who leads it, and by how much."""
    links = [partial(tag, "a", label(name), href=f"#table-{i}") for i, name in enumerate(names, 1)]
    cells = [Cell(printable(name), markup=link) for name, link in zip(names, links)]
    apart = [", ".join(one.apart(tables)) for one in tables]
    columns = [Column("dataset", cells, is_label=True), Column.of_labels("apart from others of it by", apart)]
    columns += [Column.of_labels(head, texts) for head, texts in zip(("best", "value", "ahead"), zip(*leaders))]
    columns.append(Column.of_counts("runs", [len(one.runs) for one in tables]))
    caption = "One table for each dataset, protocol and number of ranks; values in different tables are not comparable."
    return Table(columns, caption=caption, name="tables", kind="fit")


# ---- a table ----


def _table_section(one: BoardTable, place: int, name: str, links: dict[int, str]) -> page.Section:
    """Return the section of a table: its protocol, its rows, and the command that tests their differences."""
    metric, coverage = one.metrics[0] if one.metrics else "mrr", one.coverage
    parts: list[page.PagePart] = []
    if not coverage.is_full:
        reasons = "; ".join(f"{counted(n, 'rank')}: {reason}" for reason, n in coverage.dropped)
        text = f"Only {coverage}. Left out: {reasons or 'no reason is in the card'}."
        if not coverage.is_fixed:
            text += " Runs with equal numbers may have ranks of different triples; a card does not list the triples."
        parts.append(page.Text(text, "caution"))
    caption = f"Table {place}: {printable(one.dataset)}, best {heading_of(metric)} first"
    rows = _rows_table(one.rows, one.metrics, links, caption, f"board-{place}", "sortable board")
    runs = [run for row, _ in one.ranked for run in row.runs]
    files = [str(Path(run.place).with_suffix(".kgeval")) for run in runs]
    command = "benchmark" if len(runs) > len(one.ranked) else "compare"
    code = page.Code(f"kgeval {command} {shlex.join(map(printable, files))} --metrics {metric}", f"test-{place}")
    prints = f"dataset {one.card.dataset_fingerprint[:N_HEX]}, protocol {one.card.protocol_fingerprint}"
    about = f"Protocol: {one.heading}. Fingerprints: {prints}."
    parts += [page.Text(about), rows, *([page.Fold("Test the differences", [code])] if len(one.ranked) > 1 else [])]
    return page.Section(f"table-{place}", name, parts)


def _rows_table(
    rows: Sequence[BoardRow], metrics: Sequence[str], links: dict[int, str], caption: str, name: str, kind: str
) -> Table:
    """Return a table of rows; the runs of a model with several seeds are such a table, which a click opens."""
    columns = [Column("model", [_model(row) for row in rows], is_label=True)]
    for metric in metrics[:1]:
        ranked = [run for row in rows for run in row.runs if row.is_ranked]
        ends = chain(*((*run.cell(metric), *(run.tie_ends(metric) or ())) for run in ranked))
        columns.append(Column.of_drawings(ends, [_bar(row, metric) if row.is_ranked else None for row in rows]))
    for metric in metrics:
        digits = decimals_for([row.value(metric)[0] for row in rows], display_of(metric).decimals)
        cells = [_value(row, metric, digits) for row in rows]
        columns.append(Column(titled(metric, Key.parse(metric).higher_is_better), cells))
    columns.append(Column("ties", [_ties(row) for row in rows]))
    columns.append(Column("card", [_link(row, links) for row in rows], is_label=True))
    several = [(i, row) for i, row in enumerate(rows) if len(row.runs) > 1]
    opened = {i: partial(_runs_table, row, metrics, links, f"{name}-runs-{i + 1}") for i, row in several}
    return Table(columns, caption=caption, name=name, opened=opened, kind=kind)


def _runs_table(row: BoardRow, metrics: Sequence[str], links: dict[int, str], name: str) -> Markup:
    rows = [BoardRow(f"seed {run.card.seed}", (run,)) for run in row.runs]
    table, place = name.split("-")[1::2]
    caption = f"Runs of {printable(row.model)}, row {place} of table {table}"
    return html_table(_rows_table(rows, metrics, links, caption, name, "board"))


def _model(row: BoardRow) -> Cell:
    seed = row.runs[0].card.seed
    note = counted(len(row.runs), "seed") if len(row.runs) > 1 else "" if seed is None else f"seed {seed}"
    return Cell(printable(row.model), note="" if note == row.model else note, flag=", ".join(row.marks))


def _bar(row: BoardRow, metric: str) -> Callable[..., Markup]:
    """Return what draws a run with its interval and its range over ties, or the runs of a row and their mean."""
    if len(row.runs) > 1:
        return partial(charts.runs_bar, [run.value(metric) for run in row.runs], row.value(metric)[0])
    return partial(interval_bar, *row.runs[0].cell(metric), ends=row.runs[0].tie_ends(metric), class_="track")


def _value(row: BoardRow, metric: str, digits: int) -> Cell:
    """Return the value of a run with its interval, or a mean with its deviation, and its range over ties below it."""
    card, numbers = row.runs[0].card, row.value(metric)
    if not row.is_ranked:  # a value without a number by which a click could sort the row
        return Cell(written(numbers[0], digits), reason="; ".join(card.contradictions) or UNKNOWN_NEGATIVES)
    ends = [run.tie_ends(metric) or (run.value(metric),) * 2 for run in row.runs]
    worst, best = (written(sum(of) / len(ends), digits) for of in zip(*ends))
    note = f"ties: {worst} to {best}" if worst != best else ""
    if len(row.runs) > 1:
        deviation = written(numbers[3], digits) if math.isfinite(numbers[3]) else ""
        return Cell(written(numbers[0], digits), deviation=deviation, numbers=numbers[:1], note=note)
    bounds = card.bounds(metric) if metric in card.metrics else ()
    reason = card.reason(metric) if metric in card.metrics else "the card does not have this metric"
    return replace(value_cell([*numbers[:3], *bounds], digits, reason), note=note)


def _ties(row: BoardRow) -> Cell:
    share = max((run.card.tie_rate for run in row.runs if math.isfinite(run.card.tie_rate)), default=math.nan)
    return Cell(percent(share), numbers=(share,), tone="warn" if share > MAX_TIES else "")


def _link(row: BoardRow, links: dict[int, str]) -> Cell:
    """Return the link to the card of a run; several runs have theirs where they are opened."""
    run, title = row.runs[0], printable(f"{row.runs[0].place}: {row.runs[0].name}")
    link = partial(tag, "a", "card", href=links[id(run)], title=title)
    return Cell("card", markup=link) if len(row.runs) == 1 else Cell()
