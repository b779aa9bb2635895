"""PyKEENEvaluator against PyKEEN's own evaluator, against loops, and in its pipeline, early stopper and HPO."""

import copy
import itertools
import json
import pickle

import numpy as np
import oracle
import pytest

import kgeval as kg
from kgeval.integrations.pykeen_evaluator import ChosenEntities
from kgeval.results.evaluation_result import header_lines

pytestmark = pytest.mark.thorough

MRR = "both.realistic.inverse_harmonic_mean_rank"
MODELS = ("TransE", "DistMult", "ComplEx", "RotatE", "TuckER", "ConvE", "SimplE", "BoxE")
TINY = {
    "dataset": "nations",
    "model": "DistMult",
    "model_kwargs": {"embedding_dim": 8},
    "training_kwargs": {"num_epochs": 4, "batch_size": 512, "use_tqdm": False},
    "evaluation_kwargs": {"use_tqdm": False},
    "device": "cpu",
}


@pytest.fixture(scope="module")
def nations(one_torch_thread):
    """PyKEEN's Nations, without and with inverse triples."""
    pytest.importorskip("pykeen", reason="needs kgeval[peers]")
    from pykeen.datasets import get_dataset

    return [get_dataset(dataset="nations", dataset_kwargs={"create_inverse_triples": flag}) for flag in (False, True)]


def made_model(name, dataset, **options):
    from pykeen.models import model_resolver

    size = {} if name == "ConvE" else {"embedding_dim": 12}
    return model_resolver.make(name, triples_factory=dataset.training, random_seed=0, **size, **options)


def known_of(dataset):
    return [dataset.training.mapped_triples, dataset.validation.mapped_triples]


def pykeens_own(model, triples, **options):
    """PyKEEN's results, and its results of the same ranks in float64: it computes them in float32."""
    from pykeen.evaluation import RankBasedEvaluator

    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    single = evaluator.evaluate(model, triples, use_tqdm=False, batch_size=64, **options)
    for key, parts in evaluator.ranks.items():
        evaluator.ranks[key] = [part.astype(np.float64) for part in parts]
    return single.to_flat_dict(), evaluator.finalize().to_flat_dict()


def check_same(results, own, tolerance=1e-9):
    """The same keys in the same order, and the same values."""
    found = results.to_flat_dict()
    assert list(found) == list(own)
    for key, value in own.items():
        assert found[key] == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), key


@pytest.mark.parametrize("name", MODELS)
def test_all_keys_are_those_of_pykeen(name, nations):
    """225 values: three sides, three rank types, all metrics; also with a second relation for each inverse."""
    for dataset in nations:
        model, triples = made_model(name, dataset), dataset.testing.mapped_triples
        single, double = pykeens_own(model, triples, additional_filter_triples=known_of(dataset))
        evaluator = kg.integrations.PyKEENEvaluator(dataset=dataset)
        results = evaluator.evaluate(model, triples, additional_filter_triples=known_of(dataset), use_tqdm=False)
        assert len(single) == 225
        check_same(results, double)
        # z-scores magnify PyKEEN's rounding of ranks and of their means to float32
        found = results.to_flat_dict()
        for key, value in single.items():
            assert found[key] == pytest.approx(value, rel=1e-6, abs=1e-4 if ".z_" in key else 1e-6), key
        result = evaluator.result
        for key, ours in (("", "mrr"), ("tail.optimistic.", "object.optimistic.mrr"), ("head.", "subject.mrr")):
            assert results.get_metric(f"{key}mrr") == pytest.approx(result[ours], rel=1e-14)
        assert results.get_metric("adjusted_mean_rank_index") == pytest.approx(result["amri"], rel=1e-12)
        assert results.get_metric("hits@5") == result["hits@5"]
        assert set(results.to_df().columns) == {"Side", "Rank_type", "Metric", "Value"}


