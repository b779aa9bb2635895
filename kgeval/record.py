"""Record: the stored counts of a ranking, what they were made from, and the columns to break them down by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_one_of
from kgeval.corruption import SETTINGS
from kgeval.dataset import Dataset
from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.explaining import EXAMPLES, Source, explain_row, extreme_rows, nearest_rivals, no_rivals
from kgeval.features import FEATURES, OVER_SPLITS, features_at_hand, features_of
from kgeval.joining import join_columns
from kgeval.measuring import Ranks, group_labels
from kgeval.protocol import Protocol
from kgeval.queries import check_side
from kgeval.result_files import write_result_file
from kgeval.triples import Vocabulary, triple_ids

BREAKDOWNS = ("relation", "side", "split")
TAKEN_OVER = ": taken over "  # in the note on columns of chosen splits
R = TypeVar("R", bound="Record")


@dataclass(frozen=True, eq=False)
class Record:
    """What a result holds.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per (triple, side): ``s, p, o`` (ids), ``side``, ``split``, ``score`` of the positive,
        and ``better``, ``tied``, ``rivals``, each ``_raw`` and ``_filtered``.
    entities, relations : Vocabulary
    protocol : Protocol
    about : dict
        JSON-able: dataset name, fingerprint and observations, scorer, kgeval's version.
    dropped : dict of str to int
        (triple, side) rows that were read and not ranked, by reason.
    n_read : int
        (triple, side) rows that were read; equals the ranked ones and the dropped ones together.
    notes : tuple of str
        Cautions that belong to the numbers.
    joined : pandas.DataFrame, optional
        Further columns to break down by, one row per row of `table`; see `with_columns`.
    stored_rivals : pandas.DataFrame, optional
        See `rivals`.
    source : Source, optional
        Dataset and scorer, while they are at hand; not saved.
    """

    table: pd.DataFrame
    entities: Vocabulary
    relations: Vocabulary
    protocol: Protocol
    about: dict[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)
    n_read: int = 0
    notes: tuple[str, ...] = ()
    joined: pd.DataFrame | None = None
    stored_rivals: pd.DataFrame | None = None
    source: Source | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        counts = [*self.dropped.values(), self.n_read]
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
            raise DataError(f"counts of rows must be integers of at least 0; got {counts}")
        if len(self.table) + sum(self.dropped.values()) != self.n_read:
            raise DataError(
                f"{self.n_read} rows were read, but {len(self.table)} ranked and "
                f"{sum(self.dropped.values())} dropped; nothing may be lost"
            )
        if self.joined is not None and len(self.joined) != len(self.table):
            raise DataError(f"joined has {len(self.joined)} rows; the table has {len(self.table)}")
        if self.stored_rivals is not None and (self.stored_rivals["row"] >= len(self.table)).any():
            raise DataError(f"rivals are of row {self.stored_rivals['row'].max()}; the table has {len(self.table)}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        same = self.protocol == other.protocol and self.about == other.about and self.dropped == other.dropped
        return same and self.table.equals(other.table) and self.entities == other.entities

    __hash__ = None  # type: ignore[assignment]

    @property
    def sides(self) -> tuple[str, ...]:
        """``both`` and each side, or the only side asked."""
        return ("both", *self.protocol.sides) if len(self.protocol.sides) > 1 else tuple(self.protocol.sides)

    @property
    def tie_rate(self) -> float:
        """Share of filtered ranks whose positive ties with at least one rival."""
        return float((self.table["tied_filtered"] > 0).mean()) if len(self.table) else float("nan")

    def groups(self, columns: Sequence[str]) -> list[tuple[tuple[str, ...], Ids]]:
        """Return the groups of rows that agree in `columns`, by their names, most rows first."""
        return group_labels({name: self._column(name) for name in self.group_names(columns)}, len(self.table))

    def group_names(self, columns: Sequence[str | Sequence[str]]) -> list[str]:
        """Return the names to group by, one at least, given one by one or as lists."""
        names: list[str] = []
        for column in columns:
            names += [column] if isinstance(column, str) or not isinstance(column, Sequence) else column
        if not names:
            raise MetricError("say what to group by: 'relation', 'side' or 'split'")
        return names

    def _column(self, name: str) -> Any:
        """Return what to group by under `name`: one value per row."""
        if name == "relation":
            return pd.Categorical.from_codes(self.table["p"].to_numpy(), pd.Index(self.relations.labels, dtype=object))
        if name in BREAKDOWNS:
            return self.table[name].array
        if self.joined is not None and name in self.joined.columns:
            return self.joined[name].array
        if name in FEATURES:
            return self.with_features(names=[name])._column(name)
        known = list(BREAKDOWNS) + ([] if self.joined is None else list(self.joined.columns))
        return check_one_of("by", name, dict.fromkeys([*known, *FEATURES]), MetricError)

    @cached_property
    def ranks(self) -> Ranks:
        """The table and its protocol, as the numbers are made from them."""
        return Ranks(self.table, self.protocol)

    @property
    def columns(self) -> pd.DataFrame:
        """Further columns to break down by, one row per row of `table`; see `with_columns` and `with_features`."""
        return pd.DataFrame(index=pd.RangeIndex(len(self.table))) if self.joined is None else self.joined

    def with_columns(self: R, columns: pd.DataFrame | Mapping[str, Any]) -> R:
        """Return the same result with more columns to break down by.

        Parameters
        ----------
        columns : pandas.DataFrame or mapping of str to array
            Either one row per row of `table`, in its order; or a table with columns that say what a row belongs to
            (some of ``s``, ``p`` or ``relation``, ``o``, ``side``, ``split``, or ``given`` and ``asked`` for the entity
            that a query gives and asks), labels or ids, each combination once. Ranks that find no row have the value
            ``"missing"``; they are counted in a note.

        Raises
        ------
        DataError
            If lengths or keys do not fit, or a name is taken.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> result = evaluate(lambda s, p, o: o, dataset)
        >>> kinds = pd.DataFrame({"asked": ["0", "1", "2", "3"], "kind": ["a", "a", "b", "b"]})
        >>> result.with_columns(kinds).by("kind", metrics="mr", level=None)["MR"].round(4).to_dict()
        {'a': 2.6667, 'b': 2.0}
        """
        taken = {*BREAKDOWNS, *FEATURES, *self.table.columns, *self.columns.columns, "rank_raw", "rank_filtered"}
        joined, notes = join_columns(columns, self.table, self.entities, self.relations, taken)
        return replace(self, joined=pd.concat([self.columns, joined], axis=1), notes=(*self.notes, *notes))

    def with_features(
        self: R,
        dataset: Dataset | None = None,
        *,
        names: Sequence[str] | None = None,
        types: pd.Categorical | None = None,
        splits_for_means: Sequence[str] | None = None,
    ) -> R:
        """Return the same result with columns that the dataset tells: cardinality, pattern, degrees, ...

        Parameters
        ----------
        dataset : Dataset, optional
            The one that was evaluated; not needed while the result has it, after `kgeval.evaluate`.
        names, types, splits_for_means
            See `kgeval.features.features_of`; `types` come from `kgeval.features.read_types`.

        Raises
        ------
        DataError
            If there is no dataset, or it is another one.
        """
        dataset = dataset or (self.source.dataset if self.source else None)
        if dataset is None:
            raise DataError(
                f"{', '.join(names or FEATURES)}: a saved result does not hold the dataset; give it: "
                "result.with_features(kgeval.read_dataset(...))"
            )
        if dataset.fingerprint != self.about["dataset_fingerprint"]:
            raise DataError(
                f"the result is of dataset {self.about['dataset']!r} ({self.about['dataset_fingerprint'][:8]}); "
                f"got {dataset.name!r} ({dataset.fingerprint[:8]})"
            )
        found = features_of(
            self.table, self.protocol, dataset, names=names, splits_for_means=splits_for_means, types=types
        )
        made = [name for name in OVER_SPLITS if name in found]
        said = found.attrs.pop("notes", [])
        if made and splits_for_means is not None:
            splits = [splits_for_means] if isinstance(splits_for_means, str) else splits_for_means
            said.append(f"{' and '.join(made)}{TAKEN_OVER}{'+'.join(splits)}")
        notes = [note for note in self.notes if not (made and TAKEN_OVER in note)]  # theirs that are made anew
        kept = self.columns.drop(columns=[name for name in found if name in self.columns])
        notes += [note for note in said if note not in notes]
        return replace(self, joined=pd.concat([kept, found], axis=1), notes=tuple(notes))

    @property
    def says_splits(self) -> bool:
        """Whether a note says over which splits columns were taken; otherwise it is over all."""
        return any(TAKEN_OVER in note for note in self.notes)

    def with_notes(self: R, *notes: str) -> R:
        """Return the same result with more cautions."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def rivals(self) -> pd.DataFrame:
        """The best rivals of the worst and the best ranked rows, known answers left out.

        Columns ``row`` (place in `table`), ``place`` (1 is the best), ``entity`` (id), ``score``. Empty in a result
        that was saved without them and in one whose scorer is gone.
        """
        if self.stored_rivals is not None:
            return self.stored_rivals
        if self.source is None:
            return no_rivals()
        return nearest_rivals(self.ranks, self.source, extreme_rows(self.ranks, EXAMPLES))

    def found_rivals(self) -> tuple[pd.DataFrame, str]:
        """Return `rivals`, or none and why, where the scorer answers otherwise than when it was ranked."""
        try:
            return self.rivals, ""
        except ScoreError as error:
            return no_rivals(), f"no rivals of the worst and best ranks are kept: {error}"

    def explain(
        self, s: str | int, p: str | int, o: str | int, side: str = "object", most: int | None = None
    ) -> pd.DataFrame:
        """Return the candidates that stand above a positive, asked of the scorer again.

        Parameters
        ----------
        s, p, o : str or int
            A ranked triple, by labels or by ids.
        side : str
            Which place was asked.
        most : int, optional
            At most so many above, and as many tied.

        Returns
        -------
        pandas.DataFrame
            Best first, the answer last. Columns ``candidate`` (label), ``id``, ``score``, ``stands`` (``"above"``,
            ``"tied"``, ``"answer"``), ``known_in`` (splits of the filter that hold it), and ``counts`` (whether it
            counts against the filtered rank). ``attrs`` has ``n_above``, ``n_tied``, ``n_above_counting``,
            ``n_tied_counting`` and ``n_candidates``.

        Raises
        ------
        DataError
            If the triple was not ranked, or the result was loaded and has no scorer.
        ScoreError
            If the scorer ranks the triple otherwise now.
        """
        if self.source is None:
            raise DataError(
                "this result has no scorer to ask: it was loaded from a file. Evaluate again, or run kgeval explain"
            )
        return explain_row(self.ranks, self.source, self._row(s, p, o, check_side(side)), most)

    def _row(self, s: str | int, p: str | int, o: str | int, side: str) -> int:
        """Return the first row of the table that ranks a triple on a side."""
        ids = triple_ids(self.entities, self.relations, (s, p, o))
        is_it = (self.table[["s", "p", "o"]].to_numpy() == ids).all(axis=1) & (self.table["side"] == side).to_numpy()
        if not is_it.any():
            splits = "+".join(self.protocol.splits)
            raise DataError(f"({s!r}, {p!r}, {o!r}) was not ranked on the {side} side; is it in {splits}?")
        return int(np.argmax(is_it))

    def labelled(self) -> pd.DataFrame:
        """Return the ranks table with labels in place of ids, and the realistic ranks beside the counts."""
        frame = self.table.copy()
        for column, vocabulary in (("s", self.entities), ("p", self.relations), ("o", self.entities)):
            labels = np.array(vocabulary.labels, dtype=object)[frame[column].to_numpy()]
            frame[column] = pd.Series(labels, index=frame.index, dtype=object)  # also those that no encoding holds
        for setting in SETTINGS:
            frame[f"rank_{setting}"] = frame[f"better_{setting}"] + 1 + frame[f"tied_{setting}"] / 2
        return frame

    def save(self, path: str | Path, *, details: bool = True, overwrite: bool = False) -> None:
        """Write everything to one file, conventionally ``.kgeval``; read it with `kgeval.load_result`.

        The file appears complete or not at all; it holds no pickle.

        Parameters
        ----------
        path : path
        details : bool
            Whether the features of the dataset and the rivals of the worst and best ranks are looked up, while dataset
            and scorer are at hand, and kept with the counts. This asks the scorer for some 20 queries again; if it
            answers otherwise than when it was ranked, no rivals are kept, and a note says so.
        overwrite : bool
        """
        joined, rivals, notes = self.joined, self.stored_rivals, list(self.notes)
        if details and self.source:
            new = [name for name in features_at_hand(self.source.dataset) if name not in self.columns]
            joined = self.with_features(names=new).joined
            rivals, reason = self.found_rivals()
            notes += [reason] if reason else []
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        write_result_file(path, {**fields, "notes": notes, "columns": joined, "rivals": rivals}, overwrite)
