"""Metrics of ranks that somebody else worked out, against hand calculations and the loops of oracle.py."""

import math
import random

import numpy as np
import oracle
import pytest
from grids import light

import kgeval as kg
from kgeval.metrics import from_ranks


def test_the_worked_example():
    """Ranks 2 and 1: MRR (1/2 + 1) / 2, MR 3/2, hits@1 one of two; among 5 candidates chance has MR 3, so AMRI
    1 - (1.5 - 1) / (3 - 1)."""
    summary = from_ranks([2, 1], n_candidates=5)
    assert {key: summary[key] for key in summary.metrics} == {
        "mr": 1.5,
        "mrr": 0.75,
        "hits@1": 0.5,
        "hits@3": 1.0,
        "hits@10": 1.0,
    }
    assert from_ranks([2, 1], "amri", n_candidates=5)["amri"] == 0.75
    assert kg.metrics.from_ranks is from_ranks


def test_halves_are_means_of_the_best_and_the_worst():
    """2.5 is 2 in the best and 3 in the worst order: its reciprocal is 1 / 2.5, and hits@2 does not count it."""
    summary = from_ranks([2.5, 1], "mr,mrr,hits@2,hits@3")
    assert {key: summary[key] for key in summary.metrics} == {"mr": 1.75, "mrr": 0.7, "hits@2": 0.5, "hits@3": 1.0}


@pytest.mark.parametrize("seed", light(range(50), 3))
def test_against_the_oracle(seed):
    """Whole and half ranks among numbers of candidates that differ; each metric as the oracle's realistic one."""
    rng = random.Random(seed)
    rows, ranks, sizes = [], [], []
    for _ in range(rng.randrange(1, 12)):
        n = rng.randrange(1, 9)
        better = rng.randrange(n)
        tied = rng.randrange(2) if better < n - 1 else 0
        rows.append((better, tied, n - 1))
        ranks.append(better + 1 + tied / 2)
        sizes.append(n)
    names = ["mr", "mrr", "hits@1", "hits@3", "gmr", "hmr", "median_rank"]
    summary = from_ranks(ranks, names)
    sized = from_ranks(np.array(ranks), names, np.array(sizes))
    for name in names:
        wanted = float(oracle.metric(name, rows, "realistic"))
        assert summary[name] == pytest.approx(wanted, rel=1e-14)
        assert sized[name] == summary[name]


def test_what_needs_candidates_says_so():
    """NaN with the reason, in the summary as printed too."""
    summary = from_ranks([1, 3], "mrr,amri,adjusted(hits@1),z(mrr)")
    said = {key: f"{key} needs the number of candidates; set n_candidates=" for key in summary.metrics[1:]}
    assert summary.metrics == ("mrr", "amri", "adjusted(hits@1)", "z(mrr)")
    assert summary.reasons == said
    assert all(math.isnan(summary[key]) for key in said)
    assert f"amri              nan  ({said['amri']})" in repr(summary).splitlines()
    assert repr(summary).startswith("2 ranks\nmrr               0.6667\n")
    with pytest.raises(kg.MetricError, match="mr was not computed; the computed metrics are mrr, amri, "):
        summary["mr"]


def test_no_ranks_have_no_numbers():
    """Undefined, with the reason that every metric gives for nothing ranked."""
    assert from_ranks([], "mrr").reasons == {"mrr": "no triples"}


@pytest.mark.parametrize(
    ("ranks", "options", "error", "said"),
    [
        ([1, 0], {}, kg.DataError, "ranks, row 1: expected 1, 1.5, 2, ... (the best is 1); got 0"),
        ([1.25], {}, kg.DataError, "ranks, row 0: expected 1, 1.5, 2, ... (the best is 1); got 1.25"),
        ([math.nan], {}, kg.DataError, "ranks, row 0: expected 1, 1.5, 2, ... (the best is 1); got nan"),
        ([math.inf], {}, kg.DataError, "ranks, row 0: expected 1, 1.5, 2, ... (the best is 1); got inf"),
        ([1, 2**52], {}, kg.DataError, "ranks, row 1: expected a rank below 2**52, so that half ranks are exact"),
        ([[1, 2]], {}, kg.DataError, "ranks must be a one-dimensional array of numbers; got int64 of shape (1, 2)"),
        ([True], {}, kg.DataError, "ranks must be a one-dimensional array of numbers; got bool of shape (1,)"),
        ([3, 6], {"n_candidates": 5}, kg.DataError, "ranks, row 1: rank 6 among 5 candidates; the largest possible"),
        (
            [1, 2],
            {"n_candidates": [5]},
            kg.DataError,
            "n_candidates must be one integer, or an array of 2 integers, one for each rank",
        ),
        ([1], {"n_candidates": 5.0}, kg.DataError, "n_candidates must be one integer, or an array of 1 integers"),
        ([1], {"metrics": "query.map"}, kg.MetricError, "query.map needs all answers of each query; plain ranks do"),
        ([1], {"metrics": ""}, kg.MetricError, "metrics is empty; name at least one, such as 'mrr,hits@10'"),
    ],
)
def test_refused(ranks, options, error, said):
    """What was expected, what came, and in which row."""
    with pytest.raises(error) as caught:
        from_ranks(ranks, **options)
    assert str(caught.value).startswith(said)
