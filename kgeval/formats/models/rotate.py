"""The format of the code of RotatE's paper (KnowledgeGraphEmbedding), which RNNLogic and many others use.

Layout. A folder with ``entity_embedding.npy``, ``relation_embedding.npy``, ``config.json`` (the options of the run)
and ``checkpoint`` (a torch file: ``model_state_dict`` has the same tables, ``gamma`` and ``embedding_range``). The
rows follow ``entities.dict`` and ``relations.dict`` of the dataset, lines ``id TAB label``; they are read from this
folder if they are there, otherwise from the folder of the dataset. If the ``.npy`` files are missing, ``checkpoint``
is read; its path may be given too.

The models, as ``codes/model.py`` of this code defines them: RotatE (sum of moduli), ComplEx (halves), DistMult and
TransE (always L1). The scores of this code are the scores of kgeval plus gamma; a constant changes no rank. ``pRotatE``
is refused: the score is minus a modulus times the sum of the absolute sines of phase differences, which no model of
kgeval computes.

Traps. The numbers of RotatE's relations are not radians: the phase is ``r / (embedding_range / pi)``, where
``embedding_range`` is ``(gamma + 2) / hidden_dim`` in float32, and pi is typed as 3.14159262358979. If the numbers are
read as radians, the model loses most of its quality without any error (MRR .16 instead of .78). kgeval computes the
phases in float64. The paper's code divides in float32, so its phases differ from the exact phases by at most 2**-24
of their size. This is a rounding error and not a part of the model, so kgeval does not imitate it.

A run that starts from a checkpoint (``init_checkpoint``) uses the gamma of this checkpoint, but writes the gamma of its
command line into ``config.json``. For such a run, `embedding_range` is read from the file ``checkpoint``; without this
file, a note says that the unit of the phases is not certain.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import suggest
from kgeval.base.files import Arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import tensor_names
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.plain_files import GAMMA_EPSILON, check_gamma, label_arrays, read_config, read_npy
from kgeval.formats.checkpoints.torch_files import read_torch, state_dict
from kgeval.formats.registry import Format

TABLES = {"entities": "entity_embedding.npy", "relations": "relation_embedding.npy"}
CHECKPOINT, CONFIG, STATE = "checkpoint", "config.json", "model_state_dict"
TENSORS = {f"{STATE}.{name}" for name in ("entity_embedding", "relation_embedding", "embedding_range")}
DICTIONARIES = ("entities.dict", "relations.dict")
PI = 3.14159262358979323846  # as typed in the code of the paper; pi is 3.14159265358979323846
SETTINGS: dict[str, dict[str, Any]] = {  # the settings that the code always uses
    "rotate": {"norm": 1, "layout": "halves"},
    "complex": {"layout": "halves"},
    "distmult": {},
    "transe": {"norm": 1, "normalise": "none"},
}
WIDTHS = {
    "rotate": (True, False),
    "complex": (True, True),
}  # the code requires these values of double_entity_embedding and double_relation_embedding
REFUSED = {
    "protate": "pRotatE, whose score is minus a modulus times the sum of |sin| of the phase differences: no model of "
    "kgeval.models computes it. Rank it with a function of your own: kgeval.evaluate(function, dataset)"
}


def sniff(path: Path) -> bool:
    """Return whether a folder contains both tables or a checkpoint of this code, or a file is one of these files."""
    if path.is_dir():
        return _has_tables(path) or _is_checkpoint(path / CHECKPOINT)
    return (path.name in TABLES.values() and _has_tables(path.parent)) or _is_checkpoint(path)


def _has_tables(folder: Path) -> bool:
    """Return whether a folder contains both tables."""
    return all((folder / name).is_file() for name in TABLES.values())


def _is_checkpoint(file: Path) -> bool:
    """Return whether a file is a torch file with the tensors of this code."""
    return tensor_names(file).keys() >= TENSORS


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the folder; see `kgeval.load_model`."""
    folder = path if path.is_dir() else path.parent
    if _has_tables(folder) and (path.is_dir() or path.name in TABLES.values()):
        file = folder / TABLES["entities"]
        arrays: Arrays = {name: read_npy(folder / table) for name, table in TABLES.items()}
    else:
        file = folder / CHECKPOINT if path.is_dir() else path
        if path.is_dir() and not file.is_file():
            raise DataError(f"{path}: expected {' and '.join(TABLES.values())}, or {CHECKPOINT}")
        arrays = _of_checkpoint(file)
    config = read_config(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    kind = _kind(folder, config, said, arrays)
    _check_shapes(folder, kind, config, arrays)
    settings: dict[str, Any] = {"model": kind, **SETTINGS[kind]}
    notes: dict[str, str] = {}
    in_checkpoint = arrays.pop("embedding_range", None)
    gamma = arrays.pop("gamma", None)
    if kind == "rotate":
        embedding_range, notes = _embedding_range(folder, config, in_checkpoint)
        if embedding_range is not None:
            settings["phase_unit"] = PI / embedding_range
    if gamma is not None and gamma.size != 1:
        raise DataError(f"{file}: gamma must be one number; got shape {gamma.shape}")
    labels, label_source = label_arrays(*(folder / name for name in DICTIONARIES))
    return ModelFile(file, arrays | labels, settings, notes, label_source=label_source, id_formats=("rotate",))


def _of_checkpoint(file: Path) -> Arrays:
    """Return the tensors of a checkpoint; its tables get the names of kgeval."""
    tree = read_torch(file)
    if not isinstance(tree, dict) or STATE not in tree:
        raise DataError(f"{file}: expected a checkpoint of the code of RotatE's paper, with {STATE}")
    names = {name.removesuffix(".npy"): table for table, name in TABLES.items()}
    return {names.get(name, name): array for name, array in state_dict(tree[STATE], str(file)).items()}


def _kind(folder: Path, config: Mapping[str, Any], said: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the name of the model in kgeval, from the configuration or else from the caller."""
    name = config.get("model", said.get("model"))
    known = "RotatE, ComplEx, DistMult, TransE"
    if name is None:
        lack = "lacks 'model'" if config else "is missing"
        raise DataError(
            f"{folder / CONFIG}: {lack}, which names the model of the tables; set model= (--model-type) to one of "
            f"{known}"
        )
    kind = str(name).lower()
    kind = "protate" if "modulus" in arrays else kind
    if kind in REFUSED:
        raise DataError(f"{folder / CONFIG}: the model is {REFUSED[kind]}")
    if kind not in SETTINGS:
        raise DataError(
            f"{folder / CONFIG}: the model is {name!r}{suggest(kind, SETTINGS)}; the code of RotatE's paper has "
            f"{known}. Other codes that write the same files have formulas of their own, which kgeval does not know"
        )
    return kind


def _check_shapes(folder: Path, kind: str, config: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise a DataError unless the shapes of the tables agree with the configuration and with the model."""
    sizes = {
        "entities": ("double_entity_embedding", "nentity"),
        "relations": ("double_relation_embedding", "nrelation"),
    }
    hidden = config.get("hidden_dim")
    if hidden is not None and (type(hidden) is not int or hidden < 1):
        raise DataError(f"{folder / CONFIG}: hidden_dim must be a whole number above 0; got {hidden!r}")
    for i, (table, (double, count)) in enumerate(sizes.items()):
        shape = arrays[table].shape if table in arrays else ()
        if len(shape) != 2:
            raise DataError(f"{folder}: {TABLES[table]} must be a table with two dimensions; got shape {shape}")
        is_double = config.get(double)
        if kind in WIDTHS and is_double is not None and bool(is_double) is not WIDTHS[kind][i]:
            raise DataError(
                f"{folder / CONFIG}: says model={config.get('model')!r} and {double}={is_double!r}; the code of "
                "RotatE's paper refuses this. One of the two is wrong"
            )
        if hidden is not None and is_double is not None and shape[1] != hidden * (1 + bool(is_double)):
            raise DataError(
                f"{folder}: {TABLES[table]} has {shape[1]} columns, but {CONFIG} says hidden_dim={hidden} and "
                f"{double}={is_double!r}, which gives {hidden * (1 + bool(is_double))}. Are the files of one run?"
            )
        if type(config.get(count)) is int and config[count] not in (0, shape[0]):
            raise DataError(
                f"{folder}: {TABLES[table]} has {shape[0]} rows, but {CONFIG} says {count}={config[count]}. Are the "
                "files of one run?"
            )
    entity_width, relation_width = arrays["entities"].shape[1], arrays["relations"].shape[1]
    if entity_width != relation_width * (2 if kind == "rotate" else 1):
        wanted = "half as many columns as" if kind == "rotate" else "as many columns as"
        raise DataError(
            f"{folder}: the relations of {kind} have {wanted} its entities; got {relation_width} and {entity_width}"
        )


def _embedding_range(folder: Path, config: Mapping[str, Any], stored: Any) -> tuple[float | None, dict[str, str]]:
    """Return the divisor of the relations (None if it is unknown), and a note if the divisor is not certain.

    `stored` is the tensor ``embedding_range`` of the checkpoint, if the checkpoint was read.
    """
    notes = {}
    if stored is None and config.get("init_checkpoint") is not None:
        if _is_checkpoint(folder / CHECKPOINT):
            stored = _of_checkpoint(folder / CHECKPOINT)["embedding_range"]
        else:
            notes["phase_unit"] = (
                f"{CONFIG} belongs to a run that started from a checkpoint (init_checkpoint); such a run uses the "
                f"gamma of that checkpoint, which may differ from the gamma in {CONFIG}. The unit of the phases is "
                f"certain only if the folder contains the file {CHECKPOINT!r}"
            )
    if stored is not None:
        value = float(stored.item()) if stored.size == 1 else np.nan
        if not 0 < value < np.inf:
            raise DataError(f"{folder / CHECKPOINT}: embedding_range must be one number above 0; got {stored!r}")
        return value, notes
    gamma, hidden = config.get("gamma"), config.get("hidden_dim")
    if gamma is None or hidden is None:
        return None, notes
    gamma = check_gamma(folder / CONFIG, gamma)
    return float(np.float32((float(np.float32(gamma)) + GAMMA_EPSILON) / hidden)), notes


FORMAT = Format("rotate", sniff, read, "a model of the code of RotatE's paper (KnowledgeGraphEmbedding)")
