"""Corners of the table of coverage that ``tests/bench/bench_coverage.py`` prints, with 1,000 or 2,000 runs each.

Each design is one in which an earlier formula failed; the comment beside it says how often. Bands are the target of the
table, widened by 2.5 standard errors sqrt(0.95 x 0.05 / runs), so that a formula that meets the target passes with
nearly any seed, and none of the earlier ones does.
"""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.thorough
BENCH = Path(__file__).resolve().parents[1] / "bench" / "bench_coverage.py"


@pytest.fixture(scope="module")
def bench():
    """The module of the script, whose designs are tried here."""
    spec = importlib.util.spec_from_file_location("bench_coverage", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# design, arguments, target, runs
CORNERS = {
    # deviations from the mean of each relation without the factor G_r / (G_r - 1): 0.84
    "macro of 2 triples a relation": ("macro", ("mrr", 2), (0.93, 0.97), 1000),
    # queries as clusters: 0.85
    "query.map, sides correlate by 0.9": (
        "both_sides_of_queries", ("query.map", 0.9, "1-1", 200, "triple"), (0.93, 0.97), 2000,
    ),
    # no Wilson at query level: 0.34, counting the runs whose limits are the value itself
    "query.success@10 at p = 0.02, n = 20": ("shares", (0.02, 20, 1), (0.92, 0.985), 2000),
    # sums within clusters, degrees of freedom from their number: 0.88
    "10 clusters of Zipf sizes, correlation 0.9": ("zipf_clusters", ("mrr", 10, 0.9), (0.91, 0.98), 2000),
    # the value plus and minus t standard errors: 0.81, 16% of the runs without width
    "MRR with rank 1 in 99%": ("near_one", (0.99, 100), (0.93, 0.97), 2000),
    # triples as clusters: 0.58
    "other entities, N-N": ("redrawn_entities", ("mrr", "N-N", "entity"), (0.91, 0.98), 2000),
    # without the correction for finite populations: 0.99
    "half of the split drawn": ("sampled", ("mrr", "micro"), (0.93, 0.97), 2000),
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
def test_coverage_in_a_corner(name, bench):
    """The share of the runs whose 95% interval holds the true value."""
    design, arguments, (low, high), runs = CORNERS[name]
    share, lacking = bench.covered(("", "", "robust", "", getattr(bench, design), arguments), runs)
    margin = 2.5 * math.sqrt(0.95 * 0.05 / runs)
    assert lacking == 0.0
    assert low - margin <= share <= high + margin


def test_macro_of_one_triple_a_relation_is_refused(bench):
    """The interval had 0.00 coverage; now it has a reason in every run."""
    found, _ = bench.macro(np.random.default_rng(0), "robust", "mrr", 1)
    assert found.reason == (
        "40 of 40 groups have one cluster only (such as one triple), so that their variance is unknown; leave them "
        "out, or merge groups"
    )
    assert math.isnan(found.low)


def test_equal_systems_are_rarely_called_different_by_queries(bench):
    """The test of query.map under the null hypothesis, sides correlated by 0.9: at most 6%, at least 4%.

    2.5 standard errors of 2,000 runs are 1.2 points. With queries as clusters, the test rejects in 14%.
    """
    share, _, _ = bench.rejected(("", "query.map", "triple", bench.null_queries, ("query.map", 0.9, "1-1", 200)), 2000)
    assert 0.04 - 0.012 <= share <= 0.06 + 0.012


def test_the_guide_has_the_table_of_the_script(bench):
    """Every design, cluster and method of the script is a row of the guide's page, under a column of its metric."""
    guide = (BENCH.parents[2] / "kgeval" / "guide" / "simulations.md").read_text(encoding="utf-8")
    rows = {tuple(cell.strip() for cell in line.split("|")[1:4]) for line in guide.splitlines() if line.startswith("|")}
    heads = [line for line in guide.splitlines() if line.startswith("| design")]
    for design, metric, method, cluster, *_ in bench.cells():
        assert (design, cluster, method) in rows
        assert any(f"| {metric} " in head for head in heads)
    for design, metric, cluster, *_ in bench.null_cells():
        assert (design, metric, cluster) in rows
    assert len(list(bench.cells())) > 120
