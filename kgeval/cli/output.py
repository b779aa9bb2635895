"""The output of the commands evaluate, show and classify: options (metrics, breakdown, format) and the printed text."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

import kgeval
from kgeval.base.checks import check_one_of
from kgeval.base.terminal import PIPE, Column, Screen
from kgeval.base.wording import printable, written
from kgeval.classification.classification_result import ClassificationResult
from kgeval.classification.example_clusters import ExampleClusters, interval_lines
from kgeval.cli.interval_options import add_intervals, check_level
from kgeval.cli.options import add_format, add_quiet, json_text, say_aside, words
from kgeval.comparison.texts import protocol_comment
from kgeval.data.sides import RELATION
from kgeval.display.media import format_frame, frame_records, numbers_first, rough_lines, undefined_lines
from kgeval.display.table import MIN_EFFECTIVE, widths_words
from kgeval.errors import KgevalError, ProtocolError
from kgeval.features import read_types
from kgeval.features.columns import FEATURES, NEED_TYPES, OVER_SPLITS
from kgeval.metrics.base import TIE_POLICIES, Metric, split_list, tie_words
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of, parse_all
from kgeval.metrics.metric_frames import Cell, metric_frame
from kgeval.results.clustering import CLUSTERS
from kgeval.results.columns import says_splits
from kgeval.results.display import best_and_worst
from kgeval.results.evaluation_result import (
    BREAKDOWNS,
    EvaluationResult,
    explained_row,
    header_lines,
    interval_notes,
    key_columns,
    metric_cautions,
    origin_words,
)
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE
from kgeval.results.run_names import shown_run
from kgeval.results.times import split_period

HEADLINE = ("mrr", "hits@10")  # the metrics of the first line
MAX_LISTED_RANKS = 40
ASIDE = ("dropped: ", "unknown: ", "dataset: ", "note: ")  # how the lines of a header begin that are cautions


def add_output(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options for metrics, breakdown and format.

    Parameters
    ----------
    parser : argparse.ArgumentParser

    Returns
    -------
    argparse group
        The group "output" of the parser, to which a command can add further options.
    """
    output = parser.add_argument_group("output")
    output.add_argument(
        "--metrics",
        default=",".join(DEFAULT_METRICS),
        metavar="NAMES",
        help="metrics, comma-separated (default: %(default)s)",
    )
    output.add_argument(
        "--ties",
        choices=TIE_POLICIES,
        help="tie policy (default: realistic, but expected for keys that start with query.)",
    )
    output.add_argument(
        "--by",
        metavar="COLUMNS",
        help=f"break down by columns, comma-separated: {', '.join(BREAKDOWNS)}, {', '.join(FEATURES)}; where "
        "there are times or qualifiers: time, time:year (or :month, :day, :20), seen_before, qualifiers",
    )
    add_intervals(output)
    output.add_argument(
        "--cluster",
        choices=CLUSTERS,
        help="intervals show the variation with other triples of this graph, other queries or other entities "
        "(default: triple)",
    )
    output.add_argument(
        "--means-from",
        metavar="NAMES",
        help="splits from which cardinality and pattern are computed, comma-separated (default: all)",
    )
    output.add_argument("--types", metavar="FILE", help="file of entity types, for --by type_given or type_asked")
    add_format(output)
    add_quiet(output, "print only the tables: no lines about the run, no notes, no progress bar")
    return output


def check_output(options: argparse.Namespace, columns: Iterable[str] = ()) -> None:
    """Raise an error for wrong output options, before anything is computed.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    columns : iterable of str
        Names of further columns that ``--by`` may name.

    Raises
    ------
    MetricError
        If no metric is named, or a metric is unknown.
    ProtocolError
        If ``--by type_...`` lacks ``--types``, or ``--confidence`` is not between 0 and 1.
    """
    parse_all(options.metrics)
    for column in words(options.by or ""):
        check_one_of("--by", split_period(column)[0], dict.fromkeys([*BREAKDOWNS, *FEATURES, *columns]))
        if column in NEED_TYPES and options.types is None and column not in columns:
            raise ProtocolError(f"--by {column} needs --types FILE")
    check_level(options)


