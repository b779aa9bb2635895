"""The measures of trec_eval, with the names that trec_eval uses, built from the metrics of `kgeval.metrics.retrieval`.

For each query, a measure is a ratio; as in trec_eval, a ratio with denominator 0 counts as 0. `parse_measures` reads
names of measures; `kgeval.trec.measured_runs` computes the measures. A `Maker` is a function that makes the measures of
one name, for example P_5 and P_10 for ``P.5,10``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kgeval.base.checks import Ids, Reals
from kgeval.errors import MetricError
from kgeval.metrics import MetricValue
from kgeval.metrics.base import split_list
from kgeval.metrics.retrieval import MAP, NDCG, RR, FBeta, Precision, Recall, RPrecision, Success
from kgeval.metrics.retrieval.base import LISTS, ListMetric
from kgeval.metrics.retrieval.interpolated import HitCounts
from kgeval.metrics.retrieval.lists import INFINITY, RankedLists
from kgeval.metrics.retrieval.positions import expected_hits

MIN_IN_GM_MAP = 1e-5
CUT_OFFS = "5,10,15,20,30,100,200,500,1000"
RECALLS = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"
MULTIPLES = ".2,.4,.6,.8,1,1.2,1.4,1.6,1.8,2"

Ratio = Callable[[RankedLists], tuple[Reals, Reals]]


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval: a ratio per query, and how the ratios of all queries are combined.

    Parameters
    ----------
    name : str
        The name as trec_eval prints it.
    ratio : callable
        Returns two arrays like `ListMetric.ratio`: the numerators and the denominators of all queries.
    total : str
        How the values of all queries are combined: ``"mean"``; ``"geometric"``, the geometric mean, in which a value
        below 0.00001 counts as 0.00001; or ``"sum"``, for counts.
    has_expectation : bool
        Whether the exact expectation over random orders of tied documents can be computed.
    """

    name: str
    ratio: Ratio
    total: str = "mean"
    has_expectation: bool = True
    undefined_when: ClassVar[str] = ""  # `lacking` gives the only reason; otherwise every query has a value

    def per_query(self, lists: RankedLists, ties: str) -> Reals:
        """Return the value of the measure for each list, float64, shape (queries,).

        A value is 0 if its denominator is 0. All values are NaN if the measure is undefined (see `lacking`).
        """
        if self.lacking(lists, ties):
            return np.full(len(lists), np.nan)
        above, below = self.ratio(lists.under(ties))
        return np.divide(above, below, out=np.zeros(len(lists)), where=below > 0)

    def compute(self, lists: RankedLists, ties: str) -> MetricValue:
        """Return the value of the measure for all lists together."""
        reason = self.lacking(lists, ties)
        if reason:
            return MetricValue.undefined(reason)
        values = self.per_query(lists, ties)
        if self.total == "geometric":
            return MetricValue(math.exp(np.log(np.maximum(values, MIN_IN_GM_MAP)).mean()))
        return MetricValue(float(values.sum() if self.total == "sum" else values.mean()))

    def lacking(self, lists: RankedLists, ties: str) -> str:
        """Return the reason why the measure is undefined under `ties`, or an empty string."""
        is_undefined = ties == "expected" and not self.has_expectation and lists.has_mixed_ties
        return (
            "no exact expectation over random tie breaking; use a tie policy other than 'expected'"
            if is_undefined
            else ""
        )

    def __str__(self) -> str:
        return self.name


def parse_measures(texts: Iterable[str]) -> list[TrecMeasure | ListMetric]:
    """Return the measures of trec_eval or kgeval that have the given names; no measure is returned twice.

    Parameters
    ----------
    texts : iterable of str
        Names of trec_eval: ``"map"``, ``"P.5,10"`` (or ``"P_5"``), ``"ndcg.1=3,2=9"``, ``"official"``, ``"set"``,
        ``"all_trec"``. Names of kgeval: ``"ndcg@10"``, ``"err(g_max=4)@20"``. One text can hold several names,
        with commas between them. A query without a relevant document counts as 0 in a measure of trec_eval; a metric of
        kgeval leaves out these queries by default.

    Returns
    -------
    list of TrecMeasure or ListMetric

    Raises
    ------
    MetricError
        If a name is unknown (the message lists the known names), or if a parameter is wrong.

    Examples
    --------
    >>> [str(measure) for measure in parse_measures(["P.10,5,map", "ndcg@10"])]
    ['P_5', 'P_10', 'map', 'ndcg@10']
    """
    measures: dict[str, TrecMeasure | ListMetric] = {}
    for text in texts:
        parts: list[str] = []
        for part in split_list(text):
            if parts and re.fullmatch(
                r"[-+.=0-9]+", part
            ):  # a number belongs to the name before it, as the 10 in P.5,10
                parts[-1] += f",{part}"
            else:
                parts.append(part)
        for part in parts:
            for measure in _measures_of(part):
                measures.setdefault(str(measure), measure)
    return list(measures.values())


