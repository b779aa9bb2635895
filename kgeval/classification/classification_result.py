"""ClassificationResult: test triples with scores, thresholds and decisions, and every metric of them on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_ids, check_one_of
from kgeval.data import Dataset, TripleSet, Vocabulary, with_labels
from kgeval.errors import DataError, MetricError
from kgeval.features import FEATURES, NEED_SIDE, features_at_hand, features_of
from kgeval.metrics import REASON, Cell, Metric, MetricValue, group_index, metric_frame, split_list
from kgeval.metrics.pointwise import DEFAULT_THRESHOLD, POINTS, DecisionMetric, PointMetric, decide_by_threshold
from kgeval.metrics.retrieval import AVERAGES
from kgeval.results import (
    READERS,
    check_about,
    dataset_of,
    group_labels,
    group_names,
    join_columns,
    pack_columns,
    pack_vocabularies,
    same_columns,
    show_html,
    show_text,
    unpack_columns,
    unpack_vocabularies,
    write_result,
)

CLASSIFIED_METRICS = ("accuracy", "f1", "precision", "recall", "auc", "ap")
PREDICTIONS = {"decisions": "predicted", "scores": "score", "probabilities": "probability", "values": "probability"}
NO_PROBABILITIES = (
    "scores are no probabilities; fit some on validation: classify(..., calibrate='platt') or 'isotonic' (--calibrate)"
)
_TABLE = {"s": "iu", "p": "iu", "o": "iu", "label": "b", "score": "f", "threshold": "f", "predicted": "b"}
_ABOUT = (
    "dataset", "dataset_fingerprint", "observations", "negatives", "negatives_sha256", "seed", "version",
    "n_valid_positive", "n_valid_negative", "n_test_positive", "n_test_negative",
)  # fmt: skip
FIRST_VERSION = 2  # of the files that hold classifications
_THRESHOLDS = {
    "thresholds_threshold": "f",
    "thresholds_n_valid_positive": "iu",
    "thresholds_n_valid_negative": "iu",
    "thresholds_n_test": "iu",
}


class ClassificationResult:
    """True and false test triples told apart by thresholds that were chosen on validation.

    Made by `kgeval.classify` and `kgeval.load_result`. It does not change: methods that add something return another
    result.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per test triple, positives first: ``s, p, o`` (ids), ``label`` (bool), ``score`` and ``threshold``
        (float64), ``predicted`` (bool: score >= threshold), and ``probability`` if it was calibrated.
    thresholds : pandas.DataFrame
        One row per relation (label) of validation or test: ``threshold``, ``n_valid_positive``, ``n_valid_negative``,
        ``source`` (``"relation"``, or ``"global"`` where validation lacks examples of both classes), ``n_test``.
    global_threshold : float
        Chosen on all validation examples together.
    entities, relations : Vocabulary
    about : dict
        JSON-able: dataset and its fingerprint, the negatives' source, seed and SHA-256, scorer, calibration, kgeval's
        version, and how many examples there are.
    dropped : dict of str to int
        Examples that were not scored, by split and reason.
    notes : sequence of str
        Cautions that belong to the numbers.
    columns : pandas.DataFrame, optional
        Further columns to break down by, one row per row of `table`.
    dataset : Dataset, optional
        While it is at hand; not saved.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(valid=[[0, 0, 3]], test=[[0, 0, 2], [0, 0, 3]], n_entities=4, n_relations=1)
    >>> negatives = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}
    >>> result = kg.classify(lambda s, p, o: o, dataset, negatives)
    >>> result["accuracy"], result["auc"], result["macro.recall"]
    (0.75, 1.0, 0.5)
    >>> result.thresholds.to_dict("records")[0]["threshold"]
    3.0
    """

    def __init__(
        self,
        table: pd.DataFrame,
        thresholds: pd.DataFrame,
        global_threshold: float,
        entities: Vocabulary,
        relations: Vocabulary,
        about: dict[str, Any],
        dropped: dict[str, int] | None = None,
        notes: Sequence[str] = (),
        columns: pd.DataFrame | None = None,
        dataset: Dataset | None = None,
    ) -> None:
        self.table, self.thresholds, self.global_threshold = table, thresholds, global_threshold
        self.entities, self.relations = entities, relations
        self.about, self.dropped, self.notes = about, dict(dropped or {}), tuple(notes)
        self.columns = pd.DataFrame(index=pd.RangeIndex(len(table))) if columns is None else columns
        self._dataset = dataset

    def __replace__(self, **changes: Any) -> ClassificationResult:
        """Return the same result with some parts changed, named as the parameters of the class."""
        return ClassificationResult(**({**self._parts(), "dataset": self._dataset} | changes))

    def _parts(self) -> dict[str, Any]:
        """Return the parameters of the class that a file keeps."""
        names = ("table", "thresholds", "global_threshold", "entities", "relations", "about", "dropped", "notes")
        return {name: getattr(self, name) for name in (*names, "columns")}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassificationResult):
            return NotImplemented
        frames = ("table", "thresholds")
        plain = [name for name in self._parts() if name not in (*frames, "columns")]
        return (
            all(getattr(self, name).equals(getattr(other, name)) for name in frames)
            and all(getattr(self, name) == getattr(other, name) for name in plain)
            and same_columns(self.columns, other.columns)
        )

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: str | Metric) -> float:
        return self.value(key).value

    def value(self, key: str | Metric) -> MetricValue:
        """Return the number of `key`, or NaN with the reason.

        Parameters
        ----------
        key : str or Metric
            ``[average.]metric``. ``micro`` (default): of all test triples together. ``macro``: the mean over the
            relations of test that have a value; the others are counted in ``excluded``.

        Raises
        ------
        MetricError
            If the key cannot be read, or the metric brings a threshold of its own.
        """
        average = "micro"
        if isinstance(key, str) and key.strip().lower().startswith(tuple(f"{name}." for name in AVERAGES)):
            average, _, key = key.strip().lower().partition(".")
        metric = _parse_point(key)
        return self._compute(metric, np.arange(len(self.table))) if average == "micro" else self._macro(metric)

    def _compute(self, metric: PointMetric, rows: Ids) -> MetricValue:
        """Return the metric of some rows of the table."""
        if self._lacks(metric):
            return MetricValue.undefined(NO_PROBABILITIES)
        labels, predictions = (self.table[name].to_numpy()[rows] for name in ("label", PREDICTIONS[metric.needs]))
        return metric.compute(labels, predictions, self.table["p"].to_numpy()[rows] if metric.takes_groups else None)

    def _lacks(self, metric: PointMetric) -> bool:
        return PREDICTIONS[metric.needs] not in self.table

    def _macro(self, metric: PointMetric) -> MetricValue:
        if self._lacks(metric):
            return MetricValue.undefined(NO_PROBABILITIES)
        parts = [rows for _, rows in self._relations]
        found = [self._compute(metric, rows) for rows in parts]
        defined = [one.value for one in found if not one.reason]
        n_out = len(found) - len(defined)
        weight_out = sum(len(rows) for rows, one in zip(parts, found) if one.reason) / len(self.table)
        if not defined:
            reasons = list(dict.fromkeys(one.reason for one in found))
            return MetricValue.undefined(f"no relation has a value: {'; '.join(reasons)}", n_out, weight_out)
        return MetricValue(float(np.mean(defined)), "", n_out, weight_out)

    @cached_property
    def _relations(self) -> list[tuple[tuple[str, ...], Ids]]:
        """The rows of each relation of test under its label, most rows first."""
        return self._groups(["relation"])

    def _groups(self, names: Sequence[str]) -> list[tuple[tuple[str, ...], Ids]]:
        return group_labels({name: self._column(name) for name in names}, len(self.table))

    def _column(self, name: str) -> Any:
        """Return what to group by under `name`: one value per row."""
        if name == "relation":
            return pd.Categorical.from_codes(self.table["p"].to_numpy(), pd.Index(self.relations.labels, dtype=object))
        if name in self.columns.columns:
            return self.columns[name].array
        if name in FEATURES:
            return self.with_features(names=[name]).columns[name].array
        plain = [feature for feature in FEATURES if feature not in NEED_SIDE]
        return check_one_of("by", name, dict.fromkeys(["relation", *self.columns.columns, *plain]), MetricError)

    def summary(self, metrics: Sequence[str | Metric] | str = CLASSIFIED_METRICS) -> pd.DataFrame:
        """Return a table of metrics over all test triples, and over relations.

        Parameters
        ----------
        metrics : sequence of str or Metric, or one string with commas

        Returns
        -------
        pandas.DataFrame
            Rows ``micro`` and ``macro``; columns ``n`` (test triples), each metric under its key, and ``reason``: why
            a number is NaN.
        """
        parsed, every = parse_points(metrics), np.arange(len(self.table))
        rows = [
            {str(metric): Cell.of(self._compute(metric, every)) for metric in parsed},
            {str(metric): Cell.of(self._macro(metric)) for metric in parsed},
        ]
        index = pd.Index(["micro", "macro"], name="average", dtype=object)
        return metric_frame(index, rows, map(str, parsed), [len(self.table)] * 2)

    def by(self, *columns: str, metrics: Sequence[str | Metric] | str = CLASSIFIED_METRICS) -> pd.DataFrame:
        """Return metrics per group of test triples.

        Parameters
        ----------
        *columns : str
            One or more of ``"relation"``; a feature of the dataset that asks for no side (``"cardinality"``,
            ``"pattern"``, ``"relation_frequency"``, ``"seen"``); or a column of `with_columns`.
        metrics : sequence of str or Metric, or one string with commas

        Returns
        -------
        pandas.DataFrame
            Indexed by the groups (relations by label), most triples first, buckets in their order. Columns ``n``,
            ``share`` of all test triples, and the metrics as in `summary`.
        """
        parsed, names = parse_points(metrics), group_names(columns)
        groups = dict(self._groups(names))
        rows = [{str(metric): Cell.of(self._compute(metric, rows)) for metric in parsed} for rows in groups.values()]
        counts = [len(rows) for rows in groups.values()]
        frame = metric_frame(group_index(groups, names), rows, map(str, parsed), counts)
        frame.insert(1, "share", frame["n"] / max(1, len(self.table)))
        return frame

    def with_columns(self, columns: pd.DataFrame | Mapping[str, Any]) -> ClassificationResult:
        """Return the same result with more columns to break down by.

        Parameters
        ----------
        columns : pandas.DataFrame or mapping of str to array
            One row per row of `table`, in its order; or a table with columns that say what a row belongs to (some of
            ``s``, ``p`` or ``relation``, ``o``), labels or ids, each combination once. See
            `kgeval.EvaluationResult.with_columns`.

        Raises
        ------
        DataError
            If lengths or keys do not fit, or a name is taken.
        """
        taken = {"relation", "n", "share", REASON, *FEATURES, *self.table.columns, *self.columns.columns}
        joined, notes = join_columns(columns, self.table, self.entities, self.relations, taken)
        return self.__replace__(columns=pd.concat([self.columns, joined], axis=1), notes=(*self.notes, *notes))

    def with_features(
        self, dataset: Dataset | None = None, *, names: Sequence[str] | None = None
    ) -> ClassificationResult:
        """Return the same result with columns that the dataset tells: cardinality, pattern, ...

        Parameters
        ----------
        dataset : Dataset, optional
            The one that was classified; not needed while the result has it, after `kgeval.classify`.
        names : sequence of str, optional
            See `kgeval.features.features_of`.

        Raises
        ------
        DataError
            If there is no dataset, or it is another one.
        """
        dataset = dataset_of(self.about, dataset, self._dataset, names or FEATURES)
        names = features_at_hand(dataset, has_sides=False) if names is None else names
        found, said = features_of(self.table, None, dataset, names=names)
        kept = self.columns.drop(columns=[name for name in found if name in self.columns])
        notes = [*self.notes, *(note for note in said if note not in self.notes)]
        return self.__replace__(columns=pd.concat([kept, found], axis=1), notes=notes)

    def labelled(self) -> pd.DataFrame:
        """Return the table with labels in place of ids."""
        return with_labels(self.table, self.entities, self.relations)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write everything to one file, conventionally ``.kgeval``; read it with `kgeval.load_result`.

        Parameters
        ----------
        path : path
        overwrite : bool

        Raises
        ------
        DataError
            If the file exists and `overwrite` is False, or cannot be written.
        """
        parts = self._parts()
        arrays: dict[str, Any] = {str(name): self.table[name].to_numpy() for name in self.table}
        arrays |= {name: self.thresholds[name.removeprefix("thresholds_")].to_numpy() for name in _THRESHOLDS}
        arrays["thresholds_relation"] = self.relations.ids(self.thresholds.index.to_numpy())
        arrays["thresholds_is_own"] = (self.thresholds["source"] == "relation").to_numpy()
        arrays["global_threshold"] = np.array(self.global_threshold)
        column_arrays, said = pack_columns(self.columns)
        arrays |= pack_vocabularies(self.entities, self.relations) | column_arrays
        header = {name: parts[name] for name in ("about", "dropped")} | {"notes": list(self.notes)} | said
        write_result(path, "classification", arrays, header, overwrite)

    def cautions(self, metrics: Sequence[str | Metric] | str) -> list[str]:
        """Return what must be known about the values of `metrics`: relations that a mean leaves out."""
        said = []
        for metric in parse_points(metrics):
            for average in ("micro", "macro"):
                found = self.value(f"{average}.{metric}")
                if found.excluded and not found.reason:
                    said.append(
                        f"{average} {metric.heading} leaves out {found.excluded:,} of {len(self._relations):,} "
                        f"relations without a value ({found.excluded_weight:.1%} of the test triples)"
                    )
        return list(dict.fromkeys(said))

    def header(self) -> list[str]:
        """Return the lines that say what the numbers are of."""
        about = self.about
        seed = "" if about["seed"] is None else f", seed {about['seed']}"
        n_own = int((self.thresholds["source"] == "relation").sum())
        lines = [
            f"{about['dataset']}: {len(self.entities):,} entities, {len(self.relations):,} relations; "
            f"test {about['n_test_positive']:,} positives and {about['n_test_negative']:,} negatives, "
            f"{sum(self.dropped.values()):,} dropped",
            f"{n_own:,} thresholds of relations and {len(self.thresholds) - n_own:,} global ones, from valid "
            f"({about['n_valid_positive']:,} and {about['n_valid_negative']:,})",
            f"negatives: {about['negatives']}{seed}, sha256 {about['negatives_sha256'][:8]}; "
            f"dataset {about['dataset_fingerprint'][:8]}, kgeval {about['version']}",
        ]
        lines += [f"dropped: {n:,} triples, {reason}" for reason, n in self.dropped.items()]
        lines += [f"dataset: {said}" for said in about["observations"]]
        return lines + [f"note: {note}" for note in self.notes]

    def _lines(self) -> list[str]:
        return [*self.header(), *(f"note: {caution}" for caution in self.cautions(CLASSIFIED_METRICS))]

    def __repr__(self) -> str:
        return show_text(self._lines(), self.summary())

    def _repr_html_(self) -> str:
        return show_html(self._lines(), self.summary())


