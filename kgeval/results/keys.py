"""Keys such as ``"raw.object.hits@10"``: a metric with setting, side and tie policy, read from text.

`RankTable`, `EvaluationResult` and `kgeval.compare` read their metrics with `Key.parse`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgeval.base.checks import suggest
from kgeval.data.known import SETTINGS
from kgeval.data.sides import ALL_SIDE_NAMES
from kgeval.errors import MetricError
from kgeval.metrics import RankMetric, parse
from kgeval.metrics.base import TIE_POLICIES, Metric
from kgeval.metrics.query_level import QueryLevel

SIDE_WORDS = {"both": "both", **ALL_SIDE_NAMES}


@dataclass(frozen=True)
class Key:
    """A metric with its setting, side and tie policy, written ``[setting.][side.][ties.]metric``.

    ``str(key)`` leaves out the parts with default values.

    Parameters
    ----------
    metric : RankMetric or QueryLevel
    setting : str
        ``"filtered"`` or ``"raw"``.
    side : str
        ``"both"`` (the ranked entity sides, or the relation side if only it was ranked), ``"subject"``, ``"object"`` or
        ``"relation"``.
    ties : str
        A tie policy. Default: realistic ties for metrics of ranks, expected ties for query-level metrics.
    """

    metric: RankMetric | QueryLevel
    setting: str = "filtered"
    side: str = "both"
    ties: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ties", self.ties or self.metric.default_ties)

    def __str__(self) -> str:
        defaults = ("filtered", "both", self.metric.default_ties)
        prefixes = [part for part, default in zip((self.setting, self.side, self.ties), defaults) if part != default]
        return ".".join([*prefixes, str(self.metric)])

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value of the metric."""
        return self.metric.metric.bounds if isinstance(self.metric, QueryLevel) else self.metric.bounds

    @property
    def higher_is_better(self) -> bool:
        """Whether a greater value of the metric is better."""
        metric = self.metric
        return metric.metric.higher_is_better if isinstance(metric, QueryLevel) else metric.higher_is_better

    @classmethod
    def parse(cls, text: str | Metric | Key) -> Key:
        """Return the key that `text` describes.

        Parameters
        ----------
        text : str, Metric or Key
            ``"[setting.][side.][ties.]metric"``; a Metric gives the key with all defaults; a Key is returned
            unchanged. The sides ``head`` and ``tail`` mean subject and object.

        Raises
        ------
        MetricError
            If the text is not a valid key.

        Examples
        --------
        >>> Key.parse("raw.object.optimistic.hits@1")
        Key(metric=Hits(k=1), setting='raw', side='object', ties='optimistic')
        >>> str(Key.parse("raw.query.micro.recall@10").metric), str(Key.parse("filtered.tail.HITS@1"))
        ('query.micro.recall@10', 'object.hits@1')
        """
        if isinstance(text, Key):
            return text
        if isinstance(text, Metric):
            return cls(parse(text))
        if not isinstance(text, str):
            raise MetricError(f"a result key is a string such as 'mrr' or 'raw.object.hits@10'; got {text!r}")
        parts: dict[str, str] = {}
        rest = text.strip()
        for name, choices in (("setting", SETTINGS), ("side", SIDE_WORDS), ("ties", TIE_POLICIES)):
            head, dot, tail = rest.partition(".")
            if dot and head in choices:
                parts[name], rest = (SIDE_WORDS[head] if name == "side" else head), tail
        before_options = rest.partition("(")[0].partition("@")[0]
        if "." in before_options and not before_options.lower().startswith("query."):
            head = rest.partition(".")[0]
            words = (*SETTINGS, *SIDE_WORDS, *TIE_POLICIES)
            hint = "" if head in words else suggest(head, words)
            raise MetricError(
                f"in result key {text!r}: {head!r} is not allowed here{hint}; "
                "write [setting.][side.][ties.]metric, for example 'raw.object.optimistic.hits@1'"
            )
        return cls(parse(rest), **parts)
