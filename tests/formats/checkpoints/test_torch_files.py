"""The reader of torch files: the right tensors, names as torch gives them, and a DataError for whatever is wrong."""

import gzip
import io
import pickle
import struct
import tarfile
import time
import tracemalloc
import zipfile

import grids
import numpy as np
import pytest
import torch_fuzz
from torch_zip import (
    STORAGES,
    Fake,
    Global,
    NumpyArray,
    Parameter,
    PersistentId,
    Tensor,
    fake_module,
    nothing_runs,
    torch_members,
    torch_pickle,
    write_members,
    write_torch,
)

from kgeval.errors import DataError
from kgeval.formats.checkpoints import tensors, torch_files
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.torch_files import is_torch_file, read_torch, state_dict

NEEDS_TORCH = "needs kgeval[torch]"
TABLE = np.arange(12, dtype="f4").reshape(3, 4)
EVERY_DTYPE = [name for name in STORAGES if name != "bfloat16"]


def refused(path, *words):
    """The message of the DataError that a file ends in; it starts with the path and holds `words`."""
    with pytest.raises(DataError) as caught:
        read_torch(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    for word in words:
        assert word in message
    return message


@pytest.fixture
def path(tmp_path):
    """A file that a test may write."""
    return tmp_path / "model.pt"


def saved(path, obj, **options):
    """What is read from a torch file of an object."""
    write_torch(path, obj, **options)
    return read_torch(path)


FLOATS = ("storage", Global("torch", "FloatStorage"), "0", "cpu", 12)  # the persistent id of the storage of TABLE


def tensor_call(*arguments, storage=FLOATS):
    """Members of a file with one tensor, whose call has these arguments after the storage."""
    fake = Fake("torch._utils._rebuild_tensor_v2", arguments=(PersistentId(storage), *arguments), is_called=True)
    members = torch_members(fake)
    return {**members, "archive/data/0": TABLE.tobytes()}


# What comes out.


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
@pytest.mark.light(5)
def test_every_dtype_in_both_byte_orders(path, protocol, byteorder):
    arrays = {name: np.array([0, 1, 0, 7, 100, 1]).reshape(2, 3).astype(name) for name in EVERY_DTYPE}
    arrays["complex64"] += np.complex64(2j)
    read = saved(path, {"bits": [arrays]}, protocol=protocol, byteorder=byteorder)["bits"][0]
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        assert read[name].dtype.isnative
        assert np.array_equal(read[name], array)
        assert not read[name].flags.writeable


def test_every_byte_but_zero_is_true(path):
    """A bool of another byte than 1 would count as more than one in a sum."""
    write_members(path, torch_members(np.array([True, False, True])) | {"archive/data/0": b"\x02\x00\xff"})
    assert read_torch(path).tobytes() == b"\x01\x00\x01"
    name, content = "archive/data.pkl", torch_members(NumpyArray(np.array([True])), 4)["archive/data.pkl"]
    write_members(path, {name: content.replace(b"C\x01\x01", b"C\x01\x02")})
    assert read_torch(path).tobytes() == b"\x01"


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_bfloat16_is_the_upper_half_of_float32(path, byteorder):
    values = np.array([0.0, -1.5, 3.140625, np.inf, 2.0**-126], "f4")  # each has at most 8 significant bits
    bits = (values.view("u4") >> 16).astype("u2")
    read = saved(path, Tensor(bits, "bfloat16"), byteorder=byteorder)
    assert read.dtype == np.float32
    assert np.array_equal(read, values)


def test_unsigned_dtypes_lie_in_untyped_storages(path):
    """uint16, uint32 and uint64 are built by _rebuild_tensor_v3, which names the dtype; in both byte orders."""
    for name in ("uint16", "uint32", "uint64"):
        for byteorder, order in (("little", "<"), ("big", ">")):
            content = np.array([1, 2, 2**15, 7], order + np.dtype(name).str[1:]).tobytes()
            storage = PersistentId(("storage", Global("torch.storage", "UntypedStorage"), "0", "cpu", len(content)))
            parts = (storage, 1, (2,), (2,), False, {}, Global("torch", name))
            members = torch_members(Fake("torch._utils._rebuild_tensor_v3", arguments=parts, is_called=True))
            write_members(path, {**members, "archive/data/0": content, "archive/byteorder": byteorder.encode()})
            assert (read_torch(path).tolist(), read_torch(path).dtype) == ([2, 7], np.dtype(name))


def test_offsets_strides_and_expanded_tensors(path):
    """Each element is that of a loop over the storage."""
    cases = [
        (0, (4, 3), (1, 4)),
        (5, (2, 3), (3, 1)),
        (11, (), ()),
        (2, (1, 3), (10**15, 4)),  # the stride of a dimension of size 1 means nothing
        (1, (5, 2), (0, 3)),
        (3, (3, 3), (2, 1)),
        (0, (0, 4), (4, 1)),
        (12, (0,), (1,)),
    ]
    flat = TABLE.ravel()
    for offset, shape, stride in cases:
        read = saved(path, Tensor(TABLE, offset=offset, shape=shape, stride=stride))
        assert read.shape == shape
        for index in np.ndindex(*shape):
            assert read[index] == flat[offset + sum(i * s for i, s in zip(index, stride, strict=True))]


def test_conjugates_and_negatives_are_applied(path):
    """torch saves ``x.conj()`` as x and a flag; without the flag the imaginary part has the wrong sign."""
    numbers = np.array([1 + 2j, 3 - 4j], "c8")
    assert saved(path, Tensor(numbers, metadata={"conj": True})).tolist() == [1 - 2j, 3 + 4j]
    assert saved(path, Tensor(numbers, metadata={"conj": True, "neg": True})).tolist() == [-1 + 2j, -3 - 4j]
    assert saved(path, Tensor(numbers, metadata={"conj": False})).tolist() == numbers.tolist()
    assert saved(path, Tensor(TABLE[0], metadata={"neg": True})).tolist() == [0, -1, -2, -3]
    for metadata in ({"conj": 1}, {"neg": TABLE}, {"other": True}, [True]):
        write_torch(path, Tensor(numbers, metadata=metadata))
        refused(path, "metadata")
    write_torch(path, Tensor(TABLE, metadata={"conj": True}))
    refused(path, "the metadata 'conj' of a tensor of float32 is True")


def test_tied_weights_share_memory(path):
    read = saved(path, {"a": TABLE, "b": Tensor(TABLE, shape=(4, 3), stride=(1, 4)), "c": Parameter(TABLE)})
    assert np.array_equal(read["a"], TABLE)
    assert np.array_equal(read["b"], TABLE.T)
    assert np.shares_memory(read["a"], read["b"])
    assert read["a"] is read["c"]


def test_plain_content_and_stubs(path):
    content = {
        "epoch": 3,
        "size": Fake("torch.Size", arguments=([2, 3],), is_called=True),
        "device": Fake("torch.device", arguments=("cuda", 0), is_called=True),
        "dtype": Global("torch", "float32"),
        "path": Fake("pathlib.PosixPath", arguments=("/", "tmp"), is_called=True),
        "config": Fake("kge.config.Config", {"options": {"model": "transe"}, "folder": None}),
        "parameter": Parameter(TABLE, {"initializer": "x"}),
    }
    read = saved(path, content)
    assert (read["epoch"], read["size"], type(read["size"])) == (3, (2, 3), tuple)
    assert (read["device"].name, read["device"].arguments) == ("torch.device", ("cuda", 0))
    assert (read["dtype"].name, read["dtype"].is_reference) == ("torch.float32", True)
    assert (read["path"].name, read["path"].arguments) == ("pathlib.PosixPath", ("/", "tmp"))
    assert (read["config"].name, read["config"].state["options"]) == ("kge.config.Config", {"model": "transe"})
    assert np.array_equal(read["parameter"], TABLE)
    assert repr(read["config"]) == "Stub('kge.config.Config')"


@pytest.mark.parametrize("protocol", [2, 4])
def test_numpy_arrays_of_a_pickle(path, protocol):
    """Numbers, texts and bools; also in the other byte order, in Fortran order, and where the memo refers to one."""
    arrays = [
        TABLE,
        np.array(["a", "bcd", "é"]),
        np.array([b"x", b"yz"]),
        np.array([True, False]),
        np.arange(3, dtype=">i4"),
        np.zeros((0, 2)),
        np.array(5.0),
    ]
    fakes = [NumpyArray(array) for array in arrays]
    read = saved(path, [fakes, fakes], protocol=protocol)
    for array, again, other in zip(arrays, *read, strict=True):
        assert other is again
        assert again.dtype == array.dtype.newbyteorder("=")
        assert np.array_equal(again, array)
    dtype = Fake("numpy.dtype", (3, "<", None, None, None, -1, -1, 0), ("f8", False, True), is_called=True)
    parts = (dtype, struct.pack("<d", 2.5))
    assert saved(path, Fake("numpy._core.multiarray.scalar", arguments=parts, is_called=True)) == 2.5
    parts = (TABLE.astype("f8").tobytes(), dtype, (4, 3), "F")  # the memory of the transpose
    read = saved(path, Fake("numpy.core.numeric._frombuffer", arguments=parts, is_called=True), protocol=4)
    assert np.array_equal(read, TABLE.T)
    parts = (b"1234", dtype, (4, 3), "C")
    write_torch(path, Fake("numpy.core.numeric._frombuffer", arguments=parts, is_called=True))
    refused(path, "a numpy array of shape (4, 3) and dtype float64 comes with 4 bytes")
    objects = Fake(
        "numpy.core.multiarray._reconstruct", (1, (1,), "O", False, [1]), (Global("numpy", "ndarray"), (0,), b"b")
    )
    assert saved(path, objects).name == "numpy.core.multiarray._reconstruct"


def test_texts_of_numpy_hold_characters_that_exist(path):
    wrong = np.frombuffer(np.uint32([0x110000]).tobytes(), "<U1")
    write_torch(path, NumpyArray(wrong))
    refused(path, "a character that does not exist")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("folder", ["archive", "a b", "été", "x/y"])
@pytest.mark.light(4)
def test_folders_and_compression(path, folder, compression):
    assert np.array_equal(saved(path, {"a": TABLE}, folder=folder, compression=compression)["a"], TABLE)
    assert is_torch_file(path)


def test_members_may_lack_marks_that_old_torch_did_not_write(path):
    """Without ``byteorder`` (before torch 2.1) the storages are little-endian."""
    members = torch_members(TABLE)
    write_members(path, {name: content for name, content in members.items() if name.endswith(("pkl", "/0"))})
    assert np.array_equal(read_torch(path), TABLE)


def test_shapes_without_values(path):
    """A file is recognised by its pickle; the storages are not read, not even when they are damaged."""
    for bits in (TABLE, Tensor(np.arange(4, dtype="u2"), "bfloat16")):
        whole = saved(path, {"a": bits})["a"]
        path.write_bytes(path.read_bytes().replace(np.float32(7).tobytes(), np.float32(9).tobytes()))
        read = read_torch(path, with_values=False)["a"]
        assert (read.shape, read.dtype, read.any()) == (whole.shape, whole.dtype, False)


def test_is_torch_file(path, tmp_path):
    """A look at the list of members; never an error."""
    assert not is_torch_file(path)
    assert not is_torch_file(tmp_path)
    for content in (b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x80\x02N.", bytes(1000)):
        path.write_bytes(content)
        assert not is_torch_file(path)
    write_members(path, {"data.pkl": b"N."})
    assert not is_torch_file(path)
    write_members(path, {"x/data.pkl": b"no pickle"})
    assert is_torch_file(path)
    path.write_bytes(b"#!" + path.read_bytes())
    assert not is_torch_file(path)


# Names.


def test_state_dict_of_a_module(path):
    """Parameters, persistent buffers and submodules, in the order of torch; None and hooks are no tensors."""
    rows = fake_module("torch.nn.Embedding", {"weight": TABLE}, {"seen": TABLE[0], "cache": TABLE[1]}, (), ["cache"])
    norm = fake_module("torch.nn.BatchNorm1d", {"weight": TABLE[0], "bias": None}, {"running_mean": None})
    module = fake_module(
        "my.Model", {"gamma": np.float32([1])}, {}, {"rows": rows, "nothing": None, "norm": norm, "tied": rows}
    )
    names = ["gamma", "rows.weight", "rows.seen", "norm.weight", "tied.weight", "tied.seen"]
    for protocol in (2, 4):
        read = state_dict(saved(path, module, protocol=protocol))
        assert list(read) == names
        assert np.array_equal(read["rows.weight"], TABLE)
        assert read["tied.weight"] is read["rows.weight"]
    read = state_dict(saved(path, {"epoch": 1, "model": module, "args": Fake("x.Args", {"a": 1})}))
    assert list(read) == [f"model.{name}" for name in names]


def test_state_dict_of_dicts(path):
    tree = {"model": {"ent.weight": TABLE, "n": 3, "rel": {"weight": TABLE}}, "opt": {"state": {0: {"exp_avg": TABLE}}}}
    tree["labels"] = ["a"]
    assert list(state_dict(saved(path, tree))) == ["model.ent.weight", "model.rel.weight", "opt.state.0.exp_avg"]
    with pytest.raises(DataError, match=r"^my file: two tensors have the name 'a\.b'$"):
        state_dict({"a": {"b": TABLE}, "a.b": TABLE}, "my file")
    assert state_dict({}) == {}
    for other in (TABLE, [TABLE], None, Stub("a.B"), "x"):
        with pytest.raises(DataError, match="expected a dict of tensors or a module of torch, got"):
            state_dict(other)


def test_state_dict_of_torchscript(path):
    """Tensors of a scripted module are attributes; numbers and texts beside them are none."""
    inner = Fake("__torch__.Embedding", {"training": True, "weight": TABLE})
    outer = Fake("__torch__.Model", {"k": 5, "ent": inner, "scale": TABLE[0], "names": ["a"]})
    members = torch_members(outer) | {"archive/code/__torch__.py": b"import os", "archive/constants.pkl": b"\x80\x02)."}
    write_members(path, members)
    assert list(state_dict(read_torch(path))) == ["ent.weight", "scale"]
    listed = Fake("torch.jit._pickle.build_intlist", arguments=([1, 2],), is_called=True)
    tagged = Fake("torch.jit._pickle.restore_type_tag", arguments=({"a": 1}, "Dict[str, int]"), is_called=True)
    assert saved(path, [listed, tagged]) == [[1, 2], {"a": 1}]


def test_state_dict_refuses_tensors_that_it_cannot_give(path):
    sparse = Fake("torch._utils._rebuild_sparse_tensor", arguments=("layout", (1, 2)), is_called=True)
    with pytest.raises(DataError, match=r"tensor 'm\.x' is written as torch\._utils\._rebuild_sparse_tensor"):
        state_dict(saved(path, {"m": {"x": sparse}}))
    lazy = Fake("torch.nn.parameter.UninitializedParameter", arguments=(1,))
    with pytest.raises(DataError, match=r"tensor 'w' is written as torch\.nn\.parameter\.Uninit"):
        state_dict(saved(path, fake_module("a.B", {"w": lazy})))


def test_state_dict_ends(monkeypatch):
    """Cycles are cut; names, visits and depth are limited: 2 ** 60 paths to one dict are not walked."""
    loop = {"a": TABLE}
    loop["self"] = loop
    module = Stub("a.M")
    module.state = {"_parameters": {"w": TABLE}, "_buffers": {}, "_modules": {"me": module, "dict": loop}}
    assert list(state_dict({"x": loop, "m": module})) == ["x.a", "m.w", "m.dict.a"]
    node = {"w": TABLE}
    for _ in range(60):
        node = {"l": node, "r": node}
    monkeypatch.setattr(torch_files, "MAX_VISITS", 20_000)
    with pytest.raises(DataError, match="more than 20,000 nested"):
        state_dict({"empty": node, **{}})
    monkeypatch.setattr(torch_files, "MAX_NAMES", 5)
    with pytest.raises(DataError, match="more than 5 tensors"):
        state_dict(dict.fromkeys("abcdef", TABLE))
    with pytest.raises(DataError, match="name of a tensor or module is too long"):
        state_dict({"a" * 600: {"b" * 600: TABLE}})
    for _ in range(300):
        loop = {"x": loop}
    with pytest.raises(DataError, match="nested more than 256 levels"):
        state_dict(loop)


# What is refused: other files.


def test_other_files_are_refused_by_name(path, tmp_path):
    refused(tmp_path / "none.pt", "no such file")
    refused(tmp_path, "is not a file")
    legacy = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("sys_info"))
    again = "torch.save(torch.load(old_path, weights_only=False), new_path)"
    for content, words in (
        (legacy, ("before torch 1.6", again)),
        (tar.getvalue(), ("a tar archive", again)),
        (pickle.dumps({"a": 1}), ("a plain pickle", "numpy.savez")),
        (gzip.compress(b"x"), ("a gzip file; decompress it first",)),
        (b"\x89HDF\r\n\x1a\n", ("an HDF5 file",)),
        (b"", ("does not start like a zip archive",)),
        (b"PK\x03\x04 and no more", ("a damaged zip archive", "download the file again")),
    ):
        path.write_bytes(content)
        refused(path, *words)
    np.savez(path.with_suffix(".npz"), TABLE)
    refused(path.with_suffix(".npz"), "a numpy archive; name it .npz")
    write_members(path, {"a.txt": b"", "b/data.pkl.txt": b""})
    refused(path, "without a member FOLDER/data.pkl; it contains 'a.txt', 'b/data.pkl.txt'")
    write_members(path, {"a/data.pkl": b"N.", "b/data.pkl": b"N."})
    refused(path, "contains 2 members named data.pkl; expected one: a/data.pkl, b/data.pkl")


def test_marks_of_the_format(path):
    members = torch_members(TABLE)
    write_members(path, members | {"archive/version": b"11\n"})
    refused(path, "version '11'", "1 to 10")
    for version in (b"", b"x", b"-1", "²".encode(), b"9" * 99):
        write_members(path, members | {"archive/version": version})
        refused(path, "version")
    write_members(path, members | {"archive/byteorder": b"middle"})
    refused(path, "byteorder must be 'little' or 'big', got 'middle'")
    write_members(path, members | {"archive/byteorder": b"little" * 100})
    refused(path, "600 bytes instead of one word")


# What is refused: zip archives that lie.


def header_edit(path, signature, offset, size, value, name=b"archive/data/0"):
    """Change a field of a header of the zip archive: of the directory (PK12) or of the member itself (PK34)."""
    content = bytearray(path.read_bytes())
    fixed = {b"PK\x01\x02": 46, b"PK\x03\x04": 30}[signature]
    place = next(
        at for at in range(len(content)) if content[at : at + 4] == signature and content[at + fixed :].startswith(name)
    )
    content[place + offset : place + offset + size] = value.to_bytes(size, "little")
    path.write_bytes(content)


def test_headers_that_lie(path):
    """The directory and the local header must say the same; sizes must be those of the bytes."""
    words = "contradicts the list of members"
    for signature, offset, size, value, message in (
        (b"PK\x01\x02", 8, 2, 1, "is encrypted"),
        (b"PK\x01\x02", 10, 2, 12, "is compressed by method 12"),
        (b"PK\x01\x02", 10, 2, 8, words),
        (b"PK\x01\x02", 16, 4, 5, words),  # checksum
        (b"PK\x01\x02", 20, 4, 40, words),  # stored size
        (b"PK\x01\x02", 24, 4, 10**6, "Is it a zip bomb?"),
        (b"PK\x01\x02", 24, 4, 4000, words),
        (b"PK\x01\x02", 20, 4, 2**31, "Is it a zip bomb?"),
        (b"PK\x01\x02", 42, 4, 10, words),
        (b"PK\x01\x02", 42, 4, 2**31, "lies outside of the file"),
        (b"PK\x03\x04", 8, 2, 8, words),
        (b"PK\x03\x04", 14, 4, 5, words),
        (b"PK\x03\x04", 18, 4, 47, words),
        (b"PK\x03\x04", 22, 4, 49, words),
        (b"PK\x03\x04", 28, 2, 500, "overlap, or leave the file"),
        (b"PK\x03\x04", 30, 1, ord("x"), words),
    ):
        write_torch(path, {"a": TABLE})
        header_edit(path, signature, offset, size, value)
        if value == 2**31 and offset == 20:
            header_edit(path, signature, 24, 4, value)
        refused(path, message)


def test_damaged_bytes_have_a_wrong_checksum(path):
    write_torch(path, {"a": TABLE})
    content = path.read_bytes()
    path.write_bytes(content.replace(np.float32(7).tobytes(), np.float32(9).tobytes()))
    refused(path, "the checksum of member 'archive/data/0' is wrong", "set_crc32_options(False)")
    for end in range(0, len(content), grids.size(21, 7)):
        path.write_bytes(content[:end])
        refused(path)


def test_members_that_overlap_or_stand_twice(path):
    """Two names for the same bytes in the archive are refused; two tensors of one storage are not."""
    write_torch(path, [TABLE, TABLE.copy()])
    with zipfile.ZipFile(path) as archive:
        first = archive.getinfo("archive/data/0").header_offset
    header_edit(path, b"PK\x01\x02", 42, 4, first, b"archive/data/1")
    content = path.read_bytes()
    refused(path, "contradicts")  # the local header has the other name
    path.write_bytes(content.replace(b"archive/data/1", b"archive/data/0"))
    refused(path, "contains 'archive/data/0' twice")
    write_members(path, {"archive/data.pkl": b"", **torch_members(TABLE)})
    inner = io.BytesIO()
    write_members(inner, torch_members(TABLE))
    outer = io.BytesIO()
    write_members(outer, {"archive/whole": inner.getvalue()})  # a member that contains all the others
    both = bytearray(outer.getvalue())
    start = both.index(inner.getvalue())
    with zipfile.ZipFile(io.BytesIO(inner.getvalue())) as archive:
        directory = inner.getvalue()[archive.start_dir : -22]
        entries = len(archive.infolist())
    moved = bytearray(directory)
    place = 0
    while place < len(moved):
        (offset,) = struct.unpack_from("<I", moved, place + 42)
        struct.pack_into("<I", moved, place + 42, offset + start)
        place += 46 + struct.unpack_from("<H", moved, place + 28)[0]
    end = both.rindex(b"PK\x05\x06")
    own = len(both[both.rindex(b"PK\x01\x02") : end])
    size = own + len(moved)
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, entries + 1, entries + 1, size, end - own, 0)
    path.write_bytes(bytes(both[:end]) + bytes(moved) + tail)
    refused(path, "overlap, or leave the file: 'archive/whole'")


