"""Read the settings in a configuration of PyKEEN's pipeline; the formats ``npz`` and ``pykeen`` call this module.

The configuration is a JSON object with the key ``pipeline``: ``config.json``, ``configuration_copied.json`` (of an
experiment) or ``pipeline_config.json`` (of a search for hyperparameters). It contains the settings that the user of
PyKEEN chose; all other settings have the defaults of PyKEEN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgeval.base.files import parse_json, read_text
from kgeval.errors import DataError

CONFIGS = ("config.json", "configuration_copied.json", "pipeline_config.json")
REPLICATES = "replicates"  # the folder of the repetitions of an experiment, beside its configuration


def pykeen_settings(config: Path, with_defaults: bool = True) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings in a configuration of PyKEEN, and notes about some settings.

    Parameters
    ----------
    config : Path
        The file. If it does not exist, or is not a configuration of PyKEEN, both dicts are empty.
    with_defaults : bool
        Whether settings that are not in the configuration get the defaults of PyKEEN.

    Returns
    -------
    settings : dict of str to object
        The parameters of `kgeval.models`, and ``"model"``.
    notes : dict of str to str
        For some of these settings, a note for the user.

    Raises
    ------
    DataError
        If the file is not JSON, or if it has a setting that changes scores in a way that `kgeval.models` does not have.
    """
    if not config.is_file():
        return {}, {}
    advice = ". This file may describe how to read the model: repair or move it"
    content = parse_json(read_text(config), config, advice)
    try:
        pipeline = content["pipeline"]
        name = plain_name(pipeline["model"])
        is_inverse = (pipeline.get("dataset_kwargs") or {}).get("create_inverse_triples")
        options = {**(pipeline.get("model_kwargs") or {})}
    except (KeyError, AttributeError, TypeError):  # not a configuration of PyKEEN
        return {}, {}
    settings, notes = _said(config, name, options), {}
    if is_inverse is not None:
        settings["inverse_relations"] = "alternating" if is_inverse else None
    if with_defaults:
        if name == "transe" and "norm" not in settings:
            notes["norm"] = f"{config.name} does not say scoring_fct_norm; it was read as norm=1, the default of PyKEEN"
        settings = {**pykeen_defaults(name), **settings}
        if name == "tucker" and not options.get("apply_batch_normalization", True):
            del settings["batch_norm_eps"]
    return settings, notes


def find_pykeen_config(folder: Path) -> Path | None:
    """Return the path of PyKEEN's configuration in `folder`; for the folder of a replicate, two folders above it.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    Path or None

    Raises
    ------
    DataError
        If two configurations of the same folder have different settings, or if one is damaged.
    """
    places = [folder, folder.parent.parent] if folder.parent.name == REPLICATES else [folder]
    for place in places:
        found = [place / name for name in CONFIGS if pykeen_settings(place / name)[0]]
        for config in found[1:]:
            if pykeen_settings(config)[0] != pykeen_settings(found[0])[0]:
                raise DataError(
                    f"{place}: {found[0].name} and {config.name} have different settings; move the wrong one"
                )
        if found:
            return found[0]
    return None


def pykeen_defaults(model: str) -> dict[str, Any]:
    """Return the default settings of a model of PyKEEN.

    Parameters
    ----------
    model : str
        The name in `kgeval.models`, in lower case.
    """
    defaults: dict[str, dict[str, Any]] = {
        "transe": {"norm": 1, "normalise": "none"},
        "complex": {"layout": "interleaved"},
        "rotate": {"layout": "interleaved", "norm": 2},
        "tucker": {"batch_norm_eps": 1e-5},  # the default of torch
        "simple": {"form": "pykeen"},
        "quate": {"layout": "interleaved", "form": "pykeen"},
    }
    return defaults.get(model, {})


def plain_name(name: str) -> str:
    """Return the name of a model in lower case, without spaces, ``-`` and ``_``, as PyKEEN compares names.

    Examples
    --------
    >>> plain_name("Trans_E")
    'transe'
    """
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def pykeen_bounds(where: str, clamp: Any) -> tuple[float, float] | None:
    """Return the bounds that PyKEEN's option ``clamp_score`` sets for the scores; None if there are no bounds.

    Parameters
    ----------
    where : str
        For messages.
    clamp : object
        A number b for the bounds -b and b, or a pair of numbers; one of them may be None.

    Raises
    ------
    DataError
        If `clamp` is anything else.
    """
    if clamp is None:
        return None
    pair = (-clamp, clamp) if _is_number(clamp) else clamp
    if isinstance(pair, (list, tuple)) and len(pair) == 2 and all(end is None or _is_number(end) for end in pair):
        low = -math.inf if pair[0] is None else float(pair[0])
        high = math.inf if pair[1] is None else float(pair[1])
        if low <= high:
            return low, high
    raise DataError(f"{where}: clamp_score must be a number, or a pair (smallest, largest); got {clamp!r}")


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that is not NaN."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _said(config: Path, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are in a configuration, without defaults."""
    changes = [key for key in options if key.endswith("_normalizer")] if name in ("cp", "quate") else []
    changes += ["predict_with_sigmoid"] if options.get("predict_with_sigmoid") else []
    if changes:
        raise DataError(
            f"{config}: says {changes[0]}={options[changes[0]]!r}, which changes the scores of {name} in a way that "
            "kgeval.models does not have. Evaluate a function that calls PyKEEN to score triples (kgeval help models)"
        )
    settings: dict[str, Any] = {} if name == "ermodel" else {"model": name}
    if name == "transe":
        settings |= {"norm": options["scoring_fct_norm"]} if "scoring_fct_norm" in options else {}
        settings |= {"power_norm": bool(options["power_norm"])} if "power_norm" in options else {}
    if name == "simple" and "clamp_score" in options:
        bounds = pykeen_bounds(str(config), options["clamp_score"])
        settings |= {} if bounds is None else {"clamp": bounds}
    return settings
