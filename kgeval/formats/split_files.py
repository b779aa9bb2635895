"""Find the files of a folder that hold the splits of a dataset, and report other files that also hold triples.

`kgeval.formats.datasets` calls `find_split_files` before it reads a folder, and `unread_triples` afterwards.
"""

from __future__ import annotations

import lzma
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kgeval.base.checks import Ids, suggest
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.queries import query_parts
from kgeval.data.triples import SPLITS
from kgeval.errors import DataError
from kgeval.formats.unpacking import ARCHIVES, PACKED, plain_name

SplitFiles = Mapping[str, "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"]
# For each split, the names of the files that are read, without suffix.
STEMS = {"train": ("train",), "valid": ("valid", "dev", "val", "validation"), "test": ("test",)}
# Words in file names, and the split that each word names; a file with such a name may be a part of this split.
SPLIT_OF_WORD = {stem: split for split, stems in STEMS.items() for stem in stems}
SPLIT_OF_WORD |= {"training": "train", "facts": "train", "development": "valid", "testing": "test", "holdout": "test"}
SUFFIXES = (".txt", ".tsv")
# Files with these suffixes are read if the split has no file with one of `SUFFIXES`. Text may also be packed:
# ``train.txt.gz``.
OTHER_SUFFIXES = (".csv", ".parquet", ".pq")
CLOSED = (".zst", *ARCHIVES, ".parquet", ".pq")  # the contents of such files are not looked at
# Files of these kinds may be a split in a format that kgeval does not read.
DATA_SUFFIXES = (*SUFFIXES, "", ".csv", ".nt", ".del", ".json", ".jsonl", *PACKED, *CLOSED)
# Names of files that are usually no parts of a split. Files of negatives do not contain facts. In files of candidates,
# each block starts with a triple of a split. In OpenKE's class files (1-1.txt, n-1.txt, ...), each line is a triple of
# a split. Tables of scores and of ranks have more than three columns.
NEGATIVES = re.compile(r"negative")
COMPANIONS = re.compile(r"candidate|rank|^[1n]-(to-)?[1nm]\b|score|predict")
SAMPLE_BYTES = 1 << 16  # only this many bytes of a file are examined
SHOWN = 8  # messages name at most this many files


def find_split_files(
    folder: Path, splits: SplitFiles | None = None, ignore: Sequence[str] = (), ending: str = ""
) -> dict[str, list[Path]]:
    """Return the files of each split in a folder.

    Parameters
    ----------
    folder : Path
    splits : mapping of str to path or sequence of paths, optional
        The files of some splits, relative to the folder. The files of the other splits are found by the names in
        `STEMS`.
    ignore : sequence of str
        Names of files in the folder that are not read.
    ending : str
        The end of the file names after the name of the split; for example ``"_negatives"`` for ``test_negatives.txt``.

    Returns
    -------
    dict of str to list of Path
        The paths of each split that has files; the splits are in the order train, valid, test.

    Raises
    ------
    DataError
        If two files have the name of the same split, if `splits` is not valid, or if `ignore` names a file that is not
        in the folder. Also if a split has no file, but the folder contains a file with a similar name that is not read,
        such as ``Train.txt`` or ``valid.json``.
    """
    names = sorted(child.name for child in folder.iterdir())
    ignored = [ignore] if isinstance(ignore, str) else list(ignore)
    for name in ignored:
        if name not in names:
            raise DataError(f"{folder}: ignore names {name!r}, which the folder does not contain{suggest(name, names)}")
    given = _given_files(folder, splits or {})
    left = [name for name in names if name not in ignored]
    names = [name for name in left if not any(folder / name in paths for paths in given.values())]
    files = {}
    for split in SPLITS:
        if split in given:
            files[split] = given[split]
            continue
        stems = [stem + ending for stem in STEMS[split]]
        found = [stem + suffix for stem in stems for suffix in SUFFIXES if stem + suffix in names]
        found = found or [stem + suffix for stem in stems for suffix in _other_suffixes() if stem + suffix in names]
        if len(found) > 1:
            raise DataError(
                f"{folder}: contains both {found[0]} and {found[1]}; keep only one, or say which to read: "
                f"splits={{{split!r}: {found[0]!r}}} with ignore=[{found[1]!r}] "
                f"(--split-files {split}={found[0]} --ignore-files {found[1]})"
            )
        if found:
            files[split] = [folder / found[0]]
        elif not ending:
            _check_no_look_alike(folder, split, names)
    return files


