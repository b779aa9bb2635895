"""Functions that read datasets, models and tables of scores from files, for users and for the command line."""

from kgeval.formats.candidate_files import read_candidates
from kgeval.formats.datasets import read_dataset, read_negatives
from kgeval.formats.models import load_model
from kgeval.formats.scores import NUMBER, has_named_header, read_scores

__all__ = [
    "NUMBER",
    "has_named_header",
    "load_model",
    "read_candidates",
    "read_dataset",
    "read_negatives",
    "read_scores",
]
