"""The ranker: for each positive (a triple being ranked), it counts the rivals that score higher, and those that tie.

The rivals of a positive are the other candidates of its query. `kgeval.evaluation` makes `Task` objects (queries that
share their candidates), or `ListTask` objects if every positive has its own list of negatives. Then `kgeval.evaluation`
calls `rank` with a `Job` and an executor (see `executors`).
"""

from kgeval.ranking import executors
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.jobs import Executor, Job, rank
from kgeval.ranking.listed import ListTask, count_lists
from kgeval.ranking.progress import Meter, said_while
from kgeval.ranking.resume import RunFolder
from kgeval.ranking.shards import Work, in_order, without_finished
from kgeval.ranking.tasks import Task

__all__ = [
    "Executor",
    "Job",
    "ListTask",
    "Meter",
    "RankCounts",
    "RunFolder",
    "Task",
    "TaskCounts",
    "Work",
    "count_lists",
    "executors",
    "in_order",
    "rank",
    "said_while",
    "without_finished",
]
