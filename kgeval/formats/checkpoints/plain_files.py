"""Read the plain files beside tables: ``.npy`` tables, JSON configurations and their settings, and labels of rows.

The modules of `kgeval.formats.models` call these functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, check_not_empty, check_source, parse_json, read_text, text_array
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import find_id_files, read_ids
from kgeval.kernels.mapped_tables import is_kept

LABEL_ARRAYS = ("entity_labels", "relation_labels")
TEXT_SETTINGS = ("model", "layout", "normalise", "inverse_relations", "dtype")
NUMBER_SETTINGS = ("norm", "phase_unit", "batch_norm_eps")
USUAL = ("format",)  # names that libraries write into every file
GAMMA_EPSILON = 2.0  # a constant that RotatE's code and DGL-KE add to gamma: embedding_range is the sum / hidden_dim
MAX_GAMMA = 1e6


def read_npy(path: str | Path) -> npt.NDArray[Any]:
    """Read or map the array of an ``.npy`` file; an array of Python objects (a pickle) raises an error.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    array
        A large file is memory-mapped, for reading only.

    Raises
    ------
    DataError
        If the file does not exist or cannot be read, if it is damaged or not an ``.npy`` file, if anything follows the
        array, or if it contains Python objects.
    """
    file = Path(path)
    check_source(file)
    check_not_empty(file)
    try:
        size = file.stat().st_size
        with open(file, "rb") as stream:
            array = np.load(stream if is_kept(size) else file, None if is_kept(size) else "r", allow_pickle=False)
            end = array.offset + array.nbytes if isinstance(array, np.memmap) else stream.tell()
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
    if end < size:
        raise DataError(f"{file}: has {size - end:,} bytes after its array; save one array to a file")
    return np.asarray(array)


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


def read_settings(config: str | Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read a configuration file that holds the settings of a model under the names of `kgeval.models`.

    Parameters
    ----------
    config : str or path
        A file with a JSON object; a setting with the value null counts as missing.

    Returns
    -------
    settings : dict of str to (str, int or float)
    notes : tuple of str
        A note that lists the names that are not used, if there are any.

    Raises
    ------
    DataError
        If the file cannot be read (see `read_config`), or if a setting has a value of the wrong type.
    """
    file = Path(config)
    content = read_config(file)
    settings = {
        name: setting_value(file, name, content[name])
        for name in (*TEXT_SETTINGS, *NUMBER_SETTINGS)
        if content.get(name) is not None
    }
    return settings, unused_settings(file.name, content)


def setting_value(file: Path, name: str, value: Any) -> Any:
    """Return the value of a setting as a text (in lower case for ``model``) or as a number.

    Parameters
    ----------
    file : Path
        For messages.
    name : str
    value : object

    Returns
    -------
    str, int or float

    Raises
    ------
    DataError
        If the setting `name` needs a text or a number, and the value is of another type.
    """
    if name in TEXT_SETTINGS and isinstance(value, str):
        return value.lower() if name == "model" else value
    try:
        number = float(value) if isinstance(value, str) or type(value) in (int, float) else None
    except ValueError:
        number = None
    if name in TEXT_SETTINGS or number is None:
        expected = "a text" if name in TEXT_SETTINGS else "a number"
        raise DataError(f"{file}: expected {expected} as {name}; found {cut_label(repr(value))}")
    return int(number) if number.is_integer() else number


def unused_settings(name: str, content: Iterable[str]) -> tuple[str, ...]:
    """Return a note that lists the names that are not settings (a misspelt setting, for example); () if there are none.

    Parameters
    ----------
    name : str
        The name of the file.
    content : iterable of str
        The names that the file contains.
    """
    names = [word for word in content if word not in (*TEXT_SETTINGS, *NUMBER_SETTINGS, *LABEL_ARRAYS, *USUAL)]
    return (f"not used from {name}: {cut_label(', '.join(names))}",) if names else ()


def add_id_files(folder: Path, arrays: Arrays) -> str:
    """Add missing row labels to the arrays of a model, from the id files in a folder.

    Parameters
    ----------
    folder : Path
    arrays : dict of str to array
        The arrays of the model; ``entity_labels`` and ``relation_labels`` are added if they are missing.

    Returns
    -------
    str
        The names of the id files that were read, for the `label_source` of
        `kgeval.formats.checkpoints.model_file.ModelFile`.
    """
    pair = find_id_files(folder) if not all(name in arrays for name in LABEL_ARRAYS) else None
    id_files = (id_file if name not in arrays else None for id_file, name in zip(pair or (), LABEL_ARRAYS))
    labels, label_source = label_arrays(*id_files)
    arrays |= labels
    return label_source


def check_gamma(config: Path, gamma: Any) -> float:
    """Check and return the margin `gamma` of a configuration; RotatE's code and DGL-KE compute the phase unit from it.

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
    """Read the labels of the rows of a model from the two id files that list them.

    Parameters
    ----------
    *files : Path or None
        Two files, first of the entities, then of the relations. None, or a file that does not exist, gives no labels.

    Returns
    -------
    arrays : dict of str to array
        ``entity_labels`` and ``relation_labels``, str arrays; a key is missing if its file is missing.
    label_source : str
        The names of these files and the word "beside it", for the `label_source` of a `ModelFile`.

    Raises
    ------
    DataError
        See `read_ids`.
    """
    present = [(name, file) for name, file in zip(LABEL_ARRAYS, files) if file is not None and file.is_file()]
    arrays = {name: text_array(read_ids(file)) for name, file in present}
    return arrays, " and ".join(file.name for _, file in present) + " beside it" if present else ""
