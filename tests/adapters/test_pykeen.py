"""Live models of PyKEEN: its own numbers, whatever the order of ids, the inverse relations and the mode of the model.

The light tests use a class that has the methods of a model of PyKEEN and no torch. The thorough ones train models for
seconds and compare with PyKEEN's own evaluator: every single rank, and its metrics.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.adapters import pykeen as adapter
from kgeval.formats.checkpoints.pykeen_tensors import PYKEEN_MODELS

ENTITIES, RELATIONS = ("Oslo", "Rome", "Bonn", "Fiji", "Lima"), ("near", "in", "of")


class Model:
    """As much of a model of PyKEEN as the adapter needs; its `score_*` take the internal ids of relations."""

    __module__ = "pykeen.models.unimodal.trans_e"

    def __init__(self, inverse=False, seed=0, sigmoid=False, entities=ENTITIES):
        rng = np.random.default_rng(seed)
        self.use_inverse_triples, self.predict_with_sigmoid, self.training = inverse, sigmoid, True
        self.num_entities, self.num_real_relations = len(entities), len(RELATIONS)
        self.num_relations = self.num_real_relations * (1 + inverse)
        self.table = rng.integers(0, 9, (len(entities), self.num_relations, len(entities))).astype(np.float32)
        self.calls = []

    def eval(self):
        self.training = False

    def score_t(self, hr_batch, *, slice_size=None, mode=None, tails=None):
        return self._scores(self.table[hr_batch[:, 0], hr_batch[:, 1]], tails, slice_size)

    def score_h(self, rt_batch, *, slice_size=None, mode=None, heads=None):
        return self._scores(self.table[:, rt_batch[:, 0], rt_batch[:, 1]].T, heads, slice_size)

    def predict_t(self, hr_batch, **options):
        self.eval()
        return self.score_t(hr_batch * [1, 1 + self.use_inverse_triples], **options)

    def predict_h(self, rt_batch, heads=None, **options):
        self.eval()
        if not self.use_inverse_triples:
            return self.score_h(rt_batch, heads=heads, **options)
        return self.score_t((rt_batch * [2, 1] + [1, 0])[:, ::-1], tails=heads, **options)

    def _scores(self, scores, picked, slice_size):
        scores = scores if picked is None else scores[:, picked]
        self.calls.append((len(scores), scores.shape[1], slice_size))
        return scores


def labels():
    return dict(zip(ENTITIES, range(5))), dict(zip(RELATIONS, range(3)))


def factory():
    return SimpleNamespace(entity_to_id=labels()[0], relation_to_id=labels()[1])


def towns(test=()):
    """A dataset whose ids are in another order than PyKEEN's."""
    train = [("Rome", "in", "Bonn"), ("Oslo", "near", "Rome"), ("Lima", "of", "Fiji"), ("Bonn", "of", "Oslo")]
    test = [("Rome", "near", "Oslo"), ("Fiji", "of", "Rome"), ("Bonn", "in", "Lima"), *test]
    return kg.Dataset.from_frames(train=train, test=test, name="towns")


def assert_ranks_of(model, result, dataset):
    """Each score and rank is that of a loop over the model's table, by label."""
    e, r = labels()
    e_labels, r_labels = dataset.entities.labels, dataset.relations.labels
    seen = [label for label in e_labels if label in e]
    assert len(result.table)
    for side, s, p, o, score, better in result.table[["side", "s", "p", "o", "score", "better_raw"]].itertuples(
        index=False
    ):
        s, p, o = e[e_labels[s]], r[r_labels[p]], e[e_labels[o]]
        step = 1 + model.use_inverse_triples
        if side == "object":
            row, answer = model.table[s, step * p], o
        elif model.use_inverse_triples:
            row, answer = model.table[o, 2 * p + 1], s
        else:
            row, answer = model.table[:, p, o], s
        assert score == row[answer]
        assert better == sum(row[e[label]] > row[answer] for label in seen)


