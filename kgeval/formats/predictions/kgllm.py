"""KG-LLM: one generated text for each query; CSV ``prompt,generated``, or JSON lines with ``labels`` and ``predict``.

Traps. The files name no triples: row i is for triple i of the split. As a check, each prompt must contain a name of the
given entity, or ``labels`` must be a name of the missing entity. A generated text is not a label. The user chooses a
matching rule that decides which entity a text names, because published numbers of such tools use different rules
(KG-LLM itself counts a text as right if it contains the label of the positive). If a text starts with its own prompt,
the prompt is removed.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kgeval.base.checks import check_one_of, counted, cut_label
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.predictions import Predictions
from kgeval.data.queries import given_and_asked
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, predictions
from kgeval.formats.prediction_files.names import NameTable
from kgeval.formats.prediction_files.records import first_record, json_records, text_head, text_lines
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

RULES = {
    "exact": "the whole text is the label or the first name of the entity",
    "alias": "the whole text is the label or any name of the entity, in upper or lower case",
    "substring": "the label or a name of exactly one entity is in the text, as whole words, in upper or lower case",
}
HEADER = "prompt,generated"
NO_ENTITY = "\0"  # starts the text of an answer that names no entity
_TOKEN = re.compile(r"\w+|[^\w\s]")


def sniff(path: Path) -> bool:
    """Return whether the first line is ``prompt,generated``, or the first object has labels and predict alone."""
    lines = text_head(path).splitlines()
    return (bool(lines) and lines[0].strip() == HEADER) or set(first_record(path).values) == {"labels", "predict"}


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read generated texts, one for each triple of a split."""
    options.check_used("kgllm", ("entity_names", "matching", "side"))
    if options.ids is not None:
        raise DataError(f"{path}: the format kgllm holds texts and no ids; leave out ids=")
    if options.matching is None:
        raise DataError(
            f"{path}: say how a generated text names an entity: matching='exact', 'alias' or 'substring' (--matching); "
            + "; ".join(f"{rule}: {about}" for rule, about in RULES.items())
        )
    rule = check_one_of("matching", options.matching, RULES, DataError)
    side = options.side_of_file(f"{path}")
    table = NameTable(dataset.entities, options.entity_names, "entity")
    matcher = _Matcher.of(table, rule)
    array = dataset[options.split].array
    given, asked = given_and_asked(array, side)
    rows, found = Rows(path), _Counts()
    texts = list(_texts(path))
    if len(texts) != len(array):
        raise DataError(
            f"{path}: {len(texts):,} texts, but {len(array):,} triples in {options.split}; row i must be for triple i "
            f"(give split= if the texts are for another split)"
        )
    for i, (line, prompt, gold, text) in enumerate(texts):
        entity, what, is_right = (
            (int(given[i]), "the prompt", matcher.occurs(int(given[i]), prompt))
            if gold is None
            else (int(asked[i]), "labels", matcher.is_name(int(asked[i]), gold))
        )
        if not is_right:
            raise DataError(
                f"{path}, line {line}: {what} {cut_label(repr(prompt if gold is None else gold))} does not name "
                f"{cut_label(dataset.entities.labels[entity])!r}, an entity of triple {i + 1} of {options.split}, "
                f"{triple_labels(dataset, *array[i])}; row i must be for triple i of the side {side}, and "
                "entity_names= must contain the names of the entities"
            )
        owners = matcher.find(text.removeprefix(prompt) if prompt else text)
        owner = found.count(owners, int(asked[i]))
        labels = triple_labels(dataset, *array[i])
        rows.add(line, labels, side, [NO_ENTITY + text if owner is None else dataset.entities.labels[owner]])
    plain = replace(options, entity_names=None, relation_names=None, matching=None, side=None)
    notes = ["read as generated texts of KG-LLM, one for each triple in the order of " + options.split, *table.notes]
    notes += [f"matching={rule!r} ({RULES[rule]}): {found}", "generated texts are not filtered"]
    result = predictions(rows, dataset, plain, filtered="no", notes=notes, is_generated=True, is_named=True)
    kept = tuple(note for note in result.notes if " unmapped: " not in note)
    return replace(result, notes=kept, unmapped_may_be_known=found.n_ambiguous > 0)


