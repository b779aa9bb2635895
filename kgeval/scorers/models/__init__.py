"""Embedding models: each model computes scores from trained parameters. Users import this package as `kgeval.models`.

Each model computes query vectors and candidate vectors, and names its geometry: the formula that computes a score from
these two vectors (see `kgeval.kernels.geometry`). A table of parameters has one row per entity, or per relation, in the
order of the ids of the dataset. Tables are numpy arrays (which may be memory-mapped) or torch tensors, which stay on
their device. `bfloat16` makes a table from the bits of bfloat16 numbers, a dtype that numpy does not have.

Some models are trained with an inverse of each relation, and score the query (?, p, o) as (o, inverse of p, ?). Every
model has a parameter ``inverse_relations``. Its value determines the row of the relation table that belongs to the
inverse of relation p:

- ``None``: the model has no inverse relations; the model's formula scores (?, p, o) directly.
- ``"after"``: row ``n_relations + p``, for a dataset with ``n_relations`` relations.
- ``"alternating"``: row ``2 * p + 1``; relation p itself has row ``2 * p``.
"""

from kgeval.base.checks import shows_only
from kgeval.base.discovery import import_modules
from kgeval.kernels.mapped_tables import bfloat16
from kgeval.scorers.models import base
from kgeval.scorers.models.base import MODELS, EmbeddingModel
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER

import_modules(__name__, __path__)  # registers all models, also the models of modules that were added to this folder

__all__ = [
    "CP",
    "MODELS",
    "RESCAL",
    "BatchNorm",
    "ComplEx",
    "DistMult",
    "EmbeddingModel",
    "HolE",
    "QuatE",
    "RotatE",
    "SimplE",
    "TransE",
    "TuckER",
    "base",
    "bfloat16",
]
__dir__ = shows_only(__all__)


def __getattr__(name: str) -> type[EmbeddingModel]:
    """Return the model class `name`, if a module that was added to this folder defines it."""
    for model in MODELS.values():
        if model.__name__ == name:
            return model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
