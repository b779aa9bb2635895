"""An interpreter of pickles that runs no code: classes and functions that a pickle names become inert `Stub` objects.

A pickle is a program of about 70 opcodes for a machine with a stack and a memo. `read_pickle` executes the opcodes that
build plain data (dicts, lists, texts, numbers, ...). Where ``pickle`` would import a name, the machine makes a `Stub`
with this name; where ``pickle`` would call it, the machine makes a `Stub` with the arguments of the call. No name of a
file is ever imported or called. A few names stand for plain data, for example ``collections.OrderedDict``. Functions of
kgeval build these data from the arguments of the call: this module lists some of these functions, and the caller adds
others (`Meanings`).

A small pickle can make a reader compute for hours, fill the memory, or break later recursive functions. Therefore:

- the ``MAX_`` constants of this module limit bytes, opcodes, objects, the memo, integers and the depth of nesting;
- keys of dicts and items of sets must be scalars or tuples of scalars, because the hash of nested tuples that share
  their parts takes exponential time; many keys with equal hashes are refused too;
- a key may be set only once, so that two parts of a file cannot have the same name;
- a few bytes can repeat a call that copies its arguments, such as ``set([...])``; all calls together may copy at most
  as many items as the pickle holds;
- extension codes, buffers outside of the pickle, and a pickle that ends too early or too late are refused.

Objects may be shared and may contain themselves, as in every pickle; functions that walk over the result must allow for
this.
"""

from __future__ import annotations

import itertools
import pickletools
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgeval.base.checks import cut_label
from kgeval.errors import DataError

MAX_BYTES = 512 * 2**20  # of a pickle
MAX_OPCODES = 20_000_000  # 4.6 million entity labels take 9.2 million
MAX_OBJECTS = 1_000_000  # lists, dicts, sets, tuples and stubs; an empty set is 1 byte in a pickle and 216 in memory
MAX_MEMO = 10_000_000  # objects that later opcodes can refer to
MAX_DEPTH = 256  # containers inside containers; recursive functions need less than Python's 1,000 levels
MAX_INT_BYTES = 1024  # an int of more than about 1,700 bytes cannot be shown in decimal digits
MAX_DIGITS = 2500  # of an int that is written in decimal digits
MAX_NAME = 500  # characters of the name of a class or function
MAX_NAMES = 100_000  # classes and functions
MAX_KEY_ITEMS = 64  # scalars in a tuple that is a key
MAX_EQUAL_HASHES = 64  # unequal keys of one dict with the same hash
SMALL_INTS = 2**60  # unequal ints below this have unequal hashes
SAVE_LESS = "; save fewer objects in the file, for example only the tensors"
TOO_DEEP = f"containers are nested more than {MAX_DEPTH} levels deep"
SCALARS = (str, bytes, int, float, complex, type(None))
MODULES_OF_PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
NAME_OF_OPCODE = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}


class Fault(Exception):
    """An error in a pickle; `read_pickle` catches it, adds the place in the file and raises a DataError."""


class Stub:
    """An object of a class, or the result of a function, that a pickle names; nothing was imported or called.

    Parameters
    ----------
    name : str
        The module and the name of the class or function: ``"pykeen.models.unimodal.trans_e.TransE"``. ``"()"`` if the
        pickle calls another stub; then `arguments` are this stub and the tuple of arguments.
    arguments : tuple
        The arguments of the call that would make the object. Keyword arguments are a dict at the end.
    is_reference : bool
        Whether the pickle contains only the class or function itself, such as ``torch.float32``, and no call.

    Attributes
    ----------
    state : object
        The argument that the pickle passes to ``__setstate__``, usually a dict of attributes; None if there is no such
        call.
    items : list
        The items that the pickle appends, if the class is a list.
    entries : dict
        The entries that the pickle sets, if the class is a dict.

    Examples
    --------
    >>> Stub("torch.device", ("cpu",))
    Stub('torch.device')
    """

    __slots__ = ("arguments", "entries", "is_reference", "items", "name", "state")

    def __init__(self, name: str, arguments: tuple[Any, ...] = (), is_reference: bool = False) -> None:
        self.name = name
        self.arguments = arguments
        self.is_reference = is_reference
        self.state: Any = None
        self.items: list[Any] = []
        self.entries: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"Stub({cut_label(self.name)!a})"


