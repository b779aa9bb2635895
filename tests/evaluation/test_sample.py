"""A part of the triples: ``Protocol(sample=)`` ranks it, and the filter stays that of the whole dataset."""

import math
import random
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.cli import main
from kgeval.data.protocol import RandomSample
from kgeval.results.evaluation_result import header_lines, interval_notes
from kgeval.stats.tails import student_quantile

KEYS = ("mrr", "hits@3", "raw.mr", "object.amri")


def draw(seed):
    rng = random.Random(seed)
    n, m = rng.randint(3, 9), rng.randint(1, 3)
    splits = {
        name: [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(3, 12))]
        for name in ("train", "valid", "test")
    }
    table = np.random.default_rng(seed).integers(0, 4, (n, m, n))
    return rng, kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m), table


def test_a_sample_has_the_ranks_of_the_whole():
    """Numbers, rows and masks, with every way to treat unseen triples: the rows of the whole table of ranks."""
    ranked = 0
    for seed in range(size(6, 200)):
        rng, dataset, table = draw(seed)
        splits = rng.choice([("test",), ("valid", "test")])
        protocol = kg.Protocol(splits=splits, unseen=rng.choice(["rank", "drop", "worst"]))
        of = sum(len(dataset[split]) for split in splits)
        rows = sorted(rng.sample(range(of), rng.randint(1, of - 1)))
        mask = np.isin(np.arange(of), rows)

        def score(s, p, o, table=table):
            return table[s, p, o]

        is_seen = np.concatenate([dataset.is_seen(split) for split in splits])
        if protocol.unseen != "rank" and not is_seen[rows].any():
            continue
        whole = kg.evaluate(score, dataset, protocol).table
        kept = np.flatnonzero(is_seen) if protocol.unseen == "drop" else np.arange(of)
        chosen = np.isin(kept, rows)
        wanted = whole[np.tile(chosen, 2)].reset_index(drop=True)
        for triples in (rows, np.array(rows[::-1]), mask):
            found = kg.evaluate(score, dataset, replace(protocol, sample=triples))
            assert found.table.equals(wanted), seed
            assert found.facts["n_triples"] == len(rows)
            assert found.facts["n_read"] == 2 * len(rows)
            assert (found.protocol.sample.n, found.protocol.sample.of) == (len(rows), of)
        ranked += len(wanted)
    assert ranked > size(10, 400)


@lru_cache
def graph(n=200):
    rng = np.random.default_rng(3)
    facts = np.unique(
        np.column_stack([rng.integers(0, 40, 3 * n), rng.integers(0, 3, 3 * n), rng.integers(0, 40, 3 * n)]), axis=0
    )
    facts = rng.permutation(facts)
    return kg.Dataset.from_arrays(train=facts[n:], test=facts[:n], n_entities=40, n_relations=3), rng.random(
        (40, 3, 40)
    )


@pytest.fixture(scope="module")
def whole():
    """The result of all triples of `graph`."""
    dataset, table = graph()
    return kg.evaluate(lambda s, p, o: table[s, p, o], dataset)


@pytest.fixture(scope="module")
def drawn_and_chosen():
    """Results of 150 of 200 triples: drawn at random, and the same triples chosen by the user."""
    dataset, table = graph()
    score = lambda s, p, o: table[s, p, o]  # noqa: E731
    rows = RandomSample.drawn(150, 200, seed=2)[0]
    return tuple(
        kg.evaluate(score, dataset, protocol)
        for protocol in (kg.Protocol(sample=150, sample_seed=2), kg.Protocol(sample=rows))
    )


def test_the_rest_of_test_stays_in_the_filter():
    """As a test split of its own, the part loses the answers of the rest from the filter, and ranks fall."""
    dataset, table = graph()
    score = lambda s, p, o: table[s, p, o]  # noqa: E731
    part = kg.evaluate(score, dataset, kg.Protocol(sample=50, sample_seed=1))
    rows = RandomSample.drawn(50, 200, seed=1)[0]
    alone = kg.Dataset.from_arrays(
        train=dataset["train"].array, test=dataset["test"].array[rows], n_entities=40, n_relations=3
    )
    cut = kg.evaluate(score, alone)
    assert part.table[["s", "p", "o"]].equals(cut.table[["s", "p", "o"]])
    assert (part.table["better_raw"] == cut.table["better_raw"]).all()
    assert part["mrr"] > cut["mrr"]


def test_the_seed_decides():
    dataset, table = graph()
    protocols = [kg.Protocol(sample=50, sample_seed=seed) for seed in (0, 0, 1)]
    results = [kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol) for protocol in protocols]
    assert results[0] == results[1]
    assert results[0].protocol != results[2].protocol
    assert results[0].protocol.fingerprint != results[2].protocol.fingerprint
    assert "; test 50 of 200 triples, " in header_lines(results[0])[0]
    assert interval_notes(results[0])[0] == (
        "95% intervals show how much a number would vary with another random sample of the ranked splits; the "
        "intervals describe all triples (25.0% drawn); 50 effective clusters in all"
    )
    protocol_text = header_lines(results[0])[1].split(", realistic")[0]
    assert protocol_text.endswith("both sides, 50 of 200 triples (drawn at random, seed 0)")
    with pytest.raises(kg.ProtocolError, match="cannot be compared as they are; they differ in\n  sample: "):
        kg.compare([results[0], results[2]])


