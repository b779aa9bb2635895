"""The filter key: known answers are removed by given parts, time and qualifiers; scorers get the columns they name."""

import itertools
import os
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from grids import light
from key_cases import (
    N,
    ObjectTimes,
    PlainRows,
    R,
    Rows,
    SubjectTimes,
    as_dataset,
    loop,
    random_facts,
    ranked,
    score_of,
    with_all,
    with_time,
    without_time,
)

import kgeval as kg
from kgeval.data.keys import FactColumns
from kgeval.results.evaluation_result import explained_row

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SCORERS = {"function": (with_time, without_time), "rows": (Rows, PlainRows)}
KEYS = [(), ("time",), ("qualifiers",), ("time", "qualifiers")]


@pytest.mark.parametrize("seed", light(range(200), 8))
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


@pytest.mark.parametrize("seed", light(range(60), 4))
def test_the_order_in_which_a_scorer_names_columns_does_not_matter(seed):
    """The filter compares time with time, also where the scorer names the qualifiers first."""
    facts = random_facts(seed)
    for key in KEYS:
        result = kg.evaluate(with_all, as_dataset(facts), kg.Protocol(filter_by=key), progress=False)
        assert result.facts["scorer_columns"] == ["qualifiers", "time"]
        assert ranked(result) == loop(facts, key, True)


@pytest.mark.parametrize("seed", light(range(60), 4))
@pytest.mark.parametrize("scorer", [ObjectTimes, SubjectTimes])
def test_each_side_has_the_columns_of_its_own_method(seed, scorer, tmp_path):
    """The method without time is not asked once per time; counts and explanations are those of the loop."""
    facts, key = random_facts(seed), KEYS[seed % 4]
    dataset, protocol = as_dataset(facts), kg.Protocol(filter_by=key)
    side, other = ("object", "subject") if scorer is ObjectTimes else ("subject", "object")
    asked = {"subject": set(), "object": set()}
    for s, p, o, time, _ in facts["test"]:
        asked["subject"].add((None, p, o, time if side == "subject" else None))
        asked["object"].add((s, p, None, time if side == "object" else None))
    wanted, made = loop(facts, key, {side}), scorer()
    result = kg.evaluate(made, dataset, protocol, check_rows=False, progress=False)
    assert ranked(result) == wanted
    assert result.facts["n_queries"] == len(asked["subject"]) + len(asked["object"])
    assert {(*triple, time) for triple, time in made.asked} == asked["subject"] | asked["object"]
    assert result.facts["scorer_columns"] == ["time"]
    assert result.facts["scorer_columns_by_side"] == {side: ["time"], other: []}
    assert f"the scorer was given time on the {side} side" in result.notes
    assert any(
        note.startswith(f"the scorer was not given time and qualifiers on the {other} ") for note in result.notes
    )
    for options in (
        {"executor": kg.executors.Processes(2)} if seed == 0 and find_spec("loky") else {"batch_size": 7},
        {"run_folder": tmp_path / "run"},
        {"run_folder": tmp_path / "run"},
    ):
        again = kg.evaluate(scorer(), dataset, protocol, progress=False, **options)
        assert ranked(again) == wanted
    kg.check_scorer(scorer(), dataset)
    for one in ("subject", "object"):  # a side alone has the columns of its method
        part = kg.evaluate(scorer(), dataset, kg.Protocol(filter_by=key, sides=one), check_rows=False, progress=False)
        assert part.facts.get("scorer_columns", []) == ["time"] * (one == side)
        assert part.facts["n_queries"] == len(asked[one])
    for number, (s, p, o, time, qualifiers) in enumerate(facts["test"]):
        for one in ("subject", "object"):
            needed = {*key, *(["time"] if one == side else [])}
            if number % 4 == 0 and not ("time" in needed and time is None):
                given = {name: {"time": time, "qualifiers": qualifiers}[name] for name in needed}
                frame = kg.Evaluator(dataset, protocol).explain(scorer(), s, p, o, one, given=given)
                found = [frame.attrs[f"n_{name}"] for name in ("above", "tied", "above_counting", "tied_counting")]
                assert found == [wanted[number, one][i] for i in (0, 1, 3, 4)]


