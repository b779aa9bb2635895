"""Files of ids and labels: every known layout gives the labels in id order; what is unclear or damaged is an error."""

import gzip
import lzma

import numpy as np
import pytest

from kgeval import DataError
from kgeval.formats.checkpoints.id_files import find_id_files, labels_of_ids, read_ids

LABELS = ["delta", "NA", "a b", "7", "\u00e9psilon", "null"]
ORDER = [3, 0, 5, 1, 4, 2]  # the lines of the files: these ids, in this order


def written(folder, name, text):
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode())
    return file


def lines(form):
    return "".join(form.format(i=i, label=LABELS[i]) + "\n" for i in ORDER)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("entities.dict", lines("{i}\t{label}")),
        ("entity_ids.del", lines("{i}\t{label}")),
        ("entities.tsv", lines("{i}\t{label}").rstrip("\n")),
        ("entities.tsv", lines("{i}|{label}")),
        ("entity2id.txt", "6\n" + lines("{label}\t{i}")),
        ("entity2id.txt", "6\n" + lines("{label} {i}")),
        ("entity2id.txt", "6 \r\n" + lines("{label}\t{i} ").replace("\n", "\r\n")),
        ("node_mapping.txt", lines("{label},{i}")),
        ("mapping.csv", "ent idx,ent name\n" + lines("{i},{label}")),
        ("mapping.csv", "label,id\n" + lines('"{label}",{i}')),
        ("other.tsv", "label\tid\n" + lines("{label}\t{i}")),
        ("other.tsv", "what\tnumber\n" + lines("{label}\t{i}")),
        ("other.tsv", "\ufeff" + lines("{i}\t{label}")),
        ("labels.txt", "\n".join(LABELS)),
        ("labels.json", '["delta", "NA", "a b", "7", "\\u00e9psilon", "null"]'),
        ("ids.json", '{"NA": 1, "delta": 0, "a b": 2, "null": 5, "\u00e9psilon": 4, "7": 3}'),
        ("ids.json", '{"1": "NA", "0": "delta", "2": "a b", "5": "null", "4": "\u00e9psilon", "3": "7"}'),
    ],
)
@pytest.mark.light(10)
def test_layouts(tmp_path, name, text):
    """Every layout gives the same labels, "NA" and "null" too, in the order of the ids and not of the lines."""
    assert read_ids(written(tmp_path, name, text)) == LABELS


@pytest.mark.parametrize(("ending", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_packed(tmp_path, ending, opener):
    """PyKEEN packs its files; the names of their columns are "id" and "label"."""
    file = tmp_path / f"entity_to_id.tsv{ending}"
    with opener(file, "wb") as stream:
        stream.write(("id\tlabel\n" + lines("{i}\t{label}")).encode())
    assert read_ids(file) == LABELS
    with opener(file, "wb") as stream:
        stream.write(b"0\ta\n1\t\xff\n")
    with pytest.raises(DataError, match="is not UTF-8 at byte 6 of its unpacked content"):
        read_ids(file)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Paris, France\nRome, Italy\n", ["Paris, France", "Rome, Italy"]),
        ("class 1\nclass 2\n", ["class 1", "class 2"]),
        ("12\n7\n", ["12", "7"]),
        ("a|b\n", ["a|b"]),
    ],
)
def test_list_of_labels(tmp_path, text, labels):
    """Labels with commas, spaces and numbers stay whole when no column holds ids."""
    assert read_ids(written(tmp_path, "labels.txt", text)) == labels


NUMBERS = "0\t2\n1\t0\n2\t1\n"  # both columns may be the ids


