"""Models whose score is a product of vectors: DistMult, ComplEx, CP, SimplE, HolE and QuatE.

Users import them from `kgeval.models`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.kernels import Array, library
from kgeval.scorers.models.arithmetic import join, parts, rows, square_root
from kgeval.scorers.models.base import (
    EmbeddingModel,
    check_same_shape,
    check_width,
    complex_product,
    complex_tables,
    described_layout,
    in_parts,
    real_tables,
)


class DistMult(EmbeddingModel):
    """Score: sum over the dimensions of s * p * o (the vectors of subject, relation and object).

    Parameters
    ----------
    entities, relations : real arrays, shapes (entities, d) and (relations, d)
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Yang et al. (2015), Embedding Entities and Relations for Learning and Inference in Knowledge
    Bases, ICLR.

    Examples
    --------
    >>> DistMult([[1.0, 2.0], [3.0, 4.0]], [[1.0, -1.0]]).score([0], [0], [1])
    array([-5.])
    """

    def __init__(self, entities: npt.ArrayLike, relations: npt.ArrayLike, inverse_relations: str | None = None) -> None:
        self.entities, self.relations = real_tables(entities=entities, relations=relations)
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return rows(self.entities, s) * rows(self.relations, row)

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return self._object_queries(o, row)


class ComplEx(EmbeddingModel):
    """Score: real part of the sum over the dimensions of s * p * conj(o) (vectors of subject, relation and object).

    Parameters
    ----------
    entities, relations : complex arrays, shape (n, d), or real arrays, shape (n, 2 * d)
        One row per entity or relation.
    layout : str
        Order of real arrays: ``"halves"`` (all real parts, then all imaginary parts) or ``"interleaved"``.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Trouillon et al. (2016), Complex Embeddings for Simple Link Prediction, ICML.

    Examples
    --------
    >>> ComplEx([[1 + 2j], [3 - 1j]], [[1j]]).score([0], [0], [1])
    array([-7.])
    """

    def __init__(
        self,
        entities: npt.ArrayLike,
        relations: npt.ArrayLike,
        layout: str = "halves",
        inverse_relations: str | None = None,
    ) -> None:
        self.entities, self.relations = complex_tables(layout, entities=entities, relations=relations)
        self._layout_text = described_layout(entities, layout)
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _details(self) -> list[str]:
        return [f"{self.entities.shape[1] // 2} complex dimensions{self._layout_text}"]

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return complex_product(rows(self.entities, s), rows(self.relations, row))

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return complex_product(rows(self.entities, o), rows(self.relations, row), conjugate=True)


class CP(EmbeddingModel):
    """Score: sum over the dimensions of s * p * o; each entity has one vector as subject and another as object.

    Parameters
    ----------
    subjects, objects : real arrays, shape (entities, d)
        The vectors of the entities as subjects and as objects.
    relations : real array, shape (relations, d)
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Lacroix et al. (2018), Canonical Tensor Decomposition for Knowledge Base Completion, ICML.

    Examples
    --------
    >>> CP([[1.0], [2.0]], [[3.0], [4.0]], [[10.0]]).score([0], [0], [1])
    array([40.])
    """

    def __init__(
        self,
        subjects: npt.ArrayLike,
        objects: npt.ArrayLike,
        relations: npt.ArrayLike,
        inverse_relations: str | None = None,
    ) -> None:
        self.subjects, self.objects, self.relations = real_tables(
            subjects=subjects, objects=objects, relations=relations
        )
        check_same_shape(self.subjects, self.objects)
        super().__init__(self.objects, len(self.relations), inverse_relations)
        self._subjects = self.subjects

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return rows(self.subjects, s) * rows(self.relations, row)

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return rows(self.objects, o) * rows(self.relations, row)


class SimplE(EmbeddingModel):
    """Score: mean of the CP scores of (s, p, o) and (o, inverse of p, s).

    Parameters
    ----------
    subjects, objects : real arrays, shape (entities, d)
        The vectors of the entities as subjects and as objects.
    relations, relations_inverse : real arrays, shape (relations, d)
        The vectors of the relations and of their inverses.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Kazemi and Poole (2018), SimplE Embedding for Link Prediction in Knowledge Graphs, NeurIPS.

    Examples
    --------
    >>> SimplE([[1.0], [2.0]], [[3.0], [4.0]], [[10.0]], [[1.0]]).score([0], [0], [1])
    array([23.])
    """

    def __init__(
        self,
        subjects: npt.ArrayLike,
        objects: npt.ArrayLike,
        relations: npt.ArrayLike,
        relations_inverse: npt.ArrayLike,
        inverse_relations: str | None = None,
    ) -> None:
        self.subjects, self.objects, self.relations, self.relations_inverse = real_tables(
            subjects=subjects, objects=objects, relations=relations, relations_inverse=relations_inverse
        )
        check_same_shape(self.subjects, self.objects)
        check_same_shape(self.relations, self.relations_inverse)
        super().__init__(join([self.objects, self.subjects]), len(self.relations), inverse_relations)
        self._subjects = join([self.subjects, self.objects])

    def _details(self) -> list[str]:
        return [f"{self.objects.shape[1]} dimensions"]

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        forward = rows(self.subjects, s) * rows(self.relations, row)
        backward = rows(self.objects, s) * rows(self.relations_inverse, row)
        return 0.5 * join([forward, backward])

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        forward = rows(self.objects, o) * rows(self.relations, row)
        backward = rows(self.subjects, o) * rows(self.relations_inverse, row)
        return 0.5 * join([forward, backward])


class HolE(EmbeddingModel):
    """Score: dot product of the relation vector p with corr(s, o), the circular correlation of subject and object.

    Parameters
    ----------
    entities, relations : real arrays, shapes (entities, d) and (relations, d)
    inverse_relations : str, optional
        See `kgeval.models`.

    Notes
    -----
    Element k of corr(s, o) is the sum over i of ``s[i] * o[(i + k) % d]``.

    References
    ----------
    Nickel et al. (2016), Holographic Embeddings of Knowledge Graphs, AAAI.

    Examples
    --------
    >>> HolE([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0]]).score([0], [0], [1])
    array([11.])
    """

    def __init__(self, entities: npt.ArrayLike, relations: npt.ArrayLike, inverse_relations: str | None = None) -> None:
        self.entities, self.relations = real_tables(entities=entities, relations=relations)
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        vectors, weights = rows(self.entities, s), rows(self.relations, row)
        result, roll = library(vectors).zeros_like(vectors), library(vectors).roll
        # result[n, j] becomes the sum over k of weights[n, k] * vectors[n, (j - k) % d]; the dot product of result[n]
        # and an object vector is the score.
        for k in range(vectors.shape[1]):
            result += weights[:, k, None] * roll(vectors, k, 1)
        return result

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        vectors, weights = rows(self.entities, o), rows(self.relations, row)
        result, roll = library(vectors).zeros_like(vectors), library(vectors).roll
        # result[n, i] becomes the sum over k of weights[n, k] * vectors[n, (i + k) % d]; the dot product of result[n]
        # and a subject vector is the score.
        for k in range(vectors.shape[1]):
            result += weights[:, k, None] * roll(vectors, -k, 1)
        return result


class QuatE(EmbeddingModel):
    """Score: dot product of o with the Hamilton product of s and p, after each quaternion of p is divided by its norm.

    s, p and o are the vectors of subject, relation and object.

    Parameters
    ----------
    entities, relations : real arrays, shapes (entities, 4 d) and (relations, 4 d)
        The model divides each quaternion of `relations` by its norm, as in the paper.
    layout : str
        ``"halves"``: all first parts, then all second, third and fourth parts;
        ``"interleaved"``: the four parts of a quaternion are in neighbouring columns.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Zhang et al. (2019), Quaternion Knowledge Graph Embeddings, NeurIPS.

    Examples
    --------
    >>> QuatE([[1.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]], [[0.0, 2.0, 0.0, 0.0]]).score([0], [0], [1])
    array([3.])
    """

    def __init__(
        self,
        entities: npt.ArrayLike,
        relations: npt.ArrayLike,
        layout: str = "halves",
        inverse_relations: str | None = None,
    ) -> None:
        self.entities = in_parts("entities", entities, layout, 4)
        self.relations = in_parts("relations", relations, layout, 4)
        check_width(entities=self.entities, relations=self.relations)
        self._layout_text = described_layout(entities, layout)
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _details(self) -> list[str]:
        size = f"{self.entities.shape[1] // 4} quaternion dimensions{self._layout_text}"
        return [size, "relations divided by their norms"]

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return self._rotated(s, row, 1.0)

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return self._rotated(o, row, -1.0)

    def _rotated(self, entity: Ids, row: Ids, sign: float) -> Array:
        """Return the Hamilton products of entity vectors and relation vectors, shape (n, 4 * d).

        The quaternions of the relations are divided by their norms, and conjugated if `sign` is -1.
        """
        a, b, c, d = parts(rows(self.entities, entity), 4)
        w, x, y, z = parts(rows(self.relations, row), 4)
        with np.errstate(invalid="ignore", divide="ignore"):
            norm = square_root(w * w + x * x + y * y + z * z)
            w, x, y, z = w / norm, sign * x / norm, sign * y / norm, sign * z / norm
        return join(
            [
                a * w - b * x - c * y - d * z,
                a * x + b * w + c * z - d * y,
                a * y - b * z + c * w + d * x,
                a * z + b * y - c * x + d * w,
            ]
        )
