"""The report page as a file: its tables against the library, its safety, its errors; no browser."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
from made_results import like_fb15k237, noted, replaced
from page_cases import HOSTILE, LINK, N_ENTITIES, N_RELATIONS, NAMES, Reader, mean_of, ranks_of, rounded

import kgeval as kg
from kgeval.audit import data_audit
from kgeval.base.wording import shown_label
from kgeval.comparison.comparison import compare
from kgeval.display.table import Column, difference_cell
from kgeval.report import page_triples
from kgeval.report.colours import COLOURS
from kgeval.report.document import CITATION, content_policy, embedded_json
from kgeval.report.page import write_page
from kgeval.results.evaluation_result import audit_of

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


# ---- the tables ----


def texts(cells):
    """What a column shows: texts and intervals."""
    return [f"{cell.text} {cell.interval}".strip() for cell in cells]


def models_of(page):
    """The names of the models, in the order of the page."""
    *models, _ = page.rows("metrics-filtered-both")
    return [row[0][0] for row in models]


def test_the_verdict_stands_first(reader, made):
    """First the first part of `verdict_of`, then the others in smaller type; the first table is best model first."""
    first, *rest = kg.comparison.verdict.verdict_of(dict(zip(NAMES, made[0])), made[2]).parts
    text = "".join(reader.text).strip()
    assert text.index(first) < 250
    assert text.index("; ".join(rest)[1:]) < 500
    kinds = [a.get("class") for tag, a in reader.elements if tag == "p"][:2]
    assert kinds == ["verdict better", "details"]
    assert list(reader.tables)[:3] == ["first", "differences", "metrics-filtered-both"]
    values = {name: sum(1 / rank for *_, rank in ranks_of(result)) / 300 for name, result in zip(NAMES, made[0])}
    shown = [(row[0][0], float(row[1][1]["data-v"])) for row in reader.rows("first")]
    expected = sorted(values.items(), key=lambda item: -item[1])
    assert [name for name, _ in shown] == [name for name, _ in expected]
    assert [value for _, value in shown] == pytest.approx([value for _, value in expected], rel=1e-6)


def test_every_number_of_the_metric_tables_is_shown(reader, made):
    """Values of each setting and side by their definition, with the intervals of the library, as text and in data-v."""
    results = made[0]
    for setting in ("filtered", "raw"):
        for side in ("both", "subject", "object"):
            name = f"metrics-{setting}-{side}"
            heads = [head.split(" ")[0] for head in reader.heads(name)]
            assert heads[:7] == ["model", "MRR", "hits@1", "hits@3", "hits@10", "MR", "AMRI"]
            rows = reader.rows(name)
            assert [row[0][0] for row in rows] == [*NAMES, "chance"]
            for row, result in zip(rows, results):
                ranks = [rank for own, _, rank in ranks_of(result, setting) if side in (own, "both")]
                for heading, (_, attributes) in zip(heads[1:6], row[1:]):
                    assert float(attributes["data-v"]) == pytest.approx(mean_of(heading, ranks), rel=1e-6)
            for place, heading in enumerate(heads[1:6], 1):
                found = [result.interval(f"{setting}.{side}.{heading.lower()}") for result in results]
                shown = [row[place] for row in rows[:3]]
                assert [float(cell[1]["data-l"]) for cell in shown] == pytest.approx([one.low for one in found])
                column = Column.of_values("", [(one.value, one.low, one.high) for one in found], heading.lower())
                assert [text for text, _ in shown] == texts(column.cells)


def test_bold_are_the_leader_and_what_it_cannot_be_told_from(reader, made):
    """In the metrics that were tested; nothing else is bold."""
    comparison = made[2]
    heads = [head.split(" ")[0].lower() for head in reader.heads("metrics-filtered-both")]
    n_bold = 0
    for row, name in zip(reader.rows("metrics-filtered-both"), NAMES):
        for key, (_, attributes) in zip(heads, row):
            is_bold = "best" in (attributes.get("class") or "").split()
            if key not in comparison.keys:
                assert not is_bold
                continue
            worse = {
                other for one in comparison.differences.to_dict("records") if one["metric"] == key
                for other in (one["first"], one["second"]) if one["better"] not in ("", other)
                and one["better"] == comparison.best(key)
            }  # fmt: skip
            assert is_bold == (name not in worse)
            n_bold += is_bold
    assert 3 <= n_bold < 9
    raw = [attributes for row in reader.rows("metrics-raw-both") for _, attributes in row]
    assert not any("best" in (attributes.get("class") or "") for attributes in raw)


def is_marked(cell, kind):
    """Whether a cell has a class."""
    return kind in (cell[1].get("class") or "").split()


@pytest.fixture(scope="module")
def random_page(made, tmp_path_factory):
    """Four random models, none above chance in most metrics: the page, its comparison, and the names."""
    results = []
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(size=(N_ENTITIES, N_RELATIONS, N_ENTITIES))
        results.append(kg.evaluate(lambda s, p, o, noise=noise: noise[s, p, o], made[1], progress=False))
    names = [f"random {i}" for i in range(4)]
    comparison = compare(results, names=names, n_resamples=99)
    path = tmp_path_factory.mktemp("random") / "random.html"
    write_page(results, path, comparison=comparison)
    return Reader(path), comparison, names


@pytest.mark.thorough
def test_a_leader_is_bold_even_if_it_is_not_above_chance(random_page):
    """The bold values of a metric are those of its leaders, so none is alone where nothing is decided."""
    reader, comparison, names = random_page
    heads = [head.split(" ")[0].lower() for head in reader.heads("metrics-filtered-both")]
    rows = reader.rows("metrics-filtered-both")[:4]
    results = dict(zip(comparison.names, comparison.results))
    n_grey = 0
    for place, key in enumerate(heads):
        if key in comparison.keys:
            leaders = kg.comparison.verdict.verdict_of(results, comparison, key).leaders
            assert {name for name, row in zip(names, rows) if is_marked(row[place], "best")} == set(leaders)
            n_grey += sum(is_marked(row[place], "best") and is_marked(row[place], "faint") for row in rows)
    assert n_grey > 0


@pytest.fixture(scope="module")
def close_page(made, tmp_path_factory):
    """Two models and a comparison in which an interval excludes 0 although the corrected test decides nothing."""
    comparison = compare(made[0][:2], names=["one", "two"], n_resamples=99)
    table = comparison.differences.assign(
        low=0.01, high=0.2, difference=0.1, p=0.04, p_corrected=0.2, better="", decision="undecided"
    )
    comparison = replaced(comparison, differences=table)
    path = tmp_path_factory.mktemp("close") / "close.html"
    write_page(made[0][:2], path, comparison=comparison)
    return Reader(path)


@pytest.mark.parametrize(("name", "place"), [("differences", 1), ("tests", -1)])
@pytest.mark.thorough
def test_an_undecided_difference_is_not_bold_whatever_its_interval(close_page, reader, name, place):
    """Holm's method decides, not the interval."""
    cells = [row[place] for row in close_page.rows(name)]
    assert cells
    assert not any(is_marked(cell, "best") for cell in cells)
    assert any(is_marked(row[place], "best") for row in reader.rows(name))


