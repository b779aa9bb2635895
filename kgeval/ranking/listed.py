"""Ranking among lists of negatives, one list per positive (`kgeval.data.Listed`): `ListTask` and `rank_lists`.

`kgeval.evaluation` makes one `ListTask` per side. `rank_lists` scores the positives and the entities of their lists
with a scorer; `count_lists` counts the rivals, also for scores that the user computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.checks import Bools, Ids, Scores
from kgeval.data import Dataset, KnownIndex, Listed, Lists, query_parts
from kgeval.errors import ProtocolError
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.scorers import RowScorer, check_triple_scores, score_triples

MAX_RIVALS = 1 << 20  # rivals that are scored together


@dataclass(frozen=True)
class ListTask:
    """The positives of one side, each with its list of rivals.

    Parameters
    ----------
    dataset : Dataset
    side : str
    triples : int64 array, shape (positives, 3)
    rows : int64 array, shape (positives,)
        The index of each positive among all positives of the protocol.
    rivals : Lists
        One list of entity ids per positive, without the answer of the positive.
    is_known : bool array, shape (rivals,)
        Whether the rival forms a known triple.
    kept : int64 array, shape (rivals,)
        For each rival, its position in the ``values`` of the `Lists` object that the user gave for this side.
    counts : dict of str to int
        The counts of `kgeval.data.candidates.Rivals`, and ``"known"``: the number of rivals that form known triples.
    has_dropped_duplicates : bool
        Whether repeated entities were removed from the lists.
    """

    dataset: Dataset
    side: str
    triples: Ids
    rows: Ids
    rivals: Lists
    is_known: Bools
    kept: Ids
    counts: dict[str, int]
    has_dropped_duplicates: bool

    @classmethod
    def of(
        cls, dataset: Dataset, listed: Listed, side: str, triples: Ids, rows: Ids, entities: Ids, index: KnownIndex
    ) -> ListTask:
        """Make the task of one side.

        Parameters
        ----------
        dataset : Dataset
        listed : Listed
        side : str
        triples : int64 array, shape (all positives, 3)
            The triples of the ranked splits; list i of `listed` belongs to triple i.
        rows : int64 array, shape (positives,)
            The indices of the triples to rank.
        entities : int64 array, shape (entities,)
            Sorted ids of the entities that may be candidates.
        index : KnownIndex
            The known triples, in which the known answers of a query are looked up.

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
        if every.values.size and int(every.values.max()) >= len(dataset.entities):
            position = int(np.argmax(every.values))
            raise ProtocolError(
                f"{side}s[{every.list_of[position]}] contains id {every.values[position]}; dataset {dataset.name!r} "
                f"has entities 0 to {len(dataset.entities) - 1}"
            )
        (relation, given), answers = query_parts(triples[rows], side)
        rivals = listed.rivals(side, rows, answers, entities)
        owner = rivals.lists.list_of
        is_known = index.contains(relation[owner], given[owner], rivals.lists.values)
        counts = rivals.counts | {"known": int(is_known.sum())}
        has_dropped = listed.duplicates == "drop"
        return cls(dataset, side, triples[rows], rows, rivals.lists, is_known, rivals.kept, counts, has_dropped)

    def count_rivals(self) -> dict[str, Ids]:
        """Return a dict: "raw" or "filtered" -> the number of rivals of each positive, int64, shape (positives,)."""
        n_known = np.bincount(self.rivals.list_of[self.is_known], minlength=len(self.rivals))
        return {"raw": self.rivals.lengths, "filtered": self.rivals.lengths - n_known}

    @property
    def n_queries(self) -> int:
        """The number of lists; two positives of the same query have two lists."""
        return len(self.rows)

    def triples_of(self, rivals: Lists, start: int) -> Ids:
        """Return the triples that rivals form, one row per rival, int64, shape (rivals, 3).

        Parameters
        ----------
        rivals : Lists
            The rivals of consecutive positives.
        start : int
            The index of the first of these positives.
        """
        triples = self.triples[start + rivals.list_of]
        triples[:, 0 if self.side == "subject" else 2] = rivals.values
        return triples


def rank_lists(scorer: RowScorer, tasks: Sequence[ListTask], progress: bool = True) -> list[TaskCounts]:
    """Rank every positive of every task among the rivals of its list.

    Parameters
    ----------
    scorer : RowScorer
    tasks : sequence of ListTask
    progress : bool
        Whether to show a progress bar in a terminal.

    Returns
    -------
    list of TaskCounts
        One for each task, with one row per positive, in the order of the task's positives.

    Raises
    ------
    ScoreError
        If a score is NaN, or has a wrong shape or dtype.
    """
    from tqdm.auto import tqdm  # here, because it loads asyncio: a fifth of the import of kgeval

    total = sum(len(task.rows) for task in tasks)
    counts = []
    with tqdm(total=total, desc="lists", unit="list", disable=None if progress else True, leave=False) as bar:
        for task in tasks:
            parts = []
            for start, stop in _blocks(task.rivals):
                rivals = task.rivals.part(start, stop)
                triples = np.concatenate([task.triples[start:stop], task.triples_of(rivals, start)])
                scores = score_triples(scorer, triples, task.side)
                check_triple_scores(scores, triples, task.dataset, scorer)
                is_known = task.is_known[task.rivals.offsets[start] : task.rivals.offsets[stop]]
                n = stop - start
                parts.append(count_lists(scores[:n], Lists(rivals.offsets, scores[n:]), is_known))
                bar.update(n)
            counts.append(TaskCounts.joined(parts))
    return counts


def count_lists(positives: Scores, rivals: Lists, is_known: Bools) -> TaskCounts:
    """Count the rivals that score above each positive, and those that score equal to it.

    Parameters
    ----------
    positives : array, shape (positives,)
        The score of each positive.
    rivals : Lists
        One list per positive: the scores of its rivals, in the dtype of `positives`.
    is_known : bool array, shape (rivals,)
        Whether the rival forms a known triple.

    Returns
    -------
    TaskCounts

    Examples
    --------
    >>> rivals = Lists(np.array([0, 3, 4]), np.array([3.0, 2.0, 1.0, 5.0]))
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
    return TaskCounts(counted(np.ones(len(owner), dtype=bool)), counted(is_known), positives, is_infinite)


def _blocks(rivals: Lists) -> list[tuple[int, int]]:
    """Cut the lists into blocks; return a tuple (start, stop) for each block, which contains lists ``start:stop``.

    The lists of a block have at most `MAX_RIVALS` rivals in total; a list with more rivals is a block of its own.
    """
    blocks, start = [], 0
    while start < len(rivals):
        stop = int(np.searchsorted(rivals.offsets, rivals.offsets[start] + MAX_RIVALS, side="right")) - 1
        stop = min(max(stop, start + 1), len(rivals))
        blocks.append((start, stop))
        start = stop
    return blocks
