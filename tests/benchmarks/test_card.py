"""Cards: what they say, how strictly they are read, and that any change of the card or of its run is found."""

import copy
import hashlib
import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from grids import size
from made_results import replaced

import kgeval as kg
from kgeval.benchmarks import Card, named, read_card, verify_card, write_card
from kgeval.benchmarks.card import card_of_file, run_facts_of
from kgeval.benchmarks.card_files import FIELDS, card_text, check_content, last_digit, rounded
from kgeval.benchmarks.rank_hashes import labels_digest, ranks_digest, scores_digest
from kgeval.benchmarks.verification import disagreements
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, KgevalWarning

LABELS = ["Italy", "Jack", "Rome", "Ann", "Österreich", "a_b & 50%"]
TEST = [[1, 0, 0], [3, 0, 0], [2, 1, 0], [1, 1, 4]]


def coarse(s, p, o):
    """Scores with ties."""
    return -((o + s) // 2 % 3).astype(float)


def evaluated(scorer=coarse, labels=LABELS, protocol=None, test=TEST):
    """A result of four test triples among six entities, with ties, without warnings."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [1, 0, 2], [5, 1, 4], [3, 1, 2]],
        test=test,
        entity_labels=labels,
        relation_labels=["lives_in", "in"],
        name="six",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgevalWarning)
        return kg.evaluate(scorer, dataset, protocol, progress=False)


@pytest.fixture(scope="module")
def run():
    """A named run with ties, both sides."""
    return named(evaluated(), "Coarse", seed=7)


@pytest.fixture(scope="module")
def small_run():
    """A named run with one side, so that its card is made in no time."""
    return named(evaluated(protocol=kg.Protocol(sides="object")), "Coarse", seed=7)


@pytest.fixture(scope="module")
def card(run):
    return Card.of(run)


def test_a_card_says_what_the_result_says(run, card):
    """Each metric of the default table with its interval, from the public methods of the result."""
    assert (card.model, card.seed, card.dataset, card.n_ranks) == ("Coarse", 7, "six", 8)
    assert card.dataset_fingerprint == run.facts["dataset_fingerprint"]
    assert card.protocol_fingerprint == run.protocol.fingerprint
    assert card.protocol_sentence == "filtered by train+test, all entities, both sides"
    assert card.tie_rate == pytest.approx(run.tie_rate, abs=1e-10)
    assert len(card.metrics) == 2 * 3 * 6
    for key, numbers in card.metrics.items():
        interval = run.interval(key)
        assert numbers == pytest.approx((interval.value, interval.low, interval.high), rel=1e-9, abs=1e-10), key
    content = card.content
    assert content["dataset"]["split_sizes"] == {"test": 4, "train": 4}
    assert content["counts"]["ranks_by_side"] == {"object": 4, "subject": 4}
    assert content["counts"]["dropped"] == {}
    assert content["counts"]["bounded"] == {"raw": 0, "filtered": 0}
    assert content["versions"]["numpy"] == np.__version__
    assert content["versions"]["kgeval"] == kg.__version__
    assert content["date"] is None
    assert content["facts"] == {name: run.facts[name] for name in ("row_order", "n_unseen_entities")}


def test_ties_above_one_percent_have_both_ends(run, card):
    """The extremes are those of the result; a card without ties has none."""
    assert run.tie_rate > 0.01
    assert set(card.content["ties"]["range"]) == {"mr", "mrr", "hits@1", "hits@3", "hits@10", "amri"}
    for key, ends in card.content["ties"]["range"].items():
        for ties, value in ends.items():
            assert value == pytest.approx(run[f"{ties}.{key}"], abs=1e-9)
    fine = Card.of(evaluated(lambda s, p, o: o + 0.1 * s, protocol=kg.Protocol(sides="object")))
    assert fine.tie_rate == 0
    assert fine.content["ties"]["range"] == {}


def test_a_run_without_a_name_is_named_by_its_scorer():
    """And the card says so."""
    unnamed = Card.of(evaluated(protocol=kg.Protocol(sides="object")))
    assert (unnamed.model, unnamed.seed, unnamed.is_named) == ("coarse", None, False)
    assert unnamed.content["model"]["name_from"] == "scorer"
    run = evaluated(protocol=kg.Protocol(sides="object"))
    nameless = replaced(run, facts={name: value for name, value in run.facts.items() if name != "scorer"})
    assert Card.of(nameless).content["model"] == {
        "name": "unnamed model",
        "name_from": "nothing",
        "scorer": None,
        "seed": None,
    }


def test_the_hash_of_the_ranks_by_hand():
    """Two ranks, written out: sorted labels, then the sorted rows of int64."""
    dataset = kg.Dataset.from_arrays(test=[[2, 0, 1]], n_entities=3, n_relations=1, entity_labels=["c", "a", "b"])
    result = kg.evaluate(lambda s, p, o: o, dataset, progress=False)
    # Object side, (b, 0, ?) -> a with scores c 0, a 1, b 2: one above. Subject side, (?, 0, a) -> b: all three tie.
    # Columns: subject, relation, object, side, split; then for raw and filtered better, tied, rivals, bounded.
    rows = [[1, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0, 2, 0], [1, 0, 0, 1, 0, 0, 2, 2, 0, 0, 2, 2, 0]]
    content = b'kgeval ranks 1\n2\n["a", "b"]\n["0"]\n["object", "subject"]\n["test"]\n'
    expected = hashlib.sha256(content + np.array(rows, "<i8").tobytes()).hexdigest()
    assert ranks_digest(result) == expected == Card.of(result).hash


def test_hashes_depend_neither_on_ids_nor_on_the_order_of_rows(run):
    """The same labels with other ids, in another order of rows, as another library would write them."""
    order = [4, 2, 0, 5, 1, 3]  # new id -> old id
    new = np.argsort(order)
    table = run.table.sample(frac=1, random_state=1).reset_index(drop=True)
    table = table.assign(s=new[table["s"]], o=new[table["o"]], p=1 - table["p"])
    table["side"] = table["side"].cat.reorder_categories(run.table["side"].cat.categories[::-1])
    entities = Vocabulary([LABELS[i] for i in order])
    other = replaced(run, table=table, entities=entities, relations=Vocabulary(["in", "lives_in"]))
    for digest in (ranks_digest, scores_digest, labels_digest):
        assert digest(other) == digest(run)
    assert ranks_digest(replaced(run, table=table, entities=entities)) != ranks_digest(run)


def test_a_triple_that_is_ranked_twice_counts_twice(run):
    """A row more changes the hash, as does a row less."""
    n = len(run.table)
    hashes = {
        ranks_digest(replaced(run, table=run.table.iloc[list(rows)], n_read=len(rows)))
        for rows in (range(n), [*range(n), 0], [*range(n), 1], range(1, n))
    }
    assert len(hashes) == 4


def test_scores_are_hashed_apart_from_ranks(run):
    """Another score with the same counts changes one hash only; -0.0 is 0.0; unknown scores have no hash."""
    table = run.table
    moved = replaced(run, table=table.assign(score=table["score"] + 1))
    assert ranks_digest(moved) == ranks_digest(run)
    assert scores_digest(moved) != scores_digest(run)
    zeros, signed = (replaced(run, table=table.assign(score=zero)) for zero in (0.0, -0.0))
    assert scores_digest(zeros) == scores_digest(signed)
    assert scores_digest(replaced(run, table=table.assign(score=np.nan))) is None
    single = replaced(run, table=table.assign(score=table["score"].astype(np.float32)))
    assert scores_digest(single) == scores_digest(run)  # these scores are integers, exact in float32


def test_the_file_is_read_back_and_stable(card, run, tmp_path):
    """ASCII, sorted, a few kB; equal input gives equal bytes; a saved run gives the same card."""
    write_card(card, tmp_path / "a.json")
    raw = (tmp_path / "a.json").read_bytes()
    assert raw.isascii()
    assert len(raw) < 6000
    assert raw.endswith(b"}\n")
    assert json.loads(raw) == card.content
    assert list(json.loads(raw)) == sorted(card.content)
    assert read_card(tmp_path / "a.json") == card
    run.save(tmp_path / "run.kgeval")
    write_card(card_of_file(tmp_path / "run.kgeval"), tmp_path / "b.json")
    assert (tmp_path / "b.json").read_bytes() == raw
    assert card_of_file(tmp_path / "a.json") == card
    with pytest.raises(DataError, match=r"a\.json exists"):
        write_card(card, tmp_path / "a.json")
    write_card(run, tmp_path / "a.json", overwrite=True)
    assert (tmp_path / "a.json").read_bytes() == raw


def test_a_date_only_if_asked(card):
    """It has a form, and the verification says that it is not checked."""
    assert card.dated("2026-11-23").content["date"] == "2026-11-23"
    for wrong in ("23.11.2026", "2026-11-23 ", 2026, "２０２６-11-23"):
        with pytest.raises(DataError, match="must have the form YYYY-MM-DD and be a day of the calendar; got"):
            card.dated(wrong)


@pytest.mark.parametrize("number", [0.5, 1 / 3, 2 / 300, 12345.678901234, -0.71, 1e-13, 123456789012.0, 0.99999999996])
def test_rounded_numbers_are_within_half_of_their_last_digit(number):
    """So that each digit of a card can be checked."""
    assert abs(rounded(number) - number) <= 0.5000001 * last_digit(rounded(number))
    assert rounded(rounded(number)) == rounded(number)


def leaves(value, place=()):
    """Each place in a JSON value, containers included."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from leaves(item, (*place, name))


def changes(value):
    """Other values of the same kind: the least change that a tamperer could make, and larger ones."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0) if value else 2]
    if isinstance(value, float):
        return [value + last_digit(value), value - last_digit(value), value * 1.5 + 1, None, value + 1e-13]
    if isinstance(value, str):
        return [value + "x", value[:-1] + chr(ord(value[-1]) ^ 1) if value else "y", value.upper() + "_"]
    if isinstance(value, list):
        return [[*value, "x"], value[:-1] if value else ["y"]]
    if isinstance(value, dict):
        return [{**value, "new": 0}, dict(list(value.items())[1:]) if value else {"y": "z"}]
    return ["x", 0, 0.5]  # in the place of null


def changed(content, place, new):
    content = copy.deepcopy(content)
    inner = content
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = new
    return content


def is_found(content, facts):
    """Whether a changed card is refused, or differs from the run."""
    try:
        check_content(json.loads(json.dumps(content)), "card.json")
    except DataError:
        return True
    return bool(disagreements(Card(content), facts))


def missed_changes(run):
    """The changes of the card of a run that are not found, and how many changes there are."""
    content, facts = Card.of(run).content, run_facts_of(run)
    assert not is_found(content, facts)
    n, missed = 0, []
    for place in leaves(content):
        value = content
        for name in place:
            value = value[name]
        for new in changes(value)[: size(1, 5)] if place else ():
            n += 1
            missed += [] if is_found(changed(content, place, new), facts) else [(place, value, new)]
    return missed, n


def test_every_change_of_a_card_is_found(small_run):
    """Each field of the card, changed by one unit of its last digit and in other ways; the card itself agrees."""
    missed, n = missed_changes(small_run)
    assert missed == []
    assert n > size(100, 300)


@pytest.mark.thorough
def test_every_change_of_a_longer_card_is_found(run):
    """Both sides, notes, dropped rows."""
    missed, n = missed_changes(replaced(run, dropped={"no reason": 1}, n_read=9, notes=["one note", "-0.5%"]))
    assert missed == []
    assert n > 600


def run_changes(run):
    """(what, run with one thing changed), for each thing that a run consists of."""
    table = run.table
    for column in table.columns:
        values = table[column]
        if column in ("s", "p", "o"):
            new = values.where(values.index != 2, (values + 1) % (2 if column == "p" else 6))
        elif column in ("side", "split", "rank_raw", "rank_filtered"):
            continue  # below: another side needs another protocol; ranks follow from the counts
        else:
            new = values.where(values.index != 2, values + 1)
        changes = {column: new}
        if column.startswith("better_filtered"):
            changes["rivals_filtered"] = table["rivals_filtered"] + 1  # so that the counts stay possible
        yield column, replaced(run, table=table.assign(**changes))
    bounded = table["tied_filtered"] > 0
    yield "bounded", replaced(run, table=table.assign(bounded_filtered=bounded))
    yield "a rank less", replaced(run, table=table.iloc[1:], n_read=len(table) - 1)
    yield "a rank more", replaced(run, table=table.iloc[[0, *range(len(table))]], n_read=len(table) + 1)
    yield "dropped", replaced(run, dropped={"no reason": 1}, n_read=len(table) + 1)
    labels = [*LABELS[:-1], "another"]  # the label of an entity without a rank
    yield "label", replaced(run, entities=Vocabulary(labels))
    yield "relation", replaced(run, relations=Vocabulary(["lives_in", "into"]))
    yield "notes", replaced(run, notes=[*run.notes, "another note"])
    yield "unknown", replaced(run, facts={**run.facts, "unknown": {"queries": "why not"}})
    for name, value in run.facts.items():
        if name != "n_read":
            new = value + 1 if isinstance(value, int) else {} if isinstance(value, dict) else value + type(value)("x")
            yield f"about {name}", replaced(run, facts={**run.facts, name: new})
    yield "seed", named(run, "Coarse")
    yield "name", named(run, "coarse", seed=7)
    protocol = run.protocol.to_dict()
    for name, value in (
        ("filter", ["test"]),
        ("unseen", "worst"),
        ("splits", ["train"]),
        ("candidates", {"kind": "recorded", "digest": "0" * 64}),
        ("sample", {"n": 4, "of": 9, "digest": "0" * 64, "seed": 1}),
    ):
        yield f"protocol {name}", replaced(run, protocol=kg.Protocol.from_dict({**protocol, name: value}))


def test_every_change_of_a_run_is_found(small_run):
    """One id, count, score, label, fact, name or option of the protocol."""
    card = Card.of(small_run)
    assert verify_card(card, small_run).agrees
    others = dict(run_changes(small_run))
    kept = {*list(others)[:: size(3, 1)], "score", "seed", "about n_triples"}
    found = {what: verify_card(card, other) for what, other in others.items() if what in kept}
    assert len(others) > 30
    assert [what for what, verification in found.items() if verification.agrees] == []
    assert {one.place.partition("/")[0] for one in found["score"].disagreements} == {"hashes"}
    assert {one.place for one in found["seed"].disagreements} == {"model/seed"}
    assert [str(one) for one in found["about n_triples"].disagreements] == [
        "counts/triples: the card says 4; the run says 5"
    ]


def test_true_is_not_one(small_run):
    """A fact of another kind is another fact, also where Python calls both equal."""
    facts = run_facts_of(small_run) | {"facts": {"is_exact": True, "n": 1.0}}
    card = Card({**Card.of(small_run).content, "facts": {"is_exact": 1, "n": 1}})
    assert [one.place for one in disagreements(card, facts)] == ["facts/is_exact", "facts/n"]


def test_the_sides_are_hashed(run):
    """The ranks of the subject side, told to be of the object side, are other ranks."""
    swapped = run.table["side"].cat.rename_categories({"subject": "object", "object": "subject"})
    other = replaced(run, table=run.table.assign(side=swapped))
    assert "hashes/ranks" in {one.place for one in verify_card(Card.of(run), other).disagreements}


def test_verification_says_what_differs(run, card):
    """The fields that differ, at most twenty, and one line with all that agrees."""
    assert str(verify_card(card, run)) == f"equal: {', '.join(name for name in sorted(FIELDS) if name != 'date')}"
    assert "not checked: the date 2026-11-23" in str(verify_card(card.dated("2026-11-23"), run))
    better = replaced(run, table=run.table.assign(tied_filtered=0))
    verified = verify_card(card, better)
    lines = verified.lines()
    assert lines[0].startswith("hashes/ranks: the card says ")
    assert lines[1].startswith("hashes/scores: the card says ")
    assert lines[2].startswith("metrics/amri/high: the card says ")
    assert lines[20] == f"and {len(verified.disagreements) - 20} more"
    assert verified.agreed == tuple(
        name for name in sorted(FIELDS) if name not in ("date", "hashes", "metrics", "ties")
    )
    assert verified.notes == ()
    old = replaced(better, facts={**run.facts, "version": "0.0.9"})
    assert "the run was made by kgeval 0.0.9" in verify_card(card, old).lines()[-1]


def test_other_versions_of_numpy_may_differ_in_the_last_digits(run, card):
    """A relative error of 1e-13 in every number of the run changes nothing; one of 1e-8 is found."""
    exact = run_facts_of(run)
    for error, agrees in ((1e-13, True), (-1e-13, True), (1e-8, False)):
        facts = copy.deepcopy(exact)
        for entry in facts["metrics"].values():
            entry |= {name: value * (1 + error) for name, value in entry.items() if isinstance(value, float)}
        assert (disagreements(card, facts) == ()) == agrees


def bounded():
    """A run in which one of two ranks is only bounded: between 3 and 4 of 4."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name="four")
    result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
    counts = {
        f"{name}_{setting}": values
        for setting in ("raw", "filtered")
        for name, values in (("better", [0, 2]), ("tied", [0, 1]), ("bounded", [False, True]))
    }
    return result.__replace__(table=result.table.assign(**counts))


def test_bounded_ranks_have_bounds_and_no_value(tmp_path):
    """Ranks 1 and 3 to 4: MR 2 to 2.5, MRR 0.625 to 2/3; hits@1 is 0.5 in any case."""
    card = Card.of(bounded())
    assert math.isnan(card.metrics["mr"][0])
    assert card.bounds("mr") == (2.0, 2.5)
    assert card.bounds("mrr") == (0.625, 0.6666666667)
    assert card.content["metrics"]["mr"] == {
        "value": None,
        "low": None,
        "high": None,
        "least": 2.0,
        "greatest": 2.5,
        "reason": "the value lies between 2.00 and 2.50, since 1 of 2 ranks is bounded",
    }
    assert card.metrics["hits@1"][0] == 0.5
    assert card.bounds("hits@1") == (0.5, 0.5)
    assert card.reason("mr")
    assert card.content["counts"]["bounded"] == {"raw": 1, "filtered": 1}
    decided = bounded().table.assign(bounded_raw=False, bounded_filtered=False)
    assert ranks_digest(bounded().__replace__(table=decided)) != card.hash
    write_card(card, tmp_path / "card.json")
    assert verify_card(tmp_path / "card.json", bounded()).agrees
    old = json.loads((tmp_path / "card.json").read_text())  # a card of version 1 has another word for the same
    old["format"], old["counts"]["undecided"] = "kgeval card 1", old["counts"].pop("bounded")
    for metric in old["metrics"].values():
        metric |= {"reason": metric["reason"].replace("bounded", "undecided")} if "reason" in metric else {}
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert "bounded" not in (tmp_path / "old.json").read_text()
    assert verify_card(tmp_path / "old.json", bounded()).agrees
    text = " ".join(card.paragraph().split())
    assert "Known only by bounds: 1 filtered rank and 1 raw rank. None of the other" in text
    assert "; MR 2.00 to 2.50." in text


def test_unknown_settings_have_no_metrics():
    """Raw ranks that are unknown are left out, and the card says why; an unknown share of ties is null."""
    result = bounded()
    table = result.table.drop(columns=["bounded_raw", "bounded_filtered"])
    table = table.assign(better_raw=-1, tied_raw=-1, rivals_raw=-1)
    unknown = {"raw": "the file has filtered ranks only.", "ties": "ranks were given"}
    card = Card.of(result.__replace__(table=table, facts={**result.facts, "unknown": unknown}))
    assert {key.partition(".")[0] for key in card.metrics} == {"mr", "mrr", "hits@1", "hits@3", "hits@10", "amri"}
    assert card.content["unknown"] == unknown
    assert math.isnan(card.tie_rate)
    text = " ".join(card.paragraph().split())
    assert "Unknown: raw (the file has filtered ranks only). Unknown: ties (ranks were given). " in text
    assert "raw metrics" not in text


def test_a_paragraph_in_english(card):
    """Read aloud; LaTeX has its characters escaped."""
    text = " ".join(card.paragraph().split())
    assert text.startswith(
        f"We evaluated Coarse (training seed 7) on six (SHA-256 {card.dataset_fingerprint[:12]}...). Protocol "
        f"(fingerprint {card.protocol_fingerprint}): filtered by train+test, all entities, both sides. The 4 triples "
        f"of test gave 8 ranks. {card.tie_rate:.1%} of the filtered ranks are tied; a tied rank counts as the mean of "
    )
    ends = card.content["ties"]["range"]["mrr"]
    assert f" (MRR {ends['pessimistic']:.4f} to {ends['optimistic']:.4f} by the order of ties). " in text
    value, low, high = card.metrics["mrr"]
    assert f"MRR {value:.4f} [{low:.4f}, {high:.4f}]" in text
    assert text.endswith(f"the ranks have the SHA-256 {card.hash[:12]}...")
    assert max(map(len, card.paragraph().split("\n"))) <= 80
    hostile = Card({**card.content, "model": {**card.content["model"], "name": r"a_b & 50% \input{x}"}})
    latex = hostile.paragraph("latex")
    assert r"a\_b \& 50\% \textbackslash{}input\{x\}" in " ".join(latex.split())
    assert r"95\% intervals" in latex
    with pytest.raises(DataError, match="style must be one of 'text', 'latex'; got 'html'"):
        card.paragraph("html")


def test_a_paragraph_of_one_triple_and_a_sample():
    """Singular; what a sample is; dropped triples."""
    one = evaluated(protocol=kg.Protocol(sides="object"), test=TEST[:1])
    text = " ".join(Card.of(one).paragraph().split())
    assert "The 1 triple of test gave 1 rank." in text
    assert f"MR {one['mr']:.2f} ({Card.of(one).reason('mr')})" in text
    assert "Brackets are" not in text
    sample = kg.Protocol.from_dict(
        {**one.protocol.to_dict(), "sample": {"n": 1, "of": 9, "digest": "0" * 64, "seed": 1}}
    )
    changed = replaced(one, protocol=sample, facts={**one.facts, "n_unseen": 1}, dropped={"no candidate": 2}, n_read=3)
    text = " ".join(Card.of(changed).paragraph().split())
    assert "A sample of 1 triple of test gave 1 rank. Left out: 2 ranks (no candidate)." in text


NO_CARD = 'expected a card that kgeval card wrote, an object with "format": "kgeval card 2"; "format" is '
DAMAGED = [
    ("{", r"card\.json: not JSON \(.*: line 1 column 2"),
    (
        '{"format": "kgeval card 2", "facts": {"a": NaN}}',
        "NaN and infinity are not JSON; a card has null in their place",
    ),
    ('{"format": "kgeval card 2", "facts": {"a": 1e999}}', "NaN and infinity are not JSON"),
    ('{"format": "kgeval card 2", "format": "kgeval card 2"}', "the field 'format' occurs twice in one object"),
    ("[]", f"{NO_CARD}null"),
    ('{"a": 1}', f"{NO_CARD}null"),
    ('{"format": "kgeval result 1"}', f'{NO_CARD}"kgeval result 1"'),
    ('{"format": "kgeval card 3"}', f'{NO_CARD}"kgeval card 3"; a later version of kgeval may read it'),
    ('{"format": "kgeval card 0"}', f'{NO_CARD}"kgeval card 0"'),
    ('{"format": "kgeval card 2"}', "card.json: the field 'date' is missing"),
    ("[" * 100_000, "not JSON that is read: .* nested"),
    ('{"format": ' + "1" * 5000 + "}", "not JSON .*digits|expected a card"),
    ("PK\x05\x06" + "\0" * 18, "is a saved result or another archive, not a card"),  # an empty archive
]


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_damaged_cards_are_refused_with_their_place(text, message, tmp_path):
    """A file that is no card, of another version, or cut off."""
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_card(tmp_path / "card.json")


WRONG_FIELDS = [
    (("metrics", "mrr", "low"), "0.5", 'metrics/mrr/low: expected a number or null; got "0.5"'),
    (("metrics", "mrr", "value"), True, "metrics/mrr/value: expected a number or null; got true"),
    (
        ("metrics", "mrr"),
        {"value": 0.95, "low": 0.8, "high": 0.9},
        r"metrics/mrr: the value 0\.95 lies outside its interval, whose high is 0\.9",
    ),
    (("counts", "ranks"), 8.0, r"counts/ranks: expected an integer of at least 0; got 8\.0"),
    (("counts", "dropped"), [], r"counts/dropped: expected an object; got \[\]"),
    (("notes",), ["a", 1], r"notes\[1\]: expected a text; got 1"),
    (("model", "sead"), 1, "model: unknown field 'sead'; the fields are name, name_from, scorer, seed"),
    (("metrics", "mrr"), {"value": 1.0, "low": 1.0}, "metrics/mrr: the field 'high' is missing"),
    (("metrics", "mrrr"), {"value": 1.0, "low": 1.0, "high": 1.0}, "metrics/mrrr: unknown metric 'mrrr'"),
    (("metrics", "filtered.mr"), {"value": 1.0, "low": 1.0, "high": 1.0}, "metrics/filtered.mr: .* written 'mr'"),
    (("counts", "ranks"), 2**70, "counts/ranks: expected an integer of at least 0; got 1"),
    (("ties", "share"), 10**400, "ties/share: expected a number or null; got 1"),
    (("protocol", "settings", "sample"), 5, "protocol/settings/sample: expected an object; got 5"),
    (("protocol", "settings", "sides"), "both", "protocol/settings/sides: expected a list"),
    (("dataset", "name"), None, "dataset/name: expected a text; got null"),
]


@pytest.mark.light(8)
@pytest.mark.parametrize(("place", "value", "message"), WRONG_FIELDS)
def test_wrong_fields_are_named(card, place, value, message, tmp_path):
    """The file, the field, what was expected, and what came."""
    (tmp_path / "card.json").write_text(json.dumps(changed(card.content, place, value)))
    with pytest.raises(DataError, match=f"card.json, {message}"):
        read_card(tmp_path / "card.json")


def test_what_is_no_result_is_refused():
    """Classifications have no cards."""
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 3]], test=[[0, 0, 2], [0, 0, 3]], n_entities=4, n_relations=1)
    negatives = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}
    classified = kg.classify(lambda s, p, o: o, dataset, negatives)
    with pytest.raises(DataError, match=r"\(classifications have no cards\); got ClassificationResult"):
        Card.of(classified)
    with pytest.raises(DataError, match="got DataFrame"):
        Card.of(pd.DataFrame())


