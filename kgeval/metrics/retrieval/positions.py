"""Closed forms of where relevant items stand in lists whose tied items are in random order.

A tie group of n items, r of them relevant, follows t items, R0 of them relevant. The formulas are those of
McSherry and Najork (2008), Computing Information Retrieval Performance Measures Efficiently in the Presence
of Tied Scores, ECIR; without ties each reduces to the plain one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals
from kgeval.metrics.retrieval.lists import Lists, TieGroups


def expected_hits(lists: Lists, k: int | Ids) -> Reals:
    """Return per query the expected number of relevant items among the first `k`.

    Parameters
    ----------
    lists : Lists
    k : int, or int64 array of shape (queries,)
    """
    groups = lists.groups
    reach = k[groups.query] if isinstance(k, np.ndarray) else k
    share = np.clip((reach - groups.before) / groups.size, 0.0, 1.0)
    return lists.per_list(groups.query, groups.relevant * share)


def chance_of_hit(lists: Lists, k: int) -> Reals:
    """Return per query the chance that a relevant item is among the first `k`: 1 - C(n - r, m) / C(n, m)."""
    groups = lists.groups
    first = (groups.relevant > 0) & (groups.relevant_before == 0)
    n, r = groups.size[first], groups.relevant[first]
    m = np.clip(k - groups.before[first], 0, n)
    log = _log_factorials(int(n.max(initial=0)))
    is_open = n - m >= r
    spare = np.where(is_open, n - m, r)
    missed = np.where(is_open, np.exp(log[spare] - log[spare - r] - log[n] + log[n - r]), 0.0).astype(np.float64)
    found = np.where(r == n, m > 0, np.where(m == 0, 0.0, 1.0 - missed))
    return lists.per_list(groups.query[first], np.asarray(found, dtype=np.float64))


def expected_precision_sums(groups: TieGroups, k: int) -> Reals:
    """Return per group the expected sum, over its relevant items among the first `k`, of the precision there."""
    n, r, t = groups.size, groups.relevant, groups.before
    m = np.clip(k - t, 0, n)
    harmonic = _sums_to(lambda place: 1.0 / place, int((t + m).max(initial=0)))
    span = harmonic[t + m] - harmonic[t]
    others = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
    tied = (r / n) * ((groups.relevant_before + 1) * span + others * (m - (t + 1) * span))
    single = (groups.relevant_before + 1) / (t + 1.0) * (r > 0) * (m > 0)
    return np.asarray(np.where(n == 1, single, tied), dtype=np.float64)


def discount_sums(before: Ids, size: Ids, k: int, base: float) -> Reals:
    """Return the sum of ``1 / log_base(place + 1)`` over the places of each group, those beyond `k` left out."""
    stop = np.minimum(before + size, k)
    start = np.minimum(before, k)
    table = _sums_to(lambda place: np.log(base) / np.log(place + 1.0), int(stop.max(initial=0)))
    return np.asarray(table[stop] - table[start], dtype=np.float64)


def expected_reciprocal(before: Ids, size: Ids, relevant: Ids, which: Ids, k: int) -> Reals:
    """Return the expected ``1 / place`` of one relevant item of a tie group in random order; 0 beyond `k`.

    Parameters
    ----------
    before, size, relevant : int64 arrays, shape (n,)
        Items before the group, in it, and relevant ones in it.
    which : int64 array, shape (n,)
        1 for the group's first relevant item, 2 for its second, and so on: the i-th stands at offset o with
        probability C(o - 1, i - 1) C(n - o, r - i) / C(n, r).
    k : int
    """
    place = before + which
    result = np.where(place <= k, 1.0 / place, 0.0)
    is_mixed = relevant < size
    if is_mixed.any():
        rows = np.column_stack([before, size, relevant, which])[is_mixed]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        values = np.array([_mean_reciprocal(t, n, r, i, k) for t, n, r, i in distinct.tolist()])
        result[is_mixed] = values[inverse.reshape(-1)]
    return result


def _mean_reciprocal(before: int, size: int, relevant: int, which: int, k: int) -> float:
    """Return the expectation for one group, some of whose items are irrelevant.

    The chances of the offsets are built from their mode outwards by the ratio of neighbours and then divided
    by their sum, so that nothing underflows where it counts.
    """
    first, last = which, size - relevant + which
    offset = np.arange(first, last + 1, dtype=np.float64)
    up = offset[:-1]
    ratio = up / (up - which + 1) * ((size - up - relevant + which) / (size - up))
    mode = first if relevant == 1 else min(max((which - 1) * size // (relevant - 1), first), last)
    right, left = ratio[mode - first :], 1.0 / ratio[: mode - first][::-1]
    chance = np.concatenate([np.cumprod(left)[::-1], [1.0], np.cumprod(right)])
    place = before + offset
    return float((chance / place)[place <= k].sum() / chance.sum())


def _log_factorials(n: int) -> npt.NDArray[Any]:
    """Return ln 0!, ln 1!, ..., ln n! in extended precision, where the machine has it."""
    return _sums_to(np.log, n)


def _sums_to(value: Callable[[Any], Any], n: int) -> npt.NDArray[Any]:
    """Return the sums of ``value`` over 1..0, 1..1, ..., 1..n in extended precision."""
    table = np.zeros(n + 1, dtype=np.longdouble)
    np.cumsum(value(np.arange(1, n + 1, dtype=np.longdouble)), out=table[1:])
    return table
