"""Further columns of a dataset in its results: the rows that belong to them, names that are taken, files."""

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.results.evaluation_result import header_lines

STATIC = kg.Protocol(filter_by=())
TRIPLES = [(f"e{i % 5}", f"r{i % 2}", f"e{(3 * i + 1) % 7}") for i in range(14)]


def score(s, p, o):
    """Scores without ties."""
    return np.sin(1.0 + 7.0 * s + 3.0 * p + 5.0 * o)


def dataset_of(**columns):
    """Train, valid and test; the columns belong to valid and test."""
    frame = pd.DataFrame(TRIPLES, columns=["s", "p", "o"])
    marked = frame.assign(**columns)
    return kg.Dataset.from_frames(train=frame[:6], valid=marked[6:10], test=marked[10:])


def test_every_rank_has_the_value_of_its_triple():
    """Both sides, several splits, dropped triples: compared with a look-up by triple."""
    times = [2000 + i * i % 11 for i in range(14)]
    dataset = dataset_of(time=times, note=[f"n{i}" if i % 3 else None for i in range(14)])
    of_triple = dict(zip(TRIPLES, times))
    for splits in (["test"], ["valid", "test"], ["test", "valid"]):
        for unseen in ("drop", "rank", "worst")[: size(1, 3)]:
            protocol = kg.Protocol(splits=splits, unseen=unseen, filter_by=())
            result = kg.evaluate(score, dataset, protocol, progress=False)
            table = result.ranks(labels=True)
            wanted = [of_triple[row] for row in zip(table["s"], table["p"], table["o"])]
            assert result.columns["time"].tolist() == wanted
            assert (result.columns["time"].dtype, len(wanted)) == (np.int64, len(result.table))
            for time, row in result.by("time", metrics="mrr", confidence=None).iterrows():
                is_in = [str(value) == time for value in wanted]
                assert row["mrr"] == pytest.approx((1 / table["rank_filtered"][is_in]).mean())
                assert row["n"] == sum(is_in)
            notes = result.by("note", metrics="mrr", confidence=None)
            assert notes["n"].sum() == len(result.table)
            assert "missing" in notes.index


def test_a_split_without_the_column_has_missing_values():
    """Whole numbers stay whole numbers."""
    dataset = dataset_of(time=list(range(14)))
    result = kg.evaluate(score, dataset, kg.Protocol(splits=["train", "test"], filter_by=()), progress=False)
    is_train = (result.table["split"] == "train").to_numpy()
    assert result.columns["time"][is_train].isna().all()
    assert sorted(result.columns["time"][~is_train]) == [10, 10, 11, 11, 12, 12, 13, 13]
    assert result.by("time", metrics="mr", confidence=None).index.tolist() == ["10", "11", "12", "13", "missing"]


def test_a_sample_of_the_triples_keeps_its_values():
    """The ranks of chosen triples have the values of these triples."""
    dataset = dataset_of(time=list(range(14)))
    result = kg.evaluate(score, dataset, kg.Protocol(sample=[3, 1], filter_by=()), progress=False)
    assert sorted(set(result.columns["time"])) == [11, 13]
    wanted = [TRIPLES.index(row) for row in zip(*(result.ranks(labels=True)[name] for name in "spo"))]
    assert result.columns["time"].tolist() == wanted


def test_given_scores_have_the_columns_too():
    """evaluate_scores of a table of scores."""
    dataset = dataset_of(time=list(range(14)))
    e, r = dataset.entities.labels, dataset.relations.labels
    rows = [
        (s, p, o, float(score(e.index(s), r.index(p), e.index(o))))
        for s, p, o in {(s, p, o) for s, p, _ in TRIPLES for o in e} | {(s, p, o) for s in e for _, p, o in TRIPLES}
    ]
    scores = pd.DataFrame(rows, columns=["s", "p", "o", "score"])
    given = kg.evaluate_scores(scores, dataset, STATIC)
    scored = kg.evaluate(score, dataset, STATIC, progress=False)
    pd.testing.assert_frame_equal(given.columns, scored.columns)
    assert given["mrr"] == scored["mrr"]


@pytest.mark.parametrize("name", ["score", "side", "relation", "cardinality", "rank_raw", "better_raw", "given", "n"])
@pytest.mark.light(2)
def test_names_that_are_taken(name):
    """The column gets a name of its own, and a note tells it; the table of ranks keeps its meaning."""
    dataset = dataset_of(**{name: list(range(14))})
    result = kg.evaluate(score, dataset, progress=False)
    assert list(result.columns) == [f"dataset.{name}"]
    assert result.by(f"dataset.{name}", metrics="mr", confidence=None)["n"].tolist() == [2, 2, 2, 2]
    assert f"the column {name!r} of the dataset is called 'dataset.{name}' in the result" in result.notes


def test_saved_results_keep_the_columns(tmp_path):
    """By file, and equal to the result; numbers and words."""
    dataset = dataset_of(time=list(range(14)), weight=np.linspace(0, 1, 14), kind=list("abababababcccc"))
    result = kg.evaluate(score, dataset, STATIC, progress=False)
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    for name in ("time", "weight", "kind"):
        pd.testing.assert_frame_equal(
            loaded.by(name, metrics="mrr", confidence=None), result.by(name, metrics="mrr", confidence=None)
        )
    assert loaded["mrr"] == result["mrr"]
    weighted = result.weighted("mrr", result.columns["weight"])
    ranks = result.rank_table.ranks("filtered")
    assert weighted.value == pytest.approx(np.average(1 / ranks, weights=result.columns["weight"]))
    with pytest.raises(kg.DataError, match=r"^the column name 'time' is already in use; rename the column$"):
        result.with_columns({"time": np.zeros(len(result.table))})


def test_ranks_do_not_depend_on_the_columns():
    """The filter does not use them: the same triple at another time stays known."""
    frame = pd.DataFrame([("a", "r", "b", 1), ("a", "r", "c", 2)], columns=["s", "p", "o", "weight"])
    dataset = kg.Dataset.from_frames(train=frame[:1], test=frame[1:])
    plain = kg.Dataset.from_frames(train=frame[:1][["s", "p", "o"]], test=frame[1:][["s", "p", "o"]])
    assert dataset.fingerprint == plain.fingerprint
    results = [kg.evaluate(score, part, STATIC, progress=False) for part in (dataset, plain)]
    assert results[0].table.equals(results[1].table)
    note = "dataset: the column weight is kept for breakdowns; the filter compares it only if filter_by names it"
    assert note in header_lines(results[0])