@pytest.mark.parametrize("inverse", [False, True])
def test_ids_relations_and_sides(inverse):
    """By label, with the rows of inverse relations on the subject side, and the mode put back."""
    for seed in range(size(1, 8)):
        model, data = Model(inverse, seed), towns()
        for ids in (factory(), labels(), (ENTITIES, RELATIONS)):
            result = kg.evaluate(kg.adapters.from_model(model, ids), data)
            assert_ranks_of(model, result, data)
            assert model.training
        assert result.facts["scorer"] == "Model"
        assert "scored by PyKEEN's predict_t and predict_h" in result.notes
        pipeline = type("PipelineResult", (), {"__module__": "pykeen.pipeline.api"})()
        pipeline.model, pipeline.training = model, factory()
        result = kg.evaluate(pipeline, data)
        assert_ranks_of(model, result, data)
        assert "the labels in the model name its ids" in result.notes
    model.predict_t, rank = model.score_t, result["mrr"]  # the rows of other relations: the trap
    assert (kg.evaluate(pipeline, data)["mrr"] != rank) == inverse


def test_nothing_says_the_ids():
    with pytest.raises(kg.ScoreError, match="^nothing says to which entities and relations the ids of PyKEEN's Model"):
        kg.evaluate(Model(), towns())
    with pytest.raises(kg.ScoreError, match="^PyKEEN's Model has 5 entities, but there are 4 labels of entities"):
        kg.evaluate(kg.adapters.from_model(Model(), (ENTITIES[:4], RELATIONS)), towns())
    both = [f"{relation}{end}" for relation in RELATIONS for end in ("", "_inverse")]
    with pytest.raises(kg.ScoreError, match="has 3 relations, but there are 6 labels of relations"):
        kg.evaluate(kg.adapters.from_model(Model(inverse=True), (ENTITIES, both)), towns())


def test_entities_that_training_lacks():
    """A train-only vocabulary: the test triple with an unknown entity is not ranked, and counted."""
    model, data = Model(), towns(test=[("Rome", "in", "Nuuk")])
    result = kg.evaluate(kg.adapters.from_model(model, factory()), data)
    assert result.dropped["an entity or relation that train lacks (unseen='drop')"] == 2
    assert len(result.table) == 6
    assert_ranks_of(model, result, data)
    data = kg.Dataset.from_frames(train=[("Rome", "in", "Nuuk")], test=[("Nuuk", "in", "Rome")])
    with pytest.raises(kg.ScoreError, match=r"has no vector for 1 entity that it should know \(such as 'Nuuk'\)"):
        kg.evaluate(kg.adapters.from_model(model, factory()), data)


def test_labels_that_the_dataset_lacks_are_counted():
    model = Model(entities=(*ENTITIES, "Kyiv"))
    result = kg.evaluate(kg.adapters.from_model(model, ((*ENTITIES, "Kyiv"), RELATIONS)), towns())
    assert "the dataset lacks 1 entity that the model knows (such as 'Kyiv'); it is no candidate" in result.notes
    assert result.table["rivals_raw"].tolist() == [4] * 6
    assert_ranks_of(model, result, towns())


def test_batches_have_limited_memory(monkeypatch):
    """As many queries at a time as fit, else slices of the candidates; the scores are the same."""
    model, data = Model(), towns()
    model.entity_representations = [SimpleNamespace(shape=(4, 2))]
    scorer = kg.adapters.from_model(model, factory()).for_dataset(data)
    s, p, o = data["train"].array[:3].T
    objects, subjects = scorer.score_objects(s, p), scorer.score_subjects(p, o)
    for n_vectors, calls in (
        (15, [(3, 5, None)]),
        (10, [(2, 5, None), (1, 5, None)]),
        (3, [(1, 5, 3)] * 3),
        (0, [(1, 5, 1)] * 3),
    ):
        monkeypatch.setattr(adapter, "BATCH_BYTES", n_vectors * 4 * 8)  # a vector has 8 numbers of 4 bytes
        for score, given, expected in (
            (scorer.score_objects, (s, p), objects),
            (scorer.score_subjects, (p, o), subjects),
        ):
            model.calls.clear()
            assert np.array_equal(score(*given), expected)
            assert model.calls == calls


