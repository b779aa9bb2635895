"""Describe the tensors in torch files and ``.safetensors`` files without reading their numbers.

The formats of `kgeval.formats.models` recognise a checkpoint by the names and shapes of its tensors, in both kinds of
files. `tensor_names`, `root_class`, `root_attributes` and `top_keys` describe a file and never raise an error;
`read_tensors` reads it. Several formats examine the same file, so its description is kept until the file changes.

A ``.safetensors`` file is a length (8 bytes, little-endian), a JSON object ``{name: {dtype, shape, data_offsets}}`` of
this length, and the bytes of all tensors. numpy has no dtype for ``BF16``, so such tensors become float32. A large file
is memory-mapped: the numbers stay in the file until they are needed.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, check_source, parse_json
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.torch_files import is_torch_file, read_torch, state_dict
from kgeval.kernels.mapped_tables import bfloat16, is_kept

SAFETENSORS = ".safetensors"
MAX_HEADER_BYTES = 100_000_000  # of a .safetensors file, as in the safetensors library
MAX_KEYS = 10_000  # of a dict whose keys are listed; larger dicts hold data, such as labels
DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",  # the upper half of a float32
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "?",
}
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Outline:
    """A description of a file of tensors, without the numbers; all fields are empty if the file contains no tensors.

    Parameters
    ----------
    shapes, root_class, attributes, keys
        The results of the functions `tensor_names`, `root_class`, `root_attributes` and `top_keys`.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    root_class: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


