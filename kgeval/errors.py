"""The classes of all errors and warnings of kgeval."""

from __future__ import annotations


class KgevalError(Exception):
    """Base class of all errors that kgeval raises on purpose."""


class DataError(KgevalError, ValueError):
    """A file, a data frame or an array has wrong contents, or cannot be read or written."""


class ProtocolError(KgevalError, ValueError):
    """A setting is unknown or not valid, or it does not fit the dataset or the scorer."""


class ScoreError(KgevalError, ValueError):
    """The scores of a scorer cannot be ranked, for example because a score is NaN."""


class OutOfMemory(ScoreError, MemoryError):
    """A ranking needs more memory than is free; the message says what to change."""


class MetricError(KgevalError, ValueError):
    """A metric, one of its parameters, or a key of a result is unknown or not valid."""


class MissingExtra(KgevalError, ImportError):
    """An optional library is needed but not installed; the message names the extra that installs it."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C stopped a ranking; the message says how much was done, and how to go on."""


class KgevalWarning(UserWarning):
    """Warning category: a result is correct but can mislead, for example because many scores are equal."""
