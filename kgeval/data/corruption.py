"""Who may replace an entity, and which replacements are known to be true."""

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
    """Return the entities that replace one side of `triple` to make its negatives.

    Parameters
    ----------
    dataset : Dataset
    triple : sequence of three labels or ids
        Subject, relation, object.
    side : str
        The side that is replaced: ``"subject"`` or ``"object"`` (or head/tail, s/o).
    setting : str
        ``"raw"``: every other entity. ``"filtered"``: of these, none that makes a known triple.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all that the dataset has.
    ids : bool
        Whether to return ids in place of labels.

    Returns
    -------
    list of str, or int64 array
        In id order; the triple's own entity is not among them.

    Raises
    ------
    DataError
        If a label or an id is unknown.

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
    is_negative = np.ones(len(dataset.entities), dtype=bool)
    is_negative[asked] = False
    if setting == "filtered":
        known = known_triples(dataset, _known_splits(dataset, filter_splits))
        is_negative[KnownIndex.of(*query_parts(known, side)).lookup(*given)[1]] = False
    found = np.flatnonzero(is_negative)
    return found if ids else [dataset.entities.labels[i] for i in found]


def _known_splits(dataset: Dataset, filter_splits: Sequence[str] | str | None) -> tuple[str, ...]:
    named = (filter_splits,) if isinstance(filter_splits, str) else filter_splits
    return tuple(dataset.splits) if named is None else tuple(named)


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
    """Draw `n` negatives for every positive of a split, uniformly, none of them known.

    Each replaces one side of its positive by an entity that makes no known triple; those of one query, (s, p, ?) or
    (?, p, o), are distinct, also where several positives share it. Two queries of different sides may give the same
    triple.

    Parameters
    ----------
    dataset : Dataset
    split : str
    n : int
        Negatives of each positive, all sides together.
    sides : str or sequence of str
        With two sides each replaces n // 2 times, and for odd n one more on a side that a fair coin chooses for each
        positive.
    seed : int
        At least 0. The same seed gives the same negatives, whatever was drawn before.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all that the dataset has. `split` itself always is.
    ids : bool
        Whether the frame holds ids in place of labels.

    Returns
    -------
    pandas.DataFrame
        One row per negative, in the order of their positives: ``s, p, o``, the ``side`` that was replaced, and
        ``positive``, the row of its positive in the split. A query with fewer candidates than negatives asked gives all
        it has: there are then fewer rows than n times the positives.

    Raises
    ------
    ProtocolError
        If the split is absent, or `n`, `sides` or `seed` are not as above.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS (corruption); Socher et al.
    (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS (negatives for classification).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2]], n_entities=4, n_relations=1)
    >>> negatives = sample_negatives(dataset, "test", n=3, sides="object")
    >>> sorted(negatives["o"])  # 1 and 2 are known; there is no third candidate
    ['0', '3']
    """
    n, asked = check_positive_int("n", n), check_sides(sides)
    rng = np.random.default_rng(check_seed(seed))
    positives = dataset[split].array
    known = known_triples(dataset, [*_known_splits(dataset, filter_splits), split])
    coin = rng.integers(0, 2, size=len(positives))
    parts, owners, replaced = [], [], []
    for place, side in enumerate(asked):
        has_one_more = (coin == place) & (n % len(asked) == 1)
        chosen = np.repeat(np.arange(len(positives)), n // len(asked) + has_one_more)
        queries = Queries.of(positives[chosen], side)
        drawn = _draw_unknown(queries, KnownIndex.of(*query_parts(known, side)), len(dataset.entities), rng)
        owner = chosen[queries.rows[drawn >= 0]]
        part = positives[owner]
        part[:, 0 if side == "subject" else 2] = drawn[drawn >= 0]
        parts.append(part)
        owners.append(owner)
        replaced.append(np.full(len(owner), place))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    columns: dict[str, Any] = dict(zip("spo", np.concatenate(parts)[order].T))
    columns["side"] = pd.Categorical.from_codes(np.concatenate(replaced)[order], pd.Index(asked))
    frame = pd.DataFrame({**columns, "positive": owner[order]})
    return frame if ids else with_labels(frame, dataset.entities, dataset.relations)


def _draw_unknown(queries: Queries, index: KnownIndex, n_entities: int, rng: np.random.Generator) -> Ids:
    """Return one entity for each answer of `queries`, unknown and distinct within a query; -1 where none is left."""
    offsets, known = index.lookup(queries.relation, queries.given)
    drawn = np.full(len(queries.rows), -1, dtype=np.int64)
    for i in range(len(queries)):
        others = known[offsets[i] : offsets[i + 1]]
        first, last = queries.offsets[i], queries.offsets[i + 1]
        n_allowed = n_entities - len(others)
        places = rng.choice(n_allowed, size=min(last - first, n_allowed), replace=False)
        # The j-th known answer has answers[j] - j allowed entities before it; so many known ones precede a place.
        before = np.searchsorted(others - np.arange(len(others)), places, side="right")
        drawn[first : first + len(places)] = places + before
    return drawn
