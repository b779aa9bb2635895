"""Random facts with times and qualifiers, scorers that take the time or not, and the loop that counts their rivals."""

import numpy as np
import pandas as pd

from kgeval.data.dataset import Dataset
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary

N, R, TIMES, QUALIFIERS = 6, 2, (2, 9, 10, None), ((), ((0, 1),), ((0, 1), (1, 2)))
COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]


def random_facts(seed, n=40):
    """Three splits of (s, p, o, time, qualifiers), with repeated rows, missing times and facts without qualifiers."""
    rng = np.random.default_rng(seed)
    rows = [
        (int(s), int(p), int(o), TIMES[t], QUALIFIERS[q])
        for s, p, o, t, q in rng.integers(0, (N, R, N, len(TIMES), len(QUALIFIERS)), (n, 5))
    ]
    rows += [rows[i] for i in rng.integers(0, n, n // 4)]  # planted duplicates, also across splits
    rows = [rows[i] for i in rng.permutation(len(rows))]
    rows = [(int(s), int(p), int(o), None if t is None else int(t), q) for s, p, o, t, q in rows]
    return {"train": rows[: n // 2], "valid": rows[n // 2 : n // 2 + 8], "test": rows[n // 2 + 8 :]}


def as_dataset(facts):
    """The same as a dataset with the columns time and qualifiers."""
    splits = {
        split: TripleSet(np.array([row[:3] for row in rows], dtype=np.int64).reshape(-1, 3), N, R)
        for split, rows in facts.items()
    }
    times = {
        split: pd.DataFrame({"time": pd.Series([row[3] for row in rows], dtype=object)})
        for split, rows in facts.items()
    }
    qualifiers = {split: [row[4] for row in rows] for split, rows in facts.items()}
    return Dataset(Vocabulary.of_ids(N), Vocabulary.of_ids(R), splits, columns=times, qualifiers=qualifiers)


def score_of(s, p, o, time):
    """Few distinct scores, so that there are ties; a missing time has a score of its own."""
    return (3 * s + 5 * p + 7 * o * o + s * o) % 5 + (0 if time is None else (s + o) * time % 3)


def loop(facts, key, takes_time, splits=("test",), known=("train", "valid", "test"), pools=None):
    """Count the rivals of each positive by loops over all entities: {(row, side): counts raw and filtered}.

    `takes_time`: whether the scorer takes the time, or the sides on which it does. `pools`: side -> relation -> the
    entities to loop over instead.
    """
    part = {"time": 3, "qualifiers": 4}
    known_facts = {tuple(row[:3]) + tuple(row[part[name]] for name in key) for split in known for row in facts[split]}
    found = {}
    for number, row in enumerate([row for split in splits for row in facts[split]]):
        s, p, o, time = row[:4]
        for side in ("subject", "object"):
            counts = dict.fromkeys(COUNTS, 0)
            with_time = takes_time if isinstance(takes_time, bool) else side in takes_time
            own = score_of(s, p, o, time if with_time else None)
            for entity in range(N) if pools is None else sorted(pools[side][p]):
                triple = (entity, p, o) if side == "subject" else (s, p, entity)
                if triple == (s, p, o):
                    continue
                score = score_of(*triple, time if with_time else None)
                is_known = triple + tuple(row[part[name]] for name in key) in known_facts
                for setting in ("raw", *(("filtered",) if not is_known else ())):
                    counts[f"better_{setting}"] += score > own
                    counts[f"tied_{setting}"] += score == own
                    counts[f"rivals_{setting}"] += 1
            found[number, side] = tuple(counts[name] for name in COUNTS)
    return found


def _times(time):
    return [None if np.isnan(t) else int(t) for t in np.asarray(time, dtype=float)]


def with_time(s, p, o, time):
    """A function that takes the time of each pair."""
    return np.array([score_of(*row) for row in zip(s.tolist(), p.tolist(), o.tolist(), _times(time), strict=True)])


def without_time(s, p, o):
    """A function of the triple alone."""
    return np.array([score_of(*row, None) for row in zip(s.tolist(), p.tolist(), o.tolist(), strict=True)])


def with_all(s, p, o, qualifiers, time):
    """A function that names the columns in another order than the filter key."""
    assert len(qualifiers) == len(s)
    return with_time(s, p, o, time)


class Rows:
    """Whole rows; counts its queries."""

    def __init__(self):
        self.asked = []

    def _all(self, triples, time):
        self.asked += zip(triples, time, strict=True)
        return np.array(
            [
                [score_of(*(entity if part is None else part for part in triple), t) for entity in range(N)]
                for triple, t in zip(triples, time, strict=True)
            ]
        )

    def score_objects(self, s, p, time):
        return self._all([(i, j, None) for i, j in zip(s.tolist(), p.tolist())], _times(time))

    def score_subjects(self, p, o, *, time):
        return self._all([(None, i, j) for i, j in zip(p.tolist(), o.tolist())], _times(time))


class PlainRows(Rows):
    """Whole rows without the time."""

    def score_objects(self, s, p):
        return self._all([(i, j, None) for i, j in zip(s.tolist(), p.tolist())], [None] * len(s))

    def score_subjects(self, p, o):
        return self._all([(None, i, j) for i, j in zip(p.tolist(), o.tolist())], [None] * len(p))


class ObjectTimes(PlainRows):
    """Whole rows, of which only one method takes the time."""

    score_objects = Rows.score_objects


class SubjectTimes(PlainRows):
    """Whole rows, of which only the other method takes the time."""

    score_subjects = Rows.score_subjects


def ranked(result):
    """The counts of each (row of the ranked splits, side); rows of a sample keep their numbers."""
    n = len(result.table) // 2
    return {
        (i % n, row.side): tuple(int(getattr(row, name)) for name in COUNTS)
        for i, row in enumerate(result.table.itertuples())
    }
