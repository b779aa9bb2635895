"""``Protocol(precision=)``: as many random triples as a half-width asks for; the result is that of a sample."""

import math
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.cli import main
from kgeval.data.protocol import RandomSample
from kgeval.evaluation import evaluator
from kgeval.evaluation.build_result import Positives, RankedSide
from kgeval.evaluation.precision import PILOT, PrecisionSteps, precision_keys
from kgeval.ranking.counts import RankCounts
from kgeval.scorers import call_size
from kgeval.scorers.check import ScorerReport

N_TEST = 2000


@lru_cache
def graph():
    """2,000 test triples, some of which share a query, and random scores in which true triples stand out."""
    rng = np.random.default_rng(0)
    triples = np.unique(rng.integers(0, (60, 40, 60), size=(4000, 3)), axis=0)
    rng.shuffle(triples)
    train, test = triples[N_TEST:], triples[:N_TEST]
    table = rng.standard_normal((60, 40, 60))
    table[tuple(test.T)] += rng.exponential(1.5, N_TEST)
    return kg.Dataset.from_arrays(train=train, test=test, n_entities=60, n_relations=40), table


@lru_cache
def whole():
    """The result of all triples."""
    dataset, table = graph()
    return kg.evaluate(lambda s, p, o: table[s, p, o], dataset, progress=False, check_rows=False)


class Rows:
    """The scores of the table for whole queries; `asked` counts how often each query was asked for."""

    def __init__(self):
        self.asked = Counter()

    def score_objects(self, s, p):
        self.asked.update(("object", *query) for query in zip(s.tolist(), p.tolist(), strict=True))
        return graph()[1][s, p]

    def score_subjects(self, p, o):
        self.asked.update(("subject", *query) for query in zip(p.tolist(), o.tolist(), strict=True))
        return graph()[1][:, p, o].T


def half_width(result, key):
    interval = result.interval(key)
    return (interval.high - interval.low) / 2


def needed(order, h, key):
    """The size of the sample by the formula, from the standard deviation over the triples of the pilot."""
    table = whole().table
    rank = 1 + table["better_filtered"].to_numpy() + table["tied_filtered"].to_numpy() / 2
    of_triple = np.stack(np.split(key(rank), 2)).mean(axis=0)  # both sides of a triple
    s = of_triple[order[:PILOT]].std(ddof=1)
    n0 = (1.96 * s / h) ** 2
    return n0 / (1 + n0 / N_TEST)


@pytest.mark.parametrize(
    ("precision", "key", "h"),
    [(0.02, "mrr", 0.02), ({"hits@10": 0.03}, "hits@10", 0.03), ({"mrr": 0.012}, "mrr", 0.012)],
)
@pytest.mark.parametrize("seed", [0, 5])
def test_the_result_is_that_of_a_sample(precision, key, h, seed):
    """Its interval is as narrow as wanted, its size that of the formula, and everything else that of ``sample=n``."""
    dataset, table = graph()
    protocol = kg.Protocol(precision=precision, sample_seed=seed)
    found = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False, check_rows=False)
    sample = found.protocol.sample
    assert (sample.of, sample.seed) == (N_TEST, seed)
    assert half_width(found, key) <= h
    assert half_width(found, key) > 0.93 * h
    metric = {"mrr": lambda rank: 1 / rank, "hits@10": lambda rank: (rank <= 10) * 1.0}[key]
    assert sample.n == pytest.approx(needed(RandomSample.order(N_TEST, seed), h, metric), rel=0.12)
    same = replace(protocol, precision=None, sample=sample.n)
    wanted = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, same, progress=False, check_rows=False)
    assert found.table.equals(wanted.table)
    assert found.protocol == wanted.protocol
    (note,) = [note for note in found.notes if note.startswith("precision: ")]
    shown = f"{ {'mrr': 'MRR'}.get(key, key) } {found[key]:.4f} +-{half_width(found, key):.4f}"
    assert note == (
        f"precision: {shown} at 95%, asked for +-{h:g}; {sample.n:,} of 2,000 triples were ranked, drawn at random"
    )


def test_no_query_is_asked_twice(monkeypatch):
    """The steps after the pilot rank only queries that it did not rank; a query of the pilot has all its positives."""
    monkeypatch.setattr(evaluator, "probe", lambda *_: ScorerReport("matrix", "float64", ()))
    scorer = Rows()
    found = kg.evaluate(scorer, graph()[0], kg.Protocol(precision=0.012), progress=False, check_rows=False)
    assert found.protocol.sample.n > 2 * PILOT
    assert set(scorer.asked.values()) == {1}
    table = found.table
    objects = {("object", s, p) for s, p in table.loc[table["side"] == "object", ["s", "p"]].itertuples(index=False)}
    subjects = {("subject", p, o) for p, o in table.loc[table["side"] == "subject", ["p", "o"]].itertuples(index=False)}
    assert set(scorer.asked) == objects | subjects


