"""Functions that read datasets, models and tables of scores from files, for users and for the command line."""

from kgeval.formats.candidate_files import read_candidates
from kgeval.formats.datasets import dataset_formats, merges_valid, read_dataset, read_negatives
from kgeval.formats.inspection import Inspection, inspect
from kgeval.formats.models import load_model, model_formats
from kgeval.formats.pool_files import has_pools
from kgeval.formats.predictions import prediction_formats, read_predictions
from kgeval.formats.registered import (
    cache_home,
    describe_registered,
    registered_datasets,
    registered_files,
    ultra_graphs,
)
from kgeval.formats.scores import NUMBER, has_named_header, read_scores

__all__ = [
    "NUMBER",
    "Inspection",
    "cache_home",
    "dataset_formats",
    "describe_registered",
    "has_named_header",
    "has_pools",
    "inspect",
    "load_model",
    "merges_valid",
    "model_formats",
    "prediction_formats",
    "read_candidates",
    "read_dataset",
    "read_negatives",
    "read_predictions",
    "read_scores",
    "registered_datasets",
    "registered_files",
    "ultra_graphs",
]