def test_the_result_is_that_of_evaluate(nations):
    """With dataset=, the result has its labels, splits and fingerprint: it compares with others."""
    dataset = nations[1]
    model, expected = made_model("ComplEx", dataset), kg.Dataset.of(dataset)
    evaluator = kg.integrations.PyKEENEvaluator(dataset=dataset)
    evaluator.evaluate(model, dataset.testing.mapped_triples, additional_filter_triples=known_of(dataset))
    assert evaluator.result == kg.evaluate(model, expected)
    assert evaluator.result.protocol.filter == ("train", "valid", "test")
    # as an early stopper does: validation triples, filtered by train
    evaluator.evaluate(
        model, dataset.validation.mapped_triples, additional_filter_triples=dataset.training.mapped_triples
    )
    protocol = kg.Protocol(splits="valid", filter="train,valid")
    assert evaluator.result == kg.evaluate(model, expected, protocol)
    evaluator.evaluate(model, dataset.testing.mapped_triples, additional_filter_triples=dataset.training.mapped_triples)
    assert evaluator.result == kg.evaluate(model, expected, kg.Protocol(filter="train,test"))
    assert evaluator.result.ranks(labels=True)["s"].isin(expected.entities.labels).all()


def test_without_dataset_the_result_says_so(nations):
    dataset = nations[0]
    evaluator = kg.integrations.PyKEENEvaluator()
    assert evaluator.result is None
    evaluator.evaluate(
        made_model("TransE", dataset),
        dataset.testing.mapped_triples,
        additional_filter_triples=dataset.training.mapped_triples,
    )
    assert evaluator.result.entities.labels[:3] == ("0", "1", "2")
    assert any(
        "the labels are the ids of PyKEEN: the evaluator was made without dataset=. The evaluated triples are the "
        "split 'test', the other filter triples are the split 'train'" in line
        for line in header_lines(evaluator.result)
    )
    evaluator = kg.integrations.PyKEENEvaluator(dataset=dataset)
    evaluator.evaluate(made_model("TransE", dataset), dataset.testing.mapped_triples[::2])
    assert evaluator.result.ranks(labels=True)["s"].isin(dataset.entity_to_id).all()
    head = header_lines(evaluator.result)
    assert any("the triples of the evaluation are no split of the dataset=" in line for line in head)


def test_a_dataset_with_other_ids_is_refused(nations):
    """Its labels would stand beside the wrong ranks."""
    dataset = nations[0]
    labels = sorted(dataset.entity_to_id)
    turned = {label: dataset.entity_to_id[other] for label, other in zip(labels, [*labels[1:], labels[0]])}
    mapped = {
        split: [[turned[s], p, turned[o]] for s, p, o in dataset.training.label_triples(factory.mapped_triples)]
        for split, factory in (("train", dataset.training), ("test", dataset.testing))
    }
    mapped = {split: [[s, dataset.relation_to_id[p], o] for s, p, o in triples] for split, triples in mapped.items()}
    other = kg.Dataset.from_arrays(
        **mapped,
        entity_labels=sorted(turned, key=turned.get),
        relation_labels=sorted(dataset.relation_to_id, key=dataset.relation_to_id.get),
    )
    other.id_format = "pykeen"
    evaluator = kg.integrations.PyKEENEvaluator(dataset=other)
    with pytest.raises(kg.ProtocolError, match="are in no split of the dataset= of the evaluator, first the ids"):
        evaluator.evaluate(
            made_model("TransE", dataset),
            dataset.testing.mapped_triples,
            additional_filter_triples=dataset.training.mapped_triples,
        )


def test_options_that_change_numbers(nations):
    """Each is honoured as PyKEEN does: sides, repeated triples, restrictions, filter triples."""
    import torch

    dataset = nations[1]
    model, test, known = made_model("RotatE", dataset), dataset.testing.mapped_triples, known_of(dataset)
    allowed = [0, 1, 2, 4, 5, 7, 9, 11, 13]
    cases = [
        {"targets": ("tail",)},
        {"targets": ("head",)},
        {"targets": ("tail", "head")},
        {"additional_filter_triples": known[0]},
        {"additional_filter_triples": [*known, known[0], test]},
        {"additional_filter_triples": None},
        {"mapped_triples": torch.cat([test, test[:50], test[:5]])},
        {"restrict_entities_to": allowed, "pre_filtered_triples": False},
        {"restrict_entities_to": torch.tensor(allowed[::-1]), "pre_filtered_triples": False, "targets": ("head",)},
        {"restrict_relations_to": [0, 3, 17, 20, 33], "pre_filtered_triples": False},
        {"restrict_relations_to": range(55)},
        {"batch_size": 7, "slice_size": 3},
        {"device": torch.device("cpu"), "tqdm_kwargs": {"disable": True}, "do_time_consuming_checks": False},
    ]
    for case in cases:
        options = {"additional_filter_triples": known, **case}
        triples = options.pop("mapped_triples", test)
        ours = {name: options[name] for name in options if name not in ("batch_size", "slice_size")}
        ours.pop("tqdm_kwargs", None)
        own = pykeens_own(model, triples, **ours)[1]
        evaluator = kg.integrations.PyKEENEvaluator(dataset=dataset)
        check_same(evaluator.evaluate(model, triples, use_tqdm=False, **options), own)
    assert "head.realistic.count" not in pykeens_own(model, test, targets=("tail",))[1]


