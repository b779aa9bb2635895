"""`write_board`: a board as one HTML page that loads nothing; `kgeval.report.board` computes what it shows.

Users and ``kgeval board`` call it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from kgeval.audit.leak_notes import copied_share
from kgeval.base.checks import counted, grouped, listed, names_unknown_arguments
from kgeval.base.files import check_page_target
from kgeval.base.wording import decimals_for, enough_decimals, percent, printable, signed, with_capital, written
from kgeval.benchmarks.card import Card
from kgeval.comparison.verdict import shown_name
from kgeval.display.html import Markup, interval_bar, tag
from kgeval.display.html_tables import html_table, label
from kgeval.display.table import Cell, Column, Table, heading_of, titled, value_cell
from kgeval.metrics.grammar import display_of
from kgeval.report import charts
from kgeval.report import document as page
from kgeval.report.board import Board, BoardRow, BoardTable, read_board
from kgeval.results.display import MAX_TIES
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

MAX_HEADLINE, N_LEADERS = 170, 3  # characters of two lines; leaders and datasets that a longer headline names
MAX_BESIDE, MAX_MODELS = 6, 15  # tables that stand beside each other, with so many models
MAX_NAME, MAX_PLACE = 24, 28  # characters of a name in headline and navigation, and of a file
NO_TEST = (
    "A board sorts, it does not test: a lead may be chance, also where intervals or SDs do not overlap. To test it: "
    "kgeval compare (one run of each model) or kgeval benchmark (several seeds), with the results (.kgeval)."
)
VALUES = "One run: interval over test triples; several seeds: mean ± SD."
COPIED = " Copied?: share of test triples that train may give away."


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
        The file to write; its name ends in ``.html`` or ``.htm``.
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
    usual = f"kgeval board: {', '.join(dict.fromkeys(one.dataset for one in board.tables))}"
    page.write_document(path, overwrite, title, usual, partial(_sections, board))


def _sections(board: Board, title: str) -> list[page.Section]:
    """Return the sections: the leaders, the tables, and what could not be read."""
    names = _names(board.tables)
    details = [*_behind(board.tables, names), f"{board.sentence()}. {NO_TEST}"]
    notes = [f"{note.rstrip('.')}." for note in board.notes]
    parts = [_leaders(board.tables, names), *_matrix(board.tables, names), *page.cautions(notes, page.N_OPEN)]
    made = [page.first_section(title, _headline(board.tables, names) or "no ranked run", "", details, parts, "Board")]
    made += [_table_section(one, i, name) for i, (one, name) in enumerate(zip(board.tables, names), 1)]
    if board.unread:
        caption = f"{counted(len(board.unread), 'file')} of {board.n_files:,} could not be read"
        columns = [Column.of_labels(head, texts) for head, texts in zip(("file", "why"), zip(*board.unread))]
        made.append(page.Section("unread", "Not read", [Table(columns, caption=caption, name="unread")]))
    return made


def _names(tables: Sequence[BoardTable]) -> list[str]:
    """Return the names of the tables: their datasets, with numbers where a dataset has several tables."""
    datasets = [one.dataset for one in tables]
    places = [datasets[: i + 1].count(name) for i, name in enumerate(datasets)]
    shown = [shown_name(name, MAX_NAME) for name in datasets]
    return [f"{text} ({i})" if datasets.count(name) > 1 else text for text, name, i in zip(shown, datasets, places)]


def _headline(tables: Sequence[BoardTable], names: Sequence[str]) -> str:
    """Return who leads on which datasets; of more than two lines, only the first models and datasets."""
    led = [(shown_name(model, MAX_NAME), on) for model, on in _by_leader(tables, names).items()]
    text = "; ".join(f"{model} leads on {listed(on)}" for model, on in led)
    if len(text) > MAX_HEADLINE:
        said = [f"{model} leads on {listed(on, N_LEADERS)}" for model, on in led[:N_LEADERS]]
        more = [f"and {len(led) - N_LEADERS:,} more"] if len(led) > N_LEADERS else []
        text = "; ".join([*said, *more])
    return f"Not tested: {text}" if text else ""


def _by_leader(tables: Sequence[BoardTable], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the tables that each model leads, most tables first."""
    led = grouped((one.ranked[0][0].model, name) for one, name in zip(tables, names) if one.ranked)
    return dict(sorted(led.items(), key=lambda item: -len(item[1])))


def _behind(tables: Sequence[BoardTable], names: Sequence[str]) -> list[str]:
    """Return where the model that leads most tables is behind, and how far; nothing if several lead as many."""
    (best, most), *others = _by_leader(tables, names).items() or [("", [])]
    if any(len(on) == len(most) for _, on in others):
        return []
    said = list[str]()
    for one, name in ((one, name) for one, name in zip(tables, names) if one.ranked):
        values = {row.model: value for row, value in one.best_of_models}
        first, top = next(iter(values.items()))
        gap = _gap(values[best] - top, one.metrics[0]) if best in values else ""
        if gap != "equal":
            said.append(f"{name} ({f'{gap} to {shown_name(first, MAX_NAME)}' if gap else 'no ranked value'})")
    return [f"{shown_name(best, MAX_NAME)} does not lead on {listed(said, N_LEADERS)}."] if said else []