def test_the_relation_side_has_the_columns_of_its_method():
    """A function of the triple with score_relations at a time, and rows whose relations are scored as triples."""
    facts = random_facts(3)
    dataset = as_dataset(facts)

    class Relations:
        def __call__(self, s, p, o):
            return without_time(s, p, o)

        def score_relations(self, s, o, time):
            return np.stack([with_time(s, np.full(len(s), p), o, time) for p in range(R)], axis=1)

    protocol = kg.Protocol(filter_by=(), sides="both,relation")
    for scorer, on_entities, on_relations in (
        (Relations, (), True),
        (ObjectTimes, ("object",), True),  # relations are scored by score_objects
        (SubjectTimes, ("subject",), False),
    ):
        result = kg.evaluate(scorer(), dataset, protocol, check_rows=False, progress=False)
        sides = {"subject": [], "object": [], "relation": ["time"] * on_relations}
        assert result.facts["scorer_columns_by_side"] == sides | {side: ["time"] for side in on_entities}
        table, wanted = result.table, loop(facts, (), set(on_entities))
        for side in ("subject", "object"):
            counts = table.loc[table["side"] == side, ["better_raw", "tied_raw"]].to_numpy().tolist()
            assert counts == [list(wanted[i, side][:2]) for i in range(len(facts["test"]))]
        rows = table[table["side"] == "relation"].itertuples()
        for row, (s, p, o, time, _) in zip(rows, facts["test"], strict=True):
            scores = [score_of(s, q, o, time if on_relations else None) for q in range(R)]
            assert row.better_raw == sum(score > scores[p] for score in scores)
            assert row.tied_raw == scores.count(scores[p]) - 1


@pytest.mark.parametrize("seed", light(range(60), 4))
def test_a_query_is_scored_once_for_each_set_of_arguments(seed):
    """A scorer without time gets (s, p) once, whatever the key; one with time gets (s, p, time) once."""
    facts = random_facts(seed)
    for scorer in (Rows(), PlainRows()):
        evaluator = kg.Evaluator(as_dataset(facts), kg.Protocol(filter_by=("time", "qualifiers")))
        columns = FactColumns(("time",) if type(scorer) is Rows else ())
        plan = evaluator._plan(evaluator._protocol_for(scorer), columns)
        taken = {
            (part, row[3] if type(scorer) is Rows else None)
            for row in facts["test"]
            for part in ((row[0], row[1], None), (None, row[1], row[2]))
        }
        assert sum(task.n_queries for task in plan.tasks) == len(taken)
        result = evaluator.evaluate(scorer, check_rows=False, progress=False)
        assert result.facts["n_queries"] == len(taken)
        assert set(scorer.asked) == taken


@pytest.mark.parametrize("seed", light(range(30), 4))
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


@pytest.mark.parametrize("seed", light(range(40), 3))
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


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_lists_of_negatives_are_filtered_by_the_key(seed):
    """Each positive among all other entities, listed: the counts of the full ranking."""
    facts, key = random_facts(seed), KEYS[1 + seed % 3]
    dataset = as_dataset(facts)
    others = [[[e for e in range(N) if e != row[place]] for row in facts["test"]] for place in (0, 2)]
    lists = kg.candidates.Listed(subjects=np.array(others[0]), objects=np.array(others[1]))
    for scorer, takes_time in ((with_time, True), (without_time, False), (Rows(), True)):
        result = kg.evaluate(scorer, dataset, kg.Protocol(filter_by=key, candidates=lists), progress=False)
        assert ranked(result) == loop(facts, key, takes_time)


def test_two_processes_give_the_same():
    """The times reach the workers."""
    pytest.importorskip("loky")
    facts = random_facts(5, 60)
    protocol, executor = kg.Protocol(filter_by=("time",)), kg.executors.Processes(2)
    result = kg.evaluate(with_time, as_dataset(facts), protocol, executor=executor, progress=False)
    assert ranked(result) == loop(facts, ("time",), True)


