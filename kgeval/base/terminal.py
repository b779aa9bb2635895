"""Text for a terminal: the width of characters, shortened labels, wrapped lines, and tables that fit the screen.

A `Screen` has the width of a terminal, and knows whether the terminal can show bold and dim text. The tables of
`kgeval.report`, the commands of `kgeval.cli` and the text of results (`repr`) use a `Screen`. Output to a
pipe or a file is not fitted to a width.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TextIO

from kgeval.base.checks import counted
from kgeval.base.wording import printable

MIN_WIDTH = 40  # a narrower terminal gets tables of this width
MIN_LABEL = 12  # columns are left out before a label is cut to fewer characters than this
FALLBACK = (80, 24)  # columns and lines of a terminal that does not tell its size
GAP = "  "  # between two columns of a table
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_STYLE = re.compile("\x1b\\[[0-9]*m")


@dataclass(frozen=True)
class Column:
    """One column of a table for people.

    Parameters
    ----------
    heading : str
    cells : sequence of str
        Printable texts, one per row.
    is_label : bool
        Whether the column holds labels. Labels are aligned at the left and may be shortened; numbers are aligned at the
        right and are never shortened.
    place : int, optional
        The order in which columns are left out if the table is too wide: the lowest place first. None: the column is
        never left out.
    brief : sequence of str, optional
        The cells without their intervals. These texts are shown if the table is too wide with intervals.
    """

    heading: str
    cells: Sequence[str]
    is_label: bool = False
    place: int | None = None
    brief: Sequence[str] | None = None

    @property
    def width(self) -> int:
        """The number of columns of the terminal that the widest cell takes."""
        return max(map(width_of, (self.heading, *self.cells)))


@dataclass(frozen=True)
class Screen:
    """The width of a terminal or of other output, and whether bold and dim text can be shown.

    Parameters
    ----------
    width : int, optional
        Number of columns to which tables and lines are fitted; None: nothing is fitted or cut.
    has_styles : bool
        Whether bold and dim text can be shown.
    ellipsis : str
        The text that replaces the part of a label that is left out.
    whole : str
        Advice how to see the whole table; printed below a table from which columns are left out.
    prose_width : int, optional
        Number of columns to which lines of prose are fitted where there is no `width`.

    Examples
    --------
    >>> screen = Screen(width=40)
    >>> print(screen.wrapped("note: 95% intervals show how much a number would vary"))
    note: 95% intervals show how much a
      number would vary
    """

    width: int | None = None
    has_styles: bool = False
    ellipsis: str = "…"
    whole: str = "a wider terminal"
    prose_width: int | None = None

    @classmethod
    def of(cls, stream: TextIO, whole: str = "a wider terminal") -> Screen:
        """Return the `Screen` for a stream such as standard output.

        The width comes from the environment variable ``COLUMNS`` if it is set, else from the terminal; a pipe or a file
        has no width. A terminal shows bold and dim text unless ``NO_COLOR`` is set or ``TERM`` is ``dumb``.

        Parameters
        ----------
        stream : text stream
            For example ``sys.stdout``.
        whole : str
            As in `Screen`.
        """
        is_terminal = stream.isatty()
        columns = os.environ.get("COLUMNS", "")
        width: int | None = None
        if columns.isdecimal() and int(columns):
            width = int(columns)
        elif is_terminal:
            width = shutil.get_terminal_size(FALLBACK).columns
        knows_codes = os.name != "nt" or bool({"WT_SESSION", "TERM"} & set(os.environ))
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        try:
            "…".encode(stream.encoding or "ascii")
            ellipsis = "…"
        except (UnicodeEncodeError, LookupError):
            ellipsis = "..."
        fitted = None if width is None else max(width, MIN_WIDTH)
        return cls(fitted, is_terminal and knows_codes and not is_plain, ellipsis, whole)

    def bold(self, text: str) -> str:
        """Return a text in bold, if the screen can show it."""
        return self._styled(text, _BOLD)

    def dim(self, text: str) -> str:
        """Return a dim text, if the screen can show it."""
        return self._styled(text, _DIM)

    def _styled(self, text: str, code: str) -> str:
        """Return a text with an escape code at the start of each line, and the code that ends the style at its end."""
        if not self.has_styles:
            return text
        return "\n".join(f"{code}{line}{_PLAIN}" if line else line for line in text.split("\n"))

    def wrapped(self, line: str, hang: int = 2) -> str:
        """Return a line broken between words, so that each part fits the width; further parts are indented.

        Parameters
        ----------
        line : str
            Printable text. A word that is wider than the screen, such as a path, is not broken, so that it can be
            copied.
        hang : int
            Number of spaces before further parts, added to the spaces at the start of the line.
        """
        width = self.width or self.prose_width
        if width is None or width_of(line) <= width:
            return line
        indent = " " * (len(line) - len(line.lstrip(" ")) + hang)
        parts, part = [], ""
        for word in re.findall(" *[^ ]+", line):  # with the spaces before it
            if part.strip() and width_of(part) + width_of(word) > width:
                parts.append(part)
                part, word = indent, word.lstrip(" ")
            part += word
        return "\n".join([*parts, part])

    def lines(self, texts: Iterable[str]) -> str:
        """Return lines one below another: printable, and broken between words to fit the width.

        Parameters
        ----------
        texts : iterable of str
        """
        return "\n".join(self.wrapped(printable(text)) for text in texts)

    def table(self, columns: Sequence[Column], faint: Collection[int] = (), starts: Collection[int] = ()) -> str:
        """Return aligned lines: the headings, then one line per row.

        If the table is wider than the screen, intervals and columns are left out by their `Column.place`, and labels
        are shortened in the middle; a last line names the columns and intervals that were left out.

        Parameters
        ----------
        columns : sequence of Column
        faint : collection of int
            The rows to show dim.
        starts : collection of int
            The rows with a blank line above them.
        """
        shown, omitted = (list(columns), "") if self.width is None else self._fitted(columns, self.width)
        widths = [column.width for column in shown]
        lines = []
        for row in zip(*((column.heading, *column.cells) for column in shown)):
            cells = (_padded(cell, width, column.is_label) for cell, width, column in zip(row, widths, shown))
            lines.append(GAP.join(cells).rstrip())
        head, *body = lines
        body = [self.dim(line) if i in faint else line for i, line in enumerate(body)]
        body = [f"\n{line}" if i in starts else line for i, line in enumerate(body)]
        return "\n".join([self.bold(head), *body, *([self.dim(self.wrapped(omitted))] if omitted else [])])

    def _fitted(self, columns: Sequence[Column], width: int) -> tuple[list[Column], str]:
        """Return the columns that fit the width, and a line that lists the omitted parts (empty if there are none)."""
        kept = dict(enumerate(columns))
        labels = [i for i, column in kept.items() if column.is_label]
        widths = {i: column.width for i, column in kept.items()}
        reserved = max(2 * width // 5, MIN_LABEL * len(labels))  # for labels, before columns are left out

        def room() -> int:
            """Return the number of columns of the terminal that remain for the labels, beside numbers and gaps."""
            return width - len(GAP) * (len(kept) - 1) - sum(w for i, w in widths.items() if i not in labels)

        def needed() -> int:
            return sum(_shares([widths[i] for i in labels if i in kept], reserved))

        no_interval: list[int] = []
        left_out: list[str] = []
        for i, brief in steps(columns):
            if needed() <= room():
                break
            if brief is None:
                left_out.append(columns[i].heading)
                del kept[i], widths[i]
                labels = [j for j in labels if j != i]
                no_interval = [j for j in no_interval if j != i]
            else:
                kept[i] = replace(kept[i], cells=brief)
                widths[i] = kept[i].width
                no_interval.append(i)
        if labels:
            for i, share in zip(labels, _shares([widths[i] for i in labels], max(room(), 1))):
                if share < widths[i]:
                    texts = [shortened(text, share, self.ellipsis) for text in (kept[i].heading, *kept[i].cells)]
                    kept[i] = replace(kept[i], heading=texts[0], cells=texts[1:])
        omitted = []
        if left_out:
            omitted.append(f"{counted(len(left_out), 'column')} ({', '.join(left_out)})")
        if no_interval:
            names = ", ".join(columns[i].heading for i in sorted(no_interval))
            omitted.append(f"the {'intervals' if len(no_interval) > 1 else 'interval'} of {names}")
        line = f"not shown at width {width}: {'; '.join(omitted)}; all: {self.whole}" if omitted else ""
        return list(kept.values()), line


PIPE = Screen()  # output that a program may read: as wide as its content, without styles


def width_of(text: str) -> int:
    """Return the number of columns of a terminal that a text takes.

    Wide characters (Chinese, Japanese, Korean, emoji) take two columns, combining characters none.

    Parameters
    ----------
    text : str
        Printable text. It may contain the escape codes of `Screen.bold`, which take no columns.

    Examples
    --------
    >>> width_of("Tokyo"), width_of("東京"), width_of("e\\u0301")
    (5, 4, 1)
    """
    if "\x1b" in text:
        text = _STYLE.sub("", text)
    return len(text) if text.isascii() else sum(map(_character_width, text))


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text that takes at most `width` columns; if it is wider, its middle is replaced by an ellipsis.

    Parameters
    ----------
    text : str
    width : int
    ellipsis : str

    Examples
    --------
    >>> shortened("/film/film/release_date/region", 20)
    '/film/film…te/region'
    >>> shortened("東京都千代田区", 8)
    '東京…区'
    """
    if width_of(text) <= width:
        return text
    room = max(width - len(ellipsis), 0)
    start = text[: _n_fitting(text, (room + 1) // 2)]
    end = text[len(text) - _n_fitting(text[::-1], room - width_of(start)) :]
    while end and not _character_width(end[0]):  # a mark would combine with the ellipsis
        end = end[1:]
    return f"{start}{ellipsis[:width]}{end}"


def distinct_labels(labels: Sequence[str], width: int, ellipsis: str = "…") -> list[str]:
    """Return labels of at most `width` columns, different where the labels are.

    Of a longer path, the last parts are kept, and a part in which it differs from paths with the same end; of another
    label, both ends. Labels that would look alike are cut in another way, and numbered if all ways fail.

    Parameters
    ----------
    labels : sequence of str
    width : int
    ellipsis : str

    Examples
    --------
    >>> distinct_labels(["/film/film/release_date/region", "/film/film/language", "genre"], 21)
    ['…/release_date/region', '/film/film/language', 'genre']
    >>> distinct_labels(["/award/winners/award_honor/winner", "/award/nominees/award_honor/winner"], 22)
    ['…/winners/…/winner', '…/nominees/…/winner']
    >>> distinct_labels(["model of today, 1", "model of today, 2", "model to be"], 8)
    ['mode…, 1', 'mode…, 2', 'mode… be']
    """
    found: dict[str, str] = {}
    waiting = list(dict.fromkeys(labels))
    for cut in (_ends_of_paths, _parts_of_paths, _both_ends, _starts):
        shown = dict(zip(waiting, cut(waiting, width, ellipsis)))
        alike = Counter([*found.values(), *shown.values()])
        found |= {label: text for label, text in shown.items() if alike[text] == 1}
        waiting = [label for label in waiting if label not in found]
    for number, label in enumerate(waiting, 1):
        found[label] = f"{_start_of(label, width - len(f' ({number})'), ellipsis)} ({number})"
    return [found[label] for label in labels]


def _ends_of_paths(labels: Sequence[str], width: int, ellipsis: str) -> list[str]:
    """Return the last parts of each path that fit, or the end of its last part; of other labels, both ends."""

    def end_of(label: str) -> str:
        if width_of(label) <= width or "/" not in label:
            return shortened(label, width, ellipsis)
        ends = (f"{ellipsis}/{'/'.join(label.split('/')[i:])}" for i in range(1, label.count("/") + 1))
        return next((end for end in ends if width_of(end) <= width), _end_of(label, width, ellipsis))

    return [end_of(label) for label in labels]


def _parts_of_paths(labels: Sequence[str], width: int, ellipsis: str) -> list[str]:
    """Return, of each path, the last part in which it differs from the other paths with its last part, and this."""
    shown = []
    for label in labels:
        *parts, last = label.split("/")
        others = [other.split("/")[:-1][::-1] for other in labels if other != label and other.split("/")[-1] == last]
        same = (takewhile(lambda two: two[0] == two[1], zip(parts[::-1], other)) for other in others)
        i = min((len(list(pairs)) for pairs in same), default=0)
        part, between = parts[-1 - i] if i < len(parts) else "", f"/{ellipsis}/" if i else "/"
        room = width - 2 * len(ellipsis) - 3
        last = _end_of(last, max(room // 3, room - width_of(part)), ellipsis)
        shown.append(f"{ellipsis}/{_end_of(part, room - width_of(last), ellipsis)}{between}{last}")
    return shown


def _both_ends(labels: Sequence[str], width: int, ellipsis: str) -> list[str]:
    return [shortened(label, width, ellipsis) for label in labels]


def _starts(labels: Sequence[str], width: int, ellipsis: str) -> list[str]:
    return [_start_of(label, width, ellipsis) for label in labels]


def _end_of(text: str, width: int, ellipsis: str) -> str:
    """Return the end of a text that is too wide."""
    if width_of(text) <= width:
        return text
    return ellipsis[:width] + text[len(text) - _n_fitting(text[::-1], max(width - len(ellipsis), 0)) :]


def _start_of(text: str, width: int, ellipsis: str) -> str:
    """Return the start of a text that is too wide."""
    return text if width_of(text) <= width else text[: _n_fitting(text, max(width - len(ellipsis), 0))] + ellipsis


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # combining marks, and the vowels and final consonants of Hangul
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _n_fitting(text: str, width: int) -> int:
    """Return the number of characters at the start of a text that fit into `width` columns."""
    n, taken = 0, 0
    for character in text:
        taken += _character_width(character)
        if taken > width:
            break
        n += 1
    return n


def _padded(text: str, width: int, to_the_left: bool) -> str:
    gap = " " * (width - width_of(text))
    return text + gap if to_the_left else gap + text


def _shares(widths: Sequence[int], room: int) -> list[int]:
    """Return the widths, cut to the largest common limit for which the sum of the widths is at most `room`.

    Examples
    --------
    >>> _shares([5, 30, 100], 45)
    [5, 20, 20]
    """
    limit = max(room, 1)
    while sum(min(width, limit) for width in widths) > room and limit > 1:
        limit -= 1
    return [min(width, limit) for width in widths]


def steps(columns: Sequence[Column]) -> list[tuple[int, Sequence[str] | None]]:
    """Return the steps that make a table narrower: (column, brief cells), or (column, None) to leave it out.

    First, all columns with a place below 0 are left out. Then all other columns except the column with the
    highest place lose their intervals, and after that these columns are left out, the lowest place first. Last, the
    column with the highest place loses its interval; this column is never left out.

    Parameters
    ----------
    columns : sequence of Column
    """
    placed = sorted((column.place, i) for i, column in enumerate(columns) if column.place is not None)
    optional = [i for _, i in takewhile(lambda pair: pair[0] < 0, placed)]
    others = [i for place, i in placed if place >= 0]
    briefs = [(i, columns[i].brief) for i in others if columns[i].brief is not None]
    return [
        *((i, None) for i in optional),
        *briefs[:-1],
        *((i, None) for i in others[:-1]),
        *briefs[-1:],
    ]
