"""Files of other tools that kgeval refuses by their names, because they are no dataset or not of a supported kind.

The error says what to do instead. Refused are:

few-shot tasks (NELL-One, Wiki-One: ``train_tasks.json``, ``dev_tasks.json``, ``test_tasks.json``, ``e1rel_e2.json``),
lists of candidates by relation (``*_typecons.json``, ``rel2candidates.json``), predictions of SimKGC
(``forward_*.json``, ``backward_*.json``), and models. A folder that also contains triples is read as a dataset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kgeval.base.checks import listed
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.folders import check_folder, names_in
from kgeval.formats.registry import Format

TASKS = r"(train|dev|valid|test)_tasks\.json|e1rel_e2\.json"
CANDIDATES = r".*typecons\w*\.json|rel2candidates.*\.json"
# For each kind of refused files: a regular expression for their names, and the message about them.
KINDS = (
    (
        TASKS,
        "holds few-shot tasks ({relation: [triples]}), which kgeval does not read. Write the background graph and the "
        "support triples of each task as train.txt and the query triples as test.txt (head TAB relation TAB tail). "
        "Published few-shot numbers rank each query among the candidates of its relation: "
        "kgeval.read_candidates(rel2candidates.json), --candidates",
    ),
    (
        CANDIDATES,
        "holds lists of candidates for each relation, not triples. Give the folder of the triples as the dataset; and "
        "this file as the candidates (kgeval.read_candidates, --candidates)",
    ),
    (
        r".*(forward|backward).*\.json",
        "holds predictions of SimKGC (the best answers to each query, by name), not triples. Give the folder of the "
        "triples as the dataset, and this as the predictions (kgeval.read_predictions, --predictions)",
    ),
    (
        r"trained_model\.pkl|entity_embedding\.npy|.*_entity\.npy|.*\.(ckpt|safetensors|npz|pth?|h5)|embeddings\.bin",
        "belongs to a model, not to a dataset. Give it as the model (kgeval.load_model, --model), and the folder of "
        "its triples as the dataset",
    ),
)
# Files of triples in the other formats.
TRIPLES = re.compile(
    r".*2id\.txt|.*\.del|.*\.(nt|ttl|nq|trig|rdf|owl|jsonld|n3)(\.\w+)?|split|msg\.txt|(inference|inf_).*\.txt|.*_ind\.txt"
)


def companion_notes(folder: Path, ignore: Sequence[str] = ()) -> list[str]:
    """Return notes about lists of candidates and few-shot tasks in the folder of a dataset; these files are not read.

    Parameters
    ----------
    folder : Path
    ignore : sequence of str
        Names that the caller leaves out.
    """
    left = sorted(names_in(folder) - ({ignore} if isinstance(ignore, str) else set(ignore)))
    kinds = (
        (TASKS, "few-shot tasks"),
        (CANDIDATES, "lists of candidates for each relation: --candidates FILE ranks among them"),
    )
    found = [([name for name in left if re.fullmatch(pattern, name)], what) for pattern, what in kinds]
    return [f"not read: {listed(names)} ({what})" for names, what in found if names]


def _refused(path: Path) -> tuple[str, str] | None:
    """Return the name of a file that is refused, and the message about this file; None if no file is refused."""
    if path.is_dir():
        names = sorted(names_in(path))
        if tab_folder.FORMAT.sniff(path) or any(TRIPLES.fullmatch(name) for name in names):
            return None
    else:
        names = [path.name] if path.is_file() else []
    for pattern, message in KINDS:
        for name in names:
            if re.fullmatch(pattern, name):
                return name, message
    return None


def sniff(path: Path) -> bool:
    """Return whether a file, or a folder for one of its files, is refused by name."""
    try:
        return _refused(path) is not None
    except (OSError, ValueError):
        return False


def read(path: Path, options: DatasetOptions) -> Dataset:
    """Raise a DataError that explains the kind of the files, and what to do with them."""
    refused = _refused(path)
    if refused is not None:
        raise DataError(f"{path}: {refused[0]} {refused[1]}" if path.is_dir() else f"{path}: {refused[1]}")
    if not path.is_file():
        check_folder(path, ())
    raise DataError(f"{path}: is none of the files that kgeval refuses by name; leave format= (--dataset-format) out")


FORMAT = Format("foreign", sniff, read, "files that are no dataset")
