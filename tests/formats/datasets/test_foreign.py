"""Files that are no dataset are refused by name; and every folder is recognised by one format at most."""

import gzip

import pytest
from dataset_folders import failure, write

import kgeval
from kgeval.formats.datasets import dataset_formats, tab_folder

FEW_SHOT = (
    "holds few-shot tasks ({relation: [triples]}), which kgeval does not read. Write the background graph and the "
    "support triples of each task as train.txt and the query triples as test.txt (head TAB relation TAB tail)."
)
PREDICTIONS = "holds predictions of SimKGC (the best answers to each query, by name), not triples."
CANDIDATES = "holds lists of candidates for each relation, not triples. Give the folder of the triples as the dataset;"
MODEL = (
    "belongs to a model, not to a dataset. Give it as the model (kgeval.load_model, --model), and the folder of its "
    "triples as the dataset"
)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_tasks.json", FEW_SHOT),
        ("e1rel_e2.json", FEW_SHOT),
        ("WN18RR_typecons.json", CANDIDATES),
        ("rel2candidates.json", CANDIDATES),
        ("forward_predictions.json", PREDICTIONS),
        ("eval_test.txt_backward_model_last.json", PREDICTIONS),
        ("trained_model.pkl", MODEL),
        ("entity_embedding.npy", MODEL),
        ("wn18_TransE_entity.npy", MODEL),
        ("transe.ckpt", MODEL),
        ("checkpoint_best.pt", MODEL),
        ("model.safetensors", MODEL),
        ("embeddings_all_0.v50.h5", MODEL),
        ("complex.npz", MODEL),
    ],
)
@pytest.mark.light(3)
def test_files_are_refused_by_name(tmp_path, name, message):
    """The folder, and the file itself; what to do is said."""
    write(tmp_path, {name: "{}", "config.json": "{}"})
    assert failure(tmp_path).startswith(f"DIR: {name} {message}")
    assert failure(tmp_path / name).startswith(f"DIR: {message}")
    write(tmp_path, {"train.txt": "a\tr\tb\n", "test.txt": "b\tr\ta\n"})
    assert len(kgeval.read_dataset(tmp_path)["test"]) == 1


def test_other_folders_are_not_refused_by_name(tmp_path):
    """They get the message of the reader of tables."""
    write(tmp_path, {"notes.md": "nothing"})
    assert "expected train.txt" in failure(tmp_path)
    assert failure(tmp_path, format="foreign") == (
        "DIR: is none of the files that kgeval refuses by name; leave format= (--dataset-format) out"
    )
    assert "no such folder" in failure(tmp_path / "nowhere", format="foreign")


TABLES = {"train.txt": "a\tr\tb\nb\tr\tc\n", "test.txt": "b\tr\ta\n"}
FOLDERS = {
    None: TABLES,
    "openke": {
        "entity2id.txt": "2\na\t0\nb\t1\n",
        "relation2id.txt": "1\nr\t0\n",
        "train2id.txt": "1\n0 1 0\n",
        "type_constrain.txt": "",
    },
    "rotate": TABLES | {"entities.dict": "0\ta\n1\tb\n2\tc\n", "relations.dict": "0\tr\n"},
    "dglke": TABLES | {"entities.tsv": "0\ta\n1\tb\n2\tc\n", "relations.tsv": "0\tr\n"},
    "libkge": {"entity_ids.del": "0\ta\n", "relation_ids.del": "0\tr\n", "train.del": "0\t0\t0\n"},
    "kgbert": {"train.tsv": "a\tr\tb\n", "dev.tsv": "a\tr\tb\n", "entity2text.txt": "a\tA\n"},
    "rdf": {"train.nt": "<http://e/a> <http://e/p> <http://e/b> .\n"},
    "stare": {"train.txt": "a,r,b\na,r,b,q,c\n"},
    "quadruples": {"train.txt": "0\t0\t1\t3\t0\n", "stat.txt": "2\t1\n"},
    "inductive": {"train.txt": "x\tr\ty\n", "msg.txt": "a\tr\tb\n", "test.txt": "b\tr\ta\n"},
    "ogb": {
        "raw/num-node-list.csv.gz": gzip.compress(b"1\n"),
        "split/time/train.pt": "",
        "mapping/reltype2relid.csv.gz": "",
    },
}
COMPANIONS = {
    "model.ckpt": "",
    "trained_model.pkl": "",
    "entity_embedding.npy": "",
    "README.md": "",
    "config.json": "{}",
}


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("companions", [{}, COMPANIONS])
@pytest.mark.light(10)
def test_each_layout_is_recognised_by_one_format(tmp_path, name, companions):
    """Also with a model beside it."""
    folder = write(tmp_path, FOLDERS[name] | companions)
    recognised = {one.name for one in dataset_formats().values() if one.sniff(folder)} - {tab_folder.FORMAT.name}
    assert recognised == ({name} if name else set())


