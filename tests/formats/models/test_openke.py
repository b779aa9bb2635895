"""Models of OpenKE: the opposite of what its predict() returns, from state dicts and JSON files.

OpenKE's PyTorch version is not on PyPI. The files here are made by stand-ins: arrays under OpenKE's names, and the
formulas of its classes written as loops.
"""

import json

import numpy as np
import pytest
from checkpoint_cases import N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables, write_ids
from torch_zip import fake_module, write_torch

from kgeval import DataError, Dataset, load_model

D = 4
PLAIN = {"ent_embeddings.weight": (N_E, D), "rel_embeddings.weight": (N_R, D)}
PARTS = {
    f"{kind}_{part}_embeddings.weight": (n, D) for part in ("re", "im") for kind, n in (("ent", N_E), ("rel", N_R))
}
SHAPES = {
    **dict.fromkeys(("TransE", "DistMult", "HolE"), PLAIN),
    "RotatE": {"ent_embeddings.weight": (N_E, 2 * D), "rel_embeddings.weight": (N_R, D)},
    "RESCAL": {"ent_embeddings.weight": (N_E, D), "rel_matrices.weight": (N_R, D * D)},
    "ComplEx": PARTS,
    "SimplE": {**PLAIN, "rel_inv_embeddings.weight": (N_R, D)},
    "Analogy": {**PARTS, "ent_embeddings.weight": (N_E, 2 * D), "rel_embeddings.weight": (N_R, 2 * D)},
}
KGEVAL = {"SimplE": "DistMult", "Analogy": "ComplEx"}
AMBIGUOUS = ("TransE", "DistMult", "HolE")
CONSTANTS = {"zero_const": np.zeros(1, np.float32), "pi_const": np.array([np.pi], np.float32)}
RANGE = np.array([0.08], np.float32)  # (margin + epsilon) / dim
ROTATE = {
    "ent_embedding_range": RANGE / 2,
    "rel_embedding_range": RANGE,
    "margin": np.array([6.0], np.float32),
}


def state(kind):
    """What state_dict() returns, the constants first."""
    t = tables(2, **SHAPES[kind])
    if kind == "RotatE":
        t["rel_embeddings.weight"] *= RANGE / 2
    return CONSTANTS | t | (ROTATE if kind == "RotatE" else {})


def predict(kind, t, norm=1, norm_flag=True):
    """The formula of OpenKE's predict(), one triple at a time; lower is better."""

    def product(e, r):
        return lambda s, p, o: sum(e[s] * r[p] * e[o].conj()).real

    if kind in ("ComplEx", "Analogy"):
        e, r = (
            t[f"{k}_re_embeddings.weight"].astype(float) + 1j * t[f"{k}_im_embeddings.weight"] for k in ("ent", "rel")
        )
        plain = [t[f"{k}_embeddings.weight"].astype(float) for k in ("ent", "rel") if kind == "Analogy"]
        if kind == "ComplEx":
            return lambda s, p, o: -product(e, r)(s, p, o)
        return lambda s, p, o: product(e, r)(s, p, o) + product(*plain)(s, p, o)
    e = t["ent_embeddings.weight"].astype(float)
    if kind == "RESCAL":
        return lambda s, p, o: e[s] @ t["rel_matrices.weight"][p].reshape(D, D) @ e[o]
    r = t["rel_embeddings.weight"].astype(float)
    if kind == "RotatE":
        phases = r / (float(RANGE[0]) / np.pi)
        c = e[:, :D] + 1j * e[:, D:]
        return lambda s, p, o: sum(abs(c[s] * np.exp(1j * phases[p]) - c[o]))
    if kind == "HolE":
        return lambda s, p, o: -sum(r[p][k] * e[s][i] * e[o][(i + k) % D] for i in range(D) for k in range(D))
    if kind == "TransE":
        if norm_flag:
            e, r = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (e, r))
        return lambda s, p, o: np.linalg.norm(e[s] + r[p] - e[o], ord=norm)
    return lambda s, p, o: -product(e, r)(s, p, o)  # DistMult, and SimplE without its inverse relations


def score(kind, t, **options):
    """Higher is better: the opposite of predict(); RESCAL is trained the other way round."""
    sign, one = (1 if kind == "RESCAL" else -1), predict(kind, t, **options)
    return lambda side, s, p, o: [sign * one(*triple) for triple in zip(s, p, o)]


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset()


def write_json(path, t):
    path.write_text(json.dumps({name: array.tolist() for name, array in t.items()}))


