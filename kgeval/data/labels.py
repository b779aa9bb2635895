"""`NumberLabels` and `TextLabels`: sequences of labels that make a string only when it is needed, to save memory.

A `Vocabulary` holds its labels as one of these two classes. A string object of Python needs more than
50 bytes, and a graph may have millions of entities.
"""

from __future__ import annotations

import hashlib
import json
import operator
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids
from kgeval.errors import DataError

BLOCK = 2**16  # how many labels become strings, or are hashed, at once
JSON_BLOCK = 2**24  # the bytes of JSON that are made of labels at once
SHOWN = 1000  # longer sequences are shown in part
WORD = 8  # bytes that are compared at once
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], dtype=np.uint64)  # mask n keeps the first n bytes
LONG = 4096  # labels with more bytes are hashed and compared one by one
N_BLOCK_DIGITS = 4  # in a block of NumberLabels.in_text_order, up to this many digits follow the same first digits
_IS_SPACE = np.array([byte < 0x80 and chr(byte).isspace() for byte in range(256)])
CODEC = ("utf-8", "surrogatepass")  # Python strings may contain single surrogates, which plain UTF-8 cannot encode


class Labels(Sequence[str]):
    """Labels in the order of their ids: a read-only sequence of strings, equal to the tuple of the same strings."""

    @abstractmethod
    def take(self, ids: Ids) -> list[str]:
        """Return the labels of `ids`."""

    def objects(self, ids: Ids) -> npt.NDArray[Any]:
        """Return the labels of `ids` as an array of strings; ids that repeat share one string object."""
        distinct, places = np.unique(ids, return_inverse=True)
        return np.array(self.take(distinct), dtype=object)[places]

    @abstractmethod
    def find(self, labels: Sequence[Any] | npt.NDArray[Any]) -> Ids:
        """Return the id of each label, int64, shape (labels,); -1 if the label is unknown or not a string."""

    @abstractmethod
    def in_text_order(self) -> Iterator[Ids]:
        """Yield all ids, in the order of their labels sorted by code point, in blocks."""

    @abstractmethod
    def json_of(self, ids: Ids) -> bytes:
        """Return the labels of `ids` as JSON strings (ASCII), with a comma and a space between them."""

    @property
    def text_places(self) -> Ids:
        """The position of each label among the sorted labels, int64, shape (labels,)."""
        places, start = np.empty(len(self), dtype=np.int64), 0
        for ids in self.in_text_order():
            places[ids] = np.arange(start, start + len(ids))
            start += len(ids)
        return places

    def __add__(self, other: Sequence[str]) -> tuple[str, ...]:
        return NotImplemented if isinstance(other, str) else (*self, *other)

    def __radd__(self, other: Sequence[str]) -> tuple[str, ...]:
        return NotImplemented if isinstance(other, str) else (*other, *self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self.take(np.arange(*index.indices(len(self)))))
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"label {position} of {len(self)} labels")
        return self._label(position % len(self))

    @abstractmethod
    def _label(self, i: int) -> str: ...

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            yield from self.take(np.arange(start, min(start + BLOCK, len(self))))

    def __contains__(self, label: object) -> bool:
        return bool(self.find([label])[0] >= 0)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the id of a label; raise a ValueError if the label is unknown or its id is not in ``start:stop``."""
        found = int(self.find([value])[0])
        if found < 0 or found not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{value!r} is not among the labels")
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, Labels)):
            return NotImplemented
        return self is other or (len(self) == len(other) and all(map(operator.eq, self, other)))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(list(self), dtype=dtype)

    def __repr__(self) -> str:
        if len(self) <= SHOWN:
            return repr(tuple(self))
        return f"({', '.join(map(repr, self[:3]))}, ... {len(self):,} labels)"


class NumberLabels(Labels):
    """The numbers 0 .. n - 1 as text, for a vocabulary whose entities or relations have only ids and no labels.

    Parameters
    ----------
    n : int

    Examples
    --------
    >>> labels = NumberLabels(12)
    >>> labels[-1], labels.find(["7", "07", "12"]).tolist()
    ('11', [7, -1, -1])
    >>> next(labels.in_text_order()).tolist(), labels.text_places.tolist()
    ([0], [0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 2, 3])
    """

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def _label(self, i: int) -> str:
        return str(i)

    def take(self, ids: Ids) -> list[str]:
        """See `Labels.take`."""
        return list(map(str, ids.tolist()))

    def find(self, labels: Sequence[Any] | npt.NDArray[Any]) -> Ids:
        """See `Labels.find`."""
        if isinstance(labels, NumberLabels):
            ids = np.arange(len(labels))
            ids[self._n :] = -1
            return ids
        return np.array([self._number(label) for label in labels], dtype=np.int64)

    def _number(self, label: Any) -> int:
        """Return the id of a label: 12 for ``"12"``; -1 for other texts, also with leading zeros (``"012"``)."""
        if not isinstance(label, str) or not (label.isascii() and label.isdecimal()) or len(label) > len(str(self._n)):
            return -1
        number = int(label)
        return number if number < self._n and (label[0] != "0" or len(label) == 1) else -1

    def in_text_order(self) -> Iterator[Ids]:
        """See `Labels.in_text_order`; a block holds numbers with the same first digits."""
        if self._n:
            yield np.zeros(1, dtype=np.int64)
        for digit in range(1, 10):
            yield from self._beginning_with(digit)

    def _beginning_with(self, first: int) -> Iterator[Ids]:
        """Yield the numbers that begin with the digits of `first`, in the order of their text."""
        if first >= self._n:
            return
        if first * 10 ** (N_BLOCK_DIGITS + 1) >= self._n:  # numbers with more further digits are greater than n - 1
            scales, further = _further_digits()
            numbers = first * scales + further
            yield numbers[numbers < self._n]
            return
        yield np.array([first])
        for digit in range(10):
            yield from self._beginning_with(10 * first + digit)

    def json_of(self, ids: Ids) -> bytes:
        """See `Labels.json_of`."""
        if not len(ids):
            return b""
        scales, further = _further_digits()
        # A faster way for the blocks of `in_text_order`.
        if ids[0] > 0 and len(ids) == len(scales) and np.array_equal(ids, ids[0] * scales + further):
            return _further_json().replace(b"#", b"%d" % ids[0])
        n_digits = len(str(int(ids.max())))
        # cells, (ids, characters): each row is a quote, the digits with leading zeros, a quote, a comma and a space.
        cells = np.full((len(ids), n_digits + 4), ord('"'), dtype=np.uint8)
        cells[:, -2:] = np.frombuffer(b", ", dtype=np.uint8)
        is_kept = np.ones(cells.shape, dtype=bool)
        rest = ids
        for column in range(n_digits, 0, -1):
            tenth = rest // 10
            cells[:, column] = rest - 10 * tenth + ord("0")
            if column > 1:
                is_kept[:, column - 1] = tenth > 0
            rest = tenth
        return cells[is_kept].tobytes()[:-2]

    def __eq__(self, other: object) -> bool:
        return self._n == len(other) if isinstance(other, NumberLabels) else super().__eq__(other)

    __hash__ = Labels.__hash__


@lru_cache(maxsize=1)
def _further_digits() -> tuple[Ids, Ids]:
    """Return two arrays, scales and further: ``p * scales + further`` are the numbers that begin with the digits of p.

    These numbers are p itself, and p followed by 1 to `N_BLOCK_DIGITS` further digits, in text order. For example,
    p = 7 gives 7, 70, 700, ..., 71, 710, ... A scale is a power of ten (10 for one further digit).
    """
    texts = sorted(f"{i:0{length}}" for length in range(1, N_BLOCK_DIGITS + 1) for i in range(10**length))
    scales = [1, *(10 ** len(text) for text in texts)]
    return np.array(scales, dtype=np.int64), np.array([0, *map(int, texts)], dtype=np.int64)


@lru_cache(maxsize=1)
def _further_json() -> bytes:
    """Return, as JSON strings, the numbers of `_further_digits`, with ``#`` in place of the digits of p."""
    scales, further = _further_digits()
    n_digits = np.rint(np.log10(scales)).astype(int).tolist()
    return ", ".join(f'"#{i:0{n}}"' if n else '"#"' for i, n in zip(further.tolist(), n_digits)).encode("ascii")


