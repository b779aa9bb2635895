"""The audit of a dataset: random graphs against a loop, planted leaks, counts of real datasets, and what is shown."""

import json
import random
import re
import time

import numpy as np
import oracle_audit
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.audit.data_audit import audit_text
from kgeval.audit.leak_notes import may_be_copied, mean_of, notes_on_leaks, without_copied
from kgeval.base.terminal import Screen
from kgeval.features.columns import features_of
from kgeval.features.relations import HALF_LINKS

LEAKING = {
    "triple in train", "triple in another split", "reversed pair in train", "inverse pair in train",
    "symmetric pair in train", "near-duplicate pair in train", "recurring fact", "inverse relation",
    "near-inverse relation", "near-duplicate relation", "symmetric relation", "Cartesian-product relation",
    "duplicate row", "unseen entity or relation",
}  # fmt: skip


def dataset_of(splits, n_entities, n_relations, times=None):
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n_entities, n_relations=n_relations)
    columns = {name: pd.DataFrame({"Time": values}) for name, values in (times or {}).items()}
    return kg.Dataset(dataset.entities, dataset.relations, dataset.splits, columns=columns)


def counted(findings):
    """(kind, relation, split) -> (count, of), as the oracle gives them."""
    found = {}
    for row in findings.itertuples():
        of = round(row.count_ / row.share)
        assert row.share == row.count_ / of
        key = (row.kind, int(row.relation) if row.relation else "", row.split)
        assert key not in found
        found[key] = (row.count_, of)
    return found


def clean_graph(rng):
    """A graph without any leak: s < o, a pair of entities under one relation only, each entity and relation in train.

    Relation 0 links each entity with the next; the other relations link entities that are two to five apart.
    """
    n = rng.randint(14, 25)
    train = [(i, 0, i + 1) for i in range(n - 1)]
    further = [(i, 1 + step % 2, i + step) for step in (2, 3, 4, 5) for i in range(n - step) if rng.random() < 0.7]
    rng.shuffle(further)
    splits = {"train": train + further[:-10], "valid": further[-10:-5], "test": further[-5:]}
    return splits, n, 3


def plant(rng, splits, n, n_relations):
    """Some leaks, as triples with new relations and copies: the name of each, with the finding that must show it."""
    train, valid, test = splits.values()
    planted, p = {}, n_relations
    for name in rng.sample(["inverse", "symmetric", "near-duplicate", "product", "copy", "overlap", "dev"], 3):
        pairs = [(i, i + 6) for i in range(n - 6)]
        rng.shuffle(pairs)
        if name == "inverse":
            train += [(s, p, o) for s, o in pairs[1:]] + [(o, p + 1, s) for s, o in pairs]
            test.append((pairs[0][0], p, pairs[0][1]))
            is_near = 5 * (len(pairs) - 1) >= 4 * len(pairs)
            planted |= {("inverse pair in train", "test"): 1, **({("near-inverse relation", p): 1} if is_near else {})}
        elif name == "symmetric":
            train += [triple for s, o in pairs[1:] for triple in ((s, p, o), (o, p, s))] + [
                (pairs[0][0], p, pairs[0][1])
            ]
            test.append((pairs[0][1], p, pairs[0][0]))
            planted |= {("symmetric pair in train", "test"): 1, ("symmetric relation", p): 1}
        elif name == "near-duplicate":
            train += [(s, p, o) for s, o in pairs[1:]] + [(s, p + 1, o) for s, o in pairs]
            test.append((pairs[0][0], p, pairs[0][1]))
            is_near = 5 * (len(pairs) - 1) >= 4 * len(pairs)
            if is_near:
                planted |= {("near-duplicate pair in train", "test"): 1, ("near-duplicate relation", p + 1): 1}
        elif name == "product":
            train += [(s, p, o) for s in range(3) for o in range(4, 8)]
            planted[("Cartesian-product relation", p)] = 12
        elif name == "copy":
            train.append(train[0])
            planted[("duplicate row", "train")] = 1
        elif name == "overlap":
            test.append(train[1])
            planted[("triple in train", "test")] = 1
        else:
            test.append(valid[0])
            planted[("triple in another split", "test")] = 1
        p += 2
    return planted, p


