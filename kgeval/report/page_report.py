"""`Report`: what all sections of the report page are made from: results, best first, and their comparison.

`kgeval.report.page.write_page` makes it with `report_of`; the modules ``page_*`` make a section each from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.terminal import distinct_labels
from kgeval.base.wording import count_text, shown_label
from kgeval.comparison.alignment import mismatches
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.rows import model_order
from kgeval.comparison.verdict import Verdict, leaders_of, verdict_of
from kgeval.data.dataset import Dataset
from kgeval.display.html_tables import short
from kgeval.display.table import heading_of
from kgeval.errors import DataError, MetricError
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.metric_frames import REASON
from kgeval.results.evaluation_result import EvaluationResult, entity_part, rank_groups, with_all_features
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE

MAX_DETAILED = 4  # with more models, the page details the best, and shows the others in narrow tables
MAX_GROUPS = 40  # groups of a column that are shown
MAX_NAME = 32  # characters of the name of a model
MAX_RELATIONS = 2_000
MAX_RELATION = 44  # characters of a relation in a sentence
CORRECTED = ("low_corrected", "high_corrected")  # the interval of a group that decides
NOT_RANKED = "this relation has no ranks"
COLUMN_WORDS = {
    "degree_given": "degree of the given entity",
    "degree_asked": "degree of the asked entity",
    "relation_frequency": "frequency of the relation",
    "known_answers": "number of known answers",
    "leak": "way in which train gives the triple away",
    "half_link": "parts of the triple that train has with its relation",
}

EntityNames = Mapping[str, str]
Row = tuple[float, ...]  # a value, the ends of its interval, and the bounds that bounded ranks allow; NaN: none


@dataclass(frozen=True)
class Pair:
    """The best model against another one: the differences by relation and by group.

    Parameters
    ----------
    first, second : int
        The places of the models.
    relations : pandas.DataFrame
        From `Comparison.by`, largest contribution first; without rows if the metric has no contributions.
    groups : dict of str to pandas.DataFrame
        The same for each column that both results have.
    """

    first: int
    second: int
    relations: pd.DataFrame
    groups: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Report:
    """Results of the page, best first; the place of a model is also the number of its colour.

    Parameters
    ----------
    results : tuple of EvaluationResult
        With all features by which the page breaks down the metrics.
    names : tuple of str
    comparison : Comparison, optional
        Of these results.
    dataset : Dataset, optional
    entity_names : mapping of str to str, optional
        Label of an entity -> its name.
    """

    results: tuple[EvaluationResult, ...]
    names: tuple[str, ...]
    comparison: Comparison | None = None
    dataset: Dataset | None = None
    entity_names: EntityNames | None = None

    @property
    def models(self) -> range:
        """The places of the models."""
        return range(len(self.names))

    @property
    def detailed(self) -> range:
        """The places of the models of which the page shows groups and triples."""
        return self.models[:MAX_DETAILED]

    @property
    def is_many(self) -> bool:
        """Whether there are too many models to detail each."""
        return len(self.names) > MAX_DETAILED

    @property
    def metric(self) -> str:
        """The key of the first compared metric."""
        return "mrr" if self.comparison is None else next(iter(self.comparison.keys))

    @property
    def heading(self) -> str:
        """The heading of the first metric."""
        return heading_of(self.metric)

    @property
    def sign(self) -> int:
        """1 if higher values of the first metric are better, else -1."""
        return 1 if Key.parse(self.metric).higher_is_better else -1

    @cached_property
    def parts(self) -> tuple[EvaluationResult, ...]:
        """The results without the ranks of the relation side."""
        return tuple(map(entity_part, self.results))

    @cached_property
    def differing(self) -> list[str]:
        """What makes the results not comparable."""
        return [str(mismatch) for mismatch in mismatches(self.results, self.names)]

    @cached_property
    def all_relations(self) -> list[str]:
        """The labels of all relations that a model has ranks of, most ranks first."""
        total = pd.concat([frame["n"] for frame in self._by_relation]).groupby(level=0).sum()
        return list(map(str, total.sort_values(ascending=False, kind="stable").index))

    @property
    def relations(self) -> list[str]:
        """The relations that are shown."""
        return self.all_relations[:MAX_RELATIONS]

    @cached_property
    def relation_labels(self) -> dict[str, str]:
        """The relations that are shown with the short forms that sentences have."""
        labels = distinct_labels([shown_label(name) for name in self.relations], MAX_RELATION)
        return dict(zip(self.relations, labels))

    @cached_property
    def by_relation(self) -> list[pd.DataFrame]:
        """The metrics of each model by the relations that are shown, with intervals; NaN where it has no ranks."""
        frames = [frame.reindex(pd.Index(self.relations, dtype=object)) for frame in self._by_relation]
        return [frame.fillna({"n": 0, REASON: NOT_RANKED}) for frame in frames]

    @cached_property
    def _by_relation(self) -> list[pd.DataFrame]:
        return [result.by("relation", metrics=PLAIN_METRICS, confidence=CONFIDENCE) for result in self.parts]

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the first metric."""
        return verdict_of(dict(zip(self.names, self.results)), self.comparison)

    @cached_property
    def leaders(self) -> dict[str, tuple[str, ...]]:
        """For each compared metric, the models that the test cannot tell from the best."""
        if self.comparison is None or self.differing:
            return {}
        return {key: leaders_of(self.comparison, key) for key in self.comparison.keys}

    @cached_property
    def rows(self) -> list[dict[Any, Any]]:
        """The differences of all pairs in all metrics, those of the best models first."""
        if self.comparison is None:
            return []
        places = dict(zip(self.names, self.models))
        rows = self.comparison.differences.to_dict("records")
        return sorted(rows, key=lambda row: (min(pair := (places[row["first"]], places[row["second"]])), max(pair)))

    @cached_property
    def pairs(self) -> list[Pair]:
        """The best model against each other model; of many models, against the second."""
        if self.comparison is None:
            return []
        return [self._pair(second) for second in self.models[1 : 2 if self.is_many else None]]

    def _pair(self, second: int) -> Pair:
        first, *others = (result.columns.rename(columns=str) for result in self.results)
        shared = [name for name in map(str, first) if first[name].nunique() <= MAX_GROUPS]
        groups = {name: self._by(name, second) for name in shared if all(name in one for one in others)}
        found = {column: frame for column, frame in groups.items() if len(frame)}
        return Pair(0, second, self._by("relation", second), found)

    def _by(self, column: str, second: int) -> pd.DataFrame:
        if self.comparison is None:
            return pd.DataFrame()
        try:
            return self.comparison.by(column, self.metric, self.names[0], self.names[second])
        except MetricError:  # the metric has no contributions, or the results have different values
            return pd.DataFrame()

    def short(self, model: int) -> str:
        """Return the name of a model, shortened."""
        return short(self.names[model], MAX_NAME)

    def entity(self, text: str) -> str:
        """Return an entity as the page shows it: its name and its label, or its label alone."""
        name = (self.entity_names or {}).get(text)
        return shown_label(text) if not name or name == text else f"{shown_label(name)} ({shown_label(text)})"


