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
from kgeval.base.checks import check_one_of, check_positive_int, suggest
from kgeval.base.files import check_source, check_target
from kgeval.base.terminal import Screen
from kgeval.base.wording import printable
from kgeval.comparison.names import check_names
from kgeval.data.candidates import EMPTY, OUTSIDE, ByRelation, Candidates
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import FILTERED, MISSING, GivenRanks, Predictions
from kgeval.data.protocol import UNSEEN, Protocol
from kgeval.data.sides import ALL_SIDES, SIDES, check_sides
from kgeval.data.triples import ONE_FILE, SPLITS
from kgeval.display.media import FORMATS
from kgeval.errors import DataError, KgevalError, ProtocolError, ScoreError
from kgeval.features.columns import FEATURES
from kgeval.formats.candidate_files import read_candidates
from kgeval.formats.datasets import dataset_formats
from kgeval.formats.models import model_formats
from kgeval.formats.pool_files import has_pools
from kgeval.formats.predictions import prediction_formats
from kgeval.formats.scores import has_named_header
from kgeval.other_tools import Convention
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.run_names import MODEL, SEED
from kgeval.scorers.baselines import BASELINES, make_baselines
from kgeval.scorers.models import MODELS
from kgeval.scorers.models.base import INVERSE_ROWS, LAYOUTS, NORMALISATIONS

MATCHING = ("exact", "alias", "substring")
MODEL_SETTINGS = (
    "norm",
    "layout",
    "inverse_relations",
    "normalise",
    "phase_unit",
    "batch_norm_eps",
    "dtype",
    "entity_labels",
    "relation_labels",
    "ignore",
)


