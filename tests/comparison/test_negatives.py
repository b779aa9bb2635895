"""H3: two results are compared only if they ranked among the same negatives, and nobody is asked to believe it."""

import json

import numpy as np
import pytest
from kgeval.candidates import All, Candidates, Listed
from made_results import replaced

import kgeval as kg
from kgeval.benchmarks import Card
from kgeval.data.candidates import Recorded
from kgeval.errors import ProtocolError
from kgeval.report import read_board
from kgeval.report.board import UNKNOWN_NEGATIVES

N = 9
TRIPLES = np.array([[0, 0, 1], [2, 0, 3], [4, 1, 5], [0, 0, 1], [6, 1, 7]])
LISTS = [[2, 3, 4], [0, 4, 4], [1, 2], [8, 5, 6], [0, 1, 2]]


def dataset(order=(0, 1, 2, 3, 4), others=()):
    return kg.Dataset.from_arrays(test=TRIPLES[list(order)], n_entities=N, n_relations=2, name="toy", **dict(others))


def protocol_of(order, lists, **settings):
    """The protocol of a result on the triples in this order; list i belongs to triple i of `TRIPLES`."""
    candidates = Listed(objects=[lists[i] for i in order], **settings)
    return kg.Protocol(candidates=candidates).resolved(dataset(order))


def run(order=(0, 1, 2, 3, 4), lists=LISTS, scale=1.0):
    protocol = kg.Protocol(candidates=Listed(objects=[lists[i] for i in order]))
    return kg.evaluate(lambda s, p, o: scale * ((5 * s + 3 * o) % 7), dataset(order), protocol, progress=False)


def test_the_order_of_rows_and_of_negatives_does_not_matter():
    """The same triples with the same lists, rows exchanged: also the lists of a triple that occurs twice."""
    first = protocol_of(range(5), LISTS)
    rng = np.random.default_rng(1)
    for _ in range(20):
        order = rng.permutation(5).tolist()
        lists = [rng.permutation(row).tolist() for row in LISTS]
        assert protocol_of(order, lists).candidates == first.candidates
        assert protocol_of(order, lists).fingerprint == first.fingerprint
    twins = [LISTS[3], LISTS[1], LISTS[2], LISTS[0], LISTS[4]]
    assert protocol_of(range(5), twins).candidates == first.candidates


@pytest.mark.parametrize(
    "lists",
    [
        [LISTS[1], LISTS[0], *LISTS[2:]],  # the same lists of other triples
        [LISTS[0], LISTS[2], LISTS[1], *LISTS[3:]],
        [[2, 3, 5], *LISTS[1:]],
        [[2, 3], *LISTS[1:]],
        [LISTS[0], [0, 4], *LISTS[2:]],  # once instead of twice
        [[*LISTS[0], *LISTS[1]], [], *LISTS[2:]],
    ],
)
def test_other_lists_have_another_identity(lists):
    assert protocol_of(range(5), lists, empty="drop").candidates != protocol_of(range(5), LISTS).candidates


def test_settings_that_change_ranks_are_in_the_identity():
    """Repeated negatives, and what happens to an empty list, if there is one."""
    plain = protocol_of(range(5), LISTS).candidates
    assert protocol_of(range(5), LISTS, duplicates="drop").candidates != plain
    assert protocol_of(range(5), LISTS, empty="first").candidates == plain
    alone = [[1], *LISTS[1:]]  # the answer alone: no rival
    found = {word: protocol_of(range(5), alone, empty=word).candidates for word in ("drop", "first")}
    assert found["drop"] != found["first"]
    once = [LISTS[0], [0, 4], *LISTS[2:]]
    dropped = protocol_of(range(5), once, duplicates="drop").candidates
    assert protocol_of(range(5), LISTS, duplicates="drop").candidates == dropped


def test_results_on_rows_in_another_order_are_compared():
    """The same negatives: compared. Lists that stand in the same rows, of other triples: refused."""
    one, other = run(), run((4, 2, 0, 1, 3), scale=-1.0)
    table = kg.compare([one, other], metrics="mrr").differences
    assert table[["value_first", "value_second"]].iloc[0].tolist() == pytest.approx([other["mrr"], one["mrr"]])
    rows = (4, 2, 0, 1, 3)
    misplaced = kg.evaluate(
        lambda s, p, o: -s - o,
        dataset(rows),
        kg.Protocol(candidates=Listed(objects=LISTS, empty="drop")),
        progress=False,
    )
    with pytest.raises(ProtocolError, match="candidates: lists candidates [0-9a-f]{8} in A, lists candidates"):
        kg.compare([one, misplaced], names=["A", "B"])


