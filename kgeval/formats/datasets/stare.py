"""Statements with qualifiers: the format of StarE's datasets (WD50K, WikiPeople, JF17K).

Layout. ``train.txt``, ``valid.txt`` and ``test.txt``; each line is ``s,p,o,qp1,qv1,qp2,qv2,...``: a triple, then
qualifiers, each a relation and an entity. Labels contain no comma, and lines may have no qualifier.

The qualifiers are kept (`Dataset.qualifiers`); the order of the qualifiers of a statement has no meaning.

Traps. Without their qualifiers, two statements may become the same triple, and a test triple may then occur in train.
For StarE's published numbers, queries contain the qualifiers; papers differ in whether the filter uses the qualifiers.
Entities that occur only in qualifiers also count as entities of these datasets (the published counts include them), and
StarE ranks these entities too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kgeval.base.checks import counted
from kgeval.base.files import check_no_nul, read_text
from kgeval.data.dataset import Dataset
from kgeval.data.qualifiers import LabelQualifiers
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import check_folder, first_lines, ignored_names, names_in, unread_notes
from kgeval.formats.id_triples import label_columns
from kgeval.formats.registry import Format
from kgeval.formats.split_files import STEMS, assumptions, find_split_files


def sniff(path: Path) -> bool:
    """Return whether all lines look like statements: an odd number of parts between commas, 3 or more, and no tab.

    A line without qualifiers has 3 parts; each qualifier adds 2. Some lines must have more parts than others.
    """
    names = names_in(path)
    files = [path / f"{stem}.txt" for stems in STEMS.values() for stem in stems if f"{stem}.txt" in names]
    lines = [[line for line in first_lines(file) if line] for file in files]
    counts = {line.count(",") for part in lines for line in part}
    has_tab = any("\t" in line for part in lines for line in part)
    return len(counts) > 1 and min(counts) >= 2 and all(n % 2 == 0 for n in counts) and not has_tab and all(lines)


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    options.check_used("stare", ("splits", "ignore"))
    check_folder(folder, ())
    files = find_split_files(folder, options.splits, options.ignore)
    if not files:
        raise DataError(f"{folder}: expected train.txt, valid.txt or test.txt with statements s,p,o,qp1,qv1,...")
    unread = unread_notes(folder, {file.name for paths in files.values() for file in paths}, {}, ignored_names(options))
    rows = {split: [row for file in paths for row in _statements(file)] for split, paths in files.items()}
    everything = [row for part in rows.values() for row in part]
    words = [Vocabulary(sorted({part for row in everything for part in row[i::2]})) for i in (0, 1)]
    splits = {
        split: np.column_stack([words[i % 2].find([row[i] for row in part]) for i in range(3)])
        for split, part in rows.items()
    }
    columns = label_columns(splits, words[0].labels, words[1].labels)
    counts = {
        split: pd.DataFrame({"n_qualifiers": np.array([len(row) // 2 - 1 for row in part], dtype=np.int64)})
        for split, part in rows.items()
    }
    qualifiers = {
        split: LabelQualifiers.of([list(zip(row[3::2], row[4::2])) for row in part]) for split, part in rows.items()
    }
    notes = [*_qualifier_notes(everything), *assumptions(folder, files, options.splits), *unread]
    name = folder.resolve().name
    return Dataset.from_labels(columns, name=name, notes=notes, further_columns=counts, qualifiers=qualifiers)


def _statements(file: Path) -> list[list[str]]:
    """Return the parts of each line of a file."""
    text = read_text(file)
    check_no_nul(file, text.encode())
    lines = text.rstrip("\n").split("\n")
    rows = [line.split(",") for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) < 3 or len(row) % 2 == 0:
            raise DataError(
                f"{file}, line {number}: expected s,p,o and pairs of a relation and an entity (3, 5, 7, ... parts "
                f"between commas); found {len(row) if lines[number - 1] else 0}: {lines[number - 1][:80]!r}"
            )
        if "" in row:
            raise DataError(f"{file}, line {number}: part {row.index('') + 1} is empty: {lines[number - 1][:80]!r}")
    return rows


def _qualifier_notes(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return notes about the qualifiers and about what they distinguish."""
    n_qualified = sum(len(row) > 3 for row in rows)
    statements = {(*row[:3], *sorted(zip(row[3::2], row[4::2]))) for row in rows}
    n_repeats = len(statements) - len({tuple(row[:3]) for row in rows})
    in_triples = [{row[i] for row in rows for i in places} for places in ((0, 2), (1,))]
    in_qualifiers = [{part for row in rows for part in row[start::2]} for start in (4, 3)]
    n_entities, n_relations = (len(inside - main) for main, inside in zip(in_triples, in_qualifiers))
    notes = [
        f"{n_qualified:,} of {counted(len(rows), 'statement')} have qualifiers. Results can be broken down by the "
        "number of qualifiers: result.by('qualifiers'), --by qualifiers"
    ]
    if n_repeats:
        has = "statement differs from another statement only in its qualifiers, so it repeats a triple"
        have = "statements differ from other statements only in their qualifiers, so they repeat a triple"
        notes.append(counted(n_repeats, has, have))
    if n_entities or n_relations:
        notes.append(
            f"{counted(n_entities, 'entity')} and {counted(n_relations, 'relation')} occur in qualifiers only; these "
            "entities are candidates, as in StarE"
        )
    return notes


FORMAT = Format("stare", sniff, read, "StarE (statements s,p,o with qualifiers)")
