"""`kgeval help`: the list of commands and topics, the pages, and the word that was probably meant."""

import io
import re
import subprocess
import sys
from importlib import resources

import pytest

from kgeval.cli import main
from kgeval.cli.commands import all_commands
from kgeval.cli.commands import help as help_command
from kgeval.cli.guide import ANSWERS, search, sections

PAGES = {file.name.removesuffix(".md"): file for file in (resources.files("kgeval") / "guide").iterdir()}
TOPICS = [
    "benchmark", "cards", "checkpoints", "classification", "conventions", "data", "decisions", "from-0.1",
    "integrations", "lists", "metrics", "models", "predictions", "protocol", "reporting", "running", "simulations",
    "speed", "trec", "trust", "wrapping",
]  # fmt: skip


def test_the_guide_has_these_pages(root):
    """The installed package has all of them, as they stand in the repository."""
    assert sorted(PAGES) == TOPICS
    for topic, file in PAGES.items():
        assert file.read_bytes() == (root / "kgeval" / "guide" / f"{topic}.md").read_bytes()


@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_the_overview_lists_every_command_and_topic_once(capsys, monkeypatch, arguments):
    """`kgeval` alone is `kgeval help`; each line ends with what the command or the page is about."""
    assert main(arguments) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "120")
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    for command in all_commands():
        (line,) = [line for line in lines if line.startswith(f"  {command.name} ") and line.endswith(command.about)]
        assert line.split() == [command.name, *command.about.split()]
    questions = {topic: file.read_text(encoding="utf-8").splitlines()[2] for topic, file in PAGES.items()}
    for topic, question in questions.items():
        assert [line for line in lines if line.split() == [topic, *question.strip("*").split()]]
    assert "  models          How do I evaluate my own model?" in lines
    assert max(map(len, lines)) <= 120


def test_the_command_line_without_arguments_prints_the_overview(monkeypatch, capsys):
    """As the installed program is called: arguments come from the process."""
    monkeypatch.setattr(sys, "argv", ["kgeval"])
    assert main() == 0
    assert "Topics; kgeval help TOPIC prints the page, and" in capsys.readouterr().out


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.light(3)
def test_a_page_is_printed_with_lines_that_fit(capsys, topic):
    """To a pipe or a file: every word of the page in its order; only code, tables and headings may be wider than 80."""
    assert main(["help", topic]) == 0
    shown, page = capsys.readouterr().out, PAGES[topic].read_text(encoding="utf-8")
    assert shown.split() == page.split()
    as_they_are = page.splitlines()
    assert [line for line in shown.splitlines() if len(line) > 80 and line not in as_they_are] == []
    prose = [line for line in shown.splitlines() if len(line) > 80 and line[:1] not in "#| "]
    fences = page.split("```")[1::2]
    assert [line for line in prose if not any(line in fence for fence in fences)] == []


def test_the_commands_and_their_order():
    """What one does first stands first."""
    names = [command.name for command in all_commands()]
    assert names == [
        "evaluate", "compare", "benchmark", "gate", "report", "board", "show", "classify", "inspect", "audit", "card",
        "check-table", "check-scorer", "trec", "help",
    ]  # fmt: skip
    places = [command.place for command in all_commands()]
    assert len(set(places)) == len(places)


@pytest.mark.thorough
def test_piped_output_equals_the_file():
    """In a process of its own, whose output is no terminal."""
    done = subprocess.run([sys.executable, "-m", "kgeval", "help", "trec"], capture_output=True, check=True)
    assert done.stdout.split() == PAGES["trec"].read_bytes().split()
    assert done.stderr == b""


