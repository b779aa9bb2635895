"""Modules, state dicts and folders of PyKEEN: its scores, its row order, its settings, and what is refused.

The light tests fabricate pickled modules without PyKEEN and compare with formulas written as loops; the thorough tests
compare with PyKEEN itself and with published folders.
"""

import gzip
import json
import math
import pickle
import sys
from collections import OrderedDict

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised
from grids import thinned
from model_cases import complex_ as complex_loop
from model_cases import (
    cp,
    hole,
    quate,
    rescal,
    rotate_2,
    side_scores,
    simple,
    simple_of_pykeen,
    transe_1,
    transe_2,
    tucker,
)
from model_cases import distmult as distmult_loop
from torch_zip import Fake, Global, Parameter, fake_module, write_torch

import kgeval
from kgeval import DataError, Dataset, load_model
from kgeval.formats.checkpoints.pykeen_tensors import quaternion_table

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

MODULES = "pykeen.nn.modules."
NEW, OLD = "pykeen.nn.representation.Embedding", "pykeen.nn.emb.Embedding"
FUNCTION = "Evaluate a function that calls PyKEEN to score triples (kgeval help models)"
CLASSES = {
    "transe": "trans_e.TransE",
    "distmult": "distmult.DistMult",
    "complex": "complex.ComplEx",
    "rotate": "rotate.RotatE",
    "rescal": "rescal.RESCAL",
    "tucker": "tucker.TuckER",
    "hole": "hole.HolE",
    "cp": "cp.CP",
    "simple": "simple.SimplE",
    "quate": "quate.QuatE",
}
D = 4
SHAPES = {  # of a row: of each table of entities, then of each table of relations
    "rescal": [(D,), (D, D)],
    "tucker": [(D,), (3,)],
    "cp": [(2, D), (2, D), (2, D)],
    "simple": [(D,)] * 4,
    "quate": [(D, 4), (D, 4)],
}
N_ENTITY_TABLES = {"cp": 2, "simple": 2}


def rows_of(kind, inverse, seed=3):
    """Random tables of a model, (rows, all numbers of a row) each: those of entities, then those of relations."""
    rng = np.random.default_rng(seed)
    shapes, n = SHAPES.get(kind, [(D,), (D,)]), N_ENTITY_TABLES.get(kind, 1)
    width = 2 if kind in ("complex", "rotate") else 1
    n_rows = [N_E] * n + [N_R * (2 if inverse else 1)] * (len(shapes) - n)
    tables = [rng.normal(size=(rows, width * math.prod(shape))) for rows, shape in zip(n_rows, shapes)]
    if kind == "rotate":
        turns = rng.uniform(-3, 3, (n_rows[1], D))
        tables[1] = np.stack([np.cos(turns), np.sin(turns)], axis=2).reshape(n_rows[1], -1)
    return [table.astype(np.float32) for table in tables]


def norms_of(seed=5):
    """The two batch normalisations of TuckER: weight, bias, mean and variance of each."""
    rng = np.random.default_rng(seed)
    return [[*rng.normal(size=(3, D)).astype(np.float32), rng.uniform(0.5, 2, D).astype(np.float32)] for _ in range(2)]


def core_of(seed=6):
    return np.random.default_rng(seed).normal(size=(D, 3, D)).astype(np.float32)


def table_module(table, shape, kind=NEW, **attributes):
    """A pickled table of PyKEEN."""
    inner = fake_module("torch.nn.modules.sparse.Embedding", {"weight": table}, max_norm=None)
    plain = {"max_id": len(table), "shape": shape, "is_complex": False, "normalizer": None, "dropout": None}
    return fake_module(kind, modules={"_embeddings": inner}, **(plain | attributes))


def batch_norm(values, eps=1e-5):
    weight, bias, mean, var = values
    buffers = {"running_mean": mean, "running_var": var, "num_batches_tracked": np.array(7)}
    parameters = {"weight": weight, "bias": bias}
    return fake_module("torch.nn.modules.batchnorm.BatchNorm1d", parameters, buffers, eps=eps, affine=True)


def interaction_of(kind, norms=True, **attributes):
    """The pickled interaction of PyKEEN 1.11."""
    names = {"transe": "TransE", "rescal": "RESCAL", "hole": "HolE", "cp": "CP", "simple": "SimplE", "quate": "QuatE"}
    names |= {"distmult": "DistMult", "complex": "ComplEx", "rotate": "RotatE", "tucker": "TuckER"}
    name = f"{MODULES}{names[kind]}Interaction"
    if kind == "transe":
        return fake_module(name, **({"p": 1, "power_norm": False} | attributes))
    if kind == "rotate":
        return fake_module(name, **({"p": 2, "power_norm": False} | attributes))
    if kind == "quate":
        return fake_module(name, buffers={"table": quaternion_table().astype(np.float32)}, **attributes)
    if kind == "tucker":
        eps = attributes.pop("eps", 1e-5)
        names = ("head_batch_norm", "head_relation_batch_norm")
        modules = {bn: batch_norm(values, eps) for bn, values in zip(names, norms_of())} if norms else {}
        modules["head_dropout"] = fake_module("torch.nn.modules.dropout.Dropout", p=0.3)
        return fake_module(name, {"core_tensor": core_of()}, modules=modules, core_initializer=None, **attributes)
    if kind == "simple":
        clamp = attributes.pop("clamp_score", None)
        base = fake_module(name, modules={"base": fake_module(f"{MODULES}DistMultInteraction")}, **attributes)
        return fake_module(f"{MODULES}ClampedInteraction", modules={"base": base}, clamp_score=clamp)
    return fake_module(name, **attributes)


def model_module(kind, tables, inverse, interaction=None, name=None, tables_as=None, modules=(), **attributes):
    """A pickled model of PyKEEN 1.11."""
    n, extra = N_ENTITY_TABLES.get(kind, 1), tables_as or {}
    shapes = SHAPES.get(kind, [(D,), (D,)])
    if kind in ("complex", "rotate"):
        extra = {"is_complex": True} | extra
    made = []
    for i, (table, shape) in enumerate(zip(tables, shapes)):
        is_rotation = kind == "quate" and i >= n
        normalizer = {"normalizer": Global("pykeen.nn.quaternion", "normalize")} if is_rotation else {}
        made.append(table_module(table, **({"shape": shape} | normalizer | extra)))
    lists = {
        f"{what}_representations": fake_module(
            "torch.nn.modules.container.ModuleList", modules={str(i): part for i, part in enumerate(parts)}
        )
        for what, parts in (("entity", made[:n]), ("relation", made[n:]))
    }
    loss = fake_module("pykeen.losses.MarginRankingLoss", {"weight": np.ones(3, dtype=np.float32)}, margin=1.0)
    inner = {"loss": loss, "interaction": interaction or interaction_of(kind), **lists, **dict(modules)}
    plain = {
        "use_inverse_triples": inverse,
        "num_relations": len(tables[n]),
        "relation_inverter": Fake("pykeen.inverse.DefaultRelationInverter"),
        "predict_with_sigmoid": False,
    }
    return fake_module(name or f"pykeen.models.unimodal.{CLASSES[kind]}", modules=inner, **(plain | attributes))


def write_labels(folder, entities=ENTITIES, relations=RELATIONS):
    """The files of labels that PyKEEN writes with pandas, packed; the ids are the positions."""
    training = folder / "training_triples"
    training.mkdir(parents=True, exist_ok=True)
    for name, labels in (("entity_to_id", entities), ("relation_to_id", relations)):
        text = "".join(f"{i}\t{label}\n" for i, label in enumerate(labels))
        with gzip.open(training / f"{name}.tsv.gz", "wt", encoding="utf-8", newline="") as file:
            file.write(f"id\tlabel\n{text}")


