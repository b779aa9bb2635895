"""`Dataset`: two vocabularies and the triples of named splits, with checks for faults in the data.

`kgeval.formats` makes datasets from files, and users make datasets from frames or arrays. Evaluation, classification
and most other packages take a `Dataset` as an argument.
"""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, check_positive_int, counted, cut_label, names_unknown_arguments, suggest
from kgeval.data.facts import Facts
from kgeval.data.fingerprints import FurtherPart, fingerprint_triples
from kgeval.data.frames import (
    as_frame,
    check_integers,
    frame_columns,
    frame_labels,
    frame_qualifiers,
    further_columns,
    further_notes,
    has_names,
)
from kgeval.data.further_values import TEXT, ColumnValues
from kgeval.data.keys import facts_of, fingerprint_part, further_column, natural_key
from kgeval.data.labels import BLOCK, Labels, TextLabels
from kgeval.data.library_objects import library_triples, pieces_of
from kgeval.data.qualifiers import QUALIFIERS, LabelQualifiers, Qualifiers, check_qualifiers, refuse_column
from kgeval.data.repeats import Repeats, find_repeats
from kgeval.data.row_keys import group_rows
from kgeval.data.splitting import split_rows, split_sizes
from kgeval.data.triples import ONE_FILE, SPLITS, TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError

MIN_NUMBERS = 8  # columns that share fewer numbers may do so by chance; see `Dataset.suspicious_order`


