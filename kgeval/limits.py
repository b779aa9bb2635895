"""How much a file may unfold to when it is read: one place for the limits of all readers.

A small file can be made so that it fills the memory or the disk. Every reader of packed or compressed files calls
`check_unfolded` before or while it reads. The environment variable ``KGEVAL_LIMITS`` raises all limits: with the value
10, they are 10 times as large.
"""

from __future__ import annotations

import os
from pathlib import Path

from kgeval.errors import DataError

SETTING = "KGEVAL_LIMITS"  # the environment variable: a factor of at least 1
MAX_RATIO = 200  # unfolded bytes per byte of the file; for triples as text, this ratio is often 10, rarely 50
MIN_JUDGED = 64 << 20  # `MAX_RATIO` applies only to files that unfold to more bytes than these
MAX_BYTES = 8 << 30  # unfolded bytes of a file, of all members together


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
    >>> check_unfolded("small.gz", 10 << 20, 1000)  # below 64 MiB nothing is judged
    """
    packed = max(Path(path).stat().st_size if n_packed is None else n_packed, 1)
    times, too_many = factor(), ""
    if n_bytes > MAX_BYTES * times:
        too_many = f"{round(MAX_BYTES * times):,} bytes"
    elif n_bytes > max(MIN_JUDGED, MAX_RATIO * packed) * times:
        too_many = f"{MAX_RATIO * times:g} times its size"
    if too_many:
        raise DataError(
            f"{path}: {what} more than {too_many}, like files that are made to fill a disk or the memory; if you trust "
            f"it, set the environment variable {SETTING}=10, which makes the limits 10 times as large"
        )
