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

from kgeval.kernels import geometries
from kgeval.kernels.arrays import (
    Array,
    address,
    as_array,
    as_double,
    check_no_bits,
    double_copy,
    empty_like,
    fetched,
    float_tensor,
    is_on_device,
    is_tensor,
    kind_of,
    largest_in_rows,
    library,
    like,
    load_torch,
    may_be_bits,
    on_host,
)
from kgeval.kernels.backends import (
    Counter,
    check_counter_memory,
    check_device,
    counter_bytes,
    make_counter,
    one_thread_each,
    tile_shape,
)
from kgeval.kernels.best import Best, best_candidates, best_columns
from kgeval.kernels.counts import Counts, Places, count_known
from kgeval.kernels.derived import clamped_dot, squared_l2
from kgeval.kernels.geometry import GEOMETRIES, MAX_DIMENSION, Vectors, exact_pair_scores, exact_scores, pair_parts
from kgeval.kernels.mapped_tables import (
    StreamedTable,
    bfloat16,
    check_file,
    from_float16,
    is_kept,
    packed,
    streamed,
    taken,
    unpacked,
)
from kgeval.kernels.memory import MEMORY_SHARE, check_fits, check_row_memory, free_bytes, is_out_of_memory, size_text
from kgeval.kernels.rows import first_nan, largest_score, row_counter

__all__ = [
    "GEOMETRIES",
    "MAX_DIMENSION",
    "MEMORY_SHARE",
    "Array",
    "Best",
    "Counter",
    "Counts",
    "Places",
    "StreamedTable",
    "Vectors",
    "address",
    "as_array",
    "as_double",
    "best_candidates",
    "best_columns",
    "bfloat16",
    "check_counter_memory",
    "check_device",
    "check_file",
    "check_fits",
    "check_no_bits",
    "check_row_memory",
    "clamped_dot",
    "count_known",
    "counter_bytes",
    "double_copy",
    "empty_like",
    "exact_pair_scores",
    "exact_scores",
    "fetched",
    "first_nan",
    "float_tensor",
    "free_bytes",
    "from_float16",
    "geometries",
    "is_kept",
    "is_on_device",
    "is_out_of_memory",
    "is_tensor",
    "kind_of",
    "largest_in_rows",
    "largest_score",
    "library",
    "like",
    "load_torch",
    "make_counter",
    "may_be_bits",
    "on_host",
    "one_thread_each",
    "packed",
    "pair_parts",
    "row_counter",
    "size_text",
    "squared_l2",
    "streamed",
    "taken",
    "tile_shape",
    "unpacked",
]
