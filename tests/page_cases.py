"""Results with hostile labels, and readers of a page: what the tests of the report page share."""

import html.parser
import json

import numpy as np
import pytest

import kgeval as kg
from kgeval.base.wording import printable
from kgeval.report.document import page_data
from kgeval.report.page import page_sections
from kgeval.report.page_cautions import cautions_of
from kgeval.report.page_report import report_of

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "</script>", "\u202eevil",
    "<b>bold</b>", "it's \"quoted\" & 'so'", "<!--<script>", "العربية", "\u2028line", "a\x00\x1b[31m\tb", "\ud800",
    "&lt;i&gt;", "%{x}", "x" * 1000, "",
]  # fmt: skip
RELATION_WORDS = [label for label in HOSTILE if label != "\ud800"]  # pyarrow cannot hold a lone surrogate
NAMES = ["Good", "<b>Mid</b>", "Bad"]
LINK = '<a href="javascript:alert(1)">kind</a>'
N_ENTITIES, N_RELATIONS, N_TEST = 40, 18, 150


def made_results():
    """Three models of falling quality on a random graph whose labels are hostile, with a user's column."""
    rng = np.random.default_rng(11)
    sizes = [N_ENTITIES, N_RELATIONS, N_ENTITIES]
    arrays = {split: rng.integers(0, sizes, (n, 3)) for split, n in (("train", 600), ("valid", 40), ("test", N_TEST))}
    arrays["test"][0], arrays["test"][2] = arrays["train"][0], arrays["test"][1]
    dataset = kg.Dataset.from_arrays(
        **arrays,
        entity_labels=HOSTILE + [f"entity {i}" for i in range(N_ENTITIES - len(HOSTILE))],
        relation_labels=[f"{label} r" for label in RELATION_WORDS] + ["plain", "Plain Too", "/film/film/release_date"],
        name="made </title><script>alert(2)</script>",
    )
    truth = rng.normal(size=sizes)
    for rows in arrays.values():
        truth[tuple(rows.T)] += 1.5
    results = []
    for noise in (0.2, 0.8, 1.6):
        table = truth + rng.normal(size=sizes) * noise
        result = kg.evaluate(lambda s, p, o, table=table: table[s, p, o], dataset, progress=False)
        kinds = np.array([LINK, "\u05d0\u05d1 <i>"])[np.arange(2 * N_TEST) % 3 // 2]
        results.append(result.with_columns({"kind": kinds}))
    return results, dataset


def content(results, names, dataset=None, comparison=None, entity_names=None):
    """The rows of each table of a page under ``"tables"``, with all digits; cautions, notes and differences."""
    report = report_of(results, names, dataset, comparison, entity_names)
    lines = dict(zip(("cautions", "notes"), cautions_of(report))) | {"differences": report.differing}
    words = {name: [printable(line) for line in lines] for name, lines in lines.items()}
    return page_data(page_sections(report, "title", "command")) | words


class Reader(html.parser.HTMLParser):
    """The elements of a page with their attributes, its tables, and the text of each script, style and of the title.

    ``tables`` holds for each table its caption, its heads, and its rows: lists of (text, attributes), one per cell.
    """

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.styles, self.title = [], [], [], ""
        self.tables, self.open, self.text, self.around = {}, [], [], []  # `around`: the tables that are open
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag not in ("meta", "input", "br", "wbr"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((attributes, ""))
        if tag == "style":
            self.styles.append("")
        if tag == "table":
            self.table = {"caption": "", "rows": [], "attributes": attributes}
            self.tables[attributes["data-name"]] = self.table
            self.around.append(self.table)
        if tag == "tr":
            self.table["rows"].append([])
        if tag in ("td", "th"):
            self.table["rows"][-1].append(("", attributes))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "table":
            self.around.pop()
            self.table = self.around[-1] if self.around else None

    def handle_data(self, text):
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = attributes, before + text
        elif inside == "style":
            self.styles[-1] += text
        elif "head" in self.open:
            self.title += text if inside == "title" else ""
        else:
            self.text.append(text)
            if "caption" in self.open:
                self.table["caption"] += text
            elif ("td" in self.open or "th" in self.open) and inside != "title":
                before, attributes = self.table["rows"][-1][-1]
                self.table["rows"][-1][-1] = before + text, attributes

    def rows(self, name):
        """The cells of the body of a table, as (text, attributes), without the rows that open below another row."""
        return [row for row in self.tables[name]["rows"][1:] if "colspan" not in row[0][1]]

    def titles(self, name):
        """The titles of the groups of rows."""
        return [row[0][0] for row in self.tables[name]["rows"] if row[0][1].get("scope") == "rowgroup"]

    def heads(self, name):
        return [text for text, _ in self.tables[name]["rows"][0]]

    def script(self, **wanted):
        return next(text for attributes, text in self.scripts if attributes == wanted)

    def data(self):
        """The embedded JSON, read strictly: NaN and Infinity are no JSON."""
        text = self.script(type="application/json", id="data")
        return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))


def rounded(value):
    """A JSON value whose numbers have seven significant digits, as the page keeps them."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def ranks_of(result, setting="filtered"):
    """(side, relation, realistic rank) of each row, by a loop."""
    rows = result.table.to_dict("records")
    return [(r["side"], r["p"], r[f"better_{setting}"] + 1 + r[f"tied_{setting}"] / 2) for r in rows]


def mean_of(heading, ranks):
    """A metric by its definition."""
    if heading == "MR":
        return sum(ranks) / len(ranks)
    if heading == "MRR":
        return sum(1 / rank for rank in ranks) / len(ranks)
    return sum(rank <= int(heading.partition("@")[2]) for rank in ranks) / len(ranks)
