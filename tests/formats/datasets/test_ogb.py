"""OGB's folders: ids in torch files, typed in ogbl-biokg, with lists of negatives."""

import gzip

import numpy as np
import pytest
from dataset_folders import assert_same, failure, generator, rows_of, write
from grids import light, size
from torch_zip import NumpyArray, write_torch

import kgeval
from kgeval.errors import DataError
from kgeval.formats.datasets.ogb import listed_negatives

READ_AS = "read as OGB (ids in torch files)"
WIKIKG = {
    "raw/num-node-list.csv.gz": gzip.compress(b"4\n"),
    "mapping/nodeidx2entityid.csv.gz": gzip.compress(b'node idx,entity id\n0,Q9\n1,Q1\n2,"Q,5"\n3,NA\n'),
    "mapping/reltype2relid.csv.gz": gzip.compress(b"reltype,rel id\n1,P2\n0,P7\n"),
}
BIOKG = {
    "raw/num-node-dict.csv.gz": gzip.compress(b"drug,disease\n3,2\n"),
    "mapping/drug_entidx2name.csv.gz": gzip.compress(b"ent idx,ent name\n0,CID1\n1,CID2\n2,007\n"),
    "mapping/disease_entidx2name.csv.gz": gzip.compress(b"ent idx,ent name\n0,C1\n1,CID1\n"),
    "mapping/relidx2relname.csv.gz": gzip.compress(b"rel idx,rel name\n0,treats\n1,drug-drug\n"),
}


def split(head, relation, tail, types=None, **negatives):
    """The dict of a split."""
    content = {"head": head, "relation": relation, "tail": tail} | negatives
    content = {key: np.array(value, dtype=np.int64) for key, value in content.items()}
    return content if types is None else content | {"head_type": types[0], "tail_type": types[1]}


def folder_of(folder, files, splits, name="time", wrap=lambda array: array):
    """A folder with these files, and torch files of these splits."""
    write(folder, files)
    (folder / "split" / name).mkdir(parents=True)
    for key, content in splits.items():
        parts = {part: wrap(value) if isinstance(value, np.ndarray) else value for part, value in content.items()}
        write_torch(folder / "split" / name / f"{key}.pt", parts)
    return folder


WIKIKG_SPLITS = {
    "train": split([0, 1], [0, 1], [1, 2]),
    "valid": split([2], [0], [0], head_neg=[[1, 3]], tail_neg=[[1, 2]]),
    "test": split([1, 0], [1, 0], [0, 2], head_neg=[[0, 2], [1, 1]], tail_neg=[[1, 2], [0, 1]]),
}
BIOKG_SPLITS = {
    "train": split([0, 2], [0, 1], [1, 1], (["drug", "drug"], ["disease", "drug"])),
    "valid": split([1], [1], [0], (["drug"], ["drug"]), head_neg=[[0]], tail_neg=[[2]]),
    "test": split(
        [1, 1], [0, 0], [0, 1], (["drug", "drug"], ["disease", "disease"]), head_neg=[[2], [0]], tail_neg=[[1], [0]]
    ),
}


@pytest.mark.parametrize("wrap", [np.asarray, NumpyArray])
def test_wikikg(tmp_path, wrap):
    """Labels of mapping, in the order of its ids; every entity is a candidate; tensors and numpy arrays."""
    folder = folder_of(tmp_path / "ogbl_wikikg2", WIKIKG, WIKIKG_SPLITS, wrap=wrap)
    dataset = kgeval.read_dataset(folder)
    facts = {
        "train": [("Q9", "P7", "Q1"), ("Q1", "P2", "Q,5")],
        "valid": [("Q,5", "P7", "Q9")],
        "test": [("Q1", "P2", "Q9"), ("Q9", "P7", "Q,5")],
    }
    assert_same(dataset, facts, ["NA"])
    assert dataset.dictionaries == {"entities": ("Q9", "Q1", "Q,5", "NA"), "relations": ("P7", "P2")}
    assert dataset.notes == (
        READ_AS,
        "split/time/test.pt lists 2 negatives for each triple; OGB ranks among them only, but here every entity "
        "is a candidate. To rank among the negatives, use "
        "kgeval.Protocol(candidates=kgeval.formats.datasets.ogb.listed_negatives(folder, dataset))",
        "1 entity of the dictionary occurs in no triple, but is a candidate",
    )


