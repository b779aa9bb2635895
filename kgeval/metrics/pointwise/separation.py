"""Metrics of scores: how well scores separate positive from negative examples. Only the order of the scores matters."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Bools, Ids, Reals, check_largest_weight, check_number
from kgeval.errors import MetricError
from kgeval.metrics.base import MetricValue
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.examples import (
    Numbers,
    check_same_length,
    read_binary_labels,
    read_groups,
    read_predicted_scores,
)
from kgeval.metrics.pointwise.sampling import balanced_weights, of_effects, placements, precision_effects
from kgeval.metrics.pointwise.thresholds import count_pairs, count_steps
from kgeval.stats.moments import Moments


class ScoreMetric(PointMetric):
    """Base class of the metrics of scores (`RocAuc`, `AveragePrecision`, `GAUC`).

    The scores may be any real numbers; only their order matters, so probabilities are not needed.
    """

    needs: ClassVar[str] = "scores"
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    best: ClassVar[float] = 1.0
    is_of_means: ClassVar[bool] = False

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[Bools, Numbers]:
        """Check labels and predictions; return the labels as bools, and the predictions as an array of scores."""
        actual, predicted = read_binary_labels(labels), read_predicted_scores(predictions)
        check_same_length(actual, predicted)
        return actual, predicted


@POINTS.register
@dataclass(frozen=True)
class RocAuc(ScoreMetric):
    """Area under the ROC curve: the share of (positive, negative) pairs in which the positive scores higher.

    Pairs of equal scores count one half, so constant scores give 1/2. The pairs are counted exactly, as integers.

    References
    ----------
    Hanley & McNeil (1982), The meaning and use of the area under a receiver operating characteristic curve.

    Examples
    --------
    >>> RocAuc().compute([1, 0, 1, 0], [4.0, 3.0, 3.0, 1.0]).value  # 3 pairs are right, 1 pair is tied
    0.875
    >>> RocAuc().compute([1, 1], [4.0, 3.0]).reason
    'no negative example'
    """

    name: ClassVar[str] = "auc"
    synonyms: ClassVar[tuple[str, ...]] = ("roc_auc",)
    title: ClassVar[str] = "AUC"
    reference: ClassVar[str] = (
        "Hanley & McNeil (1982), The meaning and use of the area under a receiver operating characteristic curve"
    )
    undefined_when: ClassVar[str] = "all labels are of one class"

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the share of pairs in which the positive scores higher."""
        _, doubled, pairs = count_pairs(count_steps(labels, predictions))
        if not pairs[0]:
            return MetricValue.undefined(f"no {'negative' if labels[0] else 'positive'} example")
        return MetricValue(int(doubled[0]) / (2 * int(pairs[0])))

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return a first-order approximation of the AUC; `placements` returns the effects of the examples."""
        _check_classes(labels)
        return of_effects(labels, self.measure(labels, predictions).value, placements(labels, predictions))


@POINTS.register
@dataclass(frozen=True)
class AveragePrecision(ScoreMetric):
    """Average precision: the precision with the score of each positive as the threshold, averaged over all positives.

    Examples with equal scores have the same precision; if all scores are equal, the value is the share of positives.
    The value is also the area below the precision-recall curve drawn as steps. This area is the sum of (increase of
    recall) * precision over the distinct scores, in descending order. The area below straight lines would be too large:
    if all scores are equal, the area below straight lines is (1 + share of positives) / 2.

    References
    ----------
    Davis & Goadrich (2006), The Relationship Between Precision-Recall and ROC Curves, ICML.

    Examples
    --------
    >>> AveragePrecision().compute([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).value  # (1/1 + 2/3) / 2
    0.8333333333333333
    >>> AveragePrecision().compute([1, 0, 0, 0], [7.0, 7.0, 7.0, 7.0]).value
    0.25
    """

    name: ClassVar[str] = "ap"
    synonyms: ClassVar[tuple[str, ...]] = ("average_precision", "pr_auc")
    title: ClassVar[str] = "AP"
    reference: ClassVar[str] = "Davis & Goadrich (2006), The Relationship Between Precision-Recall and ROC Curves, ICML"
    undefined_when: ClassVar[str] = "there is no positive example"
    # A few negatives with high scores decide the value, and a small sample often has none of them: in simulations, 95%
    # intervals hold the true value in only 0.80 to 0.89 of the samples with 50 positives, and in 0.91 with 200.
    min_of_class: ClassVar[int] = 200

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the sum of (increase of recall) * precision over the distinct scores, in descending order."""
        steps = count_steps(labels, predictions)
        if not steps.tp[-1]:
            return MetricValue.undefined("no positive example")
        new_positives = steps.tp - steps.before(steps.tp)
        return MetricValue(float(np.sum(new_positives * steps.tp / (steps.tp + steps.fp)) / steps.tp[-1]))

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return a first-order approximation of the average precision; see `precision_effects`."""
        _check_classes(labels)
        return of_effects(labels, self.measure(labels, predictions).value, precision_effects(labels, predictions))


@POINTS.register
@dataclass(frozen=True)
class GAUC(ScoreMetric):
    """Group AUC: the weighted mean over groups of the AUC within each group.

    Scores are compared only within a group; a group has the examples of one user, or of one query. The weight
    of a group is its number of examples, unless `weights` sets another weight, for example the number of clicks of the
    user. A group with examples of one class only has no AUC and is left out: `MetricValue.excluded` is the number of
    such groups, and `excluded_weight` is the sum of their weights divided by the total weight.

    References
    ----------
    Zhu et al. (2017), Optimized Cost per Click in Taobao Display Advertising, KDD.

    Examples
    --------
    >>> labels, scores, users = [1, 0, 1, 0, 1], [2.0, 1.0, 5.0, 6.0, 7.0], ["a", "a", "b", "b", "c"]
    >>> GAUC().compute(labels, scores, users)  # (2 * 1 + 2 * 0) / 4; user c, 1 of 5 examples, has no negative
    MetricValue(value=0.5, reason='', excluded=1, excluded_weight=0.2)
    >>> GAUC().compute(labels, scores, users, weights={"a": 3.0, "b": 1.0, "c": 0.0}).value
    0.75
    """

    name: ClassVar[str] = "gauc"
    synonyms: ClassVar[tuple[str, ...]] = ("group_auc",)
    title: ClassVar[str] = "GAUC"
    reference: ClassVar[str] = "Zhu et al. (2017), Optimized Cost per Click in Taobao Display Advertising, KDD"
    undefined_when: ClassVar[str] = "no group with weight has both a positive and a negative example"
    takes_groups: ClassVar[bool] = True

    def compute(
        self,
        labels: npt.ArrayLike,
        predictions: npt.ArrayLike,
        groups: Sequence[Hashable] | npt.ArrayLike | None = None,
        weights: Mapping[Any, float] | None = None,
    ) -> MetricValue:
        """Return the weighted mean of the groups' AUCs; for the errors, see `PointMetric.compute`.

        Parameters
        ----------
        labels, predictions : arrays, shape (n,)
        groups : sequence of hashable values, length n
            The group of each example.
        weights : mapping of each group to its weight, optional
            Each weight is at least 0, and the largest weight is from 1e-100 to 1e100. By default, the weight of a group
            is its number of examples.
        """
        actual, predicted = self.read(labels, predictions)
        codes, distinct = read_groups("groups", groups, len(actual))
        weight = _read_weights(weights, distinct, codes)
        if not len(actual):
            return MetricValue.undefined("no examples")
        group, doubled, pairs = count_pairs(count_steps(actual, predicted, codes))
        # (groups,) each: the weight of each group, in the order of `group`, and whether the group has both classes.
        weight, total = weight[group], float(weight.sum())
        has_both = pairs > 0
        n_excluded, kept_weight = int((~has_both).sum()), float(weight[has_both].sum())
        excluded_share = float(weight[~has_both].sum()) / total if total else 0.0
        if not kept_weight:
            reason = (
                "all groups with both classes have weight 0" if has_both.any() else "every group has only one class"
            )
            return MetricValue.undefined(reason, n_excluded, excluded_share)
        auc = doubled[has_both] / (2.0 * pairs[has_both])
        return MetricValue(float((weight[has_both] * auc).sum() / kept_weight), "", n_excluded, excluded_share)

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return a first-order approximation of GAUC; the weight of each group is its number of examples.

        The groups are treated as fixed. Groups with examples of one class only are left out.
        """
        if groups is None:
            raise MetricError(f"{self} needs the group of each example")
        value = self.compute(labels, predictions, groups)
        if value.reason:
            raise MetricError(value.reason)
        order = np.argsort(groups, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        parts = [part for part in parts if labels[part].any() and not labels[part].all()]
        n_kept, n_single = sum(map(len, parts)), sum(_smaller_class(labels[part]) < 2 for part in parts)
        if n_single:
            raise MetricError(
                f"{n_single:,} of {len(parts):,} groups with both classes have one positive or one negative only, so "
                "that their variation is unknown"
            )
        # effects (n,): how much the value rises if an example is counted once more, times the number of all examples.
        # weights (n,): the weight of the example's group, divided by the number of examples of this class in the group.
        effects, weights = np.zeros(len(labels)), np.zeros(len(labels))
        for part in parts:
            is_positive, shares = labels[part], placements(labels[part], predictions[part])
            sizes = np.where(is_positive, is_positive.sum(), (~is_positive).sum())
            # The squared deviations of m examples from the mean of these examples are too small, by a factor of
            # (m - 1) / m on average; the square root corrects this.
            spread = (shares - shares[is_positive].mean()) * np.sqrt(sizes / (sizes - 1.0))
            effects[part] = spread * len(labels) * len(part) / n_kept / sizes
            weights[part] = balanced_weights(is_positive) * len(part) / n_kept
        return Moments(value.value + effects[:, None], weights=weights)


def _smaller_class(labels: Bools) -> int:
    """Return the number of examples of the class with fewer examples."""
    return min(int(labels.sum()), int((~labels).sum()))


def _check_classes(labels: Bools) -> None:
    """Raise a MetricError unless there are at least two positives and two negatives."""
    for kind, n in (("positive", int(labels.sum())), ("negative", int((~labels).sum()))):
        if n < 2:
            n_found = f"one {kind} example only" if n else f"no {kind} example"
            raise MetricError(f"{n_found}, so that the variation is unknown")


def _read_weights(weights: Mapping[Any, float] | None, groups: pd.Index, codes: Ids) -> Reals:
    """Return the weight of each group, float64 (groups,); if `weights` is None, the number of examples of the group."""
    if weights is None:
        return np.bincount(codes, minlength=len(groups)).astype(np.float64)
    if not isinstance(weights, Mapping):
        raise MetricError(f"weights must be a mapping of each group to its weight; got {type(weights).__name__}")
    absent = [group for group in groups if group not in weights]
    if absent:
        n_more = len(absent) - 1
        missing = f"{absent[0]!r} and {n_more} more have none" if n_more else f"{absent[0]!r} has none"
        raise MetricError(f"weights must have an entry for every group; {missing}")
    values = np.array([_read_weight(group, weights[group]) for group in groups], dtype=np.float64)
    check_largest_weight(float(values.max(initial=0.0)))
    return values


def _read_weight(group: Any, weight: Any) -> float:
    """Return a weight as a float; raise a MetricError unless it is finite and at least 0."""
    return 0.0 if weight == 0 else check_number(f"the weight of group {group!r}", weight, 0.0, np.inf, "0 or more")
