"""Intervals of classification metrics: their variances by loops, limits, clusters, and reasons for no interval."""

import math
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from classified_cases import classified, random_examples, with_probabilities
from grids import size
from oracle_pointwise import average_precision

import kgeval as kg
from kgeval.classification.example_clusters import metric_interval
from kgeval.errors import MetricError
from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.pointwise.sampling import placements, precision_effects
from kgeval.stats.clusters import Clusters
from kgeval.stats.tails import student_quantile

DECISIONS = ("accuracy", "precision", "recall", "specificity", "balanced_accuracy", "f1", "fbeta(beta=2)", "mcc")
SCORES = ("auc", "ap")
PROBABILITIES = ("log_loss", "brier", "rmse", "mae", "pcopc", "ece", "field_ece")


def probable(seed=0, **sizes):
    """A random classification with probabilities, and its table."""
    rng = np.random.default_rng(seed)
    labels, scores, relations, clusters = random_examples(rng, **{"m": 30, "n_relations": 2, **sizes})
    result = classified(labels, scores, relations, clusters)
    return with_probabilities(result, np.clip(rng.random(len(labels)), 0.01, 0.99))


@pytest.mark.parametrize("seed", range(3))
def test_moments_have_the_value_of_the_metric(seed):
    """The function of means, or the value plus effects that sum to 0, is the metric itself."""
    result = probable(seed)
    for name in (*DECISIONS, *SCORES, *PROBABILITIES, "gauc"):
        moments = result.moments(POINTS.parse(name), np.arange(len(result.table)))
        assert float(moments.number) == pytest.approx(result[name], rel=1e-12), name


def left_out(table, name, clusters, share):
    """The value without each cluster; the share of positives stays as it is (loops over decisions)."""
    values, rows = [], list(zip(table["label"].tolist(), table["predicted"].tolist(), clusters))
    for cluster in sorted(set(clusters)):
        kept = [(label, predicted) for label, predicted, own in rows if own != cluster]
        rates = [
            sum(predicted for label, predicted in kept if label == kind) / sum(label == kind for label, _ in kept)
            for kind in (True, False)
        ]
        tp, fp = share * rates[0], (1 - share) * rates[1]
        fn, tn = share - tp, 1 - share - fp
        root = math.sqrt((tp + fp) * share * (tn + fp) * (tn + fn))
        by_name = {
            "accuracy": tp + tn,
            "precision": tp / (tp + fp),
            "recall": tp / share,
            "specificity": tn / (1 - share),
            "balanced_accuracy": (tp / share + tn / (1 - share)) / 2,
            "f1": 2 * tp / (2 * tp + fp + fn),
            "mcc": (tp * tn - fp * fn) / root,
        }
        values.append(by_name[name])
    return values


@pytest.mark.parametrize("per_positive", [1, 3])
def test_the_variance_is_a_jackknife_with_fixed_classes(per_positive):
    """(G - 1) / G times the sum of squared changes when a cluster is left out; clusters by positive and by example."""
    result = probable(1, m=14, per_positive=per_positive)
    share = 1 / (1 + per_positive)
    for cluster in ("positive", "example"):
        clusters = result.table["positive"].tolist() if cluster == "positive" else list(range(len(result.table)))
        n_clusters = len(set(clusters))
        for name in ("accuracy", "precision", "recall", "specificity", "balanced_accuracy", "f1", "mcc"):
            changes = [value - result[name] for value in left_out(result.table, name, clusters, share)]
            wanted = math.sqrt((n_clusters - 1) / n_clusters * sum(change**2 for change in changes))
            assert result.interval(name, cluster=cluster).error == pytest.approx(wanted, rel=1e-9), name


