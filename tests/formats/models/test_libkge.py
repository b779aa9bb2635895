"""Checkpoints of LibKGE: the scores of its evaluation (score_sp, score_po), with the options of its configuration.

LibKGE is not on PyPI. The files here are made by a stand-in: the dict that LibKGE saves, with a configuration object
whose class does not exist, and the formulas of its scorers written as loops.
"""

import copy

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from torch_zip import Fake, write_torch

from kgeval import DataError, load_model

D, K = 4, 3  # columns of entities; columns of the relations of Tucker3
WIDTHS = {"transe": D, "distmult": D, "complex": D, "rotate": D // 2, "rescal": D * D, "cp": D // 2, "simple": D}
CLASS_NAMES = {
    "transe": "TransE",
    "distmult": "DistMult",
    "complex": "ComplEx",
    "rotate": "RotatE",
    "rescal": "Rescal",
    "cp": "CP",
    "simple": "SimplE",
    "relational_tucker3": "RelationalTucker3",
    "conve": "ConvE",
    "transh": "TransH",
}
KGEVAL = {"rescal": "RESCAL", "relational_tucker3": "TuckER"}
KINDS = (*WIDTHS, "relational_tucker3")
ENTITY, RELATION = "_entity_embedder._embeddings.weight", "_relation_embedder._embeddings.weight"
BASE_RELATION, PROJECTION = (
    "_relation_embedder.base_embedder._embeddings.weight",
    "_relation_embedder.projection.weight",
)


def state(kind, n_rows=N_R):
    """The tensors of a model whose tables of relations have `n_rows` rows."""
    if kind == "relational_tucker3":
        return tables(3, **{ENTITY: (N_E, D), BASE_RELATION: (n_rows, K), PROJECTION: (D * D, K)})
    return tables(3, **{ENTITY: (N_E, D), RELATION: (n_rows, WIDTHS.get(kind, D))})


def options(kind, is_reciprocal=False, norm=2.0, p=-1.0):
    """The options that LibKGE keeps: those of the model, of its embedders, and of everything else."""
    relation_embedder = "tucker3_relation_embedder" if kind == "relational_tucker3" else "lookup_embedder"
    model = {"class_name": CLASS_NAMES[kind], "l_norm": norm}
    model |= {"entity_embedder": {"type": "lookup_embedder", "+++": "+++"}}
    model |= {"relation_embedder": {"type": relation_embedder, "+++": "+++"}}
    content = {"model": kind, kind: model, "train": {"max_epochs": 200}, "job": {"device": "cuda"}}
    content["lookup_embedder"] = {"class_name": "LookupEmbedder", "dim": D, "dropout": 0.3, "normalize": {"p": p}}
    content["tucker3_relation_embedder"] = {
        "class_name": "Tucker3RelationEmbedder",
        "base_embedder": {"type": "lookup_embedder"},
    }
    if is_reciprocal:
        content["model"] = "reciprocal_relations_model"
        content["reciprocal_relations_model"] = {
            "class_name": "ReciprocalRelationsModel",
            "base_model": {"type": kind, "+++": "+++"},
        }
    return content


def checkpoint(kind, is_reciprocal=False, **more):
    tensors = state(kind, N_R * 2 if is_reciprocal else N_R)
    if is_reciprocal:
        tensors = {f"_base_model.{name}": tensor for name, tensor in tensors.items()} | tensors
    return wrapped(tensors, options(kind, is_reciprocal, **more))


def wrapped(tensors, config):
    """What LibKGE saves during a training."""
    return {
        "type": "train",
        "epoch": 200,
        "valid_trace": [{"epoch": 5, "metric": 0.3}],
        "model": (tensors, {}),
        "optimizer_state_dict": {"state": {0: {"step": 3, "sum": tensors[ENTITY]}}, "param_groups": []},
        "config": Fake("kge.config.Config", state={"options": config, "folder": "local/x", "log_folder": None}),
        "dataset": {"num_entities": N_E, "num_relations": N_R},
    }


def packaged(kind, is_reciprocal=False):
    content = checkpoint(kind, is_reciprocal) | {"type": "package"}
    del content["optimizer_state_dict"]
    content["dataset"]["meta"] = {"entity_ids": ENTITIES, "relation_ids": RELATIONS}
    return content


def score(kind, t, is_reciprocal=False, norm=2):
    """The formulas of LibKGE's scorers, one triple at a time."""
    e = t[ENTITY].astype(float)
    half = D // 2

    def one(s, p, o):
        r = t[RELATION][p].astype(float) if RELATION in t else t[PROJECTION].astype(float) @ t[BASE_RELATION][p]
        if kind == "transe":
            return -np.linalg.norm(e[s] + r - e[o], ord=norm)
        if kind in ("rescal", "relational_tucker3"):
            return e[s] @ r.reshape(D, D) @ e[o]
        if kind == "cp":
            return sum(e[s][:half] * r * e[o][half:])
        if kind == "simple":
            return (sum(e[s][:half] * r[:half] * e[o][half:]) + sum(e[s][half:] * r[half:] * e[o][:half])) / 2
        if kind == "distmult":
            return sum(e[s] * r * e[o])
        c = e[:, :half] + 1j * e[:, half:]
        if kind == "complex":
            return sum(c[s] * (r[:half] + 1j * r[half:]) * c[o].conj()).real
        return -np.linalg.norm(abs(c[s] * np.exp(1j * r) - c[o]), ord=norm)

    def of_side(side, s, p, o):
        if is_reciprocal and side == "subject":  # the question (s, inverse of p, ?) with the object as the subject
            return [one(b, r + N_R, a) for a, r, b in zip(s, p, o)]
        return [one(*triple) for triple in zip(s, p, o)]

    return of_side


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset()


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value).replace(f"{path}: ", "")


