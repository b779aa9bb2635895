"""Fingerprints of triples that depend neither on ids nor on the order of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from kgeval.checks import Ids
from kgeval.data.row_keys import group_rows
from kgeval.data.vocabulary import Vocabulary


def fingerprint_triples(
    title: str, entities: Vocabulary, relations: Vocabulary, parts: Mapping[str, Ids], with_labels: bool = False
) -> str:
    """Return the SHA-256 (hexadecimal) of named parts of triples.

    Parameters
    ----------
    title : str
        What is fingerprinted, with the version of its form.
    entities, relations : Vocabulary
        An id counts as its label's place among the sorted labels.
    parts : mapping of str to int64 array, shape (n, 3)
        Columns s, p, o; the order of the parts counts, that of their rows does not.
    with_labels : bool
        Whether the labels themselves count, also those that no triple names.
    """
    digest = hashlib.sha256(f"{title}\n".encode())
    places = []
    for vocabulary in (entities, relations):
        order = sorted(range(len(vocabulary)), key=vocabulary.labels.__getitem__)
        if with_labels:
            digest.update(json.dumps([vocabulary.labels[i] for i in order]).encode("ascii"))
        places.append(np.argsort(np.array(order, dtype=np.int64), kind="stable"))
    for name, triples in parts.items():
        s, p, o = places[0][triples[:, 0]], places[1][triples[:, 1]], places[0][triples[:, 2]]
        order_of_rows, _ = group_rows(s, p, o)
        digest.update(f"\n{name} {len(triples)}\n".encode())
        digest.update(np.column_stack([s, p, o])[order_of_rows].astype("<i8").tobytes())
    return digest.hexdigest()
