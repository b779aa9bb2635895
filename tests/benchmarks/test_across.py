"""Models over several datasets: which values are ranked, which tests are made, and what the lines say of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kgeval.benchmarks.across import AcrossDatasets, across_datasets
from kgeval.errors import DataError, MetricError
from kgeval.results.keys import Key
from kgeval.stats.across_datasets import friedman, nemenyi

NAN = float("nan")
# C is best on each of eight datasets, then A and B take turns, then D.
VALUES = pd.DataFrame(
    {
        "A": [0.31, 0.44, 0.12, 0.25, 0.52, 0.33, 0.61, 0.28],
        "B": [0.30, 0.45, 0.11, 0.26, 0.51, 0.35, 0.60, 0.30],
        "C": [0.36, 0.49, 0.19, 0.29, 0.58, 0.38, 0.66, 0.31],
        "D": [0.20, 0.31, 0.09, 0.15, 0.44, 0.22, 0.43, 0.19],
    },
    index=[f"set {i}" for i in range(8)],
)


@pytest.fixture
def scipy_stats():
    """Skips where there is no scipy."""
    return pytest.importorskip("scipy.stats", reason="needs kgeval[stats]")


def stand_in(values, metric="mrr", other="mr"):
    """A benchmark with the means of two metrics; the other has them turned round."""
    rows = [
        {"model": model, "dataset": dataset, "metric": name, "mean": sign * values.loc[dataset, model]}
        for dataset in values.index
        for model in values.columns
        for name, sign in ((metric, 1.0), (other, -1.0))
        if not np.isnan(values.loc[dataset, model])
    ]
    keys = {name: Key.parse(name) for name in (metric, other)}
    return SimpleNamespace(
        table=pd.DataFrame(rows), metric=metric, keys=keys, terms=SimpleNamespace(confidence=0.9), notes=()
    )


def test_mean_ranks_of_a_benchmark():
    """By hand: C 1; A is second on 4 of 8 datasets and third on 4, as B is; D 4. Equal ones keep their order."""
    found = across_datasets(stand_in(VALUES[["B", "A", "D", "C"]]))
    assert found.table.to_dict("list") == {
        "model": ["C", "B", "A", "D"],
        "mean_rank": [1.0, 2.5, 2.5, 4.0],
        "n_best": [8, 0, 0, 0],
        "n_datasets": [8] * 4,
    }
    assert found.values.equals(VALUES[["B", "A", "D", "C"]])
    assert (found.metric, found.higher_is_better, found.alpha) == ("mrr", True, 0.1)
    pairs = found.pairs
    assert list(zip(pairs["first"], pairs["second"])) == [
        ("C", "B"), ("C", "A"), ("C", "D"), ("B", "A"), ("B", "D"), ("A", "D"),
    ]  # fmt: skip
    assert pairs["difference"].tolist() == [-1.5, -1.5, -3.0, 0.0, -1.5, -1.5]


def test_a_lower_mean_rank_metric_ranks_the_other_way():
    """MR of the stand-in is -MRR, so the largest MRR has the smallest MR: the same ranks; MRR as MR: turned."""
    benchmark = stand_in(VALUES)
    assert across_datasets(benchmark, "mr").table.equals(across_datasets(benchmark).table)
    assert across_datasets(stand_in(VALUES, "mr", "mrr")).models == ("D", "A", "B", "C")
    with pytest.raises(MetricError) as caught:
        across_datasets(benchmark, "hits@10")
    assert str(caught.value) == "metric must be one of 'mrr', 'mr'; got 'hits@10'"


def test_tests_are_those_of_stats(scipy_stats):
    found = across_datasets(stand_in(VALUES))
    array = VALUES.to_numpy()
    assert found.friedman == friedman(array)
    columns = {name: i for i, name in enumerate(VALUES.columns)}
    for row in found.pairs.to_dict("records"):
        i, j = columns[row["first"]], columns[row["second"]]
        assert row["p_nemenyi"] == nemenyi(array, 0.9).p_values[i, j]
        assert row["better"] == (row["first"] if row["p_nemenyi"] <= 0.1 else "undecided")
    assert found.nemenyi.critical_difference == nemenyi(array, 0.9).critical_difference


def test_lines(scipy_stats):
    """CD = 2.569 * sqrt(4 * 5 / 48) = 1.66, so a difference of 1.5 is too small: only C and D are told apart."""
    found = AcrossDatasets.of(VALUES, "mrr", True)
    assert found.groups == (("C", "A", "B"), ("A", "B", "D"))
    assert found.lines() == [
        "mean ranks by MRR over 8 datasets (1 is best): C 1.00, A 2.50, B 2.50, D 4.00",
        "Friedman's test: p < 0.0001 (exact, chi-square 21.60); Nemenyi's test decides C over D (critical difference "
        "1.66, significance level 0.05 for 6 pairs together)",
    ]
    assert found.answer == "best mean rank over 8 datasets: C, 1.00 (Nemenyi's test decides C over D)"
    tied = AcrossDatasets.of(pd.DataFrame([[0.3, 0.2], [0.2, 0.3]], columns=list("AB")), "mrr", True)
    assert tied.answer == "best mean rank over 2 datasets: A and B, 1.50 (no test over datasets)"
    assert AcrossDatasets.of(VALUES.iloc[:1], "mrr", True).answer == ""
    missing = VALUES.copy()
    missing.iloc[0, 0] = np.nan
    assert AcrossDatasets.of(missing, "mrr", True).answer.startswith("best mean rank over 7 of 8 datasets: C, 1.00 (")
    turned = pd.DataFrame([[0.3, 0.2, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.3], [0.3, 0.1, 0.2]], columns=list("ABC"))
    unsure = AcrossDatasets.of(turned, "mrr", True)
    assert unsure.friedman.p_value > 0.05
    assert "1.75 (Friedman's test finds no difference, p = " in unsure.answer
    text = repr(found)
    assert text.startswith(found.lines()[0])
    assert text.splitlines()[-4].split() == ["C", "1.0000", "8", "8"]


def test_a_dataset_without_a_model_is_left_out_and_said(scipy_stats):
    values = VALUES.copy()
    values.loc["set 1", ["A", "D"]] = NAN
    values.loc["set 2", :] = NAN
    found = across_datasets(stand_in(values.drop(index="set 2")))
    assert found.n_datasets == 6
    assert found.notes[0] == "1 dataset left out: set 1 (no value of A and D)"
    assert found.friedman == friedman(values.to_numpy()[[0, 3, 4, 5, 6, 7]]).__class__(
        **{**vars(friedman(values.to_numpy()[[0, 3, 4, 5, 6, 7]])), "n_left_out": 1}
    )
    direct = AcrossDatasets.of(values, "mrr", True)
    assert direct.notes[0] == "2 datasets left out: set 1 (no value of A and D) and set 2 (no value of any model)"
    assert direct.table.equals(found.table)


def test_why_there_is_no_test(scipy_stats):
    prefix = "no test over datasets: "
    for values, reason in (
        (VALUES[["A", "C"]], prefix + "it needs at least 3 models; got 2"),
        (VALUES[["A"]], prefix + "it needs at least 3 models; got 1"),
        (VALUES.iloc[:1], prefix + "it needs at least 2 datasets with values of all models; got 1"),
        (VALUES * 0.0, prefix + "all models are equal in every dataset"),
    ):
        found = AcrossDatasets.of(values, "mrr", True)
        assert (found.friedman, found.nemenyi, found.groups) == (None, None, ())
        assert found.notes[-1] == reason
        assert found.lines()[-1] == f"note: {reason}"
        assert found.pairs["p_nemenyi"].isna().all()
        assert set(found.pairs["better"]) <= {"undecided"}
        assert len(found.table) == values.shape[1]
    nothing = AcrossDatasets.of(VALUES * NAN, "mrr", True)
    assert nothing.lines()[0] == "mean ranks by MRR: no dataset has values of all models"
    assert nothing.table["n_best"].tolist() == [0, 0, 0, 0]


def test_few_datasets_are_said(scipy_stats):
    """Two datasets of four models: 1/4! at best. With three models 1/6: no outcome is significant, so no test."""
    notes = AcrossDatasets.of(VALUES.iloc[:2], "mrr", True).notes
    approximate = "the p-values of pairs are approximations"
    assert notes == (f"with 2 datasets only very large differences are found, and {approximate}",)
    found = AcrossDatasets.of(VALUES.iloc[:2, 1:], "mrr", True)
    assert (found.friedman, found.nemenyi) == (None, None)
    assert found.notes == (
        "no test over datasets: with 2 datasets no outcome could be significant: Friedman's p is 0.1667 or more",
    )
    assert not [note for note in AcrossDatasets.of(VALUES.iloc[:5], "mrr", True).notes if "datasets the tests" in note]


def test_wrong_tables():
    with pytest.raises(MetricError, match="values has the model 'A' twice"):
        AcrossDatasets.of(VALUES.set_axis(["A", "B", "C", "A"], axis=1), "mrr", True)
    with pytest.raises(MetricError, match="values has the dataset '1' twice"):
        AcrossDatasets.of(VALUES.iloc[:2].set_axis([1, "1"]), "mrr", True)
    with pytest.raises(MetricError, match="confidence"):
        AcrossDatasets.of(VALUES, "mrr", True, confidence=1.5)
    with pytest.raises(DataError, match="expected a finite number"):
        AcrossDatasets.of(VALUES.replace(0.31, np.inf), "mrr", True)
    with pytest.raises(MetricError):
        AcrossDatasets.of(VALUES, "no such metric", True)


def test_names_with_control_characters_are_escaped():
    found = AcrossDatasets.of(VALUES.rename(columns={"A": "A\x1b[1m"}), "mrr", True)
    assert "A\\x1b[1m 2.50" in found.lines()[0]