def settings(kind):
    said = {"model": kind} if kind in AMBIGUOUS else {}
    return said | ({"norm": 1, "normalise": "all-l2"} if kind == "TransE" else {})


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value).replace(f"{path}: ", "")


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.light(2)
def test_scores(dataset, tmp_path, kind):
    t = state(kind)
    write_torch(tmp_path / "model.ckpt", t)
    write_json(tmp_path / "model.json", t)
    for name in ("model.ckpt", "model.json"):
        assert recognised(tmp_path / name) == ["openke"]
        model = load_model(tmp_path / name, dataset, **settings(kind))
        assert type(model).__name__ == KGEVAL.get(kind, kind)
        assert_scores(model, dataset, score(kind, t))
        assert "the model was read as a model of OpenKE" in model.notes
        assert any(f"OpenKE's {kind}" in note for note in model.notes) == (kind in ("RESCAL", "Analogy", "SimplE"))
    for norm in (1, 2) if kind == "TransE" else ():
        for normalise, flag in (("all-l2", True), ("none", False)):
            model = load_model(tmp_path / "model.ckpt", dataset, model=kind, norm=norm, normalise=normalise)
            assert_scores(model, dataset, score(kind, t, norm=norm, norm_flag=flag))


def test_what_the_file_does_not_say(dataset, tmp_path):
    """p_norm and norm_flag change the scores (.5914 for .5557 with the weights as they are); neither is assumed."""
    path = tmp_path / "transe.ckpt"
    write_torch(path, state("TransE"))
    assert failure(path, dataset) == (
        "its tensors may be those of TransE of OpenKE (model='transe') or DistMult of OpenKE (model='distmult') or "
        "HolE of OpenKE (model='hole'), which score differently; set model= (--model-type); transe "
        "needs norm= (--norm) too"
    )
    asked = (
        "the file does not contain p_norm and norm_flag of OpenKE's TransE, which change the scores. Set norm=1 or "
        "norm=2 to p_norm (--norm; 1 is OpenKE's default), and normalise='all-l2' for norm_flag=True (OpenKE's "
        "default), normalise='none' for norm_flag=False (--normalise)"
    )
    for said in ({}, {"norm": 1}, {"normalise": "all-l2"}):
        assert failure(path, dataset, model="transe", **said) == asked
    assert failure(path, dataset, model="transe", norm=1, normalise="entities-l2") == (
        "OpenKE's TransE divides all vectors by their L2 norms (normalise='all-l2', norm_flag=True) or none "
        "(normalise='none'); got normalise='entities-l2'"
    )


def test_the_constants_tell_some_models_apart(dataset, tmp_path):
    """Only TransE saves its margin; DistMult and HolE save the range of their initial values without it."""
    path, embedding_range = tmp_path / "model.ckpt", {"embedding_range": RANGE}
    write_torch(path, state("TransE") | embedding_range | {"margin": RANGE})
    assert failure(path, dataset).startswith("the file does not contain p_norm and norm_flag of OpenKE's TransE")
    assert failure(path, dataset, model="distmult").endswith("TransE of OpenKE (model='transe'); got model='distmult'")
    write_torch(path, state("DistMult") | embedding_range)
    assert "those of DistMult of OpenKE (model='distmult') or HolE of OpenKE (model='hole')" in failure(path, dataset)
    write_torch(path, state("SimplE"))
    assert failure(path, dataset, model="simple").endswith("SimplE of OpenKE (model='distmult'); got model='simple'")


def test_phases_have_a_unit_of_their_own(dataset, tmp_path):
    """As radians the phases would all be small: a plausible and wrong score. The unit is read from the file."""
    t = state("RotatE")
    write_torch(tmp_path / "model.ckpt", t)
    model = load_model(tmp_path / "model.ckpt", dataset)
    assert "phases in units of 39.2699 radians" in model.description  # pi / 0.08
    for wrong in (np.zeros(1), np.ones(2), np.array([np.nan])):
        write_torch(tmp_path / "model.ckpt", t | {"rel_embedding_range": wrong})
        assert "rel_embedding_range must be one number above 0" in failure(tmp_path / "model.ckpt", dataset)