@pytest.mark.parametrize("seed", range(size(12, 500)))
def test_planted_leaks_are_all_found_and_none_where_none_is(seed):
    """Every number of the table equals that of a loop, and by("leak") and by("half_link") those of each triple."""
    rng = random.Random(seed)
    splits, n, n_relations = clean_graph(rng)
    clean = kg.audit(dataset_of(splits, n, n_relations)).findings
    assert set(clean["kind"]) & LEAKING == set()
    planted, n_relations = plant(rng, splits, n, n_relations)
    for rows in splits.values():
        rng.shuffle(rows)
    times = {name: [rng.randrange(3) for _ in rows] for name, rows in splits.items()} if seed % 3 == 0 else None
    dataset = dataset_of(splits, n, n_relations, times)
    found = counted(kg.audit(dataset).findings.rename(columns={"count": "count_"}))
    assert found == oracle_audit.findings(splits, n, times)
    for (kind, place), least in planted.items():
        if times and kind in ("duplicate row", "triple in train", "triple in another split"):
            continue  # copies at another time are no copies
        assert found[(kind, "", place) if isinstance(place, str) else (kind, place, "train")][0] >= least


@pytest.mark.parametrize("seed", range(size(12, 250)))
def test_random_graphs_equal_a_loop(seed):
    """Small dense graphs, in which everything happens by chance: loops, repeats, unseen entities, several leaks.

    In every third graph about 10 candidates are left in the pool of the relation, and some answers are outside of it.
    """
    rng = random.Random(seed)
    n, m, most = (rng.randint(2, 12), rng.randint(1, 4), (30, 6)) if seed % 3 else (16, 1, (40, 40))

    def draw(most):
        return [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(1, most))]

    splits = {"train": draw(most[0]), "valid": draw(most[1]), "test": draw(12)}
    times = {name: [rng.choice("ab") for _ in rows] for name, rows in splits.items()} if seed % 2 else None
    dataset = dataset_of(splits, n, m, times)
    assert counted(kg.audit(dataset).findings.rename(columns={"count": "count_"})) == oracle_audit.findings(
        splits, n, times
    )
    table = pd.DataFrame(splits["test"], columns=["s", "p", "o"])
    frame, _ = features_of(table, None, dataset, names=["leak", "half_link"])
    for i, triple in enumerate(splits["test"]):
        ways = oracle_audit.leak(triple, splits["train"])
        first = next(name for name in ("symmetric", "inverse", "near-duplicate", "none") if name in ways | {"none"})
        assert frame["leak"].iloc[i] == first
        half = oracle_audit.half_link(triple, splits["train"])
        assert frame["half_link"].iloc[i] == HALF_LINKS[[(1, 1), (1, 0), (0, 1), (0, 0)].index(half)]


@pytest.fixture(scope="module")
def audited(shared):
    """The findings of real datasets by name, with the seconds that the audit took."""
    held = {}

    def findings(name):
        if name not in held:
            dataset = kg.read_dataset(shared / "data" / name)
            start = time.perf_counter()
            held[name] = kg.audit(dataset).findings, time.perf_counter() - start
        return held[name]

    return findings


@pytest.mark.parametrize(
    ("name", "share"),
    [("wn18", 94.0), ("wn18rr", 34.9), ("fb15k-237", 0), ("kinship", 81.5), ("nations", 100), ("codex-s", 14.1)],
)
def test_shares_of_reversed_test_triples(audited, name, share):
    """The test triples (s, p, o) for which train has (o, q, s), as published counts and our own loop have them."""
    findings, _ = audited(name)
    rows = findings[(findings["kind"] == "reversed pair in train") & (findings["split"] == "test")]
    assert round(100 * rows["share"].sum(), 1) == share
    assert len(rows) == (share > 0)


def test_fb15k_237(audited):
    """Half-links and positives outside domain and range, counted by a loop; in less than 3 seconds."""
    findings, seconds = audited("fb15k-237")
    of_test = findings[findings["split"] == "test"].set_index("kind")
    halves = [round(of_test.loc[f"half-link: {name}", "share"], 3) for name in HALF_LINKS]
    assert halves == [0.680, 0.081, 0.222, 0.017]
    assert of_test.loc["positive outside the domain", "count"] == 4881
    assert of_test.loc["positive outside the range", "count"] == 2000
    assert [of_test.loc[f"cardinality: {name}", "count"] for name in ("1-1", "1-N", "N-1", "N-N")] == [
        192, 1293, 4185, 14796,
    ]  # fmt: skip
    assert seconds < 6  # 1.2 measured; the limit allows for a busy machine


