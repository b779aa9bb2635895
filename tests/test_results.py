"""EvaluationResult: keys, tables, breakdowns, cautions, and the file it is saved to."""

import dataclasses
import itertools
import json
import math
import random

import numpy as np
import oracle
import pandas as pd
import pytest

import kgeval as kg
from kgeval.metrics import MRR, TIE_POLICIES, Adjusted, Hits
from kgeval.ranks import RankCounts
from kgeval.results import Key

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SETTINGS, SIDES = ("raw", "filtered"), ("subject", "object")
METRICS = ("mr", "mrr", "hits@1", "hits@3", "gmr", "hmr", "median_rank")
COUNTS = [f"{count}_{setting}" for setting in SETTINGS for count in ("better", "tied", "rivals")]
GRAMMAR = "write [setting.][side.][ties.]metric, for example 'raw.object.optimistic.hits@1'"


def random_case(seed, splits=("test",)):
    """A result on a random graph with integer scores (many ties), and the oracle's rows of each side."""
    rng = random.Random(seed)
    n, m, graph = oracle.random_graph(rng)
    scores = np.random.default_rng(seed).integers(0, 4, (n, m, n))
    dataset = kg.Dataset.from_arrays(**graph, n_entities=n, n_relations=m)
    result = kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, kg.Protocol(splits=splits), progress=False)
    known, asked = {t for rows in graph.values() for t in rows}, [t for split in splits for t in graph[split]]
    rows = {
        side: oracle.rank_counts(lambda s, p, o: int(scores[s, p, o]), asked, known, range(n), side)
        for side in SIDES
    }
    return result, asked, rows


def triples_of(rows, setting):
    """The (better, tied, rivals) of rows of the oracle or of a frame, for its `metric`."""
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return [tuple(row[f"{count}_{setting}"] for count in ("better", "tied", "rivals")) for row in records]


def number(metric, rows, ties):
    """The oracle's number as a float, NaN where there is none."""
    found = oracle.metric(metric, rows, ties)
    return math.nan if found is None else float(found)


@pytest.fixture
def small():
    """Two relations, two splits to rank, labels that no text format likes; all numbers differ by group."""
    rng = np.random.default_rng(7)
    arrays = {split: rng.integers(0, [6, 2, 6], (n, 3)) for split, n in (("train", 30), ("valid", 5), ("test", 9))}
    labels = ["a\tb", "line\nbreak", "\u65e5\u672c", "e\u0301", "", "<script>alert(1)</script>"]
    dataset = kg.Dataset.from_arrays(
        **arrays, entity_labels=labels, relation_labels=["<b>&\r", "\ud800"], name="<script>x</script>"
    )
    table = rng.integers(0, 9, (6, 2, 6)) / 8
    protocol = kg.Protocol(splits=("valid", "test"), filter_splits=("train", "test"), unseen="drop")
    return kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mrr", Key(MRR())),
        ("raw.mrr", Key(MRR(), setting="raw")),
        ("object.mrr", Key(MRR(), side="object")),
        ("expected.mrr", Key(MRR(), ties="expected")),
        ("filtered.both.realistic.mrr", Key(MRR())),
        ("raw.pessimistic.hits@3", Key(Hits(3), setting="raw", ties="pessimistic")),
        (" subject.adjusted(hits@3) ", Key(Adjusted(Hits(3)), side="subject")),
        ("raw.subject.optimistic.amri", Key(kg.metrics.parse("amri"), "raw", "subject", "optimistic")),
        (Hits(3), Key(Hits(3))),
    ],
)
def test_keys(text, wanted):
    """[setting.][side.][ties.]metric, each part optional, in this order; or the metric itself."""
    assert Key.parse(text) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("filterd.mrr", f"in result key 'filterd.mrr': 'filterd' is out of place; did you mean 'filtered'?; {GRAMMAR}"),
        ("raw.objct.mrr", f"in result key 'raw.objct.mrr': 'objct' is out of place; did you mean 'object'?; {GRAMMAR}"),
        ("mrr.raw", f"in result key 'mrr.raw': 'mrr' is out of place; {GRAMMAR}"),
        ("raw..mrr", f"in result key 'raw..mrr': '' is out of place; {GRAMMAR}"),
        (".mrr", f"in result key '.mrr': '' is out of place; {GRAMMAR}"),
        ("raw.hits@0", "k of hits@k must be an integer of at least 1; got 0"),
        ("object.mrr@1", "mrr takes no cut-off; got 'mrr@1'"),
        (7, "a result key is a string such as 'mrr' or 'raw.object.hits@10'; got 7"),
        (("raw", "mrr"), "a result key is a string such as 'mrr' or 'raw.object.hits@10'; got ('raw', 'mrr')"),
    ],
)
def test_wrong_keys(small, text, message):
    """The key, the part at fault, the nearest word and the grammar; alike for [], value and chance."""
    for look_up in (small.__getitem__, small.value, small.chance):
        with pytest.raises(kg.MetricError) as caught:
            look_up(text)
        assert str(caught.value) == message


