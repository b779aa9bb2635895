"""The check of published numbers: whether any ranks can give a reported row of hits@k, MRR and MR.

`check_table` is the public call; ``kgeval check-table`` prints its result.
"""

from kgeval.published.reading import read_reported
from kgeval.published.rules import Finding
from kgeval.published.table import ROUNDINGS, RowCheck, TableCheck, check_table

__all__ = ["ROUNDINGS", "Finding", "RowCheck", "TableCheck", "check_table", "read_reported"]
