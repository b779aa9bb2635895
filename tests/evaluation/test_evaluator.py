"""kgeval.evaluate against the loops of oracle.py, on thousands of tiny graphs and every way to score."""

import itertools
import random
from dataclasses import replace

import numpy as np
import oracle
import pytest
from grids import light, size, thinned
from model_cases import CASES, INVERSES, SIDES, draw_model, real_tables, side_scores
from tiles import evaluate_in_tiles

import kgeval as kg
from kgeval.evaluation import build_result
from kgeval.evaluation import evaluator as evaluator_module

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]
SPLITS = ("train", "valid", "test")
DTYPES = ("float16", "float32", "float64", ">f8", "int8", "uint8", "int64", "uint64")
BATCHES, BLOCKS, THREADS, PAIRS = (1, 2, 7, None), (1, 3, None), (1, 2), (1, 5, 1 << 20)


# Scorers that look a score up in a table of shape (entities, relations, entities).
class Function:
    def __init__(self, table):
        self.table = table

    def __call__(self, s, p, o):
        return self.table[s, p, o]


class Rows(Function):
    __call__ = None

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


class Columns(Function):
    __call__ = None

    def score_objects(self, s, p, candidates):
        return self.table[s[:, None], p[:, None], candidates]

    def score_subjects(self, p, o, candidates=None):
        return self.table[candidates[:, None], p, o].T


TABLE_SCORERS = {"function": Function, "rows": Rows, "columns": Columns}


def draw_table(rng, n, m):
    """Scores with many ties, of any real dtype; integers that float64 would merge, and infinities."""
    dtype = np.dtype(rng.choice(DTYPES))
    values = rng.integers(0, 4, (n, m, n))
    if dtype.kind == "f":
        table = values.astype(dtype) / 2 - 1
        table[rng.random(table.shape) < rng.choice([0.0, 0.2])] = np.inf
        table[rng.random(table.shape) < rng.choice([0.0, 0.2])] = -np.inf
        return table
    largest = np.iinfo(dtype).max
    return (largest - values.astype(dtype)) if rng.random() < 0.5 else values.astype(dtype)


def draw_protocol(rng):
    """Any sides, filter, policy for unseen entities, and ranked splits."""
    filters = [split for split in SPLITS if rng.random() < 0.7]
    return kg.Protocol(
        sides=rng.choice([SIDES, SIDES, "subject", "object"]),
        filter=rng.choice([None, filters]),
        unseen=rng.choice([None, "rank", "rank", "drop", "worst", "error"]),
        splits=rng.choice(["test", "test", ["valid", "test"], SPLITS]),
    )


def draw_limits(rng):
    """Any sizes of batch, block and call, and any number of threads."""
    options = {"n_queries": BATCHES, "n_candidates": BLOCKS, "threads": THREADS, "n_pairs": PAIRS}
    return {name: rng.choice(values) for name, values in options.items()}


def unseen_ids(splits, n, m):
    """Entities and relations that train lacks."""
    train = splits["train"]
    entities = {s for s, _, _ in train} | {o for _, _, o in train}
    return set(range(n)) - entities, set(range(m)) - {p for _, p, _ in train}


def expected_rows(splits, n, m, protocol, score):
    """Every row of the ranks table by the oracle; None where nothing can be ranked."""
    filters = SPLITS if protocol.filter is None else protocol.filter
    known = {triple for split in filters for triple in splits[split]}
    triples = [(split, triple) for split in protocol.splits for triple in splits[split]]
    no_entities, no_relations = unseen_ids(splits, n, m)
    is_seen = [not {s, o} & no_entities and p not in no_relations for _, (s, p, o) in triples]
    if not triples or (protocol.unseen == "error" and not all(is_seen)):
        return None
    if protocol.unseen in ("drop", "worst") and not any(is_seen):
        return None
    seen = range(n) if protocol.unseen in ("rank", "error") else sorted(set(range(n)) - no_entities)
    rows = []
    for side in protocol.sides:
        for (split, triple), fine in zip(triples, is_seen, strict=True):
            by = lambda s, p, o, side=side: score(side, s, p, o)  # noqa: E731
            unscored = oracle.rank_counts(lambda *_: 0, [triple], known, range(n), side)[0]
            if fine or protocol.unseen in ("rank", "error"):
                row = oracle.rank_counts(by, [triple], known, seen, side)[0]
            elif protocol.unseen == "drop":
                continue
            else:
                row = {"score": float("nan"), "tied_raw": 0, "tied_filtered": 0}
                row |= {f"better_{setting}": unscored[f"rivals_{setting}"] for setting in ("raw", "filtered")}
            if protocol.unseen == "worst":
                row |= {f"rivals_{setting}": unscored[f"rivals_{setting}"] for setting in ("raw", "filtered")}
            rows.append({"side": side, "split": split, "triple": triple} | row)
    return rows