def test_differences_of_relations_are_bold_if_the_corrected_interval_decides(reader, made):
    """In the table of relations, its filter, and the largest gains; the caption says for how many it is corrected."""
    comparison = made[2]
    labels = {shown_label(label): label for label in made[1].relations.labels}
    start = reader.heads("relations").index(next(head for head in reader.heads("relations") if " - " in head))
    pairs = [head.split(" - ") for head in reader.heads("relations") if " - " in head]
    frames = [comparison.by("relation", "mrr", *pair) for pair in pairs]
    n_open = 0
    for row in reader.rows("relations"):
        for frame, cell in zip(frames, row[start:]):
            found = frame.loc[labels[row[0][0]]]
            assert is_marked(cell, "best") == found["decided"]
            n_open += bool(found["low"] * found["high"] > 0 and not found["decided"])
    assert n_open > 0  # the uncorrected interval would have marked these
    for frame, pair in zip(frames, pairs):
        for row in reader.rows(f"gains-{NAMES.index(pair[1])}"):
            if row[0][0] in labels:
                assert is_marked(row[2], "best") == frame.loc[labels[row[0][0]], "decided"]
    bodies = [attributes for tag, attributes in reader.elements if tag == "tbody" and "data-n" in attributes]
    kinds = [attributes.get("data-sure") for attributes in bodies]
    signs = [frames[0].loc[labels[row[0][0]], ["decided", "difference"]] for row in reader.rows("relations")]
    assert kinds == [("first" if gap > 0 else "second") if decided else None for decided, gap in signs]
    for name in ("relations", "gains-1"):
        assert f"corrected for the {N_RELATIONS} relations" in reader.tables[name]["caption"]


@pytest.mark.thorough
def test_a_title_row_of_the_tests_is_as_wide_as_the_table(reader):
    title = next(row for row in reader.tables["tests"]["rows"] if "colspan" in row[0][1])
    assert int(title[0][1]["colspan"]) == len(reader.heads("tests")) > 4


@pytest.mark.thorough
def test_each_model_is_in_an_open_table_of_metrics(made, tmp_path):
    """One model ranks both sides, the other the object side: two tables are open."""
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, made[1], kg.Protocol(sides="object"), progress=False)
    write_page([made[0][0], other], tmp_path / "two.html", names=["one", "two"])
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    shown = text[text.index('id="metrics"') : text.index("Each side, and raw ranks")]
    reader = Reader(tmp_path / "two.html")
    names = [name for name in reader.tables if f'data-name="{name}"' in shown]
    assert names == ["metrics-filtered-both", "metrics-filtered-object"]
    assert {row[0][0] for name in names for row in reader.rows(name)} >= {"one", "two"}


