"""`Dataset`: two vocabularies and the triples of named splits, with checks for faults in the data.

Users and the readers of `kgeval.formats` make datasets; all packages that evaluate read them.
"""

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
    """Triples in named splits, with one vocabulary of entities and one of relations.

    `kgeval.read_dataset`, `Dataset.from_frames` and `Dataset.from_arrays` make a dataset.

    Parameters
    ----------
    entities, relations : Vocabulary
    splits : mapping of str to TripleSet
        At least one of ``train``, ``valid``, ``test``. Rows keep their order, and duplicate rows stay (see
        `duplicates`).
    name : str
        Shown in tables; does not change the fingerprint.

    Raises
    ------
    DataError
        If there is no split, or the name of a split is not train, valid or test.

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
            ``h, r, t``, in any order; all other columns are ignored. If a frame has exactly three columns
            and other names, the columns are read by position: subject, relation, object. Integers become
            their decimal string; floats and missing values raise an error.

        Raises
        ------
        DataError
            If no frame is given, if the columns of a frame are not recognised, or if a value is missing or a float
            (the message names frame and row).
        """
        frames = {"train": train, "valid": valid, "test": test}
        columns = {split: frame_labels(split, frame) for split, frame in frames.items() if frame is not None}
        return cls.from_labels(columns, name=name)

    @classmethod
    def from_labels(cls, columns: Mapping[str, Sequence[pd.Categorical]], name: str = "dataset") -> Dataset:
        """Make a dataset from categorical columns of labels.

        The entity labels of all splits are sorted together, by code point, and so are the relation labels. The id of a
        label is its position.

        Parameters
        ----------
        columns : mapping of str to sequence of three pandas.Categorical of str, shape (n,)
            The subjects, relations and objects of each split. A category becomes a label even if no row has it.
        name : str

        Raises
        ------
        DataError
            If there is no split, or a split has an unknown name.
        """
        if not columns:
            raise DataError("a dataset needs at least one split (train, valid or test)")
        # s, p, o of the first split, then s, p, o of the next split, and so on.
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
        train, valid, test : array_like of int, shape (n, 3), optional
        n_entities, n_relations : int
            Numbers of entities and relations. Every entity is a candidate, even if it occurs in no triple.
            Needed only if the labels are not given.
        entity_labels, relation_labels : sequence of str, optional
            Labels in id order; by default the ids as strings.

        Raises
        ------
        DataError
            If an id is out of range or not an integer (the message names split and row), if no array is given, if
            neither the number nor the labels of the entities (or of the relations) are given, or if the number differs
            from the number of labels.
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
            names = ", ".join(self.splits)
            raise ProtocolError(f"dataset {self.name!r} has no split {split!r}; it has {names}{suggest(split, SPLITS)}")
        return self.splits[split]

    def __contains__(self, split: object) -> bool:
        return split in self.splits

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) of the labels and triples; the order of the rows does not change it.

        The labels include entities that occur in no triple, because these entities are candidates.
        """
        parts = {split: triples.array for split, triples in sorted(self.splits.items())}
        return fingerprint_triples("kgeval dataset 1", self.entities, self.relations, parts, with_labels=True)

    @cached_property
    def duplicates(self) -> dict[str, int]:
        """For each split, how many rows repeat an earlier row of the same split."""
        return {split: len(t) - (len(group_rows(t.s, t.p, t.o)[1]) - 1) for split, t in self.splits.items()}

    @cached_property
    def overlaps(self) -> dict[tuple[str, str], int]:
        """For each pair of splits ``(a, b)``, in the order of `SPLITS`: how many rows of b also occur in a."""
        names = list(self.splits)
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        return {(a, b): int(self._is_in(self.splits[b], self.splits[a]).sum()) for a, b in pairs}

    @staticmethod
    def _is_in(rows: TripleSet, reference: TripleSet) -> npt.NDArray[np.bool_]:
        """Return which of `rows` also occur in `reference`, bool (rows,)."""
        both = np.concatenate([reference.array, rows.array])  # rows below len(reference) come from `reference`
        order, starts = group_rows(both[:, 0], both[:, 1], both[:, 2])
        # in_reference, (groups,): whether each group of equal triples contains a triple of `reference`.
        in_reference = np.logical_or.reduceat(order < len(reference), starts[:-1]) if len(both) else np.zeros(0, bool)
        # is_in, (rows of both,): for each row of `both`, whether an equal row is in `reference`.
        is_in = np.empty(len(both), dtype=bool)
        is_in[order] = np.repeat(in_reference, np.diff(starts))
        return is_in[len(reference) :]

    @cached_property
    def is_seen_entity(self) -> npt.NDArray[np.bool_]:
        """Which entities occur in train, bool (entities,); all True if there is no train split."""
        seen = np.full(len(self.entities), "train" not in self.splits)
        if "train" in self.splits:
            seen[self.splits["train"].s] = True
            seen[self.splits["train"].o] = True
        return seen

    @cached_property
    def is_seen_relation(self) -> npt.NDArray[np.bool_]:
        """Which relations occur in train, bool (relations,); all True if there is no train split."""
        seen = np.full(len(self.relations), "train" not in self.splits)
        if "train" in self.splits:
            seen[self.splits["train"].p] = True
        return seen

    def is_seen(self, split: str) -> npt.NDArray[np.bool_]:
        """Return which triples of `split` have both entities and the relation in train, bool (n,)."""
        t = self[split]
        return self.is_seen_entity[t.s] & self.is_seen_entity[t.o] & self.is_seen_relation[t.p]

    @cached_property
    def unseen(self) -> dict[str, dict[str, int]]:
        """For each split except train: how many of its entities, relations and triples are unseen.

        An entity or relation is unseen if it does not occur in train; a triple is unseen if at least one of its parts
        is unseen. The value for each split is a dict with the keys ``"triples"``, ``"entities"`` and ``"relations"``.
        """
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
        """A warning if the third column seems to hold the relations (as in OpenKE's files), else an empty string.

        The warning is given if the second column has at least 3 distinct labels, not all of them numbers, and more than
        half of them are also labels of entities.
        """
        if all(label.isdecimal() for label in self.relations.labels):
            return ""  # numbers may be ids: the same number can name an entity and a relation
        n_objects = len(np.unique(np.concatenate([t.o for t in self.splits.values()])))
        n_shared = int((self.entities.find(self.relations.labels) >= 0).sum())
        if len(self.relations) < 3 or 2 * n_shared <= len(self.relations):
            return ""
        return (
            f"the second column has {len(self.relations):,} distinct labels ({n_shared:,} of them also name entities), "
            f"the third column has {n_objects:,}; are the columns subject, object, relation? "
            "The expected order is subject, relation, object"
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
        """Return one sentence for each possible fault in the data.

        Possible faults are a suspicious order of the columns, near-duplicate labels, duplicate rows, rows in two
        splits, and unseen entities or relations.
        """
        sentences = [self.suspicious_order] if self.suspicious_order else []
        if self.near_duplicates:
            earlier, later = self.near_duplicates[0]
            sentences.append(
                f"{len(self.near_duplicates):,} entity labels differ from another label only in Unicode form or in "
                f"spaces around them, for example {earlier!r} and {later!r}"
            )
        sentences += [f"{n:,} duplicate rows in {split}" for split, n in self.duplicates.items() if n]
        sentences += [f"{n:,} rows of {b} also in {a}" for (a, b), n in self.overlaps.items() if n]
        for split, counts in self.unseen.items():
            if counts["triples"]:
                sentences.append(
                    f"{counts['triples']:,} triples of {split} contain {counts['entities']:,} entities and "
                    f"{counts['relations']:,} relations that do not occur in train"
                )
        return sentences

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(t):,}" for split, t in self.splits.items())
        head = f"Dataset {self.name}: {len(self.entities):,} entities, {len(self.relations):,} relations; {sizes}"
        return "\n  ".join([head, *self.observations()])


def _sorted_vocabulary(columns: Sequence[pd.Categorical]) -> Vocabulary:
    """Return the vocabulary of all categories of all columns, sorted by code point."""
    return Vocabulary(sorted(set().union(*(column.categories.to_numpy(dtype=object).tolist() for column in columns))))


def _ids_of(column: pd.Categorical, vocabulary: Vocabulary) -> Ids:
    """Return the id of each row's label, int64 (n,)."""
    ids = vocabulary.find(column.categories.to_numpy(dtype=object))  # the id of each category
    return ids[column.codes] if len(ids) else np.zeros(0, dtype=np.int64)


def _declared_vocabulary(kind: str, n: int | None, labels: Sequence[str] | None) -> Vocabulary:
    """Return the vocabulary of the given labels, or of the numbers 0 .. n - 1 as strings."""
    plural = "entities" if kind == "entity" else "relations"
    if labels is None:
        if n is None:
            raise DataError(
                f"set n_{plural}= (or {kind}_labels=): {plural} that occur in no triple belong to the dataset too"
            )
        return Vocabulary(str(i) for i in range(check_positive_int(f"n_{plural}", n, DataError)))
    if n is not None and n != len(labels):
        raise DataError(f"n_{plural} is {n}, but {kind}_labels has {len(labels)} labels")
    return Vocabulary(labels)


def triple_labels(dataset: Dataset, s: int, p: int, o: int) -> tuple[str, str, str]:
    """Return the labels of a triple of ids, for messages.

    Parameters
    ----------
    dataset : Dataset
    s, p, o : int
        Ids of subject, relation and object.

    Returns
    -------
    tuple of three str
    """
    return dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]
