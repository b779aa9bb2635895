"""What embedding models share: tables, sides, inverse relations, and the products that keep one order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals, check_ids, check_one_of
from kgeval.errors import DataError
from kgeval.kernels import Array, as_array, as_double, exact_scores, kind_of, library, like, on_host
from kgeval.scorers.models.arithmetic import check_float_parameters, check_one_place, join, parts, rows

LAYOUTS = ("halves", "interleaved")
INVERSE_ROWS = ("after", "alternating")


MODELS: dict[str, type[EmbeddingModel]] = {}  # by name, in lower case


class EmbeddingModel:
    """What all models share: two tables, their sizes, and the rows of inverse relations.

    Every table may be a numpy array or a torch tensor, all of a model alike. Tensors are detached, stay on their
    device and are not copied (float16 and bfloat16 become float32, integers float64, complex numbers halves);
    query vectors are then float64 tensors there, on the CPU bit for bit those of numpy.

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

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.startswith("_") and cls.__module__.startswith(__package__):
            MODELS[cls.__name__.lower()] = cls

    def __init__(self, entities: Array, relation_rows: int, inverse_relations: str | None) -> None:
        if inverse_relations is not None:
            check_one_of("inverse_relations", inverse_relations, INVERSE_ROWS, DataError)
            if relation_rows % 2:
                raise DataError(
                    f"with inverse relations, their table needs an even number of rows; got {relation_rows}"
                )
        self.inverse_relations = inverse_relations
        self.n_entities = len(entities)
        self.n_relations = relation_rows // 2 if inverse_relations else relation_rows
        self._objects: Array = entities
        self._subjects: Array = entities

    def query_vectors(self, side: str, given: Ids, relation: Ids) -> Array:
        """Return one float64 vector per query that asks `side`, shape (n, d), on the device of the tables."""
        if side == "object":
            return self._object_queries(given, relation * 2 if self.inverse_relations == "alternating" else relation)
        if self.inverse_relations == "after":
            return self._object_queries(given, relation + self.n_relations)
        if self.inverse_relations == "alternating":
            return self._object_queries(given, 2 * relation + 1)
        return self._subject_queries(relation, given)

    def candidate_vectors(self, side: str) -> Array:
        """Return one vector per entity, shape (entities, d), not copied."""
        return self._subjects if side == "subject" and self.inverse_relations is None else self._objects

    def score(self, s: Ids, p: Ids, o: Ids) -> Reals:
        """Return the exact float64 scores of triples of ids, as the object side has them, shape (n,)."""
        s, o = (check_ids(name, ids, self.n_entities, (None,)) for name, ids in (("s", s), ("o", o)))
        p = check_ids("p", p, self.n_relations, (None,))
        queries, objects = self.query_vectors("object", s, p), rows(self.candidate_vectors("object"), o)
        return exact_scores(self.geometry, on_host(queries), on_host(objects))

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        raise TypeError(f"{type(self).__name__} does not say how it queries objects")

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        raise TypeError(f"{type(self).__name__} does not say how it queries subjects")

    def __repr__(self) -> str:
        inverse = f", inverse relations {self.inverse_relations}" if self.inverse_relations else ""
        d = self._objects.shape[1]
        return f"{type(self).__name__}({self.n_entities} entities, {self.n_relations} relations, {d} numbers{inverse})"


def real_tables(**values: npt.ArrayLike) -> tuple[Array, ...]:
    """Return the named tables as real arrays of equal width."""
    tables = {name: check_float_parameters(name, value, 2) for name, value in values.items()}
    check_width(**tables)
    return tuple(tables.values())


def complex_tables(layout: str, **values: npt.ArrayLike) -> tuple[Array, ...]:
    """Return the named tables as real arrays in halves, of equal width."""
    tables = {name: in_halves(name, value, layout) for name, value in values.items()}
    check_width(**tables)
    return tuple(tables.values())


def check_width(**tables: Array) -> None:
    """Raise a DataError unless the tables lie in one place and have the same positive number of columns."""
    check_one_place(**tables)
    widths = {table.shape[1] for table in tables.values()}
    if len(widths) > 1 or 0 in widths:
        shapes = " and ".join(str(tuple(table.shape)) for table in tables.values())
        raise DataError(f"{' and '.join(tables)} must have the same number of columns; got {shapes}")


def check_same_shape(one: Array, other: Array) -> None:
    """Raise a DataError unless both tables have the same shape."""
    if one.shape != other.shape:
        raise DataError(f"the two tables must have the same shape; got {tuple(one.shape)} and {tuple(other.shape)}")


def norm_geometry(norm: Any, geometries: dict[int, str]) -> str:
    """Return the geometry of `norm`, which must be 1 or 2."""
    if isinstance(norm, bool) or not isinstance(norm, (int, np.integer)) or norm not in geometries:
        raise DataError(f"norm must be 1 or 2; got {norm!r}")
    return geometries[int(norm)]


def in_halves(name: str, values: npt.ArrayLike, layout: str) -> Array:
    """Return complex numbers as real rows: all real parts, then all imaginary ones."""
    array = as_array(values)
    if kind_of(array) == "c":
        array = library(array).concatenate([array.real, array.imag], -1)
        layout = "halves"
    return in_parts(name, array, layout, 2)


def in_parts(name: str, values: npt.ArrayLike, layout: str, n_parts: int) -> Array:
    """Return `values` with all first parts before all second parts, and so on."""
    check_one_of("layout", layout, LAYOUTS, DataError)
    array = check_float_parameters(name, values, 2)
    if array.shape[1] % n_parts:
        shape = tuple(array.shape)
        raise DataError(f"{name}: the number of columns must be a multiple of {n_parts}; got shape {shape}")
    if layout == "interleaved":
        array = join([array[:, part::n_parts] for part in range(n_parts)])
    return array


def complex_product(one: Array, other: Array, conjugate: bool = False) -> Array:
    """Return ``one * other``, or ``one * conj(other)``, of float64 rows in halves."""
    a, b = parts(one, 2)
    c, d = parts(other, 2)
    if conjugate:
        d = -d
    return join([a * c - b * d, a * d + b * c])


def times_matrices(vectors: Array, relation: Ids, matrix: Callable[[int], Array]) -> Array:
    """Return each row of float64 `vectors` times the matrix of its relation, summed in one fixed order."""
    result = library(vectors).zeros_like(vectors)
    for p in np.unique(relation):
        of_relation = np.flatnonzero(relation == p)
        factors = as_double(matrix(p))
        inputs = rows(vectors, of_relation)
        total = library(vectors).zeros_like(inputs)
        for k in range(inputs.shape[1]):
            total += inputs[:, k, None] * factors[k]
        result[like(result, of_relation)] = total
    return result
