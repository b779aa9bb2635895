"""Read text line by line and JSON record by record, so that large files of predictions need little memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgeval.base.checks import cut_label
from kgeval.base.files import check_source, encoding_error, read_bytes
from kgeval.base.limits import check_json
from kgeval.errors import DataError
from kgeval.formats.unpacking import PACKED, open_packed

HEAD = 1 << 16  # a format is recognised by this many bytes at the start of a file
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class FirstRecord:
    """The start of a JSON file.

    Parameters
    ----------
    kind : str
        The JSON value with which the file starts: ``"list"`` or ``"object"`` (a file of JSON lines starts with an
        object). Empty if the file is not JSON.
    values : dict of str to object
        The first object of the file; it may be incomplete, because only the first bytes of the file are read.
    """

    kind: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def has(self, *keys: str) -> bool:
        """Return whether the object has all these keys."""
        return set(keys) <= set(self.values)


def text_head(path: Path) -> str:
    """Return the first characters of a file, unpacked if necessary; an empty string if the file is no text file.

    Raises no error.
    """
    try:
        if not path.is_file():
            return ""
        with PACKED.get(path.suffix.lower(), open)(path, "rb") as stream:
            raw: bytes = stream.read(HEAD)
    except Exception:  # packed files raise many types of errors if they are damaged
        return ""
    return "" if b"\0" in raw else raw.decode("utf-8", "ignore").removeprefix("\ufeff")


def first_record(path: Path) -> FirstRecord:
    """Return the start of a JSON file. If the file is not JSON, `kind` is empty. Raises no error."""
    text = text_head(path).lstrip()
    kind = {"[": "list", "{": "object"}.get(text[:1], "")
    if kind == "list":
        text = text[1:].lstrip()
    values: dict[str, Any] = {}
    place, mark = 1, text[:1]
    try:
        while kind and mark in ("{", ","):
            place = _skip(text, place)
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, place)
            if not isinstance(key, str) or text[place : place + 1] != ":":
                break
            values[key] = None
            values[key], place = _DECODER.raw_decode(text, _skip(text, place + 1))
            place = _skip(text, place)
            mark, place = text[place : place + 1], place + 1
    except (ValueError, RecursionError):
        pass  # the first bytes end inside a value
    return FirstRecord(kind, values)


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not blank; the text has no line end.

    Parameters
    ----------
    path : Path
        UTF-8, perhaps packed (``.gz``, ``.bz2``, ``.xz``). LF, CRLF and CR end a line.

    Raises
    ------
    DataError
        If the file cannot be read, is not UTF-8, or holds a NUL character or only blank lines.
    """
    check_source(path)
    is_packed = path.suffix.lower() in PACKED
    is_empty = True
    try:
        stream = io.BytesIO(open_packed(path)) if is_packed else open(path, "rb")  # noqa: SIM115
        with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
            for number, line in enumerate(text, start=1):
                if "\0" in line:
                    raise DataError(f"{path}, line {number}: a NUL character; is this a text file?")
                if not line.isspace():
                    is_empty = False
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise encoding_error(path, open_packed(path) if is_packed else None) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    if is_empty:
        raise DataError(f"{path}: the file is empty")


def json_records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield line number and value of each element of a JSON list, or of each line of a file of JSON lines.

    Parameters
    ----------
    path : Path

    Raises
    ------
    DataError
        If the file is not JSON or is cut off; the message names line and character.
    """
    if text_head(path).lstrip()[:1] == "[":
        reader = _Reader(path)
        reader.expect("[")
        while not reader.ends("]"):
            yield reader.line, reader.value()
            reader.separator("]")
        reader.check_end()
        return
    for number, line in text_lines(path):
        check_json(line, f"{path}, line {number}: not JSON that is read")
        try:
            record = _DECODER.decode(line)
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: not JSON ({error}); expected one JSON object on each line"
            ) from None
        yield number, record


def json_pairs(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield line number, key and value of each entry of one JSON object.

    Parameters
    ----------
    path : Path

    Raises
    ------
    DataError
        If the file is not one JSON object, is cut off, or has a key twice; the message names line and character.
    """
    reader = _Reader(path)
    reader.expect("{")
    seen: dict[str, int] = {}
    while not reader.ends("}"):
        line, key = reader.line, reader.value()
        reader.expect(":")
        if not isinstance(key, str) or key in seen:
            problem = f"the key {cut_label(str(key))!r} is already on line {seen.get(key)}; keep one"
            raise DataError(f"{path}, line {line}: {problem if isinstance(key, str) else 'expected a key, a string'}")
        seen[key] = line
        yield line, key, reader.value()
        reader.separator("}")
    reader.check_end()


def _skip(text: str, place: int) -> int:
    """Return the position of the next character that is no white space."""
    return _SPACE.match(text, place).end()  # type: ignore[union-attr]  # the pattern matches the empty string


class _Reader:
    """A reader of JSON text: the current position in the text, and the number of the current line."""

    def __init__(self, path: Path) -> None:
        raw = open_packed(path) if path.suffix.lower() in PACKED else read_bytes(path)
        try:
            self.text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise encoding_error(path, raw) from None
        check_json(self.text, f"{path}: not JSON that is read")
        self.path = path
        self.place = 0
        self.counted = 0  # line ends before this position are in `self.line`
        self.line = 1
        self._move(0)
        if not self.text[self.place :][:1]:
            raise DataError(f"{path}: the file is empty")

    def _move(self, place: int) -> None:
        """Go to the next character at or after `place` that is no white space."""
        self.place = _skip(self.text, place)
        self.line += self.text.count("\n", self.counted, self.place)
        self.counted = self.place

    def _error(self, problem: str) -> DataError:
        is_cut = self.place >= len(self.text)
        problem = "the file ends inside a value; is it cut off?" if is_cut else problem
        return DataError(f"{self.path}, line {self.line}: not JSON at character {self.place} ({problem})")

    def ends(self, mark: str) -> bool:
        """Return whether the text continues with `mark`."""
        return self.text.startswith(mark, self.place)

    def expect(self, mark: str) -> None:
        """Move past `mark`; raise a DataError if the text does not continue with `mark`."""
        if not self.ends(mark):
            raise self._error(f"expected {mark!r}, found {self.text[self.place : self.place + 20]!r}")
        self._move(self.place + 1)

    def separator(self, end: str) -> None:
        """Move past a comma, unless the text continues with `end` (the closing bracket)."""
        if not self.ends(end):
            self.expect(",")
            if self.ends(end):
                raise self._error(f"found {end!r} after a comma")

    def value(self) -> Any:
        """Return the next JSON value, and move past it."""
        try:
            value, place = _DECODER.raw_decode(self.text, self.place)
        except json.JSONDecodeError as error:
            self._move(min(max(error.pos, self.place), len(self.text)))
            raise self._error(error.msg) from None
        except ValueError as error:  # a number of more than 4,300 digits
            raise self._error(str(error)) from None
        self._move(place)
        return value

    def check_end(self) -> None:
        """Raise a DataError if anything follows the closing bracket."""
        self._move(self.place + 1)
        if self.place < len(self.text):
            raise self._error(f"expected the end of the file, found {self.text[self.place : self.place + 20]!r}")
