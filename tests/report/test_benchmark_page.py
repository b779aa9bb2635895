"""The page of a benchmark as a file: its tables against the benchmark, its charts, its safety, its errors."""

import math
import re

import benchmark_cases as cases
import numpy as np
import pytest
from page_cases import Reader, rounded

import kgeval as kg
from kgeval.benchmarks.tables import bold_models
from kgeval.display.media import frame_records
from kgeval.errors import DataError
from kgeval.report.benchmark_page import write_benchmark_page

HOSTILE = "<script>alert(1)</script>"
MODELS = {"good": 0.2, HOSTILE: 0.25, "bad": 2.0}
DATASETS = ("toy", "\u202eevil <b>")


def runs_of(models, datasets, seeds):
    """Results of models whose scores are the truth with noise: (model, seed, dataset) -> result."""
    runs = {}
    for place, name in enumerate(datasets):
        rng = np.random.default_rng(place)
        test = rng.integers(0, [20, 2, 20], (50, 3))
        dataset = kg.Dataset.from_arrays(test=test, n_entities=20, n_relations=2, name=name)
        truth = rng.normal(size=(20, 2, 20))
        truth[tuple(test.T)] += 2.0
        for model, noise in models.items():
            for seed in seeds:
                scores = truth + noise * rng.normal(size=truth.shape)
                runs[model, seed, name] = kg.evaluate(lambda s, p, o, t=scores: t[s, p, o], dataset, progress=False)
    return runs


@pytest.fixture(scope="module")
def runs():
    return runs_of(MODELS, DATASETS, (1, 2, 3))


@pytest.fixture(scope="module")
def benchmark(runs):
    return kg.benchmark(runs)