def test_lists_of_candidates_beside_triples_are_named(tmp_path):
    """They are not read, since every entity is a candidate; `ignore` keeps silent about them."""
    folder = write(tmp_path, {"test.txt": "a\tr\tb\n", "x_typecons.json": "{}", "e1rel_e2.json": "{}"})
    assert kgeval.read_dataset(folder, ignore=["e1rel_e2.json"]).notes[1:] == (
        "not read: x_typecons.json (lists of candidates for each relation: --candidates FILE ranks among them)",
    )
    assert "not read: e1rel_e2.json (few-shot tasks)" in kgeval.read_dataset(folder).notes


def test_sniffing_never_raises(tmp_path):
    """Whatever the path is."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "split").mkdir()
    (tmp_path / "train.txt").mkdir()
    write(tmp_path / "binary", {"train.txt": bytes(range(256)), "entities.tsv": b"\0", "relations.tsv": b"\xff"})
    (tmp_path / "locked").mkdir()
    write(tmp_path / "locked", {"train.txt": ""})
    (tmp_path / "locked").chmod(0)
    try:
        for path in [tmp_path, *tmp_path.iterdir(), tmp_path / "nowhere", tmp_path / ("x" * 5000), tmp_path / "a\0b"]:
            for one in dataset_formats().values():
                assert one.sniff(path) in (True, False)
    finally:
        (tmp_path / "locked").chmod(0o700)


# What each real folder is: its format and its entities, relations, train, valid and test; or the words of the refusal.
REAL = {
    "formats/bertrl-nell_ind": ("inductive", 2086, 79, 4586, 459, 476),
    "formats/grail-nell_v1": "Splits seem to be in the folders nell_v1, nell_v1_ind: give the path of one of them",
    "formats/ingram-nl-0": ("inductive", 2026, 112, 2287, 763, 763),
    "formats/nell-one": FEW_SHOT,
    "formats/openke-wn18rr": ("openke", 40943, 11, 86835, 3034, 3134),
    "formats/pykeen-nations-complex": MODEL,
    "formats/pykeen-nations-transe": MODEL,
    "formats/renet-yago": ("quadruples", 10623, 10, 161540, 19523, 20026),
    "formats/rotate-umls-50": MODEL,
    "formats/simkgc-wikidata5m": PREDICTIONS,
    "formats/simkgc-wn18rr": PREDICTIONS,
    "formats/stare-wd50k_100": ("stare", 18791, 278, 22738, 3279, 5297),
    "formats/typecons": CANDIDATES,
    "fb15k-237": ("rotate", 14541, 237, 272115, 17535, 20466),
    "wn18rr": (None, 40943, 11, 86835, 3034, 3134),
    "wn18": (None, 40943, 18, 141442, 5000, 5000),
    "umls-rnnlogic": ("rotate", 135, 46, 1959, 1306, 3264),
    "umls": (None, 135, 46, 5216, 652, 661),
    "kinship": (None, 104, 25, 8544, 1068, 1074),
    "nations": (None, 14, 55, 1592, 199, 201),
    "countries-s1": (None, 271, 2, 1111, 24, 24),
    "codex-s": (None, 2034, 42, 32888, 1827, 1828),
    "models": MODEL,
    "trec_eval": "expected train.txt",
}


def test_every_real_folder_loads_or_is_refused_by_name(shared):
    """The counts of the READMEs, and one format for each."""
    folders = [*(shared / "data").iterdir(), *(shared / "data" / "formats").iterdir()]
    names = {str(path.relative_to(shared / "data")) for path in folders if path.is_dir()} - {"formats"}
    assert names == set(REAL)
    for name, expected in REAL.items():
        folder = shared / "data" / name
        recognised = {one.name for one in dataset_formats().values() if one.sniff(folder)} - {tab_folder.FORMAT.name}
        if isinstance(expected, str):
            assert recognised == ({"foreign"} if expected in (FEW_SHOT, PREDICTIONS, CANDIDATES, MODEL) else set()), (
                name
            )
            assert expected in failure(folder), name
            continue
        assert recognised == ({expected[0]} if expected[0] else set()), name
        dataset = kgeval.read_dataset(folder)
        sizes = len(dataset.entities), len(dataset.relations), *(len(part) for part in dataset.splits.values())
        assert sizes == expected[1:], name
        about = dataset_formats()[expected[0]].about if expected[0] else None
        assert (dataset.notes[:1] == (f"read as {about}",)) == (about is not None), name
