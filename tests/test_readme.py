"""The README and the guide are true: snippets and commands run, printed output is real, links lead somewhere."""

import importlib.util
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import kgeval
from kgeval.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "kgeval" / "guide").glob("*.md"))
CONTRIBUTORS = sorted((ROOT / ".github").rglob("*.md"))
LIGHT = ("README", "integrations", "predictions")  # pages whose blocks run in the light suite; .ci/run runs all
COMMANDS = [
    "pip install . && kgeval evaluate data/countries --model data/countries/complex.npz",
    'pip install ".[test]" && pytest',
]
EXTRAS = {
    "report": ("matplotlib",),
    "sklearn": ("sklearn",),
    "stats": ("scipy",),
    "torch": ("torch",),
    "parquet": ("pyarrow",),
    "torchmetrics": ("torch", "torchmetrics"),
    "peers": ("pykeen", "torch"),
    "processes": ("loky",),
    "ray": ("ray",),
}


def blocks(text, *languages):
    """Each fenced block in these languages, all where none is named: (language, content)."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)
    return [(language, content) for language, content in found if not languages or language in languages]


def lacking(content):
    """The extra that a block needs, ``.[name]``, and that is not installed; or None."""
    for extra in re.findall(r"^# needs: .*\[(\w+)\]", content, re.M):
        if any(importlib.util.find_spec(module) is None for module in EXTRAS[extra]):
            return extra
    return None


def run_command(line, capsys):
    """What a command of kgeval prints; it may end with 1 only if that is its answer, as check-table's."""
    arguments = shlex.split(line)
    assert arguments.pop(0) == "kgeval"
    capsys.readouterr()
    assert main(arguments) in ((0, 1) if arguments[0] == "check-table" else (0,)), line
    return capsys.readouterr().out


def check_output(line, expected, printed):
    """What is printed is the expected text, but for blank lines.

    A line ``...`` stands for one line or more; ``...`` at the end of a line stands for the rest of the line.
    """
    wanted = [want for want in expected if want.strip()]
    if not wanted:
        return
    real = "".join(have + "\n" for have in printed.splitlines() if have.strip())
    ends = {want: r"(?:.*\n)+?" if want == "..." else r".*\n" for want in wanted if want.endswith("...")}
    pattern = "".join(re.escape(want.removesuffix("...")) + ends.get(want, r"\n") for want in wanted)
    assert re.fullmatch(pattern, real), f"{line} prints\n{real}and not\n" + "\n".join(wanted)


def run_blocks(page, folder, capsys):
    """Run a page as a reader would: in order, in one folder that has `data`, Python in one namespace.

    Return the extras that blocks lacked; these blocks were left out.
    """
    shutil.copytree(ROOT / "data", folder / "data")
    namespace, missing, printed = {}, set(), ""
    for number, (language, content) in enumerate(blocks(page.read_text(encoding="utf-8")), start=1):
        if lacking(content):
            missing.add(lacking(content))
        elif language == "python" and (name := re.match(r"# (\w+\.py)\n", content)):
            (folder / name[1]).write_text(content, encoding="utf-8")
        elif language == "python":
            capsys.readouterr()
            exec(compile(content, f"{page.name}, block {number}", "exec"), namespace)
            printed = capsys.readouterr().out or printed  # a block of text shows what the block above it prints
        elif language == "console":
            for part in re.split(r"^\$ ", content, flags=re.M)[1:]:
                line, *expected = part.splitlines()
                check_output(line, expected, run_command(line, capsys))
        elif language == "bash" and (command := re.search(r"&& (kgeval .*)", content)):
            printed = run_command(command[1], capsys)
        elif language == "text":
            check_output(f"block {number}", content.splitlines(), printed)
        elif language == "sh":
            for line in content.replace("\\\n", " ").splitlines():
                if line.startswith("kgeval "):
                    run_command(line, capsys)
    return missing


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page.stem in LIGHT else [pytest.mark.thorough])
        for page in (ROOT / "README.md", *PAGES)
    ],
    ids=lambda page: page.stem,
)
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    """Snippets, their asserts, commands, and the output beside them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    missing = run_blocks(page, tmp_path, capsys)
    for name in ("baseline",):  # modules that a page wrote, of which each has its own
        sys.modules.pop(name, None)
    if missing:
        pytest.skip(f"the blocks of {page.name} that need kgeval[{','.join(sorted(missing))}] were left out")


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_blocks_have_a_language_that_is_known(page):
    """So that none is left out unseen: a page's Python and its commands run, and its text is what a command prints."""
    languages = {language for language, _ in blocks(page.read_text(encoding="utf-8"))}
    assert languages <= {"python", "sh", "console", "bash", "text", "bibtex", "yaml"}


def test_the_workflow_uses_the_inputs_of_the_action():
    """The only block in YAML is that of the guide's page on decisions: a workflow with the gate."""
    found = [block for page in [ROOT / "README.md", *PAGES] for _, block in blocks(page.read_text("utf-8"), "yaml")]
    action = (ROOT / ".github" / "actions" / "gate" / "action.yml").read_text(encoding="utf-8")
    inputs = re.findall(r"^  (\w+):$", action[: action.index("runs:")], re.M)
    assert len(found) == 1
    given = re.search(r"/actions/gate@REF\n +with: \{(.*)\}", found[0])
    assert re.findall(r"(\w+):", given[1]) == inputs[:4] == ["run", "against", "metric", "margin"]


def test_ci_runs_the_commands_of_the_readme():
    """The two commands stand word for word in .ci/run."""
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = [line for _, block in blocks(readme, "bash") for line in block.splitlines() if line.startswith("pip ")]
    assert found == COMMANDS
    for command in COMMANDS:
        assert command in text


def test_readme_is_short():
    """At most 180 lines, and blocks of at most 80 columns, but for the main job, which is one command."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 180
    assert [line for _, block in blocks(text) for line in block.splitlines() if len(line) > 80] == COMMANDS[:1]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES, *CONTRIBUTORS], ids=lambda page: page.stem)
def test_relative_links_resolve(page):
    """A link without ``https:`` leads to a file of the project, and its ``#part`` to a heading there."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text):
        if re.match(r"\w+:", link):
            continue
        path, _, part = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert ROOT in target.resolve().parents
        if part:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert part in anchors, f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_starts_with_its_question(page):
    """`kgeval help` lists it; an answer in code follows at once, among the first 30 lines."""
    title, question, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert re.fullmatch(r"# [A-Z][\w ,]+", title)
    assert re.fullmatch(r"\*[A-Z][^\n]*\?\*", question)
    first = page.read_text(encoding="utf-8").splitlines()[:30]
    assert any(line.startswith("```") for line in first)


def test_every_page_is_named_in_the_readme():
    """So that a reader who starts there finds it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"(kgeval/guide/{page.name}" not in readme] == []


def test_module_runs_as_a_command(monkeypatch, capsys):
    """``python -m kgeval --version`` prints the version."""
    monkeypatch.setattr(sys, "argv", ["kgeval", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("kgeval", run_name="__main__")
    assert (ended.value.code, capsys.readouterr().out.strip()) == (0, f"kgeval {kgeval.__version__}")
