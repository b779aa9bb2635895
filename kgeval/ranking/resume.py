"""The run folder of a ranking: it holds the counts of finished positives, so that a later run can continue.

`kgeval.evaluation` opens a `RunFolder` and adds the counts of each shard. It contains ``checkpoint.json`` (the identity
of the run; the file has its name from version 0.1), ``shard-000001.npz``, ``shard-000002.npz``, ... (rows, counts and
scores) and ``lock``. Each file appears only when it is complete, so a run may be killed at any moment.
"""

from __future__ import annotations

import io
import json
import os
import re
import socket
import sys
import typing
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

import numpy as np

from kgeval._version import __version__
from kgeval.base.checks import Bools, Ids, counted, cut_label
from kgeval.base.files import TEMPORARY, Arrays, read_archive, read_text, replacing
from kgeval.base.limits import check_json
from kgeval.data.protocol import Protocol
from kgeval.data.sides import ALL_SIDES
from kgeval.errors import DataError
from kgeval.ranking.counts import RankCounts, TaskCounts

# Values in the files of version 0.1 stay, so that its runs go on.
FORMAT, FORMAT_VERSION = "kgeval checkpoint", 1
SHARD_FORMAT = "kgeval checkpoint shard"
DESCRIPTION, LOCK = "checkpoint.json", "lock"
SAME_COUNTS = ("0.1.0",)  # versions with the counts of this one, whose runs go on
OLD_NAMES = {"seed": "sample_seed"}  # names in the identity of their runs, and the names of today
MIN_SECONDS, MIN_SHARE = 0.5, 0.01  # minimum time between two shard files: seconds, and share of the time since opening

_SHARD = re.compile(r"shard-(\d{6,})\.npz")
_HOLDER = re.compile(r"kgeval checkpoint, process (\d+) on (\S+)")
_DAMAGED = "put the file back from a copy, or give another folder"
_DELETE_SHARD = "Delete this file: its queries are then ranked again"


@typing.runtime_checkable
class IdentityPart(typing.Protocol):
    """A part of a run's identity with a method that compares this part with the same part of an earlier run.

    An example is `kgeval.scorers.identity.ScorerIdentity`.
    """

    def describe(self) -> Any:
        """Return a value that JSON can store."""

    def differences(self, before: Any) -> list[str]:
        """Return one text for each difference between this run and an earlier run.

        `before` is the earlier run's result of `describe`. A DataError says that `before` cannot be one.
        """