@dataclass(frozen=True)
class ChosenColumns:
    """The columns that the options ``--types`` and ``--means-from`` add or recompute.

    Parameters
    ----------
    dataset : Dataset
        The evaluated dataset.
    means_from : list of str, optional
        The splits of ``--means-from``.
    types : pandas.Categorical, optional
        The types of the entities, from the file of ``--types``.
    notes : list of str
        Notes about the file of types.
    """

    dataset: kgeval.Dataset
    means_from: list[str] | None
    types: pd.Categorical | None
    notes: list[str]

    @classmethod
    def of(cls, options: argparse.Namespace, dataset: kgeval.Dataset) -> ChosenColumns:
        """Read the columns that the options name.

        Commands call this method before the ranking, so that wrong options fail early.

        Parameters
        ----------
        options : argparse.Namespace
            The parsed options.
        dataset : Dataset

        Raises
        ------
        ProtocolError
            If ``--means-from`` names no split, or a split that the dataset does not have.
        DataError
            If the file of ``--types`` cannot be read.
        """
        splits, types, notes = None, None, []
        if options.means_from is not None:
            splits = words(options.means_from)
            if not splits:
                raise ProtocolError("--means-from must name a split; got none")
            for split in splits:
                check_one_of("--means-from", split, dataset.splits)
        if options.types is not None:
            types, unknown = read_types(options.types, dataset.entities)
            notes = [f"{len(unknown):,} entities of {options.types} are not in the dataset"] if unknown else []
        return cls(dataset, splits, types, notes)

    def added_to(self, result: EvaluationResult) -> EvaluationResult:
        """Return a result with these columns."""
        if self.means_from is not None:
            names = list(OVER_SPLITS)
            result = result.with_features(self.dataset, features=names, means_from=self.means_from)
        if self.types is not None:
            result = result.with_features(self.dataset, features=list(NEED_TYPES), types=self.types)
        return result.__replace__(notes=[*result.notes, *self.notes]) if self.notes else result


def save_error(result: EvaluationResult | ClassificationResult, options: argparse.Namespace) -> str:
    """Save a result to the file of ``--out``, if it is given; return the error message, or an empty text.

    An error is returned and not raised, so that the command can still print the numbers of a long run.

    Parameters
    ----------
    result : EvaluationResult or ClassificationResult
    options : argparse.Namespace
        The parsed options.
    """
    try:
        if options.out is not None:
            result.save(options.out, overwrite=options.overwrite)
    except (KgevalError, OSError) as error:
        return error_text(error)
    return ""


def error_text(error: KgevalError | OSError) -> str:
    """Return the message of an error; control characters, which a terminal would obey, are escaped.

    Parameters
    ----------
    error : KgevalError or OSError
    """
    message = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    # The message of a ProtocolError may have several lines, for example one for each difference between results.
    lines = message.split("\n") if isinstance(error, ProtocolError) else [message]
    return "\n".join(printable(line) for line in lines)


def result_text(
    result: EvaluationResult,
    options: argparse.Namespace,
    further: Sequence[str] = (),
    last: str = "",
    beside: Mapping[str, EvaluationResult] = MappingProxyType({}),
) -> str:
    """Return the text of a result in the chosen format.

    Parameters
    ----------
    result : EvaluationResult
    options : argparse.Namespace
        The parsed options.
    further : sequence of str
        Further parts of the text, printed before the metrics, in the format "table" only.
    last : str
        A last line, in the format "table" only.
    beside : mapping of str to EvaluationResult
        Results of baselines; each gets one row in the table of metrics.
    """
    metrics, ties = split_list(options.metrics), options.ties or "realistic"
    level = CONFIDENCE if options.confidence is None else options.confidence
    confidence, cluster = level if options.intervals else None, options.cluster or "triple"
    # The table of all ranks has intervals only on request, or if a precision or the time limit chose the sample.
    is_chosen = any(getattr(options, name, None) is not None for name in ("max_seconds", "precision"))
    is_partial = is_chosen and result.protocol.sample is not None
    is_asked = options.confidence is not None or options.cluster is not None or is_partial
    frame, *others = [
        summary_frame(shown, metrics, options.ties, confidence if is_asked else None, cluster)
        for shown in (result, *beside.values())
    ]
    rows = [other.iloc[:1].set_axis(pd.Index([name], name="rows")) for name, other in zip(beside, others)]
    frames = {"metrics": pd.concat([frame, *rows]) if rows else frame}
    if options.by:
        frames["by"] = result.by(
            *words(options.by), metrics=metrics, ties=options.ties, confidence=confidence, cluster=cluster
        )
    cautions = metric_cautions(result, metrics, options.ties)
    if confidence is not None and (is_asked or options.by):
        cautions += [*interval_notes(result, confidence, cluster), *rough_lines(frames.get("by", frames["metrics"]))]
    elif confidence is not None and options.to == "table" and "mrr" in map(str, metrics) and not options.ties:
        cautions += interval_notes(result)[1:]
    if options.to == "json":
        content = {
            "facts": result.facts,
            "protocol": result.protocol.to_dict(),
            "protocol_fingerprint": result.protocol.fingerprint,
            "ties": ties,
            "tie_rate": None if np.isnan(result.tie_rate) else result.tie_rate,
            "n_read": result.facts["n_read"],
            "dropped": result.dropped,
            "notes": [*result.notes, *cautions],
            **({"confidence": confidence} if options.by else {}),
        }
        return json_text(content | {name: frame_records(found) for name, found in frames.items()})
    split_columns = [name for name in words(options.by or "") if name in OVER_SPLITS]
    if split_columns and not says_splits(result.notes):
        cautions.append(f"{', '.join(split_columns)}: computed from all splits; to use train only: --means-from train")
    comment = protocol_comment([("", result)], f"ties: {tie_words(ties)}")
    about = [origin_words(result, ties, has_protocol=options.to == "latex")]  # Markdown has it in the comment
    if any(str(name).endswith(" low") for name in frames.get("by", frames["metrics"])):
        about.append(f"in brackets: {100 * level:g}% interval")
    elif confidence is not None and options.to not in ("table", "csv"):
        about.append(widths_words(summary_frame(result, metrics, options.ties, level, cluster), level))
    further = [*_headline(result, options, confidence, cluster), *further]
    header = header_lines(result, ties)
    return _printed(frames, header, cautions, options, further=further, comment=comment, about=about, last=last)