def test_a_terminal_gets_a_pager(monkeypatch):
    """The page goes to the pager alone; nothing is printed after it."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown, terminal = [], Terminal()
    monkeypatch.setattr(help_command.pydoc, "pager", shown.append)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["help", "speed"]) == 0
    assert [text.split() for text in shown] == [PAGES["speed"].read_text(encoding="utf-8").split()]
    assert terminal.getvalue() == ""


def test_a_command_is_explained_by_its_options(capsys):
    """`kgeval help COMMAND` prints what `kgeval COMMAND --help` prints."""
    assert main(["help", "compare"]) == 0
    by_help = capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--help"])
    assert ended.value.code == 0
    assert by_help == capsys.readouterr().out
    assert by_help.startswith("usage: kgeval compare")


@pytest.mark.parametrize(("word", "nearest"), [("metrcs", "metrics"), ("modelss", "models"), ("evalute", "evaluate")])
def test_an_unknown_topic_names_the_nearest(capsys, word, nearest):
    """And every topic and command, for a word that is near to none."""
    assert main(["help", word]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"kgeval: no topic, command or metric is named {word!r}; did you mean {nearest!r}? "
        f"(topics: {', '.join(TOPICS)}; commands: {', '.join(command.name for command in all_commands())})\n"
    )


@pytest.mark.parametrize("word", ["", "quux", "\u05d0", "../qrst"])
def test_a_word_like_none_is_an_error_too(capsys, word):
    """No word reads a file outside the guide."""
    assert main(["help", word]) == 2
    assert capsys.readouterr().err.startswith(f"kgeval: no topic, command or metric is named {word!r} (topics: ")


@pytest.mark.parametrize(
    ("key", "first", "said"),
    [
        ("amri", "AMRI, a metric of ranks; its key is amri", "1 - (MR - 1) / (E[MR] - 1)"),
        ("amri", "AMRI, a metric of ranks; its key is amri", "Values: -1 to 1; higher is better."),
        ("mean_rank", "MR, a metric of ranks; its key is mr", "Values: 1 to inf; lower is better."),
        (
            "hits@10",
            "hits@10, a metric of ranks; its key is hits@10",
            "0 to 1; higher is better. Source: Bordes",
        ),
        (
            "query.map",
            "MAP, the macro average over queries of a metric of ranked lists; its key is query.map",
            "Mean average precision: the precision at the position of each relevant item, averaged over these items.",
        ),
        ("rmse", "RMSE, a metric of labelled predictions; its key is rmse", "0 to inf; lower is better"),
    ],
)
def test_the_meaning_of_a_metric(capsys, key, first, said):
    """What it measures, its range, which way is better, its source, and the page with more."""
    assert main(["help", key]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    assert paragraphs[0] == first
    assert said in " ".join(paragraphs)
    assert "\nMore: kgeval help " in text


def test_a_name_of_two_metrics_explains_both(capsys):
    """AUC of ranked lists and AUC of labelled predictions."""
    assert main(["help", "auc"]) == 0
    text = capsys.readouterr().out
    assert text.count("AUC, a metric of ") == 2


@pytest.mark.parametrize(
    ("word", "heads"),
    [
        (
            "mrr",
            [
                "MRR, a metric of ranks; its key is mrr",
                "RR, a metric of ranked lists; its key is rr (in a result query.rr)",
            ],
        ),
        (
            "fbeta",
            [
                "f1, a metric of ranked lists; its key is f1 (in a result query.f1)",
                "F1, a metric of labelled predictions; its key is f1",
            ],
        ),
    ],
)
def test_each_metric_of_a_name_has_its_own_key(capsys, word, heads):
    """mrr is also a synonym of rr of ranked lists, and fbeta is f1 unless beta is given."""
    assert main(["help", word]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "; its key is " in line] == heads


def test_the_options_of_a_first_evaluation_stand_first(capsys):
    """Settings that checkpoints and clusters need come after the output and the protocol."""
    assert main(["help", "evaluate"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: kgeval evaluate DATASET [OPTIONS]\n       with one of --model PATH, ")
    heads = (
        "\noptions:",
        "\noutput:",
        "\nprotocol ",
        "\nsample ",
        "\nhow to read ",
        "\nmodel settings ",
        "\nwhere to ",
    )
    places = [text.index(head) for head in heads]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("word", "page", "heading"),
    [
        ("early stopping", "models", "In a training loop"),
        ("why is this rank bad", "models", "Why does the model rank a triple so low?"),
        ("worst triples", "models", "Why does the model rank a triple so low?"),
        ("tail only", "protocol", "Settings"),
        ("resume", "running", "Stop and go on"),
        ("significant", "decisions", "Is A better than B?"),
        ("undecided", "decisions", "Is A better than B?"),
        ("parquet", "data", "Other files"),
        ("gpu", "speed", "Speed"),
        ("plots", "reporting", "Pictures"),
        ("temporal", "data", "Times and qualifiers"),
        ("latex", "reporting", "Into a paper, a spreadsheet, a tracker"),
        ("Ties", "protocol", "Ties"),
        ("filter", "protocol", "Settings"),
        ("negatives", "protocol", "A list of negatives for each triple"),
        ("draw negatives", "data", "Draw negatives"),
        ("PyKEEN", "integrations", "PyKEEN"),
        ("row order", "models", "Is the row order right?"),
        ("what is checked", "cards", "What is checked"),
    ],
)
@pytest.mark.light(5)
def test_a_word_prints_the_section_that_fits(capsys, word, page, heading):
    """The section, not the page (`help latex` printed 589 lines), and at most eight others."""
    assert main(["help", *word.split()]) == 0
    shown = capsys.readouterr().out
    text = PAGES[page].read_text(encoding="utf-8")
    start = text.index(f"# {heading}\n")
    section = re.split(r"\n##+ ", text[start:])[0].split()
    printed = shown.partition(f"From the page {page}:")[2].partition("Also about it (kgeval help HEADING")[0]
    assert printed.split()[1:] == section[1:]
    assert shown.count("\n- kgeval help ") <= 8
    assert len(shown.splitlines()) < 120


@pytest.mark.parametrize(
    ("query", "page", "heading"),
    [
        ("worst", "models", "Why does the model rank a triple so low?"),
        ("seeds", "benchmark", "Seeds and triples"),
        ("latex", "reporting", "Into a paper, a spreadsheet, a tracker"),
        ("early stopping", "models", "In a training loop"),
        ("tail only", "protocol", "Settings"),
        ("sample", "protocol", "A part of the test split"),
        ("mmap", "speed", "Millions of entities"),
        ("by relation", "decisions", "Where is a model good?"),
        ("negatives", "protocol", "A list of negatives for each triple"),
        ("ties", "protocol", "Ties"),
        ("filtered", "protocol", "Raw and filtered"),
        ("raw", "protocol", "Raw and filtered"),
        ("pykeen", "integrations", "PyKEEN"),
        ("checkpoint", "checkpoints", "Checkpoints"),
        ("resume", "running", "Stop and go on"),
        ("ray", "running", "A cluster in ten lines"),
        ("gpu", "speed", "Speed"),
        ("plot", "reporting", "Pictures"),
        ("compare models", "decisions", "Is A better than B?"),  # compare alone prints the options of the command
        ("p-value", "decisions", "Is A better than B?"),
    ],
)
def test_the_first_section_for_what_users_ask(query, page, heading):
    """Each section stands once, also if its heading was asked for."""
    found = search(query)
    assert (found[0].page, found[0].heading) == (page, heading)
    assert len(set(found)) == len(found)


def test_each_answer_is_a_heading_of_the_guide():
    """A heading that is renamed is renamed in the table of answers too."""
    headings = [section.heading for section in sections()]
    assert [headings.count(heading) for heading in ANSWERS.values()] == [1] * len(ANSWERS)


def test_an_option_is_explained_with_its_commands(capsys):
    """With or without its hyphens; two meanings are two lines."""
    assert main(["help", "--worst"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Option --worst of show: list the N worst ranked triples\n")
    assert main(["help", "worst"]) == 0
    assert capsys.readouterr().out == shown
    assert main(["help", "by"]) == 0
    assert capsys.readouterr().out.startswith("Option --by of evaluate, show: break down by columns,")


def test_an_error_is_explained(capsys):
    """By its name, in any case; its message finds a section with most of its words."""
    assert main(["help", "outofmemory"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("OutOfMemory: A ranking needs more memory than is free; the message says what to change.")


def test_lines_of_options_are_broken_between_words(capsys):
    """argparse would also break them at hyphens, as in --dataset-\nformat."""
    for command in all_commands():
        assert main(["help", command.name]) == 0
        shown = capsys.readouterr().out
        assert not re.search(r"[a-z]-$", shown, re.MULTILINE)


def test_a_cut_off_that_lacks_is_ten(capsys):
    """hits is hits@10."""
    assert main(["help", "hits"]) == 0
    assert capsys.readouterr().out.startswith("hits@10, a metric of ranks; its key is hits@10\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("evaluate", "f", "--modle", "a.npz"),
            "evaluate has no option --modle; did you mean '--model'? See kgeval evaluate",
        ),
        (
            ("evaluate", "f", "--modle=a.npz"),
            "evaluate has no option --modle; did you mean '--model'? See kgeval evaluate",
        ),
        (
            ("evaluate", "f", "-model", "a.npz"),
            "evaluate has no option -model; did you mean '--model'? See kgeval evaluate",
        ),
        (("show", "f", "--quux"), "show has no option --quux; see kgeval show"),
    ],
)
def test_a_misspelt_option_names_the_nearest(capsys, words, said):
    """Before any other fault: the option that the typo stands for is missing only because of the typo."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"kgeval: kgeval {said} --help\n"


