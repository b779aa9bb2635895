"""Calibrators by hand, against the conditions that define them, and the correction of downsampling."""

import math
import random
import sys
import warnings
from fractions import Fraction

import numpy as np
import oracle_pointwise as oracle
import pytest

from kgeval.errors import DataError, KgevalWarning, MetricError, MissingExtra, ScoreError
from kgeval.metrics.pointwise import calibration
from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.pointwise.calibration import (
    CALIBRATIONS,
    Calibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    calibrate,
    correct_downsampling,
)

pytest.importorskip("sklearn", reason="calibration is scikit-learn's")

# Score 1: three positives, one negative; score 0: one positive, three negatives.
SCORES, LABELS = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0]


def fails(error, act):
    """The text of the error that `act` raises."""
    with pytest.raises(error) as caught:
        act()
    return str(caught.value)


def weights_of(labels, prior):
    """Weights of mean 1 that give the positives the share `prior`, as fractions."""
    share = Fraction(sum(labels), len(labels))
    prior = share if prior is None else Fraction(prior)
    return [prior / share if y else (1 - prior) / (1 - share) for y in labels]


def overlapping(seed, n):
    """`n` random (scores, labels) of both classes, each reaching into the other; reals, many equal, far from 0."""
    rng = np.random.default_rng(seed)
    while n:
        size = int(rng.integers(4, 60))
        scores = np.round(rng.normal(size=size), int(rng.choice([0, 12])))
        labels = rng.random(size) < 1 / (1 + np.exp(-scores * rng.random() * 3))
        if labels.all() or not labels.any() or scores.min() == scores.max():
            continue
        positives, negatives = scores[labels], scores[~labels]
        if positives.min() < negatives.max() and negatives.min() < positives.max():
            n -= 1
            yield scores * 10.0 ** rng.integers(-6, 7) + rng.choice([0.0, 1e3, -40.0]), labels


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_two_scores_by_hand(method):
    """Two scores, two parameters: the probability of each is its share of positives, 3/4 and 1/4; slope ln 9.

    With prior 1/5 the four positives weigh 1/5, the four negatives 4/5: 3/5 / (3/5 + 4/5) = 3/7 and
    1/5 / (1/5 + 12/5) = 1/13.
    """
    assert calibrate(SCORES, LABELS, method)([1, 0]) == pytest.approx([3 / 4, 1 / 4], rel=1e-13)
    assert calibrate(SCORES, LABELS, method, prior=0.2)([1, 0]) == pytest.approx([3 / 7, 1 / 13], rel=1e-13)
    if method == "platt":
        assert calibrate(SCORES, LABELS).slope == pytest.approx(math.log(9), rel=1e-13)
        # halfway between the two shares; the line goes on: odds 3 * 9 at score 2
        assert calibrate(SCORES, LABELS)([0.5, 2.0]) == pytest.approx([0.5, 27 / 28], rel=1e-13)


@pytest.mark.parametrize("prior", [None, 0.5, 1e-3, 1e-6])
def test_platt_meets_the_conditions_of_the_maximum(prior):
    """The likelihood is greatest where the sums of w (p - y) and of w (p - y) score vanish; it is concave.

    To 1e-6 of the share of positives: with prior 1e-6 a gradient of 1e-4, where solvers stop by default, would
    be a mean probability a hundred times too high.
    """
    for scores, labels in overlapping(1, 150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgevalWarning)
            found = calibrate(scores, labels, prior=prior)(scores)
        weights = [float(w) for w in weights_of(labels.tolist(), prior)]
        unit = (scores - scores.mean()) / np.abs(scores - scores.mean()).max()
        share = min(math.fsum(w for w, y in zip(weights, labels, strict=True) if y == kind) for kind in (0, 1))
        gaps = [w * (p - y) for w, p, y in zip(weights, found, labels, strict=True)]
        assert abs(math.fsum(gaps)) < 1e-6 * share
        assert abs(math.fsum(gap * x for gap, x in zip(gaps, unit, strict=True))) < 1e-6 * share


@pytest.mark.filterwarnings("ignore::kgeval.errors.KgevalWarning")
def test_platt_agrees_with_scikit_learn():
    """Logistic regression on the one score without regularisation, as closely as its solver goes."""
    model = pytest.importorskip("sklearn.linear_model", reason="compares with scikit-learn")
    for scores, labels in overlapping(2, 60):
        column = ((scores - scores.mean()) / scores.std()).reshape(-1, 1)
        theirs = model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(column, labels)
        wanted = theirs.predict_proba(column)[:, 1]
        assert calibrate(scores, labels)(scores) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.filterwarnings("ignore::kgeval.errors.KgevalWarning")