def test_the_forest_shows_the_differences_of_all_pairs(reader, made):
    """The better model first; difference, interval and corrected p as in the table of the comparison."""
    comparison = made[2]
    rows = {frozenset((row["first"], row["second"])): row for row in comparison.differences.to_dict("records")
            if row["metric"] == "mrr"}  # fmt: skip
    values = comparison.values["mrr"]
    shown = reader.rows("differences")
    assert len(shown) == 3
    for cells in shown:
        first, second = cells[0][0].split(" - ")
        row = rows.pop(frozenset((first, second)))
        sign = 1 if row["first"] == first else -1
        assert values[first] >= values[second]
        ends = sorted((sign * row["low"], sign * row["high"]))
        assert float(cells[1][1]["data-v"]) == pytest.approx(sign * row["difference"], rel=1e-6)
        assert float(cells[1][1]["data-l"]) == pytest.approx(ends[0], rel=1e-6)
        cell = difference_cell((sign * row["difference"], *ends), 4, bool(row["better"]))
        assert cells[1][0] == f"{cell.text} {cell.interval}"
        assert float(cells[3][1]["data-v"]) == pytest.approx(row["p_corrected"], rel=1e-6)


@pytest.mark.thorough
def test_five_models_have_a_matrix_in_place_of_ten_pairs(made, tmp_path):
    """Row - column for each two models, the better one in the row; only one pair is detailed."""
    results = [*made[0], *(replaced(result) for result in made[0][:2])]
    names = ["A", "B", "C", "A again", "B again"]
    write_page(results, tmp_path / "five.html", names=names)
    reader = Reader(tmp_path / "five.html")
    rows = reader.rows("differences")
    order = [*(row[0][0] for row in rows), reader.heads("differences")[-1]]
    assert sorted(order) == sorted(names)
    assert reader.heads("differences")[1:] == order[1:]
    mrr = {name: result["mrr"] for name, result in zip(names, results)}
    for i, row in enumerate(rows):
        for j, (text, attributes) in enumerate(row[1:], 1):
            if i >= j:
                assert text == ""
                continue
            expected = mrr[order[i]] - mrr[order[j]]
            assert float(attributes["data-v"]) == pytest.approx(expected, abs=1e-7)
            assert expected >= 0
    assert len([name for name in reader.tables if name.startswith("gains-")]) == 1


def test_gains_and_losses_and_the_rest_add_up(reader, made):
    """The 6 largest gains, the 6 largest losses, the others together; the sum is the difference."""
    comparison = made[2]
    best, second = (row[0][0] for row in reader.rows("first")[:2])
    frame = comparison.by("relation", "mrr", best, second)["contribution"]
    rows = reader.rows(f"gains-{NAMES.index(second)}")
    values = [float(row[3][1]["data-v"]) for row in rows]
    won = sorted((value for value in frame if value > 0), reverse=True)
    lost = sorted(value for value in frame if value < 0)
    n_rest = len(frame) - len(won[:6]) - len(lost[:6])
    expected = [*won[:6], *lost[:6], *([frame.sum() - sum(won[:6]) - sum(lost[:6])] if n_rest else [])]
    assert values == pytest.approx([*expected, frame.sum()], abs=1e-6)
    assert frame.sum() == pytest.approx(made[0][NAMES.index(best)]["mrr"] - made[0][NAMES.index(second)]["mrr"])
    assert [row[0][0] for row in rows if row[0][0].startswith("the other")] == [f"the other {n_rest}"] * bool(n_rest)


def test_the_relations_are_shown(reader, made):
    """Label, ranks, pattern, the value of each model by a loop, differences with intervals."""
    comparison = made[2]
    rows = reader.rows("relations")
    assert len(rows) == N_RELATIONS
    labels = {shown_label(label): p for p, label in enumerate(made[1].relations.labels)}
    pairs = [head.split(" - ") for head in reader.heads("relations") if " - " in head]
    assert len(pairs) == 2
    frames = [comparison.by("relation", "mrr", *pair) for pair in pairs]
    for row in rows:
        p = labels[row[0][0]]
        for result, (_, attributes) in zip(made[0], row[1:]):
            ranks = [rank for _, own, rank in ranks_of(result) if own == p]
            assert float(attributes["data-v"]) == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks), rel=1e-6)
            assert int(float(row[6][1]["data-v"])) == len(ranks)
        for frame, (_, attributes) in zip(frames, row[4:]):
            cell = frame.loc[made[1].relations.labels[p], ["difference", "low", "high"]].tolist()
            assert float(attributes["data-v"]) == pytest.approx(cell[0], abs=1e-7)
    in_order = [made[1].relations.labels[labels[row[0][0]]] for row in rows]
    for place, frame in enumerate(frames, 4):
        found = frame.loc[in_order]
        gaps = list(zip(found["difference"], found["low_corrected"], found["high_corrected"]))
        column = Column.of_differences("", gaps, "mrr", found["decided"].tolist())
        assert [row[place][0] for row in rows] == texts(column.cells)


