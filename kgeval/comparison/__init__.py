"""Paired comparison of results: pairing of rows, differences, tests, contributions of groups, and the verdict."""

from kgeval.comparison.alignment import OVERRIDES, Alignment, align, differing_facts, mismatches, values_by_name
from kgeval.comparison.beside import with_baselines
from kgeval.comparison.comparison import Comparison, compare
from kgeval.comparison.differences import Sample, samples_of
from kgeval.comparison.margins import KINDS, check_margin, equivalence_lines, largest_difference, margin_rows
from kgeval.comparison.names import Results, check_names, name_results, several_results
from kgeval.comparison.panels import edge_of, pair_cells, pair_headings
from kgeval.comparison.regression_gate import gate
from kgeval.comparison.rows import (
    NO_RUN,
    UNDECIDED,
    Pair,
    alpha_of,
    decided_rows,
    difference_words,
    interval_words,
    pairs_of,
    row_of,
    shown_decision,
)
from kgeval.comparison.texts import holm_words, protocol_words, ties_line
from kgeval.comparison.verdict import TRAINED, Sentence, Verdict, is_like_chance, leaders_of, shown_name, verdict_of

__all__ = [
    "KINDS",
    "NO_RUN",
    "OVERRIDES",
    "TRAINED",
    "UNDECIDED",
    "Alignment",
    "Comparison",
    "Pair",
    "Results",
    "Sample",
    "Sentence",
    "Verdict",
    "align",
    "alpha_of",
    "check_margin",
    "check_names",
    "compare",
    "decided_rows",
    "difference_words",
    "differing_facts",
    "edge_of",
    "equivalence_lines",
    "gate",
    "holm_words",
    "interval_words",
    "is_like_chance",
    "largest_difference",
    "leaders_of",
    "margin_rows",
    "mismatches",
    "name_results",
    "pair_cells",
    "pair_headings",
    "pairs_of",
    "protocol_words",
    "row_of",
    "samples_of",
    "several_results",
    "shown_decision",
    "shown_name",
    "ties_line",
    "values_by_name",
    "verdict_of",
    "with_baselines",
]
