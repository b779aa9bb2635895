"""kgeval classify."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import kgeval
from kgeval.checks import check_one_of
from kgeval.classification_result import BREAKDOWNS as CLASSIFIED_BY
from kgeval.classification_result import DEFAULT_METRICS as CLASSIFIED_METRICS
from kgeval.classification_result import ClassificationResult, parse_points
from kgeval.cli.inputs import add_input, check_options, json_text, say_aside, scorer_of
from kgeval.cli.showing import undefined_lines
from kgeval.errors import ProtocolError
from kgeval.metrics.base import split_list
from kgeval.metrics.calibration import METHODS
from kgeval.negative_sets import UNIFORM
from kgeval.report.tables import FORMATS, format_frame, frame_records, printable
from kgeval.scoring import MAX_PAIRS


def add_classify(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval classify."""
    add_input(parser, with_scores=False, with_side=False)
    negatives = parser.add_argument_group("negatives (change the numbers)")
    negatives.add_argument(
        "--negatives",
        metavar="FOLDER",
        help="holds valid_negatives.txt and test_negatives.txt (default: DATASET), or the word uniform: draw them",
    )
    negatives.add_argument(
        "--labelled", action="store_true", help="valid and test of DATASET end each line with 1/-1, 1/0 or true/false"
    )
    negatives.add_argument("--seed", type=int, metavar="N", help="of uniform negatives (default: 0)")
    calibration = parser.add_argument_group("probabilities, for metrics such as log_loss")
    calibration.add_argument("--calibrate", choices=METHODS, help="fit them on validation (needs scikit-learn)")
    calibration.add_argument("--prior", type=float, metavar="SHARE", help="of true triples (default: validation's)")
    output = parser.add_argument_group("output")
    output.add_argument("--metrics", default=",".join(CLASSIFIED_METRICS), metavar="NAMES", help="default: %(default)s")
    output.add_argument("--by", metavar="COLUMN", help="break down by relation")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    parser.add_argument("--max-pairs", type=int, metavar="N", help="longest arrays for a function")
    parser.set_defaults(run=_classify)


def _classify(options: argparse.Namespace) -> str:
    start = time.perf_counter()
    metrics = split_list(options.metrics)
    parse_points(metrics)
    if options.by is not None:
        check_one_of("--by", options.by, CLASSIFIED_BY)
    if options.seed is not None and options.negatives != UNIFORM:
        raise ProtocolError("--seed needs --negatives uniform")
    check_options(options)
    dataset = kgeval.read_dataset(options.dataset, header=options.header, labelled=options.labelled)
    negatives: Any = options.negatives
    source = None
    if negatives != UNIFORM:
        folder = Path(negatives or options.dataset)
        in_columns = options.labelled and negatives is None
        negatives = kgeval.read_negatives(folder, dataset, labelled=in_columns, header=options.header)
        source = f"files in {folder.resolve().name}"
    result = kgeval.classify(
        scorer_of(options, dataset),
        dataset,
        negatives,
        calibrate=options.calibrate,
        prior=options.prior,
        seed=options.seed or 0,
        source=source,
        max_pairs=MAX_PAIRS if options.max_pairs is None else options.max_pairs,
    )
    return _classified(result, metrics, options, time.perf_counter() - start)


def _classified(result: ClassificationResult, metrics: list[str], options: argparse.Namespace, seconds: float) -> str:
    frames = {"metrics": result.summary(metrics)}
    if options.by:
        frames["by"] = result.by(options.by, metrics)
    cautions = result.cautions(metrics)
    if options.format == "json":
        content: dict[str, Any] = {name: frame_records(frame) for name, frame in frames.items()}
        content = {"about": result.about, "dropped": result.dropped, "notes": [*result.notes, *cautions], **content}
        return json_text(content)
    notes = [f"note: {said}" for said in cautions]
    notes += undefined_lines(*frames.values())
    if options.format != "table":
        dropped = [f"dropped: {n:,} triples, {reason}" for reason, n in result.dropped.items()]
        say_aside([*dropped, *(f"note: {said}" for said in result.notes), *notes])
        return format_frame(frames.get("by", frames["metrics"]), options.format)
    parts = ["\n".join(printable(line) for line in result.head())]
    parts += [format_frame(frame, "table") for frame in frames.values()]
    parts += ["\n".join(printable(line) for line in notes)] if notes else []
    return "\n\n".join([*parts, f"done in {seconds:.1f} s.{'' if options.by else ' Breakdown: --by relation.'}"])
