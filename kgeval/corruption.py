"""Who may replace an entity, and which replacements are known to be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, check_one_of, check_positive_int, check_seed
from kgeval.dataset import Dataset
from kgeval.errors import DataError
from kgeval.queries import Queries, check_side, check_sides, given_and_asked
from kgeval.triples import RowKeys, distinct_sorted, rank_in

SETTINGS = ("raw", "filtered")


@dataclass(frozen=True)
class KnownIndex:
    """The distinct known triples of one side as one sorted array of keys: relation, given entity, answer.

    The answers of a query stand together in it, and binary search finds them.

    Parameters
    ----------
    layout : RowKeys
        How a key is made of (relation, given entity, answer).
    keys : int64 array, shape (known,)
        Sorted and distinct.
    """

    layout: RowKeys
    keys: Ids

    @classmethod
    def of(cls, triples: Ids, side: str) -> KnownIndex:
        """Index `triples`, int64 (n, 3), for queries that ask `side`; repeated triples count once."""
        given, answer = given_and_asked(triples, side)
        layout, keys = RowKeys.of(triples[:, 1], given, answer)
        keys.sort()
        return cls(layout, distinct_sorted(keys))

    @cached_property
    def answers(self) -> Ids:
        """The answers of all queries, int64 (known,); `spans` tells where those of a query are."""
        return self.layout.last_ids(self.keys)

    def lookup(self, relation: Ids, given: Ids) -> tuple[Ids, Ids]:
        """Return the known answers of each query as CSR.

        Parameters
        ----------
        relation, given : int64 arrays, shape (queries,)

        Returns
        -------
        offsets : int64 array, shape (queries + 1,)
        answers : int64 array
            Those of query i are ``answers[offsets[i]:offsets[i + 1]]``, sorted and distinct.
        """
        starts, stops = self.spans(relation, given)
        offsets = np.concatenate([[0], np.cumsum(stops - starts)]).astype(np.int64)
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], stops - starts)
        return offsets, self.layout.last_ids(self.keys[places])

    def contains(self, relation: Ids, given: Ids, answer: Ids) -> npt.NDArray[np.bool_]:
        """Tell which triples are known, shape (n,)."""
        wanted, is_possible = self.layout.encode(relation, given, answer)
        return rank_in(self.keys, wanted)[1] & is_possible

    def count_others(self, triples: Ids, side: str) -> Ids:
        """Return, per triple, how many known answers its query has beside its own, int64 (n,)."""
        given, answer = given_and_asked(triples, side)
        starts, stops = self.spans(triples[:, 1], given)
        return stops - starts - self.contains(triples[:, 1], given, answer)

    def spans(self, relation: Ids, given: Ids) -> tuple[Ids, Ids]:
        """Return where the answers of each query start and stop; those of an unknown query at 0."""
        least, greatest, is_possible = self.layout.spans(relation, given)
        starts = np.searchsorted(self.keys, least)
        stops = np.searchsorted(self.keys, greatest, side="right")
        is_known = is_possible & (starts < stops)
        return np.where(is_known, starts, 0), np.where(is_known, stops, 0)


def known_triples(dataset: Dataset, splits: Sequence[str]) -> Ids:
    """Return the triples of `splits` together, int64 (n, 3), repeated ones included."""
    parts = [dataset[split].array for split in splits]
    return np.concatenate(parts) if parts else np.zeros((0, 3), dtype=np.int64)


def negatives(
    dataset: Dataset,
    triple: tuple[str, str, str],
    side: str,
    setting: str = "filtered",
    filter_splits: Sequence[str] | None = None,
) -> list[str]:
    """Return the entities that replace one side of `triple` to make its negatives.

    Parameters
    ----------
    dataset : Dataset
    triple : tuple of three labels
        Subject, relation, object.
    side : str
        The side that is replaced: ``"subject"`` or ``"object"`` (or head/tail, s/o).
    setting : str
        ``"raw"``: every other entity. ``"filtered"``: of these, none that makes a known triple.
    filter_splits : sequence of str, optional
        The splits whose triples are known; by default all that the dataset has.

    Returns
    -------
    list of str
        Labels in id order; the triple's own entity is not among them.

    Raises
    ------
    DataError
        If a label is unknown.

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
    side = check_side(side)
    check_one_of("setting", setting, SETTINGS)
    if len(triple) != 3:
        raise DataError(f"triple must be (subject, relation, object) labels; got {triple!r}")
    s, o = dataset.entities.ids([triple[0], triple[2]])
    p = dataset.relations.ids([triple[1]])[0]
    given, asked = given_and_asked(np.array([[s, p, o]]), side)
    is_negative = np.ones(len(dataset.entities), dtype=bool)
    is_negative[asked] = False
    if setting == "filtered":
        index = KnownIndex.of(known_triples(dataset, _known_splits(dataset, filter_splits)), side)
        is_negative[index.lookup(np.array([p]), given)[1]] = False
    return [dataset.entities.labels[i] for i in np.flatnonzero(is_negative)]


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
) -> Ids:
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

    Returns
    -------
    int64 array, shape (m, 3)
        In the order of their positives. A query with fewer candidates than negatives asked gives all it has: m is
        then less than n times the positives.

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
    >>> sorted(negatives[:, 2].tolist())  # 1 and 2 are known; there is no third candidate
    [0, 3]
    """
    n, asked = check_positive_int("n", n), check_sides(sides)
    rng = np.random.default_rng(check_seed(seed))
    positives = dataset[split].array
    known = known_triples(dataset, [*_known_splits(dataset, filter_splits), split])
    coin = rng.integers(0, 2, size=len(positives))
    parts, owners = [], []
    for place, side in enumerate(asked):
        has_one_more = (coin == place) & (n % len(asked) == 1)
        chosen = np.repeat(np.arange(len(positives)), n // len(asked) + has_one_more)
        queries = Queries.of(positives[chosen], side)
        drawn = _draw_unknown(queries, KnownIndex.of(known, side), len(dataset.entities), rng)
        owner = chosen[queries.rows[drawn >= 0]]
        part = positives[owner]
        part[:, 0 if side == "subject" else 2] = drawn[drawn >= 0]
        parts.append(part)
        owners.append(owner)
    return np.concatenate(parts)[np.argsort(np.concatenate(owners), kind="stable")]


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
