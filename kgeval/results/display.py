"""What results of rankings and of classifications share: columns, groups of rows, and how they show themselves."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, listed
from kgeval.base.terminal import Screen
from kgeval.base.wording import decimals_for, printable, shown_label, written
from kgeval.data.sides import RELATION
from kgeval.data.vocabulary import Vocabulary
from kgeval.display import html
from kgeval.display.html_tables import bar_table, html_table, short
from kgeval.display.media import format_frame, frame_panel, frame_text, latex_table, markdown_table, numbers_first
from kgeval.display.table import Table, frame_table, widths_words
from kgeval.features.columns import FEATURES
from kgeval.metrics import MetricValue
from kgeval.metrics.base import Metric
from kgeval.metrics.grammar import display_of
from kgeval.metrics.metric_frames import Group
from kgeval.results.columns import group_labels, join_columns
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE, RankTable
from kgeval.results.run_names import shown_run
from kgeval.stats.moments import Interval

# The columns whose groups `best_and_worst` compares, and what a group is.
PLACES = {"relation": "relations", "pattern": "patterns", "cardinality": "cardinalities"}
MIN_GROUP, MIN_SHARE = 10, 0.01  # a group is named if it has at least 10 ranks and at least 1% of the ranks
MAX_LABEL = 60  # characters of the name of a group
MAX_TIES = 0.01  # if a larger share of the ranks ties, the values with pessimistic and with optimistic ties are shown


Kind = TypeVar("Kind", bound="Result")


class Result(ABC):
    """The columns and groups of a result, and how it shows itself; the classes of results say what is in it."""

    table: pd.DataFrame
    entities: Vocabulary
    relations: Vocabulary
    facts: dict[str, Any]
    dropped: dict[str, int]
    notes: tuple[str, ...]
    columns: pd.DataFrame
    _first: tuple[str, ...]  # the metrics that a panel shows first
    _about = ""  # what the title of a panel says behind the dataset
    _further = "Protocol and notes"  # the title of the lines in a panel

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return the constructor's arguments, name -> value; no file holds the last of them."""

    @abstractmethod
    def _taken(self) -> set[str]:
        """Return the names that further columns must not have."""

    @abstractmethod
    def _column(self, name: str) -> Any:
        """Return the values of the column `name`, one per row, for grouping the rows."""

    @abstractmethod
    def value(self, key: str | Metric) -> MetricValue:
        """Return the value of a metric."""

    def __getitem__(self, key: str | Metric) -> float:
        """Return the value of the metric `key` as a number; see `value`."""
        return self.value(key).value

    @abstractmethod
    def interval(self, key: str | Metric) -> Interval:
        """Return the interval of a metric."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines about dataset, protocol and notes."""

    def _bars(self) -> Table:
        """Return the values that a panel shows first, with intervals, and with what `_beside` adds."""
        values = [self.value(metric) for metric in self._first]
        intervals = [self.interval(metric) for metric in self._first]
        displays = [display_of(metric) for metric in self._first]
        return bar_table(
            [one.heading for one in displays],
            [(value.value, found.low, found.high) for value, found in zip(values, intervals)],
            [decimals_for([value.value], one.decimals) for value, one in zip(values, displays)],
            CONFIDENCE,
            notes=[value.reason or found.remark for value, found in zip(values, intervals)],
            **self._beside(),
        )

    def _answer(self) -> str:
        """Return a sentence that a panel shows in place of the line about the dataset; empty if there is none."""
        return ""

    def _cautions(self) -> list[str]:
        """Return the gravest cautions, which a panel shows above its numbers."""
        return []

    def _beside(self) -> dict[str, Any]:
        """Return further columns of `bar_table`."""
        return {}

    def __replace__(self: Kind, **changes: Any) -> Kind:
        """Return a copy of the result; `changes` contains new values for arguments of the constructor."""
        return type(self)(**(self._parts() | changes))

    def with_columns(self: Kind, columns: pd.DataFrame | Mapping[str, Any]) -> Kind:
        """Return a new result with additional columns to break down by.

        Parameters
        ----------
        columns : pandas.DataFrame or mapping of str to array
            Either one row per row of `table`, in the same order; or a table with key columns that tell to which rows
            of `table` a row belongs: one or more of ``s``, ``p`` (or ``relation``), ``o`` and, for ranks, ``side``,
            ``split``, ``given`` (the given entity of the query) and ``asked`` (the other entity of the positive: the
            answer). Keys are labels or ids; each combination of keys occurs once. Rows without a match get the value
            ``"missing"``, and a note contains their number.

        Raises
        ------
        DataError
            If the number of rows or the keys do not match the table, or a column name is already in use.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> result = evaluate(lambda s, p, o: o, dataset)
        >>> kinds = pd.DataFrame({"asked": ["0", "1", "2", "3"], "kind": ["a", "a", "b", "b"]})
        >>> result.with_columns(kinds).by("kind", metrics="mr", confidence=None)["mr"].round(4).to_dict()
        {'a': 2.6667, 'b': 2.0}
        """
        taken = {*FEATURES, *self._taken(), *self.columns.columns}
        joined, notes = join_columns(columns, self.table, self.entities, self.relations, taken)
        return self.__replace__(columns=pd.concat([self.columns, joined], axis=1), notes=(*self.notes, *notes))

    def _with_frame(self: Kind, frame: pd.DataFrame, notes: Sequence[str], old: Sequence[str]) -> Kind:
        """Return the result with columns that may take the place of others, and with notes beside the `old` ones."""
        kept = self.columns.drop(columns=[name for name in frame if name in self.columns])
        notes = [*old, *(note for note in notes if note not in old)]
        return self.__replace__(columns=pd.concat([kept, frame], axis=1), notes=notes)

    def _relation_of_rows(self) -> pd.Categorical:
        """Return the relation of each row."""
        labels = pd.Index(np.array(self.relations.labels, dtype=object), dtype=object)
        return pd.Categorical.from_codes(self.table["p"].to_numpy(), labels)

    def _groups(self, names: Sequence[str], rows: Ids | None = None) -> list[tuple[Group, Ids]]:
        """Return the groups of rows with the same values in the columns `names`; see `group_labels`.

        `rows` are grouped; by default all.
        """
        n = len(self.table)
        columns = {name: self._column(name) for name in names}
        if rows is None or len(rows) == n:
            return group_labels(columns, n)
        part = {name: values[rows] for name, values in columns.items()}
        return [(label, rows[group]) for label, group in group_labels(part, len(rows))]

    @abstractmethod
    def summary(self, *args: Any, **options: Any) -> pd.DataFrame:
        """Return a table of metrics."""

    def _origin(self) -> str:
        """Return what the numbers of `summary` are about: model, dataset, sizes."""
        return f"{shown_run(self.facts)} on {self._lines()[0]}"

    def _paper(self) -> Table:
        """Return `summary` as a table for a paper, with notes on its origin and its intervals."""
        widths = widths_words(self.summary(confidence=CONFIDENCE).iloc[:1], CONFIDENCE, "in the first row ")
        return frame_table(self.summary(), notes=[("", self._origin()), ("", widths)])

    def to_latex(self) -> str:
        """Return `summary` as a table for a paper with notes below it; needs the package booktabs.

        Notes name the model, dataset, protocol and the widest interval of each metric; comments have all lines about
        the run.
        """
        return latex_table(self._paper(), "\n".join(f"% {printable(one)}" for one in self._lines()))

    def to_markdown(self) -> str:
        """Return the table of `to_latex` in Markdown."""
        return markdown_table(self._paper())

    def to_csv(self) -> str:
        """Return `summary` as CSV text, with all digits."""
        return format_frame(self.summary(), "csv")

    def __repr__(self) -> str:
        return numbers_first(
            [frame_text([], self.summary())], self._lines(), replace(Screen.of(sys.stdout), has_styles=False)
        )

    def _repr_html_(self) -> str:
        lines = self._lines()
        scorer = [html.label(self.facts["scorer"]), " on "] if "scorer" in self.facts else []
        return html.panel(
            html.joined(scorer, html.label(self.facts["dataset"]), self._about),
            html.line(self._answer() or lines.pop(0)),
            html.lines([f"{text}." for text in self._cautions()]),
            html_table(self._bars()),
            html.folded("All metrics", frame_panel(self.summary())),
            html.folded(self._further, html.lines(lines)),
        )