def test_metrics_of_the_user(nations):
    """`metrics`, `metrics_kwargs` and `add_defaults` are PyKEEN's."""
    from pykeen.evaluation import RankBasedEvaluator

    dataset = nations[0]
    model, options = made_model("TransE", dataset), {"metrics": ["hits@k", "mrr"], "metrics_kwargs": [{"k": 7}, None]}
    call = {"mapped_triples": dataset.testing.mapped_triples, "additional_filter_triples": known_of(dataset)}
    for defaults in (True, False):
        own = RankBasedEvaluator(add_defaults=defaults, **options).evaluate(model, use_tqdm=False, **call)
        ours = kg.integrations.PyKEENEvaluator(add_defaults=defaults, **options).evaluate(model, **call)
        assert ours.get_metric("hits@7") == pytest.approx(own.get_metric("hits@7"), rel=1e-14)
        assert list(ours.data) == list(own.data)


class Scores:
    """What `EvaluatorMethods.evaluate` uses of a model of PyKEEN: scores of a table, in PyKEEN's classes."""

    @staticmethod
    def made(factory, table):
        import torch
        from pykeen.models import EvaluationOnlyModel

        class TableModel(EvaluationOnlyModel):
            def score_t(self, hr_batch, **_):
                return torch.from_numpy(table[tuple(hr_batch.numpy().T)])

            def score_h(self, rt_batch, **_):
                return torch.from_numpy(table[(slice(None), *rt_batch.numpy().T)].T)

        model = TableModel(triples_factory=factory)
        model.register_buffer("of_the_device", torch.zeros(1))
        return model


def random_case(seed):
    """A factory, a table of scores with ties and infinities, evaluated triples with duplicates, and filter triples."""
    import torch
    from pykeen.triples import CoreTriplesFactory

    rng = np.random.default_rng(seed)
    n, m = 7, 2
    triples = [torch.from_numpy(rng.integers(0, [n, m, n], (size, 3))) for size in (20, 9)]
    table = rng.integers(0, 4, (n, m, n)).astype(np.float32)
    table[rng.random(table.shape) < 0.1] = -np.inf
    factory = CoreTriplesFactory(triples[0], num_entities=n, num_relations=m)
    return Scores.made(factory, table), table, triples[1], triples[0]


def counts_by_loops(table, test, known, side, setting="filtered"):
    rows = oracle.rank_counts(
        lambda s, p, o: float(table[s, p, o]), test.tolist(), {tuple(t) for t in known.tolist()}, range(7), side
    )
    return [tuple(row[f"{name}_{setting}"] for name in ("better", "tied", "rivals")) for row in rows]


def test_random_graphs_against_loops(nations):
    """Ties, duplicates and infinite scores; raw with filtered=False, which PyKEEN itself refuses."""
    import torch

    chosen = {
        "metrics": ["mean_rank", "mrr", "hits@k", "gmr", "amri"],
        "metrics_kwargs": [None, None, {"k": 3}, None, None],
    }
    for seed, filtered in itertools.product(range(40), (True, False)):
        model, table, test, filters = random_case(seed)
        evaluator = kg.integrations.PyKEENEvaluator(filtered=filtered, add_defaults=False, **chosen)
        results = evaluator.evaluate(model, test, additional_filter_triples=filters, use_tqdm=False)
        known, setting = torch.cat([filters, test]), "filtered" if filtered else "raw"
        of_side = {
            "head": counts_by_loops(table, test, known, "subject", setting),
            "tail": counts_by_loops(table, test, known, "object", setting),
        }
        of_side["both"] = of_side["head"] + of_side["tail"]
        for (side, rows), ties in itertools.product(of_side.items(), ("optimistic", "realistic", "pessimistic")):
            for theirs, ours in (("mr", "mr"), ("mrr", "mrr"), ("hits@3", "hits@3"), ("gmr", "gmr")):
                exact = float(oracle.metric(ours, rows, ties))
                assert results.get_metric(f"{side}.{ties}.{theirs}") == pytest.approx(exact, rel=1e-12)
        amri = oracle.adjusted("mr", of_side["both"], "realistic")
        if amri is not None:  # infinite scores count as candidates here
            assert results.get_metric("both.realistic.amri") == pytest.approx(float(amri), rel=1e-9, abs=1e-12)


