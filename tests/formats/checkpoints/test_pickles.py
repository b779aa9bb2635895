"""The interpreter of pickles: plain data of every protocol comes out; nothing is called; bombs end in a DataError."""

import collections
import pickle
import pickletools
import struct
import time

import grids
import pytest
from torch_zip import nothing_runs

from kgeval.errors import DataError
from kgeval.formats.checkpoints import pickles
from kgeval.formats.checkpoints.pickles import Fault, Meanings, Stub, read_pickle

PLAIN = {
    "numbers": [0, 1, -1, 255, 256, -70_000, 2**31, -(2**31), 2**63, -(10**30), 1.5, -0.0, float("inf"), 2 + 3j],
    "constants": [True, False, None],
    "texts": ["", "a", "é\n\t'\"\\", "x" * 300, "\u2028", "\U0001f600"],
    "bytes": [b"", b"abc", bytes(range(256)), b"y" * 300, bytearray(b"array")],
    "containers": [[], {}, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {1, 2}, frozenset({3}), {"a": {(1, "b"): [{}]}}],
    "collections": [collections.OrderedDict(b=1, a=2), collections.defaultdict(list, c=3)],
}
ESCAPES = ("os.system", "posix.system", "builtins.eval", "builtins.exec", "builtins.getattr", "builtins.__import__")
ESCAPES += ("importlib.import_module", "subprocess.Popen", "operator.attrgetter", "functools.partial", "types.CodeType")
ESCAPES += ("kgeval.formats.checkpoints.pickles.read_pickle", "torch.load", "numpy.load", "marshal.loads")


def faults(content, *words):
    """The message of the DataError that a pickle ends in; it names file, byte and opcode, and holds `words`."""
    with pytest.raises(DataError, match=r"^file\.pt, byte [\d,]+ \(.+\): .") as caught:
        read_pickle(content, "file.pt")
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("protocol", range(6))
def test_plain_data_of_every_protocol(protocol):
    """The same as `pickle` gives; shared parts stay shared."""
    shared = [1]
    content = pickle.dumps({**PLAIN, "first": shared, "second": shared}, protocol)
    read = read_pickle(content, "file.pt")
    assert read["first"] is read["second"]
    assert {name: read[name] for name in PLAIN} == PLAIN
    assert [type(number) for number in read["numbers"]] == [type(number) for number in PLAIN["numbers"]]
    assert str(read["numbers"][11]) == "-0.0"
    assert type(read["collections"][0]) is type(read["collections"][1]) is dict
    assert list(read["collections"][0]) == ["b", "a"]


def test_every_opcode_is_read_or_refused_by_name():
    """A handler per opcode of `pickletools`; five reach outside of the pickle."""
    refused = {"EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER"}
    names = {opcode.name for opcode in pickletools.opcodes}
    assert set(pickles.NAME_OF_OPCODE.values()) == names
    assert {pickles.NAME_OF_OPCODE[code] for code in pickles.KNOWN} == names - refused - {"STOP"}
    for content in (b"\x82\x01.", b"\x83\x01\x00.", b"\x84\x01\x00\x00\x00.", b"\x97.", b"N\x98."):
        faults(content, "this opcode is not read")
    faults(b"\x80\x06N.", "protocol 6")
    faults(b"Pname\n.", "outside of the pickle")
    faults(b"NQ.", "outside of the pickle")


def test_text_opcodes_of_old_protocols():
    assert read_pickle(b"(I1\nI00\nI01\nL-5L\nF1.5\nS'a\\n'\nVa\\u00e9\nlp0\n.", "x") == [
        1,
        False,
        True,
        -5,
        1.5,
        "a\n",
        "aé",
    ]
    assert read_pickle(b"(U\x02abT\x01\x00\x00\x00\xffd.", "x") == {"ab": b"\xff"}
    assert read_pickle(b"]p5\n0]g5\n(K\x01K\x02ea.", "x") == [[1, 2]]
    for line in (
        b"Ix\n.",
        b"I1_0\n.",
        b"L\n.",
        b"Fx\n.",
        b"Sabc\n.",
        b"S'\\xzz'\n.",
        b"p-1\n.",
        b"I" + b"9" * 5000 + b"\n.",
    ):
        faults(b"N" + line if line[:1] == b"p" else line)


