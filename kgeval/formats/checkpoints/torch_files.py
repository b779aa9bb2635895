"""Read torch files of the zip format (torch 1.6 and later) without torch; nothing in a file is ever run.

Layout: a zip archive with one folder of any name. In the folder, ``data.pkl`` is a pickle in which tensors refer to
storages, ``data/KEY`` are the bytes of each storage, ``byteorder`` (torch 2.1 and later) says ``little`` or ``big``,
and ``version`` is a number. `kgeval.formats.checkpoints.pickles` interprets the pickle with inert stubs. Traps:

- A pickle can name any function of the machine; here the function is never called, and only its name is kept.
- Files without ``byteorder`` are read as little-endian, as torch does on all common machines.
- A zip archive can make false claims. The ``MAX_`` constants limit the number of members and their unpacked sizes.
  Members that overlap, and members whose local header or checksum contradicts the directory, are refused. Several
  tensors may share a storage, as tied weights do.
- TorchScript archives also hold code, which is not read. Their ``data.pkl`` is read like any other.
- Files of older formats (one pickle after the other; tar) and plain pickles are refused; the message says what to do.
"""

from __future__ import annotations

import functools
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import check_source
from kgeval.base.limits import FREE_PICKLE, MAX_PICKLE_RATIO, MAX_STORED_RATIO, factor, most_unfolded
from kgeval.errors import DataError
from kgeval.formats.checkpoints.pickles import MAX_BYTES, MAX_DEPTH, Fault, Stub, describe, read_pickle
from kgeval.formats.checkpoints.tensors import STORAGES, Array, Storage, tensor_meanings

MAX_MEMBERS = 100_000  # of a zip archive
MAX_DIRECTORY_BYTES = 8 * 2**20  # of the list of members at the end of a zip archive
MAX_KEY = 100  # characters of the key of a storage
MAX_VERSION = 10  # of the format, as in torch 2
MAX_NAMES = 100_000  # tensors that `state_dict` lists
MAX_NAME = 1000  # characters of the name of such a tensor
MAX_VISITS = 2_000_000  # dicts and modules that `state_dict` looks into, each as often as it occurs
PICKLE = "data.pkl"
PARTS = ("_parameters", "_buffers", "_modules")  # of a module of torch
SCRIPTED = "__torch__."  # start of the class names of TorchScript
FLAGS_OF_ENCRYPTION = 0x61  # and of patches
ZIP_START = b"PK\x03\x04"
LEGACY_NUMBER = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the first pickle of a torch file before the zip format
OTHER_STARTS = {
    b"\x1f\x8b": "a gzip file; decompress it first",
    b"\xfd7zXZ": "an xz file; decompress it first",
    b"BZh": "a bzip2 file; decompress it first",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a numpy array (.npy)",
}
SAVE_AGAIN = "torch.save(torch.load(old_path, weights_only=False), new_path)"
RESAVE_HINT = f"If you trust it, write it again in the zip format of torch: {SAVE_AGAIN}"
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,  # also NotImplementedError
    TypeError,
    ValueError,  # also UnicodeDecodeError
)


def read_torch(path: str | Path, with_values: bool = True) -> Any:
    """Read a torch file of the zip format; nothing in it is run.

    Parameters
    ----------
    path : str or path
    with_values : bool
        Whether the numbers of the tensors are read. If not, tensors are arrays of zeros with the right shape and dtype,
        and only the pickle is read from the file; this is enough to recognise a file.

    Returns
    -------
    object
        The saved object, built from dict, list, tuple, set, frozenset, str, bytes, int, float, complex, bool, None.
        Tensors and parameters become numpy arrays of the same dtype (float32 for bfloat16). Arrays share memory if the
        tensors share a storage, and are not writable. Every object of another class, and every class and function, is a
        `kgeval.formats.checkpoints.pickles.Stub`. Objects may be shared and may contain themselves.

    Raises
    ------
    DataError
        If there is no such file, if it is damaged or not in the zip format, if it exceeds a limit of this module, of
        `pickles` or of `tensors`, if a tensor does not lie inside its storage, or if a tensor has an unknown dtype.
    """
    file = Path(path)
    check_source(file)
    try:
        with _open(file) as stream:
            return _read(file, stream, with_values)
    except Fault as fault:
        problem = str(fault)
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    except MemoryError:
        problem = f"there is not enough memory to read {file.stat().st_size:,} bytes"
    raise DataError(f"{file}: {problem}")  # outside of `except`: the context of an error keeps what was read in memory