def test_nan_is_refused(nations):
    """PyKEEN gives a NaN positive rank 0.5, and leaves a NaN rival out."""
    model, table, test, filters = random_case(0)
    table[test[0, 0], test[0, 1], test[0, 2]] = np.nan
    with pytest.raises(kg.ScoreError, match="NaN"):
        kg.integrations.PyKEENEvaluator().evaluate(model, test, additional_filter_triples=filters)


def test_what_the_guide_says_of_pykeen(nations):
    """The column "PyKEEN" of the table in the guide's page integrations."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator

    dataset = nations[0]
    model, test = made_model("TransE", dataset), dataset.testing.mapped_triples
    with pytest.raises(ValueError, match="needs the true scores"):
        RankBasedEvaluator(filtered=False).evaluate(model, test, use_tqdm=False)
    table_model, table, _, _ = random_case(1)
    table[:] = np.arange(table.size).reshape(table.shape)
    one = {"mapped_triples": torch.tensor([[0, 0, 1]]), "targets": ("tail",), "use_tqdm": False}
    table[0, 0, 5:] = -np.inf  # 7 entities, 5 candidates: the expected rank is 3 instead of 4
    own = RankBasedEvaluator().evaluate(table_model, **one)
    ours = kg.integrations.PyKEENEvaluator().evaluate(table_model, **one)
    assert own.get_metric("mr") == ours.get_metric("mr") == 4
    assert (own.get_metric("amr"), ours.get_metric("amr")) == (4 / 3, 1)
    twice = {"restrict_entities_to": [0, 1, 4, 4]}
    assert RankBasedEvaluator().evaluate(table_model, **one, **twice).get_metric("mr") == 3
    outside = {"restrict_entities_to": [0, 4], "do_time_consuming_checks": False}
    assert RankBasedEvaluator().evaluate(table_model, **one, **outside).get_metric("mr") == 1.5
    table[0, 0, 1] = np.nan
    assert RankBasedEvaluator().evaluate(table_model, **one).get_metric("mr") == 0.5


def test_refused(nations):
    import torch

    dataset = nations[0]
    made, model, test = kg.integrations.PyKEENEvaluator, made_model("TransE", dataset), dataset.testing.mapped_triples
    cases = [
        ({"targets": ("relation",)}, "targets must be 'head', 'tail' or both; got ['relation']. Relation prediction"),
        ({"targets": ("head", "head")}, "targets must be 'head', 'tail' or both; got ['head', 'head']"),
        ({"targets": ()}, "targets must be 'head', 'tail' or both; got []"),
        (
            {"restrict_entities_to": [*range(13)]},
            f"mapped_triples, row {int((test[:, [0, 2]] == 13).any(1).int().argmax())}: ",
        ),
        ({"restrict_entities_to": [*range(13)], "do_time_consuming_checks": False}, "mapped_triples, row "),
        ({"restrict_relations_to": [0, 1]}, "mapped_triples, row "),
        ({"restrict_entities_to": [*range(14), 3]}, "restrict_entities_to names 3 more than once; PyKEEN would count"),
        ({"restrict_entities_to": [0, 14]}, "restrict_entities_to: ids must be 0 .. 13; got 0 .. 14"),
        ({"restrict_entities_to": []}, "restrict_entities_to must be a collection of at least one integer; got []"),
        ({"mapped_triples": test[:, :2]}, "mapped_triples must be integers of shape (n, 3); got int64, shape (201, 2)"),
        ({"mapped_triples": test.float()}, "mapped_triples must be integers of shape (n, 3); got float32"),
        ({"additional_filter_triples": [test, test[0]]}, "additional_filter_triples[1] must be integers of shape"),
        ({"mapped_triples": test[:0]}, "split test of 'pykeen' has 0 triples; nothing to rank"),
        ({"mapped_triples": torch.tensor([[0, 0, 14]])}, "test, subjects and objects"),
    ]
    for options, message in cases:
        with pytest.raises(kg.KgevalError) as caught:
            made().evaluate(model, **{"mapped_triples": test, **options})
        assert str(caught.value).startswith(message)
    with pytest.raises(kg.ProtocolError, match=r"has no inductive evaluation: mode must be None; got 'testing'"):
        made(mode="testing")
    own_ids = kg.Dataset.from_frames(test=[("a", "r", "b")])
    with pytest.raises(kg.ProtocolError, match="must have the ids of PyKEEN, but the ids of 'dataset' are its own"):
        made(dataset=own_ids)
    from pykeen.datasets import get_dataset

    with pytest.raises(kg.ProtocolError, match=r"the model has 14 entities, but the dataset= of the evaluator has 135"):
        made(dataset=get_dataset(dataset="umls")).evaluate(model, test)


def test_pipeline_with_early_stopper(nations, tmp_path):
    """The same training as with PyKEEN's evaluator; the stopper's values are kgeval's."""
    from pykeen.pipeline import pipeline

    def run(name, **options):
        stopper = {"frequency": 1, "patience": 2, "metric": MRR, "best_model_path": tmp_path / name}
        return pipeline(**{**TINY, "random_seed": 3}, stopper="early", stopper_kwargs=stopper, **options)

    evaluator = kg.integrations.PyKEENEvaluator(dataset=nations[0])
    values = []
    take_ranks = evaluator._take_ranks
    evaluator._take_ranks = lambda result: (values.append(result["mrr"]), take_ranks(result))
    own, ours, kept = run("a"), run("b", evaluator=kg.integrations.PyKEENEvaluator), run("c", evaluator=evaluator)
    assert own.losses == ours.losses == kept.losses
    assert ours.stopper.results == kept.stopper.results == pytest.approx(values[:-1], rel=1e-14)
    assert ours.stopper.results == pytest.approx(own.stopper.results, abs=1e-6)
    assert ours.stopper.best_epoch == own.stopper.best_epoch
    assert ours.metric_results.get_metric(MRR) == pytest.approx(values[-1], rel=1e-14)
    check_same(ours.metric_results, kept.metric_results.to_flat_dict(), 0)
    assert evaluator.result == kg.evaluate(kept.model, kg.Dataset.of(nations[0]))
    ours.save_to_directory(tmp_path / "run")
    saved = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    assert saved["metrics"]["both"]["realistic"]["inverse_harmonic_mean_rank"] == ours.metric_results.get_metric(MRR)


