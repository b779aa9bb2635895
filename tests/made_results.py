"""Results that no model made: of the size of a real benchmark, for what is measured or checked at that size."""

import dataclasses
import json

import numpy as np
import pandas as pd

import kgeval as kg
from kgeval.results.explanations import extreme_rows

N_ENTITIES, N_RELATIONS = 14_541, 237
SPLITS = {"train": 272_115, "valid": 17_535, "test": 20_466}
RELATION = "/film/film/release_date_s./film/film_regional_release_date"  # as long as they are in Freebase
TYPICAL_RANKS = (6.0, 9.0, 14.0)  # median of the made ranks of each model


def replaced(thing, **changes):
    """Return a result, or a dataclass, with some parts changed; ``n_read`` is what a result's `facts` says.

    Another table may have other rows, where there are no columns that would have to follow.
    """
    if dataclasses.is_dataclass(thing):
        return dataclasses.replace(thing, **changes)
    if "table" in changes and thing.columns.empty:
        changes = {"columns": None, **changes}
    if "n_read" in changes:
        changes["facts"] = {**changes.get("facts", thing.facts), "n_read": changes.pop("n_read")}
    return thing.__replace__(**changes)


def noted(result, *notes):
    """Return a result with more notes."""
    return result.__replace__(notes=(*result.notes, *notes))


def like_fb15k237(n_models=3, seed=0):
    """Return `n_models` results of a made dataset, and the dataset, with the counts of FB15k-237."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, N_RELATIONS + 1)
    arrays = {}
    for split, n in SPLITS.items():
        p = rng.choice(N_RELATIONS, n, p=weights / weights.sum())
        s, o = (np.minimum(rng.geometric(1 / 2000, n) - 1, N_ENTITIES - 1) for _ in range(2))
        arrays[split] = np.column_stack([s, p, o])
    arrays["test"][:N_RELATIONS, 1] = np.arange(N_RELATIONS)  # so that each relation has a rank
    dataset = kg.Dataset.from_arrays(
        **arrays,
        entity_labels=[f"/m/0{i:05x}" for i in range(N_ENTITIES)],
        relation_labels=[f"{RELATION}/place_{i}" for i in range(N_RELATIONS)],
        name="like-fb15k-237",
    )
    ease = rng.normal(size=2 * SPLITS["test"])  # of each query, for all models alike
    rivals = N_ENTITIES - 1 - rng.integers(0, 200, len(ease))
    return [_made(dataset, median, ease, rivals, rng) for median in TYPICAL_RANKS[:n_models]], dataset


def saved_with(result, path, **changes):
    """Save a result, then change its header fields or arrays by functions; None removes one. Returns the path."""
    result.save(path)
    with np.load(path) as loaded:
        arrays = dict(loaded)
    header = json.loads(str(arrays.pop("header")))
    del header["members"]  # the checksums, which files of earlier versions lack
    for name, change in changes.items():
        part = header if name in header else arrays
        value = part.pop(name)
        if change is not None:
            part[name] = change(value)
    with path.open("wb") as stream:
        np.savez(stream, header=np.array(json.dumps(header)), **arrays)
    return path


def _made(dataset, median, ease, rivals, rng):
    """Return a result whose ranks are spread around `median`, evenly on a log scale."""
    protocol = kg.Protocol().resolved(dataset)
    test = np.asarray(dataset["test"])
    n = len(ease)
    better = np.minimum(np.exp(np.log(median) + 1.5 * ease + rng.normal(size=n)).astype(np.int64) - 1, rivals)
    better = np.maximum(better, 0)
    table = pd.DataFrame(np.concatenate([test, test]), columns=["s", "p", "o"])
    table["side"] = pd.Categorical.from_codes(np.repeat([0, 1], n // 2), list(protocol.sides))
    table["split"] = pd.Categorical.from_codes(np.zeros(n, np.int64), ["test"])
    table["score"] = rng.normal(size=n)
    raw = np.minimum(better + rng.integers(0, 50, n), N_ENTITIES - 1)
    for setting, first, of in (("raw", raw, np.full(n, N_ENTITIES - 1)), ("filtered", better, rivals)):
        table[f"better_{setting}"], table[f"tied_{setting}"], table[f"rivals_{setting}"] = first, 0, of
    about = {
        "scorer": f"made, median rank {median:g}",
        "n_queries": 22_850,
        "dataset": dataset.name,
        "dataset_fingerprint": dataset.fingerprint,
        "observations": dataset.observations(),
        "version": kg.__version__,
        "n_triples": len(test),
        "n_unseen": int((~dataset.is_seen("test")).sum()),
    }
    result = kg.EvaluationResult(table, dataset.entities, dataset.relations, protocol, about)
    rows = np.repeat(extreme_rows(result.rank_table), 5)
    best = pd.DataFrame({"row": rows, "place": np.tile(np.arange(1, 6), len(rows) // 5)})
    best["entity"] = rng.integers(0, N_ENTITIES, len(rows))
    best["score"] = 5.0 - best["place"]
    return replaced(result, rivals=best)
