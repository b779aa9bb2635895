"""The findings of an audit: one function for each group of kinds; `all_findings` calls them.

`kgeval.audit.data_audit` calls `all_findings`. `EFFECTS` lists the kinds, gravest first, with their effects on the
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgeval.base.checks import Bools, Ids, counted
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import facts_of, natural_key
from kgeval.data.known import KnownIndex
from kgeval.data.queries import query_parts, shares_query
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import SIDES
from kgeval.features import leaks
from kgeval.features.relations import CARDINALITIES, HALF_LINKS, cardinalities, half_links, relation_overlaps

MIN_PRODUCT_SHARE = 0.8  # of all pairs (subject, object) of a Cartesian-product relation
CERTAIN = 10  # hits@10 is 1 for a query with this number of candidates
FEW_TRIPLES = 3  # an entity with at most this number of triples in train is rare
POPULAR_SHARE = 0.01  # of all entities, those with the most triples in train are popular

COPIED = 'a rule that copies from train answers them; result.by("leak") (--by leak) gives the metrics without them'
SHARED = "if train has the other triple of a test triple, a rule that copies answers it: see the pairs in train"
EFFECTS = {  # the kinds of findings, gravest first, and what they do to the numbers
    "triple in train": "a model has seen the answer: ranks are too good; remove these triples",
    "triple in another split": "settings that were chosen on one split are tested on the same triples",
    "reversed pair in train": "train has (o, q, s) for some relation q, p included: " + COPIED,
    "inverse pair in train": "train has (o, q, s) for a relation q other than p: " + COPIED,
    "symmetric pair in train": "train has (o, p, s): " + COPIED,
    "near-duplicate pair in train": "train has (s, q, o), q a near-duplicate relation of p: " + COPIED,
    "recurring fact": "train has the triple at another time: a rule that repeats known facts answers them",
    "inverse relation": SHARED,
    "near-inverse relation": SHARED,
    "near-duplicate relation": SHARED,
    "symmetric relation": SHARED,
    "Cartesian-product relation": "nearly every subject goes with every object: listing the relation's entities is "
    "enough, and unknown corruptions may be true",
    "duplicate row": "each copy counts again in the means of its split; in train, it weighs more",
    "unseen entity or relation": "no model can have learned it: ranks are near chance; unseen= (--unseen) decides "
    "what is done",
    "positive outside the domain": "train never shows the subject with this relation: candidates limited to the domain "
    "of train leave the positive out",
    "positive outside the range": "train never shows the object with this relation: candidates limited to the range of "
    "train leave the positive out",
    "hits@10 certain": "at most 10 candidates are left after filtering: hits@10 is 1 for every scorer, chance included",
    "hits@10 certain in pools": "so it would be with the relation's domain or range in train as the only candidates",
    "near-duplicate labels": "two labels look alike and may name the same thing: its triples are divided, and one is a "
    "wrong corruption of the other",
    "half-link": "what train shows of the triple's subject and object with its relation: "
    'result.by("half_link") (--by half_link)',
    "cardinality": "a side with 1 has about one answer for each query, a side with N several: --by cardinality",
    "rare entity": "little to learn from: ranks are worse; by degree_given, degree_asked",
    "popular answer": "frequent answers are guessed without the query; by degree_asked, or result.weighted",
}


@dataclass(frozen=True)
class Finding:
    """One finding.

    Parameters
    ----------
    kind : str
        One of `EFFECTS`; details may follow after a colon.
    count, of : int
        How many triples (pairs, labels, ranks) the finding is about, and out of how many.
    example : str
    relation, split : str
        Labels of the relation, or the name of the split, that the finding is about; empty if it is about neither.
    note : str
        A further text about the effect.
    """

    kind: str
    count: int
    of: int
    example: str = ""
    relation: str = ""
    split: str = ""
    note: str = ""

    def row(self) -> dict[str, object]:
        """Return the row of the table of findings."""
        effect = EFFECTS[self.kind.partition(":")[0]]
        return {
            "kind": self.kind,
            "relation": self.relation,
            "split": self.split,
            "share": self.count / self.of if self.of else 0.0,
            "count": self.count,
            "example": self.example,
            "effect": f"{effect}; {self.note}" if self.note else effect,
        }


def all_findings(dataset: Dataset) -> list[Finding]:
    """Return the findings about a dataset, gravest kind first; within a kind, the larger count first."""
    found = [finding for group in (_repeats, _unseen, _labels) for finding in group(dataset)]
    later = [split for split, rows in reversed(dataset.splits.items()) if split != "train" and len(rows)]  # test first
    if "train" in dataset:
        overlaps = relation_overlaps(dataset["train"].array, len(dataset.relations))
        found += _relations(dataset, later[0] if later else "", overlaps)
        for split in later:
            found += [*_copied(dataset, split, overlaps), *_recurring(dataset, split), *_outside(dataset, split)]
    for split in later[:1]:
        found += [*_certain(dataset, split), *_about_triples(dataset, split)]
    kinds = list(EFFECTS)
    return sorted(found, key=lambda f: (kinds.index(f.kind.partition(":")[0]), -f.count))


def _shown(dataset: Dataset, triples: Ids, chosen: Bools | Ids) -> str:
    """Return the first of the chosen triples as text; empty if there is none."""
    rows = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    return f"({', '.join(triple_labels(dataset, *triples[rows[0]].tolist()))})" if len(rows) else ""


def _some(
    dataset: Dataset, split: str, chosen: Mapping[str, Bools | Ids], notes: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Return a finding for each kind whose triples are chosen: a mask, or row numbers; none for a kind without any."""
    triples = dataset[split].array
    for kind, rows in chosen.items():
        n = int(rows.sum()) if rows.dtype == bool else len(rows)
        if n:
            note = (notes or {}).get(kind, "")
            yield Finding(kind, n, len(triples), _shown(dataset, triples, rows), split=split, note=note)


