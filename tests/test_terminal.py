"""Text for a terminal: widths, shortened labels, wrapped lines, tables that fit."""

import io
import os
import re
import unicodedata

import pytest

from kgeval.base.terminal import MIN_WIDTH, PIPE, Column, Screen, shortened, width_of
from kgeval.base.wording import printable

CODES = re.compile("\x1b\\[[0-9]*m")
HOSTILE = [  # label, and its width on a terminal, counted by hand
    ("", 0),
    ("plain", 5),
    ("東京都", 6),
    ("서울", 4),
    ("e\u0301", 1),  # a combining accent
    ("😀x", 3),
    ("שלום", 4),
    ("ｱ", 1),  # a half-width letter
    ("Ａ", 2),  # a full-width letter
    ("\u1112\u1161\u11ab", 2),  # one syllable of Hangul, in three parts
    ("नमस्ते", 4),  # four letters and two marks
    ("a" * 10_000, 10_000),
    ("東" * 10_000, 20_000),
    ("\u0301" * 10_000, 0),
]


class Stream(io.StringIO):
    """A text stream that is a terminal, or is not."""

    def __init__(self, is_terminal, encoding="utf-8"):
        super().__init__()
        self._is_terminal, self._encoding = is_terminal, encoding

    encoding = property(lambda self: self._encoding)

    def isatty(self):
        return self._is_terminal


def slow_width(text):
    """The width of a text, one character at a time, from the tables of Unicode."""
    width = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
            continue
        if 0x1160 <= ord(character) <= 0x11FF:
            continue
        width += 1 + (unicodedata.east_asian_width(character) in "WF")
    return width


@pytest.mark.parametrize(("text", "width"), HOSTILE, ids=range(len(HOSTILE)))
def test_width(text, width):
    assert width_of(text) == slow_width(text) == width


@pytest.mark.parametrize("text", [text for text, _ in HOSTILE], ids=range(len(HOSTILE)))
def test_shortened_labels(text):
    """At most the width, never less than it by more than a wide character; start and end of the label are there."""
    for width in (1, 2, 3, 5, 8, 13, 40):
        short = shortened(text, width)
        if slow_width(text) <= width:
            assert short == text
            continue
        assert width - 2 <= slow_width(short) <= width
        start, dots, end = short.partition("…")
        assert dots
        assert text.startswith(start)
        assert text.endswith(end)
        assert not end or not unicodedata.combining(end[0])
    assert shortened("abcdefghij", 7, "...") == "ab...ij"
    assert shortened("abcdefghij", 2, "...") == ".."