def test_hpo(nations, tmp_path):
    """The class in hpo_pipeline; what it saves names the class, so that the best run can be repeated."""
    from pykeen.hpo import hpo_pipeline

    options = {name: value for name, value in TINY.items() if name not in ("model_kwargs",)}
    found = hpo_pipeline(
        n_trials=2,
        metric=MRR,
        direction="maximize",
        evaluator=kg.integrations.PyKEENEvaluator,
        model_kwargs_ranges={"embedding_dim": {"type": int, "low": 4, "high": 8, "q": 4}},
        save_model_directory=str(tmp_path / "models"),
        **options,
    )
    best = found.study.best_trial
    assert len(found.study.trials) == 2
    assert best.value == best.user_attrs[MRR] == max(trial.value for trial in found.study.trials)
    import torch

    model = torch.load(tmp_path / "models" / str(best.number) / "trained_model.pkl", weights_only=False)
    dataset = kg.Dataset.of(nations[0])
    result = kg.evaluate(model, dataset, kg.Protocol(splits="valid", filter="train,valid"))
    assert best.value == pytest.approx(result["mrr"], rel=1e-14)
    found.replicate_best_pipeline(directory=tmp_path / "again", replicates=1, save_replicates=False)


def test_loops_of_pykeen(nations):
    """PyKEEN's base class routes through process_scores_; an evaluation loop that hides the filter is refused."""
    from pykeen.evaluation import Evaluator, LCWAEvaluationLoop

    for seed in range(20):
        model, table, test, filters = random_case(seed)
        table[np.isinf(table)] = -1
        evaluator = kg.integrations.PyKEENEvaluator()
        expected = evaluator.evaluate(model, test, additional_filter_triples=filters).to_flat_dict()
        routed = Evaluator.evaluate(evaluator, model, test, additional_filter_triples=filters, use_tqdm=False)
        check_same(routed, expected)
        assert evaluator.result is None
    s, p, o = test[0].tolist()
    known = {tuple(triple) for triple in [*filters.tolist(), *test.tolist()]}
    rival = next(entity for entity in range(7) if (s, p, entity) not in known)
    assert rival != o
    table[s, p, rival] = np.nan  # a rival only: PyKEEN would leave it out like a known answer
    with pytest.raises(kg.ScoreError, match=r"the model's scores of \(\d, \d, \d\), (head|tail) side, contain NaN"):
        Evaluator.evaluate(evaluator, model, test, additional_filter_triples=filters, use_tqdm=False)
    dataset = nations[0]
    loop = LCWAEvaluationLoop(
        dataset.testing,
        evaluator=kg.integrations.PyKEENEvaluator,
        model=made_model("TransE", dataset),
        additional_filter_triples=known_of(dataset),
    )
    with pytest.raises(kg.ProtocolError, match="cannot rank the scores of this evaluation loop of PyKEEN"):
        loop.evaluate(use_tqdm=False, batch_size=32)


