"""The page of a benchmark as a file: its tables against the benchmark, its charts, its safety, its errors."""

import math
import re

import benchmark_cases as cases
import numpy as np
import pytest
from page_cases import Reader

import kgeval as kg
from kgeval.base.wording import printable, with_capital
from kgeval.benchmarks.tables import bold_models
from kgeval.errors import DataError
from kgeval.report.benchmark_page import write_benchmark_page
from kgeval.report.document import CITATION

HOSTILE = "<script>alert(1)</script>"
MODELS = {"good": 0.2, HOSTILE: 0.25, "bad": 2.0}
DATASETS = ("toy", "\u202eevil <b>")


def runs_of(models, datasets, seeds, start=0):
    """Results of models whose scores are the truth with noise: (model, seed, dataset) -> result."""
    runs = {}
    for place, name in enumerate(datasets, start):
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


def by_dataset(rows):
    """The rows of a table whose groups are the two datasets, each with as many rows."""
    half = len(rows) // 2
    assert len(rows) in (6, 8)
    return dict(zip(DATASETS, (rows[:half], rows[half:])))


def mean_ranks(benchmark):
    """Mean rank of each model over the datasets, counted in a loop."""
    columns = [benchmark.values[dataset].to_dict() for dataset in benchmark.datasets]
    return {m: sum(sum(v > one[m] for v in one.values()) for one in columns) for m in benchmark.models}


def test_the_verdict_and_the_means_stand_first(reader, benchmark):
    """Each cell has mean and interval of `table`, as text and with more digits; below are the values of chance."""
    text = "".join(reader.text)
    assert text.index(benchmark.verdict.headline) < 200
    assert len(benchmark.verdict.headline) <= 200
    assert "undecided on" in benchmark.verdict.sentence.lower()
    overall = benchmark.across().answer
    said = f"{with_capital(overall)}.{benchmark.verdict.parts[-1]}."
    assert f"{benchmark.verdict.headline}{said}" in text  # a table has the others
    assert list(reader.tables)[:3] == ["overview", "leads", "means"]
    assert reader.heads("means")[0::2] == ["model", "MRR ↑", "hits@10 ↑"]
    assert reader.heads("means")[3] == "hits@1 ↑"
    assert "Means over 3 runs of each model, with 95% intervals" in reader.tables["means"]["caption"]
    table = benchmark.table.set_index(["model", "dataset", "metric"])
    order = sorted(MODELS, key=mean_ranks(benchmark).get)
    for dataset, rows in by_dataset(reader.rows("means")).items():
        *rows, last = rows
        assert [row[0][0] for row in rows] == order
        one = next(result for run, result in benchmark.results.items() if run.dataset == dataset)
        assert [text for text, _ in last] == ["chance", "", *(f"{one.chance(key).value:.4f}" for key in benchmark.keys)]
        for cells in rows:
            for metric, (text, attributes) in zip(benchmark.keys, cells[2:]):
                row = table.loc[(cells[0][0], dataset, metric)]
                assert text == f"{row['mean']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"
                assert float(attributes["data-v"]) == pytest.approx(row["mean"], rel=1e-6)
                assert float(attributes["data-l"]) == pytest.approx(row["low"], rel=1e-6)


def test_the_leads_are_those_of_the_two_best_on_each_dataset(reader, benchmark, tmp_path):
    """The rows of `differences`; none against a baseline, of one dataset, or of five."""
    for cells, dataset in zip(reader.rows("leads"), benchmark.datasets):
        best = benchmark.values[dataset].sort_values(ascending=False).index[:2]
        rows = benchmark.differences[benchmark.differences["dataset"] == dataset].to_dict("records")
        (row,) = [row for row in rows if {row["first"], row["second"]} == set(best)]
        sign = 1 if row["first"] == best[0] else -1
        assert printable(best[0]) in cells[0][0]
        assert printable(best[1]) in cells[0][0]
        assert cells[1][0].startswith(f"{sign * row['difference']:+.4f} [")
        assert ("best" in classes(cells[1])) == bool(row["better"])
    assert len(reader.rows("leads")) == len(benchmark.datasets) == 2
    apart = {("A", 1, "d"): cases.run_of(12, "A", 1), ("B", 1, "e"): cases.run_of(14, "B", 1)}
    write_benchmark_page(kg.benchmark(apart, metrics="mrr"), tmp_path / "x.html", overwrite=True)
    assert "leads" not in Reader(tmp_path / "x.html").tables
    assert "bold: decided" not in kg.benchmark(apart, metrics="mrr")._repr_html_()
    for datasets, baseline in (((12,), None), ((12, 14), "A"), ((12, 14, 16, 18, 20), None)):
        found = kg.benchmark(cases.runs_of(datasets, ("A", "B"), (1,)), metrics="mrr", baseline=baseline)
        write_benchmark_page(found, tmp_path / "x.html", overwrite=True)
        assert "leads" not in Reader(tmp_path / "x.html").tables


