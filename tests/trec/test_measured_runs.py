"""`kgeval trec`: equal to trec_eval's own expected outputs, to an oracle, and to numbers derived by hand."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grids import light

from kgeval.cli import main
from kgeval.errors import DataError, MetricError
from kgeval.trec.measured_runs import TrecOptions, format_trec, trec_lists, trec_table
from kgeval.trec.measures import parse_measures

PARAMETERS = (
    "-miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23 -msuccess.2,5,20"
)
LACKED = {"bpref", "gm_bpref", "infAP", "utility", "binG", "G", "ndcg_rel", "Rndcg", "num_nonrel_judged_ret"}
LACKED |= {"rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"}
CHECKED = "num_q,num_ret,num_rel,num_rel_ret,map,gm_map,Rprec,recip_rank,P.1,3,8,recall.2,5,ndcg,ndcg_cut.1,4,map_cut.2"
CHECKED += ",relative_P.2,6,success.1,3,set_P,set_relative_P,set_recall,set_map,set_F.0.5,Rprec_mult.0.5,1.25"
PEER = ["map", "Rprec", "recip_rank", "P.1,3,8", "recall.2,5", "ndcg", "ndcg_cut.1,4", "map_cut.2", "success.1,3"]
PEER += ["set_P", "set_recall", "set_F", "num_ret", "num_rel", "num_rel_ret", "set_map", "relative_P.2,6"]
NO_EXPECTATION = "iprec_at_recall.0,.1,.5,11pt_avg"


def frames(qrels, run):
    """Judgements and run as frames, from mappings by query."""
    rows = [(q, d, g) for q, items in qrels.items() for d, g in items.items()]
    listed = [(q, d, s) for q, items in run.items() for d, s in items.items()]
    return pd.DataFrame(rows, columns=["query", "item", "grade"]), pd.DataFrame(
        listed, columns=["query", "item", "score"]
    )


def tabulated(qrels, run, measures, ties="trec", **options):
    """The whole table, and the notes of its lists."""
    lists = trec_lists(*frames(qrels, run), TrecOptions(ties, **options))
    return trec_table(lists, parse_measures([measures]), ties).frame, lists.notes


def measured(*arguments, **options):
    """The numbers alone, of which none over all queries is undefined, and the notes of the lists."""
    frame, notes = tabulated(*arguments, **options)
    assert frame.columns[-1] == "reason"
    assert frame.pop("reason").iloc[-1] == ""
    return frame, notes


def printed(capsys, *arguments):
    """What the command prints, and the notes on standard error."""
    assert main(["trec", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert all(line.startswith("kgeval: ") for line in err.splitlines())
    return out, [line.removeprefix("kgeval: ") for line in err.splitlines()]


@pytest.mark.parametrize(
    ("output", "options", "qrels", "run", "lacked"),
    [
        ("out.test", "", "qrels.test", "results.test", {"bpref"}),
        ("out.test.a", "-m all_trec", "qrels.test", "results.test", LACKED),
        ("out.test.aq", "-m all_trec -q", "qrels.test", "results.test", LACKED | {"relstring"}),
        ("out.test.aqc", "-m all_trec -q -c", "qrels.test", "results.trunc", LACKED | {"relstring"}),
        ("out.test.aqcM", "-m all_trec -q -c -M100", "qrels.test", "results.trunc", LACKED | {"relstring"}),
        ("out.test.aql", "-m all_trec -q -l2", "qrels.rel_level", "results.test", LACKED | {"relstring_20"}),
        ("out.test.meas_params", f"-q {PARAMETERS}", "qrels.test", "results.test", {"utility_2,-1,0,0"}),
    ],
)
def test_expected_outputs_of_trec_eval(shared, capsys, output, options, qrels, run, lacked):
    """Line by line the same, values, order and format, but for the measures that kgeval lacks.

    The options are those of the target quicktest in trec_eval's Makefile, less the measures that are lacking;
    its ndcg_cut.23.4, which it cuts to 23, is written 23. Except for num_q, gm_map and runid, which stand in the
    row "all" alone, each line exists per query.
    """
    folder = shared / "data" / "trec_eval"
    out, _ = printed(capsys, *options.split(), folder / qrels, folder / run)
    expected = (folder / output).read_text().splitlines()
    names = {line.split()[0] for line in out.splitlines()}
    assert {line.split()[0] for line in expected} - names == lacked
    assert out.splitlines() == [line for line in expected if line.split()[0] in names]
    n_queries = 1 + 3 * ("-q" in options)
    assert len(out.splitlines()) == len(names) * n_queries - (3 * 3 if "all_trec -q" in options else 0)


def oracle(judged, returned, *, relevance_level=1, depth=None, judged_only=False):
    """The measures of one query, from its documents in order, in fractions where they are rational."""
    order = sorted(returned, key=lambda d: (np.float32(returned[d]), d), reverse=True)[:depth]
    order = [d for d in order if not judged_only or judged.get(d, -1) >= 0]
    grades = [max(judged.get(d, 0), 0) for d in order]
    rel, n = [g >= relevance_level for g in grades], len(order)
    R = sum(g >= relevance_level for g in judged.values())
    ideal = sorted((max(g, 0) for g in judged.values()), reverse=True)

    def by(a, b):
        return Fraction(a) / b if b else Fraction(0)

    def hits(k=n):
        return sum(rel[:k])

    def dcg(worth):
        return math.fsum(g / math.log2(i + 2) for i, g in enumerate(worth))

    def ap(k=n):
        return by(sum(Fraction(hits(i), i) for i in range(1, min(k, n) + 1) if rel[i - 1]), R)

    def interpolated(c):
        needed = math.floor(Fraction(c) * R + Fraction(1, 2))
        return max([Fraction(hits(i), i) for i in range(1, n + 1) if hits(i) >= needed], default=0)

    value = {"num_q": 1, "num_ret": n, "num_rel": R, "num_rel_ret": hits(), "map": ap(), "gm_map": ap()}
    value |= {"Rprec": by(hits(R), R), "recip_rank": by(1, rel.index(True) + 1 if any(rel) else 0), "map_cut_2": ap(2)}
    value |= {f"P_{k}": Fraction(hits(k), k) for k in (1, 3, 8)} | {f"recall_{k}": by(hits(k), R) for k in (2, 5)}
    value |= {
        f"ndcg{s}": dcg(grades[:k]) / (dcg(ideal[:k]) or 1) for s, k in (("", None), ("_cut_1", 1), ("_cut_4", 4))
    }
    value |= {f"relative_P_{k}": by(hits(k), min(k, R)) for k in (2, 6)}
    value |= {f"success_{k}": int(hits(k) > 0) for k in (1, 3)}
    P, recall = by(hits(), n), by(hits(), R)
    value |= {"set_P": P, "set_recall": recall, "set_map": P * recall, "set_relative_P": by(hits(), min(n, R))}
    value["set_F_0.5"] = by(Fraction(3, 2) * P * recall, recall + P / 2)
    for c, name in ((Fraction(1, 2), "0.50"), (Fraction(5, 4), "1.25")):
        cut = math.floor(c * R + Fraction(9, 10))
        value[f"Rprec_mult_{name}"] = by(hits(cut), cut)
    value |= {f"iprec_at_recall_{float(c):.2f}": interpolated(c) for c in ("0", "0.1", "0.5")}
    value["11pt_avg"] = sum(interpolated(Fraction(i, 10)) for i in range(11)) / 11
    return value


def drawn(rng, n_documents=9, scores=(1, 1.00000001, 2, 2.5, 3)):
    """Judgements and a run of a few queries, with ties, scores that differ by less than float32 tells, and gaps."""
    documents = [f"d{i}" for i in range(n_documents)]  # with ten or more, "d10" would stand before "d9"
    qrels, run = {}, {}
    for query in rng.sample(["q1", "q2", "q3", "q10", "NA"], rng.randrange(1, 6)):
        where = rng.choice(["qrels", "run", "both", "both", "both"]) if query != "q1" else "both"
        if where != "run":
            qrels[query] = {d: rng.choice([-1, 0, 0, 1, 2, 3]) for d in rng.sample(documents, rng.randrange(1, 6))}
        if where != "qrels":
            run[query] = {d: rng.choice(scores) for d in rng.sample(documents, rng.randrange(1, n_documents + 1))}
    return qrels, run


@pytest.mark.parametrize("seed", light(range(40), 2))
def test_random_runs_agree_with_the_oracle(seed):
    """Every measure and option, per query and over all; -c adds queries of value 0, gm_map takes 0 as 0.00001."""
    rng = random.Random(seed)
    for _ in range(5):
        qrels, run = drawn(rng)
        if not set(qrels) & set(run):
            continue
        options = {"relevance_level": rng.choice([1, 1, 2, 3]), "depth": rng.choice([None, 1, 3, 6])}
        options |= {"judged_only": rng.random() < 0.4}
        complete = rng.random() < 0.5
        frame, _ = measured(qrels, run, f"{CHECKED},{NO_EXPECTATION}", complete=complete, **options)
        queries = sorted(set(qrels) if complete else set(qrels) & set(run))
        found = {q: oracle(qrels[q], run.get(q, {}), **options) for q in queries}
        assert list(frame.index) == [*queries, "all"]
        for query in queries:
            assert frame.loc[query].to_dict() == pytest.approx(
                {k: float(v) for k, v in found[query].items()}, rel=1e-12
            )
        total = {name: sum(value[name] for value in found.values()) for name in frame}
        mean = {name: float(v) / (1 if name.startswith("num_") else len(queries)) for name, v in total.items()}
        logs = [math.log(max(value["map"], 1e-5)) for value in found.values()]
        mean["gm_map"] = math.exp(math.fsum(logs) / len(queries))
        assert frame.loc["all"].to_dict() == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("seed", light(range(30), 1))
def test_expected_ties_are_the_mean_over_all_names(seed):
    """Under --ties trec a document's name decides; the mean over all ways to name them is --ties expected.

    The best and the worst naming are --ties optimistic and pessimistic.
    """
    rng = random.Random(seed)
    grades = [rng.choice([0, 0, 1, 2]) for _ in range(5)]
    scores = [rng.choice([1, 2, 3][: rng.randrange(1, 4)]) for _ in range(5)]
    lacked = {f"z{i}": 1 for i in range(rng.randrange(2))}
    found = [
        oracle(dict(zip(names, grades)) | lacked, dict(zip(names, scores))) for names in itertools.permutations("abcde")
    ]
    qrels, run = {"q": dict(zip("abcde", grades)) | lacked}, {"q": dict(zip("abcde", scores))}
    checked = CHECKED.replace("gm_map,", "")
    for ties, choose in (
        ("expected", lambda values: sum(values) / len(values)),
        ("optimistic", max),
        ("pessimistic", min),
    ):
        frame, notes = measured(qrels, run, checked, ties)
        values = {name: float(choose([value[name] for value in found])) for name in frame}
        assert frame.loc["q"].to_dict() == frame.loc["all"].to_dict() == pytest.approx(values, rel=1e-12)
        assert notes == () or notes[0].startswith("1 query has no relevant document")


@pytest.mark.parametrize("seed", light(range(25), 3))
def test_pytrec_eval_agrees(seed):
    """It wraps version 9, which counts the documents of a recall in another way; all else is the same."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason='pip install "kgeval[peers]"')
    rng = random.Random(seed)
    for _ in range(8):
        qrels, run = drawn(rng)
        both = sorted(set(qrels) & set(run))
        qrels = {query: items | {"dz": 1} for query, items in qrels.items()}  # it fails where nothing is relevant
        level, judged_only = rng.choice([1, 2]), rng.random() < 0.3
        if not both:
            continue
        frame, _ = measured(qrels, run, ",".join(PEER), relevance_level=level, judged_only=judged_only)
        theirs = pytrec_eval.RelevanceEvaluator(qrels, PEER, level, judged_only).evaluate(run)
        assert sorted(theirs) == both
        for query in both:
            assert frame.loc[query].to_dict() == pytest.approx(theirs[query], abs=1e-12)


