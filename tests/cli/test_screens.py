"""What a terminal shows: tables that fit 80 and 120 columns, whatever the labels are; styles, --quiet, suggestions."""

import contextlib
import json
import os
import re
import sys
import threading

import numpy as np
import pytest
from grids import light

import kgeval as kg
from kgeval.base.terminal import width_of
from kgeval.cli import main, program

HOSTILE = [
    "東京都庁舎",
    "e\u0301a\u0301" * 30,
    "👩😀🎉" * 20,
    "שלום עולם",
    "x" * 10_000,
    "\x1b[31mred",
    "\u202eback",
    "/film/film/release_date_s./film/film_regional_release_date/region",
]
CODES = re.compile("\x1b\\[[0-9]*m")
WIDTHS = pytest.mark.parametrize("width", light([80, 120], 1))
SCORERS = """
import numpy as np

def near(s, p, o):
    return -np.abs((o - s - 1) % 8).astype(float)

def far(s, p, o):
    return -np.abs((o - s - 4) % 8).astype(float) - p
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph with hostile labels, a table of scores, and two saved results."""
    folder = tmp_path_factory.mktemp("screens")
    rng = np.random.default_rng(2)
    triples = np.unique(rng.integers(0, 8, (90, 3)), axis=0)
    rng.shuffle(triples)
    graph = folder / "graph"
    graph.mkdir()
    for name, part in (("train", triples[30:]), ("test", triples[:30])):
        lines = "".join(f"{HOSTILE[s]}\tr{HOSTILE[p]}\t{HOSTILE[o]}\n" for s, p, o in part)
        (graph / f"{name}.txt").write_text(lines, encoding="utf-8")
    (folder / "screen_scorers.py").write_text(SCORERS)
    queries = sorted({(s, p) for s, p, _ in triples[:30].tolist()})
    rows = [f"{HOSTILE[s]}\tr{HOSTILE[p]}\t{HOSTILE[o]}\t{(3 * o + s) % 8}\n" for s, p in queries for o in range(8)]
    (folder / "scores.tsv").write_text("".join(rows), encoding="utf-8")
    dataset, scope = kg.read_dataset(graph), {}
    exec(SCORERS, scope)
    for name in ("near", "far"):
        kg.evaluate(scope[name], dataset, progress=False).save(folder / f"{name}.kgeval")
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)


def printed(capsys, *arguments):
    """What a successful command prints to standard output."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


COMMANDS = {
    "evaluate": ("evaluate", "graph", "--scorer", "screen_scorers:near", "--by", "relation"),
    "evaluate by three": ("evaluate", "graph", "--scorer", "screen_scorers:near", "--by", "relation,side,cardinality"),
    "scores": ("evaluate", "graph", "--scores", "scores.tsv"),
    "show": ("show", "near.kgeval", "--by", "relation,side", "--confidence", "0.9"),
    "compare": ("compare", "near.kgeval", "far.kgeval", "--by-relation", "mrr"),
    "compare names": ("compare", "near.kgeval", "far.kgeval", "--names", f"{'東京' * 30},{'n' * 300}"),
    "explain": ("show", "--dataset", "graph", "--scorer", "screen_scorers:near", "--explain"),
    "classify": ("classify", "graph", "--scorer", "screen_scorers:near", "--negatives", "uniform", "--by", "relation"),
    "datasets": ("inspect", "--datasets"),
    "help": ("help",),
    "check-table": ("check-table", "mrr=0.3", "hits@1=0.2", "hits@10=0.5"),
}


def arguments_of(name):
    """The arguments of a command of `COMMANDS`; the triple to explain, and validation triples, come from the graph."""
    arguments = COMMANDS[name]
    if name == "explain":
        return (*arguments, *open("graph/test.txt", encoding="utf-8").readline().rstrip("\n").split("\t"))
    return (*arguments, "--split-files", "valid=train.txt,test=test.txt") if name == "classify" else arguments


@WIDTHS
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.thorough]
            if name in ("evaluate", "scores", "show", "compare", "classify", "datasets")
            else [],
        )
        for name in COMMANDS
    ],
)
def test_tables_fit(capsys, monkeypatch, name, width):
    """No line of a table is wider than the screen; another line is only if it consists of one long word."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = printed(capsys, *arguments_of(name))
    assert all(character.isprintable() or character == "\n" for character in out)
    wide = [line for line in out.splitlines() if width_of(line) > width]
    assert all(len(line.split()) == 1 for line in wide)


