"""RESCAL and TuckER, models with a matrix or a core tensor between the vectors; and the `BatchNorm` of TuckER.

Users import them from `kgeval.models`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals, names_unknown_arguments
from kgeval.errors import DataError
from kgeval.kernels.arrays import Array, as_double, library, like, on_host
from kgeval.scorers.models.arithmetic import check_float_parameters, check_one_place, converted, join, row_sums, rows
from kgeval.scorers.models.base import EmbeddingModel, times_matrices


@names_unknown_arguments()
class RESCAL(EmbeddingModel):
    """Score: s' W o, with the subject vector s (s' is its transpose), the relation matrix W and the object vector o.

    Parameters
    ----------
    entities : real array, shape (entities, d)
    relations : real array, shape (relations, d, d)
        One matrix per relation; the first index of the matrix belongs to the subject, the second to the object.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Nickel et al. (2011), A Three-Way Model for Collective Learning on Multi-Relational Data, ICML.

    Examples
    --------
    >>> RESCAL([[1.0, 0.0], [0.0, 1.0]], [[[0.0, 5.0], [7.0, 0.0]]]).score([0, 1], [0, 0], [1, 0])
    array([5., 7.])
    """

    def __init__(self, entities: npt.ArrayLike, relations: npt.ArrayLike, inverse_relations: str | None = None) -> None:
        self.entities = check_float_parameters("entities", entities, 2)
        self.relations = check_float_parameters("relations", relations, 3)
        check_one_place(entities=self.entities, relations=self.relations)
        d = self.entities.shape[1]
        if not d or self.relations.shape[1:] != (d, d):
            raise DataError(f"relations must have shape (relations, {d}, {d}); got {tuple(self.relations.shape)}")
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return times_matrices(rows(self.entities, s), row, lambda p: self.relations[p])

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return times_matrices(rows(self.entities, o), row, lambda p: self.relations[p].T)


@names_unknown_arguments()
class TuckER(EmbeddingModel):
    """Score: the core tensor multiplied by the vectors of subject, relation and object.

    Parameters
    ----------
    entities : real array, shape (entities, d)
    relations : real array, shape (relations, d_relation)
    core : real array, shape (d, d_relation, d)
        The three indices belong to subject, relation and object, in this order.
    subject_norm : BatchNorm, optional
        Normalises the subject vector.
    product_norm : BatchNorm, optional
        Normalises the product of subject vector, relation vector and core.
    inverse_relations : str, optional
        See `kgeval.models`.

    References
    ----------
    Balazevic et al. (2019), TuckER: Tensor Factorization for Knowledge Graph Completion, EMNLP.

    Examples
    --------
    >>> TuckER([[1.0, 0.0], [0.0, 1.0]], [[2.0]], [[[0.0, 5.0]], [[7.0, 0.0]]]).score([0], [0], [1])
    array([10.])
    """

    def __init__(
        self,
        entities: npt.ArrayLike,
        relations: npt.ArrayLike,
        core: npt.ArrayLike,
        subject_norm: BatchNorm | None = None,
        product_norm: BatchNorm | None = None,
        inverse_relations: str | None = None,
    ) -> None:
        self.entities = check_float_parameters("entities", entities, 2)
        self.relations = check_float_parameters("relations", relations, 2)
        self.core = check_float_parameters("core", core, 3)
        check_one_place(entities=self.entities, relations=self.relations, core=self.core)
        d = self.entities.shape[1]
        if not d or self.core.shape != (d, self.relations.shape[1], d):
            raise DataError(f"core must have shape {(d, self.relations.shape[1], d)}; got {tuple(self.core.shape)}")
        (self._scale_in, self._shift_in), (self._scale_out, self._shift_out) = (
            [like(self.entities, values) for values in (norm.affine(d) if norm else (np.ones(d), np.zeros(d)))]
            for norm in (subject_norm, product_norm)
        )
        self._norms = {"subject": subject_norm, "product": product_norm}
        super().__init__(self.entities, len(self.relations), inverse_relations)
        if inverse_relations is None:  # add a column of ones, which is multiplied by the constant of a query
            self._subjects = converted("entities", _with_ones, self.entities)

    def _details(self) -> list[str]:
        normed = [f"the {part} (eps {norm._eps:g})" for part, norm in self._norms.items() if norm]
        normalised = f"batch normalisation of {' and '.join(normed)}" if normed else "no batch normalisation"
        return [f"{self.entities.shape[1]} x {self.relations.shape[1]} dimensions", normalised]

    def _matrix(self, row: int) -> Array:
        """Return the product of the core tensor and one relation vector, float64, shape (d, d)."""
        weights = as_double(self.relations[row])
        total = like(self.core, np.zeros((self.core.shape[0], self.core.shape[2])))
        for k in range(len(weights)):
            total += as_double(self.core[:, k]) * weights[k]
        return total

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        inputs = rows(self.entities, s) * self._scale_in + self._shift_in
        return times_matrices(inputs, row, self._matrix) * self._scale_out + self._shift_out

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        outputs = rows(self.entities, o)
        weights = times_matrices(outputs * self._scale_out, row, lambda p: self._matrix(p).T)
        constant = row_sums(weights * self._shift_in) + row_sums(outputs * self._shift_out)
        return join([weights * self._scale_in, constant])


def _with_ones(rows: Array) -> Array:
    """Return rows with a further column of ones."""
    return join([rows, library(rows).ones_like(rows[:, 0])])


@names_unknown_arguments()
class BatchNorm:
    """Batch normalisation after training: (x - mean) / sqrt(var + eps) * weight + bias.

    Parameters
    ----------
    weight, bias, mean, var : real arrays, shape (d,)
        Tensors are copied to the host, so they may be on another device than the model.
    eps : float
        Added to the variance.

    Examples
    --------
    >>> BatchNorm([1.0], [0.0], [2.0], [4.0], eps=0.0).affine(1)
    (array([0.5]), array([-1.]))
    """

    def __init__(
        self,
        weight: npt.ArrayLike,
        bias: npt.ArrayLike,
        mean: npt.ArrayLike,
        var: npt.ArrayLike,
        eps: float = 1e-5,
    ) -> None:
        self._values = {"weight": weight, "bias": bias, "mean": mean, "var": var}
        self._eps = eps
        self._terms()  # raises an error for wrong parameters

    def affine(self, d: int) -> tuple[Reals, Reals]:
        """Return scale and shift, float64, shape (d,) each: the normalisation maps x to scale * x + shift.

        Scale and shift are computed from the current values of the parameters.
        """
        scale, shift = self._terms()
        if scale.shape != (d,):
            raise DataError(f"parameters of the batch normalisation must have shape ({d},); got {scale.shape}")
        return scale, shift

    def _terms(self) -> tuple[Reals, Reals]:
        arrays = {
            name: on_host(as_double(check_float_parameters(name, value, 1))) for name, value in self._values.items()
        }
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) > 1:
            raise DataError(f"parameters of a batch normalisation must have the same shape; got {sorted(shapes)}")
        if not (arrays["var"] + self._eps > 0).all():
            raise DataError("batch normalisation needs var + eps above 0")
        scale = arrays["weight"] / np.sqrt(arrays["var"] + self._eps)
        return scale, arrays["bias"] - arrays["mean"] * scale
