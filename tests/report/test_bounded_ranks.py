"""Tables, exports, plots and the page of results with bounded or unknown ranks: they say it, and show no rank."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from grids import light
from made_results import replaced
from page_cases import Reader, content

import kgeval as kg
from kgeval.cli import main
from kgeval.cli.output import summary_frame
from kgeval.errors import MetricError
from kgeval.report import exports, write_page
from kgeval.report.page_background import protocol_lines
from kgeval.report.page_distributions import distribution, hits_at_cuts
from kgeval.report.page_report import group_numbers, numbers_of, report_of
from kgeval.report.page_triples import NOT_KEPT, hardest
from kgeval.results.bounded import UNKNOWN_COUNT

N = 5
DATASET = kg.Dataset.from_arrays(
    train=[[4, 0, 0]], test=[[i, i % 2, (i + 1) % N] for i in range(4)], n_entities=N, n_relations=2, name="five"
)
# (better, tied, bounded): ranks 1, 2, 2 to 4, 2 to 3 among 4 rivals
ROWS = [(0, 0, False), (1, 0, False), (1, 2, True), (1, 1, True)]


def result_of(rows, unknown=None, **changes):
    result = kg.evaluate(lambda s, p, o: o, DATASET, kg.Protocol(sides="object"), progress=False)
    names = ("better", "tied", "bounded")
    settings = ("raw", "filtered")
    columns = {f"{name}_{s}": np.array([row[i] for row in rows]) for i, name in enumerate(names) for s in settings}
    columns |= {f"rivals_{s}": 4 for s in settings} | changes
    about = {**result.facts, "scorer": "lists", **({"unknown": unknown} if unknown else {})}
    return replaced(result, table=result.table.assign(**columns), facts=about, source=None)


def test_the_page_has_bounds_and_leaves_bounded_ranks_out():
    """MRR: 1, 1/2, then 1/4 to 1/2 and 1/3 to 1/2; hits@1 is 1/4 whatever the ranks are."""
    result = result_of(ROWS)
    report = report_of([result], ["lists"])
    data = content([result], ["lists"])
    assert data["cautions"] == ["2 of 4 ranks of lists are bounded: only their bounds are known."]
    row = data["tables"]["metrics-filtered-object"][0]
    assert [row[name] for name in ("MRR", "MRR low", "MRR high")] == [None, None, None]
    numbers, reason = numbers_of(result, "mrr")
    assert numbers[3:] == pytest.approx([25 / 48, 0.625])
    assert "the value lies between 0.5208 and 0.6250" in reason
    assert reason in row["reason"]
    assert row["hits@1"] == 0.25
    assert len(numbers_of(result, "hits@1")[0]) == 3
    found, hits = distribution([result]), hits_at_cuts([result])
    assert found["counts"] == [[1, 1, 0]]
    assert found["totals"] == [4]  # half of them is in no bin
    assert hits["k"] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(hits["values"], [[0.25, np.nan, np.nan, 1.0, 1.0]])
    assert hits["bounds"] == [[[0.25, 0.5, 0.75, 1.0, 1.0], [0.25, 1.0, 1.0, 1.0, 1.0]]]
    _, left, table = hardest(report, 0)
    assert left.text == "2 ranks are bounded or unknown, and are not in this table."
    assert sorted(cell.numbers[0] for cell in table.columns[2].cells) == [1, 2]
    rows, _ = group_numbers(report.by_relation[0], "mrr", report.parts[0], "relation")
    of_0, of_1 = (rows[report.relations.index(label)][3:] for label in "01")
    assert list(of_0) == [0.625, 0.75]
    assert of_1 == pytest.approx([5 / 12, 0.5])
    assert "lists: mrr lies between 0.5208 and 0.6250." in data["notes"]
    said = "lists: 2 of 4 filtered ranks and 2 of 4 raw ranks are bounded: only bounds of them are known."
    assert said in data["notes"]


def test_a_page_of_known_ranks_has_no_bounds():
    result = result_of([(*row[:2], False) for row in ROWS])
    report = report_of([result], ["scores"])
    assert hits_at_cuts([result])["bounds"] == [None]
    rows, _ = group_numbers(report.by_relation[0], "mrr", report.parts[0], "relation")
    assert [len(row) for row in rows] == [3, 3]
    assert all(len(numbers_of(result, name)[0]) == 3 for name in ("mrr", "hits@1", "mr"))


def test_the_page_of_unknown_numbers():
    """Unknown numbers of rivals: no number of candidates; the bins end at the worst known rank."""
    rows = [(*row[:2], False) for row in ROWS]
    result = result_of(rows, {"rivals": "not in the file"}, rivals_raw=UNKNOWN_COUNT, rivals_filtered=UNKNOWN_COUNT)
    said, table = hardest(report_of([result], ["ranks"]), 0)
    assert not [cell.text for cell in table.columns[2].cells if " of " in cell.text]
    found = distribution([result])
    assert found["bins"] == ["1", "2–3"]
    assert sum(found["counts"][0]) == 4
    assert said.text == NOT_KEPT
    data = content([result], ["ranks"])
    assert "unknown: numbers of rivals: not in the file" in protocol_lines(report_of([result], ["ranks"]))
    assert "ranks: unknown: numbers of rivals: not in the file." in data["cautions"]
    columns = {f"{name}_filtered": UNKNOWN_COUNT for name in ("better", "tied", "rivals")}
    no_ranks = result_of(rows, {"filtered": "raw ranks only"}, **columns)
    assert distribution([no_ranks])["totals"] == [4]
    (value, low, high), reason = numbers_of(no_ranks, "mrr")
    assert all(map(math.isnan, (value, low, high)))
    assert reason == "raw ranks only"


def test_exports_have_no_rank_for_an_bounded_row(tmp_path):
    result = result_of(ROWS)
    frame = result.ranks(labels=True)
    np.testing.assert_array_equal(frame["rank_filtered"], [1.0, 2.0, np.nan, np.nan])
    exports.write_ranks(result, tmp_path / "ranks.csv")
    read = pd.read_csv(tmp_path / "ranks.csv")
    assert read["rank_raw"].isna().tolist() == read["bounded_raw"].tolist() == [False, False, True, True]
    long = exports.tidy(result, "mrr,hits@1", confidence=None).set_index(["setting", "side", "metric"])
    assert long.loc[("filtered", "object", "hits@1"), "value"] == 0.25
    assert math.isnan(long.loc[("filtered", "object", "mrr"), "value"])
    assert long.loc[("filtered", "object", "mrr"), "reason"].startswith("the value lies between 0.5208 and 0.6250")
    assert exports.flat(result, "mrr,hits@1").keys() == {
        f"{setting}/object/{name}" for setting in ("raw", "filtered") for name in ("n", "realistic/hits_at_1")
    }
    assert exports.flat(result, "mrr", ties="optimistic")["filtered/object/optimistic/mrr"] == 0.625


def test_the_command_line_says_the_bounds(tmp_path, capsys):
    path = str(tmp_path / "run.kgeval")
    result_of(ROWS).save(path)
    assert main(["show", path, "--metrics", "mrr,hits@1"]) == 0
    out = capsys.readouterr().out
    assert "note: mrr lies between 0.5208 and 0.6250\n" in out
    assert "undefined in object, raw object: mrr: the value lies between 0.5208 and 0.6250, since 2 of 4" in out
    assert main(["show", path, "--metrics", "mrr", "--ties", "optimistic"]) == 0
    assert "optimistic ties put them at their best" in capsys.readouterr().out
    assert main(["show", path, "--metrics", "mrr", "--to", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["metrics"][0]["mrr"] is None
    assert "mrr lies between 0.5208 and 0.6250" in content["notes"]
    ties = result_of([(*row[:2], False) for row in ROWS], {"ties": "computed elsewhere"})
    ties.save(path, overwrite=True)
    assert main(["show", path, "--to", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tie_rate"] is None
    assert main(["show", path, "--to", "csv"]) == 0
    assert "unknown: ties: computed elsewhere" in capsys.readouterr().err


def test_the_chance_row_stands_if_ranks_are_bounded():
    assert summary_frame(result_of(ROWS), ["mr"], None).loc["chance", "mr"] == 3.0


def test_plots_leave_bounded_ranks_out():
    pytest.importorskip("matplotlib", reason="needs kgeval[plots]")
    from kgeval.report import plots

    result = result_of(ROWS)
    axes = plots.rank_distribution(result).axes[0]
    assert sum(bar.get_height() for bar in axes.patches) == 0.5
    assert not axes.lines  # no intervals
    assert "2 ranks are bounded or unknown, not drawn" in axes.get_title(loc="left")
    hits = plots.hits_curve(result, limit=4).axes[0]
    np.testing.assert_array_equal(hits.lines[2].get_ydata(), [0.25, np.nan, np.nan, 1.0])
    with pytest.raises(MetricError, match="'lists' has only bounded or unknown ranks"):
        plots.rank_distribution(result_of([(0, 4, True)] * 4))
    with pytest.raises(MetricError, match=r"lists\(bounded='optimistic'\)"):
        plots.precision_recall(result)


def test_the_page_is_written(tmp_path):
    both = [result_of(ROWS), result_of([(0, 0, False)] * 4)]
    comparison = kg.compare(both, names=["lists", "scores"], metrics="mrr", n_resamples=99)
    write_page(both, tmp_path / "page.html", names=["lists", "scores"], comparison=comparison, dataset=DATASET)
    reader = Reader(tmp_path / "page.html")
    text = "".join(reader.text)
    assert "the difference in MRR depends on bounded ranks" in text
    assert text.count("No verdict on MRR") == 1
    for name in ("first", "metrics-filtered-object"):
        assert {row[0][0]: row[1][0] for row in reader.rows(name)}["lists"] == "0.5208 to 0.6250"


@pytest.mark.parametrize("lacking", light(["filtered", "raw", "rivals", "ties"], 1))
def test_the_page_of_two_results_that_lack_something(tmp_path, lacking):
    """Whatever is unknown, the page is written and names it; no NaN stands in it."""
    settings = {"filtered": ["filtered"], "raw": ["raw"]}.get(lacking, [])
    columns = {f"{name}_{setting}": UNKNOWN_COUNT for name in ("better", "tied", "rivals") for setting in settings}
    if lacking == "rivals":
        columns = {"rivals_raw": UNKNOWN_COUNT, "rivals_filtered": UNKNOWN_COUNT}
    one = result_of([(*row[:2], False) for row in ROWS], {lacking: "not in the file"}, **columns)
    write_page([one, one], tmp_path / "page.html", names=["one", "two"])
    text = "".join(Reader(tmp_path / "page.html").text)
    assert "not in the file" in text
    assert "nan" not in text.lower()
    assert "None" not in text


def test_many_models_with_bounded_ranks_have_a_table():
    """Cells of values that no model has are empty; without a known MRR, the models stay in their order."""
    pytest.importorskip("matplotlib")
    from kgeval.report import plots

    results = [result_of([*ROWS[:1], (i % 3, 0, False), *ROWS[2:]]) for i in range(11)]
    for style in ("screen", "paper"):
        (axes,) = plots.hits_curve({f"m{i}": result for i, result in enumerate(results)}, style=style).axes
        assert [label.get_text() for label in axes.get_yticklabels()] == [*(f"m{i}" for i in range(11)), "chance"]
        cells = {(round(text.xy[0]), round(text.xy[1])): text.get_text() for text in axes.texts}
        wanted = [result["hits@1"] for result in results]
        assert [cells[0, i] for i in range(11)] == [f"{value:.3f}" for value in wanted]
        assert len({*wanted}) == 2
        assert (1, 0) not in cells  # hits@3 depends on a bounded rank
        assert all(0.0 < bar.get_alpha() <= 0.6 for bar in axes.patches)
