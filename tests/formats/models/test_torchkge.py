"""Models of TorchKGE: the scores of its evaluator, and what a state dict does not say is asked for."""

import numpy as np
import pytest
from checkpoint_cases import N_E, N_R, assert_scores, labelled_dataset, recognised, tables
from torch_zip import Global, fake_module, write_torch

from kgeval import DataError, load_model

D = 4
CLASSES = {
    "transe": "TransEModel",
    "distmult": "DistMultModel",
    "hole": "HolEModel",
    "rescal": "RESCALModel",
    "complex": "ComplExModel",
    "analogy": "AnalogyModel",
}
PLAIN = {"ent_emb.weight": (N_E, D), "rel_emb.weight": (N_R, D)}
PARTS = {f"{part}_{kind}_emb.weight": (n, 3) for part in ("re", "im") for kind, n in (("ent", N_E), ("rel", N_R))}
SHAPES = {
    **dict.fromkeys(("transe", "distmult", "hole"), PLAIN),
    "rescal": {"ent_emb.weight": (N_E, D), "rel_mat.weight": (N_R, D * D)},
    "complex": PARTS,
    "analogy": {"sc_ent_emb.weight": (N_E, 2), "sc_rel_emb.weight": (N_R, 2), **PARTS},
}
AMBIGUOUS = ("transe", "distmult", "hole")


def state(kind, is_unit=True):
    t = tables(1, **SHAPES[kind])
    if is_unit and "ent_emb.weight" in t:
        t["ent_emb.weight"] /= np.linalg.norm(t["ent_emb.weight"], axis=1, keepdims=True)
    return t


def score(kind, t, norm=2, divided=True):
    """The formulas of TorchKGE, one triple at a time; the distance instead of its square."""

    def one(s, p, o):
        if kind in ("complex", "analogy"):
            e, r = (t[f"re_{k}_emb.weight"].astype(float) + 1j * t[f"im_{k}_emb.weight"] for k in ("ent", "rel"))
            scalars = [t[f"sc_{k}_emb.weight"] for k in ("ent", "rel") if kind == "analogy"]
            plain = sum(scalars[0][s] * scalars[1][p] * scalars[0][o]) if scalars else 0
            return sum(e[s] * r[p] * e[o].conj()).real + plain
        e = t["ent_emb.weight"].astype(float)
        e = e / np.linalg.norm(e, axis=1, keepdims=True) if divided else e
        if kind == "rescal":
            return e[s] @ t["rel_mat.weight"][p].reshape(D, D) @ e[o]
        r = t["rel_emb.weight"][p].astype(float)
        if kind == "hole":
            return sum(r[k] * e[s][i] * e[o][(i + k) % D] for i in range(D) for k in range(D))
        return sum(e[s] * r * e[o]) if kind == "distmult" else -np.linalg.norm(e[s] + r - e[o], ord=norm)

    return lambda side, s, p, o: [one(*triple) for triple in zip(s, p, o)]


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset()


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value).replace(f"{path}: ", "")


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.light(3)
def test_scores_of_a_state_dict(dataset, tmp_path, kind):
    path = tmp_path / "model.pt"
    write_torch(path, state(kind))
    assert recognised(path) == ["torchkge"]
    said = {"model": kind} if kind in AMBIGUOUS else {}
    for norm in (1, 2) if kind == "transe" else (None,):
        model = load_model(path, dataset, **said, **({"norm": norm} if norm else {}))
        assert type(model).__name__ == {"analogy": "ComplEx"}.get(kind, CLASSES[kind].removesuffix("Model"))
        assert_scores(model, dataset, score(kind, state(kind), norm))
        is_squared = any("TorchKGE's L2 dissimilarity is the squared distance" in note for note in model.notes)
        assert is_squared == (norm == 2)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.light(2)
def test_scores_of_a_whole_module(dataset, tmp_path, kind):
    """The class names the model, and the function of the attribute dissimilarity the norm."""
    t = state(kind)
    place = "translation" if kind == "transe" else "bilinear"
    modules = {key.split(".")[0]: fake_module("torch.nn.Embedding", {"weight": array}) for key, array in t.items()}
    for norm in (1, 2):
        function = Global("torchkge.utils.dissimilarities", f"l{norm}_dissimilarity")
        more = {"dissimilarity": function} if kind == "transe" else {}
        module = fake_module(f"torchkge.models.{place}.{CLASSES[kind]}", modules=modules, n_ent=N_E, **more)
        write_torch(tmp_path / "model.pt", module)
        model = load_model(tmp_path / "model.pt", dataset)
        assert_scores(model, dataset, score(kind, t, norm))
    if kind in ("transe", "complex"):
        write_torch(tmp_path / "model.pt", fake_module("mine.Model", modules=modules))
        assert "mine.Model, which does not belong to TorchKGE and may score" in failure(tmp_path / "model.pt", dataset)


def test_what_a_state_dict_does_not_say(dataset, tmp_path):
    path = tmp_path / "model.pt"
    write_torch(path, state("transe"))
    assert failure(path, dataset) == (
        "its tensors may be those of TransE of TorchKGE (model='transe') or DistMult of TorchKGE (model='distmult') or "
        "HolE of TorchKGE (model='hole'), which score differently; set model= (--model-type); transe "
        "needs norm= (--norm) too"
    )
    assert failure(path, dataset, model="transe") == (
        "does not contain the dissimilarity of TransE. Set norm=1 for dissimilarity_type='L1', or norm=2 for 'L2', the "
        "default of TorchKGE (--norm)"
    )
    assert failure(path, dataset, model="complex").endswith("(model='hole'); got model='complex'")


