"""benchmark() and Benchmark: models x seeds x datasets in one table, with spreads, intervals and corrected tests.

Users and the command ``kgeval benchmark`` call `benchmark`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import GONE, check_one_of, counted, listed, names_unknown_arguments, with_old_names
from kgeval.base.files import replacing
from kgeval.base.terminal import Screen
from kgeval.base.wording import quoted
from kgeval.benchmarks import benchmark_text, cells, groups, tables
from kgeval.benchmarks.across import AcrossDatasets, across_datasets
from kgeval.benchmarks.runs import Run, read_runs
from kgeval.benchmarks.verdict import BenchmarkVerdict, benchmark_verdict
from kgeval.comparison.alignment import Alignment
from kgeval.comparison.differences import read_keys
from kgeval.comparison.margins import KINDS, check_margin, largest_difference, margin_rows, with_support
from kgeval.comparison.rows import Compared, Pair, chosen_pair, row_of
from kgeval.display.differences import OF_MARK, OTHERWISE
from kgeval.display.fields import csv_text, frame_fields
from kgeval.display.media import latex_table, narrow_markdown
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.default_metrics import BRIEF_METRICS
from kgeval.results.clustering import CLUSTERS
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key
from kgeval.stats.intervals import check_confidence
from kgeval.stats.paired import Difference
from kgeval.stats.runs import SPREADS


@with_old_names({"summary": "bench.description()"}, about="description()")
@dataclass(frozen=True, eq=False)
class Benchmark(Compared):
    """Models, each trained with one or several seeds, on one or several datasets; `kgeval.benchmark` returns it.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per model, dataset and metric: ``n_seeds``, the number of runs; ``mean`` of the metric over the runs,
        and ``sd``, its standard deviation over the runs (divisor n_seeds - 1); ``low, high``, the interval of the mean;
        ``error``, its standard error, and ``freedom``, its degrees of freedom; ``of_seeds, of_triples``, the two parts
        of ``error ** 2``: the variance of the mean due to the seeds, and due to the test triples; ``share_of_seeds``,
        the first part divided by ``error ** 2``; ``n``, the number of observations (ranks or queries), ``n_clusters``
        and ``n_effective``, the number and the effective number of the clusters of these observations (see
        `kgeval.stats.moments.Interval`); ``reason``, why values are NaN. With one run, ``sd`` and ``of_seeds`` are NaN.
        The interval is then that of `EvaluationResult.interval` for functions of means, such as MRR and hits@k, if all
        triples were ranked; with a sample of the triples it is wider. The median rank has no interval here, with any
        number of runs.
    differences : pandas.DataFrame
        One row per dataset and pair of models, for the primary metric. The columns are those of
        `Comparison.differences`: the leader of the dataset stands first; ``n_first, n_second`` are the numbers of runs,
        ``value_first, value_second`` the means over them; ``test`` is ``"t"`` (see `kgeval.stats.runs.compare_runs`)
        or, if all models of the dataset have one run, ``"swaps"`` (the paired randomization test of `kgeval.compare`);
        ``decision`` may also be ``"no common run"``. All rows are one family of Holm's correction. ``separate`` is the
        better model, or ``"undecided"``, by a test with separate spreads over the seeds, on datasets whose SDs differ
        so much that a note says so; else it is empty.
    values : pandas.DataFrame
        The means of the primary metric: one row per model, one column per dataset.
    runs : pandas.DataFrame
        One row per run: ``model, seed, dataset``, then one column per metric with the value of the run.
    models, datasets : tuple of str
        In the order of the results.
    keys : dict of str to Key
        The metrics: text of the key -> key. The first is the primary metric.
    results : dict of Run to EvaluationResult
        The run (model, seed, dataset) -> its result.
    alignments : dict of str to Alignment
        For each dataset, the ranks that all its runs have, in the same order for all runs.
    terms : BenchmarkSettings
    notes : tuple of str
        Cautions about the numbers.
    """

    table: pd.DataFrame
    differences: pd.DataFrame
    values: pd.DataFrame
    runs: pd.DataFrame
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    keys: dict[str, Key]
    results: dict[Run, EvaluationResult]
    alignments: dict[str, Alignment]
    terms: cells.BenchmarkSettings
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """The primary metric, on which differences are tested."""
        return self.terms.metric

    @cached_property
    def verdict(self) -> BenchmarkVerdict:
        """The result of the benchmark for its primary metric, in one sentence; see `BenchmarkVerdict`."""
        return benchmark_verdict(self)

    @names_unknown_arguments(metrics="metric=")
    def across(self, metric: str | Metric | None = None) -> AcrossDatasets:
        """Return the mean ranks of the models over all datasets, and tests of the differences between the models.

        Parameters
        ----------
        metric : str or Metric, optional
            One of the metrics of the benchmark; by default the primary one.

        Returns
        -------
        AcrossDatasets
            See `kgeval.benchmarks.across.across_datasets`.

        Raises
        ------
        MetricError
            If the benchmark does not have the metric.
        """
        return across_datasets(self, metric)

    @names_unknown_arguments()
    def by(
        self, column: str, dataset: str | None = None, first: str | None = None, second: str | None = None
    ) -> pd.DataFrame:
        """Return the difference between two models within each group of the ranks of a dataset, over all their runs.

        Parameters
        ----------
        column : str
            As in `Comparison.by`: ``"relation"``, ``"side"``, ``"pattern"``, or another column of one of the results.
        dataset : str, optional
            By default the only one.
        first, second : str, optional
            Names of two models; by default the two with the best means on the dataset, or the best and the baseline.

        Returns
        -------
        pandas.DataFrame
            As `Comparison.by`, for the primary metric: ``value_first`` and ``value_second`` are means over the runs,
            and intervals and decisions come from the test of `differences`, within the group: they are about other
            seeds, too. ``low_corrected, high_corrected`` are corrected for the number of groups (Bonferroni). All
            limits are NaN where too few triples differ for any decision, as ``reason`` says. The contributions add up
            to the difference of the means; those of a metric that is no mean are linearised for each run. If each model
            of the dataset has one run, the table is that of `Comparison.by`.
            ``attrs["models"]`` holds both names.

        Raises
        ------
        MetricError
            As `Comparison.by`, or if a model has no run on the dataset.
        ProtocolError
            If a name is unknown, if both models are the same, or if `dataset` is missing and there are several.

        Examples
        --------
        >>> import kgeval as kg
        >>> dataset = kg.Dataset.from_arrays(test=[[i, i % 2, (i + 1) % 9] for i in range(9)],
        ...                                  n_entities=9, n_relations=2)
        >>> def run(step):
        ...     return kg.evaluate(lambda s, p, o: -((o - s - step) % 9), dataset)
        >>> bench = kg.benchmark({("A", 1, "ring"): run(1), ("A", 2, "ring"): run(0), ("B", 1, "ring"): run(3)})
        >>> bench.by("relation")[["n", "value_first", "value_second"]].round(4).values.tolist()
        [[10.0, 0.75, 0.125], [8.0, 0.75, 0.125]]
        """
        only = self.datasets[0] if len(self.datasets) == 1 else None
        name = check_one_of("dataset", only if dataset is None else dataset, self.datasets)
        rows, baseline = tables.placed_rows(self), self.terms.baseline
        order = [row["model"] for row in rows if row["dataset"] == name and math.isfinite(row["mean"])]
        models, rivals = [*dict.fromkeys([*order, *self.models])], self.models if baseline is None else [baseline]
        one, other = chosen_pair(first, second, models, lambda model: self.models if model == baseline else rivals)
        total = 0.0
        if baseline in (None, one, other):  # else the two models have no test over all ranks
            row = row_of(self.differences, self.metric, one, other, name)
            total = row["difference"] if row["better"] else 0.0
        models = [*dict.fromkeys([one, other, *order])]
        frame = groups.group_differences(self._part(name), models, column, self.terms, total)
        frame.attrs |= {"metric": self.metric, "models": (one, other), "datasets": [name]}
        return frame

    def _part(self, dataset: str) -> cells.DatasetRuns:
        """Return the runs of one dataset, with the observations of the primary metric."""
        keys = {self.metric: self.keys[self.metric]}
        return cells.DatasetRuns.of(dataset, self.results, self.alignments[dataset], keys, self.terms.cluster)

    @cached_property
    def relations(self) -> dict[str, pd.DataFrame]:
        """The tables ``by("relation", dataset)`` of the datasets with two models whose results do not differ."""
        found = dict[str, pd.DataFrame]()
        for dataset, alignment in self.alignments.items():
            if self.values[dataset].notna().sum() > 1 and not alignment.differing:
                with suppress(MetricError):  # the metric is no function of means
                    found[dataset] = self.by("relation", dataset)
        return found

    @names_unknown_arguments()
    def equivalence(self, margin: float, kind: str = "equivalence") -> pd.DataFrame:
        """Test whether the models of each pair are equal up to a margin, by two one-sided t tests (TOST).

        Parameters
        ----------
        margin : float
            The largest difference that does not matter, in the unit of the primary metric: above 0, and below the
            largest possible difference. Choose it before you see the results.
        kind : str
            ``"equivalence"``: the difference is between -margin and +margin. ``"non-inferiority"``: the model is worse
            than the baseline of the benchmark by less than the margin, or is better.

        Returns
        -------
        pandas.DataFrame
            As `Comparison.equivalence`, with one row per row of `differences`.

        Raises
        ------
        MetricError
            If the margin is not above 0, or not below the largest possible difference, or the kind is unknown; or
            for non-inferiority without a baseline.
        """
        check_one_of("kind", kind, KINDS, MetricError)
        key, baseline, pairs = self.keys[self.metric], self.terms.baseline, list[Pair]()
        if kind == "non-inferiority" and baseline is None:
            raise MetricError(
                "non-inferiority needs a reference: the model to which the others must not be inferior; call "
                "benchmark(..., baseline=NAME)"
            )
        for dataset in self.alignments:
            part, rows = self._part(dataset), self.differences[self.differences["dataset"] == dataset]
            largest = largest_difference(key, part.results, part.alignment.rows)
            try:
                check_margin(key, margin, largest)
            except MetricError as error:
                raise MetricError(f"{dataset}: {error}") from None
            for row in rows.to_dict("records"):
                if baseline is not None and row["first"] == baseline:
                    row = row_of(rows, self.metric, row["second"], baseline)
                names, values, n_runs = ((row[f"{of}first"], row[f"{of}second"]) for of in ("", "value_", "n_"))
                more = n_runs, row["reason"], {"n": row["n"]}
                pair = Pair(dataset, self.metric, names, values, None, key.higher_is_better, key.bounds, *more)
                if not math.isnan(row["error"]):
                    sizes = row["n_clusters"], row["n_differing"], row["n_effective"]
                    found = Difference(row["difference"], row["error"], row["freedom"], row["p"], *sizes)
                    systems = [part.system(name, self.metric)[0] for name in names]
                    pair = with_support(replace(pair, difference=found, reason=""), systems, largest)
                pairs.append(pair)
        return margin_rows(pairs, [margin] * len(pairs), kind, self.alpha)

    def header(self) -> list[str]:
        """Return the lines about the benchmark: runs, protocol of each dataset, tests, and notes."""
        return [*self.description(), *self.notes_on_method(), *(f"note: {note}" for note in self.notes)]

    def description(self) -> list[str]:
        """Return the lines of `header` that say what was compared, and under which protocol."""
        sizes = {"model": self.models, "dataset": self.datasets, "run": self.results}
        ranks = ", ".join(f"{quoted(name)} {len(one.rows[0]):,}" for name, one in self.alignments.items())
        counts = ", ".join(counted(len(parts), name) for name, parts in sizes.items())
        lines = [f"{counts}; paired ranks: {ranks}"]
        lines += [line.removeprefix("% ") for line in tables.protocol_lines(self)]
        lines += [f"overridden in {name}: {one}" for name, of in self.alignments.items() for one in of.overridden]
        needless = set.intersection(*(set(alignment.unneeded) for alignment in self.alignments.values()))
        lines += [f"not needed: override {name!r}, since the results agree in it" for name in sorted(needless)]
        return lines

    def notes_on_method(self) -> list[str]:
        """Return the lines of `header` that say what the numbers mean, and how differences were tested."""
        return list(benchmark_text.notes_on_method(self))

    @names_unknown_arguments()
    def to_latex(self, siunitx: bool = False) -> str:
        """Return the table for a paper: rows are models and chance, columns are datasets and metrics.

        A cell contains the mean and, after a plus-minus sign, the standard deviation over the seeds. In the columns of
        the primary metric, the best value and all values that do not differ significantly from it are bold. If no model
        differs significantly from the best one, no value is bold. If the models were compared with a baseline, no value
        is bold; a dagger marks the models that differ significantly from the baseline.

        Of a table that would be wider than the text of an article (345 pt), the datasets stand below each other, the
        best model of each first; if that is too wide, the primary metric alone has standard deviations; if that is too
        wide too, or has more than 30 rows, it has the primary metric alone, if need be in columns of models; a comment
        names the metrics that are left out.

        Parameters
        ----------
        siunitx : bool
            Whether the numbers are in columns of the package siunitx (type S), aligned at the decimal point.

        Returns
        -------
        str
            Lines of comment with the protocols and the needed packages, such as booktabs, then an environment
            ``tabular``, then lines about the numbers.
        """
        table, others = tables.fitting_table(self, siunitx=siunitx)
        left_out = f"% left out for the size of the table: {listed(others)}; all of them: benchmark(metrics=...)"
        comments = [*tables.protocol_lines(self), *([left_out] if others else [])]
        return latex_table(table, "\n".join(comments), siunitx=siunitx)

    def to_markdown(self) -> str:
        """Return the table in Markdown, then the verdict and lines about the table; a wide one has rows per dataset."""
        lower_is_better, about = not self.keys[self.metric].higher_is_better, "\n".join(tables.protocol_lines(self))
        table = tables.paper_table(self, has_doubts=True)
        said = [("", self.verdict.headline), *[OF_MARK] * (OTHERWISE in self.verdict.headline)]
        table = replace(table, notes=[*said, *table.notes])
        return narrow_markdown(table, "dataset", about, lower_is_better)

    @names_unknown_arguments(has_differences="differences=")
    def to_csv(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        differences: bool = False,
        spreadsheet: bool = False,
    ) -> str:
        """Return `table` as CSV text, with full precision, and write it to a file if a path is given.

        If differences between the results were overridden, a last column ``overridden`` lists them.

        Parameters
        ----------
        path : path, optional
        overwrite : bool
            Whether to replace an existing file.
        differences : bool
            Whether to return `differences` in place of `table`.
        spreadsheet : bool
            Whether to put an apostrophe before names that a spreadsheet would read as formulas.
        """
        frame, overridden = self.differences if differences else self.table, tables.overridden_texts(self)
        if overridden:
            frame = frame.assign(overridden=[overridden.get(dataset, "") for dataset in frame["dataset"]])
        text = csv_text(frame_fields(frame), spreadsheet=spreadsheet)
        if path is not None:
            with replacing(path, overwrite) as stream:
                stream.write(text.encode("utf-8"))
        return text

    def __repr__(self) -> str:
        screen = replace(Screen.of(sys.stdout), has_styles=False)
        about = [*self.description(), *self.notes_on_method(), *benchmark_text.brief_notes(self)]
        return "\n\n".join([*benchmark_text.answer_texts(self, screen), screen.lines(about)])

    def _repr_html_(self) -> str:
        return benchmark_text.benchmark_panel(self)


GONE_ARGUMENTS = {
    "metric": "metrics=, the first of which is tested",
    "correction": f"{GONE}all differences are corrected by Holm's method, which assumes nothing about their dependence",
    "intervals": f"{GONE}there is no bootstrap; intervals come from Student's t, as the tests do",
    **dict.fromkeys(
        ("n_resamples", "seed"), f"{GONE}nothing is resampled; single runs are compared by 9,999 swaps with seed 0"
    ),
}


@names_unknown_arguments(**GONE_ARGUMENTS)
def benchmark(
    results: Mapping[Any, EvaluationResult] | Sequence[EvaluationResult],
    *,
    metrics: Sequence[str | Metric] | str = BRIEF_METRICS,
    baseline: str | None = None,
    confidence: float = 0.95,
    cluster: str = "triple",
    spread: str = "pooled",
    override: Sequence[str] | str = (),
) -> Benchmark:
    """Compare models, each trained with several seeds, on several datasets.

    Within a dataset, the ranks of all runs are paired: two ranks are the same if they have the same labels of s, p and
    o, the same side and the same split. Nothing is paired between datasets, or between the seeds of two models.

    Parameters
    ----------
    results : mapping of (model, seed, dataset) to EvaluationResult, or sequence of EvaluationResult
        A key may be (model, dataset) if the model has one run on the dataset. The results of a sequence carry their
        names: ``result.save(file, name="ComplEx", seed=1)`` or `kgeval.benchmarks.named`; the dataset is
        ``result.facts["dataset"]``. A model may lack a dataset, and models may have unequal numbers of seeds; the table
        and a note say so.
    metrics : sequence of str or Metric, or one string with commas
        The metrics to show; keys as in `EvaluationResult.value`. The first is the primary metric: only differences in
        this metric are tested. Choose it before you see the results.
    baseline : str, optional
        The name of a model. Each other model is compared only with this baseline, so that there are fewer tests. Choose
        it before you see the results. By default, all pairs of models are compared.
    confidence : float
        Nominal coverage of the intervals. A difference is undecided unless its corrected p-value is at most
        ``1 - confidence``.
    cluster : str
        ``"triple"``, ``"query"`` or ``"entity"``: which ranks may depend on each other; see
        `EvaluationResult.interval`.
    spread : str
        How the variance over the seeds is estimated for the differences. ``"pooled"``: over all models of a dataset,
        which are assumed to vary alike; where each has five or more runs and they clearly do not, each pair has its
        own. ``"separate"``: each pair has its own in any case; a model with one run is then not tested.
    override : sequence of str, or one string with commas
        Differences between the results of a dataset to accept; see `kgeval.compare`.

    Returns
    -------
    Benchmark

    Raises
    ------
    ProtocolError
        If a result lacks its name or seed, if two results are of the same run, if the results of a dataset differ in
        something that changes the value of a metric (the message lists every difference of every dataset), or if
        `baseline` is unknown.
    MetricError
        If a metric or `spread` is unknown, or `confidence` is out of range.

    References
    ----------
    Bouthillier et al. (2021), Accounting for Variance in Machine Learning Benchmarks, MLSys (parts of the variance);
    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 20] for i in range(20)], n_entities=20, n_relations=1)
    >>> def model(step, seed):
    ...     noise = np.random.default_rng(seed).random((20, 20))
    ...     return lambda s, p, o: -((o - s - step) % 20) + 5 * noise[s, o]
    >>> runs = {(name, seed, "ring"): kg.evaluate(model(step, seed), dataset)
    ...         for name, step in {"near": 1, "far": 4}.items() for seed in (1, 2, 3)}
    >>> bench = benchmark(runs, metrics="mrr")
    >>> bench.differences["better"].tolist(), bench.verdict.leaders
    (['near'], {'ring': ('near',)})
    """
    runs = read_runs(results)
    keys = read_keys(metrics, "one or more, the first of which is tested: metrics='mrr,hits@10'")
    models = tuple(dict.fromkeys(run.model for run in runs))
    datasets = tuple(dict.fromkeys(run.dataset for run in runs))
    if baseline is not None:
        check_one_of("baseline", baseline, models)
    terms = cells.BenchmarkSettings(
        metric=next(iter(keys)),
        baseline=baseline,
        confidence=check_confidence(confidence),
        cluster=check_one_of("cluster", cluster, CLUSTERS, MetricError),
        spread=check_one_of("spread", spread, SPREADS, MetricError),
    )
    parts = cells.aligned_runs(runs, datasets, keys, split_list(override), terms)
    table = pd.DataFrame(
        [part.mean_row(model, label, terms) for model in models for part in parts for label in keys],
        columns=list(cells.COLUMNS),
    ).astype(dict.fromkeys(cells.NUMBERS, np.float64))
    differences = cells.with_separate(cells.difference_table(parts, models, table, terms), parts, table, terms)
    values = table[table["metric"] == terms.metric].pivot(index="model", columns="dataset", values="mean")
    values = values.loc[list(models), list(datasets)].rename_axis(columns="dataset")
    records = [
        run._asdict() | {label: part.value(place, label) for label in keys}
        for part in parts
        for place, run in enumerate(part.runs)
    ]
    # As objects: seeds stay whole numbers, even if a run has none.
    of_runs = pd.DataFrame(records, dtype=object).astype(dict.fromkeys(keys, np.float64))
    notes = tuple(dict.fromkeys(cells.benchmark_notes(parts, table, differences, terms)))
    alignments = {part.dataset: part.alignment for part in parts}
    return Benchmark(table, differences, values, of_runs, models, datasets, keys, runs, alignments, terms, notes)
