"""`read_board` sorts cards and results into tables of comparable runs, and notes what is doubtful about them.

Users, ``kgeval board`` and `kgeval.report.board_page`, which makes the page, call it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import counted, cut_label, grouped, listed
from kgeval.benchmarks.card import Card, card_of_file, read_card
from kgeval.data.candidates import All, candidates_from_json
from kgeval.errors import DataError, KgevalError
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key
from kgeval.results.run_names import run_name

SUFFIXES = (".json", ".kgeval")
N_SAME = 6  # significant digits in which the values of copies agree
MAX_NAMED, MAX_SAME = 4, 2  # names that a note lists; further names are only counted
CONTRADICTS = "contradicts itself, not ranked"  # the mark of a row whose metrics no ranks can give
UNKNOWN_NEGATIVES = "negatives not known, not ranked"  # the mark of a row that may rank among other entities
N_HEX = 8  # characters of a fingerprint in a sentence
# If the reason for left-out ranks contains this text, dataset and protocol determine which ranks are left out.
SAME_FOR_ALL = "unseen='drop'"


@dataclass(frozen=True)
class BoardRun:
    """One run on a board: its card, and the file or files that hold it.

    Parameters
    ----------
    card : Card
    place : str
        The file as the board names it; for a result in memory, its number, such as ``"result 1"``.
    path : Path or None
        The file; None for a result in memory.
    copies : tuple of str
        Further files with the same model, seed, ranks and values.
    label : str
        How the board names the model, if the run has no name.
    """

    card: Card
    place: str
    path: Path | None = None
    copies: tuple[str, ...] = ()
    label: str = ""

    @property
    def model(self) -> str:
        """The name of the model, or what the board shows in its place."""
        return self.label or self.card.model

    @property
    def name(self) -> str:
        """The name of the model and the seed, such as ``"ComplEx seed 1"``."""
        return run_name(self.model, self.card.seed)

    @property
    def file(self) -> str:
        """The name of the file without its folder."""
        return Path(self.place).name

    @property
    def stem(self) -> str:
        """The name of the file without folder and ending; empty for a result in memory."""
        return self.path.stem if self.path else ""

    @cached_property
    def doubt(self) -> str:
        """Why the run has no place in the order, and is in no mean over seeds; empty if it has a place."""
        candidates = self.card.content["protocol"]["settings"].get("candidates", All.kind)
        if not self.card.contradictions:
            return "" if candidates_from_json(candidates).is_known else UNKNOWN_NEGATIVES
        first, *more = self.card.contradictions
        return f"{CONTRADICTS}: {first}{f'; and {len(more):,} more' if more else ''}"

    @property
    def table_key(self) -> tuple[str, str, str, str]:
        """Dataset, fingerprints of dataset and protocol, and counts of ranks: runs in one table have the same four."""
        counts = {name: n for name, n in self.card.content["counts"].items() if name != "bounded"}
        return (
            self.card.dataset, self.card.dataset_fingerprint, self.card.protocol_fingerprint,
            json.dumps(counts, sort_keys=True),
        )  # fmt: skip

    def cell(self, metric: str) -> tuple[float, float, float]:
        """Return value, lower limit and upper limit of a metric from the card; NaN for numbers that the card lacks.

        Parameters
        ----------
        metric : str
        """
        return self.card.metrics.get(metric, (math.nan, math.nan, math.nan))

    def value(self, metric: str) -> float:
        """Return the value of a metric; NaN if the card has none.

        Parameters
        ----------
        metric : str
        """
        return self.cell(metric)[0]

    def tie_ends(self, metric: str) -> tuple[float, float] | None:
        """Return a metric with pessimistic and with optimistic ties; None if so few ranks tie that the card has none.

        Parameters
        ----------
        metric : str
        """
        found = self.card.content["ties"]["range"].get(metric)
        return None if found is None else (found["pessimistic"], found["optimistic"])


@dataclass(frozen=True)
class BoardRow:
    """One row of a table of a board: one run, or the mean over the seeds of a model.

    Parameters
    ----------
    model : str
    runs : tuple of BoardRun
        One run; or two or more runs with known, distinct seeds.
    marks : tuple of str
        What is doubtful about the row, such as ``"duplicate of TransE"``.
    """

    model: str
    runs: tuple[BoardRun, ...]
    marks: tuple[str, ...] = ()

    @property
    def is_ranked(self) -> bool:
        """Whether the row has a place in the order; a row with a run that has none stands below all others."""
        return not any(run.doubt for run in self.runs)

    def value(self, metric: str) -> tuple[float, float, float, float]:
        """Return value, lower and upper limit, and standard deviation over the seeds of a metric; NaN where unknown.

        For one run, these are the value and the limits in its card, without a deviation. For several runs, these are
        the mean and the standard deviation (``ddof=1``) of their values, without limits, which need the ranks.

        Parameters
        ----------
        metric : str
        """
        if len(self.runs) == 1:
            return (*self.runs[0].cell(metric), math.nan)
        values = [run.value(metric) for run in self.runs]
        return float(np.mean(values)), math.nan, math.nan, float(np.std(values, ddof=1))

    def tie_range(self, metric: str) -> tuple[float, float]:
        """Return the value of a metric with pessimistic and with optimistic ties, the mean over the runs.

        Parameters
        ----------
        metric : str
        """
        ends = [run.tie_ends(metric) or (run.value(metric),) * 2 for run in self.runs]
        worst, best = np.mean(ends, axis=0).tolist()
        return worst, best


@dataclass(frozen=True)
class BoardTable:
    """The runs of one dataset under one protocol, with the same number of ranks.

    Parameters
    ----------
    card : Card
        The card of one of the runs; all have its dataset and its protocol.
    metrics : tuple of str
        The keys of the filtered metrics of both sides, or of the one ranked side; the first sorts the rows.
    rows : tuple of BoardRow
        Best row first; rows without a place in the order (see `BoardRow.is_ranked`) are last.
    notes : tuple of str
        What is doubtful about the rows.
    """

    card: Card
    metrics: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return self.card.dataset

    @property
    def heading(self) -> str:
        """The protocol in words, how many ranks of how many were compared, and the fingerprints."""
        prints = f"dataset {self.card.dataset_fingerprint[:N_HEX]}, protocol {self.card.protocol_fingerprint}"
        return f"{self.card.protocol_sentence}; {self.coverage}; {prints}"

    @property
    def coverage(self) -> str:
        """How many of the rows that a run read have a rank."""
        return f"{self.card.n_ranks:,} of {counted(self.card.content['counts']['read'], 'rank')}"

    @property
    def is_full(self) -> bool:
        """Whether every row that a run read has a rank."""
        return bool(self.card.n_ranks == self.card.content["counts"]["read"])

    @property
    def is_fixed(self) -> bool:
        """Whether dataset and protocol determine which rows have a rank, so that all runs rank the same rows."""
        dropped = self.card.content["counts"]["dropped"]
        return self.is_full or (bool(dropped) and all(SAME_FOR_ALL in reason for reason in dropped))

    @property
    def runs(self) -> list[BoardRun]:
        """The runs of all rows."""
        return [run for row in self.rows for run in row.runs]

    @property
    def ranked(self) -> list[tuple[BoardRow, float]]:
        """The rows with a place in the order and a value of the first metric, which comes with them, best first."""
        found = [(row, row.value(self.metrics[0])[0]) for row in self.rows if row.is_ranked and self.metrics]
        return [(row, value) for row, value in found if not math.isnan(value)]

    @property
    def best_of_models(self) -> list[tuple[BoardRow, float]]:
        """As `ranked`, but of rows of one model only the best."""
        return [pairs[0] for pairs in grouped((pair[0].model, pair) for pair in self.ranked).values()]

    @property
    def caution(self) -> str:
        """How many of the rows that were read have a rank, and why; empty if all have."""
        if self.is_full:
            return ""
        dropped = self.card.content["counts"]["dropped"].items()
        reasons = "; ".join(f"{counted(n, 'rank')}: {reason}" for reason, n in dropped)
        text = f"only {self.coverage}. Left out: {reasons or 'no reason is in the card'}."
        is_same = self.is_fixed or len(self.runs) == 1
        return text if is_same else f"{text} Cards do not list the ranked triples: they may differ between the runs."


@dataclass(frozen=True)
class Board:
    """Many runs, sorted into tables, and what is doubtful about them. `read_board` returns it.

    Parameters
    ----------
    tables : tuple of BoardTable
        Sorted by the name of the dataset, then by the number of runs, largest first. Within a dataset, tables come last
        if dataset and protocol do not determine which rows have a rank (see `BoardTable.is_fixed`).
    notes : tuple of str
        Notes about datasets with one name but different contents, about the runs of each table, and about left-out
        ranks; then about copies and runs without a name.
    unread : tuple of (str, str)
        Each file that could not be read, and why.
    n_files : int
        Number of files or results that were given, including the unread files.
    """

    tables: tuple[BoardTable, ...]
    notes: tuple[str, ...]
    unread: tuple[tuple[str, str], ...]
    n_files: int

    @property
    def runs(self) -> list[BoardRun]:
        """All runs, in the order of the tables and rows."""
        return [run for one in self.tables for run in one.runs]

    def sentence(self) -> str:
        """Return how many runs, models, tables and unread files there are, in one sentence."""
        runs = self.runs
        models = {run.model for run in runs}
        datasets = {run.table_key[:2] for run in runs}
        n_repeated = len(runs) - len({(run.table_key, run.card.hash) for run in runs})
        repeated = f" ({n_repeated:,} with the ranks of another)" if n_repeated else ""
        text = f"{counted(len(runs), 'run')}{repeated} of {counted(len(models), 'model')}"
        text += f" on {counted(len(datasets), 'dataset')}, in {counted(len(self.tables), 'table')}"
        return f"{text}; {counted(len(self.unread), 'file')} could not be read" if self.unread else text


# ---- reading ----


def read_board(runs: str | Path | Sequence[str | Path | Card | EvaluationResult]) -> Board:
    """Read cards and results, sort them into tables, and note what is doubtful.

    A file that cannot be read is in `Board.unread`, with the reason; it raises no error.

    Parameters
    ----------
    runs : path, or sequence of paths, cards and results
        A path is a file, or a folder: then all files in it and below it whose names end in ``.json`` (cards) or
        ``.kgeval`` (results).

    Returns
    -------
    Board

    Raises
    ------
    DataError
        If a path does not exist, if there is no file at all, or if none can be read.
    """
    given: list[Any] = [runs] if isinstance(runs, (str, Path, EvaluationResult, Card)) else list(runs)
    found, unread = list[BoardRun](), list[tuple[str, str]]()
    for i, thing in enumerate(given, start=1):
        if isinstance(thing, (str, Path)):
            for place, path in _files_of(Path(thing)):
                try:
                    card = read_card(path) if path.suffix.lower() == ".json" else card_of_file(path)
                    found.append(BoardRun(card, place, path))
                except (KgevalError, OSError) as error:  # noqa: PERF203
                    # The same files in another folder give the same board, so the text names the file by its place.
                    unread.append((place, str(error).replace(str(path), place).removeprefix(f"{place}: ")))
        elif isinstance(thing, (Card, EvaluationResult)):
            found.append(BoardRun(thing if isinstance(thing, Card) else Card.of(thing), f"result {i}"))
        else:
            got = type(thing).__name__
            raise DataError(f"item {i} of the board: expected a path, a card or a result; got {got}")
    if not found:
        names = ", ".join(str(thing) for thing in given) or "nothing"
        why = f"found no such file in {names}"
        if unread:
            why = f"none of {counted(len(unread), 'file')} can be read. The first error: {unread[0][1]}"
        raise DataError(f"a board needs cards (.json, written by kgeval card) or results (.kgeval); {why}")
    return _sorted_board(found, unread)


def _files_of(path: Path) -> list[tuple[str, Path]]:
    """Return the files that a path stands for, each with the name under which the board lists it."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in SUFFIXES and not file.is_dir()]
        return [(file.relative_to(path).as_posix(), file) for file in files]
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    return [(str(path), path)]