def test_a_hash_of_an_earlier_version_cannot_be_told(tmp_path):
    """A file whose digest covers the rows loads, and is compared only with the override."""
    new = run()
    old = replaced(new, protocol=replaced(new.protocol, candidates=Recorded("lists", "ab" * 32, "a list of 3")))
    old.save(tmp_path / "old.kgeval")
    loaded = kg.load_result(tmp_path / "old.kgeval")
    for pair in ([new, loaded], [loaded, loaded]):
        with pytest.raises(ProtocolError, match=r"negatives: not known in .*B \(a list of 3\); nobody can tell"):
            kg.compare(pair, names=["A", "B"])
        assert list(kg.compare(pair, names=["A", "B"], override="negatives").overridden) == ["negatives"]
    new.save(tmp_path / "new.kgeval")
    assert kg.compare([new, kg.load_result(tmp_path / "new.kgeval")], names=["A", "B"]).overridden == {}


def scores_alone(seed, n_negatives=4):
    rng = np.random.default_rng(seed)
    return kg.evaluate_candidates(dataset(), objects=(rng.random(5), rng.random((5, n_negatives))))


def test_negatives_that_are_given_as_scores_are_not_known(tmp_path):
    """Uniform against hard negatives looks the same: no verdict unless it is asked for."""
    pair = [scores_alone(1), scores_alone(2)]
    text = (
        "negatives: not known in A and B (negatives that are not known (scores without ids)); nobody can tell whether "
        "all ranks are among the same"
    )
    for ask in (
        lambda **options: kg.compare(pair, names=["A", "B"], **options),
        lambda **options: kg.comparison.regression_gate.gate(
            pair[0], pair[1], {"mrr": 0.1}, names=["A", "B"], **options
        ),
        lambda **options: kg.benchmark({("A", "toy"): pair[0], ("B", "toy"): pair[1]}, **options),
    ):
        with pytest.raises(ProtocolError) as caught:
            ask()
        assert text in str(caught.value) or text.replace("A and B", "A on toy and B on toy") in str(caught.value)
        ask(override="negatives")
    verdict = kg.compare(pair, names=["A", "B"], override="negatives").verdict
    assert verdict.outcome == "undecided"
    assert verdict.leaders == ("A", "B")
    assert "negatives that are not known" in str(pair[0])
    pair[0].save(tmp_path / "a.kgeval")
    with pytest.raises(ProtocolError, match="negatives: not known"):
        kg.compare([kg.load_result(tmp_path / "a.kgeval"), pair[1]])
    with pytest.raises(ProtocolError, match="negatives: not known in B"):
        kg.compare([run(), pair[1]], names=["A", "B"], override=("filter", "queries"))


def test_a_board_does_not_rank_unknown_negatives(tmp_path):
    for seed in (1, 2):
        scores_alone(seed).save(tmp_path / f"M{seed}.kgeval", name=f"M{seed}")
    run().save(tmp_path / "known.kgeval", name="known")
    board = read_board(tmp_path)
    unranked = {row.model for table in board.tables for row in table.rows if not row.is_ranked}
    assert unranked == {"M1", "M2"}
    assert all(UNKNOWN_NEGATIVES in row.marks for table in board.tables for row in table.rows if row.model in unranked)
    assert f"M1.kgeval and M2.kgeval: {UNKNOWN_NEGATIVES}" in board.notes
    assert "negatives that are not known" in json.dumps(Card.of(scores_alone(1)).content)


class NoKind(Candidates):
    def pools(self, queries, entities):
        yield queries, entities


class OtherPools(All):
    def pools(self, queries, entities):
        yield queries, entities[:5]


class WithData(Candidates):
    kind = "mine"

    def __init__(self, ids):
        self.ids = ids

    def pools(self, queries, entities):
        yield queries, self.ids


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (NoKind(), "NoKind has no kind, so nobody could tell"),
        (OtherPools(), r"OtherPools redefines pools\(\), but has the kind of another class"),
        (WithData(np.arange(3)), "WithData has the data 'ids', but no digest"),
    ],
)
def test_candidates_without_an_identity_are_refused(made, message):
    with pytest.raises(ProtocolError, match=message):
        kg.Protocol(candidates=made)