def test_only_trec_ties_know_names():
    """Of A (relevant) and B with one score B comes first; once A is called Z, it does. Expected stays 3/4.

    1 + 1e-8 and 1 are one number in float32, so for trec_eval they tie; otherwise the higher score wins.
    """
    for name, by_name in (("A", 0.5), ("Z", 1.0)):
        for score, expected in ((1.0, 0.75), (1.0 + 1e-8, 1.0)):
            example = {"q": {name: 1}}, {"q": {name: score, "B": 1.0}}, "recip_rank"
            assert measured(*example)[0].loc["all", "recip_rank"] == by_name
            assert measured(*example, "expected")[0].loc["all", "recip_rank"] == expected
    assert measured({"q": {"A": 1}}, {"q": {"A": 1e300, "B": 1e200}}, "P.1")[0].loc["all", "P_1"] == 0.0


@pytest.mark.parametrize(
    ("grades", "scores", "n"),
    [
        ([{"A": 1, "B": 1}], [{"A": 1, "B": 1}], 0),  # alike
        ([{"A": 0, "B": -1}], [{"A": 1, "B": 1, "C": 1}], 0),  # none is relevant
        ([{"A": 1, "B": 2}], [{"A": 1, "B": 1}], 1),
        ([{"A": 1, "B": 2}, {"A": 1}], [{"A": 1, "B": 2}, {"A": 1, "B": 1}], 1),
        ([{"A": 1, "C": 1}, {"A": 1}], [{"A": 1, "B": 1, "C": 2, "D": 2}, {"A": 1, "B": 1}], 2),  # q0 has two ties
    ],
)
def test_queries_with_ties_are_counted(grades, scores, n):
    """Those in which tied documents have different grades; for these alone the names matter."""
    qrels, run = ({f"q{i}": items for i, items in enumerate(side)} for side in (grades, scores))
    _, notes = measured(qrels, run, "map")
    assert [note.split(" ")[0] for note in notes if " tied documents " in note] == [str(n)] * (n > 0)


