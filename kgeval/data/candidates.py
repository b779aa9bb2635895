"""Candidates: the entities among which a positive is ranked.

The field `candidates` of a `Protocol` is an instance of a class in this module; `kgeval.evaluation` calls the method
`pools` of this instance. Users import the module as `kgeval.candidates`.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Bools, Ids, check_one_of, counted, names_unknown_arguments, shows_only
from kgeval.data.dataset import Dataset
from kgeval.data.lists import Ragged
from kgeval.data.ogb_negatives import ogb_lists
from kgeval.data.pandas_index import in_row_order
from kgeval.data.queries import Queries, query_parts
from kgeval.data.row_keys import group_rows, rank_in
from kgeval.data.sides import ALL_SIDES, SIDES, side_of
from kgeval.errors import ProtocolError

__all__ = ["All", "ByRelation", "Candidates", "Listed", "Recorded"]
__dir__ = shows_only(__all__)

DUPLICATES = ("keep", "drop")
EMPTY = ("error", "drop", "first")
OUTSIDE = ("error", "add", "last")
# The kinds of `ByRelation`: positives outside their pools are an error, join their own query, or rank last.
POOLS, ADDED, LAST = POOL_KINDS = ("pools", "pools-add", "pools-last")
PER_POSITIVE = "lists"  # the kind of `Listed`
# Kinds of a `Recorded`: nobody said which negatives were ranked; nobody said which candidates and filter a tool used
NOT_KNOWN, OF_TOOL = "unknown", "tool"
LEFT_OUT = "are left out"  # ends the note of a result on entities of its lists that it did not rank
BY_TRIPLE = "2."  # the start of a digest of lists that does not depend on the order of the rows


class Candidates:
    """Base class of every kind of candidates.

    A subclass defines the method `pools`. This method splits the queries into parts. All queries of one part have the
    same candidates, which are called the pool of the part. A part is, for example, all queries (`All`), the queries of
    one relation, or a single positive. Each positive is ranked among the pool of its part. Two instances are equal, and
    have the same hash, if `kind` and `digest` are equal.

    Attributes
    ----------
    kind : str
        One word that names the kind; result files and fingerprints contain this word.
    digest : str
        Hash of the data that define the candidates, for example of lists of entities; empty if `kind` alone defines
        the candidates.
    """

    kind: str = ""
    digest: str = ""

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that a protocol without `sides` ranks."""
        return SIDES

    @property
    def possible_sides(self) -> tuple[str, ...]:
        """The sides that can be ranked among these candidates; by default `sides`."""
        return self.sides

    @property
    def is_per_positive(self) -> bool:
        """Whether two positives of the same query can have different candidates."""
        return self.kind in (PER_POSITIVE, NOT_KNOWN, ADDED, LAST)

    @property
    def is_known(self) -> bool:
        """Whether kind and digest tell these candidates from others, so that two results can be compared."""
        return True

    @property
    def shown_digest(self) -> str:
        """The first 8 characters of the hash in `digest`, for messages."""
        return self.digest.removeprefix(BY_TRIPLE)[:8]

    def of_triples(self, dataset: Dataset, splits: Sequence[str]) -> Candidates:
        """Return these candidates with a digest for the triples of the ranked splits; `Protocol.resolved` calls this.

        Parameters
        ----------
        dataset : Dataset
        splits : sequence of str
            The ranked splits.
        """
        return self

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Group the queries that have the same candidates; yield each group and its candidates.

        Parameters
        ----------
        queries : Queries
            Queries of one side. ``queries.rows`` holds the row number of each positive in the array of all triples of
            the ranked splits, or -1 for a triple that is in no ranked split: `explain` also accepts such triples. A
            subclass with one list of candidates per positive has no list for a triple with row number -1.
        entities : int64 array, shape (entities,)
            Sorted ids of all entities, or only of the entities of train (with ``unseen="drop"`` or ``"worst"``). For
            queries of the relation side: of relations.

        Yields
        ------
        part : Queries
            Every positive of `queries` is in exactly one part.
        pool : int64 array, shape (candidates,)
            The candidates of each query of the part: sorted distinct ids, including all answers of the part.
        """
        raise TypeError(f"{type(self).__name__} does not define pools()")

    def describe(self) -> str:
        """Return a short description for people; by default the kind and the start of the digest."""
        return f"{self.kind} candidates {self.shown_digest}".strip()

    def to_json(self) -> Any:
        """Return the JSON value for fingerprints and files: kind and digest."""
        return {"kind": self.kind, "digest": self.digest}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown_digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidates) and (self.kind, self.digest) == (other.kind, other.digest)

    def __hash__(self) -> int:
        return hash((self.kind, self.digest))


class All(Candidates):
    """Every entity (on the relation side: every relation) competes in every query; the default.

    Examples
    --------
    >>> All() == All(), All().describe()
    (True, 'all entities')
    """

    kind = "all"

    @property
    def possible_sides(self) -> tuple[str, ...]:
        """All sides."""
        return ALL_SIDES

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield one part: all queries, with all entities as pool; see `Candidates.pools`."""
        yield queries, entities

    def describe(self) -> str:
        """Return ``"all entities"``."""
        return "all entities"

    def to_json(self) -> str:
        """Return ``"all"``."""
        return self.kind


