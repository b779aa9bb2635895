"""EvaluationResult: keys, tables, breakdowns, cautions, and the file it is saved to."""

import concurrent.futures
import copy
import io
import itertools
import json
import math
import multiprocessing
import pickle
import random

import numpy as np
import oracle
import pandas as pd
import pytest
from classified_cases import classified
from grids import light, thinned
from made_results import noted, replaced, saved_with

import kgeval as kg
from kgeval.data.dataset import Dataset
from kgeval.metrics.base import TIE_POLICIES
from kgeval.metrics.ranks import MRR, Hits
from kgeval.metrics.wrappers import Adjusted
from kgeval.results.evaluation_result import header_lines
from kgeval.results.keys import Key

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SETTINGS, SIDES = ("raw", "filtered"), ("subject", "object")
METRICS = ("mr", "mrr", "hits@1", "hits@3", "gmr", "hmr", "median_rank")
COUNTS = [f"{count}_{setting}" for setting in SETTINGS for count in ("better", "tied", "rivals")]
GRAMMAR = "write [setting.][side.][ties.]metric, for example 'raw.object.optimistic.hits@1'"


def random_case(seed, splits=("test",)):
    """A result on a random graph with tied scores, what was asked, and the oracle's rows of each side."""
    rng = random.Random(seed)
    n, m, graph = oracle.random_graph(rng)
    scores = np.random.default_rng(seed).integers(0, 4, (n, m, n))
    dataset = kg.Dataset.from_arrays(**graph, n_entities=n, n_relations=m)
    result = kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, kg.Protocol(splits=splits), progress=False)
    known, asked = {t for rows in graph.values() for t in rows}, [t for split in splits for t in graph[split]]
    rows = {
        side: oracle.rank_counts(lambda s, p, o: int(scores[s, p, o]), asked, known, range(n), side) for side in SIDES
    }
    return result, asked, [split for split in splits for _ in graph[split]], rows


def triples_of(rows, setting):
    """The (better, tied, rivals) of rows of the oracle or of a frame, for its `metric`."""
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return [tuple(row[f"{count}_{setting}"] for count in ("better", "tied", "rivals")) for row in records]


def number(metric, rows, ties):
    """The oracle's number as a float, NaN where there is none."""
    found = oracle.metric(metric, rows, ties)
    return math.nan if found is None else float(found)


@pytest.fixture(scope="module")
def small():
    """Two relations, two splits to rank, labels that no text format likes; all numbers differ by group."""
    rng = np.random.default_rng(7)
    arrays = {"train": rng.integers(0, [5, 2, 5], (30, 3))}  # so the last entity is unseen
    arrays |= {split: rng.integers(0, [6, 2, 6], (n, 3)) for split, n in (("valid", 5), ("test", 9))}
    labels = ["a\tb", " line\nbreak\n", "\u65e5\u672c", "e\u0301", "", "<script>alert(1)</script>"]
    dataset = kg.Dataset.from_arrays(
        **arrays, entity_labels=labels, relation_labels=["<b>&\r", "\ud800"], name="<script>x</script>"
    )
    table = rng.integers(0, 9, (6, 2, 6)) / 8
    protocol = kg.Protocol(splits=("valid", "test"), filter=("train", "test"), unseen="drop")
    return kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mrr", Key(MRR())),
        ("raw.mrr", Key(MRR(), setting="raw")),
        ("object.mrr", Key(MRR(), side="object")),
        ("tail.mrr", Key(MRR(), side="object")),
        ("raw.head.mrr", Key(MRR(), setting="raw", side="subject")),
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
        (
            "filterd.mrr",
            f"in result key 'filterd.mrr': 'filterd' is not allowed here; did you mean 'filtered'?; {GRAMMAR}",
        ),
        (
            "raw.objct.mrr",
            f"in result key 'raw.objct.mrr': 'objct' is not allowed here; did you mean 'object'?; {GRAMMAR}",
        ),
        ("mrr.raw", f"in result key 'mrr.raw': 'mrr' is not allowed here; {GRAMMAR}"),
        ("raw..mrr", f"in result key 'raw..mrr': '' is not allowed here; {GRAMMAR}"),
        (".mrr", f"in result key '.mrr': '' is not allowed here; {GRAMMAR}"),
        ("raw.hits@0", "k of hits@k must be an integer of at least 1; got 0"),
        ("object.mrr@1", "mrr takes no cut-off; got 'mrr@1'"),
        (7, "a result key is a string such as 'mrr' or 'raw.object.hits@10'; got 7"),
        (
            ("raw", "mrr"),
            "a result key is a string such as 'mrr' or 'raw.object.hits@10'; got ('raw', 'mrr')",
        ),
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
    """A known word at the wrong place is not allowed here; `did you mean 'raw'` of 'raw' helps nobody."""
    word = text.split(".")[1]
    with pytest.raises(kg.MetricError) as caught:
        Key.parse(text)
    assert str(caught.value) == f"in result key {text!r}: {word!r} is not allowed here; {GRAMMAR}"


