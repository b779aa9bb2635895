"""`PyKEENEvaluator`: an evaluator with the ranks of kgeval, for PyKEEN's pipeline, early stopper and HPO.

The methods are in `EvaluatorMethods`, which needs no PyKEEN. `make_class` combines them with PyKEEN's
`RankBasedEvaluator`, which computes the metrics from the ranks; so PyKEEN's keys and formulas are used.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from kgeval.adapters import from_model
from kgeval.base.checks import Ids, counted
from kgeval.data import candidates
from kgeval.data.candidates import Candidates
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.data.protocol import Protocol
from kgeval.data.queries import Queries
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import check_side
from kgeval.errors import DataError, KgevalWarning, MissingExtra, ProtocolError, ScoreError
from kgeval.evaluation.evaluator import Evaluator
from kgeval.results.evaluation_result import EvaluationResult

SIDES_OF_TARGETS = {"head": "subject", "tail": "object"}
RANK_TYPES = ("optimistic", "realistic", "pessimistic")
MAX_EVALUATORS = 4  # to keep: for example for validation and test triples, with two filters each
NO_LABELS = (
    "the labels are the ids of PyKEEN: the evaluator was made without dataset=. The evaluated triples are the split "
    "'test', the other filter triples are the split 'train'"
)
OTHER_TRIPLES = (
    "the triples of the evaluation are no split of the dataset= of the evaluator, so the evaluated triples are the "
    "split 'test', the other filter triples are the split 'train'"
)


class EvaluatorMethods:
    """Evaluator for PyKEEN, public as `kg.integrations.PyKEENEvaluator`: kgeval computes the ranks, PyKEEN the metrics.

    It takes the place of `pykeen.evaluation.RankBasedEvaluator`: in ``pipeline(evaluator=..., evaluator_kwargs=...)``,
    in `hpo_pipeline`, and as the evaluator of an early stopper. The results have the same keys. The ranks are exact: a
    NaN raises an error, the scores of the known geometric models are computed in float64, and the scores of other
    models are compared without conversion. Metrics can therefore differ from PyKEEN's metrics if scores in float32
    differ only by rounding errors. PyKEEN does not count candidates with infinite scores, which changes the
    adjusted metrics; here these candidates count.

    Parameters
    ----------
    filtered : bool
        True: known triples do not count as rivals. False: all triples count, which gives the metrics of the raw ranks.
    dataset : PyKEEN Dataset, or kgeval.Dataset, optional
        The dataset of the run, which gives labels to `result`. A `kgeval.Dataset` must have the ids of PyKEEN, such as
        ``kg.Dataset.of({"train": training, "valid": validation, "test": testing})`` of three factories. If the
        evaluated triples and the filter triples are splits of the dataset, `result` equals the result of
        ``kg.evaluate`` on it.
    **options
        Options of PyKEEN's `RankBasedEvaluator`: ``metrics``, ``metrics_kwargs``, ``add_defaults``,
        ``clear_on_finalize``, ``batch_size``, ``slice_size``. ``mode``, for inductive models, must be None.

    Attributes
    ----------
    result : EvaluationResult or None
        The result of the last evaluation, raw and filtered.

    Raises
    ------
    MissingExtra
        If PyKEEN is not installed.
    ProtocolError
        If `mode` is given, or `dataset` is a `kgeval.Dataset` with other ids than PyKEEN.
    DataError
        If `dataset` is no dataset.
    """

    # Set by the constructor of PyKEEN's class.
    filtered: bool
    requires_positive_mask: bool
    batch_size: int | None
    slice_size: int | None
    mode: str | None
    ranks: Any
    num_candidates: Any
    num_entities: int | None

    def __init__(self, filtered: bool = True, *, dataset: Any = None, **options: Any) -> None:
        pykeen_class: Any = super()
        pykeen_class.__init__(filtered=filtered, **options)
        if self.mode is not None:
            raise ProtocolError(
                f"PyKEENEvaluator has no inductive evaluation: mode must be None; got {self.mode!r}. Use "
                "pykeen.evaluation.RankBasedEvaluator for inductive models"
            )
        self.requires_positive_mask = True  # without it, process_scores_ cannot tell a NaN of the model from the filter
        self.dataset = _dataset_with_ids_of_pykeen(dataset)
        self.result: EvaluationResult | None = None
        self._evaluators: dict[str, Evaluator] = {}

    def evaluate(
        self,
        model: Any,
        mapped_triples: Any,
        batch_size: int | None = None,
        slice_size: int | None = None,
        device: Any = None,
        use_tqdm: bool = True,
        tqdm_kwargs: Mapping[str, Any] | None = None,
        restrict_entities_to: Collection[int] | None = None,
        restrict_relations_to: Collection[int] | None = None,
        do_time_consuming_checks: bool = True,
        additional_filter_triples: Any = None,
        pre_filtered_triples: bool = True,
        targets: Collection[str] = ("head", "tail"),
    ) -> Any:
        """Rank triples with a model; parameters and keys of the result are those of PyKEEN's `Evaluator.evaluate`.

        Parameters
        ----------
        model : pykeen.models.Model
        mapped_triples : int tensor, shape (n, 3)
            The triples to rank, as ids of PyKEEN. A triple that occurs twice counts twice.
        batch_size, slice_size : int, optional
            Numbers of queries and of candidates: with `batch_size`, at most as many pairs are scored at once as they
            have together (all entities without `slice_size`). By default, kgeval chooses the number of pairs.
        device : torch.device, optional
            The model is moved to this device and stays there, as in PyKEEN.
        use_tqdm : bool
        tqdm_kwargs : dict, optional
            Only ``disable`` is used.
        restrict_entities_to : collection of int, optional
            Only these entities are candidates.
        restrict_relations_to : collection of int, optional
        do_time_consuming_checks : bool
            Not used: the triples are always checked.
        additional_filter_triples : int tensor, shape (m, 3), or list of these, optional
            Known triples besides `mapped_triples`. Repeated triples do not matter.
        pre_filtered_triples : bool
            If False, triples with other entities than `restrict_entities_to` or other relations than
            `restrict_relations_to` are left out. If True, such triples raise an error.
        targets : collection of str
            ``"head"``, ``"tail"`` or both.

        Returns
        -------
        RankBasedMetricResults

        Raises
        ------
        ProtocolError
            If a target is unknown, or the entities or relations of model and dataset differ in number.
        DataError
            If no triple is left, if a triple has another entity or relation than the restriction allows, or if the
            restriction names an entity twice.
        ScoreError
            If a score is NaN.
        """
        sides = _sides(targets)
        positives = _triples("mapped_triples", mapped_triples)
        allowed = {
            "restrict_entities_to": _distinct_ids("restrict_entities_to", restrict_entities_to, model.num_entities),
            "restrict_relations_to": _distinct_ids(
                "restrict_relations_to", restrict_relations_to, model.num_real_relations
            ),
        }
        positives = _allowed_triples(positives, allowed, raises=pre_filtered_triples)
        filters = _filter_triples(additional_filter_triples)
        if device is not None:
            model.to(device)
        entities = allowed["restrict_entities_to"]
        chosen = candidates.All() if entities is None else ChosenEntities(entities)
        evaluator = self._evaluator(model, positives, filters, Protocol(sides=sides, unseen="rank", candidates=chosen))
        adapter = from_model(model, ids=None if evaluator.dataset.id_format == "pykeen" else "dataset")
        n_queries = batch_size or self.batch_size
        with warnings.catch_warnings():  # the ids are PyKEEN's own; the note about the row order stays in the result
            warnings.filterwarnings("ignore", message="row order:", category=KgevalWarning)
            self.result = evaluator.evaluate(
                adapter,
                batch_size=n_queries and n_queries * (slice_size or self.slice_size or model.num_entities),
                progress=use_tqdm and not (tqdm_kwargs or {}).get("disable"),
            )
        self._take_ranks(self.result)
        return self.finalize()

    def finalize(self) -> Any:
        """Return PyKEEN's metrics of the ranks of the last evaluation."""
        pykeen_class: Any = super()
        return pykeen_class.finalize()

    def clear(self) -> None:
        """Forget the ranks of the last evaluation; `result` stays."""
        pykeen_class: Any = super()
        pykeen_class.clear()

    def process_scores_(
        self,
        hrt_batch: Any,
        target: str,
        scores: Any,
        true_scores: Any = None,
        dense_positive_mask: Any = None,
    ) -> None:
        """Rank a batch of triples by scores that a loop of PyKEEN computed; `evaluate` does not use this method.

        Parameters
        ----------
        hrt_batch : int64 tensor, shape (n, 3)
        target : str
            ``"head"`` or ``"tail"``.
        scores : tensor, shape (n, entities)
            In the filtered setting, the scores of other known answers are NaN.
        true_scores : tensor, shape (n, 1), optional
            The scores of the triples; needed in the filtered setting.
        dense_positive_mask : tensor, shape (n, entities), optional
            A cell is not 0 if its entity is a known answer. Needed in the filtered setting, to distinguish a NaN of the
            model from a NaN that marks a known answer.

        Raises
        ------
        ProtocolError
            If `target` is unknown, or if `true_scores` or `dense_positive_mask` is missing in the filtered setting.
        ScoreError
            If a score of the model is NaN.
        """
        (side,) = _sides([target])
        self.result = None
        if self.filtered and (true_scores is None or dense_positive_mask is None):
            raise ProtocolError(
                "PyKEENEvaluator cannot rank the scores of this evaluation loop of PyKEEN: it marks known answers by "
                "NaN without saying where they are, so a NaN of the model would go unnoticed. Call "
                "evaluator.evaluate(model, mapped_triples, additional_filter_triples=...), or use the training "
                "callback 'evaluation' instead of 'evaluation_loop'"
            )
        if true_scores is None:
            true_scores = scores.gather(1, hrt_batch[:, 0 if side == "subject" else 2, None])
        is_nan = scores.isnan()
        wrong = is_nan if not self.filtered else is_nan & (dense_positive_mask == 0)
        if bool(wrong.any()) or bool(true_scores.isnan().any()):
            row = int((wrong.any(dim=1) | true_scores.isnan().any(dim=1)).int().argmax())
            raise ScoreError(f"the model's scores of {tuple(hrt_batch[row].tolist())}, {target} side, contain NaN")
        better = (scores > true_scores).sum(dim=1).cpu().numpy()
        tied = (scores == true_scores).sum(dim=1).cpu().numpy() - 1  # without the positive itself
        for name, share in zip(RANK_TYPES, (0.0, 0.5, 1.0)):
            self.ranks[target, name].append(better + 1 + share * tied)
        self.num_candidates[target].append((~is_nan).sum(dim=1).cpu().numpy())
        self.num_entities = scores.shape[1]

    def _take_ranks(self, result: EvaluationResult) -> None:
        """Give the ranks of a result to PyKEEN's class, which computes its metrics from these ranks."""
        setting = "filtered" if self.filtered else "raw"
        self.clear()
        table = result.rank_table
        for target, side in SIDES_OF_TARGETS.items():
            if side in result.protocol.sides:
                rows = table.rows_of(side)
                for name in RANK_TYPES:
                    self.ranks[target, name].append(table.ranks(setting, name, rows))
                self.num_candidates[target].append(table.counts(setting, rows).rivals + 1)
        self.num_entities = len(result.entities)

    def _evaluator(self, model: Any, positives: Ids, filters: Ids, protocol: Protocol) -> Evaluator:
        """Return the evaluator for the triples `positives` and `filters`.

        The newest evaluators are kept, because an early stopper evaluates the same triples often.
        """
        digest = hashlib.sha256(f"{model.num_entities} {model.num_real_relations} {protocol.fingerprint}".encode())
        for array in (positives, filters):
            digest.update(f"\n{len(array)}\n".encode() + array.tobytes())
        key = digest.hexdigest()
        if key not in self._evaluators:
            self._evaluators[key] = self._new_evaluator(model, positives, filters, protocol)
            if len(self._evaluators) > MAX_EVALUATORS:
                del self._evaluators[next(iter(self._evaluators))]
        return self._evaluators[key]

    def _new_evaluator(self, model: Any, positives: Ids, filters: Ids, protocol: Protocol) -> Evaluator:
        """Make an evaluator from the splits of `dataset` that equal the given triples, else from the triples alone."""
        sizes = {"entities": model.num_entities, "relations": model.num_real_relations}
        labels: dict[str, Any] = {"n_entities": sizes["entities"], "n_relations": sizes["relations"], "name": "pykeen"}
        note = NO_LABELS
        if self.dataset is not None:
            given = self.dataset
            for kind, n in sizes.items():
                if len(getattr(given, kind)) != n:
                    raise ProtocolError(
                        f"the model has {n:,} {kind}, but the dataset= of the evaluator has "
                        f"{len(getattr(given, kind)):,}; give the evaluator the dataset of the model's training"
                    )
            splits = _as_splits(given, positives, filters)
            if splits is not None:
                return Evaluator(given, replace(protocol, splits=splits[:1], filter=splits[1]))
            outside = _without(positives, facts_of(given, tuple(given.splits)))
            if len(outside):
                raise ProtocolError(
                    f"{len(outside):,} of the triples to evaluate are in no split of the dataset= of the evaluator, "
                    f"first the ids {tuple(outside[0].tolist())}. Does the dataset have other ids than the model? Give "
                    "the evaluator the dataset of the model's training, or leave dataset= out"
                )
            labels = {
                "entity_labels": given.entities.labels, "relation_labels": given.relations.labels, "name": given.name
            }  # fmt: skip
            note = OTHER_TRIPLES
        known = _without(filters, positives)
        dataset = Dataset.from_arrays(train=known if len(known) else None, test=positives, **labels)
        return Evaluator(dataset.with_notes([note]), protocol)


