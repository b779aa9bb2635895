"""Which files of a folder are the splits, and which other files are said or refused."""

import bz2
import gzip
import lzma

import pytest

import kgeval
from kgeval.errors import DataError
from kgeval.results.evaluation_result import header_lines

FACTS = {"train": "a r b/b r c/b q c", "valid": "c r a", "test": "a r c"}


def write(folder, **files):
    """Text files, spaces standing for tabs and slashes for line ends; ``__`` in a name is a dot, else .txt."""
    for name, text in files.items():
        path = folder / (name.replace("__", ".") if "__" in name else f"{name}.txt")
        path.write_text("".join(line.replace(" ", "\t") + "\n" for line in text.split("/")))
    return folder


def failure(folder, **options):
    """What reading the folder says, with the folder's own path taken out."""
    with pytest.raises(DataError) as caught:
        kgeval.read_dataset(folder, **options)
    return str(caught.value).replace(str(folder), "DIR")


@pytest.mark.parametrize("name", ["dev.txt", "dev.tsv", "val.txt", "validation.tsv"])
@pytest.mark.light(2)
def test_s3_other_names_of_valid_are_read_and_said(tmp_path, name):
    """The triples of dev are filtered as those of valid are; the dataset says which file it read."""
    write(tmp_path, **FACTS)
    wanted = kgeval.read_dataset(tmp_path)
    assert wanted.observations() == []
    (tmp_path / "valid.txt").rename(tmp_path / name)
    dataset = kgeval.read_dataset(tmp_path)
    assert dataset.fingerprint == wanted.fingerprint
    assert dataset.observations() == [f"{name} is read as the valid split"]
    write(tmp_path, valid=FACTS["valid"])
    assert failure(tmp_path) == (
        f"DIR: contains both valid.txt and {name}; keep only one, or say which to read: splits={{'valid': 'valid.txt'}}"
        f" with ignore=[{name!r}] (--split-files valid=valid.txt --ignore-files {name})"
    )
    assert kgeval.read_dataset(tmp_path, ignore=[name]).observations() == []


def test_s3_facts_beside_train_are_an_error_until_the_caller_says_what_they_are(tmp_path):
    """Neural-LP's folders: facts.txt belongs to the known triples."""
    write(tmp_path, **FACTS, facts="a q b/c q a")
    assert failure(tmp_path) == (
        "DIR: facts.txt looks like a part of the dataset, but is not read; splits={'train': ['facts.txt', 'train.txt']}"
        " (--split-files train=facts.txt+train.txt) reads it, ignore=['facts.txt'] (--ignore-files facts.txt) leaves "
        "it out"
    )
    dataset = kgeval.read_dataset(tmp_path, splits={"train": ["facts.txt", "train.txt"]})
    rows = [(dataset.entities.labels[s], dataset.entities.labels[o]) for s, _, o in dataset["train"].array]
    assert rows == [("a", "b"), ("c", "a"), ("a", "b"), ("b", "c"), ("b", "c")]
    assert dataset.observations() == []
    assert len(kgeval.read_dataset(tmp_path, ignore="facts.txt")["train"]) == 3


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("test_2", "test"),
        ("valid2", "valid"),
        ("train_extra", "train"),
        ("Train", "train"),
        ("training", "train"),
        ("testing", "test"),
        ("testing_facts", "test"),
        ("train_candidates", "train"),
    ],
)
@pytest.mark.light(3)
def test_s3_a_part_of_a_split_is_an_error(tmp_path, name, split):
    """The name has the word of a split, and the lines hold triples of the same labels."""
    write(tmp_path, **FACTS, **{name: "a q b"})
    assert failure(tmp_path).startswith(
        f"DIR: {name}.txt looks like a part of the dataset, but is not read; splits={{{split!r}: ['{name}.txt', "
    )


def test_s3_other_triples_are_a_caution_in_the_dataset_and_in_the_result(tmp_path):
    """The name says nothing, the content does; the same labels in another shape, or other labels, say nothing."""
    write(tmp_path, **FACTS, more="x q b/c q a")
    said = (
        "more.txt holds triples with labels of the dataset, but is not read; splits={'train': ['more.txt', "
        "'train.txt']} "
        "(--split-files train=more.txt+train.txt) reads it, ignore=['more.txt'] (--ignore-files more.txt) leaves it out"
    )
    dataset = kgeval.read_dataset(tmp_path)
    assert dataset.observations() == [said]
    result = kgeval.evaluate(lambda s, p, o: -abs(s - o).astype(float), dataset)
    assert f"dataset: {said}" in header_lines(result)
    write(tmp_path, more="x other y/z other w")
    assert kgeval.read_dataset(tmp_path).observations() == []


