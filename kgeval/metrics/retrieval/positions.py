"""Functions for exact expectations over random orders of tied items; the metrics of `listwise` and `graded` call them.

A tie group has the items of a list that have equal scores. Each formula is for one tie group; for a group of one item,
it equals the usual formula without ties. Source: McSherry and Najork (2008), Computing Information Retrieval
Performance Measures Efficiently in the Presence of Tied Scores, ECIR.
"""

from __future__ import annotations

import math

import numpy as np

from kgeval.base.checks import Ids, Reals
from kgeval.metrics.retrieval.lists import RankedLists, TieGroups
from kgeval.metrics.sums import MAX_TABLE, sums_over_ranges

_MAX_DEGREE = 200  # `_integrated` is used only for groups with at most this many relevant items


def expected_hits(lists: RankedLists, k: int | Ids) -> Reals:
    """Return the expected number of relevant items among the first `k` items of each list.

    Parameters
    ----------
    lists : RankedLists
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
    # (groups,): share of the group's positions that are among the first k. This is also the chance that a relevant item
    # of the group is among the first k.
    share = np.clip((reach - groups.before) / groups.size, 0.0, 1.0)
    return lists.per_list(groups.query, groups.relevant * share)


def chance_of_hit(lists: RankedLists, k: int) -> Reals:
    """Return the chance that at least one relevant item is among the first `k` items of each list.

    Only the first tie group with a relevant item matters. Let n be the number of items of this group, r the number of
    its relevant items, and m the number of its positions that are among the first k. The chance is
    1 - C(n - r, m) / C(n, m), where C is the binomial coefficient: 1 minus the chance that the first m items of the
    group are all irrelevant. The quotient C(n - r, m) / C(n, m) is equal to the product of 1 - m / (n - i) over
    i = 0 .. r - 1. The product stays the same if m and r are swapped; the code uses the form with fewer factors.

    Parameters
    ----------
    lists : RankedLists
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
    # n, r and m in the docstring, each of shape (lists with a relevant item,).
    n, r = groups.size[first], groups.relevant[first]
    m = np.clip(k - groups.before[first], 0, n)
    fewer, more = np.minimum(m, r), np.maximum(m, r)
    # The first m items can all be irrelevant only if all r relevant items fit into the n - m positions after the
    # cut-off; otherwise the chance is 1. Without factors the chance is 0, with one factor it is more / n.
    chance = np.where(r > n - m, 1.0, np.where(fewer == 0, 0.0, more / n))
    # The groups with at least 2 factors, and the number of factors of each.
    several = np.flatnonzero((r <= n - m) & (fewer > 1))
    count = fewer[several]
    # The factors of all groups are in one array, which has at most one factor per relevant item. ends - count is the
    # index of each group's first factor; i is 0, 1, ..., count - 1 in each group.
    ends = np.cumsum(count)
    i = np.arange(count.sum()) - np.repeat(ends - count, count)
    logs = np.log1p(-np.repeat(more[several], count) / (np.repeat(n[several], count) - i))
    chance[several] = -np.expm1(np.add.reduceat(logs, ends - count))
    return lists.per_list(groups.query[first], chance)


def expected_precision_sums(groups: TieGroups, k: int) -> Reals:
    """Return the expected sum of the precisions at the relevant items of each tie group.

    Let a group have n items, of which r are relevant; before the group, its list has t items, of which R0 are relevant.
    The item at position t + i of the list (i = 1 .. n) is relevant with probability r / n. If it is relevant, the
    expected precision at this position is (R0 + 1 + (i - 1) * (r - 1) / (n - 1)) / (t + i): the numerator counts the R0
    relevant items before the group, this item, and the expected number of relevant items among the i - 1 items of the
    group before this item. Let m positions of the group be among the first k, and let H be the sum of 1 / (t + i) over
    i = 1 .. m. The expected sum over these m positions is
    (r / n) * ((R0 + 1) * H + (r - 1) / (n - 1) * (m - (t + 1) * H)).

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
    # (groups,): H in the docstring.
    span = sums_over_ranges(lambda position: 1.0 / position, t, t + m, is_smooth=True)
    # (groups,): (r - 1) / (n - 1), the share of relevant items among the other items if one given item is relevant.
    others = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
    tied = (r / n) * ((groups.relevant_before + 1) * span + others * (m - (t + 1) * span))
    # For a group of one item, use the precision itself, since the difference of two harmonic sums has rounding errors.
    single = (groups.relevant_before + 1) / (t + 1.0) * (r > 0) * (m > 0)
    return np.asarray(np.where(n == 1, single, tied), dtype=np.float64)


def discount_sums(before: Ids, size: Ids, k: int, base: float) -> Reals:
    """Return the sum of the discounts ``1 / log_base(position + 1)`` over the positions of each tie group.

    Parameters
    ----------
    before, size : int64 arrays, shape (groups,)
        `before` is the number of items before the group in its list, `size` the number of items in the group. The
        positions of the group are before + 1 .. before + size.
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
    return sums_over_ranges(lambda position: np.log(base) / np.log(position + 1.0), start, stop, is_smooth=True)