def test_inverse_relations_of_wn18(audited):
    """Its 14 relations in 7 pairs are near-inverse, and 3 are symmetric (Akrami et al. 2020)."""
    findings, _ = audited("wn18")
    kinds = findings[findings["relation"] != ""].groupby("kind")["relation"].apply(set)
    assert kinds["symmetric relation"] == {"_derivationally_related_form", "_similar_to", "_verb_group"}
    assert len(kinds["near-inverse relation"]) == 14
    assert {"_hypernym", "_hyponym", "_has_part", "_part_of"} < kinds["near-inverse relation"]


LEAKY = {  # train: 1 -> 0 and 0 -> 2 under relation 0; test: one symmetric pair, one inverse pair, two clean ones
    "train": [[1, 0, 0], [0, 0, 2], [3, 1, 2]],
    "test": [[0, 0, 1], [2, 1, 0], [3, 0, 1], [3, 1, 0]],
}


@pytest.fixture
def leaky():
    return kg.Dataset.from_arrays(
        **LEAKY, entity_labels=["ann", "bob", "cy", "di", "<eve>"], relation_labels=["knows", "hires"], name="leaky"
    )


def test_metrics_with_and_without_the_leaking_triples(leaky):
    """By hand; two ranks for each triple. A symmetric pair is no inverse leak."""
    result = kg.evaluate(lambda s, p, o: np.sin(s + 2 * p + 3 * o), leaky, progress=False)
    by_leak, by_half = result.by("leak", metrics="mr"), result.by("half_link", metrics="mr")
    assert by_leak["n"].to_dict() == {"inverse": 2, "symmetric": 2, "none": 4}
    # (0, 0, 1): 0 and 1 occur as subject, 0 and 2 as object of relation 0; of relation 1, 3 as subject and 2 as object.
    assert by_half["n"].to_dict() == {"subject and relation": 4, "none": 4}
    ranks = result.ranks(labels=True)
    leaking = ranks["s"].isin(["ann", "cy"])
    assert by_leak.loc["none", "mr"] == ranks.loc[~leaking, "rank_filtered"].mean()


def test_the_note_of_an_evaluation():
    """Many leaking triples are a note of the result; fewer than a tenth, or fewer than 20 triples, are none."""
    train = [[i, 0, i + 1] for i in range(60)]
    leaks, clean = [[i + 1, 1, i] for i in range(2)], [[i, 1, i + 2] for i in range(18)]
    said = {}
    for name, test in {"some": leaks + clean, "fewer": leaks + clean + clean[:1], "small": leaks + clean[:9]}.items():
        dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=61, n_relations=2)
        result = kg.evaluate(lambda s, p, o: s - o, dataset, check_rows=False, progress=False)
        said[name] = [note for note in result.notes if "train" in note and "MRR without" not in note]
        assert said[name] == notes_on_leaks(dataset, ["test"])
    assert said == {
        "some": [
            "10.0% of the 20 triples of test may be copied from train, which has their pair of entities: 2 reversed "
            'under another relation; result.by("leak") (--by leak) gives the metrics without them'
        ],
        "fewer": [],
        "small": [],
    }


@pytest.mark.parametrize("sides", [("subject", "object"), "object", ("subject", "relation", "object")])
def test_the_mrr_without_triples_that_may_be_copied(tmp_path, sides):
    """The mean of 1/rank of triples whose pair train does not have reversed, without relation ranks; it is saved."""
    train = [(i, 0, i + 1) for i in range(60)]
    test = [(i + 1, 1, i) for i in range(12)] + [(i, 1, i + 3) for i in range(20)]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=61, n_relations=2)
    scores = np.random.default_rng(0).integers(0, 4, (61, 61)).astype(float)
    settings = {"check_rows": False, "progress": False}
    result = kg.evaluate(lambda s, p, o: scores[s, o] + 0.5 * p, dataset, kg.Protocol(sides=sides), **settings)
    terms = [1.0 / row.rank_filtered for row in result.ranks().itertuples() if row.s < row.o and row.side != "relation"]
    assert len(terms) == 20 * (1 if sides == "object" else 2)
    result.save(tmp_path / "run.kgeval")
    found = kg.load_result(tmp_path / "run.kgeval").facts["without_copied"]
    assert found == {"n": len(terms), "mrr": pytest.approx(sum(terms) / len(terms))}
    higher = "; higher than over all ranks" if found["mrr"] > result["mrr"] else ""
    text = f"MRR without triples that may be copied from train ({len(terms)} ranks{higher}): {found['mrr']:.4f}"
    assert text in result.notes
    other = kg.evaluate(lambda s, p, o: -scores[s, o] - 0.5 * p, dataset, kg.Protocol(sides=sides), **settings)
    both = {"one": result, "other": other}
    by_all, by_rest = (
        sorted(both, key=lambda name: -value(both[name]))
        for value in (lambda one: one["mrr"], lambda one: one.facts["without_copied"]["mrr"])
    )
    for order in (["one", "other"], ["other", "one"]):
        (note,) = [
            note for note in kg.compare({name: both[name] for name in order}).notes if note.startswith("MRR without")
        ]
        assert ("in another order than over all ranks" in note) == (by_all != by_rest)
    of_train = kg.evaluate(lambda s, p, o: s - o, dataset, kg.Protocol(splits="train"), **settings)
    assert "without_copied" not in of_train.facts


