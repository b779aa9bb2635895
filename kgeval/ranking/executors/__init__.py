"""Executors decide where shards (parts of the queries) are ranked. All executors give the same counts.

`Threads` ranks in this process, `Processes` in several processes of this machine, `Ray` on the machines of a cluster.
"""

from kgeval.base.checks import shows_only
from kgeval.ranking.executors.processes import Processes
from kgeval.ranking.executors.ray_cluster import Ray
from kgeval.ranking.executors.threads import Threads

__all__ = ["Processes", "Ray", "Threads"]
__dir__ = shows_only(__all__)
