"""Names of results that are shown together. `kgeval.compare` and `kgeval.report` call this module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgeval.errors import ProtocolError
from kgeval.results import MODEL, SEED, EvaluationResult, run_name

Results = EvaluationResult | Sequence[EvaluationResult] | Mapping[str, EvaluationResult]


# Name of a class that this module may not import -> end of the error message, which names the function to use.
_HINTS = {"ClassificationResult": "; kgeval.compare_classifications compares classifications"}


def name_results(results: Results, names: Sequence[str] | None = None) -> dict[str, EvaluationResult]:
    """Give each result a distinct name.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult
    names : sequence of str, optional
        One per result. By default the keys of `results` if it is a mapping, else the names and seeds
        that the results were saved with, else the name of each result's scorer. If results share a name, the position
        of the result is added, for example ``"ComplEx (2)"``.

    Returns
    -------
    dict of str to EvaluationResult
        Name -> result, in the order of `results`.

    Raises
    ------
    ProtocolError
        If there is no result, if an element is not an EvaluationResult, or if `names` does not contain one distinct,
        nonempty name per result.
    """
    if isinstance(results, Mapping):
        names, results = [str(name) for name in results] if names is None else names, list(results.values())
    listed_results = [results] if isinstance(results, EvaluationResult) else list(results)
    if not listed_results:
        raise ProtocolError("expected at least one result; got none")
    for i, result in enumerate(listed_results):
        if not isinstance(result, EvaluationResult):
            raise ProtocolError(
                f"result {i} must be an EvaluationResult, from kgeval.evaluate or kgeval.load_result; "
                f"got {type(result).__name__}{_HINTS.get(type(result).__name__, '')}"
            )
    checked_names = default_names(listed_results) if names is None else check_names(names, len(listed_results))
    return dict(zip(checked_names, listed_results))


def check_names(names: Any, n: int, of: str = "result") -> list[str]:
    """Return `names` as a list; raise an error unless it contains exactly `n` different, nonempty strings.

    Parameters
    ----------
    names : sequence of str
    n : int
        The expected number of names.
    of : str
        A noun for the things that have these names, for the error message, such as ``"result"``.

    Returns
    -------
    list of str

    Raises
    ------
    ProtocolError
        If `names` does not contain exactly `n` different, nonempty strings.
    """
    given = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    is_right = len(given) == n == len(set(map(str, given))) and all(
        isinstance(name, str) and name.strip() for name in given
    )
    if not is_right:
        raise ProtocolError(f"names must be {n} different words, one for each {of}; got {given!r}")
    return given


def default_names(results: Sequence[EvaluationResult]) -> list[str]:
    """Return the default names of results: the names they were saved with, else the names of their scorers.

    Parameters
    ----------
    results : sequence of EvaluationResult

    Returns
    -------
    list of str
        A result that was saved with ``name=`` and ``seed=`` has both, such as ``"ComplEx seed 1"``; the seed is left
        out where each model has one result. Equal names are numbered, so that no two names are equal.
    """
    models = models_of(results)
    has_seeds = any(model is not None and models.count(model) > 1 for model in models)
    texts = [
        str(result.facts.get("scorer") or "model")
        if model is None
        else run_name(model, result.facts.get(SEED) if has_seeds else None)
        for model, result in zip(models, results)
    ]
    numbered = [f"{name} ({i})" for i, name in enumerate(texts, start=1)]
    names = [numbered_name if texts.count(name) > 1 else name for name, numbered_name in zip(texts, numbered)]
    return names if len(set(names)) == len(names) else numbered


def models_of(results: Sequence[EvaluationResult]) -> tuple[str | None, ...]:
    """Return the model of each result that was saved with a name, else None.

    Parameters
    ----------
    results : sequence of EvaluationResult
    """
    return tuple(result.facts.get(MODEL) for result in results)
