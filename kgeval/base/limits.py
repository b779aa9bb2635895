"""How much a file may unfold to when it is read: one place for the limits of all readers.

A small file can be made so that it fills the memory or the disk, or so that reading it takes hours. Every reader of
packed or compressed files calls `check_unfolded` before or while it reads, and every reader of JSON `check_json`. The
environment variable ``KGEVAL_LIMITS`` raises all limits: with the value 10, they are 10 times as large.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from kgeval.errors import DataError

SETTING = "KGEVAL_LIMITS"  # the environment variable: a factor of at least 1
# A file may unfold to FREE_BYTES; of a larger file than SMALL, each further byte to MAX_RATIO bytes. Triples as text
# unfold to 5 to 15 times the size of their packed file, rarely to 50; files of SMALL bytes and more are real datasets.
FREE_BYTES, SMALL, MAX_RATIO = 128 << 20, 10 << 20, 50
MAX_STORED_RATIO = 100  # torch and HDF5 files, which their libraries do not compress: bytes of tensors per byte of file
MAX_BYTES = 64 << 30  # unfolded bytes of a compressed file, of all members together
# Lines of a packed text, and triples of an RDF file: FREE_LINES, or in a larger file one per so many bytes of the file.
# Packed triples take 7 to 10 bytes each, in RDF without packing 8 and more.
FREE_LINES, MIN_PACKED_LINE, MIN_TRIPLE = 1 << 20, 4, 8
MAX_LINE = 1 << 24  # bytes of one line of a table
MAX_ITEMS = 1 << 22  # values inside one element of a JSON text: one line, or one entry of the list that is the text
MAX_TEXT = 1 << 30  # characters of one JSON text
MAX_DEPTH = 200  # levels of JSON lists and objects inside each other
# Torch files: numbers that are repeated without being stored (strides of 0); bytes of the copies that the pickle asks
# for, in all and per byte of a file (of a small one: FREE_COPIED); bytes of the pickle, the list of the tensors.
MAX_REPEATED, MAX_COPIED, MAX_COPIED_RATIO = 1 << 26, 1 << 30, 8
FREE_COPIED, FREE_PICKLE, MAX_PICKLE_RATIO = 64 << 20, 8 << 20, 2
_QUOTE, _MARKS, _CHUNK = ord('"'), b'"[]{},', 1 << 20
_NO_MARKS = bytes(set(range(256)) - set(_MARKS))
_STEPS = np.zeros(256, dtype=np.int8)  # of the depth at each byte
_STEPS[[*b"[{"]], _STEPS[[*b"]}"]] = 1, -1
_IS_ITEM = np.isin(np.arange(256), [*b"[{,"])


def factor() -> float:
    """Return the factor by which the user raises the limits.

    Raises
    ------
    DataError
        If the environment variable is no number of at least 1.
    """
    text = os.environ.get(SETTING, "1")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise DataError(f"{SETTING}={text!r}: expected a number of at least 1, by which the limits of files are raised")
    return value


def most_unfolded(n_packed: int) -> int:
    """Return the number of bytes to which a file may unfold.

    Parameters
    ----------
    n_packed : int
        The size of the file.

    Examples
    --------
    >>> most_unfolded(1000) >> 20, most_unfolded(100 << 20) >> 20  # in MiB
    (128, 4628)
    """
    most = min(FREE_BYTES + MAX_RATIO * max(n_packed - SMALL, 0), MAX_BYTES) * factor()
    return int(max(most, 2 * n_packed))  # a file that is not compressed may have any size


def check_unfolded(path: str | Path, n_bytes: int, n_packed: int | None = None, what: str = "unpacks to") -> None:
    """Raise a DataError if a file unfolds to too many bytes.

    Parameters
    ----------
    path : str or path
    n_bytes : int
        The number of bytes that the file unfolds to, or has unfolded to so far.
    n_packed : int, optional
        The size of the file; by default it is looked up.
    what : str
        What the file does, for the message.

    Examples
    --------
    >>> check_unfolded("small.gz", 10 << 20, 1000)
    """
    packed = Path(path).stat().st_size if n_packed is None else n_packed
    most = most_unfolded(packed)
    if n_bytes > most:
        raise DataError(
            f"{path}: {what} more than {most:,} bytes, but has {packed:,} bytes, like files that are made to fill a "
            f"disk or the memory; {_way_out()}"
        )


def check_rows(path: str | Path, n_rows: int, n_bytes: int, per_row: int, what: str) -> None:
    """Raise a DataError if a file holds far more rows than others of its size.

    Parameters
    ----------
    path : str or path
    n_rows : int
        The number of rows so far.
    n_bytes : int
        The size of the file.
    per_row : int
        At least so many bytes of the file per row, beyond `FREE_LINES`.
    what : str
        What the rows are, for the message.

    Examples
    --------
    >>> check_rows("small.gz", 1_000_000, 1000, 4, "lines")
    """
    most = int(max(FREE_LINES, n_bytes // per_row) * factor())
    if n_rows > most:
        raise DataError(
            f"{path}: more than {most:,} {what} in {n_bytes:,} bytes, like files that are made to fill the memory; "
            f"{_way_out()}"
        )


def check_lines(path: str | Path, raw: bytes) -> None:
    """Raise a DataError if a line of a text is longer than `MAX_LINE`.

    Parameters
    ----------
    path : str or path
    raw : bytes

    Examples
    --------
    >>> check_lines("train.txt", b"Jack\\tlives in\\tItaly\\n")
    """
    most, start = int(MAX_LINE * factor()), 0
    while len(raw) - start > most:
        end = raw.rfind(b"\n", start, start + most + 1)
        if end < 0:
            number = raw.count(b"\n", 0, start) + 1
            raise DataError(f"{path}, line {number}: is longer than {most:,} bytes; {_way_out()}")
        start = end + 1


def check_json(text: str, start: str) -> None:
    """Raise a DataError if a JSON text is too long, nested too deeply, or if one element has too many values.

    Parameters
    ----------
    text : str
    start : str
        The start of the message: the file, and what it is not.

    Examples
    --------
    >>> check_json('{"a": [1, "[["]}', "settings.json: not JSON that is read")
    """
    most, deepest = int(MAX_TEXT * factor()), MAX_DEPTH
    if len(text) > most:
        raise DataError(f"{start}: {len(text):,} characters, more than {most:,}; {_way_out()}")
    if text.count("[") + text.count("{") <= deepest and text.count(",") <= MAX_ITEMS:
        return
    text = text.replace("\\\\", "").replace('\\"', "")  # the remaining quotes begin and end a string
    marks = np.frombuffer(text.encode("utf-8", "surrogatepass").translate(None, _NO_MARKS), dtype=np.uint8)
    depth = is_inside = n_items = n_before = 0  # `n_before`: of the values at the end of the last element
    for place in range(0, len(marks), _CHUNK):
        part = marks[place : place + _CHUNK]
        inside = (is_inside + np.cumsum(part == _QUOTE)) % 2
        depths = depth + np.cumsum(np.where(inside, 0, _STEPS[part]))
        if depths.max() > deepest:
            raise DataError(f"{start}: lists and objects are nested more than {deepest} levels deep")
        items = n_items + np.cumsum(_IS_ITEM[part] & (inside == 0))
        before = np.maximum.accumulate(np.where(depths <= 1, items, n_before))
        if (items - before).max() > MAX_ITEMS * factor():
            raise DataError(f"{start}: one element has more than {MAX_ITEMS * factor():,.0f} values; {_way_out()}")
        depth, is_inside, n_items, n_before = (int(of[-1]) for of in (depths, inside, items, before))


def _way_out() -> str:
    """Return how the user can raise the limits."""
    return f"if you trust it, set the environment variable {SETTING}=10, which makes the limits 10 times as large"
