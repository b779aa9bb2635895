"""What embedding models share: tables, sides, inverse relations, and the products that keep one order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, check_float_parameters, check_ids, check_one_of
from kgeval.errors import DataError
from kgeval.kernels.geometry import Reals, Vectors, exact_scores

LAYOUTS = ("halves", "interleaved")
INVERSE_ROWS = ("after", "alternating")


class EmbeddingModel:
    """What all models share: two tables, their sizes, and the rows of inverse relations.

    Attributes
    ----------
    geometry : str
    missing_entities, missing_relations : int64 arrays
        Ids without a vector; their rows are never used. Set by `kgeval.load_model`.
    notes : tuple of str
        What a result should say about the model.
    """

    geometry: str = "dot"
    missing_entities: Ids = np.zeros(0, dtype=np.int64)
    missing_relations: Ids = np.zeros(0, dtype=np.int64)
    notes: tuple[str, ...] = ()

    def __init__(self, entities: Vectors, relation_rows: int, inverse_relations: str | None) -> None:
        if inverse_relations is not None:
            check_one_of("inverse_relations", inverse_relations, INVERSE_ROWS, DataError)
            if relation_rows % 2:
                raise DataError(
                    f"with inverse relations, their table needs an even number of rows; got {relation_rows}"
                )
        self.inverse_relations = inverse_relations
        self.n_entities = len(entities)
        self.n_relations = relation_rows // 2 if inverse_relations else relation_rows
        self._objects: Vectors = entities
        self._subjects: Vectors = entities

    def query_vectors(self, side: str, given: Ids, relation: Ids) -> Reals:
        """Return one float64 vector per query that asks `side`, shape (n, d)."""
        if side == "object":
            return self._object_queries(given, relation * 2 if self.inverse_relations == "alternating" else relation)
        if self.inverse_relations == "after":
            return self._object_queries(given, relation + self.n_relations)
        if self.inverse_relations == "alternating":
            return self._object_queries(given, 2 * relation + 1)
        return self._subject_queries(relation, given)

    def candidate_vectors(self, side: str) -> Vectors:
        """Return one vector per entity, shape (entities, d), not copied."""
        return self._subjects if side == "subject" and self.inverse_relations is None else self._objects

    def score(self, s: Ids, p: Ids, o: Ids) -> Reals:
        """Return the exact float64 scores of triples of ids, as the object side has them, shape (n,)."""
        s, o = (check_ids(name, ids, self.n_entities, (None,)) for name, ids in (("s", s), ("o", o)))
        p = check_ids("p", p, self.n_relations, (None,))
        return exact_scores(self.geometry, self.query_vectors("object", s, p), self.candidate_vectors("object")[o])

    def _object_queries(self, s: Ids, row: Ids) -> Reals:
        raise TypeError(f"{type(self).__name__} does not say how it queries objects")

    def _subject_queries(self, row: Ids, o: Ids) -> Reals:
        raise TypeError(f"{type(self).__name__} does not say how it queries subjects")

    def __repr__(self) -> str:
        inverse = f", inverse relations {self.inverse_relations}" if self.inverse_relations else ""
        d = self._objects.shape[1]
        return f"{type(self).__name__}({self.n_entities} entities, {self.n_relations} relations, {d} numbers{inverse})"


def as_double(values: Vectors) -> Reals:
    """Return a float64 copy."""
    return values.astype(np.float64)


def real_tables(entities: npt.ArrayLike, relations: npt.ArrayLike) -> tuple[Vectors, Vectors]:
    """Return both tables as real arrays of equal width."""
    tables = (
        check_float_parameters("entities", entities, 2),
        check_float_parameters("relations", relations, 2),
    )
    check_width(*tables)
    return tables


def complex_tables(entities: npt.ArrayLike, relations: npt.ArrayLike, layout: str) -> tuple[Vectors, Vectors]:
    """Return both tables as real arrays in halves, of equal width."""
    tables = in_halves("entities", entities, layout), in_halves("relations", relations, layout)
    check_width(*tables)
    return tables


def check_width(entities: Vectors, relations: Vectors) -> None:
    """Raise a DataError unless both tables have the same positive number of columns."""
    if entities.shape[1] != relations.shape[1] or not entities.shape[1]:
        raise DataError(
            f"entities and relations must have the same number of columns; got {entities.shape} and {relations.shape}"
        )


def check_same_shape(one: Vectors, other: Vectors) -> None:
    """Raise a DataError unless both tables have the same shape."""
    if one.shape != other.shape:
        raise DataError(f"the two tables must have the same shape; got {one.shape} and {other.shape}")


def norm_geometry(norm: Any, geometries: dict[int, str]) -> str:
    """Return the geometry of `norm`, which must be 1 or 2."""
    if isinstance(norm, bool) or not isinstance(norm, (int, np.integer)) or norm not in geometries:
        raise DataError(f"norm must be 1 or 2; got {norm!r}")
    return geometries[int(norm)]


def in_halves(name: str, values: npt.ArrayLike, layout: str) -> Vectors:
    """Return complex numbers as real rows: all real parts, then all imaginary ones."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        array = np.concatenate([array.real, array.imag], axis=-1)
        layout = "halves"
    return in_parts(name, array, layout, 2)


def in_parts(name: str, values: npt.ArrayLike, layout: str, n_parts: int) -> Vectors:
    """Return `values` with all first parts before all second parts, and so on."""
    check_one_of("layout", layout, LAYOUTS, DataError)
    array = check_float_parameters(name, values, 2)
    if array.shape[1] % n_parts:
        raise DataError(f"{name}: the number of columns must be a multiple of {n_parts}; got shape {array.shape}")
    if layout == "interleaved":
        array = np.hstack([array[:, part::n_parts] for part in range(n_parts)])
    return array


def complex_product(one: Vectors, other: Vectors, conjugate: bool = False) -> Reals:
    """Return ``one * other``, or ``one * conj(other)``, of rows in halves."""
    a, b = np.split(as_double(one), 2, axis=1)
    c, d = np.split(as_double(other), 2, axis=1)
    if conjugate:
        d = -d
    return np.hstack([a * c - b * d, a * d + b * c])


def times_matrices(vectors: Vectors, rows: Ids, matrix: Any) -> Reals:
    """Return each row vector times the matrix of its relation, summed in one fixed order."""
    doubles = as_double(vectors)
    result: Reals = np.zeros(doubles.shape)
    for row in np.unique(rows):
        of_row = np.flatnonzero(rows == row)
        factors = np.asarray(matrix(row), dtype=np.float64)
        inputs = doubles[of_row]
        total = np.zeros_like(inputs)
        for k in range(inputs.shape[1]):
            total += inputs[:, k, None] * factors[k]
        result[of_row] = total
    return result