def test_parts_of_the_candidates():
    """`tails` and `heads` are ids of PyKEEN; a model whose methods lack them scores all entities."""
    data = towns()
    for inverse, seed in itertools.product((False, True), range(5)):
        model = Model(inverse, seed)
        plain = Model(inverse, seed)
        plain.score_t = lambda hr_batch, model=plain, **options: Model.score_t(model, hr_batch)
        plain.score_h = lambda rt_batch, model=plain, **options: Model.score_h(model, rt_batch)
        scorers = [kg.adapters.from_model(each, factory()).for_dataset(data) for each in (model, plain)]
        some = np.array([4, 0, 2])
        for scorer in scorers:
            full = scorer.score_objects(np.array([1, 3]), np.array([0, 2]))
            assert np.array_equal(
                scorer.score_objects(np.array([1, 3]), np.array([0, 2]), candidates=some), full[:, some]
            )
            full = scorer.score_subjects(np.array([1, 0]), np.array([4, 2]))
            assert np.array_equal(scorer.score_subjects(np.array([1, 0]), np.array([4, 2]), some), full[:, some])
        assert {width for _, width, _ in model.calls} == {3, 5}
        assert {width for _, width, _ in plain.calls} == {5}


def test_a_sigmoid_is_noted():
    result = kg.evaluate(kg.adapters.from_model(Model(sigmoid=True), factory()), towns())
    assert any(note.startswith("predict_with_sigmoid is on: the scores are sigmoids") for note in result.notes)


def test_the_mode_of_an_inductive_model_is_asked_for():
    model, seen = Model(), []
    model._mode_to_representations = {}
    model._get_entity_len = lambda mode: seen.append(mode) or 5
    with pytest.raises(kg.ScoreError, match=r"is inductive: .*from_model\(model, ids=inference_factory, mode='testing"):
        kg.evaluate(kg.adapters.from_model(model, factory()), towns())
    with pytest.raises(kg.ScoreError, match=r"mode must be one of 'training', 'validation', 'testing'; got 'test'"):
        kg.evaluate(kg.adapters.from_model(model, factory(), mode="test"), towns())
    result = kg.evaluate(kg.adapters.from_model(model, factory(), mode="testing"), towns())
    assert set(seen) == {"testing"}
    assert "the entities are those of PyKEEN's mode 'testing'" in result.notes
    assert_ranks_of(model, result, towns())
    with pytest.raises(kg.ScoreError, match="PyKEEN's Model is not inductive, so it has no mode; got mode='testing'"):
        kg.evaluate(kg.adapters.from_model(Model(), factory(), mode="testing"), towns())


# From here on with PyKEEN.

TIES = ("optimistic", "realistic", "pessimistic")
METRICS = {
    "inverse_harmonic_mean_rank": "mrr",
    "arithmetic_mean_rank": "mr",
    "hits_at_1": "hits@1",
    "hits_at_3": "hits@3",
    "hits_at_10": "hits@10",
}
SMALL = {"embedding_dim": 8}
CONVE = {**SMALL, "output_channels": 4, "embedding_height": 2, "embedding_width": 4, "kernel_height": 1}
EXACT = [  # geometric models: the exact kernels rank them
    ("TransE", {**SMALL, "scoring_fct_norm": 1}),
    ("TransE", {**SMALL, "scoring_fct_norm": 2}),
    *[(name, SMALL) for name in ("DistMult", "ComplEx", "RotatE", "RESCAL", "HolE", "SimplE", "QuatE", "TuckER", "CP")],
]
OTHER = [  # (model, its options, with inverse triples or without)
    ("ConvE", CONVE, (False, True)),
    ("TransH", SMALL, (False, True)),
    ("TransD", SMALL, (False, True)),
    ("ERMLP", SMALL, (False, True)),
    ("BoxE", SMALL, (True,)),
    ("CrossE", SMALL, (True,)),
    ("RGCN", SMALL, (False,)),
    ("CompGCN", SMALL, (True,)),
    ("NodePiece", {**SMALL, "num_tokens": 2}, (True,)),
]


