"""The class of a command of the command line; each module of `kgeval.cli.commands` defines one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command. Each module of `kgeval.cli.commands` defines one, as `COMMAND`.

    Parameters
    ----------
    name : str
        The name as it is typed.
    about : str
        One line about the command, for the list of commands.
    add_options : function
        Adds the options of the command to its parser.
    run : function
        Takes the parsed options; returns the text to print, or the text and the exit code.
    place : int
        The position in the list of commands.
    """

    name: str
    about: str
    add_options: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], str | tuple[str, int]]
    place: int
