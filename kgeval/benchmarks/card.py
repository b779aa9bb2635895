"""Cards: everything that makes the numbers of one run comparable and checkable, in a few kB of JSON.

`kgeval card` writes cards, `kgeval card --check` compares a card with its run, and `kgeval board` lists many cards. The
fields of the JSON are in `card_files.py`; the guide (``kgeval help cards``) explains each of them.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kgeval.base.checks import names_unknown_arguments
from kgeval.base.files import check_source, check_target, replacing
from kgeval.benchmarks.card_files import FORMAT, card_text, check_content, is_date, last_digit, read_content, rounded
from kgeval.benchmarks.paragraphs import run_paragraph
from kgeval.benchmarks.rank_hashes import labels_digest, ranks_digest, scores_digest
from kgeval.data.known import SETTINGS
from kgeval.errors import DataError
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.plausibility.table import check_table
from kgeval.results.display import tie_ends
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.files import load_result
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE, RankTable
from kgeval.results.run_names import MODEL, SEED

INTERVAL_CLUSTER, INTERVAL_METHOD = "triple", "robust"
UNNAMED = "unnamed model"
# Facts of a result that have a separate field in the card; all other facts are in the field "facts".
_OWN_FIELDS = {
    "dataset", "dataset_fingerprint", "observations", "split_sizes", "n_triples", "n_queries", "n_unseen", "n_read",
    "scorer", "unknown", "version", "versions", MODEL, SEED,
}  # fmt: skip


@dataclass(frozen=True)
class Card:
    """The card of one run: model, dataset, protocol, metrics with intervals, ties, counts, versions and hashes.

    `Card.of` makes the card of a result, `read_card` reads one from a file.

    Parameters
    ----------
    content : dict
        The JSON value of the card; see ``kgeval help cards``. It must not be changed.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name="toy")
    >>> card = Card.of(kg.evaluate(lambda s, p, o: o, dataset, progress=False))
    >>> card.dataset, card.n_ranks, card.metrics["mr"][0], card.protocol_sentence
    ('toy', 4, 2.5, 'filtered by test, all entities, both sides')
    """

    content: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, result: EvaluationResult, *, date: str | None = None) -> Card:
        """Return the card of a result.

        Parameters
        ----------
        result : EvaluationResult
        date : str, optional
            A date to write into the card, as in ``"2026-11-23"``. A result does not contain a date, so `verify_card`
            cannot check it.

        Raises
        ------
        DataError
            If `result` is not the result of an evaluation, or if `date` is not a date of the form YYYY-MM-DD.
        """
        card = cls(_as_read(run_facts_of(result)))
        return card if date is None else card.dated(date)

    def dated(self, date: str) -> Card:
        """Return the card with a date.

        Parameters
        ----------
        date : str
            Such as ``"2026-11-23"``.

        Raises
        ------
        DataError
            If `date` is not a date of the form YYYY-MM-DD.
        """
        if not is_date(date):
            raise DataError(
                f"the date of a card must have the form YYYY-MM-DD and be a day of the calendar; got {date!r}"
            )
        return Card({**self.content, "date": date})

    @property
    def model(self) -> str:
        """The name of the model; the name of the scorer if the run was not named."""
        return str(self.content["model"]["name"])

    @property
    def is_named(self) -> bool:
        """Whether the user named the model; if not, `model` is the name of the scorer."""
        return bool(self.content["model"]["name_from"] == "user")

    @property
    def seed(self) -> int | None:
        """The seed with which the model was trained; None if it is not known."""
        seed = self.content["model"]["seed"]
        return None if seed is None else int(seed)

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return str(self.content["dataset"]["name"])

    @property
    def dataset_fingerprint(self) -> str:
        """The SHA-256 of the dataset."""
        return str(self.content["dataset"]["fingerprint"])

    @property
    def protocol_sentence(self) -> str:
        """The protocol as one line of English."""
        return str(self.content["protocol"]["sentence"])

    @property
    def protocol_fingerprint(self) -> str:
        """The first 8 hexadecimal digits of the SHA-256 of the protocol."""
        return str(self.content["protocol"]["fingerprint"])

    @cached_property
    def metrics(self) -> dict[str, tuple[float, float, float]]:
        """Key such as ``"object.mrr"`` -> value and limits of its interval; NaN if undefined (see `reason`)."""
        items = self.content["metrics"].items()
        return {key: (_number(of["value"]), _number(of["low"]), _number(of["high"])) for key, of in items}

    def reason(self, key: str) -> str:
        """Return why a metric has no value or no interval; an empty string if it has both.

        Parameters
        ----------
        key : str
            A key of `metrics`.
        """
        return str(self.content["metrics"][key].get("reason", ""))

    def bounds(self, key: str) -> tuple[float, ...]:
        """Return the least and the greatest possible value of a metric; both are equal if the value is known.

        Parameters
        ----------
        key : str
            A key of `metrics`.

        Returns
        -------
        tuple of float
            NaN if the metric has no bounds either.
        """
        entry = self.content["metrics"][key]
        return tuple(_number(entry.get(name, entry["value"])) for name in ("least", "greatest"))

    @cached_property
    def contradictions(self) -> tuple[str, ...]:
        """Why no ranks can give these metrics, one text per contradiction; empty for a card that kgeval wrote.

        The metrics of each setting and side are checked by `kgeval.check_table`, with the digits of the card. Only a
        card that was changed by hand, or made by another program, contradicts itself.
        """
        groups: dict[tuple[Any, ...], dict[str, str]] = {}
        for text, (value, _, _) in self.metrics.items():
            key = Key.parse(text)
            if math.isfinite(value) and str(key.metric) in DEFAULT_METRICS:
                n_decimals = max(0, round(-math.log10(last_digit(value))))
                group = groups.setdefault((key.setting, key.side, key.ties), {})
                group[str(key.metric)] = f"{value:.{n_decimals}f}"
        is_all = self.content["protocol"]["settings"].get("candidates") == "all"
        n_entities = self.content["dataset"]["entities"] if is_all else None
        found: list[str] = []
        for (setting, side, ties), values in groups.items():
            check = check_table(values, n_candidates=n_entities or None, ties=ties, percent=False)
            place = " ".join(part for part, usual in ((setting, "filtered"), (side, "both")) if part != usual)
            found += [f"{place}: {finding}" if place else str(finding) for finding in check.findings]
        return tuple(found)

    @property
    def tie_rate(self) -> float:
        """The share of the filtered ranks whose positive ties with a rival; NaN if it is not known."""
        return _number(self.content["ties"]["share"])

    @property
    def n_ranks(self) -> int:
        """The number of ranks: one per ranked triple and side."""
        return int(self.content["counts"]["ranks"])

    @property
    def hash(self) -> str:
        """The SHA-256 of the ranks; it depends neither on the order of the rows nor on ids."""
        return str(self.content["hashes"]["ranks"])

    @names_unknown_arguments()
    def paragraph(self, style: str = "text") -> str:
        """Return the card as a paragraph for the appendix of a paper.

        Parameters
        ----------
        style : str
            ``"text"``, or ``"latex"`` with special characters escaped.

        Returns
        -------
        str
            Lines of at most 80 characters, unless a word is longer.

        Raises
        ------
        DataError
            If `style` is unknown.

        Examples
        --------
        >>> import kgeval as kg
        >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name="toy")
        >>> run = kg.evaluate(lambda s, p, o: -abs(s - o), dataset, kg.Protocol(sides="object"), progress=False)
        >>> print(Card.of(run).paragraph())  # doctest: +ELLIPSIS
        We evaluated <lambda> on toy (SHA-256 ...
        """
        return run_paragraph(self.content, style)

    def __str__(self) -> str:
        return card_text(self.content)

    def __repr__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"Card({self.model!r}{seed}, {self.dataset!r}, {self.n_ranks:,} ranks, hash {self.hash[:8]})"


@names_unknown_arguments()
def write_card(card: Card | EvaluationResult, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a card to a JSON file; the same card gives the same bytes.

    Parameters
    ----------
    card : Card or EvaluationResult
        A result is written as ``Card.of(result)``.
    path : path
    overwrite : bool
        Whether to replace an existing file.

    Raises
    ------
    DataError
        If the file exists and `overwrite` is False, or if it cannot be written.

    Examples
    --------
    >>> import kgeval as kg, tempfile
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name="toy")
    >>> run = kg.evaluate(lambda s, p, o: o, dataset, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_card(run, f"{folder}/card.json")
    ...     read_card(f"{folder}/card.json") == Card.of(run)
    True
    """
    check_target(path, overwrite)
    content = card if isinstance(card, Card) else Card.of(card)
    with replacing(path, overwrite) as stream:
        stream.write(f"{content}\n".encode("ascii"))


def read_card(path: str | Path) -> Card:
    """Read a card from a file that `write_card` or ``kgeval card`` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    Card

    Raises
    ------
    DataError
        If the file cannot be read, is not a card, has another version of the format, or is damaged; the message names
        the line or the field.
    """
    return Card(read_content(path))


def card_of_file(path: str | Path) -> Card:
    """Return the card that a file contains, or the card of the saved result that it contains.

    Parameters
    ----------
    path : path
        A card (JSON), or a result saved by ``kgeval evaluate --out``.

    Raises
    ------
    DataError
        If the file cannot be read, or is neither of the two; a classification has no card.
    """
    check_source(path)
    with Path(path).open("rb") as stream:
        is_card = stream.read(100).lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith(b"{")
    if is_card:
        return read_card(path)
    result = load_result(path)
    if not isinstance(result, EvaluationResult):
        raise DataError(f"{path}: holds a classification; only results of kgeval evaluate have cards")
    return Card.of(result)


def run_facts_of(result: EvaluationResult) -> dict[str, Any]:
    """Return the content of the card of a result, with all digits of the numbers; `verify_card` compares with it.

    Parameters
    ----------
    result : EvaluationResult

    Returns
    -------
    dict
        As `Card.content`, but metrics and ties have all their digits, and NaN in the place of null. Without a date.

    Raises
    ------
    DataError
        If `result` is not the result of an evaluation.
    """
    if not isinstance(result, EvaluationResult):
        raise DataError(
            f"a card needs a result of kgeval.evaluate (classifications have no cards); got {type(result).__name__}"
        )
    facts, table, ranks = result.facts, result.table, result.rank_table
    versions = facts.get("versions", {})
    return {
        "format": FORMAT,
        "date": None,
        "model": _model(facts),
        "dataset": {
            "name": facts["dataset"],
            "fingerprint": facts["dataset_fingerprint"],
            "labels": labels_digest(result),
            "entities": len(result.entities),
            "relations": len(result.relations),
            "split_sizes": dict(facts.get("split_sizes", {})),
            "observations": list(facts["observations"]),
        },
        "protocol": {
            "sentence": result.protocol.describe(),
            "fingerprint": result.protocol.fingerprint,
            "settings": result.protocol.to_dict(),
        },
        "counts": {
            "triples": facts["n_triples"],
            "queries": facts["n_queries"],
            "unseen": facts["n_unseen"],
            "read": facts["n_read"],
            "ranks": len(table),
            "ranks_by_side": {side: int((table["side"] == side).sum()) for side in result.protocol.sides},
            "ranks_by_split": {split: int((table["split"] == split).sum()) for split in result.protocol.splits},
            "bounded": {setting: int(ranks.is_bounded(setting).sum()) for setting in SETTINGS},
            "dropped": dict(result.dropped),
        },
        "metrics": _metrics(ranks),
        "intervals": {"confidence": CONFIDENCE, "cluster": INTERVAL_CLUSTER, "method": INTERVAL_METHOD},
        "ties": _ties(ranks),
        "unknown": dict(ranks.unknown),
        "notes": list(result.notes),
        "facts": {name: value for name, value in facts.items() if name not in _OWN_FIELDS},
        "versions": {"kgeval": facts["version"], "numpy": versions.get("numpy"), "python": versions.get("python")},
        "hashes": {"ranks": ranks_digest(result), "scores": scores_digest(result)},
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _model(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name of the model, the source of this name, the name of the scorer, and the seed."""
    scorer = facts.get("scorer")
    names = {"user": facts.get(MODEL), "scorer": scorer, "nothing": UNNAMED}
    name_from = next(source for source, name in names.items() if name)
    return {"name": names[name_from], "name_from": name_from, "scorer": scorer, "seed": facts.get(SEED)}


def _metrics(ranks: RankTable) -> dict[str, dict[str, Any]]:
    """Return the default metrics of the known settings and all sides, with intervals; see `FIELDS`."""
    clusters = ranks.row_clusters(INTERVAL_CLUSTER)
    metrics = {}
    for setting in SETTINGS:
        # Without a prefix, a key is over all ranks, also if only one side was ranked.
        sides = ("both", *ranks.sides[1:]) if setting not in ranks.unknown else ()
        for side in sides:
            for metric in DEFAULT_METRICS:
                key = replace(Key.parse(metric), setting=setting, side=side)
                value = ranks.value(key)
                interval = ranks.interval(key, confidence=CONFIDENCE, clusters=clusters)
                entry: dict[str, Any] = {"value": value.value, "low": interval.low, "high": interval.high}
                least, greatest = ranks.bounds(key) if math.isnan(value.value) else (math.nan, math.nan)
                if math.isfinite(least) and math.isfinite(greatest):
                    entry |= {"least": least, "greatest": greatest}
                reason = value.reason or interval.reason
                metrics[str(key)] = entry | ({"reason": reason} if reason else {})
    return metrics


def _ties(ranks: RankTable) -> dict[str, Any]:
    """Return the share of tied ranks, and, if it is above 1%, the filtered metrics under the other two tie policies."""
    ends = {metric: tie_ends(ranks, metric) for metric in DEFAULT_METRICS}
    extremes = {key: dict(zip(("pessimistic", "optimistic"), pair)) for key, pair in ends.items() if pair is not None}
    return {"counted": "realistic", "share": ranks.tie_rate, "range": extremes}


def _as_read(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a card as its file is read: with rounded numbers, and with null in the place of NaN."""
    text = json.dumps(content, sort_keys=True)
    content = json.loads(text, parse_float=lambda digits: rounded(float(digits)), parse_constant=lambda name: None)
    check_content(content, "card")
    return content
