"""write_page(): results as one HTML file that contains everything it needs and never uses a network.

Users and ``kgeval report`` call it. `kgeval.report.page_content` computes the numbers; the files of `assets` hold the
template, the style and the script.
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
from kgeval.report.page_content import page_data
from kgeval.report.tables import printable
from kgeval.results import EvaluationResult, have_same_ranks

MIN_PLOTLY = 7


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

    The same input gives the same bytes. The page contains protocol, cautions, metrics with intervals, charts, relations
    and the hardest and easiest triples. Labels are shown as text, whatever characters they contain.

    Parameters
    ----------
    results : EvaluationResult, or a sequence of them
    path : str or Path
        The file to write, conventionally ``.html``.
    names : sequence of str, optional
        A name for each result. By default the names in the comparison; without a comparison the names of the
        scorers, numbered where they repeat.
    dataset : Dataset, optional
        The ranked dataset; adds a section about it.
    comparison : Comparison, optional
        The comparison of the results, as `kgeval.compare` returns it.
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
        If None or empty: the names of the datasets.

    Raises
    ------
    DataError
        If `dataset` is not the ranked dataset, `comparison` is about other results or names, or the file cannot be
        written.
    ProtocolError
        If there is no result, or a name is missing or repeated.
    MissingExtra
        If plotly is not installed or too old; its plotly.js draws the charts.
    """
    named = _named_results(results, names, comparison)
    in_order = list(named.values())
    check_target(path, overwrite)
    charts = _plotly_js()
    data = page_data(in_order, list(named), dataset, comparison)
    datasets = dict.fromkeys(str(result.about["dataset"]) for result in in_order)
    text = _page(data, charts, title if title and title.strip() else f"kgeval: {', '.join(datasets)}")
    with replacing(path, overwrite) as stream:
        stream.write(text.encode("utf-8"))


def _named_results(
    results: EvaluationResult | Sequence[EvaluationResult], names: Sequence[str] | None, comparison: Comparison | None
) -> dict[str, EvaluationResult]:
    """Return each result by its name; by default the names are those of the comparison."""
    if comparison is not None and not isinstance(comparison, Comparison):
        raise DataError(f"comparison must be a Comparison, as kgeval.compare returns; got {comparison!r}")
    if names is None and comparison is not None:
        names = comparison.names
    named = name_results(results, names)
    if comparison is not None:
        _check_comparison(comparison, list(named.values()), list(named))
    return named


def _check_comparison(comparison: Comparison, results: Sequence[EvaluationResult], names: Sequence[str]) -> None:
    """Raise a DataError unless the comparison is about these results under these names."""
    if sorted(comparison.names) != sorted(names):
        raise DataError(
            f"the comparison is between {', '.join(comparison.names)}, but the results have the names "
            f"{', '.join(names)}; use the same names for both"
        )
    compared = dict(zip(comparison.names, comparison.results))
    for result, name in zip(results, names):
        if not have_same_ranks(compared[name], result):
            raise DataError(
                f"the result {name!r} is not the one that was compared under this name; pass the compared results, "
                "each with its name"
            )


def _plotly_js() -> str:
    """Return the code of plotly.js, which the Python package plotly ships.

    Versions before `MIN_PLOTLY` ship a plotly.js that loads an image at the start. The content policy of the page
    forbids this.
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
    """Return the page: the template with each @@NAME@@ replaced, in one pass, so that inserted text is not replaced."""
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
    """Return code with line ends ``\\n``, as a browser reads it before it computes the hash."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def content_policy(scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy under which only these inline scripts run and nothing is loaded.

    Inline styles are allowed: plotly.js sets the style of every element that it draws, and hashes cannot cover these.

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
        NaN and infinity are errors.

    Examples
    --------
    >>> print(embedded_json(["</script>", "\u2028&"]))
    ["\u003c/script\u003e","\u2028\u0026"]
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # in ASCII: U+2028 and lone surrogates are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