def test_the_distribution_is_shown(page, made):
    """Of each model a bar for each bin, as high as the share of its ranks that do not tie, which a loop counts."""
    html = page.read_text(encoding="utf-8")
    for model, result in enumerate(made[0]):
        bars = re.findall(
            rf'<rect[^>]*height="([0-9.]+)" class="full-bar m{model}"', html[html.index('id="distributions"') :]
        )
        rows = [row for row in result.table.to_dict("records") if not row["tied_filtered"]]
        ranks = [row["better_filtered"] + 1 for row in rows]
        assert max(ranks) <= 100
        ends = (0, 1, 3, 10, 30, 100)
        counts = [sum(low < rank <= high for rank in ranks) for low, high in zip(ends, ends[1:])]
        heights = [float(bar) for bar in bars[: len(counts)]]
        assert heights == pytest.approx([count * max(heights) / max(counts) for count in counts], abs=0.2)


def test_all_tests_are_shown(reader, made):
    """Pair by pair, the best models first."""
    rows = reader.rows("tests")
    pairs = [(a, b) for a, b in (NAMES[:2], NAMES[::2], NAMES[1:])]
    assert reader.titles("tests") == [f"{a} - {b}" for a, b in pairs]
    found = {(row["first"], row["second"], row["metric"]): row for row in made[2].differences.to_dict("records")}
    table = [found[(*pair, metric)] for pair in pairs for metric in made[2].keys]
    assert len(rows) == len(table) == 9
    for cells, row in zip(rows, table):
        assert float(cells[1][1]["data-v"]) == pytest.approx(row["difference"], rel=1e-6)
        assert float(cells[2][1]["data-v"]) == pytest.approx(row["p_corrected"], rel=1e-6)
        assert cells[-2][0] == f"{row['wins']}/{row['ties']}/{row['losses']}"
        assert cells[-1][0] == (row["better"] or row["decision"])


def test_p_values_are_not_limited_by_the_number_of_swaps(reader, made):
    """999 swaps show no p below 0.001; the bound of their tail does."""
    small = [row["p_corrected"] < 1 / 10_000 for row in made[2].differences.to_dict("records")]
    assert any(small)
    shown = [row[2][0] for row in reader.rows("tests")]
    assert sorted(text.startswith("< 0.0001") for text in shown) == sorted(small)


@pytest.fixture(scope="module")
def small():
    """Results of six triples, two for each of three relations: on both sides, and on the object side."""
    dataset = kg.Dataset.from_arrays(test=[[i, i % 3, (3 * i + 1) % 9] for i in range(6)], n_entities=9, n_relations=3)
    return [
        kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, dataset, kg.Protocol(sides=sides), progress=False)
        for sides in (("subject", "object"), "object")
    ]


def test_mismatched_protocols_have_no_verdict_and_no_bold(small, tmp_path):
    write_page(small, tmp_path / "two.html", names=["one", "two"])
    reader = Reader(tmp_path / "two.html")
    text = "".join(reader.text)
    assert "No verdict on MRR: sides: subject+object in one, object in two" in text
    assert "These results were evaluated differently, so their numbers are not comparable" in text
    assert not [a for tag, a in reader.elements if tag == "td" and "best" in (a.get("class") or "").split()]
    assert reader.heads("relations")[1:] == ["one", "two", "ranks, one", "ranks, two"]
    assert "differences" not in reader.tables


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["raw.mr", "query.ndcg@10", "gmr", "optimistic.mrr", "object.hits@3", "z(mrr)"])
def test_another_first_metric_is_that_of_the_whole_page(made, tmp_path, metric):
    """Verdict, first table and differences have the first compared metric, the best model first."""
    comparison = compare(made[0][:2], names=["one", "two"], metrics=[metric, "mrr"], n_resamples=49)
    write_page(made[0][:2], tmp_path / "two.html", comparison=comparison)
    reader = Reader(tmp_path / "two.html")
    values = dict(zip(["one", "two"], (result[metric] for result in made[0])))
    shown = [(row[0][0], float(row[1][1]["data-v"])) for row in reader.rows("first")]
    assert [name for name, _ in shown] == [comparison.best(metric), *(set(values) - {comparison.best(metric)})]
    assert [value for _, value in shown] == pytest.approx([values[name] for name, _ in shown], rel=1e-6)
    difference = float(reader.rows("differences")[0][1][1]["data-v"])
    assert difference == pytest.approx(shown[0][1] - shown[1][1], rel=1e-4, abs=1e-6)
    assert kg.comparison.verdict.verdict_of(dict(zip(["one", "two"], made[0])), comparison).parts[0] in "".join(
        reader.text
    )


