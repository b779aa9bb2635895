"""Tables for papers, compiled by LaTeX: no box is wider than the text of an article, 345 pt."""

import shutil
import subprocess

import benchmark_cases as cases
import pytest

import kgeval as kg
from kgeval.benchmarks.tables import paper_table
from kgeval.comparison.tables import values_text
from kgeval.display.media import latex_table

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
    """Four datasets keep the primary metric alone; of eight, each is a row."""
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
