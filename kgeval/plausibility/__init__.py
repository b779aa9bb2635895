"""The check of published numbers: can any list of ranks give the reported hits@k, MRR and MR of a row?

`check_table` is the public call; ``kgeval check-table`` prints its result.
"""

from kgeval.plausibility.reading import read_reported
from kgeval.plausibility.rules import Finding
from kgeval.plausibility.table import ROUNDINGS, RowCheck, TableCheck, check_table, reported_values

__all__ = ["ROUNDINGS", "Finding", "RowCheck", "TableCheck", "check_table", "read_reported", "reported_values"]
