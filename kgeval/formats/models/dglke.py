"""The format of DGL-KE: two ``.npy`` tables and ``config.json`` in the folder of a run.

Layout. ``DATASET_MODEL_entity.npy`` and ``DATASET_MODEL_relation.npy``; the file names contain the name of the model:
TransE_l1, TransE_l2, TransE (L2), DistMult, ComplEx (halves), RotatE, RESCAL (each relation one row, a matrix row by
row), SimplE (in each entity row the vector as subject, then the vector as object; in each relation row the relation,
then its inverse). ``config.json`` has ``gamma``, ``double_ent`` and ``double_rel``, and the dimension as ``emb_size``
(version 0.1) or ``hidden_dim`` (later versions). It also names two id files with lines ``id TAB label``: the key of the
entity file is ``emap_file`` (misspelt ``emp_file`` in later versions), the key of the relation file is ``rmap_file``.
The rows follow these files. DGL-KE leaves them in the folder of the dataset (``entities.tsv`` and ``relations.tsv`` if
the triples had labels); kgeval reads them from the folder of the model if they are there, otherwise from the folder of
the dataset.

TransE and RotatE add gamma to the scores of kgeval; a constant changes no rank.

Traps. The phases of RotatE are ``r / (embedding_range / pi)`` with ``embedding_range = (gamma + 2) / hidden_dim``,
with the exact pi. SimplE clamps its scores to +-20 in training and evaluation, but not in ``dglke_score``. Two scores
above 20 then tie in DGL-KE, but not here. A rank can change only if the score of the positive itself is clamped. The
model is therefore refused if the score of a triple of the dataset would be clamped, unless ``ignore="clamp"`` says to
rank without the clamp. The evaluation of RESCAL multiplies the rivals of an object by the transposed matrix, but the
object itself by the matrix; kgeval scores all of them with the matrix, as ``dglke_score`` does, and a note says so.
TransR needs a projection matrix per relation and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.files import Arrays
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.plain_files import GAMMA_EPSILON, check_gamma, label_arrays, read_config, read_npy
from kgeval.formats.registry import Format
from kgeval.scorers.models import EmbeddingModel

MODELS: dict[str, dict[str, Any]] = {  # the settings that DGL-KE always uses
    "TransE_l1": {"model": "transe", "norm": 1, "normalise": "none"},
    "TransE_l2": {"model": "transe", "norm": 2, "normalise": "none"},
    "TransE": {"model": "transe", "norm": 2, "normalise": "none"},
    "DistMult": {"model": "distmult"},
    "ComplEx": {"model": "complex", "layout": "halves"},
    "RotatE": {"model": "rotate", "norm": 1, "layout": "halves"},
    "RESCAL": {"model": "rescal"},
    "SimplE": {"model": "simple"},
}
REFUSED = ("TransR", "ConvE", "AttH", "ATTH")
ENTITY_FILE = re.compile(rf"(?P<dataset>.+)_(?P<model>{'|'.join((*MODELS, *REFUSED))})_entity\.npy")
CONFIG = "config.json"
ID_FILES = (("emap_file", "emp_file", "entities.tsv"), ("rmap_file", "relations.tsv"))  # keys, then the usual name
CLAMP = 20.0  # DGL-KE clamps the scores of SimplE to -20 .. 20
RESCAL_NOTE = (
    "DGL-KE's own evaluation multiplies the rivals of an object by the transposed matrix of the relation (but not the "
    "object itself); here every score is s' W o, as in DGL-KE's dglke_score"
)


def sniff(path: Path) -> bool:
    """Return whether a folder contains the tables of a model, or whether a file is one of them."""
    try:
        return bool(_entity_files(path))
    except OSError:
        return False


def _entity_files(path: Path) -> list[Path]:
    """Return the paths of the entity tables at `path`, without tables that have no relation table beside them."""
    if not path.is_dir():
        path = path.with_name(path.name.replace("_relation.npy", "_entity.npy"))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file for file in files if ENTITY_FILE.fullmatch(file.name) and file.is_file() and _beside(file).is_file()]


def _beside(entity_file: Path) -> Path:
    """Return the path of the table of relations that belongs to a table of entities."""
    return entity_file.with_name(entity_file.name.removesuffix("_entity.npy") + "_relation.npy")


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the folder; see `kgeval.load_model`."""
    folder = path if path.is_dir() else path.parent
    config = read_config(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    file = _chosen(path, config)
    name = _checked_name(folder, file, config)
    entities, relations = read_npy(file), read_npy(_beside(file))
    hidden = _check_shapes(folder, name, config, {file: entities, _beside(file): relations})
    settings = dict(MODELS[name])
    arrays: Arrays = {"entities": entities, "relations": relations}
    notes: tuple[str, ...] = ()
    check = None
    if name == "RotatE":
        gamma = config.get("gamma")
        if gamma is not None and hidden is not None:
            settings["phase_unit"] = np.pi / ((check_gamma(folder / CONFIG, gamma) + GAMMA_EPSILON) / hidden)
    elif name == "RESCAL":
        d = entities.shape[1]
        arrays["relations"], notes = relations.reshape(-1, d, d), (RESCAL_NOTE,)
    elif name == "SimplE":
        subjects, objects = np.split(entities, 2, axis=1)
        forward, inverse = np.split(relations, 2, axis=1)
        arrays = {"subjects": subjects, "objects": objects, "relations": forward, "relations_inverse": inverse}
        ignored = said.get("ignore", ())
        if "clamp" in (ignored.split(",") if isinstance(ignored, str) else list(ignored)):
            arrays["clamp"] = np.array(CLAMP)
        else:
            check = _check_clamp
    labels, label_source = label_arrays(*(_id_file(folder, config, keys) for keys in ID_FILES))
    return ModelFile(
        file, arrays | labels, settings, notes=notes, label_source=label_source, check=check, id_formats=("dglke",)
    )


def _chosen(path: Path, config: Mapping[str, Any]) -> Path:
    """Return the path of the entity table; raise a DataError unless `path` and the configuration name exactly one."""
    files = _entity_files(path)
    if len(files) > 1 and isinstance(config.get("dataset"), str):
        name = config.get("model", config.get("model_name"))
        files = [file for file in files if file.name == f"{config['dataset']}_{name}_entity.npy"] or files
    if len(files) == 1:
        return files[0]
    if files:
        shown = ", ".join(file.name for file in files)
        raise DataError(f"{path}: contains the tables of {len(files)} models; give the path of one of {shown}")
    raise DataError(
        f"{path}: expected the tables of a model of DGL-KE, DATASET_MODEL_entity.npy and DATASET_MODEL_relation.npy; "
        f"the models are {', '.join(MODELS)}"
    )


def _checked_name(folder: Path, file: Path, config: Mapping[str, Any]) -> str:
    """Return DGL-KE's name of the model.

    Raise a DataError if the file names and the configuration name different models.
    """
    match = ENTITY_FILE.fullmatch(file.name)
    name = match["model"] if match else ""
    in_config = config.get("model", config.get("model_name"))
    if in_config is not None and in_config != name and sorted(map(str, (in_config, name))) != ["TransE", "TransE_l2"]:
        raise DataError(
            f"{folder}: {file.name} is a table of {name}, but {CONFIG} says the model is {in_config!r}. Are the files "
            "of one run?"
        )
    if name in REFUSED:
        why = "a projection matrix per relation" if name == "TransR" else "a formula"
        raise DataError(
            f"{file}: the model is {name}, which needs {why} that no model of kgeval.models has. Rank it with a "
            "function of your own that calls DGL-KE: kgeval.evaluate(function, dataset)"
        )
    return name


def _check_shapes(folder: Path, name: str, config: Mapping[str, Any], tables: Mapping[Path, Any]) -> int | None:
    """Return the dimension from the configuration; raise a DataError if the shapes of the tables contradict it."""
    hidden = config.get("emb_size", config.get("hidden_dim"))
    if hidden is not None and (type(hidden) is not int or hidden < 1):
        raise DataError(f"{folder / CONFIG}: the dimension must be a whole number above 0; got {hidden!r}")
    wrong = next((file for file, table in tables.items() if table.ndim != 2 or not table.shape[1]), None)
    if wrong is not None:
        shape = tables[wrong].shape
        raise DataError(f"{wrong}: expected a table with two dimensions and at least one column; got shape {shape}")
    (entity_file, entities), (relation_file, relations) = tables.items()
    if hidden is not None:
        width = hidden * (1 + bool(config.get("double_ent", False)))
        expected = {entity_file: width, relation_file: hidden * (1 + bool(config.get("double_rel", False)))}
        if name == "RESCAL":
            expected[relation_file] *= width
        for file, columns in expected.items():
            if tables[file].shape[1] != columns:
                raise DataError(
                    f"{file}: has {tables[file].shape[1]} columns, but {CONFIG} gives {columns} (dimension {hidden}, "
                    f"double_ent={config.get('double_ent', False)!r}, double_rel={config.get('double_rel', False)!r}). "
                    "Are the files of one run?"
                )
    width, relation_width = entities.shape[1], relations.shape[1]
    wanted = {"RotatE": width / 2, "RESCAL": width**2}.get(name, width)
    if relation_width != wanted or (name in ("RotatE", "SimplE", "ComplEx") and width % 2):
        raise DataError(
            f"{folder}: the entities of {name} have {width} columns and its relations {relation_width}; this does not "
            "fit together"
        )
    return hidden


def _id_file(folder: Path, config: Mapping[str, Any], names: tuple[str, ...]) -> Path | None:
    """Return the file of ids in the folder: the file that the configuration names, else the usual file, else None."""
    *keys, usual = names
    said = [config[key] for key in keys if isinstance(config.get(key), str)]
    return next((folder / Path(name).name for name in (*said, usual) if (folder / Path(name).name).is_file()), None)


def _check_clamp(model: EmbeddingModel, dataset: Dataset) -> list[str]:
    """Raise a DataError if the clamp of SimplE may change the rank of a triple; else return a list of one note."""
    for split, triples in dataset.splits.items():
        s, p, o = triples.s, triples.p, triples.o
        is_known = ~(np.isin(s, model.missing_entities) | np.isin(o, model.missing_entities))
        is_known &= ~np.isin(p, model.missing_relations)
        scores = np.abs(model.score(s[is_known], p[is_known], o[is_known]))
        if (scores >= CLAMP).any():
            raise DataError(
                f"the scores of {int((scores >= CLAMP).sum()):,} of {len(scores):,} triples of {split} are beyond "
                f"+-{CLAMP:g} (up to {scores.max():.4g}). DGL-KE's evaluation clamps the scores of SimplE to "
                f"+-{CLAMP:g}, which makes ties that kgeval does not imitate. To rank the scores without the clamp, "
                "as DGL-KE's dglke_score computes them, set ignore='clamp' (--ignore clamp)"
            )
    return ["DGL-KE clamps the scores of SimplE to +-20; no triple of the dataset reaches this, so no rank changes"]


FORMAT = Format("dglke", sniff, read, "a model of DGL-KE")
