"""Read a registered dataset: fetch its files, read its folder, compare the counts with the stated counts."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.formats.registered.cache import fetch, file_hash
from kgeval.formats.registered.entries import COUNTING, Registered, find_registered, normalised


def read_registered(entry: Registered, read: Callable[..., Dataset], **given: Any) -> Dataset:
    """Read a registered dataset from the cache; download what the cache lacks.

    Parameters
    ----------
    entry : Registered
        From `find_registered`.
    read : function
        Reads a folder: `kgeval.read_dataset`.
    **given
        The parameters of `kgeval.read_dataset` that the user gives. Each must have its default value or the value in
        `Registered.options`, because the entry says how its files are read.

    Returns
    -------
    Dataset
        Its name is the registered name. Its notes say where the files come from, which checksum they match, and the
        licence.

    Raises
    ------
    DataError
        If a file cannot be downloaded, does not match its checksum, or cannot be read; if the counts differ from those
        that the source states; or if `given` sets a parameter to another value.
    MissingExtra
        If a file must be downloaded and pooch is not installed.
    """
    for name, value in given.items():
        if (value or value is False) and value != entry.options.get(name, False):
            raise DataError(
                f"{name}={value!r} ({_option_of(name)}) has no effect on the registered dataset {entry.name}: "
                f"its files are read as registered ({_settings(entry)}). To read them in another way, read the folder "
                f"{entry.folder}"
            )
    folder = fetch(entry)
    dataset = copy.copy(read(folder / entry.inner, **entry.options))
    dataset.name = entry.name
    check_counts(dataset, entry)
    return dataset.with_notes([*_origin_notes(entry), *_similar_folders(entry)], at_start=True)


def counts_of(dataset: Dataset, counting: str) -> dict[str, int]:
    """Return the numbers of entities, relations and triples of each split.

    Parameters
    ----------
    dataset : Dataset
    counting : str
        ``"rows"`` or ``"pykeen"``; see `kgeval.formats.registered.entries.COUNTING`.

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame([["a", "r", "b"], ["a", "r", "b"]])
    >>> test = pd.DataFrame([["b", "r", "a"], ["b", "r", "c"]])
    >>> dataset = Dataset.from_frames(train=train, test=test)
    >>> counts_of(dataset, "rows")
    {'entities': 3, 'relations': 1, 'train': 2, 'test': 2}
    >>> counts_of(dataset, "pykeen")
    {'entities': 2, 'relations': 1, 'train': 1, 'test': 1}
    """
    if counting == "rows":
        rows = {split: len(triples) for split, triples in dataset.splits.items()}
        return {"entities": len(dataset.entities), "relations": len(dataset.relations), **rows}
    counts = {"entities": int(dataset.is_seen_entity.sum()), "relations": int(dataset.is_seen_relation.sum())}
    for split, triples in dataset.splits.items():
        if split == "train":
            counts[split] = len(triples) - dataset.duplicates[split]
        else:
            counts[split] = len(np.unique(triples.array[dataset.is_seen(split)], axis=0))
    return counts


def check_counts(dataset: Dataset, entry: Registered) -> None:
    """Raise a DataError if the counts of a dataset differ from the counts in its entry.

    Parameters
    ----------
    dataset : Dataset
    entry : Registered
    """
    if not entry.counts:
        return
    found = counts_of(dataset, entry.counting)
    wrong = [
        f"{what} {found.get(what, 0):,}, expected {n:,}" for what, n in entry.counts.items() if found.get(what) != n
    ]
    if wrong:
        raise DataError(
            f"{entry.folder}: is not {entry.name} as registered: {'; '.join(wrong)} ({entry.sources['counts']}; "
            f"counted: {COUNTING[entry.counting]}). If the files are wrong, delete this folder, and read "
            f"{entry.name} again; to read them as they are, give the folder another name and read this folder"
        )


def local_note(given: str | os.PathLike[str], path: Path) -> list[str]:
    """Return a note if a file or folder was read although a registered dataset has the same name; else no note.

    Parameters
    ----------
    given : str or path
        The argument that the user gave: a path or a name.
    path : Path
        The file or folder that was read.

    Examples
    --------
    >>> local_note("umls", Path("/data/umls"))
    ["/data/umls was read, not the registered dataset 'UMLS'"]
    """
    entry = find_registered(given)
    return [] if entry is None else [f"{path} was read, not the registered dataset {entry.name!r}"]


def _option_of(name: str) -> str:
    """Return the option of the command line for a parameter of `read_dataset`."""
    return {"ignore": "--ignore-files", "format": "--dataset-format"}.get(name, f"--{name}")


def _settings(entry: Registered) -> str:
    """Return the parameters with which the files are read, for messages."""
    return ", ".join(f"{name}={value!r}" for name, value in entry.options.items())


def _origin_notes(entry: Registered) -> list[str]:
    """Return the notes on the origin of the files, their checksums and the licence."""
    urls = list(dict.fromkeys(file.url for file in entry.files))
    more = f" and {len(urls) - 1} more" if len(urls) > 1 else ""
    origin = f"registered dataset {entry.name} from {urls[0]}{more}; licence: {entry.licence}"
    if entry.verified != "unverified":
        return [f"{origin}; every file has the {entry.verified} that is stated for it"]
    hashes = ", ".join(f"{file.path} {file_hash(entry.folder / file.path)}" for file in entry.files)
    counted = f"the counts are those of {entry.sources['counts']}" if entry.counts else "no source states counts"
    return [f"{origin}; unverified: no source states a checksum of every file; {counted}; SHA-256 read: {hashes}"]


def _similar_folders(entry: Registered) -> list[str]:
    """Return a note if the current folder contains a folder with the same name in another spelling."""
    try:
        names = sorted(child.name for child in Path().iterdir() if child.is_dir() and child.resolve() != entry.folder)
    except OSError:
        return []
    words = {normalised(name) for name in (entry.name, *entry.also)}
    return [f"the folder {name} in the current folder was not read" for name in names if normalised(name) in words]
