"""Reading of reported numbers: names of metrics, numbers with their rounding, tables in files.

`kgeval.plausibility.table` calls `reported_rows`; users call `read_reported` for a file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import check_positive_int
from kgeval.base.files import read_text
from kgeval.errors import DataError, MetricError
from kgeval.metrics import parse
from kgeval.metrics.metric_frames import REASON

PRECISION = Fraction(1, 1_000_000)
SHARES = ("hits", "MRR", "AMRI")
KNOWN = "hits@k (H@1, Hits@10, hits_at_3, ...), MRR, MR, GMR, HMR, AMRI"
NOT_REPORTED = {"", "-", "–", "—", "na", "n/a", "nan", "none", "null"}
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".md": "|", ".markdown": "|"}
# Words beside the name of a metric that make it another number, which is not checked.
NOT_A_DATASET = {
    "std",
    "sd",
    "stdev",
    "se",
    "sem",
    "var",
    "ci",
    "±",
    "+/-",
    "δ",
    "Δ",
    "delta",
    "diff",
    "gain",
    "adjusted",
}
SIDE_BY_SIDE = (
    "For several datasets side by side, write columns such as 'FB15k-237 MRR', or two lines of names: each dataset "
    "above the first column of its numbers, and the metrics below"
)
_HITS = re.compile(r"(?:h|hr|hits?(?:_?rate|_?ratio)?)_?(?:@|at)?_?([0-9]{1,9})")
_SAMPLED = re.compile(r"(?:of_)?[0-9]+(?:_drawn)?")  # hits@10_50 and hits@10_of_49 are no hits@10 of a dataset
_NUMBER = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*(%?)\s*((?:±|\+/-|\\pm).*)?")


@dataclass(frozen=True)
class Value:
    """A reported number, and the range of the exact values that are rounded to this number.

    Parameters
    ----------
    name : str
        ``"hits@10"``, ``"MRR"``, ``"MR"``, ``"GMR"``, ``"HMR"`` or ``"AMRI"``.
    text : str
        The number as reported.
    low, high : Fraction
        The least and the largest exact value that are rounded to `text`. Percentages are converted
        to shares: 0.5 if `text` is ``"50%"``.
    """

    name: str
    text: str
    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


@dataclass(frozen=True)
class ReportedCell:
    """One reported number, before it is read as a percentage or as a share.

    Parameters
    ----------
    text : str
        The cell as reported.
    number : Fraction
        The number in the cell.
    unit : Fraction
        One unit of the last decimal: 1/1000 for ``0.963``, 1 for ``740``.
    is_percent : bool
        Whether the number has a percent sign.
    is_mean : bool
        True if a spread after ± follows the number; the number is then a mean of several runs.
    """

    text: str
    number: Fraction
    unit: Fraction
    is_percent: bool = False
    is_mean: bool = False

    def value(self, name: str, is_percent: bool, rounding: str) -> Value:
        """Return the reported number with the range of the exact values that are rounded to this number.

        The range extends at least a millionth of the number below and above the number, because means are often
        computed with 32-bit floats.

        Parameters
        ----------
        name : str
            The metric.
        is_percent : bool
            Whether the number is read as a percentage.
        rounding : str
            ``"nearest"`` or ``"any"``, as in `kgeval.check_table`.
        """
        scale = 100 if is_percent else 1
        slack = abs(self.number) * PRECISION
        # A number is cut off towards 0 or downwards: -0.123 can be -0.1239 or -0.1221, and -0.00 can be -0.009.
        lower = 1 if rounding == "any" and self.number <= 0 else 2
        below, above = max(self.unit / lower, slack), max(self.unit / (1 if rounding == "any" else 2), slack)
        text = self.text + ("%" if is_percent and "%" not in self.text else "")
        return Value(name, text, (self.number - below) / scale, (self.number + above) / scale)


@dataclass(frozen=True)
class Row:
    """The reported numbers of one row.

    Parameters
    ----------
    label : str
    cells : dict of str to ReportedCell
        Name of the metric -> cell.
    ignored : tuple of str
        Headings of the columns whose numbers are not checked.
    percent : frozenset of str
        Metrics whose heading has a percent sign.
    dataset : str
        The dataset of the numbers if the table has several datasets side by side, else empty.
    """

    label: str
    cells: dict[str, ReportedCell]
    ignored: tuple[str, ...] = ()
    percent: frozenset[str] = frozenset()
    dataset: str = ""


def kind_of_metric(name: str) -> str:
    """Return ``"hits"`` for any hits@k, else the name.

    Parameters
    ----------
    name : str
        ``"hits@10"``, ``"MRR"``, ...
    """
    return name.partition("@")[0]


def cut_off(name: str) -> int:
    """Return the k of ``"hits@k"``.

    Parameters
    ----------
    name : str
    """
    return int(name.partition("@")[2])


def metric_name(column: str) -> str | None:
    """Return the metric that a column heading names.

    Parameters
    ----------
    column : str
        Any usual spelling, also with arrows, percent signs and Markdown.

    Returns
    -------
    str or None
        The name of the metric, as messages show it; None if `check_table` does not check this metric.

    Examples
    --------
    >>> [metric_name(column) for column in ("H@1", "Hits @ 10 (%)", "hits3", "MR ↓", "mean rank", "F1")]
    ['hits@1', 'hits@10', 'hits@3', 'MR', 'MR', None]
    """
    plain = re.sub(r"[(\[]?%[)\]]?|[↑↓*`$]", "", column).strip().lower()
    plain = re.sub(r"[\s_-]+", "_", plain).strip("_")
    hits = _HITS.fullmatch(plain)
    try:
        metric = parse(f"hits@{int(hits[1])}" if hits else plain)
    except MetricError:
        if hits:
            raise
        return None
    heading = metric.heading
    if heading.startswith("hits@") and not hits:
        return None  # hits@10_of_49 is no count of ranks
    return heading if kind_of_metric(heading) in (*SHARES, "MR", "GMR", "HMR") else None


def read_cell(written: Any, where: str, places: int | None = None) -> ReportedCell | None:
    """Read one cell of a table of reported numbers.

    Parameters
    ----------
    written : str, int, float or Decimal
        A text has the decimals that it shows. A float has the decimals of its shortest form, without zeros at the
        end, because a float does not store zeros at the end.
    where : str
        Row and column of the cell, for messages.
    places : int, optional
        The number of decimals of `written`; used only if `written` is not a text.

    Returns
    -------
    ReportedCell or None
        None if the cell contains no number: empty, ``-``, ``n/a`` and the like.

    Raises
    ------
    DataError
        If the cell is not a number.

    Examples
    --------
    >>> read_cell("0.350", "here").unit, read_cell(0.350, "here").unit, read_cell(740.0, "here").unit
    (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 1))
    """
    is_text = isinstance(written, str)
    text = re.sub(r"^[*_`\s]+|[*_`\s]+$", "", str(written)).replace("−", "-")
    if written is None or written is pd.NA or text.lower() in NOT_REPORTED:
        return None
    if isinstance(written, (bool, np.bool_)) or not isinstance(
        written, (str, int, float, np.integer, np.floating, Decimal)
    ):
        raise DataError(f"{where}: expected a number; got {written!r}")
    if isinstance(written, (float, np.floating)) and text.endswith(".0"):
        text = text[:-2]
    match = _NUMBER.fullmatch(text)
    try:
        number = Decimal(match[1]) if match else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if match is None or not number.is_finite():
        hint = "; write 13526 or 0.963, without a comma" if re.search(r"[0-9],[0-9]", text) else ""
        raise DataError(f"{where}: expected a number such as 0.963 or 96.3%; got {str(written)!r}{hint}")
    exponent = int(number.as_tuple().exponent)
    unit = Fraction(10) ** (exponent if is_text or places is None else -places)
    return ReportedCell(text, Fraction(number), unit, is_percent=bool(match[2]), is_mean=bool(match[3]))


def reported_rows(values: Any, places: int | Mapping[str, int] | None = None) -> list[Row]:
    """Return the rows of a table of reported numbers.

    Parameters
    ----------
    values : mapping, sequence of mappings, mapping of mappings, Series or DataFrame
        As in `kgeval.check_table`.
    places : int or mapping, optional
        As in `kgeval.check_table`.

    Returns
    -------
    list of Row

    Raises
    ------
    DataError
        If a cell is not a number, or two columns name the same metric.
    MetricError
        If no column names a metric, or `places` names an unknown metric or contains an invalid number of decimals.
    """
    frame = as_frame(values)
    frame = frame.drop(columns=REASON, errors="ignore")  # a column of kgeval's tables: why a number is undefined
    columns = [_heading(column) for column in frame.columns]
    parts_of = _columns_of(list(frame.columns))
    if not any(parts_of):
        listed = ", ".join(map(repr, columns)) or "none"
        raise MetricError(f"expected columns named {KNOWN}; got {listed}")
    datasets = list(dict.fromkeys(part[0] for part in parts_of if part))
    for i, part in enumerate(parts_of):
        if part is not None and part in parts_of[:i]:
            first, second = columns[parts_of.index(part)], columns[i]
            where = f" of {part[0]}" if part[0] else ""
            raise DataError(
                f"columns {first!r} and {second!r} are both {part[1]}{where}; keep one of them. {SIDE_BY_SIDE}"
            )
    decimals = _decimals(places)
    percent = {d: frozenset(p[1] for p, c in zip(parts_of, columns) if p and p[0] == d and "%" in c) for d in datasets}
    lines, path = frame.attrs.get("lines", []), frame.attrs.get("path", "")
    has_index = not isinstance(frame.index, pd.RangeIndex)
    rows = []
    for i, (index, written) in enumerate(zip(frame.index, frame.itertuples(index=False, name=None))):
        words = [" ".join(map(str, index)) if isinstance(index, tuple) else str(index)] if has_index else []
        cells: dict[str, dict[str, ReportedCell]] = {dataset: {} for dataset in datasets}
        ignored = []
        for part, column, item in zip(parts_of, columns, written):
            if part is not None:
                dataset, name = part
                where = f"{path}, line {lines[i]}" if lines else f"row {words[0]!r}" if words else f"row {i + 1}"
                cell = read_cell(item, f"{where}, column {column!r}", decimals.get(kind_of_metric(name)))
                if cell is not None:
                    cells[dataset][name] = cell
            elif _is_label(item):
                words.append(re.sub(r"^(\*\*|__|\*|_|`)(.+)\1$", r"\2", str(item).strip()))
            elif not _is_not_reported(item):
                ignored.append(column)
        label = " ".join(words) or f"row {i + 1}"
        rows += [
            Row(f"{label} on {dataset}" if dataset else label, numbers, tuple(ignored), percent[dataset], dataset)
            for dataset, numbers in cells.items()
        ]
    return rows


def _heading(column: Any) -> str:
    """Return the heading of a column as messages show it: ``"WN18RR MRR"`` for the pair of a table with two headers."""
    return " ".join(str(part) for part in column if str(part)) if isinstance(column, tuple) else str(column)


def _columns_of(columns: Sequence[Any]) -> list[tuple[str, str] | None]:
    """Return dataset and metric of each column, None for a column that names no metric.

    The dataset is empty if the table has one dataset. A table has several if its headings are pairs (dataset, metric);
    if no heading is a metric alone, and headings consist of a dataset and a metric; or if the same two or more metrics
    are repeated in the same order: the datasets are then called "dataset 1", "dataset 2", ...
    """
    if columns and all(isinstance(column, tuple) and len(column) == 2 for column in columns):
        names = [metric_name(str(metric)) for _, metric in columns]
        return [None if name is None else (str(column[0]), name) for name, column in zip(names, columns)]
    texts = [_heading(column) for column in columns]
    plain = [metric_name(text) for text in texts]
    if not any(plain):
        return [_dataset_and_metric(text) for text in texts]
    headings = [text for text, name in zip(texts, plain) if name is not None]
    size = headings.index(headings[0], 1) if headings[0] in headings[1:] else len(headings)
    n = len(headings) // size
    if n == 1 or size == 1 or headings != headings[:size] * n:
        return [None if name is None else ("", name) for name in plain]
    numbers = iter(range(len(headings)))
    return [None if name is None else (f"dataset {next(numbers) // size + 1}", name) for name in plain]


def _dataset_and_metric(text: str) -> tuple[str, str] | None:
    """Return dataset and metric of a heading such as ``"WN18RR Hits@10"`` or ``"MRR (WN18RR)"``, else None.

    Examples
    --------
    >>> [_dataset_and_metric(text) for text in ("FB15k-237 Hits @ 10", "MRR (WN18RR)", "WN18RR std MRR", "Model name")]
    [('FB15k-237', 'hits@10'), ('WN18RR', 'MRR'), None, None]
    """
    places = [match.span() for match in re.finditer(r"[\s/:_,()\[\]|-]+", text)]
    pairs = [(text[:start], text[end:]) for start, end in places]
    pairs += [(text[end:], text[:start]) for start, end in reversed(places)]
    for dataset, metric in pairs:
        dataset, name = dataset.strip(" /:_,()[]|-"), metric_name(metric.strip(" ()[]")) if metric.strip() else None
        if dataset and name is not None and not _SAMPLED.fullmatch(dataset):
            words = set(re.split(r"[\s_]+", dataset.lower()))
            return None if words & NOT_A_DATASET else (dataset, name)
    return None


def as_frame(values: Any) -> pd.DataFrame:
    """Return one or more rows of reported numbers as a DataFrame; the numbers are not changed.

    Parameters
    ----------
    values : mapping, sequence of mappings, mapping of mappings, Series or DataFrame
        One row (a mapping of names to numbers, or a Series), or several rows.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DataError
        If `values` has none of these types.
    """
    if isinstance(values, pd.Series):
        values = values.to_dict()
    if isinstance(values, pd.DataFrame):
        return values
    if isinstance(values, Mapping):
        items = list(values.values())
        if items and all(isinstance(item, (Mapping, pd.Series)) for item in items):
            return pd.DataFrame([dict(item) for item in items], index=[str(key) for key in values], dtype=object)
        if items and all(isinstance(item, (list, tuple, np.ndarray)) for item in items):
            return pd.DataFrame({str(key): list(item) for key, item in values.items()}, dtype=object)
        return pd.DataFrame([dict(values)], dtype=object)
    if isinstance(values, Sequence) and values and all(isinstance(item, Mapping) for item in values):
        return pd.DataFrame([dict(item) for item in values], dtype=object)
    raise DataError(
        'expected a row such as {"hits@1": 0.23, "MRR": 0.31}, several such rows, or a DataFrame; '
        f"got {type(values).__name__}"
    )


def _decimals(places: int | Mapping[str, int] | None) -> dict[str, int]:
    """Return the number of decimals of each kind of metric, as a dict.

    If `places` is a single number, it applies to hits@k, MRR and AMRI.
    """
    if places is None:
        return {}
    given = dict(places) if isinstance(places, Mapping) else dict.fromkeys(SHARES, places)
    decimals = {}
    for key, number in given.items():
        name = "hits" if str(key).lower() == "hits" else metric_name(str(key))
        if name is None:
            raise MetricError(f"places: expected one of {KNOWN}; got {key!r}")
        if number != 0 or isinstance(number, bool):
            check_positive_int(f"places of {name}", number, MetricError)
        decimals[kind_of_metric(name)] = int(number)
    return decimals


def _is_not_reported(item: Any) -> bool:
    return item is None or item is pd.NA or str(item).strip().lower() in NOT_REPORTED


def _is_label(item: Any) -> bool:
    return isinstance(item, str) and not _is_not_reported(item) and _NUMBER.fullmatch(item.strip()) is None


def read_reported(path: str | Path) -> pd.DataFrame:
    """Read a table of reported numbers as text, so that no decimal is lost.

    Parameters
    ----------
    path : str or path
        UTF-8; the first line names the columns. If the table has several datasets side by side, the first line may
        instead name each dataset above the first column of its numbers, and the second line the metrics. ``.csv``:
        separated by commas, or by semicolons if the first line has no comma. ``.tsv``, ``.txt``: separated by tabs.
        ``.md``: the first Markdown table (lines with ``|``); other text is ignored. Other endings: the separator is the
        first of ``|``, tab, comma and semicolon that the first line contains.

    Returns
    -------
    DataFrame of str
        ``attrs["path"]`` is the file, and ``attrs["lines"]`` has the line number of each row; the messages of
        `check_table` contain both.

    Raises
    ------
    DataError
        If there is no file, if the file has no row, if two columns have the same name, if a line has more or fewer
        cells than the header, or if it is unclear to which dataset a column belongs. The message names the file and,
        where possible, the line.
    """
    file = Path(path)
    text = read_text(file)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    separator = SEPARATORS.get(file.suffix.lower()) or next((mark for mark in "|\t,;" if mark in first), ",")
    if separator == "," and "," not in first and ";" in first:  # spreadsheets in many countries write semicolons
        separator = ";"
    table = list(_pipe_lines(lines) if separator == "|" else _separated_lines(text, separator))
    if len(table) < 2:
        lines_read = "1 line" if table else "no line"
        raise DataError(f"{file}: expected a line of column names and at least one row; found {lines_read}")
    (line, header), *body = table
    for number, cells in body:
        if len(cells) != len(header):
            raise DataError(
                f"{file}, line {number}: expected {len(header)} cells as in the first line, found {len(cells)}"
            )
    columns: list[Any] = header
    if not any(map(_names_metric, header)) and sum(map(_is_metric, body[0][1])) > 1:
        columns = _two_lines(header, body[0][1], f"{file}, line {line}")
        body = body[1:]
        if not body:
            raise DataError(f"{file}: expected at least one row below the two lines of names; found none")
    elif _columns_of(header) == [("", name) if name else None for name in map(metric_name, header)]:
        repeated = sorted({name for name in header if header.count(name) > 1})
        if repeated:
            hint = f". {SIDE_BY_SIDE}" if _is_metric(repeated[0]) else ""
            raise DataError(f"{file}, line {line}: column {repeated[0]!r} occurs twice{hint}")
    frame = pd.DataFrame([cells for _, cells in body], dtype=object)
    frame.columns = pd.MultiIndex.from_tuples(columns) if columns is not header else pd.Index(header)
    frame.attrs["path"] = str(file)
    frame.attrs["lines"] = [number for number, _ in body]
    return frame


def _is_metric(heading: str) -> bool:
    return metric_name(heading) is not None


def _names_metric(heading: str) -> bool:
    """Return whether a heading is the name of a metric, with or without a dataset."""
    return _is_metric(heading) or _dataset_and_metric(heading) is not None


def _two_lines(first: Sequence[str], second: Sequence[str], where: str) -> list[tuple[str, str]]:
    """Return a pair (dataset, metric) for each column; for a column of labels, the dataset is empty.

    `first` names the datasets, each above the first column of its numbers or above all of them; `second` names the
    metrics.
    """
    pairs, dataset = [], ""
    for above, below in zip(first, second):
        if not _is_metric(below):
            dataset = ""
            pairs.append(("", " ".join(filter(None, (above, below)))))
            continue
        dataset = re.sub(r"^[*_`$]+|[*_`$]+$", "", above) or dataset
        if not dataset or ("", dataset) in pairs:
            raise DataError(f"{where}: no dataset stands above the column {below!r}. {SIDE_BY_SIDE}")
        pairs.append((dataset, below))
    for i, pair in enumerate(pairs):
        if pair[0] and pair in pairs[:i]:
            raise DataError(f"{where}: {pair[0]} has two columns {pair[1]!r}. {SIDE_BY_SIDE}")
    return pairs


def _separated_lines(text: str, separator: str) -> Iterable[tuple[int, list[str]]]:
    """Yield a tuple (line number, cells) for each line that is not empty."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield reader.line_num, [cell.strip() for cell in cells]


def _pipe_lines(lines: Sequence[str]) -> Iterable[tuple[int, list[str]]]:
    """Yield a tuple (line number, cells) for each row of the first Markdown table; the first row is the header.

    The table is the first block of consecutive lines that contain ``|``. The line of dashes below the header, of one or
    two lines, is left out.
    """
    start = next((i for i, line in enumerate(lines) if "|" in line), len(lines))
    end = next((i for i in range(start, len(lines)) if "|" not in lines[i]), len(lines))
    for i in range(start, end):
        inner = lines[i].strip().removeprefix("|")
        inner = inner[:-1] if re.search(r"(?<!\\)\|$", inner) else inner
        cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)]
        is_rule = i in (start + 1, start + 2) and all(re.fullmatch(r":?-+:?", cell) for cell in cells)
        if not is_rule:
            yield i + 1, cells
