"""Errors of a scorer's own code, as messages that name the scorer and what it was given.

`kgeval.scorers.row_scorers` calls scorers inside of `naming_the_scorer`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from kgeval.base.checks import Ids
from kgeval.data.sides import side_of
from kgeval.errors import KgevalError, ScoreError
from kgeval.scorers.call_size import OutOfTime

Parts = tuple[Ids, ...]  # the given columns of queries; see `Queries.parts`


@contextmanager
def naming_the_scorer(name: str, describe_input: Callable[[], str], function: Any = None) -> Iterator[None]:
    """Turn an error in a ``with`` block, which calls a scorer, into a ScoreError that names scorer and input.

    `describe_input` returns the input as text. If `function` needs tensors, the message says how to wrap the function.
    A call of ``sys.exit`` by the scorer also becomes a ScoreError; otherwise the program would end as if it had
    succeeded. If torch is imported, torch records no gradients during the call.
    """
    torch = sys.modules.get("torch")
    try:
        with torch.no_grad() if torch else nullcontext():
            yield
    except (KgevalError, OutOfTime):
        raise
    except (Exception, SystemExit) as error:
        hint = _tensor_hint(function, error)
        raise ScoreError(
            f"{name} raised {type(error).__name__} when given {describe_input()}: {error}{hint}"
        ) from error


def _tensor_hint(function: Any, error: BaseException) -> str:
    """Return advice to wrap a function if it is a torch or Keras module, or if `error` shows that it needs tensors.

    Return an empty text for any other function.
    """
    torch = sys.modules.get("torch")
    if any(base.__module__.startswith("keras.") for base in type(function).__mro__):
        return (
            ". A Keras model takes all its inputs in one argument: give "
            "kg.adapters.from_function(lambda s, p, o: model([s, p, o]), arrays='numpy', ids=...)"
        )
    if torch is None or function is None:
        return ""
    is_module = any(isinstance(owner, torch.nn.Module) for owner in (function, getattr(function, "__self__", None)))
    if not is_module and not (isinstance(error, (TypeError, AttributeError)) and "numpy.ndarray" in str(error)):
        return ""
    return (
        ". kgeval calls it with numpy arrays of ids; for a module or function of torch tensors, give "
        "kg.adapters.from_function(model, ids=...)"
    )


def triples_text(s: Ids, p: Ids, o: Ids) -> str:
    """Describe triples for messages: how many there are, and the ids of the first and of the last triple."""
    ends = [f"({s[i]}, {p[i]}, {o[i]})" for i in _ends(len(s))]
    return f"{len(s)} triples, with the ids {' to '.join(ends)}"


def queries_text(side: str, parts: Parts) -> str:
    """Describe queries for messages: how many there are, and the ids of the first and of the last query."""
    rows = (side_of(side).in_place(tuple(part[i] for part in parts), "?") for i in _ends(len(parts[0])))
    ends = [f"({s}, {p}, {o})" for s, p, o in rows]
    return f"{len(parts[0])} queries, with the ids {' to '.join(ends)}"


def _ends(n: int) -> list[int]:
    """Return the positions of the first and the last of n elements: one position if n is 1, none if n is 0."""
    return sorted({0, n - 1}) if n else []
