"""TorchMetric against loops, and on two processes with a padded sampler."""

import copy
import pickle

import numpy as np
import oracle
import pytest

import kgeval as kg

torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
pytest.importorskip("torchmetrics", reason="needs kgeval[torchmetrics]")
processes = pytest.importorskip("torch_processes")
METRICS, made, plain = processes.METRICS, processes.made, processes.plain
counted_by_loops, random_rows, values_of = processes.counted_by_loops, processes.random_rows, processes.values_of


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64])
def test_scores_are_counted_as_by_loops(dtype):
    """In batches, with known answers or without; half precision is compared as given."""
    for seed in range(20):
        scores, positive, known = random_rows(np.random.default_rng(seed))
        for filtered in (known, None):
            metric = made()
            for rows in (slice(0, 5), slice(5, 12)):
                metric.update(
                    scores[rows].to(dtype), positive[rows], known=None if filtered is None else filtered[rows]
                )
            expected = counted_by_loops(scores, positive, filtered)
            assert plain(metric.compute()) == values_of(expected)
            for name in ("mr", "mrr", "hits@1", "hits@3", "gmr"):
                exact = float(oracle.metric(name, list(zip(*expected)), "realistic"))
                assert metric.compute()[name].item() == pytest.approx(exact, rel=1e-14)
            from_counts = made()
            from_counts.update(counts=[torch.tensor(part) for part in expected])
            assert plain(from_counts.compute()) == plain(metric.compute())


def test_half_precision_is_not_widened():
    """Two scores that are equal in half precision tie, as the ranker of kgeval sees them."""
    scores = torch.tensor([[1.0, 1.0001, 0.0]])
    metric = made("mr", ties="pessimistic")
    assert metric(scores, torch.tensor([0]))["mr"].item() == 2.0
    metric.reset()
    assert metric(scores.half(), torch.tensor([0]))["mr"].item() == 2.0
    assert made("mr")(scores.half(), torch.tensor([0]))["mr"].item() == 1.5


@pytest.mark.parametrize("ties", ["optimistic", "realistic", "pessimistic", "expected"])
def test_ties(ties):
    scores, positive, _ = random_rows(np.random.default_rng(3))
    metric = made("mrr,hits@3", ties=ties)
    metric.update(scores, positive)
    assert plain(metric.compute()) == values_of(counted_by_loops(scores, positive), ("mrr", "hits@3"), ties)


def test_values_are_those_of_evaluate():
    """The same scores of a model, ranked by kgeval."""
    rng = np.random.default_rng(5)
    dataset = kg.Dataset.from_arrays(
        train=rng.integers(0, [8, 2, 8], (30, 3)), test=rng.integers(0, [8, 2, 8], (15, 3)), n_entities=8, n_relations=2
    )
    table = rng.integers(0, 3, (8, 2, 8)).astype(np.float64)
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset)
    known = np.zeros((8, 2, 8), dtype=bool)
    for split in dataset.splits.values():
        known[split.s, split.p, split.o] = True
    metric, (s, p, o) = made(), dataset["test"].array.copy().T
    rows = torch.arange(15)
    metric.update(
        torch.from_numpy(table[s, p]), torch.from_numpy(o), known=torch.from_numpy(known[s, p]), ids=15 + rows
    )
    metric.update(
        torch.from_numpy(table[:, p, o].T), torch.from_numpy(s), known=torch.from_numpy(known[:, p, o].T), ids=rows
    )
    assert plain(metric.compute()) == {key: result[key] for key in METRICS}
    assert (metric.n_rows, metric.n_repeated) == (30, 0)


def test_repeated_rows_count_once():
    """Whatever the order of the updates; a warning tells, since one process does not pad."""
    scores, positive, _ = random_rows(np.random.default_rng(1))
    metric, ids = made(), torch.arange(12) * 7
    metric.update(scores, positive, ids=ids)
    alone = plain(metric.compute())
    metric.update(scores[3:5], positive[3:5], ids=ids[3:5])
    with pytest.warns(kg.errors.KgevalWarning, match=r"^2 rows of 14 had the id of an earlier row and were left out"):
        assert plain(metric.compute()) == alone
    assert (metric.n_rows, metric.n_repeated) == (12, 2)


