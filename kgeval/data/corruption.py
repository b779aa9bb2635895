"""Negatives of a triple: all of them (`negatives`), or a random sample (`sample_negatives`).

Users call both functions; `kgeval.classify` calls `sample_negatives` when it draws its own negatives.
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
    """Return the entities that make a negative of `triple` when they replace its entity on one side.

    Parameters
    ----------
    dataset : Dataset
    triple : sequence of three labels or ids
        Subject, relation, object.
    side : str
        The side that is replaced: ``"subject"`` or ``"object"`` (or head/tail, s/o).
    setting : str
        ``"raw"``: every other entity. ``"filtered"``: every other entity that does not make a known triple.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all splits of the dataset.
    ids : bool
        Whether to return ids instead of labels.

    Returns
    -------
    list of str, or int64 array
        In id order, without the entity of `triple` itself.

    Raises
    ------
    DataError
        If `dataset` is no Dataset, `triple` has not three parts, or a label or an id is unknown.
    ProtocolError
        If `side` or `setting` is not one of the above.

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
        raise DataError(f"expected a Dataset and then a triple; got {dataset!r}")
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
    """Return the splits whose triples are known; a single name counts as a sequence of one, None as all splits."""
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
    """Draw `n` negatives for every positive of a split, uniformly from those that are not known triples.

    A negative replaces the subject or the object of its positive by an entity that makes no known triple. All negatives
    of one query, (s, p, ?) or (?, p, o), are distinct, even if several positives share the query. A subject query and
    an object query can give the same negative.

    Parameters
    ----------
    dataset : Dataset
    split : str
    n : int
        How many negatives each positive gets, both sides together.
    sides : str or sequence of str
        The sides that are replaced. With two sides, each gets n // 2 negatives of a positive; if n is odd, a fair coin
        chooses for each positive the side that gets one more.
    seed : int
        At least 0. The same seed gives the same negatives, whatever was drawn before.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all splits of the dataset. The triples of `split` are always
        known.
    ids : bool
        Whether the frame holds ids instead of labels.

    Returns
    -------
    pandas.DataFrame
        One row per negative, in the order of the positives: ``s, p, o``, the ``side`` that was replaced, and
        ``positive``, the row of the positive in the split. If a query has too few entities that make no known triple,
        all of these are drawn, and the frame has fewer than n rows per positive.

    Raises
    ------
    ProtocolError
        If the dataset has no such split, or `n`, `sides` or `seed` are not as above.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS (corruption); Socher et al.
    (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS (negatives for classification).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2]], n_entities=4, n_relations=1)
    >>> negatives = sample_negatives(dataset, "test", n=3, sides="object")
    >>> sorted(negatives["o"])  # objects 1 and 2 make known triples, so only two entities are left
    ['0', '3']
    """
    n, side_names = check_positive_int("n", n), check_sides(sides)
    rng = np.random.default_rng(check_seed(seed))
    positives = dataset[split].array
    known = known_triples(dataset, [*_known_splits(dataset, filter_splits), split])
    coin = rng.integers(0, 2, size=len(positives))  # the side with one more negative, per positive, if n is odd
    # Per side: the negatives, int64 (negatives, 3), the row of the positive of each, and the code of the side.
    parts, positive_rows, side_codes = [], [], []
    for code, side in enumerate(side_names):
        has_one_more = (coin == code) & (n % len(side_names) == 1)
        # The row of each positive, repeated as often as this side is to be replaced, (draws,).
        repeated_rows = np.repeat(np.arange(len(positives)), n // len(side_names) + has_one_more)
        # Grouping the repeated positives by query lets all draws of one query be made together, without repeats.
        queries = Queries.of(positives[repeated_rows], side)
        drawn = _draw_unknown(queries, KnownIndex.of(*query_parts(known, side)), len(dataset.entities), rng)
        is_drawn = drawn >= 0
        # queries.rows points into repeated_rows, which points into positives, (negatives,).
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

    The entities that may be drawn, in id order, are those that are no known answer of the query. A number k is drawn,
    and the k-th of them (from 0) is the result. With 6 entities and the known answers 1 and 2, these are 0, 3, 4, 5;
    k = 1 gives entity 3, because 2 known answers have lower ids: 1 + 2 = 3.

    Returns
    -------
    int64 array, shape (positives,)
        In the order of ``queries.rows``; -1 where the query has no entity left.
    """
    offsets, known = index.lookup(queries.relation, queries.given)
    drawn = np.full(len(queries.rows), -1, dtype=np.int64)
    for i in range(len(queries)):
        known_answers = known[offsets[i] : offsets[i + 1]]  # sorted and distinct
        first, last = queries.offsets[i], queries.offsets[i + 1]
        n_allowed = n_entities - len(known_answers)
        # The numbers k, distinct, each in 0 .. n_allowed - 1.
        positions = rng.choice(n_allowed, size=min(last - first, n_allowed), replace=False)
        # How many allowed entities have a lower id than each known answer; not decreasing.
        n_allowed_before = known_answers - np.arange(len(known_answers))
        # How many known answers have a lower id than the k-th allowed entity: its id is k plus this number.
        n_known_before = np.searchsorted(n_allowed_before, positions, side="right")
        drawn[first : first + len(positions)] = positions + n_known_before
    return drawn