def saved(folder, module, labels=True, name="trained_model.pkl"):
    """A folder with a module and, by default, with its labels."""
    folder.mkdir(parents=True, exist_ok=True)
    write_torch(folder / name, module)
    if labels:
        write_labels(folder)
    return folder


def state_of(kind, tables, extra=None):
    """The state dict of a model of PyKEEN 1.11."""
    n = N_ENTITY_TABLES.get(kind, 1)
    names = [f"entity_representations.{i}" for i in range(n)]
    names += [f"relation_representations.{i}" for i in range(len(tables) - n)]
    state = {f"{name}._embeddings.weight": table for name, table in zip(names, tables)}
    return OrderedDict(state | (extra or {}))


def failure(path, dataset, **settings):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **settings)
    return str(caught.value)


def halves(table, n_parts=2):
    """The columns of an interleaved table, all first parts first, as the loops take them."""
    return np.concatenate([table[:, part::n_parts] for part in range(n_parts)], axis=1).astype(float).tolist()


def loop_of(kind, tables, clamp=None, norms=True, p=1):
    """The score of (row of s, row of the relation, row of o) by loops over single numbers."""
    first, last = tables[0], tables[-1]
    if kind in ("cp", "simple"):
        names = ("subjects", "objects", "relations", "relations_inverse")
        t = {name: table.astype(float).tolist() for name, table in zip(names, tables)}
    elif kind in ("complex", "rotate"):
        t = {"entities": halves(first), "relations": halves(last)}
    elif kind == "quate":
        t = {"entities": halves(first, 4), "relations": halves(last, 4)}
    else:
        t = {"entities": first.astype(float).tolist(), "relations": last.astype(float).tolist()}
    if kind == "rescal":
        t["relations"] = last.reshape(-1, D, D).astype(float).tolist()
    if kind == "tucker":
        t["core"] = core_of().astype(float).tolist()
        if norms:
            both = [([*map(np.ndarray.tolist, values)], 1e-5) for values in norms_of()]
            t |= {name: (*values, eps) for name, (values, eps) in zip(("subject_norm", "product_norm"), both)}
    formula = {
        "transe": transe_1 if p == 1 else transe_2,
        "distmult": distmult_loop,
        "complex": complex_loop,
        "rotate": rotate_2,
        "rescal": rescal,
        "tucker": tucker,
        "hole": hole,
        "cp": cp,
        "simple": simple_of_pykeen,
        "quate": lambda *row: -quate(*row),
    }[kind]

    def score(s, r, o):
        value = formula(t, s, r, o)
        return value if clamp is None else min(max(value, clamp[0]), clamp[1])

    return score


def by_side(score, inverse):
    """Scores as PyKEEN predicts them: with inverse relations, subjects of p are objects of the row 2 * p + 1."""

    def scores(side, s, p, o):
        triples = zip(s.tolist(), p.tolist(), o.tolist())
        if not inverse:
            return [score(*triple) for triple in triples]
        if side == "object":
            return [score(s, 2 * p, o) for s, p, o in triples]
        return [score(o, 2 * p + 1, s) for s, p, o in triples]

    return scores


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("kind", thinned(CLASSES, 2))
def test_a_module_of_each_model(tmp_path, kind, inverse):
    """Tables, settings and inverse relations come from the module alone; rows are matched by label."""
    dataset, tables = labelled_dataset(dictionaries=False), rows_of(kind, inverse)
    folder = saved(tmp_path / "run", model_module(kind, tables, inverse))
    model = load_model(folder, dataset)
    assert type(model).__name__.lower() == kind
    assert model.inverse_relations == ("alternating" if inverse else None)
    assert_scores(model, dataset, by_side(loop_of(kind, tables), inverse))
    assert "the model was read as a model of PyKEEN" in model.notes
    assert (
        "the rows of the model were read in the order of training_triples/{entity_to_id,relation_to_id}.tsv.gz"
        in model.notes
    )
    assert recognised(folder) == recognised(folder / "trained_model.pkl") == ["pykeen"]


def test_the_inverse_of_a_relation_is_the_next_row(tmp_path):
    """S12: inverse rows read as if they came after all relations give other scores."""
    dataset, tables = labelled_dataset(), rows_of("transe", True)
    folder = saved(tmp_path / "run", model_module("transe", tables, True))
    model, wrong = load_model(folder, dataset), load_model(folder, dataset, inverse_relations="after")
    p = dataset.relations.ids(["R"])  # row 2 * 2 of the file
    s, o = dataset.entities.ids(["delta"]), dataset.entities.ids(["alpha"])
    expected = -np.abs(tables[0][0].astype(float) + tables[1][4] - tables[0][1]).sum()
    assert model.score(s, p, o)[0] == pytest.approx(expected, rel=1e-6)
    assert wrong.score(s, p, o)[0] != pytest.approx(expected, rel=1e-3)
    said = "the model file says inverse_relations='alternating'; the setting inverse_relations='after' replaced this"
    assert said in wrong.notes


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"p": 1}, "TransE, L1"),
        ({"p": 2}, "TransE, L2"),
        ({"p": 2.0}, "TransE, L2"),
        ({"p": 1, "power_norm": True}, "TransE, L1"),
        ({"p": 2, "power_norm": True}, "TransE, squared L2"),
    ],
)
@pytest.mark.light(3)
def test_norms_of_transe(tmp_path, attributes, words):
    dataset, tables = labelled_dataset(), rows_of("transe", False)
    interaction = interaction_of("transe", **attributes)
    model = load_model(saved(tmp_path, model_module("transe", tables, False, interaction)), dataset)
    assert model.description == f"{words}, 4 dimensions, no inverse relations"
    power = 2 if "squared" in words else 1
    loop = loop_of("transe", tables, p=int(attributes["p"]))
    assert_scores(model, dataset, by_side(lambda *row: -(abs(loop(*row)) ** power), False))


@pytest.mark.parametrize(
    ("attributes", "p"), [({"p": 3}, "3"), ({"p": "inf"}, "'inf'"), ({"p": None}, "None"), ({"p": True}, "True")]
)
@pytest.mark.light(2)
def test_other_norms_are_refused(tmp_path, attributes, p):
    module = model_module("transe", rows_of("transe", False), False, interaction_of("transe", **attributes))
    said = f"has the norm p={p}; kgeval.models.TransE has 1 and 2. {FUNCTION}"
    assert failure(saved(tmp_path, module), labelled_dataset()).endswith(said)


def test_rotate_ignores_its_norm(tmp_path):
    """PyKEEN 1.11 has the options p and power_norm, and always takes the L2 norm; a later one may do otherwise."""
    dataset, tables = labelled_dataset(), rows_of("rotate", False)
    for attributes in ({"p": 1}, {"power_norm": True}):
        module = model_module("rotate", tables, False, interaction_of("rotate", **attributes))
        folder = saved(tmp_path, module)
        said = (
            f"RotatE has p={attributes.get('p', 2)} and power_norm={'power_norm' in attributes}, but RotatE of PyKEEN "
            "1.11 and earlier ignores both and takes the L2 norm of the complex differences. Set norm=2 if such a "
            "version wrote the file (--norm)"
        )
        assert failure(folder, dataset).endswith(said)
        assert_scores(load_model(folder, dataset, norm=2), dataset, by_side(loop_of("rotate", tables), False))


