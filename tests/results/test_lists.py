"""Query-level metrics of kgeval.evaluate against loops over raw scores and over every order of tied candidates.

A query's list is told here by its ladder: one rung (relevant candidates, candidates) per distinct score, from
the best. No rank is counted and no formula of ties is used: a metric is taken of each order that the rungs
allow, and the mean of these is the expectation.
"""

import functools
import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import oracle_lists
import pandas as pd
import pytest
from grids import thinned

import kgeval as kg
from kgeval.metrics.grammar import parse
from kgeval.scorers.models.products import DistMult

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SETTINGS, SIDES, TIES = ("raw", "filtered"), ("subject", "object"), ("expected", "optimistic", "pessimistic")
SPLITS = ("train", "valid", "test")
METRICS = (
    "map", "map@2", "rr", "rr@2", "precision", "precision@1", "precision@3", "precision(short=cut)@10", "recall@1",
    "recall@3", "recall@10", "f1", "f1@2", "fbeta(beta=2)@3", "rprec", "success@1", "success@3", "ndcg", "ndcg@1",
    "ndcg@3", "ndcg(gain=exponential)@10", "dcg", "dcg@2", "dcg(base=e)@5", "err", "err@2", "err(g_max=2)@5", "auc",
    "auc(empty=zero)", "auc(empty=nan)", "iap", "iap(points=all)", "iprec", "iprec(recall=0.5)",
)  # fmt: skip
KEYS = [f"{average}{metric}" for metric in METRICS for average in ("", "micro.")]
NO_EXPECTATION = "has no exact expectation over random tie breaking; use ties='optimistic' or 'pessimistic'"
NEEDS_SPLITS = (
    "filtered query-level metrics need all ranked splits in filter, or no filter at all; {} is not in "
    "filter. Use raw.query..., or add the missing splits and evaluate again"
)
PROTOCOLS = {
    "default": {},
    "valid": {"splits": "valid", "filter": ("train", "valid")},
    "valid+test": {"splits": ("valid", "test")},
    "no filter": {"splits": ("valid", "test"), "filter": ()},
    "drop": {"unseen": "drop", "splits": ("valid", "test")},
    "worst": {"unseen": "worst", "splits": ("valid", "test")},
    "test unknown": {"filter": ("train", "valid")},
    "valid+test unknown": {"splits": ("valid", "test"), "filter": "train", "unseen": "worst"},
}


# The oracle.
def orders(ladder, ties):
    """Every order of relevant (1) and irrelevant (0) candidates, all equally likely."""
    ways = []
    for relevant, size in ladder:
        if ties == "expected":  # each choice of places stands for equally many orders of the candidates
            chosen = itertools.combinations(range(size), relevant)
            ways.append([tuple(int(place in places) for place in range(size)) for places in chosen])
        else:
            first = (1,) * relevant + (0,) * (size - relevant)
            ways.append([first if ties == "optimistic" else first[::-1]])
    return [tuple(itertools.chain(*way)) for way in itertools.product(*ways)]


ratio = functools.cache(oracle_lists.ratio)


@functools.cache
def mean_ratio(metric, ladder, ties):
    """Mean numerator over the orders, and the denominator, which all orders share."""
    pairs = [ratio(metric, labels) for labels in orders(ladder, ties)]
    assert len({below for _, below in pairs}) == 1
    return sum(above for above, _ in pairs) / Fraction(len(pairs)), pairs[0][1]


def expected_value(metric, ladders, ties, how):
    """Value (NaN if there is none), queries left out of the mean, and the reason of a NaN (None if any will do)."""
    is_mixed = any(0 < relevant < size for ladder in ladders for relevant, size in ladder)
    if not ladders:
        return math.nan, 0, "no queries"
    if ties == "expected" and is_mixed and metric.startswith(("iap", "iprec")):
        return math.nan, 0, f"{metric} {NO_EXPECTATION}"
    found, excluded = oracle_lists.average(metric, [mean_ratio(metric, one, ties) for one in ladders], how)
    if found is None:
        why = "no item is relevant, or no item is irrelevant"
        return math.nan, excluded, f"{excluded} of {len(ladders)} queries: {why}"
    return float(found), excluded, ""


