"""The table of a benchmark as LaTeX, Markdown, CSV and text: syntax, bold values, marks, labels that need escapes."""

import csv
import io
import itertools
import re

import benchmark_cases as cases
import pytest
from made_results import replaced

import kgeval as kg
from kgeval.base.wording import signed
from kgeval.benchmarks.tables import (
    bold_models,
    marked_models,
    mean_table,
    paper_table,
    protocol_lines,
    table_notes,
)
from kgeval.display.html_tables import plain_notes
from kgeval.display.media import escaped_latex, escaped_markdown, latex_table, text_table
from kgeval.metrics.grammar import display_of


def notes_of(found):
    return plain_notes(table_notes(found))


def whole_latex(found, siunitx=False):
    """The table with all metrics, however wide it is."""
    return latex_table(paper_table(found), "\n".join(protocol_lines(found)), siunitx=siunitx)


HOSTILE = {"A": r"a_b & 50% #1 $x$ \foo", "B": "[B]*{}~^", "C": 'C <1> | "q"'}


def renamed(runs, ending=""):
    """The runs under names that need escapes."""
    return {(HOSTILE[model], seed, name + ending): result for (model, seed, name), result in runs.items()}


@pytest.fixture(scope="module")
def runs():
    return cases.runs_of(sizes=(12, 100))


@pytest.fixture(scope="module")
def bench(runs):
    return kg.benchmark(renamed(runs, " & %_"), metrics="mrr,mr,hits@10")


@pytest.fixture(scope="module")
def against(runs):
    """The other models against the baseline A."""
    return kg.benchmark(renamed(runs, " & %_"), metrics="mrr,mr,hits@10", baseline=HOSTILE["A"])


def cells_of(text):
    """The rows of a LaTeX table: lists of cells, a cell of several columns once for each column; checks the syntax."""
    plain = re.sub(r"\\[{}&%$#_\\]", "", re.sub(r"(?m)^%.*$", "", text).replace("\\\\\n", "\x00"))
    assert plain.count("{") == plain.count("}")
    depth = 0
    for character in plain:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert re.findall(r"\\begin\{(\w+)\}", text) == re.findall(r"\\end\{(\w+)\}", text) == ["tabular", "minipage"]
    assert text.count(r"\begingroup") == text.count(r"\endgroup") >= text.count(r"\tabcolsep")
    assert text.count(r"\sisetup") == text.count("siunitx}")
    rules = [text.index(rule) for rule in (r"\toprule", r"\cmidrule", r"\midrule", r"\bottomrule") if rule in text]
    assert len(rules) >= 3
    assert rules == sorted(rules)
    rows = []
    for line in text.splitlines():
        if not line.endswith(r" \\"):
            continue
        row = []
        for cell in re.split(r"(?<!\\) & ", line.removesuffix(r" \\")):
            several = re.match(r"\\multicolumn\{(\d+)\}\{c\}\{(.*)\}$", cell.strip())
            row += [several[2]] * int(several[1]) if several else [cell]
        rows.append(row)
    return rows


@pytest.mark.light(2)
@pytest.mark.parametrize("siunitx", [False, True])
@pytest.mark.parametrize("fixture", ["bench", "against"])
def test_latex_is_well_formed_with_hostile_names(request, siunitx, fixture):
    """Braces and environments are closed, each row has as many cells as columns, and every label is escaped."""
    text = whole_latex(request.getfixturevalue(fixture), siunitx)
    rows = cells_of(text)
    n_columns = 1 + 2 * 3
    assert [len(row) for row in rows] == [n_columns] * 6
    assert [row[0] for row in rows] == [
        "",
        "model",
        r"a\_b \& 50\% \#1 \$x\$ \textbackslash{}foo",
        r"{}[B]*\{\}\textasciitilde{}\textasciicircum{}",
        r"C \textless{}1\textgreater{} \textbar{} " + '"q"',
        "chance",
    ]
    assert rows[0][1] == rows[0][3] == r"ring-12 \& \%\_"
    headings = ["{MRR}", "{MR}", "{hits@10}"] if siunitx else ["MRR", "MR", "hits@10"]
    assert rows[1][1:] == headings * 2
    assert r"\cmidrule(lr){2-4}\cmidrule(lr){5-7}" in text
    columns = re.search(r"\\begin\{tabular\}\{(.*)\}", text)[1]
    assert columns == "lrrrrrr" if not siunitx else columns.count("S[table-format=") == 6
    lines = text.splitlines()
    assert re.match(
        r"% protocol: ring-12 \(dataset \w{8}\) and ring-100 \(dataset \w{8}\), test; filtered by test, all entities, "
        r"both sides; ties: mean rank \(realistic\); protocol ",
        lines[0],
    )
    assert lines[1] == rf"% needs \usepackage{{booktabs{',siunitx' if siunitx else ''}}}"


