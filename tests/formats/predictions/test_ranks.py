"""Tables of ranks of other tools."""

import numpy as np
import pandas as pd
import pytest
from grids import size
from prediction_files import random_dataset

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(test=[("a", "r", "b"), ("NA", "r", "null")])


def read(tmp_path, text, **options):
    (tmp_path / "ranks.tsv").write_text(text.replace(" ", "\t"))
    return kg.read_predictions(tmp_path / "ranks.tsv", DATASET, **options)


def rows_of(found, dataset=DATASET):
    names, relations = dataset.entities.labels, dataset.relations.labels
    triples = [(names[s], relations[p], names[o]) for s, p, o in found.triples.tolist()]
    return [(*triple, str(side), rank) for triple, side, rank in zip(triples, found.sides, found.ranks.tolist())]


BOTH = [
    ("a", "r", "b", "subject", 2),
    ("a", "r", "b", "object", 1.5),
    ("NA", "r", "null", "subject", 3),
    ("NA", "r", "null", "object", 1),
]


@pytest.mark.parametrize(
    ("header", "filtered"),
    [
        ("s p o rank_head rank_tail", None),
        ("h r t Rank_s Rank_o", None),
        ("head relation tail head_rank tail_rank", None),
        ("subject predicate object filteredRankHead filteredRankTail", "after"),
        ("head relation tail raw_rank_lhs raw_rank_rhs", "no"),
    ],
)
def test_one_column_for_each_side(tmp_path, header, filtered):
    found = read(tmp_path, f"{header}\na r b 2 1.5\nNA r null 3 1\n")
    assert isinstance(found, kg.GivenRanks)
    assert rows_of(found) == BOTH
    assert found.filtered == filtered
    assert found.n_candidates is None
    assert found.notes == ("read as a table of ranks",)


def test_one_column_and_the_side_of_each_row(tmp_path):
    text = "s p o side rank n_candidates\na r b head 2 4\na r b tail 1.5 4\nNA r null subject 3 3\nNA r null o 1 4\n"
    found = read(tmp_path, text)
    assert rows_of(found) == BOTH
    assert found.n_candidates.tolist() == [4, 4, 3, 4]
    with pytest.raises(DataError, match="line 2: expected head, tail, subject or object as side; got 'both'"):
        read(tmp_path, "s p o side rank\na r b both 2\n")


def test_one_column_without_a_side_asks(tmp_path):
    with pytest.raises(DataError, match="the file does not say which side its queries ask for; give side='object'"):
        read(tmp_path, "s p o rank\na r b 2\n")
    assert rows_of(read(tmp_path, "s p o rank\na r b 2\n", side="head")) == [("a", "r", "b", "subject", 2)]
    assert rows_of(read(tmp_path, "s p o rank_head rank_tail\na r b 2 1\n", side="head")) == [
        ("a", "r", "b", "subject", 2)
    ]


def test_filtered_and_raw_columns(tmp_path):
    found = read(tmp_path, "s p o side rank_raw rank_filtered rivals_raw rivals_filtered\na r b head 3 2 9 5\n")
    assert rows_of(found) == [("a", "r", "b", "subject", 2)]
    assert found.filtered == "after"
    assert found.n_candidates.tolist() == [6]
    assert found.notes[1] == "the filtered ranks were read; the columns of raw ranks were not: rank_raw"
    with pytest.raises(DataError, match="some columns of ranks say raw or filtered, others do not"):
        read(tmp_path, "s p o side rank rank_filtered\na r b head 3 2\n")
    with pytest.raises(DataError, match=r"several columns of ranks \(rank, true_rank\); keep one"):
        read(tmp_path, "s p o side rank true_rank\na r b head 3 2\n")


def test_candidates_of_each_side(tmp_path):
    found = read(tmp_path, "s p o rank_head rank_tail num_candidates_head num_candidates_tail\na r b 2 1 7 8\n")
    assert found.n_candidates.tolist() == [7, 8]
    with pytest.raises(DataError, match="the columns of candidates are for one side only"):
        read(tmp_path, "s p o rank_head rank_tail n_candidates_head\na r b 2 1 7\n")


def test_ranks_that_kgeval_wrote_come_back(tmp_path):
    for seed in range(size(2, 60)):
        dataset = random_dataset(seed)
        scores = np.random.default_rng(seed).integers(0, 4, len(dataset.entities)).astype(float)
        result = kg.evaluate(lambda s, p, o, scores=scores: scores[s] + 2 * scores[o], dataset, progress=False)
        path = tmp_path / f"ranks.{['csv', 'tsv'][seed % 2]}"
        from kgeval.report.exports import write_ranks

        write_ranks(result, path, overwrite=True)
        found = kg.read_predictions(path, dataset)
        frame = result.ranks(labels=True)
        expected = list(zip(frame["s"], frame["p"], frame["o"], frame["side"], frame["rank_filtered"]))
        assert rows_of(found, dataset) == expected, seed
        assert found.n_candidates.tolist() == (frame["rivals_filtered"] + 1).tolist()


def test_quoted_csv(tmp_path):
    frame = pd.DataFrame([["a", "r", "b", "tail", 4]], columns=["head", "relation", "tail", "side", "rank"])
    frame.to_csv(tmp_path / "ranks.csv", index=False, quoting=1)
    assert rows_of(kg.read_predictions(tmp_path / "ranks.csv", DATASET)) == [("a", "r", "b", "object", 4)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a r b 0 1", "expected a rank: 1, 1.5, 2, ...; got 0; if ranks count from 0, add 1"),
        ("a r b 1.25 1", "expected a rank: 1, 1.5, 2, ...; got 1.25"),
        ("a r b inf 1", "expected a rank"),
        ("a r b nan 1", "expected a number in the column rank_head; got 'nan'"),
        ("a r b NA 1", "expected a number in the column rank_head; got 'NA'"),
        ("a r b 1", "expected 5 columns, as in the header; found 4"),
        ("a r c 1 1", "unknown entity 'c'"),
        ("a q b 1 1", "unknown relation 'q'"),
    ],
)
@pytest.mark.light(3)
def test_faults_name_the_line(tmp_path, row, message):
    with pytest.raises(DataError) as error:
        read(tmp_path, f"s p o rank_head rank_tail\na r b 1 1\n{row}\n")
    assert "ranks.tsv, line 3: " in str(error.value)
    assert message in str(error.value)


def test_a_rank_beyond_the_candidates_is_refused(tmp_path):
    with pytest.raises(DataError, match="line 2: rank 5 of only 4 candidates"):
        read(tmp_path, "s p o side rank candidates\na r b o 5 4\n")
