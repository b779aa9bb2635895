"""`Protocol` holds the settings that change the numbers of an evaluation, and no other settings.

Users pass a protocol to `kgeval.evaluate`; every result holds its protocol, and comparisons check the protocols of
both results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from kgeval.base.checks import (
    Ids,
    check_one_of,
    check_positive_int,
    check_seed,
    counted,
    listed,
    names_unknown_arguments,
    suggest,
)
from kgeval.data.candidates import OF_TOOL, POOL_KINDS, All, Candidates, candidates_from_json, check_identity
from kgeval.data.dataset import Dataset
from kgeval.data.keys import as_key, check_key
from kgeval.data.sides import ALL_SIDES, RELATION, SIDES, check_sides
from kgeval.data.triples import SPLITS
from kgeval.errors import ProtocolError

UNSEEN = ("rank", "drop", "worst", "error")
OLD_FIELDS = {"filter_splits": "filter"}  # names of fields in files of kgeval 0.1, and their names of today
# What to write instead of arguments that users try: for `Protocol`, and for functions that take `protocol=`.
TIES_HINTS = dict.fromkeys(("tie", "ties", "tie_policy"), "result['optimistic.mrr'] (a result has all tie policies)")
PROTOCOL_HINTS = {
    **TIES_HINTS,
    **dict.fromkeys(("side", "sides"), "protocol=kgeval.Protocol(sides='object')"),
    **dict.fromkeys(("split", "splits"), "protocol=kgeval.Protocol(splits='valid')"),
    **dict.fromkeys(("filter", "filter_splits"), "protocol=kgeval.Protocol(filter=('train', 'valid', 'test'))"),
    **dict.fromkeys(("triples", "sample"), "protocol=kgeval.Protocol(sample=...)"),
    "precision": "protocol=kgeval.Protocol(precision=0.02)",
    **dict.fromkeys(
        ("seed", "sample_seed"),
        "protocol=kgeval.Protocol(sample=1000, sample_seed=0), or for the seed of a training result.save(path, "
        "name=..., seed=...)",
    ),
    "unseen": "protocol=kgeval.Protocol(unseen='drop')",
    **dict.fromkeys(("candidates", "negatives"), "protocol=kgeval.Protocol(candidates=...)"),
    **dict.fromkeys(("metric", "metrics"), "result['hits@5'] or result.summary(metrics=...)"),
}


@dataclass(frozen=True)
class ChosenRows:
    """The rows of the triples that a user chose: what `Protocol` keeps of an array or a mask.

    Parameters
    ----------
    rows : tuple of int
        Ascending; at least one.
    of : int, optional
        The length of the mask; None for an array of rows.

    Examples
    --------
    >>> Protocol(sample=[4, 1]).sample, Protocol(sample=np.array([False, True])).sample
    (<2 chosen rows: 1 and 4>, <1 chosen row of 2: 1>)
    """

    rows: tuple[int, ...]
    of: int | None = None

    def __repr__(self) -> str:
        of = "" if self.of is None else f" of {self.of:,}"
        return f"<{counted(len(self.rows), 'chosen row')}{of}: {listed([str(row) for row in self.rows[:7]], 6)}>"


@dataclass(frozen=True)
class RandomSample:
    """A sample of the triples of the ranked splits: only the sample is ranked, but the filter uses all known triples.

    Parameters
    ----------
    n : int
        The number of triples that are ranked.
    of : int
        The number of triples of the ranked splits.
    digest : str
        Hash of the row numbers of the ranked triples.
    seed : int, optional
        The seed with which the triples were drawn; None if the user chose the triples.

    Examples
    --------
    >>> rows, sample = RandomSample.drawn(2, 5, seed=0)
    >>> rows, str(sample), round(sample.share, 1)
    (array([2, 3]), '2 of 5 triples (drawn at random, seed 0)', 0.4)
    """

    n: int
    of: int
    digest: str
    seed: int | None = None

    @staticmethod
    def order(of: int, seed: int = 0) -> Ids:
        """Return the rows 0 to ``of - 1`` in random order; the sample of n triples consists of the first n rows.

        Samples with the same seed are therefore nested: the sample of 100 triples is a part of the sample of 200. The
        order is the same with every version of numpy, because it depends only on the raw numbers of the generator
        PCG64, which numpy keeps the same.

        Parameters
        ----------
        of : int
            The number of triples of the ranked splits.
        seed : int

        Returns
        -------
        int64 array, shape (of,)
            A permutation; with a random seed, every order is equally likely.

        Raises
        ------
        ProtocolError
            If `seed` is not an integer of at least 0.

        References
        ----------
        O'Neill (2014), PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
        Generation, Harvey Mudd College, HMC-CS-2014-0905.

        Examples
        --------
        >>> RandomSample.order(5, seed=0)
        array([3, 2, 1, 0, 4])
        >>> RandomSample.drawn(3, 5, seed=0)[0]
        array([1, 2, 3])
        """
        # Each row gets a key: a random number of 64 bits, whose last bits are replaced by the row. So no two keys are
        # equal, and the sorted keys contain the rows in random order.
        n_bits = max(of - 1, 0).bit_length()
        last_bits = np.uint64((1 << n_bits) - 1)
        keys = np.random.PCG64(check_seed(seed)).random_raw(of) & ~last_bits | np.arange(of, dtype=np.uint64)
        keys.sort()
        return (keys & last_bits).astype(np.int64)

    @classmethod
    def drawn(cls, sample: Any, of: int, seed: int = 0) -> tuple[Ids, RandomSample | None]:
        """Return the row numbers of the triples to rank, ascending, and the `RandomSample` (None if all are ranked).

        Parameters
        ----------
        sample : None, int, int array, bool array, ChosenRows or RandomSample
            See `Protocol`.
        of : int
            The number of triples of the ranked splits.
        seed : int
            The seed of the draw; used only if `sample` is a number. The rows are the first of ``order(of, seed)``.

        Raises
        ------
        ProtocolError
            If `sample` is none of these, if a row number is repeated or out of range, or if it is the `RandomSample`
            of other triples, or of triples that a user chose: it does not hold their rows.
        """
        every, seed, sample = np.arange(of), check_seed(seed, name="sample_seed"), check_sample(sample)
        if sample is None:
            return every, None
        if isinstance(sample, RandomSample):
            return cls._drawn_again(sample, of), sample
        if isinstance(sample, int):
            if sample >= of:
                return every, None
            rows = np.sort(cls.order(of, seed)[:sample])
            return rows, cls(sample, of, _digest(rows), seed)
        if sample.of not in (None, of):
            raise ProtocolError(
                f"sample must be a number of triples, an array of their rows (0 to {of - 1}), or a mask of shape "
                f"({of},); got a mask of shape ({sample.of},)"
            )
        rows = np.array(sample.rows, dtype=np.int64)
        if rows[0] < 0 or rows[-1] >= of or (np.diff(rows) == 0).any():
            raise ProtocolError(
                f"sample must name distinct rows of the ranked splits, 0 to {of - 1}, at least one; got "
                f"{np.array2string(rows, threshold=6)}"
            )
        return (every, None) if len(rows) == of else (rows, cls(len(rows), of, _digest(rows)))

    @classmethod
    def _drawn_again(cls, sample: RandomSample, of: int) -> Ids:
        """Return the rows of the sample of an earlier result."""
        if sample.of != of:
            raise ProtocolError(
                f"the sample of the protocol is {sample}, but the splits to rank have {of:,} triples; give "
                "sample=a number, the rows or a mask"
            )
        if sample.seed is None:
            raise ProtocolError(
                f"the sample of the protocol is {sample}: a result does not hold which rows; give sample=the rows or a "
                "mask again"
            )
        rows = np.sort(cls.order(of, sample.seed)[: sample.n])
        if _digest(rows) != sample.digest:
            raise ProtocolError(f"the sample of the protocol is {sample}, but this seed draws other triples")
        return rows

    @property
    def share(self) -> float:
        """The share of the triples that was drawn at random; 0 if the user chose the triples."""
        return 0.0 if self.seed is None else self.n / self.of

    def __str__(self) -> str:
        how = "chosen by the user" if self.seed is None else f"drawn at random, seed {self.seed}"
        return f"{self.n:,} of {self.of:,} triples ({how})"


def check_sample(sample: Any) -> int | ChosenRows | RandomSample | None:
    """Return the setting `sample` of a protocol as a value that can be compared and hashed.

    Raise a ProtocolError if it is no number of triples, no array of rows and no mask. Whether the rows exist is known
    only with the splits; `RandomSample.drawn` checks it.
    """
    if sample is None or isinstance(sample, (ChosenRows, RandomSample)):
        return sample
    if isinstance(sample, np.ma.MaskedArray) or hasattr(sample, "iloc"):
        raise ProtocolError(
            f"sample is a {type(sample).__name__}, whose mask or index would be ignored; pass a plain numpy array"
        )
    if isinstance(sample, (int, np.integer)) and not isinstance(sample, (bool, np.bool_)):
        return check_positive_int("sample", int(sample))
    array = np.asarray(sample)
    if array.ndim != 1 or array.dtype.kind not in "biu" or not len(array):
        raise ProtocolError(
            "sample must be a number of triples, an array of their rows, or a mask with one element per triple of the "
            f"ranked splits; got dtype {array.dtype}, shape {array.shape}"
        )
    if array.dtype != bool:
        return ChosenRows(tuple(np.sort(array.astype(np.int64)).tolist()))
    if not array.any():
        raise ProtocolError("sample is a mask without True: it names no triple to rank; name at least one")
    return ChosenRows(tuple(np.flatnonzero(array).tolist()), len(array))


def _digest(rows: Ids) -> str:
    return hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()


@names_unknown_arguments(
    **TIES_HINTS,
    filter_splits="filter=",
    triples="sample=",
    seed="sample_seed=",
)
@dataclass(frozen=True)
class Protocol:
    """The settings of an evaluation: which queries are ranked, among which candidates, and which triples are left out.

    A positive is a triple that is ranked. Its query is the triple without its subject, or without its object. The
    candidates are the entities that compete as answers of the query; a rival is a candidate other than the right
    answer. On the relation side, (s, ?, o), the relations are the candidates.

    Parameters
    ----------
    sides : sequence of str, optional
        The missing sides of the queries: ``"subject"``, ``"object"`` (also head/tail, s/o), ``"relation"``. By default
        subject and object, ``"both"``; if the candidates are lists of negatives, the sides that have lists. Ranks of
        the relation side stand apart: beside an entity side, ``result["mrr"]`` is that of the entity sides, and
        ``result["relation.mrr"]`` that of the relation side.
    filter : sequence of str, optional
        The splits whose triples are known; the filtered setting removes known answers from the rivals. None: all
        splits of the dataset. In a result of ranks that were read without a dataset, None means that the tool removed
        known answers, and that their splits are not known.
    filter_by : sequence of str, optional
        The filter key: further columns of the dataset, such as ``"time"`` or ``"qualifiers"``. Only those known answers
        are removed that have the same values in these columns as the positive. ``()``: known answers are removed
        whatever their time and qualifiers. None: not chosen; an error if the dataset has times or qualifiers
        and there is a filter, otherwise the same as ``()``.
    unseen : str, optional
        What happens to triples with an entity or relation that does not occur in train (unseen triples).
        ``"rank"``: unseen triples are ranked like all other triples, among all entities.
        ``"drop"``: unseen triples are left out and counted; the candidates are the entities of train.
        ``"worst"``: unseen triples get the last rank among all entities. All entities also compete with the
        other positives, but entities that do not occur in train always rank below these positives.
        ``"error"``: an error is raised if there are unseen triples.
        None: ``"drop"`` if the model has no vector for at least one entity or relation, else ``"rank"``; the result
        records the choice.
    splits : sequence of str
        The splits whose triples are ranked.
    candidates : Candidates
        The entities that compete with each positive; see `kgeval.candidates`. In results of `kgeval.evaluate_scores`,
        these are the candidates that the table of scores lists.
    sample : int, int array or bool array, optional
        Rank only a part of the triples; the filter still uses all known triples. A number of triples, which are drawn
        at random; the rows of the triples in the ranked splits; or a mask. None: all triples. The protocol of a result
        holds the `RandomSample` that was ranked. If the triples were drawn at random, confidence intervals of metrics
        describe the whole splits, with the finite-population correction; confidence intervals of differences between
        models do not have this correction.
    sample_seed : int
        The seed of the random triples if `sample` is a number, and of the order of the triples with
        ``kgeval.evaluate(..., max_seconds=...)``. Without either of them, another seed than 0 is an error: it would
        change nothing. Samples with the same seed are nested.
    precision : float or mapping of str to float, optional
        Rank only as many random triples as are needed for this half-width of the 95% interval of MRR, or of the
        metrics that are the keys: ``{"hits@10": 0.02}``. The protocol of the result holds the `RandomSample` that was
        ranked, and no precision. Not together with `sample`.

    Raises
    ------
    ProtocolError
        If a setting has a value that is not listed above.

    Examples
    --------
    >>> Protocol(sides="tail").sides
    ('object',)
    >>> Protocol(sides="both,relation", filter="train").describe()
    'filtered by train, all entities and relations, subject, object and relation sides'
    >>> Protocol(filter="train", sample=100, sample_seed=7).describe()
    'filtered by train, all entities, both sides, 100 triples drawn at random, seed 7'
    >>> Protocol(unseen="drop") == Protocol.from_dict(Protocol(unseen="drop").to_dict())
    True
    """

    sides: Sequence[str] = None  # type: ignore[assignment]  # replaced in __post_init__
    filter: Sequence[str] | None = None
    unseen: str | None = None
    splits: Sequence[str] = ("test",)
    candidates: Candidates = field(default_factory=All)
    sample: Any = None  # after __post_init__: int, ChosenRows, RandomSample or None
    sample_seed: int = 0
    filter_by: Sequence[str] | None = None
    precision: Any = None  # after __post_init__: a tuple of (metric, half-width), or None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names_sides", self.sides is not None)
        if not isinstance(self.candidates, Candidates):
            raise ProtocolError(
                "candidates must be a value such as kgeval.candidates.All() or "
                f"kgeval.candidates.ByRelation.observed(dataset); got {self.candidates!r}"
            )
        check_identity(self.candidates)
        sides = self.candidates.sides if self.sides is None else self.sides
        object.__setattr__(self, "sides", check_sides(sides, ALL_SIDES))
        without = [side for side in self.sides if side not in self.candidates.possible_sides]
        if without and self.candidates.kind in POOL_KINDS and RELATION in without:
            raise ProtocolError(
                "pools by relation have no candidates for the relation side, whose candidates are relations; rank it "
                "with kgeval.candidates.All() or Listed(relations=...)"
            )
        if without:
            raise ProtocolError(
                f"the candidates have no lists for the {without[0]} side; leave sides= out to rank the "
                f"{' and '.join(self.candidates.sides)} side"
            )
        object.__setattr__(self, "splits", _check_splits("splits", self.splits))
        if not self.splits:
            raise ProtocolError("splits is empty; name at least one, such as 'test'")
        if self.filter is not None:
            if isinstance(self.filter, str) and self.filter in ("none", "raw"):
                raise ProtocolError(
                    f"filter must name splits; got {self.filter!r}. filter=() removes no known answers; raw ranks need "
                    'no other protocol: result["raw.mrr"]'
                )
            object.__setattr__(self, "filter", _check_splits("filter", self.filter))
        if self.filter_by is not None:
            object.__setattr__(self, "filter_by", as_key(self.filter_by))
        if self.unseen is not None:
            check_one_of("unseen", self.unseen, UNSEEN)
        object.__setattr__(self, "sample", check_sample(self.sample))
        object.__setattr__(self, "sample_seed", check_seed(self.sample_seed, name="sample_seed"))
        object.__setattr__(self, "precision", _check_precision(self.precision))
        if self.precision is not None and self.sample is not None:
            raise ProtocolError("precision chooses how many random triples are ranked; give precision= or sample=")
        if isinstance(self.sample, RandomSample) and self.sample_seed == 0:
            object.__setattr__(self, "sample_seed", self.sample.seed or 0)
        is_drawn = isinstance(self.sample, int) or (
            isinstance(self.sample, RandomSample) and self.sample.seed == self.sample_seed
        )
        if self.sample is not None and self.sample_seed != 0 and not is_drawn:
            raise ProtocolError(
                f"sample_seed={self.sample_seed} changes nothing here: it is the seed of sample=N (N random triples), "
                "and sample already says which triples are ranked"
            )

    def __getattr__(self, name: str) -> Any:
        """Answer a name of kgeval 0.1 with the name of today; called only for names that do not exist."""
        hint = "; its name is 'filter' since kgeval 0.2" if name == "filter_splits" else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    @property
    def names_sides(self) -> bool:
        """Whether the user gave `sides`; False if they follow from `candidates`."""
        return bool(getattr(self, "_names_sides", True))

    @property
    def is_of_tool(self) -> bool:
        """Whether another tool chose filter and candidates, and its choice is not known: ranks without a dataset."""
        return self.candidates.kind == OF_TOOL

    def resolved(self, dataset: Dataset, unseen: str = "rank") -> Protocol:
        """Return the protocol with a value in place of each None.

        Parameters
        ----------
        dataset : Dataset
            If `filter` is None, it becomes all splits of this dataset. If `filter_by` is None, it becomes ``()``.
        unseen : str
            The new value of the field `unseen` if this field is None.

        Raises
        ------
        ProtocolError
            If the protocol names a split or column that is not in `dataset`, or if `filter_by` is None, the dataset has
            times or qualifiers, and there is a filter.
        """
        known = tuple(dataset.splits) if self.filter is None else self.filter
        for split in (*self.splits, *known):
            if split not in dataset:
                raise ProtocolError(
                    f"dataset {dataset.name!r} has no split {split!r}, which the protocol names; its splits are "
                    f"{', '.join(dataset.splits)}"
                )
        candidates = self.candidates.of_triples(dataset, self.splits)
        chosen = () if self.filter_by is None and not known else self.filter_by  # a raw ranking removes nothing
        key = check_key(dataset, chosen)
        return replace(self, filter=known, filter_by=key, unseen=self.unseen or unseen, candidates=candidates)

    def drawn(self, of: int) -> tuple[Ids, Protocol]:
        """Return the rows of the triples to rank, and the protocol with the `RandomSample` of these rows.

        Parameters
        ----------
        of : int
            The number of triples of the ranked splits.

        Raises
        ------
        ProtocolError
            If `sample` does not fit this number of triples.
        """
        rows, sample = RandomSample.drawn(self.sample, of, self.sample_seed)
        return rows, replace(self, sample=sample, sample_seed=0, precision=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON can store."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        plain["candidates"] = self.candidates.to_json()
        if isinstance(self.sample, (ChosenRows, RandomSample)):
            plain["sample"] = asdict(self.sample)
        elif self.sample is None:
            del plain["sample"]  # so that protocols without a sample keep the fingerprints of version 0.1.0
        if isinstance(self.sample, RandomSample) or not self.sample_seed:
            del plain["sample_seed"]  # the sample holds it
        if self.filter_by == ():
            del plain["filter_by"]  # so that protocols of plain triples keep their fingerprints
        if self.precision is None:
            del plain["precision"]
        else:
            plain["precision"] = dict(self.precision)
        return plain

    @staticmethod
    def with_new_names(values: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a protocol in a file, under the names of today.

        Parameters
        ----------
        values : dict
            From `to_dict`, perhaps of kgeval 0.1.

        Examples
        --------
        >>> Protocol.with_new_names({"filter_splits": ["train"], "unseen": "rank"})
        {'filter': ['train'], 'unseen': 'rank'}
        """
        return {OLD_FIELDS.get(name, name): value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Protocol:
        """Return the protocol of a dict that `to_dict` returned; raise a ProtocolError for an unknown key."""
        known = cls.__dataclass_fields__
        values = cls.with_new_names(values)
        for key in values:
            if key not in known:
                raise ProtocolError(f"unknown protocol field {key!r}{suggest(key, known)}; known: {', '.join(known)}")
        parsed = {"filter_by": (), **values}  # files of earlier versions filter plain triples
        if "candidates" in values:
            parsed["candidates"] = candidates_from_json(values["candidates"])
        if isinstance(values.get("sample"), dict):
            given = values["sample"]
            if set(given) == {"rows", "of"}:
                parsed["sample"] = ChosenRows(tuple(given["rows"]), given["of"])
            elif set(given) == {field.name for field in fields(RandomSample)}:
                parsed["sample"] = RandomSample(**given)
            else:
                raise ProtocolError("sample must be a dict with the keys digest, n, of, seed")
        return cls(**parsed)

    @property
    def fingerprint(self) -> str:
        """First 8 hexadecimal digits of the SHA-256 of the fields, `filter` under its name of version 0.1."""
        old = {name: field for field, name in OLD_FIELDS.items()}
        values = {old.get(name, name): value for name, value in self.to_dict().items()}
        if values.get("filter_by", ()) is None:
            del values["filter_by"]
        if self.candidates.kind in POOL_KINDS:  # where the pools come from changes no number
            values["candidates"] = {"kind": self.candidates.kind, "digest": self.candidates.digest}
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def describe(self) -> str:
        """Return the protocol as one line of English."""
        filters = "+".join(self.filter or ()) or "nothing"
        if self.filter is None:
            filters = "the tool (splits not known)" if self.is_of_tool else "every split"
        filters += f" with equal {' and '.join(self.filter_by)}" if self.filter_by else ""
        sides = "both sides" if self.sides == SIDES else f"{listed([*self.sides])} side{'s' * (len(self.sides) > 1)}"
        among = self.candidates.describe()
        if self.candidates == All() and RELATION in self.sides:
            among = "all relations" if len(self.sides) == 1 else f"{among} and relations"
        if self.unseen == "drop":
            among = f"{among.removeprefix('all ')} of train" if self.candidates == All() else f"{among}, those of train"
        elif self.unseen == "worst":
            among = f"{among}, unseen last"
        part = "" if self.sample is None and self.precision is None else f", {self._describe_sample()}"
        return f"filtered by {filters}, {among}, {sides}{part}"

    def _describe_sample(self) -> str:
        if self.precision is not None:
            wanted = listed([f"{metric} +-{half_width:g}" for metric, half_width in self.precision])
            return f"random triples for {wanted}, seed {self.sample_seed}"
        if self.sample is None:
            return "all triples"
        if isinstance(self.sample, int):
            return f"{counted(self.sample, 'triple')} drawn at random, seed {self.sample_seed}"
        if isinstance(self.sample, ChosenRows):
            return f"{counted(len(self.sample.rows), 'triple')} chosen by the user"
        return str(self.sample)

    def _repr_html_(self) -> str:
        from kgeval.display import html, html_tables

        filters = ", ".join(self.filter or ())
        if self.filter is None:
            filters = "not known, chosen by the tool" if self.is_of_tool else "all splits of the dataset"
        shared = "not chosen" if self.filter_by is None else ", ".join(self.filter_by)
        facts = [
            ("ranked splits", ", ".join(self.splits)),
            ("missing sides", ", ".join(self.sides)),
            ("candidates", self.candidates.describe()),
            ("splits of known answers (filter)", filters or "none"),
            ("columns that known answers share (filter_by)", shared or "none"),
            ("triples with unseen entities or relations", self.unseen or "drop or rank, by the model"),
            ("sample", self._describe_sample()),
        ]
        return html.panel(
            f"Protocol {self.fingerprint}",
            html.line(f"{'+'.join(self.splits)}: {self.describe()}"),
            html.folded(
                "All settings",
                html_tables.html_table(html_tables.fact_table(facts)),
            ),
        )


def _as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Convert `value` to a tuple of names; `value` is a sequence of names, or a string of names separated by commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    if not isinstance(value, Iterable):
        raise ProtocolError(f"{name} must be a sequence of names; got {value!r}")
    return tuple(value)


def _check_splits(name: str, value: Any) -> tuple[str, ...]:
    """Return the distinct splits in `value`, in the order of `SPLITS`; `name` is the field, for messages."""
    chosen = {check_one_of(name, split, SPLITS) for split in _as_tuple(name, value)}
    return tuple(split for split in SPLITS if split in chosen)


def _check_precision(value: Any) -> tuple[tuple[str, float], ...] | None:
    """Return the metrics of the setting `precision` with their half-widths; a number is the half-width of MRR."""
    if value is None:
        return None

    def is_number(x: Any) -> bool:
        return isinstance(x, (int, float, np.number)) and not isinstance(x, bool)

    metrics = {"mrr": value} if is_number(value) else value
    pairs = tuple(dict(metrics).items()) if isinstance(metrics, (Mapping, tuple)) else ()
    if not pairs or not all(is_number(half_width) and 0 < half_width < np.inf for _, half_width in pairs):
        raise ProtocolError(
            "precision must be a half-width above 0 of the 95% interval of MRR, such as 0.02, or a dict of metrics "
            f"with half-widths, such as {{'hits@10': 0.02}}; got {value!r}"
        )
    return tuple((str(metric), float(half_width)) for metric, half_width in pairs)
