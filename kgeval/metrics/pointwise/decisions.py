"""Metrics of decisions; a decision is the prediction that an example is positive, or that it is negative.

Each metric is computed from the numbers of true and false positives and negatives (`DecisionCounts`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Bools, Ids, Reals, check_number
from kgeval.metrics.base import MetricValue
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.examples import DEFAULT_THRESHOLD, check_same_length, read_binary_labels, read_decisions
from kgeval.metrics.pointwise.sampling import balanced_weights, of_classes
from kgeval.stats.moments import Moments

_INFINITE = float("inf")
_RIJSBERGEN = "van Rijsbergen (1979), Information Retrieval"
_FAWCETT = "Fawcett (2006), An introduction to ROC analysis"


class DecisionCounts(NamedTuple):
    """Number of true positives (tp), false positives (fp), false negatives (fn) and true negatives (tn)."""

    tp: int
    fp: int
    fn: int
    tn: int


def count_decisions(labels: Bools, decisions: Bools) -> DecisionCounts:
    """Return the numbers of true and false positives and negatives.

    Parameters
    ----------
    labels, decisions : bool arrays, shape (n,)
        Whether each example is positive, and whether it is predicted positive.

    Returns
    -------
    DecisionCounts

    Examples
    --------
    >>> import numpy as np
    >>> count_decisions(np.array([True, True, False]), np.array([True, False, False]))
    DecisionCounts(tp=1, fp=0, fn=1, tn=1)
    """
    tp, actual, predicted = int((labels & decisions).sum()), int(labels.sum()), int(decisions.sum())
    return DecisionCounts(tp, predicted - tp, actual - tp, len(labels) - actual - predicted + tp)


def confusion(labels: npt.ArrayLike, predictions: npt.ArrayLike, threshold: float = DEFAULT_THRESHOLD) -> pd.DataFrame:
    """Return the confusion matrix: the number of examples for each actual class and each predicted class.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
    predictions : bools, or numbers, shape (n,)
        An example is predicted positive if its prediction is True, or is a number of at least `threshold`.
    threshold : float

    Returns
    -------
    DataFrame
        int64, ``[[tn, fp], [fn, tp]]``; the rows are the actual classes 0 and 1, the columns the predicted classes.

    Raises
    ------
    DataError, ScoreError
        As in `Accuracy`.
    MetricError
        If the threshold is not a finite number.

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis.

    Examples
    --------
    >>> confusion([1, 1, 0, 0, 0], [0.9, 0.2, 0.5, 0.1, 0.0])  # doctest: +NORMALIZE_WHITESPACE
    predicted  0  1
    actual
    0          2  1
    1          1  1
    """
    limit = check_number("threshold", threshold, -_INFINITE, _INFINITE, "a finite number")
    actual, predicted = read_binary_labels(labels), read_decisions("confusion", predictions, limit)
    check_same_length(actual, predicted)
    tp, fp, fn, tn = count_decisions(actual, predicted)
    kinds = pd.Index([0, 1], name="actual")
    return pd.DataFrame([[tn, fp], [fn, tp]], index=kinds, columns=kinds.rename("predicted"), dtype="int64")


@dataclass(frozen=True)
class DecisionMetric(PointMetric):
    """Base class of the metrics of decisions.

    A subclass defines `ratio` and `of_counts`, which compute the metric from `DecisionCounts` (tp, fp, fn, tn). It also
    defines `weights` if the examples do not all have the same weight in the metric.

    Parameters
    ----------
    threshold : float
        If predictions are numbers, an example is predicted positive if its prediction is at least the threshold. If 0.5
        is not suitable, choose the threshold on validation examples, never on test examples. If predictions are bools,
        the threshold is not used.
    """

    threshold: float = field(default=DEFAULT_THRESHOLD, kw_only=True)
    needs: ClassVar[str] = "decisions"
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    best: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        self._check("threshold", -_INFINITE, _INFINITE, "a finite number")

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[Bools, Bools]:
        """Return labels and decisions as bools."""
        actual = read_binary_labels(labels)
        predicted = read_decisions(self.name, predictions, self.threshold)
        check_same_length(actual, predicted)
        return actual, predicted

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the metric of labels and decisions."""
        return self.of_counts(count_decisions(labels, predictions))

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return the metric, computed from the counts of at least one example; see `DecisionCounts`."""
        raise TypeError(f"{type(self).__name__} does not define of_counts(counts)")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return numerator and denominator of the metric.

        Parameters
        ----------
        tp, fp, fn, tn : ints, or float64 arrays of equal shape
            Counts as in `DecisionCounts`, or these counts divided by the number of examples.
        """
        raise TypeError(f"{type(self).__name__} does not define ratio(tp, fp, fn, tn)")

    def weights(self, labels: Bools, decisions: Bools) -> Reals | None:
        """Return the weight of each example in the metric, for `Moments.weights`; None if all weights are equal."""
        return None

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the metric as a function of two means: the share of predicted positives in each class of examples."""

        def finish(positive: Reals, negative: Reals, share: float) -> Reals:
            tp, fp = positive[..., 0], negative[..., 0]
            numerator, denominator = self.ratio(tp, fp, share - tp, 1.0 - share - fp)
            return np.asarray(numerator / denominator)

        return of_classes(labels, [predictions], finish, self.weights(labels, predictions))

    def _check(self, name: str, low: float, high: float, wanted: str) -> None:
        """Check that parameter `name` is a number between `low` and `high`, and store it as a float.

        `wanted` describes the allowed numbers in the error message.
        """
        value = check_number(f"{name} of {self.name}", getattr(self, name), low, high, wanted)
        object.__setattr__(self, name, value)


def _ratio(numerator: float, denominator: float, absent: str) -> MetricValue:
    """Return numerator / denominator; if the denominator is 0, return NaN with a reason that begins with `absent`."""
    return MetricValue(numerator / denominator) if denominator else MetricValue.undefined(f"{absent}: 0 / 0")


@POINTS.register
@dataclass(frozen=True)
class Accuracy(DecisionMetric):
    """Share of correct decisions: (true positives + true negatives) / number of examples.

    If few examples are positive, a model that predicts all examples negative has a high accuracy; see
    `BalancedAccuracy`.

    References
    ----------
    Socher et al. (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS.

    Examples
    --------
    >>> Accuracy().compute([1, 1, 0, 0], [0.9, 0.5, 0.5, 0.1]).value
    0.75
    """

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "accuracy"
    reference: ClassVar[str] = (
        "Socher et al. (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS"
    )

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return the share of correct decisions."""
        return _ratio(*self.ratio(*counts), "no examples")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return tp + tn and the number of examples."""
        return tp + tn, tp + fp + fn + tn


@POINTS.register
@dataclass(frozen=True)
class Precision(DecisionMetric):
    """Share of positive examples among the examples predicted positive: tp / (tp + fp).

    References
    ----------
    van Rijsbergen (1979), Information Retrieval.

    Examples
    --------
    >>> Precision().compute([1, 1, 0, 0], [0.9, 0.1, 0.5, 0.1]).value
    0.5
    >>> Precision().compute([1, 0], [False, False]).reason
    'no example is predicted positive: 0 / 0'
    """

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "precision"
    reference: ClassVar[str] = _RIJSBERGEN
    undefined_when: ClassVar[str] = "no example is predicted positive"

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return tp / (tp + fp)."""
        return _ratio(*self.ratio(*counts), "no example is predicted positive")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return tp and tp + fp."""
        return tp, tp + fp

    def weights(self, labels: Bools, decisions: Bools) -> Reals:
        """Return 1 for the examples that are predicted positive, else 0."""
        return decisions.astype(np.float64)


@POINTS.register
@dataclass(frozen=True)
class Recall(DecisionMetric):
    """Share of the positive examples that are predicted positive: tp / (tp + fn).

    References
    ----------
    van Rijsbergen (1979), Information Retrieval.

    Examples
    --------
    >>> Recall().compute([1, 1, 0, 0], [0.9, 0.1, 0.5, 0.1]).value
    0.5
    """

    name: ClassVar[str] = "recall"
    synonyms: ClassVar[tuple[str, ...]] = ("sensitivity", "tpr")
    title: ClassVar[str] = "recall"
    reference: ClassVar[str] = _RIJSBERGEN
    undefined_when: ClassVar[str] = "there is no positive example"

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return tp / (tp + fn)."""
        return _ratio(*self.ratio(*counts), "no positive example")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return tp and tp + fn."""
        return tp, tp + fn

    def weights(self, labels: Bools, decisions: Bools) -> Reals:
        """Return 1 for the positives, else 0."""
        return labels.astype(np.float64)


@POINTS.register
@dataclass(frozen=True)
class Specificity(DecisionMetric):
    """Share of the negative examples that are predicted negative: tn / (tn + fp).

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis.

    Examples
    --------
    >>> Specificity().compute([1, 0, 0, 0, 0], [0.9, 0.9, 0.1, 0.2, 0.3]).value
    0.75
    """

    name: ClassVar[str] = "specificity"
    synonyms: ClassVar[tuple[str, ...]] = ("tnr",)
    title: ClassVar[str] = "specificity"
    reference: ClassVar[str] = _FAWCETT
    undefined_when: ClassVar[str] = "there is no negative example"

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return tn / (tn + fp)."""
        return _ratio(*self.ratio(*counts), "no negative example")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return tn and tn + fp."""
        return tn, tn + fp

    def weights(self, labels: Bools, decisions: Bools) -> Reals:
        """Return 1 for the negatives, else 0."""
        return (~labels).astype(np.float64)


@POINTS.register
@dataclass(frozen=True)
class BalancedAccuracy(DecisionMetric):
    """Mean of recall and specificity; 1/2 for a model that gives all examples the same decision.

    References
    ----------
    Brodersen et al. (2010), The Balanced Accuracy and Its Posterior Distribution, ICPR.

    Examples
    --------
    >>> BalancedAccuracy().compute([1, 0, 0, 0], [False, False, False, False]).value
    0.5
    """

    name: ClassVar[str] = "balanced_accuracy"
    title: ClassVar[str] = "balanced accuracy"
    reference: ClassVar[str] = "Brodersen et al. (2010), The Balanced Accuracy and Its Posterior Distribution, ICPR"
    undefined_when: ClassVar[str] = "all labels are of one class"

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return (tp / (tp + fn) + tn / (tn + fp)) / 2."""
        absent = "positive" if counts.tp + counts.fn == 0 else "negative"
        return _ratio(*self.ratio(*counts), f"no {absent} example")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return the numerator and the denominator of (recall + specificity) / 2 as one fraction."""
        return tp * (tn + fp) + tn * (tp + fn), 2 * (tp + fn) * (tn + fp)

    def weights(self, labels: Bools, decisions: Bools) -> Reals:
        """Return weights that give positives and negatives the same total weight."""
        return balanced_weights(labels)


@POINTS.register
@dataclass(frozen=True)
class FBeta(DecisionMetric):
    """F-beta: the weighted harmonic mean of precision and recall; `beta` sets the weight of recall.

    The value is (1 + beta^2) * tp / ((1 + beta^2) * tp + beta^2 * fn + fp). If exactly one of precision and recall is
    0 / 0, the value is 0.

    Parameters
    ----------
    beta : float
        Above 0; the weight of recall in the mean is beta^2 times the weight of precision. With beta 1, both have equal
        weight, and the key of the metric is ``f1``.
    threshold : float
        As in `DecisionMetric`.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval.

    Examples
    --------
    >>> FBeta().compute([1, 1, 0, 0], [0.9, 0.1, 0.2, 0.1]).value  # precision 1, recall 1/2
    0.6666666666666666
    >>> str(FBeta()), str(FBeta(beta=2))
    ('f1', 'fbeta(beta=2)')
    """

    beta: float = 1.0
    name: ClassVar[str] = "fbeta"
    synonyms: ClassVar[tuple[str, ...]] = ("f1",)
    title: ClassVar[str] = "F"
    reference: ClassVar[str] = _RIJSBERGEN
    undefined_when: ClassVar[str] = "no example is positive and none is predicted positive"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("beta", 0.0, 1e100, "a number above 0 and below 1e100")

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return F-beta from the counts; if beta is an integer, numerator and denominator are exact integers."""
        return _ratio(*self.ratio(*counts), "no example is positive or predicted positive")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return (1 + beta^2) * tp, and (1 + beta^2) * tp + beta^2 * fn + fp."""
        square = self.beta**2
        numerator = (1 + square) * tp
        return numerator, numerator + square * fn + fp

    def weights(self, labels: Bools, decisions: Bools) -> Reals:
        """Return the part of each example in the denominator: beta^2 for a positive, plus 1 if predicted positive."""
        return np.asarray(self.beta**2 * labels + decisions, dtype=np.float64)

    def __str__(self) -> str:
        text = super().__str__()
        return "f1" + text.removeprefix(self.name) if self.beta == 1 else text

    @property
    def heading(self) -> str:
        """The metric's name in printed tables and charts, such as F1 or F(beta=2)."""
        return self.title + str(self).removeprefix(self.name).removeprefix("f")


@POINTS.register
@dataclass(frozen=True)
class MCC(DecisionMetric):
    """Matthews correlation of labels and decisions: 1 if all decisions are right, -1 if all are wrong.

    The value is (tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)). The MCC is 0 if decisions
    and labels are unrelated.

    References
    ----------
    Matthews (1975), Comparison of the predicted and observed secondary structure of T4 phage lysozyme.

    Examples
    --------
    >>> MCC().compute([1, 1, 0, 0], [True, False, False, False]).value  # 2 / sqrt(1 * 2 * 2 * 3)
    0.5773502691896258
    """

    name: ClassVar[str] = "mcc"
    synonyms: ClassVar[tuple[str, ...]] = ("matthews",)
    title: ClassVar[str] = "MCC"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    reference: ClassVar[str] = (
        "Matthews (1975), Comparison of the predicted and observed secondary structure of T4 phage lysozyme"
    )
    undefined_when: ClassVar[str] = "all labels, or all decisions, are of one class"

    def of_counts(self, counts: DecisionCounts) -> MetricValue:
        """Return the correlation; the products are Python integers, which do not overflow."""
        return _ratio(*self.ratio(*counts), "all labels or all decisions are of one class")

    def ratio(self, tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
        """Return tp * tn - fp * fn, and the root of the product of the four sums."""
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        # np.sqrt does not accept Python integers above 2 ** 64, and math.sqrt does not accept arrays. In an array, the
        # sums are differences of rounded means, so rounding errors can make a product of 0 slightly negative.
        root = math.sqrt(product) if isinstance(product, int) else np.sqrt(np.maximum(product, 0.0))
        return tp * tn - fp * fn, root

    def weights(self, labels: Bools, decisions: Bools) -> Reals:
        """Return weights that give positives and negatives the same total weight."""
        return balanced_weights(labels)
