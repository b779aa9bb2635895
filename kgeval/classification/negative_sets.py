"""The negatives of triple classification: read from files, sampled, or given as arrays; then checked.

`kgeval.classify` calls `NegativeSets.of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, suggest
from kgeval.data.corruption import draw_negatives
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.frames import frame_ids
from kgeval.data.known import KnownIndex, known_triples
from kgeval.data.queries import query_parts
from kgeval.data.row_keys import group_rows
from kgeval.data.triples import TripleSet
from kgeval.errors import DataError
from kgeval.formats.datasets import read_negatives

PARTS = ("valid", "test")
UNIFORM = "uniform"

Negatives = Mapping[str, npt.ArrayLike | pd.DataFrame] | str | Path


@dataclass(frozen=True)
class NegativeSets:
    """The negatives of the splits valid and test, with their source and cautions.

    Parameters
    ----------
    triples : dict of str to int64 array, shape (n, 3)
        Split (``"valid"``, ``"test"``) -> negatives; both arrays have at least one row.
    source : str
        ``"uniform"``, ``"given"``, or ``"files in FOLDER"``.
    notes : list of str
        Cautions about the negatives.
    positives : int64 array, shape (negatives of test,), optional
        For each negative of test, the positive from which it was made, as a row number of the test split; None if these
        positives are not known.
    """

    triples: dict[str, Ids]
    source: str
    notes: list[str]
    positives: Ids | None = None

    @classmethod
    def of(cls, dataset: Dataset, negatives: Any, seed: int) -> NegativeSets:
        """Read or sample the negatives of both splits, and check them.

        Parameters
        ----------
        dataset : Dataset
        negatives : path, mapping or str
            As in `kgeval.classify`.
        seed : int
            Seed of uniform negatives.

        Raises
        ------
        DataError
            If negatives of valid or test are missing, have the wrong form, or contain an unknown entity or relation.
        """
        notes: list[str] = []
        positives: Ids | None = None
        if negatives is None:
            raise DataError(
                "negatives are missing: thresholds are chosen on true and false triples of valid. Pass a folder with "
                "valid_negatives.txt and test_negatives.txt, or negatives='uniform' for random negatives; if each line "
                "of valid and test ends with a label, pass kgeval.read_negatives(folder, dataset, labelled=True)"
            )
        if isinstance(negatives, str) and negatives == UNIFORM:
            source = UNIFORM
            samples = {part: draw_negatives(dataset, part, 1, "both", seed, distinct="query") for part in PARTS}
            by_split = {part: frame[["s", "p", "o"]].to_numpy() for part, frame in samples.items()}
            positives = samples["test"]["positive"].to_numpy()
            for part in PARTS:
                n = len(dataset[part]) - len(by_split[part])
                reason = "their queries have fewer unknown triples than positives"
                notes += [f"{n:,} positives of {part} have no negative: {reason}"] if n else []
        elif isinstance(negatives, (str, Path)):
            source = f"files in {Path(negatives).resolve().name}"
            by_split = read_negatives(negatives, dataset)
        elif isinstance(negatives, Mapping):
            source = "given"
            by_split = {part: _as_ids(dataset, part, given) for part, given in negatives.items()}
            if "test" in by_split:
                positives = _positives_of(dataset, by_split["test"], negatives["test"])
        else:
            raise DataError(
                "negatives must be a folder, 'uniform', or a mapping with 'valid' and 'test'; got "
                f"{type(negatives).__name__}"
            )
        for part in PARTS:
            if not len(by_split.get(part, ())):
                raise DataError(
                    f"there are no negatives of {part}: add {part}_negatives.txt to the folder (or, if each line of "
                    f"{part} ends with a label, add triples with the label false), add the key {part!r} to the "
                    "mapping, or use negatives='uniform'; thresholds are chosen on valid and evaluated on test"
                )
        if "train" in by_split:
            notes.append(f"{len(by_split['train']):,} negatives of train are left out: thresholds are chosen on valid")
        triples = {part: by_split[part] for part in PARTS}
        return cls(triples, source, notes + _cautions(dataset, triples), positives)

    def fingerprint(self, dataset: Dataset) -> str:
        """Return a SHA-256 of the labels of the negatives; the hash depends neither on row order nor on ids."""
        return fingerprint_triples("kgeval negatives 1", dataset.entities, dataset.relations, self.triples)


def _as_ids(dataset: Dataset, part: Any, given: Any) -> Ids:
    """Return the negatives of a split as checked ids, int64, shape (n, 3).

    A DataFrame contains labels, except a DataFrame from ``sample_negatives(..., ids=True)``; an array contains ids.
    """
    if part not in SPLITS:
        raise DataError(f"the keys of negatives must be 'valid' and 'test'; got {part!r}{suggest(str(part), PARTS)}")
    title = f"negatives of {part}"
    if isinstance(given, pd.DataFrame) and "positive" in given and given.dtypes.get("s") == np.int64:
        given = given[["s", "p", "o"]].to_numpy()
    if not isinstance(given, pd.DataFrame):
        return TripleSet(given, len(dataset.entities), len(dataset.relations), title).array
    return frame_ids(title, given, dataset.entities, dataset.relations, dataset.name)


def _positives_of(dataset: Dataset, triples: Ids, given: Any) -> Ids | None:
    """Return the column ``positive`` of a DataFrame from `sample_negatives`, int64 (negatives,), or None.

    The result is None if `given` has no such column, or if the column does not contain the positives of the negatives:
    a negative must have the relation of its positive, and the same subject or the same object.
    """
    if not isinstance(given, pd.DataFrame) or "positive" not in given or given["positive"].dtype.kind not in "iu":
        return None
    rows, positives = given["positive"].to_numpy().astype(np.int64), dataset["test"].array
    if (rows < 0).any() or (rows >= len(positives)).any():
        return None
    s, p, o = (triples == positives[rows]).T
    return rows if bool((p & (s | o)).all()) else None


def _cautions(dataset: Dataset, triples: dict[str, Ids]) -> list[str]:
    """Return cautions about negatives that are known triples or that occur more than once."""
    index = KnownIndex.of(*query_parts(known_triples(dataset, tuple(dataset.splits)), "object"))
    texts = []
    for part, rows in triples.items():
        s, p, o = rows.T
        n_known = int(index.contains(p, s, o).sum())
        # The second array of `group_rows` has one element per distinct triple, and one more at the end.
        n_repeated = len(rows) - (len(group_rows(s, p, o)[1]) - 1)
        if n_known:
            texts.append(f"{n_known:,} of {len(rows):,} negatives of {part} are known triples; they count as false")
        if n_repeated:
            texts.append(f"{n_repeated:,} of {len(rows):,} negatives of {part} repeat an earlier negative; each counts")
    return texts
