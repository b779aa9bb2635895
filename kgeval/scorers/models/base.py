"""`EmbeddingModel`, the base class of embedding models, and the functions that its subclasses share.

The functions check tables, change the order of columns and compute products. The modules `distances`, `products` and
`tensors` define the subclasses.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals, check_ids, check_one_of
from kgeval.errors import DataError
from kgeval.kernels.arrays import Array, as_array, as_double, kind_of, library, like, on_host
from kgeval.kernels.geometry import exact_scores
from kgeval.kernels.mapped_tables import check_file, packed, unpacked
from kgeval.scorers.models.arithmetic import (
    check_float_parameters,
    check_one_place,
    converted,
    join,
    parts,
    plain_parameters,
    rows,
)

SETTABLE = ("missing_entities", "missing_relations")  # attributes that may be assigned, because they are not tables
LAYOUTS = ("halves", "interleaved")
INVERSE_ROWS = ("after", "alternating")
NORMALISATIONS = ("none", "entities-l1", "entities-l2", "all-l2")


MODELS: dict[str, type[EmbeddingModel]] = {}  # key: the name of the class in lower case


class EmbeddingModel:
    """The base class of all embedding models; a subclass computes the vectors of queries from its tables.

    The tables of a model hold its parameters. All tables are numpy arrays, or all are torch tensors on one device.
    Tensors are detached and stay on their device. Most tensors are not copied, but some are converted: float16 and
    bfloat16 to float32, integers to float64, and complex rows to real rows (real parts, then imaginary parts). If the
    tables are tensors, query vectors are float64 tensors on the same device. On the CPU, these vectors equal the query
    vectors of a model with the same numbers in numpy arrays, bit for bit.

    Tables of entities may be memory-mapped (``np.load("entities.npy", mmap_mode="r")``). They are not copied: if a
    converted table would need more than 256 MiB, its rows are converted when they are read. If a table is mapped for
    reading only, a pickle of the model contains the path of the table's file instead of the table's numbers.

    The tensors or arrays from which a model was made may change, for example in a training step. Each evaluation and
    each call of `score` uses their current values: `refresh` makes all tables anew, including converted tables. The
    tables and settings of a model cannot be assigned, because the other parts of the model would not change with them:
    make a new model.

    Attributes
    ----------
    geometry : str
        The formula of the scores: a key of `kgeval.kernels.geometry.GEOMETRIES`.
    missing_entities, missing_relations : int64 arrays
        Ids of the entities and relations that have no vector; the rows with these ids are never used.
        `kgeval.load_model` sets both attributes.
    notes : tuple of str
        Notes about the model; the notes of an evaluation's result contain these notes. The first note is `description`.
    """

    geometry: str = "dot"
    missing_entities: Ids = np.zeros(0, dtype=np.int64)
    missing_relations: Ids = np.zeros(0, dtype=np.int64)
    notes: tuple[str, ...] = ()
    _made_of: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # the arguments of the constructor
    _is_made = False  # whether the constructor has finished

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = _recorded(cls.__init__)  # type: ignore[method-assign]
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
        self.notes = (self.description,)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; in a finished model, raise an AttributeError for tables and constructor parameters."""
        if self._is_made and name not in SETTABLE:
            is_fixed = name == "geometry" or name in inspect.signature(type(self)).parameters
            if is_fixed or _may_change(vars(self).get(name)):
                kind = type(self).__name__
                raise AttributeError(
                    f"{kind}: {name} cannot be assigned, since the other parts of the model would not change with it. "
                    f"Change the numbers in the arrays or tensors that were given to {kind}, or make a new {kind}"
                )
        super().__setattr__(name, value)

    @property
    def description(self) -> str:
        """The model and its settings in words, for example ``"TransE, L1, 100 dimensions, no inverse relations"``."""
        inverse = f"inverse relations {self.inverse_relations}" if self.inverse_relations else "no inverse relations"
        return ", ".join([type(self).__name__, *self._details(), inverse])

    def _details(self) -> list[str]:
        """Return the parts of the description that come between the name of the model and its inverse relations."""
        return [f"{self._objects.shape[1]} dimensions"]

    @classmethod
    def unsaid(cls, values: dict[str, Any]) -> list[str]:
        """Return the names of the settings that change the scores, but are not in `values`.

        `load_model` calls this method. A parameter of the model counts as a setting that changes the scores if it has a
        default other than None.

        Parameters
        ----------
        values : dict of str to object
            The tables and settings that the file or the caller gives.

        Examples
        --------
        >>> MODELS["transe"].unsaid({"entities": np.ones((3, 2)), "relations": np.ones((1, 2)), "norm": 1})
        ['normalise']
        """
        settings = [p.name for p in inspect.signature(cls).parameters.values() if p.default not in (p.empty, None)]
        kinds = {kind_of(value) for value in values.values() if getattr(value, "ndim", 0) >= 2}
        if kinds == {"c"}:  # only real columns have a layout
            settings = [name for name in settings if name != "layout"]
        return [name for name in settings if name not in values]

    def refresh(self) -> None:
        """Make the tables anew from the tensors or arrays from which the model was made.

        A table that shares memory with a tensor changes with the tensor, but a converted table (such as the rotations
        of `RotatE`, computed from phases) does not. Without this method, the model would be a mixture of old and new
        parameters.

        Raises
        ------
        DataError
            If a mapped file became shorter.
        """
        arguments, options = self._made_of or ((), {})
        for table in (*arguments, *options.values(), *vars(self).values()):
            check_file(table)
        if self._made_of is not None:
            current = type(self)(*arguments, **options)
            vars(self).update((name, value) for name, value in vars(current).items() if _may_change(value))

    def freeze(self) -> None:
        """Keep the current tables, and drop the arrays from which the model was made; `refresh` then does nothing.

        Call this method if no other object uses these arrays, for example if they were read from a file.
        """
        self._made_of = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle; see `packed`."""
        places: dict[int, Any] = {}  # by id: a table that several attributes share is packed once
        state: dict[str, Any] = _mapped(vars(self), lambda value: places.setdefault(id(value), packed(value)))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a model from a pickle; its memory-mapped tables are mapped again."""
        tables: dict[int, Any] = {}

        def table(value: Any) -> Any:
            if id(value) not in tables:
                tables[id(value)] = unpacked(value)
            return tables[id(value)]

        vars(self).update(_mapped(state, table))

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
        """Return the vectors of all entities as candidates for `side`, shape (entities, d); not copied."""
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
        self.refresh()
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


