"""Embedding models that are ready to use: parameters in, scores out. Users see them as `kgeval.models`.

Each model names its geometry and computes query and candidate vectors; `kgeval.kernels.geometry` defines
the score. Arrays hold one row per id of the dataset. Tables may also be torch tensors, which stay on their
device. Every model takes ``inverse_relations``. Some models answer the query (?, p, o) as (o, inverse of p, ?);
the option tells which row of the relation table belongs to the inverse of relation p:

- ``None``: there are no inverse relations; the subject side uses the model's formula.
- ``"after"``: row ``n_relations + p``.
- ``"alternating"``: relation p has row ``2 p``, its inverse row ``2 p + 1``.
"""

from kgeval.discovery import import_modules
from kgeval.scorers.models.base import INVERSE_ROWS, LAYOUTS, MODELS, EmbeddingModel
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER

import_modules(__name__, __path__)  # so that a model in a new module is found

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
    """Return a model that a further module of this folder defines, as ``kgeval.models.<Name>``."""
    for model in MODELS.values():
        if model.__name__ == name:
            return model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
