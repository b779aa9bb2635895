"""`StreamedTable`, a table whose rows are converted when they are read; `MappedArray`, which sends a file path.

A memory-mapped table of millions of rows is never copied as a whole: a copy that would be larger than `MAX_COPY` bytes
is replaced by a `StreamedTable`, which converts the rows of one block at a time. The embedding models make streamed
tables from float16, bfloat16 and complex numbers; the passes make them to convert vectors to the number format of the
pass. If a memory-mapped array is sent to another process, a `MappedArray` is sent instead: the path of the file and the
position of the array in the file.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids
from kgeval.errors import DataError
from kgeval.kernels.geometry import map_parts

MAX_COPY = 1 << 28  # bytes: a larger copy of a table is not kept, its rows are converted whenever they are read

Rows = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A table whose rows are computed from the rows of other tables when they are read, and never kept.

    ``table[rows]`` with a slice or an array of row numbers returns an array; ``numpy.asarray(table)`` converts the
    whole table.

    Parameters
    ----------
    convert : function
        Takes the rows of each of `sources`, arrays of equal length, and returns as many rows. A row must not depend on
        the other rows.
    sources : tuple of arrays or StreamedTable
        Of equal length.
    ids : int64 array, shape (rows,), optional
        Row i of the table is computed from row ``ids[i]`` of the sources; if ``ids[i]`` is -1, row i is NaN. By
        default, row i is computed from row i of the sources.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy dtype

    Examples
    --------
    >>> table = StreamedTable(np.negative, (np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),))
    >>> table.shape, table[1:]
    ((3, 2), array([[-3., -4.],
           [-5., -6.]]))
    """

    convert: Callable[..., Rows]
    sources: tuple[Any, ...]
    ids: Ids | None = None
    shape: tuple[int, ...] = field(init=False)
    dtype: np.dtype[Any] = field(init=False)

    def __post_init__(self) -> None:
        no_rows = self.convert(*(source[:0] for source in self.sources))
        n = len(self.sources[0]) if self.ids is None else len(self.ids)
        object.__setattr__(self, "shape", (n, *no_rows.shape[1:]))
        object.__setattr__(self, "dtype", no_rows.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the whole table after conversion, in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Rows:
        """Return the converted rows for a slice or an array of row numbers; for an integer, return one row."""
        if isinstance(rows, (int, np.integer)):
            return np.asarray(self[np.array([rows])][0])
        if self.ids is None:
            return self.convert(*(source[rows] for source in self.sources))
        ids = self.ids[rows]
        converted = self.convert(*(source[ids] for source in self.sources))
        if (ids < 0).any():
            converted[ids < 0] = np.nan
        return converted

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Rows:
        """Return the whole table as an array."""
        if copy is False:
            raise ValueError("a streamed table cannot become an array without a copy")
        array = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)

        def fill(part: slice) -> None:
            array[part] = self[part]

        if array.size:
            map_parts(fill, array.reshape(len(array), -1))
        return array

    def __reduce__(self) -> Any:
        return _unpacked_table, (self.convert, tuple(map(packed, self.sources)), self.ids)

    def __repr__(self) -> str:
        return f"StreamedTable(shape={self.shape}, dtype={self.dtype})"


def _unpacked_table(convert: Callable[..., Rows], sources: tuple[Any, ...], ids: Ids | None) -> StreamedTable:
    """Rebuild a `StreamedTable` in another process, from the values of `StreamedTable.__reduce__`."""
    return StreamedTable(convert, tuple(map(unpacked, sources)), ids)


def streamed(convert: Callable[..., Rows], *sources: Any, ids: Ids | None = None) -> Any:
    """Convert tables to one table: an array, or a `StreamedTable` if the array would exceed `MAX_COPY` bytes.

    Parameters
    ----------
    convert, *sources, ids
        See `StreamedTable`.

    Returns
    -------
    array or StreamedTable

    Examples
    --------
    >>> streamed(np.negative, np.array([[1.0, 2.0], [3.0, 4.0]]), ids=np.array([1, -1, 0]))
    array([[-3., -4.],
           [nan, nan],
           [-1., -2.]])
    """
    table = StreamedTable(convert, sources, ids)
    return np.asarray(table) if is_kept(table.nbytes) else table


def is_kept(n_bytes: int) -> bool:
    """Return whether a copy of a table may be kept, that is, whether the copy has at most `MAX_COPY` bytes.

    Parameters
    ----------
    n_bytes : int
        The size of the copy.
    """
    return n_bytes <= MAX_COPY


def taken(table: Any, ids: Ids) -> Any:
    """Return the rows `ids` of a table of numbers: an array, or a `StreamedTable` if the array would be too large.

    Parameters
    ----------
    table : float or complex array, or StreamedTable
    ids : int64 array, shape (rows,)
        An id of -1 gives a row of NaN.

    Returns
    -------
    array or StreamedTable
    """
    return streamed(_itself, table, ids=ids)