@dataclass(frozen=True)
class Rivals:
    """The rivals of some positives, taken from the lists of negatives of these positives.

    Parameters
    ----------
    lists : Ragged
        One list of entity ids per positive, without the answer of the positive.
    kept : int64 array, shape (rivals,)
        The position of each rival in ``Listed.lists[side].values``, the array of all listed entities of one side.
    counts : dict of str to int
        How many entities of the lists are of each kind:
        ``"listed"``: all entities of the lists;
        ``"answers"``: entities that equal the answer of their positive; they are removed;
        ``"absent"``: entities that do not occur in train, so they are no candidates; they are removed;
        ``"duplicates"``: repetitions of an entity within a list; they are removed only with ``duplicates="drop"``.
    """

    lists: Ragged
    kept: Ids
    counts: dict[str, int]


def check_identity(candidates: Candidates) -> None:
    """Raise a ProtocolError if candidates have no identity: results could be compared that rank among others.

    Parameters
    ----------
    candidates : Candidates
        Its class must name a kind; a class that redefines `pools` must name its own; an instance with data needs a
        digest.
    """
    kind = type(candidates)
    if kind in (Recorded, ByRelation):
        return
    places = {name: next(i for i, cls in enumerate(kind.__mro__) if name in vars(cls)) for name in ("kind", "pools")}
    has_own = "kind" in vars(candidates) or places["kind"] <= places["pools"]
    says = ""
    if not candidates.kind:
        says = "has no kind"
    elif not has_own:
        says = "redefines pools(), but has the kind of another class"
    elif not candidates.digest and set(vars(candidates)) - {"kind", "digest"}:
        says = f"has the data {', '.join(map(repr, vars(candidates)))}, but no digest"
    if says:
        raise ProtocolError(
            f"{kind.__name__} {says}, so nobody could tell its results from those among other candidates. Set kind (a "
            "word of its own) and digest (a hash of the entities that it lists; empty if kind alone defines them)"
        )