def _may_change(value: Any) -> bool:
    """Return whether `value` is a tensor, a numpy array or a data frame."""
    return hasattr(value, "__array__")


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return `value` with `change` applied to each value in nested dicts and tuples."""
    if type(value) is dict:
        return {key: _mapped(part, change) for key, part in value.items()}
    return tuple(_mapped(part, change) for part in value) if type(value) is tuple else change(value)


def _recorded(constructor: Callable[..., None]) -> Callable[..., None]:
    """Wrap the constructor of a model; the model then keeps the arguments, for `EmbeddingModel.refresh`."""

    @functools.wraps(constructor)
    def construct(self: EmbeddingModel, *arguments: Any, **options: Any) -> None:
        is_outermost = "_made_of" not in vars(self)  # False if the constructor of a subclass called this constructor
        if is_outermost:
            self._made_of = (arguments, options) if any(map(_may_change, (*arguments, *options.values()))) else None
        constructor(self, *arguments, **options)
        if is_outermost:
            self._is_made = True

    return construct


def real_tables(**values: npt.ArrayLike) -> tuple[Array, ...]:
    """Check real tables, given by name, and return them as arrays; all must have the same number of columns."""
    tables = {name: check_float_parameters(name, value, 2) for name, value in values.items()}
    check_width(**tables)
    return tuple(tables.values())


def complex_tables(layout: str, **values: npt.ArrayLike) -> tuple[Array, ...]:
    """Check complex tables and return them as real arrays; all must have the same number of columns.

    Parameters
    ----------
    layout : str
        As in `in_halves`.
    **values : array_like
        The tables by name; the names appear in messages.

    Returns
    -------
    tuple of real arrays, shapes (n, 2 * d)
        In each row, d real parts, then d imaginary parts.
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


