"""Labels in one buffer, and labels that are the ids: against tuples of strings."""

import hashlib
import json
import pickle
import unicodedata

import numpy as np
import pytest

import kgeval as kg
from kgeval.base.files import pack_labels
from kgeval.data.fingerprints import fingerprint_triples
from kgeval.data.labels import LONG, NumberLabels, TextLabels
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.results.files import pack_vocabularies, unpack_vocabularies

# Words of eight bytes are compared at once: characters of one to four bytes, NUL, single surrogates, quotes, spaces.
CHARACTERS = ["a", "b", "Z", "0", " ", "\t", "\x1f", "\0", '"', "\\", "\x7f", "é", "e\u0301", "\u00a0", "\u200b", "€"]
CHARACTERS += ["😀", "\ud800", "\udc00", "\ufeff"]


def random_labels(rng, n, characters=CHARACTERS, longest=20):
    """Return up to n distinct labels, some of them prefixes of others."""
    texts = ["".join(rng.choice(characters, size=rng.integers(0, longest))) for _ in range(n)]
    texts += [text[: len(text) // 2] for text in texts[: n // 4]] + ["http://same/" * 3 + text for text in texts[:9]]
    return [str(text) for text in rng.permutation(np.array(list(dict.fromkeys(texts)), dtype=object))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.light(2)
def test_text_labels_are_like_a_tuple(seed):
    rng = np.random.default_rng(seed)
    characters = CHARACTERS if seed < 4 else [c for c in CHARACTERS if c.isascii() and (seed == 5 or c.isalnum())]
    words = tuple(random_labels(rng, 120, characters, 30 if seed < 4 else 12))
    labels = TextLabels.of(words)
    assert labels == words
    assert words == labels
    assert hash(labels) == hash(words)
    assert labels + words[:2] == words + words[:2]
    assert words[:2] + labels == list(words[:2]) + labels == words[:2] + words
    assert (tuple(labels), len(labels), labels[-1], labels[3:50:7]) == (words, len(words), words[-1], words[3:50:7])
    assert labels.find(iter(words)).tolist() == list(range(len(words)))
    assert len(pickle.dumps(labels)) < len(labels.text) + 8 * len(labels) + 300  # without the index
    assert labels == pickle.loads(pickle.dumps(labels)) == TextLabels.of(list(words)) != TextLabels.of(words[::-1])
    assert np.array(labels, dtype=object).tolist() == list(words)
    ids = rng.integers(0, len(words), size=40)
    assert labels.take(ids) == [words[i] for i in ids]
    assert labels.objects(ids).tolist() == [words[i] for i in ids]
    assert b"[" + labels.json_of(ids) + b"]" == json.dumps([words[i] for i in ids]).encode()
    order = sorted(range(len(words)), key=words.__getitem__)
    assert np.concatenate(list(labels.in_text_order())).tolist() == order
    assert labels.text_places[order].tolist() == list(range(len(words)))
    asked = [*words[::3], "missing", *(word + "\0" for word in words[:9]), None, 1, float("nan"), np.str_(words[5])]
    wanted = [words.index(word) if isinstance(word, str) and word in words else -1 for word in asked]
    assert labels.find(asked).tolist() == labels.find(np.array(asked, dtype=object)).tolist() == wanted
    assert [word in labels for word in asked] == [i >= 0 for i in wanted]
    assert labels.index(words[7]) == 7
    with pytest.raises(ValueError, match="is not among"):
        labels.index(words[7], 8)
    with pytest.raises(IndexError):
        labels[len(words)]


def test_equal_hashes_are_told_apart(monkeypatch):
    """If all labels of a length had one hash, `find` would still compare their bytes."""
    hashes_of = TextLabels._hashes_of
    monkeypatch.setattr(TextLabels, "_hashes_of", lambda self, ids: hashes_of(self, ids) % 3)
    words = random_labels(np.random.default_rng(1), 60, list("ab"))
    assert TextLabels.of(words).find([*words, "c"]).tolist() == [*range(len(words)), -1]
    assert Vocabulary(words).labels.repeated is None
    with pytest.raises(DataError, match="occurs at ids 4 and 9; labels must differ"):
        Vocabulary([*words[:9], words[4], *words[:9]])


@pytest.mark.parametrize("n", [0, 1, 2, 10, 11, 99, 1000, 12_345])
@pytest.mark.light(3)
def test_ids_are_like_the_same_strings(n):
    """The order of their text, the fingerprint and all else are those of the tuple of strings."""
    words = tuple(map(str, range(n)))
    labels, vocabulary = NumberLabels(n), Vocabulary.of_ids(n)
    assert labels == words
    assert words == labels
    assert hash(labels) == hash(words)
    assert labels + words[:2] == words + words[:2]
    assert words[:2] + labels == list(words[:2]) + labels == words[:2] + words
    assert labels == TextLabels.of(words)
    order = [i for ids in labels.in_text_order() for i in ids.tolist()]
    assert order == sorted(range(n), key=words.__getitem__)
    assert order == np.concatenate([*TextLabels.of(words).in_text_order(), np.zeros(0, np.int64)]).tolist()
    for part in (np.array(order, dtype=np.int64), np.arange(n)[::-7]):
        assert b"[" + labels.json_of(part) + b"]" == json.dumps([words[i] for i in part]).encode()
    for same in (Vocabulary(words), Vocabulary(list(words)), Vocabulary(iter(words)), Vocabulary(TextLabels.of(words))):
        assert same == vocabulary
        assert hash(same) == hash(vocabulary)
        assert same.are_labels_ids
    assert not Vocabulary([*words, "x"]).are_labels_ids
    assert n < 2 or not Vocabulary(words[::-1]).are_labels_ids
    asked = ["0", "00", "7", "07", "-1", "+1", " 1", "1 ", "1_0", "\u0661", "", "9", "10", str(n), str(n - 1), 7, None]
    assert labels.find(asked).tolist() == [words.index(word) if word in words else -1 for word in asked]
    assert labels.find(NumberLabels(n + 2)).tolist() == [*range(n), -1, -1]


@pytest.mark.parametrize("n", [-1, 2.0, "5", True, None, 2**63, np.uint64(2**64 - 1), np.True_])
def test_a_wrong_number_of_ids(n):
    """Said at once, not when a label is asked for."""
    with pytest.raises(DataError, match="^the number of ids must be an integer from 0 to 2\\*\\*63 - 1; got "):
        Vocabulary.of_ids(n)
    assert len(Vocabulary.of_ids(np.uint8(0))) == 0


def test_labels_do_not_add_up_with_a_string():
    """Its characters are no labels."""
    for labels in (NumberLabels(3), TextLabels.of(["a", "b"])):
        with pytest.raises(TypeError, match="unsupported operand"):
            labels + "xy"
        with pytest.raises(TypeError, match="can only concatenate str"):
            "xy" + labels


@pytest.mark.parametrize("first", [0, 1, 7, 123])
def test_json_of_a_block(first):
    """Numbers that begin with the same digits are written at once; without digits (0) they are other numbers."""
    texts = sorted(f"{i:0{n}}" for n in range(1, 5) for i in range(10**n))
    numbers = [first, *(int(f"{first}{text}") for text in texts)]
    assert (
        b"[" + NumberLabels(2_000_000).json_of(np.array(numbers)) + b"]" == json.dumps(list(map(str, numbers))).encode()
    )


def test_order_of_many_ids():
    """Numbers of one to six digits; blocks of numbers with the same first digits make up the whole order."""
    places, texts = NumberLabels(345_678).text_places, np.arange(345_678).astype("S6")
    assert np.array_equal(texts[np.argsort(places)], np.sort(texts))


@pytest.mark.parametrize("seed", range(4))
def test_fingerprints_are_those_of_sorted_lists(seed):
    """Written again by hand: JSON of the sorted labels, then the sorted triples in the places of their labels."""
    rng = np.random.default_rng(seed)
    words = [list(map(str, range(30))), random_labels(rng, 25)] if seed % 2 else [random_labels(rng, 60), ["r", "s"]]
    n = len(words[0]), len(words[1])
    triples = np.column_stack([rng.integers(0, n[i], size=50) for i in (0, 1, 0)])
    dataset = kg.Dataset.from_arrays(train=triples, entity_labels=words[0], relation_labels=words[1])
    digest = hashlib.sha256(b"kgeval dataset 1\n")
    for part in words:
        digest.update(json.dumps(sorted(part)).encode())
    places = [[sorted(part).index(word) for word in part] for part in words]
    rows = sorted([places[0][s], places[1][p], places[0][o]] for s, p, o in triples.tolist())
    digest.update(b"\ntrain 50\n" + np.array(rows, dtype="<i8").tobytes())
    assert dataset.fingerprint == digest.hexdigest()


# Labels, and the start of the fingerprint that kgeval 0.1 gave them.
FINGERPRINTED = {
    "escaped": (
        [
            *("", '"', "\\", 'say "no"', "C:\\x", "\x00", "a\x00", "\x1f", "\n", "\x7f", "é", "e\u0301", "€", "😀"),
            *("\ud800", "\udc00x", "Rome", "rome", "ROME", " Rome"),
        ],
        "ab450efc4b78014c",
    ),
    "plain": (
        ["", "Rome", "rome", "ROME", " Rome", "Rome ", "~", "!", "/m/0a", "/m/0ab", "/m/0A"],
        "413fade733db117a",
    ),
    "prefix": ([f"http://example.org/{i:x}" for i in range(70_000)], "cbb0f6fc3c3da58d"),
    "long": ([letter * 7_000_000 for letter in "abc"] + ["d"], "56484a98ac191290"),
}


@pytest.mark.parametrize("name", FINGERPRINTED)
def test_fingerprints_of_labels_stay(name):
    """Quotes, controls, single surrogates; one prefix in two blocks; more JSON than is made at once: JSON of them."""
    labels, start = FINGERPRINTED[name]
    digest = fingerprint_triples("kgeval labels 1", Vocabulary(labels), Vocabulary(["likes"]), {}, with_labels=True)
    wanted = hashlib.sha256(b"kgeval labels 1\n" + json.dumps(sorted(labels)).encode() + b'["likes"]').hexdigest()
    assert digest == wanted
    assert digest[:16] == start


def test_a_shared_prefix_of_any_length():
    """The bytes that all labels share are passed over; one label may be no longer than these."""
    for length in range(20):
        texts = [("x" * length) + rest for rest in ("b", "", "ab", "a" * 9, "a" * 8, "a" * 17 + "b", "a" * 17)]
        labels = TextLabels.of(texts)
        assert np.concatenate(list(labels.in_text_order())).tolist() == sorted(range(7), key=texts.__getitem__)


def look_alikes(labels):
    """Return the pairs of labels that look alike: one loop over all of them."""
    first, pairs = {}, []
    for label in labels:
        plain = "".join(c for c in unicodedata.normalize("NFC", label) if unicodedata.category(c) != "Cf")
        earlier = first.setdefault(plain.strip(), label)
        if earlier is not label:
            pairs.append((earlier, label))
    return pairs


@pytest.mark.parametrize("seed", range(8))
def test_labels_that_look_alike_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    characters = CHARACTERS if seed % 2 else [" ", "\t", "\x1c", "\n", "a", "b"]
    words = random_labels(rng, 200, characters, 5)
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 0]], entity_labels=words, relation_labels=["r"])
    assert dataset.near_duplicates == {"entity": look_alikes(words), "relation": []}
    assert len(look_alikes(words)) > 9


