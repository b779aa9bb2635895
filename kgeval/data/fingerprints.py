"""Fingerprints of triples, for datasets, tables of scores and sets of negatives.

A fingerprint depends neither on the ids nor on the order of the rows. Datasets, evaluations and classifications
compute fingerprints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Ids
from kgeval.data.row_keys import group_rows
from kgeval.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class FurtherPart:
    """What a fingerprint also depends on: one text for each triple, such as its time.

    Parameters
    ----------
    name : str
    texts : sequence of str
        The distinct texts, in an order that follows from the texts.
    codes : mapping of str to int64 array, shape (n,)
        For each array of triples, the index of each triple's text; -1 for a missing value.
    """

    name: str
    texts: Sequence[str]
    codes: Mapping[str, Ids]


def fingerprint_triples(
    title: str,
    entities: Vocabulary,
    relations: Vocabulary,
    parts: Mapping[str, Ids],
    with_labels: bool = False,
    further: Sequence[FurtherPart] = (),
) -> str:
    """Return the SHA-256 (hexadecimal) of one or more named arrays of triples.

    Parameters
    ----------
    title : str
        The kind of the data and the version of this method; the fingerprint depends on this text.
    entities, relations : Vocabulary
        Each id is replaced by the position of its label among the sorted labels.
    parts : mapping of str to int64 array, shape (n, 3)
        Columns s, p, o. The fingerprint depends on the names and the order of the arrays, not on the order of the rows
        in an array.
    with_labels : bool
        Whether the fingerprint also depends on the labels themselves, including labels that occur in no triple.
    further : sequence of FurtherPart
        Times and qualifiers of the triples.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256(f"{title}\n".encode())
    # positions[0] (entities), positions[1] (relations): for each id, the position of its label among the sorted labels
    positions = []
    for vocabulary in (entities, relations):
        places = np.empty(len(vocabulary), dtype=np.int64)
        start = 0
        for ids in vocabulary.labels.in_text_order():
            if with_labels:
                digest.update((b", " if start else b"[") + vocabulary.labels.json_of(ids))
            places[ids] = np.arange(start, start + len(ids))
            start += len(ids)
        if with_labels:
            digest.update(b"]" if start else b"[]")
        positions.append(places)
    for part in further:
        digest.update(f"\n{part.name} {json.dumps([*part.texts])}".encode())
    for name, triples in parts.items():
        columns = [positions[0][triples[:, 0]], positions[1][triples[:, 1]], positions[0][triples[:, 2]]]
        columns += [part.codes[name] + 1 for part in further]
        order_of_rows, _ = group_rows(*columns)
        digest.update(f"\n{name} {len(triples)}\n".encode())
        sorted_rows = np.take(np.column_stack(columns), order_of_rows, axis=0)
        digest.update(sorted_rows.astype("<i8", copy=False).data)
    return digest.hexdigest()
