"""The model, the seed and the dataset of each result of a benchmark; `kgeval.benchmark` calls `read_runs`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.checks import grouped, listed
from kgeval.errors import ProtocolError
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.run_names import MODEL, SEED, check_model_name, run_name

EXPECTED = "a mapping such as {('ComplEx', 1, 'FB15k-237'): result}, or a list of results that carry their names"
HOW_TO_NAME = (
    "name each result by its model and the seed with which the model was trained: in this call, "
    "{('ComplEx', 1, 'FB15k-237'): result, ...}, or on the command line ComplEx:1=FILE",
    "or in the result: result.save(file, name='ComplEx', seed=1), kgeval.benchmarks.named(result, 'ComplEx', seed=1), "
    "or kgeval evaluate ... --out FILE --name ComplEx --seed 1",
)
INTEGER = re.compile(r"[+-]?\d{1,18}")  # a text that is an integer
MAX_LISTED = 10  # results that an error names


class Run(NamedTuple):
    """One training run of a model, evaluated on a dataset.

    Parameters
    ----------
    model : str
    seed : int or str, optional
        The seed with which the model was trained; None if the seed is unknown; then the model must have no other run on
        the dataset. In the key of a mapping, a text such as ``"1"`` counts as the integer.
    dataset : str
    """

    model: str
    seed: int | str | None
    dataset: str

    @property
    def name(self) -> str:
        """The model and the seed, such as ``"ComplEx seed 1"``."""
        return run_name(self.model, self.seed)

    def __str__(self) -> str:
        return f"{self.name} on {self.dataset}"


def read_runs(results: Any) -> dict[Run, EvaluationResult]:
    """Return the runs of a benchmark with their results.

    Parameters
    ----------
    results : mapping of (model, seed, dataset) or (model, dataset) to EvaluationResult, or sequence of results
        The results of a sequence carry the name of the model and the seed (`kgeval.benchmarks.named`); the name of the
        dataset is that of ``facts["dataset"]``.

    Returns
    -------
    dict of Run to EvaluationResult
        In the order of `results`.

    Raises
    ------
    ProtocolError
        If `results` is empty or of another type, if a name or a seed is missing or not valid, if two results are of the
        same model, seed and dataset, or if one dataset, evaluated under one protocol, has two names.
    """
    if isinstance(results, EvaluationResult) or not isinstance(results, (Mapping, list, tuple)) or not results:
        got = "nothing" if isinstance(results, (Mapping, list, tuple)) else f"one {type(results).__name__}"
        raise ProtocolError(f"benchmark needs {EXPECTED}; got {got}")
    values = list(results.values()) if isinstance(results, Mapping) else list(results)
    for place, value in enumerate(values):
        if not isinstance(value, EvaluationResult):
            where = f"the value of {list(results)[place]!r}" if isinstance(results, Mapping) else f"result {place}"
            raise ProtocolError(
                f"{where} must be an EvaluationResult, from kgeval.evaluate or kgeval.load_result; got "
                f"{type(value).__name__}"
            )
    if isinstance(results, Mapping):
        keys = [_read_key(key) for key in results]
        return checked_runs(keys, values, [repr(key) for key in results])
    places = [f"result {place}" for place in range(len(values))]
    models = [value.facts.get(MODEL) for value in values]
    check_all_named(models, [f"{place} ({_described(value)})" for place, value in zip(places, values)])
    keys = [Run(str(model), value.facts.get(SEED), str(value.facts["dataset"])) for model, value in zip(models, values)]
    return checked_runs(keys, values, places)


def check_all_named(models: Sequence[str | None], places: Sequence[str]) -> None:
    """Raise a ProtocolError that lists the results without the name of a model, if there are any.

    Parameters
    ----------
    models : sequence of str or None
    places : sequence of str
        The name of each result in the error, such as ``"result 0"``.
    """
    nameless = [place for place, model in zip(places, models) if model is None]
    if nameless:
        lines = [f"{len(nameless)} of {len(models)} results do not contain the name of their model:"]
        raise ProtocolError("\n".join([*lines, *_first_lines(nameless), *HOW_TO_NAME]))


def checked_runs(
    keys: Sequence[Run], results: Sequence[EvaluationResult], places: Sequence[str]
) -> dict[Run, EvaluationResult]:
    """Return the results by their runs; raise an error if two are of the same run, or a dataset has two names.

    Parameters
    ----------
    keys : sequence of Run
    results : sequence of EvaluationResult
    places : sequence of str
        The name of each result in errors, such as ``"result 0"``.

    Raises
    ------
    ProtocolError
    """
    _check_distinct(keys, places)
    runs = dict(zip(keys, results))
    _check_dataset_names(runs)
    return runs


def _described(result: EvaluationResult) -> str:
    return f"scorer {result.facts.get('scorer')!r} on {result.facts['dataset']}"


def _read_key(key: Any) -> Run:
    """Return the run that a key of a mapping names."""
    wrong = ProtocolError(
        f"each key of the mapping must be (model, seed, dataset), such as ('ComplEx', 1, 'FB15k-237'), or (model, "
        f"dataset) with one run; got {key!r}"
    )
    if not isinstance(key, tuple) or len(key) not in (2, 3):
        raise wrong
    model, seed, dataset = key if len(key) == 3 else (key[0], None, key[1])
    if isinstance(seed, str):  # as on the command line: "1" is the seed 1
        seed = int(seed) if INTEGER.fullmatch(seed.strip()) else seed.strip()
    is_seed = seed is None or (isinstance(seed, (int, np.integer, str)) and not isinstance(seed, bool) and seed != "")
    if not is_seed or not all(isinstance(name, str) and name.strip() for name in (model, dataset)):
        raise wrong
    return Run(check_model_name(model), int(seed) if isinstance(seed, np.integer) else seed, dataset.strip())


def _check_distinct(keys: Sequence[Run], places: Sequence[str]) -> None:
    """Raise an error if two results have the same model, seed and dataset, or if one of several lacks its seed."""
    cells = grouped(((key.model, key.dataset), (key.seed, place)) for key, place in zip(keys, places))
    unclear = []
    for (model, dataset), runs in cells.items():
        for seed, of_seed in grouped(runs).items():
            if seed is None and len(runs) > 1:
                unclear.append(f"{model} on {dataset}, {len(runs)} results: no seed in {listed(of_seed)}")
            elif len(of_seed) > 1:
                unclear.append(f"{model} on {dataset}: the seed {seed} in {listed(of_seed)}")
    if unclear:
        lines = ["several results are of the same model and dataset, and it is not clear which run each of them is:"]
        raise ProtocolError("\n".join([*lines, *_first_lines(unclear), *HOW_TO_NAME]))


def _check_dataset_names(runs: Mapping[Run, EvaluationResult]) -> None:
    """Raise an error if one dataset, evaluated under one protocol, has two names."""
    same = [(result.facts["dataset_fingerprint"], result.protocol.fingerprint) for result in runs.values()]
    names = grouped(dict.fromkeys(zip(same, (run.dataset for run in runs))))
    for (fingerprint, protocol), of_same in names.items():
        if len(of_same) > 1:
            raise ProtocolError(
                f"{listed(of_same)} are the same dataset (fingerprint {fingerprint[:8]}), evaluated under the same "
                f"protocol ({protocol}); give it one name: {{('ComplEx', 1, {of_same[0]!r}): result, ...}}; on the "
                f"command line ComplEx:1:{of_same[0]}=FILE"
            )


def _first_lines(texts: Sequence[str]) -> list[str]:
    """Return the first texts as indented lines, and a line with the number of further texts."""
    more = [f"  and {len(texts) - MAX_LISTED:,} more"] if len(texts) > MAX_LISTED else []
    return [*(f"  {text}" for text in texts[:MAX_LISTED]), *more]
