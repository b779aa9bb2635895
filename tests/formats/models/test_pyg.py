"""Models of PyTorch Geometric: the scores of its forward(), and what a state dict does not say is asked for."""

import numpy as np
import pytest
from checkpoint_cases import N_E, N_R, assert_scores, labelled_dataset, random_triples, recognised, tables, write_ids
from torch_zip import fake_module, write_torch

from kgeval import DataError, load_model

D = 4
SHAPES = {
    "transe": {"node_emb.weight": (N_E, D), "rel_emb.weight": (N_R, D)},
    "complex": {f"{part}_emb{im}.weight": (n, D) for part, n in (("node", N_E), ("rel", N_R)) for im in ("", "_im")},
    "rotate": {"node_emb.weight": (N_E, D), "node_emb_im.weight": (N_E, D), "rel_emb.weight": (N_R, D)},
}
SHAPES["distmult"] = SHAPES["transe"]
CLASSES = {"transe": "TransE", "distmult": "DistMult", "complex": "ComplEx", "rotate": "RotatE"}


def state(kind, seed=0):
    return tables(seed, **SHAPES[kind])


def score(kind, t, norm=1):
    """The formulas of PyTorch Geometric, one triple at a time."""

    def transe(s, p, o):
        e, r = t["node_emb.weight"].astype(float), t["rel_emb.weight"].astype(float)
        unit = e / np.linalg.norm(e, ord=norm, axis=1, keepdims=True)
        return -np.linalg.norm(unit[s] + r[p] - unit[o], ord=norm)

    def distmult(s, p, o):
        return float(np.sum(t["node_emb.weight"][s] * t["rel_emb.weight"][p] * t["node_emb.weight"][o], dtype=float))

    def as_complex(name):
        return t[f"{name}_emb.weight"].astype(float) + 1j * t[f"{name}_emb_im.weight"]

    def complex_(s, p, o):
        e, r = as_complex("node"), as_complex("rel")
        return sum(e[s] * r[p] * e[o].conj()).real

    def rotate(s, p, o):
        e, r = as_complex("node"), np.exp(1j * t["rel_emb.weight"].astype(float))
        return -np.sqrt(sum(abs(e[s] * r[p] - e[o]) ** 2))

    one = {"transe": transe, "distmult": distmult, "complex": complex_, "rotate": rotate}[kind]
    return lambda side, s, p, o: [one(*triple) for triple in zip(s, p, o)]


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset()


def saved(tmp_path, kind="transe", name="model.pt", **more):
    write_torch(tmp_path / name, state(kind) | more)
    return tmp_path / name


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value).replace(f"{path}: ", "")


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.light(2)
def test_scores_of_a_state_dict(dataset, tmp_path, kind):
    path = saved(tmp_path, kind)
    assert recognised(path) == ["pyg"]
    said = {"model": kind} if kind in ("transe", "distmult") else {}
    for norm in (1, 2) if kind == "transe" else (None,):
        model = load_model(path, dataset, **said, **({"norm": norm} if norm else {}))
        assert type(model).__name__ == CLASSES[kind]
        assert_scores(model, dataset, score(kind, state(kind), norm))
    assert "the model was read as a model of PyTorch Geometric (torch_geometric.nn.kge)" in model.notes


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.light(2)
def test_scores_of_a_whole_module(dataset, tmp_path, kind):
    """The class names the model, and the attribute p_norm the norm."""
    parameters = state(kind)
    name = f"torch_geometric.nn.kge.{CLASSES[kind].lower()}.{CLASSES[kind]}"
    modules = {key.split(".")[0]: fake_module("torch.nn.Embedding", {"weight": t}) for key, t in parameters.items()}
    path = tmp_path / "model.pt"
    write_torch(path, fake_module(name, modules=modules, p_norm=2.0, margin=1.0, num_nodes=N_E))
    assert recognised(path) == ["pyg"]
    assert_scores(load_model(path, dataset), dataset, score(kind, parameters, 2))
    if kind == "transe":
        model = load_model(path, dataset, norm=1)
        assert "the model file says norm='2.0'; the setting norm=1 replaced this" in model.notes
        assert_scores(model, dataset, score(kind, parameters, 1))
    write_torch(path, fake_module("mine.Model", modules=modules))
    said = failure(path, dataset)
    assert said.startswith(
        "contains a module of class mine.Model, which does not belong to PyTorch Geometric and may score"
    )
    if kind == "complex":
        assert_scores(load_model(path, dataset, model="complex"), dataset, score(kind, parameters))


def test_a_checkpoint_of_a_training(dataset, tmp_path):
    """Prefixes are removed, and the state of the optimizer is left out; a further tensor is not."""
    t = state("distmult")
    optimizer = {"state": {0: {"exp_avg": t["node_emb.weight"]}}, "node_emb.weight": t["node_emb.weight"]}
    content = {"epoch": 3, "model_state_dict": t, "optimizer_state_dict": optimizer}
    write_torch(tmp_path / "a.pt", content)
    assert recognised(tmp_path) == recognised(tmp_path / "a.pt") == ["pyg"]
    assert_scores(load_model(tmp_path, dataset, model="DistMult"), dataset, score("distmult", t))
    write_torch(tmp_path / "a.pt", content | {"node_bias": t["node_emb.weight"][:, 0]})
    assert "DistMult has no use for node_bias" in failure(tmp_path / "a.pt", dataset, model="distmult")
    write_torch(tmp_path / "a.pt", content | {"best": t})
    assert failure(tmp_path / "a.pt", dataset, model="distmult") == (
        "expected the tensors of one model, such as node_emb.weight; found 2 models (prefixes: best., "
        "model_state_dict.). Save the state dict of one model"
    )
    write_torch(tmp_path / "b.pt", t)
    assert failure(tmp_path, dataset, model="distmult") == (
        "2 files of the folder are checkpoints (a.pt, b.pt); give one of the files"
    )