@pytest.mark.thorough
def test_results_that_were_evaluated_alike_are_compared(made, tmp_path):
    """Without a comparison, the default one is made."""
    write_page(made[0][:2], tmp_path / "two.html", names=["one", "two"])
    shown = Reader(tmp_path / "two.html").rows("differences")[0]
    comparison = compare(dict(zip(["one", "two"], made[0])))
    assert float(shown[1][1]["data-v"]) == pytest.approx(comparison.differences["difference"][0], rel=1e-6)
    assert float(shown[3][1]["data-v"]) == pytest.approx(comparison.differences["p_corrected"][0], rel=1e-6)


@pytest.mark.thorough
def test_one_model_is_shown_where_it_is_best_and_worst(small, tmp_path):
    write_page(small[0], tmp_path / "one.html", names="alone")
    reader = Reader(tmp_path / "one.html")
    values = [float(row[2][1]["data-v"]) for row in reader.rows("best-and-worst")]
    frame = small[0].by("relation", metrics="mrr")["mrr"]
    assert frame.nunique() == 3
    assert values == pytest.approx(sorted(frame, reverse=True), rel=1e-6)
    assert "differences" not in reader.tables
    assert [a["id"] for tag, a in reader.elements if tag == "section"][:3] == ["answer", "where", "relations"]


@pytest.mark.thorough
def test_the_best_relations_of_one_model_stand_apart_from_the_worst(made, tmp_path):
    write_page(made[0][0], tmp_path / "one.html", names="alone")
    reader = Reader(tmp_path / "one.html")
    values = [float(row[2][1]["data-v"]) for row in reader.rows("best-and-worst")]
    assert reader.titles("best-and-worst") == ["best", "worst"]
    assert values == sorted(values, reverse=True)
    assert len(values) == 12


def test_a_reason_stands_once_however_many_numbers_it_concerns(tmp_path):
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.ones(len(s)), dataset, progress=False)
    write_page(result, tmp_path / "one.html", names="alone", dataset=dataset)
    reader = Reader(tmp_path / "one.html")
    reason = result.value("amri").reason
    assert sum(reason in text for text in reader.text) == 1
    assert f"AMRI of alone (filtered, both) and 5 more: {reason}" in reader.text
    assert reader.rows("metrics-filtered-both")[0][6][0] == "-"
    assert "No answer has a rival: all other candidates are known answers." in reader.text


def test_filtered_ranks_and_ties_are_explained_below_the_metrics(reader):
    text = "".join(reader.text)
    assert text.index("Filtered ranks leave out rivals that are known answers.") > text.index("Metrics")
    assert "Realistic ties: a positive that ties gets the mean of the ranks that it shares." in text


def test_the_dataset_section_shows_the_audit(reader, data, made):
    """Each finding is a row: kind, relation or split, share, count, example, effect."""
    findings, rows = kg.audit(made[1]).to_dict(kg.audit(made[1]).brief)["findings"], reader.rows("audit")
    assert [row[0][0] for row in rows] == [found["kind"] for found in findings]
    assert [record["count"] for record in data["tables"]["audit"]] == [found["count"] for found in findings]
    assert [int(float(row[3][1]["data-v"])) for row in rows] == [found["count"] for found in findings]
    assert [row[5][0] for row in rows] == [found["effect"] for found in findings]
    assert "reversed pair in train" in {row[0][0] for row in rows}


def test_saved_results_carry_the_audit(tmp_path):
    """Of two saved results, one table with the first finding of each kind; of results without it, how to get it."""
    train = [[i, 0, i + 1] for i in range(60)]
    test = [[i + 1, p, i] for p in (0, 1) for i in range(30)]
    dataset = kg.Dataset.from_arrays(train=train, valid=test[:3], test=test, n_entities=61, n_relations=2, name="leaky")
    results = [kg.evaluate(lambda s, p, o, k=k: np.sin(s + k * o), dataset, progress=False) for k in (2, 3)]
    for i, result in enumerate(results):
        result.save(tmp_path / f"{i}.kgeval")
        result.save(tmp_path / f"{i}-plain.kgeval", details=False)
    loaded, plain = ([kg.load_result(tmp_path / f"{i}{end}.kgeval") for i in range(2)] for end in ("", "-plain"))
    assert audit_of(plain[0]) is None
    assert loaded[0] == results[0]
    all_findings = kg.audit(dataset).findings
    first = all_findings.drop_duplicates(["kind", "split"]).to_dict("records")
    assert 10 < len(first) <= 24
    for shown in (loaded, results, [plain[0], loaded[1]]):  # from the file, or from the dataset in memory
        write_page(shown, tmp_path / "page.html", names=["A", "B"], overwrite=True)
        page = Reader(tmp_path / "page.html")
        rows = page.rows("audit")
        assert [row[0][0] for row in rows] == [found["kind"] for found in first]
        assert [int(float(row[3][1]["data-v"])) for row in rows] == [found["count"] for found in first]
        text = "".join(page.text)
        assert text.count("Audit of the dataset, gravest first, the first finding of a kind") == 1
        assert "leaky: 61 entities, 2 relations; train 60, valid 3, test 60; fingerprint" in text
        assert "kgeval audit FOLDER shows it" not in text
    write_page(plain, tmp_path / "page.html", names=["A", "B"], overwrite=True)
    text = "".join(Reader(tmp_path / "page.html").text)
    assert "These results contain no audit of their dataset: kgeval report ... --dataset FOLDER adds it" in text
    assert "Audit of the dataset, gravest first" not in text


