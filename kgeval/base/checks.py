"""Types of arrays, and functions that check arguments.

Public functions of all packages call these functions on their input; inner functions do not check again.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kgeval.errors import DataError, KgevalError, KgevalWarning, MetricError, ProtocolError

Ids = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Scores = npt.NDArray[Any]  # arrays of any real dtype


Callee = TypeVar("Callee", bound=Callable[..., Any])
Group = TypeVar("Group", bound=Hashable)
Kind = TypeVar("Kind")
Value = TypeVar("Value")

MAX_SHOWN = 200  # labels with more characters than this are cut in messages


def cut_label(label: str) -> str:
    """Return a label for a message: only the start of a label with more than `MAX_SHOWN` characters.

    Parameters
    ----------
    label : str

    Returns
    -------
    str
        The label itself, or its first characters and its length.

    Examples
    --------
    >>> cut_label("Jack")
    'Jack'
    >>> cut_label("a" * 10_000)[-26:]
    'aaa... (10,000 characters)'
    """
    return label if len(label) <= MAX_SHOWN else f"{label[: MAX_SHOWN // 2]}... ({len(label):,} characters)"


MAX_COMPARED = 50_000  # if there are more known words than this, `suggest` gives no hint


def suggest(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """Return a hint for an error message: the known word that is most similar to an unknown word.

    Parameters
    ----------
    word : str
        The unknown word.
    known : iterable of str
        All known words.
    cutoff : float
        The lowest similarity of a hint, from 0 to 1 (the ratio of `difflib.SequenceMatcher`).

    Returns
    -------
    str
        ``"; did you mean 'x'?"``, or ``""`` if no known word is similar or there are more than
        `MAX_COMPARED` known words.
    """
    words = list(islice(known, MAX_COMPARED + 1))
    similar = difflib.get_close_matches(word, words, n=1, cutoff=cutoff) if len(words) <= MAX_COMPARED else []
    return f"; did you mean {cut_label(similar[0])!r}?" if similar else ""


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun, such as "1 triple" or "1,234 queries".

    Parameters
    ----------
    n : int
    noun : str
        The noun in the singular.
    plural : str
        The noun in the plural; by default with "s", or with "ies" in the place of "y".

    Returns
    -------
    str

    Examples
    --------
    >>> counted(1, "triple"), counted(0, "entity"), counted(1234, "query of the run", "queries of the run")
    ('1 triple', '0 entities', '1,234 queries of the run')
    """
    plural = plural or (noun[:-1] + "ies" if noun.endswith("y") else noun + "s")
    return f"{n:,} {noun if n == 1 else plural}"


def listed(texts: Sequence[str], limit: int | None = None) -> str:
    """Return texts as a list in English, such as "a, b and c"; an empty text if there are none.

    Parameters
    ----------
    texts : sequence of str
    limit : int, optional
        The largest number of texts to name. If there are more texts, the list ends with the number of the others.

    Returns
    -------
    str

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], 2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if limit is not None and len(texts) > limit:
        texts = [*texts[:limit], f"{len(texts) - limit:,} more"]
    return "".join(texts) if len(texts) < 2 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def grouped(pairs: Iterable[tuple[Group, Value]]) -> dict[Group, list[Value]]:
    """Return the second elements of pairs by the first ones, both in their order.

    Parameters
    ----------
    pairs : iterable of (hashable, object)

    Examples
    --------
    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    groups: dict[Group, list[Value]] = {}
    for group, value in pairs:
        groups.setdefault(group, []).append(value)
    return groups


GONE = "gone: "  # begins a hint of `names_unknown_arguments` about an argument that was removed