def test_a_fraction_as_cut_off_is_no_key_part():
    """The dot of hits@1.5 belongs to the cut-off, which must be an integer."""
    with pytest.raises(kg.MetricError, match="hits needs a cut-off, a positive integer"):
        Key.parse("raw.hits@1.5")


@pytest.mark.parametrize("seed", light(range(25), 1))
@pytest.mark.parametrize("splits", [("test",), ("valid", "test")], ids="+".join)
def test_every_number_equals_the_oracle(seed, splits):
    """Table row for row, then metric x setting x side x policy; both = the mean over all rows (micro)."""
    result, asked, asked_splits, rows = random_case(seed, splits)
    table = result.table
    assert list(table.columns) == ["s", "p", "o", "side", "split", "score", *COUNTS, "rank_raw", "rank_filtered"]
    assert [tuple(row) for row in table[["s", "p", "o"]].to_numpy()] == asked * 2
    assert table["side"].tolist() == ["subject"] * len(asked) + ["object"] * len(asked)
    assert table["split"].tolist() == asked_splits * 2
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
    keys = ("mrr", "hits@1", "median_rank", "adjusted(hits@10)")
    assert list(frame.columns) == ["n", *keys, "reason"]
    reasons = {}
    for (setting, side), row in frame.iterrows():
        assert row["n"] == len(small.table) // (1 if side == "both" else 2)
        said = {}
        for key in keys:
            found = small.value(f"{setting}.{side}.{ties}.{key}")
            assert row[key] == pytest.approx(found.value, nan_ok=True)
            said |= {key: found.reason} if found.reason else {}
        assert row["reason"] == "; ".join(f"{key}: {reason}" for key, reason in said.items())
        reasons |= {(setting, side, key): reason for key, reason in said.items()}
    assert len(reasons) == (12 if ties == "expected" else 6)
    assert set(reasons.values()) >= {"random ranking already gives the best value of hits@10: 0 / 0"}


@pytest.mark.light(5)
@pytest.mark.parametrize(
    "columns",
    [("relation",), ("side",), ("split",), ("relation", "side"), ("split", "relation", "side")],
    ids="+".join,
)
@pytest.mark.parametrize(("setting", "ties"), [("filtered", "realistic"), ("raw", "expected")])
def test_breakdown_is_the_table_filtered_by_hand(small, columns, setting, ties):
    """Each group is the rows a person would pick; all groups, most rows first, then in id order, by label."""
    labels = pd.Series([small.relations.labels[p] for p in small.table["p"]], index=small.table.index, dtype=object)
    table = small.table.assign(relation=labels)
    keys = list(zip(*(table[column].tolist() for column in columns), strict=True))
    frame = small.by(*columns, metrics=METRICS, setting=setting, ties=ties, confidence=None)
    index = [key if isinstance(key, tuple) else (key,) for key in frame.index]
    assert frame.index.names == list(columns)
    assert list(frame.columns) == ["n", "share", *METRICS, "reason"]
    places = {"relation": small.relations.labels, "side": SIDES, "split": ("valid", "test")}
    order = {key: [places[c].index(part) for c, part in zip(columns, key, strict=True)] for key in set(keys)}
    assert index == sorted(order, key=lambda key: (-keys.count(key), order[key]))
    for key, (_, row) in zip(index, frame.iterrows(), strict=True):
        part = triples_of(table[[other == key for other in keys]], setting)
        assert row["n"] == len(part)
        assert row["share"] == len(part) / len(table)
        wanted = [number(metric, part, ties) for metric in METRICS]
        assert row.tolist()[2:-1] == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    assert [bool(reason) for reason in frame["reason"]] == [ties == "expected"] * len(frame)


