"""Rows without labels: whose id files order them."""

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, RELATIONS, labelled_dataset, tables
from torch_zip import write_torch

import kgeval
from kgeval import DataError


def checkpoint_of_pyg(folder):
    """DistMult as PyTorch Geometric writes it: no labels, and no documented order of rows."""
    path = folder / "model.pt"
    write_torch(path, tables(**{"node_emb.weight": (len(ENTITIES), 4), "rel_emb.weight": (len(RELATIONS), 4)}))
    return path


def test_id_files_of_another_tool_are_asked_about(tmp_path):
    """A folder of OpenKE has ids of its own (S9): they order the rows of another tool only if the caller says so."""
    dataset = labelled_dataset()
    dataset.id_format = "openke"
    path = checkpoint_of_pyg(tmp_path)
    with pytest.raises(DataError) as caught:
        kgeval.load_model(path, dataset, model="distmult")
    assert "nothing says to which entities and relations the rows of its tables belong" in str(caught.value)
    assert "in the format openke, and may be in another order" in str(caught.value)
    for name, labels in (("entities.dict", ENTITIES), ("relations.dict", RELATIONS)):
        (tmp_path / name).write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), encoding="utf-8")
    model = kgeval.load_model(
        path, dataset, model="distmult", ids=(tmp_path / "entities.dict", tmp_path / "relations.dict")
    )
    rows = tables(**{"node_emb.weight": (len(ENTITIES), 4), "rel_emb.weight": (len(RELATIONS), 4)})["node_emb.weight"]
    for label, row in zip(ENTITIES, rows):
        assert np.array_equal(model.entities[dataset.entities.ids([label])[0]], row)


def test_id_files_of_the_same_tool_order_the_rows(tmp_path):
    """OpenKE's checkpoint has no labels; those of OpenKE's dataset folder are its own. A note tells."""
    dataset = labelled_dataset()
    dataset.id_format = "openke"
    content = tables(**{"ent_embeddings.weight": (len(ENTITIES), 4), "rel_embeddings.weight": (len(RELATIONS), 4)})
    write_torch(tmp_path / "model.ckpt", content)
    model = kgeval.load_model(tmp_path / "model.ckpt", dataset, model="distmult")
    assert "the rows of entities and relations were read in the order of the id files of dataset 'eight'" in model.notes
    for label, row in zip(ENTITIES, content["ent_embeddings.weight"]):
        assert np.array_equal(model.entities[dataset.entities.ids([label])[0]], row)
