"""TREC runs: lines of ``query Q0 entity rank score tag``, with blanks between the columns.

The name of a query is ``s|p|?`` or ``?|p|o``: labels with ``|`` between them, and ``?`` for the missing entity. A blank
in a label of the run is written ``%20`` (and ``%`` itself ``%25``), as in addresses.

Traps. The score decides, as in trec_eval; the column of ranks is ignored. Answers with equal scores tie here, whereas
trec_eval orders them by their names. A label may contain ``|``. The name of the query is then divided so that all
parts are labels; if there are several ways to do this, an error is raised.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from kgeval.base.checks import cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import Predictions
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, predictions
from kgeval.formats.prediction_files.records import text_head, text_lines
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format
from kgeval.formats.scores import NUMBER

BAR, ASKED = "|", "?"


def sniff(path: Path) -> bool:
    """Return whether the first line has six columns, the second of which is Q0."""
    lines = [line.split() for line in text_head(path).splitlines()[:20] if line.strip() and not line.startswith("#")]
    return bool(lines) and len(lines[0]) >= 6 and lines[0][1].upper() == "Q0"


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read a TREC run whose documents are entities."""
    options.check_used("trec")
    lists: dict[str, tuple[int, list[str], list[float]]] = {}  # for each query its first line, entities and scores
    seen: dict[tuple[str, str], int] = {}
    labels: dict[str, str] = {}
    tag = ""
    for line, text in text_lines(path):
        words = text.split()
        if words[0].startswith("#"):
            continue
        if len(words) < 6:
            raise DataError(
                f"{path}, line {line}: expected 6 columns (query, Q0, entity, rank, score, tag), found {len(words)}"
            )
        query, _, item, _, score, tag = words[:6]
        if not re.fullmatch(NUMBER, score):
            raise DataError(f"{path}, line {line}: expected a number as score, found {cut_label(score)!r}")
        if seen.setdefault((query, item), line) != line:
            raise DataError(
                f"{path}, line {line}: {item!r} of query {query!r} is already on line {seen[query, item]}; keep one"
            )
        if item not in labels:
            labels[item] = _unquoted(item, dataset.entities)
        _, items, scores = lists.setdefault(query, (line, [], []))
        items.append(labels[item])
        scores.append(float(score))
    rows = Rows(path)
    for query, (line, items, scores) in lists.items():
        rows.add(line, *_query(path, query, line, dataset), items, scores)
    notes = [f"read as a TREC run (tag {cut_label(tag)}): scores decide, answers with equal scores tie"]
    return predictions(rows, dataset, options, notes=notes)


def _query(path: Path, query: str, line: int, dataset: Dataset) -> tuple[tuple[str | None, str, str | None], str]:
    """Return the triple of a query, with None for the missing entity, and the side of the query."""
    sides = []
    if query.startswith(ASKED + BAR):
        sides.append("subject")
    if query.endswith(BAR + ASKED):
        sides.append("object")
    words = query[2 if sides == ["subject"] else 0 : -2 if sides == ["object"] else None].split(BAR)
    if len(sides) != 1 or len(words) < 2:
        raise DataError(
            f"{path}, line {line}: the query {cut_label(query)!r} does not name its triple; expected s|p|? or ?|p|o, "
            "with labels (blanks as %20)"
        )
    ways = [
        tuple(
            _unquoted(BAR.join(part), vocabulary)
            for part, vocabulary in zip((words[:i], words[i:]), _vocabularies(dataset, sides[0]))
        )
        for i in range(1, len(words))
    ]
    known = [way for way in ways if all(w in v for w, v in zip(way, _vocabularies(dataset, sides[0])))]
    if len(known) != 1 and len(ways) > 1:
        raise DataError(
            f"{path}, line {line}: the query {cut_label(query)!r} can be divided into labels of the dataset in "
            f"{len(known)} ways; expected one"
        )
    first, second = (known or ways)[0]
    return ((None, first, second), "subject") if sides == ["subject"] else ((first, second, None), "object")


def _vocabularies(dataset: Dataset, side: str) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of the two given parts of a query, in their order in the name of the query."""
    given = (dataset.entities, dataset.relations)
    return given[::-1] if side == "subject" else given


def _unquoted(text: str, vocabulary: Vocabulary) -> str:
    """Return a text as written if it is a label, else with ``%20`` and other escapes replaced."""
    return text if "%" not in text or text in vocabulary else unquote(text)


FORMAT = Format("trec", sniff, read, "a TREC run (query Q0 entity rank score tag)")