@dataclass
class _Counts:
    """The numbers of texts that name one entity, several entities (`n_ambiguous`), or no entity.

    `n_own` counts the ambiguous texts that name the positive and other entities.
    """

    n_one: int = 0
    n_own: int = 0
    n_ambiguous: int = 0
    n_none: int = 0

    def count(self, owners: set[int], positive: int) -> int | None:
        """Count a text that names the entities `owners`; return the entity if there is only one, else None."""
        if len(owners) == 1:
            self.n_one += 1
            return next(iter(owners))
        self.n_ambiguous += len(owners) > 1
        self.n_none += not owners
        self.n_own += positive in owners
        return None

    def __str__(self) -> str:
        """Return the counts as a text for a note."""
        own = f" ({self.n_own:,} of these could be the positive)" if self.n_ambiguous else ""
        return (
            f"{counted(self.n_one, 'text names', 'texts name')} one entity, {self.n_ambiguous:,} several{own}, "
            f"{self.n_none:,} none"
        )


@dataclass
class _Matcher:
    """Finds the entities that a text names, by one matching rule."""

    rule: str
    owners: dict[str, set[int]]
    names: list[list[str]]
    max_tokens: int

    @classmethod
    def of(cls, table: NameTable, rule: str) -> _Matcher:
        """Return a matcher for the labels and names in `table`; an underscore in a label may also stand for a space."""
        names: list[list[str]] = []
        owners: dict[str, set[int]] = {}
        for i, label in enumerate(table.vocabulary.labels):
            given = table.of_id.get(i, [])
            all_names = dict.fromkeys([label, label.replace("_", " "), *given])
            names.append([_folded(text) for text in all_names])
            rule_names = dict.fromkeys([label, label.replace("_", " "), *given[:1]]) if rule == "exact" else all_names
            for text in rule_names:
                owners.setdefault(text if rule == "exact" else _folded(text), set()).add(i)
        owners.pop("", None)
        return cls(rule, owners, names, max((name.count(" ") + 1 for name in owners), default=1))

    def find(self, text: str) -> set[int]:
        """Return the entities that a text names."""
        if self.rule == "exact":
            return self.owners.get(text.strip(), set())
        folded = _folded(text)
        if self.rule == "alias":
            return self.owners.get(folded, set())
        words = folded.split(" ")
        found: set[int] = set()
        end = 0  # a name that ends before or at `end` is inside a longer name and does not count
        for start in range(len(words)):
            for stop in range(min(len(words), start + self.max_tokens), max(start, end), -1):
                name = " ".join(words[start:stop])
                if name in self.owners:
                    found |= self.owners[name]
                    end = stop
                    break
        return found

    def occurs(self, entity: int, text: str) -> bool:
        """Return whether a name of an entity is in a text, as whole words."""
        folded = f" {_folded(text)} "
        return any(f" {name} " in folded for name in self.names[entity] if name)

    def is_name(self, entity: int, text: str) -> bool:
        """Return whether a text is the label or a name of an entity."""
        return _folded(text) in self.names[entity]


def _folded(text: str) -> str:
    """Return the words and punctuation marks of a text in lower case, with single spaces between them."""
    return " ".join(_TOKEN.findall(unicodedata.normalize("NFC", text).casefold()))


def _texts(path: Path) -> Iterator[tuple[int, str, str | None, str]]:
    """Yield line, prompt, name of the positive (None if the file has no such name) and generated text of each row."""
    if first_record(path).kind:
        for line, record in json_records(path):
            keys = ("labels", "predict")
            if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in keys):
                raise DataError(
                    f"{path}, line {line}: expected labels and predict as texts; got {cut_label(repr(record))}"
                )
            yield line, "", record["labels"], record["predict"]
        return
    numbers: list[int] = []

    def lines() -> Iterator[str]:
        for number, line in text_lines(path):
            numbers.append(number)
            yield line + "\n"

    reader = csv.reader(lines(), strict=True)
    first = 0
    try:
        for words in reader:
            line = numbers[first]
            first = len(numbers)
            if line == numbers[0] and words == HEADER.split(","):
                continue
            if len(words) != 2:
                raise DataError(
                    f"{path}, line {line}: expected a prompt and a generated text, 2 columns; found {len(words)}; text "
                    "with commas must be in double quotes"
                )
            yield line, words[0], None, words[1]
    except csv.Error as error:
        raise DataError(
            f"{path}, line {numbers[min(first, len(numbers) - 1)]}: wrong double quotes ({error})"
        ) from None


FORMAT = Format("kgllm", sniff, read, "generated texts of KG-LLM (prompt,generated or labels, predict)")