@pytest.fixture(scope="module")
def torch(one_torch_thread):
    pytest.importorskip("pykeen", reason="needs kgeval[peers]")
    return pytest.importorskip("torch", reason="needs kgeval[peers]")


def nations(inverse=False):
    from pykeen.datasets import Nations

    return Nations(create_inverse_triples=inverse)


def trained(name, options, dataset, epochs=1):
    """A model that has seen each triple of train, left in training mode."""
    from pykeen.models import model_resolver
    from pykeen.training import SLCWATrainingLoop

    model = model_resolver.make(name, triples_factory=dataset.training, random_seed=1, **options)
    loop = SLCWATrainingLoop(model=model, triples_factory=dataset.training, optimizer="adam")
    loop.train(triples_factory=dataset.training, num_epochs=epochs, batch_size=512, use_tqdm=False)
    return model.train()


def own_evaluation(model, dataset, **options):
    """The ranks and metrics of PyKEEN's evaluator: a dict of arrays by side and kind of rank, and its results."""
    from pykeen.evaluation import RankBasedEvaluator

    evaluator = RankBasedEvaluator(clear_on_finalize=False, **options)
    known = [dataset.training.mapped_triples, dataset.validation.mapped_triples]
    results = evaluator.evaluate(
        model, dataset.testing.mapped_triples, batch_size=64, additional_filter_triples=known, use_tqdm=False
    )
    return {key: np.concatenate(parts) for key, parts in evaluator.ranks.items()}, results


def both_orders(dataset):
    """The same triples with PyKEEN's own ids, and by label with ids of kgeval; what says the model's ids in each."""
    parts = {"train": dataset.training, "valid": dataset.validation, "test": dataset.testing}
    frames = {name: part.label_triples(part.mapped_triples) for name, part in parts.items()}
    frames["train"] = frames["train"][::-1]  # another order of rows
    by_label = kg.Dataset.from_frames(**frames)
    return (kg.Dataset.of(dataset), None), (by_label, dataset.training)


def assert_same_numbers(result, ranks, theirs):
    """Every rank equals PyKEEN's; so do the metrics, to 1e-6 of their size.

    PyKEEN keeps ranks in single precision and adds them up so: its MR is right to about seven digits.
    """
    for (side, kind), their_ranks in ranks.items():
        part = result.table[result.table["side"] == {"head": "subject", "tail": "object"}[side]]
        better, tied = part["better_filtered"].to_numpy(), part["tied_filtered"].to_numpy()
        ours = better + 1 + {"optimistic": 0, "realistic": tied / 2, "pessimistic": tied}[kind]
        different = np.flatnonzero(ours != their_ranks)
        assert len(different) == 0, (side, kind, ours[different], their_ranks[different])
    for (side, prefix), tie, (name, metric) in itertools.product(
        (("both", ""), ("head", "subject."), ("tail", "object.")), TIES, METRICS.items()
    ):
        expected = theirs.get_metric(f"{side}.{tie}.{name}")
        assert result[f"{prefix}{tie}.{metric}"] == pytest.approx(expected, rel=1e-6, abs=1e-6), (side, tie, metric)