def check_same_shape(first: Array, second: Array) -> None:
    """Raise a DataError unless both tables have the same shape.

    Parameters
    ----------
    first, second : arrays or tensors
    """
    if first.shape != second.shape:
        raise DataError(f"the two tables must have the same shape; got {tuple(first.shape)} and {tuple(second.shape)}")


def norm_geometry(norm: Any, geometries: dict[int, str]) -> str:
    """Return the geometry (the name of the score's formula) that belongs to a norm.

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
    """Return a table of complex numbers as real numbers: in each row, all real parts, then all imaginary parts.

    Parameters
    ----------
    name : str
        The table's name, for messages.
    values : array_like or torch tensor, complex, shape (n, d), or real, shape (n, 2 * d)
    layout : str
        Order of the columns of a real table: ``"halves"`` (all real parts, then all imaginary parts) or
        ``"interleaved"`` (real part, imaginary part, real part, ...).

    Returns
    -------
    float32 or float64 array or tensor, shape (n, 2 * d)
    """
    array = plain_parameters(name, values)
    if kind_of(array) == "c":
        array = converted(name, _real_rows, array)
        layout = "halves"
    return in_parts(name, array, layout, 2)


def in_parts(name: str, values: npt.ArrayLike, layout: str, n_parts: int) -> Array:
    """Return the table with its columns in this order: all first parts, then all second parts, and so on.

    The parts are the real and the imaginary part of each complex number, or the four components of each quaternion.

    Parameters
    ----------
    name : str
        The table's name, for messages.
    values : array_like or torch tensor, shape (n, n_parts * d)
    layout : str
        ``"halves"``: the columns already have this order. ``"interleaved"``: the parts of one number are in
        neighbouring columns.
    n_parts : int
        2 for complex numbers, 4 for quaternions.

    Returns
    -------
    float32 or float64 array or tensor, shape (n, n_parts * d)

    Raises
    ------
    DataError
        If the number of columns is not a multiple of `n_parts`, or if the layout is unknown.

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
        array = converted(name, functools.partial(_in_order_of_parts, n_parts), array)
    return array


def _real_rows(rows: Array) -> Array:
    """Return complex rows as real rows: all real parts, then all imaginary parts."""
    return library(rows).concatenate([rows.real, rows.imag], -1)


def _in_order_of_parts(n_parts: int, rows: Array) -> Array:
    """Return rows with the columns of all first parts, then the columns of all second parts, and so on."""
    return join([rows[:, part::n_parts] for part in range(n_parts)])


def described_layout(values: npt.ArrayLike, layout: str) -> str:
    """Return the layout of a table in brackets, for a description; ``""`` if the table is complex.

    Parameters
    ----------
    values : array_like or torch tensor
    layout : str

    Examples
    --------
    >>> described_layout(np.ones((3, 2)), "halves")
    ' (halves)'
    """
    return "" if kind_of(as_array(values)) == "c" else f" ({layout})"


def complex_product(left: Array, right: Array, conjugate: bool = False) -> Array:
    """Return the elementwise product of complex rows, ``left * right`` or ``left * conj(right)``.

    Parameters
    ----------
    left, right : float64 arrays or tensors, shape (n, 2 * d)
        In each row, d real parts, then d imaginary parts, as `in_halves` returns them.
    conjugate : bool
        Whether `right` is conjugated.

    Returns
    -------
    float64 array or tensor, shape (n, 2 * d)
    """
    a, b = parts(left, 2)
    c, d = parts(right, 2)
    if conjugate:
        d = -d
    return join([a * c - b * d, a * d + b * c])


def times_matrices(vectors: Array, relation: Ids, matrix: Callable[[int], Array]) -> Array:
    """Multiply each row of `vectors` by the matrix of the row's relation; sums are always added in the same order.

    Parameters
    ----------
    vectors : float64 array or tensor, shape (n, d)
    relation : int64 array, shape (n,)
        The relation of each row of `vectors`.
    matrix : function of an int
        A function that takes the id of a relation and returns the relation's matrix, shape (d, d).

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
