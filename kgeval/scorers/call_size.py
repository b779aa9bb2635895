"""The pace of slow scorers: choose the number of pairs in a call from the times of earlier calls.

A pair is one query with one candidate. The adapters in `kgeval.scorers.row_scorers` get the size of each call of a
scorer from `Pace.size`, and make the call with `Pace.timed`; `kgeval.ranking` watches the calls (`Pace.watch`) and
estimates how many pairs can be scored in a given time (`Pace.pairs_within`).
"""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kgeval.kernels.arrays import Array, fetched, is_on_device

CALL_SECONDS = 0.25  # the planned time of a call, unless its fixed cost is large
FIRST_PAIRS = 64  # pairs in the first call of a function
MAX_GROWTH = 4  # a call has at most 4 times as many pairs as the call before it
MAX_OVERHEAD = 0.25  # a call may exceed CALL_SECONDS, so that the fixed cost is at most this share of the call's time
MAX_ROW_SECONDS = 3.0  # a query that takes longer is scored in blocks of candidates, if the scorer can score blocks
QUEUE_SECONDS = 0.05  # short GPU calls are queued, and timed together when they take about this time
MAX_PAUSE = 0.01  # the longest pause between two calls of a queue, in seconds
MAX_RESULT = 1 << 62
DEADLINE_SHARE = 0.05  # a batch takes at most this share of the time that is left until a deadline

clock = time.monotonic


class OutOfTime(Exception):
    """Raised if the deadline of `Pace.watch` has passed, or if the next call would end after the deadline."""


@dataclass
class _Rate:
    """An estimate of the time of a call of n pairs: ``overhead + n * per_pair`` seconds."""

    n: int  # pairs of the latest call
    per_pair: float  # seconds
    overhead: float = 0.0  # seconds
    has_two_sizes: bool = False  # whether calls of two sizes were measured; until then, `overhead` is unknown

    def seconds(self, n: float) -> float:
        """Return the expected seconds of a call of n pairs."""
        return self.overhead + n * self.per_pair

    def add(self, n: int, seconds: float) -> None:
        """Update the estimate with a call of n pairs that took `seconds`."""
        if n >= 2 * self.n or 2 * n <= self.n:  # two calls of different sizes determine `per_pair` and `overhead`
            slope = (seconds - self.seconds(self.n)) / (n - self.n)
            self.overhead = seconds - n * min(max(slope, 0.0), seconds / n)
            self.has_two_sizes = True
        self.overhead = min(self.overhead, seconds)
        self.n, self.per_pair = n, (seconds - self.overhead) / n

    @property
    def call_seconds(self) -> float:
        """The planned time of a call, in seconds: `CALL_SECONDS`, or more if the fixed cost of a call is large."""
        return max(CALL_SECONDS, self.overhead / MAX_OVERHEAD)

    @property
    def best_size(self) -> float:
        """The number of pairs that can be scored in `call_seconds`."""
        return (self.call_seconds - self.overhead) / self.per_pair if self.per_pair > 0 else math.inf


@dataclass
class _Queue:
    """Calls to a GPU that have returned, but whose scores may not be computed yet."""

    method: str
    start: float  # the time at which the first call began
    stop: float = 0.0  # the time at which the latest call returned
    n_pairs: int = 0


