"""Folders of .npy tables: settings of config.json, rows by label, mapped and not copied, bfloat16 only if said."""

import json

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from table_cases import bits

import kgeval as kg
from kgeval import DataError, load_model
from kgeval.cli.program import main
from kgeval.kernels import mapped_tables as kernel_tables
from kgeval.kernels.mapped_tables import StreamedTable

D = 4
LABELS = {"entity_labels": np.array(ENTITIES), "relation_labels": np.array(RELATIONS)}
DISTMULT = {"model": "distmult"}
pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


def score(t):
    """DistMult, one number at a time, on rows of the file."""
    e, r = (t[name].astype(float).tolist() for name in ("entities", "relations"))
    return lambda side, s, p, o: [sum(e[a][k] * r[b][k] * e[c][k] for k in range(D)) for a, b, c in zip(s, p, o)]


def save(folder, arrays, config=None):
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


@pytest.fixture
def t():
    return tables(entities=(N_E, D), relations=(N_R, D))


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset(dictionaries=False)


@pytest.fixture
def streams(monkeypatch):
    """No table is small enough to be copied, or read whole."""
    monkeypatch.setattr(kernel_tables, "MAX_COPY", 0)


def dataset_of(labels):
    return kg.Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=labels, relation_labels=["r"])


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value)


def test_a_folder_like_an_npz_file(dataset, tmp_path, t):
    """The same arrays and settings in either form give the same model."""
    folder = save(tmp_path / "model", {**t, **LABELS}, DISTMULT)
    assert recognised(folder) == ["npy"]
    np.savez(tmp_path / "model.npz", **t, **LABELS, **DISTMULT)
    model, other = load_model(folder, dataset), load_model(tmp_path / "model.npz", dataset)
    assert_scores(model, dataset, score(t))
    np.testing.assert_array_equal(model.entities, other.entities)
    assert model.notes == (*other.notes, "the model was read as a folder of .npy tables under kgeval's names")


def test_labels_of_id_files_or_none(dataset, tmp_path, t):
    """Labels from entities.dict and relations.dict; without any, rows in id order, and a note."""
    folder = save(tmp_path / "model", t, DISTMULT)
    in_order = load_model(folder, dataset)
    assert any("has no entity_labels: its rows were read as all entities, in id order" in n for n in in_order.notes)
    np.testing.assert_array_equal(in_order.entities, t["entities"])
    for name, labels in (("entities", ENTITIES), ("relations", RELATIONS)):
        (folder / f"{name}.dict").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), "utf-8")
    model = load_model(folder, dataset)
    assert_scores(model, dataset, score(t))
    assert "the rows of the model were read in the order of entities.dict and relations.dict beside it" in model.notes


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.light(2)
def test_tables_are_mapped(dataset, streams, tmp_path, t, dtype):
    """In id order the table is that of the file; by label, its rows are read where they are. Nothing is copied."""
    as_stored = {name: bits(table) if dtype == "bfloat16" else table.astype(dtype) for name, table in t.items()}
    widened = as_stored
    if dtype == "bfloat16":
        widened = {name: (table.astype(np.uint32) << 16).view(np.float32) for name, table in as_stored.items()}
    config = DISTMULT | ({"dtype": "bfloat16"} if dtype == "bfloat16" else {})
    model = load_model(save(tmp_path / "ids", as_stored, config), dataset)
    roots = model.entities.sources if isinstance(model.entities, StreamedTable) else (model.entities,)
    assert all(kernel_tables.MappedArray.of(root) is not None for root in roots)
    by_label = load_model(save(tmp_path / "labels", as_stored | LABELS, config), dataset)
    assert isinstance(by_label.entities, StreamedTable)
    assert_scores(by_label, dataset, score(widened))
    whole = {name: np.asarray(table) for name, table in widened.items()}
    expected = kg.models.DistMult(**whole)
    assert kg.evaluate(model, dataset).table.equals(kg.evaluate(expected, dataset).table)


