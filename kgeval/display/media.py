"""A `Table`, or a data frame of metrics, as text for a terminal, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from typing import Any

import pandas as pd

from kgeval.base import terminal
from kgeval.base.checks import check_one_of, grouped, listed
from kgeval.base.terminal import PIPE, Screen, width_of
from kgeval.base.wording import printable, shown_label
from kgeval.display.fields import Fields, csv_text, frame_fields, json_records, table_fields
from kgeval.display.html import Markup
from kgeval.display.html_tables import html_table
from kgeval.display.table import (
    BOLD,
    OPTIONAL_COLUMNS,
    Cell,
    Column,
    Note,
    Table,
    by_setting,
    frame_table,
    index_parts,
)
from kgeval.errors import ProtocolError
from kgeval.metrics.metric_frames import N_EFFECTIVE, REASON

NARROW = r"\setlength{\tabcolsep}{3pt}"  # with deviations, four numbers to a row fit 345 pt
TEXT_WIDTH = 345.0  # points: the text of a page of the class article
LONG, LONG_LABEL = 40, 24  # rows of a table that pages break; characters of a label, of which longer ones have lines
# The table in box 0, and a minipage as wide as it, but never too narrow for sentences; both begin at the same edge.
BOX_START = r"\noindent\sbox0{%"
BOX_END = r"}\dimen0=\wd0 \ifdim\dimen0<240pt \dimen0=240pt\fi"
NOTES_START = r"\begin{minipage}{\dimen0}\usebox0\par\smallskip\raggedright\footnotesize"
# Widths in points of one character at 10 points: of a label, of a number, of a bold number, of a deviation.
LABEL_WIDTH, NUMBER_WIDTH, BOLD_WIDTH, DEVIATION_WIDTH = 5.4, 4.8, 5.5, 4.1
BROKEN = rf"p{{{LONG_LABEL * LABEL_WIDTH:.0f}pt}}"  # the kind of a column with long labels
NORMAL, SMALL = (1.0, 12.0), (0.92, 6.0)  # size of the letters relative to 10 points, gap between columns in points
S_OPTIONS = "separate-uncertainty, retain-zero-uncertainty, table-align-uncertainty, detect-weight, mode=text"
_LATEX_MARKS = {"†": r"\dag", "‡": r"\ddag", "§": r"\S", "¶": r"\P"}
FORMATS = ("table", "json", "csv", "markdown", "latex")
PROGRAMS = ("json", "csv")  # the formats with all digits
MARKDOWN_WIDTH = 120  # characters of a line of Markdown, beyond which a table of several groups is split
MAX_NAMED = 3
CHANGING = ("dropped: ", "unknown: ")  # how lines begin that change a number
ROUGH = 10  # intervals with fewer effective clusters than this get a note

_LATEX = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",  # in LaTeX's default fonts, unescaped < | > print as other characters
    "|": r"\textbar{}",
    ">": r"\textgreater{}",
    "^": r"\textasciicircum{}",
}
_NUMBERS = re.compile(r"N|\[N, N\]|N \[N, N\]".replace("N", r"[-+]?[\d.]+(?:,\d{3})*[\d.]*"))


def escaped_markdown(text: str) -> str:
    """Return `text` escaped so that Markdown shows it literally.

    Underscores between letters, and most brackets, need no escape.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> print(escaped_markdown("a_b | *c*"))
    a_b \\| \\*c\\*
    """
    return re.sub(r"[\\`*<>|~&$]|\](?=\()|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", printable(text))


def escaped_latex(text: str) -> str:
    """Return `text` escaped so that LaTeX shows it literally; the sign of a negative number becomes a minus.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> print(escaped_latex("a_b & 50%"), escaped_latex("-0.5"))
    a\\_b \\& 50\\% $-$0.5
    """
    if _NUMBERS.fullmatch(text):
        return text.replace("-", "$-$")
    return "".join(_LATEX.get(c, c) for c in printable(text))


def latex_note(text: str) -> str:
    """Return a note below a table, escaped for LaTeX; a statement about p is a formula.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> print(latex_note("differs from A_1, p ≤ 0.05 (Holm)"))
    differs from A\\_1, $p \\leq 0.05$ (Holm)
    """
    parts = re.split(r"p (≤|>) ([\d.]+(?:e-\d+)?)", text)
    signs = {"≤": r"\leq", ">": ">"}
    shown = [escaped_latex(parts[0])]
    for sign, level, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
        shown += [f"$p {signs[sign]} {level}$", escaped_latex(rest)]
    return "".join(shown).replace("±", r"$\pm$")


def drawn(table: Table, medium: str, screen: Screen = PIPE, comment: str = "") -> str:
    """Return a table as text in one of `FORMATS`.

    Parameters
    ----------
    table : Table
    medium : str
    screen : Screen
        For ``"table"``: as in `text_table`.
    comment : str
        For ``"latex"`` and ``"markdown"``: as in `latex_table` and `markdown_table`.

    Raises
    ------
    ProtocolError
        If `medium` is unknown.
    """
    check_one_of("format", medium, FORMATS, ProtocolError)
    if medium in PROGRAMS:
        return _written(table_fields(table), medium)
    if medium == "table":
        return text_table(table, screen)
    return markdown_table(table, comment) if medium == "markdown" else latex_table(table, comment)


def text_table(table: Table, screen: Screen = PIPE) -> str:
    """Return a table and its notes as aligned lines; a star stands for bold, so that it can be seen without styles.

    Of rows with the same first label, one has it, and a blank line stands above it.

    Parameters
    ----------
    table : Table
    screen : Screen
        The width to fit, and whether to use bold and dim text. By default the table is as wide as its content.

    Examples
    --------
    >>> best = Column("MRR", [Cell("0.25"), Cell("0.50", is_best=True)])
    >>> print(text_table(Table([Column.of_labels("", "AB"), best], [(BOLD, "best value")])))
         MRR
    A  0.25
    B  0.50*
    * best value
    """
    texts, starts = blocks(table.texts)
    columns = [_screen_column(column, screen) for column in texts]
    notes = screen.lines(f"{'*' if sign == BOLD else sign} {text}".lstrip() for sign, text in table.notes)
    return "\n".join([screen.table(columns, table.faint, starts), *([notes] if table.notes else [])])


def blocks(columns: Sequence[Column]) -> tuple[Sequence[Column], list[int]]:
    """Return columns of which the first has each of its labels once, and the rows where a further block of them begins.

    Columns stay as they are, and are one block, unless the first two hold labels, and one of the first repeats.

    Parameters
    ----------
    columns : sequence of Column

    Examples
    --------
    >>> columns = [Column.of_labels("dataset", ["umls", "umls"]), Column.of_labels("model", ["A", "B"])]
    >>> [cell.text for cell in blocks(columns)[0][0].cells]
    ['umls', '']
    """
    if len(columns) < 2 or not (columns[0].is_label and columns[1].is_label):
        return columns, []
    labels = [cell.text for cell in columns[0].cells]
    starts = [i for i, label in enumerate(labels) if not i or label != labels[i - 1]]
    if len(starts) == len(labels):
        return columns, []
    cells = [cell if i in starts else replace(cell, text="") for i, cell in enumerate(columns[0].cells)]
    return [replace(columns[0], cells=cells), *columns[1:]], starts[1:]


def markdown_table(table: Table, comment: str = "") -> str:
    """Return a table and its notes as Markdown; columns of a group have its name before their own.

    Of rows with the same first label, one has it, as in `text_table`.

    Parameters
    ----------
    table : Table
    comment : str
        As in `latex_table`; its lines become the last notes.

    Examples
    --------
    >>> best = Column("MRR", [Cell("0.25", "[0.20, 0.30]"), Cell("0.50", mark="†", is_best=True)])
    >>> print(markdown_table(Table([Column.of_labels("model", ["A|B", "C"]), best], [("†", "against A|B")])))
    | model | MRR |
    | --- | ---: |
    | A\\|B | 0.25 [0.20, 0.30] |
    | C | **0.50**<sup>†</sup> |
    <BLANKLINE>
    <sup>†</sup> against A\\|B
    """

    def raised(mark: str) -> str:
        return f"<sup>{escaped_markdown(mark)}</sup>" if mark else ""

    def cell(shown: Cell) -> str:
        text = escaped_markdown(shown.text)
        parts = [f"**{text}**" if shown.is_best else text, raised(shown.mark)]
        parts += [f" ± {shown.deviation}"] if shown.deviation else []
        return "".join(parts) + (f" {escaped_markdown(shown.interval)}" if shown.interval else "")

    texts, _ = blocks(table.texts)
    heads = [escaped_markdown(f"{column.group} {column.heading}".strip()) for column in texts]
    rules = ["---" if column.is_label else "---:" for column in texts]
    rows = zip(*(map(cell, column.cells) for column in texts))
    lines = ["| " + " | ".join(row) + " |" for row in (heads, rules, *rows)]
    notes = [*table.notes, *(("", line.removeprefix("% ")) for line in comment.splitlines())]
    return "\n".join([*lines, *(f"\n{note}" for note in _notes(notes, escaped_markdown, raised))])


def narrow_markdown(table: Table, heading: str, comment: str = "", lower_is_better: bool = False) -> str:
    """Return a table with groups of columns as `markdown_table` does; if it is too wide, with rows for each group.

    The rows of a group are sorted by its first column, best first; those without a number stand last.

    Parameters
    ----------
    table : Table
        A single group has no name. If it has several groups of several columns, and would have lines of more than
        `MARKDOWN_WIDTH` characters, the groups stand below each other, each with the names of the rows; their columns
        have the same headings.
    heading : str
        What a group is, such as ``"dataset"``: the heading of the column of their names.
    comment : str
        As in `markdown_table`.
    lower_is_better : bool
        Whether the smallest number of a column is the best.
    """
    groups = [column.group for column in table.texts if column.group]
    is_wide = max(map(len, markdown_table(replace(table, notes=())).split("\n"))) > MARKDOWN_WIDTH
    if len(set(groups)) == 1:
        return markdown_table(replace(table, columns=[replace(one, group="") for one in table.texts]), comment)
    is_long = is_wide and len(groups) > len(set(groups))
    return markdown_table(long_table(table, heading, lower_is_better) if is_long else table, comment)


def long_table(table: Table, heading: str, lower_is_better: bool = False) -> Table:
    """Return a table with rows for each group of columns, best first; see `narrow_markdown`.

    Parameters
    ----------
    table, heading, lower_is_better
        As in `narrow_markdown`.
    """
    names = [column for column in table.texts if not column.group]
    parts = grouped((column.group, column) for column in table.texts if column.group)
    groups = Column.of_labels(heading, [group for group in parts for _ in names[0].cells])
    orders = [_best_first(of_group[0], lower_is_better) for of_group in parts.values()]
    long = [
        replace(same[0], group="", cells=[column.cells[i] for column, order in zip(same, orders) for i in order])
        for same in zip(*([*names, *of_group] for of_group in parts.values()))
    ]
    return replace(table, columns=[groups, *long])


def _best_first(column: Column, lower_is_better: bool) -> list[int]:
    """Return the places of the cells of a column, best number first, cells without a number last."""
    numbers = [cell.numbers[0] if cell.numbers else None for cell in column.cells]
    signed = [math.inf if x is None or math.isnan(x) else x if lower_is_better else -x for x in numbers]
    return sorted(range(len(signed)), key=signed.__getitem__)


def latex_table(table: Table, comment: str = "", *, siunitx: bool = False) -> str:
    """Return a table and its notes as LaTeX, with the rules of the package booktabs.

    Of rows with the same first label, one has it, below a rule. Notes are as wide as the table, but at least 240 pt. A
    table of more than `LONG` rows is a longtable, which pages break, and long labels have several lines. A
    mark takes no width, and a number without a deviation has an invisible one, so that the decimals stand one below
    another. LaTeX would read a bracket or a star at the start of a line as an argument of the command before it; such a
    line starts with ``{}``.

    Parameters
    ----------
    table : Table
    comment : str
        Lines of comment to stand first.
    siunitx : bool
        Whether numbers are aligned at their decimal points by the package siunitx; intervals are then left out.

    Examples
    --------
    >>> column = Column("MRR", [Cell("-0.5", mark="†")], group="A_1")
    >>> print(latex_table(Table([Column.of_labels("model", ["*"]), column])))
    % needs \\usepackage{booktabs}
    \\begin{tabular}{lr}
    \\toprule
     & \\multicolumn{1}{c}{A\\_1} \\\\
    \\cmidrule(lr){2-2}
    model & MRR \\\\
    \\midrule
    {}* & $-$0.5\\rlap{\\textsuperscript{\\dag}} \\\\
    \\bottomrule
    \\end{tabular}
    """
    texts, starts = blocks(metric_as_group(table.texts))
    broken = _broken(texts)
    columns = [_latex_cells(one, siunitx and not one.is_label, i in broken) for i, one in enumerate(texts)]
    kinds = [BROKEN if i in broken else "l" if one.is_label else "" for i, one in enumerate(texts)]
    whole = "".join(kind or (_s_column(one) if siunitx else "r") for kind, one in zip(kinds, texts))
    heads = [escaped_latex(column.heading) for column in texts]
    if siunitx:
        heads = [head if column.is_label else f"{{{head}}}" for head, column in zip(heads, texts)]
    else:
        centred = [any(cell.deviation for cell in column.cells) for column in texts]
        heads = [rf"\multicolumn{{1}}{{c}}{{{head}}}" if is_wide else head for head, is_wide in zip(heads, centred)]
    is_long = len(table.texts[0].cells) > LONG
    packages = ",".join(["booktabs", *["siunitx"] * siunitx, *["longtable"] * is_long])
    lines = [*([comment] if comment else []), rf"% needs \usepackage{{{packages}}}"]
    size = r"\footnotesize" if latex_width(table, siunitx=siunitx) > TEXT_WIDTH else r"\small"
    start = rf"{size}{NARROW}" if _is_small(table, siunitx) else ""
    start += rf"\sisetup{{{S_OPTIONS}}}" if siunitx else ""
    start, end = (rf"\begingroup{start}", r"\endgroup") if start or table.notes else ("", "")
    start += BOX_START if table.notes and not is_long else ""
    lines += [start] if start else []
    kind = "longtable" if is_long else "tabular"
    lines += [rf"\begin{{{kind}}}{{{whole}}}", r"\toprule"]
    lines += [*_latex_groups(texts), *_latex_lines([heads]), r"\midrule"]
    lines += [r"\endhead"] if is_long else []
    for i, line in enumerate(_latex_lines(zip(*columns))):
        lines += [r"\midrule", line] if i in starts else [line]
    lines += [r"\bottomrule", rf"\end{{{kind}}}" + ("" if is_long else BOX_END if table.notes else end)]
    notes = _notes(table.notes, latex_note, _raised_latex)
    if is_long:
        lines += [*(rf"\noindent {note}\par" for note in notes), *filter(None, [end])]
    elif table.notes:
        lines += [NOTES_START, *(rf"{note}\par" for note in notes), rf"\end{{minipage}}{end}\par"]
    return "\n".join(lines)


def _broken(columns: Sequence[Column]) -> set[int]:
    """Return the places of the first columns whose labels need several lines."""
    labels = enumerate(takewhile(lambda column: column.is_label, columns))
    return {i for i, column in labels if max((len(cell.text) for cell in column.cells), default=0) > LONG_LABEL}


def fitting_groups(table: Table) -> Table:
    """Return a long table, or one with long labels, that fits a page of LaTeX: without what narrow terminals leave out.

    Parameters
    ----------
    table : Table
        A note names what is left out.
    """
    if len(table.columns[0].cells) <= LONG and not _broken(table.texts):
        return table
    left_out, columns = list[str](), dict(enumerate(table.texts))
    for i, brief in terminal.steps([_screen_column(column, PIPE) for column in table.texts]):
        if latex_width(table) <= TEXT_WIDTH:
            break
        if brief is None:
            left_out.append(columns.pop(i).heading)
        elif columns[i].place != max(column.place or 0 for column in columns.values()):  # which keeps its intervals
            left_out.append("intervals of other columns")
            columns[i] = replace(columns[i], cells=[replace(cell, interval="") for cell in columns[i].cells])
        table = replace(table, columns=list(columns.values()))
    said = [("", f"not shown: {listed(list(dict.fromkeys(left_out)))} (--to csv)")] if left_out else []
    return replace(table, notes=[*table.notes, *said])


def latex_width(table: Table, *, siunitx: bool = False) -> float:
    """Return about how wide `latex_table` is in points, estimated from the characters of its cells.

    Parameters
    ----------
    table : Table
    siunitx : bool

    Examples
    --------
    >>> model, value = Column.of_labels("model", ["TransE"]), Column("MRR", [Cell("0.2500")], group="WN18RR")
    >>> round(latex_width(Table([model, value])))
    89
    """
    return _width(table, siunitx, *SMALL if _is_small(table, siunitx) else NORMAL)


def _is_small(table: Table, siunitx: bool) -> bool:
    """Return whether a table is set in small letters: with deviations, with siunitx, or if it would be too wide."""
    has_deviations = any(cell.deviation for column in table.texts for cell in column.cells)
    return siunitx or has_deviations or _width(table, siunitx, *NORMAL) > TEXT_WIDTH


def _width(table: Table, siunitx: bool, size: float, gap: float) -> float:
    """Return the width of a table whose letters have a size, relative to 10 points, with a gap between columns."""

    def width_of_cell(cell: Cell, is_label: bool) -> float:
        letter = LABEL_WIDTH if is_label else BOLD_WIDTH if cell.is_best else NUMBER_WIDTH
        deviation, sign = (letter, 17.0) if siunitx else (DEVIATION_WIDTH, 11.0)
        more = sign + deviation * len(cell.deviation) if cell.deviation else 0.0
        return letter * len(cell.text) + DEVIATION_WIDTH * len(cell.mark) + NUMBER_WIDTH * len(cell.interval) + more

    total, broken = 0.0, _broken(table.texts)
    limits = [LONG_LABEL if i in broken else None for i in range(len(table.texts))]
    texts = [
        replace(one, cells=[replace(cell, text=cell.text[:limit]) for cell in one.cells])
        for one, limit in zip(table.texts, limits)
    ]
    for group, found in groupby(texts, key=lambda column: column.group):
        columns = list(found)
        widths = [
            max([LABEL_WIDTH * len(column.heading), *(width_of_cell(cell, column.is_label) for cell in column.cells)])
            for column in columns
        ]
        total += max(sum(widths) * size + gap * len(columns), LABEL_WIDTH * len(group) * size + gap)
    return total


def _screen_column(column: Column, screen: Screen) -> terminal.Column:
    """Return a column with its marks, padded so that the decimals stand one below another."""
    if column.is_label:
        texts = [screen.bold(cell.text) if cell.is_best else cell.text for cell in column.cells]
        return terminal.Column(column.heading, texts, is_label=True, place=column.place)
    suffixes = [("*" if cell.is_best else "") + cell.mark for cell in column.cells]
    widest = max(map(width_of, suffixes), default=0)
    room = max((width_of(cell.deviation) + 3 for cell in column.cells if cell.deviation), default=0)
    brief = []
    for cell, suffix in zip(column.cells, suffixes):
        text = screen.bold(cell.text + suffix) if cell.is_best else cell.text + suffix
        deviation = f" ± {cell.deviation}" if cell.deviation else " " * room
        brief.append(text + " " * (widest - width_of(suffix)) + deviation)
    whole = [f"{text} {cell.interval}" if cell.interval else text for text, cell in zip(brief, column.cells)]
    has_intervals = any(cell.interval for cell in column.cells)
    return terminal.Column(column.heading, whole, place=column.place, brief=brief if has_intervals else None)


def _notes(notes: Sequence[Note], escape: Callable[[str], str], raised: Callable[[str], str]) -> Iterator[str]:
    """Return the notes of a document: the word "bold", or a raised mark, then the escaped sentence."""
    for sign, text in notes:
        yield escape(f"bold: {text}") if sign == BOLD else f"{raised(sign)} {escape(text)}".lstrip()


def _raised_latex(mark: str) -> str:
    shown = "".join(_LATEX_MARKS.get(character, escaped_latex(character)) for character in mark)
    return rf"\textsuperscript{{{shown}}}" if mark else ""


def _latex_cells(column: Column, siunitx: bool, is_broken: bool = False) -> list[str]:
    """Return the cells of a column; siunitx reads the number, and the text before and after it."""
    widest = max((cell.deviation for cell in column.cells), key=len, default="")
    texts = [_s_cell(cell) if siunitx else _latex_cell(cell, widest) for cell in column.cells]
    return [re.sub(r"(/|\\_)(?=.)", r"\1\\allowbreak{}", text) for text in texts] if is_broken else texts


def _s_cell(cell: Cell) -> str:
    number = cell.text.replace(",", "")
    if not re.fullmatch(r"[-+]?[\d.]+", number):
        return f"{{{escaped_latex(cell.text)}}}"
    number = rf"{number} \pm {cell.deviation.replace(',', '')}" if cell.deviation else number
    return (r"\bfseries " if cell.is_best else "") + f"{number} {_raised_latex(cell.mark)}".rstrip()


def _latex_cell(cell: Cell, widest: str) -> str:
    """Return a cell of a column whose widest deviation is given."""
    text = escaped_latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.is_best else text
    text += rf"\rlap{{{_raised_latex(cell.mark)}}}" if cell.mark else ""
    hidden = widest[: len(widest) - len(cell.deviation)]
    if cell.deviation:
        space = rf"\phantom{{{hidden}}}" if hidden else ""
        text += rf" {{\scriptsize$\pm${space}{cell.deviation}}}"
    elif widest:
        text += rf" {{\scriptsize\phantom{{$\pm${widest}}}}}"
    return f"{text} {escaped_latex(cell.interval)}" if cell.interval else text


def _s_column(column: Column) -> str:
    """Return a column of type S that has room for the widest of the numbers, and for the longest mark.

    Examples
    --------
    >>> _s_column(Column("MRR", [Cell("0.25", deviation="0.01"), Cell("-12.50"), Cell("-")]))
    'S[table-format=-2.2(3)]'
    """
    numbers = [cell.text.replace(",", "") for cell in column.cells if cell.text != "-"] or ["0"]
    integers = max(len(number.lstrip("-+").partition(".")[0]) for number in numbers)
    decimals = max(len(number.partition(".")[2]) for number in numbers)
    deviations = [len(re.sub("[.,]", "", cell.deviation)) for cell in column.cells if cell.deviation]
    sign = "-" if any(number.startswith(("-", "+")) for number in numbers) else ""
    digits = f"{integers}.{decimals}" if decimals else f"{integers}"
    mark = _raised_latex(max((cell.mark for cell in column.cells), key=len))
    space = f", table-space-text-post={{{mark}}}" if mark else ""
    return f"S[table-format={sign}{digits}{f'({max(deviations)})' if deviations else ''}{space}]"


def metric_as_group(columns: Sequence[Column]) -> Sequence[Column]:
    """Return columns whose groups are their headings, and whose heading is their one group, if all have one heading.

    Parameters
    ----------
    columns : sequence of Column
    """
    named = [column for column in columns if column.group]
    if len(named) < 2 or len({column.heading for column in named}) > 1:
        return columns
    return [replace(one, heading=one.group, group=one.heading) if one.group else one for one in columns]


def _latex_groups(texts: Sequence[Column]) -> list[str]:
    """Return the row of groups and the rules below it; nothing if no column has a group."""
    heads, rules, place = [], [], 1
    for group, columns in groupby(texts, key=lambda column: column.group):
        n = len(list(columns))
        heads += [rf"\multicolumn{{{n}}}{{c}}{{{escaped_latex(group)}}}"] if group else [""] * n
        rules += [rf"\cmidrule(lr){{{place}-{place + n - 1}}}"] if group else []
        place += n
    return [*_latex_lines([heads]), "".join(rules)] if rules else []


def _latex_lines(rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [" & ".join(row) + r" \\" for row in rows]
    return ["{}" + line if line.startswith(("[", "*", "(")) else line for line in lines]


def table_records(table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts of plain values, for JSON; see `kgeval.display.fields.json_records`.

    Parameters
    ----------
    table : Table
    """
    return json_records(table_fields(table))


