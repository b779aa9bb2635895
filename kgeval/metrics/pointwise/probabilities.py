"""Metrics of probabilities: how close predicted probabilities are to the labels. Predictions outside [0, 1] are errors.

`kgeval.metrics.pointwise.curves` also calls `fill_bins` and `check_bins`, for the reliability curve.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Ids, Reals, check_number, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, MetricValue
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.examples import check_same_length, read_binary_labels, read_groups, read_probabilities
from kgeval.metrics.pointwise.sampling import mean_of_losses, of_classes
from kgeval.stats.moments import Moments

STRATEGIES = ("width", "mass")
MAX_CELLS = 2**23  # largest number of examples * groups in a test of calibration errors; 64 MB as float64
_BIASED = "chance makes calibration errors too high on average, so an interval around them would be misleading"
_HE = "He et al. (2014), Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD"


class ProbabilityMetric(PointMetric):
    """Base of the metrics of predicted probabilities; predictions outside [0, 1] are errors."""

    needs: ClassVar[str] = "probabilities"
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    best: ClassVar[float] = 0.0

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[Bools, Reals]:
        """Return labels as bools, and probabilities as float64."""
        actual, predicted = read_binary_labels(labels), read_probabilities(self.name, predictions)
        check_same_length(actual, predicted)
        return actual, predicted


@POINTS.register
@dataclass(frozen=True)
class LogLoss(ProbabilityMetric):
    """Mean negative log-likelihood: the mean of -ln(p) for label 1 and -ln(1 - p) for label 0; p is the prediction.

    Parameters
    ----------
    clip : float
        With 0, no probability is clipped, and the loss is infinite if an example with label 1 has the probability 0, or
        an example with label 0 has the probability 1. With a number above 0 and below 0.5, probabilities are first
        clipped to [clip, 1 - clip], and the value depends on `clip`; `count_clipped` returns how many are clipped.

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
        return MetricValue(float(self._losses(labels, predictions).mean()))

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the mean loss."""
        losses = self._losses(labels, predictions)
        if np.isinf(losses).any():
            raise MetricError("the value is infinite, because a probability of 0 or 1 is wrong; set clip")
        return mean_of_losses(labels, losses)

    def _losses(self, labels: Bools, predictions: Reals) -> Reals:
        """Return the loss of each example, float64 (n,)."""
        with np.errstate(divide="ignore"):
            losses = np.abs(np.where(labels, np.log(predictions), np.log1p(-predictions)))
        if self.clip:
            # Clip the losses instead of p: for a small clip, 1 - clip rounds to 1, and the loss would be infinite.
            losses = np.clip(losses, -np.log1p(-self.clip), -np.log(self.clip))
        return np.asarray(losses)

    def count_clipped(self, probabilities: npt.ArrayLike) -> int:
        """Return the number of probabilities outside [clip, 1 - clip].

        Parameters
        ----------
        probabilities : float array, shape (n,)
            In [0, 1].

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
    """Mean squared difference between probability p and label y: the mean of (p - y)^2.

    If every prediction is m, the share of positives, the value is m * (1 - m). So if few examples are positive, even
    useless predictions have a small value.

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

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the mean squared difference."""
        return mean_of_losses(labels, np.square(predictions - labels))


class Bins(NamedTuple):
    """The bins into which examples are sorted by probability.

    Parameters
    ----------
    low, high : float64 arrays, shape (bins,)
        The limits of the bins. With the strategy ``"mass"``: the smallest and largest probability in the bin, NaN in
        an empty bin.
    n : int64 array, shape (bins,)
        Number of examples in each bin.
    probability : float64 array, shape (bins,)
        Sum of the probabilities in each bin.
    positives : int64 array, shape (bins,)
        Number of positive examples in each bin.
    """

    low: Reals
    high: Reals
    n: Ids
    probability: Reals
    positives: Ids


