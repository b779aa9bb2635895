"""The verdict on a benchmark: which model is best on which dataset, as a sentence written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kgeval.checks import counted, listed
from kgeval.comparison import UNDECIDED
from kgeval.errors import MetricError
from kgeval.markup import printable
from kgeval.markup_panels import between, enough_decimals, p_text, signed
from kgeval.metrics import display_of
from kgeval.report import number_text

CORRECTION_NAMES = {"holm": "Holm", "maxt": "maxT", "fdr": "false discovery rate"}
MAX_NAMED = 4  # models that a verdict names before it counts the others
SWAP_FLOOR = 1.0 / 10_000  # the smallest p-value of the 9,999 swaps that compare two single runs
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
    n_tests, n_decided = int(table["p"].notna().sum()), int((table["better"] != UNDECIDED).sum())
    leaders: dict[str, tuple[str, ...]] = {}
    if len(benchmark.models) == 1:
        return BenchmarkVerdict(_of_one(benchmark), leaders, 0, 0, benchmark.metric)
    if benchmark.terms.baseline is None:
        leaders = {dataset: leaders_on(benchmark, dataset) for dataset in benchmark.datasets}
        parts = _best_parts(benchmark, leaders)
    else:
        parts = _baseline_parts(benchmark)
    if n_tests:
        name = CORRECTION_NAMES[benchmark.terms.correction]
        parts.append(
            f"{n_decided} of {counted(n_tests, 'difference')} {'is' if n_decided == 1 else 'are'} decided "
            f"({name}, {counted(n_tests, 'test')})"
            if n_tests > 1
            else f"{'decided' if n_decided else 'not decided'} by one test"
        )
        if (table[["n_first", "n_second"]].to_numpy() <= 1).all():
            parts.append("one run of each model, so other seeds may give another order")
        else:
            parts += between_single_runs(table)
        parts += borrowed_spreads(table)
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
    values = benchmark.values[dataset].dropna()
    sign = -1.0 if benchmark.keys[benchmark.metric].higher_is_better else 1.0
    best, *others = sorted(values.index, key=lambda model: sign * values[model])
    return (best, *(name for name in others if pair_of(benchmark, dataset, best, name)["better"] != best))


def pair_of(benchmark: Any, dataset: str, first: str, second: str) -> dict[str, Any]:
    """Return the row of `Benchmark.differences` of two models on a dataset, as first - second.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    first, second : str
        If the table contains second - first, signs and roles are exchanged.
    """
    table = benchmark.differences
    for row in table[table["dataset"] == dataset].to_dict("records"):
        if (row["first"], row["second"]) == (first, second):
            return {str(name): value for name, value in row.items()}
        if (row["first"], row["second"]) == (second, first):
            swapped = {"difference": -row["difference"], "low": -row["high"], "high": -row["low"]}
            for name in ("value", "n"):
                swapped |= {f"{name}_first": row[f"{name}_second"], f"{name}_second": row[f"{name}_first"]}
            return {str(name): value for name, value in row.items()} | swapped | {"first": first, "second": second}
    raise MetricError(f"the table of differences has no row of {first} and {second} on {dataset}")


def corrected_text(benchmark: Any, row: Mapping[Any, Any]) -> str:
    """Return the p-value of a row of `Benchmark.differences`, by the chosen correction, as text.

    Parameters
    ----------
    benchmark : Benchmark
    row : mapping of str to object
    """
    p_value, terms = row[benchmark.p_column], benchmark.terms
    is_floor = row["test"] == "swaps" and math.isclose(row["p"], SWAP_FLOOR, rel_tol=1e-9)
    if terms.correction == "maxt":
        is_floor = math.isclose(p_value, 1.0 / (1.0 + terms.n_resamples), rel_tol=1e-9)
    return p_text(p_value, terms.alpha, is_floor)


def between_single_runs(differences: pd.DataFrame) -> list[str]:
    """Return a sentence about the tested differences between two models with one run each; empty if none.

    Parameters
    ----------
    differences : pandas.DataFrame
        `Benchmark.differences`.
    """
    rows = differences[differences["p"].notna() & (differences[["n_first", "n_second"]] == 1).all(axis=1)]
    if not len(rows):
        return []
    pairs = [
        f"{_shown(row['first'])} - {_shown(row['second'])} on {_shown(row['dataset'])}"
        for row in rows.to_dict("records")
    ]
    whose = "compares" if len(pairs) == 1 else "each compare"
    return [f"{_few(pairs)} {whose} two single runs, so other seeds may give another order"]


def borrowed_spreads(differences: pd.DataFrame) -> list[str]:
    """Return a sentence about the models whose spread over the seeds comes from the other model; empty if none.

    These models have one run, and were compared with a model that has several.

    Parameters
    ----------
    differences : pandas.DataFrame
        `Benchmark.differences`.
    """
    single: dict[tuple[str, str], None] = {}
    for row in differences[differences["p"].notna()].to_dict("records"):
        n_first, n_second = row["n_first"], row["n_second"]
        if n_first != n_second and min(n_first, n_second) == 1:
            single[row["first"] if n_first == 1 else row["second"], row["dataset"]] = None
    if not single:
        return []
    models = {model for model, _ in single}
    if len(models) == 1:
        where = _few([_shown(dataset) for _, dataset in single])
        return [
            f"{_shown(models.pop())} has one run on {where}: its spread over the seeds is taken from the model it is "
            "compared with"
        ]
    places = [f"{_shown(model)} on {_shown(dataset)}" for model, dataset in single]
    return [
        f"{_few(places)} have one run: the spread over the seeds of each is taken from the model it is compared with"
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
    values = benchmark.values[dataset].dropna()
    sign = -1.0 if benchmark.keys[benchmark.metric].higher_is_better else 1.0
    ranked = sorted(values.index, key=lambda model: sign * values[model])
    best, beaten = leaders[0], [name for name in ranked if name not in leaders]
    if len(leaders) == 1:
        row = pair_of(benchmark, dataset, best, beaten[0])
        of_others = f"{_shown(beaten[0])}, the best of the others" if len(beaten) > 1 else _shown(beaten[0])
        return f"{heading} {_value(benchmark, values[best])} against {_value(benchmark, values[beaten[0]])} of " + (
            f"{of_others}, {_difference(benchmark, row)}"
        )
    row = pair_of(benchmark, dataset, best, leaders[1])
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
        rows = table[table["first"] == model].to_dict("records")
        answers: dict[str, list[str]] = {}
        for row in rows:
            if benchmark.alignments[row["dataset"]].differing:
                answer = "no verdict"
            elif math.isnan(row["p"]):
                answer = "not tested"
            elif row["better"] == UNDECIDED:
                answer = "undecided"
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
    numbers = [row["difference"]] if row["better"] != UNDECIDED else []
    decimals = enough_decimals(numbers, display_of(benchmark.metric).decimals)
    text = signed(row["difference"], decimals)
    interval = between(row["low"], row["high"], decimals, has_signs=False)
    text += f" {interval}" if interval else " (no interval)"
    if math.isnan(row[benchmark.p_column]):
        return f"{text}, not tested"
    p_value = corrected_text(benchmark, row)
    text += f", p {p_value}" if p_value[0] == "<" else f", p = {p_value}"
    # The interval is not corrected; it may lie beyond 0 although the corrected test does not decide.
    return f"{text} after the correction" if row["p"] <= benchmark.alpha < row[benchmark.p_column] else text


def _shown(text: str, limit: int = MAX_LABEL) -> str:
    """Return a name or a reason as printable text; the middle of a long text is cut."""
    half = limit // 2
    return printable(text if len(text) <= limit else f"{text[:half]}…{text[-half:]}")