def format_frame(
    frame: pd.DataFrame,
    style: str,
    screen: Screen = PIPE,
    optional: Sequence[str] = OPTIONAL_COLUMNS,
    comment: str = "",
    spreadsheet: bool = False,
    notes: Sequence[str] = (),
) -> str:
    """Return a table of metrics in one of `FORMATS`.

    The styles ``"csv"`` and ``"json"`` are for programs. Columns are named by the keys of the metrics, and numbers have
    full precision. An undefined number is an empty field (csv) or null (json); the column ``"reason"`` says why.

    The other styles are for people. Columns have headings, and numbers have few decimals. An undefined number is ``-``;
    `undefined_lines` returns the reasons. The columns ``"<metric> low"`` and ``"<metric> high"`` are shown as an
    interval after the value of the metric. The effective number of clusters is shown where it is below 100.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per group, one column per metric.
    style : str
        One of `FORMATS`.
    screen : Screen
        For the style ``"table"``: the width to fit, and whether to use bold and dim text. By default the table is as
        wide as its content.
    optional : sequence of str
        As in `frame_table`.
    comment : str
        For the styles ``"latex"`` and ``"markdown"``: as in `drawn`, such as the text that `protocol_comment` returns.
    spreadsheet : bool
        For the style ``"csv"``: as in `kgeval.display.fields.csv_text`.
    notes : sequence of str
        Sentences below the table.

    Raises
    ------
    ProtocolError
        If `style` is unknown.
    """
    check_one_of("format", style, FORMATS, ProtocolError)
    if style in PROGRAMS:
        return _written(frame_fields(frame), style, spreadsheet)
    table = frame_table(frame, optional, notes=[("", note) for note in notes])
    is_paper = style != "table" and list(frame.index.names) == ["rows"]
    table = by_setting(table) if is_paper else fitting_groups(table) if style == "latex" else table
    return drawn(table, style, screen, comment)


