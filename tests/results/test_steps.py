"""A metric of one ranked query of a result, explained: the same value as the result's own tables."""

import itertools

import numpy as np
import pytest
from grids import light, size

import kgeval as kg
from kgeval import DataError, MetricError

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


@pytest.fixture(scope="module")
def result():
    """9 entities, 2 relations, 16 or 40 test triples, scores with many ties."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 4, (9, 2, 9)).astype(float)
    ids = rng.permutation(np.array([(s, p, o) for s in range(9) for p in range(2) for o in range(9)]))
    dataset = kg.Dataset.from_arrays(train=ids[:30], test=ids[30 : 30 + size(16, 40)], n_entities=9, n_relations=2)
    return kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)


@pytest.mark.light(3)
@pytest.mark.parametrize("setting", ["filtered", "raw"])
@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_query_metrics_of_every_row(result, setting, ties):
    """The value of the steps is the value of the query in `per_query`, and of its sums."""
    texts = ["map", "ndcg@3", "rr", "err", "f1@2"]
    frame = result.per_query(texts, setting=setting, ties=ties)
    for row in result.ranks(labels=True).iloc[:: size(16, 5)].itertuples():
        given = row.o if row.side == "subject" else row.s
        for text in texts:
            found = result.steps(row.s, row.p, row.o, row.side, f"{setting}.{ties}.query.{text}")
            assert found.value == pytest.approx(frame.loc[(row.side, row.p, given), text], rel=1e-14)
            n_answers = int(frame.loc[(row.side, row.p, given), "n"])
            if text == "map":
                assert found.table["sum"].iloc[-1] / n_answers == pytest.approx(found.value, abs=1e-12)


def test_answers_stand_where_their_scores_put_them(result):
    """Without ties at an answer, the item at each place is that of the explained scores."""
    n_checked = 0
    for row in result.ranks(labels=True).itertuples():
        shown = result.explain(row.s, row.p, row.o, row.side)
        if (shown["stands"] == "tied").any():
            continue
        found = result.steps(row.s, row.p, row.o, row.side, "raw.pessimistic.query.map")
        assert found.table["item"].iloc[len(shown) - 1] == (row.s if row.side == "subject" else row.o)
        n_checked += 1
    assert n_checked > size(3, 5)


FIRST = [("realistic", "mrr"), ("expected", "hits@3"), ("optimistic", "mr"), ("pessimistic", "mrr")]
PAIRS = itertools.product(["realistic", "expected", "optimistic", "pessimistic"], ["mr", "mrr", "hits@3"])


@pytest.mark.parametrize(("ties", "name"), light(sorted(PAIRS, key=lambda pair: pair not in FIRST), 4, unpack=True))
def test_rank_metrics_of_every_row(result, name, ties):
    """By loops over the counts; their mean over all rows is the metric of the result."""
    value = {"mr": lambda r: r, "mrr": lambda r: 1 / r, "hits@3": lambda r: float(r <= 3)}[name]
    values = []
    for row in result.ranks(labels=True).itertuples():
        found = result.steps(row.s, row.p, row.o, row.side, f"{ties}.{name}")
        b, t = row.better_filtered, row.tied_filtered
        places = {
            "realistic": [b + 1 + t / 2],
            "optimistic": [b + 1],
            "pessimistic": [b + t + 1],
            "expected": range(b + 1, b + t + 2),
        }[ties]
        assert found.table["place"].tolist() == list(places)
        assert found.value == pytest.approx(sum(map(value, places)) / len(places), rel=1e-12)
        assert found.table["sum"].iloc[-1] == pytest.approx(found.value, rel=1e-12)
        values.append(found.value)
    assert sum(values) / len(values) == pytest.approx(result[f"{ties}.{name}"], rel=1e-12)


def test_the_formula_of_a_rank(result):
    row = next(
        row for row in result.ranks(labels=True).itertuples() if row.tied_filtered == 2 and row.better_filtered > 1
    )
    b = row.better_filtered
    formulas = {
        "mrr": f"rank {b} + 1 + 2 / 2 = {b + 2}; mrr = sum = {1 / (b + 2):.4f}",
        "optimistic.mr": f"rank {b} + 1 = {b + 1}; mr = sum = {b + 1:.4f}",
        "pessimistic.mr": f"rank {b} + 2 + 1 = {b + 3}; mr = sum = {b + 3:.4f}",
        "expected.mr": f"rank {b} + 1 to {b} + 2 + 1, all with the same chance; mr = sum = {b + 2:.4f}",
    }
    for key, formula in formulas.items():
        found = result.steps(row.s, row.p, row.o, row.side, key)
        assert found.formula == f"{b} rivals score higher, 2 the same: {formula}"


def test_what_cannot_be_explained(result):
    row = next(result.ranks(labels=True).itertuples())
    with pytest.raises(
        MetricError, match=r"gmr of one rank cannot be explained; choose mr, mrr, hits or a query\. metric"
    ):
        result.steps(row.s, row.p, row.o, row.side, "gmr")
    other = "object" if row.side == "subject" else "subject"
    with pytest.raises(MetricError, match=f"is of the {other} side, but the query is of the {row.side} side"):
        result.steps(row.s, row.p, row.o, row.side, f"{other}.query.map")
    train = result._source.dataset["train"].array[0].tolist()
    with pytest.raises(DataError, match="is the triple in test"):
        result.steps(*train, row.side, "mrr")


def test_bounded_ranks_have_no_steps_but_at_their_bounds(result):
    row = result.table.iloc[0]
    changed = result.table.assign(bounded_raw=False, bounded_filtered=np.arange(len(result.table)) == 0)
    bounded = result.__replace__(table=changed)
    triple = int(row["s"]), int(row["p"]), int(row["o"]), row["side"]
    for key in ("mrr", "query.map"):
        with pytest.raises(MetricError, match="a rank of the query is bounded; use optimistic or pessimistic ties"):
            bounded.steps(*triple, key)
    assert bounded.steps(*triple, "optimistic.mr").value == row["better_filtered"] + 1
    assert bounded.steps(*triple, "pessimistic.mr").value == row["better_filtered"] + row["tied_filtered"] + 1
