"""Which cases of a grid run in every suite, and which in the thorough one alone (marker ``thorough``)."""

import pytest


def light(values, n):
    """Parameters of which the first `n` run always, the others in the thorough suite."""
    values = list(values)
    return [*values[:n], *(pytest.param(value, marks=pytest.mark.thorough) for value in values[n:])]


def one_of_each(values):
    """Parameters of which the first of each type runs always, the others in the thorough suite."""
    seen, parameters = set(), []
    for value in values:
        marks = [pytest.mark.thorough] if type(value) in seen else []
        parameters.append(pytest.param(value, marks=marks, id=str(value)))
        seen.add(type(value))
    return parameters


def few_or_all(few, every):
    """Numbers of cases for a loop within one test: a few always, all of them in the thorough suite."""
    return [few, pytest.param(every, marks=pytest.mark.thorough)]