class ChosenEntities(Candidates):
    """Candidates that are only some of the entities, for PyKEEN's parameter ``restrict_entities_to``.

    Parameters
    ----------
    ids : int64 array, shape (n,)
        Sorted distinct ids. Every answer of a ranked triple is among them.
    """

    kind = "entities"

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.digest = hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield one part: all queries, with the chosen entities as pool; see `Candidates.pools`."""
        yield queries, np.intersect1d(self.ids, entities)

    def describe(self) -> str:
        """Return the number of the entities, such as ``"50 chosen entities"``."""
        return counted(len(self.ids), "chosen entity", "chosen entities")

    def to_json(self) -> Any:
        """Return kind, digest and description."""
        return super().to_json() | {"text": self.describe()}


def make_class() -> type:
    """Return the class `PyKEENEvaluator`; raise a MissingExtra if PyKEEN is not installed."""
    try:
        from pykeen.evaluation import RankBasedEvaluator, RankBasedMetricResults, evaluator_resolver
    except ModuleNotFoundError as error:
        raise MissingExtra('PyKEENEvaluator needs PyKEEN; pip install pykeen, or "kgeval[peers]"') from error
    content = {
        "__doc__": EvaluatorMethods.__doc__,
        "__module__": "kgeval.integrations",
        "metric_result_cls": RankBasedMetricResults,
    }
    metaclass: Any = type(RankBasedEvaluator)
    made: type = metaclass("PyKEENEvaluator", (EvaluatorMethods, RankBasedEvaluator), content)
    # The configuration that hpo_pipeline saves names the evaluator; PyKEEN then looks the name up.
    evaluator_resolver.register(made, raise_on_conflict=False)
    return made


def _dataset_with_ids_of_pykeen(dataset: Any) -> Dataset | None:
    """Return a dataset with the same ids as PyKEEN; raise an error if this is not possible."""
    if dataset is None:
        return None
    made = dataset if isinstance(dataset, Dataset) else Dataset.of(dataset)
    if made.id_format != "pykeen":
        raise ProtocolError(
            f"dataset= of PyKEENEvaluator must have the ids of PyKEEN, but the ids of {made.name!r} are its own; pass "
            "PyKEEN's Dataset, or kg.Dataset.of(...) of PyKEEN's objects"
        )
    return made


def _sides(targets: Any) -> tuple[str, ...]:
    """Return kgeval's names of the sides that PyKEEN's `targets` name."""
    names = [targets] if isinstance(targets, str) else list(targets)
    if not names or len(set(names)) < len(names) or not set(names) <= set(SIDES_OF_TARGETS):
        relation = ". Relation prediction is not evaluated" if "relation" in names else ""
        raise ProtocolError(f"targets must be 'head', 'tail' or both; got {names}{relation}")
    return tuple(check_side(SIDES_OF_TARGETS[name]) for name in SIDES_OF_TARGETS if name in names)


def _triples(name: str, triples: Any) -> Ids:
    """Return a tensor or array of triples as an int64 array, shape (n, 3)."""
    array = np.asarray(triples.detach().cpu() if hasattr(triples, "detach") else triples)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise DataError(f"{name} must be integers of shape (n, 3); got {array.dtype}, shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _filter_triples(additional: Any) -> Ids:
    """Return the filter triples of a tensor, of a list of tensors, or of None."""
    name = "additional_filter_triples"
    if additional is None:
        return np.zeros((0, 3), dtype=np.int64)
    if not isinstance(additional, (list, tuple)):
        return _triples(name, additional)
    parts = [_triples(f"{name}[{i}]", part) for i, part in enumerate(additional)]
    return np.concatenate([np.zeros((0, 3), dtype=np.int64), *parts])


def _distinct_ids(name: str, ids: Any, n: int) -> Ids | None:
    """Return the ids of a restriction, sorted; None without a restriction."""
    if ids is None:
        return None
    listed = ids.detach().cpu().tolist() if hasattr(ids, "detach") else list(ids)
    array = np.asarray(listed)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise DataError(f"{name} must be a collection of at least one integer; got {listed[:5]}")
    distinct = np.unique(array).astype(np.int64)
    if distinct[0] < 0 or distinct[-1] >= n:
        raise DataError(f"{name}: ids must be 0 .. {n - 1}; got {distinct[0]} .. {distinct[-1]}")
    if len(distinct) < len(array):
        repeated = int(distinct[np.bincount(array)[distinct] > 1][0])
        raise DataError(f"{name} names {repeated} more than once; PyKEEN would count it as several candidates")
    return distinct


def _allowed_triples(positives: Ids, allowed: Mapping[str, Ids | None], raises: bool) -> Ids:
    """Return the triples that the restrictions allow; if `raises`, raise a DataError if a triple is not allowed."""
    for (name, ids), columns in zip(allowed.items(), ([0, 2], [1])):
        if ids is not None:
            is_allowed = np.isin(positives[:, columns], ids).all(axis=1)
            if raises and not is_allowed.all():
                row = int(np.flatnonzero(~is_allowed)[0])
                raise DataError(
                    f"mapped_triples, row {row}: {tuple(positives[row].tolist())} is excluded by {name}, as are "
                    f"{counted(int((~is_allowed).sum()), 'triple')} in all; pass pre_filtered_triples=False to leave "
                    "them out"
                )
            positives = positives[is_allowed]
    return positives


def _as_splits(dataset: Dataset, positives: Ids, filters: Ids) -> tuple[str, tuple[str, ...]] | None:
    """Return the split that equals the positives, and the splits that together equal filters and positives.

    The result is None if there are no such splits.
    """
    known = _distinct(np.concatenate([positives, filters]))
    for split, triples in dataset.splits.items():
        if np.array_equal(triples.array, positives):
            others = [other for other in dataset.splits if other != split]
            for chosen in (part for n in range(len(others) + 1) for part in combinations(others, n)):
                both = tuple(name for name in dataset.splits if name in (*chosen, split))
                if np.array_equal(_distinct(facts_of(dataset, both)), known):
                    return split, both
    return None


def _distinct(triples: Ids) -> Ids:
    """Return the distinct triples, sorted."""
    order, starts = group_rows(*triples.T)
    return triples[order[starts[:-1]]]


def _without(triples: Ids, others: Ids) -> Ids:
    """Return the distinct triples that are not among `others`."""
    order, starts = group_rows(*np.concatenate([others, triples]).T)
    # The index of the first of equal triples; it is below len(others) if `others` contains this triple.
    first = order[starts[:-1]]
    return triples[np.sort(first[first >= len(others)] - len(others))]
