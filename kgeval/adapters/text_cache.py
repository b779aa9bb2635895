"""A file on disk that keeps scores of texts, for `from_texts`; several processes may use the file at the same time.

The file is a SQLite database. Each reading and each writing opens the file, so an object of this module may be used by
any thread, and after a fork. Locks of SQLite ensure that only one process writes at a time.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Scores
from kgeval.errors import DataError

FILE_NAME = "kgeval-texts.sqlite"  # the file in a folder that the user names
APPLICATION_ID, VERSION = 0x6B676576, 1  # in the header of the file
SECONDS_TO_WAIT = 60.0  # while another process writes
KEYS_PER_QUERY = 500  # SQLite of 2019 takes at most 999 parameters
DELETE_IT = "Delete the file, and its scores are computed again"


class Found(NamedTuple):
    """The scores that a cache contains for some keys.

    Parameters
    ----------
    places : int64 array, shape (found,)
        The positions of the found keys among the given keys, ascending.
    scores : array, shape (found,)
        The scores of the found keys, in the dtype in which they were stored.
    is_own : bool array, shape (found,)
        Whether the score was stored under the name of this run.
    """

    places: Ids
    scores: Scores
    is_own: npt.NDArray[np.bool_]


class TextCache:
    """A file with scores of texts, stored under the name of the model.

    Parameters
    ----------
    path : str or path
        The file; or an existing folder, in which the file gets the name `FILE_NAME`.
    model_name : str
        Part of each key: models of different names never share a score.

    Raises
    ------
    DataError
        If the file cannot be opened or made, if it is damaged, or if it belongs to another program.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = TextCache(folder, "bert-base")
    ...     keys = [cache.key(("Jack", "likes", city)) for city in ("Rome", "Oslo")]
    ...     stored = cache.store(keys[:1], np.array([0.25], dtype=np.float32), run="a")
    ...     cache.find(keys, run="b")
    Found(places=array([0]), scores=array([0.25], dtype=float32), is_own=array([False]))
    """

    def __init__(self, path: str | Path, model_name: str) -> None:
        path = Path(path)
        self.path = path / FILE_NAME if path.is_dir() else path
        self.model_name = model_name
        self._prefix = _framed(f"kgeval texts {VERSION}") + _framed(model_name)
        if not self.path.parent.is_dir():
            raise DataError(f"{self.path}: the folder {self.path.parent} does not exist; create it first")
        with self._connection("opened") as connection:
            if self._is_new(connection):
                connection.execute("BEGIN IMMEDIATE")  # another process may do the same
                if self._is_new(connection):
                    connection.execute(
                        "CREATE TABLE scores (key BLOB PRIMARY KEY, dtype TEXT NOT NULL, score BLOB NOT NULL, "
                        "checksum INTEGER NOT NULL, run TEXT NOT NULL) WITHOUT ROWID"
                    )
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("COMMIT")

    def key(self, texts: Sequence[str]) -> bytes:
        """Return the key of some texts: a SHA-256 hash of the model's name and of each text with its length."""
        return hashlib.sha256(self._prefix + b"".join(map(_framed, texts))).digest()

    def find(self, keys: Sequence[bytes], run: str) -> Found:
        """Return the stored scores of some keys.

        Parameters
        ----------
        keys : sequence of bytes
            Distinct keys; see `key`.
        run : str
            The name of this run; see `Found.is_own`.

        Returns
        -------
        Found

        Raises
        ------
        DataError
            If the file is damaged, or if scores of several dtypes are stored for these keys.
        """
        with self._connection("read") as connection:
            return self._found(connection, keys, run)

    def store(self, keys: Sequence[bytes], scores: Scores, run: str) -> Scores:
        """Store scores, and return the scores that the file then holds for the keys.

        If another process has stored a score for a key in the meantime, that score is kept and returned.

        Parameters
        ----------
        keys : sequence of bytes
            Distinct keys; see `key`.
        scores : array, shape (keys,)
        run : str
            The name of this run.

        Returns
        -------
        array, shape (keys,)

        Raises
        ------
        DataError
            If the file cannot be written, or if it holds scores of another dtype for some of the keys.
        """
        stored = np.ascontiguousarray(scores, dtype=scores.dtype.newbyteorder("<"))
        dtype, values = stored.dtype.str, [value.tobytes() for value in stored]
        rows = [(key, dtype, value, _checksum(key, dtype, value), run) for key, value in zip(keys, values)]
        with self._connection("written") as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?, ?)", rows)
            found = self._found(connection, keys, run)
            connection.execute("COMMIT")
        return found.scores

    def _found(self, connection: sqlite3.Connection, keys: Sequence[bytes], run: str) -> Found:
        """Read the scores of some keys; see `find`."""
        place_of = {key: place for place, key in enumerate(keys)}
        rows: list[tuple[int, str, bytes, bool]] = []
        for start in range(0, len(keys), KEYS_PER_QUERY):
            part = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(part))
            for key, dtype, value, checksum, owner in connection.execute(
                f"SELECT key, dtype, score, checksum, run FROM scores WHERE key IN ({marks})", part
            ):
                if not isinstance(value, bytes) or checksum != _checksum(key, dtype, value):
                    raise DataError(
                        f"{self.path}: a score does not have its checksum, so the file is damaged. {DELETE_IT}"
                    )
                rows.append((place_of[key], dtype, value, owner == run))
        rows.sort()
        dtypes = {row[1] for row in rows}
        if len(dtypes) > 1:
            names = " and ".join(sorted(str(np.dtype(dtype).newbyteorder("=")) for dtype in dtypes))
            raise DataError(
                f"{self.path}: holds scores of the model {self.model_name!r} in different dtypes, {names}, so ties "
                "could be lost. Keep to one dtype, and give the model a new name (model_name=)"
            )
        dtype = np.dtype(dtypes.pop()) if dtypes else np.dtype(np.float64)
        scores = np.frombuffer(b"".join(row[2] for row in rows), dtype=dtype).astype(dtype.newbyteorder("="))
        places = np.array([row[0] for row in rows], dtype=np.int64)
        return Found(places, scores, np.array([row[3] for row in rows], dtype=bool))

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Return whether the database is empty.

        Raise a DataError if it has other content than a cache of this version.
        """
        # The query for the table comes first: a process that makes the table sets both numbers in the same transaction,
        # so if the table exists, both numbers are set.
        queries = "SELECT count(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version"
        n_tables, application, version = (connection.execute(query).fetchone()[0] for query in queries)
        if n_tables == 0 and application in (0, APPLICATION_ID):
            return True
        if application != APPLICATION_ID:
            raise DataError(f"{self.path}: is a SQLite file of another program; give the cache another name")
        if version != VERSION:
            raise DataError(f"{self.path}: is a cache of another version of kgeval; give the cache another name")
        return False

    @contextmanager
    def _connection(self, done: str) -> Iterator[sqlite3.Connection]:
        """Open the file for a ``with`` block.

        SQLite errors become a DataError; `done` is a verb for its message, such as "read" for "cannot be read".
        """
        try:
            with closing(self._open()) as connection:
                yield connection
        except sqlite3.Error as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise DataError(
                    f"{self.path}: is damaged, or no cache that kgeval wrote: {error}. {DELETE_IT}"
                ) from error
            if "locked" in str(error):
                raise DataError(
                    f"{self.path}: another process has locked the file for more than {SECONDS_TO_WAIT:.0f} seconds"
                ) from error
            remedy = "" if os.access(self.path.parent, os.W_OK) else f"; the folder {self.path.parent} is read-only"
            raise DataError(f"{self.path}: cannot be {done}: {error}{remedy}") from error

    def _open(self) -> sqlite3.Connection:
        """Return a connection in which transactions begin and end only by explicit commands."""
        return sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT, isolation_level=None)


def _framed(text: str) -> bytes:
    """Return the length of a text and its bytes, so that different lists of texts never join to the same bytes."""
    raw = text.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(8, "little") + raw


def _checksum(key: bytes, dtype: str, value: bytes) -> int:
    """Return a checksum of one row of the table, to detect damaged bytes."""
    return zlib.crc32(value, zlib.crc32(dtype.encode(), zlib.crc32(key)))
