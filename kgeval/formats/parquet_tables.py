"""Parquet files of triples, read by pyarrow (extra ``kgeval[parquet]``).

Columns are named in the file. Labels are strings or integers, plain or dictionary-encoded; a missing value is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from kgeval.base.files import check_source
from kgeval.base.limits import MIN_PACKED_LINE, check_rows, check_unfolded
from kgeval.errors import DataError, MissingExtra

MIN_PYARROW = (14, 0, 1)  # earlier versions unpickle types from a file, which can run code


def read_parquet(file: Path) -> pd.DataFrame:
    """Read a Parquet file as a frame; integers with missing values stay integers.

    Parameters
    ----------
    file : Path

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DataError
        If the file does not exist, is damaged, or is not a Parquet file.
    MissingExtra
        If pyarrow is not installed, or older than `MIN_PYARROW`.
    """
    check_source(file)
    version = ".".join(map(str, MIN_PYARROW))
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra(f'{file}: reading .parquet needs pyarrow; pip install "kgeval[parquet]"') from error
    if tuple(int(part) for part in pyarrow.__version__.split(".")[:3] if part.isdigit()) < MIN_PYARROW:
        raise MissingExtra(
            f"{file}: reading .parquet needs pyarrow {version} or later, since earlier versions can run code from a "
            f'file; this is {pyarrow.__version__}: pip install "pyarrow>={version}"'
        )
    try:
        with open(file, "rb") as stream:
            parquet = pyarrow.parquet.ParquetFile(stream)
            _check_size(file, parquet.metadata)
            table = parquet.read()
            table.validate(full=True)  # texts that are not UTF-8 would raise an error of pyarrow later
            frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    except DataError:
        raise
    except Exception as error:  # pyarrow raises many types of errors for damaged files
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{file}: cannot be read: {error.strerror}") from error
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(f"{file}: is damaged, cut off, or no Parquet file: {reason}") from error
    return frame


def _check_size(file: Path, metadata: Any) -> None:
    """Raise a DataError if a file claims far more rows or bytes than a file of its size can hold."""
    n_bytes = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    # A column of equal values takes no bytes in the file, but at least 8 per row in memory.
    check_unfolded(file, max(n_bytes, 8 * metadata.num_rows * metadata.num_columns), what="unfolds to")
    check_rows(file, metadata.num_rows, file.stat().st_size, MIN_PACKED_LINE, "rows")