class RunFolder:
    """A folder with the finished positives of a run; `RunFolder.open` opens it, and a ``with`` block closes it.

    The thread that opened a run folder calls its methods. A process that was forked while the run folder was open
    neither holds the lock nor writes.

    Attributes
    ----------
    folder : Path
    finished : dict of str to TaskCounts
        For each side with finished positives: the counts that earlier runs wrote. Each positive occurs once.
    n_shards : int
        The number of shard files of earlier runs that are reused.
    n_written : int
        The number of shard files that this run wrote.
    seconds : float
        The time in seconds that earlier runs took to count the reused shards.
    """

    def __init__(self, folder: Path, lock: _Lock, key: str) -> None:
        self.folder, self.n_written = folder, 0
        self._lock, self._key = lock, key
        files = _shard_files(folder)
        self.finished, self.seconds = _read_shards(files, key)
        self.n_shards = len(files)
        # _is_held[side], shape (at least the largest row + 1,): whether a positive is finished or was added.
        self._is_held: dict[str, Bools] = {}
        for side, counts in self.finished.items():
            self._hold(side, counts.rows)
        # The number and the content of the next shard file. One assignment replaces both: after an interrupt just
        # before this assignment, the same file is written again, so no row is ever in two files.
        number = max((_number(file) for file in files), default=0) + 1
        self._next: tuple[int, list[tuple[str, TaskCounts, float]]] = number, []
        self._opened = self._last_write = monotonic()

    @classmethod
    def open(cls, folder: str | Path, identity: Mapping[str, Any]) -> RunFolder:
        """Lock a folder, check that it belongs to this run, and read the counts of finished positives.

        Parameters
        ----------
        folder : str or path
            It is created if it does not exist; its parent folder must exist.
        identity : mapping of str to object
            All data that determine the counts. Key: a name for messages; value: a value that JSON can store (also a
            dict), or an object with the methods of `IdentityPart`. These objects are compared only if all other values
            are equal.

        Returns
        -------
        RunFolder

        Raises
        ------
        DataError
            If the folder contains other files; if another process writes to the folder; if it belongs to a run with
            another identity or to another version of kgeval (the message lists the differences); if a shard file is
            damaged or belongs to another run; if two shard files contain the same positive; or if the folder cannot be
            written.
        """
        folder = Path(folder)
        _check_folder(folder)
        lock = _Lock(folder)
        try:
            for entry in folder.iterdir():
                if TEMPORARY.fullmatch(entry.name):  # the file of a process that was killed: this one holds the lock
                    entry.unlink()
            description, n_shards = _description(folder), len(_shard_files(folder))
            if description is None or not n_shards:  # no earlier run (perhaps of another scorer) finished a shard
                return cls(folder, lock, _write_description(folder, identity))
            differences = _differences(identity, description, folder / DESCRIPTION)
            if differences:
                raise DataError(
                    f"{folder} is the run folder of another run. {'; '.join(differences)}. Give another folder, or "
                    "repeat the run with its old settings"
                )
            return cls(folder, lock, description["key"])
        except OSError as error:
            lock.release()
            raise DataError(f"{folder}: the run folder cannot be opened: {error.strerror or error}") from error
        except BaseException:
            lock.release()
            raise

    def add(self, side: str, counts: TaskCounts, seconds: float) -> None:
        """Add counts, and write a shard file if the last shard file is old enough.

        A file is written if the last file is older than 0.5 s, and older than 1% of the time since the run folder was
        opened. A run that is killed therefore loses little work, and a long run writes few files.

        Parameters
        ----------
        side : str
            ``"subject"`` or ``"object"``.
        counts : TaskCounts
            Counts of positives that are already in the folder are ignored.
        seconds : float
            The time of the counting.

        Raises
        ------
        DataError
            If the file cannot be written.
        """
        if not self._lock.is_held:
            raise DataError(
                f"{self.folder}: this process does not hold the run folder: it was closed, or was opened "
                "by another process"
            )
        is_new = ~self._holds(side, counts.rows)
        if is_new.any():
            counts = counts if is_new.all() else _taken(counts, np.flatnonzero(is_new))
            self._next[1].append((side, counts, seconds))
            self._hold(side, counts.rows)
        now = monotonic()
        if now - self._last_write > max(MIN_SECONDS, MIN_SHARE * (now - self._opened)):
            self.flush()

    def flush(self) -> None:
        """Write the counts that were added since the last shard file.

        Raises
        ------
        DataError
            If the file cannot be written; the earlier files are not changed.
        """
        number, parts = self._next
        if not parts or not self._lock.is_held:
            return
        path = self.folder / f"shard-{number:06}.npz"
        content = _shard_bytes(parts, self._key)
        try:
            with replacing(path, overwrite=True) as stream:
                stream.write(content)
        except DataError as error:
            n = self.n_shards + self.n_written
            kept = f"The {counted(n, 'finished shard is', 'finished shards are')} kept" if n else "Nothing is kept yet"
            raise DataError(
                f"run folder {self.folder}: {path.name} cannot be written: {_reason(error)}. {kept}: free disk space, "
                "or make the folder writable, and repeat the call: it goes on from there"
            ) from error
        self._next = number + 1, []
        self.n_written += 1
        self._last_write = monotonic()

    def close(self) -> None:
        """Write the counts that were added, and release the lock."""
        try:
            self.flush()
        finally:
            self._lock.release()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except DataError:
            if error is None:  # otherwise Python raises `error`, the earlier error of the ``with`` block
                raise

    def _holds(self, side: str, rows: Ids) -> Bools:
        """Return, for each row number of a positive, whether the folder contains the positive."""
        held = self._is_held.get(side, np.zeros(0, dtype=bool))
        known = rows < len(held)
        result = np.zeros(len(rows), dtype=bool)
        result[known] = held[rows[known]]
        return result

    def _hold(self, side: str, rows: Ids) -> None:
        """Record that the folder now contains the positives with these row numbers."""
        held = self._is_held.get(side, np.zeros(0, dtype=bool))
        n = int(rows.max(initial=-1)) + 1
        if n > len(held):
            held = np.concatenate([held, np.zeros(max(n, 2 * len(held)) - len(held), dtype=bool)])
        held[rows] = True
        self._is_held[side] = held


