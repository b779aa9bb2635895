"""Baselines against loops over the triples; their numbers on real data stand in test_published_numbers.py."""

import numpy as np
import pandas as pd
import pytest
from key_cases import COUNTS

import kgeval as kg
from kgeval.scorers.baselines import BASELINES, make_baselines


def random_dataset(seed, n=9, n_relations=4, sizes=(40, 8, 12)):
    """A small graph in which relation 1 mostly reverses relation 0, and relation 2 is mostly symmetric."""
    rng = np.random.default_rng(seed)
    train, valid, test = (
        np.column_stack([rng.integers(n, size=k), rng.integers(n_relations, size=k), rng.integers(n, size=k)])
        for k in sizes
    )
    zero, two = train[train[:, 1] == 0], train[train[:, 1] == 2]
    backward = np.column_stack([zero[:, 2], np.ones(len(zero), dtype=int), zero[:, 0]])[rng.random(len(zero)) < 0.9]
    train = np.concatenate([train[train[:, 1] != 1], backward, two[:, [2, 1, 0]], train[:3]])  # three rows are repeated
    return kg.Dataset.from_arrays(train=train, valid=valid, test=test, n_entities=n, n_relations=n_relations)


def scores_of(scorer, dataset, side, given, relation):
    """The scores of all entities for one query."""
    given, relation = np.array([given]), np.array([relation])
    if side == "object":
        return scorer.score_objects(given, relation)[0]
    return scorer.score_subjects(relation, given)[0]


def check_queries(scorer, dataset, score):
    """Every query of both sides, and a part of the candidates in a mixed order, against ``score(s, p, o)``."""
    n = len(dataset.entities)
    for p in range(len(dataset.relations)):
        for given in range(n):
            expected = {
                "object": [score(given, p, o) for o in range(n)],
                "subject": [score(s, p, given) for s in range(n)],
            }
            for side, row in expected.items():
                assert scores_of(scorer, dataset, side, given, p).tolist() == pytest.approx(row, abs=1e-15)
    picked = np.array([5, 0, 5, 3])
    part = scorer.score_objects(np.array([1, 4]), np.array([0, 2]), candidates=picked)
    assert part.tolist() == pytest.approx(
        np.array([[score(1, 0, o) for o in picked], [score(4, 2, o) for o in picked]])
    )
    part = scorer.score_subjects(np.array([0, 2]), np.array([1, 4]), candidates=picked[[1, 3]])
    assert part.tolist() == pytest.approx(
        np.array([[score(s, 0, 1) for s in (0, 3)], [score(s, 2, 4) for s in (0, 3)]])
    )


@pytest.mark.parametrize("seed", range(5))
def test_frequency_is_a_share_of_the_rows_of_the_relation(seed):
    """Repeated train triples count as often as they stand there; valid and test count nothing."""
    dataset = random_dataset(seed)
    train = dataset["train"].array.tolist()

    def shares(column, entity, p):
        rows = [row for row in train if row[1] == p]
        return sum(row[column] == entity for row in rows) / len(rows) if rows else 0.0

    scorer, n = kg.baselines.Frequency(dataset), len(dataset.entities)
    for p in range(len(dataset.relations)):
        for side, column in (("object", 2), ("subject", 0)):
            expected = [shares(column, entity, p) for entity in range(n)]
            for given in (0, n - 1):
                assert scores_of(scorer, dataset, side, given, p).tolist() == pytest.approx(expected, abs=1e-15)
    parts = scorer.score_objects(np.array([1, 2]), np.array([2, 0]), candidates=np.array([4, 4, 1]))
    assert parts.tolist() == [[shares(2, o, p) for o in (4, 4, 1)] for p in (2, 0)]


def follows(facts, inverse):
    """All triples that follow by reversals, one at a time."""
    facts = set(facts)
    while True:
        new = {(o, b, s) for s, p, o in facts for a, b in inverse if a == p} - facts
        if not new:
            return facts
        facts |= new