def test_models_have_the_colours_of_their_order(reader, benchmark, page):
    """The model with the best mean rank has the first colour in every table; so has the drawing of its mean."""
    order = sorted(MODELS, key=mean_ranks(benchmark).get)
    html = page.read_text(encoding="utf-8").partition("<main")[2]
    for name in ("means", "overview"):
        table = html[html.index(f'data-name="{name}"') :].partition("</table>")[0]
        places = re.findall(r'<th scope="row"><span class="model"><svg class="swatch m(\d)"', table)
        assert places == ["0", "1", "2"] * (1 if name == "overview" else 2)
        assert [row[0][0] for row in reader.rows(name)][:3] == order
    tracks = re.findall(r'<td class="drawn"><svg class="track m(\d)"', html[: html.index('id="differences"')])
    assert tracks == ["0", "1", "2"] * 2


def test_bold_is_what_the_correction_supports(reader, benchmark):
    """The best and all that the test cannot tell from it, as in LaTeX; nothing in the metrics that are not tested."""
    for dataset, rows in by_dataset(reader.rows("means")).items():
        bold = {row[0][0] for row in rows if "best" in classes(row[2])}
        assert bold == bold_models(benchmark, dataset)
    assert bold_models(benchmark, "toy") == {"good", HOSTILE} == set(benchmark.verdict.leaders["toy"])
    others = [cell for row in reader.rows("means") for cell in row[3:]]
    assert len(others) == 2 * 4 * 2
    assert not [cell for cell in others if "best" in classes(cell)]


def test_nothing_is_bold_where_nothing_is_decided(tmp_path):
    """Two runs of the same noise on a few triples."""
    bench = kg.benchmark(cases.runs_of((12,), ("A", "B"), (1, 2)), metrics="mrr")
    assert set(bench.differences["decision"]) == {"undecided"}
    reader = written_page(bench, tmp_path / "page.html")
    assert not [cell for row in reader.rows("means") for cell in row if "best" in classes(cell)]
    assert "together" not in {attributes.get("id") for _, attributes in reader.elements}


def test_the_first_screen_says_where_the_best_model_gains_and_loses(tmp_path):
    """By relation, over all runs of the two best models; the heading has the difference of their means."""
    runs = {key: result for key, result in runs_of(MODELS, DATASETS[:1], (1, 2)).items() if key[0] != HOSTILE}
    bench = kg.benchmark(runs, metrics="mrr")
    reader = written_page(bench, tmp_path / "page.html")
    means = {model: np.mean([runs[model, seed, "toy"]["mrr"] for seed in (1, 2)]) for model in ("good", "bad")}
    text = "".join(reader.text)
    assert f"toy: good - bad ({means['good'] - means['bad']:+.4f})" in text
    name, difference = (cell[0] for cell in reader.rows("where")[0][:2])
    assert f"good gains most over bad on {name} ({difference.partition(' ')[0]}" in text


def test_differences_are_those_of_the_benchmark(reader, benchmark):
    """The better mean first; the decision in bold."""
    frame = benchmark.differences
    for dataset, rows in by_dataset(reader.rows("differences")).items():
        for row in rows:
            first, second = row[0][0].split(" - ")
            found = frame[(frame["dataset"] == dataset) & frame["first"].isin([first, second])]
            (found,) = found[found["second"].isin([first, second])].to_dict("records")
            assert (found["first"], found["second"]) == (first, second)
            assert float(row[1][1]["data-v"]) == pytest.approx(found["difference"], rel=1e-6)
            assert float(row[1][1]["data-v"]) >= 0
            assert float(row[1][1]["data-l"]) == pytest.approx(found["low"], rel=1e-6)
            assert float(row[3][1]["data-v"]) == pytest.approx(found["p_corrected"], rel=1e-6)
            assert ("best" in classes(row[1])) == (found["better"] != "")
            assert found["better"] in ("", first)
            assert len(row) == 4