def test_a_list_may_contain_itself():
    loop = read_pickle(b"]\x94h\x00a.", "x")
    assert loop[0] is loop
    pair = read_pickle(b"]\x94}\x94(Vlist\nh\x00Vself\nh\x01ua.", "x")
    assert pair[0]["list"] is pair
    assert pair[0]["self"] is pair[0]


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_is_called(name):
    """REDUCE, NEWOBJ, OBJ, INST, NEWOBJ_EX and BUILD of a dangerous name: stubs that hold the arguments."""
    module, _, function = name.rpartition(".")
    named = f"c{module}\n{function}\n".encode()
    stacked = b"\x8c%c%b\x8c%c%b\x93" % (len(module), module.encode(), len(function), function.encode())
    word = b"X\x07\x00\x00\x00echo hi"
    calls = (
        named + b"(" + word + b"tR.",
        stacked + word + b"\x85R.",
        named + word + b"\x85\x81.",
        b"(" + named + word + b"o.",
        b"(" + word + f"i{module}\n{function}\n.".encode(),
    )
    with nothing_runs():
        called = [read_pickle(content, "x") for content in calls]
        with_keywords = read_pickle(named + word + b"\x85}X\x03\x00\x00\x00keyNs\x92.", "x")
        with_state = read_pickle(named + b")R}(X\x0c\x00\x00\x00__setstate__" + named + word + b"Nub.", "x")
        with_content = read_pickle(named + b")\x81(K\x01K\x02e(" + word + b"Nu.", "x")
        named_only = read_pickle(named + b".", "x")
        called_twice = read_pickle(named + b")R" + word + b"\x85R.", "x")
    for stub in called:
        assert (type(stub), stub.name, stub.arguments, stub.is_reference) == (Stub, name, ("echo hi",), False)
    assert with_keywords.arguments == ("echo hi", {"key": None})
    assert with_state.state["__setstate__"].name == name
    assert (with_content.items, with_content.entries, with_content.arguments) == ([1, 2], {"echo hi": None}, ())
    assert (named_only.name, named_only.is_reference) == (name, True)
    function, arguments = called_twice.arguments
    assert (called_twice.name, function.name, arguments) == ("()", name, ("echo hi",))


def test_attributes_of_names_are_names():
    """``getattr(os.path, "system")`` is the name os.path.system; of anything else it stays a stub."""
    with nothing_runs():
        nested = read_pickle(b"cbuiltins\ngetattr\n(cos\npath\nX\x06\x00\x00\x00systemtR.", "x")
        other = read_pickle(b"c__builtin__\ngetattr\n(NX\x01\x00\x00\x00atR.", "x")
        made = read_pickle(
            b"ccopy_reg\n_reconstructor\n(ca\nB\nc__builtin__\nobject\nNtR}X\x01\x00\x00\x00kK\x05sb.", "x"
        )
        new = read_pickle(b"ccopyreg\n__newobj__\n(ca\nB\nK\x01tR.", "x")
    assert (nested.name, nested.is_reference) == ("os.path.system", True)
    assert (other.name, other.arguments) == ("builtins.getattr", (None, "a"))
    assert (made.name, made.arguments, made.state) == ("a.B", (), {"k": 5})
    assert (new.name, new.arguments) == ("a.B", (1,))


def test_calls_of_what_is_no_name():
    faults(b"])R.", "calls a list")
    faults(b"cos\nsystem\nNR.", "calls os.system with None instead of a tuple")
    faults(b"cos\nsystem\nN\x81.", "instead of a tuple")
    faults(b"cos\nsystem\n)N\x92.", "a tuple and a dict")
    faults(b"(o.", "needs a class")
    faults(b"K\x01K\x02\x93.", "a module and a name")


def test_state_belongs_to_objects():
    """BUILD on a class, on a list or twice is refused; on a dict it sets attributes, which are left out."""
    faults(b"cos\nsystem\n}b.", "sets the state of os.system")
    faults(b"]}b.", "sets the state of a list")
    faults(b"ca\nB\n)R}b}b.", "sets the state of a.B")
    assert read_pickle(b"ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00aNu}b.", "x") == {"a": None}


def test_names_that_the_caller_knows():
    """A known call, a known state (also where the memo refers to the object), and a Fault of theirs."""

    def number(stub, state):
        if state != {"k": 5}:
            raise Fault("an odd state")
        return 5

    meanings = Meanings({"a.pair": lambda arguments: arguments * 2}, {"a.B": number}, lambda identifier: [identifier])
    assert read_pickle(b"ca\npair\nK\x01\x85R.", "x", meanings) == (1, 1)
    assert read_pickle(b"]\x94(ca\nB\n)R\x94}X\x01\x00\x00\x00kK\x05sbh\x01e.", "x", meanings) == [5, 5]
    assert read_pickle(b"K\x07Q.", "x", meanings) == [7]
    with pytest.raises(DataError, match=r"^x, byte 8 \(BUILD\): an odd state$"):
        read_pickle(b"ca\nB\n)R}b.", "x", meanings)


