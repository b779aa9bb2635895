"""compare(): is one model better than another, surely, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgeval.checks import check_number, check_one_of, check_positive_int, check_seed
from kgeval.comparison.alignment import Alignment, align, cautions
from kgeval.comparison.differences import (
    Sample,
    Terms,
    difference_table,
    relation_table,
    samples_of,
    value_table,
)
from kgeval.comparison.names import listed, name_results
from kgeval.errors import MetricError, ProtocolError
from kgeval.metrics import Metric, QueryLevel, split_list
from kgeval.results import CLUSTERS, EvaluationResult, Key, show_html, show_text
from kgeval.stats import MAX_ENUMERATED, check_confidence

COMPARED_METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences between results on the same ranks, how sure they are, and where they come from.

    Made by `kgeval.compare`.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per pair of results and metric: ``first, second, metric``; ``value_first, value_second, difference``
        (first - second) with its interval ``low, high``; ``p`` of the paired randomization test and ``p_holm``,
        adjusted over the whole table; ``detectable``, the smallest difference that the test would find with a
        probability of 0.8; ``wins, ties, losses``, in how many of the ``n`` observations (ranks, or queries) the
        metric puts the first above, equal, below; ``n_clusters`` of them; ``better``, the name of the model that the
        metric favours, surely or not; ``reason``, why numbers are NaN.
    values : pandas.DataFrame
        One row per model; columns are metrics under their keys, each with ``"<metric> low"`` and
        ``"<metric> high"``, and ``reason``.
    names : tuple of str
    keys : dict of str to Key
        The metrics that were compared.
    results : tuple of EvaluationResult
    alignment : Alignment
        Which rows were compared, and what was overridden for it.
    terms : Terms
    notes : tuple of str
        Cautions that belong to the numbers.
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
        """What the results differ in and were compared all the same, each with the values."""
        said: dict[str, list[str]] = {}
        for mismatch in self.alignment.overridden:
            said.setdefault(mismatch.field, []).append(mismatch.said)
        return {field: "; ".join(parts) for field, parts in said.items()}

    def best(self, metric: str | Metric) -> str:
        """Return the name of the model with the best value; the first of equals.

        Raises
        ------
        MetricError
            If the metric was not compared, or no model has a value.
        """
        label = self._label(metric)
        values = self.values[label].to_numpy()
        if np.isnan(values).all():
            raise MetricError(f"no model has a value of {label} ({self.values['reason'].iloc[0]})")
        return self.names[int(np.nanargmax(values) if self.keys[label].higher_is_better else np.nanargmin(values))]

    def significant(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the rows of the table whose adjusted p-value is at most `alpha`."""
        check_number("alpha", alpha, 0.0, 1.0, "between 0 and 1")
        return self.table[(self.table["p_holm"] <= alpha).to_numpy()].reset_index(drop=True)

    def by_relation(self, metric: str | Metric, first: str | None = None, second: str | None = None) -> pd.DataFrame:
        """Return where the difference between two models comes from, relation by relation.

        Parameters
        ----------
        metric : str or Metric
            One of those compared.
        first, second : str, optional
            Names of models; by default the first two.

        Returns
        -------
        pandas.DataFrame
            Indexed by relation (label), largest contribution first: ``n`` observations and their ``share``,
            ``value_first``, ``value_second``, ``difference`` with its interval ``low, high``, all within the relation,
            ``contribution``, and ``reason``, why one of them is NaN. Contributions add up to the difference between the
            models, which is ``attrs["difference"]``. For a mean each is ``share * difference``. For another number,
            such as the GMR, it is the part that the relation has in the change of the number where it is linear,
            half-way between both models; ``attrs["contribution"]`` says ``"exact"`` or ``"linearised"``.

        Raises
        ------
        MetricError
            If the metric was not compared, or is no function of means.
        ProtocolError
            If there is no model of that name.
        """
        i, j = self._places(first, second)
        key = self.keys[self._label(metric)]
        sample = Sample.of(self.results, self.alignment.rows, key, self.terms.cluster)
        return relation_table(self.results, sample, key, (i, j), self.terms.confidence)

    def _places(self, first: str | None, second: str | None) -> tuple[int, int]:
        """Return the places of two models by name."""
        i = 0 if first is None else self.names.index(check_one_of("first", first, self.names))
        others = [place for place in range(len(self.names)) if place != i]
        j = others[0] if second is None else self.names.index(check_one_of("second", second, self.names))
        if i == j:
            raise ProtocolError(f"first and second must be two models; got {self.names[i]!r} twice")
        return i, j

    def _label(self, metric: str | Metric) -> str:
        """Return the key of a metric that was compared."""
        key = str(Key.parse(metric))
        if key not in self.keys:
            raise MetricError(f"{key} was not compared; there are {', '.join(self.keys)}")
        return key

    def header(self) -> list[str]:
        """Return the lines that say what was compared, on what terms, and what was tested."""
        terms, n_tested = self.terms, int(self.table["p"].notna().sum())
        has_queries = any(isinstance(key.metric, QueryLevel) for key in self.keys.values())
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        made: dict[str, list[str]] = {}
        for name, result in zip(self.names, self.results):
            about, protocol = result.about, result.protocol
            said = f"{protocol.describe()}; protocol {protocol.fingerprint}, "
            said += f"dataset {about['dataset_fingerprint'][:8]}, kgeval {about['version']}"
            made.setdefault(said, []).append(name)
        first = self.results[0]
        lines = [
            f"{listed(self.names)} on {first.about['dataset']}: {len(self.alignment.rows[0]):,} ranks of "
            f"{'+'.join(first.protocol.splits)}, paired by labels",
            *(said if len(made) == 1 else f"{listed(of)}: {said}" for said, of in made.items()),
            *(f"overridden: {mismatch}" for mismatch in self.alignment.overridden),
            *(f"not needed: override {name!r}, since the results agree in it" for name in self.alignment.unneeded),
            "tested: p is how often a difference as large, either way, arises when the two models swap all their ranks "
            f"of a {terms.cluster} at random ({terms.n_resamples:,} times, seed {terms.seed}; all ways where "
            f"{MAX_ENUMERATED} or fewer differ); p_holm is adjusted for all tests here, {n_tested:,} "
            f"(pairs of models: {n_pairs:,}, metrics: {len(self.keys):,})",
            f"differences are first - second; intervals {100 * terms.confidence:g}%, ranks of a {terms.cluster} "
            "taken as dependent" + ("; in query. metrics each query is its own" if has_queries else ""),
        ]
        return lines + [f"note: {note}" for note in self.notes]

    def _shown(self) -> pd.DataFrame:
        """Return the table as people read it."""
        table = self.table
        shown = table[["first", "second", "metric", "value_first", "value_second", "difference"]].copy()
        shown["interval"] = [
            "-" if np.isnan(low) else f"[{low:.4f}, {high:.4f}]" for low, high in zip(table["low"], table["high"])
        ]
        for name in ("p", "p_holm", "detectable"):
            shown[name] = table[name]
        shown["wins/ties/losses"] = [f"{w}/{t}/{k}" for w, t, k in zip(table["wins"], table["ties"], table["losses"])]
        shown["favours"] = table["better"]
        if (table["reason"] != "").any():
            shown["reason"] = table["reason"]
        return shown

    def __repr__(self) -> str:
        return show_text(self.header(), self._shown(), index=False)

    def _repr_html_(self) -> str:
        return show_html(self.header(), self._shown(), index=False)