def _written(fields: Fields, style: str, spreadsheet: bool = False) -> str:
    """Return columns in one of the styles for programs, without a line end behind the last line."""
    if style == "csv":
        return csv_text(fields, spreadsheet=spreadsheet).removesuffix("\n")
    return json.dumps(json_records(fields), indent=2, allow_nan=False, ensure_ascii=False)


def frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame as dicts of plain values, for JSON; see `kgeval.display.fields.json_records`.

    Parameters
    ----------
    frame : pandas.DataFrame
    """
    return json_records(frame_fields(frame))


def undefined_lines(*frames: pd.DataFrame) -> list[str]:
    """Return one line for each reason why a value or interval is undefined; each names the first rows concerned.

    Parameters
    ----------
    *frames : pandas.DataFrame
        Tables of metrics. A table without the column ``"reason"`` gives no line.
    """
    reasons = [pair for frame in frames for pair in zip(frame.index, frame.get(REASON, ()))]
    rows_of = grouped((why, _row_name(label)) for label, why in reasons if why)
    lines = []
    for why, rows in rows_of.items():
        where = "" if "interval of " in why.partition(":")[0] else "undefined in "
        lines.append(f"{where}{_first_names(rows)}: {why}")
    return lines


def rough_lines(frame: pd.DataFrame) -> list[str]:
    """Return a list with one note that names the rows with few effective clusters; empty if there are none.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of metrics with intervals.
    """
    few = [_row_name(label) for label in frame.index[frame[N_EFFECTIVE] < ROUGH]]
    return [f"intervals with fewer than {ROUGH} effective clusters are rough: {_first_names(few)}"] if few else []


def _row_name(label: Any) -> str:
    """Return the name of a row of a table, for a note: its labels, with long labels shortened."""
    return " ".join(shown_label(part) if part else part for part in index_parts(label))


def _first_names(rows: Sequence[str]) -> str:
    """Return the names of the first rows, such as "a, b, c and 4 more"."""
    more = f" and {len(rows) - MAX_NAMED:,} more" if len(rows) > MAX_NAMED else ""
    return ", ".join(rows[:MAX_NAMED]) + more


def frame_text(lines: Sequence[str], frame: pd.DataFrame, index: bool = True) -> str:
    """Return lines and, below them, a table of metrics with the reasons of its gaps, fitted to the terminal.

    Parameters
    ----------
    lines : sequence of str
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.
    """
    screen = replace(Screen.of(sys.stdout), has_styles=False)
    table = frame_table(frame, index=index)
    shown = text_table(replace(table, notes=_reasons(frame)), screen)
    return "\n".join([*map(screen.wrapped, lines), *([""] if lines else []), shown])


def numbers_first(
    tables: Sequence[str], lines: Sequence[str], screen: Screen, last: Sequence[str] = (), answer: Sequence[str] = ()
) -> str:
    """Return tables above the lines that say how their numbers were made; what changes a number stands first.

    Parameters
    ----------
    tables : sequence of str
    lines : sequence of str
        Those that say which ranks were dropped or are unknown stand above the tables, in one line.
    screen : Screen
    last : sequence of str
        Texts between the tables and the lines.
    answer : sequence of str
        Texts that stand above everything.
    """
    first = [line for line in lines if line.startswith(CHANGING)]
    about = screen.dim(screen.lines(line for line in lines if line not in first))
    return "\n\n".join([*answer, *([screen.lines(["; ".join(first)])] if first else []), *tables, *last, about])


def frame_panel(frame: pd.DataFrame, index: bool = True) -> Markup:
    """Return a table of metrics with the reasons of its gaps as HTML for a notebook.

    Parameters
    ----------
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.
    """
    return html_table(replace(frame_table(frame, index=index), notes=_reasons(frame)))


def _reasons(frame: pd.DataFrame) -> list[Note]:
    return [("", line) for line in undefined_lines(frame)]
