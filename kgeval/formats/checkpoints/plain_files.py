"""Read the plain files beside tables: ``.npy`` tables, JSON configurations, and the label of each row.

The modules of `kgeval.formats.models` call these functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import cut_label
from kgeval.errors import DataError
from kgeval.files import Arrays, check_source, read_text
from kgeval.formats.checkpoints.id_files import read_ids
from kgeval.formats.checkpoints.json_text import parse_json

LABEL_ARRAYS = ("entity_labels", "relation_labels")
GAMMA_EPSILON = 2.0  # which the code of RotatE's paper and DGL-KE add to gamma in embedding_range
MAX_GAMMA = 1e6


def read_npy(path: str | Path) -> npt.NDArray[Any]:
    """Read the array of an ``.npy`` file; an array of Python objects (a pickle) raises an error.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    array

    Raises
    ------
    DataError
        If the file does not exist or cannot be read, if it is damaged or not an ``.npy`` file, or if it contains
        Python objects.
    """
    file = Path(path)
    check_source(file)
    try:
        array = np.load(file, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # numpy raises many types of errors for damaged files
        if str(error).startswith("Object arrays"):
            raise DataError(
                f"{file}: contains pickled objects, which kgeval never reads; save a plain array"
            ) from error
        raise DataError(f"{file}: is damaged, cut off, or not an .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise DataError(f"{file}: expected a single array (.npy), found an .npz archive")
    return array


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a JSON object, the configuration of a model.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict

    Raises
    ------
    DataError
        If the file does not exist or cannot be read, or if it is no JSON object.
    """
    file = Path(path)
    content = parse_json(read_text(file), file, ". This file describes how to read the model: repair it")
    if not isinstance(content, dict):
        raise DataError(f"{file}: expected a JSON object with the settings of the model")
    return content


def check_gamma(config: Path, gamma: Any) -> float:
    """Return the margin `gamma` of a configuration, from which RotatE's code and DGL-KE compute the unit of phases.

    Parameters
    ----------
    config : Path
        The configuration, for messages.
    gamma : object

    Returns
    -------
    float

    Raises
    ------
    DataError
        If `gamma` is no number between ``-GAMMA_EPSILON`` and `MAX_GAMMA`.
    """
    if type(gamma) not in (int, float) or not -GAMMA_EPSILON < gamma < MAX_GAMMA:
        raise DataError(f"{config}: gamma must be a number above -2, below 1e6; got {cut_label(repr(gamma))}")
    return float(gamma)


def label_arrays(*files: Path | None) -> tuple[Arrays, str]:
    """Read the files that list the labels of the rows.

    Parameters
    ----------
    *files : Path or None
        The file of entities and the file of relations; a file that is None or does not exist is left out.

    Returns
    -------
    arrays : dict of str to array
        ``entity_labels`` and ``relation_labels``, str arrays, as far as there are files.
    label_source : str
        The names of these files, for the `label_source` of `kgeval.formats.checkpoints.Parts`.

    Raises
    ------
    DataError
        See `read_ids`.
    """
    present = [(name, file) for name, file in zip(LABEL_ARRAYS, files) if file is not None and file.is_file()]
    arrays = {name: np.array(read_ids(file), dtype=np.str_) for name, file in present}
    return arrays, " and ".join(file.name for _, file in present) + " beside it" if present else ""
