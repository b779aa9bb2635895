"""kgeval evaluate: rank the triples of a split and print the metrics."""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import kgeval
from kgeval.base.files import check_target
from kgeval.base.wording import printable
from kgeval.cli.command import Command, Output
from kgeval.cli.options import (
    add_input,
    add_predictions,
    add_protocol,
    add_reading,
    add_run,
    check_options,
    executor_of,
    given_dataset,
    predictions_of,
    protocol_of,
    say_aside,
    scorer_of,
    words,
)
from kgeval.cli.output import ChosenColumns, add_output, check_output, listed_ranks, result_text, save_error
from kgeval.cli.tool_numbers import convention_text
from kgeval.comparison.beside import with_baselines
from kgeval.formats.scores import has_named_header
from kgeval.results.columns import computed_columns
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.run_names import check_model_name, named
from kgeval.scorers.baselines import BASELINES, make_baselines


def _add_options(parser: argparse.ArgumentParser) -> None:
    # The groups stand in the help text in this order: first those that a new user needs.
    add_input(parser, with_scores=True)
    parser.usage = (
        "kgeval evaluate DATASET [OPTIONS]\n"
        "       with one of --model PATH, --scorer MODULE:NAME, --scores FILE.tsv, --predictions FILE\n"
        "       kgeval evaluate --predictions FILE [OPTIONS]   (ranks of another tool, without their dataset)"
    )
    parser.add_argument(
        "--lists",
        choices=("query",),
        help="for --scores; query: the rows of a query are the candidates of all its positives, even if these rows do "
        "not contain every entity",
    )
    output = add_output(parser)
    output.add_argument(
        "--beside",
        metavar="NAMES",
        help=f"baselines to evaluate beside the model, comma-separated: {', '.join(BASELINES)}",
    )
    output.add_argument("--out", type=Path, metavar="FILE", help="save the result, conventionally as run.kgeval")
    output.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    output.add_argument("--name", metavar="MODEL", help="name of the model, kept in FILE, for kgeval benchmark")
    output.add_argument(
        "--seed", type=int, metavar="N", help="seed with which the model was trained, kept in FILE; needs --name"
    )
    output.add_argument("--no-progress", dest="progress", action="store_false", help="show no progress bar")
    add_protocol(parser)
    sample = parser.add_argument_group("sample (ranks only a part of the triples; the filter does not change)")
    sample.add_argument("--sample", type=_n_triples, metavar="N", help="rank N triples, drawn at random")
    sample.add_argument(
        "--precision",
        type=_half_widths,
        metavar="H",
        help="rank as many random triples as are needed for a 95%% interval of MRR +-H; other metrics: hits@10=H",
    )
    sample.add_argument(
        "--max-seconds", type=float, metavar="S", help="rank triples in random order, and stop after S seconds"
    )
    sample.add_argument("--sample-seed", type=int, metavar="N", help="seed of the random triples (default: 0)")
    add_reading(parser, with_scores=True)
    add_predictions(parser)
    add_run(parser)
    resources = parser.add_argument_group("resources (change no number)")
    resources.add_argument(
        "--no-check-rows",
        dest="check_rows",
        action="store_false",
        help="do not rank some train triples to find rows in a wrong order",
    )
    resources.add_argument(
        "--batch-size", type=int, metavar="N", help="pairs of a query and a candidate scored at once"
    )
    resources.add_argument(
        "--device",
        metavar="NAME",
        help="device for embedding models: numpy (default), cpu (torch: faster dot products), cuda",
    )


def _n_triples(text: str) -> int:
    """Return the number of triples that ``--sample`` names; the errors of argparse then name the option."""
    if not re.fullmatch("[0-9]+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of triples, such as --sample 1000; got {text!r}")
    return int(text)


def _half_widths(text: str) -> dict[str, float]:
    """Return the metrics and half-widths that ``--precision`` names; a number alone is that of MRR."""
    try:
        pairs = [part.rpartition("=") for part in words(text)]
        found = {metric or "mrr": float(half_width) for metric, _, half_width in pairs}
    except ValueError:
        found = {}
    if not found:
        raise argparse.ArgumentTypeError(
            f"expected a half-width, such as --precision .02 or --precision hits@10=.02; got {text!r}"
        )
    return found