def test_a_stopped_run_gives_the_same(tmp_path):
    """What it kept is used."""
    facts = random_facts(5, 60)
    dataset, protocol = as_dataset(facts), kg.Protocol(filter_by=("time",))
    wanted = loop(facts, ("time",), True)
    folder = tmp_path / "run"
    calls, last = [], [10**9]

    def stopping(s, p, o, time):
        calls.append(len(s))
        if len(calls) == last[0]:
            raise KeyboardInterrupt
        return with_time(s, p, o, time)

    stopping.__name__ = stopping.__qualname__ = "score"
    options = {"run_folder": folder, "progress": False, "batch_size": 7, "check_rows": False}
    kg.evaluate(stopping, dataset, protocol, **{**options, "run_folder": tmp_path / "whole"})
    last[0] = len(calls) - 20  # among the calls that rank
    calls.clear()
    with pytest.raises(kg.errors.Stopped):
        kg.evaluate(stopping, dataset, protocol, **options)
    assert os.listdir(folder)
    last[0] = 10**9
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
    with pytest.raises(kg.ProtocolError, match=r"in\n  filter_by: none in A, time in B \(cannot be overridden\)"):
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


@pytest.mark.parametrize("key", [(), ("time",), ("time", "qualifiers")])
def test_explain_scores_at_the_time_and_filters_by_the_key(key):
    """The candidates that count are those of the filtered rank; which time is asked for if there are several."""
    facts = random_facts(8)
    dataset, wanted = as_dataset(facts), loop(facts, key, True)
    protocol = kg.Protocol(filter_by=key)
    result = kg.evaluate(with_time, dataset, protocol, progress=False)
    for number, (s, p, o, time, qualifiers) in enumerate(facts["test"]):
        if time is None:
            continue
        given = {"time": time, **({"qualifiers": qualifiers} if "qualifiers" in key else {})}
        for side in ("subject", "object"):
            frames = [kg.Evaluator(dataset, protocol).explain(with_time, s, p, o, side, given=given)]
            if "qualifiers" not in key:  # a result holds how many, not which
                frames.append(result.explain(s, p, o, side, given=given))
            for frame in frames:
                found = [frame.attrs[f"n_{name}"] for name in ("above", "tied", "above_counting", "tied_counting")]
                assert found == [wanted[number, side][i] for i in (0, 1, 3, 4)]
    times = {}
    for row in facts["test"]:
        times.setdefault(row[:3], set()).add(row[3])
    several = next(triple for triple, found in times.items() if len(found) > 1)
    with pytest.raises(kg.DataError, match=r"the triple was ranked with 2 values of time: say which with given="):
        result.explain(*several)
    with pytest.raises(kg.DataError, match=r"is ranked with 2 values of time: say it with given=\{'time': ...\}"):
        kg.Evaluator(dataset, protocol).explain(with_time, *several)
    has = " and ".join("none" if time is None else str(time) for time in sorted(times[several], key=lambda t: t or 0))
    for explain, message in (
        (result.explain, f"given: the triple was not ranked with time 77; it has {has}"),
        (
            lambda *triple, given: kg.Evaluator(dataset, protocol).explain(with_time, *triple, given=given),
            f"given: no fact of the dataset has the time 77; {several} is ranked with {has}",
        ),
    ):
        with pytest.raises(kg.DataError) as caught:
            explain(*several, given={"time": 77})
        assert str(caught.value) == message
        with pytest.raises(kg.DataError) as caught:
            explain(*several, given=[2])
        assert str(caught.value) == (
            "given must be a dict from columns to values, such as given={'time': 183}; got [2]"
        )


def test_query_level_metrics_are_not_mixed_over_times():
    """Answers at different times are no list of one query; the key says why there is no value."""
    dataset = as_dataset(random_facts(2))
    for scorer, key in ((with_time, ()), (without_time, ("time",))):
        result = kg.evaluate(scorer, dataset, kg.Protocol(filter_by=key), progress=False)
        reason = result.value("query.map").reason
        assert np.isnan(result["query.map"]), key
        assert reason == (
            "queries of one triple with different times or qualifiers are different queries, for which query-level "
            "metrics are not computed; use metrics of single ranks, such as mrr, or filter_by=() (--filter-by none) "
            "with a scorer that takes none of these columns"
        )
    static = kg.evaluate(without_time, dataset, kg.Protocol(filter_by=()), progress=False)
    assert 0 < static["query.map"] <= 1


