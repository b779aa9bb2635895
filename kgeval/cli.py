"""The command line: the public calls, their settings as options, and what they return as text."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import io
import json
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

import kgeval
from kgeval.archive import check_target
from kgeval.checks import check_one_of
from kgeval.classification_result import BREAKDOWNS as CLASSIFIED_BY
from kgeval.classification_result import DEFAULT_METRICS as CLASSIFIED_METRICS
from kgeval.classification_result import ClassificationResult, parse_points
from kgeval.errors import KgevalError, KgevalWarning, ProtocolError, ScoreError
from kgeval.io.trec_files import read_qrels, read_run
from kgeval.metrics import TIE_POLICIES
from kgeval.metrics.base import split_list
from kgeval.metrics.calibration import METHODS
from kgeval.models import INVERSE_ROWS, LAYOUTS, MODELS
from kgeval.negative_sets import UNIFORM
from kgeval.protocol import UNSEEN, Protocol
from kgeval.queries import SIDE_NAMES
from kgeval.report.tables import FORMATS, format_frame, frame_records, listed_ranks, printable, summary_frame
from kgeval.report.trec import TREC_TIES, TrecOptions, format_trec, trec_frame, trec_lists
from kgeval.report.trec_measures import parse_measures
from kgeval.results import BREAKDOWNS, DEFAULT_METRICS, EvaluationResult
from kgeval.scoring import MAX_PAIRS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code (0, or 2 after an error of the user's making)."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a label must not end the program
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
    if options.out is not None:
        check_target(options.out, options.overwrite)
    metrics = split_list(options.metrics)
    for metric in metrics:
        kgeval.metrics.parse(metric)
    for column in _words(options.by or ""):
        check_one_of("--by", column, BREAKDOWNS)
    _check_options(options)
    dataset = kgeval.read_dataset(options.dataset, header=options.header)
    scores = None
    if options.scores is not None:
        scores = kgeval.read_scores(options.scores, header=options.header)
        result = kgeval.evaluate_scores(scores, dataset, _protocol(options))
    else:
        scorer = _scorer(options, dataset)
        result = kgeval.evaluate(
            scorer,
            dataset,
            _protocol(options),
            batch_size=options.batch_size,
            block_size=options.block_size,
            max_pairs=MAX_PAIRS if options.max_pairs is None else options.max_pairs,
            threads=options.threads,
            device=options.device,
            progress=options.progress,
        )
    if options.out is not None:
        result.save(options.out, overwrite=options.overwrite)
    return _report(result, dataset, scores, options, time.perf_counter() - start)


def _report(
    result: EvaluationResult,
    dataset: kgeval.Dataset,
    scores: pd.DataFrame | None,
    options: argparse.Namespace,
    seconds: float,
) -> str:
    metrics, ties = split_list(options.metrics), options.ties or "realistic"
    frame = summary_frame(result, metrics, options.ties)
    groups = result.by(*_words(options.by), metrics=metrics, ties=options.ties) if options.by else None
    if options.format == "json":
        content = {
            "about": result.about,
            "protocol": result.protocol.to_dict() | {"fingerprint": result.protocol.fingerprint, "ties": ties},
            "tie_rate": result.tie_rate,
            "n_read": result.n_read,
            "dropped": result.dropped,
            "notes": [*result.notes, *result.cautions(metrics)],
            "metrics": frame_records(frame),
        }
        if groups is not None:
            content["by"] = frame_records(groups)
        return _json(content)
    reasons = sorted({f"undefined: {' '.join(key)}: {reason}" for key, reason in frame.attrs["reasons"].items()})
    if options.format != "table":
        dropped = [f"dropped: {n:,} ranks, {reason}" for reason, n in result.dropped.items()]
        notes = [f"note: {said}" for said in (*result.notes, *result.cautions(metrics))]
        for line in (*dropped, *notes, *reasons):
            print(f"kgeval: {printable(line)}", file=sys.stderr)
        return format_frame(frame if groups is None else groups, options.format)
    parts = ["\n".join(printable(line) for line in result.head(ties))]
    if scores is not None:
        parts.append(listed_ranks(result, scores, dataset))
    parts.append(format_frame(frame, "table"))
    if groups is not None:
        parts.append(format_frame(groups, "table"))
        reasons += sorted({f"undefined: {' '.join(key)}: {why}" for key, why in groups.attrs["reasons"].items()})
    cautions = [f"note: {said}" for said in result.cautions(metrics)]
    if cautions or reasons:
        parts.append("\n".join([*cautions, *reasons]))
    saved = f"Saved {options.out}." if options.out else "Save: --out run.kgeval."
    parts.append(f"done in {seconds:.1f} s. {'' if options.by else 'Breakdown: --by relation. '}{saved}")
    return "\n\n".join(parts)


def _json(content: dict[str, Any]) -> str:
    """Return strict JSON, in ASCII where the terminal takes no more."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=not is_unicode)