class Dataset(Facts):
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
    notes : sequence of str
        Notes about what was assumed or left out when the data were read. `observations` starts with these notes.
    columns : mapping of str to pandas.DataFrame, optional
        Further columns of some or all splits, such as ``time`` or ``weight``. Row i belongs to triple i of the split.
        Results can be broken down by them; a column named time, timestamp, date, year or t is the `time_column`.
    qualifiers : mapping of str to Qualifiers, optional
        The qualifiers of the triples of some or all splits.
    dictionaries : mapping of str to sequence of str, optional
        Only for a dataset whose files contain ids: the labels in the order of these ids, under the keys ``"entities"``
        and ``"relations"``. Some checkpoints do not name their rows; if such a checkpoint comes from the same tool,
        `kgeval.load_model` takes the names of its rows from `dictionaries`. In `entities` and `relations`, the labels
        may have other ids.
    id_format : str
        The file format from which the `dictionaries` come, such as ``"openke"``. The dictionaries are used only for
        checkpoints of the tool with this file format; if `id_format` is empty, for checkpoints of any tool.

    Raises
    ------
    DataError
        If there is no split, the name of a split is not train, valid or test, or a frame in `columns` does not have as
        many rows as its split.

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
        notes: Sequence[str] = (),
        columns: Mapping[str, pd.DataFrame] | None = None,
        dictionaries: Mapping[str, Sequence[str]] | None = None,
        id_format: str = "",
        qualifiers: Mapping[str, Qualifiers] | None = None,
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
        self.notes = tuple(notes)
        self.columns = dict(columns or {})
        self.dictionaries: dict[str, Sequence[str]] = {
            kind: labels if isinstance(labels, Labels) else tuple(labels)
            for kind, labels in (dictionaries or {}).items()
        }
        self.id_format = id_format
        for split, frame in self.columns.items():
            if len(frame) != len(self[split]):
                raise DataError(
                    f"columns of {split}: expected {len(self[split])} rows, one per triple; got {len(frame)}"
                )
            if QUALIFIERS in frame:
                refuse_column(split, next(iter(frame[QUALIFIERS].dropna()), None))
        sizes = len(entities), len(relations)
        self.qualifiers: dict[str, Qualifiers] = {
            split: check_qualifiers(split, value, len(self[split]), *sizes)
            for split, value in (qualifiers or {}).items()
        }
        self._column_values: dict[str, ColumnValues] = {}

    @classmethod
    @names_unknown_arguments()
    def from_frames(
        cls,
        *,
        train: Any = None,
        valid: Any = None,
        test: Any = None,
        columns: str | Sequence[str] | None = None,
        name: str = "dataset",
    ) -> Dataset:
        """Make a dataset from tables of labels: frames of pandas, Arrow or Polars, arrays of str, lists of tuples.

        Parameters
        ----------
        train, valid, test : pandas.DataFrame, pyarrow.Table or other table, array of str, or list of tuples, optional
            Tables have columns named ``s, p, o``, ``subject, predicate, object``, ``head, relation, tail`` or
            ``h, r, t``, in any order; other columns are kept in `columns` of the dataset, for breakdowns of results.
            Three columns without names (0, 1, 2), arrays of shape (n, 3) and tuples are subject, relation, object. An
            integer becomes its decimal string, for example 7 becomes the label "7". If the label "7" then does not get
            the id 7, an error is raised, because the user may have meant an id. Floats, missing values and blank labels
            raise an error too.
        columns : str or sequence of str, optional
            Needed if the names do not show the contents of the columns. Either the order of all columns: ``"hrt"``
            (head, relation, tail), ``"htr"`` or another order of these letters, and with further columns
            ``"h,r,t,time"``. Or the names of the columns of subject, relation and object, in this order: ``["source",
            "rel", "target"]``.

        Raises
        ------
        DataError
            If no table is given, if the columns of a table are not recognised, if they have no names and seem to be in
            another order, if a further column marks triples as false or as triples of another split, if a value is
            missing, blank or a float, or if an integer may be a label or an id (see above; the message names table and
            row).
        MissingExtra
            If a table has only the Arrow interface, and pyarrow is not installed.

        Examples
        --------
        >>> Dataset.from_frames(train=[("Jack", "born_in", "Italy"), ("Jack", "likes", "Rome")])
        Dataset dataset: 3 entities, 2 relations; train 2
        """
        frames = {"train": train, "valid": valid, "test": test}
        given = {split: as_frame(split, frame) for split, frame in frames.items() if frame is not None}
        labels = {split: frame_labels(split, frame, columns) for split, frame in given.items()}
        qualifiers = {split: frame_qualifiers(split, frame, columns) for split, frame in given.items()}
        parts = {split: further_columns(split, frame, columns) for split, frame in given.items()}
        frames = {split: kept.drop(columns=QUALIFIERS, errors="ignore") for split, (kept, _) in parts.items()}
        further = {split: kept for split, kept in frames.items() if len(kept.columns)}
        notes = further_notes(further)
        ignored = dict.fromkeys(name for _, names in parts.values() for name in names)
        notes += [f"columns ignored: {', '.join(ignored)}"] if ignored else []
        of_split = {split: value for split, value in qualifiers.items() if value is not None}
        dataset = cls.from_labels(labels, name=name, notes=notes, further_columns=further, qualifiers=of_split)
        if columns is None and dataset.suspicious_order and not any(has_names(frame) for frame in given.values()):
            raise DataError(f"{', '.join(given)}: {dataset.suspicious_order}")
        for split, frame in given.items():
            positions = frame_columns(split, frame, columns)
            vocabularies = (dataset.entities, dataset.relations, dataset.entities)
            for_ids = "use Dataset.from_arrays with n_entities= and n_relations="
            check_integers(f"{split} frame", frame, positions, vocabularies, for_ids)
        return dataset

    @classmethod
    @names_unknown_arguments()
    def of(
        cls,
        x: Any,
        *,
        split: str | None = None,
        n_entities: int | Mapping[str, int] | None = None,
        n_relations: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a dataset from an object of another library; the ids of the dataset are those of the library.

        Parameters
        ----------
        x : object
            A PyKEEN `Dataset` or `TriplesFactory`; a TorchKGE `KnowledgeGraph`, or a tuple of them (train, test or
            train, valid, test, as `split_kg` returns them); a LibKGE `Dataset`; an OGB dataset (ogbl-biokg,
            ogbl-wikikg2) or the dict of its ``get_edge_split()``; a table of labels, as `from_frames` takes it. Or a
            dict from ``"train"``, ``"valid"`` and ``"test"`` to objects that hold one split, or to None. The first
            split with ids gives the ids; other splits are mapped by label. A `Dataset` is returned unchanged.
        split : str, optional
            The split of the triples, if `x` holds one split.
        n_entities, n_relations : int, optional
            The numbers of entities and relations. Needed for OGB's dicts, which do not contain them:
            ``n_entities=dataset.graph["num_nodes"]``, or ``dataset.graph["num_nodes_dict"]`` if the entities have
            types.
        name : str, optional
            By default the name that `x` has, or ``"dataset"``.

        Returns
        -------
        Dataset
            The labels of the library get the first ids, in the order of the library's own ids; these labels are also
            the `dictionaries`. `id_format` is ``"pykeen"``, ``"torchkge"``, ``"libkge"`` or ``"ogb"``. Labels that
            occur only in splits mapped by label get the next ids. Rows keep their order. Inverse triples that PyKEEN
            adds for training are left out. Notes tell what was assumed.

        Raises
        ------
        DataError
            If `x` is a path or of an unknown type, if its splits or labels are unknown, if the library's ids are not
            0 .. n - 1 with one label each, or if an id is not an integer or is out of range.

        Examples
        --------
        >>> class Factory:
        ...     entity_to_id, relation_to_id = {"Rome": 0, "Jack": 1}, {"likes": 0}
        ...     mapped_triples, num_entities = np.array([[1, 0, 0]]), 2
        >>> dataset = Dataset.of({"train": Factory(), "test": [("Ann", "likes", "Rome")]})
        >>> dataset.entities.labels, dataset["test"].array.tolist()
        (('Rome', 'Jack', 'Ann'), [[2, 0, 0]])
        """
        if isinstance(x, Dataset):
            if (split, n_entities, n_relations, name) != (None, None, None, None):
                raise DataError(
                    "x is already a kgeval.Dataset; split=, n_entities=, n_relations= and name= are only for objects "
                    "of other libraries"
                )
            return x
        pieces = pieces_of(x, SPLITS, split)
        found = library_triples(x, pieces, n_entities, n_relations)
        if found is None:
            return cls.from_frames(**pieces, name=name or "dataset")
        n = len(found.entities), len(found.relations)
        return cls(
            found.entities,
            found.relations,
            {part: TripleSet(triples, *n, name=part) for part, triples in found.triples.items()},
            name=name or found.name,
            notes=found.notes,
            columns=found.columns,
            dictionaries={"entities": found.labels.entities, "relations": found.labels.relations},
            id_format=found.labels.library,
        )

    @classmethod
    def from_labels(
        cls,
        columns: Mapping[str, Sequence[pd.Categorical]],
        name: str = "dataset",
        notes: Sequence[str] = (),
        further_columns: Mapping[str, pd.DataFrame] | None = None,
        dictionaries: Mapping[str, Sequence[str]] | None = None,
        qualifiers: Mapping[str, LabelQualifiers] | None = None,
    ) -> Dataset:
        """Make a dataset from categorical columns of labels.

        The entity labels of all splits are sorted together, by code point, and so are the relation labels. The id of a
        label is its position.

        Parameters
        ----------
        columns : mapping of str to sequence of three pandas.Categorical of str, shape (n,)
            The subjects, relations and objects of each split. A category becomes a label even if no row has it.
        name : str
        notes : sequence of str
            See `Dataset`.
        further_columns : mapping of str to pandas.DataFrame, optional
            The `columns` of `Dataset`.
        dictionaries : mapping of str to sequence of str, optional
            See `Dataset`. Each label becomes a label of the dataset, even if no triple has it.
        qualifiers : mapping of str to LabelQualifiers, optional
            The qualifiers of some or all splits; their labels become labels of the dataset too.

        Raises
        ------
        DataError
            If there is no split, or a split has an unknown name.
        """
        if not columns:
            raise DataError("a dataset needs at least one split (train, valid or test)")
        # s, p, o of the first split, then s, p, o of the next split, and so on.
        parts = [column for split in columns for column in columns[split]]
        given, extra = dictionaries or {}, list((qualifiers or {}).values())
        ends = parts[0::3] + parts[2::3] + [of.entities for of in extra]
        entities = _sorted_vocabulary(ends, given.get("entities", ()))
        relations = _sorted_vocabulary(parts[1::3] + [of.relations for of in extra], given.get("relations", ()))
        ids = [_ids_of(part, relations if i % 3 == 1 else entities) for i, part in enumerate(parts)]
        splits = {
            split: TripleSet(np.column_stack(ids[3 * i : 3 * i + 3]), len(entities), len(relations), name=split)
            for i, split in enumerate(columns)
        }
        with_ids = {
            split: Qualifiers(_ids_of(of.relations, relations), _ids_of(of.entities, entities), of.offsets)
            for split, of in (qualifiers or {}).items()
        }
        return cls(
            entities,
            relations,
            splits,
            name=name,
            notes=notes,
            columns=further_columns,
            dictionaries=dictionaries,
            qualifiers=with_ids,
        )

    @classmethod
    @names_unknown_arguments()
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
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        name: str = "dataset",
    ) -> Dataset:
        """Make a dataset from integer arrays, shape (n, 3), columns s, p, o.

        Parameters
        ----------
        train, valid, test : array_like of int, shape (n, 3), optional
            Masked arrays raise an error; the columns of a DataFrame are found by their names, as in `from_frames`.
        n_entities, n_relations : int
            Numbers of entities and relations. Every entity is a candidate, even if it occurs in no triple.
            Needed only if the labels are not given.
        entity_labels, relation_labels : sequence of str, optional
            Labels in id order; by default the ids as strings.
        columns : mapping of str to mapping of str to array_like, optional
            Further columns of some or all splits, with one value for each triple: ``{"test": {"time": [2014, 2015]}}``.
            A column named ``"qualifiers"`` holds `Qualifiers`, or for each triple a list of pairs (relation, entity).

        Raises
        ------
        DataError
            If an id is out of range or not an integer (the message names split and row), if an array is masked, if no
            array is given, if neither the number nor the labels of the entities (or of the relations) are given, or if
            the number differs from the number of labels, or if a column does not fit its split.

        Examples
        --------
        >>> facts = {"train": [[0, 0, 1]], "test": [[1, 0, 0], [1, 0, 1]]}
        >>> columns = {"train": {"time": [7]}, "test": {"time": [10, 9], "qualifiers": [[(0, 1)], []]}}
        >>> dataset = Dataset.from_arrays(**facts, n_entities=2, n_relations=1, columns=columns)
        >>> dataset.time_column, dataset.column("test", "time"), dataset.column("test", "qualifiers")[0]
        ('time', array([10,  9]), [(0, 1)])
        """
        entities = _declared_vocabulary("entity", n_entities, entity_labels)
        relations = _declared_vocabulary("relation", n_relations, relation_labels)
        splits = {
            split: _checked_triples(split, array, entities, relations)
            for split, array in {"train": train, "valid": valid, "test": test}.items()
            if array is not None
        }
        frames, qualifiers = _given_columns(columns or {}, splits)
        return cls(entities, relations, splits, name=name, columns=frames, qualifiers=qualifiers)

    def with_notes(self, notes: Sequence[str], at_start: bool = False) -> Dataset:
        """Return a copy of the dataset with further notes.

        Parameters
        ----------
        notes : sequence of str
        at_start : bool
            Whether the new notes come before the existing notes.
        """
        noted = copy.copy(self)
        noted.notes = (*notes, *self.notes) if at_start else (*self.notes, *notes)
        return noted

    @names_unknown_arguments(seed="split_seed=")
    def split(self, fractions: Mapping[str, float], *, split_seed: int = 0, inverse_free: bool = False) -> Dataset:
        """Divide a dataset of one split into train, valid and test, at random.

        Each entity and each relation of the dataset's triples occurs in train. All copies of a triple are in one split.
        The same triples and the same seed give the same splits on every machine; the order of the rows does not matter.

        Parameters
        ----------
        fractions : mapping of str to float
            The share of each split in the distinct triples: ``{"train": 0.8, "valid": 0.1, "test": 0.1}``. The shares
            sum to 1; the sizes are exact, by the method of the largest remainder.
        split_seed : int
            Seed of the random numbers (the 64-bit output of numpy's PCG64).
        inverse_free : bool
            If True, and if (s, p, o) is in valid or test, train contains no triple (o, q, s), for any relation q: all
            triples of two entities that are linked in both directions stay in one split. Valid and test may then have
            fewer triples than their shares; a note says how many.

        Returns
        -------
        Dataset
            With the same vocabularies. A note records fractions and seed.

        Raises
        ------
        DataError
            If the dataset has several splits, if the fractions or the seed are not valid, or if valid and test cannot
            get their shares because too many triples must stay in train: a triple must stay if its subject, its
            relation or its object occurs in no other triple of train.

        Examples
        --------
        >>> ring = Dataset.from_arrays(
        ...     train=[[i, 0, (i + step) % 10] for i in range(10) for step in (1, 2)], n_entities=10, n_relations=1
        ... )
        >>> parts = ring.split({"train": 0.8, "valid": 0.1, "test": 0.1}, split_seed=3)
        >>> {name: len(triples) for name, triples in parts.splits.items()}, parts.unseen["test"]["triples"]
        ({'train': 16, 'valid': 2, 'test': 2}, 0)
        """
        if len(self.splits) != 1:
            raise DataError(
                f"dataset {self.name!r} already has the splits {', '.join(self.splits)}; split() divides one split"
            )
        ((old, triples),) = self.splits.items()
        n_distinct = len(group_rows(*triples.array.T)[1]) - 1
        sizes = split_sizes(n_distinct, fractions, SPLITS)
        places = [vocabulary.labels.text_places for vocabulary in (self.entities, self.relations)]
        in_order = np.column_stack([places[i][triples.array[:, j]] for j, i in enumerate((0, 1, 0))])
        rows, n_short = split_rows(in_order, sizes, split_seed, inverse_free)
        shares = ", ".join(f"{name} {fractions[name]:g}" for name in sizes)
        notes = [note for note in self.notes if note != ONE_FILE]
        notes.append(
            f"split at random into {shares} of {sum(sizes.values()):,} distinct triples, seed {split_seed}"
            + ("; no inverse of a triple of valid or test is in train" if inverse_free else "")
            + ". A model that was not trained on this train split may have been trained on triples of this test split"
        )
        if n_short:
            notes.append(
                f"valid and test have {counted(n_short, 'triple')} fewer than these shares, since triples and their "
                "inverses stay in one split"
            )
        splits = {
            name: TripleSet(triples.array[part], len(self.entities), len(self.relations), name=name)
            for name, part in rows.items()
        }
        frame = self.columns.get(old)
        columns = (
            {} if frame is None else {name: frame.iloc[part].reset_index(drop=True) for name, part in rows.items()}
        )
        of = self.qualifiers.get(old)
        qualifiers = {} if of is None else {name: of.take(part) for name, part in rows.items()}
        kept = (columns, self.dictionaries, self.id_format, qualifiers)
        return Dataset(self.entities, self.relations, splits, self.name, notes, *kept)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) of labels, triples, times and qualifiers; the order of the rows does not change it.

        The labels include entities that occur in no triple, because these entities are candidates. Further columns
        other than the `time_column` do not change the fingerprint; see `fingerprint_with`.
        """
        return self._fingerprint(())

    def fingerprint_with(self, columns: Sequence[str]) -> str:
        """Return the `fingerprint` that also depends on other further columns, such as those of a filter key.

        Parameters
        ----------
        columns : sequence of str
            Times and qualifiers, which the `fingerprint` contains, change nothing.
        """
        more = self.not_in_fingerprint(columns)
        return self._fingerprint(more) if more else self.fingerprint

    def _fingerprint(self, more: Sequence[str]) -> str:
        """Compute the `fingerprint_with` columns that are neither times nor qualifiers."""
        parts = {split: triples.array for split, triples in sorted(self.splits.items())}
        further: list[FurtherPart] = []
        if self.time_column:
            times = self.column_values(self.time_column)
            further.append(FurtherPart("time", times.texts(), {split: times.codes[split] for split in parts}))
        if self.has_qualifiers:
            further.append(self._qualifier_part())
        further += [fingerprint_part(self, name, further_column(self, name).codes) for name in more]
        title = f"kgeval dataset {2 if further else 1}"
        return fingerprint_triples(title, self.entities, self.relations, parts, with_labels=True, further=further)

    def not_in_fingerprint(self, columns: Sequence[str]) -> list[str]:
        """Return those further columns that do not change the `fingerprint`: all but times and qualifiers.

        Parameters
        ----------
        columns : sequence of str
        """
        covered = {self.time_column, *([QUALIFIERS] if self.qualifiers else [])}
        return [name for name in columns if name not in covered]

    def _qualifier_part(self) -> FurtherPart:
        """Return the qualifiers for the fingerprint: ids are replaced by positions among the sorted labels."""
        places = [vocabulary.labels.text_places for vocabulary in (self.relations, self.entities)]
        all_of = Qualifiers.joined([self.qualifiers_of(split) for split in self.splits])
        sorted_ids = Qualifiers(places[0][all_of.relations], places[1][all_of.entities], all_of.offsets)
        codes = sorted_ids.codes()
        distinct, first = np.unique(codes, return_index=True)
        texts = [repr(sorted_ids[row]) for row in first.tolist()]
        ends = np.cumsum([len(triples) for triples in self.splits.values()])[:-1]
        of_split = dict(zip(self.splits, np.split(np.searchsorted(distinct, codes), ends)))
        return FurtherPart("qualifiers", texts, of_split)

    @cached_property
    def repeats(self) -> Repeats:
        """The rows that repeat an earlier row, in the same split or in another; times and qualifiers are compared."""
        key = natural_key(self)
        return find_repeats({split: facts_of(self, (split,), key) for split in self.splits})

    @property
    def duplicates(self) -> dict[str, int]:
        """For each split, how many rows repeat an earlier row of the same split, its time and qualifiers included."""
        return {split: len(rows) for split, rows in self.repeats.duplicates.items()}

    @property
    def overlaps(self) -> dict[tuple[str, str], int]:
        """For each pair of splits ``(a, b)``, where a is before b in `SPLITS`: how many rows of b also occur in a.

        Rows are equal if their times and qualifiers are equal, too.
        """
        return {pair: len(rows) for pair, rows in self.repeats.overlaps.items()}

    @cached_property
    def is_seen_entity(self) -> npt.NDArray[np.bool_]:
        """Whether each entity occurs in train, bool (entities,); all True if there is no train split."""
        seen = np.full(len(self.entities), "train" not in self.splits)
        if "train" in self.splits:
            seen[self.splits["train"].s] = True
            seen[self.splits["train"].o] = True
        return seen

    @cached_property
    def is_seen_relation(self) -> npt.NDArray[np.bool_]:
        """Whether each relation occurs in train, bool (relations,); all True if there is no train split."""
        seen = np.full(len(self.relations), "train" not in self.splits)
        if "train" in self.splits:
            seen[self.splits["train"].p] = True
        return seen

    def is_seen(self, split: str) -> npt.NDArray[np.bool_]:
        """Return, for each triple of `split`, whether both entities and the relation occur in train, bool (n,)."""
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
        """A warning that the columns seem to be in another order, with the reason; empty if the order seems right.

        The two columns of entities usually share many labels. In the order head, relation, tail, these are the first
        and the third column; in the order head, tail, relation (OpenKE's files), the first and the second; if the
        relation comes first, the second and the third. The overlap of two columns is the number of labels in both,
        divided by the number of labels in at least one of them. The order is suspicious if the second column shares at
        least three labels with another column, and if the overlap of these two is at least 25%, and at least 2.5 times
        the overlap of the first and the third column. (In ten real graphs in the order head, tail, relation, the
        overlap of the first and the second column was at least 31%, and at least 2.9 times that of the first and the
        third.) If all labels of the second column are numbers, they may be ids, and ids of relations equal ids of
        entities by chance. Then the two columns must also share at least `MIN_NUMBERS` labels, and there must be at
        least twice as many triples as distinct labels in the second column.
        """
        # Bool, (entities,): whether each entity label occurs in the first and in the third column.
        is_first, is_third = np.zeros((2, len(self.entities)), dtype=bool)
        for triples in self.splits.values():
            is_first[triples.s] = True
            is_third[triples.o] = True
        n_second = len(self.relations)
        # An overlap is at most n_second / n_other. If this bound is below 25%, no label need be looked up.
        if 4 * n_second < min(int(is_first.sum()), int(is_third.sum())):
            return ""
        # (relations,): the entity id of each label of the second column; -1 if no entity has this label.
        entity_ids = self.entities.find(self.relations.labels)
        found = []
        for other, is_other in (("first", is_first), ("third", is_third)):
            n_shared = int(is_other[entity_ids[entity_ids >= 0]].sum())
            found.append((n_shared / max(int(is_other.sum()) + n_second - n_shared, 1), n_shared, other))
        shares_second, n_shared, other = max(found, key=lambda pair: pair[0])  # the first column if overlaps are equal
        shares_third = int((is_first & is_third).sum()) / max(int((is_first | is_third).sum()), 1)
        if shares_second < 0.25 or shares_second < 2.5 * shares_third or n_shared < 3:
            return ""
        n_triples = sum(len(triples) for triples in self.splits.values())
        are_numbers = all(label.isdecimal() for label in self.relations.labels)
        if are_numbers and (n_shared < MIN_NUMBERS or n_triples < 2 * n_second):
            return ""
        order, pair, remedy = "head, tail, relation", "the first and the second", "if so, pass columns='htr'"
        if other == "third":
            order, pair = "relation, head, tail", "the second and the third"
            remedy = "if so, pass columns='rht' (or columns='rth' for relation, tail, head)"
        return (
            f"the columns look like {order}: {pair} column share {shares_second:.0%} of their labels, the first and "
            f"the third {shares_third:.0%}; {remedy}; if the second column holds the relations, pass columns='hrt'"
        )

    @cached_property
    def near_duplicates(self) -> dict[str, list[tuple[str, str]]]:
        """Pairs of labels that look alike; the keys are ``"entity"`` and ``"relation"``.

        The labels of a pair differ only in Unicode form (NFC), in invisible characters (Unicode category Cf, such as
        zero-width spaces and byte order marks) or in spaces around them.
        """
        return {"entity": _look_alikes(self.entities), "relation": _look_alikes(self.relations)}

    @cached_property
    def _says_numbers(self) -> str:
        """A warning if the entity labels are numbers that differ from their ids; otherwise an empty string.

        The numbers and the ids differ because labels are sorted as text: 0, 1, 10, 2, ... have the ids 0, 1, 2, 3, ...
        """
        labels = self.entities.labels
        if not isinstance(labels, TextLabels) or not labels.are_plain_numbers:
            return ""
        numbers = np.fromiter(map(int, labels), np.int64, len(labels))
        if (numbers[1:] >= numbers[:-1]).all() or numbers.max() >= 2 * len(labels):
            return ""
        wrong = int(np.flatnonzero(numbers != np.arange(len(numbers)))[0])
        return (
            f"the entity labels are numbers and sorted as text, so labels and ids differ: label {labels[wrong]!r} "
            f"has the id {wrong}. For ids that are the numbers themselves, use Dataset.from_arrays"
        )

    def observations(self) -> list[str]:
        """Return one sentence for each possible fault in the data.

        The notes of the dataset come first. Possible faults are numbers as labels, labels that look alike, duplicate
        rows, rows in two splits, and unseen entities or relations.
        """
        sentences = [*self.notes, *([self._says_numbers] if self._says_numbers else [])]
        sentences += self._time_notes()
        for kind, pairs in self.near_duplicates.items():
            if pairs:
                earlier, later = (ascii(label) for label in pairs[0])
                sentences.append(
                    f"{len(pairs):,} {kind} labels differ from another label only in Unicode form, in invisible "
                    f"characters or in spaces around them, for example {earlier} and {later}"
                )
        sentences += [f"{counted(n, 'duplicate row')} in {split}" for split, n in self.duplicates.items() if n]
        sentences += [f"{counted(n, 'row')} of {b} also in {a}" for (a, b), n in self.overlaps.items() if n]
        for split, counts in self.unseen.items():
            if counts["triples"]:
                triples = counted(counts["triples"], f"triple of {split} contains", f"triples of {split} contain")
                entities, relations = counted(counts["entities"], "entity"), counted(counts["relations"], "relation")
                sentences.append(f"{triples} {entities} and {relations} that do not occur in train")
        return sentences

    def _time_notes(self) -> list[str]:
        """Return notes about times that are text, and about missing times."""
        name = self.time_column
        if name is None:
            return []
        times, notes = self.column_values(name), []
        if times.kind == TEXT:
            why = times.mixed or "text that is neither a number nor a date"
            notes.append(
                f"the column {name} holds {why}; its times are compared as text, so no time is earlier or later"
            )
        for split, codes in times.codes.items():
            if (codes < 0).any():
                n = int(np.count_nonzero(codes < 0))
                notes.append(f"{counted(n, f'triple of {split} has', f'triples of {split} have')} no {name}")
        return notes

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(t):,}" for split, t in self.splits.items())
        sizes = f"{counted(len(self.entities), 'entity')}, {counted(len(self.relations), 'relation')}; {sizes}"
        head = f"Dataset {self.name}: {sizes}"
        return "\n  ".join([head, *self.observations()])

    def _repr_html_(self) -> str:
        from kgeval.display import html, html_tables, table

        observations = self.observations()
        counts: dict[str, list[int | None]] = {
            "triples": [len(triples) for triples in self.splits.values()],
            "duplicate rows": [self.duplicates[split] for split in self.splits],
            "rows also in train": [self.overlaps.get(("train", split)) for split in self.splits],
        }
        if "train" in self:
            counts["triples with unseen parts"] = [self.unseen.get(split, {}).get("triples") for split in self.splits]
        columns = [
            table.Column.of_counts(name, found) for name, found in counts.items() if any(n is not None for n in found)
        ]
        columns.insert(0, table.Column.of_labels("split", self.splits))
        return html.panel(
            html.joined("Dataset ", html.label(self.name)),
            html.line(f"{counted(len(self.entities), 'entity')}, {counted(len(self.relations), 'relation')}"),
            html_tables.html_table(table.Table(columns)),
            html.folded(
                counted(len(observations), "observation"), html.lines(observations), is_open=len(observations) <= 3
            )
            if observations
            else None,
        )


def _sorted_vocabulary(columns: Sequence[pd.Categorical], labels: Sequence[str] = ()) -> Vocabulary:
    """Return one vocabulary with all `labels` and all categories of the columns, sorted by code point."""
    in_columns = (column.categories.to_numpy(dtype=object).tolist() for column in columns)
    return Vocabulary(sorted(set(labels).union(*in_columns)))


def _ids_of(column: pd.Categorical, vocabulary: Vocabulary) -> Ids:
    """Return the id of each row's label, int64 (n,)."""
    ids = vocabulary.find(column.categories.to_numpy(dtype=object))  # the id of each category
    return ids[column.codes] if len(ids) else np.zeros(0, dtype=np.int64)


def _look_alikes(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Return the pairs of labels that look alike; see `Dataset.near_duplicates`."""
    if not isinstance(vocabulary.labels, TextLabels):
        return []
    unplain: dict[str, str] = {}
    ids = vocabulary.labels.maybe_unplain
    for start in range(0, len(ids), BLOCK):
        labels = vocabulary.labels.take(ids[start : start + BLOCK])
        unplain |= {label: plain for label, plain in zip(labels, _plain_forms(labels)) if plain != label}
    if not unplain:
        return []
    ids = vocabulary.find([*unplain, *unplain.values()])  # a label and its plain form look alike
    first: dict[str, str] = {}
    pairs = []
    for label in vocabulary.labels.take(np.unique(ids[ids >= 0])):
        earlier = first.setdefault(unplain.get(label, label), label)
        if earlier is not label:
            pairs.append((earlier, label))
    return pairs


def _plain_forms(labels: Sequence[str]) -> list[str]:
    """Return labels in NFC, without invisible characters and spaces around them."""
    text = "".join(labels)
    # Each part of a text in NFC is in NFC (Unicode Standard Annex 15), so the joined labels can be checked at once.
    if unicodedata.is_normalized("NFC", text) and not any(unicodedata.category(c) == "Cf" for c in set(text)):
        return [label.strip() for label in labels]
    forms = (label if label.isascii() else unicodedata.normalize("NFC", label) for label in labels)
    return ["".join(c for c in form if unicodedata.category(c) != "Cf").strip() for form in forms]


def _checked_triples(split: str, array: npt.ArrayLike, entities: Vocabulary, relations: Vocabulary) -> TripleSet:
    """Return the triples of an array of ids; see `Dataset.from_arrays`."""
    rows = array if isinstance(array, (list, tuple)) else ()
    if isinstance(array, np.ma.MaskedArray) or any(isinstance(row, np.ma.MaskedArray) for row in rows):
        raise DataError(f"{split} must not be a masked array; remove the masked rows first")
    if isinstance(array, pd.DataFrame):
        further_columns(split, array)  # raises an error if a column shows that rows do not belong to the split
        array = array.iloc[:, frame_columns(split, array)].to_numpy()
    try:
        return TripleSet(array, len(entities), len(relations), name=split)
    except DataError as error:
        try:
            TripleSet(np.asarray(array)[:, [0, 2, 1]], len(entities), len(relations))
        except (DataError, ValueError, IndexError):
            raise error from None
        raise DataError(
            f"{error}. The expected order is s, p, o; if the columns are head, tail, relation: array[:, [0, 2, 1]]"
        ) from None


def _given_columns(
    columns: Mapping[str, Mapping[str, Any]], splits: Mapping[str, TripleSet]
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Return the further columns of `Dataset.from_arrays` as one frame for each split, and the qualifiers apart."""
    frames, qualifiers = {}, {}
    for split, of_split in columns.items() if isinstance(columns, Mapping) else [("", columns)]:
        if not isinstance(columns, Mapping) or not isinstance(of_split, (Mapping, pd.DataFrame)):
            raise DataError(
                "columns must be a dict from splits to dicts of values, such as columns={'test': {'time': [2014, "
                f"2015]}}}}; got {cut_label(repr(of_split))}{f' for {split}' * bool(split)}"
            )
        if split not in splits:
            raise DataError(f"columns: {split!r} is not a split with triples{suggest(str(split), splits)}")
        values = {}
        for name, column in of_split.items():
            if name == QUALIFIERS:
                qualifiers[split] = column
                continue
            array = column if isinstance(column, (pd.Series, pd.Categorical)) else np.asarray(column)
            if array.ndim != 1 or len(array) != len(splits[split]):
                raise DataError(
                    f"columns of {split}: {name!r} must hold {len(splits[split])} values, one per triple; got shape "
                    f"{array.shape}"
                )
            values[str(name)] = array.reset_index(drop=True) if isinstance(array, pd.Series) else array
        if values:
            frames[split] = pd.DataFrame(values, index=pd.RangeIndex(len(splits[split])))
    return frames, qualifiers


def _declared_vocabulary(kind: str, n: int | None, labels: Sequence[str] | None) -> Vocabulary:
    """Return the vocabulary of `labels`; if `labels` is None, the labels are the numbers 0 .. n - 1 as strings."""
    plural = "entities" if kind == "entity" else "relations"
    if labels is None:
        if n is None:
            raise DataError(
                f"set n_{plural}= (or {kind}_labels=): {plural} that occur in no triple belong to the dataset too"
            )
        return Vocabulary.of_ids(check_positive_int(f"n_{plural}", n, DataError))
    if n is not None and n != len(labels):
        raise DataError(f"n_{plural} is {n}, but {kind}_labels has {len(labels)} labels")
    return Vocabulary(labels)


def check_dataset(dataset: Any) -> None:
    """Raise a DataError if an argument is no `Dataset`."""
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"expected a kgeval.Dataset; got {cut_label(repr(dataset))}. kgeval.read_dataset reads a folder, "
            "kgeval.Dataset.of takes objects of other libraries"
        )


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
        Long labels are cut; see `kgeval.base.checks.cut_label`.
    """
    labels = dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]
    return cut_label(labels[0]), cut_label(labels[1]), cut_label(labels[2])
