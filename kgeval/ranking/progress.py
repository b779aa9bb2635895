"""`Meter` shows the progress of a ranking: a bar on a terminal, and one line if the ranking takes long."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from kgeval.kernels.memory import size_text

LONG_SECONDS = 60.0  # a run that takes longer is announced
# The most important parts come first, since a narrow terminal cuts off the end.
BAR = "{desc} {percentage:3.0f}%, {remaining} left |{bar}| {n_fmt}/{total_fmt} pairs [{rate_noinv_fmt}]"
BAR_OF_TIME = "{desc} {elapsed_s:.0f} s of LIMIT s |{bar}| {n_fmt}/{total_fmt} pairs [{rate_noinv_fmt}]"
ECHO = 10  # columns that stay free at the end of the bar, so that an echoed "^C" does not start a new line
FIRST_LOOK = 1.0  # the time of the whole run is estimated from the speed in the first second after the first pairs


class Meter:
    """The progress of a ranking, in pairs (query, candidate).

    Parameters
    ----------
    n_pairs, n_queries : int
        The numbers of pairs and of queries to rank.
    progress : bool
        Whether to write to standard error: a bar (only on a terminal), and the announcement of a long run.
    n_pairs_before, n_queries_before : int
        The numbers of pairs and of queries that an earlier run has ranked.
    name : str
        The name of the work in the bar, such as "ranking".
    announces : bool
        Whether to announce a long run.
    limit : float, optional
        The seconds after which the run stops. If given, the bar shows this limit instead of the time left, and no long
        run is announced.
    hint : str
        The end of the announcement: advice for the user.

    Attributes
    ----------
    started : float
        The time (of `time.monotonic`) at which the scoring began.
    seconds : float
        The time in seconds from `started` until the last shard was finished.

    Examples
    --------
    >>> meter = Meter(100, 10, progress=False)
    >>> with meter:
    ...     meter.finished(40, 4)
    >>> meter.describe()
    '4 of 10 queries (40%)'
    """

    def __init__(
        self,
        n_pairs: int,
        n_queries: int,
        progress: bool = True,
        n_pairs_before: int = 0,
        n_queries_before: int = 0,
        name: str = "ranking",
        announces: bool = True,
        limit: float | None = None,
        hint: str = "",
    ) -> None:
        self.n_pairs, self.n_queries = n_pairs, n_queries
        self.progress, self.name, self.limit, self.hint = progress, name, limit, hint
        self._n_bytes = 0  # the bytes that the run needs, as far as this number is known
        self._n_before = n_pairs_before
        self._n_scored = n_pairs_before  # scored pairs, also of shards that are not finished
        self._n_finished = n_pairs_before  # pairs of finished shards
        self._n_queries_finished = n_queries_before
        self._is_announced = not (progress and announces and limit is None)
        # The time and `_n_scored` after the first pairs. The speed is measured from then on, since the time before
        # includes the start of the workers.
        self._first: tuple[float, int] | None = None
        self._bar: Any = None
        self.begin()

    @classmethod
    def silent(cls) -> Meter:
        """Return a meter that shows nothing."""
        return cls(0, 0, progress=False)

    def __enter__(self) -> Meter:
        from tqdm.auto import tqdm  # here, because it loads asyncio, which would take a fifth of kgeval's import time

        disable = None if self.progress else True
        self._bar = tqdm(
            total=self.n_pairs,
            initial=self._n_before,
            desc=self.name,
            unit=" pairs",
            unit_scale=True,
            disable=disable,
            leave=False,
            ncols=_bar_width(),
            bar_format=BAR if self.limit is None else BAR_OF_TIME.replace("LIMIT", f"{self.limit:.0f}"),
        )
        # tqdm reads the time of day: after a jump of this clock the bar would stand still, or show a wrong time.
        self._bar._time = time.monotonic
        self._bar.start_t = self._bar.last_print_t = time.monotonic()
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def begin(self) -> None:
        """Record that the scoring begins now, after the worker processes have started."""
        self.started, self.seconds = time.monotonic(), 0.0
        if self._bar is not None and self.limit is None:
            self._bar.unpause()  # otherwise the speed in the bar would include the start of the workers

    def scored(self, n_pairs: int) -> None:
        """Record that some pairs of a shard were scored; the shard is not finished yet."""
        self._move(min(self.n_pairs, self._n_scored + n_pairs))  # a scorer may score more pairs than are ranked

    def finished(self, n_pairs: int, n_queries: int) -> None:
        """Record that a shard is finished; its pairs may already be recorded as scored."""
        self._n_finished += n_pairs
        self._n_queries_finished += n_queries
        self.seconds = time.monotonic() - self.started
        self._move(max(self._n_scored, self._n_finished))

    def _move(self, n_scored: int) -> None:
        self._bar.update(n_scored - self._n_scored)
        self._n_scored = n_scored
        if self._is_announced or n_scored == self._n_before:
            return
        now = time.monotonic()
        since, n_first = self._first = self._first or (now, n_scored)
        if now - since > FIRST_LOOK and n_scored > n_first:
            self.announce((now - since) / (n_scored - n_first) * (self.n_pairs - n_first))
            self._is_announced = True

    def announce(self, seconds: float) -> None:
        """Print one line with the expected duration of a long run; later calls print nothing.

        Parameters
        ----------
        seconds : float
            The estimate for the whole run.
        """
        if self._is_announced or seconds <= LONG_SECONDS:
            return
        self._is_announced = True
        memory = f", {size_text(self._n_bytes)} of memory" if self._n_bytes else ""
        what = f"ranking {self.n_queries:,} queries ({self.n_pairs:,} pairs{memory})"
        text = f"{what} takes about {describe_seconds(seconds)}"
        self.say(f"{text}; {self.hint}" if self.hint else text)

    def note_memory(self, n_bytes: int) -> None:
        """Add `n_bytes` to the memory that the announcement of a long run reports."""
        self._n_bytes += n_bytes

    def say(self, text: str) -> None:
        """Print one line on standard error, above the bar; nothing with ``progress=False``."""
        if not self.progress:
            return
        from tqdm.auto import tqdm

        tqdm.write(f"kgeval: {text}", file=sys.stderr)

    def describe_speed(self) -> str:
        """Return a text with the number of scored pairs and the time of the scoring."""
        seconds = time.monotonic() - self.started
        return f"{self._n_scored - self._n_before:,} pairs were scored in {seconds:.1f} s"

    def describe(self) -> str:
        """Return a text with the number and the share of finished queries."""
        share = self._n_queries_finished / max(1, self.n_queries)
        return f"{self._n_queries_finished:,} of {self.n_queries:,} queries ({share:.0%})"


def _bar_width() -> int | None:
    """Return the number of columns for the bar; None if tqdm is to choose the number."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):  # not a terminal
        return None
    return columns - ECHO if columns > 2 * ECHO else None


@contextmanager
def said_while(text: str, progress: bool) -> Iterator[None]:
    """In a ``with`` statement, show a text in place of the bar, if standard error is a terminal.

    Parameters
    ----------
    text : str
    progress : bool
        Whether the text is shown.
    """
    from tqdm.auto import tqdm

    with tqdm(desc=text, bar_format="{desc}", disable=None if progress else True, leave=False, ncols=_bar_width()):
        yield


def describe_seconds(seconds: float) -> str:
    """Return a duration as text, for messages.

    Examples
    --------
    >>> describe_seconds(75), describe_seconds(3 * 3600 + 1200), describe_seconds(200 * 3600)
    ('75 s', '3 h 20 min', '8 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 72 * 3600:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes} min"
    return f"{seconds / 86400:.0f} days"
