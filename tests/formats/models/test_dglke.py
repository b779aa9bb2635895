"""Folders of DGL-KE: stand-ins that these tests write, with scores by a loop and, where it is installed, by DGL-KE."""

import cmath
import importlib.util
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from grids import light

from kgeval import DataError, load_model

D, GAMMA = 4, 6.0
RANGE = (GAMMA + 2) / D
# model: width of an entity, width of a relation, double_ent, double_rel, the class in kgeval
MODELS = {
    "TransE_l1": (D, D, False, False, "TransE"),
    "TransE_l2": (D, D, False, False, "TransE"),
    "TransE": (D, D, False, False, "TransE"),
    "DistMult": (2 * D, 2 * D, True, True, "DistMult"),
    "ComplEx": (D, D, False, False, "ComplEx"),
    "RotatE": (2 * D, D, True, False, "RotatE"),
    "RESCAL": (D, D * D, False, False, "RESCAL"),
    "SimplE": (2 * D, 2 * D, True, True, "SimplE"),
}


def score(kind, e, r):
    """The formulas of DGL-KE's ``score_fun.py`` (``edge_func``), without gamma and without the clamp of SimplE."""

    def one(s, p, o):
        h, w, t = (row.astype(float).tolist() for row in (e[s], r[p], e[o]))
        half, n = len(h) // 2, range(len(h))
        if kind == "TransE_l1":
            return -sum(abs(h[k] + w[k] - t[k]) for k in n)
        if kind in ("TransE", "TransE_l2"):
            return -math.sqrt(sum((h[k] + w[k] - t[k]) ** 2 for k in n))
        if kind == "DistMult":
            return sum(h[k] * w[k] * t[k] for k in n)
        if kind == "RESCAL":
            return sum(h[i] * w[i * len(h) + j] * t[j] for i in n for j in n)
        if kind == "SimplE":
            return sum(h[k] * w[k] * t[half + k] + t[k] * w[half + k] * h[half + k] for k in range(half)) / 2
        heads, tails = ([complex(x[k], x[half + k]) for k in range(half)] for x in (h, t))
        if kind == "ComplEx":
            return sum((heads[k] * complex(w[k], w[half + k]) * tails[k].conjugate()).real for k in range(half))
        return -sum(abs(heads[k] * cmath.exp(1j * w[k] / (RANGE / math.pi)) - tails[k]) for k in range(half))

    return lambda side, s, p, o: [one(*triple) for triple in zip(s, p, o)]


def both_tables(kind, scale=1.0):
    entity_width, relation_width, *_ = MODELS[kind]
    t = tables(e=(N_E, entity_width), r=(N_R, relation_width))
    return t["e"] * np.float32(scale), t["r"]


def config(kind, version, **changes):
    double_entity, double_relation = MODELS.get(kind, MODELS["TransE"])[2:4]
    content = {"dataset": "my_set", "gamma": GAMMA, "double_ent": double_entity, "double_rel": double_relation}
    if version == "0.1":
        content |= {"model": kind, "emb_size": D, "emap_file": "entities.tsv", "rmap_file": "relations.tsv"}
    else:
        content |= {"model_name": kind, "hidden_dim": D, "emp_file": "entities.tsv", "rmap_file": "relations.tsv"}
    return {name: value for name, value in {**content, **changes}.items() if value != "absent"}


def written(folder, kind, version="0.1", ids=True, scale=1.0, **changes):
    e, r = both_tables(kind if kind in MODELS else "TransE", scale)
    np.save(folder / f"my_set_{kind}_entity.npy", e)
    np.save(folder / f"my_set_{kind}_relation.npy", r)
    (folder / "config.json").write_text(json.dumps(config(kind, version, **changes)))
    for name, labels in (("entities.tsv", ENTITIES), ("relations.tsv", RELATIONS)) if ids else ():
        (folder / name).write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), encoding="utf-8")
    return e, r


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset(dictionaries=False)


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value)


@pytest.mark.parametrize("version", light(["0.1", "later"], 1))
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.light(2)
def test_scores(dataset, tmp_path, kind, version):
    e, r = written(tmp_path, kind, version)
    assert recognised(tmp_path) == ["dglke"]
    for path in (tmp_path, tmp_path / f"my_set_{kind}_entity.npy", tmp_path / f"my_set_{kind}_relation.npy"):
        model = load_model(path, dataset)
        assert type(model).__name__ == MODELS[kind][4]
        assert_scores(model, dataset, score(kind, e, r))
    assert "the model was read as a model of DGL-KE" in model.notes
    assert any("transposed matrix" in note for note in model.notes) == (kind == "RESCAL")


