"""Read the tables and settings of a pickled module of PyKEEN; `kgeval.formats.models.pykeen` calls `pykeen_module`.

The pickled module is examined, but never created as an object: its class names the model, its interaction names the
formula, and their attributes are the settings. `pykeen_module` accepts a module only if it is known to score like a
model of `kgeval.models`. It refuses other models, wrapped interactions, normalised tables, hooks, and settings that no
known version of PyKEEN has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.pykeen_config import plain_name, pykeen_bounds
from kgeval.formats.checkpoints.pykeen_tensors import FUNCTION, PYKEEN_MODELS, pykeen_tables
from kgeval.formats.checkpoints.state_dicts import not_a_model
from kgeval.formats.checkpoints.torch_files import state_dict

MODELS, INTERACTIONS = "pykeen.models.", "pykeen.nn.modules."
BATCH_NORMS = ("head_batch_norm", "head_relation_batch_norm", "bn_0", "bn_1")
TUCKER_PARTS = ("core_tensor", "head_dropout", "relation_dropout", "head_relation_dropout", *BATCH_NORMS)
# For each class of interactions: the model, and all attributes, tensors and submodules that known versions have.
KNOWN_INTERACTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "TransEInteraction": ("transe", ("p", "power_norm")),
    "DistMultInteraction": ("distmult", ()),
    "ComplExInteraction": ("complex", ()),
    "RotatEInteraction": ("rotate", ("p", "power_norm")),
    "RESCALInteraction": ("rescal", ()),
    "TuckERInteraction": ("tucker", ("core_initializer", "core_initializer_kwargs", *TUCKER_PARTS)),
    "TuckerInteraction": ("tucker", ("core_initializer", "core_initializer_kwargs", *TUCKER_PARTS)),
    "HolEInteraction": ("hole", ()),
    "CPInteraction": ("cp", ()),
    "SimplEInteraction": ("simple", ("clamp_score", "base")),
    "QuatEInteraction": ("quate", ("table",)),
}
CLAMPED = "ClampedInteraction"
HIDDEN = ("_head_indices", "_tail_indices")  # attributes that give an entity other tables on each side
OWN_OF_TORCH = ("_parameters", "_buffers", "_modules")
TABLE_LISTS = ("entity_representations.", "relation_representations.")
OLD_TABLES = ("entity_embeddings", "relation_embeddings", "tail_entity_embeddings", "inverse_relation_embeddings")
TABLE_CLASSES = ("pykeen.nn.representation.Embedding", "pykeen.nn.emb.Embedding")  # since 1.8; before 1.8
TORCH_TABLE = "torch.nn.modules.sparse.Embedding"
ROW_DIMENSIONS = {"rescal": (1, 2), "cp": (2, 2), "quate": (2, 2)}  # of entities and of relations; otherwise 1 and 1
COMPLEX = ("complex", "rotate")
QUATERNION_NORMALIZERS = ("pykeen.nn.quaternion.normalize", "pykeen.models.unimodal.quate.quaternion_normalizer")
INVERTER = "pykeen.inverse.DefaultRelationInverter"
UNIT_TOLERANCE = 1e-5
MAX_MODULES = 10_000


def pykeen_module(file: Path, module: Stub, said: Mapping[str, Any]) -> Arrays:
    """Return the tables and the settings of a module under the names of the parameters of `kgeval.models`.

    Parameters
    ----------
    file : Path
        For messages.
    module : Stub
        The whole pickled model.
    said : mapping of str to object
        The settings of the caller.

    Returns
    -------
    dict of str to array
        Settings are arrays without dimensions; ``clamp`` is an array of two numbers.

    Raises
    ------
    DataError
        If no model of `kgeval.models` scores like the module, or if this is not certain.
    """
    where = f"{file}: {cut_label(module.name)}"
    if not module.name.startswith(MODELS):
        raise DataError(
            f"{where} is not one of PyKEEN's own models, so it may score in another way. {FUNCTION}; or, if "
            f"{cut_label(module.name)} scores like a model of PyKEEN, save the state_dict() of the module and set "
            "model= (--model-type)"
        )
    listed = list(islice(_submodules(module), MAX_MODULES + 1))
    if len(listed) > MAX_MODULES:
        raise DataError(f"{where} contains more than {MAX_MODULES:,} modules")
    parts = dict(listed)
    for name, part in parts.items():
        if _is_set(_attribute(part, "_forward_hooks")) or _is_set(_attribute(part, "_forward_pre_hooks")):
            raise DataError(f"{where}: {cut_label(name) or 'the model'} has a forward hook, which may change scores")
    if _is_set(_attribute(module, "predict_with_sigmoid")):
        raise DataError(
            f"{where} has predict_with_sigmoid: its scores are sigmoids, which tie if they are rounded to 1. Set "
            "model.predict_with_sigmoid = False and save the model again, or evaluate a function that calls PyKEEN to "
            "score triples"
        )
    model, settings = _model(file, module, parts)
    arrays = pykeen_tables(file, model, state_dict(module, str(file)))
    _check_tables(where, model, parts)
    if model in ("transe", "rotate"):
        settings = _norm(where, model, settings, said)
    if model == "quate":
        _check_quaternions(where, parts, arrays)
    if model == "tucker":
        settings = _epsilon(where, parts)
    settings |= {"model": model} | _inverses(where, module)
    return arrays | {name: np.array(value) for name, value in settings.items() if value is not None}


def _submodules(module: Stub, prefix: str = "", above: tuple[int, ...] = ()) -> Iterator[tuple[str, Stub]]:
    """Yield a module and all modules in it, with their names as in a state dict.

    A module that contains itself is not repeated.
    """
    yield prefix.removesuffix("."), module
    inner = _attribute(module, "_modules")
    for name, part in inner.items() if isinstance(inner, dict) else ():
        if isinstance(part, Stub) and id(part) not in (*above, id(module)) and len(above) < 50:
            yield from _submodules(part, f"{prefix}{name}.", (*above, id(module)))


def _attribute(part: Stub | None, name: str) -> Any:
    """Return an attribute of a pickled object; None if the object has no such attribute."""
    return part.state.get(name) if part is not None and isinstance(part.state, dict) else None


def _is_set(value: Any) -> bool:
    """Return whether an attribute is anything but None, False or an empty container."""
    return not (value is None or value is False or (isinstance(value, (dict, list, tuple)) and not value))


def _name(value: Any) -> str:
    """Return the name of a pickled function or object, for messages."""
    return cut_label(value.name) if isinstance(value, Stub) else type(value).__name__


def _model(file: Path, module: Stub, parts: Mapping[str, Stub]) -> tuple[str, dict[str, Any]]:
    """Return the name of the model of a module, and a dict with the settings p, power_norm and clamp (if any)."""
    kind = module.name.rpartition(".")[2]
    named = plain_name(kind)
    interaction = parts.get("interaction")
    if named not in (*PYKEEN_MODELS, "ermodel"):
        raise not_a_model(file, f"PyKEEN's {cut_label(kind)}")
    if interaction is None:  # written by an older PyKEEN
        if named == "ermodel":
            raise DataError(f"{file}: {module.name} has no interaction; is the file complete?")
        settings = {"p": _attribute(module, "scoring_fct_norm")} if named == "transe" else {}
        if named == "simple":
            settings["clamp"] = pykeen_bounds(str(file), _attribute(module, "clamp"))
        return named, settings
    clamps = [_attribute(interaction, "clamp_score")]
    if interaction.name == INTERACTIONS + CLAMPED:
        base = parts.get("interaction.base")
        if base is None or base.name != f"{INTERACTIONS}SimplEInteraction":
            raise not_a_model(file, f"a model of PyKEEN with a {CLAMPED} of {_name(base)}")
        clamps.append(_attribute(base, "clamp_score"))
        _check_known(file, CLAMPED, interaction, ("clamp_score", "base"))
        interaction = base
    name = interaction.name.removeprefix(INTERACTIONS)
    if not interaction.name.startswith(INTERACTIONS) or name not in KNOWN_INTERACTIONS:
        raise not_a_model(file, f"a model of PyKEEN with the interaction {_name(interaction)}")
    model, known = KNOWN_INTERACTIONS[name]
    if named not in (model, "ermodel"):
        raise DataError(f"{file}: {module.name} has the interaction {name}, which belongs to another model")
    _check_known(file, name, interaction, known)
    settings = {key: _attribute(interaction, key) for key in ("p", "power_norm") if key in known}
    if model == "simple":
        bounds = [pykeen_bounds(str(file), clamp) for clamp in clamps if clamp is not None]
        if len(bounds) > 1:
            raise DataError(f"{file}: {CLAMPED} and SimplEInteraction both have clamp_score; expected one of them")
        settings["clamp"] = bounds[0] if bounds else None
    return model, settings


def _check_known(file: Path, name: str, interaction: Stub, known: tuple[str, ...]) -> None:
    """Raise a DataError if an interaction has an attribute, a tensor or a module that no known version has."""
    state = interaction.state if isinstance(interaction.state, dict) else {}
    keys = [key for key in state if key in HIDDEN or not (str(key).startswith("_") or key == "training")]
    for part in OWN_OF_TORCH:
        keys += list(state[part]) if isinstance(state.get(part), dict) else []
    unknown = next((key for key in keys if key not in known), None)
    if unknown is not None:
        raise DataError(
            f"{file}: {name} has {cut_label(str(unknown))!a}, which PyKEEN 1.11 and earlier do not have, so it may "
            f"change scores. {FUNCTION}"
        )


def _check_tables(where: str, model: str, parts: Mapping[str, Stub]) -> None:
    """Raise a DataError if the rows of a table have a wrong shape, or if reading a row changes the numbers in it."""
    for name, part in parts.items():
        if not (name.startswith(TABLE_LISTS) and name.count(".") == 1) and name not in OLD_TABLES:
            continue
        table = parts.get(f"{name}._embeddings")
        if part.name not in TABLE_CLASSES or table is None or table.name != TORCH_TABLE:
            raise DataError(
                f"{where}: {name} is {_name(part)} with {_name(table)}, and not a plain table ({TABLE_CLASSES[0]} with "
                f"{TORCH_TABLE}). {FUNCTION}"
            )
        is_relation = "relation" in name
        normalizer, shape = _attribute(part, "normalizer"), _attribute(part, "shape")
        is_rotation = model == "quate" and is_relation
        if normalizer is not None and not (is_rotation and _name(normalizer) in QUATERNION_NORMALIZERS):
            raise DataError(
                f"{where}: {name} applies the normalizer {_name(normalizer)} whenever it is read, which kgeval.models "
                f"does not. {FUNCTION}"
            )
        n_dimensions = ROW_DIMENSIONS.get(model, (1, 1))[is_relation]
        if not isinstance(shape, (tuple, list)) or len(shape) != n_dimensions:
            raise DataError(
                f"{where}: a row of {name} must have {n_dimensions} dimension(s); found the shape {shape!r}"
            )
        is_complex = _attribute(part, "is_complex")
        if is_complex is not None and is_complex is not (model in COMPLEX):
            raise DataError(f"{where}: {name} has is_complex={is_complex!r}; expected {model in COMPLEX} for {model}")
        if _attribute(table, "max_norm") is not None:
            raise DataError(f"{where}: {name} limits the norms of its rows when they are read (max_norm). {FUNCTION}")


def _norm(where: str, model: str, settings: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings norm, power_norm and normalise of TransE and RotatE."""
    p, power = settings.get("p"), _is_set(settings.get("power_norm"))
    norm = int(p) if isinstance(p, (int, float)) and not isinstance(p, bool) and p in (1, 2) else None
    if model == "transe":
        if norm is None:
            raise DataError(
                f"{where} has the norm p={cut_label(repr(p))}; kgeval.models.TransE has 1 and 2. {FUNCTION}"
            )
        return {"norm": norm, "power_norm": power, "normalise": "none"}
    if ((p is not None and norm != 2) or power) and "norm" not in said:
        raise DataError(
            f"{where} has p={cut_label(repr(p))} and power_norm={power}, but RotatE of PyKEEN 1.11 and earlier ignores "
            "both and takes the L2 norm of the complex differences. Set norm=2 if such a version wrote the file "
            "(--norm)"
        )
    return {"norm": 2}