def test_platt_knows_no_scale():
    """Scores times a thousand, and far from 0, get the same probabilities."""
    for scores, labels in overlapping(3, 40):
        found, unit = calibrate(scores, labels)(scores), (scores - scores.mean()) / scores.std()
        for moved in (unit, unit * 1000 + 1e6, unit * 1e-12):
            assert calibrate(moved, labels)(moved) == pytest.approx(found, rel=1e-7)


def test_platt_of_constant_scores_is_the_share_of_positives():
    """Nothing to learn: 3/8, or the prior."""
    labels = [1, 1, 1, 0, 0, 0, 0, 0]
    assert calibrate([7.25] * 8, labels)([7.25, -100.0]) == pytest.approx([3 / 8, 3 / 8], rel=1e-14)
    assert calibrate([7.25] * 8, labels, prior=1e-6)([0.0]) == pytest.approx([1e-6], rel=1e-14)


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1]),
        ([1, 2, 2, 3], [0, 0, 1, 1]),
        ([4, 3, 2, 1], [0, 0, 1, 1]),
        ([1, 2], [0, 1]),
    ],
)
def test_platt_refuses_scores_that_separate(scores, labels):
    """The steeper the better, without end; also where only one score is shared, and in the wrong order."""
    assert fails(ScoreError, lambda: calibrate(scores, labels)) == (
        "the scores separate positives from negatives, so the slope of Platt's function has no finite value; "
        "use method='isotonic', or more and harder validation examples"
    )


@pytest.mark.parametrize("prior", [None, 1e-3])
def test_platt_of_scores_that_all_but_separate(prior):
    """One pair overlaps by 2 ** -e: the curve is flat nearly everywhere, yet the maximum is found.

    By symmetry of the scores around the pair, without a prior, its middle has probability 1/2.
    """
    for e in range(4, 14):
        middle, labels = 0.25, [0] * 5 + [1] * 5
        scores = [middle - 1] * 4 + [middle + 2.0**-e, middle - 2.0**-e] + [middle + 1] * 4
        calibrator = calibrate(scores, labels, prior=prior)
        weights = [float(w) for w in weights_of(labels, prior)]
        assert math.fsum(weights * calibrator(scores)) == pytest.approx(10 * (prior or 0.5), rel=1e-6)
        if prior is None:
            assert calibrator([middle]) == pytest.approx([0.5], rel=1e-12)


def test_platt_says_when_it_found_no_maximum(monkeypatch):
    """What did not settle is not given out as a fit."""
    monkeypatch.setattr(calibration, "MAX_STEPS", 2)
    assert fails(ScoreError, lambda: calibrate([-1, -1, 0.25 + 2**-30, 0.25, 1, 1], [0, 0, 0, 1, 1, 1])) == (
        "the scores almost separate positives from negatives, so the slope of Platt's function could not be "
        "fitted precisely; use method='isotonic', or more and harder validation examples"
    )


def test_platt_of_reversed_scores_warns():
    """A distance as score: the probabilities turn it round, which must not pass unseen."""
    with pytest.warns(KgevalWarning) as caught:
        reversed_ = calibrate([-x for x in SCORES], LABELS)
    assert str(caught[0].message) == (
        "Platt's slope is negative (-2.2): positives have lower scores than negatives; if the scores are distances, "
        "negate them first"
    )
    assert caught[0].filename == __file__
    assert reversed_([-1, 0]) == pytest.approx([3 / 4, 1 / 4], rel=1e-13)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrate(SCORES, LABELS)


