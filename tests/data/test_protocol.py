"""Protocol: normalised, checked, and told apart by a fingerprint that stays."""

import hashlib
import itertools
import json
import math
import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest

import kgeval as kg
from kgeval.data.candidates import Recorded
from kgeval.data.protocol import Protocol, RandomSample

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

# One value, unlike the default, of each field; a new field must get its own here.
OTHERS = {
    "sample": RandomSample(2, 5, "ab", 0),
    "sides": ("object",),
    "filter": ("train",),
    "unseen": "drop",
    "splits": ("valid", "test"),
    "candidates": Recorded("listed", "ab" * 32),
    "filter_by": ("time",),
}


@pytest.fixture
def dataset():
    """Train and test only; no valid."""
    return kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[1, 0, 2]], n_entities=3, n_relations=1, name="tiny")


@pytest.mark.parametrize(
    ("sides", "wanted"),
    [
        ("tail", ("object",)),
        ("both", ("subject", "object")),
        ("H", ("subject",)),
        (("o", "s"), ("subject", "object")),
        (["object", "subject", "tail", "o"], ("subject", "object")),
        (iter(["Object"]), ("object",)),
        (("head", "t"), ("subject", "object")),
    ],
)
def test_sides_are_normalised(sides, wanted):
    """Any accepted name, a string or a sequence; once each, subject first."""
    assert Protocol(sides=sides).sides == wanted


@pytest.mark.parametrize("name", ["splits", "filter"])
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("valid", ("valid",)),
        (("test", "train"), ("train", "test")),
        (["test", "valid", "train", "test"], ("train", "valid", "test")),
    ],
)
def test_splits_are_normalised(name, given, wanted):
    """In the order train, valid, test, once each, whatever was given."""
    assert getattr(Protocol(**{name: given}), name) == wanted


def test_defaults():
    """Both sides of test; None, until dataset and model decide, for filter splits and unseen."""
    wanted = {"sides": ["subject", "object"], "filter": None, "unseen": None, "splits": ["test"]}
    assert Protocol().to_dict() == {**wanted, "candidates": "all", "filter_by": None}
    assert Protocol(filter_by=()).to_dict() == {**wanted, "candidates": "all"}
    assert Protocol(filter=()).to_dict()["filter"] == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sides": ()}, "sides is empty; name at least one of 'subject', 'object'"),
        ({"sides": "mid"}, "side must be 'subject' or 'object' (or head/tail, s/o, h/t), or 'relation'; got 'mid'"),
        ({"sides": ("object", 1)}, "side must be 'subject' or 'object' (or head/tail, s/o, h/t), or 'relation'; got 1"),
        ({"splits": ()}, "splits is empty; name at least one, such as 'test'"),
        (
            {"splits": "tset"},
            "splits must be one of 'train', 'valid', 'test'; got 'tset'; did you mean 'test'?",
        ),
        ({"splits": ("test", "dev")}, "splits must be one of 'train', 'valid', 'test'; got 'dev'"),
        ({"splits": (0,)}, "splits must be one of 'train', 'valid', 'test'; got 0"),
        (
            {"filter": ("train", "vald")},
            "filter must be one of 'train', 'valid', 'test'; got 'vald'; did you mean 'valid'?",
        ),
        ({"unseen": "skip"}, "unseen must be one of 'rank', 'drop', 'worst', 'error'; got 'skip'"),
        (
            {"unseen": "Drop"},
            "unseen must be one of 'rank', 'drop', 'worst', 'error'; got 'Drop'; did you mean 'drop'?",
        ),
        ({"unseen": 0}, "unseen must be one of 'rank', 'drop', 'worst', 'error'; got 0"),
        (
            {"candidates": "some"},
            "candidates must be a value such as kgeval.candidates.All() or "
            "kgeval.candidates.ByRelation.observed(dataset); got 'some'",
        ),
    ],
)
def test_wrong_fields(given, message):
    """The whole sentence: the field, all that is allowed, what came, and the nearest."""
    with pytest.raises(kg.ProtocolError) as caught:
        Protocol(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["sides", "splits", "filter"])