def test_without_configuration(dataset, tmp_path):
    """The name of the file says the model and its norm, but not gamma (S7, S8)."""
    e, r = written(tmp_path, "TransE_l1")
    (tmp_path / "config.json").unlink()
    assert_scores(load_model(tmp_path, dataset), dataset, score("TransE_l1", e, r))
    (tmp_path / "rotate").mkdir()
    e, r = written(tmp_path / "rotate", "RotatE", gamma="absent")
    said = failure(tmp_path / "rotate", dataset)
    assert "does not say phase_unit, which changes the scores of RotatE; set phase_unit=1 for phases in radians" in said
    (tmp_path / "rotate" / "config.json").unlink()
    assert "does not say phase_unit" in failure(tmp_path / "rotate", dataset)
    model = load_model(tmp_path / "rotate", dataset, phase_unit=math.pi / RANGE)
    assert_scores(model, dataset, score("RotatE", e, r))


def test_exact_pi(dataset, tmp_path):
    """DGL-KE divides by numpy's pi, in double precision; RotatE's own code has another number."""
    written(tmp_path, "RotatE")
    unit = math.pi / RANGE
    said = load_model(tmp_path, dataset, phase_unit=1).notes
    assert f"config.json says phase_unit={unit!r}; the setting phase_unit=1 replaced this" in said


def test_order_of_the_rows(tmp_path):
    """S9: the files that the configuration names, else those of the dataset, else an error."""
    e, r = written(tmp_path, "DistMult", ids=False)
    assert_scores(load_model(tmp_path, labelled_dataset()), labelled_dataset(), score("DistMult", e, r))
    without = labelled_dataset(dictionaries=False)
    assert "nothing says to which entities and relations the rows of its tables belong" in failure(tmp_path, without)
    e, r = written(tmp_path, "DistMult", emap_file="/data/my/nodes.txt", rmap_file="/data/my/kinds.txt")
    for name, labels in (("nodes.txt", ENTITIES), ("kinds.txt", RELATIONS)):
        (tmp_path / name).write_text("".join(f"{i}|{label}\n" for i, label in enumerate(labels)), encoding="utf-8")
    for name in ("entities.tsv", "relations.tsv"):
        (tmp_path / name).write_text("0\tof another run\n")
    assert_scores(load_model(tmp_path, without), without, score("DistMult", e, r))


def test_labels_that_are_numbers(tmp_path):
    """entities.tsv has the id first, also if the labels are numbers too."""
    numbers = [str((3 * i + 1) % N_E) for i in range(N_E)]
    written(tmp_path, "DistMult")
    (tmp_path / "entities.tsv").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(numbers)))
    base = labelled_dataset(dictionaries=False)
    dataset = type(base).from_arrays(
        train=base["train"].array, entity_labels=sorted(numbers), relation_labels=list(base.relations.labels)
    )
    model = load_model(tmp_path, dataset)
    e, r = both_tables("DistMult")
    first, relation = dataset.entities.find(["1"])[0], dataset.relations.find(["r2"])[0]  # "1" is row 0
    expected = float((e[0].astype(float) ** 2 * r[0].astype(float)).sum())
    assert model.score([first], [relation], [first])[0] == pytest.approx(expected, rel=1e-6)


