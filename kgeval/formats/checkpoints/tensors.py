"""Functions that build the tensors and arrays of a pickle from bytes, instead of the functions of torch and numpy.

`tensor_meanings` gives the interpreter of pickles the functions that replace ``torch._utils._rebuild_tensor_v2``,
``numpy.core.multiarray._reconstruct`` and a few others. A tensor is a view of a storage, which the caller reads; many
tensors may share a storage, as tied weights do. Traps:

- the offset, the shape and the strides come from the file: every element must lie inside the storage;
- strides of 0 (``Tensor.expand``) repeat the same few bytes as many elements; `MAX_REPEATED` limits the number of
  repeated elements, because later code copies them;
- ``bfloat16`` has no dtype in numpy; it becomes float32, which holds the same values;
- a complex tensor may be saved as the conjugate of its storage, and any tensor as the negative of its storage. The last
  argument says so (``{"conj": True}``), and kgeval computes the conjugate or the negative;
- a storage may be written on a machine with the other byte order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.limits import FREE_COPIED, MAX_COPIED, MAX_COPIED_RATIO, MAX_REPEATED, factor
from kgeval.formats.checkpoints.pickles import Fault, Meanings, Stub, describe

Array = npt.NDArray[Any]
MAX_DIMENSIONS = 32  # of an array, as in numpy 1
MAX_SIZE = 2**62  # of an array, in bytes
BFLOAT16 = "bfloat16"
DTYPES = {  # the dtype of numpy for each dtype of torch
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    BFLOAT16: "u2",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "bool": "b1",
    "complex64": "c8",
    "complex128": "c16",
}
UNTYPED = "untyped"
STORAGES = {  # the dtype of each storage class
    "torch.HalfStorage": "float16",
    "torch.FloatStorage": "float32",
    "torch.DoubleStorage": "float64",
    "torch.BFloat16Storage": BFLOAT16,
    "torch.CharStorage": "int8",
    "torch.ShortStorage": "int16",
    "torch.IntStorage": "int32",
    "torch.LongStorage": "int64",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
    "torch.ComplexFloatStorage": "complex64",
    "torch.ComplexDoubleStorage": "complex128",
    "torch.storage.UntypedStorage": UNTYPED,
    "torch.UntypedStorage": UNTYPED,
}
NUMPY_CODE = re.compile(r"b1|[iu][1248]|f[248]|c8|c16|[SU][1-9]\d{0,4}")
MAX_CODE_POINT = 0x10FFFF


class Storage(Stub):
    """A reference in a pickle to the bytes of tensors; the function `read` returns the bytes when a tensor needs them.

    Parameters
    ----------
    name : str
        The storage class, for example ``"torch.FloatStorage"``.
    key : str
        The key of the storage in the file.
    numel : int
        The number of elements in the storage; the number of bytes if the storage class has no dtype.
    read : function
        Takes nothing and returns the bytes as an array of uint8.
    byteorder : str
        ``"<"`` or ``">"``.
    """

    __slots__ = ("_converted", "byteorder", "key", "numel", "read")

    def __init__(self, name: str, key: str, numel: int, read: Callable[[], Array], byteorder: str) -> None:
        super().__init__(name, (key, numel))
        self.key = key
        self.numel = numel
        self.read = read
        self.byteorder = byteorder
        self._converted: dict[str, Array] = {}

    def values(self, dtype: str | None) -> Array:
        """Return the elements of the storage.

        Parameters
        ----------
        dtype : str, optional
            The dtype of torch; by default the dtype of the storage class.

        Returns
        -------
        array of shape (elements,)
            The array is float32 for bfloat16, and has the dtype `dtype` otherwise.

        Raises
        ------
        Fault
            If the dtype is none of `DTYPES`, or if the storage does not hold `numel` elements.
        """
        own = STORAGES.get(self.name)
        dtype = dtype or (own if own != UNTYPED else "uint8")
        if dtype not in DTYPES or own not in (dtype, UNTYPED):
            raise Fault(
                f"a tensor of {describe(dtype or self.name)} in a storage of {describe(self)}; these dtypes are read: "
                f"{', '.join(DTYPES)}. Convert the tensor before torch.save, for example with .to(torch.float32)"
            )
        if dtype not in self._converted:
            content = self.read()
            size = self.numel * (1 if own == UNTYPED else np.dtype(DTYPES[dtype]).itemsize)
            if len(content) != size:
                raise Fault(
                    f"{self.numel:,} elements of storage {describe(self.key)} ({describe(self)}) take {size:,} bytes, "
                    f"but the file holds {len(content):,}"
                )
            self._converted[dtype] = self._convert(content, dtype)
        return self._converted[dtype]

    def _convert(self, content: Array, dtype: str) -> Array:
        """Return the elements in the byte order of this machine."""
        stored = np.dtype(self.byteorder + DTYPES[dtype])
        values = content[: len(content) // stored.itemsize * stored.itemsize].view(stored)
        if dtype == BFLOAT16:  # the upper half of a float32
            values = (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
        elif dtype == "bool":
            values = values.view(np.uint8) != 0
        else:
            values = values.astype(stored.newbyteorder("="), copy=False)
        return values


def tensor_meanings(persistent: Callable[[Any], Any], n_bytes: int) -> Meanings:
    """Return functions of kgeval for the names of torch and numpy that occur in a pickle.

    Parameters
    ----------
    persistent : function
        Takes the persistent id of a storage and returns a `Storage`.
    n_bytes : int
        The size of the file, for the limit of copied bytes.

    Returns
    -------
    Meanings
        For one pickle only: the functions count the repeated elements of all its tensors.
    """
    arrays = _Arrays(min(MAX_COPIED, max(FREE_COPIED, MAX_COPIED_RATIO * n_bytes)))
    calls: dict[str, Callable[[tuple[Any, ...]], Any]] = {
        "torch._utils._rebuild_tensor": arrays.rebuild,
        "torch._utils._rebuild_tensor_v2": arrays.rebuild,
        "torch._utils._rebuild_tensor_v3": arrays.rebuild_with_dtype,
        "torch._utils._rebuild_parameter": _parameter,
        "torch._utils._rebuild_parameter_with_state": _parameter,
        "torch._tensor._rebuild_from_type_v2": arrays.rebuild_from_type,
        "torch.Size": _size,
        "torch.jit._pickle.build_intlist": _list,
        "torch.jit._pickle.build_doublelist": _list,
        "torch.jit._pickle.build_boollist": _list,
        "torch.jit._pickle.build_tensorlist": _list,
        "torch.jit._pickle.restore_type_tag": _tagged,
    }
    states: dict[str, Callable[[Stub, Any], Any]] = {}
    for core in ("numpy.core", "numpy._core"):
        calls |= {f"{core}.multiarray.scalar": arrays.scalar, f"{core}.numeric._frombuffer": arrays.from_buffer}
        states[f"{core}.multiarray._reconstruct"] = arrays.array
    return Meanings(calls, states, persistent)


class _Arrays:
    """Builds the tensors and arrays of one pickle; limits the number of repeated elements and of copied bytes."""

    def __init__(self, max_copied: int) -> None:
        self.max_copied = max_copied
        self.repeated = 0
        self.copied = 0

    def rebuild(self, arguments: tuple[Any, ...]) -> Array:
        """Interpret ``_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata)``."""
        return self._tensor(arguments, None, arguments[6] if len(arguments) > 6 else None)

    def rebuild_with_dtype(self, arguments: tuple[Any, ...]) -> Array:
        """Interpret ``_rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata)``."""
        dtype = arguments[6] if len(arguments) > 6 else None
        if not isinstance(dtype, Stub) or not dtype.name.startswith("torch."):
            raise Fault(f"a tensor needs a dtype of torch, got {describe(dtype)}")
        metadata = arguments[7] if len(arguments) > 7 else None
        return self._tensor(arguments, dtype.name.removeprefix("torch."), metadata)

    def rebuild_from_type(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``_rebuild_from_type_v2(function, type, arguments, attributes)``: a tensor with attributes."""
        if len(arguments) != 4 or not all(isinstance(name, Stub) for name in arguments[:2]):
            return NotImplemented
        function, kind, parts, _ = arguments
        calls = {
            "torch._utils._rebuild_tensor_v2": self.rebuild,
            "torch._utils._rebuild_tensor_v3": self.rebuild_with_dtype,
            "torch._utils._rebuild_parameter": _parameter,
        }
        if kind.name not in ("torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"):
            return NotImplemented
        if function.name not in calls or not isinstance(parts, tuple):
            return NotImplemented
        return calls[function.name](parts)

    def _tensor(self, arguments: tuple[Any, ...], dtype: str | None, metadata: Any) -> Array:
        """Return a tensor as a view of its storage; the first arguments are storage, offset, size and stride."""
        if len(arguments) < 4:
            raise Fault(f"a tensor needs a storage, an offset, a size and a stride, got {len(arguments)} arguments")
        storage, offset, size, stride = arguments[:4]
        if not isinstance(storage, Storage):
            raise Fault(f"a tensor needs a storage, got {describe(storage)}")
        shape, strides = _natural_numbers("size", size), _natural_numbers("stride", stride)
        (start,) = _natural_numbers("offset", (offset,))
        values = storage.values(dtype)
        total = _count(shape, values.itemsize)
        if len(strides) != len(shape):
            raise Fault(f"a tensor of {len(shape)} dimensions has {len(strides)} strides")
        if total == 0:
            return self._with_metadata(np.zeros(shape, values.dtype), metadata)
        end = start + sum((count - 1) * step for count, step in zip(shape, strides, strict=True)) + 1
        if end > len(values):
            raise Fault(
                f"a tensor of shape {shape} with offset {start} and strides {strides} needs {end:,} elements, but "
                f"storage {describe(storage.key)} has {len(values):,}"
            )
        self.repeated += max(total - len(values), 0)
        if self.repeated > MAX_REPEATED * factor():
            raise Fault(
                f"tensors whose strides repeat elements have more than {MAX_REPEATED:,} elements beyond their storages"
            )
        steps = [0 if count == 1 else step * values.itemsize for count, step in zip(shape, strides, strict=True)]
        tensor: Array = np.ndarray(shape, values.dtype, values, start * values.itemsize, steps)
        return self._with_metadata(tensor, metadata)

    def _with_metadata(self, tensor: Array, metadata: Any) -> Array:
        """Return a tensor, or its conjugate or negative if its metadata say so."""
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, dict) or len(metadata) > 2 or not set(metadata) <= {"conj", "neg"}:
            raise Fault("the metadata of a tensor must be a dict with the keys 'conj' and 'neg'")
        for flag, function in (("conj", np.conj), ("neg", np.negative)):
            if metadata.get(flag, False) is False:
                continue
            if metadata[flag] is not True or tensor.dtype.kind not in ("c" if flag == "conj" else "ifc"):
                raise Fault(f"the metadata {flag!r} of a tensor of {tensor.dtype} is {describe(metadata[flag])}")
            self._copy(tensor.nbytes)
            tensor = function(tensor)
        tensor.flags.writeable = False
        return tensor

    def _copy(self, size: int) -> None:
        """Add to the total a number of copied bytes; raise a Fault if the total is too large.

        A pickle can repeat a copy many times.
        """
        self.copied += size
        if self.copied > self.max_copied * factor():
            raise Fault(
                "tensors saved as a conjugate or with the sign reversed, and numpy arrays, take more than "
                f"{self.max_copied:,} bytes; call resolve_conj() and resolve_neg() before torch.save, and save tensors "
                "instead of arrays"
            )

    def _values(self, content: Any, dtype: np.dtype[Any], shape: Any, order: str) -> Array:
        """Return an array of numpy from its bytes."""
        sizes = _natural_numbers("shape", shape)
        if not isinstance(content, bytes) or len(content) != _count(sizes, dtype.itemsize) * dtype.itemsize:
            held = f"{len(content):,} bytes" if isinstance(content, bytes) else describe(content)
            raise Fault(f"a numpy array of shape {sizes} and dtype {dtype} comes with {held}")
        self._copy(len(content))
        values: Array = np.frombuffer(content, dtype) if content else np.zeros(0, dtype)
        if dtype.kind == "b":
            values = values.view(np.uint8) != 0
        if dtype.kind == "U" and values.size and values.view(dtype.str[0] + "u4").max() > MAX_CODE_POINT:
            raise Fault("a numpy array of texts contains a character that does not exist")
        values = values.astype(dtype.newbyteorder("="), copy=False).reshape(sizes, order="F" if order == "F" else "C")
        values.flags.writeable = False
        return values

    def array(self, stub: Stub, state: Any) -> Any:
        """Interpret ``_reconstruct(ndarray, (0,), b"b")`` and its state: version, shape, dtype, is_fortran, bytes."""
        kind = stub.arguments[0] if stub.arguments else None
        is_plain = isinstance(kind, Stub) and kind.name == "numpy.ndarray"
        if not is_plain or not isinstance(state, tuple) or len(state) != 5:
            return NotImplemented
        _, shape, described, is_fortran, content = state
        dtype = _numpy_dtype(described)
        if dtype is None or not isinstance(is_fortran, int):
            return NotImplemented
        return self._values(content, dtype, shape, "F" if is_fortran else "C")

    def from_buffer(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``_frombuffer(bytes, dtype, shape, order)``: an array, as numpy writes it in protocol 5."""
        match arguments:
            case (content, described, shape, str("C" | "F") as order):
                dtype = _numpy_dtype(described)
                return NotImplemented if dtype is None else self._values(content, dtype, shape, order)
        return NotImplemented

    def scalar(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``scalar(dtype, bytes)``; return a number of Python."""
        dtype = _numpy_dtype(arguments[0]) if len(arguments) == 2 else None
        return NotImplemented if dtype is None else self._values(arguments[1], dtype, (), "C").item()


def _natural_numbers(name: str, numbers: Any) -> tuple[int, ...]:
    """Return a tuple of ints that are not negative."""
    if not isinstance(numbers, (tuple, list)):
        raise Fault(f"the {name} of an array must be integers from 0 to 2**62, got {describe(numbers)}")
    if len(numbers) > MAX_DIMENSIONS:
        raise Fault(f"an array of {len(numbers):,} dimensions, but at most {MAX_DIMENSIONS} are read")
    wrong = [number for number in numbers if type(number) is not int or not 0 <= number <= MAX_SIZE]
    if wrong:
        raise Fault(f"the {name} of an array must be integers from 0 to 2**62, got {describe(wrong[0])}")
    return tuple(numbers)


def _count(shape: tuple[int, ...], itemsize: int) -> int:
    """Return the number of elements of an array."""
    total = 1
    for size in shape:
        total *= size or 1  # numpy refuses a huge shape also if another dimension is 0
    if total * itemsize > MAX_SIZE:
        raise Fault("the size of an array is too large for any machine")
    return total if all(shape) else 0


def _parameter(arguments: tuple[Any, ...]) -> Any:
    """Interpret ``_rebuild_parameter(data, requires_grad, hooks)``, also with attributes as the fourth argument."""
    return arguments[0] if arguments and isinstance(arguments[0], np.ndarray) else NotImplemented


def _size(arguments: tuple[Any, ...]) -> Any:
    """Interpret ``torch.Size([2, 3])``."""
    return _natural_numbers("size", arguments[0]) if len(arguments) == 1 else NotImplemented


def _list(arguments: tuple[Any, ...]) -> Any:
    """Interpret ``build_intlist([1, 2])`` and the like, which TorchScript writes."""
    return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else NotImplemented


def _tagged(arguments: tuple[Any, ...]) -> Any:
    """Interpret ``restore_type_tag(value, "List[int]")``, which TorchScript writes."""
    return arguments[0] if len(arguments) == 2 and isinstance(arguments[1], str) else NotImplemented


def _numpy_dtype(described: Any) -> np.dtype[Any] | None:
    """Return the dtype for a stub such as ``numpy.dtype("f4", False, True)`` and its state.

    The result is None for any other stub, for example for a structured dtype.
    """
    if not isinstance(described, Stub) or described.name != "numpy.dtype" or not described.arguments:
        return None
    code, state = described.arguments[0], described.state
    if not isinstance(code, str) or not NUMPY_CODE.fullmatch(code):
        return None
    match state:
        case None | (_, str("|"), None, None, None, *_):
            return np.dtype(code)
        case (_, str("<" | ">" | "=") as order, None, None, None, *_):
            return np.dtype(order + code)
    return None
