"""The ranker: for each positive (a triple being ranked), it counts the rivals that score higher, and those that tie.

The rivals of a positive are the other candidates of its query. `kgeval.evaluation` makes `Task` objects (queries that
share their candidates), or `ListTask` objects if every positive has its own list of negatives. Then `kgeval.evaluation`
calls `rank` with a `Job` and an executor (see `executors`).
"""

from kgeval.ranking import counts, executors, jobs, listed, progress, resume, shards, tasks

__all__ = ["counts", "executors", "jobs", "listed", "progress", "resume", "shards", "tasks"]
