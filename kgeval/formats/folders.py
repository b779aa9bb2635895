"""Functions that examine the files of a folder: their names, their first lines, and the files that were not read.

The modules of `kgeval.formats.datasets` call these functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgeval.base.checks import listed
from kgeval.base.files import similar_path
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.split_files import DATA_SUFFIXES, NEGATIVES, split_of_words

# The options, in Python and on the command line, to read a folder as tables of triples.
AS_TABLES = f"format={tab_folder.FORMAT.name!r}, --dataset-format {tab_folder.FORMAT.name}"
SNIFFED_BYTES = 1 << 16  # `first_lines` reads only this many bytes


def names_in(folder: Path) -> frozenset[str]:
    """Return the names of the files and folders in `folder`; none if `folder` is not a folder or cannot be read.

    Parameters
    ----------
    folder : Path
    """
    try:
        return frozenset(os.listdir(folder))
    except (OSError, ValueError):
        return frozenset()


def first_lines(file: Path) -> list[str]:
    """Return the first lines of a text file; no lines if the file cannot be read.

    Only `SNIFFED_BYTES` bytes are read. The last line is left out if it may be cut off.

    Parameters
    ----------
    file : Path
    """
    try:
        with open(file, "rb") as stream:
            sample = stream.read(SNIFFED_BYTES)
    except (OSError, ValueError):
        return []
    lines = re.split(r"\r\n|\n|\r", sample.decode("utf-8-sig", "replace"))
    return lines[: -1 if len(sample) == SNIFFED_BYTES and len(lines) > 1 else None]


def given_splits(options: DatasetOptions) -> dict[str, Any]:
    """Return the option `splits` as a dict: for some splits, the files that the user names; empty if not given.

    Parameters
    ----------
    options : DatasetOptions

    Raises
    ------
    DataError
        If the option `splits` is no mapping.
    """
    splits: Any = options.splits
    if splits is not None and not isinstance(splits, Mapping):
        raise DataError(f"splits must map names of splits to files, as in {{'valid': 'dev.tsv'}}; got {splits!r}")
    return dict(splits or {})


def ignored_names(options: DatasetOptions) -> list[str]:
    """Return the names of the files that the user leaves out with the option `ignore`.

    Parameters
    ----------
    options : DatasetOptions
    """
    return [options.ignore] if isinstance(options.ignore, str) else list(options.ignore)


def check_folder(folder: Path, needed: Sequence[str]) -> None:
    """Raise a DataError unless `folder` is a folder that contains the files `needed`.

    Parameters
    ----------
    folder : Path
    needed : sequence of str
        The names of the files.
    """
    if not folder.exists():
        raise DataError(f"{folder}: no such folder{similar_path(folder, is_folder=True)}")
    if not folder.is_dir():
        raise DataError(f"{folder}: is a file; give the folder that contains it")
    names = names_in(folder)
    missing = [name for name in needed if name not in names]
    if missing:
        shown = ", ".join(sorted(names)[:8]) or "nothing"
        raise DataError(f"{folder}: expected {listed(needed)}; {missing[0]} is missing. The folder contains {shown}")


def unread_notes(
    folder: Path, read: Collection[str], known: Mapping[str, str], ignore: Sequence[str] = ()
) -> list[str]:
    """Return one note about the unread files of each kind in `known`; no note for a kind without unread files.

    Parameters
    ----------
    folder : Path
    read : collection of str
        The names of the files that were read.
    known : mapping of str to str
        The kinds of files that the tool writes. Key: a regular expression for the names of the files; value: a text
        about their content, such as ``"parts of train"``.
    ignore : sequence of str
        The names of files that the caller leaves out.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        If the name of another unread file looks like a part of a split, for example ``facts.txt`` or
        ``train2id_2.txt``.
    """
    of_meaning: dict[str, list[str]] = {}
    for name in sorted(names_in(folder) - set(read) - set(ignore)):
        meaning = next((text for pattern, text in known.items() if re.fullmatch(pattern, name)), None)
        if meaning is not None:
            of_meaning.setdefault(meaning, []).append(name)
            continue
        is_data = Path(name).suffix.lower() in (*DATA_SUFFIXES, ".ttl") and (folder / name).is_file()
        if split_of_words(name) and is_data and not name.startswith(".") and not NEGATIVES.search(name.lower()):
            raise DataError(
                f"{folder}: {name} looks like a part of the dataset, but is not read; name the files of its split "
                f"(splits=, --split-files), or say ignore=[{name!r}] (--ignore-files {name})"
            )
    return [f"not read: {listed(names)} ({meaning})" for meaning, names in of_meaning.items()]
