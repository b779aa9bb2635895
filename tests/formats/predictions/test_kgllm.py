"""Generated texts of KG-LLM and their matching rules."""

import json

import pytest
from prediction_files import rows_of

import kgeval as kg
from kgeval.errors import DataError

TEST = [("Jack_Hart", "born in", "New_York"), ("Mary", "born in", "Rome"), ("Ann", "likes", "Mary")]
DATASET = kg.Dataset.from_frames(train=[("York", "in", "England")], test=TEST)
NAMES = {"Rome": ["Rome", "Roma"], "New_York": ["New York City", "NYC"], "York": "York", "England": ["England", "Roma"]}
PROMPTS = ("Jack Hart was born in", "Mary was born in", "Ann likes")


def csv_file(tmp_path, *texts, prompts=PROMPTS):
    quoted = [f'"{prompt}","{text}"' for prompt, text in zip(prompts, texts)]
    (tmp_path / "pred.csv").write_text("\n".join(["prompt,generated", *quoted]) + "\n")
    return tmp_path / "pred.csv"


def read(path, matching="exact", **options):
    return kg.read_predictions(path, DATASET, **{"side": "object", **options}, matching=matching)


def first_answers(found):
    return [row[4][0] for row in rows_of(found, DATASET)]


def test_the_rule_is_asked_for(tmp_path):
    with pytest.raises(
        DataError, match=r"matching='exact', 'alias' or 'substring' \(--matching\); exact: the whole text is"
    ):
        read(csv_file(tmp_path, "a", "b", "c"), matching=None)
    with pytest.raises(DataError, match="matching must be one of 'exact', 'alias', 'substring'; got 'fuzzy'"):
        read(csv_file(tmp_path, "a", "b", "c"), matching="fuzzy")
    with pytest.raises(DataError, match="the file does not say which side"):
        kg.read_predictions(csv_file(tmp_path, "a", "b", "c"), DATASET, matching="exact")


def test_each_rule_and_its_counts(tmp_path):
    path = csv_file(tmp_path, "NYC", "Rome, in Italy", "roma")
    exact, alias, substring = (read(path, rule, entity_names=NAMES) for rule in ("exact", "alias", "substring"))
    assert first_answers(exact) == [None, None, None]
    assert first_answers(alias) == ["New_York", None, None]
    assert first_answers(substring) == ["New_York", "Rome", None]
    assert (
        exact.notes[-2].endswith("as its label or first name")
        or ": 0 texts name one entity, 0 several, 3 none" in exact.notes[-2]
    )
    assert ": 1 text names one entity, 1 several (0 of these could be the positive), 1 none" in alias.notes[-2]
    assert ": 2 texts name one entity, 1 several (0 of these could be the positive), 0 none" in substring.notes[-2]
    assert [found.unmapped_may_be_known for found in (exact, alias, substring)] == [False, True, True]
    assert exact.filtered == "no"
    assert exact.notes[-1] == "generated texts are not filtered"


def test_labels_with_underscores_are_names(tmp_path):
    assert first_answers(read(csv_file(tmp_path, "New York", "Rome", "Mary"))) == ["New_York", "Rome", "Mary"]
    assert first_answers(read(csv_file(tmp_path, "new york", "Rome.", "Mary"))) == [None, None, "Mary"]


def test_a_substring_is_a_whole_word_and_the_longest_name(tmp_path):
    texts = ("He comes from New York!", "Romeo", "Mary or Rome")
    assert first_answers(read(csv_file(tmp_path, *texts), "substring")) == ["New_York", None, None]


def test_a_prompt_within_the_text_is_left_out(tmp_path):
    texts = [f"{prompt} {answer}" for prompt, answer in zip(PROMPTS, ("New York", "Rome", "Mary"))]
    assert first_answers(read(csv_file(tmp_path, *texts), "substring")) == ["New_York", "Rome", "Mary"]


def test_rows_in_another_order_are_refused(tmp_path):
    path = csv_file(tmp_path, "a", "b", "c", prompts=(PROMPTS[1], PROMPTS[0], PROMPTS[2]))
    with pytest.raises(
        DataError, match=r"line 2: the prompt 'Mary was born in' does not name 'Jack_Hart', an entity of triple 1"
    ):
        read(path)
    with pytest.raises(DataError, match="2 texts, but 3 triples in test"):
        read(csv_file(tmp_path, "a", "b"))


def test_json_lines_of_labels_and_texts(tmp_path):
    path = tmp_path / "generated_predictions.txt"
    golds, texts = ("New York", "Rome", "Mary"), ("York", "", "Mary")
    path.write_text("".join(json.dumps({"labels": g, "predict": t}) + "\n" for g, t in zip(golds, texts)))
    assert first_answers(read(path)) == ["York", None, "Mary"]
    path.write_text("".join(json.dumps({"labels": g, "predict": ""}) + "\n" for g in reversed(golds)))
    with pytest.raises(DataError, match="line 1: labels 'Mary' does not name 'New_York'"):
        read(path)


def test_subject_queries_give_the_object(tmp_path):
    prompts = ("Who was born in New York?", "Who was born in Rome?", "Who likes Mary?")
    found = read(csv_file(tmp_path, "Jack Hart", "Ann", "Ann", prompts=prompts), side="subject")
    assert [(row[3], row[4]) for row in rows_of(found, DATASET)] == [
        ("subject", [x]) for x in ("Jack_Hart", "Ann", "Ann")
    ]


def test_faults_of_the_table(tmp_path):
    path = tmp_path / "pred.csv"
    path.write_text('prompt,generated\nJack Hart was born in,"New York"\nMary, who,x\n')
    with pytest.raises(DataError, match="pred.csv, line 3: expected a prompt and a generated text, 2 columns; found 3"):
        read(path)
    path.write_text('prompt,generated\n"Jack Hart was born in,"New York"\n')
    with pytest.raises(DataError, match="pred.csv, line 2: wrong double quotes"):
        read(path)


def test_letters_of_two_characters_do_not_end_a_word(tmp_path):
    """An accent may be a character of its own: a text about the Café does not name the entity Cafe."""
    dataset = kg.Dataset.from_frames(train=[("Cafe", "in", "x")], test=[("y", "in", "Café")])
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps({"labels": "Café", "predict": "the Cafe\u0301 of y2"}) + "\n")
    for matching, n_right in (("substring", 1), ("alias", 0)):
        found = kg.read_predictions(path, dataset, matching=matching, side="object")
        assert (found.answers.values == found.triples[:, 2]).sum() == n_right
