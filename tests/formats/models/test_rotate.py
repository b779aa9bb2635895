"""Folders of the code of RotatE's paper: stand-ins that these tests write, with scores by a loop; and a real folder."""

import cmath
import json
import warnings

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from rnnlogic_umls import splits_of
from torch_zip import write_torch

import kgeval
from kgeval import DataError, KgevalWarning, load_model
from kgeval.formats.checkpoints.id_files import labels_of_ids
from kgeval.formats.models.rotate import FORMAT

D, GAMMA = 4, 6.0
DOUBLE = {"RotatE": (True, False), "ComplEx": (True, True), "DistMult": (False, False), "TransE": (False, False)}
RANGE = float(np.float32((GAMMA + 2) / D))
PI = 3.14159262358979323846  # the typing error of that code
CONTEXT = {"data_path": "data/eight", "cuda": True, "init_checkpoint": None, "nentity": N_E, "nrelation": N_R}


def score(kind, e, r, embedding_range=RANGE):
    """The formulas of ``codes/model.py``, without gamma, one triple and one dimension at a time."""

    def one(s, p, o):
        h, t, total = e[s].astype(float), e[o].astype(float), 0.0
        for k in range(D):
            if kind == "RotatE":
                rotation = cmath.exp(1j * float(r[p, k]) / (embedding_range / PI))
                total -= abs(complex(h[k], h[D + k]) * rotation - complex(t[k], t[D + k]))
            elif kind == "ComplEx":
                product = complex(h[k], h[D + k]) * complex(r[p, k], r[p, D + k]) * complex(t[k], -t[D + k])
                total += product.real
            elif kind == "DistMult":
                total += h[k] * float(r[p, k]) * t[k]
            else:
                total -= abs(h[k] + float(r[p, k]) - t[k])
        return total

    return lambda side, s, p, o: [one(*triple) for triple in zip(s, p, o)]


def both_tables(kind):
    double_entity, double_relation = DOUBLE[kind]
    t = tables(e=(N_E, D * (1 + double_entity)), r=(N_R, D * (1 + double_relation)))
    return t["e"], t["r"]


def config(kind, **changes):
    double_entity, double_relation = DOUBLE.get(kind, (False, False))
    flags = {"double_entity_embedding": double_entity, "double_relation_embedding": double_relation}
    content = {**CONTEXT, "model": kind, "hidden_dim": D, "gamma": GAMMA, **flags, **changes}
    return {name: value for name, value in content.items() if value != "absent"}


def written(folder, kind="RotatE", dictionaries=True, **changes):
    """Write a folder as that code does; return its tables."""
    e, r = both_tables(kind if kind in DOUBLE else "DistMult")
    np.save(folder / "entity_embedding.npy", e)
    np.save(folder / "relation_embedding.npy", r)
    (folder / "config.json").write_text(json.dumps(config(kind, **changes)))
    for name, labels in (("entities.dict", ENTITIES), ("relations.dict", RELATIONS)) if dictionaries else ():
        (folder / name).write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), encoding="utf-8")
    return e, r


def checkpoint(folder, kind="RotatE", gamma=GAMMA, embedding_range=RANGE, **more):
    """Write the torch file of that code; return its tables."""
    e, r = both_tables(kind)
    state = {"gamma": np.float32([gamma]), "embedding_range": np.float32([embedding_range])}
    state |= {"entity_embedding": e, "relation_embedding": r, **more}
    optimizer = {"state": {0: {"step": 3, "exp_avg": e}}, "param_groups": [{"lr": 1e-4, "params": [0, 1]}]}
    write_torch(folder / "checkpoint", {"step": 9, "model_state_dict": state, "optimizer_state_dict": optimizer})
    return e, r


@pytest.fixture(scope="module")
def dataset():
    """Without dictionaries: the order of the rows must come from the folder of the model."""
    return labelled_dataset(dictionaries=False)


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value)


