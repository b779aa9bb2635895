"""`packed`: 16-bit candidates in the order in which the compiled loop of `numba_shorts` reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Shorts = npt.NDArray[np.int16]
PANEL, PART = 16, 4  # candidates, and numbers of each, that the loop multiplies with a query at once


def packed(vectors: Shorts) -> Shorts:
    """Return candidates in panels; see `kgeval.kernels.numba_shorts`.

    Parameters
    ----------
    vectors : int16 array, shape (candidates, d)

    Returns
    -------
    int16 array, shape (panels, d / 2, 16, 2)
        Zeros fill the last panel; d is rounded up to a multiple of four.

    Examples
    --------
    >>> found = packed(np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], dtype=np.int16))
    >>> found.shape, found[0, :, 1].tolist()
    ((1, 4, 16, 2), [[6, 7], [8, 9], [10, 0], [0, 0]])
    """
    n, d = vectors.shape
    full = np.pad(vectors, ((0, -n % PANEL), (0, -d % PART)))
    return np.ascontiguousarray(full.reshape(len(full) // PANEL, PANEL, -1, 2).transpose(0, 2, 1, 3))
