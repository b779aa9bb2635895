"""`Format`: the description of a file format. `read_dataset` and `load_model` call `format_of` to choose the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Format:
    """One file format of datasets or of models.

    Each module of `kgeval.formats.datasets` and of `kgeval.formats.models` defines its format as the constant `FORMAT`.

    Parameters
    ----------
    name : str
        The name of the format in messages.
    sniff : function
        Takes a path and returns whether it has this format; looks only at file names and at the first bytes.
    read : function
        Reads a file or folder of this format. Takes the path and all options of `read_dataset` or of `load_model`.
    """

    name: str
    sniff: Callable[[Path], bool]
    read: Callable[..., Any]


def format_of(path: Path, modules: Sequence[ModuleType], default: Format) -> Format:
    """Return the format of a path: the first one whose function `sniff` accepts the path.

    Parameters
    ----------
    path : Path
    modules : sequence of modules
        Each defines `FORMAT`.
    default : Format
        The result if no format accepts the path; its `read` then raises an error that explains what is wrong.

    Returns
    -------
    Format
    """
    return next((module.FORMAT for module in modules if module.FORMAT.sniff(path)), default)
