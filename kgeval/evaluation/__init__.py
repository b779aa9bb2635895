"""Evaluation: compute a result from a dataset, a scorer and a protocol.

`evaluate` and `Evaluator` rank with a scorer; `evaluate_scores` ranks the positives in a table of scores, and
`evaluate_candidates` ranks each positive among the scores of its own negatives. `evaluate_predictions` takes ranked
lists of answers, or ranks, that another tool computed.
"""

from kgeval.evaluation import evaluator

__all__ = ["evaluator"]