@pytest.mark.parametrize(
    ("clamp", "bounds"), [((-0.5, 0.25), (-0.5, 0.25)), ((None, 0.1), (-math.inf, 0.1)), (0.3, (-0.3, 0.3))]
)
@pytest.mark.parametrize("place", ["around", "inside"])  # PyKEEN 1.11, and 1.8 to 1.10
@pytest.mark.light(2)
def test_clamped_scores_of_simple(tmp_path, clamp, bounds, place):
    """Scores beyond the bounds tie; without the clamp they would not."""
    dataset, tables = labelled_dataset(), rows_of("simple", False)
    interaction = interaction_of("simple", clamp_score=clamp)
    if place == "inside":
        interaction = fake_module(f"{MODULES}SimplEInteraction", clamp_score=clamp)
    folder = saved(tmp_path, model_module("simple", tables, False, interaction))
    model = load_model(folder, dataset)
    assert model.clamp == bounds
    assert_scores(model, dataset, by_side(loop_of("simple", tables, clamp=bounds), False))
    s, p, o = np.indices((N_E, N_R, N_E)).reshape(3, -1)
    assert (model.score(s, p, o) == bounds[1]).sum() > 10
    plain = kgeval.models.SimplE(model.subjects, model.objects, model.relations, model.relations_inverse, form="pykeen")
    ties = [kgeval.evaluate(each, dataset, progress=False).tie_rate for each in (model, plain)]
    assert ties[0] > 0.1 > ties[1] == 0


def test_tucker_with_and_without_batch_normalisation(tmp_path):
    """S11: without the batch normalisation, TuckER's scores are plausible and wrong."""
    dataset, tables = labelled_dataset(), rows_of("tucker", False)
    for norms in (True, False):
        interaction = interaction_of("tucker", norms=norms, **({} if norms else {"head_batch_norm": None}))
        folder = saved(tmp_path, model_module("tucker", tables, False, interaction))
        model = load_model(folder, dataset)
        assert ("no batch normalisation" in model.description) is not norms
        assert_scores(model, dataset, by_side(loop_of("tucker", tables, norms=norms), False))
    folder = saved(tmp_path, model_module("tucker", tables, False, interaction_of("tucker", eps=0.5)))
    assert "eps 0.5" in load_model(folder, dataset).description


def old_module(kind, tables, inverse=False, **attributes):
    """A pickled model of PyKEEN before 1.9, with the older names of tables."""
    names = ("entity_embeddings", "relation_embeddings")
    if kind == "simple":
        names = ("entity_embeddings", "tail_entity_embeddings", "relation_embeddings", "inverse_relation_embeddings")
    shape = {"complex": (2 * D,), "rotate": (2 * D,), "rescal": (D, D)}
    modules = {}
    for name, table in zip(names, tables):
        of_row = shape.get(kind, (table.shape[1],)) if kind != "rescal" or "relation" in name else (D,)
        modules[name] = table_module(table, of_row, OLD, is_complex=None)
    scalars = {"weight": np.array(0.1, dtype=np.float32), "regularization_term": np.zeros(1, dtype=np.float32)}
    modules["regularizer"] = fake_module("pykeen.regularizers.NoRegularizer", buffers=scalars)
    parameters = {}
    if kind == "tucker":
        parameters = {"core_tensor": core_of()}
        modules |= {name: batch_norm(values) for name, values in zip(("bn_0", "bn_1"), norms_of())}
    plain = {"use_inverse_triples": inverse, "predict_with_sigmoid": False}
    name = f"pykeen.models.unimodal.{CLASSES[kind]}"
    return fake_module(name, parameters, modules=modules, **(plain | attributes))


@pytest.mark.parametrize("kind", ["transe", "distmult", "complex", "rotate", "rescal", "tucker", "hole", "simple"])
@pytest.mark.light(4)
def test_modules_of_older_versions(tmp_path, kind):
    """The norm is an attribute of the model; ComplEx has all real parts first; SimplE has the paper's formula."""
    dataset, tables = labelled_dataset(), rows_of(kind, True)
    attributes = {"transe": {"scoring_fct_norm": 2}, "simple": {"clamp": (-0.5, 0.5)}}.get(kind, {})
    model = load_model(saved(tmp_path, old_module(kind, tables, True, **attributes)), dataset)
    loop = loop_of(kind, tables, p=2)
    if kind == "complex":
        t = {"entities": tables[0].astype(float).tolist(), "relations": tables[1].astype(float).tolist()}

        def loop(s, r, o):
            return complex_loop(t, s, r, o)

    if kind == "simple":
        names = ("subjects", "objects", "relations", "relations_inverse")
        t = {name: table.astype(float).tolist() for name, table in zip(names, tables)}

        def loop(s, r, o):
            return min(max(simple(t, s, r, o), -0.5), 0.5)

    assert_scores(model, dataset, by_side(loop, True))


def test_quaternions_of_older_versions_are_refused(tmp_path):
    """Before 1.10, PyKEEN rotated by other quaternions than those that it divided by their norms."""
    interaction = fake_module(f"{MODULES}QuatEInteraction")
    folder = saved(tmp_path, model_module("quate", rows_of("quate", False), False, interaction))
    said = (
        f"{folder / 'trained_model.pkl'}: lacks the tensor interaction.table, which QuatE of PyKEEN 1.10 and later "
        "has; earlier versions do not divide the quaternions of relations by their norms, as kgeval.models.QuatE does. "
        f"{FUNCTION}"
    )
    assert failure(folder, labelled_dataset()) == said


def test_quaternions_without_normalizer(tmp_path):
    """They must have norm 1, since kgeval divides by their norms."""
    dataset, tables = labelled_dataset(), rows_of("quate", False)
    module = model_module("quate", tables, False, tables_as={"normalizer": None})
    said = "does not divide the quaternions of relations by their norms, but kgeval.models.QuatE does"
    assert said in failure(saved(tmp_path, module), dataset)
    quaternions = tables[1].reshape(N_R, D, 4)
    tables[1] = (quaternions / np.linalg.norm(quaternions, axis=2, keepdims=True)).reshape(N_R, -1)
    model = load_model(saved(tmp_path, model_module("quate", tables, False, tables_as={"normalizer": None})), dataset)
    assert_scores(model, dataset, by_side(loop_of("quate", tables), False))


def wrapped(name, **parameters):
    """An interaction around that of TransE."""
    return fake_module(f"{MODULES}{name}", parameters, modules={"base": interaction_of("transe")}, clamp_score=(-1, 1))


