"""The adapter of live models of PyKEEN, and of the result of its pipeline.

Scores come from ``predict_t`` and ``predict_h``, which take the relation ids of the triples factory. ``score_t`` and
``score_h`` take other ids if a model has inverse relations. Traps:

- ``predict_*`` call ``model.eval()`` and leave this mode on; the adapter restores the modes of all parts.
- R-GCN and CompGCN keep the output of their message passing until the next training step. An evaluation must not use an
  output that was computed with dropout, and must not leave behind an output without gradients.
- The ids are those of the training factory, which may lack entities of test.
- An inductive model has one set of entities for each mode, so the user must give the mode.
- A final sigmoid (``predict_with_sigmoid``) can make different scores equal in float32.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.adapters.base import IdMap, LibraryScorer, LiveModel, map_ids
from kgeval.adapters.geometry import certified
from kgeval.base.checks import Ids, check_one_of
from kgeval.data.dataset import Dataset
from kgeval.data.library_objects import library_labels
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import Array
from kgeval.scorers.models import EmbeddingModel

BATCH_BYTES = 1 << 28  # of the vectors of all pairs of queries and candidates that PyKEEN may make at a time
METHODS = ("predict_t", "predict_h", "score_t", "score_h")
MODES = ("training", "validation", "testing")
MESSAGES = ("enriched_representations", "enriched_embeddings")  # CompGCN and R-GCN keep their output in these
SIGMOID = (
    "predict_with_sigmoid is on: the scores are sigmoids, which are equal in float32 if they are rounded to 0 or 1; "
    "such ties may come from the sigmoid (model.predict_with_sigmoid = False ranks the scores without it)"
)


def adapt(model: Any, ids: Any = None) -> PyKEENModel:
    """Return the adapter of a model of PyKEEN or of the result of its pipeline; see `kgeval.adapters.from_model`.

    Parameters
    ----------
    model : pykeen.models.Model or pykeen.pipeline.PipelineResult
    ids : object, optional
    """
    if not hasattr(model, "predict_t") and hasattr(model, "model") and hasattr(model, "training"):
        labels = library_labels(model.training)
        return PyKEENModel(model.model, ids, None if labels is None else (labels.entities, labels.relations))
    return PyKEENModel(model, ids)


@dataclass(frozen=True)
class PyKEENModel(LiveModel):
    """A live model of PyKEEN, not yet bound to a dataset.

    Parameters
    ----------
    model, ids
        See `LiveModel`.
    own_labels : two sequences of str, optional
        The labels of the training factory, for the result of a pipeline.
    mode : str, optional
        For an inductive model: ``"training"``, ``"validation"`` or ``"testing"``.
    """

    own_labels: tuple[Sequence[str], Sequence[str]] | None = None
    mode: str | None = None

    def for_dataset(self, dataset: Dataset) -> EmbeddingModel | LibraryScorer:
        """Return a scorer for the ids of a dataset.

        If `kgeval.models` has the formula of the model, and the scores of samples agree, the exact kernels of kgeval
        rank the model with its current parameters.

        Raises
        ------
        ScoreError
            If it is not known which label each id of the model has, if an inductive model has no mode, or if PyKEEN
            does not know the device of the model.
        """
        model, mode = self.model, self._checked_mode()
        name = type(model).__name__
        _check_device(model)
        ids = map_ids(
            dataset,
            "pykeen",
            self.ids,
            None if mode else self.own_labels,
            n_entities=model._get_entity_len(mode=mode) if mode else model.num_entities,
            n_relations=getattr(model, "num_real_relations", model.num_relations),
            name=f"PyKEEN's {name}",
        )
        notes = ["scored by PyKEEN's predict_t and predict_h"]
        if mode:
            notes.append(f"the entities are those of PyKEEN's mode {mode!r}")
        if model.predict_with_sigmoid:
            notes.append(SIGMOID)
        scorer = LibraryScorer(name, ids, _Predictions(model, mode), model, notes)
        if mode or not _is_module(model):
            return scorer
        return certified(dataset, scorer, lambda: _exact_model(model, dataset, ids), METHODS, "pykeen.")

    def _checked_mode(self) -> str | None:
        """Return the mode of an inductive model, None for any other model."""
        name = f"PyKEEN's {type(self.model).__name__}"
        if hasattr(self.model, "_mode_to_representations"):
            if self.mode is None:
                raise ScoreError(
                    f"{name} is inductive: it has other entities for training, validation and testing, so the ids "
                    "have a meaning only with a mode. Name the mode and the factory of its entities: "
                    "kg.adapters.from_model(model, ids=inference_factory, mode='testing')"
                )
            return check_one_of("mode", self.mode, MODES, ScoreError)
        if self.mode is not None:
            raise ScoreError(f"{name} is not inductive, so it has no mode; got mode={self.mode!r}. Leave mode= out")
        return None


@dataclass(frozen=True)
class _Predictions:
    """Scores the queries of a `LibraryScorer` with ``predict_t`` and ``predict_h``, in batches that fit the memory."""

    model: Any
    mode: str | None

    def __call__(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Array:
        """Return the scores of each query with each candidate."""
        is_object = side == "object"
        pairs = np.stack([given, relation] if is_object else [relation, given], axis=1)
        options: dict[str, Any] = {"mode": self.mode} if self.mode else {}
        is_all = np.array_equal(candidates, np.arange(self._n_entities()))
        score = self.model.score_t if is_object or self.model.use_inverse_triples else self.model.score_h
        accepted = inspect.signature(score).parameters
        name = "tails" if is_object else "heads"
        picks = not is_all and ("tails" in accepted or "heads" in accepted)  # else all entities are scored
        if picks:
            options[name] = self._tensor(candidates)
        n_scored = len(candidates) if picks else self._n_entities()
        n_vectors = max(1, BATCH_BYTES // (4 * self._row_size()))  # how many vectors fit
        batch = max(1, n_vectors // n_scored)
        if n_vectors < n_scored and "slice_size" in accepted:
            options["slice_size"] = n_vectors
        predict = self.model.predict_t if is_object else self.model.predict_h
        with _without_messages(self.model):
            parts = [
                predict(self._tensor(pairs[start : start + batch]), **options) for start in range(0, len(pairs), batch)
            ]
        scores = parts[0] if len(parts) == 1 else _joined(parts)
        return scores if picks or is_all else scores[:, self._tensor(candidates)]

    def _n_entities(self) -> int:
        return int(self.model._get_entity_len(mode=self.mode) if self.mode else self.model.num_entities)

    def _row_size(self) -> int:
        """Return the number of values that PyKEEN may compute for one pair of a query and a candidate."""
        tables = [
            *getattr(self.model, "entity_representations", ()),
            *getattr(self.model, "relation_representations", ()),
        ]
        return max([1, *(int(np.prod(table.shape)) for table in tables if hasattr(table, "shape"))])

    def _tensor(self, ids: Ids) -> Any:
        """Return ids as a tensor on the device of the model, or as they are if the model is no module of torch."""
        if not _is_module(self.model):
            return ids
        return sys.modules["torch"].from_numpy(np.ascontiguousarray(ids)).to(self.model.device)


def _joined(parts: list[Any]) -> Array:
    """Join arrays or tensors along their rows."""
    return sys.modules["torch"].cat(parts) if hasattr(parts[0], "new_full") else np.concatenate(parts)


def _is_module(model: Any) -> bool:
    """Return whether an object is a module of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _check_device(model: Any) -> None:
    """Raise a ScoreError if PyKEEN does not know the device of a model; the methods `predict_*` need the device."""
    if not _is_module(model):
        return
    try:
        _ = model.device
    except Exception as error:
        raise ScoreError(
            f"PyKEEN's {type(model).__name__} cannot predict, since PyKEEN does not know its device "
            f"({type(error).__name__}: {error}). Move all of the model to one device; a model without parameters gets "
            "a device by model.register_buffer('place', torch.zeros(1))"
        ) from error