def _repeats(dataset: Dataset) -> Iterator[Finding]:
    for split, rows in dataset.repeats.duplicates.items():
        yield from _some(dataset, split, {"duplicate row": rows})
    for (a, b), rows in dataset.repeats.overlaps.items():
        kind = "triple in train" if a == "train" else "triple in another split"
        yield from _some(dataset, b, {kind: rows}, {kind: f"the other split is {a}"})


def _unseen(dataset: Dataset) -> Iterator[Finding]:
    for split, counts in dataset.unseen.items():
        if counts["triples"]:
            kind = "unseen entity or relation"
            note = f"{counted(counts['entities'], 'entity')} and {counted(counts['relations'], 'relation')}"
            yield from _some(dataset, split, {kind: ~dataset.is_seen(split)}, {kind: note})


def _labels(dataset: Dataset) -> Iterator[Finding]:
    for kind, pairs in dataset.near_duplicates.items():
        if pairs:
            n = len(dataset.entities if kind == "entity" else dataset.relations)
            earlier, later = map(ascii, pairs[0])
            plural = "entities" if kind == "entity" else "relations"
            yield Finding("near-duplicate labels", len(pairs), n, f"{earlier} and {later}", note=f"labels of {plural}")


def _relations(dataset: Dataset, split: str, overlaps: pd.DataFrame) -> Iterator[Finding]:
    """Return the findings about relations, which are compared on train."""
    triples, n_relations = dataset["train"].array, len(dataset.relations)
    order, starts = group_rows(triples[:, 1], triples[:, 0], triples[:, 2])
    triples = triples[order[starts[:-1]]]  # distinct, sorted by relation
    bounds = np.searchsorted(triples[:, 1], np.arange(n_relations + 1))
    later = dataset[split].p if split else np.zeros(0, dtype=np.int64)
    n_later = np.bincount(later, minlength=n_relations)

    def finding(kind: str, p: int, n: int, of: int, example: str) -> Finding:
        note = f"{counted(int(n_later[p]), 'triple')} of {split} with this relation" if split else ""
        return Finding(kind, n, of, example, dataset.relations.labels[p], "train", note)

    near = overlaps[overlaps["is_near"]].sort_values(["n", "p"], ascending=[False, True])
    near["is_symmetric"] = near["p"] == near["q"]
    # Of each relation only the relation with the largest overlap, in the same direction and reversed.
    best = near.sort_values("share", ascending=False, kind="stable").drop_duplicates(
        ["p", "is_reversed", "is_symmetric"]
    )
    for p, q, is_reversed, n, share in best[["p", "q", "is_reversed", "n", "share"]].itertuples(index=False):
        own, others = (triples[bounds[r] : bounds[r + 1]] for r in (p, q))
        index = KnownIndex.of((others[:, 2 if is_reversed else 0],), others[:, 0 if is_reversed else 2])
        is_shared = index.contains(own[:, 0], own[:, 2]) & (own[:, 0] != own[:, 2])
        s, _, o = own[np.argmax(is_shared)]
        pair = np.array([[o, q, s] if is_reversed else [s, q, o]])
        example = f"{_shown(dataset, own, is_shared)} and {_shown(dataset, pair, np.array([0]))}"
        kind = (
            "symmetric"
            if p == q
            else "near-duplicate"
            if not is_reversed
            else "inverse"
            if share == 1
            else "near-inverse"
        )
        n_pairs = int((own[:, 0] != own[:, 2]).sum())
        of = n_pairs if p == q else max(n_pairs, int((others[:, 0] != others[:, 2]).sum()))
        yield finding(f"{kind} relation", p, int(n), of, example)
    n_ends = []  # the numbers of distinct subjects, and of distinct objects, of each relation
    for column in (0, 2):
        order, starts = group_rows(triples[:, 1], triples[:, column])
        n_ends.append(np.bincount(triples[order[starts[:-1]], 1], minlength=n_relations))
    n, size = np.diff(bounds), n_ends[0] * n_ends[1]
    is_product = (np.minimum(*n_ends) > 1) & (n >= MIN_PRODUCT_SHARE * size)
    for p in np.flatnonzero(is_product).tolist():
        example = f"{n_ends[0][p]} subjects x {n_ends[1][p]} objects, such as {_shown(dataset, triples, bounds[p:])}"
        yield finding("Cartesian-product relation", p, int(n[p]), int(size[p]), example)