def test_wilson_limits_of_the_accuracy():
    """Wilson (1927) with the size p (1 - p) / variance, and Student's t; of the MCC, on the scale (MCC + 1) / 2."""
    result = probable(2)
    t = student_quantile(0.975, 29)
    for name, scale in (("accuracy", 1.0), ("mcc", 2.0)):
        found = result.interval(name)
        p, variance = (found.value + scale - 1) / scale, (found.error / scale) ** 2
        size = p * (1 - p) / variance
        centre = (p + t * t / (2 * size)) / (1 + t * t / size)
        reach = t / (1 + t * t / size) * math.sqrt(p * (1 - p) / size + t * t / (4 * size * size))
        limits = [scale * limit + 1 - scale for limit in (centre - reach, centre + reach)]
        assert [found.low, found.high] == pytest.approx(limits, rel=1e-9), name
        assert found.method == "wilson"


@pytest.mark.parametrize("seed", range(3))
def test_the_auc_has_delongs_variance(seed):
    """DeLong's S10 / m + S01 / n, by loops over all pairs, but with m - 1 and n - 1, times (N - 1) / N (jackknife)."""
    rng = np.random.default_rng(seed)
    labels, scores, _, clusters = random_examples(rng, 15, 2)
    positives, negatives = ([x for y, x in zip(labels, scores) if y == kind] for kind in (True, False))
    wins = [[(x > y) + 0.5 * (x == y) for y in negatives] for x in positives]
    auc = sum(map(sum, wins)) / (len(positives) * len(negatives))
    v10 = [sum(row) / len(negatives) for row in wins]
    v01 = [sum(column) / len(positives) for column in zip(*wins)]
    s10, s01 = (sum((v - auc) ** 2 for v in part) / (len(part) - 1) for part in (v10, v01))
    shares = placements(labels, scores)
    assert shares[labels].tolist() == pytest.approx(v10, rel=1e-12)
    assert shares[~labels].tolist() == pytest.approx(v01, rel=1e-12)
    n = len(labels)
    result = classified(labels, scores, positive=clusters)
    found = result.interval("auc", cluster="example")
    assert found.error**2 == pytest.approx((n - 1) / n * (s10 / (len(v10) - 1) + s01 / (len(v01) - 1)), rel=1e-9)
    # Symmetric in the log-odds, by the slope 1 / (A (1 - A)).
    weights = np.where(labels, 1 / len(v10), 1 / len(v01))
    n_effective = (weights ** (4 / 3)).sum() ** 2 / (weights ** (8 / 3)).sum()
    reach = student_quantile(0.975, int(n_effective - 1)) * found.error / (auc * (1 - auc))
    limits = [1 / (1 + math.exp(-(math.log(auc / (1 - auc)) + sign * reach))) for sign in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(limits, rel=1e-9)
    # Clusters of a positive and its two negatives, as Obuchowski (1997) sums them: G / (G - 1) times the squared sums.
    sums = [0.0] * 15
    for y, share, cluster in zip(labels, shares, clusters):
        sums[cluster] += (share - auc) / (len(v10) if y else len(v01))
    wanted = 15 / 14 * sum(number**2 for number in sums)
    assert result.interval("auc").error ** 2 == pytest.approx(wanted, rel=1e-9)


def test_the_effects_on_average_precision_are_its_derivatives():
    """By loops: an example that counts 1 + h times, in all sums; times the size of its class."""
    rng = np.random.default_rng(3)
    labels, scores, _, _ = random_examples(rng, 9, 2)

    def weighted(weights):
        total, top = 0.0, 0.0
        for y, x, w in zip(labels, scores, weights):
            if y:
                above = [(wi, yi) for yi, xi, wi in zip(labels, scores, weights) if xi >= x]
                top += w * sum(wi for wi, yi in above if yi) / sum(wi for wi, _ in above)
                total += w
        return top / total

    assert weighted(np.ones(27)) == pytest.approx(float(average_precision(labels.tolist(), scores.tolist())), rel=1e-12)
    effects, slopes = precision_effects(labels, scores), np.zeros(27)
    for i in range(27):
        low, high = (weighted(np.where(np.arange(27) == i, 1 + h, 1.0)) for h in (-1e-5, 1e-5))
        slopes[i] = (high - low) / 2e-5
    for kind in (labels, ~labels):  # the means of a class cancel: its number of examples is fixed
        wanted = kind.sum() * (slopes[kind] - slopes[kind].mean())
        assert effects[kind] - effects[kind].mean() == pytest.approx(wanted, abs=1e-6)


def test_macro_intervals_are_over_fixed_relations():
    """The variance of the mean is the sum of the variances of the relations / (number of relations) ** 2."""
    result = probable(4, m=40)
    for name in ("accuracy", "auc", "log_loss"):
        parts = [
            metric_interval(
                POINTS.parse(name),
                [result.moments(POINTS.parse(name), rows)],
                Clusters.of(result.table["positive"].to_numpy()[rows], len(rows)),
                0.95,
            )
            for rows in result.parts_of("macro")
        ]
        found = result.interval(f"macro.{name}")
        assert found.value == pytest.approx(np.mean([part.value for part in parts]), rel=1e-12)
        assert found.error == pytest.approx(math.sqrt(sum(part.error**2 for part in parts)) / 2, rel=0.03)


def test_log_limits_and_bounds():
    """Log loss: value times and divided by exp(t error / value); all limits hold the value and keep the bounds."""
    result = probable(5)
    found = result.interval("log_loss")
    factor = math.exp(student_quantile(0.975, 29) * found.error / found.value)
    assert [found.low, found.high] == pytest.approx([found.value / factor, found.value * factor], rel=1e-9)
    for name in (*DECISIONS, *SCORES, "gauc", "log_loss", "brier", "rmse", "mae", "pcopc"):
        shown = probable(5, m=200) if name == "ap" else result
        for level in (0.5, 0.95, 0.9999):
            interval, bounds = shown.interval(name, confidence=level), POINTS.parse(name).bounds
            assert bounds[0] <= interval.low < interval.value < interval.high <= bounds[1], name


def test_no_interval_has_a_reason():
    """A calibration error, one positive, an infinite loss, no probabilities, no predicted positive: NaN and why."""
    result = probable()
    for name in ("ece", "field_ece", "macro.ece"):
        found = result.interval(name)
        assert math.isnan(found.low)
        assert not math.isnan(found.value)
        assert found.reason.startswith("chance makes calibration errors too high on average")
    single = classified([1, 0, 0, 0], [1.0, 0.5, -1.0, -2.0])
    assert single.interval("auc").value == 1.0
    assert single.interval("auc").reason == "one positive example only, so that the variation is unknown"
    assert single.interval("f1").reason == "the value is undefined if one of the clusters is left out"
    assert single.interval("gauc").reason.startswith("1 of 1 groups with both classes have one positive")
    wrong = with_probabilities(single, [0.0, 0.5, 0.5, 0.5]).interval("log_loss")
    assert (wrong.value, wrong.reason) == (
        math.inf,
        "the value is infinite, because a probability of 0 or 1 is wrong; set clip",
    )
    assert single.interval("brier").reason.startswith("scores are not probabilities")
    none = classified([1, 1, 0, 0], [-1.0] * 4).interval("precision")
    assert math.isnan(none.value)
    assert none.reason == "no example is predicted positive: 0 / 0"


def test_a_perfect_model_has_a_lower_limit():
    """AUC, accuracy and recall of 1: Wilson's limit for as many observations as clusters, n / (n + t^2)."""
    for m, names in ((20, ("auc", "accuracy", "recall")), (200, ("auc", "accuracy", "recall", "ap"))):
        labels, _, _, clusters = random_examples(np.random.default_rng(0), m)
        result = classified(labels, np.where(labels, 1.0, -1.0), positive=clusters)
        t = student_quantile(0.975, m - 1)
        for name in names:
            found = result.interval(name)
            assert (found.value, found.high) == (1.0, 1.0)
            assert found.low == pytest.approx(m / (m + t * t), rel=1e-9)


@pytest.mark.parametrize(("m", "per_positive"), [(199, 1), (199, 2), (200, 1), (30, 10)])
def test_h22_ap_of_few_examples_has_no_interval(m, per_positive):
    """With fewer than 200 positives, a few negatives with high scores decide the AP; the value itself stays."""
    labels, scores, relations, clusters = random_examples(np.random.default_rng(0), m, per_positive)
    found = classified(labels, scores, positive=clusters).interval("ap")
    assert found.value == pytest.approx(float(average_precision(labels.tolist(), scores.tolist())))
    if m < 200:
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.reason == (
            f"an interval of AP needs at least 200 positives and 200 negatives, got {m} and {m * per_positive}: "
            "a few high scores decide its value"
        )
    else:
        assert found.low < found.value < found.high


def test_h22_a_macro_ap_needs_as_many_in_each_relation():
    found = probable(4, m=300).interval("macro.ap")
    assert found.reason == (
        "an interval of AP needs at least 200 positives and 200 negatives, got 150 and 150; the smallest of 2 groups: "
        "a few high scores decide its value"
    )


def test_h22_ap_is_held_where_it_has_an_interval():
    """One negative in 50 scores 4 higher: of 95% intervals, 0.80 held the true AP with 50 positives."""
    rng, held, repetitions = np.random.default_rng(7), {50: 0, 250: 0}, size(150, 2000)

    def draw(m):
        labels = np.tile([True, False], m)
        scores = rng.normal(size=2 * m) + np.where(labels, 2.0, 4.0 * (rng.random(2 * m) < 0.02))
        return labels, scores

    metric = POINTS.parse("ap")
    true = metric.compute(*draw(400_000)).value
    for m in held:
        for _ in range(repetitions):
            labels, scores = draw(m)
            found = metric_interval(
                metric, [metric.moments(labels, scores)], Clusters.of(np.arange(2 * m), 2 * m), 0.95
            )
            held[m] += found.low <= true <= found.high
    assert held[50] == 0  # refused
    assert 0.87 <= held[250] / repetitions <= 0.99


def test_which_examples_depend():
    """Clusters by positive, by triple, by entity, by given labels; what is assumed is said."""
    result = probable()
    assert result.interval("accuracy").n_clusters == 30
    assert result.interval("accuracy", cluster="example").n_clusters == 60
    assert result.interval("accuracy", cluster="entity").reason  # all examples share one object
    assert result.interval("accuracy", cluster=np.arange(60) // 6).n_clusters == 10
    bare = classified([1, 1, 0, 0], [1.0, -1.0, 1.0, -1.0])
    assert bare.interval("accuracy").n_clusters == 4
    for cluster, message in (
        ("positive", "cluster='positive': it is not known from which positive each negative was made"),
        ("query", "cluster must be one of 'positive', 'example', 'entity'"),
        (
            [0, 1],
            "cluster must be one of 'positive', 'example', 'entity', or an array with one label for each of the 4",
        ),
        ([0, 1, None, 2], "cluster, row 2: the label is missing"),
    ):
        with pytest.raises(MetricError, match=re.escape(message)):
            bare.interval("accuracy", cluster=cluster)


def ring(n=30):
    """A ring of 30 entities; valid and test are half of it each."""
    triples = [[i, 0, (i + 1) % n] for i in range(n)]
    splits = {"train": triples, "valid": triples[: n // 2], "test": triples[n // 2 :]}
    return kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=1)


def by_distance(s, p, o):
    return -((o - s - 1) % 30)


def test_negatives_say_from_which_positive_they_were_made(tmp_path):
    """Uniform negatives and frames from `sample_negatives`; kept in the file; another column of that name is not."""
    dataset = ring()
    uniform = kg.classify(by_distance, dataset, "uniform", sample_seed=3)
    frames = {part: kg.sample_negatives(dataset, part, sample_seed=3) for part in ("valid", "test")}
    given = kg.classify(by_distance, dataset, frames)
    test = np.asarray(dataset["test"])
    for result in (uniform, given):
        assert result.table["positive"].tolist()[:15] == list(range(15))
        for row in result.table.iloc[15:].itertuples():
            s, _, o = test[row.positive]
            assert (row.s == s) != (row.o == o)
    uniform.save(tmp_path / "u.kgeval")
    assert kg.load_result(tmp_path / "u.kgeval") == uniform
    for wrong in (frames["test"]["positive"].to_numpy()[::-1], np.full(15, 99), np.full(15, -1), np.full(15, 0.5)):
        stale = {**frames, "test": frames["test"].assign(positive=wrong)}
        assert "positive" not in kg.classify(by_distance, dataset, stale).table


def test_repeated_triples_share_a_cluster():
    """A positive that stands twice in test is one cluster with its negatives; so are rows of a repeated negative."""
    triples = [[0, 0, 1], [0, 0, 1], [1, 0, 2], [2, 0, 3]]
    dataset = kg.Dataset.from_arrays(valid=triples, test=triples, n_entities=9, n_relations=1)
    result = kg.classify(lambda s, p, o: o, dataset, "uniform")
    assert result.table["positive"].tolist()[:4] == [0, 0, 2, 3]
    assert set(result.table["positive"][4:]) == {0, 2, 3}
    negatives = {"valid": [[0, 0, 5]], "test": [[0, 0, 5], [0, 0, 5], [0, 0, 6]]}
    assert kg.classify(lambda s, p, o: o, dataset, negatives).interval("accuracy").n_clusters == 5


def test_tables_with_intervals():
    """The columns of `EvaluationResult`; the limits are those of `interval`."""
    result = probable(7)
    frame = result.summary("f1,auc", confidence=0.9)
    names = ["f1", "f1 low", "f1 high", "auc", "auc low", "auc high"]
    assert frame.columns.tolist() == ["n", *names, "n_effective", "reason"]
    found = [result.interval(key, confidence=0.9) for key in ("f1", "auc", "macro.f1", "macro.auc")]
    wanted = np.array([[part.value, part.low, part.high] for part in found]).reshape(2, 6)
    assert frame[names].to_numpy() == pytest.approx(wanted, rel=1e-12)
    groups = result.by("relation", metrics="f1")
    assert groups.columns.tolist() == ["n", "share", "f1", "f1 low", "f1 high", "n_effective", "reason"]
    only = result.table["p"] == 0
    part = result.__replace__(table=result.table[only.to_numpy()].reset_index(drop=True), columns=None)
    assert groups.loc["0", ["f1 low", "f1 high"]].tolist() == [part.interval("f1").low, part.interval("f1").high]
    assert result.by("relation", metrics="f1", confidence=None).columns.tolist() == ["n", "share", "f1", "reason"]
    assert isinstance(frame, pd.DataFrame)


def test_equal_metrics_have_equal_intervals():
    """RMSE is the root of the Brier score, and so is its error to first order; accuracy is 1 - MAE of 0/1 answers."""
    result = probable(8)
    rmse, brier = result.interval("rmse"), result.interval("brier")
    assert rmse.error == pytest.approx(brier.error / (2 * rmse.value), rel=0.02)
    sure = with_probabilities(result, result.table.sort_values("s")["predicted"].astype(float))
    assert sure.interval("mae").error == pytest.approx(sure.interval("accuracy").error, rel=1e-9)
    assert sure["mae"] == pytest.approx(1 - sure["accuracy"], rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_intervals_hold_the_true_value(correlation):
    """400 draws of 100 positives and 100 negatives: 91-98.5% hold the true value (standard error 1.1%).

    The AP has no interval with fewer than 200 positives.
    """
    script = Path(__file__).resolve().parents[1] / "bench" / "bench_classification_coverage.py"
    for name, (share, lacking) in runpy.run_path(str(script))["covered"]((200, 1, 1.5, correlation), 400).items():
        assert lacking == (name == "ap"), name
        assert 0.91 <= share <= 0.985 or name == "ap", name