def _measures_of(text: str) -> Sequence[TrecMeasure | ListMetric]:
    """Return the measures that one name means, for example P_5 and P_10 for ``"P.5,10"``."""
    if text in SETS:
        return [measure for name in SETS[text] for measure in MEASURES[name](name, "")]
    parts = re.fullmatch(rf"({'|'.join(MEASURES)})(?:\.(.*)|_([-+.=,0-9]+))?", text)
    if parts:
        return MEASURES[parts[1]](parts[1], parts[2] or parts[3] or "")
    metric = LISTS.parse(text, [*MEASURES, *SETS])
    if str(metric) in MEASURES:
        raise MetricError(
            f"the short name of {text!r} is {str(metric)!r}, which is a measure of trec_eval; write {str(metric)!r}"
        )
    return [metric]


Maker = Callable[[str, str], list[TrecMeasure]]  # arguments: the measure's name, the text of its parameters


def _plain_measure(ratio: Ratio, total: str = "mean", has_expectation: bool = True) -> Maker:
    """Return a function (a `Maker`) that makes one measure and accepts no parameters."""

    def make(name: str, text: str) -> list[TrecMeasure]:
        if text:
            raise MetricError(f"{name} takes no parameters; got '{name}.{text}'")
        return [TrecMeasure(name, ratio, total, has_expectation)]

    return make


def _count(values: Callable[[RankedLists], Any]) -> Maker:
    """Return a function (a `Maker`) that makes a count: the sum of ``values(lists)`` over the queries."""
    return _plain_measure(lambda lists: (np.asarray(values(lists), dtype=np.float64), np.ones(len(lists))), "sum")


def _parameters_in_name(ratio: Callable[[str, str], Ratio], has_expectation: bool = True) -> Maker:
    """Return a function (a `Maker`) that makes one measure; the measure's name contains the text of its parameters."""

    def make(name: str, text: str) -> list[TrecMeasure]:
        return [TrecMeasure(f"{name}_{text}" if text else name, ratio(name, text), "mean", has_expectation)]

    return make


def _per_cut_off(ratio: Callable[[int], Ratio], default: str = CUT_OFFS) -> Maker:
    """Return a function (a `Maker`) that makes one measure for each cut-off, in ascending order."""

    def make(name: str, text: str) -> list[TrecMeasure]:
        cut_offs = _numbers(name, text or default, int, "positive integers", lambda k: k > 0)
        return [TrecMeasure(f"{name}_{k}", ratio(k)) for k in sorted(cut_offs)]

    return make


def _per_share(ratio: Callable[[float], Ratio], default: str, largest: float, has_expectation: bool = True) -> Maker:
    """Return a function (a `Maker`) that makes one measure for each share, in ascending order.

    A share is a number from 0 to `largest`. The measures multiply it by the number of relevant documents of a query.
    """

    def make(name: str, text: str) -> list[TrecMeasure]:
        shares = _numbers(name, text or default, float, f"numbers from 0 to {largest:g}", lambda c: 0 <= c <= largest)
        shown = {c: f"{c:.2f}" if float(f"{c:.2f}") == c else f"{c:g}" for c in sorted(shares)}
        return [TrecMeasure(f"{name}_{shown[c]}", ratio(c), "mean", has_expectation) for c in shown]

    return make


def _numbers(name: str, text: str, kind: type, expected: str, is_right: Callable[[Any], bool]) -> list[Any]:
    """Return the comma-separated numbers in `text`; raise a MetricError if `is_right` returns False for a number."""
    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(is_right, numbers)):
        raise MetricError(f"expected {expected} after '{name}.'; got '{name}.{text}'")
    return numbers


def _hits(lists: RankedLists) -> Reals:
    return expected_hits(lists, INFINITY)


def _relative_precision(k: int) -> Ratio:
    """Return a function that computes the numerators and denominators of the measure ``relative_P``.

    A numerator is the number of relevant documents among the first k. The denominator is the largest possible
    numerator: the smaller of k and the number of relevant documents of the query.
    """
    return lambda lists: (expected_hits(lists, k), np.minimum(lists.n_relevant, k).astype(np.float64))


def _set_relative_precision(lists: RankedLists) -> tuple[Reals, Reals]:
    return _hits(lists), np.minimum(lists.n_relevant, lists.length).astype(np.float64)


def _set_map(lists: RankedLists) -> tuple[Reals, Reals]:
    return _hits(lists) ** 2, (lists.length * lists.n_relevant).astype(np.float64)


