"""What a command of the command line is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command: a module of `kgeval.cli.commands` that defines `COMMAND` adds it.

    Parameters
    ----------
    name : str
        As it is typed.
    about : str
        One line for the list of commands.
    add_options : function
        Adds the command's options to its parser.
    run : function
        Takes the parsed options; returns what is printed, or that and the exit code.
    place : int
        In the list of commands.
    """

    name: str
    about: str
    add_options: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], str | tuple[str, int]]
    place: int
