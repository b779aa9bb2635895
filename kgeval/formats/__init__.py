"""Functions that read datasets, models and tables of scores from files, for users and for the command line."""

from kgeval.formats import candidate_files, datasets, models, pool_files, predictions, scores

__all__ = ["candidate_files", "datasets", "models", "pool_files", "predictions", "scores"]
