"""Checkpoints of PyTorch-BigGraph: the scores of its operators and comparators; partitions and types in order."""

import json
import sys

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables

from kgeval import DataError, MissingExtra, load_model

D = 4
SHAPES = {  # of the parameters of one relation
    "none": {},
    "diagonal": {"diagonal": (D,)},
    "translation": {"translation": (D,)},
    "linear": {"linear_transformation": (D, D)},
    "complex_diagonal": {"real": (D // 2,), "imag": (D // 2,)},
}
DYNAMIC_NAMES = {
    "diagonal": "diagonals",
    "translation": "translations",
    "linear_transformation": "linear_transformations",
}
MODELS = {  # operator, comparator: the model of kgeval
    ("diagonal", "dot"): "DistMult",
    ("complex_diagonal", "dot"): "ComplEx",
    ("linear", "dot"): "RESCAL",
    ("translation", "dot"): "CP",
    ("translation", "l2"): "TransE",
    ("translation", "squared_l2"): "TransE",
}
PARTS = {"all_0": ENTITIES[:3], "all_1": ENTITIES[3:]}  # two partitions of one type


def apply(operator, parameters, vector):
    """What an operator makes of a vector."""
    if operator == "diagonal":
        return parameters["diagonal"] * vector
    if operator == "translation":
        return parameters["translation"] + vector
    if operator == "linear":
        return parameters["linear_transformation"] @ vector
    if operator == "complex_diagonal":
        product = (parameters["real"] + 1j * parameters["imag"]) * (vector[: D // 2] + 1j * vector[D // 2 :])
        return np.concatenate([product.real, product.imag])
    return vector


def compare(comparator, a, b):
    """How alike two vectors are; the distance instead of its square."""
    return a @ b if comparator == "dot" else -np.linalg.norm(a - b)


class Checkpoint:
    """The parameters of a model, its files, and its scores."""

    def __init__(self, operators, comparator, is_dynamic=False, parts=PARTS, **config):
        self.operators = [operators] * N_R if isinstance(operators, str) else operators
        self.is_dynamic, self.parts, self.comparator = is_dynamic, parts, comparator
        self.table = tables(5, e=(N_E, D))["e"]
        self.sides = {
            side: [tables(10 * k + i, **SHAPES[operator]) for i, operator in enumerate(self.operators)]
            for k, side in enumerate(("rhs", "lhs"))
        }
        self.types = list(dict.fromkeys(part.rpartition("_")[0] for part in parts))
        self.shifts = {
            kind: tables(50 + i, v=(D,))["v"] for i, kind in enumerate(self.types) if config.get("global_emb")
        }
        counts = {kind: {"num_partitions": sum(part.startswith(f"{kind}_") for part in parts)} for kind in self.types}
        relations = [
            {"name": name, "lhs": self.types[0], "rhs": self.types[-1], "operator": operator}
            for name, operator in zip(RELATIONS, self.operators)
        ]
        self.config = {
            "entities": counts,
            "relations": [{**relations[0], "name": "all_edges"}] if is_dynamic else relations,
            "dimension": D,
            "comparator": comparator,
            "dynamic_relations": is_dynamic,
            "global_emb": False,
            "bias": False,
            "max_norm": None,
            "entity_path": "data/somewhere",
            **config,
        }

    def parameters(self):
        """The datasets of the model file."""
        named = {}
        for side in ("lhs", "rhs") if self.is_dynamic else ("rhs",):
            of_side = self.sides[side]
            for name in of_side[0] if self.is_dynamic else ():
                stored = DYNAMIC_NAMES.get(name, name)
                named[f"relations/0/operator/{side}/{stored}"] = np.stack([one[name] for one in of_side])
            for i, one in enumerate(() if self.is_dynamic else of_side):
                named |= {f"relations/{i}/operator/{side}/{name}": array for name, array in one.items()}
        return named | {f"entities/{kind}/global_embedding": shift for kind, shift in self.shifts.items()}

    def write(self, folder, version=7, names=True, files=True):
        """Write the checkpoint; and the files of names, which lie in another folder in real life."""
        h5py = pytest.importorskip("h5py", reason="needs kgeval[biggraph]")
        folder.mkdir(exist_ok=True)
        starts = np.cumsum([0, *map(len, self.parts.values())])
        for start, (part, labels) in zip(starts, self.parts.items()):
            with h5py.File(folder / f"embeddings_{part}.v{version}.h5", "w") as file:
                file.create_dataset("embeddings", data=self.table[start : start + len(labels)])
            if names:
                (folder / f"entity_names_{part}.json").write_text(json.dumps(labels))
        with h5py.File(folder / f"model.v{version}.h5", "w") as file:
            file.attrs["format_version"] = 1
            file.attrs["config/json"] = json.dumps(self.config)
            file.create_dataset("optimizer/state_dict", data=np.frombuffer(b"never read", dtype="V1"))
            for name, array in self.parameters().items():
                file.create_dataset(f"model/{name}", data=array)
        if names and self.is_dynamic:
            (folder / "dynamic_rel_names.json").write_text(json.dumps(RELATIONS))
        if files:
            (folder / "checkpoint_version.txt").write_text(f"{version}\n")
            (folder / "config.json").write_text(json.dumps(self.config))
        return folder

    def vectors(self):
        """The vectors of the entities as the model sees them."""
        table, kinds = (
            self.table.astype(float),
            [part.rpartition("_")[0] for part in self.parts for _ in self.parts[part]],
        )
        if self.config["max_norm"]:
            norms = np.linalg.norm(table, axis=1, keepdims=True)
            table = np.where(norms > self.config["max_norm"], table / norms * self.config["max_norm"], table)
        return table + [self.shifts.get(kind, np.zeros(D)) for kind in kinds]

    def score(self, side, s, p, o):
        """The score of each triple, by the formulas of PyTorch-BigGraph."""
        e = self.vectors()

        def one(s, p, o):
            operator = self.operators[p]
            if self.is_dynamic and side == "object":
                return compare(self.comparator, apply(operator, self.sides["lhs"][p], e[s]), e[o])
            return compare(self.comparator, e[s], apply(operator, self.sides["rhs"][p], e[o]))

        return [one(*triple) for triple in zip(s, p, o)]


@pytest.fixture(scope="module")
def dataset():
    """A dataset with dictionaries, which must not be taken for the order of the rows."""
    return labelled_dataset()


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value).replace(f"{path}: ", "").replace(f"{path}/", "")


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(("operator", "comparator"), MODELS)
@pytest.mark.light(5)
def test_scores(dataset, tmp_path, operator, comparator, is_dynamic):
    """Every supported pair, for both sides: without dynamic relations the operator is applied to the object."""
    made = Checkpoint(operator, comparator, is_dynamic)
    folder = made.write(tmp_path / "model")
    assert recognised(folder) == recognised(folder / "model.v7.h5") == ["biggraph"]
    for path in (folder, folder / "model.v7.h5"):
        model = load_model(path, dataset)
        assert type(model).__name__ == MODELS[operator, comparator]
        assert model.inverse_relations == ("after" if is_dynamic else None)
        assert_scores(model, dataset, made.score)
    is_squared = any("the comparator squared_l2 are squared distances" in note for note in model.notes)
    assert is_squared == (comparator == "squared_l2")
    assert "the model was read as a checkpoint of PyTorch-BigGraph" in model.notes


@pytest.mark.parametrize(
    ("operators", "comparator"),
    [
        (["diagonal", "none", "diagonal"], "dot"),
        (["none", "complex_diagonal", "none"], "dot"),
        (["none", "linear", "linear"], "dot"),
        (["none", "translation", "none"], "l2"),
        ("none", "dot"),
        ("none", "l2"),
    ],
)
@pytest.mark.light(3)
def test_relations_without_an_operator(dataset, tmp_path, operators, comparator):
    made = Checkpoint(operators, comparator)
    assert_scores(load_model(made.write(tmp_path / "model"), dataset), dataset, made.score)


def test_global_vectors_and_long_vectors(dataset, tmp_path):
    """Both change the vectors before they score; a global vector belongs to one entity type."""
    parts = {"user_0": ENTITIES[:3], "item_0": ENTITIES[3:5], "item_1": ENTITIES[5:]}
    for config in ({"global_emb": True}, {"max_norm": 1.5}, {"global_emb": True, "max_norm": 1.5}):
        made = Checkpoint("diagonal", "dot", parts=parts, **config)
        assert (np.linalg.norm(made.table, axis=1) > 1.5).any()
        model = load_model(made.write(tmp_path / "model"), dataset)
        assert_scores(model, dataset, made.score)
    note = (
        "the model has the entity types user, item; PyTorch-BigGraph ranks only entities of the types that a relation "
        "connects, kgeval ranks the candidates of its protocol"
    )
    assert note in model.notes
    made.config["global_emb"] = False
    said = "the configuration says global_emb=False, but the model file has a global embedding"
    assert failure(made.write(tmp_path / "model"), dataset) == said
    made.shifts = {}
    del made.config["global_emb"]  # the default is True
    said = "the configuration says global_emb=True, but the model file has no global embedding"
    assert failure(made.write(tmp_path / "model"), dataset) == said


def test_the_labels_are_those_of_the_import(dataset, tmp_path):
    """The rows are shuffled by the import, so the dictionaries of the dataset are never taken for their order."""
    made = Checkpoint("diagonal", "dot", is_dynamic=True)
    folder = made.write(tmp_path / "model", names=False)
    said = failure(folder, dataset)
    assert said.startswith("nothing says to which entities the rows belong. Copy entity_names_*.json (and dynamic_rel_")
    for name, labels in (("e.json", ENTITIES), ("r.json", RELATIONS)):
        (tmp_path / name).write_text(json.dumps(labels))
    model = load_model(folder, dataset, ids=(tmp_path / "e.json", tmp_path / "r.json"))
    assert_scores(model, dataset, made.score)
    said = failure(folder, dataset, entity_labels=ENTITIES)
    assert said.startswith("nothing says to which relations the rows belong.")
    for place in (tmp_path, tmp_path / "somewhere"):  # above the folder; a folder named like the entity_path beside it
        place.mkdir(exist_ok=True)
        for part, labels in PARTS.items():
            (place / f"entity_names_{part}.json").write_text(json.dumps(labels))
        (place / "dynamic_rel_names.json").write_text(json.dumps(RELATIONS))
        model = load_model(folder, dataset)
        assert f"the labels of the rows were read from {place}" in model.notes
        assert_scores(model, dataset, made.score)
        for file in place.glob("*_names*.json"):
            file.unlink()


def test_the_version_of_a_checkpoint(dataset, tmp_path):
    """Old versions of the files may be left; checkpoint_version.txt names the present one."""
    made = Checkpoint("diagonal", "dot")
    old = Checkpoint("diagonal", "dot")
    old.table = -old.table + 1
    folder = made.write(tmp_path / "model", version=10)
    old.write(folder, version=9, files=False)
    assert_scores(load_model(folder, dataset), dataset, made.score)
    (folder / "checkpoint_version.txt").unlink()
    said = "expected checkpoint_version.txt, or model.vN.h5 of one version; found model.v10.h5, model.v9.h5. Give the"
    assert failure(folder, dataset).startswith(said)
    (folder / "checkpoint_version.txt").write_text("11")
    said = "checkpoint_version.txt says version '11', but there is no model.v11.h5"
    assert failure(folder, dataset) == said


def test_the_configuration_in_the_model_file(dataset, tmp_path):
    made = Checkpoint("complex_diagonal", "dot")
    folder = made.write(tmp_path / "model", files=False)
    assert_scores(load_model(folder, dataset), dataset, made.score)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"comparator": "cos"}, "the comparator 'cos' (supported: dot, l2, squared_l2)"),
        ({"bias": True}, "a bias in the first dimension (bias: true)"),
        ({"entities": {"all": {"num_partitions": 2, "featurized": True}}}, "featurized entities (type 'all')"),
        ({"operator": "affine"}, "the operator 'affine' with the comparator 'dot'"),
        ({"comparator": "l2"}, "the operator 'diagonal' with the comparator 'l2'"),
        ({"other": "linear"}, "relations with different operators (diagonal, linear)"),
        ({"dynamic_relations": True}, "dynamic relations and 3 entries in 'relations'"),
    ],
)
@pytest.mark.light(3)
def test_models_that_are_refused_by_name(dataset, tmp_path, config, said):
    made = Checkpoint("diagonal", "dot")
    made.config |= config
    for i, relation in enumerate(made.config["relations"]):
        relation["operator"] = made.config.get("operator", relation["operator"])
        relation["operator"] = (
            made.config.get("other", "diagonal") if i == 1 and "other" in config else relation["operator"]
        )
    folder = made.write(tmp_path / "model")
    assert failure(folder, dataset).startswith(
        f"kgeval.models supports no PyTorch-BigGraph model with {said}. Evaluate it with a function that scores"
    )
    del made.config["comparator"]  # the default is cos
    assert "the comparator 'cos'" in failure(made.write(tmp_path / "model"), dataset)


