"""The metrics of cards as metadata of a model card of the Hugging Face Hub (``model-index``), written as YAML.

`kgeval card --model-index` prints it. The README of a model starts with this text. PyYAML is not needed: `yaml_text`
writes what both YAML 1.1 (PyYAML) and YAML 1.2 (the Hub) read in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kgeval.benchmarks.card import Card
from kgeval.checks import check_one_of, names_unknown_arguments
from kgeval.data.sides import entity_sides
from kgeval.errors import DataError
from kgeval.metrics.default_metrics import PAGE_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.results.keys import Key
from kgeval.wording import printable

TASK = {"type": "link-prediction", "name": "Link prediction"}


@names_unknown_arguments()
def front_matter(
    cards: Card | Sequence[Card], *, dataset_id: str | None = None, metrics: Sequence[str] = PAGE_METRICS
) -> str:
    """Return the metadata block ``model-index`` of a model card for the cards of one model.

    The fingerprint of the dataset is in ``dataset.args``; ``dataset.revision`` stays empty, since it means a commit of
    the dataset on the Hub. The seed and the hash of the ranks are in the ``args`` of each metric.

    Parameters
    ----------
    cards : Card or sequence of Card
        Several cards of the same model, such as of several datasets, give several results.
    dataset_id : str, optional
        The name of the dataset on the Hub, such as ``"org/name"``, for the field ``dataset.type``; by default the name
        of the dataset in the card.
    metrics : sequence of str
        Keys of the card's metrics.

    Returns
    -------
    str
        YAML between two lines ``---``. If only the bounds of a metric are known, its value is a text with the bounds; a
        metric without bounds is left out, with the reason in a comment.

    Raises
    ------
    DataError
        If there are no cards, if the cards are of several models, or if `dataset_id` is given for several datasets.
    MetricError
        If a metric is not in a card.

    References
    ----------
    Hugging Face, model card metadata: https://github.com/huggingface/hub-docs/blob/main/modelcard.md

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name="toy")
    >>> run = kg.benchmarks.named(kg.evaluate(lambda s, p, o: o, dataset, progress=False), "By id")
    >>> print(front_matter(Card.of(run), metrics=["mr"]))  # doctest: +ELLIPSIS
    ---
    model-index:
    - name: "By id"
      results:
      - task:
          type: "link-prediction"
          name: "Link prediction"
        dataset:
          name: "toy"
          type: "toy"
          split: "test"
          args:
            sha256: "..."
            protocol: "filtered by test, all entities, both sides"
            kgeval: "..."
        metrics:
        - type: "mr"
          value: 2.5
          name: "MR (filtered, realistic ties)"
          args:
            setting: "filtered"
            sides: "subject+object"
            ties: "realistic"
            low: ...
    """
    cards = [cards] if isinstance(cards, Card) else list(cards)
    models = list(dict.fromkeys(card.model for card in cards))
    if len(models) != 1:
        raise DataError(
            f"a model-index describes one model; got {', '.join(map(repr, models)) or 'no cards'}. Write one for each "
            "model"
        )
    if dataset_id is not None and len({card.dataset_fingerprint for card in cards}) > 1:
        raise DataError(f"the cards are of several datasets, which cannot all be {dataset_id!r} on the Hub")
    parts = [_result(card, dataset_id, metrics) for card in cards]
    index = {"model-index": [{"name": models[0], "results": [result for result, _ in parts]}]}
    comments = [f"# {comment}\n" for _, absent in parts for comment in absent]
    return f"---\n{''.join(comments)}{yaml_text(index)}\n---"


def _result(card: Card, dataset_id: str | None, metrics: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return a result of the model-index, and a comment for each metric that has neither a value nor bounds."""
    content = card.content
    settings = content["protocol"]["settings"]
    # huggingface_hub merges results with the same task, dataset and split, so the fields that distinguish runs of a
    # model are in each metric.
    facts = {
        "protocol_fingerprint": card.protocol_fingerprint,
        "ranks_sha256": card.hash,
        **({} if card.seed is None else {"seed": card.seed}),
    }
    entries, absent = [], []
    for metric in metrics:
        key = Key.parse(metric)
        check_one_of("metric", str(key), card.metrics, DataError)
        value, low, high = card.metrics[str(key)]
        least, greatest = card.bounds(str(key))
        if math.isnan(least):
            absent.append(printable(f"{card.dataset}: {key} is left out: {card.reason(str(key))}"))
            continue
        sides = key.side if key.side != "both" else "+".join(entity_sides(settings.get("sides", ("both",))))
        args: dict[str, Any] = {"setting": key.setting, "sides": sides, "ties": key.ties}
        if not math.isnan(low):
            args |= {"low": low, "high": high, "confidence": content["intervals"]["confidence"]}
        side = f"{key.side} side, " if key.side != "both" else ""
        entries.append(
            {
                "type": str(key.metric),
                "value": f"{least:g} to {greatest:g}" if math.isnan(value) else value,
                "name": f"{display_of(str(key.metric)).heading} ({key.setting}, {side}{key.ties} ties)",
                "args": args | facts,
            }
        )
    dataset = {
        "name": card.dataset,
        "type": card.dataset if dataset_id is None else dataset_id,
        "split": "+".join(settings.get("splits", ())),
        "args": {
            "sha256": card.dataset_fingerprint,
            "protocol": card.protocol_sentence,
            "kgeval": content["versions"]["kgeval"],
        },
    }
    return {"task": TASK, "dataset": dataset, "metrics": entries}, absent


def yaml_text(value: Any) -> str:
    """Return metadata as YAML in block style; every text is quoted, so that every reader reads it as text.

    Parameters
    ----------
    value : dict, list, str, int or float
        Nested; the names of a dict are plain words, and numbers are finite.

    References
    ----------
    YAML 1.2.2, sections 5.7 (escapes) and 7.3.1 (double-quoted style).

    Examples
    --------
    >>> print(yaml_text({"name": "no: 1", "low": [1e-7, 3, {"a": []}]}))
    name: "no: 1"
    low:
    - 1.0e-07
    - 3
    - a: []
    """
    return "\n".join(_block(value))


def _block(value: Any) -> list[str]:
    """Return the lines of a value, without indentation."""
    if isinstance(value, dict) and value:
        lines = []
        for name, item in value.items():
            inner = _block(item)
            if not isinstance(item, (dict, list)) or not item:
                lines.append(f"{name}: {inner[0]}")
            else:  # lists are not indented below their name, as on the Hub
                lines += [f"{name}:", *(line if isinstance(item, list) else f"  {line}" for line in inner)]
        return lines
    if isinstance(value, list) and value:
        return [f"{'  ' if i else '- '}{line}" for item in value for i, line in enumerate(_block(item))]
    if isinstance(value, str):
        return [f'"{"".join(map(_escaped, value))}"']
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    # YAML 1.1 reads a number with an exponent only if it has a point too.
    return [text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"]


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"