def names_unknown_arguments(**hints: str) -> Callable[[Callee], Callee]:
    """Return a decorator for public functions and classes: wrong arguments are a ProtocolError with the right ones.

    Parameters
    ----------
    **hints : str
        For names that users try, but that are no arguments: what to write instead; or, for an argument that is no more,
        `GONE` and the reason. For other names, the hint is the most similar argument.

    Examples
    --------
    >>> @names_unknown_arguments(k="metrics='hits@k'")
    ... def show(result, *, metrics="mrr"): ...
    >>> show(None, k=10)
    Traceback (most recent call last):
    ...
    kgeval.errors.ProtocolError: show() has no argument 'k'; did you mean metrics='hits@k'?
    >>> show(None, metric="mr")
    Traceback (most recent call last):
    ...
    kgeval.errors.ProtocolError: show() has no argument 'metric'; did you mean 'metrics'? Its arguments: result, metrics
    >>> show()
    Traceback (most recent call last):
    ...
    kgeval.errors.ProtocolError: show(): missing a required argument: 'result'. Its arguments: result, metrics
    """

    def decorated(function: Any) -> Any:
        inner = function.__init__ if inspect.isclass(function) else function
        signature = inspect.signature(inner)
        known = [name for name in signature.parameters if name not in ("self", "cls")]
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())

        @functools.wraps(inner)
        def checked(*args: Any, **named: Any) -> Any:
            unknown = next((name for name in named if name not in known and (not takes_any or name in hints)), None)
            if unknown is not None:
                if hints.get(unknown, "").startswith(GONE):
                    reason = hints[unknown].removeprefix(GONE)
                    raise ProtocolError(f"{function.__name__}() has no argument {unknown!r} any more: {reason}")
                hint = f"; did you mean {hints[unknown]}?" if unknown in hints else suggest(unknown, known)
                ending = "" if unknown in hints else f"{'' if hint else '.'} Its arguments: {', '.join(known)}"
                raise ProtocolError(f"{function.__name__}() has no argument {unknown!r}{hint}{ending}")
            try:
                signature.bind(*args, **named)
            except TypeError as error:
                shown = ", ".join(known)
                raise ProtocolError(f"{function.__name__}(): {error}. Its arguments: {shown}") from None
            return inner(*args, **named)

        if not inspect.isclass(function):
            return checked
        function.__init__ = checked  # type: ignore[method-assign]
        return function

    return decorated


def warn_user(text: str) -> None:
    """Show a KgevalWarning at the line of the user's code that called kgeval.

    Parameters
    ----------
    text : str
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "kgeval":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, KgevalWarning, stacklevel=level)


def answers_old_names(owner: str, tried: Mapping[str, str] | None = None, /, **new_names: str) -> Callable[..., Any]:
    """Return a function ``__getattr__`` of a class or a module that answers its old names with the new ones.

    Parameters
    ----------
    owner : str
        The name of the class or module.
    tried : dict of str, optional
        For names that users try, but that never existed: what to write instead.
    **new_names : str
        For each old name: what to write instead; or, after `GONE`, why there is nothing in its place.

    Examples
    --------
    >>> class Result:
    ...     __getattr__ = answers_old_names("Result", {"mrr": "result['mrr']"}, about="facts")
    >>> Result().mrr
    Traceback (most recent call last):
    ...
    AttributeError: Result has no attribute 'mrr'; write result['mrr']
    >>> Result().about
    Traceback (most recent call last):
    ...
    AttributeError: Result has no attribute 'about' since kgeval 0.2; write facts
    >>> Result().abuot
    Traceback (most recent call last):
    ...
    AttributeError: Result has no attribute 'abuot'
    """

    def missing(*arguments: Any) -> Any:  # (instance, name) in a class, (name,) in a module
        name = arguments[-1]
        new = new_names.get(name, "")
        hint = f" since kgeval 0.2; {new if new.startswith(GONE) else f'write {new}'}" if new else ""
        hint = hint or (f"; write {tried[name]}" if tried and name in tried else "")
        raise AttributeError(f"{owner} has no attribute {name!r}{hint}")

    return missing


def with_old_names(tried: Mapping[str, str] | None = None, /, **new_names: str) -> Callable[[type[Kind]], type[Kind]]:
    """Return a decorator for classes whose old names answer with the new ones.

    Parameters
    ----------
    tried, **new_names
        As in `answers_old_names`.

    Examples
    --------
    >>> @with_old_names(about="facts")
    ... class Result: ...
    >>> Result().about
    Traceback (most recent call last):
    ...
    AttributeError: Result has no attribute 'about' since kgeval 0.2; write facts
    """

    def decorated(made: type[Kind]) -> type[Kind]:
        # Set from outside, since mypy takes every attribute of a class with a `__getattr__` for known.
        setattr(made, "__getattr__", answers_old_names(made.__name__, tried, **new_names))  # noqa: B010
        return made

    return decorated


def shows_only(names: Sequence[str]) -> Callable[[], list[str]]:
    """Return a function ``__dir__`` of a module: `dir` and completion show these names, and nothing that it imports.

    Parameters
    ----------
    names : sequence of str
        The ``__all__`` of the module.

    Examples
    --------
    >>> shows_only(["sample", "rank"])()
    ['rank', 'sample']
    """
    return lambda: sorted(names)


def check_one_of(name: str, value: Any, allowed: Iterable[str], error: type[KgevalError] = ProtocolError) -> str:
    """Return `value` if it is one of `allowed`, else raise `error`.

    Parameters
    ----------
    name : str
        The name of the argument, for the message.
    value : object
        The value that the caller passed; a value that is not a string raises `error`.
    allowed : iterable of str
    error : type of KgevalError
        The class of the error; its message lists `allowed` and the most similar allowed value.

    Returns
    -------
    str
    """
    choices = list(allowed)
    if isinstance(value, str) and value in choices:
        return value
    shown = ", ".join(repr(choice) for choice in choices)
    hint = suggest(value, choices) if isinstance(value, str) else ""
    raise error(f"{name} must be one of {shown}; got {value!r}{hint}")


def check_positive_int(name: str, value: Any, error: type[KgevalError] = ProtocolError) -> int:
    """Return `value` as an int of at least 1, else raise `error`.

    Parameters
    ----------
    name : str
        The name of the argument, for the message.
    value : object
        The value that the caller passed; bools, floats and strings raise `error`.
    error : type of KgevalError
        The class of the error.

    Returns
    -------
    int
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise error(f"{name} must be an integer of at least 1; got {value!r}")
    return int(value)