@pytest.mark.parametrize(
    "character", ["e\u0301", "\u00e9\u200b", "\u00a0", "\ufb01", "\u0301", "\u2126", "\U000e0020", "\ud800"]
)
def test_one_character_makes_labels_look_alike(character):
    """Among labels in NFC without invisible characters, whose characters are not looked at one by one."""
    plain = ["caf\u00e9", "\u00e9", "\u03a9", "fi", "na\u00efve", "\u6771\u4eac", "a"]
    words = [*plain, *(character + word for word in plain), *(word + character for word in plain), character]
    words = list(dict.fromkeys(words))
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 0]], entity_labels=words, relation_labels=["r"])
    assert dataset.near_duplicates["entity"] == look_alikes(words)


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (sorted(map(str, range(12))), "label '10' has the id 2"),
        (["1", "0"], "label '1' has the id 0"),
        (["0", "2", "1", "03"], None),
        (["0", "2", "1", "x"], None),
        (["0", "2", "\u0661"], None),
        (["0", "7", "2"], None),  # 7 is at least twice the number of labels
        (["1", "2", "3"], None),
        (["2", "1", "9" * 19], None),
        (["2", "1", ""], None),
    ],
)
def test_numbers_that_do_not_grow_with_the_ids_are_observed(labels, wrong):
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 0]], entity_labels=labels, n_relations=1)
    said = [sentence for sentence in dataset.observations() if "sorted as text" in sentence]
    assert [wrong in sentence for sentence in said] == [True] * (wrong is not None)


