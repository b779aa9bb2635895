"""Check that classifications can be compared, and find the rows that contain the same example.

`kgeval.compare_classifications` calls `pair_examples`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, counted
from kgeval.classification.classification_result import ClassificationResult
from kgeval.comparison.alignment import values_by_name
from kgeval.errors import ProtocolError
from kgeval.metrics.pointwise.base import PointMetric

EXAMPLE = ["s", "p", "o", "label"]
# Facts that must be equal: heading in messages -> tuple of three: key in `facts`; value for older files without this
# key; the kinds of predictions (`PointMetric.needs`) whose metrics depend on the fact, or None for all kinds.
_FACTS: dict[str, tuple[str, Any, tuple[str, ...] | None]] = {
    "dataset": ("dataset_fingerprint", None, None),
    "negatives": ("negatives_sha256", None, None),
    "threshold_at": ("threshold_at", "score", ("decisions",)),
    "calibrate": ("calibrate", None, ("probabilities", "values")),
    "prior": ("prior", None, ("probabilities", "values")),
}


def pair_examples(
    results: Sequence[ClassificationResult], names: Sequence[str], metrics: Sequence[PointMetric]
) -> list[Ids]:
    """Return, for each result, the row numbers that sort its table into the order of the first result.

    Parameters
    ----------
    results : sequence of ClassificationResult
        At least one.
    names : sequence of str
        The name of each result, for the message.
    metrics : sequence of PointMetric
        The metrics to compare. Some facts must be equal only for some metrics: for example, the place of the thresholds
        only for metrics of decisions.

    Returns
    -------
    list of int64 array, shape (examples,)

    Raises
    ------
    ProtocolError
        If the results differ in dataset, negatives, settings or examples; the message lists every difference.
    """
    needs = {metric.needs for metric in metrics}
    differences = []
    for heading, (key, absent, kinds) in _FACTS.items():
        if kinds is None or needs & set(kinds):
            values = [str(result.facts.get(key, absent)) for result in results]
            n_shown = 8 if heading in ("dataset", "negatives") else None  # characters of a fingerprint
            said = values_by_name([value[:n_shown] for value in values], names)
            differences += [f"{heading}: {said}"] if said else []
    keys = [_keys(result) for result in results]
    rows = [keys[0].get_indexer(other) for other in keys]
    for name, found in zip(names[1:], rows[1:]):
        missing, further = len(keys[0]) - int((found >= 0).sum()), int((found < 0).sum())
        if missing or further:
            differences.append(
                f"examples: {counted(missing, 'triple')} only in {names[0]}, {further:,} only in {name} (an example "
                "is a triple and its label; triples without a vector are dropped)"
            )
    if differences:
        listed = "".join(f"\n  {difference}" for difference in differences)
        raise ProtocolError(
            f"{', '.join(names)} cannot be compared; they differ in{listed}\n"
            "classify with the same dataset, negatives and settings"
        )
    return [np.argsort(found, kind="stable") for found in rows]


def _keys(result: ClassificationResult) -> pd.MultiIndex:
    """Return the example of each row: labels of the triple, truth, and how many earlier rows have the same example."""
    examples = result.labelled()[EXAMPLE].astype(dict.fromkeys("spo", object))
    examples["repeat"] = result.table.groupby(EXAMPLE, sort=False).cumcount().to_numpy()
    return pd.MultiIndex.from_frame(examples)
