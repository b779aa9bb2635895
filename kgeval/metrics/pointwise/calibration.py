"""Calibration: turns scores into probabilities, and corrects probabilities for downsampled negatives.

Users and `kgeval.classification` call `calibrate` with validation scores.
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Reals, check_number, check_one_of
from kgeval.errors import KgevalWarning, MetricError, MissingExtra, ScoreError
from kgeval.metrics.pointwise.examples import check_same_length, read_binary_labels, read_finite, read_probabilities

CALIBRATIONS = ("platt", "isotonic")
MAX_STEPS, GRADIENT = 200, 1e-14  # scikit-learn's max_iter and tol (largest allowed gradient) in the Platt fit


class Calibrator:
    """A monotone function that `calibrate` fits; ``calibrator(scores)`` returns the probability of each score."""

    method: ClassVar[str]

    def __call__(self, scores: npt.ArrayLike) -> Reals:
        """Return the probability of each score.

        Parameters
        ----------
        scores : int or float array, shape (n,)
            Finite scores, from the same model as the scores that were passed to `calibrate`.

        Returns
        -------
        float64 array, shape (n,)
            In [0, 1].

        Raises
        ------
        ScoreError
            If a score is not finite. The message names the first such score.
        """
        return self.transform(read_finite(scores, "scores"))

    def transform(self, values: Reals) -> Reals:
        """Return the probability of each finite score."""
        raise TypeError(f"{type(self).__name__} does not define transform(values)")


@dataclass(frozen=True)
class PlattCalibrator(Calibrator):
    """The logistic function 1 / (1 + exp(-(slope * (score - center) + intercept))).

    Parameters
    ----------
    slope, intercept : float
    center : float
        The mean of the scores that the function was fitted to. The function first subtracts `center` from each score,
        so that large scores do not lose digits in the sum with the intercept.

    Examples
    --------
    >>> PlattCalibrator(slope=2.0, intercept=0.0, center=7.0)([7.0, 8.0]).round(4)
    array([0.5   , 0.8808])
    """

    slope: float
    intercept: float
    center: float
    method: ClassVar[str] = "platt"

    def transform(self, values: Reals) -> Reals:
        """Return the logistic function of each score."""
        return _logistic(self.slope * (values - self.center) + self.intercept)


@dataclass(frozen=True)
class IsotonicCalibrator(Calibrator):
    """A non-decreasing function through given points: linear between the points, constant outside their range.

    Parameters
    ----------
    scores, probabilities : tuples of floats of equal length
        The coordinates of the points, by ascending score.

    Examples
    --------
    >>> IsotonicCalibrator(scores=(0.0, 1.0), probabilities=(0.25, 0.75))([-9.0, 0.5, 9.0])
    array([0.25, 0.5 , 0.75])
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    method: ClassVar[str] = "isotonic"

    def transform(self, values: Reals) -> Reals:
        """Return the probability at each score, interpolated linearly between the points."""
        return np.interp(values, self.scores, self.probabilities)


def calibrate(
    scores: npt.ArrayLike, labels: npt.ArrayLike, method: str = "platt", prior: float | None = None
) -> Calibrator:
    """Fit a function from scores to probabilities; use validation examples, never test examples.

    Parameters
    ----------
    scores : int or float array, shape (n,)
        Finite raw scores of validation examples, higher is more plausible.
    labels : bools or 0/1, shape (n,)
        At least one example of each class.
    method : str
        ``"platt"``: a logistic function, whose two parameters are fitted by maximum likelihood without
        regularisation; suits few examples. ``"isotonic"``: a non-decreasing function of any shape; needs thousands of
        examples, and some different scores get the same probability.
    prior : float, optional
        The share of positives, above 0 and below 1, in the data that the calibrator will be applied to. The examples
        are weighted so that the positives have this share of the total weight. Set `prior` if the negatives are sampled
        or generated, since the share of positives in `labels` is then arbitrary. By default all examples have equal
        weight.

    Returns
    -------
    Calibrator
        ``calibrator(scores)`` returns probabilities in [0, 1]. For the examples of the fit, the mean probability equals
        the share of positives (with `prior`, the weighted mean equals `prior`).

    Raises
    ------
    DataError, ScoreError, MetricError
        If scores, labels, method or prior are not as described above, or if all labels are of one class. With
        ``"platt"``, also if a threshold on the scores separates all, or almost all, positives from the negatives: the
        likelihood then has no maximum, or a maximum that cannot be computed precisely.
    MissingExtra
        If scikit-learn, which fits the function, is not installed.

    Warns
    -----
    KgevalWarning
        If the fitted Platt slope is negative: positives then tend to have lower scores than negatives, and higher
        scores get lower probabilities.

    References
    ----------
    Platt (1999), Probabilistic Outputs for Support Vector Machines. Zadrozny & Elkan (2002), Transforming Classifier
    Scores into Accurate Multiclass Probability Estimates, KDD. Tabacof & Costabello (2020), Probability Calibration
    for Knowledge Graph Embedding Models, ICLR (generated negatives and `prior`).

    Examples
    --------
    >>> calibrator = calibrate([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])  # doctest: +SKIP
    >>> calibrator([0.0, 2.5, 9.0]).round(3)  # doctest: +SKIP
    array([0.094, 0.5  , 0.997])
    """
    check_calibration(method, prior)
    values, actual = read_finite(scores, "scores"), read_binary_labels(labels)
    check_same_length(actual, values, "scores")
    if not actual.any() or actual.all():
        kind = "positive" if not actual.any() else "negative"
        raise MetricError(f"calibrate needs examples of both classes; got no {kind} example among {len(actual)}")
    weights = _weights(actual, prior)
    return (_fit_platt if method == "platt" else _fit_isotonic)(values, actual, weights)