def test_latex_cells_hold_mean_and_deviation(bench):
    """All numbers are those of `table`, with the decimals of the metric."""
    plain, aligned = cells_of(whole_latex(bench)), cells_of(whole_latex(bench, siunitx=True))
    table = bench.table.set_index(["model", "dataset", "metric"])
    decimals = {"mrr": 4, "mr": 2, "hits@10": 4}
    for i, model in enumerate(bench.models):
        for j, (dataset, metric) in enumerate((d, m) for d in bench.datasets for m in bench.keys):
            row = table.loc[(model, dataset, metric)]
            mean, sd = (f"{row[name]:.{decimals[metric]}f}" for name in ("mean", "sd"))
            shown = re.sub(r"\\textbf\{([\d.]+)\}", r"\1", plain[2 + i][1 + j])
            assert shown == rf"{mean} {{\scriptsize$\pm${sd}}}"
            assert aligned[2 + i][1 + j].removeprefix(r"\bfseries ") == rf"{mean} \pm {sd}"


def test_bold_is_the_primary_metric_alone_and_only_where_a_model_is_beaten(bench):
    """Bold: the best, and all that the corrected test cannot tell from it, unless that is every model."""
    table = bench.differences
    n_bold = 0
    for j, dataset in enumerate(bench.datasets):
        means = bench.values[dataset]
        best = means.idxmax()
        rows = table[(table["dataset"] == dataset) & (table["better"] == best)]
        beaten = {*rows["first"], *rows["second"]} - {best}
        expected = set(bench.models) - beaten if beaten else set()
        n_bold += bool(expected)
        for text, sign in ((whole_latex(bench), r"\textbf{"), (whole_latex(bench, siunitx=True), r"\bfseries ")):
            rows_of = dict(zip(bench.models, cells_of(text)[2:]))
            assert {model for model, cells in rows_of.items() if cells[1 + 3 * j].startswith(sign)} == expected
            assert not any(sign in cells[1 + 3 * j + k] for cells in rows_of.values() for k in (1, 2))
        lines = bench.to_markdown().splitlines()[2 + 4 * j : 5 + 4 * j]  # three models and chance
        order = means.sort_values(ascending=False).index
        assert [line.split(" | ")[2].startswith("**") for line in lines] == [m in expected for m in order]
    undecided = [note for note in whole_latex(bench).splitlines() if note.startswith("undecided on ring-")]
    assert len(undecided) == (n_bold < 2)
    assert all(
        "no model is significantly worse than the best one in MRR (Holm, 6 tests)\\par" in note for note in undecided
    )
    assert n_bold > 0


def test_a_wide_table_has_the_datasets_below_each_other(bench):
    """Of two datasets and three metrics, all stay; of five with seeds, MRR alone has standard deviations."""
    text = bench.to_latex()
    heading, *rows = cells_of(text)
    assert heading == ["dataset", "model", "MRR", "MR", "hits@10"]
    values = {row[1].removeprefix("{}"): [cell.split(" ")[0] for cell in row[2:]] for row in rows[:4]}
    rows = cells_of(whole_latex(bench))[2:]
    whole = {row[0].removeprefix("{}"): [cell.split(" ")[0] for cell in row[1:]] for row in rows}
    assert values == {model: row[:3] for model, row in whole.items()}
    assert "left out" not in text
    runs = cases.runs_of((24, 30))
    five = kg.benchmark(runs, metrics="mrr,hits@1,hits@3,hits@10,mr").to_latex()
    heading, *rows = cells_of(five)
    assert heading == ["dataset", "model", "MRR", "hits@1", "hits@3", "hits@10", "MR"]
    assert all(r"\pm" in row[2] for row in rows)
    assert not any(r"\pm" in cell for row in rows for cell in row[3:])
    assert "standard deviations: MRR alone\\par" in five
    assert "left out" not in five


