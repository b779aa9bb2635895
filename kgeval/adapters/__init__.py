"""Adapters: make scorers of kgeval from live models of other libraries, from functions and from text scorers.

Users import this package as `kgeval.adapters`. `kgeval.evaluate` accepts a live model of a known library directly;
`from_model` is needed if the user must give the labels of the model's ids. Each library has one module here, with
a function ``adapt(model, ids=None)`` that returns an adapter. An adapter is an object with a method
``for_dataset(dataset)``, which returns a scorer. A module is imported when a model of its library is used; importing
the module does not import the library.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgeval.base.checks import names_unknown_arguments, shows_only
from kgeval.errors import ScoreError
from kgeval.scorers.libraries import adapter_of, register_adapter

if TYPE_CHECKING:
    from kgeval.adapters.encoders import from_encoder
    from kgeval.adapters.functions import from_function
    from kgeval.adapters.texts import from_texts

__all__ = ["from_encoder", "from_function", "from_model", "from_texts"]
__dir__ = shows_only(__all__)

# Key: the start of the names of the modules that define a library's models. Value: the module here with the adapter.
_LIBRARIES = {
    "pykeen.models": "pykeen",
    "pykeen.pipeline": "pykeen",
    "torchkge.models": "torchkge",
    "torch_geometric.nn.kge": "pyg",
    "kge.model.kge_model": "libkge",
    "ampligraph.latent_features": "ampligraph",
}
_LOADED_LATER = {
    "from_encoder": "kgeval.adapters.encoders",
    "from_function": "kgeval.adapters.functions",
    "from_texts": "kgeval.adapters.texts",
}
KNOWN = "PyKEEN, TorchKGE, PyTorch Geometric (torch_geometric.nn.kge), LibKGE and AmpliGraph"


@names_unknown_arguments()
def from_model(model: Any, ids: Any = None, mode: str | None = None) -> Any:
    """Make an adapter from a live model of another library; `kgeval.evaluate` accepts the adapter as a scorer.

    While the model scores, it is in evaluation mode and computes no gradients; afterwards it gets back its earlier
    mode. Each evaluation uses the current parameters of the model.

    Parameters
    ----------
    model : object
        A model of PyKEEN (or the result of its pipeline), TorchKGE, PyTorch Geometric (``torch_geometric.nn.kge``),
        LibKGE or AmpliGraph.
    ids : object, optional
        The labels of the model's ids. One of: an object of the library that holds the labels (such as the
        `TriplesFactory` or the `KnowledgeGraph` of the training), two dicts (``{label: id}`` of entities, of
        relations), two sequences of labels in id order, two id files or their folder, or the word ``"dataset"`` if row
        i of the model belongs to ``dataset.entities.labels[i]``. Not needed if the model knows its labels, if the
        dataset was made by ``Dataset.of`` of an object of the same library, or if the dataset has no labels.
    mode : str, optional
        Only for an inductive model of PyKEEN: ``"training"``, ``"validation"`` or ``"testing"``, the graph whose
        entities are ranked. `ids` is then the factory of these entities.

    Returns
    -------
    adapter
        Its method ``for_dataset(dataset)`` returns a scorer for the ids of a dataset; `kgeval.evaluate`,
        `kgeval.Evaluator`, `kgeval.classify` and `kgeval.check_scorer` call it.

    Raises
    ------
    ScoreError
        If `model` is no model of a known library, or `mode` is given for a model of another library than PyKEEN.

    Examples
    --------
    >>> from_model("TransE")
    Traceback (most recent call last):
        ...
    kgeval.errors.ScoreError: expected a live model of PyKEEN, TorchKGE, PyTorch Geometric (torch_geometric.nn.kge), \
LibKGE and AmpliGraph; got str. For any other model, kg.adapters.from_function takes a function that scores
    """
    adapter = None if isinstance(model, type) else adapter_of(model, ids)
    if adapter is None:
        what = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ScoreError(
            f"expected a live model of {KNOWN}; got {what}. For any other model, kg.adapters.from_function takes a "
            "function that scores"
        )
    if mode is None:
        return adapter
    if not hasattr(adapter, "mode"):
        raise ScoreError(f"mode= is for inductive models of PyKEEN; got {type(model).__name__}. Leave mode= out")
    return replace(adapter, mode=mode)


def _adapt(module: str, model: Any, ids: Any) -> Any:
    """Import a module of this package and return its adapter of a model."""
    return import_module(f"{__name__}.{module}").adapt(model, ids)


for _prefix, _module in _LIBRARIES.items():
    register_adapter(_prefix, partial(_adapt, _module))


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOADED_LATER[name]), name)
