"""Results of an evaluation: the result class, its table of ranks, metric keys, breakdowns, explanations, files."""

from kgeval.results.clustering import CLUSTERS, PURPOSES, RowClusters
from kgeval.results.columns import (
    by_position,
    dataset_of,
    group_labels,
    group_names,
    join_columns,
    same_columns,
    says_splits,
)
from kgeval.results.display import MAX_TIES, html_table, metric_bars, show_text, tie_ends, with_headings
from kgeval.results.evaluation_result import (
    BREAKDOWNS,
    DEFAULT_METRICS,
    MAX_ENTITY_RATIO,
    EvaluationResult,
    have_same_ranks,
    header_lines,
    interval_notes,
    kept_rivals,
    metric_cautions,
    rank_groups,
    unknown_lines,
    with_all_features,
    with_dataset_columns,
)
from kgeval.results.explanations import N_EXAMPLES, Source, explain_triple, extreme_rows
from kgeval.results.files import (
    READERS,
    check_about,
    load_result,
    pack_columns,
    pack_vocabularies,
    unpack_columns,
    unpack_vocabularies,
    write_result,
)
from kgeval.results.keys import Key
from kgeval.results.lists import query_columns
from kgeval.results.rank_table import CONFIDENCE, RankTable
from kgeval.results.undecided import EXTREMES, UNKNOWN_COUNT, unknown_reason

__all__ = [
    "BREAKDOWNS",
    "CLUSTERS",
    "CONFIDENCE",
    "DEFAULT_METRICS",
    "EXTREMES",
    "MAX_ENTITY_RATIO",
    "MAX_TIES",
    "N_EXAMPLES",
    "PURPOSES",
    "READERS",
    "UNKNOWN_COUNT",
    "EvaluationResult",
    "Key",
    "RankTable",
    "RowClusters",
    "Source",
    "by_position",
    "check_about",
    "dataset_of",
    "explain_triple",
    "extreme_rows",
    "group_labels",
    "group_names",
    "have_same_ranks",
    "header_lines",
    "html_table",
    "interval_notes",
    "join_columns",
    "kept_rivals",
    "load_result",
    "metric_bars",
    "metric_cautions",
    "pack_columns",
    "pack_vocabularies",
    "query_columns",
    "rank_groups",
    "same_columns",
    "says_splits",
    "show_text",
    "tie_ends",
    "unknown_lines",
    "unknown_reason",
    "unpack_columns",
    "unpack_vocabularies",
    "with_all_features",
    "with_dataset_columns",
    "with_headings",
    "write_result",
]
