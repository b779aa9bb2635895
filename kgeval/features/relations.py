"""Classes of relations: `cardinalities` (1-1, 1-N, N-1, N-N) and `patterns` (symmetric, inverse, composition, ...).

The features ``cardinality`` and ``pattern`` call these functions; users can call them on any array of triples.
`relation_overlaps` counts the pairs of entities that two relations share, and `leaks` finds the triples whose pair of
entities train contains reversed, or under a near-duplicate relation; the feature ``leak`` and `kgeval.audit` call them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Bools, Ids, check_number, names_unknown_arguments
from kgeval.data.known import KnownIndex
from kgeval.data.lists import joined_ranges
from kgeval.data.row_keys import RowKeys, group_rows, is_in, rank_in
from kgeval.data.triples import TripleSet

Names = npt.NDArray[np.object_]

CARDINALITIES = ("1-1", "1-N", "N-1", "N-N", "unknown")
PATTERNS = ("symmetric", "inverse", "duplicate", "composition", "other", "unknown")
LEAKS = ("inverse", "near-duplicate", "symmetric", "none")
HALF_LINKS = ("both", "subject and relation", "relation and object", "none")
MAX_PATHS = 500_000
MIN_OVERLAP = Fraction(4, 5)  # of two relations that are near-inverse or near-duplicate to each other
NO_LIMIT = np.iinfo(np.int64).max


def cardinalities(triples: npt.ArrayLike, n_relations: int, threshold: float = 1.5) -> Names:
    """Return the cardinality class of each relation: 1-1, 1-N, N-1 or N-N.

    The part before the hyphen describes the subjects: it is N ("many") if the mean number of distinct subjects per
    object is at least `threshold`, else 1. The part after the hyphen describes the objects: it is N if the mean number
    of distinct objects per subject is at least `threshold`, else 1. For example, "mother of" is 1-N, since a mother can
    have many children but a child has one mother; "born in" is N-1. Means are compared exactly, without rounding.

    Parameters
    ----------
    triples : array_like of int, shape (n, 3)
        Columns s, p, o; a repeated triple counts once. The choice of splits matters: in FB15k-237, 323 of 20,466 test
        triples get another class if the means are computed from train alone instead of all splits.
    n_relations : int
    threshold : float
        Above 0.

    Returns
    -------
    object array of str, shape (n_relations,)
        The classes, each one of `CARDINALITIES`; ``"unknown"`` for a relation without triples.

    Raises
    ------
    DataError
        If `triples` is not an array of triples of ids, or a relation id is not below `n_relations`.
    MetricError
        If `threshold` is not a number above 0.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS.

    Examples
    --------
    Relation 0 has two objects for subject 0, relation 1 has two subjects for object 0:

    >>> cardinalities([[0, 0, 1], [0, 0, 2], [1, 1, 0], [2, 1, 0]], n_relations=3)
    array(['1-N', 'N-1', 'unknown'], dtype=object)
    """
    limit = Fraction(str(check_number("threshold", threshold, 0, np.inf, "a number above 0")))
    array = _distinct_triples(_checked_triples(triples, n_relations))
    # dtype object: the elements are Python integers, since products with `limit` may not fit into 64 bits.
    n = _counts(array[:, 1], n_relations).astype(object)  # distinct triples of each relation, (n_relations,)
    # n_pairs: two arrays (n_relations,), the number of distinct objects, then of distinct subjects, of each relation
    n_pairs = [_n_pairs(array, column, n_relations).astype(object) for column in (2, 0)]
    # is_many: two arrays (n_relations,), whether the mean n / pairs is at least the threshold, without division. The
    # first array is about the mean number of subjects per object, the second about the mean number of objects per
    # subject.
    is_many = [n * limit.denominator >= pairs * limit.numerator for pairs in n_pairs]
    # Positions in CARDINALITIES: 1-1 is 0, 1-N is 1, N-1 is 2, N-N is 3.
    codes = np.where(n == 0, CARDINALITIES.index("unknown"), 2 * is_many[0] + is_many[1])
    return np.array(CARDINALITIES, dtype=object)[codes]


def patterns(
    triples: npt.ArrayLike, n_relations: int, least: float = 0.8, most_paths: int | None = MAX_PATHS
) -> tuple[Names, str]:
    """Return the pattern of each relation: the first pattern below that fits the relation's distinct pairs (s, o).

    - ``"symmetric"``: at least the share `least` of the pairs also occur reversed, as (o, s), in the relation itself.
    - ``"inverse"``: at least this share of the pairs also occur reversed in one other relation.
    - ``"duplicate"``: at least this share of the pairs also occur, not reversed, in one other relation.
    - ``"composition"``: at least this share of the pairs are joined by a path of two triples (s, p1, x), (x, p2, o),
      with the same (p1, p2) for all these pairs. If p1 and p2 are both the relation itself, the relation is transitive.
    - ``"other"``: no pattern above fits.

    Loops, which are triples (s, p, s), are never counted. A share is the number of matching pairs of the relation,
    divided by the number of all pairs of this relation; the number of pairs of the other relation does not matter.
    Shares are compared exactly, without rounding.

    Parameters
    ----------
    triples : array_like of int, shape (n, 3)
        Columns s, p, o; a repeated triple counts once.
    n_relations : int
    least : float
        The smallest share at which a pattern fits, above 0 and at most 1.
    most_paths : int, optional
        The limit for the cost of the search for compositions. The cost of a pair (s, o) is the smaller of two numbers:
        the triples with subject s, and the triples with object o; the cost of a relation is the sum over its pairs.
        Relations with none of the first three patterns are searched, the cheapest first, as long as their total cost is
        at most the limit. The remaining relations get ``"other"``. None: no limit.

    Returns
    -------
    patterns : object array of str, shape (n_relations,)
        The patterns, each one of `PATTERNS`; ``"unknown"`` for a relation without triples.
    note : str
        Tells how many relations were not searched for compositions; empty if all were searched.

    Raises
    ------
    DataError, MetricError
        As in `cardinalities`.

    References
    ----------
    Dettmers et al. (2018), Convolutional 2D Knowledge Graph Embeddings, AAAI (inverse pairs, at least 80%). Akrami et
    al. (2020), Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD (reverse and duplicate relations).

    Examples
    --------
    Entities 0 and 1 are married, entity 0 is the parent of 2 and 3. "parent of" and "child of" are inverse to each
    other:

    >>> married, parent, child = [[0, 0, 1], [1, 0, 0]], [[0, 1, 2], [0, 1, 3]], [[2, 2, 0], [3, 2, 0]]
    >>> patterns([*married, *parent, *child], n_relations=3)[0]
    array(['symmetric', 'inverse', 'inverse'], dtype=object)
    """
    allowed = "a number above 0 and at most 1"
    share = Fraction(str(check_number("least", least, 0, np.nextafter(1, 2), allowed)))
    array = _checked_triples(triples, n_relations)
    pairs = _Pairs.of(array)
    n = _counts(pairs.p, n_relations)  # the number of pairs of each relation, (n_relations,)

    def fits(n_matched: Ids) -> npt.NDArray[np.bool_]:
        """Return, for each relation, whether at least `share` of its n pairs are matched, bool (n_relations,)."""
        # dtype object: the elements are Python integers, since products with `share` may not fit into 64 bits.
        is_enough = n_matched.astype(object) * share.denominator >= n.astype(object) * share.numerator
        return np.asarray((n > 0) & is_enough.astype(bool))

    p, q, n_reversed = _matches(pairs, is_reversed=True)
    p2, q2, n_shared = _matches(pairs, is_reversed=False)
    matched = {
        "duplicate": _most(p2[p2 != q2], n_shared[p2 != q2], n_relations),
        "inverse": _most(p[p != q], n_reversed[p != q], n_relations),
        "symmetric": _most(p[p == q], n_reversed[p == q], n_relations),
    }
    codes: Ids = np.full(n_relations, PATTERNS.index("other"))  # positions in PATTERNS, (n_relations,)
    for name, n_matched in matched.items():  # a later pattern overwrites an earlier one
        codes[fits(n_matched)] = PATTERNS.index(name)
    is_open = (n > 0) & (codes == PATTERNS.index("other"))
    steps = _FirstSteps.of(pairs)
    is_searched, note = _affordable(pairs, steps, is_open, NO_LIMIT if most_paths is None else most_paths)
    n_composed = _composed_pairs(pairs, steps, is_searched)
    codes[is_searched & fits(n_composed)] = PATTERNS.index("composition")
    codes[_counts(array[:, 1], n_relations) == 0] = PATTERNS.index("unknown")
    return np.array(PATTERNS, dtype=object)[codes], note


def relation_overlaps(triples: npt.ArrayLike, n_relations: int) -> pd.DataFrame:
    """Return how many pairs of entities each relation shares with each relation, in the same direction and reversed.

    The pairs of a relation are the distinct (s, o) of its triples, without loops, which are triples (s, p, s).

    Parameters
    ----------
    triples : array_like of int, shape (n, 3)
        Columns s, p, o, for example the train split; a repeated triple counts once.
    n_relations : int

    Returns
    -------
    pandas.DataFrame
        One row for each p, q and direction with at least one shared pair. Columns: ``p`` and ``q`` (ids);
        ``is_reversed``; ``n`` (how many pairs (s, o) of p are pairs (s, o) of q or, reversed, pairs (o, s) of q);
        ``share`` (the overlap: `n` divided by the number of pairs of p or of q, the larger of the two); ``is_near``
        (whether the overlap is at least .8, compared without rounding). Rows that compare a relation with itself are
        only reversed: their overlap is the share of symmetric pairs.

    Raises
    ------
    DataError
        If `triples` is not an array of triples of ids.

    References
    ----------
    Akrami et al. (2020), Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD.

    Examples
    --------
    >>> parent_of, child_of = [[0, 0, 1], [0, 0, 2]], [[1, 1, 0], [2, 1, 0]]
    >>> relation_overlaps([*parent_of, *child_of], n_relations=2)
       p  q  is_reversed  n  share  is_near
    0  0  1         True  2    1.0     True
    1  1  0         True  2    1.0     True
    """
    pairs = _Pairs.of(_checked_triples(triples, n_relations))
    n_pairs, frames = _counts(pairs.p, n_relations), []
    for is_reversed in (True, False):
        p, q, n = _matches(pairs, is_reversed)
        frames.append(pd.DataFrame({"p": p, "q": q, "is_reversed": is_reversed, "n": n})[is_reversed | (p != q)])
    frame: pd.DataFrame = pd.concat(frames, ignore_index=True)
    largest = np.maximum(n_pairs[frame["p"]], n_pairs[frame["q"]])
    frame["share"] = frame["n"] / largest
    frame["is_near"] = frame["n"] * MIN_OVERLAP.denominator >= largest * MIN_OVERLAP.numerator
    return frame


def half_links(triples: npt.ArrayLike, train: npt.ArrayLike) -> tuple[Bools, Bools]:
    """Return, for each triple (s, p, o), whether train has its subject, and whether train has its object, with p.

    Parameters
    ----------
    triples, train : array_like of int, shape (n, 3) and (m, 3)
        Columns s, p, o, for example the test and the train split.

    Returns
    -------
    has_subject, has_object : bool arrays, shape (n,)
        Whether train contains (s, p, ?), that is, s is in the domain of p that train shows; and whether it contains
        (?, p, o), that is, o is in the range.

    Raises
    ------
    DataError
        If an argument is not an array of triples of ids.

    Examples
    --------
    >>> has_subject, has_object = half_links([[0, 0, 2], [1, 0, 1]], [[0, 0, 1]])
    >>> has_subject.tolist(), has_object.tolist()
    ([True, False], [False, True])
    """
    rows, reference = _checked_triples(triples, NO_LIMIT), _checked_triples(train, NO_LIMIT)
    indexes = ((KnownIndex.of((reference[:, 1],), reference[:, column]), column) for column in (0, 2))
    has_subject, has_object = (index.contains(rows[:, 1], rows[:, column]) for index, column in indexes)
    return has_subject, has_object


@names_unknown_arguments()
def leaks(
    triples: npt.ArrayLike, train: npt.ArrayLike, n_relations: int, overlaps: pd.DataFrame | None = None
) -> dict[str, Bools]:
    """Return, for each triple, whether train contains its pair of entities in a way that gives the answer away.

    Loops, which are triples (s, p, s), never leak.

    Parameters
    ----------
    triples, train : array_like of int, shape (n, 3) and (m, 3)
        Columns s, p, o, for example the test and the train split.
    n_relations : int
    overlaps : pandas.DataFrame, optional
        ``relation_overlaps(train, n_relations)``, if it is known already.

    Returns
    -------
    dict of str to bool array, shape (n,)
        For each triple (s, p, o), whether train contains the following triple. ``"symmetric"``: (o, p, s).
        ``"inverse"``: (o, q, s), for any relation q except p. ``"near-duplicate"``: (s, q, o), where p and q are
        near-duplicates: in train, their overlap (see `relation_overlaps`) is at least .8.

    Raises
    ------
    DataError
        If an argument is not an array of triples of ids.

    References
    ----------
    Akrami et al. (2020), Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD.

    Examples
    --------
    >>> found = leaks([[0, 0, 1], [2, 1, 0], [1, 2, 0]], [[1, 0, 0], [0, 0, 2], [1, 1, 0]], n_relations=3)
    >>> {name: is_leak.tolist() for name, is_leak in found.items()}
    {'symmetric': [True, False, False], 'inverse': [True, True, False], 'near-duplicate': [False, False, False]}
    """
    rows, reference = _checked_triples(triples, n_relations), _checked_triples(train, n_relations)
    s, p, o = rows.T
    pairs = _Pairs.of(reference[_links_same_entities(reference, rows)])

    def found(subjects: Ids, objects: Ids) -> tuple[Ids, Ids]:
        """Return the rows whose pair (subjects[i], objects[i]) `pairs` contains, and each relation q of the pair."""
        counts, relations = pairs.between(subjects, objects)
        return np.repeat(np.arange(len(rows)), counts), relations

    def marked(chosen: Ids) -> Bools:
        return np.bincount(chosen, minlength=len(rows)) > 0

    row, q = found(o, s)
    is_symmetric = p[row] == q
    leaking = {"symmetric": marked(row[is_symmetric]), "inverse": marked(row[~is_symmetric])}
    row, q = found(s, o)
    is_other = p[row] != q
    row, q = row[is_other], q[is_other]
    if len(row):  # only then are the relations compared, which needs all triples of train
        overlaps = relation_overlaps(reference, n_relations) if overlaps is None else overlaps
        near = overlaps[overlaps["is_near"] & ~overlaps["is_reversed"]]
        is_near = np.isin(p[row] * n_relations + q, near["p"] * n_relations + near["q"])
        row = row[is_near]
    return {**leaking, "near-duplicate": marked(row)}


def _links_same_entities(triples: Ids, rows: Ids) -> Bools:
    """Return which of `triples` link two entities that one of `rows` links, in either direction; bool (triples,)."""
    ends = [(np.minimum(part[:, 0], part[:, 2]), np.maximum(part[:, 0], part[:, 2])) for part in (rows, triples)]
    layout, keys = RowKeys.of(*ends[0])
    wanted, is_possible = layout.encode(*ends[1])
    return is_in(keys, wanted) & is_possible


@dataclass(frozen=True)
class _Pairs:
    """The distinct triples except loops, sorted by (s, o, p), and an index of the relations between two entities.

    Parameters
    ----------
    s, p, o : int64 arrays, shape (triples,)
    by_object : int64 array, shape (triples,)
        The row numbers in the order that sorts the triples by (o, s, p).
    layout : RowKeys
        How s and o are packed into one integer, the key of the pair.
    keys : int64 array, shape (pairs,)
        The keys of the distinct pairs (s, o), sorted.
    starts : int64 array, shape (pairs + 1,)
        The triples of the i-th distinct pair (s, o) are the rows ``starts[i]:starts[i + 1]``.
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
        """Return the pairs of `triples`, int64 (n, 3), which may contain loops and repeated rows."""
        array = triples[triples[:, 0] != triples[:, 2]]
        order, groups = group_rows(array[:, 0], array[:, 2], array[:, 1])
        s, p, o = array[order[groups[:-1]]].T  # the first row of each group of equal triples
        layout, keys = RowKeys.of(s, o)  # (triples,): the key of each triple's (s, o); sorted like the triples
        # starts, (pairs,): the first row of each distinct (s, o). The slice removes the leading True if there is no
        # triple.
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        return cls(s, p, o, group_rows(o)[0], layout, keys[starts], np.append(starts, len(keys)))

    def between(self, subjects: Ids, objects: Ids) -> tuple[Ids, Ids]:
        """Return, for each i, the relations of the triples with subject ``subjects[i]`` and object ``objects[i]``.

        Parameters
        ----------
        subjects, objects : int64 arrays, shape (n,)

        Returns
        -------
        counts : int64 array, shape (n,)
            The number of relations from ``subjects[i]`` to ``objects[i]``.
        relations : int64 array, shape (counts.sum(),)
            The relations, first for i = 0, then for i = 1, and so on.
        """
        wanted, is_possible = self.layout.encode(subjects, objects)
        rank, is_contained = rank_in(self.keys, wanted)
        # first, (n,): the position of each (subject, object) in `keys`; len(keys) if `keys` does not contain the pair.
        first = np.where(is_contained & is_possible, rank, len(self.keys))
        # Where `first` is len(keys), `stop` is len(keys) too, so the count is 0.
        stop = np.minimum(first + 1, len(self.keys))
        counts = self.starts[stop] - self.starts[first]
        return counts, self.p[joined_ranges(self.starts[first], counts)]