# The name of a stub for the result of calling another stub; `arguments`: the called stub and the tuple of arguments.
CALL = "()"
CONTAINERS = frozenset({list, dict, tuple, set, frozenset, Stub})


def _no_persistent_id(content: Any) -> Any:
    """Refuse a reference to an object outside of the pickle."""
    raise Fault("refers to an object outside of the pickle")


@dataclass(frozen=True)
class Meanings:
    """The meanings of names in a pickle, given by the caller of `read_pickle`.

    Each function checks its input and raises a `Fault` if the input is wrong. If the function returns NotImplemented,
    the object becomes a stub.

    Parameters
    ----------
    calls : mapping of str to function
        For the name of a class or function: takes the tuple of arguments and returns the object.
    states : mapping of str to function
        For the name of a stub: takes the stub and its state, and returns the object that replaces the stub.
    persistent : function
        Takes the id of an object outside of the pickle and returns the object.
    """

    calls: Mapping[str, Callable[[tuple[Any, ...]], Any]] = field(default_factory=dict)
    states: Mapping[str, Callable[[Stub, Any], Any]] = field(default_factory=dict)
    persistent: Callable[[Any], Any] = _no_persistent_id


def read_pickle(content: bytes, where: str, meanings: Meanings | None = None) -> Any:
    """Read a pickle, and return its content as plain data and stubs.

    Parameters
    ----------
    content : bytes
        The pickle, of any protocol from 0 to 5.
    where : str
        The file, and the part of the file, for messages.
    meanings : Meanings, optional
        The names that do not become stubs.

    Returns
    -------
    object
        Built from dict, list, tuple, set, frozenset, str, bytes, int, float, complex, bool, None, Stub and the objects
        that the functions of `meanings` return. An OrderedDict or defaultdict becomes a dict, a bytearray becomes
        bytes. The parts may be shared between containers, and containers may contain themselves.

    Raises
    ------
    DataError
        If the bytes are not a complete pickle, or exceed a limit of this module, or if an opcode cannot be executed
        without running code; the error names the position.

    Examples
    --------
    >>> read_pickle(b"]q\\x00(K\\x01K\\x02e.", "example")
    [1, 2]
    >>> stub = read_pickle(b"cos\\nsystem\\n(Vrm -r /\\ntR.", "example")
    >>> stub, stub.arguments
    (Stub('os.system'), ('rm -r /',))
    """
    if len(content) > MAX_BYTES:
        raise DataError(
            f"{where}: {len(content):,} bytes, but at most {MAX_BYTES:,} bytes of a pickle are read{SAVE_LESS}"
        )
    machine = _Machine(content, meanings or Meanings())
    try:
        return machine.run()
    except Fault as fault:
        raise DataError(f"{where}, byte {machine.start:,} ({machine.opcode()}): {fault}") from None


def describe(value: Any) -> str:
    """Return a short description of an object of a pickle, for messages.

    Examples
    --------
    >>> describe("abc"), describe([1]), describe(Stub("os.system"))
    ("'abc'", 'a list', 'os.system')
    """
    if isinstance(value, Stub):
        return ascii(cut_label(value.name))[1:-1]
    if isinstance(value, str):
        return ascii(cut_label(value))
    if isinstance(value, (int, float, type(None))):
        return cut_label(str(value))
    return f"a {type(value).__name__}"