def _parse_point(key: str | Metric) -> PointMetric:
    metric = POINTS.parse(key)
    is_said = isinstance(key, str) and "threshold" in key.lower()
    if isinstance(metric, DecisionMetric) and (is_said or metric.threshold != DEFAULT_THRESHOLD):
        raise MetricError(
            f"{metric} brings a threshold of its own, but triples are classified by those chosen on validation; "
            f"ask for {metric.name!r}"
        )
    return metric


def parse_points(metrics: Sequence[str | Metric] | str) -> list[PointMetric]:
    """Return the metrics of a sequence, or of one string with commas, that can be asked of decisions already made."""
    asked = split_list(metrics) if isinstance(metrics, str) else list(metrics)
    if not asked:
        raise MetricError("metrics names none; say which, such as 'accuracy,f1'")
    return [_parse_point(metric) for metric in asked]


def _read_classification(arrays: dict[str, Any], header: dict[str, Any], version: int) -> ClassificationResult:
    """Return the result that `ClassificationResult.save` wrote, checked."""
    if version < FIRST_VERSION:
        raise DataError(f"version {version} of the format knows no classification")
    check_about(header["about"], _ABOUT)
    entities, relations = unpack_vocabularies(arrays)
    kinds = {**_TABLE, **_THRESHOLDS, "thresholds_is_own": "b", "global_threshold": "f"}
    kinds |= {"probability": "f"} if "probability" in arrays else {}
    for name, allowed in kinds.items():
        if arrays[name].dtype.kind not in allowed:
            raise DataError(f"{name} holds {arrays[name].dtype}")
        if allowed == "f" and np.isnan(arrays[name]).any():
            raise DataError(f"{name} holds NaN")
    for names in ([*_TABLE, *(["probability"] if "probability" in kinds else [])], [*_THRESHOLDS, "thresholds_is_own"]):
        shapes = {name: arrays[name].shape for name in names}
        if len(set(shapes.values())) > 1 or arrays[names[0]].ndim != 1:
            raise DataError(f"columns differ in length: {shapes}")
    if not np.array_equal(arrays["predicted"], decide_by_threshold(arrays["score"], arrays["threshold"])):
        raise DataError("column predicted is not score >= threshold")
    table = pd.DataFrame({name: arrays[name] for name in kinds if name in _TABLE or name == "probability"})
    TripleSet(table[["s", "p", "o"]].to_numpy(), len(entities), len(relations), "columns s, p, o")
    of = check_ids("relation of a threshold", arrays["thresholds_relation"], len(relations), (None,))
    labels = np.array(relations.labels, dtype=object)[of]
    columns = {name.removeprefix("thresholds_"): arrays[name] for name in _THRESHOLDS}
    thresholds = pd.DataFrame(columns, index=pd.Index(labels, name="relation", dtype=object))
    source = np.where(arrays["thresholds_is_own"], "relation", "global").astype(object)
    thresholds.insert(len(_THRESHOLDS) - 1, "source", source)
    return ClassificationResult(
        table=table,
        thresholds=thresholds,
        global_threshold=float(arrays["global_threshold"]),
        entities=entities,
        relations=relations,
        about=header["about"],
        dropped=header["dropped"],
        notes=header["notes"],
        columns=unpack_columns(arrays, header, len(table)),
    )


READERS["classification"] = _read_classification