# ---- sorting into tables ----


def _sorted_board(runs: Sequence[BoardRun], unread: Sequence[tuple[str, str]]) -> Board:
    """Return the board of all runs: copies are merged, runs are grouped into tables, and doubtful things are noted."""
    merged, copies = _without_copies(runs)
    of_table = grouped((run.table_key, run) for run in _labelled(merged))
    prints = grouped(dict.fromkeys(key[:2] for key in of_table))
    notes = [
        f"{dataset} stands for {counted(len(found), 'dataset')} with different contents (fingerprints "
        f"{', '.join(sorted(one[:N_HEX] for one in found))})"
        for dataset, found in sorted(prints.items())
        if len(found) > 1
    ]

    def order(table: BoardTable) -> tuple[Any, ...]:
        return table.dataset, not table.is_fixed, -len(table.runs), -table.card.n_ranks, table.runs[0].table_key

    tables = sorted(map(_table_of, of_table.values()), key=order)
    notes += [note for table in tables for note in table.notes]
    notes += [f"{table.dataset}: {table.caution}" for table in tables if table.caution]
    notes += copies
    n_unnamed = sum(not run.card.is_named for run in merged)
    if n_unnamed:
        shown = counted(n_unnamed, "run has no name; it is", "runs have no name; they are")
        notes.append(f"{shown} shown by file name: name runs with kgeval evaluate --name")
    return Board(tuple(tables), tuple(dict.fromkeys(notes)), tuple(unread), len(runs) + len(unread))


