"""Which numbers of a run agree with a row of a paper: those of the conventions, and other readings of its ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kgeval.errors import DataError
from kgeval.other_tools.convention import Convention
from kgeval.other_tools.tools import conventions
from kgeval.plausibility.table import reported_values
from kgeval.results.evaluation_result import EvaluationResult

VERDICTS = ("agrees", "possible", "not decided", "ruled out", "not this run")

_Row = dict[str, tuple[Fraction, Fraction]]  # a metric -> the least and the greatest value that its digits allow


@dataclass(frozen=True)
class Agreement:
    """Whether the numbers of one convention, or of another reading of the ranks, are those of a row.

    Parameters
    ----------
    name : str
        The convention, or another reading: ``"filtered, object, realistic"``.
    verdict : str
        ``"agrees"``: all numbers are those of the row, to its digits; ``"possible"``: the row lies within the bounds of
        the numbers; ``"not decided"``: they differ, but the tool may find ties that the run does not show;
        ``"ruled out"``; or ``"not this run"``: the tool ranks by another protocol than the run.
    numbers : dict of str to str
        The numbers of this run, by the names of the row.
    reason : str
        Why the run does not give the numbers, or on what else they depend.
    """

    name: str
    verdict: str
    numbers: dict[str, str]
    reason: str = ""


def agreement(
    values: Any, result: EvaluationResult, *, percent: bool | None = None, rounding: str = "nearest"
) -> list[Agreement]:
    """Compare a row of a paper with the numbers that each convention gives for a run.

    Parameters
    ----------
    values : mapping of str to str or number
        The row, such as ``{"MRR": ".353", "hits@10": ".535"}``: hits@k, MRR, MR, GMR, HMR and AMRI.
    result : EvaluationResult
    percent : bool, optional
        Whether the row has percentages; by default if a share is above 1 or has a percent sign.
    rounding : str
        As in `check_table`.

    Returns
    -------
    list of Agreement
        The conventions in their order, then the readings of the ranks by setting, side and ties. Whatever agrees comes
        first.

    Raises
    ------
    DataError
        If the row has no number that a convention can have.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(train=[[2, 0, 3]], test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = kg.evaluate(lambda s, p, o: 0 * s, dataset, progress=False)
    >>> found = agreement({"MRR": ".25"}, result)
    >>> [each.name for each in found if each.verdict == "agrees" and "," not in each.name]
    ['torchkge', 'ultra', 'dglke', 'ampligraph', 'nbfnet']
    """
    row = reported_values(values, percent, rounding)
    metrics = {name: name.lower() for name in row}
    if not metrics:
        raise DataError("expected hits@k, MRR or MR to compare with the run, such as MRR=.353 hits@10=.535")
    found = [*(_of_convention(each, metrics, row, result) for each in conventions.values())]
    found += _other_readings(metrics, row, result)
    return sorted(found, key=lambda each: VERDICTS.index(each.verdict))


def _of_convention(convention: Convention, metrics: dict[str, str], row: _Row, result: EvaluationResult) -> Agreement:
    differences = convention.differences(result)
    if differences:
        return Agreement(convention.name, "not this run", {}, "; ".join(differences))
    ends = {name: convention.ends(result, metric) for name, metric in metrics.items()}
    return _compared(convention.name, ends, row, convention.caution, convention.needs_scores)


def _other_readings(metrics: dict[str, str], row: _Row, result: EvaluationResult) -> Iterator[Agreement]:
    """Yield the comparison with the metrics of the result under each setting, side and tie policy.

    Tie policies that give the same numbers are one reading.
    """
    for setting in ("filtered", "raw"):
        for side in () if setting in result.rank_table.unknown else result.rank_table.sides:
            policies: dict[tuple[tuple[float, float], ...], list[str]] = {}
            for ties in ("realistic", "optimistic", "pessimistic"):
                ends = tuple(result.bounds(f"{setting}.{side}.{ties}.{metric}") for metric in metrics.values())
                policies.setdefault(ends, []).append(ties)
            for ends, same in policies.items():
                ties = "/".join(same) if len(policies) > 1 else "any ties"
                found = _compared(f"{setting}, {side}, {ties}", dict(zip(metrics, ends)), row)
                if result.protocol.sample is not None:
                    reason = f"it ranks {result.protocol.sample}, a paper all triples"
                    found = replace(found, verdict="not this run", reason=reason)
                yield found


def _compared(
    name: str, ends: dict[str, tuple[float, float]], row: _Row, caution: str = "", needs_scores: bool = False
) -> Agreement:
    shown = {metric: " to ".join(dict.fromkeys(f"{end:.4f}" for end in pair)) for metric, pair in ends.items()}
    fits = [low <= row[metric][1] and row[metric][0] <= high for metric, (low, high) in ends.items()]
    is_within = all(row[metric][0] <= end <= row[metric][1] for metric, pair in ends.items() for end in pair)
    verdict = "agrees" if is_within else "possible" if all(fits) else "not decided" if needs_scores else "ruled out"
    return Agreement(name, verdict, shown, caution)
