"""compare() and Comparison: paired comparison of models, with tests, intervals and contributions of groups of ranks.

Users and the command ``kgeval compare`` call `compare`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kgeval.audit import leak_notes
from kgeval.base.checks import (
    GONE,
    check_one_of,
    check_positive_int,
    check_seed,
    grouped,
    names_unknown_arguments,
    with_old_names,
)
from kgeval.base.terminal import Screen
from kgeval.base.wording import written
from kgeval.comparison.alignment import Alignment, align, cautions
from kgeval.comparison.differences import (
    ComparisonSettings,
    PairedObservations,
    bounded_notes,
    difference_table,
    entity_notes,
    group_table,
    read_keys,
    samples_of,
    value_table,
)
from kgeval.comparison.groups import groups_by
from kgeval.comparison.margins import equivalence_table
from kgeval.comparison.names import check_rivals, models_of, several_results
from kgeval.comparison.panels import comparison_panel
from kgeval.comparison.rows import Compared, best_first, chosen_pair, decided_rows, model_order, pairs_of, row_of
from kgeval.comparison.tables import answer_text, values_text
from kgeval.comparison.texts import brief_header, header_lines
from kgeval.comparison.verdict import Verdict, verdict_of
from kgeval.data.frames import with_labels
from kgeval.data.known import SETTINGS
from kgeval.display.differences import screen_differences
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.results.bounded import shown_bounds
from kgeval.results.columns import checked_weights, group_names
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key
from kgeval.stats.intervals import check_confidence


@with_old_names(
    {
        "plot": "kgeval.report.plots.difference_plot(comparison)",
        "summary": "comparison.differences, or comparison.verdict",
        "to_csv": 'comparison.differences.to_csv("differences.csv")',
        "worst": "comparison.disagreements()",
    },
    plan=f"{GONE}the column detectable of differences says which difference could be decided",
    table="differences, where p_holm is p_corrected",
    replication=f"{GONE}kgeval.benchmark compares models over their seeds",
)
@dataclass(frozen=True, eq=False)
class Comparison(Compared):
    """Differences between results on the same ranked triples, with tests and intervals; `kgeval.compare` returns it.

    Parameters
    ----------
    differences : pandas.DataFrame
        One row per pair of results and metric. The model with the better value in the first metric stands first:
        ``dataset, metric, first, second``; ``n_first, n_second``, the numbers of runs (1); ``difference`` (first minus
        second), its standard ``error`` and its degrees of ``freedom``; ``low, high``, the interval at the level of the
        test, which excludes 0 exactly if the row is decided; ``level``, that level; ``low_95, high_95``, the 95%
        interval; ``p``, the p-value of the paired randomization test, and ``p_corrected``, the same p-value corrected
        by Holm's method for all tests of the table; ``decision``, ``"first"``, ``"second"`` or ``"undecided"``: decided
        if ``p_corrected`` is at most `alpha`; ``better``, the name of the better model if decided, else empty;
        ``detectable``, where undecided, the true difference found with a probability of about 0.8 if its error stayed;
        ``reason``, why values are NaN or no decision can be had. Then ``value_first, value_second``; ``n``, the number
        of observations (ranks or queries); ``n_clusters``, the number of clusters, ``n_differing``, those in which the
        models differ, ``n_effective``, their effective number (see `Interval`); ``test``, ``"swaps"`` (randomization
        test) or ``"t"`` (Student's t test, where clusters overlap); ``wins, ties, losses``, the number of observations
        in which the metric of the first model is better than, equal to, or worse than that of the second (none of the
        three counts contains observations that depend on bounded ranks). Runs of one model, saved with ``name=`` and
        ``seed=``, are not compared with each other.
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
    terms : ComparisonSettings
        Confidence, clusters, number of swaps and seed.
    notes : tuple of str
        Cautions about the numbers.
    """

    differences: pd.DataFrame
    values: pd.DataFrame
    names: tuple[str, ...]
    keys: dict[str, Key]
    results: tuple[EvaluationResult, ...]
    alignment: Alignment
    terms: ComparisonSettings
    notes: tuple[str, ...] = ()

    @property
    def overridden(self) -> dict[str, str]:
        """The overridden differences: field -> the values of the results in this field."""
        texts = grouped((mismatch.field, mismatch.said) for mismatch in self.alignment.overridden)
        return {field: "; ".join(parts) for field, parts in texts.items()}

    @property
    def models(self) -> tuple[str | None, ...]:
        """The model of each result, if it was saved with a name, else None; runs of one model are no rivals."""
        return models_of(self.results)

    def rivals(self, name: str) -> list[str]:
        """Return the other names, without the other runs of the same model.

        Parameters
        ----------
        name : str
        """
        rows = self.differences
        with_name = rows[(rows["first"] == name) | (rows["second"] == name)]
        met = {*with_name["first"], *with_name["second"]}
        return [other for other in self.names if other in met and other != name]

    def best(self, metric: str | Metric) -> str:
        """Return the name of the model with the best value; of models with equal values, the first in `names`.

        The value may be the best by chance. The column ``better`` of `differences` names a model only if the difference
        is significant.

        Parameters
        ----------
        metric : str or Metric
            One of the compared metrics.

        Raises
        ------
        MetricError
            If the metric was not compared, if it is undefined for all models, or if a model with bounded ranks may
            have a better value than all others.
        """
        label = self._label(metric)
        key, values = self.keys[label], dict(zip(self.names, self.values[label].tolist()))
        best, sample = best_first(values, key.higher_is_better)[0], self.sample(key)
        if np.isnan(values[best]):
            raise MetricError(f"no model has a value for {label} ({self.values['reason'].iloc[0]})")
        for i, name in enumerate(self.names):
            low, high = sample.bounds(i) if np.isnan(values[name]) else (np.nan, np.nan)
            if high > values[best] if key.higher_is_better else low < values[best]:
                best_known = written(values[best], display_of(label).decimals)
                raise MetricError(
                    f"{best} has the best known value of {label}, {best_known}, but the value of {name} lies between "
                    f"{shown_bounds(key, low, high)}, since ranks are bounded"
                )
        return best

    @names_unknown_arguments()
    def to_latex(self, *, intervals: bool = False) -> str:
        """Return the values of the models as a table for a paper; needs the package booktabs.

        The best value of each metric is bold, and so are the values that do not differ significantly from it; a dagger
        marks a best model that is significantly better than every other one. Comments say how the numbers were made.

        Parameters
        ----------
        intervals : bool
            Whether each value has its interval; else a note says how wide the widest interval of each metric is.
        """
        return values_text(self, "latex", intervals=intervals)

    @names_unknown_arguments()
    def to_markdown(self, *, intervals: bool | None = None) -> str:
        """Return the table of `to_latex` in Markdown, then the verdict and lines about the numbers.

        Parameters
        ----------
        intervals : bool, optional
            As in `to_latex`; by default up to five models have intervals.
        """
        return values_text(self, "markdown", intervals=intervals)

    @cached_property
    def verdict(self) -> Verdict:
        """The result of the comparison for its first metric, in one sentence; see `verdict_of`."""
        return verdict_of(dict(zip(self.names, self.results)), self)

    @names_unknown_arguments(metrics="metric=")
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
            Names of two models; by default those of two models as listed, and of more the best and the next that it
            was tested against, which with a baseline is the baseline.

        Returns
        -------
        pandas.DataFrame
            One row per group (label), largest absolute contribution first; buckets come in ascending order. Columns:
            ``n``, the number of observations of the group; ``share``, ``n`` divided by the number of all observations;
            ``value_first`` and ``value_second``, the metric of each model over the observations of the group;
            ``difference`` (first minus second) with its interval ``low, high``, and ``low_corrected, high_corrected``,
            the interval corrected for the number of groups (Bonferroni), which contains 0 exactly where the group is
            undecided (it ends at 0 where too few triples differ for any test); ``contribution``; ``decided``;
            ``reversed``, whether the group is decided and its difference has the opposite sign of the significant
            difference over all observations, so that the model that is worse over all is better in the group;
            ``n_effective``, the effective number of clusters; and ``reason``, why a value is NaN.

            The contributions add up to the difference between the models, which is ``attrs["difference"]``. If the
            metric is a mean, a contribution is ``share * difference``, and ``attrs["contribution"]`` is ``"exact"``.
            For other metrics, such as the GMR, the contributions come from a linear approximation of the metric, with
            the gradient at the point half-way between both models, and ``attrs["contribution"]`` is ``"linearised"``.
            ``attrs["groups"]`` is the number of groups that the intervals are corrected for; ``attrs["models"]`` holds
            both names, and ``attrs["metric"]`` the metric.

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
        label = next(iter(self.keys)) if metric is None else self._label(metric)
        i, j = self._model_indices(first, second, label)
        key = self.keys[label]
        sample = self.sample(key)
        decided = 0.0
        if self.names[j] in self.rivals(self.names[i]):
            row = row_of(self.differences, label, self.names[i], self.names[j])
            decided = row["difference"] if row["better"] else 0.0
        frame = group_table(sample, (i, j), self.terms, sample.groups_by(column, self.names, (i, j)), decided)
        datasets = [self.results[i].facts["dataset"]] if "dataset" in self.results[i].facts else []
        frame.attrs |= {"metric": label, "models": (self.names[i], self.names[j]), "datasets": datasets}
        return frame

    @names_unknown_arguments(metric="metrics=")
    def averages(
        self,
        *columns: str,
        metrics: Sequence[str | Metric] | str | None = None,
        weights: Any = None,
        first: str | None = None,
        second: str | None = None,
    ) -> pd.DataFrame:
        """Return the differences between two models in micro, macro and weighted averages of metrics.

        Parameters
        ----------
        *columns : str
            The columns to group by for the macro average, as in `by`; for example ``"relation"``.
        metrics : sequence of str or Metric, or one string with commas, optional
            Some of the compared metrics; by default all.
        weights : float array, shape (rows of the first result,), optional
            One weight per row of the table of the first result, as in `EvaluationResult.weighted`; adds the rows
            ``weighted``. Both models get the same weights.
        first, second : str, optional
            As in `by`.

        Returns
        -------
        pandas.DataFrame
            One row per metric and average: ``average`` (``"micro"``: over all ranks; ``"macro"``: the unweighted mean
            of the metric over the groups; ``"weighted"``), then the columns of `differences`, corrected for all tests
            of this table. ``n`` is the number of observations (``macro``: of groups).

            ``macro`` treats the triples as a sample, and the groups as fixed. Its p-value comes from Student's t test
            (``test`` is ``"t"``). A group with one cluster only, such as one triple, has an unknown variance, and
            groups of two triples are little better: then the macro average has no interval, and ``reason`` says so.

        Raises
        ------
        MetricError
            As `by`, or if `weights` are wrong.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> triples = [[i, i % 2, (i + 1) % 8] for i in range(8)]
        >>> dataset = Dataset.from_arrays(test=triples, n_entities=8, n_relations=2)
        >>> good = evaluate(lambda s, p, o: -((o - s - 1) % 8), dataset)
        >>> bad = evaluate(lambda s, p, o: -((o - s - 3 * p) % 8), dataset)
        >>> averages = compare([good, bad], names=["good", "bad"], metrics="mr").averages("relation")
        >>> averages[["average", "value_first", "value_second", "better"]].values.tolist()
        [['micro', 1.0, 4.5, 'good'], ['macro', 1.0, 4.5, '']]
        """
        labels = list(self.keys) if metrics is None else [self._label(metric) for metric in split_list(metrics)]
        of = f"the table of {self.names[0]}"
        checked = None if weights is None else checked_weights(weights, self.results[0].table, of)
        pair, pairs = self._model_indices(first, second, labels[0]), []
        for label in labels:
            sample = self.sample(self.keys[label])
            codes = [
                groups_by(self.results, self.names, name, sample.rows, pair).codes for name in group_names(columns)
            ]
            # (ranks,): ranks of one group have the same label in all columns.
            groups = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(len(codes[0]))
            for average in ("micro", "macro", *(["weighted"] if checked is not None else [])):
                more: dict[str, Any] = {"average": average}
                found, values, reason = None, (np.nan, np.nan), ""
                try:
                    if average == "macro":
                        found, values, more["n"] = sample.macro_difference(pair, groups)
                    else:
                        found, values = sample.mean_difference(
                            pair, self.terms, checked if average != "micro" else None
                        )
                except MetricError as error:
                    reason, more["n_clusters"] = str(error), sample.clusters.count
                named = pd.Series(values, index=[self.names[i] for i in pair])
                pairs.append(sample.pair(named, found, reason, **more))
        rows = decided_rows(pairs, self.alpha, ("average",), has_order=True)
        return rows[["average", *rows.columns.drop("average")]]

    @names_unknown_arguments(reference="baseline=")
    def equivalence(
        self, margin: float, metric: str | Metric | None = None, kind: str = "equivalence", baseline: str | None = None
    ) -> pd.DataFrame:
        """Test whether models are equivalent, or not inferior to a baseline, within a margin.

        "No significant difference" does not show that two models are equally good; the test set may be too small. Here,
        equivalence is shown if the difference is significantly smaller than the margin in both directions (two
        one-sided t tests), non-inferiority if the loss is significantly smaller than the margin. For each of the two
        kinds of decisions in a table (such as "equivalent", and "different beyond the margin"), the probability of one
        or more false decisions is at most `alpha`.

        Parameters
        ----------
        margin : float
            The smallest difference that matters, above 0, in the unit of the metric; choose it before you see the
            numbers.
        metric : str or Metric, optional
            One of the compared metrics; by default the first.
        kind : str
            ``"equivalence"`` or ``"non-inferiority"``.
        baseline : str, optional
            The name of the model with which each other model is compared. By default, each pair is tested;
            non-inferiority needs a baseline.

        Returns
        -------
        pandas.DataFrame
            One row per pair, with the columns of `differences`. ``p`` and ``p_corrected`` are those of the test;
            ``low, high`` is the interval with the coverage ``1 - 2 * level``, which lies within the margins exactly
            where the test decides; ``decision`` is ``"equal within the margin"``, ``"first"`` or ``"second"`` (better
            by more than the margin), ``"not inferior"``, ``"inferior beyond the margin"`` or ``"undecided"``. Further
            columns: ``margin``; ``p_beyond`` and ``p_beyond_corrected`` of the opposite claim (the difference or the
            loss is larger than the margin); ``not_excluded``, the largest difference (non-inferiority: the largest loss
            of the first model) that the interval does not exclude. If few clusters differ, the p-values have lower
            limits; see `kgeval.stats.equivalence.Support`.

        Raises
        ------
        MetricError
            If `margin` is not above 0, or not below the largest possible difference; if `kind` is unknown or the metric
            was not compared.
        ProtocolError
            If no model has the name `baseline`, or if `kind` is ``"non-inferiority"`` and there is no `baseline`.

        References
        ----------
        Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach for assessing the
        equivalence of average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 15.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> triples = [[i, 0, (i + 1) % 40] for i in range(40)]
        >>> dataset = Dataset.from_arrays(test=triples, n_entities=40, n_relations=1)
        >>> results = [evaluate(lambda s, p, o, k=k: -((o - s - 1) % (7 + k)), dataset) for k in range(2)]
        >>> comparison = compare(results, names=["A", "B"], metrics="mrr")
        >>> comparison.equivalence(0.1)[["difference", "decision"]].round(4).values.tolist()
        [[0.041, 'equal within the margin']]
        """
        label = next(iter(self.keys)) if metric is None else self._label(metric)
        return equivalence_table(self, label, margin, kind, baseline)

    @names_unknown_arguments(metrics="metric=")
    def by_relation(self, metric: str | Metric, first: str | None = None, second: str | None = None) -> pd.DataFrame:
        """Return the contribution of each relation to the difference between two models: ``by("relation", metric)``.

        Parameters
        ----------
        metric, first, second
            As in `by`.
        """
        return self.by("relation", metric, first, second)

    @names_unknown_arguments(n="limit=")
    def disagreements(
        self, first: str | None = None, second: str | None = None, limit: int = 10, setting: str = "filtered"
    ) -> pd.DataFrame:
        """Return the triples whose ranks differ most between two models, by ``|1 / rank_first - 1 / rank_second|``.

        Parameters
        ----------
        first, second : str, optional
            As in `by`.
        limit : int
            The largest number of rows.
        setting : str
            ``"filtered"`` or ``"raw"``.

        Returns
        -------
        pandas.DataFrame
            Columns ``s, p, o`` (labels), ``side``, ``rank_first, rank_second`` (realistic ranks). The largest
            difference comes first; rows with equal differences are in the order of the table of the first result. A row
            is left out if its two ranks are equal, or if one of them is bounded.

        Raises
        ------
        MetricError
            If `limit` is not a positive integer, or `setting` is unknown, or a model has no ranks in this setting.
        ProtocolError
            If no model has the name `first` or `second`, or both names are the same.

        Examples
        --------
        >>> from kgeval import Dataset, evaluate
        >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
        >>> results = [evaluate(lambda s, p, o, sign=sign: sign * (s - o), dataset) for sign in (1, -1)]
        >>> compare(results, names=["A", "B"]).disagreements(limit=1).values.tolist()
        [['0', '0', '1', 'subject', 4.0, 1.0]]
        """
        i, j = self._model_indices(first, second, next(iter(self.keys)))
        check_positive_int("limit", limit, MetricError)
        check_one_of("setting", setting, SETTINGS, MetricError)
        rows = self.alignment.rows
        for k in (i, j):
            unknown = self.results[k].rank_table.unknown
            if setting in unknown:
                raise MetricError(f"{self.names[k]} has no {setting} ranks: {unknown[setting]}")
        ranks = [self.results[k].rank_table.ranks(setting, rows=rows[k]) for k in (i, j)]
        gaps = np.nan_to_num(np.abs(1.0 / ranks[0] - 1.0 / ranks[1]), nan=0.0)
        chosen = np.lexsort((rows[0], -gaps))[: min(limit, int((gaps > 0).sum()))]
        table = self.results[0].table[["s", "p", "o", "side"]].iloc[rows[0][chosen]].reset_index(drop=True)
        frame = with_labels(table, self.results[0].entities, self.results[0].relations)
        return frame.assign(rank_first=ranks[0][chosen], rank_second=ranks[1][chosen])

    def sample(self, key: Key) -> PairedObservations:
        """Return the observations of a metric: the ranks, or the queries, that all results share.

        Parameters
        ----------
        key : Key
            A value of `keys`.
        """
        row_clusters = self.results[0].rank_table.row_clusters(self.terms.cluster)
        return PairedObservations.of(self.results, self.alignment.rows, key, row_clusters)

    def _model_indices(self, first: str | None, second: str | None, metric: str) -> tuple[int, int]:
        """Return the indices of two models, given their names; see `by` for the defaults."""
        order = self.names if len(self.names) == 2 else model_order(self, metric)
        one, other = chosen_pair(first, second, order, self.rivals)
        return self.names.index(one), self.names.index(other)

    def _label(self, metric: str | Metric) -> str:
        """Return the text of the key of a compared metric; raise a MetricError if the metric was not compared."""
        key = str(Key.parse(metric))
        if key not in self.keys:
            raise MetricError(f"{key} was not compared; the compared metrics are {', '.join(self.keys)}")
        return key

    def header(self) -> list[str]:
        """Return the lines above the table: compared results, protocol, overrides, test, and notes."""
        return header_lines(self)

    def __repr__(self) -> str:
        screen = replace(Screen.of(sys.stdout), has_styles=False)
        shown = values_text(self, "table", screen), screen_differences(self.differences, self.alpha, screen)
        about, notes = brief_header(self, "in Python .header()")
        return "\n\n".join([answer_text(self, screen), *shown, screen.lines([*about, *notes])])

    def _repr_html_(self) -> str:
        return comparison_panel(self)


@names_unknown_arguments(**dict.fromkeys(("tie", "ties"), "metrics='optimistic.mrr'"), seed="resample_seed")
def compare(
    results: Sequence[EvaluationResult] | Mapping[str, EvaluationResult],
    *,
    names: Sequence[str] | None = None,
    metrics: Sequence[str | Metric] | str = PLAIN_METRICS,
    baseline: str | None = None,
    override: Sequence[str] | str = (),
    confidence: float = 0.95,
    cluster: Any = "triple",
    n_resamples: int = 9999,
    resample_seed: int = 0,
) -> Comparison:
    """Compare each pair of results on the same ranked triples.

    Two ranks are paired if they have the same labels of s, p and o, the same side and the same split. Ids and the order
    of the rows do not matter.

    Parameters
    ----------
    results : sequence of EvaluationResult, or mapping of name to EvaluationResult
        At least two, with the same protocol, dataset and queries.
    names : sequence of str, optional
        The names of the results; by default the names and seeds they were saved with, else the names of their scorers,
        numbered if results share a name. Needed if all results are runs of one model, which are no rivals by default.
    metrics : sequence of str or Metric, or one string with commas
        Keys ``[setting.][side.][ties.]metric``, as in `EvaluationResult.value`.
    baseline : str, optional
        The name of a result. Each other result is compared only with this one, so that there are fewer tests. Choose it
        before you see the results. By default, all pairs are compared.
    override : sequence of str, or one string with commas
        Differences between the results to accept: ``"queries"`` (compare only the rows that all results have),
        ``"sample"`` (compare only the triples of the smallest sample; a larger sample with the same seed, or a result
        of all triples, contains these triples), ``"dataset"`` (same labels, different triples), ``"unseen"``,
        ``"filter"``, ``"splits"``, ``"negatives"`` (the negatives of some results are not known, and you say
        that they are the same). There is a verdict only without differences, or with ``"negatives"`` alone.
    confidence : float
        Nominal coverage of the intervals of values, such as 0.95. A difference is undecided unless its p-value,
        corrected by Holm's method for all rows, is at most ``1 - confidence``.
    cluster : str or array_like, shape (rows of the first result,)
        The clusters: ranks of the same cluster may depend on each other, and are swapped together. ``"triple"``,
        ``"query"`` and ``"entity"`` put the ranks of each triple, query or entity into one cluster. An array has the
        label of the cluster for each row of the first result. See `EvaluationResult.interval`. If clusters overlap, the
        p-values come from Student's t test instead of swaps. This is the case with ``"entity"`` in most graphs, and for
        ``query.`` metrics over both sides.
    n_resamples : int
        Number of random swaps of the test. A p-value below ``1 / (1 + n_resamples)`` is a bound, which holds for any
        values (`kgeval.stats.paired.compare_paired`).
    resample_seed : int
        Seed of the random swaps.

    Returns
    -------
    Comparison

    Raises
    ------
    ProtocolError
        If the results differ in something that changes the value of a metric, and `override` does not accept the
        difference. The message lists every difference. Also if all results are runs of one model, and were not named
        here.
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
    is_named = names is not None or isinstance(results, Mapping)
    named = several_results("compare", results, names, EvaluationResult)
    names, results = tuple(named), tuple(named.values())
    if not is_named:
        check_rivals(results)
    keys = read_keys(metrics, "at least one, such as 'mrr,hits@10'")
    check_confidence(confidence)
    check_positive_int("n_resamples", n_resamples, MetricError)
    terms = ComparisonSettings(
        confidence, cluster, baseline, n_resamples, check_seed(resample_seed, MetricError, "resample_seed")
    )
    pairs_of(names, baseline)  # an unknown baseline is an error before the results are aligned
    alignment = align(results, names, list(keys.values()), split_list(override))
    of_sample = [
        result.__replace__(protocol=replace(result.protocol, sample=alignment.sample, sample_seed=0))
        for result in results
    ]
    samples = samples_of(of_sample, alignment.rows, keys, results[0].rank_table.row_clusters(cluster))
    values = value_table(samples, names, confidence)
    table = difference_table(samples, values, terms)
    said = [note for note in cautions(results, names) if leak_notes.COPIED not in note]  # one note of all models
    models = ((name, result["mrr"], result.facts) for name, result in zip(names, results))
    rest = leak_notes.without_copied(models, leak_notes.COPIED)
    notes = [*said, *([rest] if rest else []), *bounded_notes(samples, names)]
    if terms.cluster_name in ("triple", "query"):
        notes += entity_notes(samples, names, table)
    return Comparison(table, values, names, keys, results, alignment, terms, tuple(notes))
