"""`certified` replaces a library's model by a model of `kgeval.models`, if both give sampled triples the same scores.

The exact kernels of kgeval can then rank the model's vectors. The adapters of libraries with embedding models call this
function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kgeval.adapters.base import LibraryScorer
from kgeval.base.checks import Ids, Scores
from kgeval.data.dataset import Dataset
from kgeval.data.queries import given_and_asked
from kgeval.data.sides import SIDES
from kgeval.errors import DataError, ScoreError
from kgeval.kernels.arrays import on_host
from kgeval.kernels.geometry import exact_scores
from kgeval.scorers.models import EmbeddingModel
from kgeval.scorers.values import as_scores

PROBED_TRIPLES, PROBED_CANDIDATES = 24, 32
TOLERANCE = 1e-5  # largest difference / range of the scores; float32 rounds to about 1e-7 of the largest summand


def certified(
    dataset: Dataset,
    scorer: LibraryScorer,
    build: Callable[[], EmbeddingModel],
    methods: Sequence[str] = (),
    library: str = "",
) -> EmbeddingModel | LibraryScorer:
    """Return the model that `build` makes, if its scores agree with those of `scorer`; otherwise return `scorer`.

    About 1,500 scores are compared: for up to 24 triples with different relations, the scores of both queries with up
    to 32 candidates. Scores agree if they differ by no more than the rounding errors of float32.

    Parameters
    ----------
    dataset : Dataset
    scorer : LibraryScorer
        Scores with the library's own methods.
    build : function
        Makes the model of `kgeval.models` from the same parameters, with rows in the order of the ids of `dataset`. If
        `build` raises a DataError or ScoreError, there is no such model, and `scorer` is returned.
    methods : sequence of str
        The methods of ``scorer.module`` that must be the library's own: a subclass of a user may redefine a method and
        change only a few scores, and the comparison might miss them.
    library : str
        The start of the names of the library's modules.

    Returns
    -------
    EmbeddingModel or LibraryScorer
        Its notes tell which code computes the scores, and give the result of the comparison.
    """
    own = [method for method in methods if not _is_method_of(library, scorer.module, method)]
    if own:
        scorer.notes += (f"not ranked by kgeval's exact kernels: the class of the model defines its own {own[0]}",)
        return scorer
    try:
        model = build()
    except (DataError, ScoreError):
        return scorer
    n, difference, at = _compare(dataset, scorer, model)
    if not n:
        return scorer
    if difference <= TOLERANCE:
        agreed = f"{n:,} probed scores agree with those of the library, up to {difference:.1g} of their range"
        model.notes = (model.description, *scorer.notes, f"ranked by kgeval's exact kernels instead: {agreed}")
        return model
    scorer.notes += (
        f"not ranked by kgeval's exact kernels: {at} with {model.description}, which kgeval made of the same "
        "parameters; the scores are those of the library",
    )
    return scorer


def _is_method_of(library: str, model: Any, method: str) -> bool:
    """Return whether a method of a model is the method of its library, not redefined by a subclass or the object."""
    return method not in vars(model) and str(getattr(type(model), method).__module__).startswith(library)


def _compare(dataset: Dataset, scorer: LibraryScorer, model: EmbeddingModel) -> tuple[int, float, str]:
    """Compare the library's scores of sampled triples with the exact scores of a model.

    Return the number of compared scores, the largest difference divided by the range of the scores, and a text that
    shows the two scores with this difference.
    """
    triples = _probes(dataset, scorer)
    candidates = np.setdiff1d(np.arange(len(dataset.entities)), scorer.missing_entities)
    if not len(triples):
        return 0, 0.0, ""
    candidates = candidates[np.linspace(0, len(candidates) - 1, min(len(candidates), PROBED_CANDIDATES)).astype(int)]
    n, largest, at, low, high = 0, 0.0, "", np.inf, -np.inf
    for side in SIDES:
        given, _ = given_and_asked(triples, side)
        relation = triples[:, 1]
        theirs = _library_scores(scorer, side, given, relation, candidates)
        ours = _exact_scores(model, side, given, relation, candidates)
        with np.errstate(invalid="ignore"):
            difference = np.where(theirs == ours, 0.0, np.abs(theirs - ours))
        difference[np.isnan(difference)] = np.inf
        n += difference.size
        finite = theirs[np.isfinite(theirs)]
        low, high = min(low, *finite, np.inf), max(high, *finite, -np.inf)
        if difference.max() > largest:
            i, j = np.unravel_index(int(np.argmax(difference)), difference.shape)
            largest = float(difference[i, j])
            at = f"the {side} score of a probed triple is {theirs[i, j]:.7g}, but {ours[i, j]:.7g}"
    return n, largest / (high - low) if high > low else largest, at


def _probes(dataset: Dataset, scorer: LibraryScorer) -> Ids:
    """Return up to `PROBED_TRIPLES` triples of the dataset, with as many different relations as possible."""
    triples = np.concatenate([split.array for split in dataset.splits.values()])
    lacks = np.isin(triples[:, [0, 2]], scorer.missing_entities).any(axis=1)
    lacks |= np.isin(triples[:, 1], scorer.missing_relations)
    triples = triples[~lacks]
    _, first = np.unique(triples[:, 1], return_index=True)  # the first triple of each relation
    rest = np.setdiff1d(np.arange(len(triples)), first)
    chosen = _spread(np.sort(first), PROBED_TRIPLES)
    chosen = np.concatenate([chosen, _spread(rest, PROBED_TRIPLES - len(chosen))])
    probed: Ids = triples[chosen]
    return probed


def _spread(rows: Ids, n: int) -> Ids:
    """Return at most `n` of the rows, evenly spaced."""
    return rows if len(rows) <= n else rows[np.linspace(0, len(rows) - 1, n).astype(np.int64)]


def _library_scores(scorer: LibraryScorer, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
    """Return the library's scores as float64, shape (queries, candidates)."""
    if side == "object":
        scores = scorer.score_objects(given, relation, candidates)
    else:
        scores = scorer.score_subjects(relation, given, candidates)
    return as_scores(scores, scorer.__name__).astype(np.float64)


def _exact_scores(model: EmbeddingModel, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
    """Return the exact scores of a model, shape (queries, candidates)."""
    queries = on_host(model.query_vectors(side, given, relation))
    vectors = on_host(model.candidate_vectors(side)[candidates])
    return np.stack([exact_scores(model.geometry, query, vectors) for query in queries])