def _gap(gap: float, metric: str) -> str:
    """Return a difference with a sign, and enough decimals to see it."""
    return signed(gap, enough_decimals([gap], display_of(metric).decimals)) if gap else "equal"


def _leaders(tables: Sequence[BoardTable], names: Sequence[str]) -> Table:
    """Return the list of the tables: protocol, where a dataset has several, best and second model, and the lead."""
    links = [partial(tag, "a", label(name), href=f"#table-{i}") for i, name in enumerate(names, 1)]
    n_tables = Counter(one.dataset for one in tables)
    shares = [max(copied_share(run.card.content["facts"]) for run in one.runs) for one in tables]
    apart = [one.heading if n_tables[one.dataset] > 1 else share for one, share in zip(tables, shares)]
    cells = [Cell(printable(name), markup=link, note=why) for name, link, why in zip(names, links, apart)]
    heading = " or ".join(dict.fromkeys(heading_of(one.metrics[0]) for one in tables if one.metrics)) or "value"
    columns = [Column("dataset", cells, is_label=True)]
    heads = ("best model", heading, "ahead of", "by")
    for head, column in zip(heads, zip(*map(_lead, tables))):
        columns.append(Column(head, column, is_label=head in ("best model", "ahead of")))
    if len({one.metrics[0] for one in tables if one.ranked}) == 1:
        values = [[value for _, value in one.best_of_models] for one in tables]
        drawings = [partial(charts.runs_bar, of, of[0]) if of else None for of in values]
        columns.insert(3, Column.of_drawings(chain(*values), drawings))
    caption = f"Leaders (compare values within a row alone). {VALUES} Short lines: all models.{COPIED * any(shares)}"
    return Table(columns, caption=caption, name="leaders", kind="leaders")


def _lead(one: BoardTable) -> list[Cell]:
    """Return the best and the second model of a table with their values, and the lead; whether ties could turn it."""
    if not one.ranked:
        return [Cell("no ranked run"), *[Cell()] * 3]
    metric, models = one.metrics[0], one.best_of_models
    decimals, sign = display_of(metric).decimals, 1 if Key.parse(metric).higher_is_better else -1
    named = [replace(_model(row), text=shown_name(row.model, MAX_NAME)) for row, _ in models[:2]]
    shown = [named[0], _value(models[0][0], metric, decimals)]
    if len(models) == 1:
        return [*shown, Cell(), Cell("only model")]
    gap = abs(models[0][1] - models[1][1])
    worst, top = models[0][0].tie_range(metric)
    ends = [(row, *row.tie_range(metric)) for row, _ in models[1:]]
    rivals = [row for row, low, high in ends if sign * high >= sign * worst and (low, worst) != (high, top)]
    values = [row.value(metric) for row, _ in models[:2]]
    flags = ["ties could turn it"] if models[1][0] in rivals else []
    flags = flags or [f"ties could put {shown_name(row.model, MAX_NAME)} first" for row in rivals[:1]]
    flags += ["within SD or interval"] * any(0 < gap < sd or 0 < 2 * gap < high - low for _, low, high, sd in values)
    note = "one run against a mean" if len({math.isnan(sd) for *_, sd in values}) > 1 else ""
    return [*shown, named[1], Cell(_gap(gap, metric).lstrip("+"), numbers=(gap,), note=note, flag=", ".join(flags))]


def _matrix(tables: Sequence[BoardTable], names: Sequence[str]) -> list[Table]:
    """Return the best row of each model in each of a few tables of one metric; or nothing.

    The models with the most tables come first, of these those with the smallest sum of places.
    """
    found = [({of[0].model: of for of in one.best_of_models}, one.metrics[0]) for one in tables if one.ranked]
    rows_of, metrics = [rows for rows, _ in found], {of for _, of in found}
    is_apart = len({one.dataset for one in tables}) == len(tables) == len(found)
    missing = {model: sum(model not in rows for rows in rows_of) for model in chain(*rows_of)}
    models = [model for model in missing if missing[model] < len(found) - 1]  # on several datasets
    if not (len(models) > 1 < len(found) <= MAX_BESIDE and is_apart and len(metrics) == 1):
        return []
    (metric,), digits = metrics, display_of(min(metrics)).decimals
    # The places are those among the models that miss no more tables.
    places = {m: [[*(k for k in rows if missing[k] <= missing[m]), m].index(m) for rows in rows_of] for m in models}
    shown = sorted(models, key=lambda model: (missing[model], sum(places[model])))[:MAX_MODELS]
    columns = [Column("model", [Cell(printable(shown_name(model, MAX_NAME))) for model in shown], is_label=True)]
    for name, rows in zip(names, rows_of):
        (_, best), cells = next(iter(rows.values())), dict[str, Cell]()
        for of, (row, value) in rows.items():
            gap, cell = _gap(value - best, metric), _value(row, metric, digits, has_ties=False)
            cells[of] = replace(cell, interval="", is_best=value == best, note=gap if value != best else "leads")
        columns.append(Column(name, [cells.get(of, Cell("-")) for of in shown]))
    which = f"{len(shown)} of {len(models):,} models" if len(shown) < len(models) else "models"
    caption = f"{heading_of(metric)}, distance to the leader of the dataset below: {which} on several datasets."
    return [Table(columns, caption=caption, name="matrix", kind="matrix sortable")]