@pytest.mark.parametrize("given", [3, 1.5, True])
def test_fields_that_are_no_sequence(name, given):
    """A number where names are expected is a ProtocolError that names the field, not a bare TypeError."""
    with pytest.raises(kg.ProtocolError, match=f"{name}.*{given}"):
        Protocol(**{name: given})


def test_none_is_no_choice_of_splits():
    """Only sides and filter may be None; for splits it is a ProtocolError that names the field."""
    with pytest.raises(kg.ProtocolError, match=r"splits.*None"):
        Protocol(splits=None)
    assert Protocol(sides=None) == Protocol(sides="both")


def test_frozen_hashable_and_equal_by_value():
    """However it was written, the same protocol is one key of a dict, and cannot be changed."""
    one, other = (
        Protocol(sides=["tail", "head"], filter=["test", "train"]),
        Protocol(filter=("train", "test")),
    )
    assert one == other
    assert len({one, other}) == 1
    with pytest.raises(FrozenInstanceError):
        one.unseen = "drop"


def test_every_field_has_another_value_here():
    """A field added to Protocol must be added to the tests of its fingerprint; no result has a seed or a precision."""
    assert {*OTHERS, "sample_seed", "precision"} == {field.name for field in fields(Protocol)}


def test_fingerprint_differs_for_each_field():
    """All 2 ** 7 combinations of default and other values are told apart, by equality and by fingerprint."""
    made = [
        Protocol(**{name: OTHERS[name] for name in names})
        for n in range(len(OTHERS) + 1)
        for names in itertools.combinations(OTHERS, n)
    ]
    assert len({protocol.fingerprint for protocol in made}) == len(set(made)) == 128


def test_fingerprint_tells_no_filter_from_all():
    """Nothing filtered, everything filtered by default, and each subset named are different."""
    subsets = [(), ("train",), ("train", "valid"), ("train", "test"), ("train", "valid", "test"), None]
    assert len({Protocol(filter=subset).fingerprint for subset in subsets}) == 6


def test_fingerprint_is_the_hash_of_the_fields():
    """SHA-256 of the sorted JSON of the fields, 8 digits; so it is the same in every process and version."""
    text = '{"candidates": "all", "filter_splits": ["train"], "sides": ["object"], '
    text += '"splits": ["test"], "unseen": "drop"}'
    made = Protocol(sides="o", filter="train", unseen="drop")
    assert made.fingerprint == hashlib.sha256(text.encode()).hexdigest()[:8]
    assert made.fingerprint == Protocol(sides=["tail"], filter=["train", "train"], unseen="drop").fingerprint


@pytest.mark.parametrize("names", [(), *itertools.combinations(OTHERS, 1), *itertools.combinations(OTHERS, 3)])
def test_to_dict_and_back(names):
    """Through JSON text and back it is the same protocol with the same fingerprint."""
    protocol = Protocol(**{name: OTHERS[name] for name in names})
    again = Protocol.from_dict(json.loads(json.dumps(protocol.to_dict())))
    assert again == protocol
    assert again.fingerprint == protocol.fingerprint


@pytest.mark.parametrize(
    ("key", "hint"),
    [("side", "; did you mean 'sides'?"), ("filtered", "; did you mean 'filter'?"), ("margin", "")],
)
def test_from_dict_refuses_unknown_fields(key, hint):
    """A field of a newer or misspelt protocol is not ignored: it might change a number."""
    known = "sides, filter, unseen, splits, candidates, sample, sample_seed, filter_by, precision"
    with pytest.raises(kg.ProtocolError) as caught:
        Protocol.from_dict({"sides": "object", key: "x"})
    assert str(caught.value) == f"unknown protocol field {key!r}{hint}; known: {known}"


