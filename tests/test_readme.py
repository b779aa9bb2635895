"""The README is true: its snippets run, its commands are those of .ci/run, its output is what comes out."""

import re
import subprocess
import sys

import pytest

from kgeval.cli import main


def blocks(root, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (root / "README.md").read_text(encoding="utf-8"), re.S | re.M)


def test_python_snippets_run_in_order(root, monkeypatch):
    """All snippets share one namespace, as a reader would type them; their asserts hold."""
    monkeypatch.chdir(root)
    snippets = blocks(root, "python")
    assert len(snippets) >= 8
    namespace = {}
    for number, snippet in enumerate(snippets):
        exec(compile(snippet, f"README.md, snippet {number}", "exec"), namespace)
    assert abs(namespace["result"]["amri"]) < 0.1


def test_ci_runs_the_commands_of_the_readme(root):
    """The two commands stand word for word in .ci/run."""
    text = (root / ".ci" / "run").read_text(encoding="utf-8")
    commands = [block.strip() for block in blocks(root, "") if block.startswith("pip install")]
    assert commands == [
        "pip install . && kgeval evaluate data/countries --model data/countries/complex.npz",
        'pip install ".[test]" && pytest',
    ]
    for command in commands:
        assert command in text


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["evaluate", "data/countries", "--model", "data/countries/complex.npz"], "countries: 901"),
        (["evaluate", "data/worked-example", "--scores", "data/worked-example/scores.tsv"], "rank  of"),
    ],
)
def test_printed_output_is_real(root, monkeypatch, capsys, arguments, first):
    """Every line of the output blocks (but the shortened one) is printed by the command above it."""
    monkeypatch.chdir(root)
    assert main(arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    (block,) = [block for block in blocks(root, "") if block.startswith(first)]
    for line in block.splitlines():
        if line.endswith(", ..."):
            assert any(real.startswith(line.removesuffix("...")) for real in printed)
        else:
            assert line in printed


def test_module_runs_as_a_command(root):
    """``python -m kgeval --version`` prints the version."""
    found = subprocess.run([sys.executable, "-m", "kgeval", "--version"], capture_output=True, text=True, cwd=root)
    assert (found.returncode, found.stdout.strip()) == (0, "kgeval 0.1.0")
