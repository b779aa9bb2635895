"""kgeval trec: the measures of a TREC run, as trec_eval computes them."""

from __future__ import annotations

import argparse
import dataclasses

from kgeval.cli.command import Command
from kgeval.cli.options import add_format, add_quiet, json_text, say_aside
from kgeval.display.media import format_frame, frame_records, undefined_lines
from kgeval.trec.measured_runs import TREC_TIES, TrecOptions, format_trec, trec_lists, trec_table
from kgeval.trec.measures import parse_measures
from kgeval.trec.run_files import read_qrels, read_run


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        help="file of relevance judgements (qrels); columns: query, iteration, document, grade",
    )
    parser.add_argument("run_file", metavar="RUN", help="file of a run; columns: query, Q0, document, rank, score, tag")
    add = parser.add_argument
    add("-q", dest="per_query", action="store_true", help="also print the measures of every query")
    add("-c", dest="complete", action="store_true", help="judged queries that are not in the run count as 0")
    add(
        "-l",
        dest="relevance_level",
        type=int,
        default=1,
        metavar="LEVEL",
        help="lowest grade that is relevant (default: 1)",
    )
    add("-M", dest="depth", type=int, metavar="N", help="keep only the first N documents of each query")
    add("-J", dest="judged_only", action="store_true", help="keep only documents that are judged")
    names = "measure, named as in trec_eval (map, P.5,10, ndcg_cut.10, official, set, all_trec) or in kgeval (ndcg@10)"
    add("-m", dest="measures", action="append", metavar="MEASURE", help=f"{names}; may be repeated; default: official")
    add(
        "--ties",
        choices=TREC_TIES,
        default="trec",
        help="tie policy (default: trec, which sorts tied documents by name in descending order)",
    )
    add_format(parser, first="trec")
    add_quiet(parser, "print only the measures, no notes")


def _trec(options: argparse.Namespace) -> str:
    measures = parse_measures(options.measures or ["official"])
    rules = TrecOptions(options.ties, options.relevance_level, options.depth, options.judged_only, options.complete)
    qrels, (run, tag) = read_qrels(options.qrels), read_run(options.run_file)
    lists = trec_lists(qrels, run, rules)
    table = trec_table(lists, measures, options.ties, tag)
    notes = [*lists.notes, *table.notes]
    frame = table.frame if options.per_query else table.frame.tail(1)
    if options.to == "json":
        about = {"run": tag, **dataclasses.asdict(rules), "notes": notes}
        return json_text({**about, "measures": frame_records(frame)})
    if not options.quiet:
        say_aside([*(f"note: {note}" for note in notes), *undefined_lines(frame)])
    if options.to == "trec":
        return format_trec(table, options.per_query)
    return format_frame(frame, options.to, options.screen, spreadsheet=options.spreadsheet)


COMMAND = Command(
    "trec",
    "measure a TREC run as trec_eval does, or with the exact expectation over all orders of tied documents",
    _add_options,
    _trec,
    place=14,
)
