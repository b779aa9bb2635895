"""The pictures of the README: the first screens of a report, of a benchmark, and the card of a result in a notebook.

    python tests/bench/page_pictures.py

Everything is made of data/countries: its ComplEx model beside two baselines for the report, and for the benchmark
ComplEx of 2, 4 and 16 complex dimensions, trained three times each by the functions of its train.py (a few minutes).
Needs selenium, chromium and chromedriver. Writes the pictures, light and dark, as wide as the README shows them, to
.github/pictures; and ``made-of.json``, which says what the pictures show: a test compares it with the pages of today.
"""

import base64
import functools
import hashlib
import html
import importlib.util
import json
import re
import sys
import tempfile
import warnings
from importlib import resources
from pathlib import Path

import numpy as np

import kgeval as kg

ROOT = Path(__file__).resolve().parents[2]
PICTURES, DATA = ROOT / ".github" / "pictures", ROOT / "data" / "countries"
WIDTH = 760  # pixels of a picture in the README, and of the window in which it is taken
HEIGHTS = {"report": 568, "benchmark": 606, "notebook": 250}  # each ends below a table
EPOCHS = 40

sys.path.insert(0, str(ROOT / "tests"))  # where the tests keep what they share


@functools.cache
def countries():
    """The dataset, and the results of its model and of two baselines."""
    dataset = kg.read_dataset(DATA)
    models = {
        "ComplEx": kg.load_model(DATA / "complex.npz", dataset),
        "frequency": kg.baselines.Frequency(dataset),
        "degree": kg.baselines.Degree(dataset),
    }
    return dataset, {name: kg.evaluate(model, dataset, progress=False) for name, model in models.items()}


def write_report(path):
    dataset, results = countries()
    kg.report.write_page(list(results.values()), path, names=list(results), dataset=dataset, overwrite=True)


def small_benchmark():
    """A benchmark that takes no training, by which the test sees whether pages have changed."""
    from benchmark_cases import MODELS, run_of

    return kg.benchmark({(model, seed, "ring-30"): run_of(30, model, seed) for model in MODELS for seed in (1, 2)})


def trained(size, seed, dataset):
    """A ComplEx model of `size` complex dimensions, trained as data/countries/train.py trains its own."""
    spec = importlib.util.spec_from_file_location("train", DATA / "train.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    rng = np.random.default_rng(seed)
    queries = train.both_queries(np.asarray(dataset["train"]), len(dataset.relations))
    counts = len(dataset.entities), 2 * len(dataset.relations)
    tables = [rng.normal(0.0, train.INIT_SCALE, (n, 2 * size)) for n in counts]
    squares = [np.full_like(table, 1e-10) for table in tables]
    for _ in range(EPOCHS):
        shuffled = rng.permutation(queries)
        for start in range(0, len(shuffled), train.BATCH):
            for table, square, gradient in zip(
                tables, squares, train.gradients(*tables, shuffled[start : start + train.BATCH]), strict=True
            ):
                square += gradient**2
                table -= train.RATE * gradient / np.sqrt(square)
    return kg.models.ComplEx(
        *(table.astype(np.float32) for table in tables), layout="halves", inverse_relations="after"
    )


def trained_benchmark():
    dataset = countries()[0]
    return kg.benchmark(
        {
            (f"ComplEx, {size} dimensions", seed, dataset.name): kg.evaluate(
                trained(size, seed, dataset), dataset, progress=False
            )
            for size in (2, 4, 16)
            for seed in (1, 2, 3)
        },
        metrics=["mrr", "hits@1", "hits@10"],
    )


def card():
    """The card of the ComplEx model, as a page of its own."""
    shown = countries()[1]["ComplEx"]._repr_html_()
    style = ":root { color-scheme: light dark; } body { font: 14px system-ui, sans-serif; margin: 12px; }"
    return f"<!doctype html><meta charset='utf-8'><style>{style}</style>{shown}"


def made_of(folder):
    """What each picture shows: a hash of the first section of its page, and of the style sheet."""
    write_report(folder / "report.html")
    kg.report.write_benchmark_page(small_benchmark(), folder / "benchmark.html", overwrite=True)
    (folder / "notebook.html").write_text(card(), encoding="utf-8")
    style = (resources.files("kgeval.report") / "assets" / "page.css").read_bytes()
    found = {}
    for name in HEIGHTS:
        page = (folder / f"{name}.html").read_text(encoding="utf-8")
        first = re.search(r"<main.*?</section>|<div class=\"kgeval-panel.*", page, re.DOTALL)[0]
        text = html.unescape(re.sub(r"<[^>]+>", " ", first))  # without drawings, whose last digits may differ
        found[name] = hashlib.sha256(" ".join(text.split()).encode() + style * (name != "notebook")).hexdigest()[:16]
    return found


def take(folder):
    """Write the pictures of the pages in a folder."""
    from browsing import started

    chrome = started()
    try:
        for name, height in HEIGHTS.items():
            for theme in ("light", "dark"):
                features = [{"name": "prefers-color-scheme", "value": theme}]
                size = {"width": WIDTH, "height": height, "deviceScaleFactor": 2, "mobile": False}
                chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
                chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                chrome.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
                chrome.get((folder / f"{name}.html").as_uri())
                picture = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
                (PICTURES / f"{name}-{theme}.png").write_bytes(base64.b64decode(picture))
    finally:
        chrome.quit()


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = json.dumps(made_of(folder), indent=2) + "\n"
        kg.report.write_benchmark_page(trained_benchmark(), folder / "benchmark.html", overwrite=True)
        take(folder)
    (PICTURES / "made-of.json").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
