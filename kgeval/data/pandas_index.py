"""Series and frames as arguments: their index says to which rows or entities the values belong.

Lists of negatives, scores of candidates, predictions and weights are read through these functions, so that a shuffled
index is not ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import cut_label
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError


def in_row_order(name: str, values: Any) -> Any:
    """Return values in the order of the rows 0, 1, 2, ...; a Series or a frame is sorted by its index.

    Parameters
    ----------
    name : str
        The name of the values, for the message.
    values : object
        Anything but a Series or a DataFrame is returned unchanged.

    Returns
    -------
    object
        A list for a Series, an array for a DataFrame.

    Raises
    ------
    DataError
        If the index does not hold the numbers of the rows, each once.

    Examples
    --------
    >>> in_row_order("ranks", pd.Series([3.0, 1.0], index=[1, 0]))
    [1.0, 3.0]
    """
    if not isinstance(values, (pd.Series, pd.DataFrame)):
        return values
    n = len(values)
    if not values.index.equals(pd.RangeIndex(n)):
        if values.index.has_duplicates or not values.index.sort_values().equals(pd.Index(range(n))):
            raise DataError(
                f"{name} has an index that does not say to which row its values belong: expected 0 to {n - 1}, got "
                f"{cut_label(str(values.index[:3].tolist()))} first; .reset_index(drop=True) keeps the order of rows"
            )
        values = values.sort_index()
    return values.to_list() if isinstance(values, pd.Series) else values.to_numpy()


def in_same_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values that belong together in one order of rows.

    Parameters
    ----------
    values : mapping of str to object
        Names and values. If all Series and frames have one index, their order is kept, and they are returned as they
        are; a Series with the same index in another order is sorted like the first. Beside other values, such as
        arrays, an index must hold the numbers of the rows; see `in_row_order`.

    Raises
    ------
    DataError
        If an index does not say to which row a value belongs.

    Examples
    --------
    >>> frame = pd.DataFrame({"s": [5, 7]}, index=["a", "b"])
    >>> in_same_order({"triples": frame, "ranks": pd.Series([2, 1], index=["b", "a"])})["ranks"].tolist()
    [1, 2]
    """
    indexed = {name: value for name, value in values.items() if isinstance(value, (pd.Series, pd.DataFrame))}
    per_row = [name for name, value in values.items() if hasattr(value, "__len__") and not isinstance(value, str)]
    if len(indexed) < len(per_row) or len(indexed) == 1:
        return {name: in_row_order(name, value) if name in indexed else value for name, value in values.items()}
    ordered = dict(values)
    for first, reference in list(indexed.items())[:1]:
        for name, value in indexed.items():
            if value.index.equals(reference.index):
                continue
            if reference.index.has_duplicates or not value.index.sort_values().equals(reference.index.sort_values()):
                raise DataError(
                    f"{name} has another index than {first}, so nobody knows which rows belong together; give arrays "
                    "in one order (.to_numpy())"
                )
            ordered[name] = value.loc[reference.index]
    return ordered


def by_label(name: str, values: Any, vocabulary: Vocabulary) -> Any:
    """Return one value per label in the order of the ids; a Series may have labels or ids as its index, in any order.

    Parameters
    ----------
    name : str
        The name of the values, for the message.
    values : object
        Anything but a Series is returned unchanged.
    vocabulary : Vocabulary

    Raises
    ------
    DataError
        If the index of a Series holds neither all ids nor all labels, each once.

    Examples
    --------
    >>> by_label("weights", pd.Series({"b": 2.0, "a": 1.0}), Vocabulary(["a", "b"])).tolist()
    [1.0, 2.0]
    """
    if not isinstance(values, pd.Series):
        return values
    if values.index.inferred_type == "integer":
        return np.asarray(in_row_order(name, values))
    ids = vocabulary.find([str(label) for label in values.index])
    if len(ids) != len(vocabulary) or len(np.unique(ids)) != len(ids) or (ids < 0).any():
        wrong = next((label for label, i in zip(values.index, ids.tolist()) if i < 0), None)
        hint = "" if wrong is None else f"; {cut_label(repr(wrong))} is no label"
        raise DataError(f"{name}: the index must hold each of the {len(vocabulary):,} labels once{hint}")
    return values.to_numpy()[np.argsort(ids)]
