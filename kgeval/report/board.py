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

    def differs_from(self, other: Coverage) -> str:
        """Return the first difference between this coverage and another one as text; empty if they are equal.

        Parameters
        ----------
        other : Coverage

        Examples
        --------
        >>> Coverage(20, 50).differs_from(Coverage(50, 50))
        '20 of 50 ranks, not 50 of 50 ranks'
        """
        if (self.n_ranks, self.n_read) != (other.n_ranks, other.n_read):
            return f"{self}, not {other}"
        for mine, theirs in ((self.parts, other.parts), (self.dropped, other.dropped)):
            if mine != theirs:
                return f"{_counts_text(mine)}, not {_counts_text(theirs)}"
        return ""


def _counts_text(counts: Sequence[tuple[str, int]]) -> str:
    return " and ".join(f"{n:,} ({name})" for name, n in counts) or "none"


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
        mean = math.fsum(values) / len(values)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
        return mean, math.nan, math.nan, deviation


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

    def differs_from(self, other: BoardTable) -> list[str]:
        """Return the differences from another table in dataset, protocol and ranks, in words; an empty list if none.

        Parameters
        ----------
        other : BoardTable
        """
        found, card, old_card = [], self.card, other.card
        if card.dataset != old_card.dataset:
            found.append(f"dataset {card.dataset}, not {old_card.dataset}")
        elif card.dataset_fingerprint != old_card.dataset_fingerprint:
            both = f"fingerprint {card.dataset_fingerprint[:N_HEX]}, not {old_card.dataset_fingerprint[:N_HEX]}"
            found.append(f"another dataset of the same name ({both})")
        if card.protocol_fingerprint != old_card.protocol_fingerprint:
            here, there = card.protocol_sentence.split(", "), old_card.protocol_sentence.split(", ")
            new = ", ".join(part for part in here if part not in there)
            old = ", ".join(part for part in there if part not in here)
            settings, others = (one.content["protocol"]["settings"] for one in (card, old_card))
            names = [name for name in settings if settings[name] != others.get(name)]
            changed = "; ".join(f"{name} {settings[name]!r}, not {others.get(name)!r}" for name in names)
            changed = changed or f"{card.protocol_fingerprint} not {old_card.protocol_fingerprint}"
            only = f"with {new}" if new else f"without {old}" if old else changed
            found.append(f"protocol: {f'{new}, not {old}' if new and old else only}")
        # The numbers of full runs follow from dataset and protocol.
        if not found or not (self.coverage.is_full and other.coverage.is_full):
            found += filter(None, [self.coverage.differs_from(other.coverage)])
        return found


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
        return [run for one in self.tables for row in one.rows for run in row.runs]

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
    found: list[BoardRun] = []
    unread: list[tuple[str, str]] = []
    n_files = 0
    for i, thing in enumerate(given, start=1):
        if isinstance(thing, (str, Path)):
            files = _files_of(Path(thing))
            n_files += len(files)
            for place, path in files:
                card = _card_or_reason(path, place)
                if isinstance(card, Card):
                    found.append(BoardRun(card, place, path))
                else:
                    unread.append((place, card))
        else:
            if not isinstance(thing, (Card, EvaluationResult)):
                got = type(thing).__name__
                raise DataError(f"item {i} of the board: expected a path, a card or a result; got {got}")
            n_files += 1
            found.append(BoardRun(thing if isinstance(thing, Card) else Card.of(thing), f"result {i}"))
    if not n_files:
        names = ", ".join(str(thing) for thing in given) or "nothing"
        raise DataError(
            f"a board needs cards (.json, written by kgeval card) or results (.kgeval); found no such file in {names}"
        )
    if not found:
        raise DataError(f"a board needs at least one card or result; none of {counted(n_files, 'file')} can be read. "
                        f"The first error: {unread[0][1]}")  # fmt: skip
    return _sorted_board(found, unread, n_files)


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


def _sorted_board(runs: Sequence[BoardRun], unread: Sequence[tuple[str, str]], n_files: int) -> Board:
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
    return Board(tuple(one for one, _ in made), tuple(dict.fromkeys(notes)), tuple(unread), n_files)


def _coverage_notes(of_table: Mapping[tuple[str, str, str, Coverage], Sequence[BoardRun]]) -> list[str]:
    """Return notes about runs of one dataset and protocol that rank, or may rank, different triples."""
    coverages, notes = grouped((key[:3], key[3]) for key in of_table), []
    for (dataset, fingerprint, protocol), found in sorted(coverages.items()):
        where = f"{dataset}, protocol {protocol[:N_HEX]}"
        found = sorted(found, key=lambda one: (-one.n_ranks, one))
        if len(found) > 1:
            texts = _listed(list(dict.fromkeys(map(str, found))))
            notes.append(f"{where}: the runs have ranks of different triples ({texts}); they are in different tables")
        for coverage in found:
            n_runs = len(of_table[dataset, fingerprint, protocol, coverage])
            if n_runs > 1 and not coverage.is_fixed:
                notes.append(
                    f"{where}: {n_runs} runs have {coverage} each; cards do not list the ranked triples, so these "
                    "may differ between the runs (kgeval compare checks it)"
                )
    return notes


def _without_copies(runs: Sequence[BoardRun]) -> tuple[list[BoardRun], list[str]]:
    """Return the runs, each once, and notes about copies: files with the same model, seed, ranks and values.

    If a card and its result are both there, the card is kept, since a row links to the card.
    """
    found: dict[Any, list[BoardRun]] = {}
    for run in runs:
        key = (run.table_key, run.card.model, run.card.seed, run.card.hash)
        same = found.setdefault(key, [])
        copy = next((i for i, other in enumerate(same) if not _contradictions(run, other)), None)
        if copy is None:
            same.append(run)
            continue
        first, second = same[copy], run
        if run.place.endswith(".json") and not first.place.endswith(".json"):
            first, second = run, first
        same[copy] = replace(first, copies=(*first.copies, *second.copies, second.place))
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
