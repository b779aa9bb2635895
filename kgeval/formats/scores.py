"""Reader of tables of scored triples: tab-separated text with ``s<TAB>p<TAB>o<TAB>score`` on each line.

Users and the command line call `read_scores` before `kgeval.evaluate_scores`; the reader of TREC runs uses `NUMBER`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kgeval.errors import DataError
from kgeval.formats.datasets.tab_folder import read_columns

NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI]nf(inity)?)"


def read_scores(file: str | Path, *, header: bool = False) -> pd.DataFrame:
    """Read a table of scored triples, for `kgeval.evaluate_scores`.

    Parameters
    ----------
    file : str or path
        Each line is ``subject<TAB>relation<TAB>object<TAB>score``; labels as in `read_dataset`.
    header : bool
        Whether the first line names the columns.

    Returns
    -------
    pandas.DataFrame
        Columns s, p, o (str) and score (float64), one row per line.

    Raises
    ------
    DataError
        If a line does not have four columns or a score is not a number; the message names file and line.
    """
    s, p, o, score = read_columns(file, n_columns=4, header=header)
    texts = pd.Series(np.asarray(score.categories, dtype=object))  # (categories,): the distinct score texts
    is_number = texts.str.fullmatch(NUMBER)
    # values, (lines,): the score of each line; NaN where the text is not a number.
    values = np.array([float(text) if ok else np.nan for text, ok in zip(texts, is_number)])[score.codes]
    # Also NaN where a finite number is too great for float64: the value is infinite, but the text is not "inf".
    values = np.where(
        np.isinf(values) & ~texts.str.contains("inf", case=False).to_numpy(dtype=bool)[score.codes], np.nan, values
    )
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise DataError(f"{file}, line {row + 1 + header}: expected a number as score, found {str(score[row])!r}")
    columns = {name: np.asarray(column, dtype=object) for name, column in zip("spo", (s, p, o))}
    return pd.DataFrame({**columns, "score": values})