@names_unknown_arguments()
class Listed(Candidates):
    """Each positive is ranked among its own list of negatives, as in OGB, GraIL, BERTRL and many papers.

    Parameters
    ----------
    objects : int array, shape (n, m), or sequence of n int arrays, optional
        Row i holds the ids of the entities that compete with the object of positive i; rows may differ in length. The n
        positives are all rows of the ranked splits (`Protocol.splits`), split after split, including duplicate rows and
        rows that `Protocol.unseen` leaves out later. The lists should contain only negatives. If a list contains the
        answer of its positive, the answer is removed. A note of the result says how many answers were removed.
    subjects : like `objects`, optional
        The entities that compete with the subject of each positive. A side without lists is not ranked.
    relations : like `objects`, optional
        The relations (ids) that compete with the relation of each positive, for the relation side.
    duplicates : str
        ``"keep"``: an entity that a list contains twice counts as two rivals. ``"drop"``: as one rival.
    empty : str
        What happens to a positive whose list has no rival. ``"error"``: an error names the first one. ``"drop"``: it is
        not ranked, and counted. ``"first"``: it gets rank 1 of 1, which raises every mean.

    Raises
    ------
    ProtocolError
        If no side has lists, or the ids are not integers of at least 0.

    Notes
    -----
    Some negatives may be known triples. They are rivals in the raw setting, but not in the filtered setting. If all
    rivals of a list are known, its positive has rank 1 of 1 in the filtered setting, as with any other candidates; a
    note of the result counts such positives.

    Examples
    --------
    >>> import kgeval
    >>> dataset = kgeval.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=5, n_relations=1)
    >>> protocol = kgeval.Protocol(candidates=Listed(objects=[[3, 4], [4]]))
    >>> protocol.sides
    ('object',)
    >>> result = kgeval.evaluate(lambda s, p, o: -abs(o - 2.5), dataset, protocol)
    >>> result.table[["o", "better_filtered", "rivals_filtered"]].to_numpy().tolist()
    [[1, 1, 2], [2, 0, 1]]
    """

    kind = PER_POSITIVE

    def __init__(
        self,
        objects: Any = None,
        subjects: Any = None,
        *,
        relations: Any = None,
        duplicates: str = "keep",
        empty: str = "error",
    ) -> None:
        of_sides = dict(zip(ALL_SIDES, (subjects, objects, relations)))
        given = {side: value for side, value in of_sides.items() if value is not None}
        if not given:
            raise ProtocolError("Listed needs lists of negatives: objects=..., subjects=..., relations=... or several")
        self.lists = {side: _id_lists(f"{side}s", value) for side, value in given.items()}
        self.duplicates = check_one_of("duplicates", duplicates, DUPLICATES)
        self.empty = check_one_of("empty", empty, EMPTY)
        digest = hashlib.sha256(f"kgeval lists 1 {duplicates} {empty}".encode())
        for side, lists in self.lists.items():
            digest.update(f"\n{side} {len(lists)}\n".encode())
            digest.update(lists.offsets.astype("<i8").tobytes() + lists.values.astype("<i8").tobytes())
        self.digest = digest.hexdigest()  # of the rows alone; `of_triples` replaces it
        self._of_triples: dict[tuple[str, tuple[str, ...]], Listed] = {}

    @property
    def is_known(self) -> bool:
        """Whether the digest covers the triples, and not only the rows; see `of_triples`."""
        return self.digest.startswith(BY_TRIPLE)

    def of_triples(self, dataset: Dataset, splits: Sequence[str]) -> Listed:
        """Return the lists with a digest of (triple, side, list), which depends on no order of triples or negatives.

        Parameters
        ----------
        dataset : Dataset
        splits : sequence of str
            The ranked splits; the lists belong to their rows.
        """
        key = dataset.fingerprint, tuple(splits)
        if key not in self._of_triples:
            triples = np.concatenate([dataset[split].array for split in splits])
            bound = copy.copy(self)
            if all(len(lists) == len(triples) for lists in self.lists.values()):  # else `ListTask` raises an error
                bound.digest = BY_TRIPLE + self._digest_of(triples)
            self._of_triples[key] = bound
        return self._of_triples[key]

    def _digest_of(self, triples: Ids) -> str:
        """Return a hash of the set of (triple, side, list); with duplicate triples, their lists may be exchanged."""
        digest = hashlib.sha256(f"kgeval lists 2 {self.duplicates}".encode())
        for side, lists in self.lists.items():
            values = lists.values[np.lexsort((lists.values, lists.list_of))]
            if self.duplicates == "drop":
                is_first = np.append(True, (np.diff(values) != 0) | (np.diff(lists.list_of) != 0))[: len(values)]
                ordered = Ragged(lists.offsets, values).where(is_first)
            else:
                ordered = Ragged(lists.offsets, values)
            rows = np.lexsort(triples.T[::-1])
            is_same = (np.diff(triples[rows], axis=0) == 0).all(axis=1)
            if is_same.any():  # the lists of equal triples in the order of their contents
                group = np.cumsum(np.append(True, ~is_same)).tolist()
                texts = [ordered.part(i, i + 1).values.astype(">i8").tobytes() for i in rows.tolist()]
                rows = rows[sorted(range(len(rows)), key=lambda i: (group[i], texts[i]))]
            ordered = ordered.take(rows)
            answers = triples[rows, side_of(side).asked]
            n_rivals = np.bincount(ordered.list_of[ordered.values != answers[ordered.list_of]], minlength=len(rows))
            # What happens to empty lists changes nothing where there are none.
            empty = self.empty if not n_rivals.all() else ""
            digest.update(f"\n{side} {len(rows)} {empty}\n".encode() + triples[rows].astype("<i8").tobytes())
            digest.update(ordered.offsets.astype("<i8").tobytes() + ordered.values.astype("<i8").tobytes())
        return digest.hexdigest()

    @classmethod
    def from_negatives(
        cls, frame: pd.DataFrame, n_positives: int, *, duplicates: str = "keep", empty: str = "error"
    ) -> Listed:
        """Make a `Listed` from a frame of negatives, such as the result of ``sample_negatives(..., ids=True)``.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row per negative. Columns: ``s`` and ``o`` (ids); ``side``; and ``positive``, the row number of the
            positive in the ranked split.
        n_positives : int
            The number of rows of the ranked split; a positive without negatives gets an empty list.
        duplicates, empty : str
            As for `Listed`.

        Examples
        --------
        >>> import kgeval
        >>> dataset = kgeval.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=9, n_relations=1)
        >>> negatives = kgeval.sample_negatives(dataset, "test", n=3, sides="object", sample_seed=0, ids=True)
        >>> Listed.from_negatives(negatives, 2).describe()
        'a list of 3 negatives for each object'
        """
        lacking = [name for name in ("s", "o", "side", "positive") if name not in frame]
        if lacking:
            raise ProtocolError(
                f"the frame of negatives has no column {lacking[0]!r}; pass the frame that sample_negatives returned"
            )
        rows_of_positives = frame["positive"].to_numpy()
        if rows_of_positives.dtype.kind not in "iu" or (rows_of_positives < 0).any():
            raise ProtocolError("the column 'positive' must contain row numbers of positives (integers, at least 0)")
        words = [str(word) for word in frame["side"].unique()]
        if not set(words) <= set(SIDES):
            raise ProtocolError(f"the column 'side' contains {', '.join(words)}; expected {' and '.join(SIDES)}")
        given = {}
        for side, column in (("subject", "s"), ("object", "o")):
            rows = frame[(frame["side"] == side).to_numpy()]
            if len(rows):
                positive, ids = rows["positive"].to_numpy(), rows[column].to_numpy()
                order = np.argsort(positive, kind="stable")
                counts = np.bincount(positive, minlength=n_positives)
                if len(counts) > n_positives:
                    raise ProtocolError(
                        f"the column 'positive' contains {len(counts) - 1}; expected 0 to {n_positives - 1}"
                    )
                given[f"{side}s"] = np.split(ids[order], np.cumsum(counts)[:-1])
        return cls(**given, duplicates=duplicates, empty=empty)

    @classmethod
    def from_ogb(
        cls,
        negatives: Mapping[str, Any],
        dataset: Dataset,
        *,
        splits: Sequence[str] = ("test",),
        duplicates: str = "keep",
        empty: str = "error",
        source: str = "negatives",
    ) -> Listed:
        """Make a `Listed` from the dictionary of an OGB split (ogbl-wikikg2, ogbl-biokg), or from a similar dictionary.

        Parameters
        ----------
        negatives : mapping of str to int array or tensor
            ``head``, ``relation`` and ``tail``, shape (n,): the triples of the ranked splits, in their order.
            ``head_neg``, ``tail_neg`` or both, shape (n, m): the entities that replace the head or the tail of each
            triple. If the ids of each entity type start at 0 (ogbl-biokg), also ``head_type`` and ``tail_type``, shape
            (n,).
        dataset : Dataset
            The ids in the dictionary may be the ids of the dataset, or the ids of the OGB folder from which the dataset
            was read. kgeval compares the triples to find out which ids the dictionary has: with the right ids, triple i
            of the dictionary is triple i of the ranked splits.
        splits : sequence of str
            The ranked splits (`Protocol.splits`).
        duplicates : str
            As for `Listed`; OGB counts an entity that a list contains twice as two rivals.
        empty : str
            As for `Listed`.
        source : str
            The name of the dictionary in messages.

        Raises
        ------
        DataError
            If an array is missing or has a wrong shape, if an id is out of range, or if a triple is not the triple in
            the same row of the ranked splits; the message names the first such row.

        Examples
        --------
        >>> import kgeval
        >>> dataset = kgeval.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=5, n_relations=1)
        >>> split = {"head": [0, 0], "relation": [0, 0], "tail": [1, 2], "tail_neg": [[3, 4], [3, 1]]}
        >>> Listed.from_ogb(split, dataset).describe()
        'a list of 2 negatives for each object'
        """
        lists: dict[str, Any] = {**ogb_lists(negatives, dataset, splits, source)}
        return cls(**lists, duplicates=duplicates, empty=empty)

    def to_json(self) -> Any:
        """Return kind, digest and description."""
        return super().to_json() | {"text": self.describe()}

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides with lists."""
        return tuple(self.lists)

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield one part per positive; its pool holds the answer and the negatives. See `Candidates.pools`.

        An entity that a list contains twice is in the pool twice, unless ``duplicates="drop"``.
        """
        each = queries.one_each()
        if (each.rows < 0).any():
            raise ProtocolError("the triple is in no ranked split, so it has no list of negatives")
        rivals = self.rivals(queries.side, each.rows, each.answers, entities).lists
        for i in range(len(each)):
            yield each.part(i, i + 1), np.sort(np.append(rivals.part(i, i + 1).values, each.answers[i]))

    def rivals(self, side: str, rows: Ids, answers: Ids, entities: Ids) -> Rivals:
        """Return the rivals of some positives: their lists, after the removals that `Rivals` describes.

        Parameters
        ----------
        side : str
        rows : int64 array, shape (positives,)
            The row of each positive in the ranked splits.
        answers : int64 array, shape (positives,)
            The answer of each positive on this side.
        entities : int64 array, shape (entities,)
            Sorted ids of the entities that may be candidates.
        """
        every = self.lists[side]
        kept, lists = every.elements(rows), every.take(rows)
        counts = {"listed": len(kept)}

        def leave_out(name: str, is_left_out: Bools) -> None:
            nonlocal kept, lists
            counts[name] = int(is_left_out.sum())
            if counts[name]:
                kept, lists = kept[~is_left_out], lists.where(~is_left_out)

        leave_out("answers", lists.values == answers[lists.list_of])
        n_ids = 1 + int(max(lists.values.max(initial=-1), entities.max(initial=-1)))
        is_candidate = np.zeros(n_ids, dtype=bool)
        is_candidate[entities] = True
        leave_out("absent", ~is_candidate[lists.values])
        keys = lists.list_of * n_ids + lists.values  # (rivals,): one integer per (positive, entity)
        if self.duplicates == "drop":
            is_repeated = np.ones(len(keys), dtype=bool)
            is_repeated[np.unique(keys, return_index=True)[1]] = False
            leave_out("duplicates", is_repeated)
        else:
            counts["duplicates"] = int((np.diff(np.sort(keys)) == 0).sum())
        return Rivals(lists, kept, counts)

    def describe(self) -> str:
        """Return a text with the number of negatives per list: ``"a list of 49 negatives for each object"``."""
        parts = []
        for side, lists in self.lists.items():
            low, high = (lists.lengths.min(), lists.lengths.max()) if len(lists) else (0, 0)
            parts.append(f"{low}" + (f" to {high}" if high > low else "") + f" negatives for each {side}")
        return "a list of " + " and ".join(parts)