def _other_suffixes() -> list[str]:
    """Return the file suffixes that are tried if a split has no file with one of `SUFFIXES`."""
    return [*OTHER_SUFFIXES, *(suffix + packed for suffix in (*SUFFIXES, ".csv") for packed in PACKED)]


def split_of_name(name: str) -> str | None:
    """Return the split that a file of this name holds; None if `name` is not the name of a split.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> split_of_name("dev.tsv"), split_of_name("train.txt.gz"), split_of_name("facts.txt")
    ('valid', 'train', None)
    """
    for split, stems in STEMS.items():
        if any(name == stem + suffix for stem in stems for suffix in (*SUFFIXES, *_other_suffixes())):
            return split
    return None


def split_of_words(name: str) -> str | None:
    """Return the split of a word in a file name, such as test for ``facts_test.txt``; None if no word means a split.

    If the name contains words of several splits, the result is the last of these splits in the order train, valid,
    test. Messages advise the user to add the file to this split; they must never advise to add a part of test to train.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> split_of_words("wn_train.tsv"), split_of_words("train_or_dev.txt"), split_of_words("graph.txt")
    ('train', 'valid', None)
    """
    words = re.split(r"[^a-z]+", name.lower())
    return max((SPLIT_OF_WORD[word] for word in words if word in SPLIT_OF_WORD), key=SPLITS.index, default=None)


def beside_notes(file: Path) -> list[str]:
    """Return a note if a file has the name of a split and its folder has files of other splits too; else no note.

    Parameters
    ----------
    file : Path
        A file that is read as a dataset of one split.
    """
    stems = {stem for names in STEMS.values() for stem in names}
    if Path(plain_name(file)).stem.lower() not in stems:
        return []
    names = sorted(child.name for child in file.absolute().parent.iterdir() if child.name != file.name)
    beside = [name for name in names if Path(plain_name(name)).stem.lower() in stems]
    if not beside:
        return []
    return [f"not read: {', '.join(beside[:SHOWN])} beside {file.name}; give the folder to read all splits"]


def elsewhere(folder: Path, ignore: Sequence[str] = ()) -> str:
    """Return advice for the error message about a folder without splits: files or folders that may hold the splits.

    The result is empty if no file or folder has a fitting name.

    Parameters
    ----------
    folder : Path
    ignore : sequence of str
        Names that the caller leaves out.
    """
    left_out = {ignore} if isinstance(ignore, str) else set(ignore)
    children = [child for child in sorted(folder.iterdir()) if child.name not in left_out]
    named = {split: [c.name for c in children if c.is_file() and split_of_words(c.name) == split] for split in SPLITS}
    chosen = {split: names for split, names in named.items() if names}
    if chosen:
        typed = ",".join(f"{split}={'+'.join(names)}" for split, names in chosen.items())
        return f". If these are the splits, name them: splits={chosen!r} (--split-files {typed})"
    inner = [
        c.name for c in children if c.is_dir() and os.access(c, os.R_OK) and any(map(split_of_words, os.listdir(c)))
    ]
    if inner:
        return (
            f". Splits seem to be in the folders {', '.join(inner[:SHOWN])}: give the path of one of them (if they are "
            "in an archive, unpack it first)"
        )
    return ""


def folder_notes(folder: Path, ignore: Sequence[str] = ()) -> list[str]:
    """Return one note for each subfolder of a dataset folder that holds files of splits; these files are not read.

    Parameters
    ----------
    folder : Path
    ignore : sequence of str
        Names that the caller leaves out.
    """
    left_out = {ignore} if isinstance(ignore, str) else set(ignore)
    notes = []
    for child in sorted(folder.iterdir()):
        if child.name in left_out or child.name.startswith(".") or not child.is_dir() or not os.access(child, os.R_OK):
            continue
        names = sorted(name for name in os.listdir(child) if split_of_name(name))
        if names:
            notes.append(f"not read: the folder {child.name}, which contains {', '.join(names[:SHOWN])}")
    return notes