@pytest.mark.parametrize("kind", DOUBLE)
@pytest.mark.light(2)
def test_scores(dataset, tmp_path, kind):
    e, r = written(tmp_path, kind)
    assert recognised(tmp_path) == ["rotate"]
    for path in (tmp_path, tmp_path / "relation_embedding.npy"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", KgevalWarning)
            model = load_model(path, dataset)
        assert type(model).__name__ == kind
        assert_scores(model, dataset, score(kind, e, r))
    assert "the model was read as a model of the code of RotatE's paper (KnowledgeGraphEmbedding)" in model.notes


@pytest.mark.parametrize("kind", DOUBLE)
@pytest.mark.light(2)
def test_checkpoint(dataset, tmp_path, kind):
    """The torch file alone is read too, in its folder or by its path; the optimizer's tensors are no part of it."""
    written(tmp_path, kind)
    e, r = checkpoint(tmp_path, kind)
    (tmp_path / "entity_embedding.npy").unlink()
    for path in (tmp_path, tmp_path / "checkpoint"):
        assert recognised(path) == ["rotate"]
        assert_scores(load_model(path, dataset), dataset, score(kind, e, r))
    (tmp_path / "config.json").unlink()
    assert "config.json: is missing, which names the model of the tables; set model=" in failure(tmp_path, dataset)
    assert_scores(load_model(tmp_path, dataset, model=kind), dataset, score(kind, e, r))


def test_a_further_tensor_is_refused(dataset, tmp_path):
    """S15: a bias that the formula does not have."""
    written(tmp_path, "DistMult")
    checkpoint(tmp_path, "DistMult", bias=np.zeros(N_E, dtype=np.float32))
    said = failure(tmp_path / "checkpoint", dataset)
    assert "DistMult has no use for bias" in said
    assert "set ignore='bias' (--ignore)" in said


def test_order_of_the_rows(tmp_path):
    """S9: the dictionaries of the folder, else those of the dataset, else an error; never the order of the labels."""
    e, r = written(tmp_path, dictionaries=False)
    note = "the rows of entities and relations were read in the order of the ids with which dataset 'eight' was made"
    model = load_model(tmp_path, labelled_dataset())
    assert note in model.notes
    assert_scores(model, labelled_dataset(), score("RotatE", e, r))
    without = labelled_dataset(dictionaries=False)
    said = failure(tmp_path, without)
    assert "nothing says to which entities and relations the rows of its tables belong" in said
    assert "ids=(entities file, relations file)" in said
    (tmp_path / "other").mkdir()
    written(tmp_path / "other")
    assert_scores(load_model(tmp_path, without, ids=tmp_path / "other"), without, score("RotatE", e, r))
    (tmp_path / "other" / "entities.dict").write_text("0\tdelta\n1\talpha\n")
    said = failure(tmp_path / "other", without)
    assert "entities has 8 rows, but entity_labels has 2 labels; expected one label per row" in said


def test_phases_are_no_radians(dataset, tmp_path):
    """S7: no load takes the raw relations as radians; a caller who says so gets a note, and other scores."""
    e, r = written(tmp_path)
    model = load_model(tmp_path, dataset)
    assert "phases in units of 1.5708 radians" in model.notes[0]  # pi / ((6 + 2) / 4)
    said = load_model(tmp_path, dataset, phase_unit=1)
    assert f"config.json says phase_unit={PI / RANGE!r}; the setting phase_unit=1 replaced this" in said.notes
    assert_scores(said, dataset, score("RotatE", e, r, embedding_range=PI))
    np.save(tmp_path / "relation_embedding.npy", r / 10)
    with pytest.warns(KgevalWarning, match="set phase_unit= "):
        kgeval.models.RotatE(e, r / 10, layout="halves")


@pytest.mark.parametrize("lacking", ["gamma", "hidden_dim"])
def test_the_unit_of_the_phases_is_asked_for(dataset, tmp_path, lacking):
    """S8: without gamma or hidden_dim nothing says the unit."""
    e, r = written(tmp_path, **{lacking: "absent"})
    said = failure(tmp_path, dataset)
    assert "does not say phase_unit, which changes the scores of RotatE; set phase_unit=1 for phases in radians" in said
    assert_scores(load_model(tmp_path, dataset, phase_unit=PI / RANGE), dataset, score("RotatE", e, r))


def test_the_numbers_of_that_code(tmp_path):
    """gamma and the range are float32 there, and pi has a typing error: 0.7 gives another unit than in float64."""
    written(tmp_path, gamma=0.7)
    unit = FORMAT.read(tmp_path, {}).settings["phase_unit"]
    assert unit == 3.14159262358979323846 / float(np.float32((float(np.float32(0.7)) + 2) / D))
    assert unit != pytest.approx(np.pi / (2.7 / D), rel=1e-9)


def test_a_run_that_started_from_a_checkpoint(dataset, tmp_path):
    """Such a run has the gamma of the checkpoint, and config.json another: the checkpoint counts, else a note warns."""
    e, r = written(tmp_path, init_checkpoint="models/before", gamma=12.0)
    model = load_model(tmp_path, dataset)
    assert any("a run that started from a checkpoint (init_checkpoint)" in note for note in model.notes)
    assert_scores(model, dataset, score("RotatE", e, r, embedding_range=14 / D))
    checkpoint(tmp_path)
    model = load_model(tmp_path, dataset)
    assert not any("init_checkpoint" in note for note in model.notes)
    assert_scores(model, dataset, score("RotatE", e, r))
    checkpoint(tmp_path, embedding_range=-1)
    assert "embedding_range must be one number above 0" in failure(tmp_path, dataset)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("RotatE", {"hidden_dim": 8}, "entity_embedding.npy has 8 columns, but config.json says hidden_dim=8 and "),
        ("RotatE", {"double_entity_embedding": False}, "the code of RotatE's paper refuses this. One of the two is"),
        ("RotatE", {"double_relation_embedding": True}, "says model='RotatE' and double_relation_embedding=True"),
        ("ComplEx", {"double_relation_embedding": False}, "says model='ComplEx' and double_relation_embedding=False"),
        ("DistMult", {"double_entity_embedding": True}, "has 4 columns, but config.json says hidden_dim=4 and double"),
        ("TransE", {"nentity": 9}, "entity_embedding.npy has 8 rows, but config.json says nentity=9"),
        ("TransE", {"nrelation": 4}, "relation_embedding.npy has 3 rows, but config.json says nrelation=4"),
        ("RotatE", {"hidden_dim": "4"}, "hidden_dim must be a whole number above 0; got '4'"),
        ("RotatE", {"hidden_dim": 0}, "hidden_dim must be a whole number above 0; got 0"),
        ("RotatE", {"gamma": 10**400}, "gamma must be a number above -2, below 1e6; got 1000"),
        ("RotatE", {"gamma": -2}, "gamma must be a number above -2, below 1e6; got -2"),
        ("RotatE", {"gamma": "12"}, "gamma must be a number above -2, below 1e6; got '12'"),
        ("ComplEx", {"model": "RotatE", "double_relation_embedding": "absent", "hidden_dim": "absent"}, "half as many"),
        ("TransE", {"model": "absent"}, "config.json: lacks 'model', which names the model of the tables"),
        ("pRotatE", {}, "pRotatE, whose score is minus a modulus times the sum of |sin| of the phase differences"),
        ("HAKE", {}, "the model is 'HAKE'; the code of RotatE's paper has RotatE, ComplEx, DistMult, TransE. Other"),
        ("RotateE", {}, "the model is 'RotateE'; did you mean 'rotate'?"),
    ],
)
@pytest.mark.light(6)
def test_contradictions(dataset, tmp_path, kind, changes, message):
    written(tmp_path, kind if kind in DOUBLE else "DistMult", **({} if kind in DOUBLE else {"model": kind}) | changes)
    assert message in failure(tmp_path, dataset)