def test_the_pilot_may_suffice_and_all_triples_may_be_needed():
    """A wide half-width takes the pilot alone; a tiny one gives the result of all triples, without a sample."""
    dataset, table = graph()
    few = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(precision=0.2), progress=False)
    assert few.protocol.sample.n == PILOT
    every = kg.evaluate(
        lambda s, p, o: table[s, p, o], dataset, kg.Protocol(precision=1e-9), progress=False, check_rows=False
    )
    assert every.protocol == whole().protocol
    assert every.table.equals(whole().table)
    assert [note for note in every.notes if "precision" in note] == ["precision: all 2,000 triples were ranked"]
    small = kg.Dataset.from_arrays(test=dataset["test"].array[:50], n_entities=60, n_relations=40)
    found = kg.evaluate(lambda s, p, o: table[s, p, o], small, kg.Protocol(precision=0.001), progress=False)
    assert found.protocol.sample is None


def test_two_metrics_take_the_larger_sample():
    """Both intervals are as narrow as wanted."""
    dataset, table = graph()
    wanted = {"object.mrr": 0.03, "hits@3": 0.025}
    found = kg.evaluate(
        lambda s, p, o: table[s, p, o], dataset, kg.Protocol(precision=wanted), progress=False, check_rows=False
    )
    assert all(half_width(found, key) <= h for key, h in wanted.items())
    assert max(half_width(found, key) / h for key, h in wanted.items()) > 0.93


@pytest.mark.parametrize("executor", [kg.executors.Threads(2), kg.executors.Processes(2)], ids=["threads", "processes"])
@pytest.mark.thorough
def test_executors(executor):
    """Also in other processes, and with a model, whose batches are counted on threads."""
    rng = np.random.default_rng(1)
    model = kg.models.DistMult(rng.standard_normal((60, 8)), rng.standard_normal((40, 8)))
    protocol = kg.Protocol(precision=0.009)
    one = kg.evaluate(model, graph()[0], protocol, progress=False, executor=kg.executors.Threads(1))
    other = kg.evaluate(model, graph()[0], protocol, progress=False, executor=executor)
    assert one.protocol.sample.n > PILOT
    assert one.table.equals(other.table)


class Stopping(Rows):
    """Raises KeyboardInterrupt at the call with this number."""

    def __init__(self, last):
        super().__init__()
        self.left = last

    def score_objects(self, s, p):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().score_objects(s, p)


def test_a_run_folder_goes_on_with_another_precision(tmp_path, monkeypatch):
    """Stopped in the second step, resumed, made more precise, and at last whole: no query is asked twice."""
    monkeypatch.setattr(evaluator, "probe", lambda *_: ScorerReport("matrix", "float64", ()))
    monkeypatch.setattr("kgeval.evaluation.run_settings.ScorerIdentity", lambda *_: Same())
    options = {"progress": False, "check_rows": False, "run_folder": tmp_path / "run", "batch_size": 60 * 40}
    asked = Counter()
    protocol, n = kg.Protocol(precision=0.012), []
    for scorer, wanted in (
        (Stopping(12), protocol),
        (Rows(), protocol),
        (Rows(), kg.Protocol(precision=0.01)),
        (Rows(), kg.Protocol()),
    ):
        try:
            found = kg.evaluate(scorer, graph()[0], wanted, **options)
            n.append(N_TEST if found.protocol.sample is None else found.protocol.sample.n)
            same = kg.evaluate(Rows(), graph()[0], wanted, progress=False, check_rows=False)
            assert found.table.equals(same.table)
        except kg.Stopped:
            assert not n
        asked.update(scorer.asked)
    assert PILOT < n[0] < n[1] < n[2] == N_TEST
    assert set(asked.values()) == {1}


class Same:
    """An identity that every scorer has: the scorers of this test differ in what they count only."""

    def describe(self):
        return {}

    def differences(self, before):
        return []