def test_duplicates_and_overlaps_are_counted_by_time_and_qualifiers():
    """Facts that differ in their time only are no duplicates."""
    facts = random_facts(4)
    dataset = as_dataset(facts)
    for split, rows in facts.items():
        assert dataset.duplicates[split] == len(rows) - len(set(rows))
    for (first, second), n in dataset.overlaps.items():
        assert n == sum(row in set(facts[first]) for row in facts[second])


def test_negatives_at_a_time():
    """With given, only the known triples of the same time are no negatives."""
    facts = random_facts(6)
    dataset = as_dataset(facts)
    rows = [row for part in facts.values() for row in part]
    for s, p, o, time, _ in facts["test"][:8]:
        for given in ({}, {"time": time}):
            known = {row[2] for row in rows if row[:2] == (s, p) and (not given or row[3] == time)} | {o}
            found = kg.negatives(dataset, (str(s), str(p), str(o)), "object", given=given)
            assert found == [str(e) for e in range(N) if e not in known]
    assert len(kg.negatives(dataset, (0, 0, 1), "object", "raw")) == N - 1
    with pytest.raises(kg.ProtocolError) as caught:
        kg.negatives(dataset, (0, 0, 1), "object")
    assert str(caught.value) == (
        "dataset 'dataset' has time and qualifiers: are the triples of the same time and qualifiers known, or those of "
        "any? given={'time': ..., 'qualifiers': ...} means the same, given={} any"
    )


def all_rows(facts, takes_time=True):
    """A table of scores that lists every entity for each query of test, with its time and qualifiers."""
    rows = {}
    for s, p, o, time, qualifiers in facts["test"]:
        for triple in [*((e, p, o) for e in range(N)), *((s, p, e) for e in range(N))]:
            rows[(*map(str, triple), time, qualifiers)] = score_of(*triple, time if takes_time else None)
    frame = pd.DataFrame([*rows], columns=["s", "p", "o", "time", "qualifiers"])
    return frame.astype({"time": object}).assign(score=[*rows.values()])


