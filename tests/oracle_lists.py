"""A slow reference for ranked lists: one order of grades at a time, in fractions, to be checked by reading.

A list is its items' grades in ranked order; `unlisted` are the positive grades of items that it lacks; an
item is relevant if its grade is positive and reaches `level`. Metrics are named by their text.
"""

import itertools
import math
from fractions import Fraction


def read(text):
    """Name, options and cut-off (None if there is none) of a metric such as "ndcg(gain=exponential)@10"."""
    head, _, cut_off = text.partition("@")
    name, _, inside = head.removesuffix(")").partition("(")
    return name, dict(part.split("=") for part in inside.split(",") if part), int(cut_off) if cut_off else None


def number(text):
    """A parameter as a fraction."""
    return Fraction(math.e) if text == "e" else Fraction(text)


def power_of_two(exponent):
    """2 to the exponent, exact if that is an integer."""
    return Fraction(2.0**exponent)


def gain_of(grade, gain):
    """What an item of this grade is worth to DCG."""
    if gain == "linear":
        return grade
    if gain == "exponential":
        return 2.0**grade - 1
    named = dict(part.split(":") for part in gain.split(";"))
    return float(named.get(f"{grade:g}", grade))


def dcg(worths, k, base):
    """Sum of worth / log_base(place + 1) over the first k places."""
    return math.fsum(worth / math.log(place + 1) for place, worth in enumerate(worths[:k], 1)) * math.log(base)


def stopping_place(grades, k, g_max):
    """Mean of 1 / place over where a reader stops, who stops at grade g with probability (2^g - 1) / 2^g_max."""
    total, goes_on = Fraction(0), Fraction(1)
    for place, grade in enumerate(grades[:k], 1):
        if grade > 0:
            stops = (power_of_two(grade) - 1) / power_of_two(g_max)
            total += goes_on * stops / place
            goes_on *= 1 - stops
    return total


def best_precision(relevant, n_relevant, recall):
    """Largest precision among the places where the list has reached the recall; 0 if it never does."""
    found = [Fraction(0)]
    for place in range(1, len(relevant) + 1):
        hits = sum(relevant[:place])
        if hits >= recall * n_relevant:
            found.append(Fraction(hits, place))
    return max(found)


def ratio(text, grades, unlisted=(), level=0):
    """Numerator and denominator of a metric for one query; it has no value where the denominator is 0."""
    name, options, k = read(text)
    relevant = [grade > 0 and grade >= level for grade in grades]
    n_relevant = sum(relevant) + sum(grade >= level for grade in unlisted)
    irrelevant = len(grades) - sum(relevant)
    hits = sum(relevant[:k])
    length = len(grades) if k is None else k
    if options.get("short") == "cut":
        length = min(length, len(grades))
    if name == "precision":
        return hits, length
    if name == "recall":
        return hits, n_relevant
    if name in ("f1", "fbeta"):
        weight = number(options.get("beta", "1")) ** 2
        return (1 + weight) * hits, length + weight * n_relevant
    if name == "success":
        return int(hits > 0), 1
    if name == "rr":
        return (Fraction(1, relevant.index(True) + 1) if hits else 0), 1
    if name == "map":
        places = [place for place, is_hit in enumerate(relevant[:k], 1) if is_hit]
        return sum(Fraction(sum(relevant[:place]), place) for place in places), n_relevant
    if name == "rprec":
        return sum(relevant[:n_relevant]), n_relevant
    if name == "auc":
        won = sum(one and not other for one, other in itertools.combinations(relevant, 2))
        return won, n_relevant * irrelevant
    if name in ("dcg", "ndcg"):
        gain, base = options.get("gain", "linear"), number(options.get("base", "2"))
        gained = dcg([gain_of(grade, gain) for grade in grades], k, base)
        ideal = sorted((gain_of(grade, gain) for grade in (*grades, *unlisted)), reverse=True)
        return gained, (1 if name == "dcg" else dcg(ideal, k, base))
    if name == "err":
        return stopping_place(grades, k, number(options.get("g_max", "1"))), 1
    if name == "iprec":
        recall = number(options.get("recall", "0"))
        return best_precision(relevant, n_relevant, recall), int(n_relevant > 0)
    if name == "iap":
        points = options.get("points", "11")
        if points == "all":
            recalls = [Fraction(i, n_relevant) for i in range(1, n_relevant + 1)]
        else:
            recalls = [Fraction(i, int(points) - 1) for i in range(int(points))] if n_relevant else []
        return sum(best_precision(relevant, n_relevant, recall) for recall in recalls), len(recalls)
    raise KeyError(name)


def orders(groups, ties="expected", gain="linear"):
    """Every order that tied items may take, all equally likely; a group has the grades of its items as they came.

    Each distinct order stands for equally many permutations; the best order is by what items are worth.
    """
    if ties == "expected":
        ways = [sorted(set(itertools.permutations(group))) for group in groups]
    else:
        sign = {"optimistic": -1, "pessimistic": 1, "stable": 0}[ties]
        ways = [[sorted(group, key=lambda grade: sign * gain_of(grade, gain))] for group in groups]
    return [list(itertools.chain(*way)) for way in itertools.product(*ways)]


def mean_ratio(text, possible, unlisted=(), level=0):
    """The mean numerator over equally likely orders, and the denominator, which is the same for all."""
    pairs = [ratio(text, grades, unlisted, level) for grades in possible]
    return sum(above for above, _ in pairs) / Fraction(len(pairs)), pairs[0][1]


def expectation(text, groups, unlisted=(), level=0):
    """The value over random orders of tied items; None where there is none."""
    above, below = mean_ratio(text, orders(groups), unlisted, level)
    return above / below if below else None


def average(text, ratios, how):
    """Mean over queries (None where there is none), and how many it leaves out."""
    empty = read(text)[1].get("empty", "skip")
    kept = [(above, below) for above, below in ratios if below > 0]
    excluded = len(ratios) - len(kept)
    if empty == "zero":  # counts in a mean, and adds nothing to either sum
        kept, excluded = kept + [(0, 1 if how == "macro" or not kept else 0)] * excluded, 0
    if not kept or (excluded and empty == "nan"):
        return None, excluded
    if how == "micro":
        return sum(above for above, _ in kept) / Fraction(sum(below for _, below in kept)), excluded
    return sum(above / Fraction(below) for above, below in kept) / len(kept), excluded