def test_clamp_of_simple(dataset, tmp_path):
    """Scores beyond 20 are ties in DGL-KE's evaluation: refused if a triple of the dataset has one, unless left out."""
    e, r = written(tmp_path, "SimplE")
    assert any("no triple of the dataset reaches this" in note for note in load_model(tmp_path, dataset).notes)
    e, r = written(tmp_path, "SimplE", scale=4)
    said = failure(tmp_path, dataset)
    rows_e = np.array([ENTITIES.index(label) for label in dataset.entities.labels])
    rows_r = np.array([RELATIONS.index(label) for label in dataset.relations.labels])
    s, p, o = dataset["train"].array.T
    all_scores = np.abs(score("SimplE", e, r)("", rows_e[s], rows_r[p], rows_e[o]))
    assert f"the scores of {(all_scores >= 20).sum()} of 40 triples of train are beyond +-20" in said
    assert "set ignore='clamp' (--ignore clamp)" in said
    model = load_model(tmp_path, dataset, ignore="clamp")
    assert_scores(model, dataset, score("SimplE", e, r))
    assert "arrays of the model file that were left out (ignore=): clamp" in model.notes


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("TransE_l1", {"model": "TransE_l2"}, "is a table of TransE_l1, but config.json says the model is 'TransE_l2'"),
        ("TransE_l2", {"emb_size": 5}, "has 4 columns, but config.json gives 5 (dimension 5, double_ent=False"),
        ("RotatE", {"double_ent": False}, "has 8 columns, but config.json gives 4 (dimension 4, double_ent=False"),
        ("RESCAL", {"double_rel": True}, "has 16 columns, but config.json gives 32 (dimension 4"),
        ("ComplEx", {"emb_size": "4"}, "the dimension must be a whole number above 0; got '4'"),
        ("RotatE", {"gamma": 10**400}, "gamma must be a number above -2, below 1e6; got 1000"),
        ("RotatE", {"model": []}, "config.json says the model is []"),
        ("RotatE", {"gamma": True}, "gamma must be a number above -2, below 1e6; got True"),
        ("TransR", {}, "the model is TransR, which needs a projection matrix per relation that no model of kgeval"),
        ("ConvE", {}, "the model is ConvE, which needs a formula that no model of kgeval.models has"),
    ],
)
@pytest.mark.light(4)
def test_contradictions(dataset, tmp_path, kind, changes, message):
    written(tmp_path, kind, **changes)
    assert recognised(tmp_path) == ["dglke"]
    assert message in failure(tmp_path, dataset)


def test_shapes_without_configuration(dataset, tmp_path):
    written(tmp_path, "RotatE")
    (tmp_path / "config.json").unlink()
    np.save(tmp_path / "my_set_RotatE_relation.npy", np.zeros((N_R, 2 * D)))
    assert "the entities of RotatE have 8 columns and its relations 8; this does not fit" in failure(tmp_path, dataset)
    for shape in ((N_R,), (N_R, 0)):
        np.save(tmp_path / "my_set_RotatE_relation.npy", np.zeros(shape))
        said = f"expected a table with two dimensions and at least one column; got shape {shape}"
        assert said in failure(tmp_path, dataset)


def test_several_models(dataset, tmp_path):
    """The configuration chooses the model; without it, an error asks for the file."""
    written(tmp_path, "TransE_l1")
    e, r = written(tmp_path, "DistMult")
    assert_scores(load_model(tmp_path, dataset), dataset, score("DistMult", e, r))
    (tmp_path / "config.json").unlink()
    assert "contains the tables of 2 models; give the path of one of my_set_DistMult_entity.npy" in failure(
        tmp_path, dataset
    )
    assert_scores(load_model(tmp_path / "my_set_DistMult_entity.npy", dataset), dataset, score("DistMult", e, r))
    (tmp_path / "empty").mkdir()
    said = failure(tmp_path / "empty", dataset, format="dglke")
    assert "expected the tables of a model of DGL-KE, DATASET_MODEL_entity.npy and DATASET_MODEL_relation.npy" in said


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "SimplE"])  # version 0.1.2 has no SimplE
def test_scores_of_the_library(dataset, tmp_path, kind):
    """The scores of DGL-KE's own classes, from the module of an installed dglke; importing dglke itself needs dgl."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    spec = importlib.util.find_spec("dglke")
    if spec is None:
        pytest.skip("needs dglke (pip install --no-deps dglke)")
    file = Path(spec.submodule_search_locations[0]) / "models" / "pytorch" / "score_fun.py"
    module_spec = importlib.util.spec_from_file_location("dglke_score_fun", file)
    library = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(library)
    scorer = {
        "TransE": lambda: library.TransEScore(GAMMA, "l2"),
        "TransE_l2": lambda: library.TransEScore(GAMMA, "l2"),
        "TransE_l1": lambda: library.TransEScore(GAMMA, "l1"),
        "DistMult": library.DistMultScore,
        "ComplEx": library.ComplExScore,
        "RESCAL": lambda: library.RESCALScore(D, D),
        "RotatE": lambda: library.RotatEScore(GAMMA, RANGE),
    }[kind]()
    e, r = written(tmp_path, kind)
    gamma = GAMMA if kind.startswith(("TransE", "Rot")) else 0.0

    def of_library(side, s, p, o):
        h, w, t = (torch.from_numpy(part) for part in (e[s], r[p], e[o]))
        edges = SimpleNamespace(src={"emb": h}, dst={"emb": t}, data={"emb": w})
        return scorer.edge_func(edges)["score"].numpy() - gamma

    assert_scores(load_model(tmp_path, dataset), dataset, of_library, rtol=1e-4)
