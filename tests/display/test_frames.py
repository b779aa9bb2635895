"""Tables of metrics as text: numbers, gaps and labels in every style."""

import csv
import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from made_results import replaced
from oracle import chance

import kgeval
from kgeval import Dataset, MetricError, Protocol, ProtocolError
from kgeval.base.terminal import PIPE, Screen
from kgeval.base.wording import p_text, printable
from kgeval.cli.output import listed_ranks, summary_frame
from kgeval.comparison.tables import values_text
from kgeval.comparison.texts import note_lines, protocol_comment
from kgeval.display.differences import shown_differences
from kgeval.display.media import FORMATS, format_frame, frame_records, rough_lines, text_table

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

NAN = float("nan")
LABELS = [
    "plain",
    "a|b",
    "a | b",
    "x\\|y",
    "end\\",
    "c&d_e%f#g$h",
    "{~^}",
    'say "hi", you',
    "=1+1",
    " spaced ",
    "東京 é 😀",
]
UNSAFE = [
    "\x1b[31mred",
    "\u202eback",
    "\x9b2J",
    "z\u200bw",
    "bell\x07",
    "\x7f",
    "\u2066i",
    "\ufeffbom",
    "\xa0",
    "\u2028",
]


def frame(labels, rows, columns, name="relation", reasons=None):
    made = pd.DataFrame(rows, index=pd.Index(labels, name=name, dtype=object), columns=columns)
    return made.assign(reason=reasons or "")


def labelled(labels):
    return frame(labels, [[i + 1, i + 0.5, 0.25] for i in range(len(labels))], ["n", "mr", "mrr"])


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x00\x07\x08\x7f", "\\x00\\x07\\x08\\x7f"),
        ("\x9b2J\x85", "\\x9b2J\\x85"),
        ("\u200e\u200f\u202a\u202e\u2066\u2069\u061c", "\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069\\u061c"),
        ("\u200b\u200d\ufeff\u00ad", "\\u200b\\u200d\\ufeff\\xad"),
        ("\u2028\u2029\u00a0\u3000", "\\u2028\\u2029\\xa0\\u3000"),
        ("\ud800\udcff", "\\ud800\\udcff"),
        ("\ue000\U000e0041\U0010ffff", "\\ue000\\U000e0041\\U0010ffff"),
        *((label, label) for label in [*LABELS, "", "C:\\x1b", "שלום", "नमस्ते", "u\u0308"]),
    ],
)
def test_printable(label, shown):
    """Control, format and direction characters are spelt out; letters of all scripts, marks and spaces stay."""
    assert printable(label) == shown
    assert shown.isprintable()


def test_aligned_table():
    """Labels left, numbers right; a column has one number of decimals, with which no number reads as 0; gaps as -."""
    rows = [[12, 3.5, 0.25, -3.75], [3, 1234.56, NAN, -250.0], [1, 99.996, 1.0, 0.00004]]
    made = frame(["ab", "c", "\x1b[1m"], rows, ["n", "mr", "hits@10", "z(mr)"])
    assert format_frame(made, "table").split("\n") == [
        "relation   n       MR  hits@10        z(mr)",
        "ab        12      3.5   0.2500    -3.750000",
        "c          3  1,234.6        -  -250.000000",
        "\\x1b[1m    1    100.0   1.0000     0.000040",
    ]
    keys = ["mr", "gmr", "hmr", "median_rank", "mrr"]
    header, line = format_frame(frame(["r"], [[2.5] * 5], keys), "table").split("\n")
    assert header.split() == ["relation", "MR", "GMR", "HMR", "median", "MRR"]
    assert line.split() == ["r", "2.50", "2.50", "2.50", "2.50", "2.5000"]


def test_several_label_columns():
    index = pd.MultiIndex.from_tuples([("r", "object"), ("long", "subject")], names=["relation", "side"])
    made = pd.DataFrame([[1, 0.5], [20, 1.0]], index=index, columns=["n", "mrr"]).assign(reason="")
    assert format_frame(made, "table").split("\n") == [
        "relation  side      n     MRR",
        "r         object    1  0.5000",
        "long      subject  20  1.0000",
    ]
    assert format_frame(made, "markdown").split("\n")[:3] == [
        "| relation | side | n | MRR |",
        "| --- | --- | ---: | ---: |",
        "| r | object | 1 | 0.5000 |",
    ]
    assert format_frame(made, "latex").split("\n")[1] == r"\begin{tabular}{llrr}"
    assert frame_records(made)[1] == {"relation": "long", "side": "subject", "n": 20, "mrr": 1.0}
    assert format_frame(made, "csv").split("\n") == [
        "relation,side,n,mrr,reason",
        "r,object,1,0.5,",
        "long,subject,20,1.0,",
    ]


