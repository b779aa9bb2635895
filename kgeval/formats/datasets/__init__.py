"""Functions that read datasets: `read_dataset`, and one module for each file format.

The function `read` of a format takes a path and the `DatasetOptions`, and returns a `Dataset`. `read` calls
`DatasetOptions.check_used` with the names of the options that the format uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgeval.base.checks import names_unknown_arguments
from kgeval.base.discovery import import_modules
from kgeval.data.dataset import Dataset
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.datasets.foreign import companion_notes
from kgeval.formats.datasets.inductive import merges_valid
from kgeval.formats.datasets.tab_folder import read_negatives
from kgeval.formats.registered.entries import find_registered
from kgeval.formats.registered.reading import local_note, read_registered
from kgeval.formats.registry import Format, format_of, formats_of
from kgeval.formats.split_files import SplitFiles, split_of_words
from kgeval.formats.unpacking import is_archive, only_child, unpacked

__all__ = ["dataset_formats", "merges_valid", "read_dataset", "read_negatives"]


def dataset_formats() -> dict[str, Format]:
    """Return the formats of datasets, by name."""
    return formats_of(import_modules(__name__, __path__))


@names_unknown_arguments(folder="path=", dataset_format="format=")
def read_dataset(
    path: str | Path,
    *,
    header: bool | None = None,
    columns: str | Sequence[str] | None = None,
    sep: str | None = None,
    splits: SplitFiles | None = None,
    ignore: Sequence[str] = (),
    labelled: bool = False,
    format: str | None = None,
) -> Dataset:
    """Read a dataset: a folder of tables ``train``, ``valid`` and ``test``, a folder of another tool, or an archive.

    Parameters
    ----------
    path : str or path
        A folder with at least one of the three tables (``dev``, ``val`` and ``validation`` are read as valid):
        tab-separated text (``.txt``, ``.tsv``), CSV (``.csv``, with labels in double quotes where needed) or Parquet
        (extra ``kgeval[parquet]``); text may be packed (``train.txt.gz``, ``.bz2``, ``.xz``). Each line holds subject,
        relation and object. Labels of tab-separated text are read exactly as written: quotes and spaces stay; no label
        of any text becomes a number or a missing value. The encoding is UTF-8. A byte order mark, CRLF or CR line ends
        and a missing final newline are accepted.
        Folders that other tools write are recognised by the names of their files. An archive (``.zip``, ``.tar``,
        ``.tar.gz``, ...) is unpacked into a temporary folder and read like a folder. One table of triples
        (or an archive that contains only this table) becomes the split train; `Dataset.split` divides it.
    header : bool, optional
        Whether the first line of every file names the columns. Known names (such as head, relation,
        tail) also determine the order of the columns; other names need `columns`. By default (None), a first line
        that looks like a header raises an error.
    columns : str or sequence of str, optional
        The content of the columns. Either the order: ``"hrt"`` (head, relation, tail; the default order), ``"htr"`` or
        another order of these letters, and with further columns one name for each: ``"h,r,t,time"`` (``-`` leaves a
        column out). Or the names of the columns of subject, relation and object, in this order:
        ``"source,rel,target"``; the first line or the Parquet file must contain these names. Needed if the columns seem
        to be in another order than the default, and if there are further columns without names. Further columns, such
        as time or weight, are kept in `Dataset.columns`: results can be broken down by them, but the filter does not
        use them.
    sep : str, optional
        The separator of the columns of all text files: one character, such as ``","`` or ``";"``, or one of the words
        ``"tab"``, ``"comma"``, ``"space"`` and ``"whitespace"`` (any number of spaces and tabs). By default a comma in
        files named ``.csv``, else a tab. With a separator other than tab and whitespace, labels may be in double quotes
        (RFC 4180).
    splits : mapping of str to path or sequence of paths, optional
        The files of a split, relative to the folder, if they have other names: ``{"train": ["facts.txt",
        "train.txt"], "valid": "dev.tsv"}``. Several files are read one after the other.
    ignore : sequence of str
        Names of files to leave out. `Dataset.notes` name all other files that hold triples with labels of the dataset;
        if the name of such a file looks like a part of a split, an error is raised.
    labelled : bool
        Whether each line of valid and test (and of train, if it has four columns) ends with a label
        that says whether the triple is true: 1 or -1, 1 or 0, true or false. The splits then contain
        only the true triples; ``read_negatives(path, dataset, labelled=True)`` returns the false triples.
        Entities and relations of false triples belong to the dataset too.
    format : str, optional
        The name of the file format; by default the format is recognised by the names of the files.

    Returns
    -------
    Dataset
        The entity labels of all splits are sorted together by code point, and the relation labels likewise. The id of
        a label is the position of the label in this order.

    Raises
    ------
    DataError
        If the folder or the files are missing, if an archive is damaged or not safe to unpack, if a file beside the
        splits looks like a part of the dataset, or if the order of the columns seems to be head, tail, relation and
        `columns` is not given. Also if a line has another number of columns than expected, if a label is empty, if a
        truth label is neither true nor false, if the bytes are not UTF-8, if a file is empty or holds N-Triples, or if
        the first line looks like a header and `header` is not given; these messages name file and line.
    """
    asked, path = path, Path(path)
    options = DatasetOptions(header, columns, sep, splits, ignore, labelled)
    given: dict[str, Any] = {**vars(options), "format": format}
    entry = None if path.exists() else find_registered(asked)
    if entry is not None:
        return read_registered(entry, read_dataset, **{**given, "splits": splits or None, "ignore": tuple(ignore)})
    if is_archive(path):
        with unpacked(path) as inner:
            return read_dataset(inner if splits else _only_table(inner), **given)
    file_format = format_of(
        path, dataset_formats(), tab_folder.FORMAT, format, "format=NAME (on the command line: --dataset-format NAME)"
    )
    dataset: Dataset = file_format.read(path, options)
    dataset.id_format = file_format.name if dataset.dictionaries else ""
    read_as = [] if file_format is tab_folder.FORMAT else [f"read as {file_format.about}"]
    dataset = dataset.with_notes(companion_notes(path, ignore))
    return dataset.with_notes([*local_note(asked, path), *read_as], at_start=True)


def _only_table(folder: Path) -> Path:
    """Return the only file of an unpacked archive.

    If there are several files, or if the only file is a split or an archive by its name, the folder is returned.
    """
    child = only_child(folder)
    return folder if child is None or split_of_words(child.name) or is_archive(child) else child