def test_labels_that_are_numbers(tmp_path):
    """The habit of the tool decides if both columns are 0, 1, 2; for an unknown name, an error asks."""
    assert read_ids(written(tmp_path, "entities.dict", NUMBERS)) == ["2", "0", "1"]
    assert read_ids(written(tmp_path, "relations.tsv", NUMBERS)) == ["2", "0", "1"]
    assert read_ids(written(tmp_path, "entity2id.txt", "3\n" + NUMBERS)) == ["1", "2", "0"]
    assert read_ids(written(tmp_path, "node_mapping.txt", NUMBERS.replace("\t", ","))) == ["1", "2", "0"]
    assert read_ids(written(tmp_path, "x.tsv", "id\tlabel\n" + NUMBERS)) == ["2", "0", "1"]
    assert read_ids(written(tmp_path, "x.tsv", "label\tid\n" + NUMBERS)) == ["1", "2", "0"]
    assert read_ids(written(tmp_path, "x.tsv", "0\t0\n1\t1\n")) == ["0", "1"]
    assert read_ids(written(tmp_path, "x.tsv", "10\t0\n0\t1\n")) == ["10", "0"]  # 10 is no id of two entries
    with pytest.raises(
        DataError, match=r"both columns hold the numbers 0 \.\. 2, so either may be the ids; add a first"
    ):
        read_ids(written(tmp_path, "x.tsv", NUMBERS))
    with pytest.raises(DataError, match="both the keys and the values may be the ids; write a JSON list"):
        read_ids(written(tmp_path, "x.json", '{"0": 1, "1": 0}'))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.dict", "", "expected ids and labels; the file is empty"),
        ("e.dict", "0\ta\n\n1\tb\n", "line 2: is empty"),
        ("labels.txt", "a\n\nb\n", "line 2: is empty; expected a label"),
        ("e.dict", "0\ta\n2\tb\n", "line 2: expected an id from 0 to 1, as the file has 2 entries; found '2'"),
        ("e.dict", "0\ta\n0\tb\n", "line 2: the id 0 occurs in line 1 too"),
        ("e.dict", "0\ta\n1\ta\n", "the label 'a' occurs in lines 1 and 2"),
        ("e.dict", "1\ta\n0\ta\n", "the label 'a' occurs in lines 1 and 2"),
        ("e.dict", "0\ta\n-1\tb\n", "line 2: expected an id from 0 to 1, as the file has 2 entries; found '-1'"),
        ("e.dict", "0\ta\n1_0\tb\n", "line 2: expected an id .* found '1_0'"),
        ("e.dict", "0\ta\n\u0661\tb\n", "line 2: expected an id .* found '\u0661'"),
        ("e.dict", "0\ta\n" + "1" * 5000 + "\tb\n", r"found '1+\.\.\. \(5,002 characters\)"),
        ("e.dict", "0\ta\n1\tb\tc\n", r"line 2: expected an id and a label, 2 columns; found '1\\tb\\tc'"),
        ("e.dict", "0\ta\n1\t\n", r"line 2: expected an id and a label, 2 columns; found '1\\t'"),
        ("e.dict", "0\ta\nb\n", "line 2: expected an id and a label, separated by a tab as in line 1"),
        ("train.txt", "a\tr\tb\nb\tr\ta\n", r"line 1: expected an id and a label, 2 columns; found 'a\\tr\\tb'"),
        ("entity2text.txt", "a\tthe a\nb\tthe b\n", "line 2: expected an id from 0 to 0, as .* found 'b'"),
        ("e.tsv", "id\tlabel\n", "expected entries below the names of the columns; found none"),
        ("e.tsv", "id\tlabel\n1\ta\n1\tb\n", "line 3: the id 1 occurs in line 2 too"),
        ("entity2id.txt", "3\na\t0\nb\t1\n", "line 1: counts 3 entries, but 2 follow; is the file complete"),
        ("entity2id.txt", "x\na\t0\nb\t1\n", "line 1: expected an id and a label, or the number of entries; found 'x'"),
        ("node_mapping.txt", "a,b,0\nc,d,1\n", "line 1: expected an id and a label, 2 columns; found 'a,b,0'"),
        ("x.json", '{"a": 0, "a": 1}', "the label 'a' occurs in entries 1 and 2"),
        ("x.json", '{"a": 0, "b": 2}', r"expected a JSON list of labels, or an object \{label: id\}"),
        ("x.json", '{"a": 0, "b": true}', "expected a JSON list of labels"),
        ("x.json", '["a", 1]', "expected a JSON list of labels"),
        ("x.json", "[]", "expected a JSON list of labels"),
        ("x.json", '["a", "a"]', "the label 'a' occurs in entries 1 and 2"),
        ("x.json", '["a", ""]', "entry 2 has an empty label"),
        ("x.json", "{", "not JSON"),
        ("x.json", "[" * 100_000, "not JSON"),
    ],
)
@pytest.mark.light(12)
def test_faults(tmp_path, name, text, message):
    with pytest.raises(DataError, match=message):
        read_ids(written(tmp_path, name, text))


