"""Read the columns of text files, such as tab-separated text and CSV: check each line, keep labels as they are written.

`kgeval.formats.triple_tables` reads the files of datasets with `read_text`; the readers of scores and of candidates
call `read_columns`. Both read packed files (``train.txt.gz``) too.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from kgeval.base.checks import Ids
from kgeval.base.files import check_no_nul, encoding_error, one_line_end, read_bytes, text_bytes
from kgeval.base.limits import check_lines
from kgeval.data.column_names import (
    COLUMN_NAMES,
    ColumnChoice,
    check_columns,
    check_roles,
    chosen_columns,
    named_columns,
    parse_columns,
    proposed_columns,
)
from kgeval.data.frames import as_labels
from kgeval.errors import DataError
from kgeval.formats.unpacking import PACKED, open_packed, plain_name

WHITESPACE = "whitespace"  # stands for any number of spaces and tabs
SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " "}
SEPARATED = {
    "\t": "tab-separated",
    ",": "comma-separated",
    ";": "semicolon-separated",
    " ": "space-separated",
    WHITESPACE: "whitespace-separated",
}
SEPARATOR_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}
SAMPLE_BYTES = 1 << 16  # `_check_commas` examines only this many bytes
# A first line is a header if its labels consist of these words, digits and punctuation: "head_id", "#source", ":TYPE".
HEADER_WORDS = re.compile(
    "s|p|o|h|r|t|subj|subject|pred|predicate|obj|object|head|rel|relation|relationship|tail|source|target|src|tgt|dst|"
    "dest|from|to|start|end|entity|ent|node|ids?|name|label|type|property|prop|edge|uri|iri|lhs|rhs|col|column"
)
IS_IT_A_HEADER = "use header=True (--header) if it is one, header=False (--no-header) if it is a triple"
N_TRIPLE = re.compile(rb'(<[^>\t]*>|_:\S+)[ \t]+<[^>\t]*>[ \t]+(<|_:|").*\.[ \t\r]*')
TRUTH_LABELS = ({"1": True, "-1": False}, {"1": True, "0": False}, {"true": True, "false": False})
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_LATE_QUOTE = re.compile(r'[ \t]+"[^"]+"[ \t]*$')
_MAX_N_TRIPLE = 100_000  # only this many bytes of a line are examined
_ROWS = 1 << 16  # rows of quoted text that are turned into codes at a time


class TextTable(NamedTuple):
    """The columns of a text file; see `read_text`.

    Parameters
    ----------
    labels : list of three pandas.Categorical of str, shape (rows,)
        Subjects, relations and objects.
    further : dict of str to pandas.Categorical of str
        The other columns by name. Each row has a text, which may be empty.
    ignored : list of str
        The columns that are not read because they have no name, in words: ``"column 4 (without a name)"``.
    positions : list of three int
        The positions of the columns of subjects, relations and objects in the file.
    top : int
        The line number of the first row.
    """

    labels: list[pd.Categorical]
    further: dict[str, pd.Categorical]
    ignored: list[str]
    positions: list[int]
    top: int


@dataclass(frozen=True)
class _Text:
    """The content of a text file.

    Parameters
    ----------
    path : Path
    raw : bytes
        The text, in which each line ends in LF or CRLF and the last line is not empty. If `is_quoted`, the line ends
        are those of the file. If the separator is `WHITESPACE`, one tab replaces each separator.
    is_as_on_disk : bool
        Whether `raw` equals the bytes on disk.
    separator : str
        One character, or `WHITESPACE`.
    is_quoted : bool
        Whether a label may be in double quotes (RFC 4180).
    """

    path: Path
    raw: bytes
    is_as_on_disk: bool
    separator: str
    is_quoted: bool

    @property
    def byte(self) -> str:
        """The separator of the columns in `raw`."""
        return "\t" if self.separator == WHITESPACE else self.separator

    def reader(self) -> Any:
        """Return a CSV reader that splits the rows by the rules of RFC 4180."""
        try:
            text = self.raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.encoding_error() from None
        return csv.reader(io.StringIO(text, newline=""), delimiter=self.separator, strict=True)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the labels of each row, split by the rules of RFC 4180."""
        reader = self.reader()
        number = 1
        try:
            for row in reader:
                yield number, row
                number = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{self.path}, line {number}: the double quotes of a label are not closed, or text follows them "
                f"({error}); a label that contains double quotes must be in double quotes, with its own quotes doubled"
            ) from error

    def encoding_error(self) -> DataError:
        """Return the error about a text that is not UTF-8."""
        is_packed = self.path.suffix.lower() in PACKED
        return encoding_error(self.path, open_packed(self.path) if is_packed else None)

    def first(self) -> list[str]:
        """Return the labels of the first row."""
        if self.is_quoted:
            return next(self.rows())[1]
        line = self.raw.split(b"\n", 1)[0]
        return line.decode("utf-8", "replace").removesuffix("\r").split(self.byte)