class _OneModel(argparse.Action):
    """Stores what is evaluated; a second one is an error, since a command evaluates one model."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        first = getattr(namespace, self.dest)
        if first is not None:
            raise argparse.ArgumentError(self, f"given twice, with {first} and {values}; a run evaluates one model")
        setattr(namespace, self.dest, values)


def add_input(
    parser: argparse.ArgumentParser, with_scores: bool, with_side: bool = True, for_show: bool = False
) -> None:
    """Add the options for dataset, scorer and side; `add_reading` adds the settings for their files.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    with_scores : bool
        Whether a table of scores (``--scores``) or predictions (``--predictions``) may be given in place of a scorer.
    with_side : bool
        Whether to add ``--sides``.
    for_show : bool
        Whether the command is ``kgeval show``, in which the dataset is an option and the scorer may be left out.
    """
    parser.add_argument(
        "--dataset" if for_show else "dataset",
        nargs="?" if with_scores else None,
        metavar="DATASET",
        help="folder with train.txt, valid.txt, test.txt"
        + ("; not needed for --predictions that hold a rank for every query" if with_scores else "")
        + ("; for --explain, and for --by columns that the result does not contain" if for_show else ""),
    )
    scorer = parser.add_mutually_exclusive_group(required=not for_show)
    scorer.add_argument(
        "--model",
        metavar="PATH",
        action=_OneModel,
        help="checkpoint of an embedding model: a file, or the folder that a tool wrote",
    )
    scorer.add_argument(
        "--scorer",
        metavar="MODULE:NAME",
        action=_OneModel,
        help="function score(s, p, o) or scorer object, in a module or file.py; a class is made with the dataset; or "
        f"the name of a baseline: {', '.join(BASELINES)}",
    )
    if with_scores:
        scorer.add_argument(
            "--scores",
            metavar="FILE.tsv",
            action=_OneModel,
            help="table of scored triples with columns s, p, o, score",
        )
        scorer.add_argument(
            "--predictions",
            metavar="FILE",
            action=_OneModel,
            help="ranked answers, or ranks, that another tool wrote: a file, or a folder with one file for each side",
        )
    if with_side:
        parser.add_argument(
            "--sides",
            type=_sides,
            metavar="SIDES",
            help="sides to rank, comma-separated: subject, object (or head, tail, s, o), both (default), relation",
        )


def _sides(text: str) -> str:
    """Return the sides of ``--sides`` under their names, ``both`` for subject and object."""
    try:
        sides = check_sides(text, ALL_SIDES)
    except ProtocolError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return "both" if sides == SIDES else ",".join(sides)


def add_reading(parser: argparse.ArgumentParser, with_scores: bool) -> None:
    """Add the options that say how the files of the dataset and of the model are read; most users need none of them.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    with_scores : bool
        As for `add_input`.
    """
    add_dataset(parser)
    model = parser.add_argument_group("model settings (needed only if the model file does not contain them)")
    model.add_argument("--model-format", metavar="NAME", help=f"format of the checkpoint: {', '.join(model_formats())}")
    model.add_argument(
        "--ids",
        metavar="FILES",
        help="id files of the training, which name the rows of the checkpoint: a folder, or ENTITIES,RELATIONS"
        + ("; also for predictions that contain ids (dataset: the ids of the dataset)" if with_scores else ""),
    )
    model.add_argument("--model-type", choices=sorted(MODELS), help="class of the model")
    model.add_argument("--norm", type=int, choices=(1, 2), help="norm of the distance, for transe and rotate")
    model.add_argument("--layout", choices=LAYOUTS, help="order of real and imaginary parts in the columns")
    model.add_argument(
        "--inverse-relations",
        choices=INVERSE_ROWS,
        help="place of the inverse relations among the rows of the relation table",
    )
    model.add_argument(
        "--normalise",
        choices=NORMALISATIONS,
        help="vectors that transe divides by their L1 or L2 norms when it scores",
    )
    model.add_argument("--phase-unit", type=float, metavar="RADIANS", help="angle that a phase of 1 means, for rotate")
    model.add_argument("--batch-norm-eps", type=float, metavar="EPS", help="epsilon of batch normalisation, for tucker")
    model.add_argument("--dtype", choices=("bfloat16",), help="bfloat16: 16-bit integers hold bfloat16 bits")
    for rows in ("entity", "relation"):
        model.add_argument(
            f"--{rows}-labels", choices=("ids",), help=f"ids: the {rows} rows are in the order of the dataset's ids"
        )
    model.add_argument("--ignore", metavar="NAMES", help="arrays of the model file to leave out, comma-separated")


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the files of the dataset are read.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    dataset = parser.add_argument_group(
        "how to read the dataset files (needed only if this is not clear from the files)"
    )
    dataset.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of each file contains column names (--header) or a triple (--no-header)",
    )
    dataset.add_argument(
        "--columns",
        metavar="COLUMNS",
        help="order of the columns: hrt (head, relation, tail; default), htr, ..., or with further columns h,r,t,time; "
        "or the names of the columns of subject, relation and object in the header: source,rel,target. An order of "
        "three letters applies also to a table of scores whose header does not name the columns",
    )
    dataset.add_argument(
        "--sep",
        metavar="CHARACTER",
        help="what separates the columns: a character, or one of tab, comma, space, whitespace (default: a comma in "
        "files named .csv, else a tab)",
    )
    dataset.add_argument(
        "--split-files", metavar="FILES", help="splits in files of other names: train=facts.txt+train.txt,valid=dev.tsv"
    )
    dataset.add_argument("--ignore-files", metavar="NAMES", help="files of the folder to leave out, comma-separated")
    dataset.add_argument(
        "--labelled",
        action="store_true",
        help="each line of valid and test ends with a truth label, 1/-1, 1/0 or true/false; the false triples are left "
        "out of the splits",
    )
    dataset.add_argument(
        "--dataset-format",
        metavar="NAME",
        help=f"format of the dataset: {', '.join(dataset_formats())} (default: recognised by the names of the files)",
    )
    dataset.add_argument(
        "--split-fractions",
        metavar="SHARES",
        help="divide a dataset of one file at random into train, valid and test with these shares: .8,.1,.1, or "
        "train=.8,test=.2; every entity and relation occurs in train",
    )
    dataset.add_argument("--split-seed", type=int, metavar="N", help="seed of --split-fractions (default: 0)")
    dataset.add_argument(
        "--split-inverse-free",
        action="store_true",
        default=None,
        help="with --split-fractions: keep triples with the same two entities in both directions together",
    )


def add_quiet(parser: argparse.ArgumentParser | argparse._ArgumentGroup, about: str = "print only the tables") -> None:
    """Add the option ``--quiet``.

    Parameters
    ----------
    parser : argparse.ArgumentParser or argparse group
    about : str
        The help text.
    """
    parser.add_argument("--quiet", action="store_true", help=about)


def add_format(parser: argparse.ArgumentParser | argparse._ArgumentGroup, first: str = "") -> None:
    """Add the options ``--to`` and ``--spreadsheet``.

    Parameters
    ----------
    parser : argparse.ArgumentParser or argparse group
    first : str
        A further format, which is the default; without it, ``"table"`` is the default.
    """
    formats = (first, *FORMATS) if first else FORMATS
    parser.add_argument("--to", choices=formats, default=formats[0], help="output format (default: %(default)s)")
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="with --to csv: put a ' before labels that a spreadsheet would read as formulas",
    )


EXECUTORS = ("threads", "processes", "ray")
EXECUTOR_OPTIONS = {  # each option: the executors that have it, and a hint for the others
    "threads": (("threads",), "; --workers N is the number of processes"),
    "workers": (("processes", "ray"), "; --threads N is the number of threads"),
    "address": (("ray",), ""),
    "cpus_per_worker": (("ray",), ""),
    "gpus_per_worker": (("ray",), ""),
}
RUN_OPTIONS = ("executor", *EXECUTOR_OPTIONS, "run_folder", "max_seconds")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose where a ranking runs and what is kept on disk. They do not change any number.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    run = parser.add_argument_group("where to run, and what to keep (changes no number)")
    run.add_argument(
        "--executor",
        choices=EXECUTORS,
        help="threads: in this process (default); processes: several processes of this machine; ray: a Ray cluster",
    )
    run.add_argument(
        "--threads", type=int, metavar="N", help="threads for embedding models (default: one per processor)"
    )
    run.add_argument(
        "--workers", type=int, metavar="N", help="worker processes, for processes and ray (default: as many as fit)"
    )
    run.add_argument(
        "--address",
        help="Ray cluster: auto on one of its machines, ray://HOST:10001 from elsewhere (default: RAY_ADDRESS, or a "
        "new one on this machine)",
    )
    run.add_argument("--cpus-per-worker", type=int, metavar="N", help="processors of each worker, for ray (default: 1)")
    run.add_argument("--gpus-per-worker", type=float, metavar="N", help="GPUs of each worker, for ray (default: 0)")
    run.add_argument(
        "--run-folder",
        type=Path,
        metavar="DIR",
        help="keep finished ranks in DIR, and go on there if the same run was stopped",
    )


def executor_of(options: argparse.Namespace) -> Any:
    """Return the executor that the options name, or None for the default.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    if options.executor == "processes":
        return kgeval.executors.Processes(options.workers)
    if options.executor != "ray":
        return None if options.threads is None else kgeval.executors.Threads(options.threads)
    given = {"num_cpus": options.cpus_per_worker, "num_gpus": options.gpus_per_worker, "workers": options.workers}
    return kgeval.executors.Ray(options.address, **{name: n for name, n in given.items() if n is not None})


