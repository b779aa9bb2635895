"""Options that several commands share (dataset, scorer, protocol, saved results), and JSON as text.

Each ``add_...`` function adds options to a parser; the other functions turn parsed options into objects.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import kgeval
from kgeval.comparison import check_names
from kgeval.data import SIDE_NAMES, UNSEEN, Protocol
from kgeval.errors import DataError, ProtocolError, ScoreError
from kgeval.files import check_target
from kgeval.report import printable
from kgeval.results import EvaluationResult
from kgeval.scorers.models import INVERSE_ROWS, LAYOUTS, MODELS


def add_input(parser: argparse.ArgumentParser, with_scores: bool, with_side: bool = True) -> None:
    """Add the options for dataset, scorer and side.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    with_scores : bool
        Whether a table of scores (``--scores``) may be given in place of a scorer.
    with_side : bool
        Whether to add ``--side``.
    """
    parser.add_argument("dataset", metavar="DATASET", help="folder with train.txt, valid.txt, test.txt")
    scorer = parser.add_mutually_exclusive_group(required=True)
    scorer.add_argument("--model", metavar="FILE.npz", help="file of an embedding model")
    scorer.add_argument(
        "--score", metavar="MODULE:NAME", help="function score(s, p, o) or scorer object, in a module or file.py"
    )
    if with_scores:
        scorer.add_argument("--scores", metavar="FILE.tsv", help="table of scored triples with columns s, p, o, score")
    model = parser.add_argument_group("model settings (needed if the model file does not contain them)")
    model.add_argument("--model-type", choices=sorted(MODELS), help="class of the model")
    model.add_argument("--norm", type=int, choices=(1, 2), help="norm of the distance, for transe and rotate")
    model.add_argument("--layout", choices=LAYOUTS, help="order of real and imaginary parts in the columns")
    model.add_argument(
        "--inverse-relations",
        choices=INVERSE_ROWS,
        help="place of the inverse relations among the rows of the relation table",
    )
    if with_side:
        parser.add_argument(
            "--side",
            choices=("both", *SIDE_NAMES),
            metavar="SIDE",
            help="side to rank: subject, object (or head, tail, s, o) or both (default)",
        )
    parser.add_argument("--header", action="store_true", help="the first line of each file names the columns")


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """Add the options of the protocol. These options change the computed numbers.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    protocol = parser.add_argument_group("protocol (changes the numbers)")
    protocol.add_argument("--split", metavar="NAMES", help="splits to rank, comma-separated (default: test)")
    protocol.add_argument(
        "--filter",
        metavar="NAMES",
        help="splits whose triples are known answers, comma-separated; none for no split (default: all)",
    )
    protocol.add_argument(
        "--unseen",
        choices=UNSEEN,
        help="what happens to triples with entities or relations that are not in train (default: rank, but drop if "
        "the model has no vectors for them)",
    )


