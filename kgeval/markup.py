"""HTML from Python: `tag` makes an element whose text is escaped, for the report page and notebook panels.

`Markup` is a string that is already HTML. Every other value is escaped as text, so HTML tags in a label have no effect.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

VOID = frozenset(("br", "col", "hr", "input", "link", "meta"))  # HTML elements without an end tag
MAX_LABEL, LABEL_START, LABEL_END = 200, 140, 40  # characters of a label that `shown_label` keeps


class Markup(str):
    """A string of HTML or SVG; it is inserted unchanged, without escaping."""

    __slots__ = ()


def printable(label: str) -> str:
    """Return a label that is safe to show: control and text-direction characters are escaped.

    Parameters
    ----------
    label : str

    Examples
    --------
    >>> print(printable("São Tomé\\x1b[31m"))
    São Tomé\\x1b[31m
    """
    if label.isprintable():
        return label
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in label)


def shown_label(label: str) -> str:
    """Return a label as one printable line of at most about 200 characters.

    Parameters
    ----------
    label : str

    Examples
    --------
    >>> shown_label("a\\nb"), shown_label("")
    ('a\\\\nb', '(empty label)')
    >>> shown_label("x" * 1000)[130:]
    'xxxxxxxxxx … (1,000 characters) … xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
    """
    if not label:
        return "(empty label)"
    if len(label) > MAX_LABEL:
        label = f"{label[:LABEL_START]} … ({len(label):,} characters) … {label[-LABEL_END:]}"
    return printable(label)


def joined(*children: Any) -> Markup:
    """Join children to one `Markup`: `Markup` is not changed, other values become escaped text.

    Parameters
    ----------
    *children
        `Markup`, texts, numbers, None (nothing), or iterables of these.

    Examples
    --------
    >>> joined("a < b", Markup("<br>"), None, [1, 2])
    'a &lt; b<br>12'
    """
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(html.escape(printable(child), quote=False))
        elif isinstance(child, Iterable):
            parts.append(joined(*child))
        elif child is not None:
            parts.append(html.escape(str(child), quote=False))
    return Markup("".join(parts))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element of HTML or SVG.

    Parameters
    ----------
    name : str
    *children
        As in `joined`.
    **attributes
        ``class_`` becomes ``class``, and ``data_n`` becomes ``data-n``; other names, such as ``viewBox``, do not
        change. An attribute with the value None or False is left out; True gives an attribute without a value. Values
        are escaped.

    Examples
    --------
    >>> tag("td", "Jack & Jill", class_="label", data_n=3, hidden=False)
    '<td class="label" data-n="3">Jack &amp; Jill</td>'
    >>> tag("br")
    '<br>'
    """
    texts: list[str] = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written = key.rstrip("_").replace("_", "-")
        texts.append(f" {written}" if value is True else f' {written}="{html.escape(printable(str(value)))}"')
    start = f"<{name}{''.join(texts)}>"
    return Markup(start if name in VOID else f"{start}{joined(*children)}</{name}>")