def report_of(
    results: Sequence[EvaluationResult],
    names: Sequence[str],
    dataset: Dataset | None = None,
    comparison: Comparison | None = None,
    entity_names: EntityNames | None = None,
) -> Report:
    """Return what the page is made from: compared models in the order of their values, others as given.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        One name per result, all different.
    dataset : Dataset, optional
        The dataset that was ranked.
    comparison : Comparison, optional
    entity_names : mapping of str to str, optional

    Raises
    ------
    DataError
        If a result ranks another dataset than `dataset`.
    """
    if dataset is not None:
        _check_dataset(dataset, results, names)
    named = {name: with_all_features(result, dataset) for name, result in zip(names, results)}
    if comparison is not None:
        comparison = replace(comparison, results=tuple(named[name] for name in comparison.names))
        named = {name: named[name] for name in model_order(comparison)}
    return Report(tuple(named.values()), tuple(named), comparison, dataset, entity_names)


def _check_dataset(dataset: Dataset, results: Sequence[EvaluationResult], names: Sequence[str]) -> None:
    if not isinstance(dataset, Dataset):
        raise DataError(f"dataset must be a Dataset, such as kgeval.read_dataset(folder) returns; got {dataset!r}")
    for result, name in zip(results, names):
        in_key = result.facts.get("fingerprint_columns", ())
        if result.facts["dataset_fingerprint"] != dataset.fingerprint_with(in_key):
            raise DataError(
                f"dataset= is {dataset.name!r} ({dataset.fingerprint[:8]}), but result {name!r} ranks "
                f"{result.facts['dataset']!r} ({result.facts['dataset_fingerprint'][:8]}); pass the ranked dataset, "
                "or no dataset"
            )