def test_the_note_of_recurring_facts():
    """If more triples recur than leak, the note is about these; a triple at the same time does not recur."""
    train = [[i, 0, i + 1] for i in range(30)]
    test = [[1, 0, 0], [2, 0, 1], *train[:15], [20, 0, 21], *([i, 0, i + 2] for i in range(2))]
    dataset = dataset_of({"train": train, "test": test}, 31, 1, {"train": [5] * 30, "test": [9] * 17 + [5, 9, 9]})
    note = (
        "75.0% of the 20 triples of test recur: train has them at another time, so a rule that repeats known facts "
        "answers them; --beside recency (kgeval.baselines.Recency) shows how far it gets"
    )
    assert notes_on_leaks(dataset, ["test"])[:1] == [note]  # one triple is in train at the same time
    protocol = kg.Protocol(filter_by=())
    result = kg.evaluate(lambda s, p, o: s - o, dataset, protocol, check_rows=False, progress=False)
    assert note in result.notes
    assert result.facts["leak_notes"][0] == note
    plain = dataset_of({"train": train, "test": test[:2] + test[17:] + test[-1:] * 15}, 31, 1)
    copied, seen = notes_on_leaks(plain, ["test"])
    assert seen.startswith("1 triple of test (5.0% of 20) is also in train: ")
    assert copied.startswith("10.0% of the 20 triples of test may be copied from train, ")


def test_the_note_of_triples_that_are_in_train():
    """However few they are, it says what that does to the numbers; a larger share of triples that leak stands first."""
    train = [[i, 0, i + 1] for i in range(30)]
    test = [[0, 0, 1], [5, 0, 6], *([i + 1, 0, i] for i in range(28))]
    dataset = kg.Dataset.from_arrays(train=train, valid=train[:2], test=test, n_entities=31, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s - o, dataset, check_rows=False, progress=False)
    note = (
        "2 triples of test (6.7% of 30) are also in train: a model has seen the answer, so the ranks are too good; "
        "remove these triples"
    )
    copied, seen, rest = (line for line in result.notes if "train" in line)
    assert seen == note
    assert rest == "no rank without triples that may be copied from train"
    assert copied.startswith("93.3% of the 30 triples of test may be copied from train, ")
    assert result.facts["leak_notes"] == [copied, seen]
    both = kg.evaluate(
        lambda s, p, o: s - o, dataset, kg.Protocol(splits=("valid", "test")), check_rows=False, progress=False
    )
    assert both.facts["leak_notes"][1].startswith("4 triples of valid+test (12.5% of 32) are also in train: ")
    times = {"train": [1] * 30, "test": [2] * 30}
    apart = dataset_of({"train": train, "test": test}, 31, 1, times)
    assert not [line for line in notes_on_leaks(apart, ["test"]) if "also in train" in line]


def test_a_triple_that_leaks_in_two_ways_is_said_to_count_twice():
    """Of 25 triples, 20 are reversed under their own relation, 15 under another one, ten of them under both."""
    test = [[i + 1, 0, i] for i in range(25)]
    train = [*([i, 0, i + 1] for i in range(20)), *([i, 1, i + 1] for i in range(10, 25))]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=26, n_relations=2)
    (note,) = notes_on_leaks(dataset, ["test"])
    assert note.startswith(
        "100.0% of the 25 triples of test may be copied from train, which has their pair of entities: 15 reversed "
        "under another relation and 20 reversed under the same relation (a triple can count in both); result.by("
    )


