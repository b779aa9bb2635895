"""A page as a value: sections with a heading and a question, of tables, figures and texts; and its one HTML.

The pages of a report, of a benchmark and of a board are such documents. The folder `assets` holds the style sheet and a
small script, which only adds sorting, filtering and downloads: a page is complete without it, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from kgeval.base.files import replacing
from kgeval.base.wording import printable
from kgeval.display.html import Markup, joined, patterns, tag
from kgeval.display.html_tables import N_DIGITS, html_table, unbroken
from kgeval.display.media import table_records
from kgeval.display.table import Table

FOOTER = "Made by kgeval. This file contains everything it needs; it loads nothing."
N_OPEN = 3  # cautions
CITATION = """@software{kgeval, author = {{The kgeval authors}}, year = {2026},
  title = {kgeval: exact, comparable evaluation of knowledge-graph models},
  version = {VERSION}}"""


@dataclass(frozen=True)
class Text:
    """A paragraph.

    Parameters
    ----------
    text : str
    kind : str
        ``"muted"`` for a remark, ``"caution"`` for a caution, empty for plain text.
    """

    text: str
    kind: str = "muted"


@dataclass(frozen=True)
class Lines:
    """A list of sentences.

    Parameters
    ----------
    texts : sequence of str
    kind : str
        ``"plain"``, or ``"caution"`` for cautions, each in a frame.
    """

    texts: Sequence[str]
    kind: str = "plain"


@dataclass(frozen=True)
class Code:
    """Text to be copied: a command, BibTeX, LaTeX.

    Parameters
    ----------
    text, name : str
    """

    text: str
    name: str


@dataclass(frozen=True)
class Figure:
    """A drawing with what it shows.

    Parameters
    ----------
    drawing : function
        Makes the SVG.
    caption : str
    """

    drawing: Callable[[], Markup]
    caption: str


@dataclass(frozen=True)
class Beside:
    """Parts that stand beside each other where the window is wide.

    Parameters
    ----------
    parts : sequence of parts
    """

    parts: Sequence[PagePart]


@dataclass(frozen=True)
class Fold:
    """Parts that are shown at a click on their title.

    Parameters
    ----------
    title : str
    parts : sequence of parts
    name : str
        The place of the fold in links.
    is_open : bool
    """

    title: str
    parts: Sequence[PagePart]
    name: str = ""
    is_open: bool = False


PagePart = Table | Text | Lines | Code | Figure | Beside | Fold | Markup


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    name : str
        Its place in links.
    title : str
    parts : sequence of parts
    question : str
        What the section answers, below the title.
    link : str
        Its name in the navigation; by default the title.
    """

    name: str
    title: str
    parts: Sequence[PagePart]
    question: str = ""
    link: str = ""


Sections = Callable[[str], Sequence[Section]]


def first_section(
    title: str, verdict: str, outcome: str, details: Sequence[str], parts: Sequence[PagePart], link: str = "Answer"
) -> Section:
    """Return the section that a page starts with: its title, its verdict in large type, and what belongs to it.

    Parameters
    ----------
    title, verdict : str
    outcome : str
        The outcome of the verdict, for the style sheet.
    details : sequence of str
        Sentences that say more than the verdict, below it.
    parts : sequence of parts
    link : str
    """
    shown = tag("p", tag("bdi", unbroken(verdict)), class_=f"verdict {outcome}".strip())
    more = [tag("p", tag("bdi", unbroken(text)), class_="details") for text in details]
    return Section("answer", title, [shown, *more, *parts], link=link)


def write_document(path: str | Path, overwrite: bool, title: str | None, usual: str, sections: Sections) -> None:
    """Write a document as one HTML page.

    Parameters
    ----------
    path : str or Path
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
    usual : str
        The title if none is given, or an empty one.
    sections : function
        Makes the sections, given the title.
    """
    shown = title if title and title.strip() else usual
    with replacing(path, overwrite) as stream:
        stream.write(page_html(shown, sections(shown)).encode("utf-8"))


