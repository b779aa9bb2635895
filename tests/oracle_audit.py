"""A slow reference for the audit of a dataset: one triple at a time, in sets, to be checked by reading."""

from fractions import Fraction

SIDES = {"subject": (0, 2), "object": (2, 0)}  # the columns of the answer and of the given entity


def reverse(pairs):
    """The pairs turned round."""
    return {(o, s) for s, o in pairs}


def pairs_of(triples):
    """The pairs (s, o) of each relation, without loops."""
    found = {}
    for s, p, o in triples:
        found.setdefault(p, set())
        if s != o:
            found[p].add((s, o))
    return found


def are_near_duplicates(p, q, train):
    """Whether two relations share at least four fifths of the pairs of the larger one."""
    pairs = pairs_of(train)
    one, other = pairs.get(p, set()), pairs.get(q, set())
    return p != q and bool(one | other) and 5 * len(one & other) >= 4 * max(len(one), len(other))


def leak(triple, train):
    """The names of the ways in which train gives a triple away."""
    s, p, o = triple
    ways = set()
    for a, q, b in train:
        if s == o:
            continue
        if (a, b) == (o, s):
            ways.add("symmetric" if q == p else "inverse")
        if (a, b) == (s, o) and are_near_duplicates(p, q, train):
            ways.add("near-duplicate")
    return ways


def half_link(triple, train):
    """Whether train has the subject, and whether it has the object, with the relation of a triple."""
    s, p, o = triple
    return any((a, q) == (s, p) for a, q, _ in train), any((q, b) == (p, o) for _, q, b in train)


def relations(train):
    """Findings about relations: (kind, relation) -> (count, of)."""
    found, pairs = {}, pairs_of(train)
    for p, own in pairs.items():
        best = {}  # of each kind: overlap, count, of
        for q, others in pairs.items():
            for kind, shared in (("near-duplicate", own & others), ("near-inverse", own & reverse(others))):
                if (p == q and kind == "near-duplicate") or not shared:
                    continue
                name = "symmetric" if p == q else kind
                of = max(len(own), len(others))
                overlap = Fraction(len(shared), of)
                if overlap >= Fraction(4, 5):
                    best[name] = max(best.get(name, (0, 0, 0)), (overlap, len(shared), of))
        for name, (overlap, count, of) in best.items():
            kind = "inverse" if name == "near-inverse" and overlap == 1 else name
            found[f"{kind} relation", p] = (count, of)
        triples = {t for t in train if t[1] == p}
        subjects, objects = {s for s, _, _ in triples}, {o for _, _, o in triples}
        size = len(subjects) * len(objects)
        if min(len(subjects), len(objects)) > 1 and 5 * len(triples) >= 4 * size:
            found["Cartesian-product relation", p] = (len(triples), size)
    return found


def n_certain(triples, splits, n_entities, side, in_pool):
    """How many queries of one side have at most 10 candidates."""
    answer, given = SIDES[side]
    known = {t for rows in splits.values() for t in rows}
    n = 0
    for triple in triples:
        pool = set(range(n_entities))
        if in_pool:
            pool = {t[answer] for t in splits["train"] if t[1] == triple[1]} | {triple[answer]}
        query = (triple[1], triple[given], triple[3:])  # [3:]: the time, if there are times
        others = {t[answer] for t in known if (t[1], t[given], t[3:]) == query} - {triple[answer]}
        n += len(pool - others) <= 10
    return n


def cardinality(p, splits):
    """The class of a relation, by means over all splits of at least 1.5."""
    triples = {t for rows in splits.values() for t in rows if t[1] == p}
    n_subjects, n_objects = len({s for s, _, _ in triples}), len({o for _, _, o in triples})
    return f"{'N' if 2 * len(triples) >= 3 * n_objects else '1'}-{'N' if 2 * len(triples) >= 3 * n_subjects else '1'}"


def findings(splits, n_entities, times=None):
    """All findings about a dataset with train: (kind, relation, split) -> (count, of).

    `splits`: lists of triples by name, train first; `times`: a list of times for each split, or None.
    """
    found = {}
    keyed = splits
    if times:
        keyed = {name: [(*t, at) for t, at in zip(rows, times[name])] for name, rows in splits.items()}
    names, train = list(splits), splits["train"]
    for name, rows in keyed.items():
        found["duplicate row", "", name] = (sum(row in rows[:i] for i, row in enumerate(rows)), len(rows))
        for earlier in names[: names.index(name)]:
            kind = "triple in train" if earlier == "train" else "triple in another split"
            found[kind, "", name] = (sum(row in keyed[earlier] for row in rows), len(rows))
    entities, seen = {e for s, _, o in train for e in (s, o)}, {p for _, p, _ in train}
    degree = [sum(e in (row[0], row[2]) for row in set(keyed["train"])) for e in range(n_entities)]
    most = max(1, n_entities // 100)  # at most so many entities are popular
    popular = {e for e in range(n_entities) if 1 <= sum(d >= degree[e] > 0 for d in degree) <= most}
    for (kind, p), numbers in relations(train).items():
        found[kind, p, "train"] = numbers
    for name in names[1:]:
        rows = splits[name]
        leaks, halves = [leak(t, train) for t in rows], [half_link(t, train) for t in rows]
        counts = {"reversed pair in train": sum(bool(ways & {"symmetric", "inverse"}) for ways in leaks)}
        for way in ("symmetric", "inverse", "near-duplicate"):
            counts[f"{way} pair in train"] = sum(way in ways for ways in leaks)
        counts["unseen entity or relation"] = sum(not ({s, o} <= entities and p in seen) for s, p, o in rows)
        counts["positive outside the domain"] = sum(not has_subject for has_subject, _ in halves)
        counts["positive outside the range"] = sum(not has_object for _, has_object in halves)
        if times:
            counts["recurring fact"] = sum(row[:3] in train and row not in keyed["train"] for row in keyed[name])
        if name == names[-1]:
            for side, (answer, _) in SIDES.items():
                counts[f"hits@10 certain: {side} side"] = n_certain(keyed[name], keyed, n_entities, side, False)
                counts[f"hits@10 certain in pools: {side} side"] = n_certain(keyed[name], keyed, n_entities, side, True)
                counts[f"popular answer: {side} side"] = sum(t[answer] in popular for t in rows)
            for words, half in {
                "both": (True, True),
                "subject and relation": (True, False),
                "relation and object": (False, True),
                "none": (False, False),
            }.items():
                counts[f"half-link: {words}"] = halves.count(half)
            for kind in ("1-1", "1-N", "N-1", "N-N"):
                counts[f"cardinality: {kind}"] = sum(cardinality(p, splits) == kind for _, p, _ in rows)
            counts["rare entity"] = sum(0 < min(degree[s], degree[o]) <= 3 for s, _, o in rows)
        for kind, n in counts.items():
            found[kind, "", name] = (n, len(rows))
    return {key: numbers for key, numbers in found.items() if numbers[0]}