def test_of_many_models_the_best_one_is_shown(tmp_path):
    """Its difference from each other model, best mean first; the caption says where all pairs are."""
    runs = {(name, 1, "x"): cases.plain_run_of(24, model, 1) for name, model in zip("abc", "ABC")}
    runs |= {(name, 1, "x"): cases.plain_run_of(24, model, 2) for name, model in zip("de", "AC")}
    bench = kg.benchmark(runs, metrics="mrr")
    reader = written_page(bench, tmp_path / "page.html")
    order = sorted("abcde", key=lambda name: -bench.values.loc[name, "x"])
    found = bench.differences.set_index(["first", "second"])
    of_best = [(order[0], other) for other in order[1:]]
    drawn = reader.rows("differences")
    shown = [tuple(row[0][0].split(" - ")) for row in drawn]
    assert shown == of_best
    assert [float(row[1][1]["data-l"]) for row in drawn] == pytest.approx(found["low"][shown].tolist(), rel=1e-6)
    assert ["best" in classes(row[1]) for row in drawn] == [found["better"][pair] != "" for pair in shown]
    assert "--to csv --differences" in reader.tables["differences"]["caption"]
    assert len(found) == 10


def test_a_baseline_keeps_its_side(runs, tmp_path):
    """Each model - baseline, in the lower-is-better metric too; a dagger marks what differs."""
    bench = kg.benchmark(runs, metrics="mr", baseline="bad")
    reader = written_page(bench, tmp_path / "page.html")
    rows = reader.rows("differences")
    assert [row[0][0].partition(" - ")[2] for row in rows] == ["bad"] * 4
    values = bench.values.loc[["good", HOSTILE]] - bench.values.loc["bad"]
    shown = {(row[0][0].partition(" - ")[0], dataset): row for row, dataset in zip(rows, np.repeat(DATASETS, 2))}
    for (model, dataset), row in shown.items():
        assert float(row[1][1]["data-v"]) == pytest.approx(values.loc[model, dataset], rel=1e-6)
    assert reader.heads("means")[2] == "MR ↓"
    marked = {row[0][0] for row in reader.rows("means")[:3] if "†" in row[2][0]}
    assert marked == {"good", HOSTILE}
    assert "--baseline bad" in "".join(reader.text)


def test_a_better_baseline_is_subtracted_too(runs, tmp_path):
    """The best model as the baseline: negative differences in MRR."""
    bench = kg.benchmark(runs, metrics="mrr", baseline="good")
    rows = written_page(bench, tmp_path / "page.html").rows("differences")
    toy = {row[0][0]: float(row[1][1]["data-v"]) for row in rows[:2]}
    values = bench.values["toy"]
    assert toy["bad - good"] == pytest.approx(values["bad"] - values["good"], rel=1e-6)
    assert toy["bad - good"] < -0.1


def test_an_axis_stands_above_the_drawings(reader, benchmark):
    """Its ends enclose every interval that is drawn."""
    rows = benchmark.table[benchmark.table["metric"] == "mrr"]
    ends = re.fullmatch(r"([\d.]+)([01]\.?\d*)", reader.heads("means")[1])
    low, high = float(ends[1]), float(ends[2])
    assert low <= rows["low"].min() < low + 0.2
    assert high >= rows["high"].max() > high - 0.2


@pytest.mark.thorough
def test_one_run_says_that_seeds_are_unknown(tmp_path):
    """There is no spread to show."""
    bench = kg.benchmark(runs_of({"a": 0.5, "b": 1.0}, ["x"], (1,)), metrics="mrr")
    reader = written_page(bench, tmp_path / "page.html")
    assert "how much the values vary with the seed is unknown" in "".join(reader.text)
    assert "NaN" not in "".join(reader.text)
    assert "nan" not in reader.script(type="application/json", id="data")


