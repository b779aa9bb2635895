"""SimKGC's predictions: names in place of labels, inverse relations, merged homonyms, ranks."""

import json

import numpy as np
import pytest
from grids import size
from prediction_files import name_of, random_dataset, random_lists, rows_of, simkgc_records, write_json

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(
    train=[("e", "r", "f"), ("g", "q", "e")], test=[("a", "r", "b"), ("c", "r", "b"), ("a", "q", "d")]
)
FORWARD, BACKWARD = "forward_predictions.json", "backward_predictions.json"


def record(head, relation, tail, *names, rank=None, correct=None):
    info = dict.fromkeys(names, 0.5)
    correct = names[0] == tail if correct is None else correct
    made = {"head": head, "relation": relation, "tail": tail, "pred_tail": names[0], "pred_score": 0.5}
    made |= {"topk_score_info": json.dumps(info)} | ({} if rank is None else {"rank": rank})
    return made | {"correct": correct}


GOOD = [
    record("A", "is", "B", "B", "C", "X"),
    record("C", "is", "B", "A", "B", "C"),
    record("A", "has", "D", "Y", "X", "A"),
]


def read(tmp_path, records, name=FORWARD, dataset=DATASET, **options):
    return kg.read_predictions(write_json(tmp_path / name, records, indent=4), dataset, **options)


def test_rows_are_aligned_with_the_split_by_order(tmp_path):
    found = read(tmp_path, GOOD)
    assert rows_of(found, DATASET) == [
        ("a", "r", "b", "object", ["b", "c", None], None),
        ("c", "r", "b", "object", ["a", "b", "c"], None),
        ("a", "q", "d", "object", [None, None, "a"], None),
    ]
    assert found.filtered == "after"
    assert found.unmapped_may_be_known
    assert found.notes == (
        "read as SimKGC",
        "SimKGC masks known answers of train, valid and test before it ranks: the ranks are filtered with the splits "
        "that the tool read",
        "the order of each list is its ranking, since scores are rounded to 3 decimals",
        "the file names entities by names, not by labels: the 3 object queries of the file were matched with the 3 "
        "triples of test by order; every relation agrees and names map one to one (4 names)",
        "3 answers (2 texts) stay unmapped: no triple of the file has such a name",
    )


def test_the_first_disagreement_is_shown(tmp_path):
    """Rows in another order than the split would give plausible wrong numbers."""
    message = r"json, line 19: .* disagree: here 'A' stands for the entity 'a', but on line 10 'A' stands for 'c'; give"
    with pytest.raises(DataError, match=message):
        read(tmp_path, [GOOD[1], GOOD[0], GOOD[2]])


def test_the_number_of_rows_must_be_that_of_the_split(tmp_path):
    with pytest.raises(
        DataError, match=r"'A' is no label of 'dataset', and the 2 object queries .* the 3 triples of test"
    ):
        read(tmp_path, GOOD[:2])


def test_a_name_of_two_entities_is_refused_without_names(tmp_path):
    wrong = [*GOOD[:2], record("B", "has", "D", "Y", "X", "A")]
    with pytest.raises(
        DataError, match=r"here 'B' stands for the entity 'a', but on line 1 'B' stands for 'b'; give entity_names="
    ):
        read(tmp_path, wrong)
    with pytest.raises(
        DataError, match=r"'is' stands for the relation 'q', but on line 1 'is' stands for 'r'; give relation"
    ):
        read(tmp_path, [*GOOD[:2], record("A", "is", "D", "Y", "X", "A")])


def test_random_folders_come_back_by_order_and_by_names(tmp_path):
    for seed in range(size(4, 150)):
        dataset = random_dataset(seed)
        lists = [row for row in random_lists(dataset, seed, longest=7) if row[4]]
        lists = [(*row[:4], (row[4] * 3)[:3] if len(set(row[4])) > 2 else row[4], None) for row in lists]
        triples = {tuple(row[:3]) for row in lists}
        by_side = {side: [row for row in lists if row[3] == side] for side in ("subject", "object")}
        if min(len(rows) for rows in by_side.values()) < 1:
            continue
        longest = {side: max(len(row[4]) for row in rows) for side, rows in by_side.items()}
        write_json(tmp_path / FORWARD, simkgc_records(by_side["object"]))
        write_json(tmp_path / BACKWARD, simkgc_records(by_side["subject"]))
        names = {label: name_of(label) for label in dataset.entities.labels}
        relation_names = {label: f"{label} rel" for label in dataset.relations.labels}
        found = kg.read_predictions(tmp_path, dataset, entity_names=names, relation_names=relation_names)
        expected = [
            (*row[:4], row[4] if len(row[4]) == longest[side] else row[4][:1], None)
            for side in ("object", "subject")
            for row in by_side[side]
        ]
        assert rows_of(found, dataset) == expected, seed
        assert not any("stay unmapped" in note for note in found.notes)
        if len(triples) * 2 == len(lists) == 2 * len(dataset["test"]):  # each triple has both lists: order is enough
            aligned = rows_of(kg.read_predictions(tmp_path, dataset), dataset)
            assert [row[:4] for row in aligned] == [row[:4] for row in expected]


def test_a_short_list_hides_homonyms(tmp_path):
    """Two entities of one name share an entry: only the first place of such a list is certain."""
    found = read(tmp_path, [GOOD[0], record("C", "is", "B", "A", "B"), GOOD[2]])
    assert rows_of(found, DATASET)[1][4] == ["a"]
    assert any(note.startswith("1 list holds fewer than 3 names") for note in found.notes)


def test_correct_decides_between_homonyms(tmp_path):
    """An answer with the name of the positive that is not the positive must not count as it."""
    found = read(tmp_path, [record("A", "is", "B", "B", "C", "X", correct=False), *GOOD[1:]])
    assert rows_of(found, DATASET)[0][4] == [None, "c", None]


