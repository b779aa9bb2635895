"""The base class of embedding models, and checks and products for the models.

`EmbeddingModel` holds the tables, the sides and the rows of inverse relations. The modules `distances`, `products`
and `tensors` define the models as its subclasses.
"""

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
    """The base of all models: two tables, their sizes, and the rows of inverse relations.

    Every table may be a numpy array or a torch tensor, but all tables of a model must be of one kind. Tensors are
    detached, stay on their device and are not copied, with these exceptions: float16 and bfloat16 become float32,
    integers become float64, and complex rows become real rows (real parts, then imaginary parts). For tensors, query
    vectors are float64 tensors on that device; on the CPU they equal the query vectors of numpy bit for bit.

    Attributes
    ----------
    geometry : str
        A key of `kgeval.kernels.GEOMETRIES`.
    missing_entities, missing_relations : int64 arrays
        Ids without a vector; their rows are never used. `kgeval.load_model` sets them.
    notes : tuple of str
        Notes about the model for the result of an evaluation.
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
                    f"with inverse relations, the relation table needs an even number of rows; got {relation_rows}"
                )
        self.inverse_relations = inverse_relations
        self.n_entities = len(entities)
        self.n_relations = relation_rows // 2 if inverse_relations else relation_rows
        self._objects: Array = entities
        self._subjects: Array = entities

    def query_vectors(self, side: str, given: Ids, relation: Ids) -> Array:
        """Return the vectors of queries.

        Parameters
        ----------
        side : str
            The missing side of the queries, ``"subject"`` or ``"object"``.
        given, relation : int64 arrays, shape (n,)
            Ids of the given entity and of the relation.

        Returns
        -------
        float64 array or tensor, shape (n, d)
            On the device of the tables.
        """
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
        """Return the exact scores of triples, computed with queries (s, p, ?).

        Parameters
        ----------
        s, p, o : int64 array_like, shape (n,)
            Ids of subjects, relations and objects.

        Returns
        -------
        float64 array, shape (n,)
        """
        s, o = (check_ids(name, ids, self.n_entities, (None,)) for name, ids in (("s", s), ("o", o)))
        p = check_ids("p", p, self.n_relations, (None,))
        queries, objects = self.query_vectors("object", s, p), rows(self.candidate_vectors("object"), o)
        return exact_scores(self.geometry, on_host(queries), on_host(objects))

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        raise TypeError(f"{type(self).__name__} does not define _object_queries()")

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        raise TypeError(f"{type(self).__name__} does not define _subject_queries()")

    def __repr__(self) -> str:
        inverse = f", inverse relations {self.inverse_relations}" if self.inverse_relations else ""
        d = self._objects.shape[1]
        return f"{type(self).__name__}({self.n_entities} entities, {self.n_relations} relations, {d} numbers{inverse})"


def real_tables(**values: npt.ArrayLike) -> tuple[Array, ...]:
    """Return the tables as real arrays with equally many columns; messages use the names of the arguments."""
    tables = {name: check_float_parameters(name, value, 2) for name, value in values.items()}
    check_width(**tables)
    return tuple(tables.values())


def complex_tables(layout: str, **values: npt.ArrayLike) -> tuple[Array, ...]:
    """Return complex tables as real arrays with equally many columns.

    Parameters
    ----------
    layout : str
        As in `in_halves`.
    **values : array_like
        The tables by name; the names appear in messages.

    Returns
    -------
    tuple of real arrays, shapes (n, 2 d)
        Real parts first, then imaginary parts.
    """
    tables = {name: in_halves(name, value, layout) for name, value in values.items()}
    check_width(**tables)
    return tuple(tables.values())


def check_width(**tables: Array) -> None:
    """Raise a DataError unless the tables are on one device and have the same number of columns, at least 1."""
    check_one_place(**tables)
    widths = {table.shape[1] for table in tables.values()}
    if len(widths) > 1 or 0 in widths:
        shapes = " and ".join(str(tuple(table.shape)) for table in tables.values())
        raise DataError(f"{' and '.join(tables)} must have the same number of columns; got {shapes}")


def check_same_shape(one: Array, other: Array) -> None:
    """Raise a DataError unless both tables have the same shape.

    Parameters
    ----------
    one, other : arrays or tensors
    """
    if one.shape != other.shape:
        raise DataError(f"the two tables must have the same shape; got {tuple(one.shape)} and {tuple(other.shape)}")


def norm_geometry(norm: Any, geometries: dict[int, str]) -> str:
    """Return the geometry that belongs to a norm.

    Parameters
    ----------
    norm : int
        1 or 2.
    geometries : dict of int to str
        The geometry of each norm.

    Returns
    -------
    str

    Raises
    ------
    DataError
        If `norm` is not 1 or 2.
    """
    if isinstance(norm, bool) or not isinstance(norm, (int, np.integer)) or norm not in geometries:
        raise DataError(f"norm must be 1 or 2; got {norm!r}")
    return geometries[int(norm)]


def in_halves(name: str, values: npt.ArrayLike, layout: str) -> Array:
    """Return complex numbers as real rows: all real parts, then all imaginary parts.

    Parameters
    ----------
    name : str
        The table's name, for messages.
    values : array_like or torch tensor, complex shape (n, d) or real shape (n, 2 d)
    layout : str
        Order of a real table: ``"halves"``, or ``"interleaved"`` (real part, imaginary part, real part, ...).

    Returns
    -------
    float32 or float64 array or tensor, shape (n, 2 d)
    """
    array = as_array(values)
    if kind_of(array) == "c":
        array = library(array).concatenate([array.real, array.imag], -1)
        layout = "halves"
    return in_parts(name, array, layout, 2)


def in_parts(name: str, values: npt.ArrayLike, layout: str, n_parts: int) -> Array:
    """Return a real table with all first parts before all second parts, and so on.

    Parameters
    ----------
    name : str
        The table's name, for messages.
    values : array_like or torch tensor, shape (n, n_parts * d)
    layout : str
        ``"halves"``: the columns already have this order. ``"interleaved"``: the parts of one number are neighbours.
    n_parts : int
        2 for complex numbers, 4 for quaternions.

    Returns
    -------
    float32 or float64 array or tensor, shape (n, n_parts * d)

    Raises
    ------
    DataError
        If the number of columns is not a multiple of `n_parts`, or the layout is unknown.

    Examples
    --------
    >>> in_parts("entities", [[1.0, 10.0, 2.0, 20.0]], "interleaved", 2)
    array([[ 1.,  2., 10., 20.]])
    """
    check_one_of("layout", layout, LAYOUTS, DataError)
    array = check_float_parameters(name, values, 2)
    if array.shape[1] % n_parts:
        shape = tuple(array.shape)
        raise DataError(f"{name}: the number of columns must be a multiple of {n_parts}; got shape {shape}")
    if layout == "interleaved":
        array = join([array[:, part::n_parts] for part in range(n_parts)])
    return array


def complex_product(one: Array, other: Array, conjugate: bool = False) -> Array:
    """Return the elementwise product of complex rows, ``one * other`` or ``one * conj(other)``.

    Parameters
    ----------
    one, other : float64 arrays or tensors, shape (n, 2 d)
        Real parts first, then imaginary parts, as `in_halves` returns them.
    conjugate : bool
        Whether `other` is conjugated.

    Returns
    -------
    float64 array or tensor, shape (n, 2 d)
    """
    a, b = parts(one, 2)
    c, d = parts(other, 2)
    if conjugate:
        d = -d
    return join([a * c - b * d, a * d + b * c])


def times_matrices(vectors: Array, relation: Ids, matrix: Callable[[int], Array]) -> Array:
    """Return each row vector times the matrix of its relation, summed in one fixed order.

    Parameters
    ----------
    vectors : float64 array or tensor, shape (n, d)
    relation : int64 array, shape (n,)
        The relation of each row.
    matrix : function of an int
        Returns the matrix of a relation, shape (d, d).

    Returns
    -------
    float64 array or tensor, shape (n, d)
    """
    result = library(vectors).zeros_like(vectors)
    for p in np.unique(relation):
        of_relation = np.flatnonzero(relation == p)  # (m,): the rows with this relation
        factors = as_double(matrix(p))  # (d, d)
        inputs = rows(vectors, of_relation)  # (m, d)
        total = library(vectors).zeros_like(inputs)
        # After step k, total[i, j] is the sum over l <= k of inputs[i, l] * factors[l, j].
        for k in range(inputs.shape[1]):
            total += inputs[:, k, None] * factors[k]
        result[like(result, of_relation)] = total
    return result
