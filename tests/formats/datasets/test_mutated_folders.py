"""Damaged folders of every layout end in a DataError or in a dataset, never in another error."""

import gzip

import numpy as np
import pytest
from dataset_folders import generator, write
from grids import size
from torch_zip import write_torch

import kgeval
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError

TABLES = {"train.txt": "a\tr\tb\nb\tr\tc\nc\tq\ta\n", "valid.txt": "a\tr\tc\n", "test.txt": "b\tr\ta\n"}
FOLDERS = {
    "openke": {
        "entity2id.txt": "3\na\t0\nb c\t1\nd\t2\n",
        "relation2id.txt": "2\nr\t0\nq\t1\n",
        "train2id.txt": "2\n0 1 0\n2 1 1\n",
        "test2id.txt": "1\n2 0 0\n",
    },
    "rotate": TABLES | {"entities.dict": "0\ta\n1\tb\n2\tc\n", "relations.dict": "0\tr\n1\tq\n"},
    "dglke": {
        "entities.tsv": "0\ta\n1\tb\n2\tc\n",
        "relations.tsv": "0\tr\n1\tq\n",
        "train.tsv": "0\t0\t1\n2\t1\t1\n",
        "test.tsv": "0\t1\t2\n",
    },
    "libkge": {
        "entity_ids.del": "0\ta\n1\tb\n2\tc\n",
        "relation_ids.del": "0\tr\n1\tq\n",
        "train.del": "0\t0\t1\n2\t1\t1\n",
        "test.del": "0\t1\t2\n",
        "dataset.yaml": "dataset:\n  files.test.filename: test.del\n",
    },
    "kgbert": {
        "train.tsv": TABLES["train.txt"],
        "dev.tsv": "a\tr\tc\t1\nb\tr\tc\t-1\n",
        "entity2text.txt": "a\tA\n",
        "entities.txt": "a\nb\nc\n",
    },
    "stare": {"train.txt": "a,r,b\na,r,b,q,c\nb,r,c,q,a,q,b\n", "test.txt": "c,r,a,q,b\n"},
    "quadruples": {
        "train.txt": "0\t0\t1\t3\t0\n1\t1\t0\t4\t0\n",
        "test.txt": "0\t1\t1\t5\t0\n",
        "stat.txt": "3\t2\t9\n",
    },
    "inductive": TABLES | {"msg.txt": "a\tr\tb\nb\tr\tc\n"},
    "rdf": {
        "train.nt": '<http://e/a> <http://e/p> "x"@en .\n_:b <http://e/p> <http://e/a> .\n',
        "test.ttl": "@prefix : <http://e/> . :a :p [ :q 1 ] .\n",
    },
    "ogb": {
        "raw/num-node-dict.csv.gz": gzip.compress(b"drug,disease\n3,2\n"),
        "mapping/drug_entidx2name.csv": "ent idx,ent name\n0,CID1\n1,CID2\n2,007\n",
        "mapping/disease_entidx2name.csv": "ent idx,ent name\n0,C1\n1,CID1\n",
        "mapping/relidx2relname.csv": "rel idx,rel name\n0,treats\n1,drug-drug\n",
        "split/random/train.pt": b"",
    },
}


def torch_file(folder):
    """The bytes of a split of ogbl-biokg."""
    content = {key: np.array([0, 1], dtype=np.int64) for key in ("head", "relation", "tail")}
    write_torch(folder / "x.pt", content | {"head_type": ["drug", "drug"], "tail_type": ["disease", "disease"]})
    return (folder / "x.pt").read_bytes()


def mutated(raw, rng):
    """The bytes with a few changes: bytes set, removed, repeated, lines swapped, or cut off."""
    data = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] = rng.choice([*b'0123456789\t\n\r ,.<>"\\_:-', 0, 255, rng.randrange(256)])
        elif kind == 1:
            del data[at : at + rng.randint(1, 6)]
        elif kind == 2:
            data[at:at] = data[at : at + rng.randint(1, 9)]
        elif kind == 3:
            rows = bytes(data).split(b"\n")
            rng.shuffle(rows)
            data = bytearray(b"\n".join(rows))
        elif kind == 4:
            del data[at:]
        else:
            data[at:at] = rng.choice(
                [b"\t", b"\n\n", b"9" * 30, b"\xef\xbb\xbf", b"\r", "\u0661".encode(), b"-1", b"\t\t"]
            )
    return bytes(data)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FOLDERS)
def test_damaged_folders(tmp_path, name):
    """The ids stay in range, and the dataset says how it was read."""
    if name == "rdf":
        pytest.importorskip("pyoxigraph", reason="needs kgeval[rdf]")
    files = {key: text.encode() if isinstance(text, str) else text for key, text in FOLDERS[name].items()}
    if name == "ogb":
        files["split/random/train.pt"] = torch_file(tmp_path)
    folder = write(tmp_path / "folder", files)
    assert isinstance(kgeval.read_dataset(folder), Dataset)
    n_read = 0
    for case in range(size(16, 200)):
        rng = generator(case)
        changed = rng.choice(list(files))
        write(folder, {changed: mutated(files[changed], rng)})
        try:
            dataset = kgeval.read_dataset(folder, format=name)
        except DataError as error:
            assert str(folder) in str(error), case
        else:
            n_read += 1
            assert dataset.notes[0].startswith("read as ")
            assert all(len(label) for label in (*dataset.entities.labels, *dataset.relations.labels))
        write(folder, {changed: files[changed]})
    assert n_read > 0


def test_an_empty_file_of_counts_is_refused(tmp_path):
    """The file with the numbers of entities of each type has no line."""
    files = {key: text.encode() if isinstance(text, str) else text for key, text in FOLDERS["ogb"].items()}
    files["split/random/train.pt"] = torch_file(tmp_path)
    folder = write(tmp_path / "folder", files | {"raw/num-node-dict.csv.gz": gzip.compress(b"")})
    with pytest.raises(DataError, match="expected one number of entities for each type"):
        kgeval.read_dataset(folder)