def test_a_long_table_has_the_primary_metric_alone():
    """Of four datasets and twelve models, 52 rows would be too many; a comment names the other metrics."""
    runs = {
        (f"{model}{i}", 1, f"ring {n}"): cases.run_of(n, model, 1)
        for n in (12, 13, 14, 15) for model in "ABC" for i in range(4)
    }  # fmt: skip
    found = kg.benchmark(runs, metrics="mrr,mr,hits@10")
    text = found.to_latex()
    rows, said = cells_of(text), "left out for the size of the table: MR and hits@10"
    assert rows[0] == ["", "MRR", "MRR", "MRR", "MRR"]
    assert rows[1] == ["model", "ring 12", "ring 13", "ring 14", "ring 15"]
    assert [row[1] for row in rows[2:]] == [row[1] for row in cells_of(whole_latex(found))[2:]]
    assert text.splitlines()[1] == f"% {said}; all of them: benchmark(metrics=...)"
    assert "lower is better" not in text
    assert "left out" not in found.to_markdown()


def test_many_datasets_stand_below_each_other(runs):
    """Nine datasets and two models: a row each, the best model of each first; of 15 datasets too."""
    many = {(model, seed, f"dataset {i}"): cases.run_of(12 + i, model, seed) for model, seed, i in
            itertools.product("AB", (1, 2), range(9))}  # fmt: skip
    found = kg.benchmark(many, metrics="mrr")
    assert [row[0] for row in cells_of(whole_latex(found))[1:]] == ["model", *found.across().models, "chance"]
    heading, *rows = cells_of(re.sub(r" {\\scriptsize\\phantom{[^ ]*}}", "", found.to_latex()))  # of chance
    assert heading == ["dataset", "model", "MRR"]
    whole = re.sub(r" {\\scriptsize\\phantom{[^ ]*}}", "", whole_latex(found))
    cells = {row[0]: row[1:] for row in cells_of(whole)[2:]}
    wanted = []
    for i, (name, means) in enumerate(found.values.items()):
        order = [*means.sort_values(ascending=False).index, "chance"]
        wanted += [[name if not place else "", model, cells[model][i]] for place, model in enumerate(order)]
    assert rows == wanted
    assert "left out" not in found.to_latex()
    other = kg.benchmark(many, metrics="mrr,hits@1,hits@10").to_latex()
    assert cells_of(other)[0] == ["dataset", "model", "MRR", "hits@1", "hits@10"]


def test_notes_below_the_table(runs, bench):
    notes = [line for line in whole_latex(bench).splitlines() if line.endswith(r"\par")][:-1]
    assert notes[0] == r"mean $\pm$ standard deviation over 3 seeds\par"
    assert notes[1] == r"lower is better in MR\par"
    assert r"all not significantly worse, $p > 0.05$ (Holm, 6 tests; MRR alone is tested)" in notes[2]
    single = {key: result for key, result in runs.items() if key[1] == 1}
    found = kg.benchmark(single, metrics="mrr")
    text = found.to_latex()
    assert "\\footnotesize\none run each\\par\n" in text
    assert r"\pm" not in text
    assert r"\pm" not in found.to_latex(siunitx=True)


