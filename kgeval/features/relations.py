"""What kind a relation is: how many answers it gives, and which other triples its triples follow from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, check_number
from kgeval.data import RowKeys, TripleSet, group_rows, rank_in

Names = npt.NDArray[np.object_]

CARDINALITIES = ("1-1", "1-N", "N-1", "N-N", "unknown")
PATTERNS = ("symmetric", "inverse", "duplicate", "composition", "other", "unknown")
MAX_PATHS = 500_000
NO_LIMIT = np.iinfo(np.int64).max


def cardinalities(triples: npt.ArrayLike, n_relations: int, threshold: float = 1.5) -> Names:
    """Return whether each relation has one or many subjects and objects: 1-1, 1-N, N-1 or N-N.

    The first place tells of subjects, the second of objects. A relation is 1-N if a subject has many objects
    (mean number of distinct objects per (s, p) not below `threshold`) and an object one subject (mean number of
    distinct subjects per (p, o) below it): parent of. N-1 is the reverse: born in. Compared exactly, without rounding:
    a mean that equals `threshold`, written in decimals, is many.

    Parameters
    ----------
    triples : array_like of int, shape (n, 3)
        Columns s, p, o; a repeated triple counts once. Which splits they come from matters: of FB15k-237, means over
        train alone put 323 of 20,466 test triples in another class than means over all splits.
    n_relations : int
    threshold : float
        Above 0. Below it, a mean is "1".

    Returns
    -------
    object array of str, shape (n_relations,)
        Of `CARDINALITIES`; ``"unknown"`` for a relation that `triples` lack.

    Raises
    ------
    DataError
        If `triples` are no triples of ids, or name a relation that is not below `n_relations`.
    MetricError
        If `threshold` is no number above 0.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS.

    Examples
    --------
    >>> cardinalities([[0, 0, 1], [0, 0, 2], [1, 1, 0], [2, 1, 0]], n_relations=3)
    array(['1-N', 'N-1', 'unknown'], dtype=object)
    """
    limit = Fraction(str(check_number("threshold", threshold, 0, np.inf, "a number above 0")))
    array = _distinct_triples(_checked_triples(triples, n_relations))
    # Python's integers: the exact fraction of a long decimal does not fit 64 bits.
    n = _counts(array[:, 1], n_relations).astype(object)
    groups = [_groups(array, place, n_relations).astype(object) for place in (2, 0)]
    is_many = [n * limit.denominator >= n_groups * limit.numerator for n_groups in groups]
    codes = np.where(n == 0, CARDINALITIES.index("unknown"), 2 * is_many[0] + is_many[1])
    return np.array(CARDINALITIES, dtype=object)[codes]


def patterns(
    triples: npt.ArrayLike, n_relations: int, least: float = 0.8, most_paths: int | None = MAX_PATHS
) -> tuple[Names, str]:
    """Return which pattern the pairs (s, o) of each relation follow, the first that fits of these.

    ``"symmetric"``: the share `least` or more of its distinct pairs also stand reversed in the relation itself.
    ``"inverse"``: so many stand reversed in one other relation. ``"duplicate"``: so many stand unreversed in one other
    relation. ``"composition"``: so many are joined by a path of two triples (s, p1, x), (x, p2, o) for one choice
    of (p1, p2), which may be the relation itself (transitive). ``"other"``: none of these. Loops (s, p, s) are left
    out everywhere. Only the relation's own pairs are asked: the share of the other's pairs, and how often the path
    leads elsewhere, does not count. Shares are compared exactly.

    Parameters
    ----------
    triples : array_like of int, shape (n, 3)
        Columns s, p, o; a repeated triple counts once.
    n_relations : int
    least : float
        Above 0 and at most 1.
    most_paths : int, optional
        Compositions are looked for in relations without another pattern, those with the fewest paths begun first, until
        so many in all: one at each triple that starts at the subject of a pair, or ends at its object if these are
        fewer. The rest is ``"other"``. None: no limit.

    Returns
    -------
    patterns : object array of str, shape (n_relations,)
        Of `PATTERNS`; ``"unknown"`` for a relation that `triples` lack.
    note : str
        In how many relations compositions were not looked for; empty if in none.

    Raises
    ------
    DataError, MetricError
        As `cardinalities`.

    References
    ----------
    Dettmers et al. (2018), Convolutional 2D Knowledge Graph Embeddings, AAAI (inverse pairs, at least 80%). Akrami et
    al. (2020), Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD (reverse and duplicate relations).

    Examples
    --------
    >>> married, parent, child = [[0, 0, 1], [1, 0, 0]], [[0, 1, 2], [0, 1, 3]], [[2, 2, 0], [3, 2, 0]]
    >>> patterns([*married, *parent, *child], n_relations=3)[0]
    array(['symmetric', 'inverse', 'inverse'], dtype=object)
    """
    says = "a number above 0 and at most 1"
    share = Fraction(str(check_number("least", least, 0, np.nextafter(1, 2), says)))
    array = _checked_triples(triples, n_relations)
    pairs = _Pairs.of(array)
    n = _counts(pairs.p, n_relations)

    def fits(n_matched: Ids) -> npt.NDArray[np.bool_]:
        # Python's integers: the exact fraction of a long decimal does not fit 64 bits.
        is_enough = n_matched.astype(object) * share.denominator >= n.astype(object) * share.numerator
        return np.asarray((n > 0) & is_enough.astype(bool))

    itself, reversed_ = _reversed_pairs(pairs, n_relations)
    matched = {"duplicate": _shared_pairs(pairs, n_relations), "inverse": reversed_, "symmetric": itself}
    codes: Ids = np.full(n_relations, PATTERNS.index("other"))
    for name, n_matched in matched.items():  # the last that fits stays
        codes[fits(n_matched)] = PATTERNS.index(name)
    is_open = (n > 0) & (codes == PATTERNS.index("other"))
    steps = _Steps.of(pairs)
    is_asked, note = _affordable(pairs, steps, is_open, NO_LIMIT if most_paths is None else most_paths)
    composed = _composed_pairs(pairs, steps, is_asked)
    codes[is_asked & fits(composed)] = PATTERNS.index("composition")
    codes[_counts(array[:, 1], n_relations) == 0] = PATTERNS.index("unknown")
    return np.array(PATTERNS, dtype=object)[codes], note


@dataclass(frozen=True)
class _Pairs:
    """The distinct triples that are no loops, sorted by (s, o, p), and which relations hold between two entities.

    `by_object` is the order that sorts them by (o, s, p). `keys` are those of the distinct (s, o), sorted; the triples
    of the i-th are ``starts[i]:starts[i + 1]``.
    """

    s: Ids
    p: Ids
    o: Ids
    by_object: Ids
    layout: RowKeys
    keys: Ids
    starts: Ids

    @classmethod
    def of(cls, triples: Ids) -> _Pairs:
        array = triples[triples[:, 0] != triples[:, 2]]
        order, groups = group_rows(array[:, 0], array[:, 2], array[:, 1])
        s, p, o = array[order[groups[:-1]]].T
        layout, keys = RowKeys.of(s, o)
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        return cls(s, p, o, group_rows(o)[0], layout, keys[starts], np.append(starts, len(keys)))

    def between(self, subjects: Ids, objects: Ids) -> tuple[Ids, Ids]:
        """Return how many relations hold between each two entities, shape (n,), and all of them one after another."""
        wanted, is_possible = self.layout.encode(subjects, objects)
        rank, is_there = rank_in(self.keys, wanted)
        first = np.where(is_there & is_possible, rank, len(self.keys))  # the last start: no triple there
        stop = np.minimum(first + 1, len(self.keys))
        counts = self.starts[stop] - self.starts[first]
        return counts, self.p[_expanded(self.starts[first], counts)]


def _expanded(starts: Ids, counts: Ids) -> Ids:
    """Return the places ``start, ..., start + count - 1`` of each, one after another."""
    return np.asarray(np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts))


def _checked_triples(triples: Any, n_relations: int) -> Ids:
    return TripleSet(triples, NO_LIMIT, n_relations).array


def _distinct_triples(triples: Ids) -> Ids:
    order, starts = group_rows(triples[:, 1], triples[:, 0], triples[:, 2])
    return triples[order[starts[:-1]]]


def _counts(relations: Ids, n_relations: int) -> Ids:
    return np.bincount(relations, minlength=n_relations)


def _groups(triples: Ids, place: int, n_relations: int) -> Ids:
    """Return how many distinct (p, entity) each relation has, the entity of column `place`."""
    order, starts = group_rows(triples[:, 1], triples[:, place])
    return _counts(triples[order[starts[:-1]], 1], n_relations)


def _reversed_pairs(pairs: _Pairs, n_relations: int) -> tuple[Ids, Ids]:
    """Return how many pairs of each relation stand reversed in itself, and in the one other that has most of them."""
    by_object = pairs.by_object  # asked in sorted order, searches are several times faster
    counts, found = pairs.between(pairs.o[by_object], pairs.s[by_object])
    own = np.repeat(pairs.p[by_object], counts)
    return _counts(own[own == found], n_relations), _most(own, found, n_relations)


def _shared_pairs(pairs: _Pairs, n_relations: int) -> Ids:
    """Return how many pairs of each relation also stand in the one other that has most of them."""
    counts, found = pairs.between(pairs.s, pairs.o)
    return _most(np.repeat(pairs.p, counts), found, n_relations)


def _most(own: Ids, other: Ids, n_relations: int) -> Ids:
    """Return, for each relation of `own`, how often it meets the one of `other`, not itself, that it meets most."""
    own, other = own[own != other], other[own != other]
    return _greatest_group(own, (other,), n_relations)


def _greatest_group(relations: Ids, others: tuple[Ids, ...], n_relations: int) -> Ids:
    """Return, for each of `relations`, how many rows its greatest group of equal `others` has."""
    order, starts = group_rows(relations, *others)
    most = np.zeros(n_relations, dtype=np.int64)
    np.maximum.at(most, relations[order[starts[:-1]]], np.diff(starts))
    return most


@dataclass(frozen=True)
class _Steps:
    """For each pair, its triples to begin a path with: those from its subject, or those to its object if fewer.

    The triples of row i are ``order[starts[i]:starts[i] + counts[i]]``.
    """

    is_forward: npt.NDArray[np.bool_]
    order: tuple[Ids, Ids]
    starts: Ids
    counts: Ids

    @classmethod
    def of(cls, pairs: _Pairs) -> _Steps:
        orders = (np.arange(len(pairs.s)), pairs.by_object)
        from_s, to_o = (_spans(ids, order) for ids, order in zip((pairs.s, pairs.o), orders))
        is_forward = from_s[1] <= to_o[1]
        starts, counts = (np.where(is_forward, one, other) for one, other in zip(from_s, to_o))
        return cls(is_forward, orders, starts, counts)

    def of_rows(self, rows: Ids, is_forward: bool) -> tuple[Ids, Ids]:
        """Return those of `rows` that go this way, each once per triple, and the triples."""
        rows = rows[self.is_forward[rows] == is_forward]
        places = _expanded(self.starts[rows], self.counts[rows])
        return np.repeat(rows, self.counts[rows]), self.order[0 if is_forward else 1][places]


def _spans(ids: Ids, order: Ids) -> tuple[Ids, Ids]:
    """Return, for each row, where its id begins in the order that sorts the ids, and how often it stands there."""
    _, groups = group_rows(ids)
    counts = np.diff(groups)
    starts, times = np.empty_like(ids), np.empty_like(ids)
    starts[order] = np.repeat(groups[:-1], counts)
    times[order] = np.repeat(counts, counts)
    return starts, times


def _affordable(
    pairs: _Pairs, steps: _Steps, is_open: npt.NDArray[np.bool_], most_paths: int
) -> tuple[npt.NDArray[np.bool_], str]:
    """Return in which of the open relations compositions are looked for, and what to say of the others."""
    n_paths = np.zeros(len(is_open), dtype=np.int64)
    np.add.at(n_paths, pairs.p, steps.counts)
    order = np.flatnonzero(is_open)[np.argsort(n_paths[is_open], kind="stable")]
    chosen = order[np.cumsum(n_paths[order]) <= most_paths]
    is_asked = np.zeros(len(is_open), dtype=bool)
    is_asked[chosen] = True
    n_left = len(order) - len(chosen)
    if not n_left:
        return is_asked, ""
    return is_asked, (
        f"pattern: compositions were not looked for in {n_left:,} of {len(order):,} relations without another pattern, "
        f"which begin {n_paths[order].sum():,} paths, more than {most_paths:,}"
    )


def _composed_pairs(pairs: _Pairs, steps: _Steps, is_asked: npt.NDArray[np.bool_]) -> Ids:
    """Return how many pairs of each relation asked are joined by paths over the two relations that join most."""
    asked = np.flatnonzero(is_asked[pairs.p])
    joined = []
    for is_forward in (True, False):
        rows, begun = steps.of_rows(asked, is_forward)
        ends = (pairs.o[begun], pairs.o[rows]) if is_forward else (pairs.s[rows], pairs.s[begun])
        counts, found = pairs.between(*ends)
        rows, known = (np.repeat(part, counts) for part in (rows, pairs.p[begun]))
        joined.append((rows, known, found) if is_forward else (rows, found, known))
    rows, first, second = (np.concatenate(parts) for parts in zip(*joined))
    order, groups = group_rows(rows, first, second)  # a pair counts once, however many paths join it
    distinct = order[groups[:-1]]
    return _greatest_group(pairs.p[rows[distinct]], (first[distinct], second[distinct]), len(is_asked))
