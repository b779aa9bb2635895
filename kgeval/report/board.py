"""`read_board` sorts cards and results into tables of comparable runs, and notes what is doubtful about them.

Users, ``kgeval board`` and `kgeval.report.board_page`, which makes the page, call it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import counted, cut_label, grouped, listed
from kgeval.benchmarks.card import Card, read_card
from kgeval.data.candidates import All, candidates_from_json
from kgeval.errors import DataError, KgevalError
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.files import load_result
from kgeval.results.keys import Key
from kgeval.results.run_names import run_name

SUFFIXES = (".json", ".kgeval")
FIRST_METRIC = "mrr"  # sorts the rows
SEED_IN_NAME = r"(?:seed|(?<![a-z])s)[-_=. ]?(\d{1,9})(?!\d)"  # "seed3", "seed-3", "s3" in the name of a file
CLOSE = 1e-9  # relative difference up to which two values of the same ranks are equal
MAX_NAMED = 4  # names that a note lists; further names are only counted
CONTRADICTS = "contradicts itself, not ranked"  # the mark of a row whose metrics no ranks can give
UNKNOWN_NEGATIVES = "negatives not known, not ranked"  # the mark of a row that may rank among other entities
N_HEX = 8  # characters of a fingerprint in a sentence
# If the reason for left-out ranks contains this text, dataset and protocol determine which ranks are left out.
SAME_FOR_ALL = "unseen='drop'"


@dataclass(frozen=True, order=True)
class Coverage:
    """How many of the rows that a run read have a rank; runs with different coverages rank different triples.

    Parameters
    ----------
    n_ranks, n_read : int
    parts : tuple of (str, int)
        The ranks of each side and of each split.
    dropped : tuple of (str, int)
        The rows without a rank, for each reason.
    """

    n_ranks: int
    n_read: int
    parts: tuple[tuple[str, int], ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether every row has a rank."""
        return self.n_ranks == self.n_read

    @property
    def is_fixed(self) -> bool:
        """Whether dataset and protocol determine which rows have a rank, so that all runs rank the same rows."""
        return self.is_full or (bool(self.dropped) and all(SAME_FOR_ALL in reason for reason, _ in self.dropped))

    def __str__(self) -> str:
        return f"{self.n_ranks:,} of {counted(self.n_read, 'rank')}"


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
    """

    card: Card
    place: str
    path: Path | None = None
    copies: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the model and the seed, such as ``"ComplEx seed 1"``."""
        return run_name(self.card.model, self.card.seed)

    @cached_property
    def has_known_negatives(self) -> bool:
        """Whether the card says among which candidates the run ranks; else the run has no place in the order."""
        candidates = self.card.content["protocol"]["settings"].get("candidates", All.kind)
        return candidates_from_json(candidates).is_known

    @property
    def is_ranked(self) -> bool:
        """Whether the run has a place in the order, and counts in means over seeds."""
        return not self.card.contradictions and self.has_known_negatives

    @property
    def coverage(self) -> Coverage:
        """How many of the rows have a rank."""
        counts = self.card.content["counts"]
        parts = {f"{side} side": n for side, n in counts["ranks_by_side"].items()}
        parts |= {f"split {split}": n for split, n in counts["ranks_by_split"].items()}
        dropped = tuple(sorted(counts["dropped"].items()))
        return Coverage(self.card.n_ranks, counts["read"], tuple(sorted(parts.items())), dropped)

    @property
    def table_key(self) -> tuple[str, str, str, Coverage]:
        """Dataset, its fingerprint, fingerprint of the protocol, and coverage: runs in one table have the same four."""
        return self.card.dataset, self.card.dataset_fingerprint, self.card.protocol_fingerprint, self.coverage

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
        What is doubtful about the row, such as ``"same ranks as TransE"``.
    """

    model: str
    runs: tuple[BoardRun, ...]
    marks: tuple[str, ...] = ()

    @property
    def is_ranked(self) -> bool:
        """Whether the row has a place in the order; a row with a run that has none stands below all others."""
        return all(run.is_ranked for run in self.runs)

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
    coverage : Coverage
        How many of the rows that were read have a rank, in each run.
    """

    card: Card
    metrics: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    coverage: Coverage

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return self.card.dataset

    @property
    def heading(self) -> str:
        """The protocol in words, and how many ranks of how many were compared."""
        return f"{self.card.protocol_sentence}; {self.coverage}"

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
    def facts(self) -> list[list[str]]:
        """Fingerprint of the dataset, protocol, settings, coverage and counts, in words, each a list."""
        counts = [f"{n:,} ({name})" for name, n in (*self.coverage.parts, *self.coverage.dropped)]
        settings = [f"{name} {value!r}" for name, value in self.card.content["protocol"]["settings"].items()]
        prints = [f"dataset fingerprint {self.card.dataset_fingerprint[:N_HEX]}"]
        return [prints, self.card.protocol_sentence.split(", "), settings, [str(self.coverage)], counts]

    def apart(self, tables: Sequence[BoardTable]) -> list[str]:
        """Return what sets this table apart from the other tables of its dataset, in words.

        That is the fingerprint of the dataset, then the first that differs of protocol, settings, coverage and counts.

        Parameters
        ----------
        tables : sequence of BoardTable
            All tables of the board.
        """
        others = [other.facts for other in tables if other.dataset == self.dataset]
        own = [
            [fact for fact in mine if any(fact not in one[i] for one in others)] for i, mine in enumerate(self.facts)
        ]
        coverage = [] if self.coverage.is_full else [str(self.coverage)]
        return list(dict.fromkeys([*own[0], *next(filter(None, own[1:]), []), *coverage]))