def test_marks_of_a_baseline(against):
    """The dagger stands where the corrected test decides, and nothing is bold."""
    table = against.differences
    rows = table[table["better"] != ""].to_dict("records")
    decided = {(row["dataset"], row[place]) for row in rows for place in ("first", "second")}
    decided = {(dataset, model) for dataset, model in decided if model != against.terms.baseline}
    assert 0 < len(decided) < 4
    for siunitx in (False, True):
        text = whole_latex(against, siunitx)
        assert r"\textbf" not in text
        assert r"\bfseries" not in text
        for model, cells in zip(against.models, cells_of(text)[2:]):
            of_metrics = [cells[1 + 3 * j : 4 + 3 * j] for j in range(2)]
            assert not any(r"\dag" in cell for _, *others in of_metrics for cell in others)
            for dataset, (cell, *_) in zip(against.datasets, of_metrics):
                assert (r"\dag" in cell) == ((dataset, model) in decided)
        said = r"\textsuperscript{\dag} differs significantly from a\_b \& 50\% \#1 \$x\$ \textbackslash{}foo in MRR"
        assert rf"{said}, $p \leq 0.05$ (Holm, 4 tests)" in text
    assert against.to_markdown().count("<sup>†</sup>") == len(decided) + 1  # and the note
    assert "not tested" not in against.verdict.sentence


def test_a_missing_value_is_a_dash(runs):
    """B has no run on one dataset, and one run of A is alone on the other."""
    left_out = {("B", "ring-100"): (1, 2, 3), ("A", "ring-100"): (2, 3)}
    some = {key: result for key, result in runs.items() if key[1] not in left_out.get((key[0], key[2]), ())}
    found = kg.benchmark(some, metrics="mrr")
    rows = cells_of(found.to_latex())
    assert rows[3][2].startswith(r"- {\scriptsize\phantom{$\pm$")
    assert f"{found.values.loc['A', 'ring-100']:.4f}" in rows[2][2]
    assert rows[2][2].count(r"\pm") == rows[2][2].count(r"\phantom{$\pm$") == 1  # invisible
    assert cells_of(found.to_latex(siunitx=True))[3][2] == "{-}"
    assert found.to_markdown().splitlines()[3].endswith("| - |")
    said = "one run, tested with the spread of the others"
    assert rf"mean $\pm$ standard deviation over 3 seeds; a model without $\pm$: {said}\par" in found.to_latex()


def test_markdown_has_rows_for_each_dataset(bench):
    """One table with a column for each metric, since one of all six columns would be wider than 120 characters."""
    lines = bench.to_markdown().split("\n\n")[0].splitlines()
    table, width = bench.table.set_index(["model", "dataset", "metric"]), len(bench.models) + 1
    assert lines[:2] == ["| dataset | model | MRR | MR | hits@10 |", "| --- | --- | ---: | ---: | ---: |"]
    assert lines[2].startswith(r"| ring-12 \& %\_ | a_b \& 50% #1 \$x\$ \\foo | ")
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [6] * (2 + 2 * width)
    for place, dataset in enumerate(bench.datasets):
        block = lines[2 + place * width : 2 + (place + 1) * width]
        assert [line.startswith("|  |") for line in block] == [False] + [True] * (width - 1)  # the dataset stands once
        result = next(one for run, one in bench.results.items() if run.dataset == dataset)
        digits = {"mrr": 4, "mr": 2, "hits@10": 4}
        chance = " | ".join(f"{result.chance(metric).value:.{n}f}" for metric, n in digits.items())
        assert block[-1] == f"|  | chance | {chance} |"
        for metric, cell in zip(digits, re.split(r" \| ", block[0].removesuffix(" |"))[2:]):
            row = table.loc[(bench.values[dataset].idxmax(), dataset, metric)]
            assert cell.replace("*", "") == f"{row['mean']:.{digits[metric]}f} ± {row['sd']:.{digits[metric]}f}"


def test_csv_is_the_table_with_full_precision(bench, tmp_path):
    text = bench.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == text
    read = list(csv.DictReader(io.StringIO(text)))
    assert [*read[0]] == [*bench.table.columns]
    for row, wanted in zip(read, bench.table.to_dict("records"), strict=True):
        numbers = {name: value for name, value in wanted.items() if not isinstance(value, str)}
        assert {name: row[name] for name in ("model", "dataset", "metric", "reason")} == {
            name: wanted[name] for name in ("model", "dataset", "metric", "reason")
        }
        assert [float(row[name] or "nan") for name in numbers] == pytest.approx([*numbers.values()], rel=0, nan_ok=True)
    with pytest.raises(kg.DataError, match="exists"):
        bench.to_csv(tmp_path / "table.csv")
    assert bench.to_csv(tmp_path / "table.csv", overwrite=True) == text