def test_underflow_and_leftovers():
    for content in (
        b".",
        b"0.",
        b"a.",
        b"Na.",
        b"R.",
        b"NR.",
        b"b.",
        b"s.",
        b"\x85.",
        b"N\x86.",
        b"N\x87.",
        b"2.",
        b"\x94.",
        b"\x93.",
    ):
        faults(content)
    for content in (b"t.", b"1.", b"e.", b"u.", b"d.", b"l.", b"o.", b"\x90.", b"\x91.", b"0."):
        faults(content, "" if content == b"0." else "mark")
    faults(b"NN.", "one object must be left, got 2")
    faults(b"(N.", "one object must be left")
    faults(b"N.N", "1 bytes follow the end")
    faults(b"h\x05.", "object 5 of the memo")
    faults(b"K\x01(K\x02K\x03e.", "appends to 1, which is no list")
    faults(b"](K\x02K\x03u.", "of a list")
    faults(b"}(K\x02u.", "sets 1 keys and values")
    faults(b"](K\x02\x90.", "no set")
    faults(b"", "ends without STOP")
    faults(b"\xff", "no opcode of a pickle")


def test_truncated_pickles():
    """A prefix of a pickle is refused, in each protocol."""
    for protocol in range(6):
        content = pickle.dumps(PLAIN, protocol)
        for end in range(0, len(content), grids.size(16, 5)):
            faults(content[:end])


def test_lengths_that_lie():
    """A huge length is compared with the rest of the pickle before anything is reserved."""
    for opcode, size in ((b"\x8b", "<i"), (b"X", "<I"), (b"B", "<I"), (b"T", "<i")):
        faults(opcode + struct.pack(size, 2**31 - 1) + b"abc.")
    for opcode in (b"\x8d", b"\x8e", b"\x96", b"\x95"):
        for size in (2**31, 2**62, 2**63, 2**64 - 1):
            faults(opcode + struct.pack("<Q", size) + b"abc.", f"{size:,} bytes")
    faults(b"\x8b" + struct.pack("<I", 5000) + b"\x01" * 5000 + b".", "an integer of 5,000 bytes")
    faults(b"c" + b"a" * 10_000 + b"\nb\n.", "a line of at most")
    faults(b"V" + b"a" * 10_000, "ends before a newline")
    faults(b"X\x02\x00\x00\x00\xff\xfe.", "a text in utf-8")


def test_billion_laughs():
    """Lists of ten times the same list: the result is small, and looking for deep nesting takes linear time."""
    content = b"]\x94" + b"".join(b"0](" + b"h%c" % level * 10 + b"e\x94" for level in range(40)) + b"."
    begin = time.perf_counter()
    read = read_pickle(content, "x")
    assert time.perf_counter() - begin < 1
    assert len(read) == 10
    assert all(part is read[0] for part in read)


def test_hashes_take_no_long_time():
    """Nested tuples as keys (their hash takes exponential time) and keys of the same hash are refused."""
    begin = time.perf_counter()
    faults(b"}N\x85" + b"2\x86" * 100 + b"Ns.", "a key or an item of a set must be a scalar")
    faults(b"(N\x85" + b"2\x86" * 100 + b"\x91.", "must be a scalar")
    step = 2**61 - 1  # int hashes are remainders of this
    keys = [b"\x8a\x0c" + (step * k).to_bytes(12, "little") for k in range(grids.size(30_000, 100_000))]
    faults(b"}(" + b"N".join(keys) + b"Nu.", "keys have the same hash")
    faults(b"(" + b"".join(keys) + b"\x91.", "keys have the same hash")
    assert time.perf_counter() - begin < 2
    many = b"}(" + b"".join(b"J" + struct.pack("<i", k) + b"N" for k in range(-500, 500)) + b"u."
    assert len(read_pickle(many, "x")) == 1000