def test_local_ids_of_biokg_count_within_a_type(tmp_path):
    """Drug 1 and disease 1 are two entities, and so are drug CID1 and disease CID1."""
    folder = folder_of(tmp_path / "ogbl_biokg", BIOKG, BIOKG_SPLITS, name="random")
    dataset = kgeval.read_dataset(folder)
    facts = {
        "train": [("drug:CID1", "treats", "disease:CID1"), ("drug:007", "drug-drug", "drug:CID2")],
        "valid": [("drug:CID2", "drug-drug", "drug:CID1")],
        "test": [("drug:CID2", "treats", "disease:C1"), ("drug:CID2", "treats", "disease:CID1")],
    }
    assert_same(dataset, facts)
    assert dataset.dictionaries["entities"] == ("disease:C1", "disease:CID1", "drug:CID1", "drug:CID2", "drug:007")
    assert "entities have the labels type:label, for the types disease, drug" in dataset.notes


@pytest.mark.thorough
def test_types_count_in_the_order_of_the_package(tmp_path):
    """The package ogb sorts the types, and models count entities through them in this order."""
    raw_graph = pytest.importorskip("ogb.io.read_graph_raw", reason="needs the package ogb")
    edges = {
        "raw/triplet-type-list.csv.gz": gzip.compress(b"drug,treats,disease\n"),
        "raw/relations/drug___treats___disease/edge.csv.gz": gzip.compress(b"0,1\n"),
        "raw/relations/drug___treats___disease/num-edge-list.csv.gz": gzip.compress(b"1\n"),
    }
    folder = folder_of(tmp_path, BIOKG | edges, BIOKG_SPLITS)
    counts = raw_graph.read_csv_heterograph_raw(str(folder / "raw"))[0]["num_nodes_dict"]
    order = [kind for kind, n in counts.items() for _ in range(n)]
    assert [label.split(":")[0] for label in kgeval.read_dataset(folder).dictionaries["entities"]] == order


def test_negatives_are_one_list_per_positive(tmp_path):
    """OGB's own ranks, by a loop over the lists; the negatives of a row have the type of its entity (S2)."""
    folder = folder_of(tmp_path / "ogbl_biokg", BIOKG, BIOKG_SPLITS, name="random")
    dataset = kgeval.read_dataset(folder)
    lists = listed_negatives(folder, dataset)
    labels = dataset.entities.labels
    assert [[labels[i] for i in part] for part in np.split(lists.lists["subject"].values, 2)] == [
        ["drug:007"],
        ["drug:CID1"],
    ]
    assert [[labels[i] for i in part] for part in np.split(lists.lists["object"].values, 2)] == [
        ["disease:CID1"],
        ["disease:C1"],
    ]
    folder = folder_of(tmp_path / "ogbl_wikikg2", WIKIKG, WIKIKG_SPLITS)
    dataset = kgeval.read_dataset(folder)
    numbers = {label: i for i, label in enumerate(dataset.dictionaries["entities"])}
    own = np.array([numbers[label] for label in dataset.entities.labels])  # the id of OGB of each entity
    scores = np.array([[3, 1, 2, 5], [4, 6, 1, 0], [2, 2, 7, 1], [0, 3, 1, 2]])  # of OGB's (head, tail)
    protocol = kgeval.Protocol(candidates=listed_negatives(folder, dataset), filter=())
    result = kgeval.evaluate(lambda s, p, o: scores[own[s], own[o]], dataset, protocol)
    reciprocal = []
    content = WIKIKG_SPLITS["test"]
    for h, t, heads, tails in zip(*(content[key].tolist() for key in ("head", "tail", "head_neg", "tail_neg"))):
        for rivals, positive in (([(h2, t) for h2 in heads], (h, t)), ([(h, t2) for t2 in tails], (h, t))):
            better = sum(scores[pair] > scores[positive] for pair in rivals)
            tied = sum(scores[pair] == scores[positive] for pair in rivals)
            reciprocal.append(1 / (1 + better + tied / 2))
    assert result["raw.mrr"] == pytest.approx(np.mean(reciprocal), abs=1e-12)
    with pytest.raises(DataError, match="holds other triples than the split test of dataset"):
        listed_negatives(folder, kgeval.read_dataset(tmp_path / "ogbl_biokg"))
    with pytest.raises(DataError, match="lists no negatives"):
        listed_negatives(folder, dataset, split="train")