def test_breakdown_errors(small):
    """What may be said where; the nearest is suggested."""
    for call, message in [
        (lambda: small.by(), "name at least one column to group by, such as 'relation'"),
        (
            lambda: small.by("relations"),
            "by must be one of 'relation', 'side', 'split', 'cardinality', 'pattern', 'degree_given', ",
        ),
        (lambda: small.by("side", setting="both"), "setting must be one of 'raw', 'filtered'; got 'both'"),
        (
            lambda: small.by("side", ties="mean"),
            "ties must be one of 'optimistic', 'pessimistic', 'realistic'",
        ),
        (lambda: small.by("side", metrics=["hit@1"]), "unknown metric 'hit@1'; did you mean 'hits@10'?"),
        (lambda: small.summary(ties="mean"), "ties must be one of 'optimistic', 'pessimistic', 'realistic'"),
    ]:
        with pytest.raises(kg.MetricError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_one_side_only():
    """`both` of a single side is that side; the other side was not ranked, and the error says so."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 0]], n_entities=3, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s + 2 * o, dataset, kg.Protocol(sides="object"), progress=False)
    assert result.rank_table.sides == ("object",)
    assert result["both.mr"] == result["object.mr"] == result["mr"] == 2.5  # ranks 2 and 3
    assert list(result.summary().index) == [("filtered", "object"), ("raw", "object")]
    for look_up in (result.value, result.chance):
        with pytest.raises(kg.MetricError, match="the subject side was not ranked; this result has object"):
            look_up("subject.mr")


def test_the_table_of_ranks(small):
    """Labels for ids, and the realistic rank better + 1 + tied / 2."""
    frame = small.ranks(labels=True)
    assert frame["s"].tolist() == [small.entities.labels[i] for i in small.table["s"]]
    assert frame["p"].tolist() == [small.relations.labels[i] for i in small.table["p"]]
    assert frame["o"].tolist() == [small.entities.labels[i] for i in small.table["o"]]
    for setting in SETTINGS:
        ranks = [float(oracle.ranks(b, t, "realistic")[0][0]) for b, t, _ in triples_of(small.table, setting)]
        assert frame[f"rank_{setting}"].tolist() == ranks
        assert frame[f"rank_{setting}"].mean() == pytest.approx(small[f"{setting}.mr"])


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


DEPEND = (
    'the numbers depend on the tie policy: compare result["optimistic.mrr"] and result["pessimistic.mrr"] '
    "(--ties optimistic, --ties pessimistic)"
)
WORSE = "are distances given as scores? Higher must be better: negate them"
ORDER = "are the rows of the model in the order of dataset.entities.labels and dataset.relations.labels?"
INFINITE = "some scores are +infinity; infinities are ranked as numbers, and tie with each other"


@pytest.mark.parametrize(
    ("change", "notes"),
    [
        (lambda matrix: None, []),
        (tie_first(1), []),  # 1% is not above 1%
        (tie_first(2), [f"2.0% of the positives tie with a rival; {DEPEND}"]),
        (
            lambda matrix: matrix.fill(3.0),
            [
                f"100.0% of the positives tie with a rival; {DEPEND}",
                f"the object side ranks no better than chance (AMRI 0.000); {ORDER}",
            ],
        ),
        (
            lambda matrix: matrix.__imul__(-1.0),  # every positive is last of 100: AMRI 1 - 2 * 99 / 99
            [f"the object side ranks far worse than chance (AMRI -1.000); {WORSE}"],
        ),
        (put(np.inf, 3), [INFINITE, "3 positives have an infinite score; infinities are ranked as numbers and tie"]),
        (put(-np.inf, 1), ["1 positive has an infinite score; infinities are ranked as numbers and tie"]),
    ],
)
@pytest.mark.filterwarnings("always::kgeval.KgevalWarning")
def test_cautions(recwarn, change, notes):
    """Each reason to distrust a number is a note of the result, in its text, and a warning; else none is."""
    result = diagonal(change)
    assert list(result.notes) == notes
    assert [str(w.message) for w in recwarn if w.category is kg.KgevalWarning] == [n for n in notes if n != INFINITE]
    assert [line for line in repr(result).split("\n") if line.startswith("note: ")] == [f"note: {n}" for n in notes]


@pytest.mark.parametrize("evaluate", [kg.evaluate, lambda *args: kg.Evaluator(args[1]).evaluate(args[0])])
@pytest.mark.filterwarnings("always::kgeval.KgevalWarning")
def test_cautions_point_at_the_caller(recwarn, evaluate):
    """The warning names the line that asked for the evaluation, not one inside kgeval."""
    evaluate(lambda s, p, o: s * 0, kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1))
    assert {w.filename for w in recwarn if w.category is kg.KgevalWarning} == {__file__}


@pytest.mark.parametrize("seed", light(range(15), 3))
def test_constant_scorer_is_at_chance(seed):
    """Expected ties give the chance level of every metric; AMRI is 0, which is not worse than chance."""
    n, m, graph = oracle.random_graph(random.Random(seed))
    dataset = kg.Dataset.from_arrays(**graph, n_entities=n, n_relations=m)
    result = kg.evaluate(lambda s, p, o: np.zeros(len(s)), dataset, progress=False)
    for key in ("mrr", "mr", "hits@1", "hits@3", "raw.subject.mrr", "object.gmr", "raw.gmr"):
        *place, metric = key.split(".")
        assert result[".".join([*place, "expected", metric])] == pytest.approx(result.chance(key).value, rel=1e-12)
    assert not any("chance" in note for note in result.notes)  # too few ranks to say so
    assert result["amri"] == 0 or result.value("amri").reason


def test_hits_beyond_the_candidates_is_said():
    """With 5 candidates hits@10 is 1 whatever the scores: the text that shows the 1.0000 says so."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=5, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s + 2 * o, dataset, progress=False)
    assert result["hits@10"] == 1.0
    assert "hits@10 is 1 by definition for 100.0% of the ranks (10 candidates or fewer)" in repr(result)


def test_undefined_numbers_have_reasons():
    """One entity: the positive is alone, so AMRI is 0 / 0; medians have no expected ties, no chance level."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s * 1.0, dataset, progress=False)
    assert math.isnan(result["amri"])
    assert result.value("amri").reason == "random ranking already gives the best value of mr: 0 / 0"
    assert result.value("z(mrr)").reason == "mrr has the same value for all random rankings: 0 / 0"
    assert result.value("expected.hmr").reason == "hmr has no exact expectation over random tie breaking"
    assert result.chance("median").reason == "median_rank has no closed form of its chance level"
    assert result.value("mrr") == kg.metrics.MetricValue(1.0)


def test_nothing_may_be_lost(small):
    """Rows read = rows ranked + rows dropped, or the result cannot be made."""
    n = len(small.table)
    assert n + sum(small.dropped.values()) == small.facts["n_read"] == 2 * (5 + 9)
    for change in (
        {"n_read": 27},
        {"dropped": {**small.dropped, "lost": 1}},
        {"table": small.table.iloc[1:]},
    ):
        with pytest.raises(
            kg.DataError, match=r"\d+ rows were read, but \d+ were ranked and \d+ dropped; ranked and dropped"
        ):
            replaced(small, **change)


@pytest.mark.light(1)
@pytest.mark.parametrize("overwrite", [False, True])
def test_save_and_load(tmp_path, small, overwrite):
    """Table, labels with tab, newline, accents, lone surrogate, protocol, about, notes: all as they were."""
    saved = noted(small, "first <b>", "second\n\u65e5")
    path = tmp_path / "run.kgeval"
    saved.save(path, overwrite=overwrite)
    again = kg.load_result(str(path))
    pd.testing.assert_frame_equal(again.table, saved.table.reset_index(drop=True), check_exact=True)
    for name in ("entities", "relations", "protocol", "facts", "dropped", "notes", "tie_rate"):
        assert getattr(again, name) == getattr(saved, name), name
    assert again.entities.labels[:3] == ("a\tb", " line\nbreak\n", "\u65e5\u672c")
    assert again.facts["n_read"] == saved.facts["n_read"] == 28
    assert again.dropped == {"an entity or relation that train lacks (unseen='drop')": 28 - len(small.table)}
    pd.testing.assert_frame_equal(again.summary(), saved.summary(), check_exact=True)
    pd.testing.assert_frame_equal(again.by("relation", "split"), saved.by("relation", "split"), check_exact=True)
    assert repr(again) == repr(saved)
    assert [file.name for file in tmp_path.iterdir()] == ["run.kgeval"]


def test_save_does_not_overwrite(tmp_path, small):
    """An existing file stays as it is unless told otherwise; a missing folder is named."""
    path = tmp_path / "run.kgeval"
    path.write_bytes(b"mine")
    with pytest.raises(kg.DataError) as caught:
        small.save(path)
    assert str(caught.value) == f"{path} exists; choose another name, or use overwrite=True (--overwrite)"
    assert path.read_bytes() == b"mine"
    small.save(path, overwrite=True)
    assert kg.load_result(path)["mrr"] == small["mrr"]
    with pytest.raises(kg.DataError, match=r"the folder .*nowhere does not exist; create it first"):
        small.save(tmp_path / "nowhere" / "run.kgeval")
    with pytest.raises(kg.DataError, match="folder|directory"):
        small.save(tmp_path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["run.kgeval"]


def test_failed_save_leaves_the_old_file(tmp_path, small, monkeypatch):
    """A full disk half way: the old file is intact and no temporary one stays behind."""
    path = tmp_path / "run.kgeval"
    small.save(path)
    before = path.read_bytes()

    def fail(stream, array, **options):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(kg.DataError, match=r"run\.kgeval: cannot be written: No space left on device"):
        small.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.kgeval"]


def test_saving_computes_no_second_fingerprint(tmp_path, monkeypatch):
    """Labels are sorted and hashed once, by the evaluation; a loaded result still knows another dataset."""
    asked = []
    original = Dataset._fingerprint
    monkeypatch.setattr(Dataset, "_fingerprint", lambda self, more: asked.append(self) or original(self, more))
    dataset = Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=["a", "b"], relation_labels=["r"])
    result = kg.evaluate(lambda s, p, o: s + o, dataset, progress=False)
    result.save(tmp_path / "run.kgeval")
    assert asked == [dataset]
    other = Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=["a", "c"], relation_labels=["r"])
    with pytest.raises(kg.DataError, match="the result was made from dataset"):
        kg.load_result(tmp_path / "run.kgeval").with_features(other)


def test_truncated_file_is_an_error(tmp_path, small):
    """Cut anywhere, the file is refused with its path; no part of it is used."""
    path = tmp_path / "run.kgeval"
    small.save(path)
    whole = path.read_bytes()
    for length in [0, 1, 3, 4, 30, *range(100, len(whole), len(whole) // 40), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(kg.DataError) as caught:
            kg.load_result(path)
        assert str(path) in str(caught.value)


@pytest.mark.thorough
def test_flipped_bytes_are_an_error_or_harmless(tmp_path, small):
    """A damaged byte gives a DataError, or (in dates and the like) the same result; never another number."""
    path = tmp_path / "run.kgeval"
    small.save(path)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            again = kg.load_result(path)
        except kg.DataError:
            refused += 1
        else:
            assert again.table.equals(small.table.reset_index(drop=True)), place
            assert again.facts == small.facts
    assert refused > len(whole) / 5 * 0.6


def test_files_of_version_0_1_0_load(tmp_path, small):
    """They say "kgeval result 1", and how many rows were read beside the facts about the run."""
    small.save(tmp_path / "new.kgeval")
    with np.load(tmp_path / "new.kgeval") as loaded:
        arrays = dict(loaded)
    header = json.loads(str(arrays.pop("header")))
    assert (header["format"], header["protocol"]["candidates"]) == ("kgeval result 5", "all")
    header |= {"format": "kgeval result 1", "n_read": header["facts"].pop("n_read")}
    with (tmp_path / "old.kgeval").open("wb") as stream:
        np.savez(stream, header=np.array(json.dumps(header)), **arrays)
    again = kg.load_result(tmp_path / "old.kgeval")
    assert again == kg.load_result(tmp_path / "new.kgeval")
    assert again.facts == small.facts
    assert again["mrr"] == small["mrr"]


LACKING = ("protocol", "facts", "dropped", "notes", "categories_side")


@pytest.mark.parametrize(
    ("changes", "message"),
    thinned(
        [
            (
                {"format": lambda _: "kgeval result 6"},
                "the file has version 6 of the format, but this kgeval reads versions up to 5; upgrade kgeval",
            ),
            (
                {"format": lambda _: "kgeval result 0"},
                "the file has version 0 of the format, but this kgeval reads versions up to 5, from 1 on",
            ),
            *(
                (
                    {"entity_labels": lambda _, n=n: np.array(n)},
                    "is damaged: the number of ids must be an integer from 0 to",
                )
                for n in (np.uint64(2**64 - 1), -1, 2.0, True)
            ),
            (
                {"format": lambda _: "kgeval ranks 2"},
                "expected a result of kgeval (classification, result); found 'kgeval ranks 2'",
            ),
            ({"format": None}, "expected a result of kgeval (classification, result); found None"),
            ({"tied_raw": None}, "is damaged: lacks the keys tied_raw"),
            ({"s": None, "relation_labels": None}, "is damaged: lacks the keys s, relation_labels"),
            (
                {"s": lambda ids: ids.astype(object)},
                "contains pickled objects, which kgeval never reads",
            ),
            ({"facts": lambda about: {**about, "n_read": about["n_read"] + 1}}, "ranked and dropped rows must add up"),
            ({"facts": lambda about: {k: v for k, v in about.items() if k != "n_read"}}, "n_read"),
            (
                {"facts": lambda about: {k: v for k, v in about.items() if k != "version"}},
                "is damaged: 'facts' lacks the keys version",
            ),
            ({"protocol": lambda fields: {**fields, "seed": 1}}, "unknown protocol field 'seed'"),
            *(({name: None}, f"is damaged: lacks the keys {name}") for name in LACKING),
            ({"side": lambda codes: codes + 5}, "is damaged: side, row 0: id 5 is not in 0..1"),
            ({"s": lambda ids: ids[1:]}, "is damaged: columns differ in length"),
            ({"o": lambda ids: ids + 6}, "subjects and objects, row 0: id"),
            ({"p": lambda ids: ids - 2}, "relations, row 0: id"),
            ({"side": lambda codes: codes - 1}, "is damaged"),  # -1 is pandas' code of a missing side
            (
                {"better_raw": lambda counts: counts * 0 + 5},
                "better_raw + tied_raw exceeds rivals_raw",
            ),  # 4 rivals
            (
                {"rivals_raw": lambda counts: counts * 0 + 4, "better_raw": lambda counts: counts * 0},
                "exceed raw counts",
            ),
            ({"tied_filtered": lambda counts: counts - 9}, "is damaged"),  # negative
            ({"rivals_raw": lambda counts: counts + 0.5}, "is damaged"),
            ({"entity_labels": lambda packed: packed[:-1]}, "is damaged"),
        ],
        5,
        unpack=True,
    ),
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_damaged_parts_are_refused(tmp_path, small, changes, message):
    """ModelFile that do not fit give a kgeval error with the path, never a bare KeyError or a wrong table."""
    path = saved_with(small, tmp_path / "run.kgeval", **changes)
    with pytest.raises(kg.KgevalError) as caught:
        kg.load_result(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: path.write_text("s\tp\to\n"), "is damaged, cut off, or not an .npz archive"),
        (
            lambda path: np.savez(path.open("wb"), x=np.zeros(2)),
            "not one that kgeval wrote (it has no header)",
        ),
        (lambda path: np.savez(path.open("wb"), header=np.array("{")), "its header is not JSON"),
        (lambda path: np.savez(path.open("wb"), header=np.array("[1]")), "its header is not a JSON object"),
        (lambda path: np.save(path.open("wb"), np.zeros(2)), "expected an .npz archive of named arrays"),
    ],
    ids=["missing", "folder", "text", "other npz", "no JSON", "JSON list", "npy"],
)
def test_not_a_result_file(tmp_path, write, message):
    """Each kind of wrong file is told apart, with its path in front."""
    path = tmp_path / "wrong.kgeval"
    write(path)
    with pytest.raises(kg.DataError) as caught:
        kg.load_result(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_summaries_are_written_in_three_formats(small):
    """CSV has the numbers of the summary; Markdown and LaTeX its rows; LaTeX says how they were made, in comments."""
    for result in (small, classified([True, True, False], [0.5, -1.0, 0.5])):
        summary = result.summary()
        read = pd.read_csv(io.StringIO(result.to_csv())).set_index(summary.index.names)
        # pandas may read the last digit wrongly
        np.testing.assert_allclose(read.drop(columns="reason"), summary.drop(columns="reason"), rtol=1e-15)
        rows = [line for line in result.to_markdown().splitlines() if line.startswith("| ")]
        assert len(rows) == len(summary) + 2
        comment, tabular, numbers = result.to_latex().partition(r"\begin{tabular}")
        assert (tabular, numbers.count(r" \\")) == (r"\begin{tabular}", len(summary) + 1)
        assert all(line.startswith(("% ", r"\begingroup")) for line in comment.splitlines())
        assert result.facts["dataset_fingerprint"][:8] in comment
        assert ("95% intervals" in result.to_markdown(), r"95\% intervals" in numbers) == (True, True)
    about = "ids on small: 6 ranks of test; filtered by test, all entities, both sides; ties: mean rank (realistic)"
    made = kg.evaluate(
        lambda s, p, o: 1.0 * o,
        kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2], [2, 0, 3]], n_entities=6, n_relations=1, name="small"),
    )
    made = kg.benchmarks.named(made, "ids")
    assert about in made.to_latex().replace(r"\_", "_")
    assert about in made.to_markdown().split("\n\n")
    summary = made.summary(confidence=0.95)
    first = summary.iloc[0]
    widest = max(abs(first[f"mrr {end}"] - first["mrr"]) for end in ("low", "high"))
    assert f"95% intervals: in the first row ±{widest:.4f} (MRR)" in made.to_markdown()
    rows = [line.split(" | ")[:2] for line in made.to_markdown().splitlines()[2:8]]
    assert rows == [
        ["| filtered", "both"],
        ["| ", "subject"],
        ["| ", "object"],
        ["| raw", "both"],
        ["| ", "subject"],
        ["| ", "object"],
    ]


def test_a_panel_shows_both_sides():
    """The first table has the values of each entity side beside those of both; of one side, there is nothing beside."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 9] for i in range(9)], n_entities=9, n_relations=1)
    both = kg.evaluate(lambda s, p, o: -((o - s - 2) % 9), dataset)
    first = both._repr_html_().partition("<details")[0]
    for side in ("subject", "object"):
        assert f"{side} side" in first
        assert all(f"{both[f'{side}.{metric}']:.4f}" in first for metric in ("mrr", "hits@1", "hits@10"))
    alone = kg.evaluate(lambda s, p, o: 1.0 * o, dataset, protocol=kg.Protocol(sides=("object",)))
    assert " side</th>" not in alone._repr_html_().partition("<details")[0]


def test_html_is_escaped(small):
    """Names, notes and labels reach a notebook as text: no tag of theirs is in the page."""
    page = noted(small, "<img src=x onerror=alert(1)>")._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;x&lt;/script&gt;: 6 entities" in page
    assert "note: &lt;img src=x onerror=alert(1)&gt;" in page
    assert f"{small['mrr']:.4f}" in page
    assert "<b>" not in small.by("relation")._repr_html_()


def test_text_says_what_the_numbers_are_of(small):
    """Dropped rows in one line, the table; dataset, sizes, protocol, tie rate, fingerprints, notes."""
    first, *shown, said = repr(small).split("\n\n")
    lines, about, table = said.split("\n"), small.facts, small.table
    n_dropped = 28 - len(table)
    queries = {(r.side, r.p, r.o if r.side == "subject" else r.s) for r in table.itertuples()}
    wanted = [
        "<script>x</script>: 6 entities, 2 relations; valid+test 14 triples, "
        f"{len(queries)} queries; {n_dropped // 2} triples with unseen entities or relations, {n_dropped} dropped",
        "filtered by train+test, entities of train, both sides, realistic ties, the "
        f"mean rank (tie rate {small.tie_rate:.1%}); protocol {small.protocol.fingerprint}, "
        f"dataset {about['dataset_fingerprint'][:8]}, kgeval {kg.__version__}",
        *(f"dataset: {observation}" for observation in about["observations"]),
        *(f"note: {note}" for note in small.notes),
    ]
    assert lines[: len(wanted)] == wanted
    assert all(line.startswith("note: ") for line in lines[len(wanted) :])
    assert first == f"dropped: {n_dropped} ranks, an entity or relation that train lacks (unseen='drop')"
    assert 0 < n_dropped < 28
    assert f"{small['raw.object.mrr']:.4f}" in shown[-1].split("\n")[-1]


def test_what_is_asked_for_in_vain(small):
    """No metric, a key in place of a metric, an unknown tie policy, a triple that was not ranked: each says so."""
    with pytest.raises(kg.MetricError, match="metrics is empty"):
        small.summary([])
    with pytest.raises(kg.MetricError, match=r"'raw.mrr' is the key of a single value; to read it, use result"):
        small.by("relation", metrics="raw.mrr")
    with pytest.raises(kg.MetricError, match="ties must be one of"):
        header_lines(small, ties="best")


def test_averages_under_other_ties(small):
    """The micro average is the number of all ranks; intervals can be left out."""
    frame = small.averages("relation", metrics="mrr,hits@1", ties="optimistic", confidence=None)
    assert list(frame.columns) == ["n", "mrr", "hits@1", "reason"]
    for key in ("mrr", "hits@1"):
        assert frame.loc["micro", key] == small[f"optimistic.{key}"]
        by_hand = small.by("relation", metrics=key, ties="optimistic", confidence=None)[key]
        assert frame.loc["macro", key] == pytest.approx(by_hand.mean(), rel=1e-14)


def test_no_chance_level_where_unseen_triples_are_forced_last():
    """G1: a constant scorer had expected MRR .0542 against a "chance" of .0793; AMRI and chance are undefined."""
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 1], [2, 0, 1]], n_entities=4, n_relations=1)
    result = kg.evaluate(lambda s, p, o: 0 * s, dataset, kg.Protocol(unseen="worst"), progress=False)
    reason = (
        "with unseen='worst' the ranks of unseen triples are not random, and unseen entities never win, so no chance "
        "level is defined; use unseen='drop' or 'rank'"
    )
    for key in ("amri", "adjusted(hits@1)", "z(mr)"):
        assert result.value(key).reason == reason
        assert result.interval(key).reason == reason
    assert result.chance("mrr").reason == result.chance("query.map").reason == reason
    assert result["expected.mr"] == (1.5 + 1.5 + 4 + 3) / 4