def min_group(n_ranks: int) -> int:
    """Return the number of ranks of the smallest group that a sentence on one model names.

    Parameters
    ----------
    n_ranks : int
        Of all groups.
    """
    return max(MIN_GROUP, math.ceil(MIN_SHARE * n_ranks))


def group_name(column: str, label: str) -> str:
    """Return the name of a group of ranks in a sentence, such as "symmetric relations".

    Parameters
    ----------
    column : str
        One of `PLACES`.
    label : str
    """
    name = shown_label(short(label, MAX_LABEL))
    if column == "relation":
        return f"relation {name}"
    if label in ("unknown", "other", "missing"):
        return f"relations of {column} {label}"
    return f"{name} relations"


def best_and_worst(result: Result, ranks: RankTable, key: Key, decimals: int) -> str:
    """Return a text that names the best and the worst group with enough ranks; empty if there are fewer than two.

    Parameters
    ----------
    result : Result
    ranks : RankTable
        The ranks of the result.
    key : Key
        Of the metric.
    decimals : int
    """
    rows_of_key = ranks.rows_of(key.side)
    minimum = min_group(len(rows_of_key))
    found: list[tuple[float, str]] = []
    columns = [column for column in PLACES if column == "relation" or column in result.columns.columns]
    for column in columns:
        groups = result._groups([column], rows_of_key)
        for (label,), rows in groups if len(groups) > 1 else []:
            value = ranks.value(key, rows).value if len(rows) >= minimum else math.nan
            found += [(value, group_name(column, label))] if math.isfinite(value) else []
    if len({value for value, _ in found}) < 2:
        return ""
    ends = (max, min) if key.higher_is_better else (min, max)
    best, worst = (end(found, key=lambda group: group[0]) for end in ends)
    places = [
        f"{how} on {name} ({written(value, decimals)})" for how, (value, name) in (("best", best), ("worst", worst))
    ]
    kinds = listed([PLACES[column] for column in columns])
    return f"{', '.join(places)}, of the {kinds} with at least {minimum:,} ranks"


def tie_ends(ranks: RankTable, metric: str) -> tuple[float, float] | None:
    """Return the values of a metric with pessimistic and with optimistic ties; None if at most 1% of the ranks tie.

    The ranks are those of the entity sides, or for a metric of the relation side those of this side.

    Parameters
    ----------
    ranks : RankTable
    metric : str
        A key, as in `EvaluationResult.value`.

    Returns
    -------
    tuple of float, or None
        None also if one of the two values is undefined.
    """
    key = Key.parse(metric)
    if not ranks.tie_rate_of(RELATION if key.side == RELATION else "both") > MAX_TIES:
        return None
    pessimistic, optimistic = (ranks.value(replace(key, ties=ties)).value for ties in ("pessimistic", "optimistic"))
    return (pessimistic, optimistic) if math.isfinite(pessimistic) and math.isfinite(optimistic) else None
