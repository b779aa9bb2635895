"""`kgeval help`: the list of commands and topics, the pages, and the word that was probably meant."""

import io
import subprocess
import sys
from importlib import resources

import pytest

from kgeval.cli import main
from kgeval.cli.commands import all_commands
from kgeval.cli.commands import help as help_command

PAGES = {file.name.removesuffix(".md"): file for file in (resources.files("kgeval") / "guide").iterdir()}
TOPICS = [
    "classification", "data", "decisions", "lists", "metrics", "models", "other-tools", "protocol", "speed", "trec",
]  # fmt: skip


def test_the_guide_has_these_pages(root):
    """The installed package has all of them, as they stand in the repository."""
    assert sorted(PAGES) == TOPICS
    for topic, file in PAGES.items():
        assert file.read_bytes() == (root / "kgeval" / "guide" / f"{topic}.md").read_bytes()


@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_the_overview_lists_every_command_and_topic_once(capsys, arguments):
    """`kgeval` alone is `kgeval help`; each line ends with what the command or the page is about."""
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
    assert "Topics; kgeval help TOPIC prints the page:" in capsys.readouterr().out


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_is_printed_as_it_is(capsys, topic):
    """To a pipe or a file, not a byte more or less."""
    assert main(["help", topic]) == 0
    assert capsys.readouterr().out == PAGES[topic].read_text(encoding="utf-8")


@pytest.mark.thorough
def test_piped_output_equals_the_file():
    """In a process of its own, whose output is no terminal."""
    done = subprocess.run([sys.executable, "-m", "kgeval", "help", "trec"], capture_output=True, check=True)
    assert done.stdout.replace(b"\r\n", b"\n") == PAGES["trec"].read_bytes()
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
    assert (shown, terminal.getvalue()) == ([PAGES["speed"].read_text(encoding="utf-8").rstrip("\n")], "")


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
        f"kgeval: no topic and no command is named {word!r}; did you mean {nearest!r}? Topics: {', '.join(TOPICS)}; "
        f"commands: {', '.join(command.name for command in all_commands())}\n"
    )


@pytest.mark.parametrize("word", ["", "quux", "\u05d0", "../data"])
def test_a_word_like_none_is_an_error_too(capsys, word):
    """No word reads a file outside the guide."""
    assert main(["help", word]) == 2
    assert capsys.readouterr().err.startswith(f"kgeval: no topic and no command is named {word!r}; did you mean ")


def test_topics_may_be_written_in_capitals(capsys):
    """MODELS is the page models."""
    assert main(["help", "MODELS"]) == 0
    shown = capsys.readouterr().out
    assert main(["help", "models"]) == 0
    assert shown == capsys.readouterr().out != ""
