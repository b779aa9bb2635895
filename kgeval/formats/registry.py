"""`Format`: the description of a file format. The functions that read files call `format_of` to choose the format."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kgeval.base.checks import suggest
from kgeval.errors import DataError

MAX_LEVELS, MAX_CHECKED = 3, 10_000  # how deep `check_regular` goes, and how many files of a folder it looks at


@dataclass(frozen=True)
class Format:
    """One file format of datasets, models or predictions.

    Each module of the packages `datasets`, `models` and `predictions` in `kgeval.formats` describes one format and
    defines it as the constant `FORMAT`.

    Parameters
    ----------
    name : str
        The name that users give to choose the format: lower case, one word, such as ``"openke"``.
    sniff : function
        Takes a path and returns whether the file or folder has this format. Looks only at file names and at the first
        bytes, and never raises an error.
    read : function
        Reads a file or folder of this format; see `kgeval.formats.datasets` and `kgeval.formats.models` for its
        parameters.
    about : str
        A short description of the format, for messages and notes: ``"OpenKE (ids with count lines)"``.
    may_hold_ranks : bool
        For predictions: whether files of this format may hold a rank for each query, so that `read` also takes None
        in place of the dataset.
    """

    name: str
    sniff: Callable[[Path], bool]
    read: Callable[..., Any]
    about: str
    may_hold_ranks: bool = False


def formats_of(modules: Sequence[ModuleType]) -> dict[str, Format]:
    """Return the formats that `modules` define: a dict with the names of the formats as keys.

    Parameters
    ----------
    modules : sequence of modules
        Each module defines the constant `FORMAT`.
    """
    return {module.FORMAT.name: module.FORMAT for module in modules}


def check_regular(path: Path) -> None:
    """Raise a DataError if a folder contains a pipe, a device, a socket or a link to itself: opening one may never end.

    Hidden files are not read, so they are not checked. Subfolders are checked, `MAX_LEVELS` deep.

    Parameters
    ----------
    path : Path
        A folder; anything else is not checked here.
    """
    folders = [(path, 0)] if path.is_dir() else []
    for folder, level in folders:
        try:
            children = sorted(folder.iterdir())
        except OSError:
            continue
        for child in children[:MAX_CHECKED]:
            if child.name.startswith("."):
                continue
            try:
                mode = child.stat().st_mode
            except OSError as error:
                if error.errno == errno.ELOOP:
                    link = f"is a symbolic link to {os.readlink(child)}, which does not exist"
                    raise DataError(f"{child}: {link}: it leads to itself") from None
                continue  # a link to nothing: the reader that needs the file explains it
            if stat.S_ISDIR(mode) and level < MAX_LEVELS:
                folders.append((child, level + 1))
            elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise DataError(f"{child}: is a pipe, a socket or a device, not a file; move it out of the folder")


def format_of(path: Path, formats: dict[str, Format], default: Format, forced: str | None, option: str) -> Format:
    """Return the format named `forced`; without `forced`, the only format that recognises the path, else `default`.

    Parameters
    ----------
    path : Path
    formats : dict of str to Format
    default : Format
        The result if no other format recognises the path. Whether `default` recognises the path is not tested; if
        the path does not have this format, ``default.read`` raises an error that explains what is wrong.
    forced : str or None
        The name of a format, given by the caller.
    option : str
        The option with which the user names a format, for error messages; for example
        ``"format=NAME (on the command line: --dataset-format NAME)"``.

    Returns
    -------
    Format

    Raises
    ------
    DataError
        If `forced` is not the name of a format, or if several formats other than `default` recognise the path.
    """
    if forced is not None:
        check_regular(path)
        if forced not in formats:
            raise DataError(
                f"unknown format {forced!r}{suggest(str(forced), list(formats))}; formats are {', '.join(formats)}"
            )
        return formats[forced]
    check_regular(path)
    found = [one for one in formats.values() if one is not default and one.sniff(path)]
    if len(found) > 1:
        names = ", ".join(f"{one.name} ({one.about})" for one in found)
        raise DataError(f"{path}: several formats are possible: {names}; choose one: {option}")
    return found[0] if found else default
