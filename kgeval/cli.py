"""The command line: the public calls, their settings as options, and what they return as text."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import kgeval
from kgeval.errors import DataError, KgevalError, KgevalWarning, ScoreError
from kgeval.metrics import TIE_POLICIES
from kgeval.models import INVERSE_ROWS, LAYOUTS, MODELS
from kgeval.protocol import UNSEEN, Protocol
from kgeval.report.tables import FORMATS, format_frame, frame_records, listed_ranks, printable, summary_frame
from kgeval.results import DEFAULT_METRICS, EvaluationResult

SIDE_CHOICES = ("both", "subject", "object")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code (0, or 2 after an error of the user's making)."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgevalWarning)  # the notes of the result say the same
            print(options.run(options))
            sys.stdout.flush()
    except KgevalError as error:
        if options.debug:
            traceback.print_exc()
        print(f"kgeval: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kgeval: interrupted; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return 0


def _evaluate(options: argparse.Namespace) -> str:
    start = time.perf_counter()
    if options.out is not None and options.out.exists() and not options.overwrite:
        raise DataError(f"{options.out} exists; choose another name, or say --overwrite")
    metrics = _words(options.metrics)
    for metric in metrics:
        kgeval.metrics.parse(metric)
    dataset = kgeval.read_dataset(options.dataset, header=options.header)
    scores = None
    if options.scores is not None:
        scores = kgeval.read_scores(options.scores, header=options.header)
        result = kgeval.evaluate_scores(scores, dataset, _protocol(options, "rank", allow_default=True))
    else:
        scorer = _scorer(options, dataset)
        lacks = len(getattr(scorer, "missing_entities", ())) or len(getattr(scorer, "missing_relations", ()))
        result = kgeval.evaluate(
            scorer,
            dataset,
            _protocol(options, "drop" if lacks else "rank"),
            batch_size=options.batch_size,
            block_size=options.block_size,
            max_pairs=options.max_pairs,
            threads=options.threads,
            progress=options.progress,
        )
    if options.out is not None:
        result.save(options.out, overwrite=options.overwrite)
    return _report(result, scores, metrics, options, time.perf_counter() - start)


def _report(
    result: EvaluationResult,
    scores: pd.DataFrame | None,
    metrics: list[str],
    options: argparse.Namespace,
    seconds: float,
) -> str:
    frame = summary_frame(result, metrics, options.ties)
    groups = result.by(*_words(options.by), metrics=metrics, ties=options.ties) if options.by else None
    if options.format == "json":
        content = {
            "about": result.about,
            "protocol": result.protocol.to_dict() | {"fingerprint": result.protocol.fingerprint, "ties": options.ties},
            "tie_rate": result.tie_rate,
            "n_read": result.n_read,
            "dropped": result.dropped,
            "notes": list(result.notes),
            "metrics": frame_records(frame),
        }
        if groups is not None:
            content["by"] = frame_records(groups)
        return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    if options.format != "table":
        return format_frame(frame if groups is None else groups, options.format)
    parts = ["\n".join(printable(line) for line in result.head(options.ties))]
    if scores is not None:
        parts.append(listed_ranks(result, scores))
    parts.append(format_frame(frame, "table"))
    if groups is not None:
        parts.append(format_frame(groups, "table"))
    cautions = [f"note: {said}" for said in result.cautions(metrics)]
    reasons = {f"undefined: {' '.join(key)}: {reason}" for key, reason in frame.attrs["reasons"].items()}
    if cautions or reasons:
        parts.append("\n".join([*cautions, *sorted(reasons)]))
    saved = f"Saved {options.out}." if options.out else "Save: --out run.kgeval."
    parts.append(f"done in {seconds:.1f} s. {'' if options.by else 'Breakdown: --by relation. '}{saved}")
    return "\n\n".join(parts)


def _check(options: argparse.Namespace) -> str:
    dataset = kgeval.read_dataset(options.dataset, header=options.header)
    report = kgeval.check_scorer(_scorer(options, dataset), dataset, _sides(options.side))
    return "\n".join([f"{report.kind} scorer, {report.dtype} scores: no fault found", *report.notes])


def _scorer(options: argparse.Namespace, dataset: kgeval.Dataset) -> Any:
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
        raise ScoreError(f"--score expects module:function; got {options.score!r}")
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ScoreError(f"--score: importing {module_name!r} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove("")
    if not hasattr(module, name):
        raise ScoreError(f"--score: module {module_name!r} has no {name!r}")
    return getattr(module, name)


def _protocol(options: argparse.Namespace, unseen: str, allow_default: bool = False) -> Protocol | None:
    if allow_default and options.side == "both" and not (options.split or options.filter or options.unseen):
        return None
    return Protocol(
        sides=_sides(options.side),
        filter_splits=None if options.filter is None else [w for w in _words(options.filter) if w != "none"],
        unseen=options.unseen or unseen,
        splits=_words(options.split) if options.split else ("test",),
    )


def _sides(side: str) -> tuple[str, ...]:
    return ("subject", "object") if side == "both" else (side,)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kgeval", description="Exact evaluation of knowledge-graph embedding models.")
    parser.add_argument("--version", action="version", version=f"kgeval {kgeval.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    evaluate = commands.add_parser("evaluate", help="rank the triples of a split and print the metrics")
    _add_input(evaluate, with_scores=True)
    protocol = evaluate.add_argument_group("protocol (changes the numbers)")
    protocol.add_argument("--split", metavar="NAMES", help="splits to rank, comma-separated (default: test)")
    protocol.add_argument("--filter", metavar="NAMES", help="splits that are known, or none (default: all)")
    protocol.add_argument(
        "--unseen", choices=UNSEEN, help="triples that train lacks (default: rank, or drop without vector)"
    )
    output = evaluate.add_argument_group("output")
    output.add_argument("--metrics", default=",".join(DEFAULT_METRICS), metavar="NAMES", help="default: %(default)s")
    output.add_argument("--ties", choices=TIE_POLICIES, default="realistic", help="default: %(default)s")
    output.add_argument("--by", metavar="COLUMNS", help="break down by relation, side, split")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    output.add_argument("--out", type=Path, metavar="FILE", help="save the result, conventionally run.kgeval")
    output.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    resources = evaluate.add_argument_group("resources (change no number)")
    resources.add_argument("--batch-size", type=int, metavar="N", help="queries at a time")
    resources.add_argument("--block-size", type=int, metavar="N", help="candidates at a time")
    resources.add_argument("--max-pairs", type=int, default=1 << 20, metavar="N", help="longest arrays for a function")
    resources.add_argument("--threads", type=int, metavar="N", help="default: one per processor")
    resources.add_argument("--no-progress", dest="progress", action="store_false", help="no bar on a terminal")
    evaluate.set_defaults(run=_evaluate)
    check = commands.add_parser("check-scorer", help="probe a scorer for faults that would make ranks wrong")
    _add_input(check, with_scores=False)
    check.set_defaults(run=_check)
    return parser


def _add_input(parser: argparse.ArgumentParser, with_scores: bool) -> None:
    parser.add_argument("dataset", metavar="DATASET", help="folder with train.txt, valid.txt, test.txt")
    scorer = parser.add_mutually_exclusive_group(required=True)
    scorer.add_argument("--model", metavar="FILE.npz", help="an embedding model")
    scorer.add_argument("--score", metavar="MODULE:FUNCTION", help="a function score(s, p, o), or a scorer object")
    if with_scores:
        scorer.add_argument("--scores", metavar="FILE.tsv", help="a table of scored triples: s, p, o, score")
    model = parser.add_argument_group("what the model file does not say itself")
    model.add_argument("--model-type", choices=sorted(MODELS))
    model.add_argument("--norm", type=int, choices=(1, 2))
    model.add_argument("--layout", choices=LAYOUTS)
    model.add_argument("--inverse-relations", choices=INVERSE_ROWS)
    parser.add_argument("--side", choices=SIDE_CHOICES, default="both", help="which place is asked (default: both)")
    parser.add_argument("--header", action="store_true", help="the files' first lines name the columns")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
