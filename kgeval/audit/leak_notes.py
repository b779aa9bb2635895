"""`notes_on_leaks`: lines for the notes of a result, if ranked triples are in train, or many leak from it.

`kgeval.evaluation` adds the lines to the notes of each result, with the MRR of the other triples, which
`without_copied` words for several models; report and benchmark show both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.audit.findings import is_in, recurs
from kgeval.base.checks import Bools, Ids, counted, listed
from kgeval.base.wording import percent, quoted, written
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.features import leaks

GRAVE_SHARE = 0.1  # a smaller share of leaking triples gives no note
MIN_TRIPLES = 20  # of fewer triples a share says little
MAX_NAMED = 4  # models whose MRR a line has
MAY_BE_COPIED = "may be copied from train"
COPIED = f"triples that {MAY_BE_COPIED}"
WITHOUT_COPIED = "without_copied"  # the fact of a result: MRR and number of the ranks of the other triples
WAYS = {
    "inverse": "reversed under another relation",
    "symmetric": "reversed under the same relation",
    "near-duplicate": "under a near-duplicate relation",
}


def notes_on_leaks(dataset: Dataset, splits: Sequence[str]) -> list[str]:
    """Return lines about the ranked triples that are in train, or may be copied from it; the largest share first.

    One line says how many triples are in train as well. Another line is about the triples whose pair of entities
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
        Empty without a train split. No other line if less than 10% of the triples leak, or if there are fewer than 20
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
    said: list[tuple[float, str]] = []
    if n_seen:
        text = (
            f"{counted(n_seen, 'triple')} of {'+'.join(splits)} ({percent(n_seen / n_of)} of {n_of:,}) "
            f"{'is' if n_seen == 1 else 'are'} also in train: a model has seen the answer, so the ranks are too good; "
            "remove these triples"
        )
        said.append((n_seen / n_of, text))
    said += _copied_notes(dataset, splits)
    return [text for _, text in sorted(said, key=lambda one: -one[0])]


def _copied_notes(dataset: Dataset, splits: Sequence[str]) -> list[tuple[float, str]]:
    """Return the share of triples that may be copied from train, or that recur, with a line; nothing if few do."""
    triples = facts_of(dataset, splits)
    if "train" not in dataset or len(triples) < MIN_TRIPLES:
        return []
    found = leaks(triples, dataset["train"].array, len(dataset.relations))
    n = int(np.logical_or.reduce(list(found.values())).sum())
    n_recurring = int(recurs(dataset, splits).sum())
    share = max(n, n_recurring) / len(triples)
    if share < GRAVE_SHARE:
        return []
    if n_recurring > n:
        text = (
            f"{percent(share)} of the {len(triples):,} triples of {'+'.join(splits)} recur: train "
            "has them at another time, so a rule that repeats known facts answers them; --beside recency "
            "(kgeval.baselines.Recency) shows how far it gets"
        )
        return [(share, text)]
    ways = [f"{found[name].sum():,} {way}" for name, way in WAYS.items() if found[name].any()]
    is_twice = sum(int(of_way.sum()) for of_way in found.values()) > n
    twice = f" (a triple can count in {'both' if len(ways) == 2 else 'several'})" if is_twice else ""
    text = (
        f"{percent(share)} of the {len(triples):,} triples of {'+'.join(splits)} {MAY_BE_COPIED}, "
        f'which has their pair of entities: {listed(ways)}{twice}; result.by("leak") (--by leak) gives the '
        "metrics without them"
    )
    return [(share, text)]


def without_copied(models: Iterable[tuple[str, float, Mapping[str, Any]]], which: str = "them") -> str:
    """Return the MRR of each model over the ranks of triples that may not be copied from train; empty if not known.

    Parameters
    ----------
    models : iterable of (str, float, mapping)
        The name of each model, or empty for one model, its MRR over all ranks, and `EvaluationResult.facts`. The text
        names the best over the other ranks first, and says so if this is another order than over all ranks.
    which : str
        The triples that are left out, in words.

    Examples
    --------
    >>> without_copied([("A", 0.5, {"without_copied": {"n": 40, "mrr": 0.25}}), ("B", 0.5, {})])
    'MRR without them (40 ranks): 0.2500 of A'
    >>> print(without_copied([("A, again", 0.5, {"without_copied": {"n": 40, "mrr": 0.25}})]))
    MRR without them (40 ranks): 0.2500 of "A, again"
    >>> without_copied([("A", 0.5, {"without_copied": {"n": 0}})])
    'no rank without them'
    """
    by_all = sorted(models, key=lambda model: -model[1])
    given = [(quoted(name), fact) for name, _, facts in by_all if (fact := facts.get(WITHOUT_COPIED))]
    known = sorted(given, key=lambda one: -one[1].get("mrr", 0.0))
    is_first = known[:MAX_NAMED] == given[:MAX_NAMED]
    about = [] if known == given else [f"the order{' of the other models' * is_first} changes"]
    whole = {quoted(name): mrr for name, mrr, _ in by_all}
    about += ["higher than over all ranks"] if all(one.get("mrr", 0.0) > whole[name] for name, one in given) else []
    found = [(name, written(fact["mrr"], 4), counted(int(fact["n"]), "rank")) for name, fact in known if "mrr" in fact]
    if not found:
        return f"no rank without {which}" if known else ""
    is_same = len({n for *_, n in found}) == 1
    values = [f"{value}{f' of {name}' if name else ''}{'' if is_same else f' ({n})'}" for name, value, n in found]
    about = [found[0][2], *about] if is_same else about
    words = f" ({'; '.join(about)})" if about else ""
    return f"MRR without {which}{words}: {listed(values, MAX_NAMED)}"


def copied_share(facts: Mapping[str, Any]) -> str:
    """Return which share of the triples may be copied from train, in few words; empty if few.

    Parameters
    ----------
    facts : mapping
        `EvaluationResult.facts`.

    Examples
    --------
    >>> copied_share({"leak_notes": ["40.8% of the 661 triples of test may be copied from train, which has ..."]})
    '40.8% copied?'
    """
    lines = [line for line in facts.get("leak_notes", ()) if MAY_BE_COPIED in line]
    return f"{lines[0].partition(' of ')[0]} copied?" if lines else ""


def mean_of(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean over several runs of what `without_copied` words; empty if not all have it for as many ranks.

    Parameters
    ----------
    facts : sequence of mappings
        `EvaluationResult.facts` of each run.
    """
    found = [of_run.get(WITHOUT_COPIED, {}) for of_run in facts]
    counts = {fact.get("n") for fact in found}
    return {WITHOUT_COPIED: dict(pd.DataFrame(found).mean())} if len(counts) == 1 and None not in counts else {}


def may_be_copied(dataset: Dataset, triples: Ids) -> Bools:
    """Return, for each triple, whether train has it, at any time, or gives it away: see `kgeval.features.leaks`.

    Parameters
    ----------
    dataset : Dataset
    triples : int64 array, shape (n, 3)
    """
    train = dataset["train"].array
    found = leaks(triples, train, len(dataset.relations)).values()
    return np.logical_or.reduce([is_in(train, triples), *found])  # type: ignore[no-any-return]
