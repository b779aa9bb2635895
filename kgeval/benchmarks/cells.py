"""The runs of each dataset of a benchmark on the same ranks: means, differences, tests, cautions; for `benchmark`."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.audit import leak_notes
from kgeval.base.checks import check_one_of, counted, grouped, listed
from kgeval.base.wording import listed_names
from kgeval.benchmarks.runs import Run
from kgeval.benchmarks.verdict import cells_words
from kgeval.comparison.alignment import OVERRIDES, Alignment, align, differing_facts
from kgeval.comparison.differences import PairedObservations, entity_note, samples_of
from kgeval.comparison.rows import UNDECIDED, Pair, Settings, decided_rows, pairs_of
from kgeval.comparison.texts import is_description, merged_notes
from kgeval.display.differences import is_otherwise
from kgeval.errors import MetricError, ProtocolError
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key
from kgeval.stats.runs import MIN_TO_SEPARATE, Runs, compare_runs, mean_over_runs

COLUMNS = (
    "model", "dataset", "metric", "n_seeds", "mean", "sd", "low", "high", "error", "freedom", "of_seeds", "of_triples",
    "share_of_seeds", "n", "n_clusters", "n_effective", "reason",
)  # fmt: skip
NUMBERS = (
    "mean", "sd", "low", "high", "error", "freedom", "of_seeds", "of_triples", "share_of_seeds", "n_effective",
)  # fmt: skip
NO_RUN_OF = "no run"
EQUAL_RANKS = "are all equal; are they the same run?"
NOT_INDEPENDENT = "are the same dataset under different protocols; their results are not independent"
# The ratio of the largest and the smallest SD over seeds from which a caution says that they are pooled, and its start.
UNEQUAL, UNEQUAL_SDS, ADVICE = 4, "SDs over seeds differ", "; report both (spread='separate'), or add seeds"
MAX_PLACES = 4  # datasets that the caution names before it counts the others
N_LEADING = 2  # models of a dataset whose notes on the order of rows come before those of the others
LEAKS, COPIED = "leak_notes", leak_notes.COPIED  # the fact of a result, and what else stands in its notes
WITHOUT = '; result.by("leak") (--by leak) gives the metrics without them'
RANK_COLUMNS = ("better_raw", "tied_raw", "better_filtered", "tied_filtered")


@dataclass(frozen=True)
class BenchmarkSettings(Settings):
    """The settings of a benchmark; see the parameters of `benchmark`."""

    metric: str
    spread: str


@dataclass(frozen=True, eq=False)
class DatasetRuns:
    """The runs of one dataset, with their ranks in the same order.

    Parameters
    ----------
    dataset : str
    runs : tuple of Run
    results : tuple of EvaluationResult
        The result of each run.
    alignment : Alignment
    samples : dict of str to PairedObservations
        The observations of each metric.
    """

    dataset: str
    runs: tuple[Run, ...]
    results: tuple[EvaluationResult, ...]
    alignment: Alignment
    samples: dict[str, PairedObservations]

    @classmethod
    def of(
        cls,
        dataset: str,
        runs: Mapping[Run, EvaluationResult],
        alignment: Alignment,
        keys: Mapping[str, Key],
        cluster: str,
    ) -> DatasetRuns:
        """Return the runs of one dataset, with the observations of each metric.

        Parameters
        ----------
        dataset : str
        runs : mapping of Run to EvaluationResult
            Those of other datasets are left out.
        alignment : Alignment
        keys : mapping of str to Key
        cluster : str
        """
        results = tuple(result for run, result in runs.items() if run.dataset == dataset)
        samples = samples_of(results, alignment.rows, keys, results[0].rank_table.row_clusters(cluster))
        return cls(dataset, tuple(run for run in runs if run.dataset == dataset), results, alignment, samples)

    def places(self, model: str) -> list[int]:
        """Return the indices of the runs of a model.

        Parameters
        ----------
        model : str
        """
        return [place for place, run in enumerate(self.runs) if run.model == model]

    def value(self, place: int, label: str) -> float:
        """Return the value of a metric in one run.

        Parameters
        ----------
        place : int
            The place of the run in `runs`.
        label : str
            The text of the metric's key.
        """
        sample = self.samples[label]
        return self.results[place].rank_table.value(sample.key, sample.rows[place]).value

    def system(self, model: str, label: str) -> tuple[Runs | None, str]:
        """Return the runs of a model and an empty text; or None, and the reason why there are no runs.

        Parameters
        ----------
        model : str
        label : str
            The text of the metric's key.
        """
        if not self.places(model):
            return None, NO_RUN_OF
        sample, moments = self.samples[label], []
        for place in self.places(model):
            try:
                moments.append(sample.moments(place))
            except MetricError as error:  # noqa: PERF203
                return None, f"{self.runs[place].name}: {error}" if len(self.places(model)) > 1 else str(error)
        return Runs(tuple(moments), sample.clusters), ""

    def mean_row(self, model: str, label: str, terms: BenchmarkSettings) -> dict[str, Any]:
        """Return the row of `Benchmark.table` for a model and a metric.

        Parameters
        ----------
        model : str
        label : str
            The text of the metric's key.
        terms : BenchmarkSettings
        """
        sample = self.samples[label]
        row: dict[str, Any] = {"model": model, "dataset": self.dataset, "metric": label}
        row |= {"n_seeds": len(self.places(model)), "n": len(sample), "n_clusters": sample.clusters.count}
        system, reason = self.system(model, label)
        if system is None:
            values = pd.Series([self.value(place, label) for place in self.places(model)], dtype=np.float64)
            return row | {"mean": values.mean(skipna=False), "sd": values.std(skipna=False), "reason": reason}
        interval = mean_over_runs(system, confidence=terms.confidence, bounds=sample.key.bounds)
        share = interval.of_seeds / interval.error**2 if interval.error > 0.0 else math.nan
        row |= {name: value for name, value in vars(interval).items() if name in COLUMNS}
        return row | {"mean": interval.value, "sd": interval.deviation, "share_of_seeds": share}


def aligned_runs(
    runs: Mapping[Run, EvaluationResult],
    datasets: Sequence[str],
    keys: dict[str, Key],
    override: Sequence[str],
    terms: BenchmarkSettings,
) -> list[DatasetRuns]:
    """Return the runs of each dataset, with their ranks in the same order.

    Parameters
    ----------
    runs : mapping of Run to EvaluationResult
    datasets : sequence of str
    keys : dict of str to Key
    override : sequence of str
        As in `kgeval.compare`.
    terms : BenchmarkSettings

    Returns
    -------
    list of DatasetRuns

    Raises
    ------
    ProtocolError
        If the results of a dataset may not be compared; one error lists the differences within all datasets.
    """
    for name in override:
        check_one_of("override", name, OVERRIDES)
    parts, refusals = [], []
    for dataset in datasets:
        of_dataset = tuple(run for run in runs if run.dataset == dataset)
        results = tuple(runs[run] for run in of_dataset)
        try:
            alignment = align(results, [run.name for run in of_dataset], list(keys.values()), override)
            parts.append(DatasetRuns.of(dataset, runs, alignment, keys, terms.cluster))
        except ProtocolError as error:
            fingerprints = {result.facts["dataset_fingerprint"] for result in results}
            hint = f"\nif {dataset} is the name of two datasets, give them different names in the mapping"
            refusals.append(f"{dataset}: {error}{hint if len(fingerprints) > 1 else ''}")
    if refusals:
        raise ProtocolError("\n".join(refusals))
    return parts


def difference_table(
    parts: Sequence[DatasetRuns], models: Sequence[str], table: pd.DataFrame, terms: BenchmarkSettings
) -> pd.DataFrame:
    """Return `Benchmark.differences`, but for the column ``separate``.

    Parameters
    ----------
    parts : sequence of DatasetRuns
    models : sequence of str
    table : pandas.DataFrame
        `Benchmark.table`.
    terms : BenchmarkSettings
    """
    label, pairs = terms.metric, list[Pair]()
    compared = [(models[i], models[j]) for i, j in pairs_of(models, terms.baseline)]
    cells = {(row["model"], row["dataset"]): row for row in table[table["metric"] == label].to_dict("records")}
    for part in parts:
        key, made = part.samples[label].key, {model: part.system(model, label) for model in models}
        systems = {model: system for model, (system, _) in made.items() if system is not None}
        tested, order = [names for names in compared if systems.keys() >= {*names}], list(systems)
        places = [(order.index(first), order.index(second)) for first, second in tested]
        found = compare_runs(list(systems.values()), places, spread=terms.spread, largest_level=terms.alpha)
        differences, scale = dict(zip(tested, found)), (key.higher_is_better, key.bounds)
        for names in compared:
            values, n_runs = (tuple(cells[name, part.dataset][of] for name in names) for of in ("mean", "n_seeds"))
            reason = "; ".join(f"{name}: {made[name][1]}" for name in names if made[name][1])
            more = {"n": len(part.samples[label])}
            pairs.append(Pair(part.dataset, label, names, values, differences.get(names), *scale, n_runs, reason, more))
    return decided_rows(pairs, terms.alpha)


def benchmark_notes(
    parts: Sequence[DatasetRuns], table: pd.DataFrame, differences: pd.DataFrame, terms: BenchmarkSettings
) -> Iterator[str]:
    """Yield the cautions about the numbers of a benchmark, gravest first; one may come twice.

    Parameters
    ----------
    parts : sequence of DatasetRuns
    table, differences : pandas.DataFrame
        `Benchmark.table` and `Benchmark.differences`.
    terms : BenchmarkSettings
    """
    cells = table[table["metric"] == terms.metric]
    present = cells[cells["n_seeds"] > 0]
    single = present[present["n_seeds"] == 1]
    higher = bool(Key.parse(terms.metric).higher_is_better)
    leading = present.sort_values("mean", ascending=not higher, kind="stable").groupby("dataset").head(N_LEADING)
    names = set(leading["model"] + " on " + leading["dataset"]) | {part.dataset for part in parts}
    said = [pair for part in parts for pair in _notes_of_results(part) if not is_description(pair[1])]
    said.sort(key=lambda pair: not pair[1].startswith("row order"))
    doubts = [pair for pair in said if pair[1].startswith("row order") and pair[0] in names]
    of_results = [text for _, text in merged_notes(pair for pair in said if pair not in doubts)]
    yield from (text for _, text in merged_notes(doubts))  # the numbers of a leading model may be those of no model
    if places := unequal_spreads(present, terms):
        tested = [row for row in differences.to_dict("records") if row["separate"]]
        pairs = grouped((f"{row['first']} - {row['second']}", row["dataset"]) for row in tested if is_otherwise(row))
        n, others = sum(map(len, pairs.values())), [f"{pair} on {listed_names(on)}" for pair, on in pairs.items()]
        found = f"{n or 'none'} of {counted(len(tested), 'test')} of models with several runs"
        found += f": {listed(others, MAX_PLACES)}{ADVICE}" if others else ""
        found = f"; separate spreads there decide otherwise in {found}" if tested else ""
        yield f"{UNEQUAL_SDS} {UNEQUAL}-fold or more on {listed_names(places)}, and the t test pools them{found}"
    by_entity = merged_notes(_entity_notes(parts, leading, differences, terms))
    yield from (text for _, text in by_entity if "and contains 0" in text)
    yield from _leaks(parts, leading)
    yield from (text for _, text in by_entity)
    for part in parts:
        yield from (f"{part.dataset}: the ranks of {listed(same)} {EQUAL_RANKS}" for same in _same_ranks(part))
    by_protocol = grouped((part.results[0].protocol.describe(), part.dataset) for part in parts)
    if len(by_protocol) > 1:
        protocols = "; ".join(f"{listed(names)}: {text}" for text, names in by_protocol.items())
        yield f"the datasets were ranked under different protocols, so their values do not compare ({protocols})"
    by_fingerprint = grouped((part.results[0].facts["dataset_fingerprint"], part.dataset) for part in parts)
    yield from (f"{listed(names)} {NOT_INDEPENDENT}" for names in by_fingerprint.values() if len(names) > 1)
    missing = [f"{row['model']} on {row['dataset']}" for row in cells[cells["n_seeds"] == 0].to_dict("records")]
    if missing:
        yield f"no run of {listed(missing)}; these values and differences are missing"
    if len(single) == len(present):
        yield (
            "one run per model and dataset: how much the values vary with the seed is unknown; intervals and tests are "
            "about these trained models, not about the models trained again"
        )
    elif len(single):
        of_one = cells_words(zip(single["model"], single["dataset"]))
        vary = "how much these values vary with the seed is unknown"
        yield f"one run of {of_one}: {vary}{borrowed_spread(present, terms)}"
    if present["n_seeds"].where(present["n_seeds"] > 1).nunique() > 1:  # a single run has the note above
        counts = [f"{n} of {cells_words(zip(of['model'], of['dataset']))}" for n, of in present.groupby("n_seeds")]
        yield f"the numbers of runs differ: {'; '.join(counts)}"
    yield from of_results
    for part in parts:
        sample = part.alignment.sample
        if sample is not None:
            yield (
                f"{part.dataset}: {sample.n:,} of {sample.of:,} triples were ranked; the intervals are not made "
                "narrower for the share of the split that was ranked"
            )
    facts = [(part.dataset, differing_facts(part.results, [run.name for run in part.runs])) for part in parts]
    yield from (text for _, text in merged_notes((dataset, text) for dataset, texts in facts for text in texts))
    yield from _readings(parts)


def borrowed_spread(cells: pd.DataFrame, terms: BenchmarkSettings) -> str:
    """Return how models with one run are tested beside models with several; empty if none is."""
    is_mixed = cells[cells["n_seeds"] > 0].groupby("dataset")["n_seeds"].agg(lambda n: n.min() == 1 < n.max()).any()
    return ", tested with the spread of the others" if is_mixed and terms.spread == "pooled" else ""


def with_separate(
    differences: pd.DataFrame, parts: Sequence[DatasetRuns], table: pd.DataFrame, terms: BenchmarkSettings
) -> pd.DataFrame:
    """Return `Benchmark.differences` with the column ``separate``.

    Parameters
    ----------
    differences : pandas.DataFrame
        From `difference_table`.
    parts, table, terms
        As in `difference_table`.
    """
    cells = table[(table["metric"] == terms.metric) & (table["n_seeds"] > 0)]
    places = unequal_spreads(cells, terms)
    if not places:
        return differences.assign(separate="")
    apart = difference_table(parts, table["model"].unique().tolist(), table, replace(terms, spread="separate"))
    is_tested = apart["p"].notna() & differences["p"].notna() & differences["dataset"].isin(places)
    return differences.assign(separate=apart["better"].replace("", UNDECIDED).where(is_tested, ""))


def unequal_spreads(cells: pd.DataFrame, terms: BenchmarkSettings) -> list[str]:
    """Return the datasets on which the pooled spreads over the seeds differ at least `UNEQUAL`-fold.

    Parameters
    ----------
    cells : pandas.DataFrame
        The rows of `Benchmark.table` of the primary metric, of models with runs.
    terms : BenchmarkSettings
    """
    by_dataset = cells.groupby("dataset", sort=False)
    sds = by_dataset["sd"].agg(["min", "max", "count"]).assign(least_runs=by_dataset["n_seeds"].min())
    is_unequal = (sds["count"] > 1) & (sds["max"] > 0.0) & (sds["max"] >= UNEQUAL * sds["min"])
    found = sds.index[is_unequal & (sds["least_runs"] < MIN_TO_SEPARATE)].tolist()
    return found if terms.spread == "pooled" else []


def _entity_notes(
    parts: Sequence[DatasetRuns], leading: pd.DataFrame, differences: pd.DataFrame, terms: BenchmarkSettings
) -> Iterator[tuple[str, str]]:
    """Yield the note on a decided lead whose interval is much wider for other entities, with its dataset."""
    key = terms.metric
    for part in parts if terms.cluster in ("triple", "query") else ():
        names = leading.loc[leading["dataset"] == part.dataset, "model"]
        rows = differences[(differences["dataset"] == part.dataset) & (differences["better"] != "")]
        for row in rows[rows["first"].isin(names) & rows["second"].isin(names)].to_dict("records"):
            found = DatasetRuns.of(
                part.dataset, dict(zip(part.runs, part.results)), part.alignment, {key: part.samples[key].key}, "entity"
            )
            models = dict.fromkeys([row["first"], row["second"], *(run.model for run in part.runs)])
            systems = [one for model in models if (one := found.system(model, key)[0]) is not None]
            (gap,) = compare_runs(systems, [(0, 1)], spread=terms.spread)
            yield from ((part.dataset, text) for text in entity_note(row, *gap.t_interval(0.05)))


def _notes_of_results(part: DatasetRuns) -> Iterator[tuple[str, str]]:
    """Yield each note of the results of a dataset but leaks, with the dataset if all have it, else with each model."""
    said = ((note, run, result.facts) for run, result in zip(part.runs, part.results) for note in result.notes)
    kept = ((note, run) for note, run, facts in said if note not in facts.get(LEAKS, ()) and COPIED not in note)
    for note, runs in grouped(dict.fromkeys(kept)).items():
        models = dict.fromkeys(f"{run.model} on {part.dataset}" for run in runs)
        yield from ((name, note) for name in ([part.dataset] if len(runs) == len(part.runs) else models))


def _leaks(parts: Sequence[DatasetRuns], leading: pd.DataFrame) -> Iterator[str]:
    """Yield one note on the test triples that train gives away, the dataset with the largest share first.

    It has the MRR of the leading models over the ranks of the other triples.
    """
    said = list[tuple[float, str]]()
    for part in parts:
        names = leading.loc[leading["dataset"] == part.dataset, "model"]
        of_models = {name: [part.results[i] for i in part.places(name)] for name in names}
        rest = leak_notes.without_copied(
            (name, float(np.mean([one["mrr"] for one in of])), leak_notes.mean_of([one.facts for one in of]))
            for name, of in of_models.items()
        )
        for line in max((result.facts.get(LEAKS, []) for result in part.results), key=len):
            share = max(map(float, re.findall(r"(\d[\d.]*)%", line)), default=0.0)
            end = f", {rest}" if rest and leak_notes.MAY_BE_COPIED in line else ""
            what = re.sub(r" of the [\d,]+ triples of test\b| from train$", "", line.partition(", ")[0])
            said.append((-share, f"{part.dataset}: {what}{end}"))
    if said:
        yield f"test triples that train gives away: {'; '.join(text for _, text in sorted(said))}{WITHOUT}"


def _readings(parts: Sequence[DatasetRuns]) -> Iterator[str]:
    """Yield one note on how the models were read, those that were read alike together."""
    pairs = [pair for part in parts for pair in zip(part.runs, part.results)]
    said = grouped((note, run.model) for run, result in pairs for note in result.notes if is_description(note))
    texts = [f"{listed(list(dict.fromkeys(models)))}: {note}" for note, models in said.items()]
    if texts:
        yield f"how the models were read: {'; '.join(texts)}"


def _same_ranks(part: DatasetRuns) -> list[list[str]]:
    """Return the names of the groups of runs whose ranks are all equal."""
    pairs = []
    for run, result, rows in zip(part.runs, part.results, part.alignment.rows):
        counts = np.column_stack([result.table[name].to_numpy()[rows] for name in RANK_COLUMNS])
        pairs.append((hashlib.sha256(counts.astype("<i8").tobytes()).digest(), run.name))
    return [group for group in grouped(pairs).values() if len(group) > 1]
