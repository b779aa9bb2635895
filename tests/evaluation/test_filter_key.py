"""The filter key: known answers are removed by given parts, time and qualifiers; scorers get the columns they name."""

import itertools
import os

import numpy as np
import pytest
from grids import light
from key_cases import N, PlainRows, R, Rows, as_dataset, loop, random_facts, ranked, with_time, without_time

import kgeval as kg

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SCORERS = {"function": (with_time, without_time), "rows": (Rows, PlainRows)}
KEYS = [(), ("time",), ("qualifiers",), ("time", "qualifiers")]


@pytest.mark.parametrize("seed", light(range(2000), 12))
def test_counts_equal_a_loop(seed):
    """Every key, with a scorer that takes the time and with one that does not: all counts as in the loop."""
    facts = random_facts(seed)
    dataset = as_dataset(facts)
    kind = ("function", "rows")[seed % 2]
    for key, takes_time in itertools.product(KEYS, (True, False)):
        scorer = SCORERS[kind][not takes_time]
        made = scorer() if isinstance(scorer, type) else scorer
        options = {"batch_size": 3 + seed % 40} if seed % 3 else {}
        result = kg.evaluate(
            made, dataset, kg.Protocol(filter_by=key), progress=False, check_rows=seed % 4 == 0, **options
        )
        assert ranked(result) == loop(facts, key, takes_time), (key, takes_time)
        assert result.facts.get("scorer_columns", []) == ["time"] * takes_time
        assert result.protocol.filter_by == key


@pytest.mark.parametrize("seed", light(range(200), 4))
def test_a_query_is_scored_once_for_each_set_of_arguments(seed):
    """A scorer without time gets (s, p) once, whatever the key; one with time gets (s, p, time) once."""
    facts = random_facts(seed)
    for scorer in (Rows(), PlainRows()):
        evaluator = kg.Evaluator(as_dataset(facts), kg.Protocol(filter_by=("time", "qualifiers")))
        plan = evaluator._plan(evaluator._protocol_for(scorer), ("time",) if type(scorer) is Rows else ())
        taken = {
            (part, row[3] if type(scorer) is Rows else None)
            for row in facts["test"]
            for part in ((row[0], row[1], None), (None, row[1], row[2]))
        }
        assert sum(task.n_queries for task in plan.tasks) == len(taken)
        result = evaluator.evaluate(scorer, check_rows=False, progress=False)
        assert result.facts["n_queries"] == len(taken)
        assert set(scorer.asked) == taken


@pytest.mark.parametrize("seed", light(range(100), 4))
@pytest.mark.parametrize("key", KEYS)
def test_embedding_models_are_filtered_by_the_key(seed, key):
    """A model without time: its counts equal those of the function with the same scores."""
    rng = np.random.default_rng(seed)
    entities, relations = rng.integers(-2, 3, (N, 2)).astype(float), rng.integers(-2, 3, (R, 2)).astype(float)
    dataset, protocol = as_dataset(random_facts(seed)), kg.Protocol(filter_by=key)

    def score(s, p, o):
        return (entities[s] * relations[p] * entities[o]).sum(axis=1)

    model = kg.evaluate(kg.models.DistMult(entities, relations), dataset, protocol, progress=False)
    function = kg.evaluate(score, dataset, protocol, progress=False)
    assert ranked(model) == ranked(function)


@pytest.mark.parametrize("seed", light(range(100), 3))
def test_samples_and_other_splits_are_filtered_by_the_key(seed):
    """The rows of a sample have the counts of the whole; the filter may be only a part."""
    facts, key = random_facts(seed), KEYS[seed % 4]
    dataset = as_dataset(facts)
    protocol = kg.Protocol(filter_by=key, sample=[0, 3, 4], splits=("valid", "test"), filter=("train", "test"))
    result = kg.evaluate(with_time, dataset, protocol, progress=False)
    wanted = loop(facts, key, True, ("valid", "test"), ("train", "test"))
    assert list(ranked(result).values()) == [wanted[row, side] for side in ("subject", "object") for row in (0, 3, 4)]
    raw = kg.evaluate(with_time, dataset, kg.Protocol(filter_by=key, filter=()), progress=False)
    assert all(counts[:3] == counts[3:] for counts in ranked(raw).values())


