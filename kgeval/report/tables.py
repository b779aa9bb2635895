"""Tables of a result as aligned text, JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_one_of
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset, frame_columns
from kgeval.errors import ProtocolError
from kgeval.metrics import Metric, parse_all
from kgeval.results import EvaluationResult

FORMATS = ("table", "json", "csv", "markdown", "latex")
MOST_LISTED_RANKS = 40
_LATEX = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def printable(label: str) -> str:
    """Return `label` with control and direction characters escaped, safe to print to a terminal.

    Examples
    --------
    >>> print(printable("São Tomé\\x1b[31m"))
    São Tomé\\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in label)


def summary_frame(result: EvaluationResult, metrics: Sequence[str | Metric], ties: str | None) -> pd.DataFrame:
    """Return the summary with the chance level as one more row, its index one column of names."""
    frame = result.summary(metrics, ties)
    chance: dict[str, Any] = {"n": len(result.table)}
    for metric in parse_all(metrics):
        level = result.chance(metric)
        chance[metric.heading] = level.value
        if level.reason:
            frame.attrs["reasons"]["chance", metric.heading] = level.reason
    names = [side if setting == "filtered" else f"raw {side}" for setting, side in frame.index]
    reasons = {(_row_name(key[:-1]), key[-1]): reason for key, reason in frame.attrs["reasons"].items()}
    frame = frame.set_axis(pd.Index(names, name="rows"))
    n_filtered = len(result.sides)
    line = pd.DataFrame([chance], index=pd.Index(["chance"], name="rows"), columns=frame.columns)
    frame = pd.concat([frame.iloc[:n_filtered], line, frame.iloc[n_filtered:]])
    frame.attrs["reasons"] = reasons
    return frame


def _row_name(key: tuple[str, ...]) -> str:
    return key[0] if len(key) == 1 else key[1] if key[0] == "filtered" else f"raw {key[1]}"


def format_frame(frame: pd.DataFrame, style: str) -> str:
    """Return a table of metrics in one of `FORMATS`; numbers at full precision where programs read them.

    Undefined values are ``-`` for people, empty in CSV, null in JSON with the reason beside it.
    """
    check_one_of("format", style, FORMATS, ProtocolError)
    if style == "json":
        return json.dumps(frame_records(frame), indent=2, allow_nan=False, ensure_ascii=False)
    if style == "csv":
        return frame.to_csv().rstrip("\n")
    header = [*(str(name) for name in frame.index.names), *(str(column) for column in frame.columns)]
    rows = [[*_index_parts(label), *(_number(c, v) for c, v in zip(frame.columns, row))] for label, row in _rows(frame)]
    if style == "table":
        numbers = range(len(frame.index.names), len(header))
        return _aligned(header, [[printable(cell) for cell in row] for row in rows], numbers)
    n_labels = len(frame.index.names)
    if style == "markdown":
        rule = ["---"] * n_labels + ["---:"] * (len(header) - n_labels)
        cells = [[printable(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in row] for row in rows]
        return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *cells))
    body = [
        " & ".join("".join(_LATEX.get(c, c) for c in printable(cell)) for cell in row) + r" \\"
        for row in (header, *rows)
    ]
    columns = "l" * n_labels + "r" * (len(header) - n_labels)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            body[0],
            r"\hline",
            *body[1:],
            r"\hline",
            r"\end{tabular}",
        ]
    )


def frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one JSON-able dict per row; undefined values are None, with the reasons under ``"undefined"``."""
    reasons = frame.attrs.get("reasons", {})
    records = []
    for label, row in _rows(frame):
        parts = _index_parts(label)
        record: dict[str, Any] = dict(zip((str(name) for name in frame.index.names), parts))
        undefined = {}
        for column, value in zip(frame.columns, row):
            record[column] = (
                None if not math.isfinite(value) else int(value) if _is_count(column, value) else float(value)
            )
            if not math.isfinite(value):
                undefined[column] = "infinite" if math.isinf(value) else reasons.get((*parts, column), "undefined")
        records.append(record | ({"undefined": undefined} if undefined else {}))
    return records


def listed_ranks(result: EvaluationResult, scores: pd.DataFrame, dataset: Dataset) -> str:
    """Return one line per filtered rank: rank, candidates, score, triple, and the rival that beats it by most."""
    rows = scores.drop(columns="score")
    places = frame_columns("scores", rows)
    listed = pd.DataFrame({name: rows.iloc[:, place].astype(str) for name, place in zip("spo", places)})
    listed["score"] = scores["score"]
    vocabularies = (dataset.entities, dataset.relations, dataset.entities)
    s, p, o = (v.find(listed[name].to_numpy(dtype=object)) for v, name in zip(vocabularies, "spo"))
    known = KnownIndex.of(known_triples(dataset, result.protocol.filter_splits or ()), "object")
    listed = listed[~known.contains(p, s, o)]
    lines = []
    for row in result.labelled().to_dict("records")[:MOST_LISTED_RANKS]:
        asked, given = ("o", "s") if row["side"] == "object" else ("s", "o")
        rivals = listed[(listed[given] == row[given]) & (listed["p"] == row["p"]) & (listed["score"] > row["score"])]
        beaten = ""
        if len(rivals):
            best = rivals.loc[rivals["score"].idxmax()]
            beaten = f"beaten by {printable(best[asked])} {best['score']:.3f}"
        triple = [printable(row[name]) for name in "spo"]
        size = str(row["rivals_filtered"] + 1)
        lines.append([f"{row['rank_filtered']:g}", size, f"{row['score']:.3f}", *triple, beaten])
    header = ["rank", "of", "score", "triple", "", "", ""]
    text = _aligned(header, lines, range(3))
    n_more = len(result.table) - len(lines)
    return text + (f"\n... and {n_more} more" if n_more else "")


def _rows(frame: pd.DataFrame) -> list[tuple[Any, tuple[Any, ...]]]:
    return list(zip(frame.index, frame.itertuples(index=False, name=None)))


def _index_parts(label: Any) -> list[str]:
    return [str(part) for part in label] if isinstance(label, tuple) else [str(label)]


def _is_count(column: str, value: float) -> bool:
    return column == "n" or isinstance(value, (int, np.integer))


def _number(column: str, value: float) -> str:
    if _is_count(column, value):
        return str(int(value))
    if math.isnan(value):
        return "-"
    value = 0.0 if abs(value) < 5e-5 else value  # no -0.0000
    return (
        f"{value:.1f}"
        if abs(value) >= 100
        else f"{value:.2f}"
        if column in ("MR", "GMR", "HMR", "median")
        else f"{value:.4f}"
    )


def _aligned(header: list[str], rows: list[list[str]], numbers: Iterable[int]) -> str:
    """Return lines of cells; the columns `numbers` are right-aligned."""
    right = set(numbers)
    header = ["" if name == "rows" else name for name in header]
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    return "\n".join(
        "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip()
        for line in (header, *rows)
    )