def test_zip_bombs(path, monkeypatch):
    """Inflated sizes are limited by the size of the file, before anything is inflated."""
    members = torch_members(TABLE) | {"archive/data/0": bytes(grids.size(3 * 10**6, 10**7))}
    write_members(path, members, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    refused(path, "more than 100 times", "Is it a zip bomb?", "zip the same files without compression")
    assert tracemalloc.get_traced_memory()[1] < 10**6
    # A member that inflates to more than both headers claim.
    write_members(path, members, zipfile.ZIP_DEFLATED)
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        header_edit(path, signature, offset, 4, 48)
    tracemalloc.reset_peak()
    refused(path, "does not have the 48 bytes that it claims")
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
    for name in ("MAX_MEMBERS", "MAX_DIRECTORY_BYTES"):
        write_torch(path, TABLE)
        with monkeypatch.context() as limited:
            limited.setattr(torch_files, name, 3)
            refused(path)
            assert not is_torch_file(path)
    with monkeypatch.context() as limited:
        limited.setattr(torch_files, "MAX_BYTES", 3)
        refused(path, "archive/data.pkl has", "at most 3 are read")


def test_a_huge_directory_is_not_read(path):
    """A directory of millions of members would take gigabytes; it is refused by its size."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    number = 9 * 2**20 // len(entry)
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, number * len(entry), 4, 0)
    path.write_bytes(b"PK\x03\x04" + entry * number + tail)
    tracemalloc.start()
    refused(path, "list of members of the zip archive has 9,4", "at most 8,388,608 bytes and 100,000 members")
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


# What is refused: tensors that lie.


def test_tensors_outside_of_their_storages(path):
    hooks = (False, {})
    for arguments, words in (
        ((0, (13,), (1,)), ("needs 13 elements, but storage '0' has 12",)),
        ((1, (3, 4), (4, 1)), ("offset 1 and strides (4, 1) needs 13 elements",)),
        ((0, (2, 2), (11, 1)), ("needs 13 elements",)),
        ((12, (), ()), ("needs 13 elements",)),
        ((-1, (2,), (1,)), ("the offset of an array must be integers from 0",)),
        ((0, (-2,), (1,)), ("the size of an array must be",)),
        ((4, (2,), (-1,)), ("the stride of an array must be",)),
        ((0, (2**40, 2**40), (0, 0)), ("too large for any machine",)),
        ((0, (2**62, 0), (1, 1)), ("too large for any machine",)),
        ((0, (2**63,), (0,)), ("from 0 to 2**62",)),
        ((0, (2,), (2**1000,)), ("from 0 to 2**62",)),
        ((2**61, (2,), (1,)), ("needs 2,305,843,009,213,693,954 elements",)),
        ((0, (True,), (1,)), ("the size of an array",)),
        ((0, (2.0,), (1,)), ("the size of an array",)),
        ((0, "ab", (1, 1)), ("the size of an array",)),
        ((0, (1,) * 33, (1,) * 33), ("33 dimensions",)),
        ((0, (2, 2), (1,)), ("2 dimensions has 1 strides",)),
        ((0, (2**30,), (0,)), ("repeat elements", "67,108,864")),
        ((0, (2,)), ("got 3 arguments",)),
        ((0, (2,), (1,), *hooks, {"conj": 5}), ("metadata",)),
    ):
        write_members(path, tensor_call(*arguments))
        refused(path, "archive/data.pkl, byte ", "(REDUCE): ", *words)
    limit = tensors.MAX_REPEATED + 12
    write_members(path, tensor_call(0, (limit,), (0,)))
    assert read_torch(path).shape == (limit,)
    write_torch(path, [Tensor(TABLE, shape=(2**25 + 12,), stride=(0,)) for _ in range(3)])
    refused(path, "repeat elements")


def test_storages_that_lie(path):
    kind = Global("torch", "FloatStorage")
    call = (0, (2,), (1,))
    for storage, words in (
        (
            ("storage", kind, "0", "cpu", 13),
            "13 elements of storage '0' (torch.FloatStorage) take 52 bytes, but the file holds 48",
        ),
        (("storage", kind, "0", "cpu", 11), "take 44 bytes, but the file holds 48"),
        (("storage", kind, "0", "cpu", 10**100), "but the file holds 48"),
        (("storage", Global("torch", "DoubleStorage"), "0", "cpu", 12), "take 96 bytes"),
        (("storage", kind, "1", "cpu", 12), "the file has no member 'archive/data/1'"),
        (("storage", kind, "../data.pkl", "cpu", 12), "the file has no member"),
        (("storage", kind, 0, "cpu", 12), "its class, its key or its number of elements is wrong"),
        (("storage", kind, "0", "cpu", -1), "is wrong"),
        (("storage", "FloatStorage", "0", "cpu", 12), "is wrong"),
        (("module", kind, "0", "cpu", 12), "which is no storage of torch"),
        (("storage", kind, "0", "cpu"), "which is no storage of torch"),
        ("0", "which is no storage of torch"),
        (("storage", Global("torch", "QInt8Storage"), "0", "cpu", 48), "a tensor of 'torch.QInt8Storage'"),
        (("storage", Global("os", "system"), "0", "cpu", 48), "a tensor of 'os.system' in a storage of os.system"),
    ):
        write_members(path, tensor_call(*call, storage=storage))
        message = refused(path, words)
        if "a tensor of" in words:
            assert "these dtypes are read: float16, float32, float64, bfloat16" in message
            assert ".to(torch.float32)" in message
    one, other = ("storage", kind, "0", "cpu", 12), ("storage", kind, "0", "cpu", 11)
    twice = [
        Fake("torch._utils._rebuild_tensor_v2", arguments=(PersistentId(s), *call), is_called=True)
        for s in (one, other)
    ]
    write_members(path, {**torch_members(twice), "archive/data/0": TABLE.tobytes()})
    refused(path, "describes storage '0' in two ways")
    write_torch(path, Fake("torch._utils._rebuild_tensor_v2", arguments=(TABLE, 0, (1,), (1,)), is_called=True))
    refused(path, "a tensor needs a storage, got a ndarray")
    float8 = (*call, False, {}, Global("torch", "float8_e4m3fn"))
    untyped = PersistentId(("storage", Global("torch.storage", "UntypedStorage"), "0", "cpu", 48))
    members = torch_members(Fake("torch._utils._rebuild_tensor_v3", arguments=(untyped, *float8), is_called=True))
    write_members(path, {**members, "archive/data/0": TABLE.tobytes()})
    refused(path, "a tensor of 'float8_e4m3fn'")
    integers = (PersistentId(FLOATS), *call, False, {}, Global("torch", "int32"))
    members = torch_members(Fake("torch._utils._rebuild_tensor_v3", arguments=integers, is_called=True))
    write_members(path, {**members, "archive/data/0": TABLE.tobytes()})
    refused(path, "a tensor of 'int32' in a storage of torch.FloatStorage")


def test_tensors_have_no_other_state(path):
    """``Tensor.__setstate__`` would exchange the numbers of a tensor."""
    content, storages = torch_pickle(TABLE)
    members = {"archive/data.pkl": content[:-1] + b"}b.", "archive/data/0": storages["0"]}
    write_members(path, members)
    refused(path, "(BUILD): sets the state of a ndarray")


def test_copies_are_limited(path, monkeypatch):
    """One array of bytes makes many arrays of numpy, and one storage many conjugates, with a few bytes each."""
    numbers = np.array([1 + 2j, 3 - 4j])
    monkeypatch.setattr(tensors, "MAX_COPIED", 200)
    write_torch(path, [Tensor(numbers, metadata={"conj": True}) for _ in range(7)])
    refused(path, "take more than 200 bytes; call resolve_conj()")
    write_torch(path, [NumpyArray(TABLE) for _ in range(5)])
    refused(path, "take more than 200 bytes")


def test_lack_of_memory_is_a_data_error(path, monkeypatch):
    write_torch(path, TABLE)

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(torch_files, "read_pickle", no_memory)
    refused(path, "there is not enough memory to read")


# Nothing runs.


def test_nothing_in_a_file_is_run(path):
    """Importing, opening and evaluating fail while files are read that call whatever can be called."""
    command = ("touch /tmp/pwned",)
    names = (
        "os.system",
        "builtins.eval",
        "builtins.getattr",
        "importlib.import_module",
        "subprocess.Popen",
        "torch.load",
    )
    hostile = [Fake(name, arguments=command, is_called=is_called) for name in names for is_called in (True, False)]
    hostile += [Fake(name, {"__reduce__": Global("os", "system")}, command, [1], {"a": 2}) for name in names]
    hostile += [Fake("torch._utils._rebuild_parameter", arguments=(hostile[0], True, {}), is_called=True)]
    hostile += [
        Fake(
            "torch._tensor._rebuild_from_type_v2", arguments=(Global("os", "system"), *command, (), {}), is_called=True
        )
    ]
    hostile += [Fake("collections.defaultdict", arguments=(Global("os", "system"),), is_called=True)]
    module = fake_module("os.system", {"weight": TABLE}, modules={"x": fake_module("sys.exit", {"w": TABLE})})
    write_torch(path, {"hostile": hostile, "module": module}, compression=zipfile.ZIP_DEFLATED)
    with nothing_runs():
        read = read_torch(path)
        with pytest.raises(DataError):
            read_torch(path.with_name("none"))
        named = state_dict({"module": read["module"]})
        assert is_torch_file(path)
    assert list(named) == ["module.weight", "module.x.w"]
    assert [stub.name for stub in read["hostile"][:12:2]] == list(names)
    assert all(stub.arguments == command for stub in read["hostile"][:18])
    assert read["hostile"][-1] == {}


# Damage.


def check_mutants(path, number, seed):
    """Read damaged files: each ends in a DataError, or in arrays that lie in its own bytes.

    Returns the number of files by outcome, and the longest time for one file.
    """
    counts = {"refused": 0, "read": 0, "unchanged": 0}
    originals, longest = {}, 0.0
    for members, archive in torch_fuzz.mutants(number, seed):
        key = b"".join(members.values())
        if key not in originals:
            write_members(path, members)
            originals[key] = torch_fuzz.plain(read_torch(path))
        path.write_bytes(archive)
        begin = time.perf_counter()
        try:
            tree = read_torch(path)
            named = state_dict(tree) if isinstance(tree, dict) else {}
        except DataError as error:
            counts["refused"] += 1
            assert len(str(error)) < 2000
            continue
        finally:
            longest = max(longest, time.perf_counter() - begin)
        assert torch_fuzz.contradiction(archive, tree) is None
        assert all(isinstance(array, np.ndarray) for array in named.values())
        if torch_fuzz.is_untouched(members, archive):
            counts["unchanged"] += 1
            assert torch_fuzz.plain(tree) == originals[key]
        else:
            counts["read"] += 1
    return counts, longest


def test_some_damaged_files(path):
    counts, longest = check_mutants(path, 400, 1)
    assert sum(counts.values()) == 400
    assert min(counts.values()) > 5  # each outcome is tried
    assert longest < 1


@pytest.mark.thorough
def test_many_damaged_files(path):
    """8,000 files; no exception but DataError, below a second each, and within 100 MB of memory."""
    resource = pytest.importorskip("resource", reason="needs the memory use of a process, as Unix tells it")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts, longest = check_mutants(path, 8_000, 2)
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in KiB; in bytes on macOS
    assert sum(counts.values()) == 8_000
    assert min(counts.values()) > 120
    assert longest < 1
    assert growth < 10**5


# torch itself.


def as_numpy(torch, value):
    """What torch loads, as the reader gives it."""
    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        value = value.view(torch.uint8) != 0 if value.dtype == torch.bool else value  # damage makes bools of 2
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    if isinstance(value, dict):
        return {key: as_numpy(torch, content) for key, content in value.items()}
    return type(value)(as_numpy(torch, item) for item in value) if type(value) in (list, tuple) else value


@pytest.mark.thorough
def test_torch_and_the_reader_agree(path):
    """Every dtype, stride and protocol that torch saves; tied, expanded, conjugate and empty tensors."""
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    torch.manual_seed(0)
    table = torch.randn(6, 5)
    content = {name: (table * 50).to(getattr(torch, name)) for name in (*tensors.DTYPES,) if name[0] != "u"}
    content |= {
        name: (table.abs() * 50).to(torch.int64).to(getattr(torch, name)) for name in tensors.DTYPES if name[0] == "u"
    }
    complex_ = torch.complex(table, table.flip(0))
    content |= {
        "transposed": table.T,
        "slice": table[1::2, 2:],
        "diagonal": table.diagonal(),
        "expanded": table[:1].expand(7, 5),
        "conjugate": complex_.conj(),
        "imaginary": complex_.clone().conj().imag,
        "real": complex_.clone().real,
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 3),
        "tied": [table, table],
        "parameter": torch.nn.Parameter(table),
        "size": table.shape,
        "numbers": (1, 2**70, -1.5, True, None, "é", b"\xff", {1, 2}, frozenset({3})),
        "numpy": [np.arange(3), np.float32(2.5), np.array(["a", "bc"]), np.asfortranarray(TABLE)],
    }
    with_attribute = torch.nn.Parameter(table.clone())
    with_attribute.note = "x"
    plain_tensor = table.clone()
    plain_tensor.note = 3
    content |= {"noted": with_attribute, "noted tensor": plain_tensor}
    for protocol in (2, 3, 4, 5):
        torch.save(content, path, pickle_protocol=protocol)
        read = read_torch(path)
        again = as_numpy(torch, torch.load(path, weights_only=False))
        assert torch_fuzz.plain(read.pop("numbers")) == torch_fuzz.plain(again.pop("numbers"))
        assert read.pop("size") == tuple(again.pop("size"))
        assert read["numpy"].pop(1) == again["numpy"].pop(1)
        assert list(read) == list(again)
        for name in read:
            for mine, theirs in zip(
                *([x[name]] if isinstance(x[name], np.ndarray) else x[name] for x in (read, again)), strict=True
            ):
                assert mine.dtype == theirs.dtype, name
                assert np.array_equal(mine, theirs), name
        assert np.shares_memory(*read["tied"])


@pytest.mark.thorough
def test_names_of_torch_modules(path):
    """Whole modules and their state dicts give the names, the order and the numbers of ``state_dict()``."""
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    nn = torch.nn
    tied = nn.Linear(3, 3)
    model = nn.ModuleDict(
        {
            "rows": nn.Embedding(5, 3),
            "net": nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.1), tied, nn.ModuleList([tied])),
            "weights": nn.ParameterList([torch.ones(2), torch.zeros(1)]),
            "named": nn.ParameterDict({"a": torch.ones(2)}),
        }
    )
    model.register_buffer("fleeting", torch.ones(1), persistent=False)
    model.register_buffer("kept", torch.arange(3))
    model.register_parameter("none", None)
    model["net"].register_forward_hook(print)
    expected = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert "fleeting" not in expected
    for content, prefix in ((model, ""), (model.state_dict(), ""), ({"epoch": 1, "model": model}, "model.")):
        for protocol in (2, 4):
            torch.save(content, path, pickle_protocol=protocol)
            read = state_dict(read_torch(path))
            assert list(read) == [prefix + name for name in expected]
            assert all(np.array_equal(read[prefix + name], array) for name, array in expected.items())
    optimizer = torch.optim.Adam([nn.Parameter(torch.ones(2))])
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    assert list(state_dict(read_torch(path))) == [f"model.{name}" for name in expected]
    sparse = torch.eye(3).to_sparse()
    torch.save({"s": sparse}, path)
    with pytest.raises(DataError, match="tensor 's' is written as"):
        state_dict(read_torch(path))
    torch.save(model, path, _use_new_zipfile_serialization=False)
    refused(path, "before torch 1.6")


@pytest.mark.thorough
def test_torch_reads_what_the_tests_write(path):
    """The writer of the tests makes files of torch: torch itself loads them, with the same numbers."""
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    for members in torch_fuzz.seeds()[:4]:
        write_members(path, members)
        assert torch_fuzz.plain(as_numpy(torch, torch.load(path, weights_only=False))) == torch_fuzz.plain(
            read_torch(path)
        )


@pytest.mark.thorough
def test_torch_agrees_on_damaged_files(path):
    """Of 3,000 damaged files, those that torch (weights only) reads too hold the same numbers."""
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    both = 0
    for _, archive in torch_fuzz.mutants(3000, 3):
        path.write_bytes(archive)
        try:
            tree = read_torch(path)
            theirs = torch.load(path, weights_only=True)
        except Exception:  # torch has many
            continue
        both += 1
        assert torch_fuzz.plain(tree) == torch_fuzz.plain(as_numpy(torch, theirs))
    assert both > 20


@pytest.mark.parametrize("name", ["transe", "complex"])
def test_pykeen_modules_hold_the_published_tensors(shared, name):
    """Whole modules that PyKEEN saved, against the arrays that were taken from the same files by torch."""
    file = shared / "data" / "formats" / f"pykeen-nations-{name}" / "trained_model.pkl"
    assert is_torch_file(file)
    with nothing_runs():
        tree = read_torch(file)
        read = state_dict(tree)
    assert (
        tree.name
        == {"transe": "pykeen.models.unimodal.trans_e.TransE", "complex": "pykeen.models.unimodal.complex.ComplEx"}[
            name
        ]
    )
    published = np.load(shared / "data" / "models" / "nations-pykeen" / name / "trained_model.npz")
    old = {"transe": "{}_embeddings._embeddings.weight", "complex": "{}_representations.0._embeddings.weight"}[name]
    for kind in ("entity", "relation"):
        assert read[old.format(kind)].dtype == np.float32
        assert np.array_equal(read[old.format(kind)], published[kind])
