"""Names, shapes and classes in files of tensors: without the numbers, kept until a file changes, never an error."""

import json
import os
import zipfile

import numpy as np
import pytest
from torch_zip import Global, Tensor, fake_module, write_torch

from kgeval import DataError
from kgeval.formats.checkpoints import containers
from kgeval.formats.checkpoints.containers import read_tensors, root_attributes, root_class, tensor_names, top_keys

TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)


def write_safetensors(path, **tensors):
    """Write the format by hand; a tensor is an array, or (dtype, array)."""
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        dtype, array = tensor if isinstance(tensor, tuple) else ("F32", tensor)
        raw = array.tobytes()
        offsets = [len(content), len(content) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        content += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)
    return path


@pytest.mark.parametrize("kind", ["dict", "nested", "module"])
def test_names_and_shapes(tmp_path, kind):
    path = tmp_path / "model.pt"
    attributes = {"p_norm": 1.0, "label": "x", "function": Global("a.b", "f"), "list": [1]}
    module = fake_module("tool.models.TransE", modules={"emb": fake_module("E", parameters={"w": TABLE})}, **attributes)
    obj, prefix = {"dict": ({"emb.w": TABLE}, ""), "nested": ({"sd": {"emb.w": TABLE}, "epoch": 3}, "sd.")}.get(
        kind, (module, "")
    )
    write_torch(path, obj)
    assert tensor_names(path) == {f"{prefix}emb.w": (2, 3)}
    assert read_tensors(path)[f"{prefix}emb.w"].tolist() == TABLE.tolist()
    assert root_class(path) == ("tool.models.TransE" if kind == "module" else "")
    assert top_keys(path) == {"dict": {"emb.w": "ndarray"}, "nested": {"sd": "dict", "epoch": "int"}}.get(kind, {})
    said = {"training": False, "p_norm": 1.0, "label": "x", "function": "a.b.f"} if kind == "module" else {}
    assert root_attributes(path) == said


def test_the_class_of_each_key(tmp_path):
    write_torch(tmp_path / "a.pt", {"config": fake_module("kge.config.Config"), "model": ({}, {}), 7: 1})
    assert top_keys(tmp_path / "a.pt") == {"config": "kge.config.Config", "model": "tuple"}


def test_the_numbers_are_not_read(tmp_path):
    """A damaged storage does not matter for the names; reading the tensors finds it."""
    path = tmp_path / "model.pt"
    write_torch(path, {"w": TABLE})
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("archive/data/0").header_offset + 30 + len("archive/data/0")
    content = bytearray(path.read_bytes())
    content[start] ^= 1
    path.write_bytes(content)
    assert tensor_names(path) == {"w": (2, 3)}
    with pytest.raises(DataError, match="checksum of member 'archive/data/0' is wrong"):
        read_tensors(path)


def test_a_file_is_looked_at_once_until_it_changes(tmp_path, monkeypatch):
    path, calls = tmp_path / "model.pt", []
    read = containers.read_torch
    monkeypatch.setattr(containers, "read_torch", lambda *a, **k: calls.append(1) or read(*a, **k))
    write_torch(path, {"w": TABLE})
    for _ in range(3):
        assert (tensor_names(path), root_class(path), top_keys(path)) == ({"w": (2, 3)}, "", {"w": "ndarray"})
    assert len(calls) == 1
    write_torch(path, {"v": TABLE[:1]})  # of another size
    assert tensor_names(path) == {"v": (1, 3)}
    state = path.stat()
    write_torch(path, {"u": TABLE[:1]})  # of the same size
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))
    assert tensor_names(path) == {"u": (1, 3)}
    assert len(calls) == 3
    tensor_names(path)["u"] = ()  # the caller may change what it gets
    assert tensor_names(path) == {"u": (1, 3)}


def test_any_other_file_has_no_names(tmp_path):
    (tmp_path / "text.pt").write_text("no zip")
    (tmp_path / "empty.pt").write_bytes(b"")
    (tmp_path / "long.safetensors").write_bytes(b"\xff" * 20)
    (tmp_path / "list.safetensors").write_bytes(b"\x02" + b"\0" * 7 + b"[]")
    (tmp_path / "shape.safetensors").write_bytes((17).to_bytes(8, "little") + b'{"a":{"shape":3}}')
    np.savez(tmp_path / "arrays.npz", a=TABLE)
    write_torch(tmp_path / "cut.pt", {"a": TABLE})
    (tmp_path / "cut.pt").write_bytes((tmp_path / "cut.pt").read_bytes()[:100])
    write_torch(tmp_path / "plain.pt", [1, 2])
    os.symlink(tmp_path / "loop.pt", tmp_path / "loop.pt")
    for path in [*tmp_path.iterdir(), tmp_path, tmp_path / "missing.pt", tmp_path / "nul\0.pt"]:
        assert (tensor_names(path), root_class(path), root_attributes(path)) == ({}, "", {}), path
        assert top_keys(path) == {}


def test_bad_files_of_safetensors_are_refused(tmp_path):
    pytest.importorskip("safetensors", reason="needs kgeval[safetensors]")
    for name, content in {"a": b"", "b": b"\xff" * 20, "c": b"\x02" + b"\0" * 7 + b"{}more"}.items():
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(content)
        with pytest.raises(DataError, match="no .safetensors file, or a damaged one"):
            read_tensors(path)
    path = write_safetensors(tmp_path / "f8.safetensors", a=("F8_E4M3", np.zeros(2, np.uint8)))
    with pytest.raises(DataError, match=r"tensor 'a' has dtype F8_E4M3; these are read: F64, F32, .*Convert it before"):
        read_tensors(path)
    with pytest.raises(DataError, match="no such file"):
        read_tensors(tmp_path / "missing.safetensors")


def test_safetensors(tmp_path):
    half = np.array([0x3F80, 0xC040], np.uint16)  # 1 and -3 in bfloat16
    arrays = {"w": TABLE, "b": ("BF16", half), "i": ("I64", np.array([5])), "t": ("BOOL", np.array([True]))}
    path = write_safetensors(tmp_path / "model.safetensors", **arrays)
    assert tensor_names(path) == {"w": (2, 3), "b": (2,), "i": (1,), "t": (1,)}
    assert (root_class(path), top_keys(path)) == ("", {})
    pytest.importorskip("safetensors", reason="needs kgeval[safetensors]")
    read = read_tensors(path)
    assert {name: array.tolist() for name, array in read.items()} == {
        "w": TABLE.tolist(),
        "b": [1.0, -3.0],
        "i": [5],
        "t": [True],
    }
    assert read["b"].dtype == read["w"].dtype == np.float32


def test_reading_safetensors_without_its_library(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    path = write_safetensors(tmp_path / "model.safetensors", w=TABLE)
    assert tensor_names(path) == {"w": (2, 3)}
    with pytest.raises(
        ImportError, match=r'reading .safetensors needs safetensors; pip install "kgeval\[safetensors\]"'
    ):
        read_tensors(path)


def test_bfloat16_of_torch(tmp_path):
    write_torch(tmp_path / "a.pt", {"b": Tensor(np.array([0x3F80, 0xC040], np.uint16), "bfloat16")})
    assert tensor_names(tmp_path / "a.pt") == {"b": (2,)}
    assert read_tensors(tmp_path / "a.pt")["b"].tolist() == [1.0, -3.0]
