"""What every room stands on: checks, files, where files lie, limits, words and numbers as text, the terminal."""

__all__ = ["checks", "discovery", "files", "limits", "terminal", "wording"]
