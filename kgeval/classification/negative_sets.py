"""The negatives of triple classification: read from files, sampled, or given as arrays; then checked.

`kgeval.classify` calls `NegativeSets.of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, suggest
from kgeval.data.corruption import draw_negatives
from kgeval.data.dataset import Dataset
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.frames import frame_ids
from kgeval.data.keys import check_key, codes_of, facts_of, fingerprint_part, natural_key
from kgeval.data.known import KnownIndex
from kgeval.data.queries import query_parts
from kgeval.data.triples import SPLITS, TripleSet
from kgeval.errors import DataError, ProtocolError
from kgeval.formats.datasets import read_negatives

PARTS = ("valid", "test")
UNIFORM = "uniform"

Negatives = Mapping[str, npt.ArrayLike | pd.DataFrame] | str | Path


@dataclass(frozen=True)
class NegativeSets:
    """The negatives of the splits valid and test, with their source and cautions.

    Parameters
    ----------
    triples : dict of str to int64 array, shape (n, 3 or more)
        Split (``"valid"``, ``"test"``) -> negatives, with the codes of `columns`; both arrays have at least one row.
    source : str
        ``"uniform"``, ``"given"``, or ``"files in FOLDER"``.
    notes : list of str
        Cautions about the negatives.
    positives : int64 array, shape (negatives of test,), optional
        For each negative of test, the positive from which it was made, as a row number of the test split; None if these
        positives are not known.
    columns : tuple of str
        The further columns of the dataset that the scorer takes.
    """

    triples: dict[str, Ids]
    source: str
    notes: list[str]
    positives: Ids | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        negatives: Any,
        seed: int,
        columns: tuple[str, ...] = (),
        filter_by: Sequence[str] | None = None,
    ) -> NegativeSets:
        """Read or sample the negatives of both splits, and check them.

        Parameters
        ----------
        dataset : Dataset
        negatives : path, mapping or str
            As in `kgeval.classify`.
        seed : int
            Seed of uniform negatives.
        columns : tuple of str
            The further columns that the scorer takes; each negative needs its values in them.
        filter_by : sequence of str, optional
            The filter key of uniform negatives.

        Raises
        ------
        DataError
            If negatives of valid or test are missing, have the wrong form, or contain an unknown entity or relation; or
            if they do not have the columns that the scorer takes.
        ProtocolError
            If the negatives are uniform and the filter key was not chosen though the dataset has times or qualifiers;
            or if a key was chosen for other negatives.
        """
        notes: list[str] = []
        positives: Ids | None = None
        if negatives is None:
            raise DataError(
                "negatives are missing: thresholds are chosen on true and false triples of valid. Pass a folder with "
                "valid_negatives.txt and test_negatives.txt, or negatives='uniform' for random negatives; if each line "
                "of valid and test ends with a label, pass kgeval.read_negatives(folder, dataset, labelled=True)"
            )
        is_uniform = isinstance(negatives, str) and negatives == UNIFORM
        if filter_by is not None and not is_uniform:
            raise ProtocolError(
                "filter_by= chooses which known triples are no uniform negatives; these negatives are given, so leave "
                "it out"
            )
        if is_uniform:
            source = UNIFORM
            samples = {
                part: draw_negatives(dataset, part, 1, "both", seed, distinct="query", filter_by=filter_by)
                for part in PARTS
            }
            by_split = {part: _facts(dataset, part, frame, columns) for part, frame in samples.items()}
            positives = samples["test"]["positive"].to_numpy()
            key, natural = check_key(dataset, filter_by), natural_key(dataset)
            if key or natural:
                which = f"the same {' and '.join(key)}" if key else f"any {' and '.join(natural)}"
                notes.append(f"no uniform negative is a known triple of {which} (filter_by={key})")
            for part in PARTS:
                n = len(dataset[part]) - len(by_split[part])
                reason = "their queries have fewer unknown triples than positives"
                notes += [f"{n:,} positives of {part} have no negative: {reason}"] if n else []
        elif isinstance(negatives, (str, Path)):
            source = f"files in {Path(negatives).resolve().name}"
            by_split = read_negatives(negatives, dataset)
            _check_plain(columns, "files hold triples alone")
        elif isinstance(negatives, Mapping):
            source = "given"
            by_split = {part: _facts(dataset, part, given, columns) for part, given in negatives.items()}
            if "test" in by_split:
                positives = _positives_of(dataset, "test", by_split["test"][:, :3], negatives["test"])
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
        return cls(triples, source, [*notes, *_cautions(dataset, triples, columns)], positives, columns)

    def fingerprint(self, dataset: Dataset) -> str:
        """Return a SHA-256 of the labels of the negatives; the hash depends neither on row order nor on ids."""
        further = [
            fingerprint_part(dataset, name, {part: rows[:, place] for part, rows in self.triples.items()})
            for place, name in enumerate(self.columns, start=3)
        ]
        vocabularies = dataset.entities, dataset.relations
        return fingerprint_triples("kgeval negatives 1", *vocabularies, self.triples, further=further)


def _facts(dataset: Dataset, part: Any, given: Any, columns: tuple[str, ...]) -> Ids:
    """Return the negatives of a split as ids, with the codes of the further columns that the scorer takes.

    A column of this name in a DataFrame holds the values. Otherwise the values are those of the positives, which the
    column ``positive`` of `sample_negatives` names.
    """
    triples = _as_ids(dataset, part, given)
    if not columns or part not in PARTS:
        return triples
    positives, codes = _positives_of(dataset, part, triples, given), []
    for name in columns:
        if isinstance(given, pd.DataFrame) and name in given:
            codes.append(codes_of(dataset, name, given[name].tolist(), f"negatives of {part}"))
        elif positives is not None:
            codes.append(facts_of(dataset, (part,), (name,))[positives, 3])
        else:
            _check_plain((name,), f"the negatives of {part} have no column {name!r}")
    return np.column_stack([triples, *codes])


def _check_plain(columns: tuple[str, ...], why: str) -> None:
    """Raise a DataError if the scorer takes further columns, which these negatives lack."""
    if columns:
        raise DataError(
            f"the scorer takes {' and '.join(columns)}, but {why}. Pass DataFrames of labels with a column "
            f"{columns[0]!r}, or the frames of kgeval.sample_negatives, whose negatives have the {columns[0]} of their "
            "positives, as negatives='uniform' does"
        )


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


def _positives_of(dataset: Dataset, part: str, triples: Ids, given: Any) -> Ids | None:
    """Return the column ``positive`` of a DataFrame from `sample_negatives`, int64 (negatives,), or None.

    The result is None if `given` has no such column, or if the column does not contain the positives of the negatives:
    a negative must have the relation of its positive, and the same subject or the same object.
    """
    if not isinstance(given, pd.DataFrame) or "positive" not in given or given["positive"].dtype.kind not in "iu":
        return None
    rows, positives = given["positive"].to_numpy().astype(np.int64), dataset[part].array
    if (rows < 0).any() or (rows >= len(positives)).any():
        return None
    s, p, o = (triples == positives[rows]).T
    return rows if bool((p & (s | o)).all()) else None


def _cautions(dataset: Dataset, triples: dict[str, Ids], columns: tuple[str, ...]) -> Iterator[str]:
    """Yield cautions about negatives that are known triples or that occur more than once.

    A negative with a time or qualifiers is known if it is known with these.
    """
    key = [name for name in natural_key(dataset) if name in columns]
    places = [0, 1, 2, *(3 + columns.index(name) for name in key)]
    index = KnownIndex.of(*query_parts(facts_of(dataset, tuple(dataset.splits), key), "object"))
    of_the_same = f" of the same {' and '.join(key)}" if key else ""
    for part, rows in triples.items():
        given, asked = query_parts(rows[:, places], "object")
        n_known = int(index.contains(*given, asked).sum())
        n_repeated = int(pd.DataFrame(rows).duplicated().sum())
        of_all = f"of {len(rows):,} negatives of {part}"
        if n_known:
            yield f"{n_known:,} {of_all} are known triples{of_the_same}; they count as false"
        if n_repeated:
            yield f"{n_repeated:,} {of_all} repeat an earlier negative; each counts"
