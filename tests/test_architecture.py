"""The rules of the house, read from the source: layers, sizes, names, docstrings, the cost of an import."""

import ast
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
PUBLIC = next(
    ast.literal_eval(node.value)
    for node in TREES["kgeval"].body
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
)
EVERY_MODULE = pytest.mark.parametrize("module", MODULES)

LAYERS = {
    0: "errors checks _version",
    1: "triples ranks stats archive",
    2: "dataset queries metrics",
    3: "corruption scores scoring probe models kernels features",
    4: "ranking protocol",
    5: "executors results record result_files measuring explaining joining assembly keys query_lists "
    "classification_result",
    6: "evaluate listed sources",
    7: "io report comparison comparability differences sanity negative_sets classification",
    8: "cli __init__ __main__",
}
LAYER = {part: layer for layer, parts in LAYERS.items() for part in parts.split()}
MODULE_LINES, FUNCTION_LINES, PUBLIC_NAMES = 450, 55, 30
OPTIONAL = {"torch", "triton", "ray", "matplotlib", "plotly", "sklearn", "scipy", "pyarrow"}
TOP_LEVEL = {"pyproject.toml", "README.md", "LICENSE", "kgeval", "tests", "data"}
WITHOUT_EXAMPLE = {
    "ScorerReport": "check_scorer makes it, and shows it",
    "load_model": "needs a file of parameters",
    "load_result": "needs a file that a result was saved to",
    "read_dataset": "needs a folder of files",
    "read_negatives": "needs a folder of files",
    "read_scores": "needs a file of scores",
}


def part_of(module):
    """The name under which a module stands in the table: of a package, the package's."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(module):
    """Each (line, module of kgeval, name or None) that `module` imports, also inside functions."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "kgeval":
                    yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: a relative import"
            if (node.module or "").split(".")[0] == "kgeval":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield ((node.lineno, inner, None) if inner in MODULES else (node.lineno, node.module, alias.name))


def module_aliases(module):
    """Each (full name, name here) that `module` imports with ``from``."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in node.names)


def calls(tree):
    """Each called name with its line: ``f`` of ``f(x)``, ``m`` of ``a.b.m(x)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            yield name, node.lineno


