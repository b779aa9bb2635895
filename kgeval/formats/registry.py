"""What a file format is, and how the one that a path holds is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Format:
    """One file format: a module of `kgeval.formats.datasets` or `kgeval.formats.models` that defines `FORMAT` adds it.

    Parameters
    ----------
    name : str
        For messages.
    sniff : function
        Whether a path holds the format, told by names and first bytes alone.
    read : function
        Reads it; takes the path and the options of the function that dispatches.
    """

    name: str
    sniff: Callable[[Path], bool]
    read: Callable[..., Any]


def format_of(path: Path, modules: Sequence[ModuleType], default: Format) -> Format:
    """Return the first format that the path holds; `default`, whose errors say what is wrong, where none does."""
    return next((module.FORMAT for module in modules if module.FORMAT.sniff(path)), default)