@pytest.mark.parametrize("seed", light(range(2), 1))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """Typed entities with labels of any characters; split_dict.pt in place of three files; unpacked mappings."""
    for case in range(size(2, 100)):
        rng = generator(1000 * seed + case)
        types = {kind: [f'{kind[0]}{i}, "x" {i}' for i in range(rng.randint(1, 5))] for kind in ("b", "a", "c")}
        relations = [f"r {i}" for i in range(3)]

        def mapping(labels, header):
            quoted = [f'{i},"{label.replace(chr(34), chr(34) * 2)}"' for i, label in enumerate(labels)]
            rng.shuffle(quoted)  # noqa: B023
            return "\n".join([header, *quoted]) + "\n"

        packed = rng.random() < 0.5
        files = {f"{kind}_entidx2name.csv": mapping(labels, "ent idx,ent name") for kind, labels in types.items()}
        files["relidx2relname.csv"] = mapping(relations, "rel idx,rel name")
        files = {
            f"mapping/{name}{'.gz' if packed else ''}": gzip.compress(text.encode()) if packed else text
            for name, text in files.items()
        }
        counts = f"{','.join(types)}\n{','.join(str(len(labels)) for labels in types.values())}\n"
        files["raw/num-node-dict.csv.gz"] = gzip.compress(counts.encode())
        facts, splits = {}, {}
        for name in ("train", "valid", "test"):
            rows = []
            for _ in range(rng.randint(1, 8)):
                kinds = rng.choice(list(types)), rng.choice(list(types))
                ids = [rng.randrange(len(types[kind])) for kind in kinds]
                rows.append((ids[0], rng.randrange(3), ids[1], *kinds))
            h, r, t, h_type, t_type = zip(*rows)
            splits[name] = split(h, r, t, (list(h_type), list(t_type)))
            facts[name] = [(f"{u}:{types[u][a]}", relations[b], f"{v}:{types[v][c]}") for a, b, c, u, v in rows]
        folder = tmp_path / str(case)
        if rng.random() < 0.5:
            folder_of(folder, files, splits)
        else:
            (write(folder, files) / "split" / "x").mkdir(parents=True)
            write_torch(folder / "split" / "x" / "split_dict.pt", splits)
        entities = [f"{kind}:{label}" for kind in sorted(types) for label in types[kind]]
        dataset = kgeval.read_dataset(folder)
        assert_same(dataset, facts, entities, relations)
        assert dataset.dictionaries == {"entities": tuple(entities), "relations": tuple(relations)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"test": split([1], [1], [4])},
            "DIR/split/time/test.pt: row 0 of tail contains an id that is not in 0 .. 3; there are 4 entities",
        ),
        (
            {"test": split([1], [2], [3])},
            "DIR/split/time/test.pt: row 0 of relation contains an id that is not in 0 .. 1; there are 2 relations",
        ),
        (
            {"test": {"edge": np.zeros(2)}},
            "DIR/split/time/test.pt: expected a dict with head, relation, tail; found edge",
        ),
        (
            {"test": split([1], [1], [3]) | {"head": np.zeros(1)}},
            "DIR/split/time/test.pt: expected an array of integers as head; found float64, shape (1,)",
        ),
        (
            {"test": split([1, 2], [1], [3])},
            "DIR/split/time/test.pt: head, relation and tail must have shape (n,); got (2,), (1,), (1,)",
        ),
        (
            {"test": split([1], [1], [3], (["drug"], ["drug"]))},
            "DIR/split/time/test.pt: has head_type, but nodeidx2entityid.csv in mapping gives the entities no types",
        ),
    ],
)
@pytest.mark.light(2)
def test_faults_of_torch_files(tmp_path, changes, message):
    """Ids out of range, other dicts, types without a mapping of types."""
    assert failure(folder_of(tmp_path, WIKIKG, WIKIKG_SPLITS | changes)) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"test": split([2], [0], [0], (["disease"], ["drug"]))},
            "DIR/split/time/test.pt: row 0 of head contains an id above 1, the last id of the type 'disease'",
        ),
        (
            {"test": split([1], [0], [0], (["gene"], ["drug"]))},
            "DIR/split/time/test.pt: head_type[0] is 'gene'; types are disease, drug",
        ),
        (
            {"test": split([1], [0], [0])},
            "DIR/split/time/test.pt: lacks head_type, but the entities in mapping have types: disease, drug",
        ),
        (
            {"test": split([1], [0], [0], (["drug"] * 2, ["drug"]))},
            "DIR/split/time/test.pt: head has 1 rows, head_type has 2",
        ),
    ],
)
@pytest.mark.light(2)
def test_faults_of_types(tmp_path, changes, message):
    """Ids that only another type has, unknown and missing types."""
    assert failure(folder_of(tmp_path, BIOKG, BIOKG_SPLITS | changes)) == message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "mapping/nodeidx2entityid.csv.gz",
            "node idx,entity id\n0,a\n1,b\n2,c\n",
            "DIR: mapping lists 3 entities, raw counts 4",
        ),
        (
            "mapping/nodeidx2entityid.csv.gz",
            "node idx,entity id\n1,a\n2,b\n3,c\n4,d\n",
            "DIR/mapping/nodeidx2entityid.csv.gz, line 2: expected each id from 0 to 3 once; found 1",
        ),
        (
            "mapping/nodeidx2entityid.csv.gz",
            "node idx,entity id\n0,a\n1,b\n2,a\n3,d\n",
            "DIR/mapping/nodeidx2entityid.csv.gz, line 4: the label 'a' occurs twice",
        ),
        (
            "mapping/nodeidx2entityid.csv.gz",
            "node idx,entity id\n0,a\n1,\n2,b\n3,d\n",
            "DIR/mapping/nodeidx2entityid.csv.gz, line 3: the label is empty",
        ),
        (
            "mapping/nodeidx2entityid.csv.gz",
            "node idx,entity id\na,0\nb,1\nc,2\nd,3\n",
            "DIR/mapping/nodeidx2entityid.csv.gz, line 2: expected an id; found 'a'",
        ),
        (
            "raw/num-node-list.csv.gz",
            "4\n5\n",
            "DIR/raw/num-node-list.csv.gz: expected one number of entities for each type",
        ),
    ],
)
@pytest.mark.light(3)
def test_faults_of_mappings(tmp_path, name, text, message):
    """Another number of entities, ids off by one or in the other column, labels twice."""
    files = WIKIKG | {name: gzip.compress(text.encode())}
    assert failure(folder_of(tmp_path, files, WIKIKG_SPLITS)) == message