def functions(tree):
    """Every function and method, nested ones too."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def function(module, name):
    """The function `name`, or method ``Class.name``, of a module."""
    scope = TREES[module]
    for part in name.split("."):
        scope = next(node for node in scope.body if getattr(node, "name", None) == part)
    return scope


@EVERY_MODULE
def test_every_module_stands_in_a_layer(module):
    """A new module or package must be given a place in the table of layers."""
    assert part_of(module) in LAYER


@EVERY_MODULE
def test_imports_go_down_or_sideways(module):
    """No module imports from a layer above its own."""
    layer = LAYER[part_of(module)]
    upward = [
        f"line {line}: {target}, from layer {layer}"
        for line, target, _ in imports(module)
        if LAYER.get(part_of(target), 9) > layer
    ]
    assert upward == []


def test_imports_have_no_cycle():
    """Also within a layer one module comes first."""
    graph = {module: {target for _, target, _ in imports(module)} - {module} for module in MODULES}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")
    assert set(order) == set(MODULES)


@EVERY_MODULE
def test_private_names_stay_in_their_module(module):
    """A leading underscore means: of this module alone. The version is the one exception."""
    private = [
        f"line {line}: {target}.{name or ''}"
        for line, target, name in imports(module)
        if target != "kgeval._version"
        and any(part.startswith("_") and not part.startswith("__") for part in [*target.split("."), name or ""])
    ]
    modules = {alias for target, alias in module_aliases(module) if target in MODULES} | {"kgeval"}
    private += [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr) and ast.unparse(node.value) in modules
    ]
    assert private == []


@EVERY_MODULE
def test_only_the_command_line_prints(module):
    """Everything else returns, raises or warns."""
    printing = [line for name, line in calls(TREES[module]) if name == "print"]
    assert printing == [] or part_of(module) == "cli"


@EVERY_MODULE
def test_no_assert_bare_except_or_unfinished_work(module):
    """`python -O` strips an assert; a bare except hides an interrupt; nothing is left for later."""
    nodes = list(ast.walk(TREES[module]))
    found = [f"line {node.lineno}: assert" for node in nodes if isinstance(node, ast.Assert)]
    found += [f"line {n.lineno}: bare except" for n in nodes if isinstance(n, ast.ExceptHandler) and not n.type]
    found += [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in nodes
        if isinstance(node, ast.Raise) and "NotImplemented" in ast.unparse(node)
    ]
    for number, line in enumerate(MODULES[module].read_text(encoding="utf-8").splitlines(), start=1):
        found += [f"line {number}: {word}" for word in re.findall(r"\b(TODO|FIXME|XXX)\b", line)]
    assert found == []


@EVERY_MODULE
def test_modules_and_functions_are_short(module):
    """At most 450 lines a module, and 55 a function without its docstring."""
    n_lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    long = [f"{module}: {n_lines} lines"] if n_lines > MODULE_LINES else []
    for node in functions(TREES[module]):
        length = node.end_lineno - node.lineno + 1
        if ast.get_docstring(node) is not None:
            length -= node.body[0].end_lineno - node.body[0].lineno + 1
        if length > FUNCTION_LINES:
            long.append(f"{node.name}, line {node.lineno}: {length} lines")
    assert long == []


@EVERY_MODULE
def test_every_module_and_public_function_has_a_docstring(module):
    """Public: no leading underscore in its name or its class's, and not inside a function."""
    tree = TREES[module]
    assert ast.get_docstring(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    named = [node for scope in (tree, *classes) for node in scope.body if hasattr(node, "name")]
    hidden = {id(node) for scope in classes if scope.name.startswith("_") for node in scope.body}
    bare = [
        f"line {node.lineno}: {node.name}"
        for node in named
        if not node.name.startswith("_") and id(node) not in hidden and not ast.get_docstring(node)
    ]
    assert bare == []


def test_import_loads_no_optional_library():
    """In a fresh interpreter; what pandas and tqdm load themselves (pyarrow, where installed) is not ours."""
    code = (
        "import sys, json, numpy, pandas, tqdm.auto, threadpoolctl; before = set(sys.modules);"
        "import kgeval; print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    loaded = set(json.loads(done.stdout))
    assert "kgeval" in loaded
    assert loaded & OPTIONAL == set()


def test_public_names_are_few_and_all_there():
    """At most 30, each once, each found, and none imported beside them."""
    kgeval = importlib.import_module("kgeval")
    assert len(set(PUBLIC)) == len(PUBLIC) <= PUBLIC_NAMES
    held = {name for name, thing in vars(kgeval).items() if not inspect.ismodule(thing)}
    listed = {name for name in PUBLIC if not inspect.ismodule(getattr(kgeval, name))}
    assert {name for name in held if not name.startswith("_")} == listed - {"__version__"}


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


def test_init_holds_no_logic():
    """The top module only imports and lists; it names no optional library."""
    docstring, *rest = TREES["kgeval"].body
    assert ast.get_docstring(TREES["kgeval"])
    assert isinstance(docstring, ast.Expr)
    kinds = {type(node).__name__ for node in rest}
    assert kinds <= {"Import", "ImportFrom", "Assign"}


JUMPS = [
    ("kgeval.evaluate", "evaluate", "kgeval.evaluate", "Evaluator"),
    ("kgeval.evaluate", "Evaluator.evaluate", "kgeval.ranking", "rank"),
    ("kgeval.ranking", "_row_work", "kgeval.kernels.numpy_kernels", "count_rows"),
    ("kgeval.ranking", "_row_work", "kgeval.kernels.torch_kernels", "count_rows"),
    ("kgeval.ranking", "_geometry_work", "kgeval.kernels.backends", "make_counter"),
    ("kgeval.kernels.backends", "make_counter", "kgeval.kernels.numpy_kernels", "NumpyCounter"),
    ("kgeval.kernels.numpy_kernels", "NumpyCounter._count_all", "kgeval.kernels.numpy_kernels", "decide"),
    ("kgeval.kernels.backends", "_DeviceCounter", "kgeval.kernels.torch_kernels", "TorchCounter"),
]


@pytest.mark.parametrize(("module", "caller", "home", "called"), JUMPS)
def test_few_jumps_lead_from_evaluate_to_the_comparison(module, caller, home, called):
    """evaluate() calls Evaluator.evaluate, that calls rank, and this count_rows, which compares: three jumps.

    Vectors take two more, as rank asks make_counter for a counter first: NumpyCounter compares in decide, TorchCounter
    in its own module.
    """
    used = {getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(function(module, caller))}
    assert called in used
    imported = {(target, name) for _, target, name in imports(module)}
    assert module == home or {(home, called), (home, None)} & imported
    assert called in {getattr(node, "name", "") for node in TREES[home].body}


def is_of_scores(node):
    """Whether an expression is made of an array of scores, not of its size or type alone."""
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim", "dtype"):
        return False
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("len", "set", "str"):
        return False
    name = getattr(node, "id", getattr(node, "attr", ""))
    return bool(re.search(r"(^|_)(scores?|positives)$", name)) or any(map(is_of_scores, ast.iter_child_nodes(node)))


COMPARING = ("kernels", "metrics")


@pytest.mark.parametrize(
    "module", [m for m in MODULES if LAYER.get(part_of(m), 0) <= 6 and part_of(m) not in COMPARING]
)
def test_scores_are_compared_in_the_kernels_alone(module):
    """No scorer's output is compared, sorted or searched elsewhere: one place decides what a tie is.

    The metrics order only arrays that a user hands them.
    """
    found = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Compare)
        and any(isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE | ast.Eq) for op in node.ops)
        and is_of_scores(node)
    ]
    sorting = {
        "sort",
        "argsort",
        "searchsorted",
        "isclose",
        "allclose",
        "greater",
        "less",
        "rankdata",
        "partition",
    }
    found += [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in sorting and is_of_scores(node)
    ]
    assert found == []


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


def test_the_oracle_is_small_and_knows_nothing_of_kgeval(root):
    """A reference that shares code with what it checks would share its faults."""
    text = (root / "tests" / "oracle.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    imported = {
        alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert imported == {"math", "statistics", "fractions"}