def is_torch_file(path: str | Path) -> bool:
    """Return whether a file is a zip archive with a member ``FOLDER/data.pkl``; looks only at the list of members.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    bool
        False also if the file does not exist or cannot be read.
    """
    file = Path(path)
    try:
        if not file.is_file():
            return False
        with _open(file) as stream:
            return stream.peek(4)[:4] == ZIP_START and bool(_pickles(_directory(stream)[0]))
    except (Fault, OSError, ValueError, MemoryError):
        return False


def state_dict(tree: Any, where: str = "the checkpoint") -> dict[str, Array]:
    """Return the tensors of a checkpoint under the names that ``state_dict()`` of torch gives them.

    Parameters
    ----------
    tree : object
        The result of `read_torch`, or a part of this result. One of: a dict of tensors, in which the keys of nested
        dicts are joined with ``"."``; a whole module of torch (a `Stub`), whose parameters and persistent buffers are
        listed; a module of TorchScript, whose tensors are listed; or a dict that contains such modules. Other objects
        in a dict are skipped.
    where : str
        The file, for messages.

    Returns
    -------
    dict of str to array
        The tensors, in the order of the checkpoint. A tensor or module that occurs twice is listed under both names; a
        dict or module that contains itself is not listed again inside itself.

    Raises
    ------
    DataError
        If `tree` is no dict and no module, if two tensors get the same name, if a tensor has a form that is not read
        (sparse, quantized, ...), or if there are more than `MAX_NAMES` tensors.
    """
    if not isinstance(tree, dict) and not _is_module(tree):
        raise DataError(
            f"{where}: expected a dict of tensors or a module of torch, got {describe(tree)}; give the part of the "
            "checkpoint that contains the tensors"
        )
    return _Flattener(where).flatten(tree)


class _Flattener:
    """Collects the tensors for the function `state_dict`."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.tensors: dict[str, Array] = {}
        self.on_path: set[int] = set()  # id() of the dicts and modules around the one that is visited
        self.visits = 0

    def flatten(self, tree: Any) -> dict[str, Array]:
        """Return the tensors of a dict or a module."""
        self._visit(tree, "")
        return self.tensors

    def _visit(self, node: Any, prefix: str) -> None:
        """Collect the tensors of a dict or a module; put `prefix` before their names."""
        self.visits += 1
        if self.visits > MAX_VISITS:
            raise DataError(f"{self.where}: contains more than {MAX_VISITS:,} nested dicts and modules")
        if len(self.on_path) > MAX_DEPTH:
            raise DataError(f"{self.where}: dicts and modules are nested more than {MAX_DEPTH} levels deep")
        self.on_path.add(id(node))
        for key, value, is_tensor in _members(node):
            name = f"{prefix}{key if isinstance(key, (str, int)) else describe(key)}"
            if len(name) > MAX_NAME:
                raise DataError(f"{self.where}: the name of a tensor or module is too long: {cut_label(name)!a}")
            if isinstance(value, np.ndarray):
                self._add(name, value)
            elif is_tensor or _is_other_tensor(value):
                raise DataError(
                    f"{self.where}: tensor {cut_label(name)!a} is written as {describe(value)}, a form that is not "
                    "read (sparse, quantized, on no device, ...); convert it to a dense tensor before torch.save"
                )
            elif (isinstance(value, dict) or _is_module(value)) and id(value) not in self.on_path:
                self._visit(value, f"{name}.")
        self.on_path.discard(id(node))

    def _add(self, name: str, array: Array) -> None:
        """Add one tensor."""
        if name in self.tensors:
            raise DataError(f"{self.where}: two tensors have the name {cut_label(name)!a}")
        if len(self.tensors) >= MAX_NAMES:
            raise DataError(f"{self.where}: contains more than {MAX_NAMES:,} tensors")
        self.tensors[name] = array


def _is_other_tensor(value: Any) -> bool:
    """Return whether an object is a tensor of a form that is not read, or a storage."""
    return isinstance(value, Stub) and (
        value.name.startswith(("torch._utils._rebuild_", "torch._tensor._rebuild_")) or value.name in STORAGES
    )


def _is_module(value: Any) -> bool:
    """Return whether an object is a whole module of torch or of TorchScript."""
    if not isinstance(value, Stub) or not isinstance(value.state, dict):
        return False
    return value.name.startswith(SCRIPTED) or all(isinstance(value.state.get(part), dict) for part in PARTS)


def _members(node: Any) -> Iterator[tuple[Any, Any, bool]]:
    """Iterate over the contents of a dict or a module; yield key, value, and whether the value must be a tensor."""
    if isinstance(node, dict) or node.name.startswith(SCRIPTED):
        yield from ((key, value, False) for key, value in (node if isinstance(node, dict) else node.state).items())
        return
    fleeting = node.state.get("_non_persistent_buffers_set")
    for part in PARTS:
        for key, value in node.state[part].items():
            if value is not None and not (part == "_buffers" and isinstance(fleeting, set) and key in fleeting):
                yield key, value, part != "_modules"


class _Stream(io.BufferedReader):
    """A file object for zip archives; it refuses to read a directory that would need too much memory."""

    is_limited = False

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes; raise a Fault if a directory would be too large."""
        if self.is_limited:
            size = _size_of(self) - self.tell() if size is None or size < 0 else size
            if size > MAX_DIRECTORY_BYTES:
                raise Fault(f"the list of members of the zip archive has {size:,} bytes; {_most_members()}")
        return super().read(size)


