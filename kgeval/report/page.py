"""`write_page`: writes results as one HTML page that contains everything it needs and loads nothing from a network.

Users and ``kgeval report`` call it. The modules ``page_*`` make the sections of the page from a
`kgeval.report.page_report.Report`, and `kgeval.report.document` makes HTML of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from kgeval._version import __version__
from kgeval.base.checks import counted, cut_label, names_unknown_arguments
from kgeval.base.files import check_page_target, read_text
from kgeval.base.wording import printable
from kgeval.comparison.alignment import mismatches
from kgeval.comparison.comparison import Comparison, compare
from kgeval.comparison.names import name_results
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.report.document import Section, write_document
from kgeval.report.page_answer import answer
from kgeval.report.page_background import background
from kgeval.report.page_distributions import distributions
from kgeval.report.page_metrics import metric_tables, metrics
from kgeval.report.page_relations import relations
from kgeval.report.page_report import Report, report_of
from kgeval.report.page_triples import triples
from kgeval.report.page_where import where
from kgeval.results.evaluation_result import EvaluationResult, have_same_ranks


@names_unknown_arguments()
def write_page(
    results: EvaluationResult | Sequence[EvaluationResult],
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    dataset: Dataset | None = None,
    comparison: Comparison | None = None,
    overwrite: bool = False,
    title: str | None = None,
    entity_names: Mapping[str, str] | str | Path | None = None,
) -> None:
    """Write results as one HTML page that works offline and loads nothing.

    The page starts with the verdict (`kgeval.comparison.verdict.verdict_of`) and the differences between the models.
    Then come the metrics with intervals, where the models differ, the relations, triples, distributions of ranks, and
    the protocol. Tables and charts are HTML and SVG, which need no script. Labels are shown as text, whatever
    characters they contain. The same input gives the same bytes.

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
        The comparison of the results, as `kgeval.compare` returns it. By default, the results are compared with
        the default arguments if they may be compared without an override.
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
        The title of the page. By default, or if empty: ``"kgeval: "`` and the names of the datasets.
    entity_names : mapping of str to str, or path, optional
        Label of an entity -> its name, for labels that say nothing, such as ``"/m/02mjmr"``; or a file with lines of
        label, tab, name, such as ``entity2text.txt``. The page shows name and label.

    Raises
    ------
    DataError
        If `dataset` is not the dataset that was ranked, if `comparison` compares other results or uses other names,
        if the name does not end in ``.html`` or ``.htm``, or if the file cannot be written.
    ProtocolError
        If there is no result, or if `names` does not contain one distinct name per result.

    Examples
    --------
    >>> import tempfile
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(evaluate(lambda s, p, o: o - s, dataset), Path(folder) / "page.html")
    ...     (Path(folder) / "page.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    named = _named_results(results, names, comparison)
    in_order = list(named.values())
    check_page_target(path, overwrite)
    shown_names = _entity_names(entity_names, in_order)
    if comparison is None and len(named) > 1 and not mismatches(in_order, list(named)):
        comparison = compare(named)
    report = report_of(in_order, list(named), dataset, comparison, shown_names)
    datasets = dict.fromkeys(str(result.facts["dataset"]) for result in in_order)
    sections = partial(page_sections, report, command=_command(list(named), dataset is not None))
    write_document(path, overwrite, title, f"kgeval: {', '.join(datasets)}", sections)


def page_sections(report: Report, title: str, command: str) -> list[Section]:
    """Return the sections of the page.

    Parameters
    ----------
    report : Report
    title : str
        The title of the page, which is its first heading.
    command : str
        The command that makes the page again.
    """
    opened, others = metric_tables(report)
    of_metrics = metrics(report, opened, others, _latex(report))
    is_alone = len(report.names) == 1
    return [
        answer(report, title, of_metrics if is_alone else []),
        *([] if is_alone else [Section("metrics", "Metrics", of_metrics)]),
        where(report),
        relations(report),
        triples(report),
        distributions(report),
        background(report, command, __version__),
    ]


def _entity_names(
    names: Mapping[str, str] | str | Path | None, results: Sequence[EvaluationResult]
) -> Mapping[str, str] | None:
    """Return the names of entities: label -> name; raise a DataError if no label is an entity of the results."""
    if names is None:
        return None
    if isinstance(names, (str, Path)):
        names = _read_names(Path(names))
    if not isinstance(names, Mapping):
        raise DataError(f"entity_names must be a mapping {{label: name}} or a file; got {type(names).__name__}")
    for label, name in names.items():
        if not isinstance(label, str) or not isinstance(name, str):
            raise DataError(f"entity_names: expected strings; got {label!r}: {name!r}")
    if not any((result.entities.find(list(names)) >= 0).any() for result in results if names):
        first = cut_label(next(iter(names), ""))
        raise DataError(
            f"entity_names: none of {counted(len(names), 'label')} is an entity of the results, the first is "
            f"{first!r}; expected {{label: name}}, or lines of label TAB name"
        )
    return names


def _read_names(path: Path) -> dict[str, str]:
    """Return the names in a file with ``label TAB name`` on each line; if a label has several names, the first."""
    names: dict[str, str] = {}
    for place, line in enumerate(read_text(path).split("\n"), start=1):
        label, name, *_ = f"{line}\t".split("\t")
        if name.strip():
            names.setdefault(label, name.strip())
        elif line.strip():
            raise DataError(f"{path}, line {place}: expected a label, a tab and a name; got {line[:80]!r}")
    return names


def _command(names: Sequence[str], has_dataset: bool) -> str:
    """Return the command that makes such a page from saved results."""
    files = [f"RUN{i}.kgeval" for i in range(1, len(names) + 1)] if len(names) > 1 else ["RUN.kgeval"]
    given = f" --names {shlex.quote(printable(','.join(names)))}"
    return f"kgeval report {' '.join(files)}{given}{' --dataset FOLDER' if has_dataset else ''} -o PAGE.html"


def _latex(report: Report) -> str:
    """Return the table of metrics as LaTeX; marks of significance need a comparison."""
    if report.comparison is not None:
        return report.comparison.to_latex()
    return "\n\n".join(f"% {printable(name)}\n{one.to_latex()}" for name, one in zip(report.names, report.results))


def _named_results(
    results: EvaluationResult | Sequence[EvaluationResult], names: Sequence[str] | None, comparison: Comparison | None
) -> dict[str, EvaluationResult]:
    """Return a dict from name to result; check that names, results and `comparison` agree.

    If `names` is None, the names are those in `comparison`, or the names of the scorers if there is no comparison.
    """
    if comparison is None:
        return name_results(results, names)
    if not isinstance(comparison, Comparison):
        raise DataError(f"comparison must be a Comparison, as kgeval.compare returns; got {comparison!r}")
    named = name_results(results, comparison.names if names is None else names)
    if sorted(comparison.names) != sorted(named):
        raise DataError(
            f"the comparison is between {', '.join(comparison.names)}, but the results have the names "
            f"{', '.join(named)}; use the same names for both"
        )
    compared = dict(zip(comparison.names, comparison.results))
    for name, result in named.items():
        if not have_same_ranks(compared[name], result):
            raise DataError(
                f"the result named {name!r} is not the result that has this name in the comparison; pass the compared "
                "results, with the same names"
            )
    return named
