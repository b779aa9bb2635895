"""Live models of LibKGE, by stand-ins with its interface: pip cannot install LibKGE."""

import grids
import numpy as np
import pytest
from adapter_cases import check_counts, labelled_graph, random_scores

import kgeval as kg
from kgeval.adapters import from_model, libkge


class Labels:
    """A dataset of LibKGE: its labels are lists in the order of the ids."""

    def __init__(self, entities, relations):
        self.labels = entities, relations

    def entity_ids(self):
        return list(self.labels[0])

    def relation_ids(self):
        return list(self.labels[1])

    def num_entities(self):
        return len(self.labels[0])

    def num_relations(self):
        return len(self.labels[1])


def stand_in(entities, relations, objects, subjects=None, name="ComplEx"):
    """A model of LibKGE that scores with tables of its own ids; a reciprocal one has another table for subjects."""
    subjects = objects if subjects is None else subjects

    class KgeModel:
        training = True

        def __init__(self):
            self.dataset, self.calls = Labels(entities, relations), []

        def eval(self):
            self.training = False

        def named_parameters(self):
            return [("embeddings", np.zeros((3, 4)))]

        def score_sp(self, s, p, o=None):
            self.calls.append(("sp", len(s), None if o is None else len(o)))
            assert not self.training
            rows = objects[np.asarray(s), np.asarray(p)]
            return rows if o is None else rows[:, np.asarray(o)]

        def score_po(self, p, o, s=None):
            self.calls.append(("po", len(o), None if s is None else len(s)))
            assert not self.training
            rows = subjects[:, np.asarray(p), np.asarray(o)].T
            return rows if s is None else rows[:, np.asarray(s)]

        def score_spo(self, s, p, o, direction=None):
            raise Exception("The reciprocal relations model cannot compute undirected spo scores.")

    KgeModel.__module__ = "kge.model.kge_model"
    members = {"__module__": f"kge.model.{name.lower()}"}
    return type(name, (KgeModel,), members)()


@pytest.fixture(autouse=True)
def _numel(monkeypatch):
    """The stand-ins have arrays for parameters, which have no `numel`."""
    monkeypatch.setattr(libkge, "row_size", lambda model: 4)


@pytest.mark.parametrize("seed", range(grids.size(4, 60)))
@pytest.mark.light(2)
def test_counts_are_those_of_a_loop_over_labels(seed):
    """The model's own labels, train-only vocabularies, an entity that the dataset lacks, reciprocal relations."""
    dataset, entities, relations = labelled_graph(seed)
    tables = [random_scores(seed + i, entities, relations) for i in (0, 1000)]
    plain = stand_in(entities, relations, tables[0])
    check_counts(plain, dataset, entities, relations, lambda s, p, o, side: tables[0][s, p, o])
    reciprocal = stand_in(entities, relations, *tables, name="ReciprocalRelationsModel")
    check_counts(reciprocal, dataset, entities, relations, lambda s, p, o, side: tables[side == "subject"][s, p, o])
    assert reciprocal.training


def towns():
    return kg.Dataset.from_frames(train=[("a", "r", "b"), ("b", "r", "c")], test=[("a", "r", "c")], name="towns")


def test_the_labels_are_those_of_the_models_dataset():
    """Another order than that of the dataset; ids= replaces them, and damaged ones are refused with a way out."""
    model = stand_in(["c", "a", "b"], ["r"], np.arange(9.0).reshape(3, 1, 3))
    result = kg.evaluate(model, towns(), kg.Protocol(sides="object"))
    assert result["raw.mr"] == 3.0  # c has the id 0, whose score is the lowest
    assert "the labels in the model name its ids" in result.notes
    assert "scored by LibKGE's score_sp and score_po; scores tie only if they are equal" in result.notes
    said = kg.evaluate(from_model(model, ids=(["a", "b", "c"], ["r"])), towns(), kg.Protocol(sides="object"))
    assert said["raw.mr"] == 1.0
    model.dataset.entity_ids = lambda: open("no such file")  # noqa: SIM115
    with pytest.raises(kg.ScoreError, match=r"reading them failed: .*no such file.*ids=\('entity_ids.del', 'rel"):
        kg.evaluate(model, towns())
    model.dataset.entity_ids = None
    with pytest.raises(kg.ScoreError, match=r"its dataset \(Labels\) has no entity_ids\(\) and relation_ids"):
        kg.evaluate(model, towns())
    assert kg.evaluate(from_model(model, ids="dataset"), towns(), kg.Protocol(sides="object"))["raw.mr"] == 1.0


def test_all_candidates_take_no_list_of_entities():
    """LibKGE embeds all entities at once without a subset; fewer candidates are asked for by their ids."""
    model = stand_in(["c", "a", "b"], ["r"], np.arange(9.0).reshape(3, 1, 3))
    scorer = from_model(model).for_dataset(towns())
    ids = np.array([0, 1]), np.array([0, 0])
    every = scorer.score_objects(*ids)
    assert np.array_equal(every, scorer.score_objects(*ids, candidates=np.arange(3)))
    assert np.array_equal(every[:, [2]], scorer.score_objects(*ids, candidates=np.array([2])))
    assert [call[2] for call in model.calls] == [3, 3, 1]
    same = from_model(stand_in(["a", "b", "c"], ["r"], np.arange(9.0).reshape(3, 1, 3)))
    same.for_dataset(towns()).score_objects(*ids)
    assert same.model.calls == [("sp", 2, None)]


def test_large_batches_are_scored_in_parts(monkeypatch):
    """The number of vectors at a time is limited; the scores are the same."""
    rng = np.random.default_rng(0)
    model = stand_in(["a", "b", "c"], ["r"], rng.normal(size=(3, 1, 3)))
    scorer = from_model(model).for_dataset(towns())
    ids = rng.integers(0, 3, 10), np.zeros(10, dtype=np.int64)
    whole = scorer.score_subjects(ids[1], ids[0])
    monkeypatch.setattr(libkge, "MAX_NUMBERS", 4 * 3 * 4)  # 4 queries with 3 candidates of 4 numbers
    model.calls.clear()
    assert np.array_equal(scorer.score_subjects(ids[1], ids[0]), whole)
    assert [call[1] for call in model.calls] == [4, 4, 2]


def test_tensors_of_a_module(monkeypatch):
    """A module of torch gets tensors, without gradients, and tensors come back."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    monkeypatch.undo()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dataset = Labels(["c", "a", "b"], ["r"])
            self.table = torch.nn.Embedding(3, 2)

        def score_sp(self, s, p, o=None):
            assert (s.dtype, torch.is_grad_enabled(), self.training) == (torch.int64, False, False)
            return self.table(s) @ (self.table.weight if o is None else self.table(o)).T

        def score_po(self, p, o, s=None):
            return self.score_sp(o, p, s)

    Model.__module__ = "kge.model.kge_model"
    model = Model()
    result = kg.evaluate(model, towns())
    weight = model.table.weight.detach().double().numpy()
    scores = weight @ weight.T
    assert result["raw.object.mr"] == 1 + (scores[1] > scores[1, 0]).sum()
    assert model.training


def test_parts_of_a_model_are_refused():
    """An embedder of LibKGE is a module too, but it scores nothing."""
    base = type("KgeEmbedder", (), {"__module__": "kge.model.kge_model"})
    embedder = type("LookupEmbedder", (base,), {"__module__": "kge.model.embedder.lookup_embedder"})()
    with pytest.raises(kg.ScoreError, match="expected a KgeModel of LibKGE, with score_sp and score_po; got LookupEmb"):
        from_model(embedder)