def test_model_is_left_as_it_was(nations):
    """Training mode is restored, and a second evaluation sees the new parameters."""
    import torch

    dataset = nations[0]
    model = made_model("TuckER", dataset).train()  # with dropout
    evaluator, call = kg.integrations.PyKEENEvaluator(), {"mapped_triples": dataset.testing.mapped_triples}
    first = evaluator.evaluate(model, **call).to_flat_dict()
    assert model.training
    assert evaluator.evaluate(model, **call).to_flat_dict() == first
    with torch.no_grad():
        next(model.parameters()).mul_(-1)
    assert evaluator.evaluate(model, **call).to_flat_dict() != first
    assert len(evaluator._evaluators) == 1


def test_confidence_of_pykeen(nations):
    """`clear_on_finalize=False` keeps the ranks for PyKEEN's bootstrap."""
    dataset = nations[0]
    evaluator = kg.integrations.PyKEENEvaluator(clear_on_finalize=False)
    results = evaluator.evaluate(made_model("TransE", dataset), dataset.testing.mapped_triples)
    middle, _ = evaluator.finalize_with_confidence(n_boot=3)[MRR]
    assert middle == pytest.approx(results.get_metric(MRR), abs=0.05)
    evaluator.clear()
    assert not evaluator.ranks
    assert evaluator.result is not None


def test_class_is_found_by_name_and_pickled(nations):
    from pykeen.evaluation import Evaluator, RankBasedEvaluator, evaluator_resolver

    made = kg.integrations.PyKEENEvaluator
    assert issubclass(made, RankBasedEvaluator)
    assert issubclass(made, Evaluator)
    assert pickle.loads(pickle.dumps(made)) is made
    assert evaluator_resolver.lookup(made) is made
    assert evaluator_resolver.lookup(made.get_normalized_name()) is made
    assert evaluator_resolver.lookup(None) is RankBasedEvaluator
    assert copy.copy(made(dataset=nations[0])).dataset.name == "nations"


def test_chosen_entities():
    """As a field of a protocol: equal by their ids, described by their number."""
    some = ChosenEntities(np.array([0, 2, 5]))
    assert some == ChosenEntities(np.array([0, 2, 5]))
    assert some != ChosenEntities(np.array([0, 2]))
    assert (some.describe(), ChosenEntities(np.array([1])).describe()) == ("3 chosen entities", "1 chosen entity")
    assert some.to_json() == {"kind": "entities", "digest": some.digest, "text": "3 chosen entities"}
    (pool,) = [pool.tolist() for _, pool in some.pools(None, np.arange(4))]
    assert pool == [0, 2]