ONE = np.ones((), dtype=np.float32)
REFUSED = {
    "other model": (
        {"name": "pykeen.models.unimodal.conv_e.ConvE"},
        "is PyKEEN's ConvE, which is not among kgeval.models",
    ),
    "other interaction": (
        {"name": "pykeen.models.nbase.ERModel", "interaction": fake_module(f"{MODULES}TransFInteraction")},
        "is a model of PyKEEN with the interaction pykeen.nn.modules.TransFInteraction, which is not among",
    ),
    "affine": (
        {
            "name": "pykeen.models.nbase.ERModel",
            "interaction": wrapped("MonotonicAffineTransformationInteraction", bias=ONE, log_scale=ONE),
        },
        "with the interaction pykeen.nn.modules.MonotonicAffineTransformationInteraction, which is not among",
    ),
    "clamped": (
        {"name": "pykeen.models.nbase.ERModel", "interaction": wrapped("ClampedInteraction")},
        "with a ClampedInteraction of pykeen.nn.modules.TransEInteraction, which is not among kgeval.models",
    ),
    "swapped interaction": (
        {"interaction": interaction_of("distmult")},
        "TransE has the interaction DistMultInteraction, which belongs to another model",
    ),
    "own class": (
        {"name": "my_code.TransE"},
        f"my_code.TransE is not one of PyKEEN's own models, so it may score in another way. {FUNCTION}; or, if "
        "my_code.TransE scores like a model of PyKEEN, save the state_dict() of the module and set "
        "model= (--model-type)",
    ),
    "new setting": (
        {"interaction": interaction_of("transe", bias=2.0)},
        f"TransEInteraction has 'bias', which PyKEEN 1.11 and earlier do not have, so it may change scores. {FUNCTION}",
    ),
    "new tensor of the interaction": (
        {"interaction": fake_module(f"{MODULES}TransEInteraction", {"bias": ONE}, p=1, power_norm=False)},
        "TransEInteraction has 'bias', which PyKEEN 1.11 and earlier do not have, so it may change scores",
    ),
    "new module of the interaction": (
        {"interaction": fake_module(f"{MODULES}TransEInteraction", modules={"act": interaction_of("hole")}, p=1)},
        "TransEInteraction has 'act', which PyKEEN 1.11 and earlier do not have",
    ),
    "other tables of the subject": (
        {"interaction": interaction_of("transe", _head_indices=(1,))},
        "TransEInteraction has '_head_indices', which PyKEEN 1.11 and earlier do not have",
    ),
    "extra tensor": (
        {"modules": {"bias": fake_module("torch.nn.modules.linear.Linear", {"weight": np.ones((2, 2))})}},
        "TransE has no use for bias.weight; it has entities, relations",
    ),
    "extra table": (
        {
            "modules": {
                "entity_representations": fake_module(
                    "torch.nn.modules.container.ModuleList",
                    modules={str(i): table_module(np.ones((N_E, D), dtype=np.float32), (D,)) for i in range(2)},
                )
            }
        },
        "TransE has no use for entity_representations.1._embeddings.weight",
    ),
    "normalizer": (
        {"tables_as": {"normalizer": Global("torch.nn.functional", "normalize")}},
        "entity_representations.0 applies the normalizer torch.nn.functional.normalize whenever it is read, which "
        f"kgeval.models does not. {FUNCTION}",
    ),
    "other table": (
        {"tables_as": {"kind": "pykeen.nn.representation.LowRankRepresentation"}},
        "entity_representations.0 is pykeen.nn.representation.LowRankRepresentation with",
    ),
    "matrices": (
        {"tables_as": {"shape": (2, 2)}},
        "a row of entity_representations.0 must have 1 dimension(s); found the shape (2, 2)",
    ),
    "complex numbers": (
        {"tables_as": {"is_complex": True}},
        "entity_representations.0 has is_complex=True; expected False for transe",
    ),
    "hook": (
        {"_forward_hooks": OrderedDict({1: Global("my_code", "double")})},
        "TransE: the model has a forward hook, which may change scores",
    ),
    "sigmoid": (
        {"predict_with_sigmoid": True},
        "TransE has predict_with_sigmoid: its scores are sigmoids, which tie if they are rounded to 1. Set "
        "model.predict_with_sigmoid = False and save the model again, or evaluate a function that calls PyKEEN to "
        "score triples",
    ),
    "inverter": (
        {"inverse": True, "relation_inverter": Fake("my_code.Inverter")},
        "TransE numbers inverse relations by my_code.Inverter; only pykeen.inverse.DefaultRelationInverter is known",
    ),
    "inverse": ({"use_inverse_triples": 1}, "use_inverse_triples must be True or False; found 1"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.light(10)
def test_what_may_score_otherwise_is_refused(tmp_path, case):
    """S15: never a number of a model that was only read in part."""
    options, said = dict(REFUSED[case][0]), REFUSED[case][1]
    inverse = options.pop("inverse", False)
    as_table = dict(options.pop("tables_as", {}))
    kind = as_table.pop("kind", None)
    module = model_module("transe", rows_of("transe", inverse), inverse, tables_as=as_table, **options)
    if kind:
        lists = module.state["_modules"]["entity_representations"].state["_modules"]
        lists["0"] = table_module(rows_of("transe", inverse)[0], (D,), kind)
    folder = saved(tmp_path, module)
    text = failure(folder, labelled_dataset())
    assert text.startswith(f"{folder / 'trained_model.pkl'}: ")
    assert said in text


def test_a_table_that_limits_norms_is_refused(tmp_path):
    module = model_module("transe", rows_of("transe", False), False)
    table = module.state["_modules"]["relation_representations"].state["_modules"]["0"]
    table.state["_modules"]["_embeddings"].state["max_norm"] = 1.0
    said = f"relation_representations.0 limits the norms of its rows when they are read (max_norm). {FUNCTION}"
    assert said in failure(saved(tmp_path, module), labelled_dataset())


def test_modules_that_share_modules(tmp_path):
    """Twenty modules that contain the next one twice are a million names."""
    inner = fake_module("torch.nn.modules.container.ModuleList")
    for _ in range(20):
        inner = fake_module("torch.nn.modules.container.ModuleList", modules={"a": inner, "b": inner})
    module = model_module("transe", rows_of("transe", False), False, modules={"more": inner})
    said = "trans_e.TransE contains more than 10,000 modules"
    assert failure(saved(tmp_path, module), labelled_dataset(), format="pykeen").endswith(said)


def test_nothing_is_imported(tmp_path, monkeypatch):
    """No class of the pickle is imported, and no unpickler runs, even if importing and unpickling fail."""
    folder = saved(tmp_path, model_module("transe", rows_of("transe", True), True))
    dataset = labelled_dataset()
    load_model(folder, dataset)  # kgeval's own modules are imported now
    before = set(sys.modules)

    class Finder:
        def find_spec(self, name, path=None, target=None):
            raise AssertionError(f"imports {name}")

    def fail(*arguments, **options):
        raise AssertionError("unpickles")

    monkeypatch.setattr(sys, "meta_path", [Finder()])
    for name in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, fail)
    assert load_model(folder, dataset).description.startswith("TransE, L1")
    assert set(sys.modules) == before


def test_labels_as_pandas_writes_them(tmp_path):
    """Labels with quotation marks, tabs and line breaks are quoted in the file; NA, null and 007 are labels."""
    labels = ["NA", "007", "7", "null", 'say "hi"', "a\tb", "line\nbreak", "\u00e9psilon"]
    quoted = ["NA", "007", "7", "null", '"say ""hi"""', '"a\tb"', '"line\nbreak"', "\u00e9psilon"]
    tables = rows_of("distmult", False)
    folder = saved(tmp_path, model_module("distmult", tables, False), labels=False)
    write_labels(folder, quoted, ["nan", "1", "01"])
    order = np.argsort(labels)
    triples = np.array([[i, i % 3, (i + 1) % N_E] for i in range(N_E)])
    dataset = Dataset.from_arrays(
        train=triples, test=triples[:2], entity_labels=sorted(labels), relation_labels=["01", "1", "nan"]
    )
    model = load_model(folder, dataset)
    assert np.array_equal(model.entities, tables[0][order])
    assert np.array_equal(model.relations, tables[1][[2, 1, 0]])
    assert len(model.missing_entities) == len(model.missing_relations) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id\tname\n0\ta\n", "line 1: expected the columns id and label; found [['id', 'name']]"),
        ("", "line 1: expected the columns id and label; found []"),
        ("id\tlabel\n0\ta\n0\tb\n", "line 3: the id 0 occurs twice"),
        ("id\tlabel\n0\ta\n2\tb\n", "expected the ids 0, 1, 2, ... to 1; found 2"),
        ("id\tlabel\n0\ta\tb\n", "line 2: expected an id and a label; found ['0', 'a', 'b']"),
        ("id\tlabel\nx\ta\n", "line 2: expected an id and a label; found ['x', 'a']"),
        ('id\tlabel\n0\t"a\n', "unexpected end of data"),
    ],
)
@pytest.mark.light(4)
def test_damaged_labels(tmp_path, text, said):
    folder = saved(tmp_path, model_module("distmult", rows_of("distmult", False), False))
    file = folder / "training_triples" / "entity_to_id.tsv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    text = failure(folder, labelled_dataset())
    assert text.startswith(f"{file}")
    assert said in text


