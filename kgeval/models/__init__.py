"""Ready embedding models: parameters in, scores out.

Each model says its geometry and gives query and candidate vectors; `kgeval.kernels.geometry` defines
the score. Arrays hold one row per id of the dataset; torch tensors serve as well, and stay on their
device. Every model takes ``inverse_relations``, which says where the rows of inverse relations stand
if (?, p, o) is to be answered as (o, inverse of p, ?):

- ``None``: there are none; the subject side uses the model's own formula.
- ``"after"``: row ``n_relations + p``.
- ``"alternating"``: relation p has row ``2 p``, its inverse row ``2 p + 1``.
"""

from kgeval.models.base import INVERSE_ROWS, LAYOUTS, EmbeddingModel
from kgeval.models.distances import RotatE, TransE
from kgeval.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.models.tensors import RESCAL, BatchNorm, TuckER

MODELS: dict[str, type[EmbeddingModel]] = {
    model.__name__.lower(): model
    for model in (TransE, DistMult, ComplEx, RotatE, RESCAL, SimplE, CP, HolE, QuatE, TuckER)
}

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