def ladder_of(relevant, scores, last=(), never=()):
    """Rungs of a query: candidates by falling score, then irrelevant ones that never win, then the last answers."""
    rungs = []
    for level in sorted(set(scores.values()), reverse=True):
        held = [e in relevant for e in scores if scores[e] == level]
        rungs.append((sum(held), len(held)))
    return (*rungs, *([(0, len(never))] if never else []), *([(len(last), len(last))] if last else []))


def queries_of(triples, side):
    """The answers of each (relation, given entity)."""
    found = {}
    for s, p, o in triples:
        given, answer = (o, s) if side == "subject" else (s, o)
        found.setdefault((p, given), set()).add(answer)
    return found


def splits_missing(protocol):
    """The ranked splits that a filter does not know; none where there is no filter."""
    filters = SPLITS if protocol.filter is None else protocol.filter
    return [split for split in protocol.splits if filters and split not in filters]


def lists_by_hand(splits, n, score, protocol, side, setting):
    """The ladder of each query, from the triples and the scores alone."""
    filters = SPLITS if protocol.filter is None else protocol.filter
    entities = {e for s, _, o in splits["train"] for e in (s, o)}
    relations = {p for _, p, _ in splits["train"]}
    if protocol.unseen in (None, "rank"):
        entities, relations = set(range(n)), {p for rows in splits.values() for _, p, _ in rows}
    asked = [triple for split in protocol.splits for triple in splits[split]]
    if protocol.unseen == "drop":
        asked = [(s, p, o) for s, p, o in asked if {s, o} <= entities and p in relations]
    known = queries_of([t for split in filters if setting == "filtered" for t in splits[split]], side)
    found = {}
    for (p, given), answers in queries_of(asked, side).items():
        candidates = (entities if protocol.unseen == "drop" else set(range(n))) - known.get((p, given), set())
        candidates |= answers
        scored = candidates & entities if given in entities and p in relations else set()
        triples = {e: (e, p, given) if side == "subject" else (given, p, e) for e in scored}
        unscored = candidates - scored
        found[p, given] = ladder_of(
            answers,
            {e: score(*triple) for e, triple in triples.items()},
            last=unscored & answers,
            never=unscored - answers,
        )
    return found


# The comparison.
PARSED = {key: parse(f"query.{key}") for key in KEYS}


def is_near(found, wanted):
    return math.isclose(found, wanted, rel_tol=1e-11, abs_tol=1e-13) or (math.isnan(found) and math.isnan(wanted))


def split_key(key):
    """The metric of a key, and how it takes the average."""
    return key.removeprefix("micro."), "micro" if key.startswith("micro.") else "macro"


def check_lists(lists, ladders, rng):
    """Some metrics of the lists of one side and setting under each tie policy; the chance level is one rung of all."""
    shuffled = [(tuple(map(sum, zip(*one, strict=True))),) for one in ladders]
    asked = []
    for ties in TIES:
        asked += [(PARSED[key].compute_lists(lists, ties), key, ladders, ties) for key in rng.sample(KEYS, 6)]
    for key in rng.sample(KEYS, 2):
        level, metric = PARSED[key].chance_of(lists), split_key(key)[0]
        if metric.startswith(("iap", "iprec")) and ladders:
            assert level.reason == f"{metric} has no closed form of its chance level"
        else:
            asked.append((level, key, shuffled, "expected"))
    for found, key, some, ties in asked:
        metric, how = split_key(key)
        value, excluded, reason = expected_value(metric, some, ties, how)
        assert is_near(found.value, value), (ties, key)
        assert (found.reason, found.excluded) == (reason, excluded), (ties, key)
        assert found.excluded_weight == (excluded / len(some) if some else 0)