@pytest.mark.parametrize("seed", range(8))
def test_inverse_rule_against_a_loop(seed):
    """The rules come from distinct pairs of train; the known triples are train and valid, or the named splits."""
    dataset = random_dataset(seed)
    train, valid = ({tuple(row) for row in dataset[split].array.tolist()} for split in ("train", "valid"))
    inverse = set()
    for a in range(4):
        pairs = {(s, o) for s, p, o in train if p == a}
        for b in range(4):
            n_reversed = sum((o, b, s) in train for s, o in pairs)
            if pairs and n_reversed >= 0.8 * len(pairs):
                inverse |= {(a, b), (b, a)}
    assert (2, 2) in inverse
    scorer = kg.baselines.InverseRule(dataset)
    assert {tuple(pair) for pair in scorer.inverse.tolist()} == inverse
    known = follows(train | valid, inverse)
    check_queries(scorer, dataset, lambda s, p, o: float((s, p, o) in known))
    of_train = kg.baselines.InverseRule(dataset, splits=["train"])
    known = follows(train, inverse)
    check_queries(of_train, dataset, lambda s, p, o: float((s, p, o) in known))


def test_the_share_of_inverse_pairs_is_exactly_eight_tenths():
    """4 of 5 pairs make a rule in both directions, 3 of 5 make none."""
    for n_reversed, rules in ((4, [[0, 1], [1, 0]]), (3, [])):
        train = [[i, 0, i + 5] for i in range(5)] + [[i + 5, 1, i] for i in range(n_reversed)]
        train += [[i, 1, i] for i in range(10)]  # so that relation 1 is not reversed in relation 0
        dataset = kg.Dataset.from_arrays(train=train, n_entities=10, n_relations=2)
        found = kg.baselines.InverseRule(dataset).inverse.tolist()
        assert [pair for pair in found if pair != [1, 1]] == rules


def test_degree_counts_train_triples():
    """A triple with the same subject and object counts once."""
    dataset = random_dataset(0)
    train = dataset["train"].array.tolist()
    degree = [sum(entity in (s, o) for s, _, o in train) for entity in range(9)]
    assert any(s == o for s, _, o in train)
    scorer = kg.baselines.Degree(dataset)
    for side in ("subject", "object"):
        assert scores_of(scorer, dataset, side, 3, 1).tolist() == degree
    assert scorer.score_subjects(np.array([0]), np.array([2]), candidates=np.array([8, 1])).tolist() == [
        [degree[8], degree[1]]
    ]


def test_random_scores_are_fixed_even_and_depend_on_every_part():
    """The same number in any batch; evenly spread; another s, p, o or seed gives another number."""
    dataset = random_dataset(0)
    scorer = kg.baselines.Random(dataset)
    rng = np.random.default_rng(0)
    s, p, o = rng.integers(0, 2000, size=(3, 40_000))
    scores = scorer(s, p, o)
    assert scorer(s[7:9], p[7:9], o[7:9]).tolist() == scores[7:9].tolist()
    assert 0 <= scores.min() < scores.max() < 1
    counts, _ = np.histogram(scores, bins=20, range=(0, 1))
    assert abs(counts - 2000).max() < 5 * np.sqrt(2000)
    for other in (
        scorer(s + 1, p, o),
        scorer(s, p + 1, o),
        scorer(s, p, o + 1),
        kg.baselines.Random(dataset, 1)(s, p, o),
    ):
        assert abs(np.corrcoef(scores, other)[0, 1]) < 0.025
    assert scorer(o, p, s)[0] != scores[0]


def test_random_is_at_chance():
    """Its MRR lies within four standard errors of the chance level."""
    dataset = random_dataset(3, n=30, sizes=(60, 10, 400))
    result = kg.evaluate(kg.baselines.Random(dataset), dataset, progress=False, check_rows=False)
    interval = result.interval("mrr")
    assert abs(result["mrr"] - result.chance("mrr").value) < 2 * (interval.high - interval.low)


def temporal(seed, kind):
    """A graph with times, as numbers or as dates; and its rows with integer times."""
    rng = np.random.default_rng(seed)
    rows = {
        split: rng.integers(0, (6, 2, 6, 5), size=(k, 4)) for split, k in (("train", 40), ("valid", 9), ("test", 9))
    }
    frames = {}
    for split, part in rows.items():
        frame = pd.DataFrame(part[:, :3].astype(str), columns=["s", "p", "o"]).apply(lambda column: "x" + column)
        dates = pd.Timestamp("2014-01-28") + pd.to_timedelta(part[:, 3], unit="D")
        frames[split] = frame.assign(time=part[:, 3] * 10 if kind == "numbers" else dates.strftime("%Y-%m-%d"))
    return kg.Dataset.from_frames(**frames), rows