def read_text(
    file: str | Path,
    *,
    header: bool | None = None,
    columns: str | Sequence[str] | None = None,
    sep: str | None = None,
    last: str = "",
) -> TextTable:
    """Read a text file with one triple on each line; further columns are read if they have names.

    Parameters
    ----------
    file : str or path
    header, columns, sep : optional
        See `kgeval.read_dataset`.
    last : str
        The name to give to a fourth column without a name; the labels of this column must not be empty. By default, a
        fourth column without a name raises an error.

    Returns
    -------
    TextTable

    Raises
    ------
    DataError
        If a line has one of the faults that `kgeval.read_dataset` lists; the message names file and line.
    """
    path = Path(file)
    choice = None if columns is None else parse_columns(columns)
    has_header = bool(header) or (choice is not None and choice.is_by_name)
    if last and choice is None and not has_header:
        choice = ColumnChoice(("s", "p", "o", last), (0, 1, 2))
    elif last and choice is not None and not choice.is_by_name and len(choice.names) == 3:
        choice = ColumnChoice((*choice.names, last), choice.positions)
    text = _text_of(path, sep)
    names, required = ["s", "p", "o"], [0, 1, 2]
    if choice is not None and choice.positions is not None:
        names = [*choice.names] if len(choice.names) > 3 else names
        required = list(choice.positions)
    elif has_header:
        first = text.first()
        names = first if len(first) > 3 else names
        chosen = None if choice is None else [first.index(name) for name in choice.names if name in first]
        required = chosen or named_columns(f"{path}, line 1", first) or [0, 1, 2]
    labels = _labels(text, names, range(len(names)) if last else required)
    positions, further = _layout(path, labels, header, choice)
    _check_no_final_dot(path, [labels[i] for i in sorted(positions)])
    if has_header:
        labels = [column[1:].remove_unused_categories() for column in labels]
        if not len(labels[0]):
            raise DataError(f"{path}: no triples below the header line")
    return TextTable(
        [labels[i] for i in positions],
        {name: labels[i] for name, i in further.items() if name},
        [f"column {i + 1} (without a name)" for name, i in further.items() if not name],
        positions,
        2 if has_header else 1,
    )


def read_columns(
    file: str | Path,
    n_columns: int = 3,
    header: bool | None = None,
    last: str | Sequence[str] = "score",
    columns: str | None = None,
) -> list[pd.Categorical]:
    """Read a tab-separated file with the same number of labels on each line.

    Parameters
    ----------
    file : str or path
    n_columns : int
        The number of labels on each line, at least 3; the first three are s, p and o.
    header : bool, optional
        Whether the first line names the columns; see `kgeval.read_dataset`.
    last : str or sequence of str
        The names of the columns after the third in messages.
    columns : str, optional
        The order of the first three columns: letters, as in `kgeval.read_dataset`.

    Returns
    -------
    list of pandas.Categorical of str, one per column, shape (lines,)

    Raises
    ------
    DataError
        If a line has one of the faults that `kgeval.read_dataset` lists; the message names file and line.
    """
    path = Path(file)
    if columns is not None:
        check_columns(columns)  # raises an error if `columns` holds names: only files of datasets may have them
    choice = None if columns is None else parse_columns(columns)
    names = ["s", "p", "o", *([last] if isinstance(last, str) else last)][:n_columns]
    labels = _labels(_text_of(path, "\t"), names, range(n_columns))
    positions, _ = _layout(path, labels[:3], header, choice)
    if header:
        labels = [column[1:].remove_unused_categories() for column in labels]
        if not len(labels[0]):
            raise DataError(f"{path}: no triples below the header line")
    return [*(labels[i] for i in positions), *labels[3:]]


def first_labels(file: str | Path, sep: str | None = "tab") -> list[str]:
    """Return the labels of the first line of a text file, for example to recognise a header.

    Parameters
    ----------
    file : str or path
    sep : str, optional
        See `kgeval.read_dataset`.
    """
    return _text_of(Path(file), sep).first()