@dataclass(frozen=True)
class Board:
    """Many runs, sorted into tables, and what is doubtful about them. `read_board` returns it.

    Parameters
    ----------
    tables : tuple of BoardTable
        Sorted by the name of the dataset, then by the number of runs, largest first. Within a dataset, tables come last
        if dataset and protocol do not determine which rows have a rank (see `Coverage.is_fixed`).
    notes : tuple of str
        Notes about copies, equal ranks under two names, and names that contradict each other.
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
        models = {run.card.model for run in runs}
        datasets = {run.table_key[:2] for run in runs}
        text = f"{counted(len(runs), 'run')} of {counted(len(models), 'model')} on {counted(len(datasets), 'dataset')}"
        text += f", in {counted(len(self.tables), 'table')}"
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
                card = _card_or_reason(path, place)
                if isinstance(card, Card):
                    found.append(BoardRun(card, place, path))
                else:
                    unread.append((place, card))
        elif isinstance(thing, (Card, EvaluationResult)):
            found.append(BoardRun(thing if isinstance(thing, Card) else Card.of(thing), f"result {i}"))
        else:
            got = type(thing).__name__
            raise DataError(f"item {i} of the board: expected a path, a card or a result; got {got}")
    if not found and not unread:
        names = ", ".join(str(thing) for thing in given) or "nothing"
        raise DataError(
            f"a board needs cards (.json, written by kgeval card) or results (.kgeval); found no such file in {names}"
        )
    if not found:
        files = counted(len(unread), "file")
        why = f"none of {files} can be read. The first error: {unread[0][1]}"
        raise DataError(f"a board needs at least one card or result; {why}")
    return _sorted_board(found, unread)


def _files_of(path: Path) -> list[tuple[str, Path]]:
    """Return the files that a path stands for, each with the name under which the board lists it."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in SUFFIXES and not file.is_dir()]
        return [(file.relative_to(path).as_posix(), file) for file in files]
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    return [(str(path), path)]


def _card_or_reason(path: Path, place: str) -> Card | str:
    """Return the card in a file, or the card of the result in it; the error as text if there is none.

    The text names the file by `place`, so that the same files in another folder give the same board.
    """
    try:
        if path.suffix.lower() == ".json":
            card = read_card(path)
            for metric in card.metrics:
                Key.parse(metric)  # a later version may know more metrics
            return card
        result = load_result(path)
        if isinstance(result, EvaluationResult):
            return Card.of(result)
    except (KgevalError, OSError) as error:
        return str(error).replace(str(path), place).removeprefix(f"{place}: ")
    return "holds a classification; a board shows ranked results and their cards"


# ---- sorting into tables ----


def _sorted_board(runs: Sequence[BoardRun], unread: Sequence[tuple[str, str]]) -> Board:
    """Return the board of all runs: copies are merged, runs are grouped into tables, and doubtful things are noted."""
    merged, notes = _without_copies(runs)
    unnamed = [run.place for run in merged if not run.card.is_named]
    if unnamed:
        notes.append(
            f"{counted(len(unnamed), 'run')} without the name of a model (kgeval evaluate --name), shown with the name "
            f"of the scorer: {_listed(unnamed)}"
        )
    notes += _name_notes(runs)
    of_table = grouped((run.table_key, run) for run in merged)
    names = grouped(dict.fromkeys((dataset, fingerprint) for dataset, fingerprint, _, _ in of_table))
    notes += [
        f"{dataset} stands for {counted(len(prints), 'dataset')} with different contents (fingerprints "
        f"{', '.join(sorted(one[:N_HEX] for one in prints))}); their runs are in different tables"
        for dataset, prints in sorted(names.items())
        if len(prints) > 1
    ]
    notes += _coverage_notes(of_table)

    def order(key: tuple[str, str, str, Coverage]) -> tuple[Any, ...]:
        return key[0], not key[3].is_fixed, -len(of_table[key]), key[:3], -key[3].n_ranks, key

    made = [_table_of(of_table[key]) for key in sorted(of_table, key=order)]
    notes += [note for _, of_one in made for note in of_one]
    return Board(tuple(one for one, _ in made), tuple(dict.fromkeys(notes)), tuple(unread), len(runs) + len(unread))


