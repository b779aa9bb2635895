"""Tables of the differences within groups of ranks, of the commands compare and benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import pandas as pd

from kgeval.base.checks import counted
from kgeval.base.terminal import Screen
from kgeval.base.wording import printable
from kgeval.display.differences import largest_moves
from kgeval.display.media import text_table
from kgeval.display.table import BOLD, frame_table
from kgeval.errors import ProtocolError
from kgeval.metrics.grammar import display_of

LIMIT = 20
# People see the intervals that decide.
DECIDING = {"low_corrected": "difference low", "high_corrected": "difference high"}


def add_limit(parser: argparse.ArgumentParser, groups: str) -> None:
    """Add the option ``--limit``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    groups : str
        What is listed, for the help text.
    """
    about = f"number of {groups} to list (default: {LIMIT}; with --to json: all)"
    parser.add_argument("--limit", type=int, metavar="N", help=about)


def check_limit(limit: int | None) -> None:
    """Raise a ProtocolError if the value of ``--limit`` is not a positive number.

    Parameters
    ----------
    limit : int, optional
    """
    if limit is not None and limit < 1:
        raise ProtocolError(f"--limit must be at least 1; got {limit}")


def joined(frames: Mapping[str, pd.DataFrame], limit: int | None, name: str = "") -> pd.DataFrame:
    """Return the largest gains and losses of several tables as one, with the two models of each in the index.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        Tables of `Comparison.by` or `Benchmark.by`.
    limit : int, optional
        By default all rows.
    name : str
        What the keys of `frames` are, such as ``"dataset"``, for a level of the index; by default there is none.
    """
    parts = {}
    for key, frame in frames.items():
        of_pair = " - ".join(frame.attrs["models"])
        parts[(key, of_pair) if name else of_pair] = largest_moves(frame, limit or len(frame))
    return pd.concat(parts, names=[*([name] if name else []), "difference of"])


def deciding(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table for people: its intervals are those that decide.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of `Comparison.by` or `Benchmark.by`.
    """
    left_out = ["low", "high", *([] if frame["reversed"].any() else ["reversed"])]
    front = ["n", "difference", *DECIDING, "contribution", "decided", "value_first", "value_second"]
    ordered = [*front, *frame.columns.difference([*front, *left_out], sort=False)]
    return frame[ordered].rename(columns=DECIDING)


def group_text(frame: pd.DataFrame, limit: int, screen: Screen) -> str:
    """Return a table for a terminal, with a title; its intervals are those that decide.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of `Comparison.by` or `Benchmark.by`.
    limit : int
        The largest number of rows.
    screen : Screen
    """
    first, second = frame.attrs["models"]
    column, n, shown = frame.index.name, frame.attrs["groups"], largest_moves(frame, limit)
    heading, on = display_of(frame.attrs["metric"]).heading, "".join(f" on {name}" for name in frame.attrs["datasets"])
    whole = counted(n, "group")
    amount = f"largest contributions to gains, then to losses, {len(shown):,} of {whole}" if len(shown) < n else whole
    title = f"{first} - {second} in {heading} by {column}{on}: {amount}; intervals corrected for {counted(n, 'test')}"
    title += ", none of too few triples" if shown["low_corrected"].isna().any() else ""
    decided = {(label, "difference") for label in shown.index[shown["decided"]]}
    notes = [(BOLD, "decided") if decided else ("", "none is decided")]
    shown = deciding(shown).drop(columns="decided").rename(columns={"value_first": first, "value_second": second})
    return f"{screen.lines([printable(title)])}\n{text_table(frame_table(shown, best=decided, notes=notes), screen)}"