def check_separator(sep: str) -> str:
    """Return the separator that the option `sep` means: one character, or `WHITESPACE`.

    Parameters
    ----------
    sep : str
        One ASCII character that is no letter, digit or double quote; or one of the words tab, comma, space and
        whitespace.

    Raises
    ------
    DataError
        If `sep` is none of these.

    Examples
    --------
    >>> check_separator("tab"), check_separator(";")
    ('\\t', ';')
    """
    if sep == WHITESPACE:
        return sep
    character = SEPARATOR_NAMES.get(sep, sep)
    is_one = isinstance(character, str) and len(character) == 1 and character.isascii() and not character.isalnum()
    if not is_one or character in '"\r\n\0':
        raise DataError(
            "sep must be one ASCII character, such as ',' or ';', or one of the words tab, comma, space and whitespace "
            f"(any number of spaces and tabs); got {sep!r}"
        )
    return character


def header_advice(path: Path, first: Sequence[str]) -> str:
    """Return advice for the user about a first line that looks like a header.

    Parameters
    ----------
    path : Path
        The file, for messages.
    first : sequence of str
        The labels of the line.
    """
    if named_columns(f"{path}, line 1", first) is not None:
        return "use header=True (--header)"
    names = proposed_columns(first)
    return IS_IT_A_HEADER + (
        f"; for a header, columns={names!r} (--columns {names}) is enough: the columns of subject, relation, object"
        if names
        else ""
    )


def _layout(
    path: Path, labels: Sequence[pd.Categorical], header: bool | None, choice: ColumnChoice | None
) -> tuple[list[int], dict[str, int]]:
    """Return the positions of s, p and o among the columns, and the names and positions of the further columns.

    Parameters
    ----------
    path : Path
        The file, for messages.
    labels : list of pandas.Categorical of str, shape (lines,)
        The columns, including the first line.
    header : bool, optional
        See `kgeval.read_dataset`.
    choice : ColumnChoice, optional
        The option ``columns=`` of the user.

    Raises
    ------
    DataError
        If the first line contradicts `header` or `choice`, if it looks like a header and `header` is None, or if it is
        a header with unknown names and `choice` is None.
    """
    first = [str(column[0]) for column in labels]
    shown = ", ".join(first)
    if choice is not None and choice.is_by_name:
        if header is False:
            raise DataError(
                f"{path}: columns={choice} names the columns of a header, but header=False (--no-header) says that "
                "there is no header; say the order of the columns: columns='hrt' or 'htr' (--columns hrt)"
            )
        positions = chosen_columns(f"{path}, line 1", first, choice)
        return positions, _further(path, first, positions)
    said = None if choice is None or choice.positions is None else list(choice.positions)
    positions = named_columns(f"{path}, line 1", first) or said or [0, 1, 2]
    is_known = named_columns(f"{path}, line 1", first) is not None
    if header and is_known and said not in (None, positions):
        raise DataError(f"{path}, line 1: columns={choice} contradicts the header ({shown}); leave one of them out")
    if header and not is_known:
        if said is None:
            known = "; ".join(", ".join(names) for names in COLUMN_NAMES)
            names = proposed_columns(first)
            by_name = f", or their names: columns={names!r} (--columns {names})" if names else ""
            raise DataError(
                f"{path}, line 1: expected a header such as {known}; got {shown}. Say the order of the columns: "
                f"columns='hrt' or 'htr' (--columns hrt){by_name}"
            )
        check_roles(f"{path}, line 1: columns={choice} contradicts the header ({shown})", first, said)
        s, p, o = ((labels[i].codes[1:] == labels[i].codes[0]).any() for i in said)
        if p and (s or o):
            raise DataError(
                f"{path}, line 1: looks like a triple, not like a header ({shown}): its labels occur below; "
                "use header=False (--no-header)"
            )
    if not header and is_known:
        raise DataError(f"{path}, line 1: looks like a header ({shown.lower()}); {header_advice(path, first)}")
    if header is None:
        triple = [labels[i] for i in positions]
        is_unique = not any((column.codes[1:] == column.codes[0]).any() for column in triple)
        if is_unique and _has_header_words([first[i] for i in positions]):
            raise DataError(f"{path}, line 1: looks like a header ({shown}); {header_advice(path, first)}")
    if choice is not None:
        return positions, choice.further
    return positions, _further(path, first, positions) if header else {}