@pytest.mark.parametrize("seed", light(range(100), 3))
def test_lists_of_negatives_are_filtered_by_the_key(seed):
    """Each positive among all other entities, listed: the counts of the full ranking."""
    facts, key = random_facts(seed), KEYS[1 + seed % 3]
    dataset = as_dataset(facts)
    others = [[[e for e in range(N) if e != row[place]] for row in facts["test"]] for place in (0, 2)]
    lists = kg.candidates.Listed(subjects=np.array(others[0]), objects=np.array(others[1]))
    for scorer, takes_time in ((with_time, True), (without_time, False), (Rows(), True)):
        result = kg.evaluate(scorer, dataset, kg.Protocol(filter_by=key, candidates=lists), progress=False)
        assert ranked(result) == loop(facts, key, takes_time)


def test_two_processes_and_a_resumed_run_give_the_same(tmp_path):
    """The arguments reach the workers, and what a stopped run kept is used."""
    facts = random_facts(5, 60)
    dataset, protocol = as_dataset(facts), kg.Protocol(filter_by=("time",))
    wanted = loop(facts, ("time",), True)
    executor = kg.executors.Processes(2)
    assert ranked(kg.evaluate(with_time, dataset, protocol, executor=executor, progress=False)) == wanted
    folder = tmp_path / "run"
    calls = []

    def stopping(s, p, o, time):
        calls.append(len(s))
        if len(calls) == 25:
            raise KeyboardInterrupt
        return with_time(s, p, o, time)

    stopping.__name__ = stopping.__qualname__ = "score"
    options = {"run_folder": folder, "progress": False, "batch_size": 7}
    with pytest.raises(kg.errors.Stopped):
        kg.evaluate(stopping, dataset, protocol, **options)
    assert os.listdir(folder)
    assert ranked(kg.evaluate(stopping, dataset, protocol, **options)) == wanted


def test_a_dataset_with_times_asks_for_the_key():
    """The error says what each choice means; plain triples need no choice."""
    dataset = as_dataset(random_facts(1))
    with pytest.raises(kg.ProtocolError) as caught:
        kg.evaluate(without_time, dataset)
    assert str(caught.value) == (
        "dataset 'dataset' has a column of time, 'time' and qualifiers: which known answers does the filter remove? "
        "Protocol(filter_by=('time', 'qualifiers')) (--filter-by time,qualifiers) removes those of the same time and "
        "qualifiers; Protocol(filter_by=()) (--filter-by none) removes those of any time and qualifiers, as for plain "
        "triples. The numbers differ much, and papers use both"
    )
    with pytest.raises(kg.ProtocolError) as caught:
        kg.evaluate(without_time, dataset, kg.Protocol(filter_by="day"))
    assert str(caught.value) == (
        "filter_by: dataset 'dataset' has no column 'day'; its further columns: time, qualifiers"
    )
    plain = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    assert kg.evaluate(lambda s, p, o: o, plain, progress=False).protocol.filter_by == ()


def test_the_key_is_said_and_fingerprinted():
    """In the sentence, the fingerprint and the comparison; a protocol without key keeps its fingerprint."""
    assert kg.Protocol(filter_by=()).fingerprint == kg.Protocol().fingerprint
    keyed = kg.Protocol(filter=("train",), filter_by="qualifiers,time")
    assert keyed.filter_by == ("time", "qualifiers")
    assert keyed.fingerprint != kg.Protocol(filter=("train",)).fingerprint
    assert keyed.describe() == "filtered by train with equal time and qualifiers, all entities, both sides"
    assert kg.Protocol.from_dict(keyed.to_dict()) == keyed
    old = {"sides": ["object"], "filter": ["train"], "unseen": "rank", "splits": ["test"], "candidates": "all"}
    assert kg.Protocol.from_dict(old).filter_by == ()


def test_results_of_different_keys_are_not_compared(tmp_path):
    """By time and by the plain triple: other numbers for the same scores; a saved result keeps its key."""
    dataset = as_dataset(random_facts(3))
    results = [kg.evaluate(with_time, dataset, kg.Protocol(filter_by=key), progress=False) for key in ((), ("time",))]
    with pytest.raises(
        kg.ProtocolError, match=r"in\n  filter_by: none in A, time in B \(cannot be overridden\)"
    ):
        kg.compare(results, names=["A", "B"])
    results[1].save(tmp_path / "b.kgeval")
    loaded = kg.load_result(tmp_path / "b.kgeval")
    assert loaded.protocol == results[1].protocol
    assert "the scorer was given time" in loaded.notes


def test_a_scorer_that_names_no_column_of_the_dataset_is_refused():
    """A misspelt column is not left out in silence."""

    def score(s, p, o, tme):
        return o

    with pytest.raises(kg.ScoreError) as caught:
        kg.evaluate(score, as_dataset(random_facts(1)), kg.Protocol(filter_by=()))
    assert str(caught.value) == (
        "score takes 'tme', but dataset 'dataset' has no such column; its further columns: time, qualifiers"
    )