def test_results_and_comparisons_can_be_pickled_and_copied():
    """H39: everything but the scorer, which explain says."""
    fresh = kg.evaluate(lambda s, p, o: s - o, small_dataset(), progress=False)
    comparison = kg.compare(
        [fresh, kg.evaluate(lambda s, p, o: o - s, small_dataset(), progress=False)], names=["A", "B"]
    )
    s, p, o = fresh.table.loc[0, ["s", "p", "o"]]
    for copied in (pickle.loads(pickle.dumps(fresh)), copy.deepcopy(fresh)):
        assert copied == fresh
        assert copied["mrr"] == fresh["mrr"]
        with pytest.raises(kg.DataError, match="this result has no scorer: .* pickled or copied"):
            copied.explain(s, p, o, fresh.table["side"][0])
    assert len(copy.copy(fresh).explain(s, p, o, fresh.table["side"][0])) >= 1
    for copied in (pickle.loads(pickle.dumps(comparison)), copy.deepcopy(comparison)):
        pd.testing.assert_frame_equal(copied.differences, comparison.differences)
        assert copied.verdict == comparison.verdict


@pytest.mark.thorough
def test_a_result_comes_back_from_another_process():
    """H39: as an argument and as the value of a function."""
    fresh = kg.evaluate(lambda s, p, o: s - o, small_dataset(), progress=False)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(copy.deepcopy, fresh).result() == fresh


def small_dataset():
    """A few triples of five entities."""
    return kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2], [3, 0, 4]], n_entities=5, n_relations=1)
