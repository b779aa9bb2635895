"""Files of the safetensors library under kgeval's names: settings and labels from the metadata, or asked for."""

import json
import pickle

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from model_cases import SIDES
from table_cases import bits

from kgeval import DataError, evaluate, load_model, models
from kgeval.kernels import mapped_tables as kernel_tables
from kgeval.kernels.mapped_tables import MappedArray, StreamedTable, packed

pytest.importorskip("safetensors", reason="needs kgeval[safetensors]")
from safetensors.numpy import save_file

D = 4
LABELS = {"entity_labels": json.dumps(ENTITIES), "relation_labels": json.dumps(RELATIONS)}
COMPLEX = {"model": "complex", "layout": "halves"}


def score(t):
    """ComplEx in halves, one number at a time."""
    e, r = ([[complex(row[k], row[D + k]) for k in range(D)] for row in t[name].astype(float)] for name in t)
    return lambda side, s, p, o: [
        sum((e[a][k] * r[b][k] * e[c][k].conjugate()).real for k in range(D)) for a, b, c in zip(s, p, o)
    ]


@pytest.fixture
def t():
    return tables(entities=(N_E, 2 * D), relations=(N_R, 2 * D))


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset(dictionaries=False)


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **said)
    return str(caught.value)


def test_settings_and_labels_in_the_metadata(dataset, tmp_path, t):
    file = tmp_path / "model.safetensors"
    save_file(t, file, metadata={**COMPLEX, **LABELS, "format": "np"})
    for path in (file, tmp_path):
        assert recognised(path) == ["safetensors"]
        model = load_model(path, dataset)
        assert_scores(model, dataset, score(t))
    assert "the model was read as a .safetensors file of tensors under kgeval's names" in model.notes
    assert not any("not used" in note for note in model.notes)


@pytest.mark.parametrize("lacking", ["model", "layout", "entity_labels", "relation_labels"])
def test_what_is_missing_is_asked_for(dataset, tmp_path, t, lacking):
    """S8, S9: neither the model, nor its layout, nor the order of the rows is assumed."""
    content = {**COMPLEX, **LABELS}
    save_file(t, tmp_path / "a.safetensors", metadata={name: content[name] for name in content if name != lacking})
    asked = {
        "model": "does not name its model; set model= (--model-type)",
        "layout": "does not say layout, which changes the scores of ComplEx; set layout='halves' or 'interleaved'",
    }
    rows = f"nothing says to which {'entities' if lacking == 'entity_labels' else 'relations'} the rows of its tables"
    said = failure(tmp_path / "a.safetensors", dataset).replace("layout='interleaved'", "'interleaved'")
    assert asked.get(lacking, rows) in said
    given = COMPLEX | {"entity_labels": ENTITIES, "relation_labels": RELATIONS}
    model = load_model(tmp_path / "a.safetensors", dataset, **{lacking: given[lacking]})
    assert_scores(model, dataset, score(t))


def test_no_metadata(tmp_path, t):
    """The rows follow the id files of the folder, else those of the dataset."""
    save_file(t, tmp_path / "a.safetensors")
    assert_scores(load_model(tmp_path, labelled_dataset(), **COMPLEX), labelled_dataset(), score(t))
    without = labelled_dataset(dictionaries=False)
    assert "nothing says to which entities and relations" in failure(tmp_path, without, **COMPLEX)
    for name, labels in (("entities", ENTITIES), ("relations", RELATIONS)):
        (tmp_path / f"{name}.dict").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), "utf-8")
    assert_scores(load_model(tmp_path, without, **COMPLEX), without, score(t))


def test_numbers_in_the_metadata(dataset, tmp_path):
    """The norm is a whole number, though metadata are texts; a call that says another gets a note."""
    t = tables(entities=(N_E, D), relations=(N_R, D))
    settings = {"model": "TransE", "norm": "2", "normalise": "none", "author": "me", "normalize": "l2"}
    save_file(t, tmp_path / "a.safetensors", metadata=settings | LABELS)
    model = load_model(tmp_path, dataset)
    assert "TransE, L2, 4 dimensions" in model.notes[0]
    assert any(note.startswith("not used from a.safetensors: ") and "normalize" in note for note in model.notes)
    model = load_model(tmp_path, dataset, norm=1)
    assert "the model file says norm='2'; the setting norm=1 replaced this" in model.notes
    save_file(t, tmp_path / "a.safetensors", metadata=settings | LABELS | {"norm": "two"})
    assert "expected a number as norm; found 'two'" in failure(tmp_path, dataset)


