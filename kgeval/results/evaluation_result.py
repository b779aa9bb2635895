"""EvaluationResult: the ranks of one scorer, what they were made from, and every number on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_one_of, check_seed
from kgeval.data import (
    SETTINGS,
    Dataset,
    Protocol,
    Vocabulary,
    check_side,
    given_and_asked_where,
    triple_ids,
    with_labels,
)
from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.features import FEATURES, OVER_SPLITS, features_at_hand, features_of
from kgeval.metrics import (
    REASON,
    TIE_POLICIES,
    Cell,
    Group,
    Metric,
    MetricValue,
    QueryLevel,
    RankMetric,
    metric_frame,
    parse_all,
    split_list,
)
from kgeval.metrics.retrieval import ListMetric, Lists, tabulate
from kgeval.results.columns import (
    TAKEN_OVER,
    dataset_of,
    group_labels,
    group_names,
    join_columns,
    same_columns,
    says_splits,
)
from kgeval.results.display import show_html, show_text
from kgeval.results.explanations import Source, explain_row, extreme_rows, nearest_rivals, no_rivals
from kgeval.results.files import READERS, pack_ranks, unpack_ranks, write_result
from kgeval.results.keys import SIDE_WORDS, Key
from kgeval.results.lists import no_lists, query_lists
from kgeval.results.rank_table import INTERVALS, RankTable
from kgeval.stats import Interval, check_confidence, robust_interval

DEFAULT_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")
CONFIDENCE = 0.95
BREAKDOWNS = ("relation", "side", "split")
RESERVED = ("rank_raw", "rank_filtered", "n", "share", REASON)  # columns that tables have


class EvaluationResult:
    """Ranks as counts, with everything needed to know what they mean; every number on demand.

    Made by `kgeval.evaluate`, `kgeval.evaluate_scores` and `kgeval.load_result`. It does not change: methods that add
    something return another result.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per (triple, side): ``s, p, o`` (ids), ``side``, ``split``, ``score`` of the positive,
        and ``better``, ``tied``, ``rivals``, each ``_raw`` and ``_filtered``.
    entities, relations : Vocabulary
    protocol : Protocol
    about : dict
        JSON-able: dataset name, fingerprint and observations, scorer, kgeval's version; ``n_read``, how many (triple,
        side) rows were read, equals the ranked and the dropped ones together.
    dropped : dict of str to int
        (triple, side) rows that were read and not ranked, by reason.
    notes : sequence of str
        Cautions that belong to the numbers.
    columns : pandas.DataFrame, optional
        Further columns to break down by, one row per row of `table`; see `with_columns`.
    rivals : pandas.DataFrame, optional
        The best rivals of some rows, as a file keeps them; see `kgeval.results.kept_rivals`.
    source : Source, optional
        Dataset and scorer, while they are at hand; not saved.

    Attributes
    ----------
    rank_table : RankTable
        The table with its protocol: moments, clusters and counts of any rows, for statistics of one's own.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset)
    >>> result["mr"], result["object.mrr"], result["raw.subject.hits@3"]
    (3.0, 0.5, 0.0)
    >>> float(result.by("relation", metrics="mr").loc["0", "mr"])
    3.0
    """

    def __init__(
        self,
        table: pd.DataFrame,
        entities: Vocabulary,
        relations: Vocabulary,
        protocol: Protocol,
        about: dict[str, Any],
        dropped: dict[str, int] | None = None,
        notes: Sequence[str] = (),
        columns: pd.DataFrame | None = None,
        rivals: pd.DataFrame | None = None,
        source: Source | None = None,
    ) -> None:
        self.rank_table = RankTable(table, protocol)
        self.entities, self.relations = entities, relations
        self.dropped: dict[str, int] = dict(dropped or {})
        self.about = {"n_read": len(table) + sum(self.dropped.values()), **about}
        self.notes = tuple(notes)
        self.columns = pd.DataFrame(index=pd.RangeIndex(len(table))) if columns is None else columns
        self._rivals, self._source = rivals, source
        self._check_counts()

    def _check_counts(self) -> None:
        n_read, n = self.about["n_read"], len(self.table)
        counts = [*self.dropped.values(), n_read]
        if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
            raise DataError(f"counts of rows must be integers of at least 0; got {counts}")
        if n + sum(self.dropped.values()) != n_read:
            raise DataError(
                f"{n_read} rows were read, but {n} ranked and {sum(self.dropped.values())} dropped; nothing may be lost"
            )
        if len(self.columns) != n:
            raise DataError(f"columns has {len(self.columns)} rows; the table has {n}")
        if self._rivals is not None and (self._rivals["row"] >= n).any():
            raise DataError(f"rivals are of row {self._rivals['row'].max()}; the table has {n}")

    def __replace__(self, **changes: Any) -> EvaluationResult:
        """Return the same result with some parts changed, named as the parameters of the class."""
        return EvaluationResult(**({**self._parts(), "source": self._source} | changes))

    def _parts(self) -> dict[str, Any]:
        """Return the parameters of the class that a file keeps."""
        names = ("table", "protocol", "entities", "relations", "about", "dropped", "notes", "columns")
        return {**{name: getattr(self, name) for name in names}, "rivals": self._rivals}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EvaluationResult):
            return NotImplemented
        names = ("about", "dropped", "notes", "entities", "relations")
        same = all(getattr(self, name) == getattr(other, name) for name in names) and have_same_ranks(self, other)
        mine, theirs = (one.columns.drop(columns=[*FEATURES], errors="ignore") for one in (self, other))
        return same and same_columns(mine, theirs)  # features follow from the dataset

    __hash__ = None  # type: ignore[assignment]

    @property
    def table(self) -> pd.DataFrame:
        """One row per (triple, side); see the class."""
        return self.rank_table.frame

    @property
    def protocol(self) -> Protocol:
        """What was asked, against whom, and what was left out."""
        return self.rank_table.protocol

    @property
    def tie_rate(self) -> float:
        """Share of filtered ranks whose positive ties with at least one rival."""
        return self.rank_table.tie_rate

    def __getitem__(self, key: str | Metric) -> float:
        return self.rank_table.value(key).value

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
        return self.rank_table.value(key)

    def chance(self, key: str | Metric) -> MetricValue:
        """Return what a scorer that knows nothing is expected to reach under `key`."""
        return self.rank_table.value(key, at_chance=True)

    def interval(
        self,
        key: str | Metric,
        *,
        confidence: float = CONFIDENCE,
        method: str = "robust",
        cluster: str = "triple",
        n_resamples: int = 2000,
        seed: int = 0,
    ) -> Interval:
        """Return the number of `key` with an interval for the queries being a sample.

        Parameters
        ----------
        key : str or Metric
        confidence : float
            Nominal coverage, between 0 and 1.
        method : str
            ``"robust"``: the cluster-robust standard error, with Student's t (Wilson's interval for shares);
            ``"percentile"``, ``"bca"``: the bootstrap of whole clusters.
        cluster : str
            What is not independent: ``"triple"``, both sides of a triple; ``"query"``, all triples of a query.
            Query-level metrics count each query once and by itself.
        n_resamples, seed : int
            Of the bootstrap.

        Raises
        ------
        MetricError
            If the key or a choice is unknown.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> print(evaluate(lambda s, p, o: o, dataset).interval("object.mr"))
        2.5000 [1.0000, 8.8531]
        """
        check_confidence(confidence)
        check_one_of("method", method, INTERVALS, MetricError)
        check_seed(seed, MetricError)
        parsed = Key.parse(key)
        rows = self.rank_table.rows_of(parsed.side)
        clusters = self.rank_table.clusters(cluster, rows)
        return self.rank_table.interval(
            parsed, rows, confidence=confidence, clusters=clusters, method=method, n_resamples=n_resamples, seed=seed
        )

    def weighted(self, key: str | Metric, weights: Any, *, confidence: float = CONFIDENCE) -> Interval:
        """Return the number of `key` with ranks that count differently, such as less for popular entities.

        Parameters
        ----------
        key : str or Metric
            Of ranks; ``query.`` metrics, the median, ``z(...)`` and expected GMR have no weighted form.
        weights : float array, shape (rows,)
            For each row of `table`, not negative, not all 0; for example of `kgeval.features.popularity_weights`.
        confidence : float

        Raises
        ------
        MetricError
            If there are not as many weights as rows, one is negative or not finite, or the metric has no such form.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 2]], n_entities=4, n_relations=1)
        >>> result = evaluate(lambda s, p, o: -abs(o - 1.1), dataset)
        >>> result["object.mr"], result.weighted("object.mr", [0, 0, 1, 3]).value
        (1.0, 1.0)
        """
        check_confidence(confidence)
        parsed = Key.parse(key)
        if not isinstance(parsed.metric, RankMetric):
            raise MetricError(f"query-level metrics cannot be weighted; got {parsed.metric}")
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (len(self.table),) or not np.isfinite(given).all() or (given < 0).any():
            raise MetricError(
                f"weights must be finite and at least 0, one for each of the {len(self.table)} rows of the table; "
                f"got shape {given.shape}, from {given.min(initial=np.inf):g} to {given.max(initial=-np.inf):g}"
            )
        rows = self.rank_table.rows_of(parsed.side)
        if not given[rows].any():
            raise MetricError(f"the weights of all {len(rows)} ranks of {key!r} are 0")
        if parsed.metric.has_moments and not parsed.metric.is_weightable(parsed.ties):
            raise MetricError(
                f"{parsed.metric} under {parsed.ties} ties depends on how many ranks there are, not on means"
            )
        moments = self.rank_table.moments(parsed, rows).weighted(given[rows])
        return robust_interval(moments, self.rank_table.clusters("triple", rows), confidence, parsed.metric.bounds)

    def summary(
        self,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        ties: str | None = None,
        confidence: float | None = None,
    ) -> pd.DataFrame:
        """Return a table of metrics for each setting and side.

        Parameters
        ----------
        metrics : sequence of str or Metric, or one string with commas
        ties : str, optional
            By default each metric's own: realistic ties, or expected ones for ``query.`` metrics.
        confidence : float, optional
            Of intervals, such as 0.95; by default there are none.

        Returns
        -------
        pandas.DataFrame
            Rows are settings by sides. Columns: ``n``, each metric under its key (``"mrr"``), with its interval in
            ``"mrr low"`` and ``"mrr high"`` if asked, and ``reason``: why a number is NaN or has no interval.
        """
        _check_choices(ties, confidence)
        groups: dict[Group, tuple[str, Ids]] = {
            (setting, side): (setting, self.rank_table.rows_of(side))
            for setting in reversed(SETTINGS)
            for side in self.rank_table.sides
        }
        return self.rank_table.metric_frame(groups, ["setting", "side"], parse_all(metrics), ties, confidence)

    def by(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        ties: str | None = None,
        confidence: float | None = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return metrics per group of ranks.

        Parameters
        ----------
        *columns : str
            One or more of ``"relation"``, ``"side"``, ``"split"``; a feature of the dataset (``"cardinality"``,
            ``"pattern"``, ... see `kgeval.features.FEATURES`); or a column of `with_columns`.
        metrics : sequence of str or Metric, or one string with commas
        setting : str
        ties : str, optional
            As in `summary`.
        confidence : float, optional
            Of the intervals, clustered by triple; None leaves them out.

        Returns
        -------
        pandas.DataFrame
            Indexed by the groups (relations by label), most ranks first, buckets in their order. Columns ``n``,
            ``share`` of all ranks, and the metrics as in `summary`.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        _check_choices(ties, confidence)
        parsed, names = parse_all(metrics), group_names(columns)
        groups = {label: (setting, rows) for label, rows in self._groups(names)}
        frame = self.rank_table.metric_frame(groups, names, parsed, ties, confidence)
        frame.insert(1, "share", frame["n"] / max(1, len(self.table)))
        return frame

    def averages(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
        setting: str = "filtered",
        ties: str | None = None,
        confidence: float | None = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return each metric over all ranks alike (``micro``), and as the mean over groups of each group's (``macro``).

        Parameters
        ----------
        *columns : str
            As in `by`; for example ``"relation"``.
        metrics : sequence of str or Metric, or one string with commas
        setting : str
        ties : str, optional
        confidence : float, optional
            As in `by`.

        Returns
        -------
        pandas.DataFrame
            Rows ``micro`` and ``macro``; columns ``n`` (ranks; groups), and the metrics as in `summary`.
            The interval of ``macro`` takes the groups as given: other relations are not what it is about.
        """
        check_one_of("setting", setting, SETTINGS, MetricError)
        _check_choices(ties, confidence)
        parsed, groups = parse_all(metrics), [rows for _, rows in self._groups(group_names(columns))]
        micro, macro = {}, {}
        for metric in parsed:
            key = Key(metric, setting=setting, ties=ties or "")
            micro[str(metric)] = Cell.of(self.rank_table.interval(key, confidence=confidence or CONFIDENCE))
            try:
                macro[str(metric)] = Cell.of(self.rank_table.macro(key, groups, confidence or CONFIDENCE))
            except MetricError as error:
                macro[str(metric)] = Cell(np.nan, reason=str(error))
        index = pd.Index(["micro", "macro"], name="average", dtype=object)
        counts = [len(self.table), len(groups)]
        return metric_frame(index, [micro, macro], map(str, parsed), counts, with_intervals=confidence is not None)

    def lists(self, side: str = "both", setting: str = "filtered") -> Lists:
        """Return one ranked list per query, for the metrics and curves of `kgeval.metrics.retrieval`.

        All candidates of the query stand in its list, its ranked answers relevant; in the filtered setting
        its other known answers are no candidates.

        Parameters
        ----------
        side, setting : str

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
        rows_of_side = self.table.iloc[self.rank_table.rows_of(SIDE_WORDS[side])]
        lists, rows = query_lists(rows_of_side, self.protocol, setting)
        is_subject = (rows["side"] == "subject").to_numpy()
        given, _ = given_and_asked_where(rows[["s", "p", "o"]].to_numpy(), is_subject)
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
            Indexed by side, relation and given entity (labels); columns ``n`` (answers), the metrics, and ``reason``.
        """
        lists = self.lists(side, setting)
        asked = split_list(metrics) if isinstance(metrics, str) else metrics
        plain = [metric.removeprefix("query.") if isinstance(metric, str) else metric for metric in asked]
        frame = tabulate(lists, plain, ties, average=None)
        frame.insert(0, "n", lists.n_relevant)
        return frame

    def with_columns(self, columns: pd.DataFrame | Mapping[str, Any]) -> EvaluationResult:
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
        >>> result.with_columns(kinds).by("kind", metrics="mr", confidence=None)["mr"].round(4).to_dict()
        {'a': 2.6667, 'b': 2.0}
        """
        taken = {*BREAKDOWNS, *FEATURES, *self.table.columns, *self.columns.columns, *RESERVED}
        joined, notes = join_columns(columns, self.table, self.entities, self.relations, taken)
        return self.__replace__(columns=pd.concat([self.columns, joined], axis=1), notes=(*self.notes, *notes))

    def with_features(
        self,
        dataset: Dataset | None = None,
        *,
        names: Sequence[str] | None = None,
        types: pd.Categorical | None = None,
        splits_for_means: Sequence[str] | None = None,
    ) -> EvaluationResult:
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
        dataset = dataset_of(self.about, dataset, self._source.dataset if self._source else None, names or FEATURES)
        found, said = features_of(
            self.table, self.protocol, dataset, names=names, splits_for_means=splits_for_means, types=types
        )
        made = [name for name in OVER_SPLITS if name in found]
        if made and splits_for_means is not None:
            splits = [splits_for_means] if isinstance(splits_for_means, str) else splits_for_means
            said.append(f"{' and '.join(made)}{TAKEN_OVER}{'+'.join(splits)}")
        notes = [note for note in self.notes if not (made and TAKEN_OVER in note)]  # those of columns that are replaced
        kept = self.columns.drop(columns=[name for name in found if name in self.columns])
        notes += [note for note in said if note not in notes]
        return self.__replace__(columns=pd.concat([kept, found], axis=1), notes=notes)

    def explain(
        self, s: str | int, p: str | int, o: str | int, side: str = "object", limit: int | None = None
    ) -> pd.DataFrame:
        """Return the candidates that stand above a positive; the scorer is asked for their scores again.

        Parameters
        ----------
        s, p, o : str or int
            A ranked triple, by labels or by ids.
        side : str
            Which place was asked.
        limit : int, optional
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
        if self._source is None:
            raise DataError(
                "this result has no scorer to ask: it was loaded from a file. Evaluate again, or run kgeval explain"
            )
        return explain_row(self.rank_table, self._source, self._row(s, p, o, check_side(side)), limit)

    def labelled(self) -> pd.DataFrame:
        """Return the ranks table with labels in place of ids, and the realistic ranks beside the counts."""
        frame = with_labels(self.table, self.entities, self.relations)
        for setting in SETTINGS:
            frame[f"rank_{setting}"] = self.rank_table.ranks(setting)
        return frame

    def header(self, ties: str = "realistic") -> list[str]:
        """Return the lines that say what the numbers are of: dataset, protocol, what was dropped, cautions.

        Parameters
        ----------
        ties : str
            The tie policy that the lines name.

        Raises
        ------
        MetricError
            If there is no such tie policy.
        """
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
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
        result, rivals, notes = self, self._rivals, list(self.notes)
        if details and self._source:
            new = [name for name in features_at_hand(self._source.dataset) if name not in self.columns]
            result = self.with_features(names=new)
            rivals, reason = kept_rivals(self)
            notes += [reason] if reason else []
        parts = {**result._parts(), "rivals": rivals, "notes": notes}
        write_result(path, "result", *pack_ranks(parts), overwrite=overwrite)

    def _groups(self, names: Sequence[str]) -> list[tuple[Group, Ids]]:
        """Return the groups of rows that agree in some columns, by their names, most rows first."""
        return group_labels({name: self._column(name) for name in names}, len(self.table))

    def _column(self, name: str) -> Any:
        """Return what to group by under `name`: one value per row."""
        if name == "relation":
            return pd.Categorical.from_codes(self.table["p"].to_numpy(), pd.Index(self.relations.labels, dtype=object))
        if name in BREAKDOWNS:
            return self.table[name].array
        if name in self.columns.columns:
            return self.columns[name].array
        if name in FEATURES:
            return self.with_features(names=[name]).columns[name].array
        known = dict.fromkeys([*BREAKDOWNS, *self.columns.columns, *FEATURES])
        return check_one_of("by", name, known, MetricError)

    def _row(self, s: str | int, p: str | int, o: str | int, side: str) -> int:
        """Return the first row of the table that ranks a triple on a side."""
        ids = triple_ids(self.entities, self.relations, (s, p, o))
        is_it = (self.table[["s", "p", "o"]].to_numpy() == ids).all(axis=1) & (self.table["side"] == side).to_numpy()
        if not is_it.any():
            splits = "+".join(self.protocol.splits)
            labels = [self.entities.labels[ids[0]], self.relations.labels[ids[1]], self.entities.labels[ids[2]]]
            raise DataError(
                f"({', '.join(map(repr, labels))}), ids {tuple(map(int, ids))}, was not ranked on the {side} side; "
                f"is it in {splits}?"
            )
        return int(np.argmax(is_it))

    def _lines(self) -> list[str]:
        return [*self.header(), *(f"note: {caution}" for caution in metric_cautions(self, DEFAULT_METRICS))]

    def __repr__(self) -> str:
        return show_text(self._lines(), self.summary())

    def _repr_html_(self) -> str:
        return show_html(self._lines(), self.summary())


