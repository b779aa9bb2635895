"""Names of results that are shown together. `kgeval.compare` and `kgeval.report` call this module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kgeval.errors import ProtocolError
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.run_names import MODEL, SEED, run_name

Results = EvaluationResult | Sequence[EvaluationResult] | Mapping[str, EvaluationResult]


Kind = TypeVar("Kind")
# Class of a result -> where its objects come from, and which function compares them, for error messages.
_KINDS = {
    "EvaluationResult": ("an EvaluationResult, from kgeval.evaluate", "; kgeval.compare compares evaluations"),
    "ClassificationResult": (
        "a ClassificationResult, from kgeval.classify",
        "; kgeval.compare_classifications compares classifications",
    ),
}


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
    return _named([results] if isinstance(results, EvaluationResult) else results, names, EvaluationResult)


def several_results(function: str, results: Any, names: Sequence[str] | None, kind: type[Kind]) -> dict[str, Kind]:
    """Give each of at least two results a distinct name, as `name_results` does.

    Parameters
    ----------
    function : str
        The name of the function that compares them, for the error message.
    results, names
        As for `name_results`.
    kind : type
        The class of the results.

    Raises
    ------
    ProtocolError
        As for `name_results`, and if there are fewer than two results.
    """
    is_list = isinstance(results, (list, tuple, Mapping))
    if not is_list or len(results) < 2:
        got = f"a {type(results).__name__} of length {len(results)}" if is_list else type(results).__name__
        raise ProtocolError(f"{function} needs a list of at least two results, such as {function}([a, b]); got {got}")
    return _named(results, names, kind)


def _named(results: Iterable[Any], names: Sequence[str] | None, kind: type[Kind]) -> dict[str, Kind]:
    """Return the results under their names; all of them must be of one class."""
    if isinstance(results, Mapping):
        names, results = [str(name) for name in results] if names is None else names, results.values()
    listed_results = list(results)
    if not listed_results:
        raise ProtocolError("expected at least one result; got none")
    for i, result in enumerate(listed_results):
        if not isinstance(result, kind):
            got = type(result).__name__
            raise ProtocolError(
                f"result {i} must be {_KINDS[kind.__name__][0]} or kgeval.load_result; got {got}"
                f"{_KINDS[got][1] if got in _KINDS else ''}"
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


def default_names(results: Sequence[Any]) -> list[str]:
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


def check_rivals(results: Sequence[Any]) -> None:
    """Raise a ProtocolError if all results were saved as runs of one model, so that there is nothing to compare.

    Parameters
    ----------
    results : sequence of EvaluationResult
        Two or more, which the user did not name.
    """
    models = models_of(results)
    if models[0] is not None and len(set(models)) == 1:
        raise ProtocolError(
            f"these are {len(results)} runs of one model, {models[0]}; runs of one model are its seeds, and no rivals. "
            "Add the results of another model; kgeval.benchmark shows how much the seeds vary. To compare the runs as "
            "models of their own, name them: names=['old', 'new'] (--names old,new)"
        )


def models_of(results: Sequence[Any]) -> tuple[str | None, ...]:
    """Return the model of each result that was saved with a name, else None.

    Parameters
    ----------
    results : sequence of EvaluationResult
    """
    return tuple(result.facts.get(MODEL) for result in results)
