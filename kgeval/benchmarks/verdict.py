"""The verdict on a benchmark: which model is best on which dataset, as a sentence written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kgeval.checks import counted, listed
from kgeval.comparison import NO_RUN, UNDECIDED, best_first, leaders_among, p_part, row_of
from kgeval.markup import printable
from kgeval.markup_panels import between, enough_decimals, signed
from kgeval.metrics import display_of
from kgeval.report import number_text

MAX_NAMED = 4  # models that a verdict names before it counts the others
MAX_WITH_NUMBERS = 3  # datasets, or comparisons with a baseline, whose numbers the sentence contains
MAX_LABEL, MAX_REASON = 60, 300


@dataclass(frozen=True)
class BenchmarkVerdict:
    """The result of a benchmark for its primary metric, in one sentence.

    Parameters
    ----------
    sentence : str
        One line of printable text. A model *is best* on a dataset only if it is significantly better there than every
        other model: the corrected p-value of each of these differences is at most 1 - confidence.
    leaders : dict of str to tuple of str
        For each dataset, the model with the best mean, then every model that is not significantly worse, best mean
        first. Empty if there is no verdict on the dataset, or if the models were compared with a baseline only.
    n_decided : int
        The number of decided differences.
    n_tests : int
        The number of tests, for which the p-values are corrected.
    metric : str
        The text of the key of the primary metric.
    """

    sentence: str
    leaders: dict[str, tuple[str, ...]]
    n_decided: int
    n_tests: int
    metric: str

    def __str__(self) -> str:
        return self.sentence


def benchmark_verdict(benchmark: Any) -> BenchmarkVerdict:
    """Return the verdict on a benchmark.

    Parameters
    ----------
    benchmark : Benchmark

    Returns
    -------
    BenchmarkVerdict
    """
    table = benchmark.differences
    n_tests, n_decided = int(table["p"].notna().sum()), int((table["better"] != "").sum())
    leaders: dict[str, tuple[str, ...]] = {}
    if len(benchmark.models) == 1:
        return BenchmarkVerdict(_of_one(benchmark), leaders, 0, 0, benchmark.metric)
    if benchmark.terms.baseline is None:
        leaders = {dataset: leaders_on(benchmark, dataset) for dataset in benchmark.datasets}
        parts = _best_parts(benchmark, leaders)
    else:
        parts = _baseline_parts(benchmark)
    if n_tests:
        parts.append(
            f"{n_decided} of {counted(n_tests, 'difference')} {'is' if n_decided == 1 else 'are'} decided "
            f"(Holm, {counted(n_tests, 'test')})"
            if n_tests > 1
            else f"{'decided' if n_decided else 'not decided'} by one test"
        )
        if (table[["n_first", "n_second"]].to_numpy() <= 1).all():
            parts.append(
                "one run of each model: this is about these trained models; other seeds may give another order"
            )
        parts += borrowed_spreads(table)
        parts += more_runs(benchmark)
    return BenchmarkVerdict("; ".join(parts), leaders, n_decided, n_tests, benchmark.metric)


def leaders_on(benchmark: Any, dataset: str) -> tuple[str, ...]:
    """Return `BenchmarkVerdict.leaders` for one dataset, with all pairs compared.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    """
    if why_none(benchmark, dataset):
        return ()
    table = benchmark.differences
    higher_is_better = benchmark.keys[benchmark.metric].higher_is_better
    return leaders_among(table[table["dataset"] == dataset], _values_on(benchmark, dataset), higher_is_better)


def _values_on(benchmark: Any, dataset: str) -> dict[str, float]:
    """Return the mean of each model that has runs on a dataset."""
    return {str(model): float(value) for model, value in benchmark.values[dataset].dropna().items()}


def borrowed_spreads(differences: pd.DataFrame) -> list[str]:
    """Return a sentence about the models with one run whose spread over the seeds is that of the others; empty if none.

    Parameters
    ----------
    differences : pandas.DataFrame
        `Benchmark.differences`.
    """
    single: dict[tuple[str, str], None] = {}
    several = set(differences.loc[(differences[["n_first", "n_second"]] > 1).any(axis=1), "dataset"])
    for row in differences[differences["p"].notna()].to_dict("records"):
        if row["test"] == "t" and row["dataset"] in several:
            single |= {(row[place], row["dataset"]): None for place in ("first", "second") if row[f"n_{place}"] == 1}
    if not single:
        return []
    models = {model for model, _ in single}
    if len(models) == 1:
        where = _few([_shown(dataset) for _, dataset in single])
        return [
            f"{_shown(models.pop())} has one run on {where}: its spread over the seeds is taken from the models with "
            "several"
        ]
    places = [f"{_shown(model)} on {_shown(dataset)}" for model, dataset in single]
    return [f"{_few(places)} have one run: the spread over the seeds of each is taken from the models with several"]


def more_runs(benchmark: Any) -> list[str]:
    """Return a sentence about undecided differences of models with two runs, which a third run may decide.

    Parameters
    ----------
    benchmark : Benchmark
    """
    table = benchmark.differences
    counts = table[["n_first", "n_second"]]
    rows = table[(table["decision"] == UNDECIDED) & (counts == 2).any(axis=1) & table["detectable"].notna()]
    if not len(rows):
        return []
    row = rows.loc[rows["detectable"].idxmin()]
    return [
        "two runs of a model decide little: train a third (as it is, a difference of "
        f"{_value(benchmark, row['detectable'])} would be found about four times in five)"
    ]


def why_none(benchmark: Any, dataset: str) -> str:
    """Return the reason why there is no verdict on a dataset; empty if there is a verdict.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    """
    differing = benchmark.alignments[dataset].differing
    if differing:
        return f"the results differ, and the benchmark accepted it: {differing[0]}"
    cells = benchmark.table[(benchmark.table["dataset"] == dataset) & (benchmark.table["metric"] == benchmark.metric)]
    present = cells[cells["n_seeds"] > 0]
    for row in present.to_dict("records"):
        if not math.isfinite(row["mean"]):
            return f"{row['model']} has no {display_of(benchmark.metric).heading}: {row['reason'] or 'not finite'}"
    if len(present) < 2:
        return f"only {present['model'].iloc[0]} has a run"
    return ""


def _of_one(benchmark: Any) -> str:
    """Return the sentence about a benchmark of one model: its means."""
    label, model = benchmark.metric, benchmark.models[0]
    decimals, texts = display_of(label).decimals, []
    for row in benchmark.table[benchmark.table["metric"] == label].to_dict("records"):
        interval = between(row["low"], row["high"], decimals)
        texts.append(f"{_value(benchmark, row['mean'])} {interval}".rstrip() + f" on {_shown(row['dataset'])}")
    return f"{_shown(model)}: {display_of(label).heading} {listed(texts)}; one model, so there is no difference to test"


def _best_parts(benchmark: Any, leaders: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the parts of the sentence that name the best models, datasets with the same answer together."""
    key = benchmark.keys[benchmark.metric]
    heading = display_of(benchmark.metric).heading + ("" if key.higher_is_better else " (lower is better)")
    datasets = benchmark.datasets
    has_numbers = len(datasets) <= MAX_WITH_NUMBERS
    groups: dict[tuple[str, ...], list[str]] = {}
    for dataset in datasets:
        if leaders[dataset]:
            same = tuple(leaders[dataset]) if not has_numbers else (*leaders[dataset], dataset)
            groups.setdefault(same, []).append(dataset)
    parts = []
    for places in groups.values():
        names, where = leaders[places[0]], listed([_shown(place) for place in places])
        if has_numbers:
            numbers = _numbers(benchmark, places[0], names, heading)
            verb = f"{_shown(names[0])} is best on {where}" if len(names) == 1 else f"undecided on {where}"
            parts.append(f"{verb}: {numbers}")
        elif len(names) == 1:
            parts.append(f"{_shown(names[0])} is best on {where}")
        else:
            parts.append(f"undecided on {where} between {_few([_shown(name) for name in names])}")
    if parts and parts[0].startswith("undecided on"):
        parts[0] = f"U{parts[0][1:]}"
    if parts and not has_numbers:
        parts[0] = f"{heading}: {parts[0]}"
    for dataset in datasets:
        reason = why_none(benchmark, dataset)
        if reason:
            parts.append(f"no verdict on {_shown(dataset)}: {_shown(reason, MAX_REASON)}")
    return parts