def _check_run(options: argparse.Namespace) -> None:
    """Raise a ProtocolError if options of `add_run` contradict each other."""
    executor = options.executor or "threads"
    for name, (executors, hint) in EXECUTOR_OPTIONS.items():
        if getattr(options, name) is not None and executor not in executors:
            raise ProtocolError(f"{_option(name)} needs --executor {' or '.join(executors)}{hint}")
    for name in ("workers", "cpus_per_worker"):
        if getattr(options, name) is not None:
            check_positive_int(_option(name), getattr(options, name))


def _option(name: str) -> str:
    """Return the option of the command line for an attribute: ``--batch-size`` for ``batch_size``."""
    return f"--{name.replace('_', '-')}"


PREDICTION_OPTIONS = ("predictions_format", "filtered", "missing", "entity_names", "relation_names", "matching")


NEED_DATASET = (  # options that mean nothing for ranks without a dataset
    *("columns", "sep", "split_files", "ignore_files", "labelled", "dataset_format", "split_fractions", "split_seed"),
    *(
        "split_inverse_free",
        "splits",
        "filter",
        "filter_by",
        "unseen",
        "entity_names",
        "relation_names",
        "ids",
        "types",
    ),
    "means_from",
)


def add_predictions(parser: argparse.ArgumentParser) -> None:
    """Add the options for ``--predictions``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    predictions = parser.add_argument_group(
        "predictions (with --predictions; needed only if this is not clear from the file)"
    )
    predictions.add_argument(
        "--predictions-format", metavar="NAME", help=f"format of the predictions: {', '.join(prediction_formats())}"
    )
    predictions.add_argument(
        "--filtered",
        choices=FILTERED,
        help="whether known answers were removed: no; after: from the final ranking; before: from lists that a "
        "re-ranker then ordered",
    )
    predictions.add_argument(
        "--missing",
        choices=MISSING,
        help="what happens to triples without a prediction; drop: they are left out and counted; bound: their rank is "
        "anywhere between 1 and the last (default: an error)",
    )
    predictions.add_argument(
        "--entity-names", metavar="FILE", help="names of entities: lines of label, tab, name, such as entity2text.txt"
    )
    predictions.add_argument("--relation-names", metavar="FILE", help="names of relations: lines of label, tab, name")
    predictions.add_argument(
        "--matching",
        choices=MATCHING,
        help="how generated text names an entity; exact: the whole text is its label or first name; alias: any of its "
        "names, in any case; substring: the text contains the names of exactly one entity",
    )


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """Add the options of the protocol. These options change the computed numbers.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    protocol = parser.add_argument_group("protocol (changes the numbers)")
    protocol.add_argument(
        "--as",
        dest="convention",
        metavar="TOOL",
        help="the protocol and the numbers of another tool: pykeen, libkge, openke, torchkge, ultra, ogb, ...; see "
        "kgeval help conventions",
    )
    protocol.add_argument("--splits", metavar="NAMES", help="splits to rank, comma-separated (default: test)")
    protocol.add_argument(
        "--filter",
        metavar="NAMES",
        help="splits whose triples are known answers, comma-separated; the word none means no split (default: all)",
    )
    protocol.add_argument(
        "--filter-by",
        metavar="COLUMNS",
        help="columns, comma-separated, in which a known answer must equal the triple to be removed: time,qualifiers; "
        "the word none removes it whatever they are (needed if the dataset has times or qualifiers)",
    )
    protocol.add_argument(
        "--unseen",
        choices=UNSEEN,
        help="what happens to triples with entities or relations that are not in train (default: rank, but drop if "
        "the model has no vectors for them)",
    )
    protocol.add_argument(
        "--candidates",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="rank each triple among its own negatives: one file per side, in blocks (a triple, then its negatives); "
        "or among the pool of its relation: type_constrain.txt, typecons.json, rel2candidates.json, or the word "
        "observed (domain and range in train)",
    )
    protocol.add_argument(
        "--outside",
        choices=OUTSIDE,
        help="for pools; a triple whose answer is not in its pool: an error (the default), the answer joins its own "
        "query (add), or the triple ranks last (last)",
    )
    protocol.add_argument(
        "--empty-lists",
        choices=EMPTY,
        help="for --candidates; a triple whose list has no rival: an error (the default), left out (drop), or rank 1 "
        "of 1 (first)",
    )


