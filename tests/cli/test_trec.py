"""`kgeval trec` as a command: its options, what it prints and notes, the names of measures, and what it refuses."""

import csv
import json
import math
from fractions import Fraction

import pytest

from kgeval.cli import main
from kgeval.errors import MetricError
from kgeval.trec.measures import MEASURES, SETS, parse_measures

QRELS = ["q1 A 1", "q1 B 0", "q1 C 2", "q1 D 1", "q2 A 0", "q2 E 1", "q3 F 1"]
RUN = ["q1 B 4", "q1 C 3", "q1 X 3", "q1 A 1", "q2 A 2", "q2 E 2", "q9 A 1"]
CUT = ["1 judged", "1 query of", "2 documents", "1 query has tied", "1 query has tied"]
SUCCESS = ["success_1", "success_5", "success_10"]
SET = ["set_P", "set_relative_P", "set_recall", "set_map", "set_F"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The small example as files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("".join(f"{line.replace(' ', ' 0 ', 1)}\n" for line in QRELS))
    words = [line.split() for line in RUN]
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {s} mine\n" for q, d, s in words))


def printed(capsys, *arguments):
    """What the command prints, and the notes on standard error."""
    assert main(["trec", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert all(line.startswith("kgeval: ") for line in err.splitlines())
    return out, [line.removeprefix("kgeval: ") for line in err.splitlines()]


@pytest.mark.parametrize(
    ("options", "q1", "q2", "total", "said"),
    [
        ("", "5/18", "1", "23/36", ["1 judged", "1 query of", "2 queries have tied"]),
        ("-c", "5/18", "1", "23/54", ["1 judged", "1 query of", "2 queries have tied"]),
        ("-l 2", "1/3", "0", "1/6", ["1 judged", "1 query of", "1 query has no", "2 queries have tied"]),
        ("-M 3", "1/9", "1", "5/9", ["1 judged", "1 query of", "1 document", "2 queries have tied"]),
        ("-M 2", "0", "1", "1/2", CUT),
        ("-J", "7/18", "1", "25/36", ["1 judged", "1 query of", "1 document", "1 query has tied"]),
        ("-J -M 2", "0", "1", "1/2", [*CUT, "1 document"]),
        ("--ties expected", "11/36", "3/4", "19/36", ["1 judged", "1 query of"]),
        ("--ties optimistic", "1/3", "1", "2/3", ["1 judged", "1 query of"]),
        ("--ties pessimistic", "5/18", "1/2", "7/18", ["1 judged", "1 query of"]),
        ("--ties expected -M 3", "5/36", "3/4", "4/9", ["1 judged", "1 query of", "1 document"]),
        ("--ties expected -J", "7/18", "3/4", "41/72", ["1 judged", "1 query of", "1 document"]),
    ],
)
@pytest.mark.light(2)
def test_options(files, capsys, options, q1, q2, total, said):
    """Average precision of q1 and q2. q3 is missing in the run (0 with -c), q9 in the judgements.

    q1: B 4, C and X 3, A 1, and D of grade 1 is not returned. X stands before C, its name being later: the hits
    C and A are at 3 and 4, (1/3 + 2/4) / 3 = 5/18. With C first (optimistic) (1/2 + 2/4) / 3 = 1/3; the mean of
    both is 11/36. -l 2: C alone is relevant, 1/3. -M 3: B X C, (1/3) / 3. -M 2: B X, and the tie goes on.
    -J: X was not judged, B C A, (1/2 + 2/3) / 3 = 7/18; -J -M 2: B X are cut off first, then X is dropped.
    Expected, -M 3: C at 2 or 3, (1/2 + 1/3) / 2 / 3 = 5/36.
    q2: E and A 2, E relevant: 1 by name, 1/2 if A comes first, 3/4 expected; -l 2: nothing is relevant.
    """
    arguments = ("-q", "-m", "map", *options.split(), "qrels", "run", "--to")
    content = json.loads(printed(capsys, *arguments, "json")[0])
    found = {row["query"]: row["map"] for row in content["measures"]}
    expected = {"q1": Fraction(q1), "q2": Fraction(q2), "all": Fraction(total)} | ({"q3": 0} if options == "-c" else {})
    assert found == pytest.approx({query: float(value) for query, value in expected.items()}, rel=1e-14)
    _, notes = printed(capsys, *arguments, "trec")
    assert [f"note: {note}" for note in content["notes"]] == notes
    assert all(note.startswith(f"note: {start} ") for note, start in zip(sorted(notes), sorted(said), strict=True))


def test_notes_say_what_to_do(files, capsys):
    _, notes = printed(capsys, "-m", "map", "-J", "-M", 2, "qrels", "run")
    by_name = "the order of these documents depends on their names, as in trec_eval, unless --ties expected"
    assert notes == [
        "note: 1 judged query has no document in the run and is left out; with -c it counts as 0",
        "note: 1 query of the run is not judged and is left out",
        "note: 2 documents after position 2 of their query are left out",
        "note: 1 query has tied documents on both sides of position 2; which of these documents are kept "
        "depends on their names, as in trec_eval",
        "note: 1 document is not judged and is left out",
        f"note: 1 query has tied documents of different grades; {by_name}",
    ]
    assert printed(capsys, "-m", "map", "-c", "qrels", "run")[1][0].endswith(" in the run and counts as 0")


def test_output(files, capsys):
    """Per query, then all: counts are summed, num_q, gm_map and runid stand once; the official ones by default.

    recip_rank of q1 is 1/3, of q2 1; gm_map is the root of 5/18 * 1. nDCG@3 of q1: C of grade 2 at place 3 gives
    2 / log2(4) = 1, the best order (2, 1, 1) 2 + 1 / log2(3) + 1/2 = 3.13093, the ratio 0.3194.
    """
    out, _ = printed(capsys, "-q", "-m", "num_ret,recip_rank", "-m", "num_q,gm_map,runid,ndcg@3,P_2", "qrels", "run")
    assert out.splitlines() == [
        "num_ret               \tq1\t4",
        "recip_rank            \tq1\t0.3333",
        "ndcg@3                \tq1\t0.3194",
        "P_2                   \tq1\t0.0000",
        "num_ret               \tq2\t2",
        "recip_rank            \tq2\t1.0000",
        "ndcg@3                \tq2\t1.0000",
        "P_2                   \tq2\t0.5000",
        "runid                 \tall\tmine",
        "num_ret               \tall\t6",
        "recip_rank            \tall\t0.6667",
        "num_q                 \tall\t2",
        f"gm_map                \tall\t{math.sqrt(5 / 18):.4f}",
        "ndcg@3                \tall\t0.6597",
        "P_2                   \tall\t0.2500",
    ]
    names = [line.split()[0] for line in printed(capsys, "qrels", "run")[0].splitlines()]
    plain = ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "recip_rank"]
    cuts = [f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert names == [*plain, *(f"iprec_at_recall_{i / 10:.2f}" for i in range(11)), *cuts]


def test_formats(files, capsys):
    """The table has a row per query and a column per measure, counts are integers, the tag is in the JSON."""
    call = (
        "-q",
        "-c",
        "-m",
        "num_rel,map,iprec_at_recall.1,err(g_max=2)@2,runid",
        "qrels",
        "run",
        "--ties",
        "expected",
    )
    content = json.loads(printed(capsys, *call, "--to", "json")[0])
    options = {"ties": "expected", "relevance_level": 1, "depth": None, "judged_only": False, "complete": True}
    assert {key: content[key] for key in ("run", *options)} == {"run": "mine", **options}
    err = [
        1 / 2 * 1 / 2 * 3 / 4,
        (1 / 4 + 1 / 2 * 1 / 4) / 2,
        0.0,
    ]  # C, of (2^2 - 1)/2^2, at 2 every other time; E 1 or 2
    assert [row["err(g_max=2)@2"] for row in content["measures"]] == pytest.approx([*err, sum(err) / 3], rel=1e-14)
    assert [row["num_rel"] for row in content["measures"]] == [3, 1, 1, 5]
    assert [type(row["num_rel"]) for row in content["measures"]] == [int] * 4
    assert content["measures"][3]["iprec_at_recall_1.00"] is None
    why = "no exact expectation over random tie breaking; use a tie policy other than 'expected'"
    reason = f"iprec_at_recall_1.00: {why}"
    assert [row.get("reason", "") for row in content["measures"]] == [reason] * 4
    text, notes = printed(capsys, *call, "--to", "csv")
    assert notes[-1] == f"undefined in q1, q2, q3 and 1 more: {reason}"
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["query"], row["num_rel"], row["iprec_at_recall_1.00"]) for row in rows][::3] == [
        ("q1", "3", ""),
        ("all", "5", ""),
    ]
    assert [row["reason"] for row in rows] == [reason] * 4
    assert [float(row["map"]) for row in rows] == [row["map"] for row in content["measures"]]
    call = ("-m", "map,P_1", "qrels", "run", "--to")
    assert printed(capsys, *call, "table")[0] == "query     map     P_1\nall    0.6389  0.5000\n"
    assert "| all | 0.6389 | 0.5000 |" in printed(capsys, *call, "markdown")[0].splitlines()
    assert r"all & 0.6389 & 0.5000 \\" in printed(capsys, *call, "latex")[0].splitlines()
    nan = printed(capsys, "-m", "iprec_at_recall.1", "qrels", "run", "--ties", "expected")[0]
    assert nan == "iprec_at_recall_1.00  \tall\t   nan\n"


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["P.10,5,5", "map", "P_5"], ["P_5", "P_10", "map"]),
        (["map,ndcg_cut.3,20,ndcg@10"], ["map", "ndcg_cut_3", "ndcg_cut_20", "ndcg@10"]),
        (["iprec_at_recall..10,.125,0,1"], [f"iprec_at_recall_{c}" for c in ("0.00", "0.10", "0.125", "1.00")]),
        (["11pt_avg..25,.5", "11pt_avg"], ["11pt_avg_.25,.5", "11pt_avg"]),
        (["set_F.0.5", "set_F_2", "success", "Rprec_mult_5"], ["set_F_0.5", "set_F_2", *SUCCESS, "Rprec_mult_5.00"]),
        (["set"], ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", *SET]),
        (["ndcg", "ndcg.2=5", "NDCG(gain=2:5)"], ["ndcg", "ndcg_2=5", "ndcg(gain=2:5)"]),
        ([" p@5 , rr@3", "err(g_max=4)@20"], ["precision@5", "rr@3", "err(g_max=4)@20"]),
    ],
)
def test_names(texts, names):
    assert [str(measure) for measure in parse_measures(texts)] == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bpref", "unknown list metric 'bpref'; "),
        ("P.0", "expected positive integers after 'P.'; got 'P.0'"),
        ("ndcg_cut.10,23.4", "expected positive integers after 'ndcg_cut.'; got 'ndcg_cut.10,23.4'"),
        ("recall.five", "expected positive integers after 'recall.'; got 'recall.five'"),
        ("iprec_at_recall.1.5", "expected numbers from 0 to 1 after 'iprec_at_recall.'; got 'iprec_at_recall.1.5'"),
        ("11pt_avg.-1", "expected numbers from 0 to 1 after '11pt_avg.'; got '11pt_avg.-1'"),
        ("Rprec_mult.nan", "expected numbers from 0 to 1000 after 'Rprec_mult.'; got 'Rprec_mult.nan'"),
        ("set_F.0", "expected a positive number after 'set_F.'; got 'set_F.0'"),
        ("set_F.1,2", "expected one number after 'set_F.'; got 'set_F.1,2'"),
        ("map.10", "map takes no parameters; got 'map.10'"),
        ("ndcg.0=1,1=2", "expected gains of positive grades, such as 'ndcg.1=3,2=9'; got 'ndcg.0=1,1=2'"),
        ("ndcg.10", "expected gains of positive grades, such as 'ndcg.1=3,2=9'; got 'ndcg.10'"),
        ("ndcg@0", "k of ndcg@k must be an integer of at least 1; got 0"),
        ("MAP", "the short name of 'MAP' is 'map', which is a measure of trec_eval; write 'map'"),
        (
            "map(empty=skip)",
            "the short name of 'map(empty=skip)' is 'map', which is a measure of trec_eval; write 'map'",
        ),
    ],
)
def test_wrong_names(text, said):
    with pytest.raises(MetricError) as caught:
        parse_measures([text])
    assert str(caught.value).startswith(said)
    if text == "bpref":
        assert {*MEASURES, *SETS, "success@10", "err"} <= set(str(caught.value).rpartition("known: ")[2].split(", "))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone", "run"), "gone: no such file"),
        (("qrels", "gone"), "gone: no such file"),
        (
            ("run", "run"),
            "run, line 1: expected 4 columns (query, iteration, document, grade), found 6; is this a run?",
        ),
        (("qrels", "run", "-m", "bpref"), "unknown list metric 'bpref'; "),
        (("gone", "run", "-l", "0"), "relevance_level (-l) must be an integer of at least 1; got 0"),
        (("gone", "run", "-M", "0"), "depth (-M) must be an integer of at least 1; got 0"),
        (
            ("qrels", "run", "-M", "2", "--ties", "expected"),
            "the cut at document 2 (-M) falls between tied documents in 1 query, first ",
        ),
        (("qrels", "run", "-m", "err"), "err: grade 2 of query 'q1' is above g_max; "),
        (
            ("other", "run"),
            "no query of the run is judged: the run has queries such as 'q1', the judgements such as '301'; do ",
        ),
    ],
)
@pytest.mark.light(3)
def test_errors(files, tmp_path, capsys, arguments, said):
    """One line, exit code 2; what can be known from the options comes before any file is read."""
    (tmp_path / "other").write_text("301 0 A 1\n")
    assert main(["trec", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"kgeval: {said}")


def test_names_cannot_steer_a_terminal(tmp_path, capsys):
    """Escape sequences in queries and in the tag are shown, not sent."""
    (tmp_path / "qrels").write_text("\x1b[31m 0 A 1\n")
    (tmp_path / "run").write_text("\x1b[31m Q0 A 1 1 \x1b[2J\n")
    out, _ = printed(capsys, "-q", "-m", "runid,map", tmp_path / "qrels", tmp_path / "run")
    assert [line.split("\t")[1:] for line in out.splitlines()] == [
        ["\\x1b[31m", "1.0000"],
        ["all", "\\x1b[2J"],
        ["all", "1.0000"],
    ]