def test_the_text(leaky):
    """A table, then the effect of each kind; it fits a narrow terminal."""
    text = str(kg.audit(leaky))
    lines = text.splitlines()
    assert lines[0] == "leaky: 5 entities, 2 relations; train 3, test 4"
    assert lines[2].split() == ["kind", "relation", "or", "split", "share", "count", "example"]
    assert re.split("  +", lines[3]) == ["reversed pair in train", "test", "50.0%", "2", "(ann, knows, bob)"]
    assert (
        "symmetric pair in train: train has (o, p, s): a rule that copies from train answers them; "
        'result.by("leak") (--by leak) gives the metrics without them'
    ) in lines
    narrow = audit_text(kg.audit(leaky), Screen(width=60))
    assert max(map(len, narrow.splitlines())) <= 60


def test_panel_and_json(leaky):
    """Labels are escaped in HTML; JSON has the rows of the table."""
    made = kg.audit(leaky)
    assert "(ann, knows, bob)" in made._repr_html_()
    assert "<eve>" not in made._repr_html_()
    content = json.loads(made.to_json())
    assert content["dataset"] == "leaky"
    assert content["fingerprint"] == leaky.fingerprint
    assert content["findings"] == made.findings.to_dict("records")
    assert made.findings.columns.tolist() == ["kind", "relation", "split", "share", "count", "example", "effect"]


def test_more_than_eight_findings_of_a_kind_are_in_the_table_only():
    """Ten symmetric relations: eight are printed."""
    train = [triple for p in range(10) for triple in ([2 * p, p, 2 * p + 1], [2 * p + 1, p, 2 * p])]
    made = kg.audit(kg.Dataset.from_arrays(train=train, n_entities=20, n_relations=10))
    assert (made.findings["kind"] == "symmetric relation").sum() == 10
    assert str(made).count("\nsymmetric relation  ") == 8
    assert "2 more findings: .findings, or kgeval audit --to csv" in str(made)


def test_labels_that_look_alike():
    dataset = kg.Dataset.from_frames(train=[("Jos\u00e9", "likes", "a"), ("Jose\u0301", "likes", "b")])
    (row,) = [row for row in kg.audit(dataset).findings.itertuples() if row.kind == "near-duplicate labels"]
    assert (row.share, row.example) == (0.25, "'Jose\\u0301' and 'Jos\\xe9'")
    assert row.effect.endswith("; labels of entities")


def test_other_times_are_other_triples():
    """0 has objects 1 to 14, one at each time: its queries keep all 15 candidates, and it is in 8 triples of train.

    Without times it would be certain that hits@10 is 1, as 14 of 15 entities are known objects, or subject 0.
    """
    rows = [(0, 0, i) for i in range(1, 9)] + [(0, 0, 1)] * 4
    times = {"train": [*range(8), 20, 21, 22, 23], "test": list(range(8, 14))}
    splits = {"train": rows, "test": [(0, 0, i) for i in range(9, 15)]}
    found = kg.audit(dataset_of(splits, 15, 1, times)).findings.set_index("kind")["count"]
    assert not any(kind.startswith("hits@10 certain:") for kind in found.index)
    splits["test"] = [(0, 0, 1)] * 6  # 1 is in five triples of train, at five times
    found = kg.audit(dataset_of(splits, 15, 1, times)).findings["kind"]
    assert "recurring fact" in set(found)
    assert "rare entity" not in set(found)


def test_no_entity_is_popular_where_all_have_the_same_degree():
    ring = [(i, 0, (i + step) % 60) for i in range(60) for step in (1, 2, 3)]
    splits = {"train": ring, "test": [(i, 0, (i + 7) % 60) for i in range(60)]}
    kinds = set(kg.audit(dataset_of(splits, 60, 1)).findings["kind"])
    assert "half-link: both" in kinds
    assert not any(kind.startswith("popular") for kind in kinds)


def test_an_empty_test_split_leaves_valid_to_be_described():
    splits = {"train": [(0, 0, 1), (1, 0, 0)], "valid": [(0, 0, 1)], "test": []}
    found = kg.audit(dataset_of(splits, 30, 1)).findings.set_index("kind")
    assert found.loc["half-link: both", "split"] == "valid"
    assert found.loc["symmetric relation", "effect"].endswith("; 1 triple of valid with this relation")


def test_datasets_without_train_or_without_test():
    """What cannot be said is left out."""
    alone = kg.Dataset.from_arrays(test=[[0, 0, 1], [0, 0, 1]], n_entities=30, n_relations=1)
    assert kg.audit(alone).findings["kind"].tolist() == ["duplicate row", "cardinality: 1-1"]
    empty = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[], n_entities=2, n_relations=1)
    assert kg.audit(empty).findings.empty
    assert str(kg.audit(empty)).endswith("\n\nno finding")
    assert notes_on_leaks(alone, ["test"]) == notes_on_leaks(empty, ["train"]) == []


