"""Weights that keep popular entities and relations from deciding a mean."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import check_number
from kgeval.data import Dataset
from kgeval.errors import KgevalWarning
from kgeval.features.rows import TripleRows

MAX_BETA = 1000


def popularity_weights(
    table: pd.DataFrame, dataset: Dataset, beta_entity: float = 1.0, beta_relation: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return how much each rank counts in a popularity-stratified metric; more for rarer answers and relations.

    The weight of a rank is ``count(answer) ** -beta_entity * count(relation) ** -beta_relation``, divided by the mean
    of all weights. The counts are those of distinct triples of train, the answer as subject or object. What train lacks
    counts as if it stood there once; a `KgevalWarning` says for how many ranks. The stratified metric is
    ``result.weighted(key, weights)``; see `EvaluationResult.weighted`.

    With both betas 0 the weights are 1 and the metric is the plain mean.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns s, p, o (ids) and side, as `EvaluationResult.table` has them. Not modified.
    dataset : Dataset
        The one that was ranked; needs a train split.
    beta_entity, beta_relation : float
        How much popularity counts against an answer and against a relation; below 0 it counts for them.

    Returns
    -------
    float64 array, shape (rows,)
        Not negative, of mean 1. Weights below 1e-308 of the greatest become 0.

    Raises
    ------
    DataError
        If the table does not fit the dataset.
    MetricError
        If a beta is no number above -1000 and below 1000.
    ProtocolError
        If the dataset has no train split.

    References
    ----------
    After Mohamed et al. (2020), Popularity Agnostic Evaluation of Knowledge Graph Embeddings, UAI, PMLR 124:1059
    (strat-hits@k and strat-mrr, which weigh by the popularity of entities and relations). The product of powers with
    one common divisor is the form chosen here and may differ from that of the paper: do not set these numbers beside
    its tables.

    Examples
    --------
    >>> train = [[0, 0, 1], [2, 0, 1], [3, 0, 1], [0, 0, 3]]
    >>> dataset = Dataset.from_arrays(train=train, test=[[2, 0, 3]], n_entities=4, n_relations=1)
    >>> table = pd.DataFrame({"s": [2, 0], "p": [0, 0], "o": [3, 1], "side": ["object", "object"]})
    >>> popularity_weights(table, dataset, beta_entity=1.0)  # 3 stands in two triples of train, 1 in three
    array([1.2, 0.8])
    """
    betas = [
        check_number(name, beta, -MAX_BETA, MAX_BETA, f"a number above {-MAX_BETA} and below {MAX_BETA}")
        for name, beta in (("beta_entity", beta_entity), ("beta_relation", beta_relation))
    ]
    rows = TripleRows(table, dataset)
    counts = (rows.degrees[rows.asked], rows.frequencies[rows.relation])
    logarithms = np.zeros(len(rows))
    for what, beta, count in zip(("answer", "relation"), betas, counts):
        logarithms -= beta * np.log(np.maximum(count, 1))
        n_zero = int((count == 0).sum())
        if beta and n_zero:
            warnings.warn(
                f"{n_zero:,} of {len(rows):,} ranks have {'an' if what == 'answer' else 'a'} {what} that train lacks; "
                "it is weighted as if train had it once",
                KgevalWarning,
                stacklevel=2,
            )
    weights = np.exp(logarithms - logarithms.max(initial=-np.inf))
    return np.asarray(weights / weights.mean() if len(weights) else weights)
