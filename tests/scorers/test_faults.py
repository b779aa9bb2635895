"""Faults that spoil all ranks, planted in scorers of random graphs: each is named, and sound scorers have none.

The scorers are tables of random scores in which true triples stand out; a fault changes how the table is read, so the
faulty scorer's ranks are the sound one's ranks of other triples.
"""

import re

import numpy as np
import pandas as pd
import pytest

import kgeval as kg
from kgeval.data.known import KnownIndex
from kgeval.data.queries import query_parts
from kgeval.data.sides import SIDES
from kgeval.scorers import faults
from kgeval.scorers.faults import find_fault, high_test_ranks, matched
from kgeval.scorers.row_scorers import as_row_scorer

NAMES = {
    "subject rows after": "the subject rows are shifted by one: ",
    "subject rows before": "the subject rows are shifted by one: ",
    "object rows": "the object rows are shifted by one: ",
    "entity rows": "the entity rows are shifted by one: ",
    "relation rows after": "the relation rows are shifted by one: ",
    "relation rows before": "the relation rows are shifted by one: ",
    "one side": "the subject rows are shifted by one: ",
    "swapped": "subject and object are swapped: ",
    "reversed": "the scores are reversed: ",
    "constant": "the scorer is constant: ",
    "of the query alone": "the scorer is constant: ",
    "trained on test": "test triples rank far above train triples of the same relations ",
    "peeking": "test triples rank far above train triples of the same relations ",
}


BASELINES = ("Frequency", "InverseRule", "Degree")


def graph(rng, n=None):
    """A random graph with 50 to 200 test triples, without any structure."""
    n, n_relations = n or int(rng.integers(20, 200)), int(rng.integers(1, 6))
    n_test, n_train = int(rng.integers(50, 200)), int(rng.integers(200, 900))
    triples = rng.integers(0, (n, n_relations, n), size=(n_test + n_train, 3))
    triples = np.unique(triples, axis=0)
    rng.shuffle(triples)
    return kg.Dataset.from_arrays(train=triples[n_test:], test=triples[:n_test], n_entities=n, n_relations=n_relations)


def table_of(rng, dataset, of_train, of_test):
    """Standard normal scores; true triples have these numbers more."""
    n = len(dataset.entities)
    table = rng.standard_normal((n, len(dataset.relations), n))
    for split, more in (("train", of_train), ("test", of_test)):
        table[tuple(dataset[split].array.T)] += more
    return table


