"""The command line: the public calls, their settings as options, and what they return as text."""

from kgeval.cli.program import main

__all__ = ["main"]