def test_same_id_with_other_counts():
    metric = made("mrr")
    metric.update(counts=(torch.tensor([0, 2]), torch.tensor([0, 1]), torch.tensor([5, 5])), ids=torch.tensor([4, 9]))
    metric.update(counts=(torch.tensor([1]), torch.tensor([0]), torch.tensor([5])), ids=torch.tensor([9]))
    with pytest.raises(kg.DataError) as caught:
        metric.compute()
    assert str(caught.value).startswith(
        "id 9 has two rows with different counts: {'better': 2, 'tied': 1, 'rivals': 5} and {'better': 1, 'tied': 0, "
        "'rivals': 5}. Ids must be unique in the whole evaluation: with two sides, 2 * row for the subject and "
        "2 * row + 1 for the object."
    )


def test_ids_in_some_updates_only():
    metric = made("mrr")
    metric.update(torch.rand(3, 4), torch.zeros(3, dtype=torch.int64), ids=torch.arange(3))
    metric.update(torch.rand(2, 4), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(kg.DataError, match=r"^2 of 5 rows have no id; pass ids= in every update, or in none$"):
        metric.compute()


SCORES, FIRST = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 0])
THREE = (torch.tensor([1, 0]), torch.tensor([0, 0]), torch.tensor([1, 1]))
REFUSED = [
    ({}, "update() takes scores and positive=, or counts=(better, tied, rivals)"),
    ({"scores": SCORES, "positive": FIRST, "counts": THREE}, "update() takes scores and positive=, or counts="),
    ({"counts": THREE, "positive": FIRST}, "counts= are final: positive= and known= belong to scores"),
    ({"counts": THREE[:2]}, "counts= must be three tensors: better, tied, rivals"),
    ({"counts": (THREE[0] + 1, *THREE[1:])}, "counts, row 0: 2 better and 0 tied rivals, but 1 rivals in all"),
    ({"counts": (THREE[0] - 1, *THREE[1:])}, "counts, better must be at least 0; got -1"),
    ({"counts": (THREE[0] / 2, *THREE[1:])}, "counts, better must be integers, shape (2,); got torch.float32"),
    ({"scores": SCORES}, "scores need positive=: the column of the positive in each row, shape (n,)"),
    ({"scores": SCORES, "positive": FIRST + 2}, "positive: a column is 2, but scores have 2 columns"),
    ({"scores": SCORES, "positive": FIRST[:1]}, "positive must be integers, shape (2,); got torch.int64, shape (1,)"),
    ({"scores": SCORES > 1, "positive": FIRST}, "scores must be a tensor of numbers, shape (n, candidates); got torch"),
    ({"scores": SCORES[0], "positive": FIRST}, "scores must be a tensor of numbers, shape (n, candidates); got torch"),
    ({"scores": SCORES / 0 * 0, "positive": FIRST}, "scores: row 0, candidate 0 is NaN. If NaN marks known answers"),
    ({"scores": SCORES, "positive": FIRST, "known": SCORES}, "known must be a bool tensor of the shape of scores, (2,"),
    ({"scores": SCORES, "positive": FIRST, "ids": SCORES[0]}, "ids must be integers, shape (2,); got torch.float32"),
    ({"scores": SCORES, "positive": FIRST, "ids": FIRST - 1}, "ids must be at least 0; got -1"),
    (
        {"scores": SCORES, "positive": FIRST, "ids": np.array([1, 2**63], dtype=np.uint64)},
        "ids must be at least 0; got -",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refused(arguments, message):
    with pytest.raises(kg.KgevalError) as caught:
        made("mrr").update(**arguments)
    assert str(caught.value).startswith(message)


def test_nan_of_a_known_candidate_is_refused_too():
    with pytest.raises(kg.ScoreError, match="row 1, candidate 1 is NaN"):
        made("mrr").update(torch.tensor([[1.0, 2.0], [1.0, torch.nan]]), FIRST, known=torch.ones(2, 2) > 0)


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        (
            "query.map",
            {},
            "TorchMetric computes metrics of ranks, such as 'mrr'; got query.map. Use kg.evaluate for it",
        ),
        ("median_rank", {"ties": "expected"}, "median_rank has no exact expectation over random tie breaking"),
        ("mrr", {"ties": "random"}, "ties must be one of"),
        ("hit@10", {}, "unknown metric 'hit@10'; did you mean 'hits@10'"),
    ],
)
def test_wrong_settings(metrics, options, message):
    with pytest.raises(kg.MetricError) as caught:
        made(metrics, **options)
    assert str(caught.value).startswith(message)