def _numbers(benchmark: Any, dataset: str, leaders: Sequence[str], heading: str) -> str:
    """Return the numbers on which the verdict on one dataset is based."""
    values = _values_on(benchmark, dataset)
    ranked = best_first(values, benchmark.keys[benchmark.metric].higher_is_better)
    best, beaten = leaders[0], [name for name in ranked if name not in leaders]
    if len(leaders) == 1:
        row = row_of(benchmark.differences, benchmark.metric, best, beaten[0], dataset)
        of_others = f"{_shown(beaten[0])}, the best of the others" if len(beaten) > 1 else _shown(beaten[0])
        return f"{heading} {_value(benchmark, values[best])} against {_value(benchmark, values[beaten[0]])} of " + (
            f"{of_others}, {_difference(benchmark, row)}"
        )
    row = row_of(benchmark.differences, benchmark.metric, best, leaders[1], dataset)
    others = _few([f"{_value(benchmark, values[name])} ({_shown(name)})" for name in leaders[1:]])
    text = f"{heading} {_value(benchmark, values[best])} ({_shown(best)}) is not significantly better than {others}"
    text += f" ({_shown(best)} - {_shown(leaders[1])}: {_difference(benchmark, row)})"
    if not beaten:
        return text
    return f"{text}, but better than {_few([_shown(name) for name in beaten])}"