def test_bits_are_never_guessed(dataset, tmp_path, t):
    """uint16 may be bfloat16 or integers; the configuration or the call must say it."""
    halves = {name: bits(table) for name, table in t.items()}
    folder = save(tmp_path / "model", halves | LABELS, DISTMULT)
    wanted = (
        f"{folder}: does not say what the 16-bit numbers are in entities (uint16), relations (uint16); set "
        "dtype='bfloat16' if they are the bits of bfloat16 numbers, which numpy does not have (--dtype bfloat16); "
        "integers must be saved as int32 or as floats"
    )
    assert failure(folder, dataset) == wanted
    np.savez(tmp_path / "model.npz", **halves, **LABELS, **DISTMULT)
    assert "in entities (uint16), relations (uint16); set dtype=" in failure(tmp_path / "model.npz", dataset)
    widened = {name: (table.astype(np.uint32) << 16).view(np.float32) for name, table in halves.items()}
    for path in (folder, tmp_path / "model.npz"):
        assert_scores(load_model(path, dataset, dtype="bfloat16"), dataset, score(widened))
    np.savez(tmp_path / "model.npz", **halves, **LABELS, **DISTMULT, dtype="bfloat16")
    assert_scores(load_model(tmp_path / "model.npz", dataset), dataset, score(widened))
    assert "dtype must be one of 'bfloat16'; got 'float16'" in failure(folder, dataset, dtype="float16")
    floats = save(tmp_path / "floats", {**t, **LABELS}, DISTMULT)
    said = failure(floats, dataset, dtype="bfloat16")
    assert said.endswith("dtype='bfloat16' is for tables of uint16 or int16; found entities float32, relations float32")
    half_said = save(tmp_path / "half", {**halves, "relations": np.ones((N_R, D), np.int32), **LABELS}, DISTMULT)
    assert failure(half_said, dataset, dtype="bfloat16").endswith("found entities uint16, relations int32")


@pytest.mark.parametrize("dtype", ["<i2", ">i2", ">u2", "V2"])
@pytest.mark.light(2)
def test_bits_of_any_16_bit_dtype(dataset, tmp_path, t, dtype):
    """torch exports bfloat16 as int16, ml_dtypes as raw bytes; the rows are in another order than the ids."""
    halves = {name: bits(table) for name, table in t.items()}
    entities = halves["entities"] if dtype == "V2" else halves["entities"].astype(dtype[0] + "u2")
    folder = save(tmp_path / "model", {**halves, "entities": entities.view(dtype), **LABELS}, DISTMULT)
    found = f"in entities ({np.dtype(dtype)}), relations (uint16); set dtype="
    assert f"does not say what the 16-bit numbers are {found}" in failure(folder, dataset)
    widened = {name: (table.astype(np.uint32) << 16).view(np.float32) for name, table in halves.items()}
    assert_scores(load_model(folder, dataset, dtype="bfloat16"), dataset, score(widened))


def test_a_dtype_that_is_true(dataset, tmp_path, t):
    """A configuration may name the dtype that the tables have."""
    halves = {name: table.astype(np.float16) for name, table in t.items()}
    folder = save(tmp_path / "model", halves | LABELS, DISTMULT | {"dtype": "float16"})
    assert_scores(load_model(folder, dataset), dataset, score(halves))
    save(folder, {name: bits(table) for name, table in t.items()}, DISTMULT | {"dtype": "uint16"})
    assert "does not say what the 16-bit numbers are" in failure(folder, dataset)


def test_rows_in_id_order_of_number_labels(tmp_path):
    """The ids of numbers sorted as text are other numbers; the call must say which the rows follow."""
    labels = sorted(map(str, range(12)))
    numbers = dataset_of(labels)
    rows = {"entities": np.arange(12.0)[:, None], "relations": np.ones((1, 1))}
    folder = save(tmp_path / "model", rows, DISTMULT)
    np.savez(tmp_path / "model.npz", **rows, **DISTMULT)
    for path in (folder, tmp_path / "model.npz"):
        said = failure(path, numbers)
        assert (
            "label '2' has id 4. If row i belongs to label i, save entity_labels = numpy.arange(12).astype(str)" in said
        )
        assert "set entity_labels='ids' (--entity-labels ids)" in said
        by_id = load_model(path, numbers, entity_labels="ids", relation_labels="ids")
        assert by_id.entities.tolist() == rows["entities"].tolist()
        by_label = load_model(path, numbers, entity_labels=np.arange(12).astype(str), relation_labels="ids")
        assert by_label.entities[:, 0].tolist() == [float(label) for label in labels]
    for plain in (
        kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=12, n_relations=1),
        dataset_of(sorted("abcdefghijkl")),
    ):
        assert load_model(folder, plain).entities.tolist() == rows["entities"].tolist()