@pytest.mark.parametrize("is_reciprocal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.light(8)
def test_scores(dataset, tmp_path, kind, is_reciprocal):
    path = tmp_path / "checkpoint_best.pt"
    write_torch(path, checkpoint(kind, is_reciprocal))
    assert recognised(path) == recognised(tmp_path) == ["libkge"]
    t = state(kind, N_R * (1 + is_reciprocal))
    model = load_model(tmp_path, dataset)
    assert type(model).__name__ == KGEVAL.get(kind, CLASS_NAMES[kind])
    assert model.inverse_relations == ("after" if is_reciprocal else None)
    assert_scores(model, dataset, score(kind, t, is_reciprocal))
    assert "the model was read as a model of LibKGE" in model.notes


@pytest.mark.parametrize("kind", ["transe", "rotate"])
def test_the_norm_is_read_from_the_options(dataset, tmp_path, kind):
    for norm in (1.0, 2.0):
        write_torch(tmp_path / "a.pt", checkpoint(kind, norm=norm))
        model = load_model(tmp_path / "a.pt", dataset)
        assert_scores(model, dataset, score(kind, state(kind), norm=norm))
    model = load_model(tmp_path / "a.pt", dataset, norm=1)
    assert "the model file says norm='2'; the setting norm=1 replaced this" in model.notes
    write_torch(tmp_path / "a.pt", checkpoint(kind, norm=3.0))
    said = f"the option l_norm of {CLASS_NAMES[kind]} must be 1 or 2; got 3.0"
    assert failure(tmp_path / "a.pt", dataset) == said


def test_options_are_looked_up_as_libkge_does(dataset, tmp_path):
    """An option of the model beats that of its type; a configuration may give a model another key."""
    content = checkpoint("transe", is_reciprocal=True)
    config = content["config"].state["options"]
    config["reciprocal_relations_model"]["base_model"]["l_norm"] = 1.0
    write_torch(tmp_path / "a.pt", content)
    t = state("transe", 2 * N_R)
    assert_scores(load_model(tmp_path / "a.pt", dataset), dataset, score("transe", t, True, norm=1))
    content = checkpoint("transe")
    config = content["config"].state["options"]
    config["my_transe"] = config.pop("transe")
    config["model"] = "my_transe"
    write_torch(tmp_path / "a.pt", content)
    assert_scores(load_model(tmp_path / "a.pt", dataset), dataset, score("transe", state("transe")))
    assert failure(tmp_path / "a.pt", dataset, model="distmult") == (
        "is a model TransE of LibKGE (model='transe'); got model='distmult'"
    )


@pytest.mark.parametrize("where", ["entity_embedder", "relation_embedder"])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.light(2)
def test_vectors_that_libkge_divides_by_their_norms(dataset, tmp_path, p, where):
    """Stored vectors of norm 1 are what they are; others mean an old version, which divides again: refused."""
    content = checkpoint("transe")
    content["config"].state["options"]["transe"][where]["normalize"] = {"p": p}
    write_torch(tmp_path / "a.pt", content)
    assert failure(tmp_path / "a.pt", dataset).startswith(
        f"the options say transe.{where}.normalize.p={p:g}, but the norm of row 0 of the table is not 1. Old versions"
    )
    t = content["model"][0]
    name = ENTITY if where == "entity_embedder" else RELATION
    t[name] /= np.linalg.norm(t[name], ord=p, axis=1, keepdims=True)
    write_torch(tmp_path / "a.pt", content)
    assert_scores(load_model(tmp_path / "a.pt", dataset), dataset, score("transe", t))
    content["config"].state["options"]["transe"][where]["normalize"] = {"p": 3.0}
    write_torch(tmp_path / "a.pt", content)
    assert "normalize.p must be 1 or 2" in failure(tmp_path / "a.pt", dataset)


def test_norms_that_the_type_of_the_embedder_says(dataset, tmp_path):
    """The option stands under lookup_embedder, for both embedders, and for the base model of a reciprocal model."""
    for is_reciprocal in (False, True):
        write_torch(tmp_path / "a.pt", checkpoint("complex", is_reciprocal, p=2.0))
        key = "reciprocal_relations_model.base_model" if is_reciprocal else "complex"
        said = f"the options say {key}.entity_embedder.normalize.p=2, but the norm of row 0 of the table is not 1."
        assert failure(tmp_path / "a.pt", dataset).startswith(said)


def test_a_package_names_its_rows(tmp_path):
    bare = labelled_dataset(dictionaries=False)
    write_torch(tmp_path / "model_best.pt", packaged("complex", True))
    assert recognised(tmp_path) == ["libkge"]
    model = load_model(tmp_path, bare)
    assert_scores(model, bare, score("complex", state("complex", 2 * N_R), True))
    old = packaged("complex") | {"entity_ids": ENTITIES, "relation_ids": RELATIONS}  # of the first version
    del old["dataset"]
    write_torch(tmp_path / "old.pt", old)
    assert_scores(load_model(tmp_path / "old.pt", bare), bare, score("complex", state("complex")))
    write_torch(tmp_path / "bare.pt", checkpoint("complex"))
    assert failure(tmp_path / "bare.pt", bare).startswith("nothing says to which entities and relations the rows")
    for name, labels in (("entity_ids.del", ENTITIES), ("relation_ids.del", RELATIONS)):
        (tmp_path / name).write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), encoding="utf-8")
    model = load_model(tmp_path / "bare.pt", bare)
    assert_scores(model, bare, score("complex", state("complex")))
    assert (
        "the rows of the model were read in the order of entity_ids.del and relation_ids.del beside it" in model.notes
    )


