"""Negatives of a triple: all of them (`negatives`), or a random sample (`sample_negatives`).

Users call both functions; `kgeval.classify` calls `sample_negatives` to draw random negatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import (
    Ids,
    Reals,
    check_one_of,
    check_positive_int,
    check_seed,
    counted,
    cut_label,
    names_unknown_arguments,
    warn_user,
)
from kgeval.data.column_names import given_values
from kgeval.data.dataset import Dataset, check_dataset, triple_labels
from kgeval.data.frames import with_labels
from kgeval.data.keys import check_key, codes_of, facts_of, natural_key
from kgeval.data.known import SETTINGS, KnownIndex
from kgeval.data.pandas_index import by_label
from kgeval.data.queries import Queries, query_parts
from kgeval.data.row_keys import rank_in
from kgeval.data.sides import ALL_SIDES, check_side, check_sides, side_of
from kgeval.data.vocabulary import triple_ids
from kgeval.errors import DataError, ProtocolError

DISTINCT = ("positive", "query")


@names_unknown_arguments(filter_splits="filter=")
def negatives(
    dataset: Dataset,
    triple: Sequence[str | int],
    side: str,
    setting: str = "filtered",
    filter: Sequence[str] | None = None,
    given: Mapping[str, Any] | None = None,
    *,
    ids: bool = False,
) -> list[str] | Ids:
    """Return the entities or relations that can replace a part of `triple` to form a negative.

    Parameters
    ----------
    dataset : Dataset
    triple : sequence of three labels or ids
        Subject, relation, object.
    side : str
        The side that is replaced: ``"subject"`` or ``"object"`` (or head/tail, s/o), or ``"relation"``.
    setting : str
        ``"raw"``: all others. ``"filtered"``: all others that do not form a known triple.
    filter : sequence of str, optional
        The splits whose triples are known; by default all splits of the dataset.
    given : mapping of str to value, optional
        Values of the triple in further columns of the dataset, such as ``{"time": 183}``: only the triples with these
        values are known. ``{}``: a triple is known whatever its time and qualifiers. Needed for the setting
        ``"filtered"`` if the dataset has times or qualifiers.
    ids : bool
        Whether to return ids instead of labels.

    Returns
    -------
    list of str, or int64 array
        The entities (for the relation side: relations) in id order, without the one that `triple` has on this side.

    Raises
    ------
    DataError
        If `dataset` is not a Dataset, if `triple` does not have three parts, or if a part is not in `dataset`.
    ProtocolError
        If `side` or `setting` is not one of the values above, if `dataset` lacks one of `filter`, or if `given` is
        needed.

    Examples
    --------
    >>> import pandas as pd
    >>> facts = pd.DataFrame([["Jack", "likes", "Italy"], ["Jack", "likes", "China"]])
    >>> dataset = Dataset.from_frames(test=facts)
    >>> negatives(dataset, ("Jack", "likes", "Italy"), "object", "raw")
    ['China', 'Jack']
    >>> negatives(dataset, ("Jack", "likes", "Italy"), "object", "filtered")
    ['Jack']
    """
    check_dataset(dataset)
    side = check_side(side, ALL_SIDES)
    check_one_of("setting", setting, SETTINGS)
    if len(triple) != 3:
        raise DataError(f"triple must be (subject, relation, object) labels; got {triple!r}")
    values, natural = given_values(given, dataset.column_names), natural_key(dataset)
    if given is None and natural and setting == "filtered":
        which = " and ".join(natural)
        raise ProtocolError(
            f"dataset {dataset.name!r} has {which}: are the triples of the same {which} known, or those of any? "
            f"given={{{', '.join(f'{name!r}: ...' for name in natural)}}} means the same, given={{}} any"
        )
    parts, asked = query_parts(triple_ids(dataset.entities, dataset.relations, triple)[None], side)
    vocabulary = side_of(side).vocabulary(dataset)
    is_negative = np.ones(len(vocabulary), dtype=bool)  # shape (entities,) or (relations,)
    is_negative[asked] = False
    if setting == "filtered":
        known = facts_of(dataset, _known_splits(dataset, filter), tuple(values))
        codes = [codes_of(dataset, name, [value], "given") for name, value in values.items()]
        is_negative[KnownIndex.of(*query_parts(known, side)).lookup(*parts, *codes)[1]] = False
    negative_ids = np.flatnonzero(is_negative)
    return negative_ids if ids else [vocabulary.labels[i] for i in negative_ids]


def _known_splits(dataset: Dataset, filter: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return `filter` as a tuple of names; if it is None, all splits of the dataset."""
    names = (filter,) if isinstance(filter, str) else filter
    return tuple(dataset.splits) if names is None else tuple(names)


