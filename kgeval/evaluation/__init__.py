"""Evaluation: compute a result from a dataset, a scorer and a protocol.

`evaluate` and `Evaluator` rank with a scorer; `evaluate_scores` ranks the positives in a table of scores, and
`evaluate_candidates` ranks each positive among the scores of its own negatives.
"""

from kgeval.evaluation.candidate_scores import evaluate_candidates
from kgeval.evaluation.evaluator import Evaluator, evaluate
from kgeval.evaluation.score_tables import evaluate_scores

__all__ = [
    "Evaluator",
    "evaluate",
    "evaluate_candidates",
    "evaluate_scores",
]