class Pace:
    """Measures the calls of one scorer, and chooses sizes for the next calls: a call takes about `CALL_SECONDS`.

    The first call is small. Each later call may be smaller than the call before it, or up to `MAX_GROWTH` times as
    large. The time of a call is estimated as a fixed cost plus a cost per pair. If the fixed cost is large (a request
    to a server, a graph encoder that runs in each call), a call takes longer than `CALL_SECONDS`, so that the fixed
    cost is at most the share `MAX_OVERHEAD` of the call. Sizes are powers of two times the smallest size, since
    compiled scorers compile anew for each size.

    The methods of a scorer may differ in speed, so each method is measured separately; the parameter `method` is the
    name of a method, such as ``"score_objects"``. The scores do not depend on the sizes of calls. A pickled copy keeps
    the measurements, but neither deadline nor `on_scored`.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.size(limit=1000), pace.pairs_within(1.0)
    (64, None)
    """

    def __init__(self) -> None:
        self._rates: dict[str, _Rate] = {}  # for each method that was measured
        self._sizes: dict[str, int] = {}  # the latest planned size, before a reduction for a deadline
        self._limits: dict[str, int] = {}  # the latest `limit` of `size`
        self._caps: dict[str, int] = {}  # the largest allowed size, for each method that ran out of memory
        self._on_scored: Callable[[int], None] | None = None
        self._deadline: float | None = None
        self._n_scored = 0  # pairs since `watch`
        self._is_at_once = False
        self._queue: _Queue | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_on_scored": None, "_deadline": None, "_queue": None}

    def size(self, limit: int, first: int = FIRST_PAIRS, unit: int = 1, method: str = "") -> int:
        """Return the number of pairs of the next call.

        Parameters
        ----------
        limit : int
            The largest number of pairs.
        first : int
            The number of pairs of the first call, before any call has been measured.
        unit : int
            The smallest number of pairs that the scorer can score in a call, at most `limit`.
        method : str
            The method that will be called.

        Returns
        -------
        int
            From `unit` to `limit`.

        Raises
        ------
        OutOfTime
            If the deadline of `watch` has passed, or if a call of `unit` pairs would end after the deadline.
        """
        limit = max(unit, min(limit, self._caps.get(method, limit)))
        self._limits[method] = limit
        n = limit if self._is_at_once else self._timed_size(limit, first, unit, method)
        rate = self._rates.get(method)
        if self._deadline is None:
            return n
        left = self._deadline - clock()
        if left <= 0 or (rate is not None and rate.seconds(unit) > left):
            raise OutOfTime
        while rate is not None and n > unit and rate.seconds(n) > left:
            n = max(unit, n // 2)
        return n

    def _timed_size(self, limit: int, first: int, unit: int, method: str) -> int:
        """Return the size of the next call, without regard to deadlines."""
        rate = self._rates.get(method)
        if rate is None:
            n: float = first
        else:
            # The last call may have been smaller than planned, for example at the end of a row. The next call may
            # still be large, since the planned size of the last call (`_sizes`) also counts.
            largest = max(MAX_GROWTH * rate.n, self._sizes.get(method, 0))
            n = min(max(rate.best_size, unit), largest, limit)
            if not rate.has_two_sizes and n < limit and rate.n < 2 * n < 4 * rate.n:  # measure another size
                n = rate.n // 2 if rate.n >= 2 * unit else 2 * rate.n
        if unit < n < limit:
            n = unit * 2 ** math.floor(math.log2(n / unit))
        self._sizes[method] = int(min(max(n, unit), limit))
        return self._sizes[method]

    def is_long(self, n_pairs: int, method: str = "") -> bool:
        """Return whether a call of `n_pairs` would take longer than `MAX_ROW_SECONDS`, or need too much memory."""
        rate = self._rates.get(method)
        # The fixed cost does not count, since smaller calls would not reduce this cost.
        takes_long = rate is not None and n_pairs * rate.per_pair > MAX_ROW_SECONDS
        return takes_long or n_pairs > self._caps.get(method, n_pairs)

    def timed(self, call: Callable[[], Array], n_pairs: int, method: str = "") -> Array:
        """Make a call, and measure its time unless the call raises an error.

        Parameters
        ----------
        call : function
            Takes no arguments, and returns an array or a tensor of scores.
        n_pairs : int
            The number of pairs that the scorer scores in this call.
        method : str
            The method that is called.
        """
        start = clock()
        scores = call()
        share = 1.0  # the part of the seconds since `start` that belongs to this call
        if is_on_device(scores):  # a GPU computes while Python goes on
            start, share = self._queued_since(start, n_pairs, method)
            if share == 0:
                return scores
            fetched(scores[(slice(-1, None),) * len(scores.shape)])  # wait for the last score
        seconds = max(0.0, clock() - start) * share
        if method in self._rates:
            self._rates[method].add(n_pairs, seconds)
        else:
            self._rates[method] = _Rate(n_pairs, seconds / n_pairs)
        return scores

    def _queued_since(self, start: float, n_pairs: int, method: str) -> tuple[float, float]:
        """Add a call to the queue of a GPU; return the start time of the queue, and the call's share of the total time.

        The share is 0 if kgeval need not wait for the queue yet: waiting after each of many short calls would double
        the time of the calls. If kgeval does other work between two calls, a new queue begins.
        """
        rate, queue = self._rates.get(method), self._queue
        if queue is None or queue.method != method or start - queue.stop > MAX_PAUSE:
            queue = _Queue(method, start)
        queue.stop = clock()
        queue.n_pairs += n_pairs
        is_short = rate is not None and n_pairs < 2 * rate.n and rate.seconds(queue.n_pairs) < QUEUE_SECONDS
        self._queue = queue if is_short else None
        return queue.start, 0.0 if is_short else n_pairs / queue.n_pairs

    def scored(self, n_pairs: int) -> None:
        """Record that `n_pairs` more pairs were scored; call the function `on_scored` that was passed to `watch`."""
        self._n_scored += n_pairs
        if self._on_scored is not None:
            self._on_scored(n_pairs)

    def halve(self, n_pairs: int, unit: int = 1, method: str = "") -> bool:
        """Limit all further calls to half of `n_pairs`, because a call of `n_pairs` ran out of memory.

        Parameters
        ----------
        n_pairs : int
        unit : int
            The smallest number of pairs that the scorer can score in a call.
        method : str

        Returns
        -------
        bool
            False if a call cannot have fewer than `n_pairs` pairs; then nothing is limited.
        """
        if n_pairs <= unit:
            return False
        self._caps[method] = max(unit, n_pairs // 2)
        gc.collect()  # frees arrays that only the stack frames of the error referred to
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()
        return True

    def seconds(self, n_pairs: int, method: str = "") -> float | None:
        """Return the expected seconds of a call of `n_pairs`; None if no call of the method has been measured.

        Parameters
        ----------
        n_pairs : int
        method : str
        """
        return self._rates[method].seconds(n_pairs) if method in self._rates else None

    def pairs_within(self, seconds: float, method: str | None = None) -> int | None:
        """Return the number of pairs that can be scored in `seconds`.

        Parameters
        ----------
        seconds : float
        method : str, optional
            By default, all methods that were measured, each for an equal share of the pairs.

        Returns
        -------
        int or None
            At least 0; None if nothing has been measured.
        """
        methods = [name for name in self._rates if method in (None, name)]
        if not methods:
            return None
        per_pair = 0.0
        for name in methods:
            size = max(1.0, min(self._rates[name].best_size, self._limits.get(name, self._rates[name].n)))
            per_pair += self._rates[name].seconds(size) / size / len(methods)
        return min(MAX_RESULT, int(seconds / per_pair)) if per_pair > 0 else MAX_RESULT

    def batch_pairs(self, seconds: float, method: str | None = None) -> int | None:
        """Return the number of pairs in a batch that takes about `seconds`.

        If a call of full size takes longer, the batch takes as long as this call. With a deadline, a batch is short: at
        most `MAX_GROWTH` times as many pairs as were scored since `watch` was called.

        Parameters
        ----------
        seconds : float
        method : str, optional
            The method of the batch, if it has been measured; by default all methods, as in `pairs_within`.

        Returns
        -------
        int or None
            None if nothing has been measured.
        """
        method = method if method in self._rates else None
        rates = [rate for name, rate in self._rates.items() if method in (None, name)]
        longest = max(seconds, *(rate.call_seconds for rate in rates), 0.0)
        unproven = [2 * rate.n for rate in rates if not rate.has_two_sizes]
        if self._deadline is not None:  # the scores of an unfinished batch would be lost
            longest, unproven = min(longest, DEADLINE_SHARE * max(0.0, self._deadline - clock())), []
        n = self.pairs_within(longest, method)
        if self._deadline is not None:  # earlier calls may have been fast for a special reason, such as a cache
            n = min(MAX_RESULT if n is None else n, MAX_GROWTH * self._n_scored)
        return None if n is None else max(n, *unproven, 0)

    @contextmanager
    def watch(self, on_scored: Callable[[int], None] | None = None, deadline: float | None = None) -> Iterator[None]:
        """In a ``with`` statement, report the scored pairs, and stop the scorer at a deadline.

        Parameters
        ----------
        on_scored : function, optional
            ``on_scored(n_pairs)`` is called after each call of the scorer.
        deadline : float, optional
            A time of `time.monotonic`. `OutOfTime` is raised before a call that would end after the deadline. Shortly
            before the deadline, calls get smaller.

        Returns
        -------
        context manager
        """
        before = self._on_scored, self._deadline
        self._on_scored, self._deadline, self._n_scored = on_scored, deadline, 0
        try:
            yield
        finally:
            self._on_scored, self._deadline = before

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """In a ``with`` statement, `size` returns `limit`, unless memory or a deadline requires a smaller size.

        The calls are still measured.
        """
        before, self._is_at_once = self._is_at_once, True
        try:
            yield
        finally:
            self._is_at_once = before
