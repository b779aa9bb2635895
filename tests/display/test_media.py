"""A table in every medium: what each writes is read back, and is the same everywhere."""

import csv
import html
import io
import json
import math
import random
import re
from dataclasses import replace

import pytest

from kgeval.base.terminal import Screen, width_of
from kgeval.base.wording import signed, written
from kgeval.display.html import Markup
from kgeval.display.html_tables import html_table
from kgeval.display.media import (
    FORMATS,
    TEXT_WIDTH,
    drawn,
    latex_table,
    latex_width,
    markdown_table,
    narrow_markdown,
    text_table,
)
from kgeval.display.table import BOLD, Cell, Column, Table
from kgeval.errors import ProtocolError

LABELS = [
    "plain", "a|b", "x\\|y", "end\\", "c&d_e%f#g$h", "{~^}", "=1+1", "[c]", "*", "<i>*x*", "_x_", "a__b", "![i](u)",
    "~~x~~", "&lt;", "東京 é", "\x1b[31mred", "\u202eback", "-2", "(n)",
]  # fmt: skip
LATEX = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^"}
LATEX |= {r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", "$-$": "-"}
LATEX |= {"\\" + c: c for c in "&%$#_{}"}
COMMANDS = re.compile("|".join(map(re.escape, LATEX)))
NUMBERS = ["0.2500", "-0.0312", "1234.6", "-", "inf", "0.0000031", "+0.01", "480"]


def random_table(rng):
    """Labels of all scripts; numbers with or without interval, deviation, mark and bold; perhaps two groups."""
    n = rng.randint(1, 5)
    columns = [Column.of_labels("model", rng.sample(LABELS, n))]
    groups = rng.choice([("", ""), ("A & B", "C_1")])
    for group in groups:
        for heading in rng.sample(["MRR", "hits@10", "MR", "p (Holm)"], rng.randint(1, 3)):
            cells = []
            for _ in range(n):
                text = rng.choice(NUMBERS)
                is_value = text not in ("-", "inf")
                cells.append(
                    Cell(
                        text,
                        rng.choice(["", "[0.2000, 0.3000]", "[-0.5, +1.0]"]) if is_value else "",
                        rng.choice(["", "0.01", "1.5"]) if is_value else "",
                        rng.choice(["", "", "†", "†‡"]) if is_value else "",
                        is_value and rng.random() < 0.3,
                    )
                )
            columns.append(Column(heading, cells, place=1, group=group))
    return Table(columns)


def shown(cell):
    return (cell.text, cell.is_best, cell.mark, cell.deviation, cell.interval)


def parsed(text, bold, mark, deviation):
    """A cell of a number: text, bold, mark, deviation, interval."""
    found = re.fullmatch(rf"(?:{bold}|(\S+?))(?:{mark})?(?:{deviation})?(?: (\[.*\]))?", text)
    best, plain, raised, spread, interval = found.groups()
    return (best or plain, best is not None, raised or "", spread or "", interval or "")


def cells_of(line):
    """The cells of a row of Markdown; a bar after a backslash is text."""
    cells = [""]
    for token in re.findall(r"\\.|[^\\]", line):
        if token == "|":
            cells.append("")
        else:
            cells[-1] += token
    return [cell.strip() for cell in cells[1:-1]]


def from_markdown(text, table):
    lines = [line for line in text.split("\n\n")[0].split("\n") if line.startswith("| ")]
    rows = [cells_of(line) for line in (lines[0], *lines[2:])]
    plain = [[re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell) for cell in row] for row in rows]
    heads, *body = plain
    read = [
        (row[0], *(parsed(cell, r"\*\*(.+?)\*\*", r"<sup>(.+?)</sup>", r" ± (\S+)") for cell in row[1:]))
        for row in body
    ]
    assert heads == [f"{column.group} {column.heading}".strip() for column in table.columns]
    return read


def from_latex(text, table):
    lines = [line.removesuffix(r" \\") for line in text.split("\n") if line.endswith(r" \\")]
    has_groups = any(column.group for column in table.columns)
    rows = [re.split(r"(?<!\\) & ", line) for line in lines[has_groups:]]
    named = [column for column in table.columns if column.group]
    is_turned = len(named) > 1 and len({column.heading for column in named}) == 1  # one metric: groups are headings
    heads = [re.sub(r"^\\multicolumn\{1\}\{c\}\{(.*)\}$", r"\1", head) for head in rows[0]]
    assert [COMMANDS.sub(lambda found: LATEX[found[0]], head) for head in heads] == [
        column.group if column.group and is_turned else column.heading for column in table.columns
    ]
    read = []
    for row in rows[1:]:
        label = COMMANDS.sub(lambda found: LATEX[found[0]], row[0].removeprefix("{}"))
        cells = [cell.replace("$-$", "-").replace(r"\ddag", "‡").replace(r"\dag", "†") for cell in row[1:]]
        cells = [re.sub(r" \{\\scriptsize\\phantom\{\S+\}\}|\\phantom\{\d*\.?\d*\}", "", cell) for cell in cells]
        patterns = (
            r"\\textbf\{(.+?)\}",
            r"\\rlap\{\\textsuperscript\{(.+?)\}\}",
            r" \{\\scriptsize\$\\pm\$(\S+)\}",
        )
        read.append((label, *(parsed(cell, *patterns) for cell in cells)))
    return read


