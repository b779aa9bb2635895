"""Text of table cells: numbers with the decimals of their metric, and labels escaped for Markdown and LaTeX.

`kgeval.report.tables` and the tables of `kgeval.benchmarks` call these functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.markup import printable
from kgeval.metrics.grammar import display_of

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")
_LATEX = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",  # in LaTeX's default fonts, unescaped < | > print as other characters
    "|": r"\textbar{}",
    ">": r"\textgreater{}",
    "^": r"\textasciicircum{}",
}
_NUMBERS = re.compile(r"-?[\d.]+|\[-?[\d.]+, -?[\d.]+\]|-?[\d.]+ \[-?[\d.]+, -?[\d.]+\]")


def is_count(column: str, value: float) -> bool:
    """Return whether a number of a table is a count, which has no decimals.

    Parameters
    ----------
    column : str
    value : float
    """
    return column == "n" or isinstance(value, (int, np.integer))


def number_text(column: str, value: float | str, digits: int | None = None) -> str:
    """Return a value of a table as text; a dash if it is NaN.

    Parameters
    ----------
    column : str
        The key of a metric, or another column.
    value : float or str
    digits : int, optional
        Number of decimals; by default that of the metric, and 1 for values of 100 and more.

    Examples
    --------
    >>> number_text("mrr", 0.25), number_text("mr", 123.456), number_text("mr", float("nan")), number_text("n", 3.0)
    ('0.2500', '123.5', '-', '3')
    """
    if isinstance(value, str):
        return printable(value)
    if math.isnan(value):
        return "-"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if is_count(column, value):
        return str(int(value))
    if digits is None:
        digits = 1 if abs(value) >= 100 else display_of(column).decimals
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text  # no -0.00


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


def escaped_note(style: str, text: str) -> str:
    """Return a note below a table, escaped; in LaTeX, a statement about p is a formula.

    Parameters
    ----------
    style : str
        ``"latex"`` or ``"markdown"``.
    text : str

    Examples
    --------
    >>> print(escaped_note("latex", "differs from A_1, p <= 0.05 (Holm)"))
    differs from A\\_1, $p \\leq 0.05$ (Holm)
    """
    if style != "latex":
        return escaped_markdown(text)
    parts = re.split(r"p (<=|>) ([\d.]+(?:e-\d+)?)", text)
    signs = {"<=": r"\leq", ">": ">"}
    shown = [escaped_latex(parts[0])]
    for sign, level, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
        shown += [f"$p {signs[sign]} {level}$", escaped_latex(rest)]
    return "".join(shown)


def markdown_lines(header: Sequence[str], rows: Sequence[Sequence[str]], n_labels: int) -> list[str]:
    """Return the lines of a Markdown table; labels stand to the left, numbers to the right.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequences of str
        Escaped cells.
    n_labels : int
        The number of columns that hold labels.

    Examples
    --------
    >>> markdown_lines(["model", "MRR"], [["A", "0.5"]], 1)
    ['| model | MRR |', '| --- | ---: |', '| A | 0.5 |']
    """
    rule = ["---"] * n_labels + ["---:"] * (len(header) - n_labels)
    return ["| " + " | ".join(row) + " |" for row in (header, rule, *rows)]


def latex_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of the rows of a LaTeX table.

    LaTeX would read a bracket or a star at the start of a line as an argument of the command before it; such a line
    starts with ``{}``.

    Parameters
    ----------
    rows : sequence of sequences of str
        Escaped cells.

    Examples
    --------
    >>> latex_rows([["A", "1"], ["*", "2"]])
    ['A & 1 \\\\\\\\', '{}* & 2 \\\\\\\\']
    """
    lines = [" & ".join(row) + r" \\" for row in rows]
    return ["{}" + line if line.startswith(("[", "*", "(")) else line for line in lines]


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before each label that a spreadsheet would read as a formula.

    Parameters
    ----------
    frame : pandas.DataFrame
        Not modified. The labels are in the index, in the columns and in the headings; numbers stay as they are. See
        `format_csv` for the characters.

    Examples
    --------
    >>> index = pd.Index(["-x", "y"], name="=1+1")
    >>> print(without_formulas(pd.DataFrame({"@sum": [-0.5, 1.0]}, index=index)).to_csv(), end="")
    '=1+1,'@sum
    '-x,-0.5
    y,1.0
    """
    levels = [frame.index.get_level_values(i) for i in range(frame.index.nlevels)]
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    index = [pd.Index([_without_formula(label) for label in level], dtype=object) for level in levels]
    safe = {i: [_without_formula(value) for value in column] for i, column in enumerate(columns)}
    names = [_without_formula(name) for name in frame.index.names]
    new_index = pd.MultiIndex.from_arrays(index, names=names) if len(index) > 1 else index[0].rename(names[0])
    return pd.DataFrame(safe, index=new_index, dtype=object).set_axis(
        [_without_formula(name) for name in frame.columns], axis=1
    )


def _without_formula(value: Any) -> Any:
    return "'" + value if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
