"""OGB's t_pred_top10."""

import numpy as np
import pytest
from prediction_files import random_dataset, rows_of

import kgeval as kg
from kgeval.errors import DataError

DATASET = random_dataset(0)
TEST = DATASET["test"].array
BEST = np.random.default_rng(0).permuted(np.tile(np.arange(12), (len(TEST), 1)), axis=1)[:, :10]


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_arrays_of_ids(tmp_path):
    path = save(tmp_path / "pred.npz", t_pred_top10=BEST, t_correct_index=TEST[:, 2])
    found = kg.read_predictions(path, DATASET, ids="dataset")
    assert np.array_equal(found.answers.values.reshape(BEST.shape), BEST)
    assert np.array_equal(found.triples, TEST)
    assert set(found.sides) == {"object"}
    assert found.notes[0] == "read as OGB: row i of t_pred_top10 is for the object of triple i of test"
    np.save(tmp_path / "t_pred_top10.npy", BEST)
    assert rows_of(kg.read_predictions(tmp_path / "t_pred_top10.npy", DATASET, ids="dataset"), DATASET) == rows_of(
        found, DATASET
    )


def test_ids_are_asked_for(tmp_path):
    path = save(tmp_path / "pred.npz", t_pred_top10=BEST)
    with pytest.raises(DataError, match=r"holds integer ids, and the dataset has labels; .*ids='dataset'"):
        kg.read_predictions(path, DATASET)
    numbered = kg.Dataset.from_arrays(test=TEST, n_entities=12, n_relations=4)
    assert np.array_equal(kg.read_predictions(path, numbered).answers.values.reshape(BEST.shape), BEST)


def test_ids_of_other_files_go_by_label(tmp_path):
    order = np.random.default_rng(1).permutation(12)  # order[i]: the id in the dataset of id i of the files
    (tmp_path / "entities.dict").write_text(
        "".join(f"{i}\t{DATASET.entities.labels[j]}\n" for i, j in enumerate(order))
    )
    (tmp_path / "relations.dict").write_text(
        "".join(f"{i}\t{label}\n" for i, label in enumerate(DATASET.relations.labels))
    )
    theirs = np.argsort(order)
    path = save(tmp_path / "pred.npz", t_pred_top10=theirs[BEST], t_correct_index=theirs[TEST[:, 2]])
    found = kg.read_predictions(path, DATASET, ids=tmp_path)
    assert np.array_equal(found.answers.values.reshape(BEST.shape), BEST)
    ogb = kg.Dataset(DATASET.entities, DATASET.relations, DATASET.splits, id_format="ogb",
                     dictionaries={"entities": [DATASET.entities.labels[j] for j in order]})  # fmt: skip
    assert np.array_equal(kg.read_predictions(path, ogb).answers.values.reshape(BEST.shape), BEST)
    with pytest.raises(DataError, match="t_correct_index is not the objects of test: the first difference is in row"):
        kg.read_predictions(path, DATASET, ids="dataset")


def test_an_answer_twice_counts_once(tmp_path):
    best = BEST.copy()
    best[0, 3] = best[0, 0]
    found = kg.read_predictions(save(tmp_path / "pred.npz", t_pred_top10=best), DATASET, ids="dataset")
    assert found.notes[-1] == "1 row holds an id twice: the first place counts (OGB would count such a row as a miss)"
    result = kg.evaluate_predictions(found, DATASET, filtered="no")
    best[0] = np.append(np.delete(BEST[0], 3), BEST[0, 0])  # the second place of the id has no effect
    again = kg.evaluate_predictions(
        kg.read_predictions(save(tmp_path / "pred.npz", t_pred_top10=best), DATASET, ids="dataset"),
        DATASET,
        filtered="no",
    )
    assert result["raw.optimistic.mrr"] == again["raw.optimistic.mrr"]


def test_places_in_lists_of_candidates_are_refused(tmp_path):
    many = kg.Dataset.from_arrays(test=TEST, n_entities=20_000, n_relations=4)
    with pytest.raises(
        DataError, match=r"all entries of t_pred_top10 are below 1,001, but the dataset has 20,000 entities"
    ):
        kg.read_predictions(save(tmp_path / "pred.npz", t_pred_top10=BEST), many)


@pytest.mark.parametrize(
    ("best", "message"),
    [
        (BEST[:-1], "expected one row for each"),
        (BEST + 0.0, "t_pred_top10 must hold integer ids; got dtype float64"),
        (BEST + 5, "is not in 0..11"),
        (BEST - 1, "is not in 0..11"),
        (BEST[:, 0], "expected one row for each"),
    ],
)
@pytest.mark.light(2)
def test_faults(tmp_path, best, message):
    path = save(tmp_path / "pred.npz", t_pred_top10=best)
    with pytest.raises(DataError) as error:
        kg.read_predictions(path, DATASET, ids="dataset")
    assert str(path) in str(error.value)
    assert message in str(error.value)


@pytest.mark.thorough
def test_torch_files(tmp_path):
    torch = pytest.importorskip("torch", reason="needs torch")
    content = {"h,r->t": {"t_pred_top10": torch.tensor(BEST), "t_correct_index": torch.tensor(TEST[:, 2])}}
    torch.save(content, tmp_path / "test.pkl")
    found = kg.read_predictions(tmp_path / "test.pkl", DATASET, ids="dataset")
    assert np.array_equal(found.answers.values.reshape(BEST.shape), BEST)
    torch.save(content, tmp_path / "old.pkl", _use_new_zipfile_serialization=False)
    with pytest.raises(DataError, match=r"old\.pkl"):  # `read_torch` says how to convert it
        kg.read_predictions(tmp_path / "old.pkl", DATASET, ids="dataset")
