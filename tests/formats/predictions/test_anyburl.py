"""Ranking files of AnyBURL and PyClause."""

import pytest
from grids import size
from prediction_files import random_dataset, random_lists, rows_of, write_anyburl

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(test=[("a", "r", "b"), ("c", "r", "b"), ("New York", "in", "US")])


def read(tmp_path, text, **options):
    file = tmp_path / "preds"
    file.write_text(text, encoding="utf-8")
    return kg.read_predictions(file, DATASET, **options)


def test_a_file_by_hand(tmp_path):
    text = "a r b\nHeads: c\t0.9\ta\t0.9\t\nTails: b\t0.5\t\nc r b\nHeads: \nTails: a\t1\t\n"
    found = read(tmp_path, text)
    assert rows_of(found, DATASET) == [
        ("a", "r", "b", "subject", ["c", "a"], None),  # the confidences tie, the order decides
        ("a", "r", "b", "object", ["b"], None),
        ("c", "r", "b", "subject", [], None),
        ("c", "r", "b", "object", ["a"], None),
    ]
    assert found.filtered is None
    assert not found.unmapped_may_be_known
    assert found.notes == (
        "read as AnyBURL or PyClause: the order of each list is its ranking, since the tool broke the ties",
    )


def test_random_files_come_back(tmp_path):
    for seed in range(size(4, 200)):
        dataset = random_dataset(seed)
        lists = random_lists(dataset, seed)
        found = kg.read_predictions(write_anyburl(tmp_path / "preds", lists), dataset)
        assert rows_of(found, dataset) == lists, seed


def test_sides_are_those_of_the_file(tmp_path):
    found = read(tmp_path, "a r b\nTails: b\t0.5\nc\tr\tb\n  Tails: \n")
    assert [row[:5] for row in rows_of(found, DATASET)] == [
        ("a", "r", "b", "object", ["b"]),
        ("c", "r", "b", "object", []),
    ]


def test_line_ends_order_of_sides_and_blanks_in_labels(tmp_path):
    found = read(tmp_path, "\ufeffNew York in US\r\nTails: US\t0.5\r\nHeads: New York\t0.5\t\r\n\r\n")
    assert [row[:5] for row in rows_of(found, DATASET)] == [
        ("New York", "in", "US", "object", ["US"]),
        ("New York", "in", "US", "subject", ["New York"]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a r b\nHeads: x\t1\nTails: \n", "line 2: unknown entity 'x' among the answers"),
        ("a r b\nHeads: c\t1\nTails: \nd r b\nHeads: \n", "line 5: unknown entity 'd'"),
        ("a r b\nHeads: c\nTails: \n", "line 2: expected entity TAB confidence"),
        ("a r b\nHeads: c\tb\nTails: \n", "line 2: expected entity TAB confidence"),
        ("a r b\nHeads: c\tnan\nTails: \n", "line 2: expected entity TAB confidence"),
        (
            "a r b\nHeads: c\t.1\tb\t.9\n",
            "line 2: the best answer must come first, but the confidence 0.9 of 'b' follows",
        ),
        ("a r b\nc r b\nHeads: \n", "line 2: the triple on line 1 has no list"),
        ("a r b\nHeads: \nc r b\n", "line 3: the file ends after this triple; is it cut off?"),
        ("a r b\nHeads: \nHeads: \n", "line 3: a Heads: line without a triple, or a second one"),
        ("a b\nHeads: \n", "line 1: expected a triple"),
    ],
)
@pytest.mark.light(4)
def test_faults_name_the_line(tmp_path, text, message):
    with pytest.raises(DataError, match=f"preds, {message}"):
        read(tmp_path, text, format="anyburl")


def test_an_option_without_use_is_refused(tmp_path):
    with pytest.raises(DataError, match="the format anyburl has no use for matching='exact'"):
        read(tmp_path, "a r b\nHeads: \n", matching="exact")


def test_one_side_of_a_file_of_both(tmp_path):
    """The lists of the other side are left out and counted, their scores with them."""
    text = "a r b\nHeads: c\t0.5\t\nTails: b\t0.9\tc\t0.1\t\n"
    both, tails = read(tmp_path, text), read(tmp_path, text, side="tail")
    assert both.sides.tolist() == ["subject", "object"]
    assert (tails.sides.tolist(), tails.answers.values.tolist()) == (["object"], both.answers.values[1:].tolist())
    assert tails.notes[-1] == "1 query of the other side left out (side='object')"
    with pytest.raises(DataError, match="no query of the file asks for the object; side='object' selects nothing"):
        read(tmp_path, "a r b\nHeads: c\t0.5\t\n", side="object")


def test_numbers_are_those_of_a_loop_over_the_file(tmp_path):
    """Filtered ranks by a loop over the lines: bounds for the positives that their list lacks."""
    for seed in range(size(2, 100)):
        dataset = random_dataset(seed)
        path = write_anyburl(tmp_path / "preds", random_lists(dataset, seed))
        known = {tuple(row) for split in dataset.splits for row in dataset[split].array.tolist()}
        ids = {label: i for i, label in enumerate(dataset.entities.labels)}
        best, worst = [], []
        lines = path.read_text(encoding="utf-8").split("\n")
        for top in range(0, len(lines) - 1, 3):
            s, p, o = lines[top].split("\t")
            s, p, o = ids[s], dataset.relations.labels.index(p), ids[o]
            for line in lines[top + 1 : top + 3]:
                is_subject = line.startswith("Heads: ")
                answers = [ids[word] for word in line[7:].rstrip("\t").split("\t")[0::2] if word]

                def is_rival(entity, positive=(s, p, o), is_subject=is_subject, known=known):
                    triple = (entity, *positive[1:]) if is_subject else (*positive[:2], entity)
                    return triple == positive or triple not in known

                positive = s if is_subject else o
                rivals = [answer for answer in answers if is_rival(answer)]
                is_there = positive in rivals
                best.append(rivals.index(positive) + 1 if is_there else len(rivals) + 1)
                worst.append(best[-1] if is_there else sum(map(is_rival, ids.values())))
        result = kg.evaluate_predictions(kg.read_predictions(path, dataset), dataset, filtered="no")
        assert result["optimistic.mrr"] == pytest.approx(sum(1 / rank for rank in best) / len(best), abs=1e-12), seed
        assert result["pessimistic.mrr"] == pytest.approx(sum(1 / rank for rank in worst) / len(worst), abs=1e-12), seed
        assert result["pessimistic.hits@3"] == pytest.approx(sum(rank <= 3 for rank in worst) / len(worst)), seed