def _given_files(folder: Path, splits: SplitFiles) -> dict[str, list[Path]]:
    """Return the option `splits` with lists of paths as values; raise a DataError if the option is not valid."""
    if not isinstance(splits, Mapping):
        raise DataError(f"splits must map names of splits to files, as in {{'valid': 'dev.tsv'}}; got {splits!r}")
    given = {}
    for split, files in splits.items():
        if split not in SPLITS:
            hint = suggest(str(split), SPLITS)
            raise DataError(f"splits: unknown split {split!r}{hint}; splits are {', '.join(SPLITS)}")
        listed = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        if not listed:
            raise DataError(f"splits: no file is named for {split}; leave the split out, or name its files")
        given[split] = [folder / file for file in listed]
    paths = [path for files in given.values() for path in files]
    repeated = [path for path in paths if paths.count(path) > 1]
    if repeated:
        raise DataError(f"splits: {repeated[0]} is named twice; each file belongs to one split")
    return given


def _check_no_look_alike(folder: Path, split: str, names: Sequence[str]) -> None:
    """Raise a DataError if an unread file or subfolder is named after `split`, for example ``Train.txt`` or ``train``.

    A file is not read if its name has capital letters or a suffix that kgeval does not read.
    """
    for name in names:
        if name.lower() in STEMS[split] and (folder / name).is_dir():
            inside = sorted(os.listdir(folder / name))[:1] or ["FILE"]
            raise DataError(
                f"{folder}: {name} is a folder, and no file holds the {split} split; name its files: "
                f"splits={{{split!r}: '{name}/{inside[0]}'}} (--split-files {split}={name}/{inside[0]}), or say "
                f"ignore=[{name!r}] (--ignore-files {name})"
            )
        is_stem = name.lower().split(".")[0] in STEMS[split]
        if is_stem and Path(name).suffix.lower() in DATA_SUFFIXES and not (folder / name).is_dir():
            raise DataError(
                f"{folder}: {name} looks like the {split} split, but only files named {split}.txt, .tsv, .csv or "
                f".parquet are read; rename it, say splits={{{split!r}: {name!r}}} (--split-files {split}={name}) or "
                f"ignore=[{name!r}] (--ignore-files {name})"
            )


def assumptions(folder: Path, files: Mapping[str, Sequence[Path]], splits: SplitFiles | None) -> list[str]:
    """Return one sentence for each assumption that the reader made about the files of the splits.

    Parameters
    ----------
    folder : Path
    files : mapping of str to sequence of Path
        The files of each split, from `find_split_files`.
    splits : mapping, optional
        The files that the caller named; see `find_split_files`.

    Returns
    -------
    list of str
    """
    notes = []
    for split, paths in files.items():
        if split not in (splits or {}) and paths[0].name.split(".")[0] != split:
            notes.append(f"{paths[0].name} is read as the {split} split")
    if "train" not in files:
        notes.append("no train split: the filter does not remove training triples, and no entity counts as unseen")
    return notes


def unread_triples(
    folder: Path,
    files: Mapping[str, Sequence[Path]],
    ignore: Sequence[str],
    dataset: Dataset,
    positions: Sequence[int],
    sep: str | None = None,
) -> list[str]:
    """Return one note for each file that was not read although it holds triples with labels of the dataset.

    A file holds such triples if at least half of its first lines have three columns, a relation of the dataset, and an
    entity of the dataset. If the name of a file looks like a part of a split, its lines may also have more columns or
    other separators than tabs, and the file may be JSON or packed. Files of negatives get no note. Files of candidates
    and OpenKE's class files get no note if each block of triples starts with a triple of a split; see `_repeats`.

    Parameters
    ----------
    folder : Path
    files : mapping of str to sequence of Path
        The files that were read.
    ignore : sequence of str
        Names of files that the caller leaves out.
    dataset : Dataset
    positions : sequence of three int
        The positions of the columns that hold s, p and o.
    sep : str, optional
        The separator of the columns in the files that were read; see `kgeval.read_dataset`.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        If the name of a file that holds such triples looks like a part of a split, for example ``facts.txt`` or
        ``test_2.txt``. Also if kgeval cannot unpack a file with such a name, for example ``test_2.zip``.
    """
    read = {path.resolve() for paths in files.values() for path in paths}
    left_out = {ignore} if isinstance(ignore, str) else set(ignore)
    notes = []
    for path in sorted(folder.iterdir()):
        name = path.name
        if name in left_out or name.startswith(".") or NEGATIVES.search(name.lower()) or path.resolve() in read:
            continue
        if not path.is_file():
            continue
        of = split_of_words(name)
        text = _sample(path)
        is_companion = COMPANIONS.search(name.lower()) is not None
        # A file that looks like a part of a split may contain new entities: test may have entities that train lacks.
        may_be_new = of is not None and not is_companion
        triples = _known_triples(text, _separator(name, sep), 3, dataset, positions, may_be_new)
        if triples is None and (of is None or is_companion or not _is_other_format(path, text, dataset, positions)):
            continue
        if triples is not None and is_companion and _repeats(triples, dataset):
            continue
        split = of or "train"
        parts = [name, *(part.name for part in files.get(split, ()))]
        remedy = (
            f"splits={{{split!r}: {parts if len(parts) > 1 else name!r}}} (--split-files {split}={'+'.join(parts)}) "
            f"reads it, ignore=[{name!r}] (--ignore-files {name}) leaves it out"
        )
        if Path(plain_name(name)).suffix.lower() not in (*SUFFIXES, *OTHER_SUFFIXES, ""):
            remedy = (
                f"convert it and name it in splits (--split-files {split}=...), or say ignore=[{name!r}] "
                f"(--ignore-files {name})"
            )
        if of is not None:
            whole = "dataset" if triples is not None else f"{of} split"
            raise DataError(f"{folder}: {name} looks like a part of the {whole}, but is not read; {remedy}")
        notes.append(f"{name} holds triples with labels of the dataset, but is not read; {remedy}")
    return notes


