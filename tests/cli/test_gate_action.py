"""The GitHub Action of the gate: its inputs reach the command, and its shell commands run with real files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ranked_results import ranked

ACTION = Path(__file__).resolve().parents[2] / ".github" / "actions" / "gate" / "action.yml"
pytestmark = pytest.mark.skipif(not ACTION.exists(), reason="not in a checkout: .github is not in a package")


def text():
    return ACTION.read_text(encoding="utf-8")


def command_of(step):
    """The shell text of a step, without its indentation."""
    part = text().split(f"- name: {step}\n")[1].split("- name:")[0]
    block = re.search(r"\n      run: \|\n((?:        .*\n?)+)", part)
    if block:
        return "".join(f"{line[8:]}\n" for line in block[1].splitlines())
    return re.search(r"\n      run: (.*)", part)[1]


def test_inputs_are_declared_and_used():
    """Each input is read into a variable of the environment: text in it cannot become a command."""
    inputs = re.findall(r"^  ([a-z]+):\n    description", text(), re.M)
    assert inputs == ["run", "against", "metric", "margin", "strict", "package"]
    used = re.findall(r"^        ([A-Z]+): \$\{\{ inputs\.([a-z]+) \}\}$", text(), re.M)
    assert sorted(name for _, name in used) == sorted(inputs)
    assert all(variable == name.upper() for variable, name in used)
    for step in ("Install kgeval", "Gate"):
        assert "${{" not in command_of(step)
    assert re.findall(r"required: true", text()) == ["required: true"] * 4
    assert "using: composite" in text()
    assert text().count("shell: bash") == 2


def test_it_is_yaml():
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(text())
    assert [step["name"] for step in content["runs"]["steps"]] == ["Install kgeval", "Gate"]
    assert content["runs"]["steps"][1]["run"] == command_of("Gate")
    assert content["inputs"]["strict"]["default"] == "false"


def test_it_installs_the_repository_that_holds_the_action():
    """GITHUB_ACTION_PATH is the folder of the action; three folders above is the one with pyproject.toml."""
    assert command_of("Install kgeval") == 'python -m pip install --quiet "${PACKAGE:-$GITHUB_ACTION_PATH/../../..}"'
    assert (ACTION.parent / ".." / ".." / ".." / "pyproject.toml").resolve().exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("action")
    rng = np.random.default_rng(1)
    base = rng.integers(1, 30, 60)
    for name, ranks in (("base line", base), ("run", base + rng.integers(1, 7, 60))):
        ranked(ranks, name).save(folder / f"{name}.kgeval", details=False)
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "python").symlink_to(sys.executable)
    return folder


@pytest.mark.parametrize(
    ("strict", "passed"),
    [("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False), ("FALSE", False), ("", False),
     ("yes", None), ("1", None), (" true", None), ("tRUE", None), ("$(exit 3)", None)],
)  # fmt: skip
def test_strict_is_true_or_false(tmp_path, strict, passed):
    """Anything else ends with 2 and a message, and no gate runs; `python` only prints its arguments."""
    stub = tmp_path / "python"
    stub.write_text('#!/bin/sh\necho "$@"\n')
    stub.chmod(0o755)
    names = {name: name.lower() for name in ("RUN", "AGAINST", "METRIC", "MARGIN")}
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "STRICT": strict, **names}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command_of("Gate")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if passed is None:
        message = f'kgeval gate: strict must be true or false; got "{strict}"\n'
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
        return
    expected = "-m kgeval gate run --against against --metrics metric --margin margin" + " --strict" * passed
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{expected}\n", "")


@pytest.mark.thorough
@pytest.mark.parametrize(("margin", "strict", "status"), [("1", "false", 1), ("9", "true", 0), ("x", "false", 2)])
def test_the_command_runs(folder, margin, strict, status):
    """With the exit code of the gate, its text, and a summary; a space in a file name does no harm."""
    root = Path(__file__).resolve().parents[2]
    summary = folder / f"summary-{margin}.md"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
        "RUN": "run.kgeval",
        "AGAINST": "base line.kgeval",
        "METRIC": "mr",
        "MARGIN": margin,
        "STRICT": strict,
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command_of("Gate")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    if status == 2:
        assert "--margin needs numbers" in done.stderr
        return
    assert f"gate{' (strict)' if strict == 'true' else ''}: " + ("FAILS" if status else "passes") in done.stdout
    assert done.stdout in summary.read_text(encoding="utf-8")