def _checked_triples(triples: Any, n_relations: int) -> Ids:
    """Return `triples` as an int64 array (n, 3), or raise a DataError."""
    return TripleSet(triples, NO_LIMIT, n_relations).array


def _distinct_triples(triples: Ids) -> Ids:
    """Return the distinct rows of `triples`, sorted by (p, s, o)."""
    order, starts = group_rows(triples[:, 1], triples[:, 0], triples[:, 2])
    return triples[order[starts[:-1]]]


def _counts(relations: Ids, n_relations: int) -> Ids:
    """Return how often each relation occurs in `relations`, int64 (n_relations,)."""
    return np.bincount(relations, minlength=n_relations)


def _n_pairs(triples: Ids, column: int, n_relations: int) -> Ids:
    """Return how many distinct subjects, or distinct objects, each relation has, int64 (n_relations,).

    `column` is the column to count in `triples`: 0 for subjects, 2 for objects.
    """
    order, starts = group_rows(triples[:, 1], triples[:, column])
    return _counts(triples[order[starts[:-1]], 1], n_relations)  # one row of each distinct pair


def _matches(pairs: _Pairs, is_reversed: bool) -> tuple[Ids, Ids, Ids]:
    """Return how many pairs (s, o) of each relation p each relation q contains, as they are or reversed, as (o, s).

    Returns
    -------
    p, q, n : int64 arrays, shape (matches,)
        Relation ``q[i]`` contains ``n[i]`` pairs of relation ``p[i]``; each p and q with at least one pair once, sorted
        by p.
    """
    # Reversed pairs are looked up in the order of (o, s), which is several times faster.
    order = pairs.by_object if is_reversed else np.arange(len(pairs.s))
    ends = (pairs.o[order], pairs.s[order]) if is_reversed else (pairs.s, pairs.o)
    counts, others = pairs.between(*ends)  # one entry for each triple (s, p, o) and each q with this pair
    relations = np.repeat(pairs.p[order], counts)
    grouped, starts = group_rows(relations, others)
    first = grouped[starts[:-1]]
    return relations[first], others[first], np.diff(starts)


