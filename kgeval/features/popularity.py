"""`popularity_weights`: weights that reduce the influence of frequent entities and relations on a mean of ranks.

Users pass these weights to `EvaluationResult.weighted`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import check_number, names_unknown_arguments, warn_user
from kgeval.data.dataset import Dataset
from kgeval.features.rows import TripleRows

MAX_BETA = 1000


@names_unknown_arguments()
def popularity_weights(
    table: pd.DataFrame, dataset: Dataset, beta_entity: float = 1.0, beta_relation: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return the weight of each rank in a popularity-stratified metric; by default, ranks of rare answers weigh more.

    The weight of a rank is ``count(answer) ** -beta_entity * count(relation) ** -beta_relation``, divided by the mean
    of this product over all ranks. ``count(answer)`` is the number of distinct triples of train with the answer as
    subject or object; ``count(relation)`` is the number of distinct triples of train with the relation. A count of 0 is
    replaced by 1, and a `KgevalWarning` contains the number of these ranks. The weighted metric is
    ``result.weighted(key, weights)``; see `EvaluationResult.weighted`.

    If both betas are 0, all weights are 1 and the metric is the ordinary mean.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns s, p, o (ids) and side, as in `EvaluationResult.table`. Not modified.
    dataset : Dataset
        The dataset that was ranked; it needs a train split.
    beta_entity, beta_relation : float
        Exponents. Above 0, frequent answers or relations weigh less; below 0, they weigh more.

    Returns
    -------
    float64 array, shape (rows,)
        Not negative, with mean 1. A weight becomes 0 if its ratio to the greatest weight is too small for float64.

    Raises
    ------
    DataError
        If `table` lacks a column, or has ids that are not in the dataset.
    MetricError
        If a beta is not a number above -1000 and below 1000.
    ProtocolError
        If the dataset has no train split.

    References
    ----------
    After Mohamed et al. (2020), Popularity Agnostic Evaluation of Knowledge Graph Embeddings, UAI, PMLR 124:1059
    (strat-hits@k and strat-mrr, which weight ranks by the popularity of entities and relations). The formula here, a
    product of powers divided by the mean of all weights, may differ from the formula of the paper: do not compare
    these values with the tables of the paper.

    Examples
    --------
    >>> train = [[0, 0, 1], [2, 0, 1], [3, 0, 1], [0, 0, 3]]
    >>> dataset = Dataset.from_arrays(train=train, test=[[2, 0, 3]], n_entities=4, n_relations=1)
    >>> table = pd.DataFrame({"s": [2, 0], "p": [0, 0], "o": [3, 1], "side": ["object", "object"]})
    >>> popularity_weights(table, dataset, beta_entity=1.0)  # in train, answer 3 has 2 triples, answer 1 has 3
    array([1.2, 0.8])
    """
    betas = [
        check_number(name, beta, -MAX_BETA, MAX_BETA, f"a number above {-MAX_BETA} and below {MAX_BETA}")
        for name, beta in (("beta_entity", beta_entity), ("beta_relation", beta_relation))
    ]
    rows = TripleRows(table, dataset)
    counts = (rows.degrees[rows.asked], rows.frequencies[rows.relation])
    logarithms = np.zeros(len(rows))  # (rows,): the logarithm of each weight before the division by the mean
    for part, beta, count in zip(("answer", "relation"), betas, counts):
        logarithms -= beta * np.log(np.maximum(count, 1))
        n_zero = int((count == 0).sum())
        if beta and n_zero:
            warn_user(
                f"{n_zero:,} of {len(rows):,} ranks have {'an' if part == 'answer' else 'a'} {part} that is not in "
                f"train; the count of this {part} is taken as 1"
            )
    weights = np.exp(logarithms - logarithms.max(initial=-np.inf))  # the greatest weight is 1, so no weight overflows
    return np.asarray(weights / weights.mean() if len(weights) else weights)