def check_options(options: argparse.Namespace) -> None:
    """Raise a ProtocolError for an option that has no effect on the chosen scorer.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    model_options = ("model_type", "norm", "layout", "inverse_relations", "device")
    scorer_options = ("batch_size", "block_size", "max_pairs", "threads")
    ignored: tuple[str, ...] = () if options.model is not None else model_options
    if getattr(options, "scores", None) is not None:
        ignored += scorer_options
    for name in ignored:
        if getattr(options, name, None) is not None:
            kind = "--model" if name in model_options else "--model or --score"
            raise ProtocolError(f"--{name.replace('_', '-')} needs {kind}")


def given_dataset(options: argparse.Namespace, **settings: Any) -> kgeval.Dataset:
    """Read the dataset that the options name.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    **settings
        Further parameters of `kgeval.read_dataset`.
    """
    return kgeval.read_dataset(options.dataset, header=getattr(options, "header", False), **settings)


def add_results(parser: argparse.ArgumentParser, how_many: str) -> None:
    """Add the options for saved results and their names.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    how_many : str
        The number of results, in words, for the help text.
    """
    parser.add_argument("results", nargs="+", type=Path, metavar="RUN.kgeval", help=f"{how_many} saved results")
    parser.add_argument(
        "--names", metavar="NAMES", help="names of the models, comma-separated (default: the file names)"
    )


def results_of(options: argparse.Namespace) -> tuple[list[EvaluationResult], list[str]]:
    """Read the saved results and name them.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.

    Returns
    -------
    results : list of EvaluationResult
    names : list of str
        From ``--names``. By default the file names, or the paths if two file names are equal.

    Raises
    ------
    ProtocolError
        If a file is given twice without ``--names``, or if ``--names`` does not contain one distinct name per file.
    """
    stems = [path.stem for path in options.results]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in options.results]
    if options.names is not None:
        names = words(options.names)
    elif len(set(names)) < len(names):
        raise ProtocolError(f"a file is given twice: {', '.join(names)}; use --names A,B")
    names = check_names(names, len(options.results), "file")
    return [ranked_result(path) for path in options.results], names


def ranked_result(path: Path) -> EvaluationResult:
    """Read the saved result of an evaluation.

    Parameters
    ----------
    path : Path

    Raises
    ------
    DataError
        If the file holds a classification.
    """
    result = kgeval.load_result(path)
    if not isinstance(result, EvaluationResult):
        raise DataError(f"{path}: holds a classification; this command needs a result saved by kgeval evaluate --out")
    return result


def check_out(out: Path, overwrite: bool, read: Sequence[Path]) -> None:
    """Raise a DataError if the output file must not be written: it exists, or it is one of the input files.

    Parameters
    ----------
    out : Path
        The file to write.
    overwrite : bool
        Whether an existing file may be replaced. An input file is never replaced.
    read : sequence of Path
        The input files.
    """
    check_target(out, overwrite)
    if any(out.resolve() == path.resolve() for path in read):
        raise DataError(f"{out} is one of the results to read; choose another name")


def written(path: Path) -> str:
    """Return the line that reports the written file and its size.

    Parameters
    ----------
    path : Path
    """
    return f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB"


def scorer_of(options: argparse.Namespace, dataset: kgeval.Dataset) -> Any:
    """Load or import the scorer that the options name.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    dataset : Dataset
        Its labels are matched with the labels in a model file.

    Raises
    ------
    ScoreError
        If ``--score`` does not have the form MODULE:NAME, if importing the module fails, or if the module does not
        contain the name.
    """
    if options.model is not None:
        settings = {
            "model": options.model_type,
            "norm": options.norm,
            "layout": options.layout,
            "inverse_relations": options.inverse_relations,
        }
        return kgeval.load_model(options.model, dataset, **settings)
    module_name, colon, name = options.score.partition(":")
    if not colon or not name:
        raise ScoreError(f"--score expects module:function or file.py:function; got {options.score!r}")
    if "" not in sys.path:
        # "" is the current folder. It stays in the path, since the scorer may import modules each time it is called.
        sys.path.insert(0, "")
    try:
        module = _module(module_name)
    except Exception as error:
        raise ScoreError(f"--score: importing {module_name!r} raised {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise ScoreError(f"--score: module {module_name!r} has no {name!r}")
    return getattr(module, name)


def _module(name: str) -> Any:
    """Import a module by name (from the current folder or Python's path), or by file path if it ends in .py."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def protocol_of(options: argparse.Namespace) -> Protocol | None:
    """Return the protocol of the options, or None if no option of the protocol is given.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    if options.side is None and options.split is None and options.filter is None and options.unseen is None:
        return None
    return Protocol(
        sides=options.side or "both",
        filter_splits=None if options.filter is None else [word for word in words(options.filter) if word != "none"],
        unseen=options.unseen,
        splits="test" if options.split is None else words(options.split),
    )


def say_aside(lines: Iterable[str]) -> None:
    """Print notes to the error stream, so that a program can read the numbers from the output stream.

    Parameters
    ----------
    lines : iterable of str
    """
    for line in lines:
        print(f"kgeval: {printable(line)}", file=sys.stderr)


def words(text: str) -> list[str]:
    """Return the words of a comma-separated text.

    Parameters
    ----------
    text : str
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def json_text(content: dict[str, Any]) -> str:
    """Return strict JSON; ASCII only if the output stream does not support Unicode.

    Parameters
    ----------
    content : dict
        Plain Python values. NaN and infinity raise a ValueError.
    """
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=not is_unicode)
