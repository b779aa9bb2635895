"""compare() and Comparison: paired comparison of models, with tests, intervals and contributions of groups of ranks.

Users and the command ``kgeval compare`` call `compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, check_number, check_one_of, check_positive_int, check_seed
from kgeval.comparison.alignment import Alignment, align, cautions
from kgeval.comparison.cards import comparison_card
from kgeval.comparison.differences import (
    UNDECIDED,
    Sample,
    Terms,
    better_models,
    difference_table,
    entity_notes,
    group_table,
    pair_row,
    samples_of,
    undecided_notes,
    value_table,
)
from kgeval.comparison.names import listed, name_results
from kgeval.comparison.verdict import Verdict, is_at_floor, p_text, verdict_of
from kgeval.data import SETTINGS, with_labels
from kgeval.errors import DataError, MetricError, ProtocolError
from kgeval.features import FEATURES
from kgeval.metrics import Metric, display_of, split_list
from kgeval.results import BREAKDOWNS, PURPOSES, EvaluationResult, Key, rank_groups, show_text
from kgeval.stats import FEW_CLUSTERS, MAX_ENUMERATED, MIN_MID_P, check_confidence

COMPARED_METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences between results on the same ranked triples, with tests and intervals; `kgeval.compare` returns it.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per pair of results and metric: ``first, second, metric``; ``value_first, value_second, difference``
        (first minus second) with its interval ``low, high``; ``p``, the p-value of the paired randomization test, and
        ``p_holm``, the same p-value corrected by Holm's method for all tests of the table; ``detectable``, the minimum
        detectable difference at a power of 0.8; ``wins, ties, losses``, the number of observations (ranks or queries)
        in which the metric of the first model is better than, equal to, or worse than that of the second (those that
        depend on undecided ranks are in none of the three); ``n``, the number of observations; ``n_clusters``, the
        number of clusters; ``n_effective``, their effective number (see `Interval`); ``test``, ``"swaps"``
        (randomization test) or ``"t"`` (Student's t test, where clusters overlap); ``better``, the name of the better
        model if ``p_holm`` is at most `alpha`, else ``"undecided"``; ``reason``, why values are NaN.
    values : pandas.DataFrame
        One row per model. Columns: each metric under its key, the limits of its interval ``"<metric> low"`` and
        ``"<metric> high"``, and ``reason``.
    names : tuple of str
        The names of the models.
    keys : dict of str to Key
        The compared metrics: text of the key -> key.
    results : tuple of EvaluationResult
    alignment : Alignment
        The rows that were compared, and the mismatches between the results (for example in the protocol) that
        `override` accepted.
    terms : Terms
        Confidence, clusters, number of swaps and seed.
    notes : tuple of str
        Cautions about the numbers.
    """

    table: pd.DataFrame
    values: pd.DataFrame
    names: tuple[str, ...]
    keys: dict[str, Key]
    results: tuple[EvaluationResult, ...]
    alignment: Alignment
    terms: Terms
    notes: tuple[str, ...] = ()

    @property
    def overridden(self) -> dict[str, str]:
        """The overridden differences: field -> the values of the results in this field."""
        texts: dict[str, list[str]] = {}
        for mismatch in self.alignment.overridden:
            texts.setdefault(mismatch.field, []).append(mismatch.said)
        return {field: "; ".join(parts) for field, parts in texts.items()}

    @property
    def alpha(self) -> float:
        """The significance level, 1 - confidence: a difference is decided if its ``p_holm`` is at most `alpha`."""
        return self.terms.alpha

    def best(self, metric: str | Metric) -> str:
        """Return the name of the model with the best value; of models with equal values, the first in `names`.

        The value may be the best by chance. The column ``better`` of `table` names a model only if the difference is
        significant.

        Parameters
        ----------
        metric : str or Metric
            One of the compared metrics.

        Raises
        ------
        MetricError
            If the metric was not compared, if it is undefined for all models, or if a model with undecided ranks may
            have a better value than all others.
        """
        label = self._label(metric)
        key, values = self.keys[label], self.values[label].to_numpy()
        if np.isnan(values).all():
            raise MetricError(f"no model has a value for {label} ({self.values['reason'].iloc[0]})")
        best = int(np.nanargmax(values) if key.higher_is_better else np.nanargmin(values))
        sample = self._sample(key)
        for i in np.flatnonzero(np.isnan(values)):
            low, high = sample.bounds(self.results[i], int(i), key)
            if high > values[best] if key.higher_is_better else low < values[best]:
                raise MetricError(
                    f"{self.names[best]} has the best known value of {label}, {values[best]:.4f}, but that of "
                    f"{self.names[i]} lies between {low:.4f} and {high:.4f}, since ranks are undecided"
                )
        return self.names[best]

    def significant(self, alpha: float | None = None) -> pd.DataFrame:
        """Return the rows of `table` whose corrected p-value ``p_holm`` is at most `alpha`.

        Parameters
        ----------
        alpha : float, optional
            The significance level; by default 1 - confidence, the level that the column ``better`` uses.
        """
        level = self.alpha if alpha is None else check_number("alpha", alpha, 0.0, 1.0, "between 0 and 1")
        rows = self.table[(self.table["p_holm"] <= level).to_numpy()].reset_index(drop=True)
        return rows.assign(better=better_models(rows, self.keys, level))

    @cached_property
    def verdict(self) -> Verdict:
        """What the comparison says in one sentence, about its first metric; see `kgeval.comparison.verdict_of`."""
        return verdict_of(dict(zip(self.names, self.results)), self)

    def by(
        self, column: str, metric: str | Metric | None = None, first: str | None = None, second: str | None = None
    ) -> pd.DataFrame:
        """Return the difference between two models within each group of ranks, and the contribution of each group.

        Parameters
        ----------
        column : str
            As in `EvaluationResult.by`: ``"relation"``, ``"side"``, ``"split"``, a feature of the dataset such as
            ``"pattern"``, or another column of one of the results. If both models have the column, its values must be
            the same in both.
        metric : str or Metric, optional
            One of the compared metrics; by default the first.
        first, second : str, optional
            Names of two models; by default ``names[0]`` and ``names[1]``. If only `first` is passed, the second model
            is ``names[0]``, or ``names[1]`` if `first` is ``names[0]``.

        Returns
        -------
        pandas.DataFrame
            One row per group (label), largest absolute contribution first; buckets come in ascending order. Columns:
            ``n``, the number of observations of the group; ``share``, ``n`` divided by the number of all observations;
            ``value_first`` and ``value_second``, the metric of each model over the observations of the group;
            ``difference`` (first minus second) with its interval ``low, high``; ``contribution``; ``decided``, whether
            the interval of the group, corrected for the number of groups (Bonferroni), lies beyond 0; ``reversed``,
            whether it does so on the other side of 0 than the significant difference over all observations, so that
            the other model than in `table` is better in the group; ``n_effective``, the effective number of clusters;
            and ``reason``, why a value is NaN.

            The contributions add up to the difference between the models, which is ``attrs["difference"]``. If the
            metric is a mean, a contribution is ``share * difference``, and ``attrs["contribution"]`` is ``"exact"``.
            For other metrics, such as the GMR, the contributions come from a linear approximation of the metric, with
            the gradient at the point half-way between both models, and ``attrs["contribution"]`` is ``"linearised"``.

        Raises
        ------
        MetricError
            If the metric was not compared, or is not a function of means; if no result has the column, or two have
            different values in it; or if the metric is query-level and the answers of a query are in different groups.
        DataError
            If the column is a feature that no result has, and no result has its dataset in memory.
        ProtocolError
            If no model has the name `first` or `second`, or both names are the same.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> triples = [[i, 0, (i + 1) % 8] for i in range(8)]
        >>> dataset = Dataset.from_arrays(test=triples, n_entities=8, n_relations=1)
        >>> good = evaluate(lambda s, p, o: -((o - s - 1) % 8), dataset)
        >>> bad = evaluate(lambda s, p, o: -((o - s - 3) % 8), dataset)
        >>> comparison = compare([good, bad], names=["good", "bad"], metrics="mr")
        >>> comparison.by("side")[["n", "value_first", "value_second", "contribution"]].to_dict("index")["object"]
        {'n': 8, 'value_first': 1.0, 'value_second': 7.0, 'contribution': -3.0}
        """
        i, j = self._model_indices(first, second)
        label = next(iter(self.keys)) if metric is None else self._label(metric)
        key = self.keys[label]
        sample = self._sample(key)
        codes, labels, is_ordered = self._groups(column, sample, (i, j))
        row = pair_row(self.table, label, self.names[i], self.names[j])
        decided = 0.0 if row["better"] == UNDECIDED else row["difference"]
        groups = (sample.groups_of(codes), labels)
        frame = group_table(self.results, sample, key, (i, j), self.terms, groups, decided)
        frame.index.name = column
        if is_ordered:
            return frame
        return frame.sort_index().sort_values("contribution", key=np.abs, ascending=False, kind="stable")

    def by_relation(self, metric: str | Metric, first: str | None = None, second: str | None = None) -> pd.DataFrame:
        """Return the contribution of each relation to the difference between two models: ``by("relation", metric)``.

        Parameters
        ----------
        metric, first, second
            As in `by`.
        """
        return self.by("relation", metric, first, second)

    def disagreements(
        self, first: str | None = None, second: str | None = None, n: int = 10, setting: str = "filtered"
    ) -> pd.DataFrame:
        """Return the triples whose ranks differ most between two models, by ``|1 / rank_first - 1 / rank_second|``.

        Parameters
        ----------
        first, second : str, optional
            As in `by`.
        n : int
            The largest number of rows.
        setting : str
            ``"filtered"`` or ``"raw"``.

        Returns
        -------
        pandas.DataFrame
            Columns ``s, p, o`` (labels), ``side``, ``rank_first, rank_second`` (realistic ranks). The largest
            difference comes first; of equal ones, the one that comes first in the table of the first result. Equal
            ranks, and pairs of ranks of which one is undecided, are left out.

        Raises
        ------
        MetricError
            If `n` is not a positive integer, or `setting` is unknown, or a model has no ranks in it.
        ProtocolError
            If no model has the name `first` or `second`, or both names are the same.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> results = [evaluate(lambda s, p, o, sign=sign: sign * (s - o), dataset) for sign in (1, -1)]
        >>> compare(results, names=["A", "B"]).disagreements(n=1).values.tolist()
        [['0', '0', '1', 'subject', 4.0, 1.0]]
        """
        i, j = self._model_indices(first, second)
        check_positive_int("n", n, MetricError)
        check_one_of("setting", setting, SETTINGS, MetricError)
        rows = self.alignment.rows
        for k in (i, j):
            unknown = self.results[k].rank_table.unknown
            if setting in unknown:
                raise MetricError(f"{self.names[k]} has no {setting} ranks: {unknown[setting]}")
        ranks = [self.results[k].rank_table.ranks(setting, rows=rows[k]) for k in (i, j)]
        gaps = np.nan_to_num(np.abs(1.0 / ranks[0] - 1.0 / ranks[1]), nan=0.0)
        chosen = np.lexsort((rows[0], -gaps))[: min(n, int((gaps > 0).sum()))]
        table = self.results[0].table[["s", "p", "o", "side"]].iloc[rows[0][chosen]].reset_index(drop=True)
        frame = with_labels(table, self.results[0].entities, self.results[0].relations)
        return frame.assign(rank_first=ranks[0][chosen], rank_second=ranks[1][chosen])

    def _groups(self, column: str, sample: Sample, pair: tuple[int, int]) -> tuple[Ids, list[str], bool]:
        """Return the group of each rank of a sample, the labels of the groups, and whether the groups have an order.

        The column is taken from the results of the `pair` that have it, else from another result that has it, else
        computed from the dataset of the first result that has its dataset in memory.
        """
        order = [*pair, *(k for k in range(len(self.results)) if k not in pair)]
        holders = {k: self.results[k] for k in order if column in self.results[k].columns.columns}
        if column in BREAKDOWNS:
            holders = {order[0]: self.results[order[0]]}
        elif not holders and column in FEATURES:
            holders = self._with_feature(column, order)
        elif not holders:
            holders = {order[0]: self.results[order[0]]}  # `rank_groups` raises the error that lists the columns
        chosen = [k for k in holders if k in pair] or list(holders)[:1]
        codes, labels = [], []
        for k in chosen:
            of_row: Ids = np.zeros(len(holders[k].table), dtype=np.int64)
            groups = rank_groups(holders[k], [column])
            for code, (_, rows) in enumerate(groups):
                of_row[rows] = code
            codes.append(of_row[sample.rows[k]])
            labels.append([label for (label,), _ in groups])
        if len(chosen) > 1:
            texts = [np.array(names, dtype=object)[of_rank] for names, of_rank in zip(labels, codes)]
            is_different = texts[0] != texts[1]
            if is_different.any():
                values = " and ".join(f"{text[is_different][0]!r} in {self.names[k]}" for text, k in zip(texts, chosen))
                raise MetricError(
                    f"the column {column!r} differs between the results for {int(is_different.sum()):,} ranks (for the "
                    f"first of them: {values}); compute the column for both results from the same dataset"
                )
        columns = holders[chosen[0]].columns
        dtype = columns[column].dtype if column in columns else None
        is_ordered = isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)
        return codes[0], labels[0], is_ordered

    def _with_feature(self, column: str, order: Sequence[int]) -> dict[int, EvaluationResult]:
        """Return the index of the first result in `order` that has its dataset in memory, and the result with a column.

        Raises a DataError if no result has its dataset in memory.
        """
        for k in order[:-1]:
            try:
                return {k: self.results[k].with_features(names=[column])}
            except DataError:  # noqa: PERF203  (no dataset in memory)
                continue
        return {order[-1]: self.results[order[-1]].with_features(names=[column])}

    def _sample(self, key: Key) -> Sample:
        """Return the observations of a metric."""
        row_clusters = self.results[0].rank_table.row_clusters(self.terms.cluster)
        return Sample.of(self.results, self.alignment.rows, key, row_clusters)

    def _model_indices(self, first: str | None, second: str | None) -> tuple[int, int]:
        """Return the indices of two models, given their names."""
        i = 0 if first is None else self.names.index(check_one_of("first", first, self.names))
        j = int(i == 0) if second is None else self.names.index(check_one_of("second", second, self.names))
        if i == j:
            raise ProtocolError(f"first and second must be two different models; got {self.names[i]!r} twice")
        return i, j

    def _label(self, metric: str | Metric) -> str:
        """Return the text of the key of a compared metric; raise a MetricError if the metric was not compared."""
        key = str(Key.parse(metric))
        if key not in self.keys:
            raise MetricError(f"{key} was not compared; the compared metrics are {', '.join(self.keys)}")
        return key

    def header(self) -> list[str]:
        """Return the lines above the table: compared results, protocol, overrides, test, and notes."""
        terms = self.terms
        names_by_protocol: dict[str, list[str]] = {}
        for name, result in zip(self.names, self.results):
            about, protocol = result.about, result.protocol
            described = f"{protocol.describe()}; protocol {protocol.fingerprint}, "
            described += f"dataset {about['dataset_fingerprint'][:8]}, kgeval {about['version']}"
            names_by_protocol.setdefault(described, []).append(name)
        has_same_protocol = len(names_by_protocol) == 1
        keys_by_ties: dict[str, list[str]] = {}
        for label, key in self.keys.items():
            keys_by_ties.setdefault(key.ties, []).append(display_of(label).heading)
        first = self.results[0]
        sample = self.alignment.sample
        is_sample = terms.cluster_name == "triple" and sample is not None and sample.share > 0.0
        lines = [
            f"{listed(self.names)} on {first.about['dataset']}: {len(self.alignment.rows[0]):,} ranks of "
            f"{'+'.join(first.protocol.splits)}, paired by labels",
            *(
                described if has_same_protocol else f"{listed(names)}: {described}"
                for described, names in names_by_protocol.items()
            ),
            "ties: "
            + "; ".join(
                ties if len(keys_by_ties) == 1 else f"{ties} in {listed(labels)}"
                for ties, labels in keys_by_ties.items()
            ),
            *(f"overridden: {mismatch}" for mismatch in self.alignment.overridden),
            *(f"not needed: override {name!r}, since the results agree in it" for name in self.alignment.unneeded),
            *self._tested(),
            f"differences are first - second; {100 * terms.confidence:g}% intervals show how much they would vary with "
            + PURPOSES[terms.cluster_name]
            + ("; the values have intervals for the whole split, of which a sample was ranked" if is_sample else ""),
        ]
        return lines + [f"note: {note}" for note in self.notes]

    def _tested(self) -> list[str]:
        """Return the lines that say how the differences were tested."""
        terms, n_tested = self.terms, int(self.table["p"].notna().sum())
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        units = {"triple": "a triple", "query": "a query", "entity": "an entity", "array": "a cluster"}
        tested = self.table[self.table["p"].notna()]
        by_t = [display_of(label).heading for label in dict.fromkeys(tested.loc[tested["test"] == "t", "metric"])]
        lines = []
        if (tested["test"] == "swaps").any() or not len(tested):
            lines.append(
                "tested: p is how often random swaps of ranks between the two models give a difference at least as "
                f"large, in either direction (an equally large one counts half if {MIN_MID_P} or more clusters differ)"
                f"; all ranks of {units[terms.cluster_name]} are swapped together "
                f"({terms.n_resamples:,} random swaps, seed {terms.seed}; all possible swaps if {MAX_ENUMERATED} or "
                f"fewer clusters differ)"
            )
        if by_t:
            lines.append(
                f"tested: {listed(by_t)}: clusters overlap, so p is that of Student's t test (difference divided by "
                "its standard error)"
            )
        lines.append(
            f"p_holm is p corrected by Holm's method for the number of tests here, {n_tested:,} (pairs of models: "
            f"{n_pairs:,}, metrics: {len(self.keys):,}); a difference is undecided unless p_holm is at most "
            f"{self.alpha:g}"
        )
        return lines

    def _shown(self) -> pd.DataFrame:
        """Return the table for display: fewer columns, headings of metrics, and intervals and p-values as text."""
        table = self.table
        shown = table[["first", "second", "metric", "value_first", "value_second", "difference"]].copy()
        shown["metric"] = [display_of(label).heading for label in table["metric"]]
        shown["interval"] = [
            "-" if np.isnan(low) else f"[{low:.4f}, {high:.4f}]" for low, high in zip(table["low"], table["high"])
        ]
        shown["p (Holm)"] = [
            p_text(row["p_holm"], self.alpha, is_at_floor(row, self.terms.n_resamples))
            for row in table.to_dict("records")
        ]
        shown["detectable"] = table["detectable"]
        counts = zip(table["wins"], table["ties"], table["losses"])
        shown["wins/ties/losses"] = [f"{wins}/{ties}/{losses}" for wins, ties, losses in counts]
        if (table["n_effective"] < FEW_CLUSTERS).any():
            shown["effective clusters"] = [f"{n:.0f}" if n < FEW_CLUSTERS else "" for n in table["n_effective"]]
        shown["better"] = table["better"]
        if (table["reason"] != "").any():
            shown["reason"] = table["reason"]
        return shown

    def _lines(self) -> list[str]:
        """Return the lines above the displayed table: the verdict, then the header."""
        return [self.verdict.sentence, *self.header()]

    def __repr__(self) -> str:
        return show_text(self._lines(), self._shown(), index=False)

    def _repr_html_(self) -> str:
        return comparison_card(self, self._shown())