def test_large_datasets_and_damaged_audits(monkeypatch, tmp_path):
    """More than a million triples are not audited when a result is saved; an impossible audit is an error."""
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[1, 0, 0]], n_entities=30, n_relations=1)
    result = kg.evaluate(lambda s, p, o: s - o, dataset, progress=False)
    monkeypatch.setattr(data_audit, "MAX_TRIPLES", 1)
    result.save(tmp_path / "a.kgeval")
    assert audit_of(kg.load_result(tmp_path / "a.kgeval")) is None
    monkeypatch.setattr(data_audit, "MAX_TRIPLES", 2)
    result.save(tmp_path / "b.kgeval")
    stored = audit_of(kg.load_result(tmp_path / "b.kgeval"))
    assert stored["findings"][0]["kind"] == "reversed pair in train"
    for wrong in ({"findings": []}, {**stored, "findings": [{}]}, {**stored, "size": 3}, [stored]):
        replaced(result, audit=wrong).save(tmp_path / "c.kgeval", details=False, overwrite=True)
        with pytest.raises(kg.DataError, match=re.escape("c.kgeval: is damaged: has an impossible 'audit': ")):
            kg.load_result(tmp_path / "c.kgeval")


def test_the_colours_are_those_of_the_plots(reader):
    """One list of colours for pictures and page."""
    style = reader.styles[0]
    found = [re.findall(rf"--model-{i}: (#\w+);", style) for i in range(15)]
    assert [colours[0] for colours in found] == list(COLOURS)
    assert all(len(colours) == 3 and colours[1] == colours[2] for colours in found)


# ---- the text of the page ----


def test_embedded_json_can_hold_no_tag():
    """Signs that end or begin a tag, line separators and lone surrogates stand as escapes, and come back."""
    text = embedded_json({"labels": HOSTILE})
    assert re.search(r"[<>&\u2028\u2029]|[^ -~]", text) is None
    assert json.loads(text) == {"labels": HOSTILE}
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json([float("nan")])


def test_the_page_embeds_its_data(reader, data):
    """The JSON of the page is what the tables hold, with seven significant digits."""
    assert reader.data() == rounded({"tables": data["tables"]})


def test_a_hostile_label_makes_no_element(reader, made, tmp_path):
    """The page has the elements that the same results have with tame labels, attribute by attribute name."""
    allowed = {
        "html", "head", "meta", "title", "style", "body", "a", "header", "div", "nav", "ul", "li", "button", "main",
        "svg", "defs", "pattern", "path", "rect", "section", "h1", "h2", "h3", "p", "bdi", "table", "caption", "thead",
        "tbody", "tr", "th", "td", "span", "details", "summary", "label", "input", "select", "option", "figure",
        "figcaption", "text", "circle", "g", "ol", "strong", "b", "pre", "dl", "dt", "dd", "code", "footer", "script",
    } | {"small", "desc", "wbr"}  # fmt: skip
    assert {tag for tag, _ in reader.elements} <= allowed
    assert len(reader.scripts) == 2
    assert len(reader.styles) == 1
    assert [a for _, a in reader.elements if "style" in a or any(name.startswith("on") for name in a)] == []
    assert reader.title == f"kgeval: {made[1].name}"
    shown = "".join(reader.text)
    assert all(shown_label(f"{label} r") in shown for label in HOSTILE if label != "\ud800")
    assert shown_label(LINK) in shown
    assert "".join(reader.text).replace("\n", "").isprintable()


def test_the_policy_names_script_and_style_by_their_hashes(reader):
    """Hashes are taken here of the very text between the tags; nothing else is allowed."""
    policies = [a["content"] for tag, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy"]
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (reader.script(), reader.styles[0])
    ]
    assert len(policies) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "script-src": f"'sha256-{hashes[0]}'", "style-src": f"'sha256-{hashes[1]}'",
    }  # fmt: skip
    names = [tag for tag, _ in reader.elements]
    assert names.index("meta") < names.index("style") < names.index("script")
    assert content_policy(reader.script(), reader.styles[0]) == policies[0]