def test_csv_keeps_labels_and_every_digit():
    """Read back, labels (quotes, commas, control characters) and floats are equal, not just near."""
    values = [0.1 + 0.2, 1 / 3, 1e-300, 123456789.123456789]
    labels = [*LABELS, *UNSAFE]
    made = frame(labels, [[i, values[i % 4]] for i in range(len(labels))], ["n", "mrr"])
    header, *rows = csv.reader(format_frame(made, "csv").split("\n"))
    assert header == ["relation", "n", "mrr", "reason"]
    assert [(label, int(n), float(value), reason) for label, n, value, reason in rows] == [
        (label, i, values[i % 4], "") for i, label in enumerate(labels)
    ]
    gap = frame(["r"], [[1, NAN]], ["n", "mrr"], reasons=["mrr: no triples"])
    assert format_frame(gap, "csv") == "relation,n,mrr,reason\nr,1,,mrr: no triples"


def test_json_is_strict_and_gives_reasons():
    """Gaps are null, and the reason of the row stands beside them; counts are integers."""
    rows, reasons = [[0, NAN, NAN], [2, 1 / 3, 0.1 + 0.2]], ["mr, mrr: no triples", ""]
    made = frame(["r", "\u202es"], rows, ["n", "mr", "mrr"], reasons=reasons)
    records = json.loads(format_frame(made, "json"), parse_constant=lambda constant: pytest.fail(constant))
    assert records == frame_records(made)
    assert records == [
        {"relation": "r", "n": 0, "mr": None, "mrr": None, "reason": "mr, mrr: no triples"},
        {"relation": "\u202es", "n": 2, "mr": 1 / 3, "mrr": 0.1 + 0.2},
    ]
    assert [type(record["n"]) for record in records] == [int, int]


def markdown_cells(line):
    """The cells of a line as a Markdown reader has them: a backslash takes its meaning from punctuation, pipes too."""
    cells = [""]
    for token in re.findall(r"\\[!-/:-@\[-`{-~]|.", line):
        if token == "|":
            cells.append("")
        else:
            cells[-1] += token[-1]
    assert cells[0] == cells[-1] == ""
    return [cell[1:-1] for cell in cells[1:-1]]


@pytest.mark.parametrize("label", [*LABELS, *UNSAFE])
def test_markdown(label):
    """Every line has as many cells as the header, and the label is shown as it is, or spelt out where unsafe."""
    header, rule, line = format_frame(labelled([label]), "markdown").split("\n")
    assert (header, rule) == ("| relation | n | MR | MRR |", "| --- | ---: | ---: | ---: |")
    assert line.isprintable()
    assert markdown_cells(line) == [printable(label), "1", "0.50", "0.2500"]


LATEX = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^"}
LATEX |= {r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|"}
LATEX |= {"\\" + c: c for c in "&%$#_{}"}
TOKENS = re.compile("|".join(map(re.escape, LATEX)) + r"|[^\\&%$#_{}~^<>|]")


@pytest.mark.parametrize("label", [*LABELS, *UNSAFE])
def test_latex(label):
    """Every special character stands as its command, and reading these back gives the label as shown."""
    comment, *lines = format_frame(labelled([label, "last"]), "latex").split("\n")
    assert comment == r"% needs \usepackage{booktabs}"
    start, end = [r"\begin{tabular}{lrrr}", r"\toprule"], [r"\bottomrule", r"\end{tabular}"]
    assert (lines[:2], lines[2], lines[3]) == (start, r"relation & n & MR & MRR \\", r"\midrule")
    assert (lines[5], lines[6:]) == (r"last & 2 & 1.50 & 0.2500 \\", end)
    cell = lines[4].removesuffix(r" & 1 & 0.50 & 0.2500 \\")
    tokens = TOKENS.findall(cell)
    assert "".join(tokens) == cell
    assert "".join(LATEX.get(token, token) for token in tokens) == printable(label)


def test_gaps_in_styles_for_people():
    made = frame(["r"], [[1, NAN]], ["n", "mr"], reasons=["mr: no triples"])
    assert format_frame(made, "markdown").endswith("| r | 1 | - |")
    assert r"r & 1 & - \\" in format_frame(made, "latex")


def test_unknown_format():
    assert FORMATS == ("table", "json", "csv", "markdown", "latex")
    with pytest.raises(ProtocolError) as caught:
        format_frame(labelled(["r"]), "jsn")
    said = "format must be one of 'table', 'json', 'csv', 'markdown', 'latex'; got 'jsn'; did you mean 'json'?"
    assert str(caught.value) == said


@pytest.fixture(scope="module")
def result():
    """Six entities; the filter leaves unequal numbers of rivals, so chance differs between triples and settings."""
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(6, 2, 6))
    ids = {split: np.stack([rng.integers(0, n, 9) for n in (6, 2, 6)], axis=1) for split in ("train", "test")}
    dataset = Dataset.from_arrays(**ids, n_entities=6, n_relations=2)
    return kgeval.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)