@pytest.mark.parametrize("text", ["object.raw.mrr", "raw.raw.mrr", "optimistic.both.mrr", "both.object.mrr"])
def test_misplaced_words_are_not_suggested_again(text):
    """A known word at the wrong place is out of place; `did you mean 'raw'` of 'raw' helps nobody."""
    word = text.split(".")[1]
    with pytest.raises(kg.MetricError) as caught:
        Key.parse(text)
    assert str(caught.value) == f"in result key {text!r}: {word!r} is out of place; {GRAMMAR}"


def test_a_fraction_as_cut_off_is_no_key_part():
    """The dot of hits@1.5 belongs to the cut-off, which must be an integer."""
    with pytest.raises(kg.MetricError, match="hits needs a cut-off, a positive integer"):
        Key.parse("raw.hits@1.5")


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("splits", [("test",), ("valid", "test")], ids="+".join)
def test_every_number_equals_the_oracle(seed, splits):
    """Table row for row, then metric x setting x side x policy; both = the mean over all rows (micro)."""
    result, asked, rows = random_case(seed, splits)
    table = result.table
    assert list(table.columns) == ["s", "p", "o", "side", "split", "score", *COUNTS]
    assert [tuple(row) for row in table[["s", "p", "o"]].to_numpy()] == asked * 2
    assert table["side"].tolist() == ["subject"] * len(asked) + ["object"] * len(asked)
    wanted = [{key: row[key] for key in ("score", *COUNTS)} for side in SIDES for row in rows[side]]
    assert table[["score", *COUNTS]].to_dict("records") == wanted
    groups = {**rows, "both": rows["subject"] + rows["object"]}
    for (side, part), setting, ties, metric in itertools.product(groups.items(), SETTINGS, TIE_POLICIES, METRICS):
        expected = number(metric, triples_of(part, setting), ties)
        found = result[f"{setting}.{side}.{ties}.{metric}"]
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), (setting, side, ties, metric)
    for side, part in groups.items():
        level = float(oracle.chance("mrr", triples_of(part, "filtered"))[0])
        assert result.chance(f"{side}.mrr").value == pytest.approx(level, rel=1e-12)
        assert result[f"{side}.mrr"] == result[f"filtered.{side}.realistic.mrr"]
    ties = [row["tied_filtered"] > 0 for row in groups["both"]]
    assert result.tie_rate == sum(ties) / len(ties)


@pytest.mark.parametrize("ties", TIE_POLICIES)
def test_summary_is_the_single_numbers(small, ties):
    """Filtered before raw, both before the sides; n rows each; undefined cells say why."""
    frame = small.summary(["mrr", "hits@1", "median_rank", "adjusted(hits@10)"], ties=ties)
    assert list(frame.index) == [(a, b) for a in ("filtered", "raw") for b in ("both", *SIDES)]
    assert frame.index.names == ["setting", "side"]
    assert list(frame.columns) == ["n", "MRR", "hits@1", "median", "adjusted(hits@10)"]
    reasons = {}
    for (setting, side), row in frame.iterrows():
        assert row["n"] == len(small.table) // (1 if side == "both" else 2)
        for key, heading in zip(("mrr", "hits@1", "median", "adjusted(hits@10)"), frame.columns[1:], strict=True):
            found = small.value(f"{setting}.{side}.{ties}.{key}")
            assert row[heading] == pytest.approx(found.value, nan_ok=True)
            reasons |= {(setting, side, heading): found.reason} if found.reason else {}
    assert frame.attrs["reasons"] == reasons
    assert len(reasons) == (12 if ties == "expected" else 6)
    assert set(reasons.values()) >= {"chance already reaches the best value of hits@10: 0 / 0"}