def test_the_script_is_small(reader):
    assert len(reader.script().encode()) < 15_000


def test_nothing_is_referred_to(reader):
    """No attribute that loads, opens or sends; links lead within the page."""
    loading = {"src", "srcset", "href", "action", "formaction", "data", "poster", "background", "ping", "xlink:href"}
    found = {(tag, a[name]) for tag, a in reader.elements for name in a if name in loading}
    ids = {a["id"] for _, a in reader.elements if "id" in a}
    assert {tag for tag, _ in found} == {"a"}
    assert {target[:1] for _, target in found} == {"#"}
    assert {target[1:] for _, target in found} <= ids
    fills = {a["fill"] for _, a in reader.elements if (a.get("fill") or "").startswith("url")}
    assert {fill[5:-1] for fill in fills} <= ids
    assert "url(" not in reader.styles[0]
    assert "@import" not in reader.styles[0]
    assert len([a["id"] for _, a in reader.elements if "id" in a]) == len(ids)


def test_the_code_of_the_page_makes_no_html_of_text(reader):
    """Nothing in it reads text as markup or as code, nor asks the network."""
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttp|https?:|import\("
    )
    assert re.findall(forbidden, reader.script()) == []


def test_the_citation_is_that_of_the_readme(reader, root):
    citation = CITATION.replace("VERSION", kg.__version__)
    assert citation in "".join(reader.text)
    assert citation in (root / "README.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_same_results_give_the_same_bytes(made, page, tmp_path):
    """No time stamp, no order of a set; a saved and loaded result gives the same page too."""
    results, dataset, comparison = made
    write_page(results, tmp_path / "again.html", dataset=dataset, comparison=comparison)
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()
    results[0].save(tmp_path / "one.kgeval")
    write_page(results[0], tmp_path / "one.html")
    write_page(kg.load_result(tmp_path / "one.kgeval"), tmp_path / "loaded.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "loaded.html").read_bytes()


@pytest.mark.thorough
def test_a_large_page_is_small_enough(tmp_path):
    """FB15k-237 with three models: at most 1.15 MB, all relations in it."""
    results, dataset = like_fb15k237(3)
    comparison = compare(results, names=["A", "B", "C"], n_resamples=99)
    write_page(results, tmp_path / "large.html", dataset=dataset, comparison=comparison)
    assert (tmp_path / "large.html").stat().st_size <= 1_150_000
    reader = Reader(tmp_path / "large.html")
    assert len(reader.rows("relations")) == 237
    place = reader.heads("relations").index("ranks")
    assert sum(float(row[place][1]["data-v"]) for row in reader.rows("relations")) == 40_932


@pytest.mark.thorough
def test_title_and_names(made, tmp_path):
    """The title is given or made of the dataset's name; names default to the scorers', numbered where they repeat."""
    write_page(made[0][:2], tmp_path / "a.html", title="</title><b>&\u202e")
    reader = Reader(tmp_path / "a.html")
    assert reader.title == "</title><b>&\\u202e"
    scorer = made[0][0].facts["scorer"]
    assert models_of(reader) == [f"{scorer} ({i})" for i in (1, 2)]
    write_page(made[0][0], tmp_path / "b.html", names="one")
    assert models_of(Reader(tmp_path / "b.html")) == ["one"]


@pytest.mark.thorough
def test_entity_names_from_a_mapping_or_a_file(made, tmp_path):
    """Of several names on a line the first; both ways give the same page."""
    names = {"entity 0": "Zero", "entity 1": "One"}
    write_page(made[0][0], tmp_path / "a.html", entity_names=names)
    (tmp_path / "names.txt").write_text("entity 0\tZero\tNought\r\n\nentity 1\tOne\nunknown\tx\n")
    write_page(made[0][0], tmp_path / "b.html", entity_names=tmp_path / "names.txt")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert "Zero (entity 0)" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "entity_names must be a mapping {label: name} or a file; got list"),
        ({"entity 0": 7}, "entity_names: expected strings; got 'entity 0': 7"),
        (
            {"Q1": "one", "Q2": "two"},
            "entity_names: none of 2 labels is an entity of the results, the first is 'Q1'; expected {label: name}, or "
            "lines of label TAB name",
        ),
    ],
)
def test_wrong_entity_names(made, tmp_path, names, message):
    with pytest.raises(kg.DataError) as caught:
        write_page(made[0][0], tmp_path / "a.html", entity_names=names)
    assert str(caught.value) == message
    path = tmp_path / "names.txt"
    path.write_text("entity 0\tZero\nentity 1\n")
    with pytest.raises(kg.DataError, match=r"names.txt, line 2: expected a label, a tab and a name; got 'entity 1'"):
        write_page(made[0][0], tmp_path / "a.html", entity_names=path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"results": []}, "expected at least one result; got none"),
        ({"names": ["a", "b"]}, "names must be 3 different words, one for each result; got ['a', 'b']"),
        ({"names": ["a", "b", "a"]}, "names must be 3 different words, one for each result; got ['a', 'b', 'a']"),
        ({"names": ["a", " ", "c"]}, "names must be 3 different words, one for each result; got ['a', ' ', 'c']"),
        ({"names": ["a", 7, "c"]}, "names must be 3 different words, one for each result; got ['a', 7, 'c']"),
        (
            {"names": ["a", "b", "c"], "comparison": True},
            "the comparison is between Good, <b>Mid</b>, Bad, but the results have the names a, b, c; "
            "use the same names for both",
        ),
    ],
)
def test_wrong_names(made, tmp_path, change, message):
    """One name for each result, all different, and those of the comparison."""
    arguments = {"results": made[0], "names": None} | change
    if "comparison" in change:
        arguments["comparison"] = made[2]
    with pytest.raises((kg.DataError, kg.ProtocolError)) as caught:
        write_page(arguments.pop("results"), tmp_path / "page.html", **arguments)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_of_other_results_is_refused(made, tmp_path):
    """The names agree, but two results stand under each other's name."""
    results, _, comparison = made
    with pytest.raises(kg.DataError) as caught:
        write_page([results[1], results[0], results[2]], tmp_path / "page.html", comparison=comparison)
    assert str(caught.value) == (
        "the result named 'Good' is not the result that has this name in the comparison; pass the compared "
        "results, with the same names"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_a_comparison_of_equal_results_in_another_order_is_taken(made, tmp_path):
    """One of the results is another object with the same ranks."""
    results, _, comparison = made
    order = [results[2], replaced(results[0]), results[1]]
    write_page(order, tmp_path / "page.html", names=["Bad", "Good", "<b>Mid</b>"], comparison=comparison)
    assert models_of(Reader(tmp_path / "page.html")) == NAMES  # the best model first


@pytest.mark.parametrize("kind", ["loaded", "with columns", "noted"])
@pytest.mark.thorough
def test_a_comparison_of_the_same_ranks_is_taken(made, tmp_path, kind):
    """What is known beside the ranks, such as features that a file keeps, makes no other result of one."""
    result = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, made[1], progress=False)
    comparison = compare([result, made[0][0]], names=["a", "b"], metrics="mrr", n_resamples=9)
    result.save(tmp_path / "run.kgeval")
    again = {
        "loaded": kg.load_result(tmp_path / "run.kgeval"),
        "with columns": result.with_columns({"kind": np.arange(len(result.table)) % 3}),
        "noted": noted(result, "said"),
    }[kind]
    write_page([again, made[0][0]], tmp_path / "page.html", names=["a", "b"], comparison=comparison)
    assert models_of(Reader(tmp_path / "page.html")) == ["b", "a"]  # the best model first


