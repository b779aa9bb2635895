"""Paired comparison of results: pairing of rows, differences, tests, contributions of groups, and the verdict."""

from kgeval.comparison.alignment import OVERRIDES, Alignment, align, differing_facts, mismatches
from kgeval.comparison.comparison import Comparison, compare
from kgeval.comparison.differences import SUM_ROUNDING, UNDECIDED, Sample, better_models, samples_of
from kgeval.comparison.margins import check_margin, equivalence_lines, largest_difference
from kgeval.comparison.names import Results, check_names, name_results
from kgeval.comparison.planned import Replication, SamplePlan, replication_lines
from kgeval.comparison.regression_gate import Gate, gate
from kgeval.comparison.verdict import Verdict, is_at_floor, is_like_chance, leaders_of, verdict_of

__all__ = [
    "OVERRIDES",
    "SUM_ROUNDING",
    "UNDECIDED",
    "Alignment",
    "Comparison",
    "Gate",
    "Replication",
    "Results",
    "Sample",
    "SamplePlan",
    "Verdict",
    "align",
    "better_models",
    "check_margin",
    "check_names",
    "compare",
    "differing_facts",
    "equivalence_lines",
    "gate",
    "is_at_floor",
    "is_like_chance",
    "largest_difference",
    "leaders_of",
    "mismatches",
    "name_results",
    "replication_lines",
    "samples_of",
    "verdict_of",
]
