"""Keep the files of registered datasets in the cache: download missing files, unpack archives, check checksums.

`fetch` is called when a registered dataset is read. A file appears in the cache only when it is complete and its
checksum is right: pooch and `kgeval.base.files.replacing` write to a temporary file first.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from kgeval.base.files import replacing
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.registered.entries import Registered, RemoteFile
from kgeval.formats.unpacking import is_archive, open_packed, unpacked

BLOCK = 1 << 20  # bytes that are downloaded, unpacked or hashed at a time


def fetch(entry: Registered) -> Path:
    """Return the folder of a registered dataset, after the download of missing files.

    Parameters
    ----------
    entry : Registered

    Raises
    ------
    DataError
        If a file cannot be downloaded, or if a file does not match its checksum. The message says which file to put
        where, so that the dataset can be read without a network.
    MissingExtra
        If a file must be downloaded and pooch is not installed.
    """
    folder = entry.folder
    missing = [file for file in entry.files if not (folder / file.path).is_file()]
    if missing and entry.archive:
        archive = folder / entry.archive
        if not archive.is_file():
            _download(entry, missing[0].url, archive, "")
        _unpack(entry, archive, missing)
    elif missing:
        for file in missing:
            _download(entry, file.url, folder / file.path, file.hash)
    for file in entry.files:
        if file not in missing:
            _check_hash(entry, file)
    return folder


def file_hash(path: Path, kind: str = "sha256") -> str:
    """Return the checksum of a file, hexadecimal.

    Parameters
    ----------
    path : Path
    kind : str
        ``"sha256"`` or ``"md5"``.
    """
    digest = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _check_hash(entry: Registered, file: RemoteFile) -> None:
    """Raise a DataError if a file in the cache does not match its checksum."""
    if not file.hash:
        return
    path = entry.folder / file.path
    kind, _, expected = file.hash.partition(":")
    found = file_hash(path, kind)
    if found != expected:
        raise DataError(
            f"{path}: {_wrong_hash(kind, found, expected)}, so it is not used. Delete it, and read {entry.name} again; "
            "to read it nevertheless, give its folder another name and read this folder"
        )


def _wrong_hash(kind: str, found: str, expected: str) -> str:
    """Return a text for messages that gives the wrong and the expected checksum."""
    return f"its {_shown(kind)} is {found}, expected {expected}"


def _shown(kind: str) -> str:
    """Return the name of a checksum, for messages."""
    return {"sha256": "SHA-256", "md5": "MD5"}[kind]


def placing(entry: Registered) -> str:
    """Return a sentence that explains how to place the files of a dataset without a network.

    Parameters
    ----------
    entry : Registered
    """
    files = "; ".join(f"{name} from {url}" for name, url in entry.needed().items())
    return (
        f"without a network, put these files into the folder {entry.folder}: {files}. kgeval then reads {entry.name} "
        "from this folder"
    )


def _download(entry: Registered, url: str, target: Path, known_hash: str) -> None:
    """Download a file; if this fails or the checksum is wrong, raise a DataError and leave no file."""
    try:
        import pooch
    except ImportError as error:
        raise MissingExtra(
            f'{entry.name} is not in the cache, and downloading it needs pooch; pip install "kgeval[datasets]". Or, '
            f"{placing(entry)}, without pooch too"
        ) from error
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # pooch would advise the user to change a call of kgeval
    try:
        pooch.retrieve(url, known_hash or None, target.name, target.parent, downloader=_whole_file)
    except (OSError, ValueError) as error:  # all errors of requests are an OSError; a wrong checksum is a ValueError
        raise DataError(f"{entry.name}: {url} could not be downloaded: {error}. To read {placing(entry)}") from error
    finally:
        logger.setLevel(level)


def _whole_file(url: str, out: str, _owner: Any) -> None:
    """Download a URL into the file `out`, for pooch; raise a ValueError if fewer bytes come than the server announces.

    If a connection breaks off, older versions of urllib3 report the end of the file and no error.
    """
    import pooch
    from tqdm.auto import tqdm

    headers: list[Mapping[str, str]] = []  # of each response; the last headers are those of the file

    def note(response: Any, **_: Any) -> None:
        headers.append(response.headers)

    with tqdm(total=1, desc=url.rpartition("/")[2], unit="B", unit_scale=True, disable=None, leave=False) as bar:
        download = pooch.HTTPDownloader(progressbar=bar, chunk_size=BLOCK, hooks={"response": note})
        download(url, out, _owner)
    length = headers[-1].get("content-length")
    n_bytes = Path(out).stat().st_size
    if length is not None and "content-encoding" not in headers[-1] and n_bytes != int(length):
        raise ValueError(f"the connection was cut off after {n_bytes:,} of {int(length):,} bytes")


def _unpack(entry: Registered, archive: Path, files: Sequence[RemoteFile]) -> None:
    """Write the files of an archive to the folder of the dataset, under the names that the entry gives them."""
    try:
        if is_archive(archive):
            with unpacked(archive) as members:
                for file in files:
                    with open(_member(archive, members, file.member), "rb") as stream:
                        _place(entry, archive, file, stream)
        else:
            _place(entry, archive, files[0], io.BytesIO(open_packed(archive)))
    except DataError as error:
        raise DataError(f"{error}. Delete {archive}, and read {entry.name} again") from error


def _member(archive: Path, members: Path, name: str) -> Path:
    """Return the path of a member of an unpacked archive; raise a DataError if there is none.

    `kgeval.formats.unpacking.unpacked` leaves out a single outer folder, so the first parts of the name may be missing.
    """
    parts = PurePosixPath(name).parts
    found = [path for i in range(len(parts)) if (path := members.joinpath(*parts[i:])).is_file()]
    if not found:
        some = ", ".join(sorted(path.name for path in members.iterdir())[:8])
        raise DataError(f"{archive}: contains no file {name!r}; it contains {some}")
    return found[0]


def _place(entry: Registered, archive: Path, file: RemoteFile, stream: IO[bytes]) -> None:
    """Write an unpacked file to the folder of the dataset; raise a DataError, and write none, if its hash is wrong."""
    target = entry.folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    kind, _, expected = file.hash.partition(":")
    digest = hashlib.new(kind or "sha256", usedforsecurity=False)
    with replacing(target, overwrite=True) as out:
        while block := stream.read(BLOCK):
            digest.update(block)
            out.write(block)
        if expected and digest.hexdigest() != expected:
            raise DataError(f"{archive}: {file.member}: {_wrong_hash(kind, digest.hexdigest(), expected)}; not used")