def metric_cautions(result: EvaluationResult, metrics: Sequence[str | Metric] | str) -> list[str]:
    """Return what must be known about the values of `metrics` on the ranks of a result, if anything."""
    rivals = result.rank_table.counts("filtered").rivals
    parsed = parse_all(metrics)
    said = [metric.caution(rivals) for metric in parsed if isinstance(metric, RankMetric)]
    if any(isinstance(metric, QueryLevel) for metric in parsed):
        n_queries = len(query_lists(result.table, result.protocol, "raw")[0])
        said.append(
            f"query. metrics count each of the {n_queries:,} queries once, all its ranked answers "
            "relevant together; expected ties unless others are asked"
        )
    return list(dict.fromkeys(caution for caution in said if caution))


def have_same_ranks(one: EvaluationResult, other: EvaluationResult) -> bool:
    """Tell whether two results are of the same ranks, whatever notes and columns they have besides."""
    if one is other:
        return True
    same = one.protocol == other.protocol and one.about["dataset_fingerprint"] == other.about["dataset_fingerprint"]
    return same and one.table.equals(other.table)


def rank_groups(result: EvaluationResult, names: Sequence[str]) -> list[tuple[Group, Ids]]:
    """Return the groups of rows that `EvaluationResult.by` makes of some columns, by their names."""
    return result._groups(names)


