"""Writes torch's zip format (torch 1.6 and later) without torch: checkpoints that tests fabricate.

``write_torch(path, obj)`` is what ``torch.save(obj, path)`` would be. `obj` may hold

- dicts, OrderedDicts, lists, tuples, sets, texts, numbers: as they are;
- numpy arrays: saved as tensors (one array used twice is one tensor with one storage, as tied weights are);
- ``Tensor(array, dtype="bfloat16", offset=, shape=, stride=, metadata=)``: a tensor whose storage is `array`;
- ``Parameter(array)``: a ``torch.nn.Parameter``;
- ``NumpyArray(array)``: a numpy array that stays one;
- ``Global("package.module", "Class")``: a class or function by its name; it need not exist;
- ``Fake("package.module.Class", state={...})``: an object of a class that need not exist;
- ``PersistentId(...)``: a reference to an object outside of the pickle, of any content;
- ``fake_module("package.module.Class", parameters={...}, buffers={...}, modules={...}, **attributes)``: a whole pickled
  ``torch.nn.Module``.

In ``with nothing_runs():`` every import and every way to run something fails.
"""

import builtins
import contextlib
import importlib
import io
import os
import pickle
import subprocess
import zipfile
from collections import OrderedDict
from unittest import mock

import numpy as np

STORAGES = {  # the name of a dtype: the storage class that torch writes for it
    "float16": "HalfStorage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "bfloat16": "BFloat16Storage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


class Global:
    """A class or function, by name; `name` may have dots, as nested classes do."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, *_):
        raise TypeError("a fake: it is written, never called")


class Fake:
    """An object of a class of any name: ``Class(*arguments)``, then its items, its entries and its state."""

    def __init__(self, name, state=None, arguments=(), items=(), entries=(), is_called=False):
        module, _, name = name.rpartition(".")
        self.kind = Global(module, name)
        self.state, self.arguments, self.items, self.entries = state, tuple(arguments), list(items), dict(entries)
        self.is_called = is_called  # written as REDUCE, a call, and not as NEWOBJ


class Tensor:
    """A tensor of any dtype, offset, shape and stride; without them, the whole of `array` as it is.

    The storage is `array` in C order; tensors made of one array object share one storage. The bits of bfloat16 are
    given as uint16.
    """

    def __init__(self, array, dtype=None, offset=0, shape=None, stride=None, metadata=None):
        self.array = array
        self.dtype = dtype or array.dtype.name
        self.offset = offset
        self.shape = tuple(array.shape if shape is None else shape)
        contiguous = [int(np.prod(self.shape[i + 1 :])) for i in range(len(self.shape))]
        self.stride = tuple(contiguous if stride is None else stride)
        self.metadata = metadata  # such as {"conj": True}


class Parameter:
    """A ``torch.nn.Parameter`` of a numpy array or a `Tensor`; one with attributes, if `state` is given."""

    def __init__(self, data, state=None):
        self.data, self.state = data, state


class NumpyArray:
    """A numpy array that is pickled as numpy does it, not as a tensor."""

    def __init__(self, array):
        self.array = array


def fake_module(name, parameters=(), buffers=(), modules=(), non_persistent=(), **attributes):
    """A pickled ``torch.nn.Module``: arrays as parameters and buffers, fakes as submodules, all under their names."""
    kept = {"training": False, "_parameters": OrderedDict()}
    for key, value in dict(parameters).items():
        kept["_parameters"][key] = Parameter(value) if isinstance(value, (np.ndarray, Tensor)) else value
    kept |= {"_buffers": OrderedDict(buffers), "_non_persistent_buffers_set": set(non_persistent)}
    kept |= {"_backward_hooks": OrderedDict(), "_forward_hooks": OrderedDict(), "_modules": OrderedDict(modules)}
    return Fake(name, state=kept | attributes)


class PersistentId:
    """An object outside of the pickle, such as a storage: ("storage", class, key, device, number of elements)."""

    def __init__(self, identifier):
        self.id = identifier


class _Pickler(pickle._Pickler):
    """The pickler of the standard library in Python, which can write names that cannot be imported."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012 (as in the standard library)

    def __init__(self, file, protocol, byteorder):
        super().__init__(file, protocol)
        self.byteorder = byteorder
        self.storages = {}  # id of the array: (the array, its storage, its bytes)
        self.rebuilt = {}  # id of the array: (the array, its fake)

    def persistent_id(self, obj):
        return obj.id if isinstance(obj, PersistentId) else None

    def storage(self, array, dtype):
        if id(array) not in self.storages:
            order = {"little": "<", "big": ">"}[self.byteorder]
            content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder(order)).tobytes()
            kind, key = Global("torch", STORAGES[dtype]), str(len(self.storages))
            storage = PersistentId(("storage", kind, key, "cpu", array.size))
            self.storages[id(array)] = (array, storage, content)
        return self.storages[id(array)][1]

    def call(self, obj, module, name, *arguments):
        """Write the call of a function."""
        self.save_reduce(Global(module, name), arguments, obj=obj)

    def save_global_name(self, obj):
        if self.proto >= 4:
            self.save(obj.module)
            self.save(obj.name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + obj.module.encode() + b"\n" + obj.name.encode() + b"\n")
        self.memoize(obj)

    def save_fake(self, obj):
        self.save(obj.kind)
        self.save(obj.arguments)
        self.write(pickle.REDUCE if obj.is_called else pickle.NEWOBJ)
        self.memoize(obj)
        self.save_batch(obj.items, pickle.APPENDS)
        self.save_batch([part for entry in obj.entries.items() for part in entry], pickle.SETITEMS)
        if obj.state is not None:
            self.save(obj.state)
            self.write(pickle.BUILD)

    def save_array(self, obj):
        self.save_tensor(Tensor(obj), obj)

    def save_tensor(self, obj, memoized=None):
        arguments = (self.storage(obj.array, obj.dtype), obj.offset, obj.shape, obj.stride, False, OrderedDict())
        arguments += () if obj.metadata is None else (obj.metadata,)
        self.call(obj if memoized is None else memoized, "torch._utils", "_rebuild_tensor_v2", *arguments)

    def save_parameter(self, obj):
        name = "_rebuild_parameter" + ("" if obj.state is None else "_with_state")
        state = () if obj.state is None else (obj.state,)
        self.call(obj, "torch._utils", name, obj.data, True, OrderedDict(), *state)

    def save_numpy(self, obj):
        array = np.array(obj.array, order="C")
        kind = Fake(
            "numpy.dtype", (3, array.dtype.str[0], None, None, None, -1, -1, 0), (array.dtype.str[1:], False, True)
        )
        kind.is_called = True
        start = (Global("numpy", "ndarray"), (0,), b"b")
        self.save_reduce(
            Global("numpy.core.multiarray", "_reconstruct"),
            start,
            (1, array.shape, kind, False, array.tobytes()),
            obj=obj,
        )

    def save_batch(self, parts, opcode):
        if parts:
            self.write(pickle.MARK)
            for part in parts:
                self.save(part)
            self.write(opcode)

    dispatch[Global] = save_global_name
    dispatch[Fake] = save_fake
    dispatch[np.ndarray] = save_array
    dispatch[Tensor] = save_tensor
    dispatch[Parameter] = save_parameter
    dispatch[NumpyArray] = save_numpy


