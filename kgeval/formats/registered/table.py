"""Tables and texts about the registered datasets: `kgeval.registered_datasets`, ``kgeval inspect --datasets``."""

from __future__ import annotations

from typing import Any

import pandas as pd

from kgeval.data.triples import SPLITS
from kgeval.formats.registered.cache import file_hash, placing
from kgeval.formats.registered.entries import COUNTING, Registered, all_registered, registered_entry

COUNTS = ("entities", "relations", *SPLITS)
NOT_DOWNLOADED = "not downloaded"


def registered_datasets() -> pd.DataFrame:
    """Return a table of the registered datasets, which `read_dataset` reads by name.

    Returns
    -------
    pandas.DataFrame
        One row per dataset; the index ``"name"`` holds the names. Columns: ``entities``, ``relations``, ``train``,
        ``valid``, ``test`` (int; NaN if no source states the number or there is no such split), ``counted`` (what these
        numbers count: all ``rows`` of the files, or the triples that ``pykeen`` keeps), ``licence``, ``verified`` (the
        checksum that is known for every file: SHA-256, MD5 or unverified), ``folder`` (where the files are in the
        cache, or "not downloaded"), and ``about``.

    Examples
    --------
    >>> registered_datasets().loc["WN18RR", ["entities", "test", "verified"]].tolist()
    [40943, 3134, 'SHA-256']
    """
    entries = all_registered()
    frame = pd.DataFrame(
        {
            **{
                name: pd.Series([entry.counts.get(name, float("nan")) for entry in entries], dtype=object)
                for name in COUNTS
            },
            "counted": [entry.counting for entry in entries],
            "licence": [entry.licence for entry in entries],
            "verified": [entry.verified for entry in entries],
            "folder": [str(entry.folder) if entry.is_downloaded else NOT_DOWNLOADED for entry in entries],
            "about": [entry.about for entry in entries],
        }
    )
    return frame.set_axis(pd.Index([entry.name for entry in entries], name="name"))


def registered_files(name: str) -> pd.DataFrame:
    """Return a table of the files of a registered dataset.

    Parameters
    ----------
    name : str

    Returns
    -------
    pandas.DataFrame
        One row per file; the index ``"file"`` holds its name in the folder of the dataset. Columns, all str: ``url``,
        ``archive`` (the file to download, if it is an archive), ``member`` (the name in the archive), ``hash`` (the
        stated checksum, empty if there is none) and ``sha256`` (of the file in the cache, empty if it is not there).

    Raises
    ------
    DataError
        If no registered dataset has this name.

    Examples
    --------
    >>> registered_files("fb15k-237")["url"].iloc[0].rpartition("/")[2]
    'train.txt'
    """
    entry = registered_entry(name)
    paths = [entry.folder / file.path for file in entry.files]
    return pd.DataFrame(
        {
            "url": [file.url for file in entry.files],
            "archive": [entry.archive for _ in entry.files],
            "member": [file.member for file in entry.files],
            "hash": [file.hash for file in entry.files],
            "sha256": [file_hash(path) if path.is_file() else "" for path in paths],
        },
        index=pd.Index([file.path for file in entry.files], name="file"),
    )


def describe_registered(name: str) -> dict[str, Any]:
    """Return the facts about a registered dataset.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict of str
        Plain values, for JSON: ``name``, ``about``, ``also`` (further names), the counts, ``counted``, ``licence``,
        ``verified``, ``folder``, ``downloaded``, ``offline`` (how to place the files without a network), ``read_with``
        (the parameters of `read_dataset`) and ``sources`` (the package or repository that states each fact).

    Raises
    ------
    DataError
        If no registered dataset has this name.

    Examples
    --------
    >>> describe_registered("codex_s")["counts"]
    {'entities': 2034, 'relations': 42, 'train': 32888, 'valid': 1827, 'test': 1828}
    """
    entry: Registered = registered_entry(name)
    return {
        "name": entry.name,
        "about": entry.about,
        "also": list(entry.also),
        "counts": dict(entry.counts),
        "counted": COUNTING[entry.counting],
        "licence": entry.licence,
        "verified": entry.verified,
        "folder": str(entry.folder),
        "downloaded": entry.is_downloaded,
        "offline": placing(entry),
        "read_with": dict(entry.options),
        "sources": {fact: source for fact, source in entry.sources.items() if source},
    }