class OneSide:
    """Objects are right, and subjects are given in rows that are shifted by one."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return np.roll(self.table[:, p, o].T, 1, axis=1)


def planted(fault, rng, dataset, more):
    """A scorer with a fault."""
    n = len(dataset.entities)
    table = table_of(rng, dataset, more + 1, more)
    if fault == "one side":
        return OneSide(table)
    if fault in ("trained on test", "peeking"):
        table = table_of(rng, dataset, 0.2 * more, more if fault == "trained on test" else 50)
    return {
        "subject rows after": lambda s, p, o: table[(s + 1) % n, p, o],
        "subject rows before": lambda s, p, o: table[s - 1, p, o],
        "object rows": lambda s, p, o: table[s, p, (o + 1) % n],
        "entity rows": lambda s, p, o: table[s - 1, p, o - 1],
        "relation rows after": lambda s, p, o: table[s, (p + 1) % len(dataset.relations), o],
        "relation rows before": lambda s, p, o: table[s, p - 1, o],
        "swapped": lambda s, p, o: table[o, p, s],
        "reversed": lambda s, p, o: -table[s, p, o],
        "constant": lambda s, p, o: np.full(len(s), 3.0),
        "of the query alone": lambda s, p, o: 1.0 * p,
    }.get(fault, lambda s, p, o: table[s, p, o])


def is_strong(scorer, dataset):
    """Whether the filtered MRR is at least five times the chance level: no other fault can be told."""
    result = kg.evaluate(scorer, dataset, progress=False, check_rows=False)
    return result["mrr"] >= 5 * result.chance("mrr").value


def found_in(seeds, fault):
    """How many scorers are strong, and in which seeds the fault is not named."""
    n_strong, missed = 0, []
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        dataset = graph(rng)
        more = rng.uniform(1, 6)
        if fault.startswith("relation") and len(dataset.relations) == 1:
            continue  # nothing is shifted
        scorer = planted(fault, np.random.default_rng(seed), dataset, more)
        shows = (
            scorer
            if fault in ("trained on test", "peeking")
            else planted("", np.random.default_rng(seed), dataset, more)
        )
        if not is_strong(shows, dataset):
            continue
        n_strong += 1
        found, _ = find_fault(as_row_scorer(scorer, len(dataset.entities)), scorer, dataset, ("subject", "object"))
        missed += [] if found.startswith(NAMES.get(fault, " ")) or (not fault and not found) else [(seed, found)]
    return n_strong, missed


@pytest.mark.light(5)
@pytest.mark.parametrize("fault", ["", *NAMES])
def test_planted_faults_are_named(fault):
    """Each of them in a dozen random graphs, and no fault where none is planted."""
    n_strong, missed = found_in(range(12), fault)
    assert n_strong >= 6
    assert missed == []


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["", *NAMES])
def test_planted_faults_are_named_in_99_of_100(fault):
    """In at least 99 of 100 random graphs."""
    n_strong, missed = found_in(range(100, 320), fault)
    assert n_strong >= 100
    assert len(missed) <= n_strong // 100, missed


@pytest.mark.thorough
def test_no_signal_is_no_fault():
    """Random scores in 40 graphs, and shifted rows with hardly any signal: nothing is named, and it is said why."""
    n_silent = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dataset = graph(rng, n=150)
        for more, shift, sign in ((0, 0, 1), (0.3, 1, 1), (0.3, 0, -1)):
            table = table_of(rng, dataset, more, more)
            scorer = lambda s, p, o, t=sign * table, shift=shift: t[(s + shift) % 150, p, o]  # noqa: E731
            found, unchecked = find_fault(as_row_scorer(scorer, 150), scorer, dataset, ("subject", "object"))
            assert found == "", (seed, more, shift, sign)
            assert unchecked.startswith("cannot be told: the scorer has too little signal (MRR 0.0")
            assert "; chance is 0.037, at least 0.18" in unchecked
            n_silent += 1
    assert n_silent == 120


def test_fourteen_entities_have_a_signal_below_five_times_chance():
    """Five times the chance level of 14 entities is 1.16; .62, half-way to 1, shows the wrong sign."""
    pairs = np.random.default_rng(0).permutation(14 * 13)[:120]
    triples = np.column_stack([pairs // 13, np.zeros(120, dtype=int), (pairs // 13 + 1 + pairs % 13) % 14])
    dataset = kg.Dataset.from_arrays(train=triples[60:], test=triples[:60], n_entities=14, n_relations=1)
    table = table_of(np.random.default_rng(1), dataset, 9, 9)
    for sign, named in ((1, ""), (-1, "the scores are reversed: ")):
        scorer = lambda s, p, o, sign=sign: sign * table[s, p, o]  # noqa: E731
        found, unchecked = find_fault(as_row_scorer(scorer, 14), scorer, dataset, SIDES)
        assert found.partition("MRR")[0] == named
        assert unchecked == ""


TRAINED = {
    "fb15k-237 ComplEx": ("fb15k-237", "fb15k-237-complex.npz"),
    "wn18rr ComplEx": ("wn18rr", "wn18rr-complex.npz"),
    "fb15k-237 TransE": ("fb15k-237", "fb15k-237-pykeen/transe"),
    **{f"nations {kind}": ("nations", f"nations-pykeen/{kind}") for kind in ("transe", "complex", "rotate", "tucker")},
    "umls RotatE": ("umls-rnnlogic", "../formats/rotate-umls-50"),
    **{f"{data} {name}": (data, name) for data in ("wn18rr", "codex-s", "umls") for name in BASELINES},
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_trained_models_and_baselines_have_no_fault(shared, name):
    """Neither check_scorer nor an evaluation names any."""
    data, path = TRAINED[name]
    dataset = kg.read_dataset(shared / "data" / data)
    if path in BASELINES:
        scorer = getattr(kg.baselines, path)(dataset)
    elif path.endswith(".npz"):
        with np.load(shared / "data" / "models" / path) as arrays:
            scorer = kg.models.ComplEx(arrays["entities"], arrays["relations"], inverse_relations="after")
    else:
        scorer = kg.load_model(shared / "data" / "models" / path, dataset)
    kg.check_scorer(scorer, dataset)
    notes = kg.evaluate(scorer, dataset, progress=False).notes
    wrong = ("shifted by one", "are swapped", "are reversed", "rank far above train")
    assert [note for note in notes if any(text in note for text in wrong)] == []


def line(translations):
    """A chain of 90 entities: relation p links each entity with the one `translations[p]` further on."""
    triples = np.array([(s, p, s + t) for p, t in enumerate(translations) for s in range(90 - t)])
    np.random.default_rng(0).shuffle(triples)
    return kg.Dataset.from_arrays(train=triples[100:], test=triples[:100], n_entities=90, n_relations=len(translations))


def test_shifts_that_the_ranks_cannot_tell_apart_are_all_named():
    """On a chain with steps of 1, 2, 3 and so on, the next relation is as good as the next object."""
    steps = np.arange(1, 7)
    scorer = lambda s, p, o: -np.abs(s + np.append(steps[1:], 7)[p] - o)  # noqa: E731  relations shifted by one
    dataset = line(steps)
    found, _ = find_fault(as_row_scorer(scorer, 90), scorer, dataset, SIDES)
    assert found.startswith("one of the rows is shifted by one, ")
    kinds = found.removeprefix("one of the rows is shifted by one, ").partition(":")[0]
    assert set(kinds.split(" or ")) == {"subject", "relation", "object"}
    assert "the ranks do not tell which; are the rows in the order of dataset.entities.labels and" in found


def test_relations_shifted_by_one_are_not_shifted_objects():
    """On a chain with uneven steps, where the shifted objects come near as well."""
    steps = np.array([1, 2, 3, 5, 8, 13, 21])
    scorer = lambda s, p, o: -np.abs(s + np.roll(steps, -1)[p] - o)  # noqa: E731
    found, _ = find_fault(as_row_scorer(scorer, 90), scorer, line(steps), SIDES)
    assert found.startswith("the relation rows are shifted by one: ")
    assert "1.00 with the relation before each relation; are the rows in the order of dataset.relations" in found


def test_a_scorer_that_takes_the_time_gets_it():
    """More entities than times: each triple is scored with its own time, also where it is changed."""
    n, rng = 80, np.random.default_rng(0)
    facts = [(e, 0, (e + 1 + 7 * t) % n, t) for e in range(n) for t in range(3)]
    rng.shuffle(facts)
    parts = {"train": facts[120:], "test": facts[:120]}
    dataset = kg.Dataset.from_arrays(
        **{split: [row[:3] for row in rows] for split, rows in parts.items()},
        n_entities=n,
        n_relations=1,
        columns={split: pd.DataFrame({"time": [row[3] for row in rows]}) for split, rows in parts.items()},
    )

    def shifted(s, p, o, time):
        return -np.abs((s + 2 + 7 * time) % n - o)

    rows = as_row_scorer(shifted, n, dataset=dataset)
    said = find_fault(rows, shifted, dataset, SIDES)[0]
    assert said.startswith("one of the rows is shifted by one, subject or object: ")
    assert "1.00 with the entity before each subject" in said
    with pytest.warns(kg.KgevalWarning):
        result = kg.evaluate(shifted, dataset, kg.Protocol(filter_by="time"), progress=False)
    assert any("one of the rows is shifted by one" in note for note in result.notes)

    def right(s, p, o, time):
        return -np.abs((s + 1 + 7 * time) % n - o)

    assert find_fault(as_row_scorer(right, n, dataset=dataset), right, dataset, SIDES) == ("", "")


def test_a_symmetric_relation_is_not_swapped():
    """All pairs hold in both directions, and test holds one direction of those that train holds in the other."""
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, 80, size=(300, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    forward = np.column_stack([pairs[:, 0], np.zeros(len(pairs), dtype=int), pairs[:, 1]])
    dataset = kg.Dataset.from_arrays(train=forward[:, ::-1], test=forward, n_entities=80, n_relations=1)
    rule = kg.baselines.InverseRule(kg.Dataset.from_arrays(train=forward[:, ::-1], n_entities=80, n_relations=1))
    assert kg.check_scorer(rule, dataset).unchecked == ""


def test_popular_subjects_are_not_swapped():
    """Degrees rank popular subjects high and rare objects low on each side: exchanged sides are no better together."""
    rng = np.random.default_rng(1)
    triples = np.unique(
        np.column_stack([rng.integers(0, 5, 500), np.zeros(500, int), rng.integers(5, 300, 500)]), axis=0
    )
    rng.shuffle(triples)
    dataset = kg.Dataset.from_arrays(train=triples[100:], test=triples[:100], n_entities=300, n_relations=1)
    assert kg.check_scorer(kg.baselines.Degree(dataset), dataset).unchecked == ""


def test_what_check_scorer_says():
    """The error names the scorer, the fault, the numbers that show it, and what to do."""
    rng = np.random.default_rng([3, 7])
    dataset, scorers = graph(rng, n=60), {}
    for fault in ("subject rows after", "swapped", "reversed", "constant", "peeking"):
        scorer = planted(fault, np.random.default_rng(3), dataset, 5)
        with pytest.raises(kg.ScoreError) as caught:
            kg.check_scorer(scorer, dataset)
        scorers[fault] = re.sub(r"\d[\d.]*", "#", str(caught.value)).partition(": ")[2]
    of_test = "MRR # of # test triples, #"
    assert scorers == {
        "subject rows after": f"the subject rows are shifted by one: {of_test} with the entity before each subject; "
        "are the rows in the order of dataset.entities.labels?",
        "swapped": f"subject and object are swapped: {of_test} with each triple turned round; a scorer gets s, p, o",
        "reversed": f"the scores are reversed: {of_test} with the other sign; higher must be better, so "
        "negate distances",
        "constant": "the scorer is constant: all candidates of a query get the same score, so nothing is ranked",
        "peeking": "test triples rank far above train triples of the same relations (raw MRR # and #, # of each): was "
        "the scorer trained on test, or does it look at the triple that is tested (peeking)?",
    }


def test_a_side_and_entities_without_vectors():
    """One side alone, and a model that lacks some entities: only the others are ranked."""
    rng = np.random.default_rng(5)
    dataset = graph(rng, n=60)
    table = table_of(rng, dataset, 6, 5)

    class Shifted:
        missing_entities = np.array([0, 7])

        def score_objects(self, s, p, candidates):
            assert not np.isin(s, [0, 7]).any()
            assert not np.isin(candidates, [0, 7]).any()
            return table[(s + 1) % 60, p][:, candidates]

    rows = as_row_scorer(Shifted(), 60)
    found, _ = find_fault(rows, Shifted(), dataset, ("object",))
    assert found.startswith("the subject rows are shifted by one: ")


def test_why_nothing_was_searched():
    """Few triples, or a slow scorer."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, i + 1] for i in range(49)], n_entities=50, n_relations=1)
    sought = "shifted rows, swapped sides, a wrong sign, training on test or peeking"
    assert kg.check_scorer(lambda s, p, o: s - o, dataset).unchecked == (
        f"there are fewer than 50 triples, too few to find {sought}"
    )


