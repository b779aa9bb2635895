"""Exact expectations over random orders of tied items; the metrics of `listwise` and `graded` call them.

The formulas are for one tie group. The group has n items, of which r are relevant; before the group, its list has t
items, of which R0 are relevant. The source of the formulas is McSherry and Najork (2008), Computing Information
Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR. For a group of one item, each formula
is the usual formula without ties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals
from kgeval.metrics.retrieval.lists import Lists, TieGroups


def expected_hits(lists: Lists, k: int | Ids) -> Reals:
    """Return the expected number of relevant items among the first `k` items of each list.

    Parameters
    ----------
    lists : Lists
    k : int, or int64 array of shape (queries,)
        One cut-off for all lists, or one for each list.

    Returns
    -------
    float64 array, shape (queries,)

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_scores
    >>> expected_hits(from_scores([1, 0, 1], [9, 9, 5]), 1)  # one of the two tied items is relevant
    array([0.5])
    """
    groups = lists.groups
    # The cut-off: one number for all groups, or an array of shape (groups,).
    reach = k[groups.query] if isinstance(k, np.ndarray) else k
    # (groups,): share of the group's positions that are among the first k; the chance of a relevant item to be there.
    share = np.clip((reach - groups.before) / groups.size, 0.0, 1.0)
    return lists.per_list(groups.query, groups.relevant * share)


def chance_of_hit(lists: Lists, k: int) -> Reals:
    """Return the chance that at least one relevant item is among the first `k` items of each list.

    Only the first tie group with a relevant item matters. If m of its n positions are among the first k, the chance is
    1 - C(n - r, m) / C(n, m): 1 minus the chance that the first m items of the group are all irrelevant.

    Parameters
    ----------
    lists : Lists
    k : int

    Returns
    -------
    float64 array, shape (queries,)

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_scores
    >>> chance_of_hit(from_scores([1, 0, 0, 0], [9, 9, 9, 9]), 1)
    array([0.25])
    """
    groups = lists.groups
    # (groups,): whether the group is the first group with a relevant item; at most one group per list.
    first = (groups.relevant > 0) & (groups.relevant_before == 0)
    # n, r, m of those groups, each of shape (lists with a relevant item,).
    n, r = groups.size[first], groups.relevant[first]
    m = np.clip(k - groups.before[first], 0, n)
    # log[i] is ln i!; C(n - r, m) / C(n, m) = (n - m)! (n - r)! / ((n - m - r)! n!).
    log = _log_factorials(int(n.max(initial=0)))
    # The first m items can all be irrelevant only if the n - m positions after the cut-off suffice for all r relevant
    # items. In other groups, r replaces n - m so that no index is negative, and the result is not used.
    can_miss = n - m >= r
    after_cut = np.where(can_miss, n - m, r)
    missed = np.where(can_miss, np.exp(log[after_cut] - log[after_cut - r] - log[n] + log[n - r]), 0.0).astype(
        np.float64
    )
    # The exact chance is 0 if m is 0, and 1 if all items are relevant (and m > 0); the logarithms would round.
    chance = np.where(r == n, m > 0, np.where(m == 0, 0.0, 1.0 - missed))
    return lists.per_list(groups.query[first], np.asarray(chance, dtype=np.float64))


def expected_precision_sums(groups: TieGroups, k: int) -> Reals:
    """Return the expected sum of the precisions at the relevant items of each tie group.

    The item at position t + i, i = 1 .. n, is relevant with probability r / n. If it is relevant, the expected
    precision at this position is (R0 + 1 + (i - 1) (r - 1) / (n - 1)) / (t + i): R0 relevant items before the group,
    this item, and the expected number of relevant items among the i - 1 items of the group before this item. The sum
    over the m positions of the group among the first k is
    (r / n) ((R0 + 1) H + (r - 1) / (n - 1) (m - (t + 1) H)), where H is the sum of 1 / (t + i) over i = 1 .. m.

    Parameters
    ----------
    groups : TieGroups
    k : int
        Relevant items that are not among the first k items of a list add 0.

    Returns
    -------
    float64 array, shape (groups,)

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_scores
    >>> expected_precision_sums(from_scores([0, 1], [9, 9]).groups, 2)  # the precision is 1 or 1/2
    array([0.75])
    """
    n, r, t = groups.size, groups.relevant, groups.before
    # (groups,): number of positions of the group that are among the first k.
    m = np.clip(k - t, 0, n)
    # harmonic[i] is the sum of 1 / position over the positions 1..i. span (groups,): H of the formula above.
    harmonic = _sums_to(lambda position: 1.0 / position, int((t + m).max(initial=0)))
    span = harmonic[t + m] - harmonic[t]
    # (groups,): share of relevant items among the other items of the group, if one item is relevant.
    others = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
    tied = (r / n) * ((groups.relevant_before + 1) * span + others * (m - (t + 1) * span))
    # For a group of one item, use the precision itself, since the difference of two harmonic sums is rounded.
    single = (groups.relevant_before + 1) / (t + 1.0) * (r > 0) * (m > 0)
    return np.asarray(np.where(n == 1, single, tied), dtype=np.float64)


def discount_sums(before: Ids, size: Ids, k: int, base: float) -> Reals:
    """Return the sum of the discounts ``1 / log_base(position + 1)`` over the positions of each tie group.

    Parameters
    ----------
    before, size : int64 arrays, shape (groups,)
        Number of items before the group, and in the group; the positions of the group are before + 1 .. before + size.
    k : int
        Positions beyond k are left out.
    base : float
        Base of the logarithm, above 1.

    Returns
    -------
    float64 array, shape (groups,)

    Examples
    --------
    >>> discount_sums(np.array([0, 2]), np.array([1, 2]), 3, 2.0)  # position 1; positions 3 and 4, but 4 is above k
    array([1. , 0.5])
    """
    # (groups,) each: the positions of each group up to k are start + 1 .. stop.
    stop = np.minimum(before + size, k)
    start = np.minimum(before, k)
    # table[i] is the sum of the discounts at the positions 1..i.
    table = _sums_to(lambda position: np.log(base) / np.log(position + 1.0), int(stop.max(initial=0)))
    return np.asarray(table[stop] - table[start], dtype=np.float64)


def expected_reciprocal(before: Ids, size: Ids, relevant: Ids, which: Ids, k: int) -> Reals:
    """Return the expected ``1 / position`` of a relevant item in a tie group in random order.

    Positions beyond `k` add 0. In a group of n items, of which r are relevant, the i-th relevant item is at offset o
    (1 .. n within the group) with probability C(o - 1, i - 1) C(n - o, r - i) / C(n, r).

    Parameters
    ----------
    before, size, relevant : int64 arrays, shape (rows,)
        Number of items before the group, number of items in the group, and number of relevant items in the group.
    which : int64 array, shape (rows,)
        i: 1 for the first relevant item of the group, 2 for the second, and so on.
    k : int

    Returns
    -------
    float64 array, shape (rows,)

    Examples
    --------
    >>> before, size, relevant, which = np.array([[0], [2], [1], [1]])
    >>> expected_reciprocal(before, size, relevant, which, 5)  # (1 / 1 + 1 / 2) / 2
    array([0.75])
    """
    # (rows,): correct if all items of the group are relevant, as the i-th item is then the i-th relevant item.
    position = before + which
    result = np.where(position <= k, 1.0 / position, 0.0)
    is_mixed = relevant < size
    if is_mixed.any():
        # In the other rows, each distinct (t, n, r, i) is computed once; inverse (rows,): index of the row's result.
        rows = np.column_stack([before, size, relevant, which])[is_mixed]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        values = np.array([_mean_reciprocal(t, n, r, i, k) for t, n, r, i in distinct.tolist()])
        result[is_mixed] = values[inverse.reshape(-1)]
    return result


def _mean_reciprocal(before: int, size: int, relevant: int, which: int, k: int) -> float:
    """Return `expected_reciprocal` of one relevant item of a group that also has irrelevant items.

    The probability of each offset is computed relative to the probability of the most likely offset, from the ratios of
    neighbouring probabilities, and then divided by the sum of all. So only negligible probabilities underflow to 0.
    """
    # The possible offsets of the item in its group: first .. last.
    first, last = which, size - relevant + which
    offset = np.arange(first, last + 1, dtype=np.float64)
    # ratio[j] is the probability of offset[j + 1] divided by the probability of offset[j].
    up = offset[:-1]
    ratio = up / (up - which + 1) * ((size - up - relevant + which) / (size - up))
    mode = first if relevant == 1 else min(max((which - 1) * size // (relevant - 1), first), last)
    # The mode has the relative probability 1; to its right multiply by the ratios, to its left divide by them.
    right, left = ratio[mode - first :], 1.0 / ratio[: mode - first][::-1]
    chance = np.concatenate([np.cumprod(left)[::-1], [1.0], np.cumprod(right)])
    position = before + offset
    return float((chance / position)[position <= k].sum() / chance.sum())


def _log_factorials(n: int) -> npt.NDArray[Any]:
    """Return ln 0!, ln 1!, ..., ln n!, shape (n + 1,), in extended precision where the machine has it."""
    return _sums_to(np.log, n)


def _sums_to(value: Callable[[Any], Any], n: int) -> npt.NDArray[Any]:
    """Return the sums of ``value`` over 1..i for i = 0 .. n, in extended precision, shape (n + 1,)."""
    table = np.zeros(n + 1, dtype=np.longdouble)
    np.cumsum(value(np.arange(1, n + 1, dtype=np.longdouble)), out=table[1:])
    return table
