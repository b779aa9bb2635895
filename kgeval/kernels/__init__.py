"""Kernels count, for each positive (a triple being ranked), the candidates that score higher, and those that tie.

`make_counter` returns a counter for embedding vectors. The counter uses numpy (with loops that numba compiles, if numba
is installed), torch or Triton. It first computes approximate scores ("screening scores"): they are fast, and their
error has a proven bound. Exact float64 scores are computed only if the approximate scores cannot decide. So the
counts are the same as with exact scores alone. `row_counter` returns the function that counts in whole rows of scores.
`best_candidates` finds the best candidates of a few queries. A table of vectors that is too large to be copied is a
`StreamedTable`, whose rows are converted when they are read.

`kgeval.ranking` calls `make_counter` and `row_counter`; `kgeval.evaluation` calls `best_candidates`; `kgeval.scorers`
imports the geometries, exact scores and streamed tables.
"""

import kgeval.kernels.geometries  # noqa: F401  (fills GEOMETRIES)
from kgeval.kernels import arrays, backends, best, counts, derived, geometry, mapped_tables, memory, rows

__all__ = [
    "arrays",
    "backends",
    "best",
    "counts",
    "derived",
    "geometry",
    "mapped_tables",
    "memory",
    "rows",
]