@pytest.mark.parametrize("seed", light(range(40), 4))
@pytest.mark.parametrize("key", KEYS)
def test_tables_of_scores_are_matched_and_filtered_by_the_key(seed, key):
    """With the columns of the key, the counts are those of the loop; explanations, too."""
    facts = random_facts(seed)
    dataset, table, wanted = as_dataset(facts), all_rows(facts), loop(facts, key, True)
    protocol = kg.Protocol(filter_by=key, sides="both")
    result = kg.evaluate_scores(table.sample(frac=1, random_state=seed), dataset, protocol)
    assert ranked(result) == wanted
    assert result.facts["scorer_columns"] == ["time", "qualifiers"]
    n = len(facts["test"])
    for row in range(0, 2 * n, 5):
        frame = explained_row(result, row)
        found = [frame.attrs[f"n_{name}"] for name in ("above", "tied", "above_counting", "tied_counting")]
        counts = wanted[row % n, ("subject", "object")[row // n]]
        assert found == [counts[i] for i in (0, 1, 3, 4)]


def test_tables_of_other_times_are_other_tables():
    """The digest of the listed candidates knows the times; the same table gives the same digest."""
    facts = random_facts(2)
    dataset, table = as_dataset(facts), all_rows(facts)
    protocol = kg.Protocol(filter_by=())
    one = kg.evaluate_scores(table, dataset, protocol).protocol
    assert one == kg.evaluate_scores(table.iloc[::-1], dataset, protocol).protocol
    plain = all_rows(facts, takes_time=False).drop(columns=["time", "qualifiers"]).drop_duplicates()
    other = kg.evaluate_scores(plain, dataset, protocol)
    assert one.candidates != other.protocol.candidates
    assert ranked(other) == loop(facts, (), False)
    keyed = all_rows(facts, takes_time=False).drop(columns="qualifiers").drop_duplicates()
    assert ranked(kg.evaluate_scores(keyed, dataset, kg.Protocol(filter_by="time"))) == loop(facts, ("time",), False)


def test_tables_without_the_columns_of_the_key_are_refused():
    """Their rows have no time, so the same query at another time would be mixed up: an error, no number."""
    facts = random_facts(2)
    dataset, table = as_dataset(facts), all_rows(facts)
    with pytest.raises(kg.ProtocolError) as caught:
        kg.evaluate_scores(table.drop(columns="time"), dataset, kg.Protocol(filter_by="time"))
    assert str(caught.value) == (
        "with a table of scores, filter_by=('time',) needs the column 'time' in the table: its rows hold triples "
        "without time, so the same query at another time would be mixed up. Add the column, or a column 'positive' "
        "with the row number of the positive of each row; kgeval.evaluate and kgeval.evaluate_candidates filter by "
        "time, too"
    )
    with pytest.raises(kg.ProtocolError, match="which known answers does the filter remove"):
        kg.evaluate_scores(table, dataset)
    wrong = table.assign(time=["77", *table["time"][1:]])
    with pytest.raises(kg.DataError, match=r"^scores, row 0: no fact of the dataset has the time '77'$"):
        kg.evaluate_scores(wrong, dataset, kg.Protocol(filter_by="time"))
    s, p, o, time, qualifiers = facts["test"][0]
    is_first = (table[["s", "p", "o"]] == [str(s), str(p), str(o)]).all(axis=1) & (table["qualifiers"] == qualifiers)
    is_first &= table["time"].isna() if time is None else table["time"] == time
    with pytest.raises(kg.DataError, match="has no score at its time or with its qualifiers in the table; add its row"):
        kg.evaluate_scores(table[~is_first], dataset, kg.Protocol(filter_by="time"))


def test_predictions_without_times_are_not_filtered_by_time():
    """They would mix up the times of a query."""
    dataset = as_dataset(random_facts(2))
    predictions = kg.Predictions.from_arrays([[0, 0, 1]], "object", [[1]])
    with pytest.raises(kg.ProtocolError) as caught:
        kg.evaluate_predictions(predictions, dataset, kg.Protocol(filter_by="time"))
    assert str(caught.value) == (
        "predictions: filter_by=('time',) needs the time of each list: without it, the same query at another time "
        "would be mixed up. Give it: Predictions.from_arrays(..., columns={'time': [...]}), with one value for each "
        "list, or '\"time\": ...' beside the query of each line of kgeval's own format. kgeval.evaluate, "
        "kgeval.evaluate_candidates and tables of scores are filtered by this key, too"
    )
    ranks = kg.GivenRanks.from_arrays([[0, 0, 1]], "object", [1])
    with pytest.raises(kg.ProtocolError, match=r"time of each rank: .* GivenRanks.from_arrays.* for each rank\. kg"):
        kg.evaluate_predictions(ranks, dataset, kg.Protocol(filter_by="time"))


@pytest.mark.parametrize("seed", light(range(30), 3))
def test_lists_of_positives_in_a_table_are_filtered_by_the_key(seed):
    """With a column 'positive', the time follows from the positive."""
    facts, rows = random_facts(seed), []
    for number, (s, p, o, time, _) in enumerate(facts["test"]):
        triples = {*((e, p, o) for e in range(N)), *((s, p, e) for e in range(N))}
        rows += [(*map(str, triple), number, score_of(*triple, time)) for triple in triples]
    table = pd.DataFrame(rows, columns=["s", "p", "o", "positive", "score"])
    protocol = kg.Protocol(filter_by="time", sides="both")
    result = kg.evaluate_scores(table, as_dataset(facts), protocol)
    assert ranked(result) == loop(facts, ("time",), True)


def test_the_check_of_a_scorer_gives_it_the_time():
    """check_scorer takes times of the dataset, too."""
    assert kg.check_scorer(with_time, as_dataset(random_facts(2))).dtype == "int64"


@pytest.mark.parametrize("seed", light(range(30), 3))
@pytest.mark.parametrize("key", KEYS)
def test_the_row_order_check_filters_by_the_key(seed, key):
    """Its statistic of all train triples is that of a ranking of train with the same key."""
    facts = random_facts(seed, 120)
    dataset = as_dataset(facts)
    for scorer in (with_time, without_time):
        statistic = kg.evaluate(scorer, dataset, kg.Protocol(filter_by=key), progress=False).facts["row_order"]
        ranked_train = kg.evaluate(scorer, dataset, kg.Protocol(splits="train", filter_by=key), progress=False)
        assert statistic["triples"] == len(facts["train"])
        for side in ("subject", "object"):
            for name in ("amri", "mrr"):
                assert statistic[side][name] == pytest.approx(ranked_train[f"{side}.{name}"], abs=1e-6)


def test_a_parameter_time_is_the_column_of_time_whatever_its_name():
    """A dataset with dates serves a scorer that says time."""
    dataset = kg.Dataset.from_arrays(
        test=[[0, 0, 1], [0, 0, 2]],
        n_entities=3,
        n_relations=1,
        columns={"test": {"Date": ["2014-05-02", "2014-05-01"], "weight": [1, 2]}},
    )
    seen = []

    def score(s, p, o, *, time, weight):
        seen.append((time.dtype, set(weight.tolist()) <= {1, 2}))
        return ((o == 1) == (time == np.datetime64("2014-05-02"))).astype(int)

    result = kg.evaluate(score, dataset, kg.Protocol(filter_by="Date", sides="object"), progress=False)
    assert result.facts["scorer_columns"] == ["Date", "weight"]
    assert set(seen) == {(np.dtype("datetime64[D]"), True)}
    assert result.table[["better_raw", "tied_raw"]].to_numpy().tolist() == [[0, 0], [0, 1]]
    assert not any("was not given" in note for note in result.notes)


def test_time_and_the_name_of_the_column_are_one_key():
    """One protocol, one fingerprint, comparable; breakdowns and explanations take both names, too."""
    days = {"train": {"timestamp": [1, 2]}, "test": {"timestamp": [2, 1]}}
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [0, 0, 2]], test=[[0, 0, 2], [0, 0, 2]], n_entities=4, n_relations=1, columns=days
    )
    names = ("time", "timestamp", ("timestamp", "time"))
    results = [
        kg.evaluate(lambda s, p, o, time: time * o % 3, dataset, kg.Protocol(filter_by=name), progress=False)
        for name in names
    ]
    assert [result.protocol.filter_by for result in results] == [("timestamp",)] * 3
    assert len({result.protocol.fingerprint for result in results}) == 1
    kg.compare(results[:2], names=["A", "B"])
    one = results[0]
    for given in ({"time": 1}, {"timestamp": 1}):
        assert one.explain(0, 0, 2, given=given).attrs["n_above"] == 0
    assert one.by("time", metrics="mr")["mr"].tolist() == one.by("timestamp", metrics="mr")["mr"].tolist()
    assert one.by("time:1", metrics="mr")["n"].tolist() == [4]
    with pytest.raises(kg.DataError) as caught:
        one.explain(0, 0, 2, given={"time": 99})
    assert str(caught.value) == "given: the triple was not ranked with timestamp 99; it has 1 and 2"
    several = kg.Dataset.from_arrays(
        test=[[0, 0, 1]], n_entities=2, n_relations=1, columns={"test": {"year": [1], "Date": [2]}}
    )
    for ask in (
        lambda: kg.evaluate(without_time, several, kg.Protocol(filter_by="time")),
        lambda: kg.evaluate(without_time, several, kg.Protocol(filter_by=()), progress=False).by("time"),
        lambda: kg.negatives(several, (0, 0, 1), "object", given={"time": 1}),
    ):
        with pytest.raises(kg.DataError) as caught:
            ask()
        assert str(caught.value) == "'time' can be the column 'year' or 'Date'; give the name of the column"


