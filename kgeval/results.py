"""EvaluationResult: the stored counts, what they were made from, and every number on demand."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.archive import pack_labels, read_archive, unpack_labels, write_archive
from kgeval.checks import check_ids, check_one_of
from kgeval.corruption import SETTINGS
from kgeval.errors import DataError, KgevalError, MetricError
from kgeval.keys import SIDE_WORDS, Key
from kgeval.metrics import TIE_POLICIES, Metric, MetricValue, QueryLevel, RankMetric, parse_all
from kgeval.metrics.base import split_list
from kgeval.metrics.list_metric import ListMetric
from kgeval.metrics.lists import Lists
from kgeval.metrics.retrieval import tabulate
from kgeval.protocol import Protocol
from kgeval.query_lists import no_lists, query_lists
from kgeval.triples import TripleSet, Vocabulary

DEFAULT_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")
BREAKDOWNS = {"relation": "p", "side": "side", "split": "split"}
TABLE_COLUMNS = (
    "s", "p", "o", "side", "split", "score",
    "better_raw", "tied_raw", "rivals_raw", "better_filtered", "tied_filtered", "rivals_filtered",
)  # fmt: skip
FORMAT = "kgeval result 1"


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Ranks as counts, with everything needed to know what they mean.

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

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset)
    >>> result["mr"], result["object.mrr"], result["raw.subject.hits@3"]
    (3.0, 0.5, 0.0)
    >>> float(result.by("relation", metrics="mr").loc["0", "MR"])
    3.0
    """

    table: pd.DataFrame
    entities: Vocabulary
    relations: Vocabulary
    protocol: Protocol
    about: dict[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)
    n_read: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        counts = [*self.dropped.values(), self.n_read]
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
            raise DataError(f"counts of rows must be integers of at least 0; got {counts}")
        if len(self.table) + sum(self.dropped.values()) != self.n_read:
            raise DataError(
                f"{self.n_read} rows were read, but {len(self.table)} ranked and "
                f"{sum(self.dropped.values())} dropped; nothing may be lost"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EvaluationResult):
            return NotImplemented
        same = self.protocol == other.protocol and self.about == other.about and self.dropped == other.dropped
        return same and self.table.equals(other.table) and self.entities == other.entities

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: str | Metric) -> float:
        return self.value(key).value

    def value(self, key: str | Metric) -> MetricValue:
        """Return the number of `key`, or NaN with the reason.

        Parameters
        ----------
        key : str or Metric
            ``[setting.][side.][ties.]metric``; by default filtered, both sides, and realistic ties
            (expected ties for ``query.`` metrics).

        Raises
        ------
        MetricError
            If the key cannot be read, or names a side that was not asked.
        """
        parsed = Key.parse(key)
        return self._compute(parsed, self._rows(parsed.side))

    def chance(self, key: str | Metric) -> MetricValue:
        """Return what a scorer that knows nothing is expected to reach under `key`."""
        parsed = Key.parse(key)
        return self._compute(parsed, self._rows(parsed.side), at_chance=True)

    def _rows(self, side: str) -> pd.DataFrame:
        if side == "both":
            return self.table
        if side not in self.protocol.sides:
            raise MetricError(f"the {side} side was not asked; this result has {', '.join(self.protocol.sides)}")
        return self.table[(self.table["side"] == side).to_numpy()]

    def _compute(
        self, key: Key, rows: pd.DataFrame, at_chance: bool = False, lists: Lists | None = None
    ) -> MetricValue:
        """Return the number of `key` for some rows of the table; `lists` are theirs, if they were made before."""
        metric = key.metric
        if isinstance(metric, QueryLevel):
            lacking = no_lists(self.protocol, key.setting)
            if lacking:
                return MetricValue.undefined(lacking)
            if lists is None:
                lists, _ = query_lists(rows, self.protocol, key.setting)
            return metric.chance_of(lists) if at_chance else metric.compute_lists(lists, key.ties)
        better, tied, rivals = (rows[f"{name}_{key.setting}"].to_numpy() for name in ("better", "tied", "rivals"))
        return metric.chance(rivals) if at_chance else metric.compute(better, tied, rivals, key.ties)

    def lists(self, side: str = "both", setting: str = "filtered") -> Lists:
        """Return one ranked list per query, for the metrics and curves of `kgeval.metrics.retrieval`.

        All candidates of the query stand in its list, its ranked answers relevant; in the filtered setting
        its other known answers are no candidates.

        Returns
        -------
        Lists
            ``names`` are (side, relation label, label of the given entity).

        Raises
        ------
        MetricError
            If the filter of the protocol does not know the ranked splits.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        check_one_of("side", side, SIDE_WORDS, MetricError)
        lacking = no_lists(self.protocol, setting)
        if lacking:
            raise MetricError(lacking)
        lists, rows = query_lists(self._rows(SIDE_WORDS[side]), self.protocol, setting)
        given = np.where((rows["side"] == "subject").to_numpy(), rows["o"].to_numpy(), rows["s"].to_numpy())
        columns = [
            rows["side"].astype(str).to_numpy(dtype=object),
            np.array(self.relations.labels, dtype=object)[rows["p"].to_numpy()],
            np.array(self.entities.labels, dtype=object)[given],
        ]
        return replace(lists, names=pd.MultiIndex.from_arrays(columns, names=["side", "relation", "given"]))

    def per_query(
        self,
        metrics: Sequence[str | ListMetric] | str,
        side: str = "both",
        setting: str = "filtered",
        ties: str = "expected",
    ) -> pd.DataFrame:
        """Return query-level metrics of each query.

        Parameters
        ----------
        metrics : sequence of str or ListMetric, or one string with commas
            As in ``query.`` keys, with or without the prefix: ``"map,ndcg@10"``.
        side, setting, ties : str

        Returns
        -------
        pandas.DataFrame
            Indexed by side, relation and given entity (labels); columns ``n`` (answers) and the metrics.
        """
        lists = self.lists(side, setting)
        asked = split_list(metrics) if isinstance(metrics, str) else metrics
        plain = [metric.removeprefix("query.") if isinstance(metric, str) else metric for metric in asked]
        frame = tabulate(lists, plain, ties, average=None)
        frame.insert(0, "n", lists.n_relevant)
        return frame

    @property
    def sides(self) -> tuple[str, ...]:
        """``both`` and each side, or the only side asked."""
        return ("both", *self.protocol.sides) if len(self.protocol.sides) > 1 else tuple(self.protocol.sides)

    def summary(self, metrics: Sequence[str | Metric] | str = DEFAULT_METRICS, ties: str | None = None) -> pd.DataFrame:
        """Return a table of metrics: rows are settings by sides, columns n and metrics.

        Undefined values are NaN; ``frame.attrs["reasons"]`` says why. Without `ties`, each metric has its
        default: realistic ties, or expected ones for ``query.`` metrics.
        """
        _check_ties(ties)
        parsed = parse_all(metrics)
        groups: dict[tuple[str, ...], tuple[str, pd.DataFrame]] = {
            (setting, side): (setting, self._rows(side)) for setting in reversed(SETTINGS) for side in self.sides
        }
        return self._metric_frame(groups, ["setting", "side"], parsed, ties)

    def by(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        ties: str | None = None,
    ) -> pd.DataFrame:
        """Return metrics per group of ranks.

        Parameters
        ----------
        *columns : str
            One or more of ``"relation"``, ``"side"``, ``"split"``.
        metrics : sequence of str or Metric
        setting : str
        ties : str, optional
            As in `summary`.

        Returns
        -------
        pandas.DataFrame
            Indexed by the groups (relations by label), columns n and metrics, most ranks first.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        _check_ties(ties)
        if not columns:
            raise MetricError("say what to group by: 'relation', 'side' or 'split'")
        for column in columns:
            check_one_of("by", column, BREAKDOWNS, MetricError)
        parsed = parse_all(metrics)
        keys = [BREAKDOWNS[column] for column in columns]
        grouped = self.table.groupby(keys, observed=True, sort=True).indices
        order = sorted(grouped.items(), key=lambda item: -len(item[1]))
        groups = {self._group_label(columns, name): (setting, self.table.iloc[np.sort(rows)]) for name, rows in order}
        return self._metric_frame(groups, list(columns), parsed, ties)

    def _metric_frame(
        self,
        groups: dict[tuple[str, ...], tuple[str, pd.DataFrame]],
        names: list[str],
        metrics: list[RankMetric | QueryLevel],
        ties: str | None,
    ) -> pd.DataFrame:
        records, reasons = [], {}
        for label, (setting, rows) in groups.items():
            record: dict[str, float] = {"n": len(rows)}
            has_lists = any(isinstance(metric, QueryLevel) for metric in metrics) and not no_lists(
                self.protocol, setting
            )
            lists = query_lists(rows, self.protocol, setting)[0] if has_lists else None
            for metric in metrics:
                found = self._compute(Key(metric, setting=setting, ties=ties or ""), rows, lists=lists)
                record[metric.heading] = found.value
                if found.reason:
                    reasons[(*label, metric.heading)] = found.reason
            records.append(record)
        index: pd.Index[Any] = (
            pd.MultiIndex.from_tuples(list(groups), names=names)
            if len(names) > 1
            else pd.Index([label[0] for label in groups], name=names[0], dtype=object)
        )
        frame = pd.DataFrame(records, index=index, columns=["n", *dict.fromkeys(metric.heading for metric in metrics)])
        frame.attrs["reasons"] = reasons
        return frame

    def _group_label(self, columns: Sequence[str], name: Any) -> tuple[str, ...]:
        parts = name if isinstance(name, tuple) else (name,)
        return tuple(
            self.relations.labels[int(part)] if column == "relation" else str(part)
            for column, part in zip(columns, parts)
        )

    def labelled(self) -> pd.DataFrame:
        """Return the ranks table with labels in place of ids, and the realistic ranks beside the counts."""
        frame = self.table.copy()
        for column, vocabulary in (("s", self.entities), ("p", self.relations), ("o", self.entities)):
            frame[column] = np.array(vocabulary.labels, dtype=object)[frame[column].to_numpy()]
        for setting in SETTINGS:
            frame[f"rank_{setting}"] = frame[f"better_{setting}"] + 1 + frame[f"tied_{setting}"] / 2
        return frame

    @property
    def tie_rate(self) -> float:
        """Share of filtered ranks whose positive ties with at least one rival."""
        return float((self.table["tied_filtered"] > 0).mean()) if len(self.table) else float("nan")

    def with_notes(self, *notes: str) -> EvaluationResult:
        """Return the same result with more cautions."""
        return replace(self, notes=(*self.notes, *notes))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write everything to one file, conventionally ``.kgeval``; read it with `kgeval.load_result`.

        The file appears complete or not at all; it holds no pickle.
        """
        header = {
            "format": FORMAT,
            "protocol": self.protocol.to_dict(),
            "about": self.about,
            "dropped": self.dropped,
            "n_read": self.n_read,
            "notes": list(self.notes),
        }
        arrays: dict[str, npt.NDArray[Any]] = {}
        for column in TABLE_COLUMNS:
            values = self.table[column]
            if column in ("side", "split"):
                header[f"categories_{column}"] = [str(category) for category in values.cat.categories]
                values = values.cat.codes
            arrays[column] = values.to_numpy()
        arrays["entity_labels"] = pack_labels(self.entities.labels)
        arrays["relation_labels"] = pack_labels(self.relations.labels)
        write_archive(path, arrays, header, overwrite=overwrite)

    def cautions(self, metrics: Sequence[str | Metric] | str) -> list[str]:
        """Return what must be known about the values of `metrics` on these ranks, if anything."""
        rivals = self.table["rivals_filtered"].to_numpy()
        parsed = parse_all(metrics)
        said = [metric.caution(rivals) for metric in parsed if isinstance(metric, RankMetric)]
        if any(isinstance(metric, QueryLevel) for metric in parsed):
            n_queries = len(query_lists(self.table, self.protocol, "raw")[0])
            said.append(
                f"query. metrics count each of the {n_queries:,} queries once, all its ranked answers "
                "relevant together; expected ties unless others are asked"
            )
        return list(dict.fromkeys(caution for caution in said if caution))

    def head(self, ties: str = "realistic") -> list[str]:
        """Return the lines that say what the numbers are of."""
        about, dropped = self.about, sum(self.dropped.values())
        lines = [
            f"{about['dataset']}: {len(self.entities):,} entities, {len(self.relations):,} relations; "
            f"{'+'.join(self.protocol.splits)} {about['n_triples']:,} triples, {about['n_queries']:,} queries; "
            f"{about['n_unseen']:,} unseen, {dropped:,} dropped",
            f"{self.protocol.describe()}, {ties} ties (tie rate {self.tie_rate:.1%}); "
            f"protocol {self.protocol.fingerprint}, dataset {about['dataset_fingerprint'][:8]}, "
            f"kgeval {about['version']}",
        ]
        lines += [f"dropped: {n:,} ranks, {reason}" for reason, n in self.dropped.items()]
        lines += [f"dataset: {said}" for said in about["observations"]]
        return lines + [f"note: {note}" for note in self.notes]

    def _lines(self) -> list[str]:
        return [*self.head(), *(f"note: {caution}" for caution in self.cautions(DEFAULT_METRICS))]

    def __repr__(self) -> str:
        table = self.summary().to_string(float_format=lambda value: f"{value:.4f}")
        return "\n".join([*self._lines(), "", table])

    def _repr_html_(self) -> str:
        lines = "<br>".join(html.escape(line) for line in self._lines())
        return (
            f"<div><p>{lines}</p>{self.summary().to_html(float_format=lambda value: f'{value:.4f}', escape=True)}</div>"
        )


def _check_ties(ties: str | None) -> None:
    if ties is not None:
        check_one_of("ties", ties, TIE_POLICIES, MetricError)


def load_result(path: str | Path) -> EvaluationResult:
    """Read a result that `EvaluationResult.save` wrote.

    Raises
    ------
    DataError
        If the file is missing, damaged, or not a result of kgeval.
    """
    arrays, header = read_archive(path)
    if header.get("format") != FORMAT:
        raise DataError(f"{path}: expected format {FORMAT!r}; found {header.get('format')!r}")
    missing = [name for name in (*TABLE_COLUMNS, "entity_labels", "relation_labels") if name not in arrays]
    if missing:
        raise DataError(f"{path}: lacks {', '.join(missing)}; is the file damaged?")
    try:
        return _from_parts(arrays, header)
    except (KgevalError, KeyError, TypeError, ValueError, AttributeError) as error:
        what = error if isinstance(error, KgevalError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path}: is damaged: {what}") from error


def _check_table(
    arrays: dict[str, npt.NDArray[Any]], header: dict[str, Any], n_entities: int, n_relations: int
) -> None:
    """Raise a DataError unless the columns of a saved table are possible."""
    lengths = {name: arrays[name].shape for name in TABLE_COLUMNS}
    if len(set(lengths.values())) > 1 or arrays["s"].ndim != 1:
        raise DataError(f"columns differ in length: {lengths}")
    TripleSet(np.column_stack([arrays[name] for name in "spo"]), n_entities, n_relations, "columns s, p, o")
    for name in ("side", "split"):
        check_ids(name, arrays[name], len(header[f"categories_{name}"]), (None,))
    for setting in SETTINGS:
        better, tied, rivals = (
            check_ids(f"{name}_{setting}", arrays[f"{name}_{setting}"], n_entities, (None,))
            for name in ("better", "tied", "rivals")
        )
        if (better + tied > rivals).any():
            raise DataError(f"better_{setting} + tied_{setting} exceed rivals_{setting}")
    if any((arrays[f"{name}_filtered"] > arrays[f"{name}_raw"]).any() for name in ("better", "tied", "rivals")):
        raise DataError("filtered counts exceed raw ones")


def _from_parts(arrays: dict[str, npt.NDArray[Any]], header: dict[str, Any]) -> EvaluationResult:
    wanted = ("protocol", "about", "dropped", "n_read", "notes", "categories_side", "categories_split")
    lacking = [name for name in wanted if name not in header]
    if lacking:
        raise DataError(f"lacks {', '.join(lacking)}")
    entities, relations = (Vocabulary(unpack_labels(arrays[f"{kind}_labels"])) for kind in ("entity", "relation"))
    _check_table(arrays, header, len(entities), len(relations))
    columns: dict[str, Any] = {name: arrays[name] for name in TABLE_COLUMNS}
    for name in ("side", "split"):
        columns[name] = pd.Categorical.from_codes(arrays[name], header[f"categories_{name}"])
    return EvaluationResult(
        table=pd.DataFrame(columns),
        entities=entities,
        relations=relations,
        protocol=Protocol.from_dict(header["protocol"]),
        about=header["about"],
        dropped=header["dropped"],
        n_read=header["n_read"],
        notes=tuple(header["notes"]),
    )