def test_the_folder_must_be_complete(tmp_path):
    """One split, labels or numbers of entities, labels of relations; a torch file of the old format says what to do."""
    folder = folder_of(tmp_path / "a", WIKIKG, WIKIKG_SPLITS)
    (folder / "mapping" / "reltype2relid.csv.gz").unlink()
    assert failure(folder) == "DIR: expected the labels of the relations: mapping/relidx2relname.csv.gz"
    folder = folder_of(tmp_path / "b", WIKIKG, WIKIKG_SPLITS)
    folder_of(folder, {}, WIKIKG_SPLITS, name="random")
    assert failure(folder).startswith(
        "DIR: expected one folder with train.pt, valid.pt and test.pt in split; found random"
    )
    folder = folder_of(tmp_path / "c", WIKIKG, WIKIKG_SPLITS)
    (folder / "split" / "time" / "test.pt").write_bytes(b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
    text = failure(folder)
    assert text.startswith("DIR/split/time/test.pt: ")
    assert text.endswith("torch.save(as_tensors(torch.load(file, weights_only=False)), file)")
    folder = folder_of(tmp_path / "d", {k: v for k, v in WIKIKG.items() if "nodeidx" not in k}, WIKIKG_SPLITS)
    assert kgeval.read_dataset(folder).dictionaries["entities"] == ("0", "1", "2", "3")
    assert rows_of(kgeval.read_dataset(folder), "valid") == [("2", "P7", "0")]
    folder = folder_of(tmp_path / "e", {k: v for k, v in BIOKG.items() if "entidx" not in k}, BIOKG_SPLITS)
    entities = ("disease:0", "disease:1", "drug:0", "drug:1", "drug:2")
    assert kgeval.read_dataset(folder).dictionaries["entities"] == entities


@pytest.mark.thorough
def test_files_of_torch_itself(tmp_path):
    """As OGB saves them: numpy arrays and lists of texts."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    folder = folder_of(tmp_path / "x", BIOKG, BIOKG_SPLITS)
    wanted = kgeval.read_dataset(folder)
    for name, content in BIOKG_SPLITS.items():
        torch.save(content, folder / "split" / "time" / f"{name}.pt", pickle_protocol=4)
    assert kgeval.read_dataset(folder).fingerprint == wanted.fingerprint
    for name, content in BIOKG_SPLITS.items():
        tensors = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in content.items()}
        torch.save(tensors, folder / "split" / "time" / f"{name}.pt")
    assert kgeval.read_dataset(folder).fingerprint == wanted.fingerprint