def test_chance_row(result):
    """After the filtered rows and before the raw ones; its values are the oracle's, from the filtered rivals."""
    metrics = ["mr", "mrr", "hits@2", "amri", "median_rank", "z(mr)"]
    made = summary_frame(result, metrics, "realistic")
    names = ["both", "subject", "object", "chance", "raw both", "raw subject", "raw object"]
    assert (list(made.index), made.index.name) == (names, "rows")
    assert list(made.columns) == ["n", *metrics, "reason"]
    rows = result.table[["better_filtered", "tied_filtered", "rivals_filtered"]].to_numpy().tolist()
    assert len({row[2] for row in rows}) > 1
    *level, reason = made.loc["chance"].tolist()
    expected = [len(rows), *(float(chance(name, rows)[0]) for name in metrics[:3]), 0.0, NAN, 0.0]
    assert level == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert made.loc["raw object", "mr"] == result["raw.object.mr"] != made.loc["object", "mr"] == result["object.mr"]
    assert reason == "median_rank: median_rank has no closed form of its chance level"
    assert (made.drop(index="chance")["reason"] == "").all()
    assert made["n"].tolist() == [18, 9, 9, 18, 18, 9, 9]


def test_summary_of_one_side_and_of_other_ties(result):
    made = summary_frame(result, ["mr", "hmr"], "expected")
    reason = "hmr has no exact expectation over random tie breaking"
    assert made.loc["raw object", "reason"] == made.loc["both", "reason"] == f"hmr: {reason}"
    assert np.isnan(made["hmr"]).all()
    with pytest.raises(MetricError, match="ties must be one of 'optimistic', "):
        summary_frame(result, ["mr"], "best")
    facts = pd.DataFrame([["a", "r", "b"], ["b", "r", "c"]])
    one = kgeval.evaluate(lambda s, p, o: o, Dataset.from_frames(test=facts), Protocol(sides="object"), progress=False)
    assert list(summary_frame(one, ["mr"], "realistic").index) == ["object", "chance", "raw object"]


def listing(train, test, rows, protocol=None):
    """The lines of listed_ranks for a table of scores."""
    scores = pd.DataFrame(rows, columns=["s", "p", "o", "score"])
    dataset = Dataset.from_frames(train=pd.DataFrame(train), test=pd.DataFrame(test))
    result = kgeval.evaluate_scores(scores, dataset, protocol)
    return result, listed_ranks(result).split("\n")


def test_listing_by_hand():
    """As object, (a r b) .5 ties c and loses to d .9 most (rank 3.5 of 4: d, e above, c equal); as subject, to e .8."""
    rows = [
        ("a", "r", "b", 0.5),
        ("a", "r", "c", 0.5),
        ("a", "r", "d", 0.9),
        ("a", "r", "e", 0.7),
        ("e", "r", "b", 0.8),
    ]
    _, lines = listing([["c", "x", "d"], ["e", "x", "e"]], [["a", "r", "b"]], rows)
    assert lines == [
        "rank  of  score  triple",
        "   2   2  0.500  a       r  b  beaten by e 0.800",
        " 3.5   4  0.500  a       r  b  beaten by d 0.900",
    ]


def test_long_listings_are_cut_and_say_so():
    """Of 43 ranks the first 40 are listed; 40 are listed without a word."""
    test = [[f"s{i:02}", "r", "a"] for i in range(43)]
    rows = [(*triple, 1.0) for triple in test] + [(s, r, "b", 0.5) for s, r, _ in test]
    train = [["a", "x", "b"]]
    _, lines = listing(train, test, rows, Protocol(sides="object"))
    assert (len(lines), lines[40].split()[3], lines[41]) == (42, "s39", "... and 3 more")
    _, lines = listing(train, test[:40], rows[:40] + rows[43:83], Protocol(sides="object"))
    assert (len(lines), lines[40].split()[3]) == (41, "s39")