def test_the_checkpoint_of_a_folder(dataset, tmp_path):
    """The best one, else the last one: by its number, not by its name."""
    for epoch, seed in ((99995, 1.0), (100000, 2.0)):
        content = checkpoint("distmult")
        content["model"][0][ENTITY] *= np.float32(seed)
        write_torch(tmp_path / f"checkpoint_{epoch:05d}.pt", content)
    model = load_model(tmp_path, dataset)
    assert "checkpoint_100000.pt was read, as the folder has no checkpoint_best.pt" in model.notes
    t = state("distmult")
    assert_scores(model, dataset, score("distmult", t | {ENTITY: 2 * t[ENTITY]}))
    write_torch(tmp_path / "checkpoint_best.pt", checkpoint("complex"))
    assert type(load_model(tmp_path, dataset)).__name__ == "ComplEx"


def test_old_names_of_tensors(dataset, tmp_path):
    content = checkpoint("distmult")
    tensors = {name.replace("._embeddings", ".embeddings"): t for name, t in content["model"][0].items()}
    write_torch(tmp_path / "a.pt", content | {"model": (tensors, {})})
    assert_scores(load_model(tmp_path / "a.pt", dataset), dataset, score("distmult", state("distmult")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(model=({}, {})), "lacks the tensor _entity_embedder._embeddings.weight; it contains"),
        (lambda c: c.update(model=None), "a checkpoint of LibKGE without a model (a search job?)"),
        (lambda c: c.update(config=Fake("kge.config.Config", state={})), "with the configuration of its training in"),
        (
            lambda c: c["model"][0].update({"_base_model." + ENTITY: np.zeros((N_E, D), np.float32)}),
            f"{ENTITY} and _base_model.{ENTITY} differ; LibKGE saves one table under both names",
        ),
        (lambda c: c["model"][0].update(bias=np.zeros(N_E, np.float32)), "has no use for bias"),
        (
            lambda c: c["config"].state["options"]["rescal"]["entity_embedder"].update(type="unigram_embedder"),
            "is a model of LibKGE with the unigram_embedder for entity vectors, which is not among kgeval.models",
        ),
        (lambda c: c["config"].state["options"].update(model="conve", conve={"class_name": "ConvE"}), "LibKGE's ConvE"),
        (lambda c: c["config"].state["options"].pop("model"), "is LibKGE's model without a name"),
        (lambda c: c["model"][0].update({RELATION: np.zeros((N_R, 3))}), "must have 4 * 4 columns, as entities have 4"),
        (lambda c: c["model"][0].update({ENTITY: np.zeros(3)}), "must be tables of two dimensions"),
    ],
)
@pytest.mark.light(4)
def test_faulty_checkpoints(dataset, tmp_path, change, said):
    content = copy.copy(checkpoint("rescal"))
    change(content)
    write_torch(tmp_path / "a.pt", content)
    assert recognised(tmp_path / "a.pt") == ["libkge"]
    assert said in failure(tmp_path / "a.pt", dataset)


