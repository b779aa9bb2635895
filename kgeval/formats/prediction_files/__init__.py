"""Functions that all readers of predictions use.

They read lines and JSON records one by one, collect the lists of answers as texts, and find the entity of each text.
"""

__all__ = []