def test_max_seconds_ends_a_step(monkeypatch):
    """The result is that of a sample of the triples that were ranked in time; the note says what was reached."""
    now = [100.0]
    monkeypatch.setattr(call_size, "clock", lambda: now[0])
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(evaluator, "probe", lambda *_: ScorerReport("function", "float64", ()))
    dataset, table = graph()

    def score(s, p, o):
        now[0] += 1e-3 * len(s)
        return table[s, p, o]

    sizes = []
    for seconds in (8, 60, 1000):
        protocol = kg.Protocol(precision=0.012)
        found = kg.evaluate(score, dataset, protocol, max_seconds=seconds, progress=False, check_rows=False)
        sizes.append(found.protocol.sample.n)
        sample = kg.Protocol(sample=sizes[-1])
        assert found.table.equals(kg.evaluate(score, dataset, sample, progress=False, check_rows=False).table)
        start = "precision: MRR" if seconds == 1000 else "precision not reached in the time: MRR "
        assert [note for note in found.notes if note.startswith(start)]
    assert 0 < sizes[0] < PILOT < sizes[1] < sizes[2]


def test_unseen_triples_and_lists():
    """Triples that are dropped belong to the sample; lists of negatives are ranked in steps, too."""
    dataset, table = graph()
    rng = np.random.default_rng(4)
    is_rare = (dataset["train"].array[:, [0, 2]] < 4).any(axis=1)
    part = kg.Dataset.from_arrays(
        train=dataset["train"].array[~is_rare], test=dataset["test"].array, n_entities=60, n_relations=40
    )
    lists = kg.candidates.Listed(objects=rng.integers(0, 60, size=(N_TEST, 9)))
    for data, protocol in ((part, kg.Protocol(unseen="drop")), (dataset, kg.Protocol(candidates=lists))):
        asked = replace(protocol, precision=0.02)
        found = kg.evaluate(lambda s, p, o: table[s, p, o], data, asked, progress=False, check_rows=False)
        n = found.protocol.sample.n
        assert n > PILOT
        wanted = kg.evaluate(
            lambda s, p, o: table[s, p, o], data, replace(protocol, sample=n), progress=False, check_rows=False
        )
        assert found.table.equals(wanted.table)
        assert found.dropped == wanted.dropped
        assert half_width(found, "mrr") <= 0.02


def test_the_bar_shows_the_interval():
    """The second step's bar has the value and the half-width of the pilot."""
    names = []

    class Spying:
        n_processes = 1

        def run(self, job):
            names.append(job.meter.name)
            yield from kg.executors.Threads(1).run(job)

    dataset, table = graph()
    protocol = kg.Protocol(precision=0.012)
    kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, executor=Spying(), progress=False, check_rows=False)
    pilot = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(sample=PILOT), progress=False)
    assert names[:2] == ["ranking", f"ranking, MRR {pilot['mrr']:.4f} +-{half_width(pilot, 'mrr'):.4f}"]


def steps_of(result, dataset, precision, seed):
    """The size of the sample and the value, from the ranks of all triples."""
    n = len(dataset["test"])
    places = np.empty(n, dtype=np.int64)
    places[RandomSample.order(n, seed)] = np.arange(n)
    ranked = []
    for side in result.protocol.sides:
        frame = result.table[result.table["side"] == side]
        counts = {
            setting: RankCounts(*(frame[f"{name}_{setting}"].to_numpy() for name in ("better", "tied", "rivals")))
            for setting in ("raw", "filtered")
        }
        ranked.append(RankedSide(np.arange(n), frame["score"].to_numpy(), counts))
    keys = precision_keys(kg.Protocol(precision=precision))
    steps = PrecisionSteps(keys, Positives.of(dataset, result.protocol), result.protocol, places, seed)
    while steps.grow(ranked, None):
        pass
    return steps.n, steps.intervals(ranked, steps.n)[0][0]


def test_the_value_is_within_the_half_width():
    """In at least 93% of the draws, as many as 95% less two standard errors of 200 draws would allow."""
    n_draws = size(200, 500)
    found = [steps_of(whole(), graph()[0], 0.02, seed) for seed in range(n_draws)]
    assert np.mean([abs(value - whole()["mrr"]) <= 0.02 for _, value in found]) >= 0.93
    assert max(n for n, _ in found) < 1.35 * min(n for n, _ in found)


@pytest.mark.thorough
def test_fb15k_237(shared):
    """+-.02 for ComplEx: within it in at least 93% of 500 draws, at no more than 6% of the triples."""
    dataset = kg.read_dataset(shared / "data" / "fb15k-237")
    file = shared / "data" / "models" / "fb15k-237-complex.npz"
    model = kg.load_model(file, dataset, model="complex", layout="halves", inverse_relations="after")
    result = kg.evaluate(model, dataset, progress=False)
    found = [steps_of(result, dataset, 0.02, seed) for seed in range(500)]
    assert np.mean([abs(value - result["mrr"]) <= 0.02 for _, value in found]) >= 0.93
    assert np.mean([n for n, _ in found]) <= 0.06 * len(dataset["test"])