@pytest.mark.parametrize("name", light(["evaluate by three", "compare", "evaluate", "show"], 1))
def test_a_pipe_gets_every_label_and_column(capsys, monkeypatch, name):
    """The columns and labels that 80 columns leave out or shorten, and no sentence about them."""
    whole = printed(capsys, *arguments_of(name))
    assert "not shown" not in whole
    assert "…" not in re.sub("^(?:note|MRR): .*", "", whole, flags=re.MULTILINE)
    assert "r" + "x" * 10_000 in whole
    monkeypatch.setenv("COLUMNS", "80")
    fitted = printed(capsys, *arguments_of(name))
    assert "not shown at width 80: " in fitted
    assert "…" in fitted


def test_the_values_of_a_fitted_table_are_those_of_the_whole_one(capsys, monkeypatch):
    """Column by column: what is shown at 80 columns stands in the same row of the whole table."""
    call = ("show", "near.kgeval", "--by", "relation")
    whole = printed(capsys, *call).splitlines()
    monkeypatch.setenv("COLUMNS", "80")
    fitted = printed(capsys, *call).splitlines()
    start_whole, start = (next(i for i, line in enumerate(t) if line.startswith("relation ")) for t in (whole, fitted))
    names = fitted[start].split()[1:]
    frame = kg.load_result("near.kgeval").by("relation", metrics="mrr,hits@1,hits@3,hits@10,mr,amri")
    assert names[:3] == ["n", "MRR", "hits@1"]
    for i in range(1, 1 + len(frame)):
        cells = re.split(r"\s{2,}(?=[-\d])", fitted[start + i])[1:]
        row = frame.iloc[i - 1]
        keys = [name.lower() for name in names]
        assert [cell.split(" ")[0] for cell in cells] == [
            f"{row[key]:.0f}" if key == "n" else f"{row[key]:.{2 if key == 'mr' else 4}f}" for key in keys
        ]
        assert all(cell in whole[start_whole + i] for cell in cells)


def test_compare_answers_first(capsys):
    """The verdict, values, differences, then what was compared and how; each value once."""
    results = {name: kg.load_result(f"{name}.kgeval") for name in ("near", "far")}
    found = kg.compare(results, metrics="mrr,hits@3")
    text = printed(capsys, "compare", "near.kgeval", "far.kgeval", "--metrics", "mrr,hits@3")
    lines = text.splitlines()
    assert [line.lower() for line in lines[:2]] == [
        found.verdict.parts[0].lower(),
        "; ".join(found.verdict.parts[1:]).lower(),
    ]
    pair = f"{found.differences['first'][0]} - {found.differences['second'][0]} "
    by_value = found.values["mrr"].sort_values(ascending=False).index
    starts = (
        "model  ",
        *(f"{name:<5}  " for name in by_value),
        pair,
        "MRR ",
        "hits@3 ",
        "near and far on graph: 60 ",
        "tested: ",
    )
    order = [next(i for i, line in enumerate(lines) if line.startswith(start)) for start in starts]
    assert order == sorted(order)
    row = found.differences.iloc[0]
    assert f"{row['difference']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]" in lines[order[4]]
    assert f"{row['wins']}/{row['ties']}/{row['losses']}" in lines[order[4]].split()
    assert lines[order[4]].endswith(f"  {row['better'] or 'undecided'}")
    below = "\n".join(line for line in lines[1:] if "MRR without" not in line)  # the verdict may say a value once more
    for result in results.values():
        assert below.count(f"{result['mrr']:.4f}") == 1
        assert below.count(f"{result['hits@3']:.4f}") == 1
    assert "mrr" not in "\n".join(lines[: order[6]])


@pytest.mark.thorough
@WIDTHS
def test_texts_of_objects_fit(monkeypatch, width):
    """repr at a prompt: lines and table fit; in a pipe the table is whole; there are no codes for styles."""
    near, far = (kg.load_result(f"{name}.kgeval") for name in ("near", "far"))
    for thing in (near, kg.compare({"near": near, "東京" * 40: far})):
        monkeypatch.delenv("COLUMNS", raising=False)
        whole = repr(thing)
        assert "not shown" not in whole
        assert "東京" * 40 in whole or thing is near
        monkeypatch.setenv("COLUMNS", str(width))
        text = repr(thing)
        assert "\x1b" not in text
        assert all(len(line.split()) == 1 for line in text.splitlines() if width_of(line) > width)
        assert f"{near['mrr']:.4f}" in text
    assert f"not shown at width {width}: " in text