@pytest.mark.thorough
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(("name", "options"), EXACT, ids=lambda value: value if isinstance(value, str) else "")
def test_geometric_models_live_and_saved(torch, name, options, inverse, tmp_path):
    """PyKEEN's numbers from the live model and from the folder that its pipeline writes, in both orders of ids."""
    from pykeen.pipeline import pipeline

    dataset = nations(inverse)
    done = pipeline(
        dataset=dataset,
        model=name,
        model_kwargs=options,
        training_kwargs={"num_epochs": 1, "use_tqdm": False, "batch_size": 512},
        evaluation_kwargs={"use_tqdm": False},
        random_seed=1,
        device="cpu",
    )
    done.save_to_directory(tmp_path, save_metadata=False)
    ranks, theirs = own_evaluation(done.model, dataset)
    before = [tensor.clone() for tensor in done.model.state_dict().values()]
    modes = [part.train(i % 2 == 0).training for i, part in enumerate(done.model.modules())]
    modes = [part.training for part in done.model.modules()]
    scorers = done if inverse else done.model, kg.adapters.from_model(done.model, dataset.training)
    for scorer, (data, _) in zip(scorers, both_orders(dataset)):
        result = kg.evaluate(scorer, data, progress=False)
        assert_same_numbers(result, ranks, theirs)
        assert any(note.startswith("ranked by kgeval's exact kernels") for note in result.notes)
        saved = kg.evaluate(kg.load_model(tmp_path, data), data, progress=False)
        assert saved.table.equals(result.table)
    assert [part.training for part in done.model.modules()] == modes
    assert all(torch.equal(a, b) for a, b in zip(before, done.model.state_dict().values(), strict=True))
    assert all(parameter.grad_fn is None and parameter.requires_grad for parameter in done.model.parameters())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "options", "inverse"),
    [(name, options, inverse) for name, options, kinds in OTHER for inverse in kinds],
    ids=lambda value: str(value) if isinstance(value, (str, bool)) else "",
)
def test_other_models_live(torch, name, options, inverse):
    """PyKEEN's numbers through `predict_t` and `predict_h`, also from a model that is left in training mode."""
    dataset = nations(inverse)
    model = trained(name, options, dataset)
    ranks, theirs = own_evaluation(model, dataset)
    model.train()
    for data, ids in both_orders(dataset):
        result = kg.evaluate(kg.adapters.from_model(model, ids), data, progress=False)
        assert_same_numbers(result, ranks, theirs)
        assert "scored by PyKEEN's predict_t and predict_h" in result.notes
        assert not any("exact kernels" in note for note in result.notes)
    assert all(part.training for part in model.modules())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["TransE", "ComplEx", "RotatE", "TuckER", "TransH", "ERMLP"])
def test_more_entities(torch, name):
    """UMLS: 135 entities, many more ties and known answers."""
    from pykeen.datasets import UMLS

    dataset = UMLS(create_inverse_triples=name in ("ComplEx", "TransH"))
    model = trained(name, SMALL, dataset, epochs=3)
    ranks, theirs = own_evaluation(model, dataset)
    for data, ids in both_orders(dataset):
        assert_same_numbers(kg.evaluate(kg.adapters.from_model(model, ids), data, progress=False), ranks, theirs)


@pytest.mark.thorough
def test_baselines_without_parameters(torch):
    from pykeen.models import MarginalDistributionBaseline, SoftInverseTripleBaseline

    dataset = nations()
    for kind in (MarginalDistributionBaseline, SoftInverseTripleBaseline):
        model = kind(triples_factory=dataset.training)
        if not [*model.parameters(), *model.buffers()]:  # PyKEEN itself cannot evaluate such a model
            with pytest.raises(
                kg.ScoreError, match=r"does not know its device .*register_buffer\('place', torch.zeros"
            ):
                kg.evaluate(model, kg.Dataset.of(dataset))
            model.register_buffer("place", torch.zeros(1))
        ranks, theirs = own_evaluation(model, dataset)
        for data, ids in both_orders(dataset):
            assert_same_numbers(kg.evaluate(kg.adapters.from_model(model, ids), data, progress=False), ranks, theirs)


@pytest.mark.thorough
def test_score_methods_would_give_another_number(torch):
    """With inverse triples, `score_t` with the ids of the factory looks up other relations without an error."""
    dataset = nations(inverse=True)
    model, data = trained("DistMult", SMALL, dataset), kg.Dataset.of(dataset)
    right = kg.evaluate(model, data, progress=False)

    class Wrong:
        def score_objects(self, s, p):
            return model.score_t(torch.from_numpy(np.stack([s, p], 1))).detach()

        def score_subjects(self, p, o):
            return model.score_h(torch.from_numpy(np.stack([p, o], 1))).detach()

    wrong = kg.evaluate(Wrong(), data, progress=False)
    assert (wrong.table["better_raw"] != right.table["better_raw"]).mean() > 0.5