@names_unknown_arguments(filter_splits="filter=", seed="sample_seed=")
def sample_negatives(
    dataset: Dataset,
    split: str,
    n: int = 1,
    sides: Sequence[str] | str = "both",
    sample_seed: int = 0,
    filter: Sequence[str] | None = None,
    *,
    replace: bool = False,
    distinct: str = "positive",
    pool: Sequence[str] | npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    filter_by: Sequence[str] | None = None,
    ids: bool = False,
) -> pd.DataFrame:
    """Draw `n` random negatives for every positive (triple of a split); no negative is a known triple.

    A negative is the positive with another entity as subject or as object. All entities that do not form a known triple
    have the same probability, unless `weights` says otherwise. Each positive has its own draw: the negatives of one
    positive are distinct, those of two positives of one query may be equal. A negative with a new subject and a
    negative with a new object can be the same triple.

    Parameters
    ----------
    dataset : Dataset
    split : str
    n : int
        The number of negatives for each positive, both sides together.
    sides : str or sequence of str
        The sides whose entities are replaced. With two sides, each positive gets n // 2 negatives per side; if n is
        odd, a fair coin chooses the side of the last negative.
    sample_seed : int
        At least 0. The same arguments always give the same negatives.
    filter : sequence of str, optional
        The splits whose triples are known; by default all splits of the dataset. The triples of `split` are always
        known.
    replace : bool
        Whether a positive can get the same negative several times.
    distinct : str
        ``"positive"``: the negatives of each positive are distinct. ``"query"``: all negatives of one query, (s, p, ?)
        or (?, p, o), are distinct, even if several positives have this query, as a set of false triples needs it. As
        lists to rank among, such negatives are too few: the positives of a query share its unknown triples.
    pool : sequence of labels, or int array of ids, optional
        The entities that may be drawn; by default all.
    weights : float array, shape (entities,), or Series by label, optional
        Entities are drawn with probabilities in proportion to these numbers, such as degrees ** 0.75.
    filter_by : sequence of str, optional
        The filter key, as in `Protocol`: with ``("time",)``, a negative of a fact is no known triple of the same time,
        and the queries of two times are different queries. ``()``: a negative is no known triple of any time. Needed if
        the dataset has times or qualifiers.
    ids : bool
        Whether the frame holds ids instead of labels.

    Returns
    -------
    pandas.DataFrame
        One row per negative, in the order of the positives. Columns: ``s``, ``p`` and ``o``; ``side``, the side whose
        entity was replaced; ``positive``, the row of the positive in the split; then the columns of the filter key,
        with the values of the positive (without qualifiers). A positive with fewer unknown triples
        than negatives to draw gets all of them, and fewer than n negatives; a `KgevalWarning` counts such positives.

    Raises
    ------
    ProtocolError
        If `dataset` lacks `split` or one of `filter`, or if another setting is invalid.
    DataError
        If `pool` or `weights` do not fit the entities of `dataset`.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS (corruption); Socher et al.
    (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS (negatives for classification).

    Examples
    --------
    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2]], n_entities=4, n_relations=1)
    >>> negatives = sample_negatives(dataset, "test", n=2, sides="object")
    >>> sorted(negatives["o"])  # objects 1 and 2 make known triples, so only entities 0 and 3 are left
    ['0', '3']
    >>> sample_negatives(dataset, "test", n=3, sides="object", replace=True, pool=["3"])["o"].tolist()
    ['3', '3', '3']
    """
    settings: dict[str, Any] = {"replace": replace, "distinct": distinct, "pool": pool, "weights": weights}
    frame = draw_negatives(dataset, split, n, sides, sample_seed, filter, filter_by=filter_by, **settings)
    for name in check_key(dataset, filter_by):
        values = dataset.column(split, name)
        if isinstance(values, np.ndarray):
            frame[name] = values[frame["positive"].to_numpy()]
    n_positives = len(dataset[split])
    n_drawn = np.bincount(frame["positive"], minlength=n_positives)
    short = np.flatnonzero(n_drawn < n)
    if len(short):
        labels = triple_labels(dataset, *dataset[split].array[short[0]])
        warn_user(
            f"{len(short):,} of {counted(n_positives, 'positive')} got fewer than {n} negatives (at least "
            f"{n_drawn.min()}), first {labels}: they have no more unknown triples. Among fewer rivals ranks are "
            "better, so hits@k and MRR come out higher"
        )
    return frame if ids else with_labels(frame, dataset.entities, dataset.relations)


