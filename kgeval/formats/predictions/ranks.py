"""Tables of ranks that another tool wrote: TSV or CSV with a header, ``s p o rank`` or ``s p o rank_head rank_tail``.

The columns of the triple have names of `kgeval.data.column_names.COLUMN_NAMES`. The name of a column of ranks consists
of the word ``rank``, a word for the side (head, tail, subject, object, s, o, h, t) and a word for the setting (raw,
filtered); side and setting are optional. If one column has the ranks of both sides, a column ``side`` gives the side of
each row; without this column, the user gives the side of all rows. A column ``n_candidates`` (or ``candidates``,
``num_candidates``; also ``rivals``, which does not count the positive) gives the number of candidates.

Traps. A rank counts from 1; a table with rank 0 is an error. If the names contain neither raw nor filtered, the user
must say whether the ranks are filtered.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.data.column_names import named_columns
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import GivenRanks
from kgeval.data.sides import SIDE_NAMES
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, given_ranks
from kgeval.formats.prediction_files.records import text_head, text_lines
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format
from kgeval.formats.scores import NUMBER

RANK = {"rank", "ranks", "ranking"}
SIDE_WORDS = {**SIDE_NAMES, "left": "subject", "right": "object", "lhs": "subject", "rhs": "object"}
SETTINGS = {"raw": "no", "unfiltered": "no", "filtered": "after", "filter": "after", "filt": "after"}
CANDIDATES = {"candidates", "candidate", "cands", "rivals"}
SIDE_COLUMNS = ("side", "predict", "direction")
FILLING = {"n", "num", "number", "of", "the", "entity", "true", "gold", "positive", "is", "pred", "prediction", "count"}


def sniff(path: Path) -> bool:
    """Return whether the first line names the columns of a triple and of ranks, with tabs or commas between them."""
    first = next(iter(text_head(path).splitlines()), "")
    names = _split(first)
    try:
        return named_columns("", names) is not None and any(_setting(name, RANK) is not None for name in names)
    except DataError:
        return False


def read(path: Path, dataset: Dataset | None, options: PredictionOptions) -> GivenRanks:
    """Read a table of ranks."""
    lines = _table(path)
    _, names = next(lines)
    triple = named_columns(f"{path}, line 1", names)
    columns = {name: found for name in names if (found := _setting(name, RANK)) is not None}
    if triple is None or not columns:
        raise DataError(f"{path}, line 1: expected a header such as s, p, o, rank; got {', '.join(names)}")
    columns, filtered, notes = _one_setting(path, columns)
    side_column = next((i for i, name in enumerate(names) if name.strip().lower() in SIDE_COLUMNS), None)
    of_side = {side: names.index(name) for name, (side, _) in columns.items()}
    if len(of_side) < len(columns) or ("" in of_side and len(of_side) > 1):
        raise DataError(
            f"{path}, line 1: several columns of ranks ({', '.join(columns)}); keep one, or one for each side with "
            "head and tail in the names"
        )
    has_side = "" not in of_side
    options.check_used(
        "ranks", ("entity_names", "relation_names", *(() if has_side or side_column is not None else ("side",)))
    )
    side_of_file = "" if has_side or side_column is not None else options.side_of_file(str(path))
    counts = _candidate_columns(path, names, filtered)
    rows = Rows(path)
    ranks: list[float] = []
    candidates: list[int] = []
    for line, words in lines:
        where = f"{path}, line {line}"
        if len(words) != len(names):
            raise DataError(f"{where}: expected {len(names)} columns, as in the header; found {len(words)}")
        s, p, o = (words[i] for i in triple)
        for side, i in of_side.items():
            side = side or side_of_file or _side(where, words[side_column or 0])
            rows.add(line, (s, p, o), side)
            ranks.append(_number(where, names[i], words[i]))
            if counts:
                j, extra = counts.get(side, counts.get("", (-1, 0)))
                candidates.append(_integer(where, names[j], words[j]) + extra if j >= 0 else -1)
    if counts and min(candidates, default=0) < 0:
        raise DataError(
            f"{path}, line 1: the columns of candidates are for one side only; add a column for the other side, or "
            "remove them"
        )
    notes = ["read as a table of ranks", *notes]
    n_candidates = np.array(candidates, dtype=np.int64) if counts else None
    return given_ranks(rows, dataset, options, np.array(ranks), n_candidates, filtered=filtered, notes=notes)


def _split(line: str) -> list[str]:
    """Return the names in a header line."""
    separator = "\t" if "\t" in line else ","
    return [name.strip() for name in next(iter(csv.reader([line], delimiter=separator)), [])]


def _table(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and columns of each line; the names of a header are stripped."""
    lines = text_lines(path)
    top, header = next(lines)
    yield top, _split(header)
    for number, line in lines:
        if "\t" in header:
            yield number, line.split("\t")
        else:
            try:
                yield number, next(csv.reader([line], strict=True))
            except csv.Error as error:
                raise DataError(f"{path}, line {number}: wrong double quotes ({error})") from None