def test_text_has_verdict_header_means_and_differences(bench, monkeypatch):
    """All rows at any width; a terminal of 80 columns gets no longer line of the tables."""
    text = str(bench)
    first, *lines = text.partition("\n\n")[0].splitlines()
    assert first == bench.verdict.headline
    assert "; ".join(lines).lower().startswith("; ".join(bench.verdict.remarks).lower())
    assert len(lines) > 1
    for row in bench.table[bench.table["metric"] == "mrr"].to_dict("records"):
        assert f" ± {row['sd']:.4f}" in text
    assert all(f"\n{display_of(metric).heading} " in text for metric in bench.keys)  # a table each
    for row in bench.differences.to_dict("records"):
        assert f"{signed(row['difference'])} [{signed(row['low'])}, {signed(row['high'])}]" in text
    monkeypatch.setenv("COLUMNS", "80")
    narrow = repr(bench)
    assert max(map(len, narrow.splitlines())) <= 80
    assert all(f"{value:.4f}" in narrow for value in bench.values.to_numpy().ravel())


@pytest.mark.thorough
def test_many_differences_show_those_of_the_best_models(monkeypatch):
    """45 rows of ten models become nine of the best model and a line that says so; of two datasets, a row each."""
    one = cases.run_of(12, "A", 1)
    results = {(f"M{i}", "ring-12"): cases.run_of(12, "ABC"[i % 3], 10 + i) for i in range(10)}
    found = kg.benchmark({**results, ("M0", "ring-12"): one}, metrics="mrr")
    text = str(found)
    assert "36 other differences: --to csv --differences, in Python .differences" in text
    best = found.verdict.leaders["ring-12"][0]
    assert len(re.findall(r"(?m)^M\d - M\d  ", text)) == 9  # one dataset has no column
    assert len(re.findall(rf"(?m)^(?:{best} - M\d|M\d - {best})  ", text)) == 9
    assert len(found.differences) == 45
    others = {(f"M{i}", "ring-20"): cases.run_of(20, "ABC"[i % 3], 10 + i) for i in range(10)}
    both = kg.benchmark({**results, **others}, metrics="mrr")
    pairs = [" - ".join(both.values[name].sort_values(ascending=False).index[:2]) for name in ("ring-12", "ring-20")]
    text = str(both)
    assert re.findall(r"(?m)^ring-\d\d  (M\d - M\d)  ", text) == pairs
    assert "88 other differences: " in text
    many = {**results, **{(f"N{i}", "ring-12"): cases.run_of(12, "ABC"[i % 3], 30 + i) for i in range(5)}}
    text = str(kg.benchmark(many, metrics="mrr"))
    assert len(re.findall(r"(?m)^[MN]\d - [MN]\d  ", text)) == 14  # of one dataset, all of the best model


def test_the_card_of_a_notebook_escapes_and_tells_the_numbers(bench):
    html = bench._repr_html_()
    assert "a_b &amp; 50% #1 $x$ \\foo" in html
    assert "<1>" not in html
    assert f"{bench.values.iloc[0, 0]:.4f}" in html
    assert html.count("<table") == 4  # those of all differences and of all metrics are folded
    first = html[: html.index("<details")]
    assert ("MRR" in first, "hits@10" in first, bench.verdict.headline.partition(":")[0] in first) == (
        True,
        False,
        True,
    )
    assert f"± {bench.table['sd'].iloc[0]:.4f}" in html


def test_the_card_of_one_dataset_has_its_decided_differences_in_bold(runs):
    """As the card of a comparison: cautions stand below both tables, and the column of decisions is folded."""
    found = kg.benchmark({run: result for run, result in runs.items() if run[2] == "ring-100"}, metrics="mrr")
    shown, _, folded = found._repr_html_().partition("<details")
    assert shown.count('<td class="number best"') == (found.differences["better"] != "").sum() + len(
        found.verdict.leaders["ring-100"]
    )
    assert ">better<" not in shown + folded  # all are shown
    assert shown.rindex("</table>") < shown.index(found.notes[0][1:20])