def _labelled(runs: Sequence[BoardRun]) -> list[BoardRun]:
    """Return the runs with labels that differ: a run without a name has that of its file, or its place if it is in use.

    A result in memory without a name has the name of its scorer beside its place.
    """
    used = Counter(run.stem if run.path and not run.card.is_named else run.model for run in runs)
    labels = [f"{run.model} ({run.place})" if run.path is None else run.place for run in runs]
    labels = [run.stem if run.path and used[run.stem] == 1 else label for run, label in zip(runs, labels)]
    return [run if run.card.is_named else replace(run, label=label) for run, label in zip(runs, labels)]


def _without_copies(runs: Sequence[BoardRun]) -> tuple[list[BoardRun], list[str]]:
    """Return the runs, each once, and a note about copies: files with the same model, seed, ranks and values.

    If a card and its result are both there, the card is kept, since a row links to the card.
    """

    def identity(run: BoardRun) -> tuple[Any, ...]:
        values = tuple(f"{metric} {run.value(metric):.{N_SAME}g}" for metric in run.card.metrics)
        return run.table_key, run.card.model, run.card.seed, run.card.hash, values

    cards_first = sorted(runs, key=lambda run: not run.place.endswith(".json"))
    found = grouped((identity(run), run) for run in cards_first).values()
    merged = [replace(first, copies=tuple(run.place for run in others)) for first, *others in found]
    copies = [f"{run.file} ({_files(run.copies)})" for run in merged if run.copies]
    return merged, [f"Counted once, though in more than one file: {_listed(copies)}"] if copies else []