def test_every_field_is_in_the_guide(root):
    """The page names each field of the JSON, by its path."""
    page = (root / "kgeval" / "guide" / "cards.md").read_text(encoding="utf-8")

    def places(kind, place):
        inner = kind if isinstance(kind, dict) and "*" not in kind else {}
        return [place] if not inner else [one for n, k in inner.items() for one in places(k, f"{place}.{n}".strip("."))]

    lacking = [place for place in places(FIELDS, "") if f"`{place.replace('?', '')}`" not in page]
    assert lacking == []


def test_a_card_with_little_in_it_has_a_paragraph(card):
    """Whatever a card that is read may lack: splits, sides, metrics, versions."""
    counts = {
        **card.content["counts"],
        "ranks_by_side": {},
        "ranks_by_split": {},
        "bounded": {"raw": 1, "filtered": 0},
    }
    bare = Card({**card.content, "counts": counts, "metrics": {}, "unknown": {"else": "why."}, "notes": []})
    text = " ".join(bare.paragraph().split())
    assert "Known only by bounds: 1 raw rank. Unknown: else (why). " in text
    assert "metrics are" not in text


def test_text_of_a_card():
    """A field that is too long for one line has a line for each of its fields."""
    wide = {"a" * 60: 1, "b" * 60: {"d": None}}
    text = card_text({"b": {"y": 1.0, "x": [1, {}]}, "a": wide, "c": {"d": None}})
    assert json.loads(text) == {"b": {"y": 1.0, "x": [1, {}]}, "a": wide, "c": {"d": None}}
    assert '  "c": {"d": null}\n' in text
    assert f'    "{"a" * 60}": 1,\n    "{"b" * 60}": {{"d": null}}\n  }},\n' in text
    with pytest.raises(ValueError, match="not JSON compliant"):
        card_text({"a": math.inf})