def test_half_of_the_labels(tmp_path):
    folder = saved(tmp_path, model_module("distmult", rows_of("distmult", False), False))
    file = folder / "training_triples" / "relation_to_id.tsv.gz"
    file.unlink()
    said = f"{file}: no such file, though training_triples contains the other file of labels"
    assert failure(folder, labelled_dataset()) == said


SORTED_NOTE = (
    "the file has no labels of its rows: they were read as the entities that occur in train and the relations that "
    "occur in train, sorted by label as in PyKEEN"
)


def unsorted_dataset():
    """Ids not in the order of labels; the entity beta does not occur in train."""
    labels = ["delta", "beta", "Zeta", "alpha"]
    train = [[0, 0, 2], [2, 1, 3], [3, 0, 0]]
    return Dataset.from_arrays(train=train, test=[[0, 0, 1]], entity_labels=labels, relation_labels=["r2", "r1"])


def test_rows_without_labels_follow_the_sorted_labels_of_train(tmp_path):
    """Row 0 is Zeta (capitals first), row 1 alpha, row 2 delta; beta has none. Ids have another order."""
    dataset = unsorted_dataset()
    tables = [np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((2, 4), dtype=np.float32)]
    tables[1][1] = 2
    folder = saved(tmp_path, model_module("distmult", tables, False), labels=False)
    model = load_model(folder, dataset)
    assert SORTED_NOTE in model.notes
    assert model.entities[[2, 3, 0]].tolist() == tables[0].tolist()
    assert model.relations[:, 0].tolist() == [2, 1]
    assert model.missing_entities.tolist() == [1]
    direct = load_model(folder, dataset, entity_labels=["Zeta", "alpha", "delta"], relation_labels=["r1", "r2"])
    assert np.array_equal(direct.entities, model.entities, equal_nan=True)


def test_rows_without_labels_follow_the_ids_of_a_dataset_of_pykeen(tmp_path):
    """A dataset that was made from a TriplesFactory knows the ids of PyKEEN, which need not be sorted by label."""
    dataset = unsorted_dataset()
    dataset.dictionaries = {"entities": dataset.entities.labels, "relations": dataset.relations.labels}
    tables = [np.arange(16, dtype=np.float32).reshape(4, 4), np.ones((2, 4), dtype=np.float32)]
    folder = saved(tmp_path, model_module("distmult", tables, False), labels=False)
    dataset.id_format = "torchkge"
    assert "sorted by label" in " ".join(load_model(folder, dataset).notes)
    dataset.id_format = "pykeen"
    model = load_model(folder, dataset)
    assert "the rows of entities and relations were read in the order of the ids with which dataset 'dataset'" in str(
        model.notes
    )
    assert model.entities.tolist() == tables[0].tolist()


def test_rows_without_labels_that_do_not_fit(tmp_path):
    dataset = unsorted_dataset()
    tables = [np.ones((5, 4), dtype=np.float32), np.ones((2, 4), dtype=np.float32)]
    folder = saved(tmp_path, model_module("distmult", tables, False), labels=False)
    said = (
        f"{folder / 'trained_model.pkl'}: has rows for 5 entities; dataset 'dataset' has 4 (3 in train), so it is "
        "unknown which label each row has. Put the folder training_triples of the training beside it, or name the id "
        "files: ids= (--ids)"
    )
    assert failure(folder, dataset) == said
    path = tmp_path / "state.pt"
    write_torch(path, state_of("distmult", [np.ones((3, 4), dtype=np.float32), np.ones((4, 4), dtype=np.float32)]))
    said = "has rows for 4 relations; dataset 'dataset' has 2 (2 in train), so it is unknown which label each row has. "
    said += "If half of the rows are inverse relations, set inverse_relations='alternating'"
    assert failure(path, dataset, model="distmult") == f"{path}: {said}"
    assert load_model(path, dataset, model="distmult", inverse_relations="alternating").n_relations == 2


def test_training_triples_without_labels(tmp_path):
    """A factory without labels: its user chose the ids, so nothing says the order of the rows."""
    folder = saved(tmp_path, model_module("distmult", rows_of("distmult", False), False), labels=False)
    (folder / "training_triples").mkdir()
    (folder / "training_triples" / "base.pth").write_bytes(b"")
    said = "nothing says to which entities and relations the rows of its tables belong"
    assert said in failure(folder, labelled_dataset(dictionaries=False))
    assert (
        load_model(folder, labelled_dataset()).notes[-2].startswith("the rows of entities and relations were read in")
    )


def test_training_triples_as_one_file(tmp_path):
    """PyKEEN before 1.8: a torch file of a dict."""
    dataset, tables = labelled_dataset(), rows_of("distmult", False)
    folder = saved(tmp_path, old_module("distmult", tables), labels=False)
    content = {
        "mapped_triples": np.zeros((3, 3), dtype=np.int64),
        "entity_to_id": {label: i for i, label in enumerate(ENTITIES)},
        "relation_to_id": {label: i for i, label in enumerate(RELATIONS)},
    }
    write_torch(folder / "training_triples", content)
    model = load_model(folder, dataset)
    assert_scores(model, dataset, by_side(loop_of("distmult", tables), False))
    content["entity_to_id"] = dict.fromkeys(ENTITIES, 0)
    write_torch(folder / "training_triples", content)
    said = "the entity_labels must be a dict of labels and their ids 0, 1, 2, ..."
    assert failure(folder, dataset) == f"{folder / 'training_triples'}: {said}"


@pytest.mark.parametrize("kind", thinned(CLASSES, 3))
def test_state_dicts(tmp_path, kind):
    """They do not name their model, except by tensors that only one model has; labels tell inverse relations."""
    dataset, tables = labelled_dataset(), rows_of(kind, True)
    extra = {"quate": {"interaction.table": quaternion_table().astype(np.float32)}}.get(kind, {})
    if kind == "tucker":
        module = interaction_of("tucker").state
        extra = {"interaction.core_tensor": module["_parameters"]["core_tensor"].data}
        for name in ("head_batch_norm", "head_relation_batch_norm"):
            inner = module["_modules"][name].state
            parts = inner["_parameters"] | inner["_buffers"]
            for part, value in parts.items():
                extra[f"interaction.{name}.{part}"] = value.data if isinstance(value, Parameter) else value
    folder = saved(tmp_path, state_of(kind, tables, extra), name="state.pt")
    assert recognised(folder) == recognised(folder / "state.pt") == ["pykeen"]
    told = kind in ("tucker", "quate")
    if not told:
        assert "a state dict of PyKEEN does not name its model; set model=" in failure(folder, dataset)
    settings = {} if told else {"model": kind}
    if kind == "transe":
        assert "does not say norm, which changes the scores of TransE" in failure(folder, dataset, **settings)
        settings["norm"] = 1
    assert "inverse relations are alternating" in failure(folder, dataset, inverse_relations="after", **settings)
    model = load_model(folder, dataset, **settings)
    assert_scores(model, dataset, by_side(loop_of(kind, tables), True))
    notes = " ".join(model.notes)
    assert ("does not say clamp_score" in notes) == (kind == "simple")
    assert ("does not say whether quaternions" in notes) == (kind == "quate")