def _further(path: Path, names: Sequence[str], positions: Sequence[int]) -> dict[str, int]:
    """Return the names and positions of the columns of a header that hold neither subject, relation nor object."""
    further = {name.strip(): i for i, name in enumerate(names) if i not in positions}
    repeated = [name.strip() for i, name in enumerate(names) if i not in positions and further[name.strip()] != i]
    if repeated:
        raise DataError(f"{path}, line 1: duplicate column {repeated[0]!r}; keep only one")
    return further


def _has_header_words(first: Sequence[str]) -> bool:
    """Return whether all labels of a line consist of words in `HEADER_WORDS`, and all labels differ."""
    for label in first:
        words = re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", label)
        if not any(words) or not all(HEADER_WORDS.fullmatch(word.lower()) for word in words if word):
            return False
    return len(set(first)) == len(first)


def _text_of(path: Path, sep: str | None) -> _Text:
    """Read a text file. The separator is `sep`; by default a comma for files named ``.csv``, else a tab."""
    is_csv = Path(plain_name(path)).suffix.lower() == ".csv"
    separator = check_separator(sep) if sep is not None else "," if is_csv else "\t"
    as_on_disk = read_bytes(path) if path.suffix.lower() not in PACKED else text_bytes(path, open_packed(path))
    check_lines(path, as_on_disk)
    raw = as_on_disk
    is_quoted = separator not in ("\t", WHITESPACE) and b'"' in raw
    if is_quoted:
        without = _without_quotes(raw, separator)
        raw, is_quoted = (raw, True) if without is None else (without, False)
    if not is_quoted and b"\r" in raw and _has_lone_return(raw):
        raw = one_line_end(raw)
    check_no_nul(path, raw)
    if separator == WHITESPACE:
        raw = re.sub(rb"^\t|\t(?=\r?$)", b"", re.sub(rb"[ \t]+", b"\t", raw), flags=re.MULTILINE)
    if not raw.endswith(b"\n") or raw.endswith((b"\n\n", b"\n\r\n")) or len(raw) < 3:
        raw = raw.rstrip(b"\r\n") + b"\n"
    if raw == b"\n":
        raise DataError(f"{path}, line 1: 0 triples; the file is empty")
    if is_csv and sep is None:
        _check_commas(path, raw)
    is_as_on_disk = raw is as_on_disk and path.suffix.lower() not in PACKED
    return _Text(path, raw, is_as_on_disk, separator, is_quoted)