def fill_bins(labels: Bools, probabilities: Reals, bins: int, strategy: str) -> Bins:
    """Sort examples into bins by probability.

    Parameters
    ----------
    labels : bool array, shape (n,)
        True for positive examples; n is at least 1.
    probabilities : float64 array, shape (n,)
        In [0, 1].
    bins : int
        Number of bins, at least 1.
    strategy : str
        ``"width"``: bin i is [i / bins, (i + 1) / bins), the last bin includes 1; the limits are rounded to float64.
        ``"mass"``: all bins have about the same number of examples. An example is in bin floor(bins * j / n), where j
        is the number of examples with a smaller probability. So equal probabilities are always in the same bin, and
        bins may be empty.

    Returns
    -------
    Bins

    Examples
    --------
    >>> fill_bins(np.array([True, False, True]), np.array([0.2, 0.5, 1.0]), 2, "width").positives
    array([1, 1])
    """
    # Sort the examples by probability; bin i is then the range starts[i]:ends[i]. starts and ends have shape (bins,).
    order = np.argsort(probabilities, kind="stable")
    p, y, n = probabilities[order], labels[order], len(order)
    if strategy == "width":
        starts = np.searchsorted(p, np.arange(bins) / bins)
    else:
        # searchsorted(p, p) is, for each example, the number of smaller probabilities: j in the docstring.
        starts = np.searchsorted(bins * np.searchsorted(p, p) // n, np.arange(bins))
    ends = np.append(starts[1:], n)
    # (n + 1,): cumulated[i] is the number of positives among the first i examples.
    cumulated, is_empty = np.append(0, np.cumsum(y, dtype=np.int64)), starts == ends
    if strategy == "width":
        low, high = np.arange(bins) / bins, np.arange(1, bins + 1) / bins
    else:
        # The smallest and the largest p of each bin. p is padded with NaN, since an empty bin may start at index n.
        padded = np.append(p, np.nan)
        low, high = np.where(is_empty, np.nan, padded[starts]), np.where(is_empty, np.nan, padded[ends - 1])
    sums = np.array([part.sum() for part in np.split(p, starts[1:])])
    return Bins(low, high, ends - starts, sums, cumulated[ends] - cumulated[starts])


def check_bins(caller: str, bins: Any, strategy: Any) -> None:
    """Check the number of bins and the strategy.

    Parameters
    ----------
    caller : str
        Name of the metric or function with the parameters `bins` and `strategy`, for the error message.
    bins : int
        At least 1.
    strategy : str
        ``"width"`` or ``"mass"``.

    Raises
    ------
    MetricError
        If `bins` is not an integer of at least 1, or if `strategy` is unknown.
    """
    check_positive_int(f"bins of {caller}", bins, MetricError)
    check_one_of(f"strategy of {caller}", strategy, STRATEGIES, MetricError)


@POINTS.register
@dataclass(frozen=True)
class ECE(ProbabilityMetric):
    """Expected calibration error: the mean over bins of |mean probability - share of positives|, weighted by bin size.

    The examples are sorted into bins by probability; the size of a bin is its number of examples. Errors of opposite
    signs cancel within a bin. With more bins, fewer errors cancel, but the means are noisier; so compare only values
    that are computed with the same bins.

    Parameters
    ----------
    bins : int
        Number of bins, at least 1.
    strategy : str
        ``"width"``: bin i is [i / bins, (i + 1) / bins), the last bin includes 1. ``"mass"``: all bins have about the
        same number of examples; equal probabilities are always in the same bin.

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
    no_interval: ClassVar[str] = _BIASED
    title: ClassVar[str] = "ECE"
    reference: ClassVar[str] = (
        "Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI"
    )

    def __post_init__(self) -> None:
        check_bins(self.name, self.bins, self.strategy)

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the calibration error: the mean of |mean probability - share of positives|, weighted by bin size."""
        filled = fill_bins(labels, predictions, self.bins, self.strategy)
        return MetricValue(float(np.abs(filled.probability - filled.positives).sum() / len(labels)))

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the calibration error as a function of means over the examples; only for bins of equal width."""
        if self.strategy != "width":
            raise MetricError("bins with equal numbers depend on all examples, so the error is not a function of means")
        # (n,): the bin of each example, as in `fill_bins`.
        codes = np.searchsorted(np.arange(self.bins) / self.bins, predictions, "right") - 1
        return _sum_of_gaps(labels, predictions, codes, self.bins)


@POINTS.register
@dataclass(frozen=True)
class FieldECE(ProbabilityMetric):
    """Calibration error over groups: the mean of |mean probability - share of positives|, weighted by group size.

    This is `ECE` with groups instead of bins. A group has all examples with the same value of a field, such as the
    relation or the user; the size of a group is its number of examples. `by_field` with PCOPC shows which groups are
    badly calibrated.

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
    no_interval: ClassVar[str] = _BIASED
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
        """See `PointMetric.compute`; `groups` must have one hashable value per example, `weights` must be None."""
        if weights is not None:
            raise MetricError(f"{self} takes no weights: the weight of a group is its number of examples")
        actual, predicted = self.read(labels, predictions)
        codes, _ = read_groups("groups", groups, len(actual))
        if not len(actual):
            return MetricValue.undefined("no examples")
        return MetricValue(float(np.abs(np.bincount(codes, predicted - actual)).sum() / len(actual)))

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the calibration error as a function of means over the examples, one mean per group."""
        if groups is None:
            raise MetricError(f"{self} needs the group of each example")
        codes = np.unique(groups, return_inverse=True)[1].reshape(len(groups))
        return _sum_of_gaps(labels, predictions, codes, int(codes.max()) + 1)


def _sum_of_gaps(labels: Bools, probabilities: Reals, codes: Ids, n_groups: int) -> Moments:
    """Return the calibration error over groups of examples, as a function of one mean per group.

    The mean of a group is the sum of (probability - label) over its examples, divided by the number of all examples.
    The calibration error is the sum of the absolute means.

    Raise a MetricError if the table with one row per example and one column per group would be too large.
    """
    if len(labels) * n_groups > MAX_CELLS:
        raise MetricError(
            f"{len(labels):,} examples in {n_groups:,} groups are too many for a test (at most {MAX_CELLS:,} examples "
            "times groups)"
        )
    gaps = np.where(codes[:, None] == np.arange(n_groups), (probabilities - labels)[:, None], 0.0)
    return of_classes(labels, list(gaps.T), lambda positive, negative, _: np.abs(positive + negative).sum(axis=-1))


@POINTS.register
@dataclass(frozen=True)
class PCOPC(ProbabilityMetric):
    """Sum of the probabilities / number of positives: above 1 if too many positives are predicted, below 1 if too few.

    A value of 1 does not prove calibration: errors of opposite signs cancel, and predictions that all equal the
    share of positives also have the value 1. See also `ECE`, `by_field` and the reliability curve. If negatives were
    downsampled, apply `kgeval.metrics.calibration.correct_downsampling` to the probabilities first.

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
    higher_is_better: ClassVar[bool | None] = None  # type: ignore[assignment] # 1 is best
    bounds: ClassVar[tuple[float, float]] = (0.0, UNBOUNDED)
    best: ClassVar[float] = 1.0
    reference: ClassVar[str] = _HE
    undefined_when: ClassVar[str] = "there is no positive example"

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the sum of the probabilities divided by the number of positives."""
        observed = int(labels.sum())
        if not observed:
            return MetricValue.undefined("no positive example: the sum of the labels is 0")
        return MetricValue(float(predictions.sum()) / observed)

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the mean probability divided by the (fixed) share of positives."""
        if not labels.any():
            raise MetricError("no positive example: the sum of the labels is 0")
        return of_classes(
            labels, [predictions], lambda positive, negative, share: (positive + negative)[..., 0] / share
        )