def test_files_of_version_0_1_are_read():
    """The filter had another name; the fingerprint is that of version 0.1."""
    old = {"sides": ["object"], "filter_splits": ["train"], "unseen": "drop", "splits": ["test"], "candidates": "all"}
    made = Protocol.from_dict(old)
    assert made == Protocol(sides="o", filter="train", filter_by=(), unseen="drop")
    assert made.to_dict() == {name.removesuffix("_splits"): value for name, value in old.items()}
    assert made.fingerprint == hashlib.sha256(json.dumps(old, sort_keys=True).encode()).hexdigest()[:8]


def test_the_old_name_of_the_filter_answers_with_the_new_one():
    with pytest.raises(AttributeError, match="no attribute 'filter_splits'; its name is 'filter' since kgeval 0.2"):
        Protocol().filter_splits  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'filters'$"):
        Protocol().filters  # noqa: B018


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample": 0}, "sample must be an integer of at least 1; got 0"),
        ({"sample": "many"}, "sample must be a number of triples, an array of their rows, or a mask with one element "),
        ({"sample": [[1]]}, "ranked splits; got dtype int64, shape (1, 1)"),
        ({"sample": [False, False]}, "sample is a mask without True: it names no triple to rank; name at least one"),
        ({"sample": 3, "sample_seed": -1}, "sample_seed must be an integer of at least 0; got -1"),
        ({"sample": [0], "sample_seed": 1}, "sample_seed=1 changes nothing here: it is the seed of sample=N (N rando"),
        ({"sample": RandomSample(2, 5, "ab", 0), "sample_seed": 1}, "sample_seed=1 changes nothing here: it is the s"),
    ],
)
def test_wrong_samples(given, message):
    with pytest.raises(kg.ProtocolError) as caught:
        Protocol(**given)
    assert message in str(caught.value)


def test_samples_are_equal_by_value_and_go_through_json():
    """A number, rows in any order, a mask and the sample of a result; 0 and 1 are no mask."""
    given = (3, [4, 1], np.array([1, 4]), [False, True], [0, 1], RandomSample(2, 5, "ab", 3))
    made = [Protocol(sample=sample) for sample in given]
    assert made[1] == made[2]
    assert len(set(made)) == len({protocol.fingerprint for protocol in made}) == 5
    assert made[3] != Protocol(sample=[1])  # the mask says how many triples there are
    for protocol in (*made, Protocol(sample=3, sample_seed=4), Protocol(sample_seed=4)):
        assert Protocol.from_dict(json.loads(json.dumps(protocol.to_dict()))) == protocol
    assert Protocol(sample=3) != Protocol(sample=3, sample_seed=4)
    assert made[-1].sample_seed == 3
    assert [protocol.describe().split(", ")[-1] for protocol in (made[1], Protocol(sample_seed=2))] == [
        "2 triples chosen by the user", "both sides"
    ]  # fmt: skip


def test_the_sample_of_a_result_is_drawn_again(dataset):
    """Its seed gives the same rows; rows that a user chose are not in a result."""
    data = kg.Dataset.from_arrays(test=[[i, 0, i + 1] for i in range(9)], n_entities=10, n_relations=1)
    score = lambda s, p, o: s - o  # noqa: E731
    first = kg.evaluate(score, data, Protocol(sample=4, sample_seed=2))
    assert (first.protocol.sample.seed, first.protocol.sample_seed) == (2, 2)
    assert kg.evaluate(score, data, first.protocol) == first
    assert kg.evaluate(score, data, first.protocol, max_seconds=100) == first
    chosen = kg.evaluate(score, data, Protocol(sample=[0, 3])).protocol
    for protocol, message in (
        (chosen, "2 of 9 triples (chosen by the user): a result does not hold which rows; give sample=the rows"),
        (first.protocol, "4 of 9 triples (drawn at random, seed 2), but the splits to rank have 1 triples"),
        (replace(first.protocol, sample=RandomSample(4, 9, "ab", 2)), "but this seed draws other triples"),
    ):
        with pytest.raises(kg.ProtocolError) as caught:
            kg.Evaluator(data if "have 1" not in message else dataset, replace(protocol, filter=None))
        assert message in str(caught.value)


