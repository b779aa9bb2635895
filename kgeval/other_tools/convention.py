"""`Convention`: the protocol of another tool, and the numbers that the tool would print from the ranks of a result."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, Reals
from kgeval.data.candidates import LEFT_OUT, NOT_KNOWN, PER_POSITIVE, POOL_KINDS, All, Candidates
from kgeval.data.column_names import TIME_NAMES
from kgeval.data.dataset import Dataset
from kgeval.data.protocol import Protocol
from kgeval.errors import MetricError, ProtocolError
from kgeval.formats.datasets import merges_valid
from kgeval.metrics import SampledHits
from kgeval.results.evaluation_result import EvaluationResult

# Rules for ties: the first and the last rank that the rule can give, from the numbers of better and of tied rivals.
RULES: dict[str, tuple[str, Callable[[Reals, Reals], tuple[Reals, Reals]]]] = {
    "optimistic": ("rivals with a higher score", lambda better, tied: (better + 1, better + 1)),
    "pessimistic": ("rivals with a higher or equal score", lambda better, tied: (better + tied + 1,) * 2),
    "realistic": ("rivals with a higher score and half of the ties", lambda better, tied: (better + tied / 2 + 1,) * 2),
    "up": ("half of the ties, rounded up", lambda better, tied: (better + (tied + 1) // 2 + 1,) * 2),
    "down": ("half of the ties, rounded down", lambda better, tied: (better + tied // 2 + 1,) * 2),
    "sort": ("the order that a sort gives to ties: bounds", lambda better, tied: (better + 1, better + tied + 1)),
}
LISTS = (PER_POSITIVE, NOT_KNOWN)  # the kinds of candidates that are a list of negatives for each positive
DIGITS = 6  # after the point, of numbers that a tool prints in full


@dataclass(frozen=True)
class Convention:
    """How another tool ranks triples, and which numbers it prints.

    `kgeval.conventions` is a dict from the name of a tool to its convention.

    Parameters
    ----------
    name : str
    tool : str
        The name of the tool as its authors write it.
    source : str
        Where the rule was read: repository, file, function or lines, version.
    ties : str
        The rule for ties: a key of ``kgeval.other_tools.convention.RULES``.
    metrics : dict of str to str
        The tool's name of a metric -> ``mr``, ``mr0`` (the mean rank counted from 0), ``mrr``, ``amri``, ``hits@K``
        or ``hits@K_of_N``.
    sides : tuple of str
        The sides whose ranks the tool averages.
    setting : str
        ``"filtered"`` or ``"raw"``; always raw among lists of negatives.
    is_listed : bool
        Whether each positive is ranked among its own list of negatives; otherwise among all entities.
    by_time : bool
        Whether a tool with `is_listed` also ranks among all entities, or those of pools: then the known answers are
        those of the ranked split at the same time.
    grail : str
        What the tool does on GraIL's inductive graphs. ``"merged"``: it ranks valid and test together.
        ``"inference"``: it ranks test, only triples of the inference graph are known, and the positive counts as its
        own rival, so that the best rank is 2. Empty: nothing special.
    unseen : str
        As in `Protocol`.
    form : str
        The format in which the tool prints its numbers, such as ``".4f"``; empty if it prints all digits.
    rounds_sides : bool
        Whether the numbers of the sides are rounded before they are averaged.
    caution : str
        What a number of the tool depends on beyond the counts of a result, such as a tolerance; empty if on nothing.
    needs_scores : bool
        Whether the tool may find ties that the counts of a result do not show; `caution` then says which.
    object_only : tuple of str
        Names of datasets on which the tool averages the object side only.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(train=[[2, 0, 3]], test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> ultra = kg.conventions["ultra"]
    >>> result = kg.evaluate(lambda s, p, o: 0 * s, dataset, ultra.protocol(dataset), progress=False)
    >>> ultra.table(result).loc["mrr", "printed"], kg.conventions["openke"].table(result).loc["MRR", "printed"]
    ('0.25', '1.000000')
    """

    name: str
    tool: str
    source: str
    ties: str
    metrics: dict[str, str]
    sides: tuple[str, ...] = ("subject", "object")
    setting: str = "filtered"
    is_listed: bool = False
    by_time: bool = False
    grail: str = ""
    unseen: str = "rank"
    form: str = ""
    rounds_sides: bool = False
    caution: str = ""
    needs_scores: bool = False
    object_only: tuple[str, ...] = ()

    def __str__(self) -> str:
        unseen = ", unseen entities dropped" if self.unseen == "drop" else ""
        among = f"{self.setting}, all entities{unseen}"
        if self.is_listed:
            among = "raw, a list of negatives for each positive"
        if self.by_time:
            among = f"filtered by the same split and time, all entities; or {among}"
        sides = "both sides" if len(self.sides) == 2 else f"{self.sides[0]} side"
        says = f"{self.tool}: {among}, {sides}; rank = 1 + {RULES[self.ties][0]}"
        return f"{says}; {self.caution}" if self.caution else says

    def protocol(self, dataset: Dataset, candidates: Candidates | None = None) -> Protocol:
        """Return the protocol under which the tool ranks the triples of a dataset.

        Parameters
        ----------
        dataset : Dataset
            Its name and the notes of its reader say to which family of benchmarks it belongs.
        candidates : Candidates, optional
            The lists of negatives, for a tool that ranks among lists; for TGB also pools, such as the destinations.

        Raises
        ------
        ProtocolError
            If the tool ranks among lists and there are none, or if the dataset has no split to rank.
        """
        among = All() if candidates is None else candidates
        has_lists = among.kind in LISTS
        time = dataset.time_column if self.by_time and not has_lists else None
        if not self._takes(among) and not self.is_listed:
            raise ProtocolError(f"{self.name} ranks among all entities; leave the candidates out")
        if not self._takes(among) or (self.is_listed and not has_lists and time is None):
            reason = f", and {dataset.name!r} has no times to filter by" if self.by_time else ""
            raise ProtocolError(
                f"{self.name} ranks each positive among its own list of negatives{reason}; give them: "
                f"protocol(dataset, candidates=kgeval.candidates.Listed(...)), or --candidates FILE"
            )
        if "test" not in dataset:
            raise ProtocolError(f"dataset {dataset.name!r} has no split test, which {self.name} ranks")
        settings = self._settings(dataset.name, dataset.notes, dataset.splits, has_lists)
        settings["sides"] = tuple(side for side in settings["sides"] if side in among.sides)
        return Protocol(**settings, candidates=among, filter_by=() if time is None else (time,))

    def _takes(self, candidates: Candidates) -> bool:
        """Return whether the tool ranks among candidates of this kind."""
        if self.by_time:
            return candidates.kind in (All.kind, *POOL_KINDS, *LISTS)
        return candidates.kind in (LISTS if self.is_listed else (All.kind,))

    def _settings(self, name: str, notes: Collection[str], splits: Collection[str], has_lists: bool) -> dict[str, Any]:
        """Return the settings of the protocol for a dataset with this name, these notes and these splits."""
        grail = self.grail if merges_valid(notes) else ""
        ranked = tuple(split for split in ("valid", "test") if split in splits) if grail == "merged" else ("test",)
        sides = ("object",) if name.lower() in self.object_only else self.sides
        known = ranked if self.by_time else ("train",) if grail == "inference" else tuple(splits)
        if has_lists or self.setting == "raw":
            known = ()
        return {"sides": sides, "filter": known, "splits": ranked, "unseen": self.unseen}

    def differences(self, result: EvaluationResult) -> list[str]:
        """Return what keeps the numbers of the tool from being computed from a result; empty if nothing does.

        Parameters
        ----------
        result : EvaluationResult
        """
        protocol, facts, unknown = result.protocol, result.facts, result.rank_table.unknown
        if protocol.is_of_tool:
            return ["its filter and candidates are not known"]
        if "split_sizes" not in facts:
            return ["its file does not say which splits the dataset has"]
        candidates = protocol.candidates
        has_lists = candidates.kind in LISTS
        wanted = self._settings(facts["dataset"], facts["observations"], facts["split_sizes"], has_lists)
        setting = self._setting(result)
        found = []
        if set(protocol.splits) != set(wanted["splits"]):
            found.append(f"it ranks {'+'.join(protocol.splits)}, {self.name} {'+'.join(wanted['splits'])}")
        lacking = [side for side in wanted["sides"] if side not in protocol.sides]
        if lacking and not has_lists:
            found.append(f"it does not rank the {lacking[0]} side, which {self.name} ranks")
        key = protocol.filter_by or ()
        is_by_time = len(key) == 1 and key[0].lower() in TIME_NAMES
        if setting == "filtered" and (not is_by_time if self.by_time else key):
            ours, theirs = f"the same {' and '.join(key)}" if key else "any time", "the same" if self.by_time else "any"
            instead = ", or ranks among lists" if self.by_time else ""
            found.append(f"it removes known answers of {ours}, {self.name} of {theirs} time{instead}")
        if setting == "filtered" and set(protocol.filter or ()) != set(wanted["filter"]):
            ours = "+".join(protocol.filter or ()) or "nothing"
            found.append(f"it is filtered by {ours}, {self.name} by {'+'.join(wanted['filter'])}")
        if not self._takes(candidates):
            among = "a list of negatives for each positive" if self.is_listed else "all entities"
            found.append(f"it ranks among {candidates.describe()}, {self.name} among {among}")
        if protocol.unseen != self.unseen and not _all_seen(result):
            found.append(f"its unseen entities are treated by {protocol.unseen!r}, {self.name} by {self.unseen!r}")
        if protocol.sample is not None:
            found.append(f"it ranks {protocol.sample}, {self.name} all triples")
        if has_lists:
            found += [f"{note}; {self.name} counts them" for note in result.notes if note.endswith(LEFT_OUT)]
        found += [unknown[fact] for fact in (setting, "ties") if fact in unknown]
        return found

    def table(self, result: EvaluationResult) -> pd.DataFrame:
        """Return the numbers that the tool would print from the ranks of a result.

        Parameters
        ----------
        result : EvaluationResult
            Of the protocol of the tool; a result of both sides also serves a tool that ranks one side only.

        Returns
        -------
        pandas.DataFrame
            One row per metric, under the tool's name. Columns: ``low`` and ``high``, equal unless the number depends on
            an order of ties or on bounded ranks; ``printed``, as the tool prints the number, or ``low to high``; and
            ``meaning``, the key of the metric in kgeval.

        Raises
        ------
        ProtocolError
            If the protocol of the result differs from that of the tool; the message names the differences.
        """
        differences = self.differences(result)
        if differences:
            raise ProtocolError(
                f"this result does not give the numbers of {self.name}: {'; '.join(differences)}. Evaluate with "
                f"kgeval.conventions[{self.name!r}].protocol(dataset), or --as {self.name}"
            )
        records = []
        for name, metric in self.metrics.items():
            low, high = self.ends(result, metric)
            texts = dict.fromkeys(format(end, self.form or f".{DIGITS}f") for end in (low, high))
            records.append((name, low, high, " to ".join(texts), metric))
        columns = ["metric", "low", "high", "printed", "meaning"]
        return pd.DataFrame(records, columns=columns).set_index("metric")

    def ends(self, result: EvaluationResult, metric: str) -> tuple[float, float]:
        """Return the least and the greatest number that the tool may print for a metric of a result of its protocol.

        Parameters
        ----------
        result : EvaluationResult
        metric : str
            A value of `metrics`, or another metric of the same form.
        """
        facts = result.facts
        settings = self._settings(facts["dataset"], facts["observations"], facts["split_sizes"], self.is_listed)
        chosen = [side for side in settings["sides"] if side in result.protocol.sides]
        parts = [self._ranks(result, result.rank_table.rows_of(side)) for side in chosen]
        if not self.rounds_sides:
            first, last, rivals = (np.concatenate(arrays) for arrays in zip(*parts))
            parts = [(first, last, rivals)]
        if metric == "mr" and "mr0" in self.metrics.values():
            metric = "mr0"
        ends = np.array([[_value(metric, ranks, rivals) for ranks in (first, last)] for first, last, rivals in parts])
        if self.rounds_sides:  # with Python's round, as the tool does
            digits = int(self.form[1])
            columns = ends.T.tolist()
            low, high = sorted(round(sum(round(x, digits) for x in ranks) / len(ranks), digits) for ranks in columns)
        else:
            low, high = sorted(ends[0].tolist())
        return low, high

    def _setting(self, result: EvaluationResult) -> str:
        """Return the setting whose ranks the tool averages; it removes nothing from lists of negatives."""
        has_lists = result.protocol.candidates.kind in LISTS or (self.is_listed and not self.by_time)
        return "raw" if has_lists else self.setting

    def _ranks(self, result: EvaluationResult, rows: Ids) -> tuple[Reals, Reals, Ids]:
        """Return the first and the last possible rank of rows under the rule for ties, and the numbers of rivals."""
        setting = self._setting(result)
        counts = result.rank_table.counts(setting, rows)
        better, tied = counts.better.astype(float), counts.tied.astype(float)
        rivals = counts.rivals
        if self.grail == "inference" and merges_valid(result.facts["observations"]):
            tied, rivals = tied + 1, np.where(rivals < 0, rivals, rivals + 1)  # the positive itself
        first, last = RULES[self.ties][1](better, tied)
        bounded = result.rank_table.is_bounded(setting, rows)
        return np.where(bounded, better + 1, first), np.where(bounded, better + tied + 1, last), rivals


def _all_seen(result: EvaluationResult) -> bool:
    """Return whether train has every entity of the dataset and every relation that is ranked, as far as is known."""
    facts = result.facts
    return facts["n_unseen"] == 0 and facts.get("n_unseen_entities") == 0


def _value(metric: str, ranks: Reals, rivals: Ids) -> float:
    """Return the mean of a metric over ranks; see `Convention` for the names."""
    if metric == "mr":
        return float(ranks.mean())
    if metric == "mr0":
        return float(ranks.mean() - 1)
    if metric == "mrr":
        return float((1 / ranks).mean())
    if metric == "gmr":
        return float(np.exp(np.log(ranks).mean()))
    if metric == "hmr":
        return float(1 / (1 / ranks).mean())
    if (rivals < 0).any():  # unknown
        raise MetricError(f"{metric} needs the number of rivals, which is not known")
    if metric == "amri":
        return float(1 - (ranks.mean() - 1) / (rivals.mean() / 2))
    k, _, n = metric.removeprefix("hits@").partition("_of_")
    if not n:
        return float((ranks <= int(k)).mean())
    better: Any = ranks - 1  # ranks may be halves
    return float(SampledHits(int(k), int(n)).values(better, np.zeros_like(rivals), rivals, "optimistic").mean())