def test_datasets_together(reader, benchmark):
    """Values and mean ranks, and why there is no test."""
    across = benchmark.across()
    *rows, (name, *levels, none) = reader.rows("overview")
    assert [row[0][0] for row in rows] == list(across.models)
    results = {run.dataset: result for run, result in benchmark.results.items()}
    assert [name[0], *(cell[0] for cell in levels), none[0]] == [
        "chance", *(f"{results[dataset].chance('mrr').value:.4f}" for dataset in DATASETS), "",
    ]  # fmt: skip
    table = benchmark.table.set_index(["model", "dataset", "metric"])
    for (model, *_), *cells, rank in rows:
        for dataset, cell in zip(DATASETS, cells, strict=True):
            of_model = table.loc[(model, dataset, "mrr")]
            assert cell[0] == f"{of_model['mean']:.4f} ± {of_model['sd']:.4f}"
            assert ("best" in classes(cell)) == (model in bold_models(benchmark, dataset))
        assert float(rank[1]["data-v"]) == across.table.set_index("model").loc[model, "mean_rank"]
    text = "".join(reader.text)
    assert across.nemenyi is None
    assert across.notes
    for note in across.notes:
        assert note in text


def test_tests_over_datasets_are_shown(tmp_path):
    """Eight datasets: the lines of `across`."""
    bench = kg.benchmark(cases.runs_of(range(20, 36, 2), seeds=(1,)), metrics="mrr")
    text, across = "".join(written_page(bench, tmp_path / "page.html").text), bench.across()
    assert across.friedman.p_value <= 0.05
    assert (across.pairs["better"] != "undecided").any()
    section = text[text.index("Datasets together", 100) : text.index("Protocol of each dataset")]
    assert [line for line in across.lines()[1:] if line not in section] == []


def test_where_the_best_model_gains_and_loses(reader, tmp_path):
    """Best against second, or against the baseline, over all runs: the differences of `by`, largest part first."""
    against = written_page(
        kg.benchmark(runs_of(MODELS, DATASETS[:1], (1, 2)), baseline="bad"), tmp_path / "against.html"
    )
    assert "toy: good - bad (+" in "".join(against.text)
    runs = runs_of({"good": 0.2, "bad": 2.0}, DATASETS, (1, 2, 3))
    runs |= runs_of({"good": 0.2, "bad": 0.23}, ("turned", "close"), (1, 2, 3, 4), start=8)
    benchmark = kg.benchmark(runs)
    assert [*map(len, benchmark.verdict.leaders.values())] == [1, 1, 2, 2]
    reader = written_page(benchmark, tmp_path / "page.html")
    rows, found, losses = reader.rows("where"), [], []
    column = reader.heads("leads").index("largest loss")
    for dataset in benchmark.datasets:
        frame = benchmark.by("relation", dataset, *benchmark.values[dataset].sort_values(ascending=False).index[:2])
        lost = [(name, row) for name, row in frame.iterrows() if row["contribution"] < 0][:1]
        open_ = [", undecided" * (not row["decided"]) for _, row in lost]
        words = [f"{name}{row['difference']:+.4f} over {row['n']} ranks{of}" for (name, row), of in zip(lost, open_)]
        losses.append((words or ["none"])[0])
        for sign in (1, -1):
            of_side = frame[sign * frame["contribution"] > 0]
            found += [(dataset, name, row) for name, row in of_side.iterrows()]
    assert [row[column][0] for row in reader.rows("leads")] == losses
    assert len({*losses}) > 1
    assert len(rows) == len(found) == 8
    for (name, _, difference, contribution, n), (_, label, row) in zip(rows, found):
        assert name[0] == label
        assert [float(difference[1][key]) for key in ("data-v", "data-l", "data-h")] == pytest.approx(
            [row["difference"], row["low_corrected"], row["high_corrected"]], rel=1e-6
        )
        assert float(contribution[1]["data-v"]) == pytest.approx(row["contribution"], rel=1e-6)
        assert int(n[0]) == row["n"]
        assert ("best" in classes(difference)) == bool(row["decided"])
    assert "MRR, means over the runs: the 3 largest contributions" in reader.tables["where"]["caption"]