def test_protate_is_known_by_its_modulus(dataset, tmp_path):
    """A checkpoint of pRotatE is refused also if the caller calls it TransE, whose tables have the same shapes."""
    checkpoint(tmp_path, "TransE", modulus=np.float32([[0.5]]))
    assert "pRotatE, whose score is minus a modulus" in failure(tmp_path / "checkpoint", dataset, model="transe")


def test_damaged_files(dataset, tmp_path):
    written(tmp_path)
    (tmp_path / "config.json").write_text("{")
    assert "config.json: not JSON" in failure(tmp_path, dataset)
    (tmp_path / "config.json").write_text("[]")
    assert "config.json: expected a JSON object" in failure(tmp_path, dataset)
    written(tmp_path)
    np.save(tmp_path / "relation_embedding.npy", np.array([{}], dtype=object))
    assert "relation_embedding.npy: contains pickled objects, which kgeval never reads" in failure(tmp_path, dataset)
    np.save(tmp_path / "relation_embedding.npy", np.zeros(3))
    assert "relation_embedding.npy must be a table with two dimensions; got shape (3,)" in failure(tmp_path, dataset)
    (tmp_path / "relation_embedding.npy").write_bytes(b"\x93NUMPY")
    assert "relation_embedding.npy: is damaged, cut off, or not an .npy file" in failure(tmp_path, dataset)
    with (tmp_path / "relation_embedding.npy").open("wb") as stream:
        np.savez(stream, a=np.zeros(3))
    assert "expected a single array (.npy), found an .npz archive" in failure(tmp_path, dataset)