@pytest.mark.thorough
def test_each_evaluation_uses_the_parameters_of_its_time(torch):
    """In a training loop: the same adapter and the same evaluator give what a new model gives, epoch after epoch."""
    from pykeen.training import SLCWATrainingLoop

    for name in ("ComplEx", "RGCN"):
        dataset = nations()
        model = trained(name, SMALL, dataset, epochs=1)
        scorer, evaluator = kg.adapters.from_model(model), kg.Evaluator(kg.Dataset.of(dataset))
        loop = SLCWATrainingLoop(model=model, triples_factory=dataset.training, optimizer="adam")
        numbers = set()
        for _ in range(2):
            loop.train(triples_factory=dataset.training, num_epochs=1, batch_size=256, use_tqdm=False)
            ranks, theirs = own_evaluation(model, dataset)
            model.train()
            result = evaluator.evaluate(scorer, progress=False)
            assert_same_numbers(result, ranks, theirs)
            numbers.add(result["mrr"])
        assert len(numbers) == 2


@pytest.mark.thorough
def test_a_result_explains_what_was_evaluated(torch):
    """A training step after the evaluation changes neither the result nor its explanations."""
    model, data = trained("DistMult", SMALL, nations()), kg.Dataset.of(nations())
    result = kg.evaluate(model, data, progress=False)
    triple = data["test"].array[0].tolist()
    expected = result.explain(*triple)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(torch.linspace(-1, 1, len(parameter))[:, None])
    assert result.explain(*triple).equals(expected)
    assert not kg.evaluate(model, data, progress=False).table.equals(result.table)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "inverse"), [("RGCN", False), ("CompGCN", True)])
def test_kept_message_passing_is_neither_used_nor_left_behind(torch, name, inverse):
    """What a graph network kept in training has dropout; what an evaluation keeps has no gradients."""
    dataset = nations(inverse)
    model, data = trained(name, SMALL, dataset), kg.Dataset.of(dataset)
    places = [(part, key) for part in model.modules() for key in adapter.MESSAGES if key in vars(part)]
    assert places
    batch = dataset.training.mapped_triples[:8]
    model.score_hrt(batch)  # in training mode: dropout, with gradients
    kept = [getattr(part, key) for part, key in places]
    assert any(value is not None for value in kept)
    result = kg.evaluate(model, data, progress=False)
    assert all(getattr(part, key) is value for (part, key), value in zip(places, kept, strict=True))
    for part, key in places:
        setattr(part, key, None)
    expected = kg.evaluate(model, data, progress=False)
    assert result.table.equals(expected.table)
    model.score_hrt(batch).sum().backward()
    table = next(parameter for parameter in model.entity_representations.parameters() if parameter.requires_grad)
    assert table.grad is not None


@pytest.mark.thorough
def test_a_training_factory_that_lacks_entities_of_test(torch):
    """PyKEEN numbers what train has; triples with other entities are dropped, and the rest ranks as PyKEEN ranks it."""
    from pykeen.triples import TriplesFactory

    all_triples = nations().training
    triples = all_triples.label_triples(all_triples.mapped_triples)
    has = (triples[:, [0, 2]] == "uk").any(axis=1)
    training = TriplesFactory.from_labeled_triples(triples[~has][100:])
    known = TriplesFactory.from_labeled_triples(
        triples[~has][:100], entity_to_id=training.entity_to_id, relation_to_id=training.relation_to_id
    )
    model = trained("TransE", SMALL, SimpleNamespace(training=training))
    dataset = SimpleNamespace(training=training, validation=training, testing=known)
    ranks, theirs = own_evaluation(model, dataset)
    test = np.concatenate([known.label_triples(known.mapped_triples), triples[has][:20]])
    data = kg.Dataset.from_frames(train=training.label_triples(training.mapped_triples), test=test)
    made = kg.Dataset.of({"train": training, "test": test})
    for each, ids in ((data, training), (made, None)):
        result = kg.evaluate(kg.adapters.from_model(model, ids), each, progress=False)
        assert result.dropped["an entity or relation that train lacks (unseen='drop')"] == 40
        assert_same_numbers(result, ranks, theirs)