def _open(file: Path) -> _Stream:
    """Open a file for reading."""
    return _Stream(io.FileIO(file))


def _size_of(stream: _Stream) -> int:
    """Return the size of a file in bytes."""
    return os.fstat(stream.fileno()).st_size


def _most_members() -> str:
    """Return the limits for the list of members, as a text for messages."""
    return f"at most {MAX_DIRECTORY_BYTES:,} bytes and {MAX_MEMBERS:,} members are read"


def _read(file: Path, stream: _Stream, with_values: bool) -> Any:
    """Read the torch file that a stream contains."""
    _check_start(stream)
    archive = _Archive(stream)
    pickles = _pickles(archive.names)
    if len(pickles) != 1:
        raise Fault(_not_torch(list(archive.names), pickles))
    folder = pickles[0].removesuffix(PICKLE)
    _check_version(archive, folder)
    byteorder = _byteorder(archive, folder)
    storages: dict[str, Storage] = {}

    def storage_of(identifier: Any) -> Storage:
        """Return the storage that a persistent id names: ("storage", class, key, device, number of elements)."""
        is_storage = isinstance(identifier, tuple) and len(identifier) == 5 and isinstance(identifier[0], str)
        if not is_storage or identifier[0] != "storage":
            raise Fault(f"refers to {describe(identifier)} outside of the pickle, which is no storage of torch")
        _, kind, key, _, numel = identifier
        is_key = isinstance(key, str) and len(key) <= MAX_KEY
        if not isinstance(kind, Stub) or not is_key or type(numel) is not int or numel < 0:
            raise Fault("refers to a storage, but its class, its key or its number of elements is wrong")
        if key not in storages:
            name = f"{folder}data/{key}"
            if name not in archive.names:
                raise Fault(f"refers to storage {describe(key)}, but the file has no member {describe(name)}")
            zeros = functools.partial(np.zeros, archive.names[name].size, np.uint8)
            read = functools.partial(archive.read, name) if with_values else zeros
            storages[key] = Storage(kind.name, key, numel, read, byteorder)
        elif (storages[key].name, storages[key].numel) != (kind.name, numel):
            raise Fault(f"describes storage {describe(key)} in two ways")
        return storages[key]

    n_bytes = _size_of(stream)
    most = min(MAX_BYTES, int(max(FREE_PICKLE, MAX_PICKLE_RATIO * n_bytes) * factor()))
    if archive.names[pickles[0]].size > most:
        raise Fault(f"{pickles[0]} has {archive.names[pickles[0]].size:,} bytes, but at most {most:,} are read")
    content = archive.read(pickles[0]).tobytes()
    return read_pickle(content, f"{file}, {cut_label(pickles[0])}", tensor_meanings(storage_of, n_bytes))