def bfloat16(values: npt.ArrayLike) -> StreamedTable:
    """Interpret the numbers of an array as the bits of bfloat16 numbers, which numpy does not have.

    Parameters
    ----------
    values : array of uint16, of int16 (``tensor.view(torch.int16).numpy()``), or of raw 16-bit values
        For example an ``.npy`` file of a table in bfloat16, ``np.load("entities.npy", mmap_mode="r")``. Not copied.

    Returns
    -------
    StreamedTable
        A parameter for the models of `kgeval.models`. Its rows are float32; no value changes.

    Raises
    ------
    DataError
        If `values` is not an array of one of these dtypes.

    Examples
    --------
    >>> bits = np.array([[0x3F80, 0xC040]], dtype=np.uint16)  # the upper halves of the float32 numbers 1 and -3
    >>> np.asarray(bfloat16(bits))
    array([[ 1., -3.]], dtype=float32)
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuV" or array.dtype.itemsize != 2 or not array.ndim:
        raise DataError(
            f"bfloat16 numbers must be a uint16 or int16 array of their bits; got dtype {array.dtype}, shape "
            f"{array.shape}. For a torch tensor, pass tensor.view(torch.int16).numpy(), or pass the tensor itself"
        )
    bits = array.view(np.dtype(np.uint16).newbyteorder(array.dtype.byteorder))
    return StreamedTable(_from_bfloat16, (bits,))


def _itself(rows: Rows) -> Rows:
    return rows


def _from_bfloat16(bits: Rows) -> Rows:
    """Return bfloat16 numbers, given as uint16, as float32: their bits are the upper half of a float32."""
    wide = bits.astype(np.uint32)
    wide <<= np.uint32(16)
    return wide.view(np.float32)


def from_float16(halves: Rows) -> Rows:
    """Return float16 numbers as float32, without a change of value; faster than numpy's own conversion.

    Parameters
    ----------
    halves : float16 array
        In the byte order of the machine.

    Returns
    -------
    float32 array

    Examples
    --------
    >>> from_float16(np.array([1.5, -0.0], dtype=np.float16))
    array([ 1.5, -0. ], dtype=float32)
    """
    return np.take(_all_halves(), halves.view(np.uint16))


@cache
def _all_halves() -> Rows:
    """Return all 65,536 float16 numbers, in the order of their bits, as float32."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


@dataclass(frozen=True)
class MappedArray:
    """The position of a memory-mapped array in its file; sent to another process instead of the array.

    Parameters
    ----------
    path : str
    offset : int
        The position of the first element in the file, in bytes.
    dtype : str
    shape, strides : tuples of int
        The shape and the strides of the array.
    digest : str
        A hash of all rows, to detect a file with different values at this path.
    """

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    digest: str

    @classmethod
    def of(cls, array: Rows) -> MappedArray | None:
        """Return the position of an array in its file; None if there is no file, or if it may differ from the array."""
        root = _file_of(array)
        if root is None or root.mode != "r" or root.filename is None or not array.size:
            return None
        offset = root.offset + array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return cls(str(root.filename), offset, array.dtype.str, array.shape, array.strides, _digest(array))

    def array(self) -> Rows:
        """Map the array in this process.

        Raises
        ------
        DataError
            If the file cannot be read here, or contains different values.
        """
        remedy = "Put the same file at this path on each machine, or pass load= to the executor"
        try:
            mapped = np.memmap(self.path, np.uint8, "r")
            array: Rows = np.ndarray(self.shape, np.dtype(self.dtype), mapped, self.offset, self.strides)
        except (OSError, ValueError, TypeError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise DataError(f"{self.path}: a table of the model cannot be mapped here: {reason}. {remedy}") from error
        if _digest(array) != self.digest:
            raise DataError(f"{self.path}: contains other values than the table of the model being ranked. {remedy}")
        return array


def _digest(array: Rows) -> str:
    """Return a hash (hexadecimal) of all values: the SHA-256 of the SHA-256 hashes of the parts."""
    rows = array.reshape(len(array) if array.ndim else 1, -1)

    def part_hash(part: slice) -> bytes:
        return hashlib.sha256(rows[part].tobytes()).digest()

    return hashlib.sha256(b"".join(map_parts(part_hash, rows))).hexdigest()


def _file_of(array: Any) -> Any:
    """Return the array of the whole mapped file to which an array belongs; None if the array is not in a file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) else None


def check_file(table: Any) -> None:
    """Raise a DataError if the file of a mapped table became shorter, because reading such a table would crash Python.

    Parameters
    ----------
    table : object
        An array or a `StreamedTable`; any other object is not checked.
    """
    for source in table.sources if isinstance(table, StreamedTable) else ():
        check_file(source)
    root = _file_of(table) if isinstance(table, np.ndarray) else None
    if root is not None and root.base.size() < root.offset + root.nbytes:
        raise DataError(
            f"{root.filename}: has become shorter since it was mapped: {root.base.size():,} bytes. Load it again; to "
            "replace a mapped file, write a new file, and rename the new file with os.replace"
        )


def packed(value: Any) -> Any:
    """Return a `MappedArray` for an array that is a part of a read-only mapped file; any other value unchanged.

    Parameters
    ----------
    value : object
    """
    place = MappedArray.of(value) if isinstance(value, np.ndarray) else None
    return value if place is None else place


def unpacked(value: Any) -> Any:
    """Return the array that a `MappedArray` describes, mapped in this process; any other value unchanged.

    Parameters
    ----------
    value : object
    """
    return value.array() if isinstance(value, MappedArray) else value
