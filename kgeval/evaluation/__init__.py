"""Evaluation: compute a result from a dataset, a scorer and a protocol.

`evaluate` and `Evaluator` rank with a scorer; `evaluate_scores` ranks the positives in a table of scores, and
`evaluate_candidates` ranks each positive among the scores of its own negatives. `evaluate_predictions` takes ranked
lists of answers, or ranks, that another tool computed.
"""

from kgeval.evaluation.candidate_scores import evaluate_candidates
from kgeval.evaluation.evaluator import Evaluator, evaluate
from kgeval.evaluation.predicted_lists import evaluate_predictions
from kgeval.evaluation.predicted_rows import MISSING
from kgeval.evaluation.score_tables import evaluate_scores

__all__ = [
    "MISSING",
    "Evaluator",
    "evaluate",
    "evaluate_candidates",
    "evaluate_predictions",
    "evaluate_scores",
]
