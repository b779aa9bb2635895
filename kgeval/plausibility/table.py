"""`check_table` checks whether reported rows of hits@k, MRR and MR are possible, and gives hints for impossible rows.

Users and ``kgeval check-table`` call `check_table`. `kgeval.plausibility.reading` reads the rows, and
`kgeval.plausibility.rules` judges them. This module tries the ways to read a row (numbers as shares or as percentages),
and looks for known mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice
from typing import Any

import pandas as pd

from kgeval.base.checks import check_one_of, check_positive_int, counted, names_unknown_arguments
from kgeval.base.wording import exact, printable
from kgeval.display import html
from kgeval.display.html_tables import html_table
from kgeval.display.table import Column, Table
from kgeval.errors import DataError, MetricError
from kgeval.metrics.base import TIE_POLICIES
from kgeval.plausibility.reading import SHARES, ReportedCell, Row, Value, cut_off, kind_of_metric, reported_rows
from kgeval.plausibility.rules import Finding, Setting, judge

ROUNDINGS = ("nearest", "any")
MAX_SWAPS = 2
MAX_OPEN = 10  # texts that notebooks show without a click
Kinds = dict[str, bool]


@dataclass(frozen=True)
class RowCheck:
    """The result of the check for one row.

    Parameters
    ----------
    label : str
    values : dict of str to Value
        Name of the metric -> the reported number, and the range of the exact values that are rounded to this number.
    findings : tuple of Finding
        The inequalities that fail; empty if the row is possible.
    unless : str
        A weaker assumption under which the row would be possible, such as half ranks; empty if there is none.
    hints : tuple of str
        Known mistakes that would explain why the row is impossible.
    notes : tuple of str
        Notes about the reading of the row, such as mixed units, and about numbers that were not checked.
    dataset : str
        The dataset of the numbers if the table has several datasets side by side, else empty.
    """

    label: str
    values: dict[str, Value]
    findings: tuple[Finding, ...] = ()
    unless: str = ""
    hints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dataset: str = ""

    @property
    def possible(self) -> bool:
        """Whether no inequality fails.

        If True, some list of ranks gives these numbers. With `n_ranks` or a geometric mean rank, such a list may not
        exist: each metric is possible alone, but perhaps not together with the others.
        """
        return not self.findings

    @property
    def verdict(self) -> str:
        """``"possible"``, ``"impossible"``, or ``"possible only ..."`` under a weaker assumption."""
        return "possible" if self.possible else f"possible only {self.unless}" if self.unless else "impossible"

    def record(self) -> dict[str, Any]:
        """Return the row as plain values for JSON."""
        values = {n: {"text": v.text, "low": float(v.low), "high": float(v.high)} for n, v in self.values.items()}
        findings = [{"metrics": list(finding.metrics), "message": finding.message} for finding in self.findings]
        return {
            "row": self.label,
            "possible": self.possible,
            "verdict": self.verdict,
            "values": values,
            "findings": findings,
            "hints": list(self.hints),
            "notes": list(self.notes),
        } | ({"dataset": self.dataset} if self.dataset else {})


@dataclass(frozen=True, repr=False)
class TableCheck:
    """The result of the check for a table; ``print`` shows each inequality that fails.

    Parameters
    ----------
    rows : tuple of RowCheck
    assumed : str
        The assumptions about ranks and rounding.
    notes : tuple of str
        Notes that concern several rows.
    """

    rows: tuple[RowCheck, ...]
    assumed: str
    notes: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether every row is possible."""
        return all(row.possible for row in self.rows)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all rows."""
        return tuple(finding for row in self.rows for finding in row.findings)

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per row, of plain values for JSON."""
        return [row.record() for row in self.rows]

    def frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each row of the checked table.

        The first columns are the reported numbers as texts, one column per metric. The last columns are ``possible``,
        ``verdict``, ``why`` (the inequalities that fail) and ``hint``.
        """
        names = list(dict.fromkeys(name for row in self.rows for name in row.values))
        lines = [
            {name: row.values[name].text if name in row.values else "" for name in names}
            | {
                "possible": row.possible,
                "verdict": row.verdict,
                "why": "; ".join(finding.message for finding in row.findings),
                "hint": "; ".join(row.hints),
            }
            for row in self.rows
        ]
        return pd.DataFrame(lines, index=pd.Index([row.label for row in self.rows], name="row"))

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        n = sum(row.possible for row in self.rows)
        lines = [f"{n} of {len(self.rows)} rows possible ({self.assumed})"]
        for row in self.rows:
            lines.append(f"  {row.label}: {row.verdict}")
            lines += [f"    {finding.message}" for finding in row.findings]
            lines += [f"    hint: {hint}" for hint in row.hints]
            lines += [f"    note: {note}" for note in row.notes]
        return "\n".join(printable(line) for line in [*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        n_possible = sum(row.possible for row in self.rows)
        names = list(dict.fromkeys(name for row in self.rows for name in row.values))
        labels = [row.label for row in self.rows]
        columns = [
            Column.of_texts(name, [row.values[name].text if name in row.values else "" for row in self.rows])
            for name in names
        ]
        verdicts = Column.of_labels("verdict", [row.verdict for row in self.rows])
        reasons = [f"{row.label}: {finding.message}" for row in self.rows for finding in row.findings]
        hints = [f"{row.label}: {hint}" for row in self.rows for hint in row.hints]
        notes = [*(f"{row.label}: {note}" for row in self.rows for note in row.notes), *self.notes]
        values = [(row.label, name, value) for row in self.rows for name, value in row.values.items()]
        ranges = [
            Column.of_labels("row", [label for label, _, _ in values]),
            Column.of_labels("metric", [name for _, name, _ in values]),
            Column.of_texts("reported", [value.text for _, _, value in values]),
            Column.of_texts("least", [exact(value.low) for _, _, value in values]),
            Column.of_texts("greatest", [exact(value.high) for _, _, value in values]),
        ]
        parts = (("Why", reasons, True), ("Hints", hints, True), ("Notes", notes, False))
        return html.panel(
            f"{n_possible} of {counted(len(self.rows), 'row')} possible",
            html.line(self.assumed),
            html_table(Table([Column.of_labels("row", labels), *columns, verdicts])),
            *(
                html.folded(f"{title} ({len(texts)})", html.lines(texts), is_open=is_open and len(texts) <= MAX_OPEN)
                for title, texts, is_open in parts
                if texts
            ),
            html.folded("Ranges of the exact values", html_table(Table(ranges))),
        )


@names_unknown_arguments()
def check_table(
    values: Any,
    *,
    n_candidates: int | Mapping[str, int] | None = None,
    n_ranks: int | Mapping[str, int] | None = None,
    ties: str | None = None,
    places: int | Mapping[str, int] | None = None,
    percent: bool | None = None,
    rounding: str = "nearest",
) -> TableCheck:
    """Check whether reported hits@k, MRR and MR are possible together; name each inequality that fails.

    A row is impossible only if no list of ranks gives values that are rounded to the reported numbers; the decision is
    exact (see `kgeval.plausibility.bounds`). The numbers may be means over both sides, weighted means, or means over
    several runs. But all numbers of a row must be means over the same ranks, and GMR and HMR must not be
    means of several GMR or HMR values.

    For example, let ranks be integers, and let H1, H3, H10 be hits@1, hits@3, hits@10. Then
    ``H1 + (H3 - H1)/3 + (H10 - H3)/10 <= MRR <= H1 + (H3 - H1)/2 + (H10 - H3)/4 + (1 - H10)/11``,
    ``MR >= H1 + (H3 - H1)*2 + (H10 - H3)*4 + (1 - H10)*11``, and ``MR + j * (j + 1) * MRR >= 2 * j + 1`` for each
    integer j.

    Parameters
    ----------
    values : mapping, sequence of mappings, mapping of mappings, or DataFrame
        One or more rows: hits@k for any k, MRR, MR, GMR, HMR, AMRI, in any usual spelling (``H@1``, ``Hits@10``,
        ``hits_at_3``, ``mean rank``). Other columns that contain text are used as labels of the row. Other columns
        that contain numbers are not checked, and a note lists these columns. `read_reported` reads a file. Several
        datasets may stand side by side: columns such as ``"WN18RR MRR"``, pairs (dataset, metric) as headings, or the
        same metrics again in the same order. The numbers of each row and dataset are then checked by themselves.
    n_candidates : int, or mapping of str to int, optional
        The largest number of candidates of any query; if all entities are candidates, the number of
        entities. This number limits MR and AMRI.
    n_ranks : int, or mapping of str to int, optional
        The number of ranks over which each mean is computed, all with equal weight (test triples times sides). Then
        hits@k must be a multiple of 1 / n_ranks, and MR a multiple of 1 / n_ranks or, with half ranks, of 1/2 / n_ranks
        (the GRIM test). The GRIM test checks each number alone, and is not applied to MRR, to rows with a spread (±),
        or if ``ties="expected"``.
    ties : str, optional
        The tie policy of the ranks. ``"realistic"``: ranks may be halves, such as 1.5. ``"expected"``: the value of
        each query is a mean over integer ranks. Other policies: ranks are integers. None: ranks are assumed to be
        integers; if a failed inequality holds for integer ranks only, its message says so.
    places : int or mapping, optional
        Number of decimals of numbers that are not texts: one number for hits@k, MRR and AMRI, or a mapping by metric,
        ``{"hits": 3, "MR": 0}``. By default, a float has the decimals of its shortest form, without zeros at the end.
        A text always has the decimals that it shows.
    percent : bool, optional
        Whether hits@k, MRR and AMRI are percentages. None: the numbers of each row decide, separately for
        three groups: all hits@k of the row, MRR, and AMRI. A group is read as percentages if at least one of its
        numbers exceeds 1 or has a percent sign. If only some of the groups are percentages by this rule, the other
        groups are first read as shares; if the row is then impossible, some or all of the other groups are read as
        percentages. If no number of the row exceeds 1, all are read as shares; an impossible row that is possible with
        percentages then has the verdict ``"possible only if these are percent (percent=True)"``.
    rounding : str
        ``"nearest"``: the exact value is within half a unit of the number's last decimal, both ends included, so
        halves may be rounded up or down. ``"any"``: numbers may also be cut off, towards 0 or downwards, so the range
        extends a whole unit above the number and, below 0 or at 0, a whole unit below it. Every range extends at least
        a millionth of the number below and above the number.

    Returns
    -------
    TableCheck

    Raises
    ------
    DataError
        If a cell is not a number, or two columns name the same metric. The message names the column, and the row or
        the file and line.
    MetricError
        If no column names a metric, or an option has a wrong value.

    References
    ----------
    Brown and Heathers (2017), The GRIM Test, Social Psychological and Personality Science 8(4), for the
    multiples of 1 / n_ranks. The bounds are derived in `kgeval.plausibility.bounds`.

    Examples
    --------
    >>> print(check_table({"hits@1": "0.06", "hits@10": "0.30", "MRR": "0.06"}))
    0 of 1 rows possible (integer ranks, rounded to nearest)
      row 1: impossible
        MRR 0.06 (at most 0.065) is below 0.079, the smallest value that hits@1 0.06 and hits@10 0.30 allow: \