def _copied(dataset: Dataset, split: str, overlaps: pd.DataFrame) -> Iterator[Finding]:
    triples, train = dataset[split].array, dataset["train"].array
    found = leaks(triples, train, len(dataset.relations), overlaps)
    kinds = {f"{name} pair in train": is_leak for name, is_leak in found.items()}
    return _some(dataset, split, {"reversed pair in train": found["symmetric"] | found["inverse"], **kinds})


def recurs(dataset: Dataset, splits: Sequence[str]) -> Bools:
    """Return, for each triple of some splits, whether train has it at another time only; never without times."""
    train, rows = (facts_of(dataset, part, natural_key(dataset)) for part in (("train",), splits))
    if not dataset.time_column:
        return np.zeros(len(rows), dtype=bool)
    return is_in(train[:, :3], rows[:, :3]) & ~is_in(train, rows)


def _recurring(dataset: Dataset, split: str) -> Iterator[Finding]:
    return _some(dataset, split, {"recurring fact": recurs(dataset, (split,))})


def is_in(known: Ids, rows: Ids) -> Bools:
    """Return, for each row, whether `known` contains it."""
    *given, last = known.T
    return KnownIndex.of(given, last).contains(*rows.T)


def _outside(dataset: Dataset, split: str) -> Iterator[Finding]:
    has_subject, has_object = half_links(dataset[split].array, dataset["train"].array)
    chosen = {"positive outside the domain": ~has_subject, "positive outside the range": ~has_object}
    return _some(dataset, split, chosen)