def _setting(name: str, wanted: set[str]) -> tuple[str, str] | None:
    """Return the side and the setting in the name of a column; both may be empty texts.

    Return None if the name contains none of the words in `wanted`, an unknown word, or two sides or settings.
    """
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
    if not wanted & set(words):
        return None
    others = [word for word in words if word not in wanted]
    sides = {SIDE_WORDS[word] for word in others if word in SIDE_WORDS}
    settings = {SETTINGS[word] for word in others if word in SETTINGS}
    is_known = all(word in SIDE_WORDS or word in SETTINGS or word in FILLING for word in others)
    if len(sides) > 1 or len(settings) > 1 or not is_known:
        return None
    return next(iter(sides), ""), next(iter(settings), "")


def _one_setting(
    path: Path, columns: dict[str, tuple[str, str]]
) -> tuple[dict[str, tuple[str, str]], str | None, list[str]]:
    """Return the columns of one setting (filtered, if there are both), the value of `filtered`, and notes."""
    settings = {setting for _, setting in columns.values()}
    if "" in settings and len(settings) > 1:
        raise DataError(
            f"{path}, line 1: some columns of ranks say raw or filtered, others do not ({', '.join(columns)}); rename "
            "them"
        )
    if len(settings) == 1:
        return columns, settings.pop() or None, []
    kept = {name: found for name, found in columns.items() if found[1] == "after"}
    left = ", ".join(name for name in columns if name not in kept)
    return kept, "after", [f"the filtered ranks were read; the columns of raw ranks were not: {left}"]


def _candidate_columns(path: Path, names: Sequence[str], filtered: str | None) -> dict[str, tuple[int, int]]:
    """Return, for each side (or "" for both), the column of candidates, and 1 if this column counts rivals, else 0."""
    counts: dict[str, tuple[int, int]] = {}
    for i, name in enumerate(names):
        found = _setting(name, CANDIDATES)
        if found is None or (found[1] and found[1] != filtered):
            continue
        if found[0] in counts:
            raise DataError(f"{path}, line 1: several columns of candidates, {name!r} is the second; keep one")
        counts[found[0]] = (i, int("rivals" in name.lower()))
    return counts


def _side(where: str, word: str) -> str:
    side = SIDE_WORDS.get(word.strip().lower())
    if side is None:
        raise DataError(f"{where}: expected head, tail, subject or object as side; got {cut_label(repr(word))}")
    return side


def _number(where: str, name: str, word: str) -> float:
    if not re.fullmatch(NUMBER, word.strip()):
        raise DataError(f"{where}: expected a number in the column {name}; got {cut_label(repr(word))}")
    return float(word)


def _integer(where: str, name: str, word: str) -> int:
    number = _number(where, name, word)
    if number != int(number) if np.isfinite(number) else True:
        raise DataError(f"{where}: expected an integer in the column {name}; got {cut_label(repr(word))}")
    return int(number)


FORMAT = Format("ranks", sniff, read, "a table of ranks (s, p, o, rank)", may_hold_ranks=True)
