"""The command line ``kgeval``: each command parses options, makes one public call and prints the result as text."""

from kgeval.cli.program import main

__all__ = ["main"]
