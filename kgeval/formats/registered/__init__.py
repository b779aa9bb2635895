"""Registered datasets: well-known datasets that `read_dataset` reads by name, from the user's cache or from their URLs.

`datasets.json` lists them. Nothing is downloaded unless a registered dataset is read and is not in the cache.
"""

from kgeval.formats.registered.cache import fetch
from kgeval.formats.registered.entries import (
    Registered,
    RemoteFile,
    cache_home,
    find_registered,
    registered_entry,
    registered_hint,
    registered_names,
)
from kgeval.formats.registered.fifty_seven import ultra_graphs
from kgeval.formats.registered.reading import local_note, read_registered
from kgeval.formats.registered.table import describe_registered, registered_datasets, registered_files

__all__ = [
    "Registered",
    "RemoteFile",
    "cache_home",
    "describe_registered",
    "fetch",
    "find_registered",
    "local_note",
    "read_registered",
    "registered_datasets",
    "registered_entry",
    "registered_files",
    "registered_hint",
    "registered_names",
    "ultra_graphs",
]
