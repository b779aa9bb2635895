"""Measures of TREC runs, computed as trec_eval does: the modules behind the command ``kgeval trec``."""

from kgeval.trec import measured_runs, measures, run_files

__all__ = ["measured_runs", "measures", "run_files"]