def draw_negatives(
    dataset: Dataset,
    split: str,
    n: int,
    sides: Sequence[str] | str,
    sample_seed: int,
    filter: Sequence[str] | None = None,
    *,
    replace: bool = False,
    distinct: str = "positive",
    pool: Sequence[str] | npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    filter_by: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Draw the negatives of `sample_negatives`, with ids, and without a warning about positives that got fewer.

    Parameters
    ----------
    dataset, split, n, sides, sample_seed, filter, replace, distinct, pool, weights, filter_by
        See `sample_negatives`.
    """
    n, side_names = check_positive_int("n", n), check_sides(sides)
    check_one_of("distinct", distinct, DISTINCT)
    if not isinstance(replace, (bool, np.bool_)):
        raise ProtocolError(f"replace must be True or False; got {replace!r}")
    if replace and distinct == "query":
        raise ProtocolError("replace=True repeats negatives, so distinct='query' cannot hold; give one of them")
    rng = np.random.default_rng(check_seed(sample_seed, name="sample_seed"))
    drawable = _Drawable.of(dataset, pool, weights)
    key = check_key(dataset, filter_by)
    positives = facts_of(dataset, (split,), key)
    known = facts_of(dataset, [*_known_splits(dataset, filter), split], key)
    # coin[i], (positives,): the index of the side on which positive i gets the one additional negative if n is odd.
    # Used only if there are two sides and n is odd.
    coin = rng.integers(0, 2, size=len(positives))
    # Lists with one array per side. parts: the negatives, with the codes of the key. positive_rows: for each negative,
    # the row of its positive. side_codes: for each negative, the index of its side.
    parts, positive_rows, side_codes = [], [], []
    for code, side in enumerate(side_names):
        has_one_more = (coin == code) & (n % len(side_names) == 1)
        # repeated_rows, (draws,): the row of each positive, repeated once per negative to draw on this side.
        repeated_rows = np.repeat(np.arange(len(positives)), n // len(side_names) + has_one_more)
        # The draws are grouped by query, which has one set of known answers.
        queries = Queries.of(positives[repeated_rows], side)
        groups = queries.rows * 0 if distinct == "query" else repeated_rows[queries.rows]
        drawn = drawable.draw(queries, KnownIndex.of(*query_parts(known, side)), groups, bool(replace), rng)
        is_drawn = drawn >= 0
        # rows, (negatives,): for each drawn negative, the row of its positive in `positives`. queries.rows are indices
        # of repeated_rows.
        rows = repeated_rows[queries.rows[is_drawn]]
        part = positives[rows]
        part[:, side_of(side).asked] = drawn[is_drawn]
        parts.append(part)
        positive_rows.append(rows)
        side_codes.append(np.full(len(rows), code))
    positive_row = np.concatenate(positive_rows)
    order = np.argsort(positive_row, kind="stable")
    columns: dict[str, Any] = dict(zip("spo", np.concatenate(parts)[order].T))
    columns["side"] = pd.Categorical.from_codes(np.concatenate(side_codes)[order], pd.Index(side_names))
    return pd.DataFrame({**columns, "positive": positive_row[order]})


@dataclass(frozen=True)
class _Drawable:
    """The entities that may be drawn.

    Parameters
    ----------
    pool : int64 array, shape (pool,)
        Sorted distinct ids.
    weights : float64 array, shape (pool,), optional
        None: all entities are equally probable.
    """

    pool: Ids
    weights: Reals | None

    @classmethod
    def of(cls, dataset: Dataset, pool: Any, weights: Any) -> _Drawable:
        """Check the arguments `pool` and `weights` of `sample_negatives`."""
        n = len(dataset.entities)
        ids = np.arange(n)
        if pool is not None:
            given = np.asarray(pool)
            if given.ndim != 1 or not given.size or given.dtype.kind not in "iuUOT":
                raise DataError(f"pool must be labels or ids of entities, at least one; got {cut_label(repr(pool))}")
            is_id = given.dtype.kind in "iu"
            found = given.astype(np.int64) if is_id else dataset.entities.find(given.tolist())
            is_wrong = (found < 0) | (found >= n)
            if is_wrong.any():
                wrong = given.tolist()[int(np.argmax(is_wrong))]
                raise DataError(f"pool contains {cut_label(repr(wrong))}, which is no entity of {dataset.name!r}")
            ids = np.unique(found)
        if weights is None:
            return cls(ids, None)
        given = by_label("weights", weights, dataset.entities)
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"weights must be {n:,} numbers, one per entity; got {cut_label(repr(weights))}") from None
        if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any() or not values[ids].any():
            raise DataError(
                f"weights must be {n:,} finite numbers of at least 0, one per entity of {dataset.name!r}, not all 0; "
                f"got shape {values.shape}"
            )
        return cls(ids, values[ids])

    def draw(
        self, queries: Queries, index: KnownIndex, groups: Ids, is_repeated: bool, rng: np.random.Generator
    ) -> Ids:
        """Draw one entity for each positive of `queries`; -1 if no allowed entity is left.

        An entity is allowed if it is in the pool and no known answer of the query. A random number k is drawn for each
        positive. The result is the entity at position k (counted from 0) among the allowed ones, sorted by id. Example:
        of 6 entities, 1 and 2 are known answers, so 0, 3, 4 and 5 are allowed. k = 1 gives entity 3, because 2 known
        answers have lower ids: 1 + 2 = 3.

        Parameters
        ----------
        queries : Queries
        index : KnownIndex
        groups : int64 array, shape (positives,)
            In the order of ``queries.rows``: within a query, equal neighbours belong to one draw, whose entities are
            distinct unless `is_repeated`.
        is_repeated : bool
        rng : numpy.random.Generator

        Returns
        -------
        int64 array, shape (positives,)
            In the order of ``queries.rows``.
        """
        offsets, known = index.lookup(*queries.parts)
        drawn = np.full(len(queries.rows), -1, dtype=np.int64)
        starts = np.append(True, np.diff(groups) != 0)[: len(groups)]
        starts[queries.offsets[:-1]] = True
        ends = np.append(np.flatnonzero(starts)[1:], len(groups))
        query_of = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
        last_query, places, chances = -1, known, self.weights
        for first, last in zip(np.flatnonzero(starts).tolist(), ends.tolist()):
            i = int(query_of[first])
            if i != last_query:
                # places, (known,): the positions of the known answers in the pool, sorted
                places, is_in_pool = rank_in(self.pool, known[offsets[i] : offsets[i + 1]])
                places, last_query = places[is_in_pool], i
                if self.weights is not None:
                    chances = self.weights.copy()
                    chances[places] = 0.0
            n_allowed = len(self.pool) - len(places) if chances is None else np.count_nonzero(chances)
            size = last - first if is_repeated and n_allowed else min(last - first, n_allowed)
            if chances is not None:
                total = chances.sum()
                positions = rng.choice(len(self.pool), size, replace=is_repeated, p=chances / total) if size else []
                drawn[first : first + size] = self.pool[np.asarray(positions, dtype=np.int64)]
                continue
            # (draws,): the numbers k, each in 0 .. n_allowed - 1.
            numbers = rng.choice(n_allowed, size=size, replace=is_repeated) if size else np.zeros(0, dtype=np.int64)
            # For each k, how many known answers have a lower position than the allowed entity number k: of known answer
            # j, places[j] - j allowed entities have a lower position, and these counts never decrease.
            n_known_before = np.searchsorted(places - np.arange(len(places)), numbers, side="right")
            drawn[first : first + size] = self.pool[numbers + n_known_before]
        return drawn
