"""Paired differences of classifications: tests by brute force, DeLong's covariance by loops, refusals, verdicts."""

import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest
from classified_cases import classified, random_examples, with_probabilities

import kgeval as kg
from kgeval.classification.classification_comparison import compare_classifications
from kgeval.cli import main
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import MetricError, ProtocolError
from kgeval.stats.corrections import holm
from kgeval.stats.tails import student_p_value, student_quantile


def two(seed=0, gain=0.0, **sizes):
    """Two models of the same examples; the scores of the first are better by `gain`."""
    rng = np.random.default_rng(seed)
    labels, scores, relations, clusters = random_examples(rng, **{"m": 12, **sizes})
    others = np.round(scores + rng.normal(size=len(scores)), 1)
    better = scores + gain * (2 * labels - 1)
    return [classified(labels, part, relations, clusters) for part in (better, others)]


def swapped_values(first, second, formula):
    """The difference of a metric for every pattern of swaps of clusters with other decisions (loops)."""
    rows = [list(zip(table["label"], table["predicted"], table["positive"])) for table in (first.table, second.table)]
    clusters = sorted({a[2] for a, b in zip(*rows) if a[1] != b[1]})
    values = []
    for pattern in itertools.product([False, True], repeat=len(clusters)):
        is_swapped = dict(zip(clusters, pattern))
        pairs = [(b, a) if is_swapped.get(a[2]) else (a, b) for a, b in zip(*rows)]
        values.append(formula([a for a, _ in pairs]) - formula([b for _, b in pairs]))
    return values


def f1(rows):
    tp = sum(y and d for y, d, _ in rows)
    return 2 * tp / sum(int(y) + int(d) for y, d, _ in rows)


def accuracy(rows):
    return sum(y == d for y, d, _ in rows) / len(rows)


@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_those_of_all_swaps(seed):
    """The share of patterns whose difference is at least as far from 0; all clusters that differ are at most 13."""
    first, second = two(seed, m=10)
    table = compare_classifications([first, second], metrics="accuracy,f1").differences.set_index("metric")
    for name, formula in (("accuracy", accuracy), ("f1", f1)):
        values = swapped_values(first, second, formula)
        observed = values[0]
        assert table.loc[name, "difference"] == pytest.approx(observed, abs=1e-12)
        extreme = sum(abs(value) >= abs(observed) - 1e-12 for value in values)
        assert table.loc[name, "p"] == pytest.approx(extreme / len(values), rel=1e-12)
        assert table.loc[name, "test"] == "swaps"


