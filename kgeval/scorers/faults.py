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

from kgeval.base.checks import Bools, Ids, Reals
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
# For the measurement of the speed: the first numbers of triples and rivals, and the seconds that can be measured.
TIMED_TRIPLES, TIMED_RIVALS, MEASURABLE = 3, 100, 0.05
HOPELESS = 10  # a scorer that needs this many times the time is not measured
# A change shows a fault if the MRR of the changed triples is at least `MIN_RATIO` times that of the true triples, at
# least `MIN_OVER_CHANCE` times the chance level, and if ranks at random reach it with a probability of at most `MAX_P`.
# The MRR of a scorer with a signal is at least `MIN_OVER_CHANCE` times the chance level; among few entities, where that
# may be more than 1, half-way from the chance level to 1.
MIN_RATIO, MIN_OVER_CHANCE, MAX_P = 2.0, 5.0, 1e-4
# Of two shifts, the one with the higher MRR is named if the difference is at least this many times its standard error.
TOLD_Z = 3.0
# Test triples rank too high if their MRR is at least `TEST_RATIO` times that of train triples of the same relations,
# and the difference of the reciprocal ranks, or of their logarithms, at least `TEST_Z` times its standard error.
TEST_RATIO, TEST_Z = 1.5, 4.0
SOUGHT = "shifted rows, swapped sides, a wrong sign, training on test or peeking"
PAIRS_AT_ONCE = 1 << 20
SEED = 0

