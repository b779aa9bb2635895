"""across_datasets() and AcrossDatasets: mean ranks of models over the datasets of a benchmark, and their tests.

`Benchmark.across` calls `across_datasets`. The tests are in `kgeval.stats`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgeval.base.checks import GONE, check_one_of, counted, listed, with_old_names
from kgeval.base.wording import p_equals, p_text, printable
from kgeval.benchmarks.cells import NOT_INDEPENDENT
from kgeval.comparison.rows import UNDECIDED, alpha_of
from kgeval.display.media import frame_text
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric
from kgeval.metrics.grammar import display_of
from kgeval.results.keys import Key
from kgeval.stats.across_datasets import (
    FEW_DATASETS,
    Friedman,
    MeanRanks,
    Nemenyi,
    alike_groups,
    friedman,
    mean_ranks,
    nemenyi,
)
from kgeval.stats.intervals import check_confidence

if TYPE_CHECKING:  # these modules import this one
    from kgeval.benchmarks.model_benchmark import Benchmark

MIN_MODELS = 3  # for the tests
MAX_TEXTS, MAX_NAMED = 10, 4  # pairs or datasets that a line lists; models that it names


@with_old_names(
    bayes=f"{GONE}Nemenyi's test decides, and benchmark compares models on each dataset",
    conover=f"{GONE}Nemenyi's test decides",
)
@dataclass(frozen=True, eq=False)
class AcrossDatasets:
    """Mean ranks of models over datasets, and the tests of their differences; `Benchmark.across` returns it.

    The observations are the datasets: within each dataset, the model with the best value has rank 1. The
    intervals of the values, over seeds and test triples, are not used.

    Parameters
    ----------
    values : pandas.DataFrame
        The value of the metric, one row per dataset and one column per model; NaN: no value.
    ranks : MeanRanks
        The ranks within each dataset of `values`, and their means, in the order of the columns.
    metric : str
        The text of the metric's key.
    higher_is_better : bool
        Whether the largest value has rank 1.
    confidence : float
        1 minus the significance level.
    friedman : Friedman, optional
        Friedman's test of the hypothesis that all models are equally good. `friedman` and `nemenyi` are None if there
        is no test, or if no outcome on so few datasets could be significant (see `notes`).
    nemenyi : Nemenyi, optional
        Nemenyi's test of all pairs.
    notes : tuple of str
        Cautions: why there is no test, which datasets are left out, too few datasets.

    Examples
    --------
    >>> values = pd.DataFrame({"A": [0.4, 0.5, 0.3], "B": [0.3, 0.6, 0.2], "C": [0.1, 0.2, 0.2]}, index=["x", "y", "z"])
    >>> across = AcrossDatasets.of(values, "mrr", higher_is_better=True)
    >>> across.table[["model", "mean_rank", "n_best"]].round(2).values.tolist()
    [['A', 1.33, 2], ['B', 1.83, 1], ['C', 2.83, 0]]
    """

    values: pd.DataFrame
    ranks: MeanRanks
    metric: str
    higher_is_better: bool
    confidence: float
    friedman: Friedman | None = None
    nemenyi: Nemenyi | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, values: pd.DataFrame, metric: str | Metric, higher_is_better: bool, confidence: float = 0.95
    ) -> AcrossDatasets:
        """Rank and test the models of a table of values.

        Parameters
        ----------
        values : pandas.DataFrame
            One row per dataset, one column per model, with different labels. A dataset in which a model has no value
            (NaN) is left out.
        metric : str or Metric
            The metric of the values, such as ``"mrr"``.
        higher_is_better : bool
            Whether greater values are better.
        confidence : float
            1 minus the significance level.

        Raises
        ------
        DataError
            If a value is infinite, or if there is no model.
        MetricError
            If the metric is unknown, `confidence` is out of range, or a model or a dataset occurs twice.
        """
        check_confidence(confidence)
        values = values.rename(index=str, columns=str)
        for kind, labels in (("dataset", values.index), ("model", values.columns)):
            if not labels.is_unique:
                raise MetricError(
                    f"values has the {kind} {labels[labels.duplicated()][0]!r} twice; expected one of each"
                )
        array = values.to_numpy(dtype=np.float64)
        ranks = mean_ranks(array, higher_is_better)
        n, k = ranks.ranks.shape
        tests: dict[str, Any] = {}
        if k < MIN_MODELS:
            reason = f"it needs at least {MIN_MODELS} models; got {k}"
        elif n < 2:
            reason = f"it needs at least 2 datasets with values of all models; got {n}"
        else:
            found = friedman(array)
            reason = found.reason
            if not reason and found.smallest_p > 1.0 - confidence:
                least = p_text(found.smallest_p, 1.0 - confidence)
                reason = f"with {n} datasets no outcome could be significant: Friedman's p is {least} or more"
            tests = {} if reason else {"friedman": found, "nemenyi": nemenyi(array, confidence)}
        few = f"with {n} datasets only very large differences are found, and the p-values of pairs are approximations"
        of_tests = [f"no test over datasets: {reason}"] if reason else [few] * (n < FEW_DATASETS)
        notes = (*_left_out(values, ranks), *of_tests)
        return cls(values, ranks, str(Key.parse(metric)), higher_is_better, confidence, **tests, notes=notes)

    @property
    def alpha(self) -> float:
        """The significance level, 1 - confidence."""
        return alpha_of(self.confidence)

    @property
    def n_datasets(self) -> int:
        """The number of datasets that count: those with values of all models."""
        return len(self.ranks.ranks)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, best mean rank first; models with equal mean ranks in the order of `values`."""
        return tuple(self.values.columns[i] for i in self._order())

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, best mean rank first: ``model, mean_rank, n_best, n_datasets``.

        ``n_best`` is the number of datasets in which the model has the best value, alone or with others;
        ``n_datasets`` is the number of datasets that count.
        """
        order = self._order()
        is_best = self.ranks.ranks == self.ranks.ranks.min(axis=1, keepdims=True)
        columns = {
            "model": list(self.models),
            "mean_rank": self.ranks.means[order],
            "n_best": is_best.sum(axis=0).astype(np.int64)[order],
            "n_datasets": self.n_datasets,
        }
        return pd.DataFrame(columns)

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of models; the model with the better mean rank is the first.

        Columns: ``first, second``; ``difference`` of the mean ranks, first - second, at most 0; ``p_nemenyi``, which is
        already corrected for the number of pairs;
        ``better``, the first model if ``p_nemenyi`` is at most `alpha`, else ``"undecided"``. P-values are NaN if there
        is no test.
        """
        order, names, means = self._order(), np.array(self.models, dtype=object), self.table["mean_rank"].to_numpy()
        first, second = np.triu_indices(len(order), 1)
        p_values = np.full(len(first), np.nan)
        if self.nemenyi is not None:
            p_values = self.nemenyi.p_values[np.ix_(order, order)][first, second]
        better = np.where(p_values <= self.alpha, names[first], UNDECIDED)
        columns = {"first": names[first], "second": names[second], "difference": means[first] - means[second]}
        return pd.DataFrame({**columns, "p_nemenyi": p_values, "better": better})

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups of models that do not differ significantly by Nemenyi's test, best mean ranks first.

        No two models of a group differ significantly; a group that is part of a larger group is left out. A model may
        be in several groups. The property is empty if there is no test, or if every two models differ significantly.
        """
        if self.nemenyi is None:
            return ()
        order, models = self._order(), self.models
        found = alike_groups(self.nemenyi.p_values[np.ix_(order, order)], self.alpha)
        return tuple(models[first : last + 1] for first, last in found)

    @property
    def answer(self) -> str:
        """Which models have the best mean rank, and which pairs Nemenyi's test tells apart; empty for one dataset."""
        best = self.table[self.table["mean_rank"] == self.table["mean_rank"].min()]
        if self.n_datasets < 2 or len(self.models) < 2:
            return ""
        of_all = "" if self.ranks.is_kept.all() else f" of {len(self.values):,}"
        text = f"best mean rank over {self.n_datasets:,}{of_all} datasets: {listed(best['model'].tolist(), MAX_NAMED)}"
        return f"{text}, {best['mean_rank'].iloc[0]:.2f} ({self._decisions()})"

    def _decisions(self) -> str:
        """Return which pairs Nemenyi's test tells apart; of many, the first ones."""
        if self.nemenyi is None or self.friedman is None:
            return "no test over datasets"
        if self.friedman.p_value > self.alpha:
            return f"Friedman's test finds no difference, {p_equals(self.friedman.p_value, self.alpha)}"
        decided = self.pairs[self.pairs["better"] != UNDECIDED]
        pairs = listed((decided["first"] + " over " + decided["second"]).tolist(), MAX_TEXTS)
        return f"Nemenyi's test decides {pairs}" if pairs else "Nemenyi's test tells no two models apart"

    def lines(self) -> list[str]:
        """Return sentences about the ranks and the tests, one per line; the notes come last."""
        direction = "" if self.higher_is_better else ", lower is better"
        start = f"mean ranks by {display_of(self.metric).heading}{direction}"
        ranks = ", ".join(f"{model} {rank:.2f}" for model, rank in zip(self.models, self.table["mean_rank"]))
        lines = [f"{start} over {counted(self.n_datasets, 'dataset')} (1 is best): {ranks}"]
        lines = lines if self.n_datasets else [f"{start}: no dataset has values of all models"]
        if self.friedman is not None and self.nemenyi is not None:
            test, kind = self.friedman, "exact" if self.friedman.is_exact else f"F {self.friedman.f:.2f}"
            found = f"Friedman's test: {p_equals(test.p_value, self.alpha)} ({kind}, chi-square {test.chi2:.2f})"
            size = f"critical difference {self.nemenyi.critical_difference:.2f}, significance level {self.alpha:g}"
            decisions = self._decisions() if test.p_value <= self.alpha else "it finds no difference"
            lines.append(f"{found}; {decisions} ({size} for {counted(len(self.pairs), 'pair')} together)")
        return [printable(line) for line in [*lines, *(f"note: {note}" for note in self.notes)]]

    def _order(self) -> list[int]:
        """Return the columns of `values`, best mean rank first."""
        return [int(i) for i in np.argsort(self.ranks.means, kind="stable")]

    def __repr__(self) -> str:
        shown = self.table.rename(columns={"mean_rank": "mean rank", "n_best": "first on", "n_datasets": "datasets"})
        return frame_text(self.lines(), shown, index=False)


