"""`Rows`: the ranked lists of a file, still as texts; the reader of each format fills one `Rows` object."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import Bools, Ids, Reals, cut_label
from kgeval.data.lists import Ragged
from kgeval.errors import DataError

UNSAID = -1  # in place of a code: the file does not name this part of the triple


class _Codes(dict[str, int]):
    """A dict from texts to numbers; a new text gets the next number, from 0."""

    def __missing__(self, text: str) -> int:
        self[text] = code = len(self)
        return code


class Rows:
    """The lists of answers in one or more files, as texts; each list is for one query.

    Parameters
    ----------
    path : Path
        The first file, for messages; the method `start_file` names each further file.

    Attributes
    ----------
    entities, relations : dict of str to int
        A code for each text. Codes are numbered from 0 in the order of first use.
    """

    def __init__(self, path: Path) -> None:
        self.paths = [path]
        self.entities, self.relations = _Codes(), _Codes()
        self._parts = array("q")  # codes of subject, relation and object of each row
        self._is_subject = bytearray()
        self._lines, self._files = array("q"), array("q")
        self._answers, self._ends, self._scores = array("q"), array("q", [0]), array("d")

    def __len__(self) -> int:
        return len(self._is_subject)

    def start_file(self, path: Path) -> None:
        """Record that the next rows come from the file `path`; messages then name this file."""
        self.paths.append(path)

    def add(
        self,
        line: int,
        triple: tuple[str | None, str, str | None],
        side: str,
        answers: Iterable[str] = (),
        scores: Iterable[float] | None = None,
    ) -> None:
        """Add one list.

        Parameters
        ----------
        line : int
            The line of the file that holds the list, from 1.
        triple : tuple of str
            Subject, relation and object, as texts of the file; None in place of an entity that the file does not name.
        side : str
        answers : iterable of str
            Best answer first.
        scores : iterable of float, optional
            One score per answer. Either all rows of a file have scores, or none.

        Raises
        ------
        DataError
            If a text is empty, if there is not one score for each answer, or if a score is NaN.
        """
        if "" in triple:
            raise DataError(f"{self.paths[-1]}, line {line}: an empty label in {triple}")
        s, p, o = triple
        self._parts.extend(
            (
                UNSAID if s is None else self.entities[s],
                self.relations[p],
                UNSAID if o is None else self.entities[o],
            )
        )
        self._is_subject.append(side == "subject")
        self._lines.append(line)
        self._files.append(len(self.paths) - 1)
        self._answers.extend(map(self.entities.__getitem__, answers))
        self._ends.append(len(self._answers))
        if scores is None and not len(self._scores):
            return
        first = len(self._scores)
        self._scores.extend(scores or ())
        n_scores, n_answers = len(self._scores), len(self._answers)
        if n_scores != n_answers:
            raise DataError(
                f"{self.paths[-1]}, line {line}: {n_answers - first:,} answers, but {n_scores - first:,} scores; "
                "expected one score for each answer, in every list or in none"
            )
        if any(map(math.isnan, self._scores[first:])):
            raise DataError(f"{self.paths[-1]}, line {line}: a score is NaN")

    def where(self, row: int) -> str:
        """Return file and line of a row."""
        return f"{self.paths[self._files[row]]}, line {self._lines[row]}"

    @property
    def lines(self) -> Ids:
        """The line number of each row, int64, shape (rows,)."""
        return np.array(self._lines, dtype=np.int64)

    @property
    def parts(self) -> Ids:
        """The codes of subject, relation and object, int64, shape (rows, 3).

        The code of an entity that the file does not name is `UNSAID`.
        """
        return np.array(self._parts, dtype=np.int64).reshape(-1, 3)

    @property
    def is_subject(self) -> Bools:
        """Whether the subject is the missing entity of the query, bool, shape (rows,)."""
        return np.frombuffer(bytes(self._is_subject), dtype=np.bool_)

    @property
    def answers(self) -> Ragged:
        """The codes of the answers of each row."""
        return Ragged(np.array(self._ends, dtype=np.int64), np.array(self._answers, dtype=np.int64))

    @property
    def scores(self) -> Reals | None:
        """The scores of all answers, float64, shape (answers,); None if the file has no scores."""
        return np.array(self._scores, dtype=np.float64) if len(self._scores) else None

    def label(self, value: Any, line: int, what: str) -> str:
        """Return a JSON value as a label: a string, or an integer as text; raise a DataError for other values."""
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        shown = "null" if value is None else cut_label(repr(value))
        raise DataError(f"{self.paths[-1]}, line {line}: expected the label of {what} as a string; got {shown}")

    def labels(self, values: Any, line: int) -> list[str]:
        """Return the labels of a JSON list of answers."""
        if not isinstance(values, list):
            raise DataError(f"{self.paths[-1]}, line {line}: expected a list of answers; got {cut_label(repr(values))}")
        if all(type(value) is str and value for value in values):
            return values
        return [self.label(value, line, "an answer") for value in values]

    def number(self, value: Any, line: int) -> float:
        """Return a JSON value as a score; raise a DataError if the value is NaN or not a number."""
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
            return float(value)
        shown = {None: "null"}.get(value, cut_label(repr(value))) if not isinstance(value, (list, dict)) else "a list"
        raise DataError(f"{self.paths[-1]}, line {line}: expected a number as score; got {shown}")

    def numbers(self, values: Any, line: int) -> list[float]:
        """Return the scores of a JSON list."""
        if not isinstance(values, list):
            raise DataError(f"{self.paths[-1]}, line {line}: expected a list of scores; got {cut_label(repr(values))}")
        return [self.number(value, line) for value in values]
