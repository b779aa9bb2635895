"""ROC, precision-recall and reliability curves: points by hand, against the oracle, and what they must not do."""

import math
import random

import numpy as np
import oracle_pointwise as oracle
import pytest
from grids import size

from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.metrics.pointwise.curves import pr_curve, reliability_curve, roc_curve
from kgeval.metrics.pointwise.probabilities import ECE
from kgeval.metrics.pointwise.separation import AveragePrecision, RocAuc
from kgeval.metrics.pointwise.thresholds import count_pairs, count_steps


def tables(seed, n, most=9):
    """`n` random (labels, scores), small, many scores equal, some infinite; one class alone now and then."""
    rng = random.Random(seed)
    for _ in range(n):
        size, share = rng.randint(1, most), rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])
        pool = rng.choice([[0.25], [-1.0, 0.0, 2.0], [x / 7 for x in range(50)], [-math.inf, -0.0, 0.0, math.inf]])
        yield [int(rng.random() < share) for _ in range(size)], [rng.choice(pool) for _ in range(size)]


def fails(error, act):
    """The text of the error that `act` raises."""
    with pytest.raises(error) as caught:
        act()
    return str(caught.value)


def test_roc_points_by_hand():
    """Scores 9 (positive), 7, 7 (one of each), 4 (negative), 2 (positive): 3 positives, 2 negatives."""
    frame = roc_curve([1, 0, 1, 0, 1], [9, 7, 7, 4, 2])
    assert frame["threshold"].to_list() == [math.inf, 9, 7, 4, 2]
    assert frame["tp"].to_list() == [0, 1, 2, 2, 3]
    assert frame["fp"].to_list() == [0, 0, 1, 2, 2]
    assert frame["tpr"].to_list() == [0, 1 / 3, 2 / 3, 2 / 3, 1]
    assert frame["fpr"].to_list() == [0, 0, 1 / 2, 1, 1]
    assert list(frame.columns) == ["threshold", "fpr", "tpr", "fp", "tp"]


def test_collinear_points_stay():
    """Four positives in a row are four points on one vertical line, then three on one horizontal line."""
    frame = roc_curve([1, 1, 1, 1, 0, 0, 0], [7, 6, 5, 4, 3, 2, 1])
    assert frame["tpr"].to_list() == [0, 0.25, 0.5, 0.75, 1, 1, 1, 1]
    assert len(frame) == 8


def test_pr_points_by_hand():
    """By falling score 0, 1, 0, 1, 0: at recall 1/2 precision 1/2 then 1/3, at recall 1 1/2 then 2/5.

    Interpolated: the best at this recall or higher. At recall 0 and 1/2 it is 1/2, also on the row of 1/3.
    """
    frame = pr_curve([0, 1, 0, 1, 0], [5, 4, 3, 2, 1])
    assert frame["precision"].to_list() == [0, 1 / 2, 1 / 3, 1 / 2, 2 / 5]
    assert frame["recall"].to_list() == [0, 1 / 2, 1 / 2, 1, 1]
    assert frame["interpolated"].to_list() == [1 / 2] * 5
    assert list(frame.columns) == ["threshold", "recall", "precision", "interpolated", "tp", "fp"]
    falling = pr_curve([1, 0, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1])
    assert falling["interpolated"].to_list() == [1, 1, 1, 1 / 2, 1 / 2, 1 / 2]


def test_curves_equal_oracle():
    """2,000 random tables: one row per distinct score; the best precision at this recall or a higher one."""
    n_roc = n_pr = 0
    for labels, scores in tables(1, size(60, 2000)):
        rows, positives = oracle.curve(labels, scores), sum(labels)
        negatives = len(labels) - positives
        if positives and negatives:
            wanted = [(math.inf, 0, 0), *rows]
            frame, n_roc = roc_curve(labels, scores), n_roc + 1
            assert list(frame[["threshold", "tp", "fp"]].itertuples(index=False, name=None)) == wanted
            assert frame["tpr"].to_list() == [tp / positives for _, tp, _ in wanted]
            assert frame["fpr"].to_list() == [fp / negatives for _, _, fp in wanted]
        if positives:
            frame, n_pr = pr_curve(labels, scores), n_pr + 1
            assert list(frame[["threshold", "tp", "fp"]].itertuples(index=False, name=None)) == rows
            assert frame["recall"].to_list() == [tp / positives for _, tp, _ in rows]
            precision = [tp / (tp + fp) for _, tp, fp in rows]
            assert frame["precision"].to_list() == precision
            best = [max(p for (_, b, _), p in zip(rows, precision, strict=True) if b >= tp) for _, tp, _ in rows]
            assert frame["interpolated"].to_list() == best
    assert min(n_roc, n_pr) > 0.35 * size(60, 2000)


