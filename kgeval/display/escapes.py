"""Labels and sentences escaped for Markdown, LaTeX and spreadsheets."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from kgeval.base.wording import printable

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
    >>> print(latex_note("differs from A_1, p <= 0.05 (Holm)"))
    differs from A\\_1, $p \\leq 0.05$ (Holm)
    """
    parts = re.split(r"p (<=|>) ([\d.]+(?:e-\d+)?)", text)
    signs = {"<=": r"\leq", ">": ">"}
    shown = [escaped_latex(parts[0])]
    for sign, level, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
        shown += [f"$p {signs[sign]} {level}$", escaped_latex(rest)]
    return "".join(shown).replace("±", r"$\pm$")


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