def torch_pickle(obj, protocol=2, byteorder="little"):
    """The bytes of ``data.pkl`` for an object, and the bytes of its storages under their keys."""
    file = io.BytesIO()
    pickler = _Pickler(file, protocol, byteorder)
    pickler.dump(obj)
    return file.getvalue(), {storage.id[2]: content for _, storage, content in pickler.storages.values()}


def write_members(path, members, compression=zipfile.ZIP_STORED):
    """Write a zip file of the members (name: bytes)."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)


def torch_members(obj, protocol=2, byteorder="little", folder="archive"):
    """The members (name: bytes) of the torch file of an object."""
    content, storages = torch_pickle(obj, protocol, byteorder)
    members = {f"{folder}/data.pkl": content, f"{folder}/byteorder": byteorder.encode()}
    members |= {f"{folder}/data/{key}": storage for key, storage in storages.items()}
    return members | {f"{folder}/version": b"3\n"}


def write_torch(path, obj, protocol=2, byteorder="little", folder="archive", compression=zipfile.ZIP_STORED):
    """Write a torch file of an object; see the docstring of this module for what it may hold."""
    write_members(path, torch_members(obj, protocol, byteorder, folder), compression)


@contextlib.contextmanager
def nothing_runs():
    """Make importing, evaluating, opening files by ``open`` and starting programs fail."""

    def fail(*arguments, **_):
        raise AssertionError(f"the reader imported or ran something: {arguments[:1]}")

    "".encode("cp437")  # a codec that zipfile uses, imported at its first use
    names = [(builtins, name) for name in ("__import__", "eval", "exec", "compile", "open")]
    names += [(os, name) for name in ("system", "popen", "execv", "fork", "posix_spawn") if hasattr(os, name)]
    names += [(importlib, "import_module"), (subprocess, "Popen"), (pickle, "loads"), (pickle, "load")]
    with contextlib.ExitStack() as stack:
        for owner, name in names:
            stack.enter_context(mock.patch.object(owner, name, fail))
        yield