def test_a_metric_without_contributions_has_no_such_table(tmp_path):
    bench = kg.benchmark(cases.runs_of((12,), ("A", "B"), (1, 2)), metrics="median_rank")
    assert "where" not in written_page(bench, tmp_path / "page.html").tables


def headline_of(runs, tmp_path, **more):
    """The headline of the page of a benchmark, in large type, and the benchmark."""
    bench = kg.benchmark(runs, **more)
    written_page(bench, tmp_path / "page.html", overwrite=True)
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    (found,) = re.findall(r'<p class="verdict"><bdi>(.*?)</bdi>', html)
    return re.sub(r"<.*?>", "", found), bench


def test_the_headline_says_who_by_how_much_and_how_surely(tmp_path):
    """The lead over the second on each dataset, and the largest p-value of the leads."""
    found, bench = headline_of(cases.runs_of((40, 60), ("A", "C")), tmp_path, metrics="mrr")
    rows = bench.differences
    assert set(rows["better"]) == {"A"}
    leads = [
        abs(rows[(rows["dataset"] == name) & (rows["first"] == "A")]["difference"].min()) for name in bench.datasets
    ]
    p_value = rows["p_corrected"].max()
    p_value = "p &lt; 0.0001" if p_value < 0.0001 else f"p ≤ {p_value:.4f}"
    assert (
        found == f"Best in MRR: A on ring-40 (+{leads[0]:.4f} over C) and ring-60 (+{leads[1]:.4f} over C), {p_value}"
    )
    found, bench = headline_of(cases.runs_of((12, 14), ("A", "B"), (1, 2)), tmp_path, metrics="mrr")
    assert set(bench.differences["decision"]) == {"undecided"}
    assert found == "MRR: undecided on ring-12 (A leads) and ring-14 (B leads)"
    assert bench.verdict.remarks[0].startswith("best mean rank over 2 datasets: ")
    runs = cases.runs_of((40, 60), ("A", "C"))
    for run, result in runs.items():
        result.facts["without_copied"] = {"n": 0} if run[2] == "ring-40" else {"n": 8, "mrr": 0.1}
    found, _ = headline_of(runs, tmp_path, metrics="mrr")
    assert found.startswith(f"Best in MRR: A on ring-40 (+{leads[0]:.4f} over C; all may be copied) and ring-60 (+")


def test_the_headline_of_many_models_against_a_baseline_is_short(tmp_path):
    sizes = range(40, 56, 2)
    found, bench = headline_of(cases.runs_of(sizes), tmp_path, metrics="mrr", baseline="C")
    counts = bench.differences["better"].value_counts().to_dict()
    better, worse, undecided = counts["A"] + counts["B"], counts.get("C", 0), counts.get("", 0)
    said = f"MRR against the baseline C: of 16 differences, {better} better, {worse} worse, {undecided} undecided"
    assert (found, better + worse + undecided) == (said, 16)


