"""The identity of a scorer: `ScorerIdentity` finds out whether a resumed run still uses the same scorer.

`kgeval.evaluation` makes a `ScorerIdentity`. `kgeval.ranking.resume.RunFolder` stores the description of the scorer;
when the run is resumed, the stored description is compared with the scorer of the resumed run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores, cut_label
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.queries import Queries
from kgeval.data.sides import RELATION, SIDES, side_of
from kgeval.errors import DataError, ScoreError
from kgeval.kernels.arrays import Array, address, is_tensor, kind_of, library
from kgeval.kernels.mapped_tables import StreamedTable
from kgeval.scorers.models import MODELS, EmbeddingModel
from kgeval.scorers.rounding import Rounding, score_differences
from kgeval.scorers.row_scorers import (
    FunctionRows,
    GeometryRows,
    MatrixRows,
    PairRows,
    RowScorer,
    missing_ids,
    on_side,
    pair_side,
    row_batch,
    score_triples,
)
from kgeval.scorers.values import as_scores

CHUNK_BYTES = 1 << 24  # this many bytes of a table are copied and hashed at a time
MIN_PROBES, MAX_PROBES = 12, 1 << 20  # the smallest and the largest number of scores that are stored
FIRST_CALL = 4  # the number of triples, or of query vectors, in the first call
FIRST_QUERIES = 2  # if a scorer always scores all entities: the first two queries are probed with half of them each
ENTITIES_PER_QUERY = 4  # if a scorer always scores all entities: each further query is probed with 4 entities
SHARES = 256  # if a scorer takes candidates: each query is probed with 1/256 of the entities
NOISE_FACTOR = 4  # scores may differ by 4 times the difference between two calls in one process
TYPICAL = 0.9  # the quantile of the relative differences that is kept
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio; its multiples modulo 2^64 are evenly spread


@dataclass(frozen=True)
class ScorerIdentity:
    """A description of all that determines the scores of a scorer, as far as kgeval can read or observe it.

    - Models of `kgeval.models`: class, settings and a hash of every table. Every change is found.
    - Other embedding models: hashes of all candidate vectors, and of as many vectors of the ranked queries as `seconds`
      allow. A change of the model's code is not found if the vectors stay the same.
    - Modules of torch, including live models of other libraries: a hash of the ``state_dict``, and the probes described
      below. The hash finds every change of a parameter; the probes find a changed computation with equal parameters.
    - Functions and objects that score whole queries: their parameters cannot be read. A sample of triples of the ranked
      queries (the probes) is scored and compared. If there is enough time, the probes contain every candidate, every
      relation and every query; at most `MAX_PROBES` scores are kept. A change is not found if no score of a probe
      changes by more than rounding: for example, in a slow scorer, a change of one entity that is in no probe.

    A scorer may have a method ``identity_parts()`` that returns a dict of everything else that determines its scores:
    arrays, which are hashed, and values that JSON can store.

    Parameters
    ----------
    scorer : function, object or model
        The argument of `as_row_scorer`.
    rows : RowScorer
        The result of `as_row_scorer` for this scorer.
    dataset : Dataset
    triples : mapping of str to int64 array, shape (n, 3 or more)
        For each of `sides`, the triples that are ranked, with the codes of the columns that the scorer takes there; the
        probes use the queries of these triples.
    candidates : mapping of str to int64 array, shape (candidates,)
        For each of `sides`, sorted ids of the entities or relations that may be scored.
    sides : sequence of str
        The missing sides of the ranked queries.
    seconds : float
        The seconds that probing may take. A scorer is called a few times even if these calls take longer.

    Examples
    --------
    >>> from kgeval.scorers.row_scorers import as_row_scorer
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    >>> triples, candidates = ({side: ids for side in SIDES} for ids in (dataset["test"].array, np.arange(3)))
    >>> def identity(table):
    ...     scorer = lambda s, p, o: table[s] - table[o]
    ...     return ScorerIdentity(scorer, as_row_scorer(scorer, 3), dataset, triples, candidates)
    >>> before = identity(np.array([1.0, 2.0, 3.0])).describe()
    >>> identity(np.array([1.0, 2.0, 3.0])).differences(before)
    []
    >>> identity(np.array([1.0, 2.0, 4.0])).differences(before)
    ["2 of 6 probed scores differ, for example the score of ('2', '0', '1'): 2 here, 1 in the run folder"]
    """

    scorer: Any
    rows: RowScorer
    dataset: Dataset
    triples: Mapping[str, Ids]
    candidates: Mapping[str, Ids]
    sides: Sequence[str] = SIDES
    seconds: float = 1.0

    def describe(self) -> dict[str, Any]:
        """Return a description of the scorer that JSON can store; a later run gives this value to `differences`."""
        settings, tables = self._read()
        return {
            "settings": settings,
            "tables": tables,
            "queries": {side: self._hash_queries(side, None) for side in self._hashed_sides},
            "probes": {name: self._probe(name).describe() for name in self._probe_names},
        }

    def differences(self, before: Any) -> list[str]:
        """Return one text for each difference between the scorer and an earlier description.

        Parameters
        ----------
        before : dict
            The earlier description: a result of `describe`, perhaps read back from JSON.

        Raises
        ------
        DataError
            If `before` cannot be a result of `describe`; the message names the part.
        """
        n_queries = {side: len(parts[0]) for side, parts in self._queries.items()}
        _check_description(before, n_queries)
        settings, tables = self._read()
        found = _setting_differences(settings, before["settings"]) + _table_differences(tables, before["tables"])
        if not found:  # with equal settings, the same parts are compared
            _check_names("queries", before["queries"], self._hashed_sides)
            _check_names("probes", before["probes"], self._probe_names)
        for side, stored in before["queries"].items():
            if not found and self._hash_queries(side, stored["n"]) != stored:
                found.append(f"the vectors of queries of the {side} side differ")
        for name, stored in before["probes"].items():
            if not found:
                found += self._probe(name, stored["calls"]).differences(stored, self.dataset)
        return found

    @property
    def _is_foreign_geometry(self) -> bool:
        """Whether the scorer is an embedding model, but none of `kgeval.models`."""
        return isinstance(self.rows, GeometryRows) and type(self.rows.model) not in MODELS.values()

    @property
    def _hashed_sides(self) -> tuple[str, ...]:
        """The sides whose vectors of queries and candidates are hashed; the relation side uses those of objects."""
        of_vectors = [side for side in self.sides if not isinstance(on_side(self.rows, side), MatrixRows)]
        sides = dict.fromkeys(side if side in SIDES else pair_side(self.rows) for side in of_vectors)
        return tuple(sides) if self._is_foreign_geometry else ()

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of the scorer, and the hashes of its tables by name."""
        settings: dict[str, Any] = {"kind": self.rows.kind, "name": self.rows.name}
        tables: dict[str, Array] = {
            f"missing {what}": missing_ids(self.scorer, what) for what in ("entities", "relations")
        }
        if isinstance(self.rows, GeometryRows):
            settings["geometry"] = self.rows.model.geometry
        if isinstance(self.scorer, EmbeddingModel):
            settings["model"] = self.scorer.description
            tables |= _own_tables(self.scorer)
        parts = _named_parts(self.scorer, self.rows.name)
        settings |= {name: value for name, value in parts.items() if not _is_table(value)}
        tables |= {name: value for name, value in parts.items() if _is_table(value)}
        tables |= _module_tables(self.scorer)
        hashes = {name: table_digest(table) for name, table in tables.items()}
        if isinstance(self.rows, GeometryRows) and self._is_foreign_geometry:
            every = np.arange(len(self.dataset.entities))
            for side in self._hashed_sides:
                vectors = self.rows.vectors(side, every)
                hashes[f"candidate vectors of the {side} side"] = table_digest(vectors, self._candidates_of(side))
        return settings, hashes

    @cached_property
    def _queries(self) -> dict[str, tuple[Ids, ...]]:
        """For each side, the given columns of the ranked queries, shape (queries,), in the order of `Side.split`.

        The first queries have different relations, so that even a few probes contain many relations.
        """
        queries = {}
        for side in dict.fromkeys((*self.sides, *self._hashed_sides)):
            # a side that is not ranked has the vectors of pairs on the relation side, and their columns
            of_side = Queries.of(self.triples[side if side in self.triples else RELATION], side)
            order = _scattered(len(of_side))
            _, first = np.unique(of_side.parts[0][order], return_index=True)  # the first query of each relation
            is_first = np.zeros(len(order), dtype=bool)
            is_first[first] = True
            order = np.concatenate([order[is_first], order[~is_first]])
            queries[side] = tuple(part[order] for part in of_side.parts)
        return queries

    def _candidates_of(self, side: str) -> Ids:
        """Return the candidates of a side; of an entity side that is not ranked, all entities."""
        return self.candidates[side] if side in self.candidates else np.arange(len(self.dataset.entities))

    @cached_property
    def _answers(self) -> dict[str, Ids]:
        """The candidates of each side in the order in which they are probed, without those that the scorer lacks."""
        answers = {}
        for side in self.sides:
            known = np.setdiff1d(self.candidates[side], missing_ids(self.scorer, side_of(side).kind))
            answers[side] = known[_scattered(len(known))]
        return answers

    def _hash_queries(self, side: str, n: int | None) -> dict[str, Any]:
        """Return, as a dict, the number of hashed query vectors of a side, and their hash.

        If `n` is not None, the first `n` queries are hashed; else as many queries as there is time for.
        """
        parts = self._queries[side]
        digest, done, size, started = hashlib.sha256(), 0, FIRST_CALL, perf_counter()
        stop = len(parts[0]) if n is None else n
        while done < stop:
            end = min(stop, done + size)
            vectors = self.rows.queries(side, tuple(part[done:end] for part in parts))  # type: ignore[attr-defined]
            digest.update(table_digest(vectors)["sha256"].encode())
            width = max(1, int(vectors.shape[1]))
            done, size = end, max(1, min(2 * size, CHUNK_BYTES // (8 * width)))
            if n is None and perf_counter() - started > self.seconds / len(self.sides):
                break
        return {"n": done, "sha256": digest.hexdigest()}

    @property
    def _probe_names(self) -> tuple[str, ...]:
        """The names of the series of probes.

        A scorer of whole queries has one series per side, a function has a single series, and an embedding model none.
        """
        if isinstance(self.rows, FunctionRows):
            return (*(("triples",) if self._sides_of_pairs else ()), *(set(self.sides) - set(self._sides_of_pairs)))
        if isinstance(self.rows, MatrixRows):
            return tuple(self.sides)
        return tuple(side for side in self.sides if isinstance(on_side(self.rows, side), MatrixRows))

    @property
    def _sides_of_pairs(self) -> tuple[str, ...]:
        """The sides on which a function scores triples; it may have ``score_relations`` for the relation side."""
        return tuple(side for side in self.sides if isinstance(on_side(self.rows, side), FunctionRows))

    def _probe(self, name: str, calls: Sequence[int] | None = None) -> _Probes:
        """Score the probes of a series in calls of given sizes; by default in growing calls until the time is over."""
        make: Callable[[int, int], tuple[Ids, Scores]]
        rows = on_side(self.rows, name)
        if isinstance(rows, (MatrixRows, PairRows)):
            make = partial(self._score_queries, rows, name)
            n_answers = len(self._answers[name])
            n_shares = min(SHARES, n_answers) if _takes_candidates(rows, name) else 0
            limit = max(FIRST_QUERIES, len(self._queries[name][0]), n_shares)
            limits = self.rows.limits  # type: ignore[attr-defined]
            size, largest = FIRST_QUERIES, max(FIRST_QUERIES, row_batch(rows, limits, max(1, n_answers)))
        else:
            make, limit, size, largest = self._score_triples, self._n_probes, FIRST_CALL, MAX_PROBES
        parts, done = [], 0
        if calls is not None:
            for n in calls:
                parts.append(make(done, n))
                done += n
            return _Probes.of(list(calls), parts)
        made: list[int] = []
        started = perf_counter()
        budget = self.seconds / 2 / len(self._probe_names)  # the last call, which takes half of the time, is repeated
        while done < limit and sum(len(scores) for _, scores in parts) < MAX_PROBES:
            n, before = min(size, limit - done, largest), perf_counter()
            parts.append(make(done, n))
            made.append(n)
            done += n
            size *= 2
            now = perf_counter()
            if sum(len(scores) for _, scores in parts) >= MIN_PROBES and (now - started) + 2 * (now - before) > budget:
                break
        # Score the queries of the last call once more, now in two calls: scores may depend on the size of a call.
        start, half = done - made[-1], made[-1] // 2
        again = [make(start, half)] if half else []
        again.append(make(start + half, made[-1] - half))
        return _Probes.of(made, parts, np.concatenate([scores for _, scores in again]))

    @property
    def _n_probes(self) -> int:
        """The number of probes of a function: enough for every candidate and every query, at most `MAX_PROBES`."""
        sides = self._sides_of_pairs
        n_each = max(max(len(self._answers[side]), len(self._queries[side][0])) for side in sides)
        return min(MAX_PROBES, len(sides) * n_each)

    def _score_triples(self, start: int, n: int) -> tuple[Ids, Scores]:
        """Return n probes of a function and their scores: query k with candidate k, alternating between the sides."""
        triples = np.empty((n, 3 + len(self.rows.columns)), dtype=np.int64)
        numbers = np.arange(start, start + n)
        sides = self._sides_of_pairs
        for i, side in enumerate(sides):
            parts, answers = self._queries[side], self._answers[side]
            of_side = numbers % len(sides) == i
            k = numbers[of_side] // len(sides)
            given = tuple(part[k % len(part)] for part in parts)
            triples[of_side] = side_of(side).facts(given, answers[k % len(answers)])
        return triples, score_triples(self.rows, triples)

    def _score_queries(self, rows: MatrixRows | PairRows, side: str, start: int, n: int) -> tuple[Ids, Scores]:
        """Return the probes of n queries and their scores: each query with its share of the candidates."""
        numbers = np.arange(start, start + n)
        parts = tuple(part[numbers % len(part)] for part in self._queries[side])
        takes_candidates = _takes_candidates(rows, side)
        shares = [self._share(side, takes_candidates, int(k)) for k in numbers]
        if takes_candidates:
            scores = [
                as_scores(rows.rows(side, tuple(part[i : i + 1] for part in parts), share), rows.name)[0].copy()
                for i, share in enumerate(shares)
            ]
        else:
            candidates = np.sort(self._answers[side])
            whole = rows.rows(side, parts, candidates)
            scores = [
                as_scores(whole[i], rows.name)[np.searchsorted(candidates, share)] for i, share in enumerate(shares)
            ]
        sizes = [len(share) for share in shares]
        triples = side_of(side).facts(tuple(np.repeat(part, sizes) for part in parts), np.concatenate(shares))
        return triples, np.concatenate(scores)

    def _share(self, side: str, takes_candidates: bool, number: int) -> Ids:
        """Return the candidates with which a query is probed, sorted; `number` is the index of the query."""
        n = len(self._answers[side])
        if takes_candidates:
            size = -(-n // SHARES)
            start = number * size
        elif number < FIRST_QUERIES:
            size = min(-(-n // FIRST_QUERIES), MAX_PROBES // FIRST_QUERIES)
            start = number * size
        else:
            size, start = min(ENTITIES_PER_QUERY, n), number * ENTITIES_PER_QUERY
        return np.unique(self._answers[side][np.arange(start, start + size) % n])


def _takes_candidates(rows: MatrixRows | PairRows, side: str) -> bool:
    return isinstance(rows, PairRows) or rows.takes_candidates(side)


@dataclass(frozen=True)
class _Probes:
    """Probed triples and their scores, in the order in which they were scored.

    Parameters
    ----------
    calls : list of int
        The number of triples, or of queries, in each call.
    triples : int64 array, shape (probes, 3)
    scores : array, shape (probes,)
    noise : float
        The largest difference between two scores of the same triple that come from calls of different sizes.
    relative_noise : float
        The same, relative to the score, and for nine of ten scores: in a softmax, large scores have large errors.
    """

    calls: list[int]
    triples: Ids
    scores: Scores
    noise: float = 0.0
    relative_noise: float = 0.0

    @classmethod
    def of(cls, calls: list[int], parts: list[tuple[Ids, Scores]], again: Scores | None = None) -> _Probes:
        """Join the probes of several calls; `again` are the scores of the last call, scored a second time."""
        noise = relative_noise = 0.0
        if again is not None and len(again) and again.dtype.kind == "f":
            last = parts[-1][1]
            difference = score_differences(last, again)
            is_finite = np.isfinite(difference) & np.isfinite(last) & (last != 0)
            difference, sizes = difference[is_finite], np.abs(last[is_finite].astype(np.float64))
            noise = float(difference.max(initial=0.0))
            relative_noise = float(np.quantile(difference / sizes, TYPICAL)) if len(difference) else 0.0
        triples, scores = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        return cls(calls, triples, scores, noise, relative_noise)

    def describe(self) -> dict[str, Any]:
        """Return calls, scores (including NaN and infinite scores) and noise as values that JSON can store."""
        little = self.scores.astype(self.scores.dtype.newbyteorder("<"))
        return {
            "calls": self.calls,
            "dtype": self.scores.dtype.name,
            "scores": base64.b64encode(little.tobytes()).decode("ascii"),
            "noise": self.noise,
            "relative_noise": self.relative_noise,
        }

    def differences(self, before: dict[str, Any], dataset: Dataset) -> list[str]:
        """Compare the scores with `before`, an earlier result of `describe`.

        Return a list with one text that describes the differences; an empty list if the scores differ by rounding
        alone.
        """
        if self.scores.dtype.name != before["dtype"]:
            return [f"the scores are {self.scores.dtype.name} here, {before['dtype']} in the run folder"]
        stored = _stored_scores("scores", before)
        if len(stored) != len(self.scores):
            return [f"{len(self.scores)} triples are probed here, {len(stored)} in the run folder"]
        is_other = self.scores != stored
        if stored.dtype.kind == "f":
            rounding = Rounding.of(stored)
            sizes = np.where(np.isfinite(stored), np.abs(stored.astype(np.float64)), 0.0)
            noises = np.maximum(before["noise"], before.get("relative_noise", 0.0) * sizes)
            slack = np.minimum(NOISE_FACTOR * noises, rounding.slack(self.scores, stored))
            slack = np.maximum(slack, rounding.least_slack(self.scores, stored))
            is_other = score_differences(self.scores, stored) > slack
        if not is_other.any():
            return []
        i = int(np.argmax(is_other))
        triple = triple_labels(dataset, *self.triples[i, :3])
        return [
            f"{int(is_other.sum())} of {len(stored)} probed scores differ, for example the score of "
            f"{triple}: {self.scores[i]:.9g} here, {stored[i]:.9g} in the run folder"
        ]


def table_digest(table: Array, rows: Ids | None = None) -> dict[str, Any]:
    """Return dtype, shape and a hash of the values of an array or tensor.

    Two tables with equal dtypes, shapes and values have equal hashes; the order in memory, the library and the device
    do not matter. The table is read in chunks of rows, so memory-mapped arrays are not loaded at once.

    Parameters
    ----------
    table : array, StreamedTable or tensor
        Contains numbers; on any device.
    rows : int64 array, shape (n,), optional
        Only these rows are hashed, and ``"shape"`` is their shape.

    Returns
    -------
    dict
        ``"dtype"``, ``"shape"`` and ``"sha256"``, values that JSON can store.

    Examples
    --------
    >>> table = np.arange(6.0).reshape(2, 3)
    >>> table_digest(table) == table_digest(np.asfortranarray(table))
    True
    >>> table_digest(table) == table_digest(table.astype(np.float32))
    False
    """
    if is_tensor(table):
        table = _plain_tensor(table)
    shape = [len(table) if rows is None else len(rows), *map(int, table.shape[1:])] if table.ndim else []
    flat = table.reshape(1) if table.ndim == 0 else table
    n = len(flat) if rows is None else len(rows)
    row_bytes = int(np.prod(flat.shape[1:], dtype=np.int64)) * _item_bytes(flat)
    size = max(1, CHUNK_BYTES // max(1, row_bytes))

    def chunk_hash(start: int) -> bytes:
        """Return the hash of the rows from `start` on."""
        part = slice(start, min(start + size, n))
        return hashlib.sha256(_row_bytes(flat, part if rows is None else rows[part])).digest()

    starts = range(0, n, size)
    if len(starts) <= 1:
        hashes = list(map(chunk_hash, starts))
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing and copying release Python's lock (the GIL)
            hashes = list(pool.map(chunk_hash, starts))
    digest = hashlib.sha256(b"".join(hashes))
    dtype = str(table.dtype).removeprefix("torch.") if is_tensor(table) else table.dtype.name
    return {"dtype": dtype, "shape": shape, "sha256": digest.hexdigest()}


def _plain_tensor(tensor: Any) -> Any:
    """Return a tensor detached from torch's autograd graph, dense, not quantized, and without postponed operations."""
    tensor = tensor.detach()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    return tensor.resolve_conj().resolve_neg()


def _item_bytes(table: Array) -> int:
    return int(table.element_size() if is_tensor(table) else table.dtype.itemsize)


def _row_bytes(table: Array, rows: slice | Ids) -> memoryview:
    """Return the bytes of some rows, row by row, in little-endian order; the rows are copied to the host."""
    if is_tensor(table):
        torch = library(table)
        part = table[rows if isinstance(rows, slice) else torch.from_numpy(rows).to(table.device)].cpu().contiguous()
        if kind_of(part) == "c":
            part = torch.view_as_real(part)
        part = part.reshape(-1).view(torch.uint8).numpy()  # as bytes, since numpy has no bfloat16
    else:
        part = np.ascontiguousarray(table[rows], dtype=table.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    return memoryview(part)


def _is_table(value: Any) -> bool:
    """Return whether a value is an array, streamed table or tensor of numbers."""
    return is_tensor(value) or (isinstance(value, (np.ndarray, StreamedTable)) and value.dtype.kind in "biufc")


def _own_tables(model: EmbeddingModel) -> dict[str, Array]:
    """Return the tables of a model by name, without duplicates.

    `missing_entities` and `missing_relations` are left out.
    """
    tables: dict[str, Array] = {}
    seen = set()
    for name, value in vars(model).items():
        if _is_table(value) and not name.startswith("missing_") and address(value) not in seen:
            seen.add(address(value))
            tables[f"table {name.lstrip('_')}"] = value
    return tables


def _module_tables(scorer: Any) -> dict[str, Array]:
    """Return the parameters and buffers of a scorer's torch module, by name; an empty dict if there is no module.

    The module is the scorer itself, the object whose method the scorer is, or the scorer's attribute ``module``.
    """
    for owner in (scorer, getattr(scorer, "__self__", None), getattr(scorer, "module", None)):
        read = getattr(owner, "state_dict", None)
        if callable(read) and not isinstance(owner, type):
            return {f"parameter {name}": value for name, value in read().items() if _is_table(value)}
    return {}


def _named_parts(scorer: Any, name: str) -> dict[str, Any]:
    """Return the dict from a scorer's method ``identity_parts``: arrays, and values as JSON stores them.

    The dict is empty if the scorer has no such method.
    """
    method = getattr(scorer, "identity_parts", None)
    if not callable(method):
        return {}
    parts = method()
    if not isinstance(parts, dict):
        raise ScoreError(f"{name}.identity_parts() must return a dict; got {type(parts).__name__}")
    return {
        str(key): value if _is_table(value) else _as_json(value, f"{name}.identity_parts()[{key!r}]")
        for key, value in parts.items()
    }


def _as_json(value: Any, name: str) -> Any:
    """Return a value as it is after being stored as JSON and read back: for example, a tuple becomes a list."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_plain_number))
    except (TypeError, ValueError) as error:
        raise ScoreError(
            f"{name} cannot be stored in a run folder: {error}. Give an array of numbers, a text, a finite number, "
            "or lists and dicts of texts and numbers"
        ) from error


def _plain_number(value: Any) -> Any:
    """Convert a numpy number to a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"it holds a value of type {type(value).__name__}")


def _check_description(before: Any, n_queries: dict[str, int]) -> None:
    """Raise a DataError unless `before` has the form that `ScorerIdentity.describe` returns.

    `n_queries` is the number of ranked queries of each side. A probe call of at least one score per query needs no more
    calls than stored scores, so a damaged number never leads to a very long run.
    """
    parts = _fields("", before, {"settings": dict, "tables": dict, "queries": dict, "probes": dict})
    for name, stored in parts["tables"].items():
        digest = _fields(f"tables/{name}", stored, {"dtype": str, "shape": list, "sha256": str})
        _check(all(_is_count(n) for n in digest["shape"]), f"tables/{name}/shape", "a list of counts", digest["shape"])
    for name, stored in parts["queries"].items():
        n = _fields(f"queries/{name}", stored, {"n": int, "sha256": str})["n"]
        most = n_queries.get(name, 0)
        _check(_is_count(n) and n <= most, f"queries/{name}/n", f"a count of at most {most}", n)
    for name, stored in parts["probes"].items():
        place = f"probes/{name}"
        numbers = {"noise": (int, float), "relative_noise": (int, float)}
        if isinstance(stored, dict):
            stored = {"relative_noise": 0.0} | stored  # earlier versions did not measure it
        probes = _fields(place, stored, {"calls": list, "dtype": str, "scores": str} | numbers)
        for kind in numbers:
            is_noise = not isinstance(probes[kind], bool) and 0 <= probes[kind] < float("inf")
            _check(is_noise, f"{place}/{kind}", "a finite number of at least 0", probes[kind])
        calls = probes["calls"]
        scores = _stored_scores(f"{place}/scores", probes)
        are_calls = bool(calls) and all(_is_count(n) and n > 0 for n in calls) and sum(calls) <= len(scores)
        expected = f"a list of positive counts, together at most {len(scores)}, the number of scores"
        _check(are_calls, f"{place}/calls", expected, calls)


def _stored_scores(place: str, probes: dict[str, Any]) -> Scores:
    """Return the scores of a description of probes; raise a DataError if they cannot be read."""
    try:
        dtype = np.dtype(probes["dtype"])
        is_number = dtype.kind in "biuf"
        content = base64.b64decode(probes["scores"], validate=True)
    except (TypeError, ValueError, SyntaxError):
        is_number, content = False, b""
    if not is_number or len(content) % dtype.itemsize:
        _check(False, place, f"numbers in base64, of the dtype {probes['dtype']!r}", probes["scores"])
    return np.frombuffer(content, dtype.newbyteorder("<")).astype(dtype)


def _fields(place: str, value: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object; raise a DataError unless it has exactly the fields and types of `kinds`."""
    _check(isinstance(value, dict), place, "an object", value)
    expected = f"an object with the fields {', '.join(kinds)}"
    _check(set(value) == set(kinds), place, expected, sorted(value))
    for name, kind in kinds.items():
        words = {dict: "an object", list: "a list", str: "a text"}.get(kind, "a number")
        _check(isinstance(value[name], kind), f"{place}/{name}".strip("/"), words, value[name])
    return dict(value)


def _check_names(place: str, stored: dict[str, Any], names: Sequence[str]) -> None:
    _check(set(stored) == set(names), place, f"an object with the fields {', '.join(names) or 'of none'}", [*stored])


def _check(is_right: bool, place: str, expected: str, value: Any) -> None:
    """Raise a DataError that names a part of a damaged description unless `is_right`."""
    if not is_right:
        raise DataError(f"{f'{place}: ' if place else ''}expected {expected}; got {cut_label(repr(value))}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _setting_differences(here: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return one text for each setting that differs."""
    differences = []
    for name in [*here, *(name for name in before if name not in here)]:
        values = here.get(name), before.get(name)
        # compared as JSON text, since True == 1 in Python
        if json.dumps(values[0], sort_keys=True) != json.dumps(values[1], sort_keys=True):
            shown = [cut_label(repr(value)) for value in values]
            differences.append(f"{name} {shown[0]} here, {shown[1]} in the run folder")
    return differences


def _table_differences(here: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return one text for each table that differs."""
    differences = []
    for name in [*here, *(name for name in before if name not in here)]:
        if here.get(name) == before.get(name):
            continue
        shown = [_shape_text(tables.get(name)) for tables in (here, before)]
        same_shape = f"{name}: other values ({shown[0]})"
        differences.append(
            same_shape if shown[0] == shown[1] else f"{name}: {shown[0]} here, {shown[1]} in the run folder"
        )
    return differences


def _shape_text(digest: dict[str, Any] | None) -> str:
    return "absent" if digest is None else f"{digest['dtype']}, {' x '.join(map(str, digest['shape'])) or '1 number'}"


def _scattered(n: int) -> Ids:
    """Return 0 .. n - 1 in a fixed order; for each k, the first k numbers are spread evenly over the range.

    Examples
    --------
    >>> _scattered(6)
    array([0, 5, 2, 4, 1, 3])
    """
    return np.argsort(np.arange(n, dtype=np.uint64) * GOLDEN, kind="stable")
