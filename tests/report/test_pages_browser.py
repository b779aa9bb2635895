"""The page of a benchmark and the board in Chromium: loading, sorting, a phone, without scripts, dark, print."""

import json
import re

import numpy as np
import pytest
from browsing import each, log, opened, run

import kgeval as kg
from kgeval.benchmarks import named, write_card
from kgeval.report import write_board
from kgeval.report.benchmark_page import write_benchmark_page

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")]

MODELS = ("ComplEx", "<script>alert(1)</script>", "العربية", "TransE", "RotatE")
N_RUNS = 60


@pytest.fixture(scope="module")
def runs():
    """5 models x 3 seeds x 2 datasets, under two protocols each: 60 results."""
    found = {}
    for place, name in enumerate(("toy", "<b>other</b>")):
        rng = np.random.default_rng(place)
        arrays = {split: rng.integers(0, [20, 2, 20], (n, 3)) for split, n in (("train", 60), ("test", 60))}
        dataset = kg.Dataset.from_arrays(**arrays, n_entities=20, n_relations=2, name=name)
        truth = rng.normal(size=(20, 2, 20))
        truth[tuple(arrays["test"].T)] += 2.0
        for model, noise in zip(MODELS, (0.2, 0.3, 0.8, 1.5, 3.0)):
            for seed in (1, 2, 3):
                scores = truth + noise * rng.normal(size=truth.shape)
                for sides in ("both", "object"):
                    protocol = kg.Protocol() if sides == "both" else kg.Protocol(sides=sides)
                    result = kg.evaluate(lambda s, p, o, t=scores: t[s, p, o], dataset, protocol, progress=False)
                    found[model, seed, name, sides] = named(result, model, seed=seed)
    return found


@pytest.fixture(scope="module")
def board(runs, tmp_path_factory):
    """A board over 60 cards."""
    folder = tmp_path_factory.mktemp("board")
    for i, result in enumerate(runs.values()):
        write_card(result, folder / f"card {i}.json")
    write_board(folder, folder / "board.html")
    return folder / "board.html"


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    """The page of the benchmark of both sides."""
    path = tmp_path_factory.mktemp("benchmark") / "page.html"
    kept = {key[:3]: result for key, result in runs.items() if key[3] == "both"}
    write_benchmark_page(kg.benchmark(kept), path)
    return path


@pytest.fixture(params=["board", "page"])
def path(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("is_dark", [False, True])
def test_they_load_without_an_error_or_a_request(chrome, path, is_dark):
    opened(chrome, path, dark=is_dark)
    assert log(chrome) == []
    messages = [json.loads(entry["message"])["message"] for entry in chrome.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert requests == [path.as_uri()]
    assert run(chrome, "return document.documentElement.dataset.script") == "done"
    colour = run(chrome, "return getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", colour)[:3]) < 200) == is_dark


@pytest.mark.parametrize("width", [390, 768])
def test_a_phone_need_not_scroll_sideways(chrome, path, width):
    opened(chrome, path, width=width)
    assert run(chrome, "return document.documentElement.scrollWidth") <= width
    assert max(each(chrome, "main > section > *, .chart", "e.getBoundingClientRect().right")) <= width


def test_without_scripts_everything_is_there(chrome, path):
    count = "return ['table', 'svg', 'tbody tr', 'details'].map((name) => document.querySelectorAll(name).length)"
    with_scripts = run(opened(chrome, path), count)
    assert run(opened(chrome, path, scripts=False), count) == with_scripts
    assert min(with_scripts) >= 3


def test_they_can_be_used_without_seeing_them(chrome, path):
    """Headings in order, captions, names of boxes, each once."""
    opened(chrome, path)
    levels = [int(level[1]) for level in each(chrome, "h1, h2, h3", "e.tagName")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))
    for selector, expression in {
        "table": "e.caption && e.caption.textContent.trim()",
        "th": "e.scope",
        "button": "e.textContent.trim() || e.ariaLabel",
        "svg": "e.getAttribute('role') === 'img' ? e.ariaLabel : e.ariaHidden === 'true'",
        "section": "document.getElementById(e.getAttribute('aria-labelledby')).textContent",
        "nav a": "document.querySelector(e.getAttribute('href')).tagName",
    }.items():
        assert all(each(chrome, selector, expression))
    names = each(chrome, ".scroll", "e.ariaLabel")
    assert len(set(names)) == len(names) >= 4


