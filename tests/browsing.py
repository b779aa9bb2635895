"""Chromium without a window: what the tests of pages in a browser share."""

import shutil

import pytest

PROGRAMS = [("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)]
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,1000",
)  # fmt: skip


def started():
    """A headless Chromium that logs its console and its network; the test is skipped where there is none."""
    selenium = pytest.importorskip("selenium", reason="needs selenium")
    chromium, driver = (next(filter(None, map(shutil.which, names)), None) for names in PROGRAMS)
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver (apt-get install chromium chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return selenium.webdriver.Chrome(options=options, service=Service(driver))


def opened(chrome, path, width=1280, height=900, dark=False, scripts=True, state="", media=""):
    """Load a page in a window of a size, in a colour scheme, with or without scripts; logs start anew."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get("about:blank")
    for kind in ("browser", "performance"):
        chrome.get_log(kind)
    chrome.get(path.as_uri() + state)
    return chrome


def run(chrome, code, *arguments):
    return chrome.execute_script(code, *arguments)


def each(chrome, selector, expression):
    """What an expression of `e` gives for every element that a selector finds."""
    return run(chrome, f"return [...document.querySelectorAll(arguments[0])].map((e) => {expression})", selector)


def log(chrome):
    return [entry["message"] for entry in chrome.get_log("browser")]