def test_listing_agrees_with_the_table_below_it():
    """Its ranks are those of the first row of metrics: a known triple that scores higher does not beat a positive."""
    rows = [("a", "r", "b", 0.5), ("a", "r", "c", 0.9), ("a", "r", "d", 0.1)]
    result, lines = listing([["a", "r", "c"], ["d", "x", "d"]], [["a", "r", "b"]], rows)
    assert result["mr"] == 1.0
    assert lines[1].split() == ["1", "2", "0.500", "a", "r", "b"]


def test_table_of_metrics_that_fits():
    """At 63 columns: the share, then the interval of hits@10; the MRR has its interval until the last; n stays."""
    columns = ["n", "share", "mrr", "mrr low", "mrr high", "hits@10", "hits@10 low", "hits@10 high"]
    rows = [[12, 0.75, 0.5, 0.25, 0.75, 0.9, 0.8, 1.0], [4, 0.25, 0.125, NAN, NAN, 0.5, 0.4, 0.6]]
    made = frame(["東京", "a long label of a relation"], rows, columns)
    assert format_frame(made, "table").split("\n") == [
        "relation                     n   share                      MRR                  hits@10",
        "東京                        12  0.7500  0.5000 [0.2500, 0.7500]  0.9000 [0.8000, 1.0000]",
        "a long label of a relation   4  0.2500                   0.1250  0.5000 [0.4000, 0.6000]",
    ]
    assert format_frame(made, "table", Screen(63)).split("\n") == [
        "relation                    n                      MRR  hits@10",
        "東京                       12  0.5000 [0.2500, 0.7500]   0.9000",
        "a long label…f a relation   4                   0.1250   0.5000",
        "not shown at width 63: 1 column (share); the interval of",
        "  hits@10; all: a wider terminal",
    ]
    assert format_frame(made, "table", Screen(50), optional=()).split("\n")[0].split() == ["relation", "n", "MRR"]
    for style in ("csv", "json", "markdown", "latex"):  # made for programs and papers: never fitted
        assert format_frame(made, style, Screen(40)) == format_frame(made, style)


def test_the_chance_row_is_dim_and_a_group_of_that_name_is_not():
    rows = [[1, 0.5], [2, 0.25]]
    styled = Screen(has_styles=True)
    lines = format_frame(frame(["both", "chance"], rows, ["n", "mrr"], name="rows"), "table", styled).split("\n")
    assert lines == ["\x1b[1m        n     MRR\x1b[0m", "both    1  0.5000", "\x1b[2mchance  2  0.2500\x1b[0m"]
    assert "\x1b[2m" not in format_frame(frame(["both", "chance"], rows, ["n", "mrr"]), "table", styled)


def test_numbers_of_latex_have_a_minus():
    """Of values and intervals; a label with a hyphen keeps it."""
    made = frame(["a-1", "-2"], [[1, -0.5, -1.0, 0.25], [2, NAN, NAN, NAN]], ["n", "x", "x low", "x high"])
    lines = format_frame(made, "latex", comment="% first").split("\n")
    assert lines[:2] == ["% first", r"% needs \usepackage{booktabs}"]
    assert lines[6] == r"a-1 & 1 & $-$0.5000 [$-$1.0000, 0.2500] \\"


def test_notes_shorten_labels():
    """A label of 10,000 characters does not fill the screen of who reads a note."""
    made = frame(["x" * 10_000, ""], [[1, 2.0], [1, 3.0]], ["n", "n_effective"])
    (line,) = rough_lines(made)
    assert line.startswith("intervals with fewer than 10 effective clusters are rough: xxx")
    assert "(10,000 characters)" in line
    assert len(line) < 400


@pytest.fixture(scope="module")
def comparison():
    """Three models: the first two alike, the third much worse."""
    rng = np.random.default_rng(4)
    n = 60
    triples = np.column_stack([rng.permutation(n), np.zeros(n, int), rng.permutation(n)])
    dataset = Dataset.from_arrays(test=triples, n_entities=n, n_relations=1)
    noise = rng.normal(size=(3, n, n))
    truth = np.zeros((n, n))
    truth[triples[:, 0], triples[:, 2]] = 1
    results = {}
    for i, (name, signal) in enumerate({"one": 3.0, "two": 2.9, "three": 0.5}.items()):
        scores = noise[i] + signal * truth
        results[name] = kgeval.evaluate(lambda s, p, o, scores=scores: scores[s, o], dataset, progress=False)
    return kgeval.compare(results, metrics="mrr,mr")