def test_s3_known_companions_give_no_caution(tmp_path):
    """Dictionaries, class files, negatives, blocks of candidates, texts, wide tables, scores, hidden files."""
    write(tmp_path, **FACTS, test_negatives="c r b/a r a", ranking_head="a r c/b r c", **{"1-n": "a r c"})
    write(tmp_path, entities__dict="0 a/1 b/2 c", relations__dict="0 r/1 q", entity2text="a first/b second")
    write(
        tmp_path, facts="name capital borders/a b c|d/b c a|d", test_ids="0 0 1/1 0 2", train_texts="a the first/b or c"
    )
    write(tmp_path, scores__tsv="a r c 0.5/a r b 0.25", test_scores__tsv="a r c 0.5/a r b 0.25", _hidden="")
    write(tmp_path, test_candidates="a r c/a r a/c r a/c r b", train_negatives__txt="a q b")
    (tmp_path / "test_metrics.json").write_text('{"a": 0.5, "c": 0.25}')
    (tmp_path / "train.npz").write_bytes(b"PK\3\4")
    (tmp_path / ".train.txt.swp").write_text("a\tr\tb\n")
    (tmp_path / "model.npy").write_bytes(b"\x93NUMPY\0\xff" * 100)
    (tmp_path / "train").mkdir()
    assert kgeval.read_dataset(tmp_path, format="tab").observations() == []


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize(
    ("name", "text", "split"),
    [
        ("facts.txt.gz", "a\tq\tb\n", "train"),
        ("facts.tsv.bz2", "a\tq\tb\n", "train"),
        ("test2.txt.xz", "a q b\n", "test"),
        ("facts.csv", "s,p,o\na,q,b\nc,q,a\n", "train"),
        ("testing.csv", '"a","q","b"\n', "test"),
        ("facts.nt", "<a> <q> <b> .\n", "train"),
        ("test2.txt", "a q b\n", "test"),
        ("train_weighted.txt", "a\tq\tb\t0.5\n", "train"),
        ("dev_facts.json", '{"q": [["a", "q", "b"]]}', "valid"),
        ("test_2.zip", "PK", "test"),
        ("facts.parquet", "PAR1", "train"),
    ],
)
@pytest.mark.light(4)
def test_s3_a_part_of_a_split_in_another_format_is_an_error(tmp_path, name, text, split):
    """Packed, with other separators or more columns; what cannot be looked at is refused by its name."""
    pack = PACKED.get("." + name.rpartition(".")[2], bytes)
    (write(tmp_path, **FACTS) / name).write_bytes(pack(text.encode()))
    whole = "dataset" if name.endswith((".csv", "facts.txt.gz", ".bz2")) else f"{split} split"
    said = (
        f"splits={{{split!r}: {[name, f'{split}.txt']}}} (--split-files {split}={name}+{split}.txt) reads it, "
        f"ignore=[{name!r}] (--ignore-files {name}) leaves it out"
    )
    if name.endswith((".nt", ".json", ".zip")):
        said = f"convert it and name it in splits (--split-files {split}=...), or say "
        said += f"ignore=[{name!r}] (--ignore-files {name})"
    assert failure(tmp_path) == f"DIR: {name} looks like a part of the {whole}, but is not read; {said}"
    assert kgeval.read_dataset(tmp_path, ignore=[name]).observations() == []
    (tmp_path / name).write_bytes(pack(b"other\tlabels\there\n"))
    if not name.endswith((".zip", ".parquet")):
        assert kgeval.read_dataset(tmp_path).observations() == []


def test_s3_new_entities_and_packed_files_are_no_excuse(tmp_path):
    """A part of test whose entities train lacks is an error; packed triples of other names are a caution."""
    write(tmp_path, **FACTS)
    (tmp_path / "test_2.txt").write_text("new\tr\tother\n")
    assert failure(tmp_path).startswith("DIR: test_2.txt looks like a part of the dataset, but is not read")
    (tmp_path / "test_2.txt").unlink()
    (tmp_path / "graph.csv.gz").write_bytes(gzip.compress(b"a,q,b\n"))
    (note,) = kgeval.read_dataset(tmp_path).observations()
    assert note.startswith("graph.csv.gz holds triples with labels of the dataset, but is not read; ")


def test_s3_a_folder_in_the_place_of_a_split(tmp_path):
    """A folder named like a missing split is an error; a folder with further splits is a caution."""
    write(tmp_path, train=FACTS["train"], test=FACTS["test"])
    (tmp_path / "valid").mkdir()
    write(tmp_path / "valid", part=FACTS["valid"])
    assert failure(tmp_path) == (
        "DIR: valid is a folder, and no file holds the valid split; name its files: splits={'valid': 'valid/part.txt'} "
        "(--split-files valid=valid/part.txt), or say ignore=['valid'] (--ignore-files valid)"
    )
    assert len(kgeval.read_dataset(tmp_path, splits={"valid": "valid/part.txt"})["valid"]) == 1
    (tmp_path / "valid" / "part.txt").rename(tmp_path / "valid" / "dev.txt")
    said = ["not read: the folder valid, which contains dev.txt"]
    write(tmp_path, valid=FACTS["valid"])
    assert kgeval.read_dataset(tmp_path).observations() == said
    assert kgeval.read_dataset(tmp_path, ignore=["valid"]).observations() == []


