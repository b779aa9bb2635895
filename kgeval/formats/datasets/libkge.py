"""LibKGE's folders: ``entity_ids.del``, ``relation_ids.del``, and triples of ids in ``train.del`` and so on.

Layout. All files are tab-separated. The dictionaries hold ``id TAB label``; ``train.del``, ``valid.del`` and
``test.del`` hold ids in the order subject, relation, object. ``dataset.yaml`` names the files.

Traps. LibKGE's script also writes parts of splits: ``train_sample.del``, ``valid_without_unseen.del`` and
``test_without_unseen.del``. A test split without the triples of unseen entities is easier than the whole test split, so
results on these two splits cannot be compared. If ``dataset.yaml`` names such a file as a split, an error asks which
file to read.
"""

from __future__ import annotations

import re
from pathlib import Path

from kgeval.base.files import read_text
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import read_ids
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import AS_TABLES, check_folder, given_splits, names_in
from kgeval.formats.id_triples import OTHER_FILE_NAMED, read_id_folder
from kgeval.formats.registry import Format

DICTIONARIES = ("entity_ids.del", "relation_ids.del")
SPLIT_NAMES = {"train": "train.del", "valid": "valid.del", "test": "test.del"}
UNREAD = {
    r"(train|valid|test)\.del": OTHER_FILE_NAMED,
    r"(entity|relation)_strings\.del": "texts of entities and relations",
    r"train_sample\.del|(valid|test)_without_unseen\.del": "parts of the splits; splits={'test': FILE}, --split-files "
    "test=FILE reads one of them",
    r"(train|valid|test|dev|val)\.(txt|tsv)": f"triples of labels; {AS_TABLES} reads them",
}
# A line of dataset.yaml that names the file of a split or of a dictionary.
FILE_NAME = re.compile(
    r"^[ \t]+files\.(train|valid|test|entity_ids|relation_ids)\.filename[ \t]*:[ \t]*['\"]?([^'\"#\n]+?)['\"]?[ \t]*$",
    re.MULTILINE,
)


def sniff(path: Path) -> bool:
    """Return whether a folder contains both dictionaries and triples of ids."""
    names = names_in(path)
    return set(DICTIONARIES) <= names and any(name.endswith(".del") for name in names - set(DICTIONARIES))


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    options.check_used("libkge", ("columns", "splits", "ignore"))
    check_folder(folder, DICTIONARIES)
    _check_configuration(folder, options)
    return read_id_folder(folder, options, "LibKGE", "hrt", DICTIONARIES, SPLIT_NAMES, UNREAD, read_ids)


def _check_configuration(folder: Path, options: DatasetOptions) -> None:
    """Raise a DataError if ``dataset.yaml`` names other files than those that are read."""
    file = folder / "dataset.yaml"
    if not file.is_file():
        return
    given = given_splits(options)
    expected = SPLIT_NAMES | {"entity_ids": DICTIONARIES[0], "relation_ids": DICTIONARIES[1]}
    for key, name in FILE_NAME.findall(read_text(file)):
        if key in given or name == expected[key]:
            continue
        if key not in SPLIT_NAMES:
            raise DataError(f"{file}: names {name} as {key}, but kgeval reads {expected[key]}; rename the right file")
        raise DataError(
            f"{file}: names {name} as the {key} split, but kgeval would read {expected[key]}; say which to read: "
            f"splits={{{key!r}: {name!r}}} (--split-files {key}={name})"
        )


FORMAT = Format("libkge", sniff, read, "LibKGE (.del files of ids)")