def _baseline_parts(benchmark: Any) -> list[str]:
    """Return the parts of the sentence that compare each model with the baseline."""
    baseline, table = benchmark.terms.baseline, benchmark.differences
    has_numbers = len(table) <= MAX_WITH_NUMBERS
    parts = []
    for model in benchmark.models:
        with_model = table[(table[["first", "second"]] == model).any(axis=1) & (model != baseline)]
        rows = [row_of(table, benchmark.metric, model, baseline, dataset) for dataset in with_model["dataset"].tolist()]
        answers: dict[str, list[str]] = {}
        for row in rows:
            if benchmark.alignments[row["dataset"]].differing:
                answer = "no verdict"
            elif row["decision"] == NO_RUN:
                answer = NO_RUN
            elif math.isnan(row["p"]):
                answer = "not tested"
            elif not row["better"]:
                answer = UNDECIDED
            else:
                answer = "better" if row["better"] == model else "worse"
            where = _shown(row["dataset"])
            answers.setdefault(answer, []).append(
                f"{where} ({_difference(benchmark, row)})" if has_numbers and not answer.startswith("no") else where
            )
        if answers:
            said = ", ".join(f"{answer} on {listed(places)}" for answer, places in answers.items())
            parts.append(f"{_shown(model)} {said}")
    if not parts:
        return [f"only the baseline {_shown(baseline)} has runs"]
    heading = display_of(benchmark.metric).heading
    parts[0] = f"{heading} against the baseline {_shown(baseline)}: {parts[0]}"
    differing = [dataset for dataset, alignment in benchmark.alignments.items() if alignment.differing]
    if differing:
        parts.append(f"the results on {listed([_shown(name) for name in differing])} differ, which was accepted")
    return parts


def _few(texts: Sequence[str]) -> str:
    """Return texts as a list in words; of more than five, the first four and the number of the others.

    Examples
    --------
    >>> _few(["a", "b"]), _few(list("abcdef"))
    ('a and b', 'a, b, c, d and 2 more')
    """
    return listed(texts, MAX_NAMED if len(texts) > MAX_NAMED + 1 else None)


def _value(benchmark: Any, value: float) -> str:
    return number_text(benchmark.metric, float(value))


def _difference(benchmark: Any, row: Mapping[str, Any]) -> str:
    """Return a difference with its interval and its corrected p-value."""
    decimals = enough_decimals([row["difference"]] if row["better"] else [], display_of(benchmark.metric).decimals)
    interval = between(row["low"], row["high"], decimals, has_signs=False) or "(no interval)"
    return f"{signed(row['difference'], decimals)} {interval}, {p_part(row, benchmark.alpha)}"


def _shown(text: str, limit: int = MAX_LABEL) -> str:
    """Return a name or a reason as printable text; the middle of a long text is cut."""
    half = limit // 2
    return printable(text if len(text) <= limit else f"{text[:half]}…{text[-half:]}")
