"""Measures of TREC runs, computed as trec_eval does: the modules behind the command ``kgeval trec``."""

from kgeval.trec import measures, run_files, tables

__all__ = ["measures", "run_files", "tables"]
