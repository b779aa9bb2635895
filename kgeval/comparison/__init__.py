"""Paired comparison of results: pairing of rows, differences, tests, contributions of groups, and the verdict."""

from kgeval.comparison.alignment import OVERRIDES, Alignment, align, differing_facts, mismatches
from kgeval.comparison.beside import with_baselines
from kgeval.comparison.comparison import Comparison, compare
from kgeval.comparison.differences import ROUNDING, Sample, samples_of
from kgeval.comparison.margins import MarginPair, check_margin, equivalence_lines, largest_difference, margin_rows
from kgeval.comparison.names import Results, check_names, name_results
from kgeval.comparison.regression_gate import Gate, gate
from kgeval.comparison.rows import (
    NO_RUN,
    UNDECIDED,
    Pair,
    alpha_of,
    best_first,
    decided_rows,
    interval_words,
    leaders_among,
    p_part,
    pairs_of,
    row_of,
    shown_decision,
)
from kgeval.comparison.verdict import TRAINED, Verdict, is_like_chance, leaders_of, verdict_of

__all__ = [
    "NO_RUN",
    "OVERRIDES",
    "ROUNDING",
    "TRAINED",
    "UNDECIDED",
    "Alignment",
    "Comparison",
    "Gate",
    "MarginPair",
    "Pair",
    "Results",
    "Sample",
    "Verdict",
    "align",
    "alpha_of",
    "best_first",
    "check_margin",
    "check_names",
    "compare",
    "decided_rows",
    "differing_facts",
    "equivalence_lines",
    "gate",
    "interval_words",
    "is_like_chance",
    "largest_difference",
    "leaders_among",
    "leaders_of",
    "margin_rows",
    "mismatches",
    "name_results",
    "p_part",
    "pairs_of",
    "row_of",
    "samples_of",
    "shown_decision",
    "verdict_of",
    "with_baselines",
]
