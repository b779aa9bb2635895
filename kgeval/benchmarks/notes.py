"""Cautions about the numbers of a benchmark; `benchmark` calls `benchmark_notes`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from kgeval.base.checks import grouped, listed
from kgeval.benchmarks.cells import BenchmarkSettings, DatasetRuns
from kgeval.benchmarks.runs import Run
from kgeval.benchmarks.verdict import borrowed_spreads
from kgeval.comparison.alignment import differing_facts

EQUAL_RANKS = "are all equal; are they the same run?"
NOT_INDEPENDENT = "are the same dataset under different protocols; their results are not independent"
NUMBER = re.compile(r"(?<![A-Za-z])[0-9]([0-9.,e+-]*[0-9])?")  # not the 2 of L2, which is the name of a norm
RANK_COLUMNS = ("better_raw", "tied_raw", "better_filtered", "tied_filtered")


def benchmark_notes(
    parts: Sequence[DatasetRuns], table: pd.DataFrame, differences: pd.DataFrame, terms: BenchmarkSettings
) -> list[str]:
    """Return the cautions about the numbers of a benchmark.

    Parameters
    ----------
    parts : sequence of DatasetRuns
    table, differences : pandas.DataFrame
        `Benchmark.table` and `Benchmark.differences`.
    terms : BenchmarkSettings

    Returns
    -------
    list of str
    """
    notes = []
    cells = table[table["metric"] == terms.metric]
    missing = [f"{row['model']} on {row['dataset']}" for row in cells[cells["n_seeds"] == 0].to_dict("records")]
    if missing:
        notes.append(f"no run of {listed(missing)}; these values and differences are missing")
    present = cells[cells["n_seeds"] > 0]
    single = present[present["n_seeds"] == 1]
    if len(single) == len(present):
        notes.append(
            "one run per model and dataset: how much the values vary with the seed is unknown; intervals and tests are "
            "about these trained models, not about the models trained again"
        )
    elif len(single):
        of_one = [f"{row['model']} on {row['dataset']}" for row in single.to_dict("records")]
        borrowed = "; in the differences, the spread of the models with several runs is used"
        end = borrowed if borrowed_spreads(differences) else ""
        notes.append(f"one run of {listed(of_one)}: how much these values vary with the seed is unknown{end}")
    if present["n_seeds"].nunique() > 1:
        counts = [f"{row['n_seeds']} of {row['model']} on {row['dataset']}" for row in present.to_dict("records")]
        notes.append(f"the numbers of runs differ: {', '.join(counts)}")
    for part in parts:
        notes += _notes_of(part)
    by_protocol = grouped((part.results[0].protocol.describe(), part.dataset) for part in parts)
    if len(by_protocol) > 1:
        protocols = "; ".join(f"{listed(names)}: {text}" for text, names in by_protocol.items())
        notes.append(
            f"the datasets were ranked under different protocols, so their values do not compare ({protocols})"
        )
    by_fingerprint = grouped((part.results[0].facts["dataset_fingerprint"], part.dataset) for part in parts)
    notes += [f"{listed(names)} {NOT_INDEPENDENT}" for names in by_fingerprint.values() if len(names) > 1]
    return list(dict.fromkeys(notes))


def _notes_of(part: DatasetRuns) -> list[str]:
    """Return the cautions about the numbers of one dataset; each starts with the name of the dataset."""
    names = [run.name for run in part.runs]
    notes = [f"the ranks of {listed([run.name for run in same])} {EQUAL_RANKS}" for same in _same_ranks(part)]
    sample = part.alignment.sample
    if sample is not None:
        notes.append(
            f"{sample.n:,} of {sample.of:,} triples were ranked; the intervals are not made narrower for the share of "
            "the split that was ranked"
        )
    notes += differing_facts(part.results, names)
    notes += _notes_of_results(names, part)
    return [f"{part.dataset}: {note}" for note in notes]


def _notes_of_results(names: Sequence[str], part: DatasetRuns) -> list[str]:
    """Return the notes of the results, each once; of notes that differ only in their numbers, only the first."""
    # The text with a sign in place of each number -> (run, note) of all runs.
    of_results = [(name, note) for name, result in zip(names, part.results) for note in result.notes]
    alike = grouped((NUMBER.sub("#", note), (name, note)) for name, note in of_results)
    notes = []
    for found in alike.values():
        of_runs, texts = list(dict.fromkeys(name for name, _ in found)), {note for _, note in found}
        whose = f"all {len(names)} runs" if len(of_runs) == len(names) > 1 else listed(of_runs)
        if len(texts) == 1:
            notes.append(f"{whose}: {found[0][1]}")
        else:
            notes.append(f"{whose} have notes that differ only in numbers; the note of {found[0][0]}: {found[0][1]}")
    return notes


def _same_ranks(part: DatasetRuns) -> list[list[Run]]:
    """Return the groups of runs whose ranks are all equal."""
    pairs = []
    for run, result, rows in zip(part.runs, part.results, part.alignment.rows):
        counts = np.column_stack([result.table[name].to_numpy()[rows] for name in RANK_COLUMNS])
        pairs.append((hashlib.sha256(counts.astype("<i8").tobytes()).digest(), run))
    return [group for group in grouped(pairs).values() if len(group) > 1]