@pytest.mark.parametrize("title", ["", "  ", None])
@pytest.mark.thorough
def test_an_empty_title_is_the_default(made, tmp_path, title):
    """A page without a title would have no name in the browser."""
    write_page(made[0], tmp_path / "page.html", title=title)
    assert Reader(tmp_path / "page.html").title == f"kgeval: {made[1].name}"


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz"])
def test_only_html_is_written(made, tmp_path, name):
    """HTML under another ending, such as .pdf, would be a file that no program opens."""
    with pytest.raises(kg.DataError) as caught:
        write_page(made[0][0], tmp_path / name)
    ending = {"report": "no ending", "report.pdf": ".pdf", "report.html.gz": ".gz"}[name]
    assert str(caught.value) == (
        f"{tmp_path / name}: the report is an HTML page; expected a name that ends in .html or .htm; got {ending!r}. "
        "To get a PDF, open the page in a browser and print it"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_overwrite_is_said(small, tmp_path):
    """Nothing is lost by a second report, nor by one that fails half-way."""
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(kg.DataError) as caught:
        write_page(small[:1], path)
    assert str(caught.value) == f"{path} exists; choose another name, or use overwrite=True (--overwrite)"
    assert path.read_text() == "mine"
    write_page(small[:1], path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(kg.DataError, match="does not exist; create it first"):
        write_page(small[:1], tmp_path / "no" / "page.html")


@pytest.mark.thorough
def test_a_model_that_changed_leaves_the_page_without_rivals(tmp_path):
    """The numbers are those that were ranked; the page says that rivals were not kept."""
    weights = np.random.default_rng(0).normal(size=(9, 9))
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3], [4, 0, 5]], n_entities=9, n_relations=1)
    result = kg.evaluate(lambda s, p, o: weights[s, o], dataset, progress=False)
    weights *= -1.0
    write_page(result, tmp_path / "page.html", names="mine")
    assert page_triples.NOT_KEPT in "".join(Reader(tmp_path / "page.html").text)
    assert (tmp_path / "page.html").stat().st_size > 20_000