@pytest.mark.parametrize(
    "columns", [("relation",), ("side",), ("split",), ("relation", "side"), ("split", "relation", "side")], ids="+".join
)
@pytest.mark.parametrize(("setting", "ties"), [("filtered", "realistic"), ("raw", "expected")])
def test_breakdown_is_the_table_filtered_by_hand(small, columns, setting, ties):
    """Each group is the rows that a person would pick; groups are complete, most rows first, relations by label."""
    table = small.table.assign(relation=[small.relations.labels[p] for p in small.table["p"]])
    keys = list(zip(*(table[column].tolist() for column in columns), strict=True))
    frame = small.by(*columns, metrics=METRICS, setting=setting, ties=ties)
    index = [key if isinstance(key, tuple) else (key,) for key in frame.index]
    assert frame.index.names == list(columns)
    assert len(index) == len(set(index))
    assert set(index) == set(keys)
    assert frame["n"].tolist() == sorted((keys.count(key) for key in index), reverse=True)
    for key, (_, row) in zip(index, frame.iterrows(), strict=True):
        part = triples_of(table[[other == key for other in keys]], setting)
        assert row["n"] == len(part)
        wanted = [number(metric, part, ties) for metric in METRICS]
        assert row.tolist()[1:] == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    assert bool(frame.attrs["reasons"]) == (ties == "expected")