def test_the_screen_of_a_stream(monkeypatch):
    """COLUMNS counts for pipes as well; a terminal without COLUMNS tells its width; a pipe has none."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback: os.terminal_size((101, 24)))
    assert Screen.of(Stream(False)) == PIPE == Screen()
    assert Screen.of(Stream(True)) == Screen(101, True)
    assert Screen.of(Stream(True, "ascii")).ellipsis == Screen.of(Stream(True, None)).ellipsis == "..."
    for columns, width in (("90", 90), ("7", MIN_WIDTH), ("0", None), ("x", None), ("-5", None), ("", None)):
        monkeypatch.setenv("COLUMNS", columns)
        assert Screen.of(Stream(False)) == Screen(width, False)
        assert Screen.of(Stream(True)).width == (width or 101)


@pytest.mark.parametrize(
    ("name", "value", "has_styles"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("TERM", "dumb", False), ("TERM", "xterm", True)],
)
def test_no_styles_where_they_are_not_wanted(monkeypatch, name, value, has_styles):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    screen = Screen.of(Stream(True))
    assert screen.has_styles == has_styles
    assert screen.bold("a\nb") == ("\x1b[1ma\x1b[0m\n\x1b[1mb\x1b[0m" if has_styles else "a\nb")
    assert not Screen.of(Stream(False)).has_styles


def test_lines_break_between_words():
    """No word is broken, none is lost; a word that is too long stands alone; further lines are indented."""
    screen = Screen(40)
    said = "  note: " + " ".join(["東京"] * 12) + f" {'x' * 60} and the end of it, which is here"
    lines = screen.wrapped(said).split("\n")
    assert lines[0] == "  note: 東京 東京 東京 東京 東京 東京"
    assert all(line.startswith("    ") for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(said.split())
    assert [line for line in lines if slow_width(line) > 40] == ["    " + "x" * 60]
    assert Screen().wrapped(said) == said
    assert screen.wrapped("a  b  c") == "a  b  c"  # spaces within a line stay
    assert screen.lines(["a\x1b[1m", "b"]) == "a\\x1b[1m\nb"


def table_of(labels, n_columns=4, **changes):
    """A table of labels, and of numbers with intervals; the second has the highest place."""
    columns = [Column("label", [printable(label) for label in labels], is_label=True)]
    for i in range(n_columns):
        brief = [f"{i}.{row:03}" for row in range(len(labels))]
        cells = [f"{cell} [0.001, 0.999]" for cell in brief]
        columns.append(Column(f"M{i}", cells, place=n_columns if i == 1 else n_columns - 1 - i, brief=brief))
    return columns


def test_a_table_that_fits_is_whole():
    columns = table_of(["a", "東京"], 2)
    wanted = [
        "label                    M0                    M1",
        "a      0.000 [0.001, 0.999]  1.000 [0.001, 0.999]",
        "東京   0.001 [0.001, 0.999]  1.001 [0.001, 0.999]",
    ]
    assert PIPE.table(columns).split("\n") == Screen(49).table(columns).split("\n") == wanted
    assert Screen(48).table(columns).split("\n") == [
        "label     M0                    M1",
        "a      0.000  1.000 [0.001, 0.999]",
        "東京   0.001  1.001 [0.001, 0.999]",
        "not shown at width 48: the interval of M0; all:",
        "  a wider terminal",
    ]


def test_what_is_left_out_first():
    """Optional columns, then intervals, then columns; the column with the highest place stays, with its interval."""
    columns = [*table_of(["x" * 12], 4), Column("share", ["0.5000"], place=-1)]
    heads = {}
    for width in range(40, 120):
        head, _, *omitted = Screen(width).table(columns).split("\n")
        row = Screen(width).table(columns).split("\n")[1]
        shown = [name for name in ("M0", "M1", "M2", "M3", "share") if name in head.split()]
        said = " ".join(" ".join(omitted).split())
        state = (tuple(shown), row.count("["))
        heads[width] = state
        gone = [name for name in ("M0", "M1", "M2", "M3", "share") if name not in shown]
        assert (f"{len(gone)} column" in said) == bool(gone)
        assert all(name in said for name in gone)
    states = list(dict.fromkeys(heads[width] for width in sorted(heads, reverse=True)))
    everything = ("M0", "M1", "M2", "M3")
    assert states == [
        ((*everything, "share"), 4),
        (everything, 4),
        (everything, 3),
        (everything, 2),
        (everything, 1),
        (("M0", "M1", "M2"), 1),
        (("M0", "M1"), 1),
        (("M1",), 1),
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.light(2)
def test_no_line_is_wider_than_the_screen(width):
    """Whatever the labels are; in a pipe they are whole."""
    labels = [text for text, _ in HOSTILE] + ["\x1b[31mred", "\u202eback", "z\u200bw", "a b " * 3000]
    for n_columns in (1, 4, 9):
        columns = table_of(labels, n_columns)
        lines = Screen(width).table(columns).split("\n")
        assert max(map(slow_width, lines)) <= width
        assert len({slow_width(line) for line in lines[: 1 + len(labels)]}) == 1  # the numbers stand below each other
        whole = PIPE.table(columns)
        assert all(printable(label) in whole for label in labels)
        assert "not shown" not in whole


def test_two_columns_of_labels_share_the_width():
    columns = [Column("a", ["x" * 100], is_label=True), Column("b", ["short"], is_label=True), Column("n", ["12"])]
    head, row = Screen(40).table(columns).split("\n")
    assert row == f"{'x' * 14}…{'x' * 14}  short  12"
    assert head.split() == ["a", "b", "n"]


def test_styles_change_no_character():
    """Without its codes the text is the same; the heading is bold, and rows can be dim."""
    columns = table_of(["a", "b"], 2)
    plain, styled = Screen(48).table(columns, faint=[1]), Screen(48, True).table(columns, faint=[1])
    assert CODES.sub("", styled) == plain
    lines = styled.split("\n")
    assert lines[0].startswith("\x1b[1m")
    assert not lines[1].startswith("\x1b")
    assert lines[2].startswith("\x1b[2m")
    bold = [Column("x", [Screen(has_styles=True).bold("1"), "23"])]
    assert CODES.sub("", Screen(40, True).table(bold)) == " x\n 1\n23"
