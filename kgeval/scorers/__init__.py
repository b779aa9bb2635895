"""Scorers, which score triples: the kinds of scorers, adapters that give them one interface, and checks of scorers.

`kgeval.evaluation`, `kgeval.classification`, `kgeval.ranking` and the command line import from here.
"""

from kgeval.scorers import (
    baselines,
    call_size,
    check,
    faults,
    identity,
    libraries,
    models,
    rounding,
    row_scorers,
    taken_columns,
    values,
)

__all__ = [
    "baselines",
    "call_size",
    "check",
    "faults",
    "identity",
    "libraries",
    "models",
    "rounding",
    "row_scorers",
    "taken_columns",
    "values",
]
