"""Tables for papers, compiled by LaTeX: no box is wider than the text of an article, 345 pt."""

import re
import shutil
import subprocess

import benchmark_cases as cases
import pandas as pd
import pytest

import kgeval as kg
from kgeval.benchmarks.tables import paper_table
from kgeval.comparison.tables import values_text
from kgeval.display.media import format_frame, latex_table

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning"),
    pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed"),
]
NAMES = ("DistMult", "ComplEx", "RotatE", "TransE", "TuckER")
EIGHT = ("FB15k-237", "WN18RR", "YAGO3-10", "NELL-995", "UMLS", "Kinship", "Nations", "Countries")
DATASETS = {"ring-12": "FB15k-237", "ring-100": "WN18RR"}


def overfull(text, folder):
    """Return the complaints of LaTeX about a table in the text of an article, and in a float."""
    document = "\\documentclass{article}\\usepackage{booktabs,siunitx}\\begin{document}\n%s\n\n%s\n\\end{document}\n"
    float_ = f"\\begin{{table}}\\centering\n{text}\n\\caption{{One}}\\end{{table}}"
    (folder / "table.tex").write_text(document % (text, float_), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "table.tex"]
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False).stdout
    assert "Output written on table.pdf" in printed
    return [line for line in printed.splitlines() if line.startswith(("Overfull", "!"))]


@pytest.fixture(scope="module")
def runs():
    """Five models with three runs on two datasets; names and values are as wide as those of papers."""
    made = {}
    for place, name in enumerate(NAMES):
        for seed in (1, 2, 3):
            for size in (12, 100):
                found = cases.run_of(size, "ABC"[place % 3], 10 * place + seed)
                made[name, seed, DATASETS[f"ring-{size}"]] = found
    return made


def test_one_model_and_all_default_metrics(runs, tmp_path):
    assert overfull(runs[NAMES[0], 1, "WN18RR"].to_latex(), tmp_path) == []


def test_five_models_and_four_metrics(runs, tmp_path):
    results = {name: runs[name, 1, "WN18RR"] for name in NAMES}
    compared = kg.compare(results, metrics="mrr,hits@1,hits@10,mr")
    assert overfull(compared.to_latex(), tmp_path) == []
    assert overfull(values_text(compared, "latex", intervals=True), tmp_path)  # it would be too wide


@pytest.mark.parametrize("siunitx", [False, True])
def test_four_models_two_datasets_and_two_metrics(runs, tmp_path, siunitx):
    some = {run: result for run, result in runs.items() if run[0] != "TuckER"}
    assert overfull(kg.benchmark(some, metrics="mrr,hits@10").to_latex(siunitx=siunitx), tmp_path) == []


@pytest.mark.parametrize("siunitx", [False, True])
@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
@pytest.mark.parametrize("n_datasets", [4, 8])
def test_many_datasets_and_three_metrics(tmp_path, n_datasets, seeds, siunitx):
    """Four datasets stand below each other; of eight, each is a row, with the primary metric alone."""
    runs = {
        (name, seed, dataset): cases.run_of(12 + i, "ABC"[place % 3], 10 * place + seed)
        for place, name in enumerate(NAMES[:4])
        for seed in seeds
        for i, dataset in enumerate(EIGHT[:n_datasets])
    }
    bench = kg.benchmark(runs, metrics="mrr,hits@1,hits@10")
    assert overfull(bench.to_latex(siunitx=siunitx), tmp_path) == []
    whole = latex_table(paper_table(bench), siunitx=siunitx)
    assert overfull(whole, tmp_path)  # it would be too wide


def test_a_table_of_many_groups_fits_and_breaks_across_pages(tmp_path):
    """Sixty long relations with seven metrics and intervals: what does not fit is named, MRR keeps its interval."""
    names = pd.Index([f"/film/film/release_date_s./film/film_release_date/region_{i}" for i in range(60)])
    metrics = ("mrr", "hits@1", "hits@3", "hits@10", "amri", "hits@100", "hits@50")
    values = {f"{name}{end}": 0.5 for name in metrics for end in ("", " low", " high")}
    frame = pd.DataFrame({"n": 1_000, "share": 0.1, **values}, index=names.rename("relation"))
    text = format_frame(frame, "latex", notes=["ranks of one dataset"])
    document = "\\documentclass{article}\\usepackage{booktabs,longtable}\\begin{document}\n%s\n\\end{document}\n"
    (tmp_path / "table.tex").write_text(document % text, encoding="utf-8")
    for _ in range(2):  # a longtable finds its widths in the second run
        command = ["pdflatex", "-interaction=nonstopmode", "table.tex"]
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert "Output written on table.pdf (" in printed.stdout
    assert int(re.search(r"table\.pdf \((\d+) pages", printed.stdout)[1]) > 2
    assert [line for line in printed.stdout.splitlines() if line.startswith(("Overfull", "!"))] == []
    (heads,) = [line for line in text.splitlines() if line.startswith("relation &")]
    assert heads.split(" & ")[:3] == ["relation", "n", "MRR"]
    assert "0.5000 [0.5000, 0.5000]" in text
    (said,) = re.findall(r"not shown: (.*) \(", text)
    assert said.startswith("share, intervals of other columns, hits@50")
