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
MAX_TEXT = 1 << 30  # characters of one JSON text
MAX_DEPTH = 200  # levels of JSON lists and objects inside each other
# Numbers that a torch file repeats without storing them (strides of 0), and bytes of the copies its pickle asks for.
MAX_REPEATED, MAX_COPIED = 1 << 26, 1 << 30
_QUOTE, _MARKS, _CHUNK = ord('"'), b'"[]{}', 1 << 20
_NO_MARKS = bytes(set(range(256)) - set(_MARKS))
_STEPS = np.zeros(256, dtype=np.int8)  # of the depth at each byte
_STEPS[[*b"[{"]], _STEPS[[*b"]}"]] = 1, -1


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


def check_json(text: str, start: str) -> None:
    """Raise a DataError if a JSON text is too long, or nested too deeply.

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
    if text.count("[") + text.count("{") <= deepest:
        return
    text = text.replace("\\\\", "").replace('\\"', "")  # the remaining quotes begin and end a string
    marks = np.frombuffer(text.encode("utf-8", "surrogatepass").translate(None, _NO_MARKS), dtype=np.uint8)
    depth = is_inside = 0
    for place in range(0, len(marks), _CHUNK):
        part = marks[place : place + _CHUNK]
        inside = (is_inside + np.cumsum(part == _QUOTE)) % 2
        depths = depth + np.cumsum(np.where(inside, 0, _STEPS[part]))
        if depths.max() > deepest:
            raise DataError(f"{start}: lists and objects are nested more than {deepest} levels deep")
        depth, is_inside = depths[-1], inside[-1]


def _way_out() -> str:
    """Return how the user can raise the limits."""
    return f"if you trust it, set the environment variable {SETTING}=10, which makes the limits 10 times as large"