def with_all_features(result: EvaluationResult, dataset: Dataset | None = None) -> EvaluationResult:
    """Return the result with every feature that can be computed; the same one where no dataset is at hand.

    Columns that the result has stay as they are. Where a note says over which splits some are taken, none is added that
    would be taken over others.

    Parameters
    ----------
    result : EvaluationResult
    dataset : Dataset, optional
        By default the one that the result has at hand.
    """
    dataset = dataset or (result._source.dataset if result._source else None)
    if dataset is None:
        return result
    left_out = {*result.columns.columns, *(OVER_SPLITS if says_splits(result.notes) else ())}
    return result.with_features(dataset, names=[name for name in features_at_hand(dataset) if name not in left_out])


def kept_rivals(result: EvaluationResult) -> tuple[pd.DataFrame, str]:
    """Return the best rivals of the worst and the best ranked rows, known answers left out.

    Returns
    -------
    rivals : pandas.DataFrame
        Columns ``row`` (place in the table), ``place`` (1 is the best), ``entity`` (id), ``score``. Empty in a result
        that was saved without them, in one whose scorer is gone, and where the scorer answers otherwise now.
    reason : str
        Why there are none although the scorer is at hand; else empty.
    """
    if result._rivals is not None:
        return result._rivals, ""
    if result._source is None:
        return no_rivals(), ""
    try:
        return nearest_rivals(result.rank_table, result._source, extreme_rows(result.rank_table)), ""
    except ScoreError as error:
        return no_rivals(), f"no rivals of the worst and best ranks are kept: {error}"


def _check_choices(ties: str | None, confidence: float | None) -> None:
    if ties is not None:
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
    if confidence is not None:
        check_confidence(confidence)


def _read_evaluation(arrays: dict[str, Any], header: dict[str, Any], version: int) -> EvaluationResult:
    return EvaluationResult(**unpack_ranks(arrays, header, version))


READERS["result"] = _read_evaluation
