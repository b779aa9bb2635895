"""The 57 graphs on which ULTRA was evaluated: which of them kgeval knows by a source, with counts."""

from __future__ import annotations

import pandas as pd

from kgeval.formats.registered.table import COUNTS, registered_datasets

NO_SOURCE = "no source found"
# Names of ULTRA (ultra/datasets.py) -> names of registered datasets; empty: no installed package states a source.
_TRANSDUCTIVE = {
    "FB15k237": "FB15k-237",
    "WN18RR": "WN18RR",
    "CoDExSmall": "CoDEx-S",
    "CoDExMedium": "CoDEx-M",
    "CoDExLarge": "CoDEx-L",
    "YAGO310": "YAGO3-10",
    "DBpedia100k": "DB100K",
    "AristoV4": "Aristo-v4",
    **dict.fromkeys(("NELL995", "ConceptNet100k", "Hetionet"), ""),
    **dict.fromkeys(("WDsinger", "NELL23k", "FB15k237_10", "FB15k237_20", "FB15k237_50"), ""),
}
_GRAIL = {
    f"{ours}Inductive:v{i}": f"GraIL-{name}-v{i}"
    for ours, name in (("FB15k237", "FB15k-237"), ("WN18RR", "WN18RR"), ("NELL", "NELL"))
    for i in (1, 2, 3, 4)
}
_FAMILIES = {
    "transductive": _TRANSDUCTIVE,
    "GraIL": _GRAIL,
    "ILPC": {f"ILPC2022:{size}": f"ILPC2022-{size}" for size in ("small", "large")},
    "InGram": {
        f"{graph}Ingram:{share}": ""
        for graph, shares in (("FB", (25, 50, 75, 100)), ("WK", (25, 50, 75, 100)), ("NL", (0, 25, 50, 75, 100)))
        for share in shares
    },
    "INDIGO": {f"HM:{version}": "" for version in ("1k", "3k", "5k", "indigo")},
    "MTDEA": dict.fromkeys(
        (
            "FBNELL",
            "Metafam",
            *(f"WikiTopicsMT1:{topic}" for topic in ("tax", "health")),
            *(f"WikiTopicsMT2:{topic}" for topic in ("org", "sci")),
            *(f"WikiTopicsMT3:{topic}" for topic in ("art", "infra")),
            *(f"WikiTopicsMT4:{topic}" for topic in ("sci", "health")),
        ),
        "",
    ),
}
# Counted in the files of the repository, which has no registered name; the inference graph is train.
_COUNTED = {"NLIngram:0": ("github.com/bdi-lab/InGram, data/NL-0", (2026, 112, 2287, 763, 763))}


def ultra_graphs() -> pd.DataFrame:
    """Return a table of the 57 graphs of ULTRA.

    Returns
    -------
    pandas.DataFrame
        One row per graph; the index ``"name"`` holds ULTRA's names. Columns: ``family``, ``source`` (the name under
        which `read_dataset` reads it, a repository, or "no source found") and the counts; NaN if no source states them.

    Examples
    --------
    >>> graphs = ultra_graphs()
    >>> len(graphs), int((graphs["source"] != "no source found").sum())
    (57, 23)
    >>> graphs.loc["NELLInductive:v1", ["source", "test"]].tolist()
    ['GraIL-NELL-v1', 100]
    """
    known = registered_datasets()
    records = []
    for family, graphs in _FAMILIES.items():
        for name, registered in graphs.items():
            source, counts = _COUNTED.get(name, (registered or NO_SOURCE, (float("nan"),) * len(COUNTS)))
            if registered:
                counts = tuple(known.loc[registered, list(COUNTS)].to_numpy())
            records.append((name, family, source, *counts))
    return pd.DataFrame(records, columns=["name", "family", "source", *COUNTS], dtype=object).set_index("name")