def test_integers_of_other_widths_stay_integers(dataset, tmp_path):
    t = {"entities": np.arange(N_E * D).reshape(N_E, D) % 7, "relations": np.arange(N_R * D).reshape(N_R, D) % 5}
    folder = save(tmp_path / "model", {name: table.astype(np.int8) for name, table in t.items()} | LABELS, DISTMULT)
    assert_scores(load_model(folder, dataset), dataset, score(t))


def test_faulty_folders(dataset, tmp_path, t):
    """What is missing or not known is said, with the folder."""
    folder = save(tmp_path / "model", {**t, **LABELS})
    assert "does not name its model; set model= (--model-type)" in failure(folder, dataset)
    assert_scores(load_model(folder, dataset, model="distmult"), dataset, score(t))
    save(folder, {"bias": np.zeros(N_E)}, DISTMULT | {"seed": 3})
    assert f"{folder}: DistMult has no use for bias" in failure(folder, dataset)
    model = load_model(folder, dataset, ignore="bias")
    assert "not used from config.json: seed" in model.notes
    (folder / "entities.npy").write_bytes(b"\x93NUMPY")
    assert "entities.npy: is damaged, cut off, or not an .npy file" in failure(folder, dataset)
    np.save(folder / "entities.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "entities.npy: contains pickled objects, which kgeval never reads" in failure(folder, dataset)
    said = f"expected a folder with entities.npy and relations.npy; give the folder, {folder}"
    assert said in failure(folder / "relations.npy", dataset, format="npy")
    assert said in failure(folder / "entities.npy", dataset)


def test_hidden_files_are_not_read(dataset, tmp_path, t):
    """macOS puts ._entities.npy beside entities.npy when it copies files to other disks."""
    folder = save(tmp_path / "model", {**t, **LABELS}, DISTMULT)
    (folder / "._entities.npy").write_bytes(b"Mac OS X")
    assert_scores(load_model(folder, dataset), dataset, score(t))


def test_two_arrays_in_a_file(dataset, streams, tmp_path, t, monkeypatch):
    """Only the first would be read; of a small and of a mapped file."""
    folder = save(tmp_path / "model", {**t, **LABELS}, DISTMULT)
    with open(folder / "entities.npy", "ab") as stream:
        np.save(stream, t["entities"])
    size = 128 + t["entities"].nbytes
    wanted = f"{folder / 'entities.npy'}: has {size} bytes after its array; save one array to a file"
    assert failure(folder, dataset) == wanted
    monkeypatch.undo()  # `streams`
    assert failure(folder, dataset) == wanted


@pytest.mark.parametrize(
    "content", [b"\x93NUMPY", b"", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False"]
)
def test_a_damaged_mapped_file(dataset, streams, tmp_path, t, content):
    folder = save(tmp_path / "model", {**t, **LABELS}, DISTMULT)
    whole = (folder / "entities.npy").read_bytes()
    for damaged in (content, whole[:-5]):
        (folder / "entities.npy").write_bytes(damaged)
        said = "is damaged, cut off, or not an .npy file" if damaged else "is empty (0 bytes)"
        assert f"entities.npy: {said}" in failure(folder, dataset)


@pytest.mark.thorough
def test_the_command_line_reads_a_folder(tmp_path, t, capsys, monkeypatch):
    """--model FOLDER --dtype bfloat16, with the ranks of the same numbers as floats."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    for split, n in (("train", 30), ("test", 10)):
        lines = [
            f"{rng.choice(ENTITIES[:-1])}\t{rng.choice(RELATIONS)}\t{rng.choice(ENTITIES[:-1])}\n" for _ in range(n)
        ]
        (tmp_path / f"{split}.txt").write_text("".join(lines), "utf-8")
    halves = {name: bits(table) for name, table in t.items()}
    save(tmp_path / "halves", halves | LABELS, DISTMULT)
    widened = {name: (table.astype(np.uint32) << 16).view(np.float32) for name, table in halves.items()}
    save(tmp_path / "floats", widened | LABELS, DISTMULT)
    outputs = []
    for options in (["halves", "--dtype", "bfloat16"], ["floats"]):
        assert main(["evaluate", ".", "--model", *options, "--metrics", "mr,mrr", "--to", "json"]) in (0, None)
        outputs.append(json.loads(capsys.readouterr().out)["metrics"])
    assert outputs[0] == outputs[1]
