"""Embedding models: each model computes scores from trained parameters. Users import this package as `kgeval.models`.

Each model names its geometry and computes query and candidate vectors; `kgeval.kernels.geometry` defines
the score. Arrays hold one row per id of the dataset. Tables may also be torch tensors, which stay on their
device. Every model takes ``inverse_relations``. Some models score the query (?, p, o) as
(o, inverse of p, ?); the option tells which row of the relation table belongs to the inverse of relation p:

- ``None``: the model has no inverse relations; the model's formula scores (?, p, o) directly.
- ``"after"``: row ``n_relations + p``.
- ``"alternating"``: row ``2 p + 1``; relation p itself has row ``2 p``.
"""

from kgeval.discovery import import_modules
from kgeval.scorers.models.base import INVERSE_ROWS, LAYOUTS, MODELS, EmbeddingModel
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER

import_modules(__name__, __path__)  # registers all models, also the models of new modules

__all__ = [
    "CP",
    "INVERSE_ROWS",
    "LAYOUTS",
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
]


def __getattr__(name: str) -> type[EmbeddingModel]:
    """Return the model ``kgeval.models.<Name>`` if a new module of this folder defines it."""
    for model in MODELS.values():
        if model.__name__ == name:
            return model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