def test_a_state_dict_as_safetensors(tmp_path):
    save_file = pytest.importorskip("safetensors.numpy", reason="needs kgeval[safetensors]").save_file
    dataset, tables = labelled_dataset(), rows_of("hole", True)
    write_labels(tmp_path)
    save_file(state_of("hole", tables), tmp_path / "model.safetensors")
    model = load_model(tmp_path, dataset, model="hole")
    assert_scores(model, dataset, by_side(loop_of("hole", tables), True))
    assert recognised(tmp_path) == ["pykeen"]


def test_a_state_dict_of_another_model(tmp_path):
    tables = rows_of("distmult", False)
    path = saved(tmp_path, state_of("distmult", tables), name="state.pt") / "state.pt"
    said = f"{path}: lacks the tensor entity_representations.1._embeddings.weight of PyKEEN's cp; it contains "
    assert failure(path, labelled_dataset(), model="cp").startswith(said)
    assert "is PyKEEN's conve, which is not among kgeval.models" in failure(path, labelled_dataset(), model="ConvE")
    extra = {"interaction.bias": np.ones(3, dtype=np.float32)}
    write_torch(path, state_of("distmult", tables, extra))
    said = "DistMult has no use for interaction.bias; it has entities, relations"
    assert said in failure(path, labelled_dataset(), model="distmult")


def test_the_checkpoint_of_a_training_loop(tmp_path):
    """The last model is read, and a note says that there is a better one; the state of the optimizer is not."""
    dataset, tables = labelled_dataset(dictionaries=False), rows_of("distmult", True)
    content = {
        "epoch": 5,
        "model_state_dict": state_of("distmult", tables),
        "optimizer_state_dict": {"state": {0: {"exp_avg": tables[0]}}, "param_groups": []},
        "torch_random_state": np.zeros(8, dtype=np.uint8),
        "best_epoch_model_checkpoint": None,
        "entity_to_id_dict": {label: i for i, label in enumerate(ENTITIES)},
        "relation_to_id_dict": {label: i for i, label in enumerate(RELATIONS)},
    }
    path = tmp_path / "checkpoint.pt"
    write_torch(path, content)
    model = load_model(path, dataset, model="distmult")
    assert_scores(model, dataset, by_side(loop_of("distmult", tables), True))
    note = "the model of the last epoch was read; the checkpoint also has the best model of early stopping"
    assert note not in model.notes
    write_torch(path, content | {"best_epoch_model_checkpoint": {"model_state_dict": {}}})
    assert note in load_model(path, dataset, model="distmult").notes


def configured(folder, name="configuration_copied.json", inverse=None, **model_kwargs):
    """A configuration of PyKEEN's pipeline in a folder."""
    pipeline = {"model": model_kwargs.pop("model", "TransE"), "model_kwargs": model_kwargs}
    if inverse is not None:
        pipeline["dataset_kwargs"] = {"create_inverse_triples": inverse}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps({"pipeline": pipeline}))


CONTRADICTIONS = {
    "model": (
        "transe",
        False,
        {"model": "DistMult"},
        "says model='transe', but the configuration_copied.json beside it says model='distmult'",
    ),
    "norm": (
        "transe",
        False,
        {"scoring_fct_norm": 2},
        "says norm=1, but the configuration_copied.json beside it says norm=2; set norm=1 or norm=2 (--norm) to decide",
    ),
    "power": (
        "transe",
        False,
        {"power_norm": True},
        "says power_norm=False, but the configuration_copied.json beside it says power_norm=True",
    ),
    "inverse": (
        "transe",
        False,
        {"inverse": True},
        "has no inverse relations (use_inverse_triples), but configuration_copied.json beside it says "
        "create_inverse_triples; does configuration_copied.json belong to this model? If not, move it away",
    ),
    "no inverse": (
        "transe",
        True,
        {"inverse": False},
        "says inverse_relations='alternating', but the configuration_copied.json beside it says that there are no "
        "inverse relations (create_inverse_triples)",
    ),
    "clamp": (
        "simple",
        False,
        {"model": "SimplE", "clamp_score": 20.0},
        "has clamp_score=None, but configuration_copied.json beside it says [-20.0, 20.0]; does "
        "configuration_copied.json belong to this model? If not, move it away",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
@pytest.mark.light(3)
def test_a_configuration_that_contradicts_the_module(tmp_path, case):
    kind, inverse, pipeline, said = CONTRADICTIONS[case]
    folder = saved(tmp_path, model_module(kind, rows_of(kind, inverse), inverse))
    configured(folder, **pipeline)
    assert failure(folder, labelled_dataset()).startswith(f"{folder / 'trained_model.pkl'}: {said}")


def test_a_configuration_that_agrees(tmp_path):
    """The module is enough; what the configuration leaves out is no contradiction, and the defaults are not used."""
    dataset = labelled_dataset()
    interaction = interaction_of("transe", p=2)
    folder = saved(tmp_path, model_module("transe", rows_of("transe", True), True, interaction))
    configured(folder, inverse=True, embedding_dim=4)
    model = load_model(folder, dataset)
    assert model.description == "TransE, L2, 4 dimensions, inverse relations alternating"
    assert not [note for note in model.notes if "default" in note]
    configured(folder, "config.json", inverse=True, scoring_fct_norm=2)
    said = f"{folder}: config.json and configuration_copied.json have different settings; move the wrong one"
    assert failure(folder, dataset) == said


def test_the_configuration_completes_a_state_dict(tmp_path):
    dataset, tables = labelled_dataset(), rows_of("transe", True)
    folder = saved(tmp_path, state_of("transe", tables), name="state.pt")
    configured(folder, "pipeline_config.json", scoring_fct_norm=2, inverse=True)
    model = load_model(folder, dataset)
    assert model.description == "TransE, L2, 4 dimensions, inverse relations alternating"
    configured(folder, "pipeline_config.json")
    note = "pipeline_config.json does not say scoring_fct_norm; it was read as norm=1, the default of PyKEEN"
    assert note in load_model(folder, dataset).notes
    model = load_model(folder, dataset, model="distmult")  # not what the configuration says
    assert "pipeline_config.json describes a model 'transe', not 'distmult'; its settings were not used" in model.notes
    assert_scores(model, dataset, by_side(loop_of("distmult", tables), True))
    configured(folder, "pipeline_config.json", scoring_fct_norm=2, inverse=False)
    said = "the pipeline_config.json beside it says that there are no inverse relations (create_inverse_triples)"
    assert said in failure(folder, dataset)
    for option in ("entity_normalizer", "predict_with_sigmoid"):
        configured(folder, "pipeline_config.json", model="CP", **{option: "softmax"})
        said = f"says {option}='softmax', which changes the scores of cp in a way that kgeval.models does not have"
        assert said in failure(folder, dataset)


def test_the_folder_of_an_experiment(tmp_path):
    """Replicates lie two levels below the configuration; a single one is read, of several one must be named."""
    dataset, module = labelled_dataset(), model_module("transe", rows_of("transe", False), False)
    configured(tmp_path, scoring_fct_norm=1)
    first = saved(tmp_path / "replicates" / "replicate-00000", module)
    assert load_model(tmp_path, dataset).description == load_model(first, dataset).description
    assert recognised(tmp_path) == ["pykeen"]
    saved(tmp_path / "replicates" / "replicate-00001", module)
    said = (
        f"{tmp_path}: expected one model of PyKEEN, found 2 (replicates/replicate-00000/trained_model.pkl, "
        "replicates/replicate-00001/trained_model.pkl); name the file"
    )
    assert failure(tmp_path, dataset) == said
    configured(tmp_path, scoring_fct_norm=2)
    assert "says norm=1, but the configuration_copied.json beside it says norm=2" in failure(first, dataset)


def test_a_file_that_is_no_torch_file(tmp_path):
    """The name trained_model.pkl is that of PyKEEN; its content is then said to be wrong."""
    (tmp_path / "trained_model.pkl").write_bytes(pickle.dumps({"a": 1}))
    assert "a plain pickle, which is not read" in failure(tmp_path, labelled_dataset())


JUNK = (
    None,
    0,
    1,
    -1.5,
    math.nan,
    "x",
    "",
    b"x",
    (),
    [],
    {},
    [[1]],
    {"x": 1},
    np.ones(3),
    np.ones((2, 2)),
    True,
    10**30,
)


def mutated(rng, module):
    """Put junk in the place of an attribute, a tensor or a submodule somewhere in a pickled module."""
    places = []

    def visit(part):
        for key, value in part.state.items():
            places.append((part.state, key))
            if key in ("_modules", "_parameters", "_buffers") and isinstance(value, dict):
                places.extend((value, name) for name in value)
        for inner in part.state["_modules"].values():
            if isinstance(inner, Fake) and isinstance(inner.state, dict):
                visit(inner)

    visit(module)
    for _ in range(int(rng.integers(1, 3))):
        container, key = places[int(rng.integers(len(places)))]
        others = [Fake("my_code.Thing"), Fake("my_code.Thing", {"x": 1}), Global("my_code", "function")]
        values = [*JUNK, *others]
        container[key] = values[int(rng.integers(len(values)))]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", CLASSES)
def test_mutated_modules(tmp_path, kind):
    """Anything may stand anywhere in a pickle: the result is a model, or a DataError that names the file."""
    dataset, n_read = labelled_dataset(), 0
    write_labels(tmp_path)
    rng = np.random.default_rng(11)
    for _ in range(120):
        module = model_module(kind, rows_of(kind, True), True)
        mutated(rng, module)
        write_torch(tmp_path / "trained_model.pkl", module)
        try:
            load_model(tmp_path / "trained_model.pkl", dataset, format="pykeen")
            n_read += 1
        except DataError as error:
            assert str(error).startswith(f"{tmp_path}") or kind in ("rotate", "tucker"), error
    assert 8 < n_read < 112


RANK_METRICS = {
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "gmr": "geometric_mean_rank",
    "hmr": "harmonic_mean_rank",
    "median_rank": "median_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
    **{f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)},
    **{f"adjusted(hits@{k})": f"adjusted_hits_at_{k}" for k in (1, 3, 5, 10)},
}
LACKING = {  # reciprocals and quotients of the others, and measures of spread
    "count",
    "adjusted_arithmetic_mean_rank",
    "inverse_arithmetic_mean_rank",
    "inverse_geometric_mean_rank",
    "inverse_median_rank",
    "median_absolute_deviation",
    "standard_deviation",
    "variance",
    "adjusted_inverse_harmonic_mean_rank",  # this version took another expectation
    "z_arithmetic_mean_rank",  # this version did not compute z
    "z_inverse_harmonic_mean_rank",
    *(f"z_hits_at_{k}" for k in (1, 3, 5, 10)),
}


@pytest.mark.parametrize("kind", ["transe", "complex"])
def test_published_folders(shared, kind, capsys):
    """Every metric of results.json, for every side and tie policy; PyKEEN computed them in single precision."""
    from kgeval.cli import main

    folder, data = shared / "data" / "formats" / f"pykeen-nations-{kind}", shared / "data" / "nations"
    dataset = kgeval.read_dataset(data)
    model = load_model(folder, dataset)
    arrays = load_model(shared / "data" / "models" / "nations-pykeen" / kind, dataset)
    assert model.description == arrays.description
    assert np.array_equal(model.entities, arrays.entities)
    assert np.array_equal(model.relations, arrays.relations)
    result = kgeval.evaluate(model, dataset, progress=False)
    published = json.loads((folder / "results.json").read_text())["metrics"]
    for side, theirs in {"both": "both", "subject": "head", "object": "tail"}.items():
        for policy in ("optimistic", "realistic", "pessimistic"):
            expected = published[theirs][policy]
            assert set(expected) == {*RANK_METRICS.values(), *LACKING}
            assert len(result.table) * (1 if side == "both" else 0.5) == expected["count"]
            found = {name: result[f"{side}.{policy}.{name}"] for name in RANK_METRICS}
            assert found == pytest.approx({name: expected[long] for name, long in RANK_METRICS.items()}, abs=1e-6)
    assert main(["evaluate", str(data), "--model", str(folder)]) == 0
    printed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("both"))
    assert printed.split()[2] == f"{published['both']['realistic']['inverse_harmonic_mean_rank']:.4f}"


