"""Models whose score is minus a distance: TransE and RotatE. Users import them from `kgeval.models`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, check_number, check_one_of, names_unknown_arguments, warn_user
from kgeval.errors import DataError
from kgeval.kernels.arrays import Array, as_double, kind_of, library, like, on_host
from kgeval.kernels.derived import squared_l2
from kgeval.scorers.models.arithmetic import (
    SMALLEST_NORM,
    converted,
    parts,
    plain_parameters,
    row_sums,
    rows,
    square_root,
)
from kgeval.scorers.models.base import (
    NORMALISATIONS,
    EmbeddingModel,
    check_width,
    complex_product,
    described_layout,
    in_halves,
    norm_geometry,
    real_tables,
)

UNIT_TOLERANCE = 1e-3
# Phases of a trained model are spread over a whole turn. If MIN_PHASES phases are uniform, the probability that all of
# them lie within SMALL_PHASE of 0 is about 1e-8.
MIN_PHASES, SMALL_PHASE = 10, 0.5


@names_unknown_arguments(p="norm=")
class TransE(EmbeddingModel):
    """Score: minus the distance between s + p and o (the vectors of subject, relation and object).

    Parameters
    ----------
    entities, relations : real arrays, shapes (entities, d) and (relations, d)
    norm : int
        1: sum of the absolute differences; 2: Euclidean distance.
    inverse_relations : str, optional
        See `kgeval.models`.
    normalise : str
        The vectors that the model divides by their norms before it computes the distance.
        ``"none"``: no vectors.
        ``"entities-l1"``, ``"entities-l2"``: the entity vectors, by their L1 or L2 norms. TorchKGE uses the L2 norm;
        PyTorch Geometric uses the norm that `norm` chooses.
        ``"all-l2"``: the vectors of entities and relations, by their L2 norms, as in OpenKE.
    power_norm : bool, optional
        True: if `norm` is 2, the scores are minus the squared distances, as with ``power_norm`` in PyKEEN; if `norm` is
        1, nothing changes. By default, the scores are minus the distances.

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
        normalise: str = "none",
        power_norm: bool | None = None,
    ) -> None:
        self.entities, self.relations = real_tables(entities=entities, relations=relations)
        self._norm_text = norm_geometry(norm, {1: "L1", 2: "squared L2" if power_norm else "L2"})
        self.geometry = squared_l2() if self._norm_text == "squared L2" else self._norm_text.lower()
        self.normalise = check_one_of("normalise", normalise, NORMALISATIONS, DataError)
        if normalise != "none":
            divided, _, row_norm = normalise.partition("-")
            self.entities = converted("entities", partial(_normalised, row_norm), self.entities)
            if divided == "all":
                self.relations = _normalised(row_norm, self.relations)
        super().__init__(self.entities, len(self.relations), inverse_relations)

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return rows(self.entities, s) + rows(self.relations, row)

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return rows(self.entities, o) - rows(self.relations, row)

    def _details(self) -> list[str]:
        divided = {
            "none": [],
            "entities-l1": ["entities divided by their L1 norms"],
            "entities-l2": ["entities divided by their L2 norms"],
            "all-l2": ["entities and relations divided by their L2 norms"],
        }
        return [self._norm_text, *super()._details(), *divided[self.normalise]]


def _normalised(row_norm: str, table: Array) -> Array:
    """Return a float64 copy of `table` with each row divided by its norm; `row_norm` is ``"l1"`` or ``"l2"``."""
    table = as_double(table)
    norms = row_sums(library(table).abs(table)) if row_norm == "l1" else square_root(row_sums(table * table))
    return table / library(norms).clip(norms, SMALLEST_NORM, None)[:, None]


