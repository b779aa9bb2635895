"""`short_tile`: dot products of 16-bit integers by the instruction ``vpmaddwd`` of AVX2, in a loop compiled by numba.

Only `kgeval.kernels.compiled.load_short_product` imports this module, on processors with AVX2. The instruction
multiplies 16 numbers with 16 others and adds the products in pairs, in 32 bits: twice as many products as one of
float32. LLVM does not choose it by itself, so the inner loop is written in LLVM's own instructions.

The layout of the candidates, see `kgeval.kernels.panels.packed`: panels of 16 candidates; within a panel, two
numbers of each candidate follow each other. So a vector of 16 numbers holds two of each of eight candidates, and it is
multiplied with two numbers of a query, repeated eight times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from kgeval.kernels.numba_kernels import compiled
from kgeval.kernels.panels import PANEL, PART, Shorts

ROWS = 4  # queries that the inner loop multiplies with a panel
_IN_CACHE = 8192  # numbers of queries that stay in the processor's cache while a panel is multiplied with them

_INT, _LONG = ir.IntType(32), ir.IntType(64)
_SHORTS, _INTS = ir.VectorType(ir.IntType(16), 16), ir.VectorType(_INT, 8)


def _block(n_rows: int) -> Any:
    """Return a function for numba that multiplies `n_rows` queries with a panel, and stores the sums in a tile.

    Its arguments: queries, the place of their first number, numbers of a query; panels, the place of the first number;
    tile, the place of the first sum, columns of the tile.
    """

    def multiply(typing: Any, q: Any, q_at: Any, d: Any, e: Any, e_at: Any, tile: Any, tile_at: Any, width: Any) -> Any:
        signature = types.void(q, types.int64, types.int64, e, types.int64, tile, types.int64, types.int64)
        return signature, _writer(n_rows)

    return intrinsic(multiply)


def _writer(n_rows: int) -> Any:
    """Return the function that writes the instructions of `_block`."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        q, q_at, d, e, e_at, tile, tile_at, width = arguments

        def start(place: int, array: Any, at: Any) -> Any:
            return builder.gep(context.make_array(signature.args[place])(context, builder, array).data, [at])

        def after(pointer: Any, *factors: Any) -> Any:
            """Return a pointer that is so many elements further as the product of the factors says."""
            first, *others = (_LONG(factor) if isinstance(factor, int) else factor for factor in factors)
            for other in others:
                first = builder.mul(first, other)
            return builder.gep(pointer, [first])

        def load(pointer: Any, kind: Any) -> Any:
            return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=2)

        multiply = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_INTS, [_SHORTS, _SHORTS]), "llvm.x86.avx2.pmadd.wd"
        )
        none, zeros = ir.Constant(_INTS, ir.Undefined), ir.Constant(_INTS, [0] * 8)
        queries, panel, sums = start(0, q, q_at), start(3, e, e_at), start(5, tile, tile_at)
        before, loop, end = builder.block, builder.append_basic_block("loop"), builder.append_basic_block("end")
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(_LONG)  # how many numbers of each vector are multiplied
        totals = [[builder.phi(_INTS) for _ in range(2)] for _ in range(n_rows)]
        found = [[*of_row] for of_row in totals]
        for part in range(0, PART, 2):
            pairs = after(after(panel, k, PANEL), part * PANEL)
            halves = [load(after(pairs, 16 * half), _SHORTS) for half in range(2)]
            for row in range(n_rows):
                two = load(after(after(after(queries, row, d), k), part), _INT)
                two = builder.shuffle_vector(builder.insert_element(none, two, _INT(0)), none, zeros)
                for half in range(2):
                    more = builder.call(multiply, [halves[half], builder.bitcast(two, _SHORTS)])
                    found[row][half] = builder.add(found[row][half], more)
        for row in range(n_rows):
            for total, with_more in zip(totals[row], found[row]):
                total.add_incoming(zeros, before)
                total.add_incoming(with_more, loop)
        following = builder.add(k, _LONG(PART))
        k.add_incoming(_LONG(0), before)
        k.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, d), loop, end)

        builder.position_at_end(end)
        for row in range(n_rows):
            for half in range(2):
                at = after(after(sums, row, width), 8 * half)
                builder.store(found[row][half], builder.bitcast(at, _INTS.as_pointer()), align=4)
        return context.get_dummy_value()

    return write


_rows_of_panel, _row_of_panel = _block(ROWS), _block(1)


def _short_tile(queries: Shorts, panels: Shorts, tile: npt.NDArray[np.int32]) -> None:
    n, d, width = queries.shape[0], queries.shape[1], tile.shape[1]
    at_once = max(ROWS, _IN_CACHE // d // ROWS * ROWS)
    for first in range(0, n, at_once):
        last = min(n, first + at_once)
        for panel in range(panels.shape[0]):
            i = first
            while i + ROWS <= last:
                _rows_of_panel(queries, i * d, d, panels, panel * PANEL * d, tile, i * width + panel * PANEL, width)
                i += ROWS
            while i < last:
                _row_of_panel(queries, i * d, d, panels, panel * PANEL * d, tile, i * width + panel * PANEL, width)
                i += 1


short_tile = compiled(_short_tile)
short_tile.__doc__ = """Fill `tile` with the dot product of each query with each candidate of the panels, in 32 bits.

Parameters
----------
queries : int16 array, shape (queries, d)
    d is a multiple of four, and at least four.
panels : int16 array
    From `kgeval.kernels.panels.packed`.
tile : int32 array, shape (queries, columns)
    16 columns for each panel.
"""