def test_from_dict_checks_values():
    """What the constructor refuses is refused from a file too."""
    with pytest.raises(kg.ProtocolError, match="unseen must be one of"):
        Protocol.from_dict({"unseen": "skip"})


def test_resolved_names_the_filter(dataset):
    """None becomes the dataset's splits, and ranking the unseen; what was named stays, also nothing."""
    assert Protocol().resolved(dataset) == Protocol(filter=("train", "test"), filter_by=(), unseen="rank")
    assert Protocol().resolved(dataset, "drop").unseen == "drop"
    assert Protocol(unseen="worst").resolved(dataset, "drop").unseen == "worst"
    assert Protocol(filter="train").resolved(dataset).filter == ("train",)
    assert Protocol(filter=()).resolved(dataset).filter == ()
    before = Protocol(unseen="drop", sides="s")
    after = before.resolved(dataset)
    assert before.filter is None
    assert replace(after, filter=None, filter_by=None) == before
    assert after.resolved(dataset) == after


@pytest.mark.parametrize("given", [{"splits": "valid"}, {"filter": ("train", "valid")}, {"splits": ("valid", "test")}])
def test_resolved_refuses_splits_the_dataset_lacks(dataset, given):
    """The split, the dataset's name and what it has; evaluate says the same before any scoring."""
    message = "dataset 'tiny' has no split 'valid', which the protocol names; its splits are train, test"
    with pytest.raises(kg.ProtocolError) as caught:
        Protocol(**given).resolved(dataset)
    assert str(caught.value) == message
    with pytest.raises(kg.ProtocolError, match=message):
        kg.evaluate(None, dataset, Protocol(**given))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            {"filter": ("train", "valid", "test")},
            "filtered by train+valid+test, all entities, both sides",
        ),
        ({"filter": (), "sides": "o"}, "filtered by nothing, all entities, object side"),
        ({"filter": "train", "unseen": "drop"}, "filtered by train, entities of train, both sides"),
        (
            {"filter": "train", "unseen": "worst"},
            "filtered by train, all entities, unseen last, both sides",
        ),
        (
            {"filter": "train", "candidates": Recorded("listed", "ab" * 32)},
            "filtered by train, listed candidates abababab, both sides",
        ),
    ],
)
def test_describe(given, wanted):
    """One line of English for the head of every table."""
    assert Protocol(**given).describe() == wanted


def test_describe_does_not_call_all_splits_nothing():
    """filter=None filters by every split of the dataset: it must not read like the empty choice."""
    assert Protocol().describe() != Protocol(filter=()).describe()


def test_evaluate_reports_the_protocol_it_used(dataset):
    """The result carries the resolved protocol, so that its filter splits are on record."""
    result = kg.evaluate(lambda s, p, o: np.minimum(s, o) - o, dataset, Protocol(sides="tail"))
    assert result.protocol == Protocol(sides=("object",), filter=("train", "test"), filter_by=(), unseen="rank")


def test_listed_candidates_need_a_table(dataset):
    """evaluate() cannot rank listed negatives; the error names the function that can."""
    with pytest.raises(kg.ProtocolError, match="listed candidates: the protocol stores their kind and digest, but"):
        kg.evaluate(lambda s, p, o: s, dataset, Protocol(candidates=Recorded("listed")))


COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]
WEIGHTS = np.array([2, 7, 5, 9, 5])
UNSEEN = {  # for T1, T2, T3 by object, then by subject: (better, tied, rivals) raw and filtered
    "rank": {
        "object": [(2, 1, 4, 0, 0, 1), (0, 0, 4, 0, 0, 1), (2, 1, 4, 2, 1, 4)],
        "subject": [(4, 0, 4, 3, 0, 3), (4, 0, 4, 4, 0, 4), (1, 0, 4, 1, 0, 4)],
    },
    "drop": {"object": [(1, 0, 2, 0, 0, 1)], "subject": [(2, 0, 2, 1, 0, 1)]},
    "worst": {
        "object": [(1, 0, 4, 0, 0, 1), (4, 0, 4, 1, 0, 1), (4, 0, 4, 4, 0, 4)],
        "subject": [(2, 0, 4, 1, 0, 3), (4, 0, 4, 4, 0, 4), (4, 0, 4, 4, 0, 4)],
    },
}