# ---- a table ----


def _table_section(one: BoardTable, place: int, name: str) -> page.Section:
    """Return the section of a table: its protocol and its rows."""
    metric = one.metrics[0] if one.metrics else "mrr"
    parts: list[page.PagePart] = [page.Text(with_capital(one.caution), "caution")] if one.caution else []
    caption = f"Table {place}: {printable(one.dataset)}, best {heading_of(metric)} first."
    rows = _rows_table(one.rows, one.metrics, caption, f"board-{place}", "sortable board")
    return page.Section(f"table-{place}", name, [*parts, page.Text(f"Protocol: {one.heading}."), rows])


def _rows_table(rows: Sequence[BoardRow], metrics: Sequence[str], caption: str, name: str, kind: str) -> Table:
    """Return a table of rows; the runs of a model with several seeds are such a table, which a click opens."""
    columns = [Column("model", [_model(row) for row in rows], is_label=True)]
    for metric in metrics:
        digits = decimals_for([row.value(metric)[0] for row in rows], display_of(metric).decimals)
        cells = [_value(row, metric, digits, has_ties=metric == metrics[0]) for row in rows]
        columns.append(Column(titled(metric, Key.parse(metric).higher_is_better), cells))
    for metric in metrics[:1]:
        ranked = [run for row in rows for run in row.runs if row.is_ranked]
        ends = chain(*((*run.cell(metric), *(run.tie_ends(metric) or ())) for run in ranked))
        drawings = [_bar(row, metric) if row.is_ranked else None for row in rows]
        columns.insert(2, Column.of_drawings(ends, drawings))
    columns.append(Column("ties", [_ties(row) for row in rows]))
    several = [(i, row) for i, row in enumerate(rows) if len(row.runs) > 1]
    opened = {i: partial(_runs_table, row, metrics, f"{name}-runs-{i + 1}") for i, row in several}
    return Table(columns, caption=caption, name=name, opened=opened, kind=kind)


def _runs_table(row: BoardRow, metrics: Sequence[str], name: str) -> Markup:
    rows = [BoardRow(f"seed {run.card.seed}", (run,)) for run in row.runs]
    table, place = name.split("-")[1::2]
    caption = f"Runs of {printable(row.model)}, row {place} of table {table}"
    return html_table(_rows_table(rows, metrics, caption, name, "board"))


def _model(row: BoardRow) -> Cell:
    """Return the name of a model and, below it, its seeds, or that it is one run."""
    first = row.runs[0]
    note = "" if first.card.seed is None else f"seed {first.card.seed}"
    if len(row.runs) > 1:
        note = counted(len(row.runs), "seed")
    elif first.label:
        note = shown_name(f"no name; {first.card.model}", MAX_PLACE)
    if len(row.runs) == 1:  # a run in the table of runs of a model has its seed for a name
        note = "" if note == row.model else ", ".join(filter(None, ["1 run", note]))
    places = ", ".join(printable(run.place) for run in row.runs)
    return Cell(printable(row.model), note=note, flag=", ".join(row.marks), reason=places)


def _bar(row: BoardRow, metric: str) -> Callable[..., Markup]:
    """Return what draws a run with its interval and its range over ties, or the runs of a row and their mean."""
    if len(row.runs) > 1:
        return partial(charts.runs_bar, [run.value(metric) for run in row.runs], row.value(metric)[0])
    return partial(interval_bar, *row.runs[0].cell(metric), ends=row.runs[0].tie_ends(metric), class_="track")


def _value(row: BoardRow, metric: str, digits: int, has_ties: bool = True) -> Cell:
    """Return the value of a run with its interval, or a mean with its deviation; below it its range over ties."""
    card, numbers = row.runs[0].card, row.value(metric)
    if not row.is_ranked:  # a value without a number by which a click could sort the row
        return Cell(written(numbers[0], digits), reason=row.runs[0].doubt)
    worst, best = (written(end, digits) for end in row.tie_range(metric))
    note = f"ties: {worst} to {best}" if has_ties and worst != best else ""
    if len(row.runs) > 1:
        deviation = written(numbers[3], digits) if math.isfinite(numbers[3]) else ""
        return Cell(written(numbers[0], digits), deviation=deviation, numbers=numbers[:1], note=note)
    bounds = card.bounds(metric) if metric in card.metrics else ()
    reason = card.reason(metric) if metric in card.metrics else "the card does not have this metric"
    return replace(value_cell([*numbers[:3], *bounds], digits, reason), note=note)


def _ties(row: BoardRow) -> Cell:
    share = max((run.card.tie_rate for run in row.runs if math.isfinite(run.card.tie_rate)), default=math.nan)
    return Cell(percent(share), numbers=(share,), tone="warn" if share > MAX_TIES else "")
