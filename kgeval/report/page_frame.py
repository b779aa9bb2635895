"""`whole_page`: a complete HTML page of given sections, which contains everything it needs and loads nothing.

`kgeval.report.page.write_page` calls it for the report page, `kgeval.benchmarks` for the page of a benchmark and for
the board. The folder `assets` holds the style sheet and a small script, which only adds sorting, filtering and
downloads: a page is complete without it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from kgeval.display.html import Markup, tag
from kgeval.report.charts import patterns
from kgeval.report.page_parts import N_DIGITS

FOOTER = "Made by kgeval. This file contains everything it needs; it loads nothing."


def whole_page(title: str, links: Sequence[tuple[str, str]], made: Sequence[Markup], data: Any) -> str:
    """Return a page as HTML: head with the Content-Security-Policy, navigation, theme button, sections, footer, data.

    Parameters
    ----------
    title : str
        The title of the window; the heading of the page is in the first section.
    links : sequence of (str, str)
        The navigation: the id of each section, and its name.
    made : sequence of Markup
        The sections.
    data : dict or list
        The numbers of the page, for `embedded_json`; the page offers them as a file.

    Examples
    --------
    >>> page = whole_page("a < b", [("one", "One")], [tag("section", "text", id="one")], {"n": 1})
    >>> page[:15], page.count("<title>a &lt; b</title>"), page.count('<a href="#one">One</a>')
    ('<!doctype html>', 1, 1)
    """
    assets = resources.files("kgeval.report") / "assets"
    style, code = (_lines((assets / f"page.{kind}").read_text(encoding="utf-8")) for kind in ("css", "js"))
    items = [tag("li", tag("a", name, href=f"#{place}")) for place, name in links]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=content_policy(code, style)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", class_="skip", href="#main"),
        tag(
            "header",
            tag(
                "div",
                tag("nav", tag("ul", *items), aria_label="Sections"),
                tag("button", "Dark", type="button", id="theme", hidden=True),
            ),
        ),
        tag("main", patterns(), *made, id="main", tabindex="-1"),
        tag("footer", tag("p", FOOTER), tag("p", id="downloads")),
        tag("script", Markup(embedded_json(data)), type="application/json", id="data"),
        tag("script", Markup(code)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en', dir='ltr')}\n"


def _lines(code: str) -> str:
    """Return text with every line end as ``\\n``; a browser does the same before it computes a hash."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def content_policy(script: str, style: str) -> str:
    """Return the Content-Security-Policy that allows only this inline script and this inline style, and no request.

    Parameters
    ----------
    script, style : str
        The content of the ``script`` and of the ``style`` element.

    Examples
    --------
    >>> content_policy("", "")[:57]
    "default-src 'none'; script-src 'sha256-47DEQpj8HBSa+/TImW"
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in (script, style)]
    sources = "; ".join(f"{kind}-src 'sha256-{value}'" for kind, value in zip(("script", "style"), hashes))
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _rounded(value: Any) -> Any:
    """Return a JSON value whose numbers have at most `N_DIGITS` significant digits, which makes the page smaller."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{N_DIGITS}g}") if isinstance(value, float) else value


def embedded_json(data: Any) -> str:
    r"""Return strict JSON in ASCII that is safe inside a ``script`` element: it cannot contain a tag.

    Parameters
    ----------
    data : dict, list, str, number or None
        Numbers must be finite: NaN and infinity raise a ValueError. They keep seven significant digits.

    Examples
    --------
    >>> print(embedded_json(["</script>", "\u2028&"]))
    ["\u003c/script\u003e","\u2028\u0026"]
    """
    text = json.dumps(
        _rounded(data), allow_nan=False, separators=(",", ":")
    )  # in ASCII: U+2028 and lone surrogates are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