def check_seed(value: Any, error: type[KgevalError] = ProtocolError, name: str = "seed") -> int:
    """Return `value` as an int of at least 0, else raise `error`.

    Parameters
    ----------
    value : object
        The value that the caller passed as `seed`; bools, floats and strings raise `error`.
    error : type of KgevalError
        The class of the error.
    name : str
        The name of the argument, for the message.

    Returns
    -------
    int
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise error(f"{name} must be an integer of at least 0; got {value!r}")
    return int(value)


def check_number(
    name: str, value: Any, low: float, high: float, says: str, error: type[KgevalError] = MetricError
) -> float:
    """Return `value` as a float with ``low < value < high``, else raise `error`.

    Parameters
    ----------
    name : str
        The name of the argument, for the message.
    value : object
        The value that the caller passed; bools, strings and NaN raise `error`.
    low, high : float
        The bounds; they are not allowed values themselves.
    says : str
        The allowed values in words, for the message; for example ``"a number above 0"``.
    error : type of KgevalError
        The class of the error.

    Returns
    -------
    float
    """
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not low < value < high:
        raise error(f"{name} must be {says}; got {value!r}")
    return float(value)


MAX_WEIGHT = 1e100


def check_largest_weight(largest: float) -> None:
    """Raise a MetricError if the largest weight is so large or small that sums of weighted values would be wrong.

    Parameters
    ----------
    largest : float
        The largest of all weights; 0 raises no error.

    Raises
    ------
    MetricError
        If `largest` is not 0, and is below ``1 / MAX_WEIGHT`` or above `MAX_WEIGHT`.
    """
    if largest and not 1 / MAX_WEIGHT <= largest <= MAX_WEIGHT:
        raise MetricError(
            f"the largest weight must be between {1 / MAX_WEIGHT:g} and {MAX_WEIGHT:g}, since sums of weighted values "
            f"overflow or lose digits in float64 otherwise; got {largest:g}. Only the ratios of weights matter: divide "
            "all weights by the largest one"
        )


def check_ids(name: str, values: npt.ArrayLike, n: int, shape: tuple[int | None, ...]) -> Ids:
    """Return `values` as an int64 array; raise a DataError unless they are integers from 0 to ``n - 1``.

    Parameters
    ----------
    name : str
        The name of the array, for the message.
    values : array_like of integers
        Floats, bools and strings raise an error and are never converted, so no value is rounded or overflows.
    n : int
        The number of existing ids.
    shape : tuple
        The expected shape; None in place of a length means any length, as in ``(None, 3)``.

    Returns
    -------
    int64 array
        A copy, with the shape of `values`.

    Raises
    ------
    DataError
        If the dtype, the shape or a value is wrong; the message names the first row with a wrong value.
    """
    array = np.asarray(values)
    if array.ndim != len(shape) or any(
        expected is not None and expected != length for expected, length in zip(shape, array.shape)
    ):
        wanted = ", ".join("n" if length is None else str(length) for length in shape)
        raise DataError(f"{name} must have shape ({wanted}); got {array.shape}")
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise DataError(
            f"{name} must hold integer ids; got dtype {array.dtype}. "
            "If these values are ids, convert them: array.astype(np.int64)"
        )
    wrong = (array < 0) | (array >= n)
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise DataError(f"{name}, row {where[0]}: id {array[where]} is not in 0..{n - 1}")
    return array.astype(np.int64)