def test_the_header_names_protocol_tests_and_corrections(bench, runs):
    header = "\n".join(bench.header())
    assert "3 models" in header
    assert "2 datasets, 18 runs; paired ranks: ring-12 & %_ 24, ring-100 & %_ 200\n" in header
    assert header.count("test; filtered by test, all entities, both sides; ties: mean rank (realistic); ") == 1
    assert "Student's t (seeds and triples), two-sided; Holm, 6 tests; decided: p ≤ 0.05\n" in header
    assert "95% intervals: other seeds, other triples of this graph" in header
    assert "each interval of a difference is at the level of its test; more: kgeval help benchmark" in header
    text = "\n".join(kg.benchmark(runs, metrics="mrr", override="queries").header())
    assert "not needed: override 'queries', since the results agree in it" in text


def test_many_datasets_are_grouped_in_the_verdict():
    """The sentence groups the datasets that one model wins, and those without a winner."""
    found = kg.benchmark(cases.runs_of(sizes=(12, 24, 27, 60), models=("A", "C"), seeds=(1,)), metrics="mrr")
    sentence = found.verdict.sentence
    assert " of 4 differences" in sentence
    answer, open_on = re.fullmatch(
        r"Best in MRR: A on ([^;]*), p [^;]*; undecided on ([^;,]*)[^;]*; .*", sentence
    ).groups()
    for dataset, leaders in found.verdict.leaders.items():
        assert re.search(rf"{dataset}\b", answer if leaders == ("A",) else open_on)


def test_one_model_has_no_verdict_on_differences():
    found = kg.benchmark(cases.runs_of(sizes=(12,), models=("A",)), metrics="mrr")
    row = found.table.iloc[0]
    assert found.verdict.sentence == (
        f"A: MRR {row['mean']:.4f} [{row['low']:.4f}, {row['high']:.4f}] on ring-12; one model, so there is no "
        "difference to test"
    )
    assert len(found.differences) == 0
    assert "A" in repr(found)
    assert len(found.equivalence(0.1)) == 0
    assert [row[0] for row in cells_of(found.to_latex())] == ["", "model", "A", "chance"]


@pytest.fixture(scope="module")
def partial():
    """Runs of A and B under two datasets; on ring-12, A has ranked one side less in one of its runs' triples."""
    some = cases.runs_of((12, 60), ("A", "B"), (1, 2))
    return {**some, ("A", 1, "ring-12"): cases.run_of(12, "A", 1, rows=range(11))}


def test_overrides_are_named_in_every_output(partial, tmp_path):
    """Each output tells what was overridden, and none calls the dataset undecided or decided."""
    override = "queries,dataset,filter"
    found = kg.benchmark(partial, metrics="mrr", override=override)
    differences = [str(mismatch) for mismatch in found.alignments["ring-12"].overridden]
    assert len(differences) >= 2
    said = f"overridden in ring-12: {'; '.join(differences)}"
    none = "no verdict on ring-12: the results differ, and the benchmark accepted it"
    assert {said, none} <= set(notes_of(found))
    assert not any("ring-12" in note for note in notes_of(found) if note.startswith(("undecided", "bold")))
    assert rf"{escaped_latex(said)}\par" in found.to_latex().splitlines()
    assert rf"{none}\par" in found.to_latex().splitlines()
    assert {escaped_markdown(said), none} <= set(found.to_markdown().splitlines())
    for asked in (False, True):
        rows = list(csv.DictReader(io.StringIO(found.to_csv(differences=asked))))
        assert {row["dataset"]: row["overridden"] for row in rows} == {"ring-12": "; ".join(differences), "ring-60": ""}
    against = kg.benchmark(partial, metrics="mrr", override=override, baseline="A")
    assert {said, none} <= set(notes_of(against))
    assert bold_models(found, "ring-12") == marked_models(against, "ring-12") == set()
    one = {key: result for key, result in partial.items() if key[0] == "A" and key[2] == "ring-12"}
    notes = notes_of(kg.benchmark(one, metrics="mrr", override=override))
    assert (notes[-1].startswith("overridden in ring-12: "), none in notes) == (True, False)