def test_cautions_are_sorted_by_gravity_and_three_are_open(tmp_path):
    """The same run under two names is graver than one seed; provenance is no caution."""
    runs = {("A", 1, "x"): cases.plain_run_of(24, "A", 1), ("B", 1, "x"): cases.plain_run_of(24, "A", 1)}
    runs["C", 1, "x"] = cases.plain_run_of(24, "C", 1)
    bench = kg.benchmark(runs, metrics="mrr")
    written_page(bench, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = re.findall(r'<li class="caution"><bdi>(.*?)</bdi>', html)
    assert "are they the same run?" in found[0]
    assert found[1].startswith("One run per model and dataset")
    assert len(found) == 3 <= len(bench.notes)


def test_latex_protocols_and_command(reader, benchmark):
    text = "".join(reader.text)
    assert benchmark.to_latex() in text
    protocols = next(iter(benchmark.results.values())).protocol
    assert protocols.fingerprint in text
    assert text.count(protocols.describe()) >= 2
    assert "kgeval benchmark RUN1.kgeval RUN2.kgeval ... --metrics mrr,hits@1,hits@10" in text
    assert "--confidence 0.95 --cluster triple --spread pooled -o PAGE.html" in text


def test_the_readme_and_the_pages_have_one_citation(reader, root):
    """The same BibTeX entry, of this version."""
    citation = CITATION.replace("VERSION", kg.__version__)
    assert citation.startswith("@software{kgeval,")
    assert "year = {" in citation
    assert citation in "".join(reader.text)
    assert f"```bibtex\n{citation}\n```" in (root / "README.md").read_text(encoding="utf-8")


def test_the_tables_are_embedded(reader, benchmark):
    data = reader.data()
    assert set(data) == {"tables"}
    records = data["tables"]["means"]
    assert [record["group"] for record in records] == [printable(one) for one in DATASETS for _ in range(4)]
    means = benchmark.table.set_index(["dataset", "model", "metric"])["mean"]
    assert [record["MRR ↑"] for record in records[:3]] == pytest.approx(
        [means["toy", record["model"], "mrr"] for record in records[:3]], rel=1e-6
    )


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
    """A run without a seed has none on the page, and the seeds of the others are whole numbers."""
    runs = cases.runs_of((24,), ("A", "B"), (1, 2))
    some = {("A", seed, "x"): runs["A", seed, "ring-24"] for seed in (1, 2)} | {("B", "x"): runs["B", 1, "ring-24"]}
    none = {(model, "x"): runs[model, 1, "ring-24"] for model in "AB"}
    for name, given, seeds in (("some", some, [1, 2, None]), ("none", none, [None, None])):
        found = kg.benchmark(given)
        assert found.runs["seed"].tolist() == seeds
        written_page(found, tmp_path / f"{name}.html")


@pytest.mark.thorough
def test_the_same_benchmark_gives_the_same_bytes(benchmark, page, runs, tmp_path):
    written_page(benchmark, tmp_path / "a.html")
    written_page(kg.benchmark(runs), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes() == page.read_bytes()


@pytest.mark.thorough
def test_missing_runs_and_one_model(runs, tmp_path):
    """A model without a run on a dataset has no row there; that is said once. One model has no differences."""
    kept = {key: result for key, result in runs.items() if key[0] != "bad" or key[2] == "toy"}
    reader = written_page(kg.benchmark(kept, metrics="mrr"), tmp_path / "a.html")
    assert [row[0][0] for row in reader.rows("means")].count("bad") == 1
    assert len(reader.rows("means")) == 5 + 2  # with chance
    assert len(reader.rows("differences")) == 3 + 1
    text = "".join(reader.text)
    assert text.count("No run of bad on ") == 1
    assert text.count("No run of bad on \\u202eevil <b>; these values and differences are missing") == 1
    alone = {key: result for key, result in runs.items() if key[0] == "good" and key[2] == "toy"}
    reader = written_page(kg.benchmark(alone, metrics="mrr"), tmp_path / "b.html")
    assert "differences" not in reader.tables
    assert math.isclose(float(reader.rows("means")[0][2][1]["data-v"]), np.mean([one["mrr"] for one in alone.values()]),
                        rel_tol=1e-6)  # fmt: skip


def test_unequal_numbers_of_runs_are_one_column(runs, tmp_path):
    kept = {key: result for key, result in runs.items() if key[0] != "bad" or key[1] == 1}
    reader = written_page(kg.benchmark(kept, metrics="mrr,mr"), tmp_path / "page.html")
    assert reader.heads("means")[2:] == ["MRR ↑", "MR ↓", "runs"]
    counts = {row[0][0]: row[-1][0] for row in reader.rows("means")}
    assert counts == {"good": "3", HOSTILE: "3", "bad": "1", "chance": "-"}


def test_what_is_refused(benchmark, tmp_path):
    with pytest.raises(DataError, match="expected a Benchmark, as kgeval.benchmark returns it; got int"):
        write_benchmark_page(3, tmp_path / "page.html")
    with pytest.raises(DataError, match="HTML page"):
        write_benchmark_page(benchmark, tmp_path / "page.pdf")
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(DataError, match="exists"):
        write_benchmark_page(benchmark, tmp_path / "page.html")
    assert written_page(benchmark, tmp_path / "page.html", overwrite=True, title="Mine").title == "Mine"