def test_measures_without_expectation():
    """They have a value where no tie matters: within B and C, both irrelevant, or of equal grade."""
    measures = f"{NO_EXPECTATION},gm_map,map"
    for grade in (0, 1):
        frame, _ = tabulated(
            {"q": {"A": 1, "B": grade, "C": grade}}, {"q": {"A": 2, "B": 1, "C": 1}}, measures, "expected"
        )
        assert frame.loc["q"].to_list() == frame.loc["all"].to_list() == [*[1.0] * 6, ""]
    frame, _ = tabulated({"q": {"A": 1}}, {"q": {"A": 1, "B": 1, "C": 1}}, measures, "expected")
    assert frame.columns[-2:].to_list() == ["map", "reason"]
    assert frame.columns[frame.loc["all"].isna()].to_list() == [*frame.columns[:-2]]
    assert frame.loc["all", "map"] == pytest.approx(11 / 18, rel=1e-14)
    why = "no exact expectation over random tie breaking; use a tie policy other than 'expected'"
    assert frame["reason"].to_dict() == dict.fromkeys(["q", "all"], f"{', '.join(frame.columns[:-2])}: {why}")


def test_recalls_are_rounded_as_in_trec_eval():
    """0.3 of R = 4 are 1.2 documents. trec_eval looks from the first hit on (precision 1), kgeval's iprec, which asks
    for a recall of at least 0.3, from the second, at place 4 (precision 2/4). 0.3 of 5, 1.5, are 2 for both.
    """
    for n_relevant, expected in ((4, [1.0, 0.5]), (5, [0.5, 0.5])):
        qrels = {"q": {f"r{i}": 1 for i in range(n_relevant)}}
        frame, _ = measured(qrels, {"q": {"r0": 9, "x": 8, "y": 7, "r1": 6}}, "iprec_at_recall.0.3,iprec(recall=0.3)")
        assert frame.loc["all"].to_list() == expected