def _coverage_notes(of_table: Mapping[tuple[str, str, str, Coverage], Sequence[BoardRun]]) -> list[str]:
    """Return notes about runs of one dataset and protocol that rank, or may rank, different triples."""
    coverages, notes = grouped((key[:3], key[3]) for key in of_table), []
    for key, found in sorted(coverages.items()):
        where, found = f"{key[0]}, protocol {key[2][:N_HEX]}: ", sorted(found, key=lambda one: (-one.n_ranks, one))
        texts = _listed(list(dict.fromkeys(map(str, found))))
        said = f"{where}the runs have ranks of different triples ({texts}); they are in different tables"
        notes += [said] if len(found) > 1 else []
        notes += [
            f"{where}{len(of_table[(*key, one)])} runs have {one} each; cards do not list the ranked triples, so these "
            "may differ between the runs (kgeval compare checks it)"
            for one in found
            if len(of_table[(*key, one)]) > 1 and not one.is_fixed
        ]
    return notes


def _without_copies(runs: Sequence[BoardRun]) -> tuple[list[BoardRun], list[str]]:
    """Return the runs, each once, and notes about copies: files with the same model, seed, ranks and values.

    If a card and its result are both there, the card is kept, since a row links to the card.
    """
    found: dict[Any, list[BoardRun]] = {}
    for run in sorted(runs, key=lambda run: not run.place.endswith(".json")):
        same = found.setdefault((run.table_key, run.card.model, run.card.seed, run.card.hash), [])
        copy = next((i for i, other in enumerate(same) if not _contradictions(run, other)), None)
        if copy is None:
            same.append(run)
        else:
            same[copy] = replace(same[copy], copies=(*same[copy].copies, run.place))
    notes = [
        f"{run.place}: the same run is in {_listed(run.copies)}; it is counted once"
        for same in found.values()
        for run in same
        if run.copies
    ]
    for same in found.values():
        for other in same[1:]:
            what = "; ".join(_contradictions(same[0], other))
            notes.append(f"{same[0].place} and {other.place} have the same hash of ranks but other values: {what}")
    return [run for same in found.values() for run in same], notes


def _contradictions(first: BoardRun, second: BoardRun) -> list[str]:
    """Return the metrics with different values on two cards, though both cards have the same hash of ranks."""
    found = []
    for metric in first.card.metrics:
        if metric in second.card.metrics:
            one, other = first.value(metric), second.value(metric)
            if not (math.isclose(one, other, rel_tol=CLOSE) or (math.isnan(one) and math.isnan(other))):
                found.append(f"{display_of(metric).heading} {one:.7g} and {other:.7g}")
    return found


def _name_notes(runs: Sequence[BoardRun]) -> list[str]:
    """Return notes about files whose names contain another model or another seed than the run in the file."""
    models = {run.card.model for run in runs}
    notes = []
    for run in runs:
        stem = Path(run.place).stem if run.path else ""
        words = _words(stem)
        seeds = [str(int(digits)) for digits in re.findall(SEED_IN_NAME, stem.lower())]
        if run.card.seed is not None and seeds and str(run.card.seed) not in seeds:
            named = _listed(seeds)
            notes.append(f"{run.place}: the name says seed {named}, but the run says seed {run.card.seed}")
        others = [model for model in sorted(models - {run.card.model}) if _words(model) and _words(model) in words]
        if others and _words(run.card.model) not in words:
            notes.append(f"{run.place}: the name says {others[0]}, but the run says {run.card.model}")
    return notes


def _words(text: str) -> str:
    """Return letters and digits of a text in lower case, with one space around each word, so that words can be found.

    Examples
    --------
    >>> _words("TransE_seed1")
    ' transe seed1 '
    """
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} " if words else ""