H1 + (H10 - H1)/10 = 0.055 + 0.24/10
        hint: MRR equals hits@1, as if each 1/rank below 1 had been cut to 0
    >>> check_table({"H@1": 22.7, "H@10": 48.6, "MRR": 0.314, "MR": 219}, n_candidates=14541).possible
    True
    """
    check_one_of("rounding", rounding, ROUNDINGS, MetricError)
    if ties is not None:
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
    if percent not in (None, True, False):
        raise MetricError(f"percent must be True, False or None; got {percent!r}")
    reported = reported_rows(values, places)
    datasets = list(dict.fromkeys(row.dataset for row in reported))
    candidates_of = _by_dataset("n_candidates", n_candidates, datasets)
    ranks_of = _by_dataset("n_ranks", n_ranks, datasets)
    tables = {d: _Table(Setting(candidates_of[d], ranks_of[d], ties), percent, rounding) for d in datasets}
    rows = tuple(tables[row.dataset].check(row) for row in reported)
    ranks = {None: "integer ranks", "realistic": "half ranks allowed"}.get(ties, f"integer ranks, {ties} ties")
    limits = [
        f"{n} {noun}{f' of {dataset}' if dataset else ''}"
        for numbers, noun in ((candidates_of, "candidates"), (ranks_of, "ranks"))
        for dataset, n in numbers.items()
        if n is not None
    ]
    assumed = ", ".join([ranks, "rounded to nearest" if rounding == "nearest" else "rounded or cut off", *limits])
    return TableCheck(rows, assumed, tuple(_mix_of_rows(rows)))


def _by_dataset(name: str, given: int | Mapping[str, int] | None, datasets: list[str]) -> dict[str, int | None]:
    """Return the number of each dataset; a single number is for a table with one dataset."""
    if not isinstance(given, Mapping):
        if given is not None:
            check_positive_int(name, given, MetricError)
            if len(datasets) > 1:
                example = ", ".join(f"{dataset!r}: {given}" for dataset in datasets)
                raise MetricError(
                    f"{name}: the table has {len(datasets)} datasets side by side; expected a number for each, such as "
                    f"{{{example}}}; got {given}"
                )
        return dict.fromkeys(datasets, given)
    unknown = [dataset for dataset in given if dataset not in datasets or not dataset]
    if unknown:
        known = ", ".join(repr(dataset) for dataset in datasets if dataset) or "only one, without a name"
        raise MetricError(f"{name}: {unknown[0]!r} is not a dataset of the table; its datasets: {known}")
    for dataset, number in given.items():
        check_positive_int(f"{name} of {dataset}", number, MetricError)
    return {dataset: given.get(dataset) for dataset in datasets}


@dataclass(frozen=True)
class _Table:
    """The assumptions about a table (ranks, percentages, rounding), and the methods that check a row."""

    setting: Setting
    percent: bool | None
    rounding: str

    def check(self, row: Row) -> RowCheck:
        """Return the `RowCheck` of one row."""
        here = self._for_row(row.cells)
        kinds, findings = here._first_possible(row)
        values = _readings_of_values(row.cells, kinds, self.rounding)
        notes = [f"not checked: {', '.join(row.ignored)}"] if row.ignored else []
        if not row.cells:
            notes.append("no number to check")
        if len(set(kinds.values())) == 2 and self.percent is None:
            words = {"hits": "hits@k"}
            each = [
                f"{words.get(kind, kind)} as {'percentages' if is_percent else 'shares'}"
                for kind, is_percent in kinds.items()
            ]
            notes.append(f"mixed units: read {', '.join(each)}")
        if self.setting.n_ranks is not None and here.setting.n_ranks is None:
            notes.append("the numbers are means over runs (±), so n_ranks is not used")
        if not findings and _is_inverse(values):
            notes.append(
                "MRR is 1 / MR within rounding, which requires all ranks to be equal; was MRR computed as 1 / MR?"
            )
        unless = here._weaker_assumption(row) if findings else ""
        hints = [*here._mrr_mistakes(row, kinds)] if findings else []
        if findings and not hints:
            hints = here._unit_or_count_hints(row, kinds) + ([] if unless else here._swap_hints(row))
        if findings and not hints and not unless:
            hints = here._single_number_hints(row)
        if findings and here._may_be_percent(row, kinds):
            hints.append("are these percent? The row is possible with percent=True (--percent)")
            unless = unless or "if these are percent (percent=True)"
        return RowCheck(row.label, values, tuple(findings), unless, tuple(hints), tuple(notes), row.dataset)

    def _for_row(self, cells: dict[str, ReportedCell]) -> _Table:
        """Return the assumptions for one row; `n_ranks` is dropped if a number of the row is a mean over runs (±)."""
        if not any(cell.is_mean for cell in cells.values()):
            return self
        return replace(self, setting=replace(self.setting, n_ranks=None))

    def _first_possible(self, row: Row) -> tuple[Kinds, list[Finding]]:
        """Try the ways to read the row (numbers as shares or as percentages); return a tuple (way, findings).

        `way` is the first way that makes the row possible; `findings` is then empty. If no way makes the row possible,
        `way` is the first way that was tried, and `findings` are the inequalities that the row then violates.
        """
        first = None
        for kinds in _readings(row, self.percent):
            findings = judge(_readings_of_values(row.cells, kinds, self.rounding), self.setting)
            if not findings:
                return kinds, []
            first = first or (kinds, findings)
        return first or ({}, [])

    def _allows(self, row: Row, cells: dict[str, ReportedCell]) -> bool:
        return not self._first_possible(replace(row, cells=cells))[1]

    def _weaker_assumption(self, row: Row) -> str:
        """Return the first weaker assumption (half ranks, cut-off numbers) under which the row is possible; else ""."""
        half = replace(self, setting=replace(self.setting, ties="realistic"))
        looser = {}
        if self.setting.ties is None:
            looser["with half ranks (ties='realistic')"] = half
        if self.rounding == "nearest":
            looser["if numbers were cut off, not rounded (rounding='any')"] = replace(self, rounding="any")
            if self.setting.ties is None:
                looser["with half ranks and numbers cut off (ties='realistic', rounding='any')"] = replace(
                    half, rounding="any"
                )
        return next((assumption for assumption, table in looser.items() if table._allows(row, row.cells)), "")

    def _may_be_percent(self, row: Row, kinds: Kinds) -> bool:
        """Return whether a row without any number above 1 is impossible as shares and possible as percentages."""
        if self.percent is not None or not kinds or any(kinds.values()):
            return False
        return replace(self, percent=True)._allows(row, row.cells)

    def _mrr_mistakes(self, row: Row, kinds: Kinds) -> Iterator[str]:
        """Yield a hint if a known mistake explains MRR and the row would be possible without MRR."""
        cells = row.cells
        if "MRR" not in cells or len(cells) < 2 or not self._allows(row, _without(cells, "MRR")):
            return
        if _is_inverse(_readings_of_values(cells, kinds, self.rounding)):
            yield "MRR equals 1 / MR: the reciprocal of the mean rank is not the mean reciprocal rank"
        elif "hits@1" in cells and cells["hits@1"].number == cells["MRR"].number:
            yield "MRR equals hits@1, as if each 1/rank below 1 had been cut to 0"

    def _unit_or_count_hints(self, row: Row, kinds: Kinds) -> list[str]:
        """Return a hint for each known mistake in units or in counting whose correction would make the row possible.

        A mistake in units: a share was read as a percentage, or the reverse. A mistake in counting: the ranks start at
        0 instead of 1.
        """
        changed = (*_counting(row.cells), *_units(row, kinds))
        return [f"possible if {hint}" for hint, cells in changed if self._allows(row, cells)]

    def _swap_hints(self, row: Row) -> list[str]:
        """Return a hint for each pair of numbers whose swap would make the row possible; at most `MAX_SWAPS` hints."""
        swaps = (pair for pair in combinations(row.cells, 2) if self._allows(row, _swapped(row.cells, *pair)))
        return [f"possible if {first} and {second} are swapped" for first, second in islice(swaps, MAX_SWAPS)]

    def _single_number_hints(self, row: Row) -> list[str]:
        """Return one hint that names every number whose removal would make the row possible.

        The list is empty if there is no such number, or if the row has fewer than three numbers.
        """
        odd = [name for name in row.cells if self._allows(row, _without(row.cells, name))]
        if len(row.cells) < 3 or not odd:
            return []
        return [f"possible without {' or without '.join(odd)}"]


def _mix_of_rows(rows: tuple[RowCheck, ...]) -> Iterator[str]:
    """Yield a note if hits@k are read as percentages in some rows and as shares in others."""
    first: dict[bool, str] = {}
    for row in rows:
        texts = [value.text for name, value in row.values.items() if kind_of_metric(name) == "hits"]
        if texts:
            first.setdefault("%" in texts[0], row.label)
    if len(first) == 2:
        yield (
            f"hits@k are read as percentages in some rows (first: {first[True]}) and as shares in others "
            f"(first: {first[False]}); set percent=True or False if that is wrong"
        )


def _readings(row: Row, percent: bool | None) -> Iterator[Kinds]:
    """Yield the ways to read a row, the most likely first.

    Each way is a dict: kind of metric -> whether the numbers of this kind are percentages.
    """
    kinds: Kinds = {}
    for name, cell in row.cells.items():
        kind = kind_of_metric(name)
        if kind in SHARES:
            exceeds = abs(cell.number) > 1 if percent is None else percent
            kinds[kind] = kinds.get(kind, False) or exceeds or cell.is_percent or name in row.percent
    yield kinds
    if percent is None and any(kinds.values()):
        others = [kind for kind, is_percent in kinds.items() if not is_percent]
        for n in range(1, len(others) + 1):
            for chosen in combinations(others, n):
                yield kinds | dict.fromkeys(chosen, True)


def _readings_of_values(cells: dict[str, ReportedCell], kinds: Kinds, rounding: str) -> dict[str, Value]:
    return {name: cell.value(name, kinds.get(kind_of_metric(name), False), rounding) for name, cell in cells.items()}


def _is_inverse(values: dict[str, Value]) -> bool:
    """Return whether MRR equals 1 / MR within rounding; False unless MR exceeds 1 and MRR exceeds 0."""
    mr, mrr = values.get("MR"), values.get("MRR")
    if mr is None or mrr is None or mr.low <= 1 or mrr.low <= 0:
        return False
    return mrr.low * mr.low <= 1 <= mrr.high * mr.high


def reported_values(
    values: Any, percent: bool | None = None, rounding: str = "nearest"
) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the metrics of one reported row: the least and the greatest exact value that its digits allow.

    Parameters
    ----------
    values : mapping, Series or DataFrame
        One row, as in `check_table`.
    percent : bool, optional
    rounding : str
        As in `check_table`.

    Raises
    ------
    DataError
        If there are several rows.
    """
    rows = reported_rows(values)
    if len(rows) != 1:
        raise DataError(f"expected one row of numbers to compare with the run; got {len(rows)}")
    read = _readings_of_values(rows[0].cells, next(_readings(rows[0], percent)), rounding)
    return {name: (value.low, value.high) for name, value in read.items()}