def _separator(name: str, sep: str | None) -> str:
    """Return the separator of the columns of a file, by the same rules as the reader of tables."""
    if sep is not None:
        return {"tab": "\t", "\\t": "\t", "comma": ",", "space": " ", "whitespace": " "}.get(sep, sep)
    return "," if plain_name(name).lower().endswith(".csv") else "\t"


def _sample(path: Path) -> str:
    """Return the first lines of a file, unpacked if necessary, as text; an empty text if the file cannot be read."""
    try:
        with PACKED.get(path.suffix.lower(), open)(path, "rb") as stream:
            sample: bytes = stream.read(SAMPLE_BYTES)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return ""
    text = sample.decode("utf-8-sig", "replace")
    if len(sample) == SAMPLE_BYTES:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text  # the last line may be cut off
    return text


def _known_triples(
    text: str, separator: str, most: int, dataset: Dataset, positions: Sequence[int], may_be_new: bool = False
) -> Ids | None:
    """Return the ids of the triples in a text, shape (n, 3); None if the text does not hold triples of the dataset.

    Unknown labels get the id -1. The text holds triples of the dataset if at least half of its lines have 3 to `most`
    columns, a known relation and, unless `may_be_new`, at least one known entity. If s, p or o is in a column after
    column `most`, lines may have columns up to this later column.
    """
    rows = [line.split(separator) for line in re.split(r"\r\n|\n|\r", text) if line]
    n_columns = max(3, *(position + 1 for position in positions))
    triples = [[row[i] for i in positions] for row in rows if n_columns <= len(row) <= max(most, n_columns)]
    if not triples or 2 * len(triples) < len(rows):
        return None
    if separator != "\t":
        triples = [[label.strip('"<> ') for label in triple] for triple in triples]
    ids = np.column_stack(
        [
            vocabulary.find([triple[i] for triple in triples])
            for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities))
        ]
    )
    is_known = ids >= 0
    is_triple = is_known[:, 1] & (is_known[:, 0] | is_known[:, 2] | may_be_new)
    return ids if 2 * is_triple.sum() >= len(rows) else None


def _is_other_format(path: Path, text: str, dataset: Dataset, positions: Sequence[int]) -> bool:
    """Return whether a file holds, or may hold, triples of the dataset in a format that kgeval does not read."""
    suffix = path.suffix.lower()
    if suffix in CLOSED or (suffix in PACKED and not text):
        return True
    if ".json" in path.name.lower():
        quoted = re.findall(r'"([^"]*)"', text)
        return all((words.find(quoted) >= 0).any() for words in (dataset.entities, dataset.relations))
    return any(
        _known_triples(text, separator, len(text), dataset, positions) is not None
        for separator in ("\t", ",", ";", " ")
    )


def _repeats(triples: Ids, dataset: Dataset) -> bool:
    """Return whether each block of triples starts with a triple of a split.

    A block is a run of triples with the same relation and the same subject, or with the same relation and object.
    """
    known = KnownIndex.of(*query_parts(facts_of(dataset, tuple(dataset.splits)), "object"))
    for kept in ([0, 1], [1, 2]):
        is_first = np.append(True, (triples[1:, kept] != triples[:-1, kept]).any(axis=1))
        (p, s), o = query_parts(triples[is_first], "object")
        if known.contains(p, s, o).all():
            return True
    return False
