"""Mutated torch files, and what must be true of whatever is still read from one.

`mutants` damages the files that `seeds` makes: bytes, lengths and opcodes of the pickle, storages, members, headers of
the zip archive. `contradiction` compares what was read with the bytes of the mutated file, which the zipfile of the
standard library reads.
"""

import io
import pickletools
import zipfile
import zlib

import numpy as np
from torch_zip import Fake, Global, NumpyArray, Parameter, Tensor, fake_module, torch_members, write_members

CODES = bytes(ord(opcode.code) for opcode in pickletools.opcodes)
SPANS = {}


def seeds():
    """The members (name: bytes) of several torch files: dtypes, both byte orders, modules, strides, shared storages."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 4)).astype("f4")
    bits = rng.integers(0, 2**16, 12).astype("u2")
    dtypes = {
        "f2": table.astype("f2"),
        "f8": table.astype("f8"),
        "i8": np.arange(6).reshape(2, 3),
        "u1": np.arange(7, dtype="u1"),
        "b1": np.array([True, False, True]),
        "c8": (table[0] + 1j * table[1]).astype("c8"),
        "bf": Tensor(bits, "bfloat16", shape=(3, 4)),
        "empty": np.zeros((0, 3), "f4"),
    }
    views = {
        "weight": table,
        "tied": table,
        "transposed": Tensor(table, shape=(4, 5), stride=(1, 4)),
        "row": Tensor(table, offset=4, shape=(4,)),
        "expanded": Tensor(table, offset=3, shape=(6, 2), stride=(0, 1)),
        "conjugate": Tensor(dtypes["c8"], metadata={"conj": True}),
        "parameter": Parameter(table),
        "with_state": Parameter(table, {"note": "x"}),
    }
    module = fake_module(
        "pykeen.models.unimodal.trans_e.TransE",
        modules={"entities": fake_module("pykeen.nn.Embedding", {"weight": table}, {"seen": dtypes["i8"]})},
        loss=Fake("pykeen.losses.Margin", {"margin": 1.0}, ("mean",), is_called=True),
        dtype=Global("torch", "float32"),
    )
    checkpoint = {"type": "train", "epoch": 3, "model": [{"_entity_embedder._embeddings.weight": table}, {}]}
    checkpoint |= {
        "labels": NumpyArray(np.array(["a", "bcd"])),
        "config": Fake("kge.Config", items=[1], entries={"k": 2}),
    }
    return [
        torch_members(dtypes),
        torch_members(dtypes, 4, "big"),
        torch_members(views),
        torch_members(views, 5, folder="other name"),
        torch_members(module, 4),
        torch_members(checkpoint, 3),
        torch_members([{"a": {1: np.eye(3)}}, {2, 3}, frozenset({"x"}), 2**70, b"\x00\xff"], 1),
    ]


def zipped(members, compression=zipfile.ZIP_STORED):
    """The bytes of a zip archive of the members."""
    file = io.BytesIO()
    write_members(file, members, compression)
    return file.getvalue()


def _flipped(content, rng):
    """A content with one to eight changed bytes."""
    changed = bytearray(content)
    for place in rng.integers(0, max(len(changed), 1), rng.integers(1, 9)):
        if changed:
            changed[place] = rng.choice([changed[place] ^ (1 << rng.integers(8)), rng.integers(256), 0, 255])
    return bytes(changed)


def _spliced(content, other, rng):
    """A content in which a piece is replaced by, or moved in from, another content."""
    begin, end = sorted(rng.integers(0, len(content) + 1, 2))
    begin = begin if rng.random() < 0.5 else end
    first, last = sorted(rng.integers(0, len(other) + 1, 2))
    last = min(last, first + int(rng.integers(1, 60)))
    return content[:begin] + other[first:last] + content[end:]


def _operations(content):
    """The pickle cut into its opcodes."""
    if content not in SPANS:
        places = [place for _, _, place in pickletools.genops(content)] + [len(content)]
        SPANS[content] = [content[a:b] for a, b in zip(places, places[1:], strict=False)]
    return list(SPANS[content])


def _reordered(content, other, rng):
    """A pickle with opcodes left out, repeated, exchanged, or taken from another pickle."""
    operations, others = _operations(content), _operations(other)
    for _ in range(rng.integers(1, 4)):
        place, source = rng.integers(len(operations)), rng.integers(len(operations))
        change = rng.integers(5)
        if change == 0:
            del operations[place]
        elif change == 1:
            operations.insert(place, operations[source])
        elif change == 2:
            operations[place], operations[source] = operations[source], operations[place]
        elif change == 3:
            operations.insert(place, others[rng.integers(len(others))])
        else:
            operations.insert(place, bytes([rng.choice(list(CODES))]))
    return b"".join(operations)


def _renumbered(content, rng):
    """A pickle with other small integers: offsets, sizes, strides, numbers of elements, indices of the memo."""
    operations = _operations(content)
    numbers = [k for k, operation in enumerate(operations) if operation[:1] in b"KMJ\x8a"]
    for place in rng.choice(numbers, min(len(numbers), rng.integers(1, 3)), replace=False) if numbers else ():
        value = int(rng.choice([-1, 0, 1, 2, 3, 5, 2**15, 2**31 - 1, 2**62, 2**63, 2**200]))
        size = value.bit_length() // 8 + 1
        operations[place] = b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)
    return b"".join(operations)


def mutants(number, seed=0):
    """Yield `number` times the members of a seed, and the bytes of a damaged copy of its file."""
    rng = np.random.default_rng(seed)
    every = seeds()
    for _ in range(number):
        members = every[rng.integers(len(every))]
        other = every[rng.integers(len(every))]
        pickled = next(name for name in members if name.endswith("data.pkl"))
        other_pickle = next(content for name, content in other.items() if name.endswith("data.pkl"))
        compression = zipfile.ZIP_DEFLATED if rng.random() < 0.2 else zipfile.ZIP_STORED
        kind = rng.integers(11)
        if rng.random() < 0.5:  # without frames, whose lengths would end most damage early
            members = {**members, pickled: b"".join(part for part in _operations(members[pickled]) if part[0] != 0x95)}
        changed, content = dict(members), members[pickled]
        if kind == 0:
            changed[pickled] = _flipped(content, rng)
        elif kind == 1:
            changed[pickled] = content[: rng.integers(len(content))]
        elif kind == 2:
            changed[pickled] = _spliced(content, other_pickle, rng)
        elif kind == 3:
            changed[pickled] = _reordered(content, other_pickle, rng)
        elif kind == 4:
            changed[pickled] = _renumbered(content, rng)
        elif kind == 5:  # a storage, or a short member
            name = rng.choice([name for name in members if name != pickled])
            edits = (
                _flipped(members[name], rng),
                members[name][:-1],
                members[name] + b"\0",
                _spliced(members[name], content, rng),
            )
            changed[name] = edits[rng.integers(len(edits))]
        elif kind == 6:  # members left out, or exchanged
            first, second = rng.choice(list(members), 2, replace=False)
            if rng.random() < 0.5:
                del changed[first]
            else:
                changed[first], changed[second] = members[second], members[first]
        archive = zipped(changed, compression)
        if kind == 7:
            archive = _flipped(archive, rng)
        elif kind == 8:
            archive = archive[: rng.integers(len(archive))]
        elif kind == 9:
            archive = _spliced(archive, zipped(other), rng)
        elif kind == 10:  # the headers and the directory alone, with the contents left as they are
            place = archive.index(b"PK\x01\x02")
            archive = archive[:place] + _flipped(archive[place:], rng)
        yield members, archive


def plain(value):
    """A nested structure that can be compared: arrays by dtype, shape and bytes; stubs by their parts."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return [(plain(key), plain(content)) for key, content in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if hasattr(value, "entries"):
        return [value.name, *map(plain, (value.arguments, value.state, value.items, value.entries))]
    return repr(value)