def _check_start(stream: _Stream) -> None:
    """Raise a Fault if the file does not start like a zip archive.

    The message names the kind of the file, if the first bytes show the kind.
    """
    start = stream.read(512)
    stream.seek(0)
    if start.startswith(ZIP_START):
        return
    if LEGACY_NUMBER in start[:32]:
        raise Fault(f"a torch file of the format before torch 1.6, which is not read. {RESAVE_HINT}")
    if start[257:262] == b"ustar" or start.startswith((b"sys_info\0", b"pickle\0", b"storages\0")):
        raise Fault(f"a tar archive, or a torch file of the tar format, which is not read. {RESAVE_HINT}")
    if start[:1] == b"\x80" and start[1:2] in (b"\1", b"\2", b"\3", b"\4", b"\5"):
        raise Fault(
            "a plain pickle, which is not read. If you trust it, load it with the library that wrote it and save its "
            "arrays with numpy.savez or its tensors with torch.save"
        )
    known = next((name for prefix, name in OTHER_STARTS.items() if start.startswith(prefix)), None)
    raise Fault(f"no torch file: {known or 'it does not start like a zip archive'}")


def _not_torch(names: list[str], pickles: list[str]) -> str:
    """Return the reason why a zip archive is no torch file, for messages."""
    if pickles:
        return f"contains {len(pickles)} members named {PICKLE}; expected one: {', '.join(map(cut_label, pickles[:3]))}"
    if any(name.endswith(".npy") for name in names):
        return "no torch file: a numpy archive; name it .npz"
    listed = ", ".join(ascii(cut_label(name)) for name in names[:5])
    return f"no torch file: a zip archive without a member FOLDER/{PICKLE}; it contains {listed or 'nothing'}"


def _check_version(archive: _Archive, folder: str) -> None:
    """Raise a Fault if the format is newer than `MAX_VERSION`."""
    version = archive.short_text(f"{folder}version")
    if version is not None and not (version.isdecimal() and 1 <= int(version) <= MAX_VERSION):
        raise Fault(
            f"version {version!a} of torch's zip format, but the versions 1 to {MAX_VERSION} are read. Save the file "
            "again with an older torch"
        )


def _byteorder(archive: _Archive, folder: str) -> str:
    """Return the byte order of the storages, as a character of numpy."""
    order = archive.short_text(f"{folder}byteorder") or "little"
    if order not in ("little", "big"):
        raise Fault(f"{folder}byteorder must be 'little' or 'big', got {order!a}")
    return {"little": "<", "big": ">"}[order]


def _pickles(names: Any) -> list[str]:
    """Return the names of the members ``FOLDER/data.pkl``."""
    return [name for name in names if name.endswith(f"/{PICKLE}")]


class _Member(NamedTuple):
    """One member of a zip archive."""

    start: int  # position of its bytes in the file
    stored_size: int
    size: int
    is_deflated: bool
    crc: int


def _directory(stream: _Stream) -> tuple[dict[str, zipfile.ZipInfo], int]:
    """Return the members that the directory of a zip archive lists, and the position of the directory."""
    stream.is_limited = True
    try:
        with zipfile.ZipFile(stream) as archive:
            listed = archive.infolist()
            start = archive.start_dir
    except (*ZIP_ERRORS, OSError) as error:
        raise Fault(f"a damaged zip archive ({error}); copy or download the file again") from None
    finally:
        stream.is_limited = False
    if len(listed) > MAX_MEMBERS:
        raise Fault(f"a zip archive of {len(listed):,} members; {_most_members()}")
    infos = {info.filename: info for info in listed}
    if len(infos) != len(listed):
        twice = next(info.filename for info in listed if infos[info.filename] is not info)
        raise Fault(f"the zip archive contains {cut_label(twice)!a} twice")
    return infos, start