def _table_of(runs: Sequence[BoardRun]) -> BoardTable:
    """Return the table of runs with one dataset, protocol and coverage."""
    first, metrics = runs[0].card, _columns([run.card for run in runs])
    rows = [BoardRow(run.model, (run,)) for run in runs if run.doubt]
    doubts = grouped((run.doubt, run.place) for run in runs if run.doubt)
    notes = [f"{_files(places)}: {why}" for why, places in doubts.items()]
    apart: dict[tuple[str, int], list[str]] = {}
    for model, same in grouped((run.model, run) for run in runs if not run.doubt).items():
        together, reason = sorted(same, key=lambda run: run.card.seed or 0), _why_apart([run.card for run in same])
        rows += [BoardRow(model, tuple(each)) for each in ([[run] for run in same] if reason else [together])]
        if reason:
            apart.setdefault((reason, len(same)), []).append(model)
    for (reason, n), models in apart.items():
        of = f"{counted(n, 'run')} {'each of' if len(models) > 1 else 'of'} {_listed(models)}"
        notes.append(f"{first.dataset}: {of} are listed one by one, since {reason}")
    rows = [replace(row, marks=_marks(row, runs)) for row in rows]
    sign = -1.0 if metrics and Key.parse(metrics[0]).higher_is_better else 1.0

    def order(row: BoardRow) -> tuple[bool, bool, float, str]:
        value = row.value(metrics[0])[0] if metrics else math.nan
        return not row.is_ranked, math.isnan(value), 0.0 if math.isnan(value) else sign * value, row.model

    for row in rows if metrics else ():
        lacking = [run.place for run in row.runs if math.isnan(run.value(metrics[0]))]
        if lacking and len(row.runs) > 1:
            heading = display_of(metrics[0]).heading
            notes.append(f"{row.model} on {first.dataset} has no mean {heading}: {_files(lacking)} has no value")
    return BoardTable(first, metrics, tuple(sorted(rows, key=order)), tuple(notes))


