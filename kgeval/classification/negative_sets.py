"""The negatives that triple classification is given: read, drawn or handed over, checked and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, suggest
from kgeval.data import (
    SPLITS,
    Dataset,
    KnownIndex,
    TripleSet,
    fingerprint_triples,
    frame_ids,
    group_rows,
    known_triples,
    query_parts,
    sample_negatives,
)
from kgeval.errors import DataError
from kgeval.formats import read_negatives

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
            drawn = {part: sample_negatives(dataset, part, seed=seed, ids=True) for part in PARTS}
            found = {part: frame[["s", "p", "o"]].to_numpy() for part, frame in drawn.items()}
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
        return fingerprint_triples("kgeval negatives 1", dataset.entities, dataset.relations, self.triples)


def _as_ids(dataset: Dataset, part: Any, given: Any) -> Ids:
    """Return negatives as checked ids, shape (n, 3); frames hold labels, or the ids of `sample_negatives`."""
    if part not in SPLITS:
        raise DataError(f"negatives must be those of 'valid' and 'test'; got {part!r}{suggest(str(part), PARTS)}")
    what = f"negatives of {part}"
    if isinstance(given, pd.DataFrame) and "positive" in given and given.dtypes.get("s") == np.int64:
        given = given[["s", "p", "o"]].to_numpy()
    if not isinstance(given, pd.DataFrame):
        return TripleSet(given, len(dataset.entities), len(dataset.relations), what).array
    return frame_ids(what, given, dataset.entities, dataset.relations, dataset.name)


def _doubts(dataset: Dataset, triples: dict[str, Ids]) -> list[str]:
    """Return a sentence for negatives that are known triples, and for those that repeat others."""
    index = KnownIndex.of(*query_parts(known_triples(dataset, tuple(dataset.splits)), "object"))
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
