"""Files with pools of candidates by relation: ``type_constrain.txt`` (OpenKE), JSON objects such as ``typecons.json``.

`kgeval.read_candidates` reads them with `read_pools`; the command line and `inspect` call `has_pools`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import counted, cut_label
from kgeval.base.files import each_name_once, parse_json, read_text
from kgeval.data.candidates import ByRelation
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError, KgevalError

_DICTIONARIES = {"entity": "entity2id.txt", "relation": "relation2id.txt"}
_PLURAL = {"entity": "entities", "relation": "relations"}
_SIDES = {"head": "subject", "tail": "object"}


def has_pools(path: str | Path) -> bool:
    """Return whether a file looks like pools by relation: a JSON object, or ``type_constrain.txt``.

    Parameters
    ----------
    path : str or path
    """
    path = Path(path)
    try:
        if path.suffix == ".json":
            text = read_text(path)
            # an object that breaks off is read as pools too, for the message of `read_pools`
            return text.lstrip().startswith("{")
        if path.suffix != ".txt" or not path.is_file():
            return False
        with path.open("rb") as file:
            first, second = file.readline(1 << 10).split(), file.readline(1 << 10).split()
        return (
            len(first) == 1 and first[0].isdigit() and len(second) > 1 and second[0].isdigit() and second[1].isdigit()
        )
    except (KgevalError, OSError):
        return False


def read_pools(path: Path, dataset: Dataset, outside: str = "error") -> ByRelation:
    """Read pools by relation.

    Parameters
    ----------
    path : Path
        Ids in the file are those of ``entity2id.txt`` and ``relation2id.txt`` beside it; labels are those of `dataset`.
    dataset : Dataset
    outside : str
        As for `kgeval.candidates.ByRelation`.

    Raises
    ------
    DataError
        If the file has another form; the message names the file and the place.
    """
    lists = _of_json(path) if path.suffix == ".json" else _of_lines(path)
    dictionaries: dict[str, list[str]] = {}
    pools: dict[str, dict[int, Any]] = {}
    named: dict[str, set[str]] = {"entity": set(), "relation": set()}
    unknown: dict[str, set[str]] = {"entity": set(), "relation": set()}
    n_repeated = 0
    labels = {"entity": dataset.entities, "relation": dataset.relations}

    def ids_of(kind: str, names: list[Any]) -> Any:
        """Return the ids of labels or of ids of the file; what is unknown is counted and left out."""
        texts = [_label(path, kind, name, dictionaries, dataset) for name in names]
        found = labels[kind].find(texts)
        named[kind].update(texts)
        unknown[kind].update(text for text, i in zip(texts, found.tolist()) if i < 0)
        return found[found >= 0]

    for side, by_relation in lists.items():
        pools[side] = {}
        for relation, entities in by_relation.items():
            key = ids_of("relation", [relation])
            pool = ids_of("entity", entities)
            n_repeated += len(pool) - len(np.unique(pool))
            if len(key):
                pools[side][int(key[0])] = pool
    for kind, lacking in unknown.items():
        if lacking and lacking == named[kind]:
            raise DataError(
                f"{path}: none of its {counted(len(lacking), kind, _PLURAL[kind])}, such as "
                f"{cut_label(min(lacking))!r}, is in {dataset.name!r}; is it the file of another dataset? Ids are "
                f"those of the {_DICTIONARIES[kind]} beside the file"
            )
    found = ByRelation(pools.get("object"), pools.get("subject"), outside=outside, source=path.name)
    notes = []
    for kind, lacking in unknown.items():
        if lacking:
            text = counted(len(lacking), kind, _PLURAL[kind])
            notes.append(f"{path.name}: {text} of the pools not in {dataset.name!r}, left out")
    if n_repeated:
        notes.append(
            f"{path.name}: {counted(n_repeated, 'repeated entity', 'repeated entities')} in pools; each counts once"
        )
    found.notes = tuple(notes)
    return found


def _of_json(path: Path) -> dict[str, dict[Any, list[Any]]]:
    """Return the entities by side and relation of ``{relation: {"head": [], "tail": []}}`` or ``{relation: []}``."""
    once = each_name_once(lambda name: f"{path}: {cut_label(name)!r} occurs twice; join its pools")
    advice = "; is the file complete? Write or copy it again"
    content = parse_json(read_text(path), path, advice, once)
    lists: dict[str, dict[Any, list[Any]]] = {}
    for relation, value in content.items() if isinstance(content, dict) else [("", content)]:
        sides = value if isinstance(value, dict) else {"tail": value}
        for name, entities in sides.items():
            is_list = isinstance(entities, list) and all(type(entity) in (str, int) for entity in entities)
            if name not in _SIDES or not is_list:
                raise DataError(
                    f'{path}: expected {{relation: {{"head": [...], "tail": [...]}}}} or {{relation: [...]}} with '
                    f"labels or ids of entities; found {str(entities)[:40]!r} at {relation!r}, {name!r}"
                )
            lists.setdefault(_SIDES[name], {})[relation] = entities
    if not lists:
        raise DataError(f"{path}: has no pools")
    return lists


def _of_lines(path: Path) -> dict[str, dict[Any, list[Any]]]:
    """Return the ids by side and relation of ``type_constrain.txt``: a count, then two lines for each relation."""
    rows = [line.split() for line in read_text(path).rstrip().split("\n")]
    lists: dict[str, dict[Any, list[Any]]] = {"subject": {}, "object": {}}
    for i, row in enumerate(rows[1:], 2):
        if not all(word.isdecimal() for word in row) or len(row) < 2 or len(row) - 2 != int(row[1]):
            raise DataError(
                f"{path}, line {i}: expected a relation, a count and as many entity ids; found {len(row)} columns"
            )
        side = "object" if i % 2 else "subject"  # lines 2, 4, ...: heads
        if side == "object" and row[0] != rows[i - 2][0]:
            raise DataError(
                f"{path}, line {i}: expected the tails of relation {rows[i - 2][0]}; found relation {row[0]}"
            )
        if int(row[0]) in lists[side]:
            raise DataError(f"{path}, line {i}: relation {row[0]} has two lines of {side}s")
        lists[side][int(row[0])] = [int(word) for word in row[2:]]
    if len(rows) - 1 != 2 * int(rows[0][0]):
        raise DataError(f"{path}: expected 2 lines for each of {rows[0][0]} relations; found {len(rows) - 1}")
    return lists


def _label(path: Path, kind: str, name: Any, dictionaries: dict[str, list[str]], dataset: Dataset) -> str:
    """Return the label of an id of the file's own dictionary; a label is returned as it is."""
    if isinstance(name, str):
        return name
    if kind not in dictionaries:
        file = path.with_name(_DICTIONARIES[kind])
        vocabulary = dataset.entities if kind == "entity" else dataset.relations
        if file.is_file():
            dictionaries[kind] = _dictionary(file)
        elif vocabulary.are_labels_ids:
            dictionaries[kind] = list(vocabulary.labels)
        else:
            raise DataError(f"{path}: has ids, but its dictionary {file.name} is not beside it; put it there")
    if not 0 <= name < len(dictionaries[kind]):
        return f"id {name}"
    return str(dictionaries[kind][name])


def _dictionary(file: Path) -> list[str]:
    """Return the labels of ``entity2id.txt`` in the order of the ids."""
    labels = {}
    for i, line in enumerate(read_text(file).split("\n")[1:], 2):
        if line.strip():
            label, _, number = line.strip().replace(" ", "\t").rpartition("\t")
            if not number.isdecimal():
                raise DataError(f"{file}, line {i}: expected a label and its id; found {line[:40]!r}")
            labels[int(number)] = line.strip()[: len(label)].strip()
    if sorted(labels) != list(range(len(labels))):
        raise DataError(f"{file}: expected the ids 0 to {len(labels) - 1}, each once")
    return [labels[i] for i in range(len(labels))]
