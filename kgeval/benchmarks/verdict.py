"""The verdict on a benchmark: which model is best on which dataset, as a sentence written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgeval.audit.leak_notes import WITHOUT_COPIED
from kgeval.base.checks import counted, grouped, listed
from kgeval.base.wording import between, decimals_for, enough_decimals, p_equals, written
from kgeval.comparison.rows import NO_RUN, UNDECIDED, difference_words, row_decimals, row_of, trained_words
from kgeval.comparison.verdict import Clauses, Sentence, model_name, shown_name
from kgeval.display.differences import OTHERWISE, is_otherwise
from kgeval.metrics.grammar import display_of

if TYPE_CHECKING:  # these modules import this one
    from kgeval.benchmarks.model_benchmark import Benchmark

MAX_NAMED = 4  # models that a verdict names before it counts the others
MAX_WITH_NUMBERS = 3  # datasets, or comparisons with a baseline, whose numbers the sentence contains
MAX_REASON = 300
MAX_HEADLINE, MAX_SHORT = 170, 24  # characters of a headline, two lines of a page, and of a name in it


@dataclass(frozen=True)
class BenchmarkVerdict(Clauses):
    """The result of a benchmark for its primary metric, in one sentence.

    Parameters
    ----------
    parts : tuple of str
        The clauses of the sentence, each one line of printable text. A model *is best* on a dataset only if it is
        significantly better there than every other model: the corrected p-value of each of these differences is at most
        1 - confidence.
    leaders : dict of str to tuple of str
        For each dataset, the model with the best mean, then every model that is not significantly worse, best mean
        first. Empty if there is no verdict on the dataset, or if the models were compared with a baseline only.
    metric : str
        The text of the key of the primary metric.
    headline : str
        Who is best on which datasets, by how much and how surely: the first clauses, or shorter words in their place.
    remarks : tuple of str
        The clauses that follow the answers: which model has the best mean rank over the datasets, where there is no
        verdict and why, and those about the tests.
    """

    leaders: dict[str, tuple[str, ...]]
    metric: str
    headline: str
    remarks: tuple[str, ...]


def benchmark_verdict(benchmark: Benchmark) -> BenchmarkVerdict:
    """Return the verdict on a benchmark.

    Parameters
    ----------
    benchmark : Benchmark

    Returns
    -------
    BenchmarkVerdict
    """
    if len(benchmark.models) == 1:
        answer, alone = _of_one(benchmark), ("one model, so there is no difference to test",)
        return BenchmarkVerdict((answer, *alone), {}, benchmark.metric, answer, alone)
    leaders, none = dict[str, tuple[str, ...]](), list[str]()
    if benchmark.terms.baseline is None:
        for dataset in benchmark.datasets:
            reason = why_none(benchmark, dataset)
            leaders[dataset] = () if reason else _sentence(benchmark, dataset).leaders
            none += [f"no verdict on {shown_name(dataset)}: {shown_name(reason, MAX_REASON)}"] if reason else []
        answers = [_best_on(benchmark, on) for on, of in leaders.items() if of]
        answers = answers if len(leaders) == 1 else [_headline(benchmark, leaders)]
    else:
        answers = _baseline_parts(benchmark, benchmark.terms.baseline)
    headline = "; ".join([*answers, *none])
    if len(headline) > MAX_HEADLINE or len(leaders) > 1:
        headline = _headline(benchmark, leaders)
    overall = filter(None, [benchmark.across().answer]) if leaders else ()
    further = [*overall, *none, *_test_parts(benchmark, OTHERWISE in headline)]
    remarks = tuple(part for part in further if part not in headline)
    return BenchmarkVerdict((*answers, *further), leaders, benchmark.metric, headline, remarks)


def _test_parts(benchmark: Benchmark, has_mark: bool) -> Iterator[str]:
    """Yield the parts of the sentence about the tests: how many differences are decided, and what they are about."""
    tested = benchmark.differences[benchmark.differences["p"].notna()]
    if not len(tested):
        return
    n, n_decided = len(tested), int((tested["better"] != "").sum())
    n_turned = sum(map(is_otherwise, tested.to_dict("records")))
    turned = f"; {n_turned} decided otherwise with separate spreads{f', {OTHERWISE}' * has_mark}" if n_turned else ""
    yield f"{n_decided} of {counted(n, 'difference')} decided (Holm, {counted(n, 'test')}{turned})"
    said = {str(one): trained_words(rows) for one, rows in tested.groupby("dataset", sort=False)}
    single = [dataset for dataset, words in said.items() if words]
    if single:
        where = f" on {listed(list(map(shown_name, single)))}" if len(single) < len(said) else ""
        yield f"one run of each model{where}: {said[single[0]][0]}"


def _headline(benchmark: Benchmark, leaders: Mapping[str, Sequence[str]], *, has_rivals: bool = True) -> str:
    """Return who is best on which datasets, by how much over whom and how surely, in about two lines."""
    frame, display, baseline = benchmark.differences, display_of(benchmark.metric), benchmark.terms.baseline
    if baseline is not None:
        n_worse, n_undecided = ((frame["better"] == name).sum() for name in (baseline, ""))
        counts = f"{len(frame) - n_worse - n_undecided:,} better, {n_worse:,} worse, {n_undecided:,} undecided"
        of = counted(len(frame), "difference")
        return f"{display.heading} against the baseline {shown_name(baseline, MAX_SHORT)}: of {of}, {counts}"
    facts = ((run.dataset, result.facts.get(WITHOUT_COPIED, {})) for run, result in benchmark.results.items())
    copied = {dataset: "; all may be copied" for dataset, fact in facts if fact.get("n") == 0}
    best, p_values = list[str](), list[float]()
    answers = grouped((tuple(leaders[dataset]), dataset) for dataset in benchmark.datasets)
    for found, datasets in sorted(answers.items(), key=lambda answer: -len(answer[1])):
        if len(found) == 1:
            won = frame[(frame["better"] == found[0]) & frame["dataset"].isin(datasets)]
            nearest = won.assign(size=won["difference"].abs()).sort_values("size", kind="stable")
            sizes, rivals = (nearest.groupby("dataset")[name].first()[datasets] for name in ("size", "second"))
            decimals = enough_decimals(sizes, display.decimals)
            marks = {row["dataset"]: OTHERWISE for row in won.to_dict("records") if is_otherwise(row)}
            over = [f" over {model_name(of, MAX_SHORT)}" * has_rivals for of in rivals]
            on = [f"{shown_name(name, MAX_SHORT)}{marks.get(name, '')}" for name in datasets]
            parts = zip(on, sizes, over, (copied.get(name, "") for name in datasets))
            shown = [f"{name} (+{written(size, decimals)}{of}{more})" for name, size, of, more in parts]
            ends = f"{written(sizes.min(), decimals)} to {written(sizes.max(), decimals)}"
            where = listed(shown) if len(on) <= MAX_WITH_NUMBERS else f"{listed(on, MAX_WITH_NUMBERS)} by {ends}"
            best.append(f"{model_name(found[0], MAX_SHORT)} on {where}")
            p_values.append(float(won["p_corrected"].max()))
    open_on = [dataset for dataset in benchmark.datasets if len(leaders[dataset]) > 1]
    none = [dataset for dataset in benchmark.datasets if not leaders[dataset]]
    led = grouped((leaders[dataset][0], dataset) for dataset in open_on).items()
    led_by = [f"{_where(datasets)} ({model_name(first, MAX_SHORT)} leads)" for first, datasets in led]
    texts = [f"undecided on {listed(led_by, MAX_WITH_NUMBERS)}"] if open_on else []
    texts += [f"no verdict on {_where(none)}"] if none else []
    if not best:
        return f"{display.title}: {'; '.join(texts)}"
    p_value = p_equals(max(p_values), benchmark.alpha).replace("=", "≤")
    text = "; ".join([f"Best in {display.title}: {', '.join(best)}, {p_value}", *texts])
    is_long = has_rivals and len(text) > MAX_HEADLINE
    return _headline(benchmark, leaders, has_rivals=False) if is_long else text


def _where(datasets: Sequence[str]) -> str:
    return listed([shown_name(dataset, MAX_SHORT) for dataset in datasets], MAX_WITH_NUMBERS)


def _sentence(benchmark: Benchmark, dataset: str) -> Sentence:
    """Return the sentence about the models that have runs on a dataset."""
    higher = bool(benchmark.keys[benchmark.metric].higher_is_better)
    values = {str(model): float(value) for model, value in benchmark.values[dataset].dropna().items()}
    rows = benchmark.differences[benchmark.differences["dataset"] == dataset]
    return Sentence(benchmark.metric, higher, values, rows, benchmark.alpha)


def cells_words(cells: Iterable[tuple[str, str]]) -> str:
    """Return pairs of model and dataset in words, models with the same datasets together.

    Examples
    --------
    >>> cells_words([("A", "x"), ("B", "x"), ("A", "y"), ("C", "x"), ("C", "y")])
    'A and C on x and y; B on x'
    """
    by_model = grouped((shown_name(model), shown_name(dataset)) for model, dataset in cells)
    by_places = grouped((tuple(places), model) for model, places in by_model.items())
    return "; ".join(f"{listed(of, MAX_NAMED)} on {listed(on, MAX_NAMED)}" for on, of in by_places.items())


def why_none(benchmark: Benchmark, dataset: str) -> str:
    """Return the reason why there is no verdict on a dataset; empty if there is a verdict.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    """
    if benchmark.alignments[dataset].differing:
        return "the results differ, and the benchmark accepted it"
    cells = benchmark.table[(benchmark.table["dataset"] == dataset) & (benchmark.table["metric"] == benchmark.metric)]
    present = cells[cells["n_seeds"] > 0]
    for row in present.to_dict("records"):
        if not math.isfinite(row["mean"]):
            return f"{row['model']} has no {display_of(benchmark.metric).heading}: {row['reason'] or 'not finite'}"
    if len(present) < 2:
        return f"only {present['model'].iloc[0]} has a run"
    return ""


def _of_one(benchmark: Benchmark) -> str:
    """Return the sentence about a benchmark of one model: its means."""
    label, model = benchmark.metric, benchmark.models[0]
    rows, texts = benchmark.table[benchmark.table["metric"] == label].to_dict("records"), []
    decimals = decimals_for([row["mean"] for row in rows], display_of(label).decimals)
    for row in rows:
        interval = between(row["low"], row["high"], decimals)
        texts.append(f"{written(row['mean'], decimals)} {interval}".rstrip() + f" on {shown_name(row['dataset'])}")
    return f"{shown_name(model)}: {display_of(label).heading} {listed(texts)}"


def _best_on(benchmark: Benchmark, dataset: str) -> str:
    """Return which model is best on a dataset, or which cannot be told apart, with numbers."""
    sentence, where = _sentence(benchmark, dataset), shown_name(dataset)
    best, *tied = map(model_name, sentence.leaders)
    pair = (*sentence.leaders, *sentence.beaten)[:2]
    mark = OTHERWISE * is_otherwise(row_of(sentence.rows, benchmark.metric, *pair))
    if not tied:
        return f"{best} is best on {where}: {sentence.against()}{mark}"
    lead = f"{best} - {tied[0]}: {sentence.difference(sentence.leaders[1])}{mark}"
    text = f"Undecided on {where}: {sentence.tied(MAX_NAMED)} ({lead})"
    beaten = listed([model_name(one) for one in sentence.beaten], MAX_NAMED)
    return f"{text}, but better than {beaten}" if beaten else text


def _baseline_parts(benchmark: Benchmark, baseline: str) -> list[str]:
    """Return the parts of the sentence that compare each model with the baseline."""
    display, table = display_of(benchmark.metric), benchmark.differences
    has_numbers = len(table) <= MAX_WITH_NUMBERS
    digits, parts = row_decimals(table, display.decimals), list[str]()
    others = table["first"].where(table["first"] != baseline, table["second"])
    for model in benchmark.models:
        answers = []
        for dataset in table.loc[others == model, "dataset"].tolist():
            row = row_of(table, benchmark.metric, model, baseline, dataset)
            if benchmark.alignments[dataset].differing:
                answer = "no verdict"
            elif row["decision"] == NO_RUN:
                answer = NO_RUN
            elif math.isnan(row["p"]):
                answer = "not tested"
            elif not row["better"]:
                answer = UNDECIDED
            else:
                answer = "better" if row["better"] == model else "worse"
            has_difference = has_numbers and not answer.startswith("no")
            numbers = f" ({difference_words(row, digits, benchmark.alpha)})" if has_difference else ""
            answers.append((answer, shown_name(dataset) + numbers))
        said = ", ".join(f"{answer} on {listed(places)}" for answer, places in grouped(answers).items())
        parts += [f"{shown_name(model)} {said}"] if said else []
    if not parts:
        return [f"only the baseline {shown_name(baseline)} has runs"]
    parts[0] = f"{display.heading} against the baseline {shown_name(baseline)}: {parts[0]}"
    return parts