class Clock:
    """A clock that stands still but for the calls of a scorer with a fixed and a proportional cost."""

    def __init__(self, fixed, per_query):
        self.now, self.fixed, self.per_query = 0.0, fixed, per_query

    def __call__(self):
        return self.now


class Whole:
    """Always scores all 400 entities; a call takes a fixed time, and some time for each query."""

    def __init__(self, table, clock):
        self.table, self.clock = table, clock

    def score_objects(self, s, p):
        self.clock.now += self.clock.fixed + len(s) * self.clock.per_query
        return self.table[(s + 1) % 400, p]

    def score_subjects(self, p, o):
        self.clock.now += self.clock.fixed + len(p) * self.clock.per_query
        return np.roll(self.table, -1, axis=0)[:, p, o].T


@pytest.mark.parametrize(("fixed", "per_query"), [(0.012, 0.0), (0.0, 2e-4), (0.004, 1e-4)])
def test_a_fixed_cost_does_not_make_a_scorer_slow(monkeypatch, fixed, per_query):
    """Calls of ten milliseconds and more, or many entities: the search is done, and takes its two seconds at most."""
    rng = np.random.default_rng(4)
    dataset = graph(rng, n=400)
    clock = Clock(fixed, per_query)
    monkeypatch.setattr(faults.call_size, "clock", clock)
    scorer = Whole(table_of(rng, dataset, 8, 7), clock)
    with pytest.raises(kg.ScoreError, match="the subject rows are shifted by one: "):
        kg.check_scorer(scorer, dataset)
    assert clock.now < 1.5 + 2 * faults.SEARCH_SECONDS