def check_counts(result, rows):
    """Every column of the ranks table, exactly and in order.

    With unseen="worst" some scores are NaN, so the column is of floats also where scores are integers.
    """
    table = result.table
    assert table[COUNTS].to_numpy().tolist() == [[row[name] for name in COUNTS] for row in rows]
    assert list(map(tuple, table[["s", "p", "o"]].to_numpy().tolist())) == [row["triple"] for row in rows]
    assert table["side"].tolist() == [row["side"] for row in rows]
    assert table["split"].tolist() == [row["split"] for row in rows]
    cast = float if result.protocol.unseen == "worst" else lambda x: x
    expected = [cast(row["score"]) for row in rows]
    assert [None if x != x else x for x in table["score"].tolist()] == [None if x != x else x for x in expected]
    assert len(rows) + sum(result.dropped.values()) == result.facts["n_read"]


def check_metrics(result, rows):
    """Metrics of every setting, side and tie policy, and each relation's, to 1e-9."""

    def counts(some, setting):
        return [tuple(row[f"{name}_{setting}"] for name in ("better", "tied", "rivals")) for row in some]

    def near(value):
        return pytest.approx(float("nan") if value is None else float(value), rel=1e-9, abs=1e-9, nan_ok=True)

    sides = ["both", *result.protocol.sides]
    policies = ("optimistic", "pessimistic", "realistic", "expected")
    for setting, side, ties in itertools.product(("raw", "filtered"), sides, policies):
        some = counts([row for row in rows if side in ("both", row["side"])], setting)
        head = f"{setting}.{side}.{ties}."
        for name in ("mr", "mrr", "hits@1", "hits@3", "gmr", "median_rank", "hmr"):
            assert result[head + name] == near(oracle.metric(name, some, ties)), head + name
        for name in ("mr", "mrr", "hits@1", "gmr"):
            adjusted, z = result.value(f"{head}adjusted({name})"), result.value(f"{head}z({name})")
            if result.protocol.unseen == "worst":
                assert adjusted.reason == z.reason != ""
                continue
            assert adjusted.value == near(oracle.adjusted(name, some, ties)), head + name
            assert z.value == near(oracle.z(name, some, ties)), head + name
    for setting, ties in itertools.product(("raw", "filtered"), ("realistic", "expected")):
        frame = result.by("relation", metrics=["mrr", "hits@1"], setting=setting, ties=ties)
        assert set(frame.index) == {str(row["triple"][1]) for row in rows}
        for label, got in frame.iterrows():
            some = counts([row for row in rows if str(row["triple"][1]) == label], setting)
            found = [got["n"], got["mrr"], got["hits@1"]]
            assert found == [
                len(some),
                *(near(oracle.metric(name, some, ties)) for name in ("mrr", "hits@1")),
            ]


