"""Results as flat dicts, for loggers of experiments: MLflow, Weights & Biases, TensorBoard, Lightning."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgeval.base.checks import names_unknown_arguments
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key


def log_name(key: str | Metric) -> str:
    """Return the name of a metric for loggers that refuse "@" and parentheses, such as MLflow.

    Parameters
    ----------
    key : str or Metric
        As in `EvaluationResult.value`: ``"hits@10"``, ``"raw.object.mrr"``.

    Returns
    -------
    str
        Letters, digits, ``_``, ``-`` and ``.``.

    Raises
    ------
    MetricError
        If the key is not valid.

    Examples
    --------
    >>> log_name("hits@10"), log_name("raw.tail.mrr"), log_name("adjusted(hits@3)")
    ('hits_at_10', 'raw.object.mrr', 'adjusted_hits_at_3')
    """
    name = str(Key.parse(key)).replace("@", "_at_")
    return re.sub(r"[^\w.-]+", "_", name).strip("_")


@names_unknown_arguments(keys="metrics=")
def flat_metrics(
    result: EvaluationResult, metrics: Sequence[str | Metric] | str = DEFAULT_METRICS, *, prefix: str = ""
) -> dict[str, float]:
    """Return values of a result as a flat dict, name -> float, for loggers of experiments.

    Parameters
    ----------
    result : EvaluationResult
    metrics : sequence of str or Metric, or one string with commas
        Keys of the result, such as ``"mrr"`` or ``"raw.object.hits@10"``.
    prefix : str
        Put before each name, for example ``"valid/"``.

    Returns
    -------
    dict of str to float
        The names are those of `log_name`. A value that is undefined is NaN.

    Raises
    ------
    MetricError
        If `metrics` is empty, if a key is not valid, or if its side was not ranked.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> flat_metrics(evaluate(lambda s, p, o: s - o, dataset), "mr,object.hits@1", prefix="test/")
    {'test/mr': 3.0, 'test/object.hits_at_1': 0.0}
    """
    chosen = split_list(metrics)
    if not chosen:
        raise MetricError("metrics is empty; name at least one, such as 'mrr,hits@10'")
    return {prefix + log_name(key): result.value(key).value for key in chosen}
