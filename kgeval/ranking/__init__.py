"""The ranker: for each positive (a triple being ranked), it counts the rivals that score higher and the ties.

The rivals of a positive are the other candidates of its query. `kgeval.evaluation` makes `Task` objects (queries that
share their candidates) and calls `rank`. If every positive has its own list of negatives, `kgeval.evaluation` makes
`ListTask` objects and calls `rank_lists`.
"""

from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.listed import ListTask, count_lists, rank_lists
from kgeval.ranking.ranker import rank
from kgeval.ranking.tasks import Task
from kgeval.ranking.threads import available_threads

__all__ = [
    "ListTask",
    "RankCounts",
    "Task",
    "TaskCounts",
    "available_threads",
    "count_lists",
    "rank",
    "rank_lists",
]