@pytest.fixture(scope="module")
def page(benchmark, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_benchmark_page(benchmark, path)
    return path


@pytest.fixture(scope="module")
def reader(page):
    return Reader(page)


def written_page(benchmark, path, **more):
    write_benchmark_page(benchmark, path, **more)
    return Reader(path)


def classes(cell):
    return (cell[1].get("class") or "").split()


def test_the_verdict_and_the_means_stand_first(reader, benchmark):
    """Each cell has mean, standard deviation and interval of `table`, as text and with more digits."""
    text = "".join(reader.text)
    assert text.index(benchmark.verdict.sentence) < 250
    assert next(iter(reader.tables)) == "means"
    assert reader.heads("means") == ["model", "toy ↑", "\\u202eevil <b> ↑"]
    rows = {row[0][0]: row[1:] for row in reader.rows("means")}
    assert set(rows) == set(MODELS)
    table = benchmark.table.set_index(["model", "dataset", "metric"])
    for model, cells in rows.items():
        for dataset, (text, attributes) in zip(DATASETS, cells):
            row = table.loc[(model, dataset, "mrr")]
            assert text == f"{row['mean']:.4f} ± {row['sd']:.4f}[{row['low']:.4f}, {row['high']:.4f}]"
            assert float(attributes["data-v"]) == pytest.approx(row["mean"], rel=1e-6)


def test_bold_is_what_the_correction_supports(reader, benchmark):
    """The best and what is not told from it; nothing in the metrics that are not tested."""
    for row in reader.rows("means"):
        for dataset, cell in zip(DATASETS, row[1:]):
            assert ("best" in classes(cell)) == (row[0][0] in bold_models(benchmark, dataset))
    assert bold_models(benchmark, "toy") == {"good", HOSTILE}
    others = [cell for name in ("means-2", "means-3") for row in reader.rows(name) for cell in row]
    assert len(others) == 2 * 3 * 3
    assert not [cell for cell in others if "best" in classes(cell)]


def test_nothing_is_bold_where_nothing_is_decided(tmp_path):
    """Two runs of the same noise on a few triples."""
    bench = kg.benchmark(cases.runs_of((12,), ("A", "B"), (1, 2)), metrics="mrr")
    assert set(bench.differences["decision"]) == {"undecided"}
    reader = written_page(bench, tmp_path / "page.html")
    assert not [cell for row in reader.rows("means") for cell in row if "best" in classes(cell)]
    assert "together" not in {attributes.get("id") for _, attributes in reader.elements}


def test_differences_are_those_of_the_benchmark(reader, benchmark):
    """The better mean first; grey if undecided."""
    frame = benchmark.differences
    for place, dataset in enumerate(DATASETS, start=1):
        rows = reader.rows(f"differences-{place}")
        assert len(rows) == 3
        for row in rows:
            first, second = row[0][0].split(" - ")
            found = frame[(frame["dataset"] == dataset) & frame["first"].isin([first, second])]
            (found,) = found[found["second"].isin([first, second])].to_dict("records")
            assert (found["first"], found["second"]) == (first, second)
            assert float(row[2][1]["data-v"]) == pytest.approx(found["difference"], rel=1e-6)
            assert float(row[2][1]["data-v"]) >= 0
            assert float(row[2][1]["data-l"]) == pytest.approx(found["low"], rel=1e-6)
            assert float(row[3][1]["data-v"]) == pytest.approx(found["p_corrected"], rel=1e-6)
            assert ("sure" in classes(row[2])) == (found["better"] != "")


def test_many_models_have_a_matrix(tmp_path):
    """Row - column: each pair twice, with opposite signs; the colours say which is better."""
    runs = {(name, 1, "x"): cases.plain_run_of(24, model, 1) for name, model in zip("abc", "ABC")}
    runs |= {(name, 1, "x"): cases.plain_run_of(24, model, 2) for name, model in zip("de", "AC")}
    bench = kg.benchmark(runs, metrics="mrr")
    rows = written_page(bench, tmp_path / "page.html").rows("differences-1")
    names = [row[0][0] for row in rows]
    values = {
        (name, other): float(cell[1]["data-v"])
        for name, row in zip(names, rows)
        for other, cell in zip(names, row[1:])
        if name != other
    }
    assert len(values) == 20
    for row in bench.differences.to_dict("records"):
        pair = row["first"], row["second"]
        assert values[pair] == pytest.approx(row["difference"], rel=1e-6)
        assert values[pair[::-1]] == -values[pair]
        cell = rows[names.index(pair[0])][1 + names.index(pair[1])]
        kind = "grey" if not row["better"] else "gain" if row["better"] == pair[0] else "loss"
        assert kind in classes(cell)
    assert {"gain", "loss"} <= {name for row in rows for cell in row for name in classes(cell)}


def test_a_baseline_keeps_its_side(runs, tmp_path):
    """Each model - baseline, in the lower-is-better metric too; a dagger marks what differs."""
    bench = kg.benchmark(runs, metrics="mr", baseline="bad")
    reader = written_page(bench, tmp_path / "page.html")
    pairs = [row[0][0] for row in reader.rows("differences-1")]
    assert [pair.partition(" - ")[2] for pair in pairs] == ["bad", "bad"]
    assert "← first better" in reader.heads("differences-1")[1]
    marked = [row[0][0] for row in reader.rows("means") if "†" in row[1][0]]
    assert marked == ["good", HOSTILE] or marked == [HOSTILE, "good"]
    assert "--baseline bad" in "".join(reader.text)


def test_every_run_is_beside_its_mean(reader, benchmark, page):
    """One short line per run and a dot: values in the text, standard error and share of seeds from the table."""
    for place, dataset in enumerate(DATASETS, start=1):
        for row in reader.rows(f"seeds-{place}"):
            found = benchmark.runs[(benchmark.runs["dataset"] == dataset) & (benchmark.runs["model"] == row[0][0])]
            texts = [f"{value:.4f} ({seed})" for seed, value in zip(found["seed"], found["mrr"])]
            assert row[6][0] == ", ".join(texts)
            assert float(row[2][1]["data-v"]) == pytest.approx(found["mrr"].std(ddof=1), rel=1e-6)
            cell = benchmark.table.set_index(["model", "dataset", "metric"]).loc[(row[0][0], dataset, "mrr")]
            assert float(row[3][1]["data-v"]) == pytest.approx(cell["error"], rel=1e-6)
            share = cell["of_seeds"] / (cell["of_seeds"] + cell["of_triples"])
            assert float(row[4][1]["data-v"]) == pytest.approx(share, rel=1e-6)
    html = page.read_text(encoding="utf-8")
    drawn = re.findall(r'<td class="drawn"><svg class="track m\d"[^>]*>(.*?)</svg>', html)
    assert [part.count("<path") for part in drawn] == [1 + 3 + 1] * 6


@pytest.mark.thorough
def test_one_run_says_that_seeds_are_unknown(tmp_path):
    bench = kg.benchmark(runs_of({"a": 0.5, "b": 1.0}, ["x"], (1,)), metrics="mrr")
    reader = written_page(bench, tmp_path / "page.html")
    assert [row[4][0] for row in reader.rows("seeds-1")] == ["-", "-"]
    assert "how much the values vary with the seed is unknown" in "".join(reader.text)
    assert "NaN" not in "".join(reader.text)
    assert "nan" not in reader.script(type="application/json", id="data")


def test_datasets_together(reader, benchmark):
    """Mean ranks, the diagram, and the lines of `across`, which say why there is no test if there is none."""
    across = benchmark.across()
    rows = reader.rows("mean-ranks")
    assert [row[0][0] for row in rows] == list(across.models)
    assert [float(row[1][1]["data-v"]) for row in rows] == across.table["mean_rank"].tolist()
    text = "".join(reader.text)
    for line in across.lines():
        assert line.partition(": ")[2] in text
    assert [a["aria-label"] for _, a in reader.elements if a.get("role") == "img"] == [
        "Mean ranks of the models, best at the left"
    ]
    assert ("critical difference" in text) == (across.nemenyi is not None)


def test_latex_protocols_and_command(reader, benchmark):
    text = "".join(reader.text)
    assert benchmark.to_latex() in text
    assert benchmark.to_markdown() in text
    protocols = next(iter(benchmark.results.values())).protocol
    assert protocols.fingerprint in text
    assert text.count(protocols.describe()) >= 2
    assert "kgeval benchmark RUN1.kgeval RUN2.kgeval ... --metrics mrr,hits@1,hits@10" in text
    assert "--confidence 0.95 --cluster triple --spread pooled -o PAGE.html" in text


def test_the_readme_and_the_pages_have_one_citation(reader, root):
    """The same BibTeX entry, of this version."""
    citation = kg.report.page_parts.citation(kg.__version__)
    assert citation.startswith("@software{kgeval,")
    assert "year = {" in citation
    assert citation in "".join(reader.text)
    assert f"```bibtex\n{citation}\n```" in (root / "README.md").read_text(encoding="utf-8")


def test_all_numbers_are_embedded(reader, benchmark):
    data = reader.data()
    assert data["table"] == rounded(frame_records(benchmark.table.set_index(["model", "dataset", "metric"])))
    assert len(data["differences"]) == 6
    assert [row["seed"] for row in data["runs"]][:3] == [1, 2, 3]
    tests = reader.rows("tests")
    assert len(tests) == 6
    for row, found in zip(tests, benchmark.differences.to_dict("records")):
        for place, name in ((4, "low_95"), (5, "p"), (6, "p_corrected"), (7, "level")):
            assert float(row[place][1]["data-v"]) == pytest.approx(found[name], rel=1e-6)


def test_it_is_safe_and_complete(reader, page):
    """Hostile labels are text; nothing is loaded; each id is there once, and each link leads to one."""
    names = {name for name, _ in reader.elements}
    assert names & {"img", "iframe", "link", "object", "b"} == set()
    assert len(reader.scripts) == 2
    ids = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(set(ids)) == len(ids)
    links = {a["href"] for name, a in reader.elements if name == "a"}
    assert {link[1:] for link in links} <= set(ids)
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert [a for _, a in reader.elements if any(key.startswith("on") for key in a) or "style" in a] == []


def test_runs_without_a_seed(tmp_path):
    """A run without a seed has none in the data of the page, and the seeds of the others are whole numbers."""
    runs = cases.runs_of((24,), ("A", "B"), (1, 2))
    some = {("A", seed, "x"): runs["A", seed, "ring-24"] for seed in (1, 2)} | {("B", "x"): runs["B", 1, "ring-24"]}
    none = {(model, "x"): runs[model, 1, "ring-24"] for model in "AB"}
    for name, given, seeds in (("some", some, [1, 2, None]), ("none", none, [None, None])):
        found = kg.benchmark(given)
        assert found.runs["seed"].tolist() == seeds
        page = written_page(found, tmp_path / f"{name}.html")
        assert [record["seed"] for record in page.data()["runs"]] == seeds
        if name == "some":
            values = {row[0][0]: re.sub(r"0\.\d{4}", "x", row[-1][0]) for row in page.rows("seeds-1")}
            assert values == {"A": "x (1), x (2)", "B": "x"}


@pytest.mark.thorough
def test_the_same_benchmark_gives_the_same_bytes(benchmark, page, runs, tmp_path):
    written_page(benchmark, tmp_path / "a.html")
    written_page(kg.benchmark(runs), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes() == page.read_bytes()


@pytest.mark.thorough
def test_missing_runs_and_one_model(runs, tmp_path):
    """A model without a run on a dataset says so; one model has no differences."""
    kept = {key: result for key, result in runs.items() if key[0] != "bad" or key[2] == "toy"}
    reader = written_page(kg.benchmark(kept, metrics="mrr"), tmp_path / "a.html")
    cells = {row[0][0]: row for row in reader.rows("means")}
    assert cells["bad"][2][0] == "no run"
    assert len(reader.rows("differences-2")) == 1
    alone = {key: result for key, result in runs.items() if key[0] == "good" and key[2] == "toy"}
    reader = written_page(kg.benchmark(alone, metrics="mrr"), tmp_path / "b.html")
    assert "differences-1" not in reader.tables
    assert math.isclose(float(reader.rows("means")[0][1][1]["data-v"]), np.mean([one["mrr"] for one in alone.values()]),
                        rel_tol=1e-6)  # fmt: skip


def test_what_is_refused(benchmark, tmp_path):
    with pytest.raises(DataError, match="expected a Benchmark, as kgeval.benchmark returns it; got int"):
        write_benchmark_page(3, tmp_path / "page.html")
    with pytest.raises(DataError, match="HTML page"):
        write_benchmark_page(benchmark, tmp_path / "page.pdf")
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(DataError, match="exists"):
        write_benchmark_page(benchmark, tmp_path / "page.html")
    assert written_page(benchmark, tmp_path / "page.html", overwrite=True, title="Mine").title == "Mine"
