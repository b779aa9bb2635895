"""Evaluations in tiles of chosen numbers of queries and candidates; small graphs have few that `batch_size` gives."""

from contextlib import contextmanager

import pytest

import kgeval as kg
from kgeval.ranking import ranker
from kgeval.scorers import row_scorers

ENOUGH = 1 << 17


@contextmanager
def tiles(n_queries=None, n_candidates=None):
    """Batches of `n_queries` and blocks of `n_candidates`, where a batch size is given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranker, "tile_shape", lambda *_: (n_queries or 64, n_candidates or 4080))
        if n_candidates is not None:
            patch.setattr(row_scorers, "BLOCK_CANDIDATES", n_candidates)
        if n_queries is not None:
            patch.setattr(ranker, "row_batch", lambda *_: n_queries)
        yield


def evaluate_in_tiles(
    scorer, dataset, protocol=None, *, n_queries=None, n_candidates=None, n_pairs=None, threads=None, **options
):
    """`kgeval.evaluate`; `n_pairs` is its batch size, which limits the calls of functions."""
    if threads is not None:
        options["executor"] = kg.executors.Threads(threads)
    if n_queries is None and n_candidates is None:
        return kg.evaluate(scorer, dataset, protocol, batch_size=n_pairs, **options)
    with tiles(n_queries, n_candidates):
        return kg.evaluate(scorer, dataset, protocol, batch_size=n_pairs or ENOUGH, **options)
