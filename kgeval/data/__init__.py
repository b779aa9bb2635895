"""Datasets, queries, known triples, negatives, candidates and the protocol.

Packages that evaluate, rank, report or compare import these names from this package.
"""

from kgeval.data import (
    candidates,
    column_names,
    corruption,
    dataset,
    fingerprints,
    frames,
    further_values,
    keys,
    known,
    labels,
    library_objects,
    lists,
    predictions,
    protocol,
    qualifiers,
    queries,
    row_keys,
    sides,
    triples,
    vocabulary,
)

__all__ = [
    "candidates",
    "column_names",
    "corruption",
    "dataset",
    "fingerprints",
    "frames",
    "further_values",
    "keys",
    "known",
    "labels",
    "library_objects",
    "lists",
    "predictions",
    "protocol",
    "qualifiers",
    "queries",
    "row_keys",
    "sides",
    "triples",
    "vocabulary",
]
