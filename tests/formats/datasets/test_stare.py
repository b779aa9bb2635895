"""Statements with qualifiers, as StarE's datasets hold them."""

from collections import Counter

import pytest
from dataset_folders import CHARACTERS, assert_same, failure, generator, lines, random_facts, rows_of, write
from grids import light, size

import kgeval

FILES = {
    "train.txt": "a,r,b,q1,c\na,r,b,q1,d,q2,a\nb,r,c\n",
    "test.txt": "c,r,a,q1,e\nb,r,c,q1,a\n",
}
READ_AS = "read as StarE (statements s,p,o with qualifiers)"


def test_qualifiers_are_kept(tmp_path):
    """With the ids of the dataset, sorted within a statement; notes tell what they distinguish."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES))
    assert rows_of(dataset, "train") == [("a", "r", "b"), ("a", "r", "b"), ("b", "r", "c")]
    assert rows_of(dataset, "test") == [("c", "r", "a"), ("b", "r", "c")]
    assert dataset.columns["train"].to_dict("list") == {
        "n_qualifiers": [1, 2, 0],
    }
    assert [dataset.qualifiers["train"][i] for i in range(3)] == [[(0, 2)], [(0, 3), (1, 0)], []]
    assert dataset.qualifiers["test"] == dataset.column("test", "qualifiers")
    assert (dataset.has_qualifiers, dataset.time_column) == (True, None)
    assert dataset.columns["test"]["n_qualifiers"].tolist() == [1, 1]
    assert dataset.entities.labels == ("a", "b", "c", "d", "e")
    assert dataset.relations.labels == ("q1", "q2", "r")
    assert dataset.observations() == [
        READ_AS,
        "4 of 5 statements have qualifiers. Results can be broken down by the number of qualifiers: "
        "result.by('qualifiers'), --by qualifiers",
        "2 statements differ from other statements only in their qualifiers, so they repeat a triple",
        "2 entities and 2 relations occur in qualifiers only; these entities are candidates, as in StarE",
    ]


def test_one_statement_in_the_words_of_one(tmp_path):
    """The same qualifiers in another order are the same statement."""
    files = {"train.txt": "a,r,b,q,a,q,b\na,r,b,q,b,q,a\na,r,b\n"}
    assert kgeval.read_dataset(write(tmp_path, files)).notes[2] == (
        "1 statement differs from another statement only in its qualifiers, so it repeats a triple"
    )


def test_s3_a_part_of_a_split_is_an_error(tmp_path):
    """As in other folders."""
    folder = write(tmp_path, FILES | {"facts.txt": "a,r,b,q1,c\n"})
    assert failure(folder).startswith("DIR: facts.txt looks like a part of the dataset, but is not read")
    assert len(kgeval.read_dataset(folder, ignore=["facts.txt"])["train"]) == 3


@pytest.mark.parametrize("seed", light(range(2), 1))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """Labels of any characters but commas; the entities of qualifiers belong to the dataset."""
    for case in range(size(3, 150)):
        rng = generator(1000 * seed + case)
        facts, entities, relations = random_facts(rng, CHARACTERS.replace(",", ""))
        pairs = {
            split: [[(rng.choice(relations), rng.choice(entities)) for _ in range(rng.randint(0, 3))] for _ in rows]
            for split, rows in facts.items()
        }
        files = {
            f"{split}.txt": lines([[*row, *sum(of, ())] for row, of in zip(rows, pairs[split], strict=True)], ",")
            for split, rows in facts.items()
        }
        dataset = kgeval.read_dataset(write(tmp_path / str(case), files), format="stare")
        everything = [pair for of in pairs.values() for row in of for pair in row]
        assert_same(dataset, facts, {e for _, e in everything}, {r for r, _ in everything})
        for split, of in pairs.items():
            assert dataset.columns[split]["n_qualifiers"].tolist() == [len(row) for row in of]
            relations_of, entities_of = dataset.relations.labels, dataset.entities.labels
            read = [dataset.qualifiers[split][i] for i in range(len(of))]
            assert [[(relations_of[r], entities_of[e]) for r, e in row] for row in read] == [sorted(row) for row in of]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,r,b,q1\n",
            "DIR/test.txt, line 1: expected s,p,o and pairs of a relation and an entity (3, 5, 7, ... parts between "
            "commas); found 4: 'a,r,b,q1'",
        ),
        (
            "a,r,b\na,r\n",
            "DIR/test.txt, line 2: expected s,p,o and pairs of a relation and an entity (3, 5, 7, ... parts between "
            "commas); found 2: 'a,r'",
        ),
        (
            "a,r,b\n\na,r,b\n",
            "DIR/test.txt, line 2: expected s,p,o and pairs of a relation and an entity (3, 5, 7, ... parts between "
            "commas); found 0: ''",
        ),
        ("a,r,b,,c\n", "DIR/test.txt, line 1: part 4 is empty: 'a,r,b,,c'"),
    ],
)
def test_faults_name_file_and_line(tmp_path, text, message):
    """A relation of a qualifier without its entity, an empty part."""
    assert failure(write(tmp_path, FILES | {"test.txt": text}), format="stare") == message


@pytest.mark.parametrize("text", ["a,r,b\nb,r,c\n", "a,r,b,2001,2002\nb,r,c,2003,2004\n", "a\tr,b,c\tb\nb\tr\tc,d\n"])
def test_other_lines_with_commas_are_no_statements(tmp_path, text):
    """Triples, triples with two times, labels with commas between tabs."""
    from kgeval.formats.datasets.stare import FORMAT

    assert not FORMAT.sniff(write(tmp_path, {"train.txt": text}))


def test_wd50k_100_has_the_counts_of_its_publication(shared):
    """README of the repository: 31,314 statements, all qualified; StarE counts one padding entity and relation."""
    folder = shared / "data" / "formats" / "stare-wd50k_100"
    dataset = kgeval.read_dataset(folder)
    assert {split: len(part) for split, part in dataset.splits.items()} == {"train": 22738, "valid": 3279, "test": 5297}
    assert len(dataset.entities) == 18792 - 1
    assert len(dataset.relations) == 279 - 1
    seen, triples, n_repeats = set(), Counter(), 0
    for split in ("train", "valid", "test"):
        for line in (folder / f"{split}.txt").read_text().splitlines():
            s, p, o, *rest = line.split(",")
            qualifiers = sorted((rest[i], rest[i + 1]) for i in range(0, len(rest), 2))
            if (s, p, o, str(qualifiers)) not in seen:
                n_repeats += triples[s, p, o] > 0
                triples[s, p, o] += 1
            seen.add((s, p, o, str(qualifiers)))
    assert dataset.notes[1].startswith("31,314 of 31,314 statements have qualifiers")
    assert dataset.notes[2] == (
        f"{n_repeats:,} statements differ from other statements only in their qualifiers, so they repeat a triple"
    )