def test_areas_are_the_metrics():
    """Straight lines under the ROC points give AUC; steps under the precision-recall points give AP."""
    for labels, scores in tables(2, size(60, 500)):
        if 0 < sum(labels) < len(labels):
            frame = roc_curve(labels, scores)
            heights = (frame["tpr"].to_numpy()[1:] + frame["tpr"].to_numpy()[:-1]) / 2
            area = (np.diff(frame["fpr"]) * heights).sum()
            assert area == pytest.approx(RocAuc().compute(labels, scores).value, abs=1e-12)
        if sum(labels):
            frame = pr_curve(labels, scores)
            area = (np.diff(frame["recall"], prepend=0) * frame["precision"]).sum()
            assert area == pytest.approx(AveragePrecision().compute(labels, scores).value, abs=1e-12)


def test_constant_scores():
    """One step: the diagonal, and the share of positives as only precision, with no point at recall 0 to join."""
    frame = roc_curve([1, 0, 0, 0], [0.5] * 4)
    assert frame[["fpr", "tpr"]].to_numpy().tolist() == [[0, 0], [1, 1]]
    frame = pr_curve([1, 0, 0, 0], [0.5] * 4)
    assert frame[["recall", "precision", "interpolated"]].to_numpy().tolist() == [[1, 0.25, 0.25]]


def test_large_integers_are_apart():
    """2 ** 53 and its successor make two points, although the shown threshold is rounded to float64."""
    frame = roc_curve([0, 1], np.array([2**53, 2**53 + 1]))
    assert frame["tp"].to_list() == [0, 1, 1]
    assert frame["threshold"].to_list() == [math.inf, 2.0**53, 2.0**53]
    assert len(pr_curve([0, 1], np.array([2**53, 2**53 + 1]))) == 2


@pytest.mark.parametrize(
    ("curve", "labels", "message"),
    [
        (roc_curve, [], "roc_curve needs a positive example; got none among 0"),
        (roc_curve, [0, 0], "roc_curve needs a positive example; got none among 2"),
        (roc_curve, [1, 1, 1], "roc_curve needs a negative example; got none among 3"),
        (pr_curve, [], "pr_curve needs a positive example; got none among 0"),
        (pr_curve, [0], "pr_curve needs a positive example; got none among 1"),
        (reliability_curve, [], "reliability_curve needs at least one example; got none"),
    ],
)
def test_undefined_curves_are_errors(curve, labels, message):
    """A curve of NaN would be drawn as nothing; what is missing is said instead."""
    assert fails(MetricError, lambda: curve(labels, [0.5] * len(labels))) == message


def test_curves_of_one_class_that_are_defined():
    """Positives alone have precision 1 at every recall; one class alone can be calibrated."""
    assert pr_curve([1, 1], [2, 1])["precision"].to_list() == [1, 1]
    assert reliability_curve([0, 0], [0.25, 0.75], 2)["observed"].to_list() == [0, 0]


@pytest.mark.parametrize("curve", [roc_curve, pr_curve])
def test_wrong_input(curve):
    """NaN, lengths and labels, as for the metrics."""
    assert fails(ScoreError, lambda: curve([1, 0], [0.5, math.nan])) == (
        "scores must be real numbers; got nan at index 1. Check why the model gives NaN"
    )
    assert (
        fails(DataError, lambda: curve([1, 0], [0.5])) == "expected as many scores as labels; got 2 labels and 1 scores"
    )
    assert fails(DataError, lambda: curve([1, -1], [0.5, 0.5])) == (
        "labels must be 0/1 or bool; got -1 at index 1. If the labels are -1 and 1, use labels > 0"
    )


def test_wrong_input_of_the_reliability_curve():
    """Raw scores, lengths, bins and strategy."""
    assert fails(ScoreError, lambda: reliability_curve([1, 0], [0.5, 7])).startswith(
        "reliability_curve needs probabilities in [0, 1]; got 7.0 at index 1. Calibrate raw ranking scores first"
    )
    assert fails(DataError, lambda: reliability_curve([1, 0], [0.5])) == (
        "expected as many probabilities as labels; got 2 labels and 1 probabilities"
    )
    assert fails(MetricError, lambda: reliability_curve([1], [0.5], 0)) == (
        "bins of reliability_curve must be an integer of at least 1; got 0"
    )
    assert fails(MetricError, lambda: reliability_curve([1], [0.5], 2, "uniform")) == (
        "strategy of reliability_curve must be one of 'width', 'mass'; got 'uniform'"
    )


