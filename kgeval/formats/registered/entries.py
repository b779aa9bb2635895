"""`Registered`: one registered dataset, with its URLs, checksums and counts. `find_registered` finds it by its name.

The facts are in `datasets.json`, each with the package or repository that states it. If `counting` is ``"rows"``, all
rows and labels of the files are counted. If it is ``"pykeen"``, the counts are those that PyKEEN states: it counts the
entities and relations of train, each triple once, and triples of valid and test only if train contains their entities
and relation. These counts can be smaller than the numbers that kgeval prints.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from kgeval.base.checks import suggest
from kgeval.base.files import cache_home
from kgeval.errors import DataError

COUNTING = {
    "rows": "all rows and labels of the files",
    "pykeen": "as PyKEEN counts: labels of train, each triple once, valid and test without triples of unseen labels",
    "none": "no source states them",
}
MIN_SIMILARITY = 0.8  # a misspelt folder must look very much like a registered name to get a hint


@dataclass(frozen=True)
class RemoteFile:
    """A file of a registered dataset.

    Parameters
    ----------
    path : str
        Its name in the folder of the dataset; may start with names of folders, as in ``"mapping/x.csv.gz"``.
    url : str
        The address from which the file, or the archive that contains it, is downloaded.
    member : str
        Its name in the archive; empty if the archive is one packed file (``.gz``), or if there is no archive.
    hash : str
        ``"sha256:..."`` or ``"md5:..."`` of the file itself, not of the archive; empty if no source states one.
    """

    path: str
    url: str
    member: str = ""
    hash: str = ""


@dataclass(frozen=True)
class Registered:
    """A registered dataset.

    Parameters
    ----------
    name : str
    about : str
        A short description of the dataset.
    files : tuple of RemoteFile
    options : mapping of str
        The parameters of `kgeval.read_dataset` with which its folder is read.
    archive : str
        The name of the archive that contains the files; empty if the files are downloaded one by one.
    inner : str
        The file or subfolder that is read as the dataset; empty if the folder of the dataset itself is read.
    also : tuple of str
        Further names.
    counting : str
        How the triples were counted; a key of `COUNTING`.
    counts : mapping of str to int
        Keys ``"entities"``, ``"relations"``, and one for each split.
    licence : str
        ``"not stated"`` if no source states it.
    sources : mapping of str to str
        Keys ``"url"``, ``"hash"``, ``"counts"``, ``"licence"``: the package or repository that states the fact.
    """

    name: str
    about: str
    files: tuple[RemoteFile, ...]
    options: Mapping[str, Any]
    archive: str
    inner: str
    also: tuple[str, ...]
    counting: str
    counts: Mapping[str, int]
    licence: str
    sources: Mapping[str, str]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Registered:
        """Return the dataset that a record of `datasets.json` describes.

        Parameters
        ----------
        record : mapping of str
            The parameters of this class; `files` holds mappings.
        """
        files = tuple(RemoteFile(**file) for file in record["files"])
        return cls(**{**record, "files": files, "also": tuple(record["also"])})

    @property
    def folder(self) -> Path:
        """The folder of the files, in the user's cache or below `KGEVAL_HOME`."""
        return cache_home() / "datasets" / self.name.lower()

    @property
    def verified(self) -> str:
        """The checksum that every file has to match: ``"SHA-256"``, ``"MD5"`` or ``"unverified"``."""
        kinds = {file.hash.partition(":")[0] for file in self.files}
        if "" in kinds:
            return "unverified"
        return "SHA-256" if kinds == {"sha256"} else "MD5"

    @property
    def is_downloaded(self) -> bool:
        """Whether the folder has all files, or the archive from which they are unpacked when the dataset is read."""
        paths = [self.folder / file.path for file in self.files]
        return all(path.is_file() for path in paths) or bool(self.archive and (self.folder / self.archive).is_file())

    def needed(self) -> dict[str, str]:
        """Return the files to put into the folder, by name, with their URLs: the archive, or each file."""
        if self.archive:
            return {self.archive: self.files[0].url}
        return {file.path: file.url for file in self.files}


def normalised(name: str) -> str:
    """Return a name in lower case, without any other characters than letters and digits.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> normalised("FB15k-237"), normalised("fb15k_237")
    ('fb15k237', 'fb15k237')
    """
    return re.sub(r"[\W_]", "", name).lower()


@functools.cache
def all_registered() -> tuple[Registered, ...]:
    """Return the registered datasets, in the order in which they are listed."""
    text = (resources.files("kgeval.formats.registered") / "datasets.json").read_text(encoding="utf-8")
    return tuple(Registered.of(record) for record in json.loads(text))


def registered_names() -> list[str]:
    """Return the names of the registered datasets, in the order in which they are listed."""
    return [entry.name for entry in all_registered()]


def find_registered(name: str | os.PathLike[str]) -> Registered | None:
    """Return the registered dataset with this name; None if there is none, or if `name` is a path of several parts.

    Parameters
    ----------
    name : str or path
        Upper and lower case, hyphens, underscores and spaces make no difference.

    Examples
    --------
    >>> find_registered("fb15k237").name, find_registered("./FB15k-237")
    ('FB15k-237', None)
    """
    text = os.fspath(name)
    if any(separator in text for separator in ("/", "\\", "~")) or text.startswith("."):
        return None
    word = normalised(text)
    return next((entry for entry in all_registered() if word in map(normalised, (entry.name, *entry.also))), None)


def registered_entry(name: str) -> Registered:
    """Return the registered dataset of a name.

    Parameters
    ----------
    name : str

    Raises
    ------
    DataError
        If no registered dataset has this name.
    """
    entry = find_registered(name)
    if entry is None:
        hint = suggest(name, registered_names()) or suggest(normalised(name), map(normalised, registered_names()))
        raise DataError(f"no registered dataset is named {name!r}{hint} (kgeval inspect --datasets lists all names)")
    return entry


def registered_hint(name: str | os.PathLike[str]) -> str:
    """Return a hint for the error message about a missing folder: the registered dataset with a similar name.

    Parameters
    ----------
    name : str or path

    Returns
    -------
    str
        ``"; did you mean the registered dataset 'WN18RR'?"``, or ``""`` if no name is similar.

    Examples
    --------
    >>> registered_hint("fb15k-273"), registered_hint("my_data")
    ("; did you mean the registered dataset 'FB15k-237'?", '')
    """
    text = os.fspath(name)
    if "/" in text or "\\" in text:
        return ""
    words = {normalised(word): entry.name for entry in all_registered() for word in (entry.name, *entry.also)}
    similar = difflib.get_close_matches(normalised(text), words, n=1, cutoff=MIN_SIMILARITY)
    return f"; did you mean the registered dataset {words[similar[0]]!r}?" if similar else ""