def _check(options: argparse.Namespace) -> str:
    _check_options(options)
    dataset = kgeval.read_dataset(options.dataset, header=options.header)
    report = kgeval.check_scorer(_scorer(options, dataset), dataset, options.side or "both")
    return "\n".join([f"{report.kind} scorer, {report.dtype} scores: no fault found", *report.notes])


def _classify(options: argparse.Namespace) -> str:
    start = time.perf_counter()
    metrics = split_list(options.metrics)
    parse_points(metrics)
    if options.by is not None:
        check_one_of("--by", options.by, CLASSIFIED_BY)
    if options.seed is not None and options.negatives != UNIFORM:
        raise ProtocolError("--seed needs --negatives uniform")
    _check_options(options)
    dataset = kgeval.read_dataset(options.dataset, header=options.header, labelled=options.labelled)
    negatives: Any = options.negatives
    source = None
    if negatives != UNIFORM:
        folder = Path(negatives or options.dataset)
        in_columns = options.labelled and negatives is None
        negatives = kgeval.read_negatives(folder, dataset, labelled=in_columns, header=options.header)
        source = f"files in {folder.resolve().name}"
    result = kgeval.classify(
        _scorer(options, dataset),
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
        return _json(content)
    notes = [f"note: {said}" for said in cautions]
    undefined: dict[tuple[str, str], list[str]] = {}
    for frame in frames.values():
        for (row, heading), why in frame.attrs["reasons"].items():
            undefined.setdefault((heading, why), []).append(row)
    for (heading, why), rows in undefined.items():
        more = f" and {len(rows) - 3:,} more" if len(rows) > 3 else ""
        notes.append(f"undefined: {heading} of {', '.join(rows[:3])}{more}: {why}")
    if options.format != "table":
        dropped = [f"dropped: {n:,} triples, {reason}" for reason, n in result.dropped.items()]
        for line in (*dropped, *(f"note: {said}" for said in result.notes), *notes):
            print(f"kgeval: {printable(line)}", file=sys.stderr)
        return format_frame(frames.get("by", frames["metrics"]), options.format)
    parts = ["\n".join(printable(line) for line in result.head())]
    parts += [format_frame(frame, "table") for frame in frames.values()]
    parts += ["\n".join(printable(line) for line in notes)] if notes else []
    return "\n\n".join([*parts, f"done in {seconds:.1f} s.{'' if options.by else ' Breakdown: --by relation.'}"])


def _trec(options: argparse.Namespace) -> str:
    measures = parse_measures(options.measures or ["official"])
    rules = TrecOptions(options.ties, options.level, options.depth, options.judged_only, options.complete)
    qrels, run = read_qrels(options.qrels), read_run(options.run_file)
    lists = trec_lists(qrels, run, rules)
    frame = trec_frame(lists, measures, options.ties, run.attrs["tag"])
    said = [*lists.notes, *frame.attrs["notes"]]
    frame = frame if options.per_query else frame.tail(1)
    if options.format == "json":
        about = {"run": run.attrs["tag"], **dataclasses.asdict(rules), "notes": said}
        return _json({**about, "measures": frame_records(frame)})
    undefined: dict[str, list[str]] = {}
    for (_, name), why in frame.attrs["reasons"].items():
        undefined.setdefault(why, []).append(name)
    notes = [f"note: {note}" for note in said]
    for line in (*notes, *(f"undefined: {', '.join(names)}: {why}" for why, names in undefined.items())):
        print(f"kgeval: {printable(line)}", file=sys.stderr)
    return format_trec(frame) if options.format == "trec" else format_frame(frame, options.format)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse an option that the chosen scorer would ignore."""
    of_models = ("model_type", "norm", "layout", "inverse_relations", "device")
    of_runs = ("batch_size", "block_size", "max_pairs", "threads")
    ignored: tuple[str, ...] = () if options.model is not None else of_models
    if getattr(options, "scores", None) is not None:
        ignored += of_runs
    for name in ignored:
        if getattr(options, name, None) is not None:
            kind = "--model" if name in of_models else "--model or --score"
            raise ProtocolError(f"--{name.replace('_', '-')} needs {kind}")


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
        raise ScoreError(f"--score expects module:function or file.py:function; got {options.score!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")  # stays: the scorer may import more when it is called
    try:
        module = _module(module_name)
    except Exception as error:
        raise ScoreError(f"--score: importing {module_name!r} raised {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise ScoreError(f"--score: module {module_name!r} has no {name!r}")
    return getattr(module, name)


def _module(name: str) -> Any:
    """Import a module by name, from the current folder or where Python looks, or by path if it ends in .py."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _protocol(options: argparse.Namespace) -> Protocol | None:
    if options.side is None and options.split is None and options.filter is None and options.unseen is None:
        return None
    return Protocol(
        sides=options.side or "both",
        filter_splits=None if options.filter is None else [word for word in _words(options.filter) if word != "none"],
        unseen=options.unseen,
        splits="test" if options.split is None else _words(options.split),
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"kgeval: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kgeval", description="Exact evaluation of knowledge-graph embedding models.")
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
    output.add_argument("--ties", choices=TIE_POLICIES, help="default: realistic (query. metrics: expected)")
    output.add_argument("--by", metavar="COLUMNS", help="break down by relation, side, split")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    output.add_argument("--out", type=Path, metavar="FILE", help="save the result, conventionally run.kgeval")
    output.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    resources = evaluate.add_argument_group("resources (change no number)")
    resources.add_argument("--batch-size", type=int, metavar="N", help="queries at a time")
    resources.add_argument("--block-size", type=int, metavar="N", help="candidates at a time")
    resources.add_argument("--max-pairs", type=int, metavar="N", help="longest arrays for a function")
    resources.add_argument("--threads", type=int, metavar="N", help="default: one per processor")
    resources.add_argument(
        "--device", metavar="NAME", help="of models: numpy (default), cpu (torch: faster dot products), cuda"
    )
    resources.add_argument("--no-progress", dest="progress", action="store_false", help="no bar on a terminal")
    evaluate.set_defaults(run=_evaluate)
    _add_classify(commands.add_parser("classify", help="tell true test triples from false ones, and print the metrics"))
    check = commands.add_parser("check-scorer", help="probe a scorer for faults that would make ranks wrong")
    _add_input(check, with_scores=False)
    check.set_defaults(run=_check)
    _add_trec(commands.add_parser("trec", help="measure a TREC run as trec_eval does, ties exactly on request"))
    return parser


def _add_classify(parser: argparse.ArgumentParser) -> None:
    _add_input(parser, with_scores=False, with_side=False)
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


def _add_trec(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="judgements: query iteration document grade")
    parser.add_argument("run_file", metavar="RUN", help="what a system returned: query Q0 document rank score tag")
    add = parser.add_argument
    add("-q", dest="per_query", action="store_true", help="every query, too")
    add("-c", dest="complete", action="store_true", help="judged queries that the run lacks count 0")
    add("-l", dest="level", type=int, default=1, metavar="LEVEL", help="lowest grade that is relevant (default: 1)")
    add("-M", dest="depth", type=int, metavar="N", help="only the first N documents of each query")
    add("-J", dest="judged_only", action="store_true", help="only documents that are judged")
    names = "as in trec_eval (map, P.5,10, ndcg_cut.10, official, set, all_trec) or in kgeval (ndcg@10)"
    add("-m", dest="measures", action="append", metavar="MEASURE", help=f"{names}; may be repeated; default: official")
    add("--ties", choices=TREC_TIES, default="trec", help="default: trec, falling names of documents")
    add("--format", choices=("trec", *FORMATS), default="trec", help="default: %(default)s")
    add("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=_trec)


def _add_input(parser: argparse.ArgumentParser, with_scores: bool, with_side: bool = True) -> None:
    parser.add_argument("dataset", metavar="DATASET", help="folder with train.txt, valid.txt, test.txt")
    scorer = parser.add_mutually_exclusive_group(required=True)
    scorer.add_argument("--model", metavar="FILE.npz", help="an embedding model")
    scorer.add_argument(
        "--score", metavar="MODULE:NAME", help="a function score(s, p, o) or a scorer object, in a module or file.py"
    )
    if with_scores:
        scorer.add_argument("--scores", metavar="FILE.tsv", help="a table of scored triples: s, p, o, score")
    model = parser.add_argument_group("what the model file does not say itself")
    model.add_argument("--model-type", choices=sorted(MODELS))
    model.add_argument("--norm", type=int, choices=(1, 2))
    model.add_argument("--layout", choices=LAYOUTS)
    model.add_argument("--inverse-relations", choices=INVERSE_ROWS)
    if with_side:
        parser.add_argument(
            "--side",
            choices=("both", *SIDE_NAMES),
            metavar="SIDE",
            help="subject, object (or head, tail, s, o) or both (default)",
        )
    parser.add_argument("--header", action="store_true", help="the files' first lines name the columns")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