def test_forward_collection_copy_and_pickle():
    """What training loops do with a metric: batch values, epochs, copies for several data loaders, checkpoints."""
    from torchmetrics import MetricCollection

    scores, positive, _ = random_rows(np.random.default_rng(2))
    metric = made("mrr,hits@3", log_names=True)
    first = metric(scores[:4], positive[:4])
    assert plain(first) == {
        "mrr": values_of(counted_by_loops(scores[:4], positive[:4]))["mrr"],
        "hits_at_3": values_of(counted_by_loops(scores[:4], positive[:4]))["hits@3"],
    }
    metric(scores[4:], positive[4:])
    whole = values_of(counted_by_loops(scores, positive), ("mrr", "hits@3"))
    assert list(plain(metric.compute()).values()) == list(whole.values())
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric.half()):
        other.update(scores[:0], positive[:0])
        assert plain(other.compute()) == plain(metric.compute())
    metric.reset()
    metric.update(scores[:4], positive[:4])
    assert plain(metric.compute()) == plain(first)
    both = MetricCollection({"realistic": made("mrr"), "pessimistic": made("mrr", ties="pessimistic")})
    both.update(scores, positive)
    assert both.compute()["realistic_mrr" if "realistic_mrr" in both.compute() else "mrr"] > 0
    assert pickle.loads(pickle.dumps(kg.integrations.TorchMetric)) is kg.integrations.TorchMetric


def test_other_dtype_is_refused():
    """Half precision would round counts and ids above 2048."""
    metric = made("mrr")
    metric.update(SCORES, FIRST)
    metric.set_dtype(torch.float16)
    with pytest.raises(kg.DataError, match=r"were converted to another dtype; leave out set_dtype\(\)"):
        metric.compute()


def test_undefined_values_say_why():
    metric = made("amri")
    metric.update(torch.ones(2, 1), FIRST)
    with pytest.warns(kg.errors.KgevalWarning, match="^amri is NaN: random ranking already gives the best value of mr"):
        assert metric.compute()["amri"].isnan()


def test_ids_are_asked_for_on_several_processes():
    metric = made("mrr", distributed_available_fn=lambda: True)
    with pytest.raises(kg.ProtocolError, match=r"^ids= is needed on several processes: samplers pad the data"):
        metric.update(SCORES, FIRST)


@pytest.mark.thorough
def test_two_processes_equal_one(tmp_path):
    """13 rows on 2 processes: the sampler repeats row 0, and every process has the values of the 13 rows."""
    torch.multiprocessing.spawn(processes.run_process, (2, str(tmp_path), 13), nprocs=2)
    scores, positive, known = random_rows(np.random.default_rng(11), n=13)
    expected = values_of(counted_by_loops(scores, positive, known))
    for rank in range(2):
        values, n_rows, n_repeated, padded, uneven, message = torch.load(tmp_path / f"13-{rank}.pt")
        assert values == uneven == expected
        assert (n_rows, n_repeated) == (13, 1)
        assert padded != expected  # the trap: without the ids, row 0 counts twice
        assert message.startswith("ids= is needed on several processes")