def test_platt_in_the_tails():
    """No overflow, no warning; the lower tail keeps its digits: exp(-700), not 0."""
    calibrator = PlattCalibrator(slope=1.0, intercept=0.0, center=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calibrator([-1e308, -700.0, 0.0, 700.0, 1e308])
    assert found.tolist() == [0.0, pytest.approx(math.exp(-700), rel=1e-12), 0.5, 1.0, 1.0]


def test_example_of_the_docstring():
    """By symmetry 1/2 in the middle; the other two to the digits shown."""
    found = calibrate([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])([0.0, 2.5, 5.0, 9.0])
    assert found.round(3).tolist() == [0.094, 0.5, 0.906, 0.997]


def test_isotonic_equals_oracle():
    """At each fitted score the max-min of means, with and without a prior; it never falls."""
    rng = random.Random(4)
    for _ in range(400):
        n = rng.randint(2, 9)
        scores = [rng.choice([rng.random(), rng.randrange(4) * 1.0]) for _ in range(n)]
        labels = [1, 0, *(rng.randrange(2) for _ in range(n - 2))]
        for prior in (None, 0.125):
            wanted = oracle.rising(scores, labels, weights_of(labels, prior))
            found = calibrate(scores, labels, "isotonic", prior)
            assert found(sorted(wanted)) == pytest.approx([float(wanted[x]) for x in sorted(wanted)], abs=1e-12)
            everywhere = found(np.linspace(-1, 5, 61))
            assert (np.diff(everywhere) >= 0).all()
            assert 0 <= everywhere[0] <= everywhere[-1] <= 1
            assert everywhere[0] == pytest.approx(float(wanted[min(scores)]), abs=1e-12)


def test_isotonic_of_reversed_scores_knows_nothing():
    """A rising function cannot turn an order round: all get the share of positives."""
    assert calibrate([4, 3, 2, 1], [0, 0, 0, 1], "isotonic")([1, 4]) == pytest.approx([0.25, 0.25], rel=1e-14)


def test_isotonic_between_points():
    """Linear between the points, constant outside."""
    calibrator = IsotonicCalibrator((0.0, 1.0, 3.0), (0.0, 0.5, 0.75))
    assert calibrator([-5, 0, 0.5, 1, 2, 3, 99]).tolist() == [0, 0, 0.25, 0.5, 0.625, 0.75, 0.75]


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_prior_makes_up_for_sampled_negatives(method):
    """Of 3 x 10 negatives every tenth is kept: with the true share as prior the fit is that of all examples.

    And correcting the isotonic fit of the sample by w = 1/10 gives the same: means are corrected like examples.
    """
    positives, negatives = [0, 1, 1, 2, 2, 2], [0, 1, 2]
    all_scores, all_labels = positives + negatives * 10, [1] * 6 + [0] * 30
    kept_scores, kept_labels = positives + negatives, [1] * 6 + [0] * 3
    wanted = calibrate(all_scores, all_labels, method)([0, 1, 2])
    sample = calibrate(kept_scores, kept_labels, method)([0, 1, 2])
    assert calibrate(kept_scores, kept_labels, method, prior=1 / 6)([0, 1, 2]) == pytest.approx(wanted, rel=1e-12)
    assert (sample > 2 * wanted).all()
    if method == "isotonic":
        assert wanted == pytest.approx([1 / 11, 2 / 12, 3 / 13], rel=1e-12)
        assert correct_downsampling(sample, 0.1) == pytest.approx(wanted, rel=1e-12)
    all_p = calibrate(all_scores, all_labels, method)(all_scores)
    assert POINTS.parse("pcopc").compute(all_labels, all_p).value == pytest.approx(1.0, rel=1e-12)


def test_raw_scores_become_probabilities():
    """What log loss and the others refuse they take after calibration, as their message says."""
    for name in ("log_loss", "brier", "ece", "pcopc", "rmse"):
        metric, scores = POINTS.parse(name), [9 * x - 4 for x in SCORES]
        assert "kgeval.metrics.calibration.calibrate" in fails(
            ScoreError, lambda metric=metric, scores=scores: metric.compute(LABELS, scores)
        )
        found = metric.compute(LABELS, calibrate(scores, LABELS)(scores)).value
        assert found == pytest.approx(
            {
                "log_loss": -0.75 * math.log(0.75) - 0.25 * math.log(0.25),
                "brier": 3 / 16,  # m (1 - m) at each score
                "ece": 0,
                "pcopc": 1,
                "rmse": math.sqrt(3) / 4,
            }[name],
            abs=1e-12,
        )


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (
            lambda: calibrate([1, 2], [0, 0]),
            MetricError,
            "calibrate needs examples of both classes; got no positive example",
        ),
        (
            lambda: calibrate([1], [1]),
            MetricError,
            "calibrate needs examples of both classes; got no negative example among 1",
        ),
        (
            lambda: calibrate([], []),
            MetricError,
            "calibrate needs examples of both classes; got no positive example among 0",
        ),
        (lambda: calibrate([1], [0, 1]), DataError, "expected as many scores as labels; got 2 labels and 1 scores"),
        (lambda: calibrate([1, 2], [-1, 1]), DataError, "labels must be 0/1 or bool; got -1 at index 0. If the"),
        (lambda: calibrate([1, math.nan], [0, 1]), ScoreError, "scores must be real numbers; got nan at index 1."),
        (lambda: calibrate([1, math.inf], [0, 1]), ScoreError, "scores must be finite; got inf at index 1"),
        (
            lambda: calibrate(SCORES, LABELS, "plat"),
            MetricError,
            "method must be one of 'platt', 'isotonic'; got 'plat'; did you mean 'platt'?",
        ),
        (lambda: calibrate(SCORES, LABELS, prior=0), MetricError, "prior must be above 0 and below 1; got 0"),
        (lambda: calibrate(SCORES, LABELS, prior=1.0), MetricError, "prior must be above 0 and below 1; got 1.0"),
        (lambda: calibrate(SCORES, LABELS, prior="a"), MetricError, "prior must be above 0 and below 1; got 'a'"),
        (lambda: calibrate(SCORES, LABELS)([-math.inf]), ScoreError, "scores must be finite; got -inf at index 0"),
        (lambda: calibrate(SCORES, LABELS)(0.5), ScoreError, "scores must have shape (n,); got ()"),
        (
            lambda: correct_downsampling([0.5, 2], 0.5),
            ScoreError,
            "correct_downsampling needs probabilities in [0, 1]; g",
        ),
        (lambda: correct_downsampling([0.5], 0), MetricError, "kept_share must be above 0 and at most 1; got 0"),
        (lambda: correct_downsampling([0.5], 1.5), MetricError, "kept_share must be above 0 and at most 1; got 1.5"),
        (
            lambda: correct_downsampling([0.5], math.nan),
            MetricError,
            "kept_share must be above 0 and at most 1; got nan",
        ),
    ],
)
def test_wrong_input(act, error, message):
    """What was expected, what came, and where."""
    assert fails(error, act).startswith(message)


