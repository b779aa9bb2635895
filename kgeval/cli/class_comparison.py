"""The output of ``kgeval compare`` for saved classifications; `kgeval.cli.commands.compare` calls `classes_text`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from kgeval.classification.classification_comparison import ClassificationComparison, compare_classifications
from kgeval.cli.options import json_text, say_aside
from kgeval.display.differences import screen_differences
from kgeval.display.media import format_frame, frame_records, undefined_lines
from kgeval.errors import ProtocolError
from kgeval.metrics.default_metrics import PLAIN_METRICS

NEED_RANKS = ("by_relation", "limit", "margin", "non_inferior_to")


def classes_text(results: Sequence[Any], names: Sequence[str], options: argparse.Namespace) -> str:
    """Compare classifications, and return the text in the chosen format.

    Parameters
    ----------
    results : sequence of results
        The loaded files.
    names : sequence of str
    options : argparse.Namespace
        The options of ``kgeval compare``.

    Raises
    ------
    ProtocolError
        If an option needs ranks, or the results cannot be compared.
    """
    given = [f"--{name.replace('_', '-')}" for name in NEED_RANKS if getattr(options, name, None) is not None]
    given += ["--override"] if options.override else []
    if given:
        raise ProtocolError(f"{', '.join(given)}: compares ranks, but {options.results[0]} holds a classification")
    has_default = options.metrics == ",".join(PLAIN_METRICS)
    compared = compare_classifications(
        results,
        names,
        metrics=None if has_default else options.metrics,
        baseline=options.baseline,
        confidence=options.confidence,
        cluster=None if options.cluster == "triple" else options.cluster,
        n_resamples=options.n_resamples,
        resample_seed=options.resample_seed,
    )
    lines = [compared.verdict, *compared.header()]
    differences = compared.differences.set_index(["first", "second", "metric"])
    if options.to == "json":
        content = {"header": lines, "values": frame_records(compared.values), "differences": frame_records(differences)}
        return json_text(content)
    if options.to != "table":
        if not options.quiet:
            say_aside([*lines, *undefined_lines(compared.values, differences)])
        shown = compared.values if options.to != "csv" else differences
        return format_frame(shown, options.to, spreadsheet=options.spreadsheet)
    return _table_text(compared, undefined_lines(compared.values), options)


def _table_text(compared: ClassificationComparison, undefined: list[str], options: argparse.Namespace) -> str:
    """Return verdict, values, differences and notes for a terminal."""
    screen, header = options.screen, compared.header()
    notes = [line for line in header if line.startswith("note: ")]
    about = [line for line in header if line not in notes]
    parts = [screen.bold(screen.wrapped(compared.verdict)), format_frame(compared.values, "table", screen)]
    parts.append(screen_differences(compared.differences, compared.alpha, screen))
    parts += [] if options.quiet else [screen.dim(screen.lines(about)), screen.lines([*undefined, *notes])]
    return "\n\n".join(parts)
