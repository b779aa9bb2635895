"""Audit of a dataset: leaks, repeated and unseen triples, and other facts that change what the metrics mean.

Users and the command line call `audit`; `kgeval.evaluation`, reports and benchmarks use `leak_notes`; saved results
and reports contain findings.
"""

from kgeval.audit import data_audit, leak_notes
from kgeval.audit.data_audit import audit

__all__ = ["audit", "data_audit", "leak_notes"]