@pytest.mark.parametrize(("method", "module"), [("platt", "linear_model"), ("isotonic", "isotonic")])
def test_without_scikit_learn(method, module, monkeypatch):
    """The error names the extra; what is fitted already needs nothing."""
    fitted = calibrate(SCORES, LABELS, method)
    monkeypatch.setitem(sys.modules, f"sklearn.{module}", None)
    assert fails(MissingExtra, lambda: calibrate(SCORES, LABELS, method)) == (
        f'{method.replace("platt", "Platt")} calibration needs scikit-learn; pip install "kgeval[sklearn]"'
    )
    assert fitted([1]) == pytest.approx([0.75], rel=1e-13)


def test_calibrators_are_values():
    """Frozen, equal when fitted alike, and with no scores nothing to say."""
    for method in CALIBRATIONS:
        one, other = calibrate(SCORES, LABELS, method), calibrate(SCORES[::-1], LABELS[::-1], method)
        assert one == calibrate(SCORES, LABELS, method)
        assert hash(one) == hash(calibrate(SCORES, LABELS, method))
        assert one(SCORES) == pytest.approx(other(SCORES), rel=1e-13)
        assert one([]).tolist() == []
        assert one.method == method
        with pytest.raises(AttributeError):
            one.slope = 1.0
    with pytest.raises(TypeError, match=r"Calibrator does not define transform\(values\)"):
        Calibrator()([1.0])


def test_downsampling_multiplies_the_odds():
    """p' / (1 - p') = w p / (1 - p), exactly in fractions; w = 1 changes nothing, 0 and 1 stay."""
    p = np.array([0.0, 1e-300, 1e-9, 0.25, 0.5, 1 - 2**-53, 1.0])
    for w in (1, 1.0, 0.5, 0.1, 1e-6, 5e-324):
        for given, found in zip(p, correct_downsampling(p, w), strict=True):
            x, share = Fraction(given), Fraction(w)
            assert found == pytest.approx(float(x * share / (x * share + 1 - x)), rel=1e-15, abs=1e-323)
    assert correct_downsampling(p, 1).tolist() == p.tolist()
    assert correct_downsampling(np.array([0.1], dtype=np.float32), 0.5).dtype == np.float64