def _most(p: Ids, n: Ids, n_relations: int) -> Ids:
    """Return the greatest n of each relation, int64 (n_relations,); 0 for a relation that `p` does not contain."""
    greatest = np.zeros(n_relations, dtype=np.int64)
    np.maximum.at(greatest, p, n)
    return greatest


def _greatest_group(relations: Ids, columns: tuple[Ids, ...], n_relations: int) -> Ids:
    """Return the size of the largest group of each relation, int64 (n_relations,).

    A group is all rows of one relation that have equal values in all `columns`. A relation without rows gets 0.
    """
    order, starts = group_rows(relations, *columns)
    return _most(relations[order[starts[:-1]]], np.diff(starts), n_relations)


@dataclass(frozen=True)
class _FirstSteps:
    """The first steps of the search that finds, for each triple (s, p, o), all paths of two triples from s to o.

    A forward search begins with the triples that have the subject s, a backward search with the triples that have the
    object o: these are its first steps. Each triple is searched in the direction with fewer first steps.

    Parameters
    ----------
    is_forward : bool array, shape (triples,)
        Whether the search for each triple goes forward.
    orders : two int64 arrays, shape (triples,)
        The row numbers of the triples, sorted by subject (for forward) and by object (for backward).
    starts, counts : int64 arrays, shape (triples,)
        The first steps of row i are the rows ``order[starts[i]:starts[i] + counts[i]]``, where `order` is
        ``orders[0]`` for a forward search and ``orders[1]`` for a backward search.
    """

    is_forward: npt.NDArray[np.bool_]
    orders: tuple[Ids, Ids]
    starts: Ids
    counts: Ids

    @classmethod
    def of(cls, pairs: _Pairs) -> _FirstSteps:
        """Return the first steps of every triple of `pairs`."""
        orders = (np.arange(len(pairs.s)), pairs.by_object)  # the triples of `pairs` are sorted by subject already
        from_s, to_o = (_spans(ids, order) for ids, order in zip((pairs.s, pairs.o), orders))
        is_forward = from_s[1] <= to_o[1]
        starts, counts = (np.where(is_forward, forward, backward) for forward, backward in zip(from_s, to_o))
        return cls(is_forward, orders, starts, counts)

    def of_rows(self, rows: Ids, is_forward: bool) -> tuple[Ids, Ids]:
        """Return the first steps of those rows whose search goes in the given direction.

        Parameters
        ----------
        rows : int64 array, shape (n,)
            Row numbers of triples. Rows whose search goes in the other direction are left out.
        is_forward : bool
            The direction: True for forward, False for backward.

        Returns
        -------
        repeated_rows, steps : int64 arrays, shape (first steps,)
            One entry per first step: the row number of the triple whose search begins with this step, and the row
            number of the step. A triple with several first steps occurs several times in `repeated_rows`.
        """
        rows = rows[self.is_forward[rows] == is_forward]
        positions = joined_ranges(self.starts[rows], self.counts[rows])
        return np.repeat(rows, self.counts[rows]), self.orders[0 if is_forward else 1][positions]