def test_folders_without_splits_say_where_they_may_be(tmp_path):
    """In folders, or under other names."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, **FACTS)
    assert failure(tmp_path).endswith(
        "the folder contains a, b. Splits seem to be in the folders a, b: give the path of one of them (if they are in "
        "an archive, unpack it first)"
    )
    write(tmp_path, wn_train=FACTS["train"], wn_test=FACTS["test"])
    assert failure(tmp_path).endswith(
        "If these are the splits, name them: splits={'train': ['wn_train.txt'], 'test': ['wn_test.txt']} "
        "(--split-files train=wn_train.txt,test=wn_test.txt)"
    )


def test_one_file_of_a_dataset_is_a_caution(tmp_path):
    """Given alone, train is all there is; the other splits beside it are named."""
    write(tmp_path, **FACTS)
    notes = kgeval.read_dataset(tmp_path / "train.txt").notes
    assert notes[1:] == ("not read: test.txt, valid.txt beside train.txt; give the folder to read all splits",)


def test_s3_a_companion_by_name_alone_is_a_caution(tmp_path):
    """Files of candidates and of classes repeat triples of a split; these two do not."""
    for name in ("candidates", "1-n"):
        write(tmp_path, **FACTS, **{name: "a q b/c q a"})
        assert [note.partition(";")[0] for note in kgeval.read_dataset(tmp_path).observations()] == [
            f"{name}.txt holds triples with labels of the dataset, but is not read"
        ]
        (tmp_path / f"{name}.txt").unlink()


def test_s3_no_train_is_a_caution(tmp_path):
    """Without train, nothing of it is filtered."""
    write(tmp_path, test="a r b/b r a")
    assert kgeval.read_dataset(tmp_path).observations() == [
        "no train split: the filter does not remove training triples, and no entity counts as unseen"
    ]


@pytest.mark.parametrize("target", ["nowhere.txt", "train.txt"])
def test_g2_a_symbolic_link_that_leads_nowhere_is_an_error(tmp_path, target):
    """A dangling link, and a link that leads to itself: the split must not vanish."""
    write(tmp_path, test="a r b/b r a")
    (tmp_path / "train.txt").symlink_to(target)
    said = f"DIR/train.txt: is a symbolic link to {target}, which does not exist"
    assert failure(tmp_path) == said + (": it leads to itself" if target == "train.txt" else "")


@pytest.mark.parametrize(
    ("name", "split"),
    [("Train.txt", "train"), ("VALID.TSV", "valid"), ("Train.csv", "train"), ("dev.json", "valid"), ("train", "train")],
)
@pytest.mark.light(3)
def test_g2_a_split_of_another_name_or_format_is_an_error(tmp_path, name, split):
    """The split would vanish; files of code are no splits."""
    write(tmp_path, test="a r b/b r a", train__py="import this")
    assert len(kgeval.read_dataset(tmp_path).splits) == 1
    (tmp_path / name).write_text("a,r,b\n")
    assert failure(tmp_path) == (
        f"DIR: {name} looks like the {split} split, but only files named {split}.txt, .tsv, .csv or .parquet are "
        f"read; rename it, say splits={{{split!r}: {name!r}}} (--split-files {split}={name}) or ignore=[{name!r}] "
        f"(--ignore-files {name})"
    )
    assert len(kgeval.read_dataset(tmp_path, ignore=[name]).splits) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"splits": {"tests": "test.txt"}}, "splits: unknown split 'tests'; did you mean 'test'?; splits are train, "),
        ({"splits": {"test": []}}, "splits: no file is named for test; leave the split out, or name its files"),
        ({"splits": ["test.txt"]}, "splits must map names of splits to files, as in {'valid': 'dev.tsv'}; got ["),
        ({"splits": {"test": ["test.txt", "test.txt"]}}, "splits: DIR/test.txt is named twice; each file belongs to "),
        ({"splits": {"test": "tset.txt"}}, "DIR/tset.txt: no such file; did you mean 'DIR/test.txt'?"),
        ({"ignore": ["tset.txt"]}, "DIR: ignore names 'tset.txt', which the folder does not contain; did you mean "),
    ],
)
def test_splits_and_ignore_name_what_there_is(tmp_path, options, said):
    """Unknown splits, files that are named twice, and misspelt files."""
    assert failure(write(tmp_path, **FACTS), **options).startswith(said)


def test_negatives_of_other_names(tmp_path):
    """WN11 and FB13 in KG-BERT's form: dev.tsv has a label on each line."""
    write(tmp_path, train="a r b/b r c", dev__tsv="a r c 1/c r b -1", test="c r a 1/b r a -1")
    dataset = kgeval.read_dataset(tmp_path, labelled=True)
    assert dataset.observations() == ["dev.tsv is read as the valid split"]
    negatives = kgeval.read_negatives(tmp_path, dataset, labelled=True)
    assert {split: rows.tolist() for split, rows in negatives.items()} == {"valid": [[2, 0, 1]], "test": [[1, 0, 0]]}
    (tmp_path / "dev.tsv").rename(tmp_path / "mine.tsv")
    splits = {"valid": "mine.tsv"}
    dataset = kgeval.read_dataset(tmp_path, labelled=True, splits=splits)
    negatives = kgeval.read_negatives(tmp_path, dataset, labelled=True, splits=splits)
    assert negatives["valid"].tolist() == [[2, 0, 1]]
