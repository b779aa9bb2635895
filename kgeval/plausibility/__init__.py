"""The check of published numbers: can any list of ranks give the reported hits@k, MRR and MR of a row?

`check_table` is the public call; ``kgeval check-table`` prints its result.
"""

from kgeval.plausibility import reading, table

__all__ = ["reading", "table"]