def across_datasets(benchmark: Benchmark, metric: str | Metric | None = None) -> AcrossDatasets:
    """Rank the models of a benchmark within each dataset, and test whether some are better over all datasets.

    Each dataset counts once: the observations are the datasets, not their triples. So the conclusion is about other
    datasets of the same kind. With fewer than five datasets, the tests find only very large differences. Datasets that
    are made from each other, such as FB15k and FB15k-237, are not independent; keep one of them. Differences within a
    dataset are tested by `Benchmark.differences`.

    Parameters
    ----------
    benchmark : Benchmark
        The values are the means over the runs of each model on each dataset. Datasets that a model was not evaluated on
        are left out.
    metric : str or Metric, optional
        One of the metrics of the benchmark; by default the primary one.

    Returns
    -------
    AcrossDatasets

    Raises
    ------
    MetricError
        If the benchmark does not have the metric.

    References
    ----------
    Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7.
    """
    label = str(Key.parse(benchmark.metric if metric is None else metric))
    higher = benchmark.keys[check_one_of("metric", label, benchmark.keys, MetricError)].higher_is_better
    table = benchmark.table[benchmark.table["metric"] == label]
    values = table.pivot(index="dataset", columns="model", values="mean")
    # `pivot` sorts the labels; the order of the benchmark decides which of two equal models comes first.
    values = values.loc[table["dataset"].unique(), table["model"].unique()]
    found = AcrossDatasets.of(values, label, bool(higher), benchmark.terms.confidence)
    alike = tuple(note for note in benchmark.notes if note.endswith(NOT_INDEPENDENT))
    return replace(found, notes=(*alike, *found.notes))


def _left_out(values: pd.DataFrame, ranks: MeanRanks) -> Iterator[str]:
    """Yield a note about the datasets that are left out, and why."""
    texts = []
    for dataset, row in values[~ranks.is_kept].iterrows():
        missing = row.index[row.isna()].tolist()
        texts.append(f"{dataset} (no value of {'any model' if len(missing) == len(row) else listed(missing)})")
    if texts:
        yield f"{counted(len(texts), 'dataset')} left out: {listed(texts, MAX_TEXTS)}"
