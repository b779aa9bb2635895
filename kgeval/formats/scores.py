"""Read tables of scored triples: tab-separated text with ``s<TAB>p<TAB>o<TAB>score`` on each line.

Users and the command line call `read_scores` before `kgeval.evaluate_scores`; `kgeval.trec` uses `NUMBER`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from kgeval.base.checks import Scores, cut_label, names_unknown_arguments
from kgeval.data.column_names import named_columns
from kgeval.errors import DataError
from kgeval.formats.text_tables import first_labels, read_columns

NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI]nf(inity)?)"
INTEGER = r"[+-]?[0-9]+"
MAX_EXACT = 2**53  # float64 represents all integers up to this value exactly; 2**53 + 1 becomes 2**53


@names_unknown_arguments(file="path=")
def read_scores(path: str | Path, *, header: bool | None = None, columns: str | None = None) -> pd.DataFrame:
    """Read a table of scored triples, for `kgeval.evaluate_scores`.

    Parameters
    ----------
    path : str or path
        Each line is ``subject<TAB>relation<TAB>object<TAB>score``; labels as in `read_dataset`. If the first line
        names the columns, there may be further columns after the third, such as ``time``.
    header : bool, optional
        Whether the first line names the columns; see `read_dataset`. By default, a first line whose fourth label is
        ``score``, in upper or lower case, is a header. A header with another fourth name raises an error.
    columns : str, optional
        The order of the first three columns; see `read_dataset`.

    Returns
    -------
    pandas.DataFrame
        Columns s, p, o (str), the further columns (str) and score, one row per line. Scores are float64. If float64
        would round a score (an integer above 2**53), all scores are int64 or uint64.

    Raises
    ------
    DataError
        If a line does not have four columns or a score is not a number; the message names file and line. A DataError is
        also raised if a header gives the fourth column another name than ``score``, and if float64 would round a score
        but not all scores are integers of at most 64 bits.
    """
    file = Path(path)
    names = [name.strip() for name in first_labels(file)[3:]]
    if len(names) > 1 and [name.lower() for name in names].count("score") == 1 and header is not False:
        header = True
    else:
        header, names = _has_header(file, header), ["score"]
    s, p, o, *rest = read_columns(file, n_columns=3 + len(names), header=header, last=names, columns=columns)
    further = {name: column for name, column in zip(names, rest) if name.lower() != "score"}
    score = next(column for name, column in zip(names, rest) if name.lower() == "score")
    texts = pd.Series(np.asarray(score.categories, dtype=object))  # (categories,): the distinct score texts
    is_number = texts.str.fullmatch(NUMBER)
    # numbers, (categories,): the number of each text; NaN if the text is not a number. values, (lines,): the number
    # of each line.
    numbers = np.array([float(text) if ok else np.nan for text, ok in zip(texts, is_number)])
    values = numbers[score.codes]
    # Set to NaN also if a finite number is too great for float64: the value is infinite, but the text is not "inf".
    values = np.where(
        np.isinf(values) & ~texts.str.contains("inf", case=False).to_numpy(dtype=bool)[score.codes], np.nan, values
    )
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise DataError(
            f"{file}, line {row + 1 + bool(header)}: expected a number as score, found {cut_label(str(score[row]))!r}"
        )
    rounded = [i for i in np.flatnonzero(np.abs(numbers) >= MAX_EXACT) if _is_rounded(texts[i], numbers[i])]
    if rounded:
        row = int(np.flatnonzero(np.isin(score.codes, rounded))[0])
        values = _as_integers(texts, f"{file}, line {row + 1 + bool(header)}: score {str(score[row])!r}")[score.codes]
    labels = {name: np.asarray(column, dtype=object) for name, column in (*zip("spo", (s, p, o)), *further.items())}
    return pd.DataFrame({**labels, "score": values})


def is_scores(file: str | Path) -> bool:
    """Return whether a file is a table of scored triples: four columns, the last is named score or has decimals.

    A fourth column of integers without a header may be a time, so it does not count.

    Parameters
    ----------
    file : str or path
    """
    try:
        labels = first_labels(file)
        if len(labels) != 4:
            return False
        scores = read_scores(file)["score"]
    except DataError:
        return False
    return labels[3].strip().lower() == "score" or bool((scores % 1 != 0).any())


def has_named_header(file: str | Path) -> bool:
    """Return whether the first line of a file names the columns s, p and o with names that kgeval knows.

    Parameters
    ----------
    file : str or path
        Tab-separated text; the names are those of `kgeval.data.column_names.COLUMN_NAMES`.
    """
    return named_columns(f"{file}, line 1", first_labels(file)[:3]) is not None


def _has_header(file: Path, header: bool | None) -> bool | None:
    """Return whether the first line of a table is a header; None if `read_columns` must decide.

    Raise a DataError if a header gives the fourth column another name than score.
    """
    labels = first_labels(file)
    if header is False or len(labels) != 4 or not labels[3]:
        return header
    if labels[3].strip().lower() == "score":
        return True
    is_number = re.fullmatch(NUMBER, labels[3]) is not None
    if header or (not is_number and named_columns(f"{file}, line 1", labels[:3]) is not None):
        remedy = "use header=False if the line is a triple" if is_number else "rename it if higher values are better"
        raise DataError(
            f"{file}, line 1: expected a header whose fourth name is score; got {cut_label(labels[3])!r}; {remedy}"
            + ("" if is_number else ", else negate its numbers first")
        )
    return False if is_number and header is None else header  # a line with a number as score is a triple


def _is_rounded(text: str, number: float) -> bool:
    """Return whether `text` is an integer that differs from `number`, the nearest float64."""
    return np.isfinite(number) and re.fullmatch(INTEGER, text) is not None and Decimal(text) != Decimal(number)


def _as_integers(texts: pd.Series, place: str) -> Scores:
    """Return the scores as one int64 or uint64 array; raise a DataError if neither dtype can hold all scores.

    `place` is the start of the message: the file, a line, and the score of this line, which float64 would round.
    """
    if texts.str.fullmatch(INTEGER).all():
        integers = [int(Decimal(text)) for text in texts]
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= min(integers) and max(integers) <= np.iinfo(dtype).max:
                return np.array(integers, dtype=dtype)
    raise DataError(
        f"{place} is an integer that float64 would round, so that different scores could tie; kgeval reads it exactly "
        "only if all scores of the file are integers of 64 bits. Write all scores as such integers, or all as decimals"
    )