@pytest.mark.parametrize("precision", [0, -0.1, math.nan, math.inf, "0.02", True, {}, {"mrr": 0}, {"mrr": None}, [0.1]])
def test_no_half_width(precision):
    with pytest.raises(kg.ProtocolError) as caught:
        kg.Protocol(precision=precision)
    assert str(caught.value) == (
        "precision must be a half-width above 0 of the 95% interval of MRR, such as 0.02, or a dict of metrics with "
        f"half-widths, such as {{'hits@10': 0.02}}; got {precision!r}"
    )


def test_what_a_precision_cannot_be_combined_with():
    """A sample, query-level metrics, unknown metrics, given scores, a metric without an interval."""
    dataset, table = graph()
    with pytest.raises(
        kg.ProtocolError, match="^precision chooses how many random triples are ranked; give precision= "
    ):
        kg.Protocol(precision=0.02, sample=100)
    with pytest.raises(kg.ProtocolError, match="^precision is that of subject.mrr, but .*; the sides are object$"):
        kg.Evaluator(dataset, kg.Protocol(precision={"subject.mrr": 0.02}, sides=("object",)))
    with pytest.raises(kg.ProtocolError, match="^precision needs a metric of single ranks, .*; got query.map$"):
        kg.Evaluator(dataset, kg.Protocol(precision={"query.map": 0.02}))
    with pytest.raises(kg.MetricError, match="unknown metric 'mmr'"):
        kg.Evaluator(dataset, kg.Protocol(precision={"mmr": 0.02}))
    scores = pd.DataFrame({"s": ["0"], "p": ["0"], "o": ["0"], "score": [1.0]})
    with pytest.raises(kg.ProtocolError, match="Remove sample=, sample_seed= and precision= from the protocol"):
        kg.evaluate_scores(scores, dataset, kg.Protocol(precision=0.02))


@pytest.mark.parametrize("names", [("mr", "mrr"), ("mrr", "mr")])
def test_a_metric_without_an_interval(names):
    """All answers rank first: MR has no interval, whatever the order of the metrics."""
    dataset, table = graph()
    perfect = np.zeros_like(table)
    for split in ("train", "test"):
        perfect[tuple(dataset[split].array.T)] = 1
    ranking = kg.Evaluator(dataset, kg.Protocol(precision=dict.fromkeys(names, 0.5)))
    with pytest.raises(
        kg.ProtocolError, match="^precision: mr cannot be estimated from the first 300 triples; rank a "
    ):
        ranking.evaluate(lambda s, p, o: perfect[s, p, o], progress=False, check_rows=False)


def test_a_protocol_with_a_precision():
    """It can be stored, hashed and described, and other protocols keep their fingerprints."""
    protocol = kg.Protocol(precision={"hits@10": 0.02}, sample_seed=3)
    assert kg.Protocol.from_dict(protocol.to_dict()) == protocol
    assert protocol.to_dict()["precision"] == {"hits@10": 0.02}
    assert hash(protocol) == hash(kg.Protocol(precision={"hits@10": 0.02}, sample_seed=3))
    assert protocol.describe().endswith("both sides, random triples for hits@10 +-0.02, seed 3")
    assert "precision" not in kg.Protocol().to_dict()
    assert kg.Protocol(precision=0.02) == kg.Protocol(precision={"mrr": 0.02})


def test_the_command_line(root, capsys):
    """`--precision` gives the table intervals and the note; a wrong number is an error."""
    folder = root / "data" / "countries"
    call = ["evaluate", str(folder), "--model", str(folder / "complex.npz"), "--precision"]
    assert main([*call, ".05", "--max-seconds", "600", "--no-progress"]) == 0
    out = capsys.readouterr().out
    assert "note: precision: MRR 0.4954 +-0.0114 at 95%, asked for +-0.05; 300 of 329 triples were ranked" in out
    assert "0.4954 [0.4840, 0.5067]" in out
    assert "--max-seconds 600" not in out
    assert main([*call, "hits@10=.001"]) == 0
    assert "note: precision: all 329 triples were ranked" in capsys.readouterr().out
    for wrong in ("much", "mrr=", ""):
        with pytest.raises(SystemExit) as ended:
            main([*call, wrong])
        assert ended.value.code == 2
        assert "expected a half-width, such as --precision .02 or" in " ".join(capsys.readouterr().err.split())