def test_faults_of_a_scorer_are_sought_at_the_times_of_the_triples():
    """Facts of a ring that turns with the time: the right scorer has no fault, a shifted one is named."""
    n, times = 60, np.arange(60) % 7
    s = np.arange(n)
    facts = np.column_stack([s, 0 * s, (s + times) % n])
    dataset = kg.Dataset.from_arrays(test=facts, n_entities=n, n_relations=1, columns={"test": {"time": times}})
    asked = set()

    def turning(shift):
        def score(s, p, o, time):
            asked.update(time.tolist())
            return -((o - s - time - shift) % n)

        return score

    assert kg.check_scorer(turning(0), dataset).unchecked == ""
    with pytest.raises(
        kg.ScoreError, match="one of the rows is shifted by one, (subject or object|object or subject): "
    ):
        kg.check_scorer(turning(1), dataset)
    assert asked == set(range(7))


def weighed(weights):
    """A dataset whose facts have a weight, which is neither time nor qualifiers."""
    facts = {"train": [[0, 0, 1], [0, 0, 2]], "test": [[0, 0, 3], [1, 0, 2]]}
    columns = {"train": {"weight": weights}, "test": {"weight": [1, 2]}}
    return kg.Dataset.from_arrays(**facts, n_entities=4, n_relations=1, columns=columns)


