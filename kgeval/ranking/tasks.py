"""What is ranked: the queries that share their candidates, with what the filter knows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Bools, Ids
from kgeval.data import Dataset, KnownIndex, Queries, triple_labels
from kgeval.errors import ProtocolError
from kgeval.kernels import Places


@dataclass(frozen=True)
class Task:
    """Queries of one side that share their candidates, and the answers that the filter leaves out.

    Parameters
    ----------
    dataset : Dataset
        For labels in messages only.
    queries : Queries
    candidates : int64 array
        Sorted distinct ids; every positive's answer is among them (see `kgeval.candidates`).
    known_offsets, known : int64 arrays
        CSR of the known answers of each query that are candidates, sorted and distinct.
    is_known : int64 array, shape (positives,)
        1 where the positive itself is among its query's known answers, else 0.
    """

    dataset: Dataset
    queries: Queries
    candidates: Ids
    known_offsets: Ids
    known: Ids
    is_known: Ids

    @classmethod
    def of(cls, dataset: Dataset, queries: Queries, candidates: Ids, index: KnownIndex) -> Task:
        """Look up the known answers of `queries` in `index`, those that are candidates.

        Raises
        ------
        ProtocolError
            If the candidates are not sorted distinct ids, or the answer of a positive is not among them.
        """
        if not (np.diff(candidates, prepend=-1, append=len(dataset.entities)) > 0).all():
            raise ProtocolError(
                f"a pool of candidates must hold sorted distinct ids in 0..{len(dataset.entities) - 1}; got "
                f"{np.array2string(candidates, threshold=6)} for queries of the {queries.side} side"
            )
        offsets, known = index.lookup(queries.relation, queries.given)
        row_of = np.repeat(np.arange(len(queries)), np.diff(offsets))
        if len(candidates) < len(dataset.entities):
            is_candidate = np.zeros(len(dataset.entities), dtype=bool)
            is_candidate[candidates] = True
            _check_answers(dataset, queries, is_candidate)
            row_of, known = row_of[is_candidate[known]], known[is_candidate[known]]
            offsets = np.searchsorted(row_of, np.arange(len(queries) + 1))
        repeats = np.diff(queries.offsets)
        is_known = index.contains(
            np.repeat(queries.relation, repeats), np.repeat(queries.given, repeats), queries.answers
        )
        return cls(dataset, queries, candidates, offsets, known, is_known.astype(np.int64))

    def count_rivals(self) -> dict[str, Ids]:
        """Return how many rivals each positive has in the raw and in the filtered setting, int64 (positives,)."""
        raw = np.full(len(self.queries.answers), len(self.candidates) - 1)
        n_known = np.repeat(np.diff(self.known_offsets), np.diff(self.queries.offsets)) - self.is_known
        return {"raw": raw, "filtered": raw - n_known}

    def positions(self, ids: Ids) -> Ids:
        """Return the places of `ids`, which are candidates, in `candidates`."""
        return np.searchsorted(self.candidates, ids)

    def places(self, start: int, stop: int) -> Places:
        """Return where the positives and the known answers of queries ``start:stop`` stand among the candidates."""
        offsets, known_offsets = self.queries.offsets[start : stop + 1], self.known_offsets[start : stop + 1]
        rows = np.arange(stop - start)
        return Places(
            np.repeat(rows, np.diff(offsets)),
            self.positions(self.queries.answers[offsets[0] : offsets[-1]]),
            np.repeat(rows, np.diff(known_offsets)),
            self.positions(self.known[known_offsets[0] : known_offsets[-1]]),
        )


def _check_answers(dataset: Dataset, queries: Queries, is_candidate: Bools) -> None:
    lacking = np.flatnonzero(~is_candidate[queries.answers])
    if len(lacking):
        i = int(np.searchsorted(queries.offsets, lacking[0], side="right")) - 1
        given, answer = queries.given[i], queries.answers[lacking[0]]
        s, o = (answer, given) if queries.side == "subject" else (given, answer)
        raise ProtocolError(
            f"the answer of {triple_labels(dataset, s, queries.relation[i], o)}, {queries.side} side, and of "
            f"{len(lacking) - 1} more positives is not among its candidates; each positive's own entity must be one"
        )