# shifted rows -> whether s, p, o move
ROWS = {"subject": (1, 0, 0), "relation": (0, 1, 0), "object": (0, 0, 1), "entity": (1, 0, 1)}


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
        Too few triples, a slow scorer, or one without a signal; empty if all faults were searched for.

    Raises
    ------
    ScoreError
        If a score is NaN.

    Examples
    --------
    >>> from kgeval.scorers.row_scorers import as_row_scorer
    >>> ring = np.column_stack([np.arange(60), np.zeros(60, dtype=int), (np.arange(60) + 1) % 60])
    >>> dataset = Dataset.from_arrays(test=ring, n_entities=60, n_relations=1)
    >>> reversed_scorer = lambda s, p, o: np.abs((s + 1) % 60 - o)
    >>> find_fault(as_row_scorer(reversed_scorer, 60), reversed_scorer, dataset, ["object"])[0].partition(";")[0]
    'the scores are reversed: MRR 0.02 of 60 test triples, 1.00 with the other sign'
    """
    sides = [side for side in sides if side in SIDES]
    if not sides:
        return "", f"only the relation side was asked for, and no entities are ranked to find {SOUGHT}"
    entities = np.setdiff1d(np.arange(len(dataset.entities)), missing_ids(scorer, "entities"))
    lacking = missing_ids(scorer, "relations")
    columns = columns_taken(rows, sides)
    facts = {split: facts_of(dataset, (split,), columns.names) for split in dataset.splits}
    usable = {
        split: part[np.isin(part[:, [0, 2]], entities).all(axis=1) & ~np.isin(part[:, 1], lacking)]
        for split, part in facts.items()
    }
    relations = np.unique(np.concatenate([part[:, 1] for part in usable.values()]))
    rng = np.random.default_rng(SEED)
    ranked = next((split for split in ("test", "valid", "train") if len(usable.get(split, ()))), None)
    if ranked is None or max(map(len, usable.values())) < MIN_TRIPLES:
        return "", f"there are fewer than {MIN_TRIPLES} triples, too few to find {SOUGHT}"
    known = facts_of(dataset, tuple(dataset.splits))
    indexes = {side: KnownIndex.of(*query_parts(known, side)) for side in SIDES}
    few = entities[_some(len(entities), TIMED_RIVALS, rng)]
    timed = _Ranker(rows, dataset, entities, relations, indexes, sides, few, 0, columns)
    ranker, least = timed.affordable(usable[ranked], seconds, rng)
    if ranker is None:
        enough = math.ceil(1.5 * least)
        return "", (
            f"the scorer is too slow to look for {SOUGHT} in {seconds:g} s; max_seconds={enough} "
            f"(--max-seconds {enough}) gives it the time"
        )
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
            return _named(faults), ""
    if not large:
        return "", f"too few triples of {ranked} and train share a relation to find {SOUGHT}"
    if not any(has_signal(ranks[split].reciprocal, ranks[split].rivals) for split in large):
        said = ", ".join(f"{ranks[split].reciprocal.mean():.3f} of {split}" for split in large)
        least, chance = _least_signal(ranks[large[0]].rivals)
        return "", (
            f"cannot be told: the scorer has too little signal (MRR {said} triples; chance is {chance:.3f}, at least "
            f"{least:.3f} is needed), so {SOUGHT} would not show"
        )
    if pairs is not None and "train" in ranks and has_signal(ranks[ranked].reciprocal, ranks[ranked].rivals):
        return high_test_ranks(ranks[ranked].raw[:, pairs[0]], ranks["train"].raw, ranked), ""
    return "", ""


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


def has_signal(reciprocal: Reals, rivals: Ids) -> bool:
    """Return whether the mean of reciprocal ranks is far above that of ranks at random; see `MIN_OVER_CHANCE`.

    Parameters
    ----------
    reciprocal : float64 array
    rivals : int64 array
        The numbers of rivals; the largest counts.
    """
    return bool(len(reciprocal) and reciprocal.mean() >= _least_signal(rivals)[0])


def _least_signal(rivals: Ids) -> tuple[float, float]:
    """Return the smallest mean of reciprocal ranks that shows a signal, and that of ranks at random."""
    chance = float((1 / np.arange(1, int(rivals.max()) + 2)).mean())
    return min(MIN_OVER_CHANCE * chance, (1 + chance) / 2), chance


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
    if all(_z(part) < TEST_Z for part in differences):
        return ""
    return (
        f"{split} triples rank far above train triples of the same relations (raw MRR {one:.3f} and {other:.3f}, "
        f"{n} of each): was the scorer trained on {split}, or does it look at the triple that is tested "
        "(peeking)?"
    )


def _z(values: Reals) -> float:
    """Return the mean divided by its standard error."""
    error = values.std() / math.sqrt(len(values))
    return float(values.mean() / error) if error else math.copysign(math.inf, values.mean()) if values.any() else 0.0


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
    """What is done to a triple before it is ranked: the sides are exchanged, or s, p and o move to other ids.

    The faulty scorer gives a changed triple the score of the true one, so its known answers are those of the true
    query, changed as well.
    """

    text: str
    moves: tuple[int, int, int] = (0, 0, 0)  # added to s, p, o
    is_swap: bool = False
    rows: str = ""  # what is shifted: a key of `ROWS`
    where: str = ""  # the same as `moves`, as text

    def apply(self, triples: Ids, n_entities: int, n_relations: int) -> Ids:
        s, p, o, *codes = triples.T  # codes: the further columns that the scorer takes
        if self.is_swap:
            return np.column_stack([o, p, s, *codes])
        moved = ((s, n_entities), (p, n_relations), (o, n_entities))
        return np.column_stack([*((ids + by) % n for (ids, n), by in zip(moved, self.moves)), *codes])

    def known(self, triples: Ids, side: str, indexes: Mapping[str, KnownIndex], n_entities: int) -> tuple[Ids, Ids]:
        """Return offsets and known answers of the changed queries of true triples, one list for each triple."""
        true_side = {"subject": "object", "object": "subject"}[side] if self.is_swap else side
        given, _ = given_and_asked(triples, true_side)
        offsets, answers = indexes[true_side].lookup(triples[:, 1], given)
        return offsets, (answers + self.moves[2 if side == "object" else 0]) % n_entities


def _shift(rows: str, step: int) -> _Change:
    """Return the change that mends rows shifted by one."""
    kind, labels = ("relation", "relations") if rows == "relation" else ("entity", "entities")
    where = f"with the {kind} {'before' if step < 0 else 'after'} each {rows}"
    text = (
        f"the {rows} rows are shifted by one: {{true}}, {{mrr}} {where}; are the rows in the order of "
        f"dataset.{labels}.labels?"
    )
    s, p, o = (step * moves for moves in ROWS[rows])
    return _Change(text, (s, p, o), rows=rows, where=where)


UNCHANGED = _Change("")
REVERSED = _Change(
    "the scores are reversed: {true}, {mrr} with the other sign; higher must be better, so negate distances"
)
CHANGES = (
    _Change(
        "subject and object are swapped: {true}, {mrr} with each triple turned round; a scorer gets s, p, o",
        is_swap=True,
    ),
    *(_shift(rows, step) for rows in ROWS for step in (-1, 1)),
)


@dataclass(frozen=True)
class _Found:
    """A change that shows a fault."""

    mrr: float  # of the changed triples
    true: str  # the MRR of the true triples, as text
    change: _Change
    reciprocal: Reals  # shape (sides, triples) of the changed triples; NaN where a triple tells nothing

    @property
    def text(self) -> str:
        return self.change.text.format(true=self.true, mrr=f"{self.mrr:.2f}")

    def is_above(self, other: _Found) -> bool:
        """Return whether the ranks are certainly higher than after another change."""
        difference = (self.reciprocal - other.reciprocal).mean(axis=0)
        difference = difference[~np.isnan(difference)]
        return bool(len(difference)) and _z(difference) > TOLD_Z


def _named(faults: Sequence[_Found]) -> str:
    """Return the text of the fault with the highest MRR, or of all faults between which the ranks cannot tell."""
    best, *others = sorted(faults, key=lambda fault: -fault.mrr)
    alike = [best, *(other for other in others if not best.is_above(other))]
    shifts: dict[str, _Found] = {}
    for fault in alike:
        if fault.change.rows:
            shifts.setdefault(fault.change.rows, fault)
    texts = [fault.text for fault in alike if not fault.change.rows]
    if len(shifts) == 1:
        texts += [fault.text for fault in shifts.values()]
    elif shifts:
        fitting = ", ".join(f"{shift.mrr:.2f} {shift.change.where}" for shift in shifts.values())
        texts.append(
            f"one of the rows is shifted by one, {' or '.join(shifts)}: {next(iter(shifts.values())).true}, {fitting}; "
            "the ranks do not tell which; are the rows in the order of dataset.entities.labels and "
            "dataset.relations.labels?"
        )
    return "; or ".join(texts)


@dataclass(frozen=True)
class _Ranker:
    """Ranks triples, or changed triples, among the same random entities."""

    rows: RowScorer
    dataset: Dataset
    entities: Ids
    relations: Ids  # that occur in the dataset, and have vectors
    indexes: Mapping[str, KnownIndex]
    sides: Sequence[str]
    rivals: Ids
    n_triples: int
    columns: FactColumns = NO_COLUMNS  # of the triples

    def affordable(self, triples: Ids, seconds: float, rng: np.random.Generator) -> tuple[_Ranker | None, float]:
        """Return a ranker with as many rivals as there is time for, and the seconds that the fewest need.

        The ranker is None if there is too little time for the fewest. Twice as many triples are ranked each time, until
        the time can be measured, so that a fixed cost of each call hardly counts.
        """
        n_ranked = 2 * (1 + len(CHANGES))  # test and train, true and after each change
        pace, per_pair, spent, n = self.rows.pace, math.inf, 0.0, TIMED_TRIPLES
        if pace is not None:  # from earlier calls, such as those of `probe`: what a pair costs beside the fixed cost
            method, n_pairs = (
                f"score_{self.sides[0]}s" if isinstance(self.rows, MatrixRows) else "",
                self._n_pairs(n, 0),
            )
            further = (pace.seconds(2 * n_pairs, method) or 0.0) - (pace.seconds(n_pairs, method) or 0.0)
            least = n_ranked * self._n_pairs(*SIZES[-1]) * further / n_pairs
            one_call = pace.seconds(self._n_pairs(n, len(self.rivals)), method) or 0.0
            if least > HOPELESS * seconds and one_call > MEASURABLE:  # short calls may have met a busy machine: measure
                return None, least
        self.ranks(triples[_some(len(triples), n, rng)])  # not measured: a first call is often slow
        while True:
            part = triples[_some(len(triples), n, rng)]
            taken = self._seconds(part)
            if n_ranked * self._n_pairs(*SIZES[-1]) * taken / self._n_pairs(len(part), len(self.rivals)) > seconds:
                taken = min(taken, self._seconds(part))  # the machine may have been busy
            per_pair, spent = min(per_pair, taken / self._n_pairs(len(part), len(self.rivals))), spent + taken
            if taken >= MEASURABLE or n >= min(len(triples), SIZES[0][0]) or spent + 3 * taken > seconds:
                break
            n *= 2
        needed = [n_ranked * self._n_pairs(*size) * per_pair for size in SIZES]
        for (n_triples, n_rivals), expected in zip(SIZES, needed):
            if expected <= seconds:
                rivals = self.entities[_some(len(self.entities), n_rivals, rng)]
                return replace(self, rivals=rivals, n_triples=n_triples), needed[-1]
        return None, needed[-1]

    def _seconds(self, triples: Ids) -> float:
        """Return how long it takes to rank triples."""
        start = call_size.clock()
        self.ranks(triples)
        return call_size.clock() - start

    def _n_pairs(self, n_triples: int, n_rivals: int) -> int:
        """Return how many pairs are scored to rank triples; some objects always score all entities."""
        n_columns = 0
        for side in self.sides:
            scores_all = isinstance(self.rows, MatrixRows) and not self.rows.takes_candidates(side)
            n_columns += len(self.dataset.entities) if scores_all else min(n_rivals, len(self.entities)) + n_triples
        return n_triples * n_columns

    def ranks(self, triples: Ids, change: _Change = UNCHANGED) -> _Ranks:
        """Return the ranks of changed triples, which must have scores; `triples` are the true ones."""
        size = max(1, PAIRS_AT_ONCE // (len(self.rivals) + len(triples)))
        parts = [triples[start : start + size] for start in range(0, len(triples), size)]
        counted = [[self._counted(part, change, side) for part in parts] for side in self.sides]
        return _Ranks(*(np.stack([np.concatenate([c[i] for c in side]) for side in counted]) for i in range(4)))

    def _counted(self, triples: Ids, change: _Change, side: str) -> tuple[Ids, Ids, Ids, Reals]:
        n_entities = len(self.dataset.entities)
        changed = change.apply(triples, n_entities, len(self.dataset.relations))
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

    def faults(self, split: str, triples: Ids, ranks: _Ranks) -> Iterator[_Found]:
        """Yield each change that shows a fault."""
        n_entities, n_relations = len(self.dataset.entities), len(self.dataset.relations)
        everything = np.ones(len(triples), dtype=bool)
        yield from self._compared(split, ranks, ranks.reversed(), REVERSED, everything, ~everything)
        for change in CHANGES if len(self.sides) == 2 else CHANGES[1:]:
            changed = change.apply(triples, n_entities, n_relations)
            is_kept = np.isin(changed[:, [0, 2]], self.entities).all(axis=1)
            is_kept &= np.isin(changed[:, 1], self.relations)
            is_kept &= ~self.indexes["object"].contains(changed[:, 1], changed[:, 0], changed[:, 2])
            if is_kept.sum() >= MIN_CHANGED:
                found = self.ranks(triples[is_kept], change)
                # The row after the last relation may be missing, and not the first one: such triples tell no shift.
                is_wrapped = changed[:, 1] != triples[:, 1] + change.moves[1]
                true = ranks.take(slice(None), is_kept)
                yield from self._compared(split, true, found, change, is_kept, is_wrapped)

    def _compared(
        self, split: str, true: _Ranks, changed: _Ranks, change: _Change, is_kept: Bools, is_wrapped: Bools
    ) -> Iterator[_Found]:
        groups: dict[str, Any] = {"": slice(None)}
        # A rule that only knows popular entities may rank subjects high and objects low, or the other way round;
        # exchanged sides then look better on one side, but not on both together.
        if not change.is_swap and len(self.sides) == 2:
            groups |= {f", {side} side": slice(i, i + 1) for i, side in enumerate(self.sides)}
        for where, part in groups.items():
            one, other = true.take(part, slice(None)), changed.take(part, slice(None))
            if _is_fault(one, other):
                before, after = one.reciprocal.mean(), other.reciprocal.mean()
                said = f"MRR {before:.2f} of {one.better.shape[1]} {split} triples{where}"
                reciprocal = np.full((len(self.sides), len(is_kept)), np.nan)
                reciprocal[:, is_kept] = changed.reciprocal
                reciprocal[:, is_wrapped] = np.nan
                yield _Found(float(after), said, change, reciprocal)
                return  # both sides together say more than each of them


def _is_fault(true: _Ranks, changed: _Ranks) -> bool:
    """Return whether the changed triples rank far higher than the true ones, and than ranks at random."""
    mrr, places = changed.reciprocal.mean(), np.arange(1, int(changed.rivals.max()) + 2)
    if not has_signal(changed.reciprocal, changed.rivals) or mrr < MIN_RATIO * true.reciprocal.mean():
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
