"""Pictures of the first screen of a report page, light and dark, for the README.

    python tests/bench/page_pictures.py A.kgeval B.kgeval ... --names A,B --dataset FOLDER --out .github/pictures

Needs selenium, chromium and chromedriver. The pictures of the README show ComplEx and TransE on FB15k-237 and a
frequency baseline, each evaluated with ``--unseen drop``.
"""

import argparse
import base64
import tempfile
from pathlib import Path

from bench_report import browser

import kgeval as kg

SIZE = {"width": 1280, "height": 580, "deviceScaleFactor": 1, "mobile": False}


def pictures(page, folder, chromium, driver):
    """Write ``report-light.png`` and ``report-dark.png``, and return their sizes in bytes."""
    chrome, sizes = browser(chromium, driver), {}
    try:
        for theme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": theme}]
            chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
            chrome.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
            chrome.get("about:blank")
            chrome.get(page.as_uri())
            picture = base64.b64decode(chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
            (folder / f"report-{theme}.png").write_bytes(picture)
            sizes[theme] = len(picture)
    finally:
        chrome.quit()
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--names", required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--title", default="FB15k-237, test split")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--driver", default="/usr/bin/chromedriver")
    options = parser.parse_args()
    named = dict(zip(options.names.split(","), map(kg.load_result, options.results), strict=True))
    dataset = kg.read_dataset(options.dataset)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        kg.report.write_page(list(named.values()), page, names=list(named), dataset=dataset, title=options.title)
        print(pictures(page, options.out, options.chromium, options.driver))


if __name__ == "__main__":
    main()