@pytest.mark.parametrize("kind", ["transe", "distmult", "hole", "rescal"])
@pytest.mark.light(2)
def test_vectors_that_were_not_normalised(dataset, tmp_path, kind):
    """Without normalize_parameters() TorchKGE scores in two ways; neither is taken without a word."""
    t = state(kind, is_unit=False)
    path = tmp_path / "model.pt"
    write_torch(path, t)
    said = {"model": kind} | ({"norm": 2} if kind == "transe" else {})
    message = failure(path, dataset, **said)
    row_norm = np.linalg.norm(t["ent_emb.weight"][0].astype(float))
    assert message.startswith(
        "the vectors of entities should have the norm 1, as after TorchKGE's normalize_parameters(), but row 0 has the "
        f"norm {row_norm:.4g}. In training TorchKGE divides the vectors by their norms, in its evaluator it does not"
    )
    if kind != "transe":
        assert message.endswith("Call model.normalize_parameters() and save the model again")
        return
    assert message.endswith(
        "Set normalise='entities-l2' to use the score of the training (scoring_function), or normalise='none' to use "
        "the score of the evaluator (--normalise)"
    )
    for normalise, divided in (("entities-l2", True), ("none", False)):
        model = load_model(path, dataset, **said, normalise=normalise)
        assert_scores(model, dataset, score(kind, t, 2, divided))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("norm_vect.weight", "TransH"),
        ("proj_mat.weight", "TransR"),
        ("ent_proj_vect.weight", "TransD"),
        ("convlayer.0.weight", "ConvKB"),
    ],
)
@pytest.mark.light(2)
def test_models_that_are_refused_by_name(dataset, tmp_path, name, model):
    path = tmp_path / "model.pt"
    write_torch(path, state("transe") | {name: np.ones((N_R, D), np.float32)})
    assert recognised(path) == ["torchkge"]
    start = f"is TorchKGE's {model} (tensor {name}), which is not among kgeval.models (transe,"
    assert failure(path, dataset, model="transe", norm=2).startswith(start)
    write_torch(path, state("transe"))
    assert failure(path, dataset, model="TorusE").startswith("is TorchKGE's TorusE, which is not among kgeval.models")
    weight = {"weight": state("transe")["ent_emb.weight"]}
    modules = {"ent_emb": fake_module("torch.nn.Embedding", weight)}
    write_torch(path, fake_module("torchkge.models.translation.TorusEModel", modules=modules))
    assert failure(path, dataset).startswith("is TorchKGE's TorusE, which is not among kgeval.models")


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        (
            "rescal",
            {"rel_mat.weight": np.ones((N_R, D))},
            "rel_mat.weight must have 4 * 4 columns, as entities have 4;",
        ),
        ("analogy", {"sc_ent_emb.weight": np.ones((2, 2))}, "sc_ent_emb.weight must have 8 rows, as re_ent_emb.weight"),
        ("complex", {"im_rel_emb.weight": None}, "lacks the tensor im_rel_emb.weight; it contains"),
        ("complex", {"ent_bias.weight": np.ones((N_E, 1))}, "ComplEx has no use for ent_bias.weight"),
        ("distmult", {"ent_emb.weight": np.ones(3)}, "ent_emb.weight must be a table; got shape (3,)"),
        ("distmult", {"rel_emb.weight": None}, "lacks the tensor rel_emb.weight"),
    ],
)
@pytest.mark.light(2)
def test_faulty_tensors(dataset, tmp_path, kind, change, said):
    t = {name: tensor for name, tensor in (state(kind) | change).items() if tensor is not None}
    write_torch(tmp_path / "model.pt", t)
    assert said in failure(tmp_path / "model.pt", dataset, **({"model": kind} if kind in AMBIGUOUS else {}))


@pytest.mark.thorough
@pytest.mark.parametrize("as_module", [False, True])
@pytest.mark.parametrize("kind", SHAPES)
def test_the_library_itself(dataset, tmp_path, kind, as_module):
    """TorchKGE writes the file; the scores are those of scoring_function and of the evaluator's functions."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    models = pytest.importorskip("torchkge.models", reason="needs TorchKGE")
    torch.manual_seed(3)
    for norm in (1, 2) if kind == "transe" else (None,):
        more = {"dissimilarity_type": f"L{norm}"} if norm else {"scalar_share": 0.5} if kind == "analogy" else {}
        theirs = getattr(models, CLASSES[kind])(D, n_entities=N_E, n_relations=N_R, **more)

        def as_distance(scores, norm=norm):
            return -np.sqrt(-scores) if norm == 2 else scores

        def score_training(side, s, p, o, theirs=theirs):
            s, p, o = map(torch.as_tensor, (s, p, o))
            return as_distance(theirs.scoring_function(s, o, p).detach().numpy())

        def score_evaluator(side, s, p, o, theirs=theirs):
            s, p, o = map(torch.as_tensor, (s, p, o))
            h, t, r, candidates = theirs.inference_prepare_candidates(s, o, p, entities=True)
            given = (candidates, t, r) if side == "subject" else (h, candidates, r)
            scores = theirs.inference_scoring_function(*given).detach().numpy()
            return as_distance(scores[np.arange(len(s)), s if side == "subject" else o])

        torch.save(theirs if as_module else theirs.state_dict(), tmp_path / "model.pt")
        said = {} if as_module or kind not in AMBIGUOUS else {"model": kind}
        said |= {"norm": norm} if norm and not as_module else {}
        assert recognised(tmp_path / "model.pt") == ["torchkge"]
        model = load_model(tmp_path / "model.pt", dataset, **said)
        assert_scores(model, dataset, score_training)
        assert_scores(model, dataset, score_evaluator)
