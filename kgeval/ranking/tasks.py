"""The input of the ranker: a `Task` holds queries with the same candidates, and the known answers of the queries.

`kgeval.evaluation` makes tasks with `Task.of`; the ranker reads the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kgeval.base.checks import Bools, Ids
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import NO_COLUMNS, FactColumns
from kgeval.data.known import KnownIndex
from kgeval.data.lists import joined_ranges
from kgeval.data.queries import Queries
from kgeval.data.sides import side_of
from kgeval.errors import ProtocolError
from kgeval.kernels.counts import Places


@dataclass(frozen=True)
class Task:
    """Queries of one side with the same candidates, and the known answers that the filter removes.

    Parameters
    ----------
    dataset : Dataset
        Its labels are shown in messages.
    queries : Queries
        The answers of the positives of query i are ``queries.answers[queries.offsets[i] : queries.offsets[i + 1]]``.
    candidates : int64 array, shape (candidates,)
        Sorted distinct ids of entities (of relations on the relation side); the answer of every positive is a candidate
        (see `kgeval.candidates`).
    key_offsets : int64 array, shape (queries + 1,)
        The positives of a query may have several filter keys, if the scorer does not take a column of the key (the
        time, for example). The keys of query i are ``key_offsets[i] : key_offsets[i + 1]``; usually one for each query.
    offsets_of_keys : int64 array, shape (keys + 1,)
        The positives of key k are ``rows[offsets_of_keys[k] : offsets_of_keys[k + 1]]``.
    known_offsets : int64 array, shape (keys + 1,)
        The known answers of key k are ``known[known_offsets[k] : known_offsets[k + 1]]``.
    known : int64 array, shape (known answers,)
        The ids of all known answers that are candidates; the ids of one key are sorted and distinct.
    is_known : int64 array, shape (positives,)
        1 if the positive is itself a known answer of its key, else 0.
    extras : Task, optional
        The same task, whose `known` holds the candidates that are rivals in no setting; they are also in `known` of
        this task. The counts of `extras` are taken off the counts of both settings.
    """

    dataset: Dataset
    queries: Queries
    candidates: Ids
    key_offsets: Ids
    offsets_of_keys: Ids
    known_offsets: Ids
    known: Ids
    is_known: Ids
    extras: Task | None = None

    @classmethod
    def of_added(
        cls,
        dataset: Dataset,
        queries: Queries,
        pool: Ids,
        index: KnownIndex,
        columns: FactColumns = NO_COLUMNS,
    ) -> Task:
        """Make a task of positives outside their pool: each joins its own query, and is no rival of the others.

        Parameters
        ----------
        dataset : Dataset
        queries : Queries
            No answer is in the pool.
        pool : int64 array, shape (candidates,)
            Sorted distinct entity ids.
        index : KnownIndex
        columns : FactColumns
            As for `of`.
        """
        added = np.unique(queries.answers)
        n_entities = len(side_of(queries.side).vocabulary(dataset))
        task = cls.of(dataset, queries, np.union1d(pool, added), index, columns)
        n = len(task.known_offsets) - 1
        key_of = np.append(np.repeat(np.arange(n), np.diff(task.known_offsets)), np.repeat(np.arange(n), len(added)))
        joined = np.unique(key_of * n_entities + np.append(task.known, np.tile(added, n)))
        offsets = np.searchsorted(joined, np.arange(n + 1) * n_entities)
        task = replace(task, known=joined % n_entities, known_offsets=offsets, is_known=np.ones_like(task.is_known))
        extras = replace(task, known=np.tile(added, n), known_offsets=np.arange(n + 1) * len(added))
        return replace(task, extras=extras)

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        queries: Queries,
        candidates: Ids,
        index: KnownIndex,
        columns: FactColumns = NO_COLUMNS,
    ) -> Task:
        """Make a task: look up the known answers of `queries`, and store those that are candidates.

        Parameters
        ----------
        dataset : Dataset
        queries : Queries
        candidates : int64 array, shape (candidates,)
            Sorted distinct entity ids.
        index : KnownIndex
            The known triples, in which the known answers of the queries are looked up.
        columns : FactColumns
            The further columns of `queries`; those of the key are the further columns of `index`.

        Returns
        -------
        Task

        Raises
        ------
        ProtocolError
            If the candidates are not sorted distinct ids, or if the answer of a positive is not a candidate.
        """
        n_ids = len(side_of(queries.side).vocabulary(dataset))
        ends = candidates[[0, -1]] if len(candidates) else np.zeros(2)
        is_sorted = (candidates[1:] > candidates[:-1]).all()
        if not is_sorted or ends[0] < 0 or ends[1] >= n_ids:
            raise ProtocolError(
                f"a pool of candidates must hold sorted distinct ids in 0..{n_ids - 1}; got "
                f"{np.array2string(candidates, threshold=6)} for queries of the {queries.side} side"
            )
        key = columns.key_parts(queries.parts)
        offsets, known = index.lookup(*key)  # (queries + 1,), (known answers,)
        # (known answers,): the index of the query of each known answer
        row_of = np.repeat(np.arange(len(queries)), np.diff(offsets))
        if len(candidates) < n_ids:
            is_candidate = np.zeros(n_ids, dtype=bool)
            is_candidate[candidates] = True
            _check_answers(dataset, queries, is_candidate)
            row_of, known = row_of[is_candidate[known]], known[is_candidate[known]]  # known answers that are candidates
            # (queries + 1,): where the remaining known answers of each query start
            offsets = np.searchsorted(row_of, np.arange(len(queries) + 1))
        repeats = np.diff(queries.offsets)  # (queries,): the number of positives of each query
        is_known = index.contains(*(np.repeat(part, repeats) for part in key), queries.answers)
        merged, key_offsets = queries.merged(columns.n_scored - 1)
        return cls(dataset, merged, candidates, key_offsets, queries.offsets, offsets, known, is_known.astype(np.int64))

    @property
    def side(self) -> str:
        """The missing side of the queries, a name of `ALL_SIDES`."""
        return self.queries.side

    @property
    def rows(self) -> Ids:
        """The index of each positive among all positives of the protocol, int64, shape (positives,)."""
        return self.queries.rows

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @property
    def offsets(self) -> Ids:
        """The positives of query i are ``rows[offsets[i] : offsets[i + 1]]``; int64, shape (queries + 1,)."""
        return self.queries.offsets

    def count_pairs(self, start: int, stop: int) -> int:
        """Return the number of pairs (query, candidate) of the queries ``start:stop``."""
        return (stop - start) * len(self.candidates)

    def take(self, places: Ids) -> Task:
        """Return a task with only the queries at the positions `places`, in this order.

        Parameters
        ----------
        places : int64 array, shape (n,)
        """
        n_keys = np.diff(self.key_offsets)[places]  # (n,): the number of keys of each chosen query
        keys = joined_ranges(self.key_offsets[places], n_keys)
        sizes = np.diff(self.known_offsets)[keys]  # (chosen keys,): the number of known answers of each chosen key
        positives = joined_ranges(self.offsets[places], np.diff(self.offsets)[places])
        return replace(
            self,
            queries=self.queries.take(places),
            key_offsets=np.append(0, np.cumsum(n_keys)),
            offsets_of_keys=np.append(0, np.cumsum(np.diff(self.offsets_of_keys)[keys])),
            known_offsets=np.append(0, np.cumsum(sizes)),
            known=self.known[joined_ranges(self.known_offsets[keys], sizes)],
            is_known=self.is_known[positives],
            extras=None if self.extras is None else self.extras.take(places),
        )

    def count_rivals(self) -> dict[str, Ids]:
        """Return the number of rivals of each positive, int64 (positives,), under the keys "raw" and "filtered"."""
        raw = np.full(len(self.queries.answers), len(self.candidates) - 1)
        # (positives,): the number of known answers of the positive's key, without the positive itself
        n_known = np.repeat(np.diff(self.known_offsets), np.diff(self.offsets_of_keys)) - self.is_known
        filtered = raw - n_known
        return {"raw": raw if self.extras is None else self.extras.count_rivals()["filtered"], "filtered": filtered}

    def positions(self, ids: Ids) -> Ids:
        """Return the index in `candidates` of each id in `ids`; every id must be a candidate."""
        if len(self.candidates) == len(side_of(self.side).vocabulary(self.dataset)):  # candidate i has id i
            return ids
        return np.searchsorted(self.candidates, ids)

    def places(self, start: int, stop: int) -> Places:
        """Return the cells of the positives and of the known answers of keys ``start:stop`` in the matrix of scores.

        The matrix has one row per key (row 0 is key `start`) and one column per candidate.
        """
        offsets, known_offsets = self.offsets_of_keys[start : stop + 1], self.known_offsets[start : stop + 1]
        rows = np.arange(stop - start)
        return Places(
            np.repeat(rows, np.diff(offsets)),
            self.positions(self.queries.answers[offsets[0] : offsets[-1]]),
            np.repeat(rows, np.diff(known_offsets)),
            self.positions(self.known[known_offsets[0] : known_offsets[-1]]),
        )


def _check_answers(dataset: Dataset, queries: Queries, is_candidate: Bools) -> None:
    """Raise a ProtocolError if the answer of a positive is not a candidate.

    `is_candidate`, shape (ids,), is True for the candidates.
    """
    missing = np.flatnonzero(~is_candidate[queries.answers])
    if len(missing):
        i = int(np.searchsorted(queries.offsets, missing[0], side="right")) - 1
        s, p, o = side_of(queries.side).in_place(tuple(part[i] for part in queries.parts), queries.answers[missing[0]])
        n_more = len(missing) - 1
        more = f" (the same holds for {n_more} more positive{'s' * (n_more > 1)})" if n_more else ""
        raise ProtocolError(
            f"the answer of {triple_labels(dataset, s, p, o)}, {queries.side} side, is not a "
            f"candidate of its query{more}. The answer of every positive must be a candidate"
        )
