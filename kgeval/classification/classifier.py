"""classify(): which test triples are true, by thresholds per relation that validation alone chooses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval._version import __version__
from kgeval.checks import Bools, Ids, Reals, check_one_of, check_positive_int
from kgeval.classification.classification_result import ClassificationResult
from kgeval.classification.negative_sets import PARTS, UNIFORM, Negatives, NegativeSets
from kgeval.data import Dataset
from kgeval.errors import DataError, KgevalWarning, ProtocolError
from kgeval.metrics.pointwise import (
    CALIBRATIONS,
    Calibrator,
    GroupThresholds,
    PlattCalibrator,
    RocAuc,
    check_calibration,
    decide_by_threshold,
    exact_doubles,
    thresholds_by_group,
)
from kgeval.metrics.pointwise import calibrate as fit_calibrator
from kgeval.scorers import (
    MAX_PAIRS,
    Limits,
    RowScorer,
    as_row_scorer,
    check_missing,
    check_triple_scores,
    missing_ids,
    pair_side,
    probe,
    score_triples,
)
from kgeval.scorers.models import EmbeddingModel

NO_VECTOR = "the model has no vector for an entity or relation"
WORSE_THAN_CHANCE = -4.0  # standard deviations of the AUC


def classify(
    scorer: Any,
    dataset: Dataset,
    negatives: Negatives,
    *,
    calibrate: str | None = None,
    prior: float | None = None,
    seed: int = 0,
    source: str | None = None,
    max_pairs: int = MAX_PAIRS,
) -> ClassificationResult:
    """Tell true from false test triples by thresholds chosen on validation.

    A triple is called true where its score is at least the threshold of its relation: the one that makes most
    validation triples of the relation right (`kgeval.metrics.pointwise.cuts`). Relations without both true and false
    triples in validation take the threshold chosen on all of it, and are counted. Test has no part in any threshold.

    Parameters
    ----------
    scorer : function, object or model
        See `kgeval.evaluate`. Embedding models and scorers of rows are asked for the object side (for the subject
        side where a scorer has that alone).
    dataset : Dataset
        With splits valid and test, the true triples.
    negatives : path, mapping or str
        A folder with ``valid_negatives.txt`` and ``test_negatives.txt``; a mapping with keys ``"valid"`` and
        ``"test"`` to ids, shape (n, 3), or to frames of labels, or of `kgeval.sample_negatives`; or ``"uniform"``: one
        negative per positive from ``kgeval.sample_negatives(dataset, split, seed=seed)``. Given negatives that are
        known triples, or repeat others, are kept and counted in the notes.
    calibrate : str, optional
        ``"platt"`` or ``"isotonic"``: probabilities fitted on all validation scores together, needed for metrics
        such as log loss; needs scikit-learn.
    prior : float, optional
        The share of true triples that probabilities should assume instead of validation's.
    seed : int
        Of ``"uniform"``; given negatives make no use of it.
    source : str, optional
        What the result says of where the negatives come from.
    max_pairs : int
        The longest arrays that a function is given.

    Returns
    -------
    ClassificationResult

    Raises
    ------
    DataError
        If positives or negatives of valid or test are lacking, or name what the dataset does not know.
    ProtocolError
        If the dataset has no valid or no test split, or a setting is unknown.
    ScoreError
        If the scorer gives a wrong shape or dtype, a NaN, or different scores for the same triple.

    References
    ----------
    Socher et al. (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS. Safavi & Koutra
    (2020), CoDEx: A Comprehensive Knowledge Graph Completion Benchmark, EMNLP (hard negatives).

    Examples
    --------
    >>> triples = {"valid": [[0, 0, 3]], "test": [[0, 0, 2], [0, 0, 3]]}
    >>> dataset = Dataset.from_arrays(**triples, n_entities=4, n_relations=1)
    >>> result = classify(lambda s, p, o: o, dataset, {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]})
    >>> result["accuracy"], result["precision"], result["f1"]  # the threshold is 3
    (0.75, 1.0, 0.6666666666666666)
    """
    _check_settings(dataset, calibrate, prior)
    false = NegativeSets.of(dataset, negatives, seed)
    rows = as_row_scorer(scorer, len(dataset.entities), Limits(max_pairs=check_positive_int("max_pairs", max_pairs)))
    check_missing(scorer, dataset)
    valid, test = (_Examples.of(dataset, part, false.triples[part], scorer) for part in PARTS)
    said = _probed(scorer, rows, dataset, test)
    valid = valid.scored(rows, dataset)
    chosen = thresholds_by_group(valid.labels, valid.scores, valid.relations, len(dataset.relations))
    calibrator = None if calibrate is None else fit_calibrator(valid.scores, valid.labels, calibrate, prior)
    test = test.scored(rows, dataset)
    settings = {"seed": int(seed) if false.source == UNIFORM else None, "calibrate": calibrate, "prior": prior}
    return ClassificationResult(
        table=_test_table(test, chosen, calibrator),
        thresholds=_threshold_frame(dataset, valid, test, chosen),
        global_threshold=chosen.overall,
        entities=dataset.entities,
        relations=dataset.relations,
        about={**_about(dataset, valid, test), **false.about(dataset, source), "scorer": rows.name, **settings},
        dropped={f"{one.part}: {NO_VECTOR}": one.n_dropped for one in (valid, test) if one.n_dropped},
        dataset=dataset,
        notes=(*false.notes, *said, *_threshold_notes(valid, test, chosen), *_score_notes(valid, test, calibrator)),
    )


@dataclass(frozen=True)
class _Examples:
    """The triples of valid or test, positives first, and their scores once they have been asked for."""

    part: str
    triples: Ids
    labels: Bools
    n_dropped: int
    scores: Reals

    @classmethod
    def of(cls, dataset: Dataset, part: str, negatives: Ids, scorer: Any) -> _Examples:
        """Return all positives and negatives for which `scorer` has vectors."""
        triples = np.concatenate([dataset[part].array, negatives])
        labels = np.arange(len(triples)) < len(dataset[part])
        lacks = np.isin(triples[:, [0, 2]], missing_ids(scorer, "entities")).any(axis=1)
        lacks |= np.isin(triples[:, 1], missing_ids(scorer, "relations"))
        kept = cls(part, triples[~lacks], labels[~lacks], int(lacks.sum()), np.zeros(0))
        for what, n in (("positives", kept.n_positive), ("negatives", kept.n_negative)):
            if not n:
                raise DataError(
                    f"none of the {what} of {part} is left: each names an entity or relation for which the model has "
                    "no vector; was it trained on another dataset?"
                )
        return kept

    def scored(self, rows: RowScorer, dataset: Dataset) -> _Examples:
        """Return the examples with their scores."""
        scores = score_triples(rows, self.triples)
        check_triple_scores(scores, self.triples, dataset, rows)
        return replace(self, scores=exact_doubles(scores, rows.name))

    @property
    def relations(self) -> Ids:
        """The relation of each, shape (n,)."""
        return self.triples[:, 1]

    @property
    def n_positive(self) -> int:
        """How many are true."""
        return int(self.labels.sum())

    @property
    def n_negative(self) -> int:
        """How many are false."""
        return len(self.labels) - self.n_positive


def _check_settings(dataset: Any, calibrate: Any, prior: Any) -> None:
    if not isinstance(dataset, Dataset):
        raise DataError(f"expected a Dataset; got {dataset!r}. kgeval.read_dataset reads a folder")
    for part in PARTS:
        if part not in dataset:
            raise ProtocolError(
                f"dataset {dataset.name!r} has no split {part!r}: thresholds are chosen on valid and judged on test. "
                "Set aside a part of train as valid; thresholds chosen on test would be worthless"
            )
        if not len(dataset[part]):
            raise DataError(f"split {part!r} of {dataset.name!r} has 0 triples; classification needs positives in it")
    if calibrate is not None:
        check_one_of("calibrate", calibrate, CALIBRATIONS)
        check_calibration(calibrate, prior)
    elif prior is not None:
        raise ProtocolError("prior= requires calibrate=; say calibrate='platt' or calibrate='isotonic' as well")


def _probed(scorer: Any, rows: RowScorer, dataset: Dataset, examples: _Examples) -> list[str]:
    """Score a few queries in several ways, which must agree, and return what is to be noted of the scorer."""
    candidates = np.setdiff1d(np.arange(len(dataset.entities)), missing_ids(scorer, "entities"))
    report = probe(rows, dataset, examples.triples, candidates, (pair_side(rows),))
    return [*report.notes, *(scorer.notes if isinstance(scorer, EmbeddingModel) else ())]


def _test_table(test: _Examples, chosen: GroupThresholds, calibrator: Calibrator | None) -> pd.DataFrame:
    threshold = chosen.threshold[test.relations]
    columns: dict[str, Any] = dict(zip("spo", test.triples.T))
    columns |= {"label": test.labels, "score": test.scores, "threshold": threshold}
    columns["predicted"] = decide_by_threshold(test.scores, threshold)
    if calibrator is not None:
        columns["probability"] = calibrator(test.scores)
    return pd.DataFrame(columns)


def _threshold_frame(dataset: Dataset, valid: _Examples, test: _Examples, chosen: GroupThresholds) -> pd.DataFrame:
    n = len(dataset.relations)
    columns = {
        "threshold": chosen.threshold,
        "n_valid_positive": np.bincount(valid.relations[valid.labels], minlength=n),
        "n_valid_negative": np.bincount(valid.relations[~valid.labels], minlength=n),
        "source": np.where(chosen.is_own, "relation", "global").astype(object),
        "n_test": np.bincount(test.relations, minlength=n),
    }
    labels = np.array(dataset.relations.labels, dtype=object)
    frame = pd.DataFrame(columns, index=pd.Index(labels, name="relation", dtype=object))
    return frame.iloc[np.union1d(valid.relations, test.relations)]


def _threshold_notes(valid: _Examples, test: _Examples, chosen: GroupThresholds) -> list[str]:
    """Return how many relations of test take the global threshold, by reason."""
    asked, n_triples = np.unique(test.relations, return_counts=True)
    is_in_valid = np.isin(asked, valid.relations)
    said = []
    for reason, is_meant in (("has no example of them", ~is_in_valid), ("has examples of one class only", is_in_valid)):
        is_meant = is_meant & ~chosen.is_own[asked]
        if is_meant.any():
            said.append(
                f"the global threshold {chosen.overall:g} serves {int(is_meant.sum()):,} of {len(asked):,} relations "
                f"of test ({int(n_triples[is_meant].sum()):,} triples): valid {reason}"
            )
    return said


def _score_notes(valid: _Examples, test: _Examples, calibrator: Calibrator | None) -> list[str]:
    """Return what makes the scores doubtful: infinities, and an order on validation that is worse than chance."""
    said = []
    n_infinite = int(np.isinf(valid.scores).sum() + np.isinf(test.scores).sum())
    if n_infinite:
        said.append(f"{n_infinite:,} scores are infinite; infinities are compared as numbers")
    auc = RocAuc().compute(valid.labels, valid.scores).value
    deviation = np.sqrt((len(valid.labels) + 1) / (12 * valid.n_positive * valid.n_negative))  # of random scores
    if auc - 0.5 < WORSE_THAN_CHANCE * deviation:
        said.append(
            f"positives of valid score far lower than negatives (AUC {auc:.3f}); are distances given as scores? "
            "Higher must be better: negate them"
        )
        warnings.warn(said[-1], KgevalWarning, stacklevel=3)
    if isinstance(calibrator, PlattCalibrator) and calibrator.slope < 0:
        said.append(
            f"Platt's slope is negative ({calibrator.slope:.3g}): lower scores go with positives in valid, and "
            "probabilities turn the order of the scores round"
        )
    return said


def _about(dataset: Dataset, valid: _Examples, test: _Examples) -> dict[str, Any]:
    about: dict[str, Any] = {
        "dataset": dataset.name,
        "dataset_fingerprint": dataset.fingerprint,
        "observations": dataset.observations(),
        "version": __version__,
    }
    for one in (valid, test):
        about |= {f"n_{one.part}_positive": one.n_positive, f"n_{one.part}_negative": one.n_negative}
    return about