def test_a_sample_larger_than_the_splits_is_noted(whole):
    """All triples are ranked, as without ``sample=``, and the result says that fewer exist."""
    dataset, table = graph()
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(sample=33_000))
    note = "sample: the splits to rank have 200 triples, fewer than the 33,000 that were to be drawn"
    assert result.notes == (note, *whole.notes)
    assert result.table.equals(whole.table)
    assert "sample" not in result.protocol.to_dict()


@pytest.mark.parametrize("triples", [None, 200, range(200), np.ones(200, dtype=bool)], ids=str)
def test_everything_is_no_sample(whole, triples):
    """The protocol, and so its fingerprint, stays that of an evaluation without ``sample=``."""
    dataset, table = graph()
    score = lambda s, p, o: table[s, p, o]  # noqa: E731
    result = kg.evaluate(
        score, dataset, kg.Protocol(sample=triples if not isinstance(triples, range) else list(triples))
    )
    assert result == whole
    assert "sample" not in result.protocol.to_dict()


def wilson(value, size, t):
    """Wilson's limits of a value between 0 and 1 among `size` independent observations."""
    centre = (value + t * t / (2 * size)) / (1 + t * t / size)
    reach = t * math.sqrt(value * (1 - value) / size + t * t / (4 * size * size)) / (1 + t * t / size)
    return centre - reach, centre + reach


def test_intervals_of_drawn_triples_have_the_finite_population_correction(drawn_and_chosen):
    """150 of 200 drawn: the variance is 1/4 of that of 150 chosen triples; Wilson's size is 4 times theirs."""
    drawn, chosen = drawn_and_chosen
    assert drawn.table.equals(chosen.table)
    assert str(chosen.protocol.sample) == "150 of 200 triples (chosen by the user)"
    weights = np.ones(300)
    pairs = [(key, drawn.interval(key), chosen.interval(key)) for key in (*KEYS, "query.map")]
    pairs.append(("weighted mr", drawn.weighted("mr", weights), chosen.weighted("mr", weights)))
    pairs.append(("weighted mrr", drawn.weighted("mrr", weights), chosen.weighted("mrr", weights)))
    for key, one, other in pairs:
        assert (one.value, one.n_effective) == (other.value, other.n_effective)
        if key == "query.map":  # the queries of a sample are not those of the split: no correction
            assert one == other
            continue
        assert one.error == pytest.approx(other.error / 2, rel=1e-12), key
        if one.method == "robust":  # also corrected for skewness, which hardly matters for these ranks
            assert one.value - one.low == pytest.approx((other.value - other.low) / 2, rel=0.1), key
            assert one.high - one.value == pytest.approx((other.high - other.value) / 2, rel=0.1), key
            assert one.high - one.low != pytest.approx((other.high - other.low) / 2, rel=1e-9), key
        else:
            size = one.value * (1 - one.value) / one.error**2
            t = student_quantile(0.975, math.floor(one.n_effective - 1 + 1e-9))
            assert (one.low, one.high) == pytest.approx(wilson(one.value, size, t), rel=1e-9), key
            assert one.method == "wilson"


def test_macro_averages_of_drawn_triples_have_the_correction_too(drawn_and_chosen):
    drawn, chosen = drawn_and_chosen
    one, other = (result.averages("relation", metrics="mr").loc["macro"] for result in (drawn, chosen))
    assert one["mr"] == other["mr"]
    assert one["mr high"] - one["mr"] == pytest.approx((other["mr high"] - other["mr"]) / 2, rel=0.1)
    assert one["mr high"] - one["mr low"] != pytest.approx((other["mr high"] - other["mr low"]) / 2, rel=1e-9)


def test_other_clusters_than_triples_have_no_correction(drawn_and_chosen):
    """The queries and the entities of the whole split are no population to be exhausted; nor is an array's."""
    drawn, chosen = drawn_and_chosen
    for cluster in ("query", "entity", np.arange(300) % 50):
        for key in ("mrr", "mr", "query.map", "median_rank"):
            assert drawn.interval(key, cluster=cluster) == chosen.interval(key, cluster=cluster)
        one, other = (result.averages("relation", metrics="mr", cluster=cluster) for result in (drawn, chosen))
        assert one.equals(other)
        assert drawn.weighted("mr", np.ones(300), cluster=cluster) == chosen.weighted(
            "mr", np.ones(300), cluster=cluster
        )


