"""kgeval show: a saved result again: with other metrics or breakdowns, its ranks as a file, or single ranks."""

from __future__ import annotations

import argparse
from pathlib import Path

import kgeval
from kgeval.base.checks import check_one_of
from kgeval.classification.classification_result import ClassificationResult
from kgeval.classification.example_clusters import CLUSTERS
from kgeval.cli.command import Command
from kgeval.cli.options import (
    add_input,
    add_protocol,
    add_reading,
    check_out,
    file_line,
    given_dataset,
    ranked_result,
    words,
)
from kgeval.cli.output import ChosenColumns, add_output, check_output, classification_text, result_text
from kgeval.cli.single_ranks import LIMIT, explanation_text, worst_text
from kgeval.cli.tool_numbers import convention_text
from kgeval.errors import DataError, ProtocolError
from kgeval.features.columns import FEATURES, NEED_SIDE
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.report.exports import write_ranks
from kgeval.results.evaluation_result import EvaluationResult

# options that need --explain
LIVE = ("model", "scorer", "sides", "splits", "filter", "filter_by", "unseen", "candidates", "empty_lists", "outside")
# without effect on files of ranks and single ranks
WITHOUT_EFFECT = ("convention", "by", "ties", "confidence", "cluster", "types", "means_from")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "kgeval show RUN.kgeval [OPTIONS]\n"
        "       kgeval show RUN.kgeval -o ranks.csv\n"
        "       kgeval show RUN.kgeval --worst N\n"
        "       kgeval show RUN.kgeval --as TOOL\n"
        "       kgeval show RUN.kgeval --explain SUBJECT RELATION OBJECT\n"
        "       kgeval show --explain SUBJECT RELATION OBJECT --dataset DATASET --model PATH"
    )
    parser.add_argument(
        "result",
        type=Path,
        nargs="?",
        metavar="RUN.kgeval",
        help="result saved by kgeval evaluate --out or kgeval classify --out; --explain does without, if --dataset and "
        "--model are given",
    )
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="write the ranks to FILE, one per line: .csv, .tsv or .parquet"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--worst", type=int, metavar="N", help="list the N worst ranked triples")
    parser.add_argument(
        "--explain",
        action="append",
        metavar="LABEL",
        help="list the candidates that rank above a triple, or tie with it; three labels: SUBJECT RELATION OBJECT. A "
        "saved result knows the best rivals of its worst and best ranks; --dataset and --model score any triple",
    )
    parser.add_argument(
        "--given",
        action="append",
        metavar="COLUMN=VALUE",
        help="with --explain: the time of the triple, or its value in another column of the filter key or of the "
        "scorer, such as time=183; may be repeated",
    )
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help=f"with --explain: list at most N candidates above the triple and N tied with it (default: {LIMIT})",
    )
    add_output(parser)
    add_input(parser, with_scores=False, for_show=True)
    add_protocol(parser)
    add_reading(parser, with_scores=False)


def _show(options: argparse.Namespace) -> str:
    _check(options)
    if options.result is None:
        return explanation_text(None, options)
    result = kgeval.load_result(options.result)
    if options.explain is not None or options.worst is not None or options.out is not None:
        return _ranks(ranked_result(options.result), options)
    if isinstance(result, ClassificationResult):
        return _show_classification(result, options)
    if options.convention is not None:
        return convention_text(result, options)
    check_output(options, result.columns.columns)
    if options.dataset is not None:
        dataset = given_dataset(options)
        result = ChosenColumns.of(options, dataset).added_to(result)
        missing = [name for name in words(options.by or "") if name in FEATURES and name not in result.columns]
        # Call with_features even if `missing` is empty: it raises an error for a dataset other than the evaluated one.
        result = result.with_features(dataset, features=missing)
    elif options.types is not None or options.means_from is not None:
        raise DataError("--types and --means-from need --dataset FOLDER")
    return result_text(result, options)


