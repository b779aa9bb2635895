"""The ranker: for each positive, integer counts of the candidates that score above it and equal to it.

`kgeval.evaluation` makes a `Task` for each side (or pool of candidates) and calls `rank`.
"""

from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.ranker import rank
from kgeval.ranking.tasks import Task
from kgeval.ranking.threads import available_threads

__all__ = [
    "RankCounts",
    "Task",
    "TaskCounts",
    "available_threads",
    "rank",
]