def check_per_query(frame, metrics, ladders, ties):
    """The table per query: who it is, how many answers it has, the metrics, and why some are missing."""
    assert sorted(frame.index) == sorted((side, str(p), str(given)) for side, p, given in ladders)
    assert list(frame.columns) == ["n", *(str(PARSED[metric].metric) for metric in metrics), "reason"]
    is_mixed = any(0 < relevant < size for one in ladders.values() for relevant, size in one)
    for (side, p, given), one in ladders.items():
        n, *values, reason = frame.loc[(side, str(p), str(given))]
        missing = {}
        assert n == sum(relevant for relevant, _ in one)
        for metric, found in zip(metrics, values, strict=True):
            above, below = mean_ratio(metric, one, ties)
            nothing = 0.0 if "empty=zero" in metric else math.nan
            wanted = float(above / Fraction(below)) if below else nothing
            why = "no item is relevant, or no item is irrelevant"
            if ties == "expected" and is_mixed and metric.startswith(("iap", "iprec")):
                wanted, why = math.nan, f"{metric} {NO_EXPECTATION}"
            assert is_near(found, wanted), (side, p, given, metric, ties)
            if math.isnan(wanted):
                missing.setdefault(why, []).append(metric)
        said = [f"{', '.join(lacking)}: {why}" for why, lacking in missing.items()]
        assert reason == "; ".join(said), (side, p, given, ties)


def check_keys(result, by_hand, rng):
    """Some keys as a person would write them."""
    for key in rng.sample(KEYS, 3):
        setting, side, ties = rng.choice(SETTINGS), rng.choice(list(by_hand["raw"])), rng.choice(TIES)
        ladders = list(by_hand[setting][side].values()) if by_hand[setting] else None
        found = result.value(f"{setting}.{side}.{ties}.query.{key}")
        if ladders is None:
            missing = NEEDS_SPLITS.format("+".join(splits_missing(result.protocol)))
            assert math.isnan(found.value)
            assert found.reason == result.chance(f"{side}.query.{key}").reason == missing
            continue
        metric, how = split_key(key)
        value, _, reason = expected_value(metric, ladders, ties, how)
        assert is_near(found.value, value), (setting, side, ties, key)
        assert found.reason == reason, (setting, side, ties, key)


def check(result, by_hand, rng):
    """Compare a result with ladders by setting, side and query (None: no such lists); return what was met."""
    check_keys(result, by_hand, rng)
    for setting, sides in by_hand.items():
        if sides is None:
            with pytest.raises(kg.MetricError) as caught:
                result.lists(setting=setting)
            assert str(caught.value) == NEEDS_SPLITS.format("+".join(splits_missing(result.protocol)))
            continue
        for side in rng.sample(list(sides), min(2, len(sides))):
            check_lists(result.lists(side, setting), list(sides[side].values()), rng)
        side, ties, metrics = rng.choice(list(sides)), rng.choice(TIES), rng.sample(METRICS, 6)
        asked = result.protocol.sides if side == "both" else [side]
        named = {(side, p, given): one for side in asked for (p, given), one in sides[side].items()}
        check_per_query(result.per_query(metrics, side, setting, ties), metrics, named, ties)
    ladders = [one for sides in by_hand.values() if sides for one in sides["both"].values()]
    return Counter(
        ties=sum(any(0 < relevant < size for relevant, size in one) for one in ladders),
        several_rungs=sum(len([1 for relevant, _ in one if relevant]) > 1 for one in ladders),
        many_answers=sum(sum(relevant for relevant, _ in one) > 2 for one in ladders),
        single_candidates=sum(sum(size for _, size in one) == 1 for one in ladders),
        answers_together_last=sum(one[-1][0] == one[-1][1] > 1 for one in ladders),
        undefined=sum(sides is None for sides in by_hand.values()),
        graphs=1,
    )


def with_both(sides):
    """Ladders of each side, and of both together under keys that do not clash."""
    return sides | {"both": {(side, *key): one for side, queries in sides.items() for key, one in queries.items()}}


