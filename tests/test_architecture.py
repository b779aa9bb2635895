"""The rules of the house, read from the source: who imports whom, windows, docstrings, the cost of an import."""

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(importlib.util.find_spec("kgeval").origin).parent
FILES = {path.relative_to(PACKAGE.parent): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = {".".join(relative.with_suffix("").parts).removesuffix(".__init__"): p for relative, p in FILES.items()}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
KINDS = (ast.Import, ast.ImportFrom, ast.Call, ast.Assert, ast.ExceptHandler, ast.Raise)  # what the tests look for
NODES = {name: [node for node in ast.walk(tree) if isinstance(node, KINDS)] for name, tree in TREES.items()}
TYPED = {  # imports that only a type checker reads: a module may name the class that calls it
    id(node)
    for tree in TREES.values()
    for block in ast.walk(tree)
    if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
    for node in ast.walk(block)
}
DRAWN = {  # a value reaches display, which stands above it, where it shows itself in a notebook, and nowhere else
    id(node)
    for tree in TREES.values()
    for function in ast.walk(tree)
    if isinstance(function, ast.FunctionDef) and function.name == "_repr_html_"
    for node in ast.walk(function)
    if isinstance(node, ast.ImportFrom) and node.module == "kgeval.display"
}
PUBLIC = next(
    ast.literal_eval(node.value)
    for node in TREES["kgeval"].body
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
)

ORDER = (  # who imports whom: each row from the rows below it only, never from its own
    ("cli", "__init__", "__main__"),
    ("report", "trec", "integrations", "other_tools"),
    ("benchmarks", "classification"),
    ("comparison", "plausibility"),
    ("evaluation",),
    ("results", "adapters"),
    ("ranking", "display"),
    ("formats",),
    ("scorers", "audit"),
    ("metrics", "kernels", "features"),
    ("data", "stats"),
    ("base",),
    ("errors", "_version"),
)
FLOOR = {part: len(ORDER) - i for i, row in enumerate(ORDER) for part in row}
LOOSE = {"__init__", "__main__", "_version", "errors"}
OPTIONAL = {
    "h5py", "matplotlib", "pooch", "pyarrow", "pyoxigraph", "ray", "safetensors", "scipy", "sklearn", "torch",
    "triton",
}  # fmt: skip
TOP_LEVEL = {"pyproject.toml", "README.md", "LICENSE", "kgeval", "tests", "data"}
WITHOUT_EXAMPLE = {
    "load_model": "needs a file of parameters",
    "load_result": "needs a file that a result was saved to",
    "Stopped": "Ctrl-C raises it",
    "read_candidates": "needs a file of lists",
    "read_dataset": "needs a folder of files",
    "read_negatives": "needs a folder of files",
    "read_predictions": "needs a file of predictions",
    "read_scores": "needs a file of scores",
}


def part_of(module):
    """The package of kgeval, or loose module, that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def is_window(module):
    """Whether a module is the ``__init__`` of a package, or a loose module, which is its own window."""
    return MODULES[module].name == "__init__.py" or part_of(module) in LOOSE


@functools.cache
def imports(module, typed=True):
    """A list of (line, module of kgeval, name or None) that `module` imports, also inside functions."""
    found = []
    for node in NODES[module]:
        if id(node) in TYPED and not typed:
            continue
        if id(node) in DRAWN:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "kgeval"]
            found += [(node.lineno, name, None) for name in names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: a relative import"
            if (node.module or "").split(".")[0] == "kgeval":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    known = inner in MODULES
                    found.append((node.lineno, inner, None) if known else (node.lineno, node.module, alias.name))
    return found


def test_every_module_has_a_place():
    """A new package is given a place in the order of imports; no module but four lies loose."""
    assert {part_of(module) for module in MODULES} <= set(FLOOR)
    assert {path.stem for path in PACKAGE.glob("*.py")} == LOOSE


def test_imports_go_down():
    """No module imports from a package above its own, or beside it."""
    wrong = [
        f"{module}, line {line}: {target}"
        for module in MODULES
        for line, target, _ in imports(module)
        if part_of(target) != part_of(module) and FLOOR[part_of(target)] >= FLOOR[part_of(module)]
        if not (part_of(module) == "cli" and target == "kgeval")  # it makes the same public calls as a user
        if not (module in ("kgeval", "kgeval.__main__") and target.startswith("kgeval."))
    ]
    assert wrong == []


def passes_on(module):
    """Whether a module is among the names that the ``__init__`` of its package lists, as `kgeval.candidates` is."""
    package, _, name = module.rpartition(".")
    lists = [
        node.value for node in TREES[package].body if ast.unparse(getattr(node, "targets", [node])[0]) == "__all__"
    ]
    return bool(lists) and name in ast.literal_eval(lists[0])


def test_outsiders_import_windows():
    """From another package a module imports names of a window, or of a module that a window lists, nothing behind them.

    A window that would pass on many names lists the modules that hold them instead: `kgeval.kernels` lists
    `geometry`, so ``from kgeval.kernels.geometry import exact_scores`` is allowed everywhere above `kernels`.
    """
    wrong = [
        f"{module}, line {line}: {target}"
        for module in MODULES
        for line, target, name in imports(module)
        if part_of(target) != part_of(module) and not is_window(target) and not passes_on(target)
        if module != "kgeval"  # the window of the whole house
    ]
    assert wrong == []


def test_windows_list_at_most_300_names():
    """The windows of all packages together; kgeval's own at most 50."""
    lists = [
        ast.literal_eval(node.value)
        for module, tree in TREES.items()
        if MODULES[module].name == "__init__.py"
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert sum(map(len, lists)) <= 300
    assert len(PUBLIC) <= 50


def test_imports_have_no_cycle():
    """Also within a package one module comes first; windows of packages inside others included."""
    graph = {module: {target for _, target, _ in imports(module, typed=False)} - {module} for module in MODULES}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")
    assert set(order) == set(MODULES)


def test_no_module_is_named_like_what_it_holds():
    """``import kgeval.x.y`` then never finds a function instead of a module."""
    named = [
        module
        for module, tree in TREES.items()
        for node in tree.body
        if getattr(node, "name", None) == module.rpartition(".")[2]
    ]
    assert named == []


def test_private_names_stay_in_their_module():
    """A leading underscore means: of this module alone. The version is the one exception."""
    private = [
        f"{module}, line {line}: {target}.{name or ''}"
        for module in MODULES
        for line, target, name in imports(module)
        if target != "kgeval._version" and any(re.match(r"_[^_]", part) for part in [*target.split("."), name or ""])
    ]
    assert private == []


def test_only_the_command_line_prints():
    """Everything else returns, raises or warns."""
    printing = [
        f"{module}, line {node.lineno}"
        for module, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print" and part_of(module) != "cli"
    ]
    assert printing == []


def test_no_assert_bare_except_or_unfinished_work():
    """`python -O` strips an assert; a bare except hides an interrupt; nothing is left for later."""
    found = []
    for module, nodes in NODES.items():
        found += [f"{module}, line {node.lineno}: assert" for node in nodes if isinstance(node, ast.Assert)]
        found += [
            f"{module}, line {n.lineno}: except" for n in nodes if isinstance(n, ast.ExceptHandler) and not n.type
        ]
        text = MODULES[module].read_text(encoding="utf-8")
        if "NotImplemented" in text:
            raised = [(node.lineno, ast.unparse(node)) for node in nodes if isinstance(node, ast.Raise)]
            found += [f"{module}, line {number}: {line}" for number, line in raised if "NotImplemented" in line]
        for word in re.finditer(r"\b(?:TODO|FIXME|XXX)\b", text):
            found.append(f"{module}, line {text.count(chr(10), 0, word.start()) + 1}: {word[0]}")
    assert found == []


def test_no_table_is_asked_by_a_text():
    """`DataFrame.query` reads the variables of its callers' frames: Python 3.13.0 with pandas 3.1 crashes there."""
    calls = {
        module: node.lineno
        for module, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "query"
    }
    assert calls == {}


def test_every_module_and_public_function_has_a_docstring():
    """Public: no leading underscore in its name or its class's, and not inside a function."""
    bare = []
    for module, tree in TREES.items():
        bare += [] if ast.get_docstring(tree) else [module]
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        named = [node for scope in (tree, *classes) for node in scope.body if hasattr(node, "name")]
        hidden = {id(node) for scope in classes if scope.name.startswith("_") for node in scope.body}
        bare += [
            f"{module}, line {node.lineno}: {node.name}"
            for node in named
            if not node.name.startswith("_") and id(node) not in hidden and not ast.get_docstring(node)
        ]
    assert bare == []


def test_import_is_light():
    """In a fresh interpreter kgeval loads nothing large beside numpy and pandas: no optional library, bar or reader.

    What pandas loads itself (pyarrow, where installed) is not ours.
    """
    code = (
        "import sys, json, numpy, pandas; before = set(sys.modules); import kgeval;"
        "print(json.dumps([sorted(before), sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    before, loaded = map(set, json.loads(done.stdout))
    assert "kgeval" in loaded - before
    assert {name.split(".")[0] for name in loaded - before} & OPTIONAL == set()
    assert loaded & {"asyncio", "tqdm", "http.server", "xml.etree", "sqlite3", "multiprocessing.pool"} == set()
    rooms = {name.split(".")[1] for name in loaded if name.startswith("kgeval.")}
    assert rooms & {"formats", "report", "cli", "metrics", "results", "evaluation", "comparison", "stats"} == set()
    assert rooms & {"benchmarks", "classification", "display", "plausibility"} == set()


def test_public_names_are_all_there_and_no_others_are_shown():
    """`dir` shows the public names, each once, and nothing that was imported on the way."""
    kgeval = importlib.import_module("kgeval")
    assert len(set(PUBLIC)) == len(PUBLIC)
    assert all(hasattr(kgeval, name) for name in PUBLIC)
    assert [name for name in dir(kgeval) if not name.startswith("__")] == sorted(set(PUBLIC) - {"__version__"})


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_public_names_are_documented_with_an_example(name):
    """Errors are raised, not called; the others show a doctest, or WITHOUT_EXAMPLE says why not."""
    thing = getattr(importlib.import_module("kgeval"), name)
    text = inspect.getdoc(thing) or ""
    assert len(text.partition("\n")[0]) > 20
    if inspect.ismodule(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return
    has_example = re.search(r"^Examples\n-{8}\n(.*\n)*?>>> ", text, re.M) is not None
    assert has_example or name in WITHOUT_EXAMPLE


def test_the_top_level_holds_what_the_design_names(root):
    """Code, tests, small data and three files; everything else is a dotfile."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git cannot list the files: {error}")
    names = {line.split("/")[0].strip('"') for line in done.stdout.splitlines()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_the_map_of_the_house_names_files_that_exist(root):
    """In each row of ARCHITECTURE.md about rooms; a module that is renamed is renamed there."""
    rows = (root / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    named = [
        (re.findall(r"`(\w+)/`", row.split("|")[1]), re.findall(r"`([\w/]+\.py)`", row))
        for row in rows
        if row[:1] == "|"
    ]
    lacking = [
        (rooms, file)
        for rooms, files in named
        for file in files
        if rooms and not any((PACKAGE / room / file).is_file() for room in (*rooms, "."))
    ]
    assert sum(len(files) for rooms, files in named if rooms) > 30
    assert lacking == []


def test_the_oracle_knows_nothing_of_kgeval(root):
    """A reference that shares code with what it checks would share its faults."""
    tree = ast.parse((root / "tests" / "oracle.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"math", "statistics", "fractions"}