def test_names_of_several_entities_are_counted(tmp_path):
    names = {"a": "A", "b": "B", "c": "C", "d": "D", "e": ["X", "E"], "f": "X", "g": "Y"}
    found = read(tmp_path, GOOD, entity_names=names)
    assert [row[4] for row in rows_of(found, DATASET)] == [["b", "c", None], ["a", "b", "c"], ["g", None, "a"]]
    assert found.unmapped_may_be_known
    assert "names are given for 7 entities; 1 name is shared by several entities" in found.notes
    assert "2 answers stay unmapped, because several entities have such a name" in found.notes
    own = read(tmp_path, GOOD, entity_names={**names, "f": "B"})  # the positive b shares its name with f
    assert [row[4] for row in rows_of(own, DATASET)] == [["b", "c", "e"], ["a", "b", "c"], ["g", "e", "a"]]
    assert any(note.startswith("in 2 lists, the name of the positive is also the name of other") for note in own.notes)


def test_a_file_of_names(tmp_path):
    (tmp_path / "entity2text.txt").write_text("a\tA\nb\tB\nc\tC\nd\tD\ne\tX\ng\tY\n")
    found = read(tmp_path, GOOD, entity_names=tmp_path / "entity2text.txt")
    assert [row[4] for row in rows_of(found, DATASET)] == [["b", "c", "e"], ["a", "b", "c"], ["g", "e", "a"]]
    assert "names are given for 6 entities of 7 (the others have only their labels)" in found.notes
    (tmp_path / "other.txt").write_text("z\tA\n")
    with pytest.raises(DataError, match=r"none of 1 label is in the dataset \(the first is 'z'\)"):
        read(tmp_path, GOOD, entity_names=tmp_path / "other.txt")
    (tmp_path / "one.txt").write_text("a A\n")
    with pytest.raises(DataError, match=r"one.txt, line 1: expected a label and a name with a tab between"):
        read(tmp_path, GOOD, entity_names=tmp_path / "one.txt")
    with pytest.raises(DataError, match=r"line 19: unknown entity 'D'; add it to entity_names="):
        read(tmp_path, GOOD, entity_names={"a": "A", "b": "B", "c": "C"})


def test_a_rank_in_every_row_decides(tmp_path):
    rows = [
        record(*one, rank=rank)
        for one, rank in zip([("A", "is", "B", "B", "C", "X"), ("C", "is", "B", "A", "B", "C")], (1, 2))
    ]
    found = read(tmp_path, [*rows, record("A", "has", "D", "Y", "X", "A", rank=17)])
    assert isinstance(found, kg.GivenRanks)
    assert found.ranks.tolist() == [1, 2, 17]
    assert found.filtered == "after"
    assert found.n_candidates is None
    assert np.array_equal(found.triples, DATASET["test"].array)
    with pytest.raises(DataError, match="line 1: rank is 3, but number 3 of topk_score_info is 'X' and not 'B'"):
        read(tmp_path, [record("A", "is", "B", "B", "C", "X", rank=3), *rows[1:]])
    with pytest.raises(DataError, match="has no rank, but other rows have one"):
        read(tmp_path, [*rows, GOOD[2]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topk_score_info": "{"}, "topk_score_info: not JSON"),
        ({"topk_score_info": "[1]"}, "expected topk_score_info as a JSON text"),
        ({"topk_score_info": '{"B": null}'}, "expected a number as score; got null"),
        ({"topk_score_info": '{"B": NaN}'}, "expected a number as score; got nan"),
        ({"pred_tail": "C"}, "pred_tail 'C' is not the first of topk_score_info, 'B'"),
        ({"tail": "Z"}, "correct is true, but pred_tail 'B' is not the tail 'Z'"),
        ({"head": None}, "expected the label of the head as a string; got null"),
    ],
)
@pytest.mark.light(3)
def test_faults_name_the_line(tmp_path, change, message):
    with pytest.raises(DataError) as error:
        read(tmp_path, [GOOD[0] | change, *GOOD[1:]])
    assert f"{FORWARD}, line 1" in str(error.value)
    assert message in str(error.value)


def test_a_folder_with_two_files_for_one_side_is_refused(tmp_path):
    for name in (FORWARD, "eval_test.txt.json_forward_model.json"):
        write_json(tmp_path / name, GOOD)
    with pytest.raises(DataError, match="give the path of one file"):
        kg.read_predictions(tmp_path, DATASET)


def test_the_published_file_of_wn18rr(shared):
    """The numbers that the authors published with the file: hits@1 .6308, hits@3 .7664, MRR .7116."""
    dataset = kg.read_dataset(shared / "data" / "wn18rr")
    found = kg.read_predictions(shared / "data" / "formats" / "simkgc-wn18rr" / FORWARD, dataset)
    assert len(found) == 3134
    assert np.array_equal(found.triples, dataset["test"].array)
    assert "every relation agrees and names map one to one (5,323 names)" in found.notes[3]
    lowest = highest = 0.0
    hits = {1: 0, 3: 0}
    for row, positive in enumerate(found.triples[:, 2].tolist()):
        answers = found.answers.values[found.answers.offsets[row] : found.answers.offsets[row + 1]].tolist()
        rank = answers.index(positive) + 1 if positive in answers else None
        hits = {k: n + (rank is not None and rank <= k) for k, n in hits.items()}
        lowest += 1 / (rank or len(dataset.entities))
        highest += 1 / (rank or len(answers) + 1)
    n = len(found)
    assert [round(value / n, 4) for value in (hits[1], hits[3], lowest, highest)] == [0.6308, 0.7664, 0.6917, 0.7501]