HTML_CELL = re.compile(
    r"([^<]+)(?:<sup>(.+?)</sup>)?(?:<span class=\"spread\"> ± (\S+)</span>)?(?: <small>(.*)</small>)?"
)


def from_html(text, table):
    rows = re.findall(r"<tr><th scope=\"row\"><bdi(?: title=\".*?\")?>(.*?)</bdi></th>(.*?)</tr>", text)
    read = []
    for label, rest in rows:
        cells = []
        for classes, inner in re.findall(r"<td class=\"number( best)?\"[^>]*>(.*?)</td>", rest):
            value, mark, spread, interval = re.fullmatch(
                r"([^<]+)(?:<sup>(.+?)</sup>)?(?:<span class=\"spread\"> ± (\S+)</span>)?(?: <small>(.*)</small>)?",
                inner,
            ).groups()
            cells.append((value, classes == " best", mark or "", spread or "", interval or ""))
        read.append((html.unescape(label.replace("<wbr>", "")), *cells))
    return read


def from_text(text, table):
    """Of every row the label, and the words after it: number, star, marks; plus-minus sign; interval."""
    read = []
    for place, line in enumerate(text.split("\n")[1:]):
        label = table.columns[0].cells[place].text
        assert line.startswith(label)
        found = re.findall(r" ([^†‡*\s]+)(\*?)([†‡]*)(?: +± (\S+))?(?: +(\[\S+ \S+\]))?(?= |$)", line[len(label) :])
        read.append((label, *((text, star == "*", mark, spread, ends) for text, star, mark, spread, ends in found)))
    return read


@pytest.mark.parametrize("seed", range(60))
def test_every_medium_says_the_same(seed):
    """Label, number, sign, mark, deviation, interval and bold of each cell are read back from each medium."""
    table = random_table(random.Random(seed))
    wanted = [(labels.text, *map(shown, cells)) for labels, *cells in zip(*(column.cells for column in table.columns))]
    assert from_text(text_table(table), table) == wanted
    assert from_markdown(markdown_table(table), table) == wanted
    assert from_latex(latex_table(table), table) == wanted
    assert from_html(html_table(table), table) == wanted


def random_number(rng):
    """Of common size, tiny, huge, 0, a copy of another one, below rounding errors, or missing."""
    size = rng.choice([1.0, 1.0, 1.0, 1e-6, 1e5, 0.0, 1e-14])
    return rng.choice([rng.uniform(-1, 1) * size, 0.25, math.nan])


def computed_table(rng):
    """One to 15 models; values and differences in MR, MRR and AMRI, perhaps in two groups, with decisions and gaps."""
    names = [f"{label} {i}" for i, label in enumerate(rng.choices(LABELS, k=rng.randint(1, 15)))]
    columns = [Column.of_labels("model", names)]
    for group in rng.choice([("",), ("A & B", "C_1")]):
        for metric in rng.sample(["mr", "mrr", "amri"], rng.randint(1, 3)):
            values = [random_number(rng) for _ in names]
            widths = [rng.choice([abs(value) / 3, math.nan]) for value in values]
            rows = [(value, value - width, value + width) for value, width in zip(values, widths)]
            decided = [abs(value) > 1e-12 and rng.random() < 0.5 for value in values]
            reasons = ["no common run" if math.isnan(value) else "" for value in values]
            if rng.random() < 0.5:
                column = Column.of_values(metric.upper(), rows, metric, reasons)
            else:
                column = Column.of_differences(f"{metric} difference", rows, metric, decided)
            marked = [replace(cell, mark=rng.choice(["", "†"]) if cell.text != "-" else "") for cell in column.cells]
            columns.append(replace(column, cells=marked, group=group, key=metric, place=1))
    return Table(columns)