@names_unknown_arguments(p="norm=")
class RotatE(EmbeddingModel):
    """Score: minus the distance between the complex vectors s * p and o; each number of p has modulus 1.

    s, p and o are the vectors of subject, relation and object; * multiplies element by element.

    Parameters
    ----------
    entities : complex array, shape (entities, d), or real array, shape (entities, 2 * d)
    relations : array
        Either rotations, as a complex or real array like `entities`, where every complex number has modulus 1 (within
        0.001); or phases, as a real array of shape (relations, d).
    norm : int
        1: sum of the moduli of the differences, as in the paper's code; 2: Euclidean norm of the differences.
    layout : str
        Order of real arrays: ``"halves"`` (all real parts, then all imaginary parts) or ``"interleaved"``.
    inverse_relations : str, optional
        See `kgeval.models`.
    phase_unit : float, optional
        The angle, in radians, that corresponds to a phase of 1; by default 1, that is, phases are in radians.
        Parameters of the paper's code need ``pi * hidden_dim / (gamma + 2)``.

    Notes
    -----
    If `phase_unit` is not given and all phases are small, a KgevalWarning and a note of the model warn that the phases
    may have another unit than radians.

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
        phase_unit: float | None = None,
    ) -> None:
        phases = plain_parameters("relations", relations)
        self._relations_text, caution = "rotations", ""
        self._layout_text = described_layout(entities, layout)
        self.entities = in_halves("entities", entities, layout)
        if _are_phases(phases, self.entities.shape[1] // 2):
            angles = on_host(as_double(phases))  # on the host, since devices round `exp` differently
            unit = 1.0 if phase_unit is None else phase_unit
            check_number("phase_unit", unit, 0, np.inf, "a number above 0: the angle, in radians, of a phase of 1")
            self._relations_text = "phases in radians" if unit == 1 else f"phases in units of {unit:.6g} radians"
            caution = _small_phases(angles) if phase_unit is None else ""
            relations = like(phases, np.exp(1j * (unit * angles)))
        elif phase_unit is not None:
            raise DataError("phase_unit needs phases: real relations with half as many columns as real entities")
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
        if caution:
            self.notes += (caution,)
            warn_user(caution)

    @classmethod
    def unsaid(cls, values: dict[str, Any]) -> list[str]:
        """See `EmbeddingModel.unsaid`.

        If the relations are phases, `phase_unit` must be given, and `layout` need not be given when the entity table is
        complex.
        """
        names, entities, relations = super().unsaid(values), values["entities"], values["relations"]
        n_numbers = entities.shape[1] // (1 if kind_of(entities) == "c" else 2)
        if not _are_phases(relations, n_numbers):
            return names
        unit = [] if "phase_unit" in values else ["phase_unit"]
        return [name for name in names if name != "layout" or kind_of(entities) != "c"] + unit

    def _object_queries(self, s: Ids, row: Ids) -> Array:
        return complex_product(rows(self.entities, s), rows(self.relations, row))

    def _subject_queries(self, row: Ids, o: Ids) -> Array:
        return complex_product(rows(self.entities, o), rows(self.relations, row), conjugate=True)

    def _details(self) -> list[str]:
        norm = "L1 norm of moduli" if self.geometry == "modulus" else "L2"
        size = f"{self.entities.shape[1] // 2} complex dimensions{self._layout_text}"
        return [norm, size, f"relations as {self._relations_text}"]


def _are_phases(relations: Array, n_numbers: int) -> bool:
    """Return whether a relation table contains phases: real numbers, with one column per complex dimension."""
    return relations.ndim == 2 and kind_of(relations) == "f" and int(relations.shape[1]) == n_numbers


def _small_phases(angles: npt.NDArray[Any]) -> str:
    """Return a caution if all phases are so small that their unit may not be radians; else ``""``."""
    largest = float(np.nanmax(np.abs(angles))) if not np.isnan(angles).all() else np.inf
    if angles.size < MIN_PHASES or not 0 < largest < SMALL_PHASE:
        return ""
    return (
        f"RotatE: no phase of the relations is beyond {largest:.2g}, though phases in radians usually lie between "
        "-3.14 and 3.14. If the phases have another unit, set phase_unit= (for the paper's code: pi * hidden_dim / "
        "(gamma + 2)); phase_unit=1 means radians"
    )
