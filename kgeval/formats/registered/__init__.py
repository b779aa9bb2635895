"""Registered datasets: well-known datasets that `read_dataset` reads by name, from the user's cache or from their URLs.

`datasets.json` lists them. Nothing is downloaded unless a registered dataset is read and is not in the cache.
"""

from kgeval.formats.registered import fifty_seven, table

__all__ = ["fifty_seven", "table"]