def test_what_a_state_dict_does_not_say(dataset, tmp_path):
    """TransE and DistMult look alike; the norm of TransE is not in the file."""
    path = saved(tmp_path)
    assert failure(path, dataset) == (
        "its tensors may be those of TransE of PyTorch Geometric (model='transe') or DistMult of PyTorch Geometric "
        "(model='distmult'), which score differently; set model= (--model-type); transe "
        "needs norm= (--norm) too"
    )
    assert failure(path, dataset, model="transe") == (
        "TransE of PyTorch Geometric scores with the norm p_norm, which must be 1 or 2; a state dict does not contain "
        "it. Set norm= (--norm) to the p_norm of the training; PyTorch Geometric's default is 1"
    )
    assert "p_norm, which must be 1 or 2" in failure(path, dataset, model="transe", norm=3)
    assert failure(path, dataset, model="rotate").endswith("(model='distmult'); got model='rotate'")
    path = saved(tmp_path, "complex", "complex.pt")
    assert failure(path, dataset, model="distmult") == (
        "its tensors have the names and shapes of ComplEx of PyTorch Geometric (model='complex'); got model='distmult'"
    )


def test_raw_weights_score_otherwise(dataset, tmp_path):
    """The trap of this format: without the division by the norms, the scores are plausible and wrong."""
    path, t = saved(tmp_path), state("transe")
    s, p, o = random_triples()
    right = np.array(score("transe", t, 2)("object", s, p, o))
    e, r = t["node_emb.weight"].astype(float), t["rel_emb.weight"].astype(float)
    assert np.abs(right + np.linalg.norm(e[s] + r[p] - e[o], axis=1)).max() > 0.5
    model = load_model(path, dataset, model="transe", norm=2, normalise="none")  # said by the caller: said in the notes
    note = "the model file says normalise='entities-l2'; the setting normalise='none' replaced this"
    assert note in model.notes


def test_rows_without_names(tmp_path):
    """Rows are named by id files beside the model, by those of the dataset, or by the caller; else an error."""
    bare = labelled_dataset(dictionaries=False)
    path, t = saved(tmp_path, "complex"), state("complex")
    assert failure(path, bare).startswith("nothing says to which entities and relations the rows of its tables belong")
    (tmp_path / "ids").mkdir()
    write_ids(tmp_path / "ids")
    assert_scores(load_model(path, bare, ids=tmp_path / "ids"), bare, score("complex", t))
    write_ids(tmp_path)
    model = load_model(path, bare)
    note = "the rows of the model were read in the order of entity2id.txt and relation2id.txt beside it"
    assert note in model.notes
    assert_scores(model, bare, score("complex", t))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"node_emb.weight": np.ones((N_E, D, 1))}, "expected tables of one shape, two dimensions each; got"),
        ({"node_emb_im.weight": np.ones((N_E, 5))}, r"got node_emb.weight (8, 4), node_emb_im.weight (8, 5)"),
        ({"entities": np.ones(3)}, "contains a tensor 'entities', which no model of this tool has"),
        ({"bias.weight": np.ones((N_E, 1))}, "ComplEx has no use for bias.weight"),
        ({"rel_emb.weight": None}, "lacks the tensor rel_emb.weight; it contains"),
        ({"rel_emb.weight": np.ones((5, D)), "rel_emb_im.weight": np.ones((5, D))}, "relations has 5 rows, but"),
    ],
)
@pytest.mark.light(2)
def test_faulty_tensors(dataset, tmp_path, change, said):
    t = {name: tensor for name, tensor in (state("complex") | change).items() if tensor is not None}
    write_torch(tmp_path / "model.pt", t)
    assert said in failure(tmp_path / "model.pt", dataset)


@pytest.mark.thorough
@pytest.mark.parametrize("as_module", [False, True])
@pytest.mark.parametrize("kind", SHAPES)
def test_the_library_itself(dataset, tmp_path, kind, as_module):
    """PyTorch Geometric writes the file; the scores are those of its forward(), without RotatE's margin."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    kge = pytest.importorskip("torch_geometric.nn.kge", reason="needs PyTorch Geometric")
    torch.manual_seed(3)
    for norm in (1, 2) if kind == "transe" else (None,):
        options = {"p_norm": float(norm)} if norm else {}
        theirs = getattr(kge, CLASSES[kind])(N_E, N_R, D, **options)
        with torch.no_grad():
            theirs.node_emb.weight.mul_(1.7)  # vectors of other norms than 1

        def score_theirs(side, s, p, o, theirs=theirs):
            scores = theirs(*map(torch.as_tensor, (s, p, o))).detach().numpy()
            return scores - theirs.margin if kind == "rotate" else scores

        torch.save(theirs if as_module else theirs.state_dict(), tmp_path / "model.pt")
        said = {} if as_module or kind not in ("transe", "distmult") else {"model": kind}
        said |= {"norm": norm} if norm and not as_module else {}
        assert recognised(tmp_path / "model.pt") == ["pyg"]
        assert_scores(load_model(tmp_path / "model.pt", dataset, **said), dataset, score_theirs)


def test_safetensors(dataset, tmp_path):
    """A state dict is recognised whatever file it is in."""
    numpy = pytest.importorskip("safetensors.numpy", reason="needs kgeval[safetensors]")
    numpy.save_file(state("complex"), tmp_path / "model.safetensors")
    assert recognised(tmp_path / "model.safetensors") == ["pyg"]
    assert_scores(load_model(tmp_path, dataset), dataset, score("complex", state("complex")))