def _why_apart(cards: Sequence[Card]) -> str:
    """Return the reason why runs of one model are not averaged; empty if they are."""
    seeds = Counter(card.seed for card in cards)
    twice = [str(seed) for seed, n in seeds.items() if n > 1]
    if len(cards) > 1 and None in seeds:
        return "some do not say their seed"
    if twice:
        return f"seed {_listed(twice)} stands for different runs"
    is_same = len({card.hash for card in cards}) < len(cards)
    return "runs with different seeds have the same ranks" if is_same else ""


def _columns(cards: Sequence[Card]) -> tuple[str, ...]:
    """Return the filtered metrics of both sides, or of the ranked side; in the order of the tables."""
    keys = {metric: Key.parse(metric) for card in cards for metric in card.metrics}
    filtered = [metric for metric, key in keys.items() if key.setting == "filtered"] or list(keys)
    both = [metric for metric in filtered if keys[metric].side == "both"] or filtered
    places = {name: place for place, name in enumerate(DEFAULT_METRICS)}
    return tuple(sorted(both, key=lambda metric: places.get(metric.rpartition(".")[2], len(places))))


def _marks(row: BoardRow, runs: Sequence[BoardRun]) -> tuple[str, ...]:
    """Return the marks of a row: which runs have the same ranks, and why it is not ranked."""
    pairs = [(run, other) for run in row.runs for other in runs if other is not run]
    equal = [(run.card.seed, other) for run, other in pairs if other.card.hash == run.card.hash]
    same = dict.fromkeys(other.file if other.name == row.model else other.name for _, other in equal)
    seeds = listed(list(dict.fromkeys(str(seed) for seed, _ in equal)))
    which = f"seed {seeds}: " if len(row.runs) > 1 else ""
    found = [f"{which}duplicate of {listed(list(same), MAX_SAME)}"] if same else []
    return tuple(dict.fromkeys([*found, *(run.doubt.partition(":")[0] for run in row.runs if run.doubt)]))


def _files(places: Sequence[str]) -> str:
    """Return the names of files, without their folders, as text."""
    return _listed([Path(place).name for place in places])


def _listed(names: Sequence[str]) -> str:
    """Return names as text. Long names are cut; of more than four names, only the first four are given."""
    return listed([cut_label(name) for name in names], MAX_NAMED)