def draw_graph(rng):
    """A tiny graph with few given entities, so that queries have many answers; duplicates, overlaps, unseen ids."""
    n, m = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 8]), rng.choice([1, 1, 2])
    few, fewer = max(1, n // 3), rng.random() < 0.5
    side, splits = rng.choice(SIDES), {}
    for split, most in (("train", 8), ("valid", 8), ("test", 10)):
        top, rows = rng.randint(1, n) if fewer and split == "train" else n, []
        for _ in range(rng.randint(1, most)):
            given, p, answer = (
                rng.randrange(few if rng.random() < 0.7 else n) % top,
                rng.randrange(m),
                rng.randrange(top),
            )
            rows.append((given, p, answer) if side == "object" else (answer, p, given))
        for other in (list(rows), *splits.values()):
            rows += rng.choices(other, k=rng.randint(0, 2))
        rng.shuffle(rows)
        splits[split] = rows
    return n, m, splits


class Matrix:
    """Whole rows of a table of scores (entities, relations, entities)."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


def draw_scorer(rng, n, m):
    """A scorer and its scores as Python numbers: floats, integers that float64 merges, constants, infinities."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    values = numbers.integers(0, rng.choice([1, 2, 3, 5, 100]), (n, m, n))
    kind = rng.choice(["float64", "float32", "int8", "int64", "infinite", "model"])
    if kind == "model":
        e, r = numbers.integers(-2, 3, (n, 2)), numbers.integers(-2, 3, (m, 2))
        model = DistMult(entities=e.astype(np.float32), relations=r.astype(np.float32))
        return model, lambda s, p, o: sum(int(a * b * c) for a, b, c in zip(e[s], r[p], e[o], strict=True))
    table = values.astype("float64" if kind == "infinite" else kind)
    if kind == "int64":
        table = np.iinfo(np.int64).max - table
    if kind == "infinite":
        table[values == 0], table[values == 1] = -np.inf, np.inf
    scorer = Matrix(table) if rng.random() < 0.3 else lambda s, p, o: table[s, p, o]
    return scorer, lambda s, p, o: table[s, p, o].item()


def has_seen(splits, protocol):
    """Whether any ranked triple names only entities and relations of train."""
    entities, relations = {e for s, _, o in splits["train"] for e in (s, o)}, {p for _, p, _ in splits["train"]}
    return any({s, o} <= entities and p in relations for split in protocol.splits for s, p, o in splits[split])


def check_graph(protocol, seed):
    """Evaluate one random graph and compare; return what was met."""
    rng = random.Random(seed)
    n, m, splits = draw_graph(rng)
    protocol = kg.Protocol(**protocol, sides=rng.choice(["both", "both", "both", "subject", "object"]))
    scorer, score = draw_scorer(rng, n, m)
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    if protocol.unseen in ("drop", "worst") and not has_seen(splits, protocol):
        with pytest.raises(kg.DataError, match="^no triple is left to rank"):
            kg.evaluate(scorer, dataset, protocol, progress=False)
        return Counter(refused=1)
    by_hand = dict.fromkeys(SETTINGS)
    for setting in SETTINGS if not splits_missing(protocol) else ("raw",):
        by_hand[setting] = with_both(
            {side: lists_by_hand(splits, n, score, protocol, side, setting) for side in protocol.sides}
        )
    return check(kg.evaluate(scorer, dataset, protocol, progress=False), by_hand, rng)


@pytest.mark.parametrize("name", thinned(PROTOCOLS, 3))
def test_evaluate_few(name):
    """Some of the graphs of `test_evaluate`; unknown splits leave query-level metrics undefined."""
    met = check_graph(PROTOCOLS[name], 1)
    assert met["graphs"] > 0
    assert met["undefined"] == (met["graphs"] if "unknown" in name else 0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROTOCOLS)
def test_evaluate(name):
    """40 graphs a protocol: settings, sides, tie policies, macro and micro, per query, and chance levels."""
    met = sum((check_graph(PROTOCOLS[name], seed) for seed in range(40)), Counter())
    assert met["graphs"] > 30
    assert met["undefined"] == (met["graphs"] if "unknown" in name else 0)
    enough = {"ties": 64, "several_rungs": 32, "many_answers": 16, "single_candidates": 4}
    enough |= {"answers_together_last": 32 if "worst" in str(PROTOCOLS[name]) else 5}
    assert all(met[what] >= least for what, least in enough.items()), met


def listed_by_hand(scores, splits, protocol, side, setting):
    """Ladders among listed triples; an answer without a listed rival is not ranked, known rivals included."""
    listed = queries_of(scores, side)
    known = queries_of([t for split in protocol.filter for t in splits[split]], side)
    found, has_negatives = {}, False
    for (p, given), answers in queries_of([t for split in protocol.splits for t in splits[split]], side).items():
        here, others = listed[p, given], known.get((p, given), set())
        ranked = {answer for answer in answers if here - {answer}}
        candidates = here - (others - ranked if setting == "filtered" else set())
        triples = {e: (e, p, given) if side == "subject" else (given, p, e) for e in candidates}
        has_negatives |= any(here - {answer} - others for answer in answers)
        if ranked:
            found[p, given] = ladder_of(ranked, {e: scores[triple] for e, triple in triples.items()})
    return found if has_negatives else {}


GIVEN = ({}, {}, {"filter": ()}, {"splits": ("valid", "test")}, {"filter": "valid"})


def check_table(seed):
    """Evaluate one random table of scored triples and compare; return what was met."""
    rng = random.Random(seed)
    n, m, splits = draw_graph(rng)
    given = rng.choice([{}, {}, {"filter": ()}, *({"splits": ("valid", "test")},) * 2, {"filter": "valid"}])
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    protocol = kg.Protocol(**given).resolved(dataset)
    everything = list(itertools.product(range(n), range(m), range(n)))
    levels = range(rng.choice([1, 2, 4, 100]))
    positives = {t for split in protocol.splits for t in splits[split]}
    listed = sorted(positives | set(rng.sample(everything, rng.randint(0, len(everything)))))
    scores = {triple: rng.choice(levels) / 4 for triple in listed}
    rows = [(str(s), str(p), str(o), value) for (s, p, o), value in scores.items()]
    frame = pd.DataFrame(rng.sample(rows, len(rows)), columns=["s", "p", "o", "score"])
    hands = {
        setting: {side: listed_by_hand(scores, splits, protocol, side, setting) for side in SIDES}
        for setting in SETTINGS
    }
    sides = tuple(side for side in SIDES if hands["raw"][side])
    if not sides:
        with pytest.raises(kg.DataError, match="no positive has a negative in the table"):
            kg.evaluate_scores(frame, dataset)
        return Counter(refused=1)
    by_hand = {setting: with_both({side: hands[setting][side] for side in sides}) for setting in SETTINGS}
    if splits_missing(protocol):
        by_hand["filtered"] = None
    result = kg.evaluate_scores(frame, dataset, kg.Protocol(**given, sides=sides), lists="query")
    assert result.protocol.sides == sides
    return check(result, by_hand, rng)


def test_evaluate_scores_few():
    """Some of the tables of `test_evaluate_scores`."""
    assert sum((check_table(seed) for seed in range(4)), Counter())["graphs"] > 2


@pytest.mark.thorough
def test_evaluate_scores():
    """60 tables of listed candidates, which all answers of a query share."""
    met = sum((check_table(seed) for seed in range(60)), Counter())
    assert met["graphs"] > 37
    assert met["undefined"] > 3
    assert all(met[what] >= 20 for what in ("ties", "several_rungs", "many_answers")), met


def test_queries_in_hand():
    """The oracle itself: 4 > 1, 3 known, 5 > 2 > 0 for answers 1 and 2; 0 1 0 1 0 and, raw, 0 1 0 0 1 0.

    AP is (1/2 + 2/4) / 2 = 1/2, raw (1/2 + 2/5) / 2 = 9/20. If 4, 1 and 5 tie, one of three comes first:
    the first answer is at 1, 2, 3, the other at 4, so AP is ((1 + 1/2 + 1/3) / 3 + 2/4) / 2 = 5/9.
    """
    splits, score = {"train": [(0, 0, 3)], "valid": [], "test": [(0, 0, 1), (0, 0, 2)]}, [1, 8, 5, 7, 9, 6]
    for setting, tied, ladder, wanted in [
        ("filtered", {}, ((0, 1), (1, 1), (0, 1), (1, 1), (0, 1)), Fraction(1, 2)),
        ("raw", {}, ((0, 1), (1, 1), (0, 1), (0, 1), (1, 1), (0, 1)), Fraction(9, 20)),
        ("filtered", {4: 8, 5: 8}, ((1, 3), (1, 1), (0, 1)), Fraction(5, 9)),
    ]:
        scores = [tied.get(e, value) for e, value in enumerate(score)]
        found = lists_by_hand(splits, 6, lambda s, p, o: scores[o], kg.Protocol(), "object", setting)  # noqa: B023
        assert found == {(0, 0): ladder}
        above, below = mean_ratio("map", ladder, "expected")
        assert above / below == wanted
