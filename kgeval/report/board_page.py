"""`write_board`: a board as one HTML page that loads nothing; `kgeval.report.board` computes what it shows.

Users and ``kgeval board`` call it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgeval.base.checks import counted, names_unknown_arguments
from kgeval.base.files import check_page_target, replacing
from kgeval.base.wording import printable
from kgeval.benchmarks.card import Card
from kgeval.display.html import Markup, joined, tag
from kgeval.display.html_tables import short
from kgeval.metrics.grammar import display_of
from kgeval.report import charts, page_numbers
from kgeval.report import page_parts as html
from kgeval.report.benchmark_sections import spread
from kgeval.report.board import UNKNOWN_NEGATIVES, Board, BoardRow, BoardRun, BoardTable, read_board
from kgeval.report.page_content import plain_values
from kgeval.report.page_frame import whole_page
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

N_HEX = 12  # characters of a fingerprint that are shown
MAX_NAME, MAX_PLACE, MAX_TITLE = 40, 28, 24  # characters of a model, of a file, and of a dataset in the navigation


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
    text = _page(board, title, Path(os.path.realpath(path)).parent)
    with replacing(path, overwrite) as stream:
        stream.write(text.encode("utf-8"))


def _page(board: Board, title: str, folder: Path) -> str:
    """Return the page as HTML; cards in `folder` or below it are linked, the others are embedded."""
    links: dict[int, str] = {}
    embedded: list[tuple[str, BoardRun]] = []
    for run in board.runs:
        target = _relative(run, folder)
        if target is None:
            embedded.append((f"card-{len(embedded) + 1}", run))
            target = f"#{embedded[-1][0]}"
        links[id(run)] = target
    made = [_answer(board, title)]
    navigation = [("answer", "Board")]
    for i, one in enumerate(board.tables, start=1):
        made.append(_table_section(one, board.tables[i - 2] if i > 1 else None, i, links))
        navigation.append((f"table-{i}", short(_navigation_name(one, board.tables), MAX_TITLE)))
    if board.unread:
        rows = [tag("tr", html.row_head(html.label(place)), tag("td", text)) for place, text in board.unread]
        caption = f"{counted(len(board.unread), 'file')} of {board.n_files:,} could not be read"
        unread = html.table(caption, ["file", "why"], [tag("tbody", *rows)], name="unread")
        made.append(html.section("unread", "Not read", unread))
        navigation.append(("unread", "Not read"))
    if embedded:
        cards = [
            html.folded(
                joined(html.label(run.name), " (", html.label(run.place, MAX_PLACE), ")"),
                html.block(str(run.card), f"{place}-text"),
                id=place,
            )
            for place, run in embedded
        ]
        text = "The cards of runs whose card is not a file in the folder of this page."
        made.append(html.section("cards", "Cards", tag("p", text, class_="muted"), *cards))
        navigation.append(("cards", "Cards"))
    return whole_page(title, navigation, made, _data(board))


def _relative(run: BoardRun, folder: Path) -> str | None:
    """Return the link from a folder to the card of a run; None if the card is not a file in this folder or below."""
    if run.path is None or run.path.suffix.lower() != ".json":
        return None
    try:
        inside = Path(os.path.realpath(run.path)).relative_to(folder)
    except ValueError:
        return None
    return "./" + quote(os.fsencode(inside.as_posix()))


def _navigation_name(one: BoardTable, tables: Sequence[BoardTable]) -> str:
    """Return the name of a table in the navigation: its dataset, with a number if the dataset has several tables."""
    same = [other for other in tables if other.dataset == one.dataset]
    return one.dataset if len(same) == 1 else f"{one.dataset} ({same.index(one) + 1})"


# ---- the first section ----


def _answer(board: Board, title: str) -> Markup:
    """Return the first section: the number of runs, notes about doubtful runs, and an overview of the tables."""
    cautions = []
    if board.unread:
        text = f"{counted(len(board.unread), 'file')} could not be read"
        cautions.append(tag("li", tag("a", text, href="#unread"), class_="caution"))
    rows = []
    for i, one in enumerate(board.tables, start=1):
        runs = [run for row in one.rows for run in row.runs]
        n_models = len({run.card.model for run in runs})
        rows.append(
            tag(
                "tr",
                html.row_head(tag("a", html.label(one.dataset, MAX_NAME), href=f"#table-{i}")),
                tag("td", one.heading),
                html.number(page_numbers.whole(n_models), n_models),
                html.number(page_numbers.whole(len(runs)), len(runs)),
            )
        )
    heads = ["dataset", "protocol", "models", "runs"]
    caption = "One table for each dataset, protocol and number of ranks; values in different tables are not comparable."
    overview = html.table(caption, heads, [tag("tbody", *rows)], name="tables", numbers=[2, 3])
    notes = [tag("li", text) for text in board.notes]
    return html.first_section(
        title,
        tag("p", board.sentence(), class_="verdict"),
        tag("ul", *cautions, class_="lines") if cautions else None,
        tag("ul", *notes, class_="plain") if notes else None,
        overview,
    )


# ---- a table ----


def _table_section(one: BoardTable, before: BoardTable | None, place: int, links: dict[int, str]) -> Markup:
    """Return the section of a table: protocol, differences from the preceding table, and rows."""
    prints = tag(
        "p",
        "Fingerprints: dataset ", tag("code", one.card.dataset_fingerprint[:N_HEX], title=one.card.dataset_fingerprint),
        ", protocol ", tag("code", one.card.protocol_fingerprint), ".", class_="muted",
    )  # fmt: skip
    differs = None
    if before is not None:
        differs = tag("p", tag("strong", "Differs from the table before: "), "; ".join(one.differs_from(before)), ".")
    return html.section(
        f"table-{place}",
        joined(html.label(one.dataset, MAX_NAME), f": {one.heading}"),
        differs,
        _left_out(one),
        prints,
        _rows_table(one, place, links),
    )


def _left_out(one: BoardTable) -> Markup | None:
    """Return a text about the ranks that the runs of a table left out; None if no rank was left out."""
    coverage = one.coverage
    if coverage.is_full:
        return None
    reasons = "; ".join(f"{counted(n, 'rank')}: {reason}" for reason, n in coverage.dropped)
    text = f"Left out: {reasons or 'no reason is in the card'}."
    if not coverage.is_fixed:
        text += " Runs with equal numbers may have ranks of different triples; a card does not list the triples."
    return tag("p", tag("strong", f"Only {coverage}. "), text, class_="caution")


def _rows_table(one: BoardTable, place: int, links: dict[int, str]) -> Markup:
    """Return the table of runs; several seeds of one model have one row, which a click opens."""
    limits = {}
    for metric in one.metrics:
        ranked = [row for row in one.rows if row.is_ranked]
        single = [row.value(metric)[:3] for row in ranked if len(row.runs) == 1]
        several = [(run.value(metric),) for row in ranked if len(row.runs) > 1 for run in row.runs]
        limits[metric] = html.limits_of([*single, *several])
    heads: list[Any] = [
        "model",
        *(html.heading(display_of(key).heading, Key.parse(key).higher_is_better) for key in one.metrics),
        "ties",
        "ranks",
        "card",
    ]
    bodies = [tag("tbody", *_lines(row, one, limits, links)) for row in one.rows]
    parts = []
    if any(len(row.runs) == 1 for row in one.rows):
        parts.append("One run: value with its interval over test triples, as its card says.")
    if any(len(row.runs) > 1 for row in one.rows):
        parts.append(
            "Several seeds: mean ± standard deviation over the seeds; each short line is a run; click to open."
        )
    about = f"Table {place}, {one.dataset}, protocol {one.card.protocol_fingerprint}, {one.coverage}"
    about += f", sorted by {display_of(one.metrics[0]).heading}. " if one.metrics else ". "
    parts.append("The order is no test: kgeval benchmark and kgeval compare test differences.")
    return html.table(
        about + " ".join(parts),
        heads,
        bodies,
        name=f"board-{place}",
        classes="sortable matrix",
        numbers=range(1, len(heads) - 1),
    )


def _lines(row: BoardRow, one: BoardTable, limits: dict[str, Any], links: dict[int, str]) -> list[Markup]:
    """Return the line of a row, and the lines of its runs, which are shown when the row is open."""
    name = html.label(row.model, MAX_NAME)
    marks = [joined(" ", tag("strong", mark, class_="flag")) for mark in row.marks]
    if len(row.runs) == 1:
        run = row.runs[0]
        seed = None if run.card.seed is None else tag("small", f"seed {run.card.seed}", class_="ties")
        return [tag("tr", html.row_head(name, seed, *marks), *_run_cells(run, one, limits, links))]
    seeds = tag("small", counted(len(row.runs), "seed"), class_="ties")
    head = html.row_head(tag("details", tag("summary", name), seeds), *marks)
    cells = [_mean_cell(row, metric, limits[metric]) for metric in one.metrics]
    ties = [run.card.tie_rate for run in row.runs if math.isfinite(run.card.tie_rate)]
    highest = max(ties, default=math.nan)
    cells.append(html.ties_cell(highest, f"up to {page_numbers.percent(highest)}" if len(set(ties)) > 1 else ""))
    counts = [run.card.n_ranks for run in row.runs]
    few, many = min(counts), max(counts)
    text = page_numbers.whole(few) + (f" to {page_numbers.whole(many)}" if many > few else "")
    cells.append(html.number(text, few))
    cells.append(tag("td", *(joined(_link(run, links, str(run.card.seed)), " ") for run in row.runs), class_="links"))
    opened = [
        tag("tr", html.row_head(f"seed {run.card.seed}"), *_run_cells(run, one, limits, links), class_="more")
        for run in row.runs
    ]
    return [tag("tr", head, *cells), *opened]


def _run_cells(run: BoardRun, one: BoardTable, limits: dict[str, Any], links: dict[int, str]) -> list[Markup]:
    """Return the cells of one run: metrics with intervals, ties, number of ranks, card."""
    cells = []
    for metric in one.metrics:
        cell = run.cell(metric)
        if not run.is_ranked:  # the value as text, without a number by which a click could sort the row
            title = "; ".join(run.card.contradictions) or UNKNOWN_NEGATIVES
            cells.append(html.number(page_numbers.value_text(cell[0], metric), title=title))
            continue
        drawn = html.bar_of(cell, limits[metric])
        least, greatest = run.card.bounds(metric) if metric in run.card.metrics else (math.nan, math.nan)
        reason = run.card.reason(metric) if metric in run.card.metrics else "the card does not have this metric"
        cells.append(html.value_cell([*cell, reason, least, greatest], metric, bar=drawn))
    cells.append(html.ties_cell(run.card.tie_rate))
    cells.append(html.number(page_numbers.whole(run.card.n_ranks), run.card.n_ranks))
    cells.append(tag("td", _link(run, links, "card"), class_="links"))
    return cells


def _mean_cell(row: BoardRow, metric: str, limits: tuple[float, float]) -> Markup:
    """Return the cell of a mean over seeds: mean, standard deviation, and a drawing of the mean and of each run."""
    mean, _, _, deviation = row.value(metric)
    drawn = charts.runs_bar([run.value(metric) for run in row.runs], mean, limits)
    return html.number(page_numbers.value_text(mean, metric), mean, spread(mean, deviation, metric), drawn)


def _link(run: BoardRun, links: dict[int, str], text: str) -> Markup:
    """Return the link to the card of a run."""
    shown = printable(f"{run.place}: card of {run.name}")
    return tag("a", tag("bdi", text), href=links[id(run)], title=shown)


# ---- the numbers as JSON ----


def _data(board: Board) -> dict[str, Any]:
    """Return the numbers that the page offers as a file."""
    tables = []
    for one in board.tables:
        rows = []
        for row in one.rows:
            values = {metric: row.value(metric) for metric in one.metrics}
            runs = [
                {
                    "file": run.place,
                    "copies": run.copies,
                    "seed": run.card.seed,
                    "hash": run.card.hash,
                    "contradictions": run.card.contradictions,
                    "metrics": {metric: run.cell(metric) for metric in one.metrics},
                    "n_ranks": run.card.n_ranks,
                    "tie_rate": run.card.tie_rate,
                }
                for run in row.runs
            ]
            rows.append({"model": row.model, "marks": row.marks, "values": values, "runs": runs})
        tables.append(
            {
                "dataset": one.dataset,
                "dataset_fingerprint": one.card.dataset_fingerprint,
                "protocol": one.card.protocol_sentence,
                "protocol_fingerprint": one.card.protocol_fingerprint,
                "n_ranks": one.coverage.n_ranks,
                "n_read": one.coverage.n_read,
                "dropped": dict(one.coverage.dropped),
                "value_columns": ["value", "low", "high", "deviation over seeds"],
                "rows": rows,
            }
        )
    unread = [{"file": place, "why": text} for place, text in board.unread]
    return dict(plain_values({"tables": tables, "notes": board.notes, "unread": unread}))