def _headline(result: EvaluationResult, options: argparse.Namespace, level: float | None, cluster: str) -> list[str]:
    """Return a line with model, dataset, and those of MRR and hits@10 that are shown, with intervals; empty if none.

    A line below it says on which relations the first of these metrics is best and worst.
    """
    texts, facts, end, answer = [], result.facts, "", ""
    for metric in [metric for metric in HEADLINE if metric in split_list(options.metrics)]:
        key = str(replace(Key.parse(metric), ties=options.ties or "realistic"))
        if np.isfinite(result[key]):
            found = result.interval(key, confidence=level or CONFIDENCE, cluster=cluster)
            is_sure = level is not None and found.n_effective >= MIN_EFFECTIVE
            end = f" ({100 * found.confidence:g}% intervals)" if is_sure else end
            texts.append(f"{display_of(metric).heading} {found if is_sure else written(result[key])}")
            places = best_and_worst(result, result.rank_table, Key.parse(key), display_of(metric).decimals)
            answer = answer or (places and f"{display_of(metric).heading}: {places}")
    line = printable(f"{shown_run(facts)} on {facts['dataset']}: {', '.join(texts)}{end}")
    shown = options.screen.bold(options.screen.wrapped(line)), options.screen.lines([answer])
    return ["\n".join(filter(None, shown))] if texts else []


def _printed(
    frames: Mapping[str, pd.DataFrame],
    header: Sequence[str],
    cautions: Sequence[str],
    options: argparse.Namespace,
    *,
    further: Sequence[str] = (),
    comment: str = "",
    about: Sequence[str] = (),
    last: str = "",
) -> str:
    """Return tables for people with the lines about them, or the last of the tables alone in another format.

    The lines of `about` are notes of a table for a paper. In another format than ``"table"``, the cautions in the
    header and beside it are printed to standard error.
    """
    screen, (first, *_), (*_, shown) = options.screen, frames.values(), frames.values()
    explained = [first] if options.to == "csv" else frames.values()  # CSV has a column of reasons
    notes = [*(f"note: {caution}" for caution in cautions), *undefined_lines(*explained)]
    if options.to != "table":
        if not options.quiet:
            say_aside([*(line for line in header if line.startswith(ASIDE)), *notes])
        return format_frame(shown, options.to, comment=comment, spreadsheet=options.spreadsheet, notes=about)
    wide = replace(screen, whole="--to json or a wider terminal")  # --to csv has the last table only
    tables = [format_frame(frame, "table", screen if frame is shown else wide) for frame in frames.values()]
    if options.quiet:
        return "\n\n".join(tables)
    text = numbers_first(tables, header, screen, [screen.lines(notes)] if notes else [], further)
    return "\n\n".join([text, *([screen.dim("\n".join(map(screen.wrapped, last.split("\n"))))] if last else [])])