def compare(
    results: Sequence[EvaluationResult] | Mapping[str, EvaluationResult],
    *,
    names: Sequence[str] | None = None,
    metrics: Sequence[str | Metric] | str = COMPARED_METRICS,
    override: Sequence[str] | str = (),
    confidence: float = 0.95,
    cluster: Any = "triple",
    n_resamples: int = 9999,
    seed: int = 0,
) -> Comparison:
    """Compare each pair of results on the same ranked triples.

    Two ranks are paired if they have the same labels of s, p and o, the same side and the same split. Ids and the order
    of the rows do not matter.

    Parameters
    ----------
    results : sequence of EvaluationResult, or mapping of name to EvaluationResult
        At least two, with the same protocol, dataset and queries.
    names : sequence of str, optional
        The names of the results; by default the names of their scorers, numbered if scorers share a name.
    metrics : sequence of str or Metric, or one string with commas
        Keys ``[setting.][side.][ties.]metric``, as in `EvaluationResult.value`.
    override : sequence of str, or one string with commas
        Differences between the results to accept: ``"queries"`` (compare only the rows that all results have),
        ``"sample"`` (compare only the triples of the smallest sample; a larger sample with the same seed, or a result
        of all triples, contains these triples), ``"dataset"`` (same labels, different triples), ``"unseen"``,
        ``"filter_splits"``, ``"splits"``.
    confidence : float
        Nominal coverage of the intervals, such as 0.95. A difference is undecided unless its p-value, corrected by
        Holm's method, is at most ``1 - confidence``.
    cluster : str or array_like, shape (rows of the first result,)
        The clusters: ranks of the same cluster may depend on each other, and are swapped together. ``"triple"``,
        ``"query"`` and ``"entity"`` put the ranks of each triple, query or entity into one cluster. An array has the
        label of the cluster for each row of the first result. See `EvaluationResult.interval`. If clusters overlap, the
        p-values come from Student's t test instead of swaps. This is the case with ``"entity"`` in most graphs, and for
        ``query.`` metrics over both sides.
    n_resamples : int
        Number of random swaps of the test; every p-value is at least ``1 / (1 + n_resamples)``. All metrics of a call
        use the same swaps. If a metric is compared alone, its p-value may differ slightly (simulation error).
    seed : int
        Seed of the random swaps.

    Returns
    -------
    Comparison

    Raises
    ------
    ProtocolError
        If the results differ in something that changes the value of a metric, and `override` does not accept the
        difference. The message lists every difference.
    MetricError
        If a metric is unknown.

    References
    ----------
    Phipson & Smyth (2010), Permutation P-values Should Never Be Zero. Holm (1979), A Simple Sequentially Rejective
    Multiple Test Procedure. Smucker et al. (2007), A Comparison of Statistical Significance Tests for IR Evaluation.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> triples = [[i, 0, (i + 1) % 8] for i in range(8)]
    >>> dataset = Dataset.from_arrays(test=triples, n_entities=8, n_relations=1)
    >>> good = evaluate(lambda s, p, o: -((o - s - 1) % 8), dataset)
    >>> bad = evaluate(lambda s, p, o: -((o - s - 3) % 8), dataset)
    >>> comparison = compare([good, bad], names=["good", "bad"], metrics="mrr,mr")
    >>> comparison.best("mr"), comparison.significant()["better"].tolist()
    ('good', ['good', 'good'])
    """
    if not isinstance(results, (list, tuple, Mapping)) or len(results) < 2:
        got = (
            f"a {type(results).__name__} of length {len(results)}"
            if isinstance(results, (list, tuple, Mapping))
            else type(results).__name__
        )
        raise ProtocolError(f"compare needs a list of at least two results, such as compare([a, b]); got {got}")
    named = name_results(results, names)
    names, results = tuple(named), tuple(named.values())
    keys = _read_keys(metrics)
    check_confidence(confidence)
    terms = Terms(
        confidence, cluster, check_positive_int("n_resamples", n_resamples, MetricError), check_seed(seed, MetricError)
    )
    alignment = align(results, names, list(keys.values()), split_list(override))
    samples = samples_of(results, alignment.rows, keys, results[0].rank_table.row_clusters(cluster))
    of_sample = [result.__replace__(protocol=replace(result.protocol, sample=alignment.sample)) for result in results]
    values = value_table(of_sample, names, keys, samples, confidence)
    table = difference_table(results, keys, samples, values, terms)
    notes = [*cautions(results, names), *undecided_notes(results, names, samples, keys)]
    if terms.cluster_name in ("triple", "query"):
        notes = [*notes, *entity_notes(results, names, alignment.rows, keys, table, confidence)]
    return Comparison(table, values, names, keys, results, alignment, terms, tuple(notes))


def _read_keys(metrics: Sequence[str | Metric] | str) -> dict[str, Key]:
    """Return a dict of the parsed metrics: text of the key -> key; equal keys occur once."""
    keys = {str(key): key for key in map(Key.parse, split_list(metrics))}
    if not keys:
        raise MetricError("metrics is empty; name at least one, such as 'mrr,hits@10'")
    return keys