@names_unknown_arguments()
class ByRelation(Candidates):
    """Each query is ranked among the pool of its relation and side, such as the entities of the fitting type.

    Parameters
    ----------
    objects : mapping of int to int array, optional
        For each relation (an id), the ids of the entities that compete as objects. An id that is repeated counts once.
    subjects : like `objects`, optional
        The entities that compete as subjects. A side without pools is not ranked.
    outside : str
        What happens to a positive whose answer is not in its pool. ``"error"``: an error names the first one.
        ``"add"``: the answer joins its own query, and no other. ``"last"``: it is not scored, and gets the rank after
        all entities of its pool (in the filtered setting, all that are not known). A note of the result counts such
        positives.
    source : str
        Where the pools come from, for descriptions.

    Raises
    ------
    ProtocolError
        If neither side has pools, or the ids are not integers of at least 0.

    Examples
    --------
    >>> import kgeval
    >>> dataset = kgeval.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=5, n_relations=1)
    >>> protocol = kgeval.Protocol(candidates=ByRelation(objects={0: [1, 3, 3]}, outside="add"))
    >>> result = kgeval.evaluate(lambda s, p, o: o, dataset, protocol)
    >>> result.table[["o", "better_raw", "rivals_raw"]].to_numpy().tolist()
    [[1, 1, 1], [2, 1, 2]]
    """

    def __init__(
        self,
        objects: Mapping[Any, Any] | None = None,
        subjects: Mapping[Any, Any] | None = None,
        *,
        outside: str = "error",
        source: str = "",
    ) -> None:
        given = {side: value for side, value in (("subject", subjects), ("object", objects)) if value is not None}
        if not given:
            raise ProtocolError("ByRelation needs pools: objects={relation: ids}, subjects=... or both")
        self.outside = check_one_of("outside", outside, OUTSIDE)
        self.kind = POOL_KINDS[OUTSIDE.index(outside)]
        self.source = source
        self.notes: tuple[str, ...] = ()  # what the reader of a file found, such as unknown entities
        self.of_side = {side: _pools(f"{side}s", value) for side, value in given.items()}
        digest = hashlib.sha256(b"kgeval pools 1")
        for side, pools in self.of_side.items():
            for relation, pool in sorted(pools.items()):
                digest.update(f"\n{side} {relation} {len(pool)}\n".encode() + pool.astype("<i8").tobytes())
        self.digest = digest.hexdigest()

    @classmethod
    def observed(
        cls, dataset: Dataset, splits: Sequence[str] | str = ("train",), *, outside: str = "error"
    ) -> ByRelation:
        """Return the observed pools: the subjects and the objects of each relation in the triples of some splits.

        Parameters
        ----------
        dataset : Dataset
        splits : sequence of str
        outside : str
            As for `ByRelation`.

        Examples
        --------
        >>> import kgeval
        >>> dataset = kgeval.Dataset.from_arrays(train=[[0, 0, 1], [2, 0, 1]], n_entities=3, n_relations=1)
        >>> ByRelation.observed(dataset, outside="last").describe()
        'pools of 1 relation (observed in train), positives outside their pools last'
        """
        names = [splits] if isinstance(splits, str) else list(splits)
        missing = [name for name in names if name not in dataset]
        if missing or not names:
            raise ProtocolError(
                f"splits must name splits of {dataset.name!r}: {', '.join(dataset.splits)}; got {splits!r}"
            )
        pools = _observed(np.concatenate([dataset[name].array for name in names]), len(dataset.relations))
        source = f"observed in {'+'.join(names)}"
        return cls(pools["object"], pools["subject"], outside=outside, source=source)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides with pools."""
        return tuple(side for side in SIDES if side in self.of_side)

    def pool(self, side: str, relation: int, entities: Ids, dataset: Dataset | None = None) -> Ids:
        """Return the entities of a pool that may be candidates, sorted ids; a relation without a pool is an error."""
        found = self.of_side[side].get(relation)
        if found is None:
            name = relation if dataset is None else repr(dataset.relations.labels[relation])
            raise ProtocolError(
                f"the relation {name} has no pool of {side}s; give one, perhaps an empty one, or rank other triples"
            )
        return found[rank_in(entities, found)[1]]

    def is_outside(self, side: str, triples: Ids, entities: Ids, dataset: Dataset) -> Bools:
        """Return whether the answer of each triple is outside of its pool, bool (triples,)."""
        (relations, *_), answers = query_parts(triples, side)
        is_outside = np.zeros(len(triples), dtype=bool)
        for relation in np.unique(relations).tolist():
            rows = np.flatnonzero(relations == relation)
            is_outside[rows] = ~rank_in(self.pool(side, relation, entities, dataset), answers[rows])[1]
        return is_outside

    def by_relation(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield the queries of each relation, and their pool, which may lack answers."""
        starts = np.flatnonzero(np.append(True, np.diff(queries.relation) != 0)) if len(queries) else np.zeros(0, int)
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(queries)]):
            yield queries.part(start, stop), self.pool(queries.side, int(queries.relation[start]), entities)

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield one part for each relation, and one for each positive outside its pool; see `Candidates.pools`."""
        for part, pool in self.by_relation(queries.one_each(), entities):
            is_inside = rank_in(pool, part.answers)[1]
            if is_inside.any():
                yield part.take(np.flatnonzero(is_inside)), pool
            for i in np.flatnonzero(~is_inside).tolist():
                if self.kind != ADDED:
                    raise ProtocolError(
                        f"the answer is not in the pool of its query, and outside={self.outside!r} does not score it; "
                        "outside='add' does"
                    )
                yield part.part(i, i + 1), np.union1d(pool, part.answers[i])

    def beyond_train(self, dataset: Dataset) -> tuple[int, int]:
        """Return how many entities the pools have beyond domain and range of train, and how many of them test has.

        Returns
        -------
        n_beyond : int
            0 if the pools lack entities of the domain or the range of some split.
        n_answers : int
            How many of these entities are in domain or range of all splits.
        """
        none, n = np.zeros((0, 3), dtype=np.int64), len(dataset.relations)
        every = _observed(np.concatenate([none, *(dataset[split].array for split in dataset.splits)]), n)
        train = _observed(dataset["train"].array if "train" in dataset else none, n)
        n_beyond = n_answers = 0
        for side, pools in self.of_side.items():
            for relation, answers in every[side].items():
                pool = pools.get(relation, none[:, 0])
                if not rank_in(pool, answers)[1].all():
                    return 0, 0
                beyond = np.setdiff1d(pool, train[side][relation])
                n_beyond, n_answers = n_beyond + len(beyond), n_answers + int(np.isin(beyond, answers).sum())
        return n_beyond, n_answers

    def describe(self) -> str:
        """Return a text such as ``"pools of 11 relations, positives outside their pools last"``."""
        n = len(set().union(*self.of_side.values()))
        source = f" ({self.source})" if self.source else ""
        rule = {POOLS: "", ADDED: ", positives outside their pools added", LAST: ", positives outside their pools last"}
        return f"pools of {counted(n, 'relation')}{source}{rule[self.kind]}"

    def to_json(self) -> Any:
        """Return kind, digest and description."""
        return super().to_json() | {"text": self.describe()}


@dataclass(frozen=True, eq=False)
class Recorded(Candidates):
    """The stored description of the candidates of a result: kind and digest, but not the lists of entities.

    Results that were computed from a table of scores contain a `Recorded`. Results that were read from a file contain a
    `Recorded` too, unless all entities were candidates. A `Recorded` is enough to check that two results have the same
    candidates, but not to rank triples.

    Parameters
    ----------
    kind : str
        For example ``"listed"``; `NOT_KNOWN` or `OF_TOOL` if the candidates are not known.
    digest : str
        Digest of the lists; empty in files of version 0.1.0, which did not store it. If the candidates are not known,
        empty or a digest of their numbers.
    text : str
        Description for people; comparisons ignore it.
    """

    kind: str = "listed"
    digest: str = ""
    text: str = ""

    @property
    def possible_sides(self) -> tuple[str, ...]:
        """All sides."""
        return ALL_SIDES

    @property
    def is_known(self) -> bool:
        """Whether the digest tells the candidates from others.

        False if nobody said what was ranked, for files of version 0.1.0 (no digest), and for lists whose digest covers
        the rows and not the triples, as it did before.
        """
        is_of_rows = self.kind == PER_POSITIVE and not self.digest.startswith(BY_TRIPLE)
        return bool(self.digest) and self.kind not in (NOT_KNOWN, OF_TOOL) and not is_of_rows

    def describe(self) -> str:
        """Return the stored description of the original candidates, or their kind and the start of their digest."""
        return self.text or super().describe()

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Raise a ProtocolError, because the lists of candidates are not stored."""
        raise ProtocolError(
            f"{self.describe()}: the protocol stores their kind and digest, but ranking needs the lists of entities; "
            "to evaluate a table of scores, use kgeval.evaluate_scores"
        )

    def to_json(self) -> Any:
        """Return kind, digest and text; only the kind if there is nothing else, as in files of version 0.1.0."""
        if not self.digest and not self.text:
            return self.kind
        return super().to_json() | ({"text": self.text} if self.text else {})