@pytest.mark.parametrize("seed", range(60))
def test_every_medium_shows_the_numbers_of_the_files(seed):
    """CSV and JSON have all digits; every other medium has the text that one rule makes of these numbers."""
    table = computed_table(random.Random(seed))
    wanted = [(labels.text, *map(shown, cells)) for labels, *cells in zip(*(column.cells for column in table.columns))]
    texts = text_table(table), markdown_table(table), latex_table(table), html_table(table)
    for read, text in zip((from_text, from_markdown, from_latex, from_html), texts):
        assert read(text, table) == wanted
    heads, *rows = csv.reader(io.StringIO(drawn(table, "csv"), newline=""))
    records = json.loads(drawn(table, "json"), parse_constant=lambda constant: pytest.fail(constant))
    for column in table.columns[1:]:
        name, is_difference = f"{column.group} {column.key}".strip(), "difference" in column.heading
        digits = {len(cell.text.partition(".")[2]) for cell in column.cells if cell.text != "-"}
        assert len(digits) <= 1
        write = signed if is_difference else written
        for i, cell in enumerate(column.cells):
            ends = [name, f"{name} low", f"{name} high"]
            fields = [rows[i][heads.index(end)] for end in ends]
            numbers = [float(field) if field else math.nan for field in fields]
            assert numbers == pytest.approx(list(cell.numbers), rel=0, abs=0, nan_ok=True)
            assert [records[i][end] for end in ends] == [None if math.isnan(x) else x for x in numbers]
            places = len(cell.text.partition(".")[2])
            assert cell.text == write(numbers[0], places)
            assert not (abs(numbers[0]) >= 1e-12 and float(cell.text.replace(",", "")) == 0.0)
            if cell.interval:
                assert cell.interval == f"[{write(numbers[1], places)}, {write(numbers[2], places)}]"
            if cell.text == "-" and not is_difference:
                assert "no common run" in records[i]["reason"]
                assert "no common run" in rows[i][heads.index("reason")]
    assert [row[0] for row in rows] == [record["model"] for record in records] == [row[0] for row in wanted]


NOTES = [(BOLD, "best of its column, p > 0.05"), ("†‡", "against a|b & 5%"), ("", "one run ± none")]


def test_notes_in_every_medium():
    """Each has the sign that it explains; LaTeX writes p as a formula."""
    table = Table([Column.of_labels("", ["a"])], NOTES)
    assert text_table(table).split("\n")[2:] == [
        "* best of its column, p > 0.05", "†‡ against a|b & 5%", "one run ± none",
    ]  # fmt: skip
    assert markdown_table(table).split("\n\n")[1:] == [
        r"bold: best of its column, p \> 0.05", r"<sup>†‡</sup> against a\|b \& 5%", "one run ± none",
    ]  # fmt: skip
    assert latex_table(table).split("\n")[-4:-1] == [
        r"bold: best of its column, $p > 0.05$\par",
        r"\textsuperscript{\dag\ddag} against a\textbar{}b \& 5\%\par",
        r"one run $\pm$ none\par",
    ]
    assert latex_table(table).split("\n")[-1] == r"\end{minipage}\endgroup\par"
    assert "<li>†‡ against a|b &amp; 5%</li>" in html_table(table)


def test_decimals_stand_one_below_another():
    """With and without a star, a mark and a deviation."""
    cells = [Cell("0.25", deviation="0.01"), Cell("0.50", mark="†", is_best=True), Cell("12.25", deviation="0.10")]
    lines = text_table(Table([Column("x", cells)])).split("\n")
    assert lines == ["             x", " 0.25   ± 0.01", " 0.50*†", "12.25   ± 0.10"]
    styled = text_table(Table([Column("x", cells)]), Screen(has_styles=True)).split("\n")
    assert styled[2] == " \x1b[1m0.50*†\x1b[0m"
    assert [width_of(line) for line in styled] == [14, 14, 7, 14]


def test_decimals_of_latex_stand_one_below_another():
    """A mark takes no width; a missing deviation is invisible, and so are missing digits of a narrow one."""
    cells = [Cell("3.5", deviation="10.2"), Cell("2.5", deviation="0.1"), Cell("9.5", mark="†", is_best=True)]
    lines = latex_table(Table([Column.of_labels("", "abc"), Column("MR", cells)])).split("\n")
    assert lines[6:9] == [
        r"a & 3.5 {\scriptsize$\pm$10.2} \\",
        r"b & 2.5 {\scriptsize$\pm$\phantom{1}0.1} \\",
        r"c & \textbf{9.5}\rlap{\textsuperscript{\dag}} {\scriptsize\phantom{$\pm$10.2}} \\",
    ]


def test_latex_columns_of_siunitx():
    """Numbers are aligned by the package; bold, marks and gaps stand around them; intervals are left out."""
    cells = [Cell("0.25", "[0.1, 0.4]", "0.01"), Cell("-12.50", mark="†", is_best=True), Cell("-")]
    lines = latex_table(Table([Column.of_labels("model", ["a", "*b", "c"]), Column("MRR", cells)]), siunitx=True)
    assert lines.split("\n")[2:] == [
        r"\begin{tabular}{lS[table-format=-2.2(3), table-space-text-post={\textsuperscript{\dag}}]}",
        r"\toprule",
        r"model & {MRR} \\",
        r"\midrule",
        r"a & 0.25 \pm 0.01 \\",
        r"{}*b & \bfseries -12.50 \textsuperscript{\dag} \\",
        r"c & {-} \\",
        r"\bottomrule",
        r"\end{tabular}\endgroup",
    ]