@pytest.mark.filterwarnings("error")
def test_reliability_by_hand():
    """Empty bins are kept; of equal width they have limits, of equal mass none. Ten bins unless told otherwise."""
    assert len(reliability_curve([1], [0.5])) == 10
    frame = reliability_curve([0, 1, 1, 0], [0.0, 0.25, 0.25, 1.0], bins=4)
    assert list(frame.columns) == ["low", "high", "n", "mean_probability", "observed"]
    assert frame["low"].to_list() == [0, 0.25, 0.5, 0.75]
    assert frame["high"].to_list() == [0.25, 0.5, 0.75, 1]
    assert frame["n"].to_list() == [1, 2, 0, 1]
    assert frame["mean_probability"].fillna(-1).to_list() == [0, 0.25, -1, 1]
    assert frame["observed"].fillna(-1).to_list() == [0, 1, -1, 0]
    # smaller ones of each: 0, 1, 1, 3 of 4, times 4 bins: bins 0, 1, 1, 3
    frame = reliability_curve([0, 1, 1, 0], [0.0, 0.25, 0.25, 1.0], bins=4, strategy="mass")
    assert frame["n"].to_list() == [1, 2, 0, 1]
    assert frame["low"].fillna(-1).to_list() == frame["high"].fillna(-1).to_list() == [0, 0.25, -1, 1]


@pytest.mark.parametrize("strategy", ["width", "mass"])
def test_reliability_equals_oracle(strategy):
    """Each example in the oracle's bin; n, both means and the limits; ECE is their weighted distance."""
    rng = random.Random(3)
    for _ in range(size(10, 600)):
        n, bins = rng.randint(1, 12), rng.choice([1, 2, 3, 7, 10])
        p = [rng.choice([rng.random(), rng.randrange(11) / 10, rng.randrange(bins + 1) / bins]) for _ in range(n)]
        labels = [rng.randrange(2) for _ in range(n)]
        frame, home = reliability_curve(labels, p, bins, strategy), oracle.in_bins(p, bins, strategy)
        assert len(frame) == bins
        for i, row in enumerate(frame.itertuples()):
            own = [j for j in range(n) if home[j] == i]
            assert row.n == len(own)
            if own:
                assert row.mean_probability == pytest.approx(float(oracle.mean([p[j] for j in own])), rel=1e-14)
                assert row.observed == sum(labels[j] for j in own) / len(own)
                low, high = min(p[j] for j in own), max(p[j] for j in own)
                assert (row.low, row.high) == ((i / bins, (i + 1) / bins) if strategy == "width" else (low, high))
            else:
                assert math.isnan(row.mean_probability)
                assert math.isnan(row.observed)
        gap = (frame["mean_probability"] - frame["observed"]).abs().fillna(0)
        assert ECE(bins, strategy).compute(labels, p).value == pytest.approx((gap * frame["n"]).sum() / n, abs=1e-14)


def test_bins_of_equal_mass():
    """12 distinct probabilities in 4 bins are 3 each; 10 in 4 bins 3, 2, 3, 2."""
    p = np.linspace(0, 1, 12) ** 3
    assert reliability_curve([0, 1] * 6, p, 4, "mass")["n"].to_list() == [3, 3, 3, 3]
    assert reliability_curve([0, 1] * 5, p[:10], 4, "mass")["n"].to_list() == [3, 2, 3, 2]


def test_steps_count_within_groups():
    """Group 1 has scores 5 (positive) and 5 (negative), group 0 has 7 (negative) and 3 (positive)."""
    steps = count_steps(np.array([1, 0, 0, 1]) > 0, np.array([5, 5, 7, 3]), np.array([1, 1, 0, 0]))
    assert [column.tolist() for column in steps[:4]] == [[1, 0, 0], [5, 7, 3], [1, 0, 1], [1, 1, 1]]
    assert steps.first.tolist() == [True, True, False]
    assert steps.before(steps.fp).tolist() == [0, 0, 1]
    assert [column.tolist() for column in count_pairs(steps)] == [[1, 0], [1, 0], [1, 1]]