def candidates_from_json(value: Any) -> Candidates:
    """Return the candidates that a JSON value describes; `Protocol.from_dict` calls this function.

    Parameters
    ----------
    value : JSON value
        A value that `Candidates.to_json` returned, in this version or in version 0.1.0.

    Returns
    -------
    Candidates
        `All`, or a `Recorded` for every other kind.

    Raises
    ------
    ProtocolError
        If `value` does not describe candidates.
    """
    if value == All.kind:
        return All()
    if value in ("listed", NOT_KNOWN, OF_TOOL):  # version 0.1.0 wrote "listed" and stored no digest
        return Recorded(value)
    is_dict = isinstance(value, dict) and {"kind", "digest"} <= set(value) <= {"kind", "digest", "text"}
    if is_dict and all(isinstance(part, str) for part in value.values()):
        return Recorded(**value)
    raise ProtocolError(f"expected 'all', or a dict with the texts 'kind' and 'digest'; got {value!r}")


def _observed(triples: Ids, n_relations: int) -> dict[str, dict[int, Ids]]:
    """Return, for each side and each relation, the sorted ids of the entities that occur on this side."""
    pools = {}
    for side in SIDES:
        (relations, *_), answers = query_parts(triples, side)
        order, starts = group_rows(relations, answers)
        first = order[starts[:-1]]  # one triple for each relation and answer
        ends = np.searchsorted(relations[first], np.arange(n_relations + 1))
        pools[side] = {i: answers[first[ends[i] : ends[i + 1]]] for i in range(n_relations)}
    return pools