def test_breakdown_errors(small):
    """What may be said where; the nearest is suggested."""
    for call, message in [
        (lambda: small.by(), "say what to group by: 'relation', 'side' or 'split'"),
        (lambda: small.by("relations"), "by must be one of 'relation', 'side', 'split'; got 'relations'; did you"),
        (lambda: small.by("side", setting="both"), "setting must be one of 'raw', 'filtered'; got 'both'"),
        (lambda: small.by("side", ties="mean"), "ties must be one of 'optimistic', 'pessimistic', 'realistic'"),
        (lambda: small.by("side", metrics=["hit@1"]), "unknown metric 'hit@1'; did you mean 'hits@10'?"),
        (lambda: small.summary(ties="mean"), "ties must be one of 'optimistic', 'pessimistic', 'realistic'"),
    ]:
        with pytest.raises(kg.MetricError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_one_side_only():
    """`both` of a single side is that side; the other side was not asked, and the error says so."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 0]], n_entities=3, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s + 2 * o, dataset, kg.Protocol(sides="object"), progress=False)
    assert result.sides == ("object",)
    assert result["both.mr"] == result["object.mr"] == result["mr"] == 2.5  # ranks 2 and 3
    assert list(result.summary().index) == [("filtered", "object"), ("raw", "object")]
    for look_up in (result.value, result.chance):
        with pytest.raises(kg.MetricError, match="the subject side was not asked; this result has object"):
            look_up("subject.mr")


def test_labelled_table(small):
    """Labels for ids, and the realistic rank better + 1 + tied / 2."""
    frame = small.labelled()
    assert frame["s"].tolist() == [small.entities.labels[i] for i in small.table["s"]]
    assert frame["p"].tolist() == [small.relations.labels[i] for i in small.table["p"]]
    assert frame["o"].tolist() == [small.entities.labels[i] for i in small.table["o"]]
    for setting in SETTINGS:
        ranks = [float(oracle.ranks(b, t, "realistic")[0][0]) for b, t, _ in triples_of(small.table, setting)]
        assert frame[f"rank_{setting}"].tolist() == ranks
        assert frame[f"rank_{setting}"].mean() == pytest.approx(small[f"{setting}.mr"])


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
    """Weights 2 7 5 9 5. T1 = (0, 0, 2) is seen, T2 = (0, 0, 3) has an unseen object, T3 = (1, 1, 2) relation.

    rank, (0, 0, ?), answer 2 (5): 1 and 3 above, 4 equal; known 1, 3, 4 leave 0 alone. (?, 0, 2), answer 0
    (2): four above, known 1 leaves three. drop: candidates 0, 1, 2 only, T2 and T3 left out. worst: rivals
    as in rank, but 3 and 4 never win or tie; T2 and T3 come last: better = rivals.
    """
    result = unseen_result(unseen)
    for side, wanted in UNSEEN[unseen].items():
        rows = result.table[(result.table["side"] == side).to_numpy()]
        assert [tuple(row) for row in rows[COUNTS].to_numpy()] == wanted, side
    assert result.about["n_unseen"] == 2
    assert result.n_read == 6
    n_dropped = 4 if unseen == "drop" else 0
    assert sum(result.dropped.values()) == n_dropped == 6 - len(result.table)
    assert list(result.dropped) == ["an entity or relation that train lacks (unseen='drop')"] * (unseen == "drop")
    own = [207, 209, 705, 207, 209, 705]
    if unseen == "worst":
        own = [205, math.nan, math.nan] * 2
    if unseen == "worst":
        assert result["mr"] == 20 / 6  # ranks 1 2 5 and 2 5 5
        assert result.tie_rate == 0


@pytest.mark.parametrize(
    ("unseen", "test", "message"),
    [
        (
            "error",
            [(0, 0, 2), (0, 0, 3), (1, 1, 2)],
            "2 triples to rank name an entity or relation that train lacks, first ('0', '0', '3'); "
            "choose unseen='rank', 'drop' or 'worst'",
        ),
        ("drop", [(0, 0, 3)], "all 1 triples to rank name an entity or relation that train lacks; none is left"),
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


def diagonal(change):
    """Rank 100 objects of 100 entities, row i best at i, after `change` of the score matrix."""
    matrix = -((np.arange(100)[None, :] - np.arange(100)[:, None]) % 100).astype(float)
    change(matrix)
    scorer = type("Scorer", (), {"score_objects": staticmethod(lambda s, p: matrix[s])})()
    test = np.column_stack([np.arange(100), np.zeros(100, int), np.arange(100)])
    dataset = kg.Dataset.from_arrays(test=test, n_entities=100, n_relations=1)
    return kg.evaluate(scorer, dataset, kg.Protocol(sides="object"), progress=False)


def tie_first(n):
    """Let the rival after the positive tie with it, in the first n rows."""
    return lambda matrix: matrix.__setitem__((np.arange(n), np.arange(n) + 1), 0.0)


def put(value, n):
    """Give the first n positives a score."""
    return lambda matrix: matrix.__setitem__((np.arange(n), np.arange(n)), value)


DEPEND = "the numbers depend on the tie policy (compare optimistic.mrr, pessimistic.mrr and expected.mrr)"
WORSE = "scores must be higher for better triples: negate distances"


@pytest.mark.parametrize(
    ("change", "notes"),
    [
        (lambda matrix: None, []),
        (tie_first(1), []),  # 1% is not above 1%
        (tie_first(2), [f"2.0% of the positives tie with a rival; {DEPEND}"]),
        (lambda matrix: matrix.fill(3.0), [f"100.0% of the positives tie with a rival; {DEPEND}"]),
        (
            lambda matrix: matrix.__imul__(-1.0),  # every positive is last of 100: AMRI 1 - 2 * 99 / 99
            [f"the ranks are worse than chance (AMRI -1.000); {WORSE}"],
        ),
        (put(np.inf, 3), ["3 positives score infinity; infinities are ranked as numbers and tie"]),
        (put(-np.inf, 1), ["1 positives score infinity; infinities are ranked as numbers and tie"]),
    ],
)
@pytest.mark.filterwarnings("always::kgeval.KgevalWarning")
def test_cautions(recwarn, change, notes):
    """Each reason to distrust a number is a note of the result, in its text, and a warning; else there is none."""
    result = diagonal(change)
    assert list(result.notes) == notes
    assert [str(w.message) for w in recwarn if w.category is kg.KgevalWarning] == notes
    assert [line for line in repr(result).split("\n") if line.startswith("note: ")] == [f"note: {n}" for n in notes]


@pytest.mark.parametrize("evaluate", [kg.evaluate, lambda *args: kg.Evaluator(args[1]).evaluate(args[0])])
@pytest.mark.filterwarnings("always::kgeval.KgevalWarning")
def test_cautions_point_at_the_caller(recwarn, evaluate):
    """The warning names the line that asked for the evaluation, not one inside kgeval."""
    evaluate(lambda s, p, o: s * 0, kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1))
    assert {w.filename for w in recwarn if w.category is kg.KgevalWarning} == {__file__}


@pytest.mark.parametrize("seed", range(15))
def test_constant_scorer_is_at_chance(seed):
    """Expected ties give the chance level of every metric; AMRI is 0, which is not worse than chance."""
    n, m, graph = oracle.random_graph(random.Random(seed))
    dataset = kg.Dataset.from_arrays(**graph, n_entities=n, n_relations=m)
    result = kg.evaluate(lambda s, p, o: np.zeros(len(s)), dataset, progress=False)
    for key in ("mrr", "mr", "hits@1", "hits@3", "raw.subject.mrr", "object.gmr", "raw.gmr"):
        *place, metric = key.split(".")
        assert result[".".join([*place, "expected", metric])] == pytest.approx(result.chance(key).value, rel=1e-12)
    assert not any("worse than chance" in note for note in result.notes)
    assert result["amri"] == 0 or result.value("amri").reason


def test_hits_beyond_the_candidates_is_said():
    """With 5 candidates hits@10 is 1 whatever the scores: the text that shows the 1.0000 says so."""
    result = unseen_result("rank")
    assert result["hits@10"] == 1.0
    assert "hits@10 is 1 by definition for 100.0% of the ranks (10 candidates or fewer)" in repr(result)


def test_undefined_numbers_have_reasons():
    """One entity: the positive is alone, so AMRI is 0 / 0; the median has no expected ties and no chance level."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s * 1.0, dataset, progress=False)
    assert math.isnan(result["amri"])
    assert result.value("amri").reason == "chance already reaches the best value of mr: 0 / 0"
    assert result.value("z(mrr)").reason == "mrr does not vary under random ranks: 0 / 0"
    assert result.value("expected.hmr").reason == "hmr has no exact expectation over random tie breaking"
    assert result.chance("median").reason == "median_rank has no closed form of its chance level"
    assert result.value("mrr") == kg.metrics.MetricValue(1.0)


def test_nothing_may_be_lost(small):
    """Rows read = rows ranked + rows dropped, or the result cannot be made."""
    n = len(small.table)
    assert n + sum(small.dropped.values()) == small.n_read == 2 * (5 + 9)
    for change in ({"n_read": 27}, {"dropped": {**small.dropped, "lost": 1}}, {"table": small.table.iloc[1:]}):
        with pytest.raises(kg.DataError, match=r"\d+ rows were read, but \d+ ranked and \d+ dropped; nothing may be"):
            dataclasses.replace(small, **change)


def test_rank_counts_add_over_blocks():
    """Counts of two blocks of candidates add up to those of all; subtracting one leaves the other."""
    scores, own = np.array([[3, 1, 3, 5, 2], [0, 0, 0, 0, 0]]), np.array([[3], [0]])
    blocks = [
        RankCounts((part > own).sum(1), (part == own).sum(1), np.full(2, part.shape[1]))
        for part in (scores[:, :2], scores[:, 2:])
    ]
    total = blocks[0] + blocks[1]
    assert [total.better.tolist(), total.tied.tolist(), total.rivals.tolist()] == [[1, 0], [2, 5], [5, 5]]
    rest = total - blocks[0]
    assert [rest.better.tolist(), rest.tied.tolist(), rest.rivals.tolist()] == [[1, 0], [1, 3], [3, 3]]
    zeros = RankCounts.zeros(2) + rest
    assert (len(zeros), zeros.tied.tolist(), zeros.tied.dtype) == (2, [1, 3], np.int64)
    with pytest.raises(dataclasses.FrozenInstanceError):
        total.better = None