def _evaluate(options: argparse.Namespace) -> Output:
    start = time.perf_counter()
    if options.out is not None:
        check_target(options.out, options.overwrite)
    check_options(options)
    if options.name is not None:
        check_model_name(options.name)
    if options.dataset is None:
        check_output(options)
        return _shown(_evaluate_alone(options), options, start)
    dataset = given_dataset(options)
    further = {str(name) for frame in dataset.columns.values() for name in frame}
    check_output(options, [*further, *(f"dataset.{name}" for name in further), *computed_columns(dataset)])
    columns_to_add = ChosenColumns.of(options, dataset)
    beside: dict[str, EvaluationResult] = {}
    if options.scores is not None:
        # Column names apply to the files of the dataset only; an order of letters, such as htr, also to the scores.
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
        scorer, protocol = scorer_of(options, dataset), protocol_of(options, dataset) or kgeval.Protocol()
        baselines = make_baselines(words(options.beside or ""), dataset, protocol.splits)
        result = kgeval.evaluate(
            scorer,
            dataset,
            protocol,
            device=options.device,
            batch_size=options.batch_size,
            executor=executor_of(options),
            run_folder=options.run_folder,
            max_seconds=options.max_seconds,
            check_rows=options.check_rows,
            progress=options.progress and not options.quiet,
        )
        beside = {
            name: _of_baseline(baseline, dataset, result.protocol, options) for name, baseline in baselines.items()
        }
        result = with_baselines(result, beside) if beside else result
    return _shown(columns_to_add.added_to(result), options, start, beside)


def _of_baseline(
    baseline: Any, dataset: kgeval.Dataset, protocol: kgeval.Protocol, options: argparse.Namespace
) -> EvaluationResult:
    """Return the result of a baseline; its warnings are not shown, as they would be read as those of the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kgeval.KgevalWarning)
        is_shown = options.progress and not options.quiet
        return kgeval.evaluate(baseline, dataset, protocol, check_rows=False, progress=is_shown)


def _evaluate_alone(options: argparse.Namespace) -> EvaluationResult:
    """Return the result of ranks that are read without a dataset."""
    predictions = predictions_of(options, None)
    protocol = None if options.sides is None else kgeval.Protocol(sides=options.sides)
    return kgeval.evaluate_predictions(predictions, None, protocol, filtered=options.filtered, missing=options.missing)


def _shown(
    result: EvaluationResult,
    options: argparse.Namespace,
    start: float,
    beside: Mapping[str, EvaluationResult] = MappingProxyType({}),
) -> Output:
    """Save a result if the options say so, and return the output of the command.

    `beside` holds the results of the baselines.
    """
    if options.name is not None:
        result = named(result, options.name, options.seed)
    ended = _ended_early(result, options)
    error = save_error(result, options)
    if error and options.run_folder is not None:
        again = "ranks the remaining triples" if ended else "gives the result again without ranking"
        error += f". --run-folder {printable(str(options.run_folder))} {again}"
    saved = "" if error else f" Saved {options.out}." if options.out else " Save: --out run.kgeval."
    breakdown = "" if options.by else " Breakdown: --by relation."
    done = f"done in {time.perf_counter() - start:.1f} s.{breakdown}{saved}"
    is_listed = options.to == "table" and not options.quiet
    # No other format lists these ranks, so only a wider terminal can show the columns that do not fit.
    screen = replace(options.screen, whole="a wider terminal")
    ranks = []
    if is_listed and options.scores is not None:
        ranks = [listed_ranks(result, screen)]
    if ended and (options.to != "table" or options.quiet):
        say_aside([ended])
    as_tool = convention_text(result, options)
    if as_tool and options.to != "table":
        return Output(as_tool, 2 if error else 0, error)
    text = result_text(result, options, ranks, f"{ended}\n{done}" if ended else done, beside)
    text = f"{text}\n\n{as_tool}" if as_tool else text
    return Output(text, 2 if error else 0, error)


def _ended_early(result: EvaluationResult, options: argparse.Namespace) -> str:
    """Return the number of triples ranked within ``--max-seconds``, and how to continue; empty if all were ranked."""
    sample = result.protocol.sample
    is_precise = any(note.startswith("precision: ") for note in result.notes)
    if options.max_seconds is None or sample is None or sample.n == options.sample or is_precise:
        return ""
    wanted = sample.of if options.sample is None else min(options.sample, sample.of)
    ranked = f"--max-seconds {options.max_seconds:g}: ranked {sample.n:,} of {wanted:,} triples."
    if options.run_folder is None:
        return f"{ranked} --run-folder DIR keeps the finished ranks, and the same command then ranks more."
    folder = printable(str(options.run_folder))
    return f"{ranked} To rank more, with or without --max-seconds: --run-folder {folder}."


COMMAND = Command(
    "evaluate",
    "rank the triples of a split and print the metrics",
    _add_options,
    _evaluate,
    place=1,
    runs_scorer=True,
)
