"""The metadata of a model card: fields of the format, values of the card, and YAML that PyYAML reads back."""

import functools
import warnings

import numpy as np
import pytest

import kgeval as kg
from kgeval.benchmarks import Card, front_matter, named
from kgeval.benchmarks.model_index import yaml_text
from kgeval.errors import DataError
from kgeval.metrics.default_metrics import PAGE_METRICS

HOSTILE = [
    "", " ", "no", "~", "null", "1.0", "1e3", "0x1F", "2026-11-23", "- a", "a: b", "a #b", "#", "&a", "*a", "!!int 3",
    "%", "@", "`", "{a: 1}", "[", "|", ">", "'", '"', "\\", "\\n", "a\nb", "a\r\nb", "\t", "\0", "\x85", "\u2028",
    "\ufeff", "é", "知识", "😀", "---", "...", "? a", ": ", "<<", "=", "a" * 500, "\x7f", "\ue000", "\U000e0001",
]  # fmt: skip


@functools.cache  # cards are read-only
def card(name="Some model: v1", seed=7, dataset_name="four", scorer=None, sides=None):
    """The card of a run of two triples."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name=dataset_name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kg.KgevalWarning)
        run = kg.evaluate(scorer or (lambda s, p, o: o), dataset, kg.Protocol(sides=sides), progress=False)
    return Card.of(named(run, name, seed))


def parsed(text):
    """The value of the block between the two lines of dashes."""
    yaml = pytest.importorskip("yaml")
    assert text.startswith("---\n")
    assert text.endswith("\n---")
    return yaml.safe_load(text.removeprefix("---\n").removesuffix("\n---"))


def test_the_fields_of_the_format():
    """As a README of the Hub has them; each value is that of the card."""
    made = card()
    index = parsed(front_matter(made, dataset_id="org/four"))["model-index"]
    assert [(model["name"], len(model["results"])) for model in index] == [("Some model: v1", 1)]
    result = index[0]["results"][0]
    assert result["task"] == {"type": "link-prediction", "name": "Link prediction"}
    assert result["dataset"] == {
        "name": "four",
        "type": "org/four",
        "split": "test",
        "args": {
            "sha256": made.dataset_fingerprint,
            "protocol": "filtered by test, all entities, both sides",
            "kgeval": kg.__version__,
        },
    }
    assert [metric["type"] for metric in result["metrics"]] == list(PAGE_METRICS)
    for metric in result["metrics"]:
        value, low, high = made.metrics[metric["type"]]
        assert (metric["value"], metric["args"]["low"], metric["args"]["high"]) == (value, low, high)
        assert {**metric["args"], "low": 0, "high": 0} == {
            "setting": "filtered",
            "sides": "subject+object",
            "ties": "realistic",
            "low": 0,
            "high": 0,
            "confidence": 0.95,
            "protocol_fingerprint": made.protocol_fingerprint,
            "ranks_sha256": made.hash,
            "seed": 7,
        }
    assert result["metrics"][0]["name"] == "MRR (filtered, realistic ties)"


def test_chosen_metrics_and_several_datasets():
    """A side and a setting are part of the name; each card is one result of the model."""
    text = front_matter([card(), card(dataset_name="five", seed=None)], metrics=["raw.object.hits@1"])
    results = parsed(text)["model-index"][0]["results"]
    assert [result["dataset"]["name"] for result in results] == ["four", "five"]
    assert [result["metrics"][0]["args"].get("seed") for result in results] == [7, None]
    metric = results[0]["metrics"][0]
    assert (metric["type"], metric["name"]) == ("hits@1", "hits@1 (raw, object side, realistic ties)")
    assert (metric["args"]["setting"], metric["args"]["sides"]) == ("raw", "object")


def test_a_bounded_metric_is_a_text_and_an_unknown_one_a_comment():
    """No number stands for a metric that has none."""
    made = card(sides="object")
    metrics = {**made.content["metrics"]}
    metrics["mr"] = {"value": None, "low": None, "high": None, "least": 2.0, "greatest": 2.5, "reason": "bounds"}
    metrics["mrr"] = {"value": None, "low": None, "high": None, "reason": "not\nknown: - x"}
    text = front_matter(Card({**made.content, "metrics": metrics}))
    found = {metric["type"]: metric for metric in parsed(text)["model-index"][0]["results"][0]["metrics"]}
    assert found["mr"]["value"] == "2 to 2.5"
    assert {*found["mr"]["args"]} == {"setting", "sides", "ties", "protocol_fingerprint", "ranks_sha256", "seed"}
    assert "mrr" not in found
    assert text.split("\n")[1] == "# four: mrr is left out: not\\nknown: - x"


def test_what_is_refused():
    """Several models, no card, one name for several datasets, and a metric that the card lacks."""
    for cards, message in (([], "got no cards"), ([card(), card("other")], "got 'Some model: v1', 'other'")):
        with pytest.raises(DataError, match=message):
            front_matter(cards)
    with pytest.raises(DataError, match="of several datasets, which cannot all be 'org/four' on the Hub"):
        front_matter([card(), replace_dataset(card())], dataset_id="org/four")
    with pytest.raises(DataError, match="metric must be one of 'amri', .*; got 'hits@7'"):
        front_matter(card(), metrics=["hits@7"])


def replace_dataset(made):
    """A card of another dataset."""
    return Card({**made.content, "dataset": {**made.content["dataset"], "fingerprint": "0" * 64}})


@pytest.mark.light(2)
@pytest.mark.parametrize("name", ["é: #1", "no", 'a"b\\c', "😀\u2028 -"])
def test_names_cannot_break_the_block(name):
    """They are texts, whatever is in them."""
    made = card(name, dataset_name=name)
    index = parsed(front_matter(made))["model-index"][0]
    assert (index["name"], index["results"][0]["dataset"]["type"]) == (name, name)


def test_yaml_is_read_back():
    """Texts that look like something else; numbers; nesting of every kind."""
    yaml = pytest.importorskip("yaml")
    numbers = [0, -3, 10**20, 0.1, -0.0, 1e-7, 1e22, 1.5e-300, 123456.789, 5e-324]
    nested = [[], {}, [[]], [[1, [2]], []], {"a": []}, {"a": {"b": {"c": [{"d": 1, "e": [{}]}, "f"]}}}, [{"a": [1]}]]
    value = {"texts": HOSTILE, "numbers": numbers, "nested": nested}
    again = yaml.safe_load(yaml_text(value))
    assert again == value
    assert [type(number) for number in again["numbers"]] == [type(number) for number in numbers]
    for one in (*HOSTILE, *numbers, *nested):
        assert yaml.safe_load(yaml_text(one)) == one


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(20))
def test_random_values_are_read_back(seed):
    """Random nesting, random characters of the first planes."""
    yaml = pytest.importorskip("yaml")
    rng = np.random.default_rng(seed)

    def text():
        codes = rng.choice([127, 256, 0xD7FF, 0x10FFFF], size=rng.integers(0, 6))
        return "".join(chr(c) for c in rng.integers(0, codes + 1) if not 0xD800 <= c <= 0xDFFF)

    def value(depth):
        kind = rng.integers(0, 5 if depth else 3)
        if kind == 4:
            return {f"name{i}": value(depth - 1) for i in range(rng.integers(0, 4))}
        if kind == 3:
            return [value(depth - 1) for _ in range(rng.integers(0, 4))]
        return [text(), int(rng.integers(-(10**9), 10**9)), float(rng.normal() * 10.0 ** rng.integers(-9, 9))][kind]

    for _ in range(50):
        one = value(4)
        assert yaml.safe_load(yaml_text(one)) == one
