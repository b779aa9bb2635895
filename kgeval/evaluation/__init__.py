"""Evaluation: datasets, scorers and protocols in, results out."""

from kgeval.evaluation.evaluator import Evaluator, evaluate
from kgeval.evaluation.score_tables import evaluate_scores

__all__ = [
    "Evaluator",
    "evaluate",
    "evaluate_scores",
]