def test_no_statement_about_tests_that_were_not_made(partial):
    """Against a baseline, "no model differs" is said of the datasets with a verdict only."""
    small = {key: result for key, result in partial.items() if key[2] == "ring-12"}
    small |= cases.runs_of((14,), ("A", "B"), (1, 2))
    found = kg.benchmark(small, metrics="mrr", override="queries,dataset,filter", baseline="A", confidence=0.9999)
    assert "no model differs significantly from A in MRR on ring-14 (Holm, 2 tests)" in notes_of(found)


def test_a_dataset_without_a_verdict_is_not_undecided(partial):
    """A model without a value: the table below says why there is no verdict, in place of "undecided"."""
    runs = cases.runs_of((12,), seeds=(1,)) | cases.runs_of((60,), ("A",), (1,))
    of_b = runs["B", 1, "ring-12"]
    runs["B", 1, "ring-12"] = replaced(
        of_b,
        facts={**of_b.facts, "unknown": {"raw": "the file has no raw ranks"}},
        table=of_b.table.assign(better_raw=-1, tied_raw=-1, rivals_raw=-1),
    )
    found = kg.benchmark(runs, metrics="raw.mrr")
    assert found.differences["p"].notna().sum() == 1
    text = found.to_markdown()
    assert "no verdict on ring-12: B has no raw.MRR: the file has no raw ranks" in text.replace("\\", "")
    assert "no verdict on ring-60: only A has a run" in text
    assert "undecided" not in text


def test_markdown_tells_the_protocol_once(bench):
    comments = [line[2:] for line in bench.to_latex().splitlines() if line.startswith("% protocol: ")]
    assert len(comments) == 1
    assert {escaped_markdown(line) for line in comments} <= set(bench.to_markdown().splitlines())


@pytest.mark.thorough
def test_equal_runs_are_told_below_the_table():
    """One file under two seeds has no spread over the seeds."""
    runs = cases.runs_of((12,), ("A", "B"), (1, 2))
    runs["A", 2, "ring-12"] = runs["A", 1, "ring-12"]
    found = kg.benchmark(runs, metrics="mrr")
    said = "ring-12: the ranks of A seed 1 and A seed 2 are all equal; are they the same run?"
    assert said in found.notes
    said = said.partition(";")[0]  # a paper does not ask
    assert rf"{said}\par" in found.to_latex().splitlines()
    assert said in found.to_markdown().splitlines()


def test_a_single_run_beside_several_is_told_everywhere():
    """Its spread is that of the other model; where all models have one run, nothing is said of it."""
    runs = cases.runs_of((12,), ("A",)) | cases.runs_of((12,), ("B",), (1,))
    found = kg.benchmark(runs, metrics="mrr")
    said = "one run, tested with the spread of the others"
    assert (
        rf"mean $\pm$ standard deviation over 3 seeds; a model without $\pm$: {said}\par"
        in found.to_latex().splitlines()
    )
    for text in (found.to_markdown(), text_table(mean_table(found))):
        assert f"mean ± standard deviation over 3 seeds; a model without ±: {said}" in text.splitlines()
    note = "one run of B on ring-12: how much these values vary with the seed is unknown"
    assert f"{note}, tested with the spread of the others" in found.notes
    assert note in kg.benchmark(runs, metrics="mrr", spread="separate").notes
    both = kg.benchmark(cases.runs_of((12,), ("A", "B"), (1,)), metrics="mrr")
    assert "spread of the others" not in f"{both} {both.to_latex()}"
    assert not any("stands for it" in note for note in both.notes)


def test_no_mark_where_the_results_differ():
    """The test decides, but of results whose difference was overridden; there is no verdict on the dataset either."""
    runs = cases.runs_of((100,), ("A", "C"), (1, 2))
    runs["A", 1, "ring-100"] = cases.run_of(100, "A", 1, rows=range(99))
    override = "queries,dataset,filter"
    found = kg.benchmark(runs, metrics="mrr", override=override, baseline="A")
    assert found.differences["better"].tolist() == ["A"]
    assert marked_models(found, "ring-100") == set()
    assert "no model differs" not in found.to_latex()
    assert r"\dag" not in found.to_latex()
