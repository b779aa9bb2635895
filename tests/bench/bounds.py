"""What kgeval is measured against: the bare scores of all queries with all entities, nothing counted, nothing filtered.

Each function prepares its arrays and returns a `Bound`, whose `seconds()` does the work once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from measure import seconds, take_turns

ROWS = 512
# (queries, entities) that meet at a time in the torch expression of complex distances; the fastest is kept
MODULUS_BLOCKS = ((1, 256), (1, 1024), (1, 4096), (4, 64), (4, 512), (16, 16), (16, 64), (16, 256))
TRIED_ENTITIES, TRIED_ROUNDS = 4096, 5


@dataclass
class Bound:
    """A work to compare with: `seconds()` does it once and says how long it took."""

    about: str
    seconds: Callable[[], float]


def query_vectors(model, triples):
    """Return the queries of both sides of every triple, repeated ones repeated, float32 (2 n, d)."""
    s, p, o = triples.T
    sides = [model.query_vectors("subject", o, p), model.query_vectors("object", s, p)]
    return np.concatenate([side.astype(np.float32) for side in sides])


def product(queries, entities):
    """The numpy float32 product in blocks of 512 queries, into one buffer, with numpy's own threads."""
    buffer = np.empty((ROWS, len(entities)), dtype=np.float32)

    def run():
        for start in range(0, len(queries), ROWS):
            part = queries[start : start + ROWS]
            np.matmul(part, entities.T, out=buffer[: len(part)])

    about = f"numpy float32 product, {len(queries):,} queries x {len(entities):,} entities, blocks of {ROWS} queries"
    return Bound(about, lambda: seconds(run))


def cdist(queries, entities, p=1.0):
    """torch.cdist, in blocks of 512 queries, with torch's own threads."""
    import torch

    rows, columns = torch.from_numpy(queries), torch.from_numpy(entities)

    def run():
        with torch.inference_mode():
            for start in range(0, len(rows), ROWS):
                torch.cdist(rows[start : start + ROWS], columns, p=p)

    about = f"torch.cdist(p={p:g}), {len(queries):,} queries x {len(entities):,} entities, blocks of {ROWS} queries"
    return Bound(f"{about}, {torch.get_num_threads()} threads", lambda: seconds(run))


def modulus(queries, entities):
    """The sums of complex moduli by a torch expression, in the blocks that are the fastest here."""
    import torch

    d = queries.shape[1] // 2
    a, b = (torch.from_numpy(half.copy()) for half in (queries[:, :d], queries[:, d:]))
    ea, eb = (torch.from_numpy(half.copy()) for half in (entities[:, :d], entities[:, d:]))

    def run(block, n_queries, n_entities):
        with torch.inference_mode():
            for i in range(0, n_queries, block[0]):
                qa, qb = a[i : i + block[0], None], b[i : i + block[0], None]
                for j in range(0, n_entities, block[1]):
                    ((qa - ea[j : j + block[1]]) ** 2 + (qb - eb[j : j + block[1]]) ** 2).sqrt().sum(-1)

    # each block at its best of several rounds over all of them: what the machine does meanwhile must not choose
    n_tried = min(16, len(queries))
    n_columns = min(TRIED_ENTITIES, len(ea))
    trials = [lambda block=block: seconds(lambda: run(block, n_tried, n_columns)) for block in MODULUS_BLOCKS]
    best_times = [min(times) for times in take_turns(trials, TRIED_ROUNDS)]
    best = MODULUS_BLOCKS[int(np.argmin(best_times))]
    nanoseconds = min(best_times) / (n_tried * n_columns * d) * 1e9
    about = (
        f"torch ((a - ea)**2 + (b - eb)**2).sqrt().sum(-1), {len(queries):,} queries x {len(entities):,} entities, "
        f"in blocks of {best[0]} x {best[1]:,}, the fastest of {len(MODULUS_BLOCKS)} tried ({nanoseconds:.2f} ns for "
        f"each complex number there), {torch.get_num_threads()} threads"
    )
    return Bound(about, lambda: seconds(lambda: run(best, len(queries), len(ea))))


def batches(scorer, triples):
    """A matrix scorer itself, asked every query of both sides, repeated ones repeated, 512 at a time."""

    def run():
        for start in range(0, len(triples), ROWS):
            s, p, o = triples[start : start + ROWS].T
            scorer.score_subjects(p, o)
            scorer.score_objects(s, p)

    return Bound(f"the scorer itself, {2 * len(triples):,} queries, {ROWS} at a time", lambda: seconds(run))


class Recorder:
    """A function score(s, p, o) that remembers the arrays it was called with."""

    def __init__(self, function):
        self.function = function
        self.calls = []

    def __call__(self, s, p, o):
        self.calls.append([_packed(ids) for ids in (s, p, o)])
        return self.function(s, p, o)


def replay(recorder):
    """The recorded function called with the same arrays in the same order; making these is not in the time."""

    def total():
        spent = 0.0
        for call in recorder.calls:
            s, p, o = (make() for make in call)
            spent += seconds(lambda: recorder.function(s, p, o))  # noqa: B023 (called at once)
        return spent

    n = sum(len(call[0]()) for call in recorder.calls)
    return Bound(f"the function itself, {n:,} triples in the same {len(recorder.calls):,} calls", total)


def _packed(ids):
    """Return a function that makes `ids` anew; arrays of runs and arrays that repeat are kept small."""
    n = len(ids)
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if n else np.zeros(0, dtype=np.int64)
    if 20 * len(starts) <= n:
        values, lengths = ids[starts], np.diff(np.append(starts, n))
        return lambda: np.repeat(values, lengths)
    again = np.flatnonzero(ids[1:] == ids[0]) + 1 if n else starts
    if len(again) and np.array_equal(np.resize(ids[: again[0]], n), ids):
        first = ids[: again[0]].copy()
        return lambda: np.resize(first, n)
    kept = ids.copy()
    return kept.copy
