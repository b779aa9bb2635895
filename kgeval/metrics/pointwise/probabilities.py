"""Metrics of probabilities: how near they are to what happens; raw ranking scores are refused."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.checks import Bools, Ids, Reals, check_number, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, MetricValue
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.examples import check_same_length, read_binary_labels, read_groups, read_probabilities

STRATEGIES = ("width", "mass")
_HE = "He et al. (2014), Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD"


class ProbabilityMetric(PointMetric):
    """Base of the metrics of probabilities in [0, 1]; narrower floats are widened to float64 first."""

    needs: ClassVar[str] = "probabilities"
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    best: ClassVar[float] = 0.0

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[Bools, Reals]:
        """Return labels as bools, and probabilities."""
        actual, predicted = read_binary_labels(labels), read_probabilities(self.name, predictions)
        check_same_length(actual, predicted)
        return actual, predicted


@POINTS.register
@dataclass(frozen=True)
class LogLoss(ProbabilityMetric):
    """Mean of -ln of the probability given to what happened: p for label 1, 1 - p for label 0.

    Parameters
    ----------
    clip : float
        0: nothing is clipped, and a single event called impossible makes the loss infinite. Above 0, below 0.5:
        p is moved into [clip, 1 - clip] first, and the value depends on it; `count_clipped` says how often.

    References
    ----------
    Good (1952), Rational Decisions, Journal of the Royal Statistical Society B.

    Examples
    --------
    >>> LogLoss().compute([1, 0], [0.5, 0.5]).value
    0.6931471805599453
    >>> LogLoss().compute([1, 0], [0.0, 0.5]).value
    inf
    >>> LogLoss(clip=0.25).compute([1, 0], [0.0, 0.25]).value  # (ln 4 + ln 4/3) / 2
    0.8369882167858358
    """

    clip: float = 0.0
    name: ClassVar[str] = "log_loss"
    synonyms: ClassVar[tuple[str, ...]] = ("cross_entropy", "nll")
    title: ClassVar[str] = "log loss"
    bounds: ClassVar[tuple[float, float]] = (0.0, UNBOUNDED)
    reference: ClassVar[str] = "Good (1952), Rational Decisions, Journal of the Royal Statistical Society B"

    def __post_init__(self) -> None:
        if self.clip != 0:
            check_number("clip of log_loss", self.clip, 0.0, 0.5, "0, or above 0 and below 0.5")
        object.__setattr__(self, "clip", float(self.clip))

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the mean loss."""
        with np.errstate(divide="ignore"):
            losses = np.abs(np.where(labels, np.log(predictions), np.log1p(-predictions)))
        if self.clip:
            # The loss is clipped, not p: 1 - clip rounds to 1 for a small clip, and its loss would be infinite.
            losses = np.clip(losses, -np.log1p(-self.clip), -np.log(self.clip))
        return MetricValue(float(losses.mean()))

    def count_clipped(self, probabilities: npt.ArrayLike) -> int:
        """Return how many probabilities lie outside [clip, 1 - clip].

        Examples
        --------
        >>> LogLoss(clip=0.01).count_clipped([0.0, 0.001, 0.5, 0.999])
        3
        """
        p = read_probabilities(self.name, probabilities)
        return int(((p < self.clip) | (1.0 - p < self.clip)).sum())


