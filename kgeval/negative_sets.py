"""The negatives that triple classification is given: read, drawn or handed over, checked and counted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, suggest
from kgeval.corruption import KnownIndex, known_triples, sample_negatives
from kgeval.dataset import SPLITS, Dataset, as_labels, frame_columns
from kgeval.errors import DataError
from kgeval.io.triple_files import read_negatives
from kgeval.triples import TripleSet, group_rows

PARTS = ("valid", "test")
UNIFORM = "uniform"

Negatives = Mapping[str, npt.ArrayLike | pd.DataFrame] | str | Path


@dataclass(frozen=True)
class NegativeSets:
    """Negatives of valid and of test, where they come from, and what must be said of them.

    Parameters
    ----------
    triples : dict of str to int64 array, shape (n, 3)
        Under ``"valid"`` and ``"test"``; neither is empty.
    source : str
        ``"uniform"``, ``"given"``, or the folder they were read from.
    notes : list of str
    """

    triples: dict[str, Ids]
    source: str
    notes: list[str]

    @classmethod
    def of(cls, dataset: Dataset, negatives: Any, seed: int) -> NegativeSets:
        """Return the sets that `negatives` means; see `kgeval.classify`."""
        notes: list[str] = []
        if isinstance(negatives, str) and negatives == UNIFORM:
            source = UNIFORM
            found = {part: sample_negatives(dataset, part, seed=seed) for part in PARTS}
            short = {part: len(dataset[part]) - len(found[part]) for part in PARTS}
            notes += [f"{part} has {n:,} negatives less: no unknown entity was left" for part, n in short.items() if n]
        elif isinstance(negatives, (str, Path)):
            source = f"files in {Path(negatives).resolve().name}"
            found = read_negatives(negatives, dataset)
        elif isinstance(negatives, Mapping):
            source = "given"
            found = {part: _as_ids(dataset, part, given) for part, given in negatives.items()}
        else:
            raise DataError(
                "negatives must be a folder, 'uniform', or a mapping with 'valid' and 'test'; got "
                f"{type(negatives).__name__}"
            )
        for part in PARTS:
            if not len(found.get(part, ())):
                raise DataError(
                    f"there are no negatives of {part}: add {part}_negatives.txt to the folder, or the key {part!r} "
                    "to the mapping, or say negatives='uniform'; thresholds are chosen on valid and judged on test"
                )
        if "train" in found:
            notes.append(f"{len(found['train']):,} negatives of train are left out: thresholds are chosen on valid")
        triples = {part: found[part] for part in PARTS}
        return cls(triples, source, notes + _doubts(dataset, triples))

    def about(self, dataset: Dataset, source: str | None) -> dict[str, Any]:
        """Return what a result tells of them: source (another one, if given) and SHA-256."""
        return {"negatives": source or self.source, "negatives_sha256": self.fingerprint(dataset)}

    def fingerprint(self, dataset: Dataset) -> str:
        """Return the SHA-256 of the sets, which like the dataset's does not depend on order or ids."""
        digest = hashlib.sha256(b"kgeval negatives 1\n")
        places = []
        for vocabulary in (dataset.entities, dataset.relations):
            order = sorted(range(len(vocabulary)), key=vocabulary.labels.__getitem__)
            places.append(np.argsort(np.array(order, dtype=np.int64), kind="stable"))
        for part, triples in self.triples.items():
            s, p, o = places[0][triples[:, 0]], places[1][triples[:, 1]], places[0][triples[:, 2]]
            digest.update(f"\n{part} {len(triples)}\n".encode())
            digest.update(np.column_stack([s, p, o])[np.lexsort((o, p, s))].astype("<i8").tobytes())
        return digest.hexdigest()


def _as_ids(dataset: Dataset, part: Any, given: Any) -> Ids:
    """Return negatives as checked ids, shape (n, 3); frames hold labels."""
    if part not in SPLITS:
        raise DataError(f"negatives must be those of 'valid' and 'test'; got {part!r}{suggest(str(part), PARTS)}")
    what = f"negatives of {part}"
    if not isinstance(given, pd.DataFrame):
        return TripleSet(given, len(dataset.entities), len(dataset.relations), what).array
    places = frame_columns(what, given)
    columns = []
    for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities)):
        column = as_labels(what, given.iloc[:, places[i]].to_numpy(dtype=object), i)
        ids = vocabulary.find(np.asarray(column, dtype=object))
        if (ids < 0).any():
            row = int(np.argmax(ids < 0))
            raise DataError(
                f"{what}, row {row}, column {i}: {column[row]!r} does not occur in dataset {dataset.name!r}"
            )
        columns.append(ids)
    return np.column_stack(columns)


def _doubts(dataset: Dataset, triples: dict[str, Ids]) -> list[str]:
    """Return a sentence for negatives that are known triples, and for those that repeat others."""
    index = KnownIndex.of(known_triples(dataset, tuple(dataset.splits)), "object")
    said = []
    for part, rows in triples.items():
        s, p, o = rows.T
        n_known = int(index.contains(p, s, o).sum())
        n_repeated = len(rows) - (len(group_rows(s, p, o)[1]) - 1)
        if n_known:
            said.append(f"{n_known:,} of {len(rows):,} negatives of {part} are known triples; they count as false")
        if n_repeated:
            said.append(f"{n_repeated:,} of {len(rows):,} negatives of {part} repeat others; each counts")
    return said
