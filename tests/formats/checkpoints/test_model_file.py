"""Rows without labels: whose id files order them."""

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, RELATIONS, labelled_dataset, tables, write_ids
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
    note = "the rows of entities and relations were read in the order of the ids with which dataset 'eight' was made"
    assert note in model.notes
    for label, row in zip(ENTITIES, content["ent_embeddings.weight"]):
        assert np.array_equal(model.entities[dataset.entities.ids([label])[0]], row)


@pytest.mark.parametrize("in_file", [True, False])
def test_ids_that_replace_other_labels_are_noted(tmp_path, in_file):
    """The caller's labels win; without the note, ids of another dataset version would score silently wrong."""
    shapes = {"entities": (len(ENTITIES), 4), "relations": (len(RELATIONS), 4)}
    path = tmp_path / "model.npz"
    labels = {"entity_labels": ENTITIES, "relation_labels": RELATIONS} if in_file else {}
    if in_file:
        np.savez(path, model="distmult", **tables(**shapes), **labels)
    else:
        path = checkpoint_of_pyg(tmp_path)
        write_ids(tmp_path)
    settings = {} if in_file else {"model": "distmult"}
    write_ids(tmp_path, "same_entity.txt", "same_relation.txt")
    same = kgeval.load_model(
        path, labelled_dataset(), ids=(tmp_path / "same_entity.txt", tmp_path / "same_relation.txt"), **settings
    )
    assert not any("replaced" in note for note in same.notes)
    (tmp_path / "other.txt").write_text("\n".join(ENTITIES[::-1]), encoding="utf-8")
    model = kgeval.load_model(
        path, labelled_dataset(), ids=(tmp_path / "other.txt", tmp_path / "same_relation.txt"), **settings
    )
    place = "the model file" if in_file else "entity2id.txt and relation2id.txt beside it"
    assert f"{place} gives other labels to the rows: entity_labels of the call (ids=) replaced them" in model.notes
    assert not any("were read in the order of entity2id.txt" in note for note in model.notes)


def test_npz_beside_another_model_is_noted(tmp_path):
    """Two models in one folder: a note says which one was left."""
    checkpoint_of_pyg(tmp_path)
    np.savez(tmp_path / "other.npz", model="distmult")
    model = kgeval.load_model(tmp_path, labelled_dataset(), model="distmult")
    assert "the .npz files in the folder were not read; to read one, give the path of the file" in model.notes


@pytest.mark.parametrize("name", ["scaler.weight", "optimal_bias"])
def test_tensors_of_the_model_are_not_taken_for_the_training(tmp_path, name):
    """A tensor beside the tables whose name starts like that of an optimizer changes scores all the same (S15)."""
    content = tables(**{"node_emb.weight": (len(ENTITIES), 4), "rel_emb.weight": (len(RELATIONS), 4), name: (8,)})
    write_torch(tmp_path / "model.pt", content)
    with pytest.raises(DataError, match=f"DistMult has no use for {name}"):
        kgeval.load_model(tmp_path / "model.pt", labelled_dataset(), model="distmult")


def test_id_order_is_not_that_of_the_id_files(tmp_path):
    """The rows of an .npz file follow kgeval's ids (S9); if the dataset's id files have other ids, the note says so."""
    shapes = {"entities": (len(ENTITIES), 4), "relations": (len(RELATIONS), 4)}
    np.savez(tmp_path / "model.npz", model="distmult", **tables(**shapes))
    start = "the model file has no entity_labels: its rows were read as all entities, in "
    plain = kgeval.load_model(tmp_path / "model.npz", labelled_dataset(dictionaries=False))
    assert f"{start}id order" in plain.notes
    model = kgeval.load_model(tmp_path / "model.npz", labelled_dataset())
    other = "the order of dataset.entities.labels, not in that of the dataset's id files (ids= reads them)"
    assert start + other in model.notes


def test_the_ids_of_the_dataset_in_one_word(tmp_path):
    """ids="dataset" is entity_labels="ids" and relation_labels="ids", as for live models."""
    checkpoint_of_pyg(tmp_path)
    dataset = labelled_dataset(dictionaries=False)
    model = kgeval.load_model(tmp_path, dataset, model="distmult", ids="dataset")
    both = kgeval.load_model(tmp_path, dataset, model="distmult", entity_labels="ids", relation_labels="ids")
    assert np.array_equal(model.entities, both.entities)
    assert model.notes == both.notes
