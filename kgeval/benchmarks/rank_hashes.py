"""SHA-256 of the ranks, of the scores and of the labels of a result, for its card.

The hashes depend neither on the order of the rows nor on the ids: the same ranks give the same hash if another library
numbered the entities, or wrote the rows, in another order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Reals
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.known import SETTINGS
from kgeval.results.evaluation_result import EvaluationResult

_COUNTS = ("better", "tied", "rivals")


def ranks_digest(result: EvaluationResult) -> str:
    """Return the SHA-256 of the ranks: of labels, side, split and all counts of each row.

    A row that occurs twice counts twice. Each label is replaced by its position among the sorted labels of the rows;
    these labels are hashed first. Scores are not hashed, and a bounded rank is hashed with its bounds.

    Parameters
    ----------
    result : EvaluationResult

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> up, down = (kg.evaluate(lambda s, p, o: sign * o, dataset, progress=False) for sign in (1, -1))
    >>> ranks_digest(up) == ranks_digest(up), ranks_digest(up) == ranks_digest(down)
    (True, False)
    """
    return _digest(result, "kgeval ranks 1")


def scores_digest(result: EvaluationResult) -> str | None:
    """Return the SHA-256 of the positives' scores as float64, with labels, side and split; None if no score is known.

    Parameters
    ----------
    result : EvaluationResult

    Returns
    -------
    str or None
        64 hexadecimal digits; None if every score is NaN, for example if ranks were given without scores.
    """
    scores = result.table["score"].to_numpy(dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    if np.isnan(scores).all():
        return None
    # One pattern of bits for every NaN.
    return _digest(result, "kgeval scores 1", np.where(np.isnan(scores), np.nan, scores))


def labels_digest(result: EvaluationResult) -> str:
    """Return the SHA-256 of all labels of entities and relations, including labels that occur in no ranked triple.

    Parameters
    ----------
    result : EvaluationResult

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return fingerprint_triples("kgeval labels 1", result.entities, result.relations, {}, with_labels=True)


def _digest(result: EvaluationResult, title: str, scores: Reals | None = None) -> str:
    """Return the SHA-256 of the labels, and of the sorted rows as integers that depend on the labels only.

    A row has the positions of subject, relation, object, side and split; for each setting better, tied, rivals, and 1
    if the rank is bounded; then its score, if there are scores.
    """
    table, n = result.table, len(result.table)
    digest = hashlib.sha256(f"{title}\n{n}\n".encode())
    subjects, relations, objects = (table[name].to_numpy() for name in "spo")
    values: list[tuple[Any, Callable[[Any], Iterable[str]]]] = [
        (np.concatenate([subjects, objects]), result.entities.labels.take),
        (relations, result.relations.labels.take),
        (table["side"].array, list),
        (table["split"].array, list),
    ]
    places = []  # of the text of each row among the sorted distinct texts
    for of_rows, texts_of in values:
        codes, distinct = pd.factorize(of_rows)
        texts, inverse = np.unique(np.array(list(texts_of(distinct)), dtype=object), return_inverse=True)
        digest.update(json.dumps(texts.tolist()).encode("ascii") + b"\n")
        places.append(inverse[codes])
    entities, *others = places
    columns = [entities[:n], others[0], entities[n:], *others[1:]]
    for setting in SETTINGS:
        columns += [table[f"{name}_{setting}"].to_numpy() for name in _COUNTS]
        columns.append(result.rank_table.is_bounded(setting).astype(np.int64))
    rows = np.column_stack(columns).astype(np.int64)
    order = np.lexsort([*([] if scores is None else [scores]), *rows.T[::-1]])
    digest.update(np.take(rows, order, axis=0).astype("<i8").tobytes())
    if scores is not None:
        digest.update(scores[order].astype("<f8").tobytes())
    return digest.hexdigest()