def test_faulty_checkpoints(dataset, tmp_path):
    h5py = pytest.importorskip("h5py", reason="needs kgeval[biggraph]")

    def changed(name="model.v7.h5", remove=(), operator="diagonal", **more):
        folder = Checkpoint(operator, "dot").write(tmp_path / "model")
        with h5py.File(folder / name, "a") as file:
            for key in remove:
                del file[key]
            for key, array in more.items():
                file.create_dataset(key.replace("__", "/"), data=array)
        return folder

    diagonal = "model__relations__1__operator__rhs__diagonal"
    for more, said in (
        ({}, "the operator 'diagonal' needs relations/1/operator/rhs/diagonal of shape (4,); got nothing"),
        ({diagonal: np.ones(3)}, "relations/1/operator/rhs/diagonal of shape (4,); got shape (3,)"),
        (
            {diagonal: np.ones(4, int)},
            "relations/1/operator/rhs/diagonal must be numbers that are in this file; got dtype",
        ),
    ):
        assert said in failure(changed(remove=[diagonal.replace("__", "/")], **more), dataset), said
    for name, said in (
        (
            "model__relations__9__operator__rhs__diagonal",
            "contains 'relations/9/operator/rhs/diagonal', a parameter of no known rel",
        ),
        (
            "model__relations__0__operator__lhs__diagonal",
            "contains 'relations/0/operator/lhs/diagonal', a parameter of no known rel",
        ),
        ("model__extra__bias", "contains 'extra/bias', which is not a known parameter"),
    ):
        assert said in failure(changed(**{name: np.ones(4)}), dataset), said
    said = "expected a table 'embeddings' with 4 columns; got"
    assert said in failure(changed("embeddings_all_0.v7.h5", ["embeddings"]), dataset)
    assert said in failure(changed("embeddings_all_0.v7.h5", ["embeddings"], embeddings=np.ones((3, 5))), dataset)

    folder = changed()
    with h5py.File(folder / "embeddings_all_0.v7.h5", "w") as file:  # 32 GB that are not in the file
        file.create_dataset("embeddings", shape=(2 * 10**9, 4), dtype="f4", chunks=(1000, 4))
    assert "embeddings/ must be numbers that are in this file" in failure(folder, dataset)
    (folder / "embeddings_all_0.v7.h5").write_bytes(b"no HDF5")
    assert "no HDF5 file, or a damaged one" in failure(folder, dataset)
    (folder / "embeddings_all_0.v7.h5").unlink()
    assert "embeddings_all_0.v7.h5: no such file" in failure(folder, dataset)

    for name, text, said in (
        ("entity_names_all_0.json", '["a"]', "has 1 names, but the table of this partition has 3 rows"),
        ("entity_names_all_0.json", '{"a": 1}', "expected a JSON list of names"),
        ("entity_names_all_0.json", "[", "not JSON (Expecting value"),
        ("entity_names_all_0.json", json.dumps([*ENTITIES[:2], ENTITIES[5]]), "the entity 'gamma' occurs twice in the"),
        ("config.json", "{", "not JSON (Expecting property name"),
        ("config.json", '{"model": "TransE"}', "expected the configuration of PyTorch-BigGraph, with 'entities' and"),
    ):
        folder = changed()
        (folder / name).write_text(text)
        assert said in failure(folder, dataset), said
    for key, value, said in (
        ("relations", [], "expected the configuration of PyTorch-BigGraph"),
        ("entities", {"all": 3}, "expected the configuration of PyTorch-BigGraph"),
        ("entities", {"all": {"num_partitions": "2"}}, "expected the configuration of PyTorch-BigGraph"),
        ("entities", {"all": {"num_partitions": 10**9}}, "expected the configuration of PyTorch-BigGraph"),
        ("max_norm", -1, "max_norm must be a number above 0, or null; got -1"),
        ("max_norm", float("nan"), "max_norm must be a number above 0, or null; got nan"),
        ("max_norm", 10**400, "max_norm must be a number above 0, or null; got 1000"),
        ("max_norm", "1", "max_norm must be a number above 0, or null; got '1'"),
    ):
        assert said in failure(Checkpoint("diagonal", "dot", **{key: value}).write(tmp_path / "model"), dataset), said
    (changed() / "config.json").write_text("[" * 100_000)
    said = "config.json: not JSON that is read: lists and objects are nested more than 200 levels deep"
    assert said in failure(tmp_path / "model", dataset)
    assert failure(changed(), dataset, model="complex").endswith(
        "its operator and comparator are those of distmult; got model='complex'"
    )


