"""kgeval evaluate: rank the triples of a split and print the metrics."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import kgeval
from kgeval.cli.command import Command
from kgeval.cli.options import (
    add_input,
    add_predictions,
    add_protocol,
    check_options,
    given_dataset,
    predictions_of,
    protocol_of,
    scorer_of,
)
from kgeval.cli.output import add_output, check_output, result_text, with_choices
from kgeval.files import check_target
from kgeval.formats import has_named_header
from kgeval.report import listed_ranks
from kgeval.scorers import MAX_PAIRS


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_input(parser, with_scores=True)
    add_protocol(parser)
    add_predictions(parser)
    parser.add_argument(
        "--lists",
        choices=("query",),
        help="for --scores; query: the rows of a query are the candidates of all its positives, even if these rows do "
        "not contain every entity",
    )
    sample = parser.add_argument_group("sample (ranks only a part of the triples; the filter does not change)")
    sample.add_argument("--sample", type=int, metavar="N", help="rank N triples, drawn at random")
    sample.add_argument("--seed", type=int, metavar="S", help="seed of the sample (default: 0)")
    output = add_output(parser)
    output.add_argument("--out", type=Path, metavar="FILE", help="save the result, conventionally as run.kgeval")
    output.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    resources = parser.add_argument_group("resources (change no number)")
    resources.add_argument("--batch-size", type=int, metavar="N", help="queries scored at a time")
    resources.add_argument("--block-size", type=int, metavar="N", help="candidates scored at a time")
    resources.add_argument(
        "--max-pairs", type=int, metavar="N", help="largest number of triples in one call of a scoring function"
    )
    resources.add_argument(
        "--threads", type=int, metavar="N", help="threads for embedding models (default: one per processor)"
    )
    resources.add_argument(
        "--device",
        metavar="NAME",
        help="device for embedding models: numpy (default), cpu (torch: faster dot products), cuda",
    )
    resources.add_argument("--no-progress", dest="progress", action="store_false", help="show no progress bar")


def _evaluate(options: argparse.Namespace) -> str:
    start = time.perf_counter()
    if options.out is not None:
        check_target(options.out, options.overwrite)
    check_options(options)
    dataset = given_dataset(options)
    further = {str(name) for frame in dataset.columns.values() for name in frame}
    check_output(options, [*further, *(f"dataset.{name}" for name in further)])
    scores = None
    if options.scores is not None:
        # Names of columns belong to the files of the dataset; an order of letters applies to the scores too.
        is_order = "," not in (options.columns or "") and not has_named_header(options.scores)
        columns = options.columns if is_order else None
        scores = kgeval.read_scores(options.scores, columns=columns)
        result = kgeval.evaluate_scores(scores, dataset, protocol_of(options, dataset), lists=options.lists)
    elif options.predictions is not None:
        protocol = protocol_of(options, dataset)
        result = kgeval.evaluate_predictions(
            predictions_of(options, dataset), dataset, protocol, filtered=options.filtered, missing=options.missing
        )
    else:
        scorer = scorer_of(options, dataset)
        result = kgeval.evaluate(
            scorer,
            dataset,
            protocol_of(options, dataset),
            batch_size=options.batch_size,
            block_size=options.block_size,
            max_pairs=MAX_PAIRS if options.max_pairs is None else options.max_pairs,
            threads=options.threads,
            device=options.device,
            progress=options.progress,
            triples=options.sample,
            seed=0 if options.seed is None else options.seed,
        )
    result = with_choices(result, dataset, options)
    if options.out is not None:
        result.save(options.out, overwrite=options.overwrite)
    saved = f"Saved {options.out}." if options.out else "Save: --out run.kgeval."
    done = f"done in {time.perf_counter() - start:.1f} s."
    breakdown = "" if options.by else " Breakdown: --by relation."
    ranks = [] if scores is None or options.format != "table" else [listed_ranks(result, scores, dataset)]
    return result_text(result, options, ranks, f"{done}{breakdown} {saved}")


COMMAND = Command(
    "evaluate",
    "rank the triples of a split and print the metrics",
    _add_options,
    _evaluate,
    place=1,
    runs_scorer=True,
)
