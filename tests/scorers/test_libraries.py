"""Models of other libraries: refused with the right method, and wrapped as the guide says."""

import re
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scorer_cases import TABLE, N, Rows, dataset, make, same_ranks

import kgeval as kg
from kgeval.scorers.adapters import as_row_scorer


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        (
            "pykeen.models.unimodal.trans_e",
            "model of PyKEEN, .* model.predict_t.* model.predict_h.* Do not call score_t",
        ),
        ("torchkge.models.translation", "model of TorchKGE, .* returns model.scoring_function(s, o, p), which"),
        ("torch_geometric.nn.kge.transe", "model of PyTorch Geometric, .* returns model(s, p, o); call model.eval()"),
        ("kge.model.kge_model", "model of LibKGE, .* model.score_sp(s, p) .* model.score_po(p, o), which also serve"),
        ("ampligraph.latent_features.models.TransE", "model of AmpliGraph, .* model.predict(triples), an array of"),
        ("openke.module.model.TransE", "model of OpenKE, .* returns -model.predict({'batch_h': s, 'batch_r': p, "),
    ],
)
def test_models_of_other_libraries(module, remedy):
    """Their calls have other arguments, signs and ids: the message says which method is right."""
    call = type("Parent", (), {"__module__": "torch.nn.modules", "__call__": lambda self, *ids: TABLE[ids]})
    score = lambda self, *ids: TABLE[ids]  # noqa: E731
    score.__module__, score.__name__ = module, "score_triples"
    base = type("TransE", (call,), {"__module__": module, "score_triples": score})
    expected = re.escape(remedy).replace(r"\.\*", ".*").replace(r"\ ", " ")
    for scorer, name in (
        (base(), "TransE is a "),
        (type("Mine", (base,), {})(), "Mine is a "),
        (base().score_triples, "TransE.score_triples is a method of a "),
    ):
        with pytest.raises(
            kg.ScoreError, match=f"^{name}{expected}.*; `kgeval help models` shows how to convert them$"
        ):
            kg.evaluate(scorer, dataset())
    own = type("Own", (base,), {"forward": lambda self: None})()  # a class that says itself what a call means
    assert same_ranks(kg.evaluate(own, dataset()), kg.evaluate(make("function"), dataset()))
    assert same_ranks(kg.evaluate(type("Wrapped", (Rows, base), {})(), dataset()), kg.evaluate(Rows(), dataset()))


def test_code_of_ones_own_may_be_called_as_a_library():
    """A module `kge.model` or `torch_geometric.nn.conv` is none of the known models."""
    for module in ("kge.model", "torch_geometric.nn.conv", "pykeen_tools", "pykeen.modelsets"):
        scorer = type("Mine", (), {"__module__": module, "__call__": lambda self, *ids: TABLE[ids]})()
        assert as_row_scorer(scorer, N).kind == "function"


FACTORY = SimpleNamespace(  # a vocabulary of PyKEEN: the labels of train alone, in an order of its own
    entity_to_id={"Fiji": 0, "Chad": 1, "Belize": 2, "Egypt": 3, "Andorra": 4},
    relation_to_id={"near": 0, "borders": 1},
)


class InverseTriples:
    """As much of a model with inverse triples as is needed: relation r has the row 2 r inside, its inverse 2 r + 1."""

    table = np.random.default_rng(3).normal(size=(5, 4, 5))

    def score_t(self, pairs):
        return self.table[pairs[:, 0], pairs[:, 1]]

    def predict_t(self, pairs):
        return self.table[pairs[:, 0], 2 * pairs[:, 1]]

    def predict_h(self, pairs):
        return self.table[pairs[:, 1], 2 * pairs[:, 0] + 1]


def test_the_class_of_the_guide(root, monkeypatch):
    """Ids by label, rows of the inverse relations on the subject side, and no rank of what train lacks (Denmark)."""
    torch = SimpleNamespace(Tensor=type("Tensor", (), {}), from_numpy=lambda ids: ids, no_grad=nullcontext)
    monkeypatch.setitem(sys.modules, "torch", torch)
    page = (root / "kgeval" / "guide" / "models.md").read_text(encoding="utf-8")
    namespace = {"np": np}
    exec(re.search(r"^class PyKEENModel:.*?(?=^```)", page, re.S | re.M)[0], namespace)
    train = [[0, 0, 1], [2, 0, 4], [5, 1, 0]]
    data = dataset(test=[[0, 0, 2], [3, 0, 1], [1, 1, 5]], train=train)  # entity 3 is Denmark
    scorer = namespace["PyKEENModel"](InverseTriples(), FACTORY, data)
    assert (scorer.missing_entities.tolist(), scorer.missing_relations.tolist()) == ([3], [])

    result = kg.evaluate(scorer, data)
    assert result.dropped["an entity or relation that train lacks (unseen='drop')"] == 2
    ids = [FACTORY.entity_to_id.get(label) for label in data.entities.labels]
    for side, s, p, o, score in result.table[["side", "s", "p", "o", "score"]].itertuples(index=False):
        r = 2 * FACTORY.relation_to_id[data.relations.labels[p]]
        given, row, answer = (ids[s], r, ids[o]) if side == "object" else (ids[o], r + 1, ids[s])
        assert score == InverseTriples.table[given, row, answer]
    assert len(result.table) == 4
    assert result.table["rivals_raw"].tolist() == [4] * 4

    scorer.model.predict_t = scorer.model.score_t  # the rows of a relation's inverse in place of its own
    assert not same_ranks(kg.evaluate(scorer, data), result)
