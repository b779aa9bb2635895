"""Datasets, queries, known triples, negatives, candidates and the protocol.

Packages that evaluate, rank, report or compare import these names from this package.
"""

from kgeval.data import candidates
from kgeval.data.candidates import (
    EMPTY,
    NOT_KNOWN,
    OF_TOOL,
    PER_POSITIVE,
    All,
    Candidates,
    Listed,
    Recorded,
    candidates_from_json,
)
from kgeval.data.column_names import (
    COLUMN_NAMES,
    TRUTH_NAMES,
    ColumnChoice,
    check_columns,
    check_further_column,
    check_roles,
    chosen_columns,
    named_columns,
    parse_columns,
    proposed_columns,
)
from kgeval.data.corruption import draw_negatives, negatives, sample_negatives
from kgeval.data.dataset import ONE_FILE, SPLITS, Dataset, triple_labels
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.frames import (
    as_labels,
    frame_columns,
    frame_ids,
    frame_labels,
    further_columns,
    further_notes,
    with_labels,
)
from kgeval.data.keys import FactColumns, FurtherColumn, column_names, facts_of, further_column, natural_key
from kgeval.data.known import SETTINGS, KnownIndex, known_triples
from kgeval.data.labels import Labels, NumberLabels, TextLabels
from kgeval.data.library_objects import LibraryLabels, library_labels
from kgeval.data.lists import Ragged, joined_ranges
from kgeval.data.predictions import FILTERED, UNMAPPED, GivenRanks, Predictions
from kgeval.data.protocol import PROTOCOL_HINTS, UNSEEN, Protocol, RandomSample
from kgeval.data.queries import Queries, given_and_asked, given_and_asked_where, query_parts, shares_query
from kgeval.data.row_keys import RowKeys, group_rows, rank_in
from kgeval.data.sides import SIDE_NAMES, SIDES, check_side, check_sides, side_of
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary, triple_ids

__all__ = [
    "COLUMN_NAMES",
    "EMPTY",
    "FILTERED",
    "NOT_KNOWN",
    "OF_TOOL",
    "ONE_FILE",
    "PER_POSITIVE",
    "PROTOCOL_HINTS",
    "SETTINGS",
    "SIDES",
    "SIDE_NAMES",
    "SPLITS",
    "TRUTH_NAMES",
    "UNMAPPED",
    "UNSEEN",
    "All",
    "Candidates",
    "ColumnChoice",
    "Dataset",
    "FactColumns",
    "FurtherColumn",
    "GivenRanks",
    "KnownIndex",
    "Labels",
    "LibraryLabels",
    "Listed",
    "NumberLabels",
    "Predictions",
    "Protocol",
    "Queries",
    "Ragged",
    "RandomSample",
    "Recorded",
    "RowKeys",
    "TextLabels",
    "TripleSet",
    "Vocabulary",
    "as_labels",
    "candidates",
    "candidates_from_json",
    "check_columns",
    "check_further_column",
    "check_roles",
    "check_side",
    "check_sides",
    "chosen_columns",
    "column_names",
    "draw_negatives",
    "facts_of",
    "fingerprint_triples",
    "frame_columns",
    "frame_ids",
    "frame_labels",
    "further_column",
    "further_columns",
    "further_notes",
    "given_and_asked",
    "given_and_asked_where",
    "group_rows",
    "joined_ranges",
    "known_triples",
    "library_labels",
    "named_columns",
    "natural_key",
    "negatives",
    "parse_columns",
    "proposed_columns",
    "query_parts",
    "rank_in",
    "sample_negatives",
    "shares_query",
    "side_of",
    "triple_ids",
    "triple_labels",
    "with_labels",
]