def check_options(options: argparse.Namespace) -> None:
    """Raise a ProtocolError for an option that has no effect on the chosen scorer.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    model_options = ("model_type", "model_format", "ids", *MODEL_SETTINGS, "device")
    scorer_options = ("batch_size", "candidates", "sample", "precision", "beside", *RUN_OPTIONS)
    ignored: tuple[str, ...] = () if options.model is not None else model_options
    is_predicted = getattr(options, "predictions", None) is not None
    if is_predicted:
        ignored = tuple(name for name in ignored if name != "ids")
    if getattr(options, "scores", None) is not None or is_predicted:
        ignored += scorer_options
    for name in ignored:
        if getattr(options, name, None) is not None:
            kind = "--model" if name in model_options else "--model or --scorer"
            if name == "ids" and hasattr(options, "predictions"):
                kind = "--model or --predictions"
            raise ProtocolError(f"{_option(name)} needs {kind}")
    for name in PREDICTION_OPTIONS if hasattr(options, "predictions") and not is_predicted else ():
        if getattr(options, name) is not None:
            raise ProtocolError(f"{_option(name)} needs --predictions")
    if getattr(options, "empty_lists", None) is not None and not options.candidates:
        raise ProtocolError("--empty-lists needs --candidates")
    if getattr(options, "outside", None) is not None and not options.candidates:
        raise ProtocolError("--outside needs --candidates")
    if options.dataset is None:
        _check_alone(options, is_predicted)
    if getattr(options, "lists", None) is not None and options.scores is None:
        raise ProtocolError("--lists needs --scores")
    if hasattr(options, "sample"):
        _check_seeds(options)
    if hasattr(options, "executor"):
        _check_run(options)


def _check_alone(options: argparse.Namespace, is_predicted: bool) -> None:
    """Raise an error unless the options make sense without a dataset: only ranks of another tool do."""
    if not is_predicted:
        raise DataError("DATASET is missing: the folder of the dataset, or the name of a registered dataset")
    for name in NEED_DATASET:
        if getattr(options, name, None):
            raise ProtocolError(f"{_option(name)} needs DATASET")
    if options.header is not None:
        raise ProtocolError("--header and --no-header need DATASET")
    for column in words(getattr(options, "by", None) or ""):
        if column in FEATURES:
            raise ProtocolError(f"--by {column} needs DATASET")


def _check_seeds(options: argparse.Namespace) -> None:
    """Raise a ProtocolError if a seed or a name of ``kgeval evaluate`` has no effect or is ambiguous."""
    is_sample = any(getattr(options, name) is not None for name in ("sample", "precision", "max_seconds"))
    if options.sample_seed is not None and not is_sample:
        raise ProtocolError(
            "--sample-seed is the seed of --sample N, --precision H and --max-seconds S; give it with one of them"
        )
    if options.seed is not None and is_sample and options.sample_seed is None:
        raise ProtocolError(
            "--seed is the seed with which the model was trained; the seed of --sample N and of --max-seconds S is "
            f"--sample-seed N. Give --sample-seed {options.seed} if you mean the random triples, or both "
            f"(--seed {options.seed} --sample-seed 0)"
        )
    for name in ("name", "seed"):
        if getattr(options, name) is not None and options.out is None:
            raise ProtocolError(f"--{name} is kept in the saved result; give it with --out FILE")
    if options.seed is not None and options.name is None:
        raise ProtocolError("--seed is the seed with which the model was trained; it needs --name MODEL")


def given_dataset(options: argparse.Namespace) -> kgeval.Dataset:
    """Read the dataset that the options name.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.

    Raises
    ------
    DataError
        If ``--split-fractions`` is not valid, or if an option that needs ``--split-fractions`` is given without it.
    """
    for name in ("split_seed", "split_inverse_free"):
        if getattr(options, name) is not None and options.split_fractions is None:
            raise DataError(f"{_option(name)} needs --split-fractions, such as --split-fractions .8,.1,.1")
    fractions = None if options.split_fractions is None else _fractions(options.split_fractions)
    dataset = kgeval.read_dataset(
        options.dataset,
        header=options.header,
        columns=options.columns,
        sep=options.sep,
        splits=given_splits(options),
        ignore=words(options.ignore_files or ""),
        labelled=options.labelled,
        format=options.dataset_format,
    )
    if fractions is None:
        return dataset
    return dataset.split(fractions, split_seed=options.split_seed or 0, inverse_free=bool(options.split_inverse_free))


def _fractions(text: str) -> dict[str, float]:
    """Return the shares of the splits that ``--split-fractions`` names."""
    parts = words(text)
    named = [part.partition("=")[::2] for part in parts] if "=" in text else list(zip(SPLITS, parts))
    try:
        fractions = {split: float(share) for split, share in named}
    except ValueError:
        fractions = {}
    if len(fractions) != len(parts) or ("=" not in text and len(parts) != len(SPLITS)):
        raise DataError(
            "--split-fractions expects the shares of train, valid and test, as in .8,.1,.1, or with names, as in "
            f"train=.8,test=.2; got {text!r}"
        )
    return fractions


def given_splits(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the files of the splits that ``--split-files`` names.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.

    Raises
    ------
    DataError
        If a part of the option does not have the form ``split=file+file``, or a split is named twice.
    """
    splits: dict[str, list[str]] = {}
    for part in words(options.split_files or ""):
        split, _, files = part.partition("=")
        if not split or not files or split in splits:
            expected = "each split once, as in train=facts.txt+train.txt,valid=dev.tsv"
            raise DataError(f"--split-files expects {expected}; got {options.split_files!r}")
        splits[split] = files.split("+")
    return splits


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
        "--names",
        metavar="NAMES",
        help="names of the models, comma-separated (default: the saved names, else the file names)",
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
        From ``--names``. By default the names with which the results were saved, if all results have a name and all
        names differ; else the file names, or the paths if two file names are equal.

    Raises
    ------
    ProtocolError
        If a file is given twice without ``--names``, or if ``--names`` does not contain one distinct name per file.
    """
    results = [ranked_result(path) for path in options.results]
    return results, result_names(options, results)


def result_names(options: argparse.Namespace, results: Sequence[Any]) -> list[str]:
    """Return the names of the saved results; see `results_of`.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    results : sequence of EvaluationResult or ClassificationResult
        The contents of the files, in the same order.
    """
    names = file_names(options.results, results)
    if options.names is not None:
        names = words(options.names)
    elif len(set(names)) < len(names):
        raise ProtocolError(f"a file is given twice: {', '.join(names)}; use --names A,B")
    return check_names(names, len(options.results), "file")


def file_names(paths: Sequence[Path], results: Sequence[Any]) -> list[str]:
    """Return the default names of saved results, else those of their files; two are equal only if one is given twice.

    Parameters
    ----------
    paths : sequence of Path
    results : sequence of EvaluationResult or ClassificationResult
        The contents of the files, in the same order.
    """
    stems = [path.stem for path in paths]
    models = [str(result.facts.get(MODEL, stem)) for result, stem in zip(results, stems)]
    seeds = [result.facts.get(SEED) for result in results]
    with_seeds = [model if seed is None else f"{model} seed {seed}" for model, seed in zip(models, seeds)]
    paths_as_text = [str(path) for path in paths]
    return next((names for names in (models, with_seeds, stems) if len({*names}) == len(names)), paths_as_text)


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


def file_line(path: Path) -> str:
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
        The labels in a model file are matched with the labels of this dataset.

    Raises
    ------
    DataError
        If ``--scorer`` is FILE.py:NAME, and FILE.py does not exist.
    ScoreError
        If ``--scorer`` has neither the form MODULE:NAME nor FILE.py:NAME, if importing the module fails, or if the
        module does not contain the name.
    """
    if options.model in BASELINES and not Path(options.model).exists():
        raise ProtocolError(
            f"--model {options.model} names no file; the baseline is a scorer: --scorer {options.model}"
        )
    if options.model is not None:
        settings = {name: getattr(options, name) for name in MODEL_SETTINGS}
        return kgeval.load_model(
            options.model,
            dataset,
            format=options.model_format,
            ids=options.ids,
            model=options.model_type,
            **settings,
        )
    if options.scorer in BASELINES:
        ranked = words(options.splits or "test") if hasattr(options, "splits") else ["valid", "test"]
        return make_baselines([options.scorer], dataset, ranked)[options.scorer]
    module_name, colon, name = options.scorer.partition(":")
    if not colon or not name:
        raise ScoreError(
            "--scorer expects module:function, file.py:function or the name of a baseline "
            f"({', '.join(BASELINES)}); got {options.scorer!r}{suggest(options.scorer, BASELINES)}"
        )
    if "" not in sys.path:
        # "" is the current folder. It stays in the path, since the scorer may import modules each time it is called.
        sys.path.insert(0, "")
    if module_name.endswith(".py"):
        check_source(module_name)
    try:
        module = _module(module_name)
    except (Exception, SystemExit) as error:  # a module that calls sys.exit must not end the program as if it succeeded
        raise ScoreError(f"--scorer: importing {module_name!r} raised {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise ScoreError(f"--scorer: module {module_name!r} has no {name!r}")
    found = getattr(module, name)
    if not isinstance(found, type):
        return found
    try:
        return found(dataset)
    except KgevalError:
        raise
    except Exception as error:  # the class may raise any error
        raise ScoreError(
            f"--scorer: {name} is a class, so it is made with the dataset: {name}(dataset) raised "
            f"{type(error).__name__}: {error}"
        ) from error


def predictions_of(options: argparse.Namespace, dataset: kgeval.Dataset | None) -> Predictions | GivenRanks:
    """Read the predictions that the options name.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    dataset : Dataset or None

    Raises
    ------
    ProtocolError
        If ``--splits`` names several splits.
    """
    split = words(options.splits or "test")
    if len(split) != 1:
        raise ProtocolError("--predictions needs one split to rank; --splits names several")
    ids = words(options.ids or "")
    return kgeval.read_predictions(
        options.predictions,
        dataset,
        format=options.predictions_format,
        split=split[0],
        entity_names=options.entity_names,
        relation_names=options.relation_names,
        matching=options.matching,
        side=None if options.sides == "both" else options.sides,
        ids=ids if len(ids) > 1 else options.ids,
    )


def _module(name: str) -> Any:
    """Import and return a module.

    If `name` ends in .py, it is the path of a file. Otherwise it is the name of a module, which is searched in the
    current folder and on the Python path.
    """
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def protocol_of(options: argparse.Namespace, dataset: Dataset) -> Protocol | None:
    """Return the protocol that the options describe, or None if no protocol option is given.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    dataset : Dataset
        The vocabularies of this dataset turn the labels in files of candidates into ids.
    """
    _check_splits(options, dataset)
    sampled = [getattr(options, name, None) for name in ("sample", "sample_seed", "precision")]
    convention = convention_of(options)
    if convention is not None:
        asked = ("sides", "filter", "filter_by", "unseen", "splits", "sample", "precision")
        given = [name for name in asked if getattr(options, name, None)]
        if given:
            raise ProtocolError(f"--as {convention.name} says the protocol; leave {_option(given[0])} out")
        return convention.protocol(dataset, _candidates_of(options, dataset) if options.candidates else None)
    chosen = (options.sides, options.splits, options.filter, options.filter_by, options.unseen, options.candidates)
    if not any((*chosen, *sampled)):
        return None
    settings: dict[str, Any] = {}
    if options.candidates:
        settings["candidates"] = _candidates_of(options, dataset)
    if options.sides is not None:
        settings["sides"] = options.sides
    return Protocol(
        **settings,
        sample=sampled[0],
        sample_seed=sampled[1] or 0,
        precision=sampled[2],
        filter=_names_or_none("--filter", options.filter),
        filter_by=filter_key(options),
        unseen=options.unseen,
        splits=words(options.splits or "test"),
    )


def filter_key(options: argparse.Namespace) -> list[str] | None:
    """Return the columns that ``--filter-by`` names; None if the option is not given.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    return _names_or_none("--filter-by", options.filter_by)


def _names_or_none(option: str, text: str | None) -> list[str] | None:
    """Return the names in the value of an option; the word none stands alone and gives an empty list."""
    names = None if text is None else words(text)
    if names and "none" in names and len(names) > 1:
        raise ProtocolError(f"{option} {text}: none stands alone; give {option} none, or the names without it")
    return [] if names == ["none"] else names


def _candidates_of(options: argparse.Namespace, dataset: Dataset) -> Candidates:
    """Return the candidates of ``--candidates``: observed pools, pools of a file, or lists of negatives."""
    files = options.candidates
    if files == [Path("observed")] and not files[0].exists():
        if options.empty_lists:
            raise ProtocolError("--empty-lists is for lists of negatives; in an empty pool, every positive is outside")
        return ByRelation.observed(dataset, outside=options.outside or "error")
    split = words(options.splits or "test")
    if len(split) != 1 and not has_pools(files[0]):
        raise ProtocolError("--candidates needs one split to rank; --splits names several")
    # Files whose first lines contain known column names have a header, even if the files of the dataset have none.
    are_texts = not any(str(file).endswith(".npz") or has_pools(file) for file in options.candidates)
    header = True if are_texts and all(has_named_header(file) for file in options.candidates) else None
    if header is None and options.header is False:
        header = False
    empty = options.empty_lists or "error"
    return read_candidates(files, dataset, split=split[0], header=header, empty=empty, outside=options.outside)


def convention_of(options: argparse.Namespace) -> Convention | None:
    """Return the convention that ``--as`` names; None if the option is not given.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    name = getattr(options, "convention", None)
    return None if name is None else kgeval.conventions[check_one_of("--as", name.lower(), kgeval.conventions)]


_SAME_SPLIT = {"valid", "dev", "val", "validation"}  # words for the split of validation


def _check_splits(options: argparse.Namespace, dataset: Dataset) -> None:
    """Raise a ProtocolError if ``--splits`` or ``--filter`` names a split that the dataset does not have."""
    if options.splits is None and "test" not in dataset:
        if ONE_FILE in dataset.notes:
            raise ProtocolError(
                f"{options.dataset}: one file, so there is no split test; --split-fractions .8,.1,.1 divides it into "
                "train, valid and test, and --splits train ranks all its triples. If other files hold the other "
                "splits, give their folder"
            )
        raise ProtocolError(
            f"{options.dataset}: no file test.txt (or test.tsv), only {', '.join(dataset.splits)}; --splits chooses "
            "the splits to rank"
        )
    for option, names in (("--splits", options.splits), ("--filter", options.filter)):
        for split in words(names or ""):
            if option == "--splits" and "=" in split:
                raise ProtocolError(f"--splits names splits; files of splits are given by --split-files {split}")
            if split not in dataset.splits and not (option == "--filter" and split == "none"):
                same = [name for name in dataset.splits if {name, split} <= _SAME_SPLIT]
                hint = f"; did you mean {same[0]!r}?" if same else suggest(split, dataset.splits)
                raise ProtocolError(
                    f"{option} {split}: {options.dataset} has no split {split!r}; its splits are "
                    f"{', '.join(dataset.splits)}{hint}"
                )


def say_aside(lines: Iterable[str]) -> None:
    """Print notes to standard error, so that a program can read the numbers from standard output.

    Parameters
    ----------
    lines : iterable of str
    """
    screen = Screen.of(sys.stderr)
    for line in lines:
        print(screen.wrapped(f"kgeval: {printable(line)}"), file=sys.stderr)


def words(text: str) -> list[str]:
    """Return the words of a comma-separated text.

    Parameters
    ----------
    text : str
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def json_text(content: dict[str, Any]) -> str:
    """Return `content` as strict JSON; characters beyond ASCII are escaped if the output stream is not Unicode.

    Parameters
    ----------
    content : dict
        Plain Python values. NaN and infinity raise a ValueError.
    """
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=not is_unicode)