@contextmanager
def _without_messages(model: Any) -> Iterator[None]:
    """Within a ``with`` block, a model repeats its message passing; afterwards its kept output is restored."""
    parts = model.modules() if hasattr(model, "modules") else ()
    kept = [(part, name, getattr(part, name)) for part in parts for name in MESSAGES if name in vars(part)]
    try:
        for part, name, _ in kept:
            setattr(part, name, None)
        yield
    finally:
        for part, name, value in kept:
            setattr(part, name, value)


def _exact_model(model: Any, dataset: Dataset, ids: IdMap) -> EmbeddingModel:
    """Make the model of `kgeval.models` from the current parameters; raise a DataError if there is no such model."""
    from kgeval.formats.checkpoints.model_file import ModelFile, build_model
    from kgeval.formats.checkpoints.pykeen_modules import pykeen_module
    from kgeval.formats.checkpoints.pykeen_tensors import PYKEEN_MODELS
    from kgeval.formats.checkpoints.state_dicts import not_a_model

    file = Path("the live model")  # for messages
    name = type(model).__name__
    if name.lower() not in (*PYKEEN_MODELS, "ermodel"):  # checked before the tensors are copied
        raise not_a_model(file, f"PyKEEN's {name}")
    arrays = pykeen_module(file, _inert(model), {})
    arrays["entity_labels"] = np.array(ids.entity_labels, dtype=np.str_)
    arrays["relation_labels"] = np.array(ids.relation_labels, dtype=np.str_)
    return build_model(ModelFile(file, arrays, source="PyKEEN"), dataset, {})


def _inert(value: Any) -> Any:
    """Return a live object in the form of an unpickled module, for `pykeen_module`: names, numbers and tensors."""
    from kgeval.formats.checkpoints.pickles import Stub

    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        tensor = value.detach().cpu()
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy().copy()
    if isinstance(value, dict):
        return {key: _inert(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_inert(part) for part in value) if type(value) in (list, tuple, set) else list(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    stub = Stub(f"{kind.__module__}.{kind.__qualname__}", (), kind is value)
    if isinstance(value, torch.nn.Module):
        stub.state = {key: _inert(part) for key, part in vars(value).items()}
    return stub