def unseen_result(unseen, test=((0, 0, 2), (0, 0, 3), (1, 1, 2))):
    """Train knows entities 0, 1, 2 and relation 0; an entity's weight alone orders the candidates."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [1, 0, 2]], valid=[[0, 0, 4]], test=list(test), n_entities=5, n_relations=2
    )
    score = lambda s, p, o: 100 * WEIGHTS[s] + WEIGHTS[o]  # noqa: E731
    return kg.evaluate(score, dataset, kg.Protocol(unseen=unseen), progress=False)


@pytest.mark.parametrize("unseen", UNSEEN)
def test_unseen_policies(unseen):
    """Weights 2 7 5 9 5. T1 = (0, 0, 2) is seen; of T2 = (0, 0, 3) the object is not, of T3 the relation.

    rank, (0, 0, ?), answer 2 (5): 1 and 3 above, 4 equal; known 1, 3, 4 leave 0 alone. (?, 0, 2), answer 0
    (2): four above, known 1 leaves three. drop: candidates 0, 1, 2 only, T2 and T3 left out. worst: rivals
    as in rank, but 3 and 4 never win or tie; T2 and T3 come last: better = rivals.
    """
    result = unseen_result(unseen)
    for side, wanted in UNSEEN[unseen].items():
        rows = result.table[(result.table["side"] == side).to_numpy()]
        assert [tuple(row) for row in rows[COUNTS].to_numpy()] == wanted, side
    assert result.facts["n_unseen"] == 2
    assert result.facts["n_read"] == 6
    n_dropped = 4 if unseen == "drop" else 0
    assert sum(result.dropped.values()) == n_dropped == 6 - len(result.table)
    assert list(result.dropped) == ["an entity or relation that train lacks (unseen='drop')"] * (unseen == "drop")
    if unseen == "worst":
        assert result.table["score"].tolist() == pytest.approx([205, math.nan, math.nan] * 2, nan_ok=True)
        assert result["mr"] == 20 / 6  # ranks 1 2 5 and 2 5 5
        assert result.tie_rate == 0


@pytest.mark.parametrize(
    ("unseen", "test", "message"),
    [
        (
            "error",
            [(0, 0, 2), (0, 0, 3), (1, 1, 2)],
            "2 triples to rank contain an entity or relation that does not occur in train, first ('0', '0', '3'); "
            "choose unseen='rank', 'drop' or 'worst'",
        ),
        (
            "drop",
            [(0, 0, 3)],
            "no triple is left to rank: all 1 contain an entity or relation that does not occur in train",
        ),
        ("rank", np.zeros((0, 3), int), "split test of 'dataset' has 0 triples; nothing to rank"),
    ],
)
def test_nothing_to_rank_is_an_error(unseen, test, message):
    """Never a table of NaN: what was found, the first offender, and the choices."""
    with pytest.raises(kg.DataError) as caught:
        unseen_result(unseen, test)
    assert str(caught.value) == message


def test_nothing_seen_is_left_out_with_error():
    """unseen='error' with nothing unseen ranks as 'rank' does."""
    one, other = (unseen_result(unseen, [(0, 0, 2)]) for unseen in ("error", "rank"))
    pd.testing.assert_frame_equal(one.table, other.table)


def test_names_in_one_string():
    """Commas separate splits and sides, as in a list of metrics."""
    protocol = Protocol(splits="valid, test", filter="train,test", sides="tail,head")
    assert protocol == Protocol(splits=["valid", "test"], filter=["train", "test"])


# --- samples


def seeded_words(seed, n):
    """The first `n` 32-bit words of numpy's SeedSequence of a seed below 2**128."""
    mask, constant = 2**32 - 1, 0x43B0D7E5

    def hashed(value, times=0x931E8875):
        nonlocal constant
        value ^= constant
        constant = constant * times & mask
        value = value * constant & mask
        return value ^ value >> 16

    pool = [hashed(seed >> 32 * i & mask) for i in range(4)]
    for i, j in itertools.permutations(range(4), 2):
        mixed = 0xCA01F9DD * pool[j] - 0x4973F715 * hashed(pool[i]) & mask
        pool[j] = mixed ^ mixed >> 16
    constant = 0x8B51F9DD
    return [hashed(pool[i % 4], 0x58F38DED) for i in range(n)]


