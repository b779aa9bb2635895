"""Divide triples into train, valid and test, so that every entity and relation occurs in train.

`Dataset.split` calls `split_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from kgeval.base.checks import Ids, check_seed, counted, suggest
from kgeval.data.row_keys import group_rows
from kgeval.errors import DataError

TOLERANCE = Fraction(1, 10**9)  # the sum of the fractions may differ from 1 by this much
_CHUNK = 1 << 16  # this many triples are turned into Python integers at a time


def split_sizes(n: int, fractions: Mapping[str, float], names: Sequence[str]) -> dict[str, int]:
    """Return the number of triples of each split, by the method of the largest remainder.

    Parameters
    ----------
    n : int
        The number of all triples.
    fractions : mapping of str to float
        The share of each split; the shares sum to 1.
    names : sequence of str
        The possible names of splits. Of two splits with equal remainders, the earlier one gets the triple.

    Returns
    -------
    dict of str to int
        In the order of `names`.

    Raises
    ------
    DataError
        If a name is unknown, if train or all other splits are missing, if a fraction is not between 0 and 1, if the sum
        is not 1, or if a split would be empty.

    Examples
    --------
    >>> split_sizes(19, {"train": 0.8, "valid": 0.1, "test": 0.1}, ("train", "valid", "test"))
    {'train': 15, 'valid': 2, 'test': 2}
    """
    if not isinstance(fractions, Mapping):
        raise DataError(f"fractions must map splits to shares, as in {{'train': .8, 'test': .2}}; got {fractions!r}")
    for name in fractions:
        if name not in names:
            raise DataError(
                f"fractions: unknown split {name!r}{suggest(str(name), names)}; splits are {', '.join(names)}"
            )
    if "train" not in fractions or len(fractions) < 2:
        raise DataError(f"fractions must name train and at least one other split; got {dict(fractions)!r}")
    shares = {}
    for name in names:
        if name in fractions:
            value = fractions[name]
            if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 < value < 1:
                raise DataError(f"fractions: the share of {name} must be between 0 and 1; got {value!r}")
            shares[name] = Fraction(str(value))  # 0.1 is a tenth
    total = sum(shares.values(), Fraction(0))
    if abs(total - 1) > TOLERANCE:
        raise DataError(f"fractions must sum to 1; got {' + '.join(map(str, fractions.values()))} = {float(total):g}")
    quotas = {name: n * share / total for name, share in shares.items()}
    sizes = {name: int(quota) for name, quota in quotas.items()}
    by_remainder = sorted(quotas, key=lambda name: sizes[name] - quotas[name])  # the largest remainder first
    for name in by_remainder[: n - sum(sizes.values())]:
        sizes[name] += 1
    empty = [name for name, size in sizes.items() if not size]
    if empty:
        raise DataError(f"{n:,} distinct triples are too few for these fractions: {empty[0]} would be empty")
    return sizes


def split_rows(
    triples: Ids, sizes: Mapping[str, int], seed: int, inverse_free: bool = False
) -> tuple[dict[str, Ids], int]:
    """Divide triples at random into splits, so that each entity and relation occurs in train.

    At first, all triples are in train. The distinct triples are sorted, and each gets a random number. In the order of
    these numbers, triples move to valid or test. A triple moves only if both entities and the relation still occur in
    other triples of train. The random numbers are the 64-bit output of PCG64, which numpy keeps equal in all versions
    and on all machines.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        Ids in the order of the sorted labels, so that the result does not depend on the order of the rows.
    sizes : mapping of str to int
        The number of distinct triples of each split; ``"train"`` is one of the keys. The sizes sum to the number of
        distinct triples.
    seed : int
    inverse_free : bool
        If True and (s, p, o) is in valid or test, train contains no triple (o, q, s).

    Returns
    -------
    rows : dict of str to int64 array
        The rows of each split, sorted by triple. All copies of a triple are in one split.
    n_short : int
        The number of triples that valid and test together lack, compared with `sizes`, because a triple and its inverse
        stay in one split. 0 unless `inverse_free`.

    Raises
    ------
    DataError
        If too few triples can leave train to reach the `sizes` of valid and test.
    """
    order, starts = group_rows(*triples.T)
    distinct = triples[order[starts[:-1]]]  # (distinct, 3), sorted
    numbers = np.random.PCG64(check_seed(seed, DataError, "split_seed")).random_raw(len(distinct))
    sequence = np.argsort(numbers, kind="stable")
    splits = [*(name for name in sizes if name != "train"), "train"]
    needs = [sizes[name] for name in splits[:-1]]
    split_of = np.full(len(distinct), len(needs))  # the index in `splits`: at first, all are in train
    n_with = [np.bincount(distinct[:, 1]).tolist(), _count_entities(distinct)]
    most_skipped = 0
    for rows in _units(distinct, sequence, inverse_free):
        if not any(needs):
            break
        fitting = [i for i, need in enumerate(needs) if len(rows) <= need]
        if not fitting:
            most_skipped = max(most_skipped, len(rows))
        elif _leave(distinct, rows, n_with):
            chosen = max(fitting, key=needs.__getitem__)  # the split that still needs most triples
            split_of[rows] = chosen
            needs[chosen] -= len(rows)
    n_short = sum(needs)
    if n_short and (n_short >= most_skipped or any(not (split_of == i).any() for i in range(len(needs)))):
        wanted = sum(sizes.values()) - sizes["train"]
        raise DataError(
            f"split: only {wanted - n_short:,} of {wanted:,} triples can be in {' and '.join(splits[:-1])} so that all "
            f"{counted(len(np.unique(distinct[:, [0, 2]])), 'entity')} and "
            f"{counted(len(np.unique(distinct[:, 1])), 'relation')} of the {len(distinct):,} distinct triples occur in "
            "train; choose a larger fraction for train"
        )
    of_row = np.repeat(split_of, np.diff(starts))  # (n,): the split of each row of `order`
    return {name: order[of_row == splits.index(name)] for name in sizes}, n_short


def _count_entities(triples: Ids) -> list[int]:
    """Return for each entity the number of triples that contain it."""
    s, o = triples[:, 0], triples[:, 2]
    counts: list[int] = np.bincount(np.concatenate([s, o[o != s]])).tolist()
    return counts


def _units(triples: Ids, sequence: Ids, inverse_free: bool) -> Iterator[list[int]]:
    """Yield lists of rows that must stay in one split, in the order of `sequence`: a row, or a row and its inverses."""
    together: dict[int, list[int]] = _inverse_groups(triples) if inverse_free else {}
    done: set[int] = set()
    for start in range(0, len(sequence), _CHUNK):
        for row in sequence[start : start + _CHUNK].tolist():
            if row in done:
                continue
            rows = together.get(row, [row])
            if len(rows) > 1:
                done.update(rows)
            yield rows


def _inverse_groups(triples: Ids) -> dict[int, list[int]]:
    """Return, for each row whose two entities are linked in both directions, all rows with these two entities.

    If both entities of a triple are the same entity, they count as linked in both directions.
    """
    s, o = triples[:, 0], triples[:, 2]
    order, starts = group_rows(np.minimum(s, o), np.maximum(s, o))
    # is_both (groups,): whether a group of rows with the same pair contains s <= o and s >= o.
    is_both = np.logical_or.reduceat((s <= o)[order], starts[:-1]) & np.logical_or.reduceat(
        (s >= o)[order], starts[:-1]
    )
    groups: dict[int, list[int]] = {}
    for i in np.flatnonzero(is_both & (np.diff(starts) > 1)).tolist():
        rows = np.sort(order[starts[i] : starts[i + 1]]).tolist()
        groups |= dict.fromkeys(rows, rows)
    return groups


def _leave(triples: Ids, rows: Sequence[int], n_with: list[list[int]]) -> bool:
    """Move `rows` out of train if all their entities and relations also occur in other triples of train.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
    rows : sequence of int
    n_with : list of two lists of int
        For each relation and for each entity, the number of triples of train that contain it. Modified if the rows
        move.

    Returns
    -------
    bool
        Whether the rows moved.
    """
    relations, entities = n_with
    parts: list[tuple[list[int], int]] = []
    for s, p, o in triples[rows].tolist():
        parts += [(relations, p), (entities, s), *([(entities, o)] if o != s else [])]
    for counts, i in parts:
        counts[i] -= 1
    if all(counts[i] > 0 for counts, i in parts):
        return True
    for counts, i in parts:
        counts[i] += 1
    return False