def test_only_files_of_pykeen_are_recognised(shared, root):
    found = {}
    for folder in (shared / "data", root / "data"):
        for path in [*folder.rglob("*")]:
            if "pykeen" in recognised(path):
                found[str(path.relative_to(folder))] = recognised(path)
    parts = [f"formats/pykeen-nations-{kind}" for kind in ("transe", "complex")]
    parts += [f"{part}/trained_model.pkl" for part in parts]
    assert found == {part: ["pykeen"] for part in parts}


def labelled_triples(seed=0):
    """Labels that are not words: NA, numbers, unicode, quotation marks; every label occurs in train."""
    rng = np.random.default_rng(seed)
    entities = ["NA", "007", "7", "\u00fcber", "Zeta", "alpha", 'say "hi"', "a b", "null", "nan"]
    relations = ["r2", "NA", "r10"]
    ids = rng.integers(0, [10, 3, 10], (90, 3))
    ids[:10, 0] = ids[10:20, 2] = np.arange(10)
    ids[:3, 1] = np.arange(3)
    ids = np.unique(ids, axis=0)
    rng.shuffle(ids)
    is_first = np.zeros(len(ids), dtype=bool)
    for column, n in ((0, 10), (1, 3), (2, 10)):
        for value in range(n):
            is_first[np.flatnonzero(ids[:, column] == value)[:1]] = True
    ids = np.concatenate([ids[is_first], ids[~is_first]])
    return np.array([[entities[s], relations[p], entities[o]] for s, p, o in ids.tolist()], dtype=str)