def _without(cells: dict[str, ReportedCell], name: str) -> dict[str, ReportedCell]:
    return {kept: cell for kept, cell in cells.items() if kept != name}


def _swapped(cells: dict[str, ReportedCell], first: str, second: str) -> dict[str, ReportedCell]:
    return cells | {first: cells[second], second: cells[first]}


def _counting(cells: dict[str, ReportedCell]) -> Iterator[tuple[str, dict[str, ReportedCell]]]:
    """Yield a tuple (hint, corrected cells) for each way in which ranks may have been counted from 0."""
    later = {f"hits@{cut_off(n) + 1}" if kind_of_metric(n) == "hits" else n: cell for n, cell in cells.items()}
    if "MR" in cells:
        mr_from_1 = replace(cells["MR"], number=cells["MR"].number + 1)
        yield "the ranks behind MR are counted from 0 (MR + 1)", cells | {"MR": mr_from_1}
    if list(later) != list(cells):
        yield "hits@k counts ranks up to k + 1, as if ranks started at 0", later
        if "MR" in cells:
            yield "all ranks are counted from 0 (MR + 1, hits@k up to k + 1)", later | {"MR": mr_from_1}


def _units(row: Row, kinds: Kinds) -> Iterator[tuple[str, dict[str, ReportedCell]]]:
    """Yield a tuple (hint, corrected cells) for each mistake in units that is plausible.

    There are two kinds of mistakes: all numbers of the row have the wrong unit (share or percentage); or a single
    number is a share although the others are percentages.
    """
    names = [name for name in row.cells if kind_of_metric(name) in SHARES]
    small = [name for name in names if abs(row.cells[name].number) <= 1 and kinds[kind_of_metric(name)]]

    def scaled(chosen: list[str], factor: Fraction) -> dict[str, ReportedCell]:
        cells = {name: row.cells[name] for name in chosen}
        return row.cells | {n: replace(c, number=c.number * factor, unit=c.unit * factor) for n, c in cells.items()}

    if len(small) == len(names) > 0:
        yield "the percentages of this row are shares (percent=False)", scaled(names, Fraction(100))
    elif any(row.cells[name].number > 1 for name in names) and not any(kinds.values()):
        yield "the shares of this row are percentages (percent=True)", scaled(names, Fraction(1, 100))
    else:
        yield from (
            (f"{name} is a share and the other numbers are percentages", scaled([name], Fraction(100)))
            for name in small
        )
