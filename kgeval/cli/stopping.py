"""Signals that stop a command cleanly: Ctrl-C (SIGINT) and SIGTERM, with their exit codes; `main` uses them."""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgeval.errors import Stopped

PATIENCE = 2.0  # seconds; see `Stop.arrived`
HANDLED: tuple[tuple[signal.Signals, Any], ...] = (  # each signal, and the handler that may be replaced
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
)


class Stop:
    """The signal that stopped a command.

    Attributes
    ----------
    number : int
        The first signal that arrived; SIGINT if no signal arrived.
    is_over : bool
        Whether the command has ended, so that a further signal ends the process.
    """

    def __init__(self) -> None:
        self.number: int = signal.SIGINT
        self.is_over = False
        self._last: float | None = None  # the `time.monotonic` of the last signal that was not ignored

    @property
    def has_come(self) -> bool:
        """Whether a signal arrived."""
        return self._last is not None

    @property
    def status(self) -> int:
        """The exit code that shells give to a program that this signal stopped."""
        return 128 + self.number

    def arrived(self, number: int, frame: object) -> None:
        """Handle a signal: raise a KeyboardInterrupt, or end the process if the command has ended.

        A signal less than `PATIENCE` seconds after another one is ignored: people press Ctrl-C twice, and the second
        signal must not interrupt the orderly end that the first signal started.
        """
        now = time.monotonic()
        if self._last is None:
            self.number = number
        elif now - self._last < PATIENCE:
            return
        self._last = now
        if not self.is_over:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


@contextmanager
def signals_stop(is_program: bool) -> Iterator[Stop]:
    """In a ``with`` statement, raise a KeyboardInterrupt when SIGINT or SIGTERM arrives.

    Only the handlers that Python sets by default are replaced, and only in the main thread, so that a program that
    calls `main` keeps its own handlers.

    Parameters
    ----------
    is_program : bool
        Whether the process ends after the ``with`` statement. If a signal arrived, a further signal then ends the
        process without a traceback, for example while the process waits for threads; else the old handlers are
        restored.

    Yields
    ------
    Stop
    """
    stop, before = Stop(), dict[signal.Signals, Callable[..., object] | int | None]()
    if threading.current_thread() is threading.main_thread():
        for number, default in HANDLED:
            if signal.getsignal(number) == default:
                before[number] = signal.signal(number, stop.arrived)
    try:
        yield stop
    finally:
        stop.is_over = True
        for number, handler in before.items():
            if is_program and stop.has_come:  # Python ends with the default handlers, so a late signal would kill it
                atexit.register(signal.signal, number, signal.SIG_IGN)
            else:
                signal.signal(number, handler)


def stop_message(error: BaseException, folder: Path | None) -> str:
    """Return the message for a KeyboardInterrupt.

    If the error, or an earlier error in its context, is a `Stopped`, the result is the message of this `Stopped`.

    Parameters
    ----------
    error : KeyboardInterrupt
    folder : Path or None
        The run folder.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Stopped):
            return str(cause)
        cause = cause.__context__  # a second signal, while the first one was handled
    if folder is not None and folder.is_dir():  # the signal arrived before or after the ranking
        return f"interrupted; the ranks in {folder} are kept; the same command goes on"
    return "interrupted before the end; each file is as it was, or complete"
