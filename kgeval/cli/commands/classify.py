"""kgeval classify: triple classification with thresholds from validation."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import kgeval
from kgeval.base.checks import check_one_of, suggest
from kgeval.base.files import check_target
from kgeval.classification.classification_result import CLASSIFIED_METRICS, PROBABILITY_METRICS
from kgeval.classification.example_clusters import CLUSTERS
from kgeval.classification.negative_sets import UNIFORM
from kgeval.classification.point_keys import parse_points
from kgeval.cli.command import Command, Output
from kgeval.cli.interval_options import add_intervals, check_level
from kgeval.cli.options import (
    add_format,
    add_input,
    add_quiet,
    add_reading,
    check_options,
    filter_key,
    given_dataset,
    given_splits,
    scorer_of,
    words,
)
from kgeval.cli.output import classification_text, save_error
from kgeval.errors import DataError, ProtocolError
from kgeval.features.columns import FEATURES, NEED_SIDE
from kgeval.metrics.base import split_list
from kgeval.metrics.pointwise.calibration import CALIBRATIONS
from kgeval.metrics.pointwise.cuts import THRESHOLD_PLACES


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_input(parser, with_scores=False, with_side=False)
    negatives = parser.add_argument_group("negatives (change the numbers)")
    negatives.add_argument(
        "--negatives",
        metavar="FOLDER",
        help="folder with valid_negatives.txt and test_negatives.txt (default: DATASET), or the word uniform (for "
        "random negatives)",
    )
    negatives.add_argument(
        "--filter-by",
        metavar="COLUMNS",
        help="for uniform negatives: columns, comma-separated, in which a known triple must equal the positive to be "
        "no negative: time,qualifiers; none: whatever they are (needed if the dataset has times or qualifiers)",
    )
    negatives.add_argument("--sample-seed", type=int, metavar="N", help="seed of uniform negatives (default: 0)")
    thresholds = parser.add_argument_group("thresholds (change the numbers)")
    thresholds.add_argument(
        "--threshold-at",
        choices=THRESHOLD_PLACES,
        default=THRESHOLD_PLACES[0],
        help="place thresholds at a score of validation, or at the midpoint to the next lower score (default: "
        "%(default)s)",
    )
    calibration = parser.add_argument_group("probabilities, for metrics such as log_loss")
    calibration.add_argument(
        "--calibrate", choices=CALIBRATIONS, help="fit probabilities to validation scores (needs scikit-learn)"
    )
    calibration.add_argument(
        "--prior",
        type=float,
        metavar="SHARE",
        help="share of true triples that the probabilities assume (default: the share in validation)",
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--metrics",
        metavar="NAMES",
        help=f"metrics, comma-separated (default: {','.join(CLASSIFIED_METRICS)}; with --calibrate also "
        f"{','.join(PROBABILITY_METRICS)})",
    )
    output.add_argument(
        "--by",
        metavar="COLUMNS",
        help="break down by relation, or by a feature that is the same for both sides, such as cardinality",
    )
    add_intervals(output)
    output.add_argument(
        "--cluster",
        choices=CLUSTERS,
        help="intervals show the variation with other positives and their negatives, other examples or other entities "
        "(default: positive for uniform negatives, else example)",
    )
    output.add_argument("--out", type=Path, metavar="FILE", help="save the result, conventionally as run.kgeval")
    output.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    add_format(output)
    add_quiet(output, "print only the tables: no lines about the run, no notes")
    parser.add_argument("--batch-size", type=int, metavar="N", help="triples in one call of a scoring function")
    add_reading(parser, with_scores=False)


def _classify(options: argparse.Namespace) -> Output:
    start = time.perf_counter()
    if options.metrics is not None:
        parse_points(split_list(options.metrics))
    check_level(options)
    if options.out is not None:
        check_target(options.out, options.overwrite)
    for column in words(options.by or ""):
        check_one_of("--by", column, ["relation", *(name for name in FEATURES if name not in NEED_SIDE)])
    if options.sample_seed is not None and options.negatives != UNIFORM:
        raise ProtocolError("--sample-seed needs --negatives uniform")
    check_options(options)
    dataset = given_dataset(options)
    negatives: Any = options.negatives
    source = None
    if negatives != UNIFORM:
        folder = Path(negatives or options.dataset)
        if not folder.exists() and (hint := suggest(str(folder), [UNIFORM])):
            raise DataError(f"--negatives: {folder}: no such folder{hint}")
        has_labels = options.labelled and negatives is None
        negatives = kgeval.read_negatives(
            folder,
            dataset,
            labelled=has_labels,
            header=options.header,
            columns=options.columns,
            sep=options.sep,
            splits=given_splits(options) if has_labels else None,
        )
        source = f"files in {folder.resolve().name}"
    result = kgeval.classify(
        scorer_of(options, dataset),
        dataset,
        negatives,
        threshold_at=options.threshold_at,
        calibrate=options.calibrate,
        prior=options.prior,
        sample_seed=options.sample_seed or 0,
        source=source,
        batch_size=options.batch_size,
        filter_by=filter_key(options),
    )
    if options.metrics is None:
        options.metrics = ",".join(result.default_metrics)
    error = save_error(result, options)
    saved = f" Saved {options.out}." if options.out and not error else ""
    breakdown = "" if options.by else " Breakdown: --by relation."
    last = f"done in {time.perf_counter() - start:.1f} s.{breakdown}{saved}"
    return Output(classification_text(result, options, last), 2 if error else 0, error)


COMMAND = Command(
    "classify",
    "classify test triples as true or false, and print the metrics",
    _add_options,
    _classify,
    place=8,
    runs_scorer=True,
)
