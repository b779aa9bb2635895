"""How many cases run: a few in the light suite, all in the thorough one.

``pytest`` alone runs the light suite; ``-m "thorough or not thorough"`` runs everything.
"""

from collections import Counter

import pytest

_WHOLE = False  # conftest.py sets it before any test module is imported


def use_whole_grids():
    """Let the functions below return every case, not the few of the light suite."""
    global _WHOLE  # noqa: PLW0603
    _WHOLE = True


def size(few, every):
    """Number of cases of a loop: `few` in the light suite, `every` in the thorough one."""
    return every if _WHOLE else few


def light(values, n, *, unpack=False):
    """The first `n` values in the light suite, all values (the others marked ``thorough``) in the thorough one.

    `unpack`: each value is a tuple, with one element for each name of the parameters.
    """
    values = list(values)
    others = [pytest.param(*(value if unpack else (value,)), marks=pytest.mark.thorough) for value in values[n:]]
    return [*values[:n], *others] if _WHOLE else values[:n]


def thinned(values, step, *, unpack=False):
    """Each `step`-th value in the light suite, all values (the others marked ``thorough``) in the thorough one.

    `unpack` is that of `light`.
    """
    values = list(values)
    if not _WHOLE:
        return values[::step]
    return [
        pytest.param(*(value if unpack else (value,)), marks=[pytest.mark.thorough] if i % step else [])
        for i, value in enumerate(values)
    ]


def one_of_each(values):
    """The first value of each type in the light suite, all values in the thorough one."""
    seen, parameters = set(), []
    for value in values:
        marks = [pytest.mark.thorough] if type(value) in seen else []
        if _WHOLE or not marks:
            parameters.append(pytest.param(value, marks=marks, id=str(value)))
        seen.add(type(value))
    return parameters


def varied(cases, n):
    """The indices of `n` of the cases of a test: few cases that show as many values of its parameters as they can.

    `cases`: dicts of the parameters. Each next case is the one with the most values that none before it has, where a
    value of a parameter with few values counts for more; of equal ones, one of those that are evenly spread from the
    first case to the last. An array or a list equals no other value.
    """
    values = [{(name, *_identity(value)) for name, value in case.items()} for case in cases]
    n_values = Counter(name for name, *_ in set().union(*values))
    spread = [round(i * (len(cases) - 1) / max(n - 1, 1)) for i in range(n)]
    left, seen, kept = list(dict.fromkeys([*spread, *range(len(cases))])), set(), set()
    while left and len(kept) < n:
        chosen = max(left, key=lambda i: sum(10**6 // n_values[name] for name, *_ in values[i] - seen))
        left.remove(chosen)
        kept.add(chosen)
        seen |= values[chosen]
    return kept


def _identity(value):
    """What equal values of a parameter have in common."""
    try:
        hash(value)
    except TypeError:
        return (id(value),)
    return type(value), value
