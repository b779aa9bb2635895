"""`notes_on_leaks`: lines for the notes of a result, if ranked triples are in train, or many leak from it.

`kgeval.evaluation` adds the lines to the notes of each result, and the report page to its cautions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgeval.audit.findings import recurs
from kgeval.base.checks import counted, listed
from kgeval.base.wording import percent
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.features import leaks

GRAVE_SHARE = 0.1  # a smaller share of leaking triples gives no note
MIN_TRIPLES = 20  # of fewer triples a share says little
WAYS = {
    "inverse": "reversed under another relation",
    "symmetric": "reversed under the same relation",
    "near-duplicate": "under a near-duplicate relation",
}


def notes_on_leaks(dataset: Dataset, splits: Sequence[str]) -> list[str]:
    """Return lines about the ranked triples that are in train, or may be copied from it; the gravest first.

    A first line says how many triples are in train as well. A second line is about the triples whose pair of entities
    is in train, reversed or under a near-duplicate relation; if more triples recur, which train has at another time,
    about these.

    Parameters
    ----------
    dataset : Dataset
    splits : sequence of str
        The ranked splits.

    Returns
    -------
    list of str
        Empty without a train split. No second line if less than 10% of the triples leak, or if there are fewer than 20
        triples.

    Examples
    --------
    >>> train, test = [[i, 0, i + 1] for i in range(40)], [[i + 1, 1, i] for i in range(40)]
    >>> dataset = Dataset.from_arrays(train=train, test=test, n_entities=41, n_relations=2)
    >>> notes_on_leaks(dataset, ["test"])[0].partition(";")[0]  # doctest: +ELLIPSIS
    '100.0% of the 40 triples of test may be copied from train, ... entities: 40 reversed under another relation'
    """
    splits = [split for split in splits if split != "train"]
    n_of, overlaps = sum(len(dataset[split]) for split in splits), dataset.overlaps
    n_seen = sum(overlaps.get(("train", split), 0) for split in splits)
    seen = ""
    if n_seen:
        seen = (
            f"{counted(n_seen, 'triple')} of {'+'.join(splits)} ({percent(n_seen / n_of)} of {n_of:,}) "
            f"{'is' if n_seen == 1 else 'are'} also in train: a model has seen the answer, so the ranks are too good; "
            "remove these triples"
        )
    return [line for line in (seen, _copied_note(dataset, splits)) if line]


def _copied_note(dataset: Dataset, splits: Sequence[str]) -> str:
    """Return the line about triples that may be copied from train, or that recur; empty if there are few."""
    triples = facts_of(dataset, splits)
    if "train" not in dataset or len(triples) < MIN_TRIPLES:
        return ""
    found = leaks(triples, dataset["train"].array, len(dataset.relations))
    n = int(np.logical_or.reduce(list(found.values())).sum())
    n_recurring = int(recurs(dataset, splits).sum())
    if max(n, n_recurring) < GRAVE_SHARE * len(triples):
        return ""
    if n_recurring > n:
        return (
            f"{percent(n_recurring / len(triples))} of the {len(triples):,} triples of {'+'.join(splits)} recur: train "
            "has them at another time, so a rule that repeats known facts answers them; --beside recency "
            "(kgeval.baselines.Recency) shows how far it gets"
        )
    ways = [f"{found[name].sum():,} {way}" for name, way in WAYS.items() if found[name].any()]
    return (
        f"{percent(n / len(triples))} of the {len(triples):,} triples of {'+'.join(splits)} may be copied from train, "
        f'which has their pair of entities: {listed(ways)}; result.by("leak") (--by leak) gives the metrics without '
        "them"
    )
