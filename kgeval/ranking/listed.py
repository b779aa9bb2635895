"""Ranking among lists of negatives, one list per positive (`kgeval.data.candidates.Listed`).

`kgeval.evaluation` makes one `ListTask` per side. A `ListBatch` scores some positives and the entities of their lists
with a scorer; `count_lists` counts the rivals, also for scores that the user computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kgeval.base.checks import Bools, Ids, Scores
from kgeval.data.candidates import Listed
from kgeval.data.dataset import Dataset
from kgeval.data.keys import NO_COLUMNS, FactColumns
from kgeval.data.known import KnownIndex
from kgeval.data.lists import Ragged
from kgeval.data.queries import query_parts
from kgeval.data.sides import side_of
from kgeval.errors import ProtocolError
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.scorers.row_scorers import RowScorer, check_triple_scores, score_triples


@dataclass(frozen=True)
class ListTask:
    """The positives of one side, each with its list of rivals.

    Parameters
    ----------
    dataset : Dataset
    side : str
    triples : int64 array, shape (positives, 3 or more)
        Columns s, p, o and those that the scorer takes.
    rows : int64 array, shape (positives,)
        The index of each positive among all positives of the protocol.
    rivals : Ragged
        One list of ids per positive, of entities or relations, without the answer of the positive.
    is_known : bool array, shape (rivals,)
        Whether the rival forms a known triple.
    kept : int64 array, shape (rivals,)
        For each rival, its position in the ``values`` of the `Ragged` object that the user gave for this side.
    counts : dict of str to int
        The counts of `kgeval.data.candidates.Rivals`, and ``"known"``: the number of rivals that form known triples.
    has_dropped_duplicates : bool
        Whether repeated entities were removed from the lists.
    """

    dataset: Dataset
    side: str
    triples: Ids
    rows: Ids
    rivals: Ragged
    is_known: Bools
    kept: Ids
    counts: dict[str, int]
    has_dropped_duplicates: bool

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        listed: Listed,
        side: str,
        triples: Ids,
        rows: Ids,
        entities: Ids,
        index: KnownIndex,
        columns: FactColumns = NO_COLUMNS,
    ) -> ListTask:
        """Make the task of one side.

        Parameters
        ----------
        dataset : Dataset
        listed : Listed
        side : str
        triples : int64 array, shape (all positives, 3 or more)
            The facts of the ranked splits; list i of `listed` belongs to fact i.
        rows : int64 array, shape (positives,)
            The indices of the triples to rank.
        entities : int64 array, shape (entities,)
            Sorted ids of the entities (on the relation side: relations) that may be candidates.
        index : KnownIndex
            The known triples, in which the known answers of a query are looked up.
        columns : FactColumns
            The further columns of `triples`; those of the key are the further columns of `index`.

        Raises
        ------
        ProtocolError
            If the number of lists differs from the number of triples, or if a list contains an id that no entity of
            `dataset` has.
        """
        every = listed.lists[side]
        if len(every) != len(triples):
            raise ProtocolError(
                f"Listed has {len(every):,} lists of {side}s, but the ranked splits have {len(triples):,} triples; "
                "give one list per triple, in their order, duplicate triples included"
            )
        vocabulary = side_of(side).vocabulary(dataset)
        if every.values.size and int(every.values.max()) >= len(vocabulary):
            position = int(np.argmax(every.values))
            raise ProtocolError(
                f"{side}s[{every.list_of[position]}] contains id {every.values[position]}; dataset {dataset.name!r} "
                f"has {side_of(side).kind} 0 to {len(vocabulary) - 1}"
            )
        given, answers = query_parts(triples[rows], side)
        rivals = listed.rivals(side, rows, answers, entities)
        owner = rivals.lists.list_of
        is_known = index.contains(*(part[owner] for part in columns.key_parts(given)), rivals.lists.values)
        counts = rivals.counts | {"known": int(is_known.sum())}
        has_dropped = listed.duplicates == "drop"
        return cls(
            dataset,
            side,
            triples[rows][:, : columns.n_scored],
            rows,
            rivals.lists,
            is_known,
            rivals.kept,
            counts,
            has_dropped,
        )

    def count_rivals(self) -> dict[str, Ids]:
        """Return the number of rivals of each positive, int64 (positives,), under the keys "raw" and "filtered"."""
        n_known = np.bincount(self.rivals.list_of[self.is_known], minlength=len(self.rivals))
        return {"raw": self.rivals.lengths, "filtered": self.rivals.lengths - n_known}

    @property
    def n_queries(self) -> int:
        """The number of lists; two positives of the same query have two lists."""
        return len(self.rows)

    @property
    def offsets(self) -> Ids:
        """The positives of list i are ``rows[offsets[i] : offsets[i + 1]]``; int64, shape (lists + 1,)."""
        return np.arange(len(self.rows) + 1)

    def count_pairs(self, start: int, stop: int) -> int:
        """Return the number of triples of the lists ``start:stop``: the positives and their rivals."""
        return stop - start + int(self.rivals.offsets[stop] - self.rivals.offsets[start])

    def take(self, places: Ids) -> ListTask:
        """Return a task with only the positives at the positions `places`, in this order; `counts` is not changed.

        Parameters
        ----------
        places : int64 array, shape (n,)
        """
        elements = self.rivals.elements(places)
        return replace(
            self,
            triples=self.triples[places],
            rows=self.rows[places],
            rivals=self.rivals.take(places),
            is_known=self.is_known[elements],
            kept=self.kept[elements],
        )

    def triples_of(self, rivals: Ragged, start: int) -> Ids:
        """Return the triples that rivals form, one row per rival, int64, shape (rivals, 3).

        Parameters
        ----------
        rivals : Ragged
            The rivals of consecutive positives.
        start : int
            The index of the first of these positives.
        """
        triples = self.triples[start + rivals.list_of]
        triples[:, side_of(self.side).asked] = rivals.values
        return triples


@dataclass(frozen=True)
class ListBatch:
    """The lists ``start:stop`` of a `ListTask`: the positives and their rivals are scored together."""

    scorer: RowScorer
    task: ListTask
    start: int
    stop: int

    def count(self) -> TaskCounts:
        """Score each positive and the entities of its list; count the rivals that score higher, and the ties."""
        task, n = self.task, self.stop - self.start
        rivals = task.rivals.part(self.start, self.stop)
        triples = np.concatenate([task.triples[self.start : self.stop], task.triples_of(rivals, self.start)])
        scores = score_triples(self.scorer, triples, task.side)
        check_triple_scores(scores, triples, task.dataset, self.scorer)
        is_known = task.is_known[task.rivals.offsets[self.start] : task.rivals.offsets[self.stop]]
        counts = count_lists(scores[:n], Ragged(rivals.offsets, scores[n:]), is_known)
        return replace(counts, rows=task.rows[self.start : self.stop])


def count_lists(positives: Scores, rivals: Ragged, is_known: Bools) -> TaskCounts:
    """Count, for each positive, the rivals with a higher score and the rivals with the same score.

    Parameters
    ----------
    positives : array, shape (positives,)
        The score of each positive.
    rivals : Ragged
        One list per positive: the scores of its rivals, in the dtype of `positives`.
    is_known : bool array, shape (rivals,)
        Whether the rival forms a known triple.

    Returns
    -------
    TaskCounts
        Its field `rows` is 0, 1, 2, ...: the index of each positive in `positives`.

    Examples
    --------
    >>> rivals = Ragged(np.array([0, 3, 4]), np.array([3.0, 2.0, 1.0, 5.0]))
    >>> found = count_lists(np.array([2.0, 4.0]), rivals, np.array([True, False, False, False]))
    >>> found.raw.better.tolist(), found.raw.tied.tolist(), found.filtered.better.tolist()
    ([1, 1], [1, 0], [0, 1])
    """
    owner = rivals.list_of
    is_above, is_equal = rivals.values > positives[owner], rivals.values == positives[owner]

    def counted(is_counted: Bools) -> RankCounts:
        return RankCounts(
            *(
                np.bincount(owner[is_counted & part], minlength=len(rivals))
                for part in (is_above, is_equal, np.ones(len(owner), dtype=bool))
            )
        )

    is_infinite = bool((positives == np.inf).any() or (rivals.values == np.inf).any())
    raw, known = counted(np.ones(len(owner), dtype=bool)), counted(is_known)
    return TaskCounts(np.arange(len(rivals)), raw, known, positives, is_infinite)