def expected_reciprocal(before: Ids, size: Ids, relevant: Ids, which: Ids, k: int) -> Reals:
    """Return the expected ``1 / position`` of a relevant item of a tie group whose items are in random order.

    If the position is beyond `k`, 0 replaces ``1 / position``. In a group of n items, of which r are relevant, the i-th
    relevant item is item number o of the group (o = 1 .. n) with probability
    C(o - 1, i - 1) * C(n - o, r - i) / C(n, r), where C is the binomial coefficient.

    Parameters
    ----------
    before, size, relevant : int64 arrays, shape (rows,)
        `before` is the number of items before the group, `size` the number of items in the group, and `relevant` the
        number of relevant items in the group.
    which : int64 array, shape (rows,)
        The number i of the relevant item in its group: 1 for the first, 2 for the second, and so on.
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
    # (rows,): the result if all items of the group are relevant: the i-th relevant item is then the i-th item. The
    # other rows are overwritten below.
    position = before + which
    result = np.where(position <= k, 1.0 / position, 0.0)
    is_mixed = relevant < size
    if is_mixed.any():
        # Rows with equal (before, size, relevant, which) have the same result, which is computed once. inverse: for
        # each mixed row, the index of its result in `values`.
        rows = np.column_stack([before, size, relevant, which])[is_mixed]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        values = np.array(
            [
                (_integrated if n > MAX_TABLE and r <= _MAX_DEGREE else _mean_reciprocal)(t, n, r, i, k)
                for t, n, r, i in distinct.tolist()
            ]
        )
        result[is_mixed] = values[inverse.reshape(-1)]
    return result


def _integrated(before: int, size: int, relevant: int, which: int, k: int) -> float:
    """Return `expected_reciprocal` for a relevant item of a large group; the time hardly depends on the group's size.

    With n, r, i and o as in `expected_reciprocal`, the probability of item number o is a polynomial in o: the product
    of the integers o - i + 1 .. o - 1 and n - o - (r - i) + 1 .. n - o, divided by (i - 1)! (r - i)! C(n, r). In the
    code, each factor is divided by n, so that products neither overflow nor underflow.
    """
    share = size ** (relevant - 1) / (
        math.factorial(which - 1) * math.factorial(relevant - which) * math.comb(size, relevant)
    )

    def value(place: Reals) -> Reals:
        chance: Reals = share / (before + place)
        for j in range(1, which):
            chance *= (place - j) / size
        for j in range(relevant - which):
            chance *= (size - place - j) / size
        return chance

    first, last = which, min(size - relevant + which, k - before)  # the possible places up to k
    return float(
        sums_over_ranges(value, np.array([first - 1]), np.array([max(first - 1, last)]), True, relevant - 1)[0]
    )


def _mean_reciprocal(before: int, size: int, relevant: int, which: int, k: int) -> float:
    """Return `expected_reciprocal` for a relevant item of a group that also has irrelevant items.

    An offset is the position of the item in its group, counted from 1. The probability of each offset is computed
    relative to the most likely offset, from the ratios of neighbouring probabilities. At the end, each probability is
    divided by the sum of all probabilities. In this way, only negligible probabilities underflow to 0.
    """
    # The possible offsets of the item in its group: first .. last.
    first, last = which, size - relevant + which
    offset = np.arange(first, last + 1, dtype=np.float64)
    # ratio[j] is the probability of offset[j + 1] divided by the probability of offset[j].
    up = offset[:-1]
    ratio = up / (up - which + 1) * ((size - up - relevant + which) / (size - up))
    mode = first if relevant == 1 else min(max((which - 1) * size // (relevant - 1), first), last)
    # The most likely offset, `mode`, has the relative probability 1. The probabilities of larger offsets are products
    # of ratios, those of smaller offsets are products of inverse ratios.
    right, left = ratio[mode - first :], 1.0 / ratio[: mode - first][::-1]
    chance = np.concatenate([np.cumprod(left)[::-1], [1.0], np.cumprod(right)])
    position = before + offset
    return float((chance / position)[position <= k].sum() / chance.sum())
