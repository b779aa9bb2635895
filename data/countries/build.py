"""Build the train, valid and test splits of the Countries graph from ``facts.tsv``.

Each row of the table describes one thing, named in the first column.  Every other column is a relation:
a cell holds zero or more objects, separated by ``|``.  A column headed ``a/b`` gives relation ``b`` of the
objects of relation ``a`` in the same row (``capital/standard_time`` is the standard time of the capital).

Usage: ``python build.py`` (writes next to this file).
"""

import hashlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPLITS = ("train", "valid", "test")

Triple = tuple[str, str, str]
Pair = tuple[str, str]


def read_facts(path: Path) -> list[Triple]:
    """Read the table and return its triples, sorted; stop on malformed or repeated facts."""
    header, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    triples: list[Triple] = []
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise SystemExit(f"{path.name}:{number}: {len(row)} cells, expected {len(header)}")
        values = {column: cell.split("|") if cell else [] for column, cell in zip(header, row, strict=True)}
        for column in header[1:]:
            parent, _, relation = column.rpartition("/")
            subjects = values[parent] if parent else [row[0]]
            triples += [(s, relation, o) for s in subjects for o in values[column]]
    if any(label != label.strip() or not label for triple in triples for label in triple):
        raise SystemExit(f"{path.name}: empty label or stray white space")
    if any(s == o for s, _, o in triples):
        raise SystemExit(f"{path.name}: a thing is related to itself")
    if len(set(triples)) != len(triples):
        raise SystemExit(f"{path.name}: repeated triples")
    return sorted(triples)


def pair_of(triple: Triple) -> Pair:
    """Return the unordered pair of entities of a triple, as a sorted tuple."""
    subject, _, obj = triple
    return (subject, obj) if subject < obj else (obj, subject)


def draw_split(pair: Pair) -> str:
    """Draw the split of a pair from its SHA-256: 80 % train, 10 % valid, 10 % test."""
    percent = int(hashlib.sha256("\t".join(pair).encode("utf-8")).hexdigest(), 16) % 100
    return "train" if percent < 80 else "valid" if percent < 90 else "test"


def assign_pairs(triples: list[Triple]) -> dict[Pair, str]:
    """Give every pair a split, moving pairs to train until train covers all entities and relations.

    Triples are taken in sorted order; one with a term that train still lacks takes its whole pair along.
    """
    split_of = {pair_of(triple): draw_split(pair_of(triple)) for triple in triples}

    def tagged(triple: Triple) -> set[tuple[str, str]]:
        return {("entity", triple[0]), ("relation", triple[1]), ("entity", triple[2])}

    seen = {term for triple in triples if split_of[pair_of(triple)] == "train" for term in tagged(triple)}
    for triple in triples:
        if not tagged(triple) <= seen:
            split_of[pair_of(triple)] = "train"
            seen |= tagged(triple)
    return split_of


def check(splits: dict[str, list[Triple]]) -> None:
    """Stop unless the splits are disjoint, free of inverse leakage and without unseen terms."""
    train = splits["train"]
    entities = {term for s, _, o in train for term in (s, o)}
    relations = {p for _, p, _ in train}
    for name in ("valid", "test"):
        for other in SPLITS:
            if other != name and {pair_of(t) for t in splits[name]} & {pair_of(t) for t in splits[other]}:
                raise SystemExit(f"{name} and {other} share a pair of entities")
        for s, p, o in splits[name]:
            if s not in entities or o not in entities or p not in relations:
                raise SystemExit(f"{name} holds a term unseen in train: {s}, {p}, {o}")
    borders = {(s, o) for triples in splits.values() for s, p, o in triples if p == "borders"}
    for s, o in borders:
        if (o, s) not in borders:
            raise SystemExit(f"borders is not symmetric: {s}, {o}")


def write_split(path: Path, triples: list[Triple]) -> None:
    """Write triples as tab-separated UTF-8 lines ended by LF."""
    path.write_bytes("".join("\t".join(triple) + "\n" for triple in triples).encode("utf-8"))


def main() -> None:
    """Read the table, split it, check the splits and write them."""
    triples = read_facts(HERE / "facts.tsv")
    split_of = assign_pairs(triples)
    splits = {name: [t for t in triples if split_of[pair_of(t)] == name] for name in SPLITS}
    check(splits)
    for name, rows in splits.items():
        write_split(HERE / f"{name}.txt", rows)
        print(f"{name}: {len(rows)} triples")


if __name__ == "__main__":
    main()
