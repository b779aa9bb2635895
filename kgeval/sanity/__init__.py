"""Sanity of published numbers: whether a row of hits@k, MRR and MR can come from any ranks at all."""

from kgeval.sanity.reading import read_reported
from kgeval.sanity.rules import Finding
from kgeval.sanity.table import RowCheck, TableCheck, check_table

__all__ = ["Finding", "RowCheck", "TableCheck", "check_table", "read_reported"]
