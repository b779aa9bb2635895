"""Dataset: two vocabularies, named splits, and what there is to know about them before any scoring."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, check_positive_int, suggest
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.frames import frame_labels
from kgeval.data.row_keys import group_rows
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, ProtocolError

SPLITS = ("train", "valid", "test")


class Dataset:
    """Triples in named splits, over one vocabulary of entities and one of relations.

    Made by `kgeval.read_dataset`, `Dataset.from_frames` or `Dataset.from_arrays`.

    Parameters
    ----------
    entities, relations : Vocabulary
    splits : mapping of str to TripleSet
        Any of ``train``, ``valid``, ``test``. Rows keep their order; duplicates stay and are counted.
    name : str
        Shown in tables; not part of the fingerprint.

    Examples
    --------
    >>> facts = pd.DataFrame([["Jack", "born_in", "Italy"], ["Jack", "friend_with", "Thomas"]])
    >>> dataset = Dataset.from_frames(test=facts)
    >>> dataset.entities.labels
    ('Italy', 'Jack', 'Thomas')
    >>> np.asarray(dataset["test"])
    array([[1, 0, 0],
           [1, 1, 2]])
    """

    def __init__(
        self,
        entities: Vocabulary,
        relations: Vocabulary,
        splits: Mapping[str, TripleSet],
        name: str = "dataset",
    ) -> None:
        for split in splits:
            if split not in SPLITS:
                raise DataError(f"unknown split {split!r}{suggest(split, SPLITS)}; splits are {', '.join(SPLITS)}")
        if not splits:
            raise DataError("a dataset needs at least one split (train, valid or test)")
        self.entities = entities
        self.relations = relations
        self.splits: dict[str, TripleSet] = {split: splits[split] for split in SPLITS if split in splits}
        self.name = name

    @classmethod
    def from_frames(
        cls,
        *,
        train: pd.DataFrame | None = None,
        valid: pd.DataFrame | None = None,
        test: pd.DataFrame | None = None,
        name: str = "dataset",
    ) -> Dataset:
        """Make a dataset from pandas frames of labels.

        Parameters
        ----------
        train, valid, test : pandas.DataFrame, optional
            Columns named ``s, p, o``, ``subject, predicate, object``, ``head, relation, tail`` or
            ``h, r, t`` (in any order, other columns beside them are ignored), or exactly three
            columns taken by position. Integers become their decimal string; floats and missing
            values are refused.

        Raises
        ------
        DataError
            If columns are not recognised, or a value is missing or a float; names frame and row.
        """
        given = {"train": train, "valid": valid, "test": test}
        rows = {split: frame_labels(split, frame) for split, frame in given.items() if frame is not None}
        return cls.from_labels(rows, name=name)

    @classmethod
    def from_labels(cls, columns: Mapping[str, Sequence[pd.Categorical]], name: str = "dataset") -> Dataset:
        """Make a dataset from the three columns of string labels of each split, as categoricals.

        Ids are the places in the sorted labels (by code point) of all splits together.
        """
        if not columns:
            raise DataError("a dataset needs at least one split (train, valid or test)")
        parts = [column for split in columns for column in columns[split]]
        entities = _sorted_vocabulary(parts[0::3] + parts[2::3])
        relations = _sorted_vocabulary(parts[1::3])
        ids = [_ids_of(part, relations if i % 3 == 1 else entities) for i, part in enumerate(parts)]
        splits = {
            split: TripleSet(np.column_stack(ids[3 * i : 3 * i + 3]), len(entities), len(relations), name=split)
            for i, split in enumerate(columns)
        }
        return cls(entities, relations, splits, name=name)

    @classmethod
    def from_arrays(
        cls,
        *,
        train: npt.ArrayLike | None = None,
        valid: npt.ArrayLike | None = None,
        test: npt.ArrayLike | None = None,
        n_entities: int | None = None,
        n_relations: int | None = None,
        entity_labels: Sequence[str] | None = None,
        relation_labels: Sequence[str] | None = None,
        name: str = "dataset",
    ) -> Dataset:
        """Make a dataset from integer arrays, shape (n, 3), columns s, p, o.

        Parameters
        ----------
        train, valid, test : array_like of int, optional
        n_entities, n_relations : int
            How many ids there are; every entity is a candidate, also one that no triple names.
            May be left out where labels are given.
        entity_labels, relation_labels : sequence of str, optional
            Labels in id order; by default the ids as strings.

        Raises
        ------
        DataError
            If an id is outside its range, or an array is not of integers; names split and row.
        """
        entities = _declared_vocabulary("entity", n_entities, entity_labels)
        relations = _declared_vocabulary("relation", n_relations, relation_labels)
        splits = {
            split: TripleSet(array, len(entities), len(relations), name=split)
            for split, array in {"train": train, "valid": valid, "test": test}.items()
            if array is not None
        }
        return cls(entities, relations, splits, name=name)

    def __getitem__(self, split: str) -> TripleSet:
        if split not in self.splits:
            held = ", ".join(self.splits)
            raise ProtocolError(f"dataset {self.name!r} has no split {split!r}; it has {held}{suggest(split, SPLITS)}")
        return self.splits[split]

    def __contains__(self, split: object) -> bool:
        return split in self.splits

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) over labels and triples; the order of lines does not matter.

        Entities that no triple names count too, since they are candidates.
        """
        parts = {split: triples.array for split, triples in sorted(self.splits.items())}
        return fingerprint_triples("kgeval dataset 1", self.entities, self.relations, parts, with_labels=True)

    @cached_property
    def duplicates(self) -> dict[str, int]:
        """For each split, how many rows repeat an earlier row of the same split."""
        return {split: len(t) - (len(group_rows(t.s, t.p, t.o)[1]) - 1) for split, t in self.splits.items()}

    @cached_property
    def overlaps(self) -> dict[tuple[str, str], int]:
        """For each two splits ``(earlier, later)``, how many rows of the later stand in the earlier."""
        names = list(self.splits)
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        return {(a, b): int(self._is_in(self.splits[b], self.splits[a]).sum()) for a, b in pairs}

    @staticmethod
    def _is_in(rows: TripleSet, others: TripleSet) -> npt.NDArray[np.bool_]:
        both = np.concatenate([others.array, rows.array])
        order, starts = group_rows(both[:, 0], both[:, 1], both[:, 2])
        has_other = np.logical_or.reduceat(order < len(others), starts[:-1]) if len(both) else np.zeros(0, bool)
        is_in = np.empty(len(both), dtype=bool)
        is_in[order] = np.repeat(has_other, np.diff(starts))
        return is_in[len(others) :]

    @cached_property
    def is_seen_entity(self) -> npt.NDArray[np.bool_]:
        """Which entities occur in train, shape (entities,); all of them where there is no train."""
        seen = np.full(len(self.entities), "train" not in self.splits)
        if "train" in self.splits:
            seen[self.splits["train"].s] = True
            seen[self.splits["train"].o] = True
        return seen

    @cached_property
    def is_seen_relation(self) -> npt.NDArray[np.bool_]:
        """Which relations occur in train, shape (relations,); all of them where there is no train."""
        seen = np.full(len(self.relations), "train" not in self.splits)
        if "train" in self.splits:
            seen[self.splits["train"].p] = True
        return seen

    def is_seen(self, split: str) -> npt.NDArray[np.bool_]:
        """Which triples of `split` have both entities and the relation in train, shape (n,)."""
        t = self[split]
        return self.is_seen_entity[t.s] & self.is_seen_entity[t.o] & self.is_seen_relation[t.p]

    @cached_property
    def unseen(self) -> dict[str, dict[str, int]]:
        """For each split but train: how many triples, entities and relations train lacks."""
        return {
            split: {
                "triples": int((~self.is_seen(split)).sum()),
                "entities": len(
                    np.unique(np.concatenate([t.s[~self.is_seen_entity[t.s]], t.o[~self.is_seen_entity[t.o]]]))
                ),
                "relations": len(np.unique(t.p[~self.is_seen_relation[t.p]])),
            }
            for split, t in self.splits.items()
            if split != "train"
        }

    @cached_property
    def suspicious_order(self) -> str:
        """A sentence if the columns look like subject, object, relation (as in OpenKE's files), else empty.

        So it looks where most labels of the second column are entities as well.
        """
        if all(label.isdecimal() for label in self.relations.labels):
            return ""  # numbers name entities and relations alike
        n_objects = len(np.unique(np.concatenate([t.o for t in self.splits.values()])))
        n_shared = int((self.entities.find(self.relations.labels) >= 0).sum())
        if len(self.relations) < 3 or 2 * n_shared <= len(self.relations):
            return ""
        return (
            f"the second column has {len(self.relations):,} distinct labels, {n_shared:,} of them entities too, "
            f"and the third {n_objects:,}; are the columns subject, object, relation? "
            "Expected is subject, relation, object"
        )

    @cached_property
    def near_duplicates(self) -> list[tuple[str, str]]:
        """Pairs of entity labels that differ only in Unicode form (NFC) or in spaces around them."""
        first: dict[str, str] = {}
        pairs = []
        for label in self.entities.labels:
            plain = unicodedata.normalize("NFC", label).strip()
            if plain in first:
                pairs.append((first[plain], label))
            first.setdefault(plain, label)
        return pairs

    def observations(self) -> list[str]:
        """Doubtful column order, duplicates, overlaps and unseen labels, one sentence for each that there is."""
        said = [self.suspicious_order] if self.suspicious_order else []
        if self.near_duplicates:
            one, other = self.near_duplicates[0]
            said.append(
                f"{len(self.near_duplicates):,} entity labels differ from another one only in Unicode form or in "
                f"spaces around them, first {one!r} and {other!r}"
            )
        said += [f"{n:,} duplicate rows in {split}" for split, n in self.duplicates.items() if n]
        said += [f"{n:,} rows of {b} also in {a}" for (a, b), n in self.overlaps.items() if n]
        for split, counts in self.unseen.items():
            if counts["triples"]:
                said.append(
                    f"{counts['triples']:,} triples of {split} name {counts['entities']:,} entities and "
                    f"{counts['relations']:,} relations that train lacks"
                )
        return said

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(t):,}" for split, t in self.splits.items())
        head = f"Dataset {self.name}: {len(self.entities):,} entities, {len(self.relations):,} relations; {sizes}"
        return "\n  ".join([head, *self.observations()])


def _sorted_vocabulary(columns: Sequence[pd.Categorical]) -> Vocabulary:
    return Vocabulary(sorted(set().union(*(column.categories.to_numpy(dtype=object).tolist() for column in columns))))


def _ids_of(column: pd.Categorical, vocabulary: Vocabulary) -> Ids:
    ids = vocabulary.find(column.categories.to_numpy(dtype=object))
    return ids[column.codes] if len(ids) else np.zeros(0, dtype=np.int64)


def _declared_vocabulary(kind: str, n: int | None, labels: Sequence[str] | None) -> Vocabulary:
    plural = "entities" if kind == "entity" else "relations"
    if labels is None:
        if n is None:
            raise DataError(
                f"say n_{plural}= (or {kind}_labels=): every declared {kind} counts, also one without triples"
            )
        return Vocabulary(str(i) for i in range(check_positive_int(f"n_{plural}", n, DataError)))
    if n is not None and n != len(labels):
        raise DataError(f"n_{plural} is {n}, but {kind}_labels has {len(labels)} labels")
    return Vocabulary(labels)


def triple_labels(dataset: Dataset, s: int, p: int, o: int) -> tuple[str, str, str]:
    """Return the labels of a triple of ids, for messages."""
    return dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]
