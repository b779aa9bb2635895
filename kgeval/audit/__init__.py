"""Audit of a dataset: leaks, repeated and unseen triples, and other facts that change what the metrics mean.

Users and the command line call `audit`; `kgeval.evaluation` and `kgeval.report` call `notes_on_leaks`; saved results
and reports contain findings.
"""

from kgeval.audit import data_audit
from kgeval.audit.data_audit import audit
from kgeval.audit.leak_notes import notes_on_leaks

__all__ = ["audit", "data_audit", "notes_on_leaks"]