def test_multiples_of_r_are_rounded_up_from_a_tenth_on():
    """R = 5: 0.41 R = 2.05 are 2 documents, both relevant; 0.43 R = 2.15 are 3, of which 2; 0.1 R = 0.5 is 1."""
    qrels = {"q": {f"r{i}": 1 for i in range(5)}}
    frame, _ = measured(qrels, {"q": {"r0": 9, "r1": 8, "x": 7}}, "Rprec_mult.0.1,0.41,0.43,0.0")
    assert frame.columns.to_list() == [f"Rprec_mult_{c}" for c in ("0.00", "0.10", "0.41", "0.43")]
    assert frame.loc["all"].to_list() == [0, 1, 1, 2 / 3]


def test_queries_that_the_run_lacks():
    """Of two judged queries the run answers one, with RR 1: the mean is 1 over one, said aloud, or 1/2 over both."""
    qrels, run = {"q": {"A": 1}, "r": {"A": 1}}, {"q": {"A": 1}}
    lacking = "1 judged query has no document in the run and"
    for complete, mean, said in ((False, 1.0, "is left out; with -c it counts as 0"), (True, 0.5, "counts as 0")):
        frame, notes = measured(qrels, run, "recip_rank", complete=complete)
        assert (frame.loc["all", "recip_rank"], notes) == (mean, (f"{lacking} {said}",))


