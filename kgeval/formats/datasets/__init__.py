"""Functions that read datasets: `read_dataset`, and one module for each file format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgeval.data import Dataset
from kgeval.discovery import import_modules
from kgeval.formats.datasets import tab_folder
from kgeval.formats.datasets.tab_folder import read_columns, read_negatives
from kgeval.formats.registry import format_of
from kgeval.formats.split_files import SplitFiles

__all__ = ["read_columns", "read_dataset", "read_negatives"]


def read_dataset(
    folder: str | Path,
    *,
    header: bool | None = None,
    columns: str | None = None,
    splits: SplitFiles | None = None,
    ignore: Sequence[str] = (),
    labelled: bool = False,
) -> Dataset:
    """Read a folder of ``train``, ``valid`` and ``test`` files (``.txt`` or ``.tsv``).

    Parameters
    ----------
    folder : str or path
        The folder contains at least one of the three files (``dev``, ``val`` and ``validation`` are read as valid);
        each line is ``subject<TAB>relation<TAB>object``.
        Labels are read exactly as written: quotes and spaces stay, and no label becomes a number or a
        missing value. The encoding is UTF-8. A byte order mark, CRLF or CR line ends and a missing
        final newline are accepted.
    header : bool, optional
        Whether the first line of every file names the columns. Known names (such as head, relation,
        tail) also determine the order of the columns; other names need `columns`. By default (None), a first line
        that looks like a header raises an error.
    columns : str, optional
        The order of the columns: ``"hrt"`` (head, relation, tail; the default order), ``"htr"`` or another order of
        these letters. Needed if the columns seem to be in another order than the default.
    splits : mapping of str to path or sequence of paths, optional
        The files of a split, relative to the folder, if they have other names: ``{"train": ["facts.txt",
        "train.txt"], "valid": "dev.tsv"}``. Several files are read one after the other.
    ignore : sequence of str
        Names of files to leave out. If any other file beside the splits holds triples with labels of the dataset, an
        observation of the dataset names this file; if the name of this file looks like a part of a split, an error is
        raised.
    labelled : bool
        Whether each line of valid and test (and of train, if it has four columns) ends with a label
        that says whether the triple is true: 1 or -1, 1 or 0, true or false. The splits then contain
        only the true triples; ``read_negatives(folder, dataset, labelled=True)`` returns the false triples.
        Entities and relations of false triples belong to the dataset too.

    Returns
    -------
    Dataset
        The entity labels of all splits are sorted together, by code point, and so are the relation labels. The id of a
        label is its position.

    Raises
    ------
    DataError
        If the folder or the files are missing, if a file beside the splits looks like a part of the dataset, or if the
        order of the columns seems to be head, tail, relation and `columns` does not say the order. Also, with file and
        line in the message, if a line does not have three columns (four with `labelled`), if a label is empty, if a
        truth label is neither true nor false, if the bytes are not UTF-8, if a file is empty or holds N-Triples, or if
        the first line looks like a header and `header` does not say so.
    """
    path = Path(folder)
    file_format = format_of(path, import_modules(__name__, __path__), tab_folder.FORMAT)
    dataset: Dataset = file_format.read(
        path, header=header, columns=columns, splits=splits, ignore=ignore, labelled=labelled
    )
    return dataset