def test_stars_of_what_the_test_cannot_tell_apart(comparison):
    """The best, and each model of which no row of the table says that it differs from the best."""
    text = values_text(comparison, "table")
    note = (
        "* best value, and values that do not differ significantly from it (p > 0.05, Holm; paired tests, so a better"
    )
    assert note in text
    rows = {line.split()[0]: line for line in text.split("\n")[1:4]}
    for metric in ("mrr", "mr"):
        values = comparison.values[metric]
        best = values.idxmax() if metric == "mrr" else values.idxmin()
        differs = set()
        for row in comparison.differences.to_dict("records"):
            if row["metric"] == metric and best in (row["first"], row["second"]) and row["p_corrected"] <= 0.05:
                differs.add(row["second"] if row["first"] == best else row["first"])
        assert differs == {"three"}
        for name, line in rows.items():
            shown = f"{values[name]:.{4 if metric == 'mrr' else 2}f}"
            assert (f" {shown}*" in line) == (name not in differs)
    places = {line.index(".") for line in rows.values()}
    assert len(places) == 1  # the decimals stand one below another, with and without stars
    alike = dict(zip(comparison.names[:2], comparison.results))
    text = values_text(kgeval.compare(alike, metrics="mrr,mr"), "table")
    assert text.count("*") == 1 + 4  # nothing is significant: all are starred, and the note explains it
    assert "undecided: MRR, MR; the best model is not significantly better than every other model" in text


def differences_of(comparison, screen=PIPE):
    return text_table(shown_differences(comparison.differences.to_dict("records"), 0.05, screen=screen), screen)


def test_differences_of_pairs(comparison):
    """Each row of the comparison once: difference with its sign and interval, p, better model."""
    lines = differences_of(comparison).split("\n")
    assert lines[0].split("  ")[0] == "difference of"
    assert [line.split("  ")[0] for line in lines[1:] if line[:1].strip()] == [
        f"{first} - {second}" for first, second in itertools.combinations(("one", "two", "three"), 2)
    ]  # each pair once, above its metrics
    for line, row in zip(filter(None, lines[1:]), comparison.differences.to_dict("records"), strict=True):
        digits = 4 if row["metric"] == "mrr" else 3  # the smallest difference in MR is 0.042
        assert f" {row['metric'].upper()} " in line
        assert f" {row['difference']:+.{digits}f} [{row['low']:+.{digits}f}, {row['high']:+.{digits}f}]  " in line
        assert f" {p_text(row['p_corrected'], 0.05)} " in line
        assert line.endswith(f"  {row['better'] or 'undecided'}")
    assert {row["p"] < 1 / 10_000 for row in comparison.differences.to_dict("records")} == {True, False}
    for width, kept in ((80, ["p (Holm)", "better"]), (60, ["better"])):
        fitted = differences_of(comparison, Screen(width)).split("\n")
        assert all(heading in fitted[0] for heading in ["difference  ", *kept])
        assert max(map(len, fitted)) <= width


def test_csv_of_an_undecided_difference_names_no_better_model(comparison):
    """Both the model and the reason are gaps, not empty texts in quotes."""
    undecided = comparison.differences.assign(better="", reason="").iloc[:1]
    line = format_frame(undecided[["first", "better", "difference", "reason"]], "csv").splitlines()[1]
    assert line == f"{undecided['first'].iloc[0]},,{float(undecided['difference'].iloc[0])!r},"


def test_of_three_and_more_models_the_first_metric_alone(comparison):
    """All differences count in the correction; a note says which are not shown, and where they are."""
    one, two, three = comparison.results
    four = kgeval.compare({"one": one, "two": two, "three": three, "four": three}, metrics="mrr,mr,hits@3")
    blocks = repr(four).split("\n\n")
    lines = blocks[2].split("\n")
    assert [line.split("  ")[0] for line in lines[1:7]] == [
        f"{row['first']} - {row['second']}" for row in four.differences.to_dict("records") if row["metric"] == "mrr"
    ]
    assert "12 differences in MR and hits@3: --to csv, in Python .differences" in lines
    assert "; Holm, 18 tests;" in repr(four) or "; Holm, 15 tests;" in repr(four)  # equal ranks are not tested
    pairs = repr(comparison).split("\n\n")[2].split("\n")
    assert ["MRR difference" in pairs[0], " - " in pairs[3], " - " in pairs[4]] == [True, True, False]