@pytest.mark.parametrize("seed", range(3))
def test_files_keep_labels(tmp_path, seed):
    """As numbers of ids or as text; JSON lists of versions before 4 are read too."""
    words = [(), random_labels(np.random.default_rng(seed), 40), ["only"]][seed]
    vocabularies = Vocabulary(words), Vocabulary.of_ids(300)
    arrays = pack_vocabularies(*vocabularies)
    np.savez(tmp_path / "labels.npz", **arrays)
    with np.load(tmp_path / "labels.npz") as loaded:
        again = unpack_vocabularies(dict(loaded))
    assert again == vocabularies
    assert again[1].are_labels_ids
    assert arrays["relation_labels"].shape == ()
    old = {"entity_labels": pack_labels(tuple(words)), "relation_labels": pack_labels(tuple(map(str, range(300))))}
    assert unpack_vocabularies(old) == vocabularies
    assert unpack_vocabularies(old)[1].are_labels_ids


@pytest.mark.parametrize(
    ("text", "lengths", "said"),
    [
        (b"abc", [1, 1], "labels of 2 bytes were expected; the text has 3 bytes"),
        (b"abc", [4, -1], "the text has 3 bytes"),
        (b"abc", np.array([4, 2**64 - 1], np.uint64), "the text has 3 bytes"),
        (b"abc", [2**62, 2**62, 2**62, 2**62, 3], "the text has 3 bytes"),
        (b"a\xffc", [1, 2], "is not UTF-8"),
        ("é".encode(), [1, 1], "a label begins inside a character"),
        (b"aa", [1, 1], "label 'a' occurs at ids 0 and 1"),
    ],
)
def test_damaged_labels_are_refused(text, lengths, said):
    arrays = {"entity_labels": np.frombuffer(text, np.uint8), "entity_labels_lengths": np.array(lengths)}
    with pytest.raises(DataError, match=said):
        unpack_vocabularies({**arrays, "relation_labels": np.array(1)})
    for wrong in (np.array(-1), np.array(1.5), np.array([[97]], np.uint8)):
        with pytest.raises(DataError):
            unpack_vocabularies({**arrays, "entity_labels": wrong, "relation_labels": np.array(1)})


def test_ids_need_no_memory_of_labels():
    """A dataset of a billion entities: no step goes through all of them."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 999_999_999]], n_entities=10**9, n_relations=1)
    assert dataset.entities.labels[-1] == "999999999"
    assert dataset.entities.ids(["12"]).tolist() == [12]
    assert dataset.near_duplicates == {"entity": [], "relation": []}
    assert repr(dataset.entities.labels) == "('0', '1', '2', ... 1,000,000,000 labels)"


def test_very_long_labels():
    """Labels around the length from which each is hashed and compared alone: found, sorted, told apart, repeated."""
    stem = "x" * LONG
    texts = [stem, stem + "a", stem + "b", stem[:-1], stem[:-1] + "é", "y", stem + "ab", ""]
    labels = TextLabels.of(texts)
    assert labels == tuple(texts)
    assert labels.find([*texts, stem + "c", stem[:-2]]).tolist() == [*range(8), -1, -1]
    assert np.concatenate(list(labels.in_text_order())).tolist() == sorted(range(8), key=texts.__getitem__)
    assert labels.repeated is None
    assert TextLabels.of([*texts, stem + "b"]).repeated == (2, 8)
