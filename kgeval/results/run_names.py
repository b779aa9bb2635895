"""The run of a result: the name of its model, and the seed with which the model was trained.

`EvaluationResult.save`, `kgeval evaluate --name` and `kgeval.benchmarks` call this module. The name and the seed are
kept in ``result.facts``, so that a saved file contains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgeval.base.checks import check_seed, names_unknown_arguments
from kgeval.errors import DataError

MODEL, SEED = "model", "seed"  # keys of `EvaluationResult.facts`
MAX_NAME = 200  # characters


def check_model_name(name: Any) -> str:
    """Return the name of a model if it is a text with at least one visible character; else raise an error.

    Parameters
    ----------
    name : str

    Raises
    ------
    DataError
        If `name` is not a text, is blank, or has more than 200 characters.
    """
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        got = f"a text of {len(name):,} characters" if isinstance(name, str) and name.strip() else repr(name)
        raise DataError(f"the name of a model must be a text of 1 to {MAX_NAME} characters; got {got}")
    return name.strip()


def run_facts(facts: dict[str, Any], name: str | None, seed: int | None) -> dict[str, Any]:
    """Return the facts about a result with a new name and seed of its model; if `name` is None, return `facts` itself.

    Parameters
    ----------
    facts : dict
        `EvaluationResult.facts`; it is not changed.
    name : str, optional
        The name of the model.
    seed : int, optional
        The seed with which the model was trained; None: the new facts contain no seed.

    Returns
    -------
    dict

    Raises
    ------
    DataError
        If the name is blank, if the seed is not an integer of at least 0, or if there is a seed without a name.

    Examples
    --------
    >>> run_facts({"scorer": "f"}, "ComplEx", 1)
    {'scorer': 'f', 'model': 'ComplEx', 'seed': 1}
    """
    if name is None:
        if seed is not None:
            raise DataError(f"a seed needs the name of the model too: name='ComplEx', seed={seed!r}")
        return facts
    named = {key: value for key, value in facts.items() if key != SEED} | {MODEL: check_model_name(name)}
    return named if seed is None else named | {SEED: check_seed(seed, DataError)}


@names_unknown_arguments()
def named(result: Any, name: str, seed: int | None = None) -> Any:
    """Return a result with the name of its model, and with the seed with which the model was trained.

    `kgeval.benchmark` reads the name and the seed from each of its results. They do not change any metric.

    Parameters
    ----------
    result : EvaluationResult
    name : str
        For example ``"ComplEx"``; runs with different seeds have the same name.
    seed : int, optional
        Not needed if the model has one run on the dataset.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If the name is blank, or the seed is not an integer of at least 0.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> run = named(kg.evaluate(lambda s, p, o: o, dataset), "ids", seed=3)
    >>> run.facts["model"], run.facts["seed"]
    ('ids', 3)
    """
    return result.__replace__(facts=run_facts(result.facts, name, seed))


def shown_run(facts: Mapping[str, Any]) -> str:
    """Return the name of the run of a result: that of its model with its seed, else that of its scorer.

    Parameters
    ----------
    facts : mapping
        `EvaluationResult.facts`.

    Examples
    --------
    >>> shown_run({"scorer": "f"}), shown_run({"scorer": "f", "model": "ComplEx", "seed": 1})
    ('f', 'ComplEx seed 1')
    """
    return run_name(facts[MODEL], facts.get(SEED)) if MODEL in facts else str(facts.get("scorer", "model"))


def run_name(model: str, seed: Any = None) -> str:
    """Return the name of a run for messages: the model, and its seed if there is one.

    Parameters
    ----------
    model : str
    seed : int or str, optional

    Examples
    --------
    >>> run_name("ComplEx", 1), run_name("ComplEx")
    ('ComplEx seed 1', 'ComplEx')
    """
    return model if seed is None else f"{model} seed {seed}"