def test_it_wants_a_dataset():
    with pytest.raises(
        kg.DataError, match=re.escape("expected a kgeval.Dataset; got 'wn18'. kgeval.read_dataset reads")
    ):
        kg.audit("wn18")


@pytest.mark.thorough
def test_five_million_triples():
    """In less than a minute on a quiet machine; 200,000 entities, 500 relations, half of them inverse to another."""
    rng = np.random.default_rng(0)
    s, o = rng.integers(0, 200_000, (2, 2_500_000))
    p = rng.integers(0, 250, 2_500_000)
    train = np.concatenate([np.column_stack([s, p, o]), np.column_stack([o, p + 250, s])])
    dataset = kg.Dataset.from_arrays(
        train=train[20_000:], test=train[:20_000], n_entities=200_000, n_relations=500, name="large"
    )
    start = time.perf_counter()
    findings = kg.audit(dataset).findings
    assert time.perf_counter() - start < 60
    assert (findings["kind"] == "near-inverse relation").sum() == 500
    (row,) = findings[findings["kind"] == "inverse pair in train"].itertuples()
    assert row.share == 1.0


def test_the_words_of_the_mrr_without_copies():
    """The best first; one number of ranks if all have it, else each its own; a model without such ranks is left out."""
    facts = {name: {"without_copied": {"n": n, "mrr": mrr}} for name, n, mrr in (("A", 40, 0.25), ("B", 40, 0.5))}
    text = "MRR without them (40 ranks): 0.5000 of B and 0.2500 of A"
    over_all = {"A": 0.3, "B": 0.4, "C": 0.2, "D": 0.1, "E": 0.1}

    def models(facts):
        return [(name, over_all[name], of) for name, of in facts.items()]

    assert without_copied(models(facts)) == without_copied(reversed(models(facts))) == text
    said = text.replace(" ranks)", " ranks; the order changes)")
    over_all["A"] = 0.5
    assert without_copied(models(facts)) == without_copied(reversed(models(facts))) == said
    over_all["A"] = 0.3
    facts |= {"C": {"without_copied": {"n": 8, "mrr": 0.125}}, "D": {"without_copied": {"n": 0}}, "E": {}}
    text = "MRR without them: 0.5000 of B (40 ranks), 0.2500 of A (40 ranks) and 0.1250 of C (8 ranks)"
    assert without_copied(models(facts)) == text
    assert mean_of([facts["A"], facts["B"]]) == {"without_copied": {"n": 40.0, "mrr": 0.375}}
    assert mean_of([facts["A"], facts["C"]]) == mean_of([facts["A"], {}]) == mean_of([{}]) == {}


def test_another_order_is_told_where_it_is():
    """Of six models the last two change places: behind the four that are named; all are higher without copies."""
    rest = [0.9, 0.8, 0.7, 0.6, 0.4, 0.5]
    models = [(name, 0.1 * (6 - i), {"without_copied": {"n": 9, "mrr": rest[i]}}) for i, name in enumerate("ABCDEF")]
    said = without_copied(models)
    about = "9 ranks; the order of the other models changes; higher than over all ranks"
    assert said.startswith(f"MRR without them ({about}): 0.9000 of A, ")
    assert said.endswith("0.6000 of D and 2 more")
    assert "changes" not in without_copied(models[:4])


def test_triples_in_train_may_be_copied_too():
    """Of 30 triples, 26 are reversed in train and two are in train: the other two have 4 ranks."""
    train = [[i, 0, i + 1] for i in range(30)]
    test = [[0, 0, 1], [5, 0, 6], [0, 0, 9], [3, 0, 12], *([i + 1, 0, i] for i in range(26))]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=31, n_relations=1)
    assert may_be_copied(dataset, dataset["test"].array).tolist() == [True, True, False, False, *[True] * 26]
    result = kg.evaluate(lambda s, p, o: np.sin(s + 3 * o), dataset, check_rows=False, progress=False)
    terms = [1.0 / row.rank_filtered for row in result.ranks().itertuples() if (row.s, row.o) in ((0, 9), (3, 12))]
    assert result.facts["without_copied"] == {"n": 4, "mrr": pytest.approx(sum(terms) / 4)}