def draw_case(path, seed):
    """Splits, dataset, protocol as given and as meant, a scorer of the path, and the scores to rank."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    n, m, splits = oracle.random_graph(rng, allow_empty=rng.random() < 0.2)
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    protocol = draw_protocol(rng)
    if path in TABLE_SCORERS:
        table = draw_table(numbers, n, m)
        meant = replace(protocol, unseen=protocol.unseen or "rank")
        return splits, dataset, (protocol, meant), TABLE_SCORERS[path](table), lambda _, *spo: table[spo].item()
    name, inverse = path
    lacks = sorted(unseen_ids(splits, n, m)[0]) if protocol.unseen in (None, "drop", "worst") else ()
    model, score = draw_model(name, inverse, numbers, n, m, missing=lacks)
    meant = replace(protocol, unseen=protocol.unseen or ("drop" if lacks else "rank"))
    return splits, dataset, (protocol, meant), model, score


def check_graph(path, seed, with_metrics=False):
    """Evaluate one random graph; return whether there was anything to rank."""
    splits, dataset, (protocol, meant), scorer, score = draw_case(path, seed)
    limits = draw_limits(random.Random(-seed))
    rows = expected_rows(splits, len(dataset.entities), len(dataset.relations), meant, score)
    if rows is None:
        with pytest.raises(kg.DataError, match=r"nothing to rank|does not occur in train"):
            evaluate_in_tiles(scorer, dataset, protocol, **limits)
        return False
    result = evaluate_in_tiles(scorer, dataset, protocol, **limits)
    assert result.protocol == meant.resolved(dataset)
    check_counts(result, rows)
    if with_metrics:
        check_metrics(result, rows)
    return True


@pytest.mark.parametrize("path", TABLE_SCORERS)
def test_functions_and_matrices(path):
    """120 graphs a path: ties, infinities, integers beyond 2**53, any protocol, any batching."""
    n_cases = size(6, 120)
    ranked = sum(check_graph(path, seed) for seed in range(n_cases))
    assert ranked > n_cases / 2


@pytest.mark.parametrize(("name", "inverse"), thinned(itertools.product(CASES, INVERSES), 10, unpack=True))
def test_models(name, inverse):
    """15 graphs a model and kind of inverse relations; unseen entities that drop out have NaN vectors."""
    n_cases = size(2, 15)
    ranked = sum(check_graph((name, inverse), 1000 + seed) for seed in range(n_cases))
    assert ranked >= n_cases // 2


@pytest.mark.parametrize(
    "path", light(["function", ("DistMult", None), "rows", "columns", ("TransE-2", "after")], 1), ids=str
)
def test_metrics(path):
    """Every metric, adjusted and z form, of raw and filtered, each side, tie policy and relation."""
    n_cases = size(1, 6)
    ranked = sum(check_graph(path, 2000 + seed, with_metrics=True) for seed in range(n_cases))
    assert ranked >= n_cases // 2


def grid(path):
    """The limits that a path heeds, in all combinations."""
    threads = (1,) if path in TABLE_SCORERS else THREADS
    pairs = PAIRS if path == "function" else PAIRS[-1:]
    names = ("n_queries", "n_candidates", "threads", "n_pairs")
    return [dict(zip(names, values, strict=True)) for values in itertools.product(BATCHES, BLOCKS, threads, pairs)]


@pytest.mark.parametrize("path", light([*TABLE_SCORERS, *((name, None) for name in CASES)], 1), ids=str)
def test_all_limits_give_the_same_counts(path):
    """Each batch and block size, number of threads and length of call in combination, each on one of two graphs."""
    done, n_graphs = 0, size(1, 2)
    for seed in itertools.count(3000):
        splits, dataset, (protocol, meant), scorer, score = draw_case(path, seed)
        rows = expected_rows(splits, len(dataset.entities), len(dataset.relations), meant, score)
        if rows is None or len(dataset.entities) < 8:
            continue
        for limits in grid(path)[done :: size(4, n_graphs)]:
            check_counts(evaluate_in_tiles(scorer, dataset, protocol, **limits), rows)
        done += 1
        if done == n_graphs:
            return


class RowsOf:
    """The exact scores of a model as whole rows, which takes the path that compares row by row."""

    def __init__(self, model, n):
        self.model, self.n = model, n

    def _rows(self, side, given, p):
        g, r, e = np.repeat(given, self.n), np.repeat(p, self.n), np.tile(np.arange(self.n), len(given))
        s, o = (e, g) if side == "subject" else (g, e)
        return side_scores(self.model, side, s, r, o).reshape(len(given), self.n)

    def score_objects(self, s, p):
        return self._rows("object", s, p)

    def score_subjects(self, p, o):
        return self._rows("subject", o, p)


def test_what_depends_on_the_dataset_alone_is_computed_once(monkeypatch):
    """Three evaluations: one look for leaks, one plan; each result has facts of its own."""
    calls = []

    def watch(module, name):
        call = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: calls.append(name) or call(*given))

    watch(build_result.leak_notes, "notes_on_leaks")
    watch(evaluator_module, "make_plan")
    triples = [[i, 0, i + 1] for i in range(40)]
    dataset = kg.Dataset.from_arrays(train=triples, test=triples[:20], n_entities=41, n_relations=1)
    evaluator = kg.Evaluator(dataset)
    first, second, third = (evaluator.evaluate(lambda s, p, o: -abs(s + 1 - o)) for _ in range(3))
    assert calls == ["make_plan", "notes_on_leaks"]
    assert first == second == third
    first.facts["observations"].clear()
    first.facts["leak_notes"].clear()
    assert second.facts["observations"] == third.facts["observations"] != []
    assert len(evaluator.evaluate(lambda s, p, o: o).facts["leak_notes"]) == 1


def test_a_second_run_starts_anew():
    """Of three candidates the answer 2 of (0, 0, ?) is first by o, last by -o: MR 1, 3 and 1 again on one Evaluator."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 2]], n_entities=3, n_relations=1)
    evaluator = kg.Evaluator(dataset, kg.Protocol(sides="object"))
    runs = [evaluator.evaluate(lambda s, p, o, sign=sign: sign * o, progress=False) for sign in (1, -1, 1)]
    assert [run["mr"] for run in runs] == [1.0, 3.0, 1.0]
    assert [run.table["better_filtered"].tolist() for run in runs] == [[0], [2], [0]]


@pytest.mark.parametrize("dtype", light([np.float32, np.float64], 1))
@pytest.mark.parametrize("name", light(CASES, 1))
@pytest.mark.thorough
def test_screened_ranks_of_real_parameters(name, dtype):
    """With 300 entities, half of them copies of others up to one float32 step, screening changes no count."""
    rng = np.random.default_rng(11)
    tables = real_tables(name, rng, 300, 2, dtype)
    for key in tables.keys() & {"entities", "subjects", "objects"}:
        tables[key][150:] = tables[key][:150]
        tables[key][200:, 0] = np.nextafter(tables[key][200:, 0], np.float32(np.inf), dtype=dtype)
    model = CASES[name].build(**tables)
    test = np.column_stack([*(rng.integers(0, n, size(15, 25)) for n in (300, 2, 300))])
    dataset = kg.Dataset.from_arrays(test=test, n_entities=300, n_relations=2)
    expected = kg.evaluate(RowsOf(model, 300), dataset).table
    assert (expected["tied_filtered"] > 0).any()
    for limits in ({}, {"n_queries": 1, "n_candidates": 7}, {"n_queries": 7, "threads": 2, "n_candidates": 64}):
        found = evaluate_in_tiles(model, dataset, **limits).table
        assert (found[[*COUNTS, "score"]] == expected[[*COUNTS, "score"]]).all(axis=None)
