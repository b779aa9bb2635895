"""The renderers of a `Table`: text for a terminal, Markdown, LaTeX (booktabs, siunitx) and HTML for notebooks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from kgeval import markup_panels, terminal
from kgeval.checks import check_one_of
from kgeval.display.escapes import escaped_latex, escaped_markdown, latex_note
from kgeval.display.table import BOLD, Cell, Column, Note, Table
from kgeval.errors import ProtocolError
from kgeval.markup import Markup, joined, tag
from kgeval.terminal import PIPE, Screen, width_of

MEDIA = ("table", "markdown", "latex")
NARROW = r"\small\setlength{\tabcolsep}{2pt}"  # with deviations, four numbers to a row fit 345 pt
S_OPTIONS = "separate-uncertainty, retain-zero-uncertainty, table-align-uncertainty, detect-weight, mode=text"
_LATEX_MARKS = {"†": r"\dag", "‡": r"\ddag", "§": r"\S", "¶": r"\P"}


def drawn(table: Table, medium: str, screen: Screen = PIPE, comment: str = "") -> str:
    """Return a table as text in one of `MEDIA`.

    Parameters
    ----------
    table : Table
    medium : str
    screen : Screen
        For ``"table"``: as in `text_table`.
    comment : str
        For ``"latex"``: as in `latex_table`.

    Raises
    ------
    ProtocolError
        If `medium` is unknown.
    """
    check_one_of("format", medium, MEDIA, ProtocolError)
    if medium == "table":
        return text_table(table, screen)
    return markdown_table(table) if medium == "markdown" else latex_table(table, comment)


def text_table(table: Table, screen: Screen = PIPE) -> str:
    """Return a table and its notes as aligned lines; a star stands for bold, so that it can be seen without styles.

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
    columns = [_screen_column(column, screen) for column in table.texts]
    notes = screen.lines(f"{'*' if sign == BOLD else sign} {text}".lstrip() for sign, text in table.notes)
    return "\n".join([screen.table(columns, table.faint), *([notes] if table.notes else [])])


