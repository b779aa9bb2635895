"""Splits in the layout of OGB: dicts with arrays of ids, and with entity types in ogbl-biokg.

`kgeval.data.library_objects` makes datasets from such dicts; `kgeval.data.ogb_negatives` reads their negatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_ids, check_positive_int, cut_label
from kgeval.data.labels import NumberLabels
from kgeval.errors import DataError

OGB_COLUMNS = ("head", "relation", "tail")
MAX_ID = 2**62


def is_tensor(x: Any) -> bool:
    """Return whether an object is a tensor of torch.

    Parameters
    ----------
    x : object
    """
    return callable(getattr(x, "detach", None)) and callable(getattr(x, "cpu", None))


def as_array(x: Any) -> Any:
    """Return a torch tensor of any device as a numpy array, and any other object unchanged.

    Parameters
    ----------
    x : object
    """
    return x.detach().cpu().numpy() if is_tensor(x) else x


def is_ogb_split(x: Any) -> bool:
    """Return whether an object is the dict of a split of OGB.

    Parameters
    ----------
    x : object
    """
    return isinstance(x, Mapping) and all(name in x for name in OGB_COLUMNS)


def checked_triples(split: str, columns: Sequence[Any], n_entities: int, n_relations: int) -> Ids:
    """Check three columns of ids, and return them as triples.

    Parameters
    ----------
    split : str
        The split, for messages.
    columns : sequence of three array_like of int, shape (n,)
        Subjects, relations and objects.
    n_entities, n_relations : int

    Returns
    -------
    int64 array, shape (n, 3)

    Raises
    ------
    DataError
        If an id is not an integer or is out of range, or if the columns differ in length.
    """
    s, p, o = (
        check_ids(f"{split}, {name}", column, n, (None,))
        for name, column, n in zip(OGB_COLUMNS, columns, (n_entities, n_relations, n_entities))
    )
    if not len(s) == len(p) == len(o):
        raise DataError(
            f"{split}: head, relation and tail must have the same length; got {len(s)}, {len(p)} and {len(o)}"
        )
    return np.column_stack([s, p, o])


def ogb_triples(
    pieces: Mapping[str, Any], graph: Any = None, n_entities: Any = None, n_relations: Any = None
) -> tuple[dict[str, Ids], tuple[Sequence[str], Sequence[str]], list[str]]:
    """Return the triples of OGB's dicts of ids.

    Parameters
    ----------
    pieces : mapping of str to mapping
        For each split: ``head``, ``relation`` and ``tail``, shape (n,); with ``head_type`` and ``tail_type``, the ids
        of each type start at 0.
    graph : mapping, optional
        The attribute ``graph`` of an OGB dataset, which has ``num_nodes`` or ``num_nodes_dict``.
    n_entities, n_relations : int or mapping, optional
        See `kgeval.Dataset.of`.

    Returns
    -------
    triples : dict of str to int64 array, shape (n, 3)
        Entity ids are distinct across types: the ids of each type follow the ids of the type before it, in the order of
        `n_entities`.
    labels : two sequences of str
        The ids as text; entities with types have labels ``type:id``.
    notes : list of str

    Raises
    ------
    DataError
        If a split is not a dict of ids, if the number of entities or relations is unknown, or if an id is out of range.
    """
    wrong = next((split for split, piece in pieces.items() if not is_ogb_split(piece)), None)
    if wrong is not None:
        raise DataError(
            f"{wrong}: OGB's dicts hold ids without labels, so they cannot be mapped to the labels of another object"
        )
    for split, piece in pieces.items():
        if np.asarray(as_array(piece["head"])).dtype.kind in "OUST":
            raise DataError(f"{split}: the columns of OGB's dicts hold ids; for labels: pandas.DataFrame({split})")
    graph = graph if isinstance(graph, Mapping) else {}
    is_typed = any("head_type" in piece or "tail_type" in piece for piece in pieces.values())
    notes = []
    if n_entities is None:
        n_entities = graph.get("num_nodes_dict" if is_typed else "num_nodes")
    if n_relations is None and graph:
        arrays = {split: as_array(piece["relation"]) for split, piece in pieces.items()}
        ids = [check_ids(f"{split}, relation", array, MAX_ID, (None,)) for split, array in arrays.items()]
        n_relations = 1 + max(int(part.max(initial=0)) for part in ids)
        notes.append(f"the number of relations, {n_relations:,}, is the highest id of all splits + 1")
    for name, value, source in (
        ("n_entities", n_entities, "dataset.graph['num_nodes_dict']" if is_typed else "dataset.graph['num_nodes']"),
        ("n_relations", n_relations, "the number of relations"),
    ):
        if value is None:
            raise DataError(
                f"OGB's dicts do not say how many {name[2:]} there are, and {name[2:]} without triples count too; set "
                f"{name}={source}"
            )
    n_relations = check_positive_int("n_relations", n_relations, DataError)
    sizes = _type_sizes(n_entities, is_typed)
    entities: Sequence[str] = [f"{kind}:{i}" for kind, n in sizes.items() for i in range(n)] if is_typed else ()
    entities = entities if is_typed else NumberLabels(sum(sizes.values()))
    relations = NumberLabels(n_relations)
    triples = {}
    for split, piece in pieces.items():
        ends = [_ogb_ids(split, piece, end, sizes) for end in ("head", "tail")]
        columns = [ends[0], as_array(piece["relation"]), ends[1]]
        triples[split] = checked_triples(split, columns, len(entities), n_relations)
    if is_typed:
        notes.append(
            "OGB's ids start at 0 in each entity type; the labels are type:id, and the ids of the dataset follow the "
            f"order of the types: {', '.join(sizes)}"
        )
    else:
        notes.append("OGB's dicts hold no labels; the labels of the dataset are the ids as text")
    listing = [split for split, piece in pieces.items() if "head_neg" in piece or "tail_neg" in piece]
    if listing:
        notes.append(
            f"negatives are listed in {' and '.join(listing)} (head_neg, tail_neg). OGB's published numbers rank each "
            "positive among its listed negatives only; for such numbers, use the protocol "
            "kgeval.Protocol(candidates=kgeval.candidates.Listed.from_ogb(split, dataset)). The default protocol ranks "
            "each positive among all entities"
        )
    return triples, (entities, relations), notes


def _type_sizes(n_entities: Any, is_typed: bool) -> dict[str, int]:
    """Return the number of entities of each type; without types, the only key is an empty string."""
    if isinstance(n_entities, Mapping) != is_typed:
        wanted = "a dict of the number of entities of each type" if is_typed else "the number of entities"
        raise DataError(
            f"n_entities must be {wanted}, since the splits have {'' if is_typed else 'no '}head_type and tail_type; "
            f"got {cut_label(repr(n_entities))}"
        )
    if not is_typed:
        return {"": check_positive_int("n_entities", n_entities, DataError)}
    return {str(kind): check_positive_int(f"n_entities[{kind!r}]", n, DataError) for kind, n in n_entities.items()}


def _ogb_ids(split: str, piece: Mapping[str, Any], end: str, sizes: Mapping[str, int]) -> Ids:
    """Return the heads or tails of a split as entity ids that are distinct across types; see `ogb_triples`."""
    ids = as_array(piece[end])
    if "" in sizes:
        return check_ids(f"{split}, {end}", ids, sizes[""], (None,))
    ids = check_ids(f"{split}, {end}", ids, max(sizes.values()), (None,))
    if f"{end}_type" not in piece:
        raise DataError(f"{split}: has no {end}_type, but other columns of entities have types: {', '.join(sizes)}")
    kinds = pd.Index(list(sizes), dtype=object)
    of_row = kinds.get_indexer(pd.Index(list(piece[f"{end}_type"]), dtype=object))  # the type of each row
    if len(of_row) != len(ids):
        raise DataError(f"{split}: {end} has {len(ids):,} rows, {end}_type has {len(of_row):,}")
    n_of_kind = np.array(list(sizes.values()), dtype=np.int64)
    wrong = np.flatnonzero((of_row < 0) | (ids >= n_of_kind[of_row]))
    if len(wrong):
        row = int(wrong[0])
        kind = piece[f"{end}_type"][row]
        if of_row[row] < 0:
            raise DataError(f"{split}: {end}_type[{row}] is {cut_label(repr(kind))}; types are {', '.join(sizes)}")
        raise DataError(f"{split}, {end}, row {row}: id {ids[row]} of the type {kind!r} is not in 0..{sizes[kind] - 1}")
    return np.asarray(ids + (np.cumsum(n_of_kind) - n_of_kind)[of_row], dtype=np.int64)
