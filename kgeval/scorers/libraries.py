"""Models of other libraries: `as_row_scorer` refuses them with a message that says how to wrap them.

These models can be called, but not as ``score(s, p, o)``: the order of the arguments, the sign of the scores, the ids
and the handling of inverse relations differ from library to library. A model is recognised by the name of the module
that defines its class, so that kgeval need not import the library.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

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
        How a scorer calls a model of the library, for messages.
    """

    name: str
    module: str
    remedy: str


LIBRARIES = (
    Library(
        "PyKEEN",
        "pykeen.models",
        "write a class whose score_objects(s, p) returns model.predict_t(pairs of s and p) and whose "
        "score_subjects(p, o) returns model.predict_h(pairs of p and o). Do not call score_t, score_h or score_hrt: "
        "they expect other relation ids if the model was trained with inverse triples",
    ),
    Library(
        "TorchKGE",
        "torchkge.models",
        "write a function score(s, p, o) that returns model.scoring_function(s, o, p), which expects the relation last",
    ),
    Library(
        "PyTorch Geometric",
        "torch_geometric.nn.kge",
        "write a function score(s, p, o) that returns model(s, p, o); call model.eval() first",
    ),
    Library(
        "LibKGE",
        "kge.model.kge_model",
        "write a class whose score_objects(s, p) returns model.score_sp(s, p) and whose score_subjects(p, o) returns "
        "model.score_po(p, o), which also serve reciprocal relations; call model.eval() first",
    ),
    Library(
        "AmpliGraph",
        "ampligraph.latent_features",
        "write a function score(s, p, o) that returns model.predict(triples), an array of labels of shape (n, 3)",
    ),
    Library(
        "OpenKE",
        "openke.module.model",
        "write a function score(s, p, o) that returns -model.predict({'batch_h': s, 'batch_r': p, 'batch_t': o, "
        "'mode': 'normal'}): the scores of predict are lower for more plausible triples",
    ),
)


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
            f"score(s, p, o). Wrap it: {library.remedy}. kgeval passes ids as numpy arrays, numbered by the dataset's "
            "labels; `kgeval help models` shows how to convert them"
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