def test_other_columns_of_the_key_are_in_the_fingerprint(tmp_path):
    """Results that were filtered by other weights are of other datasets; without the key, the weights do not matter."""
    one, other = weighed([1, 2]), weighed([2, 2])
    assert one.fingerprint == other.fingerprint == one.fingerprint_with(())
    assert one.fingerprint_with(["weight"]) not in (one.fingerprint, other.fingerprint_with(["weight"]))
    keyed = kg.Protocol(filter_by="weight")
    results = [kg.evaluate(without_time, part, keyed, progress=False) for part in (one, other)]
    assert not np.array_equal(*(result.table["rivals_filtered"] for result in results))
    with pytest.raises(kg.ProtocolError, match="dataset"):
        kg.compare(results, names=["A", "B"])
    assert results[0].facts["fingerprint_columns"] == ["weight"]
    results[0].save(tmp_path / "a.kgeval")
    loaded = kg.load_result(tmp_path / "a.kgeval")
    assert "cardinality" in loaded.with_features(weighed([1, 2]), features=["cardinality"]).columns
    with pytest.raises(kg.DataError, match="the result was made from dataset"):
        loaded.with_features(other, features=["cardinality"])
    plain = [kg.evaluate(without_time, part, progress=False) for part in (one, other)]
    assert plain[0].facts["dataset_fingerprint"] == one.fingerprint
    kg.compare(plain, names=["A", "B"])
    kg.evaluate(without_time, one, keyed, run_folder=tmp_path / "run", progress=False)
    with pytest.raises(kg.DataError, match="dataset"):
        kg.evaluate(without_time, other, keyed, run_folder=tmp_path / "run", progress=False)


def test_the_time_has_one_name():
    """A scorer that takes the column by its name and as time got ids of entities as times."""
    columns = {"train": {"date": [1, 2]}, "test": {"date": [2]}}
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [1, 0, 2]], test=[[0, 0, 2]], n_entities=3, n_relations=1, columns=columns
    )
    with pytest.raises(kg.ScoreError, match="takes 'time' and 'date', but 'time' is the column 'date'"):
        kg.evaluate(lambda s, p, o, time, date: o + time - date, dataset, kg.Protocol(filter_by=()), progress=False)


def test_vectors_beside_relation_scores_that_take_the_time():
    """`query_vectors` gets only the columns that it names."""

    class Model(kg.models.DistMult):
        def score_relations(self, s, o, time):
            return np.asarray(time, dtype=float)[:, None] + np.arange(3.0)

    columns = {"train": {"time": [1, 2]}, "test": {"time": [2]}}
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [1, 1, 2]], test=[[0, 0, 2]], n_entities=3, n_relations=3, columns=columns
    )
    tables = np.arange(9.0).reshape(3, 3), np.ones((3, 3))
    protocol = kg.Protocol(sides="object", filter_by=())
    result = kg.evaluate(Model(*tables), dataset, protocol, progress=False)
    assert result["mr"] == kg.evaluate(kg.models.DistMult(*tables), dataset, protocol, progress=False)["mr"]