def test_drawings_are_for_html_alone():
    table = Table([Column.of_labels("", ["a"]), Column("axis", [Cell("", drawing=lambda: Markup("<svg></svg>"))])])
    assert '<td class="drawn"><svg></svg></td>' in html_table(table)
    assert text_table(table) == "\na"
    assert markdown_table(table).endswith("| a |")
    assert r"\begin{tabular}{l}" in latex_table(table)


def test_unknown_medium():
    assert FORMATS == ("table", "json", "csv", "markdown", "latex")
    with pytest.raises(ProtocolError, match="format must be one of .*, 'markdown', 'latex'; got 'html'"):
        drawn(Table([]), "html")


def test_wide_markdown_has_rows_for_each_group():
    """Two groups of two columns: groups of columns while lines are short; else blocks of rows, each named once."""

    def of(name, groups="AB"):
        columns = [
            Column(heading, [Cell(f"{heading} {group}")] * 2, group=name + group)
            for group in groups
            for heading in ("MRR", "MR")
        ]
        return Table([Column.of_labels("model", ["x", "y"]), *columns], [("", "a note")])

    short, wide = of("set "), of("set " * 10)
    assert narrow_markdown(short, "dataset", "% about") == markdown_table(short, "% about")
    assert narrow_markdown(wide, "dataset", "% about").split("\n") == [
        "| dataset | model | MRR | MR |",
        "| --- | --- | ---: | ---: |",
        f"| {'set ' * 10}A | x | MRR A | MR A |",
        "|  | y | MRR A | MR A |",
        f"| {'set ' * 10}B | x | MRR B | MR B |",
        "|  | y | MRR B | MR B |",
        *["", "a note", "", "about"],
    ]
    assert narrow_markdown(of("set ", "A"), "dataset").startswith("| model | MRR | MR |\n")  # one group has no name
    numbers = [[Cell("1", numbers=(1.0,)), Cell("2", numbers=(2.0,))], [Cell("-"), Cell("3", numbers=(3.0,))]]
    groups = zip("AB", numbers)
    sorted_ = Table([
        Column.of_labels("model", ["x" * 120, "y"]),
        *(Column(heading, cells, group=group) for group, cells in groups for heading in ("MR", "n")),
    ])  # fmt: skip
    for lower, wanted in ((True, "xyyx"), (False, "yxyx")):  # a missing number stands last
        rows = narrow_markdown(sorted_, "dataset", lower_is_better=lower).split("\n")[2:]
        assert "".join(row.split(" | ")[1][0] for row in rows) == wanted
    alone = Table([Column.of_labels("model", ["x" * 200]), *of("set ").columns[1::2]])
    assert narrow_markdown(alone, "dataset") == markdown_table(alone)


def test_latex_of_blocks_and_of_wide_tables():
    """A label of a block stands once, with a rule between blocks; a table wider than 345 pt has smaller letters."""
    labels = [Column.of_labels("setting", ["raw", "raw", "filtered"]), Column.of_labels("side", ["s", "o", "s"])]
    column = Column("MRR", [Cell("0.25")] * 3)
    lines = latex_table(Table([*labels, column])).split("\n")
    assert lines[1:] == [
        *[r"\begin{tabular}{llr}", r"\toprule", r"setting & side & MRR \\", r"\midrule", r"raw & s & 0.25 \\"],
        *[r" & o & 0.25 \\", r"\midrule", r"filtered & s & 0.25 \\", r"\bottomrule", r"\end{tabular}"],
    ]
    wide = Table([*labels, *[column] * 10])
    assert r"\begingroup\small\setlength{\tabcolsep}{3pt}" in latex_table(wide)
    assert r"\begingroup\footnotesize" in latex_table(Table([*labels, *[column] * 16]))
    assert latex_width(wide) < TEXT_WIDTH


def test_a_terminal_shows_the_first_label_of_a_block_once():
    """A blank line stands between blocks; labels without repeats, or without labels beside them, stay as they are."""
    beside, numbers = Column.of_labels("model", "xyx"), Column("n", [Cell("1"), Cell("2"), Cell("3")])
    assert text_table(Table([Column.of_labels("set", "aab"), beside])).split("\n") == [
        "set  model", "a    x", "     y", "", "b    x",
    ]  # fmt: skip
    assert text_table(Table([Column.of_labels("set", "aba"), beside])).split("\n")[1:] == ["a    x", "b    y", "a    x"]
    assert text_table(Table([Column.of_labels("set", "aab"), numbers])).split("\n")[1:] == [
        "a    1",
        "a    2",
        "b    3",
    ]