@pytest.mark.thorough
def test_drawn_samples_cover_the_value_of_the_whole():
    """Of 300 samples of 100 of 200 triples, 95% intervals contain the MRR of all 200 in 90 to 99%."""
    dataset, table = graph()
    score = lambda s, p, o: table[s, p, o]  # noqa: E731
    truth = kg.evaluate(score, dataset)["mrr"]
    n = size(20, 300)
    intervals = [
        kg.evaluate(score, dataset, kg.Protocol(sample=100, sample_seed=seed)).interval("mrr") for seed in range(n)
    ]
    assert 0.9 <= np.mean([x.low <= truth <= x.high for x in intervals]) <= 1.0


def test_saved_and_loaded(tmp_path):
    dataset, table = graph()
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(sample=50))
    result.save(tmp_path / "part.kgeval")
    loaded = kg.load_result(tmp_path / "part.kgeval")
    assert loaded == result
    assert loaded.protocol.sample == result.protocol.sample
    assert loaded.interval("mrr") == result.interval("mrr")


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (0, "sample must be an integer of at least 1; got 0"),
        ([], "sample must be a number of triples, an array of their rows, or a mask with one element per triple of the "
             "ranked splits; got dtype float64, shape (0,)"),
        ([0, 0], "sample must name distinct rows of the ranked splits, 0 to 199, at least one; got [0 0]"),
        ([200], "sample must name distinct rows of the ranked splits, 0 to 199, at least one; got [200]"),
        ([True], "sample must be a number of triples, an array of their rows (0 to 199), or a mask of shape (200,); "
                 "got a mask of shape (1,)"),
    ],
)  # fmt: skip
def test_wrong_samples(triples, message):
    dataset, table = graph()
    with pytest.raises(kg.ProtocolError) as caught:
        kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(sample=triples))
    assert str(caught.value) == message


def test_masks_and_indexes_are_not_ignored(tmp_path):
    dataset, table = graph()
    for triples in (np.ma.masked_array([0, 1], mask=[1, 0]), pd.Series([True] * 200)):
        with pytest.raises(kg.ProtocolError, match="whose mask or index would be ignored; pass a plain numpy array"):
            kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(sample=triples))
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, kg.Protocol(sample=50, sample_seed=np.int64(3)))
    result.save(tmp_path / "run.kgeval")  # a numpy seed is a number like any other
    assert kg.load_result(tmp_path / "run.kgeval").protocol.sample.seed == 3
    with pytest.raises(kg.ProtocolError, match="sample must be a dict with the keys digest, n, of, seed"):
        kg.Protocol.from_dict({"sample": {"n": 1}})


def test_command_line(tmp_path, monkeypatch, capsys):
    """--sample and --sample-seed are sample= and sample_seed=."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "test.txt").write_text("".join(f"{i % 7}\tr\t{i}\n" for i in range(10)))
    (tmp_path / "scorers.py").write_text("def score(s, p, o):\n    return (s + 2 * o) % 5 + 0.0\n")
    dataset = kg.read_dataset(tmp_path / "graph")
    found = {
        6: kg.evaluate(lambda s, p, o: (s + 2 * o) % 5 + 0.0, dataset, kg.Protocol(sample=6, sample_seed=4))["mrr"],
        None: kg.evaluate(lambda s, p, o: (s + 2 * o) % 5 + 0.0, dataset)["mrr"],
    }
    assert found[6] != found[None]
    call = ["evaluate", "graph", "--scorer", "scorers.py:score", "--to", "csv", "--metrics", "mrr"]
    assert main([*call, "--sample", "6", "--sample-seed", "4"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.startswith(f"both,12,{found[6]!r}")
    assert main([*call, "--sample-seed", "4"]) == 2
    assert capsys.readouterr().err == (
        "kgeval: --sample-seed is the seed of --sample N, --precision H and --max-seconds S; give it with one of them\n"
    )
    for wrong in ("10%", "0.1", "0", "-3", "many"):
        with pytest.raises(SystemExit):
            main([*call, f"--sample={wrong}"])
        assert capsys.readouterr().err == (
            f"kgeval: argument --sample: expected a number of triples, such as --sample 1000; got {wrong!r}; see "
            "kgeval evaluate --help\n"
        )


@pytest.mark.parametrize("options", [{}, {"sample": [0, 2]}, {"sample": np.array([True, False, True])}])
def test_a_seed_that_changes_nothing_is_an_error(options):
    """H28: without random triples the seed was ignored."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2], [2, 0, 0]], n_entities=3, n_relations=1)
    message = "^sample_seed=3 changes nothing here: it is the seed of "
    with pytest.raises(kg.ProtocolError, match=message):
        kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sample_seed=3, **options))
    assert kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sample=2, sample_seed=3)).protocol.sample.seed == 3
    assert kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sample=2)).protocol.sample.seed == 0
    assert kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sample_seed=3), max_seconds=100)["object.mr"] == 2
