"""Negatives of a triple: all of them (`negatives`), or a random sample (`sample_negatives`).

Users call both functions; `kgeval.classify` calls `sample_negatives` to draw random negatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_one_of, check_positive_int, check_seed
from kgeval.data.dataset import Dataset
from kgeval.data.frames import with_labels
from kgeval.data.known import SETTINGS, KnownIndex, known_triples
from kgeval.data.queries import Queries, check_side, check_sides, query_parts
from kgeval.data.vocabulary import triple_ids
from kgeval.errors import DataError


def negatives(
    dataset: Dataset,
    triple: Sequence[str | int],
    side: str,
    setting: str = "filtered",
    filter_splits: Sequence[str] | None = None,
    *,
    ids: bool = False,
) -> list[str] | Ids:
    """Return the entities that can replace the subject or object of `triple` to form a negative.

    Parameters
    ----------
    dataset : Dataset
    triple : sequence of three labels or ids
        Subject, relation, object.
    side : str
        The side whose entity is replaced: ``"subject"`` or ``"object"`` (or head/tail, s/o).
    setting : str
        ``"raw"``: all other entities. ``"filtered"``: all other entities that do not form a known triple.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all splits of the dataset.
    ids : bool
        Whether to return ids instead of labels.

    Returns
    -------
    list of str, or int64 array
        The entities in id order, without the entity that `triple` has on this side.

    Raises
    ------
    DataError
        If `dataset` is not a Dataset, if `triple` does not have three parts, or if a part is not in `dataset`.
    ProtocolError
        If `side` or `setting` is not one of the values above, or if `dataset` lacks one of `filter_splits`.

    Examples
    --------
    >>> import pandas as pd
    >>> facts = pd.DataFrame([["Jack", "likes", "Italy"], ["Jack", "likes", "China"]])
    >>> dataset = Dataset.from_frames(test=facts)
    >>> negatives(dataset, ("Jack", "likes", "Italy"), "object", "raw")
    ['China', 'Jack']
    >>> negatives(dataset, ("Jack", "likes", "Italy"), "object", "filtered")
    ['Jack']
    """
    if not isinstance(dataset, Dataset):
        raise DataError(f"the first argument must be a Dataset; got {dataset!r}")
    side = check_side(side)
    check_one_of("setting", setting, SETTINGS)
    if len(triple) != 3:
        raise DataError(f"triple must be (subject, relation, object) labels; got {triple!r}")
    given, asked = query_parts(triple_ids(dataset.entities, dataset.relations, triple)[None], side)
    is_negative = np.ones(len(dataset.entities), dtype=bool)  # shape (entities,)
    is_negative[asked] = False
    if setting == "filtered":
        known = known_triples(dataset, _known_splits(dataset, filter_splits))
        is_negative[KnownIndex.of(*query_parts(known, side)).lookup(*given)[1]] = False
    negative_ids = np.flatnonzero(is_negative)
    return negative_ids if ids else [dataset.entities.labels[i] for i in negative_ids]


def _known_splits(dataset: Dataset, filter_splits: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return `filter_splits` as a tuple of names; if it is None, all splits of the dataset."""
    names = (filter_splits,) if isinstance(filter_splits, str) else filter_splits
    return tuple(dataset.splits) if names is None else tuple(names)