def test_other_folders_are_not_recognised(tmp_path):
    for name in ("model.h5", "model.v1.h5", "embeddings.v1.h5"):
        assert "biggraph" not in recognised(tmp_path)
        (tmp_path / name).write_bytes(b"")
    assert "biggraph" not in recognised(tmp_path)
    assert "biggraph" not in recognised(tmp_path / "missing")


def test_h5py_is_an_extra(dataset, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    for name in ("model.v1.h5", "embeddings_all_0.v1.h5"):
        (tmp_path / name).write_bytes(b"")
    assert recognised(tmp_path) == ["biggraph"]
    with pytest.raises(MissingExtra, match=r'reading HDF5 needs h5py; pip install "kgeval\[biggraph\]"'):
        load_model(tmp_path, dataset)


@pytest.mark.thorough
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(("operator", "comparator"), MODELS)
def test_the_library_itself(dataset, tmp_path, operator, comparator, is_dynamic):
    """PyTorch-BigGraph writes the checkpoint; the scores are those of its operators and its comparator."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    schema = pytest.importorskip("torchbiggraph.config", reason="needs torchbiggraph").ConfigSchema
    from torchbiggraph.checkpoint_manager import CheckpointManager, ConfigMetadataProvider
    from torchbiggraph.graph_storages import FileEntityStorage, FileRelationTypeStorage
    from torchbiggraph.model import make_model

    made = Checkpoint(operator, comparator, is_dynamic, global_emb=not is_dynamic)
    names = tmp_path / "names"
    names.mkdir()
    config = {**made.config, "entity_path": str(names), "edge_paths": [], "checkpoint_path": str(tmp_path / "model")}
    config = schema.from_dict(config)
    for i, labels in enumerate(PARTS.values()):
        FileEntityStorage(str(names)).save_names("all", i, labels)
    if is_dynamic:
        FileRelationTypeStorage(str(names)).save_names(RELATIONS)
        FileRelationTypeStorage(str(names)).save_count(N_R)
    torch.manual_seed(3)
    theirs = make_model(config)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_()
    manager = CheckpointManager(str(tmp_path / "model"))
    manager.register_metadata_provider(ConfigMetadataProvider(config))
    manager.write_config(config)
    manager.write_model(theirs.state_dict(), None)
    table, start = torch.as_tensor(made.table), 0
    for i, labels in enumerate(PARTS.values()):
        manager.write("all", i, table[start : start + len(labels)], None)
        start += len(labels)
    manager.write_new_version(config)
    manager.switch_to_new_version()

    def score_one(side, s, p, o):
        k, rel = (0, torch.tensor([p])) if is_dynamic else (p, p)
        on_left = is_dynamic and side == "object"
        operators = (theirs.lhs_operators[k], None) if on_left else (None, theirs.rhs_operators[k])
        pair = [theirs.adjust_embs(table[[row]], rel, "all", one)[None] for row, one in zip((s, o), operators)]
        empty = torch.zeros(1, 0, D)
        score = theirs.comparator(*pair, empty, empty)[0].item()
        return -np.sqrt(-score) if comparator == "squared_l2" else score

    def score_theirs(side, s, p, o):
        return [score_one(side, *map(int, triple)) for triple in zip(s, p, o)]

    assert recognised(tmp_path / "model") == ["biggraph"]
    assert_scores(load_model(tmp_path / "model", dataset), dataset, score_theirs)