@pytest.mark.parametrize("kind", ["numbers", "dates"])
@pytest.mark.parametrize("seed", range(4))
def test_recency_against_a_loop(seed, kind):
    """The order of answers by the latest time before that of the query, over all splits; never its own time."""
    dataset, rows = temporal(seed, kind)
    facts = np.concatenate(list(rows.values())).tolist()
    scorer = kg.baselines.Recency(dataset)
    steps = sorted({row[3] for row in facts})
    name = {entity: int(label[1:]) for entity, label in enumerate(dataset.entities.labels)}
    relation = {p: int(label[1:]) for p, label in enumerate(dataset.relations.labels)}
    n = len(dataset.entities)
    for t in range(6):
        date = (pd.Timestamp("2014-01-28") + pd.Timedelta(days=t)).strftime("%Y-%m-%d")
        time = np.array([10 * t if kind == "numbers" else date])
        for p in range(len(dataset.relations)):
            for given in range(n):

                def latest(s, o, p=p, t=t):
                    known = [f[3] for f in facts if f[:3] == [name[s], relation[p], name[o]] and f[3] < t]
                    return steps.index(max(known)) if known else -1

                objects = scorer.score_objects(np.array([given]), np.array([p]), time=time)[0]
                assert objects.tolist() == [latest(given, o) for o in range(n)]
                subjects = scorer.score_subjects(np.array([p]), np.array([given]), time=time)[0]
                assert subjects.tolist() == [latest(s, given) for s in range(n)]


def test_recency_needs_times():
    """Without a column of times, with texts that are no times, or without the time of a triple."""
    facts = pd.DataFrame({"s": ["a", "a"], "p": "r", "o": ["b", "c"]})
    for frame, message in (
        (
            facts,
            "Recency needs the time of each triple, but dataset 'dataset' has no column of times, which is named time, "
            "timestamp, date, year or t; choose another baseline, or give the column such a name",
        ),
        (
            facts.assign(date=["yesterday", "2014-01-31"]),
            "Recency needs times that are numbers or dates such as 2014-01-31; column 'date' of 'dataset' holds other "
            "text ('yesterday') and days ('2014-01-31')",
        ),
        (
            facts.assign(date=["now", "then"]),
            "Recency needs times that are numbers or dates such as 2014-01-31; column 'date' of 'dataset' holds 'now', "
            "'then'",
        ),
        (facts.assign(t=[3, None]), "Recency needs the time of each triple; triple 2 of train of 'dataset' has none"),
    ):
        with pytest.raises(kg.DataError) as found:
            kg.baselines.Recency(kg.Dataset.from_frames(train=frame))
        assert str(found.value) == message


def test_recency_gets_a_column_of_times_of_any_name():
    """`evaluate` passes the column "date", as text, as numbers and as dates; the ranks are those of the column time."""
    dataset, _ = temporal(5, "dates")
    days = {split: frame["time"] for split, frame in dataset.columns.items()}
    tables = []
    for name, of in (("time", lambda day: day), ("date", pd.to_datetime), ("t", lambda day: day.str[-2:].astype(int))):
        frames = {split: pd.DataFrame({name: of(column)}) for split, column in days.items()}
        if name == "t":  # the 31st of January comes before the 1st of February
            frames = {split: (frame - 28) % 31 for split, frame in frames.items()}
        made = kg.Dataset(dataset.entities, dataset.relations, dataset.splits, columns=frames)
        result = kg.evaluate(
            kg.baselines.Recency(made), made, kg.Protocol(filter_by=(name,)), progress=False, check_rows=False
        )
        tables.append(result.table)
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert (tables[0]["score"] >= 0).any()