def sample_negatives(
    dataset: Dataset,
    split: str,
    n: int = 1,
    sides: Sequence[str] | str = "both",
    seed: int = 0,
    filter_splits: Sequence[str] | None = None,
    *,
    ids: bool = False,
) -> pd.DataFrame:
    """Draw `n` random negatives for every positive (triple of a split); no negative is a known triple.

    A negative is the positive with another entity as subject or as object. All entities that do not form a known triple
    have the same probability. All negatives of one query, (s, p, ?) or (?, p, o), are distinct, even if several
    positives have this query. A negative with a new subject and a negative with a new object can be the same triple.

    Parameters
    ----------
    dataset : Dataset
    split : str
    n : int
        The number of negatives for each positive, both sides together.
    sides : str or sequence of str
        The sides whose entities are replaced. With two sides, each positive gets n // 2 negatives per side; if n is
        odd, a fair coin chooses the side of the last negative.
    seed : int
        At least 0. The same arguments with the same seed always give the same negatives.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all splits of the dataset. The triples of `split` are always
        known.
    ids : bool
        Whether the frame holds ids instead of labels.

    Returns
    -------
    pandas.DataFrame
        One row per negative, in the order of the positives. Columns: ``s``, ``p`` and ``o``; ``side``, the side whose
        entity was replaced; ``positive``, the row of the positive in the split. If a query has fewer unknown
        triples than negatives to draw, all of its unknown triples are drawn, and some positives get fewer than n
        negatives.

    Raises
    ------
    ProtocolError
        If `dataset` lacks `split` or one of `filter_splits`, or if `n`, `sides` or `seed` is invalid.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS (corruption); Socher et al.
    (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS (negatives for classification).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2]], n_entities=4, n_relations=1)
    >>> negatives = sample_negatives(dataset, "test", n=3, sides="object")
    >>> sorted(negatives["o"])  # objects 1 and 2 make known triples, so only entities 0 and 3 are left
    ['0', '3']
    """
    n, side_names = check_positive_int("n", n), check_sides(sides)
    rng = np.random.default_rng(check_seed(seed))
    positives = dataset[split].array
    known = known_triples(dataset, [*_known_splits(dataset, filter_splits), split])
    # coin[i], (positives,): the index of the side on which positive i gets the one additional negative if n is odd.
    # Used only if there are two sides and n is odd.
    coin = rng.integers(0, 2, size=len(positives))
    # Lists with one array per side. parts: the negatives, int64 (negatives, 3). positive_rows: for each negative, the
    # row of its positive. side_codes: for each negative, the index of its side.
    parts, positive_rows, side_codes = [], [], []
    for code, side in enumerate(side_names):
        has_one_more = (coin == code) & (n % len(side_names) == 1)
        # repeated_rows, (draws,): the row of each positive, repeated once per negative to draw on this side.
        repeated_rows = np.repeat(np.arange(len(positives)), n // len(side_names) + has_one_more)
        # The draws are grouped by query, because the negatives of one query are drawn together, without repeats.
        queries = Queries.of(positives[repeated_rows], side)
        drawn = _draw_unknown(queries, KnownIndex.of(*query_parts(known, side)), len(dataset.entities), rng)
        is_drawn = drawn >= 0
        # rows, (negatives,): for each drawn negative, the row of its positive in `positives`. queries.rows are indices
        # of repeated_rows.
        rows = repeated_rows[queries.rows[is_drawn]]
        part = positives[rows]
        part[:, 0 if side == "subject" else 2] = drawn[is_drawn]
        parts.append(part)
        positive_rows.append(rows)
        side_codes.append(np.full(len(rows), code))
    positive_row = np.concatenate(positive_rows)
    order = np.argsort(positive_row, kind="stable")
    columns: dict[str, Any] = dict(zip("spo", np.concatenate(parts)[order].T))
    columns["side"] = pd.Categorical.from_codes(np.concatenate(side_codes)[order], pd.Index(side_names))
    frame = pd.DataFrame({**columns, "positive": positive_row[order]})
    return frame if ids else with_labels(frame, dataset.entities, dataset.relations)


def _draw_unknown(queries: Queries, index: KnownIndex, n_entities: int, rng: np.random.Generator) -> Ids:
    """Draw one entity for each positive of `queries`, without repeats within a query.

    An entity is allowed if it is not a known answer of the query. A random number k is drawn for each positive. The
    result is the entity at position k (counted from 0) in the list of allowed entities, sorted by id. Example: of 6
    entities, 1 and 2 are known answers, so 0, 3, 4 and 5 are allowed. k = 1 gives entity 3, because 2 known answers
    have lower ids: 1 + 2 = 3.

    Returns
    -------
    int64 array, shape (positives,)
        In the order of ``queries.rows``; -1 for a positive for which no allowed entity is left.
    """
    offsets, known = index.lookup(queries.relation, queries.given)
    drawn = np.full(len(queries.rows), -1, dtype=np.int64)
    for i in range(len(queries)):
        known_answers = known[offsets[i] : offsets[i + 1]]  # sorted and distinct
        first, last = queries.offsets[i], queries.offsets[i + 1]
        n_allowed = n_entities - len(known_answers)
        # (draws,): the numbers k, distinct, each in 0 .. n_allowed - 1.
        positions = rng.choice(n_allowed, size=min(last - first, n_allowed), replace=False)
        # n_allowed_before[j], (known answers,): how many allowed entities have a lower id than known answer j; these
        # counts never decrease.
        n_allowed_before = known_answers - np.arange(len(known_answers))
        # (draws,): for each k, how many known answers have a lower id than the allowed entity at position k. The id of
        # this entity is k plus this count.
        n_known_before = np.searchsorted(n_allowed_before, positions, side="right")
        drawn[first : first + len(positions)] = positions + n_known_before
    return drawn
