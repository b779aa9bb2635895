"""Ready embedding models: parameters in, scores out.

Each model says its geometry and gives query and candidate vectors; `kgeval.kernels.geometry` defines
the score. Arrays hold one row per id of the dataset; torch tensors serve as well, and stay on their
device. Every model takes ``inverse_relations``, which says where the rows of inverse relations stand
if (?, p, o) is to be answered as (o, inverse of p, ?):

- ``None``: there are none; the subject side uses the model's own formula.
- ``"after"``: row ``n_relations + p``.
- ``"alternating"``: relation p has row ``2 p``, its inverse row ``2 p + 1``.
"""

from kgeval.discovery import import_modules
from kgeval.scorers.models.base import INVERSE_ROWS, LAYOUTS, MODELS, EmbeddingModel
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER

import_modules(__name__, __path__)  # so that a model in a file of its own is found

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
    """Return a model of a file of its own, as ``kgeval.models.<Name>``."""
    for model in MODELS.values():
        if model.__name__ == name:
            return model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
