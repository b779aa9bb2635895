"""Read and write files: strict UTF-8 text, ``.npz`` archives without pickle, and files that appear only when complete.

The packages that read file formats, save results and export reports call these functions.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import errno
import hashlib
import json
import os
import platform
import re
import secrets
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from kgeval.base.limits import check_json, check_unfolded, factor, most_unfolded
from kgeval.errors import DataError

if sys.platform != "win32":
    import fcntl

Arrays = dict[str, npt.NDArray[Any]]
TEMPORARY = re.compile(r"\.kgeval-\w+-\d+-\w+\.part")  # the name of a file that is not complete
LARGE = 2**23  # bytes of an array that is compressed with less effort
MEMBERS = "members"  # the key of the header under which the checksums of the arrays are
HOME = "KGEVAL_HOME"
ABANDONED_SECONDS = 86_400  # another machine's file is abandoned if it has not grown for this time
MIN_SIMILARITY = 0.7  # an error message suggests only names that are at least this similar to the missing name
PAGE_SUFFIXES = (".html", ".htm")


def write_archive(path: str | Path, arrays: Arrays, header: dict[str, Any], overwrite: bool = False) -> None:
    """Write arrays and a header to an ``.npz`` file. The file appears only when it is complete (see `replacing`).

    The header lists the arrays with their checksums, so that `read_archive` notices if one is missing or changed.

    Parameters
    ----------
    path : str or path
    arrays : dict of str to array
        Any dtype except object; any name except ``"header"``.
    header : dict
        Str keys, and values that JSON can store; no NaN and no infinity.
    overwrite : bool
        Whether an existing file is replaced; if False, an existing file raises an error.

    Raises
    ------
    DataError
        If no file may be written to `path` (see `check_target`), if an array contains Python objects, or if writing
        fails.
    """
    target = Path(path)
    check_target(target, overwrite)
    objects = [name for name, array in arrays.items() if array.dtype.hasobject]
    if objects:
        raise DataError(
            f"{target}: array {objects[0]!r} contains Python objects, which cannot be stored without pickle"
        )
    members = {name: _checksum(array) for name, array in arrays.items()}
    text = json.dumps({**header, MEMBERS: members}, allow_nan=False)
    with replacing(target, overwrite) as stream:
        content: Any = {"header": np.array(text), **arrays}
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, array in content.items():
                archive.compresslevel = 1 if array.nbytes > LARGE else None  # 1: several times faster
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        n_bytes = sum(array.nbytes + 1024 for array in content.values())  # at most, with the headers of the members
        if n_bytes > most_unfolded(stream.tell()) / factor():
            stream.seek(0)  # compressed, the file would look like one that is made to fill the memory
            stream.truncate()
            np.savez(stream, **content)


@contextmanager
def replacing(path: str | Path, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a stream whose bytes become the file `path` at the end of the ``with`` block.

    The bytes go to a temporary file in the same folder; at the end, this file replaces `path`. The file and its name
    are flushed to the disk. After an error, `path` is unchanged and the temporary file is deleted. If `path` is a
    symbolic link, the file to which it leads is replaced and the link stays. The new file has the mode of the file that
    it replaces, and its owner and group if the system allows it.

    The process locks its temporary file. What a killed process left, which is not locked, is deleted by the next call
    for the same folder.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Whether an existing file is replaced; if False, an existing file raises an error.

    Yields
    ------
    binary stream
        Write the bytes of the file to this stream.

    Raises
    ------
    DataError
        If no file may be written to `path` (see `check_target`), or if writing fails.
    """
    check_target(path, overwrite)
    target = Path(os.path.realpath(path))
    try:
        before = target.stat() if target.exists() else None
        # The system applies the umask to the mode of a new file. The file to replace may be private.
        temporary, handle, lock = _create_temporary(target.parent, 0o666 if before is None else 0o600)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            _remove_abandoned(target.parent, os.fstat(handle).st_mtime)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if before is not None:
            _copy_rights(before, temporary)
        if overwrite:
            os.replace(temporary, target)
        else:
            _rename_to_new(temporary, target)
        _sync_folder(target.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise DataError(
                f"{path}: another process wrote this file in the meantime; it is unchanged. Choose another name, or "
                "use overwrite=True (--overwrite)"
            ) from error
        if isinstance(error, OSError):
            raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _rename_to_new(temporary: Path, target: Path) -> None:
    """Give a file its name, unless the name is taken: of two processes that do this at the same time, one succeeds."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: an empty file takes the name first
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        try:
            os.replace(temporary, target)
        except BaseException:
            target.unlink()
            raise
    else:
        temporary.unlink()


def _copy_rights(before: os.stat_result, path: Path) -> None:
    """Give a file the owner, the group (if the system allows it) and the mode of the file that it will replace."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode))


def _temporary_start() -> str:
    """Return how the names of the temporary files of this machine begin; the number of the process follows."""
    host = "".join(character if character.isalnum() else "_" for character in platform.node())[:64]
    return f".kgeval-{host or 'host'}-"


def _create_temporary(folder: Path, mode: int) -> tuple[Path, int, int | None]:
    """Create a temporary file, and lock it until its second handle is closed or the process ends.

    Windows, and file systems without locks, lock nothing; there, `_remove_abandoned` deletes nothing.
    """
    while True:
        path = folder / f"{_temporary_start()}{os.getpid()}-{secrets.token_hex(8)}.part"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if sys.platform == "win32":
            return path, handle, None
        try:
            with contextlib.suppress(OSError):  # the file system has no locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists():
                return path, handle, os.dup(handle)
        except BaseException:
            os.close(handle)
            path.unlink(missing_ok=True)
            raise
        os.close(handle)  # another process deleted the file before it was locked


def _remove_abandoned(folder: Path, now: float) -> None:
    """Delete the temporary files in a folder that no process writes any more, for example after a kill.

    Parameters
    ----------
    folder : Path
    now : float
        The time of the file system, which may be another machine's.
    """
    if sys.platform == "win32":
        return
    for child in folder.glob(".kgeval-*.part"):
        if TEMPORARY.fullmatch(child.name) is None:
            continue
        with contextlib.suppress(OSError):  # its writer holds the lock, or another process has just deleted it
            handle = os.open(child, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A network file system may hide the locks of other machines.
                is_old = now - os.fstat(handle).st_mtime > ABANDONED_SECONDS
                if is_old or child.name.startswith(_temporary_start()):
                    child.unlink()
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Flush the file names of a folder to the disk, on systems that support this (Windows does not)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:  # some file systems refuse it; the file itself is on the disk
        pass
    finally:
        os.close(handle)


def check_target(path: str | Path, overwrite: bool) -> None:
    """Raise a DataError if no file may be written to `path`; commands call this before a long computation.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    DataError
        If `path` is a folder, a pipe, a device or a symbolic link that leads to itself; if it is an existing file and
        `overwrite` is False; if its parent folder does not exist; or if the system refuses access to a folder or does
        not allow a new file in it.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stands for the file to which it leads
    mode = _mode_or_none(target, "written")
    if target.is_symlink():
        raise DataError(f"{path}: is a symbolic link that leads to itself; give the name of a file")
    if mode is not None and stat.S_ISDIR(mode):
        raise DataError(f"{path} is a folder; give the name of a file")
    if mode is not None and not stat.S_ISREG(mode):
        raise DataError(f"{path} is not a regular file (it is a pipe, a socket or a device); give the name of a file")
    if mode is not None and not overwrite:
        raise DataError(f"{path} exists; choose another name, or use overwrite=True (--overwrite)")
    if not target.parent.is_dir():
        folder = target.parent if Path(path).is_symlink() else Path(path).parent
        raise DataError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise DataError(f"{path}: cannot be written: no file can be made in the folder {target.parent}")


def checked_ending(path: str | Path, endings: Sequence[str]) -> str:
    """Return the ending of the name of a file to be written, in lower case, or raise a DataError.

    Parameters
    ----------
    path : str or Path
    endings : sequence of str
        Those that are allowed, such as ``".csv"``.

    Raises
    ------
    DataError
        If the name has another ending, or none.
    """
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise DataError(f"{path}: expected a name that ends in {', '.join(endings)}; got {ending or 'no ending'!r}")
    return ending


def check_page_target(path: str | Path, overwrite: bool) -> None:
    """Raise a DataError if a page must not be written to `path`; ``kgeval report`` calls this before it reads results.

    Parameters
    ----------
    path : str or Path
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    DataError
        If the name does not end in ``.html`` or ``.htm``, or in the cases that `check_target` lists.
    """
    suffix = Path(path).suffix
    if suffix.lower() not in PAGE_SUFFIXES:
        raise DataError(
            f"{path}: the report is an HTML page; expected a name that ends in {' or '.join(PAGE_SUFFIXES)}; got "
            f"{suffix or 'no ending'!r}. To get a PDF, open the page in a browser and print it"
        )
    check_target(path, overwrite)


def check_not_empty(path: Path) -> None:
    """Raise a DataError if a file has no bytes.

    Parameters
    ----------
    path : Path
    """
    if not path.stat().st_size:
        raise DataError(f"{path}: is empty (0 bytes): perhaps it was cut off when it was written")


def check_source(path: str | Path) -> None:
    """Raise a DataError if `path` is not a regular file, or if the system refuses access to its folder.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    DataError
        If there is no such file, if it is a folder, a pipe or a device, or if the system refuses access to its folder.
    """
    mode = _mode_or_none(Path(path), "read")
    if mode is None and Path(path).is_symlink():
        raise DataError(f"{path}: is a symbolic link to {os.readlink(path)}, which does not exist")
    if mode is None and str(path) == "-":
        raise DataError("-: standard input is not read; write it to a file, and give the name of the file")
    if mode is None:
        raise DataError(f"{path}: no such file{similar_path(path)}")
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        raise DataError(f"{path}: is a pipe or a device; write its content to a file, and give the name of the file")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: is not a file")


def similar_path(path: str | Path, is_folder: bool = False) -> str:
    """Return a hint for an error message about a missing file: the most similar file name in the same folder.

    Parameters
    ----------
    path : str or path
        The missing file or folder.
    is_folder : bool
        Whether to look for a folder in place of a file.

    Returns
    -------
    str
        ``"; did you mean 'path'?"``, or ``""`` if no name is similar or the folder of `path` cannot be read.
    """
    path = Path(path)
    try:
        beside = [child.name for child in path.parent.iterdir() if child.is_dir() == is_folder]
    except (OSError, ValueError):
        return ""
    similar = difflib.get_close_matches(path.name, beside, n=1, cutoff=MIN_SIMILARITY)
    return f"; did you mean {str(path.with_name(similar[0]))!r}?" if similar else ""


def _mode_or_none(path: Path, done: str) -> int | None:
    """Return the mode of a file, or None if there is no file.

    Other errors become a DataError ("cannot be read", ...).
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL character in the name
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a symbolic link that leads to itself
            return None
        raise DataError(f"{path}: cannot be {done}: {error.strerror or error}") from error


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a text file, without a byte order mark.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    bytes

    Raises
    ------
    DataError
        If the file does not exist, if it cannot be read, or if it is encoded in UTF-16.
    """
    file = Path(path)
    check_source(file)
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    return text_bytes(file, raw)


def text_bytes(path: str | Path, raw: bytes) -> bytes:
    """Return the bytes of a text without a byte order mark.

    Parameters
    ----------
    path : str or path
        The name of the file, for messages.
    raw : bytes
        The content of the file.

    Returns
    -------
    bytes

    Raises
    ------
    DataError
        If the text is encoded in UTF-16.
    """
    if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise DataError(f"{path}: is encoded in UTF-16 (byte order mark); expected UTF-8. Convert the file first")
    return raw.removeprefix(codecs.BOM_UTF8)


def one_line_end(raw: bytes) -> bytes:
    """Convert the line ends of a text to LF.

    Parameters
    ----------
    raw : bytes
        Text with lines that end in LF, CRLF or CR.

    Returns
    -------
    bytes
        The text with LF at the end of each line; `raw` itself if it contains no CR.
    """
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file, with LF at the end of each line and without a byte order mark.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    str

    Raises
    ------
    DataError
        If the file cannot be read (see `read_bytes`), or if it is not UTF-8; then the message names the line.
    """
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_json(
    text: str | bytes,
    where: str | Path,
    advice: str = "",
    pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the content of a JSON text.

    Parameters
    ----------
    text : str or bytes
    where : str or path
        The file, for messages.
    advice : str
        Advice for the user, the end of the message if the text is not JSON.
    pairs_hook : function, optional
        Takes the list of pairs (name, value) of a JSON object and returns the value for this object; by default a dict.

    Returns
    -------
    object

    Raises
    ------
    DataError
        If the text is not JSON, is longer or nested more deeply than `kgeval.base.limits` allows, or if
        `pairs_hook` raises this error.

    Examples
    --------
    >>> parse_json('{"norm": 1}', "config.json")
    {'norm': 1}
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        check_json(text, f"{where}: not JSON that is read")
        return json.loads(text, object_pairs_hook=pairs_hook)
    except DataError:
        raise
    except ValueError as error:  # also UnicodeDecodeError, and an int of too many digits
        raise DataError(f"{where}: not JSON ({error}){advice}") from None


def each_name_once(twice: Callable[[str], str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return a `pairs_hook` of `parse_json` for objects in which a name may not occur twice.

    Parameters
    ----------
    twice : function
        Takes the name that occurs twice; returns the message of the DataError.

    Examples
    --------
    >>> parse_json('{"norm": 1, "norm": 2}', "config.json", pairs_hook=each_name_once("{!r} occurs twice".format))
    Traceback (most recent call last):
    ...
    kgeval.errors.DataError: 'norm' occurs twice
    """

    def content_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for name, value in pairs:
            if name in content:
                raise DataError(twice(name))
            content[name] = value
        return content

    return content_of


def check_no_nul(path: str | Path, raw: bytes) -> None:
    """Raise a DataError if a text file contains a NUL character.

    Parameters
    ----------
    path : str or path
        The name of the file, which the message shows.
    raw : bytes
        The content of the file.

    Raises
    ------
    DataError
        If there is a NUL character; the message names the line of the first one.
    """
    if b"\0" in raw:
        raise DataError(f"{path}, line {line_at(raw, raw.index(0))}: a NUL character; is this a text file?")


def encoding_error(path: str | Path, raw: bytes | None = None) -> DataError:
    """Return a DataError about a file that is not UTF-8; the message names the line and the first wrong byte.

    Parameters
    ----------
    path : str or path
    raw : bytes, optional
        The content of the file; by default this function reads the file again.

    Returns
    -------
    DataError
    """
    raw = Path(path).read_bytes() if raw is None else raw
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return DataError(
            f"{path}, line {line_at(raw, error.start)}: invalid UTF-8 at byte {error.start} of the file "
            f"(0x{raw[error.start]:02x}); save the file as UTF-8"
        )
    return DataError(f"{path}: the file changed while kgeval was reading it; read it again")


def line_at(raw: bytes, place: int) -> int:
    """Return the line number of the byte at position `place`.

    Parameters
    ----------
    raw : bytes
        Text with lines that end in LF, CRLF or CR.
    place : int
        The position of the byte in `raw`, counted from 0.

    Returns
    -------
    int
        Counted from 1.
    """
    return one_line_end(raw[:place]).count(b"\n") + 1


def read_arrays(path: str | Path) -> Arrays:
    """Read every array of an ``.npz`` file; arrays of Python objects (pickles) raise an error.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to array

    Raises
    ------
    DataError
        If the file does not exist or cannot be read, if it is damaged or not an ``.npz`` archive, or if it contains an
        array of Python objects.
    """
    source = Path(path)
    check_source(source)
    check_not_empty(source)
    _check_size(source)
    try:
        loaded = np.load(source, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise DataError(f"{source}: expected an .npz archive of named arrays, found a single array (.npy)")
        with loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except DataError:
        raise
    except Exception as error:  # numpy and zipfile raise many types of errors for damaged files
        if isinstance(error, OSError) and error.errno is not None:  # an error of the system, not of the content
            raise DataError(f"{source}: cannot be read: {error.strerror}") from error
        if str(error).startswith("Object arrays"):
            raise DataError(
                f"{source}: contains pickled objects, which kgeval never reads; save plain arrays"
            ) from error
        reason = "it is neither .npz nor .npy" if "unsafely" in str(error) else str(error)
        raise DataError(
            f"{source}: is damaged, cut off, or not an .npz archive (pickles are never read): {reason}"
        ) from error
    not_arrays = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if not_arrays:
        raise DataError(f"{source}: member {not_arrays[0]!r} is not an array; is this an .npz file?")
    return arrays


def _check_size(path: Path) -> None:
    """Raise a DataError if the members of a zip archive unfold to more bytes than `kgeval.base.limits` allows."""
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
    except Exception:  # not a zip archive, or a damaged one: the reader explains it
        return
    check_unfolded(path, n_bytes, what="unfolds to")


def read_archive(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """Read a file that `write_archive` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    arrays : dict of str to array
        All arrays except the header.
    header : dict
        The header that `write_archive` stored.

    Raises
    ------
    DataError
        If the file cannot be read (see `read_arrays`), if it has no header, or if its header is not a JSON object.
    """
    arrays = read_arrays(path)
    if "header" not in arrays or arrays["header"].dtype.kind != "U" or arrays["header"].ndim:
        raise DataError(f"{path}: is an .npz file, but not one that kgeval wrote (it has no header)")
    text = str(arrays.pop("header"))
    check_json(text, f"{path}: its header is not JSON that is read")
    try:
        header = json.loads(text)
    except ValueError as error:
        raise DataError(f"{path}: its header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise DataError(f"{path}: its header is not a JSON object")
    _check_members(path, arrays, header.pop(MEMBERS, None))
    return arrays, header


def _check_members(path: str | Path, arrays: Arrays, members: Any) -> None:
    """Raise a DataError unless the arrays are those that the header lists; earlier versions wrote no list."""
    if members is None:
        return
    if not isinstance(members, dict) or not all(isinstance(text, str) for text in members.values()):
        raise DataError(f"{path}: its header has no valid list of members; the file is damaged")
    for what, names in (("lacks", set(members) - set(arrays)), ("has the unlisted", set(arrays) - set(members))):
        if names:
            raise DataError(
                f"{path}: {what} member {min(names)!r}; its header lists {', '.join(sorted(members))}. The file is "
                "damaged, or was changed by another program"
            )
    for name, array in arrays.items():
        if _checksum(array) != members[name]:
            raise DataError(
                f"{path}: member {name!r} does not have the checksum in the header; the file is damaged, or was "
                "changed by another program"
            )


def _checksum(array: npt.NDArray[Any]) -> str:
    """Return a hash of the dtype, the shape and the values of an array."""
    # The byte order as it is stored: a file of a machine with the other order is whole, too.
    digest = hashlib.blake2b(f"{array.dtype.str} {array.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def text_array(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return texts as an array of numpy, in which each text takes as much memory as the longest one.

    If this wastes more than 64 MiB, because one text is far longer than the others, it is an array of objects.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    str or object array, shape (texts,)

    Examples
    --------
    >>> text_array(["Jack", "Italy"])
    array(['Jack', 'Italy'], dtype='<U5')
    """
    lengths = [len(text) for text in texts]
    wasted = 4 * (len(lengths) * max(lengths, default=0) - sum(lengths))
    return np.array(texts, dtype=np.str_ if wasted <= max(64 << 20, 8 * sum(lengths)) else object)


def pack_labels(labels: tuple[str, ...]) -> npt.NDArray[Any]:
    """Return the bytes of a JSON list of the labels (ASCII only; JSON escapes other characters, so no label changes).

    Parameters
    ----------
    labels : tuple of str

    Returns
    -------
    uint8 array, shape (bytes,)
    """
    return np.frombuffer(json.dumps(labels).encode("ascii"), dtype=np.uint8)


def unpack_labels(packed: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the labels that `pack_labels` packed.

    Parameters
    ----------
    packed : uint8 array, shape (bytes,)

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        If `packed` contains a JSON value that is not a list.
    """
    labels = parse_json(packed.tobytes(), "labels")
    if not isinstance(labels, list):
        raise DataError("expected a list of labels in the file")
    return tuple(labels)


def cache_home() -> Path:
    """Return the folder in which kgeval keeps downloaded files: `KGEVAL_HOME`, or the user's cache of this system.

    The user's cache is the folder that ``pooch.os_cache("kgeval")`` names. It is found without pooch, because datasets
    that are in the cache are read without pooch.
    """
    if os.environ.get(HOME):
        return Path(os.environ[HOME]).expanduser().absolute()
    home = Path.home()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
        return Path(local) / "kgeval" / "kgeval" / "Cache"
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    if os.path.isabs(cache):
        return Path(cache) / "kgeval"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "kgeval"