@POINTS.register
@dataclass(frozen=True)
class Brier(ProbabilityMetric):
    """Mean squared difference of probability and label: mean of (p - y)^2.

    A constant p equal to the share of positives, m, gives m (1 - m): with few positives every value is small.

    References
    ----------
    Brier (1950), Verification of Forecasts Expressed in Terms of Probability.

    Examples
    --------
    >>> Brier().compute([1, 0], [0.5, 0.5]).value
    0.25
    """

    name: ClassVar[str] = "brier"
    synonyms: ClassVar[tuple[str, ...]] = ("brier_score",)
    title: ClassVar[str] = "Brier"
    reference: ClassVar[str] = "Brier (1950), Verification of Forecasts Expressed in Terms of Probability"

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the mean squared difference."""
        return MetricValue(float(np.square(predictions - labels).mean()))


class Bins(NamedTuple):
    """Per bin: its limits, its number of examples, and the sums of their probabilities and labels.

    A bin of equal mass is limited by its smallest and largest probability; NaN where it is empty.
    """

    low: Reals
    high: Reals
    n: Ids
    probability: Reals
    positives: Ids


def fill_bins(labels: Bools, probabilities: Reals, bins: int, strategy: str) -> Bins:
    """Return the bins of examples by probability.

    Parameters
    ----------
    labels : bool array, shape (n,)
        n at least 1.
    probabilities : float64 array, shape (n,)
    bins : int
    strategy : str
        ``"width"``: [i / bins, (i + 1) / bins), the last one closed; the limits are rounded to float64.
        ``"mass"``: as many examples in each as ties allow. An example that follows j smaller probabilities is in
        bin floor(bins * j / n), so equal probabilities are never parted; some bins may stay empty.

    Examples
    --------
    >>> fill_bins(np.array([True, False, True]), np.array([0.2, 0.5, 1.0]), 2, "width").positives
    array([1, 1])
    """
    order = np.argsort(probabilities, kind="stable")
    p, y, n = probabilities[order], labels[order], len(order)
    if strategy == "width":
        starts = np.searchsorted(p, np.arange(bins) / bins)
    else:
        starts = np.searchsorted(bins * np.searchsorted(p, p) // n, np.arange(bins))
    ends = np.append(starts[1:], n)
    counted, is_empty = np.append(0, np.cumsum(y, dtype=np.int64)), starts == ends
    if strategy == "width":
        low, high = np.arange(bins) / bins, np.arange(1, bins + 1) / bins
    else:
        padded = np.append(p, np.nan)
        low, high = np.where(is_empty, np.nan, padded[starts]), np.where(is_empty, np.nan, padded[ends - 1])
    sums = np.array([part.sum() for part in np.split(p, starts[1:])])
    return Bins(low, high, ends - starts, sums, counted[ends] - counted[starts])


def check_bins(what: str, bins: Any, strategy: Any) -> None:
    """Raise MetricError unless `bins` is an integer of at least 1 and `strategy` a known one."""
    check_positive_int(f"bins of {what}", bins, MetricError)
    check_one_of(f"strategy of {what}", strategy, STRATEGIES, MetricError)


@POINTS.register
@dataclass(frozen=True)
class ECE(ProbabilityMetric):
    """Expected calibration error: sum over bins of (n_b / n) |mean p - mean y|.

    Labels are those of one class against the other, and p is the probability of the positive one. Errors within a
    bin cancel: more bins see more of them, and more noise, so values are comparable only at equal bins.

    Parameters
    ----------
    bins : int
        At least 1.
    strategy : str
        ``"width"``: bins [i / bins, (i + 1) / bins), the last one closed. ``"mass"``: as many examples in each as
        ties allow, equal probabilities together.

    References
    ----------
    Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI.

    Examples
    --------
    >>> round(ECE(bins=2).compute([0, 1, 1, 1], [0.1, 0.3, 0.7, 0.9]).value, 12)  # (|0.4 - 1| + |1.6 - 2|) / 4
    0.25
    """

    bins: int = 10
    strategy: str = "width"
    name: ClassVar[str] = "ece"
    title: ClassVar[str] = "ECE"
    reference: ClassVar[str] = (
        "Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI"
    )

    def __post_init__(self) -> None:
        check_bins(self.name, self.bins, self.strategy)

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the sum over the bins."""
        filled = fill_bins(labels, predictions, self.bins, self.strategy)
        return MetricValue(float(np.abs(filled.probability - filled.positives).sum() / len(labels)))


@POINTS.register
@dataclass(frozen=True)
class FieldECE(ProbabilityMetric):
    """Calibration error over groups instead of bins: sum over groups of |sum of p - sum of y| / n.

    A group is all examples of one relation, user or the like; `by_field` with PCOPC shows which are off.

    References
    ----------
    Pan et al. (2020), Field-aware Calibration: A Simple and Empirically Strong Method for Reliable Probabilistic
    Predictions, WWW.

    Examples
    --------
    >>> FieldECE().compute([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.25], ["a", "a", "b", "b"]).value  # (0 + |0.75 - 1|) / 4
    0.0625
    """

    name: ClassVar[str] = "field_ece"
    title: ClassVar[str] = "field ECE"
    reference: ClassVar[str] = (
        "Pan et al. (2020), Field-aware Calibration: A Simple and Empirically Strong Method for Reliable "
        "Probabilistic Predictions, WWW"
    )
    takes_groups: ClassVar[bool] = True

    def compute(
        self,
        labels: npt.ArrayLike,
        predictions: npt.ArrayLike,
        groups: Sequence[Hashable] | npt.ArrayLike | None = None,
        weights: Mapping[Any, float] | None = None,
    ) -> MetricValue:
        """See `PointMetric.compute`; `groups` holds one hashable value per example, `weights` must be None."""
        if weights is not None:
            raise MetricError(f"{self} takes no weights: a group counts by its number of examples")
        actual, predicted = self.read(labels, predictions)
        codes, _ = read_groups("groups", groups, len(actual))
        if not len(actual):
            return MetricValue.undefined("no examples")
        return MetricValue(float(np.abs(np.bincount(codes, predicted - actual)).sum() / len(actual)))


@POINTS.register
@dataclass(frozen=True)
class PCOPC(ProbabilityMetric):
    """Predicted over observed positives: sum of p / sum of y; above 1 the model expects too many.

    1 does not mean calibrated: errors of both signs cancel, and a constant p equal to the share of positives has it
    too. Look at `ECE`, at `by_field`, at the reliability curve. Where negatives were downsampled the probabilities
    need `kgeval.metrics.calibration.correct_downsampling` first.

    References
    ----------
    He et al. (2014), Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD.

    Examples
    --------
    >>> PCOPC().compute([1, 0, 1, 0], [0.5, 0.25, 1.0, 0.75]).value  # 2.5 expected, 2 observed
    1.25
    """

    name: ClassVar[str] = "pcopc"
    synonyms: ClassVar[tuple[str, ...]] = ("pcoc",)
    title: ClassVar[str] = "PCOPC"
    higher_is_better: ClassVar[bool | None] = None  # type: ignore[assignment] # best at 1, worse on both sides
    bounds: ClassVar[tuple[float, float]] = (0.0, UNBOUNDED)
    best: ClassVar[float] = 1.0
    reference: ClassVar[str] = _HE
    undefined_when: ClassVar[str] = "there is no positive example"

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return expected over observed positives."""
        observed = int(labels.sum())
        if not observed:
            return MetricValue.undefined("no positive example: the sum of the labels is 0")
        return MetricValue(float(predictions.sum()) / observed)
