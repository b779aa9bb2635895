"""Models of other libraries: `bound` turns a model into a scorer; `as_row_scorer` refuses models without an adapter.

These models must not be called as ``score(s, p, o)``, because the order of the arguments, the sign of the scores, the
ids and the handling of inverse relations differ from library to library. A model is recognised by the name of the
module that defines its class, so that kgeval need not import the library. `kgeval.adapters` registers the adapters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.errors import ScoreError


@dataclass(frozen=True)
class Library:
    """A library with models of knowledge graphs.

    Parameters
    ----------
    name : str
        The library's name in messages.
    module : str
        The start of the names of the modules that define the library's models.
    remedy : str
        Advice for the user, for messages.
    """

    name: str
    module: str
    remedy: str


PASS_THE_MODEL = (
    "Pass the model itself, as in kgeval.evaluate(model, dataset), or kg.adapters.from_model(model, ids=...) to give "
    "the labels of its ids"
)
LIBRARIES = (
    Library(
        "PyKEEN",
        "pykeen.models",
        f"{PASS_THE_MODEL}. score_t, score_h and score_hrt expect other relation ids if the model was trained with "
        "inverse triples",
    ),
    Library("TorchKGE", "torchkge.models", f"{PASS_THE_MODEL}. scoring_function expects the relation last"),
    Library("PyTorch Geometric", "torch_geometric.nn.kge", PASS_THE_MODEL),
    Library("LibKGE", "kge.model.kge_model", f"{PASS_THE_MODEL}. score_spo does not support reciprocal relations"),
    Library("AmpliGraph", "ampligraph.latent_features", f"{PASS_THE_MODEL}. Its methods take labels"),
    Library(
        "OpenKE",
        "openke.module.model",
        "Wrap it in a function score(s, p, o) that returns -model.predict({'batch_h': s, 'batch_r': p, 'batch_t': o, "
        "'mode': 'normal'}): the scores of predict are lower for more plausible triples, and their ids are those of "
        "entity2id.txt and relation2id.txt",
    ),
)

WRAPPED = ("module", "_orig_mod")  # the attributes in which DataParallel and torch.compile store the model

# Key: the start of the names of a library's modules. Value: a function that takes a model of the library (and the ids)
# and returns its adapter, an object with `for_dataset`.
_ADAPTERS: dict[str, Callable[[Any, Any], Any]] = {}


def register_adapter(module: str, adapt: Callable[[Any, Any], Any]) -> None:
    """Register the function that makes adapters for the models of a library.

    Parameters
    ----------
    module : str
        The start of the names of the modules that define the library's models: ``"pykeen.models"``.
    adapt : function
        ``adapt(model, ids)`` returns an adapter: an object with a method ``for_dataset(dataset)``, which returns a
        scorer. `ids` is the parameter `ids` of `kgeval.adapters.from_model`.
    """
    _ADAPTERS[module] = adapt


def adapter_of(scorer: Any, ids: Any = None) -> Any:
    """Return the adapter of a live model of another library; None if `scorer` is something else.

    A class that inherits from a model of the library, but defines ``__call__``, ``score_objects``, ``score_subjects``
    or ``query_vectors`` itself, does not count as a model of the library.

    Parameters
    ----------
    scorer : object
    ids : object, optional
        See `kgeval.adapters.from_model`.
    """
    if any(hasattr(scorer, name) for name in ("score_objects", "score_subjects", "query_vectors")):
        return None
    for base in type(scorer).__mro__:
        for module, adapt in _ADAPTERS.items():
            if f"{base.__module__}.".startswith(f"{module}."):
                return adapt(scorer, ids)
        if "__call__" in vars(base):
            return None
    return None


def bound(scorer: Any, dataset: Dataset) -> Any:
    """Adapt a scorer to a dataset: the returned scorer takes the ids of the dataset.

    Parameters
    ----------
    scorer : object
        An adapter (an object with ``for_dataset``), a live model of a library that has an adapter, or any scorer.
    dataset : Dataset

    Returns
    -------
    object
        A scorer made for `dataset`. If `scorer` is neither an adapter nor a model of a library that has an adapter,
        `scorer` itself.

    Raises
    ------
    ScoreError
        If the labels of the model's ids are not known.
    """
    if isinstance(scorer, type):
        return scorer
    _refuse_wrapper(scorer)
    adapter = scorer if hasattr(scorer, "for_dataset") else adapter_of(scorer)
    return scorer if adapter is None else adapter.for_dataset(dataset)


def _refuse_wrapper(scorer: Any) -> None:
    """Raise a ScoreError if `scorer` is a torch wrapper (such as DataParallel) around a model that has an adapter."""
    if not type(scorer).__module__.startswith("torch."):
        return
    for attribute in WRAPPED:
        wrapped = getattr(scorer, attribute, None)
        if adapter_of(wrapped) is not None:
            raise ScoreError(
                f"{type(scorer).__name__} wraps a {type(wrapped).__name__}; give the model itself: model.{attribute}"
            )


def scorer_notes(scorer: Any) -> list[str]:
    """Return the attribute ``notes`` of a scorer as a list, if this attribute is a tuple or list of str; else ``[]``.

    Parameters
    ----------
    scorer : object
    """
    notes = getattr(scorer, "notes", ())
    is_text = isinstance(notes, (tuple, list)) and all(isinstance(note, str) for note in notes)
    return list(notes) if is_text else []


def refuse_library_model(scorer: Any) -> None:
    """Raise a ScoreError if `scorer` is a model of a known library, or a method of such a model.

    A class that inherits from a model of the library but defines its own ``forward`` or ``__call__`` is accepted, and
    so are the methods that this class defines.

    Parameters
    ----------
    scorer : function or object

    Raises
    ------
    ScoreError
        The message says how to wrap the model.
    """
    is_method = inspect.ismethod(scorer)
    library = _library_of(scorer.__module__) if is_method else _library_of_class(type(scorer))
    if library is not None:
        name = f"{type(scorer.__self__).__name__}.{scorer.__name__}" if is_method else type(scorer).__name__
        raise ScoreError(
            f"{name} is {'a method of ' if is_method else ''}a model of {library.name}, which kgeval cannot call as "
            f"score(s, p, o). {library.remedy} (kgeval help models)"
        )


def _library_of(module: str | None) -> Library | None:
    """Return the library whose models are defined in `module`."""
    for library in LIBRARIES:
        if module is not None and f"{module}.".startswith(f"{library.module}."):
            return library
    return None


def _library_of_class(kind: type) -> Library | None:
    """Return the library that defines the ``forward`` or ``__call__`` of a class; None if no library does."""
    for base in kind.__mro__:
        library = _library_of(base.__module__)
        if library is not None or "forward" in vars(base) or "__call__" in vars(base):
            return library
    return None
