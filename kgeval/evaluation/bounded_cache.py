"""`remember` keeps objects that an `Evaluator` may use again: plans, and the tasks of the row order check."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def remember(kept: dict[Key, Value], key: Key, make: Callable[[], Value], most: int) -> Value:
    """Return the value of `key`; if `key` is new, make the value and keep it. At most `most` values are kept.

    Parameters
    ----------
    kept : dict
        The values that were made before.
    key : hashable
    make : function without parameters
    most : int
        The largest number of values that are kept.

    Examples
    --------
    >>> kept = {}
    >>> [remember(kept, n, lambda n=n: n * n, most=2) for n in (3, 4, 5)], kept
    ([9, 16, 25], {4: 16, 5: 25})
    """
    if key not in kept:
        kept[key] = make()
        if len(kept) > most:
            del kept[next(iter(kept))]
    return kept[key]