@pytest.mark.parametrize("name", light(["show", "compare", "evaluate", "classify"], 1))
def test_quiet(capsys, name):
    """Tables alone; no note on standard error; the numbers are the same."""
    call = arguments_of(name)
    assert main([*call, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    loud = printed(capsys, *call)
    for block in out.rstrip("\n").split("\n\n"):
        assert block in loud
    assert not re.search("^(note|dropped|dataset|tested|done|filtered|ties)", out, re.MULTILINE)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["evaluate", "compare"])
def test_quiet_says_nothing_aside(capsys, name):
    """Formats without notes have them on standard error, unless --quiet is given."""
    assert main([*COMMANDS[name], "--to", "csv", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*COMMANDS[name], "--to", "csv"]) == 0
    assert capsys.readouterr().err != ""


def test_quiet_leaves_two_tables(capsys):
    out = printed(capsys, "show", "near.kgeval", "--metrics", "mrr", "--quiet")
    assert out.splitlines()[1].split() == ["both", "60", f"{kg.load_result('near.kgeval')['mrr']:.4f}"]
    assert len(out.splitlines()) == 8


@pytest.mark.thorough
def test_quiet_shows_no_progress(capsys, monkeypatch):
    given = {}

    def evaluate(*arguments, **options):
        given.update(options)
        return kg.load_result("near.kgeval")

    monkeypatch.setattr(kg, "evaluate", evaluate)
    for quiet, progress in (((), True), (("--quiet",), False)):
        printed(capsys, "evaluate", "graph", "--scorer", "screen_scorers:near", *quiet)
        assert given["progress"] is progress


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("setting", [{}, {"TERM": "dumb"}, {"NO_COLOR": "1"}])
@pytest.mark.light(1)
def test_bold_and_dim_on_a_terminal_only(capsys, monkeypatch, setting):
    """The same characters as in a pipe of that width; the verdict is bold, the chance row dim, unless refused."""
    import pty

    for name, value in {"TERM": "xterm", "COLUMNS": "100", **setting}.items():
        monkeypatch.setenv(name, value)

    def shown(*arguments):
        piped = printed(capsys, *arguments)
        main_end, other_end = pty.openpty()
        parts = []

        def read():
            with contextlib.suppress(OSError):  # the other end is closed
                while part := os.read(main_end, 4096):
                    parts.append(part)

        reader = threading.Thread(target=read)
        reader.start()
        with monkeypatch.context() as patch, os.fdopen(other_end, "w", encoding="utf-8") as screen:
            patch.setattr(sys, "stdout", screen)
            assert main(list(arguments)) == 0
        reader.join()
        os.close(main_end)
        text = b"".join(parts).decode().replace("\r\n", "\n")
        assert CODES.sub("", text) == piped
        return text

    environment = os.environ.get("NO_COLOR")
    compared = shown("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr")
    single = shown("show", "near.kgeval")
    if setting or environment:
        assert "\x1b" not in compared + single
        return
    assert compared.startswith("\x1b[1m")
    assert re.search("^\x1b\\[2mchance .*\x1b\\[0m$", single, re.MULTILINE)
    best = re.escape(f"{kg.load_result('near.kgeval')['mrr']:.4f}*")
    assert re.search(f"\x1b\\[1m{best}\x1b\\[0m", compared)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evalute", "graph"), "no command is named 'evalute'; did you mean 'evaluate'? ("),
        (("--vresion",), "kgeval has no option --vresion; did you mean '--version'? See kgeval --help\n"),
        (
            ("show", "near.kgeval", "--to", "jsn"),
            "argument --to: invalid choice: 'jsn' (choose from ",
        ),
        (
            ("show", "near.kgeval", "further", "words"),
            "2 arguments too many: 'further' 'words'; a label with spaces needs quotation marks; see kgeval show ",
        ),
        (
            ("show", "near.kgeval", "more"),
            "one argument too many: 'more'; a label with spaces needs quotation marks; see kgeval show --help\n",
        ),
    ],
)
def test_near_misses(capsys, words, said):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"kgeval: {said}")
    assert "jsn" not in words or err.endswith("; did you mean 'json'? See kgeval show --help\n")