def check_depth(root: Any) -> None:
    """Raise a Fault if containers are nested more than `MAX_DEPTH` levels deep.

    A container that contains itself, directly or through others, counts only once on each path from `root`.
    """
    depths: dict[int, int] = {id(root): 0}  # levels below and including a container; 0 until they are counted
    path = [_Visit(root)]
    while path:
        visit = path[-1]
        child = next(visit.children, None)
        if child is None:
            path.pop()
            depths[id(visit.node)] = visit.levels + 1
            if path:
                path[-1].levels = max(path[-1].levels, visit.levels + 1)
        elif id(child) in depths:
            visit.levels = max(visit.levels, depths[id(child)])
        else:
            depths[id(child)] = 0
            path.append(_Visit(child))
        if len(path) > MAX_DEPTH or visit.levels >= MAX_DEPTH:
            raise Fault(TOO_DEEP)


class _Visit:
    """A container on the path that `check_depth` currently follows."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.children = (child for child in _parts(node) if type(child) in CONTAINERS)
        self.levels = 0  # levels below `node`, as far as its children are counted


def _parts(node: Any) -> Iterable[Any]:
    """Return the objects that a container holds; an empty result if `node` is not a container."""
    if isinstance(node, dict):
        return itertools.chain(node.values(), node)
    if isinstance(node, Stub):
        return (node.arguments, node.state, node.items, node.entries)
    return node if isinstance(node, (list, tuple, set, frozenset)) else ()


def _check_key(key: Any) -> None:
    """Raise a Fault if an object cannot be a key, or if computing its hash could take long."""
    if isinstance(key, (*SCALARS, Stub)):
        return
    if isinstance(key, (tuple, frozenset)):
        if len(key) <= MAX_KEY_ITEMS and all(isinstance(item, (*SCALARS, Stub)) for item in key):
            return
        raise Fault(f"a key or an item of a set must be a scalar, or a tuple of at most {MAX_KEY_ITEMS} scalars")
    raise Fault(f"{describe(key)} cannot be a key or an item of a set")


def _pairs(parts: Any) -> list[tuple[Any, Any]] | None:
    """Return the pairs of a list if all its items are pairs, else None."""
    if not all(isinstance(part, (list, tuple)) and len(part) == 2 for part in parts):
        return None
    return [(part[0], part[1]) for part in parts]


class _Machine:
    """The stack, the marks and the memo of one pickle; the method ``_x`` executes the opcode X of `pickletools`."""

    def __init__(self, content: bytes, meanings: Meanings) -> None:
        self.content = content
        self.position = 0
        self.start = 0  # position of the current opcode
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []  # the stacks below each open mark
        self.memo: dict[int, Any] = {}
        self.places: dict[int, list[int]] = {}  # the memo indices of each stub, by its id()
        self.references: dict[str, Stub] = {}
        self.objects = 0
        self.copied = 0  # bytes, characters and items that calls have copied
        self.equal_hashes: Counter[tuple[int, int]] = Counter()  # by container and hash
        self.meanings = meanings
        self.calls: dict[str, Callable[[tuple[Any, ...]], Any]] = {
            "collections.OrderedDict": self._ordered_dict,
            "collections.defaultdict": self._default_dict,
            "builtins.set": self._set_of,
            "builtins.frozenset": self._frozenset_of,
            "builtins.bytes": self._bytes_of,
            "builtins.bytearray": self._bytes_of,
            "builtins.complex": self._complex_of,
            "builtins.getattr": self._attribute,
            "_codecs.encode": self._encoded,
            "copyreg._reconstructor": self._reconstructed,
            "copyreg.__newobj__": self._new_object,
            **meanings.calls,
        }

    def run(self) -> Any:
        """Execute the opcodes up to STOP, and return the only object that is then on the stack."""
        content, handlers, size = self.content, HANDLERS, len(self.content)
        for _ in range(MAX_OPCODES):
            self.start = start = self.position
            if start >= size:
                raise Fault("the pickle ends without STOP; the file is cut off or damaged")
            code = content[start]
            if code == STOP:
                break
            self.position = start + 1
            handlers[code](self)
        else:
            raise Fault(f"more than {MAX_OPCODES:,} opcodes{SAVE_LESS}")
        self.position += 1
        return self._result()

    def opcode(self) -> str:
        """Return the name of the current opcode."""
        code = self.content[self.start : self.start + 1]
        return NAME_OF_OPCODE.get(code[0], f"byte {code[0]:#04x}") if code else "the end"

    def _result(self) -> Any:
        """Return the only object on the stack.

        Raise a Fault if the stack holds no object or several, or if bytes follow the end of the pickle.
        """
        if self.marked or len(self.stack) != 1:
            raise Fault(f"one object must be left, got {len(self.stack) + sum(map(len, self.marked))}")
        if self.position != len(self.content):
            raise Fault(f"{len(self.content) - self.position:,} bytes follow the end of the pickle")
        result = self.stack.pop()
        check_depth(result)
        return result

    # Bytes, stack and memo.

    def _take(self, size: int) -> bytes:
        """Return the next bytes of the pickle."""
        start = self.position
        taken = self.content[start : start + size]
        if len(taken) != size:
            raise Fault(f"needs {size:,} bytes, but {len(taken):,} are left")
        self.position = start + size
        return taken

    def _number(self, size: int) -> int:
        """Return the next bytes as an unsigned integer."""
        return int.from_bytes(self._take(size), "little")

    def _byte(self) -> int:
        """Return the next byte as an unsigned integer."""
        try:
            byte = self.content[self.position]
        except IndexError:
            raise Fault("needs 1 byte, but none is left") from None
        self.position += 1
        return byte

    def _line(self, limit: int = MAX_DIGITS) -> bytes:
        """Return the bytes up to the next newline, without it."""
        end = self.content.find(b"\n", self.position, self.position + limit + 1)
        if end < 0:
            raise Fault(f"needs a line of at most {limit:,} bytes")
        line = self.content[self.position : end]
        self.position = end + 1
        return line

    def _pop(self) -> Any:
        """Return the top of the stack and remove it."""
        if not self.stack:
            raise Fault("needs an object on the stack, but the stack is empty")
        return self.stack.pop()

    def _top(self) -> Any:
        """Return the top of the stack."""
        if not self.stack:
            raise Fault("needs an object on the stack, but the stack is empty")
        return self.stack[-1]

    def _pop_mark(self) -> list[Any]:
        """Return the objects above the last mark and remove them and the mark."""
        if not self.marked:
            raise Fault("needs a mark, but there is none")
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def _push_object(self, value: Any) -> None:
        """Push a new container or stub and count it."""
        self.objects += 1
        if self.objects > MAX_OBJECTS:
            raise Fault(f"more than {MAX_OBJECTS:,} containers and objects{SAVE_LESS}")
        self.stack.append(value)

    def _remember(self, index: int) -> None:
        """Put the top of the stack into the memo."""
        value, memo = self._top(), self.memo
        if len(memo) >= MAX_MEMO and index not in memo:
            raise Fault(f"more than {MAX_MEMO:,} objects in the memo{SAVE_LESS}")
        memo[index] = value
        if type(value) is Stub and not value.is_reference:
            self.places.setdefault(id(value), []).append(index)

    def _recall(self, index: int) -> None:
        """Push an object of the memo."""
        try:
            self.stack.append(self.memo[index])
        except KeyError:
            raise Fault(f"refers to object {index:,} of the memo, which does not exist") from None

    def _text(self, content: bytes, encoding: str = "utf-8") -> str:
        """Return bytes as a text."""
        try:
            return content.decode(encoding, "surrogatepass" if encoding == "utf-8" else "strict")
        except UnicodeDecodeError:
            raise Fault(f"needs a text in {encoding}, but the bytes are not") from None

    # Stubs, and the items of containers.

    def _reference(self, module: str, name: str) -> Stub:
        """Return the stub of a class or function; the same name always gives the same stub."""
        if len(module) + len(name) >= MAX_NAME:
            raise Fault(f"needs a name of at most {MAX_NAME} characters, got {len(module) + len(name) + 1:,}")
        full = f"{MODULES_OF_PYTHON_2.get(module, module)}.{name}"
        if full not in self.references:
            if len(self.references) >= MAX_NAMES:
                raise Fault(f"more than {MAX_NAMES:,} classes and functions{SAVE_LESS}")
            self.references[full] = Stub(full, is_reference=True)
        return self.references[full]

    def _copy(self, size: int) -> None:
        """Add to the total the size of the arguments that a call copies; raise a Fault if the total is too large."""
        self.copied += size
        if self.copied > len(self.content):
            raise Fault("calls copy more data than the pickle holds; is this an attack?")

    def _construct(self, function: Any, arguments: Any) -> Any:
        """Return the result of a call: plain data if the meaning of the function is known, else a stub."""
        if not isinstance(function, Stub):
            raise Fault(f"calls {describe(function)}, which is no class or function")
        if not isinstance(arguments, tuple):
            raise Fault(f"calls {describe(function)} with {describe(arguments)} instead of a tuple of arguments")
        if not function.is_reference:
            return Stub(CALL, (function, arguments))
        if function.name in self.calls:
            result = self.calls[function.name](arguments)
            if result is not NotImplemented:
                return result
        return Stub(function.name, arguments)

    def _set_entries(self, target: Any, parts: list[Any]) -> None:
        """Set the entries of a dict or a stub: key, value, key, value, ..."""
        entries = target.entries if _is_object(target) else target
        if not isinstance(entries, dict) or len(parts) % 2:
            raise Fault(f"sets {len(parts)} keys and values of {describe(target)}")
        for key, value in zip(parts[::2], parts[1::2], strict=True):
            self._admit(entries, key)
            if key in entries:
                raise Fault(f"sets the key {describe(key)} twice")
            entries[key] = value

    def _add_items(self, target: Any, items: Iterable[Any]) -> Any:
        """Add items to a set and return the set."""
        if not isinstance(target, set):
            raise Fault(f"adds items to {describe(target)}, which is no set")
        for item in items:
            self._admit(target, item)
            target.add(item)
        return target

    def _admit(self, container: dict[Any, Any] | set[Any], key: Any) -> None:
        """Raise a Fault if a key cannot be hashed, or if too many keys of the container have the same hash."""
        if isinstance(key, (str, bytes, Stub)) or (isinstance(key, int) and -SMALL_INTS < key < SMALL_INTS):
            return  # nobody can choose these keys so that their hashes are equal
        _check_key(key)
        place = (id(container), hash(key))
        self.equal_hashes[place] += 1
        if self.equal_hashes[place] > MAX_EQUAL_HASHES:
            raise Fault(f"more than {MAX_EQUAL_HASHES} keys have the same hash")

    def _append(self, target: Any, items: list[Any]) -> None:
        """Append items to a list or a stub."""
        known = target.items if _is_object(target) else target
        if not isinstance(known, list):
            raise Fault(f"appends to {describe(target)}, which is no list")
        known.extend(items)

    # Functions that interpret a call of plain data: each takes the tuple of arguments and returns the data.

    def _ordered_dict(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``OrderedDict()``, or ``OrderedDict([(key, value), ...])`` as Python 2 writes it."""
        if len(arguments) > 1 or not all(isinstance(pairs, (list, tuple)) for pairs in arguments):
            return NotImplemented
        self._copy(sum(map(len, arguments)))
        pairs = _pairs(arguments[0]) if arguments else []
        if pairs is None:
            return NotImplemented
        entries: dict[Any, Any] = {}
        self._set_entries(entries, [part for pair in pairs for part in pair])
        return entries

    def _default_dict(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``defaultdict(factory)``; the factory is left out."""
        return {} if len(arguments) <= 1 else NotImplemented

    def _set_of(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``set()`` or ``set([item, ...])``."""
        if len(arguments) > 1 or not all(isinstance(items, (list, tuple, set, frozenset)) for items in arguments):
            return NotImplemented
        self._copy(sum(map(len, arguments)))
        return self._add_items(set(), arguments[0] if arguments else ())

    def _frozenset_of(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``frozenset([item, ...])``."""
        items = self._set_of(arguments)
        return frozenset(items) if isinstance(items, set) else NotImplemented

    def _bytes_of(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``bytes()``, ``bytearray(b"...")`` or ``bytearray("...", "latin-1")``."""
        if not arguments:
            return b""
        if len(arguments) == 1 and isinstance(arguments[0], bytes):
            return arguments[0]
        return self._encoded(arguments)

    def _encoded(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``encode("...", "latin1")``, the form in which protocols 0 to 2 write bytes."""
        match arguments:
            case (str() as text, str("latin1" | "latin-1")):
                pass
            case _:
                return NotImplemented
        self._copy(len(text))
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            raise Fault("needs bytes as a text of latin-1, got other characters") from None

    def _complex_of(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``complex(real, imaginary)``."""
        if len(arguments) != 2 or not all(type(part) is float for part in arguments):
            return NotImplemented
        return complex(*arguments)

    def _attribute(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``getattr(Outer, "Inner")``: a nested class or a method."""
        match arguments:
            case (Stub(is_reference=True) as outer, str() as name):
                return self._reference(outer.name, name)
        return NotImplemented

    def _reconstructed(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``_reconstructor(Class, object, None)``, the form in which protocols 0 and 1 write an object."""
        match arguments:
            case (Stub(is_reference=True) as kind, Stub(is_reference=True), state):
                return Stub(kind.name, () if state is None else (state,))
        return NotImplemented

    def _new_object(self, arguments: tuple[Any, ...]) -> Any:
        """Interpret ``__newobj__(Class, argument, ...)``, which makes an object like the opcode NEWOBJ."""
        self._copy(len(arguments))
        return self._construct(arguments[0], arguments[1:]) if arguments else NotImplemented

    # The opcodes.

    def _proto(self) -> None:
        protocol = self._byte()
        if protocol > 5:
            raise Fault(f"protocol {protocol}, but the protocols 0 to 5 are read")

    def _frame(self) -> None:
        size = self._number(8)
        if size > len(self.content) - self.position:
            raise Fault(f"a frame of {size:,} bytes, but {len(self.content) - self.position:,} are left")

    def _mark(self) -> None:
        if len(self.marked) >= MAX_DEPTH:
            raise Fault(TOO_DEEP)
        self.marked.append(self.stack)
        self.stack = []

    def _pop_(self) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self._pop_mark()

    def _pop_mark_(self) -> None:
        self._pop_mark()

    def _dup(self) -> None:
        self.stack.append(self._top())

    def _none(self) -> None:
        self.stack.append(None)

    def _newtrue(self) -> None:
        self.stack.append(True)

    def _newfalse(self) -> None:
        self.stack.append(False)

    def _int(self) -> None:
        line = self._line()
        self.stack.append({b"00": False, b"01": True}[line] if line in (b"00", b"01") else self._decimal(line))

    def _long(self) -> None:
        self.stack.append(self._decimal(self._line().removesuffix(b"L")))

    def _decimal(self, digits: bytes) -> int:
        """Return an integer that is written in decimal digits."""
        if not digits.removeprefix(b"-").isdigit():
            raise Fault("needs an integer in decimal digits")
        return int(digits)

    def _binint(self) -> None:
        self.stack.append(int.from_bytes(self._take(4), "little", signed=True))

    def _binint1(self) -> None:
        self.stack.append(self._byte())

    def _binint2(self) -> None:
        self.stack.append(self._number(2))

    def _long1(self) -> None:
        self._signed(self._byte())

    def _long4(self) -> None:
        self._signed(self._number(4))

    def _signed(self, size: int) -> None:
        """Push the next bytes as a signed integer."""
        if size > MAX_INT_BYTES:
            raise Fault(f"an integer of {size:,} bytes, but at most {MAX_INT_BYTES:,} bytes are read")
        self.stack.append(int.from_bytes(self._take(size), "little", signed=True))

    def _float(self) -> None:
        try:
            self.stack.append(float(self._line()))
        except ValueError:
            raise Fault("needs a number in decimal digits") from None

    def _binfloat(self) -> None:
        self.stack.append(struct.unpack(">d", self._take(8))[0])

    def _string(self) -> None:
        line = self._line().rstrip()
        if len(line) < 2 or line[:1] not in (b"'", b'"') or line[-1:] != line[:1]:
            raise Fault("needs a text in quotes")
        try:
            self._python_2_string(line[1:-1].decode("unicode_escape").encode("latin-1"))
        except UnicodeError:
            raise Fault("needs a text of bytes and escapes") from None

    def _binstring(self) -> None:
        self._python_2_string(self._take(self._number(4)))

    def _short_binstring(self) -> None:
        self._python_2_string(self._take(self._byte()))

    def _python_2_string(self, content: bytes) -> None:
        """Push a ``str`` of Python 2: a text if it is ASCII, else bytes."""
        self.stack.append(content.decode("ascii") if content.isascii() else content)

    def _unicode(self) -> None:
        end = self.content.find(b"\n", self.position)
        if end < 0:
            raise Fault("needs a line, but the pickle ends before a newline")
        self.stack.append(self._text(self._take(end - self.position), "raw-unicode-escape"))
        self.position += 1

    def _short_binunicode(self) -> None:
        self.stack.append(self._text(self._take(self._byte())))

    def _binunicode(self) -> None:
        self.stack.append(self._text(self._take(self._number(4))))

    def _binunicode8(self) -> None:
        self.stack.append(self._text(self._take(self._number(8))))

    def _short_binbytes(self) -> None:
        self.stack.append(self._take(self._byte()))

    def _binbytes(self) -> None:
        self.stack.append(self._take(self._number(4)))

    def _binbytes8(self) -> None:
        self.stack.append(self._take(self._number(8)))

    def _bytearray8(self) -> None:
        self.stack.append(self._take(self._number(8)))

    def _empty_list(self) -> None:
        self._push_object([])

    def _empty_dict(self) -> None:
        self._push_object({})

    def _empty_set(self) -> None:
        self._push_object(set())

    def _empty_tuple(self) -> None:
        self.stack.append(())

    def _list(self) -> None:
        self._push_object(self._pop_mark())

    def _dict(self) -> None:
        parts = self._pop_mark()
        self._push_object({})
        self._set_entries(self.stack[-1], parts)

    def _tuple(self) -> None:
        self._push_object(tuple(self._pop_mark()))

    def _frozenset(self) -> None:
        self._push_object(frozenset(self._add_items(set(), self._pop_mark())))

    def _tuple1(self) -> None:
        self._push_object((self._pop(),))

    def _tuple2(self) -> None:
        last = self._pop()
        self._push_object((self._pop(), last))

    def _tuple3(self) -> None:
        last, middle = self._pop(), self._pop()
        self._push_object((self._pop(), middle, last))

    def _append_(self) -> None:
        item = self._pop()
        self._append(self._top(), [item])

    def _appends(self) -> None:
        items = self._pop_mark()
        self._append(self._top(), items)

    def _setitem(self) -> None:
        value = self._pop()
        key = self._pop()
        self._set_entries(self._top(), [key, value])

    def _setitems(self) -> None:
        parts = self._pop_mark()
        self._set_entries(self._top(), parts)

    def _additems(self) -> None:
        items = self._pop_mark()
        self._add_items(self._top(), items)

    def _put(self) -> None:
        self._remember(self._index())

    def _get(self) -> None:
        self._recall(self._index())

    def _index(self) -> int:
        """Return an index of the memo that is written in decimal digits."""
        line = self._line()
        if not line.isdigit() or len(line) > 18:
            raise Fault("needs an index in decimal digits")
        return int(line)

    def _binput(self) -> None:
        self._remember(self._byte())

    def _long_binput(self) -> None:
        self._remember(self._number(4))

    def _binget(self) -> None:
        self._recall(self._byte())

    def _long_binget(self) -> None:
        self._recall(self._number(4))

    def _memoize(self) -> None:
        self._remember(len(self.memo))

    def _global(self) -> None:
        self.stack.append(self._named())

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise Fault(f"needs a module and a name, got {describe(module)} and {describe(name)}")
        self.stack.append(self._reference(module, name))

    def _named(self) -> Stub:
        """Return the stub of the class or function that the next two lines name."""
        module = self._text(self._line(MAX_NAME))
        return self._reference(module, self._text(self._line(MAX_NAME)))

    def _reduce(self) -> None:
        arguments = self._pop()
        self._push_object(self._construct(self._pop(), arguments))

    def _newobj(self) -> None:
        arguments = self._pop()
        self._push_object(self._construct(self._pop(), arguments))

    def _newobj_ex(self) -> None:
        keywords, arguments = self._pop(), self._pop()
        if not isinstance(keywords, dict) or not isinstance(arguments, tuple):
            raise Fault(f"needs a tuple and a dict of arguments, got {describe(arguments)} and {describe(keywords)}")
        if keywords:
            self._copy(len(arguments))
            arguments = (*arguments, keywords)
        self._push_object(self._construct(self._pop(), arguments))

    def _inst(self) -> None:
        kind = self._named()
        self._push_object(self._construct(kind, tuple(self._pop_mark())))

    def _obj(self) -> None:
        parts = self._pop_mark()
        if not parts:
            raise Fault("needs a class, but there is none above the mark")
        self._push_object(self._construct(parts[0], tuple(parts[1:])))

    def _build(self) -> None:
        state = self._pop()
        target = self._top()
        if isinstance(target, dict):  # attributes of an OrderedDict, such as _metadata of a state dict
            return
        if not _is_object(target) or target.state is not None:
            raise Fault(f"sets the state of {describe(target)}, which is no object or already has a state")
        if target.name in self.meanings.states:
            value = self.meanings.states[target.name](target, state)
            if value is not NotImplemented:
                self.stack[-1] = value
                for index in self.places.pop(id(target), ()):
                    if self.memo[index] is target:
                        self.memo[index] = value
                return
        target.state = state

    def _persid(self) -> None:
        self.stack.append(self.meanings.persistent(self._text(self._line())))

    def _binpersid(self) -> None:
        self._push_object(self.meanings.persistent(self._pop()))


def _is_object(value: Any) -> bool:
    """Return whether a value is the stub of an object, and not of a class or function."""
    return type(value) is Stub and not value.is_reference


def _unknown(machine: _Machine) -> None:
    """Refuse an opcode that cannot be executed, or a byte that is no opcode."""
    code = machine.content[machine.start]
    raise Fault("this opcode is not read" if code in NAME_OF_OPCODE else "no opcode of a pickle; the file is damaged")


def _handler(name: str) -> Callable[[_Machine], None]:
    """Return the function that executes an opcode of `pickletools`."""
    methods = {"POP": "_pop_", "POP_MARK": "_pop_mark_", "APPEND": "_append_"}
    handler: Callable[[_Machine], None] = getattr(_Machine, methods.get(name, f"_{name.lower()}"))
    return handler


STOP = ord(".")
REFUSED = {"EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER"}
KNOWN = {code: _handler(name) for code, name in NAME_OF_OPCODE.items() if name not in REFUSED and code != STOP}
HANDLERS = [KNOWN.get(code, _unknown) for code in range(256)]
