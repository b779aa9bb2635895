"""Every error and warning of kgeval, in one place."""

from __future__ import annotations


class KgevalError(Exception):
    """Any error that kgeval raises on purpose; catch this one to catch them all."""


class DataError(KgevalError, ValueError):
    """A file, a frame or an array does not hold what it should."""


class ProtocolError(KgevalError, ValueError):
    """A setting is unknown, or does not fit the dataset or the scorer."""


class ScoreError(KgevalError, ValueError):
    """A scorer gave something that cannot be ranked."""


class MetricError(KgevalError, ValueError):
    """A metric or a result key is unknown or wrongly written."""


class MissingExtra(KgevalError, ImportError):
    """An optional library is needed and absent; the message says which extra brings it."""


class KgevalWarning(UserWarning):
    """A number is right but needs a caution, for example because of many ties."""
