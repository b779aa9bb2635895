"""The class of a command of the command line; each module of `kgeval.cli.commands` defines one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """The output of a command that needs an exit code or an error message besides the text.

    Parameters
    ----------
    text : str
        Printed to standard output; empty if there is nothing to print.
    status : int
        The exit code.
    error : str
        An error message, which is printed to standard error after the text; empty if there is none.
    """

    text: str
    status: int = 0
    error: str = ""


@dataclass(frozen=True)
class Command:
    """A command of the command line. Each module of `kgeval.cli.commands` defines one and names it `COMMAND`.

    Parameters
    ----------
    name : str
        The word that users type after ``kgeval``.
    about : str
        One line about the command, for the list of commands.
    add_options : function
        Takes the parser of the command and adds the options of the command to it.
    run : function
        Takes the parsed options and returns the text to print, or an `Output`.
    place : int
        The position in the list of commands.
    runs_scorer : bool
        Whether `run` calls the user's scorer; what the scorer prints then goes to standard error.
    """

    name: str
    about: str
    add_options: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], str | Output]
    place: int
    runs_scorer: bool = False
