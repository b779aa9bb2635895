"""`Meter`: what it says about the progress and the time of a ranking."""

import io
import sys
import time
from types import SimpleNamespace

import pytest

from kgeval.ranking.progress import Meter


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("kgeval.ranking.progress.time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_the_start_of_workers_does_not_count_as_ranking(clock, capsys):
    """Workers need 30 s to start; then 100 pairs take a second, and 10,000 pairs 100 s, not an hour."""
    with Meter(10_000, 100, hint="give it time") as meter:
        clock.now += 30.0
        meter.scored(10)
        for _ in range(3):
            clock.now += 0.5
            meter.scored(50)
    said = capsys.readouterr().err
    assert said == "kgeval: ranking 100 queries (10,000 pairs) takes about 100 s; give it time\n"
    assert said.count("\n") == 1


def test_what_an_earlier_run_ranked_takes_no_time(clock, capsys):
    """9,000 of 10,000 pairs are there; the others take 10 s, which is not worth a line."""
    with Meter(10_000, 100, n_pairs_before=9_000, n_queries_before=90) as meter:
        for _ in range(5):
            meter.scored(50)
            clock.now += 0.5
        assert meter.describe() == "90 of 100 queries (90%)"
        meter.finished(250, 3)
    assert meter.describe() == "93 of 100 queries (93%)"
    assert capsys.readouterr().err == ""


def test_without_progress_nothing_is_said(clock, capsys):
    with Meter(10_000, 100, progress=False) as meter:
        for _ in range(5):
            meter.scored(1)
            clock.now += 100.0
        meter.say("took over 3 shards")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("jump", [-1e9, -3600.0, 3600.0, 1e9])
@pytest.mark.parametrize("limit", [None, 60.0])
def test_the_bar_follows_no_jump_of_the_time_of_day(monkeypatch, jump, limit):
    """It moves with each step, and shows the 2 seconds that passed."""
    terminal, clock, real = Terminal(), SimpleNamespace(now=100.0), time.time
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("kgeval.ranking.progress.time", SimpleNamespace(monotonic=lambda: clock.now))
    with Meter(1_000, 100, limit=limit) as meter:
        monkeypatch.setattr("tqdm.std.time", lambda: real() + jump)
        monkeypatch.setattr(time, "time", lambda: real() + jump)
        for _ in range(4):
            clock.now += 0.5
            meter.scored(100)
    last = terminal.getvalue().split("\r")[-3]
    assert "400/1.00k pairs" in last
    assert ("2 s of 60 s" if limit else "40%, 00:03 left") in last