def test_faulty_shapes(dataset, tmp_path):
    for kind, name, shape, said in (
        ("cp", ENTITY, (N_E, 5), "LibKGE's CP needs an even number of columns"),
        ("relational_tucker3", PROJECTION, (D, K), "projection.weight must have shape (16, 3); got (4, 3)"),
    ):
        content = checkpoint(kind)
        content["model"][0][name] = np.zeros(shape, np.float32)
        write_torch(tmp_path / "a.pt", content)
        assert said in failure(tmp_path / "a.pt", dataset)
    (tmp_path / "empty").mkdir()
    said = "expected checkpoint_best.pt or checkpoint_00001.pt, ... of LibKGE in the folder"
    assert failure(tmp_path / "empty", dataset, format="libkge") == said


@pytest.mark.thorough
@pytest.mark.parametrize("is_reciprocal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_torch_writes(dataset, tmp_path, monkeypatch, kind, is_reciprocal):
    """A stand-in for LibKGE: torch saves the dict, with an object of a class kge.config.Config."""
    import sys
    import types

    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    module = types.ModuleType("kge.config")
    module.Config = type("Config", (), {"__module__": "kge.config"})
    monkeypatch.setitem(sys.modules, "kge", types.ModuleType("kge"))
    monkeypatch.setitem(sys.modules, "kge.config", module)
    content = checkpoint(kind, is_reciprocal)
    config = module.Config()
    config.options = options(kind, is_reciprocal)
    t = state(kind, N_R * (1 + is_reciprocal))
    tensors = {name: torch.nn.Parameter(torch.as_tensor(table)) for name, table in t.items()}
    prefixes = ("", "_base_model.") if is_reciprocal else ("",)
    state_dict = {prefix + name: tensor for prefix in prefixes for name, tensor in tensors.items()}
    del content["optimizer_state_dict"]
    torch.save(content | {"model": (state_dict, {}), "config": config}, tmp_path / "checkpoint_best.pt")
    assert recognised(tmp_path) == ["libkge"]
    assert_scores(load_model(tmp_path, dataset), dataset, score(kind, t, is_reciprocal))