def test_a_folder_of_something_else(dataset, tmp_path):
    np.save(tmp_path / "entity_embedding.npy", np.zeros((2, 2)))
    assert recognised(tmp_path) == recognised(tmp_path / "entity_embedding.npy") == []
    said = failure(tmp_path, dataset, format="rotate")
    assert "expected entity_embedding.npy and relation_embedding.npy, or checkpoint" in said
    write_torch(tmp_path / "checkpoint", {"step": 3})
    assert "expected a checkpoint of the code of RotatE's paper" in failure(tmp_path, dataset, format="rotate")


# Metrics of the real model on the valid (2,612 queries) and test (6,528 queries) triples of its own split.
VALID = {"mrr": 0.340599, "mr": 16.185299, "hits@1": 0.204824, "hits@3": 0.387060, "hits@10": 0.617917}
TEST = {"mrr": 0.344034, "mr": 15.927390, "hits@1": 0.205882, "hits@3": 0.393229, "hits@10": 0.620711}


def umls_as_trained(shared):
    """UMLS in the splits of RNNLogic's repository, in which the model of ../shared was trained and evaluated."""
    usual = kgeval.read_dataset(shared / "data" / "umls")
    names = usual.entities.labels, usual.relations.labels
    ids = np.concatenate([part.array for part in usual.splits.values()]).tolist()
    parts = splits_of([(names[0][s], names[1][p], names[0][o]) for s, p, o in ids])
    assert {name: len(part) for name, part in parts.items()} == {"train": 1959, "valid": 1306, "test": 3264}
    return kgeval.Dataset.from_frames(**parts)


@pytest.mark.parametrize(("split", "published"), [("valid", VALID), ("test", TEST)])
def test_real_folder(shared, split, published):
    """RotatE on UMLS: the metrics of valid and test that its own code printed, to 6 decimals."""
    dataset = umls_as_trained(shared)
    model = load_model(shared / "data" / "formats" / "rotate-umls-50", dataset)
    result = kgeval.evaluate(model, dataset, kgeval.Protocol(splits=split), progress=False)
    assert {key: round(float(result[key]), 6) for key in published} == published


def test_real_folder_with_radians(shared):
    """With the phases as radians (S7) the same folder loses its quality; a note tells that the setting was replaced."""
    dataset = umls_as_trained(shared)
    model = load_model(shared / "data" / "formats" / "rotate-umls-50", dataset, phase_unit=1.0)
    assert any("phase_unit" in note for note in model.notes)
    result = kgeval.evaluate(model, dataset, kgeval.Protocol(splits="valid"), progress=False)
    assert result["mrr"] < 0.2


def test_real_ranks(shared):
    """The ranks of kgeval are those of that code's float32 steps, but for near ties; written here in numpy."""
    dataset = kgeval.read_dataset(shared / "data" / "umls")
    folder = shared / "data" / "formats" / "rotate-umls-50"
    model = load_model(folder, dataset)
    entities, relations = labels_of_ids(folder)
    rows = [entities.index(label) for label in dataset.entities.labels]
    e = np.load(folder / "entity_embedding.npy")[rows]
    rows = [relations.index(label) for label in dataset.relations.labels]
    r = np.load(folder / "relation_embedding.npy")[rows]
    phases = r / np.float32(float(np.float32((6.0 + 2.0) / 50)) / PI)
    cos, sin, re, im = np.cos(phases), np.sin(phases), e[:, :50], e[:, 50:]
    known = {}
    for triples in dataset.splits.values():
        for s, p, o in triples.array.tolist():
            known.setdefault(("object", s, p), set()).add(o)
            known.setdefault(("subject", o, p), set()).add(s)
    table = kgeval.evaluate(model, dataset, progress=False).table
    n_off = 0
    for row in table.itertuples():
        given, answer, sign = (row.s, row.o, 1) if row.side == "object" else (row.o, row.s, -1)
        a, b = cos[row.p], sign * sin[row.p]
        gaps = re[given] * a - im[given] * b - re, re[given] * b + im[given] * a - im
        scores = -np.sqrt(gaps[0] ** 2 + gaps[1] ** 2).sum(axis=1)
        rivals = np.setdiff1d(np.arange(135), sorted(known[row.side, given, row.p]))
        better = int((scores[rivals] > scores[answer]).sum())
        n_off += not row.better_filtered <= better <= row.better_filtered + row.tied_filtered
    assert len(table) == 1322
    assert n_off <= 1
