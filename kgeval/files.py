"""Files: written at once, text that is read strictly, arrays with a header without pickle; and modules of a folder."""

from __future__ import annotations

import codecs
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from kgeval.errors import DataError

Arrays = dict[str, npt.NDArray[Any]]


def write_archive(path: str | Path, arrays: Arrays, header: dict[str, Any], overwrite: bool = False) -> None:
    """Write `arrays` and `header` to `path`, through a temporary file that replaces it when complete.

    Raises
    ------
    DataError
        If `path` exists and `overwrite` is False, or is a folder, or if its own folder is missing,
        or an array holds objects.
    """
    target = Path(path)
    check_target(target, overwrite)
    objects = [name for name, array in arrays.items() if array.dtype.hasobject]
    if objects:
        raise DataError(f"{target}: array {objects[0]!r} holds objects, which only a pickle could store")
    text = json.dumps(header, allow_nan=False)
    with replacing(target, overwrite) as stream:
        np.savez_compressed(stream, **{"header": np.array(text), **arrays})  # type: ignore[arg-type]


@contextmanager
def replacing(path: str | Path, overwrite: bool) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file `path` when all are written; otherwise nothing changes.

    Raises
    ------
    DataError
        As `check_target`, or if the file cannot be written.
    """
    target = Path(path)
    check_target(target, overwrite)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise DataError(f"{target}: cannot be written: {error.strerror or error}") from error
        raise


def check_target(path: str | Path, overwrite: bool) -> None:
    """Raise a DataError if nothing can be written to `path`, before the work whose result goes there."""
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target} is a folder; give the name of a file")
    if target.exists() and not overwrite:
        raise DataError(f"{target} exists; choose another name, or say overwrite=True (--overwrite)")
    if not target.parent.is_dir():
        raise DataError(f"{target}: the folder {target.parent} does not exist; create it first")


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a text file, without a byte order mark.

    Raises
    ------
    DataError
        If there is no such file, it cannot be read, or it is UTF-16.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: {'is not a file' if file.exists() else 'no such file'}")
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise DataError(f"{file}: is UTF-16 (byte order mark); expected UTF-8. Convert it first")
    return raw.removeprefix(codecs.BOM_UTF8)


def one_line_end(raw: bytes) -> bytes:
    """Return text whose lines end in LF, whether they ended in LF, CRLF or CR."""
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file, its lines ended by LF, without a byte order mark.

    Raises
    ------
    DataError
        As `read_bytes`, and if the bytes are not UTF-8; names the line.
    """
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_no_nul(path: str | Path, raw: bytes) -> None:
    """Raise a DataError that names the line of the first NUL character, if there is one."""
    if b"\0" in raw:
        raise DataError(f"{path}, line {line_at(raw, raw.index(0))}: a NUL character; is this a text file?")


def encoding_error(path: str | Path) -> DataError:
    """Return the error for a file whose bytes are not UTF-8; names the line and the byte."""
    raw = Path(path).read_bytes()
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return DataError(
            f"{path}, line {line_at(raw, error.start)}: invalid UTF-8 at byte {error.start} of the file "
            f"(0x{raw[error.start]:02x}); save the file as UTF-8"
        )
    return DataError(f"{path}: the bytes changed while the file was read")


def line_at(raw: bytes, place: int) -> int:
    """Return the number of the line, from 1, of the byte at `place`; lines end in LF, CRLF or CR."""
    return one_line_end(raw[:place]).count(b"\n") + 1


def read_arrays(path: str | Path) -> Arrays:
    """Read every array of an ``.npz`` file; arrays of objects (pickles) are refused, always.

    Raises
    ------
    DataError
        If the file is missing, truncated, not an ``.npz``, or holds an array of objects.
    """
    source = Path(path)
    if not source.is_file():
        raise DataError(f"{source}: no such file" if not source.exists() else f"{source}: is not a file")
    try:
        loaded = np.load(source, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise DataError(f"{source}: expected an .npz archive of named arrays, found a single array (.npy)")
        with loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except DataError:
        raise
    except Exception as error:  # numpy and zipfile raise a dozen types on truncated, flipped or lying bytes
        if str(error).startswith("Object arrays"):
            raise DataError(f"{source}: holds pickled objects, which are never read; save plain arrays") from error
        reason = "it is neither .npz nor .npy" if "unsafely" in str(error) else str(error)
        raise DataError(
            f"{source}: is damaged, cut off, or no .npz archive (pickles are never read): {reason}"
        ) from error
    foreign = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if foreign:
        raise DataError(f"{source}: member {foreign[0]!r} is no array; is this an .npz file?")
    return arrays


def read_archive(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """Read what `write_archive` wrote.

    Returns
    -------
    arrays : dict of str to array
    header : dict
    """
    arrays = read_arrays(path)
    if "header" not in arrays or arrays["header"].dtype.kind != "U" or arrays["header"].ndim:
        raise DataError(f"{path}: is an .npz file, but not one that kgeval wrote (it has no header)")
    try:
        header = json.loads(str(arrays.pop("header")))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: its header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise DataError(f"{path}: its header is not a JSON object")
    return arrays, header


def pack_labels(labels: tuple[str, ...]) -> npt.NDArray[Any]:
    """Return labels, whatever characters they hold, as the bytes of one JSON list."""
    return np.frombuffer(json.dumps(labels).encode("ascii"), dtype=np.uint8)


def unpack_labels(packed: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the labels that `pack_labels` packed."""
    labels = json.loads(packed.tobytes().decode("ascii"))
    if not isinstance(labels, list):
        raise DataError("expected a list of labels in the file")
    return tuple(labels)
