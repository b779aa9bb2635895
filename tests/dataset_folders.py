"""Small random datasets, written in the layouts of other tools, and what the tests of the readers share."""

import random

import numpy as np
import pandas as pd
import pytest

import kgeval
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError

CHARACTERS = "abAZ019 _.:/#&%$'\"\\()<>=+-\u00e9\u6771\U0001f600\u2028\u0085\u00a0"


def random_facts(rng, characters=CHARACTERS, splits=("train", "valid", "test")):
    """A dict of splits, each a list of (s, p, o), with labels of any characters; also all entities, all relations."""
    entities = list({f"{i}{''.join(rng.choices(characters, k=rng.randint(1, 6)))}." for i in range(rng.randint(3, 12))})
    relations = list(
        {f"{i}r{''.join(rng.choices(characters, k=rng.randint(1, 4)))}." for i in range(rng.randint(1, 4))}
    )
    rng.shuffle(entities)
    facts = {
        split: [(rng.choice(entities), rng.choice(relations), rng.choice(entities)) for _ in range(rng.randint(1, 12))]
        for split in splits
    }
    return facts, entities, relations


def expected_dataset(facts, entities=(), relations=()):
    """The dataset that `Dataset.from_labels` makes of facts and further labels."""
    columns = {
        split: [
            pd.Categorical([row[i] for row in rows], categories=sorted({row[i] for row in rows} | set(further)))
            for i, further in enumerate((entities, relations, entities))
        ]
        for split, rows in facts.items()
    }
    return Dataset.from_labels(columns)


def assert_same(dataset, facts, entities=(), relations=()):
    """The dataset has the rows of each split in their order, and no other labels than those of facts and the others."""
    wanted = expected_dataset(facts, entities, relations)
    assert dataset.entities.labels == wanted.entities.labels
    assert dataset.relations.labels == wanted.relations.labels
    assert list(dataset.splits) == list(wanted.splits)
    for split in facts:
        np.testing.assert_array_equal(dataset[split].array, wanted[split].array)
    assert (dataset.fingerprint == wanted.fingerprint) == (not dataset.has_qualifiers)  # these facts have none


def write(folder, files):
    """Write a dict {name: text or bytes} into a folder, which is made; return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def lines(rows, separator="\t", end="\n"):
    """The text of rows."""
    return "".join(separator.join(map(str, row)) + end for row in rows)


def ids_of(rows, entities, relations, order=(0, 1, 2)):
    """Facts as rows of ids, in an order of the columns s, p, o."""
    numbers = {label: i for i, label in enumerate(entities)}, {label: i for i, label in enumerate(relations)}
    return [tuple((numbers[0][s], numbers[1][p], numbers[0][o])[i] for i in order) for s, p, o in rows]


def rows_of(dataset, split):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in dataset[split].array.tolist()]


def failure(folder, **options):
    """What reading the folder says, with the folder's own path taken out."""
    with pytest.raises(DataError) as caught:
        kgeval.read_dataset(folder, **options)
    return str(caught.value).replace(str(folder), "DIR")


def generator(seed):
    """A random number generator of Python."""
    return random.Random(seed)