def test_calls_of_the_same_arguments_copy_little():
    """A few bytes repeat ``set(items)`` or ``encode(text)``; all copies together are no longer than the pickle."""
    items = b"](" + b"".join(b"M" + struct.pack("<H", k) for k in range(2000)) + b"e\x94"
    text = b"X" + struct.pack("<I", 8000) + b"a" * 8000 + b"\x94X\x06\x00\x00\x00latin1\x94"
    for head, call in (
        (items, b"cbuiltins\nset\nh\x00\x85R0"),
        (items, b"cbuiltins\nfrozenset\nh\x00\x85R0"),
        (items, b"ccollections\nOrderedDict\nh\x00\x85R0"),
        (text, b"c_codecs\nencode\nh\x00h\x01\x86R0"),
        (b"(ca\nB\n" + b"N" * 8000 + b"t\x94", b"ccopyreg\n__newobj__\nh\x00R0"),
        (b"(" + b"N" * 8000 + b"t\x94}NNs\x94", b"ca\nB\nh\x00h\x01\x920"),
    ):
        faults(head + call * 1000 + b".", "calls copy more data than the pickle holds")


def test_names_are_short_and_few(monkeypatch):
    long_name = b"X\xe8\x03\x00\x00" + b"a" * 1000
    faults(b"X\x01\x00\x00\x00a" + long_name + b"\x93.", "a name of at most 500 characters, got 1,002")
    faults(b"cbuiltins\ngetattr\nca\nB\n" + long_name + b"\x86R.", "a name of at most 500 characters")
    monkeypatch.setattr(pickles, "MAX_NAMES", 2)
    faults(b"ca\nB\nca\nC\nca\nD\n\x87.", "more than 2 classes and functions")
    assert read_pickle(b"ca\nB\nca\nC\nca\nB\n\x87.", "x")[2].name == "a.B"


def test_keys():
    """Scalars, names and flat tuples are keys; one key is set once; containers are none."""
    assert read_pickle(b"}(NK\x01K\x01\x85K\x02X\x01\x00\x00\x00aK\x03G" + b"\x00" * 8 + b"K\x04u.", "x") == {
        None: 1,
        (1,): 2,
        "a": 3,
        0.0: 4,
    }
    for key in (b"]", b"}", b"\x8f", b"]\x85", b"(" + b"N" * 65 + b"t"):
        faults(b"}" + key + b"Ns.")
        faults(b"\x8f(" + key + b"\x90.")
    faults(b"}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00aK\x02u.", "sets the key 'a' twice")
    faults(b"}K\x01Ns\x88Ns.", "sets the key True twice")
    faults(b"ccollections\nOrderedDict\n((K\x01Nt(K\x01Nt\x86\x85R.")


def test_deep_nesting():
    """Too deep is refused in every form: marks, lists, tuples, stubs, through the memo; at the limit it is read."""
    deep = grids.size(5_000, 20_000)
    faults(b"(" * deep + b".", "nested more than 256 levels")
    faults(b"]" * deep + b"a" * (deep - 1) + b".", "nested more than 256 levels")
    faults(b")" + b"\x85" * deep + b".", "nested more than 256 levels")
    faults(b"ca\nB\n\x94)R" + b"h\x00)\x81" * deep + b"b" * deep + b".", "nested more than 256 levels")
    links = (b"]r%ba0j%b" % (struct.pack("<I", k + 1), struct.pack("<I", k + 1)) for k in range(deep))
    faults(b"]\x94" + b"".join(links) + b"0h\x00.", "nested more than 256 levels")  # each list is appended when empty
    faults(b"](" + b"]" * 257 + b"a" * 256 + b"e.", "nested more than 256 levels")
    read = read_pickle(b"]" * 256 + b"a" * 255 + b".", "x")
    for _ in range(255):
        (read,) = read
    assert read == []


def test_limits(monkeypatch):
    """Each limit ends in a DataError that names it."""
    content = pickle.dumps(PLAIN)
    for name, words in (
        ("MAX_BYTES", "bytes of a pickle are read"),
        ("MAX_OPCODES", "opcodes"),
        ("MAX_OBJECTS", "containers and objects"),
        ("MAX_MEMO", "objects in the memo"),
        ("MAX_INT_BYTES", "an integer of"),
    ):
        with monkeypatch.context() as limited:
            limited.setattr(pickles, name, 5)
            with pytest.raises(DataError, match=words):
                read_pickle(content, "x")
        assert read_pickle(content, "x") == PLAIN


def test_descriptions_are_short_and_printable():
    """Messages quote names of the file: cut, and in ASCII, also if the names cannot be encoded."""
    surrogate = b"\x8c\x03\xed\xb3\xbf"  # U+DCFF, which no terminal can print
    message = faults(b"cos\n" + "sy\u202estem".encode() + b"\n}b.")
    assert message.isascii()
    assert faults(surrogate + b")R.").isascii()
    assert len(faults(b"X" + struct.pack("<I", 10**6) + b"a" * 10**6 + b")R.")) < 500
