"""Models whose score is minus a distance: TransE and RotatE. Users import them from `kgeval.models`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.errors import DataError
from kgeval.kernels import Array, as_array, as_double, kind_of, like, on_host
from kgeval.scorers.models.arithmetic import parts, rows
from kgeval.scorers.models.base import (
    EmbeddingModel,
    check_width,
    complex_product,
    in_halves,
    norm_geometry,
    real_tables,
)

UNIT_TOLERANCE = 1e-3


class TransE(EmbeddingModel):
    """Score: minus the distance between s + p and o (the vectors of subject, relation and object).

    Parameters
    ----------
    entities, relations : real arrays, shapes (entities, d) and (relations, d)
    norm : int
        1: sum of the absolute differences; 2: Euclidean distance.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS.

    Examples
    --------
    >>> model = TransE([[0.0, 0.0], [1.0, 2.0]], [[1.0, 1.0]])
    >>> model.score([0], [0], [1])
    array([-1.])
    """

    def __init__(
        self,
        entities: npt.ArrayLike,
        relations: npt.ArrayLike,
        norm: int = 1,
        inverse_relations: str | None = None,
    ) -> None:
        self.entities, self.relations = real_tables(entities=entities, relations=relations)
        self.geometry = norm_geometry(norm, {1: "l1", 2: "l2"})
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return rows(self.entities, s) + rows(self.relations, row)

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return rows(self.entities, o) - rows(self.relations, row)


class RotatE(EmbeddingModel):
    """Score: minus the distance between the complex vectors s * p and o; each number of p has modulus 1.

    s, p and o are the vectors of subject, relation and object; * multiplies element by element.

    Parameters
    ----------
    entities : complex array, shape (entities, d), or real array, shape (entities, 2 * d)
    relations : array
        Either rotations, as a complex or real array like `entities`, where every complex number has modulus 1 (within
        0.001); or phases in radians, as a real array of shape (relations, d).
    norm : int
        1: sum of the moduli of the differences, as in the paper's code; 2: Euclidean norm of the differences.
    layout : str
        Order of real arrays: ``"halves"`` (all real parts, then all imaginary parts) or ``"interleaved"``.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Sun et al. (2019), RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space, ICLR.

    Examples
    --------
    >>> RotatE([[1.0, 0.0], [3.0, 4.0]], [[0.0]]).score([0], [0], [1])
    array([-4.47213595])
    """

    def __init__(
        self,
        entities: npt.ArrayLike,
        relations: npt.ArrayLike,
        norm: int = 1,
        layout: str = "halves",
        inverse_relations: str | None = None,
    ) -> None:
        self.entities = in_halves("entities", entities, layout)
        phases = as_array(relations)
        if phases.ndim == 2 and kind_of(phases) == "f" and 2 * phases.shape[1] == self.entities.shape[1]:
            relations = like(
                phases, np.exp(1j * on_host(as_double(phases)))
            )  # on the host: devices round exp differently
        self.relations = in_halves("relations", relations, layout)
        check_width(entities=self.entities, relations=self.relations)
        self.geometry = norm_geometry(norm, {1: "modulus", 2: "l2"})
        # gap (rows, d): for each complex number of the relation table, the distance between its modulus and 1.
        gap = np.abs(np.hypot(*parts(on_host(self.relations), 2)) - 1.0)
        if (gap > UNIT_TOLERANCE).any():
            row, k = np.argwhere(gap > UNIT_TOLERANCE)[0]
            raise DataError(
                f"RotatE: relation row {row}, number {k}: the modulus must be 1, but differs from 1 by "
                f"{gap[row, k]:.4g}. Divide by the modulus, or give phases"
            )
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return complex_product(rows(self.entities, s), rows(self.relations, row))

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return complex_product(rows(self.entities, o), rows(self.relations, row), conjugate=True)
