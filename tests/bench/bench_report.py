"""How long the report page takes to write and to open, and how large it is, for FB15k-237 with three models.

    python tests/bench/bench_report.py [--chromium /usr/bin/chromium] [--driver /usr/bin/chromedriver] [--runs 5]

The results are made up, of the size of FB15k-237's. Needs selenium. Each time a new browser
opens the page, with nothing kept from before; the times are those that it gives, from the start of the navigation on.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measure import Others
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from kgeval.comparison.comparison import compare
from kgeval.report.page import write_page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where the tests keep what they share
SCRIPT = """
const page = performance.getEntriesByType("navigation")[0];
const paint = performance.getEntriesByName("first-contentful-paint")[0];
return {"first paint": paint ? paint.startTime : 0, "load event": page.loadEventEnd};
"""


def browser(chromium, driver):
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(driver))


def opening(path, chromium, driver):
    """Return milliseconds from the start of the navigation, and how many elements the page has."""
    chrome = browser(chromium, driver)
    try:
        chrome.get("about:blank")
        time.sleep(1)  # a browser that has just started is still busy with itself
        chrome.get(path.as_uri())
        WebDriverWait(chrome, 60, 0.02).until(
            lambda page: page.execute_script("return document.documentElement.dataset.script") == "done"
        )
        return chrome.execute_script(SCRIPT), chrome.execute_script("return document.querySelectorAll('*').length")
    finally:
        chrome.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--driver", default="/usr/bin/chromedriver")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    from made_results import like_fb15k237

    with tempfile.TemporaryDirectory() as folder, Others() as others:
        path = Path(folder) / "report.html"
        results, dataset = like_fb15k237(n_models=3)
        names = ["ComplEx", "RotatE", "TransE"]
        start = time.perf_counter()
        comparison = compare(results, names=names)
        compared = time.perf_counter()
        write_page(results, path, names=names, dataset=dataset, comparison=comparison)
        written = time.perf_counter()
        print(f"compared in {compared - start:.2f} s, written in {written - compared:.2f} s")
        runs = [opening(path, options.chromium, options.driver) for _ in range(options.runs)]
        print(f"{path.stat().st_size / 1e6:.2f} MB, {runs[0][1]:,} elements")
    for name in runs[0][0]:
        times = [run[0][name] for run in runs]
        print(f"{name:18}{statistics.median(times):8.0f} ms   ({min(times):.0f} to {max(times):.0f})")
    if others.cores is not None:
        print(f"others kept {others.cores:.2f} processors busy, the browser among them")


if __name__ == "__main__":
    main()
