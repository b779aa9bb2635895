"""AnyBURL and PyClause: three lines for each triple, ``s p o``, ``Heads: e TAB confidence ...`` and ``Tails: ...``.

Traps. Confidences often tie, but the tool broke these ties when it wrote the list (by the next rules of each answer).
The ranking is therefore the order of the list, and the confidences are not used. A list may be empty; then the tool
knows no answer at all. An option of the tool (``filter_w_data`` in PyClause) decides whether known answers are removed,
and the known answers of which splits; the file does not record this option.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, predictions
from kgeval.formats.prediction_files.records import text_head, text_lines
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

_LIST = re.compile(r"\s*(Heads|Tails):[ \t]*")
SIDE_OF = {"Heads": "subject", "Tails": "object"}
EXPECTED = "expected a triple, then 'Heads: entity TAB confidence TAB ...' and 'Tails: ...' on lines of their own"


def sniff(path: Path) -> bool:
    """Return whether the second or third line starts with ``Heads:`` or ``Tails:``."""
    lines = text_head(path).splitlines()
    return not _LIST.match(lines[0] if lines else "") and any(_LIST.match(line) for line in islice(lines, 1, 3))


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read a ranking file of AnyBURL or PyClause."""
    options.check_used("anyburl")
    rows = Rows(path)
    triple: tuple[str, str, str] | None = None
    answered: set[str] = set()
    last = 0
    for number, line in text_lines(path):
        mark = _LIST.match(line)
        if mark is None:
            if triple is not None and not answered:
                raise DataError(f"{path}, line {number}: the triple on line {last} has no list; {EXPECTED}")
            triple, answered, last = _triple(path, number, line, dataset), set(), number
            continue
        side = SIDE_OF[mark[1]]
        if triple is None or side in answered:
            raise DataError(f"{path}, line {number}: a {mark[1]}: line without a triple, or a second one; {EXPECTED}")
        answered.add(side)
        words = line[mark.end() :].rstrip("\t ").split("\t") if line[mark.end() :].strip() else []
        rows.add(number, triple, side, words[0::2])
        _check_confidences(path, number, words)
    if triple is not None and not answered:
        raise DataError(f"{path}, line {last}: the file ends after this triple; is it cut off? {EXPECTED}")
    notes = ["read as AnyBURL or PyClause: the order of each list is its ranking, since the tool broke the ties"]
    return predictions(rows, dataset, options, notes=notes)


def _triple(path: Path, number: int, line: str, dataset: Dataset) -> tuple[str, str, str]:
    """Return the labels of a triple: three columns with tabs or single spaces between them."""
    words = line.strip("\r\n").rstrip("\t ").split("\t")
    if len(words) == 1:
        words = line.strip().split(" ")
    if len(words) > 3 and "\t" not in line:  # labels contain spaces: look for the only division into known labels
        ways = [
            (" ".join(words[:i]), " ".join(words[i:j]), " ".join(words[j:]))
            for i in range(1, len(words) - 1)
            for j in range(i + 1, len(words))
        ]
        known = [
            way
            for way in ways
            if way[1] in dataset.relations and way[0] in dataset.entities and way[2] in dataset.entities
        ]
        if len(known) == 1:
            return known[0]
    if len(words) != 3 or not all(words):
        raise DataError(f"{path}, line {number}: {EXPECTED}; found {cut_label(line)!r}")
    return words[0], words[1], words[2]


def _check_confidences(path: Path, number: int, words: list[str]) -> None:
    """Raise a DataError if a confidence is missing after an answer, or is greater than the previous confidence."""
    try:
        confidences = np.array(words[1::2], dtype=np.float64)
    except ValueError:
        confidences = np.array([np.nan])
    if len(words) % 2 or np.isnan(confidences).any():
        raise DataError(f"{path}, line {number}: expected entity TAB confidence TAB entity TAB confidence ...")
    if (np.diff(confidences) > 0).any():
        i = int(np.flatnonzero(np.diff(confidences) > 0)[0])
        raise DataError(
            f"{path}, line {number}: the best answer must come first, but the confidence {confidences[i + 1]:g} of "
            f"{cut_label(words[2 * i + 2])!r} follows {confidences[i]:g}"
        )


FORMAT = Format("anyburl", sniff, read, "AnyBURL or PyClause (a triple, then its Heads: and Tails:)")
