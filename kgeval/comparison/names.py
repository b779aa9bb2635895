"""What results are called where several stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgeval.errors import ProtocolError
from kgeval.results import EvaluationResult

Results = EvaluationResult | Sequence[EvaluationResult] | Mapping[str, EvaluationResult]


def name_results(results: Results, names: Sequence[str] | None = None) -> dict[str, EvaluationResult]:
    """Return results under distinct names.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult
    names : sequence of str, optional
        One per result; by default the names of a mapping, else what each result calls its scorer, with
        its place, ``" (2)"``, where several are called so.

    Raises
    ------
    ProtocolError
        If there is no result, something else stands among them, or the names are too few, too many or not distinct.
    """
    if isinstance(results, Mapping):
        names, results = [str(name) for name in results] if names is None else names, list(results.values())
    several = [results] if isinstance(results, EvaluationResult) else list(results)
    if not several:
        raise ProtocolError("expected at least one result; got none")
    for i, result in enumerate(several):
        if not isinstance(result, EvaluationResult):
            raise ProtocolError(
                f"result {i} must be an EvaluationResult, from kgeval.evaluate or kgeval.load_result; "
                f"got {type(result).__name__}"
            )
    return dict(zip(default_names(several) if names is None else check_names(names, len(several)), several))


def check_names(names: Any, n: int, of: str = "result") -> list[str]:
    """Return `n` names, checked: as many as there are results, none empty, all different.

    Raises
    ------
    ProtocolError
        If they are not; names what came.
    """
    given = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    is_right = len(given) == n == len(set(map(str, given))) and all(
        isinstance(name, str) and name.strip() for name in given
    )
    if not is_right:
        raise ProtocolError(f"names must be {n} different words, one for each {of}; got {given!r}")
    return given


def default_names(results: Sequence[EvaluationResult]) -> list[str]:
    """Return what to call results that nobody named: their scorers, with their place where several share a name."""
    scorers = [str(result.about.get("scorer") or "model") for result in results]
    numbered = [f"{name} ({i})" for i, name in enumerate(scorers, start=1)]
    names = [one if scorers.count(name) > 1 else name for name, one in zip(scorers, numbered)]
    return names if len(set(names)) == len(names) else numbered


def listed(names: Sequence[str]) -> str:
    """Return names as people list them.

    Examples
    --------
    >>> listed(["A", "B", "C"])
    'A, B and C'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