def _certain(dataset: Dataset, split: str) -> Iterator[Finding]:
    """Return findings about queries with at most 10 candidates, if all splits are filtered (by time and qualifiers)."""
    triples, facts = (facts_of(dataset, part, natural_key(dataset)) for part in ((split,), list(dataset.splits)))
    found: dict[str, list[Bools]] = {"hits@10 certain": [], "hits@10 certain in pools": []}
    for side in SIDES:
        given, asked = query_parts(triples, side)
        known = facts[shares_query(facts, triples, side)]
        n_known = KnownIndex.of(*query_parts(known, side)).count_others(given, asked)
        found["hits@10 certain"].append(len(dataset.entities) - n_known <= CERTAIN)
        if "train" in dataset:
            _, in_train = query_parts(dataset["train"].array, side)
            pool = KnownIndex.of((dataset["train"].p,), in_train)
            known_given, answers = query_parts(known, side)
            is_in_pool = pool.contains(known_given[0], answers)
            index = KnownIndex.of([part[is_in_pool] for part in known_given], answers[is_in_pool])
            starts, stops = pool.spans(given[0])
            n_pool = stops - starts + ~pool.contains(given[0], asked)  # the positive is a candidate in any case
            found["hits@10 certain in pools"].append(n_pool - index.count_others(given, asked) <= CERTAIN)
    for kind, by_side in found.items():
        for side, is_certain in zip(SIDES, by_side):
            if is_certain.any():
                n, example = int(is_certain.sum()), _shown(dataset, triples[:, :3], is_certain)
                yield Finding(f"{kind}: {side} side", n, len(triples), example, split=split)


def _about_triples(dataset: Dataset, split: str) -> Iterator[Finding]:
    """Return half-links, cardinality and degrees, which describe the triples of a split."""
    triples, n_relations = dataset[split].array, len(dataset.relations)
    classes = cardinalities(facts_of(dataset, list(dataset.splits)), n_relations)[triples[:, 1]]
    by_class = {f"cardinality: {name}": np.asarray(classes == name) for name in CARDINALITIES}
    yield from _some(dataset, split, by_class)
    if "train" not in dataset:
        return
    has_subject, has_object = half_links(triples, dataset["train"].array)
    code = np.where(has_subject, 1 - has_object, 3 - has_object)
    yield from _some(dataset, split, {f"half-link: {name}": code == i for i, name in enumerate(HALF_LINKS)})
    degrees = _degrees(dataset)
    fewest = degrees[triples[:, [0, 2]]].min(axis=1)  # the degree of the rarer entity of each triple
    note = {"rare entity": f"at most {FEW_TRIPLES} triples in train"}
    yield from _some(dataset, split, {"rare entity": (fewest > 0) & (fewest <= FEW_TRIPLES)}, note)
    n_popular = max(1, int(POPULAR_SHARE * len(degrees)))
    more, limit = np.sort(degrees)[[-n_popular - 1, -n_popular]] if len(degrees) > n_popular else (0, degrees.min())
    limit = max(limit + (more == limit), 1)  # no more than 1% of the entities, even if many have the same degree
    for side, column in (("subject", 0), ("object", 2)):
        kind = f"popular answer: {side} side"
        note = {kind: f"answers with at least {counted(int(limit), 'triple')} in train"}
        yield from _some(dataset, split, {kind: degrees[triples[:, column]] >= limit}, note)


def _degrees(dataset: Dataset) -> Ids:
    """Return how many distinct triples of train contain each entity; other times or qualifiers make another triple."""
    facts = facts_of(dataset, ("train",), natural_key(dataset))
    order, starts = group_rows(*facts.T)
    s, _, o, *_ = facts[order[starts[:-1]]].T
    counts = [np.bincount(ids, minlength=len(dataset.entities)) for ids in (s, o, s[s == o])]
    return np.asarray(counts[0] + counts[1] - counts[2])
