"""Audit of a dataset: leaks, repeated and unseen triples, and other facts that change what the metrics mean.

Users and the command line call `audit`; `kgeval.evaluation` and `kgeval.report` call `leak_notes`, and reports show the
findings.
"""

from kgeval.audit.data_audit import audit, audit_text
from kgeval.audit.leak_notes import leak_notes

__all__ = ["audit", "audit_text", "leak_notes"]