def test_a_whole_module(dataset, tmp_path):
    """Its attributes say p_norm and norm_flag."""
    t, path = state("TransE"), tmp_path / "model.pt"
    modules = {name.split(".")[0]: fake_module("torch.nn.Embedding", {"weight": t[name]}) for name in SHAPES["TransE"]}
    for norm, flag in ((1, True), (2, False)):
        more = {"p_norm": norm, "norm_flag": flag}
        write_torch(path, fake_module("openke.module.model.TransE.TransE", CONSTANTS, modules=modules, **more))
        assert recognised(path) == ["openke"]
        assert_scores(load_model(path, dataset), dataset, score("TransE", t, norm=norm, norm_flag=flag))
    assert (
        "the model file says normalise='none'; the setting normalise='all-l2' replaced this"
        in load_model(path, dataset, normalise="all-l2").notes
    )
    write_torch(path, fake_module("openke.module.model.TransE.TransE", CONSTANTS, modules=modules, p_norm=3))
    said = "is OpenKE's TransE with p_norm=3, which is not among kgeval.models"
    assert failure(path, dataset, norm=1, normalise="none").startswith(said)
    write_torch(path, fake_module("openke.module.model.TransR.TransR", CONSTANTS, modules=modules))
    assert failure(path, dataset).startswith("is OpenKE's TransR, which is not among kgeval.models")


def test_names_of_the_tensorflow_versions(dataset, tmp_path):
    t = {name.removesuffix(".weight"): array for name, array in state("DistMult").items() if "embeddings" in name}
    write_json(tmp_path / "embedding.vec.json", t)
    assert recognised(tmp_path / "embedding.vec.json") == ["openke"]
    model = load_model(tmp_path / "embedding.vec.json", dataset, model="distmult")
    assert_scores(model, dataset, score("DistMult", state("DistMult")))


def test_folders_and_id_files(tmp_path):
    bare, t = labelled_dataset(dictionaries=False), state("ComplEx")
    write_torch(tmp_path / "complex.ckpt", t)
    assert recognised(tmp_path) == ["openke"]
    assert failure(tmp_path / "complex.ckpt", bare).startswith("nothing says to which entities and relations the rows")
    write_ids(tmp_path)
    model = load_model(tmp_path, bare)
    assert_scores(model, bare, score("ComplEx", t))
    assert "the rows of the model were read in the order of entity2id.txt and relation2id.txt beside it" in model.notes
    write_json(tmp_path / "complex.json", t)
    assert failure(tmp_path, bare) == (
        "expected one file of parameters of OpenKE in the folder, found complex.ckpt, complex.json; give the file"
    )
    fewer = Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=["delta", "nobody"], relation_labels=RELATIONS)
    assert load_model(tmp_path / "complex.ckpt", fewer).missing_entities.tolist() == [1]  # matched by label


@pytest.mark.parametrize(
    ("name", "model"), [("norm_vector", "TransH"), ("transfer_matrix", "TransR"), ("ent_transfer", "TransD")]
)
def test_models_that_are_refused_by_name(dataset, tmp_path, name, model):
    path = tmp_path / "model.ckpt"
    write_torch(path, state("TransE") | {f"{name}.weight": np.ones((N_R, D), np.float32)})
    assert recognised(path) == ["openke"]
    assert failure(path, dataset, model="transe").startswith(
        f"is OpenKE's {model} (tensor {name}.weight), which is not among kgeval.models (transe,"
    )


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("RESCAL", {"rel_matrices.weight": np.ones((N_R, D))}, "rel_matrices.weight must have 4 * 4 columns"),
        (
            "Analogy",
            {"rel_embeddings.weight": np.ones((1, 8))},
            "rel_embeddings.weight must have 3 rows, as rel_re_emb",
        ),
        ("Analogy", {"rel_embeddings.weight": None}, "must have 3 rows, as rel_re_embeddings.weight has; got no such"),
        ("ComplEx", {"ent_bias.weight": np.ones((N_E, 1))}, "ComplEx has no use for ent_bias.weight"),
        ("DistMult", {"rel_embeddings.weight": None}, "lacks the tensor rel_embeddings.weight"),
        ("DistMult", {"entities": np.ones(3)}, "contains a tensor 'entities'"),
    ],
)
@pytest.mark.light(2)
def test_faulty_tensors(dataset, tmp_path, kind, change, said):
    t = {name: tensor for name, tensor in (state(kind) | change).items() if tensor is not None}
    write_torch(tmp_path / "model.ckpt", t)
    assert said in failure(tmp_path / "model.ckpt", dataset, **settings(kind))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"zero_const": [0.0], "ent_embeddings.weight": [[1.0, 2.0], [3.0]]}', "must be lists of numbers, all of one"),
        ('{"zero_const": [0.0], "ent_embeddings.weight": [["1"]]}', "'ent_embeddings.weight' must be lists of numbers"),
        ('{"zero_const": [0.0], "ent_embeddings.weight": 1.5}', "'ent_embeddings.weight' must be lists of numbers"),
        ('{"zero_const": [0.0], "zero_const": [1.0]}', "contains 'zero_const' twice"),
        ('{"zero_const": [0.0], "ent_embeddings.weight": [[1.0', "not JSON (Expecting"),
        ('{"zero_const": [0.0]}', "expected the tensors of one model, such as ent_embeddings.weight; found 0 models"),
    ],
)
@pytest.mark.light(2)
def test_faulty_json(dataset, tmp_path, text, said):
    path = tmp_path / "model.json"
    path.write_text(text)
    assert recognised(path) == ["openke"]
    assert said in failure(path, dataset)