def _pools(name: str, value: Any) -> dict[int, Ids]:
    """Return sorted distinct ids for each relation; raise a ProtocolError if keys or ids are not valid."""
    if not isinstance(value, Mapping):
        raise ProtocolError(f"{name} must map each relation (an id) to entity ids; got {type(value).__name__}")
    for key in value:
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)) or key < 0:
            raise ProtocolError(
                f"{name} must map ids of relations, integers of at least 0, to entity ids; got {key!r}. For labels, "
                "dataset.relations.find(labels) returns the ids"
            )
    lists = {int(key): [*ids] if isinstance(ids, (set, frozenset)) else ids for key, ids in value.items()}
    return {key: np.unique(_ids(f"{name}[{key}]", ids)) for key, ids in lists.items()}


def _id_lists(name: str, value: Any) -> Ragged:
    """Return lists of ids from an array of shape (n, m) or a sequence of arrays; raise a ProtocolError if not valid."""
    value = in_row_order(name, value)
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__"):
        raise ProtocolError(f"{name} must be an array of ids (n, m), or n arrays of ids; got {type(value).__name__}")
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return Ragged.of_rows(_ids(name, value.reshape(-1)).reshape(value.shape))
    return Ragged.of([_ids(f"{name}[{i}]", part) for i, part in enumerate(value)])


def _ids(name: str, value: Any) -> Ids:
    """Return ids as int64; raise a ProtocolError unless they are integers of at least 0, in a 1-dimensional array."""
    if isinstance(value, np.ma.MaskedArray):
        raise ProtocolError(f"{name} is a masked array; give a list of lists, each without the masked entries")
    array = np.asarray(value)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ProtocolError(
            f"{name} must be a list of entity ids (integers); got dtype {array.dtype}, ndim {array.ndim}. "
            "For labels, dataset.entities.find(labels) returns the ids"
        )
    low, high = int(array.min()), int(array.max())
    if low < 0 or high > np.iinfo(np.int64).max:
        raise ProtocolError(
            f"{name} contains {low if low < 0 else high}, which is no id; make the list shorter instead of padding it"
        )
    return array.astype(np.int64)
