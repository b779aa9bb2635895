"""Datasets as files: one module for each format."""

from __future__ import annotations

from pathlib import Path

from kgeval.data import Dataset
from kgeval.discovery import import_modules
from kgeval.formats.datasets import tab_folder
from kgeval.formats.datasets.tab_folder import read_columns, read_negatives
from kgeval.formats.registry import format_of

__all__ = ["read_columns", "read_dataset", "read_negatives"]


def read_dataset(folder: str | Path, *, header: bool = False, labelled: bool = False) -> Dataset:
    """Read a folder of ``train``, ``valid`` and ``test`` files (``.txt`` or ``.tsv``).

    Parameters
    ----------
    folder : str or path
        Holds at least one of the three files; each line is ``subject<TAB>relation<TAB>object``.
        Labels are strings exactly as written: nothing is unquoted, trimmed or taken for a number
        or a missing value. UTF-8; a byte order mark, CRLF or CR line ends and a missing final
        newline are accepted.
    header : bool
        Whether the first line of every file names the columns; known names (such as head, relation,
        tail) also tell their order.
    labelled : bool
        Whether valid and test (and train, if it has four columns) end each line with a label:
        1 or -1, 1 or 0, true or false. The splits are then the positives, and
        ``read_negatives(folder, dataset, labelled=True)`` gives the others; entities and relations
        are those of all lines.

    Returns
    -------
    Dataset
        Ids are the places in the sorted labels (by code point) of all splits together.

    Raises
    ------
    DataError
        Naming file and line, if a line has not three columns (four with a label), a label is empty
        or says neither true nor false, the bytes are not UTF-8, a file is empty, or the first line
        looks like a header and `header` is False.
    """
    path = Path(folder)
    how = format_of(path, import_modules(__name__, __path__), tab_folder.FORMAT)
    dataset: Dataset = how.read(path, header=header, labelled=labelled)
    return dataset