def _without_quotes(raw: bytes, separator: str) -> bytes | None:
    """Return a CSV text without its double quotes; None if a label needs its quotes.

    Most programs put all labels in quotes. A label needs its quotes if it contains a quote, a separator or a line end.
    None is also returned if a quote is neither at the start nor at the end of a label.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) % 2 or (b"\r" in raw and _has_lone_return(raw)):
        return None
    is_end = (data == ord(separator)) | (data == _NEWLINE)
    opening, closing = quotes[::2], quotes[1::2]
    is_first, is_last = opening == 0, closing == len(data) - 1
    starts_label = is_first | is_end[opening - 1]
    after = np.where(is_last, _NEWLINE, data[np.where(is_last, 0, closing + 1)])
    ends_label = (after == ord(separator)) | (after == _NEWLINE) | (after == _RETURN)
    n_ends = np.cumsum(is_end)
    has_none_inside = n_ends[opening] == n_ends[closing]
    return data[data != _QUOTE].tobytes() if (starts_label & ends_label & has_none_inside).all() else None


def _check_commas(path: Path, raw: bytes) -> None:
    """Raise a DataError if another character than the comma may separate the columns of a CSV file.

    Such a character occurs equally often, at least twice, on each of the first lines.
    """
    lines = raw[:SAMPLE_BYTES].splitlines()
    lines = lines[: -1 if len(raw) > SAMPLE_BYTES else None]
    for other in "\t;|":
        counts = {line.count(other.encode()) for line in lines}
        if len(counts) == 1 and counts.pop() >= 2:
            line = lines[0].decode("utf-8", "replace")[:80]
            raise DataError(
                f"{path}, line 1: the columns may be separated by {other!r} instead of commas: {line!r}; say which: "
                f"sep={other!r} (--sep {_typed(other)}) or sep=',' (--sep ,)"
            )


def _typed(separator: str) -> str:
    """Return a separator as it is typed on the command line."""
    names = {"\t": "tab", " ": "space"}
    return names.get(separator, separator if separator in (",", WHITESPACE) else f"'{separator}'")


def _has_lone_return(raw: bytes) -> bool:
    """Return whether `raw` contains a CR without an LF after it; `raw` must contain at least one CR."""
    data = np.frombuffer(raw, dtype=np.uint8)
    returns = np.flatnonzero(data == _RETURN)  # the positions of the carriage returns
    return bool(returns[-1] == len(data) - 1 or (data[returns + 1] != _NEWLINE).any())


def _labels(text: _Text, names: Sequence[str], required: Sequence[int]) -> list[pd.Categorical]:
    """Check all lines of a text, and return its columns, including the first line.

    Each line has one label for each of `names`; the labels in the columns `required` are not empty.
    """
    if text.is_quoted:
        return _quoted_labels(text, names, required)
    source = text.path if text.is_as_on_disk else io.BytesIO(codecs.BOM_UTF8 + text.raw)
    # The lines are checked first: the errors name the line, and pandas is slow on lines of very many columns.
    n_lines = _count_lines(text, names, required)
    try:
        labels = _parse(source, len(names), text.byte)
    except UnicodeDecodeError:
        raise text.encoding_error() from None
    if len(labels[0]) != n_lines:
        raise DataError(f"{text.path}: {n_lines} lines were counted, {len(labels[0])} were read; did the file change?")
    return labels


def _parse(source: Path | io.BytesIO, n_columns: int, separator: str) -> list[pd.Categorical]:
    """Parse the columns into categoricals of strings.

    With the dtype "category", pandas creates each distinct label only once, which halves the time. But if all labels of
    a column look like numbers or booleans, pandas converts them; then this column is read again as strings.
    """

    def read(dtype: str, columns: list[int] | None = None) -> pd.DataFrame:
        return pd.read_csv(
            source,
            sep=separator,
            header=None,
            names=list(range(n_columns)),
            usecols=columns,
            dtype=dtype,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            skip_blank_lines=False,
            low_memory=False,
            encoding="utf-8",
        )

    frame = read("category")
    columns = [frame[i].array for i in range(n_columns)]
    converted = [i for i in range(n_columns) if infer_dtype(columns[i].categories, skipna=False) != "string"]
    if converted:
        if isinstance(source, io.BytesIO):
            source.seek(0)
        frame = read("str", converted)
    for i in converted:
        columns[i] = as_labels(str(source), frame[i].to_numpy(dtype=object), i)
    return columns


def _count_lines(text: _Text, names: Sequence[str], required: Sequence[int]) -> int:
    """Return the number of lines; raise a DataError if a line lacks a column or a required label is empty.

    A fast check looks at all bytes at once. Only if this check fails, a loop over the lines looks for the first wrong
    line, which the error names.
    """
    raw, n_columns = text.raw, len(names)
    _check_not_n_triples(text.path, raw)
    data = np.frombuffer(raw, dtype=np.uint8)
    separator = ord(text.byte)
    ends = np.flatnonzero((data == separator) | (data == _NEWLINE))  # (labels,): where each label ends
    # (n_columns,): the separators of a correct line
    separators = np.array([separator] * (n_columns - 1) + [_NEWLINE], dtype=np.uint8)
    if len(ends) % n_columns == 0 and (data[ends].reshape(-1, n_columns) == separators).all():
        lengths = np.diff(ends, prepend=-1) - 1  # (labels,): bytes in each label and, at a CRLF line end, its CR
        # No label is empty if all lengths are 2 or more, or if all are 1 or more without the CR.
        if lengths.min() > 1:
            return len(ends) // n_columns
        is_empty = (lengths - (data[ends - 1] == _RETURN) < 1).reshape(-1, n_columns)
        if not is_empty[:, list(required)].any():
            return len(is_empty)
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), start=1):
        line = line.removesuffix("\r")
        _check_row(text, number, line.split(text.byte) if line else [], line, names, required)
    raise AssertionError("unreachable: every line is right")


def _check_row(
    text: _Text, number: int, labels: Sequence[str], line: str, names: Sequence[str], required: Sequence[int]
) -> None:
    """Raise a DataError if a row has the wrong number of labels, or if a required label is empty."""
    if len(labels) != len(names):
        kind = SEPARATED.get(text.separator, f"{text.separator!r}-separated")
        raise DataError(
            f"{text.path}, line {number}: expected {len(names)} {kind} columns ({', '.join(names)}), "
            f"found {len(labels)}: {line[:80]!r}{_hint(text, number, labels, line, names)}"
        )
    empty = [i for i in range(len(labels)) if not labels[i] and i in required]
    if empty:
        raise DataError(f"{text.path}, line {number}: column {empty[0] + 1} is empty: {line[:80]!r}")


def _hint(text: _Text, number: int, labels: Sequence[str], line: str, names: Sequence[str]) -> str:
    """Return advice for the user about a line with the wrong number of labels."""
    if len(labels) == 1:
        for other in ("\t", ",", ";", "|", " "):
            if other != text.separator and len(line.split(other)) >= 3:
                sep = WHITESPACE if other == " " else other
                return f"; if {SEPARATOR_WORDS[other]} separate the columns, say sep={sep!r} (--sep {_typed(sep)})"
    hints = []
    if len(labels) == 4 and len(names) == 3 and any(labels[3].lower() in pair for pair in TRUTH_LABELS):
        hints.append("; if the fourth column is true or false, use labelled=True (--labelled)")
    if number == 1 and len(labels) > len(names) == 3:
        order = ",".join(["h", "r", "t", "time", *("-" * len(labels))][: len(labels)])
        hints.append(
            f"; say what each column holds, such as columns={order!r} (--columns {order}; - leaves a column out), or "
            "header=True (--header) if this line names the columns; to rank facts with times, also choose filter_by= "
            "(--filter-by time or none)"
        )
    return "".join(hints)


def _quoted_labels(text: _Text, names: Sequence[str], required: Sequence[int]) -> list[pd.Categorical]:
    """Check and return the columns of a text in which labels may be in double quotes."""
    known: list[dict[str, int]] = [{} for _ in names]  # for each column: label -> code
    codes: list[list[Ids]] = [[] for _ in names]
    reader = text.reader()
    try:
        while part := list(islice(reader, _ROWS)):
            if any(len(row) != len(names) for row in part):
                break
            for i, column in enumerate(zip(*part)):
                of_label = known[i]
                codes[i].append(np.array([of_label.setdefault(label, len(of_label)) for label in column]))
    except csv.Error:
        part = [[]]
    if part or any("" in known[i] for i in required):
        for number, row in text.rows():  # looks for the first fault, and raises an error that names its line
            _check_row(text, number, row, text.byte.join(row), names, required)
        raise AssertionError("unreachable: every row is right")
    _check_no_late_quotes(text, known)
    return [
        pd.Categorical.from_codes(np.concatenate(codes[i]), pd.Index(list(known[i]), dtype=object))
        for i in range(len(names))
    ]


def _check_no_late_quotes(text: _Text, known: Sequence[Iterable[str]]) -> None:
    """Raise a DataError if there is a space before the double quotes of a label: the quotes would be read as text.

    `known` holds the distinct labels of each column. A label may really start with a space and a quote. Such a label is
    itself in quotes in the file, so the character before the space is no separator.
    """

    def is_bare(label: str) -> bool:
        starts = (text.byte.encode(), b"\n", b"\r")
        return text.raw.startswith(label.encode()) or any(start + label.encode() in text.raw for start in starts)

    late = {label for column in known for label in column if _LATE_QUOTE.match(label) and is_bare(label)}
    if late:
        number, label = next((number, label) for number, row in text.rows() for label in row if label in late)
        raise DataError(
            f"{text.path}, line {number}: a space stands before the double quotes of {label[:80]!r}, so they would "
            f"belong to the label; remove the spaces after {SEPARATOR_WORDS.get(text.separator, 'the separators')}"
        )


def _check_no_final_dot(path: Path, labels: Sequence[pd.Categorical]) -> None:
    """Raise a DataError if all labels of the last column, and no others, end with a dot: the file may be Turtle."""
    *others, last = labels
    if not all(label.endswith(" .") for label in last.categories):
        return
    if not any(label.endswith(".") for column in others for label in column.categories):
        raise DataError(
            f"{path}, line 1: looks like Turtle or N-Triples: each line ends with ' .', as in "
            f"{str(last[0])[-80:]!r}; rename the file to end in .ttl or .nt, or remove the dots"
        )


def _check_not_n_triples(path: Path, raw: bytes) -> None:
    """Raise a DataError if the first line that is not a comment is a line of N-Triples, with tabs or with spaces."""
    start = 0
    while raw.startswith(b"#", start):
        start = raw.find(b"\n", start) + 1 or len(raw)
    end = raw.find(b"\n", start)
    number = raw.count(b"\n", 0, start) + 1
    if N_TRIPLE.fullmatch(raw[start : min(end, start + _MAX_N_TRIPLE)]):
        raise DataError(
            f"{path}, line {number}: looks like N-Triples (<s> <p> <o> .); rename the file to end in .nt, or use "
            "format='rdf' (--dataset-format rdf) and name the files of the splits: splits= (--split-files)"
        )
