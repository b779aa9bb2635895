"""Sanity of published numbers: whether a row of hits@k, MRR and MR can come from any ranks at all."""

from kgeval.published.reading import read_reported
from kgeval.published.rules import Finding
from kgeval.published.table import ROUNDINGS, RowCheck, TableCheck, check_table

__all__ = ["ROUNDINGS", "Finding", "RowCheck", "TableCheck", "check_table", "read_reported"]
