"""kgeval trec."""

from __future__ import annotations

import argparse
import dataclasses

from kgeval.cli.inputs import json_text, say_aside
from kgeval.io.trec_files import read_qrels, read_run
from kgeval.report.tables import FORMATS, format_frame, frame_records
from kgeval.report.trec import TREC_TIES, TrecOptions, format_trec, trec_frame, trec_lists
from kgeval.report.trec_measures import parse_measures


def add_trec(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval trec."""
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
    parser.set_defaults(run=_trec)


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
        return json_text({**about, "measures": frame_records(frame)})
    undefined: dict[str, list[str]] = {}
    for (_, name), why in frame.attrs["reasons"].items():
        undefined.setdefault(why, []).append(name)
    notes = [f"note: {note}" for note in said]
    say_aside([*notes, *(f"undefined: {', '.join(names)}: {why}" for why, names in undefined.items())])
    return format_trec(frame) if options.format == "trec" else format_frame(frame, options.format)