@pytest.mark.thorough
def test_a_factory_of_another_graph_is_refused(torch):
    from pykeen.datasets import UMLS

    model, data = trained("TransE", SMALL, nations()), kg.Dataset.of(nations())
    with pytest.raises(kg.ScoreError, match="PyKEEN's TransE has 14 entities, but there are 135 labels of entities"):
        kg.evaluate(kg.adapters.from_model(model, UMLS().training), data)
    with pytest.raises(kg.ScoreError, match="PyKEEN's TransE has 14 entities, but there are 135 labels of entities"):
        kg.evaluate(model, kg.Dataset.of(UMLS()))


@pytest.mark.thorough
def test_models_that_are_not_what_they_seem(torch):
    """A sigmoid, a changed method, a subclass with scores of its own: PyKEEN's scores, and not the exact kernels."""
    from pykeen.models import TransE

    class Mine(TransE):
        def score_t(self, hr_batch, **options):
            return -super().score_t(hr_batch, **options)

    dataset = nations()
    data = kg.Dataset.of(dataset)
    sigmoid, changed = trained("DistMult", SMALL, dataset), trained("TransE", SMALL, dataset)
    sigmoid.predict_with_sigmoid = True
    changed.predict_h = lambda rt_batch, **options: type(changed).predict_h(changed, rt_batch, **options) ** 3
    for model in (sigmoid, changed, Mine(triples_factory=dataset.training, random_seed=0, **SMALL)):
        ranks, theirs = own_evaluation(model, dataset)
        result = kg.evaluate(model, data, progress=False)
        assert_same_numbers(result, ranks, theirs)
        assert not any(note.startswith("ranked by kgeval's exact kernels") for note in result.notes)
        if model is not sigmoid:
            name = "predict_h" if model is changed else "score_t"
            assert (
                f"not ranked by kgeval's exact kernels: the class of the model defines its own {name}" in result.notes
            )


@pytest.mark.thorough
def test_inductive_models(torch):
    """Entities of another graph, with the relations of training."""
    from pykeen.models import InductiveNodePiece
    from pykeen.triples import TriplesFactory

    source = nations().training
    triples = source.label_triples(source.mapped_triples)
    is_inner = np.isin(triples[:, [0, 2]], sorted(source.entity_to_id)[:8]).all(axis=1)
    relations = source.relation_to_id
    training, inference = (
        TriplesFactory.from_labeled_triples(part, relation_to_id=relations, create_inverse_triples=True)
        for part in (triples[is_inner], triples[~is_inner][50:])
    )
    testing = TriplesFactory.from_labeled_triples(
        triples[~is_inner][:50], entity_to_id=inference.entity_to_id, relation_to_id=relations
    )
    model = InductiveNodePiece(
        triples_factory=training, inference_factory=inference, num_tokens=2, random_seed=0, embedding_dim=8
    )
    dataset = SimpleNamespace(training=inference, validation=inference, testing=testing)
    ranks, theirs = own_evaluation(model, dataset, mode="testing")
    for data in (kg.Dataset.of({"train": inference, "test": testing}), both_orders(dataset)[1][0]):
        scorer = kg.adapters.from_model(model, inference, mode="testing")
        assert_same_numbers(kg.evaluate(scorer, data, progress=False), ranks, theirs)


@pytest.mark.thorough
def test_every_geometric_model_is_among_the_cases():
    assert {name.lower() for name, _ in EXACT} == set(PYKEEN_MODELS)