def markdown_table(table: Table) -> str:
    """Return a table and its notes as Markdown; columns of a group have its name before their own.

    Parameters
    ----------
    table : Table

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

    heads = [escaped_markdown(f"{column.group} {column.heading}".strip()) for column in table.texts]
    rules = ["---" if column.is_label else "---:" for column in table.texts]
    rows = zip(*(map(cell, column.cells) for column in table.texts))
    lines = ["| " + " | ".join(row) + " |" for row in (heads, rules, *rows)]
    return "\n".join([*lines, *(f"\n{note}" for note in _notes(table.notes, escaped_markdown, raised))])


def latex_table(table: Table, comment: str = "", *, siunitx: bool = False) -> str:
    """Return a table and its notes as LaTeX, with the rules of the package booktabs.

    LaTeX would read a bracket or a star at the start of a line as an argument of the command before it; such a line
    starts with ``{}``.

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
    {}* & $-$0.5\\textsuperscript{\\dag} \\\\
    \\bottomrule
    \\end{tabular}
    """
    columns = [[_latex_cell(cell, siunitx and not column.is_label) for cell in column.cells] for column in table.texts]
    kinds = "".join("l" if column.is_label else _s_column(column) if siunitx else "r" for column in table.texts)
    heads = [escaped_latex(column.heading) for column in table.texts]
    if siunitx:
        heads = [head if column.is_label else f"{{{head}}}" for head, column in zip(heads, table.texts)]
    packages = "booktabs,siunitx" if siunitx else "booktabs"
    lines = [*([comment] if comment else []), rf"% needs \usepackage{{{packages}}}"]
    has_deviations = any(cell.deviation for column in table.texts for cell in column.cells)
    start, end = (rf"\begingroup{NARROW}", r"\endgroup") if has_deviations or siunitx else ("", "")
    start += rf"\sisetup{{{S_OPTIONS}}}" if siunitx else ""
    lines += [start] if start else []
    lines += [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *_latex_groups(table), *_latex_lines([heads]), r"\midrule"]
    lines += [
        *_latex_lines(zip(*columns)),
        r"\bottomrule",
        r"\end{tabular}" + end,
    ]
    notes = _notes(table.notes, latex_note, _raised_latex)
    return "\n".join([*lines, *(rf"\par\noindent {note}" for note in notes)])


def panel_table(table: Table) -> Markup:
    """Return a table as HTML for a notebook, with its notes.

    Parameters
    ----------
    table : Table
    """

    def content(column: Column, cell: Cell) -> str | Markup:
        if cell.drawing is not None:
            return cell.drawing
        parts = [cell.text + cell.mark, f"± {cell.deviation}" if cell.deviation else "", cell.interval]
        text = " ".join(filter(None, parts))
        return tag("strong", text) if cell.is_best else text

    rows = zip(*([content(column, cell) for cell in column.cells] for column in table.columns))
    numeric = [i for i, column in enumerate(table.columns) if not (column.is_label or column.is_drawn)]
    heads = [f"{column.group} {column.heading}".strip() for column in table.columns]
    shown = markup_panels.lines(plain_notes(table.notes)) if table.notes else None
    return joined(markup_panels.table(heads, rows, numeric), shown)


def plain_notes(notes: Sequence[Note]) -> list[str]:
    """Return the notes of a table for a medium that has bold text: each starts with the sign that it explains.

    Parameters
    ----------
    notes : sequence of (str, str)

    Examples
    --------
    >>> plain_notes([(BOLD, "best value"), ("†", "differs from A"), ("", "one run each")])
    ['bold: best value', '† differs from A', 'one run each']
    """
    return [f"{sign}: {text}" if sign == BOLD else f"{sign} {text}".lstrip() for sign, text in notes]


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


def _latex_cell(cell: Cell, siunitx: bool) -> str:
    """Return a cell; siunitx reads the number, and the text before and after it."""
    if siunitx:
        if not re.fullmatch(r"-?[\d.]+", cell.text):
            return f"{{{escaped_latex(cell.text)}}}"
        number = rf"{cell.text} \pm {cell.deviation}" if cell.deviation else cell.text
        return (r"\bfseries " if cell.is_best else "") + f"{number} {_raised_latex(cell.mark)}".rstrip()
    text = escaped_latex(cell.text)
    text = (rf"\textbf{{{text}}}" if cell.is_best else text) + _raised_latex(cell.mark)
    text += rf" {{\scriptsize$\pm${cell.deviation}}}" if cell.deviation else ""
    return f"{text} {escaped_latex(cell.interval)}" if cell.interval else text


def _s_column(column: Column) -> str:
    """Return a column of type S that has room for the widest of the numbers.

    Examples
    --------
    >>> _s_column(Column("MRR", [Cell("0.25", deviation="0.01"), Cell("-12.50"), Cell("-")]))
    'S[table-format=-2.2(3)]'
    """
    numbers = [cell.text for cell in column.cells if cell.text != "-"] or ["0"]
    integers = max(len(number.lstrip("-").partition(".")[0]) for number in numbers)
    decimals = max(len(number.partition(".")[2]) for number in numbers)
    deviations = [len(cell.deviation.replace(".", "")) for cell in column.cells if cell.deviation]
    sign = "-" if any(number.startswith("-") for number in numbers) else ""
    digits = f"{integers}.{decimals}" if decimals else f"{integers}"
    return f"S[table-format={sign}{digits}{f'({max(deviations)})' if deviations else ''}]"


def _latex_groups(table: Table) -> list[str]:
    """Return the row of groups and the rules below it; nothing if no column has a group."""
    heads, rules, place = [], [], 1
    for group, columns in groupby(table.texts, key=lambda column: column.group):
        n = len(list(columns))
        heads += [rf"\multicolumn{{{n}}}{{c}}{{{escaped_latex(group)}}}"] if group else [""] * n
        rules += [rf"\cmidrule(lr){{{place}-{place + n - 1}}}"] if group else []
        place += n
    return [*_latex_lines([heads]), "".join(rules)] if rules else []


def _latex_lines(rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [" & ".join(row) + r" \\" for row in rows]
    return ["{}" + line if line.startswith(("[", "*", "(")) else line for line in lines]
