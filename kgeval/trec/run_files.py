"""Readers of judgements (qrels) and runs in the TREC format: one document per line, columns separated by blanks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from kgeval.base.files import check_no_nul, encoding_error, one_line_end, read_bytes
from kgeval.errors import DataError
from kgeval.formats.scores import NUMBER

GRADE = r"[+-]?[0-9]{1,18}"
_QRELS = ("query", "iteration", "document", "grade", "more")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")
_COMMENT = re.compile(rb"^[ \t]*#.*$", re.M)


def read_qrels(file: str | Path) -> pd.DataFrame:
    """Read relevance judgements: each line holds ``query iteration document grade``.

    Parameters
    ----------
    file : str or path
        UTF-8, columns separated by blanks or tabs. Names of queries and documents are read as strings, unchanged;
        the iteration is ignored. A byte order mark and CRLF or CR line ends are accepted. Empty lines and lines
        that start with ``#`` are ignored.

    Returns
    -------
    pandas.DataFrame
        Columns query, item (str) and grade (int64), one row per line. As in trec_eval, a negative grade means that
        the document is not judged.

    Raises
    ------
    DataError
        If a line does not have four columns, if a grade is not an integer, or if a document occurs twice for the same
        query (the message names file and line). Also if the file is missing or empty, or if it is not UTF-8.
    """
    path = Path(file)
    raw = _read_without_comments(path)
    frame = _parse_lines(path, raw, _QRELS)
    codes, texts = pd.factorize(frame["grade"])
    is_integer = [re.fullmatch(GRADE, text) is not None for text in texts]
    if not all(is_integer) or (frame["more"] != "").any() or frame.duplicated(["query", "document"]).any():
        _check_lines(path, raw, _judgement_error)
    grades = np.array([int(text) if ok else 0 for text, ok in zip(texts, is_integer)], dtype=np.int64)[codes]
    return pd.DataFrame({"query": frame["query"], "item": frame["document"], "grade": grades})


def read_run(file: str | Path) -> tuple[pd.DataFrame, str]:
    """Read the run of a retrieval system: each line holds ``query Q0 document rank score tag``.

    Parameters
    ----------
    file : str or path
        As in `read_qrels`. The rank is ignored: higher scores come first. Text after the tag is ignored, as in
        trec_eval.

    Returns
    -------
    run : pandas.DataFrame
        Columns query, item (str) and score (float64), one row per line.
    tag : str
        The tag of the last line.

    Raises
    ------
    DataError
        If a line has fewer than six columns, if a score is NaN or not a number (trec_eval would read it as 0), or if a
        document occurs twice for the same query (the message names file and line). Also if the file is missing or
        empty, or if it is not UTF-8.
    """
    path = Path(file)
    raw = _read_without_comments(path)
    frame = _parse_lines(path, raw, _RUN)
    texts = frame["score"].to_numpy(dtype=object)
    try:
        scores = texts.astype(np.float64)
    except ValueError:
        scores = np.full(len(texts), np.nan)
    # float() also accepts 1_000 and digits of other scripts, and reads 1e999 as infinity; all three are errors here.
    joined = "".join(texts)
    is_odd = not np.isfinite(scores).all() or "_" in joined or not joined.isascii()
    if is_odd or (frame["tag"] == "").any() or frame.duplicated(["query", "document"]).any():
        _check_lines(path, raw, _result_error)
    run = pd.DataFrame({"query": frame["query"], "item": frame["document"], "score": scores})
    return run, str(frame["tag"].iloc[-1])


def _read_without_comments(path: Path) -> bytes:
    """Return the bytes of a file with LF line ends and without byte order mark; comment lines become empty lines."""
    raw = one_line_end(read_bytes(path))
    raw = _COMMENT.sub(b"", raw) if b"#" in raw else raw
    check_no_nul(path, raw)
    return raw


def _parse_lines(path: Path, raw: bytes, columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the columns that kgeval uses, as strings; if a line has too few columns, the missing ones are empty."""
    header = " ".join(columns).encode() + b"\n"  # pandas counts the columns of this line
    used = [name for name in columns if name not in ("iteration", "Q0", "rank")]
    try:
        frame = pd.read_csv(
            io.BytesIO(header + raw),
            sep=r"\s+",
            header=0,
            usecols=used,
            index_col=False,
            dtype=str,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            low_memory=False,
            encoding="utf-8",
        )
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    if not len(frame):
        raise DataError(f"{path}: the file is empty; expected lines of {' '.join(columns).removesuffix(' more')}")
    return frame


def _check_lines(path: Path, raw: bytes, error_of: Callable[[list[str]], str]) -> None:
    """Raise a DataError for the first wrong line.

    A line is wrong if `error_of` returns an error for it, or if an earlier line has the same query and document.
    """
    seen: dict[tuple[str, str], int] = {}
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.replace("\t", " ").split(" ")
        words = [word for word in words if word]
        if not words:
            continue
        error = error_of(words)
        if error:
            raise DataError(f"{path}, line {number}: {error}: {line[:80]!r}")
        first = seen.setdefault((words[0], words[2]), number)
        if first != number:
            raise DataError(
                f"{path}, line {number}: document {words[2]!r} of query {words[0]!r} is already on line {first}; "
                "keep one"
            )


def _judgement_error(words: list[str]) -> str:
    """Return the error in a line of judgements; empty if the line is right."""
    if len(words) != 4:
        hint = "; is this a run?" if len(words) >= 6 else ""
        return f"expected 4 columns (query, iteration, document, grade), found {len(words)}{hint}"
    if re.fullmatch(GRADE, words[3]):
        return ""
    is_long = re.fullmatch(r"[+-]?[0-9]+", words[3])
    return f"expected {'a grade of at most 18 digits' if is_long else 'an integer as grade'}, found {words[3]!r}"


def _result_error(words: list[str]) -> str:
    """Return the error in a line of a run; empty if the line is right."""
    if len(words) < 6:
        hint = "; are these judgements?" if len(words) == 4 else ""
        return f"expected 6 columns (query, Q0, document, rank, score, tag), found {len(words)}{hint}"
    is_number = re.fullmatch(NUMBER, words[4]) and (np.isfinite(float(words[4])) or "inf" in words[4].lower())
    return "" if is_number else f"expected a number as score, found {words[4]!r}"