def _check_quaternions(where: str, parts: Mapping[str, Stub], arrays: Arrays) -> None:
    """Raise a DataError unless the quaternions of the relations are divided by their norms, or have norm 1."""
    if _attribute(parts.get("relation_representations.0"), "normalizer") is not None:
        return
    relations = arrays["relations"].astype(np.float64)
    if relations.shape[1] % 4:
        raise DataError(f"{where}: expected relations with a multiple of 4 columns; got shape {relations.shape}")
    norms = np.linalg.norm(relations.reshape(len(relations), -1, 4), axis=2)
    if not (np.abs(norms - 1) <= UNIT_TOLERANCE).all():
        raise DataError(
            f"{where} does not divide the quaternions of relations by their norms, but kgeval.models.QuatE does. "
            f"{FUNCTION}"
        )


def _epsilon(where: str, parts: Mapping[str, Stub]) -> dict[str, Any]:
    """Return the setting batch_norm_eps of TuckER in a dict; an empty dict without batch normalisation."""
    found = [_attribute(part, "eps") for name, part in parts.items() if name.rpartition(".")[2] in BATCH_NORMS]
    if any(not isinstance(eps, float) or eps != found[0] for eps in found):
        raise DataError(f"{where}: its batch normalisations must have one eps; found {cut_label(repr(found))}")
    return {"batch_norm_eps": found[0]} if found else {}


def _inverses(where: str, module: Stub) -> dict[str, Any]:
    """Return the setting inverse_relations of a module in a dict; an empty dict without inverse relations."""
    is_inverse, inverter = _attribute(module, "use_inverse_triples"), _attribute(module, "relation_inverter")
    if not isinstance(is_inverse, bool):
        raise DataError(f"{where}: use_inverse_triples must be True or False; found {cut_label(repr(is_inverse))}")
    if is_inverse and inverter is not None and _name(inverter) != INVERTER:
        raise DataError(f"{where} numbers inverse relations by {_name(inverter)}; only {INVERTER} is known. {FUNCTION}")
    return {"inverse_relations": "alternating"} if is_inverse else {}
