"""classify(): triple classification with one threshold per relation, chosen on the validation split only.

Users and the command ``kgeval classify`` call `classify`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval._version import __version__
from kgeval.base.checks import (
    Bools,
    Ids,
    Reals,
    check_one_of,
    check_positive_int,
    counted,
    names_unknown_arguments,
    warn_user,
)
from kgeval.classification.classification_result import ClassificationResult
from kgeval.classification.example_clusters import POSITIVE
from kgeval.classification.negative_sets import PARTS, UNIFORM, Negatives, NegativeSets
from kgeval.data.dataset import Dataset, check_dataset
from kgeval.data.keys import column_notes, facts_of
from kgeval.errors import DataError, ProtocolError
from kgeval.metrics.pointwise import PlattCalibrator, RocAuc
from kgeval.metrics.pointwise import calibrate as fit_calibrator
from kgeval.metrics.pointwise.calibration import CALIBRATIONS, Calibrator, check_calibration
from kgeval.metrics.pointwise.cuts import (
    THRESHOLD_PLACES,
    GroupThresholds,
    decide_by_threshold,
    exact_doubles,
    thresholds_by_group,
)
from kgeval.scorers.check import checked_scorer, probe
from kgeval.scorers.libraries import scorer_notes
from kgeval.scorers.row_scorers import (
    Limits,
    RowScorer,
    check_triple_scores,
    columns_taken,
    missing_ids,
    pair_side,
    score_triples,
)

NO_VECTOR = "the model has no vector for an entity or relation"
WORSE_THAN_CHANCE = -4.0  # z-score of the validation AUC under random scores; a lower z-score gives a warning


@names_unknown_arguments(
    seed="sample_seed=",
    max_pairs="batch_size=",
    **dict.fromkeys(("metric", "metrics"), "result['f1'] or result.summary(metrics=...)"),
)
def classify(
    scorer: Any,
    dataset: Dataset,
    negatives: Negatives | None = None,
    *,
    threshold_at: str = "score",
    calibrate: str | None = None,
    prior: float | None = None,
    sample_seed: int = 0,
    source: str | None = None,
    batch_size: int | None = None,
    filter_by: Sequence[str] | None = None,
) -> ClassificationResult:
    """Classify test triples as true or false by thresholds chosen on the validation split.

    A triple is classified as true if its score is at least the threshold of its relation. This threshold classifies the
    largest number of validation triples of the relation correctly (`kgeval.metrics.pointwise.cuts`). If several
    thresholds classify each of these triples in the same way, `threshold_at` chooses one of them. If validation has no
    true or no false triples of a relation, the relation gets the global threshold, which is chosen on all validation
    triples; a note contains the number of these relations. The test split is not used to choose thresholds.

    Parameters
    ----------
    scorer : function, object or model
        See `kgeval.evaluate`. Embedding models and objects with ``score_objects`` score the triples as object queries;
        an object that has only ``score_subjects`` scores them as subject queries. A scorer that takes the time gets
        that of each triple; negatives then need a time, too: a column ``time``, or that of their positives.
    dataset : Dataset
        The true triples are its splits valid and test.
    negatives : path, mapping or str
        The false triples; required. A folder with ``valid_negatives.txt`` and ``test_negatives.txt``; or a mapping with
        the keys ``"valid"`` and ``"test"``, whose values are arrays of ids, shape (n, 3), DataFrames of labels, or
        DataFrames from `kgeval.sample_negatives`; or ``"uniform"``: one negative per positive from
        ``kgeval.sample_negatives(dataset, split, sample_seed=sample_seed, distinct="query")``. Negatives that are known
        triples, or that occur more than once, are kept; notes contain their numbers.
    threshold_at : str
        The place of the threshold in the gap between two neighbouring validation scores of the relation.
        ``"score"``: at the upper score, which is the score of a true triple. ``"midpoint"``: halfway between the two
        scores; usually more accurate on test if a relation has few validation triples. If there is no
        lower score, or the gap is infinite, the threshold is the upper score. The threshold is float64, also for
        float32 scores.
    calibrate : str, optional
        The method that turns scores into probabilities: ``"platt"`` or ``"isotonic"``, fitted on all validation
        triples together. Metrics such as log loss require probabilities. Calibration requires scikit-learn.
    prior : float, optional
        The share of true triples that the probabilities assume; by default the share of true triples in validation.
        Requires `calibrate`.
    sample_seed : int
        Seed of ``"uniform"`` negatives; not used with other negatives.
    source : str, optional
        The origin of the negatives, as text for the result; by default the folder, ``"given"`` or ``"uniform"``.
    batch_size : int, optional
        The largest number of triples that are scored at once; see `kgeval.evaluate`.
    filter_by : sequence of str, optional
        The filter key of ``"uniform"`` negatives; see `kgeval.sample_negatives`. Needed for them if the dataset has
        times or qualifiers.

    Returns
    -------
    ClassificationResult

    Raises
    ------
    DataError
        If positives or negatives of valid or test are missing, or contain an entity or relation that is not in the
        dataset.
    ProtocolError
        If the dataset has no valid or no test split, or a setting is unknown.
    ScoreError
        If the scorer returns a wrong shape or dtype, a NaN, or different scores for the same triple.

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
    >>> false = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}
    >>> classify(lambda s, p, o: o, dataset, false, threshold_at="midpoint")["accuracy"]  # the threshold is (3 + 1) / 2
    1.0
    """
    _check_settings(dataset, threshold_at, calibrate, prior)
    limits = Limits(None if batch_size is None else check_positive_int("batch_size", batch_size))
    scorer, rows = checked_scorer(scorer, dataset, limits)
    side = pair_side(rows)
    columns = columns_taken(rows, [side])
    negative_sets = NegativeSets.of(dataset, negatives, sample_seed, columns.scored, filter_by)
    positives = {"test": negative_sets.positives}
    valid, test = (
        _Examples.of(dataset, part, negative_sets.triples[part], scorer, positives.get(part), columns.scored)
        for part in PARTS
    )
    candidates = np.setdiff1d(np.arange(len(dataset.entities)), missing_ids(scorer, "entities"))
    report = probe(rows, dataset, {side: test.triples}, {side: candidates})
    valid = valid.scored(rows, dataset)
    chosen = thresholds_by_group(valid.labels, valid.scores, valid.relations, len(dataset.relations), threshold_at)
    calibrator = None if calibrate is None else fit_calibrator(valid.scores, valid.labels, calibrate, prior)
    test = test.scored(rows, dataset)
    facts: dict[str, Any] = {"dataset": dataset.name, "dataset_fingerprint": dataset.fingerprint}
    facts |= {"observations": dataset.observations(), "version": __version__, "scorer": rows.name}
    for examples in (valid, test):
        facts[f"n_{examples.part}_positive"] = examples.n_positive
        facts[f"n_{examples.part}_negative"] = examples.n_negative
    facts |= {"negatives": source or negative_sets.source, "negatives_sha256": negative_sets.fingerprint(dataset)}
    facts["sample_seed"] = int(sample_seed) if negative_sets.source == UNIFORM else None
    facts |= {"threshold_at": threshold_at, "calibrate": calibrate, "prior": prior}
    cautions = [*_threshold_notes(valid, test, chosen), *_score_notes(valid, test, calibrator)]
    return ClassificationResult(
        table=_test_table(test, chosen, calibrator),
        thresholds=_threshold_frame(dataset, valid, test, chosen),
        global_threshold=chosen.overall,
        entities=dataset.entities,
        relations=dataset.relations,
        facts=facts,
        dropped={f"{split.part}: {NO_VECTOR}": split.n_dropped for split in (valid, test) if split.n_dropped},
        dataset=dataset,
        notes=(
            *negative_sets.notes,
            *report.notes,
            *scorer_notes(scorer),
            *column_notes(dataset, columns),
            *cautions,
        ),
    )


@dataclass(frozen=True)
class _Examples:
    """The positives and negatives of a split, positives first, and their scores.

    Parameters
    ----------
    part : str
        ``"valid"`` or ``"test"``.
    triples : int64 array, shape (n, 3 or more)
        With the codes of the columns that the scorer takes.
    labels : bool array, shape (n,)
        True for positives, False for negatives.
    n_dropped : int
        Number of examples that are left out, because the model has no vector for an entity or relation.
    scores : float64 array, shape (n,)
        Empty if the examples are not scored yet; `scored` returns a copy with scores.
    positive : int64 array, shape (n,), optional
        For each negative, the row of the positive from which the negative was made; for each positive, the row of the
        positive itself. A repeated positive has the row of its first occurrence. None if the positives of the negatives
        are not known.
    """

    part: str
    triples: Ids
    labels: Bools
    n_dropped: int
    scores: Reals
    positive: Ids | None = None

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        part: str,
        negatives: Ids,
        scorer: Any,
        positive_rows: Ids | None = None,
        columns: tuple[str, ...] = (),
    ) -> _Examples:
        """Return the positives and negatives of a split, without scores and without triples that lack a vector.

        `positive_rows`, int64 (negatives,), is the row of the positive of each negative, or None if not known. A triple
        lacks a vector if `scorer` has no vector for one of its entities or for its relation.

        Raises
        ------
        DataError
            If no positive or no negative is left.
        """
        triples = np.concatenate([facts_of(dataset, (part,), columns), negatives])
        labels = np.arange(len(triples)) < len(dataset[part])
        lacks = np.isin(triples[:, [0, 2]], missing_ids(scorer, "entities")).any(axis=1)
        lacks |= np.isin(triples[:, 1], missing_ids(scorer, "relations"))
        positive = None
        if positive_rows is not None:
            # (positives,): the first row with the same triple.
            rows = pd.Series(range(len(dataset[part])))
            first = rows.groupby(list(dataset[part].array.T)).transform("min").to_numpy()
            positive = np.concatenate([first, first[positive_rows]])[~lacks]
        kept = cls(part, triples[~lacks], labels[~lacks], int(lacks.sum()), np.zeros(0), positive)
        for kind, n in (("positives", kept.n_positive), ("negatives", kept.n_negative)):
            if not n:
                raise DataError(
                    f"no {kind} of {part} are left: each contains an entity or relation for which the model has no "
                    "vector; was the model trained on another dataset?"
                )
        return kept

    def scored(self, rows: RowScorer, dataset: Dataset) -> _Examples:
        """Return the examples with their scores."""
        scores = score_triples(rows, self.triples)
        check_triple_scores(scores, self.triples, dataset, rows)
        return replace(self, scores=exact_doubles(scores, rows.name))

    @property
    def relations(self) -> Ids:
        """The relation id of each triple, int64, shape (n,)."""
        return self.triples[:, 1]

    @property
    def n_positive(self) -> int:
        """Number of true triples."""
        return int(self.labels.sum())

    @property
    def n_negative(self) -> int:
        """Number of false triples."""
        return len(self.labels) - self.n_positive


def _check_settings(dataset: Any, threshold_at: Any, calibrate: Any, prior: Any) -> None:
    """Raise a DataError or ProtocolError if an argument of `classify` is not valid."""
    check_dataset(dataset)
    for part in PARTS:
        if part not in dataset:
            raise ProtocolError(
                f"dataset {dataset.name!r} has no split {part!r}: thresholds are chosen on valid and evaluated on "
                "test. Set aside a part of train as valid; do not choose thresholds on test"
            )
        if not len(dataset[part]):
            raise DataError(f"split {part!r} of {dataset.name!r} has 0 triples; classification needs positives in it")
    check_one_of("threshold_at", threshold_at, THRESHOLD_PLACES)
    if calibrate is not None:
        check_one_of("calibrate", calibrate, CALIBRATIONS)
        check_calibration(calibrate, prior)
    elif prior is not None:
        raise ProtocolError("prior= requires calibrate=; set calibrate='platt' or calibrate='isotonic'")


def _test_table(test: _Examples, chosen: GroupThresholds, calibrator: Calibrator | None) -> pd.DataFrame:
    """Return the table of the classified test triples; see `ClassificationResult`."""
    threshold = chosen.threshold[test.relations]
    columns: dict[str, Any] = dict(zip("spo", test.triples[:, :3].T))
    columns |= {"label": test.labels, "score": test.scores, "threshold": threshold}
    columns["predicted"] = decide_by_threshold(test.scores, threshold)
    if calibrator is not None:
        columns["probability"] = calibrator(test.scores)
    if test.positive is not None:
        columns[POSITIVE] = test.positive
    return pd.DataFrame(columns)


def _threshold_frame(dataset: Dataset, valid: _Examples, test: _Examples, chosen: GroupThresholds) -> pd.DataFrame:
    """Return the table of thresholds, one row per relation in valid or test; see `ClassificationResult`."""
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


def _threshold_notes(valid: _Examples, test: _Examples, chosen: GroupThresholds) -> Iterator[str]:
    """Yield one note per reason why relations of test use the global threshold, with the number of these relations."""
    relations, n_triples = np.unique(test.relations, return_counts=True)
    is_in_valid = np.isin(relations, valid.relations)
    for reason, applies in (
        ("has no example of them", ~is_in_valid),
        ("has only true or only false examples of them", is_in_valid),
    ):
        is_global = applies & ~chosen.is_own[relations]
        if is_global.any():
            yield (
                f"the global threshold {chosen.overall:g} is used for {int(is_global.sum()):,} of {len(relations):,} "
                f"relations of test ({counted(int(n_triples[is_global].sum()), 'triple')}): valid {reason}"
            )


def _score_notes(valid: _Examples, test: _Examples, calibrator: Calibrator | None) -> Iterator[str]:
    """Yield cautions about infinite scores, an AUC below chance on valid, and a negative slope of Platt's method."""
    n_infinite = int(np.isinf(valid.scores).sum() + np.isinf(test.scores).sum())
    if n_infinite:
        are_infinite = counted(n_infinite, "score is infinite", "scores are infinite")
        yield f"{are_infinite}; infinities are compared as numbers"
    auc = RocAuc().compute(valid.labels, valid.scores).value
    # The standard deviation of the AUC under random scores.
    deviation = np.sqrt((len(valid.labels) + 1) / (12 * valid.n_positive * valid.n_negative))
    if auc - 0.5 < WORSE_THAN_CHANCE * deviation:
        caution = (
            f"positives of valid score far lower than negatives (AUC {auc:.3f}); are distances given as scores? "
            "Higher must be better: negate them"
        )
        warn_user(caution)
        yield caution
    if isinstance(calibrator, PlattCalibrator) and calibrator.slope < 0:
        yield (
            f"Platt's slope is negative ({calibrator.slope:.3g}): positives of valid have lower scores, so a higher "
            "score gives a lower probability"
        )
