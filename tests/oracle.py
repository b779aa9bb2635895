"""A slow reference for ranks and metrics: loops, sets and fractions, to be checked by reading."""

import math
import statistics
from fractions import Fraction


def rank_counts(score, triples, known, entities, side):
    """For each triple, how many rivals on one side there are, score above it, equal it; raw and filtered."""
    table = []
    for s, p, o in triples:
        candidates = {(e, p, o) if side == "subject" else (s, p, e) for e in entities} | {(s, p, o)}
        scores = {candidate: score(*candidate) for candidate in candidates}
        if any(math.isnan(x) for x in scores.values()):
            raise ValueError(f"NaN score while ranking {(s, p, o)} by {side}")
        own = scores.pop((s, p, o))
        row = {"score": own}
        row.update({f"{count}_{k}": 0 for count in ("better", "tied", "rivals") for k in ("raw", "filtered")})
        for rival, other in scores.items():
            for setting in ("raw",) if rival in known else ("raw", "filtered"):
                row[f"rivals_{setting}"] += 1
                row[f"better_{setting}"] += other > own
                row[f"tied_{setting}"] += other == own
        table.append(row)
    return table


def ranks(better, tied, policy):
    """The (rank, probability) pairs that a tie policy stands for."""
    first, last = better + 1, better + tied + 1
    if policy == "expected":
        return [(rank, Fraction(1, tied + 1)) for rank in range(first, last + 1)]
    certain = {"optimistic": first, "pessimistic": last, "realistic": Fraction(first + last, 2)}
    return [(certain[policy], Fraction(1))]


def value(name, rank):
    """What one rank contributes to a metric that is a mean over ranks."""
    if name.startswith("hits@"):
        return Fraction(rank <= int(name.removeprefix("hits@")))
    return {"mr": Fraction(rank), "mrr": 1 / Fraction(rank)}[name]


def metric(name, rows, policy):
    """The metric over (better, tied, rivals) rows under a tie policy; None where it is not defined."""
    n, spread = len(rows), [ranks(better, tied, policy) for better, tied, _ in rows]
    if n == 0 or (policy == "expected" and name in ("median_rank", "hmr")):
        return None
    if name == "gmr":  # ties break independently: the expectation of a product is the product of expectations
        return math.prod(sum(rank ** (1 / n) * share for rank, share in pairs) for pairs in spread)
    if name == "median_rank":
        return statistics.median(rank for [(rank, _)] in spread)
    if name == "hmr":
        return n / sum(1 / Fraction(rank) for [(rank, _)] in spread)
    return sum(value(name, rank) * share for pairs in spread for rank, share in pairs) / n


def chance(name, rows):
    """(expectation, variance) of the metric if each rank were uniform on 1..rivals + 1, independently."""
    n, all_ranks = len(rows), [range(1, rivals + 2) for _, _, rivals in rows]
    if name == "gmr":
        first = math.prod(sum(r ** (1 / n) for r in rs) / len(rs) for rs in all_ranks)
        second = math.prod(sum(r ** (2 / n) for r in rs) / len(rs) for rs in all_ranks)
        return first, second - first**2
    means = [sum(value(name, r) for r in rs) / len(rs) for rs in all_ranks]
    squares = [sum(value(name, r) ** 2 for r in rs) / len(rs) for rs in all_ranks]
    return sum(means) / n, sum(square - mean**2 for square, mean in zip(squares, means, strict=True)) / n**2


def adjusted(name, rows, policy):
    """(metric - expectation) / (best - expectation): 1 at the best, 0 at chance; None where that is 0 / 0."""
    expectation = chance(name, rows)[0] if rows else 1
    best = 1  # each of mr, mrr, hits@K and gmr is 1 when every rank is 1
    return None if expectation == best else (metric(name, rows, policy) - expectation) / (best - expectation)


def z(name, rows, policy):
    """Standard deviations above chance, signed so that larger is better; None where the variance is 0."""
    expectation, variance = chance(name, rows) if rows else (None, 0)
    sign = -1 if name in ("mr", "gmr") else 1
    return None if variance == 0 else sign * (metric(name, rows, policy) - expectation) / math.sqrt(variance)


def random_graph(rng, allow_empty=False):
    """A tiny graph (n_entities, n_relations, splits) with duplicates, overlaps, self-loops and unseen ids."""
    n, m = rng.randint(1, 12), rng.randint(1, 3)
    splits, fewer = {}, rng.random() < 0.3  # now and then train knows fewer entities and relations
    for split, most in (("train", 30), ("valid", 8), ("test", 8)):
        e, r = (rng.randint(1, n), rng.randint(1, m)) if fewer and split == "train" else (n, m)
        count = rng.randint(1, most)
        rows = [(rng.randrange(e), rng.randrange(r), rng.randrange(e)) for _ in range(count)]
        planted = [(s, p, s) for s, p, _ in rows[:1]] + rows[-2:]  # a self-loop and duplicates
        planted += rng.choices(splits["train"], k=2) if splits.get("train") else []  # overlaps
        rows += [triple for triple in planted if rng.random() < 0.3]
        rng.shuffle(rows)
        splits[split] = [] if allow_empty and split != "test" and rng.random() < 0.2 else rows
    return n, m, splits
