"""Fitted models of AmpliGraph, by stand-ins with its interface: it needs a TensorFlow that newer Pythons lack."""

import grids
import numpy as np
import pytest
from adapter_cases import check_counts, labelled_graph, random_scores

import kgeval as kg
from kgeval.adapters import from_model


def stand_in(entities, relations, table):
    """A model of AmpliGraph: labels in, scores out; triples with unknown labels are left out with a printed line."""
    keys = {"e": list(entities), "r": list(relations)}
    id_of = {kind: {label: i for i, label in enumerate(labels)} for kind, labels in keys.items()}

    class ScoringBasedEmbeddingModel:
        is_fitted = True

        def get_count(self, concept_type="e"):
            return len(keys[concept_type])

        def get_indexes(self, x, type_of="t", order="raw2ind"):
            if order == "ind2raw":
                return np.array([keys[type_of][i] for i in x], dtype=str)
            found = np.array([id_of[type_of][label] for label in x if label in id_of[type_of]], dtype=np.int32)
            if len(found) < len(x):
                print(f"{len(x) - len(found)} triples containing invalid keys skipped!")
            return found

        def predict(self, x, batch_size=32, verbose=0, callbacks=None):
            rows = [
                (id_of["e"][s], id_of["r"][p], id_of["e"][o])
                for s, p, o in x.tolist()
                if s in id_of["e"] and p in id_of["r"] and o in id_of["e"]
            ]
            return np.array([table[row] for row in rows], dtype=np.float32)

    ScoringBasedEmbeddingModel.__module__ = "ampligraph.latent_features.models.ScoringBasedEmbeddingModel"
    return ScoringBasedEmbeddingModel()


@pytest.mark.parametrize("seed", range(grids.size(4, 60)))
@pytest.mark.light(2)
def test_counts_are_those_of_a_loop_over_labels(seed):
    """The model's own labels, train-only vocabularies, an entity that the dataset lacks."""
    dataset, entities, relations = labelled_graph(seed)
    table = random_scores(seed, entities, relations)
    model = stand_in(entities, relations, table)
    check_counts(model, dataset, entities, relations, lambda s, p, o, side: table[s, p, o])


def towns():
    return kg.Dataset.from_frames(train=[("a", "r", "b"), ("b", "r", "c")], test=[("a", "r", "c")], name="towns")


def test_labels_that_the_model_does_not_know_are_missing():
    """AmpliGraph returns fewer scores for them; a model that lacks an entity of train is another dataset's."""
    model = stand_in(["b", "a"], ["r"], np.ones((2, 1, 2)))
    scorer = from_model(model).for_dataset(towns())
    assert scorer.missing_entities.tolist() == [2]
    assert np.isnan(scorer.score_objects(np.array([0]), np.array([0]))).tolist() == [[False, False, True]]
    with pytest.raises(kg.ScoreError, match="no vector for 1 entity that it should know .such as 'c'"):
        kg.evaluate(model, towns())
    unseen = kg.Dataset.from_frames(train=[("a", "r", "b")], test=[("b", "r", "a"), ("a", "r", "c")], name="more")
    result = kg.evaluate(model, unseen)
    assert result.protocol.unseen == "drop"
    assert len(result.table) == 2  # one triple, two sides


@pytest.mark.parametrize("ids", [None, (["a", "b", "c"], ["r"])])
def test_models_fitted_to_integers(ids):
    """Integers are the ids of a dataset without labels; else ids= says their labels. AmpliGraph's order is another."""
    table = np.arange(9.0).reshape(3, 1, 3)  # AmpliGraph's own id of the integer 2 is 0: the lowest score
    model = stand_in([2, 0, 1], [0], table)
    bare = kg.Dataset.from_arrays(train=[[0, 0, 1], [1, 0, 2]], test=[[0, 0, 2]], n_entities=3, n_relations=1)
    dataset = bare if ids is None else towns()
    result = kg.evaluate(from_model(model, ids=ids), dataset, kg.Protocol(sides="object"))
    assert result["raw.mr"] == 3.0
    if ids is None:
        with pytest.raises(kg.ScoreError, match="has none of the 3 entities of the model .such as '2'"):
            kg.evaluate(model, towns())
    else:
        with pytest.raises(kg.ScoreError, match="was fitted to entities up to 2, but ids= has 2 labels of entities"):
            kg.evaluate(from_model(model, ids=(["a", "b"], ["r"])), dataset)


def test_what_has_no_meaning_is_refused():
    """ids= beside labels, a model that was not fitted, a layer, scores of another number."""
    model = stand_in(["c", "a", "b"], ["r"], np.zeros((3, 1, 3)))
    with pytest.raises(kg.ScoreError, match="knows its labels .such as 'c'., so ids= has no meaning; leave it out"):
        kg.evaluate(from_model(model, ids="dataset"), towns())
    model.predict = lambda x, batch_size: np.zeros(1)
    with pytest.raises(kg.ScoreError, match=r"AmpliGraph's predict returned scores of shape \(1,\) for \d+ triples"):
        kg.evaluate(model, towns())
    model.get_indexes = lambda x, type_of, order: np.array(["c", "a", "b"])[x] if order == "ind2raw" else []
    with pytest.raises(kg.ScoreError, match="does not find its own entities .such as 'c'. by their labels"):
        kg.evaluate(model, towns())
    model.is_fitted = False
    with pytest.raises(kg.ScoreError, match=r"was not fitted; call model.fit\(triples\) first"):
        kg.evaluate(model, towns())
    layer = type("DistMult", (), {"__module__": "ampligraph.latent_features.layers.scoring.DistMult"})()
    with pytest.raises(kg.ScoreError, match="expected a ScoringBasedEmbeddingModel of AmpliGraph, .*; got DistMult"):
        from_model(layer)


def test_nothing_is_printed(capsys):
    """AmpliGraph prints a line for each label that it does not find; looking for the type of its labels is silent."""
    kg.evaluate(
        stand_in([2, 0, 1], [0], np.zeros((3, 1, 3))),
        kg.Dataset.from_arrays(train=[[0, 0, 1], [1, 0, 2]], test=[[0, 0, 2]], n_entities=3, n_relations=1),
    )
    assert capsys.readouterr().out == ""