def test_accuracy_by_example_is_mcnemars_exact_test():
    """Each example on its own: the two-sided binomial test of the discordant examples, 8 against 2 (112 / 1024)."""
    labels = np.array([True, False] * 20)
    right = np.where(labels, 1.0, -1.0)
    first, second = right.copy(), right.copy()
    second[:8] *= -1
    first[8:10] *= -1
    results = [classified(labels, scores) for scores in (first, second)]
    table = compare_classifications(results, metrics="accuracy").differences
    assert table["p"].item() == pytest.approx(2 * sum(math.comb(10, k) for k in range(3)) / 2**10, rel=1e-12)
    mcnemar = pytest.importorskip("statsmodels.stats.contingency_tables").mcnemar
    assert table["p"].item() == pytest.approx(mcnemar([[30, 8], [2, 0]], exact=True).pvalue, rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_the_difference_of_aucs_has_delongs_covariance(seed):
    """Loops over pairs; the structural components of both models are subtracted before they are squared."""
    first, second = two(seed, m=15, per_positive=2)
    parts = []
    for result in (first, second):
        table = result.table
        positives, negatives = (table["score"][table["label"] == kind].tolist() for kind in (True, False))
        wins = [[(x > y) + 0.5 * (x == y) for y in negatives] for x in positives]
        parts.append(([sum(row) / len(row) for row in wins], [sum(column) / len(column) for column in zip(*wins)]))
    components = [np.subtract(*both) for both in zip(*parts)]  # of the positives, of the negatives
    difference = components[0].mean()
    variance = sum(part.var(ddof=1) / (len(part) - 1) for part in components) * 44 / 45
    found = compare_classifications([first, second], metrics="auc", cluster="example").differences.iloc[0]
    assert found["difference"] == pytest.approx(abs(difference), rel=1e-9)
    freedom = int(found["n_effective"] - 1)
    assert found["high"] - found["difference"] == pytest.approx(
        student_quantile(0.975, freedom) * math.sqrt(variance), rel=1e-9
    )
    assert found["p"] == pytest.approx(student_p_value(difference / math.sqrt(variance), freedom), rel=1e-9)
    assert found["test"] == "t"


def test_macro_differences_are_over_fixed_relations():
    """Two relations: half the difference of each; variance by leaving out clusters within each relation (loops)."""
    first, second = two(3, m=24, n_relations=2)
    found = compare_classifications([first, second], metrics="macro.recall").differences.iloc[0]
    squares, differences = 0.0, []
    for relation in (0, 1):
        rows = [
            (a.positive, a.predicted, b.predicted)
            for a, b in zip(first.table.itertuples(), second.table.itertuples())
            if a.label and a.p == relation
        ]
        gaps = [int(x) - int(y) for _, x, y in rows]
        differences.append(sum(gaps) / len(gaps))
        squares += sum((gap - differences[-1]) ** 2 for gap in gaps) / (len(gaps) - 1) / len(gaps) / 4
    assert found["difference"] == pytest.approx(sum(differences) / 2, abs=1e-12)
    freedom = found["n_effective"] - 1.0
    error = (found["high"] - found["difference"]) / student_quantile(0.975, max(1, int(freedom + 1e-9)))
    assert error == pytest.approx(math.sqrt(squares), rel=1e-6)
    assert found["p"] == pytest.approx(student_p_value(found["difference"] / error, freedom), rel=1e-6)


def renumbered(result, seed=0):
    """The same result with other ids and rows in another order."""
    rng = np.random.default_rng(seed)
    n = len(result.entities)
    new = rng.permutation(n)
    labels = np.empty(n, dtype=object)
    labels[new] = list(result.entities.labels)
    table = result.table.assign(s=new[result.table["s"]], o=new[result.table["o"]])
    table = table.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    return result.__replace__(table=table, entities=Vocabulary(tuple(labels)), columns=None)


def test_ids_and_rows_do_not_matter():
    first, second = two(4, m=30, per_positive=2)
    metrics = "accuracy,mcc,auc,ap,macro.f1,gauc"
    plain = compare_classifications([first, second], metrics=metrics, n_resamples=999)
    moved = [renumbered(first, 1), renumbered(second, 2)]
    other = compare_classifications(moved, metrics=metrics, n_resamples=999)
    pd.testing.assert_frame_equal(plain.differences, other.differences, rtol=1e-9)
    names = list(plain.names)[::-1]
    turned = compare_classifications([second, first], names=names, metrics=metrics, n_resamples=999).differences
    pd.testing.assert_frame_equal(turned, plain.differences, rtol=1e-9)  # the leader stands first all the same


def test_only_the_second_knows_the_positives():
    """The clusters come from the result that has them; labels that the user gives belong to the first result."""
    first, second = two(4, m=30)
    bare = first.__replace__(table=first.table.drop(columns="positive"))
    known = compare_classifications([bare, renumbered(second)], metrics="accuracy")
    assert known.clusters.by == "positive"
    assert known.differences["n_clusters"].item() == 30
    by_hand = compare_classifications([bare, renumbered(second)], metrics="accuracy", cluster=first.table["positive"])
    assert by_hand.differences["p"].tolist() == known.differences["p"].tolist()


def test_the_table_and_its_correction():
    """Holm's correction counts the tests that can decide; lower is better for a loss; PCOPC has no direction."""
    rng = np.random.default_rng(5)
    first, second = two(5, gain=2.0, m=60)
    sure = [
        with_probabilities(part, 1 / (1 + np.exp(-part.table.sort_values("s")["score"]))) for part in (first, second)
    ]
    flat = with_probabilities(second, 0.9 + 0.05 * rng.random(120))
    compared = compare_classifications(
        {"A": sure[0], "B": sure[1], "C": flat}, metrics="accuracy,brier,pcopc,ece", n_resamples=999
    )
    table = compared.differences
    assert table.columns.tolist() == [
        "dataset", "metric", "first", "second", "n_first", "n_second", "difference", "error", "freedom", "low", "high",
        "level", "low_95", "high_95", "p", "p_corrected", "decision", "better", "detectable", "reason", "value_first",
        "value_second", "n", "n_clusters", "n_differing", "n_effective", "test",
    ]  # fmt: skip
    assert len(table) == 12
    decides = (table["metric"] != "pcopc").to_numpy()
    assert decides.sum() == 9
    assert table["p_corrected"][decides].tolist() == pytest.approx(holm(table["p"][decides]).tolist(), rel=1e-12)
    assert table["p_corrected"][~decides].isna().all()
    assert table["p"].notna().all()
    alone = compare_classifications(
        {"A": sure[0], "B": sure[1], "C": flat}, metrics="accuracy,brier,ece", n_resamples=999
    ).differences
    columns = ["p", "p_corrected", "low", "high", "detectable", "better"]
    pd.testing.assert_frame_equal(table.loc[decides, columns].reset_index(drop=True), alone[columns])
    assert "p (Holm) is corrected for all but PCOPC, which cannot show which model is better" in repr(compared)
    row = table.set_index(["first", "second", "metric"]).loc
    assert row["A", "B", "brier"]["difference"] < 0
    assert row["A", "B", "brier"]["better"] == row["A", "B", "accuracy"]["better"] == "A"
    assert row["A", "C", "pcopc"]["p"] <= 0.001
    assert row["A", "C", "pcopc"]["decision"] == "undecided"
    assert math.isnan(row["A", "C", "pcopc"]["low"])
    assert row["A", "C", "pcopc"]["low_95"] < row["A", "C", "pcopc"]["high_95"]
    assert row["A", "C", "pcopc"]["reason"] == (
        "values above and below 1 are both worse, so a difference does not show which model is better; p is not "
        "corrected, and the test does not count in p_corrected"
    )
    calibration = row["A", "C", "ece"]
    assert calibration["p_corrected"] <= 0.05
    assert math.isnan(calibration["low"])
    assert row["B", "C", "accuracy"]["p"] == 1.0  # the same decisions
    assert set(compared.significant()["metric"]) == {"accuracy", "brier", "ece"}
    assert compared.values.index.tolist() == ["A", "B", "C"]
    assert compared.values.loc["A", "accuracy low"] == sure[0].interval("accuracy").low


def test_the_level_is_not_a_little_below_its_decimal():
    """9 random swaps: p is a multiple of 1 / 10 or less; 1 - 0.9 is taken for 0.1, not for 0.09999999999999998."""
    first, second = two(5, gain=2.0, m=60)
    compared = compare_classifications({"A": first, "B": second}, metrics="f1", confidence=0.9, n_resamples=9)
    assert compared.differences["p_corrected"].item() <= 0.1
    assert compared.alpha == compared.differences["level"].item() == 0.1
    assert compared.differences["better"].item() == "A"
    assert len(compared.significant()) == 1
    assert compared.verdict.startswith("A beats B")


def test_verdicts():
    """Two and three models, with and without a winner; the sentence takes the numbers of the table."""
    first, second = two(5, gain=0.5, m=60)
    row = compare_classifications({"A": first, "B": second}, metrics="f1", n_resamples=999)
    found = row.differences.iloc[0]
    assert row.verdict == (
        f"A beats B: F1 {found['value_first']:.4f} against {found['value_second']:.4f}, {found['difference']:+.4f} "
        f"[{found['low']:+.4f}, {found['high']:+.4f}], p = {found['p_corrected']:.4f}; this is about these "
        "trained models; other seeds may give another order"
    )
    turned = compare_classifications({"B": second, "A": first}, metrics="f1", n_resamples=999)
    assert turned.verdict == row.verdict
    alike = compare_classifications({"A": first, "B": first}, n_resamples=999)
    value = f"{alike.values['accuracy'].iloc[0]:.4f}"
    assert alike.verdict.startswith(f"Undecided: accuracy {value} (A) against {value} (B), difference 0.0000 ")
    three = {"A": first, "B": second, "C": second}
    assert compare_classifications(three, metrics="f1", n_resamples=999).verdict.startswith(
        "A beats the other 2 models: F1 0."
    )
    tied = compare_classifications({"A": first, "B": second, "C": first}, metrics="f1", n_resamples=999).verdict
    assert re.match(
        r"Undecided: F1 0\.\d{4} \(A\) is not significantly better than 0\.\d{4} \(C\), difference .*; A beats B: ",
        tied,
    )
    assert "Undecided" in repr(compare_classifications({"A": first, "B": first}, n_resamples=999))
    assert "A beats B" in row._repr_html_()


def test_what_differs_is_listed():
    """Other negatives, other places of thresholds, other examples: each on a line of its own."""
    labels, scores, _, clusters = random_examples(np.random.default_rng(0), 12)
    first = classified(labels, scores, positive=clusters)
    halfway = classified(labels, scores, threshold_at="midpoint")
    with pytest.raises(
        ProtocolError,
        match=re.escape("A, B cannot be compared; they differ in\n  threshold_at: score in A, midpoint in B\n"),
    ):
        compare_classifications({"A": first, "B": halfway}, metrics="accuracy")
    assert compare_classifications({"A": first, "B": halfway}, metrics="auc").differences["p"].item() == 1.0
    shorter = first.__replace__(table=first.table.iloc[:-2].reset_index(drop=True), columns=None)
    with pytest.raises(ProtocolError, match=r"examples: 2 triples only in A, 0 only in B \(an example is a triple"):
        compare_classifications({"A": first, "B": shorter})
    flipped = classified(~labels, scores)
    with pytest.raises(ProtocolError) as error:
        compare_classifications({"A": first, "B": flipped})
    assert [line.split(":")[0] for line in str(error.value).splitlines()[1:4]] == [
        "  dataset",
        "  negatives",
        "  examples",
    ]
    calibrated = first.__replace__(facts={**first.facts, "calibrate": "platt"})
    with pytest.raises(ProtocolError, match="calibrate: None in A, platt in B"):
        compare_classifications({"A": first, "B": calibrated}, metrics="brier")


def test_wrong_arguments():
    first, second = two()
    for results, message in (
        ([first], "needs a list of at least two results"),
        ([first, 3], "result 1 must be a ClassificationResult, from kgeval.classify or kgeval.load_result; got int"),
    ):
        with pytest.raises(ProtocolError, match=re.escape(message)):
            compare_classifications(results)
    with pytest.raises(ProtocolError, match="names must be 2 different words"):
        compare_classifications([first, second], names=["A", "A"])
    with pytest.raises(MetricError, match="unknown pointwise metric 'hits@1'"):
        compare_classifications([first, second], metrics="hits@1")
    with pytest.raises(MetricError, match="metrics is empty"):
        compare_classifications([first, second], metrics="")
    with pytest.raises(ProtocolError, match=r"kgeval\.compare_classifications compares classifications"):
        kg.compare([first, second])
    assert kg.compare_classifications is compare_classifications


def test_one_model_without_a_value():
    """A metric that one model lacks is NaN with the reason, and is not counted by Holm's correction."""
    labels, scores, relations, clusters = random_examples(np.random.default_rng(1), 20, n_relations=2)
    first = classified(labels, scores, relations, clusters)
    silent = classified(labels, np.full(40, -1.0), relations, clusters)
    table = compare_classifications({"A": first, "B": silent}, metrics="accuracy,precision,macro.precision").differences
    assert math.isnan(table["p"][1])
    assert table["reason"][1] == "no example is predicted positive: 0 / 0"
    assert math.isnan(table["p_corrected"][2])
    assert table["reason"][2].startswith("no relation has a value")
    assert table["p_corrected"][0] == table["p"][0]
    assert table["decision"].tolist()[1:] == ["undecided"] * 2


def test_the_command_line(tmp_path, capsys):
    """`kgeval compare` on classifications: verdict, values, differences; options of ranks are refused."""
    first, second = two(5, gain=2.0, m=60)
    for name, result in (("A", first), ("B", second)):
        result.save(tmp_path / f"{name}.kgeval")
    files = [str(tmp_path / f"{name}.kgeval") for name in "AB"]
    assert main(["compare", *files, "--metrics", "f1,auc", "--n-resamples", "99"]) == 0
    out = capsys.readouterr().out
    compared = compare_classifications({"A": first, "B": second}, metrics="f1,auc", n_resamples=99)
    assert out.splitlines()[0] == compared.verdict
    f1_row = next(line.split() for line in out.splitlines() if line.startswith("F1 "))
    ends = [f"{compared.differences[name][0]:+.4f}" for name in ("difference", "low", "high")]
    assert f1_row[1:4] == [ends[0], f"[{ends[1]},", f"{ends[2]}]"]
    assert main(["compare", *files, "--by-relation", "mrr"]) == 2
    assert "--by-relation: compares ranks, but" in capsys.readouterr().err
    assert main(["compare", *files, "--metrics", "f1", "--n-resamples", "99", "--to", "csv", "--quiet"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("first,second,metric,dataset,n_first")
    assert rows[1].startswith("A,B,f1,")


@pytest.mark.thorough
def test_p_values_are_uniform_for_equal_models():
    """300 draws of two equal models, 100 + 100 examples: about 5%, 20% and 50% of the p-values are at most that.

    Decisions differ in few clusters, and below 20 of them the test is conservative: their shares may be lower.
    """
    import runpy
    from pathlib import Path

    script = Path(__file__).resolve().parents[1] / "bench" / "bench_classification_coverage.py"
    for name, shares in runpy.run_path(str(script))["rejected"]((200, 1, 1.5, 0.5), 300).items():
        for level, share in zip((0.05, 0.2, 0.5), shares):
            reach = 4 * math.sqrt(level * (1 - level) / 300)
            assert share <= level + reach, (name, level)
            assert share >= level - reach or name not in ("log_loss", "brier", "auc", "ap"), (name, level)