def test_configuration_beside_the_file(dataset, tmp_path, t):
    """A folder of model.safetensors and config.json, as hubs of models have it; they must not contradict each other."""
    save_file(t, tmp_path / "model.safetensors", metadata=LABELS)
    (tmp_path / "config.json").write_text(json.dumps({**COMPLEX, "hidden": 4, "inverse_relations": None}))
    model = load_model(tmp_path, dataset)
    assert_scores(model, dataset, score(t))
    assert "not used from config.json: hidden" in model.notes
    save_file(t, tmp_path / "model.safetensors", metadata=LABELS | {"layout": "interleaved"})
    said = failure(tmp_path, dataset)
    assert "says layout='interleaved', but the config.json beside it says layout='halves'; set layout=" in said
    (tmp_path / "config.json").write_text(json.dumps({"model": 3}))
    assert "expected a text as model; found 3" in failure(tmp_path, dataset)


def test_a_further_tensor_is_refused(dataset, tmp_path, t):
    """S15."""
    save_file({**t, "bias": np.zeros(N_E, np.float32)}, tmp_path / "a.safetensors", metadata=COMPLEX | LABELS)
    assert "ComplEx has no use for bias" in failure(tmp_path, dataset)
    assert_scores(load_model(tmp_path, dataset, ignore="bias"), dataset, score(t))


def test_bfloat16(dataset, tmp_path, t):
    """numpy has no bfloat16; its 16 bits are the upper half of a float32. The file is written byte by byte."""
    halves = {name: (array.view(np.uint32) >> 16).astype("<u2") for name, array in t.items()}
    header, content = {"__metadata__": COMPLEX | LABELS}, b""
    for name, array in halves.items():
        places = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": places}
        content += array.tobytes()
    text = json.dumps(header).encode()
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content)
    rounded = {name: (array.astype(np.uint32) << 16).view(np.float32) for name, array in halves.items()}
    model = load_model(tmp_path, dataset)
    assert_scores(model, dataset, score(rounded))
    assert len(SIDES) == 2


@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
@pytest.mark.parametrize("dtype", ["float32", "float16", "BF16"])
def test_tables_are_mapped(tmp_path, t, dtype, monkeypatch):
    """A large file is not read whole: the tables are parts of it, also at odd places, and bfloat16 is streamed."""
    monkeypatch.setattr(kernel_tables, "MAX_COPY", 0)
    dataset = labelled_dataset(dictionaries=False)
    stored = {name: bits(array) if dtype == "BF16" else array.astype(dtype) for name, array in t.items()}
    names = {"float32": "F32", "float16": "F16", "BF16": "BF16"}
    header, content = {"__metadata__": COMPLEX}, b""
    for name, array in stored.items():
        places = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": names[dtype], "shape": list(array.shape), "data_offsets": places}
        content += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (1 - len(text) % 2)  # an odd length: no number is aligned
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content)
    model = load_model(tmp_path, dataset, entity_labels="ids", relation_labels="ids")
    root = model.entities.sources[0] if isinstance(model.entities, StreamedTable) else model.entities
    assert isinstance(packed(root), MappedArray)
    assert not root.flags.aligned
    numbers = {
        name: (array.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else array.astype(np.float64)
        for name, array in stored.items()
    }
    expected = evaluate(models.ComplEx(**numbers), dataset)
    assert evaluate(pickle.loads(pickle.dumps(model)), dataset).table.equals(expected.table)
    assert evaluate(model, dataset).table.equals(expected.table)
    by_label = load_model(tmp_path, dataset, entity_labels=ENTITIES, relation_labels=RELATIONS)
    assert_scores(by_label, dataset, score(numbers))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"entity_labels": "["}, "metadata 'entity_labels': not JSON ("),
        ({"entity_labels": "[1, 2]"}, "metadata 'entity_labels': expected a JSON list of labels; found [1, 2]"),
        ({"entity_labels": '["a", "b"]'}, "entities has 8 rows, but entity_labels has 2 labels"),
    ],
)
def test_faulty_labels(dataset, tmp_path, t, metadata, message):
    save_file(t, tmp_path / "a.safetensors", metadata=COMPLEX | LABELS | metadata)
    assert message in failure(tmp_path, dataset)


def test_faulty_files(dataset, tmp_path, t):
    file = tmp_path / "a.safetensors"
    save_file(t, file, metadata=COMPLEX | LABELS)
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    assert "no .safetensors file, or a damaged one" in failure(file, dataset, format="safetensors")
    file.write_bytes(b"\xff" * 20)
    assert recognised(file) == []
    assert "no .safetensors file, or a damaged one" in failure(file, dataset, format="safetensors")
    file.write_bytes(content)
    (tmp_path / "b.safetensors").write_bytes(content)
    assert recognised(tmp_path) == []
    assert "expected one .safetensors file in the folder, found 2; name the file" in failure(
        tmp_path, dataset, format="safetensors"
    )
