"""TREC runs whose documents are entities."""

from urllib.parse import quote

import pytest
from grids import size
from prediction_files import random_dataset, random_lists, rows_of

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(test=[("New York", "in", "US"), ("a|b", "r|q", "US"), ("a", "b|r|q", "US")])


def read(tmp_path, text, dataset=DATASET, **options):
    (tmp_path / "run.txt").write_text(text, encoding="utf-8")
    return kg.read_predictions(tmp_path / "run.txt", dataset, **options)


def test_scores_decide(tmp_path):
    found = read(
        tmp_path,
        "New%20York|in|? Q0 US 1 .5 me\n# note\nNew%20York|in|? Q0 New%20York 2 .75 me\n?|in|US Q0 US 1 1 me\n",
    )
    assert rows_of(found, DATASET) == [
        ("New York", "in", None, "object", ["US", "New York"], [0.5, 0.75]),
        (None, "in", "US", "subject", ["US"], [1.0]),
    ]
    assert found.notes == ("read as a TREC run (tag me): scores decide, answers with equal scores tie",)


def test_random_runs_come_back(tmp_path):
    for seed in range(size(3, 120)):
        dataset = random_dataset(seed)
        lists = [row for row in random_lists(dataset, seed, with_scores=True) if row[4]]
        queries = {}
        for s, p, o, side, answers, scores in lists:
            query = (None, p, o) if side == "subject" else (s, p, None)
            queries.setdefault((*query, side), (answers, scores))
        lines = []
        for (s, p, o, _), (answers, scores) in queries.items():
            qid = "|".join("?" if part is None else quote(part, safe="|/") for part in (s, p, o))
            lines += [f"{qid} Q0 {quote(one, safe='|')} 1 {score} t" for one, score in zip(answers, scores)]
        expected = [(*query, *found) for query, found in queries.items()]
        assert rows_of(read(tmp_path, "\n".join(lines), dataset), dataset) == expected, seed


def test_a_query_is_divided_into_labels(tmp_path):
    with pytest.raises(
        DataError, match=r"line 1: the query 'a\|b\|r\|q\|\?' can be divided into labels of the dataset in 2 ways"
    ):
        read(tmp_path, "a|b|r|q|? Q0 US 1 1 t\n")
    found = read(tmp_path, "?|r|q|US Q0 a 1 1 t\n")
    assert rows_of(found, DATASET)[0][:3] == (None, "r|q", "US")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q7 Q0 US 1 1 t", "the query 'q7' does not name its triple; expected s|p|? or ?|p|o"),
        ("?|in|? Q0 US 1 1 t", "does not name its triple"),
        ("a|in|? Q0 US 1 nan t", "expected a number as score, found 'nan'"),
        ("a|in|? Q0 US 1 1_0 t", "expected a number as score, found '1_0'"),
        ("a|in|? Q0 US 1 1", "expected 6 columns"),
        ("?|in|US Q0 US 1 2 t", "'US' of query '?|in|US' is already on line 1; keep one"),
        ("a|in|? Q0 Paris 1 2 t", "unknown entity 'Paris' among the answers"),
    ],
)
@pytest.mark.light(3)
def test_faults_name_the_line(tmp_path, line, message):
    with pytest.raises(DataError) as error:
        read(tmp_path, f"?|in|US Q0 US 1 1 t\n{line}\n")
    assert "run.txt, line 2: " in str(error.value)
    assert message in str(error.value)