def arrays_in(tree):
    """The arrays of a tree, each once; containers that contain themselves are looked into once."""
    seen, pending, found = set(), [tree], []
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, dict):
            pending += [*value.values(), *value]
        elif isinstance(value, (list, tuple, set, frozenset)):
            pending += value
        elif hasattr(value, "entries"):
            pending += [value.arguments, value.state, value.items, value.entries]
    return found


def _as_stored(owner):
    """The bytes that may stand in a file for the memory of a storage: of both byte orders, also as bfloat16."""
    content = np.ascontiguousarray(owner).ravel().view("u1")
    yield content.tobytes()
    for size in (2, 4, 8):
        if len(content) % size == 0:
            yield content.view(f"u{size}").byteswap().tobytes()
    if owner.dtype.itemsize == 4:
        upper = (content.view("u4") >> 16).astype("u2")
        yield upper.tobytes()
        yield upper.byteswap().tobytes()


def contradiction(archive, tree):
    """What is wrong with a tree that was read from the bytes of a damaged file; None if nothing is.

    The storage of each array must be one of the members, or lie in the pickle, and contain the whole array.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            stored = {info.filename: opened.read(info) for info in opened.infolist()}
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, LookupError, RuntimeError) as error:
        return f"the standard library does not read the archive: {error}"
    contents = {content for name, content in stored.items() if "/data/" in name}
    pickled = b"".join(content for name, content in stored.items() if name.endswith("data.pkl"))
    for array in arrays_in(tree):
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if array.size == 0 or owner.dtype.kind in "US":
            continue
        candidates = list(_as_stored(owner))
        if owner.dtype.kind == "c":  # a conjugate is a copy
            values = [*owner.ravel(), *owner.ravel().conj()]
            parts = [{value.tobytes(), value.byteswap().tobytes()} for value in values]
            if sum(any(part in content for part in pair for content in contents) for pair in parts) >= owner.size:
                continue
        if owner.dtype == bool and any(np.array_equal(owner.ravel(), np.frombuffer(c, "u1") != 0) for c in contents):
            continue
        if not any(candidate in contents or candidate in pickled for candidate in candidates):
            return f"an array of {array.dtype} and shape {array.shape} is not made of the bytes of the file"
        start, first = owner.ctypes.data, array.ctypes.data
        last = first + sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
        if first < start or last + array.itemsize > start + owner.nbytes:
            return "an array leaves its storage"
    return None


def is_untouched(members, archive):
    """Whether the damage left alone every member that matters."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        stored = {info.filename: opened.read(info) for info in opened.infolist()}
    matters = [name for name in members if not name.endswith("version")]
    return all(stored.get(name) == members[name] for name in matters) and all(
        name in members for name in stored if "/" in name and name.rpartition("/")[2] in ("data.pkl", "byteorder")
    )