def _table_of(runs: Sequence[BoardRun]) -> tuple[BoardTable, list[str]]:
    """Return the table of runs with one dataset, protocol and coverage, and notes about them."""
    first, metrics, notes = runs[0].card, _columns([run.card for run in runs]), []
    rows = [BoardRow(run.card.model, (run,)) for run in runs if not run.is_ranked]
    for run, found in [(run, run.card.contradictions) for run in runs if run.card.contradictions]:
        more = f"; and {counted(len(found) - 1, 'more contradiction')}" if len(found) > 1 else ""
        notes.append(f"{run.place}: the card contradicts itself, so it is not ranked and in no mean: {found[0]}{more}")
    unknown = [run.place for run in runs if not run.has_known_negatives]
    if unknown:
        notes.append(
            f"{_listed(unknown)}: the negatives are not known ({first.protocol_sentence}), so nobody can tell whether "
            "the ranks are among the same; not ranked and in no mean"
        )
    for model, same in grouped((run.card.model, run) for run in runs if run.is_ranked).items():
        reason = _why_apart([run.card for run in same])
        if reason:
            files = _listed([run.place for run in same])
            notes.append(
                f"{counted(len(same), 'run')} of {model} on {first.dataset} are not averaged, since {reason}: {files}"
            )
        together = [sorted(same, key=lambda run: _seed_order(run.card.seed))]
        rows += [BoardRow(model, tuple(each)) for each in ([[run] for run in same] if reason else together)]
    rows = [replace(row, marks=_marks(row, runs)) for row in rows]
    sign = -1.0 if metrics and Key.parse(metrics[0]).higher_is_better else 1.0

    def order(row: BoardRow) -> tuple[bool, bool, float, str]:
        value = row.value(metrics[0])[0] if metrics else math.nan
        return not row.is_ranked, math.isnan(value), 0.0 if math.isnan(value) else sign * value, row.model

    for row in rows if metrics else ():
        lacking = [run.place for run in row.runs if math.isnan(run.value(metrics[0]))]
        if lacking and len(row.runs) > 1:
            heading = display_of(metrics[0]).heading
            notes.append(
                f"{row.model} on {first.dataset} has no mean {heading}, and its row is last, since {heading} has no "
                f"value in {_listed(lacking)}"
            )
    return BoardTable(first, metrics, tuple(sorted(rows, key=order)), runs[0].coverage), notes


def _why_apart(cards: Sequence[Card]) -> str:
    """Return the reason why runs of one model are not averaged; empty if they are."""
    seeds = [card.seed for card in cards]
    if len(cards) == 1:
        return ""
    if not all(card.is_named for card in cards):
        return "not all of them name their model"
    if None in seeds:
        return "not all of them say their seed"
    twice = [str(seed) for seed in dict.fromkeys(seeds) if seeds.count(seed) > 1]
    if twice:
        return f"seed {_listed(twice)} stands for different runs"
    is_same = len({card.hash for card in cards}) < len(cards)
    return "runs with different seeds have the same ranks" if is_same else ""


def _columns(cards: Sequence[Card]) -> tuple[str, ...]:
    """Return the filtered metrics of both sides, or of the ranked side; in the order of the tables, MRR first."""
    keys = {metric: Key.parse(metric) for card in cards for metric in card.metrics}
    filtered = [metric for metric, key in keys.items() if key.setting == "filtered"] or list(keys)
    both = [metric for metric in filtered if keys[metric].side == "both"] or filtered
    order = [FIRST_METRIC, *(name for name in DEFAULT_METRICS if name != FIRST_METRIC)]
    names = {metric: metric.rpartition(".")[2] for metric in both}
    return tuple(sorted(both, key=lambda metric: order.index(names[metric]) if names[metric] in order else len(order)))


def _marks(row: BoardRow, runs: Sequence[BoardRun]) -> tuple[str, ...]:
    """Return the marks of a row: ``same ranks as NAME`` for each run with the same ranks, and why it is not ranked."""
    pairs = [(run, other) for run in row.runs for other in runs if other is not run]
    found = [f"same ranks as {other.name}" for run, other in pairs if other.card.hash == run.card.hash]
    found += [CONTRADICTS] if any(run.card.contradictions for run in row.runs) else []
    found += [] if all(run.has_known_negatives for run in row.runs) else [UNKNOWN_NEGATIVES]
    return tuple(dict.fromkeys(found))


def _seed_order(seed: int | str | None) -> tuple[bool, int, str]:
    """Return a key that sorts seeds: numbers by their size, then texts."""
    return (False, seed, "") if isinstance(seed, int) else (True, 0, str(seed))


def _listed(names: Sequence[str]) -> str:
    """Return names as text. Long names are cut; of more than four names, only the first four are given."""
    return listed([cut_label(name) for name in names], MAX_NAMED)