def _check_folder(folder: Path) -> None:
    """Create the folder if it does not exist; raise a DataError if it cannot be a run folder. No file is written."""
    try:
        if not folder.exists():
            if not folder.parent.is_dir():
                raise DataError(f"run folder {folder}: the folder {folder.parent} does not exist; create it first")
            folder.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise DataError(f"run folder {folder}: the folder cannot be made: {reason}") from error
    if not folder.is_dir():
        raise DataError(f"run folder {folder}: is not a folder; give the name of a folder")
    try:
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"run folder {folder}: cannot be read: {error.strerror or error}") from error
    if DESCRIPTION in names:
        _description(folder)  # raises an error if the file is not part of a run folder of kgeval
        return
    shards = [name for name in names if _SHARD.fullmatch(name)]
    if shards:
        raise DataError(
            f"{folder} holds {counted(len(shards), 'shard file')} but no {DESCRIPTION}, the file with the identity of "
            "their run; put this file back, or give another folder"
        )
    foreign = [name for name in names if name != LOCK or not _is_lock(folder / LOCK)]
    if foreign:
        raise DataError(
            f"{folder} is not a run folder, and it is not empty: it holds {foreign[0]!r}; give an empty or a new folder"
        )


def _is_lock(path: Path) -> bool:
    """Return whether a file has the content of a run folder's lock file."""
    try:
        content = path.read_bytes()[:100]
    except OSError:
        return False
    return not content or _HOLDER.match(content.decode("utf-8", "replace")) is not None


def _description(folder: Path) -> dict[str, Any] | None:
    """Return the content of ``checkpoint.json``, checked; None if there is no such file."""
    path = folder / DESCRIPTION
    if not path.exists():
        return None
    try:
        text = read_text(path)
        check_json(text, f"{path}: is damaged, or is not part of a run folder of kgeval")
        description = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: is damaged, or is not part of a run folder of kgeval; {_DAMAGED}") from error
    except DataError as error:
        raise DataError(f"{error}; {_DAMAGED}") from error
    except ValueError as error:  # a number of more than 4,300 digits
        raise DataError(f"{path}: is damaged: {error}; {_DAMAGED}") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise DataError(f"{path}: is not part of a run folder of kgeval; give another folder")
    if json.dumps(description.get("format_version")) != str(FORMAT_VERSION):  # not compared as numbers: True == 1
        raise DataError(
            f"{path}: has format version {description.get('format_version')}, and kgeval {__version__} reads version "
            f"{FORMAT_VERSION}; go on with kgeval {description.get('kgeval')}, or give another folder"
        )
    kinds = {"identity": dict, "key": str, "kgeval": str}
    wrong = [name for name, kind in kinds.items() if not isinstance(description.get(name), kind)]
    if wrong:
        raise DataError(f"{path}: is damaged: the field {wrong[0]!r} is missing or has a wrong type; {_DAMAGED}")
    return description


def _write_description(folder: Path, identity: Mapping[str, Any]) -> str:
    """Write ``checkpoint.json``; return the key of the run folder, which every shard file also contains."""
    described = {name: part.describe() if isinstance(part, IdentityPart) else part for name, part in identity.items()}
    key = uuid.uuid4().hex
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kgeval": __version__,
        "key": key,
        "identity": described,
    }
    text = json.dumps(description, allow_nan=False, indent=1)
    try:
        with replacing(folder / DESCRIPTION, overwrite=True) as stream:
            stream.write(text.encode("utf-8"))
    except DataError as error:
        raise DataError(
            f"run folder {folder}: {DESCRIPTION} cannot be written: {_reason(error)}. Free disk space, make the folder "
            "writable, or give another folder"
        ) from error
    return key


def _reason(error: DataError) -> str:
    """Return the reason that the operating system gave when a file could not be written."""
    cause = error.__cause__
    return str(cause.strerror or cause) if isinstance(cause, OSError) else str(error)


def _differences(identity: Mapping[str, Any], description: dict[str, Any], path: Path) -> list[str]:
    """Return one text for each difference between this run and the run of a run folder, whose description is `path`.

    The list is empty if this run may continue the run folder.
    """
    before = description["identity"]
    if description["kgeval"] in SAME_COUNTS:
        before = {OLD_NAMES.get(name, name): value for name, value in before.items()}
        if isinstance(before.get("protocol"), dict):
            before["protocol"] = Protocol.with_new_names(before["protocol"])
    parts = {name: part for name, part in identity.items() if isinstance(part, IdentityPart)}
    plain = {name: value for name, value in identity.items() if name not in parts}
    differences = []
    if description["kgeval"] not in (__version__, *SAME_COUNTS):
        differences.append(f"kgeval: version {__version__} here, {description['kgeval']} in the run folder")
    # converted to JSON and back, like `before`: tuples become lists
    here = json.loads(json.dumps(plain, allow_nan=False)) | {name: before.get(name) for name in parts if name in before}
    differences += _compared("", here, before)
    differences += [f"{name}: not in the run folder" for name in parts if name not in before]
    for name, part in parts.items():
        if not differences:
            try:
                found = part.differences(before[name])
            except DataError as error:
                raise DataError(f"{path}: is damaged: identity/{name}/{error}; {_DAMAGED}") from error
            differences += [f"{name}: {difference}" for difference in found]
    return differences