def compare(
    results: Sequence[EvaluationResult] | Mapping[str, EvaluationResult],
    *,
    names: Sequence[str] | None = None,
    metrics: Sequence[str | Metric] | str = COMPARED_METRICS,
    override: Sequence[str] | str = (),
    confidence: float = 0.95,
    cluster: str = "triple",
    n_resamples: int = 9999,
    seed: int = 0,
) -> Comparison:
    """Compare results pair by pair on the same ranks.

    Rows are paired by labels, side and split, never by ids or position.

    Parameters
    ----------
    results : sequence of EvaluationResult, or mapping of name to EvaluationResult
        At least two, of one protocol, dataset and set of queries.
    names : sequence of str, optional
        By default the names of the scorers, numbered where they are equal.
    metrics : sequence of str or Metric, or one string with commas
        Keys ``[setting.][side.][ties.]metric`` of `EvaluationResult`.
    override : sequence of str, or one string with commas
        In what the results may differ all the same: ``"queries"`` (only rows that all have are compared),
        ``"dataset"`` (the same labels, other triples), ``"unseen"``, ``"filter_splits"``, ``"splits"``.
    confidence : float
        Of the intervals, such as 0.95.
    cluster : str
        Which ranks are not independent and swap together: ``"triple"`` or ``"query"``. In ``query.`` metrics
        every query is its own.
    n_resamples : int
        How many random swaps the test draws; no p-value is less than ``1 / (1 + n_resamples)``. The swaps are the same
        for all metrics of a call, so that asked alone a p-value may differ by the error of the simulation.
    seed : int
        Of the swaps.

    Returns
    -------
    Comparison

    Raises
    ------
    ProtocolError
        If the results differ in what changes a number and `override` does not name it; lists every difference.
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
    >>> found = compare([good, bad], names=["good", "bad"], metrics="mrr,mr")
    >>> found.best("mr"), found.significant()["better"].tolist()
    ('good', ['good', 'good'])
    """
    if not isinstance(results, (list, tuple, Mapping)) or len(results) < 2:
        got = f"{len(results)} of them" if isinstance(results, (list, tuple, Mapping)) else type(results).__name__
        raise ProtocolError(f"compare needs a list of at least two results, such as compare([a, b]); got {got}")
    named = name_results(results, names)
    names, results = tuple(named), tuple(named.values())
    keys = _read_keys(metrics)
    check_confidence(confidence)
    check_one_of("cluster", cluster, CLUSTERS, MetricError)
    terms = Terms(
        confidence, cluster, check_positive_int("n_resamples", n_resamples, MetricError), check_seed(seed, MetricError)
    )
    wanted = split_list(override) if isinstance(override, str) else list(override)
    alignment = align(results, names, list(keys.values()), wanted)
    samples = samples_of(results, alignment.rows, keys, cluster)
    values = value_table(results, names, keys, samples, confidence)
    table = difference_table(results, keys, samples, values, terms)
    return Comparison(table, values, names, keys, results, alignment, terms, tuple(cautions(results, names)))


def _read_keys(metrics: Sequence[str | Metric] | str) -> dict[str, Key]:
    """Return each key under its text, equal ones once."""
    asked = split_list(metrics) if isinstance(metrics, str) else list(metrics)
    keys = {str(key): key for key in map(Key.parse, asked)}
    if not keys:
        raise MetricError("say what to compare: metrics names none")
    return keys
