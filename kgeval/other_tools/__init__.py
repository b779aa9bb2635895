"""The conventions of other tools: under which protocol a tool ranks, and which numbers it prints from the ranks.

``kgeval.conventions["ultra"]`` is the convention of ULTRA; ``kgeval evaluate --as`` and ``kgeval show --as`` use these,
and ``kgeval check-table --run`` asks which of them give the numbers of a paper.
"""

from kgeval.other_tools.convention import Convention
from kgeval.other_tools.paper_rows import Agreement, agreement
from kgeval.other_tools.tools import conventions

__all__ = ["Agreement", "Convention", "agreement", "conventions"]
