"""OGB: ``t_pred_top10``, the ids of the ten best objects of each triple, in an ``.npz``, ``.npy`` or torch file.

Traps. Row i is for triple i of the split. The ids are OGB's ids; a dataset that was read from other files may have
other ids. In the first version of WikiKG90M the entries are not ids but positions in lists of 1,001 candidates. An id
that occurs twice in a row makes OGB's reciprocal rank 0; here its first place counts. If the file has
``t_correct_index``, this array must equal the objects of the split.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, counted, cut_label
from kgeval.base.files import read_arrays
from kgeval.data.dataset import Dataset
from kgeval.data.lists import Ragged
from kgeval.data.predictions import Predictions
from kgeval.errors import DataError
from kgeval.formats.checkpoints.plain_files import read_npy
from kgeval.formats.checkpoints.torch_files import read_torch
from kgeval.formats.prediction_files.mapping import PredictionOptions, id_map
from kgeval.formats.registry import Format

BEST, CORRECT = "t_pred_top10", "t_correct_index"
N_LISTED = 1001  # candidates of each triple in the first version of WikiKG90M
_HEAD = 1 << 16


def sniff(path: Path) -> bool:
    """Return whether a file holds an array ``t_pred_top10``."""
    try:
        if not path.is_file():
            return False
        if path.suffix.lower() == ".npy":
            return "pred_top10" in path.name
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
                pickles = [name for name in names if name.endswith("data.pkl")]
                return f"{BEST}.npy" in names or any(BEST.encode() in archive.read(name) for name in pickles)
        with open(path, "rb") as stream:
            head = stream.read(_HEAD)
            return head.startswith(b"\x80") and BEST.encode() in head  # a pickle: old torch files are no archives
    except Exception:  # damaged archives raise many types of errors
        return False


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read the ten best objects of each triple of a split."""
    options.check_used("ogb", ())
    arrays = _arrays(path)
    best, positives = _integers(path, arrays, BEST), dataset[options.split].array
    if best.ndim != 2 or len(best) != len(positives):
        raise DataError(
            f"{path}: {BEST} has shape {best.shape}, but {options.split} has {counted(len(positives), 'triple')}; "
            "expected one row for each (give split= if the rows are for another split)"
        )
    if best.size and best.max() < N_LISTED < len(dataset.entities) // 10:
        raise DataError(
            f"{path}: all entries of {BEST} are below {N_LISTED:,}, but the dataset has {len(dataset.entities):,} "
            "entities; they seem to be places in lists of candidates (first version of WikiKG90M), which kgeval cannot "
            "map to entities without the lists; write the ids of the entities"
        )
    ids, note = id_map(path, dataset, options, "ogb")
    answers = _as_ids(path, BEST, best, ids)
    if CORRECT in arrays:
        correct = _as_ids(path, CORRECT, _integers(path, arrays, CORRECT).reshape(-1), ids)
        if not np.array_equal(correct, positives[:, 2]):
            differs = np.flatnonzero(correct[: len(positives)] != positives[: len(correct), 2])
            row = int(differs[0]) if len(differs) else min(len(correct), len(positives))
            raise DataError(
                f"{path}: {CORRECT} is not the objects of {options.split}: the first difference is in row {row}; rows "
                "must be in the order of the split, and the ids those of the dataset"
            )
    ordered = np.sort(answers, axis=1)
    n_repeating = int((ordered[:, 1:] == ordered[:, :-1]).any(axis=1).sum())
    notes = [f"read as OGB: row i of {BEST} is for the object of triple i of {options.split}", note]
    if n_repeating:
        notes.append(
            f"{counted(n_repeating, 'row holds', 'rows hold')} an id twice: the first place counts (OGB would count "
            "such a row as a miss)"
        )
    sides = np.full(len(positives), "object")
    return Predictions(positives.copy(), sides, Ragged.of_rows(answers), notes=tuple(notes), source=str(path))


def _arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a file by name."""
    if path.suffix.lower() == ".npy":
        return {BEST: read_npy(path)}
    if path.suffix.lower() == ".npz":
        return dict(read_arrays(path))
    found: dict[str, Any] = {}
    tree = read_torch(path)
    while isinstance(tree, dict) and BEST not in tree and len(tree) == 1:  # {"h,r->t": {...}}
        tree = next(iter(tree.values()))
    if isinstance(tree, dict):
        found = {str(key): value for key, value in tree.items()}
    return found


def _integers(path: Path, arrays: dict[str, Any], name: str) -> npt.NDArray[Any]:
    """Return an array of integers."""
    if name not in arrays:
        raise DataError(f"{path}: no array {name!r}; found {cut_label(', '.join(arrays))}")
    array = np.asarray(arrays[name])
    if array.dtype.kind not in "iu":
        raise DataError(f"{path}: {name} must hold integer ids; got dtype {array.dtype}")
    return array


def _as_ids(path: Path, name: str, values: npt.NDArray[Any], ids: Ids) -> Ids:
    """Convert the ids of the file to ids of the dataset.

    Raise a DataError for an id without an entity of the dataset.
    """
    values = values.astype(np.int64)
    is_wrong = (values < 0) | (values >= len(ids))
    mapped: Ids = np.where(is_wrong, -1, ids[np.where(is_wrong, 0, values)])
    if (mapped < 0).any():
        place = tuple(int(i) for i in np.argwhere(mapped < 0)[0])
        problem = f"is not in 0..{len(ids) - 1}" if is_wrong[place] else "has a label that the dataset lacks"
        raise DataError(f"{path}: {name}, row {place[0]}: the id {values[place]} {problem}")
    return mapped


FORMAT = Format("ogb", sniff, read, "OGB (t_pred_top10)")
