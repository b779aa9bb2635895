"""`write_benchmark_page`: a benchmark as one HTML page that contains everything it needs and loads nothing.

Users and ``kgeval benchmark --out`` call it. `kgeval.report.benchmark_sections` makes the sections.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from kgeval._version import __version__
from kgeval.base.checks import names_unknown_arguments
from kgeval.base.files import check_page_target, replacing
from kgeval.base.wording import printable
from kgeval.benchmarks.model_benchmark import Benchmark
from kgeval.display.media import frame_records
from kgeval.errors import DataError
from kgeval.report import benchmark_sections as parts
from kgeval.report.page_frame import whole_page


@names_unknown_arguments()
def write_benchmark_page(
    benchmark: Benchmark, path: str | Path, *, overwrite: bool = False, title: str | None = None
) -> None:
    """Write a benchmark as one HTML page that works offline and loads nothing.

    The page starts with the verdict and the table of the primary metric. Then come the differences between the models
    on each dataset, the spread over the seeds, all metrics, all datasets together, and the protocols, tests
    and the table in LaTeX. Tables and charts are HTML and SVG, which need no script. Labels are shown as text, whatever
    characters they contain. The same input gives the same bytes.

    Parameters
    ----------
    benchmark : Benchmark
        As `kgeval.benchmark` returns it.
    path : str or Path
        The file to write; its name ends in ``.html`` or ``.htm``.
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
        The title of the page. By default, or if empty: ``"kgeval benchmark: "`` and the names of the datasets.

    Raises
    ------
    DataError
        If `benchmark` is not a Benchmark, if the name does not end in ``.html`` or ``.htm``, or if the file cannot be
        written.

    Examples
    --------
    >>> import tempfile
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    >>> runs = {("up", 1, "x"): kg.evaluate(lambda s, p, o: o, dataset, progress=False)}
    >>> runs["down", 1, "x"] = kg.evaluate(lambda s, p, o: -o, dataset, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_benchmark_page(kg.benchmark(runs), Path(folder) / "page.html")
    ...     (Path(folder) / "page.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    if not isinstance(benchmark, Benchmark):
        raise DataError(f"expected a Benchmark, as kgeval.benchmark returns it; got {type(benchmark).__name__}")
    check_page_target(path, overwrite)
    if not title or not title.strip():
        title = f"kgeval benchmark: {', '.join(benchmark.datasets)}"
    across = benchmark.across() if len(benchmark.datasets) > 1 else None
    made = [
        ("answer", "Answer", parts.answer(benchmark, title)),
        ("differences", "Differences", parts.differences(benchmark)),
        ("seeds", "Seeds", parts.seeds(benchmark)),
        ("metrics", "Metrics", parts.metrics(benchmark)),
        ("together", "Datasets together", None if across is None else parts.together(benchmark, across)),
        ("background", "Background", parts.background(benchmark, _command(benchmark), __version__)),
    ]
    kept = [(place, name, section) for place, name, section in made if section is not None]
    links, sections = [(place, name) for place, name, _ in kept], [section for *_, section in kept]
    text = whole_page(title, links, sections, _data(benchmark))
    with replacing(path, overwrite) as stream:
        stream.write(text.encode("utf-8"))


def _command(benchmark: Benchmark) -> str:
    """Return the command that makes such a page from saved results."""
    terms = benchmark.terms
    words = ["kgeval benchmark RUN1.kgeval RUN2.kgeval ..."]
    words += [f"--metrics {shlex.quote(printable(','.join(benchmark.keys)))}"]
    words += [f"--baseline {shlex.quote(printable(terms.baseline))}"] if terms.baseline is not None else []
    words += [f"--confidence {terms.confidence:g} --cluster {terms.cluster} --spread {terms.spread}"]
    return " ".join([*words, "-o PAGE.html"])


def _data(benchmark: Benchmark) -> dict[str, Any]:
    """Return the numbers that the page offers as a file."""
    terms = benchmark.terms
    return {
        "verdict": benchmark.verdict.sentence,
        "leaders": {dataset: list(models) for dataset, models in benchmark.verdict.leaders.items()},
        "header": benchmark.header(),
        "metric": benchmark.metric,
        "baseline": terms.baseline,
        "confidence": terms.confidence,
        "spread": terms.spread,
        "table": frame_records(benchmark.table.set_index(["model", "dataset", "metric"])),
        "differences": frame_records(benchmark.differences.set_index(["dataset", "first", "second"])),
        "runs": frame_records(benchmark.runs.set_index(["model", "dataset"])),
    }