def check_calibration(method: str, prior: float | None) -> None:
    """Check `method` and `prior` of `calibrate`, and that scikit-learn is installed.

    Callers run this check before they compute any score, so that a wrong argument is reported at once.

    Parameters
    ----------
    method : str
    prior : float or None
        As in `calibrate`.

    Raises
    ------
    MetricError
        If the method is unknown, or the prior is not above 0 and below 1.
    MissingExtra
        If scikit-learn is not installed.
    """
    check_one_of("method", method, CALIBRATIONS, MetricError)
    if prior is not None:
        check_number("prior", prior, 0.0, 1.0, "above 0 and below 1")
    if importlib.util.find_spec("sklearn") is None:
        name = {"platt": "Platt", "isotonic": "isotonic"}[method]
        raise MissingExtra(f'{name} calibration needs scikit-learn; pip install "kgeval[sklearn]"')


def correct_downsampling(probabilities: npt.ArrayLike, kept_share: float) -> Reals:
    """Return probabilities corrected for downsampled negatives.

    A model that is trained or calibrated with only a share w of the negatives predicts too many positives. A
    probability p is corrected to p / (p + (1 - p) / w).

    Parameters
    ----------
    probabilities : float array, shape (n,)
        In [0, 1].
    kept_share : float
        w, the share of the negatives that was kept, above 0 and at most 1; with 1, the probabilities do not change.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    ScoreError
        If a probability lies outside [0, 1].
    MetricError
        If `kept_share` is not above 0 and at most 1.

    References
    ----------
    He et al. (2014), Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD.

    Examples
    --------
    >>> correct_downsampling([0.0, 0.5, 1.0], 0.25)  # 0.5 / (0.5 + 0.5 / 0.25)
    array([0. , 0.2, 1. ])
    """
    p = read_probabilities("correct_downsampling", probabilities)
    share = 1.0 if kept_share == 1 else check_number("kept_share", kept_share, 0.0, 1.0, "above 0 and at most 1")
    return p * share / (p * share + (1.0 - p))


def _weights(labels: Bools, prior: float | None) -> Reals:
    """Return the weight of each example, float64 (n,); the mean weight is 1.

    All positives together have the share `prior` of the total weight. If `prior` is None, all weights are 1.
    """
    if prior is None:
        return np.ones(len(labels))
    share = check_number("prior", prior, 0.0, 1.0, "above 0 and below 1")
    labelled_share = float(labels.mean())
    return np.where(labels, share / labelled_share, (1.0 - share) / (1.0 - labelled_share))


def _fit_platt(values: Reals, labels: Bools, weights: Reals) -> Calibrator:
    """Return the logistic function with the largest weighted likelihood; all arrays have the shape (n,)."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ModuleNotFoundError as error:
        raise MissingExtra('Platt calibration needs scikit-learn; pip install "kgeval[sklearn]"') from error
    center = float(values.mean())
    if values.min() == values.max():
        return PlattCalibrator(0.0, _logit(labels, weights), center)
    positives, negatives = values[labels], values[~labels]
    if positives.min() >= negatives.max() or negatives.min() >= positives.max():
        raise ScoreError(
            "the scores separate positives from negatives, so the slope of Platt's function has no finite value; "
            "use method='isotonic', or more and harder validation examples"
        )
    # The centred scores are divided by the largest absolute value, so that the fit does not depend on the scale of the
    # scores.
    scale = float(np.abs(values - center).max())
    rows = ((values - center) / scale)[:, None]
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=GRADIENT, max_iter=MAX_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gradient below checks whether the fit converged
        model.fit(rows, labels, sample_weight=weights)
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    # (n,): the weighted residuals. The gradient of the negative log-likelihood has two parts: the sum of the residuals
    # (for the intercept), and the sum of residual * scaled score (for the slope). Both must be small compared with the
    # weight of the smaller class.
    residuals = weights * (_logistic(slope * rows[:, 0] + intercept) - labels)
    smaller_class = min(float(weights[labels].sum()), float(weights[~labels].sum()))
    if not max(abs(residuals.sum()), abs(residuals @ rows[:, 0])) <= 1e-6 * smaller_class:
        raise ScoreError(
            "the scores almost separate positives from negatives, so the slope of Platt's function could not be "
            "fitted precisely; use method='isotonic', or more and harder validation examples"
        )
    slope = slope / scale  # back to the scale of the scores
    if slope < 0:
        warnings.warn(
            f"Platt's slope is negative ({slope:.3g}): positives have lower scores than negatives; if the "
            "scores are distances, negate them first",
            KgevalWarning,
            stacklevel=3,
        )
    return PlattCalibrator(slope, intercept, center)


def _logistic(logit: Reals) -> Reals:
    """Return 1 / (1 + exp(-logit)), without overflow and precise in both tails."""
    small = np.exp(-np.abs(logit))
    return np.where(logit >= 0, 1.0, small) / (1.0 + small)


def _logit(labels: Bools, weights: Reals) -> float:
    """Return the logarithm of (total weight of the positives) / (total weight of the negatives)."""
    return float(np.log(weights[labels].sum()) - np.log(weights[~labels].sum()))


def _fit_isotonic(values: Reals, labels: Bools, weights: Reals) -> Calibrator:
    """Return the non-decreasing function with the smallest weighted squared error; all arrays have shape (n,)."""
    try:
        from sklearn.isotonic import IsotonicRegression
    except ModuleNotFoundError as error:
        raise MissingExtra('isotonic calibration needs scikit-learn; pip install "kgeval[sklearn]"') from error
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    model.fit(values, labels.astype(np.float64), sample_weight=weights)
    return IsotonicCalibrator(tuple(model.X_thresholds_.tolist()), tuple(model.y_thresholds_.tolist()))
