"""Models of other libraries: bound to a dataset by their adapter, or refused with what to do instead."""

import re

import pytest
from scorer_cases import TABLE, N, Rows, dataset, make, same_ranks

import kgeval as kg
from kgeval.scorers import libraries
from kgeval.scorers.row_scorers import as_row_scorer


class _Adapter:
    """What a library's adapter returns for a dataset, here the class `Rows`."""

    def __init__(self, model, ids):
        self.model, self.ids = model, ids

    def for_dataset(self, dataset):
        scorer = Rows()
        scorer.notes = (f"{self.ids} of {dataset.name}",)
        return scorer


def _library_class(module):
    """A class of a library's module, which can be called, with a method of the same module."""
    call = type("Parent", (), {"__module__": "torch.nn.modules", "__call__": lambda self, *ids: TABLE[ids]})
    score = lambda self, *ids: TABLE[ids]  # noqa: E731
    score.__module__, score.__name__ = module, "score_triples"
    return type("TransE", (call,), {"__module__": module, "score_triples": score})


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        (
            "pykeen.models.unimodal.trans_e",
            "of PyKEEN, .* model itself, .* score_t, score_h and score_hrt expect other",
        ),
        ("torchkge.models.translation", "of TorchKGE, .* model itself, .* expects the relation last"),
        (
            "torch_geometric.nn.kge.transe",
            "of PyTorch Geometric, .* model itself, as in kgeval.evaluate(model, dataset)",
        ),
        ("kge.model.kge_model", "of LibKGE, .* model itself, .* does not support reciprocal relations"),
        ("ampligraph.latent_features.models.TransE", "of AmpliGraph, .* model itself, .* take labels"),
        ("openke.module.model.TransE", "of OpenKE, .* returns -model.predict({'batch_h': s, 'batch_r': p, "),
    ],
)
@pytest.mark.light(2)
def test_methods_of_other_libraries_are_refused(module, remedy):
    """Their calls have other arguments, signs and ids: the message says what to pass instead."""
    base = _library_class(module)
    expected = re.escape(remedy).replace(r"\.\*", ".*").replace(r"\ ", " ")
    with pytest.raises(kg.ScoreError, match=f"^TransE.score_triples is a method of a model {expected}"):
        kg.evaluate(base().score_triples, dataset())
    with pytest.raises(kg.ScoreError, match=f"^TransE is a model {expected}.*\\(kgeval help models\\)$"):
        as_row_scorer(base(), N)  # not bound to a dataset
    own = type("Own", (base,), {"__call__": lambda self, *ids: TABLE[ids]})()  # says itself what a call means
    assert same_ranks(kg.evaluate(own, dataset()), kg.evaluate(make("function"), dataset()))
    assert same_ranks(kg.evaluate(type("Wrapped", (Rows, base), {})(), dataset()), kg.evaluate(Rows(), dataset()))


def test_a_library_without_an_adapter_is_refused():
    base = _library_class("openke.module.model.TransE")
    for scorer in (base(), type("Mine", (base,), {})()):
        with pytest.raises(kg.ScoreError, match="is a model of OpenKE, which kgeval cannot call as score"):
            kg.evaluate(scorer, dataset())


def test_live_models_are_bound_to_the_dataset(monkeypatch):
    """By the class or by a class above it, whether it says its own ``forward`` or not; `from_model` says the ids."""
    monkeypatch.setattr(libraries, "_ADAPTERS", {"lib.models": _Adapter})
    base = _library_class("lib.models.transe")
    for model in (base(), type("Mine", (base,), {"__module__": "mine", "forward": lambda self: None})()):
        result = kg.evaluate(model, dataset())
        assert same_ranks(result, kg.evaluate(Rows(), dataset()))
        assert "None of dataset" in result.notes
        result = kg.evaluate(kg.adapters.from_model(model, ids="said"), dataset())
        assert "said of dataset" in result.notes
        assert "None of dataset" in kg.Evaluator(dataset()).evaluate(model).notes
        assert kg.check_scorer(model, dataset()).kind == "matrix"
        s, p, o = dataset()["test"].array[0].tolist()
        assert len(kg.Evaluator(dataset()).explain(model, s, p, o)) >= 0
    data = dataset(train=[[0, 0, 1], [1, 0, 2]], valid=[[0, 1, 3]])
    negatives = {"valid": [[0, 1, 2]], "test": [[0, 0, 3]]}
    assert "None of dataset" in kg.classify(base(), data, negatives).notes
    near = type("Near", (), {"__module__": "lib.modelsets", "__call__": lambda self, *ids: TABLE[ids]})
    assert kg.evaluate(near(), dataset()).facts["scorer"] == "Near"  # the name of the module only starts alike


def test_wrappers_of_torch_name_the_model(monkeypatch):
    """DataParallel and torch.compile hide the class of the model."""
    monkeypatch.setattr(libraries, "_ADAPTERS", {"lib.models": _Adapter})
    model = _library_class("lib.models.transe")()
    for attribute in ("module", "_orig_mod"):
        wrapper = type("Wrapper", (), {"__module__": "torch.nn.parallel", attribute: model})()
        with pytest.raises(kg.ScoreError, match=f"Wrapper wraps a TransE; give the model itself: model.{attribute}"):
            kg.evaluate(wrapper, dataset())


def test_notes_of_a_scorer_are_shown():
    """Only a tuple or list of strings: an attribute `notes` of another kind means something else."""
    for notes, shown in ((("as said",), ["as said"]), (["a", "b"], ["a", "b"]), ("text", []), ((1,), []), (None, [])):
        scorer = Rows()
        scorer.notes = notes
        assert libraries.scorer_notes(scorer) == shown
        assert [note for note in kg.evaluate(scorer, dataset()).notes if note in ("as said", "a", "b", "text")] == shown


def test_code_of_ones_own_may_be_called_as_a_library():
    """A module `kge.model` or `torch_geometric.nn.conv` is none of the known models."""
    for module in ("kge.model", "torch_geometric.nn.conv", "pykeen_tools", "pykeen.modelsets"):
        scorer = type("Mine", (), {"__module__": module, "__call__": lambda self, *ids: TABLE[ids]})()
        assert as_row_scorer(scorer, N).kind == "function"
