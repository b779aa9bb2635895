"""`write_page`: writes results as one HTML page that contains everything it needs and loads nothing from a network.

Users and ``kgeval report`` call it. `kgeval.report.page_content` computes the numbers of the page. The folder `assets`
holds the template, the style sheet and the script of the page.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from kgeval.comparison import Comparison, name_results
from kgeval.data import Dataset
from kgeval.errors import DataError, MissingExtra
from kgeval.files import check_target, replacing
from kgeval.markup import printable
from kgeval.report.page_content import page_data
from kgeval.results import EvaluationResult, have_same_ranks

MIN_PLOTLY = 7
PAGE_SUFFIXES = (".html", ".htm")


def write_page(
    results: EvaluationResult | Sequence[EvaluationResult],
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    dataset: Dataset | None = None,
    comparison: Comparison | None = None,
    overwrite: bool = False,
    title: str | None = None,
) -> None:
    """Write results as one HTML page that works offline and loads nothing.

    The page shows the protocol, cautions, metrics with intervals, charts, a table of relations, and the triples with
    the worst and the best ranks. Labels are shown as text, whatever characters they contain. The same input gives the
    same bytes.

    Parameters
    ----------
    results : EvaluationResult, or a sequence of them
    path : str or Path
        The file to write; its name ends in ``.html`` or ``.htm``.
    names : sequence of str, optional
        One name per result. By default the names in `comparison`; if there is no comparison, the names of the scorers
        (equal names get a number).
    dataset : Dataset, optional
        The dataset that was ranked. It adds a section about the dataset, and the breakdowns that a result lacks.
    comparison : Comparison, optional
        The comparison of the results, as `kgeval.compare` returns it.
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
        The title of the page. By default, or if empty: ``"kgeval: "`` and the names of the datasets.

    Raises
    ------
    DataError
        If `dataset` is not the dataset that was ranked, if `comparison` compares other results or uses other names,
        if the name does not end in ``.html`` or ``.htm``, or if the file cannot be written.
    ProtocolError
        If there is no result, or if `names` does not contain one distinct name per result.
    MissingExtra
        If plotly is not installed or too old. The charts need plotly.js, which the package plotly contains.
    """
    named = _named_results(results, names, comparison)
    in_order = list(named.values())
    check_page_target(path, overwrite)
    charts = _plotly_js()
    data = page_data(in_order, list(named), dataset, comparison)
    datasets = dict.fromkeys(str(result.about["dataset"]) for result in in_order)
    text = _page(data, charts, title if title and title.strip() else f"kgeval: {', '.join(datasets)}")
    with replacing(path, overwrite) as stream:
        stream.write(text.encode("utf-8"))


def check_page_target(path: str | Path, overwrite: bool) -> None:
    """Raise a DataError if a page must not be written to `path`; ``kgeval report`` calls this before it reads results.

    Parameters
    ----------
    path : str or Path
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    DataError
        If the name does not end in ``.html`` or ``.htm``, or in the cases that `kgeval.files.check_target` lists.
    """
    suffix = Path(path).suffix
    if suffix.lower() not in PAGE_SUFFIXES:
        raise DataError(
            f"{path}: the report is an HTML page; expected a name that ends in {' or '.join(PAGE_SUFFIXES)}; got "
            f"{suffix or 'no ending'!r}. To get a PDF, open the page in a browser and print it"
        )
    check_target(path, overwrite)


def _named_results(
    results: EvaluationResult | Sequence[EvaluationResult], names: Sequence[str] | None, comparison: Comparison | None
) -> dict[str, EvaluationResult]:
    """Return a dict from name to result; check that names, results and `comparison` agree.

    If `names` is None, the names are those in `comparison`, or the names of the scorers if there is no comparison.
    """
    if comparison is not None and not isinstance(comparison, Comparison):
        raise DataError(f"comparison must be a Comparison, as kgeval.compare returns; got {comparison!r}")
    if names is None and comparison is not None:
        names = comparison.names
    named = name_results(results, names)
    if comparison is not None:
        _check_comparison(comparison, list(named.values()), list(named))
    return named


def _check_comparison(comparison: Comparison, results: Sequence[EvaluationResult], names: Sequence[str]) -> None:
    """Raise a DataError unless `comparison` compares exactly these results, each with the same name."""
    if sorted(comparison.names) != sorted(names):
        raise DataError(
            f"the comparison is between {', '.join(comparison.names)}, but the results have the names "
            f"{', '.join(names)}; use the same names for both"
        )
    compared = dict(zip(comparison.names, comparison.results))
    for result, name in zip(results, names):
        if not have_same_ranks(compared[name], result):
            raise DataError(
                f"the result named {name!r} is not the result that has this name in the comparison; pass the compared "
                "results, with the same names"
            )


def _plotly_js() -> str:
    """Return the code of plotly.js, which the Python package plotly contains.

    Raises a MissingExtra if the package is older than version `MIN_PLOTLY`: older versions of plotly.js load an image
    when they start, and the content policy of the page forbids this.
    """
    try:
        import plotly
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtra('the report page needs plotly; pip install "kgeval[report]"') from error
    if int(str(plotly.__version__).partition(".")[0]) < MIN_PLOTLY:
        raise MissingExtra(
            f"the report page needs plotly {MIN_PLOTLY} or later; found {plotly.__version__}; "
            'pip install --upgrade "kgeval[report]"'
        )
    return str(get_plotlyjs())


def _page(data: dict[str, Any], charts: str, title: str) -> str:
    """Return the page as HTML: the template with each placeholder @@NAME@@ replaced.

    All placeholders are replaced in one pass. Inserted text that looks like a placeholder therefore stays as it is.
    """
    assets = resources.files("kgeval.report") / "assets"
    template, style, code = ((assets / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    scripts = {"PAGE_SCRIPT": _script(code), "CHART_SCRIPT": _script(charts)}
    parts = scripts | {
        "POLICY": content_policy(list(scripts.values())),
        "TITLE": html.escape(printable(title)),
        "STYLE": style,
        "DATA": embedded_json(data),
    }
    return re.sub(r"@@([A-Z_]+)@@", lambda match: parts[match[1]], template)


def _script(code: str) -> str:
    """Return `code` with every line end as ``\\n``; a browser does the same before it computes the hash of a script."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def content_policy(scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy that lets only these inline scripts run, and lets the page load nothing.

    Inline styles are allowed because plotly.js sets the style of every element that it draws, and a policy cannot list
    hashes of these styles.

    Parameters
    ----------
    scripts : sequence of str
        The code of each inline script.

    Examples
    --------
    >>> content_policy([""])[:57]
    "default-src 'none'; script-src 'sha256-47DEQpj8HBSa+/TImW"
    """
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii") for script in scripts]
    sources = " ".join(f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def embedded_json(data: Any) -> str:
    r"""Return strict JSON in ASCII that is safe inside a ``script`` element: it cannot contain a tag.

    Parameters
    ----------
    data : dict, list, str, number or None
        Numbers must be finite: NaN and infinity raise a ValueError.

    Examples
    --------
    >>> print(embedded_json(["</script>", "\u2028&"]))
    ["\u003c/script\u003e","\u2028\u0026"]
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # in ASCII: U+2028 and lone surrogates are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