def test_ids_of_the_caller(tmp_path):
    """`ids` is a folder, two files, or two names with a comma; one file alone is an error."""
    entities = written(tmp_path, "entities.dict", "1\ta\n0\tb\n")
    relations = written(tmp_path, "relations.dict", "0\tr\n")
    expected = (["b", "a"], ["r"])
    for ids in (tmp_path, str(tmp_path), (entities, str(relations)), f"{entities},{relations}"):
        assert labels_of_ids(ids) == expected
    with pytest.raises(DataError, match="or a folder with both; got 1: .*entities.dict"):
        labels_of_ids(entities)
    with pytest.raises(DataError, match="got 3"):
        labels_of_ids([entities, relations, relations])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no id files that are known by name; expected entities.dict and rel"):
        labels_of_ids(tmp_path / "empty")
    with pytest.raises(DataError, match="missing.dict"):
        labels_of_ids([tmp_path / "missing.dict", relations])


def test_files_with_a_comma_in_their_name(tmp_path):
    folder = tmp_path / "a,b"
    written(folder, "entities.dict", "0\ta\n")
    written(folder, "relations.dict", "0\tr\n")
    assert labels_of_ids(str(folder)) == (["a"], ["r"])


def test_find_id_files(tmp_path):
    """Id files of two tools in one folder must agree."""
    assert find_id_files(tmp_path) is None
    assert find_id_files(tmp_path / "missing") is None
    written(tmp_path, "entities.dict", "0\ta\n1\tb\n")
    assert find_id_files(tmp_path) is None  # the relations are missing
    written(tmp_path, "relations.dict", "0\tr\n")
    pair = (tmp_path / "entities.dict", tmp_path / "relations.dict")
    assert find_id_files(tmp_path) == pair
    written(tmp_path, "entity2id.txt", "2\na\t0\nb\t1\n")
    written(tmp_path, "relation2id.txt", "1\nr\t0\n")
    assert find_id_files(tmp_path) == pair
    written(tmp_path, "entity2id.txt", "2\na\t1\nb\t0\n")
    with pytest.raises(
        DataError, match="entities.dict and entity2id.txt give different ids; name the right ones: ids="
    ):
        find_id_files(tmp_path)
    nested = tmp_path / "marius"
    nested.mkdir()
    written(nested, "nodes/node_mapping.txt", "a,0\n")
    written(nested, "edges/relation_mapping.txt", "r,0\n")
    assert find_id_files(nested) == (nested / "nodes/node_mapping.txt", nested / "edges/relation_mapping.txt")


def test_real_dictionaries(shared):
    """The dictionaries of RotatE's UMLS folder: 135 entities, the third is anatomical_abnormality; and OpenKE's."""
    folder = shared / "data" / "formats" / "rotate-umls-50"
    entities, relations = labels_of_ids(folder)
    assert (len(entities), len(relations), entities[2], relations[0]) == (
        135,
        46,
        "anatomical_abnormality",
        "location_of",
    )
    entities, relations = labels_of_ids(shared / "data" / "formats" / "openke-wn18rr")
    text = (shared / "data" / "formats" / "openke-wn18rr" / "entity2id.txt").read_text().split("\n")
    assert (len(entities), len(relations)) == (int(text[0]), 11)
    assert all(entities[int(i)] == label for label, i in (line.split() for line in text[1:] if line))


@pytest.mark.thorough
def test_a_million_labels(tmp_path):
    """Many labels, in a random order of lines."""
    order = np.random.default_rng(0).permutation(1_000_000)
    file = written(tmp_path, "entities.dict", "".join(f"{i}\t/m/{i:x}\n" for i in order.tolist()))
    labels = read_ids(file)
    assert len(labels) == 1_000_000
    assert labels[12345] == "/m/3039"
    assert labels[999_999] == "/m/f423f"
