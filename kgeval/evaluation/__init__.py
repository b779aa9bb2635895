"""Evaluation: a dataset, a scorer and a protocol in, a result out.

`evaluate` and `Evaluator` rank with a scorer, `evaluate_scores` ranks the rows of a table of scores.
"""

from kgeval.evaluation.evaluator import Evaluator, evaluate
from kgeval.evaluation.score_tables import evaluate_scores

__all__ = [
    "Evaluator",
    "evaluate",
    "evaluate_scores",
]
