"""Tables of vectors in every storage: mapped files of every dtype, and the bits of bfloat16."""

import numpy as np

from kgeval.kernels.mapped_tables import bfloat16


def npy(path, array):
    """The array of a file, mapped for reading."""
    np.save(path, array)
    return np.load(path.with_suffix(".npy"), mmap_mode="r")


def bits(array):
    """The bits of the bfloat16 numbers nearest to zero from the given ones."""
    return (np.ascontiguousarray(array, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)


def unaligned(path, array):
    """A table that begins at an odd byte of a file, as in .safetensors files with an unpadded header."""
    path.write_bytes(b"x" * 3 + array.astype(np.float32).tobytes())
    raw = np.memmap(path, np.uint8, "r")
    return raw[3:].view(np.float32).reshape(array.shape)


# name: makes a table in this storage at a path, and the float64 numbers that it holds
STORAGES = {
    "float32": lambda path, array: (npy(path, array.astype(np.float32)), array.astype(np.float32)),
    "float16": lambda path, array: (npy(path, array.astype(np.float16)), array.astype(np.float16)),
    "bfloat16": lambda path, array: (
        bfloat16(npy(path, bits(array))),
        (bits(array).astype(np.uint32) << 16).view(np.float32),
    ),
    "float64": lambda path, array: (npy(path, array.astype(np.float64)), array),
    "columns": lambda path, array: (npy(path, np.asfortranarray(array, dtype=np.float32)), array.astype(np.float32)),
    "unaligned": lambda path, array: (unaligned(path, array), array.astype(np.float32)),
    "big-endian": lambda path, array: (npy(path, array.astype(">f4")), array.astype(np.float32)),
}


def stored(storage, folder, array, name="table"):
    """A table in a storage, and a float64 array of the numbers that it holds."""
    table, numbers = STORAGES[storage](folder / name, np.asarray(array))
    return table, numbers.astype(np.float64)
