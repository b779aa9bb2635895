"""kgeval show: print a saved result again, with other metrics or breakdowns."""

from __future__ import annotations

import argparse
from pathlib import Path

import kgeval
from kgeval.checks import check_one_of
from kgeval.classification import CLUSTERS, ClassificationResult
from kgeval.cli.command import Command
from kgeval.cli.options import add_dataset, given_dataset, words
from kgeval.cli.output import ChosenColumns, add_output, check_output, classification_text, result_text
from kgeval.errors import DataError
from kgeval.features import FEATURES, NEED_SIDE
from kgeval.metrics.default_metrics import DEFAULT_METRICS


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "result", type=Path, metavar="RUN.kgeval", help="result saved by kgeval evaluate --out or kgeval classify --out"
    )
    add_output(parser)
    parser.add_argument(
        "--dataset", metavar="FOLDER", help="evaluated dataset, for --by columns that the result does not contain"
    )
    add_dataset(parser)


def _show(options: argparse.Namespace) -> str:
    result = kgeval.load_result(options.result)
    if isinstance(result, ClassificationResult):
        return _show_classification(result, options)
    check_output(options, result.columns.columns)
    if options.dataset is not None:
        dataset = given_dataset(options)
        result = ChosenColumns.of(options, dataset).added_to(result)
        missing = [name for name in words(options.by or "") if name in FEATURES and name not in result.columns]
        # Call with_features even if `missing` is empty: it raises an error for a dataset other than the evaluated one.
        result = result.with_features(dataset, names=missing)
    elif options.types is not None or options.means_from is not None:
        raise DataError("--types and --means-from need --dataset FOLDER")
    return result_text(result, options)


def _show_classification(result: ClassificationResult, options: argparse.Namespace) -> str:
    """Return the text of a saved classification; raise a DataError for options that need ranks."""
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


COMMAND = Command("show", "print a saved result, or break it down", _add_options, _show, place=2)