def test_a_slow_scorer_is_searched_if_it_is_given_the_time(monkeypatch):
    """The report says how much time that is; with it, the fault is named."""
    rng = np.random.default_rng(4)
    dataset = graph(rng, n=400)
    clock = Clock(0.0, 0.004)
    monkeypatch.setattr(faults.call_size, "clock", clock)
    scorer = Whole(table_of(rng, dataset, 8, 7), clock)
    said = kg.check_scorer(scorer, dataset).unchecked
    assert said == (
        "the scorer is too slow to look for shifted rows, swapped sides, a wrong sign, training on test or peeking in "
        "2 s; max_seconds=12 (--max-seconds 12) gives it the time"
    )  # 20 rankings of 50 triples on two sides: 8 s, and half as much again
    with pytest.raises(kg.ScoreError, match="the subject rows are shifted by one: "):
        kg.check_scorer(scorer, dataset, max_seconds=12)
    with pytest.raises(kg.ScoreError, match=re.escape("max_seconds must be a number of seconds above 0; got 0")):
        kg.check_scorer(scorer, dataset, max_seconds=0)


def test_matched_pairs_have_the_same_relation():
    """As many pairs of a relation as the rarer list has triples of it; each position once."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        one, other = rng.integers(0, 5, size=rng.integers(0, 40)), rng.integers(0, 7, size=rng.integers(0, 40))
        first, second = matched(one, other, rng)
        assert (one[first] == other[second]).all()
        assert len(set(first.tolist())) == len(set(second.tolist())) == len(first)
        assert len(first) == sum(min((one == r).sum(), (other == r).sum()) for r in range(7))


def test_high_test_ranks_needs_ratio_size_and_significance():
    """Half as good again, at least 30 pairs, four standard errors."""
    rng = np.random.default_rng(0)
    train = 1 / rng.integers(2, 30, size=(2, 60))
    assert high_test_ranks(np.ones((2, 60)), train, "test").startswith("test triples rank far above train triples")
    assert high_test_ranks(np.ones((2, 60)), train, "valid").startswith("valid triples rank")
    assert high_test_ranks(1.45 * train, train, "test") == ""
    assert high_test_ranks(np.ones((2, 29)), train[:, :29], "test") == ""
    lucky = np.full((2, 60), 1 / 15)
    lucky[:, 0] = 1.0
    assert lucky.mean() > 1.15 / 15
    assert high_test_ranks(lucky, np.full((2, 60), 1 / 25), "test") != ""
    few_hits = np.full((2, 60), 0.01)
    few_hits[:, :2] = 0.5
    assert few_hits.mean() > 1.5 * 0.01
    assert high_test_ranks(few_hits, np.full((2, 60), 0.01), "test") == ""


def test_the_bound_of_chance_holds():
    """Ranks at random are no fault in any of 1,200 draws, although the true triples rank last."""
    rng = np.random.default_rng(0)
    for size in (5, 50, 500):
        for _ in range(400):
            better = rng.integers(0, size, size=(2, 30))
            parts = np.zeros_like(better), np.full_like(better, size - 1), np.ones(better.shape)
            last = faults._Ranks(np.full_like(better, size - 1), *parts)
            assert not faults._is_fault(last, faults._Ranks(better, *parts))


@pytest.mark.parametrize("fault", ["subject rows after", "entity rows", "swapped", "reversed"])
def test_known_answers_of_dense_graphs_are_left_out(fault):
    """Each query has twenty known answers, so raw ranks are hardly better than chance: filtered ranks show it."""
    rng = np.random.default_rng(2)
    pairs = rng.permutation(60 * 60)[:1260]
    triples = np.column_stack([pairs // 60, np.zeros(1260, dtype=int), pairs % 60])
    dataset = kg.Dataset.from_arrays(train=triples[60:], test=triples[:60], n_entities=60, n_relations=1)
    sound = planted("", np.random.default_rng(2), dataset, 5)
    result = kg.evaluate(sound, dataset, progress=False, check_rows=False)
    assert result["mrr"] > 9 * result.chance("mrr").value
    assert result["raw.mrr"] < 2 * result.chance("raw.mrr").value
    scorer = planted(fault, np.random.default_rng(2), dataset, 5)
    found, _ = find_fault(as_row_scorer(scorer, 60), scorer, dataset, ("subject", "object"))
    assert found.startswith(NAMES[fault])


def test_ranks_with_the_other_sign():
    """The ranks of negated scores with ties, counted for each triple."""
    rng = np.random.default_rng(0)
    dataset = graph(rng, n=30)
    table = rng.integers(0, 5, size=(30, len(dataset.relations), 30))
    indexes = {side: KnownIndex.of(*query_parts(dataset["train"].array, side)) for side in SIDES}

    def ranks(sign):
        rows = as_row_scorer(lambda s, p, o: sign * table[s, p, o], 30)
        ranker = faults._Ranker(rows, dataset, np.arange(30), np.arange(5), indexes, SIDES, np.arange(30), 1)
        return ranker.ranks(dataset["test"].array)

    assert np.array_equal(ranks(1).reversed().reciprocal, ranks(-1).reciprocal)
    assert ranks(1).tied.any()


@pytest.mark.parametrize("fault", ["", "subject rows after", "swapped", "reversed"])
def test_scorers_that_take_the_time(fault):
    """Each fact is true at one of three times, and the scorer, asked at another time, knows nothing of it."""
    rng = np.random.default_rng(11)
    plain = graph(rng, n=60)
    n, m = 60, len(plain.relations)
    times = {split: rng.integers(0, 3, len(plain[split])) for split in plain.splits}
    columns = {split: pd.DataFrame({"time": 2000 + of_split}) for split, of_split in times.items()}
    dataset = kg.Dataset(plain.entities, plain.relations, plain.splits, columns=columns)
    table = rng.standard_normal((n, m, n, 3))
    for split, more in (("train", 6), ("test", 5)):
        table[(*plain[split].array.T, times[split])] += more
    scorer = {
        "subject rows after": lambda s, p, o, time: table[(s + 1) % n, p, o, time - 2000],
        "swapped": lambda s, p, o, time: table[o, p, s, time - 2000],
        "reversed": lambda s, p, o, time: -table[s, p, o, time - 2000],
        "": lambda s, p, o, time: table[s, p, o, time - 2000],
    }[fault]
    found, unchecked = find_fault(as_row_scorer(scorer, n, dataset=dataset), scorer, dataset, SIDES)
    assert unchecked == ""
    assert found.startswith(NAMES[fault]) if fault else found == ""