def test_queries_without_relevant_documents():
    """They count 0 in trec_eval's measures; kgeval's leave them out of the mean, unless told otherwise."""
    qrels, run = {"q": {"A": 1}, "r": {"A": 0, "B": -1}}, {"q": {"A": 1}, "r": {"A": 2, "B": 3}}
    frame, notes = tabulated(qrels, run, "map,map@5,ndcg,ndcg@5,ndcg(empty=zero)@5,set_F,set_relative_P,num_rel")
    reasons = frame.pop("reason").to_dict()
    assert reasons == {"q": "", "r": "map@5: no item is relevant; ndcg@5: the ideal DCG is 0", "all": ""}
    assert frame.loc["r"].fillna(-1).to_list() == [0, -1, 0, -1, 0, 0, 0, 0]
    assert frame.loc["all"].to_list() == [0.5, 1, 0.5, 1, 0.5, 0.5, 0.5, 1]
    assert notes == ("1 query has no relevant document; it counts as 0 in the measures of trec_eval",)


def test_negative_grades_are_not_judged():
    """They count as irrelevant, for nDCG too, and leave the list with -J; a list may become empty."""
    qrels, run = {"q": {"A": -2, "B": 1}, "r": {"A": -1}}, {"q": {"A": 2, "B": 1}, "r": {"A": 1, "Z": 2}}
    for judged_only, lengths, ndcg in ((False, [2, 2, 4], 1 / math.log2(3)), (True, [1, 0, 1], 1.0)):
        frame, _ = measured(qrels, run, "num_ret,ndcg,set_P,P_1", judged_only=judged_only)
        assert frame["num_ret"].to_list() == lengths
        assert frame["ndcg"].to_list() == pytest.approx([ndcg, 0, ndcg / 2], rel=1e-14)
        assert frame["set_P"].to_list() == [1 / lengths[0], 0, 1 / lengths[0] / 2]


def test_gains():
    """ndcg.1=3,2=9: grades 2 and 1 at places 2 and 1 give 3 + 9 / log2(3), of 9 + 3 / log2(3); 3 is worth itself."""
    frame, _ = measured({"q": {"A": 1, "B": 2}}, {"q": {"A": 2, "B": 1}}, "ndcg.1=3,2=9,ndcg(gain=1:3;2:9)@2")
    log = math.log2(3)
    assert frame.columns.to_list() == ["ndcg_1=3,2=9", "ndcg(gain=1:3;2:9)@2"]
    assert frame.loc["all"].to_list() == pytest.approx([(3 + 9 / log) / (9 + 3 / log)] * 2, rel=1e-14)
    frame, _ = measured({"q": {"A": 1, "B": 3}}, {"q": {"A": 2, "B": 1}}, "ndcg.1=4.5")
    assert frame.loc["all"].to_list() == pytest.approx([(4.5 + 3 / log) / (4.5 + 3 / log)], rel=1e-14)


def test_wrong_options_of_the_calls():
    qrels, run = frames({"q": {"A": 1}}, {"q": {"A": 1}})
    with pytest.raises(
        MetricError, match="^ties must be one of 'trec', 'expected', 'optimistic', 'pessimistic'; got 'st"
    ):
        TrecOptions("stable")
    with pytest.raises(MetricError, match="^ties must be one of"):
        trec_table(trec_lists(qrels, run), [], "stable")
    with pytest.raises(
        DataError,
        match="^no query of the run is judged: the run has queries such as 'none', the judgements such as 'q'",
    ):
        trec_lists(qrels, run[:0])
    assert format_trec(trec_table(trec_lists(qrels, run), parse_measures(["runid"]), tag="t")).split() == [
        "runid",
        "all",
        "t",
    ]