@pytest.mark.parametrize("name", ["frequency", "inverse", "degree"])
def test_a_baseline_needs_train(name):
    """A dataset without train triples cannot make one."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1)
    with pytest.raises(kg.DataError) as found:
        BASELINES[name](dataset)
    assert str(found.value) == "a baseline is made from train triples, but dataset 'dataset' has none"


def test_made_baselines_know_no_ranked_triple():
    """With valid ranked, the inverse rule knows train alone; train cannot be ranked; names are checked."""
    dataset = random_dataset(1)
    on_valid = make_baselines(["inverse"], dataset, ["valid"])["inverse"]
    same = kg.baselines.InverseRule(dataset, splits=["train"])
    given, relation = np.repeat(np.arange(9), 4), np.tile(np.arange(4), 9)
    found = on_valid.score_objects(given, relation)
    assert np.array_equal(found, same.score_objects(given, relation))
    assert not np.array_equal(found, kg.baselines.InverseRule(dataset).score_objects(given, relation))
    with pytest.raises(kg.ProtocolError, match="^baselines are made from train, so they cannot be set beside"):
        make_baselines(["random"], dataset, ["train", "test"])
    with pytest.raises(kg.ProtocolError, match=r"^baseline must be one of 'frequency', .*; got 'frequncy'"):
        make_baselines(["frequncy"], dataset, ["test"])


@pytest.mark.parametrize("name", ["frequency", "inverse", "degree", "random"])
def test_baselines_are_scorers_without_a_fault(name):
    """`check_scorer` finds nothing, and lists of negatives give the ranks of a loop over the scores."""
    dataset = random_dataset(2)
    scorer = BASELINES[name](dataset)
    assert kg.check_scorer(scorer, dataset).notes == ()
    lists = np.random.default_rng(0).integers(9, size=(len(dataset["test"]), 5))
    protocol = kg.Protocol(candidates=kg.candidates.Listed(objects=lists), sides="object")
    table = kg.evaluate(scorer, dataset, protocol, progress=False, check_rows=False).table
    for row, (s, p, o), negatives in zip(table.itertuples(), dataset["test"].array, lists):
        if name == "random":
            scores = scorer(np.full(9, s), np.full(9, p), np.arange(9))
        else:
            scores = scores_of(scorer, dataset, "object", s, p)
        rivals = scores[[entity for entity in negatives if entity != o]]
        assert (row.better_raw, row.tied_raw) == ((rivals > scores[o]).sum(), (rivals == scores[o]).sum())


def test_import_as_a_module():
    """`import kgeval.baselines` works as `kgeval.models` does."""
    import kgeval.baselines

    assert kgeval.baselines.Frequency is BASELINES["frequency"]


def test_recency_on_yago(shared):
    """The MRR and hits@10 beside the data, from a loop of its own: by the filter of the same time, of any, of none."""
    dataset = kg.read_dataset(shared / "data" / "formats" / "renet-yago")
    scorer = make_baselines(["recency"], dataset, ["test"])["recency"]
    keyed, static = (
        kg.evaluate(scorer, dataset, kg.Protocol(filter_by=key), progress=False, check_rows=False)
        for key in (("time",), ())
    )
    assert len(keyed.table) == 40_052
    found = [
        (result[f"{setting}mrr"], result[f"{setting}hits@10"]) for result in (keyed, static) for setting in ("", "raw.")
    ]
    assert [(round(mrr, 4), round(hits, 4)) for mrr, hits in found] == [
        (0.8885, 0.9273), (0.5910, 0.8631), (0.9273, 0.9273), (0.5910, 0.8631),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
@pytest.mark.parametrize("name", ["time", "Date"])
def test_recency_gives_dates_and_numbers_the_same_ranks(name):
    """Whatever the column is called; dates of a run have another dtype than those of the files."""
    results = []
    for kind in ("numbers", "dates"):
        dataset, _ = temporal(1, kind)
        columns = {split: frame.rename(columns={"time": name}) for split, frame in dataset.columns.items()}
        dataset = kg.Dataset(dataset.entities, dataset.relations, dataset.splits, columns=columns)
        protocol = kg.Protocol(filter_by=name)
        results.append(kg.evaluate(kg.baselines.Recency(dataset), dataset, protocol, progress=False))
    one, other = (result.table[COUNTS].to_numpy() for result in results)
    assert np.array_equal(one, other)
    assert 0 < np.count_nonzero(one[:, 0]) < len(one)