def _spans(ids: Ids, order: Ids) -> tuple[Ids, Ids]:
    """Return, for each row, the range in `order` that contains the rows with the same id.

    `ids` has one id per row; `order` contains all row numbers, sorted by id.

    Returns
    -------
    starts, counts : int64 arrays, shape (rows,)
        The rows with the id of row i are ``order[starts[i]:starts[i] + counts[i]]``.
    """
    _, groups = group_rows(ids)  # where each distinct id starts in the sorted ids, (distinct ids + 1,)
    group_counts = np.diff(groups)
    # (rows,): the start and the size of each row's group. The values on the right are sorted by id; [order] undoes the
    # sort.
    starts, counts = np.empty_like(ids), np.empty_like(ids)
    starts[order] = np.repeat(groups[:-1], group_counts)
    counts[order] = np.repeat(group_counts, group_counts)
    return starts, counts


def _affordable(
    pairs: _Pairs, steps: _FirstSteps, is_open: npt.NDArray[np.bool_], max_steps: int
) -> tuple[npt.NDArray[np.bool_], str]:
    """Return whether each relation is searched for compositions, and a note about relations that are left out.

    Open relations have none of the patterns symmetric, inverse and duplicate. These relations are searched in
    ascending order of their number of first steps (see `_FirstSteps`), as long as the total number of first steps is
    at most `max_steps`.
    """
    n_steps = np.zeros(len(is_open), dtype=np.int64)  # the number of first steps of each relation, (n_relations,)
    np.add.at(n_steps, pairs.p, steps.counts)
    # order: the ids of the open relations, sorted by their number of first steps.
    order = np.flatnonzero(is_open)[np.argsort(n_steps[is_open], kind="stable")]
    searched = order[np.cumsum(n_steps[order]) <= max_steps]
    is_searched = np.zeros(len(is_open), dtype=bool)
    is_searched[searched] = True
    n_left = len(order) - len(searched)
    if not n_left:
        return is_searched, ""
    return is_searched, (
        f"pattern: {n_left:,} of {len(order):,} relations without another pattern were not searched for compositions; "
        f"a full search would cost {n_steps[order].sum():,} steps, more than the limit of {max_steps:,}"
    )


