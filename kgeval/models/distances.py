"""Models that score by a distance: TransE and RotatE."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.errors import DataError
from kgeval.kernels.geometry import Reals
from kgeval.models.base import (
    EmbeddingModel,
    as_double,
    check_width,
    complex_product,
    in_halves,
    norm_geometry,
    real_tables,
)

UNIT_TOLERANCE = 1e-3


class TransE(EmbeddingModel):
    """Minus the distance of s + p and o.

    Parameters
    ----------
    entities, relations : real arrays, shapes (entities, d) and (relations, d)
    norm : int
        1 or 2: which distance.
    inverse_relations : str, optional

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
        self.entities, self.relations = real_tables(entities, relations)
        self.geometry = norm_geometry(norm, {1: "l1", 2: "l2"})
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Reals:
        return as_double(self.entities[s]) + as_double(self.relations[row])

    def _subject_queries(self, row: Ids, o: Ids) -> Reals:
        return as_double(self.entities[o]) - as_double(self.relations[row])


class RotatE(EmbeddingModel):
    """Minus the distance of s p and o, complex, every number of p of modulus 1.

    Parameters
    ----------
    entities : complex array, shape (entities, d), or real array, shape (entities, 2 d)
    relations : array
        Like `entities`, each number of modulus 1 within 0.001; or phases in radians, real, shape (relations, d).
    norm : int
        1: sum of the moduli of the differences, as in the paper's code; 2: their Euclidean norm.
    layout : str
        Of real arrays: ``"halves"`` or ``"interleaved"``.
    inverse_relations : str, optional

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
        phases = np.asarray(relations)
        if phases.ndim == 2 and phases.dtype.kind == "f" and 2 * phases.shape[1] == self.entities.shape[1]:
            relations = np.exp(1j * phases.astype(np.float64))
        self.relations = in_halves("relations", relations, layout)
        check_width(self.entities, self.relations)
        self.geometry = norm_geometry(norm, {1: "modulus", 2: "l2"})
        d = self.relations.shape[1] // 2
        off = np.abs(np.hypot(self.relations[:, :d], self.relations[:, d:]) - 1.0)
        if (off > UNIT_TOLERANCE).any():
            row, k = np.argwhere(off > UNIT_TOLERANCE)[0]
            raise DataError(
                f"RotatE: relation row {row}, number {k} has modulus {1 + off[row, k]:.4g} or {1 - off[row, k]:.4g}; "
                "rotations have modulus 1. Divide by the modulus, or give phases"
            )
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Reals:
        return complex_product(self.entities[s], self.relations[row])

    def _subject_queries(self, row: Ids, o: Ids) -> Reals:
        return complex_product(self.entities[o], self.relations[row], conjugate=True)
