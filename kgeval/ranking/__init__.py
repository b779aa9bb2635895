"""The ranker: for each positive (a triple being ranked), it counts the rivals with a higher and with the same score.

`kgeval.evaluation` makes `Task` objects (queries with the same candidates) and calls `rank`.
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