def test_of_many_models_the_leader_stands_first(comparison):
    """Six models: values best first, the leader against five rivals, the notes and where the rest is found."""
    one, two, three = (result.__replace__(notes=["the same", "5 dimensions"]) for result in comparison.results)
    results = [one, two, three, two, one.__replace__(notes=["the same", "6 dimensions"]), three]
    six = kgeval.compare(dict(zip("abcdef", results)), metrics="mrr,mr")
    by_value = sorted("abcdef", key=lambda name: -six.values.loc[name, "mrr"])
    verdict, values, differences, lines = repr(six).split("\n\n")
    assert [line[0] for line in values.split("\n")[1:7]] == by_value
    shown = [line.split("  ")[0] for line in differences.split("\n")]
    assert shown[1:6] == [f"{by_value[0]} - {name}" for name in by_value[1:]]
    assert differences.endswith("25 other differences in MRR and MR: --to csv, in Python .differences")
    assert lines.startswith("6 models on ")
    assert lines.count("note: all 6 models: the same\n") == 1
    assert "test, correction, meaning of intervals" in lines
    assert "tested: " not in lines
    said = note_lines(six)
    assert "note: a, b, c and 2 more: 5 dimensions; likewise e, with other numbers" in said
    assert sum(note.endswith(": the same") for note in six.notes) == 6


def test_a_note_says_that_a_bold_value_may_be_worse_than_another():
    """B is far worse in 4 of 60 ranks, C a little in all: C has the better mean, and is told apart from A."""
    dataset = Dataset.from_arrays(test=[[i, 0, (i + 1) % 60] for i in range(60)], n_entities=60, n_relations=1)
    base = kgeval.evaluate(lambda s, p, o: -((o - s - 1) % 60), dataset, Protocol(sides="object"), progress=False)
    better = {"A": np.zeros(60, dtype=int), "B": np.where(np.arange(60) < 4, 40, 0), "C": np.ones(60, dtype=int)}
    tables = {name: base.table.assign(better_filtered=of, better_raw=of) for name, of in better.items()}
    results = {name: replaced(base, table=table) for name, table in tables.items()}
    found = kgeval.compare(results, metrics="mr")
    assert found.values["mr"].to_dict() == {"A": 1.0, "B": 1.0 + 4 * 40 / 60, "C": 2.0}
    text = values_text(found, "table")
    assert [line.split()[:2] for line in text.splitlines()[1:4]] == [["A", "1.00*"], ["C", "2.00"], ["B", "3.67*"]]
    row = found.differences.set_index(["first", "second"]).loc[("A", "B")]
    assert row["difference"] == pytest.approx(-2.67, abs=0.005)
    assert "not significantly better than 3.67 (B), difference -2.67 (" in found.verdict.sentence  # not that of C
    assert "(p > 0.05, Holm; paired tests, so a better value may differ)" in text


def test_protocol_comment(comparison, result):
    """One line for results that agree; a line for each protocol else; no line end of a hostile name."""
    one, other = comparison.results[0], result
    said = protocol_comment([("a", one), ("b", comparison.results[1])], "ties: mean rank (realistic)")
    assert said == (
        f"% protocol: {one.facts['dataset']} (dataset {one.facts['dataset_fingerprint'][:8]}), test; "
        f"{one.protocol.describe()}; ties: mean rank (realistic); protocol {one.protocol.fingerprint}, "
        f"kgeval {kgeval.__version__}"
    )
    lines = protocol_comment([("a\nb", one), ("c", other)], "ties").split("\n")
    assert len(lines) == 2
    assert lines[0].startswith("% protocol: a\\nb: ")
    assert all(line.startswith("% ") for line in lines)
    latex = values_text(comparison, "latex", screen=PIPE).split("\n")
    assert latex[0] == said
    assert latex[5] == r"model & MRR & MR \\"


def test_against_a_baseline_nothing_beats_every_other_model(comparison):
    """The best was tested against the baseline alone: no dagger, and no note about all others."""
    named = dict(zip(comparison.names, comparison.results))
    against = kgeval.compare(named, metrics="mrr", baseline="three")
    assert against.differences["better"].tolist() == ["one", "two"]
    text = values_text(against, "table")
    assert "†" not in text
    assert "every other model" not in text