def _compared(name: str, here: Any, before: Any) -> list[str]:
    """Return one text for each difference between two JSON values.

    In a text, the keys of nested dicts are joined by dots ("protocol.sides").
    """
    if isinstance(here, dict) and isinstance(before, dict):
        differences = []
        for key in [*here, *(key for key in before if key not in here)]:
            path = f"{name}.{key}" if name else str(key)
            if key in here and key in before:
                differences += _compared(path, here[key], before[key])
            else:
                differences.append(f"{path}: {'only here' if key in here else 'only in the run folder'}")
        return differences
    shown = [cut_label(json.dumps(value, ensure_ascii=False)) for value in (here, before)]
    is_equal = here == before and isinstance(here, bool) == isinstance(before, bool)
    return [] if is_equal else [f"{name}: {shown[0]} here, {shown[1]} in the run folder"]


def _shard_files(folder: Path) -> list[Path]:
    """Return the shard files of a folder in the order of their numbers."""
    return sorted((entry for entry in folder.iterdir() if _SHARD.fullmatch(entry.name)), key=_number)


def _number(file: Path) -> int:
    """Return the number of a shard file."""
    return int(file.name[len("shard-") : -len(".npz")])


def _shard_bytes(parts: list[tuple[str, TaskCounts, float]], key: str) -> bytes:
    """Return the content of a shard file as bytes.

    The zip file is made in memory, since a zip file that is written to a full disk could be damaged.
    """
    arrays: Arrays = {}
    is_infinite: dict[str, bool] = {}
    for side in ALL_SIDES:
        of_side = [counts for part_side, counts, _ in parts if part_side == side]
        if of_side:
            joined = TaskCounts.joined(of_side)
            arrays[f"{side}_rows"] = joined.rows
            for setting, counts in (("raw", joined.raw), ("known", joined.known)):
                arrays[f"{side}_{setting}"] = np.stack([counts.better, counts.tied, counts.rivals])
            arrays[f"{side}_scores"] = joined.scores
            is_infinite[side] = joined.is_infinite
    header = {
        "format": SHARD_FORMAT,
        "key": key,
        "seconds": sum(seconds for *_, seconds in parts),
        "is_infinite": is_infinite,
    }
    stream = io.BytesIO()
    np.savez(stream, **{"header": np.array(json.dumps(header)), **arrays})  # type: ignore[arg-type]
    return stream.getvalue()


def _read_shards(files: list[Path], key: str) -> tuple[dict[str, TaskCounts], float]:
    """Return the counts of all shard files by side, and the seconds that the counting took."""
    parts: dict[str, list[TaskCounts]] = {side: [] for side in ALL_SIDES}
    sources: dict[str, list[Path]] = {side: [] for side in ALL_SIDES}  # the file of each part
    seconds = 0.0
    for file in files:
        of_file, seconds_of_file = _read_shard(file, key)
        seconds += seconds_of_file
        for side, counts in of_file.items():
            parts[side].append(counts)
            sources[side].append(file)
    for side in ALL_SIDES:
        _check_once(side, parts[side], sources[side])
    return {side: TaskCounts.joined(parts[side]) for side in ALL_SIDES if parts[side]}, seconds


def _read_shard(file: Path, key: str) -> tuple[dict[str, TaskCounts], float]:
    """Return the counts of a shard file by side, and the seconds that the counting took."""
    try:
        arrays, header = read_archive(file)
        _check_header(file, header, key)
        sides = header["is_infinite"]
        return {side: _counts_of(file, arrays, side, sides[side]) for side in sides}, float(header["seconds"])
    except DataError as error:
        raise DataError(f"{error}. {_DELETE_SHARD}") from error


def _check_header(file: Path, header: dict[str, Any], key: str) -> None:
    """Raise a DataError if a file is not a shard file of the run folder with this key."""
    if header.get("format") != SHARD_FORMAT:
        raise DataError(f"{file}: is not a shard file of a run folder")
    if header.get("key") != key:
        raise DataError(f"{file}: is a shard file of another run folder")
    sides, seconds = header.get("is_infinite"), header.get("seconds")
    if not isinstance(sides, dict) or not set(sides) <= set(ALL_SIDES) or not isinstance(seconds, float | int):
        raise DataError(f"{file}: is damaged: its header lacks the sides or the time")