def _precision_at_share(share: float) -> Ratio:
    """Return a function that computes the numerators and denominators of the precision at ``share * R``.

    This is the precision among the first ``share * R`` documents, where R is the number of relevant documents of the
    query. ``share * R`` is rounded up to an integer, but rounded down if it is less than 0.1 above an integer.
    """

    def ratio(lists: RankedLists) -> tuple[Reals, Reals]:
        reach: Ids = (share * lists.n_relevant + 0.9).astype(np.int64)
        return expected_hits(lists, reach), reach.astype(np.float64)

    return ratio


def _interpolated_precision(recalls: Sequence[float]) -> Ratio:
    """Return a function that computes the numerators and denominators of the interpolated precision.

    The interpolated precision is averaged over `recalls`. Let R be the number of relevant documents of the query. At
    recall c, only the positions up to which at least ``c * R`` relevant documents are retrieved are considered; the
    interpolated precision is the largest precision at these positions. trec_eval rounds ``c * R`` to the nearest
    integer; `kgeval.metrics.retrieval.InterpolatedPrecision` rounds it up.
    """

    def ratio(lists: RankedLists) -> tuple[Reals, Reals]:
        hits, total = HitCounts.of(lists), np.zeros(len(lists))
        for recall in recalls:
            # needed, (queries,): how many relevant documents must be retrieved. reaches, (hits,): True for the hit that
            # is number `needed` of its query.
            needed = np.maximum(np.floor(recall * lists.n_relevant + 0.5), 1)
            reaches = hits.number == needed[hits.query]
            total += lists.per_list(hits.query[reaches], hits.interpolated[reaches])
        return total, np.full(len(lists), float(len(recalls)))

    return ratio


def _mean_over_recalls(name: str, text: str) -> Ratio:
    recalls = _numbers(name, text or RECALLS, float, "numbers from 0 to 1", lambda recall: 0 <= recall <= 1)
    return _interpolated_precision(recalls)


def _f_of_set(name: str, text: str) -> Ratio:
    """Return a function that computes the numerators and denominators of F-beta.

    F-beta is ``(1 + x) * P * R / (R + x * P)``, where P is the precision, R is the recall, and ``x = beta ** 2`` is the
    number in `text` (by default 1).
    """
    weights = _numbers(name, text or "1", float, "a positive number", lambda x: 0 < x < math.inf)
    if len(weights) > 1:
        raise MetricError(f"expected one number after '{name}.'; got '{name}.{text}'")
    return FBeta(beta=math.sqrt(weights[0])).ratio


def _ndcg(name: str, text: str) -> Ratio:
    if not text:
        return NDCG().ratio
    if not re.fullmatch(r"\d+=[.\d]+(,\d+=[.\d]+)*", text) or re.search(r"(^|,)0+=", text):
        raise MetricError(f"expected gains of positive grades, such as '{name}.1=3,2=9'; got '{name}.{text}'")
    return NDCG(gain=text.replace("=", ":").replace(",", ";")).ratio


MEASURES: dict[str, Maker] = {  # in the order in which trec_eval prints them
    "runid": _count(lambda lists: np.ones(len(lists))),  # `trec_table` replaces the count by the tag
    "num_q": _count(lambda lists: np.ones(len(lists))),
    "num_ret": _count(lambda lists: lists.length),
    "num_rel": _count(lambda lists: lists.n_relevant),
    "num_rel_ret": _count(_hits),
    "map": _plain_measure(MAP().ratio),
    "gm_map": _plain_measure(MAP().ratio, "geometric", has_expectation=False),
    "Rprec": _plain_measure(RPrecision().ratio),
    "recip_rank": _plain_measure(RR().ratio),
    "iprec_at_recall": _per_share(lambda c: _interpolated_precision([c]), RECALLS, 1, has_expectation=False),
    "P": _per_cut_off(lambda k: Precision(k).ratio),
    "recall": _per_cut_off(lambda k: Recall(k).ratio),
    "Rprec_mult": _per_share(_precision_at_share, MULTIPLES, 1000),
    "11pt_avg": _parameters_in_name(_mean_over_recalls, has_expectation=False),
    "ndcg": _parameters_in_name(_ndcg),
    "ndcg_cut": _per_cut_off(lambda k: NDCG(k).ratio),
    "map_cut": _per_cut_off(lambda k: MAP(k).ratio),
    "relative_P": _per_cut_off(_relative_precision),
    "success": _per_cut_off(lambda k: Success(k).ratio, "1,5,10"),
    "set_P": _plain_measure(Precision().ratio),
    "set_relative_P": _plain_measure(_set_relative_precision),
    "set_recall": _plain_measure(Recall().ratio),
    "set_map": _plain_measure(_set_map),
    "set_F": _parameters_in_name(_f_of_set),
}
_COUNTS = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
SETS: dict[str, tuple[str, ...]] = {
    "official": (*_COUNTS, "map", "gm_map", "Rprec", "recip_rank", "iprec_at_recall", "P"),
    "set": (*_COUNTS, "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    "all_trec": tuple(MEASURES),
}