def summary_frame(
    result: EvaluationResult,
    metrics: Sequence[str | Metric],
    ties: str | None,
    confidence: float | None = None,
    cluster: Any = "triple",
) -> pd.DataFrame:
    """Return the metrics of a result per setting and side, with a row for the chance level.

    Parameters
    ----------
    result : EvaluationResult
    metrics : sequence of str or Metric
    ties : str, optional
        Tie policy; None: the default policy of each metric.
    confidence : float, optional
        Nominal coverage of the intervals; None: no intervals.
    cluster : str or array_like
        As in `EvaluationResult.interval`.

    Returns
    -------
    pandas.DataFrame
        The index holds ``"both"``, ``"subject"``, ``"raw both"``, ... and ``"chance"``; beside entity sides, the
        relation side has its own ``"chance relation"``. The columns are the same as in ``result.summary()``.
    """
    frame = result.summary(metrics, ties, confidence, cluster)
    names = [side if setting == "filtered" else f"raw {side}" for setting, side in frame.index]
    frame = frame.set_axis(pd.Index(names, name="rows"))
    parsed = parse_all(metrics)
    ranks = result.rank_table
    n = {"chance": len(ranks.rows_of("both"))}
    if n["chance"] < len(ranks):
        n[f"chance {RELATION}"] = len(ranks) - n["chance"]
    cells = [
        {str(metric): Cell.of(ranks.value(Key(metric, side=side), at_chance=True)) for metric in parsed}
        for side in ("both", RELATION)[: len(n)]
    ]
    index = pd.Index(list(n), name="rows")
    chance = metric_frame(index, cells, cells[0], list(n.values()), with_intervals=confidence is not None)
    n_filtered = len(result.rank_table.sides)
    return pd.concat([frame.iloc[:n_filtered], chance, frame.iloc[n_filtered:]])


def classification_text(result: ClassificationResult, options: argparse.Namespace, last: str = "") -> str:
    """Return the text of a classification in the chosen format.

    Parameters
    ----------
    result : ClassificationResult
    options : argparse.Namespace
        The parsed options.
    last : str
        A last line, in the format "table" only.
    """
    metrics, cluster = split_list(options.metrics), options.cluster
    level = CONFIDENCE if options.confidence is None else options.confidence
    confidence = level if options.intervals else None
    # As for ranks, the first table has intervals only on request.
    is_asked = options.confidence is not None or cluster is not None
    frames = {"metrics": result.summary(metrics, confidence if is_asked else None, cluster)}
    if options.by:
        frames["by"] = result.by(*words(options.by), metrics=metrics, confidence=confidence, cluster=cluster)
    cautions = result.cautions(metrics)
    if confidence is not None and (is_asked or options.by):
        cautions += interval_lines(ExampleClusters.of(result.table, cluster), confidence)
        cautions += rough_lines(frames.get("by", frames["metrics"]))
    if options.to == "json":
        content: dict[str, Any] = {name: frame_records(frame) for name, frame in frames.items()}
        content = {"facts": result.facts, "dropped": result.dropped, "notes": [*result.notes, *cautions], **content}
        return json_text(content)
    return _printed(frames, result.header(), cautions, options, last=last)


def listed_ranks(result: EvaluationResult, screen: Screen = PIPE) -> str:
    """Return one line per filtered rank: rank, number of candidates, score and triple.

    If a rival scores higher than the triple, the line also names the rival with the highest score.

    Parameters
    ----------
    result : EvaluationResult
        From `kgeval.evaluate_scores`.
    screen : Screen
        The width to fit; by default the list is as wide as its content.

    Returns
    -------
    str
        At most 40 ranks. If there are more, a last line contains the number of further ranks.
    """
    lines = []
    names = key_columns(result)
    further = [result.columns[name] for name in names]
    for i, row in enumerate(result.ranks(labels=True).to_dict("records")[:MAX_LISTED_RANKS]):
        rivals, beaten = explained_row(result, i), ""
        rivals = rivals[(rivals["stands"] == "above") & rivals["counts"]]
        if len(rivals):
            beaten = f"beaten by {printable(rivals['candidate'].iloc[0])} {rivals['score'].iloc[0]:.3f}"
        triple = [*(printable(row[name]) for name in "spo"), *(printable(str(values.iloc[i])) for values in further)]
        size = str(row["rivals_filtered"] + 1)
        lines.append([f"{row['rank_filtered']:g}", size, f"{row['score']:.3f}", *triple, beaten])
    header = ["rank", "of", "score", "triple", "", "", *names, ""]
    cells = list(zip(*lines)) or [()] * len(header)
    columns = [Column(name, texts, is_label=i > 2) for i, (name, texts) in enumerate(zip(header, cells))]
    text = screen.table(columns)
    n_more = len(result.table) - len(lines)
    return text + (f"\n... and {n_more} more" if n_more else "")