def numbers_of(result: EvaluationResult, key: str) -> tuple[Row, str]:
    """Return a value with its interval, and why one of them is missing; with its bounds if ranks are bounded.

    Parameters
    ----------
    result : EvaluationResult
    key : str
    """
    interval = result.interval(key, confidence=CONFIDENCE)
    if math.isfinite(interval.value):
        return (interval.value, interval.low, interval.high), interval.reason
    least, greatest = result.bounds(key)
    reason = result.value(key).reason or interval.reason or "not finite"
    return (math.nan, math.nan, math.nan, *((least, greatest) if least < greatest else ())), reason


def has_bounded(result: EvaluationResult) -> bool:
    """Return whether of some filtered ranks only bounds are known."""
    return bool(result.rank_table.is_bounded("filtered").any())


def rows_of(frame: pd.DataFrame, columns: Sequence[str] = ("difference", *CORRECTED)) -> list[Row]:
    """Return columns of a frame as rows of numbers; by default differences with the intervals that decide."""
    return list(map(tuple, frame[[*columns]].to_numpy(dtype=np.float64).tolist()))


def group_numbers(
    frame: pd.DataFrame, metric: str, result: EvaluationResult, column: str
) -> tuple[list[Row], list[str]]:
    """Return a metric by group with its intervals, and why one is missing; with its bounds if ranks are bounded.

    Parameters
    ----------
    frame : pandas.DataFrame
        The metrics of a result by group, with intervals.
    metric : str
        Its key.
    result : EvaluationResult
    column : str
        By which the ranks are grouped.
    """
    rows = rows_of(frame, (metric, f"{metric} low", f"{metric} high"))
    reasons = [why if any(map(math.isnan, row)) else "" for row, why in zip(rows, frame[REASON].tolist())]
    if has_bounded(result):
        ranks = {label: ids for (label,), ids in rank_groups(result, [column])}
        for i, label in enumerate(frame.index.map(lambda label: label[0] if isinstance(label, tuple) else label)):
            least, greatest = result.rank_table.bounds(metric, ranks[label]) if label in ranks else (0.0, 0.0)
            rows[i] = (*rows[i], *((least, greatest) if least < greatest else ()))
    return rows, reasons


def column_words(column: str) -> str:
    """Return the name of a column in words; the name of a column of the user is not changed.

    Examples
    --------
    >>> column_words("degree_given"), column_words("kind")
    ('degree of the given entity', 'kind')
    """
    return COLUMN_WORDS.get(column, column)


def decided_text(n: int, groups: str) -> str:
    """Return a sentence that explains bold differences of groups.

    Examples
    --------
    >>> decided_text(18, "relations")
    'Intervals of differences are corrected for the 18 relations (Bonferroni). Bold: decided, the interval excludes 0.'
    """
    corrected = f"Intervals of differences are corrected for the {count_text(n)} {groups} (Bonferroni)"
    return f"{corrected}. Bold: decided, the interval excludes 0."
