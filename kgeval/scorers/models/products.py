"""Models whose score is a product of vectors: DistMult, ComplEx, CP, SimplE, HolE and QuatE.

Users import them from `kgeval.models`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, check_one_of, names_unknown_arguments
from kgeval.errors import DataError
from kgeval.kernels.arrays import Array, library
from kgeval.kernels.derived import clamped_dot
from kgeval.scorers.models.arithmetic import SMALLEST_NORM, converted, join, parts, rows, square_root
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

FORMS = ("pykeen",)  # formulas other than those of the papers


@names_unknown_arguments()
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


@names_unknown_arguments()
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


@names_unknown_arguments()
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


@names_unknown_arguments()
class SimplE(EmbeddingModel):
    """Score: mean of the `CP` scores of the triples (s, p, o) and (o, inverse of p, s).

    Parameters
    ----------
    subjects, objects : real arrays, shape (entities, d)
        The vectors of the entities as subjects and as objects.
    relations, relations_inverse : real arrays, shape (relations, d)
        The vectors of the relations and of their inverses.
    inverse_relations : str, optional
        See `kgeval.models`.
    form : str, optional
        ``"pykeen"``: the formula of PyKEEN 1.8 and later. The score is the mean of two DistMult scores of (s, p, o):
        one with `subjects` as the vectors of both entities, and `relations`; the other with `objects` and
        `relations_inverse`. By default, the formula of the paper.
    clamp : sequence of two numbers, optional
        The smallest and the largest score; a score outside these bounds is replaced by the nearer bound, so such scores
        tie. By default, scores have no bounds. The code of the paper uses (-20, 20).

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
        form: str | None = None,
        clamp: Sequence[float] | None = None,
    ) -> None:
        self.subjects, self.objects, self.relations, self.relations_inverse = real_tables(
            subjects=subjects, objects=objects, relations=relations, relations_inverse=relations_inverse
        )
        check_same_shape(self.subjects, self.objects)
        check_same_shape(self.relations, self.relations_inverse)
        self.form, self.clamp = _checked_form(form), _checked_bounds(clamp)
        if self.clamp is not None:
            self.geometry = clamped_dot(*self.clamp)
        of_subjects = converted("entities", _joined, self.subjects, self.objects)
        of_objects = of_subjects if self.form else converted("entities", _joined, self.objects, self.subjects)
        super().__init__(of_objects, len(self.relations), inverse_relations)
        self._subjects = of_subjects

    def _details(self) -> list[str]:
        form = ["PyKEEN's form"] if self.form else []
        bounds = [f"scores clamped to [{self.clamp[0]:g}, {self.clamp[1]:g}]"] if self.clamp else []
        return [*form, f"{self.objects.shape[1]} dimensions", *bounds]

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return self._weighted(rows(self._subjects, s), row)

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return self._weighted(rows(self._objects, o), row)

    def _weighted(self, vectors: Array, row: Ids) -> Array:
        """Multiply the two halves of entity vectors by the vectors of relation and inverse, and by 1/2."""
        forward, backward = parts(vectors, 2)
        return 0.5 * join([forward * rows(self.relations, row), backward * rows(self.relations_inverse, row)])


@names_unknown_arguments()
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


@names_unknown_arguments()
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
    form : str, optional
        ``"pykeen"``: the formula of PyKEEN: the score of the paper with the opposite sign (higher is still better). By
        default, the formula of the paper.

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
        form: str | None = None,
    ) -> None:
        self.form = _checked_form(form)
        self.entities = in_parts("entities", entities, layout, 4)
        self.relations = in_parts("relations", relations, layout, 4)
        check_width(entities=self.entities, relations=self.relations)
        self._layout_text = described_layout(entities, layout)
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _details(self) -> list[str]:
        size = f"{self.entities.shape[1] // 4} quaternion dimensions{self._layout_text}"
        return [*(["PyKEEN's form"] if self.form else []), size, "relations divided by their norms"]

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return self._signed(self._rotated(s, row, 1.0))

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return self._signed(self._rotated(o, row, -1.0))

    def _signed(self, vectors: Array) -> Array:
        """Return the query vectors with the sign that `form` chooses."""
        return -vectors if self.form else vectors

    def _rotated(self, entity: Ids, row: Ids, sign: float) -> Array:
        """Return the Hamilton products of entity vectors and relation vectors, shape (n, 4 * d).

        The quaternions of the relations are divided by their norms, and conjugated if `sign` is -1.
        """
        a, b, c, d = parts(rows(self.entities, entity), 4)
        w, x, y, z = parts(rows(self.relations, row), 4)
        with np.errstate(invalid="ignore", divide="ignore"):
            norm = square_root(w * w + x * x + y * y + z * z)
            norm = library(norm).clip(norm, SMALLEST_NORM, None) if self.form else norm
            w, x, y, z = w / norm, sign * x / norm, sign * y / norm, sign * z / norm
        return join(
            [
                a * w - b * x - c * y - d * z,
                a * x + b * w + c * z - d * y,
                a * y - b * z + c * w + d * x,
                a * z + b * y - c * x + d * w,
            ]
        )


def _joined(*columns: Array) -> Array:
    """Return the columns of several tables in one table."""
    return join(list(columns))


def _checked_form(form: str | None) -> str | None:
    """Return the parameter `form` of a model; raise a DataError if it is no known formula."""
    return None if form is None else check_one_of("form", str(form), FORMS, DataError)


def _checked_bounds(clamp: Sequence[float] | None) -> tuple[float, float] | None:
    """Return the parameter `clamp` of a model as two floats; raise a DataError if it is no interval."""
    if clamp is None:
        return None
    bounds = np.asarray(clamp, dtype=np.float64)
    if bounds.shape != (2,) or not bounds[0] <= bounds[1]:
        raise DataError(f"clamp must be the smallest and the largest score, such as (-20, 20); got {clamp!r}")
    return float(bounds[0]), float(bounds[1])