def test_a_format_of_files_names_the_command_that_writes_them(capsys):
    """And the confidence level of an interval is a share."""
    for name, command in (
        ("parquet", "show RUN.kgeval -o ranks.parquet"),
        ("html", "report RUN.kgeval -o page.html"),
    ):
        with pytest.raises(SystemExit):
            main(["evaluate", "graph", "--scorer", "near.py:score", "--to", name])
        assert f"; kgeval {command} writes " in capsys.readouterr().err
    assert main(["show", "near.kgeval", "--confidence", "95"]) == 2
    assert capsys.readouterr().err == "kgeval: --confidence must be between 0 and 1, such as 0.95; got 95\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "graph", "--scores", "nowhere.tsv"), "nowhere.tsv: no such file"),
        (("evaluate", "graph", "--scorer", "nowhere.py:score"), "nowhere.py: no such file"),
        (
            ("show", "near.kgeval", "--metrics", "ndcg@10"),
            "'ndcg@10' is a metric of ranked lists, not a metric of ranks; did you mean 'query.ndcg@10'? Each query is "
            "then one list with all its answers",
        ),
        (
            ("show", "near.kgeval", "--metrics", "accuracy"),
            "'accuracy' is a metric of labelled predictions, not a metric of ranks; kgeval.classify (kgeval classify) "
            "computes it",
        ),
        (
            ("show", "near.kgeval", "--metrics", "adjusted(ndcg@5)"),
            "adjusted(...) wraps a metric of ranks such as 'mrr'; 'ndcg@5' is a metric of ranked lists",
        ),
        (
            ("evaluate", "graph", "--scorer", "screen_scorers:near", "--splits", "dev"),
            "--splits dev: graph has no split 'dev'; its splits are train, test",
        ),
        (
            ("report", "near.kgeval", "-o", "report.pdf"),
            "report.pdf: the report is an HTML page; expected a name that ends in .html or .htm; got '.pdf'. To get a "
            "PDF, open the page in a browser and print it",
        ),
    ],
)
def test_messages(capsys, words, said):
    assert main(list(words)) == 2
    assert capsys.readouterr() == ("", f"kgeval: {said}\n")


def test_kgeval_alone_prints_help(capsys):
    assert main([]) == 0
    alone = capsys.readouterr()
    assert main(["help"]) == 0
    assert alone == capsys.readouterr()
    assert "\n  compare       paired comparison of saved results" in alone.out


@pytest.mark.thorough
def test_latex_says_its_protocol(capsys):
    """A comment in the first line, rules of booktabs, headings as in papers, p in a formula."""
    protocol = json.loads(printed(capsys, "show", "near.kgeval", "--to", "json"))
    about = protocol["facts"]
    said = (
        f"% protocol: graph (dataset {about['dataset_fingerprint'][:8]}), test; "
        f"{kg.load_result('near.kgeval').protocol.describe()}; ties: mean rank (realistic); protocol "
        f"{protocol['protocol_fingerprint']}, kgeval {about['version']}"
    )
    shown = printed(capsys, "show", "near.kgeval", "--metrics", "mrr,mr", "--to", "latex").splitlines()
    compare = ("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr,mr", "--to", "latex")
    compared = printed(capsys, *compare).splitlines()
    relations = printed(capsys, *compare, "--by-relation", "mrr").splitlines()
    for lines in (shown, compared, relations):
        assert lines[:2] == [said, r"% needs \usepackage{booktabs}"]
        rules = [r"\toprule", *[r"\midrule"] * (2 if lines is shown else 1), r"\bottomrule"]  # filtered and raw
        assert [line for line in lines if line.endswith("rule")] == rules
        (start,) = (line for line in lines if line.startswith(r"\begin{tabular}"))
        n_columns = len(re.sub(r"\{\d+pt\}", "", start.partition("}{")[2].removesuffix("}")))
        rows = [line for line in lines if line.endswith(r" \\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {n_columns - 1}
    assert compared[5].startswith(r"model & MRR & MR \\")
    assert r"is not significantly better than every other model ($p \leq 0.05$, Holm)" in "\n".join(compared)
    assert "<" not in "\n".join(compared).replace("dimen0<240pt", "")
    assert r"$-$" in "\n".join(relations)  # a minus, not a hyphen


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("50", 50), ("120", 120)])
def test_errors_fit_the_terminal_or_80_columns(capsys, monkeypatch, columns, width):
    """Broken between words; the words are those of the message."""
    name = "nowhere/" + "x" * 200
    assert main(["show", name, "--by", "side"]) == 2
    (whole,) = capsys.readouterr().err.splitlines()
    monkeypatch.setattr(program, "ERROR_WIDTH", 80)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert main(["show", name, "--by", "side"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(line.strip() for line in lines) == whole
    assert [line.strip() for line in lines if len(line) > width and name not in line] == []
    with pytest.raises(SystemExit):
        main(["evaluat", "graph"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= width


def test_prose_in_a_pipe_is_wrapped_and_tables_are_whole(capsys, monkeypatch):
    """At 100 columns; the same words stand in both texts, and the lines of the table are alike."""
    call = ("show", "near.kgeval", "--by", "relation")
    whole = printed(capsys, *call)
    monkeypatch.setattr(program, "PROSE_WIDTH", 100)
    wrapped = printed(capsys, *call)
    assert wrapped.split() == whole.split()
    assert max(map(len, whole.split("\n"))) > 100
    tables = [
        [line for line in text.split("\n") if line.startswith(("relation ", "both "))] for text in (whole, wrapped)
    ]
    assert tables[0] == tables[1]
    assert all(len(line) <= 100 for line in wrapped.split("\n") if line.startswith(("near", "filtered", "note")))