def test_options_may_be_abbreviated_or_joined_with_their_value(capsys):
    """-l2 is -l 2, --met is --metrics; after -- no word is an option. The missing file is then the only fault."""
    for words in (("trec", "-l2", "-q", "qrels", "run"), ("trec", "--spread", "--to=csv", "--", "qrels", "--run")):
        assert main(list(words)) == 2
        assert capsys.readouterr().err == "kgeval: qrels: no such file\n"


def test_a_misspelt_command_names_the_nearest(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["evaluat", "folder"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(
        "kgeval: no command is named 'evaluat'; did you mean 'evaluate'? (evaluate, "
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("export", "export is now: kgeval show RUN.kgeval -o FILE"),
        ("explain", "explain is now: kgeval show RUN.kgeval --explain SUBJECT RELATION OBJECT"),
        ("datasets", "datasets is now: kgeval inspect --datasets"),
        ("verify", "verify is now: kgeval card --check CARD.json RUN.kgeval"),
    ],
)
def test_old_commands_answer_in_one_line(capsys, command, said):
    """Whatever follows them."""
    with pytest.raises(SystemExit) as ended:
        main([command, "x", "--quux"])
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", f"kgeval: kgeval {said}\n")


def test_topics_may_be_written_in_capitals(capsys):
    """MODELS is the page models."""
    assert main(["help", "MODELS"]) == 0
    shown = capsys.readouterr().out
    assert main(["help", "models"]) == 0
    assert shown == capsys.readouterr().out != ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "graph", "--side", "tail"), "--side is now --sides"),
        (("evaluate", "graph", "--split=valid"), "--split is now --splits; --split-files names the files of splits"),
        (("evaluate", "graph", "--score", "m:f"), "--score is now --scorer"),
        (("evaluate", "graph", "--from", "npz"), "--from is now --model-format, or --predictions-format"),
        (("evaluate", "graph", "--format", "csv"), "--format is now --to"),
        (
            ("evaluate", "graph", "--negatives", "5"),
            "--negatives: use --candidates FILE, a file with a list of negatives for each triple",
        ),
        (("compare", "a", "b", "--seed", "1"), "--seed is now --resample-seed: the seed of the random swaps"),
        (("classify", "graph", "--seed", "1"), "--seed is now --sample-seed: the seed of the random negatives"),
        (("evaluate", "graph", "--checkpoint", "d"), "--checkpoint is now --run-folder"),
        (
            ("classify", "graph", "--max-pairs", "9"),
            "--max-pairs is now --batch-size: the number of pairs of a query and a candidate that are scored at once",
        ),
    ],
)
def test_old_options_answer_with_the_new_ones(capsys, words, said):
    """H33: `--side` is not taken for an abbreviation of `--sides`, which would hide that the names changed."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"kgeval: {said}; see kgeval {words[0]} --help\n"