def _composed_pairs(pairs: _Pairs, steps: _FirstSteps, is_searched: npt.NDArray[np.bool_]) -> Ids:
    """Return, for each searched relation, how many of its pairs are joined by paths of one kind (p1, p2).

    A path of the kind (p1, p2) joins the pair (s, o) by two triples (s, p1, x) and (x, p2, o). For each relation, only
    the kind that joins the most pairs is counted. The result is int64 (n_relations,), and 0 for other relations.
    """
    searched_rows = np.flatnonzero(is_searched[pairs.p])  # the rows of the triples (s, p, o) of searched relations
    paths = []  # for each direction: three arrays (paths,), the row of (s, p, o), p1 and p2
    for is_forward in (True, False):
        # One entry for each first step: (s, p1, x) if forward, (x, p2, o) if backward.
        rows, first_steps = steps.of_rows(searched_rows, is_forward)
        # The two entities that the second step must connect: x and o if forward, s and x if backward.
        ends = (pairs.o[first_steps], pairs.o[rows]) if is_forward else (pairs.s[rows], pairs.s[first_steps])
        counts, second_relations = pairs.between(*ends)
        # One entry for each path: a first step, repeated for each of its second steps.
        rows, first_relations = (np.repeat(values, counts) for values in (rows, pairs.p[first_steps]))
        p1, p2 = (first_relations, second_relations) if is_forward else (second_relations, first_relations)
        paths.append((rows, p1, p2))
    rows, p1, p2 = (np.concatenate(parts) for parts in zip(*paths))
    # One path for each distinct (row, p1, p2): a pair counts once, even if it is joined through several entities x.
    order, groups = group_rows(rows, p1, p2)
    distinct = order[groups[:-1]]
    # The rows of a relation p with equal (p1, p2) form a group; the result is the size of the largest group.
    return _greatest_group(pairs.p[rows[distinct]], (p1[distinct], p2[distinct]), len(is_searched))