def page_html(title: str, sections: Sequence[Section]) -> str:
    """Return a document as one HTML page, with a Content-Security-Policy that forbids every request.

    Parameters
    ----------
    title : str
        The title of the window.
    sections : sequence of Section
        The first is headed by the title of the page.

    Examples
    --------
    >>> page = page_html("a < b", [Section("one", "One", [Text("text")])])
    >>> page[:15], page.count("<title>a &lt; b</title>"), page.count('<a href="#one">One</a>')
    ('<!doctype html>', 1, 1)
    """
    assets = resources.files("kgeval.report") / "assets"
    style, code = ((assets / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))  # lines end in \n
    links = [tag("li", tag("a", one.link or one.title, href=f"#{one.name}")) for one in sections]
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
    navigation = tag("nav", tag("ul", *links), aria_label="Sections")
    body = tag(
        "body",
        tag("a", "Skip to the content", class_="skip", href="#main"),
        tag("header", tag("div", navigation, tag("button", "Dark", type="button", id="theme", hidden=True))),
        tag("main", patterns(), *map(_section, sections, range(len(sections))), id="main", tabindex="-1"),
        tag("footer", tag("p", FOOTER), tag("p", id="downloads")),
        tag("script", Markup(embedded_json(page_data(sections))), type="application/json", id="data"),
        tag("script", Markup(code)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en', dir='ltr')}\n"


def page_data(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the numbers of a document: for the name of each table its rows, see `kgeval.display.media.table_records`.

    Parameters
    ----------
    sections : sequence of Section
    """
    tables = [table for one in sections for table in _tables(one.parts) if table.name]
    return {"tables": {table.name: [_printable(row) for row in table_records(table)] for table in tables}}


def _printable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a table with its labels as the page shows them."""
    return {printable(name): printable(value) if isinstance(value, str) else value for name, value in row.items()}


def _tables(parts: Sequence[PagePart]) -> Iterator[Table]:
    for part in parts:
        if isinstance(part, Table):
            yield part
        elif isinstance(part, Fold | Beside):
            yield from _tables(part.parts)


def _section(section: Section, place: int) -> Markup:
    """Return a section with its heading; the first one's is that of the page."""
    name = f"{section.name}-title"
    head = tag("h2" if place else "h1", tag("bdi", section.title), id=name)
    question = tag("p", section.question, class_="question") if section.question else None
    return tag("section", head, question, *map(_part, section.parts), id=section.name, aria_labelledby=name)


def _part(part: PagePart) -> Markup:
    """Return a part of a section as HTML."""
    if isinstance(part, Markup):
        return part
    if isinstance(part, Table):
        return html_table(part)
    if isinstance(part, Text):
        return tag("p", unbroken(part.text), class_=part.kind or None)
    if isinstance(part, Lines):
        is_caution = part.kind == "caution"
        items = [tag("li", tag("bdi", unbroken(text)), class_="caution" if is_caution else None) for text in part.texts]
        return tag("ul", *items, class_="lines" if is_caution else part.kind) if items else Markup()
    if isinstance(part, Code):
        lines = [joined(Markup("\n") if i else None, line) for i, line in enumerate(part.text.split("\n"))]
        return tag("div", tag("pre", *lines, id=part.name, tabindex="0"), class_="copy", data_copy=part.name)
    if isinstance(part, Figure):
        return tag("figure", part.drawing(), tag("figcaption", unbroken(part.caption)))
    if isinstance(part, Beside):
        return tag("div", *map(_part, part.parts), class_="beside")
    title = tag("summary", tag("bdi", unbroken(part.title)))
    return tag("details", title, *map(_part, part.parts), open=part.is_open, id=part.name or None, class_="fold")


def cautions(texts: Sequence[str], n_open: int) -> list[PagePart]:
    """Return the gravest cautions, and the others in a fold.

    Parameters
    ----------
    texts : sequence of str
        Gravest first.
    n_open : int
    """
    rest = texts[n_open:]
    fold = Fold(f"{len(rest)} more {'note' if len(rest) == 1 else 'notes'}", [Lines(rest)], "notes")
    return [Lines(texts[:n_open], "caution"), *([fold] if rest else [])]


def again(command: str, version: str) -> Fold:
    """Return the fold with the command that makes the page again, and the citation, which the README has too.

    Parameters
    ----------
    command, version : str
    """
    cited = Code(CITATION.replace("VERSION", version), "bibtex")
    return Fold("Make this page again, and cite", [Code(command, "command"), cited], "again")


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
    text = json.dumps(_rounded(data), allow_nan=False, separators=(",", ":"))  # escapes U+2028 and lone surrogates
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