def pcg64(seed, n):
    """The first `n` raw numbers of PCG64 (XSL RR 128/64), in Python integers."""
    words = seeded_words(seed, 8)
    high, low, *others = (words[i] | words[i + 1] << 32 for i in range(0, 8, 2))
    add = (others[0] << 64 | others[1]) << 1 | 1
    step = lambda state: (state * (2549297995355413924 << 64 | 4865540595714422341) + add) % 2**128  # noqa: E731
    state, numbers = step(add + (high << 64 | low)), []
    for _ in range(n):
        state = step(state)
        folded, turn = state >> 64 ^ state % 2**64, state >> 122
        numbers.append((folded >> turn | folded << 64 - turn) % 2**64)
    return numbers


@pytest.mark.parametrize(("of", "seed"), [(1, 0), (2, 0), (5, 1), (64, 2), (65, 2**40), (1000, 12345)])
def test_the_order_of_a_sample_is_that_of_pcg64(of, seed):
    """Rows sorted by raw numbers, whose last bits are those of the row: the same with every version of numpy."""
    n_bits = (of - 1).bit_length()
    keys = [number >> n_bits << n_bits | row for row, number in enumerate(pcg64(seed, of))]
    order = RandomSample.order(of, seed)
    assert order.tolist() == sorted(range(of), key=keys.__getitem__)
    assert order.dtype == np.int64


def test_samples_of_a_seed_are_nested():
    for seed in range(20):
        order = RandomSample.order(200, seed)
        assert sorted(order.tolist()) == list(range(200))
        for n in (1, 7, 100, 199):
            rows, sample = RandomSample.drawn(n, 200, seed)
            assert rows.tolist() == sorted(order[:n].tolist())
            assert (sample.n, sample.of, sample.seed) == (n, 200, seed)
    assert RandomSample.drawn(200, 200, 0)[1] is None
    assert RandomSample.order(0).tolist() == []


def test_every_order_is_equally_likely():
    """Chi-squared of the 24 orders of 4 rows, 4,800 seeds: 23 degrees of freedom, so below 60 nearly always."""
    orders = [tuple(RandomSample.order(4, seed).tolist()) for seed in range(10**6, 10**6 + 4800)]
    counts = np.array([orders.count(order) for order in itertools.permutations(range(4))])
    assert ((counts - 200.0) ** 2 / 200.0).sum() < 60.0


def test_how_a_sample_is_shown():
    assert str(RandomSample(1200, 20466, "ab", 0)) == "1,200 of 20,466 triples (drawn at random, seed 0)"
    assert str(RandomSample(1200, 20466, "ab")) == "1,200 of 20,466 triples (chosen by the user)"
    assert (
        Protocol(sample=RandomSample(2, 5, "ab", 3))
        .describe()
        .endswith("both sides, 2 of 5 triples (drawn at random, seed 3)")
    )


