"""What every room stands on: checks, files, where files lie, limits, words and numbers as text, the terminal."""

from kgeval.base import checks, discovery, files, limits, terminal, wording

__all__ = ["checks", "discovery", "files", "limits", "terminal", "wording"]