class _Archive:
    """The members of a zip archive; each is checked to lie inside the file, without overlap."""

    def __init__(self, stream: _Stream) -> None:
        self.stream = stream
        infos, end = _directory(stream)
        size = _size_of(stream)
        inflated = sum(info.file_size for info in infos.values())
        if inflated > min(MAX_STORED_RATIO * size * factor(), most_unfolded(size)):
            raise Fault(
                f"the members of the zip archive have {inflated:,} bytes, far more than the {size:,} bytes of the file "
                f"(more than {MAX_STORED_RATIO} times as many, or too many for a small file). Is it a zip bomb? If "
                "not, zip the same files without compression"
            )
        self.names: dict[str, _Member] = {}
        for name, info in sorted(infos.items(), key=lambda item: item[1].header_offset, reverse=True):
            self.names[name] = member = self._member(info)
            if member.start + member.stored_size > end:
                raise Fault(f"the members of the zip archive overlap, or leave the file: {cut_label(name)!a}")
            end = info.header_offset
        self.names = {name: self.names[name] for name in infos}

    def _member(self, info: zipfile.ZipInfo) -> _Member:
        """Return one member; compare its local header with the directory."""
        name = cut_label(info.filename)
        if info.flag_bits & FLAGS_OF_ENCRYPTION:
            raise Fault(f"member {name!a} of the zip archive is encrypted; zip the same files without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Fault(f"member {name!a} of the zip archive is compressed by method {info.compress_type}; use deflate")
        is_deflated = info.compress_type == zipfile.ZIP_DEFLATED
        self.stream.seek(info.header_offset)
        header = self.stream.read(30)
        if len(header) != 30:
            raise Fault(f"member {name!a} of the zip archive lies outside of the file")
        fields = struct.unpack("<4s5H3I2H", header)
        start, flags, method, crc, stored, size, name_length, extra_length = fields[0], *fields[2:4], *fields[6:]
        local_name = self.stream.read(name_length)
        is_right = start == ZIP_START and method == info.compress_type
        is_right &= local_name == _raw_name(info)
        if not flags & 8:  # with flag 8, the checksum and the sizes follow after the member
            is_right &= crc == info.CRC and stored in (info.compress_size, 2**32 - 1)
            is_right &= size in (info.file_size, 2**32 - 1)
        is_right &= is_deflated or info.compress_size == info.file_size
        if not is_right:
            raise Fault(f"the header of member {name!a} contradicts the list of members of the zip archive")
        position = info.header_offset + 30 + name_length + extra_length
        return _Member(position, info.compress_size, info.file_size, is_deflated, info.CRC)

    def read(self, name: str) -> Array:
        """Return the bytes of a member as an array of uint8."""
        member = self.names[name]
        content: Array = np.empty(member.stored_size, np.uint8)
        self.stream.seek(member.start)
        if self.stream.readinto(content.data) != member.stored_size:
            raise Fault(f"the file ends inside of member {cut_label(name)!a}; copy or download it again")
        if member.is_deflated:
            content = self._inflated(name, content, member.size)
        if zlib.crc32(content.data) != member.crc:
            raise Fault(
                f"the checksum of member {cut_label(name)!a} is wrong: the file is damaged, or was written with "
                "torch.serialization.set_crc32_options(False). Copy it again, or save it again with checksums"
            )
        return content

    def _inflated(self, name: str, content: Array, size: int) -> Array:
        """Return the decompressed bytes of a member that should have `size` bytes."""
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            inflated = inflater.decompress(content.data, size + 1)
        except zlib.error as error:
            raise Fault(f"member {cut_label(name)!a} of the zip archive is damaged ({error})") from None
        if len(inflated) != size or not inflater.eof or inflater.unused_data:
            raise Fault(
                f"member {cut_label(name)!a} of the zip archive does not have the {size:,} bytes that it claims"
            )
        return np.frombuffer(inflated, np.uint8)

    def short_text(self, name: str) -> str | None:
        """Return the text of a short member, without spaces at its ends; None if there is no such member."""
        if name not in self.names:
            return None
        if self.names[name].size > 100:
            raise Fault(f"member {cut_label(name)!a} has {self.names[name].size:,} bytes instead of one word")
        return self.read(name).tobytes().decode("latin-1").strip()


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of the name of a member, as the directory lists it."""
    return info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437", "replace")
