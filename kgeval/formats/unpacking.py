"""Unpack packed files and archives, within limits, so that the readers of datasets can read them.

`read_dataset` calls `unpacked` for archives such as ``.zip`` and ``.tar.gz``; the readers of tables call `open_packed`
for files such as ``train.txt.gz``. Nothing is written outside a private temporary folder.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from kgeval.base.checks import warn_user
from kgeval.base.files import check_source
from kgeval.base.limits import MIN_PACKED_LINE, check_rows, check_unfolded
from kgeval.errors import DataError

PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# The suffixes of archives, and the function that opens the tar file in them; None for a zip file.
ARCHIVES: dict[str, Callable[..., Any] | None] = {".zip": None, ".tar": open}
ARCHIVES |= {".tar" + ending: opener for ending, opener in PACKED.items()}
ARCHIVES |= {".tgz": gzip.open, ".tbz2": bz2.open, ".txz": lzma.open}
MAX_MEMBERS = 10_000
MAX_DEPTH = 8  # levels of nested folders; an archive inside an archive is not unpacked
_CHUNK = 1 << 20
_BLOCK = tarfile.BLOCKSIZE
_MAX_CLOSING = tarfile.RECORDSIZE  # tar fills its last record with zeros
_MAX_END = 22 + 0xFFFF  # the largest size of the record at the end of a zip file, with its comment, in bytes
_MANY = 0xFFFF  # in this record: the number of members is too large to be stored there
_ABOUT = re.compile(r"(readme|licen[cs]e|copying|notice|changelog|citation)\b.*|.*\.md", re.IGNORECASE)


@dataclass
class _Source:
    """A file during unpacking, with the number of bytes unpacked so far and the names of its members."""

    path: Path
    n_bytes: int = 0
    n_lines: int = 0
    names: set[tuple[str, ...]] = field(default_factory=set)

    def copy(self, stream: Any, out: BinaryIO) -> None:
        """Copy a stream of unpacked bytes; raise a DataError if there are too many bytes or lines."""
        packed = self.path.stat().st_size
        while chunk := stream.read(_CHUNK):
            self.n_bytes += len(chunk)
            self.n_lines += chunk.count(b"\n")
            check_unfolded(self.path, self.n_bytes, packed)
            if self.n_bytes > packed:
                check_rows(self.path, self.n_lines, packed, MIN_PACKED_LINE, "lines")
            out.write(chunk)

    def target(self, root: Path, name: str) -> Path:
        """Return the path in the folder `root` to which a member is unpacked; raise a DataError for an unsafe name."""
        parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
        wrong = ""
        if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
            wrong = "has an absolute path"
        elif ".." in parts:
            wrong = "leads out of the archive ('..')"
        elif len(parts) > MAX_DEPTH + 1:
            wrong = f"lies more than {MAX_DEPTH} folders deep"
        elif parts in self.names:
            wrong = "occurs twice; which of the two is meant is not clear"
        if wrong:
            raise DataError(f"{self.path}: the member {name[:200]!r} {wrong}; nothing was read")
        self.names.add(parts)
        return root.joinpath(*parts)

    def check_count(self, n: int) -> None:
        """Raise a DataError if an archive has more than `MAX_MEMBERS` members."""
        if n > MAX_MEMBERS:
            raise DataError(f"{self.path}: has more than {MAX_MEMBERS:,} members; is this a dataset?")


def is_archive(path: str | Path) -> bool:
    """Return whether a path is a file with the name of an archive: ``.zip``, ``.tar``, ``.tar.gz``, ``.tgz``, ...

    Parameters
    ----------
    path : str or path
    """
    return Path(path).name.lower().endswith(tuple(ARCHIVES)) and Path(path).is_file()


def plain_name(path: str | Path) -> str:
    """Return the name of a file without the suffix of packing: ``train.txt`` for ``train.txt.gz``.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> plain_name("data/train.txt.gz"), plain_name("train.csv")
    ('train.txt', 'train.csv')
    """
    name = Path(path).name
    return name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in PACKED else name


def open_packed(file: str | Path) -> bytes:
    """Return the bytes of a file, unpacked if its name ends in ``.gz``, ``.bz2`` or ``.xz``.

    Parameters
    ----------
    file : str or path

    Returns
    -------
    bytes

    Raises
    ------
    DataError
        If the file does not exist, if it is damaged or cut off, or if it unpacks to more bytes than
        `kgeval.base.limits` allows.
    """
    path = Path(file)
    check_source(path)
    opener = PACKED.get(path.suffix.lower(), open)
    out = io.BytesIO()
    with _told(path, ""), opener(path, "rb") as stream:
        _Source(path).copy(stream, out)
    return out.getvalue()


@contextmanager
def unpacked(path: str | Path) -> Iterator[Path]:
    """Unpack an archive into a private temporary folder, which is deleted at the end of the ``with`` block.

    Parameters
    ----------
    path : str or path
        A ``.zip`` or ``.tar`` file; a tar file may be packed as ``.gz``, ``.bz2`` or ``.xz``.

    Yields
    ------
    Path
        The folder with the unpacked members; if all members are inside a single folder of the archive, this inner
        folder. The folder has the name of the archive, without the suffix. If a DataError in the ``with`` block names
        the folder, the message names the archive instead.

    Raises
    ------
    DataError
        If the archive is damaged or cut off, if it is larger than `kgeval.base.limits` allows, or if a member has
        an absolute path, leads out of the archive, occurs twice, is encrypted, or is neither a file nor a folder (a
        link, a device). The message names the member.
    """
    source = Path(path)
    check_source(source)
    ending = max((ending for ending in ARCHIVES if source.name.lower().endswith(ending)), key=len, default="")
    with tempfile.TemporaryDirectory(prefix="kgeval-") as temporary:
        members = Path(temporary) / "members"
        members.mkdir()
        opener = ARCHIVES.get(ending)
        if opener is None:
            _unzip(_Source(source), members)
        else:
            _untar(_Source(source), opener, Path(temporary) / "archive.tar", members)
        folder = Path(temporary) / "dataset" / (source.name[: len(source.name) - len(ending)] or "dataset")
        folder.parent.mkdir()
        _inner_folder(members).rename(folder)
        try:
            yield folder
        except DataError as error:
            raise DataError(str(error).replace(str(folder), str(source))) from error


@contextmanager
def _told(path: Path, member: str) -> Iterator[None]:
    """Turn the errors of the libraries that unpack into a DataError that names the file and the member."""
    what = f"{path}: the member {member[:200]!r}" if member else f"{path}:"
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # zipfile, tarfile, zlib and lzma raise many types of errors for damaged files
        if isinstance(error, OSError) and error.errno is not None:  # an error of the system, not of the content
            raise DataError(f"{what} cannot be unpacked: {error.strerror}") from error
        raise DataError(f"{what} is damaged or cut off: {error or type(error).__name__}; fetch it again") from error


def _unzip(source: _Source, root: Path) -> None:
    """Write the members of a zip file into the folder `root`."""
    with _told(source.path, ""), zipfile.ZipFile(source.path) as archive:
        members = archive.infolist()
        source.check_count(len(members))
        n_listed = _n_listed(source.path)
        if n_listed not in (len(members), _MANY):  # with a damaged length, zipfile lists too few members
            raise DataError(
                f"{source.path}: is damaged or cut off: its table has {n_listed:,} members, but {len(members):,} were "
                "found; fetch it again"
            )
        for member in members:
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _not_a_file(source.path, member.filename)
            if member.flag_bits & 0x1:
                raise DataError(f"{source.path}: the member {member.filename!r} is encrypted; unpack it yourself")
            if member.is_dir():
                continue
            target = source.target(root, member.filename)
            with _told(source.path, member.filename), archive.open(member) as stream:
                _write(source, stream, target)


def _n_listed(path: Path) -> int:
    """Return the number of members that the end of a zip file states; `_MANY` if the number is too large."""
    with open(path, "rb") as stream:
        stream.seek(max(path.stat().st_size - _MAX_END, 0))
        end = stream.read()
    place = end.rfind(b"PK\5\6") + 10
    return int.from_bytes(end[place : place + 2], "little")


def _untar(source: _Source, opener: Callable[..., Any], plain: Path, root: Path) -> None:
    """Write the members of a tar file into the folder `root`.

    A packed tar file is first unpacked to the file `plain`.
    """
    if opener is open:
        plain = source.path
    else:
        with _told(source.path, ""), opener(source.path, "rb") as packed, open(plain, "xb") as out:
            source.copy(packed, out)
        source.n_bytes = source.n_lines = 0  # those of the members are counted anew, with the same limits
    name = ""
    with _told(source.path, ""), open(plain, "rb") as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        for n, member in enumerate(archive, start=1):
            source.check_count(n)
            name = member.name
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise _not_a_file(source.path, name)
            target = source.target(root, name)
            with _told(source.path, name):
                content = archive.extractfile(member)
                if content is not None:
                    _write(source, content, target)
        _check_end(source.path, stream, archive.offset, name)


def _check_end(path: Path, stream: BinaryIO, start: int, name: str) -> None:
    """Raise a DataError unless a tar file ends at `start`: with two blocks of zeros, and nothing but zeros after them.

    If a header is damaged, or the file is cut off, tarfile stops without an error, and later members would be lost. A
    hole of zeros (a damaged disk, a download that stopped) looks like an end; so a long end is said.
    """
    stream.seek(start)
    n_zeros, rest = 0, b""
    while not rest and (chunk := stream.read(_CHUNK)):
        rest = chunk.lstrip(b"\0")
        n_zeros += len(chunk) - len(rest)
    fault = ""
    if n_zeros < _BLOCK:
        fault = "no header of a further member and no mark of the end"
    elif rest:
        fault = f"{n_zeros:,} bytes of zeros, as at the end, but content follows"
    elif n_zeros < 2 * _BLOCK:
        fault = "the end of a tar file is two blocks of zeros, and there is only one"
    if fault:
        raise DataError(f"{path}: is damaged or cut off after the member {name[:200]!r}: {fault}; fetch it again")
    if n_zeros > _MAX_CLOSING:
        warn_user(
            f"{path}: ends with {n_zeros:,} bytes of zeros, more than tar writes: is a part of the file missing after "
            f"the member {name[:200]!r}?"
        )


def _not_a_file(path: Path, name: str) -> DataError:
    """Return the error about a member that is no regular file."""
    return DataError(
        f"{path}: the member {name[:200]!r} is neither a file nor a folder (a link, a device or a sparse file); "
        "nothing was read"
    )


def _write(source: _Source, stream: Any, target: Path) -> None:
    """Write a stream to a new file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as out:
        source.copy(stream, out)


def only_child(folder: Path) -> Path | None:
    """Return the only file or folder in `folder`; None if `folder` contains several, or nothing.

    Hidden files, the files that macOS adds, and texts such as README are not counted.

    Parameters
    ----------
    folder : Path
    """
    children = [child for child in folder.iterdir() if not child.name.startswith((".", "__MACOSX"))]
    children = [child for child in children if child.is_dir() or not _ABOUT.fullmatch(child.name)]
    return children[0] if len(children) == 1 else None


def _inner_folder(folder: Path) -> Path:
    """Go down from `folder` as long as a folder contains only one folder and no files; return the last folder."""
    child = only_child(folder)
    return _inner_folder(child) if child is not None and child.is_dir() else folder
