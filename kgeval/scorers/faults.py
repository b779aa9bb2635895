"""Search for faults that spoil all ranks of a scorer: shifted rows, swapped sides, a wrong sign, training on test.

The scorer ranks some triples, and the same triples after a change: with the entity before the subject in its place,
with subject and object exchanged, and so on. A sound scorer ranks the true triples higher than the changed ones.
`check_scorer` calls `find_fault`; `kgeval.evaluate` calls it to name the cause if train triples rank low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.checks import Ids, Reals
from kgeval.data.dataset import Dataset
from kgeval.data.keys import NO_COLUMNS, FactColumns, facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.queries import Queries, given_and_asked, query_parts
from kgeval.data.row_keys import rank_in
from kgeval.data.sides import SIDES
from kgeval.scorers import call_size
from kgeval.scorers.row_scorers import MatrixRows, RowScorer, columns_taken, missing_ids, on_side
from kgeval.scorers.values import as_scores, check_no_nan

MIN_TRIPLES = 50  # with fewer triples, nothing can be told
MIN_CHANGED = 30  # changed triples that are known are left out; at least so many must be left
MIN_PAIRS = 30  # pairs of a test and a train triple with the same relation
# Numbers of triples and rivals: the first pair that can be ranked in the time of the search.
SIZES = ((200, 2000), (200, 500), (100, 200), (50, 100))
SEARCH_SECONDS = 2.0
N_TIMED, TIMED_TRIPLES, TIMED_RIVALS = 3, 10, 100  # for the measurement of the speed
# A change shows a fault if the MRR of the changed triples is at least `MIN_RATIO` times that of the true triples, at
# least `MIN_OVER_CHANCE` times the chance level, and if ranks at random reach it with a probability of at most `MAX_P`.
MIN_RATIO, MIN_OVER_CHANCE, MAX_P = 2.0, 3.0, 1e-4
# Test triples rank too high if their MRR is at least `TEST_RATIO` times that of train triples of the same relations,
# and the difference of the reciprocal ranks, or of their logarithms, at least `TEST_Z` times its standard error.
TEST_RATIO, TEST_Z = 1.5, 4.0
SOUGHT = "shifted rows, swapped sides or a wrong sign"
REVERSED = "the scores are reversed: {true}, {mrr} with the other sign; higher must be better, so negate distances"
PAIRS_AT_ONCE = 1 << 20
SEED = 0

ROWS = {"subject": (1, 0), "object": (0, 1), "entity": (1, 1)}  # shifted rows -> whether subjects, objects move


def find_fault(
    rows: RowScorer, scorer: Any, dataset: Dataset, sides: Sequence[str], seconds: float = SEARCH_SECONDS
) -> tuple[str, str]:
    """Return the fault of a scorer, or the reason why some faults cannot be found.

    Up to 200 triples of test (or valid) and as many of train, of the same relations, are ranked among up to 2,000
    random entities; then the same triples after each change. Changed triples that are known are left out, so that a
    symmetric relation is no fault. All known answers are filtered, at whatever time.

    Parameters
    ----------
    rows : RowScorer
    scorer : function, object or model
        What `rows` adapts; its attributes ``missing_entities`` and ``missing_relations`` are read.
    dataset : Dataset
    sides : sequence of str
        The entity sides among them are searched.
    seconds : float
        The time of the search; a slow scorer ranks fewer triples among fewer entities.

    Returns
    -------
    fault : str
        A text for a message; empty if no fault was found.
    reason : str
        Too few triples, or a slow scorer; empty if all faults were searched for.

    Raises
    ------
    ScoreError
        If a score is NaN.

    Examples
    --------
    >>> from kgeval.scorers.row_scorers import as_row_scorer
    >>> ring = np.column_stack([np.arange(60), np.zeros(60, dtype=int), (np.arange(60) + 1) % 60])
    >>> dataset = Dataset.from_arrays(test=ring, n_entities=60, n_relations=1)
    >>> shifted = lambda s, p, o: -np.abs((s + 2) % 60 - o)  # right is (s + 1) % 60
    >>> find_fault(as_row_scorer(shifted, 60), shifted, dataset, ["object"])[0].partition(";")[0]
    'the subject rows are shifted by one: MRR 0.40 of 60 test triples, 1.00 with the entity before each subject'
    """
    sides = [side for side in sides if side in SIDES]
    if not sides:
        return "", f"only the relation side was asked for, and no entities are ranked to find {SOUGHT}"
    entities = np.setdiff1d(np.arange(len(dataset.entities)), missing_ids(scorer, "entities"))
    lacking = missing_ids(scorer, "relations")
    columns = FactColumns.taken(columns_taken(rows, sides))
    facts = {split: facts_of(dataset, (split,), columns.names) for split in dataset.splits}
    usable = {
        split: part[np.isin(part[:, [0, 2]], entities).all(axis=1) & ~np.isin(part[:, 1], lacking)]
        for split, part in facts.items()
    }
    rng = np.random.default_rng(SEED)
    ranked = next((split for split in ("test", "valid", "train") if len(usable.get(split, ()))), None)
    if ranked is None or max(map(len, usable.values())) < MIN_TRIPLES:
        return "", f"there are fewer than {MIN_TRIPLES} triples, too few to find {SOUGHT}"
    known = facts_of(dataset, tuple(dataset.splits))
    indexes = {side: KnownIndex.of(*query_parts(known, side)) for side in SIDES}
    few = entities[_some(len(entities), TIMED_RIVALS, rng)]
    ranker = _Ranker(rows, dataset, entities, indexes, sides, few, 0, columns).affordable(usable[ranked], seconds, rng)
    if ranker is None:
        return "", f"the scorer is too slow to look for {SOUGHT}"
    samples = {ranked: usable[ranked][_some(len(usable[ranked]), ranker.n_triples, rng)]}
    pairs = None
    if ranked != "train" and "train" in usable:
        pairs = matched(samples[ranked][:, 1], usable["train"][:, 1], rng)
        samples["train"] = usable["train"][pairs[1]]
    ranks = {split: ranker.ranks(triples) for split, triples in samples.items() if len(triples)}
    if all(part.is_constant for part in ranks.values()):
        return "the scorer is constant: all candidates of a query get the same score, so nothing is ranked", ""
    large = [split for split, triples in samples.items() if len(triples) >= MIN_TRIPLES]
    for split in large:
        faults = list(ranker.faults(split, samples[split], ranks[split]))
        if faults:
            return max(faults)[1], ""
    if pairs is not None and "train" in ranks:
        return high_test_ranks(ranks[ranked].raw[:, pairs[0]], ranks["train"].raw, ranked), ""
    return "", "" if large else f"too few triples of {ranked} and train share a relation to find {SOUGHT}"


def matched(relations: Ids, others: Ids, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """Return pairs of positions with equal relations, no position twice; which ones is random.

    Parameters
    ----------
    relations, others : int64 arrays, shape (n,) and (m,)
        The relations of two lists of triples.
    rng : numpy.random.Generator

    Returns
    -------
    positions, other_positions : int64 arrays, shape (pairs,)

    Examples
    --------
    >>> matched(np.array([0, 1, 1]), np.array([1, 2]), np.random.default_rng(0))[1]
    array([0])
    """
    first, second = rng.permutation(len(relations)), rng.permutation(len(others))
    numbered = []
    for order, column in ((first, relations), (second, others)):
        order = order[np.argsort(column[order], kind="stable")]
        ordered = column[order]
        # The number of each triple among those of its relation: its place less that of the first of them.
        number = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        numbered.append((order, ordered * (len(relations) + len(others) + 1) + number))
    (first, keys), (second, other_keys) = numbered
    _, one, other = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    return first[one], second[other]


def high_test_ranks(tested: Reals, trained: Reals, split: str) -> str:
    """Return the fault if triples of a split rank far above the train triples that they are paired with, else "".

    Parameters
    ----------
    tested, trained : float64 arrays, shape (sides, pairs)
        Reciprocal raw ranks.
    split : str
        The ranked split, for the text.
    """
    n = tested.shape[1]
    if n < MIN_PAIRS or (one := tested.mean()) < TEST_RATIO * (other := trained.mean()):
        return ""
    differences = [(tested - trained).mean(axis=0), (np.log(tested) - np.log(trained)).mean(axis=0)]
    if all(part.mean() < TEST_Z * part.std() / math.sqrt(n) for part in differences):
        return ""
    return (
        f"{split} triples rank far above train triples of the same relations (raw MRR {one:.3f} and {other:.3f}, "
        f"{n} of each): was the scorer trained on {split}, or does it look at the triple that is tested "
        "(peeking)?"
    )


@dataclass(frozen=True)
class _Ranks:
    """Filtered and raw ranks of n triples among random entities; all arrays have the shape (sides, n)."""

    better: Ids
    tied: Ids
    rivals: Ids
    raw: Reals  # 1 / raw rank

    @property
    def reciprocal(self) -> Reals:
        """1 / filtered rank, with realistic ties."""
        return np.asarray(1.0 / (1.0 + self.better + self.tied / 2))

    @property
    def is_constant(self) -> bool:
        return bool((self.tied == self.rivals).all())

    def reversed(self) -> _Ranks:
        """The filtered ranks of the scores with the other sign."""
        return replace(self, better=self.rivals - self.better - self.tied)

    def take(self, side: Any, triples: Any) -> _Ranks:
        return _Ranks(*(part[side][:, triples] for part in (self.better, self.tied, self.rivals, self.raw)))


@dataclass(frozen=True)
class _Change:
    """What is done to a triple before it is ranked: the sides are exchanged, or subject and object move to other ids.

    The faulty scorer gives a changed triple the score of the true one, so its known answers are those of the true
    query, changed as well.
    """

    text: str
    moves: tuple[int, int] = (0, 0)  # added to subject and object
    is_swap: bool = False

    def apply(self, triples: Ids, n_entities: int) -> Ids:
        s, p, o, *codes = triples.T  # codes: the further columns that the scorer takes
        if self.is_swap:
            return np.column_stack([o, p, s, *codes])
        return np.column_stack([(s + self.moves[0]) % n_entities, p, (o + self.moves[1]) % n_entities, *codes])

    def known(self, triples: Ids, side: str, indexes: Mapping[str, KnownIndex], n_entities: int) -> tuple[Ids, Ids]:
        """Return offsets and known answers of the changed queries of true triples, one list for each triple."""
        true_side = {"subject": "object", "object": "subject"}[side] if self.is_swap else side
        given, _ = given_and_asked(triples, true_side)
        offsets, answers = indexes[true_side].lookup(triples[:, 1], given)
        return offsets, (answers + self.moves[side == "object"]) % n_entities


UNCHANGED = _Change("")
CHANGES = (
    _Change(
        "subject and object are swapped: {true}, {mrr} with each triple turned round; a scorer gets s, p, o",
        is_swap=True,
    ),
    *(
        _Change(
            f"the {rows} rows are shifted by one: {{true}}, {{mrr}} with the entity {place} each {rows}; are the rows "
            "in the order of dataset.entities.labels?",
            (step * s, step * o),
        )
        for rows, (s, o) in ROWS.items()
        for step, place in ((-1, "before"), (1, "after"))
    ),
)


@dataclass(frozen=True)
class _Ranker:
    """Ranks triples, or changed triples, among the same random entities."""

    rows: RowScorer
    dataset: Dataset
    entities: Ids
    indexes: Mapping[str, KnownIndex]
    sides: Sequence[str]
    rivals: Ids
    n_triples: int
    columns: FactColumns = NO_COLUMNS  # of the triples

    def affordable(self, triples: Ids, seconds: float, rng: np.random.Generator) -> _Ranker | None:
        """Return a ranker with as many rivals as there is time for; None if there is too little for the fewest."""
        part = triples[_some(len(triples), TIMED_TRIPLES, rng)]
        if self._expected_seconds(len(part)) > seconds:
            return None
        taken = []
        for _ in range(N_TIMED):  # the shortest time counts: a first call is often slow, and so is a busy machine
            start = call_size.clock()
            self.ranks(part)
            taken.append(call_size.clock() - start)
        per_pair = min(taken) / (len(part) * (len(self.rivals) + len(part)))
        for n_triples, n_rivals in SIZES:
            n_pairs = n_triples * (min(n_rivals, len(self.entities)) + n_triples)
            if 2 * (1 + len(CHANGES)) * n_pairs * per_pair <= seconds:  # of test and of train
                rivals = self.entities[_some(len(self.entities), n_rivals, rng)]
                return replace(self, rivals=rivals, n_triples=n_triples)
        return None

    def _expected_seconds(self, n_queries: int) -> float:
        """Return how long it takes to score queries on all sides, by the speed of earlier calls; 0 if not known."""
        if self.rows.pace is None:
            return 0.0
        total = 0.0
        for side in self.sides:
            n_columns, method = len(self.rivals) + n_queries, ""
            if isinstance(self.rows, MatrixRows):
                method = f"score_{side}s"
                n_columns = n_columns if self.rows.takes_candidates(side) else len(self.dataset.entities)
            total += self.rows.pace.seconds(n_queries * n_columns, method) or 0.0
        return total

    def ranks(self, triples: Ids, change: _Change = UNCHANGED) -> _Ranks:
        """Return the ranks of changed triples, which must have scores; `triples` are the true ones."""
        size = max(1, PAIRS_AT_ONCE // (len(self.rivals) + len(triples)))
        parts = [triples[start : start + size] for start in range(0, len(triples), size)]
        counted = [[self._counted(part, change, side) for part in parts] for side in self.sides]
        return _Ranks(*(np.stack([np.concatenate([c[i] for c in side]) for side in counted]) for i in range(4)))

    def _counted(self, triples: Ids, change: _Change, side: str) -> tuple[Ids, Ids, Ids, Reals]:
        n_entities = len(self.dataset.entities)
        changed = change.apply(triples, n_entities)
        parts, asked = query_parts(self.columns.facts_on(side, changed), side)
        columns = np.union1d(self.rivals, asked)
        n = np.arange(len(triples) + 1)
        queries = Queries(side, parts, asked, n[:-1], n)
        rows = on_side(self.rows, side)
        scores = as_scores(rows.rows(side, tuple(part.copy() for part in parts), columns), rows.name)
        check_no_nan(scores, queries, columns, self.dataset, self.rows.name)
        answer = np.take_along_axis(scores, np.searchsorted(columns, asked)[:, None], axis=1)
        among = scores[:, np.searchsorted(columns, self.rivals)]
        is_rival = self.rivals != asked[:, None]  # (triples, rivals)
        raw = 1 + ((among > answer) & is_rival).sum(axis=1) + ((among == answer) & is_rival).sum(axis=1) / 2
        offsets, known = change.known(triples, side, self.indexes, n_entities)
        place, is_there = rank_in(self.rivals, known)
        is_rival[np.repeat(n[:-1], np.diff(offsets))[is_there], place[is_there]] = False
        better, tied = (among > answer) & is_rival, (among == answer) & is_rival
        return better.sum(axis=1), tied.sum(axis=1), is_rival.sum(axis=1), 1 / raw

    def faults(self, split: str, triples: Ids, ranks: _Ranks) -> Iterator[tuple[float, str]]:
        """Yield the MRR of the changed triples and the text, for each change that shows a fault."""
        yield from self._compared(split, ranks, ranks.reversed(), REVERSED, of_sides=True)
        n_entities = len(self.dataset.entities)
        for change in CHANGES if len(self.sides) == 2 else CHANGES[1:]:
            changed = change.apply(triples, n_entities)
            is_kept = np.isin(changed[:, [0, 2]], self.entities).all(axis=1)
            is_kept &= ~self.indexes["object"].contains(changed[:, 1], changed[:, 0], changed[:, 2])
            if is_kept.sum() >= MIN_CHANGED:
                found = self.ranks(triples[is_kept], change)
                true = ranks.take(slice(None), is_kept)
                # A rule that only knows popular entities may rank subjects high and objects low, or the other way
                # round; exchanged sides then look better on one side, but not on both together.
                yield from self._compared(split, true, found, change.text, of_sides=not change.is_swap)

    def _compared(
        self, split: str, true: _Ranks, changed: _Ranks, text: str, of_sides: bool
    ) -> Iterator[tuple[float, str]]:
        groups: dict[str, Any] = {"": slice(None)}
        if of_sides and len(self.sides) == 2:
            groups |= {f", {side} side": slice(i, i + 1) for i, side in enumerate(self.sides)}
        for where, part in groups.items():
            one, other = true.take(part, slice(None)), changed.take(part, slice(None))
            if _is_fault(one, other):
                before, after = one.reciprocal.mean(), other.reciprocal.mean()
                said = f"MRR {before:.2f} of {one.better.shape[1]} {split} triples{where}"
                yield after, text.format(true=said, mrr=f"{after:.2f}")
                return  # both sides together say more than each of them


def _is_fault(true: _Ranks, changed: _Ranks) -> bool:
    """Return whether the changed triples rank far higher than the true ones, and than ranks at random."""
    mrr, size = changed.reciprocal.mean(), int(changed.rivals.max()) + 1
    places = np.arange(1, size + 1)
    if mrr < MIN_OVER_CHANCE * (1 / places).mean() or mrr < MIN_RATIO * true.reciprocal.mean():
        return False
    n = changed.better.size
    # Chernoff's bound of the probability that n random ranks have this MRR or a higher one.
    t = np.geomspace(0.1, 300, 80)[:, None]
    log_p = (n * (np.log(np.exp(t / places - t).mean(axis=1)) + t[:, 0]) - t[:, 0] * n * mrr).min()
    # The normal approximation of the probability that n random ranks have this mean or a lower one.
    mean = ((changed.better + changed.tied / 2) / np.maximum(changed.rivals, 1)).mean()
    tail = math.erfc((0.5 - mean) * math.sqrt(12 * n) / math.sqrt(2)) / 2
    return bool(min(math.exp(min(0.0, log_p)), tail) <= MAX_P)


def _some(of: int, n: int, rng: np.random.Generator) -> Ids:
    """Return n random positions below `of`, sorted; all if there are not more."""
    return np.sort(rng.choice(of, n, replace=False)) if n < of else np.arange(of)
