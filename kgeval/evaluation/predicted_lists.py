"""`evaluate_predictions` makes a result without a model, from ranked lists of answers or from given ranks.

Users and the command ``kgeval evaluate --predictions`` call `evaluate_predictions`. `kgeval.evaluation.given_ranks`
handles given ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Bools, Ids, Reals, Scores, counted, names_unknown_arguments
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import FactColumns
from kgeval.data.known import KnownIndex
from kgeval.data.lists import Ragged
from kgeval.data.predictions import UNMAPPED, GivenRanks, Predictions
from kgeval.data.protocol import PROTOCOL_HINTS, Protocol
from kgeval.data.queries import Queries, given_and_asked, query_parts
from kgeval.errors import DataError, ProtocolError
from kgeval.evaluation.build_result import Positives, RankedSide, assemble
from kgeval.evaluation.given_ranks import evaluate_ranks, evaluate_ranks_alone
from kgeval.evaluation.predicted_rows import (
    LEAK,
    NO_ROW,
    WORDS,
    Matched,
    check_rows,
    known_index,
    match_rows,
    missing_rows,
    repeat_cautions,
    resolved_protocol,
    result_facts,
    said_filter,
    splits_with_others,
)
from kgeval.ranking.counts import RankCounts
from kgeval.results.bounded import UNKNOWN_COUNT
from kgeval.results.evaluation_result import EvaluationResult

MAX_ELEMENTS = 1 << 22  # answers that are compared at a time
FILTERED_BEFOREHAND = "the lists were filtered beforehand, so raw ranks are unknown"
SPLIT_QUERIES = (
    "positives of one query have lists in different orders, but query-level metrics need one ranking per query"
)
NONE_KNOWN = (
    "filtered='no', but no list holds a known answer of {splits} except the positive: if known answers were removed, "
    "the raw numbers are too good"
)
MIN_ASCENTS = 20  # if scores increase along the lists at least this often, and never decrease, an error is raised


@names_unknown_arguments(**PROTOCOL_HINTS)
def evaluate_predictions(
    predictions: Predictions | GivenRanks,
    dataset: Dataset | None = None,
    protocol: Protocol | None = None,
    *,
    filtered: str | None = None,
    missing: str | None = None,
) -> EvaluationResult:
    """Rank every triple of a split by predictions: ranked lists of answers, or ranks that another tool computed.

    If a list does not contain its positive, the rank is only known to be between the end of the list and the last
    candidate. The keys ``optimistic.`` and ``pessimistic.`` then give exact bounds of a metric, and all other keys are
    NaN unless both bounds are equal.

    Parameters
    ----------
    predictions : Predictions or GivenRanks
        `kgeval.read_predictions` reads them from a file.
    dataset : Dataset, optional
        Its splits define the positives and the known triples. Not needed for ranks that
        ``kgeval.read_predictions(path)`` read without a dataset: their triples are the split ``test``, and filter and
        candidates are those of the tool. What needs the number of candidates is NaN, unless the file has this number.
    protocol : Protocol, optional
        Without `sides`, all sides with predictions are ranked. All entities are candidates.
    filtered : str, optional
        Whether the known answers, except the positive, were removed from the lists. Needed if the file does not say so.
        ``"no"``: they were not removed; kgeval leaves them out of the filtered numbers. ``"after"``: they were
        removed from the final ranking; raw numbers are NaN. ``"before"``: they were removed from lists that a re-ranker
        then ordered; a caution says that the re-ranker then had information about the ranked split.
    missing : str, optional
        What happens to a positive without a list, if the file has lists for other positives of the same side.
        ``"drop"``: the positive is left out and counted. ``"bound"``: its rank can be any rank from 1 to the last.
        None: an error is raised.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If there is no dataset, and the predictions are ranked answers or ids of a dataset. If a list belongs to no
        positive, if lists of a positive contradict each other, if a positive has no list, if a
        score is NaN, if it is unclear whether the lists were filtered, or if a rank is impossible.
    ProtocolError
        If the protocol contradicts the predictions, or if they lack a column of the filter key.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3]], n_entities=5, n_relations=1)
    >>> lists = Ragged.of([np.array([4, 1]), np.array([0, 2])])
    >>> predictions = Predictions(dataset["test"].array, np.array(["object", "object"]), lists)
    >>> result = evaluate_predictions(predictions, dataset)
    >>> result["hits@2"], result["optimistic.mr"], result["pessimistic.mr"]
    (0.5, 2.5, 3.5)
    """
    if not isinstance(predictions, (Predictions, GivenRanks)):
        raise DataError(
            "predictions must be kgeval.Predictions or kgeval.GivenRanks (kgeval.read_predictions reads a file); got "
            f"{type(predictions).__name__}"
        )
    if protocol is not None and not isinstance(protocol, Protocol):
        raise ProtocolError(f"expected a kgeval.Protocol; got {protocol!r}")
    if dataset is None:
        if isinstance(predictions, GivenRanks):
            return evaluate_ranks_alone(predictions, protocol, filtered, missing)
        raise DataError(
            f"{predictions.source}: ranked answers need a dataset: the rank of a positive depends on the known "
            "answers that the filter removes, and on the number of candidates. Call evaluate_predictions(predictions, "
            "dataset)"
        )
    if isinstance(predictions, GivenRanks) and predictions.labels is not None:
        raise DataError(
            f"{predictions.source}: was read without a dataset, so its ids are not those of {dataset.name!r}; read it "
            "again: kgeval.read_predictions(path, dataset)"
        )
    resolved = resolved_protocol(predictions, dataset, protocol)
    said = said_filter(predictions, filtered, resolved)
    check_rows(predictions, dataset)
    if isinstance(predictions, GivenRanks):
        return evaluate_ranks(predictions, dataset, resolved, said, missing)
    answers = _Answers.of(predictions, dataset)
    positives = Positives.of(dataset, resolved, FactColumns(tuple(predictions.columns)))

    def are_same(rows: Ids, others: Ids) -> Bools:
        return _have_same_answers(predictions, rows, others)

    parts = [match_rows(predictions, dataset, resolved, positives, side, are_same) for side in resolved.sides]
    n_missing = missing_rows(predictions, dataset, positives, parts, missing)
    counts = [_Counts.of(answers, dataset, resolved, positives, part) for part in parts]
    notes = [*predictions.notes, *answers.notes]
    with_others = splits_with_others(dataset, resolved, positives, parts)
    filter_word = said or _found_filter(predictions, counts, with_others, notes)
    if not with_others:
        filter_word = "no"  # a filter has nothing to remove
    n_known = sum(part.n_with_known for part in counts)
    is_doubtful = predictions.unmapped_may_be_known and (filter_word == "no" or n_known > 0)
    for part in counts:
        part.check_possible(predictions.source, dataset, positives.triples, is_doubtful)
    sides = [part.ranked(filter_word, is_doubtful, missing != "drop") for part in counts]
    cautions = [*answers.cautions, *repeat_cautions(predictions, parts)]
    cautions += _filter_cautions(filter_word, n_known, resolved)
    if filtered == "no" and with_others and not n_known:
        cautions.append(NONE_KNOWN.format(splits="+".join(with_others)))
    notes += _rank_notes(counts, sides, n_missing if missing == "bound" else 0)
    unknown = {} if filter_word == "no" else {"raw": FILTERED_BEFOREHAND}
    is_plain = not positives.columns.names  # otherwise `assemble` says why metrics of queries are unknown
    if is_plain and any(_n_split_queries(answers, dataset, resolved, positives, part, filter_word) for part in parts):
        unknown["queries"] = SPLIT_QUERIES
    return assemble(
        resolved,
        positives,
        sides,
        {NO_ROW["list"]: n_missing if missing == "drop" else 0},
        result_facts(predictions, positives, sides, parts),
        AnswerSource(dataset, answers, tuple(parts), positives, np.concatenate([part.rows for part in sides])),
        notes,
        cautions=[*cautions, *_end_cautions(counts)],
        unknown=unknown,
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """The lists of a file, best answer first, without repeated answers.

    Parameters
    ----------
    lists : Ragged
        Ids of entities, or `UNMAPPED`.
    worth : float64 array, shape (answers,)
        The score of each answer. Without scores, it is minus the position in the list, so that no answers of a list
        tie.
    has_scores : bool
    notes, cautions : list of str
    """

    lists: Ragged
    worth: Reals
    has_scores: bool
    notes: list[str]
    cautions: list[str]

    @classmethod
    def of(cls, predictions: Predictions, dataset: Dataset) -> _Answers:
        """Check the answers and their scores, sort them by score, and leave repeated answers out."""
        lists, scores, source, n = predictions.answers, predictions.scores, predictions.source, len(dataset.entities)
        wrong = np.flatnonzero((lists.values < UNMAPPED) | (lists.values >= n))
        if len(wrong):
            raise DataError(
                f"{source}, row {lists.list_of[wrong[0]]}: answer with id {lists.values[wrong[0]]}; {dataset.name!r} "
                f"has {n} entities"
            )
        list_of, notes, cautions = lists.list_of, [], []
        order = np.arange(len(list_of))
        if scores is not None:
            cautions = _check_scores(predictions, scores, list_of)
            order = np.lexsort((-scores, list_of))  # stable: equal scores keep their order
        values = lists.values[order]
        # first (distinct,): the first position of each distinct answer of each list; all unmapped answers are kept.
        _, first = np.unique(list_of * (n + 1) + values + 1, return_index=True)
        is_kept = values == UNMAPPED
        is_kept[first] = True
        n_repeated, n_empty = int((~is_kept).sum()), int((lists.lengths == 0).sum())
        if n_repeated:
            repeat = "repeats an answer" if n_repeated == 1 else "repeat answers"
            notes.append(f"{n_repeated:,} of {len(values):,} answers {repeat} of the same list; the first place counts")
        if n_empty:
            notes.append(f"{n_empty:,} of {counted(len(lists), 'list')} hold no answer")
        kept = Ragged(lists.offsets, values).where(is_kept)
        places = np.arange(len(kept.values)) - np.repeat(kept.offsets[:-1], kept.lengths) + 1
        worth = -places.astype(np.float64) if scores is None else scores[order][is_kept].astype(np.float64)
        return cls(kept, worth, scores is not None, notes, cautions)


def _check_scores(predictions: Predictions, scores: Scores, list_of: Ids) -> list[str]:
    """Check the scores of the lists, which should decrease from the first answer to the last; return cautions.

    Raise a DataError for NaN, and if scores increase at least `MIN_ASCENTS` times and never decrease. Return a caution
    if they increase less often and never decrease, and a caution if some scores are infinite.
    """
    source = predictions.source
    if np.isnan(scores).any():
        raise DataError(f"{source}, row {list_of[np.argmax(np.isnan(scores))]}: an answer has score NaN")
    is_inside = list_of[1:] == list_of[:-1]  # whether an answer and the next one are in the same list
    n_up, n_down = (
        int(((scores[1:] > scores[:-1]) & is_inside).sum()),
        int(((scores[1:] < scores[:-1]) & is_inside).sum()),
    )
    if n_up >= MIN_ASCENTS and not n_down:
        raise DataError(
            f"{source}: the scores increase along the lists ({n_up:,} times, and never decrease), but the best answer "
            "comes first, and higher must be better. If the scores are distances or ranks, negate them; otherwise "
            "reverse the lists"
        )
    cautions = []
    if n_up and not n_down:
        cautions.append(
            "the scores increase along the lists and never decrease: the answers were ranked by score, higher is "
            "better, so their order was reversed; if the scores are distances or ranks, negate them"
        )
    n_infinite = int(np.isinf(scores).sum())
    if not n_infinite:
        return cautions
    have = "answer has an infinite score" if n_infinite == 1 else "answers have infinite scores"
    return [
        *cautions,
        f"{n_infinite:,} {have}, ranked as numbers that tie; if a tool marks removed answers with "
        "infinite scores, leave these answers out of the lists",
    ]


def _have_same_answers(predictions: Predictions, rows: Ids, others: Ids) -> Bools:
    """Return, for each i, whether the lists ``rows[i]`` and ``others[i]`` have the same answers and scores."""
    lists, scores = predictions.answers, predictions.scores
    same: Bools = lists.lengths[rows] == lists.lengths[others]
    compared = np.flatnonzero(same & (rows != others))
    one, other = lists.elements(rows[compared]), lists.elements(others[compared])
    differs = lists.values[one] != lists.values[other]
    if scores is not None:
        differs |= (scores[one] != scores[other]) & ~(np.isnan(scores[one]) & np.isnan(scores[other]))
    pair_of = np.repeat(np.arange(len(compared)), lists.lengths[rows[compared]])
    same[compared[np.unique(pair_of[differs])]] = False
    return same


@dataclass(frozen=True, eq=False)
class _Counts:
    """The counts that the lists give for the positives of one side; arrays have shape (n,), one element per positive.

    Parameters
    ----------
    matched : Matched
    has_answer : bool array
        Whether the list contains the positive.
    scores : float64 array
        The score of the positive; NaN if the list has no scores, or lacks the positive.
    above, tied : dict of str to int64 array
        The numbers of wrong answers above the positive, and tied with it. The keys are the kinds of wrong answers:
        ``"known"``, ``"unmapped"``, ``"other"``. If the list does not contain the positive, all its answers count as
        above.
    listed : dict of str to int64 array
        The number of all wrong answers in the list, by kind.
    n_known : int64 array
        The number of known answers of the query, without the positive.
    n_entities : int
    n_with_known : int
        The number of lists with known answers that a filter would have removed.
    known_splits : set of str
        The filter splits that contain these known answers.
    n_tied_at_end : int
        The number of positives that tie with the last answers of a list that does not contain all candidates.
    """

    matched: Matched
    has_answer: Bools
    scores: Reals
    above: dict[str, Ids]
    tied: dict[str, Ids]
    listed: dict[str, Ids]
    n_known: Ids
    n_entities: int
    n_with_known: int
    known_splits: set[str]
    n_tied_at_end: int

    @classmethod
    def of(
        cls, answers: _Answers, dataset: Dataset, protocol: Protocol, positives: Positives, matched: Matched
    ) -> _Counts:
        """Compare the answers of each list with the positive, `MAX_ELEMENTS` answers at a time."""
        side, n, key = matched.side, len(positives.triples), positives.columns.key
        given, answer = query_parts(positives.keyed, side)
        query, _ = query_parts(positives.facts, side)  # `given`, and columns that the filter does not compare
        index = known_index(dataset, protocol.filter or (), side, key)
        ranked = KnownIndex.of(query, answer)
        by_split = {split: known_index(dataset, (split,), side, key) for split in protocol.filter or ()}
        kinds = ("known", "unmapped", "other")
        above, tied, listed = ({kind: np.zeros(n, dtype=np.int64) for kind in kinds} for _ in range(3))
        has_answer, own_worth = np.zeros(n, dtype=bool), np.full(n, np.nan)
        with_known = np.zeros(n, dtype=bool)
        known_splits: set[str] = set()
        rows = np.flatnonzero(matched.row_of >= 0)
        lengths = answers.lists.lengths[matched.row_of[rows]]
        chunk_of = np.cumsum(lengths) // MAX_ELEMENTS
        for chunk in np.split(rows, np.flatnonzero(np.diff(chunk_of)) + 1):
            elements = answers.lists.elements(matched.row_of[chunk])
            # of (elements,): the positive of each answer
            of = np.repeat(chunk, answers.lists.lengths[matched.row_of[chunk]])
            values, worth = answers.lists.values[elements], answers.worth[elements]
            is_answer = values == answer[of]
            has_answer[of[is_answer]], own_worth[of[is_answer]] = True, worth[is_answer]
            is_known = index.contains(*(part[of] for part in given), values) & ~is_answer
            is_kind = {"known": is_known, "unmapped": values == UNMAPPED}
            is_kind["other"] = ~(is_known | is_kind["unmapped"] | is_answer)
            own = own_worth[of]  # NaN if the list lacks the positive: all answers then count as above the positive
            is_above, is_tied = ~(worth <= own), worth == own
            for kind, is_part in is_kind.items():
                above[kind] += np.bincount(of[is_part & is_above], minlength=n)
                tied[kind] += np.bincount(of[is_part & is_tied], minlength=n)
                listed[kind] += np.bincount(of[is_part], minlength=n)
            # A list for all positives of a query holds the answers of all these positives; no filter removes them.
            at = np.flatnonzero(is_known)
            is_served = ranked.contains(*(part[of[at]] for part in query), values[at]) & matched.is_shared[of[at]]
            at = at[~is_served]
            with_known[of[at]] = True
            known_splits |= {
                split
                for split, part in by_split.items()
                if part.contains(*(column[of[at]] for column in given), values[at]).any()
            }
        tied_rows = rows[_total(tied)[rows] > 0]
        # ends (tied_rows,): the worth of the last answer of each list that has answers tied with the positive
        ends = answers.worth[answers.lists.offsets[matched.row_of[tied_rows] + 1] - 1]
        is_cut = (ends == own_worth[tied_rows]) & (_total(listed)[tied_rows] + 1 < len(dataset.entities))
        return cls(
            matched,
            has_answer,
            own_worth if answers.has_scores else np.full(n, np.nan),
            above,
            tied,
            listed,
            index.count_others(given, answer),
            len(dataset.entities),
            int(with_known.sum()),
            known_splits,
            int(is_cut.sum()),
        )

    @property
    def has_row(self) -> Bools:
        """For each positive, whether the file has a list for this positive, bool (n,)."""
        return self.matched.row_of >= 0

    @property
    def n_unlisted(self) -> int:
        """The number of positives whose list does not contain them."""
        return int((self.has_row & ~self.has_answer).sum())

    def ranked(self, filtered: str, is_doubtful: bool, keeps_missing: bool) -> RankedSide:
        """Return the counts of the positives as a `RankedSide`, which also marks the bounded ranks.

        Parameters
        ----------
        filtered : str
            As in `evaluate_predictions`.
        is_doubtful : bool
            Whether unmapped answers may be known answers.
        keeps_missing : bool
            Whether positives without a list are ranked; such a rank is only known to be between 1 and the last rank.
        """
        n = len(self.has_row)
        counts, bounded = {}, {}
        counts["filtered"], bounded["filtered"] = self._filtered(is_doubtful)
        if filtered == "no":
            rivals = np.full(n, self.n_entities - 1)
            counts["raw"], bounded["raw"] = self._bounded(_total(self.above), _total(self.tied), rivals)
        else:
            unknown = np.full(n, UNKNOWN_COUNT)
            counts["raw"], bounded["raw"] = RankCounts(unknown, unknown, unknown), np.zeros(n, dtype=bool)
        rows = np.arange(n) if keeps_missing else np.flatnonzero(self.has_row)
        return RankedSide(
            rows,
            self.scores[rows],
            {setting: part.take(rows) for setting, part in counts.items()},
            {setting: part[rows] for setting, part in bounded.items()},
        )

    def _filtered(self, is_doubtful: bool) -> tuple[RankCounts, Bools]:
        """Return the filtered counts, and whether each positive is bounded: only bounds of its rank are known."""
        above, tied, listed = self.above, self.tied, self.listed
        rivals = self.n_entities - 1 - self.n_known
        if not is_doubtful:
            return self._bounded(above["other"] + above["unmapped"], tied["other"] + tied["unmapped"], rivals)
        # Unmapped answers are entities: at most n_hidden of them are known answers, and at most n_free are rivals.
        n_hidden, n_free = self.n_known - listed["known"], rivals - listed["other"]
        best = above["other"] + np.maximum(above["unmapped"] - n_hidden, 0)
        worst = above["other"] + np.minimum(above["unmapped"], n_free)
        last = above["other"] + tied["other"] + np.minimum(above["unmapped"] + tied["unmapped"], n_free)
        most_tied = np.minimum(tied["unmapped"], n_free)  # unmapped rivals tied with the positive
        is_open = (best < worst) | (np.maximum(tied["unmapped"] - n_hidden, 0) < most_tied)
        part, bounded = self._bounded(best, np.where(is_open, last - best, tied["other"] + most_tied), rivals)
        return part, bounded | (is_open & (part.tied > 0))

    def _bounded(self, better: Ids, tied: Ids, rivals: Ids) -> tuple[RankCounts, Bools]:
        """Return the counts of positives, and whether each positive is bounded.

        A positive that is not in its list may have any rank below the answers of the list.
        """
        tied = np.where(self.has_answer, tied, rivals - better)
        return RankCounts(better, tied, rivals), ~self.has_answer & (tied > 0)

    def check_possible(self, source: str, dataset: Dataset, triples: Ids, is_doubtful: bool) -> None:
        """Raise a DataError if a list holds more wrong answers than its positive has rivals."""
        n_wrong, rivals = self.listed["other"] + self.listed["unmapped"], self.n_entities - 1 - self.n_known
        n_possible = rivals + (self.n_known - self.listed["known"] if is_doubtful else 0)
        is_wrong = n_wrong > n_possible
        if is_wrong.any():
            i = int(np.argmax(is_wrong))
            raise DataError(
                f"{source}, row {self.matched.row_of[i]}: the list of {triple_labels(dataset, *triples[i])} holds "
                f"{n_wrong[i]} wrong answers ({self.listed['unmapped'][i]} of them not entities of the dataset), but "
                f"only {n_possible[i]} entities can be wrong answers; remove all answers that are not entities"
            )


def _total(counts: dict[str, Ids]) -> Ids:
    return counts["known"] + counts["unmapped"] + counts["other"]


def _found_filter(
    predictions: Predictions, counts: Sequence[_Counts], with_others: Sequence[str], notes: list[str]
) -> str:
    """Return ``"no"`` if the lists prove that they were not filtered, and add a note; else raise a DataError.

    A known answer in a list proves that known answers of its split were not removed; it proves nothing about other
    splits.
    """
    if not with_others:
        return "no"
    proven = set().union(*(part.known_splits for part in counts))
    n_with = sum(part.n_with_known for part in counts)
    n_lists = sum(int(part.has_row.sum()) for part in counts)
    if proven.issuperset(with_others):
        notes.append(
            f"the lists were not filtered beforehand: the lists of {n_with:,} of {counted(n_lists, 'positive')} hold "
            f"known answers of {'+'.join(with_others)}"
        )
        return "no"
    found = "but the lists hold none"
    if proven:
        lacking = [split for split in with_others if split not in proven]
        found = (
            f"and the lists hold those of {'+'.join(sorted(proven, key=list(with_others).index))}, but none of "
            f"{'+'.join(lacking)}"
        )
    raise DataError(
        f"{predictions.source}: were known answers, except the positive, removed from the lists? The file does not say "
        f"it; the queries have such answers in {'+'.join(with_others)}, {found}. {WORDS}"
    )


def _n_split_queries(
    answers: _Answers, dataset: Dataset, protocol: Protocol, positives: Positives, matched: Matched, filtered: str
) -> int:
    """Return how many queries have lists that contradict each other, so that no single ranking contains all of them.

    Known answers may be missing in some of the lists.
    """
    queries = Queries.of(positives.triples, matched.side)
    index = known_index(dataset, (*(protocol.filter or ()), *protocol.splits), matched.side, ())
    n = 0
    for i in np.flatnonzero(np.diff(queries.offsets) > 1):
        found = np.unique(matched.row_of[queries.rows[queries.offsets[i] : queries.offsets[i + 1]]])
        orders = []
        for row in found[found >= 0]:
            start, stop = answers.lists.offsets[row : row + 2]
            values, worth = answers.lists.values[start:stop], answers.worth[start:stop]
            if filtered != "no":
                given = (np.full(len(values), part[i]) for part in queries.parts)
                is_kept = ~index.contains(*given, values)
                values, worth = values[is_kept], worth[is_kept]
            order = np.lexsort((values, -worth))
            orders.append(np.stack([values[order], worth[order] if answers.has_scores else 0 * worth]))
        longest = max(orders, key=lambda part: part.shape[1], default=np.zeros((2, 0)))
        n += not all(np.array_equal(part, longest[:, : part.shape[1]]) for part in orders)
    return n


def _filter_cautions(filtered: str, n_with_known: int, protocol: Protocol) -> list[str]:
    """Return cautions about lists that were filtered beforehand."""
    if filtered == "no":
        return []
    cautions = [LEAK.format(splits="+".join(protocol.splits))] if filtered == "before" else []
    if n_with_known:
        hold = "list of 1 positive holds" if n_with_known == 1 else f"lists of {n_with_known:,} positives hold"
        cautions.append(
            f"filtered= says that known answers were removed, but the {hold} known answers, which are left out now: "
            "the lists were not filtered, or they were filtered with other splits (name them: filter=, --filter)"
        )
    return cautions


def _rank_notes(counts: Sequence[_Counts], sides: Sequence[RankedSide], n_missing: int) -> list[str]:
    """Return notes about the causes of ranks that are only known within bounds."""
    n = sum(len(part.rows) for part in sides)
    n_unlisted = sum(part.n_unlisted for part in counts)
    n_open = sum(int((part.bounded["filtered"] & found).sum()) for part, found in zip(sides, _listed(counts, sides)))
    notes = []
    if n_unlisted:
        rank = "it ranks" if n_unlisted == 1 else "they rank"
        notes.append(f"the lists lack {n_unlisted:,} of {n:,} positives: {rank} anywhere below the answers of the list")
    if n_missing:
        rank = "has no list: it ranks" if n_missing == 1 else "have no list: they rank"
        notes.append(f"{n_missing:,} of {n:,} positives {rank} anywhere between 1 and the last")
    if n_open:
        depend = "depends" if n_open == 1 else "depend"
        notes.append(
            f"{n_open:,} of {n:,} filtered ranks {depend} on unmatched names above the positive, which may be known "
            "answers"
        )
    return notes


def _listed(counts: Sequence[_Counts], sides: Sequence[RankedSide]) -> list[Bools]:
    """Return, for each side, whether the list of each ranked positive contains it."""
    return [part.has_answer[ranked.rows] for part, ranked in zip(counts, sides)]


def _end_cautions(counts: Sequence[_Counts]) -> list[str]:
    """Return a caution about ties at the end of a list, since entities beyond its end may have the same score."""
    n = sum(part.n_tied_at_end for part in counts)
    if not n:
        return []
    ties = "1 positive ties" if n == 1 else f"{n:,} positives tie"
    return [
        f"{ties} with the last answers of a list that does not hold all entities: entities beyond its end may have the "
        "same score, but are counted as lower"
    ]


@dataclass(frozen=True, eq=False)
class AnswerSource:
    """Looks up the answers of a list; implements `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    answers : _Answers
    parts : tuple of Matched
        One for each ranked side.
    positives : Positives
    positive_rows : int64 array, shape (rows,)
        For each row of the table of ranks, the index of its positive.
    """

    dataset: Dataset
    answers: _Answers
    parts: tuple[Matched, ...]
    positives: Positives
    positive_rows: Ids
    is_stored = True

    @property
    def is_exact(self) -> bool:
        """Whether a repeated look-up returns exactly the same scores: always True, because the lists are stored."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the answers of a positive's list as sorted ids, and the scores of the answers.

        In a list without scores, the score of an answer is minus its place; the place of the first answer is 1.
        """
        (part,) = (part for part in self.parts if part.side == side)
        index = -1 if row is None else part.row_of[self.positive_rows[row]]
        labels = triple_labels(self.dataset, *triple)
        if index < 0:
            raise DataError(f"the file has no list for {labels} on the {side} side")
        start, stop = self.answers.lists.offsets[index : index + 2]
        values, worth = self.answers.lists.values[start:stop], self.answers.worth[start:stop]
        _, answers = given_and_asked(triple[None], side)
        if answers[0] not in values:
            raise DataError(
                f"the list of {labels} on the {side} side, {counted(len(values), 'answer')}, lacks the positive"
            )
        n_unmapped = int((values == UNMAPPED).sum())
        if n_unmapped:
            raise DataError(
                f"the list of {labels} on the {side} side holds {counted(n_unmapped, 'name')} that no entity has, so "
                "its answers cannot be shown as entities"
            )
        order = np.argsort(values)
        return values[order], worth[order]

    def key_of(self, triple: Ids, row: int | None) -> Ids:
        """Return a triple and its codes of the filter key; parameters as in `candidate_scores`."""
        return triple if row is None else self.positives.keyed[self.positive_rows[row]]