def _counts_of(file: Path, arrays: Arrays, side: str, is_infinite: Any) -> TaskCounts:
    """Return the counts of one side of a shard file; raise a DataError if they cannot be counts."""
    rows, raw, known, scores = (arrays.get(f"{side}_{name}") for name in ("rows", "raw", "known", "scores"))
    if rows is None or raw is None or known is None or scores is None or rows.ndim != 1:
        raise DataError(f"{file}: is damaged: it lacks arrays of the {side} side")
    n = len(rows)
    integers_fit = all(array.dtype == np.int64 and (array >= 0).all() for array in (rows, raw, known))
    if (
        not integers_fit
        or {raw.shape, known.shape} != {(3, n)}
        or scores.shape != (n,)
        or scores.dtype.kind not in "fiu"
    ):
        raise DataError(f"{file}: is damaged: the arrays of the {side} side have wrong shapes or types")
    # The counts of all rivals, of the rivals that are known answers, and of the remaining rivals.
    if any((counts[0] + counts[1] > counts[2]).any() or (counts < 0).any() for counts in (raw, known, raw - known)):
        raise DataError(f"{file}: is damaged: a number of better and tied rivals exceeds the number of all rivals")
    return TaskCounts(rows, RankCounts(*raw), RankCounts(*known), scores, bool(is_infinite))


def _check_once(side: str, parts: list[TaskCounts], sources: list[Path]) -> None:
    """Raise a DataError if a positive occurs in two shard files, or twice in one file."""
    if not parts:
        return
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows, kind="stable")
    repeated = np.flatnonzero(np.diff(rows[order]) == 0)
    if not len(repeated):
        return
    source = np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts])  # (rows,): the part of each row
    row = rows[order[repeated[0]]]
    first, second = (sources[source[order[place]]] for place in (repeated[0], repeated[0] + 1))
    raise DataError(
        f"{second}: holds positive {row} of the {side} side, which {first.name} holds too, so it would count twice. "
        f"{_DELETE_SHARD}"
    )


def _taken(counts: TaskCounts, places: Ids) -> TaskCounts:
    """Return the counts of the positives at some positions."""
    return TaskCounts(
        counts.rows[places],
        counts.raw.take(places),
        counts.known.take(places),
        counts.scores[places],
        counts.is_infinite,
    )


class _Lock:
    """An exclusive lock on a folder, which the system releases when the process ends.

    A forked child process inherits the open file and the lock. The child process closes the file at once; otherwise
    the lock would remain after the parent process has died.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        self._handle: int | None = None
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise DataError(
                f"run folder {folder}: cannot be written: {error.strerror or error}. Make the folder writable, free "
                "disk space, or give another folder"
            ) from error
        try:
            _take_lock(handle)
        except (BlockingIOError, PermissionError) as error:
            os.close(handle)
            raise DataError(
                f"run folder {folder}: {self._holder()} writes to it; wait until it ends, or give another folder"
            ) from error
        except OSError as error:
            os.close(handle)
            raise DataError(
                f"run folder {folder}: cannot be locked: {error.strerror or error}. Give a folder on a file system "
                "with locks"
            ) from error
        self._handle = handle
        _LOCKS.add(self)
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f"{FORMAT}, process {os.getpid()} on {socket.gethostname()}\n".encode())
        except OSError:  # a full disk: the lock works without the holder's name, and the next write reports the error
            pass

    @property
    def is_held(self) -> bool:
        """Whether this process holds the lock."""
        return self._handle is not None

    def release(self) -> None:
        """Release the lock. The lock file is kept: if the file were deleted, two processes could hold a lock."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _holder(self) -> str:
        """Return a text that names the process that holds the lock, as read from the lock file."""
        try:
            found = _HOLDER.match(self.path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            found = None
        if found is None:
            return "another process"
        process, host = found.groups()
        return f"process {process}" if host == socket.gethostname() else f"process {process} on {host}"


_LOCKS: weakref.WeakSet[_Lock] = weakref.WeakSet()  # the locks that this process holds


def _let_go_in_child() -> None:
    """Close the locks that a forked child process inherited; the parent process keeps them."""
    for lock in list(_LOCKS):
        lock.release()


if sys.platform == "win32":
    import msvcrt

    def _take_lock(handle: int) -> None:
        """Lock a byte far behind the text, so that other processes can read the text.

        Raise a PermissionError if another process has locked this byte.
        """
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def _take_lock(handle: int) -> None:
        """Lock the file; raise a BlockingIOError if another process has locked it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    os.register_at_fork(after_in_child=_let_go_in_child)