def test_print_has_no_toolbars(chrome, path):
    opened(chrome, path, media="print")
    assert not any(each(chrome, "header, .tool", "e.checkVisibility()"))
    assert set(each(chrome, ".scroll", "getComputedStyle(e).overflowX")) == {"visible"}


def test_the_board_opens_fast(chrome, board):
    """60 cards, the best of three times on a busy machine: less than a second."""
    times = []
    for _ in range(3):
        opened(chrome, board)
        times.append(run(chrome, "return performance.getEntriesByType('navigation')[0].loadEventEnd"))
    assert min(times) < 1_000
    assert len(each(chrome, "tr.more [data-name^=board-] > tbody > tr", "1")) == N_RUNS


FIRST_ROWS = "[data-name=board-2] > tbody > tr:first-child"


def test_each_table_of_the_board_sorts_by_itself(chrome, board):
    """A click on a head sorts this table only; the runs move with their model; the link keeps it."""
    opened(chrome, board)
    value = "Number(e.cells[1].dataset.v)"
    before = each(chrome, "[data-name=board-1] > tbody > tr:first-child", value)
    heads = chrome.find_elements("css selector", "[data-name=board-2] > thead th")
    for direction in ("descending", "ascending"):
        heads[1].find_element("tag name", "button").click()
        assert heads[1].get_attribute("aria-sort") == direction
        values = each(chrome, FIRST_ROWS, value)
        assert values == sorted(values, reverse=direction == "descending")
        assert len(set(values)) == len(MODELS)
    assert each(chrome, "[data-name=board-1] > tbody > tr:first-child", value) == before
    assert set(each(chrome, "[data-name=board-2] > tbody", "e.rows.length")) == {2}
    assert len(each(chrome, "[data-name=board-2] > thead th button", "1")) == len(heads) > 6
    assert each(chrome, "tr.more thead button", "1") == []
    state = chrome.current_url.partition("#")[2]
    opened(chrome, board, state=f"#{state}")
    assert each(chrome, FIRST_ROWS, value) == values


def test_a_model_opens_its_runs(chrome, board):
    opened(chrome, board)
    assert not any(each(chrome, "tr.more", "e.checkVisibility()"))
    chrome.find_element("css selector", "[data-name=board-1] summary").click()
    texts = each(chrome, "tr.more tbody th", "e.checkVisibility() ? e.textContent : ''")
    assert [text for text in texts if text] == ["seed 1", "seed 2", "seed 3"]


def test_the_latex_of_a_benchmark_can_be_copied(chrome, page):
    opened(chrome, page)
    run(chrome, "navigator.clipboard.writeText = () => Promise.reject(new Error())")
    run(chrome, "document.getElementById('table-latex').open = true")
    button = chrome.find_element("css selector", "[data-copy=latex] button")
    button.click()
    assert run(chrome, "return getSelection().toString()").strip().startswith("% ")
    assert button.text == "Selected"


def test_a_download_has_the_groups_of_a_table_and_no_opened_rows(chrome, board, page):
    """The dataset of each row; a nested table is a download of its own."""
    catch = "URL.createObjectURL = (blob) => { window.saved = blob; return '#' }"
    for path, name, n_rows in ((page, "means", 12), (board, "board-1", len(MODELS))):
        opened(chrome, path)
        run(chrome, catch)
        chrome.find_element("css selector", f"[data-name={name}] > caption button").click()
        text = chrome.execute_async_script("const done = arguments[0]; window.saved.text().then(done)")
        rows = [line.split(",") for line in text.strip().splitlines()]
        assert len(rows) == n_rows + 1
        assert len({len(row) for row in rows}) == 1
        if name == "means":
            assert rows[0][:2] == ["group", "model"]
            assert [row[0] for row in rows[1:]] == ["toy"] * 6 + ["<b>other</b>"] * 6  # five models and chance
            assert rows[0][2:5] == ["MRR ↑", "MRR ↑ low", "MRR ↑ high"]
