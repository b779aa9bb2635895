"""Which further columns of a dataset the methods of a scorer take, by the names of their parameters.

`kgeval.scorers.row_scorers` gives a scorer these columns.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kgeval.base.checks import Ids
from kgeval.data.dataset import Dataset
from kgeval.data.keys import FurtherColumn, further_column
from kgeval.errors import ScoreError

OF_ENTITIES = ("score_objects", "score_subjects")
OF_QUERIES = ("query_vectors", *OF_ENTITIES, "score_relations")


def column_arguments(columns: Sequence[FurtherColumn], codes: Sequence[Ids]) -> dict[str, Any]:
    """Return the values of further columns, by parameter; `codes` has an array for each column."""
    return {column.parameter: column.values.take(part) for column, part in zip(columns, codes, strict=True)}


def parameters_of(function: Any) -> dict[str, bool]:
    """Return the names of the parameters of a function, and whether it cannot be called without them."""
    torch = sys.modules.get("torch")
    if torch and isinstance(function, torch.nn.Module):  # whose __call__ hides the parameters
        function = function.forward
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {one.name: one.default is one.empty for one in parameters if one.kind not in variadic}


def columns_by_parameter(dataset: Dataset) -> dict[str, str]:
    """Return the column that a parameter takes, by its name: ``time`` is the column of time, whatever its name."""
    known = {column: column for column in dataset.column_names}
    known |= {"time": dataset.time_column} if dataset.time_column and "time" not in known else {}
    return known


def columns_by_method(scorer: Any, name: str, dataset: Dataset | None) -> dict[str, tuple[FurtherColumn, ...]]:
    """Return the further columns of a dataset that each method of a scorer names as parameters, after the ids.

    The scorer itself, as a function, has the name ``""``. The parameter ``time`` is the column of time, whatever its
    name. Raise a ScoreError if a method needs a parameter that is no column.
    """
    if dataset is None:
        return {}
    methods = [(attribute, 3 if attribute == "query_vectors" else 2) for attribute in OF_QUERIES]
    calls = [(getattr(scorer, attribute), n, attribute) for attribute, n in methods if hasattr(scorer, attribute)]
    if hasattr(scorer, "query_vectors"):
        calls = [one for one in calls if one[2] in ("query_vectors", "score_relations")]
    elif not any(attribute in OF_ENTITIES for *_, attribute in calls) and callable(scorer):
        calls = [*calls, (scorer, 3, "")]
    known = columns_by_parameter(dataset)
    found: dict[str, str] = {}
    taken: dict[str, tuple[FurtherColumn, ...]] = {}
    for call, n_ids, attribute in calls:
        parameters = dict(list(parameters_of(call).items())[n_ids:])
        for parameter, is_needed in parameters.items():
            if parameter in known:
                found[parameter] = known[parameter]
            elif is_needed and parameter != "candidates":
                raise ScoreError(
                    f"{name}{'.' * bool(attribute)}{attribute} takes {parameter!r}, but dataset {dataset.name!r} has "
                    f"no such column; its further columns: {', '.join(dataset.column_names) or 'none'}"
                )
        taken[attribute] = tuple(
            replace(further_column(dataset, known[parameter]), parameter=parameter)
            for parameter in parameters
            if parameter in known
        )
    if len(set(found.values())) < len(found):
        raise ScoreError(
            f"{name} takes {' and '.join(map(repr, found))}, but 'time' is the column {dataset.time_column!r} of "
            f"dataset {dataset.name!r}; take it by one name in all methods"
        )
    return taken
