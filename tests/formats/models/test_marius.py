"""Folders of Marius: stand-ins that these tests write, with scores by a loop; pip has no Marius for this machine."""

import csv

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from torch_zip import Fake, write_torch

from kgeval import DataError, load_model

D = 4
CONFIG = """\
model:
  random_seed: 456356765463
  learning_task: LINK_PREDICTION
  encoder:
    train_neighbor_sampling: []
    layers:
    - - type: EMBEDDING
        options: {{}}
        input_dim: -1
        output_dim: 4
        init:
          type: GLOROT_NORMAL
          options: {{}}
        bias: {bias}
        activation: {activation}
{further}  decoder:
    type: {decoder}
    options:
      inverse_edges: true
      edge_decoder_method: CORRUPT_NODE
  loss:
    type: SOFTMAX_CE
storage:
  dataset:
    dataset_dir: /data/eight/  # of the preprocessing
    num_nodes: {n}
    num_relations: 3
"""
GNN = "    - - type: GNN\n        options:\n          type: GAT\n        bias: false\n        activation: NONE\n"


def score(kind, t, inverse=True):
    """DISTMULT and COMPLEX of Marius: the inverse relation applied to the object answers queries for subjects."""

    def product(x, w, y):
        if kind == "DISTMULT":
            return sum(x[k] * w[k] * y[k] for k in range(D))
        parts = [complex(v[k], v[D // 2 + k]) for v in (x, w, y) for k in range(D // 2)]
        return sum((parts[k] * parts[D // 2 + k] * parts[D + k].conjugate()).real for k in range(D // 2))

    def one(side, s, p, o):
        h, w, v, y = (part.astype(float).tolist() for part in (t["e"][s], t["r"][p], t["i"][p], t["e"][o]))
        return product(y, v, h) if side == "subject" and inverse else product(h, w, y)

    return lambda side, s, p, o: [one(side, *triple) for triple in zip(s, p, o)]


def all_tables():
    return tables(e=(N_E, D), r=(N_R, D), i=(N_R, D))


def mappings(folder, nested=False):
    for name, labels, place in (("node", ENTITIES, "nodes"), ("relation", RELATIONS, "edges")):
        target = folder / place if nested else folder
        target.mkdir(exist_ok=True)
        lines = [f"{label},{i}" for i, label in enumerate(labels)]
        (target / f"{name}_mapping.txt").write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")


def model_pt(folder, t, inverse=True, **modules):
    """A TorchScript archive: an object of a class of its own, whose state holds the tensors and the modules."""
    state = {"relation_embeddings": t["r"], "training": True}
    state |= {"inverse_relation_embeddings": t["i"]} if inverse else {}
    write_torch(folder / "model.pt", Fake("__torch__.Module", state={**state, **modules}))


def written(folder, decoder="DISTMULT", bias="false", activation="NONE", further="", n=N_E, inverse=True):
    t = all_tables()
    t["e"].tofile(folder / "embeddings.bin")
    model_pt(folder, t, inverse)
    values = {"decoder": decoder, "bias": bias, "activation": activation, "further": further, "n": n}
    (folder / "full_config.yaml").write_text(CONFIG.format(**values))
    mappings(folder)
    return t


def export(folder, name, ids, table, delimiter=","):
    """What ``marius_postprocess --to csv`` writes: numpy's text of each vector."""
    with np.printoptions(linewidth=10000), (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(["id", "embedding"])
        writer.writerows([label, str(row)] for label, row in zip(ids, table))


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset(dictionaries=False)


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value)


@pytest.mark.parametrize("decoder", ["DISTMULT", "COMPLEX"])
def test_scores(dataset, tmp_path, decoder):
    t = written(tmp_path, decoder)
    assert recognised(tmp_path) == ["marius"]
    for path in (tmp_path, tmp_path / "embeddings.bin"):
        assert_scores(load_model(path, dataset), dataset, score(decoder, t))
    model_pt(tmp_path, t, inverse=False)
    (tmp_path / "full_config.yaml").unlink()
    model = load_model(tmp_path, dataset, model=decoder.lower())
    assert_scores(model, dataset, score(decoder, t, inverse=False))
    assert (
        "nothing says that Marius scores the vectors of embeddings.bin unchanged (no layers in full_config.yaml)"
        in (model.notes)
    )
    assert "does not name its model; set model= (--model-type)" in failure(tmp_path, dataset)


def test_older_folders(dataset, tmp_path):
    """Before, the vectors lay in nodes/, beside the mapping; the model may lie in a folder inside the dataset's."""
    t = written(tmp_path)
    for name in ("node_mapping.txt", "relation_mapping.txt"):
        (tmp_path / name).unlink()
    mappings(tmp_path, nested=True)
    (tmp_path / "embeddings.bin").rename(tmp_path / "nodes" / "embeddings.bin")
    assert recognised(tmp_path) == ["marius"]
    assert_scores(load_model(tmp_path, dataset), dataset, score("DISTMULT", t))
    assert_scores(load_model(tmp_path / "nodes" / "embeddings.bin", dataset), dataset, score("DISTMULT", t))
    inner = tmp_path / "model_0"
    inner.mkdir()
    (tmp_path / "nodes" / "embeddings.bin").rename(inner / "embeddings.bin")
    for name in ("model.pt", "full_config.yaml"):
        (tmp_path / name).rename(inner / name)
    assert_scores(load_model(inner, dataset), dataset, score("DISTMULT", t))


def test_order_of_the_rows(dataset, tmp_path):
    """S9: Marius assigns ids at random, so the mappings, the dictionaries of the dataset or ids= must say them."""
    t = written(tmp_path)
    for name in ("node_mapping.txt", "relation_mapping.txt"):
        (tmp_path / name).unlink()
    assert "nothing says to which entities and relations the rows of its tables belong" in failure(tmp_path, dataset)
    assert_scores(load_model(tmp_path, labelled_dataset()), labelled_dataset(), score("DISTMULT", t))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.light(2)
def test_exported_tables(dataset, tmp_path, delimiter):
    """The CSV files of marius_postprocess, with 8 decimals; without a mapping, their ids are the labels."""
    t = all_tables()
    export(tmp_path, "embeddings", ENTITIES, t["e"], delimiter)
    export(tmp_path, "relation_embeddings", RELATIONS, t["r"], delimiter)
    assert recognised(tmp_path) == ["marius"]
    model = load_model(tmp_path, dataset, model="distmult")
    assert_scores(model, dataset, score("DISTMULT", t, inverse=False))
    export(tmp_path, "inverse_relation_embeddings", RELATIONS, t["i"], delimiter)
    assert_scores(load_model(tmp_path, dataset, model="distmult"), dataset, score("DISTMULT", t))
    export(tmp_path, "relation_embeddings", range(N_R), t["r"], delimiter)  # the exporter found no mapping
    export(tmp_path, "inverse_relation_embeddings", range(N_R), t["i"], delimiter)
    assert "nothing says to which relations the rows of its tables belong" in failure(
        tmp_path, dataset, model="distmult"
    )
    mappings(tmp_path)
    assert_scores(load_model(tmp_path, dataset, model="distmult"), dataset, score("DISTMULT", t))


def test_exported_names_of_the_documentation(dataset, tmp_path):
    t = all_tables()
    export(tmp_path, "embeddings", ENTITIES, t["e"])
    export(tmp_path, "rel_embeddings", RELATIONS, t["r"])
    export(tmp_path, "inv_rel_embeddings", RELATIONS, t["i"])
    assert_scores(load_model(tmp_path, dataset, model="complex"), dataset, score("COMPLEX", t))


def test_tables_of_numpy(dataset, tmp_path):
    """The relations may be .npy files, which any script can make of model.pt."""
    t = written(tmp_path)
    (tmp_path / "model.pt").unlink()
    assert "the relations are missing. Put model.pt into the folder, or export the relations" in failure(
        tmp_path, dataset
    )
    np.save(tmp_path / "relation_embeddings.npy", t["r"])
    said = failure(tmp_path, dataset)
    assert "full_config.yaml says inverse_edges: true, but the inverse relations are missing" in said
    np.save(tmp_path / "inverse_relation_embeddings.npy", t["i"])
    assert_scores(load_model(tmp_path, dataset), dataset, score("DISTMULT", t))


def test_exported_parquet(dataset, tmp_path):
    pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")
    import pandas as pd

    t = all_tables()
    for name, ids, table in (("embeddings", ENTITIES, t["e"]), ("relation_embeddings", RELATIONS, t["r"])):
        pd.DataFrame({"id": ids, "embedding": list(table)}).to_parquet(tmp_path / f"{name}.parquet")
    model = load_model(tmp_path, dataset, model="distmult")
    assert_scores(model, dataset, score("DISTMULT", t, inverse=False))
    (tmp_path / "embeddings.parquet").write_bytes(b"PAR1")
    assert "embeddings.parquet: is damaged, or not a parquet file" in failure(tmp_path, dataset, model="distmult")


@pytest.mark.parametrize(
    "changes", [{"bias": "true"}, {"activation": "RELU"}, {"further": GNN}, {"further": GNN.replace("GNN", "FEATURE")}]
)
@pytest.mark.light(2)
def test_encoders(dataset, tmp_path, changes):
    """The decoder scores the vectors after the encoder: encoded_nodes.bin, or an error."""
    t = written(tmp_path, **changes)
    said = failure(tmp_path, dataset)
    assert "has an encoder with more than one plain embedding layer (layers: embedding" in said
    assert "put encoded_nodes.bin into the folder" in said
    t["e"] = -2 * t["e"][::-1]
    t["e"].tofile(tmp_path / "encoded_nodes.bin")
    model_pt(tmp_path, t, **{"embedding:0_0": Fake("__torch__.E", state={"bias": np.ones(D, dtype=np.float32)})})
    assert_scores(load_model(tmp_path, dataset), dataset, score("DISTMULT", t))


def test_a_further_tensor_is_refused(dataset, tmp_path):
    """S15: without full_config.yaml, the bias of the encoder in model.pt tells that embeddings.bin is not scored."""
    t = written(tmp_path)
    (tmp_path / "full_config.yaml").unlink()
    model_pt(tmp_path, t, **{"embedding:0_0": Fake("__torch__.E", state={"bias": np.ones(D, dtype=np.float32)})})
    assert "DistMult has no use for embedding:0_0.bias" in failure(tmp_path, dataset, model="distmult")


def test_transe_is_refused(dataset, tmp_path):
    """Its scores are the distances themselves, and Marius ranks the largest first."""
    written(tmp_path, "TRANSE")
    assert "the decoder is TRANSE. Marius ranks its scores, which are the distances" in failure(tmp_path, dataset)
    (tmp_path / "full_config.yaml").unlink()
    said = failure(tmp_path, dataset, model="transe", norm=2, normalise="none")
    assert "from the largest to the smallest; no model of kgeval.models does so" in said


def test_faults(dataset, tmp_path):
    t = written(tmp_path, n=9)
    assert "has 8 vectors of 4 numbers; the relations have 4 numbers and full_config.yaml says num_nodes: 9" in failure(
        tmp_path, dataset
    )
    written(tmp_path, "NODE")
    assert "expected a decoder for link prediction, DISTMULT or COMPLEX; got 'node'" in failure(tmp_path, dataset)
    written(tmp_path)
    (tmp_path / "embeddings.bin").write_bytes(t["e"].tobytes()[:-4])
    assert "has 124 bytes, which is not a multiple of 16, the size of a float32 vector with 4 numbers" in failure(
        tmp_path, dataset
    )
    (tmp_path / "embeddings.bin").write_bytes(t["e"].tobytes()[:-16])
    (tmp_path / "full_config.yaml").write_text(
        CONFIG.format(decoder="DISTMULT", bias="false", activation="NONE", further="", n=N_E - 1)
    )
    assert "entities has 7 rows, but entity_labels has 8 labels" in failure(tmp_path, dataset)
    written(tmp_path)
    write_torch(tmp_path / "model.pt", Fake("__torch__.Module", state={"other": t["r"]}))
    assert "expected the tensor relation_embeddings; found other" in failure(tmp_path, dataset)
    model_pt(tmp_path, {**t, "i": t["i"][:2]})
    assert "expected as many inverse relations as relations; got tables of shape (2, 4) and (3, 4)" in failure(
        tmp_path, dataset
    )
    model_pt(tmp_path, {**t, "r": t["r"][0]})
    said = "model.pt: expected a table with two dimensions and at least one column; got shape (4,)"
    assert said in failure(tmp_path, dataset)
    (tmp_path / "empty").mkdir()
    assert "expected embeddings.bin, or embeddings.csv" in failure(tmp_path / "empty", dataset, format="marius")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id,embedding\ndelta,[0.1 0.2 ... 0.3 0.4]\n",
            "numpy has left out numbers (...). Export with --to parquet",
        ),
        ("id,embedding\ndelta,[0.1 0.2]\nalpha,[0.1 0.2 0.3]\n", "expected vectors of one length; got lengths [2, 3]"),
        ("id,embedding\ndelta,[0.1 x]\n", "entry 1: expected numbers in brackets; found '[0.1 x]'"),
        ("id,vector\ndelta,[0.1]\n", "line 1: expected the columns id and embedding; found 'id,vector'"),
        ("id,embedding\ndelta,[0.1 0.2]\n", "has 1 vectors of 2 numbers; the relations have 4 numbers"),
    ],
)
@pytest.mark.light(2)
def test_faulty_exports(dataset, tmp_path, text, message):
    export(tmp_path, "relation_embeddings", RELATIONS, all_tables()["r"])
    (tmp_path / "embeddings.csv").write_text(text)
    assert message in failure(tmp_path, dataset, model="distmult")


@pytest.mark.thorough
def test_archive_of_torch(dataset, tmp_path):
    """A TorchScript archive that torch writes: its tensors are read, its code is not."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    t = written(tmp_path)

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.relation_embeddings = torch.nn.Parameter(torch.from_numpy(t["r"]))
            self.inverse_relation_embeddings = torch.nn.Parameter(torch.from_numpy(t["i"]))

        def forward(self, x):
            return x * self.relation_embeddings[0]

    torch.jit.script(Decoder()).save(str(tmp_path / "model.pt"))
    assert_scores(load_model(tmp_path, dataset), dataset, score("DISTMULT", t))
    assert recognised(tmp_path) == ["marius"]
