"""`whole_page`: a complete HTML page of given sections, which contains everything it needs and loads nothing.

`kgeval.report.page.write_page` calls it for the report page, `kgeval.benchmarks` for the page of a benchmark and for
the board. The folder `assets` holds the style sheet and a small script, which only adds sorting, filtering and
downloads: a page is complete without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

from kgeval.display.html import Markup, patterns, tag
from kgeval.report.document import FOOTER, content_policy, embedded_json, unix_lines


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
    style, code = (unix_lines((assets / f"page.{kind}").read_text(encoding="utf-8")) for kind in ("css", "js"))
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