def tensor_names(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of the tensors of a torch file or of a ``.safetensors`` file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to tuple of int
        The names as in `state_dict`. Empty for any other file, a folder, and a file that cannot be read.
    """
    return dict(_outline(path).shapes)


def root_class(path: str | Path) -> str:
    """Return the class of the object that a torch file contains.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    str
        Module and name, such as ``"torch_geometric.nn.kge.transe.TransE"``; ``""`` for a dict, a list and other plain
        data, and for any other file.
    """
    return _outline(path).root_class


def root_attributes(path: str | Path) -> dict[str, Any]:
    """Return the plain attributes of the object that a torch file contains.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to (str, int, float, bool or None)
        An attribute that is a class or a function is its module and name, as a str; other attributes are left out.
        Empty for a file that contains no object.
    """
    return dict(_outline(path).attributes)


def top_keys(path: str | Path) -> dict[str, str]:
    """Return the keys of the dict that a torch file contains.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to str
        For each key the class of its value, for example ``{"config": "kge.config.Config", "model": "tuple"}``; empty
        for a file that contains no dict, or one of more than `MAX_KEYS` keys. Keys that are not str are left out.
    """
    return dict(_outline(path).keys)


def read_tensors(path: str | Path, streams: bool = False) -> Arrays:
    """Read all tensors of a torch file or of a ``.safetensors`` file.

    Parameters
    ----------
    path : str or path
    streams : bool
        Whether a large tensor of bfloat16 in a ``.safetensors`` file is returned as a `StreamedTable`, whose rows are
        converted when they are read.

    Returns
    -------
    dict of str to array
        The names as in `state_dict`; bfloat16 becomes float32. Arrays of a large ``.safetensors`` file are
        memory-mapped, for reading only.

    Raises
    ------
    DataError
        If the file is damaged, or is of another kind; see `read_torch` and `state_dict`.
    MissingExtra
        If the file is a ``.safetensors`` file and safetensors is not installed.
    """
    file = Path(path)
    if file.suffix == SAFETENSORS:
        return _read_safetensors(file, streams)
    return state_dict(read_torch(file), str(file))


def _outline(path: str | Path) -> Outline:
    """Return the outline of a file; an empty `Outline` if the file cannot be read or is of another kind."""
    try:
        file = Path(path)
        state = file.stat()
        return _cached_outline(os.path.realpath(file), state.st_size, state.st_mtime_ns)
    except (DataError, OSError, ValueError, RecursionError, MemoryError):
        return Outline()


@functools.lru_cache(maxsize=128)
def _cached_outline(path: str, size: int, changed: int) -> Outline:
    """Return the outline of a file; `size` and `changed` are arguments, so the cache reads a changed file again."""
    file = Path(path)
    if not file.is_file():
        return Outline()
    if file.suffix == SAFETENSORS:
        return Outline({name: tuple(about["shape"]) for name, about in safetensors_header(file)[0].items()})
    if not is_torch_file(file):
        return Outline()
    tree = read_torch(file, with_values=False)
    try:
        shapes = {name: array.shape for name, array in state_dict(tree, str(file)).items()}
    except DataError:  # no dict and no module, or a tensor of another form
        shapes = {}
    entries = tree.items() if isinstance(tree, dict) and len(tree) <= MAX_KEYS else ()
    keys = {key: _class_of(value) for key, value in entries if isinstance(key, str)}
    state = tree.state if isinstance(tree, Stub) and isinstance(tree.state, dict) else {}
    attributes = {
        name: value.name if isinstance(value, Stub) else value
        for name, value in state.items()
        if isinstance(name, str) and (isinstance(value, PLAIN) or (isinstance(value, Stub) and value.is_reference))
    }
    return Outline(shapes, tree.name if isinstance(tree, Stub) else "", attributes, keys)


def _class_of(value: Any) -> str:
    """Return the name of the class of an object in a torch file."""
    return value.name if isinstance(value, Stub) else type(value).__name__


def safetensors_header(file: Path) -> tuple[dict[str, dict[str, Any]], Any]:
    """Read the header of a ``.safetensors`` file.

    Parameters
    ----------
    file : Path

    Returns
    -------
    tensors : dict of str to dict
        For each tensor: ``dtype``, ``shape``, and ``data_offsets``, the position of its bytes.
    metadata : object
        The metadata, a dict of texts in files of the library; None if the file has no metadata.

    Raises
    ------
    DataError
        If the file does not start with a valid header.
    """
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise DataError(f"{file}: no .safetensors file, or a damaged one: its header would have {length:,} bytes")
        text = stream.read(length)
    try:
        header = parse_json(text, file)
    except DataError:
        header = None
    tensors = (
        {name: about for name, about in header.items() if name != "__metadata__"} if type(header) is dict else None
    )
    if tensors is None or not all(map(_has_shape, tensors.values())):
        raise DataError(f"{file}: no .safetensors file, or a damaged one: its header is no list of tensors")
    return tensors, header.get("__metadata__")


def _has_shape(about: Any) -> bool:
    """Return whether an entry of the header of a ``.safetensors`` file contains the shape of a tensor."""
    shape = about.get("shape") if isinstance(about, dict) else None
    return isinstance(shape, list) and all(type(number) is int and number >= 0 for number in shape)


def _read_safetensors(file: Path, streams: bool) -> Arrays:
    """Read or map all tensors of a ``.safetensors`` file."""
    try:
        import safetensors
    except ImportError as error:
        raise MissingExtra(
            f'{file}: reading .safetensors needs safetensors; pip install "kgeval[safetensors]"'
        ) from error
    check_source(file)
    try:
        with safetensors.safe_open(str(file), framework="numpy"):
            pass  # the library checks that the tensors fill the file, without gaps or overlaps
        raw = np.memmap(file, np.uint8, "r")
    except safetensors.SafetensorError as error:
        raise DataError(f"{file}: no .safetensors file, or a damaged one ({error})") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    content = np.array(raw) if is_kept(raw.nbytes) else np.asarray(raw)
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    tensors, _ = safetensors_header(file)
    return {name: _array(file, name, about, content[start:], streams) for name, about in sorted(tensors.items())}


def _array(file: Path, name: str, about: Mapping[str, Any], content: Any, streams: bool) -> Any:
    """Return one tensor of a ``.safetensors`` file, which the safetensors library has checked."""
    dtype = about["dtype"]
    if dtype not in DTYPES:
        raise DataError(
            f"{file}: tensor {cut_label(name)!a} has dtype {dtype}; these are read: {', '.join(DTYPES)}. Convert it "
            "before it is saved"
        )
    begin, end = about["data_offsets"]
    array = content[begin:end].view(DTYPES[dtype]).reshape(about["shape"])
    if dtype == "BF16":
        if not array.ndim:
            return np.asarray(bfloat16(array.reshape(1))).reshape(())
        table = bfloat16(array)
        return table if streams and not is_kept(table.nbytes) else np.asarray(table)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
