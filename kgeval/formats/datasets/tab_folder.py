"""The format of folders with the tables ``train``, ``valid`` and ``test``, and of single tables of triples.

Each file is tab-separated text (``.txt``, ``.tsv``), CSV or Parquet, or text with another separator if the option `sep`
is given; text may be packed (``train.txt.gz``). `read_dataset` and `read_negatives` read such folders.

Nothing that could change a result is guessed. Errors name the option to set if a first line looks like a header, if the
columns seem to be in an unusual order, if further columns have no names, or if the separator seems to be unusual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from kgeval.base.checks import Ids, names_unknown_arguments
from kgeval.base.files import similar_path
from kgeval.data.column_names import parse_columns
from kgeval.data.dataset import Dataset
from kgeval.data.frames import further_notes
from kgeval.data.triples import ONE_FILE
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.registered.cache import fetch
from kgeval.formats.registered.entries import find_registered, registered_hint
from kgeval.formats.registry import Format
from kgeval.formats.split_files import (
    SplitFiles,
    assumptions,
    beside_notes,
    elsewhere,
    find_split_files,
    folder_notes,
    split_of_name,
    unread_triples,
)
from kgeval.formats.text_tables import IS_IT_A_HEADER, first_labels
from kgeval.formats.triple_tables import TABLE_SUFFIXES, Table, read_table, table_suffix
from kgeval.formats.unpacking import ARCHIVES, is_archive, plain_name, unpacked

SMALL_FILES = 2**18  # bytes; files that are smaller in total are read without threads, which is faster


def sniff(path: Path) -> bool:
    """Return whether `path` is a folder with at least one file of a split."""
    try:
        return path.is_dir() and any(split_of_name(child.name) for child in path.iterdir())
    except (OSError, ValueError):
        return False


def read(path: Path, options: DatasetOptions) -> Dataset:
    """Read a folder of tables, or one table; see `kgeval.read_dataset`."""
    header, columns = options.header, options.columns
    if columns is not None:
        parse_columns(columns)  # raises an error before any file is read
    if path.is_file():
        return _read_file(path, options)
    options.check_used("tab", ("header", "columns", "sep", "splits", "ignore", "labelled"))
    path = _folder(path)
    files = find_split_files(path, options.splits, options.ignore)
    if not files:
        raise DataError(
            f"{path}: expected train.txt, valid.txt or test.txt (or .tsv, .csv, .parquet); {_contents(path)}"
            f"{elsewhere(path, options.ignore)}"
        )

    def read_split(split: str, file: Path) -> Table:
        return read_table(file, split, header=header, columns=columns, sep=options.sep, labelled=options.labelled)

    parts = [(split, file) for split, paths in files.items() for file in paths]
    n_bytes = sum(file.stat().st_size for _, file in parts if file.is_file())
    with ThreadPoolExecutor(len(parts)) if n_bytes > SMALL_FILES else nullcontext() as pool:
        tables = list((pool.map if pool else map)(read_split, *zip(*parts)))
    if columns is None:
        _check_same_order([(file, table) for (_, file), table in zip(parts, tables)], options.sep)
    of_split = {split: [table for (of, _), table in zip(parts, tables) if of == split] for split in files}
    dataset = _dataset(path.resolve().name, of_split, assumptions(path, files, options.splits))
    if header is None and not options.labelled:
        _check_first_lines([(split, file, table) for (split, file), table in zip(parts, tables)], dataset)
    _check_order(path, options, dataset)
    unread = unread_triples(path, files, options.ignore, dataset, tables[0].positions, options.sep)
    return dataset.with_notes([*unread, *folder_notes(path, options.ignore)])


def _read_file(file: Path, options: DatasetOptions) -> Dataset:
    """Read one table as the split train."""
    options.check_used("tab (one file)", ("header", "columns", "sep"))
    table = read_table(file, "train", header=options.header, columns=options.columns, sep=options.sep)
    name = Path(plain_name(file)).stem
    dataset = _dataset(name, {"train": [table]}, [ONE_FILE, *beside_notes(file)])
    if options.header is None:
        _check_first_lines([("train", file, table)], dataset)
    _check_order(file, options, dataset)
    return dataset


def _dataset(name: str, tables: Mapping[str, Sequence[Table]], notes: Sequence[str]) -> Dataset:
    """Make a dataset from the tables of each split."""
    labels = {split: _joined(parts) for split, parts in tables.items()}
    further = {
        split: pd.concat([table.further[table.is_positive] for table in parts], ignore_index=True)
        for split, parts in tables.items()
        if any(len(table.further.columns) for table in parts)
    }
    ignored = dict.fromkeys(column for parts in tables.values() for table in parts for column in table.ignored)
    notes = [*notes, *further_notes(further), *([f"columns ignored: {', '.join(ignored)}"] if ignored else [])]
    return Dataset.from_labels(labels, name=name, notes=notes, further_columns=further)


def _joined(tables: Sequence[Table]) -> list[pd.Categorical]:
    """Return the labels of the true triples of several files, one file after the other.

    The labels of false triples stay as categories.
    """
    parts = [
        [column if table.is_positive.all() else column[table.is_positive] for column in table.labels]
        for table in tables
    ]
    if len(parts) == 1:
        return parts[0]
    return [union_categoricals([part[i] for part in parts]) for i in range(3)]


def _check_order(path: Path, options: DatasetOptions, dataset: Dataset) -> None:
    """Raise a DataError if the columns seem to be in another order than the order in which they were read."""
    if not options.header and options.columns is None and dataset.suspicious_order:
        raise DataError(f"{path}: {dataset.suspicious_order} (on the command line: --columns)")


def _check_same_order(files: Sequence[tuple[Path, Table]], sep: str | None) -> None:
    """Raise a DataError if the headers of two text files name subject, relation and object in different orders.

    Each header decides the order of its own file. But if two headers disagree, one of them is often wrong: it was put
    above columns in another order, so that, for example, relations are read as objects. The option ``columns=`` with
    names confirms that every header is right. Parquet files are not compared, because their columns always have names.

    Parameters
    ----------
    files : sequence of tuples (path, table)
    sep : str, optional
        See `kgeval.read_dataset`.
    """
    texts = [(file, table) for file, table in files if table.place == "line"]
    for file, table in texts[1:]:
        first, first_table = texts[0]
        if np.argsort(table.positions).tolist() == np.argsort(first_table.positions).tolist():
            continue
        names, first_names = ([name.strip() for name in first_labels(of, sep)] for of in (file, first))
        confirmed = ",".join(names[i] for i in table.positions)
        right = f"name the columns, columns={confirmed!r} (--columns {confirmed})"
        if confirmed != ",".join(first_names[i] for i in first_table.positions):
            right = "give the columns the same names in the same order in all files"
        raise DataError(
            f"{file}, line 1: the header ({', '.join(names)}) has another order than the header of {first} "
            f"({', '.join(first_names)}); if both are right, {right}; else correct the wrong header"
        )


def _check_first_lines(files: Sequence[tuple[str, Path, Table]], dataset: Dataset) -> None:
    """Raise a DataError if the first line of a file is a header of unknown words.

    The line counts as a header if its labels occur only in first lines of files, and if one of two conditions holds.
    First: several files start with this line, and these first lines are at most a quarter of all lines. Second: there
    are at least 100 triples, and at least 10 times as many triples as relations; a relation with only one triple is
    then unusual. Each item of `files` is a tuple (split, one of its files, its table). The items are in the order in
    which the files were read. A table whose header named its columns is not examined.
    """
    triples = np.concatenate([part.array for part in dataset.splits.values()])
    n_relation = np.bincount(triples[:, 1], minlength=len(dataset.relations))
    n_entity = np.bincount(triples[:, [0, 2]].ravel(), minlength=len(dataset.entities))
    firsts = []
    n_read = dict.fromkeys(dataset.splits, 0)
    for split, _, table in files:
        firsts.append(tuple(dataset.splits[split].array[n_read[split]].tolist()))
        n_read[split] += len(table.is_positive)
    for (_, file, table), (s, p, o) in zip(files, firsts):
        if table.top != 1:
            continue
        n = firsts.count((s, p, o))
        is_alone = n_relation[p] == n and n_entity[s] == n and n_entity[o] == n
        is_plenty = len(triples) >= max(100, 10 * len(dataset.relations))
        if is_alone and s != o and (is_plenty or (n > 1 and len(triples) >= 4 * n)):
            labels = (dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o])
            shown = ", ".join(labels[i] for i in np.argsort(table.positions))  # in the order of the file
            raise DataError(
                f"{file}, line 1: looks like a header ({shown}) (its labels occur nowhere else); {IS_IT_A_HEADER}"
            )


@names_unknown_arguments(folder="path=")
def read_negatives(
    path: str | Path,
    dataset: Dataset,
    *,
    labelled: bool = False,
    header: bool | None = None,
    columns: str | Sequence[str] | None = None,
    sep: str | None = None,
    splits: SplitFiles | None = None,
) -> dict[str, Ids]:
    """Read the negatives (false triples) that belong to a dataset, for `kgeval.classify`.

    Parameters
    ----------
    path : str or path
        The folder contains ``valid_negatives`` or ``test_negatives`` (``.txt``, ``.tsv``, ``.csv`` or ``.parquet``) or
        both, with lines as in `read_dataset`; or `path` is the name of a registered dataset. With `labelled`,
        `path` is the folder of the dataset itself. Archives are unpacked, as in `read_dataset`.
    dataset : Dataset
        The dataset must contain every entity and relation of the negatives.
    labelled : bool
        Whether the negatives are the lines of ``valid`` and ``test`` with the label false. Lines of
        ``train`` with the label false are read too, if there are any.
    header : bool, optional
        Whether the first line of every file names the columns; see `read_dataset`.
    columns : str or sequence of str, optional
        The content of the columns; see `read_dataset`.
    sep : str, optional
        The separator of the columns; see `read_dataset`.
    splits : mapping of str to path or sequence of paths, optional
        The files of valid and test, if they have other names; see `read_dataset`.

    Returns
    -------
    dict of str to int64 array, shape (n, 3)
        For each split that has a file: its negatives, columns s, p, o, in the order of the file. Repeated
        lines and negatives that are known triples are kept; `kgeval.classify` reports both numbers.

    Raises
    ------
    DataError
        If a line does not have the expected form, if one of its labels is not in `dataset` (the message names file
        and line), or if the folder has no file of negatives of valid or test.
    """
    entry = None if Path(path).exists() else find_registered(path)
    if entry is not None:
        path = fetch(entry) / entry.inner
    with unpacked(path) if is_archive(path) else nullcontext(path) as inner:
        folder = _folder(inner)
        ending = "" if labelled else "_negatives"
        files = find_split_files(folder, splits, ending=ending)
        if not set(files) - {"train"}:
            hint = "" if labelled else "; kgeval.classify can draw negatives (negatives='uniform', --negatives uniform)"
            raise DataError(
                f"{folder}: expected valid{ending}.txt and test{ending}.txt (or .tsv); {_contents(folder)}{hint}"
            )
        negatives = {}
        read: list[tuple[Path, Table]] = []
        for split, paths in files.items():
            parts = []
            for file in paths:
                table = read_table(file, split, header=header, columns=columns, sep=sep, labelled=labelled)
                read.append((file, table))
                rows = np.flatnonzero(~table.is_positive) if labelled else np.arange(len(table.is_positive))
                parts.append(_known_ids(file, table, rows, dataset))
            ids = np.concatenate(parts)
            if len(ids) or split != "train":
                negatives[split] = ids
        if columns is None:
            _check_same_order(read, sep)
    return negatives


def _known_ids(file: Path, table: Table, rows: Ids, dataset: Dataset) -> Ids:
    """Convert the labels in the rows `rows` of a table to ids, shape (rows, 3).

    Raise a DataError for a label that is not in `dataset`. The message names the line of the label.
    """
    columns = table.labels
    ids = np.empty((len(rows), 3), dtype=np.int64)
    for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities)):
        category_ids = vocabulary.find(columns[i].categories.to_numpy(dtype=object))  # -1 for unknown labels
        ids[:, i] = category_ids[columns[i].codes[rows]]
    # (unknown ids, 2): position in `rows` and column of each unknown id, sorted by position
    unknown = np.argwhere(ids < 0)
    if len(unknown):
        position, i = unknown[0]
        row = rows[position]
        kind = "relation" if i == 1 else "entity"
        raise DataError(
            f"{file}, {table.place} {row + table.top}: {kind} {columns[i][row]!r} does not occur in dataset "
            f"{dataset.name!r}; negatives must consist of entities and relations of the dataset"
        )
    return ids


def _folder(folder: str | Path) -> Path:
    """Return `folder` as a path; raise a DataError if it is not an existing folder."""
    path = Path(folder)
    if not path.is_dir():
        if str(path) == "-" or path.is_fifo() or path.is_char_device():
            raise DataError(f"{path}: a dataset is a folder of files; it cannot be read from a pipe")
        if path.exists():
            raise DataError(f"{path}: is a file; give the folder that contains it")
        if table_suffix(path) in TABLE_SUFFIXES or path.name.lower().endswith(tuple(ARCHIVES)):
            raise DataError(f"{path}: no such file{similar_path(path)}")
        hint = similar_path(path, is_folder=True) or registered_hint(folder)
        hint = hint or (
            "" if path.parent != Path() else ", and no registered dataset (kgeval inspect --datasets lists them)"
        )
        raise DataError(f"{path}: no such folder{hint}")
    return path


def _contents(folder: Path) -> str:
    """Return, for messages, the names of the first files in a folder."""
    return "the folder contains " + (", ".join(sorted(child.name for child in folder.iterdir())[:8]) or "nothing")


FORMAT = Format("tab", sniff, read, "a folder of tables of triples, or one table")