def test_other_json_is_not_recognised(tmp_path):
    for text in (
        '{"pipeline": {}}',
        '{"model": "RotatE"}',
        "[1]",
        "",
        '{"ent_embeddings": 3}',
        '{"a": "ent_embeddings"}',
    ):
        (tmp_path / "other.json").write_text(text)
        assert "openke" not in recognised(tmp_path / "other.json"), text
        assert "openke" not in recognised(tmp_path)


def test_a_checkpoint_of_an_old_torch(dataset, tmp_path):
    """Files before torch 1.6 are no zip files; the message says how to write them again."""
    path = tmp_path / "transe.ckpt"
    path.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.")
    assert recognised(path) == ["openke"]
    assert failure(path, dataset).startswith("a torch file of the format before torch 1.6, which is not read. If you")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", SHAPES)
def test_files_that_torch_writes(dataset, tmp_path, kind):
    """A stand-in for OpenKE: modules with its names; torch writes the file and computes the scores of _calc."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, array in state(kind).items():
                if name.endswith(".weight"):
                    embedding = torch.nn.Embedding.from_pretrained(torch.as_tensor(array), freeze=False)
                    setattr(self, name.removesuffix(".weight"), embedding)
                else:
                    setattr(self, name, torch.nn.Parameter(torch.as_tensor(array), requires_grad=False))

    def score_torch(side, s, p, o):
        look = {name: module.weight.detach() for name, module in theirs.named_children()}

        def rows(name, ids):
            return look[name][torch.as_tensor(ids)]

        if kind in ("ComplEx", "Analogy"):
            h_re, h_im, t_re, t_im = (rows(f"ent_{part}_embeddings", ids) for ids in (s, o) for part in ("re", "im"))
            r_re, r_im = (rows(f"rel_{part}_embeddings", p) for part in ("re", "im"))
            total = (h_re * t_re * r_re + h_im * t_im * r_re + h_re * t_im * r_im - h_im * t_re * r_im).sum(-1)
            if kind == "ComplEx":
                return total
            return -total - (rows("ent_embeddings", s) * rows("ent_embeddings", o) * rows("rel_embeddings", p)).sum(-1)
        h, t = rows("ent_embeddings", s), rows("ent_embeddings", o)
        if kind == "RESCAL":
            return (h * (rows("rel_matrices", p).view(-1, D, D) @ t[:, :, None])[:, :, 0]).sum(-1)
        r = rows("rel_embeddings", p)
        if kind == "RotatE":
            phase = r / (theirs.rel_embedding_range.item() / theirs.pi_const)
            (h_re, h_im), (t_re, t_im) = h.chunk(2, -1), t.chunk(2, -1)
            re = h_re * phase.cos() - h_im * phase.sin() - t_re
            im = h_re * phase.sin() + h_im * phase.cos() - t_im
            return -torch.stack([re, im]).norm(dim=0).sum(-1)
        if kind == "HolE":
            correlation = torch.fft.irfft(torch.fft.rfft(h).conj() * torch.fft.rfft(t), n=D)
            return (correlation * r).sum(-1)
        if kind == "TransE":
            h, r, t = (torch.nn.functional.normalize(part, 2, -1) for part in (h, r, t))
            return -torch.norm(h + r - t, 1, -1)
        return (h * r * t).sum(-1)

    theirs = Model()
    torch.save(theirs.state_dict(), tmp_path / "model.ckpt")
    lists = {name: tensor.numpy().tolist() for name, tensor in theirs.state_dict().items()}
    (tmp_path / "model.json").write_text(json.dumps(lists))
    for name in ("model.ckpt", "model.json"):
        assert recognised(tmp_path / name) == ["openke"]
        assert_scores(load_model(tmp_path / name, dataset, **settings(kind)), dataset, score_torch)