@pytest.mark.parametrize("seed", [-1, True, 0.5, "0"])
def test_wrong_seeds_of_a_sample(seed):
    with pytest.raises(kg.ProtocolError) as caught:
        RandomSample.order(5, seed)
    assert str(caught.value) == f"seed must be an integer of at least 0; got {seed!r}"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda score, dataset: kg.evaluate(score),
            "evaluate(): missing a required argument: 'dataset'. Its arguments: scorer, dataset, protocol, device, bat",
        ),
        (
            lambda score, dataset: kg.evaluate(score, dataset, side="tail"),
            "evaluate() has no argument 'side'; did you mean protocol=kgeval.Protocol(sides='object')?",
        ),
        (
            lambda score, dataset: kg.Evaluator(dataset).evaluate(score, ties="optimistic"),
            "evaluate() has no argument 'ties'; did you mean result['optimistic.mrr'] (a result has all tie policies)?",
        ),
        (
            lambda score, dataset: kg.Evaluator(dataset, filter="train"),
            "Evaluator() has no argument 'filter'; did you mean protocol=kgeval.Protocol(filter=('train', 'valid', 't",
        ),
        (
            lambda score, dataset: kg.evaluate(score, dataset, sides="both"),
            "evaluate() has no argument 'sides'; did you mean protocol=kgeval.Protocol(sides='object')?",
        ),
        (
            lambda score, dataset: kg.evaluate(score, dataset, batchsize=3),
            "evaluate() has no argument 'batchsize'; did you mean 'batch_size'? Its arguments: scorer, dataset, ",
        ),
        (
            lambda score, dataset: Protocol(split="valid"),
            "Protocol() has no argument 'split'; did you mean 'splits'? Its arguments: sides, filter, unseen, ",
        ),
        (
            lambda score, dataset: Protocol(filter_splits="train"),
            "Protocol() has no argument 'filter_splits'; did you mean filter=?",
        ),
        (
            lambda score, dataset: Protocol(seed=3),
            "Protocol() has no argument 'seed'; did you mean sample_seed=?",
        ),
        (
            lambda score, dataset: kg.Evaluator(dataset).evaluate(score, filter_splits="train"),
            "evaluate() has no argument 'filter_splits'; did you mean protocol=kgeval.Protocol(filter=('train', ",
        ),
        (
            lambda score, dataset: Protocol(ties="realistic"),
            "Protocol() has no argument 'ties'; did you mean result['optimistic.mrr'] (a result has all tie policies)?",
        ),
        (
            lambda score, dataset: kg.evaluate_scores(None, dataset, splits="valid"),
            "evaluate_scores() has no argument 'splits'; did you mean protocol=kgeval.Protocol(splits='valid')?",
        ),
        (
            lambda score, dataset: kg.evaluate_candidates(dataset, zzz=1),
            "evaluate_candidates() has no argument 'zzz'. Its arguments: dataset, ",
        ),
        (
            lambda score, dataset: kg.evaluate_predictions(None, dataset, metrics="mrr"),
            "evaluate_predictions() has no argument 'metrics'; did you mean result['hits@5'] or result.summary(",
        ),
        (
            lambda score, dataset: kg.sample_negatives(dataset, "test", seed=3),
            "sample_negatives() has no argument 'seed'; did you mean sample_seed=?",
        ),
        (
            lambda score, dataset: kg.sample_negatives(dataset, "test", filter_splits="train"),
            "sample_negatives() has no argument 'filter_splits'; did you mean filter=?",
        ),
        (
            lambda score, dataset: kg.negatives(dataset, (0, 0, 1), "object", filter_splits="train"),
            "negatives() has no argument 'filter_splits'; did you mean filter=?",
        ),
        (
            lambda score, dataset: kg.compare([], ties="optimistic"),
            "compare() has no argument 'ties'; did you mean metrics='optimistic.mrr'?",
        ),
    ],
)
def test_unknown_arguments_are_named_with_a_hint(dataset, call, message):
    """H29: they were bare TypeErrors."""
    with pytest.raises(kg.ProtocolError, match=f"^{re.escape(message)}"):
        call(lambda s, p, o: -np.abs(s - o), dataset)


def test_the_hints_of_unknown_arguments_are_accepted(dataset):
    """What the messages propose works: an object side alone, all tie policies in one result."""
    result = kg.evaluate(lambda s, p, o: np.zeros(len(s)), dataset, protocol=kg.Protocol(sides="object"))
    assert result.protocol.sides == ("object",)
    assert result["optimistic.mrr"] == 1
    assert kg.Protocol(sides="both").sides == ("subject", "object")