class TextLabels(Labels):
    """Labels in one buffer of UTF-8.

    Parameters
    ----------
    text : bytes
        The labels one after another.
    offsets : int64 array, shape (labels + 1,)
        Label i is ``text[offsets[i] : offsets[i + 1]]``.

    Examples
    --------
    >>> labels = TextLabels.of(["Roma", "Jack"])
    >>> labels, labels.find(["Jack", "Ann"]).tolist()
    (('Roma', 'Jack'), [1, -1])
    """

    def __init__(self, text: bytes, offsets: Ids) -> None:
        self._padded = text + bytes(WORD)  # with padding, so that `WORD` bytes can be read from each byte of the text
        self._offsets = offsets

    @classmethod
    def of(cls, labels: Sequence[str]) -> TextLabels:
        """Make `TextLabels` from a sequence of strings."""
        joined = "".join(labels)
        if joined.isascii():
            return cls.of_lengths(joined.encode("ascii"), np.fromiter(map(len, labels), np.int64, len(labels)))
        parts = [label.encode(*CODEC) for label in labels]
        return cls.of_lengths(b"".join(parts), np.fromiter(map(len, parts), np.int64, len(parts)))

    @classmethod
    def of_lengths(cls, text: bytes, lengths: npt.NDArray[Any]) -> TextLabels:
        """Make `TextLabels` from the joined labels as UTF-8, and from the number of bytes of each label.

        Raises
        ------
        DataError
            If the lengths do not fit the text, or if the text is not UTF-8.
        """
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        if len(lengths) and (lengths.min() < 0 or lengths.max() > len(text)):
            raise DataError(f"labels of {lengths.min()} to {lengths.max()} bytes; the text has {len(text)} bytes")
        np.cumsum(lengths, out=offsets[1:], dtype=np.int64)
        if offsets[-1] != len(text):
            raise DataError(f"labels of {offsets[-1]} bytes were expected; the text has {len(text)} bytes")
        labels = cls(text, offsets)
        if not text.isascii():
            try:
                text.decode(*CODEC)
            except UnicodeDecodeError as error:
                raise DataError(f"the text of the labels is not UTF-8: {error}") from None
            if ((labels._bytes[offsets] & 0xC0) == 0x80).any():  # bytes 10xxxxxx stand inside a character
                raise DataError("a label begins inside a character")
        return labels

    @property
    def text(self) -> memoryview:
        """The bytes of all labels, one label after another."""
        return memoryview(self._padded)[:-WORD]

    @property
    def lengths(self) -> Ids:
        """The number of bytes of each label, int64, shape (labels,)."""
        return np.diff(self._offsets)

    @property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        """The bytes of all labels and of the padding."""
        return np.frombuffer(self._padded, dtype=np.uint8)

    @property
    def are_plain_numbers(self) -> bool:
        """Whether each label is a number of at most 18 digits without leading zeros."""
        lengths, firsts = self.lengths, self._bytes[self._offsets[:-1]]
        if not len(self) or lengths.min() < 1 or lengths.max() > 18 or ((firsts == ord("0")) & (lengths > 1)).any():
            return False
        return bytes(self.text).isdigit()

    @property
    def maybe_unplain(self) -> Ids:
        """The ids of labels that hold characters outside ASCII, or that begin or end with an ASCII space."""
        is_odd = np.zeros(len(self), dtype=bool)
        some = np.flatnonzero(self.lengths)  # not the empty label
        for ends in (self._offsets[:-1][some], self._offsets[1:][some] - 1):
            is_odd[some] |= _IS_SPACE[self._bytes[ends]]
        if not self._padded.isascii():
            places = np.flatnonzero(self._bytes > 0x7F)
            is_odd[np.searchsorted(self._offsets, places, side="right") - 1] = True
        return np.flatnonzero(is_odd)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _label(self, i: int) -> str:
        return self._text_of(i).decode(*CODEC)

    def _text_of(self, i: int) -> bytes:
        """Return the bytes of a label."""
        return self._padded[self._offsets[i] : self._offsets[i + 1]]

    def take(self, ids: Ids) -> list[str]:
        """See `Labels.take`."""
        text, ends = self._padded, self._offsets[1:][ids].tolist()
        return [text[start:end].decode(*CODEC) for start, end in zip(self._offsets[ids].tolist(), ends)]

    def __iter__(self) -> Iterator[str]:
        if not self._padded.isascii():
            yield from super().__iter__()
            return
        for start in range(0, len(self), BLOCK):
            ends = self._offsets[start : start + BLOCK + 1].tolist()
            text = self._padded[ends[0] : ends[-1]].decode("ascii")
            yield from [text[a - ends[0] : b - ends[0]] for a, b in zip(ends, ends[1:])]

    def json_of(self, ids: Ids) -> bytes:
        """See `Labels.json_of`."""
        if not len(ids) or self._has_escapes:
            return json.dumps(self.take(ids)).encode("ascii")[1:-1]
        starts, lengths = self._offsets[ids], self._offsets[1:][ids] - self._offsets[ids]
        ends = np.cumsum(lengths + 4)  # in the result, in which a quote precedes a label, and three characters follow
        if ends[-1] > JSON_BLOCK:
            return b'"' + b'", "'.join(map(self._text_of, ids.tolist())) + b'"'
        firsts = ends - lengths - 4
        places = np.arange(ends[-1])  # of the characters of the result in the text
        places += np.repeat(starts - 1 - firsts, lengths + 4)
        characters = self._bytes.take(places, mode="clip")  # the text around a label is replaced
        characters[firsts] = ord('"')
        for place, character in enumerate(b'", '):
            characters[ends - 3 + place] = character
        return characters.tobytes()[:-2]

    @cached_property
    def _has_escapes(self) -> bool:
        """Whether some character of the labels must be escaped in JSON."""
        text = self._bytes[:-WORD]
        return bool(len(text)) and (text.min() < 0x20 or text.max() > 0x7E or any(c in self._padded for c in b'"\\'))

    def in_text_order(self) -> Iterator[Ids]:
        """See `Labels.in_text_order`. The bytes of UTF-8 are sorted, which gives the order of code points."""
        order = self._text_order()
        for start in range(0, len(order), BLOCK):
            yield order[start : start + BLOCK]

    def _text_order(self) -> Ids:
        """Return the ids in the order of their labels; `place` counts the bytes that have been compared."""
        # The sort below fills short labels with zero bytes, so it cannot sort labels that contain zero bytes; for very
        # long labels, it would need too many steps.
        if b"\0" in self._padded[:-WORD] or self.lengths.max(initial=0) > LONG:
            strings = list(self)
            return np.array(sorted(range(len(self)), key=strings.__getitem__), dtype=np.int64)
        order = np.arange(len(self))
        groups = np.zeros(len(self), dtype=np.int64)  # labels of one group are equal in all bytes compared so far
        tied = order.copy()  # the positions in `order` of labels that share their group with another label
        place = 0
        while len(tied):
            words = self._words(order[tied], place).byteswap()  # so that the first byte is the most significant
            if groups[0] == groups[-1]:
                n_different_bits = int(np.bitwise_or.reduce(words ^ words[0])).bit_length()
                n_same = WORD - -(-n_different_bits // 8)
                if 0 < n_same < WORD:  # the labels share these bytes: the words after them tell more labels apart
                    place += n_same
                    continue
            if groups[0] != groups[-1] or words.min() != words.max():
                within = np.lexsort((words, groups)) if groups[0] != groups[-1] else np.argsort(words)
                order[tied], words, groups = order[tied][within], words[within], groups[within]
            equals_next = (words[1:] == words[:-1]) & (groups[1:] == groups[:-1]) & ((words[1:] & 0xFF) != 0)
            is_tied = np.zeros(len(tied), dtype=bool)
            is_tied[1:] |= equals_next
            is_tied[:-1] |= equals_next
            groups = np.cumsum(np.concatenate([[True], ~equals_next]))[is_tied]
            tied = tied[is_tied]
            place += WORD
        return order

    def _words(self, ids: Ids, place: int) -> npt.NDArray[np.uint64]:
        """Return the eight bytes of each label from byte `place` on as a little-endian number; 0 after its end."""
        starts = self._offsets[ids] + place
        n_left = np.minimum(np.maximum(self._offsets[1:][ids] - starts, 0), WORD)  # np.clip is slow on short arrays
        words = np.ndarray((len(self._padded) - WORD + 1,), dtype="<u8", buffer=self._padded, strides=(1,))
        return np.asarray(words[np.minimum(starts, len(words) - 1)] & _MASKS[n_left], dtype=np.uint64)

    def _hashes(self) -> npt.NDArray[np.uint64]:
        """Return a 64-bit hash of each label; `find` compares labels with equal hashes byte by byte."""
        hashes = np.empty(len(self), dtype=np.uint64)
        for start in range(0, len(self), BLOCK):
            ids = np.arange(start, min(start + BLOCK, len(self)))
            hashes[ids] = self._hashes_of(ids)
        return hashes

    def _hashes_of(self, ids: Ids) -> npt.NDArray[np.uint64]:
        lengths = self._offsets[1:][ids] - self._offsets[ids]
        hashes = lengths.astype(np.uint64)
        for row in np.flatnonzero(lengths > LONG):
            digest = hashlib.blake2b(self._text_of(ids[row]), digest_size=8).digest()
            hashes[row] = int.from_bytes(digest, "little")
        rows, place = np.flatnonzero(lengths <= LONG), 0
        while len(rows):
            mixed = (hashes[rows] ^ self._words(ids[rows], place)) * np.uint64(0x9E3779B97F4A7C15)
            hashes[rows] = mixed ^ (mixed >> np.uint64(29))
            place += WORD
            rows = rows[lengths[rows] > place]
        return hashes * np.uint64(0xBF58476D1CE4E5B9)

    @cached_property
    def repeated(self) -> tuple[int, int] | None:
        """The ids (earlier, later) of the first label that occurs twice; None if all labels differ."""
        ordered = self._hashes()
        ordered.sort()
        if not (ordered[1:] == ordered[:-1]).any():
            return None
        first = self.find(self)
        second = np.flatnonzero(first != np.arange(len(self)))
        return (int(first[second[0]]), int(second[0])) if len(second) else None

    @cached_property
    def _index(self) -> tuple[npt.NDArray[np.uint64], Ids]:
        """The sorted hashes of the labels, and the id that belongs to each hash; equal hashes are sorted by id."""
        hashes = self._hashes()
        order = np.argsort(hashes)
        ordered = hashes[order]
        if (ordered[1:] == ordered[:-1]).any():
            order = np.argsort(hashes, kind="stable")
        return ordered, order.astype(np.int32) if len(self) < 2**31 else order

    def find(self, labels: Sequence[Any] | npt.NDArray[Any]) -> Ids:
        """See `Labels.find`."""
        is_text = None
        if not isinstance(labels, TextLabels):
            strings = list(labels)
            try:
                labels = TextLabels.of(strings)
            except TypeError:  # one of the labels is no string
                is_text = np.array([isinstance(label, str) for label in strings], dtype=bool)
                labels = TextLabels.of([label if isinstance(label, str) else "" for label in strings])
        hashes, ids = self._index
        wanted = labels._hashes_of(np.arange(len(labels)))
        found = np.full(len(labels), -1, dtype=np.int64)
        places, order = np.empty(len(wanted), dtype=np.int64), np.argsort(wanted)
        places[order] = np.searchsorted(hashes, wanted[order])  # several times faster with sorted hashes
        rows = np.arange(len(labels)) if is_text is None else np.flatnonzero(is_text)
        while len(rows):  # one iteration, unless different labels have the same hash
            rows = rows[places[rows] < len(hashes)]
            rows = rows[hashes[places[rows]] == wanted[rows]]
            candidates = ids[places[rows]].astype(np.int64)
            are_equal = self._equals(candidates, labels, rows)
            found[rows[are_equal]] = candidates[are_equal]
            rows = rows[~are_equal]
            places[rows] += 1
        return found

    def _equals(self, ids: Ids, other: TextLabels, other_ids: Ids) -> npt.NDArray[np.bool_]:
        """Return for each i whether label ``ids[i]`` equals label ``other_ids[i]`` of `other`, bool, shape (ids,)."""
        lengths = self._offsets[1:][ids] - self._offsets[ids]
        are_equal = lengths == other._offsets[1:][other_ids] - other._offsets[other_ids]
        for row in np.flatnonzero(are_equal & (lengths > LONG)):
            are_equal[row] = self._text_of(ids[row]) == other._text_of(other_ids[row])
        rows, place = np.flatnonzero(are_equal & (lengths <= LONG)), 0
        while len(rows):
            are_equal[rows] = self._words(ids[rows], place) == other._words(other_ids[rows], place)
            place += WORD
            rows = rows[are_equal[rows] & (lengths[rows] > place)]
        return np.asarray(are_equal)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (bytes(self.text), self._offsets)  # without the index, which is larger than the text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TextLabels):
            return np.array_equal(self._offsets, other._offsets) and self._padded == other._padded
        return super().__eq__(other)

    __hash__ = Labels.__hash__


def as_label_sequence(labels: Sequence[str]) -> Labels:
    """Return labels as `NumberLabels` if the label of each id is the id itself, as `TextLabels` otherwise.

    Parameters
    ----------
    labels : sequence of str
        A `Labels`, a list or a tuple.
    """
    if isinstance(labels, NumberLabels):
        return labels
    numbers = NumberLabels(len(labels))
    if not len(labels) or (labels[0] == "0" and labels[-1] == numbers[-1] and all(map(operator.eq, numbers, labels))):
        return numbers
    return labels if isinstance(labels, TextLabels) else TextLabels.of(labels)