def of_pykeen(kind, inverse, seed=3, **options):
    """A random model of PyKEEN itself, its training triples and test triples, and the same dataset for kgeval."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    pytest.importorskip("pykeen", reason="needs pykeen")
    from pykeen.models import model_resolver
    from pykeen.triples import TriplesFactory

    triples = labelled_triples()
    train = TriplesFactory.from_labeled_triples(triples[:60], create_inverse_triples=inverse)
    test = TriplesFactory.from_labeled_triples(
        triples[60:], entity_to_id=train.entity_to_id, relation_to_id=train.relation_to_id
    )
    sizes = {"embedding_dim": 6} | ({"relation_dim": 5} if kind == "tucker" else {})
    sizes |= {"rank": 3} if kind == "cp" else {}
    model = model_resolver.make(kind, sizes | options, triples_factory=train, random_seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "batch_norm" in name:
                parameter.copy_(torch.rand(parameter.shape, generator=generator) + 0.5)
        for name, buffer in model.named_buffers():
            if "running" in name:
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
    frames = {"train": triples[:60].tolist(), "test": triples[60:].tolist()}
    dataset = Dataset.from_frames(**{split: [tuple(row) for row in rows] for split, rows in frames.items()})
    return model.eval(), train, test, dataset


def assert_as_pykeen(path, theirs, train, test, dataset, **settings):
    """Compare all scores of both sides, and the metrics of the evaluator of PyKEEN."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator

    loaded = load_model(path, dataset, **settings)
    n, m = len(dataset.entities), len(dataset.relations)
    e = np.array([train.entity_to_id[label] for label in dataset.entities.labels])
    r = np.array([train.relation_to_id[label] for label in dataset.relations.labels])
    s, p, o = np.indices((n, m, n)).reshape(3, -1)
    with torch.no_grad():
        own = theirs.predict_hrt(torch.as_tensor(np.column_stack([e[s], r[p], e[o]]))).numpy().ravel()
        tails = theirs.predict_t(torch.as_tensor(np.column_stack([e[s], r[p]]))).numpy()[np.arange(len(s)), e[o]]
        heads = theirs.predict_h(torch.as_tensor(np.column_stack([r[p], e[o]]))).numpy()[np.arange(len(s)), e[s]]
    scale = np.abs(own).max()
    np.testing.assert_allclose(loaded.score(s, p, o), own, rtol=1e-5, atol=2e-6 * scale)
    np.testing.assert_allclose(side_scores(loaded, "object", s, p, o), tails, rtol=1e-5, atol=2e-6 * scale)
    np.testing.assert_allclose(side_scores(loaded, "subject", s, p, o), heads, rtol=1e-5, atol=2e-6 * scale)
    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    found = evaluator.evaluate(
        theirs, test.mapped_triples, additional_filter_triples=[train.mapped_triples], use_tqdm=False, batch_size=16
    )
    result = kgeval.evaluate(loaded, dataset, progress=False)
    for side, name in {"both": "both", "subject": "head", "object": "tail"}.items():
        for policy in ("optimistic", "realistic", "pessimistic"):
            expected = found.get_metric(f"{name}.{policy}.inverse_harmonic_mean_rank")
            assert result[f"{side}.{policy}.mrr"] == pytest.approx(expected, abs=1e-6), (side, policy)
    return loaded, result


WRITTEN = {
    **{kind: (kind, {}) for kind in CLASSES},
    "transe-2": ("transe", {"scoring_fct_norm": 2}),
    "transe-squared": ("transe", {"scoring_fct_norm": 2, "power_norm": True}),
    "simple-clamped": ("simple", {"clamp_score": 0.5}),
    "simple-clamped-above": ("simple", {"clamp_score": (None, 0.25)}),
    "tucker-plain": ("tucker", {"apply_batch_normalization": False}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("case", WRITTEN)
def test_models_that_pykeen_wrote(tmp_path, case, inverse):
    """Scores of both sides and mean reciprocal ranks of all tie policies, from the module and from the state dict."""
    kind, options = WRITTEN[case]
    model, train, test, dataset = of_pykeen(kind, inverse, **options)
    import torch

    torch.save(model, tmp_path / "trained_model.pkl", pickle_protocol=pickle.HIGHEST_PROTOCOL)
    for has_labels in (False, True):
        if has_labels:
            train.to_path_binary(tmp_path / "training_triples")
        loaded, result = assert_as_pykeen(tmp_path, model, train, test, dataset)
        assert ("sorted by label as in PyKEEN" in " ".join(loaded.notes)) is not has_labels
    if kind == "simple" and options:
        assert result.tie_rate > 0.1
    state = tmp_path / "state.pt"
    model.save_state(state)
    settings = {"model": kind} | ({"norm": options.get("scoring_fct_norm", 1)} if kind == "transe" else {})
    settings |= {"power_norm": True} if "power_norm" in options else {}
    if "clamp_score" in options:
        settings["clamp"] = {0.5: (-0.5, 0.5)}.get(options["clamp_score"], (-np.inf, 0.25))
    assert_as_pykeen(state, model, train, test, dataset, **settings)


@pytest.mark.thorough
def test_the_folder_of_a_pipeline(tmp_path):
    """`save_to_directory` after a training of a few steps, and the checkpoint of the training loop."""
    _, train, test, dataset = of_pykeen("transe", True)
    from pykeen.pipeline import pipeline

    result = pipeline(
        training=train,
        testing=test,
        model="SimplE",
        model_kwargs={"embedding_dim": 4, "clamp_score": 0.01},
        training_kwargs={
            "num_epochs": 2,
            "use_tqdm": False,
            "checkpoint_name": "loop.pt",
            "checkpoint_directory": tmp_path / "loop",
            "checkpoint_frequency": 0,
        },
        evaluation_kwargs={"use_tqdm": False},
        random_seed=1,
        device="cpu",
    )
    result.save_to_directory(tmp_path / "run")
    loaded, _ = assert_as_pykeen(tmp_path / "run", result.model, train, test, dataset)
    assert loaded.clamp == (-0.01, 0.01)
    assert recognised(tmp_path / "run") == ["pykeen"]
    assert_as_pykeen(
        tmp_path / "loop" / "loop.pt", result.model, train, test, dataset, model="simple", clamp=(-0.01, 0.01)
    )


OTHERS = (
    "AutoSF BoxE CompGCN ConvE ConvKB CrossE DistMA ERMLP ERMLPE KG2E MuRE NTN NodePiece PairRE ProjE RGCN SE TorusE "
    "TransD TransF TransH TransR UM"
)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", OTHERS.split())
def test_other_models_of_pykeen_are_refused(tmp_path, kind):
    """By name, whether or not their tensors look like those of a model that kgeval has."""
    options = {"ConvE": {"embedding_dim": 32}, "NodePiece": {"num_tokens": 2}, "CompGCN": {}}
    try:
        model, *_, dataset = of_pykeen(kind, kind in ("CompGCN", "NodePiece"), **options.get(kind, {}))
    except (TypeError, ImportError, ValueError) as error:
        pytest.skip(f"PyKEEN cannot make it here: {error}")
    import torch

    torch.save(model, tmp_path / "trained_model.pkl")
    assert f"is PyKEEN's {kind}, which is not among kgeval.models" in failure(tmp_path, dataset)


@pytest.mark.thorough
def test_models_that_users_of_pykeen_assemble(tmp_path):
    """An ``ERModel`` of known parts is read; one with a normalised table, or with a wrapped interaction, is refused."""
    _, train, test, dataset = of_pykeen("transe", True)
    import torch
    from pykeen.models import ERModel
    from pykeen.nn.modules import MonotonicAffineTransformationInteraction, TransEInteraction

    def make(interaction, **options):
        tables = {
            "entity_representations_kwargs": {"shape": 4} | options,
            "relation_representations_kwargs": {"shape": 4},
        }
        model = ERModel(triples_factory=train, interaction=interaction, random_seed=2, **tables)
        torch.save(model, tmp_path / "trained_model.pkl")
        return model.eval()

    loaded, _ = assert_as_pykeen(tmp_path, make(TransEInteraction(p=2)), train, test, dataset)
    assert loaded.description == "TransE, L2, 4 dimensions, inverse relations alternating"
    assert_as_pykeen(tmp_path, make(TransEInteraction(p=1), dropout=0.5), train, test, dataset)
    make(TransEInteraction(p=2), normalizer="normalize")
    assert "entity_representations.0 applies the normalizer" in failure(tmp_path, dataset)
    make(MonotonicAffineTransformationInteraction(TransEInteraction(p=2), initial_scale=2.0))
    assert "with the interaction pykeen.nn.modules.MonotonicAffineTransformationInteraction" in failure(
        tmp_path, dataset
    )
    model = make(TransEInteraction(p=2))
    torch.nn.utils.parametrizations.weight_norm(model.entity_representations[0]._embeddings)
    torch.save(model.state_dict(), tmp_path / "trained_model.pkl")
    assert "expected the tensors of one model" in failure(tmp_path, dataset, model="transe")
