"""`audit` and its value: the findings about a dataset, shown as text, HTML and JSON.

Users, the command line and the report page call these functions.
"""

from __future__ import annotations

import copy
import json
import weakref
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kgeval.audit.findings import EFFECTS, all_findings
from kgeval.base.checks import counted, names_unknown_arguments
from kgeval.base.terminal import PIPE, Column, Screen
from kgeval.base.wording import count_text, percent, printable
from kgeval.data.dataset import Dataset, check_dataset

COLUMNS = ("kind", "relation", "split", "share", "count", "example", "effect")
MAX_ROWS = 8  # rows of one kind that the text and the panel show
MAX_STORED = 24  # rows that a saved result contains
MAX_TRIPLES = 1_000_000  # of larger datasets, results contain no audit: it would take longer than to save them

# The audits of the datasets in memory, since each result of a training is saved.
_KEPT: weakref.WeakKeyDictionary[Dataset, dict[str, Any]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The findings about a dataset; `kgeval.audit` makes it.

    Parameters
    ----------
    dataset, fingerprint : str
        Name and fingerprint of the dataset.
    size : str
        The numbers of entities, relations and triples.
    findings : pandas.DataFrame
        One row for each finding, gravest kind first. Columns: ``kind``; ``relation`` or ``split``, what the finding is
        about (relations are compared on train); ``share``; ``count`` (of triples, of pairs for relations, of labels);
        ``example``; ``effect``, what the finding does to the numbers.
    """

    dataset: str
    fingerprint: str
    size: str
    findings: pd.DataFrame

    @property
    def brief(self) -> pd.DataFrame:
        """The first eight findings of each kind, which the text, the panel and the report page show."""
        return self.findings.groupby("kind", sort=False).head(MAX_ROWS)

    def to_dict(self, findings: pd.DataFrame | None = None) -> dict[str, Any]:
        """Return the audit as values that JSON can store, with all findings or some of them."""
        content: dict[str, Any] = {name: getattr(self, name) for name in ("dataset", "fingerprint", "size")}
        return content | {"findings": (self.findings if findings is None else findings).to_dict("records")}

    def __repr__(self) -> str:
        return audit_text(self)

    def _repr_html_(self) -> str:
        from kgeval.display import html, html_tables, table

        of, brief, n_left = table.Column, self.brief, len(self.findings) - len(self.brief)
        kinds, examples, effects = (of.of_labels(name, brief[name]) for name in ("kind", "example", "effect"))
        places = of.of_labels("relation or split", brief["relation"].where(brief["relation"] != "", brief["split"]))
        numbers = of.of_shares("share", brief["share"]), of.of_counts("count", brief["count"])
        return html.panel(
            html.joined("Audit of ", html.label(self.dataset)),
            html.line(self.size),
            html_tables.html_table(table.Table([kinds, places, *numbers, examples, effects])),
            html.line(_rest(n_left)) if n_left else None,
        )

    def to_json(self) -> str:
        """Return the audit as JSON: dataset, fingerprint, size, and a list of findings."""
        return json.dumps(self.to_dict(), indent=2)


@names_unknown_arguments()
def audit(dataset: Dataset) -> Audit:
    """Look for faults and leaks in a dataset, and for other facts that change what the metrics mean.

    - Rows that occur twice in a split or in two splits; unseen entities and relations; labels that look alike. If the
      dataset has a column of times, rows must also have the same time.
    - Relations of train whose pairs (s, o) another relation has reversed (inverse: all pairs; near-inverse: an overlap
      of at least .8) or as they are (near-duplicate); symmetric relations; Cartesian-product relations, which have at
      least 80% of all pairs of their (two or more) subjects and (two or more) objects. The overlap is the number of
      shared pairs, divided by the pairs of the larger relation. Each relation is shown with its nearest relation.
    - Triples of valid and test whose pair of entities is in train: reversed under the same relation (symmetric), under
      another (inverse), or both (reversed); or in the same direction under a near-duplicate relation. Facts that train
      has at another time.
    - Positives outside the domain or range that train shows, and half-links: whether train has (s, p) and (p, o).
    - Queries for which hits@10 is certain, because at most 10 candidates are left (all splits are filtered; known
      answers at another time, or with other qualifiers, stay).
    - Cardinality, rare entities (at most 3 triples in train), popular answers (at most 1% of the entities: those with
      the most triples in train). A triple at two times is two triples.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    Audit
        ``audit.findings`` is a table. In a notebook the audit is shown as a panel.

    Raises
    ------
    DataError
        If `dataset` is not a `Dataset`.

    References
    ----------
    Akrami et al. (2020), Realistic Re-evaluation of Knowledge Graph Completion Methods, SIGMOD. Bordes et al. (2013),
    Translating Embeddings for Modeling Multi-relational Data, NIPS (cardinality).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [2, 0, 3]], test=[[1, 0, 0]], n_entities=40, n_relations=1)
    >>> audit(dataset).findings.loc[:1, ["kind", "split", "count", "example"]]
                          kind split  count    example
    0   reversed pair in train  test      1  (1, 0, 0)
    1  symmetric pair in train  test      1  (1, 0, 0)
    """
    check_dataset(dataset)
    found = pd.DataFrame([finding.row() for finding in all_findings(dataset)], columns=list(COLUMNS), dtype=object)
    sizes = ", ".join(f"{split} {len(triples):,}" for split, triples in dataset.splits.items())
    size = f"{counted(len(dataset.entities), 'entity')}, {counted(len(dataset.relations), 'relation')}; {sizes}"
    return Audit(dataset.name, dataset.fingerprint, size, found.astype({"share": float, "count": int}))


def brief_audit(dataset: Dataset) -> dict[str, Any] | None:
    """Return what a result stores of the audit of its dataset: the first finding of each kind, for each split.

    Parameters
    ----------
    dataset : Dataset
        It is audited once.

    Returns
    -------
    dict or None
        ``dataset``, ``fingerprint``, ``size`` and ``findings``: at most 24, as dicts, gravest first. None if the
        dataset has more than a million triples.

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [2, 0, 3]], test=[[1, 0, 0]], n_entities=40, n_relations=1)
    >>> brief_audit(dataset)["findings"][0]["kind"]
    'reversed pair in train'
    """
    if sum(map(len, dataset.splits.values())) > MAX_TRIPLES:
        return None
    if dataset not in _KEPT:
        made = audit(dataset)
        first = made.findings.drop_duplicates(["kind", "split"]).head(MAX_STORED)
        _KEPT[dataset] = made.to_dict(first)
    return copy.deepcopy(_KEPT[dataset])


def audit_text(made: Audit, screen: Screen = PIPE) -> str:
    """Return an audit as text: a table of findings, then what each kind does to the numbers.

    Parameters
    ----------
    made : Audit
    screen : Screen
        The width to fit.
    """
    head = screen.lines([f"{made.dataset}: {made.size}"])
    frame = made.brief
    n_left = len(made.findings) - len(frame)
    if not len(frame):
        return f"{head}\n\nno finding"
    kinds, examples = ([*map(printable, frame[name])] for name in ("kind", "example"))
    places = [printable(relation or split) for relation, split in zip(frame["relation"], frame["split"])]
    table = screen.table(
        [
            Column("kind", kinds, is_label=True),
            Column("relation or split", places, is_label=True),
            Column("share", [*map(percent, frame["share"])], place=1),
            Column("count", [*map(count_text, frame["count"])], place=2),
            Column("example", examples, is_label=True, place=0),
        ]
    )
    lines = [f"{kind}: {EFFECTS[kind]}" for kind in dict.fromkeys(kind.partition(":")[0] for kind in kinds)]
    return "\n\n".join([head, table, screen.lines([*([_rest(n_left)] if n_left else []), *lines])])


def _rest(n: int) -> str:
    return f"{counted(n, 'more finding')}: .findings, or kgeval audit --to csv"
