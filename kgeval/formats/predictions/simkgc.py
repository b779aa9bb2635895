"""SimKGC: a JSON list of objects ``head, relation, tail, pred_tail, pred_score, topk_score_info, rank, correct``.

Traps. The file contains the names of entities, not their labels. In a subject query, the relation is ``inverse ...``,
and ``head`` is the object of the triple. ``topk_score_info`` is a JSON text of the three best names. Entities with the
same name share one entry. A list with such an entry is shorter, and only its first place is certain, so only the first
answer of the list is used. The scores are rounded to 3 decimals, so the order of the list is the ranking. ``correct``
compares entities, not names. ``rank`` is missing in some files; if every row has a ``rank``, these ranks are used.
A name may be null (entities without a text): the row then needs a ``rank``.
SimKGC gives known answers of all splits the score -1 before it ranks: the lists are filtered.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import counted, cut_label
from kgeval.base.files import parse_json
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import GivenRanks, Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, given_ranks, predictions
from kgeval.formats.prediction_files.records import first_record, json_records
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

INVERSE = "inverse "
FILTER = (
    "SimKGC masks known answers of train, valid and test before it ranks: the ranks are filtered with the splits that "
    "the tool read"
)
_FILE = re.compile(r"(forward|backward)_predictions?\.json|eval_.*_(forward|backward)_.*\.json")
_List = tuple[int, tuple["str | None", str, "str | None"], str, list[str]]  # line, triple, side, answers
NOT_THE_POSITIVE = "\0"  # appended to an answer that has the name of the positive, but is another entity


def sniff(path: Path) -> bool:
    """Return whether a file has the keys of SimKGC, or whether a folder holds such files under SimKGC's names."""
    if path.is_dir():
        return bool(_files(path))
    return first_record(path).kind == "list" and first_record(path).has("head", "relation", "tail", "topk_score_info")


def read(path: Path, dataset: Dataset | None, options: PredictionOptions) -> Predictions | GivenRanks:
    """Read the predictions of SimKGC for one side, or a folder with one file for each side."""
    options.check_used("simkgc")
    files = _files(path) if path.is_dir() else [path]
    if path.is_dir() and (not files or len({_direction(file) for file in files}) < len(files)):
        raise DataError(
            f"{path}: expected forward_predictions.json, backward_predictions.json or both; found "
            f"{', '.join(file.name for file in files) or 'neither'}; give the path of one file"
        )
    rows = Rows(files[0])
    ranks: list[Any] = []
    n_cut = 0
    longest = 0
    lists: list[_List] = []
    for i, file in enumerate(files):
        if i:
            rows.start_file(file)
        start = len(lists)
        for line, record in json_records(file):
            lists.append(_list_of(rows, line, record))
            ranks.append(record.get("rank"))
        longest = max([longest, *(len(answers) for *_, answers in lists[start:])])
        for line, triple, side, answers in lists[start:]:
            n_cut += len(answers) < longest
            rows.add(line, triple, side, answers if len(answers) == longest else answers[:1])
    notes = ["read as SimKGC", FILTER]
    if ranks and all(rank is not None for rank in ranks):
        return _of_ranks(rows, dataset, options, lists, ranks, longest, notes)
    if any(rank is not None for rank in ranks):
        row = next(row for row, rank in enumerate(ranks) if rank is None)
        raise DataError(f"{rows.where(row)}: has no rank, but other rows have one; expected it in all rows or in none")
    notes.append("the order of each list is its ranking, since scores are rounded to 3 decimals")
    if n_cut:
        notes.append(
            f"{counted(n_cut, 'list holds', 'lists hold')} fewer than {longest} names, since entities with the same "
            "name share an entry; only the first answer of such a list was used"
        )
    return predictions(rows, dataset, options, filtered="after", notes=notes)


def _list_of(rows: Rows, line: int, record: Any) -> _List:
    """Return the line, the triple, the side and the answers of one JSON object."""
    where = f"{rows.paths[-1]}, line {line}"
    needed = ("head", "relation", "tail", "topk_score_info")
    if not isinstance(record, dict) or not set(needed) <= set(record):
        raise DataError(f"{where}: expected an object with {', '.join(needed)}; got {cut_label(repr(record))}")
    has_rank = record.get("rank") is not None
    head, tail = (
        None if record[key] is None and has_rank else rows.label(record[key], line, f"the {key}")
        for key in ("head", "tail")
    )
    relation = rows.label(record["relation"], line, "the relation")
    info = record["topk_score_info"]
    scores = parse_json(info, f"{where}, topk_score_info") if isinstance(info, str) else info
    if not isinstance(scores, dict) or not scores:
        raise DataError(
            f"{where}: expected topk_score_info as a JSON text {{name: score}}; got {cut_label(repr(info))}"
        )
    for score in scores.values():
        rows.number(score, line)
    answers = list(scores)
    best, correct = record.get("pred_tail", answers[0]), record.get("correct")
    if best != answers[0] and not (best is None and answers[0] == "null"):  # a key of JSON is a text, also null
        raise DataError(
            f"{where}: pred_tail {cut_label(repr(best))} is not the first of topk_score_info, {answers[0]!r}"
        )
    if correct is True and best != tail:
        raise DataError(f"{where}: correct is true, but pred_tail {cut_label(repr(best))} is not the tail {tail!r}")
    if correct is False and best == tail:
        answers[0] += NOT_THE_POSITIVE
    if relation.startswith(INVERSE):
        return line, (tail, relation.removeprefix(INVERSE), head), "subject", answers
    return line, (head, relation, tail), "object", answers


def _of_ranks(
    rows: Rows,
    dataset: Dataset | None,
    options: PredictionOptions,
    lists: list[_List],
    ranks: list[Any],
    longest: int,
    notes: list[str],
) -> GivenRanks:
    """Return the ranks of a file in which every row has a rank; first compare the ranks with the lists."""
    plain = Rows(rows.paths[0])
    for path in rows.paths[1:]:
        plain.start_file(path)
    for row, ((line, triple, side, answers), rank) in enumerate(zip(lists, ranks)):
        if not isinstance(rank, int) or isinstance(rank, bool):
            raise DataError(f"{rows.where(row)}: expected an integer as rank; got {cut_label(repr(rank))}")
        positive = triple[0] if side == "subject" else triple[2]
        listed = answers[rank - 1 : rank] if rank >= 1 and len(answers) == longest and positive is not None else []
        if listed not in ([], [positive]):
            raise DataError(
                f"{rows.where(row)}: rank is {rank}, but number {rank} of topk_score_info is {answers[rank - 1]!r} and "
                f"not {positive!r}"
            )
        plain.add(line, triple, side)
    notes.append("every row has a rank: these ranks were used, and the lists of the best names were not")
    return given_ranks(plain, dataset, options, np.array(ranks, dtype=np.float64), filtered="after", notes=notes)


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder that have names of SimKGC, forward first."""
    try:
        found = [child for child in folder.iterdir() if _FILE.fullmatch(child.name)]
    except OSError:
        return []
    return sorted((one for one in found if sniff(one)), key=lambda file: (_direction(file) != "forward", file.name))


def _direction(file: Path) -> str:
    match = _FILE.fullmatch(file.name)
    return "" if match is None else match[1] or match[2]


FORMAT = Format("simkgc", sniff, read, "SimKGC (head, relation, tail, topk_score_info)", may_hold_ranks=True)