def _ranks(result: EvaluationResult, options: argparse.Namespace) -> str:
    """Write the ranks of a result to a file, or return the text about single ranks."""
    if options.explain is not None:
        return explanation_text(result, options)
    if options.worst is not None:
        return worst_text(result, options)
    check_out(options.out, options.overwrite, [options.result])
    write_ranks(result, options.out, overwrite=options.overwrite, spreadsheet=options.spreadsheet)
    return f"{file_line(options.out)}, {len(result.table):,} ranks"


def _check(options: argparse.Namespace) -> None:
    """Raise a ProtocolError for options that contradict each other or have no effect."""
    given = [name for name in LIVE if getattr(options, name)]
    is_live = options.model is not None or options.scorer is not None
    asked = [name for name in ("out", "worst", "explain") if getattr(options, name) is not None]
    if len(asked) > 1:
        raise ProtocolError(f"{' and '.join(map(option_name, asked))} are two outputs; choose one of them")
    if options.limit is not None and options.explain is None:
        raise ProtocolError("--limit needs --explain SUBJECT RELATION OBJECT")
    if options.given is not None and options.explain is None:
        raise ProtocolError("--given needs --explain SUBJECT RELATION OBJECT")
    if given and options.explain is None:
        raise ProtocolError(f"{option_name(given[0])} needs --explain SUBJECT RELATION OBJECT")
    if given and not is_live and given != ["sides"]:
        raise ProtocolError(f"{option_name(given[0])} needs --dataset and --model; a saved result keeps its protocol")
    if asked:
        ignored = [name for name in WITHOUT_EFFECT if getattr(options, name) is not None]
        if ignored:
            raise ProtocolError(f"{option_name(ignored[0])} has no effect on {option_name(asked[0])}; leave one out")
    if options.overwrite and options.out is None:
        raise ProtocolError("--overwrite needs -o FILE")
    if options.result is not None and is_live:
        raise ProtocolError(
            f"--model and --scorer score a triple anew, with the options of the protocol and without {options.result}; "
            "leave one of the two out"
        )
    if options.result is None and options.explain is None:
        raise DataError("RUN.kgeval is missing: a result saved by kgeval evaluate --out or kgeval classify --out")
    if options.result is None and not (is_live and options.dataset is not None):
        raise DataError("--explain needs RUN.kgeval, or --dataset DATASET with --model PATH or --scorer MODULE:NAME")
    if options.explain is not None and options.result is not None and options.dataset is not None:
        raise ProtocolError(f"--dataset needs --model PATH; {options.result} explains itself")


def option_name(name: str) -> str:
    """Return the option of the command line for the name of its attribute.

    Parameters
    ----------
    name : str
    """
    return "--as" if name == "convention" else f"--{name.replace('_', '-')}"


def _show_classification(result: ClassificationResult, options: argparse.Namespace) -> str:
    """Return the text of a saved classification; raise a DataError for options that need ranks."""
    if options.convention is not None:
        raise DataError(f"{options.result}: holds a classification, but --as needs ranks")
    if options.metrics == ",".join(DEFAULT_METRICS):
        options.metrics = ",".join(result.default_metrics)
    if any(getattr(options, name) is not None for name in ("ties", "types", "means_from")):
        raise DataError(f"{options.result}: holds a classification, but --ties, --types and --means-from need ranks")
    if options.cluster is not None:
        check_one_of("--cluster of a classification", options.cluster, CLUSTERS)
    for column in words(options.by or ""):
        check_one_of("--by", column, ["relation", *result.columns, *(n for n in FEATURES if n not in NEED_SIDE)])
    if options.dataset is not None:
        result = result.with_features(given_dataset(options))
    return classification_text(result, options)


COMMAND = Command(
    "show",
    "print a saved result, break it down, write its ranks, explain a rank",
    _add_options,
    _show,
    place=7,
    runs_scorer=True,
)
