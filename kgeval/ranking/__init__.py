"""The ranker: integer counts of the candidates that score above and equal to each positive."""

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
