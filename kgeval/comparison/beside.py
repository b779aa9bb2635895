"""Set baselines beside a model: does the model surely beat them?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kgeval.base.wording import enough_decimals, written
from kgeval.comparison.comparison import compare
from kgeval.comparison.rows import difference_words, row_of
from kgeval.results.evaluation_result import EvaluationResult

MODEL_NAME = "model"


def with_baselines(result: EvaluationResult, baselines: Mapping[str, EvaluationResult]) -> EvaluationResult:
    """Return a result with a note on each baseline: whether the model beats it in MRR, by a paired test.

    Each baseline is compared by itself and not corrected for the number of baselines: "the model beats all of them"
    then errs in at most 5% of cases, since it is said only if every single test says so.

    Parameters
    ----------
    result : EvaluationResult
        Of the model.
    baselines : mapping of str to EvaluationResult
        Name -> result of the baseline with the same protocol; see `kgeval.baselines`.

    Returns
    -------
    EvaluationResult
        With further notes, first those on baselines that are not beaten. ``facts["baselines"]`` holds for each
        baseline its ``mrr``, the ``difference`` (model - baseline) with the interval ``low, high``, ``beaten``, and
        the ``note``.

    Raises
    ------
    ProtocolError
        If the results may not be compared.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[i, 0, (i + 1) % 9] for i in range(9)], n_entities=9, n_relations=1)
    >>> good, bad = (evaluate(lambda s, p, o, k=k: -((o - s - k) % 9), dataset) for k in (1, 3))
    >>> with_baselines(bad, {"good": good}).notes[-1]  # doctest: +ELLIPSIS
    'baseline good is better than the model: MRR 1.0000 against 0.1250, model - baseline -0.8750 (no ...), p = 0.0039'
    """
    facts, texts = {}, []
    for name, baseline in baselines.items():
        comparison = compare([result, baseline], names=[MODEL_NAME, name], metrics=["mrr"])
        row = row_of(comparison.differences, "mrr", MODEL_NAME, name)
        is_beaten = row["better"] == MODEL_NAME
        numbers = {"mrr": row["value_second"], **{part: row[part] for part in ("difference", "low", "high")}}
        known = {part: None if math.isnan(number) else float(number) for part, number in numbers.items()}
        text = _text(name, row, comparison.alpha)
        facts[name] = {**known, "beaten": is_beaten, "note": text}
        texts.append((is_beaten, text))
    texts.sort(key=lambda pair: pair[0])
    notes = [*result.notes, *(text for _, text in texts)]
    return result.__replace__(notes=notes, facts={**result.facts, "baselines": facts})


def _text(name: str, row: Mapping[str, Any], alpha: float) -> str:
    """Return the note on one baseline; `row` holds the difference model - baseline."""
    decimals = enough_decimals([row["difference"]] if row["better"] else [], 4)
    values = [written(row[end], decimals) for end in ("value_first", "value_second")]
    said = f"the model does not surely beat baseline {name}"
    if row["better"] == MODEL_NAME:
        said = f"the model beats baseline {name}"
    elif row["better"]:
        said, values = f"baseline {name} is better than the model", values[::-1]
    difference = f"{difference_words(row, decimals, alpha)}"
    return f"{said}: MRR {values[0]} against {values[1]}, model - baseline {difference}"
